/* file.h - whole files and folders: what the store, the manifest and the sets share. */
#ifndef SAMEBITS_GOLDEN_FILE_H
#define SAMEBITS_GOLDEN_FILE_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* Writes path.tmp-PID, flushes it to disk, renames it to `path` and flushes the folder: whoever opens `path` finds
 * the old file or the whole new one. Creates missing folders. On an error the temporary file is gone and `path` is
 * as it was. The error (SB_EXIT_BAD_INPUT) names the file and the system's reason. */
bool sb_file_write(const char *path, const void *bytes, size_t size, struct sb_error *err);

/* The whole file, with a NUL behind its last byte; `*bytes` is the caller's to free. A file above `limit` bytes is an
 * error. `*missing` (may be NULL) says whether the file does not exist. */
bool sb_file_read(const char *path, size_t limit, char **bytes, size_t *size, bool *missing, struct sb_error *err);

/* A folder and those above it, as `mkdir -p` makes them. */
bool sb_folder_make(const char *path, struct sb_error *err);

/* Relative paths of what lies below `dir`, in strcmp order: regular files, and anything else that is not a folder
 * (links are not followed). */
struct sb_file_list {
    char **path;
    int count;
};

bool sb_folder_list(const char *dir, struct sb_file_list *list, struct sb_error *err);
void sb_file_list_free(struct sb_file_list *list);

/* Does `text` end in `end`? */
bool sb_ends_in(const char *text, const char *end);

/* "a/b" in a new string; NULL when memory is short. */
char *sb_path_join(const char *dir, const char *name);

/* Is this the name of a temporary file of sb_file_write (NAME.tmp-PID)? `pid` is told. */
bool sb_file_is_temporary(const char *path, long *pid);

#endif
