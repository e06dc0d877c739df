/* Validates descriptions read from standard input, words apart by white space, numbers decimal:
 *
 *     case LEVEL TYPE BYTES CAPACITY   a description of that many bytes, all of them 0
 *     null, nothing                    the operator description without Desc; no operator description
 *     uint OFFSET VALUE                a member
 *     tensor OFFSET TYPE DATATYPE FLAGS RANK TOTAL ALIGNMENT N SIZES... N STRIDES...
 *                                      a tensor; N is -1 for a null address
 *     bare OFFSET TYPE                 a tensor without Desc
 *     go                               prints the number of violations, then rule, member and message of each
 *
 * Every array and struct lies in a block of exactly its size, so that a sanitizer sees any access beside it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dmlops.h"

static void* blocks[64];
static size_t block_count;

static void* block(size_t size) {
    void* made = calloc(1, size > 0 ? size : 1);
    if (made == NULL || block_count == sizeof blocks / sizeof *blocks) {
        exit(2);
    }
    blocks[block_count++] = made;
    return made;
}

static unsigned long long number(void) {
    long long value = 0;
    unsigned long long positive = 0;
    char word[32];
    if (scanf("%31s", word) != 1) {
        exit(2);
    }
    positive = strtoull(word, NULL, 10);
    value = strtoll(word, NULL, 10);
    return word[0] == '-' ? (unsigned long long)value : positive;
}

static const UINT* array(void) {
    const long long count = (long long)number();
    UINT* values = count < 0 ? NULL : (UINT*)block((size_t)count * sizeof(UINT));
    for (long long i = 0; i < count; ++i) {
        values[i] = (UINT)number();
    }
    return values;
}

static void set_enum(void* place) {
    const uint32_t value = (uint32_t)number();
    memcpy(place, &value, sizeof value);
}

static void set_tensor(char* description, int with_desc) {
    const size_t offset = (size_t)number();
    DML_TENSOR_DESC* tensor = (DML_TENSOR_DESC*)block(sizeof *tensor);
    memcpy(description + offset, &tensor, sizeof tensor);
    set_enum(&tensor->Type);
    if (with_desc) {
        DML_BUFFER_TENSOR_DESC* buffer = (DML_BUFFER_TENSOR_DESC*)block(sizeof *buffer);
        tensor->Desc = buffer;
        set_enum(&buffer->DataType);
        set_enum(&buffer->Flags);
        buffer->DimensionCount = (UINT)number();
        buffer->TotalTensorSizeInBytes = number();
        buffer->GuaranteedBaseOffsetAlignment = (UINT)number();
        buffer->Sizes = array();
        buffer->Strides = array();
    }
}

static void go(const DML_OPERATOR_DESC* desc, DML_FEATURE_LEVEL level, size_t capacity) {
    dmlops_violation* found = (dmlops_violation*)block(capacity * sizeof *found);
    const size_t count = dmlops_validate(desc, level, capacity > 0 ? found : NULL, capacity);
    printf("%zu\n", count);
    for (size_t i = 0; i < count && i < capacity; ++i) {
        printf("%s\t%s\t%s\n", found[i].rule, found[i].member, found[i].message);
    }
    while (block_count > 0) {
        free(blocks[--block_count]);
    }
}

int main(void) {
    DML_OPERATOR_DESC desc;
    DML_FEATURE_LEVEL level;
    const DML_OPERATOR_DESC* given = NULL;
    char* description = NULL;
    size_t capacity = 0;
    char word[16];
    while (scanf("%15s", word) == 1) {
        if (strcmp(word, "case") == 0) {
            memset(&desc, 0, sizeof desc);
            set_enum(&level);
            set_enum(&desc.Type);
            description = (char*)block((size_t)number());
            desc.Desc = description;
            given = &desc;
            capacity = (size_t)number();
        } else if (strcmp(word, "null") == 0) {
            desc.Desc = NULL;
        } else if (strcmp(word, "nothing") == 0) {
            given = NULL;
        } else if (strcmp(word, "uint") == 0) {
            const size_t offset = (size_t)number();
            const UINT value = (UINT)number();
            memcpy(description + offset, &value, sizeof value);
        } else if (strcmp(word, "tensor") == 0 || strcmp(word, "bare") == 0) {
            set_tensor(description, word[0] == 't');
        } else if (strcmp(word, "go") == 0) {
            go(given, level, capacity);
        } else {
            return 2;
        }
    }
    return 0;
}
