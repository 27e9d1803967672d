/* fields.c - the fields of the JSON Lines records. */
#include "fields.h"

/* A macro because offsetof takes a member's name: a function cannot. */
#define FIELD(record, member, kind)                                                                                    \
    {                                                                                                                  \
#member, kind, offsetof(struct record, member), sizeof(((struct record *)0)->member)                           \
    }

const struct sb_field sb_begin_fields[] = {
    FIELD(sb_report, version, SB_FIELD_TEXT),
    FIELD(sb_report, commit, SB_FIELD_TEXT),
    FIELD(sb_report, compiler, SB_FIELD_TEXT),
    FIELD(sb_report, cuda_compiler, SB_FIELD_TEXT),
    FIELD(sb_report, targets, SB_FIELD_TEXT),
    FIELD(sb_report, contracts, SB_FIELD_TEXT),
    FIELD(sb_report, suites, SB_FIELD_TEXT),
    FIELD(sb_report, device, SB_FIELD_TEXT),
    FIELD(sb_report, driver, SB_FIELD_TEXT),
    FIELD(sb_report, host, SB_FIELD_TEXT),
    FIELD(sb_report, started, SB_FIELD_TEXT),
    FIELD(sb_report, command, SB_FIELD_TEXT),
    {NULL, SB_FIELD_TEXT, 0, 0},
};

const struct sb_field sb_result_fields[] = {
    FIELD(sb_result, case_id, SB_FIELD_TEXT),
    FIELD(sb_result, op, SB_FIELD_TEXT),
    FIELD(sb_result, variant, SB_FIELD_TEXT),
    FIELD(sb_result, device, SB_FIELD_TEXT),
    FIELD(sb_result, outcome, SB_FIELD_OUTCOME),
    FIELD(sb_result, judge, SB_FIELD_TEXT),
    FIELD(sb_result, sampled, SB_FIELD_TEXT),
    FIELD(sb_result, not_whole, SB_FIELD_TEXT),
    FIELD(sb_result, detail, SB_FIELD_TEXT),
    FIELD(sb_result, bytes_compared, SB_FIELD_INTEGER),
    FIELD(sb_result, elements, SB_FIELD_OF_FAULT),
    FIELD(sb_result, mismatches, SB_FIELD_INTEGER),
    FIELD(sb_result, tensor, SB_FIELD_TEXT),
    FIELD(sb_result, pattern, SB_FIELD_TEXT),
    FIELD(sb_result, ignored_ids, SB_FIELD_INTEGER),
    FIELD(sb_result, launches, SB_FIELD_COUNTED),
    FIELD(sb_result, seconds, SB_FIELD_SECONDS),
    FIELD(sb_result, repeat, SB_FIELD_TEXT),
    {NULL, SB_FIELD_TEXT, 0, 0},
};

const struct sb_field sb_sample_fields[] = {
    FIELD(sb_sample, index, SB_FIELD_TEXT),
    FIELD(sb_sample, expected, SB_FIELD_TEXT),
    FIELD(sb_sample, actual, SB_FIELD_TEXT),
    FIELD(sb_sample, distance, SB_FIELD_TEXT),
    {NULL, SB_FIELD_TEXT, 0, 0},
};

const struct sb_field sb_ledger_fields[] = {
    FIELD(sb_ledger, op, SB_FIELD_TEXT),
    FIELD(sb_ledger, variant, SB_FIELD_TEXT),
    FIELD(sb_ledger, target, SB_FIELD_TEXT),
    FIELD(sb_ledger, compiled, SB_FIELD_BOOLEAN),
    FIELD(sb_ledger, executed, SB_FIELD_INTEGER),
    FIELD(sb_ledger, passed, SB_FIELD_INTEGER),
    FIELD(sb_ledger, failed, SB_FIELD_INTEGER),
    FIELD(sb_ledger, note, SB_FIELD_TEXT),
    {NULL, SB_FIELD_TEXT, 0, 0},
};

void sb_fields_terminate(const struct sb_field *fields, void *record)
{
    for (const struct sb_field *field = fields; field->name != NULL; field++)
        if (field->kind == SB_FIELD_TEXT)
            ((char *)record)[field->offset + field->size - 1] = '\0';
}
