/* What dmlops.h says of bindings, for tests/c_bindings.py. */
#include <stdlib.h>

#include "dmlops.h"

enum { MOST = 256 };

static char answer[MOST * 1024];

/* The violations or the advice, one a line: rule, member and message between tabs. */
const char* judge_bindings(const dmlops_bindings* bindings, int advice) {
    static dmlops_violation found[MOST];
    size_t (*function)(const dmlops_bindings*, dmlops_violation*, size_t) =
        advice ? dmlops_advise_on_bindings : dmlops_validate_bindings;
    const size_t count = function(bindings, found, MOST);
    size_t length = 0;
    if (function(bindings, NULL, 0) != count) {
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
    return answer;
}

size_t requirements_of(const DML_OPERATOR_DESC* desc, int outputs, dmlops_requirement* out, size_t capacity) {
    return dmlops_requirements(desc, outputs, out, capacity);
}

size_t graph_requirements_of(
    const DML_GRAPH_DESC* graph, const DML_OPERATOR_DESC* const* operators, int outputs, dmlops_requirement* out,
    size_t capacity) {
    return dmlops_graph_requirements(graph, operators, outputs, out, capacity);
}
