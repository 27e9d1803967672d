/* set_verify.c - holding a set against its manifest, its checksums and, on request, a fresh computation. */
#include "digest.h"
#include "samples.h"
#include "set.h"
#include "set_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_LIST_BYTES = 256 << 20 };

struct verify {
    const char *dir;
    bool deep;
    const struct sb_op_list *ops;
    sb_fault_fn fault;
    void *user;
    int faults;
};

static void tell(struct verify *v, const char *file, const char *dataset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void tell(struct verify *v, const char *file, const char *dataset, const char *format, ...)
{
    char text[SB_FAULT_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    v->fault(v->user, file, dataset, text);
    v->faults++;
}

/* An error text without the "PATH: " (and "DATASET: ") that the fault says already. */
static const char *without_path(const struct verify *v, const char *text, const char *file, const char *dataset)
{
    char *path = sb_path_join(v->dir, file);
    const char *prefix[] = {path, dataset};
    for (size_t i = 0; path != NULL && i < 2; i++) {
        const size_t n = strlen(prefix[i]);
        if (n > 0 && strncmp(text, prefix[i], n) == 0 && strncmp(text + n, ": ", 2) == 0)
            text += n + 2;
    }
    free(path);
    return text;
}

/* ---- deep: computing again ----------------------------------------------------------------------- */

static void element_hex(const struct sb_tensor *t, int64_t i, char hex[2 * 8 + 1])
{
    unsigned char bytes[8];
    const size_t width = sb_dtype_size(t->dtype);
    sb_tensor_gather(t, i, 1, bytes);
    for (size_t b = 0; b < width; b++)
        snprintf(hex + 2 * b, 3, "%02x", bytes[width - 1 - b]);
}

/* First logical element that differs, or -1, and how many do. The same layout is given. */
static int64_t first_difference(const struct sb_tensor *a, const struct sb_tensor *b, int64_t *differing)
{
    enum { ROW = 4096 };
    unsigned char left[8 * ROW], right[8 * ROW];
    const int64_t count = sb_tensor_count(a);
    const size_t width = sb_dtype_size(a->dtype);
    int64_t first = -1;
    *differing = 0;
    for (int64_t i = 0; i < count; i += ROW) {
        const int64_t n = count - i < ROW ? count - i : ROW;
        sb_tensor_gather(a, i, n, left);
        sb_tensor_gather(b, i, n, right);
        if (memcmp(left, right, (size_t)n * width) == 0)
            continue;
        for (int64_t j = 0; j < n; j++) {
            if (memcmp(left + (size_t)j * width, right + (size_t)j * width, width) == 0)
                continue;
            first = first < 0 ? i + j : first;
            (*differing)++;
        }
    }
    return first;
}

/* "[3148]"; of packed blocks the place in the whole, "[2, 71, 4] of sample 3". */
static void place_text(const struct sb_samples *s, int64_t first, char *buf, size_t size)
{
    if (s == NULL || s->count == 0) {
        snprintf(buf, size, "[%" PRId64 "]", first);
        return;
    }
    int64_t block, rest = sb_samples_place(s, first, &block), index[SB_MAX_RANK];
    for (int axis = s->whole.rank - 1; axis >= 0; axis--) {
        index[axis] = rest % s->whole.shape[axis];
        rest /= s->whole.shape[axis];
    }
    size_t used = 0;
    for (int axis = 0; axis < s->whole.rank; axis++)
        used += (size_t)snprintf(buf + used, size - used, "%s%" PRId64, axis > 0 ? ", " : "[", index[axis]);
    snprintf(buf + used, size - used, "] of sample %" PRId64, block);
}

/* `s`: where its blocks are, or NULL. */
static void compare_tensor(struct verify *v, const char *file, const char *group, const char *name,
                           const struct sb_tensor *stored, const struct sb_tensor *again, const struct sb_samples *s)
{
    char dataset[SB_DATASET_NAME], have[17], want[17], place[160];
    snprintf(dataset, sizeof dataset, "%s/%s", group, name);
    if ((stored->data == NULL) != (again->data == NULL) || !sb_tensor_same_layout(stored, again)) {
        tell(v, file, dataset,
             "its dtype or shape is not what this build computes; make the set again with this build");
        return;
    }
    if (stored->data == NULL)
        return;
    int64_t differing;
    const int64_t first = first_difference(stored, again, &differing);
    if (first < 0)
        return;
    element_hex(stored, first, have);
    element_hex(again, first, want);
    place_text(s, first, place, sizeof place);
    tell(v, file, dataset,
         "%" PRId64 " of %" PRId64 " elements are not what this build computes; the first is %s: stored 0x%s, computed "
         "0x%s. Its digests agree, so it was stored this way: find out which build is right",
         differing, sb_tensor_count(stored), place, have, want);
}

static void check_inputs(struct verify *v, const char *file, const struct sb_case *c, const struct sb_data *d)
{
    struct sb_data made = {0};
    struct sb_error err = {0};
    if (!sb_store_keeps_inputs(c, d))
        return; /* the store has made them from the seed and held them to the file's digests */
    if (!c->op->generate(c, &made, &err))
        tell(v, file, "", "its inputs cannot be made again: %s", err.text);
    else
        for (int i = 0; i < sb_op_input_count(c->op); i++)
            compare_tensor(v, file, "inputs", c->op->inputs[i].name, &d->in[i], &made.in[i], NULL);
    sb_data_free(&made);
}

static void check_outputs(struct verify *v, const char *file, const struct sb_case *c, const struct sb_data *d)
{
    struct sb_data again = {0};
    struct sb_error err = {0};
    memcpy(again.in, d->in, sizeof again.in); /* borrowed */
    if (!c->op->reference(c, &again, &err)) {
        tell(v, file, "", "its outputs cannot be computed again: %s", err.text);
    } else {
        if (memcmp(&again.status, &d->status, sizeof again.status) != 0)
            tell(v, file, "",
                 "its status is %s, this build computes %s (or another place or count); find out which is right",
                 sb_code_name((enum sb_code)d->status.code), sb_code_name((enum sb_code)again.status.code));
        for (int i = 0; i < sb_op_output_count(c->op); i++)
            compare_tensor(v, file, "outputs", c->op->outputs[i].name, &d->out[i], &again.out[i], &d->samples[i]);
    }
    sb_data_free_outputs(&again);
}

static void check_deep(struct verify *v, const char *file, const struct sb_case *c, const struct sb_data *d)
{
    char why[512] = "";
    check_inputs(v, file, c, d);
    check_outputs(v, file, c, d);
    if (c->op->relations != NULL && d->status.code == SB_OK && !c->op->relations(c, d, d->out, why, sizeof why))
        tell(v, file, "", "its outputs break a relation of the contract: %s", why);
}

/* ---- one file ------------------------------------------------------------------------------------ */

/* A file whose bytes are those of the manifest: the store must take it, and find the manifest's digests. */
static void check_intact(struct verify *v, const char *path, const char *file, const struct sb_manifest_entry *e)
{
    struct sb_case c;
    struct sb_data d;
    struct sb_digests digests;
    struct sb_error err = {0};
    char dataset[SB_DATASET_NAME];
    if (!sb_store_load(path, v->ops, &c, &d, &digests, dataset, &err)) {
        tell(v, file, dataset, "%s", without_path(v, err.text, file, dataset));
        return;
    }
    if (strcmp(c.id, e->id) != 0)
        tell(v, file, "", "holds case %s; make the set again", c.id);
    const char *different = sb_manifest_difference_digested(e, &c, &d.status, &digests);
    if (different != NULL)
        tell(v, file, strcmp(different, "status") == 0 ? "" : different,
             "%s is not as manifest.json has it; make the set again",
             strcmp(different, "status") == 0 ? "its status" : "its digest");
    if (v->deep)
        check_deep(v, file, &c, &d);
    sb_data_free(&d);
}

static void check_file(struct verify *v, const struct sb_manifest_entry *e)
{
    char file[SB_FILE_NAME], hex[SB_SHA256_HEX], what[256];
    struct sb_error err = {0};
    struct stat st;
    sb_set_file(e->id, file);
    char *path = sb_path_join(v->dir, file);
    if (path == NULL || stat(path, &st) != 0) {
        tell(v, file, "", "%s; make the set again",
             path == NULL || errno != ENOENT ? "cannot be examined" : "missing: manifest.json lists it");
    } else if (!S_ISREG(st.st_mode)) {
        tell(v, file, "", "not a regular file; make the set again");
    } else if (!sb_file_sha256(path, hex, &err)) {
        tell(v, file, "", "%s", without_path(v, err.text, file, ""));
    } else if (strcmp(hex, e->file_sha256) != 0) {
        snprintf(what, sizeof what, "its SHA-256 is %.12s... (%lld bytes), manifest.json has %.12s... (%lld bytes)",
                 hex, (long long)st.st_size, e->file_sha256, (long long)e->file_bytes);
        v->faults += sb_set_probe(v->dir, e, what, v->fault, v->user);
    } else {
        if ((int64_t)st.st_size != e->file_bytes)
            tell(v, sb_manifest_name, "", "says %lld bytes for %s, which has %lld", (long long)e->file_bytes, file,
                 (long long)st.st_size);
        check_intact(v, path, file, e);
    }
    free(path);
}

/* ---- the lists ----------------------------------------------------------------------------------- */

static int first_different_line(const char *a, const char *b)
{
    int line = 1;
    for (; *a == *b && *a != '\0'; a++, b++)
        line += *a == '\n';
    return line;
}

/* SHA256SUMS must be, byte for byte, what the manifest makes it. */
static void check_sums(struct verify *v, const struct sb_manifest *m, const char *manifest_sha256)
{
    char *text = NULL, *path = sb_path_join(v->dir, sb_sums_name), *expected = sb_sums_text(m, manifest_sha256);
    size_t size = 0;
    bool missing = false;
    struct sb_error err = {0};
    if (path == NULL || expected == NULL)
        tell(v, sb_sums_name, "", "out of memory");
    else if (!sb_file_read(path, MOST_LIST_BYTES, &text, &size, &missing, &err))
        tell(v, sb_sums_name, "", "%s; make the set again",
             missing ? "missing" : without_path(v, err.text, sb_sums_name, ""));
    else if (size != strlen(expected) || memcmp(text, expected, size) != 0)
        tell(v, sb_sums_name, "",
             "line %d is not as manifest.json makes it: damaged or edited; manifest.json agrees with its own digest",
             first_different_line(text, expected));
    free(text);
    free(expected);
    free(path);
}

static bool is_link_to_folder(const struct verify *v, const char *name)
{
    struct stat itself, target;
    char *path = sb_path_join(v->dir, name);
    const bool link = path != NULL && lstat(path, &itself) == 0 && S_ISLNK(itself.st_mode) &&
                      stat(path, &target) == 0 && S_ISDIR(target.st_mode);
    free(path);
    return link;
}

/* Exactly the listed files: a missing one is found when its turn comes. Other kinds of files (a README) are the user's
 * own. A link to a folder is not followed, so it could hide golden files that the manifest does not list: a fault. */
static bool check_extra(struct verify *v, const struct sb_manifest *m, struct sb_error *err)
{
    struct sb_file_list files;
    if (!sb_folder_list(v->dir, &files, err))
        return false;
    for (int i = 0; i < files.count; i++) {
        char id[SB_ID_SIZE + 4];
        const char *path = files.path[i];
        const size_t n = strlen(path);
        long pid;
        if (sb_file_is_temporary(path, &pid))
            tell(v, path, "", "left over from a run that was cut short: remove it");
        if (is_link_to_folder(v, path))
            tell(v, path, "", "a link to a folder: what is in it is not looked at; put the folder itself here");
        if (!sb_ends_in(path, ".h5"))
            continue;
        snprintf(id, sizeof id, "%.*s", (int)(n - 3), path);
        if (n - 3 >= SB_ID_SIZE || sb_manifest_find(m, id) == NULL)
            tell(v, path, "", "not of this set: manifest.json does not list it; remove it");
    }
    sb_file_list_free(&files);
    return true;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static int check_set(struct verify *v, const struct sb_manifest *m, const char *manifest_sha256,
                     sb_progress_fn progress, void *progress_user, struct sb_error *err)
{
    check_sums(v, m, manifest_sha256);
    if (!check_extra(v, m, err))
        return -1;
    for (int i = 0; i < m->count; i++) {
        check_file(v, &m->entry[i]);
        if (progress != NULL && !progress(progress_user, i + 1, m->count, m->entry[i].id)) {
            sb_fail(err, SB_EXIT_BAD_INPUT, "%s: stopped after %d of %d files: the rest was not looked at", v->dir,
                    i + 1, m->count);
            return -1;
        }
    }
    return v->faults;
}

/* A digest file has the same form, but nothing in it can vouch for files. */
static bool lists_files(const struct sb_manifest *m)
{
    for (int i = 0; i < m->count; i++)
        if (m->entry[i].file_sha256[0] == '\0')
            return false;
    return m->count > 0;
}

static int check_manifest(struct verify *v, const char *path, const char *bytes, size_t size, sb_progress_fn progress,
                          struct sb_error *err)
{
    struct sb_manifest m;
    struct sb_error why = {0};
    char hex[SB_SHA256_HEX];
    if (!sb_manifest_read_bytes(&m, path, bytes, size, &why)) {
        tell(v, sb_manifest_name, "", "%s. No golden file was looked at, since nothing says what must be there",
             without_path(v, why.text, sb_manifest_name, ""));
        return v->faults;
    }
    int faults = -1;
    sb_bytes_sha256(bytes, size, hex);
    if (!lists_files(&m)) {
        tell(v, sb_manifest_name, "", "lists no files: not the manifest of a set; make the set again");
        faults = v->faults;
    } else if (sb_manifest_contracts_known(&m, path, v->ops, err)) {
        faults = check_set(v, &m, hex, progress, v->user, err);
    }
    sb_manifest_free(&m);
    return faults;
}

int sb_set_verify(const char *dir, bool deep, const struct sb_op_list *ops, sb_progress_fn progress, sb_fault_fn fault,
                  void *user, struct sb_error *err)
{
    struct verify v = {.dir = dir, .deep = deep, .ops = ops, .fault = fault, .user = user};
    struct stat st;
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode)) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "%s: no such folder", dir);
        return -1;
    }
    char *bytes = NULL, *path = sb_path_join(dir, sb_manifest_name);
    size_t size;
    bool missing = false;
    int faults = -1;
    if (path == NULL)
        sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", dir);
    else if (sb_file_read(path, MOST_LIST_BYTES, &bytes, &size, &missing, err))
        faults = check_manifest(&v, path, bytes, size, progress, err);
    else if (missing)
        sb_fail(err, SB_EXIT_BAD_INPUT,
                "%s: no %s: not a golden set, or one whose making was cut short; make it (again) with `samebits golden "
                "make`",
                dir, sb_manifest_name);
    free(bytes);
    free(path);
    return faults;
}
