/* manifest.h - what a set of golden files is: every file, its case, its digests, the suite and the contracts.
 *
 * In a set's folder: manifest.json (written last: a set without one is unfinished) and SHA256SUMS, which plain
 * `sha256sum -c` reads. manifest.json carries the SHA-256 of its own content, so no flipped bit in it goes
 * unseen. The committed digest files (golden/digests/SUITE.json) have the same form without files.
 */
#ifndef SAMEBITS_GOLDEN_MANIFEST_H
#define SAMEBITS_GOLDEN_MANIFEST_H

#include "store.h"

struct sb_manifest_tensor {
    char name[40]; /* "inputs/topk_idx", "outputs/TK" */
    char sha256[SB_SHA256_HEX];
};

struct sb_manifest_entry {
    char id[SB_ID_SIZE];
    char file_sha256[SB_SHA256_HEX]; /* empty in a digest file */
    int64_t file_bytes;
    struct sb_status status;
    int tensors;
    struct sb_manifest_tensor tensor[2 * SB_MAX_TENSORS];
    bool mostly_constant; /* some output holds one value nearly everywhere: it proves little */
};

struct sb_manifest {
    char suite[32]; /* or "selection" */
    int count;
    struct sb_manifest_entry *entry; /* sorted by id */
};

void sb_manifest_free(struct sb_manifest *m);
bool sb_manifest_add(struct sb_manifest *m, const struct sb_case *c, const struct sb_data *d, struct sb_error *err);
const struct sb_manifest_entry *sb_manifest_find(const struct sb_manifest *m, const char *id);
bool sb_manifest_write(const struct sb_manifest *m, const char *path, const struct sb_op_list *ops, struct sb_error *err);
bool sb_manifest_read(struct sb_manifest *m, const char *path, struct sb_error *err);

/* First tensor whose digest differs between the entry and the data, or status; NULL if all agree. For messages. */
const char *sb_manifest_difference(const struct sb_manifest_entry *e, const struct sb_case *c, const struct sb_data *d);

#endif
