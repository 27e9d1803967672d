/* types.h - the few types every part of Samebits shares: element types, tensors, status words.
 *
 * Knows nothing of files, devices or cases. Includes the C library only, so that a reference can be
 * read, compiled and reused by itself. Valid C17 and C++17 (the kernels include it).
 */
#ifndef SAMEBITS_REF_TYPES_H
#define SAMEBITS_REF_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Storage types. BF16 and E8M0 are carried as raw bits (u16, u8): no part of the suite ever moves them
 * through a floating-point register. F32 is handled as u32 bits wherever a NaN payload could be lost. */
enum sb_dtype { SB_U8, SB_I8, SB_I32, SB_I64, SB_F32, SB_BF16, SB_E8M0, SB_DTYPE_COUNT };

size_t sb_dtype_size(enum sb_dtype dtype);      /* bytes an element */
const char *sb_dtype_name(enum sb_dtype dtype); /* "u8", "i8", "i32", "i64", "f32", "bf16", "e8m0" */

enum { SB_MAX_RANK = 4 };

/* A dense or row-strided array. `row_stride` is in elements, between successive rows of the last axis
 * (the last-but-one axis); 0 means dense. `col_stride` is in elements along the last axis; 0 means 1.
 * Axes before the last two are dense over whole (strided) planes. Rank 0 is a scalar. `data` is owned by
 * whoever filled the struct in; it is host or device memory as the user of the struct says. */
struct sb_tensor {
    const char *name; /* the contract's name, static storage */
    enum sb_dtype dtype;
    int rank;
    int64_t shape[SB_MAX_RANK];
    int64_t row_stride;
    int64_t col_stride;
    void *data; /* NULL: an optional tensor that is absent */
};

int64_t sb_tensor_count(const struct sb_tensor *t); /* logical elements; 1 for rank 0 */
int64_t sb_tensor_span(const struct sb_tensor *t);  /* elements from the first to one past the last, gaps included */
size_t sb_tensor_span_bytes(const struct sb_tensor *t);               /* the same in bytes */
int64_t sb_tensor_offset(const struct sb_tensor *t, int64_t logical); /* logical index -> element offset */

/* Why a call was rejected. A rejected call writes nothing but its status: every output byte keeps the
 * value it had. `where` names the place, by code; unused entries are 0. */
enum sb_code {
    SB_OK = 0,
    SB_DUPLICATE_EXPERT, /* where = row, first slot, second slot: the lowest row, then the lowest slots */
    SB_COUNT_MISMATCH,   /* where = expert, count given, count found: the lowest expert */
    SB_TOO_LARGE,        /* where = the size (INT64_MAX stands for any above), the limit: what i32 or i64 can count,
                            or the room given */
    SB_GATHER_RANGE,     /* where = position, index found there, limit: the lowest position */
    SB_SEGMENT_ORDER,    /* where = e, cu[e], cu[e+1] (descending), or E, cu[E], T (past the end), or 0, cu[0], 0
                            (negative) */
    SB_ALIGNMENT,        /* where = which (1 M, 2 N, 3 ld_dy, 4 ld_x, 5 dy, 6 x, 7 dw, 8 main_grad), value (of a
                            pointer: its address modulo the multiple), multiple demanded */
    SB_CARRIER_WIDTH,    /* where = S, 4: i32x4 needs a multiple of four scales a row */
    SB_BAD_ARGUMENT,     /* where = which argument, as each op numbers its own, and its value */
    SB_CODE_COUNT
};

const char *sb_code_name(enum sb_code code); /* "ok", "duplicate_expert", ... */

/* The status word: host and device share this layout. */
struct sb_status {
    int32_t code; /* enum sb_code */
    int32_t reserved;
    int64_t where[3];
    int64_t ignored; /* ids outside -1..E-1: treated as not routed, counted as a warning */
};

static inline struct sb_status sb_status_ok(void)
{
    struct sb_status s = {SB_OK, 0, {0, 0, 0}, 0};
    return s;
}

static inline struct sb_status sb_reject(enum sb_code code, int64_t a, int64_t b, int64_t c)
{
    struct sb_status s = {(int32_t)code, 0, {a, b, c}, 0};
    return s;
}

/* One English sentence for a status, for people: what was wrong, where, what to do. Returns buf. */
const char *sb_status_text(const struct sb_status *s, char *buf, size_t size);

/* Marks what the kernels call too. */
#ifdef __CUDACC__
#define SB_HOST_DEVICE __host__ __device__
#else
#define SB_HOST_DEVICE
#endif

/* a / b rounded up, for any a >= 0 and b > 0. */
static inline SB_HOST_DEVICE int64_t sb_cdiv(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

#ifdef __cplusplus
}
#endif
#endif
