/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* local_pace.c - how long packets get into a ring: whichever way is faster now.
 *
 * Copying by string instructions takes 90 ns for 4 KiB where the processors have a cache
 * in common, and three times that where they do not; past the caches it takes the same
 * everywhere, most of it while the next packet is being built. No property of the machine
 * tells: so bursts are timed, and the other way is tried now and then.
 */
#include "far_copy.h"
#include "local_internal.h"

enum {
	TRY_EVERY = 64, /* bursts */
	SMOOTH = 4,	/* bursts that a mean is over */
	MARGIN = 16,	/* the other way must be faster by one part of so many */
	SPREAD_MAX = 2, /* times the mean: the processor was somebody else's */
	BYTES_PER_MB = 1 << 20,
};

void rn_local_pace_begin(struct local_wire *w)
{
	if (!rn_far_copy_has_past())
		return;
	w->pace.began = rn_local_exact_now();
	w->pace.began_at = w->send.tail;
}

static void note(uint64_t *mean, uint64_t took)
{
	if (*mean == 0)
		*mean = took;
	if (took > *mean * SPREAD_MAX)
		took = *mean * SPREAD_MAX;
	*mean += took / SMOOTH;
	*mean -= *mean / (SMOOTH + 1);
}

static bool is_past_faster(const struct local_pace *p)
{
	uint64_t strings = p->per_mb[0], past = p->per_mb[1];

	return past != 0 && past + past / MARGIN < strings;
}

void rn_local_pace_end(struct local_wire *w)
{
	struct local_pace *p = &w->pace;
	uint64_t bytes = w->send.tail - p->began_at;

	if (p->began == 0 || bytes == 0)
		return;
	note(&p->per_mb[w->send.past_caches],
	     (uint64_t)(rn_local_exact_now() - p->began) * BYTES_PER_MB / bytes);
	p->began = 0;
	w->send.past_caches = is_past_faster(p);
	if (++p->bursts % TRY_EVERY == 0)
		w->send.past_caches = !w->send.past_caches;
}
