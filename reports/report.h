/* report.h - the report model: what ran, what it found, what did not run. Knows nothing of how results were made. */
#ifndef SAMEBITS_REPORTS_REPORT_H
#define SAMEBITS_REPORTS_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* In order of severity: the worst outcome of a set is the largest. */
enum sb_outcome {
    SB_PASS,    /* executed, every byte compared and equal */
    SB_SKIP,    /* this GPU or this call cannot, with the reason */
    SB_NOT_RUN, /* another machine, build or choice of options could have, with the reason */
    SB_FAIL,    /* executed and wrong, crashed, hung, or overran */
    SB_OUTCOME_COUNT
};
const char *sb_outcome_name(enum sb_outcome outcome); /* "PASS", "SKIP", "NOT RUN", "FAIL"; anything else: "FAIL" */

enum { SB_MAX_SAMPLES = 8 };

struct sb_sample {
    char index[64];                /* "[e=1, m=0, n=17]" or "[4711]" */
    char expected[64], actual[64]; /* hex and number: "0x3f800000 (1)" */
    char distance[32];             /* units in the last place, or "" */
};

struct sb_result {
    char case_id[256];
    char op[32];
    char variant[32]; /* "ref", "relations", "fused", ... */
    char device[96];  /* "cpu", or "0: NVIDIA H200 (sm_90)" */
    enum sb_outcome outcome;
    char judge[96]; /* what it was compared with: "stored golden", "committed digests", "reference", "reference,
                     * digests confirmed", "relations", the same with "sampled" where samples are all that is known, or
                     * "device judge, held to the sampled golden": all of it, see sb_by_device_judge() */
    char
        sampled[96]; /* what was compared of outputs too large for a CPU: "128 tiles of 64x64, 0.26 % of dw"; "": all */
    char not_whole[160]; /* with `sampled`: why no device judge vouched for the rest, though the op has one; or "" */
    char detail[1024];   /* FAIL: what beside `tensor` and its fellows, in lines; SKIP, NOT RUN: why; empty for PASS */
    int64_t bytes_compared;       /* status word included: a call with empty outputs still compares that */
    int64_t elements, mismatches; /* of the first tensor that differs */
    char tensor[40];              /* that tensor, or "" */
    char pattern[160];            /* a hint: "one row: e=1 m=3", ... */
    struct sb_sample sample[SB_MAX_SAMPLES];
    int samples;
    int64_t ignored_ids; /* warnings of the op */
    int64_t launches;    /* kernels launched by one call; -1 unknown */
    double seconds;      /* wall time of executing and comparing, not a benchmark; negative or NaN: not known */
    char repeat[512];    /* the command that repeats only this */
};

/* One line of the ledger: a path and what became of it. */
struct sb_ledger {
    char op[32], variant[32], target[24]; /* target: "sm_90a", "cpu", ... */
    bool compiled;
    int64_t executed, passed, failed; /* cases, here */
    char note[160];                   /* why not, where executed == 0 */
};

struct sb_report {
    char version[32], commit[48]; /* commit ends in "-dirty" where the tree was */
    char compiler[96], cuda_compiler[96], targets[256];
    char contracts[256]; /* "e8m0_upcast 1, ..." */
    char suites[128], device[256], driver[64], host[128], started[32];
    char command[512];
    int results, ledgers;
    struct sb_result *result;
    struct sb_ledger *ledger;
    int64_t count[SB_OUTCOME_COUNT];
    int exit_status;
    char verdict[512]; /* one line */
    bool finished;     /* false: the run was cut short, no verdict */
};

/* What a result counts as. A PASS is believed only where it compared at least one byte and found no mismatch;
 * any other PASS, and any value outside the enum, is a FAIL. */
enum sb_outcome sb_result_outcome(const struct sb_result *result);
/* Makes a result honest in place: the outcome above (with what was wrong put in front of `detail`), every text
 * terminated, `samples` in 0..SB_MAX_SAMPLES, unknown seconds -1. sb_report_add, sb_jsonl_result, the JSON Lines
 * reader and the renderers all see results through this. */
void sb_result_settle(struct sb_result *result);

/* Was anything compared, and with all of the outputs of a judge on the device that are held to samples of the
 * reference? */
bool sb_by_device_judge(const struct sb_result *result);

/* A report starts as {0}. Free leaves it so. Add copies (result: settled) and keeps `count`; the arrays grow only
 * here, so do not allocate them elsewhere. False: no memory, the report is unchanged. */
void sb_report_free(struct sb_report *r);
bool sb_report_add(struct sb_report *r, const struct sb_result *result);
bool sb_report_add_ledger(struct sb_report *r, const struct sb_ledger *ledger);

/* JSON Lines (every record and field: schema.md): {"record":"begin",...}, one {"record":"result",...} a line flushed
 * as it comes, {"record":"ledger",...} lines, and last {"record":"end","exit_status":..,"verdict":..}. No end record,
 * no verdict. Bytes that are not UTF-8 are written as U+FFFD. A failed write shows in ferror(f). */
void sb_jsonl_begin(FILE *f, const struct sb_report *r);
void sb_jsonl_result(FILE *f, const struct sb_result *result);
/* The ledger lines and, only where r->finished, the end record, which counts the results and ledger lines of `r`. */
void sb_jsonl_end(FILE *f, const struct sb_report *r);
/* Reads a JSON Lines report back into *r (overwritten, not freed first; the caller frees it). False with a text in
 * `why` and *r empty: a bad line, no begin record, a newer format, or an end record that counts other lines than the
 * file has. finished is false where the end record is missing; a last line cut in the middle is then left out. */
bool sb_jsonl_read(FILE *f, struct sb_report *r, char *why, size_t why_size);
/* One result from one line, as sb_jsonl_result writes it. */
bool sb_jsonl_parse_result(const char *line, struct sb_result *result, char *why, size_t why_size);

/* Markdown for a pull request: failures first, then the ledger of what was not executed, then the passes folded.
 * Never above `limit` bytes (GitHub: 65536 for a comment): cut with a count of what was left out. False, with nothing
 * written, where not even the verdict fits or memory ran out; false too where writing failed. */
bool sb_markdown(FILE *f, const struct sb_report *r, size_t limit);

/* The terminal: one block a failure (bounded), a table of op x variant, the ledger, the verdict with the meaning of
 * the exit status as the last line. */
void sb_terminal(FILE *f, const struct sb_report *r, bool colour);
void sb_terminal_failure(FILE *f, const struct sb_result *result, bool colour);

#endif
