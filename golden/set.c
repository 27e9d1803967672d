/* set.c - making a set: every case to its file, then SHA256SUMS, then manifest.json, which says that all is there. */
#include "set.h"
#include "set_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

const char sb_manifest_name[] = "manifest.json";
const char sb_sums_name[] = "SHA256SUMS";

const char *sb_set_file(const char *id, char buf[SB_FILE_NAME])
{
    snprintf(buf, SB_FILE_NAME, "%s.h5", id);
    return buf;
}

char *sb_sums_text(const struct sb_manifest *m, const char *manifest_sha256)
{
    enum { LINE = SB_SHA256_HEX + SB_FILE_NAME + 4 };
    char file[SB_FILE_NAME];
    char *text = malloc(LINE * ((size_t)m->count + 1));
    size_t used = 0;
    if (text == NULL)
        return NULL;
    for (int i = 0; i < m->count; i++)
        used +=
            (size_t)snprintf(text + used, LINE, "%s  %s\n", m->entry[i].file_sha256, sb_set_file(m->entry[i].id, file));
    snprintf(text + used, LINE, "%s  %s\n", manifest_sha256, sb_manifest_name);
    return text;
}

/* ---- the folder ---------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The ids of the selection, sorted; the caller's to free. Fails on an id that is there twice. */
static const char **sorted_ids(const struct sb_case *cases, int count, struct sb_error *err)
{
    const char **ids = malloc(sizeof *ids * (size_t)count);
    if (ids == NULL) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory for %d cases", count);
        return NULL;
    }
    for (int i = 0; i < count; i++)
        ids[i] = cases[i].id;
    qsort(ids, (size_t)count, sizeof *ids, compare_ids);
    for (int i = 1; i < count; i++) {
        if (strcmp(ids[i - 1], ids[i]) == 0) {
            sb_fail(err, SB_EXIT_BAD_INPUT, "%s: this case is in the selection twice", ids[i]);
            free(ids);
            return NULL;
        }
    }
    return ids;
}

static bool belongs(const char *file, const char **ids, int count)
{
    char id[SB_ID_SIZE];
    const size_t n = strlen(file);
    if (n < 3 || n - 3 >= sizeof id)
        return false;
    snprintf(id, sizeof id, "%.*s", (int)(n - 3), file);
    const char *key = id;
    return bsearch(&key, ids, (size_t)count, sizeof *ids, compare_ids) != NULL;
}

/* A golden file that is not of this selection means that the folder is another set's, or somebody's mistake. */
static bool nothing_foreign(const char *dir, const struct sb_file_list *files, const char **ids, int count,
                            struct sb_error *err)
{
    for (int i = 0; i < files->count; i++)
        if (sb_ends_in(files->path[i], ".h5") && !belongs(files->path[i], ids, count))
            return sb_fail(err, SB_EXIT_BAD_INPUT,
                           "%s/%s: this golden file is not of the set to be made, and two sets in one folder cannot be "
                           "told apart: choose an empty folder",
                           dir, files->path[i]);
    return true;
}

static bool remove_below(const char *dir, const char *name, struct sb_error *err)
{
    char *path = sb_path_join(dir, name);
    if (path == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", dir);
    const bool ok = unlink(path) == 0 || errno == ENOENT ||
                    sb_fail(err, SB_EXIT_BAD_INPUT, "%s: cannot remove: %s", path, strerror(errno));
    free(path);
    return ok;
}

/* Temporary files of a process that was killed. One whose process lives is being written. */
static bool remove_leftovers(const char *dir, const struct sb_file_list *files, struct sb_error *err)
{
    bool ok = true;
    for (int i = 0; ok && i < files->count; i++) {
        long pid;
        if (sb_file_is_temporary(files->path[i], &pid) && (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
            ok = remove_below(dir, files->path[i], err);
    }
    return ok;
}

/* Two makes into one folder at a time would mix their files. The lock goes with the descriptor, also when the
 * process is killed. Where a file system has no locks, there is none. */
static bool lock_folder(const char *dir, int *lock, struct sb_error *err)
{
    *lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: cannot open this folder: %s", dir, strerror(errno));
    if (flock(*lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(*lock);
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: another process is making a set in this folder", dir);
    }
    return true;
}

static bool prepare(const char *dir, const char **ids, int count, struct sb_error *err)
{
    struct sb_file_list files;
    if (!sb_folder_list(dir, &files, err))
        return false;
    /* The manifest goes first: from here on the set is unfinished until it is there again. */
    const bool ok = nothing_foreign(dir, &files, ids, count, err) && remove_leftovers(dir, &files, err) &&
                    remove_below(dir, sb_manifest_name, err) && remove_below(dir, sb_sums_name, err);
    sb_file_list_free(&files);
    return ok;
}

/* ---- cases --------------------------------------------------------------------------------------- */

static bool store_case(const char *dir, const struct sb_case *c, const struct sb_data *d, struct sb_manifest *m,
                       struct sb_error *err)
{
    struct sb_digests digests;
    char file[SB_FILE_NAME], file_sha256[SB_SHA256_HEX] = "";
    int64_t file_bytes = 0;
    sb_digests_make(c->op, d, &digests);
    if (dir != NULL) {
        char *path = sb_path_join(dir, sb_set_file(c->id, file));
        const bool written = path != NULL ? sb_store_write_digested(path, c, d, &digests, &file_bytes, file_sha256, err)
                                          : sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", c->id);
        free(path);
        if (!written)
            return false;
    }
    return sb_manifest_add_digested(m, c, d, &digests, file_sha256, file_bytes, err);
}

static bool make_case(const char *dir, const struct sb_case *c, struct sb_manifest *m, struct sb_error *err)
{
    struct sb_data d = {0};
    const bool computed =
        (c->op->generate(c, &d, err) && c->op->reference(c, &d, err)) || sb_fail_context(err, "%s", c->id);
    const bool ok = computed && store_case(dir, c, &d, m, err);
    sb_data_free(&d);
    return ok;
}

static bool stopped(int done, int count, const char *dir, struct sb_error *err)
{
    if (dir == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "stopped after %d of %d cases", done, count);
    return sb_fail(
        err, SB_EXIT_BAD_INPUT,
        "%s: stopped after %d of %d cases: the files are whole, but the set has no %s yet; run the same command "
        "again to make it",
        dir, done, count, sb_manifest_name);
}

static bool make_cases(const struct sb_case *cases, int count, const char *dir, struct sb_manifest *m,
                       sb_progress_fn progress, void *user, struct sb_error *err)
{
    for (int i = 0; i < count; i++) {
        if (!make_case(dir, &cases[i], m, err))
            return false;
        if (progress != NULL && !progress(user, i + 1, count, cases[i].id))
            return stopped(i + 1, count, dir, err);
    }
    return true;
}

static bool write_below(const char *dir, const char *name, const char *text, struct sb_error *err)
{
    char *path = sb_path_join(dir, name);
    const bool ok = path != NULL ? sb_file_write(path, text, strlen(text), err)
                                 : sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", dir);
    free(path);
    return ok;
}

static bool write_lists(const char *dir, const struct sb_manifest *m, const struct sb_op_list *ops,
                        struct sb_error *err)
{
    char hex[SB_SHA256_HEX];
    char *manifest = sb_manifest_text(m, ops, err);
    if (manifest == NULL)
        return false;
    sb_bytes_sha256(manifest, strlen(manifest), hex);
    char *sums = sb_sums_text(m, hex);
    const bool ok = (sums != NULL || sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", dir)) &&
                    write_below(dir, sb_sums_name, sums, err) && write_below(dir, sb_manifest_name, manifest, err);
    free(sums);
    free(manifest);
    return ok;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static bool make_below(const struct sb_case *cases, int count, const char *dir, const char **ids, struct sb_manifest *m,
                       const struct sb_op_list *ops, sb_progress_fn progress, void *user, struct sb_error *err)
{
    int lock;
    if (!sb_folder_make(dir, err) || !lock_folder(dir, &lock, err))
        return false;
    const bool ok = prepare(dir, ids, count, err) && make_cases(cases, count, dir, m, progress, user, err) &&
                    write_lists(dir, m, ops, err);
    close(lock);
    return ok;
}

bool sb_set_make(const struct sb_case *cases, int count, const char *suite, const char *dir, struct sb_manifest *m,
                 const struct sb_op_list *ops, sb_progress_fn progress, void *user, struct sb_error *err)
{
    struct sb_manifest own = {0};
    if (m != NULL)
        memset(m, 0, sizeof *m);
    if (count <= 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "no case is selected: there is nothing to make");
    snprintf(own.suite, sizeof own.suite, "%s", suite);
    const char **ids = sorted_ids(cases, count, err);
    if (ids == NULL)
        return false;
    const bool ok = dir != NULL ? make_below(cases, count, dir, ids, &own, ops, progress, user, err)
                                : make_cases(cases, count, NULL, &own, progress, user, err);
    free(ids);
    if (ok && m != NULL)
        *m = own;
    else
        sb_manifest_free(&own);
    return ok;
}
