/* What dmlops.h says of graphs, for tests/c_graphs.py. */
#include <stdlib.h>

#include "dmlops.h"

enum { MOST = 64, GUARD = 64 };

static char answer[MOST * 1024];

typedef size_t (*judge)(
    const DML_GRAPH_DESC*, const DML_OPERATOR_DESC* const*, DML_FEATURE_LEVEL, void*, dmlops_violation*, size_t);

/* Exactly the memory that a graph needs, with bytes behind it that nothing writes to. */
static unsigned char* memory(size_t size) {
    unsigned char* work = (unsigned char*)malloc(size + GUARD);
    if (work == NULL) {
        abort();
    }
    memset(work, 0xa5, size + GUARD);
    return work;
}

static void release(unsigned char* work, size_t size) {
    for (size_t i = 0; i < GUARD; ++i) {
        if (work[size + i] != 0xa5) {
            abort();
        }
    }
    free(work);
}

/* The violations or the advice, one a line: rule, member and message between tabs. */
const char* judge_graph(
    const DML_GRAPH_DESC* graph, const DML_OPERATOR_DESC* const* operators, uint32_t level, int advice) {
    static dmlops_violation found[MOST];
    const judge function = advice ? dmlops_advise_on_graph : dmlops_validate_graph;
    const size_t size = dmlops_graph_work(graph, operators);
    unsigned char* work = memory(size);
    const size_t count = function(graph, operators, (DML_FEATURE_LEVEL)level, work, found, MOST);
    size_t length = 0;
    if (function(graph, operators, (DML_FEATURE_LEVEL)level, work, NULL, 0) != count) {
        abort();
    }
    *answer = '\0';
    for (size_t i = 0; i < count && i < MOST; ++i) {
        const int more = snprintf(
            answer + length, sizeof answer - length, "%s\t%s\t%s\n", found[i].rule, found[i].member, found[i].message);
        if (more < 0 || found[i].member != found[i].path) {
            abort();
        }
        length += (size_t)more;
    }
    release(work, size);
    return answer;
}

uint32_t lowest_of_graph(const DML_GRAPH_DESC* graph, const DML_OPERATOR_DESC* const* operators) {
    const size_t size = dmlops_graph_work(graph, operators);
    unsigned char* work = memory(size);
    const DML_FEATURE_LEVEL lowest = dmlops_min_feature_level_of_graph(graph, operators, work);
    release(work, size);
    return (uint32_t)lowest;
}

/* The slots of a description, one a line. */
const char* slots_of(const DML_OPERATOR_DESC* desc, int outputs, size_t capacity) {
    static dmlops_slot slots[MOST];
    const size_t count = dmlops_slots(desc, outputs, slots, capacity);
    int length = snprintf(answer, sizeof answer, "%d\n", (int)count);
    for (size_t i = 0; i < count && i < capacity; ++i) {
        length += snprintf(
            answer + length, sizeof answer - (size_t)length, "%s %d %d %d\n", slots[i].member, (int)slots[i].entry,
            slots[i].tensor != NULL ? (int)slots[i].tensor->DimensionCount : -1, slots[i].optional);
    }
    return answer;
}

/* A copy of a description in memory of its own, which `free_copy` releases; null if it does not fit exactly. */
DML_OPERATOR_DESC* copy_of(const DML_OPERATOR_DESC* desc) {
    const size_t size = dmlops_copy(desc, NULL, 0);
    unsigned char* copy = memory(size);
    if (dmlops_copy(desc, copy, size - 1) != size || copy[0] != 0xa5 || dmlops_copy(desc, copy, size) != size) {
        abort();
    }
    for (size_t i = 0; i < GUARD; ++i) {
        if (copy[size + i] != 0xa5) {
            abort();
        }
    }
    return (DML_OPERATOR_DESC*)(void*)copy;
}

/* A graph as JSON; null if it is longer than `text`. */
const char* json_of(const DML_GRAPH_DESC* graph, const DML_OPERATOR_DESC* const* operators, char* text, size_t size) {
    const size_t length = dmlops_graph_to_json(graph, operators, NULL, 0);
    return length < size && dmlops_graph_to_json(graph, operators, text, size) == length ? text : NULL;
}

void free_copy(DML_OPERATOR_DESC* copy) {
    free(copy);
}
