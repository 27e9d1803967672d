/* expected.c - expected bytes: from a stored golden, or from the reference with committed digests to vouch for it. */
#include "expected.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "select.h"

#ifndef SAMEBITS_SOURCE_DIR
#define SAMEBITS_SOURCE_DIR "."
#endif

/* ---- manifests ------------------------------------------------------------------------------------ */

void sb_manifest_cache_free(struct sb_manifest_cache *cache)
{
    for (int i = 0; i < cache->count; i++)
        sb_manifest_free(&cache->entry[i].manifest);
    cache->count = 0;
}

const struct sb_manifest *sb_manifest_cached(struct sb_manifest_cache *cache, const char *path, struct sb_error *err)
{
    const int room = (int)(sizeof cache->entry / sizeof cache->entry[0]);
    for (int i = 0; i < cache->count; i++)
        if (strcmp(cache->entry[i].path, path) == 0)
            return &cache->entry[i].manifest;
    if (cache->count == room)
        sb_manifest_free(&cache->entry[--cache->count].manifest);
    struct sb_manifest m = {0};
    if (!sb_manifest_read(&m, path, err))
        return NULL;
    cache->entry[cache->count].manifest = m;
    snprintf(cache->entry[cache->count].path, sizeof cache->entry[0].path, "%s", path);
    return &cache->entry[cache->count++].manifest;
}

/* ---- paths ---------------------------------------------------------------------------------------- */

static bool join(char *path, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* False where the path does not fit: a cut one would be another file. */
static bool join(char *path, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int used = vsnprintf(path, size, format, args);
    va_end(args);
    return used >= 0 && (size_t)used < size;
}

static bool file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* ---- stored --------------------------------------------------------------------------------------- */

static bool load_stored(struct sb_expected *e, const struct sb_job *job, const struct sb_op_list *ops,
                        struct sb_manifest_cache *cache, struct sb_error *err)
{
    e->stored = true;
    if (!sb_store_read(job->stored, ops, &e->c, &e->d, err))
        return false;
    if (strcmp(e->c.id, job->case_id) != 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s holds another case: %s; make the set again", job->stored, e->c.id);
    if (job->manifest[0] == '\0')
        return true;
    /* The file vouches for itself only; the manifest says that it is the file of this set. */
    const struct sb_manifest *m = sb_manifest_cached(cache, job->manifest, err);
    const struct sb_manifest_entry *entry = m != NULL ? sb_manifest_find(m, job->case_id) : NULL;
    if (m == NULL)
        return false;
    if (entry == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s does not list the case %s that %s holds; make the set again",
                       job->manifest, job->case_id, job->stored);
    const char *difference = sb_manifest_difference(entry, &e->c, &e->d);
    if (difference != NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s is not what %s lists; the file was changed, make the set again",
                       job->stored, difference, job->manifest);
    return true;
}

/* The golden is not there. *stored becomes false where its set does not claim to hold it either. */
static bool missing_is_allowed(const struct sb_job *job, struct sb_manifest_cache *cache, bool *stored,
                               struct sb_error *err)
{
    *stored = false;
    if (!file_exists(job->manifest))
        return true;
    const struct sb_manifest *m = sb_manifest_cached(cache, job->manifest, err);
    if (m == NULL)
        return false;
    return sb_manifest_find(m, job->case_id) == NULL ||
           sb_fail(err, SB_EXIT_BAD_INPUT, "%s is missing, but %s lists it; make the set again", job->stored,
                   job->manifest);
}

/* ---- computed ------------------------------------------------------------------------------------- */

static bool compare_digests(struct sb_expected *e, const struct sb_job *job, struct sb_manifest_cache *cache,
                            struct sb_error *err)
{
    char suites[64], path[SB_PATH_SIZE];
    sb_suites_text(e->c.suites, suites, sizeof suites);
    snprintf(e->unlisted, sizeof e->unlisted,
             suites[0] != '\0'
                 ? "no committed digest file lists this case (suite %s): nothing vouches for the reference"
                 : "no suite lists this call, so there are no committed digests to hold the reference to",
             suites);
    if (job->golden_root[0] == '\0') {
        snprintf(e->unlisted, sizeof e->unlisted,
                 "no folder golden/ with committed digests was found; set SAMEBITS_GOLDEN");
        return true;
    }
    for (int i = 0; i < SB_SUITES; i++) {
        if (!join(path, sizeof path, "%s/digests/%s.json", job->golden_root, sb_suite_names[i]))
            return sb_fail(err, SB_EXIT_BAD_INPUT, "the path is too long: %.600s...", job->golden_root);
        if (!file_exists(path))
            continue;
        const struct sb_manifest *m = sb_manifest_cached(cache, path, err);
        if (m == NULL)
            return false;
        const struct sb_manifest_entry *entry = sb_manifest_find(m, e->c.id);
        if (entry == NULL)
            continue;
        const char *difference = sb_manifest_difference(entry, &e->c, &e->d);
        e->listed = true;
        snprintf(e->difference, sizeof e->difference, "%s", difference != NULL ? difference : "");
        snprintf(e->digest_file, sizeof e->digest_file, "%s", path);
        return true;
    }
    return true;
}

/* A set that lists a golden which is not there counts: loading it is the error. */
static bool set_vouches(const struct sb_case *c, const struct sb_job *job, struct sb_manifest_cache *cache)
{
    struct sb_error ignored = {0};
    if (job->stored[0] == '\0')
        return false;
    if (file_exists(job->stored))
        return true;
    if (!file_exists(job->manifest))
        return false;
    const struct sb_manifest *m = sb_manifest_cached(cache, job->manifest, &ignored);
    return m == NULL || sb_manifest_find(m, c->id) != NULL;
}

bool sb_expected_vouched(const struct sb_case *c, const struct sb_job *job, struct sb_manifest_cache *cache)
{
    char path[SB_PATH_SIZE];
    struct sb_error ignored = {0};
    bool vouched = set_vouches(c, job, cache);
    for (int i = 0; !vouched && job->golden_root[0] != '\0' && i < SB_SUITES; i++) {
        if (!join(path, sizeof path, "%s/digests/%s.json", job->golden_root, sb_suite_names[i]))
            return true;
        if (!file_exists(path))
            continue;
        const struct sb_manifest *m = sb_manifest_cached(cache, path, &ignored);
        vouched = m == NULL || sb_manifest_find(m, c->id) != NULL;
    }
    return vouched;
}

bool sb_expected_load(struct sb_expected *e, const struct sb_job *job, const struct sb_op_list *ops,
                      struct sb_manifest_cache *cache, struct sb_error *err)
{
    memset(e, 0, sizeof *e);
    bool stored = job->stored[0] != '\0';
    if (stored && !file_exists(job->stored) && !missing_is_allowed(job, cache, &stored, err))
        return false;
    if (stored)
        return load_stored(e, job, ops, cache, err);
    return sb_case_parse(&e->c, ops, job->case_id, err) && e->c.op->generate(&e->c, &e->d, err) &&
           e->c.op->reference(&e->c, &e->d, err) && compare_digests(e, job, cache, err);
}

void sb_expected_free(struct sb_expected *e)
{
    sb_data_free(&e->d);
}

/* ---- places --------------------------------------------------------------------------------------- */

static bool is_golden_root(const char *path)
{
    char inside[SB_PATH_SIZE];
    return (join(inside, sizeof inside, "%s/digests", path) && file_exists(inside)) ||
           (join(inside, sizeof inside, "%s/smoke", path) && file_exists(inside));
}

bool sb_golden_root(char *path, size_t size)
{
    const char *named = getenv("SAMEBITS_GOLDEN");
    if (named != NULL && named[0] != '\0')
        return join(path, size, "%s", named) && is_golden_root(path);
    char exe[SB_PATH_SIZE];
    const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n > 0) {
        exe[n] = '\0';
        char *slash = strrchr(exe, '/');
        if (slash != NULL)
            *slash = '\0';
        if (join(path, size, "%s/../golden", exe) && is_golden_root(path)) {
            char *clean = realpath(path, NULL);
            if (clean != NULL)
                snprintf(path, size, "%s", clean);
            free(clean);
            return true;
        }
    }
    if (join(path, size, "%s/golden", SAMEBITS_SOURCE_DIR) && is_golden_root(path))
        return true;
    path[0] = '\0';
    return false;
}

bool sb_golden_root_check(struct sb_error *err)
{
    char root[SB_PATH_SIZE];
    const char *named = getenv("SAMEBITS_GOLDEN");
    if (named == NULL || named[0] == '\0')
        return true;
    if (strlen(named) >= sizeof root)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "SAMEBITS_GOLDEN is too long: %.600s...", named);
    if (!sb_is_utf8(named))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "SAMEBITS_GOLDEN is not UTF-8: rename the folder");
    return sb_golden_root(root, sizeof root) ||
           sb_fail(err, SB_EXIT_BAD_INPUT, "SAMEBITS_GOLDEN=%.900s: no folder with digests/ or smoke/ in it", named);
}

bool sb_golden_locate(const struct sb_case *c, const char *set, const char *root, struct sb_job *job,
                      struct sb_error *err)
{
    char folder[SB_PATH_SIZE] = "";
    job->stored[0] = job->manifest[0] = '\0';
    if (set != NULL && !join(folder, sizeof folder, "%s", set))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "the path is too long: %.600s...", set);
    if (set == NULL && root[0] != '\0' && (c->suites & SB_SMOKE) != 0 && !join(folder, sizeof folder, "%s/smoke", root))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "the path is too long: %.600s...", root);
    if (folder[0] == '\0')
        return true;
    if (join(job->stored, sizeof job->stored, "%s/%s.h5", folder, c->id) &&
        join(job->manifest, sizeof job->manifest, "%s/manifest.json", folder))
        return true;
    job->stored[0] = job->manifest[0] = '\0';
    return sb_fail(err, SB_EXIT_BAD_INPUT, "the path of %s.h5 in this folder is too long: %.600s", c->id, folder);
}
