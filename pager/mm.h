/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An address space: VMAs, a tree of tables, and where things go in it.
 *
 * Layout, lowest first: the program and its heap; mappings, placed upwards from `map_base` or
 * downwards from `map_top` as the kernel's policy says; the stack, which ends at `user_end`.
 */
#ifndef FORKLAB_PAGER_MM_H
#define FORKLAB_PAGER_MM_H

#include "pager/find_cache.h"
#include "pager/free_space.h"
#include "pager/machine.h"
#include "pager/vma.h"
#include "pt/share.h"

struct mm {
    struct machine *machine;
    uint32_t users; /* tasks that have it: more than one after vfork */
    struct pt_tree tree;
    struct mmu_space *space; /* NULL until user mode is entered, or when the MMU took it back */
    struct vma_index index;
    struct find_memory find;
    va_t user_end;
    va_t map_base;
    va_t map_top;
    struct free_memory free;
    va_t heap_start;
    va_t heap_end; /* the break, as given */
    va_t stack_pointer;
    uint64_t stack_limit_bytes;
    uint64_t stack_gap_bytes; /* kept free below a stack */
    uint64_t huge_bytes; /* anonymous memory of a multiple of it is aligned to it; 0: none is */
    uint32_t most_vmas;
    uint32_t family_vmas;     /* VMAs that have a family */
    uint32_t most_links;      /* of a VMA with families, so far */
    uint64_t most_pages;      /* as setrlimit(2) limits: mapped in all, UINT64_MAX: no limit */
    uint64_t most_data_pages; /* and private and writable */
};

/* An empty address space with one user: -ENOMEM. Lock held, as everywhere below. */
int mm_create(struct machine *machine, struct mm **mm);

/* Ends it: revokes all, drops its tables and VMAs. Nobody runs in it. */
void mm_destroy(struct mm *mm);

/* One user less, who does not run in it; the last one ends it. */
void mm_put(struct mm *mm);

/* Takes the layout over from another one, as fork does. */
void mm_copy_layout(struct mm *mm, const struct mm *from);

/* Takes the limits over alone, as exec does. */
void mm_copy_limits(struct mm *mm, const struct mm *from);

/* Maps the stack at its place. -ENOMEM. */
int mm_map_stack(struct mm *mm);

/* Stops letting anything, or any write, through in [start, end). */
void mm_revoke(struct mm *mm, va_t start, va_t end);
void mm_write_protect(struct mm *mm, va_t start, va_t end);

/* May so many further pages be mapped with these flags, by the limits? */
bool mm_may_expand(struct mm *mm, uint32_t flags, uint64_t pages);

/* Do pages of these flags count as data (RLIMIT_DATA): private, writable, no stack? */
static inline bool flags_are_data(uint32_t flags)
{
    return (flags & (VMA_WRITE | VMA_SHARED | VMA_GROWS_DOWN)) == VMA_WRITE;
}

/* Pages mapped, in all or those that count as data. */
uint64_t mm_mapped_pages(struct mm *mm, bool data_only);

/* Resident pages by kind of frame, the zero frame's in [FRAME_ZERO]; and table frames of its own:
 * upper tables and leaf tables that nobody shares. */
struct mm_usage {
    uint64_t resident[FRAME_KINDS];
    uint32_t own_tables;
    uint32_t shared_tables;
};

void mm_usage(struct mm *mm, struct mm_usage *usage);

/* The address space of a tree. */
static inline struct mm *mm_of_tree(const struct pt_tree *tree)
{
    return tree->owner;
}

#endif
