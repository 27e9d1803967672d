/* interrupt.c - SIGINT and SIGTERM as a flag. */
#include "interrupt.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t arrived;

static void on_signal(int number)
{
    arrived = number;
}

void sb_interrupt_install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGPIPE, &action, NULL);
}

int sb_interrupted(void)
{
    return arrived;
}

int sb_interrupt_status(void)
{
    return 128 + arrived;
}
