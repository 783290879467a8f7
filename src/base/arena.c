#include "base/arena.h"

#include "base/check.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ARENA_BLOCK_BYTES ((size_t)64 * 1024)
#define ARENA_ALIGN       ((size_t)16)

struct block {
    struct block *next;
    size_t used;
    size_t size;
    _Alignas(16) unsigned char data[];
};

struct arena {
    struct block *first; /* newest block, and the largest: the one that reset keeps */
};

static struct block *block_make(size_t size, struct block *next)
{
    struct block *b = mem_resize(NULL, sizeof(*b) + size, 1);

    b->next = next;
    b->used = 0;
    b->size = size;
    return b;
}

struct arena *arena_make_sized(size_t first_bytes)
{
    struct arena *a = mem_new(1, sizeof(*a));

    a->first = block_make(first_bytes, NULL);
    return a;
}

struct arena *arena_make(void)
{
    return arena_make_sized(ARENA_BLOCK_BYTES);
}

void arena_reset(struct arena *a)
{
    while (a->first->next != NULL) {
        struct block *gone = a->first->next;

        a->first->next = gone->next;
        mem_free(gone);
    }
    a->first->used = 0;
}

void arena_free(struct arena *a)
{
    if (a == NULL) {
        return;
    }
    arena_reset(a);
    mem_free(a->first);
    mem_free(a);
}

void arena_freep(struct arena **a)
{
    arena_free(*a);
    *a = NULL;
}

void *arena_new(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    void *p;

    CHECK(size == 0 || count <= SIZE_MAX / 4 / size);
    bytes = (count * size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (a->first->size - a->first->used < bytes) {
        /* twice as large: an arena that is used again and again soon keeps all that it needs */
        a->first = block_make(bytes > a->first->size * 2 ? bytes : a->first->size * 2, a->first);
    }
    p = a->first->data + a->first->used;
    a->first->used += bytes;
    memset(p, 0, bytes);
    return p;
}

void *arena_copy(struct arena *a, const void *data, size_t bytes)
{
    void *p = arena_new(a, bytes, 1);

    if (bytes > 0) {
        memcpy(p, data, bytes);
    }
    return p;
}

char *arena_text_n(struct arena *a, const char *text, size_t len)
{
    char *copy = arena_new(a, len + 1, 1);

    if (len > 0) {
        memcpy(copy, text, len);
    }
    return copy;
}

char *arena_text(struct arena *a, const char *text)
{
    return arena_text_n(a, text, strlen(text));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;
    char *text;
    int len;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    CHECK(len >= 0);
    text = arena_new(a, (size_t)len + 1, 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return text;
}
