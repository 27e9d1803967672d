/* bench_machine.c - processors, threads and the build. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "bench_machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

const char *sb_bench_cpu_name(char *buf, size_t size)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(buf, size, "unnamed processor"); /* many an aarch64 has no "model name" */
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) != 0 || value == NULL)
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(buf, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (f != NULL)
        fclose(f);
    return buf;
}

/* ---- processors ------------------------------------------------------------------------------------------------- */

int sb_bench_processors(void)
{
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

/* The lowest of the processors that share a core with this one, or -1. */
static int first_of_core(int processor)
{
    char path[96], list[64] = "";
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", processor);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return -1;
    const bool any = fgets(list, sizeof list, f) != NULL;
    fclose(f);
    return any && list[0] >= '0' && list[0] <= '9' ? (int)strtol(list, NULL, 10) : -1;
}

int sb_bench_cores(void)
{
    if (!sb_bench_has_openmp())
        return 1;
    cpu_set_t mine, core;
    CPU_ZERO(&mine);
    CPU_ZERO(&core);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        return 0;
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET((size_t)i, &mine))
            continue;
        const int first = first_of_core(i);
        if (first < 0 || first >= CPU_SETSIZE)
            return 0;
        CPU_SET((size_t)first, &core);
    }
    return CPU_COUNT(&core);
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

int sb_bench_use_threads(int threads)
{
    int found = 1;
#ifdef _OPENMP
    static int before;
    /* Or the threads of a wider region wait for the next one, running, beside what is timed. */
    if (threads != before)
        omp_pause_resource_all(omp_pause_soft);
    before = threads;
    omp_set_dynamic(0);
    omp_set_max_active_levels(1);
    omp_set_num_threads(threads);
#pragma omp parallel
#pragma omp single
    found = omp_get_num_threads();
#else
    (void)threads;
#endif
    return found;
}

bool sb_bench_has_openmp(void)
{
#ifdef _OPENMP
    return true;
#else
    return false;
#endif
}

/* ---- what disturbs ---------------------------------------------------------------------------------------------- */

const char *sb_bench_build_flaw(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return "built with sanitizers";
#elif !defined(__OPTIMIZE__)
    return "built without optimisation";
#else
    return NULL;
#endif
}

double sb_bench_load_before(void)
{
    static double load;
    static bool asked;
    if (!asked && getloadavg(&load, 1) != 1)
        load = -1;
    asked = true;
    return load;
}
