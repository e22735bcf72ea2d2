/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* driver.h - the driver of the fabric: it chooses the next TLP to move.
 *
 * random       any TLP that may move; now and then a queue is stalled for a while, so
 *              that TLPs are reordered over long distances, not only with neighbours
 * adversarial  only TLPs that somebody waits for (CQEs, reads, completions, atomics,
 *              doorbells), the youngest first; data moves only when an ordering rule
 *              forces it to go before one of these
 * replay       the choices of an earlier run
 *
 * Threads: none; the caller serialises. The same seed and the same calls give the same
 * choices.
 */
#ifndef RN_DRIVER_H
#define RN_DRIVER_H

#include "rocin/random.h"
#include "sim/pcie/model/fabric.h"

struct rn_driver {
	enum rn_driver_kind kind;
	struct rn_random random;
	/* For each queue, how many more choices it is left out of. */
	uint16_t stalled[RN_LIST_COUNT];
	/* Choices of the replay driver; the array belongs to the caller. */
	const uint16_t *choices;
	uint32_t choice_count, choice_next;
	/* The NIC is still sending and nobody polls for CQEs yet, so more data may be
	 * issued before the CQEs have to be written.
	 */
	bool is_sending;
};

void rn_driver_init(struct rn_driver *d, const struct rn_pcie_knobs *knobs);

/* Makes the driver replay @count choices that rn_driver_pick() returned in an earlier
 * run. A choice whose TLP may not move yet is waited for; after the last choice nothing
 * moves.
 */
void rn_driver_replay(struct rn_driver *d, const uint16_t *choices, uint32_t count);

/* Returns the index of the next TLP to move, which is movable, or RN_TLP_NONE if nothing
 * is to move now. RN_TLP_NONE does not mean that the fabric is empty: the random driver
 * stalls queues for some calls, and the adversarial driver holds back TLPs that nobody
 * waits for.
 */
unsigned rn_driver_pick(struct rn_driver *d, const struct rn_fabric *f);

#endif /* RN_DRIVER_H */
