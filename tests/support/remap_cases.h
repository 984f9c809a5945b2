/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cases of mremap, as data: what is mapped, what is called, and what Linux 6.18 made of it. Places
 * are pages from a base on.
 */
#ifndef FORKLAB_TESTS_REMAP_CASES_H
#define FORKLAB_TESTS_REMAP_CASES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "pager/abi.h"

enum {
    CASE_MAPPINGS = 4,
    CASE_CALLS = 3,
    CASE_REGION_PAGES = 64,
    CASE_FILE_PAGES = 3,
};

/* The file of the cases: a page of F, one of G, one of H. */
#define CASE_FILE_LETTERS "FGH"

enum case_kind {
    CASE_PRIVATE, /* anonymous, readable and writable */
    CASE_READ_ONLY,
    CASE_NO_RIGHT,
    CASE_GROWS_DOWN,
    CASE_SHARED, /* anonymous, an object of its own */
    CASE_FILE,   /* private, of the file */
    CASE_SHARED_FILE,
};

struct case_mapping {
    enum case_kind kind;
    unsigned page;
    unsigned pages;    /* 0: no mapping */
    const char *bytes; /* the first byte of each page that is written; '.' is not; NULL: none */
};

/* Results beside a page number and a negative errno. */
#define CASE_ELSEWHERE 100000 /* a free place of the kernel's choice */

/* As many pages as the address space has. */
#define CASE_WHOLE_SPACE UINT64_MAX

struct case_call {
    unsigned from;
    uint64_t old_pages;
    uint64_t new_pages; /* 0: no call */
    uint32_t flags;     /* ABI_MREMAP_* */
    uint64_t to;
    int result;
};

/*
 * Mappings of the region in the end, and after '*' what stands at a place of the kernel's choice:
 * "0-2 rw-p ab | 4-6 rw-s@1 c.": pages, rights, private or shared, 'd' for one that grows down, the
 * page of the object, and the first byte of each page: '.' for 0, '!' where it cannot be read.
 */
struct remap_case {
    const char *name;
    struct case_mapping mappings[CASE_MAPPINGS];
    struct case_call calls[CASE_CALLS];
    const char *picture;
    const char *picture_alike; /* where merging asks for likeness alone; NULL: the same */
};

extern const struct remap_case remap_cases[];
extern const size_t remap_case_count;

#endif
