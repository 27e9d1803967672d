/* fields.h - which fields the JSON Lines records have, and where they live in the model. One table a record, so that
 * the writer, the reader and the tests cannot know different fields. Internal to reports/. */
#ifndef SAMEBITS_REPORTS_FIELDS_H
#define SAMEBITS_REPORTS_FIELDS_H

#include "report.h"

#include <stddef.h>

enum sb_field_kind {
    SB_FIELD_TEXT,     /* char[size] */
    SB_FIELD_INTEGER,  /* int64_t */
    SB_FIELD_BOOLEAN,  /* bool */
    SB_FIELD_COUNTED,  /* int64_t; null where nothing was counted: stored as -1 */
    SB_FIELD_OF_FAULT, /* int64_t; null where there is no fault: stored as 0 */
    SB_FIELD_SECONDS,  /* double; null where not known */
    SB_FIELD_OUTCOME   /* enum sb_outcome, by name */
};

struct sb_field {
    const char *name; /* NULL ends a table */
    enum sb_field_kind kind;
    size_t offset, size;
};

extern const struct sb_field sb_begin_fields[];  /* of struct sb_report */
extern const struct sb_field sb_result_fields[]; /* of struct sb_result; its samples are an array beside these */
extern const struct sb_field sb_sample_fields[]; /* of struct sb_sample */
extern const struct sb_field sb_ledger_fields[]; /* of struct sb_ledger */

enum { SB_JSONL_FORMAT_VERSION = 3 }; /* 3: why samples are all that was compared; a longer judge */
#define SB_JSONL_FORMAT "samebits-report"

/* Puts a zero at the end of every text of `record`, so that no reader can run past it. */
void sb_fields_terminate(const struct sb_field *fields, void *record);

#endif
