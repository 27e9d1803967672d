/* vouch.c - cases of a suite that neither a stored golden nor a digest file stands behind. Without this look a digest
 * file that was lost or emptied would only make the run smaller. */
#include "vouch.h"

#include "expected.h"
#include "text.h"

/* Each case counts once, to the first of its suites. */
static int first_suite(const struct sb_case *c)
{
    for (int i = 0; i < SB_SUITES; i++)
        if ((c->suites & sb_suite_bits[i]) != 0)
            return i;
    return -1;
}

static bool is_vouched(const struct sb_case *c, const char *set, const char *root, struct sb_manifest_cache *cache)
{
    struct sb_job job = {0};
    struct sb_error ignored = {0};
    snprintf(job.golden_root, sizeof job.golden_root, "%s", root);
    return !sb_golden_locate(c, set, root, &job, &ignored) || sb_expected_vouched(c, &job, cache);
}

static void tell(FILE *f, int suite, int lacking, int all, const char *first, const char *root)
{
    const char *name = sb_suite_names[suite];
    if (root[0] == '\0')
        sb_print_line(
            f,
            "samebits: nothing vouches for %d of %d cases of %s: no folder golden/ with digests was found; set "
            "SAMEBITS_GOLDEN",
            lacking, all, name);
    else if (lacking == all)
        sb_print_line(f,
                      "samebits: %s/digests/%s.json vouches for none of %d case%s: make it with samebits golden make "
                      "--suite %s --digests %s/digests/%s.json",
                      root, name, all, all == 1 ? "" : "s", name, root, name);
    else
        sb_print_line(f,
                      "samebits: %s/digests/%s.json does not vouch for %d of %d cases (the first: %s): make it with "
                      "samebits golden make --suite %s --digests %s/digests/%s.json",
                      root, name, lacking, all, first, name, root, name);
}

int sb_tell_unvouched(FILE *f, const struct sb_selection *cases, const char *set, const char *root)
{
    struct sb_manifest_cache cache = {0};
    const char *first[SB_SUITES] = {NULL};
    int lacking[SB_SUITES] = {0}, all[SB_SUITES] = {0}, total = 0;
    for (int i = 0; i < cases->count; i++) {
        const struct sb_case *c = &cases->c[i];
        const int suite = first_suite(c);
        if (suite < 0)
            continue;
        all[suite]++;
        if (is_vouched(c, set, root, &cache))
            continue;
        if (lacking[suite]++ == 0)
            first[suite] = c->id;
        total++;
    }
    for (int i = 0; i < SB_SUITES; i++)
        if (lacking[i] > 0)
            tell(f, i, lacking[i], all[i], first[i], root);
    sb_manifest_cache_free(&cache);
    return total;
}
