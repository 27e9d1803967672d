/* scale_pack.h - raw 1x32 scales, gathered, into the 128x4 tile layout. Contract: CONTRACTS.md section 3. */
#ifndef SAMEBITS_REF_SCALE_PACK_H
#define SAMEBITS_REF_SCALE_PACK_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the raw scale bytes lie in memory. I32: one scale a word, in its low byte (the other three bytes are
 * not part of the scale and may hold anything). I32X4: four scales a little-endian word, lowest column first. */
enum sb_carrier { SB_CARRIER_U8, SB_CARRIER_I8, SB_CARRIER_I32, SB_CARRIER_I32X4, SB_CARRIER_COUNT };

/* One tile holds 128 packed rows by 4 scale columns, which scale 128 columns of the matrix. */
enum { SB_TILE_ROWS = 128, SB_TILE_SCALES = 4, SB_TILE_COLS = 128, SB_TILE_BYTES = 512 };

enum { SB_SCALE_COLS = 32 }; /* columns of the matrix that share a scale */

struct sb_scale_pack_args {
    const void *raw; /* n rows of S = cdiv(cols, 32) scales each */
    enum sb_carrier carrier;
    int64_t n, cols;                /* cols in elements of the scaled matrix, >= 1 */
    int64_t row_stride, col_stride; /* in carrier elements (words for the i32 carriers), >= 1; rows may overlap */
    const int32_t *gather;          /* [r] source row of each packed row; NULL: identity, r = n */
    int64_t r;
    uint8_t fill;
};

enum sb_dtype sb_carrier_dtype(enum sb_carrier carrier);      /* the dtype of one carrier element */
int64_t sb_carrier_width(enum sb_carrier carrier, int64_t S); /* carrier elements a row: S, or S / 4 */

/* cdiv(r, 128) * cdiv(cols, 128) * 512, for r, cols >= 0; INT64_MAX where 64 bits cannot count the bytes. */
int64_t sb_scale_pack_bytes(int64_t r, int64_t cols);
int64_t sb_scale_pack_offset(int64_t r, int64_t s, int64_t cols); /* byte of (packed row r, scale column s) */

/* The checks that need no array: SB_BAD_ARGUMENT (where = 1 n, 2 cols, 3 row_stride, 4 col_stride, 5 r,
 * 6 carrier; and the value; r != n without gather is 5), SB_CARRIER_WIDTH, SB_TOO_LARGE {INT64_MAX, INT64_MAX} where
 * sb_scale_pack_bytes cannot count, in that order. Rows without a carrier element, which is what i32x4 makes of fewer
 * than four scales, may have a row stride of 0: dense ones do, and SB_CARRIER_WIDTH is what is wrong with them. */
struct sb_status sb_scale_pack_check_args(const struct sb_scale_pack_args *args);

/* packed[sb_scale_pack_bytes(r, cols)], every byte written. Rejects a gather index outside [0, n) (lowest
 * position). On rejection nothing is written. */
struct sb_status sb_ref_scale_pack(const struct sb_scale_pack_args *args, uint8_t *packed);

#ifdef __cplusplus
}
#endif
#endif
