/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player.c - executes one thread of a litmus test on devices: its instructions, work
 * requests and DMA transfers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live.h"
#include "rocin/wire.h"
#include "rocin/work_request.h"

/* ----------------------------------------------------------------------- DMA engines */
/* The DMA engines of a test are the drives of rocin/storage.h.
 *
 * For each value that a `dma' instruction writes, a file has a page with copies of the
 * value; the drive reads this page and writes it to the location. A `dmacqe' may follow a
 * `dma': it then submits the transfer, whose completion `pollc' sees. A `dma' without a
 * `dmacqe' submits a transfer whose completion no `pollc' sees.
 */

enum {
	/* Maximum number of values that `dma' instructions of a test write. Each value
	 * has a page in the file.
	 */
	VALUES_MAX = 16,
};

struct rn_live_drive {
	int fd;
	struct rn_storage_file *file;
	struct rn_storage_batch *batch;
	int64_t value[VALUES_MAX];
	unsigned values;
	/* number of transfers that were submitted and whose completion event was not
	 * fetched yet
	 */
	_Atomic unsigned transfers;
};

static int fail_storage(struct rn_live *l, const char *what, int rc)
{
	const char *more = l->lib.rn_storage_last_error();

	return rn_live_fail(l, "%s: %s%s%s", what, strerror(-rc), *more ? ": " : "",
			    more);
}

static unsigned page_of(struct rn_live_drive *d, int64_t value)
{
	unsigned i = 0;

	while (i < d->values && d->value[i] != value)
		i++;
	return i;
}

static int write_page(struct rn_live *l, int64_t value)
{
	int64_t page[RN_LIVE_PAGE / sizeof(int64_t)];
	struct rn_live_drive *d = l->drive;
	off_t at = (off_t)d->values * RN_LIVE_PAGE;

	if (page_of(d, value) < d->values)
		return 0;
	if (d->values == VALUES_MAX)
		return rn_live_fail(l, "too many values for a drive");
	for (size_t i = 0; i < RN_ARRAY_SIZE(page); i++)
		page[i] = value;
	if (pwrite(d->fd, page, sizeof(page), at) != (ssize_t)sizeof(page))
		return rn_live_fail(l, "file of a drive: %s", strerror(errno));
	d->value[d->values++] = value;
	return 0;
}

/* Opens the batch to which all transfers of the drives belong. Transfers of a batch are
 * not ordered; an event reports the end of each of them.
 */
static int open_batch(struct rn_live *l)
{
	int rc = l->lib.rn_storage_batch_setup(&l->drive->batch, RN_LITMUS_OPS);

	return rc ? fail_storage(l, "rn_storage_batch_setup", rc) : 0;
}

static int open_drive(struct rn_live *l)
{
	struct rn_live_drive *d = l->drive;
	int rc;

	rc = l->lib.rn_storage_driver_open();
	/* Excludes bounce buffers: with them, a drive would not write to the location by
	 * the PCIe transactions that the test examines.
	 */
	if (!rc)
		rc = l->lib.rn_storage_set_policy("direct,p2p");
	if (rc)
		return fail_storage(l, "rn_storage_driver_open", rc);
	d->fd = memfd_create("litmus", MFD_CLOEXEC);
	if (d->fd < 0)
		return rn_live_fail(l, "memfd_create: %s", strerror(errno));
	rc = l->lib.rn_storage_handle_register(&d->file, d->fd);
	if (rc)
		return fail_storage(l, "rn_storage_handle_register", rc);
	return open_batch(l);
}

/* Prepares a location for writes by the `dma' instruction @in, which a simulated drive of
 * this process executes.
 */
static int prepare(struct rn_live *l, const struct rn_litmus_instr *in)
{
	uint8_t *at = rn_live_address(l, in->loc);
	int rc;

	if (!l->drive) {
		l->drive = calloc(1, sizeof(*l->drive));
		if (!l->drive)
			return rn_live_fail(l, "no memory");
		l->drive->fd = -1;
		if (open_drive(l))
			return -1;
	}
	rc = l->lib.rn_storage_buffer_register(at, RN_LIVE_PAGE);
	if (rc && rc != -EEXIST)
		return fail_storage(l, "rn_storage_buffer_register", rc);
	return write_page(l, in->value.number);
}

int rn_live_drive_open(struct rn_live *l)
{
	const struct rn_litmus_test *t = l->test;

	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned j = 0; j < t->thread[i].count; j++)
			if (t->thread[i].instr[j].op == RN_LITMUS_DMA &&
			    rn_live_plays(l, t->thread[i].node) &&
			    prepare(l, &t->thread[i].instr[j]))
				return -1;
	return 0;
}

void rn_live_drive_close(struct rn_live *l)
{
	struct rn_live_drive *d = l->drive;
	const struct rn_litmus_test *t = l->test;

	if (!d)
		return;
	l->lib.rn_storage_batch_destroy(d->batch);
	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned j = 0; j < t->thread[i].count; j++)
			if (t->thread[i].instr[j].op == RN_LITMUS_DMA)
				(void)l->lib.rn_storage_buffer_deregister(
					rn_live_address(l, t->thread[i].instr[j].loc));
	l->lib.rn_storage_handle_deregister(d->file);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
	l->drive = NULL;
}

/* Gets a completion event of the drives' batch. If there is none, lets TLPs move. Returns
 * 1 if there was an event, 0 if not, or -1 after a failure.
 */
static int fetch_event(struct rn_live *l, struct rn_storage_event *event)
{
	int rc = l->lib.rn_storage_batch_status(l->drive->batch, 1, 1, event, 1);

	if (rc < 0)
		return fail_storage(l, "rn_storage_batch_status", rc);
	if (rc == 0)
		return 0;
	atomic_fetch_sub(&l->drive->transfers, 1);
	return event->status == RN_STORAGE_COMPLETE
		       ? 1
		       : rn_live_fail(l, "a drive: %s", strerror((int)-event->result));
}

int rn_live_drive_finish(struct rn_live *l)
{
	struct rn_storage_event event;

	while (l->drive && atomic_load(&l->drive->transfers) > 0) {
		l->lib.rn_storage_settle();
		int rc = fetch_event(l, &event);

		if (rc < 0)
			return -1;
		if (rc > 0 && event.cookie)
			atomic_fetch_add(&l->shared->left_dma, 1);
		sched_yield();
	}
	return 0;
}

/* Returns true if the instruction after the `dma' is the `dmacqe' that submits its
 * transfer.
 */
static bool is_reported(const struct rn_live_player *p, const struct rn_litmus_instr *dma)
{
	const struct rn_litmus_thread *t = &p->l->test->thread[p->number];

	return dma + 1 < t->instr + t->count && dma[1].op == RN_LITMUS_DMACQE;
}

static int submit_dma(struct rn_live *l, const struct rn_litmus_instr *dma,
		      bool is_reported)
{
	struct rn_live_drive *d = l->drive;
	struct rn_storage_io io = { .op = RN_STORAGE_READ,
				    .file = d->file,
				    .base = rn_live_address(l, dma->loc),
				    .size = RN_LIVE_PAGE,
				    .file_offset = (off_t)page_of(d, dma->value.number) *
						   RN_LIVE_PAGE,
				    .cookie = is_reported ? d : NULL };
	int rc;

	atomic_fetch_add(&d->transfers, 1);
	rc = l->lib.rn_storage_batch_submit(d->batch, 1, &io);

	return rc ? fail_storage(l, "rn_storage_batch_submit", rc) : 0;
}

/* Polls for the completion of a transfer that a `dmacqe' has submitted. Returns 1 if
 * there was one, 0 if not, or -1 after a failure. All drives of a process share one
 * batch.
 */
static int poll_drive(struct rn_live *l)
{
	struct rn_storage_event event;
	int rc = 0;

	while (l->drive && (rc = fetch_event(l, &event)) > 0 && !event.cookie)
		continue;
	return rc;
}

/* --------------------------------------------------------------------- work requests */

static struct ibv_sge sge_of(const struct rn_live *l, unsigned nic, unsigned loc,
			     uint32_t bytes)
{
	return (struct ibv_sge){ .addr = rn_live_name(l, loc),
				 .length = bytes,
				 .lkey = rn_live_mr(l, nic, loc)->lkey };
}

/* Returns an SGE of @bytes bytes in the area for inline data in the node's host memory:
 * the part for element @element of work request @work.
 */
static struct ibv_sge staged(const struct rn_live *l, unsigned nic, unsigned work,
			     unsigned element, uint32_t bytes)
{
	unsigned memory = 0;
	size_t at = RN_LIVE_STAGE +
		    ((size_t)work * RN_LITMUS_ELEMENTS + element) * l->map.element;

	while (l->map.memory[memory].node != l->map.nic[nic].node ||
	       l->map.memory[memory].agent != RN_AGENT_CPU)
		memory++;
	return (struct ibv_sge){ .addr = (uintptr_t)l->memory[memory] + at,
				 .length = bytes,
				 .lkey = l->mr[nic][memory][0]->lkey };
}

static int64_t value_of(const struct rn_litmus_value *v, const int64_t *reg)
{
	return v->is_reg ? reg[v->reg] : v->number;
}

static void fill_sge(const struct ibv_sge *sge, int64_t value)
{
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	int64_t *at = (int64_t *)(uintptr_t)sge->addr;

	for (uint32_t i = 0; i < sge->length / sizeof(*at); i++)
		at[i] = value;
}

static uint32_t bytes_of(const struct rn_live *l, const struct rn_litmus_instr *in,
			 unsigned loc)
{
	if (loc == RN_LITMUS_NONE) /* a receive buffer is one word */
		return sizeof(int64_t);
	return in->count > 1 ? l->map.element : l->map.place[loc].bytes;
}

/* Sets the local SGEs of the work request of instruction @in: the sources of its data or,
 * for a READ, the destinations.
 */
static void local_sges(const struct rn_live *l, const struct rn_litmus_instr *in,
		       unsigned nic, const int64_t *reg, struct ibv_send_wr *wr)
{
	bool is_inline = true;
	uint32_t total = 0;

	for (unsigned i = 0; i < in->count; i++) {
		struct ibv_sge *sge = &wr->sg_list[i];
		uint32_t bytes = bytes_of(
			l, in, in->op == RN_LITMUS_READ ? in->src[i].loc : in->dst[i]);

		if (in->op == RN_LITMUS_READ) {
			*sge = sge_of(l, nic, in->dst[i], bytes);
			is_inline = false;
		} else if (in->src[i].is_inline) {
			*sge = staged(l, nic, in->work, i, bytes);
			fill_sge(sge, value_of(&in->src[i].value, reg));
		} else {
			*sge = sge_of(l, nic, in->src[i].loc, bytes);
			is_inline = false;
		}
		total += bytes;
	}
	wr->num_sge = in->count;
	if (is_inline && total <= l->device[nic].max_inline)
		wr->send_flags |= IBV_SEND_INLINE;
}

static void remote_side(const struct rn_live *l, unsigned peer_nic, unsigned loc,
			uint64_t *addr, uint32_t *rkey)
{
	const struct rn_live_place *p = &l->map.place[loc];

	*addr = rn_live_name(l, loc);
	*rkey = l->shared->rkey[peer_nic][p->memory][rn_live_is_relaxed(l, loc)];
}

static void atomic_side(const struct rn_live *l, const struct rn_litmus_instr *in,
			unsigned nic, unsigned peer_nic, const int64_t *reg,
			struct ibv_send_wr *wr)
{
	wr->sg_list[0] = in->dst[0] == RN_LITMUS_NONE
				 ? staged(l, nic, in->work, 0, sizeof(int64_t))
				 : sge_of(l, nic, in->dst[0], sizeof(int64_t));
	wr->num_sge = 1;
	remote_side(l, peer_nic, in->loc, &wr->wr.atomic.remote_addr,
		    &wr->wr.atomic.rkey);
	wr->wr.atomic.compare_add = (uint64_t)value_of(&in->value, reg);
	if (in->op == RN_LITMUS_CAS)
		wr->wr.atomic.swap = (uint64_t)value_of(&in->value2, reg);
}

/* Fills in a FLUSH as a struct ibv_send_wr, in the form that
 * provider/verbs/object/library.h describes, because libibverbs may be too old for
 * ibv_wr_flush().
 */
static void flush_side(const struct rn_live *l, const struct rn_litmus_instr *in,
		       unsigned peer_nic, struct ibv_send_wr *wr)
{
	wr->sg_list[0] = (struct ibv_sge){ .length = bytes_of(l, in, in->dst[0]) };
	wr->num_sge = 1;
	wr->imm_data = htonl(RN_FLUSH_GLOBAL);
	remote_side(l, peer_nic, in->dst[0], &wr->wr.rdma.remote_addr, &wr->wr.rdma.rkey);
}

static enum ibv_wr_opcode opcode_of(const struct rn_litmus_instr *in)
{
	static const uint8_t opcode[RN_LITMUS_OP_COUNT] = {
#define X(symbol, word, form, request) [RN_LITMUS_##symbol] = RN_WR_##request,
		RN_LITMUS_REQUESTS(X)
#undef X
	};

	return (enum ibv_wr_opcode)opcode[in->op];
}

/* Posts the work request of instruction @in. @reg: registers of the thread, whose values
 * may be sent as inline data. Returns 0, or -1 after rn_live_fail().
 */
static int post_work(struct rn_live *l, const struct rn_litmus_instr *in,
		     const int64_t *reg)
{
	const struct rn_litmus_qp *q = &l->test->qp[in->qp];
	unsigned nic = rn_live_find_nic(&l->map, q->node, q->nic);
	unsigned peer_nic = rn_live_find_nic(&l->map, q->peer, q->peer_nic);
	struct ibv_sge sge[RN_LITMUS_ELEMENTS];
	struct ibv_send_wr wr = { .wr_id = in->work,
				  .sg_list = sge,
				  .opcode = opcode_of(in) },
			   *bad;

	if (!in->unsignaled)
		wr.send_flags |= IBV_SEND_SIGNALED;
	if (in->fence)
		wr.send_flags |= IBV_SEND_FENCE;
	if (rn_litmus_is_atomic(in->op)) {
		atomic_side(l, in, nic, peer_nic, reg, &wr);
	} else if (in->op == RN_LITMUS_FLUSH) {
		flush_side(l, in, peer_nic, &wr);
	} else {
		local_sges(l, in, nic, reg, &wr);
		if (in->op != RN_LITMUS_SEND)
			remote_side(l, peer_nic,
				    in->op == RN_LITMUS_READ ? in->src[0].loc
							     : in->dst[0],
				    &wr.wr.rdma.remote_addr, &wr.wr.rdma.rkey);
	}
	if (in->op == RN_LITMUS_SEND || in->op == RN_LITMUS_IMM)
		atomic_fetch_add(&l->shared->sends[in->qp], 1);
	errno = ibv_post_send(l->qp[in->qp].side[0], &wr, &bad);
	return errno ? rn_live_fail(l, "ibv_post_send of \"%s\": %s", in->text,
				    strerror(errno))
		     : 0;
}

int rn_live_post_fetched(struct rn_live *l, const struct rn_litmus_instr *in,
			 const int64_t *word, unsigned words)
{
	const struct rn_litmus_qp *q = &l->test->qp[in->qp];
	unsigned nic = rn_live_find_nic(&l->map, q->node, q->nic);
	unsigned peer_nic = rn_live_find_nic(&l->map, q->peer, q->peer_nic);
	uint32_t bytes = bytes_of(l, in, in->dst[0]);
	struct ibv_sge sge = staged(l, nic, in->work, 0, bytes);
	struct ibv_send_wr wr = { .wr_id = in->work,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE },
			   *bad;
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	int64_t *to = (int64_t *)(uintptr_t)sge.addr;

	for (unsigned i = 0; i < bytes / sizeof(*to); i++)
		to[i] = word[i < words ? i : words - 1];
	if (!in->unsignaled)
		wr.send_flags |= IBV_SEND_SIGNALED;
	if (in->fence)
		wr.send_flags |= IBV_SEND_FENCE;
	if (bytes <= l->device[nic].max_inline)
		wr.send_flags |= IBV_SEND_INLINE;
	remote_side(l, peer_nic, in->dst[0], &wr.wr.rdma.remote_addr, &wr.wr.rdma.rkey);
	errno = ibv_post_send(l->qp[in->qp].side[0], &wr, &bad);
	return errno ? rn_live_fail(l, "ibv_post_send for \"%s\": %s", in->text,
				    strerror(errno))
		     : 0;
}

/* Posts a WRITE without data on QP @qp. While it is in flight, a device may delay the
 * requests behind it, so that messages of other QPs arrive first.
 */
static int post_empty(struct rn_live *l, unsigned qp)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;

	errno = ibv_post_send(l->qp[qp].side[0], &wr, &bad);
	return errno ? rn_live_fail(l, "ibv_post_send: %s", strerror(errno)) : 0;
}

static int post_receive(struct rn_live *l, unsigned qp, struct ibv_sge *sge, int count)
{
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = count }, *bad;

	errno = ibv_post_recv(l->qp[qp].side[1], &wr, &bad);
	return errno ? rn_live_fail(l, "ibv_post_recv: %s", strerror(errno)) : 0;
}

/* Posts the receive that the SEND @in of the test consumes. (A WRITE with immediate
 * consumes a receive, too, but not its buffer.)
 */
static int post_receive_of(struct rn_live *l, const struct rn_litmus_instr *in)
{
	const struct rn_litmus_qp *q = &l->test->qp[in->qp];
	unsigned nic = rn_live_find_nic(&l->map, q->peer, q->peer_nic);
	struct ibv_sge sge[RN_LITMUS_ELEMENTS];
	unsigned count = in->op == RN_LITMUS_SEND ? in->count : 0;

	for (unsigned i = 0; i < count; i++)
		sge[i] = sge_of(l, nic, in->dst[i], bytes_of(l, in, in->dst[i]));
	return post_receive(l, in->qp, sge, (int)count);
}

int rn_live_post_receive(struct rn_live *l, unsigned rq, unsigned loc)
{
	const struct rn_litmus_rq *t = &l->test->rq[rq];
	unsigned nic = rn_live_find_nic(&l->map, t->node, t->nic), qp = 0;
	struct ibv_sge sge = loc == RN_LITMUS_NONE
				     ? staged(l, nic, RN_LITMUS_OPS, 0, sizeof(int64_t))
				     : sge_of(l, nic, loc, sizeof(int64_t));
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (!l->srq[rq] && l->test->qp[qp].recv_queue != rq)
		qp++;
	if (!l->srq[rq])
		return post_receive(l, qp, &sge, 1);
	errno = ibv_post_srq_recv(l->srq[rq], &wr, &bad);
	return errno ? rn_live_fail(l, "ibv_post_srq_recv: %s", strerror(errno)) : 0;
}

int rn_live_post_receives(struct rn_live *l, unsigned qp)
{
	const struct rn_litmus_test *t = l->test;

	if (t->rq[t->qp[qp].recv_queue].is_rung)
		return 0;
	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned j = 0; j < t->thread[i].count; j++) {
			const struct rn_litmus_instr *in = &t->thread[i].instr[j];

			if ((in->op == RN_LITMUS_SEND || in->op == RN_LITMUS_IMM) &&
			    in->qp == qp && post_receive_of(l, in))
				return -1;
		}
	return post_receive(l, qp, NULL, 0);
}

static int post_empty_send(struct rn_live *l, unsigned qp, uint64_t wr_id, unsigned flags)
{
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .opcode = IBV_WR_SEND,
				  .send_flags = flags },
			   *bad;

	errno = ibv_post_send(l->qp[qp].side[0], &wr, &bad);
	return errno ? rn_live_fail(l, "ibv_post_send: %s", strerror(errno)) : 0;
}

int rn_live_post_unsignaled(struct rn_live *l, unsigned qp)
{
	return post_empty_send(l, qp, 0, 0);
}

int rn_live_post_quiet(struct rn_live *l, unsigned qp, unsigned unused)
{
	for (unsigned i = 0; i < unused; i++)
		if (post_empty_send(l, qp, 0, 0))
			return -1;
	return post_empty_send(l, qp, RN_LIVE_QUIET_WR, IBV_SEND_SIGNALED);
}

int rn_live_poll(struct rn_live *l, unsigned cq, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(l->cq[cq], 1, wc);

	if (n < 0)
		return rn_live_fail(l, "ibv_poll_cq fails");
	if (n > 0 && wc->status == IBV_WC_RETRY_EXC_ERR && l->request->is_lossy)
		atomic_store(&l->shared->is_lost, true);
	if (n > 0 && wc->status != IBV_WC_SUCCESS)
		return rn_live_fail(l, "a work request ended with \"%s\"",
				    ibv_wc_status_str(wc->status));
	if (n > 0 && (wc->opcode & IBV_WC_RECV))
		atomic_fetch_add(&l->recv_seen[cq], 1);
	return n;
}

/* --------------------------------------------------- executing a thread of the test */
enum {
	/* number of polls after which the waiting thread yields the processor */
	SPINS = 32,
	EMPTY_ONE_IN = 4,
	SWAPPED_ONE_IN = 2,
	LONGEST_NS = 300000,
	SHORT_NS = 4000,
	MIDDLE_NS = 40000,
};

static uint64_t draw(struct rn_live_player *p)
{
	uint64_t x = p->rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	p->rng = x;
	return x;
}

static void idle(unsigned *spins)
{
	if (++*spins % SPINS == 0)
		sched_yield();
}

/* Waits between two instructions for a random time, which is zero in most cases. So
 * instructions of other threads, and moves of TLPs, sometimes come between the two.
 */
static void delay(struct rn_live_player *p)
{
	uint64_t how = draw(p) % 16, until;
	unsigned spins = 0;

	if (how < 9)
		return;
	until = how < 12 ? SHORT_NS : how < 15 ? MIDDLE_NS : LONGEST_NS;
	until = rn_live_now() + draw(p) % until;
	while (rn_live_now() < until)
		idle(&spins);
}

/* ---- Loads and stores ---- */

/* Returns true if the location is in memory of the processor (CPU or GPU) that runs this
 * thread. An access to it then needs no PCIe transaction.
 */
static bool is_own(const struct rn_live_player *p, unsigned loc)
{
	return p->l->test->location[loc].agent == p->l->test->thread[p->number].agent;
}

/* Returns the value that all words at @at have, or RN_LIVE_TORN if they differ. */
static int64_t load_words(const uint8_t *at, size_t words)
{
	const _Atomic int64_t *word = (const _Atomic int64_t *)(const void *)at;
	int64_t first = atomic_load_explicit(word, memory_order_acquire);

	for (size_t i = 1; i < words; i++)
		if (atomic_load_explicit(&word[i], memory_order_acquire) != first)
			return RN_LIVE_TORN;
	return first;
}

static int64_t load(struct rn_live_player *p, unsigned loc)
{
	struct rn_live *l = p->l;
	const uint8_t *at;

	if (rn_live_is_dm(l, loc))
		return rn_live_dm_load(l, loc);
	at = rn_live_address(l, loc);
	if (rn_agent_is_gpu(l->test->thread[p->number].agent))
		return (int64_t)l->lib.rn_gpu_load(at, sizeof(int64_t));
	if (!is_own(p, loc))
		return (int64_t)l->lib.rn_gpu_bar_load(at, sizeof(int64_t));
	return load_words(at, l->map.place[loc].bytes / sizeof(int64_t));
}

static void store(struct rn_live_player *p, unsigned loc, int64_t value)
{
	struct rn_live *l = p->l;
	uint8_t *at;

	if (rn_live_is_dm(l, loc)) {
		rn_live_dm_store(l, loc, value);
		return;
	}
	at = rn_live_address(l, loc);
	if (rn_agent_is_gpu(l->test->thread[p->number].agent))
		l->lib.rn_gpu_store(at, (uint64_t)value, sizeof(value));
	else if (!is_own(p, loc))
		l->lib.rn_gpu_bar_store(at, (uint64_t)value, sizeof(value));
	else
		atomic_store_explicit((_Atomic int64_t *)(void *)at, value,
				      memory_order_release);
}

/* ---- Instructions ---- */

/* Checks once whether a blocking instruction can complete now. Returns 1 if it can, with
 * *@seen set to what it has read; 0 if it cannot yet; or -1 after a failure.
 */
static int poll_instruction(struct rn_live_player *p, const struct rn_litmus_instr *in,
			    int64_t *seen)
{
	const int64_t *reg = p->l->shared->thread[p->number].reg;
	struct ibv_wc wc;

	switch (in->op) {
	case RN_LITMUS_WAIT:
		*seen = load(p, in->loc);
		return *seen ==
		       (in->value.is_reg ? reg[in->value.reg] : in->value.number);
	case RN_LITMUS_POLL:
		return rn_live_poll(p->l, in->cq, &wc);
	default:
		return poll_drive(p->l);
	}
}

static int wait_for(struct rn_live_player *p, const struct rn_litmus_instr *in,
		    int64_t *seen)
{
	uint64_t deadline = p->l->shared->deadline;
	unsigned spins = 0;
	int rc;

	while ((rc = poll_instruction(p, in, seen)) == 0) {
		idle(&spins);
		if (spins % SPINS == 0 && rn_live_now() > deadline)
			return -1;
	}
	return rc;
}

struct rn_gpu *rn_live_gpu(const struct rn_live *l, unsigned thread)
{
	const struct rn_litmus_thread *t = &l->test->thread[thread];
	unsigned memory = 0;

	while (l->map.memory[memory].node != t->node ||
	       l->map.memory[memory].agent != t->agent)
		memory++;
	return l->lib.rn_gpu_open(l->map.memory[memory].gpu);
}

static void play_launched(void *arg)
{
	rn_live_play(arg);
}

static int launch(struct rn_live_player *p, unsigned thread)
{
	struct rn_live *l = p->l;
	struct rn_gpu *gpu = rn_live_gpu(l, thread);

	p->all[thread].kernel = l->lib.rn_gpu_launch(gpu, play_launched, &p->all[thread]);
	return p->all[thread].kernel > 0
		       ? 0
		       : rn_live_fail(l, "rn_gpu_launch: %s", l->lib.rn_gpu_last_error());
}

/* Orders memory accesses as the x86 instruction mfence does, by an atomic change of a
 * private word. (atomic_thread_fence() is not used, because ThreadSanitizer of gcc does
 * not support it.)
 */
static void full_fence(void)
{
	atomic_int word = 0;

	atomic_fetch_add_explicit(&word, 1, memory_order_seq_cst);
	__asm__ volatile("" : : "r"(&word) : "memory");
}

/* A fence in a kernel: reads over PCIe. The read does not overtake stores of the kernel
 * (rule P2), so they have arrived when it returns.
 */
static void fence_of_kernel(struct rn_live *l)
{
	int64_t word = 0;

	full_fence();
	(void)l->lib.rn_gpu_load(&word, sizeof(word));
	full_fence();
}

/* Executes one instruction. Sets *@value to what it has read or written. Returns 0.
 * Returns -1 if the instruction has given up waiting or has failed; the thread then ends.
 */
static int execute(struct rn_live_player *p, const struct rn_litmus_instr *in,
		   int64_t *reg, int64_t *value)
{
	struct ibv_wc wc;

	switch (in->op) {
	case RN_LITMUS_ST:
	case RN_LITMUS_MWR:
		*value = in->value.is_reg ? reg[in->value.reg] : in->value.number;
		store(p, in->loc, *value);
		return 0;
	case RN_LITMUS_LD:
	case RN_LITMUS_MRD:
		*value = reg[in->reg] = load(p, in->loc);
		return 0;
	case RN_LITMUS_MFENCE:
		if (rn_agent_is_gpu(p->l->test->thread[p->number].agent))
			fence_of_kernel(p->l);
		else
			full_fence();
		return 0;
	case RN_LITMUS_WAIT:
	case RN_LITMUS_POLL:
	case RN_LITMUS_POLLC:
		return wait_for(p, in, value) > 0 ? 0 : -1;
	case RN_LITMUS_TRYP:
		*value = reg[in->reg] = rn_live_poll(p->l, in->cq, &wc);
		return *value < 0 ? -1 : 0;
	case RN_LITMUS_SFENCE:
		full_fence();
		return 0;
	case RN_LITMUS_BELL:
	case RN_LITMUS_BLUE:
	case RN_LITMUS_RECV:
		*value = value_of(&in->value, reg);
		return rn_live_ring(p->l, in, *value);
	case RN_LITMUS_LAUNCH:
		return launch(p, in->thread);
	case RN_LITMUS_DMA:
		return is_reported(p, in) ? 0 : submit_dma(p->l, in, false);
	case RN_LITMUS_DMACQE:
		return submit_dma(p->l, in - 1, true);
	default:
		if (draw(p) % EMPTY_ONE_IN == 0 && post_empty(p->l, in->qp))
			return -1;
		return post_work(p->l, in, reg);
	}
}

/* Returns true if a real processor may swap the two instructions: one is a store, the
 * other a BlueFlame doorbell. The register of the doorbell is mapped write-combining, so
 * either of the two may leave the processor first (rule T3).
 */
static bool is_unordered(const struct rn_litmus_instr *a, const struct rn_litmus_instr *b)
{
	if (a->op == RN_LITMUS_BLUE)
		return b->op == RN_LITMUS_ST || b->op == RN_LITMUS_MWR;
	return b->op == RN_LITMUS_BLUE &&
	       (a->op == RN_LITMUS_ST || a->op == RN_LITMUS_MWR);
}

static int play_instr(struct rn_live_player *p, unsigned i)
{
	const struct rn_litmus_thread *t = &p->l->test->thread[p->number];
	struct rn_live_thread_result *r = &p->l->shared->thread[p->number];
	struct rn_live_mark *mark = &r->mark[i];

	mark->began = rn_live_now();
	if (execute(p, &t->instr[i], r->reg, &mark->value))
		return -1;
	mark->ended = rn_live_now();
	if (i + 1u < t->count)
		delay(p);
	return 0;
}

void rn_live_play(struct rn_live_player *p)
{
	const struct rn_litmus_thread *t = &p->l->test->thread[p->number];
	struct rn_live_thread_result *r = &p->l->shared->thread[p->number];

	delay(p);
	for (unsigned i = 0; i < t->count; i++) {
		bool is_pair =
			i + 1u < t->count && is_unordered(&t->instr[i], &t->instr[i + 1]);

		/* A real processor may swap these two instructions. Here, the doorbell is
		 * a function call, which the processor does not swap with a store, so
		 * this function does so at random.
		 */
		if (is_pair && draw(p) % SWAPPED_ONE_IN == 0) {
			if (play_instr(p, i + 1) || play_instr(p, i))
				return;
			i++;
		} else if (play_instr(p, i)) {
			return;
		}
		r->executed = (uint8_t)(i + 1);
	}
	r->is_done = true;
}
