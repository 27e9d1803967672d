/* probe_wgrad.h - the vector paths of wgrad_varlen_k as arithmetics to probe. */
#ifndef SAMEBITS_HARNESS_PROBE_WGRAD_H
#define SAMEBITS_HARNESS_PROBE_WGRAD_H

#include "../ref/wgrad_varlen_k_fast.h"
#include "probe_impl.h"

enum { SB_PROBE_WGRAD_ROWS = 16, SB_PROBE_WGRAD_COLS = 8 };

/* impl->number is the enum sb_wgrad_path. */
bool sb_probe_wgrad_available(const struct sb_probe_impl *impl, char *text, size_t size);

/* A c that is infinite, a NaN or -0 cannot be made: those dot products are skipped. */
bool sb_probe_wgrad_run(const struct sb_probe_impl *impl, const struct sb_probe_batch *batch, uint32_t *d,
                        uint8_t *skipped, struct sb_error *err);

#endif
