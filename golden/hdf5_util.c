/* hdf5_util.c - the HDF5 calls that writing and reading share. */
#include "hdf5_util.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void sb_h5_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* ---- reasons ------------------------------------------------------------------------------------ */

struct reason {
    char *buf;
    size_t size;
    bool found;
};

/* The file drivers put errno's text between quotes, among time stamps and addresses of no use to a reader. */
static bool copy_system_reason(const char *text, char *buf, size_t size)
{
    static const char mark[] = "error message = '";
    const char *start = strstr(text, mark);
    if (start == NULL)
        return false;
    start += sizeof mark - 1;
    const char *end = strchr(start, '\'');
    snprintf(buf, size, "%.*s", end != NULL ? (int)(end - start) : (int)strlen(start), start);
    return true;
}

static herr_t take_innermost(unsigned n, const H5E_error2_t *e, void *user)
{
    (void)n;
    struct reason *r = user;
    if (!r->found && e->desc != NULL && e->desc[0] != '\0') {
        if (!copy_system_reason(e->desc, r->buf, r->size))
            snprintf(r->buf, r->size, "%s", e->desc);
        r->found = true;
    }
    return 0;
}

const char *sb_h5_reason(char *buf, size_t size)
{
    struct reason r = {buf, size, false};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &r);
    if (!r.found)
        snprintf(buf, size, "no reason given");
    return buf;
}

/* ---- types -------------------------------------------------------------------------------------- */

hid_t sb_h5_type(enum sb_dtype dtype)
{
    switch (dtype) {
    case SB_U8:
    case SB_E8M0:
        return H5T_STD_U8LE;
    case SB_I8:
        return H5T_STD_I8LE;
    case SB_I32:
        return H5T_STD_I32LE;
    case SB_I64:
        return H5T_STD_I64LE;
    case SB_BF16:
        return H5T_STD_U16LE;
    case SB_F32:
        return H5T_IEEE_F32LE;
    case SB_DTYPE_COUNT:
        break;
    }
    return H5I_INVALID_HID;
}

static bool dtype_by_name(const char *name, enum sb_dtype *dtype)
{
    for (int i = 0; i < SB_DTYPE_COUNT; i++) {
        if (strcmp(name, sb_dtype_name((enum sb_dtype)i)) == 0) {
            *dtype = (enum sb_dtype)i;
            return true;
        }
    }
    return false;
}

bool sb_h5_dtype(hid_t type, const char *marked, enum sb_dtype *dtype)
{
    if (marked != NULL)
        return dtype_by_name(marked, dtype) && H5Tequal(type, sb_h5_type(*dtype)) > 0;
    static const enum sb_dtype unmarked[] = {SB_U8, SB_I8, SB_I32, SB_I64, SB_F32, SB_BF16};
    for (size_t i = 0; i < sizeof unmarked / sizeof unmarked[0]; i++) {
        if (H5Tequal(type, sb_h5_type(unmarked[i])) > 0) {
            *dtype = unmarked[i];
            return true;
        }
    }
    return false;
}

/* ---- attributes: writing ------------------------------------------------------------------------ */

static bool put(hid_t where, const char *name, hid_t type, hid_t space, const void *value)
{
    const hid_t attribute = H5Acreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0)
        return false;
    const bool ok = H5Awrite(attribute, type, value) >= 0;
    return H5Aclose(attribute) >= 0 && ok;
}

bool sb_h5_put_text(hid_t where, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    const bool ok = type >= 0 && space >= 0 && H5Tset_size(type, strlen(text) + 1) >= 0 &&
                    H5Tset_strpad(type, H5T_STR_NULLTERM) >= 0 && put(where, name, type, space, text);
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

bool sb_h5_put_i64(hid_t where, const char *name, const int64_t *values, int count)
{
    const hsize_t extent = (hsize_t)count;
    const hid_t space = count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &extent, NULL);
    const bool ok = space >= 0 && put(where, name, H5T_STD_I64LE, space, values);
    H5Sclose(space);
    return ok;
}

bool sb_h5_put_u64(hid_t where, const char *name, uint64_t value)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    const bool ok = space >= 0 && put(where, name, H5T_STD_U64LE, space, &value);
    H5Sclose(space);
    return ok;
}

/* ---- attributes: reading ------------------------------------------------------------------------ */

static hid_t open_attribute(hid_t where, const char *name)
{
    return H5Aexists(where, name) > 0 ? H5Aopen(where, name, H5P_DEFAULT) : H5I_INVALID_HID;
}

static hssize_t attribute_points(hid_t attribute)
{
    const hid_t space = H5Aget_space(attribute);
    const hssize_t points = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    H5Sclose(space);
    return points;
}

static bool get_variable_text(hid_t attribute, hid_t type, char *buf, size_t size)
{
    char *text = NULL;
    if (H5Aread(attribute, type, &text) < 0 || text == NULL)
        return false;
    const bool ok = strlen(text) < size;
    if (ok)
        snprintf(buf, size, "%s", text);
    H5free_memory(text);
    return ok;
}

static bool get_fixed_text(hid_t attribute, hid_t type, char *buf, size_t size)
{
    const size_t length = H5Tget_size(type);
    if (length == 0 || length > size) /* the last byte may be the terminator */
        return false;
    char *text = calloc(length + 1, 1);
    bool ok = text != NULL && H5Aread(attribute, type, text) >= 0 && strlen(text) < size;
    if (ok)
        snprintf(buf, size, "%s", text);
    free(text);
    return ok;
}

bool sb_h5_get_text(hid_t where, const char *name, char *buf, size_t size)
{
    buf[0] = '\0';
    const hid_t attribute = open_attribute(where, name);
    if (attribute < 0)
        return false;
    const hid_t type = H5Aget_type(attribute);
    bool ok = type >= 0 && H5Tget_class(type) == H5T_STRING && attribute_points(attribute) == 1;
    if (ok)
        ok = H5Tis_variable_str(type) > 0 ? get_variable_text(attribute, type, buf, size)
                                          : get_fixed_text(attribute, type, buf, size);
    H5Tclose(type);
    H5Aclose(attribute);
    return ok;
}

static bool get_integers(hid_t where, const char *name, hid_t memory_type, void *values, int count)
{
    const hid_t attribute = open_attribute(where, name);
    if (attribute < 0)
        return false;
    const hid_t type = H5Aget_type(attribute);
    const bool ok = type >= 0 && H5Tget_class(type) == H5T_INTEGER && attribute_points(attribute) == count &&
                    H5Aread(attribute, memory_type, values) >= 0;
    H5Tclose(type);
    H5Aclose(attribute);
    return ok;
}

bool sb_h5_get_i64(hid_t where, const char *name, int64_t *values, int count)
{
    return get_integers(where, name, H5T_NATIVE_INT64, values, count);
}

bool sb_h5_get_u64(hid_t where, const char *name, uint64_t *value)
{
    return get_integers(where, name, H5T_NATIVE_UINT64, value, 1);
}

/* ---- files and groups --------------------------------------------------------------------------- */

static hid_t open_without_locks(const char *path)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 11, 0))
    /* Goldens are read from read-only and network file systems too, where locking fails. */
    H5Pset_file_locking(access, false, true);
#endif
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

/* Is the signature where every file of ours has it? Tells "not HDF5" from "HDF5, but damaged". */
static bool has_signature(const char *path)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char start[8] = {0};
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return false;
    const bool same = fread(start, 1, sizeof start, f) == sizeof start && memcmp(start, signature, sizeof start) == 0;
    fclose(f);
    return same;
}

hid_t sb_h5_open(const char *path, struct sb_error *err)
{
    sb_h5_quiet();
    struct stat st;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO must not wait for its writer */
    FILE *f = fd >= 0 ? fdopen(fd, "rb") : NULL;
    const int why = errno;
    if (f == NULL) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "%s: cannot open: %s", path, strerror(why));
        return H5I_INVALID_HID;
    }
    const bool regular = fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode);
    fclose(f);
    if (!regular || st.st_size == 0) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s", path, regular ? "an empty file, not HDF5" : "not a regular file");
        return H5I_INVALID_HID;
    }
    const hid_t file = open_without_locks(path);
    if (file < 0) {
        char reason[256];
        sb_h5_reason(reason, sizeof reason);
        if (strncmp(reason, "truncated file", 14) == 0)
            sb_fail(err, SB_EXIT_BAD_INPUT, "%s: truncated: the file has %lld bytes and its header says more", path,
                    (long long)st.st_size);
        else if (!has_signature(path))
            sb_fail(err, SB_EXIT_BAD_INPUT, "%s: not an HDF5 file (no signature at its start)", path);
        else
            sb_fail(err, SB_EXIT_BAD_INPUT, "%s: damaged or truncated: HDF5 cannot open it (%s)", path, reason);
    }
    return file;
}

bool sb_h5_each_name(hid_t file, const char *group, bool (*each)(void *user, const char *name), void *user)
{
    const hid_t id = H5Gopen2(file, group, H5P_DEFAULT);
    if (id < 0)
        return false;
    H5G_info_t info;
    bool ok = H5Gget_info(id, &info) >= 0;
    for (hsize_t i = 0; ok && i < info.nlinks; i++) {
        char name[128] = "";
        ok = H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) >= 0 &&
             each(user, name);
    }
    H5Gclose(id);
    return ok;
}

bool sb_h5_has(hid_t file, const char *name)
{
    char parent[64];
    const char *slash = strchr(name, '/');
    if (slash != NULL) {
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - name), name);
        if (H5Lexists(file, parent, H5P_DEFAULT) <= 0)
            return false;
    }
    return H5Lexists(file, name, H5P_DEFAULT) > 0;
}

/* ---- datasets ----------------------------------------------------------------------------------- */

/* What a file of `file_bytes` can hold: deflate shrinks by at most 1032 to 1. The floor lets a small file hold a
 * dataset that was never written (HDF5 stores nothing for it). A claim above this comes from damage. */
static bool plausible_size(hid_t dataset, int64_t bytes)
{
    enum { FLOOR = 64 << 20, RATIO = 1100 };
    hsize_t file_bytes = 0;
    const hid_t file = H5Iget_file_id(dataset);
    const bool known = H5Fget_filesize(file, &file_bytes) >= 0;
    H5Fclose(file);
    if (bytes <= FLOOR)
        return true;
    return known && file_bytes <= (hsize_t)INT64_MAX / RATIO && bytes <= (int64_t)file_bytes * RATIO;
}

static bool bad_dataset(const struct sb_h5_dataset *ds, struct sb_error *err, const char *what)
{
    return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s: %s", ds->path, ds->name, what);
}

static bool bad_dataset_h5(const struct sb_h5_dataset *ds, struct sb_error *err, const char *what)
{
    char reason[256];
    sb_h5_reason(reason, sizeof reason);
    return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s: %s (%s)", ds->path, ds->name, what, reason);
}

static bool describe_type(struct sb_h5_dataset *ds, struct sb_error *err)
{
    char marked[32];
    const bool has_mark = H5Aexists(ds->id, "dtype") > 0;
    if (has_mark && !sb_h5_get_text(ds->id, "dtype", marked, sizeof marked))
        return bad_dataset(ds, err, "attribute dtype is not a short text");
    const hid_t type = H5Dget_type(ds->id);
    if (type < 0)
        return bad_dataset_h5(ds, err, "its type cannot be read");
    const bool known = sb_h5_dtype(type, has_mark ? marked : NULL, &ds->tensor.dtype);
    H5Tclose(type);
    if (!known && has_mark)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s: wrong dtype: marked \"%s\", stored as something else", ds->path,
                       ds->name, marked);
    if (!known)
        return bad_dataset(ds, err, "wrong dtype: none of u8, i8, i32, i64, f32 and u16 (for bf16), little-endian");
    return true;
}

static bool describe_shape(struct sb_h5_dataset *ds, struct sb_error *err)
{
    const hid_t space = H5Dget_space(ds->id);
    const H5S_class_t kind = H5Sget_simple_extent_type(space);
    const int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    hsize_t extent[H5S_MAX_RANK] = {0};
    const bool read = rank >= 0 && (kind == H5S_SIMPLE || kind == H5S_SCALAR) &&
                      (rank == 0 || H5Sget_simple_extent_dims(space, extent, NULL) == rank);
    H5Sclose(space);
    if (!read)
        return bad_dataset_h5(ds, err, "its shape cannot be read");
    if (rank > SB_MAX_RANK)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s: wrong shape: %d axes", ds->path, ds->name, rank);
    ds->tensor.rank = rank;
    int64_t bytes = (int64_t)sb_dtype_size(ds->tensor.dtype);
    bool fits = true;
    for (int axis = 0; axis < rank; axis++) {
        fits = fits && extent[axis] <= (hsize_t)INT64_MAX / 16;
        ds->tensor.shape[axis] = fits ? (int64_t)extent[axis] : 0;
        fits = fits && !__builtin_mul_overflow(bytes, ds->tensor.shape[axis], &bytes);
    }
    if (!fits || !plausible_size(ds->id, bytes))
        return bad_dataset(ds, err, "wrong shape: claims more elements than the file can hold");
    return true;
}

/* H5Dget_space_status() is of no use here: it takes a compressed chunk for one that is allocated in part. */
static bool is_written(hid_t dataset)
{
    hsize_t extent[H5S_MAX_RANK], chunk[H5S_MAX_RANK], wanted = 1, found = 0;
    const hid_t create = H5Dget_create_plist(dataset), space = H5Dget_space(dataset);
    const int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    bool written = H5Dget_storage_size(dataset) > 0;
    if (written && H5Pget_layout(create) == H5D_CHUNKED) {
        written = H5Pget_chunk(create, rank, chunk) == rank && H5Dget_num_chunks(dataset, space, &found) >= 0;
        for (int axis = 0; written && axis < rank; axis++)
            wanted *= (extent[axis] + chunk[axis] - 1) / chunk[axis];
        written = written && found == wanted;
    }
    H5Sclose(space);
    H5Pclose(create);
    return written;
}

/* A number that two objects of one open file share. */
static bool file_number(hid_t object, unsigned long *number)
{
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t info;
    const bool ok = H5Oget_info3(object, &info, H5O_INFO_BASIC) >= 0;
#else
    H5O_info_t info;
    const bool ok = H5Oget_info(object, &info) >= 0;
#endif
    *number = ok ? info.fileno : 0;
    return ok;
}

/* Is the dataset in this file, and not behind a link into another one? */
static bool in_file(hid_t dataset, hid_t file)
{
    unsigned long here, root;
    return file_number(dataset, &here) && file_number(file, &root) && here == root;
}

/* Elements that stand in another file, or that nobody wrote, are no result: HDF5 reads fill values for the latter. */
static bool all_inside(const struct sb_h5_dataset *ds, hid_t file, struct sb_error *err)
{
    const hid_t create = H5Dget_create_plist(ds->id);
    const bool plain = create >= 0 && H5Pget_layout(create) != H5D_VIRTUAL && H5Pget_external_count(create) == 0;
    H5Pclose(create);
    if (!plain || !in_file(ds->id, file))
        return bad_dataset(ds, err, "its elements stand in another file; store them in this one");
    if (sb_tensor_count(&ds->tensor) > 0 && !is_written(ds->id))
        return bad_dataset(ds, err, "not all of its elements were ever written");
    return true;
}

bool sb_h5_dataset_open(struct sb_h5_dataset *ds, hid_t file, const char *path, const char *name, struct sb_error *err)
{
    memset(ds, 0, sizeof *ds);
    ds->path = path;
    ds->id = H5I_INVALID_HID;
    snprintf(ds->name, sizeof ds->name, "%s", name);
    if (!sb_h5_has(file, name))
        return bad_dataset(ds, err, "this dataset is missing");
    ds->id = H5Dopen2(file, name, H5P_DEFAULT);
    if (ds->id < 0)
        return bad_dataset_h5(ds, err, "cannot be opened as a dataset");
    (void)sb_h5_get_text(ds->id, "sha256", ds->sha256, sizeof ds->sha256);
    if (describe_type(ds, err) && describe_shape(ds, err) && all_inside(ds, file, err))
        return true;
    sb_h5_dataset_close(ds);
    return false;
}

bool sb_h5_dataset_read(const struct sb_h5_dataset *ds, void *dense, struct sb_error *err)
{
    if (sb_tensor_count(&ds->tensor) == 0)
        return true;
    if (H5Dread(ds->id, sb_h5_type(ds->tensor.dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, dense) < 0)
        return bad_dataset_h5(ds, err, "its elements cannot be read; the file is damaged");
    return true;
}

void sb_h5_dataset_close(struct sb_h5_dataset *ds)
{
    if (ds->id >= 0)
        H5Dclose(ds->id);
    ds->id = H5I_INVALID_HID;
}

/* ---- layouts as text ---------------------------------------------------------------------------- */

const char *sb_layout_text(const struct sb_tensor *t, char *buf, size_t size)
{
    int used = snprintf(buf, size, "%s[", sb_dtype_name(t->dtype));
    for (int axis = 0; axis < t->rank && (size_t)used < size; axis++)
        used += snprintf(buf + used, size - (size_t)used, "%s%" PRId64, axis > 0 ? "," : "", t->shape[axis]);
    if ((size_t)used < size)
        snprintf(buf + used, size - (size_t)used, "]");
    return buf;
}

bool sb_layout_parse(const char *text, struct sb_tensor *t)
{
    const char *bracket = strchr(text, '[');
    char name[16];
    if (bracket == NULL || (size_t)(bracket - text) >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(bracket - text), text);
    memset(t, 0, sizeof *t);
    if (!dtype_by_name(name, &t->dtype))
        return false;
    const char *p = bracket + 1;
    while (*p >= '0' && *p <= '9') {
        char *end;
        errno = 0;
        const long long extent = strtoll(p, &end, 10);
        if (t->rank == SB_MAX_RANK || errno != 0)
            return false;
        t->shape[t->rank++] = extent;
        p = *end == ',' ? end + 1 : end;
        if (*end != ',')
            break;
    }
    /* One text for one layout: "f32[2,]" is not another way to write "f32[2]". */
    char again[128];
    return strcmp(sb_layout_text(t, again, sizeof again), text) == 0;
}
