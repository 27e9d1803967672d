/* text.c - small helpers for names and messages. */
#include "text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../golden/op.h"

void sb_append(char *buf, size_t size, const char *format, ...)
{
    const size_t used = strnlen(buf, size);
    if (used + 1 >= size)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(buf + used, size - used, format, args);
    va_end(args);
}

void sb_append_line(char *buf, size_t size, const char *format, ...)
{
    if (buf[0] != '\0')
        sb_append(buf, size, "\n");
    const size_t used = strnlen(buf, size);
    if (used + 1 >= size)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(buf + used, size - used, format, args);
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

void sb_near_offer(struct sb_near *near, const char *name)
{
    int distance = sb_edit_distance(near->wanted, name);
    /* Part of a long id: nearer than the letters it leaves out say. */
    if (strlen(near->wanted) >= 3 && strstr(name, near->wanted) != NULL)
        distance = 1;
    /* A third of the letters wrong is no longer a slip of the finger. */
    if (distance > 1 + (int)strlen(near->wanted) / 3)
        return;
    for (int i = 0; i < SB_NEAR; i++)
        if (near->name[i] == NULL || distance < near->distance[i]) {
            for (int k = SB_NEAR - 1; k > i; k--) {
                near->name[k] = near->name[k - 1];
                near->distance[k] = near->distance[k - 1];
            }
            near->name[i] = name;
            near->distance[i] = distance;
            return;
        }
}

const char *sb_near_text(const struct sb_near *near, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int i = 0; i < SB_NEAR && near->name[i] != NULL; i++)
        sb_append(buf, size, "%s%s", i == 0 ? "; nearest: " : ", ", near->name[i]);
    return buf;
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
