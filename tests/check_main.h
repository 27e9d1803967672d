/* check_main.h - main() of a Check program. Include once, after defining
 *     static Suite *make_suite(void);
 * Fails when no check ran: a filter that matches nothing must not read as a pass (CK_RUN_CASE=typo). */
#ifndef SAMEBITS_TESTS_CHECK_MAIN_H
#define SAMEBITS_TESTS_CHECK_MAIN_H

#include <check.h>
#include <stdio.h>

static Suite *make_suite(void);

int main(void)
{
    SRunner *runner = srunner_create(make_suite());
    srunner_run_all(runner, CK_ENV);
    const int ran = srunner_ntests_run(runner);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (ran == 0)
        fprintf(stderr, "no test ran: nothing was checked\n");
    return ran > 0 && failed == 0 ? 0 : 1;
}

#endif
