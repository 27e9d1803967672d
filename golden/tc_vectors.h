/* tc_vectors.h - seeded operands for contract TC, in tiles as tensor-core instructions take them. Each class is aimed
 * at a rule of the contract. Integers only: the same bits on every machine, and any tile can be made alone. */
#ifndef SAMEBITS_GOLDEN_TC_VECTORS_H
#define SAMEBITS_GOLDEN_TC_VECTORS_H

#include <stdbool.h>
#include <stdint.h>

/* A class keeps its number: it is part of the seed. New ones go to the end. */
enum sb_tc_class {
    SB_TC_NORMAL,
    SB_TC_WIDE,
    SB_TC_ANY_BITS,
    SB_TC_SUBNORMAL_INPUTS,
    SB_TC_SUBNORMAL_RESULTS,
    SB_TC_NAN_AND_INF,
    SB_TC_INFINITIES,
    SB_TC_OVERFLOW,
    SB_TC_CANCELLATION,
    SB_TC_SIGNED_ZEROS,
    SB_TC_TINY_PRODUCTS,
    SB_TC_FLOOR,
    SB_TC_ALIGNMENT,
    SB_TC_CUT_OF_ONE_SIGN,
    SB_TC_TIES,
    SB_TC_FULL_SUMS,
    SB_TC_HALVES,
    SB_TC_ZERO_PARTNERS,
    SB_TC_UNDERFLOW,
    SB_TC_CLASSES
};

const char *sb_tc_class_name(enum sb_tc_class cls);   /* "any-bits" */
const char *sb_tc_class_reason(enum sb_tc_class cls); /* one line: what it is aimed at */

enum { SB_TC_MAX_TILE = 256 }; /* rows, columns */

/* Operands of rows * cols dot products c[m][n] + sum over k of a[m][k] * b[k][n]. Arrays belong to the caller. */
struct sb_tc_tile {
    int rows, cols; /* 1 .. SB_TC_MAX_TILE */
    uint16_t *a;    /* bf16 bits [rows][16] */
    uint16_t *b;    /* bf16 bits [16][cols] */
    uint32_t *c;    /* f32 bits [rows][cols] */
};

/* bf16 bits of significand * 2^(exponent - 7), significand 0..255, cut where bf16 has no such number; at most the
 * largest finite one. */
uint16_t sb_tc_bf16(bool negative, uint32_t significand, int exponent);

/* Fills in tile `index` (below 2^48). Its bits depend on seed, cls, index, rows and cols alone. */
void sb_tc_make_tile(uint64_t seed, enum sb_tc_class cls, uint64_t index, const struct sb_tc_tile *tile);

#endif
