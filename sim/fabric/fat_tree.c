/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fat_tree.c - hundreds of hosts that exchange data over a simulated fat tree;
 * see fat_tree.h.
 */
#include "fat_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/cqe.h"
#include "rocin/hash.h"
#include "rocin/mr.h"
#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "sim/vnet/host.h"

enum {
	/* Maximum number of requests of a flow that are posted and have not completed. */
	OUTSTANDING = 4,
	/* Maximum number of receives of a flow that are posted and have not been used. */
	RECEIVES = 8,
	LENGTHS = 5, /* number of message lengths: 4 KiB, 8 KiB ... 64 KiB */
	LENGTH_LEAST = 4096,
	FAN_IN = 8, /* maximum number of senders to one host */
	/* Time in ns within which the flows start. */
	START_WITHIN = 20000,
	FLAP_WITHIN = 2000000,
	FLAP_LEAST = 10000,
	FLAP_MORE = 500000,
	/* Maximum number of packets in flight that one host has sent besides the data of
	 * its flow, for example ACKs and CNPs.
	 */
	ANSWERS = 16,
	PD = 1,
	KEY = 0x100,
	SLOT = 0x10, /* low byte of all QP numbers */
	DEPTH = 4,   /* maximum number of READs in progress on one QP */
	PSN = 1000,
	TIMEOUT = 14,
	/* number of events between two calls of rn_fat_tree_cfg.progress */
	PROGRESS = 1 << 16,
	/* With PFC: number of bytes from one link that may wait in a switch before the
	 * switch pauses the link.
	 */
	PAUSE_ABOVE = 100000,
};

#define SECOND RN_MSEC(1000)
#define RATE UINT64_C(10000000000) /* rate of every link, in bit/s */
#define RING (UINT64_C(1) << 60)   /* address of the completion queue */
/* Number of low bits of an address that are the offset in the data of one flow. */
#define DATA_BITS 40

/* A flow of messages from a source to a sink. For WRITE and SEND the requester is the
 * source, for READ the sink.
 */
struct flow {
	uint32_t source, sink; /* numbers of the two hosts */
	enum rn_wr_opcode op;
	uint32_t length, messages;
	uint64_t pattern;
	/* Number of requests posted, and of requests completed. */
	uint32_t posted, completed;
	/* Number of receives posted, and of receives completed. */
	uint32_t receives, received;
	uint64_t written; /* number of bytes written at the receiver (the sink) */
	uint64_t losses;  /* number of packets lost in either direction */
	struct rn_qp *asks, *answers;
	struct rn_stats_qp stats; /* statistics of the requester's QP */
};

struct host {
	struct tree *tree;
	struct rn_dev *dev;
	uint64_t stats[RN_STAT_COUNT];
	struct rn_mr mr;
	struct rn_cq cq;
	struct rn_cqe *ring;
	uint32_t outstanding; /* maximum number of CQEs that may wait in the host's CQ */
};

struct tree {
	const struct rn_fat_tree_cfg *cfg;
	struct rn_fat_tree_result *r;
	struct rn_vnet *net; /* the network, in which host i is host i of the run */
	struct rn_random random;
	struct host *host;
	uint32_t flows;
	struct flow *flow;
	uint8_t *devices, *queue_pairs;
	struct rn_cqe *rings;
	uint64_t bytes; /* size of the arrays above, in bytes */
};

/* ---- Failures of the run, and lookup of flows ---- */
static void fail(struct tree *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void fail(struct tree *t, const char *fmt, ...)
{
	va_list ap;

	if (t->r->failed)
		return;
	t->r->failed = true;
	t->r->at = t->net->now;
	va_start(ap, fmt);
	vsnprintf(t->r->why, sizeof(t->r->why), fmt, ap);
	va_end(ap);
}

static void add_to_hash(struct tree *t, uint64_t a, uint64_t b)
{
	uint64_t h = rn_random_mix(t->r->hash ^ (uint64_t)t->net->now);

	t->r->hash = rn_random_mix(rn_random_mix(h ^ a) ^ b);
}

static uint32_t flow_number(const struct tree *t, const struct flow *f)
{
	return (uint32_t)(f - t->flow);
}

static struct flow *flow_of(const struct tree *t, uint32_t qpn)
{
	uint32_t number = (qpn >> 8) - 1;

	return number < t->flows && (qpn & 0xff) == SLOT ? &t->flow[number] : NULL;
}

static uint32_t qpn_of(const struct tree *t, const struct flow *f)
{
	return (flow_number(t, f) + 1) << 8 | SLOT;
}

static uint32_t asks(const struct flow *f)
{
	return f->op == RN_WR_RDMA_READ ? f->sink : f->source;
}

static uint32_t answers(const struct flow *f)
{
	return f->op == RN_WR_RDMA_READ ? f->source : f->sink;
}

/* -------------------- memory of the hosts, and checks of the data written to it */
static rn_iova address_of(const struct tree *t, const struct flow *f, uint32_t message)
{
	return (uint64_t)(flow_number(t, f) + 1) << DATA_BITS |
	       (uint64_t)message * f->length;
}

static uint64_t word_of(const struct flow *f, uint64_t offset)
{
	return rn_hash_word(f->pattern + offset);
}

/* Returns the flow to whose data the address @addr belongs; sets *@offset to the offset
 * in that data.
 */
static struct flow *data_at(const struct tree *t, rn_iova addr, uint64_t *offset)
{
	uint64_t number = (addr >> DATA_BITS) - 1;

	*offset = addr & ((UINT64_C(1) << DATA_BITS) - 1);
	return number < t->flows ? &t->flow[number] : NULL;
}

static bool holds(const struct flow *f, uint64_t offset, const uint8_t *bytes,
		  uint32_t len)
{
	uint64_t word;

	for (uint32_t i = 0; i < len; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		if (word != word_of(f, offset + i))
			return false;
	}
	return true;
}

/* Returns the number of bytes of the flow that may have been written at the sink by now:
 * the bytes of all posted requests. For SEND, a message counts only if a receive is
 * posted for it, too.
 */
static uint64_t opened(const struct flow *f)
{
	uint32_t messages = f->posted;

	if (f->op == RN_WR_SEND && f->receives < messages)
		messages = f->receives;
	return (uint64_t)messages * f->length;
}

static void check_placement(const struct host *h, struct flow *f, uint64_t offset,
			    const uint8_t *bytes, uint32_t len, uint32_t qpn)
{
	struct tree *t = h->tree;

	if (h != &t->host[f->sink] || qpn != qpn_of(t, f))
		fail(t, "flow %u is written by another one", flow_number(t, f));
	else if (offset != f->written)
		fail(t, "flow %u: byte %llu is written when %llu is next",
		     flow_number(t, f), (unsigned long long)offset,
		     (unsigned long long)f->written);
	else if (offset + len > opened(f))
		fail(t, "flow %u: byte %llu is written before it is asked for",
		     flow_number(t, f), (unsigned long long)(offset + len - 1));
	else if (len % 8 || !holds(f, offset, bytes, len))
		fail(t, "flow %u: wrong bytes at %llu", flow_number(t, f),
		     (unsigned long long)offset);
	f->written += len;
	t->r->bytes += len;
}

static enum rn_mem_result mem_write(void *ctx, rn_iova dst, const void *src, uint32_t len,
				    struct rn_mem_attr attr)
{
	struct host *h = ctx;
	struct flow *f;
	uint64_t offset;

	if (dst >= RING) {
		assert(dst - RING + len <= h->cq.capacity * sizeof(*h->ring));
		memcpy((uint8_t *)h->ring + (dst - RING), src, len);
		return RN_MEM_DONE;
	}
	f = data_at(h->tree, dst, &offset);
	if (!f)
		return RN_MEM_FAULT;
	check_placement(h, f, offset, src, len, attr.qpn);
	return RN_MEM_DONE;
}

static enum rn_mem_result mem_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				   struct rn_mem_attr attr, uint64_t tag)
{
	struct host *h = ctx;
	struct tree *t = h->tree;
	uint8_t *to = dst;
	uint64_t offset;
	struct flow *f = data_at(t, src, &offset);

	(void)tag;
	if (!f)
		return RN_MEM_FAULT;
	if (h != &t->host[f->source] || attr.qpn != qpn_of(t, f))
		fail(t, "flow %u is read by another one", flow_number(t, f));
	else if (len % 8 || offset + len > (uint64_t)f->posted * f->length)
		fail(t, "flow %u: byte %llu is read before it is asked for",
		     flow_number(t, f), (unsigned long long)(offset + len - 1));
	for (uint32_t i = 0; i + 8 <= len; i += 8) {
		uint64_t word = word_of(f, offset + i);

		memcpy(to + i, &word, sizeof(word));
	}
	return RN_MEM_DONE;
}

static const struct rn_mem_ops memory = {
	.always_done = true,
	.write = mem_write,
	.read = mem_read,
	.atomic = rn_vhost_no_atomic,
};

/* ------------------------------------ posting requests and checking completions */
static void post_requests(struct tree *t, struct flow *f)
{
	struct rn_dev *dev = t->host[asks(f)].dev;

	while (f->posted < f->messages && f->posted - f->completed < OUTSTANDING) {
		const struct rn_sge sge = { .addr = address_of(t, f, f->posted),
					    .len = f->length,
					    .lkey = KEY };
		const struct rn_send_wr wr = { .wr_id = f->posted++,
					       .opcode = f->op,
					       .flags = RN_SEND_SIGNALED,
					       .remote_addr = sge.addr,
					       .rkey = KEY,
					       .sg = &sge,
					       .num_sge = 1 };

		if (rn_qp_post_send(dev, f->asks, t->net->now, &wr))
			fail(t, "flow %u: a request is refused", flow_number(t, f));
	}
}

static void post_receives(struct tree *t, struct flow *f)
{
	struct rn_dev *dev = t->host[f->sink].dev;

	while (f->op == RN_WR_SEND && f->receives < f->messages &&
	       f->receives - f->received < RECEIVES) {
		const struct rn_sge sge = { .addr = address_of(t, f, f->receives),
					    .len = f->length,
					    .lkey = KEY };
		const struct rn_recv_wr wr = { .wr_id = f->receives++,
					       .sg = &sge,
					       .num_sge = 1 };

		if (rn_qp_post_recv(dev, f->answers, t->net->now, &wr))
			fail(t, "flow %u: a receive is refused", flow_number(t, f));
	}
}

/* Checks a completion at one end of the flow. @count is the number of messages that have
 * completed at that end before.
 */
static void check_completion(struct tree *t, struct flow *f, const struct rn_cqe *cqe,
			     uint32_t count)
{
	if ((cqe->ctl & 0xff) != RN_WC_SUCCESS)
		fail(t, "flow %u: message %llu completes with status %u",
		     flow_number(t, f), (unsigned long long)cqe->wr_id,
		     (unsigned)(cqe->ctl & 0xff));
	else if (cqe->wr_id != count)
		fail(t, "flow %u: message %llu completes when %u is next",
		     flow_number(t, f), (unsigned long long)cqe->wr_id, count);
	else if (f->written < (uint64_t)(count + 1) * f->length)
		fail(t, "flow %u: message %u completes before it is there",
		     flow_number(t, f), count);
}

static void complete(struct tree *t, const struct host *h, const struct rn_cqe *cqe)
{
	struct flow *f = flow_of(t, cqe->qpn);

	add_to_hash(t, (uint64_t)(h - t->host) << 32 | cqe->qpn, cqe->wr_id);
	if (!f) {
		fail(t, "a completion of QP %x, which nobody has", cqe->qpn);
		return;
	}
	if (h == &t->host[asks(f)]) {
		check_completion(t, f, cqe, f->completed++);
		t->r->completed++;
		t->r->done = t->net->now;
		post_requests(t, f);
		return;
	}
	check_completion(t, f, cqe, f->received++);
	if (cqe->byte_len != f->length)
		fail(t, "flow %u: a receive of %u bytes", flow_number(t, f),
		     cqe->byte_len);
	post_receives(t, f);
}

static void take_completions(struct tree *t, struct host *h)
{
	while (!t->r->failed) {
		uint32_t index = atomic_load(&h->cq.consumer);
		const struct rn_cqe cqe = h->ring[index % h->cq.capacity];

		if (cqe.ctl >> 32 != index / h->cq.capacity + 1)
			return;
		atomic_store(&h->cq.consumer, index + 1);
		complete(t, h, &cqe);
	}
}

/* Called after each event that may have caused a completion, a packet or an event on
 * @host: takes its completions, sends its packets and checks its events.
 */
static void drain(struct tree *t, uint32_t host)
{
	struct host *h = &t->host[host];
	struct rn_vnet_packet *p;
	struct rn_event ev;
	struct rn_tx tx;

	take_completions(t, h);
	while ((p = rn_vnet_take(t->net, host, RN_TX_ALL, &tx))) {
		add_to_hash(t, (uint64_t)host << 32 | p->len,
			    rn_get_be32(p->bytes + p->len - RN_ICRC_LEN));
		if (p->to == RN_VNET_NOBODY) {
			fail(t, "host %u sends to an address that nobody has", host);
			rn_vnet_drop(t->net, p);
			return;
		}
		rn_vnet_go(t->net, p);
	}
	if (!t->net->free_packets)
		fail(t, "more packets are under way than windows allow");
	while (rn_dev_event(h->dev, &ev))
		if (!ev.completion && ev.async != RN_EVENT_COMM_EST)
			fail(t, "host %u tells of event %u", host, (unsigned)ev.async);
}

/* ----------------------------------------------------- callbacks of the network */
enum event {
	START = RN_VNET_OWN, /* The flow with number arg starts. */
	DOWN,
	UP, /* The link at the port with number arg comes up again. */
};

static void on_arrival(void *ctx, uint32_t host, struct rn_vnet_packet *p)
{
	struct tree *t = ctx;

	rn_vnet_receive(t->net, host, p);
	drain(t, host);
}

static void on_expire(void *ctx, uint32_t host)
{
	struct tree *t = ctx;

	rn_dev_expire(t->host[host].dev, t->net->now);
	drain(t, host);
}

static void on_loss(void *ctx, const struct rn_vnet_packet *p,
		    const struct rn_vnet_port *port, enum rn_vnet_loss why)
{
	struct tree *t = ctx;
	struct flow *f = flow_of(t, rn_get_be24(p->bytes + 5));

	(void)port, (void)why;
	if (f)
		f->losses++;
	else
		fail(t, "a packet for QP %x, which nobody has",
		     rn_get_be24(p->bytes + 5));
}

/* Takes a random link down for a while. */
static void take_down(struct tree *t)
{
	const struct rn_vnet_cfg *c = &t->net->cfg;
	uint32_t ports = c->hosts + c->switches * c->switch_ports, port;

	do
		port = rn_random_below(&t->random, ports);
	while (t->net->port[port].to == RN_VNET_NOBODY);
	rn_vnet_set_down(t->net, port, true);
	rn_vnet_put(t->net,
		    t->net->now + FLAP_LEAST + rn_random_below(&t->random, FLAP_MORE), UP,
		    port);
}

static void happen(void *ctx, uint32_t what, uint32_t arg)
{
	struct tree *t = ctx;

	switch ((enum event)what) {
	case START:
		post_requests(t, &t->flow[arg]);
		drain(t, asks(&t->flow[arg]));
		rn_vnet_rearm(t->net, asks(&t->flow[arg]));
		break;
	case DOWN:
		take_down(t);
		break;
	case UP:
		rn_vnet_set_down(t->net, arg, false);
		break;
	}
}

static const struct rn_vnet_ops network = {
	.arrive = on_arrival,
	.expire = on_expire,
	.happen = happen,
	.lost = on_loss,
};

/* ---- The flows of each kind of traffic ---- */
static void add_flow(struct tree *t, uint32_t source, uint32_t sink)
{
	static const enum rn_wr_opcode ops[] = { RN_WR_RDMA_WRITE, RN_WR_SEND,
						 RN_WR_RDMA_READ };
	struct flow *f = &t->flow[t->flows++];

	*f = (struct flow){
		.source = source,
		.sink = sink,
		.op = ops[rn_random_below(&t->random, RN_ARRAY_SIZE(ops))],
		.length = LENGTH_LEAST << rn_random_below(&t->random, LENGTHS),
		.messages = t->cfg->messages ? t->cfg->messages : RN_FAT_TREE_MESSAGES,
		.pattern = rn_random_next(&t->random),
	};
	if (t->cfg->length)
		f->length = t->cfg->length;
	t->r->wanted += f->messages;
	t->host[asks(f)].outstanding += OUTSTANDING;
	t->host[answers(f)].outstanding += f->op == RN_WR_SEND ? RECEIVES : 0;
}

/* Puts the hosts into a random order. */
static void shuffle(struct tree *t, uint32_t *order)
{
	for (uint32_t i = 0; i < t->cfg->hosts; i++) {
		uint32_t j = rn_random_below(&t->random, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
}

/* Adds the flows of the run. Permutation: each host sends to the one behind it in
 * @order. Incast: @order is divided into groups, and in each group all hosts send to the
 * first one.
 */
static void add_flows(struct tree *t, const uint32_t *order)
{
	uint32_t hosts = t->cfg->hosts;

	for (uint32_t i = 0; i < hosts; i++) {
		uint32_t first = i - i % (FAN_IN + 1);

		if (t->r->traffic == RN_FAT_TREE_PERMUTATION)
			add_flow(t, order[i], order[(i + 1) % hosts]);
		else if (i != first)
			add_flow(t, order[i], order[first]);
	}
}

static int choose_traffic(struct tree *t)
{
	uint32_t *order = malloc(t->cfg->hosts * sizeof(*order));

	if (!order)
		return -ENOMEM;
	t->r->traffic = t->cfg->traffic;
	if (t->r->traffic == RN_FAT_TREE_BY_SEED)
		t->r->traffic = rn_random_below(&t->random, 2) ? RN_FAT_TREE_INCAST
							       : RN_FAT_TREE_PERMUTATION;
	shuffle(t, order);
	add_flows(t, order);
	free(order);
	return 0;
}

/* ---------------------------- creation of the network, devices and queue pairs */
static const struct rn_link_cfg plain_link = { .rate = RATE,
					       .delay = RN_USEC(1),
					       .queue = 2000000,
					       .ecn_min = 5000,
					       .ecn_max = 200000,
					       .ecn_ppm = 10000 };

static uint32_t cqes_of(const struct host *h)
{
	uint32_t capacity = 1;

	while (capacity < h->outstanding)
		capacity *= 2;
	return capacity;
}

static void start_device(struct tree *t, uint32_t i)
{
	struct host *h = &t->host[i];
	const struct rn_dev_cfg cfg = {
		.gid = { rn_vnet_gid(i, false) },
		.gid_count = 1,
		.ifindex = 7,
		.mtu_max = RN_MTU_MAX,
		.icrc_exact = true,
		.credits = t->cfg->seed % 2,
		.window_start = 192 << 10,
		.window_min = 64 << 10,
		.window_max = 1 << 20,
		.read_window = 1 << 20,
		.read_chunk = 1 << 16,
		.cc = t->cfg->cc,
		.cc_line = (uint32_t)(RATE / 1000),
		.mem = &memory,
		.mem_ctx = h,
		.stats = h->stats,
	};
	const struct rn_mr_attr region = {
		.key = KEY,
		.pd = PD,
		.length = RING,
		.access = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			  RN_ACCESS_REMOTE_READ,
	};
	int rc = rn_dev_init(h->dev, &cfg) || rn_mr_init(&h->mr, &region);

	assert(rc == 0);
	h->tree = t;
	rn_dev_add_mr(h->dev, &h->mr);
	rn_cq_init(&h->cq, RING, cqes_of(h), h);
	rn_vnet_add_host(t->net, h->dev, &cfg.gid[0]);
}

static void bring_up(struct tree *t, struct rn_qp *qp, uint32_t host, uint32_t peer)
{
	struct rn_qp_attr attr = {
		.path_mtu = RN_MTU_MAX,
		.rq_psn = PSN,
		.sq_psn = PSN,
		.dest_qpn = rn_qp_qpn(qp),
		.access = RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ,
		.max_rd_atomic = DEPTH,
		.max_dest_rd_atomic = DEPTH,
		.port_num = 1,
		.timeout = TIMEOUT,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.av = { .dgid = t->net->host[peer].gid, .hop_limit = 64 },
	};

	for (unsigned state = RN_QPS_INIT; state <= RN_QPS_RTS; state++) {
		int rc;

		attr.state = (enum rn_qp_state)state;
		rc = rn_qp_modify(t->host[host].dev, qp, 0, &attr,
				  rn_qp_required(RN_QPT_RC, attr.state));
		assert(rc == 0);
	}
}

static struct rn_qp_init init_of(const struct tree *t, struct flow *f, bool of_asker)
{
	struct host *h = &t->host[of_asker ? asks(f) : answers(f)];

	return (struct rn_qp_init){
		.type = RN_QPT_RC,
		.qpn = qpn_of(t, f),
		.pd = PD,
		.send_cq = &h->cq,
		.recv_cq = &h->cq,
		.max_send_wr = of_asker ? OUTSTANDING : 1,
		.max_send_sge = 1,
		.max_recv_wr = !of_asker && f->op == RN_WR_SEND ? RECEIVES : 0,
		.max_recv_sge = !of_asker && f->op == RN_WR_SEND ? 1 : 0,
		.stats = of_asker ? &f->stats : NULL,
	};
}

static size_t round_up(size_t size)
{
	return (size + 63) & ~(size_t)63;
}

static size_t qp_size(const struct tree *t, struct flow *f, bool of_asker)
{
	const struct rn_qp_init init = init_of(t, f, of_asker);

	return round_up(rn_qp_size(t->host[of_asker ? asks(f) : answers(f)].dev, &init));
}

static int create_queue_pairs(struct tree *t)
{
	size_t size = 0;
	uint8_t *at;

	for (struct flow *f = t->flow; f < t->flow + t->flows; f++)
		size += qp_size(t, f, true) + qp_size(t, f, false);
	at = t->queue_pairs = aligned_alloc(64, size);
	if (!at)
		return -ENOMEM;
	t->bytes += size;
	for (struct flow *f = t->flow; f < t->flow + t->flows; f++) {
		struct rn_qp_init init = init_of(t, f, true);

		f->asks = rn_qp_create(t->host[asks(f)].dev, at, &init);
		at += qp_size(t, f, true);
		init = init_of(t, f, false);
		f->answers = rn_qp_create(t->host[answers(f)].dev, at, &init);
		at += qp_size(t, f, false);
		bring_up(t, f->asks, asks(f), answers(f));
		bring_up(t, f->answers, answers(f), asks(f));
		post_receives(t, f);
	}
	return 0;
}

static int start_devices(struct tree *t)
{
	const size_t dev = round_up(rn_dev_size());
	struct rn_cqe *ring;
	size_t cqes = 0;

	for (uint32_t i = 0; i < t->cfg->hosts; i++)
		cqes += cqes_of(&t->host[i]);
	t->devices = aligned_alloc(64, t->cfg->hosts * dev);
	assert(cqes > 0);
	t->rings = calloc(cqes, sizeof(*ring));
	if (!t->devices || !t->rings)
		return -ENOMEM;
	t->bytes += t->cfg->hosts * dev + cqes * sizeof(*ring);
	ring = t->rings;
	for (uint32_t i = 0; i < t->cfg->hosts; i++) {
		t->host[i].dev = (struct rn_dev *)(void *)(t->devices + i * dev);
		t->host[i].ring = ring;
		ring += cqes_of(&t->host[i]);
		start_device(t, i);
	}
	return 0;
}

static void put_events(struct tree *t)
{
	for (uint32_t i = 0; i < t->flows; i++)
		rn_vnet_put(t->net, rn_random_below(&t->random, START_WITHIN), START, i);
	for (uint32_t i = 0; i < t->cfg->flaps; i++)
		rn_vnet_put(t->net, rn_random_below(&t->random, FLAP_WITHIN), DOWN, 0);
}

/* Returns the maximum number of packets that a host may have in flight. */
static uint32_t packets_of(const struct rn_fat_tree_cfg *c)
{
	uint32_t length = c->length ? c->length : LENGTH_LEAST << (LENGTHS - 1);

	return ANSWERS + OUTSTANDING * (length / RN_MTU_MAX + 1);
}

static int set_up(struct tree *t)
{
	const struct rn_fat_tree_cfg *c = t->cfg;
	const struct rn_vnet_cfg net = { .hosts = c->hosts,
					 .switches = rn_fat_tree_switches(c->k),
					 .switch_ports = c->k,
					 .packets = c->hosts * packets_of(c),
					 .events = c->hosts + c->flaps,
					 .pause_above = c->pfc ? PAUSE_ABOVE : 0,
					 .ops = &network,
					 .ctx = t };
	struct rn_link_cfg link = plain_link;

	link.loss_ppm = c->loss_ppm;
	t->random = rn_random_of(c->seed, 'f');
	t->host = calloc(c->hosts, sizeof(*t->host));
	t->flow = calloc(c->hosts, sizeof(*t->flow));
	t->net = rn_vnet_new(&net);
	if (!t->host || !t->flow || !t->net)
		return -ENOMEM;
	t->bytes += c->hosts * (sizeof(*t->host) + sizeof(*t->flow));
	rn_vnet_clear(t->net, 0);
	if (choose_traffic(t) || start_devices(t))
		return -ENOMEM;
	rn_vnet_fat_tree(t->net, c->k, &link, c->seed);
	if (create_queue_pairs(t))
		return -ENOMEM;
	put_events(t);
	return 0;
}

/* ---- The run, and the checks at its end ---- */
static void run_to_end(struct tree *t)
{
	uint64_t next_progress = PROGRESS;

	while (!t->r->failed && rn_vnet_next(t->net) != RN_NEVER) {
		if (rn_vnet_next(t->net) > 60 * SECOND)
			fail(t, "it does not become quiet");
		rn_vnet_step(t->net);
		if (t->net->overflowed)
			fail(t, "too much happens at once");
		if (!t->cfg->progress || t->net->events < next_progress)
			continue;
		next_progress += PROGRESS;
		t->cfg->progress(t->cfg->ctx, t->r);
	}
	if (!t->r->failed)
		t->r->at = t->net->now;
}

/* Checks that the flow has completed, and that packets were retransmitted only after a
 * loss or a link failure.
 */
static void check_flow(struct tree *t, const struct flow *f)
{
	uint32_t received = f->op == RN_WR_SEND ? f->messages : 0;

	if (f->completed != f->messages || f->received != received ||
	    f->written != (uint64_t)f->messages * f->length)
		fail(t, "flow %u: %u of %u messages complete", flow_number(t, f),
		     f->completed, f->messages);
	/* When a link fails, packets take another path and may overtake earlier ones. So
	 * packets may be sent again although none was lost.
	 */
	else if (f->stats.retransmitted && !f->losses && !t->cfg->flaps)
		fail(t, "flow %u: %u packets are sent again, and none was lost",
		     flow_number(t, f), f->stats.retransmitted);
}

static void check_host(struct tree *t, uint32_t i)
{
	const struct host *h = &t->host[i];

	if (rn_dev_deadline(h->dev) != RN_NEVER || rn_dev_acks_due(h->dev))
		fail(t, "host %u has a timer or an acknowledgement left", i);
	if (h->stats[RN_STAT_RNR_NAK_TX])
		fail(t, "host %u refuses a SEND for which there is a receive", i);
	if (h->stats[RN_STAT_LOCAL_ACK_TIMEOUT] && !t->net->lost)
		fail(t, "host %u waits in vain, and nothing was lost", i);
}

/* Checks that each packet reached its host or was lost, and that the counters of the
 * hosts equal those of the network.
 */
static void check_packets(struct tree *t)
{
	const struct rn_vnet *net = t->net;
	uint64_t sent = 0, received = 0;

	for (uint32_t i = 0; i < t->cfg->hosts; i++) {
		sent += t->host[i].stats[RN_STAT_TX_PACKETS];
		received += t->host[i].stats[RN_STAT_RX_PACKETS];
	}
	if (rn_vnet_under_way(net) ||
	    net->sent + net->doubled != net->arrived + net->lost)
		fail(t, "a packet is neither at its host nor lost");
	if (t->cfg->pfc && !t->cfg->loss_ppm && !t->cfg->flaps && net->lost)
		fail(t, "%llu packets are lost in spite of flow control",
		     (unsigned long long)net->lost);
	if (sent != net->sent || received != net->arrived)
		fail(t, "hosts count %llu packets sent and %llu received",
		     (unsigned long long)sent, (unsigned long long)received);
}

static void check_end(struct tree *t)
{
	for (uint32_t i = 0; i < t->flows; i++)
		check_flow(t, &t->flow[i]);
	for (uint32_t i = 0; i < t->cfg->hosts; i++)
		check_host(t, i);
	check_packets(t);
}

static void sum_up(struct tree *t)
{
	const struct rn_vnet_cfg *c = &t->net->cfg;
	struct rn_fat_tree_result *r = t->r;

	r->switches = c->switches;
	r->flows = t->flows;
	r->events = t->net->events;
	r->packets = t->net->sent;
	r->lost = t->net->lost;
	r->pauses = t->net->pauses;
	r->memory = t->bytes + rn_vnet_memory(t->net);
	for (uint32_t i = 0; i < c->hosts; i++) {
		r->retransmitted += t->host[i].stats[RN_STAT_RETRANSMITTED];
		r->timeouts += t->host[i].stats[RN_STAT_LOCAL_ACK_TIMEOUT];
		r->cnps += t->host[i].stats[RN_STAT_NP_CNP_SENT];
	}
	for (uint32_t i = 0; i < c->hosts + c->switches * c->switch_ports; i++) {
		r->dropped += t->net->port[i].link.dropped;
		r->marked += t->net->port[i].link.marked;
	}
}

/* Destroys all objects. rn_dev_fini() aborts if a device still has objects. */
static void destroy_objects(struct tree *t)
{
	for (struct flow *f = t->flow; f < t->flow + t->flows; f++) {
		rn_qp_destroy(t->host[asks(f)].dev, f->asks);
		rn_qp_destroy(t->host[answers(f)].dev, f->answers);
	}
	for (struct host *h = t->host; h < t->host + t->cfg->hosts; h++) {
		rn_dev_remove_mr(h->dev, &h->mr);
		rn_cq_fini(h->dev, &h->cq);
		rn_dev_fini(h->dev);
	}
}

int rn_fat_tree_run(const struct rn_fat_tree_cfg *cfg, struct rn_fat_tree_result *r)
{
	struct tree t = { .cfg = cfg, .r = r };
	int rc;

	assert(cfg->k >= 2 && cfg->k <= RN_FAT_TREE_PORTS && cfg->k % 2 == 0);
	assert(cfg->hosts >= 2 && cfg->hosts <= rn_fat_tree_hosts(cfg->k));
	assert(cfg->length % 8 == 0);
	*r = (struct rn_fat_tree_result){ 0 };
	rc = set_up(&t);
	if (!rc) {
		run_to_end(&t);
		if (!r->failed)
			check_end(&t);
		sum_up(&t);
		/* After a failure the devices are left as they are, because their state
		 * may be inconsistent.
		 */
		if (!r->failed)
			destroy_objects(&t);
	}
	rn_vnet_free(t.net);
	free(t.queue_pairs);
	free(t.rings);
	free(t.devices);
	free(t.flow);
	free(t.host);
	return rc;
}
