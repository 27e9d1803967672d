/* store.h - one golden file: an HDF5 file per case, readable with h5dump and h5py alone.
 *
 * Root attributes: op, contract, contract_version, case (the id), reason, seed (u64), generator
 * ("philox4x32-10/1"), status ("ok", "duplicate_expert", ...), status_where (i64[3]), ignored_ids (i64), and each
 * parameter under its own name (INT as i64, ENUM and TEXT as a string; switches such as `accumulate` are INT 0/1).
 * /inputs/NAME and /outputs/NAME: logical, dense arrays at native little-endian width; a strided tensor's strides
 * are parameters of the case. Dataset attributes: dtype ("bf16", "e8m0", "f32", ...), description, sha256 (of the
 * logical bytes, hex). Absent optional tensors and the outputs of a rejected call have no dataset. The op's derived
 * sizes (T, ...) are i64 root attributes too. /outputs has one attribute for each output, its layout as text
 * ("f32[64,32]"), which for a rejected call describes the largest buffers it could have written: sb_store_read fills
 * those in with data == NULL, as the reference does.
 * A sampled output (samples.h) has its blocks alone in /outputs/NAME, [blocks, rows, columns], with an attribute
 * `sampled` that names the table of their places: /samples/NAME, i64 [blocks, 5], plane, row, row end, column, column
 * end, the ends one past the last. Its layout attribute is that of the whole. Where the inputs of such a case are large
 * they have no datasets: /inputs has two attributes for each, NAME, its layout, and NAME.sha256, and they are made
 * again from the seed. Chunked, shuffle + deflate + fletcher32, no time stamps: the same library writes the same file
 * twice.
 */
#ifndef SAMEBITS_GOLDEN_STORE_H
#define SAMEBITS_GOLDEN_STORE_H

#include "op.h"

enum { SB_SHA256_HEX = 65 };

/* Name and version of the input generator, as golden files and manifests carry it. */
extern const char sb_generator_name[];

/* Does the file of this case hold its inputs, or their layouts and digests alone? `d` has the inputs as generate()
 * makes them. */
bool sb_store_keeps_inputs(const struct sb_case *c, const struct sb_data *d);

/* Digest of one tensor's logical bytes (gaps left out), lower-case hex. Empty string when absent. */
void sb_tensor_sha256(const struct sb_tensor *t, char hex[SB_SHA256_HEX]);
bool sb_file_sha256(const char *path, char hex[SB_SHA256_HEX], struct sb_error *err);

/* Writes path.tmp-PID beside `path`, flushes it to disk and renames it. Creates missing folders. */
bool sb_store_write(const char *path, const struct sb_case *c, const struct sb_data *d, struct sb_error *err);

/* Opens, checks every attribute, dtype, shape and digest, and fills in the case and the data (strided inputs laid
 * out with their gaps, as generate() does). Errors (SB_EXIT_BAD_INPUT) name file and dataset: not HDF5, truncated,
 * a newer contract, missing dataset, wrong dtype or shape, a digest that does not match. */
bool sb_store_read(const char *path, const struct sb_op_list *ops, struct sb_case *c, struct sb_data *d,
                   struct sb_error *err);

/* What a candidate's file holds that is no output of the op. Differences, not errors: the file can be read. */
struct sb_candidate_faults {
    char type[SB_MAX_TENSORS][64]; /* output i is there, but as this ("float64", "big-endian int32"); else "" */
    char text[800];                /* everything else, a line each: datasets that no output has, no group /outputs */
};

/* The outputs alone, from a file that may hold a candidate's outputs only (no attributes but those that are
 * there): for `diff`. Missing datasets, and those of a type that no tensor has, leave data == NULL. An unmarked u16 is
 * read as bf16. No digests are demanded, and stale ones (a golden file edited in place) not looked at. False with err
 * (SB_EXIT_BAD_INPUT) only where the file cannot be read. */
bool sb_store_read_outputs(const char *path, const struct sb_op *op, struct sb_tensor *out,
                           struct sb_candidate_faults *faults, struct sb_error *err);

/* Does a candidate say, in a table /samples/NAME, where the blocks of its output `out` are? */
enum sb_places {
    SB_PLACES_UNSAID, /* no such table, or `out` is not of the blocks' layout */
    SB_PLACES_SAME,   /* at those of `s` */
    SB_PLACES_OTHER,
};
bool sb_store_read_places(const char *path, const struct sb_samples *s, const struct sb_tensor *out,
                          enum sb_places *places, struct sb_error *err);

#endif
