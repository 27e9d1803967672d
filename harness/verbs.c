/* verbs.c - the list of verbs, the usage text and the way from argv to a verb. */
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "text.h"

#ifndef SAMEBITS_VERSION
#define SAMEBITS_VERSION "unknown"
#endif

const struct sb_verb *const sb_verbs[] = {
    &sb_verb_info, &sb_verb_list,  &sb_verb_check, &sb_verb_golden_make, &sb_verb_golden_verify,
    &sb_verb_diff, &sb_verb_bench, &sb_verb_probe, &sb_verb_worker,      NULL,
};

void sb_usage(FILE *f, const char *program)
{
    fprintf(f, "%s VERB [OPTIONS]: do your kernel and the reference give the same bits?\n\n", program);
    for (int i = 0; sb_verbs[i] != NULL; i++)
        if (!sb_verbs[i]->hidden)
            fprintf(f, "  %-15s %s\n", sb_verbs[i]->table->verb, sb_verbs[i]->table->summary);
    fprintf(f,
            "\n%s VERB --help explains a verb; %s --version names the version.\n"
            "Exit status: 0 all that ran passed and something ran; 1 a mismatch; 2 bad usage or bad input;\n"
            "3 nothing could run, or less than --require asked for; 130 interrupted.\n",
            program, program);
}

/* Does `verb` ("golden make") start at argv[1]? Returns its number of words, or 0. */
static int words_matching(const char *verb, int argc, char **argv)
{
    char word[32];
    int n = 0;
    for (const char *cursor = verb; sb_next_word(&cursor, ' ', word, sizeof word); n++)
        if (n + 1 >= argc || strcmp(argv[n + 1], word) != 0)
            return 0;
    return n;
}

const struct sb_verb *sb_verb_find(int argc, char **argv, int *words, struct sb_error *err)
{
    char typed[96], near_text[160];
    for (int i = 0; sb_verbs[i] != NULL; i++)
        if ((*words = words_matching(sb_verbs[i]->table->verb, argc, argv)) > 0)
            return sb_verbs[i];
    const bool golden = strcmp(argv[1], "golden") == 0;
    snprintf(typed, sizeof typed, "%.40s%s%.40s", argv[1], golden && argc > 2 ? " " : "",
             golden && argc > 2 ? argv[2] : "");
    struct sb_near near = {.wanted = typed};
    for (int i = 0; sb_verbs[i] != NULL; i++)
        if (!sb_verbs[i]->hidden)
            sb_near_offer(&near, sb_verbs[i]->table->verb);
    sb_fail(err, SB_EXIT_BAD_INPUT, "no verb '%s'%s (see: samebits --help)", typed,
            sb_near_text(&near, near_text, sizeof near_text));
    return NULL;
}

/* "golden --help": the verbs that begin with this word. False where none does. */
static bool explain_first_word(const char *word, const char *program)
{
    char first[32];
    bool any = false;
    for (int i = 0; sb_verbs[i] != NULL; i++) {
        const char *cursor = sb_verbs[i]->table->verb;
        if (strchr(cursor, ' ') == NULL || !sb_next_word(&cursor, ' ', first, sizeof first) || strcmp(first, word) != 0)
            continue;
        if (!any)
            printf("%s %s is the first word of these verbs:\n\n", program, word);
        printf("  %-15s %s\n", sb_verbs[i]->table->verb, sb_verbs[i]->table->summary);
        any = true;
    }
    return any;
}

static int run_verb(const struct sb_verb *verb, const char *program, int argc, char **argv, struct sb_error *err)
{
    struct sb_options o;
    int status = SB_EXIT_BAD_INPUT;
    const bool parsed = sb_options_parse(&o, verb->table, argc, argv, err);
    o.program = program;
    if (parsed && o.help) {
        sb_options_help(stdout, program, verb->table);
        status = SB_EXIT_OK;
    } else if (parsed) {
        status = verb->run(&o, err);
    }
    sb_options_free(&o);
    return status;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* A file opened later must not become stdin, stdout or stderr because the caller closed those. What is printed on a
 * closed stdout is an output that cannot be written. */
static void fill_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) /* open() takes the lowest free number: this one */
            (void)open(fd == 0 ? "/dev/null" : "/dev/full", fd == 0 ? O_RDONLY : O_WRONLY);
}

int sb_main(int argc, char **argv)
{
    struct sb_error err = {0};
    fill_standard_files();
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit on file sizes is then an error, with a text */
    int words = 0, status = SB_EXIT_BAD_INPUT;
    const char *program = argc > 0 ? argv[0] : "samebits";
    if (argc < 2) {
        sb_usage(stderr, program);
        return SB_EXIT_BAD_INPUT;
    }
    if (is_one_of(argv[1], "--help", "-h") || strcmp(argv[1], "help") == 0) {
        sb_usage(stdout, program);
        status = SB_EXIT_OK;
    } else if (strcmp(argv[1], "--version") == 0) {
        printf("samebits %s\n", SAMEBITS_VERSION);
        status = SB_EXIT_OK;
    } else if (argc == 3 && is_one_of(argv[2], "--help", "-h") && explain_first_word(argv[1], program)) {
        status = SB_EXIT_OK;
    } else {
        const struct sb_verb *verb = sb_verb_find(argc, argv, &words, &err);
        if (verb != NULL)
            status = run_verb(verb, program, argc - words, argv + words, &err);
    }
    if (err.text[0] != '\0')
        sb_print_line(stderr, "samebits: %s", err.text);
    /* A full disk or a closed pipe behind stdout must not read as success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == SB_EXIT_OK) {
        fprintf(stderr, "samebits: the output could not be written\n");
        status = SB_EXIT_BAD_INPUT;
    }
    return status;
}
