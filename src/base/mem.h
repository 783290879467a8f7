/* mem - memory that is there or the process ends (out of memory is a CHECK: state is replayed).
 * Also the cleanup attribute: `CLEANUP(mem_freep) char *text = ...`. */
#ifndef MUSTER_BASE_MEM_H
#define MUSTER_BASE_MEM_H

#include <stddef.h>

/* Zeroed memory for count objects of size bytes; never NULL.  Free with mem_free. */
void *mem_new(size_t count, size_t size);
/* Grow or shrink to count objects; new bytes are not zeroed. */
void *mem_resize(void *old, size_t count, size_t size);
char *mem_text(const char *text);
char *mem_text_n(const char *text, size_t len);
void mem_free(void *p);

/* For CLEANUP on any pointer variable. */
void mem_freep(void *pp);

#define CLEANUP(fn) __attribute__((cleanup(fn)))

#endif
