/* int128 - sums and products that may pass 63 bits.  __int128 is a gcc and clang extension that
 * -Wpedantic names; the one typedef here keeps the rest of the tree free of it. */
#ifndef MUSTER_BASE_INT128_H
#define MUSTER_BASE_INT128_H

__extension__ typedef __int128 int128;

#endif
