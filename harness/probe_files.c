/* probe_files.c - finds, reads and writes sets of recorded dot products. */
#include "probe_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 16, LETTERS = 4, WORD_DIGITS = 8, BINARY_DIGITS = 32, LONGEST_LINE = 4096 };

static const char *type_of(char letter)
{
    return letter == 'a' || letter == 'b' ? "bf16" : "fp32";
}

const char *sb_probe_set_file(const struct sb_probe_set *set, char letter, char *buf, size_t size)
{
    snprintf(buf, size, "%s/%c_%s_%s.txt", set->folder, letter, set->name, type_of(letter));
    return buf;
}

void sb_probe_sets_free(struct sb_probe_sets *sets)
{
    for (int i = 0; i < sets->count; i++) {
        free((void *)sets->set[i].folder);
        free((void *)sets->set[i].name);
    }
    free(sets->set);
    *sets = (struct sb_probe_sets){0};
}

/* ---- finding sets ------------------------------------------------------------------------------ */

static bool add_set(struct sb_probe_sets *sets, const char *folder, const char *name, struct sb_error *err)
{
    if (sets->count == sets->room) {
        const int room = sets->room > 0 ? 2 * sets->room : 16;
        struct sb_probe_set *const more = realloc(sets->set, (size_t)room * sizeof *more);
        if (more == NULL)
            return sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
        sets->set = more;
        sets->room = room;
    }
    const struct sb_probe_set set = {strdup(folder), strdup(name)};
    if (set.folder == NULL || set.name == NULL) {
        free((void *)set.folder);
        free((void *)set.name);
        return sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
    }
    sets->set[sets->count++] = set;
    return true;
}

/* "a_B200_bf16.txt": letter, name (256 bytes) and type (of the same size). False for other files. */
static bool take_name(const char *file, char *name, char *type)
{
    const size_t length = strlen(file);
    if (file[0] < 'a' || file[0] >= 'a' + LETTERS || file[1] != '_' || length < 6 || length > 255 ||
        strcmp(file + length - 4, ".txt") != 0)
        return false;
    memcpy(name, file + 2, length - 6);
    name[length - 6] = '\0';
    char *const last = strrchr(name, '_');
    if (last == NULL || last == name)
        return false;
    strcpy(type, last + 1);
    *last = '\0';
    return true;
}

/* What a folder holds of one name. */
struct parts {
    char name[256];
    bool has[LETTERS]; /* of the types that this format wants */
    bool other;        /* a or b of another type */
};

static struct parts *part_called(struct parts *part, int *parts, const char *name)
{
    for (int i = 0; i < *parts; i++)
        if (strcmp(part[i].name, name) == 0)
            return &part[i];
    struct parts *const p = &part[(*parts)++];
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", name);
    return p;
}

static bool take_parts(struct sb_probe_sets *sets, const char *folder, const struct parts *p, struct sb_error *err)
{
    char path[SB_PATH_SIZE];
    if (!p->has[0] && !p->has[1] && p->other) {
        sets->left_out++;
        return true;
    }
    const struct sb_probe_set set = {folder, p->name};
    for (int i = 0; i < LETTERS; i++)
        if (!p->has[i])
            return sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s is missing: a set is four files, a_, b_, c_ and d_",
                           sb_probe_set_file(&set, (char)('a' + i), path, sizeof path));
    return add_set(sets, folder, p->name, err);
}

static bool take_files(struct sb_probe_sets *sets, const char *folder, struct dirent *const *entry, int entries,
                       struct sb_error *err)
{
    struct parts *const part = malloc(((size_t)entries + 1) * sizeof *part);
    int parts = 0;
    bool ok = part != NULL || sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
    for (int i = 0; ok && i < entries; i++) {
        char name[256], type[256];
        if (!take_name(entry[i]->d_name, name, type))
            continue;
        const char letter = entry[i]->d_name[0];
        struct parts *const p = part_called(part, &parts, name);
        if (strcmp(type, type_of(letter)) == 0)
            p->has[letter - 'a'] = true;
        else
            p->other = p->other || letter <= 'b';
    }
    for (int i = 0; ok && i < parts; i++)
        ok = take_parts(sets, folder, &part[i], err);
    free(part);
    return ok;
}

/* Folders that were looked at: each counts once, whatever links lead to it. */
struct search {
    struct sb_probe_sets *sets;
    struct folder {
        dev_t device;
        ino_t inode;
    } * seen;
    int count;
};

/* *first is false where it was seen already. */
static bool enter_folder(struct search *s, const char *folder, bool *first, struct sb_error *err)
{
    struct stat st;
    if (stat(folder, &st) != 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: %s", folder, strerror(errno));
    *first = true;
    for (int i = 0; i < s->count; i++)
        *first = *first && (s->seen[i].device != st.st_dev || s->seen[i].inode != st.st_ino);
    if (!*first)
        return true;
    struct folder *const more = realloc(s->seen, ((size_t)s->count + 1) * sizeof *more);
    if (more == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
    s->seen = more;
    s->seen[s->count++] = (struct folder){st.st_dev, st.st_ino};
    return true;
}

/* A capture that is not whole holds fewer dot products than it was to: no pass may rest on it. */
static bool is_finished(const char *folder, struct dirent *const *entry, int entries, struct sb_error *err)
{
    for (int i = 0; i < entries; i++)
        if (strcmp(entry[i]->d_name, SB_PROBE_UNFINISHED) == 0)
            return sb_fail(err, SB_EXIT_BAD_INPUT,
                           "%.600s: a capture that did not finish (%s lies in it): remove it and record again", folder,
                           SB_PROBE_UNFINISHED);
    return true;
}

static bool find_in(struct search *s, const char *folder, int depth, struct sb_error *err);

static bool find_below(struct search *s, const char *folder, struct dirent *const *entry, int entries, int depth,
                       struct sb_error *err)
{
    bool ok = true;
    for (int i = 0; ok && i < entries; i++) {
        char path[SB_PATH_SIZE];
        struct stat st;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name) >= (int)sizeof path)
            return sb_fail(err, SB_EXIT_BAD_INPUT, "the path is too long: %.600s...", path);
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            ok = find_in(s, path, depth + 1, err);
    }
    return ok;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* whatever the locale */
}

static bool find_in(struct search *s, const char *folder, int depth, struct sb_error *err)
{
    struct dirent **entry = NULL;
    bool first;
    if (depth > DEEPEST)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: folders are nested more than %d deep", folder, DEEPEST);
    if (!enter_folder(s, folder, &first, err))
        return false;
    if (!first)
        return true;
    const int entries = scandir(folder, &entry, is_shown, by_bytes);
    if (entries < 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: %s", folder, strerror(errno));
    const bool ok = is_finished(folder, entry, entries, err) && take_files(s->sets, folder, entry, entries, err) &&
                    find_below(s, folder, entry, entries, depth, err);
    for (int i = 0; i < entries; i++)
        free(entry[i]);
    free(entry);
    return ok;
}

bool sb_probe_find_sets(const char *dir, struct sb_probe_sets *sets, struct sb_error *err)
{
    *sets = (struct sb_probe_sets){0};
    struct search s = {.sets = sets};
    const bool found = find_in(&s, dir, 0, err);
    free(s.seen);
    if (!found)
        return false;
    return sets->count > 0 ||
           sb_fail(err, SB_EXIT_BAD_INPUT,
                   "%.600s holds no recorded dot products (a_NAME_bf16.txt, b_NAME_bf16.txt, c_NAME_fp32.txt, "
                   "d_NAME_fp32.txt): nothing to replay is no pass",
                   dir);
}

/* ---- reading a set ----------------------------------------------------------------------------- */

struct reader {
    FILE *f;
    char path[SB_PATH_SIZE];
    int64_t line;
    char text[LONGEST_LINE];
    size_t length; /* of text, without the line's end */
};

static bool fail_at(const struct reader *r, struct sb_error *err, const char *what)
{
    return sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s:%" PRId64 ": %s", r->path, r->line, what);
}

/* *more is false at the end of the file. Whatever else stops the reading is an error. */
static bool next_line(struct reader *r, bool *more, struct sb_error *err)
{
    int c;
    r->length = 0;
    while ((c = getc_unlocked(r->f)) != EOF && c != '\n' && r->length < LONGEST_LINE)
        r->text[r->length++] = (char)c;
    if (c == EOF && (ferror(r->f) || !feof(r->f)))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: %s", r->path, strerror(errno));
    *more = c != EOF || r->length > 0;
    if (!*more)
        return true;
    r->line++;
    if (c != EOF && c != '\n')
        return fail_at(r, err, "a line of more than 4096 bytes");
    while (r->length > 0 && memchr(" \t\r", r->text[r->length - 1], 3) != NULL)
        r->length--;
    return true;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 16;
}

/* `digits` of `base` at text[*at], moved past them. False for another character, or too few. */
static bool take_digits(const struct reader *r, size_t *at, int digits, int base, uint32_t *bits)
{
    *bits = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (*at >= r->length || digit_of(r->text[*at]) >= base)
            return false;
        *bits = *bits * (uint32_t)base + (uint32_t)digit_of(r->text[*at]);
    }
    return true;
}

static bool take_operands(const struct reader *r, uint16_t v[SB_TC_K], struct sb_error *err)
{
    size_t at = 0;
    for (int k = 0; k < SB_TC_K; k++) {
        const size_t start = at;
        while (at < r->length && r->text[at] == ' ')
            at++;
        if (at >= r->length || (k > 0 && at == start)) {
            char what[80];
            snprintf(what, sizeof what, "%s %d of 16 words", at >= r->length ? "a short line:" : "no blank after", k);
            return fail_at(r, err, what);
        }
        uint32_t bits;
        if (!take_digits(r, &at, WORD_DIGITS, 16, &bits))
            return fail_at(r, err, "expected 16 words of 8 hex digits");
        if ((bits & 0xFFFF) != 0)
            return fail_at(r, err, "a word's lower half is not zero: it is no bf16 number");
        v[k] = (uint16_t)(bits >> 16);
    }
    return at == r->length || fail_at(r, err, "more than 16 words of 8 hex digits");
}

static bool take_f32(const struct reader *r, uint32_t *bits, struct sb_error *err)
{
    size_t at = 0;
    return (take_digits(r, &at, BINARY_DIGITS, 2, bits) && at == r->length) ||
           fail_at(r, err, "expected 32 binary digits");
}

/* One line of each of the four. *more is false where all have ended. */
static bool read_vector(struct reader r[LETTERS], struct sb_probe_vector *v, bool *more, struct sb_error *err)
{
    bool has[LETTERS];
    for (int i = 0; i < LETTERS; i++)
        if (!next_line(&r[i], &has[i], err))
            return false;
    *more = has[0];
    for (int i = 1; i < LETTERS; i++)
        if (has[i] != has[0]) {
            const struct reader *const ended = &r[has[i] ? 0 : i], *const other = &r[has[i] ? i : 0];
            return sb_fail(err, SB_EXIT_BAD_INPUT, "%.400s:%" PRId64 ": ends here, but %.400s goes on", ended->path,
                           ended->line, other->path);
        }
    return !*more || (take_operands(&r[0], v->a, err) && take_operands(&r[1], v->b, err) &&
                      take_f32(&r[2], &v->c, err) && take_f32(&r[3], &v->got, err));
}

static bool read_all(struct reader r[LETTERS], bool (*each)(void *user, int64_t line, const struct sb_probe_vector *v),
                     void *user, struct sb_error *err)
{
    for (bool more = true;;) {
        struct sb_probe_vector v = {.tile = -1};
        if (!read_vector(r, &v, &more, err))
            return false;
        if (!more)
            return r[0].line > 0 || sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: no line at all", r[0].path);
        v.expected = sb_tc_bf16_k16_f25(v.c, v.a, v.b);
        if (!each(user, r[0].line, &v))
            return sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
    }
}

/* Only a regular file: a pipe may have no writer, ever. */
static bool open_reader(struct reader *r, struct sb_error *err)
{
    struct stat st;
    const int fd = open(r->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: %s", r->path, strerror(errno));
    const bool known = fstat(fd, &st) == 0;
    if (known && S_ISREG(st.st_mode))
        r->f = fdopen(fd, "r");
    if (r->f != NULL)
        return true;
    sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: %s", r->path,
            known && !S_ISREG(st.st_mode) ? "not a regular file" : strerror(errno));
    close(fd);
    return false;
}

bool sb_probe_read_set(const struct sb_probe_set *set,
                       bool (*each)(void *user, int64_t line, const struct sb_probe_vector *v), void *user,
                       struct sb_error *err)
{
    struct reader *const r = calloc(LETTERS, sizeof *r);
    if (r == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "out of memory");
    bool ok = true;
    for (int i = 0; ok && i < LETTERS; i++) {
        sb_probe_set_file(set, (char)('a' + i), r[i].path, sizeof r[i].path);
        ok = open_reader(&r[i], err);
    }
    ok = ok && read_all(r, each, user, err);
    for (int i = 0; i < LETTERS; i++)
        if (r[i].f != NULL)
            fclose(r[i].f);
    free(r);
    return ok;
}

/* ---- writing a set ----------------------------------------------------------------------------- */

static void write_line(FILE *f, char letter, const struct sb_probe_vector *v)
{
    const uint16_t *const operands = letter == 'a' ? v->a : v->b;
    const uint32_t bits = letter == 'c' ? v->c : v->got;
    if (letter <= 'b')
        for (int k = 0; k < SB_TC_K; k++)
            fprintf(f, "%04x0000%s", operands[k], k + 1 < SB_TC_K ? " " : "\n");
    else
        for (int i = BINARY_DIGITS - 1; i >= 0; i--)
            fprintf(f, "%u%s", bits >> i & 1, i > 0 ? "" : "\n");
}

static bool write_file(const char *path, char letter, enum sb_tc_class cls, const struct sb_probe_list *list,
                       struct sb_error *err)
{
    FILE *const f = fopen(path, "wxe");
    if (f == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s: %s", path, strerror(errno));
    for (int i = 0; i < list->count; i++)
        if (list->v[i].cls == cls)
            write_line(f, letter, &list->v[i]);
    const bool written = !ferror(f);
    return (fclose(f) == 0 && written) ||
           sb_fail(err, SB_EXIT_BAD_INPUT, "%.600s could not be written whole (is the disk full?)", path);
}

bool sb_probe_write_set(const char *folder, enum sb_tc_class cls, const struct sb_probe_list *list,
                        struct sb_error *err)
{
    char path[SB_PATH_SIZE];
    const struct sb_probe_set set = {folder, sb_tc_class_name(cls)};
    int vectors = 0;
    for (int i = 0; i < list->count; i++)
        vectors += list->v[i].cls == cls;
    for (char letter = 'a'; vectors > 0 && letter < 'a' + LETTERS; letter++)
        if (!write_file(sb_probe_set_file(&set, letter, path, sizeof path), letter, cls, list, err))
            return false;
    return true;
}
