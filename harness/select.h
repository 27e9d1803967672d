/* select.h - which cases a verb works on: --suite, --op, --case and --limit. */
#ifndef SAMEBITS_HARNESS_SELECT_H
#define SAMEBITS_HARNESS_SELECT_H

#include "ops.h"
#include "options.h"

struct sb_selection {
    struct sb_case *c; /* owned; in table order, ad-hoc calls last, no case twice */
    int count;
    char suites[128]; /* "smoke", "smoke,seed", or "selection" where no suite was named */
    bool filtered;    /* by --op, --case or --limit: less than whole suites */
    int cut_from;     /* --limit: how many there were before it, or 0: it cut nothing */
};

/* Rows of the option table that every selecting verb shares. */
#define SB_SELECT_OPTIONS                                                                                                \
    {"suite",                                                                                                            \
     SB_OPT_LIST,                                                                                                        \
     "SUITE[,SUITE]",                                                                                                    \
     NULL,                                                                                                               \
     0,                                                                                                                  \
     0,                                                                                                                  \
     "cases of these suites: smoke, standard, seed, arguments, production"},                                             \
        {"op", SB_OPT_LIST, "OP[,OP]", NULL, 0, 0, "cases of these ops only"},                                           \
        {"case", SB_OPT_LIST, "ID", NULL, 0, 0, "a case id as printed, a glob over ids, or a call that no suite lists"}, \
    {                                                                                                                    \
        "limit", SB_OPT_INT, "N", NULL, 1, 1000000, "only the first N of the cases selected; without it all"             \
    }

/* The union of the suites (all cases where none is named), cut down by --op and --case. Nothing selected, an unknown
 * suite, op or case, or one that none of the selected cases is of: SB_EXIT_BAD_INPUT, naming near misses. With
 * `all_by_default` a command line without any of these options selects every case; otherwise it is an error. The first
 * --limit cases of that are taken. */
bool sb_select(struct sb_selection *s, const struct sb_op_table *table, const struct sb_options *o, bool all_by_default,
               struct sb_error *err);
/* The same, every case by default, cut down to those whose id or reason holds `text` before --limit counts. */
bool sb_select_grep(struct sb_selection *s, const struct sb_op_table *table, const struct sb_options *o,
                    const char *text, struct sb_error *err);
/* sb_select, but among the cases of `universe` alone (those of a set of golden files): a glob, an op or a suite takes
 * only what is in it, and an id that is not in it is an error. */
bool sb_select_within(struct sb_selection *s, const struct sb_op_table *table, const struct sb_options *o,
                      const struct sb_selection *universe, struct sb_error *err);
/* Adds one case by its id, if it is not there yet. */
bool sb_select_add(struct sb_selection *s, const struct sb_case *c, struct sb_error *err);
void sb_selection_free(struct sb_selection *s);

/* The suites, in the order in which they are listed: "smoke", "standard", "seed", "arguments", "production", and
 * their bits. */
enum { SB_SUITES = 5 };
extern const char *const sb_suite_names[SB_SUITES];
extern const unsigned sb_suite_bits[SB_SUITES];
/* "smoke,standard", or "" for a call that no suite lists. Returns buf. */
const char *sb_suites_text(unsigned suites, char *buf, size_t size);

#endif
