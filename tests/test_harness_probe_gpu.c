/* A GPU's instructions as arithmetics to probe, on memory that only plays a GPU's: batches up and down, buffers that
 * are used again, errors, instructions that this GPU lacks. And what probe_run and the report make of them. */
#include "../harness/probe_gpu.h"

#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "../harness/probe_report.h"

#include "check_main.h"

#define ASSERT_HAS(text, part) ck_assert_msg(strstr(text, part) != NULL, "'%s' lacks '%s'", text, part)

enum { ROWS = 16, COLS = 8, DOTS = ROWS * COLS, MOST_TILES = 40 };

static const struct sb_probe_impl *impl_called(const char *name)
{
    int count;
    const struct sb_probe_impl *impl = sb_probe_impls(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(impl[i].name, name) == 0)
            return &impl[i];
    ck_abort_msg("no implementation %s", name);
}

/* ---- a device that is none ---------------------------------------------------------------------------- */

static struct {
    int live, allocations; /* now, and in all */
    int allocate_fails_at; /* the allocation, counted from 1, that finds no memory; 0: none */
    const char *fails;     /* the function that reports a device error: "upload", "fill", ... or NULL */
    int launches;
    void *stream; /* as the last launch saw it */
} device;

static bool works(const char *what, struct sb_error *err)
{
    return device.fails == NULL || strcmp(device.fails, what) != 0 ||
           sb_fail(err, SB_EXIT_MISMATCH, "%s: CUDA error 700, an illegal memory access", what);
}

static void *fake_allocate(size_t bytes)
{
    device.allocations++;
    if (device.allocations == device.allocate_fails_at)
        return NULL;
    void *const p = malloc(bytes); /* exactly as many, so that the sanitizers see an overrun */
    ck_assert_ptr_nonnull(p);
    memset(p, 0x77, bytes);
    device.live++;
    return p;
}

static void fake_release(void *p)
{
    ck_assert_ptr_nonnull(p);
    device.live--;
    free(p);
}

static bool fake_upload(void *to, const void *from, size_t bytes, struct sb_error *err)
{
    memcpy(to, from, bytes);
    return works("upload", err);
}

static bool fake_download(void *to, const void *from, size_t bytes, struct sb_error *err)
{
    if (bytes > sizeof(uint32_t) && !works("download", err))
        return false;
    memcpy(to, from, bytes);
    return bytes > sizeof(uint32_t) || works("count", err);
}

static bool fake_fill(void *p, int byte, size_t bytes, struct sb_error *err)
{
    memset(p, byte, bytes);
    return works("fill", err);
}

static bool fake_synchronise(struct sb_error *err)
{
    return works("synchronise", err);
}

static const char *fake_error_text(int code)
{
    return code == 98 ? "invalid device function" : "?";
}

static int stream_mark;

static struct sb_probe_gpu fake_gpu(void)
{
    memset(&device, 0, sizeof device);
    struct sb_probe_gpu gpu = {.memory = sb_memory_host()};
    gpu.memory.allocate = fake_allocate;
    gpu.memory.release = fake_release;
    gpu.memory.upload = fake_upload;
    gpu.memory.download = fake_download;
    gpu.memory.fill = fake_fill;
    gpu.memory.synchronise = fake_synchronise;
    gpu.memory.error_text = fake_error_text;
    gpu.memory.stream = &stream_mark;
    return gpu;
}

/* ---- instructions that are none ------------------------------------------------------------------------- */

/* d of all tiles, the accumulator read or not. */
static void compute(const struct sb_tc_probe_tiles *tiles, bool with_c)
{
    for (int64_t t = 0; t < tiles->tiles; t++)
        for (int i = 0; i < DOTS; i++) {
            uint16_t b[SB_TC_K];
            for (int k = 0; k < SB_TC_K; k++)
                b[k] = tiles->b[(t * SB_TC_K + k) * COLS + i % COLS];
            tiles->d[t * DOTS + i] =
                sb_tc_bf16_k16_f25(with_c ? tiles->c[t * DOTS + i] : 0, tiles->a + (t * ROWS + i / COLS) * SB_TC_K, b);
        }
}

static int right(const struct sb_tc_probe_tiles *tiles, void *stream)
{
    device.launches++;
    device.stream = stream;
    compute(tiles, true);
    return 0;
}

static int without_c(const struct sb_tc_probe_tiles *tiles, void *stream)
{
    (void)stream;
    compute(tiles, false);
    return 0;
}

static int all_but_the_last(const struct sb_tc_probe_tiles *tiles, void *stream)
{
    const uint32_t before = tiles->d[tiles->tiles * DOTS - 1];
    right(tiles, stream);
    tiles->d[tiles->tiles * DOTS - 1] = before;
    return 0;
}

static int gives_up_two(const struct sb_tc_probe_tiles *tiles, void *stream)
{
    right(tiles, stream);
    *tiles->unfinished += 2;
    return 0;
}

static int is_refused(const struct sb_tc_probe_tiles *tiles, void *stream)
{
    (void)tiles, (void)stream;
    return 98;
}

/* ---- batches -------------------------------------------------------------------------------------------- */

static uint16_t a[MOST_TILES * ROWS * SB_TC_K], b[MOST_TILES * SB_TC_K * COLS];
static uint32_t c[MOST_TILES * DOTS], d[MOST_TILES * DOTS + 1], expected[MOST_TILES * DOTS];
static uint8_t skipped[MOST_TILES * DOTS];

static const struct sb_probe_impl any = {.name = "fake", .rows = ROWS, .cols = COLS};

/* Tiles number `first` and on, and what they should give. */
static struct sb_probe_batch batch_of(int tiles, uint64_t first)
{
    struct sb_error err;
    const struct sb_probe_batch batch = {tiles, ROWS, COLS, a, b, c};
    for (int t = 0; t < tiles; t++) {
        const struct sb_tc_tile tile = {ROWS, COLS, a + t * ROWS * SB_TC_K, b + t * SB_TC_K * COLS, c + t * DOTS};
        sb_tc_make_tile(9, SB_TC_WIDE, first + (uint64_t)t, &tile);
    }
    const struct sb_probe_impl *const plain = impl_called("plain");
    ck_assert(plain->run(plain, &batch, expected, NULL, &err));
    memset(d, 0x33, sizeof d);
    memset(skipped, 0, sizeof skipped);
    return batch;
}

static bool run(struct sb_probe_gpu *gpu, sb_tc_probe_launch launch, const struct sb_probe_batch *batch,
                struct sb_error *err)
{
    *err = (struct sb_error){0};
    return sb_probe_gpu_run_on(gpu, launch, &any, batch, d, skipped, err);
}

static bool is_right(const struct sb_probe_batch *batch)
{
    const size_t dots = (size_t)sb_probe_dots(batch);
    return memcmp(d, expected, dots * sizeof d[0]) == 0 && d[dots] == 0x33333333; /* and nothing behind it */
}

START_TEST(one_batch)
{
    struct sb_error err;
    struct sb_probe_gpu gpu = fake_gpu();
    const struct sb_probe_batch batch = batch_of(5, 0);
    ck_assert_msg(run(&gpu, right, &batch, &err), "%s", err.text);
    ck_assert(is_right(&batch));
    ck_assert_int_eq(device.launches, 1);
    ck_assert_ptr_eq(device.stream, &stream_mark);
    sb_probe_gpu_release(&gpu);
    ck_assert_int_eq(device.live, 0);
    sb_probe_gpu_release(&gpu); /* nothing is left to be given back twice */
    ck_assert_int_eq(device.live, 0);
}
END_TEST

/* A smaller batch takes the larger one's buffers, a larger one gets larger ones; none is left behind. */
START_TEST(buffers_are_used_again)
{
    static const int tiles[] = {20, 3, 20, 40, 1, 40};
    static const int allocations[] = {5, 5, 5, 9, 9, 9}; /* all but the one word grow */
    struct sb_error err;
    struct sb_probe_gpu gpu = fake_gpu();
    for (int i = 0; i < 6; i++) {
        const struct sb_probe_batch batch = batch_of(tiles[i], 100 * (uint64_t)i);
        ck_assert_msg(run(&gpu, right, &batch, &err), "%s", err.text);
        ck_assert_msg(is_right(&batch), "batch %d", i);
        ck_assert_int_eq(device.live, 5);
        ck_assert_int_eq(device.allocations, allocations[i]);
    }
    sb_probe_gpu_release(&gpu);
    ck_assert_int_eq(device.live, 0);
}
END_TEST

/* The right answer of the batch before, in the same buffer, is not this one's. */
START_TEST(a_stale_result_is_unwritten)
{
    struct sb_error err;
    struct sb_probe_gpu gpu = fake_gpu();
    const struct sb_probe_batch batch = batch_of(4, 0);
    ck_assert(run(&gpu, right, &batch, &err) && is_right(&batch));
    ck_assert(run(&gpu, all_but_the_last, &batch, &err));
    ck_assert(!is_right(&batch));
    ck_assert_uint_eq(d[4 * DOTS - 1], UINT32_MAX);
    sb_probe_gpu_release(&gpu);
}
END_TEST

/* Whatever reports an error, the batch is not finished, and says why. */
START_TEST(device_errors)
{
    static const char *const what[] = {"upload", "fill", "synchronise", "count", "download"};
    struct sb_error err;
    struct sb_probe_gpu gpu = fake_gpu();
    const struct sb_probe_batch batch = batch_of(4, 0);
    device.fails = what[_i];
    ck_assert(!run(&gpu, right, &batch, &err));
    ASSERT_HAS(err.text, what[_i]);
    ASSERT_HAS(err.text, "CUDA error 700");
    ck_assert_int_eq(device.launches, _i < 2 ? 0 : 1);
    sb_probe_gpu_release(&gpu);
    ck_assert_int_eq(device.live, 0);
}
END_TEST

START_TEST(too_little_memory)
{
    struct sb_error err;
    for (int at = 1; at <= 5; at++) {
        struct sb_probe_gpu gpu = fake_gpu();
        const struct sb_probe_batch batch = batch_of(4, 0);
        device.allocate_fails_at = at;
        ck_assert(!run(&gpu, right, &batch, &err));
        ASSERT_HAS(err.text, "too little memory on the GPU: ");
        ck_assert(device.launches == 0 && device.live == at - 1);
        ck_assert(run(&gpu, right, &batch, &err) && is_right(&batch)); /* there is some again */
        ck_assert_int_eq(device.live, 5);
        sb_probe_gpu_release(&gpu);
        ck_assert_int_eq(device.live, 0);
    }
}
END_TEST

/* When a buffer is to grow and cannot, the old one is not used again. */
START_TEST(too_little_memory_to_grow)
{
    struct sb_error err;
    struct sb_probe_gpu gpu = fake_gpu();
    struct sb_probe_batch batch = batch_of(4, 0);
    ck_assert(run(&gpu, right, &batch, &err));
    batch = batch_of(30, 0);
    device.allocate_fails_at = device.allocations + 2;
    ck_assert(!run(&gpu, right, &batch, &err));
    batch = batch_of(4, 7);
    ck_assert(run(&gpu, right, &batch, &err) && is_right(&batch));
    sb_probe_gpu_release(&gpu);
    ck_assert_int_eq(device.live, 0);
}
END_TEST

START_TEST(launches_that_fail)
{
    struct sb_error err;
    struct sb_probe_gpu gpu = fake_gpu();
    const struct sb_probe_batch batch = batch_of(4, 0);
    ck_assert(!run(&gpu, is_refused, &batch, &err));
    ASSERT_HAS(err.text, "it could not be launched: CUDA error 98, invalid device function");
    ck_assert(!run(&gpu, gives_up_two, &batch, &err));
    ASSERT_HAS(err.text, "2 of 4 tiles were given up: ");
    ck_assert(run(&gpu, right, &batch, &err) && is_right(&batch)); /* the count starts anew */
    sb_probe_gpu_release(&gpu);
}
END_TEST

/* An instruction without an accumulator is not asked for what it cannot give: only +0 is no accumulator, -0 is one. */
START_TEST(without_an_accumulator)
{
    struct sb_error err = {0};
    struct sb_probe_gpu gpu = fake_gpu();
    const struct sb_probe_impl none = {.name = "fake", .rows = ROWS, .cols = COLS, .zero_c = true};
    const struct sb_probe_batch batch = batch_of(2, 0);
    c[0] = 0;
    c[1] = 0x80000000u;
    ck_assert_msg(sb_probe_gpu_run_on(&gpu, without_c, &none, &batch, d, skipped, &err), "%s", err.text);
    for (int i = 0; i < 2 * DOTS; i++)
        ck_assert_msg(skipped[i] == (c[i] != 0), "%d", i);
    ck_assert(run(&gpu, right, &batch, &err)); /* any other can give all */
    ck_assert_uint_eq(skipped[1], 1);          /* and leaves that array alone */
    sb_probe_gpu_release(&gpu);
}
END_TEST

/* ---- in a run --------------------------------------------------------------------------------------------- */

static struct sb_probe_gpu of_run;
static sb_tc_probe_launch launch_of_run;
static int batches_left; /* until the device fails */

static bool on_fake_gpu(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *to,
                        uint8_t *skips, struct sb_error *err)
{
    if (batches_left-- == 0)
        device.fails = "synchronise";
    return sb_probe_gpu_run_on(&of_run, launch_of_run, impl, batch, to, skips, err);
}

static struct sb_probe_impl fake_impl(sb_tc_probe_launch launch, bool zero_c)
{
    of_run = fake_gpu();
    launch_of_run = launch;
    batches_left = -1;
    return (struct sb_probe_impl){.name = "fake",
                                  .summary = "made up",
                                  .kind = SB_PROBE_TENSOR_CORE,
                                  .rows = ROWS,
                                  .cols = COLS,
                                  .zero_c = zero_c,
                                  .run = on_fake_gpu};
}

static struct sb_probe_verdict probe(struct sb_probe_outcome *o, int judges, int64_t count, struct sb_probe_plan *plan,
                                     struct sb_probe_totals *totals)
{
    struct sb_error err = {0};
    *plan = (struct sb_probe_plan){.seed = 3, .count = count, .judge = o, .judges = judges};
    for (int i = 0; i < SB_TC_CLASSES; i++)
        plan->wanted[i] = true;
    ck_assert_msg(sb_probe_run(plan, totals, &err), "%s", err.text);
    sb_probe_gpu_release(&of_run);
    ck_assert_int_eq(device.live, 0);
    return sb_probe_verdict(plan, false, "");
}

/* c is +0 throughout, for it alone: of the same shape beside it another gets c as it was made. */
START_TEST(no_accumulator_and_one_of_zero)
{
    struct sb_probe_plan plan;
    struct sb_probe_totals totals;
    const struct sb_probe_impl impl = fake_impl(without_c, true);
    struct sb_probe_outcome o[2] = {{.impl = &impl, .runs = true}, {.impl = impl_called("model"), .runs = true}};
    const struct sb_probe_verdict v = probe(o, 2, 1000, &plan, &totals);
    ck_assert_int_eq(v.exit_status, 0);
    ck_assert_int_eq(o[0].all.compared, SB_TC_CLASSES * 1024); /* every class, all of it */
    ck_assert_int_eq(o[0].all.skipped, 0);
    ck_assert_int_eq(o[1].all.compared, SB_TC_CLASSES * 1024);
    ck_assert_int_eq(totals.dots, 2 * SB_TC_CLASSES * 1024);
    ck_assert(o[0].right.count > 0 && o[1].right.count > 0);
    int nonzero = 0;
    for (int i = 0; i < o[0].right.count; i++)
        ck_assert_uint_eq(o[0].right.v[i].c, 0);
    for (int i = 0; i < o[1].right.count; i++)
        nonzero += o[1].right.v[i].c != 0;
    ck_assert_int_gt(nonzero, o[1].right.count / 2);
    sb_probe_outcome_free(&o[0]);
    sb_probe_outcome_free(&o[1]);
}
END_TEST

/* One that leaves c out where there is one is found. */
START_TEST(a_lost_accumulator)
{
    struct sb_probe_plan plan;
    struct sb_probe_totals totals;
    const struct sb_probe_impl impl = fake_impl(without_c, false);
    struct sb_probe_outcome o = {.impl = &impl, .runs = true};
    ck_assert_int_eq(probe(&o, 1, 1000, &plan, &totals).exit_status, 1);
    ck_assert_int_gt(o.all.differ, o.all.compared / 4);
    sb_probe_outcome_free(&o);
}
END_TEST

/* Once the device has failed nothing more is made for it. */
START_TEST(a_device_that_fails_in_the_middle)
{
    struct sb_probe_plan plan;
    struct sb_probe_totals totals;
    const struct sb_probe_impl impl = fake_impl(right, false);
    struct sb_probe_outcome o = {.impl = &impl, .runs = true};
    batches_left = 2;
    const struct sb_probe_verdict v = probe(&o, 1, 1000, &plan, &totals);
    ck_assert_int_eq(v.exit_status, 3);
    ASSERT_HAS(v.text, "DID NOT FINISH: no verdict on fake: synchronise: CUDA error 700");
    ck_assert_int_eq(o.all.compared, 2 * 1024);
    ck_assert_int_eq(totals.dots, 3 * 1024);
    sb_probe_outcome_free(&o);
}
END_TEST

/* The report names the GPU and its driver, once one took part. */
START_TEST(the_report_names_the_gpu)
{
    static char text[8192];
    const struct sb_probe_totals totals = {0};
    const struct sb_probe_verdict v = {0};
    struct sb_probe_outcome o[2] = {
        {.impl = impl_called("model"), .runs = true},
        {.impl = impl_called("wgmma_d0"), .runs = true, .device = "0: NVIDIA H200 (sm_90)"}};
    struct sb_probe_plan plan = {.judge = o, .judges = 2};
    for (int gpu = 0; gpu < 2; gpu++) {
        o[1].runs = gpu != 0;
        memset(text, 0, sizeof text);
        FILE *const f = fmemopen(text, sizeof text - 1, "w");
        sb_probe_print(f, &plan, &totals);
        ck_assert_int_eq(fclose(f), 0);
        json_t *const all = sb_probe_json(&plan, &totals, &v);
        const json_t *const named = json_object_get(all, "gpu");
        ck_assert(json_is_string(json_object_get(all, "driver")));
        if (gpu != 0) {
            ASSERT_HAS(text, "\nGPU 0: NVIDIA H200 (sm_90); driver ");
            ASSERT_HAS(text, "\nwgmma_d0: an instruction without an accumulator; c is +0 in all");
            ck_assert_str_eq(json_string_value(named), "0: NVIDIA H200 (sm_90)");
        } else {
            ck_assert_ptr_null(strstr(text, "GPU 0"));
            ck_assert_ptr_null(strstr(text, "an instruction without"));
            ck_assert(json_is_null(named));
        }
        json_decref(all);
    }
}
END_TEST

#ifdef _OPENMP
static bool same_list(const struct sb_probe_list *x, const struct sb_probe_list *y)
{
    bool same = x->count == y->count;
    for (int i = 0; same && i < x->count; i++) {
        const struct sb_probe_vector *const v = &x->v[i], *const w = &y->v[i];
        same = v->cls == w->cls && v->tile == w->tile && v->row == w->row && v->col == w->col && v->got == w->got;
    }
    return same;
}

/* Counts and kept vectors do not depend on the number of threads. */
START_TEST(any_number_of_threads)
{
    static const int threads[] = {1, 2, 7};
    struct sb_probe_outcome o[3];
    for (int i = 0; i < 3; i++) {
        struct sb_probe_totals totals;
        struct sb_error err = {0};
        omp_set_num_threads(threads[i]);
        o[i] = (struct sb_probe_outcome){.impl = impl_called("model:24-bits"), .runs = true};
        struct sb_probe_plan plan = {.seed = 3, .count = 5000, .capture = true, .judge = &o[i], .judges = 1};
        plan.wanted[SB_TC_NORMAL] = plan.wanted[SB_TC_FLOOR] = true;
        ck_assert_msg(sb_probe_run(&plan, &totals, &err), "%s", err.text);
        ck_assert(o[i].all.differ > 0 && o[i].differ.count > 0 && o[i].captured.count == 2 * SB_PROBE_CAPTURED);
        ck_assert(o[i].all.differ == o[0].all.differ && o[i].all.compared == o[0].all.compared);
        ck_assert(same_list(&o[i].differ, &o[0].differ) && same_list(&o[i].right, &o[0].right));
        ck_assert(same_list(&o[i].captured, &o[0].captured));
    }
    for (int i = 0; i < 3; i++)
        sb_probe_outcome_free(&o[i]);
}
END_TEST
#endif

/* ---- which GPU has what ------------------------------------------------------------------------------------- */

START_TEST(instructions_that_are_not_there)
{
    static const struct {
        const char *targets;
        int compute_capability;
        const char *compiled, *said;
    } row[] = {
        {"sm_90a", 90, "sm_90a,sm_100f", ""},
        {"sm_90a", 90, "sm_90", "this build holds no image of sm_90a, only of: sm_90"},
        {"sm_90a", 90, "sm_100f", "this build holds no image of sm_90a, only of: sm_100f"},
        {"sm_90a", 120, "sm_90a,sm_120f", "written for sm_90a; this GPU is sm_120"},
        {"sm_90a", 89, "sm_89", "written for sm_90a; this GPU is sm_89"},
        {"sm_100f", 100, "sm_90a,sm_100f,sm_103f", ""},
        {"sm_100f", 103, "sm_90a,sm_100f,sm_103f", ""},
        {"sm_100f", 103, "sm_100a", "this build holds no image of sm_100f, only of: sm_100a"},
        {"sm_100f", 90, "sm_90a,sm_100f", "written for sm_100f; this GPU is sm_90"},
        {"sm_100f", 121, "sm_100f,sm_121f", "written for sm_100f; this GPU is sm_121"},
        {NULL, 80, "sm_80", ""}, /* another contract there, which is what a probe is to find */
        {NULL, 121, "sm_121f", ""},
        {NULL, 75, "sm_75", "of sm_80 and later; this GPU is sm_75"},
    };
    char text[160];
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        ck_assert_str_eq(
            sb_probe_gpu_lacks(row[i].targets, row[i].compute_capability, row[i].compiled, text, sizeof text),
            row[i].said);
}
END_TEST

/* Each row of the table asks for its own instruction, in its tiles. */
START_TEST(the_table)
{
    static const struct {
        const char *name;
        int number, rows, cols;
        bool zero_c;
    } row[] = {{"mma_sync", SB_PROBE_MMA_SYNC, 16, 8, false},
               {"wgmma", SB_PROBE_WGMMA, 64, 256, false},
               {"wgmma_d0", SB_PROBE_WGMMA_D0, 64, 256, true},
               {"tcgen05", SB_PROBE_TCGEN05, 128, 256, false}};
    int count, of_gpu = 0;
    const struct sb_probe_impl *const impl = sb_probe_impls(&count);
    for (int i = 0; i < count; i++)
        of_gpu += impl[i].kind == SB_PROBE_TENSOR_CORE;
    ck_assert_int_eq(of_gpu, SB_PROBE_INSTRUCTIONS);
    for (int i = 0; i < of_gpu; i++) {
        const struct sb_probe_impl *const p = impl_called(row[i].name);
        ck_assert(p->kind == SB_PROBE_TENSOR_CORE && p->number == row[i].number && p->zero_c == row[i].zero_c);
        ck_assert(p->rows == row[i].rows && p->cols == row[i].cols);
    }
}
END_TEST

/* A GPU that is not there: the reason, and no crash. No machine has as many. */
START_TEST(no_such_gpu)
{
    char text[200];
    struct sb_error err = {0};
    const struct sb_probe_impl *const impl = impl_called("mma_sync");
    const struct sb_probe_batch batch = batch_of(1, 0);
    ck_assert(!sb_probe_gpu_choose(SB_MAX_DEVICES - 1, &err));
    ck_assert_int_eq(err.exit, SB_EXIT_NOTHING_RAN);
    ASSERT_HAS(err.text, "--device 63: ");
    ck_assert(!sb_probe_gpu_available(impl, text, sizeof text));
    ASSERT_HAS(err.text, text);
    ck_assert(!sb_probe_gpu_run(impl, &batch, d, skipped, &err));
    ASSERT_HAS(err.text, text);
    sb_probe_gpu_close();
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("harness probe on a GPU");
    TCase *tc = tcase_create("batches");
    tcase_add_test(tc, one_batch);
    tcase_add_test(tc, buffers_are_used_again);
    tcase_add_test(tc, a_stale_result_is_unwritten);
    tcase_add_loop_test(tc, device_errors, 0, 5);
    tcase_add_test(tc, too_little_memory);
    tcase_add_test(tc, too_little_memory_to_grow);
    tcase_add_test(tc, launches_that_fail);
    tcase_add_test(tc, without_an_accumulator);
    suite_add_tcase(suite, tc);
    TCase *runs = tcase_create("runs");
    tcase_add_test(runs, no_accumulator_and_one_of_zero);
    tcase_add_test(runs, a_lost_accumulator);
    tcase_add_test(runs, a_device_that_fails_in_the_middle);
    tcase_add_test(runs, the_report_names_the_gpu);
#ifdef _OPENMP
    tcase_add_test(runs, any_number_of_threads);
#endif
    suite_add_tcase(suite, runs);
    TCase *gpus = tcase_create("gpus");
    tcase_add_test(gpus, instructions_that_are_not_there);
    tcase_add_test(gpus, the_table);
    tcase_add_test(gpus, no_such_gpu);
    suite_add_tcase(suite, gpus);
    return suite;
}
