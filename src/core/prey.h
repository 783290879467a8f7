/* prey - the jobs of a leaf that could be told to stop for another: their sums, and the order in
 * which they lose least.  Kept by the leaf until one of its jobs changes. */
#ifndef MUSTER_CORE_PREY_H
#define MUSTER_CORE_PREY_H

#include "core/job.h"
#include "core/queue.h"

/* Fill the leaf's largest_gu, smallest_gu, takeable_gu, elastic and lowest, where they are not
 * known.  Preemptible jobs that hold devices or were promised some. */
void prey_know(struct queue *leaf);

/* Fill the leaf's by_loss: the lowest priority first, then what was promised only, then the least
 * time since it was saved. */
void prey_sort(struct queue *leaf);

/* When the work of the job was last safe; what was only promised is always. */
int64_t prey_saved_ms(const struct job *j);

/* Something of this leaf's jobs has changed. */
void prey_forget(struct queue *leaf);

#endif
