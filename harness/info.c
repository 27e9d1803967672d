/* info.c - the verb info: what this build is, what this machine has, which ops and suites there are. */
#include <inttypes.h>
#include <string.h>

#include "build_info.h"
#include "device.h"
#include "expected.h"
#include "json.h"
#include "select.h"
#include "text.h"
#include "verbs.h"

static const struct sb_option options[] = {
    {"op", SB_OPT_TEXT, "OP", NULL, 0, 0, "one op alone: its tensors, parameters, choices and defaults"},
    {"json", SB_OPT_FLAG, NULL, NULL, 0, 0, "one JSON object instead of text"},
    {0},
};

static const struct sb_option_table table = {
    .verb = "info",
    .summary = "Show the build, the GPUs, the ops and the suites",
    .operands = "",
    .operand_count = 0,
    .options = options,
    .notes = "A call that no suite lists is OP/NAME=VALUE,... with the parameters that --op shows.",
};

struct info {
    struct sb_report head; /* only its description of the build */
    struct sb_device device[SB_MAX_DEVICES];
    int devices;
    char no_gpu[400];
    char root[SB_PATH_SIZE];
    const struct sb_op_table *ops;
};

static int cases_in(const struct sb_op *op, unsigned suites)
{
    int n = 0;
    for (const struct sb_case_row *row = op->cases; row->call != NULL; row++)
        n += (row->suites & suites) != 0;
    return n;
}

/* "smoke / standard / seed", or the counts of one op in the same order. */
static const char *suites_line(const struct sb_op *op, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int i = 0; i < SB_SUITES; i++) {
        sb_append(buf, size, "%s", i > 0 ? " / " : "");
        if (op == NULL)
            sb_append(buf, size, "%s", sb_suite_names[i]);
        else
            sb_append(buf, size, "%d", cases_in(op, sb_suite_bits[i]));
    }
    return buf;
}

static void print_text(const struct info *info)
{
    const struct sb_report *h = &info->head;
    printf("samebits %s, commit %s\n", h->version, h->commit);
    printf("  C compiler     %s\n  CUDA compiler  %s\n", h->compiler, h->cuda_compiler);
    printf("  CUDA targets   %s\n", h->targets[0] != '\0' ? h->targets : "none: built without CUDA");
    printf("  driver         %s\n  machine        %s\n", h->driver, h->host);
    printf("  golden folder  %s\n", info->root[0] != '\0' ? info->root : "not found: set SAMEBITS_GOLDEN");
    printf("GPUs\n");
    for (int i = 0; i < info->devices; i++)
        printf("  %s, %.1f GiB, %d multiprocessors\n", info->device[i].label,
               (double)info->device[i].memory_bytes / (1 << 30), info->device[i].multiprocessors);
    if (info->devices == 0)
        printf("  none: %s\n", info->no_gpu);
    char suites[128];
    printf("Ops (cases in %s)\n", suites_line(NULL, suites, sizeof suites));
    for (int k = 0; k < info->ops->list.count; k++) {
        const struct sb_op_row *row = &info->ops->row[k];
        printf("  %-15s %s  %s\n", row->op->name, suites_line(row->op, suites, sizeof suites), row->op->summary);
        printf("  %-15s contract %s %d; ref%s", "", row->op->contract, row->op->contract_version,
               row->op->relations != NULL ? ", relations" : "");
        for (const struct sb_variant *v = row->variants; v->name != NULL; v++)
            printf(", %s", v->name);
        printf("\n");
    }
}

/* ---- one op --------------------------------------------------------------------------------------- */

static void print_tensors(const char *title, const struct sb_tensor_spec *t)
{
    printf("%s\n", title);
    for (; t->name != NULL; t++)
        printf("  %-20s %s%s\n", t->name, t->description, t->optional ? " (optional)" : "");
}

static void print_param(const struct sb_param_spec *p)
{
    printf("  %-14s %s", p->name, p->help);
    if (p->kind == SB_PARAM_INT)
        printf("; %" PRId64 " to %" PRId64, p->min, p->max);
    if (p->standard != NULL)
        printf(" (default: %s)\n", p->standard);
    else
        printf(" (required)\n");
    if (p->kind != SB_PARAM_ENUM)
        return;
    enum { WIDTH = 100 };
    int column = printf("  %-14s one of:", "");
    for (const char *const *choice = p->choices; *choice != NULL; choice++) {
        if (column > WIDTH)
            column = printf("\n  %-14s        ", "") - 1;
        column += printf(" %s", *choice);
    }
    printf("\n");
}

static void print_op(const struct sb_op_row *row)
{
    char suites[128], counts[128];
    const struct sb_op *op = row->op;
    printf("%s: %s\ncontract %s, version %d; cases in %s: %s\n", op->name, op->summary, op->contract,
           op->contract_version, suites_line(NULL, suites, sizeof suites), suites_line(op, counts, sizeof counts));
    print_tensors("Inputs", op->inputs);
    print_tensors("Outputs", op->outputs);
    printf("Parameters\n");
    for (const struct sb_param_spec *p = op->params; p->name != NULL; p++)
        print_param(p);
    printf("Implementations\n  %-14s the reference, on the CPU\n", "ref");
    if (op->relations != NULL)
        printf("  %-14s the contract's relations, on the CPU\n", "relations");
    for (const struct sb_variant *v = row->variants; v->name != NULL; v++)
        printf("  %-14s %s (for %s)%s\n", v->name, v->summary, v->targets,
               v->run != NULL ? "" : ", not compiled: built without CUDA");
}

static json_t *tensors_json(const struct sb_tensor_spec *t)
{
    json_t *all = json_array();
    for (; t->name != NULL; t++)
        json_array_append_new(all, json_pack("{s:s, s:s, s:b}", "name", t->name, "description", t->description,
                                             "optional", (int)t->optional));
    return all;
}

static json_t *params_json(const struct sb_param_spec *p)
{
    static const char *const kinds[] = {[SB_PARAM_INT] = "int", [SB_PARAM_ENUM] = "enum", [SB_PARAM_TEXT] = "text"};
    json_t *all = json_array();
    for (; p->name != NULL; p++) {
        json_t *one = json_pack("{s:s, s:s, s:s?, s:b, s:s}", "name", p->name, "kind", kinds[p->kind], "default",
                                p->standard, "required", p->standard == NULL, "help", p->help);
        if (p->kind == SB_PARAM_INT) {
            json_object_set_new(one, "min", json_integer(p->min));
            json_object_set_new(one, "max", json_integer(p->max));
        }
        json_t *choices = json_array();
        for (const char *const *c = p->kind == SB_PARAM_ENUM ? p->choices : NULL; c != NULL && *c != NULL; c++)
            json_array_append_new(choices, json_string(*c));
        json_object_set_new(one, "choices", choices);
        json_array_append_new(all, one);
    }
    return all;
}

/* ---- everything ----------------------------------------------------------------------------------- */

static json_t *op_json(const struct sb_op_row *row)
{
    json_t *variants = json_array();
    for (const struct sb_variant *v = row->variants; v->name != NULL; v++)
        json_array_append_new(variants, sb_variant_json(NULL, v->name, v->targets, v->summary, v->run != NULL));
    json_t *suites = json_object();
    for (int i = 0; i < SB_SUITES; i++)
        json_object_set_new(suites, sb_suite_names[i], json_integer(cases_in(row->op, sb_suite_bits[i])));
    return json_pack("{s:s, s:s, s:i, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "name", row->op->name, "contract",
                     row->op->contract, "contract_version", row->op->contract_version, "summary", row->op->summary,
                     "relations", row->op->relations != NULL, "cases", suites, "variants", variants, "inputs",
                     tensors_json(row->op->inputs), "outputs", tensors_json(row->op->outputs), "parameters",
                     params_json(row->op->params));
}

static bool print_json(const struct info *info, struct sb_error *err)
{
    const struct sb_report *h = &info->head;
    json_t *devices = json_array(), *ops = json_array();
    for (int i = 0; i < info->devices; i++)
        json_array_append_new(devices,
                              json_pack("{s:i, s:s, s:i, s:I, s:i}", "index", info->device[i].index, "name",
                                        info->device[i].name, "compute_capability", info->device[i].compute_capability,
                                        "memory_bytes", (json_int_t)info->device[i].memory_bytes, "multiprocessors",
                                        info->device[i].multiprocessors));
    for (int k = 0; k < info->ops->list.count; k++)
        json_array_append_new(ops, op_json(&info->ops->row[k]));
    return sb_json_print(
        json_pack("{s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "version", h->version, "commit", h->commit,
                  "compiler", sb_json_text(h->compiler), "cuda_compiler", sb_json_text(h->cuda_compiler), "targets",
                  h->targets, "cuda", sb_json_text(h->driver), "host", sb_json_text(h->host), "golden_folder",
                  sb_json_text(info->root), "no_gpu", sb_json_text(info->no_gpu), "gpus", devices, "ops", ops),
        err);
}

/* --op OP: needs no GPU and no golden folder. */
static int run_op(const struct sb_options *o, const char *name, struct sb_error *err)
{
    char near_text[160];
    const struct sb_op_table *ops = sb_op_table();
    const struct sb_op_row *row = sb_op_row_find(ops, name);
    struct sb_near near = {.wanted = name};
    for (int k = 0; k < ops->list.count; k++)
        sb_near_offer(&near, ops->list.op[k]->name);
    if (row == NULL) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "no op '%.60s'%s (samebits info lists them)", name,
                sb_near_text(&near, near_text, sizeof near_text));
        return SB_EXIT_BAD_INPUT;
    }
    if (sb_option_flag(o, "json"))
        return sb_json_print(op_json(row), err) ? SB_EXIT_OK : SB_EXIT_BAD_INPUT;
    print_op(row);
    return SB_EXIT_OK;
}

static int run(const struct sb_options *o, struct sb_error *err)
{
    static struct info info;
    if (sb_option_given(o, "op"))
        return run_op(o, sb_option_text(o, "op"), err);
    memset(&info, 0, sizeof info);
    info.ops = sb_op_table();
    info.devices = sb_devices(info.device, info.no_gpu, sizeof info.no_gpu);
    if (!sb_golden_root(info.root, sizeof info.root))
        info.root[0] = '\0';
    sb_build_info(&info.head, info.ops);
    if (sb_option_flag(o, "json"))
        return print_json(&info, err) ? SB_EXIT_OK : SB_EXIT_BAD_INPUT;
    print_text(&info);
    return SB_EXIT_OK;
}

const struct sb_verb sb_verb_info = {&table, run, false};
