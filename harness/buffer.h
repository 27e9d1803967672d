/* buffer.h - one device buffer of a checked call, between two guard bands. */
#ifndef SAMEBITS_HARNESS_BUFFER_H
#define SAMEBITS_HARNESS_BUFFER_H

#include "memory.h"

enum { SB_GUARD_BYTES = 4096 };

/* base .. [guard, at least 4096 bytes] data [size bytes] [guard to the end of the allocation] */
struct sb_buffer {
    const char *name; /* for messages: "output dw", "workspace" */
    unsigned char *base;
    size_t total;  /* bytes allocated */
    size_t offset; /* of the data */
    size_t size;   /* of the data: what this call may use */
};

/* Allocates room for `capacity` bytes of data; the data starts `misalign` bytes past a 256-byte boundary. */
bool sb_buffer_open(struct sb_buffer *b, const struct sb_memory *m, const char *name, size_t capacity, size_t misalign,
                    struct sb_error *err);
void sb_buffer_close(struct sb_buffer *b, const struct sb_memory *m);

void *sb_buffer_data(const struct sb_buffer *b);

/* Makes the data `size` bytes long (at most the capacity) and writes both guard bands anew. The data bytes stay. */
bool sb_buffer_place(struct sb_buffer *b, const struct sb_memory *m, size_t size, struct sb_error *err);

/* Are both guard bands untouched? `*intact` false: `text` says how far which side was written. The function's own
 * result is false only on a device error. */
bool sb_buffer_guards(const struct sb_buffer *b, const struct sb_memory *m, bool *intact, char *text, size_t text_size,
                      struct sb_error *err);

#endif
