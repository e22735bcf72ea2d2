/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_verbs_virtual.c - verbs whose result depends on the order in which threads run:
 * events, ACKs, and attributes of queue pairs. They run in virtual time.
 */
#include "tests/provider/kit/virtual_verbs_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum {
	MANY = 100000,
};

static void post_recv(struct ibv_qp *qp)
{
	struct ibv_recv_wr wr = { .wr_id = 7 }, *bad;

	assert_int_equal(rnp_post_recv(qp, &wr, &bad), 0);
}

static void post_send(struct ibv_qp *qp)
{
	struct ibv_send_wr wr = { .wr_id = 8, .opcode = IBV_WR_SEND }, *bad;

	assert_int_equal(rnp_post_send(qp, &wr, &bad), 0);
}

static bool event_waits(const struct vverbs_device *d)
{
	struct pollfd p = { .fd = d->channel.fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Reads one event record from the channel, as libibverbs does, and acknowledges it. */
static void take_event(struct vverbs_device *d)
{
	uint64_t record;

	assert_true(event_waits(d));
	assert_int_equal(read(d->channel.fd, &record, sizeof(record)), sizeof(record));
	assert_int_equal(record, (uintptr_t)d->cq);
	d->cq->comp_events_completed++;
}

/* ----------------------------------------------------------------------------- events */
static void receive_that_is_flushed_at_once_raises_an_event(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct ibv_wc wc;

	(void)state;
	vverbs_to_init(d->qp);
	vverbs_to_state(d->qp, IBV_QPS_ERR);
	assert_int_equal(rnp_req_notify_cq(d->cq, 0), 0);
	assert_false(event_waits(d));
	post_recv(d->qp);
	take_event(d);
	assert_int_equal(rnp_poll_cq(d->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
}

/* After arming a CQ a program polls it. So a completion that this poll finds needs no
 * event.
 */
static void what_has_come_before_arming_raises_no_event(void **state)
{
	struct vverbs_device *d = &vverbs_devices[1];
	struct ibv_wc wc;

	(void)state;
	vverbs_connect();
	post_recv(d->qp);
	post_send(vverbs_devices[0].qp);
	virtual_compute(virtual_machine.wire);
	assert_int_equal(rnp_req_notify_cq(d->cq, 0), 0);
	assert_int_equal(rnp_poll_cq(d->cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 7);
	assert_false(event_waits(d));
	/* The CQ is still armed for the next completion. */
	post_recv(d->qp);
	post_send(vverbs_devices[0].qp);
	virtual_run(RN_MSEC(10));
	take_event(d);
}

/* The CQ's event found the channel full. Now the channel has room. */
static void arming_writes_a_pending_event(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	uint64_t record = 1;
	int fd = d->channel.fd;

	(void)state;
	while (fcntl(fd, F_SETPIPE_SZ, 2 * fcntl(fd, F_GETPIPE_SZ)) > 0 &&
	       fcntl(fd, F_GETPIPE_SZ) < 1 << 20)
		;
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while (write(fd, &record, sizeof(record)) == sizeof(record))
		;
	assert_int_equal(errno, EAGAIN);
	vverbs_to_init(d->qp);
	vverbs_to_state(d->qp, IBV_QPS_ERR);
	assert_int_equal(rnp_req_notify_cq(d->cq, 0), 0);
	post_recv(d->qp);
	/* The event is pending only once, however often the channel is full. */
	assert_int_equal(rnp_req_notify_cq(d->cq, 0), 0);
	assert_int_equal(LIST_FIRST(&d->ctx.channels)->pending, 1);
	while (read(fd, &record, sizeof(record)) == sizeof(record))
		assert_int_equal(record, 1);
	assert_int_equal(rnp_req_notify_cq(d->cq, 0), 0);
	assert_int_equal(LIST_FIRST(&d->ctx.channels)->pending, 0);
	take_event(d);
	assert_false(event_waits(d));
}

static unsigned polls_for_the_sockets(unsigned n)
{
	unsigned polls = 0;

	virtual_run(RN_MSEC(100));
	assert_true(virtual_end(&vverbs_ends[n])->listens);
	while (virtual_end(&vverbs_ends[n])->listens) {
		assert_true(polls < MANY);
		rnp_engine_poll(vverbs_ends[n].e);
		virtual_run(VIRTUAL_POLL);
		polls++;
	}
	return polls;
}

/* A destroyed CQ must not stay armed, because nobody waits for its events. */
static void cq_that_is_destroyed_is_not_armed(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	unsigned polls = polls_for_the_sockets(0);
	struct ibv_cq *cq = vverbs_new_cq(d);

	(void)state;
	assert_non_null(cq);
	assert_int_equal(rnp_req_notify_cq(cq, 0), 0);
	assert_int_equal(rnp_destroy_cq(cq), 0);
	assert_int_equal(polls_for_the_sockets(0), polls);
}

/* A poll of a destroyed CQ fails even while short polls are allowed, which only look at
 * rings.
 */
static void cq_that_is_destroyed_is_not_polled(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_front *front = (struct rnp_front *)d->ctx.engine;
	static const _Atomic uint64_t still;
	struct ibv_cq *cq = vverbs_new_cq(d);
	struct ibv_wc wc;

	(void)state;
	assert_non_null(cq);
	assert_int_equal(rnp_poll_cq(cq, 1, &wc), 0);
	assert_int_equal(rnp_destroy_cq(cq), 0);
	/* The state after a full poll that found a ring to look at, and nothing in it.
	 */
	front->watch.ring[0] = (struct rn_ring_watched){ .tail = &still };
	front->watch.end = &front->watch.ring[1];
	atomic_store(&front->short_polls, 2);
	assert_int_equal(rnp_poll_cq(d->cq, 1, &wc), 0);
	assert_int_equal(atomic_load(&front->short_polls), 1);
	errno = 0;
	assert_int_equal(rnp_poll_cq(cq, 1, &wc), -EINVAL);
	assert_int_equal(errno, EINVAL);
}

/* -------------------------------------------------------- acknowledgements */
static void expect_acknowledged_before(enum ibv_qp_state state)
{
	struct vverbs_device *d = &vverbs_devices[1];
	static char local;
	struct ibv_wc wc;

	vverbs_connect();
	post_recv(d->qp);
	post_send(vverbs_devices[0].qp);
	virtual_compute(virtual_machine.wire);
	virtual_end(&vverbs_ends[1])->is_full = true;
	assert_int_equal(rnp_poll_cq(d->cq, 1, &wc), 1);
	assert_int_equal(virtual_waiting(&vverbs_ends[0]), 0);
	d->ctx.engine->wire.local = (struct rn_local *)&local;
	vverbs_to_state(d->qp, state);
	d->ctx.engine->wire.local = NULL;
	virtual_compute(virtual_machine.wire);
	assert_int_equal(rnp_poll_cq(vverbs_devices[0].cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	virtual_end(&vverbs_ends[1])->is_full = false;
}

static void peer_has_its_acknowledgement_before_an_error(void **state)
{
	(void)state;
	expect_acknowledged_before(IBV_QPS_ERR);
}

static void peer_has_its_acknowledgement_before_a_reset(void **state)
{
	(void)state;
	expect_acknowledged_before(IBV_QPS_RESET);
}

/* ------------------------------------------------------------------------- attributes */
static void both_paths_must_carry_the_path_mtu(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct ibv_qp_attr attr = vverbs_towards(1);

	(void)state;
	vverbs_to_init(d->qp);
	attr.alt_ah_attr = vverbs_address(&vverbs_ends[0].gid);
	attr.alt_port_num = 1;
	vverbs_parts.is_narrow = true;
	vverbs_parts.narrow = vverbs_ends[1].gid;
	assert_int_equal(rnp_modify_qp(d->qp, &attr, VVERBS_TO_RTR | IBV_QP_ALT_PATH),
			 EINVAL);
	vverbs_parts.narrow = vverbs_ends[0].gid;
	assert_int_equal(rnp_modify_qp(d->qp, &attr, VVERBS_TO_RTR | IBV_QP_ALT_PATH),
			 EINVAL);
	/* ibv_modify_qp() checks only the attributes in its mask. */
	assert_int_equal(rnp_modify_qp(d->qp, &attr, VVERBS_TO_RTR), 0);
	vverbs_parts.is_narrow = false;
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(rnp_modify_qp(d->qp, &attr, VVERBS_TO_RTS | IBV_QP_ALT_PATH), 0);
}

static void data_is_in_order_if_pcie_keeps_it(void **state)
{
	static const struct {
		enum rn_place place;
		bool ooo;
		enum rn_relaxed relaxed;
		int in_order;
	} rows[] = {
		{ RN_PLACE_NOW, false, RN_RELAXED_REGISTERED, 1 },
		{ RN_PLACE_NOW, true, RN_RELAXED_FORCE, 1 },
		{ RN_PLACE_PCIE, false, RN_RELAXED_REGISTERED, 1 },
		{ RN_PLACE_PCIE, false, RN_RELAXED_IGNORE, 1 },
		{ RN_PLACE_PCIE, true, RN_RELAXED_REGISTERED, 0 },
		{ RN_PLACE_PCIE, false, RN_RELAXED_FORCE, 0 },
		{ RN_PLACE_MSG, false, RN_RELAXED_REGISTERED, 0 },
		{ RN_PLACE_ANY, false, RN_RELAXED_IGNORE, 0 },
	};
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	int in_order[RN_ARRAY_SIZE(rows)] = { 0 };
	bool is_on = vverbs_put_below_pcie(d);

	(void)state;
	d->ctx.engine->pcie = before;
	if (!is_on)
		skip();
	vverbs_connect();
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		vverbs_host.knobs = (struct rn_pcie_knobs){ .place = rows[i].place,
							    .ooo = rows[i].ooo,
							    .relaxed = rows[i].relaxed };
		vverbs_put_below_pcie(d);
		in_order[i] = rnp_query_qp_data_in_order(d->qp, IBV_WR_RDMA_WRITE, 0);
		d->ctx.engine->pcie = before;
	}
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++)
		if (in_order[i] != rows[i].in_order)
			fail_msg("row %u: %d", i, in_order[i]);
}

/* Returns the WQEs and doorbell (struct rn_host_bell) of a post of @count requests. */
static struct rn_host_bell bell_of(struct ibv_qp *qp, unsigned count)
{
	struct ibv_send_wr wr[4], *bad;

	assert_in_range(count, 1, RN_ARRAY_SIZE(wr));
	for (unsigned i = 0; i < count; i++)
		wr[i] = (struct ibv_send_wr){ .next = i + 1 < count ? &wr[i + 1] : NULL,
					      .opcode = IBV_WR_SEND };
	assert_int_equal(rnp_post_send(qp, wr, &bad), 0);
	return vverbs_host.bell;
}

static void a_doorbell_names_the_requests_of_its_post(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	struct rn_host_bell first = { 0 }, second = { 0 };
	bool is_on;

	(void)state;
	vverbs_connect();
	is_on = vverbs_put_below_pcie(d);
	if (is_on) {
		first = bell_of(d->qp, 1);
		second = bell_of(d->qp, 3);
	}
	d->ctx.engine->pcie = before;
	if (!is_on)
		skip();
	assert_int_equal(first.qpn, d->qp->qp_num);
	assert_int_equal(first.count, 1);
	assert_int_equal(second.first, first.first + 1);
	assert_int_equal(second.count, 3);
}

/* Returns the WQEs and doorbell (struct rn_host_bell) of a post of @count receives, to
 * @srq if it is not NULL.
 */
static struct rn_host_bell bell_of_receives(struct ibv_qp *qp, struct ibv_srq *srq,
					    unsigned count)
{
	struct ibv_recv_wr wr[4], *bad;

	assert_in_range(count, 1, RN_ARRAY_SIZE(wr));
	for (unsigned i = 0; i < count; i++)
		wr[i] = (struct ibv_recv_wr){
			.next = i + 1 < count ? &wr[i + 1] : NULL,
		};
	assert_int_equal(
		srq ? rnp_post_srq_recv(srq, wr, &bad) : rnp_post_recv(qp, wr, &bad), 0);
	return vverbs_host.bell;
}

static void a_doorbell_names_the_receives_of_its_post(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	struct rn_host_bell first = { 0 }, second = { 0 };
	struct rn_host_range range[2] = { { 0 } };
	bool is_on;

	(void)state;
	vverbs_connect();
	is_on = vverbs_put_below_pcie(d);
	if (is_on) {
		first = bell_of_receives(d->qp, NULL, 1);
		second = bell_of_receives(d->qp, NULL, 3);
		range[0] = second.wqe(second.arg, second.first);
		range[1] = second.wqe(second.arg, second.first + 1);
	}
	d->ctx.engine->pcie = before;
	if (!is_on)
		skip();
	assert_true(first.is_recv && second.is_recv);
	assert_int_equal(first.qpn, d->qp->qp_num);
	assert_int_equal(first.count, 1);
	assert_int_equal(second.first, first.first + 1);
	assert_int_equal(second.count, 3);
	assert_true(range[0].len > 0);
	assert_int_equal(range[0].len, range[1].len);
	assert_true(range[1].addr >= range[0].addr + range[0].len);
}

static void a_doorbell_names_the_receives_of_an_srq(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = rnp_create_srq(d->pd, &attr);
	struct rn_host_bell first = { 0 }, second = { 0 };
	bool is_on;

	(void)state;
	assert_non_null(srq);
	is_on = vverbs_put_below_pcie(d);
	if (is_on) {
		first = bell_of_receives(NULL, srq, 2);
		second = bell_of_receives(NULL, srq, 1);
	}
	d->ctx.engine->pcie = before;
	assert_int_equal(rnp_destroy_srq(srq), 0);
	if (!is_on)
		skip();
	assert_true(first.is_recv && second.is_recv);
	assert_int_equal(first.qpn, 0);
	assert_int_equal(first.count, 2);
	assert_int_equal(second.first, first.first + 2);
	assert_int_equal(second.count, 1);
}

static void nobody_listens(struct rn_host_nic *nic, const struct rn_host_wr *wr)
{
	(void)nic;
	(void)wr;
}

static void nobody_polls(struct rn_host_nic *nic, const struct rn_host_cqe *cqe)
{
	(void)nic;
	(void)cqe;
}

/* The sanitizer protects pages of the program's buffers. They must not contain memory
 * that the device accesses for each packet, because each of these accesses would fault.
 */
static void under_the_sanitizer_a_buffer_has_its_pages_alone(void **state)
{
	struct vverbs_device *d = &vverbs_devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	struct rnp_buffer small[2] = { { 0 } };
	struct rn_host_api api;
	bool is_on;

	(void)state;
	is_on = vverbs_put_below_pcie(d);
	if (is_on) {
		api = *d->ctx.engine->pcie.api;
		api.posted = nobody_listens;
		api.polled = nobody_polls;
		d->ctx.engine->pcie.api = &api;
	}
	for (unsigned i = 0; i < 2; i++) {
		small[i].engine = d->ctx.engine;
		small[i].len = 100;
		assert_int_equal(rnp_buffer_alloc(&small[i], NULL, 64), 0);
	}
	d->ctx.engine->pcie = before;
	if (is_on)
		assert_int_not_equal((uintptr_t)small[0].addr / 4096,
				     (uintptr_t)small[1].addr / 4096);
	for (unsigned i = 0; i < 2 && is_on; i++)
		assert_int_equal((uintptr_t)small[i].addr % 4096, 0);
	for (unsigned i = 0; i < 2; i++)
		rnp_buffer_free(&small[i]);
	if (!is_on)
		skip();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, vverbs_setup, vverbs_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(receive_that_is_flushed_at_once_raises_an_event),
		TEST(what_has_come_before_arming_raises_no_event),
		TEST(arming_writes_a_pending_event),
		TEST(cq_that_is_destroyed_is_not_armed),
		TEST(cq_that_is_destroyed_is_not_polled),
		TEST(peer_has_its_acknowledgement_before_an_error),
		TEST(peer_has_its_acknowledgement_before_a_reset),
		TEST(both_paths_must_carry_the_path_mtu),
		TEST(data_is_in_order_if_pcie_keeps_it),
		TEST(a_doorbell_names_the_requests_of_its_post),
		TEST(a_doorbell_names_the_receives_of_its_post),
		TEST(a_doorbell_names_the_receives_of_an_srq),
		TEST(under_the_sanitizer_a_buffer_has_its_pages_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
