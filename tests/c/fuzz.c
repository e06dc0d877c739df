/* Validates descriptions of all operators with random scalars; a sanitizer stops it at the first undefined act. Arrays
 * have as many entries as any count here entitles the validator to read. Argument: the number of descriptions. */
#include <stdio.h>
#include <stdlib.h>

#include "dmlops.h"

#define ENTRIES 16
#define TENSORS 64
#define WORDS 256 /* of 4 bytes, in the largest description */

typedef struct description {
    uint64_t words[WORDS / 2];
} description;

static uint64_t state = 0x9e3779b97f4a7c15u;
static DML_BUFFER_TENSOR_DESC buffers[TENSORS];
static DML_TENSOR_DESC tensors[TENSORS];
static UINT arrays[TENSORS][2][ENTRIES];
static UINT plain[ENTRIES];
static DML_OPERATOR_DESC activations[ENTRIES];
static description nested[ENTRIES];

static uint64_t random_bits(void) { /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}

static int rarely(void) {
    return random_bits() % 64 == 0;
}

/* Small numbers, powers of two, limits and noise. */
static uint64_t value(void) {
    const uint64_t bits = random_bits();
    const uint64_t power = (uint64_t)1 << (bits >> 8) % 64;
    switch (bits % 16) {
    case 0:
        return bits >> 8;
    case 1:
        return power;
    case 2:
        return power - 1;
    case 3:
        return UINT64_MAX;
    default:
        return (bits >> 8) % 5;
    }
}

static void fill(void* place, size_t size) {
    const uint64_t bits = value();
    memcpy(place, &bits, size);
}

static void fill_array(UINT* array) {
    for (int i = 0; i < ENTRIES; ++i) {
        fill(&array[i], sizeof *array);
    }
}

static void fill_tensor(int place) {
    DML_BUFFER_TENSOR_DESC* tensor = &buffers[place];
    const uint64_t shape = random_bits();
    const uint32_t buffer = rarely() ? (uint32_t)value() : 1;
    const int like_first = place > 0 && shape % 4 != 0;
    fill_array(arrays[place][0]);
    fill_array(arrays[place][1]);
    for (int i = 0; i < ENTRIES; ++i) {
        UINT* size = &arrays[place][0][i];
        *size = rarely() ? *size : like_first ? arrays[0][0][i] : *size % 3 + 1;
    }
    fill(&tensor->DataType, sizeof tensor->DataType);
    fill(&tensor->Flags, sizeof tensor->Flags);
    fill(&tensor->DimensionCount, sizeof tensor->DimensionCount);
    fill(&tensor->TotalTensorSizeInBytes, sizeof tensor->TotalTensorSizeInBytes);
    fill(&tensor->GuaranteedBaseOffsetAlignment, sizeof tensor->GuaranteedBaseOffsetAlignment);
    if (!rarely()) { /* so that later stages are reached */
        const uint32_t float_type = 1;
        memcpy(&tensor->DataType, &float_type, sizeof float_type);
        tensor->DimensionCount = like_first ? buffers[0].DimensionCount : tensor->DimensionCount % 2 + 4;
    }
    tensor->Sizes = rarely() ? NULL : arrays[place][0];
    tensor->Strides = shape & 16 ? arrays[place][1] : NULL;
    memcpy(&tensors[place].Type, &buffer, sizeof buffer);
    tensors[place].Desc = rarely() ? NULL : tensor;
}

/* Fills what the members of an operator are; addresses of activations inside of one stay null. */
static void fill_members(description* desc, const dmlops_operator* rules, int depth) {
    int next_tensor = 0;
    for (int i = 0; i < WORDS; ++i) {
        fill((char*)desc->words + 4 * i, 4);
    }
    for (int i = 0; i < rules->member_count; ++i) {
        const dmlops_member* member = &rules->members[i];
        const UINT count = (UINT)(random_bits() % (member->kind == DMLOPS_TENSOR ? 5 : 9));
        const void* target = plain;
        if (member->kind == DMLOPS_ENUM) {
            continue;
        }
        if (member->kind == DMLOPS_TENSOR) {
            target = &tensors[next_tensor];
            for (UINT k = 0; k < (member->count == DMLOPS_ALONE ? 1 : count); ++k) {
                fill_tensor(next_tensor++);
            }
        }
        if (member->kind == DMLOPS_ACTIVATION) {
            target = depth == 0 ? activations : NULL;
        }
        if (member->count != DMLOPS_ALONE) {
            memcpy((char*)desc->words + member->count, &count, sizeof count);
        }
        if (rarely() || depth > 0 || (member->optional && random_bits() % 2 == 0)) {
            target = NULL;
        }
        memcpy((char*)desc->words + member->offset, &target, sizeof target);
    }
}

static void fill_activations(void) {
    for (int i = 0; i < ENTRIES; ++i) {
        const size_t operators = sizeof dmlops_operators / sizeof *dmlops_operators;
        const dmlops_operator* rules = &dmlops_operators[random_bits() % operators];
        const uint32_t type = rarely() ? (uint32_t)value() : rules->type;
        memcpy(&activations[i].Type, &type, sizeof type);
        fill_members(&nested[i], rules, 1);
        activations[i].Desc = rarely() ? NULL : &nested[i];
    }
}

int main(int argc, char** argv) {
    const size_t operators = sizeof dmlops_operators / sizeof *dmlops_operators;
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    unsigned long long reported = 0;
    for (long turn = 0; turn < count; ++turn) {
        const dmlops_operator* rules = &dmlops_operators[(size_t)turn % operators];
        description members;
        DML_OPERATOR_DESC desc;
        DML_FEATURE_LEVEL level;
        dmlops_violation found[16];
        const uint32_t type = rarely() ? (uint32_t)value() : rules->type;
        /* a number beyond the largest level would be no value of a C++ enumeration */
        const uint32_t any_level = rarely() ? (uint32_t)value() & 0x7fff : turn % 3 == 0 ? 0x3000 : 0x6400;
        fill_array(plain);
        if (turn % 16 == 0) {
            fill_activations();
        }
        fill_members(&members, rules, 0);
        memcpy(&desc.Type, &type, sizeof type);
        memcpy(&level, &any_level, sizeof level);
        desc.Desc = type == rules->type ? &members : NULL;
        reported += dmlops_validate(&desc, level, found, random_bits() % 17);
    }
    printf("%llu\n", reported);
    return 0;
}
