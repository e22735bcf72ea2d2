/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_nldev.c - each command of RDMA netlink, and requests that are wrong. */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/queue_pair.h"
#include "sim/kernel/netlink/message.h"
#include "sim/kernel/netlink/nldev.h"
#include "transport/io/rocind/stats_pages.h"

enum {
	PORT_ID = 4711,
	SEQ = 99,
	DATAGRAMS_MAX = 4000,
	ATTRS = RDMA_NLDEV_ATTR_MAX,
};

/* ---- What there is ---- */

static const struct rnk_nl_device devices[] = {
	{ .index = 0,
	  .name = "rocin0",
	  .ifname = "lo",
	  .ifindex = 1,
	  .node_guid = 0x061facdc9e6d62f2,
	  .up = true },
	{ .index = 1, .name = "rocin1", .node_guid = 5 },
};

static struct rn_stats_qp qps[] = {
	{ .qpn = 0x101,
	  .dest_qpn = 0x202,
	  .type = RN_QPT_RC,
	  .state = RN_QPS_RTS,
	  .mig_state = RN_MIG_ARMED,
	  .pdn = 3,
	  .sq_psn = 70,
	  .rq_psn = 80 | RN_STATS_NO_RECV },
	{ .qpn = 0x301, .type = RN_QPT_UD, .state = RN_QPS_RESET, .pdn = 3, .sq_psn = 7 },
};

static struct rn_stats_object objects[] = {
	{ .kind = RN_STATS_PD, .number = 3, .ctxn = 8, .users = 5 },
	{ .kind = RN_STATS_PD, .number = 4, .ctxn = 8 },
	{ .kind = RN_STATS_PD, .number = 6, .ctxn = 9 },
	{ .kind = RN_STATS_CQ, .number = 11, .ctxn = 8, .users = 2, .cqe = 127 },
	{ .kind = RN_STATS_MR,
	  .number = 12,
	  .ctxn = 8,
	  .pdn = 3,
	  .key = 0xabc,
	  .iova = 0x10000,
	  .length = 1ull << 33 },
	{ .kind = RN_STATS_SRQ, .number = 13, .ctxn = 8, .pdn = 3, .type = 0, .cqn = 1 },
	{ .kind = RN_STATS_SRQ, .number = 14, .ctxn = 8, .pdn = 3, .type = 1, .cqn = 11 },
	{ .kind = RN_STATS_MW, .number = 15, .ctxn = 8, .pdn = 3 },
};

static struct rn_stats_client clients[2];
static struct rn_stats_list programs;
static struct rnk_nl_cm_id cm_ids[2];
static struct rnk_nl_view view;
static struct rnk_nl_asker asker;

static int make_view(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(7471) };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(clients); i++) {
		clients[i] = (struct rn_stats_client){
			.id = { .pid = 100 + (int)i, .ibdev = "rocin0" },
			.copy = { .counter_count = RN_STAT_COUNT }
		};
		clients[i].copy.page.counter[RN_STAT_TX_PACKETS] = 1000;
	}
	clients[0].copy.qp = qps;
	clients[0].copy.qp_count = RN_ARRAY_SIZE(qps);
	clients[1].copy.object = objects;
	clients[1].copy.object_count = RN_ARRAY_SIZE(objects);
	programs = (struct rn_stats_list){ clients, RN_ARRAY_SIZE(clients) };
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cm_ids); i++)
		cm_ids[i] = (struct rnk_nl_cm_id){ .ibdev = "rocin0",
						   .pid = 200,
						   .number = i + 1,
						   .port_space = 0x106,
						   .state = 8 };
	cm_ids[1].qpn = 0x101;
	cm_ids[1].qp_type = RN_QPT_RC;
	memcpy(&cm_ids[1].src, &in, sizeof(in));
	view = (struct rnk_nl_view){ devices, RN_ARRAY_SIZE(devices), &programs, cm_ids,
				     RN_ARRAY_SIZE(cm_ids) };
	asker = (struct rnk_nl_asker){ .port_id = PORT_ID };
	return 0;
}

/* ---- Requests and answers ---- */

static uint8_t request[8192];
static size_t request_len;

static struct answer {
	size_t len;
	_Alignas(8) uint8_t data[RNK_NL_DATAGRAM];
} answers[DATAGRAMS_MAX];
static unsigned answer_count, answers_wanted;

static int keep(void *ctx, const void *data, size_t len)
{
	(void)ctx;
	assert_true(answer_count < answers_wanted);
	assert_true(len <= RNK_NL_DATAGRAM);
	answers[answer_count].len = len;
	memcpy(answers[answer_count++].data, data, len);
	return 0;
}

static struct nlmsghdr *begin(unsigned command, unsigned flags)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)request;

	*h = (struct nlmsghdr){ .nlmsg_len = sizeof(*h),
				.nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
									 command),
				.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
				.nlmsg_seq = SEQ };
	request_len = sizeof(*h);
	return h;
}

static void add(uint16_t type, const void *data, size_t len)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)request;
	struct nlattr a = { .nla_len = (uint16_t)(sizeof(a) + len), .nla_type = type };

	memcpy(request + request_len, &a, sizeof(a));
	memcpy(request + request_len + sizeof(a), data, len);
	request_len += rnk_nl_padded(sizeof(a) + len);
	h->nlmsg_len = (uint32_t)request_len;
}

static void add_u32(uint16_t type, uint32_t value)
{
	add(type, &value, sizeof(value));
}

static void ask_bytes(const void *data, size_t len)
{
	answer_count = 0;
	answers_wanted = DATAGRAMS_MAX;
	assert_int_equal(rnk_nldev_answer(&view, &asker, data, len, keep, NULL), 0);
}

static void ask(void)
{
	ask_bytes(request, request_len);
}

static const struct nlmsghdr *header(unsigned i)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)answers[i].data;

	assert_true(i < answer_count);
	assert_int_equal(h->nlmsg_len, answers[i].len);
	assert_int_equal(h->nlmsg_seq, SEQ);
	assert_int_equal(h->nlmsg_pid, PORT_ID);
	return h;
}

/* Takes an answer of this command apart. */
static const struct rnk_nl_attr *answered(unsigned i, unsigned command)
{
	static struct rnk_nl_attr attr[ATTRS];
	const struct nlmsghdr *h = header(i);

	assert_int_equal(h->nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
	rnk_nl_parse((const uint8_t *)(h + 1), h->nlmsg_len - sizeof(*h), attr, ATTRS);
	return attr;
}

static void check_error(unsigned i, int error)
{
	const struct nlmsghdr *h = header(i);

	assert_int_equal(h->nlmsg_type, NLMSG_ERROR);
	assert_int_equal(((const struct nlmsgerr *)(const void *)(h + 1))->error, error);
}

static void check_refused(int error)
{
	ask();
	assert_int_equal(answer_count, 1);
	check_error(0, error);
}

static void check_done(unsigned i, int error)
{
	const struct nlmsghdr *h = header(i);

	assert_int_equal(h->nlmsg_type, NLMSG_DONE);
	assert_int_equal(*(const int32_t *)(const void *)(h + 1), error);
	assert_int_equal(answer_count, i + 1);
}

static void check_u32(const struct rnk_nl_attr *attr, unsigned type, uint32_t want)
{
	uint32_t value;

	assert_true(rnk_nl_u32(&attr[type], &value));
	assert_int_equal(value, want);
}

static void check_u64(const struct rnk_nl_attr *attr, unsigned type, uint64_t want)
{
	uint64_t value;

	assert_int_equal(attr[type].len, sizeof(value));
	memcpy(&value, attr[type].data, sizeof(value));
	assert_int_equal(value, want);
}

static void check_u8(const struct rnk_nl_attr *attr, unsigned type, uint8_t want)
{
	assert_int_equal(attr[type].len, 1);
	assert_int_equal(*attr[type].data, want);
}

static void check_text(const struct rnk_nl_attr *attr, unsigned type, const char *want)
{
	assert_true(rnk_nl_is_text(&attr[type], want));
}

/* The i-th attribute nested in another one, taken apart. */
static const struct rnk_nl_attr *nested(const struct rnk_nl_attr *table, unsigned i)
{
	static struct rnk_nl_attr attr[ATTRS];
	const uint8_t *at = table->data;
	size_t len = table->len;
	struct nlattr a;

	for (;; i--) {
		assert_true(len >= sizeof(a));
		memcpy(&a, at, sizeof(a));
		assert_true(a.nla_len <= len);
		if (!i)
			break;
		at += rnk_nl_padded(a.nla_len);
		len -= rnk_nl_padded(a.nla_len);
	}
	rnk_nl_parse(at + sizeof(a), a.nla_len - sizeof(a), attr, ATTRS);
	return attr;
}

static unsigned entries(const struct rnk_nl_attr *table)
{
	const uint8_t *at = table->data;
	unsigned count = 0;

	for (size_t left = table->len; left; count++) {
		struct nlattr a;

		memcpy(&a, at, sizeof(a));
		at += rnk_nl_padded(a.nla_len);
		left -= rnk_nl_padded(a.nla_len);
	}
	return count;
}

static const struct rnk_nl_attr *dumped(unsigned command, unsigned table)
{
	const struct rnk_nl_attr *attr;

	begin(command, NLM_F_DUMP);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	ask();
	check_done(1, 0);
	assert_true(header(0)->nlmsg_flags & NLM_F_MULTI);
	attr = answered(0, command);
	check_u32(attr, RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	check_text(attr, RDMA_NLDEV_ATTR_DEV_NAME, "rocin0");
	return &attr[table];
}

static const struct rnk_nl_attr *one(unsigned command, uint16_t id, uint32_t number,
				     bool of_port)
{
	begin(command, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	add_u32(id, number);
	if (of_port)
		add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	ask();
	assert_int_equal(answer_count, 1);
	return answered(0, command);
}

/* ---- Devices ---- */

static void devices_are_listed(void **state)
{
	const struct rnk_nl_attr *attr;

	(void)state;
	begin(RDMA_NLDEV_CMD_GET, NLM_F_DUMP | NLM_F_ACK);
	ask();
	check_done(2, 0);
	attr = answered(0, RDMA_NLDEV_CMD_GET);
	check_u32(attr, RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	check_text(attr, RDMA_NLDEV_ATTR_DEV_NAME, "rocin0");
	check_u32(attr, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	check_u64(attr, RDMA_NLDEV_ATTR_NODE_GUID, 0x061facdc9e6d62f2);
	check_u8(attr, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, 1);
	check_text(attr, RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
	check_text(answered(1, RDMA_NLDEV_CMD_GET), RDMA_NLDEV_ATTR_DEV_NAME, "rocin1");
}

static void one_device_is_told_and_acknowledged(void **state)
{
	(void)state;
	begin(RDMA_NLDEV_CMD_GET, NLM_F_ACK);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	ask();
	assert_int_equal(answer_count, 2);
	check_text(answered(0, RDMA_NLDEV_CMD_GET), RDMA_NLDEV_ATTR_DEV_NAME, "rocin1");
	check_error(1, 0);
	assert_true(header(1)->nlmsg_flags & NLM_F_CAPPED);
	begin(RDMA_NLDEV_CMD_GET, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 2);
	check_refused(-EINVAL);
	begin(RDMA_NLDEV_CMD_GET, 0);
	check_refused(-EINVAL);
}

static void ports_have_their_state_and_interface(void **state)
{
	const struct rnk_nl_attr *attr;

	(void)state;
	begin(RDMA_NLDEV_CMD_PORT_GET, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	ask();
	attr = answered(0, RDMA_NLDEV_CMD_GET);
	check_u8(attr, RDMA_NLDEV_ATTR_PORT_STATE, 4);
	check_u8(attr, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, 5);
	check_u32(attr, RDMA_NLDEV_ATTR_NDEV_INDEX, 1);
	check_text(attr, RDMA_NLDEV_ATTR_NDEV_NAME, "lo");
	begin(RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	ask();
	check_done(1, 0);
	attr = answered(0, RDMA_NLDEV_CMD_PORT_GET);
	check_u8(attr, RDMA_NLDEV_ATTR_PORT_STATE, 1);
	check_u8(attr, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, 3);
	assert_null(attr[RDMA_NLDEV_ATTR_NDEV_NAME].data);
	begin(RDMA_NLDEV_CMD_PORT_GET, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	check_refused(-EINVAL);
	add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, 2);
	check_refused(-EINVAL);
	begin(RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP);
	ask();
	check_done(0, -EINVAL);
}

static void device_nodes_have_their_numbers(void **state)
{
	const struct rnk_nl_attr *attr;

	(void)state;
	begin(RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	add(RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs", 7);
	ask();
	attr = answered(0, RDMA_NLDEV_CMD_GET_CHARDEV);
	check_text(attr, RDMA_NLDEV_ATTR_CHARDEV_NAME, "uverbs_rocin1");
	check_u64(attr, RDMA_NLDEV_ATTR_CHARDEV, 0x103);
	check_u64(attr, RDMA_NLDEV_ATTR_CHARDEV_ABI, 1);
	begin(RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	add(RDMA_NLDEV_ATTR_CHARDEV_TYPE, "rdma_cm", 8);
	ask();
	attr = answered(0, RDMA_NLDEV_CMD_GET_CHARDEV);
	check_text(attr, RDMA_NLDEV_ATTR_CHARDEV_NAME, "rdma_cm");
	check_u64(attr, RDMA_NLDEV_ATTR_CHARDEV, 10 << 8 | 62);
	check_u64(attr, RDMA_NLDEV_ATTR_CHARDEV_ABI, 4);
	begin(RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	check_refused(-EINVAL);
	add(RDMA_NLDEV_ATTR_CHARDEV_TYPE, "umad", 5);
	check_refused(-EOPNOTSUPP);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 7);
	check_refused(-EINVAL);
	begin(RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	add(RDMA_NLDEV_ATTR_CHARDEV_TYPE, "rdma_cm", 7); /* without its end */
	check_refused(-EOPNOTSUPP);
}

static void the_system_is_shared_and_nothing_is_changed(void **state)
{
	static const uint8_t changes[] = {
		RDMA_NLDEV_CMD_SET,	RDMA_NLDEV_CMD_NEWLINK,	 RDMA_NLDEV_CMD_DELLINK,
		RDMA_NLDEV_CMD_SYS_SET, RDMA_NLDEV_CMD_STAT_SET, RDMA_NLDEV_CMD_STAT_DEL
	};
	const struct rnk_nl_attr *attr;

	(void)state;
	begin(RDMA_NLDEV_CMD_SYS_GET, 0);
	ask();
	attr = answered(0, RDMA_NLDEV_CMD_SYS_GET);
	check_u8(attr, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
	check_u8(attr, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(changes); i++) {
		begin(changes[i], 0);
		add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
		check_refused(-EOPNOTSUPP);
	}
}

/* ---- Objects ---- */

static void queue_pairs_are_listed(void **state)
{
	const struct rnk_nl_attr *table, *attr;

	(void)state;
	table = dumped(RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP);
	assert_int_equal(entries(table), 2);
	attr = nested(table, 0);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_LQPN, 0x101);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_RQPN, 0x202);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_SQ_PSN, 70);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_RQ_PSN, 80);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_PDN, 3);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_PID, 100);
	check_u32(attr, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	check_u8(attr, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, 2);
	check_u8(attr, RDMA_NLDEV_ATTR_RES_TYPE, 2);
	check_u8(attr, RDMA_NLDEV_ATTR_RES_STATE, 3);
	attr = nested(table, 1);
	check_u8(attr, RDMA_NLDEV_ATTR_RES_TYPE, 4);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_SQ_PSN, 7);
	assert_null(attr[RDMA_NLDEV_ATTR_RES_RQPN].data);
	assert_null(attr[RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE].data);
	assert_null(attr[RDMA_NLDEV_ATTR_PORT_INDEX].data);
}

static void one_queue_pair_is_told(void **state)
{
	(void)state;
	check_u32(one(RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_LQPN, 0x101, true),
		  RDMA_NLDEV_ATTR_RES_RQPN, 0x202);
	begin(RDMA_NLDEV_CMD_RES_QP_GET, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	add_u32(RDMA_NLDEV_ATTR_RES_LQPN, 0x102);
	check_refused(-EINVAL); /* a queue pair is one of a port */
	add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	check_refused(-ENOENT);
	add_u32(RDMA_NLDEV_ATTR_RES_LQPN, 0x301); /* in RESET */
	check_refused(-ENOENT);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1); /* no queue pair of this device */
	add_u32(RDMA_NLDEV_ATTR_RES_LQPN, 0x101);
	check_refused(-ENOENT);
}

static void other_objects_are_told(void **state)
{
	const struct rnk_nl_attr *table, *attr;

	(void)state;
	table = dumped(RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD);
	assert_int_equal(entries(table), 3);
	attr = nested(table, 0);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_PDN, 3);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_CTXN, 8);
	check_u64(attr, RDMA_NLDEV_ATTR_RES_USECNT, 5);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_PID, 101);
	attr = one(RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQN, 11, false);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_CQE, 127);
	check_u64(attr, RDMA_NLDEV_ATTR_RES_USECNT, 2);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_CTXN, 8);
	attr = one(RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MRN, 12, false);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_LKEY, 0xabc);
	check_u64(attr, RDMA_NLDEV_ATTR_RES_MRLEN, 1ull << 33);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_PDN, 3);
	attr = one(RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQN, 14, false);
	check_u8(attr, RDMA_NLDEV_ATTR_RES_TYPE, 1);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_CQN, 11);
	attr = one(RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQN, 13, false);
	assert_null(attr[RDMA_NLDEV_ATTR_RES_CQN].data);
	table = dumped(RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX);
	assert_int_equal(entries(table), 2);
	check_u32(nested(table, 0), RDMA_NLDEV_ATTR_RES_CTXN, 8);
	check_u32(nested(table, 1), RDMA_NLDEV_ATTR_RES_CTXN, 9);
}

static void connection_ids_are_told(void **state)
{
	const struct rnk_nl_attr *table, *attr;

	(void)state;
	table = dumped(RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID);
	assert_int_equal(entries(table), 2);
	attr = nested(table, 0);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_PS, 0x106);
	check_u8(attr, RDMA_NLDEV_ATTR_RES_STATE, 8);
	assert_null(attr[RDMA_NLDEV_ATTR_RES_LQPN].data);
	assert_null(attr[RDMA_NLDEV_ATTR_RES_SRC_ADDR].data);
	attr = one(RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_IDN, 2, true);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_LQPN, 0x101);
	check_u32(attr, RDMA_NLDEV_ATTR_RES_PID, 200);
	assert_int_equal(attr[RDMA_NLDEV_ATTR_RES_SRC_ADDR].len,
			 sizeof(struct sockaddr_storage));
	assert_null(attr[RDMA_NLDEV_ATTR_RES_DST_ADDR].data);
}

/* Ids that are bound to no device are shown with each. */
static void connection_ids_are_those_of_the_device(void **state)
{
	const struct rnk_nl_attr *table;

	(void)state;
	strcpy(cm_ids[0].ibdev, "rocin1");
	table = dumped(RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID);
	assert_int_equal(entries(table), 1);
	check_u32(nested(table, 0), RDMA_NLDEV_ATTR_RES_CM_IDN, 2);
	cm_ids[0].ibdev[0] = '\0';
	table = dumped(RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID);
	assert_int_equal(entries(table), 2);
}

static void objects_are_counted(void **state)
{
	static const uint64_t want[] = { 3, 1, 2, 2, 1, 2, 2 };
	static const char *const name[] = {
		"pd", "cq", "qp", "cm_id", "mr", "ctx", "srq"
	};
	const struct rnk_nl_attr *table;

	(void)state;
	begin(RDMA_NLDEV_CMD_RES_GET, NLM_F_DUMP);
	ask();
	check_done(2, 0);
	table = &answered(0, RDMA_NLDEV_CMD_RES_GET)[RDMA_NLDEV_ATTR_RES_SUMMARY];
	assert_int_equal(entries(table), RN_ARRAY_SIZE(want));
	for (unsigned i = 0; i < RN_ARRAY_SIZE(want); i++) {
		check_text(nested(table, i), RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME,
			   name[i]);
		check_u64(nested(table, i), RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
			  want[i]);
	}
	begin(RDMA_NLDEV_CMD_RES_GET, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	ask();
	table = &answered(0, RDMA_NLDEV_CMD_RES_GET)[RDMA_NLDEV_ATTR_RES_SUMMARY];
	check_u64(nested(table, 2), RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, 0);
}

/* Each of ten thousand queue pairs is told once, in datagrams that fit. */
static void a_long_list_comes_in_parts(void **state)
{
	static struct rn_stats_qp many[10000];
	unsigned told = 0;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(many); i++)
		many[i] = (struct rn_stats_qp){ .qpn = 0x100 + i,
						.type = RN_QPT_RC,
						.state = RN_QPS_RTS };
	clients[0].copy.qp = many;
	clients[0].copy.qp_count = RN_ARRAY_SIZE(many);
	begin(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	ask();
	check_done(answer_count - 1, 0);
	for (unsigned i = 0; i + 1 < answer_count; i++) {
		const struct rnk_nl_attr table =
			answered(i, RDMA_NLDEV_CMD_RES_QP_GET)[RDMA_NLDEV_ATTR_RES_QP];

		check_u32(nested(&table, 0), RDMA_NLDEV_ATTR_RES_LQPN, 0x100 + told);
		told += entries(&table);
	}
	assert_int_equal(told, RN_ARRAY_SIZE(many));
	assert_true(answer_count < told / 20);
}

/* ---- Counters ---- */

static void counters_are_those_of_all_programs(void **state)
{
	static uint64_t ended[RN_STAT_COUNT];
	static struct rnk_nl_device dev;
	const struct rnk_nl_attr *table;

	(void)state;
	dev = devices[0];
	dev.ended = ended;
	ended[RN_STAT_TX_PACKETS] = 77;
	clients[1].copy.counter_count = RN_STAT_TX_PACKETS; /* an older program */
	view.device = &dev;
	view.device_count = 1;
	begin(RDMA_NLDEV_CMD_STAT_GET, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	check_refused(-EINVAL);
	add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	ask();
	assert_int_equal(answer_count, 1);
	table = &answered(0, RDMA_NLDEV_CMD_STAT_GET)[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS];
	assert_int_equal(entries(table), RN_STAT_COUNT);
	check_text(nested(table, RN_STAT_TX_PACKETS),
		   RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "sent_pkts");
	check_u64(nested(table, RN_STAT_TX_PACKETS),
		  RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, 1077);
	begin(RDMA_NLDEV_CMD_STAT_GET_STATUS, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	check_refused(-EINVAL);
	add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	ask();
	table = &answered(
		0, RDMA_NLDEV_CMD_STAT_GET_STATUS)[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS];
	check_u32(nested(table, 5), RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, 5);
}

static void no_counter_is_bound(void **state)
{
	(void)state;
	begin(RDMA_NLDEV_CMD_STAT_GET, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	add_u32(RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);
	ask();
	check_u32(answered(0, RDMA_NLDEV_CMD_STAT_GET), RDMA_NLDEV_ATTR_STAT_MODE, 0);
	add_u32(RDMA_NLDEV_ATTR_STAT_COUNTER_ID, 1);
	check_refused(-ENOENT);
	add_u32(RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_CQ);
	check_refused(-EINVAL);
	begin(RDMA_NLDEV_CMD_STAT_GET, NLM_F_DUMP);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	ask();
	check_done(0, -EINVAL);
	add_u32(RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_MR);
	ask();
	check_done(1, 0);
	assert_int_equal(
		answered(0, RDMA_NLDEV_CMD_STAT_GET)[RDMA_NLDEV_ATTR_STAT_COUNTER].len,
		0);
}

/* ---- Errors and what is hostile ---- */

static void unknown_commands_are_refused(void **state)
{
	(void)state;
	begin(0, 0);
	check_refused(-EINVAL);
	begin(1000, 0);
	check_refused(-EINVAL);
	begin(1000, NLM_F_DUMP);
	check_refused(-EINVAL);
	begin(RDMA_NLDEV_CMD_SYS_GET, NLM_F_DUMP);
	check_refused(-EINVAL);
	begin(RDMA_NLDEV_CMD_RES_QP_GET_RAW, 0);
	check_refused(-EOPNOTSUPP);
	begin(RDMA_NLDEV_CMD_RES_MR_GET_RAW, NLM_F_DUMP);
	ask();
	check_done(0, -EOPNOTSUPP);
	/* A service of its own, with a command that would succeed here. */
	begin(RDMA_NLDEV_CMD_SYS_GET, 0)->nlmsg_type =
		RDMA_NL_GET_TYPE(RDMA_NL_LS, RDMA_NLDEV_CMD_SYS_GET);
	check_refused(-EINVAL);
	begin(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 4);
	ask();
	check_done(0, -EINVAL);
}

/* The number of a command is any of ten bits. */
static void commands_of_later_kernels_are_refused(void **state)
{
	(void)state;
	for (unsigned i = RDMA_NLDEV_CMD_STAT_GET_STATUS + 1; i < 1024; i++) {
		begin(i, 0);
		check_refused(-EINVAL);
		begin(i, NLM_F_DUMP);
		check_refused(-EINVAL);
	}
}

static void errors_repeat_the_request_and_have_a_reason(void **state)
{
	static const char long_name[8000];
	const struct nlmsgerr *e;

	(void)state;
	begin(RDMA_NLDEV_CMD_NEWLINK, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0x12345);
	check_refused(-EOPNOTSUPP);
	assert_int_equal(header(0)->nlmsg_len,
			 sizeof(struct nlmsghdr) + sizeof(int) + request_len);
	e = (const struct nlmsgerr *)(const void *)(header(0) + 1);
	assert_memory_equal(&e->msg, request, request_len);
	asker.wants_capped = asker.wants_reasons = true;
	check_refused(-EOPNOTSUPP);
	assert_int_equal(header(0)->nlmsg_flags, NLM_F_CAPPED | NLM_F_ACK_TLVS);
	assert_non_null(
		memmem(answers[0].data, answers[0].len, "rocin run --netdev", 18));
	/* What is too long is not repeated. */
	asker = (struct rnk_nl_asker){ .port_id = PORT_ID };
	begin(RDMA_NLDEV_CMD_NEWLINK, 0);
	add(RDMA_NLDEV_ATTR_DEV_NAME, long_name, sizeof(long_name));
	check_refused(-EOPNOTSUPP);
	assert_true(header(0)->nlmsg_flags & NLM_F_CAPPED);
}

static void only_requests_are_carried_out(void **state)
{
	(void)state;
	begin(RDMA_NLDEV_CMD_SYS_GET, 0)->nlmsg_flags = 0;
	ask();
	assert_int_equal(answer_count, 0);
	begin(RDMA_NLDEV_CMD_SYS_GET, NLM_F_ACK)->nlmsg_type = NLMSG_NOOP;
	ask();
	assert_int_equal(answer_count, 1);
	check_error(0, 0);
}

static void requests_in_one_datagram_are_answered_in_order(void **state)
{
	uint8_t both[2 * sizeof(struct nlmsghdr)];

	(void)state;
	begin(RDMA_NLDEV_CMD_SYS_GET, 0);
	memcpy(both, request, sizeof(struct nlmsghdr));
	begin(RDMA_NLDEV_CMD_NEWLINK, 0);
	memcpy(both + sizeof(struct nlmsghdr), request, sizeof(struct nlmsghdr));
	ask_bytes(both, sizeof(both));
	assert_int_equal(answer_count, 2);
	(void)answered(0, RDMA_NLDEV_CMD_SYS_GET);
	check_error(1, -EOPNOTSUPP);
}

/* A request cut at each length, at an odd address, in memory that ends there. */
static void truncated_requests_do_no_harm(void **state)
{
	struct nlmsghdr h;

	(void)state;
	begin(RDMA_NLDEV_CMD_RES_QP_GET, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	add_u32(RDMA_NLDEV_ATTR_RES_LQPN, 0x101);
	for (size_t len = 0; len < request_len; len++) {
		uint8_t *copy = malloc(len + 2);

		assert_non_null(copy);
		memcpy(copy + 1, request, len);
		ask_bytes(copy + 1, len); /* shorter than its header says */
		assert_int_equal(answer_count, 0);
		if (len >= sizeof(h)) {
			memcpy(&h, request, sizeof(h));
			h.nlmsg_len = (uint32_t)len;
			memcpy(copy + 1, &h, sizeof(h));
			ask_bytes(copy + 1, len);
			assert_int_equal(answer_count, 1);
			check_error(0, -EINVAL);
		}
		free(copy);
	}
}

/* Nothing behind a header that says that it is shorter than itself is looked at. */
static void a_request_shorter_than_its_header_ends_the_datagram(void **state)
{
	(void)state;
	for (uint32_t len = sizeof(struct nlmsghdr); len--;) {
		begin(RDMA_NLDEV_CMD_SYS_GET, 0)->nlmsg_len = len;
		ask();
		assert_int_equal(answer_count, 0);
	}
}

/* The place behind a table of attributes is not that of an attribute. */
static void attributes_behind_the_table_are_skipped(void **state)
{
	struct rnk_nl_attr attr[RDMA_NLDEV_ATTR_DEV_NAME + 1] = { { NULL, 0 } };

	(void)state;
	begin(RDMA_NLDEV_CMD_GET, 0);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	add(RDMA_NLDEV_ATTR_DEV_NAME, "rocin0", 7);
	rnk_nl_parse(request + sizeof(struct nlmsghdr),
		     request_len - sizeof(struct nlmsghdr), attr,
		     RDMA_NLDEV_ATTR_DEV_NAME);
	check_u32(attr, RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	assert_null(attr[RDMA_NLDEV_ATTR_DEV_NAME].data);
}

static void attributes_that_are_wrong_count_as_missing(void **state)
{
	const uint16_t bad[] = { 0, 3, 0xffff };

	(void)state;
	begin(RDMA_NLDEV_CMD_GET, 0);
	add(RDMA_NLDEV_ATTR_DEV_INDEX, "\0\0", 2); /* too short */
	check_refused(-EINVAL);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(bad); i++) {
		begin(RDMA_NLDEV_CMD_GET, 0);
		add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
		memcpy(request + sizeof(struct nlmsghdr), &bad[i], sizeof(bad[i]));
		check_refused(-EINVAL);
	}
	/* Types from the future are skipped. */
	begin(RDMA_NLDEV_CMD_GET, 0);
	add_u32(0x3fff, 1);
	add_u32(RDMA_NLDEV_ATTR_DEV_INDEX | NLA_F_NESTED, 1);
	ask();
	check_text(answered(0, RDMA_NLDEV_CMD_GET), RDMA_NLDEV_ATTR_DEV_NAME, "rocin1");
}

static int stop(void *ctx, const void *data, size_t len)
{
	(void)data;
	(void)len;
	++*(unsigned *)ctx;
	return -EPIPE;
}

static void a_receiver_that_has_gone_ends_the_answer(void **state)
{
	unsigned calls = 0;

	(void)state;
	begin(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	assert_int_equal(
		rnk_nldev_answer(&view, &asker, request, request_len, stop, &calls),
		-EPIPE);
	assert_int_equal(calls, 1);
}

static void only_what_needs_programs_asks_for_them(void **state)
{
	(void)state;
	begin(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	assert_int_equal(rnk_nldev_needs(request, request_len), 0);
	begin(RDMA_NLDEV_CMD_RES_CM_ID_GET, NLM_F_DUMP);
	assert_int_equal(rnk_nldev_needs(request, request_len), RNK_NL_CM_IDS);
	begin(RDMA_NLDEV_CMD_STAT_GET, 0);
	assert_int_equal(rnk_nldev_needs(request, request_len), RNK_NL_PROGRAMS);
	assert_int_equal(rnk_nldev_needs(request, request_len - 1), 0);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup(fn, make_view)
	const struct CMUnitTest tests[] = {
		TEST(devices_are_listed),
		TEST(one_device_is_told_and_acknowledged),
		TEST(ports_have_their_state_and_interface),
		TEST(device_nodes_have_their_numbers),
		TEST(the_system_is_shared_and_nothing_is_changed),
		TEST(queue_pairs_are_listed),
		TEST(one_queue_pair_is_told),
		TEST(other_objects_are_told),
		TEST(connection_ids_are_told),
		TEST(connection_ids_are_those_of_the_device),
		TEST(objects_are_counted),
		TEST(a_long_list_comes_in_parts),
		TEST(counters_are_those_of_all_programs),
		TEST(no_counter_is_bound),
		TEST(unknown_commands_are_refused),
		TEST(commands_of_later_kernels_are_refused),
		TEST(errors_repeat_the_request_and_have_a_reason),
		TEST(only_requests_are_carried_out),
		TEST(requests_in_one_datagram_are_answered_in_order),
		TEST(truncated_requests_do_no_harm),
		TEST(a_request_shorter_than_its_header_ends_the_datagram),
		TEST(attributes_behind_the_table_are_skipped),
		TEST(attributes_that_are_wrong_count_as_missing),
		TEST(a_receiver_that_has_gone_ends_the_answer),
		TEST(only_what_needs_programs_asks_for_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
