/* tensor_map.h - descriptions of tensors in global memory for bulk tensor copies (TMA): sm_90 and later. All boxes are
 * 128 bytes wide and land in shared memory row by row with the 128-byte swizzle: the 16-byte chunk c of a row stands at
 * c XOR (row & 7). The driver's function is looked up at run time; cudaErrorNotSupported where it has none,
 * cudaErrorInvalidValue where it refuses. */
#ifndef SAMEBITS_GPU_TENSOR_MAP_H
#define SAMEBITS_GPU_TENSOR_MAP_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../ref/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row-major bf16 matrix, rows `stride` elements apart, in boxes of box_rows x 64. What a box has outside the matrix
 * arrives as zeros. `matrix` is 16-byte aligned device memory, `stride` a multiple of 8, rows and columns at least 1.
 */
cudaError_t sb_tensor_map_bf16(CUtensorMap *map, const uint16_t *matrix, int64_t rows, int64_t columns, int64_t stride,
                               uint32_t box_rows);

/* A dense tensor [planes, rows, columns] of SB_F32 or SB_BF16, in boxes of box_rows rows of one plane; `tensor` is
 * 16-byte aligned device memory, columns a multiple of 8. */
cudaError_t sb_tensor_map_planes(CUtensorMap *map, void *tensor, enum sb_dtype dtype, int64_t planes, int64_t rows,
                                 int64_t columns, uint32_t box_rows);

#ifdef __cplusplus
}
#endif
#endif
