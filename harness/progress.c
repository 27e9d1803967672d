/* progress.c - cases done, rate, time left. */
#include "progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_case.h"

static const double terminal_interval = 0.1, plain_interval = 10.0; /* seconds between two lines */

bool sb_colour(FILE *f)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fileno(f)) && (no == NULL || no[0] == '\0') && !(term != NULL && strcmp(term, "dumb") == 0);
}

void sb_progress_open(struct sb_progress *p, FILE *f, const char *what, int total)
{
    const char *term = getenv("TERM");
    const bool dumb = term != NULL && strcmp(term, "dumb") == 0;
    *p = (struct sb_progress){
        .f = f, .terminal = isatty(fileno(f)) && !dumb, .what = what, .total = total, .start = sb_seconds()};
    p->last = p->start;
}

static void left_text(double seconds, char *buf, size_t size)
{
    if (seconds < 60)
        snprintf(buf, size, "%.0f s", seconds);
    else
        snprintf(buf, size, "%d min %02d s", (int)(seconds / 60), (int)seconds % 60);
}

void sb_progress_step(struct sb_progress *p, int done, const char *id)
{
    const double now = sb_seconds(), elapsed = now - p->start;
    const bool finished = done >= p->total && done > p->done;
    p->done = done;
    if (now - p->last < (p->terminal ? terminal_interval : plain_interval) && !finished)
        return;
    p->last = now;
    char timing[80] = "", left[32];
    if (done > 0 && elapsed > 0) {
        left_text((p->total - done) * elapsed / done, left, sizeof left);
        snprintf(timing, sizeof timing, ", %.1f/s, %s left", done / elapsed, left);
    }
    if (p->terminal)
        fprintf(p->f, "\r\033[K%s %d/%d%s  %.60s", p->what, done, p->total, timing, id);
    else
        fprintf(p->f, "%s: %d of %d cases%s\n", p->what, done, p->total, timing);
    fflush(p->f);
}

void sb_progress_clear(struct sb_progress *p)
{
    if (p->terminal)
        fprintf(p->f, "\r\033[K");
    fflush(p->f);
}

void sb_progress_close(struct sb_progress *p)
{
    sb_progress_clear(p);
}
