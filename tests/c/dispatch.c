/* dmlops_plan_for for callers that load it: the plan as text, and a line for each dispatch.
 *
 *     REASON MEMBER SIZE:CLEARED,... MEMBER:ENTRY,... MESSAGE
 *     SHADER X,Y,Z WAITS READS NAME=VALUE,... MEMBER:ENTRY,... WORD,...
 */
#define DMLOPS_DISPATCH
#include "dmlops.h"

#define CAPACITY 256
#define LINE 16384

const char* plan(const DML_OPERATOR_DESC* desc, uint32_t capabilities);
size_t count(const DML_OPERATOR_DESC* desc, size_t capacity);

static char text[(CAPACITY + 1) * LINE];
static size_t end;

static void put(const char* name, const char* between, uint32_t number, char after) {
    const int written = snprintf(text + end, sizeof text - end, "%s%s%u%c", name, between, (unsigned)number, after);
    end += (size_t)written;
}

const char* plan(const DML_OPERATOR_DESC* desc, uint32_t capabilities) {
    static dmlops_dispatch dispatches[CAPACITY];
    dmlops_work work;
    const size_t planned = dmlops_plan_for(desc, capabilities, &work, dispatches, CAPACITY);
    end = (size_t)snprintf(
        text, sizeof text, "%d %u ", (int)work.reason, (unsigned)work.member);
    for (uint32_t k = 0; k < work.scratch_count; ++k) {
        end += (size_t)snprintf(
            text + end, sizeof text - end, "%llu:%u,", (unsigned long long)work.scratch[k].size,
            (unsigned)work.scratch[k].zero_initialize);
    }
    text[end++] = ' ';
    for (uint32_t k = 0; k < work.read_write_output_count; ++k) {
        put("", "", work.read_write_outputs[k].member, ':');
        put("", "", work.read_write_outputs[k].entry, ',');
    }
    end += (size_t)snprintf(text + end, sizeof text - end, " %s\n", work.message);
    for (size_t i = 0; i < planned && i < CAPACITY; ++i) {
        const dmlops_dispatch* one = &dispatches[i];
        put(one->shader, " ", one->groups[0], ',');
        put("", "", one->groups[1], ',');
        put("", "", one->groups[2], ' ');
        put("", "", one->needs_barrier, ' ');
        put("", "", one->read_count, ' ');
        for (uint32_t k = 0; k < one->define_count; ++k) {
            const int written = snprintf(
                text + end, sizeof text - end, "%s=%s,", one->defines[k].name, one->defines[k].value);
            end += (size_t)written;
        }
        text[end++] = ' ';
        for (uint32_t k = 0; k < one->binding_count; ++k) {
            put("", "", one->bindings[k].member, ':');
            put("", "", one->bindings[k].entry, ',');
        }
        text[end++] = ' ';
        for (uint32_t k = 0; k < one->constant_count; ++k) {
            put("", "", one->constants[k], ',');
        }
        text[end - 1] = '\n';
    }
    text[end] = '\0';
    return text;
}

/* How many there are, where no more than so many are written. */
size_t count(const DML_OPERATOR_DESC* desc, size_t capacity) {
    static dmlops_dispatch dispatches[4];
    memset(dispatches, 0xff, sizeof dispatches);
    {
        const size_t planned = dmlops_plan(desc, capacity > 0 ? dispatches : NULL, capacity);
        for (size_t i = 0; i < 4; ++i) {
            const int written = dispatches[i].groups[2] == 1;
            if (written != (i < planned && i < capacity)) {
                return SIZE_MAX;
            }
        }
        return planned;
    }
}
