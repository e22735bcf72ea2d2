/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_raw_senders.c - whose frames a raw packet queue pair receives: those of other
 * processes, from outside, and of the kernel.
 *
 * Needs an interface as verbs_raw.c does.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/provider/kit/raw_kit.h"

enum {
	PORT = 4001,
	FLOOD = 4003,
	FLOOD_LEN = 1000,
	FLOOD_COUNT = 20000, /* more frames than any receive buffer has room for */
};

static void frames_from_outside_come_too(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	struct ibv_flow *end = raw_flow_port(qp, RAW_END);
	int fd = raw_outside();

	for (unsigned i = 0; i < 2; i++)
		raw_post(k, qp, i);
	raw_write_frame(k, PORT, RAW_LEN, 1);
	raw_send_from(fd, k, RAW_LEN);
	raw_write_frame(k, RAW_END, RAW_LEN, 2);
	raw_send_from(fd, k, RAW_LEN);
	raw_expect(k, qp, 0, PORT, RAW_LEN);
	raw_expect(k, qp, 1, RAW_END, RAW_LEN);
	close(fd);
	raw_flow_end(flow);
	raw_flow_end(end);
	raw_end(qp);
}

/* A frame raises a completion event even while the program does not poll. */
static void a_frame_raises_the_completion_event(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	int fd = raw_outside();

	for (unsigned i = 0; i < 3; i++) {
		struct pollfd p = { .fd = k->channel->fd, .events = POLLIN };
		struct ibv_cq *cq;
		void *ctx;

		raw_post(k, qp, i);
		assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
		kit_expect_none(k->cq);
		raw_write_frame(k, PORT, RAW_LEN, (uint8_t)i);
		raw_send_from(fd, k, RAW_LEN);
		assert_int_equal(poll(&p, 1, 300000), 1);
		assert_int_equal(ibv_get_cq_event(k->channel, &cq, &ctx), 0);
		assert_ptr_equal(cq, k->cq);
		ibv_ack_cq_events(cq, 1);
		raw_expect(k, qp, i, PORT, RAW_LEN);
	}
	close(fd);
	raw_flow_end(flow);
	raw_end(qp);
}

/* Frames that the kernel's own stack sends are not looped back to raw packet QPs, as with
 * a NIC. On lo they are received as from outside.
 */
static void the_kernels_own_frames_do_not_loop_back(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	struct ibv_flow *end = raw_flow_port(qp, RAW_END);
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(PORT),
				  .sin_addr.s_addr = htonl(0xe0000155) };
	const char *name = getenv("RAW_NETDEV");
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ip_mreqn via = { .imr_ifindex = (int)if_nametoindex(name ? name : "lo") };
	unsigned n = 0;

	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &via, sizeof(via)),
			 0);
	assert_int_equal(
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &(int){ 0 }, sizeof(int)),
		0);
	raw_post(k, qp, 0);
	raw_post(k, qp, 1);
	assert_int_equal(sendto(fd, "hello", 5, 0, (struct sockaddr *)&to, sizeof(to)),
			 5);
	raw_send_to(k, qp, RAW_END);
	if (via.imr_ifindex == 1)
		assert_int_equal(raw_expect(k, qp, n++, PORT, RAW_HDR + 5).wc_flags,
				 /* the kernel left the checksum to the hardware */
				 IBV_WC_IP_CSUM_OK);
	raw_expect(k, qp, n, RAW_END, RAW_LEN);
	close(fd);
	raw_flow_end(flow);
	raw_flow_end(end);
	raw_end(qp);
}

/* The other process. Told 's', it sends two frames. Told 'l', it adds a rule for FLOOD
 * and answers. It ends when the other end of the pipe is closed.
 */
static void do_as_told(int fd, int answer)
{
	void *state;
	struct kit *k;
	struct ibv_qp *qp;
	char byte;

	kit_setup(&state);
	k = state;
	qp = raw_qp(k);
	while (read(fd, &byte, 1) == 1) {
		if (byte == 's') {
			raw_send_to(k, qp, PORT);
			raw_send_to(k, qp, RAW_END);
		} else {
			raw_flow_port(qp, FLOOD);
			assert_int_equal(write(answer, &byte, 1), 1);
		}
	}
	_exit(0);
}

static pid_t other_process;
static int to_other = -1, from_other = -1;

/* Forks before this process opens its device, because the child must not inherit one. */
static int start_other_process(void **state)
{
	int fd[2], answer[2];

	(void)state;
	if (pipe(fd) < 0 || pipe(answer) < 0)
		return -1;
	other_process = fork();
	if (other_process == 0) {
		/* a process group of its own, so that only this process is stopped */
		setsid();
		close(fd[1]);
		do_as_told(fd[0], answer[1]);
	}
	close(fd[0]);
	close(answer[1]);
	to_other = fd[1];
	from_other = answer[0];
	return other_process < 0 ? -1 : 0;
}

static int end_other_process(void **state)
{
	int status;

	(void)state;
	close(to_other);
	return waitpid(other_process, &status, 0) == other_process && status == 0 ? 0
										  : -1;
}

static void frames_of_other_processes_come_once(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	struct ibv_flow *end = raw_flow_port(qp, RAW_END);

	for (unsigned i = 0; i < 6; i++)
		raw_post(k, qp, i);
	for (unsigned i = 0; i < 6; i += 2) {
		assert_int_equal(write(to_other, "s", 1), 1);
		raw_expect(k, qp, i, PORT, RAW_LEN);
		raw_expect(k, qp, i + 1, RAW_END, RAW_LEN);
	}
	raw_flow_end(flow);
	raw_flow_end(end);
	raw_end(qp);
}

/* Returns true if `rocin stat` shows an overflow for any process. */
static bool overflow_is_shown(void)
{
	// NOLINTNEXTLINE(cert-env33-c): the test's own tool
	FILE *f = popen("rocin stat --json", "r");
	char line[65536];
	unsigned long most = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		for (const char *at = line; (at = strstr(at, "\"rx_sock_overflow\":"));) {
			unsigned long n = strtoul(strchr(at, ':') + 1, NULL, 10);

			most = n > most ? n : most;
			at++;
		}
	pclose(f);
	return most > 0;
}

/* While the other process is stopped, its socket drops frames. The kernel reports the
 * number with the next frame that the process receives.
 */
static void frames_that_found_no_room_are_counted(void **state)
{
	struct kit *k = *state;
	time_t end = time(NULL) + 20;
	int fd = raw_outside(), status;
	char byte;

	assert_int_equal(write(to_other, "l", 1), 1);
	assert_int_equal(read(from_other, &byte, 1), 1);
	assert_false(overflow_is_shown());
	assert_int_equal(kill(other_process, SIGSTOP), 0);
	assert_int_equal(waitpid(other_process, &status, WUNTRACED), other_process);
	raw_write_frame(k, FLOOD, FLOOD_LEN, 0);
	for (unsigned i = 0; i < FLOOD_COUNT; i++)
		raw_send_from(fd, k, FLOOD_LEN);
	assert_int_equal(kill(other_process, SIGCONT), 0);
	do {
		assert_true(time(NULL) < end);
		raw_send_from(fd, k, FLOOD_LEN);
	} while (!overflow_is_shown());
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_from_outside_come_too),
		TEST(a_frame_raises_the_completion_event),
		TEST(the_kernels_own_frames_do_not_loop_back),
		TEST(frames_of_other_processes_come_once),
		TEST(frames_that_found_no_room_are_counted),
	};

	raw_need_privilege();
	return cmocka_run_group_tests(tests, start_other_process, end_other_process);
}
