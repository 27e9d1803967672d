/* near.c - edit distance (declared in op.h), and the few candidates that have the smallest. */
#include "near.h"
#include "op.h"

#include <stdio.h>
#include <string.h>

enum { EDIT_MAX = 64 };

int sb_edit_distance(const char *a, const char *b)
{
    /* Names are short; of longer text only the start decides. */
    const size_t a_length = strnlen(a, EDIT_MAX), b_length = strnlen(b, EDIT_MAX);
    int row[EDIT_MAX + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= a_length; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            const int replaced = diagonal + (a[i - 1] != b[j - 1]);
            const int shorter = row[j - 1] < row[j] ? row[j - 1] : row[j];
            diagonal = row[j];
            row[j] = replaced <= shorter ? replaced : shorter + 1;
        }
    }
    return row[b_length];
}

static bool is_part(const char *part, const char *whole)
{
    return strlen(part) >= 3 && strstr(whole, part) != NULL;
}

void sb_near_offer(struct sb_near *near, const char *name)
{
    int distance = sb_edit_distance(near->wanted, name);
    /* A part of the other: nearer than the letters left out say. */
    if (is_part(near->wanted, name) || is_part(name, near->wanted))
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

const char *sb_near_list(const struct sb_near *near, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; i < SB_NEAR && near->name[i] != NULL && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i == 0 ? "" : ", ", near->name[i]);
    return buf;
}
