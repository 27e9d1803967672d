/* bench_run.c - the subjects of one case in turns, each run checked, and the ratios between them. */
#include "bench_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_machine.h"

static const int poisons[2] = {0xA5, 0x5A}; /* in turn: no byte that nobody wrote is right twice */

const char *sb_bench_outcome_name(enum sb_bench_outcome outcome)
{
    static const char *const names[] = {"TIMED", "WRONG", "NOT RUN"};
    return names[outcome];
}

void sb_bench_tell(const struct sb_bench_watch *watch, bool takes_long, const char *format, ...)
{
    char what[400];
    va_list arguments;
    if (watch->step == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    watch->step(watch->user, what, takes_long);
}

/* ---- one measurement -------------------------------------------------------------------------------------------- */

struct measurement {
    struct sb_bench_subject subject;
    struct sb_bench_row *row;
    double *sample;    /* work a second, in the implementation's unit */
    double *processor; /* share of its threads' time that they ran */
    int count;
    double spent, last; /* seconds: of all samples, of the run before the next */
};

/* Seconds that the threads of this process have run so far, all together. */
static double processor_seconds(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Wrong bytes; or something else kept it from being timed. */
static enum sb_bench_outcome outcome_of(const struct sb_error *err)
{
    return err->exit == SB_EXIT_MISMATCH ? SB_BENCH_WRONG : SB_BENCH_NOT_RUN;
}

static bool without_figure(struct sb_bench_row *row, enum sb_bench_outcome outcome, const char *reason)
{
    row->outcome = outcome;
    snprintf(row->reason, sizeof row->reason, "%s", reason);
    return false;
}

/* One run; its times only if every byte is right. The row says why not. */
static bool run_once(struct measurement *m, int poison, double *seconds, double *ran)
{
    struct sb_error err = {0};
    const struct sb_bench_subject *s = &m->subject;
    sb_bench_use_threads(s->threads);
    if (s->poison != NULL)
        s->poison(s, poison);
    const double before = processor_seconds();
    const bool did_run = s->run(s, seconds, &err);
    *ran = processor_seconds() - before;
    if (did_run && (s->check == NULL || s->check(s, poison, &err)))
        return true;
    return without_figure(m->row, outcome_of(&err), err.text);
}

static void sample_once(struct measurement *m, double unit_work)
{
    double seconds = 0, ran = 0;
    const double shortest = 1e-9; /* a clock may stand still over a tiny run */
    if (!run_once(m, poisons[m->count % 2], &seconds, &ran))
        return;
    if (seconds < shortest)
        seconds = shortest;
    m->processor[m->count] = ran / seconds / m->subject.threads;
    m->sample[m->count++] = (double)m->subject.work / seconds / unit_work;
    m->spent += seconds;
    m->last = seconds;
}

/* 1: done. */
static double progress(const struct measurement *m, const struct sb_bench_plan *plan)
{
    const double samples = (double)m->count / plan->min_samples;
    const double spent = plan->seconds > 0 ? m->spent / plan->seconds : 1;
    if (m->row->outcome != SB_BENCH_TIMED || m->count == SB_BENCH_MAX_SAMPLES)
        return 1;
    return samples < spent ? samples : spent;
}

/* Whoever is furthest behind is next: short and long runs alike are spread over the whole time, so that a disturbance
 * meets all of them. */
static struct measurement *next(struct measurement *m, int count, const struct sb_bench_plan *plan)
{
    struct measurement *last = NULL;
    for (int i = 0; i < count; i++)
        if (progress(&m[i], plan) < 1 && (last == NULL || progress(&m[i], plan) < progress(last, plan)))
            last = &m[i];
    return last;
}

static void tell_run(const struct sb_bench_watch *watch, const struct measurement *m, const char *which)
{
    const double worth_a_line = 2;
    const bool warm_up = m->count == 0 && m->last <= 0;
    sb_bench_tell(watch, warm_up ? m->subject.large : m->last >= worth_a_line, "%s on %d thread%s, %s", m->row->name,
                  m->subject.threads, m->subject.threads == 1 ? "" : "s", which);
}

static void warm_up(struct measurement *m, int runs, const struct sb_bench_plan *plan)
{
    double ran;
    for (int i = 0; i < runs && m->row->outcome == SB_BENCH_TIMED; i++) {
        tell_run(&plan->watch, m, "warm-up");
        run_once(m, poisons[(i + 1) % 2], &m->last, &ran);
    }
}

/* What was left unlooked at while the clock mattered. */
static void conclude_one(struct measurement *m)
{
    struct sb_error err = {0};
    const struct sb_bench_subject *s = &m->subject;
    if (m->row->outcome != SB_BENCH_TIMED || s->conclude == NULL || s->conclude(s, &err))
        return;
    without_figure(m->row, outcome_of(&err), err.text);
}

static void measure(struct measurement *m, int count, const struct sb_bench_impl *impl,
                    const struct sb_bench_plan *plan)
{
    for (int i = 0; i < count; i++)
        warm_up(&m[i], impl->warm_ups > 0 ? impl->warm_ups : 1, plan);
    for (struct measurement *one; (one = next(m, count, plan)) != NULL;) {
        char run[32];
        snprintf(run, sizeof run, "run %d", one->count + 1);
        tell_run(&plan->watch, one, run);
        sample_once(one, impl->unit_work);
    }
    for (int i = 0; i < count; i++)
        conclude_one(&m[i]);
    for (int i = 0; i < count; i++)
        if (m[i].row->outcome == SB_BENCH_TIMED) {
            m[i].row->rate = sb_bench_figure_of(m[i].sample, m[i].count);
            m[i].row->processor = sb_bench_figure_of(m[i].processor, m[i].count);
        }
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static struct sb_bench_row *add_row(struct sb_bench_result *r, const char *name, int threads)
{
    struct sb_bench_row *row = &r->row[r->rows++];
    *row = (struct sb_bench_row){.name = name, .threads = threads, .outcome = SB_BENCH_TIMED};
    return row;
}

static bool enough_threads(struct sb_bench_row *row)
{
    char text[160];
    const int found = sb_bench_use_threads(row->threads);
    snprintf(text, sizeof text, "OpenMP gives %d thread%s, not %d", found, found == 1 ? "" : "s", row->threads);
    return found == row->threads || without_figure(row, SB_BENCH_NOT_RUN, text);
}

static void take(const struct sb_bench_subject *s, struct sb_bench_row *row, struct measurement *m, int *count)
{
    row->part = s->part;
    row->work = s->work;
    m[(*count)++] = (struct measurement){.subject = *s, .row = row};
}

/* `made` is what making the subject returned. */
static void take_if(bool made, const struct sb_bench_subject *s, const struct sb_error *why, struct sb_bench_row *row,
                    struct measurement *m, int *count)
{
    if (made)
        take(s, row, m, count);
    else
        without_figure(row, outcome_of(why), why->text);
}

static void add_measurements(const struct sb_bench_impl *impl, void *opened, int threads,
                             const struct sb_bench_plan *plan, struct sb_bench_result *r, struct measurement *m,
                             int *count)
{
    if (impl->ceiling != NULL) {
        struct sb_error why = {0};
        struct sb_bench_subject s = {0};
        struct sb_bench_row *row = add_row(r, impl->ceiling, threads);
        row->ceiling = true;
        if (enough_threads(row))
            take_if(impl->ceiling_subject(opened, threads, &s, &why), &s, &why, row, m, count);
    }
    for (int path = 0; impl->paths[path] != NULL; path++) {
        struct sb_error why = {0};
        struct sb_bench_subject s = {0};
        if (!plan->path[path] || impl->cannot(impl, path) != NULL)
            continue;
        struct sb_bench_row *row = add_row(r, impl->paths[path], threads);
        if (enough_threads(row))
            take_if(impl->subject(opened, path, threads, &s, &why), &s, &why, row, m, count);
    }
}

static void add_absent_paths(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan,
                             struct sb_bench_result *r)
{
    for (int path = 0; impl->paths[path] != NULL; path++)
        if (plan->path[path] && impl->cannot(impl, path) != NULL)
            without_figure(add_row(r, impl->paths[path], 0), SB_BENCH_NOT_RUN, impl->cannot(impl, path));
}

/* The row of this name and number of threads that has a figure, or one without. */
static const struct sb_bench_figure *rate_of(const struct sb_bench_result *r, const char *name, int threads)
{
    static const struct sb_bench_figure none = {0};
    for (int i = 0; i < r->rows; i++)
        if (strcmp(r->row[i].name, name) == 0 && r->row[i].threads == threads)
            return &r->row[i].rate;
    return &none;
}

static void relate(const struct sb_bench_impl *impl, struct sb_bench_result *r)
{
    for (int i = 0; i < r->rows; i++) {
        struct sb_bench_row *row = &r->row[i];
        const struct sb_bench_figure ideal = sb_bench_scale(rate_of(r, row->name, 1), row->threads);
        if (row->threads > 1)
            row->efficiency = sb_bench_ratio_of(&row->rate, &ideal);
        if (impl->ceiling != NULL && !row->ceiling)
            row->of_ceiling = sb_bench_ratio_of(&row->rate, rate_of(r, impl->ceiling, row->threads));
        if (!row->ceiling && strcmp(row->name, impl->paths[0]) != 0)
            row->to_yardstick = sb_bench_ratio_of(&row->rate, rate_of(r, impl->paths[0], row->threads));
    }
}

/* ---- one case --------------------------------------------------------------------------------------------------- */

static bool any_path_runs(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan)
{
    for (int path = 0; impl->paths[path] != NULL; path++)
        if (plan->path[path] && impl->cannot(impl, path) == NULL)
            return true;
    return false;
}

static void conclude(struct sb_bench_result *r)
{
    bool timed = false;
    for (int i = 0; i < r->rows; i++) {
        if (r->row[i].outcome == SB_BENCH_WRONG)
            r->outcome = SB_BENCH_WRONG;
        timed = timed || (r->row[i].outcome == SB_BENCH_TIMED && !r->row[i].ceiling);
    }
    if (!timed && r->outcome == SB_BENCH_TIMED)
        r->outcome = SB_BENCH_NOT_RUN;
}

/* What all figures rest on may have turned out wrong after some of them were taken. */
static void withdraw(const struct sb_bench_impl *impl, void *opened, struct sb_bench_result *r)
{
    struct sb_error why = {0};
    if (impl->stands == NULL || impl->stands(opened, &why))
        return;
    r->outcome = outcome_of(&why);
    snprintf(r->why, sizeof r->why, "%s", why.text);
    for (int i = 0; i < r->rows; i++)
        if (r->row[i].outcome == SB_BENCH_TIMED && !r->row[i].ceiling) {
            without_figure(&r->row[i], SB_BENCH_NOT_RUN, why.text);
            r->row[i].rate = r->row[i].processor = (struct sb_bench_figure){0};
        }
}

static bool time_opened(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan, void *opened,
                        struct sb_bench_result *r, struct sb_error *err)
{
    static const int one_thread = 1;
    const int counts = impl->threaded ? plan->thread_counts : 1;
    const int *threads = impl->threaded ? plan->threads : &one_thread;
    const size_t most = (size_t)counts * (SB_BENCH_MAX_PATHS + 1);
    int count = 0;
    struct measurement *m = calloc(most, sizeof *m);
    double *samples = calloc(2 * most, SB_BENCH_MAX_SAMPLES * sizeof *samples);
    bool ok = (m != NULL && samples != NULL) || sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for the samples");
    for (int i = 0; ok && i < counts; i++)
        add_measurements(impl, opened, threads[i], plan, r, m, &count);
    for (int i = 0; ok && i < count; i++) {
        m[i].sample = samples + (size_t)(2 * i) * SB_BENCH_MAX_SAMPLES;
        m[i].processor = m[i].sample + SB_BENCH_MAX_SAMPLES;
    }
    if (ok) {
        measure(m, count, impl, plan);
        withdraw(impl, opened, r);
        relate(impl, r);
        if (impl->remark != NULL)
            impl->remark(opened, r->remark, sizeof r->remark);
    }
    free(samples);
    free(m);
    return ok;
}

/* False with why: it cannot be opened, or wrong bytes showed. */
static bool open_case(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan, void **opened,
                      struct sb_bench_result *r, struct sb_error *why)
{
    *opened = impl->open(impl, plan, r->c, &r->about, why);
    if (*opened == NULL)
        return false;
    if (plan->watch.opened != NULL)
        plan->watch.opened(plan->watch.user, r);
    if (impl->expect == NULL || impl->expect(*opened, &plan->watch, why))
        return true;
    impl->close(*opened);
    return false;
}

bool sb_bench_case(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan, const struct sb_case *c,
                   struct sb_bench_result *r, struct sb_error *err)
{
    struct sb_error why = {0};
    const size_t most = (size_t)(SB_BENCH_MAX_THREADS + 1) * (SB_BENCH_MAX_PATHS + 1);
    *r = (struct sb_bench_result){.c = c, .reason = c->reason, .outcome = SB_BENCH_TIMED};
    r->row = calloc(most, sizeof *r->row);
    if (r->row == NULL)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for the results");
    add_absent_paths(impl, plan, r);
    if (!any_path_runs(impl, plan)) {
        r->outcome = SB_BENCH_NOT_RUN;
        return true;
    }
    sb_bench_use_threads(sb_bench_processors());
    void *opened = NULL;
    sb_bench_tell(&plan->watch, false, "making the inputs");
    if (!open_case(impl, plan, &opened, r, &why)) {
        r->outcome = outcome_of(&why);
        snprintf(r->why, sizeof r->why, "%s", why.text);
        return why.exit != SB_EXIT_BAD_INPUT || sb_fail(err, why.exit, "%s: %.700s", c->id, why.text);
    }
    const bool ok = time_opened(impl, plan, opened, r, err);
    impl->close(opened);
    conclude(r);
    return ok;
}

void sb_bench_result_free(struct sb_bench_result *r)
{
    free(r->row);
    r->row = NULL;
    r->rows = 0;
}

int sb_bench_status(const struct sb_bench_result *r, int count)
{
    int status = SB_EXIT_NOTHING_RAN;
    for (int i = 0; i < count; i++) {
        if (r[i].outcome == SB_BENCH_WRONG)
            return SB_EXIT_MISMATCH;
        if (r[i].outcome == SB_BENCH_TIMED)
            status = SB_EXIT_OK;
    }
    return status;
}
