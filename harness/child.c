/* child.c - a spawned worker. Spawned, not forked: a CUDA driver that was initialised before a fork is broken in the
 * child. */
#define _GNU_SOURCE /* pipe2 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"
#include "run_case.h"

extern char **environ;

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The child's stdout goes to stderr: nothing it prints can get between the messages. */
static int describe_files(posix_spawn_file_actions_t *actions, int jobs, int messages)
{
    int failed = posix_spawn_file_actions_adddup2(actions, jobs, STDIN_FILENO);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(actions, messages, SB_WORKER_FD);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    return failed;
}

/* A process group of its own, so that Ctrl-C reaches the supervisor alone, which then kills the whole group. */
static int describe_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, standard;
    sigemptyset(&none);
    sigemptyset(&standard);
    sigaddset(&standard, SIGINT);
    sigaddset(&standard, SIGTERM);
    sigaddset(&standard, SIGPIPE);
    int failed =
        posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (failed == 0)
        failed = posix_spawnattr_setpgroup(attributes, 0);
    if (failed == 0)
        failed = posix_spawnattr_setsigdefault(attributes, &standard);
    if (failed == 0)
        failed = posix_spawnattr_setsigmask(attributes, &none);
    return failed;
}

static int spawn(struct sb_supervisor *s, int jobs, int messages)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        failed = describe_files(&actions, jobs, messages);
        if (failed == 0)
            failed = describe_signals(&attributes);
        if (failed == 0)
            failed = posix_spawn(&s->pid, s->program, &actions, &attributes, s->argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Pipe ends above the numbers that the child's descriptors get. */
static bool open_pipe(int ends[2])
{
    int low[2];
    if (pipe2(low, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, SB_WORKER_FD + 1);
        close(low[i]);
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

bool sb_child_start(struct sb_supervisor *s, struct sb_error *err)
{
    int jobs[2] = {-1, -1}, messages[2] = {-1, -1};
    int failed = open_pipe(jobs) && open_pipe(messages) ? 0 : errno;
    s->pid = 0;
    if (failed == 0)
        failed = spawn(s, jobs[0], messages[1]);
    close_fd(&jobs[0]);
    close_fd(&messages[1]);
    if (failed != 0) {
        s->pid = 0;
        close_fd(&jobs[1]);
        close_fd(&messages[0]);
        return sb_fail(err, SB_EXIT_NOTHING_RAN, "cannot start a worker (%s): %s", s->program, strerror(failed));
    }
    s->to_child = jobs[1];
    s->from_child = messages[0];
    s->used = 0;
    return true;
}

/* Takes the first whole line out of what was read. */
static char *take_line(struct sb_supervisor *s)
{
    char *end = s->used > 0 ? memchr(s->line, '\n', s->used) : NULL;
    if (end == NULL)
        return NULL;
    const size_t length = (size_t)(end - s->line);
    char *line = malloc(length + 1);
    if (line == NULL)
        return NULL;
    memcpy(line, s->line, length);
    line[length] = '\0';
    s->used -= length + 1;
    memmove(s->line, end + 1, s->used);
    return line;
}

/* False at the end of the messages. */
static bool read_more(struct sb_supervisor *s)
{
    enum { BLOCK = 16384 };
    if (s->room - s->used < BLOCK) {
        char *more = realloc(s->line, s->room + 4 * BLOCK);
        if (more == NULL)
            return false;
        s->line = more;
        s->room += 4 * BLOCK;
    }
    const ssize_t n = read(s->from_child, s->line + s->used, BLOCK);
    if (n > 0)
        s->used += (size_t)n;
    return n > 0 || (n < 0 && errno == EINTR);
}

enum sb_child_read sb_child_read(struct sb_supervisor *s, double deadline, char **line)
{
    for (bool last = false;;) {
        if (sb_interrupted() != 0)
            return SB_READ_INTERRUPTED;
        if ((*line = take_line(s)) != NULL)
            return SB_READ_LINE;
        if (last)
            return SB_READ_LATE;
        const double left = deadline - sb_seconds();
        last = !(left > 0);
        struct pollfd p = {.fd = s->from_child, .events = POLLIN};
        /* A signal between the check and poll waits for one slice. Past the deadline one look more: on a busy machine
         * the child may have answered in time and this process not have run. */
        const int slice = last ? 0 : left < 0.2 ? (int)(left * 1000) + 1 : 200;
        if (poll(&p, 1, slice) > 0 && !read_more(s))
            return SB_READ_END;
    }
}

bool sb_child_send(struct sb_supervisor *s, const struct sb_job *job)
{
    const int fd = dup(s->to_child);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    const bool written = sb_job_write(f, job);
    return fclose(f) == 0 && written;
}

static bool reap(struct sb_supervisor *s, int *status, double seconds)
{
    const double deadline = sb_seconds() + seconds;
    do {
        const pid_t got = waitpid(s->pid, status, WNOHANG);
        if (got == s->pid || (got < 0 && errno != EINTR))
            return true;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    } while (sb_seconds() < deadline);
    return false;
}

void sb_child_end(struct sb_supervisor *s, bool kill_it, char *how, size_t how_size)
{
    int status = 0;
    how[0] = '\0';
    if (s->pid == 0)
        return;
    close_fd(&s->to_child);
    if (kill_it)
        kill(-s->pid, SIGKILL);
    bool ended = reap(s, &status, 10.0);
    if (!ended) {
        kill(-s->pid, SIGKILL);
        ended = reap(s, &status, 10.0);
    }
    close_fd(&s->from_child);
    if (!ended) { /* stuck in the kernel (a driver call): waiting would hang this run with it */
        fprintf(stderr, "samebits: worker %ld does not end, not even when killed; it is left behind\n", (long)s->pid);
        snprintf(how, how_size, "no end: it cannot be killed");
    } else if (WIFSIGNALED(status))
        snprintf(how, how_size, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(how, how_size, "exit status %d", WEXITSTATUS(status));
    s->pid = 0;
    s->used = 0;
}
