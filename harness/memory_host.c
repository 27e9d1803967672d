/* memory_host.c - host memory in the place of a device's. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

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
                              .stream = NULL,
                              .compute_capability = 0};
}
