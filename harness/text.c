/* text.c - small helpers for names and messages. */
#include "text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../reports/text.h"

static void append_arguments(char *buf, size_t size, const char *format, va_list args)
{
    const size_t used = strnlen(buf, size);
    if (used + 1 < size)
        vsnprintf(buf + used, size - used, format, args);
}

void sb_append(char *buf, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append_arguments(buf, size, format, args);
    va_end(args);
}

void sb_append_line(char *buf, size_t size, const char *format, ...)
{
    if (buf[0] != '\0')
        sb_append(buf, size, "\n");
    va_list args;
    va_start(args, format);
    append_arguments(buf, size, format, args);
    va_end(args);
}

bool sb_next_word(const char **cursor, char separator, char *word, size_t size)
{
    const char *p = *cursor;
    while (*p == separator)
        p++;
    if (*p == '\0')
        return false;
    const char *end = strchr(p, separator);
    const size_t length = end != NULL ? (size_t)(end - p) : strlen(p);
    snprintf(word, size, "%.*s", (int)(length < INT_MAX ? length : INT_MAX), p);
    *cursor = p + length;
    return true;
}

bool sb_word_in(const char *list, const char *word)
{
    char each[256];
    for (const char *cursor = list; sb_next_word(&cursor, ',', each, sizeof each);)
        if (strcmp(each, word) == 0)
            return true;
    return false;
}

const char *sb_near_text(const struct sb_near *near, char *buf, size_t size)
{
    char names[1024];
    buf[0] = '\0';
    if (sb_near_list(near, names, sizeof names)[0] != '\0')
        sb_append(buf, size, "; nearest: %s", names);
    return buf;
}

void sb_print_line(FILE *f, const char *format, ...)
{
    char text[8192];
    struct sb_page page = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sb_page_shown(&page, text, sizeof text, SB_NEWLINE_SHOWN);
    sb_page_text(&page, "\n");
    fputs(page.failed ? "(out of memory)\n" : page.data, f);
    sb_page_free(&page);
}

const char *sb_shell_quote(const char *text, char *buf, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=,./:";
    size_t needed = 3; /* two quotes and the end */
    for (const char *p = text; *p != '\0'; p++)
        needed += *p == '\'' ? 4 : 1;
    if (needed > size)
        return NULL;
    buf[0] = '\0';
    if (text[0] != '\0' && strspn(text, plain) == strlen(text)) {
        sb_append(buf, size, "%s", text);
        return buf;
    }
    sb_append(buf, size, "'");
    for (const char *p = text; *p != '\0'; p++)
        if (*p == '\'')
            sb_append(buf, size, "'\\''");
        else
            sb_append(buf, size, "%c", *p);
    sb_append(buf, size, "'");
    return buf;
}
