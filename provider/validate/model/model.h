/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model.h - the objects that a program has created, and what it has done with them: all
 * that rules look at.
 *
 * When an event is reported, the rules see the model as it was before that event, except
 * that an object which the event created is in it already. Rules change nothing in the
 * model except the members `tally', which belong to them.
 */
#ifndef RN_VALIDATE_MODEL_H
#define RN_VALIDATE_MODEL_H

#include "provider/validate/validate.h"
#include "rocin/work_request.h"

enum {
	RN_VAL_PARENTS = 6,
	RN_VAL_SGES = 4,     /* maximum number of SGEs that are stored of a request */
	RN_VAL_HISTORY = 16, /* number of steps that are stored of a QP, the newest */
	RN_VAL_GONE = 4096,  /* number of destroyed objects that stay in the model */
	RN_VAL_WRITES = 16, /* number of earlier WRITEs that a new one is compared with */
};

/* A request that was posted and has not completed. */
struct rn_val_wr {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode; /* not set in receives */
	unsigned flags;
	/* number of SGEs of the request; the first RN_VAL_SGES are stored */
	uint32_t sge_count;
	struct ibv_sge sge[RN_VAL_SGES];
	uint64_t len; /* length of the message in bytes */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t stack; /* call stack of the post, as a number for rn_stacks_text() */
	const void *ah; /* the AH that the program has given */
	/* rn_val_object.life of the MR of each SGE and of the AH, at the time of the
	 * post; 0: there was no such object.
	 */
	uint32_t mr_life[RN_VAL_SGES], ah_life;
	bool is_signaled; /* a completion will come even if the request succeeds */
	bool is_fetching; /* the request writes to its local buffer (READ, atomics) */
};

/* The outstanding requests of a queue in the order of their posts: entries [first, first
 * + count) of a ring of @room entries, which is 0 or a power of two.
 */
struct rn_val_queue {
	struct rn_val_wr *ring;
	uint32_t room, first, count;
	uint32_t fetching; /* number of requests that write to their local buffers */
	/* The device does not use the memory of the requests, because the QP is in ERR,
	 * or all QPs of the SRQ are in ERR or RESET.
	 */
	bool is_idle;
	uint64_t posted, completed; /* number of requests since the queue was created */
};

/* Returns outstanding request @i of a queue; 0 is the oldest. */
static inline const struct rn_val_wr *rn_val_queued(const struct rn_val_queue *q,
						    uint32_t i)
{
	return &q->ring[(q->first + i) & (q->room - 1)];
}

/* An entry of the history of a QP, which reports print. */
struct rn_val_step {
	enum {
		RN_VAL_STEP_MADE,
		RN_VAL_STEP_STATE, /* ibv_modify_qp() from state @a to state @b */
		RN_VAL_STEP_SEND,  /* post of @a requests, the first with opcode @b */
		RN_VAL_STEP_RECV,  /* post of @a receives */
		RN_VAL_STEP_ERROR, /* a completion with status @a */
	} what;
	int a, b;
	uint64_t wr_id;
	int rc; /* errno value that the call returned, 0: success */
	/* number of equal steps that followed this one and have no entry of their own */
	uint32_t again;
};

struct rn_val_qp {
	enum ibv_qp_type type;
	enum ibv_qp_state state;
	struct ibv_qp_cap asked, cap;
	bool sq_sig_all;
	struct rn_val_object *send_cq, *recv_cq, *srq;
	/* the attributes that ibv_modify_qp() has set, and the mask of all of them */
	struct ibv_qp_attr attr;
	int mask;
	bool is_to_self; /* the QP sends to an address of its own device */
	/* Were other processes asked for the QP at the other end of the connection
	 * (watch_ends.c)?
	 */
	bool has_asked;
	/* the peer QP as the process that owns it described it; NULL: no process did */
	struct rn_val_object *remote;
	/* Number of receives posted, as last published: for a QP of this process, by this
	 * process; for a QP of another process, by that process.
	 */
	uint64_t told_receives;
	bool has_remote_srq; /* only of a QP of another process: it uses an SRQ */
	struct rn_val_queue send, recv;
	/* A ring: step i, counted from the creation of the QP, is in entry i %
	 * RN_VAL_HISTORY. @steps is the number of the next step.
	 */
	struct rn_val_step history[RN_VAL_HISTORY];
	uint32_t steps;
	/* Counts that rules keep about the QP. */
	struct {
		/* numbers of posts, of their requests, and of the signaled and the fenced
		 * ones among these
		 */
		uint64_t posts, requests, signaled, fenced;
		/* numbers of messages short enough for inline data, and of those that
		 * were inline
		 */
		uint64_t small, inlined;
		/* number of posts of a single request after a post to the same QP, with
		 * no poll between the two
		 */
		uint64_t posts_in_row;
		/* numbers of messages that consume a receive of the peer, and of those
		 * with IBV_SEND_SOLICITED
		 */
		uint64_t messages, solicited;
		bool has_failed; /* there was a completion with an error */
		/* number of requests posted after that completion */
		uint32_t after_failure;
		/* a message was posted when the peer had no receive for it */
		bool was_exhausted;
		bool was_answered; /* a request has completed with success */
		/* a message has arrived since the newest request was posted */
		bool has_reply;
		/* number of RNR NAKs, as of the last time that a rule looked */
		uint32_t rnr_received, rnr_sent;
	} tally;
};

struct rn_val_cq {
	uint32_t asked, size;
	struct rn_val_object *channel;
	/* The CQ has a channel; @channel is NULL if the model does not know it. */
	bool has_channel;
	/* numbers of polls, of polls that found nothing, and of completions polled */
	uint64_t polls, empty_polls, entries;
	uint64_t notifies; /* number of calls of ibv_req_notify_cq() */
	uint64_t events;   /* number of events that ibv_get_cq_event() has returned */
	bool is_armed, is_armed_solicited;
	bool is_polled_since_armed; /* a poll came after the newest ibv_req_notify_cq() */
	uint64_t armed_by;	    /* the thread that called ibv_req_notify_cq() */
	/* maximum number of completions that the outstanding requests can add, and the
	 * part of it that comes from requests whose posts have not returned yet
	 */
	uint32_t promised, unsure;
	/* at the newest ibv_req_notify_cq(): number of completions in the CQ, and value
	 * of @entries
	 */
	uint32_t waiting_when_armed;
	uint64_t entries_when_armed;
	bool has_event; /* an earlier ibv_req_notify_cq() has already got its event */
	/* list of the SRQs of XRC that complete to the CQ */
	struct rn_val_object *xrc_srqs;
	struct {
		uint64_t single_polls; /* number of polls that asked for one entry */
		/* number of calls of ibv_resize_cq() since the first completion */
		uint32_t resizes;
		uint64_t signaled; /* number of signaled requests of its QPs */
		/* those calls of @notifies that were for solicited events only */
		uint64_t solicited_notifies;
	} tally;
};

struct rn_val_mr {
	uint64_t addr, iova, len;
	unsigned access;
	uint32_t lkey, rkey;
	bool has_memory;
};

struct rn_val_srq {
	uint32_t max_wr, max_sge, limit;
	struct rn_val_queue recv;
	/* number of QPs of the SRQ that may take receives; not used for XRC */
	uint32_t active;
	/* The next SRQ of XRC that completes to the same CQ. */
	struct rn_val_object *next_of_cq;
	struct {
		bool was_armed;	     /* the program has set a limit at least once */
		bool is_limit_spent; /* the limit event came, and no limit was set since
				      */
	} tally;
};

/* Entry in the list of users of an object: @user was created with that object, which is
 * one of its parents.
 */
struct rn_val_tie {
	struct rn_val_object *user;
	struct rn_val_tie *newer, *older;
};

struct rn_val_object {
	/* the next object in the same list: @next of rn_val.bucket (newest first),
	 * @next_number of rn_val.numbered, @next_address (MRs only) of rn_val.mr_at
	 */
	struct rn_val_object *next, *next_number, *next_address;
	/* neighbours in the list of living objects, or of destroyed ones */
	struct rn_val_object *newer, *older;
	enum rn_val_kind kind;
	const void *handle; /* the pointer by which the program names the object */
	uint32_t serial;    /* number of the object in this process, from 1 */
	uint32_t number;    /* number of the object in verbs, such as the QPN; 0: none */
	/* call stacks of the calls that created and destroyed the object, as numbers
	 * for rn_stacks_text()
	 */
	uint32_t made_at, gone_at;
	/* the process that the object belongs to; 0: this one. For an object of another
	 * process also the numbers of the object's context and PD there.
	 */
	uint32_t process, device, pdn;
	/* place of the object in the file of watch_ends.c, from 1; 0: none */
	uint32_t slot;
	bool is_gone;	 /* the object was destroyed */
	bool is_closing; /* a call that destroys the object has begun */
	struct rn_val_object *parent[RN_VAL_PARENTS];
	/* the first of @parent that is a PD, and the first that is a context; or NULL */
	struct rn_val_object *pd, *context;
	struct rn_val_tie tie[RN_VAL_PARENTS]; /* entries in the lists of the parents */
	struct rn_val_tie *newest_user;
	uint32_t users; /* number of living objects that have this object as a parent */
	/* For MRs and AHs. @life is unique. An MR whose key changes gets a new @life,
	 * which distinguishes requests that were posted with the old key. @outstanding is
	 * the number of SGEs and AHs of outstanding requests that name the object;
	 * @named_by is the handle of the queue to which the newest of them was posted.
	 */
	uint32_t life, outstanding;
	const void *named_by;
	/* number of asynchronous events about the object that the program has got */
	uint64_t async_events;
	union {
		struct rn_val_qp qp;
		struct rn_val_cq cq;
		struct rn_val_mr mr;
		struct rn_val_srq srq;
		struct {
			struct ibv_ah_attr attr;
			struct rn_val_path path;
		} ah;
		struct {
			enum ibv_mw_type type;
			/* the window is bound, as far as requests that were posted show
			 */
			bool is_bound;
			uint32_t rkey;
			uint64_t addr, len;
			unsigned access;
		} mw;
		struct {
			/* number of target QPs of the XRC domain that may take receives
			 */
			uint32_t active;
		} xrcd;
	};
};

enum {
	RN_VAL_BUCKETS = 4096
};

/* A WRITE that was posted, and of which no completion has shown yet that it was carried
 * out.
 */
struct rn_val_write {
	const struct rn_val_object *qp;
	uint64_t addr, len;
	uint32_t rkey;
};

struct rn_val_count; /* occurrences of a finding; find.c */

struct rn_val {
	unsigned severities;
	unsigned categories; /* bits of the categories that have rules of @severities */
	rn_val_sink *sink;
	void *arg;
	struct rn_val_object *bucket[RN_VAL_BUCKETS]; /* all objects by handle */
	struct rn_val_object
		*numbered[RN_VAL_BUCKETS]; /* living QPs, MRs and MWs by number */
	struct rn_val_object *mr_at[RN_VAL_BUCKETS]; /* living MRs by address */
	/* the MR that the last search by lkey has found; or NULL */
	struct rn_val_object *last_mr;
	struct rn_val_object *living; /* the newest living object */
	/* ends of the list of destroyed objects; number of objects in it */
	struct rn_val_object *oldest_gone, *newest_gone;
	uint32_t gone;
	uint32_t serial, lives; /* the last rn_val_object.serial and .life given */
	uint64_t registered;	/* bytes of memory in MRs, in whole pages */
	/* see rn_val_set_probe(), rn_val_set_fork_probe(); or NULL */
	rn_val_probe *is_mapped, *is_copied;
	const struct rn_val_ends *ends;	       /* see rn_val_set_ends(); or NULL */
	unsigned living_of[RN_VAL_KIND_COUNT]; /* number of living objects of each kind */
	struct rn_val_count *count[RN_VAL_BUCKETS];
	struct rn_val_totals totals;
	/* Counts that rules keep about the program. */
	struct {
		/* number of requests posted to all QPs; value of @requests when the
		 * newest MR was registered; value when the newest AH was created
		 */
		uint64_t requests, requests_then, requests_at_ah;
		/* number of MRs registered (AHs created) one after the other, each only a
		 * few requests after the one before
		 */
		uint32_t late_mrs, late_ahs;
		uint32_t small_mrs; /* number of MRs smaller than a page */
		/* serial of the QP that was posted to last; 0 after a poll */
		uint32_t last_post;
		/* A ring of the newest WRITEs since the program has seen a completion,
		 * and the number of all WRITEs since then.
		 */
		struct rn_val_write writes[RN_VAL_WRITES];
		uint32_t write_count;
	} tally;
};

/* ------------------------------------------------------------- what rules call */
/* Reports that a rule is broken. @object: the object that the finding is about, or NULL.
 */
void rn_val_find(struct rn_val *v, const struct rn_val_event *e, enum rn_val_rule rule,
		 const struct rn_val_object *object, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* As rn_val_find(), with a second object, whose stacks the report shows, too. */
void rn_val_find2(struct rn_val *v, const struct rn_val_event *e, enum rn_val_rule rule,
		  const struct rn_val_object *object, const struct rn_val_object *other,
		  const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* A buffer for the name of an object in reports, such as "QP 0x1a2b". */
struct rn_val_text {
	char text[80];
};
const char *rn_val_name(const struct rn_val_object *o, struct rn_val_text *t);
const char *rn_val_kind_name(enum rn_val_kind kind);
const char *rn_val_state_name(enum ibv_qp_state state);
const char *rn_val_opcode_name(enum ibv_wr_opcode opcode);
/* Writes a step of a QP into @t; returns its text. */
const char *rn_val_step_text(const struct rn_val_step *s, struct rn_val_text *t);

/* Returns the living MR with that lkey, or NULL. */
struct rn_val_object *rn_val_mr_of_lkey(struct rn_val *v, uint32_t lkey);
/* Returns the living MW with that rkey on the device of @o, whether it is bound or not;
 * the tag of the rkey is ignored. NULL: there is none.
 */
struct rn_val_object *rn_val_window_of(const struct rn_val *v,
				       const struct rn_val_object *o, uint32_t rkey);
/* Return the window and the MR of a bind request, also if they were destroyed; NULL:
 * there is none.
 */
struct rn_val_object *rn_val_bound_window(const struct rn_val *v,
					  const struct rn_val_object *qp,
					  const struct rn_val_bind *b);
struct rn_val_object *rn_val_bound_mr(struct rn_val *v, const struct rn_val_bind *b);
/* Returns another living MR of the same PD, memory and rights, or NULL. */
const struct rn_val_object *rn_val_mr_like(const struct rn_val *v,
					   const struct rn_val_object *mr);
/* Returns the QP or SRQ to which a request was posted that is outstanding and names a
 * living MR or AH; NULL: there is none.
 */
const struct rn_val_object *rn_val_poster_of(const struct rn_val *v,
					     const struct rn_val_object *o);
/* Returns the living QP with that number on the device of an object, or NULL. */
struct rn_val_object *rn_val_qp_beside(const struct rn_val *v,
				       const struct rn_val_object *o, uint32_t qpn);
/* Returns the QP of this process that a connected QP sends to, or NULL if it is not
 * known.
 */
struct rn_val_object *rn_val_own_target_of(const struct rn_val *v,
					   const struct rn_val_object *qp);
/* Returns the QP that a connected QP sends to, of this process or of another one; NULL:
 * it is not known. A QP of another process has the attributes that it had when @qp sent
 * for the first time, and neither queues nor CQs.
 */
static inline struct rn_val_object *rn_val_target_of(const struct rn_val *v,
						     const struct rn_val_object *qp)
{
	return qp->qp.remote ? qp->qp.remote : rn_val_own_target_of(v, qp);
}
/* Returns the QP that a connected QP sends to, if that QP also sends to this one; else
 * NULL.
 */
struct rn_val_object *rn_val_peer_of(const struct rn_val *v,
				     const struct rn_val_object *qp);
/* As rn_val_peer_of(), but NULL if the peer belongs to another process. */
struct rn_val_object *rn_val_own_peer_of(const struct rn_val *v,
					 const struct rn_val_object *qp);
/* Does a QP take its receives from an SRQ? For XRC it is not known from which one. */
static inline bool rn_val_has_srq(const struct rn_val_object *qp)
{
	return (qp->qp.srq && qp->qp.srq->kind == RN_VAL_SRQ) ||
	       qp->qp.type == IBV_QPT_XRC_RECV;
}
/* Returns the receive queue of a QP of this process, which may be that of its SRQ. */
const struct rn_val_queue *rn_val_receives_of(const struct rn_val_object *qp);
/* Do two objects of this process belong to one device? Numbers of objects can be compared
 * only then.
 */
bool rn_val_is_of_same_device(const struct rn_val_object *a,
			      const struct rn_val_object *b);
/* Does a request write to its local buffer? */
static inline bool rn_val_fetches(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ || rn_wr_is_atomic(opcode);
}

/* Does a request consume a receive of the peer? */
static inline bool rn_val_takes_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static inline bool rn_val_is_write(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* Returns the number of bytes of the SGEs of a request. */
static inline uint64_t rn_val_length_of(const struct rn_val_request *r)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < r->sge_count; i++)
		len += r->sge[i].length;
	return len;
}

/* Returns the access right that a request needs at the QP of the other end, or 0. */
static inline unsigned rn_val_access_of(enum ibv_wr_opcode opcode)
{
	if (rn_val_is_write(opcode))
		return IBV_ACCESS_REMOTE_WRITE;
	if (opcode == IBV_WR_RDMA_READ)
		return IBV_ACCESS_REMOTE_READ;
	return rn_val_fetches(opcode) ? IBV_ACCESS_REMOTE_ATOMIC : 0;
}

static inline bool rn_val_is(const struct rn_val_object *o, enum rn_val_kind kind)
{
	return o && o->kind == kind;
}

/* Returns the PD in which an object was created, or NULL. */
static inline struct rn_val_object *rn_val_pd_of(const struct rn_val_object *o)
{
	return o ? o->pd : NULL;
}

/* Returns the context in which an object was created, or that it is; or NULL. */
static inline const struct rn_val_object *rn_val_context_of(const struct rn_val_object *o)
{
	return rn_val_is(o, RN_VAL_CONTEXT) || !o ? o : o->context;
}

/* Returns how many of the first @count requests of a post to a QP will add a completion
 * to their CQ.
 */
static inline uint32_t rn_val_promises(const struct rn_val_object *o,
				       const struct rn_val_event *e, uint32_t count)
{
	uint32_t promises = 0;

	count = count < e->post.count ? count : e->post.count;
	if (e->kind == RN_VAL_POST_RECV || o->qp.sq_sig_all)
		return count;
	for (uint32_t i = 0; i < count; i++)
		promises += (e->post.request[i].flags & IBV_SEND_SIGNALED) != 0;
	return promises;
}

/* -------------------------------------------------- the rules of each category */
#define X(symbol, name, what) \
	void rn_val_check_##name(struct rn_val *v, const struct rn_val_event *e);
RN_VAL_CATEGORIES(X)
#undef X

/* ----------------------------------------------------------------- lookup.c */
unsigned rn_val_bucket_of(uint64_t key);
/* Returns the living object with that handle, or NULL. */
struct rn_val_object *rn_val_living_at(const struct rn_val *v, const void *handle);
struct rn_val_object *rn_val_qp_of_number(const struct rn_val *v, uint32_t qpn);
/* Returns the first object of a kind that was used to create @o, or NULL. */
struct rn_val_object *rn_val_parent_of(const struct rn_val_object *o,
				       enum rn_val_kind kind);
/* Add a living QP to the table of QPs by QPN, or a living MR to the tables of MRs by key
 * and by address; and remove it from there.
 */
void rn_val_add_number(struct rn_val *v, struct rn_val_object *o);
void rn_val_remove_number(struct rn_val *v, const struct rn_val_object *o);

/* ------------------------------------------------------------------ model.c */
/* Update the model for an event. rn_val_model_before() makes the changes that rules must
 * see already (a new object), rn_val_model_after() makes all others after the rules.
 */
void rn_val_model_before(struct rn_val *v, struct rn_val_event *e);
void rn_val_model_after(struct rn_val *v, const struct rn_val_event *e);
void rn_val_model_free(struct rn_val *v);

/* ----------------------------------------------------------------- remote.c */
/* Asks other processes for the peer of a QP, if the event makes that necessary (see
 * remote.c).
 */
void rn_val_ask_for_peer(struct rn_val *v, const struct rn_val_event *e);
/* Returns the MR with that rkey in the process of @peer; NULL: none is known. The result
 * is valid until the next call.
 * @is_window: out: whether the key may be that of a memory window, or of an MR that
 *	nothing is known of.
 */
const struct rn_val_object *rn_val_mr_at(struct rn_val *v,
					 const struct rn_val_object *peer, uint32_t rkey,
					 bool *is_window);

/* ------------------------------------------------------------------- uses.c */
/* rn_val_tie() makes @parent parent @i of @user, and counts @user as one of its users;
 * rn_val_untie() undoes this.
 */
void rn_val_tie(struct rn_val_object *user, unsigned i, struct rn_val_object *parent);
void rn_val_untie(struct rn_val_object *user, unsigned i);
/* Add a request to the counts of its MRs and its AH (rn_val_object.outstanding), and
 * remove it from them. @by: handle of the queue to which the request is posted.
 */
void rn_val_begin_use(struct rn_val *v, struct rn_val_wr *wr, const void *by);
void rn_val_end_use(struct rn_val *v, struct rn_val_wr *wr);
/* Sets rn_val_queue.is_idle: with true, its requests are taken off the counts of their
 * MRs and AHs; with false they are added again. @by: as in rn_val_begin_use().
 */
void rn_val_set_idle(struct rn_val *v, struct rn_val_queue *q, bool is_idle,
		     const void *by);

/* ------------------------------------------------------------------ handles.c */
/* Notes that a QP or an SRQ was created, or is about to be destroyed. */
void rn_val_begin_qp(struct rn_val *v, struct rn_val_object *o);
void rn_val_end_qp(struct rn_val *v, struct rn_val_object *o);
void rn_val_begin_srq(struct rn_val_object *srq);
void rn_val_end_srq(struct rn_val_object *srq);
void rn_val_set_qp_state(struct rn_val *v, struct rn_val_object *o,
			 enum ibv_qp_state state);
/* Copies what was set through this handle on a QP of XRC to the other handles. */
void rn_val_share(struct rn_val *v, const struct rn_val_object *o);

/* --------------------------------------------------------------- receives.c */
/* Describes in words what is known of a peer of @o and of its receives. Returns the text
 * in @t.
 */
struct rn_val_long_text {
	char text[240];
};
const char *rn_val_receives_text(const struct rn_val *v, const struct rn_val_object *o,
				 struct rn_val_long_text *t);
void rn_val_check_rnr(struct rn_val *v, const struct rn_val_event *e);

/* ------------------------------------------------------------------- find.c */
void rn_val_counts_free(struct rn_val *v);

#endif /* RN_VALIDATE_MODEL_H */
