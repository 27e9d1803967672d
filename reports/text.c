/* text.c - growing text, and texts from elsewhere made fit to show. */
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

void sb_page_free(struct sb_page *p)
{
    free(p->data);
    memset(p, 0, sizeof *p);
}

void sb_page_cut(struct sb_page *p, size_t size)
{
    if (size >= p->size)
        return;
    p->size = size;
    p->data[size] = '\0';
}

static bool make_room(struct sb_page *p, size_t more)
{
    if (p->failed)
        return false;
    if (more < p->room - p->size) /* strictly: the terminating zero */
        return true;
    size_t room = p->room < 512 ? 512 : p->room;
    while (room - p->size <= more)
        room *= 2;
    char *const larger = realloc(p->data, room);
    if (larger == NULL) {
        p->failed = true;
        return false;
    }
    p->data = larger;
    p->room = room;
    return true;
}

void sb_page_bytes(struct sb_page *p, const char *bytes, size_t size)
{
    if (!make_room(p, size))
        return;
    if (size > 0)
        memcpy(p->data + p->size, bytes, size);
    p->size += size;
    p->data[p->size] = '\0';
}

void sb_page_text(struct sb_page *p, const char *text)
{
    sb_page_bytes(p, text, strlen(text));
}

void sb_page_join(struct sb_page *p, const struct sb_page *other)
{
    if (other->failed)
        p->failed = true;
    sb_page_bytes(p, other->data, other->size);
}

void sb_page_format(struct sb_page *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0)
        p->failed = true;
    if (size < 0 || !make_room(p, (size_t)size))
        return;
    va_start(arguments, format);
    vsnprintf(p->data + p->size, (size_t)size + 1, format, arguments);
    va_end(arguments);
    p->size += (size_t)size;
}

void sb_page_spaces(struct sb_page *p, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        sb_page_bytes(p, " ", 1);
}

size_t sb_utf8_character(const char *text, size_t size, uint32_t *code_point)
{
    if (size == 0)
        return 0;
    const unsigned char lead = (unsigned char)text[0];
    *code_point = lead;
    if (lead < 0x80)
        return 1;
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || length > size)
        return 0;
    uint32_t value = lead & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        const unsigned char next = (unsigned char)text[i];
        if ((next & 0xC0) != 0x80)
            return 0;
        value = (value << 6) | (next & 0x3Fu);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000}; /* below: an overlong form */
    if (value < smallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *code_point = value;
    return length;
}

bool sb_is_showable(uint32_t code_point)
{
    const bool control = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
    const bool direction = code_point == 0x061C || code_point == 0x200E || code_point == 0x200F ||
                           (code_point >= 0x202A && code_point <= 0x202E) ||
                           (code_point >= 0x2066 && code_point <= 0x2069);
    const bool separator = code_point == 0x2028 || code_point == 0x2029;
    return !control && !direction && !separator;
}

void sb_utf8_copy(char *to, size_t size, const char *from)
{
    size_t used = 0;
    const size_t end = strlen(from);
    for (size_t i = 0; i < end;) {
        uint32_t code_point;
        size_t length = sb_utf8_character(from + i, end - i, &code_point);
        const char *const bytes = length > 0 ? from + i : replacement;
        const size_t added = length > 0 ? length : strlen(replacement);
        if (used + added >= size)
            break;
        memcpy(to + used, bytes, added);
        used += added;
        i += length > 0 ? length : 1;
    }
    if (size > 0)
        to[used] = '\0';
}

static void show_control(struct sb_page *p, uint32_t code_point)
{
    if (code_point == '\n')
        sb_page_text(p, "\\n");
    else if (code_point == '\t')
        sb_page_text(p, "\\t");
    else if (code_point == '\r')
        sb_page_text(p, "\\r");
    else if (code_point < 0x80)
        sb_page_format(p, "\\x%02" PRIx32, code_point);
    else
        sb_page_text(p, replacement);
}

void sb_page_shown(struct sb_page *p, const char *text, size_t limit, int indent)
{
    const size_t end = strlen(text);
    size_t i = 0;
    while (i < end) {
        uint32_t code_point = 0;
        const size_t length = sb_utf8_character(text + i, end - i, &code_point);
        if (i + (length > 0 ? length : 1) > limit)
            break;
        if (length == 0) {
            sb_page_text(p, replacement);
        } else if (code_point == '\n' && indent >= 0) {
            sb_page_text(p, "\n");
            sb_page_spaces(p, indent);
        } else if (sb_is_showable(code_point)) {
            sb_page_bytes(p, text + i, length);
        } else {
            show_control(p, code_point);
        }
        i += length > 0 ? length : 1;
    }
    if (i < end)
        sb_page_format(p, " ... (%zu more bytes)", end - i);
}

int64_t sb_shown_width(const char *text)
{
    int64_t width = 0;
    const size_t end = strlen(text);
    for (size_t i = 0; i < end;) {
        uint32_t code_point = 0;
        const size_t length = sb_utf8_character(text + i, end - i, &code_point);
        const bool escaped = length > 0 && code_point < 0x80 && !sb_is_showable(code_point);
        const bool named = code_point == '\n' || code_point == '\t' || code_point == '\r';
        width += !escaped ? 1 : named ? 2 : 4;
        i += length > 0 ? length : 1;
    }
    return width;
}

void sb_page_cell(struct sb_page *p, const char *text, int64_t width, bool right)
{
    const int64_t padding = width - sb_shown_width(text);
    if (right)
        sb_page_spaces(p, padding);
    sb_page_shown(p, text, SIZE_MAX, SB_NEWLINE_SHOWN);
    if (!right)
        sb_page_spaces(p, padding);
}

struct sb_number sb_count(int64_t value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    struct sb_number number = {""};
    const size_t sign = digits[0] == '-';
    const size_t length = strlen(digits);
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > sign && (length - i) % 3 == 0)
            number.text[used++] = ',';
        number.text[used++] = digits[i];
    }
    number.text[used] = '\0';
    return number;
}

struct sb_number sb_count_or_dash(int64_t value)
{
    if (value != 0)
        return sb_count(value);
    return (struct sb_number){"-"};
}
