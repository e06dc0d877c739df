/* dmlops_validate for callers that load it: the violations as text, "RULE\tMEMBER\tMESSAGE\n" each. */
#include "dmlops.h"

#define CAPACITY 64

const char* judge(const DML_OPERATOR_DESC* desc, DML_FEATURE_LEVEL level);

const char* judge(const DML_OPERATOR_DESC* desc, DML_FEATURE_LEVEL level) {
    static char text[CAPACITY * sizeof(dmlops_violation)];
    static dmlops_violation found[CAPACITY];
    const size_t count = dmlops_validate(desc, level, found, CAPACITY);
    size_t end = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && i < CAPACITY; ++i) {
        const int written = snprintf(
            text + end, sizeof text - end, "%s\t%s\t%s\n", found[i].rule, found[i].member, found[i].message);
        end += (size_t)written;
    }
    return text;
}
