/* tally.c - what the renderers show, counted once. */
#include "tally.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- grouping by key ---- */

/* Writes the key of item i; false leaves the item out. */
typedef bool key_function(const struct sb_report *r, int i, struct sb_page *key);

/* With its length in front, so that two texts side by side cannot be taken for two others. */
static void add_to_key(struct sb_page *key, const char *text)
{
    sb_page_format(key, "%zu:%s", strlen(text), text);
}

static bool op_key(const struct sb_report *r, int i, struct sb_page *key)
{
    add_to_key(key, r->result[i].op);
    return true;
}

static bool path_key(const struct sb_report *r, int i, struct sb_page *key)
{
    add_to_key(key, r->result[i].op);
    add_to_key(key, r->result[i].variant);
    return true;
}

static bool reason_key(const struct sb_report *r, int i, struct sb_page *key)
{
    const struct sb_result *const result = &r->result[i];
    const enum sb_outcome outcome = sb_result_outcome(result);
    if (outcome != SB_SKIP && outcome != SB_NOT_RUN)
        return false;
    add_to_key(key, sb_outcome_name(outcome));
    add_to_key(key, result->detail);
    return true;
}

static bool reason_and_op_key(const struct sb_report *r, int i, struct sb_page *key)
{
    return reason_key(r, i, key) && op_key(r, i, key);
}

static bool reason_and_path_key(const struct sb_report *r, int i, struct sb_page *key)
{
    return reason_key(r, i, key) && path_key(r, i, key);
}

static bool absence_key(const struct sb_report *r, int i, struct sb_page *key)
{
    const struct sb_ledger *const line = &r->ledger[i];
    if (line->executed > 0)
        return false;
    add_to_key(key, line->target);
    add_to_key(key, line->compiled ? "yes" : "no");
    add_to_key(key, line->note);
    return true;
}

static uint64_t hash_of(const struct sb_page *key)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < key->size; i++)
        hash = (hash ^ (unsigned char)key->data[i]) * 1099511628211u;
    return hash ^ (hash >> 32);
}

static bool same_text(const struct sb_page *a, const struct sb_page *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* The slot of a key in an open hash of 1 + group number (0: free). */
static size_t find_slot(const struct sb_report *r, const struct sb_groups *g, key_function *key_of, const int *table,
                        size_t slots, const struct sb_page *key, struct sb_page *scratch)
{
    size_t slot = hash_of(key) & (slots - 1);
    while (table[slot] != 0) {
        sb_page_cut(scratch, 0);
        key_of(r, g->first[table[slot] - 1], scratch);
        if (same_text(key, scratch))
            break;
        slot = (slot + 1) & (slots - 1);
    }
    return slot;
}

static void free_groups(struct sb_groups *g)
{
    free(g->first);
    free(g->size);
    free(g->group_of);
    memset(g, 0, sizeof *g);
}

static bool make_groups(struct sb_groups *g, const struct sb_report *r, int items, key_function *key_of)
{
    memset(g, 0, sizeof *g);
    size_t slots = 16;
    while (slots < 2 * (size_t)items)
        slots *= 2;
    const size_t count = items > 0 ? (size_t)items : 1;
    g->items = items;
    g->first = calloc(count, sizeof *g->first);
    g->size = calloc(count, sizeof *g->size);
    g->group_of = calloc(count, sizeof *g->group_of);
    int *const table = calloc(slots, sizeof *table);
    bool good = g->first != NULL && g->size != NULL && g->group_of != NULL && table != NULL;
    struct sb_page key = {0}, scratch = {0};
    for (int i = 0; good && i < items; i++) {
        sb_page_cut(&key, 0);
        g->group_of[i] = -1;
        if (key_of(r, i, &key)) {
            const size_t slot = find_slot(r, g, key_of, table, slots, &key, &scratch);
            if (table[slot] == 0) {
                g->first[g->groups++] = i;
                table[slot] = g->groups;
            }
            g->group_of[i] = table[slot] - 1;
            g->size[table[slot] - 1]++;
        }
        good = !key.failed && !scratch.failed;
    }
    free(table);
    sb_page_free(&key);
    sb_page_free(&scratch);
    if (!good)
        free_groups(g);
    return good;
}

/* ---- paths and failures ---- */

static void count_launches(struct sb_path *path, int64_t launches)
{
    if (launches < 0)
        return;
    if (path->launches_least < 0 || launches < path->launches_least)
        path->launches_least = launches;
    if (launches > path->launches_most)
        path->launches_most = launches;
}

static void count_result(struct sb_tally *t, struct sb_path *path, const struct sb_result *result)
{
    const enum sb_outcome outcome = sb_result_outcome(result);
    t->count[outcome]++;
    path->count[outcome]++;
    if (outcome == SB_PASS) {
        path->bytes_compared += result->bytes_compared;
        count_launches(path, result->launches);
    }
    t->sampled += result->sampled[0] != '\0';
    t->not_whole += result->not_whole[0] != '\0';
    t->by_judge += sb_by_device_judge(result);
    if (result->ignored_ids > 0) {
        t->ignored_cases++;
        t->ignored_ids += result->ignored_ids;
    }
}

static int by_op_and_order(const void *a, const void *b)
{
    const struct sb_path *const left = a, *const right = b;
    if (left->op_order != right->op_order)
        return left->op_order < right->op_order ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

/* Keeps the variants of an op together, however the results came in. Call it when nothing counts by index any more. */
static bool sort_paths(struct sb_tally *t, const struct sb_report *r, const struct sb_groups *by_path)
{
    struct sb_groups by_op;
    if (!make_groups(&by_op, r, r->results, op_key))
        return false;
    for (int p = 0; p < t->paths; p++) {
        t->path[p].op_order = by_op.group_of[by_path->first[p]];
        t->path[p].order = p;
    }
    free_groups(&by_op);
    if (t->paths > 1)
        qsort(t->path, (size_t)t->paths, sizeof *t->path, by_op_and_order);
    return true;
}

static bool count_paths(struct sb_tally *t, const struct sb_report *r, const struct sb_groups *by_path)
{
    t->path = calloc(by_path->groups > 0 ? (size_t)by_path->groups : 1, sizeof *t->path);
    if (t->path == NULL)
        return false;
    t->paths = by_path->groups;
    for (int p = 0; p < t->paths; p++) {
        const struct sb_result *const first = &r->result[by_path->first[p]];
        t->path[p] = (struct sb_path){.op = first->op, .variant = first->variant, .launches_least = -1};
    }
    for (int i = 0; i < r->results; i++)
        count_result(t, &t->path[by_path->group_of[i]], &r->result[i]);
    return true;
}

/* One loud variant must not push another's only failure off a bounded page: two of each come first. */
static bool order_failures(struct sb_tally *t, const struct sb_report *r, const struct sb_groups *by_path)
{
    enum { EARLY = 2 };
    const size_t count = t->count[SB_FAIL] > 0 ? (size_t)t->count[SB_FAIL] : 1;
    int *const seen = calloc(t->paths > 0 ? (size_t)t->paths : 1, sizeof *seen);
    int *const late = calloc(count, sizeof *late);
    t->failure = calloc(count, sizeof *t->failure);
    const bool good = seen != NULL && late != NULL && t->failure != NULL;
    int lates = 0;
    for (int i = 0; good && i < r->results; i++) {
        if (sb_result_outcome(&r->result[i]) != SB_FAIL)
            continue;
        if (seen[by_path->group_of[i]]++ < EARLY)
            t->failure[t->failures++] = i;
        else
            late[lates++] = i;
    }
    if (good && lates > 0)
        memcpy(t->failure + t->failures, late, (size_t)lates * sizeof *late);
    t->failures += lates;
    free(seen);
    free(late);
    return good;
}

/* ---- reasons ---- */

/* How many different ones of the finer grouping each reason has. NULL: no memory. */
static int *count_in_reasons(const struct sb_tally *t, const struct sb_report *r, key_function *finer)
{
    struct sb_groups g;
    int *const counts = calloc(t->reasons.groups > 0 ? (size_t)t->reasons.groups : 1, sizeof *counts);
    if (counts == NULL || !make_groups(&g, r, r->results, finer)) {
        free(counts);
        return NULL;
    }
    for (int i = 0; i < g.groups; i++)
        counts[t->reasons.group_of[g.first[i]]]++;
    free_groups(&g);
    return counts;
}

static bool count_reasons(struct sb_tally *t, const struct sb_report *r)
{
    t->reason_ops = count_in_reasons(t, r, reason_and_op_key);
    t->reason_paths = count_in_reasons(t, r, reason_and_path_key);
    return t->reason_ops != NULL && t->reason_paths != NULL;
}

/* ---- the ledger ---- */

/* The lines of each absence group, less their target: what must be equal for targets to share one entry. */
static void absence_contents(const struct sb_report *r, const struct sb_groups *g, struct sb_page *contents)
{
    for (int i = 0; i < r->ledgers; i++) {
        if (g->group_of[i] < 0)
            continue;
        struct sb_page *const content = &contents[g->group_of[i]];
        add_to_key(content, r->ledger[i].compiled ? "yes" : "no");
        add_to_key(content, r->ledger[i].note);
        add_to_key(content, r->ledger[i].op);
        add_to_key(content, r->ledger[i].variant);
    }
}

/* Three targets that lack the same paths for the same reason read best as one entry. */
static bool join_targets(struct sb_tally *t, const struct sb_report *r)
{
    const struct sb_groups *const g = &t->absences;
    const size_t count = g->groups > 0 ? (size_t)g->groups : 1;
    struct sb_page *const contents = calloc(count, sizeof *contents);
    uint64_t *const hash = calloc(count, sizeof *hash);
    t->shown_with = calloc(count, sizeof *t->shown_with);
    bool good = contents != NULL && hash != NULL && t->shown_with != NULL;
    if (good)
        absence_contents(r, g, contents);
    for (int i = 0; good && i < g->groups; i++) {
        good = !contents[i].failed;
        hash[i] = hash_of(&contents[i]);
        int same = 0;
        while (same < i && !(hash[same] == hash[i] && same_text(&contents[same], &contents[i])))
            same++;
        t->shown_with[i] = same;
    }
    for (size_t i = 0; contents != NULL && i < count; i++)
        sb_page_free(&contents[i]);
    free(contents);
    free(hash);
    return good;
}

bool sb_tally_make(struct sb_tally *t, const struct sb_report *r)
{
    memset(t, 0, sizeof *t);
    struct sb_groups by_path;
    if (!make_groups(&by_path, r, r->results, path_key))
        return false;
    const bool good = count_paths(t, r, &by_path) && order_failures(t, r, &by_path) &&
                      make_groups(&t->reasons, r, r->results, reason_key) && count_reasons(t, r) &&
                      make_groups(&t->absences, r, r->ledgers, absence_key) && join_targets(t, r) &&
                      sort_paths(t, r, &by_path);
    free_groups(&by_path);
    if (!good)
        sb_tally_free(t);
    return good;
}

void sb_tally_free(struct sb_tally *t)
{
    free(t->path);
    free(t->failure);
    free(t->shown_with);
    free(t->reason_ops);
    free(t->reason_paths);
    free_groups(&t->reasons);
    free_groups(&t->absences);
    memset(t, 0, sizeof *t);
}

bool sb_same_op(const struct sb_ledger *a, const struct sb_ledger *b)
{
    return strcmp(a->op, b->op) == 0;
}

/* ---- the verdict ---- */

static const char *meaning_of(int exit_status)
{
    switch (exit_status) {
    case 0:
        return "all that ran passed, and something ran";
    case 1:
        return "a mismatch";
    case 2:
        return "bad usage or bad input";
    case 3:
        return "nothing could run, or less than was required";
    default:
        return "not a status this program gives";
    }
}

static const char *word_of(int exit_status, bool bits_passed)
{
    switch (exit_status) {
    case 0:
        return "PASS";
    case 2:
        return "BAD INPUT";
    case 3:
        return bits_passed ? "LESS THAN REQUIRED" : "NOTHING RAN";
    default:
        return "FAIL";
    }
}

/* Relations hold of many outputs: alone they are no verdict on bits. */
static bool bits_passed(const struct sb_report *r)
{
    for (int i = 0; i < r->results; i++)
        if (sb_result_outcome(&r->result[i]) == SB_PASS && strcmp(r->result[i].variant, "relations") != 0)
            return true;
    return false;
}

/* The last line of defence against reading a run without a kernel as one. */
static bool a_kernel_passed(const struct sb_report *r)
{
    for (int i = 0; i < r->results; i++)
        if (sb_result_outcome(&r->result[i]) == SB_PASS && strcmp(r->result[i].device, "cpu") != 0)
            return true;
    return false;
}

static int64_t failed_in_ledger(const struct sb_report *r)
{
    int64_t failed = 0;
    for (int i = 0; i < r->ledgers; i++)
        if (r->ledger[i].failed > 0)
            failed += r->ledger[i].failed;
    return failed;
}

/* A verdict of "all passed" that the results do not carry is not repeated. */
static void contradict(struct sb_conclusion *v, const struct sb_report *r, const struct sb_tally *t)
{
    v->meaning[0] = '\0';
    const int64_t failed = t->count[SB_FAIL] > 0 ? t->count[SB_FAIL] : failed_in_ledger(r);
    v->word = failed > 0 ? "FAIL" : "NOTHING RAN";
    if (failed > 0)
        snprintf(v->line, sizeof v->line, "the report contradicts itself: exit status 0, but %s failed",
                 sb_count(failed).text);
    else
        snprintf(v->line, sizeof v->line, "the report contradicts itself: exit status 0, but no result passed%s",
                 t->count[SB_PASS] > 0 ? " other than relations" : "");
}

/* The verdict's own text, less the word that the renderers print before it. */
static const char *text_after_word(const char *verdict, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(verdict, word, length) == 0 && strncmp(verdict + length, ": ", 2) == 0)
        return verdict + length + 2;
    return verdict;
}

struct sb_conclusion sb_conclude(const struct sb_report *r, const struct sb_tally *t)
{
    struct sb_conclusion v = {.word = "NO VERDICT"};
    if (!r->finished) {
        snprintf(v.line, sizeof v.line, "the run was cut short: the report has no end record, so nothing is concluded");
        return v;
    }
    const bool failed = t->count[SB_FAIL] > 0 || failed_in_ledger(r) > 0; /* FAIL, whatever else went wrong as well */
    v.word = failed ? "FAIL" : word_of(r->exit_status, bits_passed(r));
    v.good = r->exit_status == 0 && !failed && bits_passed(r);
    snprintf(v.line, sizeof v.line, "%s",
             r->verdict[0] != '\0' ? text_after_word(r->verdict, v.word) : "no text was given");
    if (v.good && !a_kernel_passed(r)) {
        v.word = "PASS on CPU only";
        snprintf(v.line, sizeof v.line, "%s", text_after_word(r->verdict, v.word));
    }
    snprintf(v.meaning, sizeof v.meaning, "exit %d: %s", r->exit_status, meaning_of(r->exit_status));
    if (r->exit_status == 0 && !v.good)
        contradict(&v, r, t);
    return v;
}
