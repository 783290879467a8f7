/* memory_file - bytes as a file with a path, for readers that open one. */
#ifndef MUSTER_FUZZ_MEMORY_FILE_H
#define MUSTER_FUZZ_MEMORY_FILE_H

#include "base/check.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMORY_FILE_PATH 32

/* Returns the descriptor, to be closed by the caller; path has MEMORY_FILE_PATH bytes. */
static inline int memory_file(const void *data, size_t size, char *path)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, MEMORY_FILE_PATH, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
