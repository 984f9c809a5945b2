/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs files through a target, where there is no libFuzzer to do it. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/target.h"

enum { MOST_BYTES = 1 << 20 };

/* An exact copy, so that a sanitizer sees a read past its end. */
static void run_bytes(const uint8_t *bytes, size_t count)
{
    uint8_t *copy = malloc(count + (count == 0));

    if (copy == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        copy[i] = bytes[i];
    LLVMFuzzerTestOneInput(copy, count);
    free(copy);
}

int main(int argc, char **argv)
{
    static uint8_t bytes[MOST_BYTES];

    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");

        if (file == NULL) {
            perror(argv[i]);
            return 1;
        }
        size_t count = fread(bytes, 1, sizeof(bytes), file);

        fclose(file);
        printf("%s: %zu bytes\n", argv[i], count);
        fflush(stdout);
        run_bytes(bytes, count);
    }
    printf("%d inputs\n", argc - 1);
    return argc > 1 ? 0 : 1;
}
