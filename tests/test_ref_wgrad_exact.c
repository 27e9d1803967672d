/* wgrad_varlen_k by every path that runs here, whole and in tiles, against its own loop over arbitrary-precision
 * integers. Most problems mix ordinary blocks of sixteen rows with ones that hold infinities, NaN, subnormals, huge or
 * tiny values: where a path has a quick way and a careful one, it changes between them here. */
#include "../ref/wgrad_varlen_k.h"
#include "../ref/wgrad_varlen_k_fast.h"
#include "tc_exact.h"

#include "check_main.h"
#include "ref_random.h"

#include <stdlib.h>
#include <string.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

enum {
    PROBLEMS = 100 / TC_ONE_IN, /* of each mixture */
    GUARD = 64,                 /* bytes before and after every output */
    GUARD_BYTE = 0xA5,          /* what they hold */
    STEP = TC_PAIRS,
    EXPERTS = 4,
    POISON = 0x7FA5, /* a NaN: rows and columns that are nobody's */
};

static int below(uint64_t *s, int n)
{
    return (int)random_below(s, n);
}

/* ---- values: one block of sixteen rows, of dy and of x, at a time ---------------------------------------- */

enum kind {
    ORDINARY,
    LARGEST_SIGNIFICANDS, /* all 255 and of one exponent: sixteen of them are near 2^31 units */
    ZEROS,
    SIGNED_ZEROS_AND_LARGE, /* zeros against partners near 2^127 */
    WIDE,
    HUGE_VALUES, /* products beyond 2^128, of both signs */
    TO_THE_BRIM, /* products that leave c close to 2^128, or take it over */
    TINY,        /* products around 2^-145 */
    SUBNORMAL,
    ONE_INFINITY,
    ONE_NAN,
    ALL_BITS,
    OF_ONE_SIZE, /* any, the segment's own: also just where a quick way ends */
    TAKEN_BACK,  /* the block before with dy's signs turned: c falls to little or nothing */
    KINDS
};

static uint16_t random_bf16(uint64_t *s, int low, int high)
{
    return tc_bf16(below(s, 2) != 0, low + below(s, high - low + 1), 128 + random_u32(s) % 128);
}

static uint16_t zero_or(uint64_t *s, uint16_t v)
{
    if (below(s, 2) != 0)
        return v;
    return (uint16_t)(below(s, 2) << 15);
}

static int clamp_exponent(int e)
{
    return e < -126 ? -126 : e > 127 ? 127 : e;
}

/* `size`: of products, for OF_ONE_SIZE. */
static uint16_t value(uint64_t *s, enum kind kind, bool of_dy, int size)
{
    switch (kind) {
    case LARGEST_SIGNIFICANDS:
        return tc_bf16(below(s, 200) == 0, 3, 255);
    case ZEROS:
        return (uint16_t)(below(s, 2) << 15);
    case SIGNED_ZEROS_AND_LARGE:
        return of_dy ? zero_or(s, random_bf16(s, -10, 0)) : random_bf16(s, 120, 127);
    case WIDE:
        return random_bf16(s, -126, 127);
    case HUGE_VALUES:
        return random_bf16(s, 62, 70);
    case TO_THE_BRIM:
        return tc_bf16(below(s, 12) == 0, 61 + below(s, 2), 128 + random_u32(s) % 128);
    case TINY:
        return random_bf16(s, -75, -68);
    case SUBNORMAL:
        return of_dy ? (uint16_t)((random_u32(s) & 0x8000u) | random_u32(s) % 128) : random_bf16(s, -30, 30);
    case OF_ONE_SIZE:
        return random_bf16(s, clamp_exponent(size / 2 - 2), clamp_exponent(size / 2 + below(s, 4)));
    case ALL_BITS:
        return (uint16_t)random_u32(s);
    default:
        return random_bf16(s, -8, 8);
    }
}

/* Rows r0 .. r1-1 of a matrix of so many columns. `one_column`: only that one is of the kind, the others ordinary. */
struct block {
    uint16_t *rows;
    int64_t ld;
    int columns, count, one_column, size;
};

static void fill(uint64_t *s, const struct block *b, enum kind kind, bool of_dy)
{
    for (int r = 0; r < b->count; r++)
        for (int j = 0; j < b->columns; j++)
            b->rows[r * b->ld + j] =
                value(s, b->one_column < 0 || b->one_column == j ? kind : ORDINARY, of_dy, b->size);
}

/* Infinities and NaN: one word, now and then another of either sign or a zero for a partner. */
static void strike(uint64_t *s, const struct block *b, enum kind kind, bool of_dy)
{
    const bool strikes = below(s, 2) != 0 || of_dy;
    for (int i = 0; strikes && b->count > 0 && i < 1 + below(s, 3); i++) {
        const uint16_t word = kind == ONE_NAN ? (uint16_t)(0x7F81 + below(s, 126)) : 0x7F80;
        b->rows[below(s, b->count) * b->ld + below(s, b->columns)] = (uint16_t)(word | (below(s, 2) << 15));
    }
}

static void take_back(const struct block *dy, const struct block *x)
{
    for (int r = 0; r < dy->count; r++) {
        for (int j = 0; j < dy->columns; j++)
            dy->rows[r * dy->ld + j] = dy->rows[(r - STEP) * dy->ld + j] ^ 0x8000;
        memcpy(&x->rows[r * x->ld], &x->rows[(r - STEP) * x->ld], (size_t)x->columns * sizeof(uint16_t));
    }
}

static void fill_block(uint64_t *s, const struct block *dy, const struct block *x, enum kind kind, bool has_before)
{
    if (kind == TAKEN_BACK && has_before) {
        take_back(dy, x);
        return;
    }
    fill(s, dy, kind, true);
    fill(s, x, kind, false);
    if (kind == ONE_INFINITY || kind == ONE_NAN) {
        strike(s, dy, kind, true);
        strike(s, x, kind, false);
    }
}

/* How the blocks of a segment follow each other. */
enum mixture {
    ALL_ORDINARY,
    ONE_EXCEPTION,     /* ordinary blocks, one other, ordinary ones again */
    EXCEPTION_FIRST,   /* c is left tiny, huge, Inf or NaN at once */
    EVERY_OTHER,       /* ordinary, other, ordinary, other */
    ONE_KIND,          /* all blocks of one other kind */
    ANYTHING,          /* each block of any kind */
    ONE_COLUMN,        /* each block of any kind, in one column of dy, of x or of both */
    NOTHING_IN_COMMON, /* dy and x of kinds of their own */
    MIXTURES
};

static const char *const mixture_names[MIXTURES] = {
    "ordinary", "one exception", "an exception first", "every other block",
    "one kind", "anything",      "in one column",      "nothing in common",
};

static enum kind block_kind(uint64_t *s, enum mixture mixture, enum kind other, int block, int exception)
{
    switch (mixture) {
    case ONE_EXCEPTION:
        return block == exception ? other : ORDINARY;
    case EXCEPTION_FIRST:
        return block == 0 ? other : ORDINARY;
    case EVERY_OTHER:
        return block % 2 == exception % 2 ? other : ORDINARY;
    case ONE_KIND:
        return other;
    case ALL_ORDINARY:
        return ORDINARY;
    default:
        return (enum kind)below(s, KINDS);
    }
}

/* ---- a problem ---------------------------------------------------------------------------------------- */

struct problem {
    struct sb_wgrad_args args;
    uint16_t *dy, *x; /* x in the order of dy's rows: args.x is that, or its rows moved about by the gather */
    uint16_t *moved_x;
    int32_t cu[EXPERTS + 1];
    int32_t *gather;
    uint32_t *main_grad;
    uint8_t *want; /* dw, by the exact model */
};

/* To the byte: a sanitizer sees what is read past the end. */
static void *aligned(int64_t bytes)
{
    void *memory = NULL;
    ck_assert_int_eq(posix_memalign(&memory, 64, (size_t)bytes), 0);
    return memory;
}

/* Rows of poison that end with the last row's last column, not with its gap. */
static uint16_t *poisoned_rows(int64_t rows, int64_t ld, int64_t columns)
{
    const int64_t count = rows > 0 ? (rows - 1) * ld + columns : 0;
    uint16_t *memory = aligned(count * 2);
    for (int64_t i = 0; i < count; i++)
        memory[i] = POISON;
    return memory;
}

static int64_t outputs(const struct problem *p)
{
    return p->args.E * p->args.M * p->args.N;
}

static void fill_segment(uint64_t *s, struct problem *p, int e, enum mixture mixture)
{
    const int length = p->cu[e + 1] - p->cu[e], blocks = (length + STEP - 1) / STEP;
    const enum kind other = (enum kind)(1 + below(s, KINDS - 1));
    const int exception = blocks > 0 ? below(s, blocks) : 0, size = below(s, 310) - 175;
    for (int block = 0; block < blocks; block++) {
        const int64_t k = p->cu[e] + block * STEP;
        const int count = length - block * STEP < STEP ? length - block * STEP : STEP;
        struct block dy = {p->dy + k * p->args.ld_dy, p->args.ld_dy, (int)p->args.M, count, -1, size};
        struct block x = {p->x + k * p->args.ld_x, p->args.ld_x, (int)p->args.N, count, -1, size};
        const enum kind kind = block_kind(s, mixture, other, block, exception);
        if (mixture == ONE_COLUMN && below(s, 3) != 0)
            dy.one_column = below(s, dy.columns);
        if (mixture == ONE_COLUMN && below(s, 3) != 0)
            x.one_column = below(s, x.columns);
        fill_block(s, &dy, &x, kind, block > 0);
        if (mixture == NOTHING_IN_COMMON)
            fill(s, &x, (enum kind)below(s, KINDS), false);
    }
}

/* args.x: x itself, or its rows where a random permutation of more rows than there are puts them. */
static void set_gather(uint64_t *s, struct problem *p)
{
    struct sb_wgrad_args *a = &p->args;
    a->x = p->x;
    a->Tx = a->T;
    if (below(s, 2) == 0)
        return;
    a->Tx = a->T + 5;
    p->moved_x = poisoned_rows(a->Tx, a->ld_x, a->N);
    p->gather = aligned(a->T * 4);
    const int64_t turn = below(s, (int)a->Tx);
    for (int64_t k = 0; k < a->T; k++) {
        const int64_t row = a->Tx - 1 - (k + turn) % a->Tx;
        const bool used = k >= p->cu[0] && k < p->cu[EXPERTS];
        p->gather[k] = used ? (int32_t)row : (int32_t)random_u32(s);
        memcpy(&p->moved_x[row * a->ld_x], &p->x[k * a->ld_x], (size_t)a->N * 2);
    }
    a->x = p->moved_x;
    a->x_gather_idx = p->gather;
}

static uint32_t random_gradient(uint64_t *s)
{
    static const uint32_t words[] = {0x80000000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
                                     0xFF800000, 0x7FC00001, 0x00000001};
    if (below(s, 4) == 0)
        return words[below(s, (int)(sizeof words / sizeof *words))];
    return below(s, 4) == 0 ? random_u32(s)
                            : tc_f32(below(s, 2) != 0, -10 + below(s, 30), 0x800000 + random_u32(s) % 0x800000);
}

static int segment_length(uint64_t *s)
{
    static const int lengths[] = {0, 1, 7, 15, 16, 17, 31, 32, 33, 48, 64, 80};
    return below(s, 4) == 0 ? below(s, 200) : lengths[below(s, (int)(sizeof lengths / sizeof *lengths))];
}

/* M * N * K stays in proportion: the exact model takes a microsecond a dot product. */
static int side(uint64_t *s)
{
    return below(s, 5) == 0 ? 8 * (1 + below(s, 12)) : 8 * (1 + below(s, 4));
}

static struct problem make_problem(uint64_t *s, enum mixture mixture)
{
    struct problem p = {.args = {.M = side(s), .N = side(s), .E = EXPERTS}};
    struct sb_wgrad_args *a = &p.args;
    p.cu[0] = below(s, 2) * below(s, 20);
    for (int e = 0; e < EXPERTS; e++)
        p.cu[e + 1] = p.cu[e] + segment_length(s);
    a->T = p.cu[EXPERTS] + below(s, 20);
    a->ld_dy = a->M + 8 * below(s, 2);
    a->ld_x = a->N + 8 * below(s, 2);
    a->out_dtype = below(s, 3) == 0 ? SB_BF16 : SB_F32;
    p.dy = poisoned_rows(a->T, a->ld_dy, a->M);
    p.x = poisoned_rows(a->T, a->ld_x, a->N);
    for (int e = 0; e < EXPERTS; e++)
        fill_segment(s, &p, e, mixture);
    set_gather(s, &p);
    if (below(s, 3) == 0) {
        p.main_grad = aligned(outputs(&p) * 4);
        for (int64_t i = 0; i < outputs(&p); i++)
            p.main_grad[i] = random_gradient(s);
    }
    a->dy = p.dy;
    a->main_grad = p.main_grad;
    return p;
}

static void free_problem(struct problem *p)
{
    free(p->dy);
    free(p->x);
    free(p->moved_x);
    free(p->gather);
    free(p->main_grad);
    free(p->want);
}

/* ---- the exact model ------------------------------------------------------------------------------------ */

/* Of the test that runs: dot products, and those that began with a c out of the ordinary. */
static uint64_t steps, from_tiny, from_huge, from_infinity, from_nan;

static void count_step(uint32_t c)
{
    const uint32_t magnitude = c & 0x7FFFFFFF;
    steps++;
    from_tiny += magnitude != 0 && magnitude < 0x08000000;          /* below 2^-111 */
    from_huge += magnitude >= 0x7B000000 && magnitude < 0x7F800000; /* 2^119 and above */
    from_infinity += magnitude == 0x7F800000;
    from_nan += magnitude > 0x7F800000;
}

static uint32_t exact_sum(const struct sb_wgrad_args *a, int64_t e, int64_t m, int64_t n)
{
    uint32_t c = 0;
    for (int64_t k = a->cu_seqlens[e]; k < a->cu_seqlens[e + 1]; k += STEP) {
        struct tc_dot dot = {.c = c};
        for (int64_t i = 0; i < STEP && k + i < a->cu_seqlens[e + 1]; i++) {
            const int64_t row = a->x_gather_idx != NULL ? a->x_gather_idx[k + i] : k + i;
            dot.a[i] = a->dy[(k + i) * a->ld_dy + m];
            dot.b[i] = a->x[row * a->ld_x + n];
        }
        count_step(c);
        c = tc_exact(&tc_contract, &dot);
    }
    return c;
}

static uint32_t exact_output(const struct sb_wgrad_args *a, int64_t e, int64_t m, int64_t n)
{
    const bool empty = a->cu_seqlens[e] == a->cu_seqlens[e + 1];
    const uint32_t sum = exact_sum(a, e, m, n);
    if (a->main_grad == NULL)
        return sum;
    const uint32_t gradient = a->main_grad[(e * a->M + m) * a->N + n];
    return empty ? gradient : tc_exact_add(gradient, sum);
}

static void store(uint8_t *out, int64_t i, enum sb_dtype dtype, uint32_t f32)
{
    const uint16_t narrow = tc_exact_bf16(f32);
    if (dtype == SB_F32)
        memcpy(out + i * 4, &f32, 4);
    else
        memcpy(out + i * 2, &narrow, 2);
}

/* problem.args points into the problem: only once it stands where it stays. */
static void solve(struct problem *p)
{
    p->args.cu_seqlens = p->cu;
    p->want = aligned(outputs(p) * 4);
    for (int64_t i = 0; i < outputs(p); i++) {
        const int64_t n = i % p->args.N, m = i / p->args.N % p->args.M, e = i / p->args.N / p->args.M;
        store(p->want, i, p->args.out_dtype, exact_output(&p->args, e, m, n));
    }
}

/* ---- the paths ------------------------------------------------------------------------------------------- */

/* Room for an output, guarded on both sides. */
struct output {
    uint8_t *memory, *data;
    int64_t bytes;
};

static struct output guarded(int64_t bytes)
{
    struct output o = {.memory = aligned(GUARD + bytes + GUARD), .bytes = bytes};
    o.data = o.memory + GUARD;
    memset(o.memory, GUARD_BYTE, (size_t)(GUARD + bytes + GUARD));
    return o;
}

static void release(const struct output *o, const char *what)
{
    for (int i = 0; i < GUARD; i++)
        ck_assert_msg(o->memory[i] == GUARD_BYTE && o->data[o->bytes + i] == GUARD_BYTE,
                      "%s: a byte outside the output was written", what);
    free(o->memory);
}

/* Element i of out against element j of want. */
static void hold_element(const struct problem *p, const uint8_t *out, int64_t i, int64_t j, const char *what)
{
    const size_t size = sb_dtype_size(p->args.out_dtype);
    uint32_t got = 0, want = 0;
    memcpy(&got, out + (size_t)i * size, size);
    memcpy(&want, p->want + (size_t)j * size, size);
    if (got != want) /* asserted only then: Check takes note of every assertion in a file */
        ck_abort_msg("%s: e %d, m %d, n %d of M=%d, N=%d: got %08X, exactly %08X", what,
                     (int)(j / p->args.N / p->args.M), (int)(j / p->args.N % p->args.M), (int)(j % p->args.N),
                     (int)p->args.M, (int)p->args.N, got, want);
}

static void hold_whole(const struct problem *p, const struct output *o, struct sb_status status, const char *what)
{
    ck_assert_msg(status.code == SB_OK, "%s: status %d", what, status.code);
    for (int64_t i = 0; i < outputs(p); i++)
        hold_element(p, o->data, i, i, what);
    release(o, what);
}

static int64_t bytes_of(const struct problem *p, int64_t elements)
{
    return elements * (int64_t)sb_dtype_size(p->args.out_dtype);
}

static void hold_path(const struct problem *p, enum sb_wgrad_path path, const char *what)
{
    struct output o = guarded(bytes_of(p, outputs(p)));
    hold_whole(p, &o, sb_ref_wgrad_varlen_k_by(&p->args, path, o.data), what);
    if (p->main_grad == NULL || p->args.out_dtype != SB_F32)
        return;
    struct sb_wgrad_args in_place = p->args;
    o = guarded(bytes_of(p, outputs(p)));
    memcpy(o.data, p->main_grad, (size_t)o.bytes);
    in_place.main_grad = (const uint32_t *)(const void *)o.data;
    hold_whole(p, &o, sb_ref_wgrad_varlen_k_by(&in_place, path, o.data), what);
}

static struct sb_wgrad_tile random_tile(uint64_t *s, const struct sb_wgrad_args *a)
{
    const int m0 = below(s, (int)a->M), n0 = below(s, (int)a->N);
    return (struct sb_wgrad_tile){.e = below(s, EXPERTS),
                                  .m0 = m0,
                                  .m1 = m0 + 1 + below(s, (int)a->M - m0),
                                  .n0 = n0,
                                  .n1 = n0 + 1 + below(s, (int)a->N - n0)};
}

static void hold_tiles(uint64_t *s, const struct problem *p, enum sb_wgrad_path path, const char *what)
{
    enum { MOST = 6 };
    struct sb_wgrad_tile tiles[MOST];
    const int count = 1 + below(s, MOST);
    int64_t elements = 0, i = 0;
    for (int t = 0; t < count; t++) {
        tiles[t] = random_tile(s, &p->args);
        elements += (tiles[t].m1 - tiles[t].m0) * (tiles[t].n1 - tiles[t].n0);
    }
    const struct output o = guarded(bytes_of(p, elements));
    const struct sb_status status = sb_ref_wgrad_varlen_k_tiles(&p->args, path, tiles, count, o.data);
    ck_assert_msg(status.code == SB_OK, "%s, tiles: status %d", what, status.code);
    for (int t = 0; t < count; t++)
        for (int64_t m = tiles[t].m0; m < tiles[t].m1; m++)
            for (int64_t n = tiles[t].n0; n < tiles[t].n1; n++)
                hold_element(p, o.data, i++, (tiles[t].e * p->args.M + m) * p->args.N + n, what);
    release(&o, what);
}

static void hold_problem(uint64_t *s, const struct problem *p, const char *mixture, int number)
{
    char what[96];
    struct output o = guarded(bytes_of(p, outputs(p)));
    snprintf(what, sizeof what, "%s %d, the model", mixture, number);
    hold_whole(p, &o, sb_ref_wgrad_varlen_k(&p->args, o.data), what);
    for (int path = 0; path < SB_WGRAD_PATHS; path++) {
        if (!sb_wgrad_path_runs((enum sb_wgrad_path)path))
            continue;
        snprintf(what, sizeof what, "%s %d, %s", mixture, number, sb_wgrad_path_name((enum sb_wgrad_path)path));
        hold_path(p, (enum sb_wgrad_path)path, what);
        for (int i = 0; i < 3; i++)
            hold_tiles(s, p, (enum sb_wgrad_path)path, what);
    }
}

/* Mostly one: the calls are many and small. Three now and then, so that a path's own division of the work is met. */
static void set_threads(int problem)
{
#if defined(_OPENMP)
    omp_set_num_threads(problem % 8 == 0 ? 3 : 1);
#else
    (void)problem;
#endif
}

START_TEST(every_path_gives_the_exact_bits)
{
    steps = from_tiny = from_huge = from_infinity = from_nan = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        uint64_t state = ((uint64_t)_i << 32 | (uint64_t)(unsigned)i) * UINT64_C(0x9E3779B97F4A7C15);
        struct problem p = make_problem(&state, (enum mixture)_i);
        solve(&p);
        set_threads(i);
        hold_problem(&state, &p, mixture_names[_i], i);
        free_problem(&p);
    }
    printf("wgrad exact: %s: %d problems, %llu steps (c tiny %llu, huge %llu, infinite %llu, NaN %llu); paths",
           mixture_names[_i], PROBLEMS, (unsigned long long)steps, (unsigned long long)from_tiny,
           (unsigned long long)from_huge, (unsigned long long)from_infinity, (unsigned long long)from_nan);
    for (int path = 0; path < SB_WGRAD_PATHS; path++)
        printf(" %s%s", sb_wgrad_path_name((enum sb_wgrad_path)path),
               sb_wgrad_path_runs((enum sb_wgrad_path)path) ? "" : " (does not run here)");
    printf("\n");
    const uint64_t enough = _i == ALL_ORDINARY ? 0 : 5 * PROBLEMS; /* else the mixture misses its aim */
    ck_assert(from_tiny >= enough && from_huge >= enough && from_infinity >= enough && from_nan >= enough);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("ref wgrad_varlen_k against exact integers");
    TCase *paths = tcase_create("paths");
    tcase_add_loop_test(paths, every_path_gives_the_exact_bits, 0, MIXTURES);
    suite_add_tcase(suite, paths);
    return suite;
}
