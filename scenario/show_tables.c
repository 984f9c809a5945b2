/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of a task's page tables: a table a line, indented by level, with the addresses that it
 * covers; of a leaf table how many entries it has and who has it; below it its entries, a run of
 * like ones a line (pt/format.h says how they are written).
 */
#include "pt/format.h"
#include "scenario/show.h"

struct sharers {
    const struct emulated *emulated;
    FILE *out;
    const char *before; /* the next name */
};

static void show_sharer(void *context, struct pt_tree *tree)
{
    struct sharers *sharers = context;
    const struct emulated *emulated = sharers->emulated;

    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        const struct emulated_slot *slot = &emulated->slots[i];

        if (!slot->is_alive || slot->task->mm != mm_of_tree(tree))
            continue;
        fprintf(sharers->out, "%s%s", sharers->before, emulated_task_name(emulated, i));
        sharers->before = ", ";
    }
}

static void note_table(void *context, const struct table *table, FILE *out)
{
    const struct emulated *emulated = context;
    struct sharers sharers = {.emulated = emulated, .out = out, .before = " of "};

    fprintf(out, ", %u %s", table->used, table->used == 1 ? "entry" : "entries");
    table_for_each_tree(&emulated->machine->ram, table, show_sharer, &sharers);
}

void show_tables(struct emulated *emulated, unsigned slot, FILE *out)
{
    tree_dump_noted(&emulated->slots[slot].task->mm->tree, out, note_table, emulated);
}
