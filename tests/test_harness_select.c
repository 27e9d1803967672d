/* Which cases --suite, --op and --case select, on the made-up op. */
#include "harness_fake.h"

#include "../harness/select.h"

#include "check_main.h"

static const struct sb_option options[] = {SB_SELECT_OPTIONS, {0}};
static const struct sb_option_table table = {"verb", "summary", "", 0, options, ""};

static struct sb_selection selected;
static struct sb_error err;

static bool choose(const char *line, bool all_by_default)
{
    static char words[512];
    static char *argv[12];
    char *save = NULL;
    int argc = 0;
    struct sb_options o;
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok_r(words, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    argv[argc] = NULL;
    memset(&err, 0, sizeof err);
    ck_assert(sb_options_parse(&o, &table, argc, argv, &err));
    sb_selection_free(&selected);
    const bool ok = sb_select(&selected, &fake_table, &o, all_by_default, &err);
    sb_options_free(&o);
    return ok;
}

static void expect(const char *line, const char *ids)
{
    char got[512] = "";
    ck_assert_msg(choose(line, false), "%s: %s", line, err.text);
    for (int i = 0; i < selected.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i > 0 ? " " : "", selected.c[i].id);
    ck_assert_str_eq(got, ids);
}

static void refuse(const char *line, const char *text)
{
    ck_assert_msg(!choose(line, false), "taken: %s", line);
    ck_assert_int_eq(err.exit, SB_EXIT_BAD_INPUT);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s: '%s' lacks '%s'", line, err.text, text);
}

START_TEST(suites_and_ops)
{
    expect("v --suite smoke", "fake/n=1000 fake/n=0");
    expect("v --suite standard", "fake/n=1000 fake/n=16,reject=1 fake/n=20,after=500");
    expect("v --suite smoke,standard", "fake/n=1000 fake/n=0 fake/n=16,reject=1 fake/n=20,after=500");
    expect("v --suite standard --suite smoke", "fake/n=1000 fake/n=0 fake/n=16,reject=1 fake/n=20,after=500");
    ck_assert_str_eq(selected.suites, "smoke,standard");
    ck_assert(!selected.filtered);
    expect("v --op fake --suite smoke", "fake/n=1000 fake/n=0");
    ck_assert(selected.filtered);
    expect("v --suite arguments", "fake/n=3,reject=1");
    ck_assert_str_eq(selected.suites, "arguments");
    expect("v --op fake", "fake/n=1000 fake/n=0 fake/n=16,reject=1 fake/n=20,after=500 fake/n=3,reject=1");
    ck_assert_str_eq(selected.suites, "selection");
    ck_assert(choose("v", true));
    ck_assert_int_eq(selected.count, 5);
}
END_TEST

START_TEST(limits)
{
    expect("v --suite smoke,standard --limit 3", "fake/n=1000 fake/n=0 fake/n=16,reject=1");
    ck_assert(selected.filtered);
    ck_assert_int_eq(selected.cut_from, 4);
    expect("v --suite smoke --limit 2", "fake/n=1000 fake/n=0"); /* cuts nothing: a full run */
    ck_assert(!selected.filtered);
    ck_assert_int_eq(selected.cut_from, 0);
    expect("v --suite smoke --limit 1000000", "fake/n=1000 fake/n=0");
    expect("v --case fake/n=0 --case fake/n=1000 --limit 1", "fake/n=0"); /* in the order asked for */
    refuse("v --limit 2", "say which cases");                             /* it selects nothing by itself */
    ck_assert(choose("v --limit 2", true));
    ck_assert_int_eq(selected.count, 2);
    refuse("v --suite smoke,seed --limit 1", "--suite seed: none of the ");
}
END_TEST

/* A word that adds no case would read as checked. */
START_TEST(every_word_selects)
{
    refuse("v --suite smoke,seed", "--suite seed: none of the ");
    refuse("v --suite smoke --suite seed", "--suite seed: none of the ");
    expect("v --suite smoke,arguments --case fake/n=0", "fake/n=0");      /* the other suite is not empty */
    expect("v --suite smoke,standard --case fake/n=1000", "fake/n=1000"); /* a case of both */
}
END_TEST

START_TEST(cases)
{
    expect("v --case fake/n=1000", "fake/n=1000");
    expect("v --case fake/reject=1,n=16", "fake/n=16,reject=1"); /* any order in, the id out */
    expect("v --case fake/n=20,after=500 --case fake/n=0", "fake/n=20,after=500 fake/n=0");
    expect("v --case fake/n=0 --case fake/n=0", "fake/n=0");
    expect("v --case *reject*", "fake/n=16,reject=1 fake/n=3,reject=1");
    expect("v --case fake/n=?", "fake/n=0");
    expect("v --suite smoke --case fake/*", "fake/n=1000 fake/n=0");
    expect("v --case fake/n=77", "fake/n=77"); /* no suite lists it */
    ck_assert_int_eq(selected.c[0].suites, 0);
    expect("v --case fake/n=0,reject=0", "fake/n=0"); /* a default spelt out */
}
END_TEST

START_TEST(refusals)
{
    refuse("v", "say which cases");
    refuse("v --suite smok", "no suite 'smok'; nearest: smoke");
    refuse("v --op fkae", "no op 'fkae'; nearest: fake");
    refuse("v --case fake", "an id reads op/name=value");
    refuse("v --case fake/n=100O", "no case 'fake/n=100O'");
    refuse("v --case fake/n=100O", "n needs a whole number"); /* the reason is enough: no id is nearer to it */
    ck_assert_ptr_null(strstr(err.text, "nearest"));
    refuse("v --case fkae/n=0", "no op 'fkae'); nearest: fake");
    refuse("v --case fkae/*", "no op 'fkae'); nearest: fake");
    refuse("v --case nope", "no case 'nope' (no op 'nope')");
    ck_assert_ptr_null(strstr(err.text, "nearest")); /* whatever id is shortest is near to nothing */
    refuse("v --case fake/m=0", "no case 'fake/m=0'");
    refuse("v --case fake/*zzz*", "no case matches");
    refuse("v --suite smoke --case fake/n=16,reject=1", "is not in that suite (standard)");
    refuse("v --suite smoke --case fake/n=77", "no suite lists it");
    refuse("v --suite smoke --case *reject*", "no case matches");
    refuse("v --suite seed", "nothing is selected");
}
END_TEST

/* Selects among the cases of a set: fake/n=1000, fake/n=16,reject=1 and the ad hoc fake/n=78. */
static bool choose_within(const char *line)
{
    static char words[512];
    static char *argv[12];
    static const char *const ids[] = {"fake/n=1000", "fake/n=16,reject=1", "fake/n=78"};
    char *save = NULL;
    int argc = 0;
    struct sb_selection set = {0};
    struct sb_options o;
    memset(&err, 0, sizeof err);
    for (int i = 0; i < 3; i++) {
        struct sb_case c;
        ck_assert(sb_case_parse(&c, &fake_table.list, ids[i], &err) && sb_select_add(&set, &c, &err));
    }
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok_r(words, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    argv[argc] = NULL;
    ck_assert(sb_options_parse(&o, &table, argc, argv, &err));
    sb_selection_free(&selected);
    const bool ok = sb_select_within(&selected, &fake_table, &o, &set, &err);
    sb_options_free(&o);
    sb_selection_free(&set);
    return ok;
}

START_TEST(within_a_set)
{
    ck_assert(choose_within("v"));
    ck_assert_int_eq(selected.count, 3);
    ck_assert(choose_within("v --op fake"));
    ck_assert_int_eq(selected.count, 3);
    ck_assert(choose_within("v --limit 2"));
    ck_assert_int_eq(selected.count, 2);
    ck_assert_int_eq(selected.cut_from, 3);
    ck_assert(choose_within("v --suite standard"));
    ck_assert_int_eq(selected.count, 2);
    ck_assert(choose_within("v --case *n=7*"));
    ck_assert_int_eq(selected.count, 1);
    ck_assert(choose_within("v --case fake/n=78"));
    ck_assert(!choose_within("v --case fake/n=0")); /* a case, but not of this set */
    ck_assert_ptr_nonnull(strstr(err.text, "is not one of the 3 of this set"));
    ck_assert(!choose_within("v --suite seed"));
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("select");
    TCase *t = tcase_create("all");
    tcase_add_test(t, suites_and_ops);
    tcase_add_test(t, limits);
    tcase_add_test(t, every_word_selects);
    tcase_add_test(t, cases);
    tcase_add_test(t, refusals);
    tcase_add_test(t, within_a_set);
    suite_add_tcase(s, t);
    return s;
}
