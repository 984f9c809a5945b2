/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machines for traps, and the operations on them; trap_view.c looks at them. */
#include "tests/support/trap_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pager/file.h"
#include "pager/invariant.h"
#include "tests/support/elf_file.h"

enum { TRAP_RAM_FRAMES = 384, TRAP_FIRST_SPAN = 4 };

/* The machine of a test that failed half-way stays, its trap does not; the next test ends it. */
static struct machine *left_over;
static struct kernel left_over_kernel;

static void end_left_over(void)
{
    if (left_over == NULL)
        return;
    left_over->kernel = &left_over_kernel;
    machine_destroy(left_over);
    left_over = NULL;
}

static void describe(struct trap *trap)
{
    (void)snprintf(trap->where, sizeof(trap->where), "%s, %s MMU, %s, base 0x%llx",
                   trap->kernel.name, trap->mmu == MMU_HOST ? "host" : "soft", trap->geometry->name,
                   (unsigned long long)trap->base);
}

void trap_open(struct trap *trap, const struct kernel *kernel, const struct geometry *geometry,
               enum mmu_kind mmu, const struct trap_size *size)
{
    char problem[256];

    end_left_over();
    *trap = (struct trap){
        .kernel = *kernel, .geometry = geometry, .mmu = mmu, .span = geometry_span_bytes(geometry)};
    trap->shares = trap->kernel.sharing == SHARING_LEAF && trap->kernel.least_shared_entries <= 1;
    trap->refaults = trap->kernel.fork_entries != FORK_COPIES_ALL;
    trap->merges_changes = trap->kernel.merging->on_change;
    trap->fills = trap->shares && trap->kernel.absent_entry == ABSENT_FILLED;
    trap->base = TRAP_FIRST_SPAN * trap->span;
    struct machine_options options = {.kernel = &trap->kernel,
                                      .geometry = geometry,
                                      .mmu = mmu,
                                      .ram_bytes = TRAP_RAM_FRAMES * PAGE_BYTES};

    if (size != NULL)
        options.host = size->host;
    if (size != NULL && size->frames != 0)
        options.ram_bytes = size->frames * PAGE_BYTES;
    if (machine_create(&trap->machine, &options, problem, sizeof(problem)) != 0)
        fail_msg("%s", problem);
    left_over = trap->machine;
    left_over_kernel = trap->kernel;
    trap->used_frames = machine_used_frames(trap->machine);
    describe(trap);
}

void trap_close(struct trap *trap)
{
    while (trap->task_count > 0)
        trap_exit(trap, trap->tasks[trap->task_count - 1]);
    for (unsigned i = 0; i < trap->object_count; i++)
        object_close(trap->machine, trap->objects[i]);
    trap_check(trap);
    uint32_t used = machine_used_frames(trap->machine);

    if (used != trap->used_frames)
        fail_msg("%s: %u frames are lost", trap->where, (unsigned)(used - trap->used_frames));
    assert_int_equal(trap->machine->vmas.used_count, 0);
    assert_int_equal(trap->machine->mms.used_count, 0);
    assert_int_equal(trap->machine->tasks.used_count, 0);
    assert_int_equal(trap->machine->objects.used_count, 0);
    machine_destroy(trap->machine);
    left_over = NULL;
}

static void run_at(trap_body *body, const struct kernel *kernel, const struct geometry *geometry,
                   enum mmu_kind mmu, int64_t offset)
{
    struct trap trap;

    trap_open(&trap, kernel, geometry, mmu, NULL);
    trap.base += (uint64_t)offset;
    describe(&trap);
    body(&trap);
    trap_close(&trap);
}

static void run_in_kernel(trap_body *body, enum trap_places places, const struct kernel *kernel)
{
    for (size_t i = 0; geometries[i] != NULL; i++) {
        for (int mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
            run_at(body, kernel, geometries[i], (enum mmu_kind)mmu, 0);
            run_at(body, kernel, geometries[i], (enum mmu_kind)mmu, (int64_t)PAGE_BYTES);
            if (places == ANYWHERE)
                run_at(body, kernel, geometries[i], (enum mmu_kind)mmu, -(int64_t)PAGE_BYTES);
        }
    }
}

void trap_everywhere(trap_body *body, enum trap_places places)
{
    for (size_t i = 0; i < kernel_count; i++) {
        struct kernel kernel = kernels[i];

        kernel.least_shared_entries = 1;
        run_in_kernel(body, places, &kernel);
    }
}

void trap_check(struct trap *trap)
{
    char why[512];

    if (!machine_invariants_hold(trap->machine, why, sizeof(why)))
        fail_msg("%s: %s", trap->where, why);
}

void trap_result(struct trap *trap, int result, int expected)
{
    if (result != expected)
        fail_msg("%s: the call says %d, not %d", trap->where, result, expected);
    trap_check(trap);
}

/* A result that must be 0, and then the invariants. */
static void done(struct trap *trap, const char *what, int error)
{
    if (error != 0)
        fail_msg("%s: %s failed with %d", trap->where, what, error);
    trap_check(trap);
}

/* --- tasks --- */

static void name_task(struct trap *trap, struct task *task, char name)
{
    assert_in_range(trap->task_count, 0, TRAP_MOST_TASKS - 1);
    trap->tasks[trap->task_count] = task;
    trap->names[trap->task_count++] = name;
}

static void forget_task(struct trap *trap, const struct task *task)
{
    unsigned place = 0;

    while (trap->tasks[place] != task)
        place++;
    trap->task_count--;
    for (; place < trap->task_count; place++) {
        trap->tasks[place] = trap->tasks[place + 1];
        trap->names[place] = trap->names[place + 1];
    }
}

/* Enters user mode and leaves it: the stack is there from now on. */
static void touch_nothing(struct forklab_user *user, void *argument)
{
    (void)user;
    (void)argument;
}

struct task *trap_first(struct trap *trap)
{
    struct task *task = NULL;

    done(trap, "task_create", task_create(trap->machine, &task));
    name_task(trap, task, 'P');
    done(trap, "task_run", task_run(task, touch_nothing, NULL));
    return task;
}

struct task *trap_fork(struct trap *trap, struct task *parent, char name)
{
    struct task *child = NULL;

    done(trap, "fork", sys_fork(parent, &child));
    name_task(trap, child, name);
    return child;
}

struct task *trap_vfork(struct trap *trap, struct task *parent, char name)
{
    struct task *child = NULL;

    done(trap, "vfork", sys_vfork(parent, &child));
    name_task(trap, child, name);
    return child;
}

void trap_exit(struct trap *trap, struct task *task)
{
    struct task *parent = task != NULL ? task->parent : NULL;
    struct task_status status = {0};

    forget_task(trap, task);
    done(trap, "exit", task_exit(task, 3));
    if (parent == NULL)
        return;
    done(trap, "wait", sys_wait(parent, task, &status));
    assert_false(status.killed);
    assert_int_equal(status.exit_code, 3);
}

void trap_exec(struct trap *trap, struct task *task)
{
    struct elf_file file;
    char problem[160] = "";

    elf_file_init(&file, PAGE_BYTES);
    struct object *object = elf_file_object(trap->machine, &file);
    int error = sys_exec(task, object, NULL, problem, sizeof(problem));

    if (error != 0)
        fail_msg("%s: exec failed with %d: %s", trap->where, error, problem);
    object_close(trap->machine, object);
    trap_check(trap);
}

void trap_leave(struct trap *trap, struct task *task, enum trap_exit how)
{
    va_t start = geometry_span_start(trap->geometry, trap->base);

    if (how == LEAVE_BY_EXIT)
        trap_exit(trap, task);
    else if (how == LEAVE_BY_EXEC)
        trap_exec(trap, task);
    else
        trap_unmap(trap, task, start, 3 * trap->span / PAGE_BYTES);
}

/* --- mappings --- */

va_t trap_page(const struct trap *trap, unsigned page)
{
    return trap->base + page * PAGE_BYTES;
}

static void map_request(struct trap *trap, struct task *task, const struct map_request *request)
{
    va_t address = 0;

    done(trap, "mmap", sys_mmap(task, request, &address));
    assert_int_equal(address, request->address);
}

void trap_map(struct trap *trap, struct task *task, va_t va, uint64_t pages, uint32_t protection)
{
    map_request(trap, task,
                &(struct map_request){.address = va,
                                      .bytes = pages * PAGE_BYTES,
                                      .protection = protection,
                                      .flags = MAP_REQUEST_FIXED});
}

void trap_map_shared(struct trap *trap, struct task *task, va_t va, uint64_t pages)
{
    map_request(trap, task,
                &(struct map_request){.address = va,
                                      .bytes = pages * PAGE_BYTES,
                                      .protection = RW,
                                      .flags = MAP_REQUEST_FIXED | MAP_REQUEST_SHARED});
}

void trap_map_object(struct trap *trap, struct task *task, va_t va, uint64_t pages, uint32_t flags,
                     struct object *object, uint64_t page)
{
    map_request(trap, task,
                &(struct map_request){.address = va,
                                      .bytes = pages * PAGE_BYTES,
                                      .protection = RW,
                                      .flags = MAP_REQUEST_FIXED | flags,
                                      .object = object,
                                      .offset_bytes = page * PAGE_BYTES});
}

void trap_unmap(struct trap *trap, struct task *task, va_t va, uint64_t pages)
{
    done(trap, "munmap", sys_munmap(task, va, pages * PAGE_BYTES));
}

void trap_protect(struct trap *trap, struct task *task, va_t va, uint64_t pages,
                  uint32_t protection)
{
    done(trap, "mprotect", sys_mprotect(task, va, pages * PAGE_BYTES, protection));
}

struct object *trap_file(struct trap *trap, const char *letters)
{
    uint8_t data[8 * PAGE_BYTES];
    size_t pages = strlen(letters);

    assert_in_range(pages, 1, 8);
    for (size_t page = 0; page < pages; page++)
        memset(data + page * PAGE_BYTES, letters[page], PAGE_BYTES);
    FILE *stream = stream_of_bytes(data, pages * PAGE_BYTES);
    struct object *object = object_of_stream(trap->machine, stream);

    (void)fclose(stream);
    trap->objects[trap->object_count++] = object;
    return object;
}

struct object *trap_memory_file(struct trap *trap, const char *letters)
{
    struct object *object = NULL;
    uint8_t data[PAGE_BYTES];
    size_t pages = strlen(letters);

    done(trap, "memory_file_create",
         memory_file_create(trap->machine, pages * PAGE_BYTES, &object));
    for (size_t page = 0; page < pages; page++) {
        memset(data, letters[page], PAGE_BYTES);
        assert_int_equal(file_write(trap->machine, object, page * PAGE_BYTES, data, PAGE_BYTES),
                         PAGE_BYTES);
    }
    trap_check(trap);
    trap->objects[trap->object_count++] = object;
    return object;
}

struct object *trap_shm(struct trap *trap, uint64_t pages)
{
    struct object *object = NULL;

    done(trap, "shm_create", shm_create(trap->machine, pages * PAGE_BYTES, &object));
    trap->objects[trap->object_count++] = object;
    return object;
}

/* --- accesses --- */

struct user_access {
    struct machine *machine;
    va_t va;
    enum access access;
    uint8_t value;
    uint64_t recorded; /* events before it */
    uint64_t faults;   /* that it took */
};

static void make_access(struct forklab_user *user, void *argument)
{
    struct user_access *made = argument;
    const struct event_log *events = &made->machine->events;
    /* It changes behind the compiler's back: the access below may fault. */
    const volatile uint64_t *counted = &events->counts[EVENT_FAULT];
    uint64_t faults = *counted;

    made->recorded = events->recorded;
    if (made->access == ACCESS_WRITE)
        forklab_store8(user, made->va, made->value);
    else
        made->value = forklab_load8(user, made->va);
    made->faults = *counted - faults;
}

static int run_access(struct trap *trap, struct task *task, struct user_access *made)
{
    made->machine = trap->machine;
    int result = task_run(task, make_access, made);

    trap->recorded = made->recorded;
    return result;
}

void trap_write(struct trap *trap, struct task *task, va_t va, char value)
{
    struct user_access made = {.va = va, .access = ACCESS_WRITE, .value = (uint8_t)value};

    done(trap, "a store", run_access(trap, task, &made));
}

char trap_read(struct trap *trap, struct task *task, va_t va)
{
    struct user_access made = {.va = va, .access = ACCESS_READ};

    done(trap, "a load", run_access(trap, task, &made));
    return (char)made.value;
}

uint64_t trap_faults(struct trap *trap, struct task *task, va_t va, enum access access)
{
    struct user_access made = {.va = va, .access = access, .value = 'f'};

    done(trap, "an access", run_access(trap, task, &made));
    return made.faults;
}

void trap_dies(struct trap *trap, struct task *task, va_t va, enum access access, enum event cause)
{
    struct user_access made = {.va = va, .access = access};
    struct task *parent = task->parent;
    struct task_status status = {0};

    assert_non_null(parent);
    forget_task(trap, task);
    if (run_access(trap, task, &made) != 1)
        fail_msg("%s: the access at 0x%llx was let through", trap->where, (unsigned long long)va);
    trap_check(trap);
    done(trap, "wait", sys_wait(parent, task, &status));
    assert_true(status.killed);
    assert_string_equal(event_names[status.cause], event_names[cause]);
    assert_int_equal(status.address, va);
}

void trap_refuses(struct trap *trap, struct task *task, va_t va, enum access access)
{
    uint8_t byte = 0;
    int error = access == ACCESS_WRITE ? copyout(task, va, &byte, 1) : copyin(task, &byte, va, 1);

    if (error != -EFAULT)
        fail_msg("%s: the page at 0x%llx can be reached", trap->where, (unsigned long long)va);
    trap_check(trap);
}

struct pin trap_pin(struct trap *trap, struct task *task, va_t va, enum access access)
{
    struct pin pin = {0};

    trap->recorded = trap->machine->events.recorded;
    done(trap, "pin", sys_pin(task, va, access, &pin));
    return pin;
}

void trap_unpin(struct trap *trap, struct pin *pin)
{
    unpin(pin);
    trap_check(trap);
}
