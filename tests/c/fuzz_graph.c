/* Fuzzes the checks of graphs: the bytes are counts, types and indices; the operators are two valid ones and an array of
   tensors, some of them absent or of an unknown type. */
#include <stdlib.h>

#include "dmlops.h"

enum { NODES = 8, EDGES = 12 };

typedef struct bytes {
    const uint8_t* next;
    size_t left;
} bytes;

static UINT number(bytes* from, UINT end) {
    UINT value = 0;
    if (from->left > 0) {
        value = *from->next++;
        --from->left;
    }
    return value == 255 ? 0xffffffffu : value % end; /* now and then an index of which no array has so many */
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const UINT sizes[4] = {1, 1, 2, 3};
    bytes from = {data, size};
    DML_BUFFER_TENSOR_DESC buffers[3] = {
        {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, NULL, 24, 0},
        {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_OWNED_BY_DML, 4, sizes, NULL, 24, 0},
        {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, NULL, 28, 0}};
    DML_TENSOR_DESC tensors[3] = {
        {DML_TENSOR_TYPE_BUFFER, &buffers[0]}, {DML_TENSOR_TYPE_BUFFER, &buffers[1]}, {DML_TENSOR_TYPE_BUFFER, &buffers[2]}};
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC adds[NODES];
    DML_OPERATOR_DESC descs[NODES];
    const DML_OPERATOR_DESC* operators[NODES];
    DML_OPERATOR_GRAPH_NODE_DESC operator_nodes[NODES];
    DML_CONSTANT_DATA_GRAPH_NODE_DESC constants[NODES];
    DML_GRAPH_NODE_DESC nodes[NODES];
    DML_INTERMEDIATE_GRAPH_EDGE_DESC indices[3][EDGES];
    DML_GRAPH_EDGE_DESC edges[3][EDGES];
    DML_GRAPH_DESC graph;
    dmlops_violation found[4];
    char text[512];
    unsigned char* work;
    size_t bytes_needed;
    memset(&graph, 0, sizeof graph);
    graph.InputCount = number(&from, 4) % 256;
    graph.OutputCount = number(&from, 4) % 256;
    graph.NodeCount = number(&from, NODES + 1) % (NODES + 1);
    for (UINT i = 0; i < NODES; ++i) {
        const UINT kind = number(&from, 8) % 8;
        memset(&adds[i], 0, sizeof adds[i]);
        adds[i].ATensor = &tensors[number(&from, 3) % 3];
        adds[i].BTensor = kind == 1 ? NULL : &tensors[number(&from, 3) % 3];
        adds[i].OutputTensor = &tensors[0];
        descs[i].Type = kind == 2 ? (DML_OPERATOR_TYPE)9999 : DML_OPERATOR_ELEMENT_WISE_ADD;
        descs[i].Desc = kind == 3 ? NULL : &adds[i];
        operators[i] = kind == 4 ? NULL : &descs[i];
        operator_nodes[i].Operator = NULL;
        operator_nodes[i].Name = kind == 0 ? "node" : NULL;
        constants[i].Data = NULL;
        constants[i].DataSize = 24;
        constants[i].Name = NULL;
        nodes[i].Type = kind == 5 ? DML_GRAPH_NODE_TYPE_CONSTANT : kind == 6 ? (DML_GRAPH_NODE_TYPE)7 : DML_GRAPH_NODE_TYPE_OPERATOR;
        nodes[i].Desc = kind == 7 ? NULL : kind == 5 ? (const void*)&constants[i] : (const void*)&operator_nodes[i];
    }
    graph.Nodes = number(&from, 16) == 0 ? NULL : nodes;
    graph.InputEdgeCount = number(&from, EDGES + 1) % (EDGES + 1);
    graph.OutputEdgeCount = number(&from, EDGES + 1) % (EDGES + 1);
    graph.IntermediateEdgeCount = number(&from, EDGES + 1) % (EDGES + 1);
    for (UINT type = 0; type < 3; ++type) {
        for (UINT i = 0; i < EDGES; ++i) {
            indices[type][i].FromNodeIndex = number(&from, NODES + 1);
            indices[type][i].FromNodeOutputIndex = number(&from, 4);
            indices[type][i].ToNodeIndex = number(&from, NODES + 1);
            indices[type][i].ToNodeInputIndex = number(&from, 4);
            indices[type][i].Name = NULL;
            edges[type][i].Type = (DML_GRAPH_EDGE_TYPE)(number(&from, 64) == 0 ? 9 : type + 1);
            edges[type][i].Desc = number(&from, 64) == 0 ? NULL : &indices[type][i];
        }
    }
    graph.InputEdges = number(&from, 16) == 0 ? NULL : edges[0];
    graph.OutputEdges = number(&from, 16) == 0 ? NULL : edges[1];
    graph.IntermediateEdges = number(&from, 16) == 0 ? NULL : edges[2];
    bytes_needed = dmlops_graph_work(&graph, operators);
    work = (unsigned char*)malloc(bytes_needed > 0 ? bytes_needed : 1); /* what is behind it, sanitizers guard */
    if (work != NULL) {
        dmlops_validate_graph(&graph, operators, DML_FEATURE_LEVEL_6_4, work, found, 4);
        dmlops_advise_on_graph(&graph, operators, DML_FEATURE_LEVEL_6_4, work, found, 4);
        dmlops_min_feature_level_of_graph(&graph, operators, work);
        dmlops_graph_to_json(&graph, operators, text, sizeof text);
    }
    free(work);
    return 0;
}
