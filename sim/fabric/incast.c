/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* incast.c - several simulated senders that write to one receiver; see incast.h. */
#include "incast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/cqe.h"
#include "rocin/mr.h"
#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "sim/vnet/host.h"
#include "sim/vnet/vnet.h"

enum {
	PACKETS = 8192, /* maximum number of packets in flight at once */
	EVENTS = 64,	/* maximum number of scheduled events that this file handles */
	CQES = 64,
	/* Number of WRITEs of each sender that are posted and have not completed. */
	WRITES = 4,
	LENGTH = 1 << 18,  /* length of a WRITE in bytes */
	BLOCK = 16 * 1024, /* bytes of memory for one QP */
	PD = 1,
	KEY = 0x100,
	DEPTH = 16,  /* maximum number of READs in progress on one QP */
	QPN = 0x110, /* QP number of the first QP */
	PSN = 1000,
	DEVICES = RN_INCAST_SENDERS + 1, /* the last device in use is the receiver */
};

#define MEMORY UINT64_C(0x10000000)
#define RING UINT64_C(0x40000000)

enum event {
	BEGIN = RN_VNET_OWN, /* The sender with number arg begins. */
	SAMPLE,
	STALL,
	WAKE, /* end of the receiver's stall */
};

struct device {
	struct rn_dev *dev;
	uint64_t stats[RN_STAT_COUNT];
	struct rn_mr mr;
	struct rn_cq cq;
	struct rn_cqe ring[CQES];
	struct rn_qp *qp;  /* the QP of a sender */
	struct rn_qp *end; /* the receiver's QP for that sender */
};

struct incast {
	struct rn_incast_cfg cfg;
	struct rn_incast_result *result;
	struct rn_vnet *net; /* the network, in which host i is device i */
	struct rn_random random;
	uint32_t devices;
	struct device device[DEVICES];
	/* Bytes that have arrived from each sender in this sample. */
	uint64_t bytes[RN_INCAST_SENDERS];
	/* Bytes that have arrived from each sender in the last quarter of the run. */
	uint64_t last[RN_INCAST_SENDERS];
	/* Highest number of bytes in the bottleneck's queue in this sample. */
	uint32_t queue;
};

void rn_incast_defaults(struct rn_incast_cfg *cfg, uint32_t senders)
{
	*cfg = (struct rn_incast_cfg){
		.senders = senders,
		.cc = RN_CC_ON,
		.link = { .rate = UINT64_C(10000000000),
			  .delay = RN_USEC(2),
			  .queue = 2000000,
			  .ecn_min = 5000,
			  .ecn_max = 200000,
			  .ecn_ppm = 10000 },
		.apart = RN_MSEC(5),
		.end = RN_MSEC(100),
		.sample = RN_USEC(500),
		.seed = 1,
	};
}

/* ------------------------------------------ memory operations of the devices */
/* Implements rn_mem_ops.write. Only CQEs are stored, because the run does not check
 * data.
 */
static enum rn_mem_result mem_write(void *ctx, rn_iova dst, const void *src, uint32_t len,
				    struct rn_mem_attr attr)
{
	struct device *d = ctx;

	(void)attr;
	if (dst >= RING && dst - RING + len <= sizeof(d->ring))
		memcpy((uint8_t *)d->ring + (dst - RING), src, len);
	return RN_MEM_DONE;
}

static enum rn_mem_result mem_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				   struct rn_mem_attr attr, uint64_t tag)
{
	(void)ctx, (void)src, (void)attr, (void)tag;
	memset(dst, 0, len);
	return RN_MEM_DONE;
}

static const struct rn_mem_ops mem_ops = {
	.always_done = true,
	.write = mem_write,
	.read = mem_read,
	.atomic = rn_vhost_no_atomic,
};

/* ---------------- callbacks of the network about the queue of the bottleneck */
static struct device *receiver(struct incast *x)
{
	return &x->device[x->cfg.senders];
}

static uint32_t receiver_number(const struct incast *x)
{
	return x->cfg.senders;
}

/* Returns the link from the switch to the receiver. */
static const struct rn_link *bottleneck(const struct incast *x)
{
	return &x->net->port[rn_vnet_port_of(x->net, RN_VNET_SWITCH, receiver_number(x))]
			.link;
}

static void look_at_queue(struct incast *x, const struct rn_vnet_port *port)
{
	uint32_t queued = rn_link_queued(bottleneck(x), x->net->now);

	if (&port->link == bottleneck(x) && queued > x->queue)
		x->queue = queued;
}

static void on_queued(void *ctx, const struct rn_vnet_packet *p,
		      const struct rn_vnet_port *port, rn_ns by)
{
	(void)p, (void)by;
	look_at_queue(ctx, port);
}

static void on_loss(void *ctx, const struct rn_vnet_packet *p,
		    const struct rn_vnet_port *port, enum rn_vnet_loss why)
{
	(void)p;
	assert(why == RN_VNET_ON_LINK);
	look_at_queue(ctx, port);
}

/* ----------------------------------- work of the senders and of the receiver */
static uint32_t device_number(const struct incast *x, const struct device *d)
{
	return (uint32_t)(d - x->device);
}

static void post(struct incast *x, struct device *d, struct rn_qp *qp)
{
	bool read = x->cfg.reads && d != receiver(x);
	const struct rn_sge sge = { .addr = MEMORY, .len = LENGTH, .lkey = KEY };
	const struct rn_send_wr wr = { .opcode =
					       read ? RN_WR_RDMA_READ : RN_WR_RDMA_WRITE,
				       .flags = RN_SEND_SIGNALED,
				       .remote_addr = MEMORY,
				       .rkey = KEY,
				       .sg = &sge,
				       .num_sge = 1 };

	/* Fails if the QP is in ERR; rn_incast_result.failed counts such QPs. */
	(void)rn_qp_post_send(d->dev, qp, x->net->now, &wr);
}

static struct rn_qp *qp_of(struct incast *x, struct device *d, uint32_t qpn)
{
	return d == receiver(x) ? x->device[qpn - QPN].end : d->qp;
}

static void take_cqes(struct incast *x, struct device *d)
{
	for (;;) {
		uint32_t index = atomic_load(&d->cq.consumer);
		const struct rn_cqe *cqe = &d->ring[index % CQES];

		if (cqe->ctl >> 32 != index / CQES + 1)
			return;
		atomic_store(&d->cq.consumer, index + 1);
		if ((cqe->ctl & 0xff) == RN_WC_SUCCESS) {
			x->result->completed++;
			post(x, d, qp_of(x, d, cqe->qpn));
		} else {
			x->result->failed++;
		}
	}
}

static void drain(struct incast *x, struct device *d)
{
	uint32_t host = device_number(x, d);
	struct rn_vnet_packet *p;
	struct rn_event ev;
	struct rn_tx tx;

	if (!rn_vnet_is_stalled(x->net, host)) {
		take_cqes(x, d);
		while ((p = rn_vnet_take(x->net, host, RN_TX_ALL, &tx)))
			rn_vnet_go(x->net, p);
		while (rn_dev_event(d->dev, &ev))
			;
	}
	rn_vnet_rearm(x->net, host);
}

static void on_arrival(void *ctx, uint32_t host, struct rn_vnet_packet *p)
{
	struct incast *x = ctx;

	if (host == receiver_number(x)) {
		x->bytes[p->from] += p->len + RN_LINK_FRAMING;
		if (x->net->now >= x->cfg.end / 4 * 3)
			x->last[p->from] += p->len + RN_LINK_FRAMING;
	}
	rn_vnet_receive(x->net, host, p);
	drain(x, &x->device[host]);
}

static void begin(struct incast *x, uint32_t i)
{
	for (unsigned n = 0; n < WRITES; n++) {
		post(x, &x->device[i], x->device[i].qp);
		if (x->cfg.both)
			post(x, receiver(x), x->device[i].end);
	}
	drain(x, &x->device[i]);
	drain(x, receiver(x));
}

static rn_ns between(struct incast *x, rn_ns least, rn_ns most)
{
	return least + (rn_ns)(rn_random_next(&x->random) % (uint64_t)(most - least + 1));
}

static void stall(struct incast *x)
{
	struct rn_vnet_host *host = &x->net->host[receiver_number(x)];

	host->stalled_until =
		x->net->now + between(x, x->cfg.stall_min, x->cfg.stall_max);
	rn_vnet_rearm(x->net, receiver_number(x));
	rn_vnet_put(x->net, host->stalled_until, WAKE, 0);
}

static void wake(struct incast *x)
{
	rn_vnet_put(x->net, x->net->now + between(x, 1, x->cfg.run_max), STALL, 0);
	drain(x, receiver(x));
}

static uint32_t kbps_of(uint64_t bytes, rn_ns span)
{
	return (uint32_t)(bytes * 8000000 / (uint64_t)span);
}

static void sample(struct incast *x)
{
	struct rn_incast_result *r = x->result;

	if (r->samples < RN_INCAST_SAMPLES) {
		struct rn_incast_sample *s = &r->sample[r->samples++];

		for (uint32_t i = 0; i < x->cfg.senders; i++)
			s->kbps[i] = kbps_of(x->bytes[i], x->cfg.sample);
		s->queue = x->queue;
	}
	if (x->queue > r->queue_max)
		r->queue_max = x->queue;
	if (x->net->now > x->cfg.end / 4 * 3 && x->queue > r->queue_last)
		r->queue_last = x->queue;
	memset(x->bytes, 0, sizeof(x->bytes));
	x->queue = 0;
	rn_vnet_put(x->net, x->net->now + x->cfg.sample, SAMPLE, 0);
}

/* ------------------------------------------------------------ scheduled events */
static void happen(void *ctx, uint32_t what, uint32_t arg)
{
	struct incast *x = ctx;

	switch ((enum event)what) {
	case BEGIN:
		begin(x, arg);
		break;
	case SAMPLE:
		sample(x);
		break;
	case STALL:
		stall(x);
		break;
	case WAKE:
		wake(x);
		break;
	}
}

static void on_expire(void *ctx, uint32_t host)
{
	struct incast *x = ctx;

	rn_dev_expire(x->device[host].dev, x->net->now);
	drain(x, &x->device[host]);
}

static const struct rn_vnet_ops network = {
	.arrive = on_arrival,
	.expire = on_expire,
	.happen = happen,
	.queued = on_queued,
	.lost = on_loss,
};

static void run_to_end(struct incast *x)
{
	while (rn_vnet_next(x->net) <= x->cfg.end)
		rn_vnet_step(x->net);
}

/* ----------------------------------------------------- creation of the network */
static void start_device(struct incast *x, uint32_t i, uint32_t its_switch)
{
	const struct rn_gid gid = rn_vnet_gid(i, false);
	struct device *d = &x->device[i];
	const struct rn_link_cfg plain = { .rate = x->cfg.link.rate,
					   .delay = x->cfg.link.delay };
	struct rn_dev_cfg cfg = {
		.gid_count = 1,
		.ifindex = 7,
		.mtu_max = RN_MTU_MAX,
		.window_start = 192 << 10,
		.window_min = 64 << 10,
		.window_max = 1 << 20,
		.read_window = 1 << 20,
		.read_chunk = 1 << 16,
		.cc = x->cfg.cc,
		.cc_line = (uint32_t)(x->cfg.link.rate / 1000),
		.mem = &mem_ops,
		.mem_ctx = d,
		.stats = d->stats,
	};
	const struct rn_mr_attr region = {
		.key = KEY,
		.pd = PD,
		.va = MEMORY,
		.length = LENGTH,
		.iova_base = MEMORY,
		.access = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			  RN_ACCESS_REMOTE_READ,
	};
	int rc;

	cfg.gid[0] = gid;
	rc = rn_dev_init(d->dev, &cfg) || rn_mr_init(&d->mr, &region);
	assert(rc == 0);
	rn_dev_add_mr(d->dev, &d->mr);
	rn_cq_init(&d->cq, RING, CQES, d);
	rn_vnet_add_host(x->net, d->dev, &gid);
	rn_vnet_join(x->net, &(struct rn_vnet_side){ i, 0, &plain, x->cfg.seed + i },
		     &(struct rn_vnet_side){ its_switch, i,
					     i == x->cfg.senders ? &x->cfg.link : &plain,
					     x->cfg.seed + 100 + i });
	rn_vnet_route(x->net, its_switch, i, i, 1);
}

static void bring_up(struct device *d, struct rn_qp *qp, const struct rn_gid *peer,
		     uint32_t dest_qpn)
{
	struct rn_qp_attr attr = {
		.path_mtu = RN_MTU_MAX,
		.rq_psn = PSN,
		.sq_psn = PSN,
		.dest_qpn = dest_qpn,
		.access = RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ,
		.max_rd_atomic = DEPTH,
		.max_dest_rd_atomic = DEPTH,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.av = { .dgid = *peer, .hop_limit = 64 },
	};

	for (unsigned state = RN_QPS_INIT; state <= RN_QPS_RTS; state++) {
		int rc;

		attr.state = (enum rn_qp_state)state;
		rc = rn_qp_modify(d->dev, qp, 0, &attr,
				  rn_qp_required(RN_QPT_RC, attr.state));
		assert(rc == 0);
	}
}

static struct rn_qp *create(struct device *d, uint32_t qpn, void *block)
{
	const struct rn_qp_init init = {
		.type = RN_QPT_RC,
		.qpn = qpn,
		.pd = PD,
		.send_cq = &d->cq,
		.recv_cq = &d->cq,
		.max_send_wr = 2 * WRITES,
		.max_send_sge = 1,
	};

	assert(rn_qp_size(d->dev, &init) <= BLOCK);
	return rn_qp_create(d->dev, block, &init);
}

static void start_incast(struct incast *x, uint8_t *blocks)
{
	uint32_t its_switch;

	rn_vnet_clear(x->net, 0);
	its_switch = rn_vnet_add_switch(x->net);
	for (uint32_t i = 0; i < x->devices; i++)
		start_device(x, i, its_switch);
	for (uint32_t i = 0; i < x->cfg.senders; i++, blocks += 2 * (size_t)BLOCK) {
		struct device *from = &x->device[i], *to = receiver(x);

		/* A QPN consists of a process slot (the low byte) and a number. The
		 * receiver has one slot for each sender, because the QPs of one slot
		 * share a send window.
		 */
		from->qp = create(from, QPN, blocks);
		from->end = create(to, QPN + i, blocks + BLOCK);
		bring_up(from, from->qp, &x->net->host[receiver_number(x)].gid, QPN + i);
		bring_up(to, from->end, &x->net->host[i].gid, QPN);
		rn_vnet_put(x->net, (rn_ns)i * x->cfg.apart, BEGIN, i);
	}
	rn_vnet_put(x->net, x->cfg.sample, SAMPLE, 0);
	x->random = rn_random_of(x->cfg.seed, 's');
	if (x->cfg.stall_max)
		rn_vnet_put(x->net, between(x, 1, x->cfg.run_max), STALL, 0);
}

static void finish(struct incast *x)
{
	for (uint32_t i = 0; i < x->cfg.senders; i++) {
		rn_qp_destroy(x->device[i].dev, x->device[i].qp);
		rn_qp_destroy(receiver(x)->dev, x->device[i].end);
	}
	for (struct device *d = x->device; d < x->device + x->devices; d++) {
		rn_dev_remove_mr(d->dev, &d->mr);
		rn_cq_fini(d->dev, &d->cq);
		rn_dev_fini(d->dev);
	}
}

/* ----------------------------------------------------------- result of the run */
static void sum_up(struct incast *x)
{
	struct rn_incast_result *r = x->result;
	const rn_ns span = x->cfg.end - x->cfg.end / 4 * 3;
	uint64_t sum = 0, squares = 0;

	for (uint32_t i = 0; i < x->cfg.senders; i++) {
		r->share[i] = kbps_of(x->last[i], span);
		sum += r->share[i];
		squares += (uint64_t)r->share[i] * r->share[i];
		r->requests += x->net->port[i].link.packets;
	}
	for (uint32_t i = 0; i < x->devices; i++) {
		r->retransmitted += x->device[i].stats[RN_STAT_RETRANSMITTED];
		r->timeouts += x->device[i].stats[RN_STAT_LOCAL_ACK_TIMEOUT];
	}
	r->responses = x->net->port[receiver_number(x)].link.packets;
	r->fairness = squares ? (uint32_t)((unsigned __int128)sum * sum * 1000000 /
					   x->cfg.senders / squares)
			      : 0;
	r->used = (uint32_t)(sum * 1000000000 / x->cfg.link.rate);
	r->delivered = bottleneck(x)->packets;
	r->dropped = bottleneck(x)->dropped;
	r->marked = bottleneck(x)->marked;
	r->cnps = receiver(x)->stats[RN_STAT_NP_CNP_SENT];
}

static struct rn_vnet *net_new(struct incast *x)
{
	return rn_vnet_new(&(struct rn_vnet_cfg){ .hosts = DEVICES,
						  .switches = 1,
						  .switch_ports = DEVICES,
						  .packets = PACKETS,
						  .events = EVENTS,
						  .ops = &network,
						  .ctx = x });
}

static void release(struct incast *x, uint8_t *at)
{
	if (x)
		rn_vnet_free(x->net);
	free(x);
	free(at);
}

int rn_incast_run(const struct rn_incast_cfg *cfg, struct rn_incast_result *r)
{
	const size_t dev = (rn_dev_size() + 63) & ~(size_t)63;
	struct incast *x = calloc(1, sizeof(*x));
	uint8_t *at =
		aligned_alloc(64, DEVICES * dev + (size_t)2 * RN_INCAST_SENDERS * BLOCK);

	assert(cfg->senders >= 1 && cfg->senders <= RN_INCAST_SENDERS);
	if (x)
		x->net = net_new(x);
	if (!x || !at || !x->net) {
		release(x, at);
		return -ENOMEM;
	}
	*r = (struct rn_incast_result){ .cfg = *cfg };
	x->cfg = *cfg;
	x->result = r;
	x->devices = cfg->senders + 1;
	for (uint32_t i = 0; i < DEVICES; i++)
		x->device[i].dev = (struct rn_dev *)(void *)(at + i * dev);
	start_incast(x, at + DEVICES * dev);
	run_to_end(x);
	sum_up(x);
	finish(x);
	release(x, at);
	return 0;
}
