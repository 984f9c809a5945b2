/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scenarios as data: a list of operations, and the names that they use.
 *
 * A scenario is made by the reader from text, or by the fuzzer from a seed; it is performed by a
 * backend (backend.h), shortened when it fails, and written as text again (writer.h). Names of
 * tasks, regions, files and pins are numbers here, positions in the scenario's tables of names.
 *
 * Calls carry Linux's own numbers (pager/abi.h), so that wrong flags can be tried too. Addresses
 * are the emulated ones; on the host a backend adds a constant.
 */
#ifndef FORKLAB_SCENARIO_OPERATION_H
#define FORKLAB_SCENARIO_OPERATION_H

#include "pager/abi.h"
#include "pt/types.h"

enum scenario_verb {
#define VERB(name, word, subject, form, meaning) VERB_##name,
#include "scenario/verb.def"
#undef VERB
    VERB_COUNT
};

enum {
    SCENARIO_MOST_TASKS = 64,
    SCENARIO_MOST_REGIONS = 256,
    SCENARIO_MOST_FILES = 64,
    SCENARIO_MOST_PINS = 64,
    SCENARIO_NAME_BYTES = 32,
    SCENARIO_MOST_ANSWERS = 4,
    SCENARIO_MOST_SELECTORS = 8,
    SCENARIO_NOBODY = 0xffff, /* a number that names nothing */
};

enum scenario_base {
    BASE_ABSOLUTE, /* the offset is the address */
    BASE_REGION,   /* where the task's region of that name begins */
    BASE_HEAP,     /* the start of the heap */
    BASE_STACK,    /* the end of the address space; only the emulator has it */
};

struct scenario_address {
    enum scenario_base base;
    uint16_t region;       /* with BASE_REGION */
    uint64_t offset_bytes; /* wraps: a negative one is a large one */
};

enum scenario_data_kind {
    DATA_NONE,
    DATA_BYTES, /* written as "text", with escapes, or as hex:00ff */
    DATA_FILL,  /* one byte over and over: fill BYTE SIZE */
};

struct scenario_data {
    enum scenario_data_kind kind;
    uint8_t fill;
    uint64_t bytes;
    const uint8_t *content; /* with DATA_BYTES; the scenario's */
};

/* What an operation should come to. */
enum scenario_answer_kind {
    ANSWER_OK,      /* it works, whatever it returns: = ok, = 0 */
    ANSWER_ERROR,   /* = EINVAL */
    ANSWER_SIGNAL,  /* = SIGSEGV [maperr|accerr|kernel] [at ADDRESS]: the task is killed by it */
    ANSWER_DATA,    /* = "text"; of PEEK a byte for each page, or one for all */
    ANSWER_NUMBER,  /* = 5: the number that it returns; of PEEK the byte of every page */
    ANSWER_ADDRESS, /* = A+4K: the address that it returns */
    ANSWER_BITS,    /* = 1101: of mincore */
    ANSWER_EXIT,    /* = exit 3: of wait */
    ANSWER_KILLED,  /* = signal SIGSEGV: of wait */
    ANSWER_ANY,     /* = any: nothing is checked */
};

/* Where an answer holds: on a kernel by name, on the host, from a version of Linux on. */
enum selector_kind { SELECT_KERNEL, SELECT_HOST, SELECT_LINUX_FROM, SELECT_LINUX_BEFORE };

struct scenario_selector {
    enum selector_kind kind;
    char kernel[SCENARIO_NAME_BYTES];
    uint32_t version; /* major * 1,000,000 + minor * 1,000 + patch */
};

struct scenario_answer {
    enum scenario_answer_kind kind;
    int error;        /* positive errno */
    int signal;       /* enum abi_signal */
    int code;         /* si_code, 0: any */
    bool has_address; /* of a signal */
    struct scenario_address address;
    uint64_t number;
    struct scenario_data data; /* DATA and BITS (as characters '0' and '1') */
    bool has_faults;           /* "faults N": minor faults of the accesses */
    uint64_t faults;
    unsigned selector_count; /* 0: everywhere, or wherever no answer before it holds */
    struct scenario_selector selectors[SCENARIO_MOST_SELECTORS];
};

enum scenario_show {
    SHOW_MAPS,
    SHOW_SMAPS,
    SHOW_TABLES,
    SHOW_FRAMES,
    SHOW_FAULTS,
    SHOW_VMSTAT,
    SHOW_DIFF
};

/* What `expect` can ask for. The first are sums over the VMAs that meet a range. */
enum scenario_quantity {
    QUANTITY_VMAS, /* VMAs that meet the range */
    QUANTITY_RSS,  /* bytes, as in smaps */
    QUANTITY_PSS,
    QUANTITY_SHARED, /* Shared_Clean + Shared_Dirty */
    QUANTITY_PRIVATE,
    QUANTITY_ANONYMOUS,
    QUANTITY_LOCKED,
    QUANTITY_SWAP,
    QUANTITY_MAPS,   /* rights and sizes along the range, as text: "rw-p 8K, r--p 4K, - 4K" */
    QUANTITY_TABLES, /* leaf tables that the task holds alone: emulator only, like all below */
    QUANTITY_SHARED_TABLES,
    QUANTITY_FRAMES, /* frames in use for data, of the machine */
    QUANTITY_EVENT   /* faults NAME, or count NAME: how often since the run began */
};

enum scenario_need {
    NEED_LINUX_FROM,
    NEED_LINUX_BEFORE,
    NEED_HOST,
    NEED_EMULATED,
    NEED_SHARED_TABLES, /* a kernel that shares leaf tables */
    NEED_KERNEL,        /* one of the selectors */
    NEED_GEOMETRY,      /* name in `text` */
    NEED_FEATURE        /* what nothing here has, such as swap: `text`; the run says so and ends */
};

struct scenario_operation {
    enum scenario_verb verb;
    uint32_t line; /* 1 and on; 0 when it comes from no text */
    uint32_t column;
    uint16_t task;   /* the subject; of TASK who is made; of SHOW and EXPECT whose */
    uint16_t other;  /* child, task to kill or to wait for */
    uint16_t region; /* name of what mmap or mremap returns */
    uint16_t file;
    uint16_t pin;
    bool has_target;                 /* at=, to=, into= */
    struct scenario_address address; /* what the call is about */
    struct scenario_address target;
    uint64_t bytes;
    uint64_t new_bytes; /* of mremap */
    uint64_t offset_bytes;
    uint32_t protection; /* ABI_PROT_*, or whatever prot=N says */
    uint32_t flags;      /* ABI_MAP_*, ABI_MREMAP_*, ABI_MS_*; of FILE: SCENARIO_READ_ONLY ... */
    int32_t advice;
    uint64_t value; /* exit status; POKE's byte; LIMIT: 0 as, 1 data; NEED_LINUX_*: the version */
    unsigned
        fail_after; /* fail=N: the N-th request for memory is refused. Emulator only; 0: none */
    bool write;     /* of a pin */
    enum scenario_show show;
    enum scenario_quantity quantity;
    enum scenario_need need; /* linux and kernel: the selectors of its one answer hold */
    const char *text; /* PATH of exec, event of expect, what is needed; the scenario's, or NULL */
    struct scenario_data data; /* also why a feature is needed */
    unsigned answer_count;
    struct scenario_answer *answers; /* the scenario's */
};

/* Flags of FILE: how the descriptor is opened. */
#define SCENARIO_READ_ONLY 1u
#define SCENARIO_WRITE_ONLY 2u

/* Names by number. */
struct scenario_names {
    unsigned count;
    unsigned capacity;
    char (*names)[SCENARIO_NAME_BYTES];
};

struct scenario {
    char *path; /* as given, for messages */
    size_t count;
    size_t capacity;
    struct scenario_operation *operations;
    struct scenario_names tasks;
    struct scenario_names regions;
    struct scenario_names files;
    struct scenario_names pins;
    struct scenario_memory *memory; /* strings, data, answers: blocks that go with the scenario */
};

/* An empty scenario; what it owns goes with scenario_free(). -ENOMEM. */
int scenario_init(struct scenario *scenario, const char *path);
void scenario_free(struct scenario *scenario);

/* Zeroed memory that lives as long as the scenario; NULL when there is none. */
void *scenario_allocate(struct scenario *scenario, size_t bytes);

/* Adds a copy of the operation: -ENOMEM. */
int scenario_add(struct scenario *scenario, const struct scenario_operation *operation);

/* The number of a name, which is added if it is new: -ENOMEM; -ENOSPC beyond `most`. */
int scenario_name(struct scenario_names *names, const char *name, unsigned most);

/* The number of a name, or -ENOENT. */
int scenario_find_name(const struct scenario_names *names, const char *name);

/* A blank operation: everything that names something names nothing. */
struct scenario_operation scenario_operation_blank(enum scenario_verb verb);

/* A verb's word, subject, form and meaning. */
struct verb_description {
    const char *word;
    bool has_task; /* its subject is a task */
    const char *form;
    const char *meaning;
};

extern const struct verb_description verb_descriptions[VERB_COUNT];

#endif
