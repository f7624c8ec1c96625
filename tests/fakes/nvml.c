/* A stand-in for libnvidia-ml.so.1, for tests on machines without an NVIDIA card.
 *
 * Compiled against NVIDIA's own nvml.h, so that the compiler checks every prototype. The state is
 * a text file named in FAKE_NVML_STATE, read anew on every call, so that a test can change it
 * meanwhile. One "key value" a line:
 *
 *   count 2                    number of cards
 *   driver 590.12              driver version
 *   0.name NVIDIA H200         of card 0: name, uuid, mig_uuid, memory, mig_memory (bytes),
 *                              sm_clock, memory_clock (MHz), power_limit (mW), ecc, mig (0, 1)
 *   0.sm_now 1755              what it does now: sm_now, memory_now (MHz), temperature (C),
 *                              power (mW), busy (percent), used (bytes), reasons (a bit mask),
 *                              pids (numbers; none where absent), corrected, uncorrected (ECC)
 *   0.pcie 5 16                generation and width; 0.nvlinks 18: how many are up
 *   0.nvlink_version 6         nvmlNvlinkVersion_t; 0.nvlink_speed 26562: MB/s of each
 *   0.nvlink_to 1 1 2 s        where each leads: a card, or a switch; the last word stands for the
 *                              rest of them
 *   ancestor 30                nvmlGpuTopologyLevel_t of any two cards
 *   0.xid 79                   its event queue: each call takes the next of the numbers, once
 *   log /path                  where "lock CARD MIN MAX" and "reset CARD" are appended
 *   fail.nvmlInitWithFlags 18  a function that answers with an nvmlReturn_t
 *   1.fail.nvmlDeviceGetUUID 15
 *   0.hang.nvmlDeviceGetPowerUsage 1     a function that does not return while this stands
 *
 * With FAKE_NVML_FROZEN the file is read once; with FAKE_NVML_COST_US a call takes so long.
 * A figure that is not in the file is "not supported", as on cards that lack it.
 */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MIG_HANDLES = 1000, KEY = 128, VALUE = 256, SLOTS = 1024 };

static int initialised;

static unsigned hash(const char *text)
{
    unsigned found = 5381;

    while (*text)
        found = 33 * found + (unsigned char)*text++;
    return found;
}

struct line {
    char name[KEY], text[VALUE];
};

static int parsed(const char *text, struct line *line)
{
    return sscanf(text, "%127s %255[^\n]", line->name, line->text) == 2;
}

/* For benchmarks under FAKE_NVML_FROZEN: the lines of the file, read once and hashed by name, so
 * that a call costs next to nothing. */
static int frozen(const char *key, char *value, size_t size)
{
    static struct line slots[SLOTS];
    static int filled;
    unsigned at = 0;

    if (!filled) {
        char text[KEY + VALUE];
        struct line line;
        FILE *file = fopen(getenv("FAKE_NVML_STATE"), "r");

        while (file && fgets(text, sizeof text, file)) {
            if (!parsed(text, &line))
                continue;
            for (at = hash(line.name); slots[at % SLOTS].name[0];)
                at++;
            slots[at % SLOTS] = line;
        }
        if (file)
            fclose(file);
        filled = 1;
    }
    for (at = hash(key); slots[at % SLOTS].name[0]; at++) {
        if (strcmp(slots[at % SLOTS].name, key) == 0) {
            snprintf(value, size, "%s", slots[at % SLOTS].text);
            return 1;
        }
    }
    return 0;
}

static int lookup(const char *key, char *value, size_t size)
{
    static int is_frozen = -1;
    const char *path = getenv("FAKE_NVML_STATE");
    FILE *file;
    char text[KEY + VALUE];
    struct line line;
    int found = 0;

    if (is_frozen < 0)
        is_frozen = path && getenv("FAKE_NVML_FROZEN");
    if (is_frozen)
        return frozen(key, value, size);
    file = path ? fopen(path, "r") : NULL;
    if (!file)
        return 0;
    while (!found && fgets(text, sizeof text, file)) {
        if (parsed(text, &line) && strcmp(line.name, key) == 0) {
            snprintf(value, size, "%s", line.text);
            found = 1;
        }
    }
    fclose(file);
    return found;
}

/* What a call of a driver may cost: FAKE_NVML_COST_US of CPU time. */
static void cost(void)
{
    static long wanted_ns = -1;
    struct timespec begun, now;

    if (wanted_ns < 0)
        wanted_ns = getenv("FAKE_NVML_COST_US") ? 1000 * atol(getenv("FAKE_NVML_COST_US")) : 0;
    if (!wanted_ns)
        return;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < wanted_ns);
}

static nvmlReturn_t failure(const char *key)
{
    char value[VALUE];

    return lookup(key, value, sizeof value) ? (nvmlReturn_t)atoi(value) : NVML_SUCCESS;
}

static nvmlReturn_t fails(const char *function)
{
    char key[KEY];

    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    snprintf(key, sizeof key, "fail.%s", function);
    return failure(key);
}

static size_t number_of(nvmlDevice_t device) { return (size_t)device; }
static int is_mig(nvmlDevice_t device) { return number_of(device) >= MIG_HANDLES; }
static unsigned card_of(nvmlDevice_t device)
{
    return (unsigned)(is_mig(device) ? number_of(device) - MIG_HANDLES : number_of(device) - 1);
}
static nvmlDevice_t card_handle(unsigned card) { return (nvmlDevice_t)(size_t)(card + 1); }
static nvmlDevice_t mig_handle(unsigned card) { return (nvmlDevice_t)(size_t)(card + MIG_HANDLES); }

static nvmlReturn_t card_fails(nvmlDevice_t device, const char *function)
{
    char key[KEY];
    nvmlReturn_t result = fails(function);

    cost();
    if (result != NVML_SUCCESS)
        return result;
    snprintf(key, sizeof key, "%u.hang.%s", card_of(device), function);
    while (failure(key))
        usleep(10000);
    snprintf(key, sizeof key, "%u.fail.%s", card_of(device), function);
    return failure(key);
}

static nvmlReturn_t text_of(unsigned card, const char *what, char *value, size_t size)
{
    char key[KEY];

    snprintf(key, sizeof key, "%u.%s", card, what);
    return lookup(key, value, size) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t figure_of(nvmlDevice_t device, const char *what, unsigned long long *figure)
{
    char value[VALUE];
    nvmlReturn_t result = text_of(card_of(device), what, value, sizeof value);

    if (result == NVML_SUCCESS)
        *figure = strtoull(value, NULL, 0);
    return result;
}

static nvmlReturn_t small_figure(nvmlDevice_t device, const char *function, const char *what,
                                 unsigned int *figure)
{
    unsigned long long large = 0;
    nvmlReturn_t result = card_fails(device, function);

    if (result == NVML_SUCCESS)
        result = figure_of(device, what, &large);
    if (result == NVML_SUCCESS)
        *figure = (unsigned int)large;
    return result;
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    nvmlReturn_t result = failure("fail.nvmlInitWithFlags");

    (void)flags;
    if (result == NVML_SUCCESS)
        initialised++;
    return result;
}

nvmlReturn_t nvmlShutdown(void)
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    initialised--;
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    return result == NVML_ERROR_GPU_IS_LOST ? "GPU is lost" : "a failure of the stand-in";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    nvmlReturn_t result = fails("nvmlSystemGetDriverVersion");

    if (result == NVML_SUCCESS && !lookup("driver", version, length))
        result = NVML_ERROR_NOT_SUPPORTED;
    return result;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    char value[VALUE];
    nvmlReturn_t result = fails("nvmlDeviceGetCount_v2");

    if (result == NVML_SUCCESS)
        *count = lookup("count", value, sizeof value) ? (unsigned)atoi(value) : 0;
    return result;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    unsigned int count = 0;
    nvmlReturn_t result = nvmlDeviceGetCount_v2(&count);

    if (result != NVML_SUCCESS)
        return result;
    if (index >= count)
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = card_handle(index);
    return card_fails(*device, "nvmlDeviceGetHandleByIndex_v2");
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    char value[VALUE];
    unsigned int count = 0;
    nvmlReturn_t result = nvmlDeviceGetCount_v2(&count);

    for (unsigned int card = 0; result == NVML_SUCCESS && card < count; card++) {
        if (text_of(card, "uuid", value, sizeof value) == NVML_SUCCESS && !strcmp(value, uuid)) {
            *device = card_handle(card);
            return NVML_SUCCESS;
        }
        if (text_of(card, "mig_uuid", value, sizeof value) == NVML_SUCCESS &&
            !strcmp(value, uuid)) {
            *device = mig_handle(card);
            return NVML_SUCCESS;
        }
    }
    return result == NVML_SUCCESS ? NVML_ERROR_NOT_FOUND : result;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t *device)
{
    if (!is_mig(mig))
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = card_handle(card_of(mig));
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    *index = card_of(device);
    return card_fails(device, "nvmlDeviceGetIndex");
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    nvmlReturn_t result = card_fails(device, "nvmlDeviceGetName");

    return result == NVML_SUCCESS ? text_of(card_of(device), "name", name, length) : result;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    nvmlReturn_t result = card_fails(device, "nvmlDeviceGetUUID");
    const char *what = is_mig(device) ? "mig_uuid" : "uuid";

    return result == NVML_SUCCESS ? text_of(card_of(device), what, uuid, length) : result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    nvmlReturn_t result = card_fails(device, "nvmlDeviceGetMemoryInfo");

    memset(memory, 0, sizeof *memory);
    if (result == NVML_SUCCESS)
        result = figure_of(device, is_mig(device) ? "mig_memory" : "memory", &memory->total);
    if (result == NVML_SUCCESS)
        figure_of(device, "used", &memory->used);
    return result;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                       unsigned int *clock_mhz)
{
    const char *what = type == NVML_CLOCK_MEM ? "memory_clock" : "sm_clock";

    return small_figure(device, "nvmlDeviceGetMaxClockInfo", what, clock_mhz);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit_mw)
{
    return small_figure(device, "nvmlDeviceGetEnforcedPowerLimit", "power_limit", limit_mw);
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current,
                                  nvmlEnableState_t *pending)
{
    unsigned int enabled = 0;
    nvmlReturn_t result = small_figure(device, "nvmlDeviceGetEccMode", "ecc", &enabled);

    *current = *pending = enabled ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return result;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current,
                                  unsigned int *pending)
{
    nvmlReturn_t result = small_figure(device, "nvmlDeviceGetMigMode", "mig", current);

    *pending = *current;
    return result;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                    unsigned int *clock_mhz)
{
    const char *what = type == NVML_CLOCK_MEM ? "memory_now" : "sm_now";

    return small_figure(device, "nvmlDeviceGetClockInfo", what, clock_mhz);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned int *temperature_c)
{
    (void)sensor;
    return small_figure(device, "nvmlDeviceGetTemperature", "temperature", temperature_c);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power_mw)
{
    return small_figure(device, "nvmlDeviceGetPowerUsage", "power", power_mw);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilisation)
{
    utilisation->memory = 0;
    return small_figure(device, "nvmlDeviceGetUtilizationRates", "busy", &utilisation->gpu);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long *reasons)
{
    nvmlReturn_t result = card_fails(device, "nvmlDeviceGetCurrentClocksEventReasons");

    return result == NVML_SUCCESS ? figure_of(device, "reasons", reasons) : result;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long *reasons)
{
    nvmlReturn_t result = card_fails(device, "nvmlDeviceGetCurrentClocksThrottleReasons");

    return result == NVML_SUCCESS ? figure_of(device, "reasons", reasons) : result;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    unsigned int found = 0;
    nvmlReturn_t result;

    if (temperature->version != nvmlTemperature_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    result = small_figure(device, "nvmlDeviceGetTemperatureV", "temperature", &found);
    temperature->temperature = (int)found;
    return result;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                     nvmlProcessInfo_t *infos)
{
    char value[VALUE];
    unsigned int found = 0, room = *count;
    nvmlReturn_t result = card_fails(device, "nvmlDeviceGetComputeRunningProcesses_v3");

    if (result != NVML_SUCCESS)
        return result;
    if (text_of(card_of(device), "pids", value, sizeof value) != NVML_SUCCESS)
        value[0] = 0;
    for (char *word = strtok(value, " "); word; word = strtok(NULL, " "), found++) {
        if (found < room) {
            memset(&infos[found], 0, sizeof infos[found]);
            infos[found].pid = (unsigned)atoi(word);
        }
    }
    *count = found;
    return found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t kind,
                                         nvmlEccCounterType_t counter, unsigned long long *errors)
{
    const char *what = kind == NVML_MEMORY_ERROR_TYPE_CORRECTED ? "corrected" : "uncorrected";
    nvmlReturn_t result = card_fails(device, "nvmlDeviceGetTotalEccErrors");

    (void)counter;
    return result == NVML_SUCCESS ? figure_of(device, what, errors) : result;
}

/* An event set is the handle of the one card that registered with it; XIDs that were handed out
 * are counted, so that each of the file is raised once. */
static nvmlDevice_t registered;
static int raised;

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    *set = (nvmlEventSet_t)&registered;
    return fails("nvmlEventSetCreate");
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t set)
{
    (void)types;
    (void)set;
    registered = device;
    return card_fails(device, "nvmlDeviceRegisterEvents");
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
    char value[VALUE];
    int number = 0;
    nvmlReturn_t result = card_fails(registered, "nvmlEventSetWait_v2");

    (void)set;
    (void)timeout_ms;
    if (result != NVML_SUCCESS)
        return result;
    if (text_of(card_of(registered), "xid", value, sizeof value) != NVML_SUCCESS)
        return NVML_ERROR_TIMEOUT;
    for (char *word = strtok(value, " "); word; word = strtok(NULL, " "), number++) {
        if (number == raised) {
            raised++;
            memset(data, 0, sizeof *data);
            data->device = registered;
            data->eventType = nvmlEventTypeXidCriticalError;
            data->eventData = strtoull(word, NULL, 0);
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_TIMEOUT;
}

static void log_line(const char *text)
{
    char path[VALUE];
    int file;

    if (!lookup("log", path, sizeof path))
        return;
    file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (file >= 0) {
        if (write(file, text, strlen(text)) < 0)
            perror("nvml stand-in");
        close(file);
    }
}

nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned int min_mhz,
                                          unsigned int max_mhz)
{
    char line[KEY];
    nvmlReturn_t result = card_fails(device, "nvmlDeviceSetGpuLockedClocks");

    snprintf(line, sizeof line, "lock %u %u %u\n", card_of(device), min_mhz, max_mhz);
    if (result == NVML_SUCCESS)
        log_line(line);
    return result;
}

nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device)
{
    char line[KEY];
    nvmlReturn_t result = card_fails(device, "nvmlDeviceResetGpuLockedClocks");

    snprintf(line, sizeof line, "reset %u\n", card_of(device));
    if (result == NVML_SUCCESS)
        log_line(line);
    return result;
}

static nvmlReturn_t pcie(nvmlDevice_t device, const char *function, int second, unsigned int *figure)
{
    char value[VALUE];
    unsigned int both[2] = {0, 0};
    nvmlReturn_t result = card_fails(device, function);

    if (result == NVML_SUCCESS)
        result = text_of(card_of(device), "pcie", value, sizeof value);
    if (result == NVML_SUCCESS && sscanf(value, "%u %u", &both[0], &both[1]) == 2)
        *figure = both[second];
    return result;
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *generation)
{
    return pcie(device, "nvmlDeviceGetMaxPcieLinkGeneration", 0, generation);
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int *width)
{
    return pcie(device, "nvmlDeviceGetMaxPcieLinkWidth", 1, width);
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                      nvmlEnableState_t *active)
{
    unsigned int up = 0;
    nvmlReturn_t result = small_figure(device, "nvmlDeviceGetNvLinkState", "nvlinks", &up);

    *active = link < up ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return result;
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link,
                                        unsigned int *version)
{
    (void)link;
    return small_figure(device, "nvmlDeviceGetNvLinkVersion", "nvlink_version", version);
}

/* The card that a link leads to, -1 for a switch. */
static nvmlReturn_t leads_to(nvmlDevice_t device, const char *function, unsigned int link, int *to)
{
    char value[VALUE];
    unsigned int number = 0;
    nvmlReturn_t result = card_fails(device, function);

    if (result == NVML_SUCCESS)
        result = text_of(card_of(device), "nvlink_to", value, sizeof value);
    if (result != NVML_SUCCESS)
        return result;
    for (char *word = strtok(value, " "); word && number <= link; number++) {
        *to = *word == 's' ? -1 : atoi(word);
        word = strtok(NULL, " ");
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                 nvmlIntNvLinkDeviceType_t *type)
{
    int to = -1;
    nvmlReturn_t result = leads_to(device, "nvmlDeviceGetNvLinkRemoteDeviceType", link, &to);

    *type = to < 0 ? NVML_NVLINK_DEVICE_TYPE_SWITCH : NVML_NVLINK_DEVICE_TYPE_GPU;
    return result;
}

static void place(nvmlPciInfo_t *pci, int card)
{
    memset(pci, 0, sizeof *pci);
    pci->bus = (unsigned)card + 1;
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", pci->bus & 0xff);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                 nvmlPciInfo_t *pci)
{
    int to = -1;
    nvmlReturn_t result = leads_to(device, "nvmlDeviceGetNvLinkRemotePciInfo_v2", link, &to);

    place(pci, to < 0 ? 100 : to);
    return result;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    place(pci, (int)card_of(device));
    return card_fails(device, "nvmlDeviceGetPciInfo_v3");
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    nvmlReturn_t result = card_fails(device, "nvmlDeviceGetFieldValues");

    for (int number = 0; result == NVML_SUCCESS && number < count; number++) {
        unsigned long long figure = 0;
        int is_speed = values[number].fieldId == NVML_FI_DEV_NVLINK_GET_SPEED;

        values[number].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        values[number].nvmlReturn =
            is_speed ? figure_of(device, "nvlink_speed", &figure) : NVML_ERROR_NOT_SUPPORTED;
        values[number].value.uiVal = (unsigned int)figure;
    }
    return result;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other,
                                    nvmlGpuP2PCapsIndex_t capability, nvmlGpuP2PStatus_t *status)
{
    unsigned int up = 0;
    nvmlReturn_t result = card_fails(one, "nvmlDeviceGetP2PStatus");

    (void)other;
    small_figure(one, "nvmlDeviceGetP2PStatus", "nvlinks", &up);
    *status = capability == NVML_P2P_CAPS_INDEX_NVLINK && up
                  ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    return result;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other,
                                                 nvmlGpuTopologyLevel_t *level)
{
    char value[VALUE];
    nvmlReturn_t result = card_fails(one, "nvmlDeviceGetTopologyCommonAncestor");

    (void)other;
    if (result == NVML_SUCCESS && !lookup("ancestor", value, sizeof value))
        return NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *level = (nvmlGpuTopologyLevel_t)atoi(value);
    return result;
}
