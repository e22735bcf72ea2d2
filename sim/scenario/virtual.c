/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual.c - the transport as the device of a scenario: time, memory, what comes out. */
#include <stdlib.h>
#include <string.h>

#include "mads.h"
#include "sim/vnet/host.h"
#include "virtual_internal.h"

struct rn_virtual *rn_virtual_new(void)
{
	struct rn_virtual *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->dev = aligned_alloc(64, (rn_dev_size() + 63) & ~(size_t)63);
	if (!v->dev) {
		free(v);
		return NULL;
	}
	return v;
}

void rn_virtual_free(struct rn_virtual *v)
{
	if (!v)
		return;
	free(v->dev);
	free(v);
}

/* --------------------------------------------------------------------- memory */
static bool is_unmapped(const struct rn_virtual *v, uint64_t offset)
{
	for (unsigned i = 0; i < v->s->mrs; i++)
		if (v->unmapped[i] && offset - v->offset[i] < v->length[i])
			return true;
	return false;
}

/* Bytes of a region or a ring; NULL: nothing is there. */
static uint8_t *at_address(struct rn_virtual *v, rn_iova addr, uint32_t len)
{
	for (unsigned i = 0; i < 2; i++) {
		uint64_t offset = addr - (RN_VIRTUAL_RING + ((uint64_t)i << 20));

		if (offset < sizeof(v->ring[i]) && len <= sizeof(v->ring[i]) - offset)
			return (uint8_t *)v->ring[i] + offset;
	}
	if (addr - RN_VIRTUAL_BASE < sizeof(v->memory) &&
	    len <= sizeof(v->memory) - (addr - RN_VIRTUAL_BASE) &&
	    !is_unmapped(v, addr - RN_VIRTUAL_BASE))
		return v->memory + (addr - RN_VIRTUAL_BASE);
	return NULL;
}

static void stamp_cqe(struct rn_virtual *v, rn_iova addr)
{
	unsigned i = (unsigned)((addr - RN_VIRTUAL_RING) >> 20);

	if (addr >= RN_VIRTUAL_RING && i < 2)
		v->cqe_at[i][(addr & 0xfffff) / sizeof(struct rn_cqe)] = v->now;
}

static enum rn_mem_result mem_write(void *ctx, rn_iova dst, const void *src, uint32_t len,
				    struct rn_mem_attr attr)
{
	struct rn_virtual *v = ctx;
	uint8_t *to = at_address(v, dst, len);

	(void)attr;
	if (!to)
		return RN_MEM_FAULT;
	memcpy(to, src, len);
	stamp_cqe(v, dst);
	return RN_MEM_DONE;
}

static enum rn_mem_result mem_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				   struct rn_mem_attr attr, uint64_t tag)
{
	uint8_t *from = at_address(ctx, src, len);

	(void)attr;
	(void)tag;
	if (!from)
		return RN_MEM_FAULT;
	memcpy(dst, from, len);
	return RN_MEM_DONE;
}

static enum rn_mem_result mem_atomic(void *ctx, const struct rn_mem_atomic_req *req,
				     uint64_t *orig, struct rn_mem_attr attr,
				     uint64_t tag)
{
	uint8_t *at = at_address(ctx, req->dst, sizeof(*orig));
	uint64_t value;

	(void)attr;
	(void)tag;
	if (!at)
		return RN_MEM_FAULT;
	memcpy(orig, at, sizeof(*orig));
	value = req->op == RN_MEM_FETCH_ADD ? *orig + req->operand : req->operand;
	if (req->op == RN_MEM_FETCH_ADD || *orig == req->compare)
		memcpy(at, &value, sizeof(value));
	return RN_MEM_DONE;
}

const struct rn_mem_ops rn_virtual_mem = {
	.always_done = true,
	.write = mem_write,
	.read = mem_read,
	.atomic = mem_atomic,
};

static bool read_memory(void *ctx, unsigned mr, uint64_t offset, void *buf, uint32_t len)
{
	struct rn_virtual *v = ctx;

	if (mr >= v->s->mrs || offset > v->length[mr] || len > v->length[mr] - offset)
		return false;
	memcpy(buf, v->memory + v->offset[mr] + offset, len);
	return true;
}

/* ----------------------------------------------------------- what leaves it */
/* Room for a packet that may leave, or NULL. */
static struct rn_scene_packet *room(struct rn_virtual *v)
{
	return (v->held && !v->let_go) ||
			       v->packets - v->packets_taken >= RN_VIRTUAL_QUEUE
		       ? NULL
		       : &v->packet[v->packets % RN_VIRTUAL_QUEUE];
}

static bool take_packet(struct rn_virtual *v, struct rn_scene_packet *p)
{
	struct rn_tx tx;

	p->at = v->now;
	p->len = rn_host_transmit(v->dev, v->now, RN_TX_ALL, p->bytes, &p->flow, &tx);
	return p->len > 0;
}

static void take_packets(struct rn_virtual *v)
{
	struct rn_scene_packet *p;

	while ((p = room(v)) &&
	       (rn_virtual_cm_transmit(&v->cm, v->now, p) || take_packet(v, p))) {
		v->packets++;
		v->let_go -= v->let_go ? 1 : 0;
	}
}

static uint32_t event_of(const struct rn_event *ev)
{
	if (ev->srq)
		return *(const uint32_t *)rn_srq_owner(ev->srq);
	return ev->qp ? rn_qp_qpn(ev->qp) : 0;
}

static void take_events(struct rn_virtual *v)
{
	struct rn_event ev;

	while (v->events - v->events_taken < RN_VIRTUAL_QUEUE &&
	       rn_dev_event(v->dev, &ev)) {
		if (ev.completion) {
			v->comps[ev.cq == &v->cq[1]]++;
			continue;
		}
		v->event[v->events++ % RN_VIRTUAL_QUEUE] = (struct rn_scene_event){
			.at = v->now,
			.qpn = event_of(&ev),
			.event = (uint16_t)ev.async,
		};
	}
}

void rn_virtual_flush(struct rn_virtual *v)
{
	take_packets(v);
	take_events(v);
	rn_virtual_cm_take_events(&v->cm, v->now);
}

static const struct rn_scene_packet *next_packet(void *ctx)
{
	struct rn_virtual *v = ctx;

	return v->packets == v->packets_taken
		       ? NULL
		       : &v->packet[v->packets_taken % RN_VIRTUAL_QUEUE];
}

static const struct rn_scene_event *next_event(void *ctx)
{
	struct rn_virtual *v = ctx;

	return v->events == v->events_taken
		       ? NULL
		       : &v->event[v->events_taken % RN_VIRTUAL_QUEUE];
}

static const struct rn_scene_wc *next_wc(void *ctx, unsigned queue)
{
	struct rn_virtual *v = ctx;
	uint32_t index = atomic_load(&v->cq[queue].consumer);
	const struct rn_cqe *cqe = &v->ring[queue][index % v->cq[queue].capacity];

	if (index == v->cq[queue].producer)
		return NULL;
	v->wc[queue] = (struct rn_scene_wc){
		.at = v->cqe_at[queue][index % v->cq[queue].capacity],
		.wr_id = cqe->wr_id,
		.qpn = cqe->qpn,
		.byte_len = cqe->byte_len,
		.imm = cqe->imm,
		.src_qpn = cqe->src_qpn,
		.status = (uint8_t)cqe->ctl,
		.opcode = (uint8_t)(cqe->ctl >> 8),
		.flags = (uint16_t)(cqe->ctl >> 16),
	};
	return &v->wc[queue];
}

static void drop_packet(void *ctx)
{
	((struct rn_virtual *)ctx)->packets_taken++;
	rn_virtual_flush(ctx);
}

static void drop_event(void *ctx)
{
	((struct rn_virtual *)ctx)->events_taken++;
	rn_virtual_flush(ctx);
}

static void drop_wc(void *ctx, unsigned queue)
{
	struct rn_virtual *v = ctx;

	atomic_fetch_add(&v->cq[queue].consumer, 1);
}

/* ----------------------------------------------------------------------- time */
static rn_ns now(void *ctx)
{
	return ((struct rn_virtual *)ctx)->now;
}

static bool has_output(struct rn_virtual *v)
{
	return next_packet(v) || next_event(v) || next_wc(v, 0) || next_wc(v, 1) ||
	       v->comps[0] || v->comps[1] || v->cm.events != v->cm.events_taken;
}

/* From timer to timer, so that each thing happens at its own time. */
static void run(void *ctx, rn_ns until)
{
	struct rn_virtual *v = ctx;

	while (v->now < until) {
		rn_ns of_dev = rn_dev_deadline(v->dev), of_cm = rn_cm_deadline(v->cm.cm);
		rn_ns deadline = of_dev < of_cm ? of_dev : of_cm;

		v->now = deadline > until ? until : deadline > v->now ? deadline : v->now;
		if (of_dev <= v->now)
			rn_dev_expire(v->dev, v->now);
		if (of_cm <= v->now)
			rn_cm_expire(v->cm.cm, v->now);
		rn_virtual_flush(v);
		if (has_output(v))
			return;
	}
}

static void inject(void *ctx, const struct rn_scene_packet *p)
{
	struct rn_virtual *v = ctx;
	const struct rn_rx rx = {
		.flow = &p->flow,
		.data = p->bytes,
		.len = p->len,
	};

	if (rn_scene_is_mad(p))
		rn_virtual_cm_receive(&v->cm, v->now, p);
	else
		rn_dev_receive(v->dev, v->now, &rx, 1);
	rn_virtual_flush(v);
}

static void query(void *ctx, unsigned qp, struct rn_qp_attr *attr)
{
	rn_qp_query(((struct rn_virtual *)ctx)->qp[qp], attr);
}

static bool comp(void *ctx, unsigned queue)
{
	struct rn_virtual *v = ctx;

	if (!v->comps[queue])
		return false;
	v->comps[queue]--;
	return true;
}

static bool counter(void *ctx, enum rn_stat stat, uint64_t *value)
{
	*value = ((struct rn_virtual *)ctx)->stats[stat];
	return true;
}

const struct rn_scene_ops rn_virtual_ops = {
	.begin = rn_virtual_begin,
	.end = rn_virtual_end,
	.now = now,
	.run = run,
	.call = rn_virtual_call,
	.inject = inject,
	.packet = next_packet,
	.wc = next_wc,
	.event = next_event,
	.drop_packet = drop_packet,
	.drop_wc = drop_wc,
	.drop_event = drop_event,
	.query = query,
	.comp = comp,
	.memory = read_memory,
	.counter = counter,
	.cm = &rn_virtual_cm_ops,
};
