/* str - a string that grows, always ended by NUL; and the few checks on text that every layer
 * needs. */
#ifndef MUSTER_BASE_STR_H
#define MUSTER_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    char *text; /* never NULL after the first str_add* */
    size_t len;
    size_t room;
};

void str_fini(struct str *s);
void str_clear(struct str *s);
void str_add(struct str *s, const char *text);
void str_add_n(struct str *s, const char *text, size_t len);
void str_add_char(struct str *s, char c);
void str_add_int(struct str *s, int64_t value);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* text as a JSON string with its quotes: only ", \ and control characters are escaped. */
void str_add_json(struct str *s, const char *text, size_t len);
/* Give the text away; s is empty afterwards.  Free with mem_free. */
char *str_take(struct str *s);
/* The text, "" when nothing was added. */
const char *str_text(const struct str *s);

/* [a-z0-9-]{1,63}, not beginning or ending with '-'. */
bool str_is_name(const char *text);
bool str_is_utf8(const char *text, size_t len);
/* The whole of text as a decimal integer within int64; false on anything else, overflow included.
 */
bool str_to_int(const char *text, int64_t *ret);
/* strcmp that takes NULL as "". */
int str_cmp(const char *a, const char *b);

#endif
