/* probe_files.h - dot products recorded on silicon, as text: the format in which others publish theirs.
 *
 * A set NAME is four files of as many lines, one dot product d = c + sum a_i * b_i a line:
 *   a_NAME_bf16.txt, b_NAME_bf16.txt   16 words of 8 hex digits: f32 bits whose lower half is zero
 *   c_NAME_fp32.txt, d_NAME_fp32.txt   32 binary digits: f32 bits
 * So does github.com/north-numerical-computing/MATLAB-tensor-core, model_validation/, commit
 * b12b5a700957655375a1b0c1d0c26e76065da015 (arXiv 2512.07004). */
#ifndef SAMEBITS_HARNESS_PROBE_FILES_H
#define SAMEBITS_HARNESS_PROBE_FILES_H

#include "probe_run.h"

#include "protocol.h"

struct sb_probe_set {
    const char *folder, *name; /* of sb_probe_find_sets: owned by the list */
};

struct sb_probe_sets {
    struct sb_probe_set *set;
    int count, room;
    int left_out; /* sets of operands other than bf16: not of this contract */
};

/* In a folder that holds this file a capture did not finish (probe_capture.h). */
#define SB_PROBE_UNFINISHED "unfinished.txt"

/* All sets in `dir` and the folders below it, in order of their paths; a folder that several links lead to counts once,
 * names that begin with a dot are not looked at. False with err: a folder that cannot be read, or in which a capture
 * did not finish, a set of which a file is missing, no set at all. */
bool sb_probe_find_sets(const char *dir, struct sb_probe_sets *sets, struct sb_error *err);
void sb_probe_sets_free(struct sb_probe_sets *sets);

/* The path of one of a set's files, letter 'a' to 'd'. Returns buf, cut to size. */
const char *sb_probe_set_file(const struct sb_probe_set *set, char letter, char *buf, size_t size);

/* Calls `each` with every dot product, `got` being the recorded d, and its line from 1 on. False with err, naming file
 * and line: anything that is not of the format, a line of more than 4096 bytes, files of different length, no line at
 * all, what is no regular file or cannot be read to its end, or `each` returned false (out of memory). */
bool sb_probe_read_set(const struct sb_probe_set *set,
                       bool (*each)(void *user, int64_t line, const struct sb_probe_vector *v), void *user,
                       struct sb_error *err);

/* Writes c, a, b and got of each vector of class `cls` as the set of that class's name. Existing files are refused. No
 * vector: no file. */
bool sb_probe_write_set(const char *folder, enum sb_tc_class cls, const struct sb_probe_list *list,
                        struct sb_error *err);

#endif
