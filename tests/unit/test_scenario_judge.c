/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the runner says when things go wrong, and where a scenario says that it cannot run. */
#include "tests/support/emulated_fixture.h"

/* --- what goes wrong --- */

static void fails_with(const char *text, size_t failures, const char *expected)
{
    struct scenario_result result;
    struct told told;

    run_at(kernel_find("modern"), MMU_SOFT, text, &told, &result);
    assert_string_equal(told.text, expected);
    assert_int_equal(result.end, SCENARIO_FAILED);
    assert_int_equal(result.failures, failures);
}

static void failures_say_what_was_expected(void **state)
{
    (void)state;
    fails_with("P mmap A 4K rw private anon\nP write A \"hello\"\n  P read A 5 = \"HELLO\"\n", 1,
               "t:3:3: expected \"HELLO\", came \"hello\"\n");
    fails_with("P mmap A 8K rw private anon; P write A fill 1 8K\n"
               "P read A 8K = fill 2 8K\nP peek A 8K = 2\nP munmap A 1 = EFAULT\n",
               3,
               "t:2:1: expected fill 0x02 8192, came fill 0x01 8192; byte 0 is the first that "
               "differs (0x01)\n"
               "t:3:1: expected 2, came hex:0101\n"
               "t:4:1: expected EFAULT, came ok\n");
    fails_with("P mmap A 4K rw private anon at=0x40000000 fixed = 0x50000000\nP munmap A 0\n"
               "P read A 1 = hex:00 faults 0\nP read A 1 = hex:00 faults 1\nP fork C; C exit 3; P "
               "wait C = exit 4\n",
               5,
               "t:1:1: expected 0x50000000, came 0x40000000\n"
               "t:2:1: expected ok, came EINVAL\n"
               "t:3:1: expected hex:00 faults 0, came hex:00 faults 1\n"
               "t:4:1: expected hex:00 faults 1, came hex:00 faults 0\n"
               "t:5:21: expected exit 4, came exit 3 of C\n");
}

static void failing_expectations_tell_both(void **state)
{
    (void)state;
    fails_with("P mmap A 8K rw private anon; P mprotect A 4K r; P write A+4K \"x\"\n"
               "expect rss P A 8K = 8K\nexpect maps P A 12K = \"rw-p 12K\"\n"
               "expect vmas P A 1 = 0\n",
               3,
               "t:2:1: expected 8192, came 4096\n"
               "t:3:1: expected \"rw-p 12K\", came \"r--p 4K, rw-p 4K, - 4K\"\n"
               "t:4:1: expected 0, came 1\n");
}

static void a_run_goes_on_after_a_failure(void **state)
{
    (void)state;
    fails_with("P mmap A 4K r private anon\nP fork C\nC write A \"x\"\nC read A 1\n"
               "P read A 1 = hex:01\nP vfork D\nP read A 1\nD exit\nP wait D = exit 0\n",
               4,
               "t:3:1: expected ok, came SIGSEGV accerr at 0x7fffff6fe000\n"
               "t:4:1: C has ended, or never was\n"
               "t:5:1: expected hex:01, came hex:00 faults 1\n"
               "t:7:1: expected ok, but P is suspended until its vfork child execs or ends\n");
}

static void the_answer_that_holds_is_judged(void **state)
{
    struct scenario_result result;
    struct told told;
    const char *text = "P mmap A 4K rw private anon = ok\n"
                       "P munmap A 1 = EINVAL on host else ok on modern else ENOMEM\n"
                       "P mmap B 4K rw private anon = EINVAL on linux<6.18 else ok\n"
                       "P munmap B 0 = ok on 2.5.41,host\n";

    (void)state;
    run_at(kernel_find("modern"), MMU_SOFT, text, &told, &result);
    assert_string_equal(told.text, "t:4:1: expected ok, came EINVAL\n");
    run_at(kernel_find("2.5.41"), MMU_SOFT, text, &told, &result);
    assert_string_equal(told.text, "t:2:1: expected ENOMEM, came ok\n"
                                   "t:3:1: expected EINVAL, came 0x20001000\n"
                                   "t:4:1: expected ok, came EINVAL\n");
}

static void is_skipped(const char *text, const char *why)
{
    struct scenario_result result;
    struct told told;

    run_at(kernel_find("modern"), MMU_SOFT, text, &told, &result);
    assert_int_equal(result.end, SCENARIO_SKIPPED);
    assert_string_equal(result.why, why);
    assert_int_equal(result.done, 0);
}

static void a_scenario_says_where_it_can_run(void **state)
{
    (void)state;
    is_skipped("needs host\nP exit\n", "t:1:1: it is for the real kernel (--host)");
    is_skipped("needs swap\nP exit\n", "t:1:1: it needs swap, which is not there");
    is_skipped("needs linux < 6.17\nP exit\n", "t:1:1: it is for other kernels than modern");
    is_skipped("needs kernel 2.5.41\nP exit\n", "t:1:1: it is for other kernels than modern");
    is_skipped("needs shared-tables\nP exit\n", "t:1:1: modern does not share page tables");
    is_skipped("needs geometry tiny\nP exit\n", "t:1:1: it is for the geometry tiny (--geometry)");
    holds_everywhere("needs emulated; needs geometry x86-64; needs linux < 7.0\nP exit\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_say_what_was_expected),
        cmocka_unit_test(failing_expectations_tell_both),
        cmocka_unit_test(a_run_goes_on_after_a_failure),
        cmocka_unit_test(the_answer_that_holds_is_judged),
        cmocka_unit_test(a_scenario_says_where_it_can_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
