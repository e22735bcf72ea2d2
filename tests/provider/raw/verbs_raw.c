/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_raw.c - raw packet queue pairs: sending and receiving whole Ethernet frames.
 *
 * Needs an interface without other traffic: lo, or one end of a veth pair in a network
 * namespace of its own. RAW_PEER names the other end of the pair.
 */
#include <linux/capability.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/provider/kit/raw_kit.h"

enum {
	PORT = 4001,
	OTHER = 4002,
};

/* ------------------------------------------------------------------ privilege */
static void set_net_raw(bool on)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	const uint32_t bit = 1u << CAP_NET_RAW;

	assert_int_equal(syscall(SYS_capget, &head, data), 0);
	data[0].effective = on ? data[0].effective | bit : data[0].effective & ~bit;
	assert_int_equal(syscall(SYS_capset, &head, data), 0);
}

static void without_the_capability_there_is_none(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_qp *qp;

	set_net_raw(false);
	errno = 0;
	assert_null(ibv_create_qp(k->pd, &attr));
	assert_int_equal(errno, EPERM);
	set_net_raw(true);
	qp = ibv_create_qp(k->pd, &attr);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* ----------------------------------------------------------------- refusals */
static void what_the_device_has_not_it_says(void **state)
{
	struct kit *k = *state;
	struct ibv_flow_action_esp_attr esp = { .comp_mask = 0 };
	struct ibv_device_attr_ex a;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &a), 0);
	assert_int_equal(a.raw_packet_caps, IBV_RAW_PACKET_CAP_IP_CSUM);
	assert_int_equal(a.tso_caps.max_tso, 0);
	assert_false(a.packet_pacing_caps.supported_qpts & 1u << IBV_QPT_RAW_PACKET);
	assert_true(a.orig_attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING);
	assert_null(ibv_create_flow_action_esp(k->ctx, &esp));
	assert_int_equal(errno, EOPNOTSUPP);
}

static void offloads_are_not_supported(void **state)
{
	struct kit *k = *state;

	assert_null(raw_create(k, IBV_QP_CREATE_SCATTER_FCS, 0));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(raw_create(k, IBV_QP_CREATE_CVLAN_STRIPPING, 0));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(raw_create(k, 0, IBV_QP_EX_WITH_TSO));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(raw_create(k, 0, IBV_QP_EX_WITH_SEND_WITH_IMM));
	assert_int_equal(errno, EOPNOTSUPP);
}

static void states_take_the_port_and_nothing_else(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_create(k, 0, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
	assert_int_equal(
		ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX),
		EINVAL);
	attr.port_num = 2;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), EINVAL);
	raw_to_rts(qp);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(init.qp_type, IBV_QPT_RAW_PACKET);
	assert_int_equal(init.cap.max_recv_wr, KIT_WR);
	raw_end(qp);
}

static void work_requests_it_has_not_are_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, RAW_LEN);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;

	for (unsigned op = IBV_WR_RDMA_WRITE; op <= IBV_WR_TSO; op++) {
		if (op == IBV_WR_SEND)
			continue;
		wr.opcode = (enum ibv_wr_opcode)op;
		assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	}
	raw_end(qp);
}

/* ------------------------------------------------------------------- frames */
static void a_frame_comes_as_it_was_sent(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *a = raw_qp(k), *b = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(b, PORT);

	for (unsigned i = 0; i < 20; i++) {
		raw_post(k, b, i);
		raw_write_frame(k, PORT, RAW_HDR + i * 50, (uint8_t)i);
		raw_send(k, a, RAW_HDR + i * 50);
		raw_expect(k, b, i, PORT, RAW_HDR + i * 50);
	}
	kit_expect_none(k->cq);
	raw_flow_end(flow);
	raw_end(a);
	raw_end(b);
}

/* If a frame came twice, the second receive would have a copy of the first frame. */
static void each_frame_comes_once_also_to_its_sender(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	struct ibv_flow *end = raw_flow_port(qp, RAW_END);

	for (unsigned i = 0; i < 4; i++)
		raw_post(k, qp, i);
	raw_send_to(k, qp, PORT);
	raw_send_to(k, qp, OTHER); /* a port that no rule matches */
	raw_send_to(k, qp, RAW_END);
	raw_expect(k, qp, 0, PORT, RAW_LEN);
	raw_expect(k, qp, 1, RAW_END, RAW_LEN);
	raw_flow_end(flow);
	raw_send_to(k, qp, PORT);
	raw_send_to(k, qp, RAW_END);
	raw_expect(k, qp, 2, RAW_END, RAW_LEN);
	raw_flow_end(end);
	raw_end(qp);
}

static void inline_data_and_several_pieces_make_one_frame(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	struct ibv_sge sg[3] = { kit_sge(k, 0, 0, 20), kit_sge(k, 0, 20, 0),
				 kit_sge(k, 0, 20, RAW_LEN - 20) };
	struct ibv_send_wr wr = { .wr_id = 8,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = sg,
				  .num_sge = 3 };

	for (unsigned i = 0; i < 2; i++) {
		raw_post(k, qp, i);
		raw_write_frame(k, PORT, RAW_LEN, (uint8_t)i);
		kit_post_send(qp, &wr);
		kit_expect(qp->send_cq, 8, IBV_WC_SEND);
		raw_expect(k, qp, i, PORT, RAW_LEN);
		wr.send_flags |= IBV_SEND_INLINE;
	}
	raw_flow_end(flow);
	raw_end(qp);
}

static void requests_may_be_built_by_calls(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_create(k, 0, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_ex *ex;
	struct ibv_flow *flow;

	assert_non_null(qp);
	ex = ibv_qp_to_qp_ex(qp);
	assert_non_null(ex);
	raw_to_rts(qp);
	flow = raw_flow_port(qp, PORT);
	raw_post(k, qp, 0);
	raw_post(k, qp, 1);
	raw_write_frame(k, PORT, RAW_LEN, 1);
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, RAW_LEN);
	ex->wr_flags = 0;
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, k->buf, RAW_LEN);
	assert_int_equal(ibv_wr_complete(ex), 0);
	kit_expect(qp->send_cq, 7, IBV_WC_SEND);
	raw_expect(k, qp, 0, PORT, RAW_LEN);
	raw_expect(k, qp, 1, PORT, RAW_LEN);
	raw_flow_end(flow);
	raw_end(qp);
}

/* Sends the same frame twice: first with wrong checksums, then with a request to the
 * device to fill them in.
 */
static void checksums_are_filled_and_checked(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	struct ibv_sge sge = kit_sge(k, 0, 0, RAW_LEN);
	struct ibv_send_wr wr = { .wr_id = 8,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 };
	const uint8_t *got = k->buf + KIT_HALF + RAW_SLOT;

	raw_write_frame(k, PORT, RAW_LEN, 3);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_wc wc;

		raw_post(k, qp, i);
		kit_post_send(qp, &wr);
		kit_expect(qp->send_cq, 8, IBV_WC_SEND);
		wc = kit_expect(k->cq, i, IBV_WC_RECV);
		assert_int_equal(wc.wc_flags, i == 1 ? IBV_WC_IP_CSUM_OK : 0);
		wr.send_flags |= IBV_SEND_IP_CSUM;
	}
	assert_memory_equal(got, k->buf, 24);
	assert_memory_not_equal(got + 24, k->buf + 24, 2); /* IPv4 checksum */
	assert_memory_not_equal(got + 40, k->buf + 40, 2); /* UDP checksum */
	assert_memory_equal(got + RAW_HDR, k->buf + RAW_HDR, RAW_LEN - RAW_HDR);
	raw_flow_end(flow);
	raw_end(qp);
}

static void a_vlan_tag_stays_where_it_was(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	int fd = raw_outside();

	for (unsigned i = 0; i < 2; i++) {
		raw_post(k, qp, i);
		raw_write_frame(k, PORT, RAW_LEN, 9);
		memmove(k->buf + 16, k->buf + 12, RAW_LEN - 12);
		memcpy(k->buf + 12, "\x81\x00\xa0\x05", 4);
		if (i == 0)
			raw_send(k, qp, RAW_LEN + 4);
		else
			raw_send_from(fd, k, RAW_LEN + 4);
		assert_int_equal(kit_expect(k->cq, i, IBV_WC_RECV).byte_len, RAW_LEN + 4);
		assert_memory_equal(k->buf + KIT_HALF + i * RAW_SLOT, k->buf,
				    RAW_LEN + 4);
	}
	close(fd);
	raw_flow_end(flow);
	raw_end(qp);
}

static uint32_t mtu_of_device(void)
{
	const char *name = getenv("RAW_NETDEV");
	struct ifreq req = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strncpy(req.ifr_name, name ? name : "lo", sizeof(req.ifr_name) - 1);
	assert_int_equal(ioctl(fd, SIOCGIFMTU, &req), 0);
	close(fd);
	return (uint32_t)req.ifr_mtu;
}

/* The send request succeeds although the frame is dropped, as with a NIC, whose port
 * drops it after the completion.
 */
static void a_frame_that_is_longer_than_the_mtu_is_lost(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	struct ibv_flow *end = raw_flow_port(qp, RAW_END);
	uint32_t longest = mtu_of_device() + 14;

	if (longest < RAW_SLOT) {
		raw_post(k, qp, 0);
		raw_post(k, qp, 1);
		raw_write_frame(k, PORT, longest, 1);
		raw_send(k, qp, longest);
		raw_expect(k, qp, 0, PORT, longest);
		raw_write_frame(k, PORT, longest + 5, 1);
		raw_send(k, qp, longest + 5);
		raw_send_to(k, qp, RAW_END);
		raw_expect(k, qp, 1, RAW_END, RAW_LEN);
	}
	raw_flow_end(end);
	raw_flow_end(flow);
	raw_end(qp);
}

static void a_shared_receive_queue_serves_frames_too(void **state)
{
	struct kit *k = *state;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(k->pd, &init);
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .srq = srq,
					 .qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_sge sge = kit_sge(k, 1, 0, RAW_SLOT);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp *sender = raw_qp(k), *qp;
	struct ibv_flow *flow;

	assert_non_null(srq);
	qp = ibv_create_qp(k->pd, &attr);
	assert_non_null(qp);
	raw_to_rts(qp);
	flow = raw_flow_port(qp, PORT);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	raw_send_to(k, sender, PORT);
	raw_expect(k, qp, 0, PORT, RAW_LEN);
	raw_flow_end(flow);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	raw_end(sender);
}

/* ------------------------------------------------------------------- errors */
static void a_receive_that_is_too_short_ends_the_queue_pair(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *a = raw_qp(k), *b = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(b, PORT);
	struct ibv_wc wc;

	kit_post_recv(k, b, 1, kit_sge(k, 1, 0, RAW_LEN - 1));
	raw_post(k, b, 2);
	raw_send_to(k, a, PORT);
	wc = kit_wait(k->cq);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	wc = kit_wait(k->cq);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	/* The rule stays attached to the QP after the error and after a reset. */
	kit_to_state(b, IBV_QPS_RESET);
	raw_to_rts(b);
	raw_post(k, b, 3);
	raw_send_to(k, a, PORT);
	raw_expect(k, b, 3, PORT, RAW_LEN);
	raw_flow_end(flow);
	raw_end(a);
	raw_end(b);
}

static void without_a_receive_a_frame_is_lost(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *a = raw_qp(k), *b = raw_qp(k), *last = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(b, PORT);
	struct ibv_flow *end = raw_flow_port(last, RAW_END);

	raw_post(k, last, 0);
	raw_send_to(k, a, PORT);
	raw_send_to(k, a, RAW_END);
	/* has come, so the first frame has been handled */
	raw_expect(k, last, 0, RAW_END, RAW_LEN);
	raw_post(k, b, 1);
	raw_write_frame(k, PORT, RAW_LEN, 77);
	raw_send(k, a, RAW_LEN);
	raw_expect(k, b, 1, PORT, RAW_LEN);
	raw_flow_end(flow);
	raw_flow_end(end);
	raw_end(a);
	raw_end(b);
	raw_end(last);
}

static void memory_that_may_not_be_read_fails_the_send(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, RAW_LEN);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1
	};
	struct ibv_wc wc;

	sge.lkey += 0x100;
	kit_post_send(qp, &wr);
	wc = kit_wait(qp->send_cq);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	kit_to_state(qp, IBV_QPS_RTS); /* from the SQE state */
	raw_send_to(k, qp, PORT);
	kit_to_state(qp, IBV_QPS_ERR);
	raw_post(k, qp, 2);
	wc = kit_wait(k->cq);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	raw_end(qp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_the_capability_there_is_none),
		TEST(what_the_device_has_not_it_says),
		TEST(offloads_are_not_supported),
		TEST(states_take_the_port_and_nothing_else),
		TEST(work_requests_it_has_not_are_refused),
		TEST(a_frame_comes_as_it_was_sent),
		TEST(each_frame_comes_once_also_to_its_sender),
		TEST(inline_data_and_several_pieces_make_one_frame),
		TEST(requests_may_be_built_by_calls),
		TEST(checksums_are_filled_and_checked),
		TEST(a_vlan_tag_stays_where_it_was),
		TEST(a_frame_that_is_longer_than_the_mtu_is_lost),
		TEST(a_shared_receive_queue_serves_frames_too),
		TEST(a_receive_that_is_too_short_ends_the_queue_pair),
		TEST(without_a_receive_a_frame_is_lost),
		TEST(memory_that_may_not_be_read_fails_the_send),
	};

	raw_need_privilege();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
