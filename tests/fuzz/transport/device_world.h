/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device_world.h - one device, its memory and its queue pairs, for a script of bytes. */
#ifndef RN_DEVICE_WORLD_H
#define RN_DEVICE_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "rocin/cqe.h"
#include "rocin/dev_cfg.h"
#include "rocin/icrc.h"
#include "rocin/mr.h"
#include "rocin/opcode.h"
#include "rocin/queue_pair.h"
#include "rocin/srq.h"
#include "rocin/stats.h"
#include "rocin/transport.h"
#include "rocin/wire.h"
#include "sim/vnet/vnet.h"
#include "tests/kit/device/arena.h"

enum {
	QPS = 8,
	MTU = 256,
	REGION_LEN = 2048,
	CQES = 256,
	CQES_FEW = 16, /* soon overflow */
	WRS = 8,
	WIRE_MAX = 64, /* packets under way; more are lost */
	STEPS_MAX = 512,
	NOTES = STEPS_MAX + 1,
	UNTOUCHED = 0x6b,
	QKEY = 0x1ee7,
	QPN0 = 0x100,
	RQ_PSN = 0xfffff0, /* soon wraps */
	XRCD = 3,
	SRQN_BASIC = 1,
	SRQN_XRC = 2,
	MW_KEY = 0x40005a, /* of window i: + 0x100 i */
};

enum srq {
	BASIC,
	XRC, /* may go and come back */
	SRQS
};

enum {
	WINDOWS = 3 /* of type 1, 2, 2 */
};

enum region {
	OPEN,	 /* all rights */
	CLOSED,	 /* local reads only */
	FOREIGN, /* all rights, but another protection domain */
	LOCAL,	 /* receives, and results of READs and atomics */
	REGIONS,
};

/* What became of a work request; its number is its wr_id. */
struct note {
	enum note_state {
		NOTE_NONE,
		NOTE_POSTED,
		NOTE_DONE,
		NOTE_GONE /* with a QP that was reset */
	} state;
	uint8_t queue; /* enum note_queue */
	uint8_t qp;
	bool signaled;
};

enum note_queue {
	QUEUE_SEND,
	QUEUE_RECV,
	QUEUE_SHARED /* an SRQ: the request may complete on any of its QPs */
};

struct world {
	const uint8_t *script, *end;
	struct rn_vnet *net; /* the clock, and the packets */
	struct rn_dev *dev;
	uint64_t stats[RN_STAT_COUNT];
	struct arena arena;
	struct rn_gid gid;
	struct rn_cq cq;
	struct rn_cqe *cqe; /* the ring */
	struct rn_qp *qp[QPS];
	struct rn_gid group; /* that the UD QPs are in */
	struct rn_mcast member[QPS];
	struct rn_srq *srq[SRQS]; /* NULL: gone */
	void *srq_ring[SRQS];
	struct rn_mr window[WINDOWS];
	struct rn_mr mr[REGIONS];
	uint8_t *bytes[REGIONS];
	bool open_removed;
	/* Under way, the oldest first: the script says what becomes of them. */
	struct rn_vnet_packet *wire[WIRE_MAX];
	unsigned wire_head, wire_count;
	uint64_t wr_id; /* of the last request that was accepted */
	struct note note[NOTES];
};

/* Of two alike the second has a shared receive queue. */
static const enum rn_qp_type types[QPS] = { RN_QPT_RC,	     RN_QPT_RC,	     RN_QPT_UC,
					    RN_QPT_UC,	     RN_QPT_UD,	     RN_QPT_UD,
					    RN_QPT_XRC_SEND, RN_QPT_XRC_RECV };

static inline bool is_reliable(unsigned i)
{
	return types[i] != RN_QPT_UC && types[i] != RN_QPT_UD;
}

static inline bool has_srq(unsigned i)
{
	return i % 2 == 1 && types[i] != RN_QPT_XRC_RECV;
}

static inline void require(bool condition)
{
	if (!condition)
		abort();
}

/* ------------------------------------------------------------------- script */
static inline uint8_t take8(struct world *w)
{
	return w->script < w->end ? *w->script++ : 0;
}

static inline uint16_t take16(struct world *w)
{
	uint8_t high = take8(w);

	return (uint16_t)(high << 8 | take8(w));
}

/* Mostly small, sometimes anything. */
static inline uint32_t take_len(struct world *w)
{
	uint8_t shape = take8(w);

	if (shape < 0x80)
		return shape * 16u;
	if (shape < 0xf0)
		return take16(w) % (REGION_LEN + 16);
	return take16(w) * 0x10001u;
}

/* Somewhere in or around a region. */
static inline uint64_t take_addr(struct world *w, enum region region)
{
	return w->mr[region].va + take_len(w) - (take8(w) & 7);
}

static inline enum region take_region(struct world *w)
{
	return (enum region)(take8(w) % REGIONS);
}

/* ------------------------------------------------------------------- set-up */
static inline void add_region(struct world *w, enum region i, uint32_t access)
{
	const struct rn_mr_attr attr = {
		.key = (uint32_t)(i + 1) << RN_KEY_INDEX_SHIFT | 0x5a,
		.pd = i == FOREIGN ? 2 : 1,
		.va = (uintptr_t)w->bytes[i],
		.length = REGION_LEN,
		.iova_base = (uintptr_t)w->bytes[i],
		.access = access,
	};

	require(rn_mr_init(&w->mr[i], &attr) == 0);
	rn_dev_add_mr(w->dev, &w->mr[i]);
}

static inline void add_regions(struct world *w)
{
	static const uint32_t all = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
				    RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC |
				    RN_ACCESS_FLUSH_GLOBAL | RN_ACCESS_MW_BIND;
	static const uint32_t access[REGIONS] = {
		[OPEN] = all,
		[FOREIGN] = all,
		[LOCAL] = RN_ACCESS_LOCAL_WRITE,
	};

	for (unsigned i = 0; i < REGIONS; i++) {
		w->bytes[i] = arena_alloc(&w->arena, REGION_LEN);
		memset(w->bytes[i], UNTOUCHED, REGION_LEN);
		add_region(w, (enum region)i, access[i]);
	}
}

static inline void *alloc(size_t size)
{
	void *mem = aligned_alloc(64, (size + 63) & ~(size_t)63);

	require(mem != NULL);
	memset(mem, UNTOUCHED, size);
	return mem;
}

static inline void add_srq(struct world *w, enum srq i)
{
	const struct rn_srq_init init = {
		.srqn = i == XRC ? SRQN_XRC : SRQN_BASIC,
		.pd = 1,
		.max_wr = WRS,
		.max_sge = 2,
		.xrcd = i == XRC ? XRCD : 0,
		.cq = i == XRC ? &w->cq : NULL,
	};

	w->srq_ring[i] = alloc(rn_srq_ring_size(init.max_wr, init.max_sge));
	w->srq[i] = rn_srq_create(w->dev, alloc(rn_srq_size()), w->srq_ring[i], &init);
}

static inline void remove_srq(struct world *w, enum srq i)
{
	if (!w->srq[i])
		return;
	rn_srq_destroy(w->srq[i]);
	free(w->srq[i]);
	free(w->srq_ring[i]);
	w->srq[i] = NULL;
}

static inline void add_window(struct world *w, unsigned i)
{
	rn_mw_init(&w->window[i], i == 0 ? RN_MR_KIND_MW1 : RN_MR_KIND_MW2,
		   MW_KEY + (i << RN_KEY_INDEX_SHIFT), 1);
	rn_dev_add_mr(w->dev, &w->window[i]);
}

static inline void add_qp(struct world *w, unsigned i)
{
	bool xrc_recv = types[i] == RN_QPT_XRC_RECV,
	     xrc_send = types[i] == RN_QPT_XRC_SEND;
	bool receives = !xrc_recv && !xrc_send && !has_srq(i);
	const struct rn_qp_init init = {
		.type = types[i],
		.qpn = QPN0 + i,
		.pd = 1,
		.send_cq = xrc_recv ? NULL : &w->cq,
		.recv_cq = xrc_recv || xrc_send ? NULL : &w->cq,
		.srq = has_srq(i) ? w->srq[BASIC] : NULL,
		.xrcd = xrc_recv ? XRCD : 0,
		.max_send_wr = xrc_recv ? 0 : WRS,
		.max_recv_wr = receives ? WRS : 0,
		.max_send_sge = xrc_recv ? 0 : 2,
		.max_recv_sge = receives ? 2 : 0,
	};
	size_t size = rn_qp_size(w->dev, &init);

	require(size > 0);
	w->qp[i] = alloc(size);
	rn_qp_create(w->dev, w->qp[i], &init);
}

static inline void add_member(struct world *w)
{
	w->group = (struct rn_gid){ { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1 } };
	for (unsigned i = 0; i < QPS; i++)
		if (types[i] == RN_QPT_UD)
			rn_mcast_attach(w->dev, &w->member[i], w->qp[i], &w->group);
}

static inline struct world *world_new(const uint8_t *data, size_t size)
{
	struct world *w = calloc(1, sizeof(*w));
	struct rn_dev_cfg cfg = {
		.gid_count = 1,
		.mtu_max = MTU,
		.window_start = 2048,
		.window_min = 1024,
		.window_max = 8192,
		.read_window = 4096,
		.read_chunk = 1024,
	};
	static const struct rn_vnet_ops no_ops; /* nothing happens by itself */
	const struct rn_vnet_cfg net = { .hosts = 1,
					 .packets = WIRE_MAX + 1,
					 .ops = &no_ops };
	uint8_t mode;

	require(w != NULL);
	w->net = rn_vnet_new(&net);
	require(w->net != NULL);
	rn_vnet_clear(w->net, 0);
	w->script = data;
	w->end = data + size;
	w->gid = (struct rn_gid){ { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } };
	arena_init(&w->arena, &w->net->now);
	mode = take8(w);
	w->arena.delay = mode & 1 ? 1000 : 0;
	cfg.cc = (enum rn_cc_mode)(mode / 4 % (RN_CC_ON + 1));
	cfg.gid[0] = w->gid;
	cfg.mem = w->arena.delay ? &arena_pending_ops : &arena_direct_ops;
	cfg.mem_ctx = &w->arena;
	cfg.stats = w->stats;
	w->dev = alloc(rn_dev_size());
	require(rn_dev_init(w->dev, &cfg) == 0);
	rn_vnet_add_host(w->net, w->dev, &w->gid);
	w->cqe = arena_alloc(&w->arena, CQES * sizeof(*w->cqe));
	rn_cq_init(&w->cq, (uintptr_t)w->cqe, mode & 2 ? CQES_FEW : CQES, NULL);
	add_regions(w);
	for (unsigned i = 0; i < WINDOWS; i++)
		add_window(w, i);
	add_srq(w, BASIC);
	add_srq(w, XRC);
	for (unsigned i = 0; i < QPS; i++)
		add_qp(w, i);
	add_member(w);
	return w;
}

static inline void world_free(struct world *w)
{
	for (unsigned i = 0; i < QPS; i++) {
		if (types[i] == RN_QPT_UD)
			rn_mcast_detach(w->dev, &w->member[i]);
		rn_qp_destroy(w->dev, w->qp[i]);
		free(w->qp[i]);
	}
	remove_srq(w, BASIC);
	remove_srq(w, XRC);
	for (unsigned i = 0; i < REGIONS; i++)
		if (i != OPEN || !w->open_removed)
			rn_dev_remove_mr(w->dev, &w->mr[i]);
	for (unsigned i = 0; i < WINDOWS; i++)
		rn_dev_remove_mr(w->dev, &w->window[i]);
	rn_cq_fini(w->dev, &w->cq);
	rn_dev_fini(w->dev);
	free(w->dev);
	arena_fini(&w->arena);
	rn_vnet_free(w->net);
	free(w);
}

#endif /* RN_DEVICE_WORLD_H */
