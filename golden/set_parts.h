/* set_parts.h - what making and verifying a set share. */
#ifndef SAMEBITS_GOLDEN_SET_PARTS_H
#define SAMEBITS_GOLDEN_SET_PARTS_H

#include "file.h"
#include "manifest_parts.h"
#include "set.h"

enum { SB_FILE_NAME = SB_ID_SIZE + 4, SB_FAULT_TEXT = 1024 };

extern const char sb_manifest_name[]; /* "manifest.json" */
extern const char sb_sums_name[];     /* "SHA256SUMS" */

/* "op/params.h5" of a case id. Returns buf. */
const char *sb_set_file(const char *id, char buf[SB_FILE_NAME]);

/* SHA256SUMS as it must be: every golden file in id order, then manifest.json, in the form of `sha256sum`. The
 * caller's to free; NULL when memory is short. */
char *sb_sums_text(const struct sb_manifest *m, const char *manifest_sha256);

/* What is still readable of a file whose bytes are not those of the manifest. Opens it in a child process with a
 * time limit and tells one fault a damaged dataset, or one about the file as a whole. Returns how many it told. */
extern int sb_probe_seconds; /* the limit for a small file; tests shorten it */
int sb_set_probe(const char *dir, const struct sb_manifest_entry *e, const char *what, sb_fault_fn fault, void *user);

#endif
