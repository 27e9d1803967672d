/* error.h - the one error type and the exit statuses. Errors travel up with context; only main() exits. */
#ifndef SAMEBITS_GOLDEN_ERROR_H
#define SAMEBITS_GOLDEN_ERROR_H

#include <stdbool.h>

/* Exit statuses of every verb. */
enum sb_exit {
    SB_EXIT_OK = 0,          /* all that ran passed, and something ran */
    SB_EXIT_MISMATCH = 1,    /* bytes differ */
    SB_EXIT_BAD_INPUT = 2,   /* bad usage or bad input */
    SB_EXIT_NOTHING_RAN = 3, /* nothing could run, or less than was required */
};

struct sb_error {
    enum sb_exit exit;
    char text[1024]; /* what, which file or case, what to do; one or two sentences, no newline at the end */
};

/* Sets `err` and returns false, so that a failing function can `return sb_fail(err, ...)`. */
bool sb_fail(struct sb_error *err, enum sb_exit exit, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of the text. Returns false. */
bool sb_fail_context(struct sb_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
