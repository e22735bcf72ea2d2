/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual.c - a device for scenarios: the transport in virtual time, with its memory,
 * packets, completions and objects, and the calls of its program.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "packet.h"
#include "rocin/cqe.h"
#include "rocin/mr.h"
#include "rocin/queue_pair.h"
#include "rocin/srq.h"
#include "sim/pcie/model/text.h"
#include "sim/vnet/host.h"
#include "sim/vnet/vnet.h"
#include "virtual.h"
#include "virtual_cm.h"

enum {
	/* Number of bytes of memory for regions, from address MEMORY_BASE on. */
	MEMORY_BYTES = 1 << 20,
	CQES = 1024,
	/* maximum number of packets, and of events, that wait until a line takes them */
	QUEUE = 1024,
	WRS = 64, /* default size of each work queue */
	PD = 1,
	KEY = 0x155a,	 /* key of the first region; each further key is 0x100 higher */
	SRQN = 0x51,	 /* number of the first SRQ */
	QPN = 0x11,	 /* number of the first QP */
	PEER_QPN = 0x99, /* destination QPN of all QPs */
};

#define MEMORY_BASE UINT64_C(0x100000)
/* Address of the ring of CQ 0. The ring of CQ i begins i << 20 bytes after it. */
#define RING_BASE UINT64_C(0x10000000)

struct rn_virtual {
	struct rn_dev *dev;
	const struct rn_scenario *s;
	const struct rn_scene_names *names;
	/* A network that has the device as its only host. The scenario sends the packets
	 * of all other hosts.
	 */
	struct rn_vnet *net;
	uint64_t stats[RN_STAT_COUNT];

	uint8_t memory[MEMORY_BYTES];
	struct rn_mr mr[RN_SCN_MRS];
	uint64_t offset[RN_SCN_MRS]; /* offset of each region in @memory */
	uint64_t length[RN_SCN_MRS];
	bool gone[RN_SCN_MRS]; /* the region was deregistered, or was never registered */
	bool unmapped[RN_SCN_MRS];
	unsigned regions; /* number of regions and windows that begin() has handled */

	struct rn_cq cq[2]; /* [0]: CQ of sends, [1]: CQ of receives */
	struct rn_cqe ring[2][CQES];
	rn_ns cqe_at[2][CQES];
	/* The first completion of each CQ that no line has taken, as wc() returns it. */
	struct rn_scene_wc wc[2];

	struct rn_srq *srq[RN_SCN_SRQS];
	void *srq_ring[RN_SCN_SRQS];

	struct rn_qp *qp[RN_SCN_QPS];
	/* Memberships of the QPs in the scenario's group. */
	struct rn_mcast mcast[RN_SCN_QPS];
	struct rn_scene_packet packet[QUEUE];
	unsigned packets, packets_taken;
	struct rn_scene_event event[QUEUE];
	unsigned events, events_taken;
	/* number of completion events of each CQ that wait until a line takes them */
	unsigned comps[2];
	/* the packets of the device are held back (line `hold`) */
	bool held;
	/* number of packets that may leave although they are held back (line `go`) */
	uint64_t let_go;
	struct rn_virtual_cm cm;
};

/* ------------------------------------------------------- memory of the device */
static bool is_unmapped(const struct rn_virtual *v, uint64_t offset)
{
	for (unsigned i = 0; i < v->s->mrs; i++)
		if (v->unmapped[i] && offset - v->offset[i] < v->length[i])
			return true;
	return false;
}

/* Returns the bytes at address @addr. Returns NULL unless all @len bytes are in the
 * memory of the regions, or all in one CQ ring.
 */
static uint8_t *at_address(struct rn_virtual *v, rn_iova addr, uint32_t len)
{
	for (unsigned i = 0; i < 2; i++) {
		uint64_t offset = addr - (RING_BASE + ((uint64_t)i << 20));

		if (offset < sizeof(v->ring[i]) && len <= sizeof(v->ring[i]) - offset)
			return (uint8_t *)v->ring[i] + offset;
	}
	if (addr - MEMORY_BASE < sizeof(v->memory) &&
	    len <= sizeof(v->memory) - (addr - MEMORY_BASE) &&
	    !is_unmapped(v, addr - MEMORY_BASE))
		return v->memory + (addr - MEMORY_BASE);
	return NULL;
}

static void stamp_cqe(struct rn_virtual *v, rn_iova addr)
{
	unsigned i = (unsigned)((addr - RING_BASE) >> 20);

	if (addr >= RING_BASE && i < 2)
		v->cqe_at[i][(addr & 0xfffff) / sizeof(struct rn_cqe)] = v->net->now;
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
	if (rn_mem_atomic_result(req, *orig, &value))
		memcpy(at, &value, sizeof(value));
	return RN_MEM_DONE;
}

static const struct rn_mem_ops memory_ops = {
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

/* ----------------------------------------------------- output of the device */
/* Returns the entry of the queue for the next packet that the device sends. Returns NULL
 * if packets are held back, or if the queue is full.
 */
static struct rn_scene_packet *room(struct rn_virtual *v)
{
	return (v->held && !v->let_go) || v->packets - v->packets_taken >= QUEUE
		       ? NULL
		       : &v->packet[v->packets % QUEUE];
}

static bool take_packet(struct rn_virtual *v, struct rn_scene_packet *p)
{
	struct rn_tx tx;

	p->at = v->net->now;
	p->len = rn_vhost_transmit(v->dev, v->net->now, RN_TX_ALL, p->bytes, &p->flow,
				   &tx);
	return p->len > 0;
}

static void take_packets(struct rn_virtual *v)
{
	struct rn_scene_packet *p;

	while ((p = room(v)) &&
	       (rn_virtual_cm_transmit(&v->cm, v->net->now, p) || take_packet(v, p))) {
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

	while (v->events - v->events_taken < QUEUE && rn_dev_event(v->dev, &ev)) {
		if (ev.completion) {
			v->comps[ev.cq == &v->cq[1]]++;
			continue;
		}
		v->event[v->events++ % QUEUE] = (struct rn_scene_event){
			.at = v->net->now,
			.qpn = event_of(&ev),
			.event = (uint16_t)ev.async,
		};
	}
}

static void flush(struct rn_virtual *v)
{
	take_packets(v);
	take_events(v);
	rn_virtual_cm_take_events(&v->cm, v->net->now);
}

static const struct rn_scene_packet *next_packet(void *ctx)
{
	struct rn_virtual *v = ctx;

	return v->packets == v->packets_taken ? NULL
					      : &v->packet[v->packets_taken % QUEUE];
}

static const struct rn_scene_event *next_event(void *ctx)
{
	struct rn_virtual *v = ctx;

	return v->events == v->events_taken ? NULL : &v->event[v->events_taken % QUEUE];
}

static const struct rn_scene_cm_event *next_cm_event(void *ctx)
{
	const struct rn_virtual_cm *cm = &((struct rn_virtual *)ctx)->cm;

	return cm->events == cm->events_taken
		       ? NULL
		       : &cm->event[cm->events_taken % RN_VIRTUAL_CM_EVENTS];
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
	flush(ctx);
}

static void drop_event(void *ctx)
{
	((struct rn_virtual *)ctx)->events_taken++;
	flush(ctx);
}

static void drop_wc(void *ctx, unsigned queue)
{
	struct rn_virtual *v = ctx;

	atomic_fetch_add(&v->cq[queue].consumer, 1);
}

/* --------------------------------------------------------- regions and windows */
static int make_region(struct rn_virtual *v, unsigned i, uint64_t used)
{
	const struct rn_scn_line *l = &v->s->mr[i].line;
	const struct rn_mr_attr attr = {
		.key = KEY + (i << RN_KEY_INDEX_SHIFT),
		.pd = (uint32_t)rn_scn_get(l, RN_F_PD, PD),
		.va = rn_scn_get(l, RN_F_VA, MEMORY_BASE + used),
		.length = rn_scn_get(l, RN_F_LEN, 4096),
		.iova_base = MEMORY_BASE + used,
		.access = (uint32_t)rn_scn_get(l, RN_F_ACCESS, 0),
	};

	if (attr.length > sizeof(v->memory) - used)
		return -ENOMEM;
	v->offset[i] = used;
	v->length[i] = attr.length;
	for (uint64_t k = 0; k < attr.length; k++)
		v->memory[used + k] = rn_scene_fill(i, k);
	return rn_mr_init(&v->mr[i], &attr);
}

static int make_window(struct rn_virtual *v, unsigned i)
{
	const struct rn_scn_line *l = &v->s->mr[i].line;
	uint64_t type = rn_scn_get(l, RN_F_TYPE, 2);

	if (type != 1 && type != 2)
		return -EINVAL;
	rn_mw_init(&v->mr[i], type == 1 ? RN_MR_KIND_MW1 : RN_MR_KIND_MW2,
		   KEY + (i << RN_KEY_INDEX_SHIFT), (uint32_t)rn_scn_get(l, RN_F_PD, PD));
	return 0;
}

static int add_region(struct rn_virtual *v, unsigned i, uint64_t *used,
		      struct rn_scene_names *n)
{
	const struct rn_scn_line *l = &v->s->mr[i].line;
	int rc = l->verb == RN_SCN_MW ? make_window(v, i) : make_region(v, i, *used);

	if (-rc != (int)rn_scn_get(l, RN_F_ERROR, 0))
		return rc ? rc : -EPROTO;
	v->gone[i] = true;
	if (rc)
		return 0;
	*used += (v->length[i] + 4095) & ~UINT64_C(4095);
	rn_dev_add_mr(v->dev, &v->mr[i]);
	v->gone[i] = false;
	n->rkey[i] = n->lkey[i] = v->mr[i].lkey;
	n->va[i] = v->mr[i].va;
	return 0;
}

static void remove_region(struct rn_virtual *v, unsigned i)
{
	if (!v->gone[i])
		rn_dev_remove_mr(v->dev, &v->mr[i]);
	v->gone[i] = true;
}

/* ------------------------------------------------------- shared receive queues */
static int add_srq(struct rn_virtual *v, unsigned i, struct rn_scene_names *n)
{
	const struct rn_scn_line *l = &v->s->srq[i].line;
	const struct rn_srq_init init = {
		.srqn = SRQN + i,
		.pd = (uint32_t)rn_scn_get(l, RN_F_PD, PD),
		.max_wr = (uint32_t)rn_scn_get(l, RN_F_RQ, WRS),
		.max_sge = 4,
		.xrcd = (uint32_t)rn_scn_get(l, RN_F_XRCD, 0),
		.cq = rn_scn_get(l, RN_F_XRCD, 0) ? &v->cq[1] : NULL,
		.owner = &n->srqn[i],
	};
	size_t size = rn_srq_ring_size(init.max_wr, init.max_sge);
	void *ring = size ? malloc(size) : NULL;
	void *block = ring ? malloc(rn_srq_size()) : NULL;

	if (!block) {
		free(ring);
		return size ? -ENOMEM : -EINVAL;
	}
	v->srq_ring[i] = ring;
	v->srq[i] = rn_srq_create(v->dev, block, ring, &init);
	n->srqn[i] = init.srqn;
	return 0;
}

/* ------------------------------------------- groups and objects of the device */
static int join_group(struct rn_virtual *v, unsigned qp, bool join)
{
	struct rn_mcast *m = rn_mcast_find(v->dev, v->qp[qp], &v->names->group);

	if (v->s->qp[qp].type != RN_QPT_UD || join == (m != NULL))
		return -EINVAL;
	if (join)
		rn_mcast_attach(v->dev, &v->mcast[qp], v->qp[qp], &v->names->group);
	else
		rn_mcast_detach(v->dev, m);
	return 0;
}

static void remove_objects(struct rn_virtual *v)
{
	for (unsigned i = 0; i < RN_SCN_SRQS; i++) {
		if (!v->srq[i])
			continue;
		rn_srq_destroy(v->srq[i]);
		free(v->srq[i]);
		free(v->srq_ring[i]);
		v->srq[i] = NULL;
	}
	/* This call removes windows, too. The removal of a region also removes the
	 * windows that are bound to it.
	 */
	for (unsigned i = 0; i < v->regions; i++)
		remove_region(v, i);
}

static int refuse(char *err, size_t err_len, const char *what, int rc)
{
	struct rn_text t;

	rn_text_init(&t, err, err_len);
	rn_text_add(&t, "the device cannot be prepared: ");
	rn_text_add(&t, what);
	return rc;
}

static struct rn_gid gid_of(const struct rn_scenario *s, uint8_t last)
{
	if (s->ipv6) /* an address with the prefix 2001:db8:: */
		return (struct rn_gid){ { 0x20, 0x01, 0x0d, 0xb8, [15] = last } };
	return (struct rn_gid){
		{ [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = last }
	};
}

static struct rn_gid group_gid(const struct rn_scenario *s)
{
	if (s->ipv6) /* the multicast group ff0e::101 */
		return (struct rn_gid){ { 0xff, 0x0e, [14] = 1, [15] = 1 } };
	return (struct rn_gid){
		{ [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 2, [15] = 3 }
	};
}

static int init_device(struct rn_virtual *v, struct rn_scene_names *n)
{
	const struct rn_dev_cfg cfg = {
		.gid = { n->device },
		.gid_count = 1,
		.ifindex = n->ifindex,
		.mtu_max = RN_MTU_MAX,
		.icrc_exact = v->s->exact,
		.credits = v->s->credits,
		.window_start = 1 << 20,
		.window_min = 1 << 14,
		.window_max = 1 << 20,
		.read_window = 1 << 20,
		.read_chunk = 1 << 16,
		.cc = v->s->cc ? RN_CC_ON : RN_CC_OFF,
		.mem = &memory_ops,
		.mem_ctx = v,
		.stats = v->stats,
	};

	return rn_dev_init(v->dev, &cfg);
}

/* ---------------------------------------------------------------- queue pairs */
static int modify_qp(void *ctx, unsigned qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	struct rn_virtual *v = ctx;

	return rn_qp_modify(v->dev, v->qp[qp], v->net->now, attr, mask);
}

static uint32_t depth(const struct rn_scn_object *o, enum rn_scn_field f)
{
	return (uint32_t)rn_scn_get(&o->line, f, WRS);
}

/* Returns the SRQ with index @i. Returns NULL if there is none, or if a queue pair cannot
 * be created with it because it belongs to an XRC domain.
 */
static struct rn_srq *basic_srq(const struct rn_virtual *v, uint8_t i)
{
	return i < v->s->srqs && !rn_scn_get(&v->s->srq[i].line, RN_F_XRCD, 0) ? v->srq[i]
									       : NULL;
}

static int add_qp(struct rn_virtual *v, unsigned i, struct rn_scene_names *n)
{
	const struct rn_scn_object *o = &v->s->qp[i];
	bool shares = rn_scn_has(&o->line, RN_F_SRQ);
	struct rn_srq *srq = shares ? basic_srq(v, o->line.region[RN_F_SRQ]) : NULL;
	bool sends = o->type != RN_QPT_XRC_RECV;
	bool xrc = o->type == RN_QPT_XRC_RECV || o->type == RN_QPT_XRC_SEND;
	bool receives = !xrc && !srq;
	const struct rn_qp_init init = {
		.type = o->type,
		.qpn = QPN + i,
		.pd = (uint32_t)rn_scn_get(&o->line, RN_F_PD, PD),
		.send_cq = sends ? &v->cq[0] : NULL,
		.recv_cq = xrc ? NULL : &v->cq[1],
		.srq = srq,
		.xrcd = (uint32_t)rn_scn_get(&o->line, RN_F_XRCD, 0),
		.max_send_wr = sends ? depth(o, RN_F_SQ) : 0,
		.max_recv_wr = receives ? depth(o, RN_F_RQ) : 0,
		.max_send_sge = sends ? 4 : 0,
		.max_recv_sge = receives ? 4 : 0,
		.max_inline = sends ? 128 : 0,
	};
	size_t size = rn_qp_size(v->dev, &init);
	void *block = size ? aligned_alloc(64, (size + 63) & ~(size_t)63) : NULL;

	if (!block)
		return size ? -ENOMEM : -EINVAL;
	if (shares && !srq) {
		free(block);
		return -EINVAL;
	}
	v->qp[i] = rn_qp_create(v->dev, block, &init);
	n->qpn[i] = init.qpn;
	return rn_scene_bring_up(o->type, rn_scene_attr(v->names, &o->line), i, modify_qp,
				 v);
}

/* ---------------------------------------------- beginning and end of a scenario */
/* Returns the number of CQEs of each of the two completion queues. It is the lowest
 * number that a declaration of a queue pair gives, rounded up to a power of two.
 */
static uint32_t cqes(const struct rn_scenario *s)
{
	uint64_t count = CQES;
	uint32_t power = 1;

	for (unsigned i = 0; i < s->qps; i++) {
		uint64_t wanted = rn_scn_get(&s->qp[i].line, RN_F_CQE, count);

		count = wanted < count ? wanted : count;
	}
	while (power < count)
		power *= 2;
	return power;
}

static void end_scenario(void *ctx)
{
	struct rn_virtual *v = ctx;

	for (unsigned i = 0; i < RN_SCN_QPS; i++) {
		if (!v->qp[i])
			continue;
		join_group(v, i, false);
		rn_qp_destroy(v->dev, v->qp[i]);
		free(v->qp[i]);
		v->qp[i] = NULL;
	}
	remove_objects(v);
	for (unsigned i = 0; i < 2; i++)
		rn_cq_fini(v->dev, &v->cq[i]);
	rn_dev_fini(v->dev);
	rn_virtual_cm_fini(&v->cm);
}

static int begin_scenario(void *ctx, const struct rn_scenario *s,
			  struct rn_scene_names *n, char *err, size_t err_len)
{
	struct rn_virtual *v = ctx;
	struct rn_dev *dev = v->dev;
	struct rn_vnet *net = v->net;
	uint64_t used = 0;
	int rc;

	memset(v, 0, sizeof(*v));
	*n = (struct rn_scene_names){
		.device = gid_of(s, 1),
		.peer = gid_of(s, 2),
		.other = gid_of(s, 3),
		.group = group_gid(s),
		.ifindex = 7,
		.peer_qpn = PEER_QPN,
	};
	v->dev = dev;
	v->net = net;
	v->s = s;
	v->names = n;
	rn_vnet_clear(v->net, RN_MSEC(1));
	rn_vnet_add_host(v->net, v->dev, &n->device);
	rc = init_device(v, n);
	if (!rc)
		rc = rn_virtual_cm_init(&v->cm, s, n);
	if (rc)
		return refuse(err, err_len, "its settings", rc);
	for (unsigned i = 0; i < 2; i++)
		rn_cq_init(&v->cq[i], RING_BASE + ((uint64_t)i << 20), cqes(s), NULL);
	for (unsigned i = 0; i < s->mrs && !rc; i++) {
		rc = add_region(v, i, &used, n);
		v->regions += !rc;
	}
	for (unsigned i = 0; i < s->srqs && !rc; i++)
		rc = add_srq(v, i, n);
	for (unsigned i = 0; i < s->qps && !rc; i++)
		rc = add_qp(v, i, n);
	if (rc) {
		end_scenario(v);
		return refuse(err, err_len, "a region or queue", rc);
	}
	return 0;
}

/* ------------------------------------------------------- calls of the program */
/* Called for the SGE of inline data: replaces its address by a pointer to the bytes.
 * Returns false if they are not in the memory of the scenario.
 */
static bool point_at(const struct rn_virtual *v, struct rn_sge *sge)
{
	uint64_t offset = sge->addr - MEMORY_BASE;

	if (offset > sizeof(v->memory) || sge->len > sizeof(v->memory) - offset)
		return false;
	sge->addr = (uintptr_t)(v->memory + offset);
	return true;
}

static int post(struct rn_virtual *v, const struct rn_scn_line *l)
{
	struct rn_scene_send send;

	rn_scene_send_wr(v->s, v->names, l, &send);
	if (send.wr.flags & RN_SEND_INLINE && !point_at(v, &send.sge))
		return -EFAULT;
	return rn_qp_post_send(v->dev, v->qp[l->subject], v->net->now, &send.wr);
}

static int post_recv(struct rn_virtual *v, const struct rn_scn_line *l)
{
	struct rn_sge sge = rn_scene_recv_sge(v->names, l);
	const struct rn_recv_wr wr = {
		.wr_id = rn_scn_get(l, RN_F_WR, 0),
		.sg = &sge,
		.num_sge = sge.len ? 1 : 0,
	};

	if (l->of_srq)
		return rn_srq_post_recv(v->srq[l->subject], &wr);
	return rn_qp_post_recv(v->dev, v->qp[l->subject], v->net->now, &wr);
}

static int modify(struct rn_virtual *v, const struct rn_scn_line *l)
{
	struct rn_qp_attr attr = rn_scene_attr(v->names, l);

	return modify_qp(v, l->subject, &attr, rn_scene_attr_mask(l));
}

static int revive(struct rn_virtual *v, const struct rn_scn_line *l)
{
	const struct rn_scn_object *o = &v->s->qp[l->subject];
	struct rn_scn_line line = rn_scene_revived(o, l);

	return rn_scene_bring_up(o->type, rn_scene_attr(v->names, &line), l->subject,
				 modify_qp, v);
}

/* Executes a line `hold', which holds back all packets of the device, or a line `go',
 * which lets them leave again: all of them, or as many as the field `by' says.
 */
static void hold_or_go(struct rn_virtual *v, const struct rn_scn_line *l)
{
	v->let_go = l->verb == RN_SCN_GO ? rn_scn_get(l, RN_F_BY, 0) : 0;
	v->held = l->verb == RN_SCN_HOLD || v->let_go;
}

static int call(void *ctx, const struct rn_scn_line *l)
{
	struct rn_virtual *v = ctx;
	int rc = 0;

	if (rn_scn_is_cm_call(l->verb))
		rc = rn_virtual_cm_call(&v->cm, v->net->now, l);
	else if (l->verb == RN_SCN_POST)
		rc = post(v, l);
	else if (l->verb == RN_SCN_RECV)
		rc = post_recv(v, l);
	else if (l->verb == RN_SCN_MODIFY)
		rc = modify(v, l);
	else if (l->verb == RN_SCN_REVIVE)
		rc = revive(v, l);
	else if (l->verb == RN_SCN_ARM)
		rn_cq_arm(&v->cq[l->subject],
			  (enum rn_cq_arm)rn_scn_get(l, RN_F_ARM, RN_CQ_ARM_NEXT));
	else if (l->verb == RN_SCN_LIMIT)
		rc = rn_srq_set_limit(v->srq[l->subject],
				      (uint32_t)rn_scn_get(l, RN_F_BELOW, 0));
	else if (l->verb == RN_SCN_UNMAP)
		v->unmapped[l->subject] = true;
	else if (l->verb == RN_SCN_HOLD || l->verb == RN_SCN_GO)
		hold_or_go(v, l);
	else if (l->verb == RN_SCN_JOIN || l->verb == RN_SCN_LEAVE)
		rc = join_group(v, l->subject, l->verb == RN_SCN_JOIN);
	else
		remove_region(v, l->subject);
	flush(v);
	return rc;
}

/* ------------------------------------ virtual time, and queries of the runner */
static rn_ns now(void *ctx)
{
	return ((struct rn_virtual *)ctx)->net->now;
}

static bool has_output(struct rn_virtual *v)
{
	return next_packet(v) || next_event(v) || next_wc(v, 0) || next_wc(v, 1) ||
	       v->comps[0] || v->comps[1] || next_cm_event(v);
}

/* Returns the deadline of the host, which consists of the device and its connection
 * manager: the earlier one of their deadlines.
 */
static rn_ns deadline(void *ctx, uint32_t host)
{
	const struct rn_virtual *v = ctx;
	rn_ns of_dev = rn_dev_deadline(v->dev), of_cm = rn_cm_deadline(v->cm.cm);

	(void)host;
	return of_dev < of_cm ? of_dev : of_cm;
}

static void expire(void *ctx, uint32_t host)
{
	struct rn_virtual *v = ctx;

	(void)host;
	if (rn_dev_deadline(v->dev) <= v->net->now)
		rn_dev_expire(v->dev, v->net->now);
	if (rn_cm_deadline(v->cm.cm) <= v->net->now)
		rn_cm_expire(v->cm.cm, v->net->now);
}

/* Lets time pass until @until. Stops at each deadline of a timer, so that the timer
 * expires at its own time.
 */
static void run(void *ctx, rn_ns until)
{
	struct rn_virtual *v = ctx;

	while (v->net->now < until) {
		rn_vnet_rearm(v->net, 0);
		if (rn_vnet_next(v->net) <= until)
			rn_vnet_step(v->net);
		else
			v->net->now = until;
		flush(v);
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
		rn_virtual_cm_receive(&v->cm, v->net->now, p);
	else
		rn_dev_receive(v->dev, v->net->now, &rx, 1);
	flush(v);
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

/* -------------------------------------------------- connections of the device */
static void take_cm_event(void *ctx, unsigned conn)
{
	rn_virtual_cm_take_event(&((struct rn_virtual *)ctx)->cm, conn);
}

static const struct rn_cm_info *cm_info(void *ctx, unsigned conn)
{
	struct rn_cm_conn *c = ((struct rn_virtual *)ctx)->cm.conn[conn];

	return c ? rn_cm_conn_info(c) : NULL;
}

static bool cm_counter(void *ctx, enum rn_cm_stat stat, uint64_t *value)
{
	*value = ((struct rn_virtual *)ctx)->cm.stats[stat];
	return true;
}

static const struct rn_scene_cm_ops cm_ops = {
	.event = next_cm_event,
	.take_event = take_cm_event,
	.info = cm_info,
	.counter = cm_counter,
};

const struct rn_scene_ops rn_virtual_ops = {
	.begin = begin_scenario,
	.end = end_scenario,
	.now = now,
	.run = run,
	.call = call,
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
	.cm = &cm_ops,
};

struct rn_virtual *rn_virtual_new(void)
{
	static const struct rn_vnet_ops ops = { .expire = expire, .deadline = deadline };
	struct rn_virtual *v = calloc(1, sizeof(*v));
	const struct rn_vnet_cfg cfg = {
		.hosts = 1, .packets = 1, .events = 1, .ops = &ops, .ctx = v
	};

	if (!v)
		return NULL;
	v->dev = aligned_alloc(64, (rn_dev_size() + 63) & ~(size_t)63);
	v->net = rn_vnet_new(&cfg);
	if (!v->dev || !v->net) {
		rn_virtual_free(v);
		return NULL;
	}
	return v;
}

void rn_virtual_free(struct rn_virtual *v)
{
	if (!v)
		return;
	rn_vnet_free(v->net);
	free(v->dev);
	free(v);
}
