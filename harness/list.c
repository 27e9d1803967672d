/* list.c - the verb list: cases and why they exist, and the implementations they run on. */
#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "select.h"
#include "verbs.h"

static const struct sb_option options[] = {
    SB_SELECT_OPTIONS,
    {"grep", SB_OPT_TEXT, "TEXT", NULL, 0, 0, "only cases whose id or reason holds this text"},
    {"variants", SB_OPT_FLAG, NULL, NULL, 0, 0, "the implementations of the selected ops instead of the cases"},
    {"json", SB_OPT_FLAG, NULL, NULL, 0, 0, "a JSON array instead of text"},
    {0},
};

static const struct sb_option_table table = {
    .verb = "list",
    .summary = "List cases, the suites they belong to and the reason why each exists",
    .operands = "",
    .operand_count = 0,
    .options = options,
    .notes = "Without a selection every case of every suite is listed. An id is accepted back by --case.",
};

static json_t *case_json(const struct sb_case *c)
{
    char suites[64];
    json_t *parameters = json_object();
    for (int i = 0; c->op->params[i].name != NULL; i++)
        json_object_set_new(parameters, c->op->params[i].name,
                            c->op->params[i].kind == SB_PARAM_INT ? json_integer(c->param[i].value)
                                                                  : json_string(c->param[i].text));
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, c->seed); /* a u64 does not fit every reader's numbers */
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "id", c->id, "op", c->op->name, "suites",
                     sb_suites_text(c->suites, suites, sizeof suites), "reason", c->reason, "seed", seed, "parameters",
                     parameters);
}

static void print_cases(const struct sb_selection *s)
{
    char suites[64];
    for (int i = 0; i < s->count; i++)
        printf("%s\n    %s: %s\n", s->c[i].id,
               s->c[i].suites != 0 ? sb_suites_text(s->c[i].suites, suites, sizeof suites) : "ad hoc",
               s->c[i].suites != 0 ? s->c[i].reason : "a call that no suite lists");
    fprintf(stderr, "%d case%s\n", s->count, s->count == 1 ? "" : "s");
}

static bool has_op(const struct sb_selection *s, const struct sb_op *op)
{
    for (int i = 0; i < s->count; i++)
        if (s->c[i].op == op)
            return true;
    return false;
}

static json_t *variants_json(const struct sb_selection *s)
{
    const struct sb_op_table *ops = sb_op_table();
    json_t *all = json_array();
    for (int k = 0; k < ops->list.count; k++) {
        const struct sb_op *op = ops->row[k].op;
        if (!has_op(s, op))
            continue;
        json_array_append_new(all, sb_variant_json(op->name, "ref", "cpu", "the reference", true));
        if (op->relations != NULL)
            json_array_append_new(all, sb_variant_json(op->name, "relations", "cpu", "the contract's relations", true));
        for (const struct sb_variant *v = ops->row[k].variants; v->name != NULL; v++)
            json_array_append_new(all, sb_variant_json(op->name, v->name, v->targets, v->summary, v->run != NULL));
    }
    return all;
}

static void print_variants(const json_t *variants)
{
    size_t i;
    json_t *v;
    json_array_foreach(variants, i, v)
        printf("%-15s %-10s %-8s %s%s\n", json_string_value(json_object_get(v, "op")),
               json_string_value(json_object_get(v, "name")), json_string_value(json_object_get(v, "targets")),
               json_string_value(json_object_get(v, "summary")),
               json_is_true(json_object_get(v, "compiled")) ? "" : " (not compiled: built without CUDA)");
}

static bool print_selection(const struct sb_selection *s, bool variants, bool as_json, struct sb_error *err)
{
    json_t *all = variants ? variants_json(s) : json_array();
    for (int i = 0; !variants && as_json && i < s->count; i++)
        json_array_append_new(all, case_json(&s->c[i]));
    if (as_json)
        return sb_json_print(all, err);
    if (variants) {
        print_variants(all);
    } else {
        print_cases(s);
    }
    json_decref(all);
    return true;
}

static int run(const struct sb_options *o, struct sb_error *err)
{
    struct sb_selection s;
    int status = SB_EXIT_BAD_INPUT;
    const bool selected = sb_option_given(o, "grep")
                              ? sb_select_grep(&s, sb_op_table(), o, sb_option_text(o, "grep"), err)
                              : sb_select(&s, sb_op_table(), o, true, err);
    if (selected && print_selection(&s, sb_option_flag(o, "variants"), sb_option_flag(o, "json"), err))
        status = SB_EXIT_OK;
    sb_selection_free(&s);
    return status;
}

const struct sb_verb sb_verb_list = {&table, run, false};
