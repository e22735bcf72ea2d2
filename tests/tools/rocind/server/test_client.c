/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_client.c - what rocind keeps of its clients, and what it tells each of them of
 * the others.
 */
#include "tests/tools/rocind/kit/server_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocin/stats.h"
#include "tools/rocind/server/server.h"
#include "transport/io/capture/capture_ring.h"
#include "transport/io/host/log.h"
#include "transport/io/rocind/stats_ended.h"

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);
void __wrap_rn_log(enum rn_log_level level, const char *fmt, ...);

ssize_t __real_recv(int fd, void *buf, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags);

static bool is_another_user;
static bool is_recv_denied; /* as by a sandbox */
static unsigned warnings;

uid_t __wrap_geteuid(void)
{
	return __real_geteuid() + (is_another_user ? 1 : 0);
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
	if (!is_recv_denied)
		return __real_recv(fd, buf, len, flags);
	errno = EPERM;
	return -1;
}

void __wrap_rn_log(enum rn_log_level level, const char *fmt, ...)
{
	(void)fmt;
	warnings += level <= RN_LOG_WARN;
}

static int setup(void **state)
{
	/* Whoever uses memory that has been freed does not find what was there. */
	mallopt(M_PERTURB, 0x5a);
	is_another_user = is_recv_denied = false;
	warnings = 0;
	return server_setup(state);
}

/* ---- Who is a client ---- */

static void rocind_serves_its_own_user_only(void **state)
{
	struct guest guest;
	char byte;

	(void)state;
	is_another_user = true;
	guest = come_in();
	assert_null(guest.client);
	assert_int_equal(hear(&guest, RN_CTL_REFUSED).refused.err, EPERM);
	assert_int_equal(recv(guest.sock, &byte, 1, 0), 0);
	close(guest.sock);
}

/* Whatever other calls are denied to rocind: the request does not come again and again.
 */
static void a_request_that_was_read_is_skipped_by_the_same_call(void **state)
{
	const struct rn_ctl_hdr status = rn_ctl_hdr(RN_CTL_STATUS);
	struct guest guest;

	(void)state;
	is_recv_denied = true;
	guest = come_and_greet();
	request(&guest, &status, -1);
	hear(&guest, RN_CTL_STATUS_REPLY);
	assert_true(hears_nothing(&guest));
	go(&guest);
}

/* It may be of another version, or no program of ours at all. */
static void who_has_not_said_hello_does_not_count(void **state)
{
	const struct rn_ctl_hdr status = rn_ctl_hdr(RN_CTL_STATUS);
	struct guest silent = come_in(), guest = come_and_greet();

	(void)state;
	request(&guest, &status, -1);
	assert_int_equal(hear(&guest, RN_CTL_STATUS_REPLY).status.clients, 1);
	go(&silent);
	go(&guest);
}

/* ---- What is kept of a device ---- */

static int make_page(const struct rn_stats_faults *counts)
{
	int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(pwrite(fd, counts, sizeof(*counts), RN_STATS_FAULTS_OFFSET),
			 sizeof(*counts));
	return fd;
}

static void detach(const struct guest *guest)
{
	const struct rn_ctl_hdr rq = rn_ctl_hdr(RN_CTL_DETACH);

	request(guest, &rq, -1);
	hear(guest, RN_CTL_DETACHED);
}

static void statistics_are_closed_with_their_device(void **state)
{
	const struct rn_ctl_attach rq = attach_request(0, 1);
	const struct rn_stats_faults none = { 0 };
	struct guest guest = come_and_greet();
	int page = make_page(&none);
	unsigned before;

	(void)state;
	attach(&guest, &rq, -1); /* its sockets stay */
	detach(&guest);
	before = open_descriptors();
	attach(&guest, &rq, page);
	assert_int_equal(open_descriptors(), before + 1);
	detach(&guest);
	assert_int_equal(open_descriptors(), before);
	attach(&guest, &rq, page);
	go(&guest);
	assert_int_equal(open_descriptors(), before - 3); /* both ends and the pidfd */
	close(page);
}

/* The counters of a port do not fall when a program ends that used it. */
static void counters_outlive_their_program(void **state)
{
	const struct rn_stats_page counts = { .magic = RN_STATS_PAGE_MAGIC,
					      .version = RN_STATS_PAGE_VERSION,
					      .counter_count = RN_STAT_COUNT,
					      .counter = { [RN_STAT_TX_PACKETS] = 7 } };
	const struct rn_ctl_attach rq = attach_request(0, 1);
	uint64_t counter[RN_STAT_COUNT];

	(void)state;
	for (unsigned i = 1; i <= 2; i++) {
		struct guest guest = come_and_greet();
		int page = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		assert_int_equal(pwrite(page, &counts, sizeof(counts), 0),
				 sizeof(counts));
		attach(&guest, &rq, page);
		close(page);
		(void)rn_stats_ended_read(server.dir, rq.ibdev, counter);
		assert_int_equal(counter[RN_STAT_TX_PACKETS], 7 * (i - 1));
		go(&guest);
		assert_int_equal(rn_stats_ended_read(server.dir, rq.ibdev, counter), i);
		assert_int_equal(counter[RN_STAT_TX_PACKETS], 7 * i);
	}
}

/* ---- Rules about faults ---- */

static int make_text(const char *text)
{
	int fd = memfd_create("rules", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0);
	return fd;
}

/* All of them new ones. */
static void set_rules(const struct guest *guest, uint64_t generation, const char *text)
{
	struct rn_ctl_faults_set rq = { .hdr = rn_ctl_hdr(RN_CTL_FAULTS_SET),
					.generation = generation };
	int fd = make_text(text);

	memset(rq.from, 255, sizeof(rq.from));
	request(guest, &rq, fd);
	close(fd);
	assert_int_equal(hear(guest, RN_CTL_FAULTS_REPLY).faults_reply.generation,
			 generation + 1);
}

static void rules_are_closed_when_others_come(void **state)
{
	struct guest guest = come_and_greet();
	unsigned before;

	(void)state;
	set_rules(&guest, 0, "drop\n");
	before = open_descriptors();
	set_rules(&guest, 1, "kill\n");
	set_rules(&guest, 2, "drop\n");
	assert_int_equal(open_descriptors(), before);
	go(&guest);
}

/* It would have to ask what an event about nothing of its own means. */
static void rules_are_told_to_those_with_a_device_only(void **state)
{
	const struct rn_ctl_attach rq = attach_request(0, 1);
	struct guest setter = come_and_greet(), idle = come_and_greet(),
		     device = come_and_greet();

	(void)state;
	attach(&device, &rq, -1);
	set_rules(&setter, 0, "drop\n");
	assert_int_equal(hear(&device, RN_CTL_FAULTS).faults.generation, 1);
	assert_true(hears_nothing(&idle));
	assert_true(hears_nothing(&setter));
	go(&setter);
	go(&idle);
	go(&device);
}

static void what_older_rules_have_hit_is_not_counted_for_newer_ones(void **state)
{
	const struct rn_ctl_hdr ask = rn_ctl_hdr(RN_CTL_FAULTS_GET);
	const struct rn_ctl_attach rq = attach_request(0, 1);
	struct rn_stats_faults counts = { .seen = { 10 }, .hits = { 3 } };
	struct guest tool = come_and_greet();

	(void)state;
	set_rules(&tool, 0, "drop\n");
	set_rules(&tool, 1, "drop\n");
	for (counts.generation = 1; counts.generation <= 2; counts.generation++) {
		struct guest guest = come_and_greet();
		int page = make_page(&counts);
		union rn_ctl_msg msg;

		request(&guest, &rq, page);
		hear(&guest, RN_CTL_FAULTS);
		hear(&guest, RN_CTL_ATTACHED);
		go(&guest);
		request(&tool, &ask, -1);
		msg = hear(&tool, RN_CTL_FAULTS_REPLY);
		assert_int_equal(msg.faults_reply.seen[0],
				 counts.generation == 2 ? 10 : 0);
		assert_int_equal(msg.faults_reply.hits[0],
				 counts.generation == 2 ? 3 : 0);
		close(page);
	}
	go(&tool);
}

/* ---- Captures ---- */

/* Its end of file says so a moment later. */
static void a_capture_that_has_gone_is_no_reason_for_a_warning(void **state)
{
	const struct rn_ctl_attach rq = attach_request(0, 1);
	const struct rn_ctl_capture what = { .hdr = rn_ctl_hdr(RN_CTL_CAPTURE),
					     .qpn = 9,
					     .size = RN_CAPTURE_SIZE_MIN };
	struct guest capture = come_and_greet(), device = come_and_greet();

	(void)state;
	request(&capture, &what, -1);
	hear(&capture, RN_CTL_CAPTURING);
	close(capture.sock);
	assert_int_equal(rn_ctl_send(device.sock, &rq, NULL, 0), 0);
	device.client->sock.on_ready(device.client); /* before the capture's end */
	hear(&device, RN_CTL_TAP);
	hear(&device, RN_CTL_ATTACHED);
	assert_int_equal(warnings, 0);
	serve();
	hear(&device, RN_CTL_TAP_END);
	go(&device);
	assert_int_equal(warnings, 0);
}

static void a_capture_that_does_not_take_its_events_is_disconnected(void **state)
{
	const struct rn_ctl_attach rq = attach_request(0, 1);
	const struct rn_ctl_capture what = { .hdr = rn_ctl_hdr(RN_CTL_CAPTURE),
					     .qpn = 9,
					     .size = RN_CAPTURE_SIZE_MIN };
	struct guest capture = come_and_greet(), device = come_and_greet();

	(void)state;
	request(&capture, &what, -1);
	stop_listening(&capture);
	request(&device, &rq, -1);
	assert_int_equal(warnings, 1);
	assert_ptr_equal(server.clients, device.client);
	assert_null(device.client->next);
	close(capture.sock);
	go(&device);
}

/* ---- The end ---- */

/* As where it could not begin to serve them. */
static void clients_that_are_there_at_the_end_are_closed(void **state)
{
	const struct rn_ctl_attach rq = attach_request(0, 1);
	struct guest device = come_and_greet(), idle = come_and_greet();
	char byte;

	attach(&device, &rq, -1);
	assert_int_equal(server_teardown(state), 0);
	assert_int_equal(recv(device.sock, &byte, 1, 0), 0);
	assert_int_equal(recv(idle.sock, &byte, 1, 0), 0);
	close(device.sock);
	close(idle.sock);
	assert_int_equal(setup(state), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, server_teardown)
	const struct CMUnitTest tests[] = {
		TEST(rocind_serves_its_own_user_only),
		TEST(a_request_that_was_read_is_skipped_by_the_same_call),
		TEST(who_has_not_said_hello_does_not_count),
		TEST(statistics_are_closed_with_their_device),
		TEST(counters_outlive_their_program),
		TEST(rules_are_closed_when_others_come),
		TEST(rules_are_told_to_those_with_a_device_only),
		TEST(what_older_rules_have_hit_is_not_counted_for_newer_ones),
		TEST(a_capture_that_has_gone_is_no_reason_for_a_warning),
		TEST(a_capture_that_does_not_take_its_events_is_disconnected),
		TEST(clients_that_are_there_at_the_end_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
