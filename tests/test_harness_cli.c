/* The program as its users call it: every verb's exit statuses, on a machine with or without a GPU. Makes its own
 * golden set in a temporary folder. Needs build/samebits beside this program. */
#define _GNU_SOURCE /* mkdtemp, setenv */
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_main.h"

static char program[PATH_MAX], folder[64], output[1 << 20];

/* Runs a shell command in which $S is the program and $D the folder; stdout and stderr land in `output`. */
static int shell(const char *command)
{
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    const size_t n = fread(output, 1, sizeof output - 1, f);
    output[n] = '\0';
    const int status = pclose(f);
    ck_assert_msg(WIFEXITED(status), "%s: ended by a signal", command);
    return WEXITSTATUS(status);
}

static void expect(int status, const char *text, const char *command)
{
    char all[2048];
    snprintf(all, sizeof all, "( %s ) 2>&1", command);
    const int got = shell(all);
    ck_assert_msg(got == status, "%s: exit %d, wanted %d\n%s", command, got, status, output);
    ck_assert_msg(strstr(output, text) != NULL, "%s: no '%s' in\n%s", command, text, output);
}

static void set_up(void)
{
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 16);
    ck_assert_int_gt(n, 0);
    program[n] = '\0';
    strcpy(strrchr(program, '/') + 1, "samebits");
    ck_assert_msg(access(program, X_OK) == 0, "%s is not there: build the target samebits first", program);
    snprintf(folder, sizeof folder, "/tmp/samebits-cli-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("S", program, 1);
    setenv("D", folder, 1);
    setenv("TERM", "dumb", 1);
    char root[128];
    snprintf(root, sizeof root, "%s/golden", folder);
    setenv("SAMEBITS_GOLDEN", root, 1);
    ck_assert_int_eq(shell("mkdir -p $D/golden/digests && $S golden make --suite smoke --out $D/golden/smoke "
                           "--digests $D/golden/digests/smoke.json 2>&1"),
                     0);
}

static void tear_down(void)
{
    ck_assert_int_eq(shell("rm -rf $D"), 0);
}

START_TEST(usage)
{
    expect(2, "VERB [OPTIONS]", "$S");
    expect(0, "golden verify", "$S --help");
    expect(0, "VERB", "$S help");
    expect(0, "samebits ", "$S --version");
    expect(2, "nearest: check", "$S chek");
    expect(2, "nearest: golden make", "$S golden mak");
    expect(2, "no verb 'golden'", "$S golden");
    static const char *const verbs[] = {"info", "list", "check", "golden make", "golden verify", "diff"};
    for (int i = 0; i < 6; i++) {
        char command[64];
        snprintf(command, sizeof command, "$S %s --help", verbs[i]);
        expect(0, "--help", command);
        snprintf(command, sizeof command, "$S %s --bogus", verbs[i]);
        expect(2, "--bogus: unknown option", command);
    }
    expect(2, "could not be written", "$S info > /dev/full");
}
END_TEST

START_TEST(info_and_list)
{
    expect(0, "wgrad_varlen_k", "$S info");
    expect(0, "(cases in smoke / standard / seed / arguments)", "$S info");
    expect(0, "\"arguments\"", "$S info --json");
    expect(0, "topk=33", "$S list --suite arguments");
    ck_assert_int_eq(shell("$S info --json 2>/dev/null"), 0);
    json_t *info = json_loads(output, 0, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(info, "ops")), 5);
    json_decref(info);
    expect(0, "topk_metadata/", "$S list --suite smoke --op topk_metadata");
    expect(0, "mma_sync", "$S list --variants");
    ck_assert_int_eq(shell("$S list --suite smoke --json 2>/dev/null"), 0);
    json_t *cases = json_loads(output, 0, NULL);
    ck_assert_uint_gt(json_array_size(cases), 20);
    ck_assert_str_ne(json_string_value(json_object_get(json_array_get(cases, 0), "reason")), "");
    json_decref(cases);
    expect(2, "no suite 'tiny'", "$S list --suite tiny");
}
END_TEST

START_TEST(check_passes_on_the_cpu)
{
    expect(0, "PASS", "$S check --suite smoke --device cpu");
    expect(0, "left out by --device cpu", "$S check --suite smoke --device cpu"); /* the ledger */
    expect(0, "NOTE: a partial run", "$S check --suite smoke --op scale_pack --device cpu --variant ref");
    expect(0, "PASS", "$S check --golden $D/golden/smoke --device cpu");
    expect(0, "PASS", "cd / && $S check --case 'wgrad_varlen_k/*' --suite smoke --device cpu");
}
END_TEST

START_TEST(check_refuses)
{
    expect(2, "say which cases", "$S check");
    expect(2, "nearest: topk_metadata/", "$S check --case topk_metdata");
    expect(2, "no suite", "$S check --suite smokey");
    expect(2, "no op", "$S check --op wgrad");
    expect(2, "nearest: ref", "$S check --suite smoke --variant reff");
    expect(2, "--device", "$S check --suite smoke --device gpu0");
    expect(2, "--device", "$S check --suite smoke --device -1");
    expect(2, "--timeout", "$S check --suite smoke --timeout 0");
    expect(2, "--require", "$S check --suite smoke --require some");
    expect(2, "--report", "$S check --suite smoke --device cpu --report /nonexistent/r.jsonl");
    expect(2, "could not be written", "$S check --suite smoke --op e8m0_upcast --device cpu --report /dev/full");
    expect(2, "", "$S check --golden $D/nowhere");
    expect(3, "--device 4711: ", "$S check --suite smoke --device 4711");
}
END_TEST

START_TEST(what_did_not_run_is_no_pass)
{
    /* Nothing vouches for a call that no suite lists. */
    expect(3, "NOTHING RAN", "$S check --case scale_pack/N=77,cols=96 --device cpu");
    expect(3, "LESS THAN REQUIRED", "$S check --suite smoke --device cpu --require gpu");
    expect(3, "LESS THAN REQUIRED", "$S check --suite smoke --device cpu --require 100000");
    expect(0, "PASS", "$S check --suite smoke --device cpu --require 20");
    expect(3, "NOTHING RAN", "$S check --suite smoke --op scale_pack --device cpu --variant tile");
    expect(3, "NOTHING RAN",
           "SAMEBITS_GOLDEN=/nonexistent $S check --suite seed --op wgrad_varlen_k --case '*N=*' --device cpu "
           "--variant ref");
}
END_TEST

START_TEST(no_gpu_is_exit_3)
{
    if (shell("$S info --json 2>/dev/null") != 0 || strstr(output, "\"gpus\": []") == NULL)
        return; /* a GPU is here */
    expect(3, "--device 0: ", "$S check --suite smoke --device 0");
    expect(3, "--device all: ", "$S check --suite smoke --device all");
    expect(0, "NOT RUN", "$S check --suite smoke --device auto");
}
END_TEST

START_TEST(damage_is_seen)
{
    expect(0, "intact", "$S golden verify $D/golden/smoke");
    expect(0, "made again are the same", "$S golden verify --deep $D/golden/smoke");
    expect(0, "\"intact\": true", "$S golden verify --json $D/golden/smoke");
    expect(2, "", "$S golden verify $D/nowhere");
    expect(2, "expected DIR", "$S golden verify");
    /* One byte in the middle of one file. */
    ck_assert_int_eq(shell("F=$(find $D/golden/smoke -name '*.h5' | sort | head -1); SIZE=$(stat -c %s \"$F\"); "
                           "printf '\\377' | dd of=\"$F\" bs=1 seek=$((SIZE / 2)) conv=notrunc 2>/dev/null"),
                     0);
    const int status = shell("$S golden verify $D/golden/smoke 2>&1");
    ck_assert_int_eq(status, 1);
    ck_assert_ptr_nonnull(strstr(output, ".h5"));
    /* A file exchanged for another one that is whole: only the manifest knows. */
    expect(2, "holds another case",
           "set -- $(find $D/golden/smoke/scale_pack -name '*.h5' | sort); cp \"$1\" \"$2\"; "
           "$S check --golden $D/golden/smoke --op scale_pack --suite smoke --device cpu");
}
END_TEST

START_TEST(diff_judges_candidates)
{
    /* A golden file is a candidate too; two calls of other parameters give other bits, or other shapes. */
    expect(0, "cases in",
           "for n in 40 41; do for idx in i32 i64; do "
           "$S golden make --case topk_metadata/N=$n,topk=4,E=8,idx=$idx --out $D/diff$n$idx || exit 9; done; done");
    setenv("A", "topk_metadata/N=40,topk=4,E=8.h5", 1);
    expect(0, "the same bits", "$S diff $D/diff40i64/$A $D/diff40i64/$A");
    expect(0, "\"equal\": true", "$S diff --json $D/diff40i64/$A $D/diff40i64/$A");
    expect(1, "elements differ", "$S diff $D/diff40i64/$A $(find $D/diff40i32 -name '*.h5')");
    expect(1, "\"equal\": false", "$S diff --json $D/diff40i64/$A $(find $D/diff40i32 -name '*.h5')");
    expect(1, "another shape", "$S diff $D/diff40i64/$A $(find $D/diff41i64 -name '*.h5')");
    expect(2, "nowhere.h5", "$S diff $D/diff40i64/$A $D/nowhere.h5");
    expect(2, "nowhere.h5", "$S diff $D/nowhere.h5 $D/diff40i64/$A");
    expect(2, "text.h5", "echo no hdf5 > $D/text.h5; $S diff $D/diff40i64/$A $D/text.h5");
    expect(2, "expected GOLDEN.h5 CANDIDATE.h5", "$S diff one.h5");
    expect(3, "rejected call",
           "$S golden make --case topk_metadata/N=65,topk=4,E=100,route=duplicate --out $D/rejected && "
           "F=$(find $D/rejected -name '*.h5') && $S diff $F $F");
}
END_TEST

START_TEST(golden_make)
{
    expect(2, "say where to", "$S golden make --suite smoke");
    expect(2, "say which cases", "$S golden make --out $D/x");
    expect(0, "1 cases", "$S golden make --case scale_pack/N=5,cols=64 --out $D/x");
    expect(0, "intact", "$S golden verify --deep $D/x");
    expect(0, "PASS", "$S check --golden $D/x --device cpu");
    expect(
        0, "",
        "$S golden make --suite smoke --digests $D/a.json && OMP_NUM_THREADS=1 $S golden make --suite smoke --digests "
        "$D/b.json && cmp $D/a.json $D/b.json");
    ck_assert_int_ne(shell("$S golden make --suite smoke --out /proc/nowhere 2>&1"), 0);
}
END_TEST

START_TEST(reports)
{
    expect(0, "\"record\":\"end\"",
           "$S check --suite smoke --device cpu --report $D/r.jsonl --markdown $D/r.md >/dev/null; tail -1 $D/r.jsonl");
    expect(0, "\"record\":\"begin\"", "head -1 $D/r.jsonl");
    expect(0, "PASS", "cat $D/r.md");
}
END_TEST

START_TEST(an_interrupt_leaves_no_verdict)
{
    /* Cases of the seed suite take seconds each: the interrupt comes in the middle. */
    expect(130, "interrupted: no verdict",
           "$S check --suite seed --device cpu --report $D/r.jsonl & P=$!; "
           "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; test -s $D/r.jsonl && break; done; sleep 0.3; kill -INT $P; "
           "wait $P");
    expect(1, "", "grep '\"record\":\"end\"' $D/r.jsonl");
    expect(0, "begin", "head -1 $D/r.jsonl");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("cli");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, usage);
    tcase_add_test(t, info_and_list);
    tcase_add_test(t, check_passes_on_the_cpu);
    tcase_add_test(t, check_refuses);
    tcase_add_test(t, what_did_not_run_is_no_pass);
    tcase_add_test(t, no_gpu_is_exit_3);
    tcase_add_test(t, damage_is_seen);
    tcase_add_test(t, diff_judges_candidates);
    tcase_add_test(t, golden_make);
    tcase_add_test(t, reports);
    tcase_add_test(t, an_interrupt_leaves_no_verdict);
    suite_add_tcase(s, t);
    return s;
}
