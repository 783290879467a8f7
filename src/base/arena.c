#include "base/arena.h"

#include "base/check.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ARENA_BLOCK_BYTES ((size_t)64 * 1024)
#define ARENA_ALIGN       ((size_t)16)

struct block { /* what it gives away follows it */
    _Alignas(16) struct block *next;
    size_t used;
    size_t size;
};

struct arena {
    struct block *first; /* newest block, and the largest: the one that reset keeps */
    struct block own;    /* the oldest, in one piece of memory with the arena */
};

static size_t round_up(size_t bytes)
{
    return (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

static void block_init(struct block *b, size_t size, struct block *next)
{
    b->next = next;
    b->used = 0;
    b->size = size;
}

static void *block_end(struct block *b)
{
    return (unsigned char *)(b + 1) + b->used;
}

struct arena *arena_make_sized(size_t first_bytes)
{
    size_t size = round_up(first_bytes);
    struct arena *a = mem_resize(NULL, sizeof(*a) + size, 1);

    block_init(&a->own, size, NULL);
    a->first = &a->own;
    return a;
}

struct arena *arena_make(void)
{
    return arena_make_sized(ARENA_BLOCK_BYTES);
}

void arena_reset(struct arena *a)
{
    while (a->first->next != NULL && a->first->next != &a->own) {
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
    if (a->first != &a->own) {
        mem_free(a->first);
    }
    mem_free(a);
}

void arena_freep(struct arena **a)
{
    arena_free(*a);
    *a = NULL;
}

static void add_block(struct arena *a, size_t bytes)
{
    /* twice as large: an arena that is used again and again soon keeps all that it needs */
    size_t size = bytes > a->first->size * 2 ? bytes : a->first->size * 2;
    struct block *b = mem_resize(NULL, sizeof(*b) + size, 1);

    block_init(b, size, a->first);
    a->first = b;
}

/* Not zeroed. */
static void *take(struct arena *a, size_t bytes)
{
    void *p;

    CHECK(bytes <= SIZE_MAX / 4);
    bytes = round_up(bytes);
    if (a->first->size - a->first->used < bytes) {
        add_block(a, bytes);
    }
    p = block_end(a->first);
    a->first->used += bytes;
    return p;
}

void *arena_new(struct arena *a, size_t count, size_t size)
{
    CHECK(size == 0 || count <= SIZE_MAX / 4 / size);
    return memset(take(a, count * size), 0, count * size);
}

void *arena_copy(struct arena *a, const void *data, size_t bytes)
{
    void *p = take(a, bytes);

    if (bytes > 0) {
        memcpy(p, data, bytes);
    }
    return p;
}

char *arena_text_n(struct arena *a, const char *text, size_t len)
{
    char *copy = take(a, len + 1);

    if (len > 0) {
        memcpy(copy, text, len);
    }
    copy[len] = '\0';
    return copy;
}

char *arena_text(struct arena *a, const char *text)
{
    return arena_copy(a, text, strlen(text) + 1);
}

char *arena_join(struct arena *a, const char *const *pieces, size_t count)
{
    size_t lens[ARENA_JOIN_MAX];
    size_t len = 0;
    char *text;
    char *to;

    CHECK(count <= ARENA_JOIN_MAX);
    for (size_t i = 0; i < count; i++) {
        lens[i] = strlen(pieces[i]);
        len += lens[i];
    }
    text = to = take(a, len + 1);
    for (size_t i = 0; i < count; i++) {
        memcpy(to, pieces[i], lens[i]);
        to += lens[i];
    }
    *to = '\0';
    return text;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    size_t room = a->first->size - a->first->used;
    char *text = block_end(a->first);
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(text, room, fmt, args); /* most often it fits into what the block has left */
    va_end(args);
    CHECK(len >= 0);
    text = take(a, (size_t)len + 1);
    if ((size_t)len >= room) {
        va_start(args, fmt);
        vsnprintf(text, (size_t)len + 1, fmt, args);
        va_end(args);
    }
    return text;
}
