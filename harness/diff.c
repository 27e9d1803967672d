/* diff.c - the verb diff: somebody's outputs against a golden file, bit for bit. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "../golden/store.h"
#include "compare.h"
#include "json.h"
#include "ops.h"
#include "progress.h"
#include "run_case.h"
#include "text.h"
#include "verbs.h"

static const struct sb_option options[] = {
    {"json", SB_OPT_FLAG, NULL, NULL, 0, 0, "one JSON object instead of text"},
    {0},
};

static const struct sb_option_table table = {
    .verb = "diff",
    .summary = "Compare the outputs of a candidate's HDF5 file with a golden file, bit for bit",
    .operands = "GOLDEN.h5 CANDIDATE.h5",
    .operand_count = 2,
    .options = options,
    .notes =
        "GOLDEN comes first. The candidate needs the datasets under /outputs only, with the golden's names, types and\n"
        "shapes (of a sampled output: whole, or the same tiles; a table /samples/NAME beside tiles has to be the\n"
        "golden's); it may be written by h5py. Exit status: 0 the same bits; 1 a difference: other bits, other tiles,\n"
        "another type or shape, an output missing or one too many; 2 a file that cannot be read; 3 nothing to "
        "compare:\n"
        "the golden holds a rejected call, which has no outputs, or outputs without an element, and so does the\n"
        "candidate.",
};

static void describe(struct sb_result *r, const struct sb_case *c, const char *candidate)
{
    snprintf(r->case_id, sizeof r->case_id, "%s", c->id);
    snprintf(r->op, sizeof r->op, "%s", c->op->name);
    snprintf(r->variant, sizeof r->variant, "candidate");
    snprintf(r->device, sizeof r->device, "%.95s", candidate);
    snprintf(r->judge, sizeof r->judge, "stored golden");
    r->launches = -1;
}

static bool print_json(const struct sb_result *r, struct sb_error *err)
{
    json_t *samples = json_array();
    for (int i = 0; i < r->samples; i++)
        json_array_append_new(samples, json_pack("{s:s, s:s, s:s, s:s}", "index", r->sample[i].index, "expected",
                                                 r->sample[i].expected, "actual", r->sample[i].actual, "distance",
                                                 r->sample[i].distance));
    return sb_json_print(json_pack("{s:s, s:b, s:s, s:o, s:s, s:s, s:I, s:I, s:I, s:o}", "case", r->case_id, "equal",
                                   r->outcome == SB_PASS, "sampled", r->sampled, "detail", sb_json_text(r->detail),
                                   "tensor", r->tensor, "pattern", r->pattern, "elements", (json_int_t)r->elements,
                                   "mismatches", (json_int_t)r->mismatches, "bytes_compared",
                                   (json_int_t)r->bytes_compared, "samples", samples),
                         err);
}

/* A candidate's file has no status: only its outputs are judged. `places`: of each, where its blocks are. */
static void judge(const struct sb_case *c, const struct sb_data *golden, const struct sb_tensor *out,
                  const enum sb_places *places, const struct sb_candidate_faults *faults, struct sb_result *r)
{
    bool equal = faults->text[0] == '\0', complete = true;
    for (int i = 0; i < sb_op_output_count(c->op); i++)
        if (places[i] == SB_PLACES_OTHER) {
            sb_append_line(r->detail, sizeof r->detail,
                           "samples/%s of the candidate is not the case's table: its blocks are of other places",
                           c->op->outputs[i].name);
            equal = complete = false;
        } else if (faults->type[i][0] != '\0') {
            sb_append_line(r->detail, sizeof r->detail, "%s: expected %s, got %s", c->op->outputs[i].name,
                           sb_dtype_name(golden->out[i].dtype), faults->type[i]);
            equal = complete = false;
        } else {
            equal = sb_judge_output(c, golden, i, &out[i], places[i] == SB_PLACES_SAME, SB_NO_POISON, &complete, r) &&
                    equal;
        }
    if (faults->text[0] != '\0')
        sb_append_line(r->detail, sizeof r->detail, "%s", faults->text);
    if (!equal && complete && r->mismatches > 0)
        sb_judge_relations(c, golden, out, r);
    r->outcome = equal ? SB_PASS : SB_FAIL;
}

static int64_t output_elements(const struct sb_case *c, const struct sb_data *golden)
{
    int64_t elements = 0;
    for (int i = 0; i < sb_op_output_count(c->op); i++)
        elements += golden->out[i].data != NULL ? sb_tensor_count(&golden->out[i]) : 0;
    return elements;
}

static int compare(const struct sb_options *o, const struct sb_case *c, const struct sb_data *golden,
                   const struct sb_tensor *out, const struct sb_candidate_faults *faults, struct sb_error *err)
{
    struct sb_result r = {0};
    enum sb_places places[SB_MAX_TENSORS];
    if (golden->status.code != SB_OK) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "%s holds a rejected call (%s): there are no outputs to compare",
                o->operand[0], sb_code_name((enum sb_code)golden->status.code));
        return SB_EXIT_NOTHING_RAN;
    }
    for (int i = 0; i < sb_op_output_count(c->op); i++)
        if (!sb_store_read_places(o->operand[1], &golden->samples[i], &out[i], &places[i], err))
            return (int)err->exit;
    describe(&r, c, o->operand[1]);
    judge(c, golden, out, places, faults, &r);
    if (r.outcome == SB_PASS && output_elements(c, golden) == 0) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "the outputs that %s holds have no element: there is nothing to compare",
                o->operand[0]);
        return SB_EXIT_NOTHING_RAN;
    }
    if (sb_option_flag(o, "json")) {
        if (!print_json(&r, err))
            return SB_EXIT_BAD_INPUT;
    } else if (r.outcome == SB_PASS) {
        printf("the same bits%s%s%s: %s, %" PRId64 " bytes compared\n", r.sampled[0] != '\0' ? " in samples (" : "",
               r.sampled, r.sampled[0] != '\0' ? ")" : "", c->id, r.bytes_compared);
    } else {
        sb_terminal_failure(stdout, &r, sb_colour(stdout));
    }
    return r.outcome == SB_PASS ? SB_EXIT_OK : SB_EXIT_MISMATCH;
}

/* The golden cannot be read: are the two files in the wrong order? */
static void hint_at_order(const struct sb_options *o, const struct sb_op_list *ops, struct sb_error *err)
{
    struct sb_case c;
    struct sb_data d = {0};
    struct sb_error ignored = {0};
    if (access(o->operand[0], R_OK) == 0 && sb_store_read(o->operand[1], ops, &c, &d, &ignored))
        sb_append(err->text, sizeof err->text, ". Is this the candidate? GOLDEN comes first");
    sb_data_free(&d);
}

static int run(const struct sb_options *o, struct sb_error *err)
{
    const struct sb_op_list *ops = &sb_op_table()->list;
    struct sb_case c;
    struct sb_data golden = {0};
    struct sb_tensor out[SB_MAX_TENSORS] = {0};
    struct sb_candidate_faults faults;
    int status;
    if (!sb_store_read(o->operand[0], ops, &c, &golden, err)) {
        status = (int)err->exit;
        hint_at_order(o, ops, err);
    } else if (!sb_store_read_outputs(o->operand[1], c.op, out, &faults, err)) {
        status = (int)err->exit;
    } else {
        status = compare(o, &c, &golden, out, &faults, err);
    }
    sb_data_free(&golden);
    sb_tensors_free(out, SB_MAX_TENSORS);
    return status;
}

const struct sb_verb sb_verb_diff = {&table, run, false};
