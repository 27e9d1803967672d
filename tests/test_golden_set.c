/* test_golden_set.c - whole sets: made completely or visibly not, and every flipped bit found and named. */
#include "golden_fake.h"
#include "../golden/hdf5_util.h"
#include "../golden/set_parts.h"

#include <pthread.h>
#include <signal.h>

static const char *const ids[] = {"fake/N=5,cols=3,row_stride=8", "fake/N=7,cols=2,gather=1",
                                  "fake/N=5,cols=3,mode=reject"};
enum { CASES = 3 };

static bool stop_at_two(void *user, int done, int total, const char *id)
{
    (void)user;
    (void)total;
    (void)id;
    return done < 2;
}

static void cases_of(const char *const *names, int count, struct sb_case *cases)
{
    for (int i = 0; i < count; i++)
        cases[i] = fake_case(names[i]);
}

static void make_set(const char *const *names, int count, const char *dir)
{
    struct sb_case cases[8] = {0};
    struct sb_error err = {0};
    cases_of(names, count, cases);
    ck_assert_msg(sb_set_make(cases, count, "smoke", dir, NULL, &fake_ops, NULL, NULL, &err), "%s", err.text);
}

static void make_fails(const char *const *names, int count, const char *dir, sb_progress_fn progress, const char *a,
                       const char *b)
{
    struct sb_case cases[8] = {0};
    struct sb_error err = {0};
    struct sb_manifest m;
    cases_of(names, count, cases);
    ck_assert(!sb_set_make(cases, count, "smoke", dir, &m, &fake_ops, progress, NULL, &err));
    ck_assert_ptr_null(m.entry);
    fake_says(err.text, a, b);
}

/* The faults of one verification. */
struct faults {
    int count;
    char file[8][256], dataset[8][64], text[8][1100];
};

static void note(void *user, const char *file, const char *dataset, const char *text)
{
    struct faults *f = user;
    if (f->count < 8) {
        snprintf(f->file[f->count], sizeof f->file[0], "%s", file);
        snprintf(f->dataset[f->count], sizeof f->dataset[0], "%s", dataset);
        snprintf(f->text[f->count], sizeof f->text[0], "%s", text);
    }
    f->count++;
}

static struct faults verify(const char *dir, bool deep)
{
    struct faults f = {0};
    struct sb_error err = {0};
    const int count = sb_set_verify(dir, deep, &fake_ops, NULL, note, &f, &err);
    ck_assert_msg(count >= 0, "%s", err.text);
    ck_assert_int_eq(count, f.count);
    return f;
}

static void verify_fails(const char *dir, const char *a, const char *b)
{
    struct faults f = {0};
    struct sb_error err = {0};
    ck_assert_int_eq(sb_set_verify(dir, false, &fake_ops, NULL, note, &f, &err), -1);
    fake_says(err.text, a, b);
}

/* One fault, about this file and dataset, whose text says `about`. */
static void one_fault(const struct faults *f, const char *file, const char *dataset, const char *about)
{
    ck_assert_int_eq(f->count, 1);
    ck_assert_str_eq(f->file[0], file);
    ck_assert_str_eq(f->dataset[0], dataset);
    fake_says(f->text[0], about, "");
}

START_TEST(make_and_verify)
{
    make_set(ids, CASES, fake_path("new/set"));
    ck_assert_int_eq(verify(fake_path("new/set"), false).count, 0);
    ck_assert_int_eq(verify(fake_path("new/set"), true).count, 0);
    ck_assert_int_eq(fake_count_files(fake_folder, ""), CASES + 2);
    fake_run("cd '%s/new/set' && sha256sum -c --strict --quiet SHA256SUMS", fake_folder);
}
END_TEST

START_TEST(the_same_set_twice)
{
    static const char *const reversed[] = {"fake/N=5,cols=3,mode=reject", "fake/N=7,cols=2,gather=1",
                                           "fake/N=5,cols=3,row_stride=8"};
    make_set(ids, CASES, fake_path("a"));
    make_set(reversed, CASES, fake_path("b"));
    make_set(ids, CASES, fake_path("b")); /* again, over itself */
    fake_run("diff -r '%1$s/a' '%1$s/b'", fake_folder);
}
END_TEST

START_TEST(digests_alone)
{
    struct sb_case cases[CASES];
    struct sb_manifest m;
    struct sb_error err = {0};
    cases_of(ids, CASES, cases);
    ck_assert(sb_set_make(cases, CASES, "smoke", NULL, &m, &fake_ops, NULL, NULL, &err));
    ck_assert_int_eq(m.count, CASES);
    ck_assert_str_eq(m.entry[0].file_sha256, "");
    struct sb_manifest with_files;
    ck_assert(sb_set_make(cases, CASES, "smoke", fake_path("a"), &with_files, &fake_ops, NULL, NULL, &err));
    for (int i = 0; i < CASES; i++) {
        ck_assert_str_eq(m.entry[i].id, with_files.entry[i].id);
        ck_assert_int_eq(m.entry[i].tensors, with_files.entry[i].tensors);
        ck_assert_int_eq(memcmp(m.entry[i].tensor, with_files.entry[i].tensor, sizeof m.entry[i].tensor), 0);
        ck_assert_int_gt(with_files.entry[i].file_bytes, 0);
    }
    /* A digest file is no manifest of a set. */
    ck_assert(sb_manifest_write(&m, fake_path("a/manifest.json"), &fake_ops, &err));
    const struct faults f = verify(fake_path("a"), false);
    one_fault(&f, "manifest.json", "", "lists no files");
    sb_manifest_free(&m);
    sb_manifest_free(&with_files);
}
END_TEST

START_TEST(nothing_to_make)
{
    make_fails(ids, 0, fake_path("a"), NULL, "no case", "nothing to make");
    ck_assert_int_eq(access(fake_path("a"), F_OK), -1);
    static const char *const twice[] = {"fake/N=5,cols=3", "fake/N=5,cols=3"};
    make_fails(twice, 2, fake_path("a"), NULL, "fake/N=5,cols=3", "twice");
}
END_TEST

START_TEST(interrupted_make)
{
    make_set(ids, CASES, fake_path("a")); /* complete once: an interrupted second run must not look so */
    make_fails(ids, CASES, fake_path("a"), stop_at_two, "stopped after 2 of 3", "run the same command again");
    ck_assert_int_eq(access(fake_path("a/manifest.json"), F_OK), -1);
    ck_assert_int_eq(access(fake_path("a/SHA256SUMS"), F_OK), -1);
    ck_assert_int_eq(fake_count_files(fake_folder, ".tmp-"), 0);
    verify_fails(fake_path("a"), "no manifest.json", "cut short");
    make_set(ids, CASES, fake_path("a"));
    ck_assert_int_eq(verify(fake_path("a"), true).count, 0);
}
END_TEST

START_TEST(failed_make)
{
    static const char *const failing[] = {"fake/N=5,cols=3", "fake/N=5,cols=3,mode=fail"};
    make_fails(failing, 2, fake_path("a"), NULL, "mode=fail", "planted failure");
    ck_assert_int_eq(access(fake_path("a/manifest.json"), F_OK), -1);
    ck_assert_int_eq(fake_count_files(fake_folder, ".tmp-"), 0);
    ck_assert_int_eq(fake_count_files(fake_folder, ".h5"), 1); /* what was finished stays */
}
END_TEST

START_TEST(two_sets_do_not_mix)
{
    static const char *const other[] = {"fake/N=6,cols=6"};
    make_set(ids, CASES, fake_path("a"));
    make_fails(other, 1, fake_path("a"), NULL, "fake/N=5,cols=3,mode=reject.h5", "choose an empty folder");
    ck_assert_int_eq(verify(fake_path("a"), false).count, 0); /* untouched */
}
END_TEST

START_TEST(leftovers_are_removed)
{
    char mine[256];
    struct stat st;
    make_set(ids, CASES, fake_path("a"));
    fake_overwrite(fake_path("a/fake/N=1,cols=1.h5.tmp-2147483000"), "x", 1); /* above any process id */
    snprintf(mine, sizeof mine, "a/fake/N=2,cols=1.h5.tmp-%ld", (long)getppid());
    fake_overwrite(fake_path(mine), "x", 1);
    struct faults f = verify(fake_path("a"), false);
    ck_assert_int_eq(f.count, 2);
    fake_says(f.text[0], "left over", "remove");
    make_set(ids, CASES, fake_path("a"));
    f = verify(fake_path("a"), false);
    ck_assert_int_eq(f.count, 1); /* that of a living process stays */
    ck_assert_int_eq(stat(fake_path(mine), &st), 0);
}
END_TEST

START_TEST(unwritable_folder)
{
    make_fails(ids, CASES, "/proc/samebits", NULL, "/proc/samebits", "cannot make");
    fake_overwrite(fake_path("file"), "x", 1);
    make_fails(ids, CASES, fake_path("file"), NULL, "file", "folder");
    if (geteuid() != 0) { /* root may write anywhere */
        ck_assert_int_eq(mkdir(fake_path("closed"), 0555), 0);
        make_fails(ids, CASES, fake_path("closed"), NULL, "closed", "Permission denied");
    }
}
END_TEST

START_TEST(not_a_set)
{
    verify_fails(fake_path("absent"), "absent", "no such folder");
    verify_fails(fake_folder, "no manifest.json", "golden make");
}
END_TEST

START_TEST(missing_and_extra_files)
{
    make_set(ids, CASES, fake_path("a"));
    ck_assert_int_eq(unlink(fake_path("a/fake/N=7,cols=2,gather=1.h5")), 0);
    struct faults f = verify(fake_path("a"), false);
    one_fault(&f, "fake/N=7,cols=2,gather=1.h5", "", "missing");
    make_set(ids, CASES, fake_path("a"));
    fake_overwrite(fake_path("a/fake/N=9,cols=9.h5"), "x", 1);
    f = verify(fake_path("a"), false);
    one_fault(&f, "fake/N=9,cols=9.h5", "", "does not list");
    unlink(fake_path("a/fake/N=9,cols=9.h5"));
    fake_overwrite(fake_path("a/README"), "x", 1); /* the user's own */
    ck_assert_int_eq(verify(fake_path("a"), false).count, 0);
    unlink(fake_path("a/SHA256SUMS"));
    f = verify(fake_path("a"), false);
    one_fault(&f, "SHA256SUMS", "", "missing");
}
END_TEST

/* ---- damage ------------------------------------------------------------------------------------- */

/* The fault must name the file, and a dataset of it or, in its text, all of them. */
static void names_it(const struct faults *f, const char *file, size_t at)
{
    static const char *const datasets[] = {"inputs/raw",    "inputs/scale",   "inputs/limit",  "outputs/sums",
                                           "outputs/bytes", "outputs/signed", "outputs/total", "outputs/nothing"};
    ck_assert_msg(f->count > 0, "byte %zu of %s: not found", at, file);
    for (int i = 0; i < f->count && i < 8; i++) {
        ck_assert_str_eq(f->file[i], file);
        bool known = false;
        for (size_t k = 0; k < sizeof datasets / sizeof datasets[0]; k++) {
            known = known || strcmp(f->dataset[i], datasets[k]) == 0;
            ck_assert_msg(f->dataset[i][0] != '\0' || strstr(f->text[i], datasets[k]) != NULL, "byte %zu: %s", at,
                          f->text[i]);
        }
        ck_assert_msg(known || f->dataset[i][0] == '\0', "byte %zu: dataset %s", at, f->dataset[i]);
    }
}

START_TEST(every_flipped_bit_of_a_golden_file)
{
    const char *file = "fake/N=5,cols=3,row_stride=8.h5";
    char path[512];
    size_t size;
    int in_datasets = 0, tried = 0;
    make_set(ids, 1, fake_path("a"));
    snprintf(path, sizeof path, "%s/a/%s", fake_folder, file);
    char *bytes = fake_read(path, &size);
    for (size_t at = (size_t)_i; at < size; at += 7 * 4, tried++) {
        const char bit = (char)(1 << tried % 8);
        bytes[at] = (char)(bytes[at] ^ bit);
        fake_overwrite(path, bytes, size);
        bytes[at] = (char)(bytes[at] ^ bit);
        const struct faults f = verify(fake_path("a"), false);
        names_it(&f, file, at);
        in_datasets += f.dataset[0][0] != '\0';
    }
    ck_assert_int_gt(in_datasets, tried / 4); /* most of the file is datasets and what describes them */
    fake_overwrite(path, bytes, size);
    ck_assert_int_eq(verify(fake_path("a"), true).count, 0);
    free(bytes);
}
END_TEST

START_TEST(every_flipped_bit_of_the_lists)
{
    static const char *const names[] = {"manifest.json", "SHA256SUMS"};
    char path[512];
    size_t size;
    make_set(ids, CASES, fake_path("a"));
    snprintf(path, sizeof path, "%s/a/%s", fake_folder, names[_i]);
    char *bytes = fake_read(path, &size);
    for (size_t at = 0; at < size; at++) {
        const char bit = (char)(1 << at % 8);
        bytes[at] = (char)(bytes[at] ^ bit);
        fake_overwrite(path, bytes, size);
        bytes[at] = (char)(bytes[at] ^ bit);
        const struct faults f = verify(fake_path("a"), false);
        ck_assert_msg(f.count == 1, "byte %zu: %d faults", at, f.count);
        ck_assert_str_eq(f.file[0], names[_i]);
    }
    fake_overwrite(path, bytes, size - 1);
    ck_assert_int_eq(verify(fake_path("a"), false).count, 1);
    free(bytes);
}
END_TEST

START_TEST(truncated_and_overwritten_files)
{
    const char *file = "fake/N=5,cols=3,row_stride=8.h5";
    char path[512];
    size_t size;
    make_set(ids, 1, fake_path("a"));
    snprintf(path, sizeof path, "%s/a/%s", fake_folder, file);
    char *bytes = fake_read(path, &size);
    const size_t lengths[] = {0, 1, 8, 47, 48, 300, size / 2, size - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        fake_overwrite(path, bytes, lengths[i]);
        const struct faults f = verify(fake_path("a"), false);
        names_it(&f, file, lengths[i]);
    }
    for (size_t at = 0; at + 64 <= size; at += 101) { /* a block of noise */
        char *noisy = malloc(size);
        memcpy(noisy, bytes, size);
        for (size_t k = 0; k < 64; k++)
            noisy[at + k] = (char)sb_rng_u32(&(struct sb_rng){17, at}, k);
        fake_overwrite(path, noisy, size);
        const struct faults f = verify(fake_path("a"), false);
        names_it(&f, file, at);
        free(noisy);
    }
    fake_overwrite(path, "", 0);
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    const struct faults f = verify(fake_path("a"), false);
    one_fault(&f, file, "", "not a regular file");
    free(bytes);
}
END_TEST

/* Whole datasets in a file that is not the one made: with a byte at its end, or an attribute edited. */
START_TEST(damage_around_the_datasets)
{
    const char *file = "fake/N=5,cols=3,row_stride=8.h5";
    char path[512];
    make_set(ids, CASES, fake_path("a"));
    snprintf(path, sizeof path, "%s/a/%s", fake_folder, file);
    if (_i == 0) {
        FILE *f = fopen(path, "ab");
        fputc('x', f);
        fclose(f);
    } else {
        const hid_t h = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        ck_assert(H5Adelete(h, "reason") >= 0 && sb_h5_put_text(h, "reason", "another"));
        H5Fclose(h);
    }
    const struct faults f = verify(fake_path("a"), false);
    one_fault(&f, file, "", "the bytes of every dataset still agree (inputs/raw, inputs/scale,");
}
END_TEST

static void crash_in_child(void)
{
    raise(SIGKILL); /* as a crash, without a sanitizer's report */
}

static void hang_in_child(void)
{
    for (;;)
        pause();
}

/* The library may crash or hang on a damaged file: one more fault, and the other files are still looked at. */
START_TEST(crash_and_hang_of_the_reader)
{
    static const char *const says[] = {"HDF5 crashed on it (signal 9)", "still at it when the time was over"};
    struct faults f;
    make_set(ids, CASES, fake_path("a"));
    fake_overwrite(fake_path("a/fake/N=5,cols=3,row_stride=8.h5"), "x", 1);
    fake_overwrite(fake_path("a/fake/N=7,cols=2,gather=1.h5"), "x", 1);
    sb_probe_seconds = 1;
    pthread_atfork(NULL, NULL, _i == 0 ? crash_in_child : hang_in_child);
    f = verify(fake_path("a"), false);
    ck_assert_int_eq(f.count, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(f.file[i], i == 0 ? "fake/N=5,cols=3,row_stride=8.h5" : "fake/N=7,cols=2,gather=1.h5");
        fake_says(f.text[i], says[_i], "inputs/raw");
    }
}
END_TEST

/* Two golden files of one set, each whole, under each other's name. */
START_TEST(swapped_files)
{
    make_set(ids, 2, fake_path("a"));
    fake_run("cd '%s/a/fake' && mv *gather=1.h5 x && mv *stride=8.h5 N=7,cols=2,gather=1.h5 && mv x "
             "N=5,cols=3,row_stride=8.h5",
             fake_folder);
    const struct faults f = verify(fake_path("a"), false);
    ck_assert_int_gt(f.count, 2);
}
END_TEST

START_TEST(only_deep_sees_a_wrong_computation)
{
    fake_wrong_output = true;
    make_set(ids, CASES, fake_path("a"));
    fake_wrong_output = false;
    ck_assert_int_eq(verify(fake_path("a"), false).count, 0);
    struct faults f = verify(fake_path("a"), true);
    ck_assert_int_eq(f.count, 4); /* sums and the relation, in the two accepted cases */
    ck_assert_str_eq(f.dataset[0], "outputs/sums");
    fake_says(f.text[0], "1 of 5 elements", "[1]: stored 0xffbffffe, computed 0xffbfffff");
    fake_says(f.text[1], "relation", "sums[1]");
    fake_wrong_input = true;
    make_set(ids, CASES, fake_path("a"));
    fake_wrong_input = false;
    ck_assert_int_eq(verify(fake_path("a"), false).count, 0);
    f = verify(fake_path("a"), true);
    ck_assert_int_eq(f.count, 3); /* outputs follow from the stored inputs: they agree */
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(f.dataset[i], "inputs/raw");
}
END_TEST

/* A set that agrees with itself, but not with the digests its manifest was given. */
START_TEST(manifest_of_another_make)
{
    make_set(ids, 2, fake_path("a"));
    fake_wrong_output = true;
    make_set(ids, 2, fake_path("b"));
    fake_wrong_output = false;
    fake_run("cp '%1$s/b/manifest.json' '%1$s/b/SHA256SUMS' '%1$s/a/'", fake_folder);
    const struct faults f = verify(fake_path("a"), false);
    ck_assert_int_eq(f.count, 2);
    ck_assert_str_eq(f.dataset[0], "outputs/sums");
    ck_assert_str_eq(f.dataset[1], "outputs/sums");
}
END_TEST

/* Whole files, and a manifest and checksums that agree with themselves but not with what the files hold. */
START_TEST(manifest_that_says_otherwise)
{
    static const char *const files[] = {"fake/N=5,cols=3,row_stride=8.h5", "fake/N=5,cols=3,row_stride=8.h5",
                                        "manifest.json"};
    static const char *const datasets[] = {"inputs/scale", "", ""};
    static const char *const about[] = {"its digest is not as manifest.json has it", "its status", "bytes for"};
    struct sb_manifest m;
    struct sb_error err = {0};
    char hex[SB_SHA256_HEX], path[512];
    make_set(ids, 1, fake_path("a"));
    snprintf(path, sizeof path, "%s", fake_path("a/manifest.json"));
    ck_assert(sb_manifest_read(&m, path, &err));
    if (_i == 0)
        m.entry[0].tensor[1].sha256[0] = m.entry[0].tensor[1].sha256[0] == '0' ? '1' : '0';
    if (_i == 1)
        m.entry[0].status.ignored = 7;
    if (_i == 2)
        m.entry[0].file_bytes++;
    ck_assert_msg(sb_manifest_write(&m, path, &fake_ops, &err), "%s", err.text);
    ck_assert(sb_file_sha256(path, hex, &err));
    char *sums = sb_sums_text(&m, hex);
    fake_overwrite(fake_path("a/SHA256SUMS"), sums, strlen(sums));
    const struct faults f = verify(fake_path("a"), false);
    one_fault(&f, files[_i], datasets[_i], about[_i]);
    free(sums);
    sb_manifest_free(&m);
}
END_TEST

START_TEST(newer_contract)
{
    struct sb_op newer = fake_newer_op();
    const struct sb_op *const array[] = {&newer};
    const struct sb_op_list newer_ops = {array, 1};
    struct sb_case c = fake_case(ids[0]);
    struct sb_error err = {0};
    c.op = &newer;
    ck_assert(sb_set_make(&c, 1, "smoke", fake_path("a"), NULL, &newer_ops, NULL, NULL, &err));
    verify_fails(fake_path("a"), "made under version 2 of its contract, this build knows 1", "update samebits");
}
END_TEST

START_TEST(stopped_verification)
{
    struct faults f = {0};
    struct sb_error err = {0};
    make_set(ids, CASES, fake_path("a"));
    ck_assert_int_eq(sb_set_verify(fake_path("a"), false, &fake_ops, stop_at_two, note, &f, &err), -1);
    fake_says(err.text, "stopped after 2 of 3", "not looked at");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("golden_set");
    TCase *t = tcase_create("set");
    tcase_add_checked_fixture(t, fake_setup, fake_teardown);
    tcase_set_timeout(t, 1200);
    tcase_add_test(t, make_and_verify);
    tcase_add_test(t, the_same_set_twice);
    tcase_add_test(t, digests_alone);
    tcase_add_test(t, nothing_to_make);
    tcase_add_test(t, interrupted_make);
    tcase_add_test(t, failed_make);
    tcase_add_test(t, two_sets_do_not_mix);
    tcase_add_test(t, leftovers_are_removed);
    tcase_add_test(t, unwritable_folder);
    tcase_add_test(t, not_a_set);
    tcase_add_test(t, missing_and_extra_files);
    tcase_add_loop_test(t, every_flipped_bit_of_a_golden_file, 0, 4); /* from bytes 0, 1, 2, 3 on */
    tcase_add_loop_test(t, every_flipped_bit_of_the_lists, 0, 2);
    tcase_add_test(t, truncated_and_overwritten_files);
    tcase_add_loop_test(t, damage_around_the_datasets, 0, 2);
    tcase_add_loop_test(t, crash_and_hang_of_the_reader, 0, 2);
    tcase_add_test(t, swapped_files);
    tcase_add_test(t, only_deep_sees_a_wrong_computation);
    tcase_add_test(t, manifest_of_another_make);
    tcase_add_loop_test(t, manifest_that_says_otherwise, 0, 3);
    tcase_add_test(t, newer_contract);
    tcase_add_test(t, stopped_verification);
    suite_add_tcase(s, t);
    return s;
}

#include "check_main.h"
