/* manifest.c - manifest.json and the committed digest files: one canonical text, so that every byte is checked. */
#include "manifest.h"
#include "file.h"
#include "manifest_parts.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_VERSION = 1, MOST_BYTES = 256 << 20, MOST_CASES = 1000000 };

static const char format_name[] = "samebits-manifest";

void sb_manifest_free(struct sb_manifest *m)
{
    free(m->entry);
    m->entry = NULL;
    m->count = 0;
    m->contracts = 0;
}

/* ---- finding and adding -------------------------------------------------------------------------- */

/* Where `id` is or belongs; *found says which. */
static int position(const struct sb_manifest *m, const char *id, bool *found)
{
    int low = 0, high = m->count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (strcmp(m->entry[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < m->count && strcmp(m->entry[low].id, id) == 0;
    return low;
}

const struct sb_manifest_entry *sb_manifest_find(const struct sb_manifest *m, const char *id)
{
    bool found;
    const int at = position(m, id, &found);
    return found ? &m->entry[at] : NULL;
}

static struct sb_manifest_entry *insert(struct sb_manifest *m, const char *id, struct sb_error *err)
{
    bool found;
    const int at = position(m, id, &found);
    if (found) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "%s: this case is in the selection twice", id);
        return NULL;
    }
    struct sb_manifest_entry *grown = m->entry;
    if ((m->count & (m->count - 1)) == 0) /* at 0 and at powers of two */
        grown = realloc(m->entry, sizeof *grown * (size_t)(m->count == 0 ? 1 : 2 * m->count));
    if (grown == NULL) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory for the manifest", id);
        return NULL;
    }
    m->entry = grown;
    memmove(&grown[at + 1], &grown[at], sizeof *grown * (size_t)(m->count - at));
    memset(&grown[at], 0, sizeof *grown);
    snprintf(grown[at].id, sizeof grown[at].id, "%s", id);
    m->count++;
    return &grown[at];
}

static bool same_element(const struct sb_tensor *t, int64_t i, int64_t j)
{
    const size_t width = sb_dtype_size(t->dtype);
    const char *bytes = t->data;
    return memcmp(bytes + (size_t)i * width, bytes + (size_t)j * width, width) == 0;
}

/* Does one value fill at least 99 of 100 elements of this (dense) output? Then it is also the majority of the first
 * 2 * others + 1 elements, where Boyer and Moore's vote finds it; the count stops at the first one too many, so that
 * ordinary outputs cost little. */
static bool is_mostly_constant(const struct sb_tensor *t)
{
    enum { FEW = 64 };
    const int64_t count = sb_tensor_count(t), others = count / 100;
    if (t->data == NULL || count <= FEW)
        return false;
    int64_t candidate = 0, lead = 0, different = 0;
    for (int64_t i = 0; i < 2 * others + 1; i++) {
        if (lead == 0)
            candidate = i;
        lead += same_element(t, i, candidate) ? 1 : -1;
    }
    for (int64_t i = 0; i < count && different <= others; i++)
        different += !same_element(t, i, candidate);
    return different <= others;
}

static void add_tensor(struct sb_manifest_entry *e, const char *group, const char *name, const char *sha256)
{
    if (sha256[0] == '\0')
        return;
    struct sb_manifest_tensor *t = &e->tensor[e->tensors++];
    snprintf(t->name, sizeof t->name, "%s/%s", group, name);
    snprintf(t->sha256, sizeof t->sha256, "%s", sha256);
}

bool sb_manifest_add_digested(struct sb_manifest *m, const struct sb_case *c, const struct sb_data *d,
                              const struct sb_digests *digests, const char *file_sha256, int64_t file_bytes,
                              struct sb_error *err)
{
    struct sb_manifest_entry *e = insert(m, c->id, err);
    if (e == NULL)
        return false;
    snprintf(e->file_sha256, sizeof e->file_sha256, "%s", file_sha256);
    e->file_bytes = file_bytes;
    e->status = d->status;
    for (int i = 0; i < sb_op_input_count(c->op); i++)
        add_tensor(e, "inputs", c->op->inputs[i].name, digests->in[i]);
    for (int i = 0; i < sb_op_output_count(c->op); i++) {
        add_tensor(e, "outputs", c->op->outputs[i].name, digests->out[i]);
        e->mostly_constant = e->mostly_constant || is_mostly_constant(&d->out[i]);
    }
    for (int i = 0; i < sb_op_output_count(c->op); i++)
        add_tensor(e, "samples", c->op->outputs[i].name, digests->sample[i]);
    return true;
}

bool sb_manifest_add(struct sb_manifest *m, const struct sb_case *c, const struct sb_data *d, struct sb_error *err)
{
    struct sb_digests digests;
    sb_digests_make(c->op, d, &digests);
    return sb_manifest_add_digested(m, c, d, &digests, "", 0, err);
}

/* ---- comparing ----------------------------------------------------------------------------------- */

static const struct sb_manifest_tensor *find_tensor(const struct sb_manifest_entry *e, const char *group,
                                                    const char *name)
{
    char full[2 * sizeof e->tensor[0].name];
    snprintf(full, sizeof full, "%s/%s", group, name);
    for (int i = 0; i < e->tensors; i++)
        if (strcmp(e->tensor[i].name, full) == 0)
            return &e->tensor[i];
    return NULL;
}

/* First of one group's tensors that the entry has otherwise; NULL if none. `seen` counts those that agree. */
static const char *group_difference(const struct sb_manifest_entry *e, const char *group,
                                    const struct sb_tensor_spec *specs, int count, const char digests[][SB_SHA256_HEX],
                                    int *seen)
{
    for (int i = 0; i < count; i++) {
        const struct sb_manifest_tensor *t = find_tensor(e, group, specs[i].name);
        if (t == NULL && digests[i][0] == '\0')
            continue;
        if (t == NULL)
            return specs[i].name;
        if (strcmp(t->sha256, digests[i]) != 0)
            return t->name;
        (*seen)++;
    }
    return NULL;
}

const char *sb_manifest_difference_digested(const struct sb_manifest_entry *e, const struct sb_case *c,
                                            const struct sb_status *status, const struct sb_digests *digests)
{
    if (memcmp(&e->status, status, sizeof *status) != 0)
        return "status";
    int seen = 0;
    const char *name = group_difference(e, "inputs", c->op->inputs, sb_op_input_count(c->op), digests->in, &seen);
    if (name == NULL)
        name = group_difference(e, "samples", c->op->outputs, sb_op_output_count(c->op), digests->sample, &seen);
    if (name == NULL)
        name = group_difference(e, "outputs", c->op->outputs, sb_op_output_count(c->op), digests->out, &seen);
    for (int i = 0; name == NULL && seen != e->tensors && i < e->tensors; i++) {
        const char *slash = strchr(e->tensor[i].name, '/');
        const bool input = strncmp(e->tensor[i].name, "inputs/", 7) == 0;
        const struct sb_tensor_spec *spec = input ? c->op->inputs : c->op->outputs;
        while (spec->name != NULL && (slash == NULL || strcmp(spec->name, slash + 1) != 0))
            spec++;
        if (spec->name == NULL)
            name = e->tensor[i].name; /* a tensor that the op does not have */
    }
    return name;
}

const char *sb_manifest_difference(const struct sb_manifest_entry *e, const struct sb_case *c, const struct sb_data *d)
{
    struct sb_digests digests;
    sb_digests_make(c->op, d, &digests);
    return sb_manifest_difference_digested(e, c, &d->status, &digests);
}

/* ---- writing ------------------------------------------------------------------------------------- */

static json_t *entry_to_json(const struct sb_manifest_entry *e)
{
    char file[SB_ID_SIZE + 4];
    json_t *o = json_object(), *where = json_array(), *tensors = json_object();
    bool ok = json_object_set_new(o, "id", json_string(e->id)) == 0;
    if (e->file_sha256[0] != '\0') {
        snprintf(file, sizeof file, "%s.h5", e->id);
        ok = ok && json_object_set_new(o, "file", json_string(file)) == 0 &&
             json_object_set_new(o, "file_sha256", json_string(e->file_sha256)) == 0 &&
             json_object_set_new(o, "file_bytes", json_integer(e->file_bytes)) == 0;
    }
    for (int i = 0; i < 3; i++)
        ok = ok && json_array_append_new(where, json_integer(e->status.where[i])) == 0;
    for (int i = 0; i < e->tensors; i++)
        ok = ok && json_object_set_new(tensors, e->tensor[i].name, json_string(e->tensor[i].sha256)) == 0;
    ok = ok && json_object_set_new(o, "status", json_string(sb_code_name((enum sb_code)e->status.code))) == 0 &&
         json_object_set(o, "status_where", where) == 0 &&
         json_object_set_new(o, "ignored_ids", json_integer(e->status.ignored)) == 0 &&
         json_object_set_new(o, "mostly_constant", json_boolean(e->mostly_constant)) == 0 &&
         json_object_set(o, "tensors", tensors) == 0;
    json_decref(where);
    json_decref(tensors);
    if (!ok) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static bool op_occurs(const struct sb_manifest *m, const char *op)
{
    const size_t n = strlen(op);
    for (int i = 0; i < m->count; i++)
        if (strncmp(m->entry[i].id, op, n) == 0 && m->entry[i].id[n] == '/')
            return true;
    return false;
}

static json_t *contracts_to_json(const struct sb_manifest *m, const struct sb_op_list *ops)
{
    json_t *o = json_object();
    for (int i = 0; o != NULL && i < ops->count; i++) {
        if (op_occurs(m, ops->op[i]->name) &&
            json_object_set_new(o, ops->op[i]->name, json_integer(ops->op[i]->contract_version)) != 0) {
            json_decref(o);
            o = NULL;
        }
    }
    return o;
}

/* The canonical text of a parsed or built manifest, with a newline at the end. */
static char *canonical(const json_t *root)
{
    char *dumped = json_dumps(root, JSON_INDENT(1));
    if (dumped == NULL)
        return NULL;
    const size_t n = strlen(dumped);
    char *text = malloc(n + 2);
    if (text != NULL) {
        memcpy(text, dumped, n);
        memcpy(text + n, "\n", 2);
    }
    free(dumped);
    return text;
}

/* SHA-256 of the canonical text with content_sha256 blanked. Leaves it blanked. */
static bool content_digest(json_t *root, char hex[SB_SHA256_HEX])
{
    char *text = json_object_set_new(root, "content_sha256", json_string("")) == 0 ? canonical(root) : NULL;
    if (text == NULL)
        return false;
    sb_bytes_sha256(text, strlen(text), hex);
    free(text);
    return true;
}

static bool manifest_to_json(const struct sb_manifest *m, const struct sb_op_list *ops, json_t *root)
{
    json_t *cases = json_array();
    bool ok = cases != NULL && json_object_set_new(root, "format", json_string(format_name)) == 0 &&
              json_object_set_new(root, "format_version", json_integer(FORMAT_VERSION)) == 0 &&
              json_object_set_new(root, "suite", json_string(m->suite)) == 0 &&
              json_object_set_new(root, "generator", json_string(sb_generator_name)) == 0 &&
              json_object_set_new(root, "contracts", contracts_to_json(m, ops)) == 0 &&
              json_object_set_new(root, "content_sha256", json_string("")) == 0 &&
              json_object_set_new(root, "count", json_integer(m->count)) == 0;
    for (int i = 0; ok && i < m->count; i++)
        ok = json_array_append_new(cases, entry_to_json(&m->entry[i])) == 0;
    ok = ok && json_object_set(root, "cases", cases) == 0;
    json_decref(cases);
    return ok;
}

char *sb_manifest_text(const struct sb_manifest *m, const struct sb_op_list *ops, struct sb_error *err)
{
    char hex[SB_SHA256_HEX], *text = NULL;
    json_t *root = json_object();
    if (root != NULL && manifest_to_json(m, ops, root) && content_digest(root, hex) &&
        json_object_set_new(root, "content_sha256", json_string(hex)) == 0)
        text = canonical(root);
    json_decref(root);
    if (text == NULL)
        sb_fail(err, SB_EXIT_BAD_INPUT, "the manifest cannot be put into text: out of memory, or a name is not UTF-8");
    return text;
}

bool sb_manifest_write(const struct sb_manifest *m, const char *path, const struct sb_op_list *ops,
                       struct sb_error *err)
{
    char *text = sb_manifest_text(m, ops, err);
    const bool ok = text != NULL && sb_file_write(path, text, strlen(text), err);
    free(text);
    return ok;
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* Where in a manifest we are, for messages: the file, and the case or "". */
struct place {
    const char *path;
    const char *id;
    struct sb_error *err;
};

static bool wrong(const struct place *p, const char *field, const char *what)
{
    const bool in_case = p->id[0] != '\0';
    return sb_fail(p->err, SB_EXIT_BAD_INPUT, "%s: %s%s\"%s\" %s: not a manifest that samebits wrote", p->path,
                   in_case ? p->id : "", in_case ? ": " : "", field, what);
}

static bool get_text(const struct place *p, const json_t *o, const char *field, char *buf, size_t size)
{
    const char *text = json_string_value(json_object_get(o, field));
    if (text == NULL || strlen(text) >= size)
        return wrong(p, field, "is missing or not a short text");
    snprintf(buf, size, "%s", text);
    return true;
}

static bool get_int(const struct place *p, const json_t *o, const char *field, int64_t least, int64_t most,
                    int64_t *value)
{
    const json_t *number = json_object_get(o, field);
    if (!json_is_integer(number))
        return wrong(p, field, "is missing or not an integer");
    *value = json_integer_value(number);
    return (*value >= least && *value <= most) || wrong(p, field, "is out of range");
}

static bool is_digest(const char *hex)
{
    return strlen(hex) == SB_SHA256_HEX - 1 && strspn(hex, "0123456789abcdef") == SB_SHA256_HEX - 1;
}

/* Ids become paths below a set's folder: they must stay there. */
static bool is_safe_id(const char *id)
{
    if (id[0] == '\0' || id[0] == '/' || id[0] == '.' || strstr(id, "..") != NULL || strstr(id, "/.") != NULL)
        return false;
    for (const char *p = id; *p != '\0'; p++)
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 127 || *p == '\\' || *p == '"')
            return false;
    return strchr(id, '/') != NULL;
}

static bool read_file_fields(const struct place *p, const json_t *o, struct sb_manifest_entry *e)
{
    char file[SB_ID_SIZE + 4], expected[SB_ID_SIZE + 4];
    if (json_object_get(o, "file") == NULL && json_object_get(o, "file_sha256") == NULL)
        return true; /* a digest file */
    snprintf(expected, sizeof expected, "%s.h5", e->id);
    return get_text(p, o, "file", file, sizeof file) &&
           (strcmp(file, expected) == 0 || wrong(p, "file", "is not the id with .h5")) &&
           get_text(p, o, "file_sha256", e->file_sha256, sizeof e->file_sha256) &&
           (is_digest(e->file_sha256) || wrong(p, "file_sha256", "is not a digest")) &&
           get_int(p, o, "file_bytes", 1, INT64_MAX, &e->file_bytes);
}

static bool read_status_fields(const struct place *p, const json_t *o, struct sb_manifest_entry *e)
{
    char name[32];
    enum sb_code code;
    if (!get_text(p, o, "status", name, sizeof name))
        return false;
    if (!sb_code_by_name(name, &code))
        return wrong(p, "status", "is none that this build knows");
    e->status.code = (int32_t)code;
    const json_t *where = json_object_get(o, "status_where");
    if (json_array_size(where) != 3)
        return wrong(p, "status_where", "is missing or not three integers");
    for (size_t i = 0; i < 3; i++) {
        if (!json_is_integer(json_array_get(where, i)))
            return wrong(p, "status_where", "is not three integers");
        e->status.where[i] = json_integer_value(json_array_get(where, i));
    }
    return get_int(p, o, "ignored_ids", 0, INT64_MAX, &e->status.ignored);
}

static bool read_tensor_fields(const struct place *p, const json_t *o, struct sb_manifest_entry *e)
{
    json_t *tensors = json_object_get(o, "tensors");
    if (!json_is_object(tensors) || json_object_size(tensors) > SB_MANIFEST_TENSORS)
        return wrong(p, "tensors", "is missing or too long");
    const char *name;
    json_t *value;
    json_object_foreach(tensors, name, value)
    {
        const char *hex = json_string_value(value);
        const bool known_group =
            strncmp(name, "inputs/", 7) == 0 || strncmp(name, "outputs/", 8) == 0 || strncmp(name, "samples/", 8) == 0;
        if (hex == NULL || !is_digest(hex) || !known_group || strlen(name) >= sizeof e->tensor[0].name)
            return wrong(p, "tensors", "has an entry that is no dataset with its digest");
        struct sb_manifest_tensor *t = &e->tensor[e->tensors++];
        snprintf(t->name, sizeof t->name, "%s", name);
        snprintf(t->sha256, sizeof t->sha256, "%s", hex);
    }
    return true;
}

static bool read_entry(struct place *p, const json_t *o, struct sb_manifest_entry *e)
{
    memset(e, 0, sizeof *e);
    p->id = "";
    if (!get_text(p, o, "id", e->id, sizeof e->id) || (!is_safe_id(e->id) && !wrong(p, "id", "is no case id")))
        return false;
    p->id = e->id;
    if (!read_file_fields(p, o, e) || !read_status_fields(p, o, e) || !read_tensor_fields(p, o, e))
        return false;
    const json_t *constant = json_object_get(o, "mostly_constant");
    e->mostly_constant = json_is_true(constant);
    return json_is_boolean(constant) || wrong(p, "mostly_constant", "is missing or not true or false");
}

static bool read_entries(struct place *p, const json_t *root, struct sb_manifest *m)
{
    const json_t *cases = json_object_get(root, "cases");
    int64_t count;
    if (!get_int(p, root, "count", 0, MOST_CASES, &count))
        return false;
    if (!json_is_array(cases) || json_array_size(cases) != (size_t)count)
        return wrong(p, "cases", "is missing or not as long as \"count\" says");
    m->entry = calloc((size_t)count + 1, sizeof *m->entry);
    if (m->entry == NULL)
        return sb_fail(p->err, SB_EXIT_BAD_INPUT, "%s: no memory for %lld cases", p->path, (long long)count);
    for (int i = 0; i < (int)count; i++) {
        if (!read_entry(p, json_array_get(cases, (size_t)i), &m->entry[i]))
            return false;
        if (i > 0 && strcmp(m->entry[i - 1].id, m->entry[i].id) >= 0)
            return wrong(p, "id", "is not in order");
        m->count = i + 1;
    }
    return true;
}

static bool read_contracts(const struct place *p, const json_t *root, struct sb_manifest *m)
{
    json_t *contracts = json_object_get(root, "contracts");
    const size_t most = sizeof m->contract / sizeof m->contract[0];
    if (!json_is_object(contracts) || json_object_size(contracts) > most)
        return wrong(p, "contracts", "is missing or too long");
    const char *op;
    json_t *version;
    json_object_foreach(contracts, op, version)
    {
        struct sb_manifest_contract *c = &m->contract[m->contracts];
        const json_int_t number = json_integer_value(version);
        if (!json_is_integer(version) || number < 1 || number > INT32_MAX || strlen(op) >= sizeof c->op)
            return wrong(p, "contracts", "has an entry that is no op with its version");
        snprintf(c->op, sizeof c->op, "%s", op);
        c->version = (int)number;
        m->contracts++;
    }
    return true;
}

static bool read_format(const struct place *p, const json_t *root)
{
    char format[40], generator[40];
    int64_t version;
    if (!get_text(p, root, "format", format, sizeof format))
        return false;
    if (strcmp(format, format_name) != 0)
        return wrong(p, "format", "is another");
    if (!get_int(p, root, "format_version", 1, INT32_MAX, &version))
        return false;
    if (version > FORMAT_VERSION)
        return sb_fail(p->err, SB_EXIT_BAD_INPUT,
                       "%s: made in format version %lld, this build knows %d: update samebits", p->path,
                       (long long)version, (int)FORMAT_VERSION);
    if (!get_text(p, root, "generator", generator, sizeof generator))
        return false;
    return strcmp(generator, sb_generator_name) == 0 ||
           sb_fail(p->err, SB_EXIT_BAD_INPUT,
                   "%s: its inputs come from generator \"%s\", this build has \"%s\": update samebits, or make the set "
                   "again",
                   p->path, generator, sb_generator_name);
}

/* Every byte as we would have written it, white space included, and the content as its digest says. Blanks the
 * digest in `root`. */
static bool check_canonical(const struct place *p, json_t *root, const char *bytes, size_t size)
{
    char stated[SB_SHA256_HEX], hex[SB_SHA256_HEX];
    if (!get_text(p, root, "content_sha256", stated, sizeof stated))
        return false;
    char *text = canonical(root);
    const bool same = text != NULL && strlen(text) == size && memcmp(text, bytes, size) == 0;
    free(text);
    if (!same)
        return sb_fail(p->err, SB_EXIT_BAD_INPUT,
                       "%s: not byte for byte as samebits writes it: damaged or edited; make the set again", p->path);
    if (!content_digest(root, hex))
        return sb_fail(p->err, SB_EXIT_BAD_INPUT, "%s: out of memory", p->path);
    return strcmp(hex, stated) == 0 ||
           sb_fail(
               p->err, SB_EXIT_BAD_INPUT,
               "%s: its content has SHA-256 %.12s..., its own content_sha256 says %.12s...: damaged or edited; make "
               "the set again",
               p->path, hex, stated);
}

static bool read_root(struct place *p, json_t *root, const char *bytes, size_t size, struct sb_manifest *m)
{
    /* Format before digest: a newer format may have another digest, and then says more by its version. */
    return read_format(p, root) && check_canonical(p, root, bytes, size) &&
           get_text(p, root, "suite", m->suite, sizeof m->suite) && read_contracts(p, root, m) &&
           read_entries(p, root, m);
}

bool sb_manifest_read_bytes(struct sb_manifest *m, const char *path, const char *bytes, size_t size,
                            struct sb_error *err)
{
    memset(m, 0, sizeof *m);
    json_error_t why;
    json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &why);
    if (root == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: line %d: not JSON: %s; damaged or edited", path, why.line,
                       why.text);
    struct place p = {path, "", err};
    const bool ok = json_is_object(root) ? read_root(&p, root, bytes, size, m) : wrong(&p, "format", "is missing");
    json_decref(root);
    if (!ok)
        sb_manifest_free(m);
    return ok;
}

bool sb_manifest_read(struct sb_manifest *m, const char *path, struct sb_error *err)
{
    char *bytes;
    size_t size;
    memset(m, 0, sizeof *m);
    if (!sb_file_read(path, MOST_BYTES, &bytes, &size, NULL, err))
        return false;
    const bool ok = sb_manifest_read_bytes(m, path, bytes, size, err);
    free(bytes);
    return ok;
}

/* ---- contracts ----------------------------------------------------------------------------------- */

static int known_version(const struct sb_op_list *ops, const char *name)
{
    for (int i = 0; i < ops->count; i++)
        if (strcmp(ops->op[i]->name, name) == 0)
            return ops->op[i]->contract_version;
    return 0;
}

bool sb_manifest_contracts_known(const struct sb_manifest *m, const char *path, const struct sb_op_list *ops,
                                 struct sb_error *err)
{
    for (int i = 0; i < m->contracts; i++) {
        const struct sb_manifest_contract *c = &m->contract[i];
        const int known = known_version(ops, c->op);
        if (known == 0)
            return sb_fail(err, SB_EXIT_BAD_INPUT,
                           "%s: has cases of op \"%s\", which this build does not know: update samebits", path, c->op);
        if (c->version != known)
            return sb_fail(err, SB_EXIT_BAD_INPUT,
                           "%s: %s was made under version %d of its contract, this build knows %d: %s", path, c->op,
                           c->version, known, c->version > known ? "update samebits" : "make the set again");
    }
    return true;
}
