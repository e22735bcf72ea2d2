/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* driver.h - who chooses the next TLP that moves.
 *
 *	random		any that may move; now and then a queue is stalled for a while, so
 *			that long reorderings happen and not only neighbours swap
 *	adversarial	only what somebody waits for (CQEs, reads, completions, atomics,
 *			doorbells), the youngest first; data moves when a rule forces it
 *	replay		choices of an earlier run
 *
 * Threads: none; the caller serialises. Same seed, same calls: same choices.
 */
#ifndef RN_DRIVER_H
#define RN_DRIVER_H

#include "rocin/random.h"
#include "sim/pcie/model/fabric.h"

struct rn_driver {
	enum rn_driver_kind kind;
	struct rn_random random;
	uint16_t stalled[RN_LIST_COUNT]; /* choices that the queue still sits out */
	const uint16_t *choices;	 /* replay: borrowed */
	uint32_t choice_count, choice_next;
	bool is_sending; /* nobody asks for entries yet, and more may follow */
};

void rn_driver_init(struct rn_driver *d, const struct rn_pcie_knobs *knobs);

/* Replay @count choices, as rn_driver_pick() gave them; nothing moves after the last. A
 * choice that is not movable yet is waited for.
 */
void rn_driver_replay(struct rn_driver *d, const uint16_t *choices, uint32_t count);

/* The next TLP to move (movable), or RN_TLP_NONE: nothing moves for now. That does not
 * mean that the fabric is empty: random stalls queues for some calls, adversarial keeps
 * what nobody waits for.
 */
unsigned rn_driver_pick(struct rn_driver *d, const struct rn_fabric *f);

#endif /* RN_DRIVER_H */
