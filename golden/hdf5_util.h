/* hdf5_util.h - the few HDF5 calls that writing and reading share, with HDF5's own error printing off.
 * Internal to the store: nothing else sees hid_t. */
#ifndef SAMEBITS_GOLDEN_HDF5_UTIL_H
#define SAMEBITS_GOLDEN_HDF5_UTIL_H

#include "store.h"

#include <hdf5.h>

/* Turns HDF5's automatic error printing off. Called at the start of every entry into the store. */
void sb_h5_quiet(void);

/* The innermost line of HDF5's error stack, or the system's reason where there is one, without time stamps.
 * Returns buf. */
const char *sb_h5_reason(char *buf, size_t size);

/* The type on disk, and in memory: the same, so that no byte is ever converted and NaN payloads pass untouched.
 * Predefined: not to be closed. */
hid_t sb_h5_type(enum sb_dtype dtype);

/* Which dtype a dataset's type and its `dtype` attribute (NULL where there is none) mean. An unmarked u16 is bf16:
 * nothing else here is 16 bits wide. False for every other type. */
bool sb_h5_dtype(hid_t type, const char *marked, enum sb_dtype *dtype);

/* Attributes. put: text as fixed-length ASCII. get: false where the attribute is missing or of another kind; text
 * may be fixed or variable in length, integers of any width and sign. */
bool sb_h5_put_text(hid_t where, const char *name, const char *text);
bool sb_h5_put_i64(hid_t where, const char *name, const int64_t *values, int count); /* count 0: one scalar */
bool sb_h5_put_u64(hid_t where, const char *name, uint64_t value);
bool sb_h5_get_text(hid_t where, const char *name, char *buf, size_t size);
bool sb_h5_get_i64(hid_t where, const char *name, int64_t *values, int count);
bool sb_h5_get_u64(hid_t where, const char *name, uint64_t *value);

/* Opens for reading. Errors say what the file is instead: missing, empty, not HDF5, truncated. -1 on failure. */
hid_t sb_h5_open(const char *path, struct sb_error *err);

/* Names in a group, in name order. Calls `each` until it returns false; false then, or when the group cannot be
 * read. `group` is a path such as "/" or "/inputs". */
bool sb_h5_each_name(hid_t file, const char *group, bool (*each)(void *user, const char *name), void *user);

/* Is there a link of that name? `name` is "inputs" or "inputs/scale". */
bool sb_h5_has(hid_t file, const char *name);

/* A dataset opened and described: dtype, rank and shape are known, nothing is allocated. */
struct sb_h5_dataset {
    const char *path; /* of the file, for messages */
    char name[64];    /* "inputs/scale" */
    hid_t id;
    struct sb_tensor tensor;    /* dense, data == NULL, name == NULL */
    char sha256[SB_SHA256_HEX]; /* as the attribute has it; "" where there is none */
};

/* Errors name file and dataset: missing, no dataset, a type or rank that no tensor has, a size that the file cannot
 * hold. */
bool sb_h5_dataset_open(struct sb_h5_dataset *ds, hid_t file, const char *path, const char *name, struct sb_error *err);
/* Reads the elements, dense, into `dense` (sb_tensor_logical_bytes). */
bool sb_h5_dataset_read(const struct sb_h5_dataset *ds, void *dense, struct sb_error *err);
void sb_h5_dataset_close(struct sb_h5_dataset *ds);

/* "f32[64,32]", for messages and for the layout attributes of /outputs. Returns buf. */
const char *sb_layout_text(const struct sb_tensor *t, char *buf, size_t size);
bool sb_layout_parse(const char *text, struct sb_tensor *t);

#endif
