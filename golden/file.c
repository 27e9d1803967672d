/* file.c - whole files and folders. */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 16 }; /* folders below a set; deeper means a loop or a mistake */

static const char temporary_mark[] = ".tmp-";

bool sb_ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

char *sb_path_join(const char *dir, const char *name)
{
    const size_t n = strlen(dir), size = n + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL)
        snprintf(path, size, "%s%s%s", dir, n > 0 && dir[n - 1] != '/' ? "/" : "", name);
    return path;
}

bool sb_file_is_temporary(const char *path, long *pid)
{
    const char *mark = NULL;
    for (const char *p = strstr(path, temporary_mark); p != NULL; p = strstr(p + 1, temporary_mark))
        mark = p;
    if (mark == NULL)
        return false;
    const char *digits = mark + sizeof temporary_mark - 1;
    if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    *pid = strtol(digits, NULL, 10);
    return *pid > 0 && *pid <= INT32_MAX;
}

/* The folder part of a path, in a new string: "." where there is none. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

bool sb_folder_make(const char *path, struct sb_error *err)
{
    char *work = strdup(path);
    if (work == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", path);
    bool ok = true;
    for (char *p = work + 1; ok && *work != '\0'; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        const char kept = *p;
        *p = '\0';
        if (mkdir(work, 0777) != 0 && errno != EEXIST)
            ok = sb_fail(err, SB_EXIT_BAD_INPUT, "%s: cannot make this folder: %s", work, strerror(errno));
        *p = kept;
        if (kept == '\0')
            break;
    }
    struct stat st;
    if (ok && (stat(work, &st) != 0 || !S_ISDIR(st.st_mode)))
        ok = sb_fail(err, SB_EXIT_BAD_INPUT, "%s: not a folder", path);
    free(work);
    return ok;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t n = write(fd, bytes, size < (size_t)1 << 30 ? size : (size_t)1 << 30);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (n == 0)
                errno = ENOSPC;
            return false;
        }
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

/* A rename is on disk only once its folder is. Some file systems cannot sync a folder; that is no failure. */
static void sync_folder(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

static bool write_temporary(const char *temporary, const void *bytes, size_t size)
{
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, bytes, size) && fsync(fd) == 0;
    int why = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    errno = why;
    return ok;
}

static const char *advice(int why)
{
    switch (why) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return "; make room or choose another folder";
    case EACCES:
    case EPERM:
    case EROFS:
        return "; choose a folder you may write to";
    default:
        return "";
    }
}

/* A rename over a device would put a plain file in its place (as root: over /dev/null), over a symbolic link it would
 * leave the target as it was. */
static bool is_replaceable(const char *path, struct sb_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0 || S_ISREG(st.st_mode))
        return true;
    return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: there already, and not a regular file; choose another name", path);
}

bool sb_file_write(const char *path, const void *bytes, size_t size, struct sb_error *err)
{
    if (!is_replaceable(path, err))
        return false;
    const size_t room = strlen(path) + 32;
    char *folder = folder_of(path), *temporary = malloc(room);
    bool ok = folder != NULL && temporary != NULL;
    if (!ok)
        sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", path);
    ok = ok && sb_folder_make(folder, err);
    if (ok) {
        snprintf(temporary, room, "%s%s%ld", path, temporary_mark, (long)getpid());
        ok = write_temporary(temporary, bytes, size) && rename(temporary, path) == 0;
        if (!ok) {
            const int why = errno;
            unlink(temporary);
            sb_fail(err, SB_EXIT_BAD_INPUT, "%s: cannot write %zu bytes: %s%s", path, size, strerror(why), advice(why));
        } else {
            sync_folder(folder);
        }
    }
    free(folder);
    free(temporary);
    return ok;
}

static bool read_all(int fd, char *bytes, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        const ssize_t n = read(fd, bytes + *got, size - *got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return true;
}

static bool read_open_file(const char *path, int fd, size_t limit, char **bytes, size_t *size, struct sb_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: not a regular file", path);
    if ((uint64_t)st.st_size > limit)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: %lld bytes, more than the %zu that such a file may have", path,
                       (long long)st.st_size, limit);
    const size_t expected = (size_t)st.st_size;
    *bytes = malloc(expected + 1);
    if (*bytes == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: no memory for %zu bytes", path, expected);
    if (!read_all(fd, *bytes, expected, size)) {
        const int why = errno;
        free(*bytes);
        *bytes = NULL;
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: cannot read: %s", path, strerror(why));
    }
    (*bytes)[*size] = '\0';
    return true;
}

bool sb_file_read(const char *path, size_t limit, char **bytes, size_t *size, bool *missing, struct sb_error *err)
{
    *bytes = NULL;
    *size = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (missing != NULL)
        *missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
    if (fd < 0)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
    const bool ok = read_open_file(path, fd, limit, bytes, size, err);
    close(fd);
    return ok;
}

/* ---- listing ------------------------------------------------------------------------------------ */

void sb_file_list_free(struct sb_file_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->path[i]);
    free(list->path);
    list->path = NULL;
    list->count = 0;
}

static bool list_add(struct sb_file_list *list, const char *relative)
{
    if ((list->count & (list->count - 1)) == 0) { /* at 0 and at powers of two */
        char **grown = realloc(list->path, sizeof *grown * (size_t)(list->count == 0 ? 1 : 2 * list->count));
        if (grown == NULL)
            return false;
        list->path = grown;
    }
    list->path[list->count] = strdup(relative);
    if (list->path[list->count] == NULL)
        return false;
    list->count++;
    return true;
}

static bool list_below(const char *dir, const char *relative, int depth, struct sb_file_list *list,
                       struct sb_error *err);

static bool list_one(const char *dir, const char *relative, int depth, struct sb_file_list *list, struct sb_error *err)
{
    char *full = sb_path_join(dir, relative);
    if (full == NULL)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", dir);
    struct stat st;
    const bool known = lstat(full, &st) == 0;
    free(full);
    if (known && S_ISDIR(st.st_mode))
        return list_below(dir, relative, depth + 1, list, err);
    return list_add(list, relative) || sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", dir);
}

static bool list_below(const char *dir, const char *relative, int depth, struct sb_file_list *list,
                       struct sb_error *err)
{
    if (depth > MAX_DEPTH)
        return sb_fail(err, SB_EXIT_BAD_INPUT, "%s/%s: more than %d folders deep", dir, relative, (int)MAX_DEPTH);
    char *full = sb_path_join(dir, relative);
    DIR *handle = full != NULL ? opendir(full) : NULL;
    if (handle == NULL) {
        sb_fail(err, SB_EXIT_BAD_INPUT, "%s: cannot read this folder: %s", full != NULL ? full : dir, strerror(errno));
        free(full);
        return false;
    }
    bool ok = true;
    for (struct dirent *entry = readdir(handle); ok && entry != NULL; entry = readdir(handle)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *below = relative[0] != '\0' ? sb_path_join(relative, entry->d_name) : strdup(entry->d_name);
        if (below == NULL)
            ok = sb_fail(err, SB_EXIT_BAD_INPUT, "%s: out of memory", dir);
        else
            ok = list_one(dir, below, depth, list, err);
        free(below);
    }
    closedir(handle);
    free(full);
    return ok;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool sb_folder_list(const char *dir, struct sb_file_list *list, struct sb_error *err)
{
    *list = (struct sb_file_list){NULL, 0};
    if (!list_below(dir, "", 0, list, err)) {
        sb_file_list_free(list);
        return false;
    }
    if (list->count > 1)
        qsort(list->path, (size_t)list->count, sizeof *list->path, compare_paths);
    return true;
}
