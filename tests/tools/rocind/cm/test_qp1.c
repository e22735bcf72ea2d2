/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_qp1.c - packets to and from queue pair 1, which are rocind's own.
 *
 * Time is the test's, and so is the wire.
 */
#include "tests/tools/rocind/kit/server_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rocin/cm.h"
#include "rocin/gsi.h"
#include "tests/tools/rocind/kit/timer_kit.h"
#include "tools/rocind/cm/cm_channel.h"
#include "transport/io/capture/capture_ring.h"

bool __wrap_rnd_group_send(struct rnd_group *group, const struct rn_flow *flow,
			   const uint8_t *pkt, size_t len);
int __wrap_timerfd_create(int clock, int flags);
bool __real_rn_cm_transmit(struct rn_cm *cm, struct rn_cm_tx *tx);
bool __wrap_rn_cm_transmit(struct rn_cm *cm, struct rn_cm_tx *tx);
ssize_t __wrap_rnd_group_receive(const struct rnd_group *group, struct rn_flow *flow,
				 uint8_t *pkt, size_t room);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			   struct itimerspec *old);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

enum {
	IFINDEX = 5,
	SERVICE = 7471,
	SENT_MAX = 20, /* more for one packet would be without end */
	LOOKS_MAX = 1000,
};

static const struct rn_gid ours = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
static const struct rn_gid theirs = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 } };

struct packet {
	struct rn_flow flow;
	size_t len;
	uint8_t data[RN_GSI_PACKET_LEN + 8];
};

static rn_ns now;
static unsigned looks; /* at the clock */
static struct {
	const struct rnd_group *group;
	struct rn_flow flow;
	uint8_t mad[RN_MAD_LEN];
} sent; /* the last one */
static unsigned sent_count;
static unsigned queued;		      /* messages that the protocol has besides its own */
static const struct packet *arriving; /* at the group's socket */
static unsigned arriving_count;

bool __wrap_rnd_group_send(struct rnd_group *group, const struct rn_flow *flow,
			   const uint8_t *pkt, size_t len)
{
	assert_int_equal(len, RN_GSI_PACKET_LEN);
	sent.group = group;
	sent.flow = *flow;
	memcpy(sent.mad, pkt + RN_BTH_LEN + RN_DETH_LEN, RN_MAD_LEN);
	if (++sent_count == SENT_MAX && !queued)
		fail_msg("one packet is answered without end");
	return true;
}

bool __wrap_rn_cm_transmit(struct rn_cm *cm, struct rn_cm_tx *tx)
{
	static uint8_t pkt[RN_GSI_PACKET_LEN];

	if (!queued)
		return __real_rn_cm_transmit(cm, tx);
	queued--;
	*tx = (struct rn_cm_tx){ .flow = { .src = ours, .dst = theirs }, .pkt = pkt };
	return true;
}

/* As the socket, whose packets may be longer than there is room. */
ssize_t __wrap_rnd_group_receive(const struct rnd_group *group, struct rn_flow *flow,
				 uint8_t *pkt, size_t room)
{
	const struct packet *p = arriving;
	uint64_t count;

	if (!arriving_count) {
		(void)!read(group->sock[0], &count, sizeof(count));
		return -1;
	}
	arriving++;
	arriving_count--;
	*flow = p->flow;
	memcpy(pkt, p->data, p->len < room ? p->len : room);
	return (ssize_t)p->len;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	if (++looks == LOOKS_MAX)
		fail_msg("one packet is taken without end");
	*ts = (struct timespec){ .tv_sec = now / RN_MSEC(1000),
				 .tv_nsec = now % RN_MSEC(1000) };
	return 0;
}

static int setup(void **state)
{
	now = RN_MSEC(5000);
	alarm_at = RN_NEVER;
	sent_count = looks = queued = 0;
	arriving_count = 0;
	memset(&sent, 0, sizeof(sent));
	return server_setup(state);
}

/* The group of an address, whose socket has a packet from the beginning. */
static struct rnd_group *add_group(const struct rn_gid *gid, uint32_t scope)
{
	struct rnd_group *group = calloc(1, sizeof(*group));

	assert_non_null(group);
	group->gid = *gid;
	group->scope = scope;
	group->sock_count = 1;
	group->sock[0] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	group->groups = &server.groups;
	group->next = server.groups.first;
	server.groups.first = group;
	server.groups.on_open(server.groups.ctx, group);
	return group;
}

/* ---- Packets of peers ---- */

static struct packet packet_of(const struct rn_flow *flow, const uint8_t *mad)
{
	static struct rn_gsi gsi;
	struct packet p = { .flow = *flow, .len = RN_GSI_PACKET_LEN };

	memcpy(p.data + RN_GSI_MAD_AT, mad, RN_MAD_LEN);
	rn_gsi_seal(&gsi, &p.flow, RN_QPN_GSI, p.data);
	return p;
}

/* The peer asks which versions of the CM there are, and gets its answer at once. */
static struct packet question_by(const struct rn_flow *flow)
{
	const struct rn_mad_hdr hdr = { .base_version = RN_MAD_BASE_VERSION,
					.mgmt_class = RN_MAD_CLASS_CM,
					.class_version = RN_MAD_CM_VERSION,
					.method = RN_MAD_GET,
					.attr_id = RN_MAD_ATTR_CLASS_PORT_INFO };
	uint8_t mad[RN_MAD_LEN] = { 0 };

	rn_mad_hdr_emit(mad, &hdr);
	return packet_of(flow, mad);
}

static struct packet question(uint8_t tclass)
{
	return question_by(
		&(struct rn_flow){ .src = theirs, .dst = ours, .tclass = tclass });
}

/* The peer looks up a datagram service. */
static struct packet lookup_of(uint16_t service)
{
	const struct rn_cm_ip_hdr hdr = { .src_port = 1, .src = theirs, .dst = ours };
	uint8_t data[RN_CM_IP_HDR_LEN];
	const struct rn_cm_offer offer = { .data = data, .data_len = sizeof(data) };
	const struct rn_cm_route route = { .flow = { .src = theirs, .dst = ours },
					   .mtu = 3 };
	void *block = NULL;
	struct rn_cm_conn *conn;
	struct packet p;
	struct rn_cm_tx tx;
	struct rn_cm *cm;

	rn_cm_ip_hdr_emit(data, &hdr);
	assert_int_equal(posix_memalign(&block, 16, rn_cm_size(1)), 0);
	cm = rn_cm_init(block, &(struct rn_cm_cfg){ .conn_max = 1, .seed = 1 });
	assert_int_equal(rn_cm_sidr_request(cm, now,
					    rn_cm_service_id(RN_CM_PS_UDP, service),
					    &route, &offer, &conn),
			 0);
	assert_true(rn_cm_transmit(cm, &tx));
	p = packet_of(&tx.flow, tx.pkt + RN_GSI_MAD_AT);
	free(block);
	return p;
}

static struct packet lookup(void)
{
	return lookup_of(SERVICE);
}

static bool take(const struct packet *p)
{
	return rnd_cm_packet(server.cm, &p->flow, p->data, p->len);
}

/* ---- In ---- */

static void a_packet_is_taken_once(void **state)
{
	const struct packet p = question(0);

	(void)state;
	add_group(&ours, 0);
	assert_true(take(&p));
	assert_int_equal(sent_count, 1);
	assert_memory_equal(&sent.flow.src, &ours, sizeof(ours));
	assert_memory_equal(&sent.flow.dst, &theirs, sizeof(theirs));
	/* Nothing of it is left for later. */
	rnd_cm_flush(server.cm);
	assert_int_equal(sent_count, 1);
}

/* The mark says something of the way that the request took. */
static void
an_answer_has_the_class_of_its_request_without_the_congestion_mark(void **state)
{
	const struct packet p = question(0x4b);

	(void)state;
	add_group(&ours, 0);
	assert_true(take(&p));
	assert_int_equal(sent.flow.tclass, 0x48);
}

static void a_packet_of_another_length_than_a_mad_has_is_dropped(void **state)
{
	struct packet p[4];
	struct rnd_group *group;

	(void)state;
	/* What a shorter one leaves in the buffer is a good one. */
	p[0] = p[1] = p[2] = p[3] = question(0);
	p[1].len--;
	p[2].len++;
	p[3].len = RN_BTH_LEN;
	arriving = p;
	arriving_count = 4;
	group = add_group(&ours, 0);
	serve();
	assert_int_equal(sent_count, 1);
	assert_ptr_equal(sent.group, group);
	assert_int_equal(server.drops[RN_ROCIND_DROP_QP1], 3);
}

static void a_request_waits_for_its_listener_and_no_longer_than_so(void **state)
{
	const struct packet p = lookup();

	(void)state;
	add_group(&ours, 0);
	assert_true(take(&p));
	assert_int_equal(sent_count, 0);
	now += RND_CM_EARLY_FOR - 1;
	rnd_cm_flush(server.cm);
	assert_int_equal(sent_count, 0);
	now++;
	rnd_cm_flush(server.cm);
	assert_int_equal(sent_count, 1);
	assert_int_equal(sent.mad[1], RN_MAD_CLASS_CM);
	rnd_cm_flush(server.cm);
	assert_int_equal(sent_count, 1);
}

/* The time goes on to the alarm. */
static void expire(void)
{
	const uint64_t once = 1;

	assert_true(alarm_at != RN_NEVER);
	now = alarm_at;
	alarm_at = RN_NEVER;
	assert_int_equal(write(server.cm->timer.fd, &once, sizeof(once)), sizeof(once));
	serve();
}

/* Nothing but the timer ends the wait of each. */
static void the_timer_is_set_again_after_it_has_run_out(void **state)
{
	const struct packet p = lookup();

	(void)state;
	add_group(&ours, 0);
	serve();
	for (unsigned i = 1; i <= 3; i++) {
		assert_true(take(&p));
		assert_int_equal(alarm_at, now + RND_CM_EARLY_FOR);
		expire();
		assert_int_equal(sent_count, i);
	}
	assert_true(alarm_at == RN_NEVER);
}

/* What waits already is not put off. */
static void the_timer_runs_out_with_the_first_of_those_that_wait(void **state)
{
	const struct packet p = lookup();
	rn_ns first = now + RND_CM_EARLY_FOR;

	(void)state;
	add_group(&ours, 0);
	serve();
	assert_true(take(&p));
	now += RN_MSEC(30);
	assert_true(take(&p));
	assert_int_equal(alarm_at, first);
	expire();
	assert_int_equal(sent_count, 1);
	assert_int_equal(alarm_at, first + RN_MSEC(30));
	expire();
	assert_int_equal(sent_count, 2);
}

/* Nobody waits for thousands of messages that are due together. */
static void many_messages_are_sent_in_pieces(void **state)
{
	const struct packet first = question(0);
	const unsigned all = 1000;
	unsigned before = 1;

	(void)state;
	add_group(&ours, 0);
	assert_true(take(&first));
	assert_int_equal(sent_count, before);
	queued = all;
	rnd_cm_flush(server.cm);
	assert_true(queued > 0);
	while (queued) {
		assert_in_range(sent_count - before, 1, all / 10);
		assert_true(alarm_at <= now);
		before = sent_count;
		looks = 0;
		expire();
	}
	assert_int_equal(sent_count, 1 + all);
}

/* Who finds no room is refused at once. */
static void there_is_an_end_to_waiting_room(void **state)
{
	const struct packet p = lookup();

	(void)state;
	add_group(&ours, 0);
	for (unsigned i = 0; i < RND_CM_EARLY_MAX; i++)
		assert_true(take(&p));
	assert_int_equal(sent_count, 0);
	assert_true(take(&p));
	assert_int_equal(sent_count, 1);
}

static int command(struct rnd_ucma_channel *ch, uint32_t cmd, const void *in, size_t len,
		   struct rnd_call *call)
{
	const struct rn_cmdev_call head = { .cmd = cmd,
					    .in_len = (uint32_t)len,
					    .out_len = RN_CMDEV_OUT_MAX };

	*call = (struct rnd_call){ .ch = ch, .now = now, .head = &head, .in = in };
	return rnd_ucma_command(call);
}

/* Of all addresses that a program without devices has: of none that it would hold. */
static void listen_for(struct rnd_ucma_channel *ch, uint16_t service)
{
	const struct sockaddr_in any = { .sin_family = AF_INET,
					 .sin_port = htons(service) };
	const struct rdma_ucm_create_id create = { .uid = 1, .ps = RDMA_PS_UDP };
	struct rdma_ucm_bind_ip bind_cmd = { 0 };
	struct rdma_ucm_listen listen_cmd = { .backlog = 8 };
	struct rdma_ucm_create_id_resp resp;
	struct rnd_call call;

	assert_int_equal(
		command(ch, RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof(create), &call),
		0);
	memcpy(&resp, call.answer, sizeof(resp));
	bind_cmd.id = listen_cmd.id = resp.id;
	memcpy(&bind_cmd.addr, &any, sizeof(any));
	assert_int_equal(
		command(ch, RDMA_USER_CM_CMD_BIND_IP, &bind_cmd, sizeof(bind_cmd), &call),
		0);
	assert_int_equal(command(ch, RDMA_USER_CM_CMD_LISTEN, &listen_cmd,
				 sizeof(listen_cmd), &call),
			 0);
}

/* The others wait on, in their order. */
static void who_is_listened_for_waits_no_longer(void **state)
{
	const struct packet wanted = lookup(), other = lookup_of(SERVICE + 1);
	struct rnd_cm_channel nobody = { .cm = server.cm };
	struct rnd_ucma_channel *ch;

	(void)state;
	add_group(&ours, 0);
	assert_true(take(&other));
	nobody.ucma = ch = rnd_ucma_open(server.cm->ucma, NULL, 0, &nobody);
	assert_non_null(ch);
	nobody.sock.fd = -1;
	assert_true(take(&wanted));
	now++;
	assert_true(take(&other));
	listen_for(ch, SERVICE);
	rnd_cm_flush(server.cm);
	/* Of a program without devices; it is turned away. */
	assert_int_equal(sent_count, 1);
	assert_int_equal(server.cm->early_count, 2);
	now = server.cm->early[0].until;
	rnd_cm_flush(server.cm);
	assert_int_equal(sent_count, 2);
	assert_int_equal(server.cm->early[0].until, now + 1);
	rnd_ucma_close(ch, now);
}

/* By rules of faults, which are about the packets of queue pair 1, too. */
static void a_packet_that_is_delayed_is_taken_when_it_is_due(void **state)
{
	const struct packet p = question(0);
	rn_ns due = now + RN_MSEC(20);

	(void)state;
	add_group(&ours, 0);
	serve();
	rnd_cm_set_faults(server.cm, "delay=20ms rx");
	assert_true(take(&p));
	assert_int_equal(sent_count, 0);
	assert_int_equal(alarm_at, due);
	expire();
	assert_int_equal(sent_count, 1);
	assert_true(alarm_at == RN_NEVER);
}

/* What they hold goes on its way. */
static void rules_that_are_taken_back_hold_nothing_any_more(void **state)
{
	const struct packet p = question(0);

	(void)state;
	add_group(&ours, 0);
	serve();
	rnd_cm_set_faults(server.cm, "delay=20ms rx");
	assert_true(take(&p));
	assert_int_equal(sent_count, 0);
	rnd_cm_set_faults(server.cm, NULL);
	assert_int_equal(sent_count, 1);
	assert_null(server.cm->fault);
	assert_ptr_equal(server.cm->net, &server.cm->sockets);
	assert_true(take(&p));
	assert_int_equal(sent_count, 2);
}

/* ---- Out ---- */

/* Of several interfaces that have it. */
static void a_packet_from_a_link_local_address_leaves_by_its_interface(void **state)
{
	const struct rn_gid gid = { .raw = { 0xfe, 0x80, [15] = 1 } };
	const struct packet p = question_by(
		&(struct rn_flow){ .src = gid, .dst = gid, .ifindex = IFINDEX });
	const struct rnd_group *right;

	(void)state;
	add_group(&gid, IFINDEX + 1);
	right = add_group(&gid, IFINDEX);
	add_group(&gid, IFINDEX + 2);
	assert_true(take(&p));
	assert_int_equal(sent_count, 1);
	assert_ptr_equal(sent.group, right);
}

static void a_packet_from_an_address_that_has_gone_is_lost(void **state)
{
	const struct packet p = question(0);

	(void)state;
	add_group(&theirs, 0);
	assert_true(take(&p));
	assert_int_equal(sent_count, 0);
}

static int make_ring(void)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	void *page;

	assert_int_equal(ftruncate(fd, (off_t)rn_capture_ring_bytes(RN_CAPTURE_SIZE_MIN)),
			 0);
	page = mmap(NULL, RN_CAPTURE_CONTROL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(page != MAP_FAILED);
	rn_capture_format(page, RN_CAPTURE_SIZE_MIN);
	munmap(page, RN_CAPTURE_CONTROL);
	return fd;
}

static void packets_go_on_when_a_capture_of_them_has_ended(void **state)
{
	const struct rn_capture_filter all = { 0 };
	const struct packet p = question(0);
	int ring = make_ring();

	(void)state;
	add_group(&ours, 0);
	assert_true(take(&p)); /* which makes the large table, before the next line */
	/* Whoever uses memory that has been freed does not find what was there. */
	mallopt(M_PERTURB, 0x5a);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			rnd_cm_capture(server.cm, 7, ring, RN_CAPTURE_SIZE_MIN, &all), 0);
		assert_true(take(&p));
		rnd_cm_end_capture(server.cm, 7);
		assert_true(take(&p));
	}
	mallopt(M_PERTURB, 0);
	assert_int_equal(sent_count, 5);
	close(ring);
}

/* Captures are on the side of the sockets, whichever came first. */
static void a_capture_that_begins_after_a_rule_sees_what_the_rule_holds(void **state)
{
	const struct rn_capture_filter all = { 0 };
	const struct packet p = question(0);
	int ring = make_ring();
	uint32_t size = 0;

	(void)state;
	add_group(&ours, 0);
	rnd_cm_set_faults(server.cm, "delay=20ms rx");
	assert_int_equal(rnd_cm_capture(server.cm, 7, ring, RN_CAPTURE_SIZE_MIN, &all),
			 0);
	assert_true(take(&p));
	assert_int_equal(sent_count, 0);
	assert_int_equal(pread(ring, &size, sizeof(size), RN_CAPTURE_CONTROL),
			 sizeof(size));
	assert_int_not_equal(size, 0);
	rnd_cm_end_capture(server.cm, 7);
	rnd_cm_set_faults(server.cm, NULL);
	assert_int_equal(sent_count, 1);
	close(ring);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, server_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_packet_is_taken_once),
		TEST(an_answer_has_the_class_of_its_request_without_the_congestion_mark),
		TEST(a_packet_of_another_length_than_a_mad_has_is_dropped),
		TEST(a_request_waits_for_its_listener_and_no_longer_than_so),
		TEST(the_timer_is_set_again_after_it_has_run_out),
		TEST(the_timer_runs_out_with_the_first_of_those_that_wait),
		TEST(many_messages_are_sent_in_pieces),
		TEST(there_is_an_end_to_waiting_room),
		TEST(who_is_listened_for_waits_no_longer),
		TEST(a_packet_that_is_delayed_is_taken_when_it_is_due),
		TEST(rules_that_are_taken_back_hold_nothing_any_more),
		TEST(a_packet_from_a_link_local_address_leaves_by_its_interface),
		TEST(a_packet_from_an_address_that_has_gone_is_lost),
		TEST(packets_go_on_when_a_capture_of_them_has_ended),
		TEST(a_capture_that_begins_after_a_rule_sees_what_the_rule_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
