/* rerun.c - see rerun.h. */
#include "rerun.h"

#include <string.h>

#include "compare.h"
#include "../reports/text.h"
#include "text.h"

static bool all_bytes(const unsigned char *element, size_t size, int byte)
{
    bool all = true;
    for (size_t i = 0; i < size; i++)
        all = all && element[i] == (unsigned char)byte;
    return all;
}

static void note(int64_t *count, int64_t *first, int64_t element)
{
    if (*count == 0)
        *first = element;
    ++*count;
}

/* `bytes` from byte `from` on, which differ somewhere. */
static void count_elements(struct sb_rerun *r, const unsigned char *before, const unsigned char *now, size_t from,
                           size_t bytes, size_t size)
{
    for (size_t at = 0; at < bytes; at += size) {
        if (memcmp(before + at, now + at, size) == 0)
            continue;
        const int64_t element = (int64_t)((from + at) / size);
        if (all_bytes(before + at, size, r->poison_before) && all_bytes(now + at, size, r->poison))
            note(&r->unwritten, &r->first_unwritten, element);
        else
            note(&r->different, &r->first_different, element);
    }
}

bool sb_rerun_compare(struct sb_rerun *r, const struct sb_tensor *t, const void *device, const struct sb_memory *m,
                      void *chunk, size_t room, struct sb_error *err)
{
    const size_t size = sb_dtype_size(t->dtype), all = sb_tensor_span_bytes(t), step = room / size * size;
    for (size_t from = 0, bytes; from < all; from += bytes) {
        unsigned char *before = (unsigned char *)r->before + from;
        bytes = all - from < step ? all - from : step;
        if (!m->download(chunk, (const unsigned char *)device + from, bytes, err))
            return false;
        if (memcmp(before, chunk, bytes) == 0)
            continue;
        count_elements(r, before, chunk, from, bytes, size);
        memcpy(before, chunk, bytes);
    }
    return true;
}

static const char *place(const struct sb_tensor *t, int64_t element, char *buf, size_t size)
{
    static const struct sb_compare_hints none = {.poison = SB_NO_POISON};
    sb_index_text(t, &none, element, buf, size);
    return buf;
}

void sb_rerun_tell(const struct sb_rerun *r, const struct sb_tensor *t, int run, struct sb_result *result)
{
    char index[64];
    if (r->unwritten > 0)
        sb_append_line(result->detail, sizeof result->detail,
                       "%s: %s elements were never written (each run's poison is still there), the first at %s",
                       t->name, sb_count(r->unwritten).text, place(t, r->first_unwritten, index, sizeof index));
    if (r->different > 0)
        sb_append_line(result->detail, sizeof result->detail,
                       "%s: %s elements differ between run %d and run %d, the first at %s", t->name,
                       sb_count(r->different).text, run, run + 1, place(t, r->first_different, index, sizeof index));
}
