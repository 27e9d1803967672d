/* bench_print.c - see bench_print.h. */
#include "bench_print.h"

#include <string.h>

#include "bench_machine.h"
#include "build_info.h"
#include "device.h"
#include "json.h"
#include "text.h"

/* ---- the machine and the build ---------------------------------------------------------------------------------- */

static const char *threads_text(const struct sb_bench_plan *plan, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int i = 0; i < plan->thread_counts; i++)
        sb_append(buf, size, "%s%d", i > 0 ? ", " : "", plan->threads[i]);
    return buf;
}

static void print_processor(FILE *f, const struct sb_bench_impl *impl, const struct sb_bench_plan *plan)
{
    char cpu[160], threads[128], cores[32] = "";
    const int processors = sb_bench_processors(), known = sb_bench_cores();
    if (known > 0)
        snprintf(cores, sizeof cores, " on %d core%s", known, known == 1 ? "" : "s");
    sb_print_line(f, "%s; %d processor%s%s for this process%s%s%s", sb_bench_cpu_name(cpu, sizeof cpu), processors,
                  processors == 1 ? "" : "s", cores, impl->threaded ? "; threads " : "",
                  impl->threaded ? threads_text(plan, threads, sizeof threads) : "",
                  sb_bench_has_openmp() ? "" : " (built without OpenMP)");
}

static const struct sb_device *device_of(const struct sb_bench_impl *impl)
{
    return impl->device != NULL ? impl->device(impl) : NULL;
}

static void print_device(FILE *f, const struct sb_device *d, const struct sb_report *build)
{
    const double mib = 1024.0 * 1024.0;
    char target[24];
    sb_print_line(f, "GPU %s, %d multiprocessors, %.0f GiB, L2 %.0f MiB; driver %s; %s, image %s", d->label,
                  d->multiprocessors, (double)d->memory_bytes / mib / 1024.0, (double)d->l2_bytes / mib, build->driver,
                  build->cuda_compiler, sb_target_of(d->compute_capability, target, sizeof target));
}

void sb_bench_print_head(FILE *f, const struct sb_bench_impl *impl, const struct sb_bench_plan *plan)
{
    const double busy = 0.5;
    struct sb_report build = {0};
    const struct sb_op *op = sb_op_row_find(sb_op_table(), impl->op)->op;
    sb_build_info(&build, sb_op_table());
    sb_print_line(f, "samebits %s, commit %s; contract %s %d", build.version, build.commit, op->contract,
                  op->contract_version);
    print_processor(f, impl, plan);
    sb_print_line(f, "%s; %s", build.host, build.compiler);
    if (device_of(impl) != NULL)
        print_device(f, device_of(impl), &build);
    if (sb_bench_build_flaw() != NULL)
        fprintf(f, "%s: these figures say nothing about speed\n", sb_bench_build_flaw());
    if (sb_bench_load_before() > busy)
        fprintf(f, "load average %.1f before the run: others use this machine, and share in every figure\n",
                sb_bench_load_before());
    fprintf(f, "%s, %s: %s, medians of at least %d samples and %.3g s each, taken in turns\n", impl->op, impl->impl,
            impl->unit, plan->min_samples, plan->seconds);
    if (impl->ceiling != NULL && impl->ceiling_kind(impl)[0] != '\0')
        fprintf(f, "%s: %s, one multiply-add counted as one MAC; shares below are of it\n", impl->ceiling,
                impl->ceiling_kind(impl));
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

/* Three digits or more. */
static const char *number(double v, char *buf, size_t size)
{
    snprintf(buf, size, "%.*f", v < 1 ? 3 : v < 10 ? 2 : v < 100 ? 1 : 0, v);
    return buf;
}

static const char *between(double low, double high, char *buf, size_t size)
{
    char a[24], b[24];
    snprintf(buf, size, "%s..%s", number(low, a, sizeof a), number(high, b, sizeof b));
    return buf;
}

static const char *times(const struct sb_bench_ratio *r, char *buf, size_t size)
{
    char a[32];
    snprintf(buf, size, "%s%s",
             !r->known     ? "-"
             : r->resolved ? number(r->value, a, sizeof a)
                           : "not resolved",
             r->known && r->resolved ? "x" : "");
    return buf;
}

static const char *percent(const struct sb_bench_ratio *r, char *buf, size_t size)
{
    if (!r->known)
        snprintf(buf, size, "-");
    else if (r->resolved)
        snprintf(buf, size, "%.*f%%", r->value < 0.1 ? 1 : 0, 100 * r->value);
    else
        snprintf(buf, size, "not resolved (%.0f..%.0f%%)", 100 * r->low, 100 * r->high);
    return buf;
}

static const char row_format[] = "  %-9s %7s %9s  %-15s %9s %9s %8s  %-12s %9s %7s  %s\n";
static const char gpu_row_format[] = "  %-9s %9s  %-15s %9s %9s %8s  %-12s %7s\n"; /* no threads */

/* What both tables have of a row. */
struct columns {
    char rate[32], spread[64], off[32], samples[16], share[64], ratio[64];
};

static struct columns columns_of(const struct sb_bench_row *row)
{
    struct columns c;
    const struct sb_bench_figure *g = &row->rate;
    number(g->median, c.rate, sizeof c.rate);
    between(g->low, g->high, c.spread, sizeof c.spread);
    snprintf(c.off, sizeof c.off, "%.1f%%", 100 * g->mad / g->median);
    snprintf(c.samples, sizeof c.samples, "%d", g->samples);
    percent(&row->of_ceiling, c.share, sizeof c.share);
    times(&row->to_yardstick, c.ratio, sizeof c.ratio);
    return c;
}

static void print_figures(FILE *f, const struct sb_bench_row *row)
{
    char threads[16], each[32], efficiency[64], ran[32];
    const struct columns c = columns_of(row);
    snprintf(threads, sizeof threads, "%d", row->threads);
    snprintf(ran, sizeof ran, "%.0f%%", 100 * row->processor.median);
    fprintf(f, row_format, row->name, threads, c.rate, c.spread, c.off,
            number(row->rate.median / row->threads, each, sizeof each), c.share, c.ratio, ran, c.samples,
            percent(&row->efficiency, efficiency, sizeof efficiency));
}

static void print_gpu_figures(FILE *f, const struct sb_bench_impl *impl, const struct sb_bench_row *row)
{
    char ms[32];
    const struct columns c = columns_of(row);
    number(1e3 * (double)row->work / impl->unit_work / row->rate.median, ms, sizeof ms);
    fprintf(f, gpu_row_format, row->name, c.rate, c.spread, c.off, ms, c.share, c.ratio, c.samples);
}

static void print_row(FILE *f, const struct sb_bench_impl *impl, const struct sb_bench_row *row)
{
    if (row->outcome == SB_BENCH_TIMED && impl->threaded)
        print_figures(f, row);
    else if (row->outcome == SB_BENCH_TIMED)
        print_gpu_figures(f, impl, row);
    else if (row->threads > 0 && impl->threaded)
        sb_print_line(f, "  %-9s %7d %s: %s", row->name, row->threads, sb_bench_outcome_name(row->outcome),
                      row->reason);
    else
        sb_print_line(f, "  %-9s %7s %s: %s", row->name, "", sb_bench_outcome_name(row->outcome), row->reason);
}

static void print_parts(FILE *f, const struct sb_bench_result *r)
{
    for (int i = 0; i < r->rows; i++)
        if (r->row[i].outcome == SB_BENCH_TIMED && r->row[i].part) {
            fprintf(f, "  %s: sampled tiles, %.2g%% of the call, the same ones on each thread\n", r->row[i].name,
                    100 * (double)r->row[i].work / r->row[i].threads / (double)r->about.work);
            break;
        }
}

void sb_bench_print_call(FILE *f, const struct sb_case *c)
{
    fprintf(f, "\n");
    sb_print_line(f, "%s", c->id);
    if (c->reason[0] != '\0')
        sb_print_line(f, "  %s", c->reason);
}

void sb_bench_print_about(FILE *f, const struct sb_bench_impl *impl, const struct sb_bench_result *r)
{
    fprintf(f, "  %.3g %.*s; compared %s: %s\n", (double)r->about.work / impl->unit_work, (int)strcspn(impl->unit, "/"),
            impl->unit, r->about.when, r->about.compared);
}

void sb_bench_print_rows(FILE *f, const struct sb_bench_impl *impl, const struct sb_bench_result *r)
{
    char to[32];
    if (r->why[0] != '\0') {
        sb_print_line(f, "  %s: %s", sb_bench_outcome_name(r->outcome), r->why);
        return;
    }
    if (r->outcome != SB_BENCH_NOT_RUN) {
        const char *of_peak = impl->ceiling != NULL ? "of peak" : "";
        print_parts(f, r);
        snprintf(to, sizeof to, "to %s", impl->paths[0]);
        if (impl->threaded)
            fprintf(f, row_format, "path", "threads", impl->unit, "between", "deviation", "a thread", of_peak, to,
                    "processor", "samples", "efficiency");
        else
            fprintf(f, gpu_row_format, "path", impl->unit, "between", "deviation", "ms a run", of_peak, to, "samples");
    }
    for (int i = 0; i < r->rows; i++)
        print_row(f, impl, &r->row[i]);
    if (r->remark[0] != '\0')
        sb_print_line(f, "  %s", r->remark);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static json_t *ratio_json(const struct sb_bench_ratio *r)
{
    if (!r->known)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:b}", "value", r->value, "low", r->low, "high", r->high, "resolved",
                     (int)r->resolved);
}

/* What an implementation without threads has none of. */
static json_t *of_threads(const struct sb_bench_impl *impl, json_t *value)
{
    if (impl->threaded)
        return value;
    json_decref(value);
    return json_null();
}

static json_t *figure_json(const struct sb_bench_impl *impl, const struct sb_bench_row *row)
{
    const struct sb_bench_figure *g = &row->rate;
    if (row->outcome != SB_BENCH_TIMED)
        return json_null();
    return json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "samples", g->samples, "median", g->median, "low",
                     g->low, "high", g->high, "min", g->min, "max", g->max, "mad", g->mad, "per_thread",
                     of_threads(impl, json_real(g->median / row->threads)), "processor",
                     of_threads(impl, json_real(row->processor.median)));
}

static json_t *row_json(const struct sb_bench_impl *impl, const struct sb_bench_row *row)
{
    return json_pack(
        "{s:s, s:b, s:o, s:s, s:o, s:b, s:I, s:o, s:o, s:o, s:o}", "path", row->name, "ceiling", (int)row->ceiling,
        "threads", of_threads(impl, row->threads > 0 ? json_integer(row->threads) : json_null()), "outcome",
        sb_bench_outcome_name(row->outcome), "reason", sb_json_text(row->reason), "part", (int)row->part, "macs",
        (json_int_t)row->work, "rate", figure_json(impl, row), "efficiency", ratio_json(&row->efficiency), "of_peak",
        ratio_json(&row->of_ceiling), "to_yardstick", ratio_json(&row->to_yardstick));
}

static json_t *case_json(const struct sb_bench_impl *impl, const struct sb_bench_result *r)
{
    json_t *rows = json_array();
    for (int i = 0; i < r->rows; i++)
        json_array_append_new(rows, row_json(impl, &r->row[i]));
    return json_pack("{s:s, s:s, s:s, s:o, s:I, s:s, s:s, s:s, s:o}", "case", r->c->id, "reason", r->reason, "outcome",
                     sb_bench_outcome_name(r->outcome), "why", sb_json_text(r->why), "macs", (json_int_t)r->about.work,
                     "when", r->about.when != NULL ? r->about.when : "", "compared", r->about.compared, "remark",
                     r->remark, "rows", rows);
}

static json_t *device_json(const struct sb_device *d, const struct sb_report *build)
{
    if (d == NULL)
        return json_null();
    return json_pack("{s:o, s:i, s:i, s:I, s:I, s:o, s:s, s:s}", "name", sb_json_text(d->name), "compute_capability",
                     d->compute_capability, "multiprocessors", d->multiprocessors, "memory_bytes",
                     (json_int_t)d->memory_bytes, "l2_bytes", (json_int_t)d->l2_bytes, "driver",
                     sb_json_text(build->driver), "cuda_compiler", build->cuda_compiler, "targets", build->targets);
}

static json_t *machine_json(const struct sb_bench_impl *impl, const struct sb_report *build)
{
    char cpu[160];
    return json_pack("{s:o, s:i, s:i, s:o, s:s, s:b, s:f, s:o, s:o}", "cpu",
                     sb_json_text(sb_bench_cpu_name(cpu, sizeof cpu)), "processors", sb_bench_processors(), "cores",
                     sb_bench_cores(), "host", sb_json_text(build->host), "compiler", build->compiler, "openmp",
                     (int)sb_bench_has_openmp(), "load_before", sb_bench_load_before(), "flaw",
                     sb_bench_build_flaw() != NULL ? json_string(sb_bench_build_flaw()) : json_null(), "gpu",
                     device_json(device_of(impl), build));
}

json_t *sb_bench_json(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan,
                      const struct sb_bench_result *r, int count)
{
    json_t *cases = json_array();
    struct sb_report build = {0};
    const struct sb_op *op = sb_op_row_find(sb_op_table(), impl->op)->op;
    sb_build_info(&build, sb_op_table());
    for (int i = 0; i < count; i++)
        json_array_append_new(cases, case_json(impl, &r[i]));
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:i, s:o, s:i, s:o}", "version",
                     build.version, "commit", build.commit, "contract", op->contract, "contract_version",
                     op->contract_version, "started", build.started, "op", impl->op, "impl", impl->impl, "unit",
                     impl->unit, "yardstick", impl->paths[0], "peak",
                     impl->ceiling != NULL ? impl->ceiling_kind(impl) : "", "seconds", plan->seconds, "min_samples",
                     plan->min_samples, "machine", machine_json(impl, &build), "exit_status", sb_bench_status(r, count),
                     "cases", cases);
}
