/* arena - memory that goes all at once: one a step for what a decision or a parse computes.
 * What arena_new gives lives until arena_reset or arena_free; it is zeroed and never NULL. */
#ifndef MUSTER_BASE_ARENA_H
#define MUSTER_BASE_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_make(void);
/* One whose first block is small: for the few texts of one object. */
struct arena *arena_make_sized(size_t first_bytes);
void arena_free(struct arena *a);
void arena_freep(struct arena **a);
/* Forget everything, keep the largest block. */
void arena_reset(struct arena *a);

void *arena_new(struct arena *a, size_t count, size_t size);
void *arena_copy(struct arena *a, const void *data, size_t bytes);
char *arena_text(struct arena *a, const char *text);
char *arena_text_n(struct arena *a, const char *text, size_t len);
#define ARENA_JOIN_MAX 16
/* The pieces, at most ARENA_JOIN_MAX, one behind the other; for the text of every decision, where
 * formatting takes longer. */
char *arena_join(struct arena *a, const char *const *pieces, size_t count);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
