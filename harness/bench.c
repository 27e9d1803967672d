/* bench.c - the verb bench: how fast an implementation is, beside what the machine could do. No figure stands for
 * wrong bytes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_gpu.h"
#include "bench_machine.h"
#include "bench_print.h"
#include "bench_wgrad.h"
#include "json.h"
#include "progress.h"
#include "run_case.h"
#include "select.h"
#include "text.h"
#include "verbs.h"

/* What can be timed, or NULL past the last. A further implementation is one more row. */
static const struct sb_bench_impl *impl_at(int i)
{
    enum { COUNT = 2 };
    const struct sb_bench_impl *const impls[COUNT] = {&sb_bench_wgrad_varlen_k_ref, sb_bench_wgrad_varlen_k_gpu()};
    return i < COUNT ? impls[i] : NULL;
}

static const struct sb_option options[] = {
    SB_SELECT_OPTIONS,
    {"impl", SB_OPT_TEXT, "ref|gpu", "ref", 0, 0, "the reference on the CPU, or the kernels"},
    {"path", SB_OPT_LIST, "PATH[,PATH]", NULL, 0, 0, "only these ways of computing: plain, avx2; of gpu the variants"},
    {"device", SB_OPT_TEXT, "N", "0", 0, 0, "the GPU of gpu"},
    {"threads", SB_OPT_LIST, "N|all[,N]", NULL, 0, 0, "numbers of threads of ref; without it 1 and all"},
    {"seconds", SB_OPT_TEXT, "S", "0.5", 0, 0, "time for each measurement; at least five samples in any case"},
    {"json", SB_OPT_FLAG, NULL, NULL, 0, 0, "one JSON object instead of a table"},
    {0},
};

static const struct sb_option_table table = {
    .verb = "bench",
    .summary = "Time an implementation, every output compared, beside the machine's own peak",
    .operands = "",
    .operand_count = 0,
    .options = options,
    .notes =
        "Without --suite or --case the implementation's own few cases are timed, with --op those of that op:\n"
        "wgrad_varlen_k alone can be so far, on the CPU (ref) and on a GPU (gpu). A MAC is one of the sum over "
        "segments of length * M *\n"
        "N, steps not filled up to 16, and two operations of a TFLOP.\n"
        "  between     where the median lies in 95 of 100 measurements; five samples: the smallest and the largest, 94 "
        "of 100\n"
        "  deviation   median distance of a sample from the median\n"
        "  a thread    the rate over the number of threads: less than a core's, where a core runs two\n"
        "  processor   how much of their time the threads ran: below 100% others used the machine meanwhile\n"
        "  efficiency  against one thread, times the number of threads\n"
        "Two figures whose ranges overlap are not told apart: their ratio is 'not resolved'.\n"
        "\n"
        "gpu: the time between two events on the stream, before and after one call on an idle device, so of calls of "
        "microseconds the\n"
        "launches too. Two runs warm up. Several copies of a call take turns where four times the L2 cache hold more "
        "than one; outputs\n"
        "are poisoned beforehand. Outputs of sampled calls are compared whole after both warm-ups and the last run, "
        "those of others after\n"
        "every run, inputs at the end. Of a GPU nothing is timed beside the calls: no power is set, no clock fixed.\n"
        "  peak        the fastest tensor core instruction there is a loop for, on drawn operands in registers or "
        "shared "
        "memory\n"
        "  SM clock    read during runs of 2 ms and more, where the driver's management library is there\n"
        "\n"
        "--json: version, commit, contract, contract_version, started, op, impl, unit, yardstick, peak, seconds, "
        "min_samples, exit_status,\n"
        "machine {cpu, processors, cores (0: not known), host, compiler, openmp, load_before, flaw, gpu: null or "
        "{name,\n"
        "compute_capability, multiprocessors, memory_bytes, l2_bytes, driver, cuda_compiler, targets}},\n"
        "cases [{case, reason, outcome, why, macs, when, compared, remark, rows [{path, ceiling, threads, outcome, "
        "reason, part, macs,\n"
        "rate, efficiency, of_peak, to_yardstick}]}]. outcome is TIMED, WRONG or NOT RUN; rate is null unless TIMED, "
        "else\n"
        "{samples, median, low, high, min, max, mad, per_thread, processor}, in the unit but for the last; a ratio is "
        "null\n"
        "or {value, low, high, resolved}; part: some tiles alone were computed. Of gpu threads, per_thread and "
        "processor "
        "are null.\n"
        "\n"
        "Exit status: 0 timed; 1 bytes differ; 2 bad usage or bad input; 3 nothing could be timed.",
};

/* ---- what to time ----------------------------------------------------------------------------------------------- */

static const char *what_there_is(char *buf, size_t size)
{
    buf[0] = '\0';
    const struct sb_bench_impl *impl;
    for (int i = 0; (impl = impl_at(i)) != NULL; i++)
        sb_append(buf, size, "%s%s with --impl %s", i > 0 ? ", " : "", impl->op, impl->impl);
    return buf;
}

static const struct sb_bench_impl *find_impl(const char *op, const char *name, struct sb_error *err)
{
    char text[400];
    const struct sb_bench_impl *impl;
    for (int i = 0; (impl = impl_at(i)) != NULL; i++)
        if (strcmp(impl->op, op) == 0 && strcmp(impl->impl, name) == 0)
            return impl;
    sb_fail(err, SB_EXIT_BAD_INPUT, "%.60s with --impl %.60s cannot be timed; what can: %s", op, name,
            what_there_is(text, sizeof text));
    return NULL;
}

/* Of the ops that --op names; the first in the list where it names none. One op a run: a table has one unit. */
static const struct sb_bench_impl *named_impl(const struct sb_options *o, struct sb_error *err)
{
    char word[64];
    const struct sb_bench_impl *impl = NULL;
    const char *name = sb_option_text(o, "impl");
    if (!sb_option_given(o, "op"))
        return find_impl(impl_at(0)->op, name, err);
    for (int i = 0; sb_option_list(o, "op", i) != NULL; i++)
        for (const char *cursor = sb_option_list(o, "op", i); sb_next_word(&cursor, ',', word, sizeof word);) {
            const struct sb_bench_impl *one = find_impl(word, name, err);
            if (one == NULL)
                return NULL;
            if (impl != NULL && one != impl) {
                sb_fail(err, SB_EXIT_BAD_INPUT, "--op: one op at a time can be timed");
                return NULL;
            }
            impl = one;
        }
    return impl;
}

static bool default_cases(const struct sb_bench_impl *impl, const struct sb_options *o, struct sb_selection *s,
                          struct sb_error *err)
{
    memset(s, 0, sizeof *s);
    for (const struct sb_bench_default *row = impl->cases; row->call != NULL; row++) {
        char id[SB_ID_SIZE];
        struct sb_case c;
        snprintf(id, sizeof id, "%s/%s", impl->op, row->call);
        if (!sb_case_parse(&c, &sb_op_table()->list, id, err))
            return false;
        snprintf(c.reason, sizeof c.reason, "%s", row->reason);
        if ((!sb_option_given(o, "limit") || s->count < sb_option_int(o, "limit")) && !sb_select_add(s, &c, err))
            return false;
    }
    return true;
}

static bool select_cases(const struct sb_bench_impl *impl, const struct sb_options *o, struct sb_selection *s,
                         struct sb_error *err)
{
    if (!sb_option_given(o, "case") && !sb_option_given(o, "suite"))
        return default_cases(impl, o, s, err);
    if (!sb_select(s, sb_op_table(), o, false, err))
        return false;
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->c[i].op->name, impl->op) != 0)
            return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: of the op %s nothing can be timed (see: samebits bench --help)",
                           s->c[i].id, s->c[i].op->name);
    return true;
}

/* ---- how -------------------------------------------------------------------------------------------------------- */

static bool read_paths(const struct sb_bench_impl *impl, const struct sb_options *o, struct sb_bench_plan *plan,
                       struct sb_error *err)
{
    char word[64], near_text[160];
    for (int p = 0; impl->paths[p] != NULL; p++)
        plan->path[p] = !sb_option_given(o, "path");
    for (int i = 0; sb_option_list(o, "path", i) != NULL; i++)
        for (const char *cursor = sb_option_list(o, "path", i); sb_next_word(&cursor, ',', word, sizeof word);) {
            struct sb_near near = {.wanted = word};
            bool found = false;
            for (int p = 0; impl->paths[p] != NULL; p++) {
                sb_near_offer(&near, impl->paths[p]);
                if (strcmp(word, impl->paths[p]) == 0)
                    plan->path[p] = found = true;
            }
            if (!found)
                return sb_fail(err, SB_EXIT_BAD_INPUT, "--path: %s of %s has no '%s'%s", impl->impl, impl->op, word,
                               sb_near_text(&near, near_text, sizeof near_text));
        }
    return true;
}

static bool add_threads(struct sb_bench_plan *plan, const char *word, struct sb_error *err)
{
    char *end = NULL;
    const int most = sb_bench_processors();
    errno = 0;
    const long n = strcmp(word, "all") == 0 ? most : strtol(word, &end, 10);
    if (errno != 0 || end == word || (end != NULL && *end != '\0') || n < 1 || n > most)
        return sb_fail(err, SB_EXIT_BAD_INPUT,
                       "--threads %s: expected all, or from 1 to %d, the processors that this process may use%s", word,
                       most,
#ifdef _OPENMP
                       ""
#else
                       " in a build without OpenMP"
#endif
        );
    for (int i = 0; i < plan->thread_counts; i++)
        if (plan->threads[i] == (int)n)
            return true;
    if (plan->thread_counts == SB_BENCH_MAX_THREADS)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--threads: at most %d numbers", SB_BENCH_MAX_THREADS);
    plan->threads[plan->thread_counts++] = (int)n;
    return true;
}

static bool read_threads(const struct sb_bench_impl *impl, const struct sb_options *o, struct sb_bench_plan *plan,
                         struct sb_error *err)
{
    char word[32];
    if (!impl->threaded)
        return !sb_option_given(o, "threads") ||
               sb_fail(err, SB_EXIT_BAD_INPUT, "--threads: %s of %s has none", impl->impl, impl->op);
    if (!sb_option_given(o, "threads"))
        return add_threads(plan, "1", err) && add_threads(plan, "all", err);
    for (int i = 0; sb_option_list(o, "threads", i) != NULL; i++)
        for (const char *cursor = sb_option_list(o, "threads", i); sb_next_word(&cursor, ',', word, sizeof word);)
            if (!add_threads(plan, word, err))
                return false;
    return true;
}

static bool start(const struct sb_bench_impl *impl, const struct sb_options *o, struct sb_error *err)
{
    if (impl->start != NULL)
        return impl->start(impl, sb_option_text(o, "device"), err);
    return !sb_option_given(o, "device") ||
           sb_fail(err, SB_EXIT_BAD_INPUT, "--device: %s of %s runs on the CPU", impl->impl, impl->op);
}

static bool read_seconds(const struct sb_options *o, struct sb_bench_plan *plan, struct sb_error *err)
{
    const double most = 3600;
    char *end = NULL;
    const char *text = sb_option_text(o, "seconds");
    plan->seconds = strtod(text, &end);
    if (end != text && *end == '\0' && plan->seconds >= 0 && plan->seconds <= most)
        return true;
    return sb_fail(err, SB_EXIT_BAD_INPUT, "--seconds %.60s: expected a number from 0 to %.0f, such as 0.5", text,
                   most);
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

static const char *first_wrong(const struct sb_bench_result *r, int count, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int i = 0; i < count && buf[0] == '\0'; i++) {
        if (r[i].outcome != SB_BENCH_WRONG)
            continue;
        snprintf(buf, size, "%s", r[i].c->id);
        for (int k = 0; k < r[i].rows; k++)
            if (r[i].row[k].outcome == SB_BENCH_WRONG) {
                sb_append(buf, size, " by %s", r[i].row[k].name);
                break;
            }
    }
    return buf;
}

/* Why the first case was not timed. */
static const char *first_reason(const struct sb_bench_result *r, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int i = 0; i < r->rows && buf[0] == '\0'; i++)
        if (r->row[i].reason[0] != '\0' && !r->row[i].ceiling)
            sb_append(buf, size, "%s by %s: %s", r->c->id, r->row[i].name, r->row[i].reason);
    if (buf[0] == '\0')
        sb_append(buf, size, "%s: %s", r->c->id, r->why);
    return buf;
}

static int finish(const struct sb_bench_result *r, int count, struct sb_error *err)
{
    char wrong[400], reason[700];
    const int status = sb_bench_status(r, count);
    if (status == SB_EXIT_MISMATCH)
        sb_fail(err, SB_EXIT_MISMATCH, "wrong bytes, so no figure: %s", first_wrong(r, count, wrong, sizeof wrong));
    if (status == SB_EXIT_NOTHING_RAN)
        sb_fail(err, SB_EXIT_NOTHING_RAN, "nothing was timed: %s", first_reason(r, reason, sizeof reason));
    return status;
}

/* Where the run is, for whoever waits. */
struct telling {
    const struct sb_bench_impl *impl;
    struct sb_progress progress;
    double told; /* sb_seconds() of the last line */
    int done, cases;
    bool as_text;
};

static void on_opened(void *user, const struct sb_bench_result *r)
{
    struct telling *t = user;
    sb_progress_clear(&t->progress);
    if (t->as_text)
        sb_bench_print_about(stdout, t->impl, r);
    fflush(stdout);
}

/* On a terminal a line that renews itself, and one that stays of what takes long. Elsewhere a line for what takes long
 * and each ten seconds: the number of cases done alone says nothing of one that takes minutes. */
static void on_step(void *user, const char *what, bool takes_long)
{
    const double interval = 10;
    struct telling *t = user;
    if (takes_long || (!t->progress.terminal && sb_seconds() - t->told >= interval)) {
        sb_progress_clear(&t->progress);
        sb_print_line(stderr, "bench: case %d of %d: %s", t->done + 1, t->cases, what);
        fflush(stderr);
        t->told = sb_seconds();
    } else if (t->progress.terminal) {
        sb_progress_step(&t->progress, t->done, what);
    }
}

static bool time_cases(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan, const struct sb_selection *s,
                       bool as_text, struct sb_bench_result *r, struct sb_error *err)
{
    struct telling t = {.impl = impl, .as_text = as_text, .told = sb_seconds(), .cases = s->count};
    struct sb_bench_plan watched = *plan;
    bool ok = true;
    watched.watch = (struct sb_bench_watch){on_opened, on_step, &t};
    if (as_text)
        sb_bench_print_head(stdout, impl, plan);
    sb_progress_open(&t.progress, stderr, "bench", s->count);
    for (int i = 0; ok && i < s->count; i++) {
        t.done = i;
        if (as_text)
            sb_bench_print_call(stdout, &s->c[i]);
        fflush(stdout);
        ok = sb_bench_case(impl, &watched, &s->c[i], &r[i], err);
        sb_progress_clear(&t.progress);
        if (ok && as_text)
            sb_bench_print_rows(stdout, impl, &r[i]);
        fflush(stdout);
    }
    sb_progress_close(&t.progress);
    return ok;
}

static int bench(const struct sb_bench_impl *impl, const struct sb_bench_plan *plan, const struct sb_selection *s,
                 bool as_json, struct sb_error *err)
{
    int status = SB_EXIT_NOTHING_RAN;
    struct sb_bench_result *r = calloc((size_t)s->count, sizeof *r);
    if (r == NULL) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "no memory for %d results", s->count);
        return status;
    }
    if (!time_cases(impl, plan, s, !as_json, r, err))
        status = (int)err->exit;
    else if (!as_json || sb_json_print(sb_bench_json(impl, plan, r, s->count), err))
        status = finish(r, s->count, err);
    else
        status = SB_EXIT_BAD_INPUT;
    for (int i = 0; i < s->count; i++)
        sb_bench_result_free(&r[i]);
    free(r);
    return status;
}

static int run(const struct sb_options *o, struct sb_error *err)
{
    enum { MIN_SAMPLES = 5 };
    struct sb_selection s = {0};
    struct sb_bench_plan plan = {.min_samples = MIN_SAMPLES};
    int status = SB_EXIT_BAD_INPUT;
    const struct sb_bench_impl *impl = named_impl(o, err);
    if (impl != NULL && read_paths(impl, o, &plan, err) && read_threads(impl, o, &plan, err) &&
        read_seconds(o, &plan, err) && select_cases(impl, o, &s, err) && start(impl, o, err))
        status = bench(impl, &plan, &s, sb_option_flag(o, "json"), err);
    sb_selection_free(&s);
    return status;
}

const struct sb_verb sb_verb_bench = {&table, run, false};
