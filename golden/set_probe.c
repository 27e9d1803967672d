/* set_probe.c - what is still readable of a damaged golden file. HDF5 gets to see arbitrary bytes here and may crash
 * or hang on them, so a child process does the reading and reports over a pipe.
 *
 * The child is forked: nothing here uses a GPU. It must not use OpenMP either (the threads of the parent do not
 * exist in it), so it reads datasets and digests only and leaves the case's own generator alone. */
#include "hdf5_util.h"
#include "set_parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LIMIT_BYTES_A_SECOND = 1 << 20, /* how much longer than sb_probe_seconds a large file may take */
    NAMES_SIZE = 512,
};

int sb_probe_seconds = 60;

enum report_kind {
    REPORT_BEGIN, /* of a dataset: if nothing follows, it is where the child died */
    REPORT_SAME,  /* its bytes are those of the manifest */
    REPORT_BAD,   /* they are not, or cannot be read */
    REPORT_FILE,  /* about the file as a whole */
    REPORT_END,
};

/* Smaller than PIPE_BUF, so that each arrives whole. */
struct report {
    enum report_kind kind;
    char dataset[SB_DATASET_NAME];
    char text[SB_FAULT_TEXT];
};

/* ---- the child ----------------------------------------------------------------------------------- */

static void tell(int pipe_end, enum report_kind kind, const char *dataset, const char *text)
{
    struct report r = {.kind = kind};
    snprintf(r.dataset, sizeof r.dataset, "%s", dataset);
    snprintf(r.text, sizeof r.text, "%s", text);
    if (write(pipe_end, &r, sizeof r) != (ssize_t)sizeof r)
        _exit(1); /* the parent is gone */
}

/* Errors of the store begin with "PATH: DATASET: ", which a fault says otherwise. */
static const char *without_prefix(const char *text, const char *path, const char *dataset)
{
    const char *prefix[] = {path, dataset};
    for (size_t i = 0; i < 2; i++) {
        const size_t n = strlen(prefix[i]);
        if (n > 0 && strncmp(text, prefix[i], n) == 0 && strncmp(text + n, ": ", 2) == 0)
            text += n + 2;
    }
    return text;
}

/* An input that the file states by its digest alone. */
static bool probe_stated(int pipe_end, hid_t file, const struct sb_manifest_tensor *expected)
{
    static const char inputs[] = "inputs/";
    char name[SB_DATASET_NAME], hex[SB_SHA256_HEX] = "";
    if (strncmp(expected->name, inputs, strlen(inputs)) != 0 || sb_h5_has(file, expected->name))
        return false;
    const hid_t group = H5Gopen2(file, "inputs", H5P_DEFAULT);
    const bool stated = group >= 0 && sb_h5_get_text(group, sb_store_digest_name(expected->name + strlen(inputs), name),
                                                     hex, sizeof hex);
    if (group >= 0)
        H5Gclose(group);
    if (!stated)
        return false;
    const bool same = strcmp(hex, expected->sha256) == 0;
    tell(pipe_end, same ? REPORT_SAME : REPORT_BAD, expected->name,
         same ? "" : "its digest is not that of the manifest; make the set again");
    return true;
}

static void probe_dataset(int pipe_end, hid_t file, const char *path, const struct sb_manifest_tensor *expected)
{
    struct sb_h5_dataset ds;
    struct sb_error err = {0};
    tell(pipe_end, REPORT_BEGIN, expected->name, "");
    if (probe_stated(pipe_end, file, expected))
        return;
    if (!sb_h5_dataset_open(&ds, file, path, expected->name, &err)) {
        tell(pipe_end, REPORT_BAD, expected->name, without_prefix(err.text, path, expected->name));
        return;
    }
    const size_t bytes = sb_tensor_logical_bytes(&ds.tensor);
    ds.tensor.data = malloc(bytes > 0 ? bytes : 1);
    if (ds.tensor.data == NULL) {
        tell(pipe_end, REPORT_BAD, expected->name, "claims more elements than memory holds");
    } else if (!sb_h5_dataset_read(&ds, ds.tensor.data, &err)) {
        tell(pipe_end, REPORT_BAD, expected->name, without_prefix(err.text, path, expected->name));
    } else {
        char hex[SB_SHA256_HEX];
        sb_tensor_sha256(&ds.tensor, hex);
        const bool same = strcmp(hex, expected->sha256) == 0;
        tell(pipe_end, same ? REPORT_SAME : REPORT_BAD, expected->name,
             same ? "" : "its bytes are not those of the manifest; make the set again");
    }
    free(ds.tensor.data);
    sb_h5_dataset_close(&ds);
}

static _Noreturn void run_child(int pipe_end, const char *path, const struct sb_manifest_entry *e)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none); /* a crash here is expected and reported */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    struct sb_error err = {0};
    const hid_t file = sb_h5_open(path, &err);
    if (file < 0) {
        tell(pipe_end, REPORT_FILE, "", without_prefix(err.text, path, ""));
    } else {
        for (int i = 0; i < e->tensors; i++)
            probe_dataset(pipe_end, file, path, &e->tensor[i]);
    }
    tell(pipe_end, REPORT_END, "", "");
    _exit(0);
}

/* ---- the parent ---------------------------------------------------------------------------------- */

struct probe {
    const char *file; /* below the set */
    const char *what; /* how the file differs */
    const struct sb_manifest_entry *entry;
    sb_fault_fn fault;
    void *user;
    int told;
    int same;
    bool ended;
    char at[SB_DATASET_NAME]; /* the dataset that the child is at */
};

static void tell_fault(struct probe *p, const char *dataset, const char *text)
{
    p->fault(p->user, p->file, dataset, text);
    p->told++;
}

/* "inputs/scale, outputs/out": what the file holds by its manifest. */
static const char *dataset_names(const struct sb_manifest_entry *e, char buf[NAMES_SIZE])
{
    size_t used = 0;
    snprintf(buf, NAMES_SIZE, "none");
    for (int i = 0; i < e->tensors && used + sizeof e->tensor[0].name + 2 < NAMES_SIZE; i++)
        used += (size_t)snprintf(buf + used, NAMES_SIZE - used, "%s%s", i > 0 ? ", " : "", e->tensor[i].name);
    return buf;
}

static void take(struct probe *p, const struct report *r)
{
    char names[NAMES_SIZE], text[SB_FAULT_TEXT + sizeof r->text];
    switch (r->kind) {
    case REPORT_BEGIN:
        snprintf(p->at, sizeof p->at, "%s", r->dataset);
        break;
    case REPORT_SAME:
        p->at[0] = '\0';
        p->same++;
        break;
    case REPORT_BAD:
        p->at[0] = '\0';
        tell_fault(p, r->dataset, r->text);
        break;
    case REPORT_FILE:
        snprintf(text, sizeof text, "%s; none of its datasets can be read (%s); make the set again", r->text,
                 dataset_names(p->entry, names));
        tell_fault(p, "", text);
        break;
    case REPORT_END:
        p->ended = true;
        break;
    }
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Takes reports until the child closes the pipe. False when the time is over. */
static bool listen_to_child(struct probe *p, int pipe_end, int64_t limit_ms)
{
    const int64_t end = now_ms() + limit_ms;
    struct report r;
    size_t got = 0;
    for (;;) {
        struct pollfd fd = {pipe_end, POLLIN, 0};
        const int64_t left = end - now_ms();
        const int ready = left > 0 ? poll(&fd, 1, (int)(left < 1000 ? left : 1000)) : 0;
        if (ready <= 0) {
            if (left <= 0)
                return false;
            continue; /* interrupted, or a second has passed */
        }
        const ssize_t n = read(pipe_end, (char *)&r + got, sizeof r - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        got += (size_t)n;
        if (got == sizeof r) {
            take(p, &r);
            got = 0;
        }
    }
}

/* What there is to say once the child is gone. */
static void conclude(struct probe *p, bool in_time, int status)
{
    char names[NAMES_SIZE], text[SB_FAULT_TEXT];
    dataset_names(p->entry, names);
    if (!in_time)
        snprintf(text, sizeof text,
                 "damaged: HDF5 was still at it when the time was over and was stopped; the file holds %s; make the "
                 "set again",
                 names);
    else if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "damaged: HDF5 crashed on it (signal %d); the file holds %s; make the set again",
                 WTERMSIG(status), names);
    else if (!p->ended)
        snprintf(text, sizeof text, "damaged: reading it ended early; the file holds %s; make the set again", names);
    else if (p->told == 0)
        snprintf(
            text, sizeof text,
            "%s, but the bytes of every dataset still agree (%s): the damage is in the structure or the attributes "
            "around them; make the set again",
            p->what, names);
    else
        return;
    tell_fault(p, p->at, text);
}

static int64_t time_limit_ms(const struct sb_manifest_entry *e)
{
    return 1000 * (sb_probe_seconds + e->file_bytes / LIMIT_BYTES_A_SECOND);
}

static bool fork_child(int ends[2], pid_t *child, const char *path, const struct sb_manifest_entry *e)
{
    if (pipe(ends) != 0)
        return false;
    fflush(NULL); /* or the child's copy of a half-full buffer might be written twice */
    *child = fork();
    if (*child == 0) {
        close(ends[0]);
        run_child(ends[1], path, e);
    }
    close(ends[1]);
    if (*child < 0)
        close(ends[0]);
    return *child > 0;
}

int sb_set_probe(const char *dir, const struct sb_manifest_entry *e, const char *what, sb_fault_fn fault, void *user)
{
    char file[SB_FILE_NAME];
    struct probe p = {.file = sb_set_file(e->id, file), .what = what, .entry = e, .fault = fault, .user = user};
    char *path = sb_path_join(dir, p.file);
    int ends[2], status = 0;
    pid_t child;
    if (path == NULL || !fork_child(ends, &child, path, e)) {
        free(path);
        tell_fault(&p, "", what);
        return p.told;
    }
    const bool in_time = listen_to_child(&p, ends[0], time_limit_ms(e));
    close(ends[0]);
    if (!in_time)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    free(path);
    conclude(&p, in_time, status);
    return p.told;
}
