/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries and trees as text; format.h has the layout. */
#include "pt/format.h"

#include <inttypes.h>
#include <stdarg.h>

const char *const frame_kind_names[FRAME_KINDS] = {
    [FRAME_FREE] = "free", [FRAME_POOL] = "pool", [FRAME_TABLE] = "table", [FRAME_ZERO] = "zero",
    [FRAME_ANON] = "anon", [FRAME_SHM] = "shm",   [FRAME_FILE] = "file",
};

/* Text that grows in a buffer which may be too short: the length is counted all the same. */
struct text {
    char *start;
    size_t bytes;
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void text_add(struct text *text, const char *format,
                                                           ...)
{
    bool fits = text->length < text->bytes;
    va_list arguments;

    va_start(arguments, format);
    int added = vsnprintf(fits ? text->start + text->length : NULL,
                          fits ? text->bytes - text->length : 0, format, arguments);

    va_end(arguments);
    text->length += (size_t)added;
}

static void add_number(struct text *text, const char *name, uint32_t first, uint32_t last)
{
    text_add(text, "%s %" PRIu32, name, first);
    if (last != first)
        text_add(text, "-%" PRIu32, last);
}

static const char *kind_name(const struct ram *ram, pfn_t pfn)
{
    if (pfn >= ram->frame_count || ram->frames[pfn].kind >= FRAME_KINDS)
        return "?";
    return frame_kind_names[ram->frames[pfn].kind];
}

static void add_flags(struct text *text, entry_t entry)
{
    static const struct {
        entry_t flag;
        const char *name;
    } flags[] = {
        {ENTRY_ACCESSED, "A"},     {ENTRY_DIRTY, "D"},        {ENTRY_HUGE, "huge"},
        {ENTRY_EXCLUSIVE, "excl"}, {ENTRY_LAZY_FREE, "lazy"},
    };

    text_add(text, " r%c%c", entry_is_writable(entry) ? 'w' : '-',
             (entry & ENTRY_USER) != 0 ? 'u' : '-');
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if ((entry & flags[i].flag) != 0)
            text_add(text, " %s", flags[i].name);
    }
}

static void add_present(struct text *text, entry_t first, entry_t last, const struct ram *ram)
{
    add_number(text, "pfn", entry_pfn(first), entry_pfn(last));
    if (ram != NULL)
        text_add(text, " %s", kind_name(ram, entry_pfn(first)));
    add_flags(text, first);
}

size_t entry_run_format(char *text, size_t bytes, entry_t first, entry_t last,
                        const struct ram *ram)
{
    struct text run = {.bytes = bytes};

    run.start = text;
    if (entry_is_present(first)) {
        add_present(&run, first, last, ram);
    } else if (entry_is_none(first)) {
        text_add(&run, "none");
    } else if (entry_is_swap(first) && !entry_is_guard(first)) {
        text_add(&run, "swap type %u", entry_swap_type(first));
        add_number(&run, " offset", entry_swap_offset(first), entry_swap_offset(last));
    } else if (first == entry_make_guard()) {
        text_add(&run, "guard");
    } else {
        text_add(&run, "malformed 0x%" PRIx64, first);
    }
    return run.length;
}

size_t entry_format(char *text, size_t bytes, entry_t entry, const struct ram *ram)
{
    return entry_run_format(text, bytes, entry, entry, ram);
}

struct dump {
    const struct pt_tree *tree;
    FILE *out;
    table_note *note; /* NULL: none */
    void *note_context;
    int address_digits;
    pfn_t written[8]; /* by level: the upper table written last */
};

/* The first address that a table covers, found upwards. */
static va_t table_start(const struct ram *ram, const struct table *table)
{
    va_t start = 0;

    while (table->first_parent != PFN_NONE) {
        start += (va_t)table->slot << geometry_shift(ram->geometry, table->level + 1u);
        table = table_of_frame(ram, table->first_parent);
    }
    return start;
}

/* Begins the line of something at this level that covers these addresses. */
static void begin_line(const struct dump *dump, int level, va_t start, uint64_t bytes)
{
    int indent = 2 * ((int)dump->tree->geometry->levels - 1 - level);
    va_t end = min_u64(start + bytes, dump->tree->geometry->user_end);

    fprintf(dump->out, "%*s%0*" PRIx64 "-%0*" PRIx64 " ", indent, "", dump->address_digits, start,
            dump->address_digits, end);
}

static uint64_t coverage_bytes(const struct geometry *geometry, unsigned level)
{
    return geometry_entry_coverage_bytes(geometry, level) << geometry->slot_bits;
}

/* Writes an upper table and those above it, as far as they were not written yet. */
static void write_upper(struct dump *dump, const struct table *table)
{
    const struct ram *ram = dump->tree->ram;

    if (dump->written[table->level] == table->pfn)
        return;
    if (table->first_parent != PFN_NONE)
        write_upper(dump, table_of_frame(ram, table->first_parent));
    begin_line(dump, table->level, table_start(ram, table),
               coverage_bytes(ram->geometry, table->level));
    fprintf(dump->out, "level %u table %u\n", table->level, table->pfn);
    dump->written[table->level] = table->pfn;
}

static void write_leaf_table(const struct dump *dump, const struct pt_leaf *leaf)
{
    const struct table *table = leaf->table;

    begin_line(dump, 0, table_start(dump->tree->ram, table),
               geometry_span_bytes(dump->tree->geometry));
    fprintf(dump->out, "leaf table %u", table->pfn);
    if (table_is_shared(table))
        fprintf(dump->out, ", shared by %u", table->share_count);
    if (!parent_is_writable(dump->tree->ram, leaf->parent, leaf->parent_slot))
        fputs(", read-only above", dump->out);
    if (table->may_hold_pin)
        fputs(", may hold a pin", dump->out);
    if (dump->note != NULL)
        dump->note(dump->note_context, table, dump->out);
    fputc('\n', dump->out);
}

/* Does `next` continue a run that `last` ends? Its number is one higher, or nothing is counted. */
static bool continues(const struct ram *ram, entry_t last, entry_t next)
{
    if (entry_is_none(last))
        return false;
    bool is_counted =
        entry_is_present(last) ? entry_pfn(last) != ram->zero_pfn : entry_is_swap(last);
    entry_t step = is_counted ? (entry_t)1 << ENTRY_PFN_SHIFT : 0;

    if (next != last + step)
        return false;
    return !entry_is_present(next) ||
           kind_name(ram, entry_pfn(last)) == kind_name(ram, entry_pfn(next));
}

static void write_run(const struct dump *dump, const struct pt_leaf *leaf, unsigned first,
                      unsigned end)
{
    const struct ram *ram = dump->tree->ram;
    uint64_t entry_bytes = geometry_entry_coverage_bytes(ram->geometry, leaf->level);
    va_t start = leaf->va + (first - leaf->first) * entry_bytes;
    char text[ENTRY_TEXT_BYTES];

    entry_run_format(text, sizeof(text), table_entry(ram, leaf->table, first),
                     table_entry(ram, leaf->table, end - 1), ram);
    begin_line(dump, (int)leaf->level - 1, start, (end - first) * entry_bytes);
    fprintf(dump->out, "%s\n", text);
}

static int dump_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct dump *dump = context;
    unsigned end;

    write_upper(dump, leaf->level == 0 ? leaf->parent : leaf->table);
    if (leaf->level == 0)
        write_leaf_table(dump, leaf);
    for (unsigned slot = leaf->first; slot < leaf->end; slot = end) {
        entry_t last = table_entry(tree->ram, leaf->table, slot);

        for (end = slot + 1; end < leaf->end; end++) {
            entry_t next = table_entry(tree->ram, leaf->table, end);

            if (!continues(tree->ram, last, next))
                break;
            last = next;
        }
        if (!entry_is_none(last))
            write_run(dump, leaf, slot, end);
    }
    return 0;
}

/* An upper table with no leaf below it was not written by any leaf. */
static void dump_left(void *context, struct pt_tree *tree, const struct table *table,
                      const struct table *parent, unsigned parent_slot)
{
    (void)tree;
    (void)parent;
    (void)parent_slot;
    write_upper(context, table);
}

void tree_dump_noted(const struct pt_tree *tree, FILE *out, table_note *note, void *context)
{
    static const struct pt_visitor visitor = {.leaf = dump_leaf, .left = dump_left};
    struct dump dump = {.tree = tree, .out = out, .note = note, .note_context = context};
    va_t last = tree->geometry->user_end - 1;

    for (unsigned level = 0; level < sizeof(dump.written) / sizeof(dump.written[0]); level++)
        dump.written[level] = PFN_NONE;
    dump.address_digits = snprintf(NULL, 0, "%" PRIx64, last);
    fprintf(out, "%s tree, tables: %u upper, %u leaf\n", tree->geometry->name, tree->upper_tables,
            tree->leaf_tables);
    pt_walk_const(tree, 0, tree->geometry->user_end, &visitor, &dump);
}

void tree_dump(const struct pt_tree *tree, FILE *out)
{
    tree_dump_noted(tree, out, NULL, NULL);
}
