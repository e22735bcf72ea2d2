/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine_kit.c - creates queue pairs directly on engines, without verbs. */
#include "engine_kit.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rocin/cqe.h"
#include "rocin/queue_pair.h"
#include "tests/kit/system/roce_socket.h"
#include "transport/io/rocind/rocind_client.h"

/* ------------------------------------------------------------------------ hooks */
static void on_event(const struct rn_event *ev)
{
	struct kit_end *k;

	if (ev->completion) {
		k = ev->cq->owner;
		if (k->is_armed)
			rnp_engine_cq_unarmed(k->e);
		k->is_armed = false;
		assert_int_equal(eventfd_write(k->event_fd, 1), 0);
	} else if (ev->qp) {
		k = rn_qp_owner(ev->qp);
		k->qp_async |= 1u << ev->async;
	}
}

static void on_device_event(void *owner, int ibv_event_type)
{
	struct kit_end *k = owner;

	k->async |= 1u << ibv_event_type;
}

static const struct rnp_engine_hooks hooks = {
	.on_event = on_event,
	.on_device_event = on_device_event,
};

/* ------------------------------------------------------------------- open, close */
void kit_environment(unsigned base)
{
	char text[128];
	size_t n = 0;

	for (unsigned i = 0; i < KIT_DEVICES; i++) {
		struct rn_gid g = roce_gid(base + i);

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%slo:%u.%u.%u.%u",
				      i ? "," : "", g.raw[12], g.raw[13], g.raw[14],
				      g.raw[15]);
	}
	setenv("ROCIN_NETDEVS", text, 1);
}

void kit_open(struct kit_end *k, unsigned n)
{
	char name[16], err[300] = "";

	memset(k, 0, sizeof(*k));
	snprintf(name, sizeof(name), "rocin%u", n);
	k->e = rnp_engine_get(name, &hooks, k, err, sizeof(err));
	if (!k->e)
		fail_msg("%s", err);
	k->gid = rnp_engine_netdev(k->e)->gid[0];
	k->event_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(k->event_fd >= 0);
}

void kit_attach_alone(struct kit_end *k)
{
	struct rn_attach a = { .slot = 1, .qpn_counter = 1, .sock_count = 1 };
	char err[300] = "";

	a.sock[0] = roce_socket(&k->gid);
	if (a.sock[0] <= 2)
		fail_msg("socket %d of 127.%u.%u.%u: %s", a.sock[0], k->gid.raw[13],
			 k->gid.raw[14], k->gid.raw[15], strerror(errno));
	rnp_engine_lock(k->e);
	if (rnp_engine_start(k->e, &a, err, sizeof(err)))
		fail_msg("%s", err);
	rnp_engine_unlock(k->e);
}

static void add_mr(struct kit_end *k)
{
	struct rn_mr_attr attr = {
		.key = KIT_KEY,
		.pd = 1,
		.va = (uintptr_t)k->buf,
		.length = KIT_BUF,
		.iova_base = (uintptr_t)k->buf,
		.access = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			  RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC,
	};

	assert_int_equal(rn_mr_init(&k->mr, &attr), 0);
	rn_dev_add_mr(rnp_engine_dev(k->e), &k->mr);
}

void kit_make_qp(struct kit_end *k)
{
	struct rn_qp_init init = {
		.type = RN_QPT_RC,
		.pd = 1,
		.send_cq = &k->cq,
		.recv_cq = &k->cq,
		.max_send_wr = KIT_WRS,
		.max_recv_wr = KIT_WRS,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.sq_sig_all = true,
		.owner = k,
	};
	struct rn_dev *dev = rnp_engine_dev(k->e);

	k->ring = calloc(KIT_CQES, sizeof(*k->ring));
	k->buf = aligned_alloc(4096, KIT_BUF);
	assert_true(k->ring && k->buf);
	memset(k->buf, 0, KIT_BUF);
	rnp_engine_lock(k->e);
	rn_cq_init(&k->cq, (uintptr_t)k->ring, KIT_CQES, k);
	add_mr(k);
	assert_int_equal(rnp_engine_new_qpn(k->e, &init.qpn), 0);
	k->stats = rnp_engine_stats_qp(k->e);
	init.stats = k->stats;
	k->qpn = init.qpn;
	k->qp_mem = aligned_alloc(64, (rn_qp_size(dev, &init) + 63) / 64 * 64);
	assert_non_null(k->qp_mem);
	k->qp = rn_qp_create(dev, k->qp_mem, &init);
	rnp_engine_unlock(k->e);
}

void kit_destroy_qp(struct kit_end *k)
{
	struct rn_dev *dev = rnp_engine_dev(k->e);

	rnp_engine_lock(k->e);
	if (k->is_armed)
		rnp_engine_cq_unarmed(k->e);
	rnp_engine_retire_qp(k->e, k->qp, k->stats);
	rn_qp_destroy(dev, k->qp);
	rn_cq_fini(dev, &k->cq);
	rn_dev_remove_mr(dev, &k->mr);
	rnp_engine_kick(k->e);
	rnp_engine_unlock(k->e);
	k->qp = NULL;
}

void kit_close(struct kit_end *k)
{
	if (k->qp)
		kit_destroy_qp(k);
	rnp_engine_put(k->e, k);
	close(k->event_fd);
	free(k->qp_mem);
	free(k->ring);
	free(k->buf);
}

void kit_close_pair(struct kit_end k[2])
{
	for (unsigned i = 0; i < 2; i++)
		kit_close(&k[i]);
}

/* --------------------------------------------------------------------- connection */
void kit_connect(struct kit_end *k, const struct rn_gid *peer_gid, uint32_t peer_qpn,
		 uint8_t timeout)
{
	struct rn_qp_attr attr = {
		.port_num = 1,
		.access = RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ |
			  RN_ACCESS_REMOTE_ATOMIC,
		.path_mtu = 1024,
		.dest_qpn = peer_qpn,
		.rq_psn = 7,
		.sq_psn = 7,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.av = { .dgid = *peer_gid, .hop_limit = 64 },
	};

	rnp_engine_lock(k->e);
	for (unsigned state = RN_QPS_INIT; state <= RN_QPS_RTS; state++) {
		attr.state = (enum rn_qp_state)state;
		assert_int_equal(rn_qp_modify(rnp_engine_dev(k->e), k->qp,
					      rnp_engine_now(), &attr,
					      rn_qp_required(RN_QPT_RC, attr.state)),
				 0);
	}
	rnp_engine_kick(k->e);
	rnp_engine_unlock(k->e);
}

void kit_pair(struct kit_end k[2], uint8_t timeout)
{
	for (unsigned i = 0; i < 2; i++) {
		kit_open(&k[i], i);
		kit_attach_alone(&k[i]);
		kit_make_qp(&k[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		kit_connect(&k[i], &k[1 - i].gid, k[1 - i].qpn, timeout);
}

/* --------------------------------------------------------------------------- work */
void kit_post_send_locked(struct kit_end *k, enum rn_wr_opcode opcode, uint32_t len,
			  uint64_t remote_addr)
{
	struct rn_sge sge = { (uintptr_t)k->buf, len, KIT_KEY };
	struct rn_send_wr wr = { .opcode = opcode,
				 .remote_addr = remote_addr,
				 .rkey = KIT_KEY,
				 .sg = &sge,
				 .num_sge = 1 };
	struct rnp_posted posted = { .now = rnp_engine_now() };

	assert_int_equal(rn_qp_post_send(rnp_engine_dev(k->e), k->qp, posted.now, &wr),
			 0);
	rnp_posted_add(&posted, &wr);
	rnp_engine_posted(k->e, k->qp, &posted);
}

void kit_post_send(struct kit_end *k, enum rn_wr_opcode opcode, uint32_t len,
		   uint64_t remote_addr)
{
	rnp_engine_lock(k->e);
	kit_post_send_locked(k, opcode, len, remote_addr);
	rnp_engine_unlock(k->e);
}

void kit_post_recv(struct kit_end *k)
{
	struct rn_sge sge = { (uintptr_t)k->buf, KIT_BUF, KIT_KEY };
	struct rn_recv_wr wr = { .sg = &sge, .num_sge = 1 };

	rnp_engine_lock(k->e);
	assert_int_equal(
		rn_qp_post_recv(rnp_engine_dev(k->e), k->qp, rnp_engine_now(), &wr), 0);
	rnp_engine_unlock(k->e);
}

/* ------------------------------------------------------------------------- polling */
bool kit_has_entry(void *arg)
{
	struct kit_end *k = arg;
	uint64_t ctl =
		__atomic_load_n(&k->ring[k->taken % KIT_CQES].ctl, __ATOMIC_ACQUIRE);

	return ctl >> 32 == k->taken / KIT_CQES + 1;
}

static bool pop(struct kit_end *k, struct rn_cqe *cqe)
{
	if (!kit_has_entry(k))
		return false;
	*cqe = k->ring[k->taken % KIT_CQES];
	k->taken++;
	atomic_store_explicit(&k->cq.consumer, k->taken, memory_order_release);
	return true;
}

bool kit_poll(struct kit_end *k, struct rn_cqe *cqe)
{
	if (pop(k, cqe))
		return true;
	rnp_engine_poll(k->e);
	if (pop(k, cqe))
		return true;
	rnp_engine_pause(k->e, kit_has_entry, k);
	return false;
}

void kit_not_forever(rn_ns since)
{
	if (rnp_engine_now() - since > RN_MSEC(KIT_WAIT_MS))
		fail_msg("nothing came for %d ms", KIT_WAIT_MS);
}

struct rn_cqe kit_await(struct kit_end *k, enum rn_wc_status status)
{
	rn_ns start = rnp_engine_now();
	struct rn_cqe cqe;

	while (!kit_poll(k, &cqe))
		kit_not_forever(start);
	assert_int_equal((uint8_t)cqe.ctl, status);
	return cqe;
}

void kit_await_both(struct kit_end *at, struct kit_end *other)
{
	rn_ns start = rnp_engine_now();
	struct rn_cqe cqe;

	while (!kit_poll(at, &cqe)) {
		rnp_engine_poll(other->e);
		kit_not_forever(start);
	}
	assert_int_equal((uint8_t)cqe.ctl, RN_WC_SUCCESS);
}

bool kit_arm(struct kit_end *k)
{
	rnp_engine_lock(k->e);
	rnp_engine_drain(k->e);
	rn_cq_arm(&k->cq, RN_CQ_ARM_NEXT);
	if (!k->is_armed) {
		k->is_armed = true;
		rnp_engine_cq_armed(k->e);
	}
	rnp_engine_unlock(k->e);
	if (kit_has_entry(k))
		return true;
	rnp_engine_poll(k->e);
	return rnp_engine_linger(k->e, kit_has_entry, k);
}

void kit_await_event(struct kit_end *k)
{
	struct pollfd p = { .fd = k->event_fd, .events = POLLIN };
	eventfd_t count;

	assert_int_equal(poll(&p, 1, KIT_WAIT_MS), 1);
	assert_int_equal(eventfd_read(k->event_fd, &count), 0);
}
