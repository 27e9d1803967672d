/* main.c - the samebits program. */
#include "verbs.h"

int main(int argc, char **argv)
{
    return sb_main(argc, argv);
}
