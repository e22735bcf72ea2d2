/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_ucma.c - any commands of programs on two hosts, any MADs between them, at any
 * time: as many events are announced as are queued, a descriptor that is closed leaves
 * nothing, and in the end there are no ids, no ports and no connections.
 */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "rocin/netdev.h"
#include "tests/fuzz/script.h"
#include "tools/rocind/ucma/ucma.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CHANNELS = 3, /* of a host */
	PACKETS_MAX = 64,
};

#define SECOND ((rn_ns)1000000000)

static struct host {
	struct rnd_ucma *ucma;
	struct rn_cm *cm;
	struct rn_netdev nd;
	struct rnd_ucma_channel *ch[CHANNELS];
	uint32_t ready[CHANNELS]; /* events announced and not taken or gone */
} host[2];
static rn_ns now;

static int hold(void *ctx, const struct rn_gid *gid, uint32_t scope)
{
	(void)ctx;
	(void)scope;
	return gid->raw[15] == 99 ? -EADDRINUSE : 0;
}

static int route(void *ctx, const struct rn_gid *dst, uint32_t scope,
		 const struct rn_gid *src, struct rnd_ucma_route *out)
{
	const struct host *h = ctx;

	(void)scope;
	(void)src;
	if (dst->raw[15] == 98)
		return -ENETUNREACH;
	*out = (struct rnd_ucma_route){ .src = h->nd.gid[rn_gid_is_ipv4(dst) ? 0 : 1],
					.ifindex = 7 };
	return 0;
}

static bool is_local(void *ctx, const struct rn_gid *gid)
{
	(void)ctx;
	return gid->raw[15] == 97;
}

static void ready(void *ctx, void *user)
{
	(void)ctx;
	++*(uint32_t *)user;
}

static const struct rnd_ucma_ops ops = {
	.hold = hold,
	.route = route,
	.is_local = is_local,
	.ready = ready,
};

static struct rn_cm *new_cm(uint64_t seed)
{
	void *block = NULL;

	require(posix_memalign(&block, 16, rn_cm_size(16)) == 0);
	return rn_cm_init(block, &(struct rn_cm_cfg){ .conn_max = 16, .seed = seed });
}

static void begin(void)
{
	now = SECOND;
	for (uint8_t i = 0; i < 2; i++) {
		struct host *h = &host[i];

		*h = (struct host){
			.nd = { .ibdev = "rocin0",
				.ifname = "eth0",
				.ifindex = 7,
				.mtu = 1500,
				.node_guid = 0x100u + i,
				.gid_count = 2,
				.gid = { { { [10] = 0xff, 0xff, 10, 0, 0, i } },
					 { { 0xfd, [15] = i } } } },
		};
		h->cm = new_cm(i);
		h->ucma = rnd_ucma_new(&(struct rnd_ucma_cfg){ .ops = &ops,
							       .ctx = h,
							       .seed = i,
							       .cm = h->cm,
							       .port_first = 40000,
							       .port_last = 40003,
							       .port_free = 4 });
		require(h->ucma != NULL);
	}
}

/* Events that went with their id are no longer announced. */
static void check_queues(struct host *h)
{
	for (unsigned i = 0; i < CHANNELS; i++) {
		uint32_t events = h->ch[i] ? rnd_ucma_event_count(h->ch[i]) : 0;

		require(h->ready[i] >= events);
		h->ready[i] = events;
	}
}

static void deliver(uint8_t lost)
{
	struct rn_cm_tx tx;

	for (unsigned n = 0; n < PACKETS_MAX; n++) {
		struct rn_cm_rx rx = { .flow = &tx.flow, .src_qpn = 1 };
		unsigned from = n % 2;

		if (!rn_cm_transmit(host[from].cm, &tx) || (lost >> n % 8 & 1))
			continue;
		rx.mad = tx.pkt + RN_GSI_MAD_AT;
		if (tx.flow.dst.raw[15] < 2)
			rnd_ucma_packet(host[tx.flow.dst.raw[15]].ucma, now, &rx);
	}
}

/* An address that is often one of ours, in a form that is mostly right. */
static void put_address(struct script *s, void *out)
{
	uint8_t shape = take8(s), last = take8(s), port = take8(s) % 8;
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	switch (shape % 6) {
	case 0:
	case 1:
		v4.sin_addr.s_addr = htonl(0x0a000000u | last);
		memcpy(out, &v4, sizeof(v4));
		break;
	case 2:
		memcpy(out, &v4, sizeof(v4)); /* any */
		break;
	case 3:
		v6.sin6_addr.s6_addr[0] = 0xfd;
		v6.sin6_addr.s6_addr[15] = last;
		memcpy(out, &v6, sizeof(v6));
		break;
	case 4:
		v6.sin6_addr.s6_addr[0] = 0xff;
		v6.sin6_addr.s6_addr[15] = last;
		memcpy(out, &v6, sizeof(v6));
		break;
	default:
		take_bytes(s, out, 28);
	}
}

/* Where a command has its id, and its address. */
static const struct {
	uint16_t len, id, addr, addr2;
} shape[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = { 24, 0, 0, 0 },
	[RDMA_USER_CM_CMD_DESTROY_ID] = { 16, 8, 0, 0 },
	[RDMA_USER_CM_CMD_BIND_IP] = { 40, 36, 8, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_IP] = { 64, 56, 28, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = { 8, 0, 0, 0 },
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = { 16, 8, 0, 0 },
	[RDMA_USER_CM_CMD_CONNECT] = { 288, 272, 0, 0 },
	[RDMA_USER_CM_CMD_LISTEN] = { 8, 0, 0, 0 },
	[RDMA_USER_CM_CMD_ACCEPT] = { 296, 280, 0, 0 },
	[RDMA_USER_CM_CMD_REJECT] = { 264, 0, 0, 0 },
	[RDMA_USER_CM_CMD_DISCONNECT] = { 4, 0, 0, 0 },
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = { 16, 8, 0, 0 },
	[RDMA_USER_CM_CMD_GET_EVENT] = { 8, 0, 0, 0 },
	[RDMA_USER_CM_CMD_GET_OPTION] = { 8, 0, 0, 0 },
	[RDMA_USER_CM_CMD_SET_OPTION] = { 24, 8, 0, 0 },
	[RDMA_USER_CM_CMD_NOTIFY] = { 8, 0, 0, 0 },
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = { 48, 44, 16, 0 },
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = { 16, 8, 0, 0 },
	[RDMA_USER_CM_CMD_MIGRATE_ID] = { 16, 8, 0, 0 },
	[RDMA_USER_CM_CMD_QUERY] = { 16, 8, 0, 0 },
	[RDMA_USER_CM_CMD_BIND] = { 136, 0, 8, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = { 272, 0, 16, 144 },
	[RDMA_USER_CM_CMD_JOIN_MCAST] = { 152, 16, 24, 0 },
	[RDMA_USER_CM_CMD_JOIN_MCAST + 1] = { 8, 0, 0, 0 }, /* there is none */
};

static size_t build(struct script *s, uint32_t cmd, uint8_t *in)
{
	size_t len = shape[cmd].len, given = take8(s) % 16;

	take_bytes(s, in, given < len ? given : len);
	if (cmd == RDMA_USER_CM_CMD_CREATE_ID) {
		static const uint16_t ps[] = { RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB, 1 };
		struct rdma_ucm_create_id c = { .uid = 1 };

		c.ps = ps[take8(s) % 4];
		c.qp_type = take8(s) % 12;
		memcpy(in, &c, sizeof(c));
	} else {
		uint32_t id = take8(s) % 12;

		memcpy(in + shape[cmd].id, &id, sizeof(id));
	}
	if (cmd == RDMA_USER_CM_CMD_CONNECT || cmd == RDMA_USER_CM_CMD_ACCEPT) {
		size_t at = cmd == RDMA_USER_CM_CMD_ACCEPT ? 8 : 0;

		in[at + 0] = take8(s);	     /* QPN */
		in[at + 264] = take8(s);     /* length of private data */
		in[at + 271] = take8(s) & 1; /* valid */
		in[0] |= at != 0;	     /* uid */
	}
	if (shape[cmd].addr)
		put_address(s, in + shape[cmd].addr);
	if (shape[cmd].addr2)
		put_address(s, in + shape[cmd].addr2);
	return take8(s) ? len : len / 2;
}

static void command(struct script *s, struct host *h, unsigned which)
{
	uint8_t in[512] = { 0 }, option[8];
	struct rn_cmdev_call head = { .out_len = RN_CMDEV_OUT_MAX };
	struct rnd_call call = {
		.ch = h->ch[which], .now = now, .head = &head, .in = in
	};
	int rc;

	head.cmd = take8(s) % RN_ARRAY_SIZE(shape);
	head.in_len = (uint32_t)build(s, head.cmd, in);
	call.from = h->ch[take8(s) % CHANNELS];
	if (head.cmd == RDMA_USER_CM_CMD_SET_OPTION) {
		uint32_t len = take8(s) % sizeof(option);

		take_bytes(s, option, sizeof(option));
		memcpy(in + 20, &len, sizeof(len));
		call.option = option;
		head.option_len = len;
	}
	if (take8(s) == 1)
		head.out_len = 3;
	rc = rnd_ucma_command(&call);
	require(rc <= 0 && call.answer_len <= head.out_len &&
		(rc == 0 || call.answer_len == 0));
}

static void step(struct script *s)
{
	uint8_t op = take8(s);
	struct host *h = &host[op & 1];
	unsigned which = (op >> 1) % CHANNELS;

	switch (op >> 5) {
	case 0:
		now += SECOND * take8(s) / 4;
		rnd_ucma_expire(h->ucma, now);
		break;
	case 1:
		deliver(take8(s));
		break;
	case 2:
		if (h->ch[which])
			rnd_ucma_close(h->ch[which], now);
		h->ch[which] = NULL;
		break;
	default:
		if (!h->ch[which])
			h->ch[which] =
				rnd_ucma_open(h->ucma, &h->nd, 1, &h->ready[which]);
		require(h->ch[which] != NULL);
		command(s, h, which);
		if (op & 0x10)
			deliver(0);
	}
	check_queues(&host[0]);
	check_queues(&host[1]);
}

/* Everything is closed; time-wait and what is still said on the wire come to an end. */
static void end(void)
{
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < CHANNELS; k++)
			if (host[i].ch[k])
				rnd_ucma_close(host[i].ch[k], now);
	for (unsigned n = 0; n < 1000; n++) {
		now += 10 * SECOND;
		deliver(0);
		rnd_ucma_expire(host[0].ucma, now);
		rnd_ucma_expire(host[1].ucma, now);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct rnd_ucma_counts left;

		rnd_ucma_count(host[i].ucma, &left);
		require(left.channels == 0 && left.ids == 0 && left.ports == 0);
		require(left.connections == 0);
		rnd_ucma_free(host[i].ucma);
		free(host[i].cm);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { data, data + size };

	begin();
	while (!script_is_over(&s))
		step(&s);
	end();
	return 0;
}
