/* test_reports_jsonl.c - JSON Lines: every field there and back, and what a reader must refuse. */
#include "test_reports_fixture.h"
#include "../reports/fields.h"
#include "check_main.h"

#include <jansson.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WHY = 512 };

static bool jsonl(FILE *f, const struct sb_report *r, size_t unused)
{
    (void)unused;
    sb_jsonl_begin(f, r);
    for (int i = 0; i < r->results; i++)
        sb_jsonl_result(f, &r->result[i]);
    sb_jsonl_end(f, r);
    return !ferror(f);
}

static char *written(const struct sb_report *r)
{
    return rendered(jsonl, r, 0, NULL);
}

static bool read_bytes(const char *text, size_t size, struct sb_report *r, char *why)
{
    char empty[1] = "";
    why[0] = '\0';
    FILE *const f = size > 0 ? fmemopen((void *)(uintptr_t)text, size, "r") : fmemopen(empty, 1, "r");
    ck_assert_ptr_nonnull(f);
    if (size == 0)
        ck_assert_int_ne(fgetc(f), EOF);
    const bool good = sb_jsonl_read(f, r, why, WHY);
    fclose(f);
    return good;
}

static bool read_back(const char *text, struct sb_report *r, char *why)
{
    return read_bytes(text, strlen(text), r, why);
}

/* The text must be refused, and the reason must hold `expected`. */
static void must_refuse(const char *text, const char *expected)
{
    struct sb_report r;
    char why[WHY];
    ck_assert_msg(!read_back(text, &r, why), "read without complaint, expected: %s", expected);
    ck_assert_msg(strstr(why, expected) != NULL, "\"%s\" does not say \"%s\"", why, expected);
    ck_assert_int_eq(r.results, 0);
    ck_assert_ptr_null(r.result);
    ck_assert(!r.finished);
}

/* A copy of the text with the first `from` replaced. The caller frees it. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *const at = strstr(text, from);
    ck_assert_msg(at != NULL, "no \"%s\" to replace", from);
    char *const copy = malloc(strlen(text) + strlen(to) + 1);
    memcpy(copy, text, (size_t)(at - text));
    strcpy(copy + (at - text), to);
    strcat(copy, at + strlen(from));
    return copy;
}

static void must_refuse_with(const char *text, const char *from, const char *to, const char *expected)
{
    char *const changed = replaced(text, from, to);
    must_refuse(changed, expected);
    free(changed);
}

/* ---- there and back ---- */

/* Fills every field of a record with something of its own. */
static void fill(const struct sb_field *fields, void *record, int salt)
{
    for (const struct sb_field *field = fields; field->name != NULL; field++) {
        char *const at = (char *)record + field->offset;
        const int64_t number = INT64_MAX - (int64_t)field->offset - salt;
        const double seconds = 0.1 + salt;
        if (field->kind == SB_FIELD_TEXT)
            snprintf(at, field->size, "%s %d \"\\/ \xc3\xa9", field->name, salt);
        else if (field->kind == SB_FIELD_INTEGER || field->kind == SB_FIELD_COUNTED || field->kind == SB_FIELD_OF_FAULT)
            memcpy(at, &number, sizeof number);
        else if (field->kind == SB_FIELD_SECONDS)
            memcpy(at, &seconds, sizeof seconds);
        else if (field->kind == SB_FIELD_BOOLEAN)
            *(bool *)at = salt % 2 == 0;
    }
}

static void must_equal(const struct sb_field *fields, const void *a, const void *b)
{
    for (const struct sb_field *field = fields; field->name != NULL; field++) {
        const char *const left = (const char *)a + field->offset, *const right = (const char *)b + field->offset;
        if (field->kind == SB_FIELD_TEXT)
            ck_assert_msg(strcmp(left, right) == 0, "%s: \"%s\" and \"%s\"", field->name, left, right);
        else
            ck_assert_msg(memcmp(left, right, field->size) == 0, "%s differs", field->name);
    }
}

static void must_equal_results(const struct sb_result *a, const struct sb_result *b)
{
    must_equal(sb_result_fields, a, b);
    ck_assert_int_eq(a->samples, b->samples);
    for (int i = 0; i < a->samples; i++)
        must_equal(sb_sample_fields, &a->sample[i], &b->sample[i]);
}

static struct sb_report filled_report(void)
{
    struct sb_report r = {.finished = true, .exit_status = 1};
    fill(sb_begin_fields, &r, 1);
    for (int i = 0; i < 9; i++) {
        struct sb_result result = {.outcome = (enum sb_outcome)(i % SB_OUTCOME_COUNT)};
        fill(sb_result_fields, &result, i);
        result.mismatches = result.outcome == SB_PASS ? 0 : result.mismatches;
        result.samples = i % (SB_MAX_SAMPLES + 1);
        for (int s = 0; s < result.samples; s++)
            fill(sb_sample_fields, &result.sample[s], 10 * i + s);
        ck_assert(sb_report_add(&r, &result));
    }
    for (int i = 0; i < 3; i++) {
        struct sb_ledger line = {0};
        fill(sb_ledger_fields, &line, i);
        ck_assert(sb_report_add_ledger(&r, &line));
    }
    copy_text(r.verdict, sizeof r.verdict, "a verdict");
    return r;
}

START_TEST(every_field_comes_back)
{
    struct sb_report r = filled_report(), back;
    char *const text = written(&r);
    char why[WHY];
    ck_assert_msg(read_back(text, &back, why), "%s", why);
    must_equal(sb_begin_fields, &r, &back);
    ck_assert_int_eq(back.results, r.results);
    for (int i = 0; i < r.results; i++)
        must_equal_results(&r.result[i], &back.result[i]);
    ck_assert_int_eq(back.ledgers, r.ledgers);
    for (int i = 0; i < r.ledgers; i++)
        must_equal(sb_ledger_fields, &r.ledger[i], &back.ledger[i]);
    ck_assert_mem_eq(back.count, r.count, sizeof r.count);
    ck_assert_int_eq(back.exit_status, 1);
    ck_assert_str_eq(back.verdict, "a verdict");
    ck_assert(back.finished);
    char *const again = written(&back);
    ck_assert_str_eq(again, text);
    free(again);
    free(text);
    sb_report_free(&r);
    sb_report_free(&back);
}
END_TEST

/* Marks the bytes of the fields; what is left unmarked may only be padding. A field added to the model and forgotten
 * in the table shows here. */
static void mark(const struct sb_field *fields, char *covered)
{
    for (const struct sb_field *field = fields; field->name != NULL; field++)
        memset(covered + field->offset, 1, field->size);
}

static void must_be_covered(const char *covered, size_t size, const char *what)
{
    size_t run = 0;
    for (size_t i = 0; i < size; i++) {
        run = covered[i] ? 0 : run + 1;
        ck_assert_msg(run < 8, "%s: the bytes around %zu belong to no field of the records", what, i);
    }
}

START_TEST(the_tables_cover_the_whole_model)
{
    char result[sizeof(struct sb_result)] = {0}, sample[sizeof(struct sb_sample)] = {0};
    char ledger[sizeof(struct sb_ledger)] = {0}, report[sizeof(struct sb_report)] = {0};
    mark(sb_result_fields, result);
    memset(result + offsetof(struct sb_result, sample), 1, sizeof(((struct sb_result *)0)->sample));
    memset(result + offsetof(struct sb_result, samples), 1, sizeof(int));
    must_be_covered(result, sizeof result, "sb_result");
    mark(sb_sample_fields, sample);
    must_be_covered(sample, sizeof sample, "sb_sample");
    mark(sb_ledger_fields, ledger);
    must_be_covered(ledger, sizeof ledger, "sb_ledger");
    mark(sb_begin_fields, report);
    memset(report + offsetof(struct sb_report, results), 1,
           sizeof report - offsetof(struct sb_report, results)); /* the arrays, and what the end record says */
    must_be_covered(report, sizeof report, "sb_report");
}
END_TEST

START_TEST(every_outcome_comes_back)
{
    for (int outcome = 0; outcome < SB_OUTCOME_COUNT; outcome++) {
        const struct sb_result result = made_result("op", "variant", (enum sb_outcome)outcome, outcome);
        char *text = NULL;
        size_t size = 0;
        FILE *const f = open_memstream(&text, &size);
        sb_jsonl_result(f, &result);
        fclose(f);
        struct sb_result back;
        char why[WHY];
        ck_assert_msg(sb_jsonl_parse_result(text, &back, why, sizeof why), "%s", why);
        must_equal_results(&result, &back);
        ck_assert_int_eq(count_of(text, "\n"), 1);
        free(text);
    }
}
END_TEST

START_TEST(control_characters_come_back_and_break_no_line)
{
    struct sb_report r = made_head(), back;
    struct sb_result result = made_result("op", "variant", SB_FAIL, 0);
    for (int c = 1; c < 128; c++)
        result.detail[c - 1] = (char)c;
    result.detail[127] = '\0';
    copy_text(result.sample[0].actual, sizeof result.sample[0].actual, "\n\r\t\x1b[0m\xe2\x80\xa8");
    ck_assert(sb_report_add(&r, &result));
    char *const text = written(&r);
    ck_assert_int_eq(count_of(text, "\n"), 3);
    for (const char *c = text; *c != '\0'; c++)
        ck_assert_msg(*c == '\n' || (unsigned char)*c >= 0x20, "control %d in the file", *c);
    char why[WHY];
    ck_assert_msg(read_back(text, &back, why), "%s", why);
    must_equal_results(&result, &back.result[0]);
    free(text);
    sb_report_free(&r);
    sb_report_free(&back);
}
END_TEST

START_TEST(bytes_that_are_not_utf8_become_the_replacement_character)
{
    static const struct {
        const char *bytes, *expected;
    } texts[] = {
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                                         /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                         /* surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},         /* above U+10FFFF */
        {"x\xe2\x82", "x\xef\xbf\xbd\xef\xbf\xbd"},                                       /* cut in the middle */
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"}, /* good */
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct sb_report r = made_head(), back;
        copy_text(r.device, sizeof r.device, texts[i].bytes);
        char *const text = written(&r);
        char why[WHY];
        ck_assert_msg(read_back(text, &back, why), "%s", why);
        ck_assert_str_eq(back.device, texts[i].expected);
        free(text);
        sb_report_free(&back);
    }
}
END_TEST

START_TEST(replaced_bytes_still_fit_their_field)
{
    struct sb_report r = made_head(), back;
    memset(r.driver, '\xff', sizeof r.driver - 1); /* grows threefold */
    r.driver[sizeof r.driver - 1] = '\0';
    memset(r.commit, '\xff', sizeof r.commit - 1); /* 47 bytes: 16 replacements would fill the field, zero and all */
    r.commit[sizeof r.commit - 1] = '\0';
    memset(r.host, 'x', sizeof r.host - 1); /* exactly full: nothing is lost */
    r.host[sizeof r.host - 1] = '\0';
    char *const text = written(&r);
    char why[WHY];
    ck_assert_msg(read_back(text, &back, why), "%s", why);
    ck_assert_uint_eq(strlen(back.driver), (sizeof r.driver - 1) / 3 * 3);
    ck_assert_uint_eq(strlen(back.commit), 45);
    ck_assert_str_eq(back.host, r.host);
    free(text);
    sb_report_free(&back);
}
END_TEST

START_TEST(numbers_are_finite_and_exact)
{
    static const double seconds[] = {0, 0.1, 1e-9, 123456.789, 5e-324, 1.7976931348623157e308};
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        struct sb_report r = made_head(), back;
        struct sb_result result = made_result("op", "variant", SB_PASS, 0);
        result.seconds = seconds[i];
        ck_assert(sb_report_add(&r, &result));
        char *const text = written(&r);
        char why[WHY];
        ck_assert_msg(read_back(text, &back, why), "%s", why);
        ck_assert_mem_eq(&back.result[0].seconds, &seconds[i], sizeof(double));
        free(text);
        sb_report_free(&r);
        sb_report_free(&back);
    }
}
END_TEST

START_TEST(unknown_seconds_are_null)
{
    const double zero = 0;
    const double unknown[] = {0 / zero, 1 / zero, -1 / zero, -1};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        struct sb_result result = made_result("op", "variant", SB_PASS, 0), back;
        result.seconds = unknown[i];
        char *text = NULL;
        size_t size = 0;
        FILE *const f = open_memstream(&text, &size);
        sb_jsonl_result(f, &result);
        fclose(f);
        ck_assert_ptr_nonnull(strstr(text, "\"seconds\":null"));
        char why[WHY];
        ck_assert_msg(sb_jsonl_parse_result(text, &back, why, sizeof why), "%s", why);
        ck_assert(back.seconds == -1);
        free(text);
    }
}
END_TEST

START_TEST(what_was_not_counted_is_null)
{
    struct sb_result result = made_result("op", "variant", SB_PASS, 0), back;
    result.launches = -1;
    result.elements = 0;
    char *text = NULL, why[WHY];
    size_t size = 0;
    FILE *const f = open_memstream(&text, &size);
    sb_jsonl_result(f, &result);
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text, "\"launches\":null"));
    ck_assert_ptr_nonnull(strstr(text, "\"elements\":null"));
    ck_assert_msg(sb_jsonl_parse_result(text, &back, why, sizeof why), "%s", why);
    ck_assert_int_eq(back.launches, -1);
    ck_assert_int_eq(back.elements, 0);
    free(text);
}
END_TEST

START_TEST(a_pass_that_compared_nothing_is_written_and_read_as_a_failure)
{
    struct sb_result result = made_result("op", "variant", SB_PASS, 0), back;
    result.bytes_compared = 0;
    char *text = NULL;
    size_t size = 0;
    FILE *const f = open_memstream(&text, &size);
    sb_jsonl_result(f, &result);
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text, "\"outcome\":\"FAIL\""));
    char *const forged = replaced(text, "\"outcome\":\"FAIL\"", "\"outcome\":\"PASS\"");
    char why[WHY];
    ck_assert(sb_jsonl_parse_result(forged, &back, why, sizeof why));
    ck_assert_int_eq(back.outcome, SB_FAIL);
    ck_assert_ptr_nonnull(strstr(back.detail, "checked nothing"));
    free(forged);
    free(text);
}
END_TEST

START_TEST(ten_thousand_results_come_back)
{
    struct sb_report r = made_failures(10000), back;
    char *const text = written(&r);
    char why[WHY];
    ck_assert_msg(read_back(text, &back, why), "%s", why);
    ck_assert_int_eq(back.results, 10000);
    must_equal_results(&r.result[9999], &back.result[9999]);
    free(text);
    sb_report_free(&r);
    sb_report_free(&back);
}
END_TEST

START_TEST(a_result_is_in_the_file_as_soon_as_it_is_written)
{
    char path[] = "/tmp/samebits-report-XXXXXX";
    const int descriptor = mkstemp(path);
    FILE *const f = fdopen(descriptor, "w");
    const struct sb_report head = made_head();
    const struct sb_result result = made_result("op", "variant", SB_PASS, 0);
    sb_jsonl_begin(f, &head);
    sb_jsonl_result(f, &result);
    FILE *const other = fopen(path, "r"); /* while the writer still holds it open */
    struct sb_report back;
    char why[WHY];
    ck_assert_msg(sb_jsonl_read(other, &back, why, sizeof why), "%s", why);
    ck_assert_int_eq(back.results, 1);
    ck_assert(!back.finished);
    fclose(other);
    fclose(f);
    remove(path);
    sb_report_free(&back);
}
END_TEST

/* ---- cut short ---- */

START_TEST(without_an_end_record_a_report_is_unfinished)
{
    struct sb_report r = made_green(), back;
    r.finished = false;
    char *const text = written(&r);
    ck_assert_ptr_null(strstr(text, "\"end\""));
    ck_assert_ptr_null(strstr(text, r.verdict));
    char why[WHY];
    ck_assert_msg(read_back(text, &back, why), "%s", why);
    ck_assert(!back.finished);
    ck_assert_int_eq(back.results, r.results);
    ck_assert_int_eq(back.ledgers, r.ledgers);
    free(text);
    sb_report_free(&r);
    sb_report_free(&back);
}
END_TEST

START_TEST(a_report_cut_at_any_byte_never_reads_as_finished)
{
    struct sb_report r = made_mixed();
    char *const text = written(&r);
    const size_t size = strlen(text), begin = (size_t)(strchr(text, '\n') - text);
    for (size_t cut = 0; cut <= size; cut++) {
        struct sb_report back;
        char why[WHY];
        const bool good = read_bytes(text, cut, &back, why);
        ck_assert_msg(good == (cut >= begin), "cut at %zu: %s", cut, why);
        ck_assert_msg(back.finished == (cut >= size - 1), "cut at %zu reads as finished", cut);
        sb_report_free(&back);
    }
    free(text);
    sb_report_free(&r);
}
END_TEST

/* ---- refused ---- */

START_TEST(what_is_no_report_is_refused)
{
    must_refuse("", "no begin record");
    must_refuse("\n\n", "no begin record");
    must_refuse("hello\n", "line 1: not a JSON object");
    must_refuse("hello", "not a JSON object");
    must_refuse("[1]\n", "not a JSON object");
    must_refuse("{}\n", "no begin record");
    must_refuse("{\"record\":\"begin\"}\n", "\"format\"");
    must_refuse("{\"record\":\"begin\",\"format\":\"other\"}\n", "\"format\"");
    must_refuse("{\"record\":7}\n", "no begin record");
}
END_TEST

START_TEST(a_newer_format_is_refused)
{
    struct sb_report r = made_green();
    char *const text = written(&r);
    must_refuse_with(text, "\"format_version\":3", "\"format_version\":4", "the format version is 4");
    must_refuse_with(text, "\"format_version\":3", "\"format_version\":2", "the format version is 2");
    must_refuse_with(text, "\"format_version\":3", "\"format_version\":\"3\"", "\"format_version\" is not an integer");
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(fields_of_a_later_writer_are_ignored)
{
    struct sb_report r = made_green(), back;
    char *const text = written(&r);
    char *const more = replaced(text, "{\"record\":\"result\",", "{\"record\":\"result\",\"colour\":[1,{}],");
    char why[WHY];
    ck_assert_msg(read_back(more, &back, why), "%s", why);
    free(more);
    free(text);
    sb_report_free(&r);
    sb_report_free(&back);
}
END_TEST

/* The first line of `kind` less one field, or with the field changed to an object (no field may be one). */
static char *spoiled(const char *text, const char *kind, const char *name, bool remove_it)
{
    char start[64];
    snprintf(start, sizeof start, "{\"record\":\"%s\"", kind);
    const char *const line = strstr(text, start);
    const char *const end = strchr(line, '\n');
    json_t *const object = json_loadb(line, (size_t)(end - line), 0, NULL);
    ck_assert_msg(json_object_get(object, name) != NULL, "%s has no field \"%s\"", kind, name);
    if (remove_it)
        json_object_del(object, name);
    else
        json_object_set_new(object, name, json_object());
    char *const new_line = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    char *const old_line = strndup(line, (size_t)(end - line));
    char *const result = replaced(text, old_line, new_line);
    free(old_line);
    free(new_line);
    return result;
}

static void must_need(const char *text, const char *kind, const char *name)
{
    char quoted[80];
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    for (int remove_it = 0; remove_it < 2; remove_it++) {
        char *const changed = spoiled(text, kind, name, remove_it);
        must_refuse(changed, strcmp(name, "record") == 0 ? "record" : quoted);
        free(changed);
    }
}

START_TEST(every_field_is_needed_and_has_its_type)
{
    struct sb_report r = filled_report();
    char *const text = written(&r);
    static const char *const begin_extra[] = {"record", "format", "format_version"};
    static const char *const end_fields[] = {"record", "results", "ledgers", "exit_status", "verdict"};
    for (size_t i = 0; i < sizeof begin_extra / sizeof begin_extra[0]; i++)
        must_need(text, "begin", begin_extra[i]);
    for (const struct sb_field *field = sb_begin_fields; field->name != NULL; field++)
        must_need(text, "begin", field->name);
    for (const struct sb_field *field = sb_result_fields; field->name != NULL; field++)
        must_need(text, "result", field->name);
    must_need(text, "result", "samples");
    for (const struct sb_field *field = sb_ledger_fields; field->name != NULL; field++)
        must_need(text, "ledger", field->name);
    for (size_t i = 0; i < sizeof end_fields / sizeof end_fields[0]; i++)
        must_need(text, "end", end_fields[i]);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(values_out_of_range_are_refused)
{
    struct sb_report r = made_mixed();
    char *const text = written(&r);
    must_refuse_with(text, "\"outcome\":\"PASS\"", "\"outcome\":\"pass\"", "\"outcome\"");
    must_refuse_with(text, "\"exit_status\":1", "\"exit_status\":256", "0..255");
    must_refuse_with(text, "\"exit_status\":1", "\"exit_status\":-1", "0..255");
    must_refuse_with(text, "\"elements\":1024", "\"elements\":1024.0", "\"elements\" is not an integer");
    must_refuse_with(text, "\"elements\":1024", "\"elements\":99999999999999999999", "line 5");
    must_refuse_with(text, "\"op\":\"wgrad_varlen_k\"", "\"op\":\"12345678901234567890123456789012\"",
                     "\"op\" has 32 bytes, at most 31");
    must_refuse_with(text, "\"samples\":[]", "\"samples\":[1,2,3,4,5,6,7,8,9]", "9 entries, at most 8");
    must_refuse_with(text, "\"samples\":[]", "\"samples\":[1]", "\"index\" is missing");
    must_refuse_with(text, "\"op\":", "\"op\":\"x\",\"op\":", "duplicate");
    must_refuse_with(text, "\"judge\":\"stored golden\"", "\"judge\":\"a\\u0000b\"", "line 2");
    must_refuse_with(text, "\"judge\":\"stored golden\"", "\"judge\":\"\xff\"", "line 2");
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(changed_or_missing_lines_are_refused)
{
    struct sb_report r = made_mixed();
    char *const text = written(&r);
    char *const second = strchr(text, '\n') + 1;
    char *const third = strchr(second, '\n') + 1;
    char *const line = strndup(second, (size_t)(third - second));
    must_refuse_with(text, line, "", "counts 4 results, the file has 3");
    char *const twice = malloc(2 * strlen(line) + 1);
    strcpy(twice, line);
    strcat(twice, line);
    must_refuse_with(text, line, twice, "counts 4 results, the file has 5");
    must_refuse_with(text, "\"outcome\":\"FAIL\"", "\"outcome\":\"SKIP\"", "counts 1 SKIP, the file has 2");
    must_refuse_with(text, "\"ledgers\":2", "\"ledgers\":3", "counts 3 ledger lines, the file has 2");
    free(twice);
    free(line);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(two_reports_in_one_file_are_refused)
{
    struct sb_report r = made_green();
    char *const text = written(&r);
    char *const both = malloc(2 * strlen(text) + 1);
    strcpy(both, text);
    strcat(both, text);
    must_refuse(both, "after the end record");
    char *const end = strstr(both, "{\"record\":\"end\"");
    memmove(end, strchr(end, '\n') + 1, strlen(strchr(end, '\n') + 1) + 1);
    must_refuse(both, "a second begin record");
    free(both);
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(a_bad_line_in_the_middle_is_refused_by_its_number)
{
    struct sb_report r = made_green();
    char *const text = written(&r);
    must_refuse_with(text, "\n{\"record\":\"result\"", "\n{\"record\":\"res", "line 2: not a JSON object");
    must_refuse_with(text, "\n{\"record\":\"result\"", "\n{\"record\":\"rumour\"", "line 2: field \"record\"");
    must_refuse_with(text, "\n{\"record\":\"end\"", "\n{\"record\":\"end\"}\n{\"record\":\"end\"", "\"results\"");
    free(text);
    sb_report_free(&r);
}
END_TEST

START_TEST(the_reason_cannot_carry_controls)
{
    struct sb_report r;
    char why[WHY];
    ck_assert(!read_back("{\x1b]0;title\x07\n", &r, why));
    for (const char *c = why; *c != '\0'; c++)
        ck_assert_msg((unsigned char)*c >= 0x20, "control %d in the reason", *c);
}
END_TEST

START_TEST(a_small_buffer_for_the_reason_is_respected)
{
    struct sb_result result;
    char why[8];
    memset(why, 'z', sizeof why);
    ck_assert(!sb_jsonl_parse_result("{\"record\":\"result\"}", &result, why, 4));
    ck_assert_uint_eq(strlen(why), 3);
    ck_assert_int_eq(why[4], 'z');
}
END_TEST

START_TEST(only_a_result_parses_as_a_result)
{
    struct sb_result result;
    char why[WHY];
    ck_assert(!sb_jsonl_parse_result("", &result, why, sizeof why));
    ck_assert(!sb_jsonl_parse_result("[]", &result, why, sizeof why));
    ck_assert(!sb_jsonl_parse_result("{\"record\":\"ledger\"}", &result, why, sizeof why));
    ck_assert_str_eq(why, "not a result record");
}
END_TEST

/* ---- documented ---- */

static char *schema_text(void)
{
    char path[4096];
    copy_text(path, sizeof path, __FILE__);
    char *const slash = strrchr(path, '/');
    const size_t used = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    copy_text(path + used, sizeof path - used, "../reports/schema.md");
    FILE *const f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s cannot be opened", path);
    char *const text = calloc(1, 65536);
    ck_assert_uint_gt(fread(text, 1, 65535, f), 0);
    fclose(f);
    return text;
}

/* "| `name` | text, 31 |": with the length the reader allows. */
static void must_document(const char *section, const struct sb_field *fields)
{
    for (const struct sb_field *field = fields; field->name != NULL; field++) {
        char row[128];
        if (field->kind == SB_FIELD_TEXT)
            snprintf(row, sizeof row, "\n| `%s` | text, %zu |", field->name, field->size - 1);
        else
            snprintf(row, sizeof row, "\n| `%s` | ", field->name);
        ck_assert_msg(strstr(section, row) != NULL, "schema.md lacks \"%s\"", row + 1);
    }
}

START_TEST(the_schema_page_documents_every_field)
{
    char *const text = schema_text();
    char *const begin = strstr(text, "\n## `begin`"), *const result = strstr(text, "\n## `result`");
    char *const sample = strstr(text, "\n| field of a sample"), *const ledger = strstr(text, "\n## `ledger`");
    char *const end = strstr(text, "\n## `end`");
    ck_assert(begin && result && sample && ledger && end);
    *result = *sample = *ledger = *end = '\0';
    must_document(begin, sb_begin_fields);
    must_document(result + 1, sb_result_fields);
    must_document(sample + 1, sb_sample_fields);
    must_document(ledger + 1, sb_ledger_fields);
    static const char *const others[] = {"`results`", "`ledgers`", "`counts`", "`exit_status`",
                                         "`verdict` | text, 511"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_ptr_nonnull(strstr(end + 1, others[i]));
    for (int outcome = 0; outcome < SB_OUTCOME_COUNT; outcome++)
        ck_assert_ptr_nonnull(strstr(result + 1, sb_outcome_name((enum sb_outcome)outcome)));
    free(text);
}
END_TEST

/* A line for which there is no memory is not the end of the file: more may follow the end record, and must not. */
START_TEST(a_line_that_does_not_fit_in_memory_is_refused)
{
#ifdef __SANITIZE_ADDRESS__
    return; /* its shadow fits in no limit */
#endif
    struct sb_report r = made_mixed();
    struct sb_report back;
    char why[WHY] = "";
    const struct rlimit small = {1 << 30, 1 << 30};
    char *const text = written(&r);
    FILE *const f = tmpfile();
    ck_assert_ptr_nonnull(f);
    ck_assert(fputs(text, f) >= 0 && fflush(f) == 0);
    ck_assert_int_eq(ftruncate(fileno(f), (off_t)8 << 30), 0);
    rewind(f);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &small), 0); /* of this test's own process */
    ck_assert(!sb_jsonl_read(f, &back, why, WHY));
    ck_assert_msg(strstr(why, "could not be read to its end") != NULL, "%s", why);
    ck_assert_ptr_null(back.result);
    fclose(f);
    free(text);
    sb_report_free(&r);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *const suite = suite_create("reports: JSON Lines");
    TCase *const round = tcase_create("there and back");
    tcase_add_test(round, every_field_comes_back);
    tcase_add_test(round, the_tables_cover_the_whole_model);
    tcase_add_test(round, every_outcome_comes_back);
    tcase_add_test(round, control_characters_come_back_and_break_no_line);
    tcase_add_test(round, bytes_that_are_not_utf8_become_the_replacement_character);
    tcase_add_test(round, replaced_bytes_still_fit_their_field);
    tcase_add_test(round, numbers_are_finite_and_exact);
    tcase_add_test(round, unknown_seconds_are_null);
    tcase_add_test(round, what_was_not_counted_is_null);
    tcase_add_test(round, a_pass_that_compared_nothing_is_written_and_read_as_a_failure);
    tcase_add_test(round, ten_thousand_results_come_back);
    tcase_add_test(round, a_result_is_in_the_file_as_soon_as_it_is_written);
    suite_add_tcase(suite, round);
    TCase *const cut = tcase_create("cut short");
    tcase_add_test(cut, without_an_end_record_a_report_is_unfinished);
    tcase_add_test(cut, a_report_cut_at_any_byte_never_reads_as_finished);
    suite_add_tcase(suite, cut);
    TCase *const refused = tcase_create("refused");
    tcase_add_test(refused, what_is_no_report_is_refused);
    tcase_add_test(refused, a_newer_format_is_refused);
    tcase_add_test(refused, fields_of_a_later_writer_are_ignored);
    tcase_add_test(refused, every_field_is_needed_and_has_its_type);
    tcase_add_test(refused, values_out_of_range_are_refused);
    tcase_add_test(refused, changed_or_missing_lines_are_refused);
    tcase_add_test(refused, two_reports_in_one_file_are_refused);
    tcase_add_test(refused, a_bad_line_in_the_middle_is_refused_by_its_number);
    tcase_add_test(refused, the_reason_cannot_carry_controls);
    tcase_add_test(refused, a_small_buffer_for_the_reason_is_respected);
    tcase_add_test(refused, only_a_result_parses_as_a_result);
    if (strcmp(getenv("CK_FORK") != NULL ? getenv("CK_FORK") : "yes", "no") != 0)
        tcase_add_test(refused, a_line_that_does_not_fit_in_memory_is_refused);
    suite_add_tcase(suite, refused);
    TCase *const documented = tcase_create("documented");
    tcase_add_test(documented, the_schema_page_documents_every_field);
    suite_add_tcase(suite, documented);
    return suite;
}
