/* test_reports_model.c - the report model: outcomes, what counts as a pass, growth. */
#include "test_reports_fixture.h"
#include "check_main.h"

START_TEST(every_outcome_has_its_own_name)
{
    for (int a = 0; a < SB_OUTCOME_COUNT; a++) {
        ck_assert(sb_outcome_name((enum sb_outcome)a)[0] != '\0');
        for (int b = 0; b < a; b++)
            ck_assert_str_ne(sb_outcome_name((enum sb_outcome)a), sb_outcome_name((enum sb_outcome)b));
    }
}
END_TEST

START_TEST(outcomes_stand_in_order_of_severity)
{
    ck_assert_int_lt(SB_PASS, SB_SKIP);
    ck_assert_int_lt(SB_SKIP, SB_NOT_RUN);
    ck_assert_int_lt(SB_NOT_RUN, SB_FAIL);
    ck_assert_str_eq(sb_outcome_name(SB_PASS), "PASS");
    ck_assert_str_eq(sb_outcome_name(SB_FAIL), "FAIL");
}
END_TEST

START_TEST(an_unknown_outcome_is_a_failure)
{
    struct sb_result result = made_result("op", "variant", SB_PASS, 0);
    for (int value = SB_OUTCOME_COUNT; value < 40; value++) {
        result.outcome = (enum sb_outcome)value;
        ck_assert_int_eq(sb_result_outcome(&result), SB_FAIL);
        ck_assert_str_eq(sb_outcome_name(result.outcome), "FAIL");
    }
    sb_result_settle(&result);
    ck_assert_int_eq(result.outcome, SB_FAIL);
    ck_assert_str_eq(result.detail, "the outcome is not one this program knows");
}
END_TEST

START_TEST(an_honest_result_is_left_as_it_is)
{
    for (int outcome = 0; outcome < SB_OUTCOME_COUNT; outcome++) {
        struct sb_result result = made_result("op", "variant", (enum sb_outcome)outcome, 0);
        const struct sb_result before = result;
        sb_result_settle(&result);
        ck_assert_int_eq(result.outcome, outcome);
        ck_assert_str_eq(result.detail, before.detail);
        ck_assert_int_eq(result.samples, before.samples);
        ck_assert(result.seconds == before.seconds);
    }
}
END_TEST

START_TEST(a_pass_that_compared_nothing_is_a_failure)
{
    static const int64_t nothing[] = {0, -1, INT64_MIN};
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
        struct sb_report r = {0};
        struct sb_result result = made_result("op", "variant", SB_PASS, 0);
        result.bytes_compared = nothing[i];
        ck_assert(sb_report_add(&r, &result));
        ck_assert_int_eq(r.result[0].outcome, SB_FAIL);
        ck_assert_ptr_nonnull(strstr(r.result[0].detail, "checked nothing"));
        ck_assert_int_eq(r.count[SB_PASS], 0);
        ck_assert_int_eq(r.count[SB_FAIL], 1);
        sb_report_free(&r);
    }
}
END_TEST

START_TEST(one_compared_byte_is_a_pass)
{
    struct sb_result result = made_result("op", "variant", SB_PASS, 0);
    result.bytes_compared = 1;
    ck_assert_int_eq(sb_result_outcome(&result), SB_PASS);
}
END_TEST

START_TEST(a_pass_with_mismatches_is_a_failure)
{
    struct sb_result result = made_result("op", "variant", SB_PASS, 0);
    result.mismatches = 1;
    sb_result_settle(&result);
    ck_assert_int_eq(result.outcome, SB_FAIL);
    ck_assert_ptr_nonnull(strstr(result.detail, "mismatching"));
}
END_TEST

START_TEST(what_was_said_stays_behind_what_was_wrong)
{
    struct sb_result result = made_result("op", "variant", SB_PASS, 0);
    result.bytes_compared = 0;
    memset(result.detail, 'x', sizeof result.detail - 1);
    result.detail[sizeof result.detail - 1] = '\0';
    sb_result_settle(&result);
    ck_assert(strncmp(result.detail, "checked nothing", strlen("checked nothing")) == 0);
    ck_assert_ptr_nonnull(strstr(result.detail, "; xxx"));
    ck_assert_uint_eq(strlen(result.detail), sizeof result.detail - 1);

    copy_text(result.detail, sizeof result.detail, "short");
    result.outcome = SB_PASS;
    sb_result_settle(&result);
    ck_assert_ptr_nonnull(strstr(result.detail, "compared; short"));
}
END_TEST

START_TEST(sample_counts_and_seconds_are_brought_into_range)
{
    struct sb_result result = made_result("op", "variant", SB_FAIL, 0);
    result.samples = 1000;
    result.seconds = -7;
    sb_result_settle(&result);
    ck_assert_int_eq(result.samples, SB_MAX_SAMPLES);
    ck_assert(result.seconds == -1);
    result.seconds = 1e308 * 10; /* infinite */
    sb_result_settle(&result);
    ck_assert(result.seconds == -1);
    result.samples = -3;
    result.seconds = 0.0 / (result.samples + 3.0); /* NaN */
    sb_result_settle(&result);
    ck_assert_int_eq(result.samples, 0);
    ck_assert(result.seconds == -1);
}
END_TEST

START_TEST(unterminated_texts_are_terminated)
{
    struct sb_result result = made_result("op", "variant", SB_FAIL, 0);
    memset(result.case_id, 'a', sizeof result.case_id);
    memset(result.repeat, 'b', sizeof result.repeat);
    memset(result.sample[7].distance, 'c', sizeof result.sample[7].distance);
    struct sb_ledger line = {0};
    memset(line.note, 'd', sizeof line.note);
    struct sb_report r = {0};
    ck_assert(sb_report_add(&r, &result));
    ck_assert(sb_report_add_ledger(&r, &line));
    ck_assert_uint_eq(strlen(r.result[0].case_id), sizeof result.case_id - 1);
    ck_assert_uint_eq(strlen(r.result[0].repeat), sizeof result.repeat - 1);
    ck_assert_uint_eq(strlen(r.result[0].sample[7].distance), sizeof result.sample[7].distance - 1);
    ck_assert_uint_eq(strlen(r.ledger[0].note), sizeof line.note - 1);
    sb_report_free(&r);
}
END_TEST

START_TEST(a_report_grows_and_keeps_everything)
{
    enum { MANY = 5000 };
    struct sb_report r = {0};
    for (int i = 0; i < MANY; i++) {
        add_result(&r, "op", "variant", i % 3 == 0 ? SB_FAIL : SB_PASS, i);
        add_path(&r, "op", "variant", "cpu", i, "");
    }
    ck_assert_int_eq(r.results, MANY);
    ck_assert_int_eq(r.ledgers, MANY);
    for (int i = 0; i < MANY; i++) {
        char id[64];
        snprintf(id, sizeof id, "op:number=%d", i);
        ck_assert_str_eq(r.result[i].case_id, id);
        ck_assert_int_eq(r.ledger[i].executed, i);
    }
    ck_assert_int_eq(r.count[SB_FAIL], (MANY + 2) / 3);
    ck_assert_int_eq(r.count[SB_PASS], MANY - (MANY + 2) / 3);
    sb_report_free(&r);
}
END_TEST

START_TEST(free_leaves_an_empty_report_that_can_be_used_again)
{
    struct sb_report r = made_mixed();
    sb_report_free(&r);
    const struct sb_report empty = {0};
    ck_assert_int_eq(r.results, 0);
    ck_assert_ptr_null(r.result);
    ck_assert_mem_eq(r.count, empty.count, sizeof empty.count);
    ck_assert(!r.finished);
    add_result(&r, "op", "variant", SB_PASS, 1);
    ck_assert_int_eq(r.results, 1);
    sb_report_free(&r);
    sb_report_free(&r);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *const suite = suite_create("reports: model");
    TCase *const tests = tcase_create("model");
    tcase_add_test(tests, every_outcome_has_its_own_name);
    tcase_add_test(tests, outcomes_stand_in_order_of_severity);
    tcase_add_test(tests, an_unknown_outcome_is_a_failure);
    tcase_add_test(tests, an_honest_result_is_left_as_it_is);
    tcase_add_test(tests, a_pass_that_compared_nothing_is_a_failure);
    tcase_add_test(tests, one_compared_byte_is_a_pass);
    tcase_add_test(tests, a_pass_with_mismatches_is_a_failure);
    tcase_add_test(tests, what_was_said_stays_behind_what_was_wrong);
    tcase_add_test(tests, sample_counts_and_seconds_are_brought_into_range);
    tcase_add_test(tests, unterminated_texts_are_terminated);
    tcase_add_test(tests, a_report_grows_and_keeps_everything);
    tcase_add_test(tests, free_leaves_an_empty_report_that_can_be_used_again);
    suite_add_tcase(suite, tests);
    return suite;
}
