/* Calls and layouts are those of the public NVML API (CUDA 11 and newer).  Newest names first,
 * older ones as fallback; a call that is missing turns its feature off and is no failure, but for
 * the few without which nothing can be listed.  The library is shut down after each reading: a kept
 * handle would hinder a driver update. */
#include "backend/local/nvml.h"

#include "base/mem.h"
#include "base/vec.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define NVML_SUCCESS           0
#define NVML_DRIVER_NOT_LOADED 9
#define NVML_MIG_ENABLED       1

typedef struct nvml_handle *handle;

struct memory { /* nvmlMemory_t */
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct attributes { /* nvmlDeviceAttributes_t, 40 bytes */
    unsigned sm;
    unsigned copy_engines;
    unsigned decoders;
    unsigned encoders;
    unsigned jpeg;
    unsigned ofa;
    unsigned gpu_slices;
    unsigned compute_slices;
    unsigned long long memory_mib;
};

struct api {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *count);
    int (*by_index)(unsigned index, handle *ret);
    int (*name)(handle device, char *ret, unsigned room);
    int (*uuid)(handle device, char *ret, unsigned room);
    int (*memory)(handle device, struct memory *ret);
    int (*mig_mode)(handle device, unsigned *current, unsigned *pending);
    int (*mig_max)(handle device, unsigned *ret);
    int (*mig_by_index)(handle device, unsigned index, handle *ret);
    int (*attributes)(handle device, struct attributes *ret);
};

/* POSIX says that a symbol's address becomes a function through its bytes. */
#define FIND(api, member, newest, older)                                                           \
    do {                                                                                           \
        void *symbol_ = dlsym((api)->library, newest);                                             \
        if (symbol_ == NULL) {                                                                     \
            symbol_ = dlsym((api)->library, older);                                                \
        }                                                                                          \
        memcpy(&(api)->member, &symbol_, sizeof(symbol_));                                         \
    } while (0)

static int load(struct api *api, const char *library, struct err *err)
{
    api->library = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (api->library == NULL) {
        return err_set(err, ERR_NOT_FOUND, "no NVML: %s", dlerror());
    }
    FIND(api, init, "nvmlInit_v2", "nvmlInit");
    FIND(api, shutdown, "nvmlShutdown", "nvmlShutdown");
    FIND(api, count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
    FIND(api, by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
    FIND(api, name, "nvmlDeviceGetName", "nvmlDeviceGetName");
    FIND(api, uuid, "nvmlDeviceGetUUID", "nvmlDeviceGetUUID");
    FIND(api, memory, "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo");
    FIND(api, mig_mode, "nvmlDeviceGetMigMode", "nvmlDeviceGetMigMode");
    FIND(api, mig_max, "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMaxMigDeviceCount");
    FIND(api, mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex",
         "nvmlDeviceGetMigDeviceHandleByIndex");
    FIND(api, attributes, "nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes");
    if (api->init == NULL || api->shutdown == NULL || api->count == NULL || api->by_index == NULL ||
        api->name == NULL || api->uuid == NULL) {
        dlclose(api->library);
        return err_set(err, ERR_IO, "%s lacks calls that every NVML has", library);
    }
    return 0;
}

static int64_t memory_of(const struct api *api, handle device)
{
    struct memory memory = {0};

    if (api->memory == NULL || api->memory(device, &memory) != NVML_SUCCESS) {
        return 0;
    }
    return (int64_t)memory.total;
}

/* "NVIDIA H100 80GB HBM3 MIG 1g.10gb"; libraries that name the card only are asked for the slices:
 * compute slices, and the memory in GB, rounded as the tools print it. */
static void profile_of(const struct api *api, handle instance, char ret[NVML_TEXT_MAX])
{
    struct attributes a = {0};
    char name[NVML_TEXT_MAX] = "";
    const char *at;

    ret[0] = '\0';
    if (api->name(instance, name, sizeof(name)) == NVML_SUCCESS) {
        at = strstr(name, " MIG ");
        if (at != NULL) {
            snprintf(ret, NVML_TEXT_MAX, "%s", at + strlen(" MIG "));
            return;
        }
    }
    if (api->attributes != NULL && api->attributes(instance, &a) == NVML_SUCCESS) {
        snprintf(ret, NVML_TEXT_MAX, "%ug.%llugb", a.gpu_slices, (a.memory_mib + 1023) / 1024);
    }
}

/* Holes among the instances are normal: look at every index. */
static void add_instances(const struct api *api, handle card, const struct nvml_device *whole,
                          struct nvml_devices *ret)
{
    unsigned max = 0;

    if (api->mig_max == NULL || api->mig_by_index == NULL ||
        api->mig_max(card, &max) != NVML_SUCCESS) {
        return;
    }
    for (unsigned i = 0; i < max; i++) {
        struct nvml_device d = *whole;
        handle instance;

        if (api->mig_by_index(card, i, &instance) != NVML_SUCCESS ||
            api->uuid(instance, d.uuid, sizeof(d.uuid)) != NVML_SUCCESS) {
            continue;
        }
        profile_of(api, instance, d.profile);
        d.memory_bytes = memory_of(api, instance);
        vec_push(ret, d);
    }
}

static int add_card(const struct api *api, unsigned index, struct nvml_devices *ret,
                    struct err *err)
{
    struct nvml_device d = {.card = (int)index};
    unsigned current = 0;
    unsigned pending = 0;
    handle card;
    int code = api->by_index(index, &card);

    if (code == NVML_SUCCESS) {
        code = api->name(card, d.name, sizeof(d.name));
    }
    if (code == NVML_SUCCESS) {
        code = api->uuid(card, d.uuid, sizeof(d.uuid));
    }
    if (code != NVML_SUCCESS) {
        return err_set(err, ERR_IO, "NVML cannot read GPU %u: code %d", index, code);
    }
    d.memory_bytes = memory_of(api, card);
    d.mig = api->mig_mode != NULL && api->mig_mode(card, &current, &pending) == NVML_SUCCESS &&
            current == NVML_MIG_ENABLED;
    if (d.mig) {
        add_instances(api, card, &d, ret);
    } else {
        vec_push(ret, d);
    }
    return 0;
}

static int read_cards(const struct api *api, struct nvml_devices *ret, struct err *err)
{
    unsigned count = 0;
    int code = api->count(&count);
    int rc = 0;

    if (code != NVML_SUCCESS) {
        return err_set(err, ERR_IO, "nvmlDeviceGetCount: code %d", code);
    }
    for (unsigned i = 0; i < count && rc == 0; i++) {
        rc = add_card(api, i, ret, err);
    }
    ret->cards = count;
    return rc;
}

int nvml_read(const char *library, struct nvml_devices *ret, struct err *err)
{
    struct nvml_devices devices = {0};
    struct api api = {0};
    int code;
    int rc = load(&api, library, err);

    if (rc != 0) {
        return rc;
    }
    code = api.init();
    if (code == NVML_SUCCESS) {
        rc = read_cards(&api, &devices, err);
        (void)api.shutdown();
    } else {
        rc = err_set(err, code == NVML_DRIVER_NOT_LOADED ? ERR_NOT_FOUND : ERR_IO,
                     "nvmlInit: code %d%s", code,
                     code == NVML_DRIVER_NOT_LOADED ? " (the driver is not loaded)" : "");
    }
    dlclose(api.library);
    if (rc != 0) {
        nvml_fini(&devices);
        return rc;
    }
    *ret = devices;
    return 0;
}

void nvml_fini(struct nvml_devices *d)
{
    vec_fini(d);
}
