/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A larger program for an exec: several segments, of many pages, as a shell has them. Only its
 * segments are of use: forklab maps them, reads and writes them, and does what a shell would do
 * itself. Run by a processor it exits with 0. No libc; shell.ld lays it out.
 */
#define SYSCALL_EXIT 60L

enum { TABLE_WORDS = 8192, DATA_WORDS = 4096, LATE_WORDS = 2048 };

/* Not zero, or they would land in a .bss. */
__attribute__((used)) const long shell_table[TABLE_WORDS] = {1};
volatile long shell_data[DATA_WORDS] = {1};
__attribute__((section(".late"))) volatile long shell_late[LATE_WORDS] = {1};

_Noreturn void _start(void); /* NOLINT: the linker's name for the entry point */

_Noreturn void _start(void) /* NOLINT */
{
    shell_data[0] = *(const volatile long *)shell_table;
    shell_late[0] = shell_data[0];
    for (;;) {
        __asm__ volatile("syscall" : : "a"(SYSCALL_EXIT), "D"(0L) : "rcx", "r11", "memory");
    }
}
