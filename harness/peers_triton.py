"""A grouped weight gradient in Triton, for peers.py to time: plain and hardly tuned, a tile a program, `tl.dot` over K
in steps of 64, with masks. Nothing of it is in the product.
"""
import triton
import triton.language as tl

BLOCK_K = 64
# BLOCK_M, BLOCK_N, warps, stages: the fastest of these on the shape at hand is the peer.
CONFIGS = ((128, 256, 8, 3), (128, 128, 4, 4))
TILES_TOGETHER = 8  # rows of tiles that run together, so that their operands are still in the L2


@triton.jit
def grouped_wgrad(dy, x, cu_seqlens, dw, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                  TOGETHER: tl.constexpr):
    tile = tl.program_id(0)
    e = tl.program_id(1)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    first_m = tile // (TOGETHER * tiles_n) * TOGETHER
    together = min(tiles_m - first_m, TOGETHER)
    m = (first_m + tile % (TOGETHER * tiles_n) % together) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile % (TOGETHER * tiles_n) // together * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)

    begin = tl.load(cu_seqlens + e).to(tl.int64)
    length = (tl.load(cu_seqlens + e + 1) - begin).to(tl.int32)
    dy_at = dy + begin * M + k[None, :] * M + m[:, None]
    x_at = x + begin * N + k[:, None] * N + n[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k0 in range(0, length, BLOCK_K):
        inside = k < length - k0
        a = tl.load(dy_at, mask=inside[None, :] & (m < M)[:, None], other=0)
        b = tl.load(x_at, mask=inside[:, None] & (n < N)[None, :], other=0)
        total = tl.dot(a, b, total)
        dy_at += BLOCK_K * M
        x_at += BLOCK_K * N

    dw_at = dw + e.to(tl.int64) * M * N + m[:, None].to(tl.int64) * N + n[None, :]
    tl.store(dw_at, total.to(dw.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])


def launch(config, dy, x, cu_seqlens, dw):
    """dw [E, M, N], f32 or bf16, from dy [T, M] and x [T, N], all dense, on torch's current stream."""
    block_m, block_n, warps, stages = config
    experts, rows, columns = dw.shape
    grid = (triton.cdiv(rows, block_m) * triton.cdiv(columns, block_n), experts)
    grouped_wgrad[grid](dy, x, cu_seqlens, dw, rows, columns, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=BLOCK_K,
                        TOGETHER=TILES_TOGETHER, num_warps=warps, num_stages=stages)
