/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that ends in the middle: the first, second, third ... request for memory of an operation
 * is refused, until one run needs no more. Each time the operation says -ENOMEM or its task is
 * killed for lack of memory; all others, and the task itself if it lives, have every mapping and
 * every byte that they had; every invariant holds; and in the end nothing is lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/map.h"
#include "pager/object.h"
#include "pager/pin.h"
#include "pager/remap.h"
#include "pager/user_copy.h"
#include "tests/support/kept_memory.h"

#define MIB ((uint64_t)1 << 20)

enum { MOST_REQUESTS = 400, TOUCHED_PAGES = 20, SPANS = 3, RESULT_KILLED = 1 };

/* What an operation works on: a parent with mappings over three spans, and a child. */
struct scene {
    struct world world;
    struct task *parent;
    struct task *child;
    struct object *program;
    struct pin pin;
    va_t base;
    uint64_t span;
};

struct failure_case {
    const char *name;
    bool forks_first; /* the child is there before the operation */
    bool pins_first;
    bool writes_shared;              /* what goes well shows in the parent */
    int (*act)(struct scene *scene); /* 0, -ENOMEM, RESULT_KILLED */
};

/* --- the scene --- */

static void touch(struct task *task, va_t start, unsigned pages, uint8_t value)
{
    struct access_step steps[TOUCHED_PAGES];
    struct access_script script = {.steps = steps, .count = pages};

    for (unsigned i = 0; i < pages; i++)
        steps[i] = (struct access_step){
            .va = start + i * PAGE_BYTES, .bytes = 1, .write = true, .value = value + i};
    assert_int_equal(world_access(task, &script), 0);
}

static void map_shared(struct scene *scene, va_t va, uint64_t bytes)
{
    struct map_request request = {.address = va,
                                  .bytes = bytes,
                                  .protection = VMA_READ | VMA_WRITE,
                                  .flags = MAP_REQUEST_FIXED | MAP_REQUEST_SHARED};

    assert_int_equal(sys_mmap(scene->parent, &request, &va), 0);
}

/* Private memory over three spans but for one page at the end, shared memory behind it. */
static void set_scene(struct scene *scene, const struct failure_case *one)
{
    struct machine *machine = scene->world.machine;

    scene->span = geometry_span_bytes(machine->ram.geometry);
    scene->base = 4 * scene->span;
    scene->parent = world_fork(scene->world.init);
    world_map(scene->parent, scene->base, SPANS * scene->span - PAGE_BYTES);
    map_shared(scene, scene->base + SPANS * scene->span - PAGE_BYTES, 2 * PAGE_BYTES);
    for (unsigned i = 0; i < SPANS; i++)
        touch(scene->parent, scene->base + i * scene->span, TOUCHED_PAGES, (uint8_t)(1 + i));
    touch(scene->parent, scene->base + SPANS * scene->span - PAGE_BYTES, 2, 77);
    scene->parent->mm->heap_start = scene->base + SPANS * scene->span + 2 * PAGE_BYTES;
    scene->parent->mm->heap_end = scene->parent->mm->heap_start;
    assert_true(sys_brk(scene->parent, scene->parent->mm->heap_end + 5) != 0);
    touch(scene->parent, scene->parent->mm->heap_start, 1, 99);
    if (getenv("TINY") != NULL)
        assert_int_equal(file_open(machine, getenv("TINY"), &scene->program), 0);
    if (one->pins_first)
        assert_int_equal(sys_pin(scene->parent, scene->base + PAGE_BYTES, ACCESS_READ, &scene->pin),
                         0);
    if (one->forks_first)
        scene->child = world_fork(scene->parent);
}

/* Does the gate stand where a request was refused? */
static bool was_refused(const struct allocation_gate *gate, uint64_t fail_at)
{
    return gate->requests >= fail_at;
}

/* The task that acts: the child where there was one before. */
static struct task *actor(const struct scene *scene)
{
    return scene->child != NULL ? scene->child : scene->parent;
}

static void assert_killed_for_memory(const struct scene *scene, struct task *task)
{
    struct task *parent = task == scene->child ? scene->parent : scene->world.init;
    struct task_status status;

    assert_int_equal(sys_wait(parent, task, &status), 0);
    assert_true(status.killed);
    assert_int_equal(status.cause, EVENT_BAD_OOM);
}

static void compare(struct scene *scene, const struct failure_case *one, int result,
                    const struct memory *parent_before, const struct memory *child_before)
{
    struct task *task = one->forks_first ? scene->child : scene->parent;

    world_check(&scene->world);
    if (one->forks_first)
        assert_memory_is_kept(parent_before, scene->parent);
    if (result == RESULT_KILLED)
        assert_killed_for_memory(scene, task);
    else
        assert_memory_is_kept(one->forks_first ? child_before : parent_before, task);
}

/* One attempt with the n-th request refused: true when none was. */
static bool attempt(const struct machine_options *options, const struct failure_case *one,
                    uint64_t number)
{
    struct scene scene = {0};

    world_begin(&scene.world, options);
    set_scene(&scene, one);
    struct allocation_gate *gate = &scene.world.machine->ram.gate;
    struct memory *parent_before = memory_of(scene.parent);
    struct memory *child_before = one->forks_first ? memory_of(scene.child) : NULL;
    uint64_t fail_at = gate->requests + number;

    gate->fail_at = fail_at;
    int result = one->act(&scene);
    bool refused = was_refused(gate, fail_at);

    gate->fail_at = 0;
    if (result != 0) {
        assert_true(refused);
        assert_true(result == -ENOMEM || result == RESULT_KILLED);
        compare(&scene, one, result, parent_before, child_before);
    } else {
        world_check(&scene.world);
        if (one->forks_first && !one->writes_shared)
            assert_memory_is_kept(parent_before, scene.parent);
    }
    if (one->pins_first)
        unpin(&scene.pin);
    world_end(&scene.world);
    free(parent_before);
    free(child_before);
    return !refused;
}

/* --- operations --- */

static int act_fork(struct scene *scene)
{
    struct task *child;

    return sys_fork(scene->parent, &child);
}

static int store_at(struct task *task, va_t va)
{
    struct access_step step = {.va = va, .bytes = 8, .write = true, .value = 0xabcd};
    struct access_script script = {.steps = &step, .count = 1};

    return world_access(task, &script);
}

static int act_split(struct scene *scene)
{
    return store_at(actor(scene), scene->base + 3 * PAGE_BYTES);
}

/* Over the end of a span: two tables, two pages. */
static int act_straddle(struct scene *scene)
{
    return store_at(actor(scene), scene->base + scene->span - 4);
}

static int act_zero_fill(struct scene *scene)
{
    return store_at(actor(scene), scene->base + (TOUCHED_PAGES + 3) * PAGE_BYTES);
}

static int act_shared_write(struct scene *scene)
{
    return store_at(actor(scene), scene->base + SPANS * scene->span);
}

static int act_stack_growth(struct scene *scene)
{
    return store_at(actor(scene), actor(scene)->mm->user_end - 3 * PAGE_BYTES);
}

static int act_copyout(struct scene *scene)
{
    uint64_t word = 5;

    return copyout(actor(scene), scene->base + 2 * PAGE_BYTES, &word, sizeof(word));
}

static int act_copyin(struct scene *scene)
{
    uint64_t word;

    return copyin(actor(scene), &word, scene->base + (TOUCHED_PAGES + 5) * PAGE_BYTES,
                  sizeof(word));
}

static int act_munmap(struct scene *scene)
{
    return sys_munmap(actor(scene), scene->base + 4 * PAGE_BYTES, 8 * PAGE_BYTES);
}

/* From the middle of the first span to the middle of the last. */
static int act_munmap_spans(struct scene *scene)
{
    return sys_munmap(actor(scene), scene->base + 4 * PAGE_BYTES, 2 * scene->span);
}

static int act_mprotect(struct scene *scene)
{
    return sys_mprotect(actor(scene), scene->base + 2 * PAGE_BYTES, 2 * scene->span, VMA_READ);
}

static int map_over(struct scene *scene, uint32_t flags)
{
    struct map_request request = {.address = scene->base + 4 * PAGE_BYTES,
                                  .bytes = 2 * scene->span,
                                  .protection = VMA_READ | VMA_WRITE,
                                  .flags = MAP_REQUEST_FIXED | flags};
    va_t va;

    return sys_mmap(actor(scene), &request, &va);
}

static int act_map_over(struct scene *scene)
{
    return map_over(scene, 0);
}

static int act_map_shared_over(struct scene *scene)
{
    return map_over(scene, MAP_REQUEST_SHARED);
}

static int act_brk(struct scene *scene)
{
    va_t wanted = actor(scene)->mm->heap_end + 3 * PAGE_BYTES;

    return sys_brk(actor(scene), wanted) == wanted ? 0 : -ENOMEM;
}

static int act_brk_down(struct scene *scene)
{
    va_t wanted = actor(scene)->mm->heap_start;

    return sys_brk(actor(scene), wanted) == wanted ? 0 : -ENOMEM;
}

#define FIXED (ABI_MREMAP_MAYMOVE | ABI_MREMAP_FIXED)

/* Places and sizes count from the base on: `from` and `to` in bytes. */
static int remap(struct scene *scene, struct remap_request request)
{
    va_t address;

    request.address += scene->base;
    request.new_address += scene->base;
    return sys_mremap(actor(scene), &request, &address);
}

/* To where nothing is, and differently within its spans. */
static int act_move(struct scene *scene)
{
    uint64_t bytes = 2 * scene->span;

    return remap(scene, (struct remap_request){4 * PAGE_BYTES, bytes, bytes, FIXED,
                                               8 * scene->span + 7 * PAGE_BYTES});
}

static int act_move_over(struct scene *scene)
{
    return remap(scene, (struct remap_request){2 * PAGE_BYTES, scene->span, scene->span / 2, FIXED,
                                               2 * scene->span});
}

/* Private and shared memory and the hole behind them; all stay mapped. */
static int act_move_and_keep(struct scene *scene)
{
    uint64_t bytes = 2 * scene->span + 2 * PAGE_BYTES;

    return remap(scene, (struct remap_request){scene->span, bytes, bytes,
                                               FIXED | ABI_MREMAP_DONTUNMAP, 9 * scene->span});
}

static int act_grow_with_move(struct scene *scene)
{
    uint64_t bytes = SPANS * scene->span - PAGE_BYTES;

    return remap(scene,
                 (struct remap_request){0, bytes, bytes + scene->span, ABI_MREMAP_MAYMOVE, 0});
}

static int act_grow(struct scene *scene)
{
    va_t heap = SPANS * scene->span + 2 * PAGE_BYTES;

    return remap(scene, (struct remap_request){heap, PAGE_BYTES, scene->span, 0, 0});
}

static int act_shrink(struct scene *scene)
{
    return remap(scene, (struct remap_request){PAGE_BYTES, 2 * scene->span, 3 * PAGE_BYTES, 0, 0});
}

static int act_pin(struct scene *scene)
{
    struct pin pin;
    int error = sys_pin(actor(scene), scene->base, ACCESS_READ, &pin);

    if (error == 0)
        unpin(&pin);
    return error;
}

/* -ENOMEM with the old program going on, or without any: then the task is dead. */
static int act_exec(struct scene *scene)
{
    struct task *task = actor(scene);

    if (scene->program == NULL)
        return 0;
    int error = sys_exec(task, scene->program, NULL, NULL, 0);

    return task->state == TASK_ZOMBIE ? RESULT_KILLED : error;
}

struct exec_call {
    struct scene *scene;
    int result;
};

static void nothing(struct forklab_user *user, void *argument)
{
    (void)user;
    (void)argument;
}

static void exec_in_user_mode(struct forklab_user *user, void *argument)
{
    struct exec_call *call = argument;

    call->result = world_exec(user, call->scene->program, NULL, nothing, NULL);
}

static int act_exec_inside(struct scene *scene)
{
    struct exec_call call = {.scene = scene};

    if (scene->program == NULL)
        return 0;
    int ended = world_call(actor(scene), exec_in_user_mode, &call);

    return ended == RESULT_KILLED ? RESULT_KILLED : call.result;
}

static const struct failure_case cases[] = {
    {"fork", false, false, false, act_fork},
    {"fork with a pinned page", false, true, false, act_fork},
    {"split by a write", true, false, false, act_split},
    {"copy on write beside a pinned page", true, true, false, act_split},
    {"write over the end of a span", true, false, false, act_straddle},
    {"zero fill", true, false, false, act_zero_fill},
    {"write to shared memory", true, false, true, act_shared_write},
    {"stack growth", true, false, false, act_stack_growth},
    {"copyout", true, false, false, act_copyout},
    {"copyin", true, false, false, act_copyin},
    {"munmap of the middle", true, false, false, act_munmap},
    {"munmap of three spans", true, false, false, act_munmap_spans},
    {"mprotect of three spans", true, false, false, act_mprotect},
    {"mmap over mappings", true, false, false, act_map_over},
    {"mmap of shared memory over mappings", true, false, false, act_map_shared_over},
    {"brk up", true, false, false, act_brk},
    {"brk down", true, false, false, act_brk_down},
    {"mremap to a free place", true, false, false, act_move},
    {"mremap over mappings, smaller", true, false, false, act_move_over},
    {"mremap of several mappings that stay", true, true, false, act_move_and_keep},
    {"mremap, larger, with a move", true, false, false, act_grow_with_move},
    {"mremap, larger in place", true, false, false, act_grow},
    {"mremap, smaller in place", true, false, false, act_shrink},
    {"pin", true, false, false, act_pin},
    {"exec", true, false, false, act_exec},
    {"exec from user code", true, false, false, act_exec_inside},
};

/* --- where --- */

static void run_case(const struct failure_case *one, const struct machine_options *options)
{
    uint64_t number = 1;

    while (!attempt(options, one, number))
        assert_true(++number < MOST_REQUESTS);
    /* Something was refused at least once, or the test tests nothing. */
    if (one->act == act_fork || one->act == act_split)
        assert_true(number > 1);
}

static void test_case(void **state)
{
    const struct failure_case *one = *state;

    for (size_t i = 0; i < kernel_count; i++) {
        struct kernel kernel = kernels[i];

        kernel.least_shared_entries = 1;
        for (enum mmu_kind mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
            struct machine_options options = {.kernel = &kernel, .mmu = mmu, .ram_bytes = 8 * MIB};

            options.geometry = &geometry_x86_64;
            run_case(one, &options);
            options.geometry = &geometry_i386;
            run_case(one, &options);
        }
    }
}

int main(void)
{
    enum { CASES = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[CASES];

    for (size_t i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                       .test_func = test_case,
                                       .initial_state = (void *)(uintptr_t)&cases[i]};
    return _cmocka_run_group_tests("allocation failure", tests, CASES, NULL, NULL);
}
