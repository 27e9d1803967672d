/* error.c - see error.h. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool sb_fail(struct sb_error *err, enum sb_exit exit, const char *format, ...)
{
    /* Formatted aside first: an argument may point into err->text. */
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(err->text, text, sizeof text);
    err->exit = exit;
    return false;
}

static void append(char *text, size_t *used, size_t size, const char *more)
{
    while (*more != '\0' && *used + 1 < size)
        text[(*used)++] = *more++;
    text[*used] = '\0';
}

bool sb_fail_context(struct sb_error *err, const char *format, ...)
{
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    const int written = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t used = written < 0 ? 0 : (size_t)written;
    if (used >= sizeof text)
        used = sizeof text - 1;
    /* Cut at the end where both do not fit: the context, which names the file or case, comes first. */
    append(text, &used, sizeof text, ": ");
    append(text, &used, sizeof text, err->text);
    memcpy(err->text, text, sizeof text);
    return false;
}
