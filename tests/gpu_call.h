/* gpu_call.h - calls for the tests of gpu/: tensors at addresses that must only be passed on, never read. */
#ifndef SAMEBITS_TESTS_GPU_CALL_H
#define SAMEBITS_TESTS_GPU_CALL_H

#include <string.h>

#include "../gpu/call_args.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static inline void *address(uintptr_t value)
{
    return (void *)value;
}

static inline struct sb_tensor vector_of(const char *name, enum sb_dtype dtype, int64_t length, void *data)
{
    return (struct sb_tensor){.name = name, .dtype = dtype, .rank = 1, .shape = {length}, .data = data};
}

/* A call of topk_metadata and of metadata_pack: i32 ids, no counts, dense u8 scales, buffers of various lengths. */
struct routing_call {
    struct sb_tensor in[4], out[11];
    struct sb_scalar scalar[9];
    struct sb_gpu_call call;
};

static inline void make_routing_call(struct routing_call *r, int64_t n, int64_t topk, int64_t experts, int64_t cols)
{
    const struct sb_tensor in[] = {
        vector_of("topk_idx", SB_I32, n * topk, address(0x1000)),
        vector_of("topk_prob", SB_F32, n * topk, address(0x2000)),
        vector_of("tokens_per_expert", SB_I32, 0, NULL),
        {.name = "raw", .dtype = SB_U8, .rank = 2, .shape = {n, sb_cdiv(cols, 32)}, .data = address(0x3000)},
    };
    const struct sb_tensor out[] = {
        vector_of("expert_offset", SB_I32, experts + 1, address(0x4000)),
        vector_of("x_gather_idx", SB_I32, 700, address(0x5000)),
        vector_of("s_scatter_idx", SB_I32, 600, address(0x6000)),
        vector_of("s_reverse_scatter_idx", SB_I32, 401, address(0x7000)),
        vector_of("token_offset", SB_I32, n + 1, address(0x8000)),
        vector_of("topk_score", SB_F32, 500, address(0x9000)),
        vector_of("score_src_idx", SB_I32, 400, address(0xA000)),
        {.name = "TK", .dtype = SB_I64, .data = address(0xB000)},
        {.name = "TKP", .dtype = SB_I64, .data = address(0xC000)},
        {.name = "pad_rows", .dtype = SB_I64, .data = address(0xD000)},
        {.name = "packed", .dtype = SB_U8, .rank = 2, .shape = {1, 4096}, .data = address(0xE000)},
    };
    const struct sb_scalar scalar[] = {
        {"N", n},
        {"topk", topk},
        {"E", experts},
        {"block", 128},
        {"counts_align", 7},
        {"order", SB_ORDER_SLOT},
        {"cols", cols},
        {"carrier", SB_CARRIER_I8},
        {"fill", 0x7F},
    };
    memcpy(r->in, in, sizeof in);
    memcpy(r->out, out, sizeof out);
    memcpy(r->scalar, scalar, sizeof scalar);
    r->call = (struct sb_gpu_call){.in = r->in,
                                   .n_in = COUNT(in),
                                   .out = r->out,
                                   .n_out = COUNT(out),
                                   .scalar = r->scalar,
                                   .n_scalar = COUNT(scalar)};
}

#endif
