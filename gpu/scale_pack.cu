/* scale_pack.cu - raw 1x32 scales, gathered, into the 128x4 tile layout. Contract: ref/CONTRACTS.md section 3.
 *
 *     byte (r, s) -> ((r/128) * k_tiles + s/4) * 512 + (r%32)*16 + ((r%128)/32)*4 + s%4
 *
 * So the four scales (r, 4t .. 4t+3) are one aligned 4-byte word, lowest column first, and the rows r, r+32, r+64 and
 * r+96 of a tile are one 16-byte chunk. All four forms make such words with load_word(), which puts the fill where a
 * column does not exist, and differ in who makes which word. Scale bytes are opaque: only moved, never interpreted.
 *
 * With gather, a kernel looks for the lowest index out of range first and a second one writes the status; the packing
 * kernels do nothing if that is a rejection.
 */
#include "scale_pack.h"

#include "call_args.h"
#include "launch.cuh"
#include "variants.h"

constexpr int threads = 256;
constexpr int tile_rows = SB_TILE_ROWS;
constexpr int tile_scales = SB_TILE_SCALES;
constexpr int tile_bytes = SB_TILE_BYTES;
constexpr int chunk_bytes = 16; // four words
constexpr int tile_chunks = tile_bytes / chunk_bytes;
constexpr int chunk_words = chunk_bytes / tile_scales;

constexpr int group_tiles = 32;              // tiles side by side that `tile` stages: 16 KB of words
constexpr int group_pitch = group_tiles + 1; // an odd pitch: the 32 rows that a warp reads lie in 32 banks

constexpr unsigned long long none_bad = ~0ull; // what a memset to 0xFF leaves

/* ---- What the packing kernels share ----------------------------------------------------------------------------- */

struct pack {
    const void *raw;
    int64_t row_stride, col_stride; /* in carrier elements */
    int64_t scales;                 /* S, a row */
    int64_t k_tiles;                /* tiles side by side */
    const int32_t *gather;          /* NULL: row r is source row r */
    int64_t rows;                   /* packed rows, unless the device knows better */
    const int64_t *rows_device;     /* or NULL */
    uint32_t fill;                  /* the byte, four times */
    bool aligned_words;             /* u8 and i8: four scales from a multiple of four on are an aligned word */
    uint8_t *packed;
    const struct sb_status *status; /* a rejection here: write nothing */
};

static __device__ __forceinline__ int64_t word_offset(int64_t r, int64_t k_tile, int64_t k_tiles)
{
    return (r / tile_rows * k_tiles + k_tile) * tile_bytes + r % 32 * chunk_bytes + r % tile_rows / 32 * tile_scales;
}

/* The packed row that gives word `word` (0..3) of chunk `chunk` (0..31) in the tiles of row tile `row_tile`. */
static __device__ __forceinline__ int64_t chunk_row(int64_t row_tile, int chunk, int word)
{
    return row_tile * tile_rows + word * 32 + chunk;
}

static __device__ __forceinline__ int64_t packed_rows(const struct pack &p)
{
    return p.rows_device != NULL ? *p.rows_device : p.rows;
}

static __device__ __forceinline__ int64_t source_row(const struct pack &p, int64_t r)
{
    return p.gather != NULL ? p.gather[r] : r;
}

template <enum sb_carrier carrier>
static __device__ __forceinline__ uint32_t load_scale(const struct pack &p, int64_t element)
{
    if constexpr (carrier == SB_CARRIER_I32)
        return ((const uint32_t *)p.raw)[element] & 0xFF;
    else
        return ((const uint8_t *)p.raw)[element];
}

/* Scales 4 * k_tile .. + 3 of a source row, lowest column in the lowest byte. */
template <enum sb_carrier carrier>
static __device__ __forceinline__ uint32_t load_word(const struct pack &p, int64_t row, int64_t k_tile)
{
    const int64_t start = row * p.row_stride;
    if constexpr (carrier == SB_CARRIER_I32X4)
        return ((const uint32_t *)p.raw)[start + k_tile * p.col_stride];

    const int64_t first = k_tile * tile_scales;
    if constexpr (carrier == SB_CARRIER_U8)
        if (p.aligned_words && first + tile_scales <= p.scales)
            return *(const uint32_t *)((const uint8_t *)p.raw + start + first);

    uint32_t word = p.fill;
    for (int i = 0; i < tile_scales; i++)
        if (first + i < p.scales) {
            const uint32_t scale = load_scale<carrier>(p, start + (first + i) * p.col_stride);
            word = (word & ~(0xFFu << (8 * i))) | scale << (8 * i);
        }
    return word;
}

/* The word of packed row r, all fill where that row does not exist. */
template <enum sb_carrier carrier>
static __device__ __forceinline__ uint32_t packed_word(const struct pack &p, int64_t rows, int64_t r, int64_t k_tile)
{
    return r < rows ? load_word<carrier>(p, source_row(p, r), k_tile) : p.fill;
}

/* ---- gather ----------------------------------------------------------------------------------------------------- */

template <enum sb_carrier carrier> static __global__ void __launch_bounds__(threads) scale_pack_gather(struct pack p)
{
    if (p.status->code != SB_OK)
        return;
    const int64_t rows = packed_rows(p);
    const int64_t chunks = sb_cdiv(rows, tile_rows) * p.k_tiles * tile_chunks;
    for (int64_t i = sb_first_item(); i < chunks; i += sb_item_step()) {
        int64_t row_tile, k_tile;
        sb_split(i / tile_chunks, p.k_tiles, &row_tile, &k_tile);
        uint32_t words[chunk_words];
        for (int word = 0; word < chunk_words; word++)
            words[word] = packed_word<carrier>(p, rows, chunk_row(row_tile, (int)(i % tile_chunks), word), k_tile);
        ((uint4 *)p.packed)[i] = make_uint4(words[0], words[1], words[2], words[3]);
    }
}

/* ---- tile ------------------------------------------------------------------------------------------------------- */

/* A block takes one row tile by up to 32 tiles side by side at a time. */
template <enum sb_carrier carrier> static __global__ void __launch_bounds__(threads) scale_pack_tile(struct pack p)
{
    __shared__ uint32_t staged[tile_rows][group_pitch];
    if (p.status->code != SB_OK)
        return;
    const int64_t rows = packed_rows(p);
    const int64_t groups_a_row = sb_cdiv(p.k_tiles, group_tiles);
    const int64_t groups = sb_cdiv(rows, tile_rows) * groups_a_row;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;

    for (int64_t group = blockIdx.x; group < groups; group += gridDim.x) {
        const int64_t row_tile = group / groups_a_row;
        const int64_t first_k_tile = group % groups_a_row * group_tiles;

        /* A warp a row, a lane a word: consecutive lanes read consecutive scales. */
        if (first_k_tile + lane < p.k_tiles)
            for (int row = warp; row < tile_rows; row += threads / 32)
                staged[row][lane] = packed_word<carrier>(p, rows, row_tile * tile_rows + row, first_k_tile + lane);
        __syncthreads();

        /* A warp a tile, a lane a chunk: each store instruction writes one whole tile, 512 bytes in a row. */
        for (int k = warp; k < group_tiles && first_k_tile + k < p.k_tiles; k += threads / 32) {
            uint4 *tile = (uint4 *)(p.packed + (row_tile * p.k_tiles + first_k_tile + k) * tile_bytes);
            tile[lane] = make_uint4(staged[lane][k], staged[lane + 32][k], staged[lane + 64][k], staged[lane + 96][k]);
        }
        __syncthreads(); // the next group overwrites `staged`
    }
}

/* ---- scatter ---------------------------------------------------------------------------------------------------- */

/* Fill over the whole last row tile; the rows that exist are scattered over it afterwards. */
static __global__ void __launch_bounds__(threads) scale_pack_fill_last_row_tile(struct pack p)
{
    if (p.status->code != SB_OK)
        return;
    const int64_t chunks = p.k_tiles * tile_chunks;
    uint4 *last = (uint4 *)p.packed + p.rows / tile_rows * chunks;
    for (int64_t i = sb_first_item(); i < chunks; i += sb_item_step())
        last[i] = make_uint4(p.fill, p.fill, p.fill, p.fill);
}

template <enum sb_carrier carrier> static __global__ void __launch_bounds__(threads) scale_pack_scatter(struct pack p)
{
    if (p.status->code != SB_OK)
        return;
    const int64_t words = p.rows * p.k_tiles;
    for (int64_t i = sb_first_item(); i < words; i += sb_item_step()) {
        int64_t r, k_tile;
        sb_split(i, p.k_tiles, &r, &k_tile);
        *(uint32_t *)(p.packed + word_offset(r, k_tile, p.k_tiles)) = load_word<carrier>(p, source_row(p, r), k_tile);
    }
}

/* ---- rowmajor --------------------------------------------------------------------------------------------------- */

template <enum sb_carrier carrier> static __global__ void __launch_bounds__(threads) scale_pack_rowmajor(struct pack p)
{
    if (p.status->code != SB_OK)
        return;
    const int64_t words = sb_cdiv(p.rows, tile_rows) * tile_rows * p.k_tiles;
    for (int64_t i = sb_first_item(); i < words; i += sb_item_step()) {
        int64_t r, k_tile;
        sb_split(i, p.k_tiles, &r, &k_tile);
        *(uint32_t *)(p.packed + word_offset(r, k_tile, p.k_tiles)) = packed_word<carrier>(p, p.rows, r, k_tile);
    }
}

/* ---- The gather index ------------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(threads)
    scale_pack_find_bad_index(const int32_t *gather, int64_t r, int64_t n, unsigned long long *first_bad)
{
    unsigned long long lowest = none_bad;
    for (int64_t i = sb_first_item(); i < r && lowest == none_bad; i += sb_item_step())
        if (gather[i] < 0 || gather[i] >= n)
            lowest = (unsigned long long)i; // this thread's positions ascend
    if (lowest != none_bad)
        atomicMin(first_bad, lowest);
}

static __global__ void scale_pack_write_gather_status(const int32_t *gather, int64_t n,
                                                      const unsigned long long *first_bad, struct sb_status *status)
{
    struct sb_status result = {SB_OK, 0, {0, 0, 0}, 0};
    if (*first_bad != none_bad)
        result = {SB_GATHER_RANGE, 0, {(int64_t)*first_bad, gather[*first_bad], n}, 0};
    *status = result;
}

/* ---- Host side -------------------------------------------------------------------------------------------------- */

enum form { FORM_GATHER, FORM_TILE, FORM_SCATTER, FORM_ROWMAJOR };

static struct pack pack_of(const struct sb_scale_pack_args *args, uint8_t *packed, const struct sb_status *status)
{
    struct pack p = {};
    p.raw = args->raw;
    p.row_stride = args->row_stride;
    p.col_stride = args->col_stride;
    p.scales = sb_cdiv(args->cols, SB_SCALE_COLS);
    p.k_tiles = sb_cdiv(args->cols, SB_TILE_COLS);
    p.gather = args->gather;
    p.rows = args->r;
    p.fill = args->fill * 0x01010101u;
    p.aligned_words =
        sb_is_aligned(args->raw, tile_scales) && args->row_stride % tile_scales == 0 && args->col_stride == 1;
    p.packed = packed;
    p.status = status;
    return p;
}

template <enum sb_carrier carrier>
static cudaError_t launch_form(enum form form, const struct pack &p, cudaStream_t stream)
{
    const int64_t row_tiles = sb_cdiv(p.rows, tile_rows);
    const int64_t tiles = row_tiles * p.k_tiles;
    const dim3 block(threads);
    switch (form) {
    case FORM_GATHER:
        return sb_launch(scale_pack_gather<carrier>, sb_stride_grid(tiles * tile_chunks, threads), block, 0, stream, p);
    case FORM_TILE:
        return sb_launch(scale_pack_tile<carrier>, sb_stride_grid(row_tiles * sb_cdiv(p.k_tiles, group_tiles), 1),
                         block, 0, stream, p);
    case FORM_SCATTER:
        if (p.rows % tile_rows != 0) {
            const cudaError_t error = sb_launch(scale_pack_fill_last_row_tile,
                                                sb_stride_grid(p.k_tiles * tile_chunks, threads), block, 0, stream, p);
            if (error != cudaSuccess)
                return error;
        }
        return sb_launch(scale_pack_scatter<carrier>, sb_stride_grid(p.rows * p.k_tiles, threads), block, 0, stream, p);
    case FORM_ROWMAJOR:
        return sb_launch(scale_pack_rowmajor<carrier>, sb_stride_grid(tiles * tile_rows, threads), block, 0, stream, p);
    }
    return cudaErrorInvalidValue;
}

static cudaError_t launch_pack(enum form form, enum sb_carrier carrier, const struct pack &p, cudaStream_t stream)
{
    switch (carrier) {
    case SB_CARRIER_I32:
        return launch_form<SB_CARRIER_I32>(form, p, stream);
    case SB_CARRIER_I32X4:
        return launch_form<SB_CARRIER_I32X4>(form, p, stream);
    default: /* an i8 is moved as the byte it is */
        return launch_form<SB_CARRIER_U8>(form, p, stream);
    }
}

/* Leaves the verdict on the gather index in *status. */
static cudaError_t launch_check(const struct sb_scale_pack_args *args, unsigned long long *first_bad,
                                struct sb_status *status, cudaStream_t stream)
{
    if (args->gather == NULL || args->r == 0)
        return cudaMemsetAsync(status, 0, sizeof *status, stream); /* all zeros is ok */
    cudaError_t error = cudaMemsetAsync(first_bad, 0xFF, sizeof *first_bad, stream);
    if (error == cudaSuccess)
        error = sb_launch(scale_pack_find_bad_index, sb_stride_grid(args->r, threads), dim3(threads), 0, stream,
                          args->gather, args->r, args->n, first_bad);
    if (error == cudaSuccess)
        error = sb_launch(scale_pack_write_gather_status, dim3(1), dim3(1), 0, stream, args->gather, args->n, first_bad,
                          status);
    return error;
}

extern "C" size_t sb_scale_pack_workspace(const struct sb_scale_pack_args *args)
{
    return args->gather != NULL ? sb_workspace_part(sizeof(unsigned long long)) : 0;
}

static struct sb_gpu_result pack_scales(enum form form, const struct sb_scale_pack_args *args, uint8_t *packed,
                                        int64_t capacity, void *workspace, size_t workspace_bytes,
                                        struct sb_status *status, cudaStream_t stream)
{
    const struct sb_status checked = sb_scale_pack_check_args(args);
    if (checked.code != SB_OK)
        return sb_result_rejected(checked);
    const int64_t bytes = sb_scale_pack_bytes(args->r, args->cols);
    if (bytes > capacity)
        return sb_result_rejected(sb_reject(SB_TOO_LARGE, bytes, capacity, 0));
    if (workspace_bytes < sb_scale_pack_workspace(args) || !sb_is_aligned(packed, chunk_bytes))
        return sb_result_of(cudaErrorInvalidValue);

    cudaError_t error = launch_check(args, (unsigned long long *)workspace, status, stream);
    if (error == cudaSuccess && bytes > 0)
        error = launch_pack(form, args->carrier, pack_of(args, packed, status), stream);
    return sb_result_of(error);
}

extern "C" struct sb_gpu_result sb_scale_pack_gather(const struct sb_scale_pack_args *args, uint8_t *packed,
                                                     int64_t capacity, void *workspace, size_t workspace_bytes,
                                                     struct sb_status *status, void *stream)
{
    return pack_scales(FORM_GATHER, args, packed, capacity, workspace, workspace_bytes, status, (cudaStream_t)stream);
}

extern "C" struct sb_gpu_result sb_scale_pack_tile(const struct sb_scale_pack_args *args, uint8_t *packed,
                                                   int64_t capacity, void *workspace, size_t workspace_bytes,
                                                   struct sb_status *status, void *stream)
{
    return pack_scales(FORM_TILE, args, packed, capacity, workspace, workspace_bytes, status, (cudaStream_t)stream);
}

extern "C" struct sb_gpu_result sb_scale_pack_scatter(const struct sb_scale_pack_args *args, uint8_t *packed,
                                                      int64_t capacity, void *workspace, size_t workspace_bytes,
                                                      struct sb_status *status, void *stream)
{
    return pack_scales(FORM_SCATTER, args, packed, capacity, workspace, workspace_bytes, status, (cudaStream_t)stream);
}

extern "C" struct sb_gpu_result sb_scale_pack_rowmajor(const struct sb_scale_pack_args *args, uint8_t *packed,
                                                       int64_t capacity, void *workspace, size_t workspace_bytes,
                                                       struct sb_status *status, void *stream)
{
    return pack_scales(FORM_ROWMAJOR, args, packed, capacity, workspace, workspace_bytes, status, (cudaStream_t)stream);
}

extern "C" struct sb_gpu_result sb_scale_pack_gather_device_rows(const struct sb_scale_pack_args *args,
                                                                 const int64_t *rows_device, uint8_t *packed,
                                                                 const struct sb_status *status, void *stream)
{
    const struct sb_status checked = sb_scale_pack_check_args(args);
    if (checked.code != SB_OK || args->r == 0)
        return sb_result_rejected(checked);
    if (!sb_is_aligned(packed, chunk_bytes))
        return sb_result_of(cudaErrorInvalidValue);
    struct pack p = pack_of(args, packed, status);
    p.rows_device = rows_device; /* the grid is made for args->r rows; its stride serves any number */
    return sb_result_of(launch_pack(FORM_GATHER, args->carrier, p, (cudaStream_t)stream));
}

/* ---- Adapters --------------------------------------------------------------------------------------------------- */

static struct sb_scale_pack_args args_of(const struct sb_gpu_call *call)
{
    struct sb_scale_pack_args args = sb_call_scale_pack_args(call);
    const int64_t R = sb_call_int(call, "R");
    args.gather = (const int32_t *)sb_call_in(call, "gather")->data;
    args.r = R < 0 ? args.n : R;
    return args;
}

static struct sb_gpu_result run_form(enum form form, const struct sb_gpu_call *call)
{
    const struct sb_scale_pack_args args = args_of(call);
    const struct sb_tensor *packed = sb_call_out(call, "packed");
    return pack_scales(form, &args, (uint8_t *)packed->data, sb_tensor_count(packed), call->workspace,
                       call->workspace_bytes, call->status, (cudaStream_t)call->stream);
}

extern "C" struct sb_gpu_result sb_run_scale_pack_gather(const struct sb_gpu_call *call)
{
    return run_form(FORM_GATHER, call);
}

extern "C" struct sb_gpu_result sb_run_scale_pack_tile(const struct sb_gpu_call *call)
{
    return run_form(FORM_TILE, call);
}

extern "C" struct sb_gpu_result sb_run_scale_pack_scatter(const struct sb_gpu_call *call)
{
    return run_form(FORM_SCATTER, call);
}

extern "C" struct sb_gpu_result sb_run_scale_pack_rowmajor(const struct sb_gpu_call *call)
{
    return run_form(FORM_ROWMAJOR, call);
}

extern "C" size_t sb_workspace_scale_pack(const struct sb_gpu_call *call)
{
    const struct sb_scale_pack_args args = args_of(call);
    return sb_scale_pack_workspace(&args);
}
