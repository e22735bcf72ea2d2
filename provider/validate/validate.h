/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* validate.h - the validation layer for verbs: events of a program in, findings out.
 *
 * The plugin reports each verbs call of the program twice, when it begins and when it has
 * returned, and also facts that come without a call, such as fork(). The layer keeps a
 * model of the objects that the program has created (model.h), and the rules of each
 * category look at every event (life.c, state.c ...). A finding is reported once for each
 * rule and stack; after that it is only counted.
 *
 * There are no clocks, no locks and no I/O: one thread at a time calls, and the same
 * events give the same findings. Memory comes from malloc(); if there is none, objects
 * and requests are missing in the model, and mistakes with them are not found.
 *
 * All numbers (states, opcodes, flags) are those of <infiniband/verbs.h>.
 */
#ifndef RN_VALIDATE_H
#define RN_VALIDATE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rn_val;
struct rn_val_object;
struct rn_val_wr;
struct rn_val_queue;

/* -------------------------------------------------------------------- rules */
/* Severity: symbol, name, and what it says. */
#define RN_VAL_SEVERITIES(X)                                                           \
	X(ERROR, "error", "the program does what no device has to put up with")        \
	X(PORTABILITY, "portability", "other cards refuse it or do it in another way") \
	X(PERFORMANCE, "performance", "it works, and is slower than it need be")       \
	X(LEAK, "leak", "something is never given back")

enum rn_val_severity {
#define X(symbol, name, what) RN_VAL_##symbol,
	RN_VAL_SEVERITIES(X)
#undef X
	RN_VAL_SEVERITY_COUNT
};

/* Category: symbol, name, and what its rules are about. */
#define RN_VAL_CATEGORIES(X)                                                  \
	X(LIFE, life, "how long objects, memory and events live")             \
	X(STATE, state, "states and attributes of queue pairs")               \
	X(QUEUES, queues, "what is posted, completed, polled and waited for") \
	X(MEMORY, memory, "which bytes are used, by whom and when")           \
	X(ADDRESSING, addressing, "address handles, GIDs, MTUs and keys")     \
	X(PORTABILITY, portability, "what other cards do otherwise")          \
	X(PERFORMANCE, performance, "what makes a program slower than it is")

/* All categories: those above, and that of the sanitizer (sim/pcie/sanitizer), whose
 * rules are listed and explained with the others.
 */
#define RN_VAL_ALL_CATEGORIES(X) \
	RN_VAL_CATEGORIES(X)     \
	X(VISIBILITY, visibility, "when bytes are there (rocin run --sanitize)")

enum rn_val_category {
#define X(symbol, name, what) RN_VAL_OF_##symbol,
	RN_VAL_ALL_CATEGORIES(X)
#undef X
	RN_VAL_CATEGORY_COUNT
};

/* All rules. The rules of a category are in rules/CATEGORY.def, one line RULE(SYMBOL,
 * ...) each; such a rule is named RN_VAL_CATEGORY_SYMBOL here.
 */
enum rn_val_rule {
#define RULE(symbol, ...) RN_VAL_LIFE_##symbol,
#include "rules/life.def"
#undef RULE
#define RULE(symbol, ...) RN_VAL_STATE_##symbol,
#include "rules/state.def"
#undef RULE
#define RULE(symbol, ...) RN_VAL_QUEUES_##symbol,
#include "rules/queues.def"
#undef RULE
#define RULE(symbol, ...) RN_VAL_MEMORY_##symbol,
#include "rules/memory.def"
#undef RULE
#define RULE(symbol, ...) RN_VAL_ADDRESSING_##symbol,
#include "rules/addressing.def"
#undef RULE
#define RULE(symbol, ...) RN_VAL_PORTABILITY_##symbol,
#include "rules/portability.def"
#undef RULE
#define RULE(symbol, ...) RN_VAL_PERFORMANCE_##symbol,
#include "rules/performance.def"
#undef RULE
#define RULE(symbol, ...) RN_VAL_VISIBILITY_##symbol,
#include "rules/visibility.def"
#undef RULE
	RN_VAL_RULE_COUNT
};

struct rn_val_rule_info {
	enum rn_val_category category;
	enum rn_val_severity severity;
	const char *name; /* "CATEGORY/short-words" */
	const char *text; /* one sentence: what is wrong */
	const char
		/* the source: a section of a specification, a manual page, or the manual
		 * of a card
		 */
		*source;
	const char *remedy; /* what the program should do instead */
};

const struct rn_val_rule_info *rn_val_rule_info(unsigned rule);
/* Returns the name of a rule. Has an unused argument so that its address fits into struct
 * rn_rule_names.
 */
const char *rn_val_rule_name(const void *unused, size_t rule);
const char *rn_val_severity_name(enum rn_val_severity severity);
const char *rn_val_severity_text(enum rn_val_severity severity);
const char *rn_val_category_name(enum rn_val_category category);
const char *rn_val_category_text(enum rn_val_category category);

/* ------------------------------------------------------------------ options */
/* Words of ROCIN_VALIDATE about the rules: on, off, all, and names of severities. */
struct rn_val_options {
	bool is_on;
	unsigned severities; /* bits of the severities that are reported */
};

/* Applies @word, a word of ROCIN_VALIDATE, if it is "on", "off", "all" or the name of a
 * severity. Returns false if it is another word. If no severity is named, those of
 * RN_VAL_DEFAULT are reported.
 */
bool rn_val_option(struct rn_val_options *o, const char *word);

enum {
	RN_VAL_DEFAULT = 1 << RN_VAL_ERROR | 1 << RN_VAL_LEAK,
	RN_VAL_ALL = (1 << RN_VAL_SEVERITY_COUNT) - 1,
};

/* ------------------------------------------------------------------- events */
/* Kind of object: symbol and name. */
/* clang-format off */
#define RN_VAL_KINDS(X)                                                                  \
	X(CONTEXT, "context") X(PD, "PD") X(TD, "thread domain") X(MR, "MR") X(MW, "MW") \
	X(DM, "device memory") X(AH, "AH") X(CHANNEL, "completion channel") X(CQ, "CQ")  \
	X(SRQ, "SRQ") X(QP, "QP") X(XRCD, "XRC domain") X(WQ, "WQ")                      \
	X(RWQ_TABLE, "table of WQs") X(FLOW, "flow rule") X(COUNTERS, "counters")
/* clang-format on */

enum rn_val_kind {
#define X(symbol, name) RN_VAL_##symbol,
	RN_VAL_KINDS(X)
#undef X
	RN_VAL_KIND_COUNT
};

enum rn_val_event_kind {
	/* Calls about objects of any kind. RN_VAL_USE stands for calls that have no event
	 * of their own.
	 */
	RN_VAL_MAKE,	/* reported only after the call */
	RN_VAL_USE,	/* reported only before the call */
	RN_VAL_DESTROY, /* reported before and after the call, like RN_VAL_MODIFY */
	RN_VAL_REREG,	/* ibv_rereg_mr() */

	/* Calls about queues; reported before and after the call. */
	RN_VAL_MODIFY,
	RN_VAL_POST_SEND, /* by ibv_post_send(), ibv_wr_complete() or ibv_bind_mw() */
	RN_VAL_POST_RECV, /* to a QP or to an SRQ */
	RN_VAL_MODIFY_SRQ,
	RN_VAL_RESIZE_CQ,

	/* Completions and events; reported after the call. */
	RN_VAL_COMPLETION, /* once for each completion that a poll returns */
	RN_VAL_POLL,	   /* the poll itself, after its completions */
	RN_VAL_NOTIFY,	   /* ibv_req_notify_cq(); reported before and after the call */
	RN_VAL_CQ_EVENT,   /* ibv_get_cq_event() has returned an event */
	RN_VAL_ASYNC_EVENT,

	/* Facts that are reported without a call. */
	/* The QP has received or sent RNR NAKs since they were reported last. Reported
	 * before each poll that returns completions of the QP, and before a receive is
	 * posted to it.
	 */
	RN_VAL_RNR,
	/* The peer of a QP has acknowledged requests of the QP. Reported before the poll
	 * that returns the completion of a request that the peer has not acknowledged.
	 */
	RN_VAL_ANSWERED,
	RN_VAL_FORK, /* reported in the parent, before fork() */
	RN_VAL_EXIT,
	RN_VAL_EVENT_KINDS
};

/* What the device says of an address vector (struct ibv_ah_attr) at the time of the call.
 */
struct rn_val_path {
	/* active_mtu of the port in bytes; 0: no member of this struct is known */
	uint32_t mtu;
	/* the GID with the number grh.sgid_index; all zeros: there is none */
	union ibv_gid sgid;
	bool is_to_self; /* the destination is a GID of the same device */
};

/* RN_VAL_MAKE: the arguments and results of the call. Members that do not belong to the
 * kind of object are 0.
 */
struct rn_val_make {
	enum rn_val_kind kind;
	const void *parent[6]; /* handles of the objects that it uses; NULL: no more */
	/* QPN of a QP, lkey of an MR, number of the device of a context */
	uint32_t number;
	union {
		struct {
			uint64_t addr, iova, len;
			unsigned access; /* IBV_ACCESS_* */
			uint32_t lkey, rkey;
			/* false: the MR is not a range of the program's addresses (null
			 * MR, device memory, dma-buf)
			 */
			bool has_memory;
			uint64_t may_lock; /* RLIMIT_MEMLOCK in bytes; 0: no limit */
		} mr;
		struct {
			enum ibv_qp_type type;
			struct ibv_qp_cap asked, cap;
			bool sq_sig_all;
			const void *send_cq, *recv_cq, *srq;
			enum ibv_qp_state state; /* state of a QP that was opened */
		} qp;
		struct {
			/* number of entries, as the program has asked and as the CQ
			 * has got
			 */
			uint32_t asked, size;
			const void *channel; /* or NULL */
			unsigned vector;
		} cq;
		struct {
			uint32_t max_wr, max_sge, limit;
		} srq;
		struct {
			struct ibv_ah_attr attr;
			struct rn_val_path path;
		} ah;
		struct {
			enum ibv_mw_type type;
			uint32_t rkey;
		} mw;
	};
};

struct rn_val_modify {
	const struct ibv_qp_attr *attr;
	int mask;
	/* after the call: the path of the address in @attr, if @mask includes one */
	struct rn_val_path path;
};

/* The window and the memory that a request binds. */
struct rn_val_bind {
	/* NULL: the program has named them by their keys, or not at all */
	const void *mw, *mr;
	/* the rkey that the window gets, with its tag; the program may set it later */
	uint32_t rkey;
	uint32_t lkey; /* lkey of the MR */
	uint64_t addr, len;
	unsigned access;
};

/* A work request of either queue. */
struct rn_val_request {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode; /* not set in receives */
	unsigned flags;		   /* IBV_SEND_* */
	uint32_t sge_count;
	const struct ibv_sge *sge;
	uint64_t remote_addr;
	uint32_t rkey; /* key of the remote memory, or the key that is invalidated */
	uint32_t remote_qpn, qkey; /* UD: QPN and Q_Key of the destination */
	const void *ah;		   /* UD: the AH; otherwise NULL */
	/* not set in requests of other opcodes than IBV_WR_BIND_MW */
	struct rn_val_bind bind;
	/* What @sge points to if the data was copied, as by ibv_wr_set_inline_data(); not
	 * set in other requests.
	 */
	struct ibv_sge data;
};

struct rn_val_post {
	uint32_t count;
	const struct rn_val_request *request;
	/* after the call: number of requests that the device has accepted */
	uint32_t accepted;
};

/* RN_VAL_COMPLETION: a completion that a poll has returned. */
struct rn_val_completion {
	const struct ibv_wc *wc;
	struct rn_val_object *qp; /* NULL: the model does not know the QP */
	bool is_recv;
	/* The request that completes; NULL: the model does not know it. It is removed
	 * from the model after the event.
	 */
	const struct rn_val_wr *wr;
	/* the queue in which @wr was found, and its place there; not set for a receive of
	 * XRC
	 */
	struct rn_val_queue *queue;
	uint32_t at;
};

struct rn_val_poll {
	/* maximum number of completions, and the number returned; negative: the
	 * poll failed
	 */
	int asked, got;
	/* the completions that were returned; each of them was reported before, as an
	 * event RN_VAL_COMPLETION
	 */
	const struct ibv_wc *wc;
};

/* RN_VAL_RNR: RNR NAKs of a QP since its last reset. */
struct rn_val_rnr {
	uint32_t received, sent;	 /* number of RNR NAKs */
	uint64_t received_ago, sent_ago; /* age of the newest ones in ns */
	/* AETH of the newest RNR NAK received: MSN, and code of the RNR timer */
	uint32_t msn;
	uint8_t timer;
	/* number of requests that were outstanding when that NAK came, and the wr_id of
	 * the oldest of them
	 */
	uint32_t waiting;
	uint64_t wr_id;
};

struct rn_val_event {
	enum rn_val_event_kind kind;
	bool is_done;	  /* the call has returned */
	int rc;		  /* if @is_done: result of the call, 0 or a positive errno */
	uint32_t stack;	  /* number of the stack of the call; 0: none */
	uint64_t thread;  /* the thread that calls */
	const char *verb; /* name of the verb, such as "ibv_modify_qp" */
	/* the pointer that the program gave to the call, and the object of the model that
	 * it stands for; NULL: there is no such object
	 */
	const void *handle;
	struct rn_val_object *object;
	/* The member that belongs to @kind. The others may have any value: events of the
	 * data path are so many that their members are not all cleared.
	 */
	union {
		struct rn_val_make make;
		struct rn_val_modify modify;
		struct rn_val_post post;
		struct rn_val_completion completion;
		struct rn_val_poll poll;
		struct rn_val_rnr rnr;
		struct {
			int solicited_only;
			uint32_t waiting; /* number of CQEs in the CQ before the call */
		} notify;
		struct {
			const struct ibv_srq_attr *attr;
			int mask;
		} modify_srq;
		struct {
			int entries;
		} resize_cq;
		struct {
			/* The places where libibverbs counts the completion events, and
			 * the asynchronous events, of the object that were acknowledged;
			 * or NULL. They may be read only if the object in the model is of
			 * kind @of.
			 */
			enum rn_val_kind of;
			const uint32_t *acked, *async_acked;
		} destroy;
		struct {
			int flags;
			uint64_t addr, len;
			unsigned access;
			const void *pd;
			uint32_t lkey, rkey; /* keys of the region after the call */
		} rereg;
		struct {
			enum ibv_event_type type;
		} async;
		struct {
			bool is_safe; /* ibv_fork_init() was called */
		} fork;
		struct {
			/* polls are under way that the validation layer has not been told
			 * of yet
			 */
			bool is_polling;
		} cq_event;
	};
};

/* Begins an event that is reported before a call, or when it has returned. The caller
 * sets the member of the union that belongs to @kind.
 */
static inline void rn_val_begin_event(struct rn_val_event *e, enum rn_val_event_kind kind,
				      const char *verb, const void *handle,
				      uint32_t stack)
{
	e->kind = kind;
	e->is_done = false;
	e->rc = 0;
	e->stack = stack;
	e->thread = 0;
	e->verb = verb;
	e->handle = handle;
	e->object = NULL;
}

/* ----------------------------------------------------------------- findings */
struct rn_val_finding {
	enum rn_val_rule rule;
	uint32_t stack;	  /* call stack of the verbs call, for rn_stacks_text() */
	const char *what; /* text that says what exactly was seen */
	/* the object that the finding is about, and a second one; each may be NULL */
	const struct rn_val_object *object, *other;
	unsigned long long count; /* number of occurrences so far */
};

/* A function that is called with the first occurrence of each finding. It returns false
 * if it does not show the finding, which is then counted as suppressed.
 */
typedef bool rn_val_sink(void *arg, const struct rn_val_finding *f);

/* ---------------------------------------------------------------- the layer */
/* Returns a new validation layer, or NULL if there is no memory. @severities: bits of the
 * severities that are reported.
 */
struct rn_val *rn_val_new(unsigned severities, rn_val_sink *sink, void *arg);
void rn_val_free(struct rn_val *v);

/* Sets a function that says whether the program has memory at all addresses of a range.
 * Without such a function, all ranges count as mapped.
 */
typedef bool rn_val_probe(uint64_t addr, uint64_t len);
void rn_val_set_probe(struct rn_val *v, rn_val_probe *is_mapped);

/* Sets a function that says whether a child of fork() gets copies of pages of a range, as
 * it does of private memory unless madvise(MADV_DONTFORK) was called. Without such a
 * function all ranges count as copied.
 */
void rn_val_set_fork_probe(struct rn_val *v, rn_val_probe *is_copied);

/* Objects of other processes on this host whose verbs calls are validated, too. Each such
 * process publishes its QPs and MRs (provider/abi/watch_ends.c).
 */
enum rn_val_end_kind {
	RN_VAL_END_NONE,
	RN_VAL_END_QP,
	RN_VAL_END_MR,
};

enum {
	RN_VAL_END_GIDS = 16
};

struct rn_val_end {
	enum rn_val_end_kind kind;
	uint32_t process; /* PID of the process that it belongs to */
	uint32_t number;  /* QPN, or rkey */
	/* numbers of the object's context and of its PD in that process */
	uint32_t device, pd;
	bool has_windows; /* the process has memory windows */
	union {
		struct {
			enum ibv_qp_type type;
			enum ibv_qp_state state;
			/* mask of the attributes that were set, and their values */
			int mask;
			struct ibv_qp_attr attr;
			/* number of receives posted, as last published */
			uint64_t receives;
			bool has_srq;
			uint32_t gid_count; /* number of GIDs of its device */
			union ibv_gid gid[RN_VAL_END_GIDS];
		} qp;
		struct {
			uint64_t iova, len;
			unsigned access;
			bool has_memory;
		} mr;
	};
};

/* Functions that look for an object of another process; they return false if there is
 * none. If @find_mr finds no such MR but the process publishes its objects, it sets
 * @found->process and .has_windows nevertheless.
 */
struct rn_val_ends {
	bool (*find_qp)(const union ibv_gid *gid, uint32_t qpn, struct rn_val_end *found);
	bool (*find_mr)(uint32_t process, uint32_t device, uint32_t rkey,
			struct rn_val_end *found);
};

/* Sets the functions that look for objects of other processes; without them only objects
 * of this process are known. @ends is not copied, so it must stay valid.
 */
void rn_val_set_ends(struct rn_val *v, const struct rn_val_ends *ends);

/* Returns the living object with that handle; if there is none, the destroyed one that
 * had it last; else NULL.
 */
struct rn_val_object *rn_val_lookup(const struct rn_val *v, const void *handle);

/* Returns true if an object that is about to be destroyed (RN_VAL_DESTROY) has events
 * that the program has fetched and not acknowledged. Destroying it would wait for the
 * acknowledgements. So the caller may wait for a while before it reports the event:
 * events that are still not acknowledged then count as forgotten.
 */
bool rn_val_is_unacked(const struct rn_val *v, const struct rn_val_event *e);

/* Reports an event. The caller sets e->handle; e->object is filled in. */
void rn_val_event(struct rn_val *v, struct rn_val_event *e);

/* Number of different findings, and of all their occurrences: first of those that the
 * sink has shown, then of the others.
 */
struct rn_val_totals {
	unsigned long long findings, occurrences;
	unsigned long long suppressed, suppressed_occurrences;
};
struct rn_val_totals rn_val_totals(const struct rn_val *v);

#endif /* RN_VALIDATE_H */
