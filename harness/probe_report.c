/* probe_report.c - a probe's results in print and in JSON. */
#include "probe_report.h"

#include <inttypes.h>
#include <string.h>

#include "../reports/text.h"
#include "bench_machine.h"
#include "build_info.h"
#include "json.h"
#include "text.h"

static const char contract[] = "tc-bf16-k16-f25";

/* ---- the verdict ------------------------------------------------------------------------------- */

static bool ran(const struct sb_probe_outcome *o)
{
    return o->runs && o->all.compared > 0;
}

static bool failed(const struct sb_probe_outcome *o)
{
    return o->all.differ > 0;
}

static bool unfinished(const struct sb_probe_outcome *o)
{
    return o->error[0] != '\0';
}

static const char *status_of(const struct sb_probe_outcome *o)
{
    return failed(o) ? "FAIL" : unfinished(o) ? "DID NOT FINISH" : ran(o) ? "PASS" : "NOT RUN";
}

/* How many there are of a kind that ran and kept the contract. */
static int passed_of(const struct sb_probe_plan *plan, enum sb_probe_kind kind)
{
    int n = 0;
    for (int i = 0; i < plan->judges; i++)
        n += plan->judge[i].impl->kind == kind && ran(&plan->judge[i]) && !failed(&plan->judge[i]);
    return n;
}

static int instructions_known(void)
{
    int count, n = 0;
    const struct sb_probe_impl *const impl = sb_probe_impls(&count);
    for (int i = 0; i < count; i++)
        n += impl[i].kind == SB_PROBE_TENSOR_CORE;
    return n;
}

static struct sb_probe_count all_of(const struct sb_probe_plan *plan)
{
    struct sb_probe_count all = {0};
    for (int i = 0; i < plan->judges; i++) {
        all.compared += plan->judge[i].all.compared;
        all.skipped += plan->judge[i].all.skipped;
        all.differ += plan->judge[i].all.differ;
    }
    return all;
}

static void tell_failures(const struct sb_probe_plan *plan, char *buf, size_t size)
{
    int told = 0;
    sb_append(buf, size, "FAIL: not contract TC: ");
    for (int i = 0; i < plan->judges; i++)
        if (failed(&plan->judge[i]))
            sb_append(buf, size, "%s%s", told++ > 0 ? ", " : "", plan->judge[i].impl->name);
}

static int tell_unfinished(const struct sb_probe_plan *plan, const char *before, char *buf, size_t size)
{
    int told = 0;
    for (int i = 0; i < plan->judges; i++)
        if (unfinished(&plan->judge[i]))
            sb_append(buf, size, "%s%s: %.200s", told++ > 0 ? "; " : before, plan->judge[i].impl->name,
                      plan->judge[i].error);
    return told;
}

static void tell_passes(const struct sb_probe_plan *plan, char *buf, size_t size)
{
    const int gpu = passed_of(plan, SB_PROBE_TENSOR_CORE), cpu = passed_of(plan, SB_PROBE_CPU);
    if (gpu > 0)
        sb_append(buf, size, "PASS: everything that ran keeps contract TC, %d of %d tensor-core instructions", gpu,
                  instructions_known());
    else if (cpu > 0)
        sb_append(buf, size, "PASS on CPU only: no tensor core ran (0 of %d instructions)", instructions_known());
    else
        sb_append(buf, size, "PASS of models only: no tensor core ran (0 of %d instructions), and no path of this CPU",
                  instructions_known());
}

static const char *named_without_result(const struct sb_probe_plan *plan)
{
    for (int i = 0; i < plan->judges; i++)
        if (!ran(&plan->judge[i]))
            return plan->judge[i].impl->name;
    return NULL;
}

struct sb_probe_verdict sb_probe_verdict(const struct sb_probe_plan *plan, bool named, const char *partial)
{
    struct sb_probe_verdict v = {0};
    const size_t size = sizeof v.text;
    const struct sb_probe_count all = all_of(plan);
    bool any_failed = false;
    for (int i = 0; i < plan->judges; i++)
        any_failed = any_failed || failed(&plan->judge[i]);
    if (any_failed) {
        v.exit_status = SB_EXIT_MISMATCH;
        tell_failures(plan, v.text, size);
        tell_unfinished(plan, "; did not finish: ", v.text, size);
    } else if (tell_unfinished(plan, "DID NOT FINISH: no verdict on ", v.text, size) > 0) {
        v.exit_status = SB_EXIT_NOTHING_RAN;
    } else if (all.compared == 0) {
        v.exit_status = SB_EXIT_NOTHING_RAN;
        sb_append(v.text, size, "NOTHING RAN: no verdict on any arithmetic");
    } else if (named && named_without_result(plan) != NULL) {
        v.exit_status = SB_EXIT_NOTHING_RAN;
        sb_append(v.text, size, "LESS THAN REQUIRED: --impl names %s, which did not run", named_without_result(plan));
    } else {
        v.exit_status = SB_EXIT_OK;
        tell_passes(plan, v.text, size);
    }
    sb_append(v.text, size, " (%s dot products compared, %s differ, %s not covered)", sb_count(all.compared).text,
              sb_count(all.differ).text, sb_count(all.skipped).text);
    if (partial[0] != '\0')
        sb_append(v.text, size, "; partial run: %s", partial);
    return v;
}

void sb_probe_print_verdict(FILE *f, const struct sb_probe_verdict *verdict)
{
    static const char *const meaning[] = {
        [SB_EXIT_OK] = "all that ran passed, and something ran",
        [SB_EXIT_MISMATCH] = "bits differ",
        [SB_EXIT_BAD_INPUT] = "bad usage or bad input",
        [SB_EXIT_NOTHING_RAN] = "nothing ran, or did not finish, or less than required",
    };
    fputc('\n', f);
    sb_print_line(f, "%s (exit %d: %s)", verdict->text, verdict->exit_status, meaning[verdict->exit_status]);
}

/* ---- text -------------------------------------------------------------------------------------- */

static void print_count(FILE *f, const char *impl, const char *cls, const struct sb_probe_count *count)
{
    fprintf(f, "%-26s  %-18s  %15s  %13s  %13s", impl, cls, sb_count(count->compared).text,
            count->differ > 0 ? sb_count(count->differ).text : "-",
            count->skipped > 0 ? sb_count(count->skipped).text : "-");
}

static void print_outcome(FILE *f, const struct sb_probe_plan *plan, const struct sb_probe_outcome *o)
{
    for (int cls = 0; cls < SB_TC_CLASSES; cls++)
        if (plan->wanted[cls]) {
            print_count(f, o->impl->name, sb_tc_class_name((enum sb_tc_class)cls), &o->cls[cls]);
            fprintf(f, "\n");
        }
    print_count(f, o->impl->name, "all classes", &o->all);
    const int64_t dots = o->all.compared + o->all.skipped;
    if (o->seconds > 0)
        fprintf(f, "  %.1f M/s", (double)dots / o->seconds * 1e-6);
    fprintf(f, "\n");
}

static void print_failure(FILE *f, const struct sb_probe_plan *plan, const struct sb_probe_outcome *o)
{
    fprintf(f, "\n%s  %s (%s, on %s)\n", status_of(o), o->impl->name, o->impl->summary, o->device);
    if (unfinished(o))
        sb_print_line(f, "    it did not finish: %s", o->error);
    if (o->differ.count == 0)
        return;
    char text[2048];
    struct sb_probe_vector small;
    const bool again = sb_probe_minimise(o->impl, &o->differ, &small);
    fprintf(f, "    %s, made from class %s, tile %" PRId64 ", row %d, column %d, seed %" PRIu64 ":\n",
            again ? "the smallest vector found that differs"
                  : "no vector tried differs again alone: a fault of its surroundings? The first one",
            sb_tc_class_name(small.cls), small.tile, small.row, small.col, plan->seed);
    sb_probe_vector_print(f, &small);
    const struct sb_probe_explanation e = sb_probe_explain(&o->differ, &o->right);
    fprintf(f, "    %s\n", sb_probe_explanation_text(&e, text, sizeof text));
}

/* The GPU that took part, or NULL. */
static const char *gpu_of(const struct sb_probe_plan *plan)
{
    for (int i = 0; i < plan->judges; i++)
        if (plan->judge[i].impl->kind == SB_PROBE_TENSOR_CORE && plan->judge[i].runs)
            return plan->judge[i].device;
    return NULL;
}

/* By what, on what, of what: so that a report that is passed on says what it is worth. */
static void print_head(FILE *f, const struct sb_probe_plan *plan)
{
    char cpu[160];
    struct sb_report build = {0};
    sb_build_info(&build, sb_op_table());
    sb_print_line(f, "samebits %s, commit %s; contract TC (%s)", build.version, build.commit, contract);
    sb_print_line(f, "%s; %s; %s", sb_bench_cpu_name(cpu, sizeof cpu), build.host, build.compiler);
    if (gpu_of(plan) != NULL)
        sb_print_line(f, "GPU %s; driver %s", gpu_of(plan), build.driver);
    fprintf(f, "seed %" PRIu64 ", at least %s dot products a class\n", plan->seed, sb_count(plan->count).text);
}

/* Once each, of those that ran. */
static void print_notes(FILE *f, const struct sb_probe_plan *plan)
{
    for (int i = 0; i < plan->judges; i++) {
        const char *const note = plan->judge[i].runs ? plan->judge[i].impl->note : NULL;
        bool told = note == NULL;
        for (int k = 0; k < i; k++)
            told = told || (plan->judge[k].runs && plan->judge[k].impl->note == note);
        if (!told)
            sb_print_line(f, "%s", note);
    }
}

void sb_probe_print(FILE *f, const struct sb_probe_plan *plan, const struct sb_probe_totals *totals)
{
    bool header = false;
    print_head(f, plan);
    for (int i = 0; i < plan->judges; i++) {
        if (!plan->judge[i].runs)
            continue;
        if (!header)
            fprintf(f, "%-26s  %-18s  %15s  %13s  %13s\n", "implementation", "class", "dot products", "differ",
                    "not covered");
        header = true;
        print_outcome(f, plan, &plan->judge[i]);
    }
    print_notes(f, plan);
    for (int i = 0; i < plan->judges; i++)
        if (failed(&plan->judge[i]) || unfinished(&plan->judge[i]))
            print_failure(f, plan, &plan->judge[i]);
    fprintf(f, "\n");
    for (int i = 0; i < plan->judges; i++)
        if (!ran(&plan->judge[i]) && !unfinished(&plan->judge[i]))
            sb_print_line(f, "NOT RUN  %-14s %s", plan->judge[i].impl->name,
                          plan->judge[i].runs ? "it covered none of the dot products" : plan->judge[i].device);
    if (totals->seconds > 0)
        fprintf(f, "yardstick: %s dot products made and computed in %.1f s, %.1f M/s on %d thread%s\n",
                sb_count(totals->dots).text, totals->seconds, (double)totals->dots / totals->seconds * 1e-6,
                totals->threads, totals->threads == 1 ? "" : "s");
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static json_t *hex(uint32_t bits, int digits)
{
    char text[16];
    snprintf(text, sizeof text, "0x%0*" PRIx32, digits, bits);
    return json_string(text);
}

json_t *sb_probe_vector_json(const struct sb_probe_vector *v)
{
    json_t *a = json_array(), *b = json_array();
    for (int k = 0; k < SB_TC_K; k++) {
        json_array_append_new(a, hex(v->a[k], 4));
        json_array_append_new(b, hex(v->b[k], 4));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "c", hex(v->c, 8), "a", a, "b", b, "expected", hex(v->expected, 8),
                     "got", hex(v->got, 8));
}

json_t *sb_probe_explanation_json(const struct sb_probe_explanation *e)
{
    char text[2048];
    json_t *names = json_array();
    for (int i = 0; i < e->all; i++)
        json_array_append_new(names, json_string(e->name[i]));
    return json_pack("{s:o, s:s, s:i, s:i}", "explained_by", names, "text",
                     sb_probe_explanation_text(e, text, sizeof text), "kept_differences", e->kept, "kept_agreements",
                     e->kept_right);
}

static json_t *count_json(const char *cls, const struct sb_probe_count *count)
{
    return json_pack("{s:s, s:I, s:I, s:I}", "class", cls, "compared", (json_int_t)count->compared, "differ",
                     (json_int_t)count->differ, "not_covered", (json_int_t)count->skipped);
}

static json_t *failure_json(const struct sb_probe_outcome *o)
{
    struct sb_probe_vector small;
    if (o->differ.count == 0)
        return json_null();
    const bool again = sb_probe_minimise(o->impl, &o->differ, &small);
    const struct sb_probe_explanation e = sb_probe_explain(&o->differ, &o->right);
    return json_pack("{s:b, s:s, s:I, s:i, s:i, s:o, s:o}", "differs_alone", (int)again, "class",
                     sb_tc_class_name(small.cls), "tile", (json_int_t)small.tile, "row", small.row, "column", small.col,
                     "vector", sb_probe_vector_json(&small), "explanation", sb_probe_explanation_json(&e));
}

static json_t *outcome_json(const struct sb_probe_plan *plan, const struct sb_probe_outcome *o)
{
    json_t *classes = json_array();
    for (int cls = 0; o->runs && cls < SB_TC_CLASSES; cls++)
        if (plan->wanted[cls])
            json_array_append_new(classes, count_json(sb_tc_class_name((enum sb_tc_class)cls), &o->cls[cls]));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:f, s:o, s:o}", "implementation", o->impl->name, "summary",
                     o->impl->summary, "status", status_of(o), "note",
                     o->impl->note != NULL ? json_string(o->impl->note) : json_null(), o->runs ? "device" : "reason",
                     sb_json_text(o->device), "error", sb_json_text(o->error), "classes", classes, "seconds",
                     o->seconds, "all", count_json("all classes", &o->all), "failure", failure_json(o));
}

json_t *sb_probe_json(const struct sb_probe_plan *plan, const struct sb_probe_totals *totals,
                      const struct sb_probe_verdict *verdict)
{
    char seed[24], cpu[160];
    struct sb_report build = {0};
    sb_build_info(&build, sb_op_table());
    json_t *results = json_array();
    for (int i = 0; i < plan->judges; i++)
        json_array_append_new(results, outcome_json(plan, &plan->judge[i]));
    snprintf(seed, sizeof seed, "%" PRIu64, plan->seed); /* a u64 does not fit every reader's numbers */
    const char *const gpu = gpu_of(plan);
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:s, s:s, s:I, s:o, s:{s:I, s:f, s:i}, s:o, s:i}",
                     "version", build.version, "commit", build.commit, "compiler", build.compiler, "cuda_compiler",
                     build.cuda_compiler, "processor", sb_json_text(sb_bench_cpu_name(cpu, sizeof cpu)), "gpu",
                     gpu != NULL ? sb_json_text(gpu) : json_null(), "driver", build.driver, "started", build.started,
                     "host", sb_json_text(build.host), "contract", contract, "seed", seed, "count",
                     (json_int_t)plan->count, "results", results, "yardstick", "dot_products", (json_int_t)totals->dots,
                     "seconds", totals->seconds, "threads", totals->threads, "verdict", sb_json_text(verdict->text),
                     "exit_status", verdict->exit_status);
}
