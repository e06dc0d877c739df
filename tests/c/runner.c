/* Validates descriptions read from standard input, words apart by white space:
 *
 *     block SIZE BYTES...        a block of memory, its bytes as two hexadecimal digits each; blocks count from 0
 *     point BLOCK OFFSET TARGET  the address of block TARGET at that offset of another block
 *     judge LEVEL BLOCK CAPACITY validates the DML_OPERATOR_DESC in a block, -1 for none, and forgets all blocks:
 *                                prints the number of violations, then rule, member and message of each. Outputs are
 *                                inferred and dispatches planned, too, to see that nothing else is read
 *
 * Every block is exactly of its size, so that a sanitizer sees any access beside it.
 */
#include <stdio.h>
#include <stdlib.h>

#define DMLOPS_DISPATCH
#include "dmlops.h"

static unsigned char* blocks[1024];
static size_t block_count;

static void* block(size_t size) {
    unsigned char* made = (unsigned char*)calloc(1, size > 0 ? size : 1);
    if (made == NULL || block_count == sizeof blocks / sizeof *blocks) {
        exit(2);
    }
    blocks[block_count++] = made;
    return made;
}

static long number(void) {
    long value = 0;
    if (scanf("%ld", &value) != 1) {
        exit(2);
    }
    return value;
}

static void read_block(void) {
    const size_t size = (size_t)number();
    unsigned char* made = (unsigned char*)block(size);
    for (size_t i = 0; i < size; ++i) {
        unsigned byte = 0;
        if (scanf("%2x", &byte) != 1) {
            exit(2);
        }
        made[i] = (unsigned char)byte;
    }
}

static void point(void) {
    const size_t owner = (size_t)number();
    const size_t offset = (size_t)number();
    const size_t target = (size_t)number();
    if (owner >= block_count || target >= block_count) {
        exit(2);
    }
    memcpy(blocks[owner] + offset, &blocks[target], sizeof(void*));
}

static void infer_and_plan(const DML_OPERATOR_DESC* desc) {
    DML_BUFFER_TENSOR_DESC tensor;
    UINT sizes[DML_TENSOR_DIMENSION_COUNT_MAX1];
    for (size_t i = 0; dmlops_infer_output(desc, i, &tensor, sizes) != DMLOPS_NO_OUTPUT; ++i) {
    }
    (void)dmlops_plan(desc, NULL, 0);
}

static void judge(void) {
    const uint32_t value = (uint32_t)number();
    const long place = number();
    const size_t capacity = (size_t)number();
    DML_FEATURE_LEVEL level;
    const DML_OPERATOR_DESC* desc = place < 0 ? NULL : (const DML_OPERATOR_DESC*)(void*)blocks[place];
    dmlops_violation* found = (dmlops_violation*)block(capacity * sizeof *found);
    size_t count;
    memcpy(&level, &value, sizeof level);
    count = dmlops_validate(desc, level, capacity > 0 ? found : NULL, capacity);
    printf("%zu\n", count);
    for (size_t i = 0; i < count && i < capacity; ++i) {
        printf("%s\t%s\t%s\n", found[i].rule, found[i].member, found[i].message);
    }
    infer_and_plan(desc);
    while (block_count > 0) {
        free(blocks[--block_count]);
    }
}

int main(void) {
    char word[16];
    while (scanf("%15s", word) == 1) {
        if (strcmp(word, "block") == 0) {
            read_block();
        } else if (strcmp(word, "point") == 0) {
            point();
        } else if (strcmp(word, "judge") == 0) {
            judge();
        } else {
            return 2;
        }
    }
    return 0;
}
