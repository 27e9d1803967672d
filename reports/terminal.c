/* terminal.c - a report on a terminal. Colour only where the caller asks for it; the last line is the verdict. */
#include "failure.h"
#include "tally.h"
#include "text.h"

#include <string.h>

/* More than a screenful of failures helps nobody: these in full, then as many by name, then a count. */
enum { FULL_FAILURES = 10, NAMED_FAILURES = 20, SHOWN_REASONS = 20, SHOWN_SAMPLED = 20, SHOWN_LEDGER = 60, INDENT = 8 };

enum hue { RED, GREEN, YELLOW, FAINT, BOLD };

static void paint(struct sb_page *p, bool colour, enum hue hue)
{
    static const char *const codes[] = {"\x1b[1;31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[1m"};
    if (colour)
        sb_page_text(p, codes[hue]);
}

static void unpaint(struct sb_page *p, bool colour)
{
    if (colour)
        sb_page_text(p, "\x1b[0m");
}

static void painted(struct sb_page *p, bool colour, enum hue hue, const char *text)
{
    paint(p, colour, hue);
    sb_page_shown(p, text, SIZE_MAX, SB_NEWLINE_SHOWN);
    unpaint(p, colour);
}

static enum hue hue_of(enum sb_outcome outcome)
{
    return outcome == SB_PASS ? GREEN : outcome == SB_FAIL ? RED : YELLOW;
}

static void write_out(FILE *f, struct sb_page *p)
{
    if (p->failed)
        fputs("out of memory while writing the report\n", f);
    else if (p->size > 0)
        fwrite(p->data, 1, p->size, f);
    sb_page_free(p);
}

/* ---- failures ---- */

static void failure_block(struct sb_page *p, const struct sb_result *result, bool colour)
{
    painted(p, colour, hue_of(result->outcome), sb_outcome_name(result->outcome));
    sb_page_spaces(p, INDENT - (int64_t)strlen(sb_outcome_name(result->outcome)));
    painted(p, colour, BOLD, result->case_id);
    sb_page_text(p, "\n");
    sb_page_failure(p, result, INDENT, SIZE_MAX);
    if (result->repeat[0] == '\0')
        return;
    sb_page_spaces(p, INDENT);
    sb_page_text(p, "repeat: ");
    painted(p, colour, BOLD, result->repeat);
    sb_page_text(p, "\n");
}

void sb_terminal_failure(FILE *f, const struct sb_result *result, bool colour)
{
    struct sb_result settled = *result;
    sb_result_settle(&settled);
    struct sb_page p = {0};
    failure_block(&p, &settled, colour);
    write_out(f, &p);
}

static void write_failures(struct sb_page *p, const struct sb_report *r, const struct sb_tally *t, bool colour)
{
    for (int i = 0; i < t->failures && i < FULL_FAILURES; i++) {
        struct sb_result settled = r->result[t->failure[i]];
        sb_result_settle(&settled);
        failure_block(p, &settled, colour);
        sb_page_text(p, "\n");
    }
    for (int i = FULL_FAILURES; i < t->failures && i < FULL_FAILURES + NAMED_FAILURES; i++) {
        const struct sb_result *const result = &r->result[t->failure[i]];
        painted(p, colour, RED, "FAIL");
        sb_page_spaces(p, INDENT - 4);
        sb_page_shown(p, result->case_id, SIZE_MAX, SB_NEWLINE_SHOWN);
        sb_page_text(p, "  ");
        sb_page_shown(p, result->variant, SIZE_MAX, SB_NEWLINE_SHOWN);
        sb_page_text(p, "\n");
    }
    const int unnamed = t->failures - FULL_FAILURES - NAMED_FAILURES;
    if (unnamed > 0)
        sb_page_format(p, "        ... and %s more failures, each in the JSON Lines report\n", sb_count(unnamed).text);
    if (t->failures > FULL_FAILURES)
        sb_page_text(p, "\n");
}

/* ---- head ---- */

static void head_line(struct sb_page *p, const char *label, const char *text)
{
    if (text[0] == '\0')
        return;
    sb_page_cell(p, label, 11, false);
    sb_page_shown(p, text, SIZE_MAX, SB_NEWLINE_SHOWN);
    sb_page_text(p, "\n");
}

static void write_head(struct sb_page *p, const struct sb_report *r)
{
    sb_page_text(p, "samebits   ");
    sb_page_shown(p, r->version, SIZE_MAX, SB_NEWLINE_SHOWN);
    if (r->commit[0] != '\0') {
        sb_page_text(p, r->version[0] != '\0' ? ", commit " : "commit ");
        sb_page_shown(p, r->commit, SIZE_MAX, SB_NEWLINE_SHOWN);
    }
    sb_page_text(p, "\n");
    head_line(p, "contracts", r->contracts);
    head_line(p, "targets", r->targets);
    head_line(p, "device", r->device);
    head_line(p, "driver", r->driver);
    head_line(p, "suites", r->suites);
    sb_page_text(p, "\n");
}

/* ---- the table of op x variant ---- */

static const enum sb_outcome columns[] = {SB_PASS, SB_SKIP, SB_NOT_RUN, SB_FAIL};
enum { COLUMNS = sizeof columns / sizeof columns[0], COUNT_WIDTH = 9, LAUNCH_WIDTH = 10 };

static void names_of(const struct sb_tally *t, int64_t *op, int64_t *variant)
{
    *op = (int64_t)strlen("op");
    *variant = (int64_t)strlen("variant");
    for (int i = 0; i < t->paths; i++) {
        const int64_t op_width = sb_shown_width(t->path[i].op);
        const int64_t variant_width = sb_shown_width(t->path[i].variant);
        *op = op_width > *op ? op_width : *op;
        *variant = variant_width > *variant ? variant_width : *variant;
    }
}

static void count_cell(struct sb_page *p, int64_t count, enum sb_outcome outcome, bool colour)
{
    paint(p, colour, count > 0 ? hue_of(outcome) : FAINT);
    sb_page_cell(p, sb_count_or_dash(count).text, COUNT_WIDTH, true);
    unpaint(p, colour);
}

static void launches_cell(struct sb_page *p, const struct sb_path *path)
{
    char text[72] = "";
    if (path->launches_least >= 0 && path->launches_least == path->launches_most)
        snprintf(text, sizeof text, "%s", sb_count(path->launches_least).text);
    else if (path->launches_least >= 0)
        snprintf(text, sizeof text, "%s-%s", sb_count(path->launches_least).text, sb_count(path->launches_most).text);
    if (text[0] != '\0')
        sb_page_cell(p, text, LAUNCH_WIDTH, true);
}

static bool any_launches(const struct sb_tally *t)
{
    for (int i = 0; i < t->paths; i++)
        if (t->path[i].launches_least >= 0)
            return true;
    return false;
}

static void write_path(struct sb_page *p, const struct sb_path *path, bool repeats_op, int64_t op, int64_t variant,
                       bool colour)
{
    sb_page_cell(p, repeats_op ? "" : path->op, op + 2, false);
    sb_page_cell(p, path->variant, variant, false);
    for (int c = 0; c < COLUMNS; c++)
        count_cell(p, path->count[columns[c]], columns[c], colour);
    launches_cell(p, path);
    sb_page_text(p, "\n");
}

static void write_table(struct sb_page *p, const struct sb_tally *t, bool colour)
{
    if (t->paths == 0) {
        sb_page_text(p, "no results\n\n");
        return;
    }
    int64_t op, variant;
    names_of(t, &op, &variant);
    paint(p, colour, BOLD);
    sb_page_cell(p, "op", op + 2, false);
    sb_page_cell(p, "variant", variant, false);
    for (int c = 0; c < COLUMNS; c++)
        sb_page_cell(p, sb_outcome_name(columns[c]), COUNT_WIDTH, true);
    if (any_launches(t))
        sb_page_cell(p, "launches", LAUNCH_WIDTH, true);
    unpaint(p, colour);
    sb_page_text(p, "\n");
    for (int i = 0; i < t->paths; i++)
        write_path(p, &t->path[i], i > 0 && strcmp(t->path[i].op, t->path[i - 1].op) == 0, op, variant, colour);
    sb_page_cell(p, "all", op + 2 + variant, false);
    for (int c = 0; c < COLUMNS; c++)
        count_cell(p, t->count[columns[c]], columns[c], colour);
    sb_page_text(p, "\n\n");
    if (t->ignored_ids > 0)
        sb_page_format(p, "warning: %s ids outside the experts were ignored, in %s results\n\n",
                       sb_count(t->ignored_ids).text, sb_count(t->ignored_cases).text);
}

/* ---- what was compared in part ---- */

/* A PASS here is worth less than one above, and says so. */
static void write_sampled(struct sb_page *p, const struct sb_report *r, const struct sb_tally *t, bool colour)
{
    if (t->sampled == 0)
        return;
    painted(p, colour, BOLD, "compared on samples only");
    sb_page_text(p, "\n");
    int shown = 0;
    for (int i = 0; i < r->results && shown < SHOWN_SAMPLED; i++) {
        const struct sb_result *const result = &r->result[i];
        if (result->sampled[0] == '\0')
            continue;
        const enum sb_outcome outcome = sb_result_outcome(result);
        paint(p, colour, outcome == SB_FAIL ? RED : YELLOW);
        sb_page_cell(p, sb_outcome_name(outcome), INDENT, false);
        unpaint(p, colour);
        sb_page_shown(p, result->case_id, SIZE_MAX, SB_NEWLINE_SHOWN);
        sb_page_text(p, "  ");
        sb_page_shown(p, result->variant, SIZE_MAX, SB_NEWLINE_SHOWN);
        sb_page_text(p, ": ");
        sb_page_sampled(p, result);
        sb_page_text(p, "\n");
        shown++;
    }
    if (t->sampled > SHOWN_SAMPLED)
        sb_page_format(p, "        ... and %s more\n", sb_count(t->sampled - SHOWN_SAMPLED).text);
    if (t->not_whole > 0)
        sb_page_format(p, "        %s of them for want of a device judge\n", sb_count(t->not_whole).text);
    sb_page_text(p, "\n");
}

static void write_by_judge(struct sb_page *p, const struct sb_tally *t)
{
    if (t->by_judge > 0)
        sb_page_format(p, "compared whole with the device judge: %s result%s\n\n", sb_count(t->by_judge).text,
                       t->by_judge == 1 ? "" : "s");
}

/* ---- what was not executed ---- */

/* "scale_pack tile", "2 paths of scale_pack", "10 paths of 5 ops". */
static void reason_paths(struct sb_page *p, const struct sb_tally *t, int group, const struct sb_result *first)
{
    if (t->reason_paths[group] > 1)
        sb_page_format(p, "%s paths of ", sb_count(t->reason_paths[group]).text);
    if (t->reason_ops[group] > 1)
        sb_page_format(p, "%s ops", sb_count(t->reason_ops[group]).text);
    else
        sb_page_shown(p, first->op, SIZE_MAX, SB_NEWLINE_SHOWN);
    if (t->reason_paths[group] > 1)
        return;
    sb_page_text(p, " ");
    sb_page_shown(p, first->variant, SIZE_MAX, SB_NEWLINE_SHOWN);
}

static void write_reasons(struct sb_page *p, const struct sb_report *r, const struct sb_tally *t, bool colour)
{
    if (t->reasons.groups == 0)
        return;
    painted(p, colour, BOLD, "cases not executed");
    sb_page_text(p, "\n");
    for (int g = 0; g < t->reasons.groups && g < SHOWN_REASONS; g++) {
        const struct sb_result *const first = &r->result[t->reasons.first[g]];
        paint(p, colour, YELLOW);
        sb_page_cell(p, sb_outcome_name(first->outcome), INDENT, false);
        unpaint(p, colour);
        sb_page_cell(p, sb_count(t->reasons.size[g]).text, 7, true);
        sb_page_text(p, "  ");
        reason_paths(p, t, g, first);
        sb_page_text(p, ": ");
        sb_page_shown(p, first->detail[0] != '\0' ? first->detail : "no reason was given", 300, SB_NEWLINE_SHOWN);
        sb_page_text(p, "\n");
    }
    if (t->reasons.groups > SHOWN_REASONS)
        sb_page_format(p, "        ... and %s more reasons\n", sb_count(t->reasons.groups - SHOWN_REASONS).text);
    sb_page_text(p, "\n");
}

/* The variants of one group, an op a line: "    scale_pack      gather tile scatter". Returns the lines written. */
static int absence_lines(struct sb_page *p, const struct sb_report *r, const struct sb_groups *g, int group)
{
    int lines = 0;
    const struct sb_ledger *previous = NULL;
    for (int i = g->first[group]; i < r->ledgers; i++) {
        if (g->group_of[i] != group)
            continue;
        const struct sb_ledger *const line = &r->ledger[i];
        if (previous == NULL || !sb_same_op(previous, line)) {
            sb_page_text(p, lines > 0 ? "\n    " : "    ");
            sb_page_cell(p, line->op, 16, false);
            lines++;
        }
        sb_page_text(p, " ");
        sb_page_shown(p, line->variant, SIZE_MAX, SB_NEWLINE_SHOWN);
        previous = line;
    }
    sb_page_text(p, "\n");
    return lines;
}

static void absence_head(struct sb_page *p, const struct sb_report *r, const struct sb_tally *t, int group, bool colour)
{
    const struct sb_ledger *const line = &r->ledger[t->absences.first[group]];
    sb_page_text(p, "  ");
    for (int g = group; g < t->absences.groups; g++) {
        if (t->shown_with[g] != group)
            continue;
        const char *const target = r->ledger[t->absences.first[g]].target;
        sb_page_text(p, g > group ? ", " : "");
        painted(p, colour, YELLOW, target[0] != '\0' ? target : "(no target)");
    }
    sb_page_text(p, line->compiled ? " (compiled): " : " (not compiled): ");
    sb_page_shown(p, line->note[0] != '\0' ? line->note : "no reason was given", SIZE_MAX, SB_NEWLINE_SHOWN);
    sb_page_text(p, "\n");
}

static int64_t absent_paths(const struct sb_tally *t)
{
    int64_t paths = 0;
    for (int g = 0; g < t->absences.groups; g++)
        paths += t->absences.size[g];
    return paths;
}

static void write_absences(struct sb_page *p, const struct sb_report *r, const struct sb_tally *t, bool colour)
{
    painted(p, colour, BOLD, "paths this gate did not execute");
    sb_page_text(p, "\n");
    if (r->ledgers == 0)
        sb_page_text(p, "  not known: the report has no ledger\n");
    else if (t->absences.groups == 0)
        sb_page_text(p, "  none: every path of the ledger was executed\n");
    int lines = 0, group = 0;
    for (; group < t->absences.groups && lines < SHOWN_LEDGER; group++) {
        if (t->shown_with[group] != group)
            continue;
        absence_head(p, r, t, group, colour);
        lines += 1 + absence_lines(p, r, &t->absences, group);
    }
    if (group < t->absences.groups)
        sb_page_format(p, "  ... and more: %s paths in all\n", sb_count(absent_paths(t)).text);
    sb_page_text(p, "\n");
}

/* ---- what was executed, by target ---- */

static void executed_head(struct sb_page *p, bool colour)
{
    painted(p, colour, BOLD, "paths executed");
    sb_page_spaces(p, 26);
    sb_page_text(p, " executed   passed   failed\n");
}

static void executed_line(struct sb_page *p, const struct sb_ledger *line)
{
    sb_page_text(p, "  ");
    sb_page_cell(p, line->target, 7, false);
    sb_page_text(p, " ");
    sb_page_cell(p, line->op, 15, false);
    sb_page_text(p, " ");
    sb_page_cell(p, line->variant, 14, false);
    sb_page_cell(p, sb_count(line->executed).text, COUNT_WIDTH, true);
    sb_page_cell(p, sb_count_or_dash(line->passed).text, COUNT_WIDTH, true);
    sb_page_cell(p, sb_count_or_dash(line->failed).text, COUNT_WIDTH, true);
    sb_page_text(p, "\n");
}

static void write_executed(struct sb_page *p, const struct sb_report *r, bool colour)
{
    int lines = 0;
    for (int i = 0; i < r->ledgers; i++) {
        if (r->ledger[i].executed <= 0)
            continue;
        if (lines == 0)
            executed_head(p, colour);
        if (lines < SHOWN_LEDGER)
            executed_line(p, &r->ledger[i]);
        lines++;
    }
    if (lines > SHOWN_LEDGER)
        sb_page_format(p, "  ... and %s more\n", sb_count(lines - SHOWN_LEDGER).text);
    if (lines > 0)
        sb_page_text(p, "\n");
}

static void write_verdict(struct sb_page *p, const struct sb_conclusion *v, bool colour)
{
    painted(p, colour, v->good ? GREEN : RED, v->word);
    sb_page_text(p, ": ");
    sb_page_shown(p, v->line, SIZE_MAX, SB_NEWLINE_SHOWN);
    if (v->meaning[0] != '\0')
        sb_page_format(p, " (%s)", v->meaning);
    sb_page_text(p, "\n");
}

void sb_terminal(FILE *f, const struct sb_report *r, bool colour)
{
    struct sb_tally t;
    struct sb_page p = {0};
    if (!sb_tally_make(&t, r)) {
        p.failed = true;
        write_out(f, &p);
        return;
    }
    const struct sb_conclusion verdict = sb_conclude(r, &t);
    write_head(&p, r);
    write_failures(&p, r, &t, colour);
    write_table(&p, &t, colour);
    write_sampled(&p, r, &t, colour);
    write_by_judge(&p, &t);
    write_reasons(&p, r, &t, colour);
    write_executed(&p, r, colour);
    write_absences(&p, r, &t, colour);
    write_verdict(&p, &verdict, colour);
    sb_tally_free(&t);
    write_out(f, &p);
}
