/* nvml - the GPUs of this machine, read through NVIDIA's library if it is there.
 *
 * The library is loaded at run time and the few declarations needed are ours, so that muster builds
 * and runs without NVIDIA's headers and on machines without a card.
 */
#ifndef MUSTER_LOCAL_NVML_H
#define MUSTER_LOCAL_NVML_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVML_TEXT_MAX 96

struct nvml_device {
    char uuid[NVML_TEXT_MAX];    /* "GPU-…", or "MIG-…" of an instance */
    char name[NVML_TEXT_MAX];    /* product, of the whole card */
    char profile[NVML_TEXT_MAX]; /* "1g.10gb" of an instance, "" = a whole card */
    int card;                    /* index of the card */
    bool mig;                    /* the card is in MIG mode */
    int64_t memory_bytes;
};

struct nvml_devices {
    struct nvml_device *items;
    size_t count;
    size_t room;
    size_t cards; /* how many cards they are or lie on */
};

/* Read all cards, in the library's order (that of the PCI bus); a card in MIG mode is given as its
 * instances, and as none when it has none.  ERR_NOT_FOUND: no library or no driver; ERR_IO: the
 * library failed, the text names the call and its code. */
MUST_CHECK int nvml_read(const char *library, struct nvml_devices *ret, struct err *err);
void nvml_fini(struct nvml_devices *d);

#endif
