/* vec - a growing array of one type: `VEC(int) v = {0}; vec_push(&v, 7); v.items[0]; vec_fini(&v);`
 * The items are owned by the vec and move when it grows. */
#ifndef MUSTER_BASE_VEC_H
#define MUSTER_BASE_VEC_H

#include "base/mem.h"

#include <stddef.h>
#include <string.h>

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count;                                                                              \
        size_t room;                                                                               \
    }

#define vec_reserve(v, n)                                                                          \
    do {                                                                                           \
        size_t vec_want_ = (n);                                                                    \
        if (vec_want_ > (v)->room) {                                                               \
            size_t vec_room_ = (v)->room * 2 > 8 ? (v)->room * 2 : 8;                              \
            (v)->room = vec_room_ > vec_want_ ? vec_room_ : vec_want_;                             \
            (v)->items = mem_resize((v)->items, (v)->room, sizeof((v)->items[0]));                 \
        }                                                                                          \
    } while (0)

/* Room for n in all, and no more: for one that will not grow. */
#define vec_reserve_exact(v, n)                                                                    \
    do {                                                                                           \
        size_t vec_exact_ = (n);                                                                   \
        if (vec_exact_ > (v)->room) {                                                              \
            (v)->room = vec_exact_;                                                                \
            (v)->items = mem_resize((v)->items, (v)->room, sizeof((v)->items[0]));                 \
        }                                                                                          \
    } while (0)

#define vec_push(v, ...)                                                                           \
    do {                                                                                           \
        vec_reserve(v, (v)->count + 1);                                                            \
        (v)->items[(v)->count] = (__VA_ARGS__);                                                    \
        (v)->count++;                                                                              \
    } while (0)

#define vec_pop(v) ((v)->items[--(v)->count])

/* Remove item i and keep the order of the rest. */
#define vec_remove(v, i)                                                                           \
    do {                                                                                           \
        size_t vec_at_ = (i);                                                                      \
        memmove(&(v)->items[vec_at_], &(v)->items[vec_at_ + 1],                                    \
                ((v)->count - vec_at_ - 1) * sizeof((v)->items[0]));                               \
        (v)->count--;                                                                              \
    } while (0)

/* Insert before i. */
#define vec_insert(v, i, ...)                                                                      \
    do {                                                                                           \
        size_t vec_at_ = (i);                                                                      \
        vec_reserve(v, (v)->count + 1);                                                            \
        memmove(&(v)->items[vec_at_ + 1], &(v)->items[vec_at_],                                    \
                ((v)->count - vec_at_) * sizeof((v)->items[0]));                                   \
        (v)->items[vec_at_] = (__VA_ARGS__);                                                       \
        (v)->count++;                                                                              \
    } while (0)

#define vec_clear(v) ((void)((v)->count = 0))

#define vec_fini(v)                                                                                \
    do {                                                                                           \
        mem_free((v)->items);                                                                      \
        (v)->items = NULL;                                                                         \
        (v)->count = (v)->room = 0;                                                                \
    } while (0)

#endif
