/* golden_fake.h - a small op of every dtype for the tests of store, manifest and set, and folders to play in.
 * Its results mean nothing; its switches plant the faults that a real op should never have. */
#ifndef SAMEBITS_TESTS_GOLDEN_FAKE_H
#define SAMEBITS_TESTS_GOLDEN_FAKE_H

#include "../golden/file.h"
#include "../golden/philox.h"
#include "../golden/store.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Planted faults, per process. */
static bool fake_wrong_output; /* the reference computes one element otherwise */
static bool fake_wrong_input;  /* the generator draws one element otherwise */

enum { FAKE_RAW, FAKE_SCALE, FAKE_LIMIT, FAKE_GATHER };
enum { FAKE_SUMS, FAKE_BYTES, FAKE_SIGNED, FAKE_TOTAL, FAKE_NOTHING };

static const char *const fake_modes[] = {"plain", "reject", "fail", NULL};
static const struct sb_param_spec fake_params[] = {
    {.name = "N", .kind = SB_PARAM_INT, .min = 0, .max = 1 << 24, .help = "rows"},
    {.name = "cols", .kind = SB_PARAM_INT, .min = 0, .max = 4096, .help = "columns"},
    {.name = "row_stride", .kind = SB_PARAM_INT, .standard = "0", .min = 0, .max = 8192, .help = "0: dense"},
    {.name = "gather", .kind = SB_PARAM_INT, .standard = "0", .min = 0, .max = 1, .help = "with the optional input"},
    {.name = "mode", .kind = SB_PARAM_ENUM, .standard = "plain", .choices = fake_modes, .help = "what happens"},
    {.name = NULL},
};
static const struct sb_tensor_spec fake_inputs[] = {
    {"raw", "bf16 values, strided", false},
    {"scale", "block scales", false},
    {"limit", "a scalar", false},
    {"gather", "row indices", true},
    {NULL, NULL, false},
};
static const struct sb_tensor_spec fake_outputs[] = {
    {"sums", "f32 bits, NaN payloads among them", false},
    {"bytes", "bytes", false},
    {"signed", "signed bytes", false},
    {"total", "a scalar", false},
    {"nothing", "no elements at all", false},
    {NULL, NULL, false},
};
static const struct sb_case_row fake_cases[] = {
    {"N=5,cols=3,row_stride=8", SB_SMOKE, "a strided input"},
    {NULL, 0, NULL},
};

/* What `alloc` has just made dense, again with rows `row_stride` apart and 0xA5 in the gaps. */
static bool fake_stride(struct sb_tensor *t, int64_t row_stride)
{
    if (row_stride == 0)
        return true;
    free(t->data);
    t->row_stride = row_stride;
    const size_t bytes = (size_t)(t->shape[0] * row_stride) * sb_dtype_size(t->dtype) + 1;
    t->data = malloc(bytes);
    if (t->data != NULL)
        memset(t->data, 0xA5, bytes);
    return t->data != NULL;
}

static bool fake_generate(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    const int64_t n = sb_case_int(c, "N"), cols = sb_case_int(c, "cols");
    if (!sb_tensor_alloc(&d->in[FAKE_RAW], "raw", SB_BF16, 2, (int64_t[]){n, cols}, err) ||
        !sb_tensor_alloc(&d->in[FAKE_SCALE], "scale", SB_E8M0, 1, (int64_t[]){n}, err) ||
        !sb_tensor_alloc(&d->in[FAKE_LIMIT], "limit", SB_I64, 0, NULL, err) ||
        !fake_stride(&d->in[FAKE_RAW], sb_case_int(c, "row_stride")))
        return false;
    if (sb_case_int(c, "gather") == 1 &&
        !sb_tensor_alloc(&d->in[FAKE_GATHER], "gather", SB_I32, 1, (int64_t[]){n}, err))
        return false;
    uint16_t *raw = d->in[FAKE_RAW].data;
    uint8_t *scale = d->in[FAKE_SCALE].data;
    int32_t *gather = d->in[FAKE_GATHER].data;
    for (int64_t i = 0; i < n * cols; i++)
        raw[sb_tensor_offset(&d->in[FAKE_RAW], i)] = (uint16_t)sb_rng_u32(&(struct sb_rng){c->seed, 0}, (uint64_t)i);
    for (int64_t i = 0; i < n; i++) {
        scale[i] = (uint8_t)sb_rng_u32(&(struct sb_rng){c->seed, 1}, (uint64_t)i);
        if (gather != NULL)
            gather[i] = (int32_t)sb_rng_u32(&(struct sb_rng){c->seed, 2}, (uint64_t)i);
    }
    *(int64_t *)d->in[FAKE_LIMIT].data = INT64_MIN + 7;
    if (fake_wrong_input && n * cols > 0)
        raw[0] ^= 0x0100;
    return true;
}

static bool fake_reject(struct sb_data *d, int64_t n, int64_t cols)
{
    d->out[FAKE_SUMS] = (struct sb_tensor){.name = "sums", .dtype = SB_F32, .rank = 1, .shape = {n}};
    d->out[FAKE_BYTES] = (struct sb_tensor){.name = "bytes", .dtype = SB_U8, .rank = 2, .shape = {n, cols}};
    d->out[FAKE_SIGNED] = (struct sb_tensor){.name = "signed", .dtype = SB_I8, .rank = 3, .shape = {2, n, 1}};
    d->out[FAKE_TOTAL] = (struct sb_tensor){.name = "total", .dtype = SB_I64};
    d->out[FAKE_NOTHING] = (struct sb_tensor){.name = "nothing", .dtype = SB_I32, .rank = 2, .shape = {0, 4}};
    d->status = sb_reject(SB_GATHER_RANGE, 3, -9, n);
    d->status.ignored = 2;
    return true;
}

static bool fake_reference(const struct sb_case *c, struct sb_data *d, struct sb_error *err)
{
    const int64_t n = sb_case_int(c, "N"), cols = sb_case_int(c, "cols");
    if (strcmp(sb_case_text(c, "mode"), "fail") == 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "planted failure");
    if (strcmp(sb_case_text(c, "mode"), "reject") == 0)
        return fake_reject(d, n, cols);
    if (!sb_tensor_alloc(&d->out[FAKE_SUMS], "sums", SB_F32, 1, (int64_t[]){n}, err) ||
        !sb_tensor_alloc(&d->out[FAKE_BYTES], "bytes", SB_U8, 2, (int64_t[]){n, cols}, err) ||
        !sb_tensor_alloc(&d->out[FAKE_SIGNED], "signed", SB_I8, 3, (int64_t[]){2, n, 1}, err) ||
        !sb_tensor_alloc(&d->out[FAKE_TOTAL], "total", SB_I64, 0, NULL, err) ||
        !sb_tensor_alloc(&d->out[FAKE_NOTHING], "nothing", SB_I32, 2, (int64_t[]){0, 4}, err))
        return false;
    static const uint32_t special[] = {0x7F800001, 0xFFBFFFFF, 0x7FC12345, 0x80000000, 0x00000001};
    uint32_t *sums = d->out[FAKE_SUMS].data;
    uint8_t *bytes = d->out[FAKE_BYTES].data;
    int8_t *negated = d->out[FAKE_SIGNED].data;
    const uint16_t *raw = d->in[FAKE_RAW].data;
    for (int64_t i = 0; i < n; i++) {
        sums[i] = special[i % 5] ^ (uint32_t)(i / 5) << 8;
        negated[i] = (int8_t)(i - 100);
        negated[n + i] = (int8_t)-i;
    }
    for (int64_t i = 0; i < n * cols; i++)
        bytes[i] = (uint8_t)(raw[sb_tensor_offset(&d->in[FAKE_RAW], i)] >> 8);
    *(int64_t *)d->out[FAKE_TOTAL].data = n * cols;
    if (fake_wrong_output && n > 1)
        sums[1] ^= 1;
    d->status = sb_status_ok();
    d->status.ignored = 1;
    return true;
}

static bool fake_relations(const struct sb_case *c, const struct sb_data *d, const struct sb_tensor *out, char *why,
                           size_t why_size)
{
    (void)d;
    const uint32_t *sums = out[FAKE_SUMS].data;
    if (sb_case_int(c, "N") < 2 || sums[1] == 0xFFBFFFFF)
        return true;
    snprintf(why, why_size, "sums[1] breaks the relation");
    return false;
}

static int fake_derived(const struct sb_case *c, struct sb_derived *out, int max)
{
    if (max < 1)
        return 0;
    out[0] = (struct sb_derived){"cells", sb_case_int(c, "N") * sb_case_int(c, "cols")};
    return 1;
}

static const struct sb_op fake_op = {
    .name = "fake",
    .contract = "fake/contract",
    .contract_version = 1,
    .summary = "a fake",
    .params = fake_params,
    .inputs = fake_inputs,
    .outputs = fake_outputs,
    .cases = fake_cases,
    .generate = fake_generate,
    .reference = fake_reference,
    .relations = fake_relations,
    .derived = fake_derived,
};
static const struct sb_op *const fake_op_array[] = {&fake_op};
static const struct sb_op_list fake_ops = {fake_op_array, 1};

/* The same op under a later version of its contract. */
static inline struct sb_op fake_newer_op(void)
{
    struct sb_op op = fake_op;
    op.contract_version = 2;
    return op;
}

static inline struct sb_case fake_case(const char *id)
{
    struct sb_case c;
    struct sb_error err = {0};
    ck_assert_msg(sb_case_parse(&c, &fake_ops, id, &err), "%s", err.text);
    return c;
}

static inline void fake_compute(const struct sb_case *c, struct sb_data *d)
{
    struct sb_error err = {0};
    memset(d, 0, sizeof *d);
    ck_assert_msg(c->op->generate(c, d, &err) && c->op->reference(c, d, &err), "%s", err.text);
}

/* ---- folders ------------------------------------------------------------------------------------ */

static char fake_folder[64]; /* of this test; made by fake_setup, removed by fake_teardown */

static void fake_setup(void)
{
    snprintf(fake_folder, sizeof fake_folder, "/tmp/samebits-golden-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(fake_folder));
    fake_wrong_output = fake_wrong_input = false;
}

static void fake_run(const char *format, const char *argument)
{
    char command[512];
    snprintf(command, sizeof command, format, argument);
    ck_assert_int_eq(system(command), 0);
}

static void fake_teardown(void)
{
    fake_run("chmod -R u+rwx '%1$s' && rm -rf '%1$s'", fake_folder);
}

/* A path below the test's folder, in one of four buffers. */
static inline const char *fake_path(const char *name)
{
    static char path[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", fake_folder, name);
    return path[turn];
}

static inline char *fake_read(const char *path, size_t *size)
{
    struct sb_error err = {0};
    char *bytes;
    ck_assert_msg(sb_file_read(path, (size_t)1 << 30, &bytes, size, NULL, &err), "%s", err.text);
    return bytes;
}

/* Plain overwriting, without the care of sb_file_write: this plants damage. */
static inline void fake_overwrite(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

static inline int fake_count_files(const char *dir, const char *part)
{
    struct sb_file_list files;
    struct sb_error err = {0};
    ck_assert_msg(sb_folder_list(dir, &files, &err), "%s", err.text);
    int n = 0;
    for (int i = 0; i < files.count; i++)
        n += strstr(files.path[i], part) != NULL;
    sb_file_list_free(&files);
    return n;
}

/* An error text must say each of these. */
static inline void fake_says(const char *text, const char *a, const char *b)
{
    ck_assert_msg(strstr(text, a) != NULL, "\"%s\" does not say \"%s\"", text, a);
    ck_assert_msg(strstr(text, b) != NULL, "\"%s\" does not say \"%s\"", text, b);
}

#endif
