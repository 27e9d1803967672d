/* set.h - making and verifying a whole set of golden files. */
#ifndef SAMEBITS_GOLDEN_SET_H
#define SAMEBITS_GOLDEN_SET_H

#include "manifest.h"

/* Told of each finished case; returning false stops the work (an interrupt). */
typedef bool (*sb_progress_fn)(void *user, int done, int total, const char *id);

/* Generates, computes and writes every case to dir/ID.h5, then SHA256SUMS and manifest.json. `dir` may hold
 * files of the same set (made again); files of another set are an error. With dir == NULL only the digests are
 * made, into `m`. An interrupt or an error leaves no unfinished file and no manifest; files finished by then stay.
 * `m` (the caller's to free; may be NULL where `dir` is given) is filled in only on success. */
bool sb_set_make(const struct sb_case *cases, int count, const char *suite, const char *dir, struct sb_manifest *m,
                 const struct sb_op_list *ops, sb_progress_fn progress, void *user, struct sb_error *err);

/* Told of each fault found: which file ("manifest.json" or ID.h5), which dataset ("inputs/raw", or "" with the
 * datasets of the file named in the text), what to do. `text` does not repeat file and dataset. */
typedef void (*sb_fault_fn)(void *user, const char *file, const char *dataset, const char *text);

/* Checks the manifest's own digest, SHA256SUMS, that exactly the listed files are there, each file's digest, and
 * each dataset's. `deep`: also makes the inputs again from the id and the outputs from the stored inputs, and
 * compares every byte. Damaged files are opened in a child process, so a crash of the library is one more fault.
 * Returns the number of faults, or -1 with err when the set cannot be read at all (no folder, no manifest, contracts
 * that this build does not know) or `progress` stopped the work. Inputs that a sampled case's file states by digest
 * alone are made again in either case. */
int sb_set_verify(const char *dir, bool deep, const struct sb_op_list *ops, sb_progress_fn progress, sb_fault_fn fault,
                  void *user, struct sb_error *err);

#endif
