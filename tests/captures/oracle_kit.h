/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* oracle_kit.h - captured packets of another implementation, and a device of ours in the
 * place of either side. Included by one file per program.
 */
#ifndef RN_TEST_ORACLE_KIT_H
#define RN_TEST_ORACLE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/cqe.h"
#include "rocin/mr.h"
#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "sim/scenario/packet.h"
#include "sim/scenario/scenario.h"
#include "sim/vnet/host.h"

enum {
	LEN = 65536, /* of the responder's buffer */
	CQES = 256,
	PACKETS = 64,
	ETHERNET = 14,
	UDP = 8,
	PEER_RECVS = 16,
};

#define BUFFER UINT64_C(0x100000) /* device addresses */
#define RING UINT64_C(0x10000000)
#define ALL                                                                       \
	(RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ | \
	 RN_ACCESS_REMOTE_ATOMIC)

/* A capture, and the responder in it. */
static const struct capture {
	const char *name;
	uint32_t qpn; /* both sides have the same */
	uint32_t psn; /* first of the requester */
	uint64_t va;
	uint32_t key;
	uint32_t access;
	uint64_t seed; /* if not 0: what the first atomic finds */
	unsigned requests, responses;
} captures[] = {
	{ "send-small", 0x11, 0x111100, 0x56412e520000, 0x206, ALL, 0, 7, 7 },
	{ "send-multi", 0x12, 0x111100, 0x55cebb38e000, 0x3ac, ALL, 0, 10, 4 },
	{ "write-imm", 0x16, 0x111100, 0x5582c1f38000, 0x7e2, ALL, 0, 5, 3 },
	{ "read", 0x17, 0x111100, 0x560d18fee000, 0x89b, ALL, 0, 6, 11 },
	{ "atomic", 0x19, 0x111100, 0x555a9cd71000, 0xae8, ALL, 0x64, 4, 4 },
	{ "psn-wrap", 0x2b, 0xfffffe, 0x5557d117f000, 0x1c06, ALL, 0, 5, 5 },
	{ "rem-access-write", 0x25, 0x111100, 0x555daf01e000, 0x1610, ALL, 0, 1, 1 },
	{ "rem-access-read", 0x26, 0x111100, 0x561c2946b000, 0x17c3, ALL, 0, 1, 1 },
	{ "rem-access-mr", 0x28, 0x111100, 0x560df323e000, 0x19c0,
	  ALL & ~RN_ACCESS_REMOTE_WRITE, 0, 1, 1 },
	{ "ipv6", 0x35, 0x111100, 0x56488d3fb000, 0x262b, ALL, 0, 10, 4 },
};

/* ------------------------------------------------------------------- captures */
static struct rn_scene_packet request[PACKETS], answer[PACKETS], ours[PACKETS];
static unsigned requests, answers, our_count;

static struct rn_gid ipv4(const uint8_t *p)
{
	struct rn_gid gid = { { [10] = 0xff, [11] = 0xff } };

	memcpy(gid.raw + 12, p, 4);
	return gid;
}

/* From the IP header on; false: no RoCE packet. */
static bool read_packet(struct rn_scene_packet *p, const uint8_t *ip, uint32_t len)
{
	const uint8_t *udp = ip + ((ip[0] >> 4) == 4 ? (ip[0] & 15) * 4 : 40);

	memset(p, 0, sizeof(*p));
	if ((ip[0] >> 4) == 4) {
		p->flow.src = ipv4(ip + 12);
		p->flow.dst = ipv4(ip + 16);
		p->flow.tclass = ip[1];
		p->flow.hop_limit = ip[8];
	} else {
		memcpy(p->flow.src.raw, ip + 8, 16);
		memcpy(p->flow.dst.raw, ip + 24, 16);
		p->flow.hop_limit = ip[7];
	}
	if (len < (uint32_t)(udp - ip) + UDP || rn_get_be16(udp + 2) != RN_ROCE_PORT)
		return false;
	p->flow.sport = rn_get_be16(udp);
	p->len = rn_get_be16(udp + 4) - (uint32_t)UDP;
	assert_true(p->len <= sizeof(p->bytes));
	memcpy(p->bytes, udp + UDP, p->len);
	return true;
}

static void sort_in(const struct rn_scene_packet *p)
{
	bool asks = rn_opcode_info[p->bytes[0]].flags & RN_OP_REQUEST;

	assert_true(requests < PACKETS && answers < PACKETS);
	if (asks)
		request[requests++] = *p;
	else
		answer[answers++] = *p;
}

static void load(const struct capture *c)
{
	static uint8_t bytes[1 << 16];
	struct rn_scene_packet p;
	char path[512];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), RN_CAPTURES "/rxe-%s%s.pcap",
		 strcmp(c->name, "ipv6") != 0 ? "rc-" : "",
		 strcmp(c->name, "ipv6") != 0 ? c->name : "ipv6-rc");
	f = fopen(path, "re");
	assert_non_null(f);
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	requests = answers = our_count = 0;
	for (size_t at = 24; at + 16 < size;) {
		uint32_t len = rn_get_le32(bytes + at + 8);

		at += 16;
		assert_true(len > ETHERNET + 20 && len <= size - at);
		if (read_packet(&p, bytes + at + ETHERNET, len - ETHERNET))
			sort_in(&p);
		at += len;
	}
	assert_int_equal(requests, c->requests);
	assert_int_equal(answers, c->responses);
}

/* ----------------------------------------------------------------- the device */
static uint8_t memory[LEN];
static struct rn_cqe ring[CQES];

static void *at_address(rn_iova addr, uint32_t len)
{
	if (addr >= RING && addr - RING + len <= sizeof(ring))
		return (uint8_t *)ring + (addr - RING);
	if (addr >= BUFFER && addr - BUFFER + len <= sizeof(memory))
		return memory + (addr - BUFFER);
	fail_msg("nothing is there");
	return NULL;
}

static enum rn_mem_result mem_write(void *ctx, rn_iova dst, const void *src, uint32_t len,
				    struct rn_mem_attr attr)
{
	(void)ctx;
	(void)attr;
	memcpy(at_address(dst, len), src, len);
	return RN_MEM_DONE;
}

static enum rn_mem_result mem_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				   struct rn_mem_attr attr, uint64_t tag)
{
	(void)ctx;
	(void)attr;
	(void)tag;
	memcpy(dst, at_address(src, len), len);
	return RN_MEM_DONE;
}

static enum rn_mem_result mem_atomic(void *ctx, const struct rn_mem_atomic_req *req,
				     uint64_t *orig, struct rn_mem_attr attr,
				     uint64_t tag)
{
	void *at = at_address(req->dst, sizeof(*orig));
	uint64_t value;

	(void)ctx;
	(void)attr;
	(void)tag;
	memcpy(orig, at, sizeof(*orig));
	value = req->op == RN_MEM_FETCH_ADD ? *orig + req->operand : req->operand;
	if (req->op == RN_MEM_FETCH_ADD || *orig == req->compare)
		memcpy(at, &value, sizeof(value));
	return RN_MEM_DONE;
}

static const struct rn_mem_ops mem = {
	.always_done = true,
	.write = mem_write,
	.read = mem_read,
	.atomic = mem_atomic,
};

static struct rn_dev *dev;
static struct rn_qp *qp;
static struct rn_cq cq;
static struct rn_mr mr;
static uint64_t stats[RN_STAT_COUNT];

static void make_device(const struct rn_gid *gid)
{
	const struct rn_dev_cfg cfg = {
		.gid = { *gid },
		.gid_count = 1,
		.ifindex = 1,
		.mtu_max = 1024,
		.window_start = 1 << 20,
		.window_min = 1 << 14,
		.window_max = 1 << 20,
		.read_window = 1 << 20,
		.read_chunk = 1 << 16,
		.mem = &mem,
		.stats = stats,
	};

	dev = aligned_alloc(64, (rn_dev_size() + 63) & ~(size_t)63);
	assert_non_null(dev);
	memset(stats, 0, sizeof(stats));
	memset(ring, 0, sizeof(ring));
	assert_int_equal(rn_dev_init(dev, &cfg), 0);
	rn_cq_init(&cq, RING, CQES, NULL);
}

static void make_region(const struct capture *c)
{
	const struct rn_mr_attr attr = {
		.key = c->key,
		.pd = 1,
		.va = c->va,
		.length = LEN,
		.iova_base = BUFFER,
		.access = c->access,
	};

	for (unsigned i = 0; i < LEN; i++)
		memory[i] = (uint8_t)(13 * i + 2);
	if (c->seed) {
		uint64_t offset = rn_get_be64(request[0].bytes + RN_BTH_LEN) - c->va;

		assert_true(offset <= LEN - sizeof(c->seed));
		memcpy(memory + offset, &c->seed, sizeof(c->seed));
	}
	assert_int_equal(rn_mr_init(&mr, &attr), 0);
	rn_dev_add_mr(dev, &mr);
}

static void make_qp(const struct capture *c, const struct rn_gid *peer)
{
	const struct rn_qp_init init = {
		.type = RN_QPT_RC,
		.qpn = c->qpn,
		.pd = 1,
		.send_cq = &cq,
		.recv_cq = &cq,
		.max_send_wr = PEER_RECVS,
		.max_send_sge = 1,
		.max_recv_wr = PEER_RECVS,
		.max_recv_sge = 1,
	};
	struct rn_qp_attr attr = {
		.port_num = 1,
		.access = ALL & RN_ACCESS_REMOTE_MASK,
		.av = { .dgid = *peer, .hop_limit = 64 },
		.path_mtu = 1024,
		.dest_qpn = c->qpn,
		.rq_psn = c->psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.sq_psn = c->psn,
		.max_rd_atomic = 4,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	size_t size = (rn_qp_size(dev, &init) + 63) & ~(size_t)63;
	void *block = aligned_alloc(64, size);

	assert_non_null(block);
	qp = rn_qp_create(dev, block, &init);
	for (unsigned state = RN_QPS_INIT; state <= RN_QPS_RTS; state++) {
		attr.state = (enum rn_qp_state)state;
		assert_int_equal(rn_qp_modify(dev, qp, 1, &attr,
					      rn_qp_required(RN_QPT_RC, attr.state)),
				 0);
	}
}

static void destroy(void)
{
	rn_qp_destroy(dev, qp);
	free(qp);
	rn_dev_remove_mr(dev, &mr);
	rn_cq_fini(dev, &cq);
	rn_dev_fini(dev);
	free(dev);
}

static void drain(rn_ns now)
{
	struct rn_tx tx;

	while (our_count < PACKETS) {
		struct rn_scene_packet *p = &ours[our_count];

		p->len = rn_vhost_transmit(dev, now, RN_TX_ALL, p->bytes, &p->flow, &tx);
		if (!p->len)
			break;
		our_count++;
	}
}

/* A captured packet comes, and all that the device has to say of it leaves. */
static void arrive(rn_ns now, struct rn_scene_packet *p)
{
	struct rn_rx rx = { .flow = &p->flow, .data = p->bytes, .len = p->len };

	p->flow.ifindex = 1;
	rn_dev_receive(dev, now, &rx, 1);
	drain(now);
}

/* ---------------------------------------------------------------- comparison */
/* Credits, the port and the identification are the sender's choice; the rest of what an
 * answer says is not.
 */
static void compare(const struct rn_scene_packet *their_packet,
		    const struct rn_scene_packet *our_packet)
{
	static const enum rn_scn_field fixed[] = {
		RN_F_PSN,  RN_F_LEN,	RN_F_PAD,  RN_F_PKEY,	 RN_F_DEST, RN_F_MSN,
		RN_F_NAK,  RN_F_RNR,	RN_F_ORIG, RN_F_SE,	 RN_F_ACK,  RN_F_VA,
		RN_F_RKEY, RN_F_DMALEN, RN_F_SWAP, RN_F_COMPARE, RN_F_IMM,
	};
	struct rn_scn_line theirs, our;
	const uint8_t *their_payload, *our_payload;

	assert_int_equal(rn_scene_decode(their_packet, &theirs, &their_payload), 0);
	assert_int_equal(rn_scene_decode(our_packet, &our, &our_payload), 0);
	assert_int_equal(our.opcode, theirs.opcode);
	for (size_t k = 0; k < RN_ARRAY_SIZE(fixed); k++)
		if (rn_scn_has(&our, fixed[k]) != rn_scn_has(&theirs, fixed[k]) ||
		    our.value[fixed[k]] != theirs.value[fixed[k]])
			fail_msg("psn %lx: %s is %lx, theirs %lx", theirs.value[RN_F_PSN],
				 rn_scn_fields[fixed[k]].name, our.value[fixed[k]],
				 theirs.value[fixed[k]]);
	assert_memory_equal(our_payload, their_payload, theirs.value[RN_F_LEN]);
	assert_memory_equal(&our_packet->flow.dst, &their_packet->flow.dst,
			    sizeof(our_packet->flow.dst));
}

#endif /* RN_TEST_ORACLE_KIT_H */
