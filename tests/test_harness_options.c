/* One table per verb drives parser, help and defaults: they cannot disagree. And the small text helpers. */
#include "../harness/options.h"

#include <stdlib.h>
#include <string.h>

#include "../harness/text.h"
#include "../harness/verbs.h"

#include "check_main.h"

/* The help text of a verb; valid until the next call. */
static char *help_of(const struct sb_option_table *table)
{
    static char text[8192];
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text - 1, "w");
    ck_assert_ptr_nonnull(f);
    sb_options_help(f, "samebits", table);
    ck_assert_int_eq(fclose(f), 0);
    return text;
}

enum { MAX_ARGS = 12 };

/* Parses a command line given as words with blanks between them. */
static bool parse(const struct sb_option_table *table, const char *line, struct sb_options *o, struct sb_error *err)
{
    static char words[512];
    char *argv[MAX_ARGS], *save = NULL;
    static char *kept[MAX_ARGS];
    int argc = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok_r(words, " ", &save); w != NULL && argc + 1 < MAX_ARGS; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    argv[argc] = NULL;
    memcpy(kept, argv, sizeof argv);
    memset(err, 0, sizeof *err);
    return sb_options_parse(o, table, argc, kept, err);
}

/* A value that the option accepts. */
static const char *good_value(const struct sb_option *option, char *buf, size_t size)
{
    snprintf(buf, size, option->kind == SB_OPT_INT ? "%lld" : "word", (long long)option->min);
    return buf;
}

START_TEST(every_verb_explains_every_option_it_takes)
{
    for (int k = 0; sb_verbs[k] != NULL; k++) {
        const struct sb_option_table *table = sb_verbs[k]->table;
        char *help = help_of(table), value[32], line[256];
        ck_assert_ptr_nonnull(strstr(help, table->summary));
        for (const struct sb_option *p = table->options; p->name != NULL; p++) {
            char shown[128];
            snprintf(shown, sizeof shown, "--%s%s%s ", p->name, p->argument != NULL ? " " : "",
                     p->argument != NULL ? p->argument : "");
            ck_assert_msg(strstr(help, shown) != NULL, "%s --help lacks '%s'", table->verb, shown);
            ck_assert_msg((p->argument == NULL) == (p->kind == SB_OPT_FLAG), "--%s: argument and kind disagree",
                          p->name);
            snprintf(line, sizeof line, "verb --%s %s", p->name,
                     p->kind == SB_OPT_FLAG ? "" : good_value(p, value, sizeof value));
            for (int i = 0; i < table->operand_count; i++)
                sb_append(line, sizeof line, " operand");
            struct sb_options o;
            struct sb_error err;
            ck_assert_msg(parse(table, line, &o, &err), "%s: %s", line, err.text);
            ck_assert(sb_option_given(&o, p->name));
            sb_options_free(&o);
        }
    }
}
END_TEST

START_TEST(help_shows_no_option_that_is_not_taken)
{
    for (int k = 0; sb_verbs[k] != NULL; k++) {
        const struct sb_option_table *table = sb_verbs[k]->table;
        char *help = help_of(table), name[64];
        for (const char *p = strstr(help, "\n  --"); p != NULL; p = strstr(p + 1, "\n  --")) {
            ck_assert_int_eq(sscanf(p, "\n  --%63[a-z-]", name), 1);
            bool known = strcmp(name, "help") == 0;
            for (const struct sb_option *q = table->options; q->name != NULL; q++)
                known = known || strcmp(q->name, name) == 0;
            ck_assert_msg(known, "%s --help shows --%s", table->verb, name);
        }
    }
}
END_TEST

START_TEST(defaults_in_help_are_the_parsers)
{
    for (int k = 0; sb_verbs[k] != NULL; k++) {
        const struct sb_option_table *table = sb_verbs[k]->table;
        char *help = help_of(table), line[128] = "verb";
        struct sb_options o;
        struct sb_error err;
        for (int i = 0; i < table->operand_count; i++)
            sb_append(line, sizeof line, " operand");
        ck_assert(parse(table, line, &o, &err));
        for (const struct sb_option *p = table->options; p->name != NULL; p++) {
            char shown[128], row[32];
            if (p->kind != SB_OPT_LIST && p->kind != SB_OPT_FLAG)
                ck_assert_ptr_eq(sb_option_text(&o, p->name), p->standard);
            snprintf(row, sizeof row, "\n  --%s ", p->name);
            char *start = strstr(help, row), *end = start != NULL ? strchr(start + 1, '\n') : NULL;
            ck_assert_ptr_nonnull(end);
            *end = '\0';
            snprintf(shown, sizeof shown, "(default: %s)", p->standard != NULL ? p->standard : "");
            ck_assert_int_eq(strstr(start, p->standard != NULL ? shown : "(default") != NULL, p->standard != NULL);
            *end = '\n';
            if (p->kind == SB_OPT_INT && p->standard != NULL)
                ck_assert(sb_option_int(&o, p->name) >= p->min && sb_option_int(&o, p->name) <= p->max);
        }
        sb_options_free(&o);
    }
}
END_TEST

static const struct sb_option options[] = {
    {"suite", SB_OPT_LIST, "S", NULL, 0, 0, "list"},
    {"json", SB_OPT_FLAG, NULL, NULL, 0, 0, "flag"},
    {"out", SB_OPT_TEXT, "DIR", "here", 0, 0, "text"},
    {"timeout", SB_OPT_INT, "N", "120", 1, 600, "number"},
    {0},
};
static const struct sb_option_table plain = {"plain", "summary", "", 0, options, ""};
static const struct sb_option_table two = {"two", "summary", "A B", 2, options, ""};

START_TEST(values)
{
    struct sb_options o;
    struct sb_error err;
    ck_assert(parse(&plain, "plain --suite a,b --out x --suite=c --json --timeout 5 --out y", &o, &err));
    ck_assert_str_eq(sb_option_list(&o, "suite", 0), "a,b");
    ck_assert_str_eq(sb_option_list(&o, "suite", 1), "c");
    ck_assert_ptr_null(sb_option_list(&o, "suite", 2));
    ck_assert_str_eq(sb_option_text(&o, "out"), "y");
    ck_assert(sb_option_flag(&o, "json"));
    ck_assert_int_eq(sb_option_int(&o, "timeout"), 5);
    sb_options_free(&o);
    ck_assert(parse(&plain, "plain", &o, &err));
    ck_assert_str_eq(sb_option_text(&o, "out"), "here");
    ck_assert_int_eq(sb_option_int(&o, "timeout"), 120);
    ck_assert(!sb_option_flag(&o, "json"));
    ck_assert(!sb_option_given(&o, "out"));
    sb_options_free(&o);
    ck_assert(parse(&two, "two first --json second", &o, &err));
    ck_assert_str_eq(o.operand[0], "first");
    ck_assert_str_eq(o.operand[1], "second");
    sb_options_free(&o);
}
END_TEST

static void refused(const struct sb_option_table *table, const char *line, const char *text)
{
    struct sb_options o;
    struct sb_error err;
    ck_assert_msg(!parse(table, line, &o, &err), "taken: %s", line);
    ck_assert_int_eq(err.exit, SB_EXIT_BAD_INPUT);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s: '%s' lacks '%s'", line, err.text, text);
    ck_assert_msg(strstr(err.text, "--help") != NULL, "%s: no hint in '%s'", line, err.text);
    sb_options_free(&o);
}

START_TEST(refusals)
{
    refused(&plain, "plain --bogus", "--bogus: unknown option");
    refused(&plain, "plain -x", "-x: unknown option");
    refused(&plain, "plain --json -xy", "-x: unknown option");
    refused(&plain, "plain --suite ,", "is empty");
    refused(&plain, "plain --suite a,,b", "is empty");
    refused(&plain, "plain --suite a,", "is empty");
    refused(&plain, "plain --suite ,a", "is empty");
    refused(&plain, "plain --suite", "--suite needs a value");
    refused(&plain, "plain --json=yes", "takes no value");
    refused(&plain, "plain stray", "stray argument 'stray'");
    refused(&plain, "plain --timeout 0", "from 1 to 600");
    refused(&plain, "plain --timeout 601", "from 1 to 600");
    refused(&plain, "plain --timeout 5s", "a whole number");
    refused(&plain, "plain --timeout=", "a whole number");
    refused(&plain, "plain --out=", "the value is empty");
    refused(&two, "two one", "expected A B");
    refused(&two, "two one two three", "stray argument 'three'");
}
END_TEST

START_TEST(help_needs_nothing_else)
{
    struct sb_options o;
    struct sb_error err;
    ck_assert(parse(&two, "two --help", &o, &err));
    ck_assert(o.help);
    sb_options_free(&o);
}
END_TEST

START_TEST(words)
{
    char word[8], quoted[64];
    const char *cursor = ",a,,bb,123456789,";
    ck_assert(sb_next_word(&cursor, ',', word, sizeof word));
    ck_assert_str_eq(word, "a");
    ck_assert(sb_next_word(&cursor, ',', word, sizeof word));
    ck_assert_str_eq(word, "bb");
    ck_assert(sb_next_word(&cursor, ',', word, sizeof word));
    ck_assert_str_eq(word, "1234567");
    ck_assert(!sb_next_word(&cursor, ',', word, sizeof word));
    ck_assert(sb_word_in("a,bc", "bc"));
    ck_assert(!sb_word_in("a,bc", "b"));
    ck_assert_str_eq(sb_shell_quote("op/n=1,m=2+3", quoted, sizeof quoted), "op/n=1,m=2+3");
    ck_assert_str_eq(sb_shell_quote("a*'b", quoted, sizeof quoted), "'a*'\\''b'");
    ck_assert_str_eq(sb_shell_quote("", quoted, sizeof quoted), "''");
    char tight[8];
    ck_assert_str_eq(sb_shell_quote("a b c", tight, sizeof tight), "'a b c'");
    ck_assert_ptr_null(sb_shell_quote("a b cd", tight, sizeof tight)); /* half a word would be another one */
    char lines[32] = "";
    sb_append_line(lines, sizeof lines, "%d", 1);
    sb_append_line(lines, sizeof lines, "two");
    ck_assert_str_eq(lines, "1\ntwo");
    char small[6] = "";
    sb_append(small, sizeof small, "%s", "abcdefgh");
    sb_append(small, sizeof small, "x");
    ck_assert_str_eq(small, "abcde");
}
END_TEST

START_TEST(a_line_stays_one_line)
{
    char text[256] = "";
    FILE *f = fmemopen(text, sizeof text, "w");
    sb_print_line(f, "%s: %d", "a\nb\x1b[31m\xff\t\xc2\x9b", 7);
    fclose(f);
    ck_assert_str_eq(text, "a\\nb\\x1b[31m\xef\xbf\xbd\\t\xef\xbf\xbd: 7\n");
}
END_TEST

START_TEST(near_misses)
{
    char text[128];
    struct sb_near near = {.wanted = "smok"};
    sb_near_offer(&near, "standard");
    sb_near_offer(&near, "seed");
    sb_near_offer(&near, "smoke");
    sb_near_text(&near, text, sizeof text);
    ck_assert_msg(strncmp(text, "; nearest: smoke", 16) == 0, "%s", text);
    struct sb_near far = {.wanted = "nope"};
    sb_near_offer(&far, "scale_pack");
    ck_assert_str_eq(sb_near_text(&far, text, sizeof text), "");
    struct sb_near none = {.wanted = "x"};
    ck_assert_str_eq(sb_near_text(&none, text, sizeof text), "");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("options");
    TCase *t = tcase_create("all");
    tcase_add_test(t, every_verb_explains_every_option_it_takes);
    tcase_add_test(t, help_shows_no_option_that_is_not_taken);
    tcase_add_test(t, defaults_in_help_are_the_parsers);
    tcase_add_test(t, values);
    tcase_add_test(t, refusals);
    tcase_add_test(t, help_needs_nothing_else);
    tcase_add_test(t, words);
    tcase_add_test(t, a_line_stays_one_line);
    tcase_add_test(t, near_misses);
    suite_add_tcase(s, t);
    return s;
}
