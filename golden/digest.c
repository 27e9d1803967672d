/* digest.c - SHA-256 over logical bytes, a block at a time: gaps are never hashed and nothing large is copied. */
#include "digest.h"

#include "samples.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_ELEMENTS = 8192, BLOCK_BYTES = 8 * BLOCK_ELEMENTS };

bool sb_tensor_same_layout(const struct sb_tensor *a, const struct sb_tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int axis = 0; same && axis < a->rank; axis++)
        same = a->shape[axis] == b->shape[axis];
    return same;
}

bool sb_tensor_is_dense(const struct sb_tensor *t)
{
    const int64_t last = t->rank > 0 ? t->shape[t->rank - 1] : 1;
    return (t->col_stride == 0 || t->col_stride == 1) && (t->row_stride == 0 || t->row_stride == last);
}

size_t sb_tensor_logical_bytes(const struct sb_tensor *t)
{
    return (size_t)sb_tensor_count(t) * sb_dtype_size(t->dtype);
}

/* Elements from logical index `i` on that lie side by side in memory, at most `limit`. */
static int64_t run_length(const struct sb_tensor *t, int64_t i, int64_t limit)
{
    if (sb_tensor_is_dense(t))
        return limit;
    if (t->col_stride != 0 && t->col_stride != 1)
        return 1;
    const int64_t last = t->shape[t->rank - 1], left = last - i % last;
    return left < limit ? left : limit;
}

void sb_tensor_gather(const struct sb_tensor *t, int64_t first, int64_t count, void *dense)
{
    const size_t width = sb_dtype_size(t->dtype);
    char *to = dense;
    for (int64_t i = 0, run; i < count; i += run) {
        run = run_length(t, first + i, count - i);
        const char *from = (const char *)t->data + (size_t)sb_tensor_offset(t, first + i) * width;
        memcpy(to + (size_t)i * width, from, (size_t)run * width);
    }
}

void sb_tensor_scatter(struct sb_tensor *t, int64_t first, int64_t count, const void *dense)
{
    const size_t width = sb_dtype_size(t->dtype);
    const char *from = dense;
    for (int64_t i = 0, run; i < count; i += run) {
        run = run_length(t, first + i, count - i);
        char *to = (char *)t->data + (size_t)sb_tensor_offset(t, first + i) * width;
        memcpy(to, from + (size_t)i * width, (size_t)run * width);
    }
}

static void to_hex(const unsigned char digest[crypto_hash_sha256_BYTES], char hex[SB_SHA256_HEX])
{
    sodium_bin2hex(hex, SB_SHA256_HEX, digest, crypto_hash_sha256_BYTES);
}

void sb_bytes_sha256(const void *bytes, size_t size, char hex[SB_SHA256_HEX])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(digest, bytes, size);
    to_hex(digest, hex);
}

void sb_tensor_sha256(const struct sb_tensor *t, char hex[SB_SHA256_HEX])
{
    if (t->data == NULL) {
        hex[0] = '\0';
        return;
    }
    if (sb_tensor_is_dense(t)) {
        sb_bytes_sha256(t->data, sb_tensor_logical_bytes(t), hex);
        return;
    }
    unsigned char block[BLOCK_BYTES], digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    const int64_t count = sb_tensor_count(t);
    for (int64_t i = 0; i < count; i += BLOCK_ELEMENTS) {
        const int64_t n = count - i < BLOCK_ELEMENTS ? count - i : BLOCK_ELEMENTS;
        sb_tensor_gather(t, i, n, block);
        crypto_hash_sha256_update(&state, block, (size_t)n * sb_dtype_size(t->dtype));
    }
    crypto_hash_sha256_final(&state, digest);
    to_hex(digest, hex);
}

/* Of all tensors of a case, inputs first. */
struct hashing {
    const struct sb_tensor *tensor[2 * SB_MAX_TENSORS];
    char *hex[2 * SB_MAX_TENSORS];
    int count;
    size_t bytes;
};

static void add(struct hashing *h, const struct sb_tensor *t, char *hex)
{
    h->tensor[h->count] = t;
    h->hex[h->count++] = hex;
    h->bytes += t->data != NULL ? sb_tensor_logical_bytes(t) : 0;
}

void sb_digests_make(const struct sb_op *op, const struct sb_data *d, struct sb_digests *digests)
{
    enum { PARALLEL_BYTES = 16 << 20 }; /* below, waking the threads costs more */
    struct hashing h = {.count = 0};
    memset(digests, 0, sizeof *digests);
    for (int i = 0; i < sb_op_input_count(op); i++)
        add(&h, &d->in[i], digests->in[i]);
    for (int i = 0; i < sb_op_output_count(op); i++) {
        add(&h, &d->out[i], digests->out[i]);
        if (d->samples[i].count > 0) {
            const struct sb_tensor table = sb_samples_table(&d->samples[i]);
            sb_tensor_sha256(&table, digests->sample[i]);
        }
    }
#pragma omp parallel for schedule(dynamic) if (h.bytes >= PARALLEL_BYTES)
    for (int i = 0; i < h.count; i++)
        sb_tensor_sha256(h.tensor[i], h.hex[i]);
}

bool sb_file_sha256(const char *path, char hex[SB_SHA256_HEX], struct sb_error *err)
{
    hex[0] = '\0';
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
    unsigned char block[BLOCK_BYTES], digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    errno = 0;
    for (size_t n = fread(block, 1, sizeof block, f); n > 0; n = fread(block, 1, sizeof block, f))
        crypto_hash_sha256_update(&state, block, n);
    const bool failed = ferror(f) != 0;
    const int why = errno;
    fclose(f);
    if (failed)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: cannot read: %s", path, strerror(why));
    crypto_hash_sha256_final(&state, digest);
    to_hex(digest, hex);
    return true;
}
