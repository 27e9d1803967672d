/* Inputs and reference results of the cases: the same bytes every time, gaps and neighbours as promised, statuses. */
#include "check_main.h"
#include "../golden/ops.h"
#include "../golden/routing.h"
#include "../golden/scales.h"
#include "../golden/wgrad_segments.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const struct sb_op *const all_ops[] = {&sb_op_e8m0_upcast, &sb_op_topk_metadata, &sb_op_scale_pack,
                                              &sb_op_metadata_pack, &sb_op_wgrad_varlen_k};
static const struct sb_op_list ops = {all_ops, 5};

static struct sb_case parse(const char *id)
{
    struct sb_case c;
    struct sb_error err;
    ck_assert_msg(sb_case_parse(&c, &ops, id, &err), "%s", err.text);
    return c;
}

static void make_inputs(const struct sb_case *c, struct sb_data *d)
{
    struct sb_error err;
    ck_assert_msg(c->op->generate(c, d, &err), "%s: %s", c->id, err.text);
}

static void make(const struct sb_case *c, struct sb_data *d)
{
    struct sb_error err;
    make_inputs(c, d);
    ck_assert_msg(c->op->reference(c, d, &err), "%s: %s", c->id, err.text);
}

/* Cases that a test goes through one by one: none of the few that take long. */
static bool is_quick(const struct sb_case *c)
{
    if (c->op == &sb_op_e8m0_upcast)
        return true;
    if (c->op == &sb_op_wgrad_varlen_k) {
        struct sb_segments s;
        struct sb_error err;
        return sb_segments_make(c, &s, &err) && s.tokens * sb_case_int(c, "M") * sb_case_int(c, "N") < 10000000;
    }
    if (c->op == &sb_op_scale_pack)
        return (sb_case_int(c, "R") + sb_case_int(c, "N")) * sb_case_int(c, "cols") < 100000000;
    if (c->op == &sb_op_metadata_pack && sb_case_int(c, "N") * sb_case_int(c, "cols") > 10000000)
        return sb_routing_oversized(c);
    return sb_routing_oversized(c) || sb_case_int(c, "N") <= 10000;
}

/* ---- the same bytes every time ------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3); /* FNV-1a: finds a difference, no more is asked */
    return hash;
}

static uint64_t hash_tensors(uint64_t hash, const struct sb_tensor *t, int n)
{
    for (int i = 0; i < n; i++) {
        hash = mix(hash, t[i].shape, sizeof t[i].shape);
        if (t[i].data != NULL)
            hash = mix(hash, t[i].data, sb_tensor_span_bytes(&t[i])); /* gaps included */
    }
    return hash;
}

static uint64_t hash_case(const struct sb_case *c, bool with_reference)
{
    struct sb_data d;
    if (with_reference)
        make(c, &d);
    else
        make_inputs(c, &d);
    uint64_t hash = hash_tensors(UINT64_C(0xcbf29ce484222325), d.in, SB_MAX_TENSORS);
    hash = hash_tensors(hash, d.out, with_reference ? SB_MAX_TENSORS : 0);
    if (with_reference)
        hash = mix(hash, &d.status, sizeof d.status);
    sb_data_free(&d);
    return hash;
}

START_TEST(bytes_do_not_depend_on_threads)
{
    static const int threads[] = {1, 2, 7};
    const struct sb_op *op = all_ops[_i];
    for (int i = 0; op->cases[i].call != NULL; i++) {
        struct sb_case c;
        struct sb_error err;
        ck_assert(sb_case_from_row(&c, op, i, &err));
        if ((c.suites & SB_SMOKE) == 0)
            continue;
        const uint64_t first = hash_case(&c, true);
        for (int t = 0; t < 3; t++) {
            omp_set_num_threads(threads[t]);
            ck_assert_msg(hash_case(&c, true) == first, "%s with %d threads", c.id, threads[t]);
        }
    }
}
END_TEST

/* Large enough to be made in parallel. */
static const char *const large_ids[] = {
    "e8m0_upcast/shape=1025x257,semantics=torch,out_dtype=bf16,row_stride=260,dist=bytes",
    "topk_metadata/N=21725,topk=2,E=8,idx=i32,route=skewed",
    "topk_metadata/N=20000,topk=8,E=256,route=invalid,prob=special",
    "topk_metadata/N=20000,topk=4,E=16,route=block_plus",
    "scale_pack/N=2000,cols=2880,carrier=i32,gather=random,row_stride=100",
    "scale_pack/N=2000,cols=4096,R=40000,carrier=i32x4,gather=random",
    "metadata_pack/N=3000,topk=8,E=32,cols=1024,carrier=i8",
    "wgrad_varlen_k/M=256,N=384,E=4,counts=skewed,tokens=900,accumulate=1,grad=special,dist=cancel",
};

START_TEST(large_inputs_do_not_depend_on_threads)
{
    static const int threads[] = {1, 2, 7};
    const struct sb_case c = parse(large_ids[_i]);
    const uint64_t first = hash_case(&c, false);
    for (int t = 0; t < 3; t++) {
        omp_set_num_threads(threads[t]);
        ck_assert_uint_eq(hash_case(&c, false), first);
    }
}
END_TEST

START_TEST(another_id_gives_other_bytes)
{
    const struct sb_case a = parse("scale_pack/N=129,cols=256"), b = parse("scale_pack/N=129,cols=256,fill=2");
    struct sb_data x, y;
    make(&a, &x);
    make(&b, &y);
    ck_assert_mem_ne(x.in[0].data, y.in[0].data, sb_tensor_span_bytes(&x.in[0]));
    sb_data_free(&x);
    sb_data_free(&y);
}
END_TEST

/* Computed by another implementation (Python integers) from the id alone. They are part of the generator's name,
 * philox4x32-10/1, and change only with it. */
START_TEST(first_bytes_are_pinned)
{
    struct sb_data d;
    struct sb_case c = parse("scale_pack/N=129,cols=256");
    make_inputs(&c, &d);
    const uint8_t *raw = d.in[0].data;
    ck_assert_uint_eq((uint32_t)raw[3] << 24 | (uint32_t)raw[2] << 16 | (uint32_t)raw[1] << 8 | raw[0], 0x64de0537u);
    sb_data_free(&d);
    c = parse("topk_metadata/N=65,topk=4,E=100");
    make_inputs(&c, &d);
    const int64_t *ids = d.in[SB_IN_TOPK_IDX].data;
    const uint32_t *prob = d.in[SB_IN_TOPK_PROB].data;
    ck_assert_int_eq(ids[0], 15);
    ck_assert_int_eq(ids[1], 31);
    ck_assert_uint_eq(prob[0], 0x3e548038u);
    sb_data_free(&d);
    c = parse("wgrad_varlen_k/M=8,N=8,E=1,counts=4");
    make_inputs(&c, &d);
    ck_assert_uint_eq(((const uint16_t *)d.in[0].data)[0], 0xbf15u);
    ck_assert_uint_eq(((const uint16_t *)d.in[1].data)[0], 0xbf8du);
    sb_data_free(&d);
}
END_TEST

/* ---- layout of inputs --------------------------------------------------------------------------- */

/* Every byte of the span is either an element's or SB_GAP_BYTE. */
static int64_t count_gap_bytes(const struct sb_tensor *t)
{
    const size_t size = sb_dtype_size(t->dtype), bytes = sb_tensor_span_bytes(t);
    uint8_t *covered = calloc(bytes + 1, 1);
    ck_assert_ptr_nonnull(covered);
    for (int64_t i = 0; i < sb_tensor_count(t); i++)
        memset(covered + (size_t)sb_tensor_offset(t, i) * size, 1, size);
    int64_t gaps = 0;
    for (size_t b = 0; b < bytes; b++) {
        if (covered[b])
            continue;
        gaps++;
        ck_assert_uint_eq(((const uint8_t *)t->data)[b], SB_GAP_BYTE);
    }
    free(covered);
    return gaps;
}

struct strided {
    const char *id;
    int input;
    int64_t row_stride, col_stride, gap_bytes;
};

static const struct strided strided[] = {
    {"e8m0_upcast/shape=5x32,semantics=shift,row_stride=48", 0, 48, 0, 64},
    {"e8m0_upcast/shape=2x3x4x10,semantics=te,row_stride=16", 0, 16, 0, 138},
    {"scale_pack/N=70,cols=224,row_stride=9", 0, 9, 1, 138},
    {"scale_pack/N=70,cols=224,row_stride=1,col_stride=73", 0, 1, 73, 18},
    {"scale_pack/N=70,cols=224,carrier=i32,col_stride=2", 0, 14, 2, 1956},
    {"scale_pack/N=129,cols=512,carrier=i32x4,row_stride=9,col_stride=2", 0, 9, 2, 2572},
    {"scale_pack/N=40,cols=224,row_stride=3", 0, 3, 1, 0},
    {"metadata_pack/N=70,topk=4,E=8,cols=224,row_stride=9", 3, 9, 1, 138},
    {"wgrad_varlen_k/M=40,N=24,E=2,counts=50+31,ld_dy=48,ld_x=64", 0, 48, 0, 1280},
    {"wgrad_varlen_k/M=40,N=24,E=2,counts=50+31,ld_dy=48,ld_x=64", 1, 64, 0, 6400},
};

START_TEST(strided_inputs_have_marked_gaps)
{
    const struct strided *s = &strided[_i];
    const struct sb_case c = parse(s->id);
    struct sb_data d;
    make_inputs(&c, &d);
    ck_assert_int_eq(d.in[s->input].row_stride, s->row_stride);
    ck_assert_int_eq(d.in[s->input].col_stride, s->col_stride);
    ck_assert_int_eq(count_gap_bytes(&d.in[s->input]), s->gap_bytes);
    sb_data_free(&d);
}
END_TEST

START_TEST(strides_do_not_change_what_is_drawn_per_element)
{
    /* A row drawn alone, without its neighbours: the element's index decides, not its place. */
    const struct sb_case c = parse("scale_pack/N=70,cols=224,row_stride=9");
    struct sb_data d;
    make_inputs(&c, &d);
    const struct sb_rng rng = {c.seed, 1};
    for (int64_t i = 0; i < 490; i++)
        ck_assert_uint_eq(((const uint8_t *)d.in[0].data)[i / 7 * 9 + i % 7],
                          sb_scale_draw(SB_SCALE_BYTES, &rng, (uint64_t)i));
    sb_data_free(&d);
}
END_TEST

START_TEST(where_rows_overlap_the_place_decides)
{
    const struct sb_case c = parse("scale_pack/N=40,cols=224,row_stride=3");
    struct sb_data d;
    make_inputs(&c, &d);
    const struct sb_rng rng = {c.seed, 1};
    for (int64_t i = 0; i < sb_tensor_span(&d.in[0]); i++)
        ck_assert_uint_eq(((const uint8_t *)d.in[0].data)[i], sb_scale_draw(SB_SCALE_BYTES, &rng, (uint64_t)i));
    sb_data_free(&d);
}
END_TEST

START_TEST(words_carry_garbage_above_the_scale)
{
    const struct sb_case c = parse("scale_pack/N=129,cols=256,carrier=i32,dist=ramp");
    struct sb_data d;
    uint32_t seen = 0;
    make_inputs(&c, &d);
    for (int64_t i = 0; i < 129 * 8; i++) {
        const uint32_t word = ((const uint32_t *)d.in[0].data)[i];
        ck_assert_uint_eq(word & 0xFFu, (uint32_t)i & 0xFFu);
        seen |= word;
    }
    ck_assert_uint_eq(seen, UINT32_MAX);
    sb_data_free(&d);
}
END_TEST

START_TEST(four_scales_a_word_lowest_column_lowest)
{
    const struct sb_case c = parse("scale_pack/N=129,cols=256,carrier=i32x4,dist=ramp");
    struct sb_data d;
    make_inputs(&c, &d);
    ck_assert_int_eq(d.in[0].shape[1], 2);
    ck_assert_uint_eq(((const uint32_t *)d.in[0].data)[0], 0x03020100u);
    ck_assert_uint_eq(((const uint32_t *)d.in[0].data)[65], 0x07060504u);
    sb_data_free(&d);
}
END_TEST

START_TEST(overlap_is_seen)
{
    ck_assert(!sb_strides_may_overlap(70, 7, 7, 1));
    ck_assert(!sb_strides_may_overlap(70, 7, 9, 1));
    ck_assert(!sb_strides_may_overlap(70, 7, 1, 70));
    ck_assert(!sb_strides_may_overlap(1, 7, 0, 1));
    ck_assert(sb_strides_may_overlap(70, 7, 6, 1));
    ck_assert(sb_strides_may_overlap(70, 7, 1, 69));
    ck_assert(sb_strides_may_overlap(2, 1, 0, 1));
}
END_TEST

static bool is_poison(uint16_t bits)
{
    return (bits & 0x7F80u) == 0x7F80u;
}

START_TEST(rows_outside_the_segments_are_poisoned)
{
    const struct sb_case c =
        parse("wgrad_varlen_k/M=16,N=24,E=3,counts=33+0+47,first=6,tail=40,x_rows=64,gather=random");
    struct sb_data d;
    bool named[64] = {false};
    make_inputs(&c, &d);
    const int32_t *gather = d.in[3].data;
    ck_assert_int_eq(d.in[0].shape[0], 126);
    for (int64_t k = 0; k < 126; k++) {
        const bool own = k >= 6 && k < 86;
        ck_assert_int_eq(gather[k] >= 0 && gather[k] < 64, own);
        if (own)
            named[gather[k]] = true;
        for (int64_t m = 0; m < 16; m++)
            ck_assert_int_eq(is_poison(((const uint16_t *)d.in[0].data)[k * 16 + m]), !own);
    }
    int poisoned = 0;
    for (int64_t row = 0; row < 64; row++) {
        poisoned += !named[row];
        for (int64_t n = 0; n < 24; n++)
            ck_assert_int_eq(is_poison(((const uint16_t *)d.in[1].data)[row * 24 + n]), !named[row]);
    }
    ck_assert_int_gt(poisoned, 5);
    sb_data_free(&d);
}
END_TEST

START_TEST(segments_are_those_asked_for)
{
    struct sb_segments s;
    struct sb_error err;
    struct sb_case c = parse("wgrad_varlen_k/M=8,N=8,E=6,counts=162+0+2577+446+0+83,first=5,tail=9");
    ck_assert(sb_segments_make(&c, &s, &err));
    const int64_t expected[] = {5, 167, 167, 2744, 3190, 3190, 3273};
    ck_assert_mem_eq(s.cu, expected, sizeof expected);
    ck_assert_int_eq(s.T, 3282);
    const char *const patterns[] = {"equal", "skewed", "hot", "ends_empty"};
    for (int p = 0; p < 4; p++) {
        char id[128];
        snprintf(id, sizeof id, "wgrad_varlen_k/M=8,N=8,E=128,counts=%s,tokens=2080", patterns[p]);
        c = parse(id);
        ck_assert(sb_segments_make(&c, &s, &err));
        ck_assert_int_eq(s.tokens, 2080);
        int64_t largest = 0, empty = 0;
        for (int64_t e = 0; e < 128; e++) {
            const int64_t length = s.cu[e + 1] - s.cu[e];
            ck_assert_int_ge(length, 0);
            largest = length > largest ? length : largest;
            empty += length == 0;
        }
        if (p == 0)
            ck_assert_int_eq(largest, 17);
        if (p == 1)
            ck_assert(largest > 40 && empty > 5);
        if (p == 2)
            ck_assert_int_ge(largest, 1820);
        if (p == 3)
            ck_assert(empty == 3 && s.cu[1] == s.cu[0] && s.cu[65] == s.cu[64] && s.cu[128] == s.cu[127]);
    }
}
END_TEST

/* ---- statuses ----------------------------------------------------------------------------------- */

START_TEST(a_case_is_rejected_exactly_where_its_reason_says_so)
{
    const struct sb_op *op = all_ops[_i];
    for (int i = 0; op->cases[i].call != NULL; i++) {
        struct sb_case c;
        struct sb_data d;
        struct sb_error err;
        ck_assert(sb_case_from_row(&c, op, i, &err));
        if (!is_quick(&c))
            continue;
        make(&c, &d);
        const bool said = strncmp(c.reason, "rejected:", 9) == 0;
        ck_assert_msg(said == (d.status.code != SB_OK), "%s: %s", c.id, sb_code_name((enum sb_code)d.status.code));
        if (d.status.code == SB_BAD_ARGUMENT)
            ck_assert_msg(c.suites == SB_ARGUMENTS, "%s: its arguments alone are wrong", c.id);
        for (int o = 0; o < sb_op_output_count(op); o++) {
            ck_assert_str_eq(d.out[o].name, op->outputs[o].name);
            ck_assert_int_eq(d.out[o].data == NULL, said);
        }
        for (int n = 0; n < sb_op_input_count(op); n++) {
            ck_assert_str_eq(d.in[n].name, op->inputs[n].name);
            ck_assert(d.in[n].data != NULL || op->inputs[n].optional);
        }
        sb_data_free(&d);
    }
}
END_TEST

/* Takes the arrays away: whoever reads one now crashes. */
START_TEST(arguments_alone_decide_in_their_suite)
{
    const struct sb_op *op = all_ops[_i];
    int tried = 0;
    for (int i = 0; op->cases[i].call != NULL; i++) {
        struct sb_case c;
        struct sb_data d;
        struct sb_error err;
        if ((op->cases[i].suites & SB_ARGUMENTS) == 0)
            continue;
        ck_assert(sb_case_from_row(&c, op, i, &err));
        make(&c, &d);
        const struct sb_status status = d.status;
        ck_assert_msg(status.code == SB_BAD_ARGUMENT || status.code == SB_TOO_LARGE, "%s", c.id);
        sb_tensors_free(d.in, SB_MAX_TENSORS);
        sb_tensors_free(d.out, SB_MAX_TENSORS);
        ck_assert(op->reference(&c, &d, &err));
        ck_assert_mem_eq(&d.status, &status, sizeof status);
        sb_data_free(&d);
        tried++;
    }
    ck_assert_int_ge(tried, 3);
}
END_TEST

struct misaligned {
    const char *id;
    bool output;
    int index, bytes;
};

static const struct misaligned misaligned[] = {
    {"e8m0_upcast/shape=9,semantics=te", false, 0, 0},
    {"e8m0_upcast/shape=9,semantics=te,misalign=13", false, 0, 13},
    {"e8m0_upcast/shape=9,semantics=te,misalign=13", true, 0, 0},
    {"e8m0_upcast/shape=9,semantics=te,misalign_out=12", true, 0, 12},
    {"e8m0_upcast/shape=9,semantics=te,misalign_out=12", false, 0, 0},
    {"e8m0_upcast/shape=9,semantics=te,out_dtype=bf16,misalign_out=14", true, 0, 14},
    {"scale_pack/N=9,cols=64,gather=random,misalign=3", false, 0, 3},
    {"scale_pack/N=9,cols=64,gather=random,misalign=3", false, 1, 0},
    {"scale_pack/N=9,cols=64,gather=random,misalign=3", true, 0, 0},
    {"metadata_pack/N=9,topk=2,E=4,cols=64,carrier=i32,misalign=8", false, 3, 8},
    {"metadata_pack/N=9,topk=2,E=4,cols=64,carrier=i32,misalign=8", false, 0, 0},
    {"metadata_pack/N=9,topk=2,E=4,cols=64,carrier=i32,misalign=8", true, 3, 0},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=4", false, 0, 0},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=4,break=misaligned_dy", false, 0, 8},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=4,break=misaligned_dy", false, 1, 0},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=4,break=misaligned_x", false, 1, 8},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=4,break=misaligned_dw", true, 0, 8},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=4,break=misaligned_dw", false, 0, 0},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=4,accumulate=1,break=misaligned_main_grad", false, 4, 8},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=4,accumulate=1,break=misaligned_main_grad", true, 0, 0},
};

START_TEST(the_misaligned_tensor_is_the_one_named)
{
    const struct misaligned *m = &misaligned[_i];
    const struct sb_case c = parse(m->id);
    ck_assert_int_eq(c.op->misalign(&c, m->output, m->index), m->bytes);
}
END_TEST

/* Implementations are given these as numbers. */
START_TEST(numbers_of_scenarios_stay)
{
    struct sb_case c = parse("e8m0_upcast/shape=1,semantics=te,history=updated");
    ck_assert_int_eq(sb_case_int(&c, "history"), 1);
    c = parse("e8m0_upcast/shape=1,semantics=te,history=reused");
    ck_assert_int_eq(sb_case_int(&c, "history"), 2);
    c = parse("wgrad_varlen_k/M=8,N=8,E=1,counts=4,accumulate=1,in_place=1");
    ck_assert_int_eq(sb_case_int(&c, "in_place"), 1);
}
END_TEST

START_TEST(where_dw_lies_does_not_change_it)
{
    struct sb_case c = parse("wgrad_varlen_k/M=16,N=16,E=4,counts=0+35+0+18,accumulate=1,in_place=1,grad=special");
    struct sb_data a, b;
    struct sb_error err;
    make(&c, &a);
    make_inputs(&c, &b);
    for (int i = 0; c.op->params[i].name != NULL; i++)
        if (strcmp(c.op->params[i].name, "in_place") == 0)
            c.param[i].value = 0;
    ck_assert(c.op->reference(&c, &b, &err));
    ck_assert_int_eq(a.status.code, SB_OK);
    ck_assert_mem_eq(a.out[0].data, b.out[0].data, sb_tensor_span_bytes(&a.out[0]));
    sb_data_free(&a);
    sb_data_free(&b);
}
END_TEST

struct verdict {
    const char *id;
    enum sb_code code;
    int64_t where[3];
};

static const struct verdict verdicts[] = {
    {"e8m0_upcast/shape=4x32,semantics=shift,row_stride=16", SB_BAD_ARGUMENT, {1, 16, 0}},
    {"topk_metadata/N=150,topk=4,E=10,counts=wrong,route=none", SB_COUNT_MISMATCH, {5, 1, 0}},
    {"topk_metadata/N=0,topk=4,E=10,counts=wrong", SB_COUNT_MISMATCH, {5, 1, 0}},
    {"topk_metadata/N=128,topk=8,E=8,counts=wrong", SB_COUNT_MISMATCH, {4, 129, 128}},
    {"topk_metadata/N=128,topk=8,E=8,counts=wrong,counts_align=100", SB_COUNT_MISMATCH, {4, 201, 128}},
    {"topk_metadata/N=128,topk=8,E=8,counts=short", SB_COUNT_MISMATCH, {7, 127, 128}},
    {"topk_metadata/N=333,topk=8,E=64,route=duplicate_last", SB_DUPLICATE_EXPERT, {332, 0, 7}},
    {"topk_metadata/N=1,topk=2,E=1,route=duplicate", SB_DUPLICATE_EXPERT, {0, 0, 1}},
    {"topk_metadata/N=65,topk=4,E=100,route=duplicate_nested", SB_DUPLICATE_EXPERT, {32, 0, 3}},
    {"topk_metadata/N=65,topk=4,E=100,order=slot,route=duplicate_nested", SB_DUPLICATE_EXPERT, {32, 0, 3}},
    {"topk_metadata/N=333,topk=8,E=64,idx=i32,order=slot,route=duplicate_nested", SB_DUPLICATE_EXPERT, {166, 0, 7}},
    {"topk_metadata/N=65,topk=4,E=100,route=duplicate_adjacent", SB_DUPLICATE_EXPERT, {32, 1, 2}},
    {"topk_metadata/N=10,topk=33,E=1025", SB_BAD_ARGUMENT, {2, 33, 0}},
    {"topk_metadata/N=268435456,topk=33,E=8", SB_BAD_ARGUMENT, {2, 33, 0}},
    {"topk_metadata/N=10,topk=33,E=64", SB_BAD_ARGUMENT, {2, 33, 0}},
    {"topk_metadata/N=10,topk=4,E=1025", SB_BAD_ARGUMENT, {3, 1025, 0}},
    {"topk_metadata/N=10,topk=4,E=8,block=96", SB_BAD_ARGUMENT, {4, 96, 0}},
    {"topk_metadata/N=10,topk=4,E=8,counts_align=0", SB_BAD_ARGUMENT, {5, 0, 0}},
    {"topk_metadata/N=268435456,topk=8,E=8", SB_TOO_LARGE, {INT64_C(1) << 31, INT32_MAX, 0}},
    {"scale_pack/N=50,cols=128,R=60,gather=outside", SB_GATHER_RANGE, {30, 50, 50}},
    {"scale_pack/N=50,cols=128,R=300,carrier=i32,gather=negative", SB_GATHER_RANGE, {150, -1, 50}},
    {"scale_pack/N=50,cols=128,R=1000,carrier=i8,gather=outside_last", SB_GATHER_RANGE, {999, 50, 50}},
    {"scale_pack/N=0,cols=64,R=4,gather=row0", SB_GATHER_RANGE, {0, 0, 0}},
    {"scale_pack/N=20,cols=2880,carrier=i32x4", SB_CARRIER_WIDTH, {90, 4, 0}},
    {"scale_pack/N=20,cols=1,carrier=i32x4", SB_CARRIER_WIDTH, {1, 4, 0}},
    {"scale_pack/N=50,cols=96,R=60,carrier=i32x4,gather=outside", SB_CARRIER_WIDTH, {3, 4, 0}},
    {"scale_pack/N=7,cols=96,R=5,carrier=i32x4", SB_BAD_ARGUMENT, {5, 5, 0}},
    {"scale_pack/N=7,cols=64,R=5", SB_BAD_ARGUMENT, {5, 5, 0}},
    {"scale_pack/N=20,cols=0", SB_BAD_ARGUMENT, {2, 0, 0}},
    {"metadata_pack/N=20,topk=4,E=8,cols=96,carrier=i32x4", SB_CARRIER_WIDTH, {3, 4, 0}},
    {"metadata_pack/N=333,topk=8,E=64,route=duplicate_last,cols=64", SB_DUPLICATE_EXPERT, {332, 0, 7}},
    {"metadata_pack/N=268435456,topk=8,E=8,cols=128", SB_TOO_LARGE, {INT64_C(1) << 31, INT32_MAX, 0}},
    {"wgrad_varlen_k/M=24,N=24,E=4,counts=10+20+30+40,break=descending", SB_SEGMENT_ORDER, {2, 30, 29}},
    {"wgrad_varlen_k/M=24,N=24,E=4,counts=10+20+30+40,break=negative_start", SB_SEGMENT_ORDER, {0, -1, 0}},
    {"wgrad_varlen_k/M=24,N=24,E=4,counts=10+20+30+40,break=past_end", SB_SEGMENT_ORDER, {4, 101, 100}},
    {"wgrad_varlen_k/M=24,N=24,E=3,counts=10+20+30,gather=random,break=gather_high", SB_GATHER_RANGE, {30, 60, 60}},
    {"wgrad_varlen_k/M=24,N=24,E=3,counts=10+20+30,first=4,tail=9,gather=random,break=gather_negative",
     SB_GATHER_RANGE,
     {34, -1, 73}},
    {"metadata_pack/N=20,topk=33,E=64,cols=0", SB_BAD_ARGUMENT, {2, 33, 0}},
    {"metadata_pack/N=268435456,topk=8,E=8,cols=0", SB_TOO_LARGE, {INT64_C(1) << 31, INT32_MAX, 0}},
    {"wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,break=misaligned_dy", SB_ALIGNMENT, {5, 8, 16}},
    {"wgrad_varlen_k/M=24,N=24,E=2,counts=empty,break=misaligned_dy", SB_ALIGNMENT, {5, 8, 16}},
    {"wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,gather=random,break=misaligned_x", SB_ALIGNMENT, {6, 8, 16}},
    {"wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,out_dtype=bf16,break=misaligned_dw", SB_ALIGNMENT, {7, 8, 16}},
    {"wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,accumulate=1,break=misaligned_main_grad", SB_ALIGNMENT, {8, 8, 16}},
    {"wgrad_varlen_k/M=24,N=20,E=2,counts=10+20,break=misaligned_dy", SB_ALIGNMENT, {2, 20, 8}},
    {"wgrad_varlen_k/M=12,N=24,E=2,counts=10+20,ld_dy=8", SB_BAD_ARGUMENT, {6, 8, 0}},
    {"wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,tail=5,x_rows=30", SB_BAD_ARGUMENT, {2, 30, 0}},
    {"wgrad_varlen_k/M=12,N=24,E=2,counts=10+20", SB_ALIGNMENT, {1, 12, 8}},
    {"wgrad_varlen_k/M=24,N=20,E=2,counts=10+20", SB_ALIGNMENT, {2, 20, 8}},
    {"wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,ld_dy=28", SB_ALIGNMENT, {3, 28, 8}},
    {"wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,ld_x=25", SB_ALIGNMENT, {4, 25, 8}},
    {"wgrad_varlen_k/M=4,N=24,E=2,counts=10+20", SB_BAD_ARGUMENT, {3, 4, 0}},
    {"wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,ld_dy=16", SB_BAD_ARGUMENT, {6, 16, 0}},
    {"wgrad_varlen_k/M=24,N=24,E=2,counts=10+20,x_rows=29", SB_BAD_ARGUMENT, {2, 29, 0}},
};

START_TEST(a_rejection_names_its_place)
{
    const struct verdict *v = &verdicts[_i];
    const struct sb_case c = parse(v->id);
    struct sb_data d;
    make(&c, &d);
    ck_assert_str_eq(sb_code_name((enum sb_code)d.status.code), sb_code_name(v->code));
    ck_assert_int_eq(d.status.where[0], v->where[0]);
    ck_assert_int_eq(d.status.where[1], v->where[1]);
    ck_assert_int_eq(d.status.where[2], v->where[2]);
    ck_assert_int_eq(d.status.reserved, 0);
    sb_data_free(&d);
}
END_TEST

START_TEST(a_rejected_call_describes_its_largest_outputs)
{
    struct sb_case c = parse("metadata_pack/N=65,topk=4,E=100,route=duplicate,cols=128");
    struct sb_data d;
    make(&c, &d);
    ck_assert_int_eq(d.out[SB_OUT_EXPERT_OFFSET].shape[0], 101);
    ck_assert_int_eq(d.out[SB_OUT_X_GATHER_IDX].shape[0], 65 * 4 + 100 * 127);
    ck_assert_int_eq(d.out[SB_OUT_SCORE_SRC_IDX].shape[0], 65 * 4);
    ck_assert_int_eq(d.out[SB_OUT_TOKEN_OFFSET].shape[0], 66);
    ck_assert_int_eq(d.out[SB_ROUTING_OUTPUTS].shape[1], (65 * 4 + 100 * 127 + 127) / 128 * 512);
    sb_data_free(&d);
    c = parse("wgrad_varlen_k/M=24,N=32,E=2,counts=10+20,break=past_end");
    make(&c, &d);
    ck_assert_int_eq(d.out[0].rank, 3);
    ck_assert_int_eq(sb_tensor_count(&d.out[0]), 2 * 24 * 32);
    ck_assert_ptr_null(d.out[0].data);
    sb_data_free(&d);
}
END_TEST

START_TEST(invalid_ids_are_counted)
{
    const struct sb_case c = parse("topk_metadata/N=90,topk=6,E=24,route=invalid");
    struct sb_data d;
    int64_t invalid = 0;
    make(&c, &d);
    for (int64_t i = 0; i < 540; i++) {
        const int64_t id = ((const int64_t *)d.in[SB_IN_TOPK_IDX].data)[i];
        invalid += id < -1 || id >= 24;
    }
    ck_assert_int_gt(invalid, 100);
    ck_assert_int_eq(d.status.ignored, invalid);
    sb_data_free(&d);
}
END_TEST

/* ---- relations ---------------------------------------------------------------------------------- */

static bool relate(const struct sb_case *c, const struct sb_data *d, const struct sb_tensor *out, char *why)
{
    return c->op->relations(c, d, out, why, 256);
}

START_TEST(the_reference_satisfies_the_relations)
{
    const struct sb_op *op = _i == 0 ? &sb_op_topk_metadata : &sb_op_metadata_pack;
    int related = 0;
    for (int i = 0; op->cases[i].call != NULL; i++) {
        struct sb_case c;
        struct sb_data d;
        struct sb_error err;
        char why[256] = "";
        ck_assert(sb_case_from_row(&c, op, i, &err));
        if (!is_quick(&c))
            continue;
        make(&c, &d);
        const bool holds = relate(&c, &d, d.out, why);
        ck_assert_msg(holds == (d.status.code == SB_OK), "%s: %s", c.id, why);
        related += holds;
        sb_data_free(&d);
    }
    ck_assert_int_gt(related, 40);
}
END_TEST

START_TEST(the_other_order_satisfies_the_relations_too)
{
    const struct sb_case expert = parse("metadata_pack/N=120,topk=8,E=40,route=descending,cols=96");
    struct sb_case slot = expert;
    struct sb_data a, b;
    struct sb_error err;
    char why[256] = "";
    make(&expert, &a);
    make_inputs(&expert, &b); /* the same inputs, the other order */
    for (int i = 0; slot.op->params[i].name != NULL; i++)
        if (strcmp(slot.op->params[i].name, "order") == 0)
            slot.param[i].value = SB_ORDER_SLOT;
    ck_assert(slot.op->reference(&slot, &b, &err));
    ck_assert_mem_ne(a.out[SB_OUT_S_SCATTER_IDX].data, b.out[SB_OUT_S_SCATTER_IDX].data,
                     sb_tensor_span_bytes(&a.out[SB_OUT_S_SCATTER_IDX]));
    ck_assert_msg(relate(&slot, &b, b.out, why), "%s", why);
    ck_assert_mem_eq(a.out[SB_ROUTING_OUTPUTS].data, b.out[SB_ROUTING_OUTPUTS].data,
                     sb_tensor_span_bytes(&a.out[SB_ROUTING_OUTPUTS]));
    sb_data_free(&a);
    sb_data_free(&b);
}
END_TEST

/* One element of one output changed: which, and what the message has to speak of ("": anything). */
static const int faulty_outputs[] = {SB_OUT_EXPERT_OFFSET,         SB_OUT_X_GATHER_IDX, SB_OUT_S_SCATTER_IDX,
                                     SB_OUT_S_REVERSE_SCATTER_IDX, SB_OUT_TOKEN_OFFSET, SB_OUT_TOPK_SCORE,
                                     SB_OUT_SCORE_SRC_IDX,         SB_ROUTING_OUTPUTS};

START_TEST(a_changed_output_violates_the_relations)
{
    const struct sb_case c = parse("metadata_pack/N=45,topk=4,E=6,block=16,route=holes,cols=256,fill=127");
    struct sb_data d;
    char why[256] = "";
    make(&c, &d);
    ck_assert_msg(relate(&c, &d, d.out, why), "%s", why);
    ((uint8_t *)d.out[faulty_outputs[_i]].data)[4] ^= 1;
    ck_assert(!relate(&c, &d, d.out, why));
    ck_assert_str_ne(why, "");
    sb_data_free(&d);
}
END_TEST

START_TEST(a_missing_or_misshapen_output_is_no_relation)
{
    const struct sb_case c = parse("topk_metadata/N=65,topk=4,E=100");
    struct sb_data d;
    struct sb_tensor out[SB_MAX_TENSORS];
    char why[256] = "";
    make(&c, &d);
    memcpy(out, d.out, sizeof out);
    out[SB_OUT_TOPK_SCORE].data = NULL;
    ck_assert(!relate(&c, &d, out, why));
    ck_assert_ptr_nonnull(strstr(why, "topk_score"));
    memcpy(out, d.out, sizeof out);
    out[SB_OUT_X_GATHER_IDX].shape[0]--;
    ck_assert(!relate(&c, &d, out, why));
    ck_assert_ptr_nonnull(strstr(why, "x_gather_idx"));
    memcpy(out, d.out, sizeof out);
    out[SB_OUT_TK].dtype = SB_I32;
    ck_assert(!relate(&c, &d, out, why));
    sb_data_free(&d);
}
END_TEST

/* ---- known answers ------------------------------------------------------------------------------ */

START_TEST(every_token_on_every_expert_at_production_size)
{
    const struct sb_case c = parse("topk_metadata/N=116000,topk=8,E=8");
    struct sb_data d;
    make(&c, &d);
    ck_assert_int_eq(*(const int64_t *)d.out[SB_OUT_TK].data, 928000);
    ck_assert_int_eq(*(const int64_t *)d.out[SB_OUT_TKP].data, 928768);
    ck_assert_int_eq(*(const int64_t *)d.out[SB_OUT_PAD_ROWS].data, 768);
    struct sb_tensor packed;
    sb_packed_describe(&packed, 928768, 7168);
    ck_assert_int_eq(packed.shape[0], 1);
    ck_assert_int_eq(packed.shape[1], 208044032);
    sb_data_free(&d);
}
END_TEST

START_TEST(wgrad_outputs_are_informative)
{
    /* Each distribution on the case that stands for it: not all zero, not all NaN or Inf. */
    char id[128];
    struct sb_data d;
    snprintf(id, sizeof id, "wgrad_varlen_k/M=16,N=16,E=3,counts=20+0+33,dist=%s", sb_bf16_dist_names[_i]);
    const struct sb_case c = parse(id);
    make(&c, &d);
    int64_t ordinary = 0, zero = 0;
    for (int64_t i = 0; i < 3 * 256; i++) {
        const uint32_t bits = ((const uint32_t *)d.out[0].data)[i];
        zero += bits == 0;
        ordinary += bits != 0 && (bits & 0x7F800000u) != 0x7F800000u;
    }
    ck_assert_int_ge(zero, 256); /* the empty expert */
    if (strcmp(sb_bf16_dist_names[_i], "bits") != 0 && strcmp(sb_bf16_dist_names[_i], "wide") != 0)
        ck_assert_int_gt(ordinary, 100);
    sb_data_free(&d);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("golden/ops data");
    TCase *same = tcase_create("same");
    tcase_add_loop_test(same, bytes_do_not_depend_on_threads, 0, 5);
    tcase_add_loop_test(same, large_inputs_do_not_depend_on_threads, 0, sizeof large_ids / sizeof large_ids[0]);
    tcase_add_test(same, another_id_gives_other_bytes);
    tcase_add_test(same, first_bytes_are_pinned);
    suite_add_tcase(suite, same);
    TCase *layout = tcase_create("layout");
    tcase_add_loop_test(layout, strided_inputs_have_marked_gaps, 0, sizeof strided / sizeof strided[0]);
    tcase_add_test(layout, strides_do_not_change_what_is_drawn_per_element);
    tcase_add_test(layout, where_rows_overlap_the_place_decides);
    tcase_add_test(layout, words_carry_garbage_above_the_scale);
    tcase_add_test(layout, four_scales_a_word_lowest_column_lowest);
    tcase_add_test(layout, overlap_is_seen);
    tcase_add_test(layout, rows_outside_the_segments_are_poisoned);
    tcase_add_test(layout, segments_are_those_asked_for);
    suite_add_tcase(suite, layout);
    TCase *status = tcase_create("status");
    tcase_add_loop_test(status, a_case_is_rejected_exactly_where_its_reason_says_so, 0, 5);
    tcase_add_loop_test(status, arguments_alone_decide_in_their_suite, 0, 5);
    tcase_add_loop_test(status, the_misaligned_tensor_is_the_one_named, 0, sizeof misaligned / sizeof misaligned[0]);
    tcase_add_test(status, numbers_of_scenarios_stay);
    tcase_add_test(status, where_dw_lies_does_not_change_it);
    tcase_add_loop_test(status, a_rejection_names_its_place, 0, sizeof verdicts / sizeof verdicts[0]);
    tcase_add_test(status, a_rejected_call_describes_its_largest_outputs);
    tcase_add_test(status, invalid_ids_are_counted);
    suite_add_tcase(suite, status);
    TCase *relations = tcase_create("relations");
    tcase_add_loop_test(relations, the_reference_satisfies_the_relations, 0, 2);
    tcase_add_test(relations, the_other_order_satisfies_the_relations_too);
    tcase_add_loop_test(relations, a_changed_output_violates_the_relations, 0,
                        sizeof faulty_outputs / sizeof faulty_outputs[0]);
    tcase_add_test(relations, a_missing_or_misshapen_output_is_no_relation);
    suite_add_tcase(suite, relations);
    TCase *known = tcase_create("known");
    tcase_add_test(known, every_token_on_every_expert_at_production_size);
    tcase_add_loop_test(known, wgrad_outputs_are_informative, 0, SB_DIST_COUNT);
    suite_add_tcase(suite, known);
    return suite;
}
