/* progress.h - how far long work is: one line that renews itself on a terminal, plain lines elsewhere. */
#ifndef SAMEBITS_HARNESS_PROGRESS_H
#define SAMEBITS_HARNESS_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

struct sb_progress {
    FILE *f;
    bool terminal;
    const char *what; /* "check", "golden make" */
    int total, done;
    double start, last; /* sb_seconds() */
};

/* To stderr; `what` is static text. */
void sb_progress_open(struct sb_progress *p, FILE *f, const char *what, int total);
/* `id` is the case just finished, or about to run (then done has not grown). */
void sb_progress_step(struct sb_progress *p, int done, const char *id);
/* Clears the line, so that other text can follow. */
void sb_progress_clear(struct sb_progress *p);
void sb_progress_close(struct sb_progress *p);

/* Colours on this stream? A terminal, NO_COLOR unset or empty. */
bool sb_colour(FILE *f);

#endif
