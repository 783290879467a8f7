/* nvml_fake - a library with NVML's calls and no GPU behind them, for the tests of nvml.c.
 *
 * What it has is said by the environment of the program that loads it:
 *   NVML_FAKE=whole   two H100 cards
 *   NVML_FAKE=mig     one card in MIG mode with two instances and a hole between them, and a whole
 * one NVML_FAKE=unnamed as mig, but the instances' names do not say their profile NVML_FAKE=driver
 * nvmlInit finds no driver NVML_FAKE=lost    the second card fell off the bus
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };

struct device {
    int card;
    int instance; /* -1 = the whole card */
};

struct memory {
    unsigned long long total, free, used;
};

struct attributes {
    unsigned units[6];
    unsigned gpu_slices, compute_slices;
    unsigned long long memory_mib;
};

static struct device CARDS[2] = {{0, -1}, {1, -1}};
static struct device INSTANCES[3] = {{0, 0}, {0, 1}, {0, 2}};

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **ret);
EXPORT int nvmlDeviceGetName(const struct device *d, char *ret, unsigned room);
EXPORT int nvmlDeviceGetUUID(const struct device *d, char *ret, unsigned room);
EXPORT int nvmlDeviceGetMemoryInfo(const struct device *d, struct memory *ret);
EXPORT int nvmlDeviceGetMigMode(const struct device *d, unsigned *current, unsigned *pending);
EXPORT int nvmlDeviceGetMaxMigDeviceCount(const struct device *d, unsigned *ret);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(const struct device *d, unsigned index,
                                               struct device **ret);
EXPORT int nvmlDeviceGetAttributes_v2(const struct device *d, struct attributes *ret);

static int is(const char *mode)
{
    const char *given = getenv("NVML_FAKE");

    return given != NULL && strcmp(given, mode) == 0;
}

int nvmlInit_v2(void)
{
    return is("driver") ? DRIVER_NOT_LOADED : OK;
}

int nvmlShutdown(void)
{
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **ret)
{
    if (index > 1 || (index == 1 && is("lost"))) {
        return GPU_IS_LOST;
    }
    *ret = &CARDS[index];
    return OK;
}

int nvmlDeviceGetName(const struct device *d, char *ret, unsigned room)
{
    static const char *const PROFILES[] = {"1g.10gb", "", "3g.40gb"};

    if (d->instance < 0 || is("unnamed")) {
        snprintf(ret, room, "NVIDIA H100 80GB HBM3");
    } else {
        snprintf(ret, room, "NVIDIA H100 80GB HBM3 MIG %s", PROFILES[d->instance]);
    }
    return OK;
}

int nvmlDeviceGetUUID(const struct device *d, char *ret, unsigned room)
{
    if (d->instance < 0) {
        snprintf(ret, room, "GPU-0000000%d-1111-2222-3333-444444444444", d->card);
    } else {
        snprintf(ret, room, "MIG-0000000%d-5555-6666-7777-888888888888", d->instance);
    }
    return OK;
}

int nvmlDeviceGetMemoryInfo(const struct device *d, struct memory *ret)
{
    static const unsigned long long MIB[] = {9984, 0, 40448};

    memset(ret, 0, sizeof(*ret));
    ret->total = (d->instance < 0 ? 81559ULL : MIB[d->instance]) << 20;
    return OK;
}

int nvmlDeviceGetMigMode(const struct device *d, unsigned *current, unsigned *pending)
{
    *current = d->card == 0 && (is("mig") || is("unnamed"));
    *pending = *current;
    return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(const struct device *d, unsigned *ret)
{
    (void)d;
    *ret = 7;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(const struct device *d, unsigned index, struct device **ret)
{
    (void)d;
    if (index == 1 || index > 2) {
        return NOT_FOUND;
    }
    *ret = &INSTANCES[index];
    return OK;
}

int nvmlDeviceGetAttributes_v2(const struct device *d, struct attributes *ret)
{
    static const unsigned SLICES[] = {1, 0, 3};
    static const unsigned long long MIB[] = {9984, 0, 40448};

    memset(ret, 0, sizeof(*ret));
    ret->gpu_slices = SLICES[d->instance];
    ret->memory_mib = MIB[d->instance];
    return OK;
}
