/* options.h - one option table per verb: the parser, the --help text and the defaults all come from it. */
#ifndef SAMEBITS_HARNESS_OPTIONS_H
#define SAMEBITS_HARNESS_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "../golden/error.h"

enum sb_option_kind {
    SB_OPT_FLAG, /* --json */
    SB_OPT_TEXT, /* --out DIR; given twice, the last one counts */
    SB_OPT_LIST, /* --suite S,S; may be given several times */
    SB_OPT_INT,  /* --timeout SECONDS, within min..max */
};

struct sb_option {
    const char *name; /* without the dashes */
    enum sb_option_kind kind;
    const char *argument; /* what stands after the option in the help, NULL for a flag */
    const char *standard; /* default as text, or NULL: none */
    int64_t min, max;     /* SB_OPT_INT */
    const char *help;     /* one line */
};

struct sb_option_table {
    const char *verb;                /* "check", "golden make" */
    const char *summary;             /* one line */
    const char *operands;            /* "GOLDEN.h5 CANDIDATE.h5", or "" */
    int operand_count;               /* exactly so many */
    const struct sb_option *options; /* ends with name == NULL; --help is understood by every verb */
    const char *notes;               /* more lines for --help, or "" */
};

struct sb_option_value {
    int option; /* index into table->options */
    const char *text;
};

/* The parsed command line. Texts point into argv. */
struct sb_options {
    const struct sb_option_table *table;
    const char *program; /* as the user called it, for messages and repeat commands; the caller sets it */
    bool help;
    int count;
    struct sb_option_value *value; /* in the order given; owned */
    const char *const *operand;
};

/* argv[0] is the verb itself; getopt_long reorders argv, operands last. False with err (SB_EXIT_BAD_INPUT) on an
 * unknown option, a missing or bad value or a wrong number of operands. With --help nothing else is demanded. Call
 * sb_options_free in every case. */
bool sb_options_parse(struct sb_options *o, const struct sb_option_table *table, int argc, char **argv,
                      struct sb_error *err);
void sb_options_free(struct sb_options *o);

void sb_options_help(FILE *f, const char *program, const struct sb_option_table *table);

/* By name; a name that the table lacks is a mistake in the program: abort(). */
bool sb_option_given(const struct sb_options *o, const char *name);
bool sb_option_flag(const struct sb_options *o, const char *name);
const char *sb_option_text(const struct sb_options *o, const char *name); /* the default, or NULL, when not given */
int64_t sb_option_int(const struct sb_options *o, const char *name);
/* The i-th value of a list option as it was given (commas and all), or NULL past the end. */
const char *sb_option_list(const struct sb_options *o, const char *name, int i);

#endif
