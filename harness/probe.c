/* probe.c - the verb probe: does an arithmetic keep contract TC, on seeded vectors of every class or on recorded ones?
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "json.h"
#include "probe_capture.h"
#include "probe_gpu.h"
#include "probe_replay.h"
#include "probe_report.h"
#include "progress.h"
#include "text.h"
#include "verbs.h"

static const struct sb_option options[] = {
    {"class", SB_OPT_LIST, "NAME[,NAME]", NULL, 0, 0, "only these classes of operands (see --list)"},
    {"impl", SB_OPT_LIST, "NAME[,NAME]", NULL, 0, 0, "these implementations, and exit 3 unless each runs (see --list)"},
    {"seed", SB_OPT_INT, "N", "1", 0, INT64_MAX, "other operands of the same classes"},
    {"count", SB_OPT_INT, "N", "262144", 1, INT64_C(1) << 40, "dot products a class, rounded up to whole tiles"},
    {"device", SB_OPT_INT, "N", "0", 0, SB_MAX_DEVICES - 1,
     "tensor cores of GPU number N, and exit 3 unless it can be used"},
    {"capture", SB_OPT_TEXT, "DIR", NULL, 0, 0, "record some dot products of each class, for --replay"},
    {"replay", SB_OPT_TEXT, "DIR", NULL, 0, 0, "judge recorded dot products, in DIR and below, and run nothing"},
    {"list", SB_OPT_FLAG, NULL, NULL, 0, 0, "list classes and why they exist, and implementations"},
    {"json", SB_OPT_FLAG, NULL, NULL, 0, 0, "one JSON object instead of text"},
    {0},
};

static const struct sb_option_table table = {
    .verb = "probe",
    .summary = "Hold tensor cores, and this CPU's paths, to contract TC, dot product by dot product",
    .operands = "",
    .operand_count = 0,
    .options = options,
    .notes =
        "Without --impl every tensor-core instruction and CPU path that runs here; models only where named.\n"
        "--replay reads sets of four text files, a_NAME_bf16.txt and b_NAME_bf16.txt (16 words of 8 hex digits a\n"
        "line), c_NAME_fp32.txt and d_NAME_fp32.txt (32 binary digits a line): what --capture writes, and what\n"
        "github.com/north-numerical-computing/MATLAB-tensor-core publishes.\n"
        "Exit status: 0 all that ran passed and something ran; 1 bits differ; 2 bad usage or bad input; 3 nothing\n"
        "but the yardstick could run, an implementation that was named could not, or one did not finish and no bits\n"
        "differ; 130 interrupted.",
};

struct probe {
    const struct sb_options *o;
    struct sb_probe_plan plan;
    struct sb_probe_outcome outcome[SB_PROBE_MAX_IMPLS];
    struct sb_probe_totals totals;
    struct sb_progress progress;
};

/* ---- what to run ------------------------------------------------------------------------------- */

static bool listed(const struct sb_options *o, const char *option, const char *name)
{
    for (int i = 0; sb_option_list(o, option, i) != NULL; i++)
        if (sb_word_in(sb_option_list(o, option, i), name))
            return true;
    return false;
}

static const char *class_at(int i)
{
    return i < SB_TC_CLASSES ? sb_tc_class_name((enum sb_tc_class)i) : NULL;
}

static const char *impl_at(int i)
{
    int count;
    const struct sb_probe_impl *const impl = sb_probe_impls(&count);
    return i < count ? impl[i].name : NULL;
}

/* Each word of --`option` has to be one of the names. */
static bool check_names(const struct sb_options *o, const char *option, const char *(*name_at)(int i),
                        struct sb_error *err)
{
    char word[64], near_text[160];
    for (int i = 0; sb_option_list(o, option, i) != NULL; i++)
        for (const char *cursor = sb_option_list(o, option, i); sb_next_word(&cursor, ',', word, sizeof word);) {
            struct sb_near near = {.wanted = word};
            bool known = false;
            for (int k = 0; name_at(k) != NULL; k++) {
                known = known || strcmp(name_at(k), word) == 0;
                sb_near_offer(&near, name_at(k));
            }
            if (!known)
                return sb_fail(err, SB_EXIT_BAD_INPUT, "--%s: there is no '%s'%s (see: samebits probe --list)", option,
                               word, sb_near_text(&near, near_text, sizeof near_text));
        }
    return true;
}

static bool check_together(const struct sb_options *o, const char *alone, struct sb_error *err)
{
    if (!sb_option_given(o, alone))
        return true;
    for (const struct sb_option *p = options; p->name != NULL; p++)
        if (strcmp(p->name, alone) != 0 && strcmp(p->name, "json") != 0 && sb_option_given(o, p->name))
            return sb_fail(err, SB_EXIT_BAD_INPUT, "--%s runs nothing: --%s does not go with it", alone, p->name);
    return true;
}

static void select_impls(struct probe *p)
{
    int count;
    const struct sb_probe_impl *const impl = sb_probe_impls(&count);
    const bool named = sb_option_given(p->o, "impl");
    for (int i = 0; i < count; i++) {
        const bool standard = impl[i].kind == SB_PROBE_TENSOR_CORE || impl[i].kind == SB_PROBE_CPU;
        if (named ? !listed(p->o, "impl", impl[i].name) : !standard)
            continue;
        struct sb_probe_outcome *const o = &p->outcome[p->plan.judges++];
        o->impl = &impl[i];
        o->runs = impl[i].kind != SB_PROBE_YARDSTICK && impl[i].available(&impl[i], o->device, sizeof o->device);
        if (impl[i].kind == SB_PROBE_YARDSTICK)
            snprintf(o->device, sizeof o->device, "it is the yardstick: there is nothing to hold it to");
    }
    p->plan.judge = p->outcome;
}

static void partial_text(const struct sb_options *o, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int i = 0; i < 2; i++) {
        const char *const option = i == 0 ? "class" : "impl";
        if (sb_option_given(o, option))
            sb_append(buf, size, "%s--%s", buf[0] != '\0' ? ", " : "", option);
    }
}

/* ---- the verb ---------------------------------------------------------------------------------- */

static json_t *list_json(void)
{
    static const char *const kinds[] = {"yardstick", "tensor core", "cpu", "model"};
    int count;
    char text[200];
    const struct sb_probe_impl *const impl = sb_probe_impls(&count);
    json_t *classes = json_array(), *impls = json_array();
    for (int i = 0; i < SB_TC_CLASSES; i++)
        json_array_append_new(
            classes, json_pack("{s:s, s:s}", "class", class_at(i), "reason", sb_tc_class_reason((enum sb_tc_class)i)));
    for (int i = 0; i < count; i++) {
        const bool runs = impl[i].available(&impl[i], text, sizeof text);
        json_array_append_new(impls,
                              json_pack("{s:s, s:s, s:s, s:b}", "implementation", impl[i].name, "kind",
                                        kinds[impl[i].kind], "summary", impl[i].summary, "runs_here", (int)runs));
    }
    return json_pack("{s:o, s:o}", "classes", classes, "implementations", impls);
}

static int list(bool as_json, struct sb_error *err)
{
    json_t *const all = list_json();
    size_t i;
    json_t *v;
    if (as_json)
        return sb_json_print(all, err) ? SB_EXIT_OK : SB_EXIT_BAD_INPUT;
    printf("classes\n");
    json_array_foreach(json_object_get(all, "classes"), i, v)
        printf("  %-26s %s\n", json_string_value(json_object_get(v, "class")),
               json_string_value(json_object_get(v, "reason")));
    printf("implementations\n");
    json_array_foreach(json_object_get(all, "implementations"), i, v)
        printf("  %-30s %-11s  %s%s\n", json_string_value(json_object_get(v, "implementation")),
               json_string_value(json_object_get(v, "kind")), json_string_value(json_object_get(v, "summary")),
               json_is_true(json_object_get(v, "runs_here")) ? "" : " (does not run here)");
    json_decref(all);
    return SB_EXIT_OK;
}

static void on_step(void *user, enum sb_tc_class cls)
{
    struct probe *const p = user;
    int before = 0;
    for (int i = 0; i < (int)cls; i++)
        before += p->plan.wanted[i];
    sb_progress_step(&p->progress, before, sb_tc_class_name(cls));
}

/* Nothing that was asked for may be missing where the run says that all is well. */
static void tell_no_capture(struct sb_probe_verdict *v, const char *partial, const struct sb_error *err)
{
    if (v->exit_status == SB_EXIT_OK) {
        v->exit_status = SB_EXIT_BAD_INPUT;
        snprintf(v->text, sizeof v->text, "NOT RECORDED: no bits differ, but --capture failed: %s%s%s", err->text,
                 partial[0] != '\0' ? "; partial run: " : "", partial);
    } else {
        sb_append(v->text, sizeof v->text, "; nothing was recorded, --capture failed: %s", err->text);
    }
}

/* 130 where interrupted. */
static int run_and_report(struct probe *p, struct sb_error *err)
{
    char partial[64];
    const char *const capture = sb_option_text(p->o, "capture");
    if (capture != NULL && !sb_probe_capture_check(&p->plan, capture, err))
        return SB_EXIT_BAD_INPUT;
    int classes = 0;
    for (int i = 0; i < SB_TC_CLASSES; i++)
        classes += p->plan.wanted[i];
    sb_progress_open(&p->progress, stderr, "probe", classes);
    const bool ok = sb_probe_run(&p->plan, &p->totals, err);
    sb_progress_close(&p->progress);
    if (!ok)
        return (int)err->exit;
    if (p->totals.interrupted) {
        sb_fail(err, SB_EXIT_NOTHING_RAN, "interrupted: no verdict");
        return sb_interrupt_status();
    }
    const bool written = capture == NULL || sb_probe_capture_write(&p->plan, capture, err);
    partial_text(p->o, partial, sizeof partial);
    struct sb_probe_verdict verdict = sb_probe_verdict(&p->plan, sb_option_given(p->o, "impl"), partial);
    if (!written)
        tell_no_capture(&verdict, partial, err);
    if (sb_option_flag(p->o, "json")) {
        if (!sb_json_print(sb_probe_json(&p->plan, &p->totals, &verdict), err))
            return SB_EXIT_BAD_INPUT;
    } else {
        sb_probe_print(stdout, &p->plan, &p->totals);
        sb_probe_print_verdict(stdout, &verdict);
    }
    return verdict.exit_status;
}

static int run_impls(const struct sb_options *o, struct sb_error *err)
{
    struct probe *const p = calloc(1, sizeof *p);
    if (p == NULL) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
        return SB_EXIT_BAD_INPUT;
    }
    if (sb_option_given(o, "device") && !sb_probe_gpu_choose((int)sb_option_int(o, "device"), err)) {
        free(p);
        return (int)err->exit;
    }
    p->o = o;
    p->plan.seed = (uint64_t)sb_option_int(o, "seed");
    p->plan.count = sb_option_int(o, "count");
    p->plan.capture = sb_option_given(o, "capture");
    p->plan.step = on_step;
    p->plan.user = p;
    for (int i = 0; i < SB_TC_CLASSES; i++)
        p->plan.wanted[i] = !sb_option_given(o, "class") || listed(o, "class", class_at(i));
    select_impls(p);
    sb_interrupt_install();
    const int status = run_and_report(p, err);
    for (int i = 0; i < p->plan.judges; i++)
        sb_probe_outcome_free(&p->outcome[i]);
    sb_probe_gpu_close();
    free(p);
    return status;
}

static int run(const struct sb_options *o, struct sb_error *err)
{
    const bool as_json = sb_option_flag(o, "json");
    if (!check_together(o, "replay", err) || !check_together(o, "list", err) ||
        !check_names(o, "class", class_at, err) || !check_names(o, "impl", impl_at, err))
        return SB_EXIT_BAD_INPUT;
    if (sb_option_flag(o, "list"))
        return list(as_json, err);
    if (sb_option_given(o, "replay"))
        return sb_probe_replay(sb_option_text(o, "replay"), as_json, err);
    return run_impls(o, err);
}

const struct sb_verb sb_verb_probe = {&table, run, false};
