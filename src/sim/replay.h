/* replay - a life as a small file: a seed, and of its events those that are left.
 *
 *   muster-sim replay 1
 *   seed 43
 *   events 300
 *   faults crash,disk
 *   drop node 2
 *   drop queue 5
 *   event 17 submit          (numbers from 1, as they are reported)
 *   quiet 250                (the quiet phase after event 250)
 *
 * # begins a comment.  The word behind an event is its kind: a file of another release, whose
 * events are others, is refused.
 */
#ifndef MUSTER_SIM_REPLAY_H
#define MUSTER_SIM_REPLAY_H

#include "sim/seeded.h"

/* ret->cut is made anew and ends with replay_cut_free.  ERR_IO, ERR_SYNTAX, ERR_INVALID with the
 * line. */
MUST_CHECK int replay_read(const char *path, struct seeded_options *ret, struct seeded_cut *ret_cut,
                           struct err *err);
/* note is put above it as a comment. */
MUST_CHECK int replay_write(const char *path, const struct seeded_options *options,
                            const char *note, struct err *err);

/* Nothing is cut from a life of so many events. */
void replay_cut_init(struct seeded_cut *cut, int64_t events);
void replay_cut_fini(struct seeded_cut *cut);

#endif
