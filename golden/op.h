/* op.h - what the suite knows of an op: its parameters, tensors, cases, inputs and reference.
 *
 * One `const struct sb_op` per op, in the file of the op's name (golden/e8m0_upcast.c beside
 * ref/e8m0_upcast.c and gpu/e8m0_upcast.cu). harness/ops.c joins it with the op's GPU variants in one row.
 */
#ifndef SAMEBITS_GOLDEN_OP_H
#define SAMEBITS_GOLDEN_OP_H

#include "error.h"
#include "../ref/types.h"

enum { SB_MAX_PARAMS = 24, SB_MAX_TENSORS = 12, SB_ID_SIZE = 224, SB_TEXT_SIZE = 128 };

/* ---- parameters --------------------------------------------------------------------------------- */

enum sb_param_kind { SB_PARAM_INT, SB_PARAM_ENUM, SB_PARAM_TEXT };

struct sb_param_spec {
    const char *name; /* as in the id and as the root attribute of the golden file */
    enum sb_param_kind kind;
    const char *standard;       /* default as text; NULL: required, and always printed in the id */
    const char *const *choices; /* ENUM: NULL-terminated; the value is the index */
    int64_t min, max;           /* INT */
    const char *help;           /* one line */
};

struct sb_param {
    int64_t value;           /* INT: the number; ENUM: the index */
    char text[SB_TEXT_SIZE]; /* canonical text, for every kind */
};

/* ---- cases -------------------------------------------------------------------------------------- */

/* Suites a case belongs to. A case of smoke or seed need not be in standard. ARGUMENTS holds the calls that are refused
 * for their plain arguments alone (topk=33): apart from the others, because whoever recomputes a set from its arrays
 * should not meet files whose arrays say nothing. PRODUCTION holds the shapes of real training: gigabytes and minutes,
 * and outputs of which only samples are known. */
enum sb_suite { SB_SMOKE = 1, SB_STANDARD = 2, SB_SEED = 4, SB_ARGUMENTS = 8, SB_PRODUCTION = 16 };

struct sb_case_row {
    const char *call;   /* "N=512,topk=4,E=8": the parameters, without the op */
    unsigned suites;    /* bits of enum sb_suite */
    const char *reason; /* one line: which bug it hunts */
};

struct sb_op;

/* A case is a call: op and parameters. The id is "op/name=value,...": parameters in the spec's order, those at
 * their default left out, required ones always there. It is printed, accepted back, used as the path of the
 * golden file (id + ".h5") and hashed into the seed, so it never changes meaning. */
struct sb_case {
    const struct sb_op *op;
    struct sb_param param[SB_MAX_PARAMS]; /* in the order of op->params */
    char id[SB_ID_SIZE];
    char reason[256];
    unsigned suites; /* 0 for a call that no suite lists */
    uint64_t seed;   /* first 8 bytes, little endian, of SHA-256(id) */
};

int64_t sb_case_int(const struct sb_case *c, const char *name);      /* INT or ENUM value; aborts on an unknown name */
const char *sb_case_text(const struct sb_case *c, const char *name); /* canonical text of any kind */

/* ---- data --------------------------------------------------------------------------------------- */

/* A rectangle of a tensor: rows row .. row_end-1 and columns column .. column_end-1 of its last two axes, in one plane.
 * Planes count the axes before those two: dw[e, m, n] has one an expert. Also a row of /samples/NAME in a file. */
struct sb_block {
    int64_t plane, row, row_end, column, column_end;
};

/* Where the data hold blocks of an output alone, because the whole is too large to compute or to store on a CPU. All
 * blocks have one size; they may overlap. samples.h works with them. */
struct sb_samples {
    struct sb_tensor whole; /* the output as an implementation writes it; data == NULL */
    int64_t count;          /* 0: the data hold the whole output */
    struct sb_block *block; /* owned (malloc) */
};

/* The tensors of one case, in host memory. Inputs and outputs stand in the order of op->inputs and
 * op->outputs; an optional tensor that the case lacks has its name, data == NULL and rank 0. Owns `data` (malloc). */
struct sb_data {
    struct sb_tensor in[SB_MAX_TENSORS];
    struct sb_tensor out[SB_MAX_TENSORS];      /* of a sampled output: [samples.count, rows, columns], block by block */
    struct sb_samples samples[SB_MAX_TENSORS]; /* of the outputs */
    struct sb_status status;                   /* the reference's */
};

/* Empties `d` and names its inputs, so that an absent one can be told by name. generate() begins with it. */
void sb_data_start(struct sb_data *d, const struct sb_op *op);
void sb_data_free(struct sb_data *d);
void sb_data_free_outputs(struct sb_data *d);     /* the outputs and their samples alone */
void sb_tensors_free(struct sb_tensor *t, int n); /* frees data, sets it NULL */
/* Sets up a dense tensor and allocates it (at least one byte). False with err when memory is short. */
bool sb_tensor_alloc(struct sb_tensor *t, const char *name, enum sb_dtype dtype, int rank, const int64_t *shape,
                     struct sb_error *err);

/* The same for a rank-2-or-more tensor with strides (in elements; 0: dense, 1). Every byte of the span starts as
 * SB_GAP_BYTE, so what is not written afterwards is a gap. */
bool sb_tensor_alloc_strided(struct sb_tensor *t, const char *name, enum sb_dtype dtype, int rank, const int64_t *shape,
                             int64_t row_stride, int64_t col_stride, struct sb_error *err);
enum { SB_GAP_BYTE = 0xA5 };
/* Describes an output that has no bytes: the buffer a rejected call would have been given. */
void sb_tensor_describe(struct sb_tensor *t, const char *name, enum sb_dtype dtype, int rank, const int64_t *shape);

/* Elements from which on generating in parallel pays: below, waking the threads costs more. */
enum { SB_PARALLEL_FROM = 1 << 14 };

struct sb_tensor_spec {
    const char *name;        /* the contract's name; HDF5 dataset name */
    const char *description; /* one line: meaning, units; goes into the file */
    bool optional;
};

/* A size that follows from the parameters (T of a jagged axis, S of a column count), so that a reader of a golden
 * file finds every name of the contract as a root attribute. */
struct sb_derived {
    const char *name; /* the contract's name, static storage; never the name of a parameter */
    int64_t value;
};
enum { SB_MAX_DERIVED = 8 };

/* ---- the op ------------------------------------------------------------------------------------- */

struct sb_op {
    const char *name;
    const char *contract; /* "e8m0_upcast"; for wgrad also names the arithmetic: "wgrad_varlen_k/tc-bf16-k16-f25" */
    int contract_version;
    const char *summary;                  /* one line for `list` and `info` */
    const struct sb_param_spec *params;   /* ends with name == NULL */
    const struct sb_tensor_spec *inputs;  /* ends with name == NULL */
    const struct sb_tensor_spec *outputs; /* ends with name == NULL */
    const struct sb_case_row *cases;      /* ends with call == NULL */

    /* Checks that need several parameters together (sizes, combinations): false with err = what to change. */
    bool (*validate)(const struct sb_case *c, struct sb_error *err);

    /* Fills d->in from the seed. Strided tensors are allocated with their gaps; a gap holds 0xA5 bytes. */
    bool (*generate)(const struct sb_case *c, struct sb_data *d, struct sb_error *err);

    /* Computes d->out, d->samples and d->status from d->in with the reference. On a rejection d->out describes buffers
     * of the largest size the call could have written, with data == NULL, and nothing is sampled. */
    bool (*reference)(const struct sb_case *c, struct sb_data *d, struct sb_error *err);

    /* Optional. Which blocks of output `index` an accepted call's data hold, from the case alone. Leaves `s` as it is,
     * all zero, where they hold the whole output. */
    bool (*samples)(const struct sb_case *c, int index, struct sb_samples *s, struct sb_error *err);

    /* Optional. Computes one block of output `index` of an accepted call with the reference, from d->in, to `packed`,
     * dense: any place, not those of samples alone. */
    bool (*reference_block)(const struct sb_case *c, const struct sb_data *d, int index, const struct sb_block *block,
                            void *packed, struct sb_error *err);

    /* Optional. Do `out` (same order as d->out, host memory) satisfy the contract's relations, in whatever
     * order? Says so, or names the first violation in `why`. */
    bool (*relations)(const struct sb_case *c, const struct sb_data *d, const struct sb_tensor *out, char *why,
                      size_t why_size);

    /* Optional. The id of a call to be made first in the same buffers (a large call, then this one), or NULL. */
    const char *(*prelude)(const struct sb_case *c, char *id, size_t size);

    /* Optional, called before validate(). Gives a parameter that stands for "the natural size" (R=-1) the number
     * meant, in `value` alone: text and id keep what was written. Never called twice for one case. */
    void (*resolve)(struct sb_case *c);

    /* Optional. Sizes known from the parameters alone, each written as one more i64 root attribute. Fills at most
     * `max` entries of `out` and returns how many. Sizes that depend on drawn values (TK, TKP) are outputs. */
    int (*derived)(const struct sb_case *c, struct sb_derived *out, int max);

    /* Optional. Bytes, 0..15, that an implementation is given input `index` (or that output) past a 16-byte boundary;
     * without it every tensor starts on one. The reference's result does not depend on it, except where the contract
     * demands an alignment: there the reference is handed such an address too. */
    int (*misalign)(const struct sb_case *c, bool output, int index);
};

int sb_op_input_count(const struct sb_op *op);
int sb_op_output_count(const struct sb_op *op);

/* The ops a program knows, joined in harness/ops.c and handed down: golden/ holds no list of its own. */
struct sb_op_list {
    const struct sb_op *const *op;
    int count;
};

/* ---- case.c ------------------------------------------------------------------------------------- */

/* Reads "op/name=value,..." in any order, fills in defaults, checks ranges and validate(), makes the canonical
 * id and the seed. An unknown op, parameter or choice is SB_EXIT_BAD_INPUT and names near misses. A call that a
 * suite lists gets that row's reason and suites. */
bool sb_case_parse(struct sb_case *c, const struct sb_op_list *ops, const char *id, struct sb_error *err);

/* Row `i` of op->cases as a case. */
bool sb_case_from_row(struct sb_case *c, const struct sb_op *op, int i, struct sb_error *err);

/* Prints the canonical id of c->op and c->param. False when it does not fit. */
bool sb_case_print(const struct sb_case *c, char *id, size_t size);

/* A number from 0 to `limit` at the start of `text`, in the one way it is written: no sign, no leading zero. Returns
 * what follows it, or NULL. For values of kind TEXT. */
const char *sb_read_length(const char *text, int64_t limit, int64_t *value);

/* Edit distance, for near misses. */
int sb_edit_distance(const char *a, const char *b);

#endif
