/* wgrad_mma_sync_output.cuh - how the warps of wgrad_varlen_k_mma_sync.cu write dw. */
#ifndef SAMEBITS_GPU_WGRAD_MMA_SYNC_OUTPUT_CUH
#define SAMEBITS_GPU_WGRAD_MMA_SYNC_OUTPUT_CUH

#include "wgrad_mma_sync_ring.cuh"
#include "wgrad_output.cuh"

/* Neighbouring lanes trade: of two pairs of sums, 8 columns apart, the even lane gets both lanes' lower pairs, the odd
 * one both upper pairs: four neighbours each, and 64 bytes of a row in a store instead of 32. */
static __device__ __forceinline__ uint4 trade_pairs(const float low[2], const float high[2], bool odd)
{
    const uint32_t low0 = __float_as_uint(low[0]), low1 = __float_as_uint(low[1]);
    const uint32_t high0 = __float_as_uint(high[0]), high1 = __float_as_uint(high[1]);
    const uint32_t got0 = __shfl_xor_sync(0xFFFFFFFFu, odd ? low0 : high0, 1);
    const uint32_t got1 = __shfl_xor_sync(0xFFFFFFFFu, odd ? low1 : high1, 1);
    return make_uint4(odd ? got0 : low0, odd ? got1 : low1, odd ? high0 : got0, odd ? high1 : got1);
}

/* A warp's outputs. Templates, so that each kind is one straight line; of main_grad `batch` loads are under way at
 * once.
 */
template <bool onto, bool narrow, int batch>
static __device__ __forceinline__ void store_tile(const float sum[m_fragments][n_fragments][4],
                                                  const struct sb_wgrad_args *args, void *dw,
                                                  const struct wgrad_tile *tile, int warp, int lane)
{
    constexpr int fours = n_fragments / 2, bytes = narrow ? 2 : 4;
    const bool odd = lane % 2 != 0, empty = tile->length == 0;
    const int32_t m = tile->m0 + warp / warps_n * 16 + lane / 4;
    const int32_t n = tile->n0 + warp % warps_n * 16 + lane % 2 * 8 + lane % 4 / 2 * 4;
    const int32_t m_left = (int32_t)args->M - m, n_left = (int32_t)args->N - n;
    const int64_t at = (tile->e * args->M + m) * args->N + n;
    unsigned char *out = (unsigned char *)dw + at * bytes;
    const uint32_t *grad = args->main_grad + at;
#pragma unroll
    for (int i = 0; i < m_fragments * 2; i++) { // halves of fragments, 8 rows each
        const bool row_there = i / 2 * warps_m * 16 + i % 2 * 8 < m_left;
#pragma unroll
        for (int first = 0; first < fours; first += batch) {
            uint4 was[batch];
#pragma unroll
            for (int j = 0; onto && j < batch; j++) {
                const int column = (first + j) * warps_n * 16;
                was[j] = row_there && column < n_left ? __ldcs((const uint4 *)(grad + column)) : make_uint4(0, 0, 0, 0);
            }
#pragma unroll
            for (int j = 0; j < batch; j++) {
                const int column = (first + j) * warps_n * 16;
                const float *pair = sum[i / 2][(first + j) * 2] + i % 2 * 2;
                uint4 four = trade_pairs(pair, pair + 4, odd);
                if (onto)
                    four = sb_wgrad_onto_four(was[j], empty, four);
                if (row_there && column < n_left)
                    sb_wgrad_store_four<narrow>(out + column * bytes, four);
            }
        }
        const int64_t to_next = (i % 2 ? warps_m * 16 - 8 : 8) * args->N;
        out += to_next * bytes;
        grad += to_next;
    }
}

#endif
