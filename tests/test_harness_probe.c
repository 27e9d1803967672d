/* The probe: planted arithmetics must be found, made small and named; what did not run must not read as a pass. */
#include "../harness/probe_report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../harness/probe_capture.h"
#include "../harness/probe_files.h"
#include "../harness/probe_replay.h"
#include "../harness/probe_wgrad.h"
#include "../ref/tc_model.h"

#include "check_main.h"

#define ASSERT_HAS(text, part) ck_assert_msg(strstr(text, part) != NULL, "'%s' lacks '%s'", text, part)

static const struct sb_probe_impl *impl_called(const char *name)
{
    int count;
    const struct sb_probe_impl *impl = sb_probe_impls(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(impl[i].name, name) == 0)
            return &impl[i];
    ck_abort_msg("no implementation %s", name);
}

/* Runs one implementation on all classes; free the outcome. */
static struct sb_probe_verdict probe(const struct sb_probe_impl *impl, int64_t count, bool capture,
                                     struct sb_probe_outcome *o, struct sb_probe_plan *plan)
{
    struct sb_error err = {0};
    struct sb_probe_totals totals;
    memset(o, 0, sizeof *o);
    o->impl = impl;
    o->runs = impl->available == NULL || impl->available(impl, o->device, sizeof o->device);
    *plan = (struct sb_probe_plan){.seed = 3, .count = count, .capture = capture, .judge = o, .judges = 1};
    for (int i = 0; i < SB_TC_CLASSES; i++)
        plan->wanted[i] = true;
    ck_assert_msg(sb_probe_run(plan, &totals, &err), "%s", err.text);
    return sb_probe_verdict(plan, false, "");
}

/* The printed report of it. */
static const char *printed(const struct sb_probe_plan *plan)
{
    static char text[65536];
    const struct sb_probe_totals totals = {0};
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text - 1, "w");
    ck_assert_ptr_nonnull(f);
    sb_probe_print(f, plan, &totals);
    ck_assert_int_eq(fclose(f), 0);
    return text;
}

/* ---- right ones ------------------------------------------------------------------------------------- */

START_TEST(the_second_model_passes)
{
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    const struct sb_probe_verdict v = probe(impl_called("model"), 3000, false, &o, &plan);
    ck_assert_int_eq(v.exit_status, 0);
    ck_assert_int_eq(o.all.compared, SB_TC_CLASSES * 3072); /* whole tiles of 128 */
    ck_assert_int_eq(o.all.differ, 0);
    ASSERT_HAS(v.text, "PASS of models only");
    sb_probe_outcome_free(&o);
}
END_TEST

static bool is_uncovered(uint32_t c)
{
    return c == 0x80000000u || (c & 0x7F800000u) == 0x7F800000u;
}

/* Whatever paths this processor has: what they skip is exactly what they cannot make. */
START_TEST(wgrad_paths_pass)
{
    static const char *const name[] = {"wgrad-avx2", "wgrad-avx512"};
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    const struct sb_probe_impl *impl = impl_called(name[_i]);
    const struct sb_probe_verdict v = probe(impl, 4000, true, &o, &plan);
    if (!o.runs) {
        ck_assert_int_eq(v.exit_status, 3);
        return;
    }
    ck_assert_int_eq(v.exit_status, 0);
    ASSERT_HAS(v.text, "PASS on CPU only");
    ck_assert_int_eq(o.all.compared + o.all.skipped, SB_TC_CLASSES * 4096);
    ck_assert(o.all.skipped > 0 && o.cls[SB_TC_NORMAL].skipped == 0 && o.cls[SB_TC_ALIGNMENT].skipped == 0);
    for (int i = 0; i < o.captured.count; i++)
        ck_assert(!is_uncovered(o.captured.v[i].c));
    sb_probe_outcome_free(&o);
}
END_TEST

/* The leading steps give c itself, bit for bit: every exponent, subnormals, all places used. By the plain path, too. */
START_TEST(wgrad_makes_c_exactly)
{
    enum { DOTS = SB_PROBE_WGRAD_ROWS * SB_PROBE_WGRAD_COLS, TILES = 64 };
    static uint16_t a[TILES * SB_PROBE_WGRAD_ROWS * SB_TC_K], b[TILES * SB_PROBE_WGRAD_COLS * SB_TC_K];
    static uint32_t c[TILES * DOTS], d[TILES * DOTS];
    static uint8_t skipped[TILES * DOTS];
    struct sb_error err = {0};
    struct sb_probe_impl impl = *impl_called("wgrad-avx2");
    impl.number = _i;
    if (!sb_wgrad_path_runs((enum sb_wgrad_path)_i))
        return;
    const struct sb_probe_batch batch = {TILES, SB_PROBE_WGRAD_ROWS, SB_PROBE_WGRAD_COLS, a, b, c};
    for (uint32_t i = 0; i < TILES * DOTS; i++)
        c[i] = i * 0x9E3779B9u ^ (i % 3 == 0 ? 0x000000FF : i % 3 == 1 ? 0 : 0x0000FF00);
    for (uint32_t i = 0; i < 24; i++) {
        c[2 * i] = 1u << i;
        c[2 * i + 1] = 0x80000000u | ((1u << i) - 1);
    }
    ck_assert_msg(sb_probe_wgrad_run(&impl, &batch, d, skipped, &err), "%s", err.text);
    for (int i = 0; i < TILES * DOTS; i++) {
        ck_assert_int_eq(skipped[i] != 0, is_uncovered(c[i]));
        ck_assert_msg(skipped[i] || d[i] == c[i], "%08x became %08x", c[i], d[i]);
    }
}
END_TEST

/* ---- planted ones ----------------------------------------------------------------------------------- */

START_TEST(each_variant_is_found_and_named)
{
    char name[64];
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    const struct sb_tc_variant variant = sb_tc_variant(_i);
    snprintf(name, sizeof name, "model:%s", variant.name);
    const struct sb_probe_verdict v = probe(impl_called(name), 4096, false, &o, &plan);
    ck_assert_int_eq(v.exit_status, 1);
    ASSERT_HAS(v.text, name);
    const struct sb_probe_explanation e = sb_probe_explain(&o.differ, &o.right);
    ck_assert_msg(e.all == 1 && strcmp(e.name[0], variant.name) == 0, "%s: %d explanations, the first %s", name, e.all,
                  e.all > 0 ? e.name[0] : "none");

    struct sb_probe_vector small;
    ck_assert(sb_probe_minimise(o.impl, &o.differ, &small));
    ck_assert(sb_tc_bf16_k16_f25(small.c, small.a, small.b) == small.expected && small.expected != small.got);
    ck_assert(sb_tc_model(&variant.rules, small.c, small.a, small.b) == small.got);
    int pairs = 0;
    for (int k = 0; k < SB_TC_K; k++)
        pairs += (small.a[k] | small.b[k]) != 0;
    const bool needs_all = strcmp(variant.name, "sum-of-32-bits") == 0 || strstr(variant.name, "zero") != NULL;
    const bool needs_many = strstr(variant.name, "floor") != NULL;
    ck_assert_msg(pairs <= (needs_many ? 12 : 6) || needs_all, "%s: %d pairs are left", name, pairs);
    sb_probe_outcome_free(&o);
}
END_TEST

/* ---- arithmetics that misbehave otherwise --------------------------------------------------------------- */

static bool right(const struct sb_probe_batch *batch, uint32_t *d)
{
    struct sb_error err;
    const struct sb_probe_impl *plain = impl_called("plain");
    return plain->run(plain, batch, d, NULL, &err);
}

static bool writes_nothing(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                           uint8_t *skipped, struct sb_error *err)
{
    (void)impl, (void)batch, (void)d, (void)skipped, (void)err;
    return true;
}

static bool does_not_finish(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                            uint8_t *skipped, struct sb_error *err)
{
    (void)impl, (void)skipped;
    right(batch, d);
    return sb_fail(err, SB_EXIT_NOTHING_RAN, "an illegal address");
}

static bool covers_nothing(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                           uint8_t *skipped, struct sb_error *err)
{
    (void)impl, (void)d, (void)err;
    memset(skipped, 1, (size_t)sb_probe_dots(batch));
    return true;
}

static bool last_dot_is_wrong(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                              uint8_t *skipped, struct sb_error *err)
{
    (void)impl, (void)skipped, (void)err;
    right(batch, d);
    d[sb_probe_dots(batch) - 1] ^= 1;
    return true;
}

/* Wrong by what stands beside it: not when it is alone. */
static bool leaks(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d, uint8_t *skipped,
                  struct sb_error *err)
{
    (void)impl, (void)skipped, (void)err;
    right(batch, d);
    for (int64_t t = 0; t < batch->tiles; t++) {
        uint32_t *tile = d + t * batch->rows * batch->cols;
        if (tile[0] != 0)
            tile[1] ^= 2;
    }
    return true;
}

static bool is_right(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                     uint8_t *skipped, struct sb_error *err)
{
    (void)impl, (void)skipped, (void)err;
    return right(batch, d);
}

static struct sb_probe_impl fake(bool (*run)(const struct sb_probe_impl *, const struct sb_probe_batch *, uint32_t *,
                                             uint8_t *, struct sb_error *))
{
    return (struct sb_probe_impl){
        .name = "fake", .summary = "made up", .kind = SB_PROBE_TENSOR_CORE, .rows = 64, .cols = 256, .run = run};
}

START_TEST(a_right_tensor_core_passes)
{
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    const struct sb_probe_impl impl = fake(is_right);
    const struct sb_probe_verdict v = probe(&impl, 20000, true, &o, &plan);
    ck_assert_int_eq(v.exit_status, 0);
    ASSERT_HAS(v.text, "PASS: everything that ran keeps contract TC, 1 of 4 tensor-core instructions");
    ck_assert_int_eq(o.all.compared, (int64_t)SB_TC_CLASSES * 2 * 64 * 256);
    ck_assert_int_eq(o.captured.count, SB_TC_CLASSES * SB_PROBE_CAPTURED); /* from two tiles a class, too */
    sb_probe_outcome_free(&o);
}
END_TEST

/* Of a large tile's rows and columns every part: every warp that computes it, and every fragment. */
START_TEST(captures_come_from_all_over_a_tile)
{
    struct sb_probe_outcome o = {.runs = true};
    struct sb_error err = {0};
    struct sb_probe_totals totals;
    const struct sb_probe_impl impl = fake(is_right);
    o.impl = &impl;
    struct sb_probe_plan plan = {.count = 64 * 64 * 256, .capture = true, .judge = &o, .judges = 1};
    plan.wanted[SB_TC_NORMAL] = true;
    ck_assert_msg(sb_probe_run(&plan, &totals, &err), "%s", err.text);
    int of_rows[4] = {0}, of_cols[4] = {0};
    for (int i = 0; i < o.captured.count; i++) {
        of_rows[o.captured.v[i].row / 16]++;
        of_cols[o.captured.v[i].col / 64]++;
    }
    for (int i = 0; i < 4; i++)
        ck_assert_msg(of_rows[i] >= 8 && of_cols[i] >= 8, "%d and %d of %d", of_rows[i], of_cols[i], o.captured.count);
    sb_probe_outcome_free(&o);
}
END_TEST

START_TEST(unwritten_outputs_fail)
{
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    const struct sb_probe_impl impl = fake(writes_nothing);
    const struct sb_probe_verdict v = probe(&impl, 100, false, &o, &plan);
    ck_assert_int_eq(v.exit_status, 1);
    ck_assert_int_eq(o.all.differ, o.all.compared);
    ASSERT_HAS(printed(&plan), "perhaps never written");
    ASSERT_HAS(printed(&plan), "no known arithmetic gives any");
    sb_probe_outcome_free(&o);
}
END_TEST

/* It is no pass, and no mismatch: no bit is known to be wrong. */
START_TEST(what_does_not_finish)
{
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    const struct sb_probe_impl impl = fake(does_not_finish);
    const struct sb_probe_verdict v = probe(&impl, 100, false, &o, &plan);
    ck_assert_int_eq(v.exit_status, 3);
    ASSERT_HAS(v.text, "DID NOT FINISH: no verdict on fake: an illegal address");
    ck_assert_ptr_null(strstr(v.text, "FAIL"));
    ASSERT_HAS(printed(&plan), "\nDID NOT FINISH  fake (");
    ASSERT_HAS(printed(&plan), "it did not finish: an illegal address");
    ck_assert_ptr_null(strstr(printed(&plan), "FAIL"));
    const struct sb_probe_totals totals = {0};
    json_t *all = sb_probe_json(&plan, &totals, &v);
    const json_t *result = json_array_get(json_object_get(all, "results"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(result, "status")), "DID NOT FINISH");
    json_decref(all);
    sb_probe_outcome_free(&o);
}
END_TEST

/* Beside one that passed it is not covered up; what differs weighs more, and both are told. */
START_TEST(what_does_not_finish_beside_others)
{
    struct sb_probe_outcome o[2] = {{.impl = impl_called("model"), .runs = true, .all = {.compared = 10}},
                                    {.impl = impl_called("mma_sync"), .runs = true, .error = "out of memory"}};
    struct sb_probe_plan plan = {.judge = o, .judges = 2};
    struct sb_probe_verdict v = sb_probe_verdict(&plan, false, "");
    ck_assert_int_eq(v.exit_status, 3);
    ASSERT_HAS(v.text, "DID NOT FINISH: no verdict on mma_sync: out of memory (10 dot products compared, 0 differ");
    o[0].all.differ = 1;
    v = sb_probe_verdict(&plan, false, "");
    ck_assert_int_eq(v.exit_status, 1);
    ASSERT_HAS(v.text, "FAIL: not contract TC: model; did not finish: mma_sync: out of memory (");
    o[0].all.differ = 0;
    o[1].all = (struct sb_probe_count){.compared = 5, .differ = 2}; /* what it did compare counts */
    v = sb_probe_verdict(&plan, false, "");
    ck_assert_int_eq(v.exit_status, 1);
    ASSERT_HAS(v.text, "FAIL: not contract TC: mma_sync; did not finish: mma_sync: ");
}
END_TEST

START_TEST(nothing_covered_is_no_pass)
{
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    const struct sb_probe_impl impl = fake(covers_nothing);
    const struct sb_probe_verdict v = probe(&impl, 100, false, &o, &plan);
    ck_assert_int_eq(v.exit_status, 3);
    ASSERT_HAS(v.text, "NOTHING RAN");
    ASSERT_HAS(printed(&plan), "it covered none");
    sb_probe_outcome_free(&o);
}
END_TEST

START_TEST(one_wrong_bit_at_the_very_end)
{
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    const struct sb_probe_impl impl = fake(last_dot_is_wrong);
    const struct sb_probe_verdict v = probe(&impl, 100, false, &o, &plan);
    ck_assert_int_eq(v.exit_status, 1);
    ck_assert_int_eq(o.all.differ, SB_TC_CLASSES); /* one tile a class */
    ck_assert(o.differ.v[0].row == 63 && o.differ.v[0].col == 255);
    struct sb_probe_vector small;
    ck_assert(sb_probe_minimise(&impl, &o.differ, &small)); /* wrong for any operands at that place */
    ck_assert(small.row == 63 && small.col == 255 && small.c == 0 && small.got == 1);
    sb_probe_outcome_free(&o);
}
END_TEST

START_TEST(a_fault_of_the_surroundings)
{
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    const struct sb_probe_impl impl = fake(leaks);
    const struct sb_probe_verdict v = probe(&impl, 100, false, &o, &plan);
    ck_assert_int_eq(v.exit_status, 1);
    struct sb_probe_vector small;
    ck_assert(!sb_probe_minimise(&impl, &o.differ, &small));
    ck_assert(memcmp(&small, &o.differ.v[0], sizeof small) == 0);
    ASSERT_HAS(printed(&plan), "no vector tried differs again alone");
    sb_probe_outcome_free(&o);
}
END_TEST

/* ---- verdicts ------------------------------------------------------------------------------------------- */

START_TEST(a_named_one_has_to_run)
{
    struct sb_probe_outcome o[2] = {{.impl = impl_called("model"), .runs = true},
                                    {.impl = impl_called("mma_sync"), .runs = false}};
    struct sb_probe_plan plan = {.judge = o, .judges = 2};
    o[0].all.compared = 10;
    ck_assert_int_eq(sb_probe_verdict(&plan, false, "").exit_status, 0);
    const struct sb_probe_verdict v = sb_probe_verdict(&plan, true, "--impl");
    ck_assert_int_eq(v.exit_status, 3);
    ASSERT_HAS(v.text, "LESS THAN REQUIRED: --impl names mma_sync");
    ASSERT_HAS(v.text, "partial run: --impl");
    o[0].all.differ = 1; /* a difference weighs more */
    ck_assert_int_eq(sb_probe_verdict(&plan, true, "").exit_status, 1);
    o[0].all = (struct sb_probe_count){0};
    ck_assert_int_eq(sb_probe_verdict(&plan, false, "").exit_status, 3);
}
END_TEST

static int times_in(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)) != NULL; p++)
        n++;
    return n;
}

/* The vector paths leave steps to the yardstick: the report says for which classes, once, and in each JSON result. */
START_TEST(what_a_pass_is_not_worth)
{
    static const char said[] = "of the yardstick with itself mostly in nan-and-inf and infinities and half in any-bits";
    const struct sb_probe_totals totals = {0};
    const struct sb_probe_verdict v = {0};
    struct sb_probe_outcome o[3] = {{.impl = impl_called("model"), .runs = true},
                                    {.impl = impl_called("wgrad-avx2"), .runs = true},
                                    {.impl = impl_called("wgrad-avx512"), .runs = true}};
    struct sb_probe_plan plan = {.judge = o, .judges = 3};
    ck_assert_int_eq(times_in(printed(&plan), said), 1);
    json_t *all = sb_probe_json(&plan, &totals, &v);
    for (size_t i = 0; i < 3; i++) {
        const json_t *note = json_object_get(json_array_get(json_object_get(all, "results"), i), "note");
        ck_assert(i == 0 ? json_is_null(note) : times_in(json_string_value(note), said) == 1);
    }
    json_decref(all);
    o[1].runs = false;
    ck_assert_int_eq(times_in(printed(&plan), said), 1);
    plan.judges = 2;
    ck_assert_int_eq(times_in(printed(&plan), said), 0);
}
END_TEST

static bool all_finite(const uint16_t *bits, int count)
{
    for (int i = 0; i < count; i++)
        if ((bits[i] & 0x7F80) == 0x7F80)
            return false;
    return true;
}

/* Percent of the blocks of `rows` rows and all columns that have a NaN or an infinity among their operands. */
static int percent_not_finite(enum sb_tc_class cls, int rows)
{
    enum { TILES = 512, M = SB_PROBE_WGRAD_ROWS, N = SB_PROBE_WGRAD_COLS };
    uint16_t a[M * SB_TC_K], b[SB_TC_K * N];
    uint32_t c[M * N];
    int found = 0;
    for (uint64_t t = 0; t < TILES; t++) {
        const struct sb_tc_tile tile = {M, N, a, b, c};
        sb_tc_make_tile(1, cls, t, &tile);
        for (int m = 0; m < M; m += rows)
            found += !all_finite(a + m * SB_TC_K, rows * SB_TC_K) || !all_finite(b, SB_TC_K * N);
    }
    return 100 * found / (TILES * M / rows);
}

/* That note's own figures, for blocks of two rows (AVX2) and of four (AVX-512). */
START_TEST(where_the_yardstick_meets_itself)
{
    for (int rows = 2; rows <= 4; rows += 2)
        for (int cls = 0; cls < SB_TC_CLASSES; cls++) {
            const int share = percent_not_finite((enum sb_tc_class)cls, rows);
            const bool mostly = cls == SB_TC_NAN_AND_INF || cls == SB_TC_INFINITIES;
            ck_assert_msg(mostly                  ? share >= 85
                          : cls == SB_TC_ANY_BITS ? share >= 40 && share <= 60
                                                  : share == 0,
                          "%s: %d%%", sb_tc_class_name((enum sb_tc_class)cls), share);
        }
}
END_TEST

START_TEST(the_table_has_room)
{
    int count;
    sb_probe_impls(&count);
    ck_assert_int_lt(count, SB_PROBE_MAX_IMPLS); /* none was left out */
    ck_assert_ptr_nonnull(impl_called("model:fma-chain"));
}
END_TEST

/* ---- recorded ones ---------------------------------------------------------------------------------------- */

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/samebits-probe-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

struct seen {
    struct sb_probe_list list;
    int64_t lines;
};

static bool see(void *user, int64_t line, const struct sb_probe_vector *v)
{
    struct seen *s = user;
    s->lines++;
    return line == s->lines && sb_probe_list_add(&s->list, v);
}

START_TEST(written_sets_read_back)
{
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    struct sb_error err = {0};
    struct sb_probe_sets sets;
    probe(impl_called("model:26-bits"), 9000, true, &o, &plan);
    ck_assert_int_eq(o.captured.count, SB_TC_CLASSES * SB_PROBE_CAPTURED);
    for (int cls = 0; cls < SB_TC_CLASSES; cls++)
        ck_assert_msg(sb_probe_write_set(folder, (enum sb_tc_class)cls, &o.captured, &err), "%s", err.text);
    ck_assert(!sb_probe_write_set(folder, SB_TC_NORMAL, &o.captured, &err)); /* never over an older one */
    ck_assert_msg(sb_probe_find_sets(folder, &sets, &err), "%s", err.text);
    ck_assert_int_eq(sets.count, SB_TC_CLASSES);
    int read = 0;
    for (int i = 0; i < sets.count; i++) {
        struct seen s = {0};
        ck_assert_msg(sb_probe_read_set(&sets.set[i], see, &s, &err), "%s", err.text);
        for (int k = 0; k < o.captured.count; k++) {
            const struct sb_probe_vector *v = &o.captured.v[k];
            if (strcmp(sb_tc_class_name(v->cls), sets.set[i].name) != 0)
                continue;
            const struct sb_probe_vector *r = &s.list.v[k % SB_PROBE_CAPTURED];
            ck_assert(r->c == v->c && r->got == v->got && r->expected == v->expected);
            ck_assert(memcmp(r->a, v->a, sizeof v->a) == 0 && memcmp(r->b, v->b, sizeof v->b) == 0);
            read++;
        }
        sb_probe_list_free(&s.list);
    }
    ck_assert_int_eq(read, o.captured.count);
    ck_assert_int_eq(sb_probe_replay(folder, false, &err), 1);
    sb_probe_sets_free(&sets);
    sb_probe_outcome_free(&o);
}
END_TEST

/* Small as they are, recorded sets tell every variant from the contract. */
START_TEST(captures_find_each_variant)
{
    char name[64];
    struct sb_probe_outcome o;
    struct sb_probe_plan plan;
    snprintf(name, sizeof name, "model:%s", sb_tc_variant(_i).name);
    probe(impl_called(name), 2048, true, &o, &plan);
    int differ = 0;
    for (int i = 0; i < o.captured.count; i++)
        differ += o.captured.v[i].got != o.captured.v[i].expected;
    ck_assert_msg(differ > 0, "%s", name);
    sb_probe_outcome_free(&o);
}
END_TEST

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert(fputs(text, f) >= 0 && fclose(f) == 0);
}

#define ZERO "00000000"
#define ZEROS3 ZERO " " ZERO " " ZERO
#define ZEROS15 ZEROS3 " " ZEROS3 " " ZEROS3 " " ZEROS3 " " ZEROS3
#define LINE "3f800000 " ZEROS15
#define BITS "00111111100000000000000000000000"

/* One file of a right set replaced: what the message names. */
static const struct {
    const char *file, *text, *said;
} malformed[] = {
    {"a_x_bf16.txt", LINE "\n" ZEROS15 "\n", "a_x_bf16.txt:2: a short line: 15 of 16 words"},
    {"a_x_bf16.txt", LINE "\n\n", "a_x_bf16.txt:2: a short line: 0 of 16 words"},
    {"b_x_bf16.txt", LINE " " ZERO "\n" LINE "\n", "b_x_bf16.txt:1: more than 16 words"},
    {"b_x_bf16.txt", LINE "\n3f80000g " ZEROS15 "\n", "b_x_bf16.txt:2: expected 16 words of 8 hex digits"},
    {"b_x_bf16.txt", LINE "\n3f8000 " ZEROS15 "\n", "b_x_bf16.txt:2: expected 16 words of 8 hex digits"},
    {"a_x_bf16.txt", LINE "\n3f800001 " ZEROS15 "\n", "a_x_bf16.txt:2: a word's lower half is not zero"},
    {"a_x_bf16.txt", LINE "\n3f80000000000000 " ZEROS15 "\n", "a_x_bf16.txt:2: no blank after 1"},
    {"a_x_bf16.txt", LINE "\n", "a_x_bf16.txt:1: ends here, but "},
    {"d_x_fp32.txt", BITS "\n" BITS "\n" BITS "\n", "a_x_bf16.txt:2: ends here, but "},
    {"c_x_fp32.txt", BITS "\n0011111110000000000000000000000\n", "c_x_fp32.txt:2: expected 32 binary digits"},
    {"c_x_fp32.txt", BITS "\n" BITS "0\n", "c_x_fp32.txt:2: expected 32 binary digits"},
    {"d_x_fp32.txt", BITS "\n00111111100000000000000000000002\n", "d_x_fp32.txt:2: expected 32 binary digits"},
    {"d_x_fp32.txt", BITS "\n3f800000\n", "d_x_fp32.txt:2: expected 32 binary digits"},
};

static void put_right_set(void)
{
    put("a_x_bf16.txt", LINE "\n" LINE " \n");
    put("b_x_bf16.txt", LINE "\r\n" LINE); /* blanks at the end, DOS line ends and no last newline do no harm */
    put("c_x_fp32.txt", "00000000000000000000000000000000\n00000000000000000000000000000000\n");
    put("d_x_fp32.txt", BITS "\n" BITS "\n");
}

START_TEST(malformed_sets)
{
    struct sb_error err = {0};
    put_right_set();
    ck_assert_msg(sb_probe_replay(folder, false, &err) == 0, "%s", err.text);
    put(malformed[_i].file, malformed[_i].text);
    ck_assert_int_eq(sb_probe_replay(folder, false, &err), 2);
    ASSERT_HAS(err.text, malformed[_i].said);
}
END_TEST

START_TEST(missing_files)
{
    static const char *const file[] = {"a_x_bf16.txt", "b_x_bf16.txt", "c_x_fp32.txt", "d_x_fp32.txt"};
    char path[256];
    struct sb_error err = {0};
    ck_assert_int_eq(sb_probe_replay(folder, false, &err), 2);
    ASSERT_HAS(err.text, "nothing to replay is no pass");
    for (int i = 0; i < 4; i++) {
        put_right_set();
        snprintf(path, sizeof path, "%s/%s", folder, file[i]);
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_int_eq(sb_probe_replay(folder, false, &err), 2);
        ASSERT_HAS(err.text, file[i]);
        ASSERT_HAS(err.text, "is missing");
    }
    for (int i = 0; i < 4; i++)
        put(file[i], "");
    ck_assert_int_eq(sb_probe_replay(folder, false, &err), 2);
    ASSERT_HAS(err.text, "no line at all");
    snprintf(path, sizeof path, "%s/nowhere", folder);
    ck_assert_int_eq(sb_probe_replay(path, false, &err), 2);
    ASSERT_HAS(err.text, "nowhere");
}
END_TEST

/* Blanks at a line's end do no harm, but no line is longer than 4096 bytes. */
START_TEST(long_lines)
{
    char text[8192];
    struct sb_error err = {0};
    for (int length = 4096; length <= 4097; length++) {
        put_right_set();
        snprintf(text, sizeof text, "%s\n%-*s\n", BITS, length, BITS);
        put("d_x_fp32.txt", text);
        ck_assert_int_eq(sb_probe_replay(folder, false, &err), length == 4096 ? 0 : 2);
    }
    ASSERT_HAS(err.text, "d_x_fp32.txt:2: a line of more than 4096 bytes");
    snprintf(text, sizeof text, "%s\n%-*s", BITS, 4097, BITS); /* nor the last, without an end */
    put("d_x_fp32.txt", text);
    ck_assert_int_eq(sb_probe_replay(folder, false, &err), 2);
    ASSERT_HAS(err.text, "more than 4096 bytes");
}
END_TEST

/* What did not finish has fewer dot products than it was to have: it is not recorded, the others are. */
START_TEST(only_what_finished_is_captured)
{
    char dir[128];
    struct sb_error err = {0};
    struct sb_probe_sets sets;
    struct sb_probe_outcome o[2];
    struct sb_probe_plan plan;
    snprintf(dir, sizeof dir, "%s/new", folder);
    probe(impl_called("model"), 1000, true, &o[1], &plan);
    probe(impl_called("model:24-bits"), 1000, true, &o[0], &plan);
    plan.judge = o;
    plan.judges = 2;
    ck_assert_msg(sb_probe_capture_check(&plan, dir, &err), "%s", err.text);
    ck_assert_int_ne(access(dir, F_OK), 0);
    snprintf(o[0].error, sizeof o[0].error, "planted");
    ck_assert_msg(sb_probe_capture_write(&plan, dir, &err), "%s", err.text);
    ck_assert_msg(sb_probe_find_sets(dir, &sets, &err), "%s", err.text);
    ck_assert_int_eq(sets.count, SB_TC_CLASSES);
    for (int i = 0; i < sets.count; i++)
        ASSERT_HAS(sets.set[i].folder, "new/model");
    sb_probe_sets_free(&sets);
    ck_assert_int_eq(sb_probe_replay(dir, false, &err), 0);
    ck_assert(!sb_probe_capture_check(&plan, dir, &err));
    ASSERT_HAS(err.text, "new/model: File exists; choose another folder");
    sb_probe_outcome_free(&o[0]);
    sb_probe_outcome_free(&o[1]);
}
END_TEST

/* Sets of other operands lie beside ours where others publish; they are not judged, and not silently. */
START_TEST(other_operands_are_left_out)
{
    struct sb_error err = {0};
    struct sb_probe_sets sets;
    put("a_x_fp16.txt", "whatever");
    put("b_x_fp16.txt", "whatever");
    put("c_x_fp32.txt", BITS "\n");
    ck_assert(!sb_probe_find_sets(folder, &sets, &err));
    sb_probe_sets_free(&sets);
    put("a_y_bf16.txt", LINE "\n");
    put("b_y_bf16.txt", LINE "\n");
    put("c_y_fp32.txt", BITS "\n");
    put("d_y_fp32.txt", BITS "\n");
    put("README.txt", "whatever");
    ck_assert_msg(sb_probe_find_sets(folder, &sets, &err), "%s", err.text);
    ck_assert(sets.count == 1 && sets.left_out == 1);
    sb_probe_sets_free(&sets);
    ck_assert_int_eq(sb_probe_replay(folder, true, &err), 1); /* 1 + 1 * 1 is not 1 */
}
END_TEST

struct planted {
    struct sb_tc_rules rules[2];
    int differ[2];
};

static bool plant(void *user, int64_t line, const struct sb_probe_vector *v)
{
    struct planted *p = user;
    (void)line;
    for (int i = 0; i < 2; i++)
        p->differ[i] += sb_tc_model(&p->rules[i], v->c, v->a, v->b) != v->got;
    return true;
}

/* Where the published results are at hand: hundreds of each set differ with 24 or 26 bits. */
START_TEST(published_results_tell_24_and_26_bits)
{
    const char *dir = getenv("SAMEBITS_SILICON");
    struct sb_error err = {0};
    struct sb_probe_sets sets;
    if (dir == NULL || dir[0] == '\0')
        return; /* tests/probe.sh says so */
    ck_assert_msg(sb_probe_find_sets(dir, &sets, &err), "%s", err.text);
    for (int i = 0; i < sets.count; i++) {
        struct planted p = {{sb_tc_contract(), sb_tc_contract()}, {0, 0}};
        p.rules[0].fraction_bits = 24;
        p.rules[1].fraction_bits = 26;
        ck_assert_msg(sb_probe_read_set(&sets.set[i], plant, &p, &err), "%s", err.text);
        ck_assert_msg(p.differ[0] >= 300 && p.differ[1] >= 100, "%s: %d and %d", sets.set[i].name, p.differ[0],
                      p.differ[1]);
    }
    sb_probe_sets_free(&sets);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("harness probe");
    TCase *tc = tcase_create("run");
    tcase_add_test(tc, the_second_model_passes);
    tcase_add_loop_test(tc, wgrad_paths_pass, 0, 2);
    tcase_add_loop_test(tc, wgrad_makes_c_exactly, 0, SB_WGRAD_PATHS);
    tcase_add_loop_test(tc, each_variant_is_found_and_named, 0, sb_tc_variants());
    tcase_add_test(tc, a_right_tensor_core_passes);
    tcase_add_test(tc, captures_come_from_all_over_a_tile);
    tcase_add_test(tc, unwritten_outputs_fail);
    tcase_add_test(tc, what_does_not_finish);
    tcase_add_test(tc, what_does_not_finish_beside_others);
    tcase_add_test(tc, what_a_pass_is_not_worth);
    tcase_add_test(tc, where_the_yardstick_meets_itself);
    tcase_add_test(tc, nothing_covered_is_no_pass);
    tcase_add_test(tc, one_wrong_bit_at_the_very_end);
    tcase_add_test(tc, a_fault_of_the_surroundings);
    tcase_add_test(tc, a_named_one_has_to_run);
    tcase_add_test(tc, the_table_has_room);
    tcase_add_loop_test(tc, captures_find_each_variant, 0, sb_tc_variants());
    tcase_add_test(tc, published_results_tell_24_and_26_bits);
    suite_add_tcase(suite, tc);
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_test(files, written_sets_read_back);
    tcase_add_loop_test(files, malformed_sets, 0, (int)(sizeof malformed / sizeof malformed[0]));
    tcase_add_test(files, long_lines);
    tcase_add_test(files, only_what_finished_is_captured);
    tcase_add_test(files, missing_files);
    tcase_add_test(files, other_operands_are_left_out);
    suite_add_tcase(suite, files);
    return suite;
}
