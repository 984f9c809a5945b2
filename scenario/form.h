/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The forms of statements as lists of arguments: what verb.def says to people, said to the reader
 * and the writer. Each has one function for each kind of argument.
 *
 * An argument that may be missing stands where the next one cannot be mistaken for it.
 */
#ifndef FORKLAB_SCENARIO_FORM_H
#define FORKLAB_SCENARIO_FORM_H

#include "scenario/operation.h"

enum argument {
    ARGUMENT_NONE,        /* ends a form */
    ARGUMENT_NEW_REGION,  /* [NAME] before a size */
    ARGUMENT_MOVED,       /* [NAME] before an address and two sizes */
    ARGUMENT_ADDRESS,     /* address */
    ARGUMENT_SIZE,        /* bytes */
    ARGUMENT_NEW_SIZE,    /* new_bytes */
    ARGUMENT_OFFSET,      /* offset_bytes */
    ARGUMENT_PROTECTION,  /* protection */
    ARGUMENT_MAPPING,     /* flags, file, offset_bytes, target: the tail of mmap */
    ARGUMENT_REMAP_FLAGS, /* flags, target */
    ARGUMENT_SYNC_FLAGS,  /* flags */
    ARGUMENT_INTO,        /* [into=ADDRESS]: target */
    ARGUMENT_ADVICE,      /* advice */
    ARGUMENT_LIMIT,       /* value: 0 as, 1 data */
    ARGUMENT_DATA,        /* data */
    ARGUMENT_BYTE,        /* value */
    ARGUMENT_STATUS,      /* [value] */
    ARGUMENT_NEW_TASK,    /* task */
    ARGUMENT_CHILD,       /* other, a task that is made by this */
    ARGUMENT_VICTIM,      /* other */
    ARGUMENT_WAITED,      /* [other] */
    ARGUMENT_PROGRAM,     /* [file or text] */
    ARGUMENT_NEW_PIN,     /* pin */
    ARGUMENT_PIN,         /* pin */
    ARGUMENT_DIRECTION,   /* read|write: write */
    ARGUMENT_NEW_FILE,    /* file */
    ARGUMENT_FILE,        /* file */
    ARGUMENT_FILE_KIND,   /* [ro|wo] [DATA]: flags, data */
    ARGUMENT_SHOW,        /* show, task */
    ARGUMENT_EXPECT,      /* quantity and what it is of */
    ARGUMENT_NEEDS,       /* need */
    ARGUMENT_COUNT
};

enum { FORM_ARGUMENTS = 5 };

extern const enum argument verb_forms[VERB_COUNT][FORM_ARGUMENTS];

/* What an answer to a verb can say, besides ok, any and an errno. */
enum verb_answers {
    ANSWERS_NOTHING,  /* 0 is ok */
    ANSWERS_NONE,     /* there is no answer, not even ok */
    ANSWERS_ADDRESS,  /* a number is an address; 0 is ok */
    ANSWERS_COUNT,    /* a number */
    ANSWERS_DATA,     /* data */
    ANSWERS_EITHER,   /* data, or how many bytes came */
    ANSWERS_BYTES,    /* data; a number is the byte of every page */
    ANSWERS_BITS,     /* digits 0 and 1 */
    ANSWERS_STATUS,   /* exit N, signal NAME */
    ANSWERS_QUANTITY, /* a number, of maps a text; never ok or an errno */
};

extern const enum verb_answers verb_answers[VERB_COUNT];

/* Does the verb load or store as user code, so that it takes faults and a signal can kill it? */
bool verb_is_access(enum scenario_verb verb);

/* Is it a statement about the run and not an operation? */
bool verb_is_about_run(enum scenario_verb verb);

#endif
