/* The program as its users call it: every verb's exit statuses, on a machine with or without a GPU. Makes its own
 * golden set in a temporary folder. Needs build/samebits beside this program. */
#define _GNU_SOURCE /* mkdtemp, setenv */
#include <hdf5.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../golden/manifest.h"
#include "../harness/ops.h"

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
    expect(0, "golden verify", "$S golden --help");
    expect(0, "golden make", "$S golden -h");
    expect(2, "-x: unknown option", "$S info -xy");
    static const char *const verbs[] = {"info",          "list", "check", "golden make",
                                        "golden verify", "diff", "probe", "bench"};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
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
    expect(0, "(cases in smoke / standard / seed / arguments / production)", "$S info");
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
    expect(0, "ad hoc: a call that no suite lists", "$S list --case scale_pack/N=77,cols=96");
    expect(0, "1 case\n", "$S list --case scale_pack/N=77,cols=96");
    expect(0, "poisoned tail", "$S list --grep 'poisoned tail'");
    expect(1, "0", "$S list --grep 'poisoned tail' 2>/dev/null | grep -c '^scale_pack/'"); /* only what holds it */
    expect(2, "in its id or reason", "$S list --grep 'no such words'");
    /* What --op takes: every parameter with its choices and its default. */
    expect(0, "one of: u8 i8 i32 i32x4", "$S info --op scale_pack");
    expect(0, "the byte where packed has no scale; 0 to 255 (default: 1)", "$S info --op scale_pack");
    expect(0, "(required)", "$S info --op wgrad_varlen_k");
    expect(0, "x_gather_idx", "$S info --op wgrad_varlen_k");
    expect(2, "nearest: scale_pack", "$S info --op scale_pak");
    ck_assert_int_eq(shell("$S info --op topk_metadata --json 2>/dev/null"), 0);
    json_t *op = json_loads(output, 0, NULL);
    ck_assert_uint_gt(json_array_size(json_object_get(op, "parameters")), 5);
    ck_assert_uint_eq(json_array_size(json_object_get(op, "inputs")), 3);
    json_decref(op);
}
END_TEST

START_TEST(check_passes_on_the_cpu)
{
    expect(0, "PASS", "$S check --suite smoke --device cpu");
    expect(0, "left out by --device cpu", "$S check --suite smoke --device cpu"); /* the ledger */
    expect(0, "PASS on CPU only: no kernel ran (0 of ", "$S check --suite smoke --device cpu");
    expect(0, "NOTE: a partial run", "$S check --suite smoke --op scale_pack --device cpu --variant ref");
    expect(0, "cases that --op selects, only", "$S check --suite smoke --op scale_pack --device cpu --variant ref");
    expect(0, "only the one case that --case selects",
           "$S check --device cpu --case $($S list --suite smoke --op wgrad_varlen_k 2>/dev/null | head -1)");
    expect(0, "PASS", "$S check --golden $D/golden/smoke --device cpu");
    expect(0, "PASS", "cd / && $S check --case 'wgrad_varlen_k/*' --suite smoke --device cpu");
}
END_TEST

START_TEST(check_refuses)
{
    expect(2, "say which cases", "$S check");
    expect(2, "nearest: topk_metadata", "$S check --case topk_metdata");
    expect(2, "--suite ,: a word", "$S check --suite ,");
    expect(2, "--variant ,: a word", "$S check --suite smoke --variant ,");
    expect(2, "--require ,: a word", "$S check --suite smoke --device cpu --require ,");
    expect(2, "--require", "$S check --suite smoke --device cpu --require 99999999999999999999");
    expect(2, "SAMEBITS_GOLDEN=/nonexistent", "SAMEBITS_GOLDEN=/nonexistent $S check --suite smoke --device cpu");
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
    /* Relations alone: with an op that has them, and by --variant. */
    expect(3, "NOTHING RAN: only relations held", "$S check --case topk_metadata/N=77,topk=4,E=8 --device cpu");
    expect(3, "NOTHING RAN: only relations held", "$S check --suite smoke --device cpu --variant relations");
}
END_TEST

/* A suite promises digests: a file of them that is gone or emptied must not make the run smaller. */
START_TEST(a_suite_that_nobody_vouches_for)
{
    expect(2, "digests/seed.json vouches for none of ", "$S check --suite smoke,seed --op e8m0_upcast --device cpu");
    expect(0, "make it with samebits golden make --suite seed --digests ",
           "$S check --suite seed --op e8m0_upcast --device cpu; true");
    expect(0, "1\n", "$S check --suite seed --op e8m0_upcast --device cpu 2>&1 | grep -c 'vouches for none'");
    expect(2, "BAD INPUT: nothing vouches for ", "$S check --suite seed --op e8m0_upcast --device cpu --variant ref");
    expect(0, "PASS",
           "$S golden make --suite seed --op e8m0_upcast --digests $D/golden/digests/seed.json && "
           "$S check --suite smoke,seed --op e8m0_upcast --device cpu");
    expect(2, "does not vouch for 2 of 3 cases", /* emptied but for one case */
           "A=$($S list --suite seed --op e8m0_upcast 2>/dev/null | grep '^e8m0' | head -3); set -- $A; "
           "$S golden make --case $1 --digests $D/golden/digests/seed.json && "
           "$S check --suite seed --case $1 --case $2 --case $3 --device cpu");
    expect(2, "bare/digests/seed.json vouches for none of ",
           "mkdir -p $D/bare/digests; SAMEBITS_GOLDEN=$D/bare $S check --suite seed --op wgrad_varlen_k --device cpu");
    expect(3, "NOTHING RAN", "$S check --case scale_pack/N=77,cols=96 --device cpu"); /* nobody promised anything */
}
END_TEST

START_TEST(every_word_selects)
{
    expect(0, "PASS", "$S check --suite smoke,seed --op scale_pack --device cpu"); /* seed has none: smoke does */
    expect(2, "--op scale_pack: none of the ", "$S check --suite seed --op e8m0_upcast,scale_pack --device cpu");
    expect(2, "--op e8m0_upcast: none of the ",
           "$S check --golden $D/golden/smoke --op e8m0_upcast,scale_pack --case 'scale_pack/*' --device cpu");
    expect(2, "--suite arguments: none of the ",
           "$S check --golden $D/golden/smoke --suite smoke,arguments "
           "--device cpu");
}
END_TEST

/* A set may name a suite and hold a part of it. */
START_TEST(a_set_that_is_less_than_its_suite)
{
    char path[128];
    struct sb_manifest m = {0};
    struct sb_error err = {0};
    ck_assert_int_eq(shell("cp -r $D/golden/smoke $D/less"), 0);
    snprintf(path, sizeof path, "%s/less/manifest.json", folder);
    ck_assert_msg(sb_manifest_read(&m, path, &err), "%s", err.text);
    const int all = m.count;
    ck_assert_int_gt(all, 2);
    m.count = 2;
    ck_assert_msg(sb_manifest_write(&m, path, &sb_op_table()->list, &err), "%s", err.text);
    m.count = all;
    sb_manifest_free(&m);
    char note[64];
    snprintf(note, sizeof note, "NOTE: a partial run: 2 of %d cases of smoke", all);
    expect(0, note, "$S check --golden $D/less --device cpu");
    expect(0, "partial run: 2 of ", "$S check --golden $D/less --device cpu 2>/dev/null | tail -1");
    /* With a GPU there, --device cpu is a part of the run too: only the suite's own words must not appear. */
    expect(0, "0\n", "$S check --golden $D/golden/smoke --device cpu 2>&1 | grep -c 'cases of smoke'; true");
}
END_TEST

/* The caller closed stdout or stderr: no file of ours may take its number. */
START_TEST(closed_standard_files)
{
    expect(2, "could not be written", "$S check --suite smoke --op scale_pack --device cpu --report $D/r.jsonl >&-");
    expect(1, "0\n", "grep -vc '^{' $D/r.jsonl");
    expect(0, "\"record\":\"end\"", "tail -1 $D/r.jsonl");
    expect(0, "PASS on CPU only", "$S check --suite smoke --op scale_pack --device cpu 2>&-");
    expect(0, "PASS on CPU only", "$S check --suite smoke --op scale_pack --device cpu <&-");
    expect(0, "/dev/full\n", /* a report that is under way does not stand in the place of stdout */
           "rm -f $D/r.jsonl; $S check --suite seed --device cpu --report $D/r.jsonl >&- 2>/dev/null & P=$!; "
           "for i in $(seq 600); do grep -q '\"record\":\"result\"' $D/r.jsonl 2>/dev/null && break; sleep 0.1; done; "
           "readlink /proc/$P/fd/1; kill -TERM $P; wait $P; true");
    expect(2, "", "$S list >&- 2>&-");
}
END_TEST

START_TEST(a_limit_on_file_sizes)
{
    expect(2, "samebits: ", "(ulimit -f 1; $S golden make --suite smoke --op scale_pack --out $D/limited)");
    expect(2, "could not be written whole",
           "(ulimit -f 1; $S check --suite smoke --op scale_pack --device cpu --report $D/r.jsonl)");
}
END_TEST

/* Whoever names a file or a dataset must not be able to print a line of ours, or to drive the terminal. */
START_TEST(names_with_control_characters)
{
    expect(1, "x\\nset: intact\\n.h5",
           "cp -r $D/golden/smoke $D/odd; : > \"$D/odd/$(printf 'x\\nset: intact\\n.h5')\"; $S golden verify $D/odd");
    ck_assert_ptr_null(strstr(output, "\nset: intact"));
    expect(2, "\\x1b[31m", "$S diff \"$(printf '\\033[31mred.h5')\" nowhere.h5");
    ck_assert_ptr_null(strchr(output, '\033'));
    expect(2, "\\x1b[31m", "$S check --suite \"$(printf '\\033[31m')\"");
    ck_assert_ptr_null(strchr(output, '\033'));
}
END_TEST

START_TEST(one_file_for_two_reports)
{
    expect(2, "name the same file", "$S check --suite smoke --device cpu --report $D/x --markdown $D/x");
    expect(1, "", "test -e $D/x");
    expect(2, "name the same file", "$S check --suite smoke --device cpu --report $D/x --markdown $D/./x");
    expect(2, "name the same file",
           "echo kept > $D/y; ln -s y $D/z; "
           "$S check --suite smoke --device cpu --report $D/z --markdown $D/y");
    expect(0, "kept", "cat $D/y");
    expect(0, "PASS", "$S check --suite smoke --op scale_pack --device cpu --report $D/a --markdown $D/b");
}
END_TEST

/* verify does not follow links to folders: they could hide goldens that the manifest does not list. */
START_TEST(a_link_to_a_folder_in_a_set)
{
    expect(1, "scale_pack: a link to a folder",
           "cp -r $D/golden/smoke $D/linked; mv $D/linked/scale_pack $D/elsewhere; "
           "ln -s $D/elsewhere $D/linked/scale_pack; $S golden verify $D/linked");
    expect(0, "intact",
           "rm $D/linked/scale_pack; mv $D/elsewhere $D/linked/scale_pack; echo mine > $D/linked/README; "
           "$S golden verify $D/linked");
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

/* A golden that its set lists and that is gone is bad input, not a reason to compute it, or to leave it out. */
START_TEST(a_golden_that_is_gone)
{
    expect(2, "1 golden file cannot be used",
           "F=$(find $D/golden/smoke/scale_pack -name '*.h5' | sort | head -1); mv $F $D/kept.h5; echo $F > $D/name; "
           "$S check --golden $D/golden/smoke --device cpu");
    expect(0, ".h5 is missing, but ", "$S check --golden $D/golden/smoke --device cpu; true");
    expect(2, "1 golden file cannot be used", "$S check --suite smoke --device cpu");
    expect(2, "2 golden files cannot be used", /* the reasons stand in the list, the verdict counts them */
           "F=$(find $D/golden/smoke/e8m0_upcast -name '*.h5' | sort | head -1); rm $F; "
           "$S check --suite smoke --device cpu");
    expect(0, "2", "$S check --suite smoke --device cpu 2>/dev/null | grep -c 'is missing, but '");
}
END_TEST

/* --op and --case choose among the cases of the set. */
START_TEST(a_set_bounds_the_selection)
{
    expect(0, "PASS", "$S check --golden $D/golden/smoke --op scale_pack --device cpu");
    expect(0, "same",
           "A=$($S check --golden $D/golden/smoke --op scale_pack --device cpu --report $D/a.jsonl >/dev/null 2>&1; "
           "grep -c '\"variant\":\"ref\"' $D/a.jsonl); "
           "B=$(find $D/golden/smoke/scale_pack -name '*.h5' | wc -l); test $A -eq $((B + 1)) && echo same");
    expect(2, "of this set", "$S check --golden $D/golden/smoke --case scale_pack/N=77,cols=96 --device cpu");
}
END_TEST

START_TEST(names_that_are_not_utf8)
{
    expect(2, "not UTF-8", "X=$(printf '/tmp/\\377'); $S check --golden \"$X\" --device cpu");
    expect(2, "not UTF-8", "X=$(printf '/tmp/\\377'); $S golden verify --json \"$X\"");
    expect(2, "not UTF-8", "X=$(printf '/tmp/\\377'); SAMEBITS_GOLDEN=\"$X\" $S check --suite smoke --device cpu");
    /* A stray file of such a name inside a set: one fault, named as well as it can be. */
    expect(1, "\"count\": 1",
           "X=$(printf '\\377'); : > \"$D/golden/smoke/$X.h5\"; $S golden verify --json "
           "$D/golden/smoke");
    expect(1, "\"file\"", "$S golden verify --json $D/golden/smoke");
}
END_TEST

START_TEST(one_bad_digest_file_is_told_once)
{
    expect(2, "1 golden file cannot be used",
           "rm -r $D/golden/smoke; echo '{}' > $D/golden/digests/smoke.json; $S check --suite smoke --op scale_pack "
           "--device cpu");
    expect(0, "same for ", "$S check --suite smoke --op scale_pack --device cpu; true");
    expect(0, "2\n", "$S check --suite smoke --op scale_pack --device cpu 2>&1 >/dev/null | grep -c smoke.json");
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

/* $D/c.h5: the golden $D/diff40i64/$A as a candidate, with `name` replaced by four elements of another type, or removed
 * where `type` is H5I_INVALID_HID; without the golden's attributes "op". */
static void candidate(const char *name, hid_t type)
{
    char path[128];
    const hsize_t four = 4;
    ck_assert_int_eq(shell("cp $D/diff40i64/$A $D/c.h5"), 0);
    snprintf(path, sizeof path, "%s/c.h5", folder);
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    ck_assert_int_ge(file, 0);
    ck_assert_int_ge(H5Adelete(file, "op"), 0);
    if (H5Lexists(file, name, H5P_DEFAULT) > 0)
        ck_assert_int_ge(H5Ldelete(file, name, H5P_DEFAULT), 0);
    if (type >= 0) {
        const hid_t space = H5Screate_simple(1, &four, NULL);
        const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        ck_assert_int_ge(dataset, 0);
        H5Dclose(dataset);
        H5Sclose(space);
    }
    ck_assert_int_ge(H5Fclose(file), 0);
}

START_TEST(diff_judges_candidates)
{
    /* A golden file is a candidate too; two calls of other parameters give other bits, or other shapes. */
    expect(0, "1 case in",
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
    /* What a candidate may be instead: each is a difference, and named. */
    candidate("outputs/topk_score", H5T_IEEE_F64LE);
    expect(1, "topk_score: expected f32, got float64", "$S diff $D/diff40i64/$A $D/c.h5");
    candidate("outputs/topk_score", H5T_IEEE_F32BE);
    expect(1, "topk_score: expected f32, got big-endian float32", "$S diff $D/diff40i64/$A $D/c.h5");
    candidate("outputs/topk_score", H5I_INVALID_HID);
    expect(1, "topk_score is missing", "$S diff $D/diff40i64/$A $D/c.h5");
    candidate("outputs/extra", H5T_IEEE_F32LE);
    expect(1, "outputs/extra is no output", "$S diff $D/diff40i64/$A $D/c.h5");
    candidate("outputs", H5I_INVALID_HID);
    expect(1, "no group /outputs", "$S diff $D/diff40i64/$A $D/c.h5");
    expect(1, "\"equal\": false", "$S diff --json $D/diff40i64/$A $D/c.h5");
    expect(2, "GOLDEN comes first", "$S diff $D/c.h5 $D/diff40i64/$A");
    /* Every wrong tensor once, none twice, and no separator left at an end. */
    expect(0, "ok",
           "$S diff $D/diff40i64/$A $(find $D/diff40i32 -name '*.h5') > $D/text; "
           "N=$(grep -o '^ *[a-zA-Z_]*: [0-9,]* of' $D/text | sort | uniq -d | wc -l); "
           "test $N -eq 0 && test $(grep -c ' elements differ' $D/text) -ge 2 && ! grep -q '; *$' $D/text && "
           "echo ok");
    /* Equal, and nothing in them that could differ. */
    expect(3, "nothing to compare",
           "$S golden make --case e8m0_upcast/shape=0x32,semantics=shift --out $D/none && "
           "F=$(find $D/none -name '*.h5') && $S diff $F $F");
    expect(1, "",
           "$S golden make --case e8m0_upcast/shape=0x16,semantics=shift --out $D/none16 && "
           "$S diff $(find $D/none -name '*.h5') $(find $D/none16 -name '*.h5')");
    expect(3, "rejected call",
           "$S golden make --case topk_metadata/N=65,topk=4,E=100,route=duplicate --out $D/rejected && "
           "F=$(find $D/rejected -name '*.h5') && $S diff $F $F");
}
END_TEST

/* Writes one number of a copied golden file's table of places. */
static void move_place(hsize_t row, hsize_t field, int64_t value)
{
    char path[128];
    const hsize_t at[2] = {row, field}, one[2] = {1, 1};
    snprintf(path, sizeof path, "%s/moved.h5", folder);
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t table = H5Dopen2(file, "samples/dw", H5P_DEFAULT);
    ck_assert(file >= 0 && table >= 0);
    const hid_t space = H5Dget_space(table), memory = H5Screate_simple(2, one, NULL);
    ck_assert_int_ge(H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, one, NULL), 0);
    ck_assert_int_ge(H5Dwrite(table, H5T_NATIVE_INT64, memory, space, H5P_DEFAULT, &value), 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(table);
    ck_assert_int_ge(H5Fclose(file), 0);
}

/* Packed blocks say where they are, or are taken for the golden's. */
START_TEST(diff_of_samples)
{
    char path[128];
    expect(0, "1 case in",
           "$S golden make --case wgrad_varlen_k/M=72,N=24,E=3,counts=20+0+33,sample=5 --out $D/sampled && "
           "cp $D/sampled/*/*.h5 $D/sampled.h5");
    expect(0, "the same bits in samples (5 tiles", "$S diff $D/sampled.h5 $D/sampled.h5");
    expect(0, "ok", "cp $D/sampled.h5 $D/moved.h5 && echo ok");
    move_place(2, 0, 0);
    expect(1, "samples/dw of the candidate is not the case's table", "$S diff $D/sampled.h5 $D/moved.h5");
    expect(1, "\"equal\": false", "$S diff --json $D/sampled.h5 $D/moved.h5");
    snprintf(path, sizeof path, "%s/moved.h5", folder);
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    ck_assert_int_ge(H5Ldelete(file, "samples/dw", H5P_DEFAULT), 0);
    ck_assert_int_ge(H5Fclose(file), 0);
    expect(0, "the same bits in samples (5 tiles", "$S diff $D/sampled.h5 $D/moved.h5");
    /* As many blocks as experts, each a whole one, in another order: the shape does not tell packed from whole. */
    expect(0, "1 case in",
           "$S golden make --case wgrad_varlen_k/M=64,N=64,E=3,counts=20+0+33,sample=3 --out $D/planes && "
           "cp $D/planes/*/*.h5 $D/planes.h5");
    expect(0, "the same bits", "$S diff $D/planes.h5 $D/planes.h5");
    expect(0, "1 passed, 0 failed", "$S check --golden $D/planes --device cpu");
    expect(0, "intact", "$S golden verify --deep $D/planes");
}
END_TEST

START_TEST(golden_make)
{
    expect(2, "say where to", "$S golden make --suite smoke");
    expect(2, "say which cases", "$S golden make --out $D/x");
    expect(0, "1 case in ", "$S golden make --case scale_pack/N=5,cols=64 --out $D/x");
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
    expect(0, "## Samebits: PASS on CPU only", "cat $D/r.md");
    expect(0, "\"launches\":null", "grep '\"PASS\"' $D/r.jsonl | head -1");
    expect(0, "\"seconds\":null", "grep '\"NOT RUN\"' $D/r.jsonl | head -1");
    /* A run that cannot start leaves an earlier report alone: no such GPU; no descriptors for a worker's pipes. */
    expect(0, "the same",
           "cp $D/r.jsonl $D/r.copy; $S check --suite smoke --device 4711 --report $D/r.jsonl --markdown $D/r.md "
           ">/dev/null 2>&1; test $? -eq 3 && cmp $D/r.jsonl $D/r.copy && echo the same");
    expect(3, "cannot start a worker",
           "for fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done; ulimit -n 6; $S check --suite smoke --device cpu "
           "--report $D/r.jsonl --markdown $D/r.md");
    expect(0, "the same", "cmp $D/r.jsonl $D/r.copy && echo the same");
}
END_TEST

/* The command to repeat a failure carries everything the result depends on, and repeats it. */
START_TEST(repeating_a_failure)
{
    /* Goldens whose bytes are right, with digests of another answer: the reference fails against them. */
    expect(1, "repeat: SAMEBITS_GOLDEN=",
           "$S golden make --case topk_metadata/N=41,topk=4,E=8 --digests "
           "$D/golden/digests/seed.json 2>/dev/null; python3 - $D/golden/digests/seed.json <<'EOF'\n"
           "import hashlib, json, re, sys\n"
           "text = open(sys.argv[1]).read()\n"
           "text = re.sub(r'(\"outputs/TKP\": \")[0-9a-f]{64}', r'\\g<1>' + '0' * 64, text)\n"
           "bare = re.sub(r'(\"content_sha256\": \")[0-9a-f]{64}', r'\\g<1>', text)\n"
           "digest = hashlib.sha256(bare.encode()).hexdigest()\n"
           "open(sys.argv[1], 'w').write(bare.replace('\"content_sha256\": \"', '\"content_sha256\": \"' + digest))\n"
           "EOF\n"
           "$S check --case topk_metadata/N=41,topk=4,E=8 --device cpu --variant ref --timeout 77 > $D/first; S1=$?; "
           "grep 'repeat: ' $D/first | head -1; grep -q -- '--timeout 77' $D/first && (exit $S1)");
    expect(1, "outputs/TKP differs from the digest committed",
           "sh -c \"$(grep 'repeat: ' $D/first | head -1 | sed 's/.*repeat: //')\"");
}
END_TEST

/* Waits until the report $D/r.jsonl holds a result, at most a minute; the run is $P. A shell starts what it puts in the
 * background with SIGINT ignored: python3 gives the program the usual disposition back. */
#define IN_THE_MIDDLE                                                                                                  \
    "rm -f $D/r.jsonl; python3 -c 'import os,signal,sys; signal.signal(signal.SIGINT,signal.SIG_DFL); "                \
    "os.execv(sys.argv[1],sys.argv[1:])' $S check --suite seed --device cpu --report $D/r.jsonl & P=$!; "              \
    "for i in $(seq 600); do grep -q '\"record\":\"result\"' $D/r.jsonl 2>/dev/null && break; sleep 0.1; done; "

START_TEST(an_interrupt_leaves_no_verdict)
{
    expect(130, "interrupted: no verdict", IN_THE_MIDDLE "kill -INT $P; wait $P");
    expect(1, "", "grep '\"record\":\"end\"' $D/r.jsonl");
    expect(0, "begin", "head -1 $D/r.jsonl");
    expect(0, "not reached: the run was interrupted", "grep '\"record\":\"ledger\"' $D/r.jsonl");
    expect(143, "interrupted: no verdict", IN_THE_MIDDLE "kill -TERM $P; wait $P");
}
END_TEST

/* The worker is killed from outside: one FAIL, exit 1, and the rest goes on. */
START_TEST(a_worker_that_is_killed_is_a_failure)
{
    expect(1, "signal 9",
           IN_THE_MIDDLE "W=$(cat /proc/$P/task/$P/children); kill -9 $W; "
                         "for i in $(seq 600); do grep -q '\"FAIL\"' $D/r.jsonl && break; sleep 0.1; "
                         "done; wait $P");
    expect(0, "\"exit_status\":1", "tail -1 $D/r.jsonl");
    expect(0, "1\n", "grep -c '\"outcome\":\"FAIL\"' $D/r.jsonl");
}
END_TEST

START_TEST(an_interrupt_leaves_no_manifest)
{
    expect(130, "",
           "python3 -c 'import os,signal,sys; signal.signal(signal.SIGINT,signal.SIG_DFL); "
           "os.execv(sys.argv[1],sys.argv[1:])' $S golden make --suite standard --out $D/cut & P=$!; "
           "for i in $(seq 600); do test -n \"$(find $D/cut -name '*.h5' 2>/dev/null | head -1)\" && break; sleep 0.1; "
           "done; kill -INT $P; wait $P");
    expect(1, "", "test -e $D/cut/manifest.json");
    expect(0, "0\n", "find $D/cut -name '*tmp*' | wc -l");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("cli");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 1200); /* ends a hang; a busy machine under sanitizers takes a minute */
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, usage);
    tcase_add_test(t, info_and_list);
    tcase_add_test(t, check_passes_on_the_cpu);
    tcase_add_test(t, check_refuses);
    tcase_add_test(t, what_did_not_run_is_no_pass);
    tcase_add_test(t, a_suite_that_nobody_vouches_for);
    tcase_add_test(t, every_word_selects);
    tcase_add_test(t, a_set_that_is_less_than_its_suite);
    tcase_add_test(t, closed_standard_files);
    tcase_add_test(t, a_limit_on_file_sizes);
    tcase_add_test(t, names_with_control_characters);
    tcase_add_test(t, one_file_for_two_reports);
    tcase_add_test(t, a_link_to_a_folder_in_a_set);
    tcase_add_test(t, no_gpu_is_exit_3);
    tcase_add_test(t, a_golden_that_is_gone);
    tcase_add_test(t, a_set_bounds_the_selection);
    tcase_add_test(t, names_that_are_not_utf8);
    tcase_add_test(t, one_bad_digest_file_is_told_once);
    tcase_add_test(t, damage_is_seen);
    tcase_add_test(t, diff_judges_candidates);
    tcase_add_test(t, diff_of_samples);
    tcase_add_test(t, golden_make);
    tcase_add_test(t, reports);
    tcase_add_test(t, repeating_a_failure);
    tcase_add_test(t, an_interrupt_leaves_no_verdict);
    tcase_add_test(t, a_worker_that_is_killed_is_a_failure);
    tcase_add_test(t, an_interrupt_leaves_no_manifest);
    suite_add_tcase(s, t);
    return s;
}
