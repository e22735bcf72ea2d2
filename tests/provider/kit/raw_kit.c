/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_kit.c - raw packet queue pairs, frames and flow rules, for tests that use only
 * public verbs.
 */
#include "raw_kit.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SKIPPED = 77,
	PORT_AT = 14 + 20 + 2,
};

void raw_need_privilege(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0) {
		print_message("skipped: raw packets need CAP_NET_RAW\n");
		exit(SKIPPED);
	}
	close(fd);
}

void raw_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), 0);
	kit_to_state(qp, IBV_QPS_RTR);
	kit_to_state(qp, IBV_QPS_RTS);
}

struct ibv_qp *raw_qp(struct kit *k)
{
	struct ibv_qp *qp = raw_create(k, 0, 0);

	if (!qp)
		fail_msg("ibv_create_qp_ex: errno %d", errno);
	raw_to_rts(qp);
	return qp;
}

struct ibv_qp *raw_create(struct kit *k, uint32_t create_flags, uint64_t send_ops)
{
	struct ibv_cq *sends = ibv_create_cq(k->ctx, KIT_WR, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = sends,
		.recv_cq = k->cq,
		.cap = { .max_send_wr = KIT_WR,
			 .max_recv_wr = KIT_WR,
			 .max_send_sge = KIT_SGE,
			 .max_recv_sge = KIT_SGE,
			 .max_inline_data = KIT_INLINE },
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = k->pd,
		.create_flags = create_flags,
		.send_ops_flags = send_ops,
	};
	struct ibv_qp *qp;
	int why;

	assert_non_null(sends);
	if (create_flags)
		attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	if (send_ops)
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	qp = ibv_create_qp_ex(k->ctx, &attr);
	why = errno;
	if (!qp)
		assert_int_equal(ibv_destroy_cq(sends), 0);
	errno = why;
	return qp;
}

void raw_end(struct ibv_qp *qp)
{
	struct ibv_cq *sends = qp->send_cq;

	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(sends), 0);
}

static void put16(uint8_t *at, unsigned n)
{
	at[0] = (uint8_t)(n >> 8);
	at[1] = (uint8_t)n;
}

void raw_write_frame(struct kit *k, uint16_t port, uint32_t len, uint8_t seed)
{
	static const uint8_t start[RAW_HDR] = {
		0x01, 0x50, 0x56, 0x19, 0x20, 0xa7, 0x24, 0x8a, 0x07, 0xa5, 0x28, 0xc8,
		0x08, 0x00, 0x45, 0,	0,    0,    0,	  0,	0x40, 0,    64,	  17,
		0,    0,    1,	  1,	1,    1,    2,	  2,	2,    2,    0x04, 0xd2,
	};

	assert_true(len >= RAW_HDR && len <= KIT_HALF);
	memcpy(k->buf, start, RAW_HDR);
	put16(k->buf + 16, len - 14);
	put16(k->buf + PORT_AT, port);
	put16(k->buf + PORT_AT + 2, len - 34);
	for (uint32_t i = RAW_HDR; i < len; i++)
		k->buf[i] = (uint8_t)(i * 7 + seed);
}

void raw_send(struct kit *k, struct ibv_qp *qp, uint32_t len)
{
	struct ibv_sge sge = kit_sge(k, 0, 0, len);
	struct ibv_send_wr wr = { .wr_id = 5000,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 };

	kit_post_send(qp, &wr);
	kit_expect(qp->send_cq, 5000, IBV_WC_SEND);
}

void raw_send_to(struct kit *k, struct ibv_qp *qp, uint16_t port)
{
	raw_write_frame(k, port, RAW_LEN, (uint8_t)port);
	raw_send(k, qp, RAW_LEN);
}

void raw_post(struct kit *k, struct ibv_qp *qp, unsigned n)
{
	kit_post_recv(k, qp, n, kit_sge(k, 1, n % 8 * RAW_SLOT, RAW_SLOT));
}

struct ibv_wc raw_expect(struct kit *k, const struct ibv_qp *qp, unsigned n,
			 uint16_t port, uint32_t len)
{
	const uint8_t *got = k->buf + KIT_HALF + (size_t)(n % 8) * RAW_SLOT;
	struct ibv_wc wc = kit_expect(k->cq, n, IBV_WC_RECV);

	assert_int_equal(wc.qp_num, qp->qp_num);
	assert_int_equal(got[PORT_AT] << 8 | got[PORT_AT + 1], port);
	assert_int_equal(wc.byte_len, len);
	assert_int_equal(wc.wc_flags & ~(unsigned)IBV_WC_IP_CSUM_OK, 0);
	if (k->buf[PORT_AT] << 8 == (port & 0xff00) &&
	    k->buf[PORT_AT + 1] == (port & 0xff))
		assert_memory_equal(got, k->buf, len);
	return wc;
}

struct raw_rule raw_rule_new(enum ibv_flow_attr_type type, uint16_t priority)
{
	return (struct raw_rule){
		.attr = { .type = type, .priority = priority, .port = 1 }
	};
}

void raw_rule_add(struct raw_rule *rule, const void *spec, size_t size)
{
	assert_int_equal(offsetof(struct raw_rule, specs), sizeof(rule->attr));
	memcpy(rule->specs + rule->len, spec, size);
	rule->len += size;
	rule->attr.num_of_specs++;
	rule->attr.size = (uint16_t)(sizeof(rule->attr) + rule->len);
}

void raw_rule_port(struct raw_rule *rule, uint16_t port)
{
	struct ibv_flow_spec_tcp_udp udp = {
		.type = IBV_FLOW_SPEC_UDP,
		.size = sizeof(udp),
		.val.dst_port = htons(port),
		.mask.dst_port = 0xffff,
	};

	raw_rule_add(rule, &udp, sizeof(udp));
}

struct ibv_flow *raw_flow(struct ibv_qp *qp, struct raw_rule *rule)
{
	struct ibv_flow *flow = ibv_create_flow(qp, &rule->attr);

	if (!flow)
		fail_msg("ibv_create_flow: errno %d", errno);
	return flow;
}

struct ibv_flow *raw_flow_port(struct ibv_qp *qp, uint16_t port)
{
	struct raw_rule rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);

	raw_rule_port(&rule, port);
	return raw_flow(qp, &rule);
}

void raw_flow_end(struct ibv_flow *flow)
{
	assert_int_equal(ibv_destroy_flow(flow), 0);
}

struct raw_players raw_players_new(struct kit *k)
{
	struct raw_players p = { .k = k };

	p.sender = raw_qp(p.k);
	for (unsigned i = 0; i < RAW_PLAYERS; i++)
		p.qp[i] = raw_qp(p.k);
	p.last = raw_qp(p.k);
	p.end = raw_flow_port(p.last, RAW_END);
	return p;
}

void raw_players_end(struct raw_players *p)
{
	raw_flow_end(p->end);
	raw_end(p->sender);
	for (unsigned i = 0; i < RAW_PLAYERS; i++)
		raw_end(p->qp[i]);
	raw_end(p->last);
}

void raw_players_expect(struct raw_players *p, unsigned who)
{
	struct kit *k = p->k;
	uint8_t sent[RAW_LEN];
	unsigned got = 0, count = 0;

	memcpy(sent, k->buf, RAW_LEN);
	for (unsigned i = 0; i < RAW_PLAYERS; i++)
		raw_post(k, p->qp[i], i);
	raw_post(k, p->last, 6);
	raw_send(k, p->sender, RAW_LEN);
	raw_write_frame(k, RAW_END, RAW_LEN, 0);
	k->buf[5] = 0xee; /* so that no rule of a test matches the frame by its address */
	raw_send(k, p->sender, RAW_LEN);
	for (;;) {
		struct ibv_wc wc = kit_wait(k->cq);

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (wc.qp_num == p->last->qp_num)
			break;
		got |= 1u << wc.wr_id;
		count++;
		assert_int_equal(wc.byte_len, RAW_LEN);
		assert_memory_equal(k->buf + KIT_HALF + wc.wr_id * RAW_SLOT, sent,
				    RAW_LEN);
	}
	assert_int_equal(got, who);
	assert_int_equal(count, (unsigned)__builtin_popcount(who));
	/* Removes the receives that are left, so that the next call starts without any.
	 */
	for (unsigned i = 0; i < RAW_PLAYERS; i++) {
		kit_to_state(p->qp[i], IBV_QPS_RESET);
		raw_to_rts(p->qp[i]);
	}
}

void raw_players_send(struct raw_players *p, uint16_t port, unsigned who)
{
	raw_write_frame(p->k, port, RAW_LEN, (uint8_t)who);
	raw_players_expect(p, who);
}

int raw_outside(void)
{
	const char *name = getenv("RAW_PEER");
	struct sockaddr_ll sll = { .sll_family = AF_PACKET };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	sll.sll_ifindex = (int)if_nametoindex(name ? name : "lo");
	assert_true(sll.sll_ifindex > 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sll, sizeof(sll)), 0);
	return fd;
}

void raw_send_from(int fd, const struct kit *k, uint32_t len)
{
	assert_int_equal(send(fd, k->buf, len, 0), len);
}
