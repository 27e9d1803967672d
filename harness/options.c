/* options.c - getopt_long driven by the tables of options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HELP = 1000, FIRST = 2000 }; /* getopt's values: --help, and the options of a table; no letter among them */

static int option_count(const struct sb_option_table *table)
{
    int n = 0;
    while (table->options[n].name != NULL)
        n++;
    return n;
}

static int option_index(const struct sb_options *o, const char *name)
{
    for (int i = 0; o->table->options[i].name != NULL; i++)
        if (strcmp(o->table->options[i].name, name) == 0)
            return i;
    fprintf(stderr, "samebits: the verb %s has no option --%s\n", o->table->verb, name);
    abort();
}

static bool parse_int(const char *text, int64_t *value)
{
    char *end = NULL;
    errno = 0;
    const long long v = strtoll(text, &end, 10);
    *value = v;
    return errno == 0 && end != text && *end == '\0';
}

/* "a,,b", ",": the word that is missing was meant to select something. */
static bool has_empty_word(const char *list)
{
    const size_t length = strlen(list);
    return list[0] == ',' || (length > 0 && list[length - 1] == ',') || strstr(list, ",,") != NULL;
}

static bool check_value(const struct sb_option_table *table, const struct sb_option *option, const char *text,
                        struct sb_error *err)
{
    int64_t v = 0;
    if (option->kind == SB_OPT_INT && !(parse_int(text, &v) && v >= option->min && v <= option->max))
        return sb_fail(err, SB_EXIT_BAD_INPUT,
                       "--%s %s: expected a whole number from %" PRId64 " to %" PRId64 " (see: samebits %s --help)",
                       option->name, text, option->min, option->max, table->verb);
    if (option->kind != SB_OPT_FLAG && text[0] == '\0')
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--%s: the value is empty (see: samebits %s --help)", option->name,
                       table->verb);
    if (option->kind == SB_OPT_LIST && has_empty_word(text))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "--%s %s: a word between the commas is empty (see: samebits %s --help)",
                       option->name, text, table->verb);
    return true;
}

static struct option *getopt_table(const struct sb_option_table *table)
{
    const int n = option_count(table);
    struct option *g = calloc((size_t)n + 2, sizeof *g);
    if (g == NULL)
        return NULL;
    for (int i = 0; i < n; i++) {
        g[i].name = table->options[i].name;
        g[i].has_arg = table->options[i].kind == SB_OPT_FLAG ? no_argument : required_argument;
        g[i].val = FIRST + i;
    }
    g[n].name = "help";
    g[n].val = HELP;
    return g;
}

/* getopt tells a refused short option by its letter ("-xy" may be half read), a long one by its place only. */
static const char *refused(int argc, char **argv, char letter[3])
{
    if (optopt > ' ' && optopt < HELP) {
        snprintf(letter, 3, "-%c", optopt);
        return letter;
    }
    return optind > 0 && optind <= argc ? argv[optind - 1] : "";
}

static bool parse_all(struct sb_options *o, const struct option *g, int argc, char **argv, struct sb_error *err)
{
    const struct sb_option_table *table = o->table;
    char letter[3];
    optind = 0; /* glibc: start over, also when called a second time */
    opterr = 0;
    for (;;) {
        optopt = 0; /* getopt leaves it alone for a long option that nobody knows */
        const int got = getopt_long(argc, argv, ":h", g, NULL);
        if (got == -1)
            break;
        if (got == HELP || got == 'h') {
            o->help = true;
        } else if (got == ':') {
            return sb_fail(err, SB_EXIT_BAD_INPUT, "%s needs a value (see: samebits %s --help)",
                           refused(argc, argv, letter), table->verb);
        } else if (got == '?') {
            return sb_fail(err, SB_EXIT_BAD_INPUT,
                           "%s: unknown option, ambiguous, or one that takes no value (see: samebits %s --help)",
                           refused(argc, argv, letter), table->verb);
        } else {
            const char *text = optarg != NULL ? optarg : "";
            if (!check_value(table, &table->options[got - FIRST], text, err))
                return false;
            o->value[o->count++] = (struct sb_option_value){got - FIRST, text};
        }
    }
    o->operand = (const char *const *)(argv + optind);
    const int operands = argc - optind;
    if (o->help || operands == table->operand_count)
        return true;
    if (operands > table->operand_count)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "stray argument '%s' (see: samebits %s --help)",
                       argv[optind + table->operand_count], table->verb);
    return sb_fail(err, SB_EXIT_BAD_INPUT, "expected %s (see: samebits %s --help)", table->operands, table->verb);
}

bool sb_options_parse(struct sb_options *o, const struct sb_option_table *table, int argc, char **argv,
                      struct sb_error *err)
{
    memset(o, 0, sizeof *o);
    o->table = table;
    o->program = "samebits";
    struct option *g = getopt_table(table);
    o->value = calloc((size_t)argc + 1, sizeof *o->value);
    const bool ok = g != NULL && o->value != NULL ? parse_all(o, g, argc, argv, err)
                                                  : sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
    free(g);
    return ok;
}

void sb_options_free(struct sb_options *o)
{
    free(o->value);
    o->value = NULL;
    o->count = 0;
}

void sb_options_help(FILE *f, const char *program, const struct sb_option_table *table)
{
    fprintf(f, "%s %s%s%s%s\n\n%s\n\nOptions:\n", program, table->verb,
            table->options[0].name != NULL ? " [OPTIONS]" : "", table->operands[0] != '\0' ? " " : "", table->operands,
            table->summary);
    for (const struct sb_option *p = table->options; p->name != NULL; p++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", p->name, p->argument != NULL ? " " : "",
                 p->argument != NULL ? p->argument : "");
        fprintf(f, "  %-26s %s", left, p->help);
        if (p->kind == SB_OPT_LIST)
            fprintf(f, "; may be repeated");
        if (p->standard != NULL)
            fprintf(f, " (default: %s)", p->standard);
        fputc('\n', f);
    }
    fprintf(f, "  %-26s %s\n", "--help", "this text");
    if (table->notes[0] != '\0')
        fprintf(f, "\n%s\n", table->notes);
}

static const char *last_value(const struct sb_options *o, int option)
{
    const char *text = o->table->options[option].standard;
    for (int i = 0; i < o->count; i++)
        if (o->value[i].option == option)
            text = o->value[i].text;
    return text;
}

bool sb_option_given(const struct sb_options *o, const char *name)
{
    const int option = option_index(o, name);
    for (int i = 0; i < o->count; i++)
        if (o->value[i].option == option)
            return true;
    return false;
}

bool sb_option_flag(const struct sb_options *o, const char *name)
{
    return sb_option_given(o, name);
}

const char *sb_option_text(const struct sb_options *o, const char *name)
{
    return last_value(o, option_index(o, name));
}

int64_t sb_option_int(const struct sb_options *o, const char *name)
{
    int64_t v = 0;
    const char *text = last_value(o, option_index(o, name));
    if (text == NULL || !parse_int(text, &v)) {
        fprintf(stderr, "samebits: option --%s has no number\n", name);
        abort();
    }
    return v;
}

const char *sb_option_list(const struct sb_options *o, const char *name, int i)
{
    const int option = option_index(o, name);
    for (int k = 0; k < o->count; k++)
        if (o->value[k].option == option && i-- == 0)
            return o->value[k].text;
    return NULL;
}
