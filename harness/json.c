/* json.c - texts from anywhere as JSON, and JSON on stdout. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

json_t *sb_json_text(const char *text)
{
    const size_t size = 3 * strlen(text) + 1; /* U+FFFD takes three bytes */
    char *clean = malloc(size);
    if (clean == NULL)
        return NULL;
    sb_utf8_copy(clean, size, text);
    json_t *value = json_string(clean);
    free(clean);
    return value;
}

json_t *sb_variant_json(const char *op, const char *name, const char *targets, const char *summary, bool compiled)
{
    return json_pack("{s:s*, s:s, s:s, s:s, s:b}", "op", op, "name", name, "targets", targets, "summary", summary,
                     "compiled", (int)compiled);
}

bool sb_json_print(json_t *value, struct sb_error *err)
{
    const bool ok = value != NULL && json_dumpf(value, stdout, JSON_INDENT(1)) == 0 && putchar('\n') != EOF;
    json_decref(value);
    return ok || sb_fail(err, SB_EXIT_BAD_INPUT, "the JSON could not be written");
}

bool sb_is_utf8(const char *text)
{
    const size_t size = strlen(text);
    for (size_t i = 0; i < size;) {
        uint32_t code_point;
        const size_t length = sb_utf8_character(text + i, size - i, &code_point);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}
