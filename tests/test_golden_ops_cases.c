/* The case lists: well formed, and every edge that the contracts and the field know is there. */
#include "check_main.h"
#include "../golden/ops.h"
#include "../golden/routing.h"
#include "../golden/wgrad_segments.h"

#include <string.h>

static const struct sb_op *const all_ops[] = {&sb_op_e8m0_upcast, &sb_op_topk_metadata, &sb_op_scale_pack,
                                              &sb_op_metadata_pack, &sb_op_wgrad_varlen_k};
static const struct sb_op_list ops = {all_ops, 5};

static struct sb_case row_case(const struct sb_op *op, int i)
{
    struct sb_case c;
    struct sb_error err;
    ck_assert_msg(sb_case_from_row(&c, op, i, &err), "%s", err.text);
    return c;
}

/* ---- form --------------------------------------------------------------------------------------- */

START_TEST(rows_are_canonical_and_found_again)
{
    const struct sb_op *op = all_ops[_i];
    for (int i = 0; op->cases[i].call != NULL; i++) {
        struct sb_case again;
        struct sb_error err;
        const struct sb_case c = row_case(op, i);
        ck_assert_str_eq(strchr(c.id, '/') + 1, op->cases[i].call);
        ck_assert_msg(sb_case_parse(&again, &ops, c.id, &err), "%s", err.text);
        ck_assert_str_eq(again.id, c.id);
        ck_assert_str_eq(again.reason, op->cases[i].reason);
        ck_assert_uint_eq(again.suites, op->cases[i].suites);
        ck_assert_uint_lt(strlen(c.id) + strlen(".h5.tmp-1234567"), 255);
    }
}
END_TEST

START_TEST(rows_are_unique_and_have_reasons)
{
    const struct sb_op *op = all_ops[_i];
    for (int i = 0; op->cases[i].call != NULL; i++) {
        const struct sb_case_row *row = &op->cases[i];
        ck_assert_uint_ge(strlen(row->reason), 8);
        ck_assert_uint_lt(strlen(row->reason), sizeof((struct sb_case){0}).reason);
        ck_assert_ptr_null(strpbrk(row->reason, "\n\t"));
        ck_assert_uint_ne(row->suites, 0);
        ck_assert_uint_eq(row->suites & ~(unsigned)(SB_SMOKE | SB_STANDARD | SB_SEED | SB_ARGUMENTS | SB_PRODUCTION),
                          0);
        if ((row->suites & SB_ARGUMENTS) != 0) /* apart from the rest */
            ck_assert_uint_eq(row->suites, SB_ARGUMENTS);
        if ((row->suites & SB_PRODUCTION) != 0) /* minutes and gigabytes must not slip into another suite */
            ck_assert_uint_eq(row->suites, SB_PRODUCTION);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(op->cases[j].call, row->call);
    }
}
END_TEST

START_TEST(tables_fit_the_limits)
{
    const struct sb_op *op = all_ops[_i];
    int params = 0;
    for (; op->params[params].name != NULL; params++) {
        const struct sb_param_spec *p = &op->params[params];
        ck_assert_ptr_nonnull(p->help);
        ck_assert_int_eq(p->kind == SB_PARAM_ENUM, p->choices != NULL);
        for (int j = 0; j < params; j++)
            ck_assert_str_ne(op->params[j].name, p->name);
    }
    ck_assert_int_le(params, SB_MAX_PARAMS);
    ck_assert_int_le(sb_op_input_count(op), SB_MAX_TENSORS);
    ck_assert_int_le(sb_op_output_count(op), SB_MAX_TENSORS);
    ck_assert_str_eq(strncmp(op->contract, op->name, strlen(op->name)) == 0 ? op->name : op->contract, op->name);
}
END_TEST

START_TEST(packing_takes_the_routing_parameters_as_they_are)
{
    const struct sb_param_spec *a = sb_op_topk_metadata.params, *b = sb_op_metadata_pack.params;
    for (int i = 0; a[i].name != NULL; i++)
        ck_assert_str_eq(a[i].name, b[i].name);
    for (int i = 0; i < SB_ROUTING_OUTPUTS; i++)
        ck_assert_str_eq(sb_op_topk_metadata.outputs[i].name, sb_op_metadata_pack.outputs[i].name);
    ck_assert_str_eq(sb_op_metadata_pack.outputs[SB_OUT_PAD_ROWS].name, "pad_rows");
    ck_assert_str_eq(sb_op_metadata_pack.inputs[SB_IN_TOKENS_PER_EXPERT].name, "tokens_per_expert");
}
END_TEST

/* ---- required edges ----------------------------------------------------------------------------- */

/* "a=1,b=x" in `wanted`: does the case have all of them, defaults included? */
static bool has_all(const struct sb_case *c, const char *wanted)
{
    char text[256];
    snprintf(text, sizeof text, "%s", wanted);
    char *rest = NULL;
    for (char *pair = strtok_r(text, ",", &rest); pair != NULL; pair = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(pair, '=');
        ck_assert_ptr_nonnull(equals);
        *equals = '\0';
        if (strcmp(sb_case_text(c, pair), equals + 1) != 0)
            return false;
    }
    return true;
}

static int count_cases(const struct sb_op *op, unsigned suites, const char *wanted)
{
    int found = 0;
    for (int i = 0; op->cases[i].call != NULL; i++) {
        const struct sb_case c = row_case(op, i);
        found += (c.suites & suites) != 0 && has_all(&c, wanted);
    }
    return found;
}

static void require(const struct sb_op *op, unsigned suites, const char *wanted)
{
    ck_assert_msg(count_cases(op, suites, wanted) > 0, "%s: no case with %s", op->name, wanted);
}

static void require_each(const struct sb_op *op, unsigned suites, const char *format, const int *values, int count)
{
    for (int i = 0; i < count; i++) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, format, values[i]);
        require(op, suites, wanted);
    }
}

static void require_list(const struct sb_op *op, unsigned suites, const char *const *wanted)
{
    for (; *wanted != NULL; wanted++)
        require(op, suites, *wanted);
}

/* far and limit are made for an addition; as probabilities, which are only moved, they are special's like. */
static bool is_left_to_gradients(const char *param, const char *choice)
{
    return strcmp(param, "prob") == 0 && (strcmp(choice, "far") == 0 || strcmp(choice, "limit") == 0);
}

static void require_choices(const struct sb_op *op, const char *param, const char *const *choices)
{
    for (; *choices != NULL; choices++) {
        char wanted[128];
        if (is_left_to_gradients(param, *choices))
            continue;
        snprintf(wanted, sizeof wanted, "%s=%s", param, *choices);
        require(op, SB_STANDARD, wanted);
    }
}

START_TEST(the_search_itself_can_fail)
{
    ck_assert_int_eq(count_cases(&sb_op_topk_metadata, SB_STANDARD, "N=4711"), 0);
    ck_assert_int_eq(count_cases(&sb_op_topk_metadata, SB_SEED, "N=0"), 0);
    ck_assert_int_gt(count_cases(&sb_op_topk_metadata, SB_STANDARD, "N=0"), 0);
}
END_TEST

/* metadata_pack calls the same code for these. */
static bool is_left_to_topk_metadata(const char *name)
{
    return strcmp(name, "counts") == 0 || strcmp(name, "route") == 0 || strcmp(name, "prob") == 0;
}

/* A choice that no case makes is a path that nothing executes. */
START_TEST(every_choice_of_every_parameter_is_taken)
{
    const struct sb_op *op = all_ops[_i];
    for (const struct sb_param_spec *p = op->params; p->name != NULL; p++)
        if (p->kind == SB_PARAM_ENUM && !(op == &sb_op_metadata_pack && is_left_to_topk_metadata(p->name)))
            require_choices(op, p->name, p->choices);
}
END_TEST

START_TEST(e8m0_edges)
{
    const struct sb_op *op = &sb_op_e8m0_upcast;
    const char *const semantics[] = {"shift", "torch", "cuda", "te", NULL};
    for (int s = 0; semantics[s] != NULL; s++) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, "shape=256,dist=ramp,out_dtype=f32,semantics=%s", semantics[s]);
        require(op, SB_SMOKE, wanted);
        snprintf(wanted, sizeof wanted, "shape=256,dist=ramp,out_dtype=bf16,semantics=%s", semantics[s]);
        require(op, SB_STANDARD, wanted);
        snprintf(wanted, sizeof wanted, "dist=edges,semantics=%s", semantics[s]);
        require(op, SB_STANDARD, wanted);
    }
    static const char *const standard[] = {
        "shape=scalar", "shape=1", "shape=0", "shape=0x32", "shape=3x0x4", "shape=2x3x5x7", "shape=3x4x33",
        "history=updated", "history=reused", "shape=5x32,row_stride=48", "shape=2x3x4x10,row_stride=16",
        /* scale grids of public models */
        "shape=56x160", "shape=18x160", "shape=160x9", "shape=128x40", "shape=160x32", "shape=17x56", "shape=5x56",
        "shape=32x8", "shape=128x8", "shape=12x56",
        /* an output off its boundary, alone and together with the input */
        "out_dtype=f32,misalign=0,misalign_out=4", "out_dtype=f32,misalign=0,misalign_out=8",
        "out_dtype=f32,misalign=0,misalign_out=12", "out_dtype=bf16,misalign=0,misalign_out=2",
        "out_dtype=bf16,misalign=0,misalign_out=4", "out_dtype=bf16,misalign=0,misalign_out=8",
        "out_dtype=bf16,misalign=0,misalign_out=14", "out_dtype=f32,misalign=3,misalign_out=12",
        "shape=19x35,row_stride=37,misalign_out=8", NULL};
    require_list(op, SB_STANDARD, standard);
    require(op, SB_SMOKE, "misalign_out=4");
    static const char *const arguments[] = {"shape=4x32,row_stride=16", "shape=2x3x8,row_stride=7",
                                            "shape=0x32,row_stride=31", NULL};
    require_list(op, SB_ARGUMENTS, arguments);
    for (int tail = 0; tail < 16; tail++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "shape=%d", 4096 + tail);
        require(op, SB_STANDARD, wanted);
        snprintf(wanted, sizeof wanted, "misalign=%d", tail);
        require(op, SB_STANDARD, wanted);
    }
    static const char *const layers[] = {"shape=8x32",     "shape=4x32",    "shape=12x32", "shape=256x8",
                                         "shape=64x32",    "shape=8x8x32",  "shape=32x64", "shape=16x32",
                                         "shape=32x16",    "shape=32x32",   "shape=64x8",  "shape=32x96",
                                         "shape=2048x128", "shape=4096x64", NULL};
    require_list(op, SB_SEED, layers);
    ck_assert_int_eq(count_cases(op, SB_SEED, "semantics=shift"), 14);
    ck_assert_int_eq(count_cases(op, SB_SEED, "out_dtype=f32"), 14);
}
END_TEST

/* The hoisted adapter on the GPU has an enum in this order: FRESH, UPDATED, REUSED. */
START_TEST(histories_stand_in_the_adapters_order)
{
    static const char *const order[] = {"fresh", "updated", "reused"};
    const struct sb_param_spec *p = sb_op_e8m0_upcast.params;
    while (p->name != NULL && strcmp(p->name, "history") != 0)
        p++;
    ck_assert_ptr_nonnull(p->name);
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(p->choices[i], order[i]);
    ck_assert_ptr_null(p->choices[3]);
}
END_TEST

START_TEST(topk_edges)
{
    const struct sb_op *op = &sb_op_topk_metadata;
    int topk[32];
    for (int k = 0; k < 32; k++)
        topk[k] = k + 1;
    require_each(op, SB_STANDARD, "topk=%d", topk, 32);
    const int slot_topk[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32};
    require_each(op, SB_STANDARD, "topk=%d,order=slot", slot_topk, 11);
    const int experts[] = {1, 2, 5, 8, 31, 32, 33, 40, 60, 64, 128, 256, 288, 384, 896, 1024};
    require_each(op, SB_STANDARD, "E=%d", experts, 16);
    const int blocks[] = {1, 2, 16, 32, 64, 128, 256, 1024};
    require_each(op, SB_STANDARD, "block=%d", blocks, 8);
    require_each(op, SB_STANDARD, "block=%d,order=slot", blocks, 8);
    const int rows[] = {0,     1,     31,    33,    63,    65,    127,   129,    21725,   43424,  43425,
                        43434, 43435, 43436, 65535, 65536, 65537, 86769, 130000, 2097151, 2097185};
    require_each(op, SB_STANDARD, "N=%d", rows, 21);
    static const char *const standard[] = {"route=none,order=expert",
                                           "route=none,order=slot",
                                           "route=ends_empty,order=slot",
                                           "route=one_expert",
                                           "N=1,topk=1,E=1",
                                           "N=256,topk=5,E=5",
                                           "N=255,topk=5,E=5",
                                           "N=257,topk=5,E=5",
                                           "route=exact_block,idx=i32,order=slot",
                                           "route=block_minus,idx=i32,order=slot",
                                           "route=block_plus,idx=i32,order=slot",
                                           "route=invalid,idx=i32",
                                           "route=invalid,idx=i64",
                                           "route=invalid,counts=exact",
                                           "counts=aligned,counts_align=128",
                                           "counts=wrong,order=slot",
                                           "counts=wrong,route=duplicate",
                                           "prob=special,order=slot",
                                           "prob=special,route=holes",
                                           "N=128,topk=8,E=16,prob=special,route=tail_invalid",
                                           "route=duplicate_nested,topk=4",
                                           "route=duplicate_nested,topk=8,order=slot,idx=i32",
                                           "route=duplicate_adjacent,topk=4",
                                           "route=duplicate_last,topk=8,E=64",
                                           "N=130000,E=256,route=hot",
                                           "after=130000",
                                           "N=0,after=3000",
                                           "N=268435456,topk=8",
                                           NULL};
    require_list(op, SB_STANDARD, standard);
    static const char *const arguments[] = {"topk=0",
                                            "topk=33",
                                            "E=0",
                                            "E=1025",
                                            "block=0",
                                            "block=96",
                                            "block=2048",
                                            "counts_align=0",
                                            "topk=33,E=1025",
                                            "N=0,topk=33",
                                            "N=268435456,topk=33",
                                            "block=96,route=duplicate",
                                            NULL};
    require_list(op, SB_ARGUMENTS, arguments);
    const int slot = count_cases(op, SB_STANDARD, "order=slot"), all = count_cases(op, SB_STANDARD, "");
    ck_assert_int_gt(slot * 4, all); /* a good share for the second flavour */
    ck_assert_int_gt(count_cases(op, SB_STANDARD, "idx=i32") * 5, all);
}
END_TEST

START_TEST(scale_pack_edges)
{
    const struct sb_op *op = &sb_op_scale_pack;
    /* S % 4 by R % 128 by fill */
    const int cols[] = {32, 64, 96, 128}, rows[] = {127, 128, 129}, fills[] = {1, 127, 0};
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            for (int f = 0; f < 3; f++) {
                char wanted[64];
                snprintf(wanted, sizeof wanted, "cols=%d,N=%d,fill=%d", cols[c], rows[r], fills[f]);
                require(op, SB_STANDARD, wanted);
            }
    const int widths[] = {7168, 2880, 288, 2112, 576, 32, 1, 33, 127, 129};
    require_each(op, SB_STANDARD, "cols=%d", widths, 10);
    static const char *const carriers[] = {"u8", "i8", "i32", "i32x4", NULL};
    for (int i = 0; carriers[i] != NULL; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "carrier=%s,N=129", carriers[i]);
        require(op, SB_SMOKE, wanted);
        snprintf(wanted, sizeof wanted, "carrier=%s,cols=7168", carriers[i]);
        require(op, SB_STANDARD, wanted);
        snprintf(wanted, sizeof wanted, "carrier=%s,dist=edges", carriers[i]);
        require(op, SB_STANDARD, wanted);
        snprintf(wanted, sizeof wanted, "carrier=%s,gather=random", carriers[i]);
        require(op, SB_STANDARD, wanted);
    }
    static const char *const standard[] = {"R=0",
                                           "N=0,R=0",
                                           "N=700,R=129",
                                           "N=3,R=700",
                                           "row_stride=9",
                                           "row_stride=1,col_stride=70",
                                           "carrier=i32,row_stride=31,col_stride=3",
                                           "carrier=i32x4,row_stride=9,col_stride=2",
                                           "row_stride=3",
                                           "gather=outside",
                                           "gather=negative",
                                           "gather=outside_last",
                                           "N=0,R=4",
                                           "carrier=i32x4,cols=96",
                                           "carrier=i32x4,cols=2880",
                                           "cols=32768,R=65535",
                                           "cols=32768,R=65537",
                                           "N=262656,cols=8192",
                                           "fill=255",
                                           "carrier=i32x4,cols=96,gather=outside",
                                           "carrier=u8,cols=7168,misalign=1",
                                           "carrier=u8,cols=7168,misalign=2",
                                           "carrier=u8,cols=7168,misalign=4",
                                           "carrier=i8,cols=7168,misalign=8",
                                           "carrier=u8,cols=128,misalign=15",
                                           "carrier=i32,misalign=4",
                                           "carrier=i32x4,cols=7168,misalign=12",
                                           "row_stride=1,col_stride=70,misalign=3",
                                           NULL};
    require_list(op, SB_STANDARD, standard);
    require(op, SB_SMOKE, "carrier=u8,cols=7168,misalign=1");
    static const char *const arguments[] = {
        "cols=0", "N=0,cols=0", "N=7,R=5,gather=none", "cols=0,R=5", "R=5,cols=96,carrier=i32x4", NULL};
    require_list(op, SB_ARGUMENTS, arguments);
}
END_TEST

START_TEST(metadata_pack_edges)
{
    const struct sb_op *op = &sb_op_metadata_pack;
    static const char *const seed[] = {
        "N=16384,topk=8,E=8,block=128,cols=7168", "N=16384,topk=8,E=256,block=128,cols=7168",
        "N=512,topk=4,E=8,block=128,cols=7168", "N=116000,topk=8,E=8,block=128,cols=7168", NULL};
    require_list(op, SB_SEED, seed);
    ck_assert_int_eq(count_cases(op, SB_SEED, ""), 4);
    static const char *const standard[] = {"N=0",
                                           "route=none",
                                           "route=ends_empty",
                                           "route=exact_block",
                                           "route=block_minus",
                                           "route=block_plus",
                                           "route=invalid,idx=i32",
                                           "route=invalid,idx=i64",
                                           "route=tail_invalid",
                                           "route=duplicate",
                                           "counts=wrong",
                                           "counts=aligned",
                                           "order=slot,carrier=i32",
                                           "order=slot,carrier=i32x4",
                                           "order=slot,carrier=u8",
                                           "order=slot,carrier=i8",
                                           "block=1",
                                           "block=1024",
                                           "E=1024",
                                           "topk=32",
                                           "fill=0",
                                           "fill=127",
                                           "prob=special",
                                           "carrier=i32x4,cols=96",
                                           "row_stride=9",
                                           "row_stride=1,col_stride=73",
                                           "N=40,after=3000",
                                           "N=0,after=3000",
                                           "N=43435",
                                           "N=65537",
                                           "N=130000",
                                           "cols=2880",
                                           "cols=33",
                                           "route=duplicate_last,topk=8,E=64",
                                           "N=8191,topk=8,cols=32768",
                                           "N=8193,topk=8,cols=32768",
                                           "carrier=u8,cols=7168,misalign=1",
                                           "carrier=i8,cols=7168,misalign=4",
                                           "carrier=i32,misalign=8",
                                           "carrier=i32x4,cols=7168,misalign=12",
                                           "after=3000,misalign=6",
                                           NULL};
    require_list(op, SB_STANDARD, standard);
    static const char *const arguments[] = {"cols=0",
                                            "topk=33,cols=0",
                                            "block=96,cols=128",
                                            "block=96,cols=96,carrier=i32x4",
                                            "N=268435456,cols=0",
                                            "route=duplicate,cols=0",
                                            NULL};
    require_list(op, SB_ARGUMENTS, arguments);
}
END_TEST

/* Does some standard case without rejection have a segment of this length? `alone`: as its only segment. */
static bool has_segment(int64_t length, bool alone)
{
    const struct sb_op *op = &sb_op_wgrad_varlen_k;
    for (int i = 0; op->cases[i].call != NULL; i++) {
        const struct sb_case c = row_case(op, i);
        struct sb_segments s;
        struct sb_error err;
        if ((c.suites & SB_STANDARD) == 0 || sb_case_int(&c, "break") != 0)
            continue;
        ck_assert(sb_segments_make(&c, &s, &err));
        for (int64_t e = 0; e < s.E; e++)
            if (s.cu[e + 1] - s.cu[e] == length && (s.E == 1 || !alone))
                return true;
    }
    return false;
}

START_TEST(wgrad_edges)
{
    const struct sb_op *op = &sb_op_wgrad_varlen_k;
    static const int64_t lengths[] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        ck_assert_msg(has_segment(lengths[i], false), "no segment of %lld", (long long)lengths[i]);
        ck_assert_msg(has_segment(lengths[i], true), "no segment of %lld alone", (long long)lengths[i]);
    }
    ck_assert(!has_segment(123456, false));
    const int experts[] = {1, 2, 3, 8, 16, 32, 33, 60, 64, 128, 160, 256, 288, 384, 896, 1024};
    require_each(op, SB_STANDARD, "E=%d", experts, 16);
    static const char *const standard[] = {"counts=162+0+2577+446+0+83",
                                           "counts=162+0+2577+446+0+83,accumulate=1",
                                           "counts=150+64+0+200+0",
                                           "counts=192+128+32",
                                           "counts=empty,first=0,tail=0",
                                           "counts=empty,tail=48",
                                           "counts=empty,accumulate=1,grad=special,out_dtype=f32",
                                           "counts=empty,accumulate=1,grad=special,out_dtype=bf16",
                                           "tail=100,outside=nan",
                                           "outside=normal",
                                           "M=8,N=8",
                                           "M=8,N=200",
                                           "M=200,N=8",
                                           "M=24,N=40",
                                           "M=56,N=72",
                                           "M=120,N=136",
                                           "M=128,N=128",
                                           "ld_dy=48,ld_x=64",
                                           "x_rows=29,gather=random",
                                           "x_rows=500,gather=random",
                                           "tail=40,gather=random",
                                           "gather=none,x_rows=200",
                                           "accumulate=0,out_dtype=f32",
                                           "accumulate=0,out_dtype=bf16",
                                           "accumulate=1,out_dtype=f32",
                                           "accumulate=1,out_dtype=bf16",
                                           "accumulate=1,dist=cancel",
                                           "accumulate=1,out_dtype=f32,dist=normal,grad=far",
                                           "accumulate=1,out_dtype=bf16,dist=normal,grad=far",
                                           "accumulate=1,out_dtype=f32,dist=huge,grad=far",
                                           "accumulate=1,out_dtype=f32,dist=normal,grad=limit",
                                           "accumulate=1,out_dtype=bf16,dist=normal,grad=limit",
                                           "accumulate=1,out_dtype=f32,dist=huge,grad=limit",
                                           "accumulate=1,out_dtype=bf16,dist=huge,grad=limit",
                                           "dist=infzero,out_dtype=f32",
                                           "dist=infzero,out_dtype=bf16,gather=random",
                                           "dist=full,out_dtype=f32,first=0,gather=none",
                                           "dist=full,out_dtype=bf16,first=0,gather=none",
                                           "repeat=100",
                                           "M=12",
                                           "N=20",
                                           "ld_dy=28",
                                           "ld_x=25",
                                           "x_rows=0",
                                           "in_place=1,counts=0+35+0+18,grad=special",
                                           "in_place=1,counts=empty,grad=special",
                                           "in_place=1,M=136,N=72,gather=random",
                                           "in_place=1,M=264,N=248",
                                           "break=misaligned_dy,counts=empty",
                                           "break=misaligned_dy,N=20",
                                           "break=misaligned_dw,out_dtype=f32",
                                           "break=misaligned_dw,out_dtype=bf16",
                                           "break=misaligned_main_grad,accumulate=1",
                                           "sample=12",
                                           "sample=9,gather=random,accumulate=1,out_dtype=bf16",
                                           "sample=3,break=descending",
                                           "M=2880",
                                           "N=2880",
                                           "M=7168",
                                           "N=7168",
                                           NULL};
    require_list(op, SB_STANDARD, standard);
    static const char *const smoke[] = {"accumulate=0,out_dtype=f32",
                                        "accumulate=1,out_dtype=bf16",
                                        "gather=random",
                                        "dist=tiny",
                                        "dist=cancel",
                                        "dist=infzero",
                                        "break=descending",
                                        "break=gather_high",
                                        "M=12",
                                        "in_place=1",
                                        "sample=5",
                                        "break=misaligned_dw",
                                        NULL};
    require_list(op, SB_SMOKE, smoke);
    static const char *const arguments[] = {"M=4",
                                            "M=0",
                                            "N=4",
                                            "N=0",
                                            "M=24,ld_dy=16",
                                            "N=24,ld_x=8",
                                            "x_rows=29,gather=none",
                                            "tail=5,x_rows=30",
                                            "M=4,N=4,x_rows=29",
                                            "M=12,ld_dy=8",
                                            "M=4,break=descending",
                                            NULL};
    require_list(op, SB_ARGUMENTS, arguments);
    require(op, SB_SEED, "E=8,counts=equal");
    require(op, SB_SEED, "E=8,counts=skewed");
    require(op, SB_SEED, "E=128,counts=skewed");
}
END_TEST

/* ---- suites stay small -------------------------------------------------------------------------- */

START_TEST(smoke_is_small_and_touches_every_op)
{
    int all = 0;
    for (int o = 0; o < 5; o++) {
        const int here = count_cases(all_ops[o], SB_SMOKE, "");
        ck_assert_int_ge(here, 4);
        all += here;
        ck_assert_int_gt(count_cases(all_ops[o], SB_STANDARD, ""), 50);
    }
    ck_assert_int_ge(all, 40);
    ck_assert_int_le(all, 60);
}
END_TEST

/* A whole output of a production shape would be minutes or hours of a CPU. */
START_TEST(production_wgrad_is_sampled)
{
    const struct sb_op *op = &sb_op_wgrad_varlen_k;
    int production = 0;
    double before = 0;
    for (int i = 0; op->cases[i].call != NULL; i++) {
        const struct sb_case c = row_case(op, i);
        if ((c.suites & SB_PRODUCTION) == 0)
            continue;
        const double bytes =
            ((double)sb_case_int(&c, "M") + (double)sb_case_int(&c, "N")) * (double)sb_case_int(&c, "tokens") * 2;
        ck_assert_int_ge(sb_case_int(&c, "sample"), 64);
        ck_assert_msg(bytes >= before, "%s: the least work comes first", c.id);
        before = bytes;
        production++;
    }
    ck_assert_int_ge(production, 7);
}
END_TEST

static double wgrad_work(unsigned suites)
{
    double work = 0;
    const struct sb_op *op = &sb_op_wgrad_varlen_k;
    for (int i = 0; op->cases[i].call != NULL; i++) {
        const struct sb_case c = row_case(op, i);
        struct sb_segments s;
        struct sb_error err;
        ck_assert(sb_segments_make(&c, &s, &err));
        if ((c.suites & suites) != 0)
            work += (double)sb_case_int(&c, "M") * (double)sb_case_int(&c, "N") * (double)s.tokens;
    }
    return work;
}

START_TEST(wgrad_work_suits_the_plain_reference)
{
    ck_assert(wgrad_work(SB_STANDARD) < 4e9); /* multiply-adds */
    ck_assert(wgrad_work(SB_SEED) < 3e9);
    ck_assert(wgrad_work(SB_SMOKE) < 1e7);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("golden/ops cases");
    TCase *form = tcase_create("form");
    tcase_add_loop_test(form, rows_are_canonical_and_found_again, 0, 5);
    tcase_add_loop_test(form, rows_are_unique_and_have_reasons, 0, 5);
    tcase_add_loop_test(form, tables_fit_the_limits, 0, 5);
    tcase_add_test(form, packing_takes_the_routing_parameters_as_they_are);
    suite_add_tcase(suite, form);
    TCase *edges = tcase_create("edges");
    tcase_add_test(edges, the_search_itself_can_fail);
    tcase_add_loop_test(edges, every_choice_of_every_parameter_is_taken, 0, 5);
    tcase_add_test(edges, e8m0_edges);
    tcase_add_test(edges, histories_stand_in_the_adapters_order);
    tcase_add_test(edges, topk_edges);
    tcase_add_test(edges, scale_pack_edges);
    tcase_add_test(edges, metadata_pack_edges);
    tcase_add_test(edges, wgrad_edges);
    suite_add_tcase(suite, edges);
    TCase *size = tcase_create("size");
    tcase_add_test(size, smoke_is_small_and_touches_every_op);
    tcase_add_test(size, production_wgrad_is_sampled);
    tcase_add_test(size, wgrad_work_suits_the_plain_reference);
    suite_add_tcase(suite, size);
    return suite;
}
