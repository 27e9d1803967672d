/* bench_clock.h - how fast a GPU's clock ran and what slowed it, as NVIDIA's management library tells it. The library
 * comes with the driver; where it is not there, that is what is said. */
#ifndef SAMEBITS_HARNESS_BENCH_CLOCK_H
#define SAMEBITS_HARNESS_BENCH_CLOCK_H

#include <stddef.h>

/* Readings are those of the GPU at this PCI address from here on. "": of none. */
void sb_bench_clock_of(const char *pci);

/* Forgets all readings. */
void sb_bench_clock_start(void);
/* Takes one; call it while the GPU works. */
void sb_bench_clock_read(void);

/* "SM clock 1410 to 1980 MHz in 214 readings during runs; slowed by: power cap", or that it was not recorded. Returns
 * buf. */
const char *sb_bench_clock_text(char *buf, size_t size);

#endif
