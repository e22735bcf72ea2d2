/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_nic.c - NICs of the hierarchy: attaches and detaches them, and forces their TLPs
 * when the program polls or sleeps, or when a QP ends.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "host_internal.h"
#include "rocin/hash.h"
#include "transport/io/memory/mem_guard.h"

enum {
	STEPS_PER_POLL = 6,
	/* Number of choices of the driver at each poll in adversarial mode. It is higher
	 * than in other modes: the program polls for a CQE, and much data may have to
	 * move before that CQE can.
	 */
	STEPS_PER_POLL_ADVERSARIAL = 64,
};

/* --------------------------------- polls, and TLPs that a program waits for */
static unsigned counter_of(rn_iova ring)
{
	return (unsigned)(rn_hash_word(ring) >> 60) % RN_HOST_RINGS;
}

void rn_host_polled_empty(struct rn_host_nic *nic, rn_iova ring)
{
	struct rn_host *h = nic->host;

	if (!atomic_load_explicit(&h->on_way, memory_order_acquire) ||
	    rn_host_is_forked())
		return;
	rn_host_lock(h);
	/* @ring is 0 if the device polls on its own account, not because the program
	 * polls a CQ.
	 */
	if (ring != 0)
		rn_host_resume_by_polls(h);
	h->polls++;
	h->ring_polls[counter_of(ring)]++;
	h->driver.is_sending = ring == 0 && rn_host_do_entries_wait(h, rn_host_now());
	rn_host_step(h, h->driver.kind == RN_DRIVER_ADVERSARIAL
				? STEPS_PER_POLL_ADVERSARIAL
				: STEPS_PER_POLL);
	h->driver.is_sending = false;
	if (h->tape.is_on)
		rn_host_release(h, rn_host_now());
	else if (rn_host_knobs(h)->hold_polls)
		rn_host_release(h, 0);
	rn_host_unlock(h);
}

/* Argument of the functions that select TLPs of a NIC. */
struct match {
	unsigned agent;
	uint32_t qpn; /* QP whose TLPs are selected; 0: the TLPs of all QPs */
	rn_iova lo, hi;
};

static bool is_cqe_into(const struct rn_tlp *tlp, const void *arg)
{
	const struct match *m = arg;

	return tlp->kind == RN_TLP_WRITE && (tlp->flags & RN_TLP_CQE) &&
	       rn_tlp_touches(tlp, m->lo, m->hi - m->lo);
}

static bool is_write_of(const struct rn_tlp *tlp, const void *arg)
{
	const struct match *m = arg;

	return tlp->kind == RN_TLP_WRITE && tlp->requester == m->agent &&
	       tlp->stream == m->qpn && !(tlp->flags & RN_TLP_CQE);
}

/* Returns true if the TLP belongs to the QP that @arg selects, or to an atomic of any QP
 * that has locked a word: the selected QP may be waiting for that lock.
 */
static bool is_of(const struct rn_tlp *tlp, const void *arg)
{
	const struct match *m = arg;
	unsigned agent = tlp->kind == RN_TLP_COMPLETION ? tlp->target : tlp->requester;

	return agent == m->agent &&
	       (m->qpn == 0 || tlp->stream == m->qpn || tlp->tag == RN_HOST_TAG_LOCKED);
}

static void force_matching(struct rn_host_nic *nic,
			   bool (*match)(const struct rn_tlp *tlp, const void *arg),
			   struct match m)
{
	struct rn_host *h = nic->host;

	if (rn_host_is_forked())
		return;
	m.agent = rn_nic_agent(nic);
	rn_host_lock(h);
	rn_host_force_if(h, match, &m);
	rn_host_unlock(h);
}

void rn_host_settle_ring(struct rn_host_nic *nic, rn_iova ring, uint64_t len)
{
	struct rn_host *h = nic->host;

	if (rn_host_is_forked())
		return;
	/* The program is about to sleep, so the NIC performs the reads that it has
	 * postponed.
	 */
	rn_host_lock(h);
	rn_host_resume_reads(h);
	rn_host_unlock(h);
	force_matching(nic, is_cqe_into, (struct match){ .lo = ring, .hi = ring + len });
}

static void call_placed(struct rn_host *h, unsigned agent, uint32_t qpn)
{
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->placed)
			h->hooks[i]->placed(h, agent, qpn);
}

static void place_data(struct rn_host_nic *nic, uint32_t qpn)
{
	if (rn_host_is_forked())
		return;
	force_matching(nic, is_write_of, (struct match){ .qpn = qpn });
	rn_host_lock(nic->host);
	call_placed(nic->host, rn_nic_agent(nic), qpn);
	rn_host_unlock(nic->host);
}

void rn_host_settle_acked(struct rn_host_nic *nic, uint32_t qpn)
{
	if (atomic_load_explicit(&nic->host->is_placed_first, memory_order_relaxed))
		place_data(nic, qpn);
}

static void call_drained(struct rn_host *h, unsigned agent, uint32_t qpn)
{
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->drained)
			h->hooks[i]->drained(h, agent, qpn);
}

static bool has_active(const struct rn_host_nic *nic, uint32_t qpn)
{
	for (const struct rn_nic_op *op = nic->active; op; op = op->next_active)
		if (qpn == 0 || op->qpn == qpn)
			return true;
	return false;
}

static bool has_tlp(struct rn_host *h, const struct match *m)
{
	for (unsigned i = rn_fabric_oldest(h->fabric); i != RN_TLP_NONE;
	     i = rn_fabric_younger(h->fabric, i))
		if (is_of(rn_fabric_tlp(h->fabric, i), m))
			return true;
	return false;
}

void rn_host_drain(struct rn_host_nic *nic, uint32_t qpn)
{
	struct match m = { .agent = rn_nic_agent(nic), .qpn = qpn };
	struct rn_host *h = nic->host;

	if (rn_host_is_forked())
		return;
	rn_host_lock(h);
	rn_host_resume(h);
	/* Forcing once is not enough: an atomic issues a write after its read, and when
	 * it has ended, atomics that waited for its lock begin.
	 */
	while (has_tlp(h, &m))
		rn_host_force_if(h, is_of, &m);
	assert(!has_active(nic, qpn));
	if (qpn)
		call_drained(h, m.agent, qpn);
	rn_host_unlock(h);
}

/* ---------------------------------------- attaching and detaching of NICs */
static int put_nic(struct rn_host *h, struct rn_host_nic *nic)
{
	int err = ENOSPC;

	rn_host_lock(h);
	for (unsigned i = 0; i < RN_NIC_MAX && err; i++) {
		if (h->nics[i])
			continue;
		nic->number = i;
		if (!rn_host_is_off(h))
			rn_host_bus_start(h);
		h->nics[i] = nic;
		err = 0;
	}
	rn_host_unlock(h);
	return err;
}

struct rn_host_nic *rn_host_attach(const struct rn_host_nic_cfg *cfg)
{
	struct rn_host *h = rn_host_get();
	struct rn_host_nic *nic = h ? calloc(1, sizeof(*nic)) : NULL;
	int err;

	if (!nic) {
		errno = ENOMEM;
		return NULL;
	}
	(void)rn_guard_install(); /* if this fails, memory is copied without the guard */
	nic->host = h;
	nic->wake = cfg->wake;
	nic->arg = cfg->arg;
	nic->counter = cfg->counter;
	nic->ended_tail = &nic->ended;
	if (cfg->name)
		strncpy(nic->name, cfg->name, sizeof(nic->name) - 1);
	err = put_nic(h, nic);
	if (err) {
		free(nic);
		errno = err;
		return NULL;
	}
	return nic;
}

void rn_host_detach(struct rn_host_nic *nic)
{
	struct rn_host *h = nic->host;
	struct rn_nic_block *next;

	if (rn_host_is_forked())
		/* A child of fork() does nothing here, because another thread of the
		 * parent may have been changing the state at the time of the fork.
		 */
		return;
	rn_host_drain(nic, 0);
	rn_host_lock(h);
	call_drained(h, rn_nic_agent(nic), 0);
	h->nics[nic->number] = NULL;
	rn_host_unlock(h);
	while (atomic_load_explicit(&nic->waking, memory_order_acquire) > 0)
		sched_yield();
	for (struct rn_nic_block *b = nic->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(nic->mtt);
	free(nic->mtt_upper);
	free(nic);
}
