/* probe_replay.c - replays the sets of a folder, one by one. */
#include "probe_replay.h"

#include <inttypes.h>
#include <string.h>

#include "../reports/text.h"
#include "json.h"
#include "probe_files.h"
#include "probe_report.h"
#include "text.h"

enum { SHOWN = 3, KEPT = 4096 }; /* of a set */

struct replay {
    int64_t vectors, differ; /* of one set */
    struct sb_probe_list different, right;
    int64_t line[SHOWN];
};

static bool judge(void *user, int64_t line, const struct sb_probe_vector *v)
{
    struct replay *const r = user;
    const bool same = v->got == v->expected;
    struct sb_probe_list *const list = same ? &r->right : &r->different;
    if (!same && r->differ < SHOWN)
        r->line[r->differ] = line;
    r->vectors++;
    r->differ += !same;
    return list->count >= KEPT || sb_probe_list_add(list, v);
}

static void print_set(const struct sb_probe_set *set, const struct replay *r)
{
    char d[SB_PATH_SIZE], text[2048];
    sb_probe_set_file(set, 'd', d, sizeof d);
    sb_print_line(stdout, "%s  %9s dot products, %s differ  %s", r->differ == 0 ? "PASS" : "FAIL",
                  sb_count(r->vectors).text, sb_count(r->differ).text, d);
    if (r->differ == 0)
        return;
    for (int i = 0; i < SHOWN && i < r->differ; i++) {
        sb_print_line(stdout, "  %s:%" PRId64, d, r->line[i]);
        sb_probe_vector_print(stdout, &r->different.v[i]);
    }
    if (r->differ > SHOWN)
        printf("  ... and %s more\n", sb_count(r->differ - SHOWN).text);
    const struct sb_probe_explanation e = sb_probe_explain(&r->different, &r->right);
    printf("  %s\n", sb_probe_explanation_text(&e, text, sizeof text));
}

static json_t *set_json(const struct sb_probe_set *set, const struct replay *r)
{
    char d[SB_PATH_SIZE];
    json_t *first = json_array();
    for (int i = 0; i < SHOWN && i < r->differ; i++) {
        json_t *const v = sb_probe_vector_json(&r->different.v[i]);
        json_object_set_new(v, "line", json_integer(r->line[i]));
        json_array_append_new(first, v);
    }
    const struct sb_probe_explanation e = sb_probe_explain(&r->different, &r->right);
    return json_pack("{s:o, s:I, s:I, s:o, s:o}", "file", sb_json_text(sb_probe_set_file(set, 'd', d, sizeof d)),
                     "dot_products", (json_int_t)r->vectors, "differ", (json_int_t)r->differ, "first", first,
                     "explanation", r->differ > 0 ? sb_probe_explanation_json(&e) : json_null());
}

static struct sb_probe_verdict conclude(int64_t vectors, int64_t differ, const struct sb_probe_sets *sets)
{
    struct sb_probe_verdict v = {.exit_status = differ == 0 ? SB_EXIT_OK : SB_EXIT_MISMATCH};
    const char *const plural = sets->count == 1 ? "" : "s";
    if (differ == 0)
        sb_append(v.text, sizeof v.text, "PASS: all %s recorded dot products of %d set%s are what contract TC gives",
                  sb_count(vectors).text, sets->count, plural);
    else
        sb_append(v.text, sizeof v.text,
                  "FAIL: %s of %s recorded dot products of %d set%s are not what contract TC gives",
                  sb_count(differ).text, sb_count(vectors).text, sets->count, plural);
    if (sets->left_out > 0)
        sb_append(v.text, sizeof v.text, "; %d set%s left out, whose operands are not bf16", sets->left_out,
                  sets->left_out == 1 ? "" : "s");
    return v;
}

/* The sets one by one. False with err. */
static bool replay_all(const struct sb_probe_sets *sets, json_t *results, int64_t *vectors, int64_t *differ,
                       struct sb_error *err)
{
    bool ok = true;
    for (int i = 0; ok && i < sets->count; i++) {
        struct replay r = {0};
        ok = sb_probe_read_set(&sets->set[i], judge, &r, err);
        if (ok && results != NULL)
            json_array_append_new(results, set_json(&sets->set[i], &r));
        else if (ok)
            print_set(&sets->set[i], &r);
        *vectors += r.vectors;
        *differ += r.differ;
        sb_probe_list_free(&r.different);
        sb_probe_list_free(&r.right);
    }
    return ok;
}

int sb_probe_replay(const char *dir, bool as_json, struct sb_error *err)
{
    struct sb_probe_sets sets;
    int64_t vectors = 0, differ = 0;
    json_t *results = as_json ? json_array() : NULL;
    if (!sb_probe_find_sets(dir, &sets, err) || !replay_all(&sets, results, &vectors, &differ, err)) {
        sb_probe_sets_free(&sets);
        json_decref(results);
        return (int)err->exit;
    }
    const struct sb_probe_verdict verdict = conclude(vectors, differ, &sets);
    int status = verdict.exit_status;
    if (!as_json)
        sb_probe_print_verdict(stdout, &verdict);
    else if (!sb_json_print(json_pack("{s:o, s:i, s:s, s:i}", "sets", results, "left_out", sets.left_out, "verdict",
                                      verdict.text, "exit_status", status),
                            err))
        status = SB_EXIT_BAD_INPUT;
    sb_probe_sets_free(&sets);
    return status;
}
