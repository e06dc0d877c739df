/* Validates descriptions that libFuzzer makes of bytes, infers their outputs and plans their dispatches, under
 * sanitizers. Bytes are read as
 *
 *     the feature level, in 2 bytes, and a DML_OPERATOR_DESC
 *     a struct, or an array of structs or numbers: itself, as it lies in memory; then, in order, what its addresses
 *         point to. An address is null if it is 0, or if it is that of more than LENGTH tensors. Any other array has no
 *         more than READABLE entries, whatever its count says: so many a right count may have
 *
 * and are followed by zeros. Every struct and array is a block of exactly its size, so that a sanitizer sees any
 * access beside it, and what has a Type that is none has an address that leads nowhere. shapes.h, which
 * tests/c_fuzz.py writes, says where addresses lie and what they point to.
 */
#include <stdint.h>
#include <stdlib.h>

#define DMLOPS_DISPATCH
#include "dmlops.h"
#include "shapes.h"

#define LENGTH 32
#define READABLE DML_TENSOR_DIMENSION_COUNT_MAX1
#define CAPACITY 8
#define BLOCKS 8192

typedef struct input {
    const uint8_t* bytes;
    size_t size;
} input;

static void* blocks[BLOCKS];
static size_t block_count;

static void* block(size_t size) {
    void* made = malloc(size);
    if (made == NULL || block_count == BLOCKS) {
        abort();
    }
    return blocks[block_count++] = made;
}

static void take(input* from, void* place, size_t size) {
    const size_t given = size < from->size ? size : from->size;
    memset(place, 0, size);
    if (given > 0) {
        memcpy(place, from->bytes, given);
        from->bytes += given;
        from->size -= given;
    }
}

static void* read_shape(input* from, const shape* read, size_t count);

/* Puts the address of what an address of a struct points to in its place. */
static void read_target(input* from, const address* read, unsigned char* owner) {
    uint32_t type = 0;
    uint64_t given = 0;
    UINT count = 1;
    void* target = NULL;
    memcpy(&type, owner, sizeof type);
    if (read->type != ANY_TYPE && read->type != type) {
        return;
    }
    memcpy(&given, owner + read->offset, sizeof given);
    if (read->count != ALONE) {
        memcpy(&count, owner + read->count, sizeof count);
    }
    if (read->shape != TENSOR_DESC && count > READABLE) {
        count = READABLE;
    }
    if (given != 0 && count <= LENGTH) {
        target = read_shape(from, &shapes[read->shape], count);
    }
    memcpy(owner + read->offset, &target, sizeof target);
}

static void* read_shape(input* from, const shape* read, size_t count) {
    unsigned char* made = (unsigned char*)block(read->size * count);
    take(from, made, read->size * count);
    for (size_t entry = 0; entry < count; ++entry) {
        for (size_t i = read->first; i < read->end; ++i) {
            read_target(from, &addresses[i], made + entry * read->size);
        }
    }
    return made;
}

static void check(int condition) {
    if (!condition) {
        abort();
    }
}

static void validate(const DML_OPERATOR_DESC* desc, DML_FEATURE_LEVEL level) {
    dmlops_violation* found = (dmlops_violation*)block(CAPACITY * sizeof *found);
    const size_t count = dmlops_validate(desc, level, found, CAPACITY);
    const DML_FEATURE_LEVEL lowest = dmlops_min_feature_level(desc);
    check(dmlops_validate(desc, level, NULL, 0) == count);
    check(lowest == 0 ? count > 0 : dmlops_validate(desc, lowest, NULL, 0) == 0);
    check(lowest <= level || count > 0);
    check(dmlops_advise(desc, level, NULL, 0) == 0 || count == 0);
    for (size_t i = 0; i < count && i < CAPACITY; ++i) {
        check(strncmp(found[i].rule, "DML-", 4) == 0);
        check(strlen(found[i].member) < DMLOPS_PATH_SIZE);
        check(memchr(found[i].message, 0, DMLOPS_MESSAGE_SIZE) != NULL);
    }
}

static void infer(const DML_OPERATOR_DESC* desc) {
    dmlops_inference ended = DMLOPS_INFERRED;
    dmlops_violation reason;
    for (size_t number = 0; ended != DMLOPS_NO_OUTPUT; ++number) {
        DML_BUFFER_TENSOR_DESC* tensor = (DML_BUFFER_TENSOR_DESC*)block(sizeof *tensor);
        UINT* sizes = (UINT*)block(DML_TENSOR_DIMENSION_COUNT_MAX1 * sizeof *sizes);
        ended = dmlops_infer_output_or_reason(desc, number, tensor, sizes, &reason);
        check(dmlops_infer_output(desc, number, tensor, sizes) == ended);
        check(ended == DMLOPS_INFERRED || *reason.message != '\0');
        if (ended == DMLOPS_INFERRED) {
            check(tensor->Sizes == sizes);
            check(tensor->DimensionCount >= 1 && tensor->DimensionCount <= DML_TENSOR_DIMENSION_COUNT_MAX1);
        }
    }
}

static void write(const DML_OPERATOR_DESC* desc) {
    const size_t length = dmlops_to_json(desc, NULL, 0);
    const size_t size = length / 2 + 1;
    char* text = (char*)block(size);
    check(dmlops_to_json(desc, text, size) == length && memchr(text, 0, size) == text + size - 1);
}

static void plan(const DML_OPERATOR_DESC* desc) {
    dmlops_dispatch* planned = (dmlops_dispatch*)block(CAPACITY * sizeof *planned);
    dmlops_work* work = (dmlops_work*)block(sizeof *work);
    const size_t count = dmlops_plan_work(desc, work, planned, CAPACITY);
    const int valid = dmlops_validate(desc, DML_FEATURE_LEVEL_6_4, NULL, 0) == 0;
    check(dmlops_plan(desc, NULL, 0) == count);
    check(work->dispatch_count == count);
    check((work->reason == DMLOPS_REASON_INVALID) == !valid);
    check(work->reason != DMLOPS_REASON_PLAN_TOO_LARGE);
    check(count == 0 || work->reason == DMLOPS_REASON_NONE);
    check((work->message[0] == 0) == (work->reason == DMLOPS_REASON_NONE));
    check(work->scratch_count <= DMLOPS_MAX_SCRATCH && work->read_write_output_count <= DMLOPS_MAX_READ_WRITE_OUTPUTS);
    for (size_t i = 0; i < count && i < CAPACITY; ++i) {
        check(strlen(planned[i].shader) > strlen(".hlsl"));
        check(planned[i].define_count <= DMLOPS_MAX_DEFINES);
        check(planned[i].binding_count <= DMLOPS_MAX_BINDINGS);
        check(planned[i].constant_count <= DMLOPS_MAX_CONSTANTS);
    }
}

#ifdef __cplusplus
extern "C"
#endif
int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    input from = {bytes, size};
    uint16_t number = 0;
    uint32_t value;
    DML_FEATURE_LEVEL level;
    const DML_OPERATOR_DESC* desc;
    take(&from, &number, sizeof number);
    value = number & 0x7fff; /* a number beyond the largest level would be no value of a C++ enumeration */
    memcpy(&level, &value, sizeof level);
    desc = (const DML_OPERATOR_DESC*)read_shape(&from, &shapes[OPERATOR_DESC], 1);
    validate(desc, level);
    infer(desc);
    write(desc);
    plan(desc);
    while (block_count > 0) {
        free(blocks[--block_count]);
    }
    return 0;
}

#ifdef WITHOUT_LIBFUZZER /* for compilers that lack it: the arguments are files with one input each */
#include <stdio.h>

int main(int argc, char** argv) {
    static uint8_t bytes[1 << 16];
    for (int i = 1; i < argc; ++i) {
        FILE* file = fopen(argv[i], "rb");
        check(file != NULL);
        LLVMFuzzerTestOneInput(bytes, fread(bytes, 1, sizeof bytes, file));
        fclose(file);
    }
    return 0;
}
#endif
