/* markdown_text.h - texts from elsewhere inside GitHub's Markdown. Internal to reports/. */
#ifndef SAMEBITS_REPORTS_MARKDOWN_TEXT_H
#define SAMEBITS_REPORTS_MARKDOWN_TEXT_H

#include "text.h"

/* All three take any text, cut it after `limit` bytes with a count, and never end the line, the table cell, the code
 * or the block they stand in. */

/* As prose, also inside a table. What GitHub would turn into a mention or a link becomes code. "" becomes `empty`. */
void sb_md_plain(struct sb_page *p, const char *text, size_t limit, const char *empty);

/* As code in a line, also inside a table. */
void sb_md_code(struct sb_page *p, const char *text, size_t limit);

/* As a fenced block of lines; `text` is already fit to show, apart from its newlines. */
void sb_md_fence(struct sb_page *p, const char *language, const char *text);

#endif
