/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The smallest program worth an exec: it reads a word of its text, writes a word of its data and a
 * word of its stack, and exits with 0. No libc; tiny.ld lays it out.
 */
#define SYSCALL_EXIT 60L

/* Not zero, or it would land in a .bss. */
static volatile long data_word = 1;

_Noreturn void _start(void); /* NOLINT: the linker's name for the entry point */

__attribute__((aligned(sizeof(long)))) _Noreturn void _start(void) /* NOLINT */
{
    const volatile long *text = (const volatile long *)(const void *)_start;
    volatile long stack_word = *text;

    data_word = stack_word;
    for (;;) {
        __asm__ volatile("syscall" : : "a"(SYSCALL_EXIT), "D"(0L) : "rcx", "r11", "memory");
    }
}
