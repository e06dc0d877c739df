# dmlops_add_library(NAME): a static library of the bodies of dmlops.h and dmlops_plan.h. What links to it includes
# declarations only. It needs C, and has the include folder of dmlops::dmlops.
function(dmlops_add_library name)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.c")
    file(CONFIGURE OUTPUT "${source}" CONTENT
        "#define DMLOPS_IMPLEMENTATION\n#define DMLOPS_RULE_TEXTS\n#include <dmlops_plan.h>\n")
    add_library(${name} STATIC "${source}")
    target_link_libraries(${name} PUBLIC dmlops::dmlops)
    target_compile_definitions(${name} INTERFACE DMLOPS_DECLARATIONS)
    set_target_properties(${name} PROPERTIES C_STANDARD 11)
endfunction()
