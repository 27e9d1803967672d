/* judge.c - outputs and status of one run against the expected ones, written into a result. */
#include "run_case.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../golden/digest.h"
#include "../golden/samples.h"
#include "compare.h"
#include "text.h"

double sb_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool sb_tensor_absent(const struct sb_tensor_spec *spec, const struct sb_tensor *t)
{
    return spec->optional && t->data == NULL && t->rank == 0;
}

bool sb_case_has(const struct sb_case *c, const char *name)
{
    for (const struct sb_param_spec *p = c->op->params; p->name != NULL; p++)
        if (strcmp(p->name, name) == 0)
            return true;
    return false;
}

/* Where padded segments begin, and how wide a packed row is: only for saying where a difference lies. */
static struct sb_compare_hints hints_of(const struct sb_case *c, const struct sb_data *expected, int poison)
{
    struct sb_compare_hints hints = {.poison = poison};
    if (sb_case_has(c, "cols"))
        hints.packed_cols = sb_case_int(c, "cols");
    for (int i = 0; i < sb_op_output_count(c->op); i++) {
        const struct sb_tensor *t = &expected->out[i];
        if (t->data != NULL && strcmp(c->op->outputs[i].name, "expert_offset") == 0) {
            hints.segment = t->data;
            hints.segments = sb_tensor_count(t) - 1;
        }
    }
    return hints;
}

static bool judge_status(const struct sb_status *expected, const struct sb_status *actual, int poison,
                         struct sb_result *result)
{
    if (memcmp(expected, actual, sizeof *expected) == 0)
        return true;
    struct sb_status unwritten;
    memset(&unwritten, poison & 0xFF, sizeof unwritten);
    if (poison != SB_NO_POISON && memcmp(actual, &unwritten, sizeof unwritten) == 0) {
        sb_append_line(result->detail, sizeof result->detail, "the status was never written");
        return false;
    }
    char want[256], have[256];
    sb_append_line(result->detail, sizeof result->detail,
                   "the status differs: expected %s {%s, where %lld %lld %lld, ignored %lld}, ",
                   sb_status_text(expected, want, sizeof want), sb_code_name((enum sb_code)expected->code),
                   (long long)expected->where[0], (long long)expected->where[1], (long long)expected->where[2],
                   (long long)expected->ignored);
    const bool known = actual->code >= 0 && actual->code < SB_CODE_COUNT;
    sb_append(result->detail, sizeof result->detail, "actual %s {code %d, where %lld %lld %lld, ignored %lld}",
              known ? sb_status_text(actual, have, sizeof have) : "an unknown code", (int)actual->code,
              (long long)actual->where[0], (long long)actual->where[1], (long long)actual->where[2],
              (long long)actual->ignored);
    return false;
}

/* The first tensor with other elements fills the result's own fields; each further one is a line of the detail. */
static void tell_difference(const struct sb_difference *d, const char *name, struct sb_result *result)
{
    const bool elements = d->same_dtype && d->same_shape && d->elements > 0;
    if (elements && result->tensor[0] == '\0') {
        sb_append(result->tensor, sizeof result->tensor, "%s", name);
        sb_append(result->pattern, sizeof result->pattern, "%s", d->pattern);
        result->elements = d->elements;
        result->mismatches = d->mismatches;
        result->samples = d->samples;
        memcpy(result->sample, d->sample, sizeof result->sample);
        return;
    }
    sb_append_line(result->detail, sizeof result->detail, "%s%s%s%s", d->text, d->pattern[0] != '\0' ? " (" : "",
                   d->pattern, d->pattern[0] != '\0' ? ")" : "");
}

/* A rejected call: `t` must still be the poison from end to end. */
static bool judge_untouched(const struct sb_tensor *t, int poison, struct sb_result *result)
{
    const size_t n = sb_tensor_span_bytes(t);
    const unsigned char *p = t->data;
    size_t kept = 0, first = n;
    for (size_t i = 0; i < n; i++) {
        const bool same = p[i] == (unsigned char)poison;
        kept += same;
        if (!same && first == n)
            first = i;
    }
    result->bytes_compared += (int64_t)n;
    if (kept == n)
        return true;
    sb_append_line(result->detail, sizeof result->detail,
                   "the call was rejected but wrote %zu bytes of output %s, the first at byte %zu", n - kept, t->name,
                   first);
    return false;
}

/* A candidate that is right in another order is worth telling from one that is wrong. */
void sb_judge_relations(const struct sb_case *c, const struct sb_data *expected, const struct sb_tensor *out,
                        struct sb_result *result)
{
    char why[256] = "";
    if (c->op->relations == NULL || expected->status.code != SB_OK)
        return;
    if (c->op->relations(c, expected, out, why, sizeof why))
        sb_append_line(result->detail, sizeof result->detail, "the contract's relations hold: right in another order");
    else
        sb_append_line(result->detail, sizeof result->detail, "the contract's relations fail as well: %s", why);
}

void sb_tell_samples(const struct sb_data *expected, int i, struct sb_result *result)
{
    if (expected->samples[i].count > 0)
        sb_samples_text(&expected->samples[i], result->sampled, sizeof result->sampled);
}

/* What is to be compared of `out`: where samples of it are expected and it is the whole output, those alone, in memory
 * that the caller frees. Blocks that are packed already stay. */
static bool take_samples(const struct sb_samples *s, const struct sb_tensor *out, bool packed, struct sb_tensor *taken)
{
    *taken = *out;
    if (packed || s->count == 0 || out->data == NULL || !sb_tensor_same_layout(out, &s->whole))
        return true;
    *taken = sb_samples_layout(s);
    taken->data = malloc(sb_tensor_logical_bytes(taken) + 1);
    if (taken->data != NULL)
        sb_samples_gather(s, out->data, taken->data);
    return taken->data != NULL;
}

bool sb_judge_output(const struct sb_case *c, const struct sb_data *expected, int i, const struct sb_tensor *out,
                     bool packed, int poison, bool *complete, struct sb_result *result)
{
    const struct sb_samples *samples = &expected->samples[i];
    struct sb_compare_hints hints = hints_of(c, expected, poison);
    struct sb_tensor want = expected->out[i], have;
    want.name = c->op->outputs[i].name;
    hints.samples = samples->count > 0 ? samples : NULL;
    if (!take_samples(samples, out, packed, &have)) {
        *complete = false;
        sb_append_line(result->detail, sizeof result->detail, "not enough host memory for the samples of %s",
                       want.name);
        return false;
    }
    struct sb_difference d;
    const bool same = sb_compare(&want, &have, &hints, &d);
    if (!same) {
        *complete = *complete && d.same_dtype && d.same_shape;
        tell_difference(&d, want.name, result);
    }
    if (have.data != out->data)
        free(have.data);
    const int64_t elements = hints.samples != NULL && d.elements > 0 ? sb_samples_elements(samples) : d.elements;
    result->bytes_compared += elements * (int64_t)sb_dtype_size(want.dtype);
    sb_tell_samples(expected, i, result);
    return same;
}

void sb_judge_outputs(const struct sb_case *c, const struct sb_data *expected, const struct sb_tensor *out, bool packed,
                      const struct sb_status *status, int poison, struct sb_result *result)
{
    const bool rejected = expected->status.code != SB_OK;
    result->bytes_compared += (int64_t)sizeof *status;
    const bool status_equal = judge_status(&expected->status, status, poison, result);
    bool outputs_equal = true;
    bool complete = true; /* all there, in the right shape: the relations may look at them */
    for (int i = 0; i < sb_op_output_count(c->op); i++) {
        if (rejected) {
            if (out[i].data != NULL && poison != SB_NO_POISON)
                outputs_equal = judge_untouched(&out[i], poison, result) && outputs_equal;
            continue;
        }
        outputs_equal = sb_judge_output(c, expected, i, &out[i], packed, poison, &complete, result) && outputs_equal;
    }
    const bool pass = status_equal && outputs_equal;
    if (!pass && status_equal && complete && !rejected)
        sb_judge_relations(c, expected, out, result);
    result->outcome = pass ? SB_PASS : SB_FAIL;
}
