/* json.h - what every verb's --json and the worker's messages have in common. */
#ifndef SAMEBITS_HARNESS_JSON_H
#define SAMEBITS_HARNESS_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "../golden/error.h"
#include "../reports/text.h"

/* `text` as a JSON string, U+FFFD for bytes that are not UTF-8 (a path may hold any). NULL: no memory. */
json_t *sb_json_text(const char *text);

/* One implementation as list and info show it; `op` may be NULL. */
json_t *sb_variant_json(const char *op, const char *name, const char *targets, const char *summary, bool compiled);

/* Prints `value` (taken, freed) and a newline on stdout. False with err where it is NULL or cannot be written: nothing
 * printed must not read as success. */
bool sb_json_print(json_t *value, struct sb_error *err);

/* Is the whole text UTF-8? */
bool sb_is_utf8(const char *text);

#endif
