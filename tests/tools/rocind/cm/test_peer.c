/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_peer.c - what rocind tells of itself to other hosts, how much, and how often. */
#include "tests/tools/rocind/kit/server_kit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rocin/peer_info.h"
#include "rocin/stats.h"
#include "tools/rocind/cm/cm_channel.h"
#include "tools/rocind/net/iface.h"

bool __wrap_rnd_group_send(struct rnd_group *group, const struct rn_flow *flow,
			   const uint8_t *pkt, size_t len);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
uint32_t __wrap_rnd_iface_mtu(uint32_t ifindex);

enum {
	IFINDEX = 5,
	TID = 4711,
	/* More than these of one rocind at once, or a second, would be a flood. */
	AT_ONCE_MAX = 200,
	SECOND_MAX = 200,
};

static const struct rn_gid ours = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
static const struct rn_gid theirs = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 } };

static rn_ns now;
static unsigned sent_count;
static struct {
	struct rn_flow flow;
	size_t len;
	uint8_t pkt[RN_PEER_ASK_MAX];
} sent;

bool __wrap_rnd_group_send(struct rnd_group *group, const struct rn_flow *flow,
			   const uint8_t *pkt, size_t len)
{
	(void)group;
	assert_in_range(len, 0, sizeof(sent.pkt));
	sent.flow = *flow;
	sent.len = len;
	memcpy(sent.pkt, pkt, len);
	sent_count++;
	return true;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	rn_ns t = id == CLOCK_REALTIME ? RN_MSEC(1234567) + 999 : now;

	*ts = (struct timespec){ .tv_sec = t / RN_MSEC(1000),
				 .tv_nsec = t % RN_MSEC(1000) };
	return 0;
}

uint32_t __wrap_rnd_iface_mtu(uint32_t ifindex)
{
	return ifindex == IFINDEX ? 2048 + 96 : 0;
}

static struct rnd_group group;

static int setup(void **state)
{
	int rc = server_setup(state);

	now = RN_MSEC(5000);
	sent_count = 0;
	memset(&group, 0, sizeof(group));
	group.gid = ours;
	server.groups.first = &group;
	return rc;
}

static int teardown(void **state)
{
	server.groups.first = NULL;
	server.clients = NULL;
	return server_teardown(state);
}

/* A question of @len bytes to our address. */
static bool ask(uint32_t len)
{
	static struct rn_gsi gsi;
	uint8_t pkt[RN_PEER_ASK_MAX];
	struct rn_flow flow = { .src = theirs, .dst = ours, .sport = RN_ROCE_PORT };

	memset(pkt, 0xee, sizeof(pkt));
	rn_peer_ask_emit(pkt + RN_GSI_MAD_AT, TID);
	rn_gsi_seal_long(&gsi, &flow, 0x1234, RN_QPN_GSI, pkt, len);
	return rnd_cm_packet(server.cm, &flow, pkt, len);
}

static struct rn_peer_info answer(void)
{
	struct rn_peer_info info;

	assert_int_equal(sent_count, 1);
	assert_int_equal(rn_peer_answer_parse(sent.pkt + RN_GSI_MAD_AT, TID, &info),
			 RN_PEER_ANSWERS);
	assert_int_equal(rn_get_be24(sent.pkt + 5), 0x1234);
	return info;
}

/* A program with a device at our address, whose statistics page says @icrc. */
static struct rnd_client program(uint32_t icrc)
{
	const struct rn_stats_page page = { .magic = RN_STATS_PAGE_MAGIC,
					    .version = RN_STATS_PAGE_VERSION,
					    .icrc = icrc };
	struct rnd_client c = { .server = &server, .next = server.clients };

	c.attachment = (struct rnd_attachment){ .slot = 3,
						.ifindex = IFINDEX,
						.gid_count = 1,
						.gid = { ours },
						.group = { &group },
						.stats_fd = memfd_create("page", 0) };
	assert_int_equal(write(c.attachment.stats_fd, &page, sizeof(page)), sizeof(page));
	return c;
}

static void an_answer_has_the_length_of_its_question(void **state)
{
	static const uint32_t lens[] = { RN_PEER_ASK_MIN, 1064, RN_PEER_ASK_MAX };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(lens); i++) {
		sent_count = 0;
		assert_true(ask(lens[i]));
		assert_string_equal(answer().version, ROCIN_VERSION);
		assert_int_equal(sent.len, lens[i]);
		assert_memory_equal(&sent.flow.dst, &theirs, sizeof(theirs));
		/* Nothing but what peer_info.h names, and nothing of the question's. */
		for (size_t at = RN_GSI_MAD_AT + RN_MAD_HDR_LEN + 56;
		     at < sent.len - RN_ICRC_LEN; at++)
			assert_int_equal(sent.pkt[at], 0);
	}
}

static void it_tells_the_devices_there_and_the_time(void **state)
{
	struct rnd_client one, other;
	struct rn_peer_info info;

	(void)state;
	assert_true(ask(RN_PEER_ASK_MIN));
	info = answer();
	assert_int_equal(info.path_mtu, 0); /* no program has a device there */
	assert_int_equal(info.icrc, RN_PEER_ICRC_UNKNOWN);
	assert_int_equal(info.time_ms, 1234567);

	one = program(RN_PEER_ICRC_EXACT);
	server.clients = &one;
	sent_count = 0;
	assert_true(ask(RN_PEER_ASK_MIN));
	info = answer();
	assert_int_equal(info.path_mtu, 2048);
	assert_int_equal(info.icrc, RN_PEER_ICRC_EXACT);

	/* The strictest counts; one that cannot be read says nothing. */
	other = program(RN_PEER_ICRC_SOLVE);
	server.clients = &other;
	sent_count = 0;
	assert_true(ask(RN_PEER_ASK_MIN));
	assert_int_equal(answer().icrc, RN_PEER_ICRC_EXACT);
	close(one.attachment.stats_fd);
	one.attachment.stats_fd = -1;
	sent_count = 0;
	assert_true(ask(RN_PEER_ASK_MIN));
	assert_int_equal(answer().icrc, RN_PEER_ICRC_SOLVE);
	close(other.attachment.stats_fd);
}

/* A flood gets few answers, and an hour of silence saves up no more of them. */
static void answers_are_rationed(void **state)
{
	unsigned at_once;

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		sent_count = 0;
		for (unsigned i = 0; i < 10000; i++)
			assert_true(ask(RN_PEER_ASK_MAX));
		at_once = sent_count;
		assert_in_range(at_once, 18,
				AT_ONCE_MAX); /* one `rocin doctor' at least */
		for (unsigned ms = 0; ms < 1000; ms++) {
			now += RN_MSEC(1);
			for (unsigned i = 0; i < 10; i++)
				assert_true(ask(RN_PEER_ASK_MAX));
		}
		assert_in_range(sent_count - at_once, 1, SECOND_MAX);
		now += RN_MSEC(3600000);
	}
}

static void one_that_is_silent_answers_as_any_port(void **state)
{
	struct rn_peer_info info;

	(void)state;
	server.groups.admission.is_silent = 1;
	assert_true(ask(RN_PEER_ASK_MAX));
	assert_int_equal(sent_count, 1);
	assert_int_equal(sent.len, RN_GSI_PACKET_LEN);
	assert_int_equal(rn_peer_answer_parse(sent.pkt + RN_GSI_MAD_AT, TID, &info),
			 RN_PEER_REFUSES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_answer_has_the_length_of_its_question,
						setup, teardown),
		cmocka_unit_test_setup_teardown(it_tells_the_devices_there_and_the_time,
						setup, teardown),
		cmocka_unit_test_setup_teardown(answers_are_rationed, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_is_silent_answers_as_any_port,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
