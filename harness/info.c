/* info.c - the verb info: what this build is, what this machine has, which ops and suites there are. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "build_info.h"
#include "device.h"
#include "expected.h"
#include "select.h"
#include "verbs.h"

static const struct sb_option options[] = {
    {"json", SB_OPT_FLAG, NULL, NULL, 0, 0, "one JSON object instead of text"},
    {0},
};

static const struct sb_option_table table = {
    .verb = "info",
    .summary = "Show the build, the GPUs, the ops and the suites",
    .operands = "",
    .operand_count = 0,
    .options = options,
    .notes = "",
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

static const unsigned bits[SB_SUITES] = {SB_SMOKE, SB_STANDARD, SB_SEED};

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
    printf("Ops (cases in smoke / standard / seed)\n");
    for (int k = 0; k < info->ops->list.count; k++) {
        const struct sb_op_row *row = &info->ops->row[k];
        printf("  %-15s %d / %d / %d  %s\n", row->op->name, cases_in(row->op, bits[0]), cases_in(row->op, bits[1]),
               cases_in(row->op, bits[2]), row->op->summary);
        printf("  %-15s contract %s %d; ref%s", "", row->op->contract, row->op->contract_version,
               row->op->relations != NULL ? ", relations" : "");
        for (const struct sb_variant *v = row->variants; v->name != NULL; v++)
            printf(", %s", v->name);
        printf("\n");
    }
}

static json_t *op_json(const struct sb_op_row *row)
{
    json_t *variants = json_array();
    for (const struct sb_variant *v = row->variants; v->name != NULL; v++)
        json_array_append_new(variants, json_pack("{s:s, s:s, s:s, s:b}", "name", v->name, "targets", v->targets,
                                                  "summary", v->summary, "compiled", v->run != NULL));
    json_t *suites = json_object();
    for (int i = 0; i < SB_SUITES; i++)
        json_object_set_new(suites, sb_suite_names[i], json_integer(cases_in(row->op, bits[i])));
    return json_pack("{s:s, s:s, s:i, s:s, s:b, s:o, s:o}", "name", row->op->name, "contract", row->op->contract,
                     "contract_version", row->op->contract_version, "summary", row->op->summary, "relations",
                     row->op->relations != NULL, "cases", suites, "variants", variants);
}

static void print_json(const struct info *info)
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
    json_t *all =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "version", h->version, "commit", h->commit,
                  "compiler", h->compiler, "cuda_compiler", h->cuda_compiler, "targets", h->targets, "cuda", h->driver,
                  "host", h->host, "golden_folder", info->root, "no_gpu", info->no_gpu, "gpus", devices, "ops", ops);
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

static int run(const struct sb_options *o, struct sb_error *err)
{
    static struct info info;
    (void)err;
    memset(&info, 0, sizeof info);
    info.ops = sb_op_table();
    info.devices = sb_devices(info.device, info.no_gpu, sizeof info.no_gpu);
    if (!sb_golden_root(info.root, sizeof info.root))
        info.root[0] = '\0';
    sb_build_info(&info.head, info.ops);
    if (sb_option_flag(o, "json"))
        print_json(&info);
    else
        print_text(&info);
    return SB_EXIT_OK;
}

const struct sb_verb sb_verb_info = {&table, run, false};
