/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_engine_fault.c - fault rules that are set and removed while a device is in use, in
 * virtual time.
 */
#include "tests/provider/kit/virtual_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/io/fault/net_fault.h"

enum {
	TIMEOUT = 20, /* code for 4 s, so that nothing is retransmitted during a test */
	AT = 64,      /* offset in the buffer at which a byte arrives */
	CALL = 1,     /* number of the call reg_mr in rn_fault_calls */
};

static struct kit_end ends[2];
static struct rn_net *wire; /* the wire of end 1 without fault rules */
static const struct rn_fault_host *host;
static uint64_t generation;

int __real_rnp_wire_add_fault(struct rnp_wire *w, bool has_begun, uint64_t *stats,
			      const struct rn_fault_host *h, void *ctx);
int __wrap_rnp_wire_add_fault(struct rnp_wire *w, bool has_begun, uint64_t *stats,
			      const struct rn_fault_host *h, void *ctx);
int __wrap_rnp_wire_add_fault(struct rnp_wire *w, bool has_begun, uint64_t *stats,
			      const struct rn_fault_host *h, void *ctx)
{
	host = h;
	return __real_rnp_wire_add_fault(w, has_begun, stats, h, ctx);
}

static bool has_no_memory; /* zeroed memory cannot be allocated */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return has_no_memory ? NULL : __real_calloc(count, size);
}

static unsigned told; /* number of events from rocind for end 1 */

int __real_rn_rocind_event(struct rn_rocind *r, struct rn_rocind_event *ev);
int __wrap_rn_rocind_event(struct rn_rocind *r, struct rn_rocind_event *ev);
int __wrap_rn_rocind_event(struct rn_rocind *r, struct rn_rocind_event *ev)
{
	if (!told)
		return __real_rn_rocind_event(r, ev);
	told--;
	*ev = (struct rn_rocind_event){ .kind = RN_ROCIND_PORT_UP };
	return 0;
}

static unsigned looks; /* number of checks of the devices' descriptors */

bool __wrap_rn_own_fd_all_there(void);
bool __wrap_rn_own_fd_all_there(void)
{
	looks++;
	return true;
}

/* Sets the fault rules of end 1; NULL: none. Returns the number of the descriptor that
 * had their text.
 */
static int set_rules(const char *text)
{
	struct rnp_engine *e = ends[1].e;
	int fd = -1;

	if (text) {
		fd = memfd_create("rules", MFD_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	}
	rnp_engine_lock(e);
	rnp_fault_live(e, fd, ++generation);
	if (!e->wire.fault)
		e->wire.net = wire; /* the engine must not keep a wire that is gone */
	rnp_engine_unlock(e);
	return fd;
}

static int setup(void **state)
{
	(void)state;
	virtual_pair(ends, TIMEOUT);
	wire = ends[1].e->wire.net;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	set_rules(NULL);
	virtual_close_pair(ends);
	return 0;
}

static void write_byte(uint8_t value)
{
	ends[0].buf[0] = value;
	kit_post_send(&ends[0], RN_WR_RDMA_WRITE, 1, (uintptr_t)ends[1].buf + AT);
}

static const struct rn_stats_faults *counts(void)
{
	const char *page = (const char *)ends[1].e->stats.page;

	return (const struct rn_stats_faults *)(const void *)(page +
							      RN_STATS_FAULTS_OFFSET);
}

static void the_descriptor_that_rules_come_by_is_closed(void **state)
{
	int fd;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		fd = set_rules("drop rx nth=1000");
		assert_int_equal(fcntl(fd, F_GETFD), -1);
		assert_int_equal(errno, EBADF);
	}
}

static void without_memory_for_new_rules_the_old_ones_hold(void **state)
{
	(void)state;
	set_rules("duplicate rx");
	has_no_memory = true;
	set_rules("drop rx");
	has_no_memory = false;
	write_byte(1);
	virtual_await(&ends[0], RN_WC_SUCCESS);
	assert_int_equal(ends[1].buf[AT], 1);
}

static void what_rules_held_back_comes_when_they_are_gone(void **state)
{
	struct kit_end *b = &ends[1];

	(void)state;
	set_rules("delay=3s rx");
	write_byte(1);
	virtual_run(RN_MSEC(100));
	assert_int_equal(virtual_waiting(b), 0);
	assert_int_equal(b->buf[AT], 0);
	set_rules(NULL);
	assert_int_equal(b->buf[AT], 1);
	virtual_await(&ends[0], RN_WC_SUCCESS);
}

static bool had(enum ibv_event_type type)
{
	uint32_t bit = 1u << type;
	bool was = ends[1].async & bit;

	ends[1].async &= ~bit;
	return was;
}

/* While the rule is active, the state of the interface's link does not count. */
static void port_stays_down_as_long_as_a_rule_cuts_it(void **state)
{
	struct rnp_engine *e = ends[1].e;

	(void)state;
	e->netdev.up = true;
	for (unsigned is_up = 0; is_up < 2; is_up++) {
		set_rules("cut");
		virtual_run(RN_MSEC(1));
		rnp_engine_poll(e);
		assert_true(had(IBV_EVENT_PORT_ERR));
		assert_false(e->netdev.up);
		rnp_engine_lock(e);
		rnp_fault_link(e, !is_up);
		assert_false(e->netdev.up);
		rnp_fault_link(e, is_up);
		assert_false(e->netdev.up);
		rnp_engine_unlock(e);
		assert_false(had(IBV_EVENT_PORT_ACTIVE));
		assert_false(had(IBV_EVENT_PORT_ERR));
		set_rules(NULL);
		assert_int_equal(e->netdev.up, is_up);
		assert_int_equal(had(IBV_EVENT_PORT_ACTIVE), is_up);
		rnp_engine_lock(e);
		rnp_fault_link(e, true);
		assert_true(e->netdev.up);
		rnp_engine_unlock(e);
		assert_int_equal(had(IBV_EVENT_PORT_ACTIVE), !is_up);
	}
}

/* A peer that makes rocind send events all the time must not block the threads of this
 * program.
 */
static void events_of_rocind_are_taken_in_pieces(void **state)
{
	struct rnp_engine *e = ends[1].e;
	struct rn_rocind *before = e->rocind;
	const unsigned all = 100000;

	(void)state;
	rnp_engine_lock(e);
	e->rocind = (struct rn_rocind *)(void *)e; /* no function accesses its content */
	told = all;
	rnp_rocind_events(e);
	e->rocind = before;
	rnp_engine_unlock(e);
	assert_in_range(told, all - 1000, all - 1);
	told = 0;
}

/* The counts of each rule are right, whatever the other rules are about. */
static void rules_about_packets_and_calls_are_counted_apart(void **state)
{
	(void)state;
	set_rules("duplicate rx\nfail=ENOMEM call=reg_mr nth=2");
	write_byte(1);
	virtual_await(&ends[0], RN_WC_SUCCESS);
	assert_int_equal(counts()->hits[0], 1);
	assert_int_equal(counts()->hits[1], 0);
	assert_int_equal(rnp_engine_call_error(ends[1].e, CALL), 0);
	assert_int_equal(rnp_engine_call_error(ends[1].e, CALL), ENOMEM);
	assert_int_equal(counts()->hits[0], 1);
	assert_int_equal(counts()->hits[1], 1);
	assert_int_equal(counts()->seen[1], 2);
}

/* A packet has the QPN of its destination, which exists once on each host. */
static void sender_of_a_packet_is_known_by_both_number_and_address(void **state)
{
	struct kit_end *b = &ends[1];
	struct rn_flow flow = { .src = b->gid, .dst = ends[0].gid };

	(void)state;
	assert_int_equal(rnp_find_sender(b->e, &flow, ends[0].qpn), b->qpn);
	assert_int_equal(rnp_find_sender(b->e, &flow, ends[0].qpn + 256), 0);
	flow.dst.raw[15] ^= 1;
	assert_int_equal(rnp_find_sender(b->e, &flow, ends[0].qpn), 0);
	flow.dst.raw[15] ^= 1;
	assert_int_equal(rnp_find_sender(b->e, &flow, ends[0].qpn), b->qpn);
}

/* QPs are counted from the first QPN that the process could create; QPNs below 256 belong
 * to no process.
 */
static void queue_pairs_are_counted_in_the_order_of_their_making(void **state)
{
	struct rnp_engine *e = ends[1].e;
	uint32_t next;

	(void)state;
	set_rules("drop rx nth=1000");
	assert_non_null(host);
	assert_int_equal(host->place(e, ends[1].qpn), 1);
	assert_int_equal(rnp_engine_new_qpn(e, &next), 0);
	assert_int_equal(host->place(e, next), 2);
	/* a QPN of another process */
	assert_int_equal(host->place(e, ends[1].qpn + 1), 0);
	assert_int_equal(host->place(e, 1), 0);
	assert_int_equal(host->place(e, 0), 0);
}

/* While a thread polls, it must also check the descriptors, which the background thread
 * otherwise does when it wakes up. It does not do so in each poll, because the check
 * needs system calls.
 */
static void who_polls_looks_at_the_descriptors_every_millisecond(void **state)
{
	struct rnp_engine *e = ends[1].e;
	struct rn_rocind *before = e->rocind;

	(void)state;
	rnp_engine_lock(e);
	e->rocind = (struct rn_rocind *)(void *)e; /* no function accesses its content */
	rnp_engine_unlock(e);
	virtual_run(RN_MSEC(2));
	rnp_engine_poll(e);
	looks = 0;
	for (unsigned i = 1; i <= 3; i++) {
		rnp_engine_poll(e);
		rnp_engine_poll(e);
		assert_int_equal(looks, i - 1);
		virtual_run(RN_MSEC(1));
		rnp_engine_poll(e);
		assert_int_equal(looks, i);
	}
	rnp_engine_lock(e);
	e->rocind = before;
	rnp_engine_unlock(e);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_descriptor_that_rules_come_by_is_closed),
		TEST(without_memory_for_new_rules_the_old_ones_hold),
		TEST(what_rules_held_back_comes_when_they_are_gone),
		TEST(port_stays_down_as_long_as_a_rule_cuts_it),
		TEST(events_of_rocind_are_taken_in_pieces),
		TEST(who_polls_looks_at_the_descriptors_every_millisecond),
		TEST(rules_about_packets_and_calls_are_counted_apart),
		TEST(sender_of_a_packet_is_known_by_both_number_and_address),
		TEST(queue_pairs_are_counted_in_the_order_of_their_making),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
