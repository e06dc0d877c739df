# The shaders of the operators, as files and as arrays. Operators are named as in DirectML.h, with or without
# DML_OPERATOR_.

# dmlops_shader_path(OPERATOR VARIABLE): the HLSL file of an operator. An operator without a shader is an error.
function(dmlops_shader_path operator variable)
    string(TOLOWER "${operator}" name)
    string(REGEX REPLACE "^dml_operator_" "" name "${name}")
    get_target_property(folder dmlops::dmlops DMLOPS_SHADERS)
    if(NOT EXISTS "${folder}/${name}.hlsl")
        message(FATAL_ERROR "dmlops has no shader of ${operator}")
    endif()
    set(${variable} "${folder}/${name}.hlsl" PARENT_SCOPE)
endfunction()

# dmlops_embed_shaders(TARGET OPERATORS OPERATOR...): for each operator the sources of TARGET can include
# dmlops_shaders/gather.h, which has the text of gather.hlsl, of sizeof bytes and without a null after it:
#
#     static const unsigned char dmlops_shader_gather[]
function(dmlops_embed_shaders target)
    cmake_parse_arguments(PARSE_ARGV 1 embed "" "" OPERATORS)
    if(NOT embed_OPERATORS OR embed_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "usage: dmlops_embed_shaders(TARGET OPERATORS OPERATOR...)")
    endif()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}_shaders")
    foreach(operator IN LISTS embed_OPERATORS)
        dmlops_shader_path("${operator}" path)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
        get_filename_component(name "${path}" NAME_WE)
        file(READ "${path}" bytes HEX)
        string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
        string(REGEX REPLACE "(0a,)" "\\1\n" bytes "${bytes}") # one line per line of the shader
        file(CONFIGURE OUTPUT "${folder}/dmlops_shaders/${name}.h" @ONLY CONTENT
            "#pragma once\nstatic const unsigned char dmlops_shader_@name@[] = {\n@bytes@};\n")
    endforeach()
    target_include_directories(${target} PRIVATE "${folder}")
endfunction()
