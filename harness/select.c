/* select.c - --suite, --op, --case and --limit to a list of cases. */
#include "select.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

const char *const sb_suite_names[SB_SUITES] = {"smoke", "standard", "seed", "arguments", "production"};
const unsigned sb_suite_bits[SB_SUITES] = {SB_SMOKE, SB_STANDARD, SB_SEED, SB_ARGUMENTS, SB_PRODUCTION};

const char *sb_suites_text(unsigned suites, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int i = 0; i < SB_SUITES; i++)
        if ((suites & sb_suite_bits[i]) != 0)
            sb_append(buf, size, "%s%s", buf[0] != '\0' ? "," : "", sb_suite_names[i]);
    return buf;
}

void sb_selection_free(struct sb_selection *s)
{
    free(s->c);
    memset(s, 0, sizeof *s);
}

static int find_id(const struct sb_selection *s, const char *id)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->c[i].id, id) == 0)
            return i;
    return -1;
}

bool sb_select_add(struct sb_selection *s, const struct sb_case *c, struct sb_error *err)
{
    if (find_id(s, c->id) >= 0)
        return true;
    if ((s->count & (s->count - 1)) == 0) { /* powers of two: grow */
        const size_t room = s->count > 0 ? 2 * (size_t)s->count : 1;
        struct sb_case *more = realloc(s->c, room * sizeof *more);
        if (more == NULL)
            return sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory for %zu cases", room);
        s->c = more;
    }
    s->c[s->count++] = *c;
    return true;
}

static bool every_case(struct sb_selection *all, const struct sb_op_table *table, struct sb_error *err)
{
    for (int k = 0; k < table->list.count; k++) {
        const struct sb_op *op = table->list.op[k];
        for (int i = 0; op->cases[i].call != NULL; i++) {
            struct sb_case c;
            if (!sb_case_from_row(&c, op, i, err) || !sb_select_add(all, &c, err))
                return false;
        }
    }
    return true;
}

/* ---- words of the options ------------------------------------------------------------------------- */

static bool read_suites(const struct sb_options *o, unsigned *suites, char *text, size_t size, struct sb_error *err)
{
    char word[64], near_text[256];
    *suites = 0;
    for (int i = 0; sb_option_list(o, "suite", i) != NULL; i++)
        for (const char *cursor = sb_option_list(o, "suite", i); sb_next_word(&cursor, ',', word, sizeof word);) {
            struct sb_near near = {.wanted = word};
            int found = -1;
            for (int k = 0; k < SB_SUITES; k++) {
                sb_near_offer(&near, sb_suite_names[k]);
                if (strcmp(word, sb_suite_names[k]) == 0)
                    found = k;
            }
            if (found < 0)
                return sb_fail(err, SB_EXIT_BAD_INPUT, "no suite '%s'%s", word,
                               sb_near_text(&near, near_text, sizeof near_text));
            *suites |= sb_suite_bits[found];
        }
    sb_suites_text(*suites, text, size);
    if (text[0] == '\0')
        snprintf(text, size, "selection");
    return true;
}

static bool check_ops(const struct sb_options *o, const struct sb_op_table *table, struct sb_error *err)
{
    char word[64], near_text[256];
    for (int i = 0; sb_option_list(o, "op", i) != NULL; i++)
        for (const char *cursor = sb_option_list(o, "op", i); sb_next_word(&cursor, ',', word, sizeof word);) {
            struct sb_near near = {.wanted = word};
            for (int k = 0; k < table->list.count; k++)
                sb_near_offer(&near, table->list.op[k]->name);
            if (sb_op_row_find(table, word) == NULL)
                return sb_fail(err, SB_EXIT_BAD_INPUT, "no op '%s'%s", word,
                               sb_near_text(&near, near_text, sizeof near_text));
        }
    return true;
}

static bool op_wanted(const struct sb_options *o, const char *op)
{
    if (!sb_option_given(o, "op"))
        return true;
    for (int i = 0; sb_option_list(o, "op", i) != NULL; i++)
        if (sb_word_in(sb_option_list(o, "op", i), op))
            return true;
    return false;
}

/* ---- cases by id or glob -------------------------------------------------------------------------- */

static bool is_glob(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* The ids of one op whose parameters are nearest to what was typed after the op's name. */
static void offer_calls(struct sb_near *near, const struct sb_selection *from, const char *op)
{
    const size_t length = strlen(op);
    for (int i = 0; i < from->count; i++)
        if (strcmp(from->c[i].op->name, op) == 0)
            sb_near_offer(near, from->c[i].id + length + 1);
}

/* No known op: the op's name is what to put right. Prints nothing where no op's name is near. */
static bool unknown_op(const struct sb_op_table *table, const char *id, const char *op, struct sb_error *err)
{
    char near_text[160];
    struct sb_near near = {.wanted = op};
    for (int k = 0; k < table->list.count; k++)
        sb_near_offer(&near, table->list.op[k]->name);
    return sb_fail(err, SB_EXIT_BAD_INPUT, "no case '%.300s' (no op '%s')%s", id, op,
                   sb_near_text(&near, near_text, sizeof near_text));
}

/* What was typed is an op without its parameters, or with parameters that do not read. */
static bool unknown_id(const struct sb_selection *from, const struct sb_op_table *table, const char *id,
                       const struct sb_error *why, struct sb_error *err)
{
    char op[64], near_text[3 * SB_ID_SIZE + 32];
    const char *cursor = id, *slash = strchr(id, '/');
    if (!sb_next_word(&cursor, '/', op, sizeof op) || sb_op_row_find(table, op) == NULL)
        return unknown_op(table, id, op, err);
    if (why->text[0] != '\0') /* which value is wrong, and what it may be: better than any id */
        return sb_fail(err, SB_EXIT_BAD_INPUT, "no case '%.300s': %.600s", id, why->text);
    struct sb_near near = {.wanted = slash != NULL ? slash + 1 : ""};
    offer_calls(&near, from, op);
    return sb_fail(err, SB_EXIT_BAD_INPUT,
                   "no case '%.300s' (an id reads op/name=value,...; samebits list --op %s shows"
                   " them)%s",
                   id, op, sb_near_text(&near, near_text, sizeof near_text));
}

static bool add_glob(struct sb_selection *s, const struct sb_selection *from, const struct sb_op_table *table,
                     const char *glob, struct sb_error *err)
{
    bool any = false;
    for (int i = 0; i < from->count; i++) {
        if (fnmatch(glob, from->c[i].id, 0) != 0)
            continue;
        any = true;
        if (!sb_select_add(s, &from->c[i], err))
            return false;
    }
    char op[64];
    const char *cursor = glob, *slash = strchr(glob, '/');
    if (!any && slash != NULL && sb_next_word(&cursor, '/', op, sizeof op) && !is_glob(op) &&
        sb_op_row_find(table, op) == NULL)
        return unknown_op(table, glob, op, err);
    if (!any)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "no case matches '%s' among the %d to choose from", glob, from->count);
    return true;
}

static bool add_id(struct sb_selection *s, const struct sb_selection *from, const struct sb_op_table *table,
                   const struct sb_options *o, const char *id, bool closed, struct sb_error *err)
{
    struct sb_case c;
    struct sb_error why = {0};
    char suites[64];
    if (strchr(id, '/') == NULL || !sb_case_parse(&c, &table->list, id, &why))
        return unknown_id(from, table, id, &why, err);
    if (find_id(from, c.id) >= 0)
        return sb_select_add(s, &c, err);
    if (closed)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "case '%s' is not one of the %d of this set that --suite and --op leave",
                       c.id, from->count);
    if (!op_wanted(o, c.op->name))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "case '%s' is not one of the ops that --op names", c.id);
    if (sb_option_given(o, "suite"))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "case '%s' is not in that suite (%s); leave --suite out to run it", c.id,
                       c.suites != 0 ? sb_suites_text(c.suites, suites, sizeof suites) : "no suite lists it");
    return sb_select_add(s, &c, err);
}

static bool cut_by_case(struct sb_selection *s, const struct sb_selection *from, const struct sb_op_table *table,
                        const struct sb_options *o, bool closed, struct sb_error *err)
{
    const char *id;
    for (int i = 0; (id = sb_option_list(o, "case", i)) != NULL; i++)
        if (!(is_glob(id) ? add_glob(s, from, table, id, err) : add_id(s, from, table, o, id, closed, err)))
            return false;
    return true;
}

/* ---- the selection -------------------------------------------------------------------------------- */

static bool cut_by_suite_and_op(struct sb_selection *s, const struct sb_selection *all, const struct sb_options *o,
                                unsigned suites, struct sb_error *err)
{
    for (int i = 0; i < all->count; i++)
        if ((suites == 0 || (all->c[i].suites & suites) != 0) && op_wanted(o, all->c[i].op->name))
            if (!sb_select_add(s, &all->c[i], err))
                return false;
    return true;
}

static bool has_op(const struct sb_selection *s, const char *op)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->c[i].op->name, op) == 0)
            return true;
    return false;
}

static bool has_suite(const struct sb_selection *s, unsigned suite)
{
    for (int i = 0; i < s->count; i++)
        if ((s->c[i].suites & suite) != 0)
            return true;
    return false;
}

/* Each word was meant to select something: one that adds no case is a mistake, and would read as checked. A suite may
 * lack the ops named beside it (`--suite smoke,seed --op scale_pack`), but not be empty. */
static bool every_word_selects(const struct sb_selection *s, const struct sb_selection *all, const struct sb_options *o,
                               unsigned suites, struct sb_error *err)
{
    char word[64];
    for (int i = 0; i < SB_SUITES; i++)
        if ((suites & sb_suite_bits[i]) != 0 && !has_suite(all, sb_suite_bits[i]))
            return sb_fail(err, SB_EXIT_BAD_INPUT, "--suite %s: none of the %d case%s to choose from is of this suite",
                           sb_suite_names[i], all->count, all->count == 1 ? "" : "s");
    for (int i = 0; sb_option_list(o, "op", i) != NULL; i++)
        for (const char *cursor = sb_option_list(o, "op", i); sb_next_word(&cursor, ',', word, sizeof word);)
            if (!has_op(s, word))
                return sb_fail(err, SB_EXIT_BAD_INPUT, "--op %s: none of the %d case%s selected is of this op", word,
                               s->count, s->count == 1 ? "" : "s");
    return true;
}

/* `closed`: a call outside `all` is no case. */
static bool cut(struct sb_selection *s, const struct sb_op_table *table, const struct sb_options *o,
                const struct sb_selection *all, bool closed, struct sb_error *err)
{
    struct sb_selection broad = {0};
    unsigned suites = 0;
    bool ok = read_suites(o, &suites, s->suites, sizeof s->suites, err) && check_ops(o, table, err) &&
              cut_by_suite_and_op(&broad, all, o, suites, err);
    if (ok && sb_option_given(o, "case")) {
        ok = cut_by_case(s, &broad, table, o, closed, err);
    } else if (ok) {
        s->c = broad.c;
        s->count = broad.count;
        broad = (struct sb_selection){0};
    }
    if (ok && s->count == 0)
        ok = sb_fail(err, SB_EXIT_BAD_INPUT, "nothing is selected: the %s no case of the ops named",
                     closed ? "set holds, in the suites named," : "suites named hold");
    ok = ok && every_word_selects(s, all, o, suites, err);
    sb_selection_free(&broad);
    return ok;
}

static void take_limit(struct sb_selection *s, const struct sb_options *o)
{
    if (!sb_option_given(o, "limit") || sb_option_int(o, "limit") >= s->count)
        return;
    s->cut_from = s->count;
    s->count = (int)sb_option_int(o, "limit");
    s->filtered = true;
}

/* Keeps the cases whose id or reason holds `text`. */
static bool keep_with_text(struct sb_selection *s, const char *text, struct sb_error *err)
{
    int kept = 0;
    for (int i = 0; i < s->count; i++)
        if (strstr(s->c[i].id, text) != NULL || strstr(s->c[i].reason, text) != NULL)
            s->c[kept++] = s->c[i];
    s->count = kept;
    return kept > 0 || sb_fail(err, SB_EXIT_BAD_INPUT, "no case has '%.200s' in its id or reason", text);
}

bool sb_select_within(struct sb_selection *s, const struct sb_op_table *table, const struct sb_options *o,
                      const struct sb_selection *universe, struct sb_error *err)
{
    memset(s, 0, sizeof *s);
    s->filtered = sb_option_given(o, "op") || sb_option_given(o, "case");
    if (!cut(s, table, o, universe, true, err))
        return false;
    take_limit(s, o);
    return true;
}

static bool select_unlimited(struct sb_selection *s, const struct sb_op_table *table, const struct sb_options *o,
                             struct sb_error *err)
{
    struct sb_selection all = {0};
    memset(s, 0, sizeof *s);
    s->filtered = sb_option_given(o, "op") || sb_option_given(o, "case");
    const bool ok = every_case(&all, table, err) && cut(s, table, o, &all, false, err);
    sb_selection_free(&all);
    return ok;
}

bool sb_select(struct sb_selection *s, const struct sb_op_table *table, const struct sb_options *o, bool all_by_default,
               struct sb_error *err)
{
    memset(s, 0, sizeof *s);
    if (!all_by_default && !sb_option_given(o, "op") && !sb_option_given(o, "case") && !sb_option_given(o, "suite"))
        return sb_fail(err, SB_EXIT_BAD_INPUT,
                       "say which cases: --suite smoke, --op OP or --case ID (samebits list shows them)");
    if (!select_unlimited(s, table, o, err))
        return false;
    take_limit(s, o);
    return true;
}

bool sb_select_grep(struct sb_selection *s, const struct sb_op_table *table, const struct sb_options *o,
                    const char *text, struct sb_error *err)
{
    if (!select_unlimited(s, table, o, err) || !keep_with_text(s, text, err))
        return false;
    take_limit(s, o);
    return true;
}
