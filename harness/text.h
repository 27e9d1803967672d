/* text.h - small helpers for names and messages. */
#ifndef SAMEBITS_HARNESS_TEXT_H
#define SAMEBITS_HARNESS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Appends formatted text to buf (size bytes in all); cuts at the end. */
void sb_append(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same, as one more line: after a newline where buf is not empty. */
void sb_append_line(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The word at *cursor up to the next `separator`, copied into word (cut to size); moves the cursor past it. False at
 * the end of the text. Empty words are skipped. */
bool sb_next_word(const char **cursor, char separator, char *word, size_t size);

/* Is `word` one of the comma-separated words of `list`? */
bool sb_word_in(const char *list, const char *word);

/* Collects the names nearest to `wanted`: offer each candidate, then print. What is far off is not kept. */
enum { SB_NEAR = 3 };
struct sb_near {
    const char *wanted;
    const char *name[SB_NEAR];
    int distance[SB_NEAR];
};
void sb_near_offer(struct sb_near *near, const char *name); /* keeps the pointer */
/* "; did you mean a, b?" or "" if nothing is near. Returns buf. */
const char *sb_near_text(const struct sb_near *near, char *buf, size_t size);

/* `text` as one word of a POSIX shell, or NULL where it does not fit: half a word is another word. */
const char *sb_shell_quote(const char *text, char *buf, size_t size);

#endif
