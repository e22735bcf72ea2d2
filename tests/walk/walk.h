/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* walk.h - a random walk over verbs: many threads do anything, in any order.
 *
 * All threads share one table of objects. Who uses an object pins it; who destroys or
 * rebuilds one needs it alone, with its parents pinned, so that the table knows exactly
 * which objects hang on which: a verb that destroys must answer EBUSY if and only if
 * there are any. Each work request has a record of its own for ever, so a completion that
 * comes twice, out of order, after the death of its QP or from nowhere is seen. Memory
 * lies in blocks that are compared with a pattern wherever nobody had the right to write.
 *
 * Threads: a struct walker belongs to one thread; everything else is shared.
 */
#ifndef RN_WALK_H
#define RN_WALK_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_LEN = 8192,
	SLOTS = 16, /* objects of a kind */
	PARENTS = 5,
	WRS = 1 << 19, /* work requests of one seed */
	QUEUE_WR = 32, /* of each queue at most */
	SGES = 4,
	QKEY = 0x11111111,
	GROUPS = 4,
};

enum kind {
	CTX,
	CHANNEL,
	TD,
	PD, /* and parent domains */
	XRCD,
	CQ,
	DM,
	MR,
	MW,
	AH,
	SRQ,
	QP,
	WQ,
	TABLE, /* of receive work queues */
	KINDS
};

enum life {
	FREE,
	ALONE, /* one thread builds or destroys it */
	LIVE
};

struct object {
	enum kind kind;
	enum life life;
	unsigned pins, children; /* all three and parent: world.lock */
	struct object *parent[PARENTS];
	struct ibv_context *ctx;
	struct object *domain; /* PD that counts for protection; set while alone */
	union {
		struct ibv_context *context;
		struct ibv_comp_channel *channel;
		struct ibv_pd *pd;
		struct ibv_cq *cq;
		struct ibv_mr *mr;
		struct ibv_ah *ah;
		struct ibv_qp *qp;
		struct ibv_td *td;
		struct ibv_xrcd *xrcd;
		struct ibv_dm *dm;
		struct ibv_mw *mw;
		struct ibv_srq *srq;
		struct ibv_wq *wq;
		struct ibv_rwq_ind_table *table;
	};
	/* MR: where it begins for the device; what of its block may have been
	 * written, [from, to) */
	uint64_t va;
	uint8_t *block;
	uint32_t from, to;
	int access;
	bool on_dm;
	atomic_bool maybe_bound; /* to a window */
	atomic_uint rkey;	 /* MW */
	enum ibv_mw_type mw_type;
	bool multicast; /* AH */
	/* CQ */
	bool extended;
	atomic_int cqe;
	pthread_mutex_t poll_lock; /* poll and look up what came, as one step */
	atomic_int waiting;	   /* completions that may still come */
	atomic_bool may_overflow;
	/* QP, SRQ, WQ; the lock guards the rest but epoch */
	pthread_mutex_t post_lock;
	enum ibv_qp_type type;
	bool sq_sig_all;
	uint32_t max_inline, max_sge[2];
	uint32_t posted[2], completed[2]; /* send, receive; completed: CQ's poll_lock */
	atomic_uint qpn;
	atomic_uint epoch; /* of the WRs that may complete; grows at reset and destroy */
	struct object *send_cq, *recv_cq; /* NULL: it has none */
	struct object *of_srq;
	uint32_t groups; /* bit i: is a member of group i */
	atomic_uint srqn;
	bool is_xrc;
	struct object *peer_pd; /* where its requests go, or NULL */
};

enum fate {
	NOT_POSTED,
	POSTING,
	COMPLETED,
	REFUSED
};

/* One work request, identified by its index; wr_id is wr_id_of(index). */
struct wr {
	atomic_int fate;
	struct object *qp; /* or SRQ, or WQ */
	uint32_t epoch, sequence;
	uint32_t len; /* bytes it asks for */
	enum ibv_wr_opcode opcode;
	bool recv, signaled;
};

struct world {
	uint64_t seed;
	pthread_mutex_t lock;
	struct object object[KINDS][SLOTS];
	struct wr *wr;
	atomic_uint wrs;
	uint8_t *quiet; /* BLOCK_LEN that is never registered for writing */
	union ibv_gid gid;
	struct ibv_device_attr attr;
	bool ack_placed; /* what was written is there when the completion is */
};
extern struct world world;

struct walker {
	uint64_t rng;
	unsigned idx;
	pthread_t thread;
	uint8_t scratch[BLOCK_LEN]; /* for what the CPU reads while it posts */
	uint64_t steps, refused, completions, successes;
	const char *doing;
};

/* End the program with one sentence and the command that repeats the walk. */
_Noreturn void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define MUST(cond)                                                                       \
	do {                                                                             \
		if (!(cond))                                                             \
			wrong("%s:%d: not so: %s (errno %d)", __FILE__, __LINE__, #cond, \
			      errno);                                                    \
	} while (0)

/* The result of a verb must be one of these; ends with 0 or -1, which are no
 * errnos. may(what, 0, EINVAL, 0, -1): success or EINVAL.
 */
void may(const char *what, int result, const int *allowed);
#define MAY(what, result, ...) may(what, result, (const int[]){ __VA_ARGS__, -1 })

/* ------------------------------------------------------------------------- main.c */
uint64_t draw(struct walker *w);
static inline uint32_t below(struct walker *w, uint32_t n)
{
	return (uint32_t)(draw(w) >> 16) % n;
}
static inline bool chance(struct walker *w, uint32_t percent)
{
	return below(w, 100) < percent;
}

/* ------------------------------------------------------------------------ slots.c */
/* A random object of this kind, pinned; of this context if that is not NULL. Or NULL. */
struct object *pin(struct walker *w, enum kind kind, const struct ibv_context *ctx);
/* A random object of this kind in this PD, pinned; or NULL. */
struct object *pin_in(struct walker *w, enum kind kind, const struct object *pd);
void unpin(struct object *o);
/* A free slot for an object of @ctx, alone. NULL: all are taken. */
struct object *begin(enum kind kind, struct ibv_context *ctx);
/* It is made: its parents (pinned by the caller until now) have a child more.
 */
void made(struct object *o, struct object *const parent[PARENTS]);
void not_made(struct object *o);
/* A random object alone, its parents pinned; NULL: nobody has one to spare. */
struct object *take(struct walker *w, enum kind kind);
/* Back: @gone says that it was destroyed. */
void give_back(struct object *o, bool gone);

/* ---------------------------------------------------------------------- objects.c */
typedef void step_fn(struct walker *w);
step_fn make_context, make_channel, make_pd, make_cq, make_mr, make_ah;
step_fn kill_context, kill_channel, kill_pd, kill_cq, kill_mr, kill_ah;
step_fn resize_cq, rereg_mr;
/* Destroy what is taken; the answer must be what the table says. */
void destroy(struct object *o);
void kill_one(struct walker *w, enum kind kind);
/* Compare a block with its pattern outside [from, to). */
void check_block(const uint8_t *block, uint32_t from, uint32_t to, const char *what);
void fill_block(uint8_t *block);

/* ---------------------------------------------------------------------- domains.c */
step_fn make_td, make_parent, make_xrcd, make_dm, make_mw, kill_td, kill_xrcd, kill_dm,
	kill_mw;
step_fn use_dm;

/* -------------------------------------------------------------------------- srq.c */
step_fn make_srq, kill_srq, change_srq, post_srq_recv;

/* ------------------------------------------------------------------------ group.c */
step_fn change_group;
void leave_groups(struct object *qp);
union ibv_gid group_gid(uint32_t i);

/* --------------------------------------------------------------------------- wq.c */
step_fn make_wq, kill_wq, modify_wq, post_wq_recv, make_table, kill_table;
void destroy_wq(struct object *o);
void wq_to_error(struct object *o);

/* --------------------------------------------------------------------------- qp.c */
step_fn make_qp, kill_qp, connect_qps, modify_at_random, query_qp;
void destroy_qp(struct object *o);
void to_error(struct object *qp);
/* Completions of WRs posted up to now come no more. post_lock held, or alone. A
 * poll that runs may have them still; who comes after it must not.
 */
void bury_wrs(struct object *o);

/* ---------------------------------------------------------------------- traffic.c */
step_fn post_send, post_recv, bind_window;
/* A record for a WR of a QP or SRQ; false: the seed's are used up. post_lock held. */
bool new_wr(struct object *qp, uint32_t *index, bool recv);
/* It is written; who sees its completion reads it. */
void posting(uint32_t index);
void refused(uint32_t index);
/* A buffer to send from or receive into, mostly right. Regions stay pinned in
 * @mr. */
uint32_t draw_sges(struct walker *w, const struct object *qp, bool recv, uint32_t max,
		   struct ibv_sge *sge, int *num, struct object **mr);
void unpin_all(struct object *const *mr, int num);
/* Post up to @most receives to a QP, SRQ or WQ. */
typedef int post_recv_fn(struct object *o, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad);
void post_recvs(struct walker *w, struct object *o, unsigned most, post_recv_fn *post);

/* --------------------------------------------------------------------- complete.c */
step_fn poll_cq, take_events, arm_cq;
void poll_once(struct walker *w, struct object *cq);
void read_async_events(struct ibv_context *ctx);
static inline uint64_t wr_id_of(uint32_t index)
{
	return 0x5eed000000000000u | index;
}

/* ----------------------------------------------------------------------- misuse.c */
step_fn misuse;

#endif /* RN_WALK_H */
