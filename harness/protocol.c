/* protocol.c - jobs and messages as JSON lines. Results have the form that reports use. */
#include "protocol.h"

#include <jansson.h>
#include <string.h>

#include "json.h"

static const char *const kind_names[] = {"hello", "begin", "judge", "result", "done", "error", "retire"};

static bool write_line(FILE *f, json_t *object)
{
    bool ok = object != NULL && json_dumpf(object, f, JSON_COMPACT | JSON_ENSURE_ASCII) == 0;
    json_decref(object);
    ok = ok && fputc('\n', f) != EOF;
    return ok && fflush(f) == 0;
}

static bool copy_text(const json_t *object, const char *key, char *buf, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL || strlen(text) >= size)
        return false;
    memcpy(buf, text, strlen(text) + 1);
    return true;
}

/* For people to read: U+FFFD is longer than the byte it stands for, so such a text may not fit any more. */
static bool cut_text(const json_t *object, const char *key, char *buf, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text != NULL)
        sb_utf8_copy(buf, size, text);
    return text != NULL;
}

bool sb_on_cpu(const char *variant)
{
    return strcmp(variant, "ref") == 0 || strcmp(variant, "relations") == 0;
}

bool sb_job_add_variant(struct sb_job *job, const char *variant)
{
    if (job->variants == SB_JOB_VARIANTS)
        return false;
    snprintf(job->variant[job->variants++], sizeof job->variant[0], "%s", variant);
    return true;
}

bool sb_job_wants_device(const struct sb_job *job)
{
    for (int i = 0; i < job->variants; i++)
        if (!sb_on_cpu(job->variant[i]))
            return true;
    return false;
}

bool sb_job_write(FILE *f, const struct sb_job *job)
{
    json_t *variants = json_array();
    for (int i = 0; i < job->variants; i++)
        json_array_append_new(variants, sb_json_text(job->variant[i]));
    return write_line(f, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "case", sb_json_text(job->case_id), "stored",
                                   sb_json_text(job->stored), "manifest", sb_json_text(job->manifest), "golden",
                                   sb_json_text(job->golden_root), "no_judge", sb_json_text(job->no_judge), "variants",
                                   variants));
}

bool sb_job_parse(const char *line, struct sb_job *job)
{
    memset(job, 0, sizeof *job);
    json_t *object = json_loads(line, 0, NULL);
    const json_t *variants = json_object_get(object, "variants");
    bool ok = copy_text(object, "case", job->case_id, sizeof job->case_id) &&
              copy_text(object, "stored", job->stored, sizeof job->stored) &&
              copy_text(object, "manifest", job->manifest, sizeof job->manifest) &&
              copy_text(object, "golden", job->golden_root, sizeof job->golden_root) &&
              cut_text(object, "no_judge", job->no_judge, sizeof job->no_judge) && json_is_array(variants) &&
              json_array_size(variants) <= SB_JOB_VARIANTS;
    for (size_t i = 0; ok && i < json_array_size(variants); i++) {
        const char *name = json_string_value(json_array_get(variants, i));
        ok = name != NULL && strlen(name) < sizeof job->variant[i];
        if (ok)
            memcpy(job->variant[job->variants++], name, strlen(name) + 1);
    }
    json_decref(object);
    return ok;
}

bool sb_message_write(FILE *f, const struct sb_message *m)
{
    if (m->kind == SB_MSG_RESULT) {
        sb_jsonl_result(f, &m->result);
        return fflush(f) == 0 && !ferror(f);
    }
    return write_line(f, json_pack("{s:s, s:o, s:b, s:b, s:i, s:o, s:o}", "record", kind_names[m->kind], "name",
                                   sb_json_text(m->name), "slow", (int)m->slow, "usable", (int)m->usable, "exit",
                                   m->exit, "device", sb_json_text(m->device), "text", sb_json_text(m->text)));
}

static bool parse_other(const json_t *object, struct sb_message *m)
{
    m->slow = json_is_true(json_object_get(object, "slow"));
    m->usable = json_is_true(json_object_get(object, "usable"));
    m->exit = (int)json_integer_value(json_object_get(object, "exit"));
    return copy_text(object, "name", m->name, sizeof m->name) &&
           cut_text(object, "device", m->device, sizeof m->device) && cut_text(object, "text", m->text, sizeof m->text);
}

bool sb_message_parse(const char *line, struct sb_message *m)
{
    char why[200];
    memset(m, 0, sizeof *m);
    json_t *object = json_loads(line, 0, NULL);
    const char *record = json_string_value(json_object_get(object, "record"));
    bool ok = false;
    for (size_t i = 0; record != NULL && i < sizeof kind_names / sizeof kind_names[0]; i++)
        if (strcmp(record, kind_names[i]) == 0) {
            m->kind = (enum sb_message_kind)i;
            ok = true;
        }
    if (ok)
        ok = m->kind == SB_MSG_RESULT ? sb_jsonl_parse_result(line, &m->result, why, sizeof why)
                                      : parse_other(object, m);
    json_decref(object);
    return ok;
}
