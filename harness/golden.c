/* golden.c - the verbs golden make and golden verify. */
#include <jansson.h>
#include <string.h>

#include "../golden/set.h"
#include "interrupt.h"
#include "json.h"
#include "progress.h"
#include "select.h"
#include "text.h"
#include "verbs.h"

/* ---- make ----------------------------------------------------------------------------------------- */

static const struct sb_option make_options[] = {
    SB_SELECT_OPTIONS,
    {"out", SB_OPT_TEXT, "DIR", NULL, 0, 0, "write one HDF5 file per case here, with SHA256SUMS and manifest.json"},
    {"digests", SB_OPT_TEXT, "FILE", NULL, 0, 0, "write the digests of all inputs and outputs to this file"},
    {0},
};

static const struct sb_option_table make_table = {
    .verb = "golden make",
    .summary = "Generate inputs, compute the reference and store golden files",
    .operands = "",
    .operand_count = 0,
    .options = make_options,
    .notes = "At least one of --out and --digests is needed. The same selection always gives the same digests.",
};

static bool on_progress(void *user, int done, int total, const char *id)
{
    (void)total;
    sb_progress_step(user, done, id);
    return sb_interrupted() == 0;
}

/* "selection" unless the cases are exactly those of one suite. */
static const char *set_name(const struct sb_selection *s)
{
    return s->filtered || strchr(s->suites, ',') != NULL ? "selection" : s->suites;
}

static void report_made(const struct sb_manifest *m, const char *dir, const char *digests)
{
    int constant = 0;
    for (int i = 0; i < m->count; i++)
        constant += m->entry[i].mostly_constant;
    sb_print_line(stderr, "golden make: %d case%s%s%s%s%s", m->count, m->count == 1 ? "" : "s",
                  dir != NULL ? " in " : "", dir != NULL ? dir : "", digests != NULL ? ", digests in " : "",
                  digests != NULL ? digests : "");
    if (constant == 0)
        return;
    fprintf(stderr, "golden make: %d of them %s an output that is nearly all one value, and prove%s little alone:\n",
            constant, constant == 1 ? "has" : "have", constant == 1 ? "s" : "");
    enum { NAMED = 5 };
    for (int i = 0, named = 0; i < m->count && named < NAMED; i++)
        if (m->entry[i].mostly_constant) {
            fprintf(stderr, "    %s\n", m->entry[i].id);
            named++;
        }
    if (constant > NAMED)
        fprintf(stderr, "    ... and %d more\n", constant - NAMED);
}

static int make(const struct sb_options *o, struct sb_error *err)
{
    const char *dir = sb_option_text(o, "out"), *digests = sb_option_text(o, "digests");
    struct sb_selection s = {0};
    struct sb_manifest m = {0};
    struct sb_progress progress;
    if (dir == NULL && digests == NULL) {
        sb_fail(err, SB_EXIT_BAD_INPUT,
                "say where to: --out DIR, --digests FILE or both (see: samebits golden make --help)");
        return SB_EXIT_BAD_INPUT;
    }
    sb_interrupt_install();
    const struct sb_op_list *ops = &sb_op_table()->list;
    bool ok = sb_select(&s, sb_op_table(), o, false, err);
    if (ok) {
        sb_progress_open(&progress, stderr, "golden make", s.count);
        ok = sb_set_make(s.c, s.count, set_name(&s), dir, &m, ops, on_progress, &progress, err);
        sb_progress_close(&progress);
    }
    ok = ok && (digests == NULL || sb_manifest_write(&m, digests, ops, err));
    if (ok)
        report_made(&m, dir, digests);
    sb_manifest_free(&m);
    sb_selection_free(&s);
    if (!ok && sb_interrupted() != 0)
        return sb_interrupt_status();
    return ok ? SB_EXIT_OK : (int)err->exit;
}

const struct sb_verb sb_verb_golden_make = {&make_table, make, false};

/* ---- verify --------------------------------------------------------------------------------------- */

static const struct sb_option verify_options[] = {
    {"deep", SB_OPT_FLAG, NULL, NULL, 0, 0,
     "also generate the inputs and compute the outputs again, and compare every byte"},
    {"json", SB_OPT_FLAG, NULL, NULL, 0, 0, "one JSON object instead of text"},
    {0},
};

static const struct sb_option_table verify_table = {
    .verb = "golden verify",
    .summary = "Check a set of golden files against its manifest and checksums",
    .operands = "DIR",
    .operand_count = 1,
    .options = verify_options,
    .notes =
        "Exit status: 0 intact; 1 faults were found, each is named; 2 the set cannot be read at all. Files of other\n"
        "kinds than .h5 are yours and left alone; a link to a folder is a fault, since links are not followed.",
};

struct verify {
    struct sb_progress progress;
    json_t *faults;
    bool as_json;
};

static void on_fault(void *user, const char *file, const char *dataset, const char *text)
{
    struct verify *v = user;
    json_array_append_new(v->faults, json_pack("{s:o, s:o, s:o}", "file", sb_json_text(file), "dataset",
                                               sb_json_text(dataset), "text", sb_json_text(text)));
    if (v->as_json)
        return;
    sb_progress_clear(&v->progress);
    sb_print_line(stdout, "FAULT  %s%s%s: %s", file, dataset[0] != '\0' ? " " : "", dataset, text);
}

static bool on_verify_progress(void *user, int done, int total, const char *id)
{
    struct verify *v = user;
    v->progress.total = total;
    return on_progress(&v->progress, done, total, id);
}

static bool print_verified(const struct verify *v, const char *dir, bool deep, int faults, struct sb_error *err)
{
    if (v->as_json)
        return sb_json_print(json_pack("{s:o, s:b, s:i, s:b, s:O}", "set", sb_json_text(dir), "deep", (int)deep,
                                       "count", faults, "intact", faults == 0, "faults", v->faults),
                             err);
    if (faults == 0) {
        sb_print_line(stdout, "%s: intact%s", dir, deep ? ", and inputs and outputs made again are the same" : "");
    } else {
        sb_print_line(stdout, "%s: %d fault%s", dir, faults, faults == 1 ? "" : "s");
    }
    return true;
}

static int verify(const struct sb_options *o, struct sb_error *err)
{
    const char *dir = o->operand[0];
    const bool deep = sb_option_flag(o, "deep");
    struct verify v = {.faults = json_array(), .as_json = sb_option_flag(o, "json")};
    if (!sb_is_utf8(dir)) {
        json_decref(v.faults);
        sb_fail(err, SB_EXIT_BAD_INPUT, "the name of the folder is not UTF-8; rename it");
        return SB_EXIT_BAD_INPUT;
    }
    sb_interrupt_install();
    sb_progress_open(&v.progress, stderr, "golden verify", 0);
    const int faults = sb_set_verify(dir, deep, &sb_op_table()->list, on_verify_progress, on_fault, &v, err);
    sb_progress_close(&v.progress);
    int status = faults < 0 ? (int)err->exit : faults > 0 ? SB_EXIT_MISMATCH : SB_EXIT_OK;
    if (sb_interrupted() != 0) {
        status = sb_interrupt_status(); /* what was not looked at is not intact */
        sb_fail(err, SB_EXIT_NOTHING_RAN, "interrupted: no verdict on %s", dir);
    } else if (faults >= 0 && !print_verified(&v, dir, deep, faults, err)) {
        status = (int)err->exit;
    }
    json_decref(v.faults);
    return status;
}

const struct sb_verb sb_verb_golden_verify = {&verify_table, verify, false};
