/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_qp.c - queue pairs, their requests, and completion entries by address. */
#include <stdlib.h>
#include <string.h>

#include "sanitize_internal.h"

enum {
	BUCKETS = 256,
	WRS_MIN = 16,
	WRS_MAX = 4096, /* older requests are forgotten */
	CQES_MIN = 1024,
	CQES_MAX = 1 << 20,
};

static struct rn_san_qp *buckets[BUCKETS];

static struct rn_san_qp **bucket(unsigned agent, uint32_t qpn)
{
	return &buckets[(qpn ^ qpn >> 8 ^ agent << 4) % BUCKETS];
}

struct rn_san_qp *rn_san_qp(unsigned agent, uint32_t qpn, bool make)
{
	struct rn_san_qp **head = bucket(agent, qpn);
	struct rn_san_qp *q = *head;

	while (q && (q->agent != agent || q->qpn != qpn))
		q = q->next;
	if (q || !make)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->agent = agent;
	q->qpn = qpn;
	q->next = *head;
	*head = q;
	return q;
}

static void forget_in(struct rn_san_qp **at, unsigned agent, uint32_t qpn)
{
	struct rn_san_qp *q;

	while ((q = *at)) {
		if (q->agent != agent || (qpn && q->qpn != qpn)) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		for (uint32_t i = 0; i < q->room; i++)
			rn_san_source_hold(&q->wr[i], false);
		free(q->wr);
		free(q);
	}
}

void rn_san_forget(struct rn_host *h, unsigned agent, uint32_t qpn)
{
	(void)h;
	for (unsigned i = 0; i < BUCKETS; i++)
		forget_in(&buckets[i], agent, qpn);
}

/* ---------------------------------------------------------------- requests */
struct rn_san_wr *rn_san_wr_find(const struct rn_san_qp *q, uint32_t msg)
{
	struct rn_san_wr *wr = q && q->room ? &q->wr[msg % q->room] : NULL;

	return wr && wr->is_used && wr->msg == msg ? wr : NULL;
}

static bool grow(struct rn_san_qp *q)
{
	uint32_t room = q->room ? 2 * q->room : WRS_MIN;
	struct rn_san_wr *wr = calloc(room, sizeof(*wr));

	if (!wr)
		return false;
	for (uint32_t i = 0; i < q->room; i++)
		if (q->wr[i].is_used)
			wr[q->wr[i].msg % room] = q->wr[i];
	free(q->wr);
	q->wr = wr;
	q->room = room;
	return true;
}

struct rn_san_wr *rn_san_wr_add(struct rn_san_qp *q, uint32_t msg)
{
	struct rn_san_wr *wr;

	if (!q->has_posted) {
		q->has_posted = true;
		q->oldest = msg;
	}
	while (!q->room || (q->room < WRS_MAX && q->wr[msg % q->room].is_used &&
			    !q->wr[msg % q->room].is_done))
		if (!grow(q))
			return NULL;
	wr = &q->wr[msg % q->room];
	if (wr->is_used && !wr->is_done && rn_san_is_fetch(wr->opcode))
		q->reads_open--;
	rn_san_source_hold(wr, false);
	*wr = (struct rn_san_wr){ .is_used = true, .msg = msg };
	q->past = msg + 1;
	return wr;
}

static bool holds(const struct rn_san_wr *wr, uintptr_t addr)
{
	for (unsigned i = 0; wr->is_held && i < wr->range_count; i++)
		if (addr - wr->range[i].addr < wr->range[i].len)
			return true;
	return false;
}

struct rn_san_wr *rn_san_wr_holding(uintptr_t addr, struct rn_san_qp **qp)
{
	for (unsigned b = 0; b < BUCKETS; b++)
		for (*qp = buckets[b]; *qp; *qp = (*qp)->next)
			for (uint32_t i = 0; i < (*qp)->room; i++)
				if (holds(&(*qp)->wr[i], addr))
					return &(*qp)->wr[i];
	return NULL;
}

/* -------------------------------------------------------------------- CQEs */
/* Open addressing; entries are replaced, never taken out. */
static struct {
	struct rn_san_cqe *entry;
	uint32_t room, count;
} cqes;

static struct rn_san_cqe *cqe_place(struct rn_san_cqe *entry, uint32_t room, rn_iova slot)
{
	uint32_t at = (uint32_t)(slot * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (room - 1);

	while (entry[at].slot && entry[at].slot != slot)
		at = (at + 1) & (room - 1);
	return &entry[at];
}

static bool make_room_for_cqe(void)
{
	uint32_t room = cqes.room ? 2 * cqes.room : CQES_MIN;
	struct rn_san_cqe *entry;

	if (cqes.room && cqes.count < cqes.room / 4 * 3)
		return true;
	if (room > CQES_MAX) { /* rings of long ago: begin anew */
		memset(cqes.entry, 0, cqes.room * sizeof(*cqes.entry));
		cqes.count = 0;
		return true;
	}
	entry = calloc(room, sizeof(*entry));
	if (!entry)
		return false;
	for (uint32_t i = 0; i < cqes.room; i++)
		if (cqes.entry[i].slot)
			*cqe_place(entry, room, cqes.entry[i].slot) = cqes.entry[i];
	free(cqes.entry);
	cqes.entry = entry;
	cqes.room = room;
	return true;
}

void rn_san_cqe_sent(const struct rn_san_cqe *cqe)
{
	struct rn_san_cqe *place;

	if (!make_room_for_cqe())
		return;
	place = cqe_place(cqes.entry, cqes.room, cqe->slot);
	cqes.count += place->slot == 0;
	*place = *cqe;
}

const struct rn_san_cqe *rn_san_cqe_at(rn_iova slot)
{
	const struct rn_san_cqe *place;

	if (!cqes.room)
		return NULL;
	place = cqe_place(cqes.entry, cqes.room, slot);
	return place->slot ? place : NULL;
}
