/* fuzz/replay - run a fuzz target over its corpus as an ordinary test, with any compiler.
 * usage: fuzz-replay-TARGET FILE-OR-DIRECTORY...  A directory stands for the files in it. */
#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct names {
    VEC(char *) list;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_path(struct names *names, const char *path)
{
    const struct dirent *entry;
    struct stat st;
    DIR *dir;

    CHECK(stat(path, &st) == 0);
    if (!S_ISDIR(st.st_mode)) {
        vec_push(&names->list, mem_text(path));
        return;
    }
    dir = opendir(path);
    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        struct str name = {0};

        if (entry->d_name[0] != '.') {
            str_addf(&name, "%s/%s", path, entry->d_name);
            vec_push(&names->list, str_take(&name));
        }
    }
    closedir(dir);
}

static void run_file(const char *path)
{
    FILE *file = fopen(path, "re");
    uint8_t *bytes;
    long len;

    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    len = ftell(file);
    CHECK(len >= 0 && fseek(file, 0, SEEK_SET) == 0);
    /* Exactly as long as the input, so that a sanitizer sees a read past it. */
    bytes = malloc(len > 0 ? (size_t)len : 1);
    CHECK(bytes != NULL && fread(bytes, 1, (size_t)len, file) == (size_t)len);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, (size_t)len);
    free(bytes);
}

int main(int argc, char **argv)
{
    struct names names = {0};

    for (int i = 1; i < argc; i++) {
        add_path(&names, argv[i]);
    }
    CHECK(names.list.count > 0);
    qsort(names.list.items, names.list.count, sizeof(names.list.items[0]), compare_names);
    printf("1..%zu\n", names.list.count);
    for (size_t i = 0; i < names.list.count; i++) {
        const char *slash = strrchr(names.list.items[i], '/');

        run_file(names.list.items[i]);
        printf("ok %zu - %s\n", i + 1, slash == NULL ? names.list.items[i] : slash + 1);
        fflush(stdout);
        mem_free(names.list.items[i]);
    }
    vec_fini(&names.list);
    return 0;
}
