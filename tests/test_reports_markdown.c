/* test_reports_markdown.c - the report for a pull request: order, escapes, and never above its limit. */
#include "test_reports_fixture.h"
#include "check_main.h"

enum { GITHUB_COMMENT = 65536 };

static bool markdown(FILE *f, const struct sb_report *r, size_t limit)
{
    return sb_markdown(f, r, limit);
}

static char *page_of(const struct sb_report *r, size_t limit)
{
    bool good = false;
    char *const text = rendered(markdown, r, limit, &good);
    ck_assert_msg(good, "no page within %zu bytes", limit);
    return text;
}

/* ---- a small reader of the page, to see that no text breaks out of its place ---- */

static bool starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static size_t ticks_at(const char *line)
{
    return strspn(line, "`");
}

/* Blanks what stands in `code` (of one tick: the only kind the renderer makes). False: a tick without its partner. */
static bool blank_code(char *line)
{
    for (char *at = strchr(line, '`'); at != NULL; at = strchr(at + 1, '`')) {
        char *const end = strchr(at + 1, '`');
        if (end == NULL || end == at + 1)
            return false;
        for (char *c = at + 1; c < end; c++)
            *c = *c == '|' ? '|' : '.'; /* a pipe ends a table cell even inside code */
        at = end;
    }
    return true;
}

static bool is_own_tag(const char *at)
{
    static const char *const tags[] = {"<br>",       "<code>",    "</code>",   "<details>",
                                       "</details>", "<summary>", "</summary>"};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (starts(at, tags[i]))
            return true;
    return false;
}

static bool is_own_heading(const char *line)
{
    return starts(line, "## Samebits: ") || starts(line, "### Failures (") || starts(line, "#### ") ||
           starts(line, "### Paths this gate did not execute") || starts(line, "### Cases not executed") ||
           starts(line, "### Compared on samples only");
}

static int pipes(const char *line)
{
    int count = 0;
    for (; *line != '\0'; line++)
        count += *line == '|';
    return count;
}

struct reader {
    size_t fence; /* ticks of the open fence, 0: none */
    int columns;  /* pipes of the open table's first row, 0: none */
    int folds;
};

static void read_prose(struct reader *s, char *line)
{
    ck_assert_msg(blank_code(line), "an open code span: %s", line);
    for (const char *at = strchr(line, '<'); at != NULL; at = strchr(at + 1, '<'))
        ck_assert_msg(is_own_tag(at), "a foreign tag: %s", at);
    ck_assert_msg(strchr(line, '@') == NULL, "a mention: %s", line);
    ck_assert_msg(line[0] != '#' || is_own_heading(line), "a foreign heading: %s", line);
    ck_assert_msg(!starts(line, "---") && !starts(line, "===") && !starts(line, "> "), "a foreign block: %s", line);
    s->folds += starts(line, "<details>") - starts(line, "</details>");
    if (line[0] != '|') {
        ck_assert_msg(pipes(line) == 0, "a pipe outside a table: %s", line);
        s->columns = 0;
        return;
    }
    if (s->columns == 0)
        s->columns = pipes(line);
    ck_assert_msg(pipes(line) == s->columns, "%d pipes instead of %d: %s", pipes(line), s->columns, line);
}

static void read_page_line(struct reader *s, char *line)
{
    for (const char *c = line; *c != '\0'; c++)
        ck_assert_msg((unsigned char)*c >= 0x20 && *c != 0x7f, "control %d: %s", *c, line);
    const size_t ticks = ticks_at(line);
    if (s->fence > 0) {
        if (ticks >= s->fence) {
            ck_assert_msg(line[ticks] == '\0', "a fence ends with a word: %s", line);
            s->fence = 0;
        }
        return;
    }
    if (ticks >= 3) {
        ck_assert_msg(strcmp(line + ticks, "text") == 0 || strcmp(line + ticks, "sh") == 0, "a foreign fence: %s",
                      line);
        s->fence = ticks;
        return;
    }
    read_prose(s, line);
}

static void must_be_sound(const char *page)
{
    struct reader s = {0};
    char *const copy = strdup(page);
    for (char *line = copy; *line != '\0';) {
        char *const end = strchr(line, '\n');
        ck_assert_msg(end != NULL, "the last line is cut: %s", line);
        *end = '\0';
        read_page_line(&s, line);
        line = end + 1;
    }
    ck_assert_uint_eq(s.fence, 0);
    ck_assert_int_eq(s.folds, 0);
    free(copy);
}

/* ---- content and order ---- */

START_TEST(every_outcome_is_shown)
{
    struct sb_report r = made_mixed();
    char *const page = page_of(&r, GITHUB_COMMENT);
    must_be_sound(page);
    ck_assert_ptr_nonnull(strstr(page, "4 results: 1 PASS, 1 FAIL, 1 SKIP, 1 NOT RUN.\n"));
    ck_assert_ptr_nonnull(strstr(page, "| SKIP | 1 | wgrad_varlen_k | mma_sync | the made-up reason to skip |\n"));
    ck_assert_ptr_nonnull(
        strstr(page, "| NOT RUN | 1 | wgrad_varlen_k | mma_sync | the made-up reason not to run |\n"));
    ck_assert_ptr_nonnull(strstr(page, "| wgrad_varlen_k | mma_sync | 1 | 1 | 1 | 1 | 1 | 4,096 |\n"));
    ck_assert_ptr_nonnull(strstr(page, "#### 1. `wgrad_varlen_k:number=3`\n"));
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(a_page_without_a_kernel_says_so)
{
    struct sb_report r = made_green();
    for (int i = 0; i < r.results; i++)
        copy_text(r.result[i].device, sizeof r.result[i].device, "cpu");
    r.targets[0] = '\0';
    copy_text(r.cuda_compiler, sizeof r.cuda_compiler, "none");
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert(starts(page, "## Samebits: PASS on CPU only\n"));
    ck_assert_ptr_nonnull(strstr(page, "| targets | none: built without CUDA |\n"));
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(one_reason_for_many_paths_is_one_row)
{
    struct sb_report r = made_head();
    static const char *const paths[][2] = {{"a", "x"}, {"a", "y"}, {"b", "x"}, {"a", "x"}};
    for (int i = 0; i < 4; i++) {
        struct sb_result result = made_result(paths[i][0], paths[i][1], SB_NOT_RUN, i);
        copy_text(result.detail, sizeof result.detail, "no GPU");
        ck_assert(sb_report_add(&r, &result));
    }
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert_ptr_nonnull(strstr(page, "| NOT RUN | 4 | 2 ops | 3 paths | no GPU |\n"));
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(a_single_result_of_every_outcome_is_counted_under_its_name)
{
    for (int outcome = 0; outcome < SB_OUTCOME_COUNT; outcome++) {
        struct sb_report r = made_head();
        add_result(&r, "op", "variant", (enum sb_outcome)outcome, 0);
        char *const page = page_of(&r, GITHUB_COMMENT);
        char wanted[64], row[64] = "| op | variant |";
        snprintf(wanted, sizeof wanted, " 1 %s", sb_outcome_name((enum sb_outcome)outcome));
        for (int column = 0; column < SB_OUTCOME_COUNT; column++)
            strcat(row, column == outcome ? " 1 |" : " 0 |");
        ck_assert_ptr_nonnull(strstr(page, wanted));
        ck_assert_ptr_nonnull(strstr(page, row));
        free(page);
        sb_report_free(&r);
    }
}
END_TEST

START_TEST(it_opens_with_what_a_reviewer_must_see)
{
    struct sb_report r = made_mixed();
    char *const page = page_of(&r, GITHUB_COMMENT);
    static const char *const order[] = {
        "## Samebits: FAIL\n",
        "**Verdict:** one of two results differs (exit 1: a mismatch)",
        "4 results:",
        "| contracts | e8m0_upcast 1, scale_pack 1 |",
        "| build | samebits 0.1.0, commit `0123456789ab`, clean tree |",
        "| C compiler | a made-up C compiler |",
        "| CUDA compiler | a made-up CUDA compiler |",
        "| targets | sm_90a, sm_100f |",
        "| device | 0: the device line |",
        "| driver | the driver line |",
        "| suites | smoke, seed |",
        "| host | the host line |",
        "| started | 2026-01-02T03:04:05Z |",
        "| command | `samebits check --suite smoke` |",
        "### Failures (1)",
        "samebits check --case 'wgrad_varlen_k:number=3'",
        "### Paths this gate did not execute",
        "| sm_100 | yes | `wgrad_varlen_k`: mma_sync | no such GPU in this machine |",
        "### Cases not executed",
        "<details><summary>What was executed: 1 passed, 1 failed</summary>",
        "| sm_90a | wgrad_varlen_k | mma_sync | 2 | 2 | 0 |",
        "</details>",
    };
    ck_assert(starts(page, order[0]));
    for (size_t i = 1; i < sizeof order / sizeof order[0]; i++)
        ck_assert_msg(in_order(page, order[i - 1], order[i]), "not in order: %s", order[i]);
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(a_failure_is_shown_whole)
{
    struct sb_report r = made_failures(1);
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert_ptr_nonnull(strstr(page, "Failing: `wgrad_varlen_k` `mma_sync` (1).\n\n"
                                       "#### 1. `wgrad_varlen_k:number=0`\n\n"
                                       "```text\n"
                                       "mma_sync on 0: a made-up GPU (sm_90), against stored golden\n"
                                       "dw: 12 of 1,024 elements differ (1.17 %)\n"
                                       "pattern: one row: e=1 m=3\n"
                                       "index              expected        actual                   distance\n"
                                       "[e=1, m=3, n=0]    0x3f800000 (1)  0x3f800001 (1.00000012)  1 ulp\n"
                                       "[e=1, m=3, n=50]   0x3f800000 (1)  0x3f800001 (1.00000012)  1 ulp\n"
                                       "[e=1, m=3, n=100]  0x3f800000 (1)  0x3f800001 (1.00000012)  1 ulp\n"
                                       "... and 9 more\n"
                                       "the values differ\n"
                                       "```\n"
                                       "Repeat only this:\n"
                                       "```sh\n"
                                       "samebits check --case 'wgrad_varlen_k:number=0'\n"
                                       "```\n"));
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(uncommitted_changes_are_said)
{
    struct sb_report r = made_green();
    copy_text(r.commit, sizeof r.commit, "0123456789ab-dirty");
    char *page = page_of(&r, GITHUB_COMMENT);
    ck_assert_ptr_nonnull(strstr(page, "commit `0123456789ab-dirty`, **with uncommitted changes**"));
    ck_assert_ptr_null(strstr(page, "clean tree"));
    free(page);
    r.commit[0] = '\0';
    page = page_of(&r, GITHUB_COMMENT);
    ck_assert_ptr_nonnull(strstr(page, "commit not stated"));
    ck_assert_ptr_null(strstr(page, "clean tree"));
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(empty_head_fields_are_not_stated)
{
    struct sb_report r = {.finished = true, .exit_status = 3};
    char *const page = page_of(&r, GITHUB_COMMENT);
    must_be_sound(page);
    static const char *const rows[] = {"contracts", "C compiler", "CUDA compiler", "targets", "device",
                                       "driver",    "suites",     "host",          "started", "command"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char row[64];
        snprintf(row, sizeof row, "| %s | not stated |\n", rows[i]);
        ck_assert_ptr_nonnull(strstr(page, row));
    }
    ck_assert(starts(page, "## Samebits: NOTHING RAN\n"));
    free(page);
}
END_TEST

START_TEST(targets_that_lack_the_same_paths_share_a_row)
{
    struct sb_report r = made_green();
    add_path(&r, "scale_pack", "gather", "sm_120", 0, "no such GPU in this machine");
    add_path(&r, "scale_pack", "gather", "sm_121", 0, "not in this build");
    r.ledger[r.ledgers - 1].compiled = false;
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert_ptr_nonnull(strstr(page,
                                 "| sm_100<br>sm_120 | yes | `scale_pack`: gather | no such GPU in this machine |\n"
                                 "| sm_121 | **no** | `scale_pack`: gather | not in this build |\n"));
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(targets_that_lack_different_paths_do_not)
{
    struct sb_report r = made_green();
    add_path(&r, "scale_pack", "tile", "sm_120", 0, "no such GPU in this machine");
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert_ptr_nonnull(strstr(page, "| sm_100 | yes | `scale_pack`: gather | no such GPU in this machine |\n"
                                       "| sm_120 | yes | `scale_pack`: tile | no such GPU in this machine |\n"));
    free(page);
    sb_report_free(&r);
}
END_TEST

/* ---- no false green ---- */

START_TEST(an_unfinished_run_has_no_verdict)
{
    struct sb_report r = made_green();
    r.finished = false;
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert(starts(page, "## Samebits: NO VERDICT\n\n**No verdict:** the run was cut short"));
    ck_assert_ptr_null(strstr(page, r.verdict));
    ck_assert_ptr_null(strstr(page, "exit 0"));
    ck_assert_ptr_nonnull(strstr(page, "6 results before it stopped: 6 PASS"));
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(a_pass_that_compared_nothing_is_shown_as_a_failure)
{
    struct sb_report r = made_green();
    r.result[5].bytes_compared = 0; /* behind the model's back */
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert(starts(page, "## Samebits: FAIL\n"));
    ck_assert_ptr_nonnull(strstr(page, "6 results: 5 PASS, 1 FAIL"));
    ck_assert_ptr_nonnull(strstr(page, "the report contradicts itself"));
    ck_assert_ptr_nonnull(strstr(page, "#### 1. `scale_pack:number=9`"));
    ck_assert_ptr_nonnull(strstr(page, "\nchecked nothing: "));
    ck_assert_ptr_null(strstr(page, r.verdict));
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(only_a_sound_report_opens_with_pass)
{
    struct sb_report r = made_green();
    for (int status = 0; status < 6; status++) {
        r.exit_status = status;
        char *const page = page_of(&r, GITHUB_COMMENT);
        ck_assert_int_eq(starts(page, "## Samebits: PASS\n"), status == 0);
        free(page);
    }
    sb_report_free(&r);
    r = made_head();
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert(starts(page, "## Samebits: NOTHING RAN\n"));
    free(page);
}
END_TEST

START_TEST(a_report_without_a_ledger_does_not_claim_that_all_was_executed)
{
    struct sb_report r = made_failures(1);
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert_ptr_nonnull(strstr(page, "Not known: the report has no ledger.\n"));
    ck_assert_ptr_null(strstr(page, "every path"));
    free(page);
    sb_report_free(&r);
}
END_TEST

/* ---- escapes ---- */

static const char *const hostile[] = {
    "a|b||c",
    "`tick",
    "``two`` ```` four",
    "line\nbreak\r\n\n# heading\n---\n- item",
    "<script>alert(1)</script> </details> <!-- <img src=x>",
    "&lt; &amp; &#124;",
    "*bold* _em_ __x__ ~~s~~ [a](b) ![i](j) $x$",
    "@somebody and #12 and http://example.com/ and www.example.com",
    "back\\slash \\| \\` \\",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "| row |",
    "```\nfence",
    "\x1b[31m\x07\x7f\xc2\x9b\xe2\x80\xae",
    "\xff\xfe\xc0\xaf",
    "</code></summary>",
    " ",
    "`",
    "~~~",
};

static void spoil_result(struct sb_result *result, const char *text)
{
    copy_text(result->case_id, sizeof result->case_id, text);
    copy_text(result->op, sizeof result->op, text);
    copy_text(result->variant, sizeof result->variant, text);
    copy_text(result->device, sizeof result->device, text);
    copy_text(result->judge, sizeof result->judge, text);
    copy_text(result->detail, sizeof result->detail, text);
    copy_text(result->tensor, sizeof result->tensor, text);
    copy_text(result->pattern, sizeof result->pattern, text);
    copy_text(result->repeat, sizeof result->repeat, text);
    for (int i = 0; i < result->samples; i++) {
        copy_text(result->sample[i].index, sizeof result->sample[i].index, text);
        copy_text(result->sample[i].expected, sizeof result->sample[i].expected, text);
        copy_text(result->sample[i].actual, sizeof result->sample[i].actual, text);
        copy_text(result->sample[i].distance, sizeof result->sample[i].distance, text);
    }
}

static void spoil_head(struct sb_report *r, const char *text)
{
    copy_text(r->version, sizeof r->version, text);
    copy_text(r->commit, sizeof r->commit, text);
    copy_text(r->compiler, sizeof r->compiler, text);
    copy_text(r->cuda_compiler, sizeof r->cuda_compiler, text);
    copy_text(r->targets, sizeof r->targets, text);
    copy_text(r->contracts, sizeof r->contracts, text);
    copy_text(r->suites, sizeof r->suites, text);
    copy_text(r->device, sizeof r->device, text);
    copy_text(r->driver, sizeof r->driver, text);
    copy_text(r->host, sizeof r->host, text);
    copy_text(r->started, sizeof r->started, text);
    copy_text(r->command, sizeof r->command, text);
    copy_text(r->verdict, sizeof r->verdict, text);
}

static struct sb_report hostile_report(const char *text)
{
    struct sb_report r = made_mixed();
    spoil_head(&r, text);
    for (int i = 0; i < r.results; i++)
        spoil_result(&r.result[i], text);
    for (int i = 0; i < r.ledgers; i++) {
        copy_text(r.ledger[i].op, sizeof r.ledger[i].op, text);
        copy_text(r.ledger[i].variant, sizeof r.ledger[i].variant, text);
        copy_text(r.ledger[i].target, sizeof r.ledger[i].target, text);
        copy_text(r.ledger[i].note, sizeof r.ledger[i].note, text);
    }
    return r;
}

START_TEST(no_text_breaks_out_of_its_place)
{
    struct sb_report r = hostile_report(hostile[_i]);
    char *const page = page_of(&r, GITHUB_COMMENT);
    must_be_sound(page);
    for (const char *c = page; *c != '\0'; c++)
        ck_assert_msg(*c != '\xff' && *c != '\xc0', "a byte that is not UTF-8");
    ck_assert_ptr_null(strstr(page, "\xe2\x80\xae"));
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(escapes_are_what_github_shows_as_the_text)
{
    static const struct {
        const char *text, *row;
    } rows[] = {
        {"a|b", "| host | a&#124;b |\n"},    {"<b>", "| host | &#60;b&#62; |\n"},
        {"a`b", "| host | a&#96;b |\n"},     {"a\nb", "| host | a&#92;nb |\n"},
        {"a & b", "| host | a &#38; b |\n"}, {"e8m0_upcast _x_", "| host | e8m0_upcast &#95;x&#95; |\n"},
        {"@name", "| host | `@name` |\n"},   {"@na|me", "| host | <code>&#64;na&#124;me</code> |\n"},
        {"a\\b", "| host | a&#92;b |\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sb_report r = made_head();
        copy_text(r.host, sizeof r.host, rows[i].text);
        char *const page = page_of(&r, GITHUB_COMMENT);
        ck_assert_msg(strstr(page, rows[i].row) != NULL, "no row %s", rows[i].row);
        free(page);
    }
}
END_TEST

START_TEST(a_repeat_command_stays_one_line)
{
    struct sb_report r = made_failures(1);
    copy_text(r.result[0].repeat, sizeof r.result[0].repeat, "samebits check\nrm -r x");
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert_ptr_nonnull(strstr(page, "```sh\nsamebits check\\nrm -r x\n```\n"));
    free(page);
    sb_report_free(&r);
}
END_TEST

/* ---- the limit ---- */

/* The number before `what` in the note of what was left out; 0 where the note does not name it. */
static int64_t left_out(const char *page, const char *what)
{
    const char *const note = strstr(page, "**Cut to fit ");
    if (note == NULL)
        return 0;
    const char *const end = strchr(note, '\n');
    const char *const at = strstr(note, what);
    if (at == NULL || at > end)
        return 0;
    const char *start = at - 1; /* the space */
    while ((start[-1] >= '0' && start[-1] <= '9') || start[-1] == ',')
        start--;
    int64_t number = 0;
    for (; start < at - 1; start++)
        if (*start != ',')
            number = 10 * number + (*start - '0');
    return number;
}

static int named_failures(const char *page)
{
    return count_of(page, "\n#### ") + count_of(page, "\n- `");
}

START_TEST(ten_thousand_failures_fit_with_a_count)
{
    struct sb_report r = made_failures(10000);
    add_result(&r, "scale_pack", "tile", SB_FAIL, 77); /* last: must not drown */
    for (int i = 0; i < 50; i++)
        add_path(&r, "wgrad_varlen_k", "mma_sync", "sm_100", 0, "no such GPU in this machine");
    char *const page = page_of(&r, GITHUB_COMMENT);
    must_be_sound(page);
    ck_assert_uint_le(strlen(page), GITHUB_COMMENT);
    ck_assert_uint_gt(strlen(page), GITHUB_COMMENT * 9 / 10); /* and the room is used */
    ck_assert_int_eq(count_of(page, "\n#### "), 20);
    ck_assert_int_gt(left_out(page, "failures"), 0);
    ck_assert_int_eq(left_out(page, "failures") + named_failures(page), 10001);
    ck_assert_ptr_nonnull(strstr(page, "Failing: `wgrad_varlen_k` `mma_sync` (10,000), `scale_pack` `tile` (1).\n"));
    ck_assert_ptr_nonnull(strstr(page, ". `scale_pack:number=77`\n"));
    ck_assert(in_order(page, "more failures.\n", "### Paths this gate did not execute"));
    ck_assert_ptr_nonnull(strstr(page, "| wgrad_varlen_k | mma_sync | 0 | 0 | 0 | 10,000 |"));
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(what_fits_is_not_cut)
{
    struct sb_report r = made_mixed();
    char *const page = page_of(&r, GITHUB_COMMENT);
    ck_assert_ptr_null(strstr(page, "Cut to fit"));
    char *const exact = page_of(&r, strlen(page)); /* not one byte more */
    ck_assert_str_eq(exact, page);
    char *const cut = page_of(&r, strlen(page) - 1);
    ck_assert_ptr_nonnull(strstr(cut, "**Cut to fit "));
    free(cut);
    free(exact);
    free(page);
    sb_report_free(&r);
}
END_TEST

/* Every limit gives either nothing, or a sound page within it that opens with the verdict and counts what it lacks. */
static void sweep(const struct sb_report *r, size_t from, size_t to, size_t step, const char *opening)
{
    bool before = false;
    for (size_t limit = from; limit <= to; limit += step) {
        bool good;
        char *const page = rendered(markdown, r, limit, &good);
        ck_assert_msg(strlen(page) <= limit, "%zu bytes at limit %zu", strlen(page), limit);
        ck_assert_msg(good == (page[0] != '\0'), "limit %zu: said %d", limit, good);
        ck_assert_msg(good || !before, "limit %zu gives nothing where a smaller one gave a page", limit);
        before = good;
        if (good) {
            must_be_sound(page);
            ck_assert(starts(page, opening));
            const int64_t failures = r->count[SB_FAIL];
            ck_assert_msg(left_out(page, "failures") + named_failures(page) == failures, "limit %zu: %lld + %d of %lld",
                          limit, (long long)left_out(page, "failures"), named_failures(page), (long long)failures);
        }
        free(page);
    }
    ck_assert(before);
}

START_TEST(no_limit_is_ever_passed)
{
    struct sb_report r = made_mixed();
    for (int i = 0; i < 30; i++)
        add_result(&r, "scale_pack", i % 2 ? "tile" : "scatter", SB_FAIL, 100 + i);
    for (int i = 0; i < 12; i++) {
        char target[16];
        snprintf(target, sizeof target, "sm_%d", i);
        add_path(&r, "scale_pack", i % 2 ? "tile" : "scatter", target, i % 3 == 0, "a reason");
    }
    sweep(&r, 0, 1500, 1, "## Samebits: FAIL\n");
    sweep(&r, 1500, 24000, 89, "## Samebits: FAIL\n");
    sb_report_free(&r);
}
END_TEST

START_TEST(no_limit_is_ever_passed_by_hostile_texts)
{
    struct sb_report r = hostile_report("x");
    for (int i = 0; i < r.results; i++) {
        memset(r.result[i].detail, i % 2 ? '`' : '\x01', sizeof r.result[i].detail - 1);
        memset(r.result[i].case_id, '|', sizeof r.result[i].case_id - 1);
        memset(r.result[i].repeat, '\xff', sizeof r.result[i].repeat - 1);
    }
    memset(r.command, '|', sizeof r.command - 1);
    memset(r.verdict, '<', sizeof r.verdict - 1);
    bool good;
    for (size_t limit = 0; limit < 40000; limit += 307) {
        char *const page = rendered(markdown, &r, limit, &good);
        ck_assert_uint_le(strlen(page), limit);
        ck_assert_int_eq(good, page[0] != '\0');
        must_be_sound(page);
        free(page);
    }
    ck_assert(good);
    sb_report_free(&r);
}
END_TEST

START_TEST(everything_left_out_is_counted)
{
    struct sb_report r = made_green();
    for (int i = 0; i < 3000; i++) {
        struct sb_result result = made_result("op", "variant", i % 2 ? SB_SKIP : SB_NOT_RUN, i);
        snprintf(result.detail, sizeof result.detail, "reason %d", i);
        ck_assert(sb_report_add(&r, &result));
        char note[64];
        snprintf(note, sizeof note, "note %d", i);
        add_path(&r, "op", "variant", "sm_100", 0, note);
        add_path(&r, "op", "other", "sm_100", 0, note);
    }
    char *const page = page_of(&r, GITHUB_COMMENT);
    must_be_sound(page);
    ck_assert_int_gt(left_out(page, "paths not executed"), 0);
    ck_assert_int_eq(left_out(page, "paths not executed") + 2 * count_of(page, "| `op`: variant, other | note "), 6000);
    ck_assert_int_gt(left_out(page, "cases not executed"), 0);
    ck_assert_int_eq(left_out(page, "cases not executed") + count_of(page, " | op | variant | reason "), 3000);
    free(page);
    sb_report_free(&r);
}
END_TEST

START_TEST(samples_are_said_with_their_share)
{
    struct sb_report r = made_green();
    char *const without = page_of(&r, GITHUB_COMMENT);
    ck_assert_ptr_null(strstr(without, "samples"));
    free(without);
    copy_text(r.result[0].sampled, sizeof r.result[0].sampled, "128 tiles of 64x64, 0.26 % of dw");
    char *const page = page_of(&r, GITHUB_COMMENT);
    must_be_sound(page);
    ck_assert_ptr_nonnull(strstr(page, "1 result rests on samples of the outputs"));
    ck_assert_ptr_nonnull(strstr(page, "### Compared on samples only\n\n| status | case | variant | compared |\n"));
    ck_assert_ptr_nonnull(strstr(page, "| PASS | `"));
    ck_assert_ptr_nonnull(strstr(page, " | 128 tiles of 64x64, 0.26 % of dw |\n"));
    ck_assert_ptr_null(strstr(page, "device judge"));
    free(page);
    sb_report_free(&r);
}
END_TEST

/* How many results a device judge vouched for, and which it did not, with the reason. */
START_TEST(the_device_judge_is_counted)
{
    struct sb_report r = made_green();
    copy_text(r.result[0].judge, sizeof r.result[0].judge, "device judge, held to the sampled golden");
    copy_text(r.result[1].sampled, sizeof r.result[1].sampled, "128 tiles of 64x64, 0.26 % of dw");
    copy_text(r.result[1].not_whole, sizeof r.result[1].not_whole, "the device judge cannot: not enough memory");
    char *const page = page_of(&r, GITHUB_COMMENT);
    must_be_sound(page);
    ck_assert_ptr_nonnull(strstr(page, "\n1 result was compared whole with the outputs of a device judge"));
    ck_assert_ptr_nonnull(strstr(page, "\n1 of them for want of a device judge.\n"));
    ck_assert_ptr_nonnull(strstr(page, " | 128 tiles of 64x64, 0.26 % of dw; not whole: the device judge cannot: not "
                                       "enough memory |\n"));
    free(page);
    sb_report_free(&r);
}
END_TEST

/* Many samples leave the other sections their room and are counted where they do not fit. */
START_TEST(many_samples_are_bounded)
{
    struct sb_report r = made_mixed();
    for (int i = 0; i < 2000; i++) {
        struct sb_result result = made_result("wgrad_varlen_k", "mma_sync", SB_PASS, 1000 + i);
        copy_text(result.sampled, sizeof result.sampled, "128 tiles of 64x64, 0.26 % of dw");
        ck_assert(sb_report_add(&r, &result));
    }
    char *const page = page_of(&r, GITHUB_COMMENT);
    must_be_sound(page);
    ck_assert_int_gt(left_out(page, "table rows"), 0);
    ck_assert_int_eq(left_out(page, "table rows") + count_of(page, " | 128 tiles of 64x64, 0.26 % of dw |"), 2000);
    ck_assert_ptr_nonnull(strstr(page, "### Paths this gate did not execute"));
    ck_assert_ptr_nonnull(strstr(page, "### Failures (1)"));
    free(page);
    sweep(&r, 0, 6000, 61, "## Samebits: FAIL\n");
    sb_report_free(&r);
}
END_TEST

START_TEST(a_full_disk_is_a_failure)
{
    FILE *const full = fopen("/dev/full", "w");
    if (full == NULL) /* not on every system; the tests of the verbs have another way */
        return;
    struct sb_report r = made_mixed();
    ck_assert(!sb_markdown(full, &r, GITHUB_COMMENT));
    fclose(full);
    sb_report_free(&r);
}
END_TEST

START_TEST(the_rendering_of_what_was_read_back_is_the_same)
{
    struct sb_report r = made_mixed(), back;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    sb_jsonl_begin(f, &r);
    for (int i = 0; i < r.results; i++)
        sb_jsonl_result(f, &r.result[i]);
    sb_jsonl_end(f, &r);
    fclose(f);
    f = fmemopen(text, size, "r");
    char why[256];
    ck_assert_msg(sb_jsonl_read(f, &back, why, sizeof why), "%s", why);
    fclose(f);
    char *const one = page_of(&r, GITHUB_COMMENT), *const two = page_of(&back, GITHUB_COMMENT);
    ck_assert_str_eq(one, two);
    free(one);
    free(two);
    free(text);
    sb_report_free(&r);
    sb_report_free(&back);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *const suite = suite_create("reports: Markdown");
    TCase *const content = tcase_create("content");
    tcase_add_test(content, every_outcome_is_shown);
    tcase_add_test(content, a_page_without_a_kernel_says_so);
    tcase_add_test(content, one_reason_for_many_paths_is_one_row);
    tcase_add_test(content, a_single_result_of_every_outcome_is_counted_under_its_name);
    tcase_add_test(content, it_opens_with_what_a_reviewer_must_see);
    tcase_add_test(content, a_failure_is_shown_whole);
    tcase_add_test(content, uncommitted_changes_are_said);
    tcase_add_test(content, empty_head_fields_are_not_stated);
    tcase_add_test(content, targets_that_lack_the_same_paths_share_a_row);
    tcase_add_test(content, targets_that_lack_different_paths_do_not);
    suite_add_tcase(suite, content);
    TCase *const green = tcase_create("no false green");
    tcase_add_test(green, an_unfinished_run_has_no_verdict);
    tcase_add_test(green, a_pass_that_compared_nothing_is_shown_as_a_failure);
    tcase_add_test(green, only_a_sound_report_opens_with_pass);
    tcase_add_test(green, samples_are_said_with_their_share);
    tcase_add_test(green, the_device_judge_is_counted);
    tcase_add_test(green, a_report_without_a_ledger_does_not_claim_that_all_was_executed);
    suite_add_tcase(suite, green);
    TCase *const escapes = tcase_create("escapes");
    tcase_add_loop_test(escapes, no_text_breaks_out_of_its_place, 0, (int)(sizeof hostile / sizeof hostile[0]));
    tcase_add_test(escapes, escapes_are_what_github_shows_as_the_text);
    tcase_add_test(escapes, a_repeat_command_stays_one_line);
    suite_add_tcase(suite, escapes);
    TCase *const limit = tcase_create("limit");
    tcase_set_timeout(limit, 1200); /* thousands of pages: slow under sanitizers */
    tcase_add_test(limit, ten_thousand_failures_fit_with_a_count);
    tcase_add_test(limit, what_fits_is_not_cut);
    tcase_add_test(limit, no_limit_is_ever_passed);
    tcase_add_test(limit, no_limit_is_ever_passed_by_hostile_texts);
    tcase_add_test(limit, everything_left_out_is_counted);
    tcase_add_test(limit, many_samples_are_bounded);
    tcase_add_test(limit, a_full_disk_is_a_failure);
    tcase_add_test(limit, the_rendering_of_what_was_read_back_is_the_same);
    suite_add_tcase(suite, limit);
    return suite;
}
