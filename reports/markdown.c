/* markdown.c - a report for a pull request, never above a size.
 *
 * The order is the order of what a reviewer must see: the verdict, what was built and run, the failures, what was not
 * executed, and folded at the end what was. Sections share the room: a later section is promised a part of it, and
 * what it does not need the earlier one may use. Whatever does not fit is counted under the verdict. */
#include "failure.h"
#include "markdown_text.h"
#include "tally.h"
#include "text.h"

#include <string.h>

enum {
    FULL_FAILURES = 20, /* shown whole; after them only names */
    NAMED_PATHS = 12,
    DETAIL = 600,    /* bytes of a failure's detail */
    CELL = 300,      /* bytes of a text in a table */
    NOTE_ROOM = 320, /* the note of what was left out */
    TAIL_ROOM = 96   /* the line after the failures, or the end of the fold */
};

struct left_out {
    int64_t failures, paths, cases, rows;
};

struct writer {
    const struct sb_report *r;
    const struct sb_tally *t;
    struct sb_page page;
    struct left_out left;
};

/* Takes back what was written since `before` where it passes `end`. */
static bool keep(struct sb_page *p, size_t before, size_t end)
{
    if (p->size <= end)
        return true;
    sb_page_cut(p, before);
    return false;
}

static size_t less(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A blank line after a table of which a row fits; a table of which none does goes, heading and all. */
static void close_table(struct sb_page *p, size_t start, size_t rows, bool filled)
{
    if (filled || p->size > rows)
        sb_page_text(p, "\n");
    else
        sb_page_cut(p, start);
}

/* ---- the head ---- */

static void write_verdict(struct sb_page *p, const struct sb_conclusion *v, bool finished)
{
    sb_page_format(p, "## Samebits: %s\n\n**%s:** ", v->word, finished ? "Verdict" : "No verdict");
    sb_md_plain(p, v->line, sizeof v->line, "");
    if (v->meaning[0] != '\0')
        sb_page_format(p, " (%s)", v->meaning);
    sb_page_text(p, "\n\n");
}

static void write_counts(struct sb_page *p, const struct sb_report *r, const struct sb_tally *t)
{
    sb_page_format(p, "%s results%s:", sb_count(r->results).text, r->finished ? "" : " before it stopped");
    static const enum sb_outcome order[] = {SB_PASS, SB_FAIL, SB_SKIP, SB_NOT_RUN};
    for (int i = 0; i < SB_OUTCOME_COUNT; i++)
        sb_page_format(p, "%s %s %s", i > 0 ? "," : "", sb_count(t->count[order[i]]).text, sb_outcome_name(order[i]));
    sb_page_text(p, ".\n\n");
}

static void row(struct sb_page *p, const char *label, const char *text)
{
    sb_page_format(p, "| %s | ", label);
    sb_md_plain(p, text, SIZE_MAX, "not stated");
    sb_page_text(p, " |\n");
}

static bool is_dirty(const char *commit)
{
    static const char ending[] = "-dirty";
    const size_t length = strlen(commit);
    return length >= strlen(ending) && strcmp(commit + length - strlen(ending), ending) == 0;
}

static void build_row(struct sb_page *p, const struct sb_report *r)
{
    sb_page_text(p, "| build | samebits ");
    sb_md_plain(p, r->version, SIZE_MAX, "of no stated version");
    sb_page_text(p, ", ");
    if (r->commit[0] == '\0') {
        sb_page_text(p, "commit not stated |\n");
        return;
    }
    sb_page_text(p, "commit ");
    sb_md_code(p, r->commit, SIZE_MAX);
    sb_page_text(p, is_dirty(r->commit) ? ", **with uncommitted changes** |\n" : ", clean tree |\n");
}

static void command_row(struct sb_page *p, const struct sb_report *r)
{
    sb_page_text(p, "| command | ");
    if (r->command[0] != '\0')
        sb_md_code(p, r->command, SIZE_MAX);
    else
        sb_page_text(p, "not stated");
    sb_page_text(p, " |\n");
}

static void write_about(struct sb_page *p, const struct sb_report *r)
{
    sb_page_text(p, "| | |\n|---|---|\n");
    row(p, "contracts", r->contracts);
    build_row(p, r);
    row(p, "C compiler", r->compiler);
    row(p, "CUDA compiler", r->cuda_compiler);
    const bool no_cuda = r->targets[0] == '\0' && strcmp(r->cuda_compiler, "none") == 0;
    row(p, "targets", no_cuda ? "none: built without CUDA" : r->targets);
    row(p, "device", r->device);
    row(p, "driver", r->driver);
    row(p, "suites", r->suites);
    row(p, "host", r->host);
    row(p, "started", r->started);
    command_row(p, r);
    sb_page_text(p, "\n");
}

static void write_warnings(struct sb_page *p, const struct sb_tally *t)
{
    if (t->sampled > 0)
        sb_page_format(p,
                       "%s result%s on samples of the outputs: of the other elements a kernel's were only held to be "
                       "written, and to be the same in every run.\n\n",
                       sb_count(t->sampled).text, t->sampled == 1 ? " rests" : "s rest");
    if (t->not_whole > 0)
        sb_page_format(p, "%s of them for want of a device judge.\n\n", sb_count(t->not_whole).text);
    if (t->by_judge > 0)
        sb_page_format(p,
                       "%s result%s compared whole with the outputs of a device judge, which were held to the samples "
                       "first.\n\n",
                       sb_count(t->by_judge).text, t->by_judge == 1 ? " was" : "s were");
    if (t->ignored_ids > 0)
        sb_page_format(p, "Warning: %s ids outside the experts were ignored, in %s results.\n\n",
                       sb_count(t->ignored_ids).text, sb_count(t->ignored_cases).text);
}

/* ---- failures ---- */

static void write_failing_paths(struct sb_page *p, const struct sb_tally *t)
{
    int failing = 0;
    for (int i = 0; i < t->paths; i++) {
        const struct sb_path *const path = &t->path[i];
        if (path->count[SB_FAIL] == 0 || failing++ >= NAMED_PATHS)
            continue;
        sb_page_text(p, failing == 1 ? "Failing: " : ", ");
        sb_md_code(p, path->op, SIZE_MAX);
        sb_page_text(p, " ");
        sb_md_code(p, path->variant, SIZE_MAX);
        sb_page_format(p, " (%s)", sb_count(path->count[SB_FAIL]).text);
    }
    if (failing > NAMED_PATHS)
        sb_page_format(p, ", and %s more paths", sb_count(failing - NAMED_PATHS).text);
    sb_page_text(p, ".\n\n");
}

static void write_failure(struct sb_page *p, const struct sb_report *r, int index, int number)
{
    struct sb_result result = r->result[index];
    sb_result_settle(&result);
    sb_page_format(p, "#### %d. ", number);
    sb_md_code(p, result.case_id, SIZE_MAX);
    sb_page_text(p, "\n\n");
    struct sb_page text = {0};
    sb_page_failure(&text, &result, 0, DETAIL);
    if (!text.failed)
        sb_md_fence(p, "text", text.data);
    p->failed |= text.failed;
    sb_page_cut(&text, 0);
    sb_page_shown(&text, result.repeat, SIZE_MAX, SB_NEWLINE_SHOWN);
    sb_page_text(p, text.size > 0 ? "Repeat only this:\n" : "No command to repeat it was given.\n");
    if (text.size > 0)
        sb_md_fence(p, "sh", text.data);
    sb_page_text(p, "\n");
    sb_page_free(&text);
}

static void name_failure(struct sb_page *p, const struct sb_result *result)
{
    sb_page_text(p, "- ");
    sb_md_code(p, result->case_id, SIZE_MAX);
    sb_page_text(p, " ");
    sb_md_plain(p, result->variant, SIZE_MAX, "");
    sb_page_text(p, "\n");
}

/* Returns how many of the first failures fit whole. */
static int write_whole(struct writer *w, size_t end)
{
    int shown = 0;
    for (; shown < w->t->failures && shown < FULL_FAILURES; shown++) {
        const size_t before = w->page.size;
        write_failure(&w->page, w->r, w->t->failure[shown], shown + 1);
        if (!keep(&w->page, before, end))
            break;
    }
    return shown;
}

/* Returns how many of the failures from `first` on fit by name. */
static int write_names(struct writer *w, int first, size_t end)
{
    struct sb_page *const p = &w->page;
    size_t before = p->size;
    int i = first;
    sb_page_text(p, first > 0 ? "Also failing:\n\n" : "By name:\n\n");
    for (; i < w->t->failures; i++) {
        name_failure(p, &w->r->result[w->t->failure[i]]);
        if (!keep(p, before, end))
            break;
        before = p->size;
    }
    return i - first;
}

/* All of them whole; where that is too much, two thirds of the room for whole ones, the rest for names, and a count. */
static void write_failures(struct writer *w, size_t end)
{
    struct sb_page *const p = &w->page;
    const int failures = w->t->failures;
    if (failures == 0)
        return;
    size_t start = p->size;
    const size_t room_end = less(end, TAIL_ROOM);
    sb_page_format(p, "### Failures (%s)\n\n", sb_count(failures).text);
    write_failing_paths(p, w->t);
    if (!keep(p, start, room_end)) {
        w->left.failures = failures;
        return;
    }
    start = p->size;
    int shown = write_whole(w, room_end);
    if (shown < failures) {
        sb_page_cut(p, start);
        shown = write_whole(w, start + (room_end - start) / 3 * 2);
        shown += write_names(w, shown, room_end);
    }
    w->left.failures = failures - shown;
    if (w->left.failures > 0)
        sb_page_format(p, "\n... and %s more failures.\n", sb_count(w->left.failures).text);
    if (p->data[p->size - 2] != '\n') /* no blank line yet */
        sb_page_text(p, "\n");
}

/* ---- what was not executed ---- */

static void absence_names(struct sb_page *p, const struct sb_report *r, const struct sb_groups *g, int group)
{
    const struct sb_ledger *previous = NULL;
    for (int i = g->first[group]; i < r->ledgers; i++) {
        if (g->group_of[i] != group)
            continue;
        const struct sb_ledger *const line = &r->ledger[i];
        if (previous == NULL || !sb_same_op(previous, line)) {
            sb_page_text(p, previous == NULL ? "" : "<br>");
            sb_md_code(p, line->op, SIZE_MAX);
            sb_page_text(p, ": ");
        } else {
            sb_page_text(p, ", ");
        }
        sb_md_plain(p, line->variant, SIZE_MAX, "(no variant)");
        previous = line;
    }
}

/* One row for `group` and the groups shown with it. Returns how many ledger lines that are. */
static int64_t write_absence(struct sb_page *p, const struct sb_report *r, const struct sb_tally *t, int group)
{
    const struct sb_groups *const g = &t->absences;
    const struct sb_ledger *const first = &r->ledger[g->first[group]];
    int64_t lines = 0;
    sb_page_text(p, "| ");
    for (int other = group; other < g->groups; other++) {
        if (t->shown_with[other] != group)
            continue;
        sb_page_text(p, other > group ? "<br>" : "");
        sb_md_plain(p, r->ledger[g->first[other]].target, SIZE_MAX, "not stated");
        lines += g->size[other];
    }
    sb_page_format(p, " | %s | ", first->compiled ? "yes" : "**no**");
    absence_names(p, r, g, group);
    sb_page_text(p, " | ");
    sb_md_plain(p, first->note, CELL, "no reason was given");
    sb_page_text(p, " |\n");
    return lines;
}

static void write_absences(struct writer *w, size_t end)
{
    static const char heading[] = "### Paths this gate did not execute\n\n";
    static const char columns[] = "| target | compiled | paths | why |\n|---|---|---|---|\n";
    const struct sb_groups *const g = &w->t->absences;
    struct sb_page *const p = &w->page;
    const size_t start = p->size;
    sb_page_text(p, heading);
    if (w->r->ledgers == 0)
        sb_page_text(p, "Not known: the report has no ledger.\n");
    else if (g->groups == 0)
        sb_page_text(p, "None: every path of the ledger was executed.\n");
    else
        sb_page_text(p, columns);
    const bool fits = keep(p, start, less(end, 1));
    const size_t rows = p->size;
    for (int group = 0; group < g->groups; group++) {
        if (fits && w->t->shown_with[group] != group)
            continue;
        const size_t before = p->size;
        const int64_t lines = fits ? write_absence(p, w->r, w->t, group) : g->size[group];
        if (!fits || !keep(p, before, less(end, 1)))
            w->left.paths += lines;
    }
    if (fits)
        close_table(p, start, rows, g->groups == 0);
}

static void write_reason(struct sb_page *p, const struct sb_report *r, const struct sb_tally *t, int group)
{
    const struct sb_result *const first = &r->result[t->reasons.first[group]];
    sb_page_format(p, "| %s | %s | ", sb_outcome_name(first->outcome), sb_count(t->reasons.size[group]).text);
    if (t->reason_ops[group] > 1)
        sb_page_format(p, "%s ops", sb_count(t->reason_ops[group]).text);
    else
        sb_md_plain(p, first->op, SIZE_MAX, "not stated");
    sb_page_text(p, " | ");
    if (t->reason_paths[group] > 1)
        sb_page_format(p, "%s paths", sb_count(t->reason_paths[group]).text);
    else
        sb_md_plain(p, first->variant, SIZE_MAX, "not stated");
    sb_page_text(p, " | ");
    sb_md_plain(p, first->detail, CELL, "no reason was given");
    sb_page_text(p, " |\n");
}

static void write_reasons(struct writer *w, size_t end)
{
    static const char heading[] = "### Cases not executed\n\n"
                                  "| status | cases | op | variant | why |\n|---|---:|---|---|---|\n";
    const struct sb_groups *const g = &w->t->reasons;
    struct sb_page *const p = &w->page;
    if (g->groups == 0)
        return;
    const size_t start = p->size;
    sb_page_text(p, heading);
    const bool fits = keep(p, start, less(end, 1));
    const size_t rows = p->size;
    for (int group = 0; group < g->groups; group++) {
        const size_t before = p->size;
        if (fits)
            write_reason(p, w->r, w->t, group);
        if (!fits || !keep(p, before, less(end, 1)))
            w->left.cases += g->size[group];
    }
    if (fits)
        close_table(p, start, rows, false);
}

/* ---- what was compared in part ---- */

static void write_sample(struct sb_page *p, const struct sb_result *result)
{
    sb_page_format(p, "| %s | ", sb_outcome_name(sb_result_outcome(result)));
    sb_md_code(p, result->case_id, SIZE_MAX);
    sb_page_text(p, " | ");
    sb_md_plain(p, result->variant, SIZE_MAX, "not stated");
    sb_page_text(p, " | ");
    sb_md_plain(p, result->sampled, SIZE_MAX, "not stated");
    if (result->not_whole[0] != '\0')
        sb_page_text(p, "; not whole: ");
    sb_md_plain(p, result->not_whole, SIZE_MAX, "");
    sb_page_text(p, " |\n");
}

static void write_samples(struct writer *w, size_t end)
{
    static const char heading[] = "### Compared on samples only\n\n"
                                  "| status | case | variant | compared |\n|---|---|---|---|\n";
    struct sb_page *const p = &w->page;
    if (w->t->sampled == 0)
        return;
    const size_t start = p->size;
    sb_page_text(p, heading);
    const bool fits = keep(p, start, less(end, 1));
    const size_t rows = p->size;
    for (int i = 0; i < w->r->results; i++) {
        if (w->r->result[i].sampled[0] == '\0')
            continue;
        const size_t before = p->size;
        if (fits)
            write_sample(p, &w->r->result[i]);
        w->left.rows += !fits || !keep(p, before, less(end, 1));
    }
    if (fits)
        close_table(p, start, rows, false);
}

/* ---- what was executed ---- */

static void write_path(struct sb_page *p, const struct sb_path *path)
{
    sb_page_text(p, "| ");
    sb_md_plain(p, path->op, SIZE_MAX, "not stated");
    sb_page_text(p, " | ");
    sb_md_plain(p, path->variant, SIZE_MAX, "not stated");
    for (int outcome = 0; outcome < SB_OUTCOME_COUNT; outcome++)
        sb_page_format(p, " | %s", sb_count(path->count[outcome]).text);
    if (path->launches_least < 0)
        sb_page_text(p, " | ");
    else if (path->launches_least == path->launches_most)
        sb_page_format(p, " | %s", sb_count(path->launches_least).text);
    else
        sb_page_format(p, " | %s to %s", sb_count(path->launches_least).text, sb_count(path->launches_most).text);
    sb_page_format(p, " | %s |\n", sb_count(path->bytes_compared).text);
}

static void write_executed_line(struct sb_page *p, const struct sb_ledger *line)
{
    sb_page_text(p, "| ");
    sb_md_plain(p, line->target, SIZE_MAX, "not stated");
    sb_page_text(p, " | ");
    sb_md_plain(p, line->op, SIZE_MAX, "not stated");
    sb_page_text(p, " | ");
    sb_md_plain(p, line->variant, SIZE_MAX, "not stated");
    sb_page_format(p, " | %s", sb_count(line->executed).text);
    sb_page_format(p, " | %s | %s |\n", sb_count(line->passed).text, sb_count(line->failed).text);
}

static void write_path_table(struct writer *w, size_t end)
{
    static const char columns[] = "| op | variant | PASS | SKIP | NOT RUN | FAIL | launches a call | bytes equal |\n"
                                  "|---|---|---:|---:|---:|---:|---:|---:|\n";
    struct sb_page *const p = &w->page;
    const size_t start = p->size;
    sb_page_text(p, columns);
    const bool fits = keep(p, start, less(end, 1));
    const size_t rows = p->size;
    for (int i = 0; i < w->t->paths; i++) {
        const size_t before = p->size;
        if (fits)
            write_path(p, &w->t->path[i]);
        w->left.rows += !fits || !keep(p, before, less(end, 1));
    }
    if (fits)
        close_table(p, start, rows, false);
}

static void write_executed_table(struct writer *w, size_t end)
{
    static const char columns[] = "| target | op | variant | executed | passed | failed |\n"
                                  "|---|---|---|---:|---:|---:|\n";
    struct sb_page *const p = &w->page;
    const size_t start = p->size;
    sb_page_text(p, columns);
    const bool fits = keep(p, start, less(end, 1));
    const size_t rows = p->size;
    for (int i = 0; i < w->r->ledgers; i++) {
        if (w->r->ledger[i].executed <= 0)
            continue;
        const size_t before = p->size;
        if (fits)
            write_executed_line(p, &w->r->ledger[i]);
        w->left.rows += !fits || !keep(p, before, less(end, 1));
    }
    if (fits)
        close_table(p, start, rows, false);
}

static void write_executed(struct writer *w, size_t end)
{
    static const char fold_end[] = "</details>\n";
    struct sb_page *const p = &w->page;
    const size_t start = p->size;
    sb_page_format(p, "<details><summary>What was executed: %s passed, %s failed</summary>\n\n",
                   sb_count(w->t->count[SB_PASS]).text, sb_count(w->t->count[SB_FAIL]).text);
    const bool fits = keep(p, start, less(end, strlen(fold_end)));
    /* Where even the fold does not fit, an end of 0 leaves every row out and counts it. */
    const size_t rows_end = fits ? less(end, strlen(fold_end)) : 0;
    write_path_table(w, rows_end);
    write_executed_table(w, rows_end);
    if (fits)
        sb_page_text(p, fold_end);
}

/* ---- the whole ---- */

static bool anything(const struct left_out *left)
{
    return left->failures + left->paths + left->cases + left->rows > 0;
}

static void write_left_out(struct sb_page *p, const struct left_out *left, bool about, size_t limit)
{
    sb_page_format(p, "**Cut to fit %s bytes.** Left out here:", sb_count((int64_t)limit).text);
    const struct {
        int64_t count;
        const char *name;
    } parts[] = {{left->failures, "failures"},
                 {left->paths, "paths not executed"},
                 {left->cases, "cases not executed"},
                 {left->rows, "table rows"}};
    const char *before = " ";
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].count == 0)
            continue;
        sb_page_format(p, "%s%s %s", before, sb_count(parts[i].count).text, parts[i].name);
        before = ", ";
    }
    if (!about)
        sb_page_format(p, "%sthe table of what was built and run", before);
    sb_page_text(p, ". The JSON Lines report has everything.\n\n");
}

/* How much a section would take without a limit. */
static size_t size_of(const struct writer *w, void (*section)(struct writer *, size_t))
{
    struct writer scratch = {.r = w->r, .t = w->t};
    section(&scratch, SIZE_MAX);
    const size_t size = scratch.page.size;
    sb_page_free(&scratch.page);
    return size;
}

/* Everything after the counts, in `room` bytes. Returns whether the table about the build fitted. */
static bool write_body(struct writer *w, size_t room)
{
    struct sb_page *const p = &w->page;
    sb_page_cut(p, 0);
    w->left = (struct left_out){0};
    write_about(p, w->r);
    write_warnings(p, w->t);
    const bool about = keep(p, 0, room);
    const size_t rest = less(room, p->size);
    const size_t executed = smaller(size_of(w, write_executed), rest / 8);
    const size_t reasons = smaller(size_of(w, write_reasons), rest / 8);
    const size_t samples = smaller(size_of(w, write_samples), rest / 8);
    const size_t absences = smaller(size_of(w, write_absences), rest / 4);
    write_failures(w, room - executed - reasons - absences - samples);
    write_samples(w, room - executed - reasons - absences);
    write_absences(w, room - executed - reasons);
    write_reasons(w, room - executed);
    write_executed(w, room);
    return about;
}

static bool put(FILE *f, const struct sb_page *p)
{
    return p->size == 0 || fwrite(p->data, 1, p->size, f) == p->size;
}

/* First without a note; where something was left out, again with room for the note that counts it. */
static bool write_pages(FILE *f, struct writer *w, struct sb_page *head, size_t limit)
{
    struct sb_page note = {0};
    bool fits = head->size <= limit;
    if (fits && (!write_body(w, limit - head->size) || anything(&w->left))) {
        fits = head->size + NOTE_ROOM <= limit;
        if (fits) {
            const bool about = write_body(w, limit - head->size - NOTE_ROOM);
            write_left_out(&note, &w->left, about, limit);
        }
    }
    const size_t size = head->size + note.size + w->page.size;
    const bool good = fits && size <= limit && !head->failed && !note.failed && !w->page.failed && put(f, head) &&
                      put(f, &note) && put(f, &w->page) && fflush(f) == 0;
    sb_page_free(&note);
    return good;
}

bool sb_markdown(FILE *f, const struct sb_report *r, size_t limit)
{
    struct sb_tally t;
    if (!sb_tally_make(&t, r))
        return false;
    const struct sb_conclusion verdict = sb_conclude(r, &t);
    struct writer w = {.r = r, .t = &t};
    struct sb_page head = {0};
    write_verdict(&head, &verdict, r->finished);
    write_counts(&head, r, &t);
    const bool good = write_pages(f, &w, &head, limit);
    sb_page_free(&w.page);
    sb_page_free(&head);
    sb_tally_free(&t);
    return good;
}
