/* The runner on a case of which only samples of the output are known: an implementation must be right in the samples,
 * write every element and give the same bits in every run. Each planted fault is seen and its place named in
 * coordinates of the whole output. The implementations compute with the plain reference, on host memory. */
#include "../golden/digest.h"
#include "../golden/file.h"
#include "../golden/ops.h"
#include "../golden/samples.h"
#include "../golden/set.h"
#include "../gpu/variant.h"
#include "../harness/compare.h"
#include "../harness/rerun.h"
#include "../harness/run_case.h"
#include "../harness/worker.h"
#include "../ref/wgrad_varlen_k.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_main.h"

#define ASSERT_HAS(text, part) ck_assert_msg(strstr(text, part) != NULL, "'%s' lacks '%s'", text, part)

enum { E = 4, M = 256, N = 256 };
static const char sampled_id[] = "wgrad_varlen_k/M=256,N=256,E=4,counts=150+0+37+1,sample=12";
static const char gathered_id[] =
    "wgrad_varlen_k/M=256,N=256,E=4,counts=150+0+37+1,gather=random,out_dtype=bf16,sample=12";

static const struct sb_op *const op_array[] = {&sb_op_wgrad_varlen_k};
static const struct sb_op_list ops = {op_array, 1};

/* A place of dw that no sample holds, and one that sample 9 does, set by run(). */
static int64_t outside, inside;
static int calls;

static struct sb_gpu_result right(const struct sb_gpu_call *call)
{
    const struct sb_tensor *dy = sb_call_in(call, "dy"), *x = sb_call_in(call, "x"), *dw = sb_call_out(call, "dw");
    const struct sb_wgrad_args args = {.dy = dy->data,
                                       .x = x->data,
                                       .cu_seqlens = sb_call_in(call, "cu_seqlens")->data,
                                       .x_gather_idx = sb_call_in(call, "x_gather_idx")->data,
                                       .T = dy->shape[0],
                                       .Tx = x->shape[0],
                                       .M = M,
                                       .N = N,
                                       .E = E,
                                       .ld_dy = M,
                                       .ld_x = N,
                                       .out_dtype = dw->dtype};
    ck_assert_int_eq(sb_tensor_count(dw), E * M * N); /* the whole, not the samples */
    *call->status = sb_ref_wgrad_varlen_k(&args, dw->data);
    calls++;
    return (struct sb_gpu_result){0, {SB_OK, 0, {0, 0, 0}, 0}};
}

static unsigned char *element(const struct sb_gpu_call *call, int64_t place)
{
    const struct sb_tensor *dw = sb_call_out(call, "dw");
    return (unsigned char *)dw->data + (size_t)place * sb_dtype_size(dw->dtype);
}

static struct sb_gpu_result wrong_inside(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = right(call);
    *element(call, inside) ^= 1;
    return r;
}

/* Leaves `count` elements from `place` on as they were found. */
static struct sb_gpu_result unwritten(const struct sb_gpu_call *call, int64_t place, int64_t count)
{
    unsigned char kept[64];
    const size_t bytes = (size_t)count * sb_dtype_size(sb_call_out(call, "dw")->dtype);
    memcpy(kept, element(call, place), bytes);
    const struct sb_gpu_result r = right(call);
    memcpy(element(call, place), kept, bytes);
    return r;
}

static struct sb_gpu_result unwritten_outside(const struct sb_gpu_call *call)
{
    return unwritten(call, outside, 3);
}

static struct sb_gpu_result unwritten_inside(const struct sb_gpu_call *call)
{
    return unwritten(call, inside, 1);
}

static struct sb_gpu_result unwritten_last(const struct sb_gpu_call *call)
{
    return unwritten(call, (int64_t)E * M * N - 1, 1);
}

/* Written in the first run, forgotten in the second. */
static struct sb_gpu_result forgotten_once(const struct sb_gpu_call *call)
{
    return calls % 2 == 1 ? unwritten(call, outside, 1) : right(call);
}

static struct sb_gpu_result unsteady_outside(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = right(call);
    *element(call, outside) ^= (unsigned char)(calls & 1);
    return r;
}

static struct sb_gpu_result unsteady_inside(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = right(call);
    *element(call, inside) ^= (unsigned char)(calls == 2);
    return r;
}

/* The tiles of two experts in each other's place. */
static struct sb_gpu_result swapped_experts(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = right(call);
    const size_t plane = (size_t)M * N * sb_dtype_size(sb_call_out(call, "dw")->dtype);
    unsigned char *first = element(call, 0), *third = element(call, (int64_t)2 * M * N), *kept = malloc(plane);
    memcpy(kept, first, plane);
    memcpy(first, third, plane);
    memcpy(third, kept, plane);
    free(kept);
    return r;
}

static struct sb_gpu_result overrun(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = right(call);
    *element(call, (int64_t)E * M * N) ^= 1;
    return r;
}

static struct sb_gpu_result changes_input(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = right(call);
    *(unsigned char *)sb_call_in(call, "x")->data ^= 1;
    return r;
}

/* What samples cannot see: steady, written and wrong where none is. */
static struct sb_gpu_result wrong_outside(const struct sb_gpu_call *call)
{
    const struct sb_gpu_result r = right(call);
    *element(call, outside) ^= 1;
    return r;
}

static void find_places(const struct sb_samples *s)
{
    enum { TILE = 64 * 64, OF = 9, ROW = 5, COLUMN = 7 };
    int64_t block;
    inside = sb_samples_place(s, OF * TILE + ROW * 64 + COLUMN, &block);
    ck_assert_int_eq(block, OF);
    bool *held = calloc((size_t)E * M * N, 1);
    for (int64_t i = 0; i < s->count * TILE; i++)
        held[sb_samples_place(s, i, &block)] = true;
    outside = (int64_t)2 * M * N;
    while (held[outside] || held[outside + 1] || held[outside + 2])
        outside++;
    free(held);
}

static struct sb_result run_with(struct sb_gpu_result (*f)(const struct sb_gpu_call *), const char *id,
                                 const struct sb_memory *memory)
{
    struct sb_case c;
    struct sb_data d;
    struct sb_error err = {0};
    struct sb_result r = {.outcome = SB_NOT_RUN};
    const struct sb_variant variant = {.name = "planted", .targets = "any", .summary = "test", .run = f};
    ck_assert_msg(sb_case_parse(&c, &ops, id, &err), "%s", err.text);
    ck_assert(c.op->generate(&c, &d, &err) && c.op->reference(&c, &d, &err));
    if (d.samples[0].count > 0)
        find_places(&d.samples[0]);
    calls = 0;
    ck_assert(sb_run_case(&variant, &c, &d, NULL, memory, &r));
    sb_data_free(&d);
    return r;
}

static struct sb_result run(struct sb_gpu_result (*f)(const struct sb_gpu_call *), const char *id)
{
    const struct sb_memory host = sb_memory_host();
    return run_with(f, id, &host);
}

static const char *place_text(int64_t place)
{
    static char text[64];
    snprintf(text, sizeof text, "[e=%d, m=%d, n=%d]", (int)(place / (M * N)), (int)(place / N % M), (int)(place % N));
    return text;
}

/* ---- what passes ---------------------------------------------------------------------------------- */

START_TEST(right_passes_and_says_how_much)
{
    const char *const id = _i == 0 ? sampled_id : gathered_id;
    const struct sb_result r = run(right, id);
    ck_assert_msg(r.outcome == SB_PASS, "%s", r.detail);
    ck_assert_str_eq(r.detail, "");
    ASSERT_HAS(r.sampled, "12 tiles of 64x64, ");
    ASSERT_HAS(r.sampled, " % of dw");
    ck_assert_int_le(r.bytes_compared, 12 * 64 * 64 * (_i == 0 ? 4 : 2) + (int)sizeof(struct sb_status));
    ck_assert_int_gt(r.bytes_compared, 9 * 64 * 64 * (_i == 0 ? 4 : 2));
}
END_TEST

START_TEST(a_whole_output_says_nothing_of_samples)
{
    const struct sb_result r = run(right, "wgrad_varlen_k/M=256,N=256,E=4,counts=150+0+37+1");
    ck_assert_int_eq(r.outcome, SB_PASS);
    ck_assert_str_eq(r.sampled, "");
    ck_assert_int_eq(r.bytes_compared, E * M * N * 4 + (int)sizeof(struct sb_status));
}
END_TEST

/* The limit of samples, on purpose a test: it is why such a PASS is called what it is. */
START_TEST(what_no_sample_holds_is_not_known)
{
    ck_assert_int_eq(run(wrong_outside, sampled_id).outcome, SB_PASS);
}
END_TEST

/* ---- what fails ----------------------------------------------------------------------------------- */

START_TEST(a_wrong_element_in_a_sample)
{
    const struct sb_result r = run(wrong_inside, _i == 0 ? sampled_id : gathered_id);
    char index[96];
    ck_assert_int_eq(r.outcome, SB_FAIL);
    ck_assert_str_eq(r.tensor, "dw");
    ck_assert_int_ge(r.mismatches, 1);
    snprintf(index, sizeof index, "%s of sample ", place_text(inside));
    ASSERT_HAS(r.sample[0].index, index);
    ASSERT_HAS(r.detail, "in run 1 of 2");
    ASSERT_HAS(r.sampled, "12 tiles");
}
END_TEST

START_TEST(an_unwritten_element_anywhere)
{
    for (int i = 0; i < 2; i++) {
        const struct sb_result r = run(unwritten_outside, i == 0 ? sampled_id : gathered_id);
        ck_assert_int_eq(r.outcome, SB_FAIL);
        ASSERT_HAS(r.detail, "dw: 3 elements were never written");
        ASSERT_HAS(r.detail, place_text(outside));
        ASSERT_HAS(r.detail, "in run 2 of 2");
    }
    const struct sb_result within = run(unwritten_inside, sampled_id);
    ck_assert_int_eq(within.outcome, SB_FAIL);
    ASSERT_HAS(within.pattern, "never written");
    ASSERT_HAS(within.sample[0].index, place_text(inside));
    ck_assert_int_eq(run(unwritten_last, sampled_id).outcome, SB_FAIL);
}
END_TEST

START_TEST(an_element_that_changes_from_run_to_run)
{
    const struct sb_result r = run(unsteady_outside, sampled_id);
    ck_assert_int_eq(r.outcome, SB_FAIL);
    ASSERT_HAS(r.detail, "dw: 1 elements differ between run 1 and run 2");
    ASSERT_HAS(r.detail, place_text(outside));
    const struct sb_result forgotten = run(forgotten_once, sampled_id);
    ck_assert_int_eq(forgotten.outcome, SB_FAIL);
    ASSERT_HAS(forgotten.detail, "dw: 1 elements differ between run 1 and run 2");
    const struct sb_result within = run(unsteady_inside, sampled_id);
    ck_assert_int_eq(within.outcome, SB_FAIL);
    ASSERT_HAS(within.sample[0].index, place_text(inside));
}
END_TEST

START_TEST(tiles_in_each_others_place)
{
    const struct sb_result r = run(swapped_experts, sampled_id);
    ck_assert_int_eq(r.outcome, SB_FAIL);
    ck_assert_int_gt(r.mismatches, 64 * 64);
    ASSERT_HAS(r.sample[0].index, "[e=0, m=0, n=0] of sample 0");
}
END_TEST

START_TEST(guards_and_inputs_are_watched_as_ever)
{
    ASSERT_HAS(run(overrun, sampled_id).detail, "output dw was overrun after its memory");
    ASSERT_HAS(run(changes_input, sampled_id).detail, "the call changed its input x");
}
END_TEST

START_TEST(a_rejected_call_must_leave_all_of_it)
{
    static const char id[] = "wgrad_varlen_k/M=256,N=256,E=4,counts=150+0+37+1,break=descending,sample=12";
    const struct sb_result r = run(right, id);
    ck_assert_msg(r.outcome == SB_PASS, "%s", r.detail);
    ck_assert_str_eq(r.sampled, "");
    ck_assert_int_eq(r.bytes_compared, E * M * N * 4 + (int)sizeof(struct sb_status));
    outside = (int64_t)2 * M * N;
    ASSERT_HAS(run(wrong_outside, id).detail, "the call was rejected but wrote 1 bytes of output dw");
}
END_TEST

/* ---- memory --------------------------------------------------------------------------------------- */

static int requests_left;
static void *memory_runs_out(size_t bytes)
{
    return requests_left-- > 0 ? malloc(bytes) : NULL;
}

/* In the first run, or for the pieces of the second: never a pass. */
START_TEST(too_little_host_memory_is_not_run)
{
    int passes = 0;
    for (int granted = 0; granted < 12 && passes == 0; granted++) {
        struct sb_memory m = sb_memory_host();
        m.host_allocate = memory_runs_out;
        requests_left = granted;
        const struct sb_result r = run_with(right, sampled_id, &m);
        passes += r.outcome == SB_PASS;
        ck_assert(r.outcome == SB_PASS || r.outcome == SB_NOT_RUN);
        ck_assert(r.outcome == SB_PASS || strstr(r.detail, "not enough host memory for ") != NULL);
        ck_assert(r.outcome != SB_PASS || granted == 8); /* three inputs and one output a run */
    }
    ck_assert_int_eq(passes, 1);
}
END_TEST

/* Pieces of any size, down to an element, give the same findings. */
START_TEST(pieces_of_an_output)
{
    enum { COUNT = 23 };
    const struct sb_memory host = sb_memory_host();
    for (size_t room = 4; room <= 4 * COUNT + 8; room += 3) {
        uint32_t before[COUNT], now[COUNT];
        unsigned char chunk[4 * COUNT + 8];
        struct sb_error err = {0};
        struct sb_tensor t;
        sb_tensor_describe(&t, "dw", SB_F32, 1, (int64_t[]){COUNT});
        for (int i = 0; i < COUNT; i++)
            before[i] = now[i] = (uint32_t)i;
        before[4] = 0xA5A5A5A5;
        now[4] = 0x5A5A5A5A; /* unwritten */
        before[9] = 0xA5A5A5A5;
        now[9] = 0x5A5A5A5B; /* the second run wrote one byte of it */
        now[COUNT - 1] ^= 1;
        struct sb_rerun r = {.before = before, .poison_before = 0xA5, .poison = 0x5A};
        ck_assert(sb_rerun_compare(&r, &t, now, &host, chunk, room, &err));
        ck_assert_int_eq(r.unwritten, 1);
        ck_assert_int_eq(r.first_unwritten, 4);
        ck_assert_int_eq(r.different, 2);
        ck_assert_int_eq(r.first_different, 9);
        ck_assert_mem_eq(before, now, sizeof now);
    }
}
END_TEST

/* ---- the worker ----------------------------------------------------------------------------------- */

static const struct sb_variant variants[] = {
    {.name = "right", .targets = "any", .summary = "test", .run = right},
    {.name = "wrong", .targets = "any", .summary = "test", .run = wrong_inside},
    {.name = "unwritten", .targets = "any", .summary = "test", .run = unwritten_outside},
    {0},
};
static const struct sb_op_row rows[] = {{&sb_op_wgrad_varlen_k, variants}};
static const struct sb_op_table op_table = {rows, {op_array, 1}};

/* One job in this process: the result of `variant`. */
static struct sb_result serve(struct sb_job job, const char *variant)
{
    const struct sb_memory memory = sb_memory_host();
    const struct sb_message hello = {.kind = SB_MSG_HELLO, .usable = true, .device = "host (sm_0)"};
    struct sb_result result = {.outcome = SB_OUTCOME_COUNT};
    struct sb_message m;
    char *line = NULL;
    size_t size = 0;
    FILE *jobs = tmpfile(), *out = tmpfile();
    job.variants = 1;
    snprintf(job.case_id, sizeof job.case_id, "%s", sampled_id);
    snprintf(job.variant[0], sizeof job.variant[0], "%s", variant);
    ck_assert(sb_job_write(jobs, &job));
    rewind(jobs);
    ck_assert_int_eq(sb_worker_serve(&op_table, &memory, &hello, jobs, out), 0);
    rewind(out);
    while (getline(&line, &size, out) > 0)
        if (sb_message_parse(line, &m) && m.kind == SB_MSG_RESULT)
            result = m.result;
    free(line);
    fclose(jobs);
    fclose(out);
    return result;
}

static void expect(struct sb_job job, const char *variant, enum sb_outcome outcome, const char *judge)
{
    const struct sb_result r = serve(job, variant);
    ck_assert_msg(r.outcome == outcome, "%s: %s", variant, r.detail);
    ck_assert_str_eq(r.judge, judge);
    ASSERT_HAS(r.sampled, "12 tiles of 64x64, ");
}

static void find_places_of_case(void)
{
    struct sb_case c;
    struct sb_samples s;
    struct sb_error err = {0};
    ck_assert(sb_case_parse(&c, &ops, sampled_id, &err) && sb_case_samples(&c, 0, &s, &err));
    find_places(&s);
    sb_samples_free(&s);
}

/* Who vouches for samples is said as it is for whole outputs, and that they are samples. */
START_TEST(the_judge_is_named)
{
    char folder[] = "/tmp/samebits-sampled-XXXXXX", path[128], command[128];
    struct sb_job job = {.golden_root = ""};
    struct sb_manifest m;
    struct sb_case c;
    struct sb_error err = {0};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    find_places_of_case();
    expect(job, "right", SB_PASS, "sampled reference");
    ck_assert(sb_case_parse(&c, &ops, sampled_id, &err));
    ck_assert(sb_set_make(&c, 1, "production", folder, &m, &ops, NULL, NULL, &err));
    snprintf(job.stored, sizeof job.stored, "%s/%s.h5", folder, sampled_id);
    snprintf(job.manifest, sizeof job.manifest, "%s/manifest.json", folder);
    expect(job, "right", SB_PASS, "sampled golden");
    expect(job, "wrong", SB_FAIL, "sampled golden");
    expect(job, "unwritten", SB_FAIL, "sampled golden");
    expect(job, "ref", SB_PASS, "stored golden");
    job.stored[0] = job.manifest[0] = '\0';
    snprintf(job.golden_root, sizeof job.golden_root, "%s", folder);
    snprintf(path, sizeof path, "%s/digests", folder);
    ck_assert(sb_folder_make(path, &err));
    snprintf(path, sizeof path, "%s/digests/production.json", folder);
    ck_assert(sb_manifest_write(&m, path, &ops, &err));
    expect(job, "right", SB_PASS, "sampled golden, digests confirmed");
    expect(job, "ref", SB_PASS, "committed digests");
    m.entry[0].tensor[3].sha256[0] = m.entry[0].tensor[3].sha256[0] == '0' ? '1' : '0'; /* outputs/dw */
    ck_assert_str_eq(m.entry[0].tensor[3].name, "outputs/dw");
    ck_assert(sb_manifest_write(&m, path, &ops, &err));
    expect(job, "ref", SB_FAIL, "committed digests");
    expect(job, "right", SB_PASS, "sampled reference");
    sb_manifest_free(&m);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("run_case on samples");
    TCase *pass = tcase_create("pass");
    tcase_add_loop_test(pass, right_passes_and_says_how_much, 0, 2);
    tcase_add_test(pass, a_whole_output_says_nothing_of_samples);
    tcase_add_test(pass, what_no_sample_holds_is_not_known);
    suite_add_tcase(s, pass);
    TCase *fail = tcase_create("fail");
    tcase_add_loop_test(fail, a_wrong_element_in_a_sample, 0, 2);
    tcase_add_test(fail, an_unwritten_element_anywhere);
    tcase_add_test(fail, an_element_that_changes_from_run_to_run);
    tcase_add_test(fail, tiles_in_each_others_place);
    tcase_add_test(fail, guards_and_inputs_are_watched_as_ever);
    tcase_add_test(fail, a_rejected_call_must_leave_all_of_it);
    suite_add_tcase(s, fail);
    TCase *worker = tcase_create("worker");
    tcase_add_test(worker, the_judge_is_named);
    suite_add_tcase(s, worker);
    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, too_little_host_memory_is_not_run);
    tcase_add_test(memory, pieces_of_an_output);
    suite_add_tcase(s, memory);
    return s;
}
