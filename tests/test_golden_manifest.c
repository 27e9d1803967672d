/* test_golden_manifest.c - manifest.json: sorted, canonical, and no bit of it can change unseen. */
#include "golden_fake.h"
#include "../golden/manifest_parts.h"

static const char *const ids[] = {"fake/N=5,cols=3", "fake/N=2,cols=9,gather=1", "fake/N=5,cols=3,mode=reject",
                                  "fake/N=5,cols=3,row_stride=8"};
enum { CASES = 4 };

static void add(struct sb_manifest *m, const char *id)
{
    struct sb_case c = fake_case(id);
    struct sb_data d;
    struct sb_error err = {0};
    fake_compute(&c, &d);
    ck_assert_msg(sb_manifest_add(m, &c, &d, &err), "%s", err.text);
    sb_data_free(&d);
}

/* A digest manifest of all `ids`, written to `path`. */
static const char *write_manifest(const char *name)
{
    struct sb_manifest m = {.suite = "smoke"};
    struct sb_error err = {0};
    const char *path = fake_path(name);
    for (int i = 0; i < CASES; i++)
        add(&m, ids[i]);
    ck_assert_msg(sb_manifest_write(&m, path, &fake_ops, &err), "%s", err.text);
    sb_manifest_free(&m);
    return path;
}

static void refused(const char *path, const char *about)
{
    struct sb_manifest m;
    struct sb_error err = {0};
    ck_assert_msg(!sb_manifest_read(&m, path, &err), "%s was taken", path);
    ck_assert_int_eq(err.exit, SB_EXIT_BAD_INPUT);
    fake_says(err.text, path, about);
    ck_assert_ptr_null(m.entry);
}

START_TEST(round_trip)
{
    struct sb_manifest m;
    struct sb_error err = {0};
    ck_assert_msg(sb_manifest_read(&m, write_manifest("m.json"), &err), "%s", err.text);
    ck_assert_str_eq(m.suite, "smoke");
    ck_assert_int_eq(m.count, CASES);
    ck_assert_int_eq(m.contracts, 1);
    ck_assert_str_eq(m.contract[0].op, "fake");
    ck_assert_int_eq(m.contract[0].version, 1);
    for (int i = 1; i < m.count; i++)
        ck_assert_int_lt(strcmp(m.entry[i - 1].id, m.entry[i].id), 0);
    const struct sb_manifest_entry *e = sb_manifest_find(&m, "fake/N=5,cols=3,mode=reject");
    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(e->status.code, SB_GATHER_RANGE);
    ck_assert_int_eq(e->status.where[1], -9);
    ck_assert_int_eq(e->status.ignored, 2);
    ck_assert_int_eq(e->tensors, 3); /* inputs only, without the optional one */
    ck_assert_str_eq(e->file_sha256, "");
    ck_assert_int_eq(sb_manifest_find(&m, "fake/N=2,cols=9,gather=1")->tensors, 9);
    ck_assert_ptr_null(sb_manifest_find(&m, "fake/N=6,cols=3"));
    sb_manifest_free(&m);
}
END_TEST

START_TEST(the_same_text_in_any_order)
{
    size_t n, k;
    char *forward = fake_read(write_manifest("m.json"), &n);
    struct sb_manifest m = {.suite = "smoke"};
    struct sb_error err = {0};
    for (int i = CASES - 1; i >= 0; i--)
        add(&m, ids[i]);
    char *text = sb_manifest_text(&m, &fake_ops, &err);
    ck_assert_ptr_nonnull(text);
    k = strlen(text);
    ck_assert(n == k && memcmp(forward, text, n) == 0);
    sb_manifest_free(&m);
    free(text);
    free(forward);
}
END_TEST

START_TEST(a_case_twice)
{
    struct sb_manifest m = {.suite = "smoke"};
    struct sb_error err = {0};
    struct sb_case c = fake_case(ids[0]);
    struct sb_data d;
    add(&m, ids[0]);
    fake_compute(&c, &d);
    ck_assert(!sb_manifest_add(&m, &c, &d, &err));
    fake_says(err.text, ids[0], "twice");
    sb_data_free(&d);
    sb_manifest_free(&m);
}
END_TEST

START_TEST(every_flipped_bit_is_found)
{
    size_t size;
    const char *path = write_manifest("m.json");
    char *bytes = fake_read(path, &size);
    for (size_t at = 0; at < size; at++) {
        struct sb_manifest m;
        struct sb_error err = {0};
        const char bit = (char)(1 << at % 8);
        bytes[at] = (char)(bytes[at] ^ bit);
        ck_assert_msg(!sb_manifest_read_bytes(&m, path, bytes, size, &err), "bit %d of byte %zu", (int)(at % 8), at);
        ck_assert(strstr(err.text, path) != NULL);
        bytes[at] = (char)(bytes[at] ^ bit);
    }
    free(bytes);
}
END_TEST

START_TEST(every_truncation_is_found)
{
    size_t size;
    const char *path = write_manifest("m.json");
    char *bytes = fake_read(path, &size);
    for (size_t length = 0; length < size; length += length < size - 20 ? 13 : 1) {
        struct sb_manifest m;
        struct sb_error err = {0};
        ck_assert_msg(!sb_manifest_read_bytes(&m, path, bytes, length, &err), "%zu bytes of %zu", length, size);
    }
    free(bytes);
}
END_TEST

/* Replaces the first `from` by `to` in a written manifest. */
static const char *edited(const char *from, const char *to)
{
    size_t size;
    const char *path = write_manifest("m.json");
    char *bytes = fake_read(path, &size), *at = strstr(bytes, from);
    ck_assert_msg(at != NULL, "%s", from);
    FILE *f = fopen(path, "wb");
    fprintf(f, "%.*s%s%s", (int)(at - bytes), bytes, to, at + strlen(from));
    fclose(f);
    free(bytes);
    return path;
}

START_TEST(edits)
{
    static const struct {
        const char *from, *to, *about;
    } all[] = {
        {"samebits-manifest", "samebits-manifesto", "format"},
        {"\"format_version\": 1", "\"format_version\": 2",
         "made in format version 2, this build knows 1: update samebits"},
        {"philox4x32-10/1", "philox4x32-10/2", "generator"},
        {"\"count\": 4", "\"count\": 3", "content_sha256"},
        {"\"count\": 4", "\"count\":  4", "byte for byte"},
        {"\"suite\": \"smoke\"", "\"suite\": \"smoko\"", "content_sha256"},
        {"\"suite\": \"smoke\"", "\"suite\": \"smok\\u0065\"", "byte for byte"},
        {"\"suite\": \"smoke\"", "\"suite\": \"smoke\", \"suite\": \"smoke\"", "not JSON"},
        {"{", "[", "not JSON"},
    };
    refused(edited(all[_i].from, all[_i].to), all[_i].about);
}
END_TEST

START_TEST(other_files)
{
    const char *path = fake_path("x.json");
    refused(path, "cannot open");
    fake_overwrite(path, "", 0);
    refused(path, "not JSON");
    fake_overwrite(path, "[]\n", 3);
    refused(path, "format");
    fake_overwrite(path, "{}\n", 3);
    refused(path, "format");
    refused(fake_folder, "not a regular file");
}
END_TEST

START_TEST(differences)
{
    struct sb_manifest m = {.suite = "smoke"};
    struct sb_case c = fake_case(ids[0]);
    struct sb_data d;
    add(&m, ids[0]);
    fake_compute(&c, &d);
    const struct sb_manifest_entry *e = sb_manifest_find(&m, ids[0]);
    ck_assert_ptr_null(sb_manifest_difference(e, &c, &d));
    ((uint8_t *)d.in[FAKE_SCALE].data)[4] ^= 1;
    ck_assert_str_eq(sb_manifest_difference(e, &c, &d), "inputs/scale");
    ((uint8_t *)d.in[FAKE_SCALE].data)[4] ^= 1;
    ((uint8_t *)d.out[FAKE_BYTES].data)[14] ^= 0x80;
    ck_assert_str_eq(sb_manifest_difference(e, &c, &d), "outputs/bytes");
    ((uint8_t *)d.out[FAKE_BYTES].data)[14] ^= 0x80;
    d.status.ignored++;
    ck_assert_str_eq(sb_manifest_difference(e, &c, &d), "status");
    d.status.ignored--;
    sb_tensors_free(&d.out[FAKE_TOTAL], 1);
    ck_assert_str_eq(sb_manifest_difference(e, &c, &d), "outputs/total");
    sb_data_free(&d);
    sb_manifest_free(&m);
}
END_TEST

START_TEST(mostly_constant)
{
    /* 200 bytes of one value but for `others`: 2 of 200 are one in a hundred, 3 are more. */
    static const struct {
        int64_t rows;
        int others;
        bool flagged;
    } tries[] = {{200, 0, true}, {200, 2, true}, {200, 3, false}, {64, 0, false}, {65, 0, true}, {65, 1, false}};
    char id[64];
    snprintf(id, sizeof id, "fake/N=%d,cols=1", (int)tries[_i].rows);
    struct sb_manifest m = {.suite = "smoke"};
    struct sb_case c = fake_case(id);
    struct sb_data d;
    struct sb_error err = {0};
    fake_compute(&c, &d);
    uint8_t *bytes = d.out[FAKE_BYTES].data;
    memset(bytes, 7, (size_t)tries[_i].rows);
    for (int i = 0; i < tries[_i].others; i++)
        bytes[i] = 1; /* in front, where the vote looks */
    ck_assert(sb_manifest_add(&m, &c, &d, &err));
    ck_assert_int_eq(m.entry[0].mostly_constant, tries[_i].flagged);
    sb_data_free(&d);
    sb_manifest_free(&m);
}
END_TEST

START_TEST(contracts)
{
    struct sb_manifest m;
    struct sb_error err = {0};
    const struct sb_op newer = fake_newer_op();
    const struct sb_op *const array[] = {&newer};
    const struct sb_op_list newer_ops = {array, 1}, none = {array, 0};
    const char *path = write_manifest("m.json");
    ck_assert(sb_manifest_read(&m, path, &err));
    ck_assert(sb_manifest_contracts_known(&m, path, &fake_ops, &err));
    ck_assert(!sb_manifest_contracts_known(&m, path, &newer_ops, &err));
    fake_says(err.text, "fake was made under version 1", "make the set again");
    ck_assert(!sb_manifest_contracts_known(&m, path, &none, &err));
    fake_says(err.text, "\"fake\"", "update samebits");
    m.contract[0].version = 3;
    ck_assert(!sb_manifest_contracts_known(&m, path, &newer_ops, &err));
    fake_says(err.text, "version 3", "update samebits");
    sb_manifest_free(&m);
}
END_TEST

/* A manifest that agrees with its own digest must still not lead out of its folder. */
START_TEST(ids_stay_in_the_folder)
{
    static const char *const bad[] = {"/etc/x", "../x/y", "fake/../../x", "fake/.x", "fake", "fa ke/x", "fake/a\nb"};
    struct sb_manifest m = {.suite = "smoke"};
    struct sb_error err = {0};
    add(&m, ids[0]);
    snprintf(m.entry[0].id, sizeof m.entry[0].id, "%s", bad[_i]);
    ck_assert(sb_manifest_write(&m, fake_path("m.json"), &fake_ops, &err));
    sb_manifest_free(&m);
    refused(fake_path("m.json"), "\"id\"");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("golden_manifest");
    TCase *t = tcase_create("manifest");
    tcase_add_checked_fixture(t, fake_setup, fake_teardown);
    tcase_set_timeout(t, 1200);
    tcase_add_test(t, round_trip);
    tcase_add_test(t, the_same_text_in_any_order);
    tcase_add_test(t, a_case_twice);
    tcase_add_test(t, every_flipped_bit_is_found);
    tcase_add_test(t, every_truncation_is_found);
    tcase_add_loop_test(t, edits, 0, 9);
    tcase_add_test(t, other_files);
    tcase_add_test(t, differences);
    tcase_add_loop_test(t, mostly_constant, 0, 6);
    tcase_add_test(t, contracts);
    tcase_add_loop_test(t, ids_stay_in_the_folder, 0, 7);
    suite_add_tcase(s, t);
    return s;
}

#include "check_main.h"
