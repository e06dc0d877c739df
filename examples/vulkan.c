/* The sum of a million numbers on a GPU, through Vulkan: validates a description, plans it, compiles the shader
   variants that the plan needs, records its dispatches, and reads the result. Only main() is about sums: any other
   description runs the same way, with its tensors in `buffers`.

       cc -std=c11 -I generated/include examples/vulkan.c -lvulkan -o vulkan
       ./vulkan generated/hlsl

   The environment variable DXC names the DirectX Shader Compiler if it is not on PATH. A real program would ship the
   SPIR-V; dispatches with equal shader and macros can share a pipeline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

#include "dmlops_plan.h"

enum { ROWS = 1000, COLUMNS = 1000, MAX_DISPATCHES = 8 };

#define CHECK(condition) check((condition), #condition, __LINE__)

static void check(int holds, const char* what, int line) {
    if (!holds) {
        fprintf(stderr, "vulkan.c:%d: this does not hold: %s\n", line, what);
        exit(1);
    }
}

/* What all operators share. */
typedef struct gpu_device {
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkCommandPool commands;
    VkDescriptorPool descriptors;
} gpu_device;

/* A buffer that shaders and the host can access. On a discrete GPU, device-local memory filled by copies is faster. */
typedef struct buffer {
    VkBuffer handle;
    void* mapped;
} buffer;

static gpu_device open_gpu(void) {
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo instance_info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    VkInstance instance;
    gpu_device gpu = {0};
    uint32_t count = 1;
    VkQueueFamilyProperties families[16];
    const float priority = 1;

    CHECK(vkCreateInstance(&instance_info, NULL, &instance) == VK_SUCCESS);
    CHECK(vkEnumeratePhysicalDevices(instance, &count, &gpu.physical) >= VK_SUCCESS && count == 1); /* the first one */
    count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(gpu.physical, &count, families);
    while (gpu.family < count && !(families[gpu.family].queueFlags & VK_QUEUE_COMPUTE_BIT)) {
        ++gpu.family;
    }
    CHECK(gpu.family < count);
    {
        /* All shaders need 16- and 64-bit integers; those of halves and doubles need shaderFloat16 and shaderFloat64. */
        VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
        VkPhysicalDeviceVulkan11Features features11 = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
            .pNext = &features12,
            .storageBuffer16BitAccess = VK_TRUE};
        const VkPhysicalDeviceFeatures2 features = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
            .pNext = &features11,
            .features = {.shaderInt64 = VK_TRUE, .shaderInt16 = VK_TRUE}};
        const VkDeviceQueueCreateInfo queue_info = {
            .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
            .queueFamilyIndex = gpu.family,
            .queueCount = 1,
            .pQueuePriorities = &priority};
        const VkDeviceCreateInfo device_info = {
            .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
            .pNext = &features,
            .queueCreateInfoCount = 1,
            .pQueueCreateInfos = &queue_info};
        CHECK(vkCreateDevice(gpu.physical, &device_info, NULL, &gpu.device) == VK_SUCCESS);
    }
    vkGetDeviceQueue(gpu.device, gpu.family, 0, &gpu.queue);
    {
        const VkCommandPoolCreateInfo commands_info = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = gpu.family};
        const VkDescriptorPoolSize sizes[] = {
            {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, MAX_DISPATCHES * DMLOPS_MAX_BINDINGS},
            {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, MAX_DISPATCHES}};
        const VkDescriptorPoolCreateInfo descriptors_info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
            .maxSets = MAX_DISPATCHES,
            .poolSizeCount = 2,
            .pPoolSizes = sizes};
        CHECK(vkCreateCommandPool(gpu.device, &commands_info, NULL, &gpu.commands) == VK_SUCCESS);
        CHECK(vkCreateDescriptorPool(gpu.device, &descriptors_info, NULL, &gpu.descriptors) == VK_SUCCESS);
    }
    return gpu;
}

static buffer make_buffer(const gpu_device* gpu, VkBufferUsageFlags usage, uint64_t size) {
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;
    VkMemoryRequirements needs;
    VkDeviceMemory allocation;
    uint32_t type = 0;
    buffer made;

    CHECK(vkCreateBuffer(gpu->device, &info, NULL, &made.handle) == VK_SUCCESS);
    vkGetBufferMemoryRequirements(gpu->device, made.handle, &needs);
    vkGetPhysicalDeviceMemoryProperties(gpu->physical, &memory);
    while (!(needs.memoryTypeBits >> type & 1) || (memory.memoryTypes[type].propertyFlags & wanted) != wanted) {
        CHECK(++type < memory.memoryTypeCount);
    }
    {
        const VkMemoryAllocateInfo allocate = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
        CHECK(vkAllocateMemory(gpu->device, &allocate, NULL, &allocation) == VK_SUCCESS);
    }
    CHECK(vkBindBufferMemory(gpu->device, made.handle, allocation, 0) == VK_SUCCESS);
    CHECK(vkMapMemory(gpu->device, allocation, 0, VK_WHOLE_SIZE, 0, &made.mapped) == VK_SUCCESS);
    memset(made.mapped, 0, (size_t)size);
    return made;
}

/* The SPIR-V of a dispatch's variant. */
static VkShaderModule compile(const gpu_device* gpu, const dmlops_dispatch* dispatch, const char* shaders) {
    static char command[16384];
    static uint32_t code[1 << 20];
    const char* dxc = getenv("DXC");
    VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .pCode = code};
    VkShaderModule module;
    FILE* file;
    int end = snprintf(
        command, sizeof command,
        "%s -T cs_6_2 -E CSMain -enable-16bit-types -O3 -spirv -fspv-target-env=vulkan1.2 -fvk-use-dx-layout "
        "-fspv-extension=KHR -Fo variant.spv",
        dxc ? dxc : "dxc");

    for (uint32_t i = 0; i < dispatch->define_count; ++i) {
        const dmlops_define* define = &dispatch->defines[i];
        end += snprintf(command + end, sizeof command - (size_t)end, " -D%s=%s", define->name, define->value);
    }
    snprintf(command + end, sizeof command - (size_t)end, " \"%s/%s\"", shaders, dispatch->shader);
    CHECK(system(command) == 0);
    file = fopen("variant.spv", "rb");
    CHECK(file != NULL);
    info.codeSize = fread(code, 1, sizeof code, file);
    fclose(file);
    remove("variant.spv");
    CHECK(vkCreateShaderModule(gpu->device, &info, NULL, &module) == VK_SUCCESS);
    return module;
}

/* Records one dispatch; `bound` are its resources in order, followed by its constants. */
static void record(
    const gpu_device* gpu, VkCommandBuffer commands, const dmlops_dispatch* dispatch, VkShaderModule module, const buffer* bound) {
    const uint32_t count = dispatch->binding_count + 1;
    VkDescriptorSetLayoutBinding bindings[DMLOPS_MAX_BINDINGS + 1] = {0};
    VkDescriptorBufferInfo ranges[DMLOPS_MAX_BINDINGS + 1];
    VkWriteDescriptorSet writes[DMLOPS_MAX_BINDINGS + 1] = {0};
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorSet set;

    for (uint32_t i = 0; i < count; ++i) {
        bindings[i].binding = i;
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
        bindings[i].descriptorType =
            i < dispatch->binding_count ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    }
    {
        const VkDescriptorSetLayoutCreateInfo set_info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = count, .pBindings = bindings};
        CHECK(vkCreateDescriptorSetLayout(gpu->device, &set_info, NULL, &set_layout) == VK_SUCCESS);
    }
    {
        const VkPipelineLayoutCreateInfo layout_info = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set_layout};
        CHECK(vkCreatePipelineLayout(gpu->device, &layout_info, NULL, &layout) == VK_SUCCESS);
    }
    {
        const VkComputePipelineCreateInfo pipeline_info = {
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
            .stage = {
                .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "CSMain"},
            .layout = layout};
        CHECK(vkCreateComputePipelines(gpu->device, VK_NULL_HANDLE, 1, &pipeline_info, NULL, &pipeline) == VK_SUCCESS);
    }
    {
        const VkDescriptorSetAllocateInfo allocate = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
            .descriptorPool = gpu->descriptors,
            .descriptorSetCount = 1,
            .pSetLayouts = &set_layout};
        CHECK(vkAllocateDescriptorSets(gpu->device, &allocate, &set) == VK_SUCCESS);
    }
    for (uint32_t i = 0; i < count; ++i) {
        ranges[i] = (VkDescriptorBufferInfo){bound[i].handle, 0, VK_WHOLE_SIZE};
        writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        writes[i].dstSet = set;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
        writes[i].descriptorType = bindings[i].descriptorType;
        writes[i].pBufferInfo = &ranges[i];
    }
    vkUpdateDescriptorSets(gpu->device, count, writes, 0, NULL);
    if (dispatch->needs_barrier) {
        const VkMemoryBarrier barrier = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
            .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
            .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
        const VkPipelineStageFlags shaders = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
        vkCmdPipelineBarrier(commands, shaders, shaders, 0, 1, &barrier, 0, NULL, 0, NULL);
    }
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(commands, dispatch->groups[0], dispatch->groups[1], dispatch->groups[2]);
}

/* Runs a description; `buffers` are those of its tensors, by the position of the member in the struct. Whatever this
   creates is left for the end of the process to free. */
static void run(const gpu_device* gpu, const DML_OPERATOR_DESC* desc, const buffer* buffers, const char* shaders) {
    static dmlops_dispatch dispatches[MAX_DISPATCHES];
    const VkBufferUsageFlags storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, uniform = VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    const VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = gpu->commands,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;
    buffer scratch[DMLOPS_MAX_SCRATCH];
    dmlops_work work;
    const size_t count = dmlops_plan_work(desc, &work, dispatches, MAX_DISPATCHES);

    if (count == 0 || count > MAX_DISPATCHES) {
        fprintf(stderr, "no plan: %s\n", work.message);
        exit(1);
    }
    for (uint32_t i = 0; i < work.scratch_count; ++i) {
        scratch[i] = make_buffer(gpu, storage, work.scratch[i].size); /* zeros, in case of `zero_initialize` */
    }
    CHECK(vkAllocateCommandBuffers(gpu->device, &allocate, &commands) == VK_SUCCESS);
    CHECK(vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS);
    for (size_t i = 0; i < count; ++i) {
        const dmlops_dispatch* dispatch = &dispatches[i];
        buffer bound[DMLOPS_MAX_BINDINGS + 1];
        for (uint32_t k = 0; k < dispatch->binding_count; ++k) {
            const dmlops_binding one = dispatch->bindings[k]; /* in an array of tensors, `entry` matters, too */
            bound[k] = one.member == DMLOPS_SCRATCH ? scratch[one.entry] : buffers[one.member];
        }
        bound[dispatch->binding_count] = make_buffer(gpu, uniform, dispatch->constant_count * sizeof(uint32_t));
        memcpy(
            bound[dispatch->binding_count].mapped, dispatch->constants, dispatch->constant_count * sizeof(uint32_t));
        record(gpu, commands, dispatch, compile(gpu, dispatch, shaders), bound);
        printf("%s: %u groups, %u macros%s\n", dispatch->shader, dispatch->groups[0] * dispatch->groups[1],
               dispatch->define_count, dispatch->needs_barrier ? ", after a barrier" : "");
    }
    {
        const VkMemoryBarrier barrier = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
            .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
            .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
        const VkPipelineStageFlags shaders_end = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, host = VK_PIPELINE_STAGE_HOST_BIT;
        const VkSubmitInfo submit = {
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
        vkCmdPipelineBarrier(commands, shaders_end, host, 0, 1, &barrier, 0, NULL, 0, NULL);
        CHECK(vkEndCommandBuffer(commands) == VK_SUCCESS);
        CHECK(vkQueueSubmit(gpu->queue, 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
        CHECK(vkQueueWaitIdle(gpu->queue) == VK_SUCCESS);
    }
}

int main(int argc, char** argv) {
    const UINT sizes[] = {ROWS, COLUMNS}, axes[] = {0, 1};
    const DML_BUFFER_TENSOR_DESC input = {
        .DataType = DML_TENSOR_DATA_TYPE_FLOAT32,
        .DimensionCount = 2,
        .Sizes = sizes,
        .TotalTensorSizeInBytes = sizeof(float) * ROWS * COLUMNS};
    const UINT one[] = {1, 1};
    const DML_BUFFER_TENSOR_DESC output = {
        .DataType = DML_TENSOR_DATA_TYPE_FLOAT32,
        .DimensionCount = 2,
        .Sizes = one,
        .TotalTensorSizeInBytes = sizeof(float)};
    const DML_TENSOR_DESC input_tensor = {DML_TENSOR_TYPE_BUFFER, &input};
    const DML_TENSOR_DESC output_tensor = {DML_TENSOR_TYPE_BUFFER, &output};
    const DML_REDUCE_OPERATOR_DESC reduce = {
        .Function = DML_REDUCE_FUNCTION_SUM,
        .InputTensor = &input_tensor,
        .OutputTensor = &output_tensor,
        .AxisCount = 2,
        .Axes = axes};
    const DML_OPERATOR_DESC desc = {DML_OPERATOR_REDUCE, &reduce};
    enum { INPUT = 1, OUTPUT = 2 }; /* the positions of these members in the struct */
    buffer buffers[OUTPUT + 1];
    dmlops_violation violation;
    double expected = 0;
    float sum;
    gpu_device gpu;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER_OF_SHADERS\n", argv[0]);
        return 2;
    }
    if (dmlops_validate(&desc, DML_FEATURE_LEVEL_6_4, &violation, 1)) {
        fprintf(stderr, "%s: %s\n", violation.rule, violation.message);
        return 1;
    }
    CHECK(strcmp(dmlops_member_name(DML_OPERATOR_REDUCE, INPUT), "InputTensor") == 0);
    CHECK(strcmp(dmlops_member_name(DML_OPERATOR_REDUCE, OUTPUT), "OutputTensor") == 0);

    gpu = open_gpu();
    buffers[INPUT] = make_buffer(&gpu, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, input.TotalTensorSizeInBytes);
    buffers[OUTPUT] = make_buffer(&gpu, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, output.TotalTensorSizeInBytes);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; ++i) {
        ((float*)buffers[INPUT].mapped)[i] = (float)(i % 7);
        expected += (double)(i % 7);
    }
    run(&gpu, &desc, buffers, argv[1]);
    sum = *(const float*)buffers[OUTPUT].mapped;
    printf("sum %.0f, expected %.0f\n", (double)sum, expected);
    return (double)sum != expected; /* sums of integers stay below 2^24, so none is rounded */
}
