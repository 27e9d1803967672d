/* jsonl_read.c - reads a JSON Lines report back. Strict: a report is evidence, so nothing is guessed. */
#define _POSIX_C_SOURCE 200809L /* getline */
#include "fields.h"
#include "text.h"

#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Where a reader says what was wrong. The text may quote the file, so it is made fit to show. */
struct why {
    char *text;
    size_t size;
    int64_t line; /* 0: not a file */
};

static bool refuse(const struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(const struct why *why, const char *format, ...)
{
    char raw[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    struct sb_page shown = {0};
    if (why->line > 0)
        sb_page_format(&shown, "line %lld: ", (long long)why->line);
    sb_page_shown(&shown, raw, SIZE_MAX, SB_NEWLINE_SHOWN);
    snprintf(why->text, why->size, "%s", shown.data != NULL ? shown.data : "no memory");
    sb_page_free(&shown);
    return false;
}

/* ---- fields ---- */

static bool read_text(const json_t *value, const struct sb_field *field, char *to, const struct why *why)
{
    if (!json_is_string(value))
        return refuse(why, "field \"%s\" is not a string", field->name);
    const size_t length = json_string_length(value);
    if (length >= field->size)
        return refuse(why, "field \"%s\" has %zu bytes, at most %zu are allowed", field->name, length, field->size - 1);
    memcpy(to, json_string_value(value), length + 1);
    return true;
}

static bool read_integer(const json_t *value, const char *name, int64_t *to, const struct why *why)
{
    if (!json_is_integer(value))
        return refuse(why, "field \"%s\" is not an integer", name);
    *to = json_integer_value(value);
    return true;
}

static bool read_seconds(const json_t *value, const char *name, double *to, const struct why *why)
{
    if (!json_is_number(value) && !json_is_null(value))
        return refuse(why, "field \"%s\" is not a number", name);
    *to = json_is_null(value) ? -1 : json_number_value(value);
    return true;
}

static bool read_outcome(const json_t *value, enum sb_outcome *to, const struct why *why)
{
    const char *const name = json_is_string(value) ? json_string_value(value) : "";
    for (int outcome = 0; outcome < SB_OUTCOME_COUNT; outcome++) {
        if (strcmp(name, sb_outcome_name((enum sb_outcome)outcome)) == 0) {
            *to = (enum sb_outcome)outcome;
            return true;
        }
    }
    return refuse(why, "field \"outcome\" is not PASS, SKIP, NOT RUN or FAIL");
}

static bool read_field(const json_t *object, const struct sb_field *field, void *record, const struct why *why)
{
    void *const at = (char *)record + field->offset;
    const json_t *const value = json_object_get(object, field->name);
    if (value == NULL)
        return refuse(why, "field \"%s\" is missing", field->name);
    switch (field->kind) {
    case SB_FIELD_TEXT:
        return read_text(value, field, at, why);
    case SB_FIELD_INTEGER:
        return read_integer(value, field->name, at, why);
    case SB_FIELD_COUNTED:
        *(int64_t *)at = -1;
        return json_is_null(value) || read_integer(value, field->name, at, why);
    case SB_FIELD_OF_FAULT:
        *(int64_t *)at = 0;
        return json_is_null(value) || read_integer(value, field->name, at, why);
    case SB_FIELD_BOOLEAN:
        if (!json_is_boolean(value))
            return refuse(why, "field \"%s\" is not true or false", field->name);
        *(bool *)at = json_is_true(value);
        return true;
    case SB_FIELD_SECONDS:
        return read_seconds(value, field->name, at, why);
    case SB_FIELD_OUTCOME:
        return read_outcome(value, at, why);
    }
    return false;
}

static bool read_fields(const json_t *object, const struct sb_field *fields, void *record, const struct why *why)
{
    for (const struct sb_field *field = fields; field->name != NULL; field++)
        if (!read_field(object, field, record, why))
            return false;
    return true;
}

static bool read_number(const json_t *object, const char *name, int64_t *to, const struct why *why)
{
    const json_t *const value = json_object_get(object, name);
    if (value == NULL)
        return refuse(why, "field \"%s\" is missing", name);
    return read_integer(value, name, to, why);
}

/* ---- records ---- */

static bool is_record(const json_t *object, const char *kind)
{
    const json_t *const record = json_object_get(object, "record");
    return json_is_string(record) && strcmp(json_string_value(record), kind) == 0;
}

static bool read_begin(const json_t *object, struct sb_report *r, const struct why *why)
{
    const json_t *const format = json_object_get(object, "format");
    int64_t version = 0;
    if (!json_is_string(format) || strcmp(json_string_value(format), SB_JSONL_FORMAT) != 0)
        return refuse(why, "field \"format\" is not \"%s\"", SB_JSONL_FORMAT);
    if (!read_number(object, "format_version", &version, why))
        return false;
    if (version != SB_JSONL_FORMAT_VERSION)
        return refuse(why, "the format version is %lld, this program reads version %d", (long long)version,
                      SB_JSONL_FORMAT_VERSION);
    return read_fields(object, sb_begin_fields, r, why);
}

static bool read_samples(const json_t *object, struct sb_result *result, const struct why *why)
{
    const json_t *const samples = json_object_get(object, "samples");
    if (!json_is_array(samples))
        return refuse(why, "field \"samples\" is missing or not an array");
    if (json_array_size(samples) > SB_MAX_SAMPLES)
        return refuse(why, "field \"samples\" has %zu entries, at most %d are allowed", json_array_size(samples),
                      SB_MAX_SAMPLES);
    result->samples = (int)json_array_size(samples);
    for (int i = 0; i < result->samples; i++)
        if (!read_fields(json_array_get(samples, (size_t)i), sb_sample_fields, &result->sample[i], why))
            return false;
    return true;
}

static bool read_result(const json_t *object, struct sb_result *result, const struct why *why)
{
    memset(result, 0, sizeof *result);
    if (!read_fields(object, sb_result_fields, result, why) || !read_samples(object, result, why))
        return false;
    sb_result_settle(result);
    return true;
}

static bool add_result(const json_t *object, struct sb_report *r, const struct why *why)
{
    struct sb_result result;
    if (!read_result(object, &result, why))
        return false;
    return sb_report_add(r, &result) || refuse(why, "no memory");
}

static bool add_ledger(const json_t *object, struct sb_report *r, const struct why *why)
{
    struct sb_ledger ledger = {0};
    if (!read_fields(object, sb_ledger_fields, &ledger, why))
        return false;
    return sb_report_add_ledger(r, &ledger) || refuse(why, "no memory");
}

static bool same_count(const json_t *object, const char *name, int64_t found, const char *what, const struct why *why)
{
    int64_t stated = 0;
    if (!read_number(object, name, &stated, why))
        return false;
    return stated == found ||
           refuse(why, "the end record counts %lld %s, the file has %lld: lines are missing or changed",
                  (long long)stated, what, (long long)found);
}

static bool read_end(const json_t *object, struct sb_report *r, const struct why *why)
{
    if (!same_count(object, "results", r->results, "results", why) ||
        !same_count(object, "ledgers", r->ledgers, "ledger lines", why))
        return false;
    const json_t *const counts = json_object_get(object, "counts");
    for (int outcome = 0; outcome < SB_OUTCOME_COUNT; outcome++) {
        const char *const name = sb_outcome_name((enum sb_outcome)outcome);
        if (!same_count(counts, name, r->count[outcome], name, why))
            return false;
    }
    int64_t exit_status = 0;
    if (!read_number(object, "exit_status", &exit_status, why))
        return false;
    if (exit_status < 0 || exit_status > 255)
        return refuse(why, "field \"exit_status\" is not in 0..255");
    r->exit_status = (int)exit_status;
    const struct sb_field verdict = {"verdict", SB_FIELD_TEXT, offsetof(struct sb_report, verdict), sizeof r->verdict};
    if (!read_field(object, &verdict, r, why))
        return false;
    r->finished = true;
    return true;
}

/* ---- the file ---- */

static bool read_record(const json_t *object, struct sb_report *r, bool *begun, const struct why *why)
{
    if (r->finished)
        return refuse(why, "a record after the end record");
    const bool begin = is_record(object, "begin");
    if (!*begun && !begin)
        return refuse(why, "no begin record: this is not a report, or its head is missing");
    if (begin && *begun)
        return refuse(why, "a second begin record: two reports in one file");
    *begun = true;
    if (begin)
        return read_begin(object, r, why);
    if (is_record(object, "result"))
        return add_result(object, r, why);
    if (is_record(object, "ledger"))
        return add_ledger(object, r, why);
    if (is_record(object, "end"))
        return read_end(object, r, why);
    return refuse(why, "field \"record\" is not begin, result, ledger or end");
}

static bool is_blank(const char *line, size_t size)
{
    return strspn(line, " \t\r\n") == size;
}

enum line_state { LINE_GOOD, LINE_BAD, LINE_CUT /* no newline and not JSON: the writer was stopped inside it */ };

static enum line_state read_line(const char *line, size_t size, struct sb_report *r, bool *begun, const struct why *why)
{
    json_error_t error;
    json_t *const object = json_loadb(line, size, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL) {
        const bool cut = *begun && !r->finished && line[size - 1] != '\n';
        refuse(why, "not a JSON object: %s", error.text);
        return cut ? LINE_CUT : LINE_BAD;
    }
    const bool good = json_is_object(object) ? read_record(object, r, begun, why) : refuse(why, "not a JSON object");
    json_decref(object);
    return good ? LINE_GOOD : LINE_BAD;
}

bool sb_jsonl_read(FILE *f, struct sb_report *r, char *why, size_t why_size)
{
    memset(r, 0, sizeof *r);
    struct why told = {why, why_size, 0};
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    bool begun = false;
    enum line_state state = LINE_GOOD;
    while (state == LINE_GOOD && (size = getline(&line, &room, f)) >= 0) {
        told.line++;
        if (!is_blank(line, (size_t)size))
            state = read_line(line, (size_t)size, r, &begun, &told);
    }
    free(line);
    told.line = 0;
    if (state != LINE_BAD && (ferror(f) || !feof(f))) /* getline fails for want of memory as well */
        refuse(&told, "the file could not be read to its end");
    else if (state != LINE_BAD && !begun)
        refuse(&told, "no begin record: the file is empty");
    else if (state != LINE_BAD)
        return true;
    sb_report_free(r);
    return false;
}

bool sb_jsonl_parse_result(const char *line, struct sb_result *result, char *why, size_t why_size)
{
    const struct why told = {why, why_size, 0};
    json_error_t error;
    json_t *const object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    bool good = object != NULL || refuse(&told, "not a JSON object: %s", error.text);
    if (good && !is_record(object, "result"))
        good = refuse(&told, "not a result record");
    good = good && read_result(object, result, &told);
    json_decref(object);
    return good;
}
