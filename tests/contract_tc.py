"""The contracts' arithmetic on arrays, every part twice: a fast form, and a slow one straight from the text.

Contract TC (tc-bf16-k16-f25), the tensor core's fused dot product: `fused_dot` uses float64 as a container for exact
numbers and never rounds before the last step. A product of two bf16 values has 16 significant bits and an exponent of
-266..255, a power-of-two scale keeps it exact, a term cut at 2^(e_max-25) is an integer below 2^27, so the sum of 17 of
them is exact in any order. `slow_dot` is the same text in exact fractions. A `Rule` describes the contract; every other
Rule is a planted change that the self-test must see.
The other ops: routing by sorting against counting slot by slot, tiles by transposition against the index formula.
"""
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

DEPTH = 16                  # pairs in one fused dot product
NAN_BITS = 0x7FFFFFFF       # every NaN that the op itself produces
ZERO_EXPONENT = -1000       # a zero's exponent: below every floor, and a sum of two of them fits int16
TILE_M, TILE_N = 64, 256    # outputs computed together; small enough to stay in the cache


@dataclass(frozen=True)
class Rule:
    """Contract TC, or a planted change of it."""
    bits: int = 25
    floor: int = -133
    depth: int = DEPTH
    term_cut: str = "zero"          # "zero", "nearest", "down" (toward minus infinity)
    sum_cut: str = "zero"
    zeros_count: bool = False       # zeros take part in the maximum, with the exponent of subnormals
    renormalise: bool = False       # a product of 2 or more gets the next exponent
    subnormals_normal: bool = False # a subnormal gets the exponent of its leading bit
    keep_minus_zero: bool = False
    flush_subnormals: bool = False
    nan_bits: int = NAN_BITS
    inf_is_max: bool = False        # overflow saturates


CONTRACT = Rule()

PLANTED = {
    "24 bits": replace(CONTRACT, bits=24),
    "26 bits": replace(CONTRACT, bits=26),
    "no floor": replace(CONTRACT, floor=-300),
    "floor -132": replace(CONTRACT, floor=-132),
    "floor -134": replace(CONTRACT, floor=-134),
    "zeros given an exponent": replace(CONTRACT, zeros_count=True),
    "terms rounded to nearest": replace(CONTRACT, term_cut="nearest"),
    "sum rounded to nearest": replace(CONTRACT, sum_cut="nearest"),
    "-0 kept": replace(CONTRACT, keep_minus_zero=True),
    "two steps of 8": replace(CONTRACT, depth=8),
    "terms cut toward minus infinity": replace(CONTRACT, term_cut="down"),
    "sum cut toward minus infinity": replace(CONTRACT, sum_cut="down"),
    "product exponents renormalised": replace(CONTRACT, renormalise=True),
    "subnormal operands normalised": replace(CONTRACT, subnormals_normal=True),
    "subnormal results flushed": replace(CONTRACT, flush_subnormals=True),
    "another NaN": replace(CONTRACT, nan_bits=0x7FC00000),
    "overflow saturates": replace(CONTRACT, inf_is_max=True),
}


# ---- fast: float64 as an exact container --------------------------------------------------------

def cdiv(a, b):
    return -(-a // b)


def split_bf16(bits, rule=CONTRACT):
    """bf16 bits (uint16) as (float64 values, int16 exponents); the exponents of Inf and NaN mean nothing."""
    wide = np.ascontiguousarray(bits, dtype=np.uint16).astype(np.uint32) << 16
    with np.errstate(invalid="ignore"):  # a signalling NaN loses its payload here, which no rule asks for
        values = wide.view(np.float32).astype(np.float64)
    return values, exponents_f32(wide, rule)


def exponents_f32(bits, rule=CONTRACT):
    field = ((bits >> 23) & 0xFF).astype(np.int16)
    exponents = np.maximum(field, 1) - np.int16(127)
    if rule.subnormals_normal:
        leading = np.frexp((bits & 0x7FFFFF).astype(np.float64))[1] - 150
        exponents = np.where((field == 0) & (bits & 0x7FFFFF != 0), leading, exponents).astype(np.int16)
    if not rule.zeros_count:
        exponents = np.where(bits & 0x7FFFFFFF, exponents, np.int16(ZERO_EXPONENT))
    return exponents


def power_of_two(exponents):
    """2^exponents as float64, from the bit pattern."""
    return ((exponents.astype(np.int64) + 1023) << 52).view(np.float64)


CUTS = {"zero": np.trunc, "nearest": np.rint, "down": np.floor}


def fused_dot(c_bits, a, a_exp, b, b_exp, rule=CONTRACT):
    """c + sum of a[i]*b[i], as uint32 f32 bits of c_bits' shape. a[i], b[i] (from split_bf16) broadcast against c."""
    for first in range(0, len(a), rule.depth):
        part = slice(first, first + rule.depth)
        c_bits = _one_step(c_bits, a[part], a_exp[part], b[part], b_exp[part], rule)
    return c_bits


def _one_step(c_bits, a, a_exp, b, b_exp, rule):
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        c = c_bits.view(np.float32).astype(np.float64)
        finite = np.isfinite(c).all() and np.isfinite(a).all() and np.isfinite(b).all()
        e_max = np.maximum(exponents_f32(c_bits, rule), np.int16(rule.floor))
        for i in range(len(a)):
            e = a_exp[i] + b_exp[i]
            if rule.renormalise:
                product = np.abs(a[i] * b[i])
                e = e + (np.where(product == 0, 1, product) >= 2 * power_of_two(np.maximum(e, -300))).astype(np.int16)
            np.maximum(e_max, e, out=e_max)
        cut = CUTS[rule.term_cut]
        scale = power_of_two(rule.bits - e_max)
        total = cut(c * scale)
        term = np.empty_like(total)
        for i in range(len(a)):
            np.multiply(a[i], b[i], out=term)
            term *= scale
            cut(term, out=term)
            total += term
        result = _to_f32(total * power_of_two(e_max - rule.bits), rule)
        if not rule.keep_minus_zero:
            result[(result & 0x7FFFFFFF) == 0] = 0
        if not finite:
            # IEEE sums know the same NaN and Inf rules, and finite products cannot overflow float64.
            plain = c
            for i in range(len(a)):
                plain = plain + a[i] * b[i]
            result = np.where(np.isposinf(plain), np.uint32(0x7F800000), result)
            result = np.where(np.isneginf(plain), np.uint32(0xFF800000), result)
            result = np.where(np.isnan(plain), np.uint32(rule.nan_bits), result)
    return result


def _to_f32(exact, rule):
    """f32 bits of `exact`, cut toward zero: rounds to nearest, then steps back where that went too far."""
    nearest = exact.astype(np.float32)
    bits = nearest.view(np.uint32)
    too_far = (np.abs(nearest) > np.abs(exact)) & (np.abs(exact) < 2.0**128)
    if rule.sum_cut == "zero":
        bits = bits - too_far.astype(np.uint32)
    elif rule.sum_cut == "down":
        bits = bits - (too_far & (exact > 0)) + ((exact < 0) & (np.abs(nearest) < np.abs(exact)))
        bits = bits.astype(np.uint32)
    if rule.flush_subnormals:
        bits = np.where(bits & 0x7F800000, bits, np.uint32(0))
    if rule.inf_is_max:
        bits = np.where((bits & 0x7FFFFFFF) == 0x7F800000, bits - np.uint32(1), bits)
    return bits


def wgrad_segment(dy_bits, x_bits, rule=CONTRACT):
    """f32 bits [M,N] of the sum over k of dy[k,m]*x[k,n]: steps of 16 from the first row, the last one zero-filled."""
    length, m_size = dy_bits.shape
    n_size = x_bits.shape[1]
    steps = cdiv(length, DEPTH)
    filled = ((0, steps * DEPTH - length), (0, 0))
    dy, dy_exp = split_bf16(np.pad(dy_bits, filled), rule)
    x, x_exp = split_bf16(np.pad(x_bits, filled), rule)
    result = np.zeros((m_size, n_size), np.uint32)
    for m in range(0, m_size, TILE_M):
        for n in range(0, n_size, TILE_N):
            acc = np.zeros(result[m:m + TILE_M, n:n + TILE_N].shape, np.uint32)
            for k in range(0, steps * DEPTH, DEPTH):
                left = (slice(k, k + DEPTH), slice(m, m + TILE_M), None)
                right = (slice(k, k + DEPTH), None, slice(n, n + TILE_N))
                acc = fused_dot(acc, dy[left], dy_exp[left], x[right], x_exp[right], rule)
            result[m:m + TILE_M, n:n + TILE_N] = acc
    return result


def add_f32(left, right):
    """One f32 add of f32 bits, round to nearest even; a NaN result is the op's own NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = left.view(np.float32) + right.view(np.float32)
    return np.where(np.isnan(total), np.uint32(NAN_BITS), total.view(np.uint32))


def wgrad(dy, x, cu, gather, main_grad):
    """dw as f32 bits; gather and main_grad (f32 bits) may be None."""
    dw = np.zeros((len(cu) - 1, dy.shape[1], x.shape[1]), np.uint32) if main_grad is None else main_grad.copy()
    for e, (first, end) in enumerate(zip(cu[:-1], cu[1:])):
        if end > first:
            total = wgrad_segment(dy[first:end], x[first:end] if gather is None else x[gather[first:end]])
            dw[e] = total if main_grad is None else add_f32(main_grad[e], total)
    return dw


def round_to_bf16(bits):
    """f32 bits to bf16 bits: up when the cut part is above one half, or just half below an odd value."""
    upper, rest = (bits >> 16).astype(np.uint16), bits & 0xFFFF
    up = (rest > 0x8000) | ((rest == 0x8000) & (upper & 1 == 1))
    return np.where((bits & 0x7FFFFFFF) > 0x7F800000, np.uint16(0x7FFF), upper + up.astype(np.uint16))


def e8m0_codes(semantics, out_dtype):
    """What each of the 256 bytes becomes, as f32 or bf16 bits."""
    table = [byte << 23 for byte in range(256)]
    table[0], table[255] = {"shift": (0, 0x7F800000), "torch": (0x00400000, 0x7F800001),
                            "cuda": (0x00400000, 0x7FFF0000), "te": (0x00400000, 0x7FFFFFFF)}[semantics]
    if out_dtype == "f32":
        return np.array(table, np.uint32)
    halves = [bits >> 16 for bits in table]
    halves[255] = 0x7FC0 if semantics == "torch" else halves[255]
    return np.array(halves, np.uint16)


# ---- fast: routing by sorting, tiles by transposition ---------------------------------------------

def first_duplicate(ids, valid):
    """The smallest (row, slot, later slot) of one valid id twice in a row, or None."""
    marked = np.where(valid, ids, -1 - np.arange(ids.shape[1]))  # what is not valid never equals a neighbour
    by_id = np.argsort(marked, axis=1, kind="stable")
    in_order = np.take_along_axis(marked, by_id, 1)
    row, at = np.nonzero(in_order[:, 1:] == in_order[:, :-1])
    return min(((int(row[0]), int(by_id[r, k]), int(by_id[r, k + 1])) for r, k in zip(row, at) if r == row[0]),
               default=None)


def count_experts(ids, valid, experts):
    return np.diff(np.searchsorted(np.sort(ids[valid]), np.arange(experts + 1)))


def route(ids, prob_bits, experts, block, order):
    """topk_metadata's outputs {name: (dtype, array)} for ids i64 [N,topk] without duplicates."""
    valid = (ids >= 0) & (ids < experts)
    counts = count_experts(ids, valid, experts)
    padded = block * cdiv(counts, block)
    total, total_padded = int(counts.sum()), int(padded.sum())
    # Token-major list of the valid slots: row by row, inside a row by expert id or as they stand.
    row, slot = np.nonzero(valid)
    expert = ids[valid]
    if order == "expert":
        in_order = np.lexsort((expert, row))
        row, slot, expert = row[in_order], slot[in_order], expert[in_order]
    # Padded list: real entries and padding rows sorted together by (expert, padding last, row). Entry i < TK is
    # token-major position i; the padding entries already run TK, TK+1, ... in position order.
    all_experts = np.concatenate([expert, np.repeat(np.arange(experts), padded - counts)])
    all_rows = np.concatenate([row, np.zeros(total_padded - total, np.int64)])
    entry = np.arange(total_padded)
    place = np.lexsort((entry, all_rows, entry >= total, all_experts))
    outputs = {
        "expert_offset": np.searchsorted(all_experts[place], np.arange(experts + 1)),
        "x_gather_idx": all_rows[place],
        "s_scatter_idx": place if order == "slot" else np.minimum(place, total),
        "s_reverse_scatter_idx": np.argsort(place, kind="stable")[:total],
        "token_offset": np.searchsorted(row, np.arange(len(ids) + 1)),
        "score_src_idx": row * ids.shape[1] + slot,
    }
    result = {name: ("i32", array.astype(np.int32)) for name, array in outputs.items()}
    score = np.concatenate([prob_bits[row, slot], np.zeros(total_padded - total, np.uint32)])
    result["topk_score"] = ("f32", score.view(np.float32))
    for name, value in (("TK", total), ("TKP", total_padded), ("pad_rows", total_padded - total)):
        result[name] = ("i64", np.array(value, np.int64))
    return result


def pack_tiles(scales, gather, cols, fill):
    """packed u8 (1, bytes) of scales[gather]: filled up to whole 128x4 tiles, then reshaped and transposed."""
    row_tiles, col_tiles = cdiv(len(gather), 128), cdiv(cols, 128)
    whole = np.full((row_tiles * 128, col_tiles * 4), fill, np.uint8)
    whole[:len(gather), :scales.shape[1]] = scales[gather]
    tiles = whole.reshape(row_tiles, 4, 32, col_tiles, 4).transpose(0, 3, 2, 1, 4)
    return tiles.reshape(1, row_tiles * col_tiles * 512)


# ---- slow: exact fractions ----------------------------------------------------------------------

def decode(bits, width, fraction_bits):
    """(kind, sign, significand, exponent); the value is sign * significand * 2^(exponent - fraction_bits)."""
    sign = -1 if bits >> (width - 1) else 1
    field = (bits >> fraction_bits) & 0xFF
    fraction = bits & ((1 << fraction_bits) - 1)
    if field == 255:
        return ("nan" if fraction else "inf"), sign, 0, 0
    if field == 0:
        return ("number" if fraction else "zero"), sign, fraction, -126
    return "number", sign, fraction | (1 << fraction_bits), field - 127


def slow_dot(c_bits, a_bits, b_bits):
    """The contract's five rules for one dot product, in Python integers and fractions. Returns f32 bits."""
    terms = []
    infinities = set()
    kind, sign, significand, exponent = decode(int(c_bits), 32, 23)
    if kind == "nan":
        return NAN_BITS
    if kind == "inf":
        infinities.add(sign)
    elif kind == "number":
        terms.append((sign * significand * Fraction(2)**(exponent - 23), exponent))
    for a, b in zip(a_bits, b_bits):
        a_kind, a_sign, a_significand, a_exponent = decode(int(a), 16, 7)
        b_kind, b_sign, b_significand, b_exponent = decode(int(b), 16, 7)
        kinds = {a_kind, b_kind}
        if "nan" in kinds or kinds == {"inf", "zero"}:
            return NAN_BITS
        if "inf" in kinds:
            infinities.add(a_sign * b_sign)
        elif "zero" not in kinds:
            exponent = a_exponent + b_exponent
            value = a_sign * b_sign * a_significand * b_significand * Fraction(2)**(exponent - 14)
            terms.append((value, exponent))
    if infinities:
        return NAN_BITS if len(infinities) == 2 else (0x7F800000 if 1 in infinities else 0xFF800000)
    e_max = max([exponent for _, exponent in terms] + [-133])
    unit = Fraction(2)**(e_max - 25)
    total = sum((1 if value > 0 else -1) * (abs(value) // unit) for value, _ in terms) * unit
    return _cut_to_f32(total)


def _encode(value, fraction_bits, to_integer):
    """f32 (23) or bf16 (7) bits of an exact value; to_integer turns the scaled magnitude into the significand."""
    magnitude = abs(value)
    exponent = 127
    while exponent > -126 and Fraction(2)**exponent > magnitude:
        exponent -= 1
    # The hidden bit adds one to the field; a subnormal has none; a carry runs into the field by itself.
    bits = ((exponent + 126) << fraction_bits) + to_integer(magnitude / Fraction(2)**(exponent - fraction_bits))
    return (value < 0) << (fraction_bits + 8) | min(bits, 255 << fraction_bits)


def _cut_to_f32(value):
    bits = _encode(value, 23, int)
    return bits if bits & 0x7FFFFFFF else 0


def slow_add(left, right):
    """One f32 add to nearest even, exactly; Python rounds a half to even too."""
    l_kind, l_sign, l_int, l_exp = decode(int(left), 32, 23)
    r_kind, r_sign, r_int, r_exp = decode(int(right), 32, 23)
    kinds = {l_kind, r_kind}
    if "nan" in kinds or (kinds == {"inf"} and l_sign != r_sign):
        return NAN_BITS
    if "inf" in kinds:
        return int(left if l_kind == "inf" else right)
    total = l_sign * l_int * Fraction(2)**(l_exp - 23) + r_sign * r_int * Fraction(2)**(r_exp - 23)
    return _encode(total, 23, round) if total else int(left) & int(right) & 0x80000000 if kinds == {"zero"} else 0


def slow_round_to_bf16(bits):
    kind, sign, significand, exponent = decode(int(bits), 32, 23)
    if kind != "number":
        return 0x7FFF if kind == "nan" else int(bits) >> 16
    return _encode(sign * significand * Fraction(2)**(exponent - 23), 7, round)


def slow_wgrad(dy, x, cu, gather, main_grad):
    dw = np.zeros((len(cu) - 1, dy.shape[1], x.shape[1]), np.uint32)
    for e, m, n in np.ndindex(dw.shape):
        acc = 0
        for k in range(cu[e], cu[e + 1], DEPTH):
            at = np.arange(k, min(k + DEPTH, cu[e + 1]))
            acc = slow_dot(acc, dy[at, m], x[at if gather is None else gather[at], n])
        if main_grad is not None:
            acc = slow_add(main_grad[e, m, n], acc) if cu[e] < cu[e + 1] else main_grad[e, m, n]
        dw[e, m, n] = acc
    return dw


# ---- slow: slot by slot, byte by byte -----------------------------------------------------------

def slow_route(ids, prob_bits, experts, block, order):
    """route() by the contract's sentences: counting, where the fast form sorts."""
    rows, topk = ids.shape
    valid = [(t, s) for t in range(rows) for s in range(topk) if 0 <= ids[t, s] < experts]
    tokens = [sum(t < row for t, _ in valid) for row in range(rows + 1)]
    counts = [sum(ids[slot] == e for slot in valid) for e in range(experts)]
    offsets = [sum(block * cdiv(c, block) for c in counts[:e]) for e in range(experts + 1)]
    gather, reverse, source = [0] * offsets[-1], [0] * len(valid), [0] * len(valid)
    scatter, score = [None] * offsets[-1], np.zeros(offsets[-1], np.uint32)
    for t, s in valid:
        before = [z for z in range(topk) if (t, z) in valid and (ids[t, z] < ids[t, s] if order == "expert" else z < s)]
        major = tokens[t] + len(before)
        place = offsets[ids[t, s]] + sum(ids[slot] == ids[t, s] for slot in valid if slot[0] < t)
        gather[place], scatter[place], reverse[major] = t, major, place
        source[major], score[major] = t * topk + s, prob_bits[t, s]
    for i, place in enumerate([place for place, major in enumerate(scatter) if major is None]):
        scatter[place] = len(valid) + (i if order == "slot" else 0)
    result = {"expert_offset": offsets, "x_gather_idx": gather, "s_scatter_idx": scatter, "token_offset": tokens,
              "s_reverse_scatter_idx": reverse, "score_src_idx": source}
    result = {name: ("i32", np.array(array, np.int32)) for name, array in result.items()}
    result["topk_score"] = ("f32", score.view(np.float32))
    for name, value in (("TK", len(valid)), ("TKP", offsets[-1]), ("pad_rows", offsets[-1] - len(valid))):
        result[name] = ("i64", np.array(value, np.int64))
    return result


def slow_pack(scales, gather, cols, fill):
    packed = np.full((1, cdiv(len(gather), 128) * cdiv(cols, 128) * 512), fill, np.uint8)
    for r, row in enumerate(gather):
        for s in range(scales.shape[1]):
            tile = (r // 128) * cdiv(cols, 128) + s // 4
            packed[0, tile * 512 + (r % 32) * 16 + ((r % 128) // 32) * 4 + s % 4] = scales[row, s]
    return packed


# ---- self-test ----------------------------------------------------------------------------------

def bf16(value):
    """bf16 bits of a number that has them exactly (float or a (mantissa, exponent) pair)."""
    value = value[0] * 2.0**value[1] if isinstance(value, tuple) else value
    bits = int(np.array(value, np.float32).view(np.uint32))
    assert float(np.array(value, np.float32)) == value and bits & 0xFFFF == 0, value
    return bits >> 16


ONE, MINUS_ONE, INF, MINUS_INF, QNAN, MINUS_ZERO = 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0x8000


def known_answers():
    """(name, c bits, pairs of bf16 bits, result bits), worked out by hand; pairs beyond the given ones are zero."""
    one, minus = (ONE, ONE), (MINUS_ONE, ONE)
    x139 = (bf16((139 / 128, -76)), bf16((1, -77)))  # 34.75 units of 2^-158
    x140 = (bf16((140 / 128, -76)), bf16((1, -77)))  # 35 units
    return [
        ("NaN payload in c", 0xFFC12345, [one], NAN_BITS),
        ("NaN in a", 0, [(0xFFC1, ONE)], NAN_BITS),
        ("signalling NaN in b times zero", 0, [(0, 0x7F81)], NAN_BITS),
        ("Inf times zero", 0, [(INF, 0)], NAN_BITS),
        ("minus zero times Inf, c Inf", 0x7F800000, [(MINUS_ZERO, INF)], NAN_BITS),
        ("infinities of both signs, products", 0, [(INF, ONE), (INF, MINUS_ONE)], NAN_BITS),
        ("infinities of both signs, c", 0xFF800000, [(INF, ONE)], NAN_BITS),
        ("one infinity", 0, [(INF, MINUS_ONE), one], 0xFF800000),
        ("infinity times a subnormal", 0xBF800000, [(0x0001, INF)], 0x7F800000),
        ("infinity in c", 0xFF800000, [one], 0xFF800000),
        ("infinities of one sign", 0x7F800000, [(INF, INF), (MINUS_INF, MINUS_INF)], 0x7F800000),
        ("25 bits are kept", 0x33000000, [one, minus], 0x33000000),
        ("the 26th is cut", 0x32800000, [one, minus], 0),
        ("cut is toward zero", 0xB2C00000, [one, minus], 0),
        ("cut, not rounded", 0x33400000, [one, minus], 0x33000000),
        ("no renormalisation of 2.25", 0x33000000, [(bf16(1.5), bf16(1.5)), (bf16(-1.5), bf16(1.5))], 0x33000000),
        ("a subnormal's exponent is -126", 0x00400000, [], 0x00400000),
        ("subnormal operands are not renormalised", 0, [(0x0001, bf16((1, 100))), (bf16((1, -52)), ONE)], 0x2F000000),
        ("zero product has no exponent", bf16((1, -60)) << 16, [(0, bf16((1, 100)))], bf16((1, -60)) << 16),
        ("zero c has no exponent", 0x80000000, [(bf16((1, -76)), bf16((1, -76)))] * 16, 2),
        ("floor: 15 times 34 units", 0, [x139] * 15, 0),
        ("floor: 15 times 35 units", 0, [x140] * 15, 1),
        ("smallest product", 0, [(1, 1)], 0),
        ("subnormal result", 0, [(bf16((1, -75)), bf16((1, -74)))], 1),
        ("subnormal c passes", 0x80000001, [], 0x80000001),
        ("underflow of a negative sum", 0, [(bf16((-1, -75)), bf16((1, -75)))], 0),
        ("sum of minus zeros", 0x80000000, [(MINUS_ZERO, ONE)] * 16, 0),
        ("cancellation", 0xBF800000, [one], 0),
        ("sum is cut", 0x3F800000, [(bf16((1.5, -24)), ONE)], 0x3F800000),
        ("negative sum is cut", 0xBF800000, [(bf16((-1.5, -24)), ONE)], 0xBF800000),
        ("2^128 is infinity", 0, [(bf16((1, 127)), ONE)] * 2, 0x7F800000),
        ("minus 2^128", 0, [(bf16((-1, 127)), ONE)] * 2, 0xFF800000),
        ("just below 2^128", 0x7F7FFFFF, [(bf16((1, 103)), ONE)], 0x7F7FFFFF),
        ("product beyond f32", 0, [(bf16((1, 127)), bf16((1, 127)))], 0x7F800000),
        ("huge products cancel", 0x3F800000, [(bf16((1, 127)), bf16((1, 127))), (bf16((-1, 127)), bf16((1, 127)))], 0),
        ("one step of 16", 0xBF800000, [one] + [(0, 0)] * 7 + [(bf16((1, -26)), ONE)], 0),
    ]


def random_dots(per_kind, seed):
    """(kind, c [n], a [n,16], b [n,16]) with raw bits: random values and the neighbourhoods where rules meet."""
    rng = np.random.default_rng(seed)
    n = per_kind

    def bf16_bits(low, high, shape=(n, DEPTH)):
        """Signs and fractions random, exponent fields low..high."""
        field = rng.integers(low, high + 1, shape)
        return (rng.integers(0, 2, shape) << 15 | field << 7 | rng.integers(0, 128, shape)).astype(np.uint16)

    def f32_bits(low, high):
        field = rng.integers(low, high + 1, n)
        return (rng.integers(0, 2, n) << 31 | field << 23 | rng.integers(0, 1 << 23, n)).astype(np.uint32)

    def some(values, replacement, share):
        return np.where(rng.random(values.shape) < share, replacement, values).astype(values.dtype)

    zeros = (rng.integers(0, 2, n) << 31).astype(np.uint32)  # +0 and -0
    yield "normal", f32_bits(120, 134), bf16_bits(119, 131), bf16_bits(119, 131)
    yield "wide", f32_bits(0, 254), bf16_bits(0, 254), bf16_bits(0, 254)
    yield "all bits", f32_bits(0, 255), bf16_bits(0, 255), bf16_bits(0, 255)
    yield "subnormal", f32_bits(0, 2), some(bf16_bits(110, 128), bf16_bits(0, 1), 0.5), bf16_bits(100, 130)
    yield "subnormal only", zeros, bf16_bits(0, 0) & 0x800F, bf16_bits(125, 150)
    yield "small c", f32_bits(96, 106), bf16_bits(126, 127), bf16_bits(126, 127)
    yield "near overflow", f32_bits(250, 254), bf16_bits(185, 191), bf16_bits(185, 191)
    yield "huge products", f32_bits(0, 254), bf16_bits(250, 254), bf16_bits(250, 254)
    # Sums of tiny products about the smallest f32 subnormal, where only the floor decides.
    for top in range(48, 54):
        a = bf16_bits(top - 1, top) & 0x7FFF  # one sign, or the sums cancel to nothing
        yield "tiny products", zeros, a, some(bf16_bits(50, 51) & 0x7FFF, np.uint16(0), 0.1)
    yield "tiny products, signs", zeros, bf16_bits(49, 53), bf16_bits(49, 53)
    yield "zeros", some(f32_bits(90, 130), np.uint32(0x80000000), 0.5), some(bf16_bits(60, 140), MINUS_ZERO, 0.7), \
        some(bf16_bits(60, 140), 0, 0.5)
    yield "only zeros", zeros, bf16_bits(0, 254), some(bf16_bits(0, 254), rng.choice([0, MINUS_ZERO], (n, DEPTH)), 2)
    specials = rng.choice([0, MINUS_ZERO, INF, MINUS_INF, ONE, MINUS_ONE, 0x0001], (n, DEPTH))
    yield "infinities", some(f32_bits(100, 140), np.uint32(0xFF800000), 0.2), some(bf16_bits(90, 150), specials, 0.1), \
        bf16_bits(90, 150)
    yield "NaN", some(f32_bits(100, 140), np.uint32(0x7F800001), 0.05), some(bf16_bits(90, 150), 0x7F81, 0.02), \
        some(bf16_bits(90, 150), QNAN, 0.02)
    # Full cancellation: the second half undoes the first, what is left is cut-off bits and c.
    a, b = bf16_bits(110, 140), bf16_bits(110, 140)
    a[:, 8:], b[:, 8:] = a[:, :8] ^ 0x8000, b[:, :8]
    yield "cancellation", f32_bits(85, 125), a, b
    a, b = a.copy(), b.copy()
    a[:, 15] = bf16_bits(90, 110, n)
    yield "near cancellation", some(f32_bits(80, 120), np.uint32(0), 0.5), a, b
    # Two large terms, all others within a few bits of the cut.
    a, b = bf16_bits(112, 116), bf16_bits(112, 116)
    a[:, 0], b[:, 0], a[:, 1], b[:, 1] = 0x3FC0, 0x3FFF, 0xBFC0, 0x3FFF
    yield "about the cut", some(f32_bits(100, 104), np.uint32(0), 0.3), a, b


def dot_rows(c, a, b, rule=CONTRACT):
    """fused_dot for raw bits c [n], a [n,16], b [n,16]."""
    return fused_dot(c, *split_bf16(a.T, rule), *split_bf16(b.T, rule), rule)


def self_test(per_kind=250, say=print):
    """Number of failures (0 when all is well): fast against slow, known answers, every planted change seen."""
    failures = 0
    answers = known_answers()
    c = np.array([row[1] for row in answers], np.uint32)
    pairs = np.array([row[2] + [(0, 0)] * (DEPTH - len(row[2])) for row in answers], np.uint16)
    sets = [("known answers", c, pairs[:, :, 0], pairs[:, :, 1])] + list(random_dots(per_kind, 20260101))
    expected = []
    for kind, c, a, b in sets:
        slow = np.array([slow_dot(*row) for row in zip(c, a, b)], np.uint32)
        expected.append(slow)
        for i in np.nonzero(dot_rows(c, a, b) != slow)[0][:5]:
            failures += 1
            say(f"FAIL {kind}[{i}]: fast {dot_rows(c, a, b)[i]:08x}, slow {slow[i]:08x}")
    for i, (name, _, _, result) in enumerate(answers):
        if expected[0][i] != result:
            failures += 1
            say(f"FAIL known answer '{name}': by hand {result:08x}, slow {expected[0][i]:08x}")
    say(f"contract TC: {sum(map(len, expected))} dot products, fast against slow, {len(answers)} of them by hand")
    for name, rule in PLANTED.items():
        differing = [int((dot_rows(c, a, b, rule) != slow).sum()) for (_, c, a, b), slow in zip(sets, expected)]
        if differing[0] == 0 or sum(differing[1:]) == 0:
            failures += 1
            say(f"FAIL planted '{name}' is not seen: {differing[0]} known, {sum(differing[1:])} random")
        else:
            say(f"  planted '{name}': {differing[0]} known answers and {sum(differing[1:])} random ones differ")
    return failures + _segment_self_test(say) + _routing_self_test(say)


def _segment_self_test(say):
    """wgrad_segment against a chain of slow_dot, across the tile edges and at every length of the last step."""
    rng = np.random.default_rng(7)
    failures = 0
    for length in (0, 1, 7, 15, 16, 17, 33):
        dy = (rng.integers(0, 1 << 16, (length, TILE_M + 8)) & 0xBFFF).astype(np.uint16)
        x = (rng.integers(0, 1 << 16, (length, TILE_N + 8)) & 0xBFFF).astype(np.uint16)
        result = wgrad_segment(dy, x)
        for m, n in ((0, 0), (TILE_M - 1, TILE_N), (TILE_M, TILE_N - 1), (TILE_M + 7, TILE_N + 7)):
            acc = 0
            for k in range(0, length, DEPTH):
                acc = slow_dot(acc, dy[k:k + DEPTH, m], x[k:k + DEPTH, n])
            if acc != result[m, n]:
                failures += 1
                say(f"FAIL segment of {length} rows at ({m},{n}): slow {acc:08x}, fast {result[m, n]:08x}")
    edges = np.array([0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF, 0x7F7FFFFF,
                      0x7F7F8000, 0x7F7F7FFF, 0x7F800000, 0x7F800001, 0x7FFFFFFF, 0x8000, 0x8001, 0x18000, 0x33800000,
                      0x73000000, 0x72FFFFFF], np.uint32)
    edges = np.concatenate([edges, edges | 0x80000000, rng.integers(0, 1 << 32, 40).astype(np.uint32)])
    left, right = (side.ravel() for side in np.meshgrid(edges, edges))
    wrong = int((add_f32(left, right) != [slow_add(*pair) for pair in zip(left, right)]).sum())
    wrong += int((round_to_bf16(left) != [slow_round_to_bf16(bits) for bits in left]).sum())
    if wrong:
        say(f"FAIL {wrong} adds or bf16 roundings differ from the exact ones")
    return failures + wrong


def _routing_self_test(say):
    """Sorting against counting, transposition against the index formula, both orders, odd sizes."""
    rng = np.random.default_rng(11)
    failures = 0
    for rows, topk, experts, block in ((0, 1, 1, 1), (1, 1, 1, 128), (40, 6, 33, 1), (33, 4, 4, 8), (65, 2, 7, 32)):
        ids = np.array([rng.permutation(experts)[:topk] for _ in range(rows)], np.int64).reshape(rows, topk)
        ids[rng.random(ids.shape) < 0.3] = rng.choice([-1, -9, experts, 1 << 40])
        prob = rng.integers(0, 1 << 32, ids.shape, np.uint32)
        scales = rng.integers(0, 256, (rows, experts), np.uint8)
        for order in ("expert", "slot"):
            fast, slow = (form(ids, prob, experts, block, order) for form in (route, slow_route))
            gather = slow["x_gather_idx"][1]
            fast["packed"], slow["packed"] = (("u8", form(scales, gather, experts * 32 - 5, 127))
                                              for form in (pack_tiles, slow_pack))
            for name, (_, array) in slow.items():
                if array.shape != fast[name][1].shape or array.tobytes() != fast[name][1].tobytes():
                    failures += 1
                    say(f"FAIL {name}, {rows}x{topk} of {experts}, order {order}: sorting and counting differ")
    return failures


if __name__ == "__main__":
    raise SystemExit(1 if self_test() else 0)
