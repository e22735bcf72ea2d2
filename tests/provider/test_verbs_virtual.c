/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_verbs_virtual.c - verbs on two engines in virtual time: what depends on who runs
 * when, and what happens when a part of the device has no more of something.
 *
 * The contexts are made by hand, without libibverbs: no plugin is loaded.
 */
#include "virtual_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "net_udp.h"
#include "provider.h"
#include "qp_attr.h"
#include "rocin/pcie.h"

enum {
	TIMEOUT = 20, /* 4 s: nothing comes because it was sent again */
	CQES = 16,
	MANY = 100000,
};

/* What libibverbs has of a device that a program uses. */
struct device {
	struct rnp_context ctx;
	struct ibv_comp_channel channel;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct kit_end ends[2];
static struct device devices[2];

/* ------------------------------------------------------------- parts that may be short
 */
static struct {
	bool no_numbers; /* of queue pairs */
	bool no_object;	 /* the device has as many as it may */
	bool no_groups;	 /* the socket of a group cannot be taken in */
	bool is_narrow;	 /* the way to @narrow carries no packet of any path MTU */
	bool has_ring;	 /* a ring to the peer is full, and may be passed by */
	struct rn_gid narrow;
	unsigned raw_gets; /* sockets of raw packet QPs */
} machine;

int __real_rnp_engine_new_qpn(struct rnp_engine *e, uint32_t *qpn);
int __wrap_rnp_engine_new_qpn(struct rnp_engine *e, uint32_t *qpn);
int __wrap_rnp_engine_new_qpn(struct rnp_engine *e, uint32_t *qpn)
{
	return machine.no_numbers ? -ENOMEM : __real_rnp_engine_new_qpn(e, qpn);
}

int __real_rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind);
int __wrap_rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind);
int __wrap_rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind)
{
	return machine.no_object ? -ENOMEM : __real_rnp_hca_add(hca, kind);
}

int __wrap_rnp_raw_get(struct rnp_engine *e);
int __wrap_rnp_raw_get(struct rnp_engine *e)
{
	(void)e;
	machine.raw_gets++;
	return 0;
}

void __wrap_rnp_raw_put(struct rnp_engine *e);
void __wrap_rnp_raw_put(struct rnp_engine *e)
{
	(void)e;
	assert_true(machine.raw_gets > 0);
	machine.raw_gets--;
}

int __wrap_rn_group_open(const struct rn_gid *mgid, uint32_t ifindex);
int __wrap_rn_group_open(const struct rn_gid *mgid, uint32_t ifindex)
{
	(void)mgid;
	(void)ifindex;
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

void __wrap_rn_group_close(int sock, const struct rn_gid *mgid, uint32_t ifindex);
void __wrap_rn_group_close(int sock, const struct rn_gid *mgid, uint32_t ifindex)
{
	(void)mgid;
	(void)ifindex;
	if (sock >= 0)
		close(sock);
}

static int group_sock = -1; /* that the engine has taken in */

int __wrap_rnp_engine_join(struct rnp_engine *e, const struct rn_gid *mgid, int sock);
int __wrap_rnp_engine_join(struct rnp_engine *e, const struct rn_gid *mgid, int sock)
{
	(void)e;
	(void)mgid;
	if (machine.no_groups)
		return -ENOBUFS;
	group_sock = sock;
	return 0;
}

int __wrap_rnp_engine_leave(struct rnp_engine *e, const struct rn_gid *mgid);
int __wrap_rnp_engine_leave(struct rnp_engine *e, const struct rn_gid *mgid)
{
	(void)e;
	(void)mgid;
	return group_sock;
}

bool __wrap_rnp_path_carries(struct rnp_path_mtu *p, const struct rn_netdev *dev,
			     const struct rn_av *av, uint32_t path_mtu);
bool __wrap_rnp_path_carries(struct rnp_path_mtu *p, const struct rn_netdev *dev,
			     const struct rn_av *av, uint32_t path_mtu)
{
	(void)p;
	(void)dev;
	assert_int_equal(path_mtu, 1024);
	return !machine.is_narrow ||
	       memcmp(&av->dgid, &machine.narrow, sizeof(av->dgid)) != 0;
}

/* A local wire whose ring is full: what is in a hurry goes by UDP. */
void __wrap_rn_local_hurry(struct rn_local *l, bool hurry);
void __wrap_rn_local_hurry(struct rn_local *l, bool hurry)
{
	(void)l;
	virtual_end(&ends[1])->is_full = !hurry;
}

void __wrap_rn_local_look_everywhere(struct rn_local *l);
void __wrap_rn_local_look_everywhere(struct rn_local *l)
{
	(void)l;
}

rn_ns __wrap_rn_local_rest_due(const struct rn_local *l);
rn_ns __wrap_rn_local_rest_due(const struct rn_local *l)
{
	(void)l;
	return RN_NEVER;
}

/* In place of plugin.c. */
const struct rnp_abi *rnp_plugin_abi(void)
{
	static const struct rnp_abi none;

	return &none;
}

void *const *rnp_plugin_table(void)
{
	return NULL;
}

void *rnp_plugin_verbs(void)
{
	return NULL;
}

void rnp_tell(const char *fmt, ...)
{
	(void)fmt;
}

/* ---------------------------------------------------------------------------- fixture */
static struct ibv_qp *new_qp(struct device *d, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = { .send_cq = d->cq,
					 .recv_cq = d->cq,
					 .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = type,
					 .sq_sig_all = 1 };

	return rnp_create_qp(d->pd, &attr);
}

/* With what the library adds to it. */
static struct ibv_cq *new_cq(struct device *d)
{
	struct ibv_cq *cq = rnp_create_cq(&d->ctx.base, CQES, &d->channel, 0);

	if (!cq)
		return NULL;
	cq->context = &d->ctx.base;
	pthread_mutex_init(&cq->mutex, NULL);
	pthread_cond_init(&cq->cond, NULL);
	return cq;
}

static void open_device(struct device *d, unsigned n)
{
	char name[16], err[300] = "";

	memset(d, 0, sizeof(*d));
	pthread_mutex_init(&d->ctx.channel_lock, NULL);
	(void)snprintf(name, sizeof(name), "rocin%u", n);
	d->ctx.hca =
		rnp_hca_open(name, &rnp_hooks, &d->ctx, &d->ctx.engine, err, sizeof(err));
	if (!d->ctx.hca)
		fail_msg("%s", err);
	assert_ptr_equal(d->ctx.engine, ends[n].e);
	d->channel.context = &d->ctx.base;
	d->channel.fd = rnp_event_fd_new();
	assert_true(d->channel.fd >= 0);
	d->pd = rnp_alloc_pd(&d->ctx.base);
	assert_non_null(d->pd);
	d->cq = new_cq(d);
	assert_non_null(d->cq);
	d->qp = new_qp(d, IBV_QPT_RC);
	assert_non_null(d->qp);
}

static void close_device(struct device *d)
{
	if (d->qp)
		assert_int_equal(rnp_destroy_qp(d->qp), 0);
	if (d->cq)
		assert_int_equal(rnp_destroy_cq(d->cq), 0);
	assert_int_equal(rnp_dealloc_pd(d->pd), 0);
	rnp_hca_close(d->ctx.hca, &d->ctx);
	pthread_mutex_destroy(&d->ctx.channel_lock);
	close(d->channel.fd);
}

static int setup(void **state)
{
	(void)state;
	memset(&machine, 0, sizeof(machine));
	virtual_pair(ends, TIMEOUT);
	for (unsigned i = 0; i < 2; i++)
		open_device(&devices[i], i);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++)
		close_device(&devices[i]);
	virtual_close_pair(ends);
	return 0;
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	assert_int_equal(rnp_modify_qp(qp, attr, mask | IBV_QP_STATE), 0);
}

static void to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	modify(qp, &attr, 0);
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	modify(qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static struct ibv_ah_attr address_of(const struct rn_gid *gid)
{
	struct ibv_ah_attr ah = { .is_global = 1,
				  .port_num = 1,
				  .grh = { .hop_limit = 64 } };

	memcpy(&ah.grh.dgid, gid, sizeof(*gid));
	return ah;
}

enum {
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
};

/* For RTR and RTS, towards the other device. */
static struct ibv_qp_attr towards(unsigned other)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = devices[other].qp->qp_num,
		.ah_attr = address_of(&ends[other].gid),
		.min_rnr_timer = 1,
		.timeout = TIMEOUT,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
}

static void connect_both(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_qp_attr attr = towards(!i);

		to_init(devices[i].qp);
		modify(devices[i].qp, &attr, TO_RTR);
		attr.qp_state = IBV_QPS_RTS;
		modify(devices[i].qp, &attr, TO_RTS);
	}
}

/* Of no bytes, which take no region. */
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

static bool event_waits(const struct device *d)
{
	struct pollfd p = { .fd = d->channel.fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* The program reads a record as libibverbs does, and acknowledges it. */
static void take_event(struct device *d)
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
	struct device *d = &devices[0];
	struct ibv_wc wc;

	(void)state;
	to_init(d->qp);
	to_state(d->qp, IBV_QPS_ERR);
	assert_int_equal(rnp_req_notify_cq(d->cq, 0), 0);
	assert_false(event_waits(d));
	post_recv(d->qp);
	take_event(d);
	assert_int_equal(rnp_poll_cq(d->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
}

/* Whoever arms a CQ polls it then: an event for what that finds would be one too many. */
static void what_has_come_before_arming_raises_no_event(void **state)
{
	struct device *d = &devices[1];
	struct ibv_wc wc;

	(void)state;
	connect_both();
	post_recv(d->qp);
	post_send(devices[0].qp);
	virtual_compute(virtual_machine.wire);
	assert_int_equal(rnp_req_notify_cq(d->cq, 0), 0);
	assert_int_equal(rnp_poll_cq(d->cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 7);
	assert_false(event_waits(d));
	/* It is still armed for the next. */
	post_recv(d->qp);
	post_send(devices[0].qp);
	virtual_run(RN_MSEC(10));
	take_event(d);
}

/* Its event found the channel full, and there is room now. */
static void arming_writes_an_event_that_is_owed(void **state)
{
	struct device *d = &devices[0];
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
	to_init(d->qp);
	to_state(d->qp, IBV_QPS_ERR);
	assert_int_equal(rnp_req_notify_cq(d->cq, 0), 0);
	post_recv(d->qp);
	while (read(fd, &record, sizeof(record)) == sizeof(record))
		assert_int_equal(record, 1);
	assert_int_equal(rnp_req_notify_cq(d->cq, 0), 0);
	take_event(d);
}

static unsigned polls_for_the_sockets(unsigned n)
{
	unsigned polls = 0;

	virtual_run(RN_MSEC(100));
	assert_true(virtual_end(&ends[n])->listens);
	while (virtual_end(&ends[n])->listens) {
		assert_true(polls < MANY);
		rnp_engine_poll(ends[n].e);
		virtual_run(VIRTUAL_POLL);
		polls++;
	}
	return polls;
}

/* Nobody waits for its event any more. */
static void cq_that_is_destroyed_is_not_armed(void **state)
{
	struct device *d = &devices[0];
	unsigned polls = polls_for_the_sockets(0);
	struct ibv_cq *cq = new_cq(d);

	(void)state;
	assert_non_null(cq);
	assert_int_equal(rnp_req_notify_cq(cq, 0), 0);
	assert_int_equal(rnp_destroy_cq(cq), 0);
	assert_int_equal(polls_for_the_sockets(0), polls);
}

/* -------------------------------------------------------------------- acknowledgements
 */
static void expect_acknowledged_before(enum ibv_qp_state state)
{
	struct device *d = &devices[1];
	static char local;
	struct ibv_wc wc;

	connect_both();
	post_recv(d->qp);
	post_send(devices[0].qp);
	virtual_compute(virtual_machine.wire);
	virtual_end(&ends[1])->is_full = true;
	assert_int_equal(rnp_poll_cq(d->cq, 1, &wc), 1);
	assert_int_equal(virtual_waiting(&ends[0]), 0);
	d->ctx.engine->wire.local = (struct rn_local *)&local;
	to_state(d->qp, state);
	d->ctx.engine->wire.local = NULL;
	virtual_compute(virtual_machine.wire);
	assert_int_equal(rnp_poll_cq(devices[0].cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	virtual_end(&ends[1])->is_full = false;
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
	struct device *d = &devices[0];
	struct ibv_qp_attr attr = towards(1);

	(void)state;
	to_init(d->qp);
	attr.alt_ah_attr = address_of(&ends[0].gid);
	attr.alt_port_num = 1;
	machine.is_narrow = true;
	machine.narrow = ends[1].gid;
	assert_int_equal(rnp_modify_qp(d->qp, &attr, TO_RTR | IBV_QP_ALT_PATH), EINVAL);
	machine.narrow = ends[0].gid;
	assert_int_equal(rnp_modify_qp(d->qp, &attr, TO_RTR | IBV_QP_ALT_PATH), EINVAL);
	/* What is not asked for is not looked at. */
	assert_int_equal(rnp_modify_qp(d->qp, &attr, TO_RTR), 0);
	machine.is_narrow = false;
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(rnp_modify_qp(d->qp, &attr, TO_RTS | IBV_QP_ALT_PATH), 0);
}

static struct rn_pcie_knobs knobs;

static const struct rn_pcie_knobs *knobs_in_force(void)
{
	return &knobs;
}

static int no_dm(struct rn_host_nic *nic, rn_iova addr, uint64_t len)
{
	(void)nic;
	(void)addr;
	(void)len;
	return -ENOMEM;
}

static const struct rn_host_api host = { .knobs = knobs_in_force, .dm_add = no_dm };

/* False: built without it. */
static bool put_below_pcie(struct device *d)
{
	static char nic;

	d->ctx.engine->pcie =
		(struct rnp_pcie){ .api = &host, .nic = (struct rn_host_nic *)&nic };
	return rnp_pcie_is_on(&d->ctx.engine->pcie);
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
	struct device *d = &devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	int in_order[RN_ARRAY_SIZE(rows)] = { 0 };
	bool is_on = put_below_pcie(d);

	(void)state;
	d->ctx.engine->pcie = before;
	if (!is_on)
		skip();
	connect_both();
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		knobs = (struct rn_pcie_knobs){ .place = rows[i].place,
						.ooo = rows[i].ooo,
						.relaxed = rows[i].relaxed };
		put_below_pcie(d);
		in_order[i] = rnp_query_qp_data_in_order(d->qp, IBV_WR_RDMA_WRITE, 0);
		d->ctx.engine->pcie = before;
	}
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++)
		if (in_order[i] != rows[i].in_order)
			fail_msg("row %u: %d", i, in_order[i]);
}

/* --------------------------------------------------------------- what could not be made
 */
/* Those that got no number are not counted: there is room for one that gets it. */
static void qp_without_a_number_leaves_nothing_behind(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_RAW_PACKET };
	struct device *d = &devices[0];
	struct ibv_qp *qp;

	(void)state;
	for (unsigned i = 0; i < RNP_QP_MAX; i++) {
		machine.no_numbers = true;
		assert_null(new_qp(d, types[i % 2]));
		assert_int_equal(errno, ENOMEM);
		assert_int_equal(machine.raw_gets, 0);
	}
	machine.no_numbers = false;
	qp = new_qp(d, IBV_QPT_RC);
	assert_non_null(qp);
	assert_int_equal(rnp_destroy_qp(qp), 0);
}

static void cq_that_cannot_be_made_lets_its_channel_go(void **state)
{
	struct device *d = &devices[0];

	(void)state;
	assert_int_equal(rnp_destroy_qp(d->qp), 0);
	d->qp = NULL;
	machine.no_object = true;
	assert_null(new_cq(d));
	assert_int_equal(errno, ENOMEM);
	machine.no_object = false;
	assert_int_equal(rnp_destroy_cq(d->cq), 0);
	d->cq = NULL;
	assert_true(LIST_EMPTY(&d->ctx.channels)); /* and its descriptor is closed */
}

static void group_that_cannot_be_joined_is_not_counted(void **state)
{
	const union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct device *d = &devices[0];
	struct ibv_qp *qp = new_qp(d, IBV_QPT_UD);

	(void)state;
	assert_non_null(qp);
	machine.no_groups = true;
	for (unsigned i = 0; i < RNP_MCAST_GRP_MAX; i++)
		assert_int_equal(rnp_attach_mcast(qp, &group, 0), ENOBUFS);
	machine.no_groups = false;
	assert_int_equal(rnp_attach_mcast(qp, &group, 0), 0);
	assert_int_equal(rnp_detach_mcast(qp, &group, 0), 0);
	assert_int_equal(rnp_destroy_qp(qp), 0);
}

static void device_memory_that_pcie_does_not_take_is_given_back(void **state)
{
	struct ibv_alloc_dm_attr attr = { .length = RNP_DM_BYTES };
	struct device *d = &devices[0];
	struct rnp_pcie before = d->ctx.engine->pcie;
	bool is_on = put_below_pcie(d);
	struct ibv_dm *dm = is_on ? rnp_alloc_dm(&d->ctx.base, &attr) : NULL;
	int error = errno;

	(void)state;
	d->ctx.engine->pcie = before;
	if (!is_on)
		skip();
	assert_null(dm);
	assert_int_equal(error, ENOMEM);
	dm = rnp_alloc_dm(&d->ctx.base, &attr);
	assert_non_null(dm);
	assert_int_equal(rnp_free_dm(dm), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(receive_that_is_flushed_at_once_raises_an_event),
		TEST(what_has_come_before_arming_raises_no_event),
		TEST(arming_writes_an_event_that_is_owed),
		TEST(cq_that_is_destroyed_is_not_armed),
		TEST(peer_has_its_acknowledgement_before_an_error),
		TEST(peer_has_its_acknowledgement_before_a_reset),
		TEST(both_paths_must_carry_the_path_mtu),
		TEST(data_is_in_order_if_pcie_keeps_it),
		TEST(qp_without_a_number_leaves_nothing_behind),
		TEST(cq_that_cannot_be_made_lets_its_channel_go),
		TEST(group_that_cannot_be_joined_is_not_counted),
		TEST(device_memory_that_pcie_does_not_take_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
