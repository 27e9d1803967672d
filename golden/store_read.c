/* store_read.c - reading golden files and candidates. Nothing in a file is believed before it is checked: inputs
 * must have the layout that the case's own generator gives them, every tensor the digest that the file states. */
#include "digest.h"
#include "hdf5_util.h"
#include "samples.h"
#include "store_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One file being read. */
struct reader {
    const char *path;
    hid_t file;
    char *dataset; /* SB_DATASET_NAME; the dataset in work, "" for the file as a whole */
    struct sb_error *err;
};

static bool bad(const struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool bad(const struct reader *r, const char *format, ...)
{
    char text[sizeof r->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const bool named = r->dataset[0] != '\0';
    return sb_fail(r->err, SB_EXIT_BAD_INPUT, "%s: %s%s%s", r->path, named ? r->dataset : "", named ? ": " : "", text);
}

/* ---- the case ----------------------------------------------------------------------------------- */

static bool need_text(const struct reader *r, const char *name, char *buf, size_t size)
{
    return sb_h5_get_text(r->file, name, buf, size) ||
           bad(r, "root attribute \"%s\" is missing or not a text of less than %zu bytes", name, size);
}

static bool need_i64(const struct reader *r, const char *name, int64_t *values, int count)
{
    return sb_h5_get_i64(r->file, name, values, count) ||
           bad(r, "root attribute \"%s\" is missing or not %d integer%s", name, count, count > 1 ? "s" : "");
}

static bool same_text(const struct reader *r, const char *name, const char *expected)
{
    char text[SB_ID_SIZE];
    return need_text(r, name, text, sizeof text) &&
           (strcmp(text, expected) == 0 ||
            bad(r, "root attribute \"%s\" is \"%s\" where this case has \"%s\"", name, text, expected));
}

static bool same_i64(const struct reader *r, const char *name, int64_t expected)
{
    int64_t value;
    if (!need_i64(r, name, &value, 1))
        return false;
    return value == expected ||
           bad(r, "root attribute \"%s\" is %" PRId64 " where this case has %" PRId64, name, value, expected);
}

static const struct sb_op *find_op(const struct sb_op_list *ops, const char *name)
{
    for (int i = 0; i < ops->count; i++)
        if (strcmp(ops->op[i]->name, name) == 0)
            return ops->op[i];
    return NULL;
}

/* Before the id: a newer contract may have parameters that this build cannot parse. */
static bool check_contract(const struct reader *r, const struct sb_op_list *ops)
{
    char name[SB_TEXT_SIZE];
    int64_t version;
    if (!need_text(r, "op", name, sizeof name))
        return false;
    const struct sb_op *op = find_op(ops, name);
    if (op == NULL)
        return bad(r, "made for op \"%s\", which this build does not know: update samebits", name);
    if (!need_i64(r, "contract_version", &version, 1))
        return false;
    if (version > op->contract_version)
        return bad(r, "made under version %" PRId64 " of contract %s, this build knows %d: update samebits", version,
                   op->contract, op->contract_version);
    if (version < op->contract_version)
        return bad(r, "made under version %" PRId64 " of contract %s, this build knows %d: make the file again",
                   version, op->contract, op->contract_version);
    return same_text(r, "contract", op->contract) && same_text(r, "generator", sb_generator_name);
}

static bool check_params(const struct reader *r, const struct sb_case *c)
{
    bool ok = true;
    for (int i = 0; ok && c->op->params[i].name != NULL; i++) {
        const struct sb_param_spec *spec = &c->op->params[i];
        ok = spec->kind == SB_PARAM_INT ? same_i64(r, spec->name, c->param[i].value)
                                        : same_text(r, spec->name, c->param[i].text);
    }
    struct sb_derived derived[SB_MAX_DERIVED];
    const int count = ok && c->op->derived != NULL ? c->op->derived(c, derived, SB_MAX_DERIVED) : 0;
    for (int i = 0; ok && i < count; i++)
        ok = same_i64(r, derived[i].name, derived[i].value);
    return ok;
}

static bool read_case(const struct reader *r, const struct sb_op_list *ops, struct sb_case *c)
{
    char id[SB_ID_SIZE];
    uint64_t seed;
    if (!check_contract(r, ops) || !need_text(r, "case", id, sizeof id))
        return false;
    if (!sb_case_parse(c, ops, id, r->err))
        return sb_fail_context(r->err, "%s: root attribute \"case\"", r->path);
    if (strcmp(c->id, id) != 0)
        return bad(r, "root attribute \"case\" is \"%s\", not an id as samebits writes it (\"%s\")", id, c->id);
    if (!same_text(r, "op", c->op->name))
        return false;
    if (!sb_h5_get_u64(r->file, "seed", &seed) || seed != c->seed)
        return bad(r, "root attribute \"seed\" is missing or not the one of this case");
    /* The file's own words: a suite may phrase its reason anew without making old files wrong. */
    return need_text(r, "reason", c->reason, sizeof c->reason) && check_params(r, c);
}

bool sb_code_by_name(const char *name, enum sb_code *code)
{
    for (int i = 0; i < SB_CODE_COUNT; i++) {
        if (strcmp(name, sb_code_name((enum sb_code)i)) == 0) {
            *code = (enum sb_code)i;
            return true;
        }
    }
    return false;
}

static bool read_status(const struct reader *r, struct sb_status *status)
{
    char name[32];
    enum sb_code code;
    if (!need_text(r, "status", name, sizeof name))
        return false;
    if (!sb_code_by_name(name, &code))
        return bad(r, "root attribute \"status\" is \"%s\", which this build does not know", name);
    *status = (struct sb_status){.code = (int32_t)code};
    return need_i64(r, "status_where", status->where, 3) && need_i64(r, "ignored_ids", &status->ignored, 1);
}

/* ---- tensors ------------------------------------------------------------------------------------ */

static void name_dataset(const struct reader *r, const char *group, const char *name)
{
    snprintf(r->dataset, SB_DATASET_NAME, "%s/%s", group, name);
}

static bool check_layout(const struct reader *r, const struct sb_tensor *found, const struct sb_tensor *expected)
{
    char have[128], want[128];
    if (sb_tensor_same_layout(found, expected))
        return true;
    return bad(r, "wrong %s: %s, where this case has %s", found->dtype != expected->dtype ? "dtype" : "shape",
               sb_layout_text(found, have, sizeof have), sb_layout_text(expected, want, sizeof want));
}

/* Reads into `t`, whose layout and memory are there already (gaps keep their bytes). */
static bool read_elements(const struct sb_h5_dataset *ds, struct sb_tensor *t, struct sb_error *err)
{
    if (sb_tensor_is_dense(t))
        return sb_h5_dataset_read(ds, t->data, err);
    const size_t bytes = sb_tensor_logical_bytes(t);
    void *dense = malloc(bytes > 0 ? bytes : 1);
    if (dense == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s: no memory for %zu bytes", ds->path, ds->name, bytes);
    const bool ok = sb_h5_dataset_read(ds, dense, err);
    if (ok)
        sb_tensor_scatter(t, 0, sb_tensor_count(t), dense);
    free(dense);
    return ok;
}

static bool check_digest(const struct reader *r, const struct sb_h5_dataset *ds, const struct sb_tensor *t,
                         char hex[SB_SHA256_HEX])
{
    sb_tensor_sha256(t, hex);
    if (ds->sha256[0] == '\0')
        return bad(r, "attribute sha256 is missing or not a digest");
    return strcmp(ds->sha256, hex) == 0 ||
           bad(r, "its bytes have SHA-256 %.12s..., its attribute says %.12s...: damaged or edited", hex, ds->sha256);
}

/* Opens the dataset that the reader names and checks it against `expected`. */
static bool open_expected(const struct reader *r, const struct sb_tensor *expected, struct sb_h5_dataset *ds)
{
    if (!sb_h5_dataset_open(ds, r->file, r->path, r->dataset, r->err))
        return false;
    if (check_layout(r, &ds->tensor, expected))
        return true;
    sb_h5_dataset_close(ds);
    return false;
}

/* An input that has no dataset: `t` was made from the seed, the file says its layout and its digest. */
static bool check_stated_input(const struct reader *r, const char *name, const struct sb_tensor *t,
                               char hex[SB_SHA256_HEX])
{
    char layout[128], stated[128] = "", digest_name[SB_DATASET_NAME], digest[SB_SHA256_HEX] = "";
    if (sb_h5_has(r->file, r->dataset))
        return bad(r, "the inputs of this case are too large to be kept, but here is one");
    sb_store_digest_name(name, digest_name);
    const hid_t group = H5Gopen2(r->file, "inputs", H5P_DEFAULT);
    const bool there = group >= 0 && sb_h5_get_text(group, name, stated, sizeof stated) &&
                       sb_h5_get_text(group, digest_name, digest, sizeof digest);
    if (group >= 0)
        H5Gclose(group);
    if (!there)
        return bad(r, "attribute \"%s\" or \"%s\" of /inputs is missing or no text", name, digest_name);
    if (strcmp(stated, sb_layout_text(t, layout, sizeof layout)) != 0)
        return bad(r, "its layout is %s, where this case has %s", stated, layout);
    sb_tensor_sha256(t, hex);
    return strcmp(digest, hex) == 0 ||
           bad(r,
               "the seed gives bytes with SHA-256 %.12s..., /inputs says %.12s...: damaged, edited, or made by another "
               "generator",
               hex, digest);
}

/* The inputs: `d->in` as generate() left it says what must be there, and gives the memory. */
static bool read_inputs(const struct reader *r, const struct sb_case *c, struct sb_data *d, struct sb_digests *digests)
{
    const bool kept = sb_store_keeps_inputs(c, d);
    bool ok = true;
    for (int i = 0; ok && i < sb_op_input_count(c->op); i++) {
        struct sb_h5_dataset ds;
        struct sb_tensor *t = &d->in[i];
        name_dataset(r, "inputs", c->op->inputs[i].name);
        if (t->data == NULL) {
            ok = !sb_h5_has(r->file, r->dataset) || bad(r, "this case has no such dataset");
            continue;
        }
        if (!kept) {
            ok = check_stated_input(r, c->op->inputs[i].name, t, digests->in[i]);
            continue;
        }
        ok = open_expected(r, t, &ds);
        if (!ok)
            break;
        ok = read_elements(&ds, t, r->err) && check_digest(r, &ds, t, digests->in[i]);
        sb_h5_dataset_close(&ds);
    }
    return ok;
}

/* The layout that /outputs states for one output; *stated false where an optional one has none. */
static bool read_layout(const struct reader *r, const struct sb_tensor_spec *spec, struct sb_tensor *t, bool *stated)
{
    char text[128];
    const hid_t group = H5Gopen2(r->file, "outputs", H5P_DEFAULT);
    if (group < 0)
        return bad(r, "group /outputs is missing");
    *stated = H5Aexists(group, spec->name) > 0;
    const bool ok =
        *stated ? sb_h5_get_text(group, spec->name, text, sizeof text) && sb_layout_parse(text, t) : spec->optional;
    H5Gclose(group);
    t->name = spec->name;
    return ok || bad(r, "attribute \"%s\" of /outputs is missing or not a layout such as f32[2,3]", spec->name);
}

/* Reads the dataset that the reader names into new memory; `t` has the layout that it must have. */
static bool read_output(const struct reader *r, struct sb_tensor *t, char hex[SB_SHA256_HEX])
{
    struct sb_h5_dataset ds;
    const struct sb_tensor stated = *t;
    if (!open_expected(r, &stated, &ds))
        return false;
    bool ok = sb_tensor_alloc(t, stated.name, stated.dtype, stated.rank, stated.shape, r->err) ||
              sb_fail_context(r->err, "%s: %s", r->path, r->dataset);
    ok = ok && sb_h5_dataset_read(&ds, t->data, r->err) && check_digest(r, &ds, t, hex);
    sb_h5_dataset_close(&ds);
    return ok;
}

/* The table of places must be the one that the case gives: blocks at other places would be judged as if they were
 * there. */
static bool read_table(const struct reader *r, const struct sb_samples *s, char hex[SB_SHA256_HEX])
{
    struct sb_tensor table = sb_samples_table(s);
    table.data = NULL;
    name_dataset(r, "samples", s->whole.name);
    if (!read_output(r, &table, hex)) {
        free(table.data);
        return false;
    }
    const bool same = memcmp(table.data, s->block, sb_tensor_logical_bytes(&table)) == 0;
    free(table.data);
    return same || bad(r, "this build samples the case at other places: make the set again with this build");
}

static bool says_sampled(const struct reader *r, const char *output)
{
    char text[SB_DATASET_NAME], path[SB_DATASET_NAME];
    const hid_t id = H5Dopen2(r->file, r->dataset, H5P_DEFAULT);
    const bool said = id >= 0 && sb_h5_get_text(id, "sampled", text, sizeof text) &&
                      strcmp(text, sb_store_table_path(output, path)) == 0;
    if (id >= 0)
        H5Dclose(id);
    return said || bad(r, "attribute sampled is missing or does not name the table of places");
}

/* A sampled output: `t` has the stated layout of the whole and becomes the blocks. */
static bool read_sampled(const struct reader *r, struct sb_samples *s, struct sb_tensor *t, char hex[SB_SHA256_HEX],
                         char table_hex[SB_SHA256_HEX])
{
    if (!check_layout(r, t, &s->whole) || !says_sampled(r, s->whole.name))
        return false;
    *t = sb_samples_layout(s);
    return read_output(r, t, hex) && read_table(r, s, table_hex);
}

static bool read_outputs(const struct reader *r, const struct sb_case *c, struct sb_data *d, struct sb_digests *digests)
{
    const bool accepted = d->status.code == SB_OK;
    bool ok = true;
    for (int i = 0; ok && i < sb_op_output_count(c->op); i++) {
        bool stated = false;
        name_dataset(r, "outputs", c->op->outputs[i].name);
        ok = read_layout(r, &c->op->outputs[i], &d->out[i], &stated) &&
             (!accepted || sb_case_samples(c, i, &d->samples[i], r->err));
        if (ok && stated && accepted && d->samples[i].count > 0)
            ok = read_sampled(r, &d->samples[i], &d->out[i], digests->out[i], digests->sample[i]);
        else if (ok && stated && accepted)
            ok = read_output(r, &d->out[i], digests->out[i]);
        else if (ok && sb_h5_has(r->file, r->dataset))
            ok = bad(r, accepted ? "this case has no such dataset" : "a rejected call has no outputs");
    }
    return ok;
}

/* ---- nothing else may be there ------------------------------------------------------------------- */

struct names {
    const struct reader *r;
    const char *group;
    const struct sb_tensor_spec *known; /* ends with name == NULL */
    bool unexpected;
};

static bool is_known(void *user, const char *name)
{
    struct names *names = user;
    for (int i = 0; names->known[i].name != NULL; i++)
        if (strcmp(names->known[i].name, name) == 0)
            return true;
    names->unexpected = true;
    snprintf(names->r->dataset, SB_DATASET_NAME, "%s%s%.40s", names->group, names->group[0] != '\0' ? "/" : "", name);
    return bad(names->r, "unexpected: the contract has no such dataset");
}

static bool only_known(const struct reader *r, const char *group, const struct sb_tensor_spec *known)
{
    struct names names = {r, group, known, false};
    if (sb_h5_each_name(r->file, group[0] != '\0' ? group : "/", is_known, &names))
        return true;
    return !names.unexpected ? bad(r, "group /%s is missing or cannot be read", group) : false;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static bool load(const struct reader *r, const struct sb_op_list *ops, struct sb_case *c, struct sb_data *d,
                 struct sb_digests *digests)
{
    static const struct sb_tensor_spec groups[] = {{.name = "inputs"}, {.name = "outputs"}, {.name = NULL}};
    static const struct sb_tensor_spec sampled_groups[] = {
        {.name = "inputs"}, {.name = "outputs"}, {.name = "samples"}, {.name = NULL}};
    if (!read_case(r, ops, c) || !read_status(r, &d->status))
        return false;
    const struct sb_status status = d->status;
    const bool sampled = status.code == SB_OK && sb_case_is_sampled(c);
    if (!only_known(r, "", sampled ? sampled_groups : groups) || !only_known(r, "inputs", c->op->inputs) ||
        !only_known(r, "outputs", c->op->outputs) || (sampled && !only_known(r, "samples", c->op->outputs)))
        return false;
    if (!c->op->generate(c, d, r->err))
        return sb_fail_context(r->err, "%s: the layout of its inputs", r->path);
    d->status = status;
    return read_inputs(r, c, d, digests) && read_outputs(r, c, d, digests);
}

bool sb_store_load(const char *path, const struct sb_op_list *ops, struct sb_case *c, struct sb_data *d,
                   struct sb_digests *digests, char dataset[SB_DATASET_NAME], struct sb_error *err)
{
    memset(c, 0, sizeof *c);
    memset(d, 0, sizeof *d);
    memset(digests, 0, sizeof *digests);
    dataset[0] = '\0';
    const struct reader r = {path, sb_h5_open(path, err), dataset, err};
    if (r.file < 0)
        return false;
    const bool ok = load(&r, ops, c, d, digests);
    H5Fclose(r.file);
    if (!ok)
        sb_data_free(d);
    else
        dataset[0] = '\0';
    return ok;
}

bool sb_store_read(const char *path, const struct sb_op_list *ops, struct sb_case *c, struct sb_data *d,
                   struct sb_error *err)
{
    struct sb_digests digests;
    char dataset[SB_DATASET_NAME];
    return sb_store_load(path, ops, c, d, &digests, dataset, err);
}

/* ---- candidates --------------------------------------------------------------------------------- */

static bool read_candidate(const struct reader *r, const char *name, struct sb_tensor *t)
{
    struct sb_h5_dataset ds;
    if (!sb_h5_dataset_open(&ds, r->file, r->path, r->dataset, r->err))
        return false;
    bool ok = sb_tensor_alloc(t, name, ds.tensor.dtype, ds.tensor.rank, ds.tensor.shape, r->err) ||
              sb_fail_context(r->err, "%s: %s", r->path, r->dataset);
    ok = ok && sb_h5_dataset_read(&ds, t->data, r->err);
    sb_h5_dataset_close(&ds);
    return ok;
}

/* "float64", "big-endian int32": the names that numpy's users know. */
static void type_text(hid_t type, char *buf, size_t size)
{
    const H5T_class_t kind = H5Tget_class(type);
    const bool integer = kind == H5T_INTEGER;
    if (!integer && kind != H5T_FLOAT)
        snprintf(buf, size, "no numbers");
    else
        snprintf(buf, size, "%s%s%zu", H5Tget_order(type) == H5T_ORDER_BE ? "big-endian " : "",
                 !integer                            ? "float"
                 : H5Tget_sign(type) == H5T_SGN_NONE ? "uint"
                                                     : "int",
                 8 * H5Tget_size(type));
}

/* Is the dataset that the reader names one that no tensor can hold? Then `buf` says what it is. */
static bool is_foreign(const struct reader *r, char *buf, size_t size)
{
    char mark[32];
    enum sb_dtype dtype;
    const hid_t id = H5Dopen2(r->file, r->dataset, H5P_DEFAULT);
    if (id < 0) {
        snprintf(buf, size, "no dataset");
        return true;
    }
    const hid_t type = H5Dget_type(id), space = H5Dget_space(id);
    const bool marked = sb_h5_get_text(id, "dtype", mark, sizeof mark);
    const int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    buf[0] = '\0';
    if (type >= 0 && !sb_h5_dtype(type, marked ? mark : NULL, &dtype))
        type_text(type, buf, size);
    else if (rank > SB_MAX_RANK)
        snprintf(buf, size, "an array of %d axes", rank);
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(id);
    return buf[0] != '\0';
}

struct extras {
    const struct sb_op *op;
    struct sb_candidate_faults *faults;
};

static void add_fault(struct sb_candidate_faults *faults, const char *format, const char *name)
{
    const size_t used = strlen(faults->text);
    char line[200];
    snprintf(line, sizeof line, format, name);
    snprintf(faults->text + used, sizeof faults->text - used, "%s%s", used > 0 ? "\n" : "", line);
}

static bool note_extra(void *user, const char *name)
{
    const struct extras *extras = user;
    for (int i = 0; i < sb_op_output_count(extras->op); i++)
        if (strcmp(extras->op->outputs[i].name, name) == 0)
            return true;
    add_fault(extras->faults, "outputs/%.60s is no output of the contract", name);
    return true;
}

static bool read_candidates(const struct reader *r, const struct sb_op *op, struct sb_tensor *out,
                            struct sb_candidate_faults *faults)
{
    struct extras extras = {op, faults};
    if (!sb_h5_has(r->file, "outputs")) {
        add_fault(faults, "no group /outputs: a candidate's arrays are expected as /outputs/%s", op->outputs[0].name);
        return true;
    }
    if (!sb_h5_each_name(r->file, "outputs", note_extra, &extras)) {
        add_fault(faults, "/outputs is not a group%s", "");
        return true;
    }
    bool ok = true;
    for (int i = 0; ok && i < sb_op_output_count(op); i++) {
        name_dataset(r, "outputs", op->outputs[i].name);
        if (sb_h5_has(r->file, r->dataset) && !is_foreign(r, faults->type[i], sizeof faults->type[i]))
            ok = read_candidate(r, op->outputs[i].name, &out[i]);
    }
    return ok;
}

bool sb_store_read_outputs(const char *path, const struct sb_op *op, struct sb_tensor *out,
                           struct sb_candidate_faults *faults, struct sb_error *err)
{
    memset(faults, 0, sizeof *faults);
    const int count = sb_op_output_count(op);
    char dataset[SB_DATASET_NAME] = "";
    memset(out, 0, sizeof *out * (size_t)count);
    const struct reader r = {path, sb_h5_open(path, err), dataset, err};
    if (r.file < 0)
        return false;
    const bool ok = read_candidates(&r, op, out, faults);
    H5Fclose(r.file);
    if (!ok)
        sb_tensors_free(out, count);
    return ok;
}
