/* supervise.c - one job at a time to one child; what goes wrong there becomes a result here. */
#include "supervise.h"

#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "run_case.h"
#include "text.h"

/* Starting CUDA on a busy machine can take long; a worker that says nothing for so long is stuck. */
static const double hello_seconds = 180.0;

struct run {
    struct sb_supervisor *s;
    struct sb_job rest; /* what has no result yet */
    char under_way[32]; /* variant, "prepare", or "" */
    char judge[32];     /* the op's judge, once it was asked */
    bool holding;       /* the last result: not passed on before the worker has said something after it */
    struct sb_result held;
    struct sb_result by_judge[SB_JOB_VARIANTS]; /* PASSes that are worth what the judge is: the end of the case tells */
    int by_judges;
    double deadline, limit;
    sb_result_fn on_result;
    void *user;
};

static void forget(struct sb_job *job, const char *variant)
{
    for (int i = 0; i < job->variants; i++)
        if (strcmp(job->variant[i], variant) == 0) {
            memmove(job->variant[i], job->variant[i + 1], (size_t)(job->variants - i - 1) * sizeof job->variant[0]);
            job->variants--;
            return;
        }
}

/* A result that the supervisor makes itself. */
static void conclude(struct run *run, const char *variant, enum sb_outcome outcome, const char *detail)
{
    struct sb_result r = {.outcome = outcome, .launches = -1, .seconds = -1};
    char name[32], op[32];
    snprintf(name, sizeof name, "%s", variant); /* `variant` may point into the job that forget() moves */
    const char *cursor = run->rest.case_id;
    sb_next_word(&cursor, '/', op, sizeof op);
    sb_append(r.case_id, sizeof r.case_id, "%s", run->rest.case_id);
    sb_append(r.op, sizeof r.op, "%s", op);
    sb_append(r.variant, sizeof r.variant, "%s", name);
    sb_append(r.device, sizeof r.device, "%s", sb_on_cpu(name) ? "cpu" : run->s->device);
    sb_append(r.detail, sizeof r.detail, "%s", detail);
    forget(&run->rest, name);
    run->on_result(run->user, &r);
}

static void conclude_rest(struct run *run, enum sb_outcome outcome, const char *detail)
{
    while (run->rest.variants > 0)
        conclude(run, run->rest.variant[0], outcome, detail);
}

/* What the last variant left behind did no harm: its result stands, as long as the judge does. */
static void pass_on(struct run *run)
{
    const bool by_judge = sb_by_device_judge(&run->held) && sb_result_outcome(&run->held) == SB_PASS;
    if (run->holding && by_judge && run->by_judges < SB_JOB_VARIANTS)
        run->by_judge[run->by_judges++] = run->held;
    else if (run->holding)
        run->on_result(run->user, &run->held);
    run->holding = false;
}

/* The judge was found wrong in a place: whoever gave its bytes, all of them, is wrong there as well. */
static void convict_with_judge(struct run *run)
{
    for (int i = 0; i < run->by_judges; i++) {
        struct sb_result *r = &run->by_judge[i];
        r->outcome = SB_FAIL;
        sb_append_line(r->detail, sizeof r->detail,
                       "every byte was the device judge's, which was found to be wrong afterwards: see its own result");
    }
}

static void pass_on_by_judge(struct run *run)
{
    for (int i = 0; i < run->by_judges; i++)
        run->on_result(run->user, &run->by_judge[i]);
    run->by_judges = 0;
}

/* A judge that fails in its own turn has vouched for nothing; in another's turn that one has proved it wrong. */
static bool proved_wrong_by_another(const struct run *run, const struct sb_result *r)
{
    return run->judge[0] != '\0' && strcmp(r->variant, run->judge) == 0 && r->outcome == SB_FAIL &&
           run->under_way[0] != '\0' && strcmp(run->under_way, run->judge) != 0;
}

/* What failed once as the judge is not asked again: the rest of the job is compared on samples. */
static void note_judge(struct run *run, const char *variant, enum sb_outcome outcome)
{
    if (run->judge[0] != '\0' && strcmp(variant, run->judge) == 0 && outcome == SB_FAIL)
        snprintf(run->rest.no_judge, sizeof run->rest.no_judge, "the device judge failed: see its own result");
}

/* The child is gone or was given up: `what` happened while run->under_way was running, or, where that is "", before
 * the next variant began. After a result, and before anything else was begun, it is that variant's doing. */
static void blame(struct run *run, const char *what)
{
    char detail[400];
    if (run->holding) {
        run->held.outcome = SB_FAIL;
        snprintf(run->held.detail, sizeof run->held.detail, "after its outputs were compared: %s", what);
        note_judge(run, run->held.variant, SB_FAIL);
        pass_on(run);
        return;
    }
    if (run->rest.variants == 0)
        return;
    note_judge(run, run->under_way, SB_FAIL);
    if (strcmp(run->under_way, "prepare") != 0) {
        const char *variant = run->under_way[0] != '\0' ? run->under_way : run->rest.variant[0];
        snprintf(detail, sizeof detail, "%s%s", run->under_way[0] != '\0' ? "" : "before it began: ", what);
        conclude(run, variant, SB_FAIL, detail);
        return;
    }
    /* Generator and reference work for every variant; the fault is reported once. */
    bool ref = false;
    for (int i = 0; i < run->rest.variants; i++)
        ref = ref || strcmp(run->rest.variant[i], "ref") == 0;
    snprintf(detail, sizeof detail, "while the inputs were generated and the reference computed: %s", what);
    conclude(run, ref ? "ref" : run->rest.variant[0], SB_FAIL, detail);
    snprintf(detail, sizeof detail, "nothing to compare with: the case could not be prepared (%s)", what);
    conclude_rest(run, SB_NOT_RUN, detail);
}

static void end_child(struct run *run, bool kill_it, const char *why)
{
    char how[100], what[300];
    sb_child_end(run->s, kill_it, how, sizeof how);
    if (why != NULL)
        snprintf(what, sizeof what, "%s", why);
    else
        snprintf(what, sizeof what, "the worker ended with %s", how);
    blame(run, what);
    run->under_way[0] = '\0';
}

enum sb_job_end sb_supervisor_start(struct sb_supervisor *s, struct sb_error *err)
{
    char *line = NULL;
    char how[100];
    if (s->pid != 0)
        return SB_JOB_DONE;
    if (!sb_child_start(s, err))
        return SB_JOB_NO_WORKER;
    const enum sb_child_read got = sb_child_read(s, sb_seconds() + hello_seconds, &line);
    const bool hello = got == SB_READ_LINE && sb_message_parse(line, &s->hello) && s->hello.kind == SB_MSG_HELLO;
    free(line);
    if (hello)
        return SB_JOB_DONE;
    sb_child_end(s, got != SB_READ_END, how, sizeof how);
    if (got == SB_READ_INTERRUPTED)
        return SB_JOB_INTERRUPTED;
    sb_fail(err, SB_EXIT_NOTHING_RAN, "the worker for %s did not come up: %s", s->device,
            got == SB_READ_LATE ? "it said nothing" : how);
    return SB_JOB_NO_WORKER;
}

/* True while the job goes on with this child. */
static bool take_message(struct run *run, const struct sb_message *m, enum sb_job_end *end, struct sb_error *err)
{
    pass_on(run);
    switch (m->kind) {
    case SB_MSG_BEGIN:
        snprintf(run->under_way, sizeof run->under_way, "%s", m->name);
        run->limit = run->s->limit_seconds * (m->slow ? SB_SLOW_FACTOR : 1);
        run->deadline = sb_seconds() + run->limit;
        return true;
    case SB_MSG_JUDGE:
        snprintf(run->judge, sizeof run->judge, "%s", m->name);
        snprintf(run->under_way, sizeof run->under_way, "%s", m->name);
        run->limit = run->s->limit_seconds;
        run->deadline = sb_seconds() + run->limit;
        return true;
    case SB_MSG_RESULT:
        run->held = m->result;
        run->holding = true;
        if (proved_wrong_by_another(run, &m->result))
            convict_with_judge(run);
        note_judge(run, m->result.variant, m->result.outcome);
        forget(&run->rest, m->result.variant);
        run->under_way[0] = '\0';
        return true;
    case SB_MSG_ERROR:
        *end = SB_JOB_BAD_INPUT;
        sb_fail(err, (enum sb_exit)m->exit, "%s", m->text);
        conclude_rest(run, SB_NOT_RUN, m->text);
        return true;
    case SB_MSG_DONE:
        conclude_rest(run, SB_FAIL, "the worker finished the job without a result for this");
        return false;
    case SB_MSG_RETIRE:
        run->under_way[0] = '\0';
        return false;
    case SB_MSG_HELLO:
        return true;
    }
    return true;
}

static void late(struct run *run)
{
    char why[200];
    snprintf(why, sizeof why, "did not finish within %.3g s (--timeout) and was killed", run->limit);
    end_child(run, true, why);
}

/* One child's part of a job: until it is done, retires, dies or is given up. */
static enum sb_job_end with_one_child(struct run *run, struct sb_error *err)
{
    enum sb_job_end end = SB_JOB_DONE;
    char how[100];
    run->limit = run->s->limit_seconds * SB_SLOW_FACTOR;
    run->deadline = sb_seconds() + run->limit;
    if (!sb_child_send(run->s, &run->rest)) {
        end_child(run, true, NULL);
        return end;
    }
    for (;;) {
        char *line = NULL;
        struct sb_message m;
        const enum sb_child_read got = sb_child_read(run->s, run->deadline, &line);
        const bool parsed = got == SB_READ_LINE && sb_message_parse(line, &m);
        free(line);
        if (got == SB_READ_INTERRUPTED) {
            pass_on(run);
            sb_child_end(run->s, true, how, sizeof how);
            return SB_JOB_INTERRUPTED;
        }
        if (got == SB_READ_LATE) {
            late(run);
            return end;
        }
        if (!parsed) {
            end_child(run, got != SB_READ_END,
                      got == SB_READ_END ? NULL : "the worker wrote a line that is no message");
            return end;
        }
        if (!take_message(run, &m, &end, err)) {
            if (m.kind == SB_MSG_RETIRE)
                sb_child_end(run->s, false, how, sizeof how);
            return end;
        }
    }
}

/* Without a GPU only the work on the CPU is left. */
static void leave_device_variants(struct run *run)
{
    for (int i = 0; i < run->rest.variants;)
        if (sb_on_cpu(run->rest.variant[i]))
            i++;
        else
            conclude(run, run->rest.variant[i], SB_NOT_RUN, run->s->hello.text);
}

enum sb_job_end sb_supervisor_run(struct sb_supervisor *s, const struct sb_job *job, sb_result_fn on_result, void *user,
                                  struct sb_error *err)
{
    struct run run = {.s = s, .rest = *job, .on_result = on_result, .user = user};
    enum sb_job_end end = SB_JOB_DONE;
    while (run.rest.variants > 0 && end == SB_JOB_DONE) {
        const int before = run.rest.variants;
        const bool judge_before = run.rest.no_judge[0] == '\0';
        end = sb_supervisor_start(s, err);
        if (end == SB_JOB_NO_WORKER)
            conclude_rest(&run, SB_NOT_RUN, err->text);
        if (end != SB_JOB_DONE)
            break;
        if (s->needs_device && !s->hello.usable)
            leave_device_variants(&run);
        if (run.rest.variants > 0)
            end = with_one_child(&run, err);
        const bool judge_is_out = judge_before && run.rest.no_judge[0] != '\0';
        /* A child that retires at once would go on for ever. */
        if (end == SB_JOB_DONE && run.rest.variants == before && !judge_is_out)
            conclude(&run, run.rest.variant[0], SB_FAIL, "the worker gave up before this began");
    }
    pass_on_by_judge(&run);
    return end;
}

void sb_supervisor_close(struct sb_supervisor *s)
{
    char how[100];
    sb_child_end(s, false, how, sizeof how);
    free(s->line);
    s->line = NULL;
    s->room = s->used = 0;
}
