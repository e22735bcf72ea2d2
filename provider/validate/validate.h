/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* validate.h - the validation layer for verbs: events of a program in, findings out.
 *
 * Who calls verbs tells of each call twice, when it begins and when it has returned, and
 * of the facts that come without a call. The layer keeps what the program has made
 * (model.h), and the rules of each category look at every event (life.c, state.c ...). A
 * finding is reported once for each rule and stack, and counted after that.
 *
 * There are no clocks, no locks and no I/O: one thread at a time calls, and the same
 * events give the same findings. Memory comes from malloc(); without any, things are not
 * seen.
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

/* Those and the category of the sanitizer (sim/pcie/sanitizer), whose rules are listed
 * and explained with the others.
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

/* The rules of each category are in rules/CATEGORY.def, a line RULE(SYMBOL, ...) each;
 * the rule is RN_VAL_CATEGORY_SYMBOL here.
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
		*source; /* section of a specification, manual page, manual of a card */
	const char *remedy; /* what to do */
};

const struct rn_val_rule_info *rn_val_rule_info(unsigned rule);
/* The name of a rule, with an unused argument: as struct rn_rule_names has it. */
const char *rn_val_rule_name(const void *unused, size_t rule);
const char *rn_val_severity_name(enum rn_val_severity severity);
const char *rn_val_severity_text(enum rn_val_severity severity);
const char *rn_val_category_name(enum rn_val_category category);
const char *rn_val_category_text(enum rn_val_category category);

/* ------------------------------------------------------------------ options */
/* Words of ROCIN_VALIDATE about the rules: on, off, all, and names of severities. */
struct rn_val_options {
	bool is_on;
	unsigned severities; /* those that are reported, one bit each */
};

/* Takes a word of the setting. Returns false if it is none of these. Without any name of
 * a severity, those of RN_VAL_DEFAULT are reported.
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
	/* An object: made, used by a call that has no event of its own, destroyed. */
	RN_VAL_MAKE,	/* after the call alone */
	RN_VAL_USE,	/* before the call alone */
	RN_VAL_DESTROY, /* before and after */
	RN_VAL_REREG,	/* ibv_rereg_mr(); before and after */
	RN_VAL_BIND,	/* ibv_bind_mw(); before and after */

	/* Queue pairs and queues; before and after. */
	RN_VAL_MODIFY,
	RN_VAL_POST_SEND, /* by ibv_post_send() or by ibv_wr_complete() */
	RN_VAL_POST_RECV, /* to a QP or to an SRQ */
	RN_VAL_MODIFY_SRQ,
	RN_VAL_RESIZE_CQ,

	/* Completions and events; after the call. */
	RN_VAL_COMPLETION, /* one for each entry that a poll returns */
	RN_VAL_POLL,	   /* behind these: the poll itself */
	RN_VAL_NOTIFY,	   /* before and after */
	RN_VAL_CQ_EVENT,   /* ibv_get_cq_event() has returned one */
	RN_VAL_ASYNC_EVENT,

	/* Facts without a call. */
	RN_VAL_RNR,  /* the device of a QP has got or sent RNR NAKs; before the poll that
			tells of their requests, or before a receive is posted */
	RN_VAL_FORK, /* in the parent, before it */
	RN_VAL_EXIT,
};

/* What an address means on its device, when a call is given it. */
struct rn_val_path {
	uint32_t mtu; /* active_mtu of the port, in bytes; 0: nothing here is known */
	union ibv_gid sgid; /* that grh.sgid_index names; all zeros: there is none */
	bool is_to_self;    /* the destination is a GID of the same device */
};

/* RN_VAL_MAKE: what the call was given. Members that do not belong to the kind are 0. */
struct rn_val_make {
	enum rn_val_kind kind;
	const void *parent[6]; /* objects that it uses; NULL: no more */
	uint32_t number;       /* QPN, lkey of an MR, device of a context */
	union {
		struct {
			uint64_t addr, iova, len;
			unsigned access; /* IBV_ACCESS_* */
			uint32_t lkey, rkey;
			bool has_memory;   /* false: no range of the program (null, DM,
					      dmabuf) */
			uint64_t may_lock; /* RLIMIT_MEMLOCK in bytes; 0: no limit */
		} mr;
		struct {
			enum ibv_qp_type type;
			struct ibv_qp_cap asked, cap;
			bool sq_sig_all;
			const void *send_cq, *recv_cq, *srq;
		} qp;
		struct {
			uint32_t asked, size; /* entries */
			const void *channel;  /* or NULL */
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
		} mw;
	};
};

struct rn_val_modify {
	const struct ibv_qp_attr *attr;
	int mask;
	struct rn_val_path path; /* after the call, of an address that @mask names */
};

/* A work request of either queue. */
struct rn_val_request {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode; /* not of receives */
	unsigned flags;		   /* IBV_SEND_* */
	uint32_t sge_count;
	const struct ibv_sge *sge;
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare_add, swap;
	uint32_t remote_qpn, qkey; /* UD */
	const void *ah;		   /* UD */
	uint32_t imm;
	struct ibv_sge data; /* room for the one entry of data that were copied */
};

struct rn_val_post {
	uint32_t count;
	const struct rn_val_request *request;
	bool is_extended;  /* by ibv_wr_complete() */
	uint32_t accepted; /* after the call: number of requests that the device has taken
			    */
};

/* RN_VAL_COMPLETION. */
struct rn_val_completion {
	const struct ibv_wc *wc;
	struct rn_val_object *qp; /* that it is of, or NULL */
	bool is_recv;
	/* The request that completes, as the layer remembers it until the event is over;
	 * or NULL.
	 */
	const struct rn_val_wr *wr;
};

struct rn_val_poll {
	int asked, got;		 /* entries; @got may be negative */
	const struct ibv_wc *wc; /* the entries; their events come first */
	bool is_extended;	 /* by ibv_start_poll() */
};

/* RN_VAL_RNR: RNR NAKs of a QP since its last reset. */
struct rn_val_rnr {
	uint32_t received, sent;
	uint64_t received_ago, sent_ago; /* of the newest ones, in nanoseconds */
	/* What the newest one that was received has said: how many messages the peer had
	 * carried out, and the code of its RNR timer.
	 */
	uint32_t msn;
	uint8_t timer;
	/* Requests that waited when it came, and the first of them. */
	uint32_t waiting;
	uint64_t wr_id;
};

struct rn_val_bind {
	const void *mw, *mr;
	uint64_t addr, len;
	unsigned access, flags;
};

struct rn_val_event {
	enum rn_val_event_kind kind;
	bool is_done;	 /* the call has returned */
	int rc;		 /* of a call that has returned: 0 or a positive errno */
	uint32_t stack;	 /* number of the stack of the call; 0: none */
	uint64_t thread; /* that calls */
	/* Name of the verb, such as "ibv_modify_qp". */
	const char *verb;
	/* What the call is about, and what the program handed in. @object is NULL if the
	 * program has no such object.
	 */
	const void *handle;
	struct rn_val_object *object;
	union {
		struct rn_val_make make;
		struct rn_val_modify modify;
		struct rn_val_post post;
		struct rn_val_completion completion;
		struct rn_val_poll poll;
		struct rn_val_bind bind;
		struct rn_val_rnr rnr;
		struct {
			int solicited_only;
			uint32_t waiting; /* entries in the CQ before the call */
		} notify;
		struct {
			const struct ibv_srq_attr *attr;
			int mask;
		} modify_srq;
		struct {
			int entries;
		} resize_cq;
		struct {
			/* Where an object of kind @of counts events of a CQ, and
			 * asynchronous ones, that were acknowledged; or NULL. To be read
			 * if the object is of that kind.
			 */
			enum rn_val_kind of;
			const uint32_t *acked, *async_acked;
		} destroy;
		struct {
			int flags;
			uint64_t addr, len;
			unsigned access;
			const void *pd;
			uint32_t lkey, rkey; /* after the call */
		} rereg;
		struct {
			enum ibv_event_type type;
		} async;
		struct {
			bool is_safe; /* the child cannot take pages from the parent */
		} fork;
	};
};

/* ----------------------------------------------------------------- findings */
struct rn_val_finding {
	enum rn_val_rule rule;
	uint32_t stack;	  /* of the call */
	const char *what; /* what exactly was seen */
	/* What the finding is about, and another object that has to do with it; or NULL.
	 */
	const struct rn_val_object *object, *other;
	unsigned long long count; /* occurrences so far */
};

/* Is called with the first occurrence of each finding. Returns false if it is not to be
 * shown: it is counted apart.
 */
typedef bool rn_val_sink(void *arg, const struct rn_val_finding *f);

/* ---------------------------------------------------------------- the layer */
/* @severities: those that are reported, one bit each. Returns NULL without memory. */
struct rn_val *rn_val_new(unsigned severities, rn_val_sink *sink, void *arg);
void rn_val_free(struct rn_val *v);

/* Sets a function that says whether the program has memory at all addresses of a range.
 * Without one all ranges count as there.
 */
typedef bool rn_val_probe(uint64_t addr, uint64_t len);
void rn_val_set_probe(struct rn_val *v, rn_val_probe *is_mapped);

/* Sets a function that says whether a child of fork() gets copies of pages of a range,
 * which it does of private memory, unless madvise(MADV_DONTFORK) was called. Without one
 * all ranges are copied.
 */
void rn_val_set_fork_probe(struct rn_val *v, rn_val_probe *is_copied);

/* What other processes on this host have, as far as they tell. */
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
	uint32_t process;    /* that has it */
	uint32_t number;     /* QPN, or rkey */
	uint32_t device, pd; /* numbers of its context and of its PD */
	bool has_windows;    /* the process has memory windows */
	union {
		struct {
			enum ibv_qp_type type;
			enum ibv_qp_state state;
			int mask; /* attributes that were ever set */
			struct ibv_qp_attr attr;
			/* Receives that were ever posted, as far as it was told. */
			uint64_t receives;
			bool has_srq;
			uint32_t gid_count; /* addresses of the device */
			union ibv_gid gid[RN_VAL_END_GIDS];
		} qp;
		struct {
			uint64_t iova, len;
			unsigned access;
			bool has_memory;
		} mr;
	};
};

/* Functions that find an end. If there is no such MR, @found->process and .has_windows
 * are set, provided that the process tells what it has.
 */
struct rn_val_ends {
	bool (*find_qp)(const union ibv_gid *gid, uint32_t qpn, struct rn_val_end *found);
	bool (*find_mr)(uint32_t process, uint32_t device, uint32_t rkey,
			struct rn_val_end *found);
};

/* Without this, only QPs of this process are known. @ends: stays with the caller. */
void rn_val_set_ends(struct rn_val *v, const struct rn_val_ends *ends);

/* Returns the living object of that address, else the one that was there last, else NULL.
 */
struct rn_val_object *rn_val_lookup(const struct rn_val *v, const void *handle);

/* Takes an event. e->handle is set; e->object is filled in. */
void rn_val_event(struct rn_val *v, struct rn_val_event *e);

/* Numbers of different findings and of their occurrences: of those that the sink has
 * shown, and of those that it has not.
 */
struct rn_val_totals {
	unsigned long long findings, occurrences;
	unsigned long long suppressed, suppressed_occurrences;
};
struct rn_val_totals rn_val_totals(const struct rn_val *v);

#endif /* RN_VALIDATE_H */
