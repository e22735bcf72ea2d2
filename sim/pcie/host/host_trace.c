/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_trace.c - functions of rocin/pcie.h: the trace of moves of TLPs, the knobs while
 * the program runs, and counters.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_internal.h"

/* ---------------------------------------------- trace of the moves of TLPs */
static unsigned index_of(const struct rn_host *h, const struct rn_tlp *tlp, unsigned list)
{
	unsigned i = rn_fabric_first(h->fabric, list);

	while (rn_fabric_tlp(h->fabric, i) != tlp)
		i = rn_fabric_next(h->fabric, i);
	return i;
}

/* Returns the purpose of a TLP, as the trace names it. The purpose of a NIC's TLP is its
 * tag. TLPs of drives always count as data, because drives use rn_tlp.tag for another
 * value.
 */
static unsigned purpose_of(const struct rn_tlp *tlp)
{
	bool is_of_drive =
		tlp->requester >= RN_AGENT_NVME || tlp->target >= RN_AGENT_NVME;

	return is_of_drive ? RN_PCIE_DATA : (unsigned)tlp->tag;
}

static void record_move(struct rn_host *h, const struct rn_tlp *tlp, unsigned queue,
			const struct rn_tlp *first)
{
	struct rn_pcie_move *m = &h->trace[h->trace_count++ % h->trace_size];

	*m = (struct rn_pcie_move){
		.seq = tlp->seq,
		.passed = first->seq,
		.addr = tlp->addr,
		.issued = tlp->stamp,
		.when = (uint64_t)rn_host_now(),
		.len = tlp->len,
		.stream = tlp->stream,
		.msg = tlp->msg,
		.index = (uint16_t)index_of(h, tlp, queue),
		.queue = (uint16_t)queue,
		.kind = tlp->kind,
		.flags = tlp->flags,
		.requester = tlp->requester,
		.target = tlp->target,
		.purpose = (uint8_t)purpose_of(tlp),
	};
	if (first == tlp)
		return;
	m->rule = queue < RN_QUEUE_COUNT ? rn_order_rule(tlp, first, rn_host_knobs(h))
					 : "GV1: the inside of a GPU has no order";
}

void rn_host_trace(struct rn_host *h, const struct rn_tlp *tlp, unsigned queue)
{
	unsigned list =
		queue < RN_QUEUE_COUNT ? queue : RN_QUEUE_COUNT + (unsigned)tlp->target;
	const struct rn_tlp *first =
		rn_fabric_tlp(h->fabric, rn_fabric_first(h->fabric, list));

	h->counters.moves++;
	if (first != tlp)
		h->counters.overtakes++;
	if (h->trace)
		record_move(h, tlp, list, first);
}

int rn_pcie_trace_start(uint32_t moves)
{
	struct rn_host *h = rn_host_get();
	struct rn_pcie_move *trace = moves ? calloc(moves, sizeof(*trace)) : NULL;

	if (!h || (moves && !trace)) {
		free(trace);
		return -ENOMEM;
	}
	rn_host_lock(h);
	free(h->trace);
	h->trace = trace;
	h->trace_size = moves;
	h->trace_count = 0;
	rn_host_unlock(h);
	return 0;
}

uint32_t rn_pcie_trace_read(struct rn_pcie_move *out, uint32_t max)
{
	struct rn_host *h = rn_host_get();
	uint64_t n;

	if (!h)
		return 0;
	rn_host_lock(h);
	n = h->trace_count < h->trace_size ? h->trace_count : h->trace_size;
	if (n > max)
		n = max;
	for (uint64_t i = 0; i < n; i++)
		out[i] = h->trace[(h->trace_count - n + i) % h->trace_size];
	rn_host_unlock(h);
	return (uint32_t)n;
}

const char *rn_pcie_queue_name(unsigned queue, char *buf, size_t len)
{
	return rn_queue_name(queue, buf, len);
}

const char *rn_pcie_agent_name(unsigned agent, char *buf, size_t len)
{
	return rn_agent_name(agent, buf, len);
}

/* ----------------------------------------- knobs at run time, and counters */
/* Locks the hierarchy and returns it. If this process has no hierarchy, returns NULL, and
 * nothing is locked.
 */
static struct rn_host *lock_host(void)
{
	struct rn_host *h = rn_host_is_forked() ? NULL : rn_host_get();

	if (h)
		rn_host_lock(h);
	return h;
}

struct rn_pcie_knobs rn_pcie_live_knobs(void)
{
	struct rn_host *h = lock_host();
	struct rn_pcie_knobs knobs;

	rn_pcie_preset(&knobs, RN_PCIE_STRICT);
	if (h) {
		knobs = *rn_host_knobs(h);
		rn_host_unlock(h);
	}
	return knobs;
}

int rn_pcie_set_knobs(const struct rn_pcie_knobs *k)
{
	struct rn_host *h;
	char why[256];
	int err = rn_pcie_check(k, why, sizeof(why));

	if (err)
		return err;
	h = lock_host();
	if (!h)
		return rn_host_is_forked() ? 0 : -ENOMEM;
	rn_host_settle(h);
	err = rn_host_restart_with_tape(h, k, why, sizeof(why));
	rn_host_unlock(h);
	return err;
}

void rn_pcie_seed(uint64_t seed)
{
	struct rn_host *h = lock_host();
	struct rn_pcie_knobs knobs;

	if (!h)
		return;
	rn_host_settle(h);
	knobs = *rn_host_knobs(h);
	knobs.seed = seed;
	/* A recording or a replay continues, with the new seed. The result is ignored: if
	 * there is no memory, the old fabric is kept.
	 */
	(void)rn_host_restart(h, &knobs);
	rn_host_replay_resume(h);
	rn_host_unlock(h);
}

void rn_pcie_drain(void)
{
	struct rn_host *h = lock_host();

	if (!h)
		return;
	rn_host_settle(h);
	rn_host_unlock(h);
}

void rn_pcie_step(unsigned moves)
{
	struct rn_host *h = lock_host();

	if (!h)
		return;
	rn_host_step(h, moves);
	rn_host_unlock(h);
}

uint64_t rn_pcie_pending(const void *addr, size_t len)
{
	uint64_t lo = (uintptr_t)addr, hi = lo + len, bytes = 0;
	struct rn_host *h = lock_host();

	if (!h)
		return 0;
	for (unsigned i = rn_fabric_oldest(h->fabric); i != RN_TLP_NONE;
	     i = rn_fabric_younger(h->fabric, i)) {
		const struct rn_tlp *t = rn_fabric_tlp(h->fabric, i);
		uint64_t from = t->addr > lo ? t->addr : lo;
		uint64_t to = t->addr + t->len < hi ? t->addr + t->len : hi;

		if (t->kind == RN_TLP_WRITE && from < to)
			bytes += to - from;
	}
	rn_host_unlock(h);
	return bytes;
}

void rn_pcie_counters(struct rn_pcie_counters *out)
{
	struct rn_host *h = lock_host();

	memset(out, 0, sizeof(*out));
	if (!h)
		return;
	*out = h->counters;
	out->on_way = rn_fabric_count(h->fabric);
	rn_host_unlock(h);
}
