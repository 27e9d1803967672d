/* probe_capture.c - see probe_capture.h. */
#include "probe_capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_info.h"
#include "probe_files.h"
#include "text.h"

/* "DIR/NAME", or where that is written. */
static bool impl_folder(const char *dir, const struct sb_probe_impl *impl, bool unfinished, char path[SB_PATH_SIZE],
                        struct sb_error *err)
{
    char end[40] = "";
    if (unfinished)
        snprintf(end, sizeof end, ".unfinished-%ld", (long)getpid());
    /* room for the files in it */
    return snprintf(path, SB_PATH_SIZE, "%s/%s%s", dir, impl->name, end) < SB_PATH_SIZE - 64 ||
           sb_fail(err, SB_EXIT_BAD_INPUT, "--capture: the path is too long: %.600s...", dir);
}

/* *made: it was not there. */
static bool make_folder(const char *path, bool *made, struct sb_error *err)
{
    *made = mkdir(path, 0777) == 0;
    if (*made || errno == EEXIST)
        return true;
    return sb_fail(err, SB_EXIT_BAD_INPUT, "--capture %.600s: %s%s", path, strerror(errno),
                   errno == ENOENT ? "; make the folder that it is in first" : "");
}

static bool is_free(const char *path, struct sb_error *err)
{
    struct stat st;
    if (lstat(path, &st) == 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--capture: %.600s: %s; choose another folder", path, strerror(EEXIST));
    return errno == ENOENT || sb_fail(err, SB_EXIT_BAD_INPUT, "--capture: %.600s: %s", path, strerror(errno));
}

static bool is_captured(const struct sb_probe_outcome *o)
{
    return o->runs && o->error[0] == '\0';
}

bool sb_probe_capture_check(const struct sb_probe_plan *plan, const char *dir, struct sb_error *err)
{
    char path[SB_PATH_SIZE];
    bool made, ok = make_folder(dir, &made, err);
    if (!ok)
        return false;
    for (int i = 0; ok && i < plan->judges; i++) {
        if (!is_captured(&plan->judge[i]))
            continue;
        ok =
            impl_folder(dir, plan->judge[i].impl, false, path, err) && is_free(path, err) &&
            impl_folder(dir, plan->judge[i].impl, true, path, err) &&
            (mkdir(path, 0777) == 0 || sb_fail(err, SB_EXIT_BAD_INPUT, "--capture: %.600s: %s", path, strerror(errno)));
        if (ok)
            rmdir(path);
    }
    if (made)
        rmdir(dir);
    return ok;
}

/* ---- one implementation ------------------------------------------------------------------------ */

static bool close_whole(FILE *f, const char *path, struct sb_error *err)
{
    const bool written = !ferror(f);
    return (fclose(f) == 0 && written) ||
           sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s could not be written whole (is the disk full?)", path);
}

static FILE *create(const char *folder, const char *name, char path[SB_PATH_SIZE], struct sb_error *err)
{
    snprintf(path, SB_PATH_SIZE, "%.940s/%.60s", folder, name);
    FILE *const f = fopen(path, "wxe");
    if (f == NULL)
        sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: %s", path, strerror(errno));
    return f;
}

static bool mark_unfinished(const char *folder, struct sb_error *err)
{
    char path[SB_PATH_SIZE];
    FILE *const f = create(folder, SB_PROBE_UNFINISHED, path, err);
    if (f == NULL)
        return false;
    fprintf(f, "This capture is being written, or was interrupted.\n");
    return close_whole(f, path, err);
}

/* What was recorded where, by which program. */
static bool write_about(const struct sb_probe_plan *plan, const struct sb_probe_outcome *o, const char *folder,
                        struct sb_error *err)
{
    char path[SB_PATH_SIZE];
    struct sb_report *const r = calloc(1, sizeof *r);
    if (r == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
    sb_build_info(r, sb_op_table());
    FILE *const f = create(folder, "about.txt", path, err);
    if (f != NULL) {
        sb_print_line(f, "implementation: %s (%s)", o->impl->name, o->impl->summary);
        sb_print_line(f, "device: %s", o->device);
        sb_print_line(f, "driver: %s", r->driver);
        sb_print_line(f, "operands: seed %" PRIu64 ", %" PRId64 " dot products a class, at most %d of each recorded",
                      plan->seed, plan->count, SB_PROBE_CAPTURED);
        sb_print_line(f, "program: samebits %s, commit %s, %s", r->version, r->commit, r->started);
    }
    free(r);
    return f != NULL && close_whole(f, path, err);
}

static bool write_impl(const struct sb_probe_plan *plan, const struct sb_probe_outcome *o, const char *folder,
                       struct sb_error *err)
{
    char path[SB_PATH_SIZE];
    bool ok = mark_unfinished(folder, err) && write_about(plan, o, folder, err);
    for (int cls = 0; ok && cls < SB_TC_CLASSES; cls++)
        ok = sb_probe_write_set(folder, (enum sb_tc_class)cls, &o->captured, err);
    snprintf(path, sizeof path, "%.940s/%s", folder, SB_PROBE_UNFINISHED);
    return ok && (unlink(path) == 0 || sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: %s", path, strerror(errno)));
}

/* The marker goes last: whatever stops this, the rest does not read as whole. */
static void remove_unfinished(const char *folder)
{
    static const char *const other[] = {"about.txt", SB_PROBE_UNFINISHED};
    char path[SB_PATH_SIZE];
    for (int cls = 0; cls < SB_TC_CLASSES; cls++)
        for (int i = 0; i < 4; i++) {
            const struct sb_probe_set set = {folder, sb_tc_class_name((enum sb_tc_class)cls)};
            unlink(sb_probe_set_file(&set, "abcd"[i], path, sizeof path));
        }
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%.940s/%s", folder, other[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* ---- all --------------------------------------------------------------------------------------- */

static bool write_all(const struct sb_probe_plan *plan, const char *dir, struct sb_error *err)
{
    char path[SB_PATH_SIZE];
    bool ok = true;
    for (int i = 0; ok && i < plan->judges; i++) {
        const struct sb_probe_outcome *const o = &plan->judge[i];
        if (!is_captured(o))
            continue;
        ok = impl_folder(dir, o->impl, true, path, err) &&
             (mkdir(path, 0777) == 0 || sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: %s", path, strerror(errno))) &&
             write_impl(plan, o, path, err);
    }
    return ok;
}

static bool rename_all(const struct sb_probe_plan *plan, const char *dir, struct sb_error *err)
{
    char from[SB_PATH_SIZE], to[SB_PATH_SIZE];
    bool ok = true;
    for (int i = 0; ok && i < plan->judges; i++) {
        const struct sb_probe_outcome *const o = &plan->judge[i];
        if (is_captured(o))
            ok = impl_folder(dir, o->impl, true, from, err) && impl_folder(dir, o->impl, false, to, err) &&
                 (rename(from, to) == 0 || sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: %s", to, strerror(errno)));
    }
    return ok;
}

bool sb_probe_capture_write(const struct sb_probe_plan *plan, const char *dir, struct sb_error *err)
{
    char path[SB_PATH_SIZE];
    struct sb_error ignored = {0};
    bool made;
    if (!make_folder(dir, &made, err))
        return false;
    const bool ok = write_all(plan, dir, err) && rename_all(plan, dir, err);
    for (int i = 0; !ok && i < plan->judges; i++)
        if (is_captured(&plan->judge[i]) && impl_folder(dir, plan->judge[i].impl, true, path, &ignored))
            remove_unfinished(path);
    if (made)
        rmdir(dir); /* where nothing was recorded */
    return ok;
}
