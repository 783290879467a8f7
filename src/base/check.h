/* check - what must be true, or the program is wrong.
 *
 * CHECK is constant time and stays on in release builds: state is always a replay of the journal,
 * so ending the process loses nothing.  AUDIT is for checks whose cost grows with the state; it
 * runs where MUSTER_AUDIT is defined (tests, sanitizer builds).
 */
#ifndef MUSTER_BASE_CHECK_H
#define MUSTER_BASE_CHECK_H

#include <stddef.h>

_Noreturn void check_failed(const char *file, int line, const char *what);

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0)) {                                                        \
            check_failed(__FILE__, __LINE__, #cond);                                               \
        }                                                                                          \
    } while (0)

#ifdef MUSTER_AUDIT
#define AUDIT(cond) CHECK(cond)
#else
#define AUDIT(cond) ((void)0)
#endif

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
