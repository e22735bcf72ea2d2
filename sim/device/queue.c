/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* queue.c - implements the functions of rocin/device.h about queue pairs, requests and
 * completions.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device_internal.h"

enum {
	QUEUE_LENGTH = 64,
	READS = 16,
	ACK_TIMEOUT = 14,
	RETRIES = 7,
	RNR_TIMER = 12,
	HOP_LIMIT = 64,
	QPN_MAX = 0xffffff, /* highest QPN, and highest PSN */
	/* highest 5-bit code of the ACK timeout and of the RNR timer */
	CODE_MAX = 31,
};

static_assert((int)RN_DEVICE_RC == RN_QPT_RC && (int)RN_DEVICE_UC == RN_QPT_UC, "types");
static_assert((int)RN_DEVICE_INIT == RN_QPS_INIT && (int)RN_DEVICE_READY == RN_QPS_RTS &&
		      (int)RN_DEVICE_FAILED == RN_QPS_ERR,
	      "states");
static_assert((int)RN_DEVICE_WRITE == RN_WR_RDMA_WRITE &&
		      (int)RN_DEVICE_WRITE_IMM == RN_WR_RDMA_WRITE_WITH_IMM &&
		      (int)RN_DEVICE_SEND == RN_WR_SEND &&
		      (int)RN_DEVICE_SEND_IMM == RN_WR_SEND_WITH_IMM &&
		      (int)RN_DEVICE_READ == RN_WR_RDMA_READ &&
		      (int)RN_DEVICE_COMPARE_SWAP == RN_WR_ATOMIC_CMP_AND_SWP &&
		      (int)RN_DEVICE_FETCH_ADD == RN_WR_ATOMIC_FETCH_AND_ADD,
	      "operations");
static_assert((int)RN_DEVICE_SENT == RN_WC_SEND &&
		      (int)RN_DEVICE_WRITTEN == RN_WC_RDMA_WRITE &&
		      (int)RN_DEVICE_WAS_READ == RN_WC_RDMA_READ &&
		      (int)RN_DEVICE_SWAPPED == RN_WC_COMP_SWAP &&
		      (int)RN_DEVICE_ADDED == RN_WC_FETCH_ADD &&
		      (int)RN_DEVICE_RECEIVED == RN_WC_RECV &&
		      (int)RN_DEVICE_RECEIVED_WRITE == RN_WC_RECV_RDMA_WITH_IMM,
	      "completions");

static struct rn_device_queue_pair *find(const struct rn_device *d, uint32_t qpn)
{
	struct rn_qp *qp = rn_dev_find_qp(d->dev, qpn);

	return qp ? rn_qp_owner(qp) : NULL;
}

/* ------------------------------------------------------------------ queue pairs */
static int choose_qpn(struct rn_device *d, uint32_t wanted, uint32_t *qpn)
{
	*qpn = wanted;
	if (wanted)
		return wanted < 2 || wanted > QPN_MAX	? -EINVAL
		       : rn_dev_has_qpn(d->dev, wanted) ? -EEXIST
							: 0;
	while (d->next_qpn <= QPN_MAX && rn_dev_has_qpn(d->dev, d->next_qpn))
		d->next_qpn++;
	if (d->next_qpn > QPN_MAX)
		return -ENOMEM;
	*qpn = d->next_qpn++;
	return 0;
}

/* Moves a new queue pair to INIT, so that the caller can post receives at once. */
static void init_queue(struct rn_device *d, struct rn_qp *qp)
{
	const struct rn_qp_attr attr = {
		.state = RN_QPS_INIT,
		.port_num = 1,
		.access = RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ |
			  RN_ACCESS_REMOTE_ATOMIC,
	};
	int rc = rn_qp_modify(d->dev, qp, rn_device_advance(d, d->now), &attr,
			      RN_ATTR_STATE | RN_ATTR_PORT | RN_ATTR_PKEY_INDEX |
				      RN_ATTR_ACCESS_FLAGS);

	assert(rc == 0);
	(void)rc;
}

static bool is_sane(const struct rn_device_queue *q)
{
	return rn_device_is_unused(q->reserved) &&
	       (q->type == 0 || q->type == RN_DEVICE_RC || q->type == RN_DEVICE_UC) &&
	       q->reads <= RN_RD_ATOMIC_MAX && q->sends <= RN_WR_MAX &&
	       q->receives <= RN_WR_MAX;
}

static size_t whole_lines(size_t size)
{
	return (size + 63) & ~(size_t)63;
}

/* Gives @qp memory at @at, in which it keeps the READs and atomics of the peer, and
 * behind that its own, up to @reads of each.
 */
static void lend(struct rn_qp *qp, uint8_t *at, uint32_t reads)
{
	rn_qp_lend_resources(qp, at, reads);
	rn_qp_lend_reads(qp, at + whole_lines(rn_qp_resources_size(reads)), reads);
}

int rn_device_queue_new(struct rn_device *device, const struct rn_device_queue *queue,
			uint32_t *qpn)
{
	uint32_t reads = rn_device_default(queue->reads, READS);
	struct rn_device_queue_pair *q;
	struct rn_qp_init init = {
		.type = (enum rn_qp_type)rn_device_default(queue->type, RN_DEVICE_RC),
		.pd = RN_DEVICE_PD,
		.send_cq = &device->cq,
		.recv_cq = &device->cq,
		.max_send_wr = rn_device_default(queue->sends, QUEUE_LENGTH),
		.max_recv_wr = rn_device_default(queue->receives, QUEUE_LENGTH),
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.sq_sig_all = true,
		.lent_resources = true,
	};
	uint8_t *block;
	size_t size;
	int rc = is_sane(queue) ? choose_qpn(device, queue->qpn, &init.qpn) : -EINVAL;

	if (rc)
		return rc;
	size = whole_lines(rn_qp_size(device->dev, &init));
	block = aligned_alloc(64, size + whole_lines(rn_qp_resources_size(reads)) +
					  whole_lines(rn_qp_reads_size(reads)));
	q = calloc(1, sizeof(*q));
	if (!q || !block) {
		free(q);
		free(block);
		return -ENOMEM;
	}
	init.owner = q;
	q->qp = rn_qp_create(device->dev, block, &init);
	q->type = init.type;
	if (q->type == RN_QPT_RC)
		lend(q->qp, block + size, reads);
	init_queue(device, q->qp);
	q->next = device->queues;
	q->link = &device->queues;
	if (q->next)
		q->next->link = &q->next;
	device->queues = q;
	*qpn = init.qpn;
	return 0;
}

static struct rn_cqe *entry(const struct rn_device *d, uint32_t index)
{
	return &d->ring[index & (d->cq.capacity - 1)];
}

/* Called before a queue pair is destroyed: marks its CQEs that are still in the ring, so
 * that rn_device_poll() skips them. Also gives back the ring entries that were reserved
 * for its requests and receives that have not completed.
 */
static void forget(struct rn_device *d, const struct rn_device_queue_pair *q)
{
	uint32_t qpn = rn_qp_qpn(q->qp), waiting = 0;

	for (uint32_t i = atomic_load(&d->cq.consumer); i != d->cq.producer; i++) {
		struct rn_cqe *e = entry(d, i);

		if (e->qpn != qpn || e->ctl >> 16 & RN_WC_SKIP)
			continue;
		e->ctl |= (uint64_t)RN_WC_SKIP << 16;
		waiting++;
	}
	d->owed -= q->posted - waiting;
}

static void free_queue(struct rn_device *d, struct rn_device_queue_pair *q)
{
	forget(d, q);
	rn_qp_destroy(d->dev, q->qp);
	*q->link = q->next;
	if (q->next)
		q->next->link = q->link;
	free(q->qp);
	free(q);
}

void rn_device_free_queues(struct rn_device *d)
{
	for (struct rn_device_queue_pair *next, *q = d->queues; q; q = next) {
		next = q->next;
		free_queue(d, q);
	}
}

int rn_device_queue_free(struct rn_device *device, uint32_t qpn)
{
	struct rn_device_queue_pair *q = find(device, qpn);

	if (!q)
		return -ENOENT;
	free_queue(device, q);
	return 0;
}

/* Returns true if all values of @peer are valid. They are checked before the queue pair
 * is changed: rn_qp_modify() would refuse some of them only at the second of its two
 * steps, to RTR and to RTS.
 */
static bool is_peer_sane(const struct rn_device_peer *peer)
{
	struct rn_gid gid;

	memcpy(gid.raw, peer->address, sizeof(gid.raw));
	return rn_device_is_unused(peer->reserved) && !rn_gid_is_multicast(&gid) &&
	       peer->qpn <= QPN_MAX && peer->psn <= QPN_MAX && peer->own_psn <= QPN_MAX &&
	       peer->ack_timeout <= CODE_MAX && peer->rnr_timer <= CODE_MAX &&
	       peer->retries <= RETRIES && peer->rnr_retries <= RETRIES;
}

static int modify(struct rn_device *d, const struct rn_device_queue_pair *q,
		  const struct rn_qp_attr *attr)
{
	return rn_qp_modify(d->dev, q->qp, d->now, attr,
			    rn_qp_required(q->type, attr->state));
}

int rn_device_connect(struct rn_device *device, int64_t now, uint32_t qpn,
		      const struct rn_device_peer *peer)
{
	struct rn_device_queue_pair *q = find(device, qpn);
	struct rn_qp_attr attr = {
		.state = RN_QPS_RTR,
		.path_mtu = rn_device_default(peer->mtu, device->mtu),
		.rq_psn = peer->psn,
		.sq_psn = peer->own_psn,
		.dest_qpn = peer->qpn,
		.min_rnr_timer = (uint8_t)rn_device_default(peer->rnr_timer, RNR_TIMER),
		.timeout = (uint8_t)rn_device_default(peer->ack_timeout, ACK_TIMEOUT),
		.retry_cnt = (uint8_t)rn_device_default(peer->retries, RETRIES),
		.rnr_retry = (uint8_t)rn_device_default(peer->rnr_retries, RETRIES),
		.av = { .tclass = peer->traffic_class,
			.hop_limit =
				(uint8_t)rn_device_default(peer->hop_limit, HOP_LIMIT) },
	};
	int rc;

	if (!q)
		return -ENOENT;
	if (rn_qp_state(q->qp) != RN_QPS_INIT || !is_peer_sane(peer))
		return -EINVAL;
	rn_device_advance(device, now);
	memcpy(attr.av.dgid.raw, peer->address, sizeof(attr.av.dgid.raw));
	attr.max_rd_atomic = (uint8_t)rn_qp_reads(q->qp);
	attr.max_dest_rd_atomic = (uint8_t)rn_qp_resources(q->qp);
	rc = modify(device, q, &attr);
	if (rc)
		return rc;
	attr.state = RN_QPS_RTS;
	return modify(device, q, &attr);
}

int rn_device_state(const struct rn_device *device, uint32_t qpn)
{
	const struct rn_device_queue_pair *q = find(device, qpn);

	return q ? (int)rn_qp_state(q->qp) : -ENOENT;
}

/* -------------------------------------------------------- requests and completions */
/* Returns 0 if the completion ring has an entry left for the completion of another
 * request or receive of @q. Returns -EAGAIN if it has none, and -ENOENT if @q is NULL.
 */
static int check_room(const struct rn_device *d, const struct rn_device_queue_pair *q)
{
	if (!q)
		return -ENOENT;
	return d->owed < d->cq.capacity ? 0 : -EAGAIN;
}

static int count_posted(struct rn_device *d, struct rn_device_queue_pair *q, int rc)
{
	if (!rc) {
		d->owed++;
		q->posted++;
	}
	return rc;
}

int rn_device_post_send(struct rn_device *device, int64_t now, uint32_t qpn,
			const struct rn_device_request *request)
{
	struct rn_device_queue_pair *q = find(device, qpn);
	const struct rn_sge sge = { .addr = (uintptr_t)request->local,
				    .len = request->len,
				    .lkey = request->key };
	const struct rn_send_wr wr = {
		.wr_id = request->id,
		.opcode = (enum rn_wr_opcode)request->operation,
		.flags = RN_SEND_SIGNALED | (request->fence ? RN_SEND_FENCE : 0u),
		.imm = request->immediate,
		.remote_addr = request->remote,
		.rkey = request->remote_key,
		.compare_add = request->operation == RN_DEVICE_FETCH_ADD
				       ? request->operand
				       : request->compare,
		.swap = request->operand,
		.sg = &sge,
		.num_sge = request->len > 0,
	};
	int rc = check_room(device, q);

	if (rc)
		return rc;
	if (!rn_device_is_unused(request->reserved) ||
	    (unsigned)request->operation > RN_DEVICE_FETCH_ADD)
		return -EINVAL;
	rc = rn_qp_post_send(device->dev, q->qp, rn_device_advance(device, now), &wr);
	return count_posted(device, q, rc);
}

int rn_device_post_receive(struct rn_device *device, int64_t now, uint32_t qpn,
			   uint64_t id, const struct rn_device_memory *memory)
{
	struct rn_device_queue_pair *q = find(device, qpn);
	const struct rn_sge sge = { .addr = (uintptr_t)memory->at,
				    .len = memory->len,
				    .lkey = memory->key };
	const struct rn_recv_wr wr = { .wr_id = id,
				       .sg = &sge,
				       .num_sge = memory->len > 0 };
	int rc = check_room(device, q);

	if (rc)
		return rc;
	rc = rn_qp_post_recv(device->dev, q->qp, rn_device_advance(device, now), &wr);
	return count_posted(device, q, rc);
}

/* Takes the oldest completion out of the ring. Returns NULL if there is none. */
static const struct rn_cqe *take(struct rn_device *d)
{
	uint32_t consumer = atomic_load(&d->cq.consumer);
	const struct rn_cqe *e = entry(d, consumer);

	if (consumer == d->cq.producer)
		return NULL;
	atomic_store(&d->cq.consumer, consumer + 1);
	d->owed--;
	return e;
}

unsigned rn_device_poll(struct rn_device *device, struct rn_device_completion *out,
			unsigned max)
{
	struct rn_device_queue_pair *qp;
	const struct rn_cqe *e;
	unsigned n = 0;

	while (n < max && (e = take(device))) {
		unsigned flags = e->ctl >> 16 & 0xffff;

		if (flags & RN_WC_SKIP)
			continue;
		/* The queue pair exists, because forget() marks the CQEs of one that is
		 * destroyed.
		 */
		qp = find(device, e->qpn);
		assert(qp);
		qp->posted--;
		out[n++] = (struct rn_device_completion){
			.id = e->wr_id,
			.qpn = e->qpn,
			.status = e->ctl & 0xff,
			.done = (enum rn_device_done)(e->ctl >> 8 & 0xff),
			.len = e->byte_len,
			.immediate = flags & RN_WC_WITH_IMM ? e->imm : 0,
			.has_immediate = flags & RN_WC_WITH_IMM,
			.detail = e->vendor_err,
		};
	}
	return n;
}

const char *rn_device_status_text(uint32_t status)
{
	static const char *const texts[] = {
		[RN_WC_SUCCESS] = "success",
		[RN_WC_LOC_LEN_ERR] = "the message is longer than the memory",
		[RN_WC_LOC_QP_OP_ERR] = "the request cannot be executed",
		[RN_WC_LOC_PROT_ERR] = "the local key does not allow the access",
		[RN_WC_WR_FLUSH_ERR] = "flushed: the queue pair has failed",
		[RN_WC_MW_BIND_ERR] = "the window cannot be bound",
		[RN_WC_BAD_RESP_ERR] = "the response does not fit the request",
		[RN_WC_LOC_ACCESS_ERR] = "the peer's request is not allowed",
		[RN_WC_REM_INV_REQ_ERR] = "the peer finds the request invalid",
		[RN_WC_REM_ACCESS_ERR] = "the peer does not allow the access",
		[RN_WC_REM_OP_ERR] = "the peer could not execute the request",
		[RN_WC_RETRY_EXC_ERR] = "the peer did not answer, after all retries",
		[RN_WC_RNR_RETRY_EXC_ERR] = "the peer had no receive, after all retries",
		[RN_WC_FATAL_ERR] = "the device has failed",
		[RN_WC_GENERAL_ERR] = "another error",
	};

	return status < RN_ARRAY_SIZE(texts) && texts[status] ? texts[status]
							      : "an unknown status";
}
