/* test_reports_terminal.c - the report on a terminal. */
#include "test_reports_fixture.h"
#include "check_main.h"

static bool terminal(FILE *f, const struct sb_report *r, size_t colour)
{
    sb_terminal(f, r, colour != 0);
    return true;
}

static char *plain(const struct sb_report *r)
{
    return rendered(terminal, r, 0, NULL);
}

/* The last line, without its newline. The caller frees it. */
static char *last_line(const char *text)
{
    const size_t size = strlen(text);
    ck_assert(size > 0 && text[size - 1] == '\n');
    char *const line = strdup(text);
    line[size - 1] = '\0';
    const char *const newline = strrchr(line, '\n');
    if (newline != NULL)
        memmove(line, newline + 1, strlen(newline));
    return line;
}

START_TEST(every_outcome_is_counted_under_its_name)
{
    struct sb_report r = made_mixed();
    char *const text = plain(&r);
    ck_assert_ptr_nonnull(strstr(text, "op              variant      PASS     SKIP  NOT RUN     FAIL  launches\n"
                                       "wgrad_varlen_k  mma_sync        1        1        1        1         1\n"
                                       "all                             1        1        1        1\n"));
    ck_assert_ptr_nonnull(strstr(text, "SKIP          1  wgrad_varlen_k mma_sync: the made-up reason to skip\n"));
    ck_assert_ptr_nonnull(strstr(text, "NOT RUN       1  wgrad_varlen_k mma_sync: the made-up reason not to run\n"));
    ck_assert_int_eq(count_of(text, "\nFAIL    wgrad_varlen_k:number=3\n"), 1);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(a_single_result_of_every_outcome_shows_its_count)
{
    for (int outcome = 0; outcome < SB_OUTCOME_COUNT; outcome++) {
        struct sb_report r = made_head();
        add_result(&r, "op", "variant", (enum sb_outcome)outcome, 0);
        char *const text = plain(&r);
        char row[128] = "op  variant";
        for (int column = 0; column < SB_OUTCOME_COUNT; column++)
            strcat(row, column == outcome ? "        1" : "        -");
        ck_assert_ptr_nonnull(strstr(text, row));
        free(text);
        sb_report_free(&r);
    }
}
END_TEST

START_TEST(a_failure_block_has_what_is_needed_to_find_it)
{
    const struct sb_result result = made_result("wgrad_varlen_k", "mma_sync", SB_FAIL, 4);
    char *text = NULL;
    size_t size = 0;
    FILE *const f = open_memstream(&text, &size);
    sb_terminal_failure(f, &result, false);
    fclose(f);
    ck_assert_str_eq(text, "FAIL    wgrad_varlen_k:number=4\n"
                           "        mma_sync on 0: a made-up GPU (sm_90), against stored golden\n"
                           "        dw: 12 of 1,024 elements differ (1.17 %)\n"
                           "        pattern: one row: e=1 m=3\n"
                           "        index              expected        actual                   distance\n"
                           "        [e=1, m=3, n=0]    0x3f800000 (1)  0x3f800001 (1.00000012)  1 ulp\n"
                           "        [e=1, m=3, n=50]   0x3f800000 (1)  0x3f800001 (1.00000012)  1 ulp\n"
                           "        [e=1, m=3, n=100]  0x3f800000 (1)  0x3f800001 (1.00000012)  1 ulp\n"
                           "        ... and 9 more\n"
                           "        the values differ\n"
                           "        repeat: samebits check --case 'wgrad_varlen_k:number=4'\n");
    free(text);
}
END_TEST

START_TEST(a_pass_that_compared_nothing_is_shown_as_a_failure)
{
    struct sb_report r = made_green();
    r.result[5].bytes_compared = 0; /* behind the model's back: the renderer must see it too */
    char *const text = plain(&r);
    ck_assert_ptr_nonnull(strstr(text, "FAIL    scale_pack:number=9\n"));
    ck_assert_ptr_nonnull(strstr(text, "checked nothing"));
    ck_assert_ptr_nonnull(strstr(text, "\nall                         5        -        -        1\n"));
    char *const line = last_line(text);
    ck_assert_str_eq(line, "FAIL: the report contradicts itself: exit status 0, but 1 failed");
    free(line);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(the_last_line_is_the_verdict_with_its_meaning)
{
    static const char *const lines[] = {
        "PASS: the text (exit 0: all that ran passed, and something ran)",
        "FAIL: the text (exit 1: a mismatch)",
        "BAD INPUT: the text (exit 2: bad usage or bad input)",
        "LESS THAN REQUIRED: the text (exit 3: nothing could run, or less than was required)",
    };
    for (int status = 0; status < 4; status++) {
        struct sb_report r = made_green();
        r.exit_status = status;
        copy_text(r.verdict, sizeof r.verdict, "the text");
        char *const text = plain(&r);
        char *const line = last_line(text);
        ck_assert_str_eq(line, lines[status]);
        free(line);
        free(text);
        sb_report_free(&r);
    }
}
END_TEST

START_TEST(the_word_of_the_verdict_is_not_said_twice)
{
    struct sb_report r = made_green();
    copy_text(r.verdict, sizeof r.verdict, "PASS: six results");
    char *const text = plain(&r);
    char *const line = last_line(text);
    ck_assert(strncmp(line, "PASS: six results (", strlen("PASS: six results (")) == 0);
    free(line);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(nothing_run_is_never_a_pass)
{
    struct sb_report r = made_head(); /* finished, exit status 0, no result at all */
    copy_text(r.verdict, sizeof r.verdict, "PASS: everything");
    char *text = plain(&r);
    char *line = last_line(text);
    ck_assert_str_eq(line, "NOTHING RAN: the report contradicts itself: exit status 0, but no result passed");
    ck_assert_ptr_null(strstr(text, "PASS: everything"));
    free(line);
    free(text);
    add_result(&r, "op", "variant", SB_SKIP, 0);
    r.exit_status = 3;
    text = plain(&r);
    line = last_line(text);
    ck_assert(strncmp(line, "NOTHING RAN: ", strlen("NOTHING RAN: ")) == 0);
    free(line);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(relations_alone_are_no_pass)
{
    struct sb_report r = made_head(); /* finished, exit status 0 */
    add_result(&r, "op", "relations", SB_PASS, 0);
    char *text = plain(&r);
    char *line = last_line(text);
    ck_assert_str_eq(
        line, "NOTHING RAN: the report contradicts itself: exit status 0, but no result passed other than relations");
    free(line);
    free(text);
    r.exit_status = 3;
    copy_text(r.verdict, sizeof r.verdict, "NOTHING RAN: only relations held");
    text = plain(&r);
    line = last_line(text);
    ck_assert(strncmp(line, "NOTHING RAN: only relations held (", strlen("NOTHING RAN: only relations held (")) == 0);
    free(line);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(a_failure_in_the_ledger_alone_breaks_a_pass)
{
    struct sb_report r = made_green();
    r.ledger[0].failed = 2;
    char *const text = plain(&r);
    char *const line = last_line(text);
    ck_assert_str_eq(line, "FAIL: the report contradicts itself: exit status 0, but 2 failed");
    free(line);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(an_unfinished_run_has_no_verdict)
{
    struct sb_report r = made_green();
    r.finished = false;
    char *const text = plain(&r);
    char *const line = last_line(text);
    ck_assert(strncmp(line, "NO VERDICT: the run was cut short", strlen("NO VERDICT: the run was cut short")) == 0);
    ck_assert_ptr_null(strstr(text, r.verdict));
    ck_assert_ptr_null(strstr(text, "exit 0"));
    free(line);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(paths_not_executed_are_listed_with_their_reason)
{
    struct sb_report r = made_green();
    add_path(&r, "scale_pack", "tile", "sm_100", 0, "no such GPU in this machine");
    add_path(&r, "scale_pack", "gather", "sm_120", 0, "no such GPU in this machine");
    add_path(&r, "scale_pack", "tile", "sm_120", 0, "no such GPU in this machine");
    add_path(&r, "e8m0_upcast", "fused", "sm_121", 0, "");
    r.ledger[r.ledgers - 1].compiled = false;
    char *const text = plain(&r);
    ck_assert_ptr_nonnull(strstr(text, "paths this gate did not execute\n"
                                       "  sm_100, sm_120 (compiled): no such GPU in this machine\n"
                                       "    scale_pack       gather tile\n"
                                       "  sm_121 (not compiled): no reason was given\n"
                                       "    e8m0_upcast      fused\n"));
    ck_assert_ptr_nonnull(strstr(text, "  sm_90a  e8m0_upcast     fused                 5        5        -\n"));
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(a_report_without_a_ledger_does_not_claim_that_all_was_executed)
{
    struct sb_report r = made_failures(1);
    char *const text = plain(&r);
    ck_assert_ptr_nonnull(strstr(text, "not known: the report has no ledger"));
    ck_assert_ptr_null(strstr(text, "every path"));
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(variants_of_an_op_stay_together)
{
    struct sb_report r = made_head();
    add_result(&r, "first", "a", SB_PASS, 0);
    add_result(&r, "second", "b", SB_PASS, 0);
    add_result(&r, "first", "c", SB_PASS, 0);
    char *const text = plain(&r);
    ck_assert(in_order(text, "\nfirst   a", "\n        c"));
    ck_assert(in_order(text, "\n        c", "\nsecond  b"));
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(colour_only_when_asked)
{
    struct sb_report r = made_mixed();
    char *const without = rendered(terminal, &r, 0, NULL);
    char *const with = rendered(terminal, &r, 1, NULL);
    ck_assert_ptr_null(strchr(without, '\x1b'));
    ck_assert_ptr_nonnull(strstr(with, "\x1b[1;31mFAIL\x1b[0m"));
    char *to = with; /* less its colour the text is the same */
    for (const char *from = with; *from != '\0';) {
        if (*from == '\x1b')
            from = strchr(from, 'm') + 1;
        else
            *to++ = *from++;
    }
    *to = '\0';
    ck_assert_str_eq(with, without);
    free(without);
    free(with);
    sb_report_free(&r);
}
END_TEST

START_TEST(no_text_reaches_the_terminal_as_a_control)
{
    static const char hostile[] = "a\x1b[2J\x07\r\xc2\x9b"
                                  "1m\xe2\x80\xae\x7f\xff\xc0\xaf";
    struct sb_report r = made_mixed();
    copy_text(r.device, sizeof r.device, hostile);
    copy_text(r.verdict, sizeof r.verdict, hostile);
    for (int i = 0; i < r.results; i++) {
        copy_text(r.result[i].case_id, sizeof r.result[i].case_id, hostile);
        copy_text(r.result[i].op, sizeof r.result[i].op, hostile);
        copy_text(r.result[i].variant, sizeof r.result[i].variant, hostile);
        copy_text(r.result[i].detail, sizeof r.result[i].detail, hostile);
        copy_text(r.result[i].repeat, sizeof r.result[i].repeat, hostile);
        copy_text(r.result[i].sample[0].actual, sizeof r.result[i].sample[0].actual, hostile);
    }
    copy_text(r.ledger[1].target, sizeof r.ledger[1].target, hostile);
    copy_text(r.ledger[1].note, sizeof r.ledger[1].note, hostile);
    char *const text = plain(&r);
    for (const char *c = text; *c != '\0'; c++)
        ck_assert_msg(*c == '\n' || ((unsigned char)*c >= 0x20 && *c != 0x7f), "control %d", *c);
    ck_assert_ptr_null(strstr(text, "\xc2\x9b"));
    ck_assert_ptr_null(strstr(text, "\xe2\x80\xae"));
    ck_assert_ptr_null(strchr(text, '\xff'));
    ck_assert_ptr_nonnull(strstr(text, "a\\x1b[2J\\x07\\r\xef\xbf\xbd"
                                       "1m\xef\xbf\xbd\\x7f\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(ten_thousand_failures_stay_readable)
{
    struct sb_report r = made_failures(10000);
    add_result(&r, "scale_pack", "tile", SB_FAIL, 77); /* last: must not drown */
    char *const text = plain(&r);
    ck_assert_uint_lt(strlen(text), 16384);
    ck_assert_int_eq(count_of(text, "        repeat: "), 10);
    ck_assert_int_eq(count_of(text, "\nFAIL    ") + (strncmp(text, "FAIL    ", 8) == 0), 30);
    ck_assert_ptr_nonnull(strstr(text, "... and 9,971 more failures"));
    ck_assert_ptr_nonnull(strstr(text, "repeat: samebits check --case 'scale_pack:number=77'"));
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(one_reason_for_many_paths_is_one_line)
{
    struct sb_report r = made_head();
    static const char *const paths[][2] = {{"a", "x"}, {"a", "y"}, {"b", "x"}, {"a", "x"}};
    for (int i = 0; i < 4; i++) {
        struct sb_result result = made_result(paths[i][0], paths[i][1], SB_NOT_RUN, i);
        copy_text(result.detail, sizeof result.detail, "no GPU");
        ck_assert(sb_report_add(&r, &result));
        copy_text(result.detail, sizeof result.detail, "a reason of a alone");
        if (i < 2)
            ck_assert(sb_report_add(&r, &result));
    }
    char *const text = plain(&r);
    ck_assert_ptr_nonnull(strstr(text, "NOT RUN       4  3 paths of 2 ops: no GPU\n"));
    ck_assert_ptr_nonnull(strstr(text, "NOT RUN       2  2 paths of a: a reason of a alone\n"));
    ck_assert_int_eq(count_of(text, "no GPU"), 1);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(a_pass_without_a_kernel_says_so)
{
    struct sb_report r = made_green();
    char *text = plain(&r), *line = last_line(text);
    ck_assert(strncmp(line, "PASS: ", 6) == 0);
    free(line);
    free(text);
    for (int i = 0; i < r.results; i++)
        copy_text(r.result[i].device, sizeof r.result[i].device, "cpu");
    copy_text(r.verdict, sizeof r.verdict, "PASS on CPU only: no kernel ran (0 of 3 GPU paths)");
    text = plain(&r);
    line = last_line(text);
    ck_assert(strncmp(line, "PASS on CPU only: no kernel ran (0 of 3 GPU paths) (exit 0", 57) == 0);
    free(line);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(many_reasons_and_paths_are_bounded_with_a_count)
{
    struct sb_report r = made_green();
    for (int i = 0; i < 10000; i++) {
        struct sb_result result = made_result("op", "variant", SB_SKIP, i);
        snprintf(result.detail, sizeof result.detail, "reason %d", i);
        ck_assert(sb_report_add(&r, &result));
        char note[64];
        snprintf(note, sizeof note, "note %d", i);
        add_path(&r, "op", "variant", "sm_100", 0, note);
        add_path(&r, "op", "variant", "sm_90a", 1, "");
    }
    char *const text = plain(&r);
    ck_assert_uint_lt(strlen(text), 32768);
    ck_assert_ptr_nonnull(strstr(text, "... and 9,980 more reasons\n"));
    ck_assert_ptr_nonnull(strstr(text, "... and more: 10,001 paths in all\n"));
    ck_assert_ptr_nonnull(strstr(text, "... and 9,942 more\n"));
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(launches_are_a_number_or_a_range_or_nothing)
{
    struct sb_report r = made_head();
    struct sb_result result = made_result("op", "none", SB_PASS, 0);
    result.launches = -1;
    ck_assert(sb_report_add(&r, &result));
    copy_text(result.variant, sizeof result.variant, "zero");
    result.launches = 0;
    ck_assert(sb_report_add(&r, &result));
    copy_text(result.variant, sizeof result.variant, "range");
    static const int64_t launches[] = {3, 2, -1, 5, 4};
    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++) {
        result.launches = launches[i];
        ck_assert(sb_report_add(&r, &result));
    }
    char *const text = plain(&r);
    ck_assert_ptr_nonnull(strstr(text, "op  none           1        -        -        -\n"));
    ck_assert_ptr_nonnull(strstr(text, "    zero           1        -        -        -         0\n"));
    ck_assert_ptr_nonnull(strstr(text, "    range          5        -        -        -       2-5\n"));
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(ignored_ids_are_a_warning)
{
    struct sb_report r = made_green();
    r.result[0].ignored_ids = 1000;
    r.result[1].ignored_ids = 234;
    char *const text = plain(&r);
    ck_assert_ptr_nonnull(strstr(text, "warning: 1,234 ids outside the experts were ignored, in 2 results\n"));
    free(text);
    sb_report_free(&r);
}
END_TEST

/* A PASS that rests on samples must not read as one on every byte. */
START_TEST(samples_are_said_with_their_share)
{
    struct sb_report r = made_green();
    char *const without = plain(&r);
    ck_assert_ptr_null(strstr(without, "samples"));
    free(without);
    struct sb_result failed = made_result("wgrad_varlen_k", "mma_sync", SB_FAIL, 7);
    copy_text(r.result[0].sampled, sizeof r.result[0].sampled, "128 tiles of 64x64, 0.26 % of dw");
    copy_text(failed.sampled, sizeof failed.sampled, "6 tiles of 64x64, 9 % of dw");
    ck_assert(sb_report_add(&r, &failed));
    char *const text = plain(&r);
    ck_assert_ptr_nonnull(strstr(text, "compared on samples only\nPASS    "));
    ck_assert_ptr_nonnull(strstr(text, ": 128 tiles of 64x64, 0.26 % of dw\n"));
    ck_assert_ptr_nonnull(strstr(text, "FAIL    wgrad_varlen_k:number=7  mma_sync: 6 tiles of 64x64, 9 % of dw\n"));
    ck_assert_ptr_nonnull(strstr(text, "against stored golden, sampled: 6 tiles of 64x64, 9 % of dw\n"));
    ck_assert_ptr_nonnull(strstr(text, "dw: 12 of 1,024 sampled elements differ (1.17 %)\n"));
    free(text);
    for (int i = 0; i < 30; i++) {
        failed.outcome = SB_PASS;
        failed.mismatches = 0;
        ck_assert(sb_report_add(&r, &failed));
    }
    char *const many = plain(&r);
    ck_assert_ptr_nonnull(strstr(many, "        ... and 12 more\n"));
    free(many);
    sb_report_free(&r);
}
END_TEST

/* How many results a device judge vouched for, and which it did not, with the reason. */
START_TEST(the_device_judge_is_counted)
{
    struct sb_report r = made_green();
    copy_text(r.result[0].judge, sizeof r.result[0].judge, "device judge, held to the sampled golden");
    char *const whole = plain(&r);
    ck_assert_ptr_nonnull(strstr(whole, "\ncompared whole with the device judge: 1 result\n\n"));
    ck_assert_ptr_null(strstr(whole, "samples"));
    free(whole);
    copy_text(r.result[1].sampled, sizeof r.result[1].sampled, "128 tiles of 64x64, 0.26 % of dw");
    copy_text(r.result[1].not_whole, sizeof r.result[1].not_whole, "the device judge cannot: not enough memory");
    char *const text = plain(&r);
    ck_assert_ptr_nonnull(strstr(text, ": 128 tiles of 64x64, 0.26 % of dw; not whole: the device judge cannot: not "
                                       "enough memory\n        1 of them for want of a device judge\n"));
    free(text);
    sb_report_free(&r);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *const suite = suite_create("reports: terminal");
    TCase *const tests = tcase_create("terminal");
    tcase_add_test(tests, every_outcome_is_counted_under_its_name);
    tcase_add_test(tests, a_single_result_of_every_outcome_shows_its_count);
    tcase_add_test(tests, a_failure_block_has_what_is_needed_to_find_it);
    tcase_add_test(tests, a_pass_that_compared_nothing_is_shown_as_a_failure);
    tcase_add_test(tests, the_last_line_is_the_verdict_with_its_meaning);
    tcase_add_test(tests, the_word_of_the_verdict_is_not_said_twice);
    tcase_add_test(tests, nothing_run_is_never_a_pass);
    tcase_add_test(tests, relations_alone_are_no_pass);
    tcase_add_test(tests, a_failure_in_the_ledger_alone_breaks_a_pass);
    tcase_add_test(tests, an_unfinished_run_has_no_verdict);
    tcase_add_test(tests, paths_not_executed_are_listed_with_their_reason);
    tcase_add_test(tests, a_report_without_a_ledger_does_not_claim_that_all_was_executed);
    tcase_add_test(tests, variants_of_an_op_stay_together);
    tcase_add_test(tests, colour_only_when_asked);
    tcase_add_test(tests, no_text_reaches_the_terminal_as_a_control);
    tcase_add_test(tests, ten_thousand_failures_stay_readable);
    tcase_add_test(tests, one_reason_for_many_paths_is_one_line);
    tcase_add_test(tests, a_pass_without_a_kernel_says_so);
    tcase_add_test(tests, many_reasons_and_paths_are_bounded_with_a_count);
    tcase_add_test(tests, launches_are_a_number_or_a_range_or_nothing);
    tcase_add_test(tests, ignored_ids_are_a_warning);
    tcase_add_test(tests, samples_are_said_with_their_share);
    tcase_add_test(tests, the_device_judge_is_counted);
    suite_add_tcase(suite, tests);
    return suite;
}
