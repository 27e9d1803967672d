/* variant.c - lookups in a call by name; and, in a build without CUDA, the answers that are left. */
#include "variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An adapter asked for something that its op's calls do not carry: a mistake in the program, not in its input. */
static _Noreturn void no_such_name(const char *what, const char *name)
{
    fprintf(stderr, "samebits: the call has no %s \"%s\"\n", what, name);
    abort();
}

static const struct sb_tensor *find_tensor(const struct sb_tensor *tensors, int count, const char *what,
                                           const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(tensors[i].name, name) == 0)
            return &tensors[i];
    no_such_name(what, name);
}

const struct sb_tensor *sb_call_in(const struct sb_gpu_call *call, const char *name)
{
    return find_tensor(call->in, call->n_in, "input", name);
}

const struct sb_tensor *sb_call_out(const struct sb_gpu_call *call, const char *name)
{
    return find_tensor(call->out, call->n_out, "output", name);
}

int64_t sb_call_int(const struct sb_gpu_call *call, const char *name)
{
    for (int i = 0; i < call->n_scalar; i++)
        if (strcmp(call->scalar[i].name, name) == 0)
            return call->scalar[i].value;
    no_such_name("scalar", name);
}

#ifndef SAMEBITS_HAVE_CUDA
int64_t sb_gpu_launches(void)
{
    return 0;
}

int sb_gpu_image_check(void)
{
    return 209; /* cudaErrorNoKernelImageForDevice: this build holds no image at all */
}
#endif
