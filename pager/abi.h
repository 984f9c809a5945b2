/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of Linux's memory calls on x86-64, as user programs pass them: what a scenario
 * writes, what a log of system calls shows, what the checks at the kernel's door (abi_call.c) look
 * at.
 *
 * They are Linux's (include/uapi/asm-generic/mman-common.h and mman.h, asm-generic/siginfo.h),
 * under names of our own, since the headers of the host that have them belong to host_*.c; there
 * each is compared with the host's at compile time.
 */
#ifndef FORKLAB_PAGER_ABI_H
#define FORKLAB_PAGER_ABI_H

enum abi_prot { ABI_PROT_NONE = 0, ABI_PROT_READ = 1, ABI_PROT_WRITE = 2, ABI_PROT_EXEC = 4 };

#define ABI_MAP_SHARED 0x01u
#define ABI_MAP_PRIVATE 0x02u
#define ABI_MAP_SHARED_VALIDATE 0x03u
#define ABI_MAP_TYPE 0x0fu
#define ABI_MAP_FIXED 0x10u
#define ABI_MAP_ANONYMOUS 0x20u
#define ABI_MAP_GROWSDOWN 0x100u
#define ABI_MAP_LOCKED 0x2000u
#define ABI_MAP_NORESERVE 0x4000u
#define ABI_MAP_POPULATE 0x8000u
#define ABI_MAP_NONBLOCK 0x10000u
#define ABI_MAP_STACK 0x20000u
#define ABI_MAP_FIXED_NOREPLACE 0x100000u

#define ABI_MREMAP_MAYMOVE 1u
#define ABI_MREMAP_FIXED 2u
#define ABI_MREMAP_DONTUNMAP 4u

#define ABI_MS_ASYNC 1u
#define ABI_MS_INVALIDATE 2u
#define ABI_MS_SYNC 4u

enum abi_advice {
    ABI_MADV_NORMAL = 0,
    ABI_MADV_RANDOM = 1,
    ABI_MADV_SEQUENTIAL = 2,
    ABI_MADV_WILLNEED = 3,
    ABI_MADV_DONTNEED = 4,
    ABI_MADV_FREE = 8,
    ABI_MADV_REMOVE = 9,
    ABI_MADV_DONTFORK = 10,
    ABI_MADV_DOFORK = 11,
    ABI_MADV_DONTDUMP = 16,
    ABI_MADV_DODUMP = 17,
    ABI_MADV_WIPEONFORK = 18,
    ABI_MADV_KEEPONFORK = 19,
    ABI_MADV_COLD = 20,
    ABI_MADV_PAGEOUT = 21,
    ABI_MADV_POPULATE_READ = 22,
    ABI_MADV_POPULATE_WRITE = 23,
    ABI_MADV_DONTNEED_LOCKED = 24,
    ABI_MADV_GUARD_INSTALL = 102,
    ABI_MADV_GUARD_REMOVE = 103,
};

enum abi_signal { ABI_SIGBUS = 7, ABI_SIGKILL = 9, ABI_SIGSEGV = 11 };

/* si_code of a bad access. */
enum abi_signal_code {
    ABI_SEGV_MAPERR = 1,
    ABI_SEGV_ACCERR = 2,
    ABI_BUS_ADRERR = 2,
    ABI_SI_KERNEL = 128,
};

#endif
