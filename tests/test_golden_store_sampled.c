/* Golden files of sampled cases, with and without their inputs: there and back, verified in depth, and every edit that
 * keeps a file readable is seen for what it is. */
#include "../golden/hdf5_util.h"
#include "../golden/ops.h"
#include "../golden/samples.h"
#include "../golden/set.h"
#include "../golden/set_parts.h"
#include "../golden/store_parts.h"
#include "golden_fake.h"

#include "check_main.h"

static const struct sb_op *const op_array[] = {&sb_op_wgrad_varlen_k};
static const struct sb_op_list ops = {op_array, 1};

/* The second has more bytes of inputs than a sampled file keeps. */
static const char *const ids[] = {
    "wgrad_varlen_k/M=72,N=24,E=3,counts=20+0+33,sample=5",
    "wgrad_varlen_k/M=8,N=160,E=3,counts=hot,tokens=60000,gather=random,out_dtype=bf16,sample=6",
};
enum { KEPT, STATED };

static struct sb_case parse(const char *id)
{
    struct sb_case c;
    struct sb_error err = {0};
    ck_assert_msg(sb_case_parse(&c, &ops, id, &err), "%s", err.text);
    return c;
}

static const char *file_of(const char *id)
{
    char name[SB_ID_SIZE + 4];
    snprintf(name, sizeof name, "%s.h5", id);
    return fake_path(name);
}

/* The set of one case, in the test's folder. */
static void make_set(const char *id)
{
    const struct sb_case c = parse(id);
    struct sb_error err = {0};
    ck_assert_msg(sb_set_make(&c, 1, "selection", fake_folder, NULL, &ops, NULL, NULL, &err), "%s", err.text);
}

/* ---- there and back ------------------------------------------------------------------------------- */

START_TEST(what_is_written_is_read)
{
    const struct sb_case c = parse(ids[_i]);
    struct sb_case back;
    struct sb_data d, again;
    struct sb_error err = {0};
    fake_compute(&c, &d);
    ck_assert_int_eq(sb_store_keeps_inputs(&c, &d), _i == KEPT);
    ck_assert_msg(sb_store_write(file_of(c.id), &c, &d, &err), "%s", err.text);
    ck_assert_msg(sb_store_read(file_of(c.id), &ops, &back, &again, &err), "%s", err.text);
    ck_assert_str_eq(back.id, c.id);
    for (int i = 0; i < sb_op_input_count(c.op); i++) {
        ck_assert_int_eq(d.in[i].data == NULL, again.in[i].data == NULL);
        if (d.in[i].data != NULL)
            ck_assert_mem_eq(d.in[i].data, again.in[i].data, sb_tensor_span_bytes(&d.in[i]));
    }
    ck_assert_int_eq(again.samples[0].count, d.samples[0].count);
    ck_assert_mem_eq(again.samples[0].block, d.samples[0].block, (size_t)d.samples[0].count * sizeof(struct sb_block));
    ck_assert_int_eq(again.out[0].shape[0], d.samples[0].count);
    ck_assert_mem_eq(again.out[0].data, d.out[0].data, sb_tensor_span_bytes(&d.out[0]));
    ck_assert_int_eq(sb_tensor_count(sb_output_whole(&again, 0)),
                     sb_case_int(&c, "E") * sb_case_int(&c, "M") * sb_case_int(&c, "N"));
    sb_data_free(&d);
    sb_data_free(&again);
}
END_TEST

/* Without its inputs a file is small, and says what they are. */
START_TEST(large_inputs_are_stated)
{
    make_set(ids[STATED]);
    size_t size;
    free(fake_read(file_of(ids[STATED]), &size));
    ck_assert_uint_lt(size, 40000);
    struct sb_error err = {0};
    char layout[64], digest[SB_SHA256_HEX], name[SB_DATASET_NAME];
    const hid_t file = sb_h5_open(file_of(ids[STATED]), &err);
    ck_assert(file >= 0 && !sb_h5_has(file, "inputs/dy") && sb_h5_has(file, "samples/dw"));
    const hid_t group = H5Gopen2(file, "inputs", H5P_DEFAULT);
    ck_assert(sb_h5_get_text(group, "dy", layout, sizeof layout));
    ck_assert_str_eq(layout, "bf16[60000,8]");
    ck_assert(sb_h5_get_text(group, sb_store_digest_name("dy", name), digest, sizeof digest));
    ck_assert(H5Aexists(group, "main_grad") <= 0); /* absent from this call */
    H5Gclose(group);
    H5Fclose(file);
}
END_TEST

/* ---- faults --------------------------------------------------------------------------------------- */

static char told[4096];
static void note_fault(void *user, const char *file, const char *dataset, const char *text)
{
    (void)user;
    const size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, "%s|%s|%s\n", file, dataset, text);
}

static int faults(bool deep)
{
    struct sb_error err = {0};
    told[0] = '\0';
    return sb_set_verify(fake_folder, deep, &ops, NULL, note_fault, NULL, &err);
}

START_TEST(a_set_is_intact)
{
    make_set(ids[_i]);
    ck_assert_msg(faults(false) == 0, "%s", told);
    ck_assert_msg(faults(true) == 0, "%s", told);
}
END_TEST

/* One bit in every few bytes of the file. */
START_TEST(any_flipped_bit_is_seen)
{
    size_t size;
    make_set(ids[_i]);
    char *bytes = fake_read(file_of(ids[_i]), &size);
    for (size_t at = 0; at < size; at += size / 150) {
        bytes[at] = (char)(bytes[at] ^ 1 << at % 8);
        fake_overwrite(file_of(ids[_i]), bytes, size);
        ck_assert_msg(faults(false) > 0, "byte %zu", at);
        ck_assert_msg(strstr(told, "puts/") != NULL || strstr(told, "samples/") != NULL, "byte %zu: %s", at, told);
        bytes[at] = (char)(bytes[at] ^ 1 << at % 8);
    }
    fake_overwrite(file_of(ids[_i]), bytes, size);
    ck_assert_int_eq(faults(false), 0);
    free(bytes);
}
END_TEST

/* ---- edits that keep the file's own digests right -------------------------------------------------- */

static hid_t open_to_edit(const char *id)
{
    sb_h5_quiet();
    const hid_t file = H5Fopen(file_of(id), H5F_ACC_RDWR, H5P_DEFAULT);
    ck_assert(file >= 0);
    return file;
}

static void put_text(hid_t file, const char *object, const char *name, const char *text)
{
    const hid_t at = H5Oopen(file, object, H5P_DEFAULT);
    ck_assert(at >= 0);
    if (H5Aexists(at, name) > 0)
        ck_assert(H5Adelete(at, name) >= 0);
    ck_assert(text == NULL || sb_h5_put_text(at, name, text));
    H5Oclose(at);
}

/* Rewrites a dataset after `change` has had its bytes, digest and all. */
static void edit(const char *id, const char *name, void (*change)(unsigned char *bytes))
{
    struct sb_h5_dataset ds;
    struct sb_error err = {0};
    char hex[SB_SHA256_HEX];
    const hid_t file = open_to_edit(id);
    ck_assert_msg(sb_h5_dataset_open(&ds, file, "file", name, &err), "%s", err.text);
    ds.tensor.data = malloc(sb_tensor_span_bytes(&ds.tensor));
    ck_assert(sb_h5_dataset_read(&ds, ds.tensor.data, &err));
    change(ds.tensor.data);
    ck_assert(H5Dwrite(ds.id, sb_h5_type(ds.tensor.dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, ds.tensor.data) >= 0);
    sb_tensor_sha256(&ds.tensor, hex);
    free(ds.tensor.data);
    sb_h5_dataset_close(&ds);
    put_text(file, name, "sha256", hex);
    H5Fclose(file);
}

/* Does reading the file fail with these words? */
static void must_refuse(const char *id, const char *dataset, const char *words)
{
    struct sb_case c;
    struct sb_data d;
    struct sb_error err = {0};
    ck_assert_msg(!sb_store_read(file_of(id), &ops, &c, &d, &err), "taken: %s", words);
    fake_says(err.text, dataset, words);
}

static void swap_tiles(unsigned char *bytes)
{
    enum { TILE = 64 * 24 * 4 };
    unsigned char kept[TILE];
    memcpy(kept, bytes, TILE);
    memcpy(bytes, bytes + 4 * TILE, TILE);
    memcpy(bytes + 4 * TILE, kept, TILE);
}

static void move_a_tile(unsigned char *bytes)
{
    int64_t *block = (int64_t *)bytes;
    block[1]++;
    block[2]++;
}

static void flip(unsigned char *bytes)
{
    bytes[5] ^= 1;
}

/* Renews SHA256SUMS and manifest.json for the edited file, as somebody would who makes it look right. */
static void vouch_for_edit(const char *id)
{
    struct sb_case c;
    struct sb_data d;
    struct sb_digests digests;
    struct sb_manifest m = {.suite = "selection"};
    struct sb_error err = {0};
    char dataset[SB_DATASET_NAME], hex[SB_SHA256_HEX];
    size_t size;
    free(fake_read(file_of(id), &size));
    ck_assert_msg(sb_store_load(file_of(id), &ops, &c, &d, &digests, dataset, &err), "%s", err.text);
    ck_assert(sb_file_sha256(file_of(id), hex, &err));
    ck_assert(sb_manifest_add_digested(&m, &c, &d, &digests, hex, (int64_t)size, &err));
    char *manifest = sb_manifest_text(&m, &ops, &err);
    fake_overwrite(fake_path(sb_manifest_name), manifest, strlen(manifest));
    sb_bytes_sha256(manifest, strlen(manifest), hex);
    char *sums = sb_sums_text(&m, hex);
    fake_overwrite(fake_path(sb_sums_name), sums, strlen(sums));
    free(sums);
    free(manifest);
    sb_manifest_free(&m);
    sb_data_free(&d);
}

START_TEST(swapped_tiles_are_not_the_reference)
{
    make_set(ids[KEPT]);
    edit(ids[KEPT], "outputs/dw", swap_tiles);
    vouch_for_edit(ids[KEPT]);
    ck_assert_int_eq(faults(false), 0); /* the set vouches for it */
    ck_assert_int_gt(faults(true), 0);
    fake_says(told, "outputs/dw", "elements are not what this build computes");
    fake_says(told, "the first is [0, 0, 0] of sample 0: stored 0x", "computed 0x");
}
END_TEST

START_TEST(tiles_at_other_places_are_refused)
{
    make_set(ids[_i]);
    edit(ids[_i], "samples/dw", move_a_tile);
    must_refuse(ids[_i], "samples/dw", "at other places");
}
END_TEST

START_TEST(a_flipped_tile_or_table_has_another_digest)
{
    char hex[SB_SHA256_HEX] = "0000000000000000000000000000000000000000000000000000000000000000";
    static const char *const names[] = {"outputs/dw", "samples/dw"};
    for (int i = 0; i < 2; i++) {
        make_set(ids[_i]);
        edit(ids[_i], names[i], flip);
        const hid_t file = open_to_edit(ids[_i]);
        put_text(file, names[i], "sha256", hex);
        H5Fclose(file);
        must_refuse(ids[_i], names[i], "SHA-256");
    }
}
END_TEST

START_TEST(what_a_file_states_must_fit_the_seed)
{
    static const struct {
        const char *object, *attribute, *text, *dataset, *words;
    } edits[] = {
        {"inputs", "dy.sha256", "0000000000000000000000000000000000000000000000000000000000000000", "inputs/dy",
         "the seed gives bytes with SHA-256"},
        {"inputs", "dy.sha256", NULL, "inputs/dy", "is missing"},
        {"inputs", "x", "bf16[60000,168]", "inputs/x", "its layout is bf16[60000,168], where this case has"},
        {"inputs", "x", NULL, "inputs/x", "is missing"},
        {"outputs", "dw", "bf16[3,8,168]", "outputs/dw", "wrong shape"},
        {"outputs/dw", "sampled", NULL, "outputs/dw", "attribute sampled is missing"},
        {"outputs/dw", "sampled", "/samples/other", "outputs/dw", "attribute sampled is missing"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        make_set(ids[STATED]);
        const hid_t file = open_to_edit(ids[STATED]);
        put_text(file, edits[i].object, edits[i].attribute, edits[i].text);
        H5Fclose(file);
        must_refuse(ids[STATED], edits[i].dataset, edits[i].words);
    }
}
END_TEST

/* A file that is not the manifest's: which of the stated inputs differs is named, without making it. */
START_TEST(a_changed_statement_is_named)
{
    make_set(ids[STATED]);
    const hid_t file = open_to_edit(ids[STATED]);
    put_text(file, "inputs", "x.sha256", "0000000000000000000000000000000000000000000000000000000000000000");
    H5Fclose(file);
    ck_assert_int_eq(faults(false), 1);
    fake_says(told, "|inputs/x|", "its digest is not that of the manifest");
}
END_TEST

START_TEST(datasets_that_do_not_belong_are_refused)
{
    static const struct {
        int id;
        const char *from, *to, *dataset, *words;
    } copies[] = {
        {STATED, "samples/dw", "inputs/x", "inputs/x", "too large to be kept"},
        {KEPT, "samples/dw", "samples/other", "samples/other", "unexpected"},
        {KEPT, "samples", "more", "more", "unexpected"},
    };
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        const char *id = ids[copies[i].id];
        fake_teardown(); /* another set */
        fake_setup();
        make_set(id);
        const hid_t file = open_to_edit(id);
        ck_assert(H5Ocopy(file, copies[i].from, file, copies[i].to, H5P_DEFAULT, H5P_DEFAULT) >= 0);
        H5Fclose(file);
        must_refuse(id, copies[i].dataset, copies[i].words);
    }
    make_set(ids[KEPT]);
    const hid_t file = open_to_edit(ids[KEPT]);
    ck_assert(H5Ldelete(file, "samples/dw", H5P_DEFAULT) >= 0);
    H5Fclose(file);
    must_refuse(ids[KEPT], "samples/dw", "missing");
}
END_TEST

/* ---- digest files --------------------------------------------------------------------------------- */

START_TEST(a_manifest_holds_tiles_and_places)
{
    const struct sb_case c = parse(ids[_i]);
    struct sb_manifest m = {.suite = "selection"};
    struct sb_data d;
    struct sb_error err = {0};
    fake_compute(&c, &d);
    ck_assert(sb_manifest_add(&m, &c, &d, &err));
    ck_assert_msg(sb_manifest_write(&m, fake_path("digests.json"), &ops, &err), "%s", err.text);
    sb_manifest_free(&m);
    ck_assert_msg(sb_manifest_read(&m, fake_path("digests.json"), &err), "%s", err.text);
    const struct sb_manifest_entry *e = sb_manifest_find(&m, c.id);
    ck_assert_ptr_nonnull(e);
    ck_assert_ptr_null(sb_manifest_difference(e, &c, &d));
    d.samples[0].block[2].plane ^= 1;
    ck_assert_str_eq(sb_manifest_difference(e, &c, &d), "samples/dw");
    d.samples[0].block[2].plane ^= 1;
    ((unsigned char *)d.out[0].data)[7] ^= 1;
    ck_assert_str_eq(sb_manifest_difference(e, &c, &d), "outputs/dw");
    ((unsigned char *)d.out[0].data)[7] ^= 1;
    ((unsigned char *)d.in[1].data)[7] ^= 1;
    ck_assert_str_eq(sb_manifest_difference(e, &c, &d), "inputs/x");
    sb_manifest_free(&m);
    sb_data_free(&d);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("golden/store of samples");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, fake_setup, fake_teardown);
    tcase_add_loop_test(t, what_is_written_is_read, 0, 2);
    tcase_add_test(t, large_inputs_are_stated);
    tcase_add_loop_test(t, a_set_is_intact, 0, 2);
    tcase_add_loop_test(t, any_flipped_bit_is_seen, 0, 2);
    tcase_add_test(t, swapped_tiles_are_not_the_reference);
    tcase_add_loop_test(t, tiles_at_other_places_are_refused, 0, 2);
    tcase_add_loop_test(t, a_flipped_tile_or_table_has_another_digest, 0, 2);
    tcase_add_test(t, what_a_file_states_must_fit_the_seed);
    tcase_add_test(t, a_changed_statement_is_named);
    tcase_add_test(t, datasets_that_do_not_belong_are_refused);
    tcase_add_loop_test(t, a_manifest_holds_tiles_and_places, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
