/* store_write.c - one case as an HDF5 file.
 *
 * HDF5 builds the file in memory and our own code puts it on disk. A full disk is then an errno with a clear text,
 * and HDF5 never holds a file that it cannot flush (it would try again at exit, loudly).
 */
#include "file.h"
#include "hdf5_util.h"
#include "samples.h"
#include "store_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char sb_generator_name[] = "philox4x32-10/1";

enum {
    CHUNK_BYTES = 1 << 20,  /* one chunk fits HDF5's default chunk cache */
    IMAGE_STEP = 1 << 20,   /* by how much the image in memory grows */
    SMALL_BYTES = 64 << 10, /* below this the better compression costs nothing that is felt */
    SMALL_LEVEL = 6,
    LARGE_LEVEL = 1,        /* scale bytes: 0.457 of their size at 60 MB/s; level 6: 0.426 at 6 MB/s */
    KEPT_INPUTS = 16 << 20, /* bytes of inputs that the file of a sampled case holds at most */
    MOST_ATTRIBUTES = 128,  /* kept inside the object header, where checksums cover them */
};

/* ---- the image in memory ------------------------------------------------------------------------ */

/* Filled in by HDF5's core driver through the callbacks below. H5Fget_file_image() is no way out: it clears a flag
 * in the superblock without renewing the checksum, so that nothing can open the result. */
struct image {
    unsigned char *bytes; /* the last buffer the driver held, kept when it would free it */
    size_t size;          /* its size, a multiple of IMAGE_STEP */
};

static void *image_malloc(size_t size, H5FD_file_image_op_t op, void *user)
{
    (void)op;
    ((struct image *)user)->size = size;
    return malloc(size); /* the driver clears what it has not written */
}

static void *image_memcpy(void *to, const void *from, size_t size, H5FD_file_image_op_t op, void *user)
{
    (void)op;
    (void)user;
    return memcpy(to, from, size);
}

static void *image_realloc(void *bytes, size_t size, H5FD_file_image_op_t op, void *user)
{
    (void)op;
    struct image *image = user;
    void *grown = realloc(bytes, size);
    if (grown != NULL)
        image->size = size;
    return grown;
}

static herr_t image_free(void *bytes, H5FD_file_image_op_t op, void *user)
{
    if (op == H5FD_FILE_IMAGE_OP_FILE_CLOSE)
        ((struct image *)user)->bytes = bytes;
    else
        free(bytes);
    return 0;
}

static void *image_user_copy(void *user)
{
    return user;
}

static herr_t image_user_free(void *user)
{
    (void)user;
    return 0;
}

/* The end of the file, as a version 2 or 3 superblock with 8-byte addresses has it; 0 for anything else. */
static size_t image_end(const struct image *image)
{
    enum { VERSION = 8, ADDRESS_BYTES = 9, END = 28, SUPERBLOCK_BYTES = 48 };
    const unsigned char *b = image->bytes;
    if (b == NULL || image->size < SUPERBLOCK_BYTES || b[VERSION] < 2 || b[VERSION] > 3 || b[ADDRESS_BYTES] != 8)
        return 0;
    uint64_t end = 0;
    for (int i = 7; i >= 0; i--)
        end = end << 8 | b[END + i];
    return end <= image->size ? (size_t)end : 0;
}

/* ---- properties: all without time stamps, so that the same bytes come out every time ------------- */

static bool compact(hid_t list)
{
    return H5Pset_obj_track_times(list, false) >= 0 && H5Pset_attr_phase_change(list, MOST_ATTRIBUTES, 0) >= 0;
}

static hid_t create_file(struct image *image)
{
    H5FD_file_image_callbacks_t callbacks = {image_malloc,    image_memcpy,    image_realloc, image_free,
                                             image_user_copy, image_user_free, image};
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), create = H5Pcreate(H5P_FILE_CREATE);
    /* The 1.10 format: the oldest with checksums over chunk indices, and small for datasets of one chunk. */
    const bool ok = H5Pset_fapl_core(access, IMAGE_STEP, false) >= 0 &&
                    H5Pset_file_image_callbacks(access, &callbacks) >= 0 &&
                    /* No blocks set aside for more of the same: they would stay as holes in the file. */
                    H5Pset_meta_block_size(access, 0) >= 0 && H5Pset_small_data_block_size(access, 0) >= 0 &&
                    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0 && compact(create);
    const hid_t file = ok ? H5Fcreate("golden", H5F_ACC_TRUNC, create, access) : H5I_INVALID_HID;
    H5Pclose(create);
    H5Pclose(access);
    return file;
}

static hid_t create_group(hid_t file, const char *name)
{
    const hid_t create = H5Pcreate(H5P_GROUP_CREATE);
    const bool ok = compact(create) && H5Pset_link_phase_change(create, 2 * SB_MAX_TENSORS, 0) >= 0;
    const hid_t group = ok ? H5Gcreate2(file, name, H5P_DEFAULT, create, H5P_DEFAULT) : H5I_INVALID_HID;
    H5Pclose(create);
    return group;
}

/* A chunk of at most CHUNK_BYTES: whole rows while they fit, then pieces of one row. */
static void chunk_shape(const struct sb_tensor *t, hsize_t chunk[SB_MAX_RANK])
{
    uint64_t room = CHUNK_BYTES / sb_dtype_size(t->dtype);
    for (int axis = t->rank - 1; axis >= 0; axis--) {
        const uint64_t extent = (uint64_t)t->shape[axis];
        chunk[axis] = extent < room ? extent : room;
        room = extent < room ? room / extent : 1;
    }
}

static bool set_filters(hid_t create, const struct sb_tensor *t)
{
    if (t->rank == 0 || sb_tensor_count(t) == 0)
        return true; /* HDF5 has no chunks for a scalar or for nothing */
    hsize_t chunk[SB_MAX_RANK];
    chunk_shape(t, chunk);
    const bool shuffled = sb_dtype_size(t->dtype) > 1;
    const unsigned level = sb_tensor_logical_bytes(t) <= SMALL_BYTES ? SMALL_LEVEL : LARGE_LEVEL;
    return H5Pset_chunk(create, t->rank, chunk) >= 0 && (!shuffled || H5Pset_shuffle(create) >= 0) &&
           H5Pset_deflate(create, level) >= 0 && H5Pset_fletcher32(create) >= 0;
}

/* ---- datasets ----------------------------------------------------------------------------------- */

static bool write_elements(hid_t dataset, const struct sb_tensor *t)
{
    if (sb_tensor_count(t) == 0)
        return true;
    const hid_t type = sb_h5_type(t->dtype);
    if (sb_tensor_is_dense(t))
        return H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->data) >= 0;
    void *dense = malloc(sb_tensor_logical_bytes(t));
    if (dense == NULL)
        return false;
    sb_tensor_gather(t, 0, sb_tensor_count(t), dense);
    const bool ok = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, dense) >= 0;
    free(dense);
    return ok;
}

static hid_t create_dataset(hid_t group, const char *name, const struct sb_tensor *t)
{
    hsize_t extent[SB_MAX_RANK];
    for (int axis = 0; axis < t->rank; axis++)
        extent[axis] = (hsize_t)t->shape[axis];
    const hid_t space = t->rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(t->rank, extent, NULL);
    const hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    const bool ok = space >= 0 && compact(create) && set_filters(create, t);
    const hid_t dataset =
        ok ? H5Dcreate2(group, name, sb_h5_type(t->dtype), space, H5P_DEFAULT, create, H5P_DEFAULT) : H5I_INVALID_HID;
    H5Pclose(create);
    H5Sclose(space);
    return dataset;
}

/* `table`: the dataset of /samples that says where these blocks are, or NULL: the tensor is whole. */
static bool write_dataset(hid_t group, const struct sb_tensor_spec *spec, const struct sb_tensor *t, const char *table,
                          const char *sha256)
{
    char path[SB_DATASET_NAME];
    const hid_t dataset = create_dataset(group, spec->name, t);
    if (dataset < 0)
        return false;
    const bool ok = write_elements(dataset, t) && sb_h5_put_text(dataset, "dtype", sb_dtype_name(t->dtype)) &&
                    sb_h5_put_text(dataset, "description", spec->description) &&
                    sb_h5_put_text(dataset, "sha256", sha256) &&
                    (table == NULL || sb_h5_put_text(dataset, "sampled", sb_store_table_path(table, path)));
    return H5Dclose(dataset) >= 0 && ok;
}

/* /inputs or /outputs as it is to be written. */
struct group {
    const char *name;
    const struct sb_tensor_spec *specs;
    int count;
    const struct sb_data *d;
    const struct sb_tensor *tensors; /* of d */
    const char (*digests)[SB_SHA256_HEX];
    bool outputs;
    bool datasets; /* false: attributes say what the tensors are, nothing holds them */
};

/* What the group's attributes say of tensor `i`. */
static bool write_statements(hid_t group, const struct group *g, int i)
{
    char text[128], name[SB_DATASET_NAME];
    if (!g->outputs && (g->datasets || g->tensors[i].data == NULL))
        return true;
    if (g->outputs && g->tensors[i].data == NULL && g->specs[i].optional)
        return true;
    const struct sb_tensor *whole = g->outputs ? sb_output_whole(g->d, i) : &g->tensors[i];
    if (!sb_h5_put_text(group, g->specs[i].name, sb_layout_text(whole, text, sizeof text)))
        return false;
    return g->datasets || sb_h5_put_text(group, sb_store_digest_name(g->specs[i].name, name), g->digests[i]);
}

/* One group. `failed` is set to the dataset at fault. */
static bool write_group(hid_t file, const struct group *g, const char **failed)
{
    const hid_t group = create_group(file, g->name);
    bool ok = group >= 0;
    for (int i = 0; ok && i < g->count; i++) {
        *failed = g->specs[i].name;
        const bool sampled = g->outputs && g->d->samples[i].count > 0;
        ok = write_statements(group, g, i);
        if (ok && g->datasets && g->tensors[i].data != NULL)
            ok = write_dataset(group, &g->specs[i], &g->tensors[i], sampled ? g->specs[i].name : NULL, g->digests[i]);
    }
    return group >= 0 && H5Gclose(group) >= 0 && ok;
}

/* /samples, where an output is sampled. */
static bool write_samples(hid_t file, const struct sb_case *c, const struct sb_data *d,
                          const struct sb_digests *digests, const char **failed)
{
    hid_t group = H5I_INVALID_HID;
    bool ok = true;
    for (int i = 0; ok && i < sb_op_output_count(c->op); i++) {
        if (d->samples[i].count == 0)
            continue;
        *failed = "samples";
        const struct sb_tensor table = sb_samples_table(&d->samples[i]);
        const struct sb_tensor_spec spec = {.name = c->op->outputs[i].name,
                                            .description =
                                                "where the output is sampled [blocks, 5]: plane (of the axes "
                                                "before the last two), row, row end, column, column end"};
        if (group < 0)
            group = create_group(file, "samples");
        ok = group >= 0 && write_dataset(group, &spec, &table, NULL, digests->sample[i]);
    }
    return (group < 0 || H5Gclose(group) >= 0) && ok;
}

/* ---- root attributes ---------------------------------------------------------------------------- */

static bool write_params(hid_t file, const struct sb_case *c)
{
    bool ok = true;
    for (int i = 0; ok && c->op->params[i].name != NULL; i++) {
        const struct sb_param_spec *spec = &c->op->params[i];
        ok = spec->kind == SB_PARAM_INT ? sb_h5_put_i64(file, spec->name, &c->param[i].value, 0)
                                        : sb_h5_put_text(file, spec->name, c->param[i].text);
    }
    struct sb_derived derived[SB_MAX_DERIVED];
    const int count = ok && c->op->derived != NULL ? c->op->derived(c, derived, SB_MAX_DERIVED) : 0;
    for (int i = 0; ok && i < count; i++)
        ok = sb_h5_put_i64(file, derived[i].name, &derived[i].value, 0);
    return ok;
}

static bool write_root(hid_t file, const struct sb_case *c, const struct sb_status *status)
{
    const int64_t version = c->op->contract_version;
    return sb_h5_put_text(file, "op", c->op->name) && sb_h5_put_text(file, "contract", c->op->contract) &&
           sb_h5_put_i64(file, "contract_version", &version, 0) && sb_h5_put_text(file, "case", c->id) &&
           sb_h5_put_text(file, "reason", c->reason) && sb_h5_put_u64(file, "seed", c->seed) &&
           sb_h5_put_text(file, "generator", sb_generator_name) &&
           sb_h5_put_text(file, "status", sb_code_name((enum sb_code)status->code)) &&
           sb_h5_put_i64(file, "status_where", status->where, 3) &&
           sb_h5_put_i64(file, "ignored_ids", &status->ignored, 0) && write_params(file, c);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

bool sb_store_keeps_inputs(const struct sb_case *c, const struct sb_data *d)
{
    size_t bytes = 0;
    for (int i = 0; i < sb_op_input_count(c->op); i++)
        bytes += d->in[i].data != NULL ? sb_tensor_logical_bytes(&d->in[i]) : 0;
    return bytes <= KEPT_INPUTS || !sb_case_is_sampled(c);
}

const char *sb_store_digest_name(const char *input, char buf[SB_DATASET_NAME])
{
    snprintf(buf, SB_DATASET_NAME, "%.50s.sha256", input);
    return buf;
}

const char *sb_store_table_path(const char *output, char buf[SB_DATASET_NAME])
{
    snprintf(buf, SB_DATASET_NAME, "/samples/%.50s", output);
    return buf;
}

/* What the reference must have left behind: outputs exactly where the call was accepted. */
static bool complete(const struct sb_case *c, const struct sb_data *d, struct sb_error *err)
{
    const bool accepted = d->status.code == SB_OK;
    for (int i = 0; i < sb_op_input_count(c->op); i++)
        if (d->in[i].data == NULL && !c->op->inputs[i].optional)
            return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: inputs/%s was not made: nothing to store", c->id,
                           c->op->inputs[i].name);
    for (int i = 0; i < sb_op_output_count(c->op); i++) {
        const bool there = d->out[i].data != NULL;
        if (there != accepted && !(accepted && c->op->outputs[i].optional))
            return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: outputs/%s %s: nothing stored", c->id, c->op->outputs[i].name,
                           accepted ? "was not computed" : "was written by a rejected call");
    }
    return true;
}

static bool build_image(struct image *image, const char *path, const struct sb_case *c, const struct sb_data *d,
                        const struct sb_digests *digests, struct sb_error *err)
{
    const char *failed = "root attributes";
    const hid_t file = create_file(image);
    const struct group inputs = {.name = "inputs",
                                 .specs = c->op->inputs,
                                 .count = sb_op_input_count(c->op),
                                 .d = d,
                                 .tensors = d->in,
                                 .digests = digests->in,
                                 .datasets = sb_store_keeps_inputs(c, d)};
    const struct group outputs = {.name = "outputs",
                                  .specs = c->op->outputs,
                                  .count = sb_op_output_count(c->op),
                                  .d = d,
                                  .tensors = d->out,
                                  .digests = digests->out,
                                  .outputs = true,
                                  .datasets = true};
    bool ok = file >= 0 && write_root(file, c, &d->status) && write_group(file, &inputs, &failed) &&
              write_group(file, &outputs, &failed) && write_samples(file, c, d, digests, &failed);
    char reason[256] = "";
    if (!ok)
        sb_h5_reason(reason, sizeof reason);
    if (file >= 0 && H5Fclose(file) < 0 && ok) {
        ok = false;
        failed = "closing";
        sb_h5_reason(reason, sizeof reason);
    }
    return ok ||
           sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s: HDF5 cannot build this file in memory (%s)", path, failed, reason);
}

bool sb_store_write_digested(const char *path, const struct sb_case *c, const struct sb_data *d,
                             const struct sb_digests *digests, int64_t *file_bytes, char file_sha256[SB_SHA256_HEX],
                             struct sb_error *err)
{
    sb_h5_quiet();
    if (!complete(c, d, err))
        return false;
    struct image image = {NULL, 0};
    bool ok = build_image(&image, path, c, d, digests, err);
    const size_t size = ok ? image_end(&image) : 0;
    if (ok && size == 0)
        ok = sb_fail(err, SB_EXIT_BAD_INPUT, "%s: this HDF5 library made a file of an unknown form", path);
    if (ok) {
        *file_bytes = (int64_t)size;
        sb_bytes_sha256(image.bytes, size, file_sha256);
        ok = sb_file_write(path, image.bytes, size, err);
    }
    free(image.bytes);
    return ok;
}

bool sb_store_write(const char *path, const struct sb_case *c, const struct sb_data *d, struct sb_error *err)
{
    struct sb_digests digests;
    int64_t file_bytes;
    char file_sha256[SB_SHA256_HEX];
    sb_digests_make(c->op, d, &digests);
    return sb_store_write_digested(path, c, d, &digests, &file_bytes, file_sha256, err);
}
