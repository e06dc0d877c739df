/* Runs a folder that `dmlops plan MODEL --out FOLDER` wrote, through Vulkan: reads plan.json, creates a pipeline for each
   shader, records all steps into one command buffer, and submits it. Nothing here plans anything or knows an operator.

       cc -std=c11 examples/player.c -lvulkan -o player
       ./player FOLDER INPUT... OUTPUT...

   The inputs and outputs are files of raw elements, in the plan's order. docs/PLANS.md describes the folder. */
#include <vulkan/vulkan.h>

#include "plan.h"

/* The device, and memory that shaders and the host can access. */

static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static uint32_t family;

typedef struct memory {
    VkBuffer handle;
    char* mapped;
} memory;

static memory memories[MEMORIES];

static void open_device(void) {
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo instance_info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    const float priority = 1;
    VkQueueFamilyProperties families[16];
    VkInstance instance;
    uint32_t count = 1;

    CHECK(vkCreateInstance(&instance_info, NULL, &instance) == VK_SUCCESS);
    CHECK(vkEnumeratePhysicalDevices(instance, &count, &physical) >= VK_SUCCESS && count == 1); /* the first one */
    count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    while (family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) {
        ++family;
    }
    CHECK(family < count);
    {
        /* Everything that the device has of these: shaders need 16- and 64-bit types. */
        VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
        VkPhysicalDeviceVulkan11Features features11 = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &features12};
        VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features11};
        const VkDeviceQueueCreateInfo queue_info = {
            .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
            .queueFamilyIndex = family,
            .queueCount = 1,
            .pQueuePriorities = &priority};
        const VkDeviceCreateInfo device_info = {
            .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
            .pNext = &features,
            .queueCreateInfoCount = 1,
            .pQueueCreateInfos = &queue_info};
        vkGetPhysicalDeviceFeatures2(physical, &features);
        features.features.robustBufferAccess = VK_FALSE; /* shaders stay within their tensors */
        CHECK(vkCreateDevice(physical, &device_info, NULL, &device) == VK_SUCCESS);
    }
    vkGetDeviceQueue(device, family, 0, &queue);
}

static memory allocate(uint64_t size) {
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = size ? size : 16,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    const VkMemoryPropertyFlags shared = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties known;
    VkMemoryRequirements needs;
    VkDeviceMemory allocation;
    uint32_t chosen = UINT32_MAX;
    memory made;
    void* mapped;

    CHECK(vkCreateBuffer(device, &info, NULL, &made.handle) == VK_SUCCESS);
    vkGetBufferMemoryRequirements(device, made.handle, &needs);
    vkGetPhysicalDeviceMemoryProperties(physical, &known);
    for (uint32_t type = 0; type < known.memoryTypeCount; ++type) { /* in the device's own memory, if that can be mapped */
        const VkMemoryPropertyFlags flags = known.memoryTypes[type].propertyFlags;
        if (needs.memoryTypeBits >> type & 1 && (flags & shared) == shared &&
            (chosen == UINT32_MAX || flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)) {
            chosen = type;
        }
    }
    CHECK(chosen != UINT32_MAX);
    {
        const VkMemoryAllocateInfo allocate_info = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = chosen};
        CHECK(vkAllocateMemory(device, &allocate_info, NULL, &allocation) == VK_SUCCESS);
    }
    CHECK(vkBindBufferMemory(device, made.handle, allocation, 0) == VK_SUCCESS);
    CHECK(vkMapMemory(device, allocation, 0, VK_WHOLE_SIZE, 0, &mapped) == VK_SUCCESS);
    made.mapped = mapped;
    return made;
}

typedef struct pipeline {
    uint32_t buffers;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline handle;
} pipeline;

static pipeline make_pipeline(const char* folder, const char* value) {
    pipeline made = {.buffers = (uint32_t)number(member(value, "buffers"))};
    VkDescriptorSetLayoutBinding* bindings = calloc(made.buffers + 1, sizeof *bindings);
    VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    VkShaderModule module;

    CHECK(bindings != NULL);
    for (uint32_t i = 0; i <= made.buffers; ++i) {
        bindings[i].binding = i;
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
        bindings[i].descriptorType = i < made.buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    }
    code.pCode = (const uint32_t*)(void*)read_shader(folder, value, &code.codeSize);
    CHECK(vkCreateShaderModule(device, &code, NULL, &module) == VK_SUCCESS);
    {
        const VkDescriptorSetLayoutCreateInfo set_info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
            .bindingCount = made.buffers + 1,
            .pBindings = bindings};
        CHECK(vkCreateDescriptorSetLayout(device, &set_info, NULL, &made.set_layout) == VK_SUCCESS);
    }
    {
        const VkPipelineLayoutCreateInfo layout_info = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &made.set_layout};
        CHECK(vkCreatePipelineLayout(device, &layout_info, NULL, &made.layout) == VK_SUCCESS);
    }
    {
        const VkComputePipelineCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
            .stage = {
                .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "CSMain"},
            .layout = made.layout};
        CHECK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &made.handle) == VK_SUCCESS);
    }
    vkDestroyShaderModule(device, module, NULL);
    free((void*)(uintptr_t)code.pCode);
    free(bindings);
    return made;
}

/* Records that what follows waits for and sees what shaders and clears wrote. */
static void record_barrier(VkCommandBuffer commands, VkPipelineStageFlags later, VkAccessFlags seen) {
    const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = seen};
    vkCmdPipelineBarrier(
        commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, later, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static void record_dispatch(
    VkCommandBuffer commands, VkDescriptorPool pool, const pipeline* shader, const region* regions, const char* step) {
    const VkDescriptorSetAllocateInfo allocate_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &shader->set_layout};
    const char* const lists[] = {member(step, "reads"), member(step, "writes")};
    const char* groups = first_entry(member(step, "groups"));
    uint32_t size[3], count = 0;
    VkDescriptorSet set;

    CHECK(vkAllocateDescriptorSets(device, &allocate_info, &set) == VK_SUCCESS);
    for (int list = 0; list < 3; ++list) { /* what is read, what is written, and the constants */
        const char* entry = list < 2 ? first_entry(lists[list]) : member(step, "constants");
        for (; entry; entry = list < 2 ? next_entry(entry) : NULL) {
            const region* bound = &regions[number(entry)];
            const VkDescriptorBufferInfo range = {memories[bound->memory].handle, bound->offset, bound->size};
            const VkWriteDescriptorSet write = {
                .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                .dstSet = set,
                .dstBinding = count,
                .descriptorCount = 1,
                .descriptorType = count < shader->buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                .pBufferInfo = &range};
            CHECK(count++ <= shader->buffers);
            vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
        }
    }
    for (int i = 0; i < 3; ++i, groups = next_entry(groups)) {
        size[i] = (uint32_t)number(groups);
    }
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, shader->handle);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, shader->layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(commands, size[0], size[1], size[2]);
}

/* All steps, in a command buffer that can be submitted any number of times. */
static VkCommandBuffer record(const char* steps, const pipeline* pipelines, const region* regions) {
    const uint32_t count = count_of(steps);
    uint32_t buffers = 1;
    VkCommandPool command_pool;
    VkCommandBuffer commands;
    VkDescriptorPool pool;

    for (const char* step = first_entry(steps); step; step = next_entry(step)) {
        const char* shader = member(step, "shader");
        buffers += shader ? pipelines[number(shader)].buffers : 0;
    }
    {
        const VkCommandPoolCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family};
        const VkDescriptorPoolSize sizes[] = {
            {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers}, {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, count + 1}};
        const VkDescriptorPoolCreateInfo pool_info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
            .maxSets = count + 1,
            .poolSizeCount = 2,
            .pPoolSizes = sizes};
        CHECK(vkCreateCommandPool(device, &info, NULL, &command_pool) == VK_SUCCESS);
        CHECK(vkCreateDescriptorPool(device, &pool_info, NULL, &pool) == VK_SUCCESS);
    }
    {
        const VkCommandBufferAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = command_pool,
            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            .commandBufferCount = 1};
        const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        CHECK(vkAllocateCommandBuffers(device, &info, &commands) == VK_SUCCESS);
        CHECK(vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS);
    }
    for (const char* step = first_entry(steps); step; step = next_entry(step)) {
        const char *shader = member(step, "shader"), *cleared = member(step, "clear");
        if (*member(step, "barrier") == 't') {
            record_barrier(
                commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
        }
        if (cleared) {
            const region* zeros = &regions[number(cleared)];
            vkCmdFillBuffer(commands, memories[zeros->memory].handle, zeros->offset, zeros->size, 0);
        } else {
            record_dispatch(commands, pool, &pipelines[number(shader)], regions, step);
        }
    }
    record_barrier(
        commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
        VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_HOST_READ_BIT);
    CHECK(vkEndCommandBuffer(commands) == VK_SUCCESS);
    return commands;
}

/* Runs a command buffer, and waits for its end. */
static void submit(VkCommandBuffer commands) {
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};

    CHECK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
    CHECK(vkQueueWaitIdle(queue) == VK_SUCCESS);
}

int main(int argc, char** argv) {
    const char *plan, *inputs, *outputs, *list;
    uint32_t place = 0;
    region* regions;
    pipeline* pipelines;
    VkCommandBuffer commands;
    size_t size;
    int file = 2;

    if (argc < 2) {
        fprintf(stderr, "usage: %s FOLDER INPUT... OUTPUT...\n", argv[0]);
        return 2;
    }
    plan = read_plan(argv[1], "spirv", argc - 2);
    if (!plan) {
        return 2;
    }
    inputs = member(plan, "inputs");
    outputs = member(plan, "outputs");
    open_device();
    for (int i = 0; i < MEMORIES; ++i) {
        memories[i] = allocate(number(member(plan, memory_names[i])));
    }
    for (int i = WEIGHTS; i < MEMORIES; ++i) {
        char* data = read_file(argv[1], i == WEIGHTS ? "weights.bin" : "constants.bin", &size);
        CHECK(size == number(member(plan, memory_names[i])));
        memcpy(memories[i].mapped, data, size);
        free(data);
    }
    list = member(plan, "regions");
    regions = malloc((count_of(list) + 1) * sizeof *regions);
    CHECK(regions != NULL);
    for (const char* one = first_entry(list); one; one = next_entry(one)) {
        regions[place++] = read_region(one);
    }
    list = member(plan, "shaders");
    pipelines = malloc((count_of(list) + 1) * sizeof *pipelines);
    CHECK(pipelines != NULL);
    place = 0;
    for (const char* one = first_entry(list); one; one = next_entry(one)) {
        pipelines[place++] = make_pipeline(argv[1], one);
    }
    submit(record(member(plan, "once"), pipelines, regions));
    commands = record(member(plan, "steps"), pipelines, regions);

    for (const char* one = first_entry(inputs); one; one = next_entry(one), ++file) {
        const region* target = &regions[number(member(one, "region"))];
        char* data = read_file(NULL, argv[file], &size);
        CHECK(size == number(member(one, "bytes")) && size <= target->size);
        memcpy(memories[target->memory].mapped + target->offset, data, size);
        free(data);
    }
    submit(commands);
    for (const char* one = first_entry(outputs); one; one = next_entry(one), ++file) {
        const region* source = &regions[number(member(one, "region"))];
        FILE* target = fopen(argv[file], "wb");
        size = (size_t)number(member(one, "bytes"));
        CHECK(target && fwrite(memories[source->memory].mapped + source->offset, 1, size, target) == size);
        CHECK(fclose(target) == 0);
    }
    return 0;
}
