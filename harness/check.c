/* check.c - the verb check: every selected case on every implementation that can run here, all bytes compared. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/stat.h>

#include "build_info.h"
#include "device.h"
#include "expected.h"
#include "interrupt.h"
#include "json.h"
#include "partial.h"
#include "progress.h"
#include "select.h"
#include "supervise.h"
#include "text.h"
#include "verbs.h"
#include "verdict.h"
#include "vouch.h"

static const struct sb_option options[] = {
    SB_SELECT_OPTIONS,
    {"variant", SB_OPT_LIST, "NAME[,NAME]", NULL, 0, 0,
     "only these implementations ('ref' and 'relations' run on the CPU)"},
    {"device", SB_OPT_TEXT, "auto|cpu|N|all", "auto", 0, 0, "GPU 0 if there is one; none; GPU number N; every GPU"},
    {"golden", SB_OPT_TEXT, "DIR", NULL, 0, 0,
     "compare with the stored goldens of this set (its cases, where none are named)"},
    {"timeout", SB_OPT_INT, "SECONDS", "120", 1, 86400,
     "limit for one implementation on one case; five times as long on the CPU"},
    {"require", SB_OPT_LIST, "N|gpu", NULL, 0, 0, "exit 3 unless N passed; unless every op ran on a GPU"},
    {"report", SB_OPT_TEXT, "FILE.jsonl", NULL, 0, 0, "write the report as JSON Lines, a line as each result comes"},
    {"markdown", SB_OPT_TEXT, "FILE.md", NULL, 0, 0, "write a summary fit for a pull request"},
    {0},
};

static const struct sb_option_table table = {
    .verb = "check",
    .summary = "Compare every implementation with the expected bytes, case by case",
    .operands = "",
    .operand_count = 0,
    .options = options,
    .notes = "Exit status: 0 all that ran passed and something ran; 1 a mismatch; 2 bad usage or bad input; 3 nothing "
             "could\n"
             "run, or less than --require asked for; 130 interrupted. What did not run is listed and never counts as "
             "passed.\n"
             "A case of a suite that neither a golden nor a digest file vouches for is bad input; relations that hold\n"
             "are no verdict on bits. Where the CPU knows samples of an output alone, the op's device judge computes\n"
             "all of it for the others to be compared with, whatever --variant names.",
};

/* One reason why cases could not be prepared. A damaged digest file is one reason for hundreds of them. */
struct bad_input {
    char text[1024];
    int64_t cases;
    bool golden; /* a golden or digest file, not the call */
};
enum { BAD_INPUTS = 32 };

struct check {
    const struct sb_options *o;
    const struct sb_op_table *ops;
    struct sb_selection cases;
    const char *set; /* --golden, or NULL */
    char root[SB_PATH_SIZE];

    struct sb_device device[SB_MAX_DEVICES]; /* in use */
    int devices;
    char no_gpu[400]; /* why devices == 0 */
    char device_arg[SB_MAX_DEVICES][16];
    char *worker_argv[SB_MAX_DEVICES][5];
    struct sb_supervisor supervisor[SB_MAX_DEVICES];

    struct sb_report report;
    FILE *jsonl;
    struct sb_progress progress;
    int current; /* device of the job under way */
    bool memory_short;
    bool interrupted;
    struct bad_input bad[BAD_INPUTS];
    int bads;
    int64_t bad_cases;
    int unvouched; /* cases of a suite that no golden and no digest file stands behind: bad input too */
};

/* ---- what to run ---------------------------------------------------------------------------------- */

static bool wanted(const struct sb_options *o, const char *variant)
{
    if (!sb_option_given(o, "variant"))
        return true;
    for (int i = 0; sb_option_list(o, "variant", i) != NULL; i++)
        if (sb_word_in(sb_option_list(o, "variant", i), variant))
            return true;
    return false;
}

static const char *deselected(void *user, const char *variant)
{
    const struct check *check = user;
    return wanted(check->o, variant) ? NULL : "left out by --variant";
}

/* Offers every implementation of the selected ops; is one of them called `word`? */
static bool variant_exists(const struct check *check, const char *word, struct sb_near *near)
{
    bool found = false;
    sb_near_offer(near, "ref");
    for (int i = 0; i < check->cases.count; i++) {
        const struct sb_op *op = check->cases.c[i].op;
        if (i > 0 && op == check->cases.c[i - 1].op)
            continue;
        found = found || strcmp(word, "ref") == 0 || (op->relations != NULL && strcmp(word, "relations") == 0);
        for (const struct sb_variant *v = sb_op_row_find(check->ops, op->name)->variants; v->name != NULL; v++) {
            sb_near_offer(near, v->name);
            found = found || strcmp(word, v->name) == 0;
        }
    }
    return found;
}

static bool check_variants(const struct check *check, struct sb_error *err)
{
    char word[32], near_text[160];
    for (int i = 0; sb_option_list(check->o, "variant", i) != NULL; i++)
        for (const char *cursor = sb_option_list(check->o, "variant", i);
             sb_next_word(&cursor, ',', word, sizeof word);) {
            struct sb_near near = {.wanted = word};
            if (!variant_exists(check, word, &near))
                return sb_fail(err, SB_EXIT_BAD_INPUT, "no implementation '%s' among the selected ops%s", word,
                               sb_near_text(&near, near_text, sizeof near_text));
        }
    return true;
}

static bool read_set(const struct check *check, const char *path, const struct sb_manifest *m, struct sb_selection *all,
                     struct sb_error *err)
{
    for (int i = 0; i < m->count; i++) {
        struct sb_case c;
        if (!sb_case_parse(&c, &check->ops->list, m->entry[i].id, err) || !sb_select_add(all, &c, err))
            return sb_fail_context(err, "%s", path);
    }
    return all->count > 0 || sb_fail(err, SB_EXIT_BAD_INPUT, "%s lists no case", path);
}

/* With --golden: the cases that the set lists, cut down by the other options. */
static bool select_from_set(struct check *check, struct sb_error *err)
{
    char path[SB_PATH_SIZE];
    struct sb_manifest m = {0};
    struct sb_selection all = {0};
    if (!sb_is_utf8(check->set))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--golden: the name of the folder is not UTF-8; rename it");
    if (snprintf(path, sizeof path, "%s/manifest.json", check->set) >= (int)sizeof path)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--golden: the path is too long: %.600s...", check->set);
    if (!sb_manifest_read(&m, path, err))
        return false;
    const bool ok =
        read_set(check, path, &m, &all, err) && sb_select_within(&check->cases, check->ops, check->o, &all, err);
    if (ok && !sb_option_given(check->o, "suite"))
        snprintf(check->cases.suites, sizeof check->cases.suites, "%s", m.suite);
    sb_selection_free(&all);
    sb_manifest_free(&m);
    return ok;
}

/* ---- where to run --------------------------------------------------------------------------------- */

static bool find_devices(struct check *check, struct sb_error *err)
{
    const char *text = sb_option_text(check->o, "device");
    if (strcmp(text, "cpu") == 0) {
        snprintf(check->no_gpu, sizeof check->no_gpu, "left out by --device cpu");
        return true;
    }
    char *end = NULL;
    errno = 0;
    const long number = strtol(text, &end, 10);
    const bool named = end != text && *end == '\0' && errno == 0 && number >= 0;
    const bool all = strcmp(text, "all") == 0;
    if (!named && !all && strcmp(text, "auto") != 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--device %s: expected auto, cpu, all or the number of a GPU", text);
    check->devices = sb_devices(check->device, check->no_gpu, sizeof check->no_gpu);
    if (!named && !all) {
        check->devices = check->devices > 0 ? 1 : 0;
        return true;
    }
    if (check->devices == 0)
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "--device %s: %s", text, check->no_gpu);
    for (int i = 0; named && i < check->devices; i++)
        if (check->device[i].index == number) {
            check->device[0] = check->device[i];
            check->devices = 1;
            return true;
        }
    return all || sb_fail(err, SB_EXIT_NOTHING_RAN, "--device %s: there is no such GPU; the driver lists %d (0 to %d)",
                          text, check->devices, check->devices - 1);
}

static void set_up_supervisor(struct check *check, int k)
{
    struct sb_supervisor *s = &check->supervisor[k];
    char **argv = check->worker_argv[k];
    if (check->devices == 0)
        snprintf(check->device_arg[k], sizeof check->device_arg[k], "cpu");
    else
        snprintf(check->device_arg[k], sizeof check->device_arg[k], "%d", check->device[k].index);
    static char program[] = "samebits", verb[] = "worker", option[] = "--device";
    argv[0] = program;
    argv[1] = verb;
    argv[2] = option;
    argv[3] = check->device_arg[k];
    argv[4] = NULL;
    s->program = "/proc/self/exe";
    s->argv = argv;
    s->device = check->devices == 0 ? "cpu" : check->device[k].label;
    s->needs_device = check->devices > 0;
    s->limit_seconds = (double)sb_option_int(check->o, "timeout");
}

/* A GPU that was named must work; one that was found may turn out not to be usable, and its variants are not run. */
static bool open_workers(struct check *check, struct sb_error *err)
{
    const int workers = check->devices > 0 ? check->devices : 1;
    const bool demanded = check->devices > 0 && strcmp(sb_option_text(check->o, "device"), "auto") != 0;
    for (int k = 0; k < workers; k++) {
        set_up_supervisor(check, k);
        const enum sb_job_end started = sb_supervisor_start(&check->supervisor[k], err);
        if (started == SB_JOB_INTERRUPTED) {
            check->interrupted = true;
            return true;
        }
        if (started != SB_JOB_DONE)
            return false;
        if (demanded && !check->supervisor[k].hello.usable)
            return sb_fail(err, SB_EXIT_NOTHING_RAN, "--device %s: %s", sb_option_text(check->o, "device"),
                           check->supervisor[k].hello.text);
    }
    return true;
}

/* ---- results -------------------------------------------------------------------------------------- */

/* " WORD WORD" or "NAME=WORD ": `before`, the quoted text, `after`. False where it does not fit. */
static bool append_word(char *buf, size_t size, const char *before, const char *text, const char *after)
{
    char word[SB_PATH_SIZE];
    if (sb_shell_quote(text, word, sizeof word) == NULL ||
        strlen(buf) + strlen(before) + strlen(word) + strlen(after) >= size)
        return false;
    sb_append(buf, size, "%s%s%s", before, word, after);
    return true;
}

/* A judge that vouched for a sampled case may have been found wrong by any of the others: they run again with it. */
static bool needs_the_others(const struct check *check, const struct sb_result *r)
{
    const struct sb_op_row *row = sb_op_row_find(check->ops, r->op);
    const struct sb_variant *judge = row != NULL ? sb_variant_judge(row) : NULL;
    return judge != NULL && strcmp(judge->name, r->variant) == 0 && r->sampled[0] != '\0';
}

/* With everything that the result may depend on. */
static void repeat_command(const struct check *check, struct sb_result *r)
{
    const char *root = getenv("SAMEBITS_GOLDEN");
    char *buf = r->repeat;
    const size_t size = sizeof r->repeat;
    buf[0] = '\0';
    bool fits = root == NULL || root[0] == '\0' || append_word(buf, size, "SAMEBITS_GOLDEN=", root, " ");
    fits = fits && append_word(buf, size, "", check->o->program, " check") &&
           append_word(buf, size, " --case ", r->case_id, "") &&
           (needs_the_others(check, r) || append_word(buf, size, " --variant ", r->variant, "")) &&
           append_word(buf, size, " --device ", sb_on_cpu(r->variant) ? "cpu" : check->device_arg[check->current], "");
    if (fits && check->set != NULL)
        fits = append_word(buf, size, " --golden ", check->set, "");
    if (fits && sb_option_given(check->o, "timeout"))
        fits = append_word(buf, size, " --timeout ", sb_option_text(check->o, "timeout"), "");
    if (!fits)
        snprintf(buf, size, "(the command is too long to show: run check again with --case %.230s --variant %s)",
                 r->case_id, r->variant);
}

static void on_result(void *user, struct sb_result *r)
{
    struct check *check = user;
    if (r->outcome == SB_FAIL) {
        repeat_command(check, r);
        sb_progress_clear(&check->progress);
        fprintf(stderr, "FAIL  %s  %s\n", r->case_id, r->variant);
    }
    check->memory_short = !sb_report_add(&check->report, r) || check->memory_short;
    if (check->jsonl != NULL)
        sb_jsonl_result(check->jsonl, r);
}

static void not_run(struct check *check, const struct sb_case *c, const char *variant, const char *why)
{
    struct sb_result r = {.outcome = SB_NOT_RUN, .launches = -1, .seconds = -1};
    snprintf(r.case_id, sizeof r.case_id, "%s", c->id);
    snprintf(r.op, sizeof r.op, "%s", c->op->name);
    snprintf(r.variant, sizeof r.variant, "%s", variant);
    snprintf(r.device, sizeof r.device, "%s",
             sb_on_cpu(variant) || check->devices == 0 ? "cpu" : check->device[check->current].label);
    if (!sb_on_cpu(variant) && check->devices == 0)
        snprintf(r.device, sizeof r.device, "none");
    snprintf(r.detail, sizeof r.detail, "%.1000s", why);
    on_result(check, &r);
}

/* ---- the run -------------------------------------------------------------------------------------- */

static void note_bad_input(struct check *check, const struct sb_job *job, const char *text)
{
    check->bad_cases++;
    for (int i = 0; i < check->bads; i++)
        if (strcmp(check->bad[i].text, text) == 0) {
            check->bad[i].cases++;
            return;
        }
    sb_progress_clear(&check->progress);
    sb_print_line(stderr, "samebits: %s: %s", job->case_id, text);
    if (check->bads == BAD_INPUTS)
        return;
    struct bad_input *bad = &check->bad[check->bads++];
    snprintf(bad->text, sizeof bad->text, "%s", text);
    bad->cases = 1;
    bad->golden = strstr(text, ".h5") != NULL || strstr(text, ".json") != NULL;
}

/* None is left out silently: a job that has no room for it is bad input. */
static void add_variant(struct check *check, const struct sb_case *c, const char *variant, struct sb_job *job)
{
    static const char full[] = "more implementations than a job holds; name fewer with --variant";
    if (!wanted(check->o, variant) || sb_job_add_variant(job, variant))
        return;
    not_run(check, c, variant, full);
    note_bad_input(check, job, full);
}

/* What device k has to do for a case; the first one does the work on the CPU as well. */
static void plan_job(struct check *check, const struct sb_case *c, int k, struct sb_job *job)
{
    memset(job, 0, sizeof *job);
    snprintf(job->case_id, sizeof job->case_id, "%s", c->id);
    snprintf(job->golden_root, sizeof job->golden_root, "%s", check->root);
    if (k == 0) {
        add_variant(check, c, "ref", job);
        if (c->op->relations != NULL)
            add_variant(check, c, "relations", job);
    }
    for (const struct sb_variant *v = sb_op_row_find(check->ops, c->op->name)->variants; v->name != NULL; v++)
        if (check->devices > 0)
            add_variant(check, c, v->name, job);
        else if (wanted(check->o, v->name))
            not_run(check, c, v->name, check->no_gpu);
}

/* For the verdict: short, since every reason stands in the list of what was not executed. NULL: none. */
static const char *bad_input_text(const struct check *check, char *buf, size_t size)
{
    int files = 0;
    for (int i = 0; i < check->bads; i++)
        files += check->bad[i].golden;
    if (check->bad_cases == 0 && check->unvouched == 0)
        return NULL;
    if (check->bad_cases == 0)
        snprintf(buf, size, "nothing vouches for %d case%s", check->unvouched, check->unvouched == 1 ? "" : "s");
    else if (files == check->bads && files < BAD_INPUTS)
        snprintf(buf, size, "%d golden file%s cannot be used", files, files == 1 ? "" : "s");
    else
        snprintf(buf, size, "%" PRId64 " case%s cannot be prepared", check->bad_cases,
                 check->bad_cases == 1 ? "" : "s");
    return buf;
}

static void run_on(struct check *check, const struct sb_case *c, int k)
{
    struct sb_job job;
    struct sb_error err = {0};
    check->current = k;
    plan_job(check, c, k, &job);
    if (!sb_golden_locate(c, check->set, check->root, &job, &err)) {
        for (int i = 0; i < job.variants; i++)
            not_run(check, c, job.variant[i], err.text);
        note_bad_input(check, &job, err.text);
        return;
    }
    const enum sb_job_end end = sb_supervisor_run(&check->supervisor[k], &job, on_result, check, &err);
    check->interrupted = check->interrupted || end == SB_JOB_INTERRUPTED;
    if (end == SB_JOB_BAD_INPUT && err.exit == SB_EXIT_BAD_INPUT) {
        note_bad_input(check, &job, err.text);
    } else if (end == SB_JOB_BAD_INPUT || end == SB_JOB_NO_WORKER) {
        sb_progress_clear(&check->progress);
        sb_print_line(stderr, "samebits: %s: %s", c->id, err.text);
    }
}

/* Each reason that held for more than one case, once, with how many. */
static void tell_repeated_bad_input(const struct check *check)
{
    for (int i = 0; i < check->bads; i++)
        if (check->bad[i].cases > 1)
            sb_print_line(stderr, "samebits: the same for %" PRId64 " cases in all: %s", check->bad[i].cases,
                          check->bad[i].text);
}

static void run_cases(struct check *check)
{
    const int workers = check->devices > 0 ? check->devices : 1;
    check->unvouched = sb_tell_unvouched(stderr, &check->cases, check->set, check->root);
    sb_progress_open(&check->progress, stderr, "check", check->cases.count);
    for (int i = 0; i < check->cases.count && !check->interrupted; i++) {
        sb_progress_step(&check->progress, i, check->cases.c[i].id);
        for (int k = 0; k < workers && !check->interrupted; k++)
            run_on(check, &check->cases.c[i], k);
    }
    if (!check->interrupted)
        sb_progress_step(&check->progress, check->cases.count, "");
    sb_progress_close(&check->progress);
    tell_repeated_bad_input(check);
    for (int k = 0; k < workers; k++)
        sb_supervisor_close(&check->supervisor[k]);
}

/* ---- the report ----------------------------------------------------------------------------------- */

static void command_text(const struct sb_options *o, char *buf, size_t size)
{
    static const char cut[] = " ... (cut)";
    const size_t room = size - sizeof cut;
    buf[0] = '\0';
    bool fits = append_word(buf, room, "", o->program, " ") && append_word(buf, room, "", o->table->verb, "");
    for (int i = 0; fits && i < o->count; i++) {
        const struct sb_option *option = &o->table->options[o->value[i].option];
        char name[64];
        snprintf(name, sizeof name, " --%s%s", option->name, option->kind == SB_OPT_FLAG ? "" : " ");
        if (option->kind == SB_OPT_FLAG)
            sb_append(buf, room, "%s", name);
        else
            fits = append_word(buf, room, name, o->value[i].text, "");
    }
    if (!fits)
        sb_append(buf, size, "%s", cut);
}

static void describe_run(struct check *check, const char *partial)
{
    struct sb_report *r = &check->report;
    sb_build_info(r, check->ops);
    snprintf(r->suites, sizeof r->suites, "%.90s%s", check->cases.suites, partial[0] != '\0' ? " (partial run)" : "");
    for (int k = 0; k < check->devices; k++)
        sb_append(r->device, sizeof r->device, "%s%s", k > 0 ? "; " : "", check->device[k].label);
    if (check->devices == 0)
        snprintf(r->device, sizeof r->device, "cpu only: %.200s", check->no_gpu);
    command_text(check->o, r->command, sizeof r->command);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat one, two;
    return strcmp(a, b) == 0 || (stat(a, &one) == 0 && stat(b, &two) == 0 && S_ISREG(one.st_mode) &&
                                 one.st_dev == two.st_dev && one.st_ino == two.st_ino);
}

static bool open_report(struct check *check, FILE **markdown, struct sb_error *err)
{
    const char *jsonl = sb_option_text(check->o, "report"), *md = sb_option_text(check->o, "markdown");
    if (jsonl != NULL && md != NULL && is_same_file(jsonl, md))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--report and --markdown name the same file: %s", md);
    if (jsonl != NULL && (check->jsonl = fopen(jsonl, "we")) == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--report %s: %s", jsonl, strerror(errno));
    if (jsonl != NULL && md != NULL && is_same_file(jsonl, md)) /* only now is it there: two ways to write one path */
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--report and --markdown name the same file: %s", md);
    if (md != NULL && (*markdown = fopen(md, "we")) == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--markdown %s: %s", md, strerror(errno));
    return true;
}

/* A report that could not be written whole is an error: somebody will rely on it. */
static bool close_file(FILE *f, const char *name, struct sb_error *err)
{
    if (f == NULL)
        return true;
    const bool ok = !ferror(f);
    if (fclose(f) == 0 && ok)
        return true;
    return sb_fail(err, SB_EXIT_BAD_INPUT, "%s could not be written whole (is the disk full?)", name);
}

static void conclude(struct check *check, const struct sb_require *require, const char *partial)
{
    static char target[SB_MAX_DEVICES][24];
    const char *targets[SB_MAX_DEVICES];
    for (int k = 0; k < check->devices; k++)
        targets[k] = sb_target_of(check->device[k].compute_capability, target[k], sizeof target[k]);
    const struct sb_ledger_facts facts = {.cases = &check->cases,
                                          .table = check->ops,
                                          .targets_here = targets,
                                          .targets_here_count = check->devices,
                                          .interrupted = check->interrupted,
                                          .no_gpu = check->devices == 0 ? check->no_gpu : NULL,
                                          .deselected = deselected,
                                          .user = check};
    check->memory_short = !sb_ledger_fill(&check->report, &facts) || check->memory_short;
    char bad[80];
    if (!check->interrupted)
        sb_verdict(&check->report, require, &check->cases, check->ops, bad_input_text(check, bad, sizeof bad), partial);
    if (check->jsonl != NULL) /* after an interrupt without the end record: no verdict */
        sb_jsonl_end(check->jsonl, &check->report);
}

static int run_and_report(struct check *check, const struct sb_require *require, struct sb_error *err)
{
    char partial[200];
    FILE *markdown = NULL;
    sb_partial_text(check->o, &check->cases, check->ops, partial, sizeof partial);
    describe_run(check, partial);
    /* Workers first: a run that cannot start leaves an earlier report alone, and no worker inherits the files. */
    bool written = true;
    const bool opened = open_workers(check, err) && (written = open_report(check, &markdown, err));
    if (opened) {
        if (partial[0] != '\0')
            fprintf(stderr, "NOTE: a partial run: %s. It says nothing about the rest.\n", partial);
        if (check->jsonl != NULL)
            sb_jsonl_begin(check->jsonl, &check->report);
        run_cases(check);
        conclude(check, require, partial);
        sb_terminal(stdout, &check->report, sb_colour(stdout));
        if (markdown != NULL && !sb_markdown(markdown, &check->report, 65536))
            written = sb_fail(err, SB_EXIT_BAD_INPUT, "the Markdown summary could not be written");
    }
    written = close_file(check->jsonl, "the report", err) && written;
    written = close_file(markdown, "the Markdown summary", err) && written;
    if (check->interrupted) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "interrupted: no verdict");
        return sb_interrupt_status();
    }
    if (check->memory_short)
        written = sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory for the report: results are missing from it");
    if (!opened)
        return (int)err->exit;
    return written || check->report.exit_status != SB_EXIT_OK ? check->report.exit_status : SB_EXIT_BAD_INPUT;
}

static int run(const struct sb_options *o, struct sb_error *err)
{
    struct sb_require require;
    struct check *check = calloc(1, sizeof *check);
    if (check == NULL) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
        return SB_EXIT_BAD_INPUT;
    }
    check->o = o;
    check->ops = sb_op_table();
    check->set = sb_option_text(o, "golden");
    if (!sb_golden_root(check->root, sizeof check->root) || !sb_is_utf8(check->root))
        check->root[0] = '\0';
    sb_interrupt_install();
    int status;
    const bool ready =
        sb_golden_root_check(err) && sb_require_parse(&require, o, err) &&
        (check->set != NULL ? select_from_set(check, err) : sb_select(&check->cases, check->ops, o, false, err)) &&
        check_variants(check, err) && find_devices(check, err);
    status = ready ? run_and_report(check, &require, err) : (int)err->exit;
    for (int k = 0; k < SB_MAX_DEVICES; k++)
        sb_supervisor_close(&check->supervisor[k]);
    sb_selection_free(&check->cases);
    sb_report_free(&check->report);
    free(check);
    return status;
}

const struct sb_verb sb_verb_check = {&table, run, false};
