/* report.c - the report model: outcomes, adding, freeing. */
#include "report.h"
#include "fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *sb_outcome_name(enum sb_outcome outcome)
{
    switch (outcome) {
    case SB_PASS:
        return "PASS";
    case SB_SKIP:
        return "SKIP";
    case SB_NOT_RUN:
        return "NOT RUN";
    case SB_FAIL:
    case SB_OUTCOME_COUNT:
        break;
    }
    return "FAIL";
}

enum sb_outcome sb_result_outcome(const struct sb_result *result)
{
    switch (result->outcome) {
    case SB_SKIP:
    case SB_NOT_RUN:
        return result->outcome;
    case SB_PASS:
        return result->bytes_compared > 0 && result->mismatches == 0 ? SB_PASS : SB_FAIL;
    case SB_FAIL:
    case SB_OUTCOME_COUNT:
        break;
    }
    return SB_FAIL;
}

bool sb_by_device_judge(const struct sb_result *result)
{
    static const char mark[] = "device judge";
    const enum sb_outcome outcome = sb_result_outcome(result);
    return (outcome == SB_PASS || outcome == SB_FAIL) && result->bytes_compared > 0 &&
           strncmp(result->judge, mark, sizeof mark - 1) == 0;
}

/* Why a result that is not called a FAIL counts as one. */
static const char *disbelief(const struct sb_result *result)
{
    if (result->outcome != SB_PASS)
        return "the outcome is not one this program knows";
    if (result->bytes_compared <= 0)
        return "checked nothing: the result said PASS with 0 bytes compared";
    return "the result said PASS with mismatching elements";
}

static void put_in_front(char *text, size_t size, const char *front)
{
    const size_t kept = strlen(text);
    size_t length = strlen(front);
    if (kept > 0 && length + 2 < size) {
        const size_t room = size - 1 - length - 2;
        const size_t moved = kept < room ? kept : room;
        memmove(text + length + 2, text, moved);
        text[length + 2 + moved] = '\0';
        memcpy(text + length, "; ", 2);
    } else {
        length = length < size - 1 ? length : size - 1;
        text[length] = '\0';
    }
    memcpy(text, front, length);
}

void sb_result_settle(struct sb_result *result)
{
    sb_fields_terminate(sb_result_fields, result);
    for (int i = 0; i < SB_MAX_SAMPLES; i++)
        sb_fields_terminate(sb_sample_fields, &result->sample[i]);
    if (result->samples < 0)
        result->samples = 0;
    if (result->samples > SB_MAX_SAMPLES)
        result->samples = SB_MAX_SAMPLES;
    if (!(isfinite(result->seconds) && result->seconds >= 0))
        result->seconds = -1;
    const enum sb_outcome outcome = sb_result_outcome(result);
    if (outcome == result->outcome)
        return;
    put_in_front(result->detail, sizeof result->detail, disbelief(result));
    result->outcome = outcome;
}

void sb_report_free(struct sb_report *r)
{
    free(r->result);
    free(r->ledger);
    memset(r, 0, sizeof *r);
}

/* Room for one more of `count` items: the array doubles whenever it holds 16 * 2^k of them. */
static bool make_room(void **array, int count, size_t item)
{
    const bool full = count == 0 || (count >= 16 && (count & (count - 1)) == 0);
    if (!full)
        return true;
    const size_t room = count < 16 ? 16 : 2 * (size_t)count;
    void *const larger = realloc(*array, room * item);
    if (larger == NULL)
        return false;
    *array = larger;
    return true;
}

bool sb_report_add(struct sb_report *r, const struct sb_result *result)
{
    void *array = r->result;
    if (!make_room(&array, r->results, sizeof *r->result))
        return false;
    r->result = array;
    struct sb_result *const added = &r->result[r->results++];
    *added = *result;
    sb_result_settle(added);
    r->count[added->outcome]++;
    return true;
}

bool sb_report_add_ledger(struct sb_report *r, const struct sb_ledger *ledger)
{
    void *array = r->ledger;
    if (!make_room(&array, r->ledgers, sizeof *r->ledger))
        return false;
    r->ledger = array;
    struct sb_ledger *const added = &r->ledger[r->ledgers++];
    *added = *ledger;
    sb_fields_terminate(sb_ledger_fields, added);
    return true;
}
