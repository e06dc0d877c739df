/* What both players of plans need: files, a reader of JSON, and the regions of the three memories. It is C, and C++. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) check((condition), #condition, __LINE__)

static void check(int holds, const char* what, int line) {
    if (!holds) {
        fprintf(stderr, "line %d: this does not hold: %s\n", line, what);
        exit(1);
    }
}

static char* read_file(const char* folder, const char* name, size_t* size) {
    char path[4096];
    FILE* file;
    char* data;
    long end;

    snprintf(path, sizeof path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    CHECK(fseek(file, 0, SEEK_END) == 0);
    end = ftell(file);
    CHECK(end >= 0 && fseek(file, 0, SEEK_SET) == 0);
    data = (char*)malloc((size_t)end + 1);
    CHECK(data != NULL && fread(data, 1, (size_t)end, file) == (size_t)end);
    data[end] = 0;
    fclose(file);
    *size = (size_t)end;
    return data;
}

/* JSON, as far as plans use it: values without escapes in strings that matter here. Values are positions in the text. */

static const char* space(const char* at) {
    return at + strspn(at, " \t\r\n");
}

static const char* after_string(const char* at) {
    for (++at; *at && *at != '"'; ++at) {
        at += *at == '\\' && at[1];
    }
    CHECK(*at == '"');
    return at + 1;
}

static const char* after_value(const char* at) {
    int depth = 0;

    do {
        at = space(at);
        CHECK(*at);
        if (*at == '"') {
            at = after_string(at);
        } else if (strchr("[{", *at)) {
            ++depth, ++at;
        } else if (strchr("]}", *at)) {
            --depth, ++at;
        } else if (strchr(",:", *at)) {
            ++at;
        } else {
            at += strcspn(at, " \t\r\n,:]}");
        }
    } while (depth > 0);
    return at;
}

/* The first entry of a list, or NULL; `next_entry` leads to the others. */
static const char* first_entry(const char* list) {
    CHECK(list && *list == '[');
    list = space(list + 1);
    return *list == ']' ? NULL : list;
}

static const char* next_entry(const char* entry) {
    entry = space(after_value(entry));
    return *entry == ',' ? space(entry + 1) : NULL;
}

static uint32_t count_of(const char* list) {
    uint32_t count = 0;

    for (const char* one = first_entry(list); one; one = next_entry(one)) {
        ++count;
    }
    return count;
}

/* The value of a key of an object, or NULL. */
static const char* member(const char* object, const char* key) {
    const size_t length = strlen(key);

    CHECK(object && *object == '{');
    for (object = space(object + 1); *object == '"'; object = space(object + 1)) {
        const char* value = space(after_string(object));
        CHECK(*value == ':');
        value = space(value + 1);
        if (!strncmp(object + 1, key, length) && object[1 + length] == '"') {
            return value;
        }
        object = space(after_value(value));
        if (*object != ',') {
            break;
        }
    }
    return NULL;
}

static uint64_t number(const char* value) {
    CHECK(value && *value >= '0' && *value <= '9');
    return strtoull(value, NULL, 10);
}

/* The three memories, and parts of them. */

enum { ARENA, WEIGHTS, CONSTANTS, MEMORIES };
static const char* const memory_names[MEMORIES] = {"arena", "weights", "constants"};

typedef struct region {
    int memory;
    uint64_t offset, size;
} region;

static region read_region(const char* value) {
    const char* name = member(value, "memory");
    region found = {0, number(member(value, "offset")), number(member(value, "size"))};

    CHECK(name != NULL);
    while (strncmp(name + 1, memory_names[found.memory], strlen(memory_names[found.memory]))) {
        CHECK(++found.memory < MEMORIES);
    }
    return found;
}

/* The contents of a shader's file. */
static char* read_shader(const char* folder, const char* shader, size_t* size) {
    const char* name = member(shader, "file");
    char file[256];

    CHECK(name != NULL);
    snprintf(file, sizeof file, "%.*s", (int)(after_string(name) - name) - 2, name + 1);
    return read_file(folder, file, size);
}

/* The plan of a folder for a target, such as "spirv", if there are as many files as it has inputs and outputs; or NULL. */
static const char* read_plan(const char* folder, const char* target, int files) {
    size_t size;
    const char* plan = space(read_file(folder, "plan.json", &size));
    const uint32_t inputs = count_of(member(plan, "inputs")), outputs = count_of(member(plan, "outputs"));
    const char* own = member(plan, "target");

    CHECK(own != NULL);
    if (number(member(plan, "format")) != 1 || strncmp(own + 1, target, strlen(target)) ||
        (uint32_t)files != inputs + outputs) {
        fprintf(stderr, "%s takes %u inputs and %u outputs, and must be for %s\n", folder, inputs, outputs, target);
        return NULL;
    }
    return plan;
}
