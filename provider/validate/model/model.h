/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* model.h - what a program has made, and what it has done with it: all that rules look
 * at.
 *
 * Rules read the model as it was before an event, but that a new object is there already.
 * They change nothing but the fields `tally', which are theirs.
 */
#ifndef RN_VALIDATE_MODEL_H
#define RN_VALIDATE_MODEL_H

#include "provider/validate/validate.h"

enum {
	RN_VAL_PARENTS = 6,
	RN_VAL_SGES = 4,     /* ranges of a request that are kept */
	RN_VAL_HISTORY = 16, /* steps of a QP that are kept */
	RN_VAL_GONE = 4096,  /* destroyed objects that are kept */
	RN_VAL_WRITES = 16,  /* WRITEs that a new one is compared with */
};

/* A request that was posted and has not completed. */
struct rn_val_wr {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode; /* not of receives */
	unsigned flags;
	uint32_t sge_count; /* all of them, of which RN_VAL_SGES are kept */
	struct ibv_sge sge[RN_VAL_SGES];
	uint64_t len; /* of the message */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t stack; /* of the post */
	const void *ah; /* as in the request */
	/* Of the MR of each entry, and of the AH; 0: none is counted. */
	uint32_t mr_life[RN_VAL_SGES], ah_life;
	bool is_signaled; /* its success will be told */
	bool is_fetching; /* it writes to its local buffer */
};

/* Requests in the order of their posts: [first, first + count) of a ring. */
struct rn_val_queue {
	struct rn_val_wr *ring;
	uint32_t room, first, count;
	uint32_t fetching; /* requests that write to their local buffers */
	/* The requests use no memory: the QP is in ERR, or the SRQ has no QP. */
	bool is_idle;
	uint64_t posted, completed; /* ever */
};

static inline const struct rn_val_wr *rn_val_queued(const struct rn_val_queue *q,
						    uint32_t i)
{
	return &q->ring[(q->first + i) % q->room];
}

/* A step of a QP: what its history tells. */
struct rn_val_step {
	enum {
		RN_VAL_STEP_MADE,
		RN_VAL_STEP_STATE, /* from @a to @b */
		RN_VAL_STEP_SEND,  /* @a requests, the first one with opcode @b */
		RN_VAL_STEP_RECV,  /* @a requests */
		RN_VAL_STEP_ERROR, /* completion with status @a */
	} what;
	int a, b;
	uint64_t wr_id;
	int rc;		/* of the call */
	uint32_t again; /* the same step followed so many times more */
};

struct rn_val_qp {
	enum ibv_qp_type type;
	enum ibv_qp_state state;
	struct ibv_qp_cap asked, cap;
	bool sq_sig_all;
	struct rn_val_object *send_cq, *recv_cq, *srq;
	struct ibv_qp_attr attr; /* as set so far */
	int mask;		 /* attributes that were ever set */
	bool is_to_self;	 /* connected to an address of its own device */
	/* Other processes were asked (watch_ends.c) which of them has the QP that this
	 * one is connected to.
	 */
	bool has_asked;
	/* What that process has told of its QP; NULL: nothing */
	struct rn_val_object *remote;
	/* Receives posted that other processes have been told of, or that the other one
	 * has told, whose QP this is.
	 */
	uint64_t told_receives;
	bool has_remote_srq; /* there it takes its receives from an SRQ */
	struct rn_val_queue send, recv;
	struct rn_val_step history[RN_VAL_HISTORY];
	uint32_t steps; /* ever */
	/* Fields of the rules. */
	struct {
		uint64_t posts, requests, signaled, fenced;
		uint64_t small, inlined;      /* small: messages that could be inline */
		uint64_t posts_in_row;	      /* of one request, right behind another */
		uint64_t messages, solicited; /* that take a receive of the peer */
		bool has_failed;	      /* a completion has told an error */
		uint32_t after_failure;	      /* requests posted since */
		bool was_exhausted;	      /* the peer had no receive at a post */
		bool was_answered;	      /* something has completed well */
		uint32_t rnr_received, rnr_sent; /* RNR NAKs that were looked at */
	} tally;
};

struct rn_val_cq {
	uint32_t asked, size;
	struct rn_val_object *channel;
	bool has_channel; /* even if it is not known */
	uint64_t polls, empty_polls, entries;
	uint64_t notifies, events; /* events: those that ibv_get_cq_event() returned */
	uint64_t event_thread;	   /* that took the newest of them */
	bool is_armed, is_armed_solicited;
	bool is_polled_since_armed; /* a poll came after the newest ibv_req_notify_cq() */
	/* Completions that the requests which are posted now can make. */
	uint32_t promised;
	uint32_t waiting_when_armed; /* entries, before the newest ibv_req_notify_cq() */
	uint64_t entries_when_armed; /* polled until then */
	bool has_event; /* an earlier ibv_req_notify_cq() has got its event already */
	struct {
		uint64_t single_polls;
		uint32_t resizes;	     /* since the first completion */
		uint64_t signaled;	     /* requests that tell this CQ */
		uint64_t solicited_notifies; /* of `notifies' */
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
	struct {
		bool was_armed;	     /* there was a limit once */
		bool is_limit_spent; /* its event came, and no new limit since */
	} tally;
};

/* An object that uses another one, in the list of all that do. */
struct rn_val_tie {
	struct rn_val_object *user;
	struct rn_val_tie *newer, *older;
};

struct rn_val_object {
	struct rn_val_object *next;	    /* of the same bucket, newest first */
	struct rn_val_object *next_number;  /* of the same bucket of numbers */
	struct rn_val_object *next_address; /* of MRs: of the same bucket of addresses */
	struct rn_val_object *newer,
		*older; /* of all living ones, or of those that are gone */
	enum rn_val_kind kind;
	const void *handle;
	uint32_t serial;	   /* number of the object in this process, from 1 */
	uint32_t number;	   /* that verbs give it, or 0 */
	uint32_t made_at, gone_at; /* stacks */
	uint32_t process;	   /* that has it; 0: this one */
	uint32_t device, pdn;	   /* of another process: its context's and PD's number */
	uint32_t slot;	 /* a number that who tells of the object keeps here, from 0 */
	bool is_gone;	 /* it was destroyed */
	bool is_closing; /* a call that destroys it has begun */
	struct rn_val_object *parent[RN_VAL_PARENTS];
	struct rn_val_tie tie[RN_VAL_PARENTS]; /* to each parent */
	struct rn_val_tie *newest_user;
	uint32_t users; /* living objects that have it as parent */
	/* Of MRs and AHs: a number of its own, another one if the key is another; entries
	 * of outstanding requests that name it; and who posted the newest of them.
	 */
	uint32_t life, outstanding;
	const void *named_by;
	uint64_t async_events; /* that the program has taken */
	uint64_t async_thread; /* that took the newest of them */
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
		} mw;
	};
};

enum {
	RN_VAL_BUCKETS = 4096
};

/* A WRITE of which the program does not know yet whether it was carried out. */
struct rn_val_write {
	const struct rn_val_object *qp;
	uint64_t addr, len;
	uint32_t rkey;
};

struct rn_val_count; /* occurrences of a finding; find.c */

struct rn_val {
	unsigned severities;
	unsigned categories; /* those with rules of these severities, one bit each */
	rn_val_sink *sink;
	void *arg;
	struct rn_val_object *bucket[RN_VAL_BUCKETS];
	struct rn_val_object *numbered[RN_VAL_BUCKETS]; /* living QPs and MRs by number */
	struct rn_val_object *mr_at[RN_VAL_BUCKETS];	/* living MRs by address */
	struct rn_val_object *last_mr; /* that was found by its number, or NULL */
	struct rn_val_object *living;  /* the newest one */
	struct rn_val_object *oldest_gone, *newest_gone;
	uint32_t serial, gone, lives;
	uint64_t registered;		     /* bytes of memory in MRs, in whole pages */
	rn_val_probe *is_mapped, *is_copied; /* or NULL */
	const struct rn_val_ends *ends;	     /* or NULL */
	unsigned living_of[RN_VAL_KIND_COUNT];
	struct rn_val_count *count[RN_VAL_BUCKETS];
	struct rn_val_totals totals;
	/* Fields of the rules. */
	struct {
		uint64_t requests_then;	 /* requests posted when the newest MR was
					    registered */
		uint64_t requests;	 /* posted by all QPs */
		uint64_t requests_at_ah; /* when the newest AH was created */
		uint32_t late_mrs;	 /* MRs that were registered between posts */
		uint32_t late_ahs, small_mrs;
		uint32_t last_post; /* serial of the QP, if no poll came since */
		/* The newest WRITEs since the program was told of a completion. */
		struct rn_val_write writes[RN_VAL_WRITES];
		uint32_t write_count; /* all of them since then */
	} tally;
};

/* ------------------------------------------------------------- what rules call */
/* Reports that a rule is broken. @object: what it is about, or NULL. */
void rn_val_find(struct rn_val *v, const struct rn_val_event *e, enum rn_val_rule rule,
		 const struct rn_val_object *object, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* The same, with a second object, whose stacks are shown too. */
void rn_val_find2(struct rn_val *v, const struct rn_val_event *e, enum rn_val_rule rule,
		  const struct rn_val_object *object, const struct rn_val_object *other,
		  const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* The name of an object for texts, such as "QP 0x1a2b", in a buffer of the caller. */
struct rn_val_text {
	char text[80];
};
const char *rn_val_name(const struct rn_val_object *o, struct rn_val_text *t);
const char *rn_val_kind_name(enum rn_val_kind kind);
const char *rn_val_state_name(enum ibv_qp_state state);
const char *rn_val_opcode_name(enum ibv_wr_opcode opcode);
/* Writes a step of a QP into @t; returns its text. */
const char *rn_val_step_text(const struct rn_val_step *s, struct rn_val_text *t);

/* The living MR with that lkey; NULL: there is none. */
struct rn_val_object *rn_val_mr_of_lkey(struct rn_val *v, uint32_t lkey);
/* Another living MR of the same PD, memory and rights; NULL: there is none. */
const struct rn_val_object *rn_val_mr_like(const struct rn_val *v,
					   const struct rn_val_object *mr);
/* The QP or SRQ with an outstanding request that names a living MR or AH, which may still
 * use it; NULL: there is none.
 */
const struct rn_val_object *rn_val_poster_of(const struct rn_val *v,
					     const struct rn_val_object *o);
/* The living QP with that number on the device of an object; NULL: there is none. */
struct rn_val_object *rn_val_qp_beside(const struct rn_val *v,
				       const struct rn_val_object *o, uint32_t qpn);
/* The QP of this process that a connected QP sends to, if it is known; else NULL. */
struct rn_val_object *rn_val_own_target_of(const struct rn_val *v,
					   const struct rn_val_object *qp);
/* The same, also if it is one of another process: that has the attributes that it had
 * when this one sent for the first time, and neither queues nor CQs.
 */
static inline struct rn_val_object *rn_val_target_of(const struct rn_val *v,
						     const struct rn_val_object *qp)
{
	return qp->qp.remote ? qp->qp.remote : rn_val_own_target_of(v, qp);
}
/* That of rn_val_target_of(), if it sends to this QP, too. */
struct rn_val_object *rn_val_peer_of(const struct rn_val *v,
				     const struct rn_val_object *qp);
/* The same, if it is one of this process. */
struct rn_val_object *rn_val_own_peer_of(const struct rn_val *v,
					 const struct rn_val_object *qp);
/* The receives of a QP of this process, which may be those of an SRQ. */
const struct rn_val_queue *rn_val_receives_of(const struct rn_val_object *qp);
/* The context that an object was made in, or NULL. */
const struct rn_val_object *rn_val_context_of(const struct rn_val_object *o);
/* The PD that an object was made in, or NULL. */
struct rn_val_object *rn_val_pd_of(const struct rn_val_object *o);
/* Does a request write to its local buffer? */
static inline bool rn_val_fetches(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Does a request take a receive of the peer? */
static inline bool rn_val_takes_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static inline bool rn_val_is(const struct rn_val_object *o, enum rn_val_kind kind)
{
	return o && o->kind == kind;
}

/* -------------------------------------------------- the rules of each category */
#define X(symbol, name, what) \
	void rn_val_check_##name(struct rn_val *v, const struct rn_val_event *e);
RN_VAL_CATEGORIES(X)
#undef X

/* ----------------------------------------------------------------- lookup.c */
unsigned rn_val_bucket_of(uint64_t key);
/* The living object with that handle; NULL: there is none. */
struct rn_val_object *rn_val_living_at(const struct rn_val *v, const void *handle);
struct rn_val_object *rn_val_qp_of_number(const struct rn_val *v, uint32_t qpn);
/* Let a living object be found by what it is known by, besides its handle; or no longer.
 */
void rn_val_add_number(struct rn_val *v, struct rn_val_object *o);
void rn_val_remove_number(struct rn_val *v, const struct rn_val_object *o);

/* ------------------------------------------------------------------ model.c */
/* Bring the model up to date, before the rules look at an event, and behind them. */
void rn_val_model_before(struct rn_val *v, struct rn_val_event *e);
void rn_val_model_after(struct rn_val *v, const struct rn_val_event *e);
void rn_val_model_free(struct rn_val *v);

/* ----------------------------------------------------------------- remote.c */
/* Asks whether another process has the peer of a QP that sends for the first time, or of
 * one that has been refused access.
 */
void rn_val_ask_for_peer(struct rn_val *v, const struct rn_val_event *e);
/* The MR with that rkey in the process of @peer, until the next call; NULL: there is
 * none.
 * @is_window: out: it may be a window, or nothing is known.
 */
const struct rn_val_object *rn_val_mr_at(struct rn_val *v,
					 const struct rn_val_object *peer, uint32_t rkey,
					 bool *is_window);

/* ------------------------------------------------------------------- uses.c */
/* Begin and end to count @user as a user of its parent @i. */
void rn_val_tie(struct rn_val_object *user, unsigned i, struct rn_val_object *parent);
void rn_val_untie(struct rn_val_object *user, unsigned i);
/* Count what a request names, from now on or no longer. @by: the handle that it is posted
 * to.
 */
void rn_val_begin_use(struct rn_val *v, struct rn_val_wr *wr, const void *by);
void rn_val_end_use(struct rn_val *v, struct rn_val_wr *wr);
/* The requests of a queue use memory from now on, or no longer. */
void rn_val_set_idle(struct rn_val *v, struct rn_val_queue *q, bool is_idle,
		     const void *by);

/* --------------------------------------------------------------- receives.c */
/* Says what is known of a peer of @o and of its receives. Returns the text in @t. */
struct rn_val_long_text {
	char text[240];
};
const char *rn_val_receives_text(const struct rn_val *v, const struct rn_val_object *o,
				 struct rn_val_long_text *t);
void rn_val_check_rnr(struct rn_val *v, const struct rn_val_event *e);

/* ------------------------------------------------------------------- find.c */
void rn_val_counts_free(struct rn_val *v);

#endif /* RN_VALIDATE_MODEL_H */
