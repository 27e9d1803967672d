/* build_info.c - the build and the machine, in words. */
#include "build_info.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "commit.h"
#include "device.h"
#include "text.h"

#ifndef SAMEBITS_VERSION
#define SAMEBITS_VERSION "unknown"
#endif
#ifndef SAMEBITS_C_COMPILER
#define SAMEBITS_C_COMPILER "unknown"
#endif
#ifndef SAMEBITS_CUDA_COMPILER
#define SAMEBITS_CUDA_COMPILER "none"
#endif

const char *sb_host_text(char *buf, size_t size)
{
    struct utsname u;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (uname(&u) != 0)
        snprintf(buf, size, "unknown machine, %ld processors", processors);
    else
        snprintf(buf, size, "%.40s %.40s, %.30s, %ld processors", u.sysname, u.release, u.machine, processors);
    return buf;
}

void sb_build_info(struct sb_report *r, const struct sb_op_table *table)
{
    const time_t now = time(NULL);
    struct tm utc;
    snprintf(r->version, sizeof r->version, "%s", SAMEBITS_VERSION);
    snprintf(r->commit, sizeof r->commit, "%s", SAMEBITS_COMMIT);
    snprintf(r->compiler, sizeof r->compiler, "%s", SAMEBITS_C_COMPILER);
    snprintf(r->cuda_compiler, sizeof r->cuda_compiler, "%s", SAMEBITS_CUDA_COMPILER);
    snprintf(r->targets, sizeof r->targets, "%s", sb_compiled_targets());
    for (int i = 0; i < table->list.count; i++)
        sb_append(r->contracts, sizeof r->contracts, "%s%s %d", i > 0 ? ", " : "", table->list.op[i]->contract,
                  table->list.op[i]->contract_version);
    sb_device_driver(r->driver, sizeof r->driver);
    sb_host_text(r->host, sizeof r->host);
    if (gmtime_r(&now, &utc) != NULL)
        strftime(r->started, sizeof r->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
}
