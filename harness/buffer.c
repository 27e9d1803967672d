/* buffer.c - guard bands around device buffers. */
#include "buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Depends on the position, so that copying a piece of the band onto another place of it shows as well. Never one
 * of the two poisons in a row: neighbouring bytes differ by an odd number. */
static unsigned char guard_byte(size_t position)
{
    return (unsigned char)(position * 151U + (position >> 8) * 29U + 60U);
}

bool sb_buffer_open(struct sb_buffer *b, const struct sb_memory *m, const char *name, size_t capacity, size_t misalign,
                    struct sb_error *err)
{
    *b = (struct sb_buffer){.name = name, .offset = SB_GUARD_BYTES + misalign};
    b->total = b->offset + capacity + SB_GUARD_BYTES;
    b->size = capacity;
    b->base = m->allocate(b->total);
    if (b->base == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "not enough device memory for %s (%zu bytes)", name, b->total);
    return true;
}

void sb_buffer_close(struct sb_buffer *b, const struct sb_memory *m)
{
    if (b->base != NULL)
        m->release(b->base);
    b->base = NULL;
}

void *sb_buffer_data(const struct sb_buffer *b)
{
    return b->base + b->offset;
}

static bool guard_write(const struct sb_buffer *b, const struct sb_memory *m, size_t from, size_t to,
                        unsigned char *host, struct sb_error *err)
{
    for (size_t i = from; i < to; i++)
        host[i - from] = guard_byte(i);
    return m->upload(b->base + from, host, to - from, err);
}

bool sb_buffer_place(struct sb_buffer *b, const struct sb_memory *m, size_t size, struct sb_error *err)
{
    b->size = size;
    const size_t after = b->offset + size;
    const size_t longest = b->total - after > b->offset ? b->total - after : b->offset;
    unsigned char *host = malloc(longest);
    if (host == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "out of memory for the guard bands of %s", b->name);
    const bool ok = guard_write(b, m, 0, b->offset, host, err) && guard_write(b, m, after, b->total, host, err);
    free(host);
    return ok;
}

struct touched {
    size_t count, nearest, farthest; /* bytes; distances from the data, 1 is the neighbouring byte */
};

/* `host` holds the band [from, to) as it is now. */
static struct touched band_touched(const struct sb_buffer *b, size_t from, size_t to, const unsigned char *host)
{
    struct touched t = {0, 0, 0};
    for (size_t i = from; i < to; i++) {
        if (host[i - from] == guard_byte(i))
            continue;
        const size_t distance = i < b->offset ? b->offset - i : i - (b->offset + b->size) + 1;
        if (t.count == 0 || distance < t.nearest)
            t.nearest = distance;
        if (distance > t.farthest)
            t.farthest = distance;
        t.count++;
    }
    return t;
}

static void tell(const struct sb_buffer *b, const char *side, struct touched t, char *text, size_t size)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used,
             "%s%s was overrun %s its memory: %zu guard bytes changed, from %zu to %zu bytes past it",
             used > 0 ? "; " : "", b->name, side, t.count, t.nearest, t.farthest);
}

bool sb_buffer_guards(const struct sb_buffer *b, const struct sb_memory *m, bool *intact, char *text, size_t text_size,
                      struct sb_error *err)
{
    const size_t after = b->offset + b->size;
    const size_t longest = b->total - after > b->offset ? b->total - after : b->offset;
    unsigned char *host = malloc(longest);
    *intact = false;
    text[0] = '\0';
    if (host == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "out of memory for the guard bands of %s", b->name);
    bool ok = m->download(host, b->base, b->offset, err);
    if (ok) {
        const struct touched before = band_touched(b, 0, b->offset, host);
        ok = m->download(host, b->base + after, b->total - after, err);
        if (ok) {
            const struct touched behind = band_touched(b, after, b->total, host);
            *intact = before.count == 0 && behind.count == 0;
            if (before.count > 0)
                tell(b, "before", before, text, text_size);
            if (behind.count > 0)
                tell(b, "after", behind, text, text_size);
        }
    }
    free(host);
    return ok;
}
