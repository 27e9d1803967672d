/* store_places.c - the table of places that a candidate's file may have beside its blocks. */
#include "hdf5_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "samples.h"
#include "store_parts.h"

static bool read_table(const struct sb_h5_dataset *ds, const struct sb_tensor *table, enum sb_places *places,
                       struct sb_error *err)
{
    const size_t bytes = sb_tensor_logical_bytes(table);
    if (!sb_tensor_same_layout(&ds->tensor, table))
        return true;
    void *const held = malloc(bytes);
    const bool ok = (held != NULL || sb_fail(err, SB_EXIT_BAD_INPUT, "%s: no memory for %s", ds->path, ds->name)) &&
                    sb_h5_dataset_read(ds, held, err);
    if (ok && memcmp(held, table->data, bytes) == 0)
        *places = SB_PLACES_SAME;
    free(held);
    return ok;
}

bool sb_store_read_places(const char *path, const struct sb_samples *s, const struct sb_tensor *out,
                          enum sb_places *places, struct sb_error *err)
{
    *places = SB_PLACES_UNSAID;
    if (s->count == 0 || out->data == NULL)
        return true;
    const struct sb_tensor blocks = sb_samples_layout(s), table = sb_samples_table(s);
    char name[SB_DATASET_NAME];
    struct sb_h5_dataset ds;
    struct sb_error foreign = {0}; /* of a type that no table has: it is another one */
    const hid_t file = sb_tensor_same_layout(out, &blocks) ? sb_h5_open(path, err) : -1;
    if (file < 0)
        return !sb_tensor_same_layout(out, &blocks);
    bool ok = true;
    sb_store_table_path(s->whole.name, name);
    if (sb_h5_has(file, "samples") && sb_h5_has(file, name + 1)) {
        *places = SB_PLACES_OTHER;
        if (sb_h5_dataset_open(&ds, file, path, name + 1, &foreign)) {
            ok = read_table(&ds, &table, places, err);
            sb_h5_dataset_close(&ds);
        }
    }
    H5Fclose(file);
    return ok;
}
