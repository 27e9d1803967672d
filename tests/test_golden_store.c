/* test_golden_store.c - golden files: what goes in comes out, the same bytes every time, and no damage passes. */
#include "golden_fake.h"
#include "../golden/hdf5_util.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static const char *write_case(const char *id, const char *name)
{
    struct sb_case c = fake_case(id);
    struct sb_data d;
    struct sb_error err = {0};
    const char *path = fake_path(name);
    fake_compute(&c, &d);
    ck_assert_msg(sb_store_write(path, &c, &d, &err), "%s", err.text);
    sb_data_free(&d);
    return path;
}

static void same_tensor(const struct sb_tensor *a, const struct sb_tensor *b)
{
    ck_assert_int_eq(a->data == NULL, b->data == NULL);
    ck_assert_int_eq(a->dtype, b->dtype);
    ck_assert_int_eq(a->rank, b->rank);
    ck_assert_int_eq(a->row_stride, b->row_stride);
    for (int axis = 0; axis < a->rank; axis++)
        ck_assert_int_eq(a->shape[axis], b->shape[axis]);
    if (a->data != NULL) /* the gaps too: generate() and sb_store_read lay tensors out alike */
        ck_assert_int_eq(memcmp(a->data, b->data, sb_tensor_span_bytes(a)), 0);
}

/* Every tensor of `id`, written and read. */
static void round_trip(const char *id)
{
    struct sb_case c = fake_case(id), back;
    struct sb_data d, got;
    struct sb_error err = {0};
    const char *path = write_case(id, "round/trip.h5");
    fake_compute(&c, &d);
    ck_assert_msg(sb_store_read(path, &fake_ops, &back, &got, &err), "%s", err.text);
    ck_assert_str_eq(back.id, c.id);
    ck_assert_str_eq(back.reason, c.reason);
    ck_assert_uint_eq(back.seed, c.seed);
    ck_assert_int_eq(memcmp(&d.status, &got.status, sizeof d.status), 0);
    for (int i = 0; i < 4; i++)
        same_tensor(&d.in[i], &got.in[i]);
    for (int i = 0; i < 5; i++)
        same_tensor(&d.out[i], &got.out[i]);
    sb_data_free(&d);
    sb_data_free(&got);
}

START_TEST(round_trips)
{
    static const char *const ids[] = {
        "fake/N=5,cols=3,row_stride=8",
        "fake/N=5,cols=3",
        "fake/N=7,cols=2,gather=1",
        "fake/N=0,cols=3",
        "fake/N=4,cols=0",
        "fake/N=5,cols=3,mode=reject",
        "fake/N=1,cols=1",
        "fake/N=3000,cols=700",
        "fake/N=1500000,cols=1,row_stride=2",
        "fake/N=20,cols=4096,row_stride=5000",
    };
    round_trip(ids[_i]);
}
END_TEST

START_TEST(signalling_nans_keep_their_bits)
{
    struct sb_case c;
    struct sb_data d;
    struct sb_error err = {0};
    const char *path = write_case("fake/N=5,cols=3", "nan.h5");
    ck_assert_msg(sb_store_read(path, &fake_ops, &c, &d, &err), "%s", err.text);
    const uint32_t *sums = d.out[FAKE_SUMS].data;
    ck_assert_uint_eq(sums[0], 0x7F800001);
    ck_assert_uint_eq(sums[1], 0xFFBFFFFF);
    ck_assert_uint_eq(sums[2], 0x7FC12345);
    sb_data_free(&d);
}
END_TEST

START_TEST(the_same_file_twice)
{
    /* Freed and fresh memory is filled with two different bytes: none of it may get into the file. */
    static const char *const ids[] = {"fake/N=5,cols=3,row_stride=8", "fake/N=3000,cols=700,gather=1"};
    size_t n, m;
    mallopt(M_PERTURB, 0xAB);
    char *first = fake_read(write_case(ids[_i], "a.h5"), &n);
    mallopt(M_PERTURB, 0x17);
    nanosleep(&(struct timespec){1, 100000000}, NULL); /* a time stamp in the file would differ */
    char *second = fake_read(write_case(ids[_i], "elsewhere/b.h5"), &m);
    ck_assert_uint_eq(n, m);
    ck_assert_int_eq(memcmp(first, second, n), 0);
    if (_i == 0)
        ck_assert_uint_lt(n, 10000); /* small cases make small files */
    free(first);
    free(second);
}
END_TEST

START_TEST(attributes_as_documented)
{
    const char *path = write_case("fake/N=5,cols=3,row_stride=8", "a.h5");
    char text[256];
    int64_t value, where[3];
    uint64_t seed;
    sb_h5_quiet();
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    ck_assert_int_ge(file, 0);
    static const char *const texts[][2] = {{"op", "fake"},
                                           {"contract", "fake/contract"},
                                           {"case", "fake/N=5,cols=3,row_stride=8"},
                                           {"reason", "a strided input"},
                                           {"generator", "philox4x32-10/1"},
                                           {"status", "ok"},
                                           {"mode", "plain"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ck_assert_msg(sb_h5_get_text(file, texts[i][0], text, sizeof text), "%s", texts[i][0]);
        ck_assert_str_eq(text, texts[i][1]);
    }
    static const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"contract_version", 1}, {"N", 5},      {"cols", 3},
                   {"row_stride", 8},       {"cells", 15}, {"ignored_ids", 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        ck_assert_msg(sb_h5_get_i64(file, numbers[i].name, &value, 1), "%s", numbers[i].name);
        ck_assert_int_eq(value, numbers[i].value);
    }
    ck_assert(sb_h5_get_i64(file, "status_where", where, 3));
    ck_assert(sb_h5_get_u64(file, "seed", &seed));
    ck_assert_uint_eq(seed, fake_case("fake/N=5,cols=3,row_stride=8").seed);
    struct sb_h5_dataset ds;
    struct sb_error err = {0};
    ck_assert_msg(sb_h5_dataset_open(&ds, file, path, "inputs/raw", &err), "%s", err.text);
    ck_assert_int_eq(ds.tensor.dtype, SB_BF16);
    ck_assert_int_eq(ds.tensor.shape[1], 3); /* logical and dense */
    ck_assert(sb_h5_get_text(ds.id, "description", text, sizeof text));
    ck_assert_str_eq(text, "bf16 values, strided");
    ck_assert_uint_eq(strlen(ds.sha256), 64);
    sb_h5_dataset_close(&ds);
    ck_assert(sb_h5_get_text(H5Gopen2(file, "outputs", H5P_DEFAULT), "signed", text, sizeof text));
    ck_assert_str_eq(text, "i8[2,5,1]");
    H5Fclose(file);
}
END_TEST

START_TEST(digest_leaves_gaps_out)
{
    uint8_t dense[6] = {1, 2, 3, 4, 5, 6}, gaps[8] = {1, 2, 3, 0xA5, 4, 5, 6, 0xA5}, columns[12];
    struct sb_tensor a = {.dtype = SB_U8, .rank = 2, .shape = {2, 3}, .data = dense}, b = a, c = a;
    char x[SB_SHA256_HEX], y[SB_SHA256_HEX], z[SB_SHA256_HEX];
    b.data = gaps;
    b.row_stride = 4;
    for (int i = 0; i < 6; i++)
        columns[2 * i] = dense[i];
    c.data = columns;
    c.col_stride = 2;
    sb_tensor_sha256(&a, x);
    sb_tensor_sha256(&b, y);
    sb_tensor_sha256(&c, z);
    /* printf '\001\002\003\004\005\006' | sha256sum */
    ck_assert_str_eq(x, "7192385c3c0605de55bb9476ce1d90748190ecb32a8eed7f5207b30cf6a1fe89");
    ck_assert_str_eq(x, y);
    ck_assert_str_eq(x, z);
    gaps[3] = 0;
    sb_tensor_sha256(&b, y);
    ck_assert_str_eq(x, y);
    gaps[4] ^= 1;
    sb_tensor_sha256(&b, y);
    ck_assert_str_ne(x, y);
    a.data = NULL;
    sb_tensor_sha256(&a, x);
    ck_assert_str_eq(x, "");
}
END_TEST

/* ---- damage ------------------------------------------------------------------------------------- */

/* Must be refused, with the file and `about` named. */
static void refused(const char *path, const char *about)
{
    struct sb_case c;
    struct sb_data d;
    struct sb_error err = {0};
    ck_assert_msg(!sb_store_read(path, &fake_ops, &c, &d, &err), "%s was taken", path);
    ck_assert_int_eq(err.exit, SB_EXIT_BAD_INPUT);
    fake_says(err.text, path, about);
    for (int i = 0; i < SB_MAX_TENSORS; i++)
        ck_assert(d.in[i].data == NULL && d.out[i].data == NULL);
}

enum flip_result { FLIP_NOTICED, FLIP_HARMLESS, FLIP_BAD };

/* Reads a file with a flipped bit and leaves: HDF5 leaks where it meets damage. */
static _Noreturn void read_flipped(const char *path, const struct sb_case *c, const struct sb_data *d)
{
    struct sb_case back;
    struct sb_data got;
    struct sb_error err = {0};
    if (!sb_store_read(path, &fake_ops, &back, &got, &err))
        _exit(strstr(err.text, path) != NULL ? FLIP_NOTICED : FLIP_BAD);
    bool same = strcmp(back.id, c->id) == 0 && memcmp(&got.status, &d->status, sizeof got.status) == 0;
    for (int i = 0; i < 4; i++)
        same = same &&
               (d->in[i].data == NULL || memcmp(d->in[i].data, got.in[i].data, sb_tensor_span_bytes(&d->in[i])) == 0);
    for (int i = 0; i < 5; i++)
        same = same && memcmp(d->out[i].data, got.out[i].data, sb_tensor_span_bytes(&d->out[i])) == 0;
    _exit(same ? FLIP_HARMLESS : FLIP_BAD);
}

/* A flipped bit that the reader does not notice may only lie where it changes nothing. */
START_TEST(flipped_bits_never_change_what_is_read)
{
    size_t size;
    const char *path = write_case("fake/N=5,cols=3,row_stride=8", "a.h5");
    char *bytes = fake_read(path, &size);
    const struct sb_case c = fake_case("fake/N=5,cols=3,row_stride=8");
    struct sb_data d;
    int noticed = 0, tried = 0;
    fake_compute(&c, &d);
    for (size_t at = 0; at < size; at += 5, tried++) {
        const char bit = (char)(1 << tried % 8);
        int status;
        bytes[at] = (char)(bytes[at] ^ bit);
        fake_overwrite(path, bytes, size);
        bytes[at] = (char)(bytes[at] ^ bit);
        const pid_t child = fork();
        if (child == 0)
            read_flipped(path, &c, &d);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) != FLIP_BAD, "byte %zu: status %d", at, status);
        noticed += WEXITSTATUS(status) == FLIP_NOTICED;
    }
    ck_assert_int_gt(noticed, tried / 2);
    sb_data_free(&d);
    free(bytes);
}
END_TEST

START_TEST(truncated_files)
{
    size_t size;
    const char *path = write_case("fake/N=50,cols=30", "a.h5");
    char *bytes = fake_read(path, &size);
    const size_t lengths[] = {size - 1, size - 8, size / 2, 512, 100, 48, 47, 12, 8, 7, 1, 0};
    fake_overwrite(path, bytes, lengths[_i]);
    refused(path, lengths[_i] == 0 ? "empty" : lengths[_i] < 8 ? "not an HDF5 file" : "truncated");
    free(bytes);
}
END_TEST

START_TEST(not_hdf5)
{
    const char *path = fake_path("text.h5");
    fake_overwrite(path, "hello\n", 6);
    refused(path, "not an HDF5 file");
    refused(fake_path("absent.h5"), "No such file");
    refused(fake_folder, "not a regular file");
}
END_TEST

/* Opens a written file to plant a fault with plain HDF5 calls. */
static hid_t open_to_edit(const char *path)
{
    sb_h5_quiet();
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    ck_assert_int_ge(file, 0);
    return file;
}

enum { WRITTEN_AT_MOST = 1 << 20 }; /* elements; larger shapes stay empty claims */

static void write_zeros(hid_t dataset, hid_t type, hid_t space)
{
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (count <= 0 || count > WRITTEN_AT_MOST)
        return;
    void *zeros = calloc((size_t)count, H5Tget_size(type));
    ck_assert_ptr_nonnull(zeros);
    ck_assert_int_ge(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros), 0);
    free(zeros);
}

static void put_dataset(hid_t file, const char *name, hid_t type, int rank, const hsize_t *shape, const char *dtype,
                        const char *sha256)
{
    (void)H5Ldelete(file, name, H5P_DEFAULT);
    const hid_t space = rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, shape, NULL);
    const hid_t ds = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert_int_ge(ds, 0);
    write_zeros(ds, type, space);
    if (dtype != NULL)
        ck_assert(sb_h5_put_text(ds, "dtype", dtype));
    if (sha256 != NULL)
        ck_assert(sb_h5_put_text(ds, "sha256", sha256));
    H5Dclose(ds);
    H5Sclose(space);
}

START_TEST(missing_datasets)
{
    static const char *const names[] = {"inputs/raw",      "inputs/limit", "outputs/sums",
                                        "outputs/nothing", "inputs",       "outputs"};
    const char *path = write_case("fake/N=5,cols=3", "a.h5");
    const hid_t file = open_to_edit(path);
    ck_assert_int_ge(H5Ldelete(file, names[_i], H5P_DEFAULT), 0);
    H5Fclose(file);
    refused(path, names[_i]);
    refused(path, "missing");
}
END_TEST

START_TEST(unexpected_datasets)
{
    static const char *const names[] = {"inputs/rae", "outputs/x", "stray", "inputs/gather"};
    const char *path = write_case("fake/N=5,cols=3", "a.h5");
    const hid_t file = open_to_edit(path);
    put_dataset(file, names[_i], H5T_STD_U8LE, 0, NULL, "u8", NULL);
    H5Fclose(file);
    refused(path, names[_i]);
}
END_TEST

START_TEST(outputs_of_a_rejected_call)
{
    const char *path = write_case("fake/N=5,cols=3,mode=reject", "a.h5");
    hid_t file = open_to_edit(path);
    ck_assert_int_eq(H5Lexists(file, "outputs/sums", H5P_DEFAULT), 0);
    put_dataset(file, "outputs/sums", H5T_IEEE_F32LE, 1, (hsize_t[]){5}, "f32", NULL);
    H5Fclose(file);
    refused(path, "outputs/sums");
}
END_TEST

START_TEST(wrong_dtypes_and_shapes)
{
    const char *path = write_case("fake/N=5,cols=3", "a.h5");
    const hid_t file = open_to_edit(path);
    const char *name = _i < 4 ? "inputs/raw" : "outputs/sums",
               *about = _i == 0 || _i == 3 ? "wrong shape" : "wrong dtype";
    switch (_i) {
    case 0:
        put_dataset(file, name, H5T_STD_U16LE, 1, (hsize_t[]){15}, "bf16", NULL);
        break;
    case 1:
        put_dataset(file, name, H5T_STD_I16LE, 2, (hsize_t[]){5, 3}, "bf16", NULL);
        break;
    case 2:
        put_dataset(file, name, H5T_IEEE_F32LE, 2, (hsize_t[]){5, 3}, "f32", NULL);
        break;
    case 3:
        put_dataset(file, name, H5T_STD_U16LE, 2, (hsize_t[]){1ULL << 40, 1ULL << 40}, "bf16", NULL);
        break;
    case 4:
        put_dataset(file, name, H5T_IEEE_F32BE, 1, (hsize_t[]){5}, "f32", NULL);
        break;
    default:
        put_dataset(file, name, H5T_STD_I32LE, 1, (hsize_t[]){5}, "i32", NULL);
        break;
    }
    H5Fclose(file);
    refused(path, name);
    refused(path, about);
}
END_TEST

START_TEST(wrong_digest)
{
    const char *path = write_case("fake/N=5,cols=3", "a.h5");
    const hid_t file = open_to_edit(path), ds = H5Dopen2(file, "outputs/bytes", H5P_DEFAULT);
    const uint8_t other[15] = {0};
    ck_assert_int_ge(H5Dwrite(ds, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, other), 0);
    H5Dclose(ds);
    H5Fclose(file);
    refused(path, "outputs/bytes");
    refused(path, "SHA-256");
}
END_TEST

static void edit_root(const char *path, const char *name, const char *text, int64_t number)
{
    const hid_t file = open_to_edit(path);
    ck_assert_int_ge(H5Adelete(file, name), 0);
    if (text != NULL)
        ck_assert(sb_h5_put_text(file, name, text));
    else if (number >= 0)
        ck_assert(sb_h5_put_i64(file, name, &number, 0));
    H5Fclose(file);
}

START_TEST(edited_attributes)
{
    static const struct {
        const char *name, *text;
        int64_t number;
        const char *about;
    } edits[] = {
        {"op", "fuke", 0, "does not know"},
        {"op", NULL, -1, "missing"},
        {"contract", "fake", 0, "contract"},
        {"contract_version", NULL, 2, "made under version 2 of contract fake/contract, this build knows 1: update"},
        {"contract_version", NULL, 0, "make the file again"},
        {"contract_version", "1", 0, "contract_version"},
        {"generator", "philox4x32-10/2", 0, "generator"},
        {"case", "fake/N=5,cols=4", 0, "seed"},
        {"case", "fake/cols=3,N=5", 0, "not an id"},
        {"case", "fake/N=five,cols=3", 0, "case"},
        {"reason", NULL, -1, "reason"},
        {"seed", NULL, 17, "seed"},
        {"status", "splendid", 0, "splendid"},
        {"status", "gather_range", 0, "rejected"},
        {"status_where", NULL, 1, "status_where"},
        {"N", NULL, 6, "\"N\" is 6 where this case has 5"},
        {"cols", NULL, -1, "cols"},
        {"mode", "reject", 0, "mode"},
        {"cells", NULL, 16, "cells"},
    };
    const char *path = write_case("fake/N=5,cols=3", "a.h5");
    edit_root(path, edits[_i].name, edits[_i].text, edits[_i].number);
    refused(path, edits[_i].about);
}
END_TEST

START_TEST(newer_contract_from_a_newer_build)
{
    const struct sb_op newer = fake_newer_op();
    struct sb_case c = fake_case("fake/N=5,cols=3");
    struct sb_data d;
    struct sb_error err = {0};
    const char *path = fake_path("newer.h5");
    c.op = &newer;
    fake_compute(&c, &d);
    ck_assert(sb_store_write(path, &c, &d, &err));
    refused(path, "made under version 2 of contract fake/contract, this build knows 1: update samebits");
    sb_data_free(&d);
}
END_TEST

START_TEST(layout_texts)
{
    static const char *const good[] = {"f32[2,3]", "i64[]", "u8[0,4]", "bf16[1,2,3,4]"};
    static const char *const bad[] = {"f32",     "f32[",    "f33[2]",         "f32[2,]",
                                      "f32[2]x", "f32[-1]", "f32[1,1,1,1,1]", "f32[99999999999999999999]",
                                      "f32[02]", ""};
    struct sb_tensor t;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(sb_layout_parse(good[i], &t), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!sb_layout_parse(bad[i], &t), "%s", bad[i]);
}
END_TEST

/* ---- writing where it cannot work ------------------------------------------------------------------ */

static void write_fails(const char *path, const char *about)
{
    struct sb_case c = fake_case("fake/N=5,cols=3");
    struct sb_data d;
    struct sb_error err = {0};
    fake_compute(&c, &d);
    ck_assert_msg(!sb_store_write(path, &c, &d, &err), "%s was written", path);
    ck_assert_int_eq(err.exit, SB_EXIT_BAD_INPUT);
    fake_says(err.text, about, "");
    sb_data_free(&d);
}

START_TEST(unwritable_places)
{
    write_fails("/proc/samebits/a.h5", "/proc/samebits");
    fake_overwrite(fake_path("file"), "x", 1);
    write_fails(fake_path("file/a.h5"), "file");
    ck_assert_int_eq(mkdir(fake_path("closed"), 0555), 0);
    if (geteuid() != 0) { /* root may write anywhere */
        write_fails(fake_path("closed/a.h5"), "Permission denied");
        ck_assert_int_eq(fake_count_files(fake_folder, ".tmp-"), 0);
    }
}
END_TEST

/* A file size limit fails a write midway, as a full disk does. */
START_TEST(full_disk)
{
    struct rlimit old, small;
    const char *path = write_case("fake/N=5,cols=3", "a.h5");
    size_t before_size, after_size;
    char *before = fake_read(path, &before_size);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 2000;
    setrlimit(RLIMIT_FSIZE, &small);
    struct sb_case c = fake_case("fake/N=300,cols=300");
    struct sb_data d;
    struct sb_error err = {0};
    fake_compute(&c, &d);
    const bool written = sb_store_write(path, &c, &d, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    ck_assert(!written);
    fake_says(err.text, path, "File too large; make room");
    ck_assert_int_eq(fake_count_files(fake_folder, ".tmp-"), 0);
    char *after = fake_read(path, &after_size); /* what was there is as it was */
    ck_assert(before_size == after_size && memcmp(before, after, after_size) == 0);
    sb_data_free(&d);
    free(before);
    free(after);
}
END_TEST

START_TEST(incomplete_data_is_not_stored)
{
    struct sb_case c = fake_case("fake/N=5,cols=3");
    struct sb_data d;
    struct sb_error err = {0};
    fake_compute(&c, &d);
    sb_tensors_free(&d.out[FAKE_BYTES], 1);
    ck_assert(!sb_store_write(fake_path("a.h5"), &c, &d, &err));
    fake_says(err.text, "outputs/bytes", "not computed");
    sb_data_free(&d);
    fake_compute(&c, &d);
    d.status = sb_reject(SB_TOO_LARGE, 1, 2, 3);
    ck_assert(!sb_store_write(fake_path("a.h5"), &c, &d, &err));
    fake_says(err.text, "outputs/sums", "rejected");
    ck_assert_int_eq(access(fake_path("a.h5"), F_OK), -1);
    sb_data_free(&d);
}
END_TEST

/* ---- candidates --------------------------------------------------------------------------------- */

static hid_t new_candidate(const char *path)
{
    sb_h5_quiet();
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert_int_ge(file, 0);
    return file;
}

START_TEST(candidate_outputs)
{
    const char *path = fake_path("candidate.h5");
    const hid_t file = new_candidate(path);
    H5Gclose(H5Gcreate2(file, "outputs", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    put_dataset(file, "outputs/sums", H5T_IEEE_F32LE, 1, (hsize_t[]){5}, NULL, NULL);
    put_dataset(file, "outputs/bytes", H5T_STD_U16LE, 2, (hsize_t[]){5, 3}, NULL, "stale");
    H5Fclose(file);
    struct sb_tensor out[SB_MAX_TENSORS];
    struct sb_error err = {0};
    struct sb_candidate_faults faults;
    ck_assert_msg(sb_store_read_outputs(path, &fake_op, out, &faults, &err), "%s", err.text);
    ck_assert_ptr_nonnull(out[FAKE_SUMS].data);
    ck_assert_int_eq(out[FAKE_SUMS].dtype, SB_F32);
    ck_assert_int_eq(out[FAKE_SUMS].shape[0], 5);
    ck_assert_int_eq(out[FAKE_BYTES].dtype, SB_BF16);
    ck_assert_ptr_null(out[FAKE_SIGNED].data);
    ck_assert_ptr_null(out[FAKE_TOTAL].data);
    sb_tensors_free(out, 5);
}
END_TEST

/* An output that nobody wrote reads as zeros, and one behind a link may be the golden's own: neither is a result. */
START_TEST(candidates_without_elements_of_their_own)
{
    const char *golden = write_case("fake/N=5,cols=3", "a.h5"), *path = fake_path("candidate.h5");
    const hid_t file = new_candidate(path);
    H5Gclose(H5Gcreate2(file, "outputs", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (_i == 0) {
        const hsize_t extent = 5;
        const hid_t space = H5Screate_simple(1, &extent, NULL);
        H5Dclose(H5Dcreate2(file, "outputs/sums", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        H5Sclose(space);
    } else {
        ck_assert_int_ge(H5Lcreate_external(golden, "/outputs/sums", file, "outputs/sums", H5P_DEFAULT, H5P_DEFAULT),
                         0);
    }
    H5Fclose(file);
    struct sb_tensor out[SB_MAX_TENSORS];
    struct sb_error err = {0};
    struct sb_candidate_faults faults;
    ck_assert(!sb_store_read_outputs(path, &fake_op, out, &faults, &err));
    fake_says(err.text, "outputs/sums", _i == 0 ? "ever written" : "another file");
}
END_TEST

START_TEST(candidate_faults)
{
    const char *path = fake_path("candidate.h5");
    const hid_t file = new_candidate(path);
    if (_i > 0)
        H5Gclose(H5Gcreate2(file, "outputs", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (_i == 1)
        put_dataset(file, "outputs/summs", H5T_IEEE_F32LE, 1, (hsize_t[]){5}, NULL, NULL);
    if (_i == 2)
        put_dataset(file, "outputs/sums", H5T_IEEE_F64LE, 1, (hsize_t[]){5}, NULL, NULL);
    if (_i == 3) /* never written: the file is small */
        put_dataset(file, "outputs/sums", H5T_IEEE_F32LE, 1, (hsize_t[]){1ULL << 33}, NULL, NULL);
    if (_i == 4)
        put_dataset(file, "outputs/sums", H5T_STD_I32BE, 1, (hsize_t[]){5}, NULL, NULL);
    if (_i == 5)
        put_dataset(file, "outputs/sums", H5T_IEEE_F32LE, 5, (hsize_t[]){1, 1, 1, 1, 1}, NULL, NULL);
    H5Fclose(file);
    static const char *const text[] = {"no group /outputs", "outputs/summs is no output", "", NULL, "", ""};
    static const char *const type[] = {"", "", "float64", NULL, "big-endian int32", "an array of 5 axes"};
    struct sb_tensor out[SB_MAX_TENSORS];
    struct sb_error err = {0};
    struct sb_candidate_faults faults;
    if (text[_i] == NULL) {
        ck_assert(!sb_store_read_outputs(path, &fake_op, out, &faults, &err));
        fake_says(err.text, path, "claims more elements than the file can hold");
        return;
    }
    ck_assert_msg(sb_store_read_outputs(path, &fake_op, out, &faults, &err), "%s", err.text);
    ck_assert_msg(strstr(faults.text, text[_i]) != NULL && (faults.text[0] == '\0') == (text[_i][0] == '\0'), "%s",
                  faults.text);
    ck_assert_str_eq(faults.type[FAKE_SUMS], type[_i]);
    ck_assert_ptr_null(out[FAKE_SUMS].data);
}
END_TEST

START_TEST(golden_file_as_candidate)
{
    struct sb_tensor out[SB_MAX_TENSORS];
    struct sb_error err = {0};
    struct sb_candidate_faults faults;
    const char *path = write_case("fake/N=5,cols=3", "a.h5");
    ck_assert_msg(sb_store_read_outputs(path, &fake_op, out, &faults, &err), "%s", err.text);
    for (int i = 0; i < 5; i++)
        ck_assert_ptr_nonnull(out[i].data);
    ck_assert_int_eq(*(int64_t *)out[FAKE_TOTAL].data, 15);
    sb_tensors_free(out, 5);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("golden_store");
    TCase *t = tcase_create("store");
    tcase_add_checked_fixture(t, fake_setup, fake_teardown);
    tcase_set_timeout(t, 1200);
    tcase_add_loop_test(t, round_trips, 0, 10);
    tcase_add_test(t, signalling_nans_keep_their_bits);
    tcase_add_loop_test(t, the_same_file_twice, 0, 2);
    tcase_add_test(t, attributes_as_documented);
    tcase_add_test(t, digest_leaves_gaps_out);
    tcase_add_test(t, flipped_bits_never_change_what_is_read);
    tcase_add_loop_test(t, truncated_files, 0, 12);
    tcase_add_test(t, not_hdf5);
    tcase_add_loop_test(t, missing_datasets, 0, 6);
    tcase_add_loop_test(t, unexpected_datasets, 0, 4);
    tcase_add_test(t, outputs_of_a_rejected_call);
    tcase_add_loop_test(t, wrong_dtypes_and_shapes, 0, 6);
    tcase_add_test(t, wrong_digest);
    tcase_add_loop_test(t, edited_attributes, 0, 19);
    tcase_add_test(t, newer_contract_from_a_newer_build);
    tcase_add_test(t, layout_texts);
    tcase_add_test(t, unwritable_places);
    tcase_add_test(t, full_disk);
    tcase_add_test(t, incomplete_data_is_not_stored);
    tcase_add_test(t, candidate_outputs);
    tcase_add_loop_test(t, candidates_without_elements_of_their_own, 0, 2);
    tcase_add_loop_test(t, candidate_faults, 0, 6);
    tcase_add_test(t, golden_file_as_candidate);
    suite_add_tcase(s, t);
    return s;
}

#include "check_main.h"
