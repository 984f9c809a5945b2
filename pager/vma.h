/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VMAs: what is mapped where in an address space, and with which rights.
 *
 * The VMAs of an address space are page-aligned, ordered and disjoint. One that maps an object is
 * also on the object's list, which is the way from an object to its mappings.
 *
 * Anonymous memory has pages by number too: the address that it was first mapped at, which mremap
 * keeps. A VMA that was written privately has a family (anon_family.h). Both decide which
 * neighbours can be one VMA (vma_merge.h).
 *
 * Behind each VMA lie the links of the kernel's index (vma_links()), which alone knows them.
 *
 * COW depends on `private and may write`, never on the protection of the moment: a mapping may be
 * read-only at fork and writable again after it.
 */
#ifndef FORKLAB_PAGER_VMA_H
#define FORKLAB_PAGER_VMA_H

#include "pager/vma_index.h"
#include "pt/types.h"

struct anon_family;
struct anon_link;
struct mm;
struct object;

#define VMA_READ (1u << 0)
#define VMA_WRITE (1u << 1)
#define VMA_EXEC (1u << 2)
#define VMA_PROTECTION (VMA_READ | VMA_WRITE | VMA_EXEC)
#define VMA_SHARED (1u << 3)
#define VMA_MAY_WRITE (1u << 4)
#define VMA_GROWS_DOWN (1u << 5)
#define VMA_DONT_FORK (1u << 6)
#define VMA_WIPE_ON_FORK (1u << 7)
#define VMA_LOCKED (1u << 8)
#define VMA_ANCESTRY                                                                               \
    (1u << 9) /* was written privately, here or before a fork: has anonymous pages */

#define VMA_ACCOUNT (1u << 10)    /* its memory is promised: private and, at some time, writable */
#define VMA_NO_RESERVE (1u << 11) /* MAP_NORESERVE */
/* Advice, which says nothing about entries but keeps neighbours apart. */
#define VMA_SEQUENTIAL (1u << 12)
#define VMA_RANDOM (1u << 13)
#define VMA_DONT_DUMP (1u << 14)
#define VMA_NO_HUGE_PAGE (1u << 15) /* MAP_STACK */

#define VMA_NEEDS_COPY (1u << 17)  /* UVM: the amap is another's too; its own at the next write */
#define VMA_MAYBE_GUARD (1u << 16) /* guard pages were installed: fork hands its entries on */

/* Flags that keep no neighbours apart: of two that become one, the one has those of both. */
#define VMA_STICKY (VMA_ANCESTRY | VMA_MAYBE_GUARD)

/* Flags that touch entries: sharers of a table must agree on them. */
#define VMA_LAYOUT_FLAGS                                                                           \
    (VMA_PROTECTION | VMA_SHARED | VMA_MAY_WRITE | VMA_GROWS_DOWN | VMA_DONT_FORK |                \
     VMA_WIPE_ON_FORK | VMA_LOCKED)

/* Flags of VMAs whose span's table is copied at fork, never shared. */
#define VMA_NOT_SHARED (VMA_DONT_FORK | VMA_WIPE_ON_FORK | VMA_LOCKED)

struct vma {
    va_t start;
    va_t end;
    uint32_t flags;
    struct mm *mm;
    struct object *object;      /* NULL: private anonymous */
    uint64_t object_page;       /* of the object, at `start` */
    struct anon_family *family; /* NULL: was never written privately */
    struct anon_link *links;    /* with its family and all that it descends from */
    bool left_apart;            /* could be one with the VMA below, which the kernel left so */
    struct vma *object_next;
    struct vma *object_previous;
};

/* What the kernel's index keeps beside the VMA. */
static inline void *vma_links(const struct vma *vma)
{
    return (void *)(uintptr_t)(vma + 1);
}

static inline bool vma_contains(const struct vma *vma, va_t va)
{
    return vma->start <= va && va < vma->end;
}

static inline bool vma_is_private(const struct vma *vma)
{
    return (vma->flags & VMA_SHARED) == 0;
}

/* The page of the object that backs `va`. */
static inline uint64_t vma_object_page(const struct vma *vma, va_t va)
{
    return vma->object_page + ((va - vma->start) >> PAGE_SHIFT);
}

/* May this access be made, by the mapping's protection? Writable and executable pages are readable,
 * as on x86. */
static inline bool vma_permits(const struct vma *vma, bool write)
{
    return (vma->flags & (write ? VMA_WRITE : VMA_PROTECTION)) != 0;
}

/* Is memory promised to a mapping with these flags? */
static inline bool flags_need_account(uint32_t flags)
{
    return (flags & (VMA_WRITE | VMA_SHARED | VMA_NO_RESERVE)) == VMA_WRITE;
}

/* What a new VMA is made of. */
struct vma_shape {
    va_t start;
    va_t end;
    uint32_t flags;
    struct object *object; /* a further reference is taken */
    uint64_t object_page;
};

/* Enough memory for `more` further VMAs in the address space: -ENOMEM. */
int vma_reserve(struct mm *mm, uint32_t more);

/* Enough memory for a copy of each VMA of another address space, in one that is empty. */
int vma_reserve_copy(struct mm *mm, const struct mm *from);

/* A new VMA in its address space; reserved. */
struct vma *vma_insert(struct mm *mm, const struct vma_shape *shape);

/*
 * Fills an empty address space with copies of another one's VMAs: what `copy` makes with
 * vma_make(), in order. Reserved.
 */
void vma_duplicate_all(struct mm *mm, struct mm *from, vma_copier *copy, void *context);

/* A VMA that is in no index yet, the same as another one but for address space and families. */
struct vma *vma_make_like(struct mm *mm, const struct vma *vma);

/* Gives a VMA other ends, between the same neighbours. */
void vma_set_range(struct vma *vma, va_t start, va_t end);

/* Takes the VMA out of its address space and gives it back, with its reference to the object. */
void vma_remove(struct vma *vma);

/* Gives back every VMA of an address space that ends. */
void vma_remove_all(struct mm *mm);

/* Cuts a VMA in two at a page inside it; returns the upper part. Reserved. */
struct vma *vma_split(struct vma *vma, va_t at);

/* Does `upper` continue `lower`, so that one VMA can stand for both? */
bool vma_continues(const struct vma *lower, const struct vma *upper);

/*
 * Maps a range in which nothing is mapped: a neighbour grows over it, or it is a VMA of its own.
 * Returns the VMA that then covers it. `of`: the VMA that moves there, or NULL. Reserved: one VMA.
 */
struct vma *vma_map(struct mm *mm, const struct vma_shape *shape, const struct vma *of);

/* Maps the range from the VMA's end up to `end`, in which nothing is mapped, as more of the VMA;
 * returns the VMA that then covers it. */
struct vma *vma_grow(struct vma *vma, va_t end);

/* The same as vma_map() for memory that may only be one with what lies below it (NULL: nothing), as
 * a heap. */
struct vma *vma_map_behind(struct mm *mm, const struct vma_shape *shape, struct vma *previous);

/*
 * Gives [start, end), which lies within `*vma`, other flags: joins it with the neighbours that it
 * is like then, else cuts the VMA. `*vma` is then the one that covers the range. Reserved: two
 * VMAs.
 * -ENOMEM: that would be too many VMAs. One cut may have been made, but nothing has new flags.
 */
int vma_modify(struct vma **vma, va_t start, va_t end, uint32_t flags);

/* Joins a VMA with the neighbours that continue it; returns the VMA that then stands there. */
struct vma *vma_merge(struct vma *vma);

/* The kernel leaves the VMA apart from neighbours that continue it: they are marked. */
void vma_leave_apart(struct vma *vma);

/* Cuts the VMA around `at`, if there is one, and leaves the halves apart. Reserved: one VMA. */
void vma_cut_apart(struct mm *mm, va_t at);

/* -ENOMEM if `more` further VMAs would be more than the address space may have. */
int vma_room(const struct mm *mm, uint32_t more);

/* Removes every VMA in [start, end), cutting those at the ends. Reserved: one VMA. */
void vma_remove_range(struct mm *mm, va_t start, va_t end);

/* The first VMA that ends above `va`, and the one after a VMA; NULL when there is none. */
struct vma *vma_find(struct mm *mm, va_t va);

/* The same for onlookers, whose questions count for nothing; and the lowest VMA of all. */
struct vma *vma_look(const struct mm *mm, va_t va);
static inline struct vma *vma_first(const struct mm *mm)
{
    return vma_look(mm, 0);
}

struct vma *vma_next(const struct vma *vma);
struct vma *vma_previous(const struct vma *vma);

/* The last VMA that starts below `va`, or NULL. */
struct vma *vma_last_below(struct mm *mm, va_t va);

/* Does any VMA lie in [start, end), in part at least? */
bool vma_any_in(struct mm *mm, va_t start, va_t end);

#endif
