#include "base/mem.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

void *mem_new(size_t count, size_t size)
{
    void *p = calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);

    CHECK(p != NULL);
    return p;
}

void *mem_resize(void *old, size_t count, size_t size)
{
    void *p;

    CHECK(size != 0 && count <= (size_t)-1 / 2 / size);
    count = count == 0 ? size : count * size; /* bytes */
    p = old == NULL ? malloc(count) : realloc(old, count);
    CHECK(p != NULL);
    return p;
}

char *mem_text(const char *text)
{
    return mem_text_n(text, strlen(text));
}

char *mem_text_n(const char *text, size_t len)
{
    char *copy = mem_new(len + 1, 1);

    memcpy(copy, text, len);
    return copy;
}

void mem_free(void *p)
{
    free(p);
}

void mem_freep(void *pp)
{
    void **p = pp;

    free(*p);
    *p = NULL;
}
