/* markdown_text.c - texts from elsewhere inside GitHub's Markdown. */
#include "markdown_text.h"

#include <string.h>

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

/* An underscore inside a word is no emphasis: op names stay readable in the source. */
static bool inside_word(const char *text, size_t i)
{
    return i > 0 && is_word(text[i - 1]) && is_word(text[i + 1]);
}

static void escaped(struct sb_page *p, const char *text, size_t i)
{
    const char c = text[i];
    const bool needed = strchr("&<>|`\\*[]~#$@_", c) != NULL && !(c == '_' && inside_word(text, i));
    if (needed)
        sb_page_format(p, "&#%d;", c); /* an entity: it holds in prose, in tables and inside <code> alike */
    else
        sb_page_bytes(p, &c, 1);
}

static void code(struct sb_page *p, const char *shown)
{
    const bool simple = shown[0] != '\0' && strpbrk(shown, "`|\\") == NULL;
    if (simple) {
        sb_page_format(p, "`%s`", shown);
        return;
    }
    sb_page_text(p, "<code>");
    for (size_t i = 0; shown[i] != '\0'; i++)
        escaped(p, shown, i);
    sb_page_text(p, "</code>");
}

void sb_md_code(struct sb_page *p, const char *text, size_t limit)
{
    struct sb_page shown = {0};
    sb_page_shown(&shown, text, limit, SB_NEWLINE_SHOWN);
    if (shown.failed)
        p->failed = true;
    else
        code(p, shown.size > 0 ? shown.data : "");
    sb_page_free(&shown);
}

/* GitHub looks for these after Markdown is done, so no escape stops it: only code does. */
static bool is_linked(const char *text)
{
    return strpbrk(text, "@#") != NULL || strstr(text, "://") != NULL || strstr(text, "www.") != NULL;
}

void sb_md_plain(struct sb_page *p, const char *text, size_t limit, const char *empty)
{
    if (text[0] == '\0') {
        sb_page_text(p, empty);
        return;
    }
    if (is_linked(text)) {
        sb_md_code(p, text, limit);
        return;
    }
    struct sb_page shown = {0};
    sb_page_shown(&shown, text, limit, SB_NEWLINE_SHOWN);
    for (size_t i = 0; i < shown.size; i++)
        escaped(p, shown.data, i);
    p->failed |= shown.failed;
    sb_page_free(&shown);
}

void sb_md_fence(struct sb_page *p, const char *language, const char *text)
{
    size_t longest = 2, run = 0;
    for (const char *c = text; *c != '\0'; c++) {
        run = *c == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        sb_page_text(p, "`");
    sb_page_format(p, "%s\n%s", language, text);
    if (text[0] != '\0' && text[strlen(text) - 1] != '\n')
        sb_page_text(p, "\n");
    for (size_t i = 0; i <= longest; i++)
        sb_page_text(p, "`");
    sb_page_text(p, "\n");
}
