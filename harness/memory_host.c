/* memory_host.c - host memory in the place of a device's. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *host_allocate(size_t bytes)
{
    const size_t alignment = 256;
    return aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
}

static bool host_copy(void *to, const void *from, size_t bytes, struct sb_error *err)
{
    (void)err;
    memcpy(to, from, bytes);
    return true;
}

static bool host_fill(void *p, int byte, size_t bytes, struct sb_error *err)
{
    (void)err;
    memset(p, byte, bytes);
    return true;
}

static bool host_synchronise(struct sb_error *err)
{
    (void)err;
    return true;
}

static const char *host_error_text(int code)
{
    return code == 0 ? "no error" : "host error";
}

static int64_t host_launches(void)
{
    return -1;
}

/* ---- time ----------------------------------------------------------------------------------------- */

static double span_begin, span_end;

static bool now(double *seconds, struct sb_error *err)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return sb_fail(err, SB_EXIT_MISMATCH, "no monotonic clock");
    *seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    return true;
}

static bool host_time_begin(const struct sb_memory *m, struct sb_error *err)
{
    (void)m;
    return now(&span_begin, err);
}

static bool host_time_end(const struct sb_memory *m, struct sb_error *err)
{
    (void)m;
    return now(&span_end, err);
}

static bool host_time_read(const struct sb_memory *m, double *seconds, struct sb_error *err)
{
    (void)m;
    (void)err;
    *seconds = span_end - span_begin;
    return true;
}

struct sb_memory sb_memory_host(void)
{
    return (struct sb_memory){.allocate = host_allocate,
                              .release = free,
                              .upload = host_copy,
                              .download = host_copy,
                              .fill = host_fill,
                              .synchronise = host_synchronise,
                              .error_text = host_error_text,
                              .launches = host_launches,
                              .time_begin = host_time_begin,
                              .time_end = host_time_end,
                              .time_read = host_time_read,
                              .stream = NULL,
                              .compute_capability = 0};
}
