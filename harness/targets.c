/* targets.c - names of CUDA targets; needs no CUDA. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#ifndef SAMEBITS_CUDA_TARGETS
#define SAMEBITS_CUDA_TARGETS ""
#endif

bool sb_have_cuda(void)
{
#ifdef SAMEBITS_HAVE_CUDA
    return true;
#else
    return false;
#endif
}

const char *sb_compiled_targets(void)
{
    static char list[256];
    if (list[0] == '\0') {
        snprintf(list, sizeof list, "%s", SAMEBITS_CUDA_TARGETS);
        for (char *p = list; *p != '\0'; p++)
            if (*p == ';') /* CMake's separator */
                *p = ',';
    }
    return list;
}

/* "sm_103f" -> 103, suffix 'f' ('\0' where there is none). */
static int target_number(const char *target, char *suffix)
{
    char *end = NULL;
    const long number = strncmp(target, "sm_", 3) == 0 ? strtol(target + 3, &end, 10) : 0;
    *suffix = end != NULL ? *end : '\0';
    return (int)number;
}

const char *sb_target_of(int compute_capability, char *buf, size_t size)
{
    char word[32], suffix;
    for (const char *cursor = sb_compiled_targets(); sb_next_word(&cursor, ',', word, sizeof word);)
        if (target_number(word, &suffix) == compute_capability) {
            snprintf(buf, size, "%s", word);
            return buf;
        }
    snprintf(buf, size, "sm_%d", compute_capability);
    return buf;
}

static bool target_covers(const char *target, int compute_capability)
{
    char suffix;
    const int number = target_number(target, &suffix);
    const bool same_major = number / 10 == compute_capability / 10 && compute_capability >= number;
    return suffix == 'a' ? number == compute_capability : same_major;
}

bool sb_targets_cover(const char *targets, int compute_capability)
{
    char word[32];
    if (strcmp(targets, "any") == 0)
        return true;
    for (const char *cursor = targets; sb_next_word(&cursor, ',', word, sizeof word);)
        if (target_covers(word, compute_capability))
            return true;
    return false;
}
