/* manifest_parts.h - what making and verifying a set need of the manifest beyond manifest.h. */
#ifndef SAMEBITS_GOLDEN_MANIFEST_PARTS_H
#define SAMEBITS_GOLDEN_MANIFEST_PARTS_H

#include "manifest.h"
#include "store_parts.h"

/* The sb_manifest_* of the same names, with the digests already made; file_sha256 "" in a digest file. */
bool sb_manifest_add_digested(struct sb_manifest *m, const struct sb_case *c, const struct sb_data *d,
                              const struct sb_digests *digests, const char *file_sha256, int64_t file_bytes,
                              struct sb_error *err);
const char *sb_manifest_difference_digested(const struct sb_manifest_entry *e, const struct sb_case *c,
                                            const struct sb_status *status, const struct sb_digests *digests);

/* From bytes already read; `path` is for messages. */
bool sb_manifest_read_bytes(struct sb_manifest *m, const char *path, const char *bytes, size_t size,
                            struct sb_error *err);

#endif
