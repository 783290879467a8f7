/* settingscalar - one value of the configuration: its text to a C value, and what to say if it is
 * none. */
#ifndef MUSTER_CONFIG_SETTINGSCALAR_H
#define MUSTER_CONFIG_SETTINGSCALAR_H

#include "config/settings.h"

#define SETTINGSCALAR_NAME_RIGHT "use 1 to 63 of a-z, 0-9 and -, not beginning or ending with -"

/* "", "~", "null" without quotes: nothing was written. */
bool settingscalar_is_null(const char *text);

/* Write the value of the scalar to `to`; NULL, or what is wrong and right, in the arena of c. Texts
 * are lent from the tree. */
const char *settingscalar_read(const struct setting *row, const struct yamltree *at, void *to,
                               const struct complaints *c);

/* "write true or false" … */
const char *settingscalar_right(const struct setting *row, struct arena *arena);

/* "bool", "time" … for the manual; the bounds as people write them. */
const char *settingscalar_kind_text(const struct setting *row, struct arena *arena);

#endif
