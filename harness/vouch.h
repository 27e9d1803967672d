/* vouch.h - cases that a suite lists and for whose expected bytes nobody vouches. */
#ifndef SAMEBITS_HARNESS_VOUCH_H
#define SAMEBITS_HARNESS_VOUCH_H

#include <stdio.h>

#include "select.h"

/* How many of the cases, and a line for each suite concerned: which digest file lacks them and how to make it. `set` is
 * the folder of --golden or NULL, `root` the folder golden/ or "". A call that no suite lists is not counted: nobody
 * said that its bytes are known. */
int sb_tell_unvouched(FILE *f, const struct sb_selection *cases, const char *set, const char *root);

#endif
