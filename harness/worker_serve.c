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

static void say_begin(struct worker *w, const char *name, bool slow)
{
    struct sb_message m = {.kind = SB_MSG_BEGIN, .slow = slow};
    sb_append(m.name, sizeof m.name, "%s", name);
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

/* False: the device is no longer to be trusted. */
static bool run_on_device(struct worker *w, const struct sb_expected *e, const struct prelude_data *p,
                          const struct sb_variant *v, struct sb_result *r)
{
    sb_append(r->device, sizeof r->device, "%s", w->device);
    sb_append(r->judge, sizeof r->judge, "%s", judge_of(e));
    if (w->memory == NULL) {
        not_run(r, "this worker has no GPU");
        return true;
    }
    if (!sb_targets_cover(v->targets, w->memory->compute_capability)) {
        r->outcome = SB_SKIP;
        sb_append(r->detail, sizeof r->detail, "written for %s, this GPU is sm_%d", v->targets,
                  w->memory->compute_capability);
        return true;
    }
    return sb_run_case(v, &e->c, &e->d, p->there ? &p->prelude : NULL, w->memory, r);
}

static bool run_variant(struct worker *w, const struct sb_expected *e, const struct prelude_data *p, const char *name)
{
    struct sb_message m = {.kind = SB_MSG_RESULT};
    struct sb_result *r = &m.result;
    bool healthy = true;
    r->outcome = SB_NOT_RUN;
    r->launches = -1;
    r->seconds = -1;
    r->ignored_ids = e->d.status.ignored;
    sb_append(r->case_id, sizeof r->case_id, "%s", e->c.id);
    sb_append(r->op, sizeof r->op, "%s", e->c.op->name);
    sb_append(r->variant, sizeof r->variant, "%s", name);
    const bool on_cpu = sb_on_cpu(name);
    const struct sb_variant *v = sb_variant_find(sb_op_row_find(w->table, e->c.op->name), name);
    say_begin(w, name, on_cpu);
    if (on_cpu) {
        sb_append(r->device, sizeof r->device, "cpu");
        if (strcmp(name, "ref") == 0)
            run_ref(e, r);
        else
            run_relations(e, r);
    } else if (v == NULL) {
        not_run(r, "no such implementation");
    } else {
        healthy = run_on_device(w, e, p, v, r);
    }
    sb_message_write(w->out, &m);
    return healthy;
}

/* ---- jobs ----------------------------------------------------------------------------------------- */

static bool run_job(struct worker *w, const struct sb_job *job)
{
    struct sb_expected e;
    struct prelude_data p = {0};
    struct sb_error err = {0};
    bool healthy = true;
    say_begin(w, "prepare", true);
    if (!sb_expected_load(&e, job, &w->table->list, &w->manifests, &err) ||
        (sb_job_wants_device(job) && !prepare_prelude(w, &e, &p, &err)))
        say_error(w, &err);
    else
        for (int i = 0; i < job->variants && healthy; i++)
            healthy = run_variant(w, &e, &p, job->variant[i]);
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
