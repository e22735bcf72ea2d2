/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* driver.h - the driver of the fabric: a scheduler that chooses which TLP moves next.
 *
 * random       moves any TLP that may move; sometimes stalls a queue for a while, so that
 *              TLPs that are far apart are reordered, too
 * adversarial  moves only TLPs that somebody waits for (CQEs, reads, completions,
 *              atomics, doorbells), the youngest first; moves data only when an ordering
 *              rule forces the data to go before one of these TLPs
 * replay       repeats the choices of an earlier run
 *
 * Threads: there are no locks; the caller must serialise the calls. The same seed and the
 * same calls give the same choices.
 */
#ifndef RN_DRIVER_H
#define RN_DRIVER_H

#include "rocin/random.h"
#include "sim/pcie/model/fabric.h"

struct rn_driver {
	enum rn_driver_kind kind;
	struct rn_random random;
	/* For each queue: number of further choices during which it is stalled. */
	uint16_t stalled[RN_LIST_COUNT];
	/* Choices that the replay driver repeats; the array belongs to the caller. */
	const uint16_t *choices;
	uint32_t choice_count, choice_next;
	/* The NIC may issue more data, and nobody polls for CQEs. Set by the caller. The
	 * adversarial driver then holds back CQEs, so that data that is issued later can
	 * still be written before them.
	 */
	bool is_sending;
};

void rn_driver_init(struct rn_driver *d, const struct rn_pcie_knobs *knobs);

/* Makes the driver repeat @count choices that rn_driver_pick() returned in an earlier
 * run. While the TLP of the next choice may not move, and after the last choice,
 * rn_driver_pick() returns RN_TLP_NONE.
 */
void rn_driver_replay(struct rn_driver *d, const uint16_t *choices, uint32_t count);

/* Returns the index of the TLP that is to move next, which the ordering rules allow to
 * move. Returns RN_TLP_NONE if nothing is to move now; the fabric need not be empty then:
 * the random driver stalls queues for some calls, and the adversarial driver holds back
 * TLPs for which nobody waits.
 */
unsigned rn_driver_pick(struct rn_driver *d, const struct rn_fabric *f);

#endif /* RN_DRIVER_H */
