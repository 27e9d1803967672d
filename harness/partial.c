/* partial.c - in what a run of `check` is less than it could be. */
#include "partial.h"

#include <stdio.h>
#include <string.h>

#include "device.h"
#include "text.h"

/* "12 of 38 cases of smoke": a set may name a suite and hold less of it. */
static void missing_of_suites(const struct sb_selection *cases, const struct sb_op_table *ops, char *buf, size_t size)
{
    for (int k = 0; k < SB_SUITES; k++) {
        int here = 0, all = 0;
        if (!sb_word_in(cases->suites, sb_suite_names[k]))
            continue;
        for (int i = 0; i < cases->count; i++)
            here += (cases->c[i].suites & sb_suite_bits[k]) != 0;
        for (int i = 0; i < ops->list.count; i++)
            for (const struct sb_case_row *row = ops->list.op[i]->cases; row->call != NULL; row++)
                all += (row->suites & sb_suite_bits[k]) != 0;
        if (here < all)
            sb_append(buf, size, "%s%d of %d cases of %s", buf[0] != '\0' ? ", " : "", here, all, sb_suite_names[k]);
    }
}

/* "one case", "12 cases". */
static const char *cases_text(int count, char *buf, size_t size)
{
    if (count == 1)
        snprintf(buf, size, "one case");
    else
        snprintf(buf, size, "%d cases", count);
    return buf;
}

void sb_partial_text(const struct sb_options *o, const struct sb_selection *cases, const struct sb_op_table *ops,
                     char *buf, size_t size)
{
    char one[32];
    buf[0] = '\0';
    const bool op = sb_option_given(o, "op"), id = sb_option_given(o, "case");
    const int selected = cases->cut_from > 0 ? cases->cut_from : cases->count;
    if (op || id)
        sb_append(buf, size, "only the %s that %s select%s", cases_text(selected, one, sizeof one),
                  op && id ? "--op and --case"
                  : op     ? "--op"
                           : "--case",
                  op && id ? "" : "s");
    if (cases->cut_from > 0)
        sb_append(buf, size, "%sonly the first %d of %d cases, by --limit", buf[0] != '\0' ? ", " : "", cases->count,
                  cases->cut_from);
    if (sb_option_given(o, "golden") && !cases->filtered)
        missing_of_suites(cases, ops, buf, size);
    if (sb_option_given(o, "variant"))
        sb_append(buf, size, "%sonly the implementations that --variant names", buf[0] != '\0' ? ", " : "");
    if (strcmp(sb_option_text(o, "device"), "cpu") == 0) {
        struct sb_device all[SB_MAX_DEVICES];
        char why[400];
        const int n = sb_devices(all, why, sizeof why);
        if (n > 0)
            sb_append(buf, size, "%s--device cpu, with %d GPU(s) present", buf[0] != '\0' ? ", " : "", n);
    }
}
