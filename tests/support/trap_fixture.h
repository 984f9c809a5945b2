/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ground on which the traps of shared page tables are tested: one small machine at a time, in
 * every kernel, on both MMUs, in every geometry, at an aligned and at other places.
 *
 * A row of the table of kernels that shares tables does so from a certain number of entries on.
 * Here it is from the first entry on, so that a trap needs no more than a page or two and works in
 * the tiny geometry too.
 *
 * Every operation goes through the calls that user code and programs have; loads and stores are
 * made in user mode, by real instructions on the host MMU. After every operation all invariants of
 * the machine are checked. Tasks are named by a letter; P is the first.
 *
 * What a trap looks at is the whole: what every task alive would read (trap_expect), every table
 * and entry of a span (trap_picture), the steps of the last access (trap_steps).
 */
#ifndef FORKLAB_TESTS_TRAP_FIXTURE_H
#define FORKLAB_TESTS_TRAP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>

#include "pager/map.h"
#include "pager/object.h"
#include "pager/pin.h"
#include "pager/task.h"
#include "pager/user_copy.h"

#include <cmocka.h>

enum { TRAP_MOST_TASKS = 8, TRAP_MOST_OBJECTS = 4, TRAP_TEXT_BYTES = 256 };

struct trap {
    struct machine *machine;
    struct kernel kernel;
    const struct geometry *geometry;
    enum mmu_kind mmu;
    bool shares;         /* fork shares leaf tables, however few entries they hold */
    bool refaults;       /* fork leaves to faults what they can rebuild */
    bool merges_changes; /* mappings that change join neighbours that they are like then */
    bool fills;          /* a read of an absent entry of a shared table is served in place */
    va_t span;           /* bytes of a leaf table */
    va_t base; /* where the trap lies; three pages from here on are one span's in_span places */
    struct task *tasks[TRAP_MOST_TASKS];
    char names[TRAP_MOST_TASKS];
    unsigned task_count;
    struct object *objects[TRAP_MOST_OBJECTS];
    unsigned object_count;
    uint32_t used_frames; /* before the first task */
    uint64_t recorded;    /* events in the ring before the last access */
    char where[TRAP_TEXT_BYTES];
};

typedef void trap_body(struct trap *trap);

enum trap_places {
    IN_SPAN, /* three pages from `base` on lie in one span: the first, or from the second page on */
    ANYWHERE, /* also where a span ends after the first page */
};

/* How a task leaves what it shares. */
enum trap_exit { LEAVE_BY_EXIT, LEAVE_BY_UNMAP, LEAVE_BY_EXEC, LEAVE_WAYS };

/* Runs the body everywhere. Its tasks and objects are ended, and then nothing may be lost. */
void trap_everywhere(trap_body *body, enum trap_places places);

/* A cmocka test that is run everywhere. */
#define TRAP(name, places)                                                                         \
    static void in_##name(struct trap *trap);                                                      \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        trap_everywhere(in_##name, places);                                                        \
    }                                                                                              \
    static void in_##name(struct trap *trap)

/* What else a machine may be made of. */
struct trap_size {
    uint32_t frames; /* 0: the usual few */
    struct mmu_host_options host;
};

/* One machine of a test's own: ended by trap_close(). NULL for the size: the usual. */
void trap_open(struct trap *trap, const struct kernel *kernel, const struct geometry *geometry,
               enum mmu_kind mmu, const struct trap_size *size);
void trap_close(struct trap *trap);

/* Every invariant of the machine holds. */
void trap_check(struct trap *trap);

/* A call's result is the expected one, and then every invariant holds. */
void trap_result(struct trap *trap, int result, int expected);

/* The faults that the machine counts for one load or store in user mode, which must succeed. */
uint64_t trap_faults(struct trap *trap, struct task *task, va_t va, enum access access);

/* Tasks. A task that was killed must be reaped with trap_reap() at once. */
struct task *trap_first(struct trap *trap);
struct task *trap_fork(struct trap *trap, struct task *parent, char name);
struct task *trap_vfork(struct trap *trap, struct task *parent, char name);
void trap_exit(struct trap *trap, struct task *task);
void trap_exec(struct trap *trap, struct task *task);

/* Leaves what lies from the first page of the base's span on, three spans far. */
void trap_leave(struct trap *trap, struct task *task, enum trap_exit how);

/* Mappings, at a place given; they must be granted. */
#define RW (VMA_READ | VMA_WRITE)
va_t trap_page(const struct trap *trap, unsigned page);
void trap_map(struct trap *trap, struct task *task, va_t va, uint64_t pages, uint32_t protection);
void trap_map_shared(struct trap *trap, struct task *task, va_t va, uint64_t pages);
void trap_map_object(struct trap *trap, struct task *task, va_t va, uint64_t pages, uint32_t flags,
                     struct object *object, uint64_t page);
void trap_unmap(struct trap *trap, struct task *task, va_t va, uint64_t pages);
void trap_protect(struct trap *trap, struct task *task, va_t va, uint64_t pages,
                  uint32_t protection);

/*
 * Objects, closed at the end: a file with a page for each letter, filled with it, of the host or of
 * memory alone; shared memory.
 */
struct object *trap_file(struct trap *trap, const char *letters);
struct object *trap_memory_file(struct trap *trap, const char *letters);
struct object *trap_shm(struct trap *trap, uint64_t pages);

/* Loads and stores of one byte in user mode, which must succeed; and one that must not. */
void trap_write(struct trap *trap, struct task *task, va_t va, char value);
char trap_read(struct trap *trap, struct task *task, va_t va);
void trap_dies(struct trap *trap, struct task *task, va_t va, enum access access, enum event cause);

/* The kernel's access would be answered by -EFAULT: the page cannot be reached in this way. */
void trap_refuses(struct trap *trap, struct task *task, va_t va, enum access access);

/* Pins. */
struct pin trap_pin(struct trap *trap, struct task *task, va_t va, enum access access);
void trap_unpin(struct trap *trap, struct pin *pin);
char pin_peek(const struct pin *pin);

/*
 * What every task alive would read in the first byte of these pages, without an access being made:
 * "P:ab. C:xb!". A byte of 0 is '.', what is not mapped '!', what has no right at all '#'.
 */
void trap_expect(struct trap *trap, va_t va, unsigned pages, const char *expected);

/* The same by real loads of every task. Pages shown as '!' or '#' are not touched. */
void trap_expect_loads(struct trap *trap, va_t va, unsigned pages, const char *expected);

/* The tables of the page's span in every task alive, see picture.h. */
void trap_picture(struct trap *trap, va_t va, unsigned pages, const char *expected);

/* Which table each task alive has for the page, and its share count: "P:1x2 C:1x2 D:-". */
void trap_tables(struct trap *trap, va_t va, const char *expected);

/* The steps of the last load, store or copy: "table-split cow-copy". */
void trap_steps(struct trap *trap, const char *expected);

/* Counters and counts. */
uint64_t trap_count(const struct trap *trap, enum event event);
uint32_t trap_used(struct trap *trap);
entry_t trap_entry(const struct task *task, va_t va);
uint32_t trap_references(const struct trap *trap, const struct task *task, va_t va);

/* `shared` where tables are shared, else `copied`. */
static inline const char *trap_either(const struct trap *trap, const char *shared,
                                      const char *copied)
{
    return trap->shares ? shared : copied;
}

#endif
