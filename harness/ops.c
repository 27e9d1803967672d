/* ops.c - the op table. A new op is one row here, a file in ref/, one in golden/ and one or more in gpu/. */
#include "ops.h"

#include <string.h>

#include "../golden/ops.h"

/* The same rows with and without CUDA: a report names the paths that a build lacks. */
#ifdef SAMEBITS_HAVE_CUDA
#include "../gpu/variants.h"
#define KERNEL(function) function
#else
#define KERNEL(function) NULL
#endif

static const struct sb_variant e8m0_upcast[] = {
    {.name = "two_pass",
     .targets = "any",
     .summary = "widening copy, then shift: two launches a call",
     .run = KERNEL(sb_run_e8m0_upcast_two_pass),
     .workspace = KERNEL(sb_workspace_e8m0_upcast_two_pass)},
    {.name = "fused", .targets = "any", .summary = "one launch a call", .run = KERNEL(sb_run_e8m0_upcast_fused)},
    {.name = "hoisted",
     .targets = "any",
     .summary = "one launch at load, the cached copy handed out per call",
     .run = KERNEL(sb_run_e8m0_upcast_hoisted),
     .workspace = KERNEL(sb_workspace_e8m0_upcast_hoisted)},
    {0},
};

static const struct sb_variant topk_metadata[] = {
    {.name = "scan",
     .targets = "any",
     .summary = "count, prefix sums, stable scatter",
     .run = KERNEL(sb_run_topk_metadata_scan),
     .workspace = KERNEL(sb_workspace_topk_metadata_scan)},
    {0},
};

static const struct sb_variant scale_pack[] = {
    {.name = "gather",
     .targets = "any",
     .summary = "a thread per 16 packed bytes, gathering 4 rows by 4 scales",
     .run = KERNEL(sb_run_scale_pack_gather),
     .workspace = KERNEL(sb_workspace_scale_pack)},
    {.name = "tile",
     .targets = "any",
     .summary = "a block per 128 rows, staged in shared memory",
     .run = KERNEL(sb_run_scale_pack_tile),
     .workspace = KERNEL(sb_workspace_scale_pack)},
    {.name = "scatter",
     .targets = "any",
     .summary = "fill the last rows, then scatter row by row",
     .run = KERNEL(sb_run_scale_pack_scatter),
     .workspace = KERNEL(sb_workspace_scale_pack)},
    {.name = "rowmajor",
     .targets = "any",
     .summary = "row by row through the source",
     .run = KERNEL(sb_run_scale_pack_rowmajor),
     .workspace = KERNEL(sb_workspace_scale_pack)},
    {0},
};

static const struct sb_variant metadata_pack[] = {
    {.name = "chained",
     .targets = "any",
     .summary = "topk_metadata, then scale_pack on its gather indices",
     .run = KERNEL(sb_run_metadata_pack_chained),
     .workspace = KERNEL(sb_workspace_metadata_pack_chained)},
    {0},
};

static const struct sb_variant wgrad_varlen_k[] = {
    {.name = "mma_sync",
     .targets = "any",
     .summary = "mma.sync.m16n8k16, one accumulator per output",
     .run = KERNEL(sb_run_wgrad_varlen_k_mma_sync),
     .cannot = KERNEL(sb_cannot_wgrad_varlen_k_mma_sync)},
    {.name = "judge",
     .targets = "any",
     .summary = "contract TC on ordinary cores: judges the others where the reference has samples alone",
     .judge = true,
     .run = KERNEL(sb_run_wgrad_varlen_k_judge)},
    {.name = "wgmma",
     .targets = "sm_90a",
     .summary = "wgmma.m64n256k16 fed by bulk tensor copies, persistent blocks",
     .run = KERNEL(sb_run_wgrad_varlen_k_wgmma)},
    {.name = "tcgen05",
     .targets = "sm_100f",
     .summary = "tcgen05.mma m128n256k16 fed by bulk tensor copies, sums in tensor memory; self-checked at first use",
     .run = KERNEL(sb_run_wgrad_varlen_k_tcgen05),
     .cannot = KERNEL(sb_cannot_wgrad_varlen_k_tcgen05)},
    {.name = "auto",
     .targets = "any",
     .summary = "wgmma or tcgen05 on their GPUs if its self-check passes, else mma_sync",
     .run = KERNEL(sb_run_wgrad_varlen_k_auto),
     .cannot = KERNEL(sb_cannot_wgrad_varlen_k_auto)},
    {0},
};

/* The table. */
static const struct sb_op_row rows[] = {
    {&sb_op_e8m0_upcast, e8m0_upcast},     {&sb_op_topk_metadata, topk_metadata},   {&sb_op_scale_pack, scale_pack},
    {&sb_op_metadata_pack, metadata_pack}, {&sb_op_wgrad_varlen_k, wgrad_varlen_k},
    /* A new op's row goes above this line. */
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const struct sb_op_table *sb_op_table(void)
{
    static const struct sb_op *ops[ROWS];
    static const struct sb_op_table table = {rows, {ops, ROWS}};
    for (int i = 0; i < ROWS; i++)
        ops[i] = rows[i].op;
    return &table;
}

const struct sb_op_row *sb_op_row_find(const struct sb_op_table *table, const char *op)
{
    for (int i = 0; i < table->list.count; i++)
        if (strcmp(table->row[i].op->name, op) == 0)
            return &table->row[i];
    return NULL;
}

const struct sb_variant *sb_variant_find(const struct sb_op_row *row, const char *variant)
{
    for (const struct sb_variant *v = row->variants; v->name != NULL; v++)
        if (strcmp(v->name, variant) == 0)
            return v;
    return NULL;
}

const struct sb_variant *sb_variant_judge(const struct sb_op_row *row)
{
    for (const struct sb_variant *v = row->variants; v->name != NULL; v++)
        if (v->judge)
            return v;
    return NULL;
}
