/* text.h - small helpers for names and messages. */
#ifndef SAMEBITS_HARNESS_TEXT_H
#define SAMEBITS_HARNESS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "../golden/near.h"

/* Appends formatted text to buf (size bytes in all); cuts at the end. */
void sb_append(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same, as one more line: after a newline where buf is not empty. */
void sb_append_line(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The word at *cursor up to the next `separator`, copied into word (cut to size); moves the cursor past it. False at
 * the end of the text. Empty words are skipped. */
bool sb_next_word(const char **cursor, char separator, char *word, size_t size);

/* Is `word` one of the comma-separated words of `list`? */
bool sb_word_in(const char *list, const char *word);

/* "; nearest: a, b" or "" where nothing is near. Returns buf. */
const char *sb_near_text(const struct sb_near *near, char *buf, size_t size);

/* Prints one line and a newline. Names of files and datasets may come from anybody: control characters, line breaks and
 * bytes that are not UTF-8 are shown as escapes (reports/text.h), so that no text passes for another line. */
void sb_print_line(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `text` as one word of a POSIX shell, or NULL where it does not fit: half a word is another word. */
const char *sb_shell_quote(const char *text, char *buf, size_t size);

#endif
