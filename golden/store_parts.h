/* store_parts.h - what making and verifying a set need of the store beyond store.h. */
#ifndef SAMEBITS_GOLDEN_STORE_PARTS_H
#define SAMEBITS_GOLDEN_STORE_PARTS_H

#include "digest.h"

enum { SB_DATASET_NAME = 64 };

/* sb_store_write with the tensors' digests already made; tells size and SHA-256 of the file written. */
bool sb_store_write_digested(const char *path, const struct sb_case *c, const struct sb_data *d,
                             const struct sb_digests *digests, int64_t *file_bytes, char file_sha256[SB_SHA256_HEX],
                             struct sb_error *err);

/* sb_store_read that also hands out the digests found and, on an error, the dataset it is about ("" where it is the
 * file as a whole). */
bool sb_store_load(const char *path, const struct sb_op_list *ops, struct sb_case *c, struct sb_data *d,
                   struct sb_digests *digests, char dataset[SB_DATASET_NAME], struct sb_error *err);

/* The attribute of /inputs that holds the digest of an input that has no dataset. Returns buf. */
const char *sb_store_digest_name(const char *input, char buf[SB_DATASET_NAME]);
/* "/samples/dw", as the attribute `sampled` of /outputs/dw has it. Returns buf. */
const char *sb_store_table_path(const char *output, char buf[SB_DATASET_NAME]);

/* The code whose name this is; false for none. */
bool sb_code_by_name(const char *name, enum sb_code *code);

#endif
