/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_inject.c - another user of this host, who knows all that can be known about a
 * connection, sends into it with plain sockets: from the port of RoCEv2 and the address
 * of the peer, which IP_PKTINFO allows. With ROCIN_NEIGHBOURS=all that succeeds;
 * otherwise nothing of it counts.
 */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"
#include "verbs_kit.h"

enum {
	NOBODY = 65534,
	PSN = 0xfffffe, /* with which queue pairs of the kit begin */
	LENGTH = 16,
	PACKET_MAX = 128,
};

static bool succeeds; /* do the packets count? */

/* ------------------------------------------------------------------- the attacker */
/* A socket whose source port is that of RoCEv2, at an address that no device has. */
static int forger_socket(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT),
				  .sin_addr.s_addr = htonl(0x7f4d0000 |
							   (uint32_t)getpid() % 65534) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), discover = IP_PMTUDISC_DO;

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)))
		_exit(1);
	return fd;
}

static void send_forged(const union ibv_gid *gid, const uint8_t *pkt, size_t len)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT) };
	union {
		char buf[CMSG_SPACE(sizeof(struct in_pktinfo))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct in_pktinfo info = { 0 };
	struct iovec iov = { (void *)pkt, len };
	struct msghdr msg = { .msg_name = &to,
			      .msg_namelen = sizeof(to),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control.buf) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	memcpy(&to.sin_addr, gid->raw + 12, 4);
	memcpy(&info.ipi_spec_dst, gid->raw + 12, 4);
	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	if (sendmsg(forger_socket(), &msg, 0) != (ssize_t)len)
		_exit(2);
}

/* Sends the packet, whose last 4 bytes will be its ICRC, as another user. */
static void attack(const struct kit *k, uint8_t *pkt, size_t len)
{
	struct rn_flow flow = { .sport = RN_ROCE_PORT };
	int status;
	pid_t pid;

	memcpy(&flow.src, k->gid.raw, sizeof(flow.src));
	flow.dst = flow.src;
	rn_icrc_seal(&flow, 0, pkt, len - RN_ICRC_LEN);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(3);
		send_forged(&k->gid, pkt, len);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static uint8_t *put_bth(uint8_t *p, uint8_t opcode, uint32_t qpn, uint32_t psn)
{
	const struct rn_bth bth = {
		.opcode = opcode, .pkey = 0xffff, .dest_qpn = qpn, .psn = rn_psn(psn)
	};

	return rn_bth_emit(p, &bth);
}

/* ------------------------------------------------------------------------- attacks */
/* Lets the device see what has been sent. */
static void look(struct kit *k)
{
	struct ibv_wc wc;

	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(ibv_poll_cq(k->cq, 0, &wc), 0);
		usleep(100);
	}
}

static void data_is_written_into_a_connection(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];
	uint8_t pkt[PACKET_MAX] = { 0 }, *p;
	const struct rn_reth reth = { .va = (uintptr_t)k->buf,
				      .rkey = k->mr->rkey,
				      .dma_len = LENGTH };

	kit_pair(k, IBV_QPT_RC, qp);
	memset(k->buf, 0, LENGTH);
	p = put_bth(pkt, RN_RC_WRITE_ONLY, qp[1]->qp_num, PSN);
	p = rn_reth_emit(p, &reth);
	memset(p, 0xee, LENGTH);
	p += LENGTH + RN_ICRC_LEN;
	attack(k, pkt, (size_t)(p - pkt));
	look(k);
	assert_int_equal(k->buf[0], succeeds ? 0xee : 0);
	kit_destroy_pair(qp);
}

/* The request waits for a receive that nobody posts; a NAK ends it, and the queue pair.
 */
static void a_request_is_ended_by_a_nak(void **state)
{
	struct kit *k = *state;
	struct ibv_sge sge = kit_sge(k, 0, 0, LENGTH);
	struct ibv_send_wr wr = { .wr_id = 7,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	const struct rn_aeth aeth = { .syndrome = rn_aeth_syndrome(RN_AETH_NAK,
								   RN_NAK_INVALID_REQ) };
	struct ibv_qp *qp[2];
	uint8_t pkt[PACKET_MAX] = { 0 }, *p;
	struct ibv_wc wc = { 0 };

	kit_pair(k, IBV_QPT_RC, qp);
	kit_post_send(qp[0], &wr);
	p = put_bth(pkt, RN_RC_ACK, qp[0]->qp_num, PSN);
	p = rn_aeth_emit(p, &aeth) + RN_ICRC_LEN;
	attack(k, pkt, (size_t)(p - pkt));
	if (succeeds) {
		wc = kit_wait(k->cq);
		assert_int_equal(wc.status, IBV_WC_REM_INV_REQ_ERR);
	} else {
		look(k);
	}
	kit_destroy_pair(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(data_is_written_into_a_connection,
						kit_setup, kit_teardown),
		cmocka_unit_test_setup_teardown(a_request_is_ended_by_a_nak, kit_setup,
						kit_teardown),
	};
	const char *who = getenv("ROCIN_NEIGHBOURS");

	if (geteuid() != 0)
		return 77; /* cannot become another user */
	succeeds = who && strcmp(who, "all") == 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
