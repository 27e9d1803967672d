/* expected.h - where the expected bytes of a case come from, and who vouches for them. */
#ifndef SAMEBITS_HARNESS_EXPECTED_H
#define SAMEBITS_HARNESS_EXPECTED_H

#include "../golden/manifest.h"
#include "protocol.h"

/* Manifests read so far: a worker asks for the same few again and again. */
struct sb_manifest_cache {
    struct {
        char path[SB_PATH_SIZE];
        struct sb_manifest manifest;
    } entry[8];
    int count;
};
void sb_manifest_cache_free(struct sb_manifest_cache *cache);
/* The manifest at `path`, owned by the cache; NULL with err where it cannot be read. */
const struct sb_manifest *sb_manifest_cached(struct sb_manifest_cache *cache, const char *path, struct sb_error *err);

struct sb_expected {
    struct sb_case c;
    struct sb_data d;
    bool stored;         /* inputs and outputs were read from a golden file */
    bool listed;         /* computed: a committed digest file lists the case */
    char difference[48]; /* listed: the first tensor that differs from its digest, or "" */
    char unlisted[256];  /* not listed: why */
    char digest_file[SB_PATH_SIZE];
};

/* Reads or computes what the job asks for. A damaged golden or digest file is an error (SB_EXIT_BAD_INPUT), and so is
 * a golden that the manifest lists but that is not there. One that the manifest does not list is computed. */
bool sb_expected_load(struct sb_expected *e, const struct sb_job *job, const struct sb_op_list *ops,
                      struct sb_manifest_cache *cache, struct sb_error *err);
void sb_expected_free(struct sb_expected *e);

/* Does somebody vouch for the expected bytes of `c`: a golden that lies where `job` says, or a digest file below
 * job->golden_root that lists it? True too where that cannot be told (a file that cannot be read): loading it says why.
 */
bool sb_expected_vouched(const struct sb_case *c, const struct sb_job *job, struct sb_manifest_cache *cache);

/* Why the folder that SAMEBITS_GOLDEN names cannot be used: false with err (SB_EXIT_BAD_INPUT). True where the variable
 * is not set. */
bool sb_golden_root_check(struct sb_error *err);

/* The folder golden/ with the committed smoke set and digests: $SAMEBITS_GOLDEN, else beside the program
 * (../golden of the executable), else in the source tree. False: none of them is there. */
bool sb_golden_root(char *path, size_t size);

/* Where the golden of `c` lies: in `set` (--golden DIR), or for a smoke case in root/smoke. Fills in job->stored and
 * job->manifest whether or not the file is there, or leaves them empty: compute. False with err: a path is too long. */
bool sb_golden_locate(const struct sb_case *c, const char *set, const char *root, struct sb_job *job,
                      struct sb_error *err);

#endif
