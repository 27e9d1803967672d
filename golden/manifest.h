/* manifest.h - what a set of golden files is: every file, its case, its digests, the suite and the contracts.
 *
 * In a set's folder: manifest.json (written last: a set without one is unfinished) and SHA256SUMS, which plain
 * `sha256sum -c` reads. manifest.json carries the SHA-256 of its own content, so no flipped bit in it goes
 * unseen. The committed digest files (golden/digests/SUITE.json) have the same form without files.
 *
 * Fields, in this order, in the text that json_dumps(JSON_INDENT(1)) makes and a newline at the end:
 *   format "samebits-manifest", format_version 1, suite, generator, contracts {op: version},
 *   content_sha256: SHA-256 of this whole text with the 64 digits left out,
 *   count, cases: [{id, file, file_sha256, file_bytes (these three not in a digest file), status, status_where[3],
 *   ignored_ids, mostly_constant, tensors {"inputs/NAME", "outputs/NAME" or "samples/NAME": sha256}}], sorted by id.
 */
#ifndef SAMEBITS_GOLDEN_MANIFEST_H
#define SAMEBITS_GOLDEN_MANIFEST_H

#include "store.h"

enum { SB_MANIFEST_TENSORS = 3 * SB_MAX_TENSORS }; /* inputs, outputs and where outputs are sampled */

struct sb_manifest_tensor {
    char name[40]; /* "inputs/topk_idx", "outputs/TK", "samples/dw" */
    char sha256[SB_SHA256_HEX];
};

struct sb_manifest_entry {
    char id[SB_ID_SIZE];
    char file_sha256[SB_SHA256_HEX]; /* empty in a digest file */
    int64_t file_bytes;
    struct sb_status status;
    int tensors;
    struct sb_manifest_tensor tensor[SB_MANIFEST_TENSORS];
    bool mostly_constant; /* some output of more than 64 elements holds one value in at least 99 of 100 of them: it
                           * proves little */
};

struct sb_manifest_contract {
    char op[40];
    int version;
};

/* Starts as {.suite = "..."}. */
struct sb_manifest {
    char suite[32]; /* or "selection" */
    int count;
    struct sb_manifest_entry *entry; /* sorted by id */
    int contracts;                   /* filled in by sb_manifest_read: what the set was made under */
    struct sb_manifest_contract contract[32];
};

void sb_manifest_free(struct sb_manifest *m);
bool sb_manifest_add(struct sb_manifest *m, const struct sb_case *c, const struct sb_data *d, struct sb_error *err);
const struct sb_manifest_entry *sb_manifest_find(const struct sb_manifest *m, const char *id);
/* The canonical text, NUL-terminated, the caller's to free; NULL with err. `ops` says the contract versions of the ops
 * that occur. */
char *sb_manifest_text(const struct sb_manifest *m, const struct sb_op_list *ops, struct sb_error *err);
bool sb_manifest_write(const struct sb_manifest *m, const char *path, const struct sb_op_list *ops,
                       struct sb_error *err);
/* Takes a file only if every byte is as sb_manifest_write leaves it. A file that is not there is an error too. */
bool sb_manifest_read(struct sb_manifest *m, const char *path, struct sb_error *err);

/* First tensor whose digest differs between the entry and the data, or status; NULL if all agree. For messages;
 * the text belongs to the entry or the op. */
const char *sb_manifest_difference(const struct sb_manifest_entry *e, const struct sb_case *c, const struct sb_data *d);

/* Were the cases made under contracts that this build knows? If not, false and an error that says which is newer. */
bool sb_manifest_contracts_known(const struct sb_manifest *m, const char *path, const struct sb_op_list *ops,
                                 struct sb_error *err);

#endif
