/* verdict.c - green means executed: what did not run never counts. */
#include "verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "text.h"

bool sb_require_parse(struct sb_require *r, const struct sb_options *o, struct sb_error *err)
{
    char word[32];
    *r = (struct sb_require){0};
    for (int i = 0; sb_option_list(o, "require", i) != NULL; i++)
        for (const char *cursor = sb_option_list(o, "require", i); sb_next_word(&cursor, ',', word, sizeof word);) {
            char *end = NULL;
            errno = 0;
            const long long n = strtoll(word, &end, 10);
            if (strcmp(word, "gpu") == 0)
                r->gpu = true;
            else if (end != word && *end == '\0' && errno == 0 && n >= 1)
                r->passes = n;
            else
                return sb_fail(err, SB_EXIT_BAD_INPUT, "--require %s: expected a number of passes (1 or more) or 'gpu'",
                               word);
        }
    return true;
}

/* ---- ledger --------------------------------------------------------------------------------------- */

/* "0: NVIDIA H200 (sm_90)" -> "sm_90a"; "cpu" -> "cpu". */
static void target_of_device(const char *device, char *buf, size_t size)
{
    const char *mark = strstr(device, "(sm_");
    if (mark == NULL)
        snprintf(buf, size, "%.*s", (int)size - 1, device);
    else
        sb_target_of(atoi(mark + 4), buf, size);
}

static void count_results(const struct sb_report *r, struct sb_ledger *line)
{
    char target[32];
    for (int i = 0; i < r->results; i++) {
        const struct sb_result *result = &r->result[i];
        if (strcmp(result->op, line->op) != 0 || strcmp(result->variant, line->variant) != 0)
            continue;
        target_of_device(result->device, target, sizeof target);
        if (strcmp(target, line->target) != 0)
            continue;
        line->passed += result->outcome == SB_PASS;
        line->failed += result->outcome == SB_FAIL;
    }
    line->executed = line->passed + line->failed;
}

/* The first reason among the results why this path ran nowhere. */
static const char *reason_in_results(const struct sb_report *r, const struct sb_ledger *line)
{
    for (int i = 0; i < r->results; i++)
        if (strcmp(r->result[i].op, line->op) == 0 && strcmp(r->result[i].variant, line->variant) == 0 &&
            r->result[i].outcome != SB_PASS && r->result[i].outcome != SB_FAIL && r->result[i].detail[0] != '\0')
            return r->result[i].detail;
    return "";
}

static bool target_is_here(const struct sb_ledger_facts *facts, const char *target)
{
    for (int i = 0; i < facts->targets_here_count; i++)
        if (strcmp(facts->targets_here[i], target) == 0)
            return true;
    return false;
}

static bool add_line(struct sb_report *r, const struct sb_ledger_facts *facts, const char *op, const char *variant,
                     const char *target, bool compiled)
{
    struct sb_ledger line = {.compiled = compiled};
    snprintf(line.op, sizeof line.op, "%s", op);
    snprintf(line.variant, sizeof line.variant, "%s", variant);
    snprintf(line.target, sizeof line.target, "%s", target);
    count_results(r, &line);
    if (line.executed == 0) {
        const char *note = facts->deselected(facts->user, variant);
        char none[64];
        snprintf(none, sizeof none, "no %s GPU in this run", target);
        if (note == NULL && !compiled)
            note = sb_have_cuda() ? "not compiled: SAMEBITS_TARGETS leaves it out" : "built without CUDA";
        else if (note == NULL && !sb_on_cpu(variant) && facts->no_gpu != NULL)
            note = facts->no_gpu;
        else if (note == NULL && !sb_on_cpu(variant) && !target_is_here(facts, target))
            note = none;
        else if (note == NULL)
            note = reason_in_results(r, &line);
        if (note[0] == '\0')
            note = facts->interrupted ? "not reached: the run was interrupted" : "no case asked for it";
        snprintf(line.note, sizeof line.note, "%.159s", note);
    }
    return sb_report_add_ledger(r, &line);
}

/* The targets the suite is for; a build or a machine may know more. */
static const char *const goal_targets[] = {"sm_90a", "sm_100f", "sm_103f", "sm_120f", "sm_121f"};

static bool add_targets(struct sb_report *r, const struct sb_ledger_facts *facts, const char *op,
                        const struct sb_variant *v)
{
    char word[32];
    bool ok = true;
    const int goals = (int)(sizeof goal_targets / sizeof goal_targets[0]);
    const char *compiled = sb_compiled_targets();
    for (const char *cursor = compiled; ok && sb_next_word(&cursor, ',', word, sizeof word);)
        if (sb_targets_cover(v->targets, atoi(word + 3)))
            ok = add_line(r, facts, op, v->name, word, true);
    for (int i = 0; ok && i < goals; i++)
        if (!sb_word_in(compiled, goal_targets[i]) && sb_targets_cover(v->targets, atoi(goal_targets[i] + 3)))
            ok = add_line(r, facts, op, v->name, goal_targets[i], false);
    /* A GPU that runs an image of another number (compiled from PTX at load). */
    for (int i = 0; ok && i < facts->targets_here_count; i++)
        if (!sb_word_in(compiled, facts->targets_here[i]))
            ok = add_line(r, facts, op, v->name, facts->targets_here[i], false);
    return ok;
}

static bool op_selected(const struct sb_selection *cases, const char *op)
{
    for (int i = 0; i < cases->count; i++)
        if (strcmp(cases->c[i].op->name, op) == 0)
            return true;
    return false;
}

bool sb_ledger_fill(struct sb_report *r, const struct sb_ledger_facts *facts)
{
    bool ok = true;
    for (int k = 0; ok && k < facts->table->list.count; k++) {
        const struct sb_op_row *row = &facts->table->row[k];
        if (!op_selected(facts->cases, row->op->name))
            continue;
        ok = add_line(r, facts, row->op->name, "ref", "cpu", true);
        if (ok && row->op->relations != NULL)
            ok = add_line(r, facts, row->op->name, "relations", "cpu", true);
        for (const struct sb_variant *v = row->variants; ok && v->name != NULL; v++)
            ok = add_targets(r, facts, row->op->name, v);
    }
    return ok;
}

/* ---- verdict -------------------------------------------------------------------------------------- */

/* The first selected op that executed nothing on a GPU, or NULL. */
static const char *op_without_gpu(const struct sb_report *r, const struct sb_selection *cases)
{
    for (int i = 0; i < cases->count; i++) {
        bool executed = false;
        for (int k = 0; k < r->results && !executed; k++)
            executed = strcmp(r->result[k].op, cases->c[i].op->name) == 0 && !sb_on_cpu(r->result[k].variant) &&
                       (r->result[k].outcome == SB_PASS || r->result[k].outcome == SB_FAIL);
        if (!executed)
            return cases->c[i].op->name;
    }
    return NULL;
}

/* Relations hold of many outputs: alone they are no verdict on bits. */
static bool only_relations_passed(const struct sb_report *r)
{
    for (int i = 0; i < r->results; i++)
        if (r->result[i].outcome == SB_PASS && strcmp(r->result[i].variant, "relations") != 0)
            return false;
    return true;
}

/* A GPU path: one implementation of one op. */
struct gpu_paths {
    int known, ran;
};

static bool ran_on_gpu(const struct sb_report *r, const char *op, const char *variant)
{
    for (int i = 0; i < r->results; i++)
        if (strcmp(r->result[i].op, op) == 0 && strcmp(r->result[i].variant, variant) == 0 &&
            (r->result[i].outcome == SB_PASS || r->result[i].outcome == SB_FAIL))
            return true;
    return false;
}

static struct gpu_paths gpu_paths(const struct sb_report *r, const struct sb_selection *cases,
                                  const struct sb_op_table *table)
{
    struct gpu_paths paths = {0};
    for (int k = 0; k < table->list.count; k++) {
        if (!op_selected(cases, table->row[k].op->name))
            continue;
        for (const struct sb_variant *v = table->row[k].variants; v->name != NULL; v++) {
            paths.known++;
            paths.ran += ran_on_gpu(r, table->row[k].op->name, v->name);
        }
    }
    return paths;
}

/* Cases of which the CPU knows samples alone: all of it compared with the outputs of a device judge that did not fail
 * there, or not. The reference and the judge itself are held to samples in either. */
struct large_cases {
    int by_judge, on_samples;
};

static bool judge_failed(const struct sb_op_table *table, const struct sb_result *r)
{
    const struct sb_op_row *row = sb_op_row_find(table, r->op);
    const struct sb_variant *judge = row != NULL ? sb_variant_judge(row) : NULL;
    return judge != NULL && strcmp(judge->name, r->variant) == 0 && r->outcome == SB_FAIL;
}

/* The results of a case stand together. */
static struct large_cases large_cases(const struct sb_report *r, const struct sb_op_table *table)
{
    struct large_cases n = {0};
    for (int from = 0, end; from < r->results; from = end) {
        bool sampled = false, by_judge = false, failed = false, weakened = false;
        for (end = from; end < r->results && strcmp(r->result[end].case_id, r->result[from].case_id) == 0; end++) {
            sampled = sampled || r->result[end].sampled[0] != '\0';
            by_judge = by_judge || sb_by_device_judge(&r->result[end]);
            failed = failed || judge_failed(table, &r->result[end]);
            weakened = weakened || r->result[end].not_whole[0] != '\0';
        }
        by_judge = by_judge && !failed;
        n.by_judge += by_judge && !weakened;
        n.on_samples += weakened || (sampled && !by_judge);
    }
    return n;
}

void sb_verdict(struct sb_report *r, const struct sb_require *require, const struct sb_selection *cases,
                const struct sb_op_table *table, const char *bad_input, const char *partial)
{
    const int64_t passed = r->count[SB_PASS], failed = r->count[SB_FAIL];
    const char *lacking = require->gpu ? op_without_gpu(r, cases) : NULL;
    char *v = r->verdict;
    const size_t size = sizeof r->verdict;
    v[0] = '\0';
    if (failed > 0) {
        r->exit_status = SB_EXIT_MISMATCH;
        sb_append(v, size, "FAIL: %" PRId64 " failed", failed);
    } else if (bad_input != NULL) {
        r->exit_status = SB_EXIT_BAD_INPUT;
        sb_append(v, size, "BAD INPUT: %s", bad_input);
    } else if (passed == 0) {
        r->exit_status = SB_EXIT_NOTHING_RAN;
        sb_append(v, size, "NOTHING RAN: no verdict on any bit");
    } else if (only_relations_passed(r)) {
        r->exit_status = SB_EXIT_NOTHING_RAN;
        sb_append(v, size, "NOTHING RAN: only relations held: no verdict on any bit");
    } else if (passed < require->passes) {
        r->exit_status = SB_EXIT_NOTHING_RAN;
        sb_append(v, size, "LESS THAN REQUIRED: --require %" PRId64, require->passes);
    } else if (lacking != NULL) {
        r->exit_status = SB_EXIT_NOTHING_RAN;
        sb_append(v, size, "LESS THAN REQUIRED: --require gpu, and %s ran on no GPU", lacking);
    } else {
        r->exit_status = SB_EXIT_OK;
        const struct gpu_paths gpu = gpu_paths(r, cases, table);
        if (gpu.ran == 0)
            sb_append(v, size, "PASS on CPU only: no kernel ran (0 of %d GPU paths)", gpu.known);
        else
            sb_append(v, size, "PASS: everything that ran gave the same bits, on %d of %d GPU paths", gpu.ran,
                      gpu.known);
    }
    sb_append(v, size, " (%" PRId64 " passed, %" PRId64 " failed, %" PRId64 " skipped, %" PRId64 " not run)", passed,
              failed, r->count[SB_SKIP], r->count[SB_NOT_RUN]);
    const struct large_cases large = large_cases(r, table);
    if (large.by_judge > 0)
        sb_append(v, size, "; %d case%s compared whole with the device judge", large.by_judge,
                  large.by_judge == 1 ? " was" : "s were");
    if (large.on_samples > 0)
        sb_append(v, size, "; %d case%s compared on samples only", large.on_samples,
                  large.on_samples == 1 ? " was" : "s were");
    if (partial[0] != '\0')
        sb_append(v, size, "; partial run: %s", partial);
    r->finished = true;
}
