/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_queue.c - tells the validation layer of posts, completions and events. */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "provider/verbs/object/provider.h"
#include "provider/verbs/queue/cq.h"
#include "provider/verbs/queue/post.h"
#include "provider/verbs/queue/qp.h"
#include "rocin/cqe.h"
#include "rocin/hash.h"
#include "rocin/queue_pair.h"
#include "transport/io/report/stacks.h"
#include "watch.h"

/* ------------------------------------------------------- posting of requests */
enum {
	ON_STACK = 32 /* number of requests of a post for which no memory is allocated */
};

/* The requests of a post. */
struct requests {
	struct rn_val_request *item, here[ON_STACK];
	uint32_t count;
};

/* Makes room for @count requests. If there is no memory, the post is reported without its
 * requests.
 */
static void make_room(struct requests *r, uint32_t count)
{
	r->item = r->here;
	r->count = count;
	if (count > ON_STACK)
		r->item = calloc(count, sizeof(*r->item));
	if (!r->item)
		r->count = 0;
}

static void free_requests(struct requests *r)
{
	if (r->item != r->here)
		free(r->item);
	r->item = r->here;
}

/* Sets the members that sends and receives both have. The others get the values of a
 * receive.
 */
static void begin_request(struct rn_val_request *r, uint64_t wr_id, int sge_count,
			  const struct ibv_sge *sge)
{
	r->wr_id = wr_id;
	r->opcode = (enum ibv_wr_opcode)0;
	r->flags = 0;
	r->sge_count = sge_count > 0 ? (uint32_t)sge_count : 0;
	r->sge = sge;
	r->remote_addr = 0;
	r->rkey = 0;
	r->remote_qpn = r->qkey = 0;
	r->ah = NULL;
}

static void take_send(struct rn_val_request *r, const struct ibv_send_wr *wr,
		      enum ibv_qp_type type)
{
	begin_request(r, wr->wr_id, wr->num_sge, wr->sg_list);
	r->opcode = wr->opcode;
	r->flags = wr->send_flags;
	if (type == IBV_QPT_UD) {
		r->ah = wr->wr.ud.ah;
		r->remote_qpn = wr->wr.ud.remote_qpn;
		r->qkey = wr->wr.ud.remote_qkey;
	} else if (rn_wr_is_atomic(wr->opcode)) {
		r->remote_addr = wr->wr.atomic.remote_addr;
		r->rkey = wr->wr.atomic.rkey;
	} else if (wr->opcode == IBV_WR_LOCAL_INV) {
		r->rkey = wr->invalidate_rkey;
		r->sge_count = 0;
	} else if (wr->opcode == IBV_WR_BIND_MW) {
		r->bind = (struct rn_val_bind){
			.mw = wr->bind_mw.mw,
			.mr = wr->bind_mw.bind_info.mr,
			.rkey = wr->bind_mw.rkey,
			.addr = wr->bind_mw.bind_info.addr,
			.len = wr->bind_mw.bind_info.length,
			.access = wr->bind_mw.bind_info.mw_access_flags
		};
		r->sge_count = 0;
	} else {
		r->remote_addr = wr->wr.rdma.remote_addr;
		r->rkey = wr->wr.rdma.rkey;
	}
}

/* Returns the number of requests of a list that precede @end; NULL: the number of all. */
static uint32_t sends_before(const struct ibv_send_wr *at, const struct ibv_send_wr *end)
{
	uint32_t count = 0;

	for (; at && at != end; at = at->next)
		count++;
	return count;
}

static uint32_t receives_before(const struct ibv_recv_wr *at,
				const struct ibv_recv_wr *end)
{
	uint32_t count = 0;

	for (; at && at != end; at = at->next)
		count++;
	return count;
}

static void take_sends(struct requests *r, const struct ibv_send_wr *list,
		       enum ibv_qp_type type)
{
	make_room(r, sends_before(list, NULL));
	for (uint32_t i = 0; i < r->count && list; i++, list = list->next)
		take_send(&r->item[i], list, type);
}

static void take_receives(struct requests *r, const struct ibv_recv_wr *list)
{
	make_room(r, receives_before(list, NULL));
	for (uint32_t i = 0; i < r->count && list; i++, list = list->next)
		begin_request(&r->item[i], list->wr_id, list->num_sge, list->sg_list);
}

/* Tells the validation layer that a post begins. */
static void begin_post(struct rn_val_event *e, struct requests *r)
{
	e->post = (struct rn_val_post){ .count = r->count, .request = r->item };
	rnp_watch_before(e);
}

static void end_post(struct rn_val_event *e, struct requests *r, int rc,
		     uint32_t accepted)
{
	e->post.accepted = rc ? accepted : r->count;
	rnp_watch_after(e, rc);
	free_requests(r);
}

int rnp_watch_post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
			struct ibv_send_wr **bad_wr)
{
	struct rn_val_event e;
	struct requests r;
	int rc;

	rn_val_begin_event(&e, RN_VAL_POST_SEND, "ibv_post_send", base,
			   rn_stacks_take_again());
	take_sends(&r, wr, base->qp_type);
	begin_post(&e, &r);
	rc = RNP_NEXT(post_send)(base, wr, bad_wr);
	end_post(&e, &r, rc, rc ? sends_before(wr, *bad_wr) : 0);
	return rc;
}

static uint64_t since(rn_ns then, rn_ns now)
{
	return now > then ? (uint64_t)(now - then) : 0;
}

/* What was last reported to the validation layer about the RNR NAKs of each QP: a hash of
 * the QP and of the number of RNR NAKs of its device at that time. While that number does
 * not change, there are no new ones. QPs with the same hash share an entry, and overwrite
 * each other's.
 */
enum {
	RNR_TOLD = 256
};
static _Atomic uint64_t rnr_told[RNR_TOLD];

void rnp_watch_forget_rnr(void)
{
	for (unsigned i = 0; i < RNR_TOLD; i++)
		atomic_store(&rnr_told[i], 0);
}

/* Reports to the validation layer how many RNR NAKs the QP with number @qpn has received
 * and sent, if the device has counted any since the last report. @of: the event of the
 * call in which this happens.
 */
static void tell_rnr(const struct rnp_context *ctx, uint32_t qpn,
		     const struct rn_val_event *of)
{
	struct rn_val_event e;
	uint64_t naks = rnp_count_rnr(ctx), key, news;
	const struct ibv_qp *qp;
	struct rn_rnr rnr;
	rn_ns now;

	if (!naks)
		return;
	key = rn_hash_word((uintptr_t)ctx ^ (uint64_t)qpn << 32);
	news = rn_hash_word(key + naks);
	if (atomic_load(&rnr_told[(key >> 32) % RNR_TOLD]) == news)
		return;
	qp = rnp_find_rnr(ctx, qpn, &rnr);
	if (!qp)
		return;
	now = rnp_engine_now();
	rn_val_begin_event(&e, RN_VAL_RNR, of->verb, qp, of->stack);
	e.rnr = (struct rn_val_rnr){
		.received = rnr.received,
		.sent = rnr.sent,
		.received_ago = since(rnr.received_at, now),
		.sent_ago = since(rnr.sent_at, now),
		.msn = rnr.msn,
		.timer = rnr.timer,
		.waiting = rnr.waiting,
		.wr_id = rnr.wr_id,
	};
	rnp_watch_after(&e, 0);
	/* Stored only now: a thread that finds this entry reports nothing and goes on, so
	 * the report must be complete by then.
	 */
	atomic_store(&rnr_told[(key >> 32) % RNR_TOLD], news);
}

int rnp_watch_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	struct rn_val_event e;
	struct requests r;
	int rc;

	rn_val_begin_event(&e, RN_VAL_POST_RECV, "ibv_post_recv", base,
			   rn_stacks_take_again());
	take_receives(&r, wr);
	tell_rnr(to_rnp_context(base->context), base->qp_num, &e);
	begin_post(&e, &r);
	rc = RNP_NEXT(post_recv)(base, wr, bad_wr);
	end_post(&e, &r, rc, rc ? receives_before(wr, *bad_wr) : 0);
	return rc;
}

int rnp_watch_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad_wr)
{
	struct rn_val_event e;
	struct requests r;
	int rc;

	rn_val_begin_event(&e, RN_VAL_POST_RECV, "ibv_post_srq_recv", base,
			   rn_stacks_take_again());
	take_receives(&r, wr);
	begin_post(&e, &r);
	rc = RNP_NEXT(post_srq_recv)(base, wr, bad_wr);
	end_post(&e, &r, rc, rc ? receives_before(wr, *bad_wr) : 0);
	return rc;
}

/* ----------------------------------------------------------- ibv_wr_complete() */
/* The original functions of extended QPs and CQs, which rnp_watch_qp_ex() and
 * rnp_watch_cq_ex() replace, and which the replacements call. They are the same in all
 * objects. Several threads may create such objects, so these pointers are atomic. They
 * are loaded explicitly before a call, since GCC does not load an atomic function pointer
 * atomically when it calls through it.
 */
static int (*_Atomic wr_complete)(struct ibv_qp_ex *qp);
static int (*_Atomic start_poll)(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
static int (*_Atomic next_poll)(struct ibv_cq_ex *cq);

static_assert(sizeof(struct rn_sge) == sizeof(struct ibv_sge) &&
		      offsetof(struct rn_sge, len) == offsetof(struct ibv_sge, length) &&
		      offsetof(struct rn_sge, lkey) == offsetof(struct ibv_sge, lkey),
	      "one layout of SGEs");

/* Converts request @i of those that the program has built by ibv_wr_*(). */
static void take_entry(struct rn_val_request *r, const struct rnp_wr_list *list,
		       uint32_t i)
{
	const struct rnp_wr_entry *entry =
		(const struct rnp_wr_entry *)list->entries.item + i;
	const struct rn_send_wr *wr = &entry->wr;

	begin_request(r, wr->wr_id, (int)wr->num_sge, NULL);
	r->opcode = (enum ibv_wr_opcode)wr->opcode;
	r->flags = wr->flags;
	r->remote_addr = wr->remote_addr;
	r->rkey = wr->rkey;
	r->ah = entry->ah;
	r->remote_qpn = wr->remote_qpn;
	r->qkey = wr->remote_qkey;
	if (wr->opcode == RN_WR_BIND_MW)
		r->bind = (struct rn_val_bind){ .rkey = wr->rkey,
						.lkey = wr->bind_region,
						.addr = wr->remote_addr,
						.len = wr->bind_length,
						.access = wr->bind_access };
	if (wr->opcode == RN_WR_LOCAL_INV)
		r->rkey = wr->imm;
	if (wr->flags & RN_SEND_INLINE) {
		r->data = (struct ibv_sge){ .length = entry->inline_len };
		r->sge = &r->data;
		r->sge_count = 1;
	} else if (wr->num_sge) {
		r->sge = (const struct ibv_sge *)list->sges.item + entry->sge_at;
	}
}

/* Returns how many of the requests built by ibv_wr_*() are reported. If a function such
 * as ibv_wr_set_sge() has refused an argument, a request may be incomplete. Rules depend
 * on complete requests, except for those of UD, so none is reported then.
 */
static uint32_t count_of(const struct rnp_wr_list *list, enum ibv_qp_type type)
{
	return list->err && type != IBV_QPT_UD ? 0 : (uint32_t)list->entries.count;
}

static int watch_wr_complete(struct ibv_qp_ex *ex)
{
	struct rn_val_event e;
	const struct rnp_wr_list *list = to_rnp_qp(&ex->qp_base)->wr;
	struct requests r;
	int rc;

	rn_val_begin_event(&e, RN_VAL_POST_SEND, "ibv_wr_complete", &ex->qp_base,
			   rn_stacks_take_again());
	make_room(&r, count_of(list, ex->qp_base.qp_type));
	for (uint32_t i = 0; i < r.count; i++)
		take_entry(&r.item[i], list, i);
	begin_post(&e, &r);
	rc = atomic_load(&wr_complete)(ex);
	end_post(&e, &r, rc, 0);
	return rc;
}

void rnp_watch_qp_ex(struct ibv_qp *qp)
{
	struct rnp_qp *own = to_rnp_qp(qp);

	if (!own->wr)
		return;
	wr_complete = own->base.qp_ex.wr_complete;
	own->base.qp_ex.wr_complete = watch_wr_complete;
}

/* ---------------------------------------------------- polling for completions */
/* Reports to the validation layer whether the peer of a QP, which does not answer any
 * more, has ever acknowledged a request. Completions do not show that if the requests
 * were unsignaled.
 */
static void tell_answered(const struct rnp_context *ctx, uint32_t qpn,
			  const struct rn_val_event *of)
{
	struct rn_val_event e = { .kind = RN_VAL_ANSWERED,
				  .verb = of->verb,
				  .stack = of->stack };

	e.handle = rnp_find_answered(ctx, qpn);
	if (e.handle)
		rnp_watch_after(&e, 0);
}

/* Reports to the validation layer what the device knows about the QPs whose completions a
 * poll has returned: their RNR NAKs, and whether their peers have answered.
 */
static void tell_qps_of(const struct ibv_cq *cq, const struct rn_val_event *poll)
{
	const struct rnp_context *ctx = to_rnp_context(cq->context);

	for (int i = 0; i < poll->poll.got; i++) {
		const struct ibv_wc *wc = &poll->poll.wc[i];

		if (!i || wc->qp_num != wc[-1].qp_num)
			tell_rnr(ctx, wc->qp_num, poll);
		if (wc->status == IBV_WC_RETRY_EXC_ERR)
			tell_answered(ctx, wc->qp_num, poll);
	}
}

/* Number of polls of each CQ that have begun and have not been reported to the validation
 * layer. CQs with the same hash share a counter. Then a poll of one counts for the other
 * as well, and rules miss some mistakes.
 */
enum {
	POLLED_CQS = 256
};
static atomic_uint polls[POLLED_CQS];

static atomic_uint *polls_of(const void *cq)
{
	return &polls[(rn_hash_word((uintptr_t)cq) >> 32) % POLLED_CQS];
}

int rnp_watch_poll_cq(struct ibv_cq *base, int num_entries, struct ibv_wc *wc)
{
	struct rn_val_event e;
	int rc;

	rn_val_begin_event(&e, RN_VAL_POLL, "ibv_poll_cq", base, rn_stacks_take_again());
	atomic_fetch_add_explicit(polls_of(base), 1, memory_order_relaxed);
	rc = RNP_NEXT(poll_cq)(base, num_entries, wc);
	e.poll = (struct rn_val_poll){ .asked = num_entries, .got = rc, .wc = wc };
	tell_qps_of(base, &e);
	rnp_watch_after(&e, 0);
	atomic_fetch_sub_explicit(polls_of(base), 1, memory_order_relaxed);
	return rc;
}

/* Reports one step of polling an extended CQ to the validation layer. @has_entry: the CQ
 * has a current completion, which is reported; false: the CQ was empty.
 */
static void tell_entry(struct ibv_cq_ex *ex, const char *verb, bool has_entry,
		       uint32_t stack)
{
	struct ibv_cq *base = ibv_cq_ex_to_cq(ex);
	struct ibv_wc wc;
	struct rn_val_event e;

	rn_val_begin_event(&e, RN_VAL_POLL, verb, base, stack);
	e.poll = (struct rn_val_poll){ .asked = INT_MAX, .got = has_entry, .wc = &wc };
	if (has_entry)
		rnp_wc_from_cqe(&wc, &to_rnp_cq(base)->current);
	tell_qps_of(base, &e);
	rnp_watch_after(&e, 0);
}

static int watch_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	atomic_uint *own = polls_of(ibv_cq_ex_to_cq(ex));
	int rc;

	atomic_fetch_add_explicit(own, 1, memory_order_relaxed);
	rc = atomic_load(&start_poll)(ex, attr);
	tell_entry(ex, "ibv_start_poll", rc == 0, rn_stacks_take_again());
	atomic_fetch_sub_explicit(own, 1, memory_order_relaxed);
	return rc;
}

static int watch_next_poll(struct ibv_cq_ex *ex)
{
	int rc = atomic_load(&next_poll)(ex);

	tell_entry(ex, "ibv_next_poll", rc == 0, rn_stacks_take_again());
	return rc;
}

void rnp_watch_cq_ex(struct ibv_cq_ex *cq)
{
	if (!cq->start_poll || cq->start_poll == watch_start_poll)
		return;
	start_poll = cq->start_poll;
	next_poll = cq->next_poll;
	cq->start_poll = watch_start_poll;
	cq->next_poll = watch_next_poll;
}

/* ------------------------------------------- reading and acknowledging events */
/* Returns the number of completions that wait to be polled. */
static uint32_t count_entries(struct rnp_cq *cq)
{
	int cancel = rnp_lock_engine(cq->ctx->engine);
	uint32_t count = cq->core.producer -
			 atomic_load_explicit(&cq->core.consumer, memory_order_relaxed);

	rnp_unlock_engine(cq->ctx->engine, cancel);
	return count;
}

int rnp_watch_req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	struct rn_val_event e = { .kind = RN_VAL_NOTIFY,
				  .verb = "ibv_req_notify_cq",
				  .handle = base,
				  .stack = rn_stacks_take_again(),
				  .notify.solicited_only = solicited_only };
	int rc;

	rnp_watch_before(&e);
	e.notify.waiting = count_entries(to_rnp_cq(base));
	rc = RNP_NEXT(req_notify_cq)(base, solicited_only);
	rnp_watch_after(&e, rc);
	return rc;
}

void rnp_watch_cq_event(struct ibv_cq *base)
{
	struct rn_val_event e = { .kind = RN_VAL_CQ_EVENT,
				  .verb = "ibv_get_cq_event",
				  .handle = base,
				  .stack = rn_stacks_take_again() };

	e.cq_event.is_polling =
		atomic_load_explicit(polls_of(base), memory_order_relaxed) != 0;
	RNP_NEXT(cq_event)(base);
	rnp_watch_after(&e, 0);
}

/* Returns the object that an asynchronous event is about. */
static const void *source_of(const struct ibv_context *context,
			     const struct ibv_async_event *event)
{
	switch (rn_event_object((int)event->event_type)) {
	case RN_EVENT_OF_CQ:
		return event->element.cq;
	case RN_EVENT_OF_QP:
		return event->element.qp;
	case RN_EVENT_OF_SRQ:
		return event->element.srq;
	case RN_EVENT_OF_WQ:
		return event->element.wq;
	case RN_EVENT_OF_DEVICE:
		break;
	}
	return context;
}

void rnp_watch_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct rn_val_event e = { .kind = RN_VAL_ASYNC_EVENT,
				  .verb = "ibv_get_async_event",
				  .handle = source_of(context, event),
				  .stack = rn_stacks_take_again(),
				  .async.type = event->event_type };

	rnp_watch_after(&e, 0);
}
