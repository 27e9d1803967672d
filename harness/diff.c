/* diff.c - the verb diff: somebody's outputs against a golden file, bit for bit. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "../golden/store.h"
#include "ops.h"
#include "progress.h"
#include "run_case.h"
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
        "The candidate needs the datasets under /outputs only, with the golden's names, types and shapes; it may be "
        "written\n"
        "by h5py. Exit status: 0 the same bits; 1 a difference, a missing output, another type or shape; 2 a file\n"
        "that cannot be read; 3 nothing to compare.",
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

static void print_json(const struct sb_result *r)
{
    json_t *samples = json_array();
    for (int i = 0; i < r->samples; i++)
        json_array_append_new(samples, json_pack("{s:s, s:s, s:s, s:s}", "index", r->sample[i].index, "expected",
                                                 r->sample[i].expected, "actual", r->sample[i].actual, "distance",
                                                 r->sample[i].distance));
    json_t *all = json_pack("{s:s, s:b, s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "case", r->case_id, "equal",
                            r->outcome == SB_PASS, "detail", r->detail, "tensor", r->tensor, "pattern", r->pattern,
                            "elements", (json_int_t)r->elements, "mismatches", (json_int_t)r->mismatches,
                            "bytes_compared", (json_int_t)r->bytes_compared, "samples", samples);
    json_dumpf(all, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(all);
}

static bool any_output(const struct sb_op *op, const struct sb_tensor *out)
{
    for (int i = 0; i < sb_op_output_count(op); i++)
        if (out[i].data != NULL)
            return true;
    return false;
}

static int compare(const struct sb_options *o, const struct sb_case *c, const struct sb_data *golden,
                   const struct sb_tensor *out, struct sb_error *err)
{
    struct sb_result r = {0};
    if (golden->status.code != SB_OK) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "%s holds a rejected call (%s): there are no outputs to compare",
                o->operand[0], sb_code_name((enum sb_code)golden->status.code));
        return SB_EXIT_NOTHING_RAN;
    }
    if (!any_output(c->op, out)) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "%s holds none of the outputs of %s under /outputs", o->operand[1],
                c->op->name);
        return SB_EXIT_NOTHING_RAN;
    }
    describe(&r, c, o->operand[1]);
    /* A candidate's file has no status: only its outputs are judged. */
    sb_judge_outputs(c, golden, out, &golden->status, -1, &r);
    r.bytes_compared -= (int64_t)sizeof golden->status;
    if (sb_option_flag(o, "json"))
        print_json(&r);
    else if (r.outcome == SB_PASS)
        printf("the same bits: %s, %" PRId64 " bytes compared\n", c->id, r.bytes_compared);
    else
        sb_terminal_failure(stdout, &r, sb_colour(stdout));
    return r.outcome == SB_PASS ? SB_EXIT_OK : SB_EXIT_MISMATCH;
}

static int run(const struct sb_options *o, struct sb_error *err)
{
    const struct sb_op_list *ops = &sb_op_table()->list;
    struct sb_case c;
    struct sb_data golden = {0};
    struct sb_tensor out[SB_MAX_TENSORS] = {0};
    int status;
    if (!sb_store_read(o->operand[0], ops, &c, &golden, err)) {
        status = (int)err->exit;
    } else if (!sb_store_read_outputs(o->operand[1], c.op, out, err)) {
        status = (int)err->exit;
    } else {
        if (err->text[0] != '\0') { /* datasets that no output has */
            fprintf(stderr, "samebits: note: %s\n", err->text);
            err->text[0] = '\0';
        }
        status = compare(o, &c, &golden, out, err);
    }
    sb_data_free(&golden);
    sb_tensors_free(out, SB_MAX_TENSORS);
    return status;
}

const struct sb_verb sb_verb_diff = {&table, run, false};
