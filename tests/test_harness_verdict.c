/* From results to exit status, verdict and ledger; and the names of CUDA targets. */
#include "harness_fake.h"

#include "../harness/device.h"
#include "../harness/verdict.h"

#include "check_main.h"

static struct sb_selection cases;
static struct sb_report report;
static const struct sb_require nothing;

static void start(void)
{
    struct sb_case c;
    struct sb_error err = {0};
    sb_selection_free(&cases);
    sb_report_free(&report);
    ck_assert(sb_case_parse(&c, &fake_table.list, "fake/n=5", &err) && sb_select_add(&cases, &c, &err));
}

static void add(const char *variant, const char *device, enum sb_outcome outcome, const char *detail)
{
    struct sb_result r = {.outcome = outcome, .launches = -1, .bytes_compared = 10};
    snprintf(r.case_id, sizeof r.case_id, "fake/n=5");
    snprintf(r.op, sizeof r.op, "fake");
    snprintf(r.variant, sizeof r.variant, "%s", variant);
    snprintf(r.device, sizeof r.device, "%s", device);
    snprintf(r.judge, sizeof r.judge, "stored golden");
    snprintf(r.detail, sizeof r.detail, "%s", detail);
    ck_assert(sb_report_add(&report, &r));
}

static void conclude(const struct sb_require *require, const char *bad, int status, const char *text)
{
    sb_verdict(&report, require, &cases, &fake_table, bad, "");
    ck_assert_msg(report.exit_status == status, "%d: %s", report.exit_status, report.verdict);
    ck_assert_msg(strstr(report.verdict, text) != NULL, "'%s' lacks '%s'", report.verdict, text);
    ck_assert(report.finished);
    ck_assert_int_eq(strncmp(report.verdict, "PASS", 4) == 0, status == 0);
}

START_TEST(statuses)
{
    start();
    conclude(&nothing, NULL, 3, "NOTHING RAN");
    add("right", "none", SB_NOT_RUN, "no GPU");
    conclude(&nothing, NULL, 3, "NOTHING RAN");
    add("ref", "cpu", SB_SKIP, "cannot");
    conclude(&nothing, NULL, 3, "NOTHING RAN");
    conclude(&nothing, "a damaged file", 2, "a damaged file");
    add("ref", "cpu", SB_PASS, "");
    conclude(&nothing, NULL, 0, "1 passed, 0 failed, 1 skipped, 1 not run");
    conclude(&nothing, NULL, 0, "PASS on CPU only: no kernel ran (0 of 28 GPU paths)");
    conclude(&nothing, "a damaged file", 2, "a damaged file");
    add("relations", "cpu", SB_FAIL, "wrong");
    conclude(&nothing, NULL, 1, "FAIL: 1 failed");
    conclude(&nothing, "a damaged file", 1, "FAIL"); /* a wrong bit outweighs */
}
END_TEST

/* Two results of one case are one case. */
START_TEST(samples_are_said)
{
    start();
    add("ref", "cpu", SB_PASS, "");
    conclude(&nothing, NULL, 0, "PASS");
    ck_assert_ptr_null(strstr(report.verdict, "samples"));
    for (int i = 0; i < 2; i++) {
        add(i == 0 ? "relations" : "right", "cpu", SB_PASS, "");
        snprintf(report.result[1 + i].sampled, sizeof report.result[0].sampled, "12 tiles of 64x64, 19 %% of dw");
    }
    conclude(&nothing, NULL, 0, "; 1 case was compared on samples only");
    add("right", "cpu", SB_FAIL, "");
    snprintf(report.result[3].case_id, sizeof report.result[3].case_id, "fake/n=6");
    snprintf(report.result[3].sampled, sizeof report.result[3].sampled, "12 tiles of 64x64, 19 %% of dw");
    conclude(&nothing, NULL, 1, "; 2 cases were compared on samples only");
}
END_TEST

static struct sb_result *add_large(const char *id, const char *variant, const char *judge, const char *sampled)
{
    add(variant, "0: Some GPU (sm_90)", SB_PASS, "");
    struct sb_result *r = &report.result[report.results - 1];
    snprintf(r->case_id, sizeof r->case_id, "%s", id);
    snprintf(r->judge, sizeof r->judge, "%s", judge);
    snprintf(r->sampled, sizeof r->sampled, "%s", sampled);
    return r;
}

/* The reference and the judge are held to samples, and that weakens nobody; one that the judge did not vouch for is
 * weaker, and so is its case. */
START_TEST(a_device_judge_is_said)
{
    static const char judge[] = "device judge, held to the sampled golden", tiles[] = "12 tiles of 64x64, 19 % of dw";
    start();
    add_large("fake/n=5", "ref", "stored golden", tiles);
    add_large("fake/n=5", "right", judge, "");
    add_large("fake/n=5", "judge", "sampled golden", tiles);
    conclude(&nothing, NULL, 0, "; 1 case was compared whole with the device judge");
    ck_assert_ptr_null(strstr(report.verdict, "samples only"));
    add_large("fake/n=6", "ref", "stored golden", tiles);
    add_large("fake/n=6", "right", judge, "")->outcome = SB_SKIP; /* compared nothing */
    conclude(&nothing, NULL, 0,
             "; 1 case was compared whole with the device judge; 1 case was compared on samples only");
    add_large("fake/n=7", "right", judge, "");
    conclude(&nothing, NULL, 0, "; 2 cases were compared whole with the device judge; 1 case was compared on samples");
    struct sb_result *weaker = add_large("fake/n=7", "host_reject", "sampled golden", tiles);
    snprintf(weaker->not_whole, sizeof weaker->not_whole, "the device judge cannot: no memory");
    conclude(&nothing, NULL, 0,
             "; 1 case was compared whole with the device judge; 2 cases were compared on samples only");
}
END_TEST

/* What compared nothing, or with a judge that is wrong, is no case compared whole. */
START_TEST(a_device_judge_is_not_said_in_vain)
{
    static const char judge[] = "device judge, held to the sampled golden", tiles[] = "12 tiles of 64x64, 19 % of dw";
    start();
    add_large("wgrad_varlen_k/a", "ref", "stored golden", tiles);
    struct sb_result *dead = add_large("wgrad_varlen_k/a", "mma_sync", judge, ""); /* at its launch */
    dead->outcome = SB_FAIL;
    dead->bytes_compared = 0;
    add_large("wgrad_varlen_k/a", "judge", "sampled golden", tiles);
    ck_assert(!sb_by_device_judge(dead));
    for (int i = 0; i < report.results; i++)
        snprintf(report.result[i].op, sizeof report.result[i].op, "wgrad_varlen_k");
    sb_verdict(&report, &nothing, &cases, sb_op_table(), NULL, "");
    ck_assert_msg(strstr(report.verdict, "; 1 case was compared on samples only") != NULL, "%s", report.verdict);
    ck_assert_ptr_null(strstr(report.verdict, "compared whole"));
    report.result[1].bytes_compared = 10; /* it differs, and the judge is wrong as well */
    sb_verdict(&report, &nothing, &cases, sb_op_table(), NULL, "");
    ck_assert_msg(strstr(report.verdict, "; 1 case was compared whole") != NULL, "%s", report.verdict);
    report.result[2].outcome = SB_FAIL;
    sb_verdict(&report, &nothing, &cases, sb_op_table(), NULL, "");
    ck_assert_msg(strstr(report.verdict, "; 1 case was compared on samples only") != NULL, "%s", report.verdict);
    ck_assert_ptr_null(strstr(report.verdict, "compared whole"));
}
END_TEST

/* The last words of the longest line are not cut off: in what the run was weakened. */
START_TEST(a_long_verdict_is_whole)
{
    static const char judge[] = "device judge, held to the sampled golden", tiles[] = "12 tiles of 64x64, 19 % of dw";
    char partial[200]; /* as sb_partial_text may fill it */
    start();
    for (int i = 0; i < 4; i++)
        add_large(i < 2 ? "fake/n=5" : "fake/n=6", "right", i < 2 ? judge : "sampled golden", i < 2 ? "" : tiles);
    for (int i = 0; i < SB_OUTCOME_COUNT; i++)
        report.count[i] = i == SB_FAIL ? 0 : 100000000;
    memset(partial, 'x', sizeof partial - 1);
    memcpy(partial + sizeof partial - 5, "last", 5);
    sb_verdict(&report, &nothing, &cases, &fake_table, NULL, partial);
    ck_assert_msg(strstr(report.verdict, "xlast") != NULL, "%s", report.verdict);
    ck_assert(strlen(report.verdict) > 383);
}
END_TEST

/* They hold of many outputs: whoever compared nothing else has compared no bit. */
START_TEST(relations_alone_are_no_verdict)
{
    start();
    add("relations", "cpu", SB_PASS, "");
    conclude(&nothing, NULL, 3, "NOTHING RAN: only relations held");
    conclude(&nothing, "a damaged file", 2, "a damaged file");
    add("ref", "cpu", SB_NOT_RUN, "nothing vouches");
    conclude(&nothing, NULL, 3, "NOTHING RAN: only relations held");
    add("right", "0: Some GPU (sm_90)", SB_PASS, "");
    conclude(&nothing, NULL, 0, "PASS");
}
END_TEST

START_TEST(requirements)
{
    const struct sb_require three = {.passes = 3}, gpu = {.gpu = true};
    start();
    add("ref", "cpu", SB_PASS, "");
    add("relations", "cpu", SB_PASS, "");
    conclude(&three, NULL, 3, "--require 3");
    conclude(&gpu, NULL, 3, "fake ran on no GPU");
    add("right", "0: Some GPU (sm_90)", SB_SKIP, "cannot");
    conclude(&gpu, NULL, 3, "fake ran on no GPU");
    add("right", "0: Some GPU (sm_90)", SB_PASS, "");
    conclude(&gpu, NULL, 0, "PASS: everything that ran gave the same bits, on 1 of 28 GPU paths");
    conclude(&three, NULL, 0, "PASS");
}
END_TEST

static const char *none_deselected(void *user, const char *variant)
{
    (void)user;
    return strcmp(variant, "hang") == 0 ? "left out by --variant" : NULL;
}

static const struct sb_ledger *line(const char *variant, const char *target)
{
    for (int i = 0; i < report.ledgers; i++)
        if (strcmp(report.ledger[i].variant, variant) == 0 && strcmp(report.ledger[i].target, target) == 0)
            return &report.ledger[i];
    ck_abort_msg("no ledger line for %s on %s", variant, target);
    return NULL;
}

START_TEST(ledger_lists_what_did_not_run)
{
    const char *here[] = {"sm_90a"};
    struct sb_ledger_facts facts = {
        .cases = &cases, .table = &fake_table, .no_gpu = "no GPU on this machine", .deselected = none_deselected};
    start();
    add("ref", "cpu", SB_PASS, "");
    add("right", "none", SB_NOT_RUN, "no GPU on this machine");
    ck_assert(sb_ledger_fill(&report, &facts));
    ck_assert_int_eq(line("ref", "cpu")->executed, 1);
    ck_assert_int_eq(line("relations", "cpu")->executed, 0);
    ck_assert_str_ne(line("relations", "cpu")->note, "");
    static const char *const targets[] = {"sm_90a", "sm_100f", "sm_103f", "sm_120f", "sm_121f"};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(line("right", targets[i])->executed, 0);
        ck_assert_str_ne(line("right", targets[i])->note, "");
        ck_assert_str_eq(line("hang", targets[i])->note, "left out by --variant");
    }
    ck_assert_str_eq(line("elsewhere", "sm_100f")->variant, "elsewhere"); /* written for one family: only that one */
    for (int i = 0; i < report.ledgers; i++)
        ck_assert(strcmp(report.ledger[i].variant, "elsewhere") != 0 ||
                  strncmp(report.ledger[i].target, "sm_10", 5) == 0);

    start();
    facts.no_gpu = NULL;
    facts.targets_here = here;
    facts.targets_here_count = 1;
    add("right", "0: Some GPU (sm_90)", SB_PASS, "");
    add("right", "0: Some GPU (sm_90)", SB_FAIL, "wrong");
    ck_assert(sb_ledger_fill(&report, &facts));
    char target[32];
    sb_target_of(90, target, sizeof target); /* "sm_90" in a build that has no such target */
    int64_t executed = 0, failed = 0;
    for (int i = 0; i < report.ledgers; i++)
        if (strcmp(report.ledger[i].variant, "right") == 0) {
            executed += report.ledger[i].executed;
            failed += report.ledger[i].failed;
        }
    if (strcmp(target, "sm_90a") == 0) {
        ck_assert_int_eq(executed, 2);
        ck_assert_int_eq(failed, 1);
    }
    ck_assert_int_eq(line("right", "sm_120f")->executed, 0);
}
END_TEST

START_TEST(an_interrupt_is_why_nothing_ran)
{
    struct sb_ledger_facts facts = {.cases = &cases, .table = &fake_table, .deselected = none_deselected};
    start();
    ck_assert(sb_ledger_fill(&report, &facts));
    ck_assert_str_eq(line("ref", "cpu")->note, "no case asked for it");
    start();
    facts.interrupted = true;
    ck_assert(sb_ledger_fill(&report, &facts));
    ck_assert_str_eq(line("ref", "cpu")->note, "not reached: the run was interrupted");
}
END_TEST

static bool parse_require(const char *text)
{
    static const struct sb_option options[] = {{"require", SB_OPT_LIST, "N|gpu", NULL, 0, 0, "help"}, {0}};
    static const struct sb_option_table table = {"verb", "summary", "", 0, options, ""};
    static char verb[] = "verb", option[] = "--require", value[64];
    char *argv[] = {verb, option, value, NULL};
    struct sb_options o;
    struct sb_error err = {0};
    struct sb_require require;
    snprintf(value, sizeof value, "%s", text);
    const bool ok = sb_options_parse(&o, &table, 3, argv, &err) && sb_require_parse(&require, &o, &err);
    ck_assert(ok || err.exit == SB_EXIT_BAD_INPUT);
    sb_options_free(&o);
    return ok;
}

START_TEST(demands_that_are_none)
{
    ck_assert(parse_require("gpu,5") && parse_require("9223372036854775807"));
    ck_assert(!parse_require(",") && !parse_require("gpu,") && !parse_require("0") && !parse_require("-1"));
    ck_assert(!parse_require("9223372036854775808")); /* would read as the largest number, or as nothing */
}
END_TEST

START_TEST(targets)
{
    ck_assert(sb_targets_cover("any", 90) && sb_targets_cover("any", 121));
    ck_assert(sb_targets_cover("sm_90a", 90));
    ck_assert(!sb_targets_cover("sm_90a", 100));
    ck_assert(sb_targets_cover("sm_100f", 100) && sb_targets_cover("sm_100f", 103));
    ck_assert(!sb_targets_cover("sm_100f", 90) && !sb_targets_cover("sm_100f", 110) &&
              !sb_targets_cover("sm_100f", 120));
    ck_assert(sb_targets_cover("sm_120f", 121) && !sb_targets_cover("sm_121f", 120));
    ck_assert(sb_targets_cover("sm_90a,sm_120f", 121) && sb_targets_cover("sm_90a,sm_120f", 90));
    ck_assert(sb_targets_cover("sm_80", 89) && !sb_targets_cover("sm_80", 90));
    char name[32];
    ck_assert_str_eq(sb_target_of(75, name, sizeof name), "sm_75");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("verdict");
    TCase *t = tcase_create("all");
    tcase_add_test(t, statuses);
    tcase_add_test(t, samples_are_said);
    tcase_add_test(t, a_device_judge_is_said);
    tcase_add_test(t, a_device_judge_is_not_said_in_vain);
    tcase_add_test(t, a_long_verdict_is_whole);
    tcase_add_test(t, relations_alone_are_no_verdict);
    tcase_add_test(t, requirements);
    tcase_add_test(t, ledger_lists_what_did_not_run);
    tcase_add_test(t, an_interrupt_is_why_nothing_ran);
    tcase_add_test(t, demands_that_are_none);
    tcase_add_test(t, targets);
    suite_add_tcase(s, t);
    return s;
}
