/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_nic.c - NICs below the hierarchy: results that are fetched, what is settled. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "host_nic.h"
#include "transport/io/memory/mem_guard.h"

enum {
	OPS_PER_BLOCK = 64,
	STEPS_PER_POLL = 6,
	/* Somebody waits for a CQE that may have much data before it. */
	STEPS_PER_POLL_ADVERSARIAL = 64,
};

/* --------------------------------------------------------------------- ops */
struct rn_nic_op *rn_nic_op_take(struct rn_host_nic *nic, uint32_t qpn, uint64_t tag)
{
	struct rn_nic_block *b;
	struct rn_nic_op *op;

	if (!nic->free) {
		b = malloc(sizeof(*b) + OPS_PER_BLOCK * sizeof(*op));
		if (!b)
			return NULL;
		b->next = nic->blocks;
		nic->blocks = b;
		for (unsigned i = 0; i < OPS_PER_BLOCK; i++) {
			b->op[i].next = nic->free;
			nic->free = &b->op[i];
		}
	}
	op = nic->free;
	nic->free = op->next;
	*op = (struct rn_nic_op){ .nic = nic,
				  .qpn = qpn,
				  .tag = tag,
				  .result = RN_MEM_DONE,
				  .next_active = nic->active };
	if (nic->active)
		nic->active->prev_active = op;
	nic->active = op;
	return op;
}

static void deactivate(struct rn_nic_op *op)
{
	struct rn_host_nic *nic = op->nic;

	if (op->prev_active)
		op->prev_active->next_active = op->next_active;
	else
		nic->active = op->next_active;
	if (op->next_active)
		op->next_active->prev_active = op->prev_active;
}

static void give(struct rn_nic_op *op)
{
	op->next = op->nic->free;
	op->nic->free = op;
}

enum rn_mem_result rn_nic_op_begun(struct rn_nic_op *op)
{
	enum rn_mem_result result = op->result;

	if (op->left > 0) {
		op->is_pending = true;
		op->nic->host->waiting++;
		rn_host_bus_hurry(op->nic->host);
		return RN_MEM_PENDING;
	}
	deactivate(op);
	give(op);
	return result;
}

void rn_nic_op_ended(struct rn_nic_op *op)
{
	struct rn_host_nic *nic = op->nic;

	assert(op->left > 0);
	if (--op->left > 0 || !op->is_pending)
		return;
	deactivate(op);
	nic->host->waiting--;
	op->next = NULL;
	*nic->ended_tail = op;
	nic->ended_tail = &op->next;
	atomic_store_explicit(&nic->has_ended, true, memory_order_release);
	nic->host->wake_due = true;
}

/* ------------------------------------------------------------ what has ended */
bool rn_host_nic_wants_wake(struct rn_host_nic *nic)
{
	if (!nic->ended || nic->is_told)
		return false;
	nic->is_told = true;
	atomic_fetch_add(&nic->waking, 1);
	return true;
}

void rn_host_nic_wake(struct rn_host_nic *nic)
{
	if (nic->wake)
		nic->wake(nic->arg);
	atomic_fetch_sub_explicit(&nic->waking, 1, memory_order_release);
}

/* With the lock held. */
static struct rn_nic_op *take_ended(struct rn_host_nic *nic)
{
	struct rn_nic_op *list = nic->ended;

	nic->ended = NULL;
	nic->ended_tail = &nic->ended;
	nic->is_told = false;
	atomic_store_explicit(&nic->has_ended, false, memory_order_relaxed);
	return list;
}

static void give_list(struct rn_nic_op *list)
{
	struct rn_nic_op *next;

	for (; list; list = next) {
		next = list->next;
		give(list);
	}
}

unsigned rn_host_collect(struct rn_host_nic *nic,
			 void (*done)(void *arg, uint64_t tag, enum rn_mem_result result),
			 void *arg)
{
	struct rn_nic_op *list;
	unsigned count = 0;

	if (rn_host_is_forked() ||
	    (!atomic_load_explicit(&nic->has_ended, memory_order_acquire) &&
	     !nic->host->tape.is_on))
		return 0;
	rn_host_lock(nic->host);
	if (nic->host->tape.is_on)
		rn_host_event(nic->host); /* it sees what has ended */
	list = take_ended(nic);
	rn_host_unlock(nic->host);
	for (const struct rn_nic_op *op = list; op; op = op->next, count++)
		done(arg, op->tag, op->result);
	rn_host_lock(nic->host);
	give_list(list);
	rn_host_unlock(nic->host);
	return count;
}

/* ------------------------------------------------------------------- moving */
static unsigned counter_of(rn_iova ring)
{
	/* Multiplicative hashing: the upper bits of the product are well mixed. */
	return (unsigned)(ring * UINT64_C(0x9e3779b97f4a7c15) >> 60) % RN_HOST_RINGS;
}

void rn_host_polled_empty(struct rn_host_nic *nic, rn_iova ring)
{
	struct rn_host *h = nic->host;

	if (!atomic_load_explicit(&h->on_way, memory_order_acquire) ||
	    rn_host_is_forked())
		return;
	rn_host_lock(h);
	h->polls++;
	h->ring_polls[counter_of(ring)]++;
	/* Of no ring: the device looks for work, and nobody for entries. */
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

/* What TLPs to perform. */
struct match {
	unsigned agent;
	uint32_t qpn; /* 0: any */
	rn_iova lo, hi;
};

static bool is_cqe_into(const struct rn_tlp *tlp, const void *arg)
{
	const struct match *m = arg;

	return tlp->kind == RN_TLP_WRITE && (tlp->flags & RN_TLP_CQE) &&
	       tlp->addr < m->hi && m->lo < tlp->addr + tlp->len;
}

static bool is_write_of(const struct rn_tlp *tlp, const void *arg)
{
	const struct match *m = arg;

	return tlp->kind == RN_TLP_WRITE && tlp->requester == m->agent &&
	       tlp->stream == m->qpn && !(tlp->flags & RN_TLP_CQE);
}

/* An atomic of another QP may hold the lock that one of this QP waits for. */
static bool is_of(const struct rn_tlp *tlp, const void *arg)
{
	const struct match *m = arg;
	unsigned agent = tlp->kind == RN_TLP_COMPLETION ? tlp->target : tlp->requester;

	return agent == m->agent &&
	       (m->qpn == 0 || tlp->stream == m->qpn || tlp->tag == RN_NIC_LOCKED);
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
	force_matching(nic, is_cqe_into, (struct match){ .lo = ring, .hi = ring + len });
}

void rn_host_settle_acked(struct rn_host_nic *nic, uint32_t qpn)
{
	if (rn_host_knobs(nic->host)->ack == RN_ACK_PLACED)
		force_matching(nic, is_write_of, (struct match){ .qpn = qpn });
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
	/* An atomic writes after it has read, and lets others begin when it ends. */
	while (has_tlp(h, &m))
		rn_host_force_if(h, is_of, &m);
	assert(!has_active(nic, qpn));
	if (qpn)
		call_drained(h, m.agent, qpn);
	rn_host_unlock(h);
}

/* --------------------------------------------------------- coming and going */
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
	(void)rn_guard_install(); /* without it memory is copied by other means */
	nic->host = h;
	nic->wake = cfg->wake;
	nic->arg = cfg->arg;
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
		return; /* the parent's other threads may have left it in any state */
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
	free(nic);
}
