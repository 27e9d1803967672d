/* scale_pack.c - raw 1x32 scales, gathered, into the 128x4 tile layout. Contract: CONTRACTS.md section 3. */
#include "scale_pack.h"

enum sb_dtype sb_carrier_dtype(enum sb_carrier carrier)
{
    switch (carrier) {
    case SB_CARRIER_U8:
        return SB_U8;
    case SB_CARRIER_I8:
        return SB_I8;
    default:
        return SB_I32;
    }
}

int64_t sb_carrier_width(enum sb_carrier carrier, int64_t S)
{
    return carrier == SB_CARRIER_I32X4 ? S / 4 : S;
}

int64_t sb_scale_pack_bytes(int64_t r, int64_t cols)
{
    const int64_t row_tiles = sb_cdiv(r, SB_TILE_ROWS), col_tiles = sb_cdiv(cols, SB_TILE_COLS);
    if (col_tiles > 0 && row_tiles > INT64_MAX / SB_TILE_BYTES / col_tiles)
        return INT64_MAX;
    return row_tiles * col_tiles * SB_TILE_BYTES;
}

int64_t sb_scale_pack_offset(int64_t r, int64_t s, int64_t cols)
{
    return ((r / 128) * sb_cdiv(cols, 128) + s / 4) * 512 + (r % 32) * 16 + ((r % 128) / 32) * 4 + s % 4;
}

struct sb_status sb_scale_pack_check_args(const struct sb_scale_pack_args *args)
{
    if (args->n < 0)
        return sb_reject(SB_BAD_ARGUMENT, 1, args->n, 0);
    if (args->cols < 1)
        return sb_reject(SB_BAD_ARGUMENT, 2, args->cols, 0);
    const int64_t S = sb_cdiv(args->cols, SB_SCALE_COLS);
    const int64_t least_row_stride = sb_carrier_width(args->carrier, S) > 0 ? 1 : 0;
    if (args->row_stride < least_row_stride)
        return sb_reject(SB_BAD_ARGUMENT, 3, args->row_stride, 0);
    if (args->col_stride < 1)
        return sb_reject(SB_BAD_ARGUMENT, 4, args->col_stride, 0);
    if (args->r < 0 || (args->gather == NULL && args->r != args->n))
        return sb_reject(SB_BAD_ARGUMENT, 5, args->r, 0);
    if ((int)args->carrier < 0 || args->carrier >= SB_CARRIER_COUNT)
        return sb_reject(SB_BAD_ARGUMENT, 6, args->carrier, 0);

    if (args->carrier == SB_CARRIER_I32X4 && S % 4 != 0)
        return sb_reject(SB_CARRIER_WIDTH, S, 4, 0);
    if (sb_scale_pack_bytes(args->r, args->cols) == INT64_MAX)
        return sb_reject(SB_TOO_LARGE, INT64_MAX, INT64_MAX, 0);
    return sb_status_ok();
}

static struct sb_status check_gather(const struct sb_scale_pack_args *args)
{
    for (int64_t r = 0; args->gather != NULL && r < args->r; r++)
        if (args->gather[r] < 0 || args->gather[r] >= args->n)
            return sb_reject(SB_GATHER_RANGE, r, args->gather[r], args->n);
    return sb_status_ok();
}

/* The scale byte of source row `row`, column s. Words are shifted, not viewed as bytes: the lowest column sits
 * in the lowest byte on machines of either byte order. */
static uint8_t raw_scale(const struct sb_scale_pack_args *args, int64_t row, int64_t s)
{
    const uint8_t *bytes = args->raw;
    const uint32_t *words = args->raw;
    const int64_t start = row * args->row_stride;
    switch (args->carrier) {
    case SB_CARRIER_I32:
        return (uint8_t)(words[start + s * args->col_stride] & 0xFF);
    case SB_CARRIER_I32X4:
        return (uint8_t)(words[start + s / 4 * args->col_stride] >> (8 * (s % 4)) & 0xFF);
    default: /* u8, and i8: the same byte */
        return bytes[start + s * args->col_stride];
    }
}

/* All 512 bytes of one tile: real scales, and the fill where the row or the column does not exist. */
static void pack_tile(const struct sb_scale_pack_args *args, int64_t row_tile, int64_t col_tile, uint8_t *packed)
{
    const int64_t S = sb_cdiv(args->cols, SB_SCALE_COLS);
    for (int64_t r = row_tile * SB_TILE_ROWS; r < (row_tile + 1) * SB_TILE_ROWS; r++) {
        const int64_t row = r >= args->r ? -1 : args->gather != NULL ? args->gather[r] : r;
        for (int64_t s = col_tile * SB_TILE_SCALES; s < (col_tile + 1) * SB_TILE_SCALES; s++) {
            const bool real = r < args->r && s < S;
            packed[sb_scale_pack_offset(r, s, args->cols)] = real ? raw_scale(args, row, s) : args->fill;
        }
    }
}

struct sb_status sb_ref_scale_pack(const struct sb_scale_pack_args *args, uint8_t *packed)
{
    struct sb_status status = sb_scale_pack_check_args(args);
    if (status.code == SB_OK)
        status = check_gather(args);
    if (status.code != SB_OK)
        return status;

    const int64_t row_tiles = sb_cdiv(args->r, SB_TILE_ROWS);
    const int64_t col_tiles = sb_cdiv(args->cols, SB_TILE_COLS);
#pragma omp parallel for schedule(static)
    for (int64_t row_tile = 0; row_tile < row_tiles; row_tile++)
        for (int64_t col_tile = 0; col_tile < col_tiles; col_tile++)
            pack_tile(args, row_tile, col_tile, packed);
    return status;
}
