/* tensor_map.cu - see tensor_map.h. CUDA driver API, "Tensor Map Object Management". */
#include "tensor_map.h"

/* By way of the runtime, so that nothing is linked to the driver's library: the program starts where there is none. */
static cudaError_t find_encode(decltype(&cuTensorMapEncodeTiled) *encode)
{
    const unsigned first_version = 12000;
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, first_version, cudaEnableDefault, &result);
    if (error != cudaSuccess)
        return error;
    *encode = (decltype(&cuTensorMapEncodeTiled))found;
    return result == cudaDriverEntryPointSuccess && found != NULL ? cudaSuccess : cudaErrorNotSupported;
}

constexpr int most_axes = 3;

/* Columns first; strides in bytes of all axes but columns, which are dense. */
struct layout {
    CUtensorMapDataType type;
    cuuint32_t axes, element_bytes;
    cuuint64_t sizes[most_axes], strides[most_axes - 1];
};

static cudaError_t encode_map(CUtensorMap *map, void *tensor, const struct layout *layout, uint32_t box_rows)
{
    const cuuint32_t box_bytes = 128;
    decltype(&cuTensorMapEncodeTiled) encode;
    const cudaError_t error = find_encode(&encode);
    if (error != cudaSuccess)
        return error;
    const cuuint32_t box[most_axes] = {box_bytes / layout->element_bytes, box_rows, 1};
    const cuuint32_t every[most_axes] = {1, 1, 1};
    const CUresult encoded = encode(map, layout->type, layout->axes, tensor, layout->sizes, layout->strides, box, every,
                                    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return encoded == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

extern "C" cudaError_t sb_tensor_map_bf16(CUtensorMap *map, const uint16_t *matrix, int64_t rows, int64_t columns,
                                          int64_t stride, uint32_t box_rows)
{
    const cuuint32_t bytes = sizeof *matrix;
    const struct layout layout = {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                  2,
                                  bytes,
                                  {(cuuint64_t)columns, (cuuint64_t)rows},
                                  {(cuuint64_t)stride * bytes}};
    return encode_map(map, (void *)matrix, &layout, box_rows);
}

extern "C" cudaError_t sb_tensor_map_planes(CUtensorMap *map, void *tensor, enum sb_dtype dtype, int64_t planes,
                                            int64_t rows, int64_t columns, uint32_t box_rows)
{
    const bool narrow = dtype == SB_BF16;
    const cuuint32_t bytes = narrow ? 2 : 4;
    const cuuint64_t row_bytes = (cuuint64_t)columns * bytes;
    const struct layout layout = {narrow ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                  3,
                                  bytes,
                                  {(cuuint64_t)columns, (cuuint64_t)rows, (cuuint64_t)planes},
                                  {row_bytes, row_bytes * (cuuint64_t)rows}};
    return encode_map(map, tensor, &layout, box_rows);
}
