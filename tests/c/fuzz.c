/* Validates descriptions with random scalars; a sanitizer stops it at the first undefined act. Arrays have eight
 * entries, the most that any DimensionCount entitles the validator to read. Argument: the number of descriptions. */
#include <stdio.h>
#include <stdlib.h>

#include "dmlops.h"

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t random_bits(void) { /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}

/* Small numbers, powers of two, limits and noise. */
static uint64_t value(void) {
    const uint64_t bits = random_bits();
    const uint64_t power = (uint64_t)1 << (bits >> 8) % 64;
    switch (bits % 8) {
    case 0:
        return bits >> 8;
    case 1:
        return power;
    case 2:
        return power - 1;
    case 3:
        return UINT64_MAX;
    default:
        return (bits >> 8) % 9;
    }
}

static void fill(void* place, size_t size) {
    const uint64_t bits = value();
    memcpy(place, &bits, size);
}

static void fill_tensor(DML_BUFFER_TENSOR_DESC* tensor, UINT* sizes, UINT* strides) {
    const uint64_t shape = random_bits();
    for (int i = 0; i < 8; ++i) {
        fill(&sizes[i], sizeof *sizes);
        fill(&strides[i], sizeof *strides);
        sizes[i] = shape % 4 == 0 ? sizes[i] : sizes[i] % 3 + 1;
    }
    fill(&tensor->DataType, sizeof tensor->DataType);
    fill(&tensor->Flags, sizeof tensor->Flags);
    fill(&tensor->DimensionCount, sizeof tensor->DimensionCount);
    fill(&tensor->TotalTensorSizeInBytes, sizeof tensor->TotalTensorSizeInBytes);
    fill(&tensor->GuaranteedBaseOffsetAlignment, sizeof tensor->GuaranteedBaseOffsetAlignment);
    if (shape % 3 != 0) { /* so that later stages are reached */
        const uint32_t float_type = 1;
        memcpy(&tensor->DataType, &float_type, sizeof float_type);
        tensor->DimensionCount = tensor->DimensionCount % 8 + 1;
    }
    tensor->Sizes = sizes;
    tensor->Strides = shape & 16 ? strides : NULL;
}

int main(int argc, char** argv) {
    static const uint32_t types[] = {67, 107, 108, 140};
    static const uint32_t levels[] = {0x1000, 0x2100, 0x3000, 0x4100, 0x6400};
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    unsigned long long reported = 0;
    for (long turn = 0; turn < count; ++turn) {
        UINT arrays[6][8];
        DML_BUFFER_TENSOR_DESC buffers[3];
        DML_TENSOR_DESC tensors[3];
        struct {
            const DML_TENSOR_DESC* tensors[3];
            UINT numbers[4];
        } description;
        DML_OPERATOR_DESC desc;
        DML_FEATURE_LEVEL level;
        dmlops_violation found[16];
        memcpy(&desc.Type, &types[random_bits() % 4], sizeof desc.Type);
        memcpy(&level, &levels[random_bits() % 5], sizeof level);
        if (random_bits() % 64 == 0) {
            const uint32_t any_level = (uint32_t)value() & 0x7fff; /* more would be no value of a C++ enumeration */
            fill(&desc.Type, sizeof desc.Type);
            memcpy(&level, &any_level, sizeof level);
        }
        desc.Desc = &description;
        for (int i = 0; i < 3; ++i) {
            const uint32_t buffer = random_bits() % 64 == 0 ? (uint32_t)value() : 1;
            fill_tensor(&buffers[i], arrays[2 * i], arrays[2 * i + 1]);
            if (i > 0 && random_bits() % 4 != 0) {
                buffers[i].DimensionCount = buffers[0].DimensionCount;
            }
            memcpy(&tensors[i].Type, &buffer, sizeof buffer);
            tensors[i].Desc = random_bits() % 64 == 0 ? NULL : &buffers[i];
            description.tensors[i] = random_bits() % 64 == 0 ? NULL : &tensors[i];
        }
        for (int i = 0; i < 4; ++i) {
            fill(&description.numbers[i], sizeof description.numbers[i]);
        }
        reported += dmlops_validate(&desc, level, found, random_bits() % 17);
    }
    printf("%llu\n", reported);
    return 0;
}
