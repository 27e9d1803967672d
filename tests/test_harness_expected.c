/* Who vouches for the expected bytes: stored goldens, committed digests, nobody. On the made-up op. */
#define _GNU_SOURCE /* mkdtemp */
#include "harness_fake.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "../harness/expected.h"
#include "../harness/vouch.h"
#include "../harness/worker.h"

#include "check_main.h"

static char folder[64];

static void set_up(void)
{
    snprintf(folder, sizeof folder, "/tmp/samebits-exp-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* The data of a case; `spoil` changes the last element of dst. */
static void make_data(const char *id, bool spoil, struct sb_case *c, struct sb_data *d)
{
    struct sb_error err = {0};
    ck_assert_msg(sb_case_parse(c, &fake_table.list, id, &err), "%s", err.text);
    ck_assert(fake_generate(c, d, &err) && fake_reference(c, d, &err));
    if (spoil)
        ((int32_t *)d->out[0].data)[sb_case_int(c, "n") - 1] ^= 1;
}

/* folder/digests/smoke.json with one case. */
static void commit_digests(const char *id, bool spoil)
{
    struct sb_case c;
    struct sb_data d;
    struct sb_manifest m = {.suite = "smoke"};
    struct sb_error err = {0};
    char path[128];
    make_data(id, spoil, &c, &d);
    snprintf(path, sizeof path, "%s/digests", folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/digests/smoke.json", folder);
    ck_assert_msg(sb_manifest_add(&m, &c, &d, &err) && sb_manifest_write(&m, path, &fake_table.list, &err), "%s",
                  err.text);
    sb_manifest_free(&m);
    sb_data_free(&d);
}

static struct sb_job job(const char *id)
{
    struct sb_job j = {0};
    snprintf(j.case_id, sizeof j.case_id, "%s", id);
    snprintf(j.golden_root, sizeof j.golden_root, "%s", folder);
    return j;
}

/* A golden file folder/ID.h5 of other inputs than the seed gives, with the outputs that are right for them. */
static void store_edited(const char *id, struct sb_job *j)
{
    struct sb_case c;
    struct sb_data d;
    struct sb_error err = {0};
    make_data(id, false, &c, &d);
    ((int32_t *)d.in[0].data)[1] += 5;
    ((int32_t *)d.out[0].data)[1] += 15;
    *j = job(id);
    snprintf(j->stored, sizeof j->stored, "%s/%s.h5", folder, id);
    ck_assert_msg(sb_store_write(j->stored, &c, &d, &err), "%s", err.text);
    sb_data_free(&d);
}

/* A golden file folder/ID.h5, written with or without a fault in its output. */
static void store(const char *id, bool spoil, struct sb_job *j)
{
    struct sb_case c;
    struct sb_data d;
    struct sb_error err = {0};
    make_data(id, spoil, &c, &d);
    *j = job(id);
    snprintf(j->stored, sizeof j->stored, "%s/%s.h5", folder, id);
    ck_assert_msg(sb_store_write(j->stored, &c, &d, &err), "%s", err.text);
    sb_data_free(&d);
}

/* Serves one job in this process and returns the result of `variant`. */
static struct sb_result serve(struct sb_job j, const char *variant, struct sb_message *error)
{
    const struct sb_memory memory = sb_memory_host();
    const struct sb_message hello = {.kind = SB_MSG_HELLO, .usable = true, .device = "host (sm_0)"};
    struct sb_result result = {.outcome = SB_OUTCOME_COUNT};
    char *line = NULL;
    size_t size = 0;
    FILE *jobs = tmpfile(), *out = tmpfile();
    j.variants = 1;
    snprintf(j.variant[0], sizeof j.variant[0], "%s", variant);
    ck_assert(sb_job_write(jobs, &j));
    rewind(jobs);
    ck_assert_int_eq(sb_worker_serve(&fake_table, &memory, &hello, jobs, out), 0);
    rewind(out);
    while (getline(&line, &size, out) > 0) {
        struct sb_message m;
        ck_assert_msg(sb_message_parse(line, &m), "%s", line);
        if (m.kind == SB_MSG_RESULT)
            result = m.result;
        if (m.kind == SB_MSG_ERROR && error != NULL)
            *error = m;
    }
    free(line);
    fclose(jobs);
    fclose(out);
    return result;
}

START_TEST(digests_vouch)
{
    commit_digests("fake/n=1000", false);
    struct sb_result r = serve(job("fake/n=1000"), "ref", NULL);
    ck_assert_msg(r.outcome == SB_PASS, "%s", r.detail);
    ck_assert_str_eq(r.judge, "committed digests");
    ck_assert_int_eq(r.bytes_compared, 1000 * 4 + 1000 * 4 + 8 + (int)sizeof(struct sb_status));
    r = serve(job("fake/n=1000"), "right", NULL);
    ck_assert_int_eq(r.outcome, SB_PASS);
    ck_assert_str_eq(r.judge, "reference, digests confirmed");
}
END_TEST

START_TEST(other_digests_fail)
{
    commit_digests("fake/n=1000", true);
    struct sb_result r = serve(job("fake/n=1000"), "ref", NULL);
    ck_assert_int_eq(r.outcome, SB_FAIL);
    ck_assert_str_eq(r.tensor, "outputs/dst");
    ck_assert_ptr_nonnull(strstr(r.detail, "outputs/dst differs from the digest committed in "));
    r = serve(job("fake/n=1000"), "right", NULL);
    ck_assert_str_eq(r.judge, "reference"); /* nobody confirms it */
}
END_TEST

START_TEST(nobody_vouches)
{
    commit_digests("fake/n=1000", false);
    struct sb_result r = serve(job("fake/n=0"), "ref", NULL);
    ck_assert_int_eq(r.outcome, SB_NOT_RUN);
    ck_assert_ptr_nonnull(strstr(r.detail, "no committed digest file lists this case"));
    r = serve(job("fake/n=77"), "ref", NULL);
    ck_assert_int_eq(r.outcome, SB_NOT_RUN);
    ck_assert_ptr_nonnull(strstr(r.detail, "no suite lists this call"));
}
END_TEST

START_TEST(damaged_digests_are_bad_input)
{
    struct sb_message error = {0};
    char path[128];
    commit_digests("fake/n=1000", false);
    snprintf(path, sizeof path, "%s/digests/smoke.json", folder);
    FILE *f = fopen(path, "r+");
    ck_assert_ptr_nonnull(f);
    fseek(f, -30, SEEK_END);
    fputc('#', f);
    fclose(f);
    const struct sb_result r = serve(job("fake/n=1000"), "ref", &error);
    ck_assert_int_eq(r.outcome, SB_OUTCOME_COUNT); /* no result at all */
    ck_assert_int_eq(error.exit, SB_EXIT_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(error.text, "smoke.json"));
}
END_TEST

START_TEST(stored_goldens_judge)
{
    struct sb_job j;
    store("fake/n=1000", false, &j);
    struct sb_result r = serve(j, "ref", NULL);
    ck_assert_msg(r.outcome == SB_PASS, "%s", r.detail);
    ck_assert_str_eq(r.judge, "stored golden");
    ck_assert_int_eq(serve(j, "right", NULL).outcome, SB_PASS);
    ck_assert_int_eq(serve(j, "wrong_last", NULL).outcome, SB_FAIL);

    store("fake/n=1000", true, &j); /* another answer, with its own right checksum */
    r = serve(j, "ref", NULL);
    ck_assert_int_eq(r.outcome, SB_FAIL);
    ck_assert_str_eq(r.sample[0].index, "[999]");
    ck_assert_int_eq(serve(j, "right", NULL).outcome, SB_FAIL);
    ck_assert_int_eq(serve(j, "wrong_last", NULL).outcome, SB_PASS); /* the stored bytes are the law */
}
END_TEST

START_TEST(stored_inputs_are_those_of_the_seed)
{
    struct sb_job j;
    store_edited("fake/n=1000", &j);
    const struct sb_result r = serve(j, "ref", NULL);
    ck_assert_int_eq(r.outcome, SB_FAIL);
    ck_assert_int_eq(r.mismatches, 0); /* the outputs are right for the inputs beside them */
    ck_assert_ptr_nonnull(strstr(r.detail, "inputs/src is not what the case's seed gives"));
    ck_assert_ptr_null(strstr(r.detail, "inputs/scale")); /* absent in both */
}
END_TEST

START_TEST(somebody_vouches_or_not)
{
    struct sb_case c;
    struct sb_error err = {0};
    struct sb_manifest_cache cache = {0};
    struct sb_job j = job("fake/n=1000");
    char path[128];
    ck_assert(sb_case_parse(&c, &fake_table.list, "fake/n=1000", &err));
    ck_assert(!sb_expected_vouched(&c, &j, &cache)); /* no digest file */
    commit_digests("fake/n=0", false);
    ck_assert(!sb_expected_vouched(&c, &j, &cache)); /* one that lists another case */
    sb_manifest_cache_free(&cache);
    commit_digests("fake/n=1000", false);
    ck_assert(sb_expected_vouched(&c, &j, &cache));
    sb_manifest_cache_free(&cache);
    j.golden_root[0] = '\0';
    ck_assert(!sb_expected_vouched(&c, &j, &cache));
    /* A set that lists the case: its golden may be there or gone (which is another error). */
    snprintf(j.stored, sizeof j.stored, "%s/gone.h5", folder);
    ck_assert(!sb_expected_vouched(&c, &j, &cache));
    snprintf(j.manifest, sizeof j.manifest, "%s/digests/smoke.json", folder);
    ck_assert(sb_expected_vouched(&c, &j, &cache));
    sb_manifest_cache_free(&cache);
    store("fake/n=1000", false, &j);
    j.golden_root[0] = '\0';
    ck_assert(sb_expected_vouched(&c, &j, &cache));
    /* A digest file that does not read is for the job to name. */
    j = job("fake/n=1000");
    snprintf(path, sizeof path, "%s/digests/smoke.json", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("{}", f);
    fclose(f);
    ck_assert(sb_expected_vouched(&c, &j, &cache));
    sb_manifest_cache_free(&cache);
}
END_TEST

START_TEST(who_is_told_of)
{
    static const char *const ids[] = {"fake/n=1000", "fake/n=16,reject=1", "fake/n=20,after=500", "fake/n=77"};
    char told[2048] = "";
    struct sb_selection cases = {0};
    struct sb_error err = {0};
    for (int i = 0; i < 4; i++) {
        struct sb_case c;
        ck_assert(sb_case_parse(&c, &fake_table.list, ids[i], &err) && sb_select_add(&cases, &c, &err));
    }
    FILE *f = fmemopen(told, sizeof told, "w");
    ck_assert_int_eq(sb_tell_unvouched(f, &cases, NULL, ""), 3); /* not the call that no suite lists */
    fclose(f);
    ck_assert_ptr_nonnull(strstr(told, "1 of 1 cases of smoke: no folder golden/ with digests was found"));
    ck_assert_ptr_nonnull(strstr(told, "2 of 2 cases of standard"));
    commit_digests("fake/n=1000", false);
    f = fmemopen(told, sizeof told, "w");
    ck_assert_int_eq(sb_tell_unvouched(f, &cases, NULL, folder), 2);
    fclose(f);
    ck_assert_ptr_null(strstr(told, "smoke"));
    ck_assert_ptr_nonnull(
        strstr(told, "digests/standard.json vouches for none of 2 cases: make it with samebits golden"));
    sb_selection_free(&cases);
}
END_TEST

START_TEST(stored_rejections)
{
    struct sb_job j;
    store("fake/n=16,reject=1", false, &j);
    ck_assert_int_eq(serve(j, "ref", NULL).outcome, SB_PASS);
    const struct sb_result r = serve(j, "right", NULL);
    ck_assert_msg(r.outcome == SB_PASS, "%s", r.detail);
    ck_assert_int_eq(serve(j, "host_reject", NULL).outcome, SB_PASS);
    ck_assert_int_eq(serve(j, "writes_on_reject", NULL).outcome, SB_FAIL); /* the buffers must have their sizes */
    ck_assert_int_eq(serve(j, "wrong_where", NULL).outcome, SB_FAIL);
}
END_TEST

START_TEST(another_file_is_bad_input)
{
    struct sb_job j, other;
    struct sb_message error = {0};
    store("fake/n=1000", false, &j);
    store("fake/n=5", false, &other);
    snprintf(other.case_id, sizeof other.case_id, "fake/n=1000");
    ck_assert_int_eq(serve(other, "ref", &error).outcome, SB_OUTCOME_COUNT);
    ck_assert_ptr_nonnull(strstr(error.text, "holds another case: fake/n=5"));
    /* A whole file that is not the one the manifest lists. */
    commit_digests("fake/n=1000", false);
    store("fake/n=1000", true, &j);
    snprintf(j.manifest, sizeof j.manifest, "%s/digests/smoke.json", folder);
    ck_assert_int_eq(serve(j, "ref", &error).outcome, SB_OUTCOME_COUNT);
    ck_assert_ptr_nonnull(strstr(error.text, "outputs/dst is not what "));
    snprintf(j.stored, sizeof j.stored, "%s/nowhere.h5", folder);
    ck_assert_int_eq(serve(j, "ref", &error).outcome, SB_OUTCOME_COUNT);
    ck_assert_ptr_nonnull(strstr(error.text, "nowhere.h5 is missing"));
}
END_TEST

START_TEST(places)
{
    struct sb_job j;
    struct sb_case c;
    struct sb_error err = {0};
    char root[256];
    ck_assert(sb_case_parse(&c, &fake_table.list, "fake/n=1000", &err));
    snprintf(root, sizeof root, "%s/smoke/fake/n=1000", folder);
    store("fake/n=1000", false, &j); /* folder/fake/n=1000.h5 */
    ck_assert(sb_golden_locate(&c, folder, "", &j, &err));
    ck_assert_ptr_nonnull(strstr(j.stored, "/fake/n=1000.h5"));
    ck_assert_ptr_nonnull(strstr(j.manifest, "/manifest.json"));
    ck_assert(sb_golden_locate(&c, NULL, folder, &j, &err));
    ck_assert_ptr_nonnull(strstr(j.stored, "/smoke/fake/n=1000.h5"));
    ck_assert(sb_golden_locate(&c, NULL, "", &j, &err)); /* no golden folder: compute */
    ck_assert_str_eq(j.stored, "");
    char deep[SB_PATH_SIZE - 8]; /* fits by itself, not with a file's name: a cut name would be another file */
    memset(deep, 'd', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    ck_assert(!sb_golden_locate(&c, deep, "", &j, &err));
    ck_assert_int_eq(err.exit, SB_EXIT_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "too long"));
    ck_assert(!sb_golden_locate(&c, NULL, deep, &j, &err));
    unsetenv("SAMEBITS_GOLDEN");
    ck_assert(sb_golden_root_check(&err));
    setenv("SAMEBITS_GOLDEN", "/tmp/\xff", 1);
    ck_assert(!sb_golden_root_check(&err));
    ck_assert_ptr_nonnull(strstr(err.text, "not UTF-8"));
    setenv("SAMEBITS_GOLDEN", folder, 1);
    ck_assert(!sb_golden_root_check(&err));
    ck_assert_ptr_nonnull(strstr(err.text, folder));
    ck_assert(!sb_golden_root(root, sizeof root)); /* neither digests nor smoke in it */
    commit_digests("fake/n=1000", false);
    ck_assert(sb_golden_root(root, sizeof root));
    ck_assert_str_eq(root, folder);
    ck_assert(sb_golden_root_check(&err));
}
END_TEST

/* A golden that is gone is no reason to compute the answer instead, as long as its set claims to hold it. */
START_TEST(a_missing_golden)
{
    struct sb_message error = {0};
    commit_digests("fake/n=1000", false);
    struct sb_job j = job("fake/n=1000");
    snprintf(j.stored, sizeof j.stored, "%s/fake/gone.h5", folder);
    snprintf(j.manifest, sizeof j.manifest, "%s/digests/smoke.json", folder);
    ck_assert_int_eq(serve(j, "ref", &error).outcome, SB_OUTCOME_COUNT);
    ck_assert_int_eq(error.exit, SB_EXIT_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(error.text, "fake/gone.h5 is missing, but "));
    snprintf(j.case_id, sizeof j.case_id, "fake/n=0"); /* the set has no such case: computed */
    const struct sb_result r = serve(j, "right", NULL);
    ck_assert_int_eq(r.outcome, SB_PASS);
    ck_assert_str_eq(r.judge, "reference");
}
END_TEST

/* A job that cannot be read is no end of the jobs. */
START_TEST(jobs_that_cannot_be_read)
{
    const struct sb_memory memory = sb_memory_host();
    const struct sb_message hello = {.kind = SB_MSG_HELLO, .usable = true, .device = "host (sm_0)"};
    FILE *jobs = fdopen(open(folder, O_RDONLY), "r"), *out = tmpfile();
    char text[4096];
    ck_assert(jobs != NULL && out != NULL);
    ck_assert_int_eq(sb_worker_serve(&fake_table, &memory, &hello, jobs, out), 2);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    ck_assert_ptr_nonnull(strstr(text, "could not read its next job"));
    fclose(jobs);
    fclose(out);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("expected");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, digests_vouch);
    tcase_add_test(t, other_digests_fail);
    tcase_add_test(t, nobody_vouches);
    tcase_add_test(t, damaged_digests_are_bad_input);
    tcase_add_test(t, stored_goldens_judge);
    tcase_add_test(t, stored_inputs_are_those_of_the_seed);
    tcase_add_test(t, somebody_vouches_or_not);
    tcase_add_test(t, who_is_told_of);
    tcase_add_test(t, stored_rejections);
    tcase_add_test(t, another_file_is_bad_input);
    tcase_add_test(t, places);
    tcase_add_test(t, a_missing_golden);
    tcase_add_test(t, jobs_that_cannot_be_read);
    suite_add_tcase(s, t);
    return s;
}
