/* Sources: NVIDIA's MIG User Guide, "Supported MIG Profiles"; the tables of NVIDIA's mig-parted and
 * go-nvml; `nvidia-smi mig -lgip` and `-lgipp` listings of real cards in public repositories.  As
 * of August 2026.  Placements were printed by A30, A100, H100 and RTX PRO 6000 cards; those of
 * H200, GH200, B200, GB200, B300 and GB300 are taken to be those of the H100, which has the same
 * profile ids and counts.  B300 and GB300 have their engines from the B200.
 *
 * memory_mib is what the tools print, rounded: a hint.  SMs are no multiple of the slices (H100:
 * 1g.20gb has 26, 3g.40gb has 60).  Names differ between units of one model (GB200: 1g.23gb or
 * 1g.24gb), which is one reason why the card's own word wins.
 */
#include "core/mig_table.h"

#include "base/check.h"

/* Columns: name, memory slices, compute slices, instances a card, starts (bit i: slice i), MiB, SM,
 * copy engines, decoders, encoders, JPEG, OFA. */

/* The totals in the order of the columns above, from MiB on. */
#define MODEL(model, grid, id, mib, sm, copy, decoders, encoders, jpeg, ofa)                       \
    {                                                                                              \
        {model, grid, id, ARRAY_LEN(id), mib, sm, copy, decoders, encoders, jpeg, ofa}, id##_NAMES \
    }

static const struct slice_profile A30_24GB[] = {
    {"1g.6gb", 1, 1, 4, 0x00f, 5836, 14, 1, 0, 0, 0, 0},
    {"1g.6gb+me", 1, 1, 1, 0x00f, 5836, 14, 1, 1, 0, 1, 1},
    {"2g.12gb", 2, 2, 2, 0x005, 11672, 28, 2, 2, 0, 0, 0},
    {"2g.12gb+me", 2, 2, 1, 0x005, 11672, 28, 2, 2, 0, 1, 1},
    {"4g.24gb", 4, 4, 1, 0x001, 23344, 56, 4, 4, 0, 1, 1},
};
static const char *const A30_24GB_NAMES[] = {"NVIDIA A30", NULL};

static const struct slice_profile A100_40GB[] = {
    {"1g.5gb", 1, 1, 7, 0x07f, 4864, 14, 1, 0, 0, 0, 0},
    {"1g.5gb+me", 1, 1, 1, 0x07f, 4864, 14, 1, 1, 0, 1, 1},
    {"1g.10gb", 2, 1, 4, 0x055, 9856, 14, 1, 1, 0, 0, 0},
    {"2g.10gb", 2, 2, 3, 0x015, 9856, 28, 2, 1, 0, 0, 0},
    {"3g.20gb", 4, 3, 2, 0x011, 19968, 42, 3, 2, 0, 0, 0},
    {"4g.20gb", 4, 4, 1, 0x001, 19968, 56, 4, 2, 0, 0, 0},
    {"7g.40gb", 8, 7, 1, 0x001, 40192, 98, 7, 5, 0, 1, 1},
};
static const char *const A100_40GB_NAMES[] = {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB",
                                              "NVIDIA A800 40GB PCIe", NULL};

static const struct slice_profile A100_80GB[] = {
    {"1g.10gb", 1, 1, 7, 0x07f, 9728, 14, 1, 0, 0, 0, 0},
    {"1g.10gb+me", 1, 1, 1, 0x07f, 9728, 14, 1, 1, 0, 1, 1},
    {"1g.20gb", 2, 1, 4, 0x055, 19968, 14, 1, 1, 0, 0, 0},
    {"2g.20gb", 2, 2, 3, 0x015, 19968, 28, 2, 1, 0, 0, 0},
    {"3g.40gb", 4, 3, 2, 0x011, 40448, 42, 3, 2, 0, 0, 0},
    {"4g.40gb", 4, 4, 1, 0x001, 40448, 56, 4, 2, 0, 0, 0},
    {"7g.80gb", 8, 7, 1, 0x001, 80896, 98, 7, 5, 0, 1, 1},
};
static const char *const A100_80GB_NAMES[] = {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe",
                                              "NVIDIA A800-SXM4-80GB", "NVIDIA A800 80GB PCIe",
                                              NULL};

static const struct slice_profile H100_80GB_SXM[] = {
    {"1g.10gb", 1, 1, 7, 0x07f, 9984, 16, 1, 1, 0, 1, 0},
    {"1g.10gb+me", 1, 1, 1, 0x07f, 9984, 16, 1, 1, 0, 1, 1},
    {"1g.20gb", 2, 1, 4, 0x055, 20091, 26, 1, 1, 0, 1, 0},
    {"2g.20gb", 2, 2, 3, 0x015, 20091, 32, 2, 2, 0, 2, 0},
    {"3g.40gb", 4, 3, 2, 0x011, 40448, 60, 3, 3, 0, 3, 0},
    {"4g.40gb", 4, 4, 1, 0x001, 40448, 64, 4, 4, 0, 4, 0},
    {"7g.80gb", 8, 7, 1, 0x001, 81152, 132, 8, 7, 0, 7, 1},
};
static const char *const H100_80GB_SXM_NAMES[] = {"h100-80gb-sxm", "NVIDIA H100 80GB HBM3",
                                                  "NVIDIA H800", NULL};

static const struct slice_profile H100_80GB_PCIE[] = {
    {"1g.10gb", 1, 1, 7, 0x07f, 9984, 14, 1, 1, 0, 1, 0},
    {"1g.10gb+me", 1, 1, 1, 0x07f, 9984, 14, 1, 1, 0, 1, 1},
    {"1g.20gb", 2, 1, 4, 0x055, 20091, 14, 1, 1, 0, 1, 0},
    {"2g.20gb", 2, 2, 3, 0x015, 20091, 30, 2, 2, 0, 2, 0},
    {"3g.40gb", 4, 3, 2, 0x011, 40448, 46, 3, 3, 0, 3, 0},
    {"4g.40gb", 4, 4, 1, 0x001, 40448, 62, 4, 4, 0, 4, 0},
    {"7g.80gb", 8, 7, 1, 0x001, 81152, 114, 8, 7, 0, 7, 1},
};
static const char *const H100_80GB_PCIE_NAMES[] = {"NVIDIA H100 PCIe", "NVIDIA H800 PCIe", NULL};

static const struct slice_profile H100_94GB[] = {
    {"1g.12gb", 1, 1, 7, 0x07f, 11008, 16, 1, 1, 0, 1, 0},
    {"1g.12gb+me", 1, 1, 1, 0x07f, 11008, 16, 1, 1, 0, 1, 1},
    {"1g.24gb", 2, 1, 4, 0x055, 22139, 26, 1, 1, 0, 1, 0},
    {"2g.24gb", 2, 2, 3, 0x015, 22139, 32, 2, 2, 0, 2, 0},
    {"3g.47gb", 4, 3, 2, 0x011, 47493, 60, 3, 3, 0, 3, 0},
    {"4g.47gb", 4, 4, 1, 0x001, 47493, 64, 4, 4, 0, 4, 0},
    {"7g.94gb", 8, 7, 1, 0x001, 95355, 132, 8, 7, 0, 7, 1},
};
static const char *const H100_94GB_NAMES[] = {"NVIDIA H100 NVL", "NVIDIA H800 NVL",
                                              "NVIDIA H100 SXM5 94GB", NULL};

static const struct slice_profile H100_96GB_GH200[] = {
    {"1g.12gb", 1, 1, 7, 0x07f, -1, -1, 1, 1, 0, 1, 0},
    {"1g.12gb+me", 1, 1, 1, 0x07f, -1, -1, 1, 1, 0, 1, 1},
    {"1g.24gb", 2, 1, 4, 0x055, -1, -1, 1, 1, 0, 1, 0},
    {"2g.24gb", 2, 2, 3, 0x015, -1, -1, 2, 2, 0, 2, 0},
    {"3g.48gb", 4, 3, 2, 0x011, -1, -1, 3, 3, 0, 3, 0},
    {"4g.48gb", 4, 4, 1, 0x001, -1, -1, 4, 4, 0, 4, 0},
    {"7g.96gb", 8, 7, 1, 0x001, -1, -1, 8, 7, 0, 7, 1},
};
static const char *const H100_96GB_GH200_NAMES[] = {
    "h100-96gb",        "gh200-96gb", "h20-96gb", "NVIDIA GH200 480GB", "NVIDIA GH200 96GB HBM3",
    "NVIDIA H100 96GB", "NVIDIA H20", NULL};

static const struct slice_profile GH200_144GB[] = {
    {"1g.18gb", 1, 1, 7, 0x07f, 17920, 16, 1, 1, 0, 1, 0},
    {"1g.18gb+me", 1, 1, 1, 0x07f, 17920, 16, 1, 1, 0, 1, 1},
    {"1g.36gb", 2, 1, 4, 0x055, 36096, 26, 1, 1, 0, 1, 0},
    {"2g.36gb", 2, 2, 3, 0x015, 36096, 32, 2, 2, 0, 2, 0},
    {"3g.72gb", 4, 3, 2, 0x011, -1, -1, 3, 3, 0, 3, 0},
    {"4g.72gb", 4, 4, 1, 0x001, -1, -1, 4, 4, 0, 4, 0},
    {"7g.144gb", 8, 7, 1, 0x001, -1, -1, 8, 7, 0, 7, 1},
};
static const char *const GH200_144GB_NAMES[] = {"NVIDIA GH200 144G HBM3e", NULL};

static const struct slice_profile H200_141GB[] = {
    {"1g.18gb", 1, 1, 7, 0x07f, 16384, 16, 1, 1, 0, 1, 0},
    {"1g.18gb+me", 1, 1, 1, 0x07f, 16384, 16, 1, 1, 0, 1, 1},
    {"1g.35gb", 2, 1, 4, 0x055, 33024, 26, 1, 1, 0, 1, 0},
    {"2g.35gb", 2, 2, 3, 0x015, 33024, 32, 2, 2, 0, 2, 0},
    {"3g.71gb", 4, 3, 2, 0x011, 71168, 60, 3, 3, 0, 3, 0},
    {"4g.71gb", 4, 4, 1, 0x001, 71168, 64, 4, 4, 0, 4, 0},
    {"7g.141gb", 8, 7, 1, 0x001, 143104, 132, 8, 7, 0, 7, 1},
};
static const char *const H200_141GB_NAMES[] = {"NVIDIA H200", "NVIDIA H200 NVL", NULL};

static const struct slice_profile B200_180GB[] = {
    {"1g.23gb", 1, 1, 7, 0x07f, 22528, 18, 2, 1, 0, 1, 0},
    {"1g.23gb+me", 1, 1, 1, 0x07f, 22528, 18, 2, 1, 0, 1, 1},
    {"1g.45gb", 2, 1, 4, 0x055, 45312, 30, 2, 1, 0, 1, 0},
    {"2g.45gb", 2, 2, 3, 0x015, 45312, 36, 4, 2, 0, 2, 0},
    {"3g.90gb", 4, 3, 2, 0x011, -1, -1, 6, -1, 0, -1, 0},
    {"4g.90gb", 4, 4, 1, 0x001, -1, -1, 8, -1, 0, -1, 0},
    {"7g.180gb", 8, 7, 1, 0x001, -1, -1, 16, -1, 0, -1, 1},
};
static const char *const B200_180GB_NAMES[] = {"NVIDIA B200", NULL};

static const struct slice_profile GB200_186GB[] = {
    {"1g.23gb", 1, 1, 7, 0x07f, 22528, 18, 2, 1, 0, 1, 0},
    {"1g.23gb+me", 1, 1, 1, 0x07f, 22528, 18, 2, 1, 0, 1, 1},
    {"1g.47gb", 2, 1, 4, 0x055, 46592, 32, 2, 1, 0, 1, 0},
    {"2g.47gb", 2, 2, 3, 0x015, 46592, 38, 4, 2, 0, 2, 0},
    {"3g.93gb", 4, 3, 2, 0x011, -1, -1, 6, -1, 0, -1, 0},
    {"4g.93gb", 4, 4, 1, 0x001, -1, -1, 8, -1, 0, -1, 0},
    {"7g.186gb", 8, 7, 1, 0x001, -1, -1, 16, -1, 0, -1, 1},
};
static const char *const GB200_186GB_NAMES[] = {"NVIDIA GB200", NULL};

static const struct slice_profile B300_269GB[] = {
    {"1g.34gb", 1, 1, 7, 0x07f, -1, -1, 2, 1, 0, 1, 0},
    {"1g.34gb+me", 1, 1, 1, 0x07f, -1, -1, 2, 1, 0, 1, 1},
    {"1g.67gb", 2, 1, 4, 0x055, -1, -1, 2, 1, 0, 1, 0},
    {"2g.67gb", 2, 2, 3, 0x015, -1, -1, 4, 2, 0, 2, 0},
    {"3g.135gb", 4, 3, 2, 0x011, -1, -1, 6, -1, 0, -1, 0},
    {"4g.135gb", 4, 4, 1, 0x001, -1, -1, 8, -1, 0, -1, 0},
    {"7g.269gb", 8, 7, 1, 0x001, -1, -1, 16, -1, 0, -1, 1},
};
static const char *const B300_269GB_NAMES[] = {"NVIDIA B300", NULL};

static const struct slice_profile GB300_278GB[] = {
    {"1g.35gb", 1, 1, 7, 0x07f, -1, -1, 2, 1, 0, 1, 0},
    {"1g.35gb+me", 1, 1, 1, 0x07f, -1, -1, 2, 1, 0, 1, 1},
    {"1g.70gb", 2, 1, 4, 0x055, -1, -1, 2, 1, 0, 1, 0},
    {"2g.70gb", 2, 2, 3, 0x015, -1, -1, 4, 2, 0, 2, 0},
    {"3g.139gb", 4, 3, 2, 0x011, -1, -1, 6, -1, 0, -1, 0},
    {"4g.139gb", 4, 4, 1, 0x001, -1, -1, 8, -1, 0, -1, 0},
    {"7g.278gb", 8, 7, 1, 0x001, -1, -1, 16, -1, 0, -1, 1},
};
static const char *const GB300_278GB_NAMES[] = {"NVIDIA GB300", NULL};

static const struct slice_profile RTX_PRO_6000_96GB[] = {
    {"1g.24gb", 3, 1, 4, 0x249, 24187, 46, 1, 1, 1, 1, 0},
    {"1g.24gb+me", 3, 1, 1, 0x249, 24187, 46, 1, 1, 1, 1, 1},
    {"1g.24gb+gfx", 3, 1, 4, 0x249, 24187, 46, 1, 1, 1, 1, 0},
    {"1g.24gb+me.all", 3, 1, 1, 0x249, 24187, 46, 1, 4, 4, 4, 1},
    {"1g.24gb-me", 3, 1, 4, 0x249, 24187, 46, 1, 0, 0, 0, 0},
    {"2g.48gb", 6, 2, 2, 0x041, 48517, 94, 2, 2, 2, 2, 0},
    {"2g.48gb+gfx", 6, 2, 2, 0x041, 48517, 94, 2, 2, 2, 2, 0},
    {"2g.48gb+me.all", 6, 2, 1, 0x041, 48517, 94, 2, 4, 4, 4, 1},
    {"2g.48gb-me", 6, 2, 2, 0x041, 48517, 94, 2, 0, 0, 0, 0},
    {"4g.96gb", 12, 4, 1, 0x001, 97403, 188, 4, 4, 4, 4, 1},
    {"4g.96gb+gfx", 12, 4, 1, 0x001, 97403, 188, 4, 4, 4, 4, 1},
};
static const char *const RTX_PRO_6000_96GB_NAMES[] = {
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", NULL};

const struct mig_model MIG_MODELS[] = {
    MODEL("a30-24gb", 4, A30_24GB, 23344, 56, 4, 4, 0, 1, 1),
    MODEL("a100-40gb", 8, A100_40GB, 40192, 98, 7, 5, 0, 1, 1),
    MODEL("a100-80gb", 8, A100_80GB, 80896, 98, 7, 5, 0, 1, 1),
    MODEL("h100-80gb", 8, H100_80GB_SXM, 81152, 132, 8, 7, 0, 7, 1),
    MODEL("h100-80gb-pcie", 8, H100_80GB_PCIE, 81152, 114, 8, 7, 0, 7, 1),
    MODEL("h100-94gb", 8, H100_94GB, 95355, 132, 8, 7, 0, 7, 1),
    MODEL("h100-96gb-gh200", 8, H100_96GB_GH200, -1, -1, 8, 7, 0, 7, 1),
    MODEL("gh200-144gb", 8, GH200_144GB, -1, -1, 8, 7, 0, 7, 1),
    MODEL("h200-141gb", 8, H200_141GB, 143104, 132, 8, 7, 0, 7, 1),
    MODEL("b200-180gb", 8, B200_180GB, -1, -1, 16, -1, 0, -1, 1),
    MODEL("gb200-186gb", 8, GB200_186GB, -1, -1, 16, -1, 0, -1, 1),
    MODEL("b300-269gb", 8, B300_269GB, -1, -1, -1, -1, 0, -1, 1),
    MODEL("gb300-278gb", 8, GB300_278GB, -1, -1, -1, -1, 0, -1, 1),
    MODEL("rtx-pro-6000-96gb", 12, RTX_PRO_6000_96GB, 97403, 188, 4, 4, 4, 4, 1),
};

const size_t MIG_MODEL_COUNT = ARRAY_LEN(MIG_MODELS);
