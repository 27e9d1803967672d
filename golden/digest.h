/* digest.h - SHA-256 of tensors and whole cases, and copies between strided and dense. store.h declares the two
 * digests that other folders use. */
#ifndef SAMEBITS_GOLDEN_DIGEST_H
#define SAMEBITS_GOLDEN_DIGEST_H

#include "store.h"

/* Digests of every tensor of a case, in the op's order; "" where a tensor is absent. Made once and handed to the
 * store and to the manifest: hashing 208 MB twice is seconds. */
struct sb_digests {
    char in[SB_MAX_TENSORS][SB_SHA256_HEX];
    char out[SB_MAX_TENSORS][SB_SHA256_HEX];
    char sample[SB_MAX_TENSORS][SB_SHA256_HEX]; /* of the table of blocks, where an output is sampled */
};

void sb_digests_make(const struct sb_op *op, const struct sb_data *d, struct sb_digests *digests);
void sb_bytes_sha256(const void *bytes, size_t size, char hex[SB_SHA256_HEX]);

/* Is `t` without gaps, so that its logical bytes are its bytes? */
bool sb_tensor_is_dense(const struct sb_tensor *t);

/* Of one dtype, rank and shape? */
bool sb_tensor_same_layout(const struct sb_tensor *a, const struct sb_tensor *b);

/* Bytes of the logical elements. */
size_t sb_tensor_logical_bytes(const struct sb_tensor *t);

/* Copies `count` logical elements from `first` on between a tensor and a dense buffer. */
void sb_tensor_gather(const struct sb_tensor *t, int64_t first, int64_t count, void *dense);
void sb_tensor_scatter(struct sb_tensor *t, int64_t first, int64_t count, const void *dense);

#endif
