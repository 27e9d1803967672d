/* jsonl.c - writes a report as JSON Lines: one complete, flushed object a line. */
#include "fields.h"
#include "text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The text as a JSON string, U+FFFD for bytes that are not UTF-8, no longer than the field it is read back into. */
static json_t *text_value(const char *text, size_t size)
{
    char *const clean = malloc(size);
    if (clean == NULL)
        return NULL;
    sb_utf8_copy(clean, size, text);
    json_t *const value = json_string(clean);
    free(clean);
    return value;
}

static json_t *seconds_value(double seconds)
{
    return isfinite(seconds) && seconds >= 0 ? json_real(seconds) : json_null();
}

static json_t *field_value(const struct sb_field *field, const void *record)
{
    const void *const at = (const char *)record + field->offset;
    switch (field->kind) {
    case SB_FIELD_TEXT:
        return text_value(at, field->size);
    case SB_FIELD_INTEGER:
        return json_integer(*(const int64_t *)at);
    case SB_FIELD_COUNTED:
        return *(const int64_t *)at >= 0 ? json_integer(*(const int64_t *)at) : json_null();
    case SB_FIELD_OF_FAULT:
        return *(const int64_t *)at != 0 ? json_integer(*(const int64_t *)at) : json_null();
    case SB_FIELD_BOOLEAN:
        return json_boolean(*(const bool *)at);
    case SB_FIELD_SECONDS:
        return seconds_value(*(const double *)at);
    case SB_FIELD_OUTCOME:
        return json_string(sb_outcome_name(*(const enum sb_outcome *)at));
    }
    return NULL;
}

static void set_fields(json_t *object, const struct sb_field *fields, const void *record)
{
    for (const struct sb_field *field = fields; field->name != NULL; field++)
        json_object_set_new(object, field->name, field_value(field, record));
}

static json_t *new_record(const char *kind)
{
    json_t *const object = json_object();
    json_object_set_new(object, "record", json_string(kind));
    return object;
}

/* Takes the object. A line that cannot be made (no memory) is not written; the end record then counts one more than
 * the file has, and no reader takes the file for whole. */
static void write_line(FILE *f, json_t *object)
{
    char *const line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (line != NULL) {
        fputs(line, f);
        fputc('\n', f);
        fflush(f);
    }
    free(line);
    json_decref(object);
}

void sb_jsonl_begin(FILE *f, const struct sb_report *r)
{
    json_t *const object = new_record("begin");
    json_object_set_new(object, "format", json_string(SB_JSONL_FORMAT));
    json_object_set_new(object, "format_version", json_integer(SB_JSONL_FORMAT_VERSION));
    set_fields(object, sb_begin_fields, r);
    write_line(f, object);
}

static json_t *samples_value(const struct sb_result *result)
{
    json_t *const samples = json_array();
    for (int i = 0; i < result->samples; i++) {
        json_t *const sample = json_object();
        set_fields(sample, sb_sample_fields, &result->sample[i]);
        json_array_append_new(samples, sample);
    }
    return samples;
}

void sb_jsonl_result(FILE *f, const struct sb_result *result)
{
    struct sb_result settled = *result;
    sb_result_settle(&settled);
    json_t *const object = new_record("result");
    set_fields(object, sb_result_fields, &settled);
    json_object_set_new(object, "samples", samples_value(&settled));
    write_line(f, object);
}

static void write_ledger(FILE *f, const struct sb_ledger *ledger)
{
    json_t *const object = new_record("ledger");
    set_fields(object, sb_ledger_fields, ledger);
    write_line(f, object);
}

static json_t *counts_value(const struct sb_report *r)
{
    json_t *const counts = json_object();
    for (int outcome = 0; outcome < SB_OUTCOME_COUNT; outcome++)
        json_object_set_new(counts, sb_outcome_name((enum sb_outcome)outcome), json_integer(r->count[outcome]));
    return counts;
}

void sb_jsonl_end(FILE *f, const struct sb_report *r)
{
    for (int i = 0; i < r->ledgers; i++)
        write_ledger(f, &r->ledger[i]);
    if (!r->finished)
        return;
    json_t *const object = new_record("end");
    json_object_set_new(object, "results", json_integer(r->results));
    json_object_set_new(object, "ledgers", json_integer(r->ledgers));
    json_object_set_new(object, "counts", counts_value(r));
    json_object_set_new(object, "exit_status", json_integer(r->exit_status));
    json_object_set_new(object, "verdict", text_value(r->verdict, sizeof r->verdict));
    write_line(f, object);
}
