/* worker_serve.c - jobs in, messages out. One job is one case: prepare it, then each variant in turn. */
#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/digest.h"
#include "../golden/samples.h"
#include "device.h"
#include "expected.h"
#include "run_case.h"
#include "text.h"
#include "whole.h"

struct worker {
    const struct sb_op_table *table;
    const struct sb_memory *memory;
    const char *device;
    FILE *out;
    struct sb_manifest_cache manifests;
};

/* A larger call to be made first, prepared once a job. */
struct prelude_data {
    bool there;
    struct sb_case c;
    struct sb_data d;
    struct sb_prelude prelude;
};

/* What the variants of a job are compared with where the reference knows samples of the case alone. */
struct whole_data {
    const struct sb_variant *judge; /* NULL: nothing is sampled, or the op has none, or nothing would be compared */
    bool there;
    struct sb_whole w;
    struct sb_result judged;
    bool owed; /* `judged` is a PASS that somebody asked for: told last, since an implementation may prove it wrong */
    bool told; /* `judged` went out: it failed, or never ran */
    char why_not[160];
};

static void say_begin(struct worker *w, const char *name, bool slow)
{
    struct sb_message m = {.kind = SB_MSG_BEGIN, .slow = slow};
    sb_append(m.name, sizeof m.name, "%s", name);
    sb_message_write(w->out, &m);
}

static void say_judge(struct worker *w, const char *name)
{
    struct sb_message m = {.kind = SB_MSG_JUDGE};
    sb_append(m.name, sizeof m.name, "%s", name);
    sb_message_write(w->out, &m);
}

static void say_result(struct worker *w, const struct sb_result *r)
{
    struct sb_message m = {.kind = SB_MSG_RESULT, .result = *r};
    if (r->outcome == SB_SKIP) /* it was compared with nothing */
        m.result.judge[0] = '\0';
    sb_message_write(w->out, &m);
}

static void say(struct worker *w, enum sb_message_kind kind)
{
    sb_message_write(w->out, &(struct sb_message){.kind = kind});
}

static void say_error(struct worker *w, const struct sb_error *err)
{
    struct sb_message m = {.kind = SB_MSG_ERROR, .exit = (int)err->exit};
    sb_append(m.text, sizeof m.text, "%s", err->text);
    sb_message_write(w->out, &m);
}

/* ---- the reference -------------------------------------------------------------------------------- */

static void not_run(struct sb_result *r, const char *why)
{
    r->outcome = SB_NOT_RUN;
    sb_append(r->detail, sizeof r->detail, "%s", why);
}

static bool same_content(const struct sb_tensor *a, const struct sb_tensor *b)
{
    char left[SB_SHA256_HEX], right[SB_SHA256_HEX];
    bool same = (a->data == NULL) == (b->data == NULL);
    if (!same || a->data == NULL)
        return same;
    same = a->dtype == b->dtype && a->rank == b->rank;
    for (int axis = 0; same && axis < a->rank; axis++)
        same = a->shape[axis] == b->shape[axis];
    sb_tensor_sha256(a, left);
    sb_tensor_sha256(b, right);
    return same && strcmp(left, right) == 0;
}

/* Inputs and outputs edited together fit each other, and a set vouches for whatever it lists: only the seed tells that
 * they are not those of the case. */
static void inputs_against_seed(const struct sb_expected *e, struct sb_result *r)
{
    struct sb_data made = {0};
    struct sb_error err = {0};
    if (!e->c.op->generate(&e->c, &made, &err)) {
        r->outcome = SB_FAIL;
        sb_append_line(r->detail, sizeof r->detail, "the inputs cannot be made again: %s", err.text);
    }
    for (int i = 0; err.text[0] == '\0' && i < sb_op_input_count(e->c.op); i++)
        if (!same_content(&e->d.in[i], &made.in[i])) {
            r->outcome = SB_FAIL;
            sb_append_line(r->detail, sizeof r->detail, "inputs/%s is not what the case's seed gives",
                           e->c.op->inputs[i].name);
        }
    sb_data_free(&made);
}

/* Computes again from the stored inputs and compares element by element; makes the inputs again. */
static void ref_against_stored(const struct sb_expected *e, struct sb_result *r)
{
    struct sb_data again = e->d;
    struct sb_error err = {0};
    memset(again.out, 0, sizeof again.out);
    memset(again.samples, 0, sizeof again.samples);
    memset(&again.status, 0, sizeof again.status);
    if (!e->c.op->reference(&e->c, &again, &err)) {
        not_run(r, err.text);
        return;
    }
    sb_judge_outputs(&e->c, &e->d, again.out, true, &again.status, -1, r);
    if (sb_store_keeps_inputs(&e->c, &e->d)) /* else they were made from the seed just now */
        inputs_against_seed(e, r);
    sb_data_free_outputs(&again);
}

static int64_t data_bytes(const struct sb_expected *e)
{
    int64_t bytes = 0;
    for (int i = 0; i < sb_op_input_count(e->c.op); i++)
        if (e->d.in[i].data != NULL)
            bytes += sb_tensor_count(&e->d.in[i]) * (int64_t)sb_dtype_size(e->d.in[i].dtype);
    for (int i = 0; i < sb_op_output_count(e->c.op); i++)
        if (e->d.out[i].data != NULL)
            bytes += sb_tensor_count(&e->d.out[i]) * (int64_t)sb_dtype_size(e->d.out[i].dtype);
    return bytes;
}

static void ref_against_digests(const struct sb_expected *e, struct sb_result *r)
{
    if (!e->listed) {
        not_run(r, e->unlisted);
        return;
    }
    r->bytes_compared = data_bytes(e) + (int64_t)sizeof e->d.status;
    for (int i = 0; i < sb_op_output_count(e->c.op); i++)
        sb_tell_samples(&e->d, i, r);
    r->outcome = e->difference[0] == '\0' ? SB_PASS : SB_FAIL;
    if (r->outcome == SB_FAIL) {
        const bool input = strncmp(e->difference, "inputs/", 7) == 0;
        sb_append(r->tensor, sizeof r->tensor, "%s", e->difference);
        sb_append(r->detail, sizeof r->detail, "%s differs from the digest committed in %s: %s", e->difference,
                  e->digest_file, input ? "the generator makes other inputs" : "the reference gives other bytes");
    }
}

static void run_ref(const struct sb_expected *e, struct sb_result *r)
{
    const double start = sb_seconds();
    sb_append(r->judge, sizeof r->judge, "%s", e->stored ? "stored golden" : "committed digests");
    if (e->stored)
        ref_against_stored(e, r);
    else
        ref_against_digests(e, r);
    if (r->outcome == SB_PASS || r->outcome == SB_FAIL)
        r->seconds = sb_seconds() - start;
}

static void run_relations(const struct sb_expected *e, struct sb_result *r)
{
    const double start = sb_seconds();
    sb_append(r->judge, sizeof r->judge, "relations");
    if (e->c.op->relations == NULL) {
        not_run(r, "this op has no relations");
    } else if (e->d.status.code != SB_OK) {
        r->outcome = SB_SKIP;
        sb_append(r->detail, sizeof r->detail, "the call is rejected: there are no outputs to relate");
    } else {
        const bool hold = e->c.op->relations(&e->c, &e->d, e->d.out, r->detail, sizeof r->detail);
        r->outcome = hold ? SB_PASS : SB_FAIL;
        if (hold)
            r->detail[0] = '\0';
        r->bytes_compared = data_bytes(e);
    }
    if (r->outcome == SB_PASS || r->outcome == SB_FAIL)
        r->seconds = sb_seconds() - start;
}

/* ---- variants on the device ------------------------------------------------------------------------ */

static bool prepare_prelude(struct worker *w, const struct sb_expected *e, struct prelude_data *p, struct sb_error *err)
{
    char id[SB_ID_SIZE];
    memset(p, 0, sizeof *p);
    const char *call = e->c.op->prelude != NULL ? e->c.op->prelude(&e->c, id, sizeof id) : NULL;
    if (call == NULL)
        return true;
    if (!sb_case_parse(&p->c, &w->table->list, call, err) || !p->c.op->generate(&p->c, &p->d, err) ||
        !p->c.op->reference(&p->c, &p->d, err))
        return sb_fail_context(err, "the call to be made first, %s", call);
    p->there = true;
    p->prelude = (struct sb_prelude){&p->c, &p->d};
    return true;
}

/* Who vouches for the expected bytes of a GPU variant. */
static const char *judge_of(const struct sb_expected *e)
{
    const bool sampled = sb_case_is_sampled(&e->c) && e->d.status.code == SB_OK;
    if (e->stored)
        return sampled ? "sampled golden" : "stored golden";
    if (e->listed && e->difference[0] == '\0')
        return sampled ? "sampled golden, digests confirmed" : "reference, digests confirmed";
    return sampled ? "sampled reference" : "reference";
}

static void start_result(const struct sb_expected *e, const char *variant, struct sb_result *r)
{
    *r = (struct sb_result){.outcome = SB_NOT_RUN, .launches = -1, .seconds = -1, .ignored_ids = e->d.status.ignored};
    sb_append(r->case_id, sizeof r->case_id, "%s", e->c.id);
    sb_append(r->op, sizeof r->op, "%s", e->c.op->name);
    sb_append(r->variant, sizeof r->variant, "%s", variant);
}

/* False, here and below: the device is no longer to be trusted. */
static bool run_on_samples(struct worker *w, const struct sb_expected *e, const struct prelude_data *p,
                           const struct whole_data *x, const struct sb_variant *v, struct sb_result *r)
{
    sb_append(r->judge, sizeof r->judge, "%s", judge_of(e));
    const bool healthy = sb_run_case(v, &e->c, &e->d, p->there ? &p->prelude : NULL, w->memory, r);
    if (r->sampled[0] != '\0')
        sb_append(r->not_whole, sizeof r->not_whole, "%s", x->why_not);
    return healthy;
}

static void leave_judge(struct whole_data *x, const char *why)
{
    snprintf(x->why_not, sizeof x->why_not, "%s", why);
    x->there = false;
    sb_whole_free(&x->w);
}

/* The judge passed on the samples, and the reference has now found it wrong elsewhere, where `variant` differs. Who
 * gave the same bytes before, the supervisor knows. */
static void drop_judge(struct worker *w, struct whole_data *x, const char *variant)
{
    sb_append_line(x->judged.detail, sizeof x->judged.detail, "found by %s", variant);
    say_result(w, &x->judged);
    x->told = true;
    x->owed = false;
    leave_judge(x, "the device judge is wrong: see its own result");
}

static bool run_against_whole(struct worker *w, const struct sb_expected *e, const struct prelude_data *p,
                              struct whole_data *x, const struct sb_variant *v, struct sb_result *r)
{
    struct sb_tensor out[SB_MAX_TENSORS] = {0};
    char text[400] = "";
    enum sb_arbitration a = SB_NO_DIFFERENCE;
    sb_append(r->judge, sizeof r->judge, "device judge, held to the %s", judge_of(e));
    const bool healthy = sb_run_case_keeping(v, &e->c, &x->w.d, p->there ? &p->prelude : NULL, w->memory, out, r);
    if (healthy && r->outcome == SB_FAIL)
        a = sb_whole_arbitrate(&e->c, &x->w, out, text, sizeof text, &x->judged);
    sb_tensors_free(out, SB_MAX_TENSORS);
    if (text[0] != '\0')
        sb_append_line(r->detail, sizeof r->detail, "%s", text);
    if (a == SB_JUDGE_IS_WRONG || a == SB_BOTH_ARE_WRONG)
        drop_judge(w, x, v->name);
    /* The host has to hold the judge's outputs and others at a time, with samples those others alone. */
    const bool short_of_memory = healthy && r->outcome == SB_NOT_RUN && v->run != NULL;
    if (short_of_memory)
        leave_judge(x, "not enough host memory for the device judge's outputs beside others");
    if (a != SB_JUDGE_IS_WRONG && !short_of_memory)
        return healthy;
    start_result(e, v->name, r); /* samples are left to compare with */
    sb_append(r->device, sizeof r->device, "%s", w->device);
    say_begin(w, v->name, false);
    return run_on_samples(w, e, p, x, v, r);
}

static bool run_on_device(struct worker *w, const struct sb_expected *e, const struct prelude_data *p,
                          struct whole_data *x, const struct sb_variant *v, struct sb_result *r)
{
    sb_append(r->device, sizeof r->device, "%s", w->device);
    if (w->memory == NULL) {
        sb_append(r->judge, sizeof r->judge, "%s", judge_of(e));
        not_run(r, "this worker has no GPU");
        return true;
    }
    return x->there ? run_against_whole(w, e, p, x, v, r) : run_on_samples(w, e, p, x, v, r);
}

static bool run_variant(struct worker *w, const struct sb_expected *e, const struct prelude_data *p,
                        struct whole_data *x, const char *name)
{
    struct sb_result r;
    bool healthy = true;
    const bool on_cpu = sb_on_cpu(name);
    start_result(e, name, &r);
    say_begin(w, name, on_cpu);
    if (on_cpu) {
        sb_append(r.device, sizeof r.device, "cpu");
        if (strcmp(name, "ref") == 0)
            run_ref(e, &r);
        else
            run_relations(e, &r);
    } else {
        const struct sb_op_row *row = sb_op_row_find(w->table, e->c.op->name);
        const struct sb_variant *v = row != NULL ? sb_variant_find(row, name) : NULL;
        if (v == NULL)
            not_run(&r, "this build has no such implementation");
        else
            healthy = run_on_device(w, e, p, x, v, &r);
    }
    say_result(w, &r);
    return healthy;
}

/* ---- the judge ------------------------------------------------------------------------------------- */

static bool job_names(const struct sb_job *job, const char *variant)
{
    for (int i = 0; i < job->variants; i++)
        if (strcmp(job->variant[i], variant) == 0)
            return true;
    return false;
}

/* Is there a variant, other than the judge, whose outputs could be compared with the judge's? */
static bool anybody_else_runs(const struct worker *w, const struct sb_op_row *row, const struct sb_job *job,
                              const struct sb_variant *judge)
{
    for (int i = 0; i < job->variants; i++) {
        const struct sb_variant *v = sb_variant_find(row, job->variant[i]);
        if (v != NULL && v != judge && v->run != NULL && sb_targets_cover(v->targets, w->memory->compute_capability))
            return true;
    }
    return false;
}

/* Why the judge vouches for nothing, in one line. */
static void tell_why_not(struct whole_data *x)
{
    const char *const detail = x->judged.detail;
    if (x->judged.outcome == SB_FAIL)
        snprintf(x->why_not, sizeof x->why_not, "the device judge failed: see its own result");
    else
        snprintf(x->why_not, sizeof x->why_not, "the device judge cannot: %.*s", (int)strcspn(detail, "\n"), detail);
}

/* Runs the judge where its outputs are wanted, also where --variant leaves it out: that must not weaken the others. */
static bool ask_judge(struct worker *w, const struct sb_expected *e, const struct sb_job *job, struct whole_data *x)
{
    const struct sb_op_row *row = sb_op_row_find(w->table, e->c.op->name);
    bool healthy;
    if (w->memory == NULL || row == NULL || !sb_whole_is_open(row, &e->d) ||
        !anybody_else_runs(w, row, job, sb_variant_judge(row)))
        return true;
    if (job->no_judge[0] != '\0') {
        snprintf(x->why_not, sizeof x->why_not, "%s", job->no_judge);
        return true;
    }
    x->judge = sb_variant_judge(row);
    start_result(e, x->judge->name, &x->judged);
    sb_append(x->judged.device, sizeof x->judged.device, "%s", w->device);
    sb_append(x->judged.judge, sizeof x->judged.judge, "%s", judge_of(e));
    say_judge(w, x->judge->name);
    x->there = sb_whole_by_judge(row, &e->c, &e->d, w->memory, &x->w, &x->judged, &healthy);
    x->owed = x->there && job_names(job, x->judge->name);
    if (x->there)
        return healthy;
    tell_why_not(x);
    x->told = x->judged.outcome == SB_FAIL || job_names(job, x->judge->name);
    if (x->told)
        say_result(w, &x->judged);
    return healthy;
}

/* Has `name` its result from ask_judge(), or is to have it at the end? */
static bool is_settled(const struct whole_data *x, const char *name)
{
    return x->judge != NULL && (x->owed || x->told) && strcmp(name, x->judge->name) == 0;
}

/* ---- jobs ----------------------------------------------------------------------------------------- */

static bool run_job(struct worker *w, const struct sb_job *job)
{
    struct sb_expected e;
    struct prelude_data p = {0};
    struct whole_data x = {0};
    struct sb_error err = {0};
    bool healthy = true;
    say_begin(w, "prepare", true);
    const bool ready = sb_expected_load(&e, job, &w->table->list, &w->manifests, &err) &&
                       (!sb_job_wants_device(job) || prepare_prelude(w, &e, &p, &err));
    if (!ready)
        say_error(w, &err);
    else
        healthy = ask_judge(w, &e, job, &x);
    for (int i = 0; ready && i < job->variants && healthy; i++)
        if (!is_settled(&x, job->variant[i]))
            healthy = run_variant(w, &e, &p, &x, job->variant[i]);
    if (healthy && x.owed)
        say_result(w, &x.judged);
    sb_whole_free(&x.w);
    sb_data_free(&p.d);
    sb_expected_free(&e);
    say(w, healthy ? SB_MSG_DONE : SB_MSG_RETIRE);
    return healthy;
}

int sb_worker_serve(const struct sb_op_table *table, const struct sb_memory *memory, const struct sb_message *hello,
                    FILE *jobs, FILE *out)
{
    struct worker w = {.table = table, .memory = memory, .device = hello->device, .out = out};
    char *line = NULL;
    size_t size = 0;
    int status = SB_EXIT_OK;
    bool healthy = sb_message_write(out, hello);
    while (healthy && getline(&line, &size, jobs) > 0) {
        struct sb_job job;
        if (!sb_job_parse(line, &job)) {
            struct sb_error err = {0};
            sb_fail(&err, SB_EXIT_BAD_INPUT, "the worker got a line that is no job");
            say_error(&w, &err);
            status = SB_EXIT_BAD_INPUT;
            break;
        }
        healthy = run_job(&w, &job);
    }
    if (healthy && status == SB_EXIT_OK && !feof(jobs)) { /* no end: getline fails without memory as well */
        struct sb_error err = {0};
        sb_fail(&err, SB_EXIT_BAD_INPUT, "the worker could not read its next job: %s", strerror(errno));
        say_error(&w, &err);
        status = SB_EXIT_BAD_INPUT;
    }
    free(line);
    sb_manifest_cache_free(&w.manifests);
    return status;
}
