/* The runner against implementations that misbehave, each in one way: every one must fail with a text that says how. */
#include "harness_fake.h"

#include "../harness/run_case.h"

#include "check_main.h"

/* Runs one implementation on one call, with its prelude where the op asks for one. */
static struct sb_result run_of(const struct sb_op_list *ops, const char *variant, const char *call, bool *healthy)
{
    struct sb_case c, before;
    struct sb_data d, first = {0};
    struct sb_error err = {0};
    char id[SB_ID_SIZE];
    struct sb_result r = {.outcome = SB_NOT_RUN};
    const struct sb_memory host = sb_memory_host();
    ck_assert_msg(sb_case_parse(&c, ops, call, &err), "%s", err.text);
    ck_assert(fake_generate(&c, &d, &err) && fake_reference(&c, &d, &err));
    struct sb_prelude prelude = {&before, &first};
    const bool two = fake_prelude(&c, id, sizeof id) != NULL;
    if (two) {
        ck_assert(sb_case_parse(&before, &fake_table.list, id, &err));
        ck_assert(fake_generate(&before, &first, &err) && fake_reference(&before, &first, &err));
    }
    *healthy = sb_run_case(sb_variant_find(&fake_rows[0], variant), &c, &d, two ? &prelude : NULL, &host, &r);
    sb_data_free(&d);
    sb_data_free(&first);
    return r;
}

static struct sb_result run(const char *variant, const char *call, bool *healthy)
{
    return run_of(&fake_table.list, variant, call, healthy);
}

static void expect(const char *variant, const char *call, enum sb_outcome outcome, const char *text)
{
    bool healthy;
    const struct sb_result r = run(variant, call, &healthy);
    ck_assert_msg(r.outcome == outcome, "%s on %s: %s, detail '%s'", variant, call, sb_outcome_name(r.outcome),
                  r.detail);
    char all[1600];
    snprintf(all, sizeof all, "%s: %lld of %lld elements differ\n%s\n%s", r.tensor, (long long)r.mismatches,
             (long long)r.elements, r.pattern, r.detail);
    ck_assert_msg(strstr(all, text) != NULL, "%s on %s: '%s', wanted '%s'", variant, call, all, text);
    const size_t end = strlen(r.detail);
    ck_assert_msg(end == 0 || (r.detail[end - 1] != ' ' && strstr(r.detail, "; \n") == NULL), "'%s'", r.detail);
    ck_assert_int_eq(r.seconds >= 0, outcome == SB_PASS || outcome == SB_FAIL);
    if (outcome == SB_PASS)
        ck_assert_str_eq(r.detail, "");
}

START_TEST(right_passes)
{
    bool healthy;
    const struct sb_result r = run("right", "fake/n=1000", &healthy);
    ck_assert_int_eq(r.outcome, SB_PASS);
    ck_assert(healthy);
    ck_assert_int_eq(r.bytes_compared, 1000 * 4 + 8 + (int)sizeof(struct sb_status));
    ck_assert_int_eq(r.mismatches, 0);
    ck_assert_str_eq(r.detail, "");
    expect("right", "fake/n=0", SB_PASS, "");
    expect("right", "fake/n=1", SB_PASS, "");
    expect("right", "fake/n=16,reject=1", SB_PASS, "");
    expect("right", "fake/n=20,after=500", SB_PASS, "");
    expect("right", "fake/n=500,after=20", SB_PASS, "");
    expect("right", "fake/n=33,repeat=7", SB_PASS, "");
    expect("host_reject", "fake/n=16,reject=1", SB_PASS, "");
}
END_TEST

START_TEST(wrong_output_fails)
{
    bool healthy;
    const struct sb_result r = run("wrong_last", "fake/n=1000", &healthy);
    ck_assert_int_eq(r.outcome, SB_FAIL);
    ck_assert(healthy); /* the device is fine, the bits are not */
    ck_assert_int_eq(r.mismatches, 1);
    ck_assert_int_eq(r.elements, 1000);
    ck_assert_str_eq(r.tensor, "dst");
    ck_assert_str_eq(r.sample[0].index, "[999]");
    ck_assert_ptr_nonnull(strstr(r.pattern, "the last"));
    /* The first tensor is told by the fields; the detail does not tell it again. */
    ck_assert(strncmp(r.detail, "the contract's relations fail as well: ", 39) == 0);
    ck_assert_ptr_nonnull(strstr(r.detail, "\nin run 1 of 2, outputs poisoned with 0xA5"));
    ck_assert_ptr_null(strstr(r.detail, "elements differ"));
    expect("wrong_last", "fake/n=1", SB_FAIL, "the only element");
    expect("other_order", "fake/n=1000", SB_FAIL, "right in another order");
    expect("other_order", "fake/n=1000", SB_FAIL, "the right values in another order");
    expect("wrong_last", "fake/n=1000", SB_FAIL, "the contract's relations fail as well");
}
END_TEST

START_TEST(unwritten_output_fails)
{
    expect("short_tail", "fake/n=1000", SB_FAIL, "never written (still the poison 0xA5)");
    expect("short_tail", "fake/n=1000", SB_FAIL, "the tail, from element 995 on");
    expect("nothing", "fake/n=4", SB_FAIL, "the status was never written");
    expect("nothing", "fake/n=4", SB_FAIL, "dst: 4 of 4 elements differ");
    expect("nothing", "fake/n=4", SB_FAIL, "\ntotal: 1 of 1 elements differ (100 %), the first at [] (");
    expect("lucky_byte", "fake/n=9", SB_FAIL, "in run 2 of 2, outputs poisoned with 0x5A");
}
END_TEST

START_TEST(overruns_fail)
{
    expect("overrun_after", "fake/n=1000", SB_FAIL, "output dst was overrun after its memory");
    expect("overrun_after", "fake/n=0", SB_FAIL, "output dst was overrun after its memory");
    expect("overrun_before", "fake/n=1000", SB_FAIL, "output dst was overrun before its memory");
    expect("overrun_workspace", "fake/n=10", SB_FAIL, "the workspace was overrun after");
    expect("overrun_input", "fake/n=10", SB_FAIL, "input src was overrun after");
    expect("overrun_status", "fake/n=10", SB_FAIL, "the status word was overrun after");
    /* With a prelude the buffer is larger: what lies past the small call's output is not its own. */
    expect("overrun_after", "fake/n=20,after=500", SB_FAIL,
           "output dst was overrun after its memory: 4 guard bytes changed, from 1 to 4");
}
END_TEST

START_TEST(inputs_must_not_change)
{
    expect("changes_input", "fake/n=10", SB_FAIL, "the call changed its input src: 1 bytes, the first at byte 13");
}
END_TEST

START_TEST(rejections)
{
    expect("writes_on_reject", "fake/n=16,reject=1", SB_FAIL,
           "rejected but wrote 4 bytes of output dst, the first at byte 8");
    expect("wrong_where", "fake/n=16,reject=1", SB_FAIL, "the status differs");
    expect("no_status", "fake/n=16,reject=1", SB_FAIL, "the status was never written");
    expect("no_status", "fake/n=16", SB_FAIL, "the status was never written");
    expect("wrong_where", "fake/n=16", SB_FAIL, "the status differs");
}
END_TEST

START_TEST(workspace_is_garbage)
{
    expect("wants_zeros", "fake/n=16", SB_FAIL, "total: 1 of 1");
    expect("wants_unused", "fake/n=20", SB_PASS, "");
    expect("wants_unused", "fake/n=20,after=500", SB_FAIL, "dst: 1 of 20");
}
END_TEST

START_TEST(every_repeat_is_compared)
{
    expect("flaky", "fake/n=16,repeat=4", SB_FAIL, "in run 3 of 4");
}
END_TEST

START_TEST(misalignment)
{
    expect("misaligned", "fake/n=16", SB_PASS, "");
    expect("misaligned", "fake/n=16,misalign=3", SB_PASS, "");
    expect("misaligned", "fake/n=16,misalign=15", SB_PASS, "");
    expect("misaligned", "fake/n=16,misalign_out=4", SB_PASS, "");
    expect("misaligned", "fake/n=16,misalign=3,misalign_out=12", SB_PASS, "");
    expect("misaligned", "fake/n=16,after=500,misalign=7,misalign_out=8", SB_PASS, "");
    expect("misaligned", "fake/n=500,after=16,misalign=7,misalign_out=8", SB_PASS, "");
    expect("overrun_after", "fake/n=1000,misalign_out=4", SB_FAIL, "output dst was overrun after its memory");
    expect("overrun_before", "fake/n=1000,misalign_out=4", SB_FAIL, "output dst was overrun before its memory");
}
END_TEST

/* What the op asks for is what the implementation gets: without the hook every tensor starts on a boundary. */
START_TEST(misalignment_is_the_hooks_word)
{
    struct sb_op plain = fake_op;
    plain.misalign = NULL;
    const struct sb_op *const list[] = {&plain};
    const struct sb_op_list ops = {list, 1};
    const char *const calls[] = {"fake/n=16", "fake/n=16,misalign=3", "fake/n=16,misalign_out=4"};
    for (int i = 0; i < 3; i++) {
        bool healthy;
        const struct sb_result r = run_of(&ops, "misaligned", calls[i], &healthy);
        ck_assert_int_eq(r.outcome, i == 0 ? SB_PASS : SB_FAIL);
    }
}
END_TEST

START_TEST(errors_end_the_worker)
{
    bool healthy = true;
    const struct sb_result r = run("error", "fake/n=16", &healthy);
    ck_assert_int_eq(r.outcome, SB_FAIL);
    ck_assert(!healthy);
    ck_assert_ptr_nonnull(strstr(r.detail, "the launch failed: CUDA error 700"));
}
END_TEST

START_TEST(what_cannot_run_is_skipped)
{
    expect("refuses", "fake/n=16", SB_SKIP, "needs a GPU with wings");
    expect("uncompiled", "fake/n=16", SB_NOT_RUN, "built without CUDA"); /* another build could */
}
END_TEST

/* ---- a memory that fails --------------------------------------------------------------------------- */

static bool sync_fails(struct sb_error *err)
{
    return sb_fail(err, SB_EXIT_MISMATCH, "the device stopped: CUDA error 719");
}

static void *no_memory(size_t bytes)
{
    (void)bytes;
    return NULL;
}

static struct sb_result run_in(const struct sb_memory *memory, bool *healthy)
{
    struct sb_case c;
    struct sb_data d;
    struct sb_error err = {0};
    struct sb_result r = {.outcome = SB_NOT_RUN};
    ck_assert(sb_case_parse(&c, &fake_table.list, "fake/n=8", &err));
    ck_assert(fake_generate(&c, &d, &err) && fake_reference(&c, &d, &err));
    *healthy = sb_run_case(&fake_variants[0], &c, &d, NULL, memory, &r);
    sb_data_free(&d);
    return r;
}

START_TEST(device_errors_fail)
{
    bool healthy;
    struct sb_memory m = sb_memory_host();
    m.synchronise = sync_fails;
    const struct sb_result r = run_in(&m, &healthy);
    ck_assert_int_eq(r.outcome, SB_FAIL);
    ck_assert(!healthy);
    ck_assert_ptr_nonnull(strstr(r.detail, "CUDA error 719"));
}
END_TEST

START_TEST(too_little_memory_is_no_pass)
{
    bool healthy;
    struct sb_memory m = sb_memory_host();
    m.allocate = no_memory;
    const struct sb_result r = run_in(&m, &healthy);
    ck_assert_int_eq(r.outcome, SB_SKIP);
    ck_assert_ptr_nonnull(strstr(r.detail, "not enough device memory"));
}
END_TEST

/* The n-th and every later request is refused. */
static int host_requests_left;
static void *host_memory_runs_out(size_t bytes)
{
    return host_requests_left-- > 0 ? malloc(bytes) : NULL;
}

START_TEST(too_little_host_memory_is_not_run)
{
    static const char *const missing[] = {"of src", "of dst", "of total"};
    for (int granted = 0; granted < 3; granted++) {
        bool healthy;
        struct sb_memory m = sb_memory_host();
        m.host_allocate = host_memory_runs_out;
        host_requests_left = granted;
        const struct sb_result r = run_in(&m, &healthy);
        ck_assert_int_eq(r.outcome, SB_NOT_RUN);
        ck_assert(healthy);
        ck_assert_msg(strstr(r.detail, "not enough host memory for ") != NULL &&
                          strstr(r.detail, missing[granted]) != NULL,
                      "'%s'", r.detail);
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("run_case");
    TCase *t = tcase_create("all");
    tcase_add_test(t, right_passes);
    tcase_add_test(t, wrong_output_fails);
    tcase_add_test(t, unwritten_output_fails);
    tcase_add_test(t, overruns_fail);
    tcase_add_test(t, inputs_must_not_change);
    tcase_add_test(t, rejections);
    tcase_add_test(t, workspace_is_garbage);
    tcase_add_test(t, every_repeat_is_compared);
    tcase_add_test(t, misalignment);
    tcase_add_test(t, misalignment_is_the_hooks_word);
    tcase_add_test(t, errors_end_the_worker);
    tcase_add_test(t, what_cannot_run_is_skipped);
    tcase_add_test(t, device_errors_fail);
    tcase_add_test(t, too_little_memory_is_no_pass);
    tcase_add_test(t, too_little_host_memory_is_not_run);
    suite_add_tcase(s, t);
    return s;
}
