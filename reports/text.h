/* text.h - growing text, and texts from elsewhere made fit to show. Internal to reports/.
 *
 * A report is pasted by people we do not know: a text of it may hold control characters, direction marks or bytes
 * that are not UTF-8. None of them reaches a terminal or a page. */
#ifndef SAMEBITS_REPORTS_TEXT_H
#define SAMEBITS_REPORTS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as {0}. Once memory has run out `failed` stays true and the text stays as it was. */
struct sb_page {
    char *data; /* terminated, or NULL while empty */
    size_t size, room;
    bool failed;
};

void sb_page_free(struct sb_page *p);
void sb_page_cut(struct sb_page *p, size_t size); /* back to an earlier size */
void sb_page_bytes(struct sb_page *p, const char *bytes, size_t size);
void sb_page_text(struct sb_page *p, const char *text);
void sb_page_join(struct sb_page *p, const struct sb_page *other); /* fails where the other failed */
void sb_page_format(struct sb_page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sb_page_spaces(struct sb_page *p, int64_t count);

/* The length in bytes of the UTF-8 character at text[0] (1..4), with its code point; 0: not UTF-8. At most `size`
 * bytes are looked at. */
size_t sb_utf8_character(const char *text, size_t size, uint32_t *code_point);

/* Whether a character may be shown as it is: no control, no direction mark, no line separator. */
bool sb_is_showable(uint32_t code_point);

/* Copies `from` as valid UTF-8 into to[size], U+FFFD for each byte that is not, cut between characters. */
void sb_utf8_copy(char *to, size_t size, const char *from);

enum { SB_NEWLINE_SHOWN = -1 };
/* Appends `text` on one line: controls as \n, \t, \x1b, the rest that cannot be shown as U+FFFD. With indent >= 0
 * newlines are kept, followed by that many spaces. More than `limit` bytes of it are cut and counted. */
void sb_page_shown(struct sb_page *p, const char *text, size_t limit, int indent);

/* Appends a shown text in a column of `width` characters, at the left or the right of it. */
void sb_page_cell(struct sb_page *p, const char *text, int64_t width, bool right);

/* How many columns sb_page_shown would take for `text`. */
int64_t sb_shown_width(const char *text);

struct sb_number {
    char text[32];
};
struct sb_number sb_count(int64_t value); /* "928,000": grouped by hand, whatever the locale */
struct sb_number sb_count_or_dash(int64_t value);

#endif
