/* bench_clock.c - see bench_clock.h. The library is opened at run time: a build needs nothing of it, and what is used
 * are four functions and a few constants of its documented interface. */
#include "bench_clock.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1 };

static struct {
    void *gpu; /* nvmlDevice_t, or NULL */
    int (*clock)(void *gpu, int type, unsigned *mhz);
    int (*reasons)(void *gpu, unsigned long long *bits);
    int readings;
    unsigned lowest, highest;
    unsigned long long slowed_by;
} nvml;

/* dlsym returns an object pointer; POSIX says that it can be a function's. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

void sb_bench_clock_of(const char *pci)
{
    int (*start)(void);
    int (*by_address)(const char *, void **);
    nvml.gpu = NULL;
    void *library = pci[0] != '\0' ? dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL || !find(library, "nvmlInit_v2", &start) ||
        !find(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_address) ||
        !find(library, "nvmlDeviceGetClockInfo", &nvml.clock) ||
        !find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.reasons))
        return;
    if (start() != NVML_SUCCESS || by_address(pci, &nvml.gpu) != NVML_SUCCESS)
        nvml.gpu = NULL;
}

void sb_bench_clock_start(void)
{
    nvml.readings = 0;
    nvml.slowed_by = 0;
}

void sb_bench_clock_read(void)
{
    unsigned mhz = 0;
    unsigned long long bits = 0;
    if (nvml.gpu == NULL || nvml.clock(nvml.gpu, NVML_CLOCK_SM, &mhz) != NVML_SUCCESS)
        return;
    if (nvml.reasons(nvml.gpu, &bits) == NVML_SUCCESS)
        nvml.slowed_by |= bits;
    nvml.lowest = nvml.readings == 0 || mhz < nvml.lowest ? mhz : nvml.lowest;
    nvml.highest = nvml.readings == 0 || mhz > nvml.highest ? mhz : nvml.highest;
    nvml.readings++;
}

const char *sb_bench_clock_text(char *buf, size_t size)
{
    static const struct {
        unsigned long long bit;
        const char *name;
    } reasons[] = {{0x02, "clock setting"},    {0x04, "power cap"},          {0x08, "hardware slowdown"},
                   {0x20, "thermal (driver)"}, {0x40, "thermal (hardware)"}, {0x80, "power brake"}};
    buf[0] = '\0';
    if (nvml.readings == 0) {
        snprintf(buf, size, "SM clock not recorded: %s",
                 nvml.gpu == NULL ? "the driver's management library does not give it" : "no run was long enough");
        return buf;
    }
    sb_append(buf, size, "SM clock %u to %u MHz in %d readings during runs", nvml.lowest, nvml.highest, nvml.readings);
    bool any = false;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if ((nvml.slowed_by & reasons[i].bit) != 0) {
            sb_append(buf, size, "%s%s", any ? ", " : "; slowed by: ", reasons[i].name);
            any = true;
        }
    return buf;
}
