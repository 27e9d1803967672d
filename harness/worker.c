/* worker.c - the hidden verb that check starts as a child: opens the device, then serves jobs. */
#include "worker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>

#include "device.h"
#include "text.h"
#include "verbs.h"

static const struct sb_option options[] = {
    {"device", SB_OPT_TEXT, "cpu|N", "cpu", 0, 0, "the GPU to work on"},
    {"fd", SB_OPT_INT, "N", "3", 0, 1023, "file descriptor for messages"},
    {0},
};

static const struct sb_option_table table = {
    .verb = "worker",
    .summary = "serves jobs of the verb check: one JSON object a line on standard input",
    .operands = "",
    .operand_count = 0,
    .options = options,
    .notes = "",
};

static bool find_device(const char *text, struct sb_device *device, struct sb_error *err)
{
    static struct sb_device all[SB_MAX_DEVICES];
    char why[300] = "";
    const int n = sb_devices(all, why, sizeof why);
    for (int i = 0; i < n; i++)
        if (all[i].index == atoi(text)) {
            *device = all[i];
            return true;
        }
    return sb_fail(err, SB_EXIT_NOTHING_RAN, "there is no GPU %s: %s", text,
                   n == 0 ? why : "the driver does not list it");
}

/* Fills in the hello message; true if there is a device and its memory can be used. */
static bool open_device(const char *text, struct sb_memory *memory, struct sb_message *hello)
{
    struct sb_device device;
    struct sb_error err = {0};
    const bool cpu = strcmp(text, "cpu") == 0;
    hello->kind = SB_MSG_HELLO;
    hello->usable = !cpu && find_device(text, &device, &err) && sb_device_open(&device, memory, &err);
    sb_append(hello->device, sizeof hello->device, "%s", hello->usable ? device.label : cpu ? "cpu" : text);
    sb_append(hello->text, sizeof hello->text, "%s", err.text);
    return hello->usable;
}

static int run(const struct sb_options *o, struct sb_error *err)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a hung kernel must not outlive the run that asked for it */
    FILE *out = fdopen((int)sb_option_int(o, "fd"), "w");
    if (out == NULL) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "worker: file descriptor %s is not open", sb_option_text(o, "fd"));
        return SB_EXIT_BAD_INPUT;
    }
    struct sb_memory memory;
    struct sb_message hello = {0};
    const bool usable = open_device(sb_option_text(o, "device"), &memory, &hello);
    const int status = sb_worker_serve(sb_op_table(), usable ? &memory : NULL, &hello, stdin, out);
    fclose(out);
    return status;
}

const struct sb_verb sb_verb_worker = {&table, run, true};
