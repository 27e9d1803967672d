/* case.c - from text to a case and back. The id is printed, used as a path and hashed, so its form is strict: see
 * struct sb_case in op.h. */
#include "near.h"
#include "op.h"

#include <inttypes.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- near misses -------------------------------------------------------------------------------- */

static void append(char *text, size_t size, const char *separator, const char *word)
{
    const size_t used = strlen(text);
    if (used + 1 < size)
        snprintf(text + used, size - used, "%s%s", used > 0 ? separator : "", word);
}

/* "did you mean N, cols?" or, with nothing near, "known: N, cols, ...". */
static void near_text(const struct sb_near *near, const char *known, char *text, size_t size)
{
    char names[256];
    sb_near_list(near, names, sizeof names);
    if (names[0] == '\0')
        snprintf(text, size, "known: %s", known);
    else
        snprintf(text, size, "did you mean %s?", names);
}

static bool fail_unknown_op(const struct sb_op_list *ops, const char *name, struct sb_error *err)
{
    struct sb_near near = {.wanted = name};
    char known[512] = "", hint[600];
    for (int i = 0; i < ops->count; i++) {
        sb_near_offer(&near, ops->op[i]->name);
        append(known, sizeof known, ", ", ops->op[i]->name);
    }
    near_text(&near, known, hint, sizeof hint);
    return sb_fail(err, SB_EXIT_BAD_INPUT, "no op named '%.64s'; %s", name, hint);
}

static bool fail_unknown_param(const struct sb_op *op, const char *name, struct sb_error *err)
{
    struct sb_near near = {.wanted = name};
    char known[512] = "", hint[600];
    for (const struct sb_param_spec *p = op->params; p->name != NULL; p++) {
        sb_near_offer(&near, p->name);
        append(known, sizeof known, ", ", p->name);
    }
    near_text(&near, known, hint, sizeof hint);
    return sb_fail(err, SB_EXIT_BAD_INPUT, "%s has no parameter '%.64s'; %s", op->name, name, hint);
}

static bool fail_unknown_choice(const struct sb_op *op, const struct sb_param_spec *spec, const char *value,
                                struct sb_error *err)
{
    struct sb_near near = {.wanted = value};
    char known[512] = "", hint[600];
    for (const char *const *choice = spec->choices; *choice != NULL; choice++) {
        sb_near_offer(&near, *choice);
        append(known, sizeof known, ", ", *choice);
    }
    near_text(&near, known, hint, sizeof hint);
    return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s cannot be '%.64s'; %s", op->name, spec->name, value, hint);
}

/* ---- values ------------------------------------------------------------------------------------- */

/* Decimal, an optional minus sign, digits only. Own code: strtoll skips spaces and saturates. */
static bool parse_int64(const char *text, int64_t *value)
{
    const bool negative = text[0] == '-';
    const char *digit = negative ? text + 1 : text;
    if (*digit == '\0')
        return false;
    int64_t sum = 0; /* kept negative: INT64_MIN has no positive partner */
    for (; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9')
            return false;
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_sub_overflow(sum, *digit - '0', &sum))
            return false;
    }
    if (!negative && sum == INT64_MIN)
        return false;
    *value = negative ? sum : -sum;
    return true;
}

const char *sb_read_length(const char *text, int64_t limit, int64_t *value)
{
    if (*text < '0' || *text > '9' || (text[0] == '0' && text[1] >= '0' && text[1] <= '9'))
        return NULL;
    int64_t sum = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, *text - '0', &sum) || sum > limit)
            return NULL;
    *value = sum;
    return text;
}

static bool set_int(const struct sb_op *op, const struct sb_param_spec *spec, const char *text, struct sb_param *param,
                    struct sb_error *err)
{
    int64_t value = 0;
    if (!parse_int64(text, &value))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s needs a whole number of at most 64 bits, not '%.64s'", op->name,
                       spec->name, text);
    if (value < spec->min || value > spec->max)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s=%" PRId64 " is outside %" PRId64 "..%" PRId64, op->name,
                       spec->name, value, spec->min, spec->max);
    param->value = value;
    snprintf(param->text, sizeof param->text, "%" PRId64, value);
    return true;
}

static bool set_enum(const struct sb_op *op, const struct sb_param_spec *spec, const char *text, struct sb_param *param,
                     struct sb_error *err)
{
    for (int i = 0; spec->choices[i] != NULL; i++) {
        if (strcmp(spec->choices[i], text) != 0)
            continue;
        param->value = i;
        snprintf(param->text, sizeof param->text, "%s", text);
        return true;
    }
    return fail_unknown_choice(op, spec, text, err);
}

static bool set_text(const struct sb_op *op, const struct sb_param_spec *spec, const char *text, struct sb_param *param,
                     struct sb_error *err)
{
    if (text[0] == '\0')
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s is empty: %s", op->name, spec->name, spec->help);
    if (strlen(text) >= sizeof param->text)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: the text of %s is longer than %zu characters", op->name, spec->name,
                       sizeof param->text - 1);
    param->value = 0;
    snprintf(param->text, sizeof param->text, "%s", text);
    return true;
}

static bool set_param(const struct sb_op *op, const struct sb_param_spec *spec, const char *text,
                      struct sb_param *param, struct sb_error *err)
{
    switch (spec->kind) {
    case SB_PARAM_INT:
        return set_int(op, spec, text, param, err);
    case SB_PARAM_ENUM:
        return set_enum(op, spec, text, param, err);
    case SB_PARAM_TEXT:
        break;
    }
    return set_text(op, spec, text, param, err);
}

/* ---- the call ----------------------------------------------------------------------------------- */

/* An id is a path and a shell word: nothing that needs quoting, no "..", nothing hidden. */
static bool check_characters(const char *text, struct sb_error *err)
{
    for (const char *p = text; *p != '\0'; p++) {
        const bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
        const bool digit = *p >= '0' && *p <= '9';
        if (letter || digit || strchr("=,.+-_", *p) != NULL)
            continue;
        return sb_fail(
            err, SB_EXIT_BAD_INPUT,
            "character 0x%02x at position %td of a call: only letters, digits and = , . + - _ may stand there",
            (unsigned)(unsigned char)*p, p - text);
    }
    return true;
}

static int find_param(const struct sb_op *op, const char *name)
{
    for (int i = 0; op->params[i].name != NULL; i++)
        if (strcmp(op->params[i].name, name) == 0)
            return i;
    return -1;
}

/* One "name=value" into the case. */
static bool take_assignment(struct sb_case *c, char *assignment, bool seen[SB_MAX_PARAMS], struct sb_error *err)
{
    char *equals = strchr(assignment, '=');
    if (equals == NULL || equals == assignment)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: '%.64s' is not name=value", c->op->name, assignment);
    *equals = '\0';
    const int i = find_param(c->op, assignment);
    if (i < 0)
        return fail_unknown_param(c->op, assignment, err);
    if (seen[i])
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s is given twice", c->op->name, assignment);
    seen[i] = true;
    return set_param(c->op, &c->op->params[i], equals + 1, &c->param[i], err);
}

static bool fill_defaults(struct sb_case *c, const bool seen[SB_MAX_PARAMS], struct sb_error *err)
{
    for (int i = 0; c->op->params[i].name != NULL; i++) {
        const struct sb_param_spec *spec = &c->op->params[i];
        if (seen[i])
            continue;
        if (spec->standard == NULL)
            return sb_fail(err, SB_EXIT_BAD_INPUT, "%s needs %s=...: %s", c->op->name, spec->name, spec->help);
        if (!set_param(c->op, spec, spec->standard, &c->param[i], err))
            return false;
    }
    return true;
}

bool sb_case_print(const struct sb_case *c, char *id, size_t size)
{
    int used = snprintf(id, size, "%s/", c->op->name);
    const char *separator = "";
    for (int i = 0; c->op->params[i].name != NULL; i++) {
        const struct sb_param_spec *spec = &c->op->params[i];
        if (spec->standard != NULL && strcmp(spec->standard, c->param[i].text) == 0)
            continue;
        if (used < 0 || (size_t)used >= size)
            return false;
        used += snprintf(id + used, size - (size_t)used, "%s%s=%s", separator, spec->name, c->param[i].text);
        separator = ",";
    }
    return used >= 0 && (size_t)used < size;
}

static uint64_t seed_of(const char *id)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(digest, (const unsigned char *)id, strlen(id));
    uint64_t seed = 0;
    for (int byte = 7; byte >= 0; byte--)
        seed = seed << 8 | digest[byte];
    return seed;
}

/* Everything of a case but its row. */
static bool parse_call(struct sb_case *c, const struct sb_op *op, const char *call, struct sb_error *err)
{
    memset(c, 0, sizeof *c);
    c->op = op;
    char text[SB_ID_SIZE * 2]; /* room for defaults written out and for another order */
    if (strlen(call) >= sizeof text)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: a call of %zu characters is too long (at most %zu)", op->name,
                       strlen(call), sizeof text - 1);
    if (!check_characters(call, err))
        return false;
    snprintf(text, sizeof text, "%s", call);
    bool seen[SB_MAX_PARAMS] = {false};
    for (char *at = text; at != NULL && text[0] != '\0';) {
        char *comma = strchr(at, ',');
        if (comma != NULL)
            *comma = '\0';
        if (!take_assignment(c, at, seen, err))
            return false;
        at = comma == NULL ? NULL : comma + 1;
    }
    if (!fill_defaults(c, seen, err))
        return false;
    if (!sb_case_print(c, c->id, sizeof c->id))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: the id of this call is longer than %d characters", op->name,
                       SB_ID_SIZE - 1);
    if (op->resolve != NULL)
        op->resolve(c);
    if (op->validate != NULL && !op->validate(c, err))
        return sb_fail_context(err, "%s", c->id);
    c->seed = seed_of(c->id);
    return true;
}

static void take_row(struct sb_case *c, const struct sb_case_row *row)
{
    c->suites = row->suites;
    snprintf(c->reason, sizeof c->reason, "%s", row->reason);
}

bool sb_case_parse(struct sb_case *c, const struct sb_op_list *ops, const char *id, struct sb_error *err)
{
    const char *slash = strchr(id, '/');
    if (slash == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "'%.64s' is not a case: write op/name=value,...", id);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(slash - id < 63 ? slash - id : 63), id);
    const struct sb_op *op = NULL;
    for (int i = 0; i < ops->count; i++)
        if (strcmp(ops->op[i]->name, name) == 0)
            op = ops->op[i];
    if (op == NULL)
        return fail_unknown_op(ops, name, err);
    if (!parse_call(c, op, slash + 1, err))
        return false;
    /* Rows are written in canonical form (a test holds that), so text decides. */
    const char *canonical = strchr(c->id, '/') + 1;
    for (const struct sb_case_row *row = op->cases; row->call != NULL; row++)
        if (strcmp(row->call, canonical) == 0)
            take_row(c, row);
    return true;
}

bool sb_case_from_row(struct sb_case *c, const struct sb_op *op, int i, struct sb_error *err)
{
    if (!parse_call(c, op, op->cases[i].call, err))
        return sb_fail_context(err, "row %d of %s", i, op->name);
    take_row(c, &op->cases[i]);
    return true;
}

/* ---- access ------------------------------------------------------------------------------------- */

static const struct sb_param *param_of(const struct sb_case *c, const char *name)
{
    const int i = find_param(c->op, name);
    if (i < 0) { /* a mistake in the program, not in its input */
        fprintf(stderr, "%s has no parameter '%s'\n", c->op->name, name);
        abort();
    }
    return &c->param[i];
}

int64_t sb_case_int(const struct sb_case *c, const char *name)
{
    return param_of(c, name)->value;
}

const char *sb_case_text(const struct sb_case *c, const char *name)
{
    return param_of(c, name)->text;
}
