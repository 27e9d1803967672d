/* interrupt.h - SIGINT and SIGTERM as a flag: finish tidily, without a verdict. */
#ifndef SAMEBITS_HARNESS_INTERRUPT_H
#define SAMEBITS_HARNESS_INTERRUPT_H

/* Installs the handlers; a closed pipe becomes an error instead of a signal. A second interrupt ends the program at
 * once, as usual. */
void sb_interrupt_install(void);
/* The signal that arrived, or 0. */
int sb_interrupted(void);
/* Exit status for it: 130 after SIGINT, 143 after SIGTERM. */
int sb_interrupt_status(void);

#endif
