/* verbs.h - the verbs of the program, one file each. */
#ifndef SAMEBITS_HARNESS_VERBS_H
#define SAMEBITS_HARNESS_VERBS_H

#include "options.h"

struct sb_verb {
    const struct sb_option_table *table;
    /* Returns the exit status. A text in err is printed by main(). */
    int (*run)(const struct sb_options *o, struct sb_error *err);
    bool hidden; /* not in the usage: started by the program itself */
};

extern const struct sb_verb sb_verb_info, sb_verb_list, sb_verb_golden_make, sb_verb_golden_verify, sb_verb_check,
    sb_verb_diff, sb_verb_bench, sb_verb_probe, sb_verb_worker;

/* Ends with NULL. */
extern const struct sb_verb *const sb_verbs[];

/* The verb that argv[1] (and argv[2], for "golden make") names, and how many words it has. NULL with err. */
const struct sb_verb *sb_verb_find(int argc, char **argv, int *words, struct sb_error *err);

void sb_usage(FILE *f, const char *program);

/* The whole program but for the exit: parses, runs, prints errors. Returns the exit status. */
int sb_main(int argc, char **argv);

#endif
