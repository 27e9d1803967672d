/* failure.c - one failing result as plain, aligned lines. */
#include "failure.h"

#include <string.h>

static void line_start(struct sb_page *p, int indent, const char *label)
{
    sb_page_spaces(p, indent);
    sb_page_text(p, label);
}

void sb_page_sampled(struct sb_page *p, const struct sb_result *result)
{
    sb_page_shown(p, result->sampled, SIZE_MAX, SB_NEWLINE_SHOWN);
    if (result->not_whole[0] == '\0')
        return;
    sb_page_text(p, "; not whole: ");
    sb_page_shown(p, result->not_whole, SIZE_MAX, SB_NEWLINE_SHOWN);
}

static void write_place(struct sb_page *p, const struct sb_result *result, int indent)
{
    line_start(p, indent, result->variant[0] != '\0' ? "" : "(no variant)");
    sb_page_shown(p, result->variant, SIZE_MAX, SB_NEWLINE_SHOWN);
    if (result->device[0] != '\0') {
        sb_page_text(p, " on ");
        sb_page_shown(p, result->device, SIZE_MAX, SB_NEWLINE_SHOWN);
    }
    if (result->judge[0] != '\0') {
        sb_page_text(p, ", against ");
        sb_page_shown(p, result->judge, SIZE_MAX, SB_NEWLINE_SHOWN);
    }
    if (result->sampled[0] != '\0') {
        sb_page_text(p, ", sampled: ");
        sb_page_sampled(p, result);
    }
    sb_page_text(p, "\n");
}

static void write_share(struct sb_page *p, const struct sb_result *result, int indent)
{
    if (result->mismatches <= 0)
        return;
    line_start(p, indent, "");
    if (result->tensor[0] != '\0') {
        sb_page_shown(p, result->tensor, SIZE_MAX, SB_NEWLINE_SHOWN);
        sb_page_text(p, ": ");
    }
    sb_page_text(p, sb_count(result->mismatches).text);
    if (result->elements > 0)
        sb_page_format(p, " of %s %selements differ (%.3g %%)", sb_count(result->elements).text,
                       result->sampled[0] != '\0' ? "sampled " : "",
                       100.0 * (double)result->mismatches / (double)result->elements);
    else
        sb_page_text(p, " elements differ");
    sb_page_text(p, "\n");
}

struct widths {
    int64_t index, expected, actual;
};

static void widen(int64_t *width, const char *text)
{
    const int64_t wanted = sb_shown_width(text);
    if (wanted > *width)
        *width = wanted;
}

static void write_sample(struct sb_page *p, const struct sb_sample *sample, const struct widths *w, int indent)
{
    line_start(p, indent, "");
    sb_page_cell(p, sample->index, w->index + 2, false);
    sb_page_cell(p, sample->expected, w->expected + 2, false);
    const bool last = sample->distance[0] == '\0';
    sb_page_cell(p, sample->actual, last ? 0 : w->actual + 2, false);
    sb_page_shown(p, sample->distance, SIZE_MAX, SB_NEWLINE_SHOWN);
    sb_page_text(p, "\n");
}

static void write_samples(struct sb_page *p, const struct sb_result *result, int indent)
{
    if (result->samples == 0)
        return;
    static const struct sb_sample heading = {"index", "expected", "actual", "distance"};
    static const struct sb_sample short_heading = {"index", "expected", "actual", ""};
    struct widths w = {0, 0, 0};
    bool distances = false;
    widen(&w.index, heading.index);
    widen(&w.expected, heading.expected);
    widen(&w.actual, heading.actual);
    for (int i = 0; i < result->samples; i++) {
        widen(&w.index, result->sample[i].index);
        widen(&w.expected, result->sample[i].expected);
        widen(&w.actual, result->sample[i].actual);
        distances |= result->sample[i].distance[0] != '\0';
    }
    write_sample(p, distances ? &heading : &short_heading, &w, indent);
    for (int i = 0; i < result->samples; i++)
        write_sample(p, &result->sample[i], &w, indent);
    if (result->mismatches > result->samples) {
        line_start(p, indent, "");
        sb_page_format(p, "... and %s more\n", sb_count(result->mismatches - result->samples).text);
    }
}

void sb_page_failure(struct sb_page *p, const struct sb_result *result, int indent, size_t detail_limit)
{
    write_place(p, result, indent);
    if (result->detail[0] == '\0' && result->mismatches <= 0)
        line_start(p, indent, "no detail was given\n");
    write_share(p, result, indent);
    if (result->pattern[0] != '\0') {
        line_start(p, indent, "pattern: ");
        sb_page_shown(p, result->pattern, SIZE_MAX, SB_NEWLINE_SHOWN);
        sb_page_text(p, "\n");
    }
    write_samples(p, result, indent);
    if (result->detail[0] != '\0') {
        line_start(p, indent, "");
        sb_page_shown(p, result->detail, detail_limit, indent);
        sb_page_text(p, "\n");
    }
    if (result->ignored_ids > 0) {
        line_start(p, indent, "");
        sb_page_format(p, "warning: %s ids outside the experts were ignored\n", sb_count(result->ignored_ids).text);
    }
}
