/* The supervisor against workers that crash, hang, print and give up. This program is its own worker: started with the
 * argument "worker" it serves jobs on the made-up op in host memory. */
#include "harness_fake.h"

#include <check.h>

#include "../harness/child.h"
#include "../harness/run_case.h"
#include "../harness/supervise.h"
#include "../harness/worker.h"

enum { MAX_RESULTS = 40 };

struct seen {
    int count;
    struct sb_result result[MAX_RESULTS];
};

static void on_result(void *user, struct sb_result *r)
{
    struct seen *seen = user;
    ck_assert_int_lt(seen->count, MAX_RESULTS);
    seen->result[seen->count++] = *r;
}

static const struct sb_result *of(const struct seen *seen, const char *variant)
{
    const struct sb_result *found = NULL;
    for (int i = 0; i < seen->count; i++)
        if (strcmp(seen->result[i].variant, variant) == 0) {
            ck_assert_msg(found == NULL, "two results for %s", variant);
            found = &seen->result[i];
        }
    ck_assert_msg(found != NULL, "no result for %s", variant);
    return found;
}

static void expect(const struct seen *seen, const char *variant, enum sb_outcome outcome, const char *text)
{
    const struct sb_result *r = of(seen, variant);
    char all[1400];
    snprintf(all, sizeof all, "%s: %lld of %lld\n%s", r->tensor, (long long)r->mismatches, (long long)r->elements,
             r->detail);
    ck_assert_msg(r->outcome == outcome && strstr(all, text) != NULL, "%s: %s, '%s'", variant,
                  sb_outcome_name(r->outcome), all);
    ck_assert_int_eq(r->seconds >= 0, outcome == SB_PASS || (outcome == SB_FAIL && r->bytes_compared > 0));
}

static struct sb_supervisor supervisor(double limit)
{
    static char program[] = "test", worker[] = "worker";
    static char *const argv[] = {program, worker, NULL};
    return (struct sb_supervisor){
        .program = "/proc/self/exe", .argv = argv, .device = "host", .limit_seconds = limit, .needs_device = true};
}

static struct sb_job job(const char *id, const char *variants)
{
    struct sb_job j = {0};
    char words[300], *save = NULL;
    snprintf(j.case_id, sizeof j.case_id, "%s", id);
    snprintf(words, sizeof words, "%s", variants);
    for (char *w = strtok_r(words, ",", &save); w != NULL; w = strtok_r(NULL, ",", &save))
        snprintf(j.variant[j.variants++], sizeof j.variant[0], "%s", w);
    return j;
}

static enum sb_job_end run(struct sb_supervisor *s, const char *id, const char *variants, struct seen *seen)
{
    struct sb_error err = {0};
    const struct sb_job j = job(id, variants);
    memset(seen, 0, sizeof *seen);
    return sb_supervisor_run(s, &j, on_result, seen, &err);
}

static struct seen seen; /* large */

START_TEST(healthy)
{
    struct sb_supervisor s = supervisor(20);
    ck_assert_int_eq(run(&s, "fake/n=1000", "ref,relations,right,wrong_last", &seen), SB_JOB_DONE);
    ck_assert_int_eq(seen.count, 4);
    expect(&seen, "ref", SB_NOT_RUN, "committed digests"); /* nothing vouches for it: never a pass */
    expect(&seen, "relations", SB_PASS, "");
    expect(&seen, "right", SB_PASS, "");
    expect(&seen, "wrong_last", SB_FAIL, "dst: 1 of 1000");
    ck_assert_str_eq(of(&seen, "right")->device, "host memory (sm_0)");
    ck_assert_str_eq(of(&seen, "right")->op, "fake");
    ck_assert_str_eq(of(&seen, "right")->case_id, "fake/n=1000");
    const pid_t first = s.pid;
    run(&s, "fake/n=3", "right", &seen);
    expect(&seen, "right", SB_PASS, "");
    ck_assert_int_eq(s.pid, first); /* one child for many jobs */
    sb_supervisor_close(&s);
}
END_TEST

START_TEST(crash_is_one_fail_and_the_run_goes_on)
{
    struct sb_supervisor s = supervisor(20);
    ck_assert_int_eq(run(&s, "fake/n=10", "relations,crash,right,exits,wrong_last", &seen), SB_JOB_DONE);
    ck_assert_int_eq(seen.count, 5);
    expect(&seen, "relations", SB_PASS, "");
    expect(&seen, "crash", SB_FAIL, "the worker ended with ");
    expect(&seen, "right", SB_PASS, "");
    expect(&seen, "exits", SB_FAIL, "the worker ended with exit status 0");
    expect(&seen, "wrong_last", SB_FAIL, "dst: 1 of 10");
    ck_assert_str_eq(of(&seen, "crash")->device, "host");
    ck_assert_str_eq(of(&seen, "crash")->case_id, "fake/n=10");
    ck_assert_str_eq(of(&seen, "crash")->op, "fake");
    sb_supervisor_close(&s);
}
END_TEST

/* A worker that is gone between the last result and the end of the job: that variant's fault, not nobody's. */
START_TEST(a_crash_after_the_result_is_a_fail)
{
    static char program[] = "test", dies[] = "dies after a result";
    static char *const argv[] = {program, dies, NULL};
    struct sb_supervisor s = supervisor(20);
    s.argv = argv;
    ck_assert_int_eq(run(&s, "fake/n=10", "right", &seen), SB_JOB_DONE);
    ck_assert_int_eq(seen.count, 1);
    expect(&seen, "right", SB_FAIL, "after its outputs were compared: the worker ended with signal 9");
    ck_assert_int_eq(run(&s, "fake/n=10", "right,relations", &seen), SB_JOB_DONE);
    ck_assert_int_eq(seen.count, 2);
    expect(&seen, "right", SB_FAIL, "after its outputs were compared: ");
    expect(&seen, "relations", SB_FAIL, "after its outputs were compared: ");
    sb_supervisor_close(&s);
}
END_TEST

START_TEST(hang_is_killed)
{
    struct sb_supervisor s = supervisor(3); /* the healthy one after it has to keep it too, on a busy machine */
    ck_assert_int_eq(run(&s, "fake/n=10", "hang,right", &seen), SB_JOB_DONE);
    ck_assert_int_eq(seen.count, 2);
    expect(&seen, "hang", SB_FAIL, "did not finish within 3 s");
    expect(&seen, "right", SB_PASS, "");
    sb_supervisor_close(&s);
}
END_TEST

/* An answer that lies in the pipe when the time is over was given in time: this process only came late. */
START_TEST(an_answer_in_the_pipe_is_not_late)
{
    struct sb_supervisor s = supervisor(20);
    struct sb_error err = {0};
    char *line = NULL, how[100];
    ck_assert(sb_child_start(&s, &err));
    sleep(1); /* the worker says hello meanwhile */
    ck_assert_int_eq(sb_child_read(&s, sb_seconds() - 1, &line), SB_READ_LINE);
    free(line);
    ck_assert_int_eq(sb_child_read(&s, sb_seconds() - 1, &line), SB_READ_LATE);
    sb_child_end(&s, true, how, sizeof how);
    ck_assert_ptr_nonnull(strstr(how, "signal 9"));
    sb_supervisor_close(&s);
}
END_TEST

/* Paths and texts that are not UTF-8 must not end the conversation. */
START_TEST(texts_that_are_not_utf8_arrive)
{
    char line[4096];
    struct sb_message m = {.kind = SB_MSG_ERROR, .text = "caf\xc3"}, back;
    FILE *f = fmemopen(line, sizeof line, "w+");
    ck_assert(sb_message_write(f, &m));
    fclose(f);
    ck_assert(sb_message_parse(line, &back));
    ck_assert_str_eq(back.text, "caf\xef\xbf\xbd");
    struct sb_job j = job("fake/n=1", "ref"), again;
    snprintf(j.stored, sizeof j.stored, "/x\xff/y");
    f = fmemopen(line, sizeof line, "w+");
    ck_assert(sb_job_write(f, &j));
    fclose(f);
    ck_assert(sb_job_parse(line, &again));
}
END_TEST

START_TEST(a_job_says_when_it_is_full)
{
    struct sb_job j = {0};
    for (int i = 0; i < SB_JOB_VARIANTS; i++)
        ck_assert(sb_job_add_variant(&j, "right"));
    ck_assert(!sb_job_add_variant(&j, "left_out"));
    ck_assert_int_eq(j.variants, SB_JOB_VARIANTS);
}
END_TEST

START_TEST(a_gpu_that_cannot_be_used)
{
    struct sb_supervisor s = supervisor(20);
    struct sb_error err = {0};
    ck_assert_int_eq(sb_supervisor_start(&s, &err), SB_JOB_DONE);
    s.hello.usable = false;
    snprintf(s.hello.text, sizeof s.hello.text, "this build holds no kernels for it");
    ck_assert_int_eq(run(&s, "fake/n=10", "relations,right", &seen), SB_JOB_DONE);
    expect(&seen, "relations", SB_PASS, "");
    expect(&seen, "right", SB_NOT_RUN, "holds no kernels"); /* another build could */
    sb_supervisor_close(&s);
}
END_TEST

START_TEST(stray_output_is_no_message)
{
    struct sb_supervisor s = supervisor(20);
    ck_assert_int_eq(run(&s, "fake/n=10", "chatty,right", &seen), SB_JOB_DONE);
    expect(&seen, "chatty", SB_PASS, "");
    expect(&seen, "right", SB_PASS, "");
    sb_supervisor_close(&s);
}
END_TEST

START_TEST(device_error_retires_the_worker)
{
    struct sb_supervisor s = supervisor(20);
    ck_assert_int_eq(run(&s, "fake/n=10", "error,right,error", &seen), SB_JOB_DONE);
    ck_assert_int_ge(seen.count, 2);
    ck_assert_int_eq(seen.result[0].outcome, SB_FAIL);
    ck_assert_ptr_nonnull(strstr(seen.result[0].detail, "CUDA error 700"));
    expect(&seen, "right", SB_PASS, "");
    sb_supervisor_close(&s);
}
END_TEST

START_TEST(crash_of_the_reference)
{
    struct sb_supervisor s = supervisor(20);
    ck_assert_int_eq(run(&s, "fake/n=10,broken=reference", "ref,relations,right", &seen), SB_JOB_DONE);
    ck_assert_int_eq(seen.count, 3);
    expect(&seen, "ref", SB_FAIL, "while the inputs were generated and the reference computed: the worker ended with ");
    expect(&seen, "relations", SB_NOT_RUN, "nothing to compare with");
    expect(&seen, "right", SB_NOT_RUN, "nothing to compare with");
    run(&s, "fake/n=10,broken=reference", "right,crash", &seen);
    expect(&seen, "right", SB_FAIL, "while the inputs were generated");
    expect(&seen, "crash", SB_NOT_RUN, "nothing to compare with");
    sb_supervisor_close(&s);
}
END_TEST

START_TEST(hang_of_the_reference)
{
    struct sb_supervisor s = supervisor(0.2);
    run(&s, "fake/n=10,broken=hang", "ref,right", &seen);
    expect(&seen, "ref", SB_FAIL, "did not finish within 1 s"); /* SB_SLOW_FACTOR times the limit */
    expect(&seen, "right", SB_NOT_RUN, "nothing to compare with");
    sb_supervisor_close(&s);
}
END_TEST

START_TEST(a_case_that_cannot_be_prepared)
{
    struct sb_supervisor s = supervisor(20);
    struct sb_error err = {0};
    const struct sb_job j = job("fake/n=10,broken=generator", "ref,right");
    memset(&seen, 0, sizeof seen);
    ck_assert_int_eq(sb_supervisor_run(&s, &j, on_result, &seen, &err), SB_JOB_BAD_INPUT);
    ck_assert_int_eq(err.exit, SB_EXIT_BAD_INPUT);
    expect(&seen, "ref", SB_NOT_RUN, "the generator has no such numbers");
    expect(&seen, "right", SB_NOT_RUN, "the generator has no such numbers");
    sb_supervisor_close(&s);
}
END_TEST

START_TEST(prelude_rejection_skips_and_unknowns)
{
    struct sb_supervisor s = supervisor(20);
    run(&s, "fake/n=20,after=500", "right,wants_unused", &seen);
    expect(&seen, "right", SB_PASS, "");
    expect(&seen, "wants_unused", SB_FAIL, "dst: 1 of 20");
    run(&s, "fake/n=16,reject=1", "relations,right,refuses,elsewhere,uncompiled,nosuch", &seen);
    expect(&seen, "relations", SB_SKIP, "no outputs to relate");
    expect(&seen, "right", SB_PASS, "");
    expect(&seen, "refuses", SB_SKIP, "wings");
    expect(&seen, "elsewhere", SB_SKIP, "written for sm_100f");
    expect(&seen, "uncompiled", SB_NOT_RUN, "built without CUDA");
    expect(&seen, "nosuch", SB_NOT_RUN, "no such implementation");
    sb_supervisor_close(&s);
}
END_TEST

static struct sb_supervisor other_program(const char *path)
{
    struct sb_supervisor s = supervisor(5);
    s.program = path;
    return s;
}

START_TEST(no_worker)
{
    struct sb_supervisor missing = other_program("/nonexistent/samebits"), silent = other_program("/bin/false");
    ck_assert_int_eq(run(&missing, "fake/n=10", "ref,right", &seen), SB_JOB_NO_WORKER);
    ck_assert_int_eq(seen.count, 2);
    expect(&seen, "right", SB_NOT_RUN, "cannot start a worker");
    ck_assert_int_eq(run(&silent, "fake/n=10", "ref,right", &seen), SB_JOB_NO_WORKER);
    expect(&seen, "ref", SB_NOT_RUN, "did not come up");
    sb_supervisor_close(&missing);
    sb_supervisor_close(&silent);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("supervise");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, healthy);
    tcase_add_test(t, crash_is_one_fail_and_the_run_goes_on);
    tcase_add_test(t, a_crash_after_the_result_is_a_fail);
    tcase_add_test(t, hang_is_killed);
    tcase_add_test(t, an_answer_in_the_pipe_is_not_late);
    tcase_add_test(t, texts_that_are_not_utf8_arrive);
    tcase_add_test(t, a_job_says_when_it_is_full);
    tcase_add_test(t, a_gpu_that_cannot_be_used);
    tcase_add_test(t, stray_output_is_no_message);
    tcase_add_test(t, device_error_retires_the_worker);
    tcase_add_test(t, crash_of_the_reference);
    tcase_add_test(t, hang_of_the_reference);
    tcase_add_test(t, a_case_that_cannot_be_prepared);
    tcase_add_test(t, prelude_rejection_skips_and_unknowns);
    tcase_add_test(t, no_worker);
    suite_add_tcase(s, t);
    return s;
}

static int serve(void)
{
    struct sb_message hello = {.kind = SB_MSG_HELLO, .usable = true, .device = "host memory (sm_0)"};
    const struct sb_memory memory = sb_memory_host();
    FILE *out = fdopen(SB_WORKER_FD, "w");
    return out == NULL ? 2 : sb_worker_serve(&fake_table, &memory, &hello, stdin, out);
}

/* Answers the first variant of one job and kills itself. */
static int die_after_a_result(void)
{
    struct sb_message m = {.kind = SB_MSG_HELLO, .usable = true, .device = "host memory (sm_0)"};
    struct sb_job job;
    char line[8192];
    FILE *out = fdopen(SB_WORKER_FD, "w");
    if (out == NULL)
        return 2;
    sb_message_write(out, &m);
    if (fgets(line, sizeof line, stdin) == NULL || !sb_job_parse(line, &job))
        return 2;
    m = (struct sb_message){.kind = SB_MSG_RESULT, .result = {.outcome = SB_PASS, .launches = -1, .seconds = 1}};
    snprintf(m.result.variant, sizeof m.result.variant, "%s", job.variant[0]);
    m.result.bytes_compared = 1;
    sb_message_write(out, &m);
    fflush(out);
    raise(SIGKILL);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "dies after a result") == 0)
        return die_after_a_result();
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return serve();
    SRunner *runner = srunner_create(make_suite());
    srunner_run_all(runner, CK_ENV);
    const int ran = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return ran > 0 && failed == 0 ? 0 : 1;
}
