/* yamltree - the part of YAML that a configuration needs, as a tree with line and column.
 *
 * Plain, quoted and block scalars, lists and maps with scalar keys; one document.  Refused, each
 * with its place: text that is not UTF-8, anchors, aliases (and with them every bomb), tags, a
 * second document, a key given twice, nesting past YAMLTREE_DEPTH_MAX, more than YAMLTREE_NODES_MAX
 * nodes, more than YAMLTREE_KEYS_MAX keys in a map.  Scalars stay text: what they mean is the
 * reader's to say.
 */
#ifndef MUSTER_CONFIG_YAMLTREE_H
#define MUSTER_CONFIG_YAMLTREE_H

#include "config/complaint.h"

#include <stdbool.h>

#define YAMLTREE_BYTES_MAX ((size_t)8 << 20)
#define YAMLTREE_DEPTH_MAX 64
#define YAMLTREE_NODES_MAX 1000000
#define YAMLTREE_KEYS_MAX  1024 /* of one map: a double key is looked for among all */

enum yamltree_kind { YAMLTREE_SCALAR, YAMLTREE_LIST, YAMLTREE_MAP };

struct yamltree {
    enum yamltree_kind kind;
    bool plain;       /* a scalar without quotes */
    const char *text; /* of a scalar; without NUL inside */
    int line;         /* from 1 */
    int column;
    struct yamltree *keys;  /* of a map, in the file's order */
    struct yamltree *items; /* of a list or a map */
    size_t count;
};

/* The one document of text, in the arena of c, or NULL with what is wrong added to c.  An empty
 * document is an empty map. */
const struct yamltree *yamltree_parse(const char *text, size_t len, struct complaints *c);

/* The value of a key of a map, or NULL. */
const struct yamltree *yamltree_get(const struct yamltree *map, const char *key);

/* "a list" … for messages. */
const char *yamltree_kind_text(const struct yamltree *t);

#endif
