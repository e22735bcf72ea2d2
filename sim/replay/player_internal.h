/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player_internal.h - inside of the player.
 *
 *   player.c	     from record to record; begin and end of a call; what differs, in
 * words player_calls.c  calls, and the objects that they are about player_mem.c    memory
 * as the core reaches it: what was recorded
 */
#ifndef RN_PLAYER_INTERNAL_H
#define RN_PLAYER_INTERNAL_H

#include "player.h"
#include "rocin/cqe.h"
#include "rocin/event.h"
#include "rocin/mem.h"
#include "rocin/qp_types.h"
#include "rocin/rx_tx.h"
#include "rocin/stats.h"
#include "rocin/work_request.h"

struct rn_dev_cfg;

enum rn_player_kind {
	RN_PLAYER_CQ,
	RN_PLAYER_QP,
	RN_PLAYER_MR,
	RN_PLAYER_SRQ,
	RN_PLAYER_MCAST,
	RN_PLAYER_KINDS
};

struct rn_player_dev;

/* What the recorded program had at address @id. */
struct rn_player_object {
	struct rn_player_object *next, *next_cq;
	uint64_t id;
	enum rn_player_kind kind;
	struct rn_player_dev *dev; /* of a CQ: NULL until it is used */
	unsigned users;		   /* objects that must go first */
	size_t bytes;		   /* of it and @block */
	void *block;		   /* QP, or ring of an SRQ */
	union {
		struct rn_cq cq;
		struct rn_qp *qp;
		struct rn_mr mr;
		struct rn_mcast mcast;
	};
	struct rn_srq *srq;
	enum rn_qp_type type;
	uint32_t qpn;
	struct rn_player_object *uses[3]; /* CQs and SRQ, or the QP of a group */
	bool is_xrc;			  /* SRQ */
	/* CQ: it was full in the call that is made, after so many CQEs more. */
	bool fills_up;
	uint32_t room;
};

struct rn_player_pending {
	struct rn_player_pending *next;
	uint32_t number;
	uint32_t len;
	uint64_t tag;
	void *dst;
};

struct rn_player_dev {
	struct rn_player *p;
	struct rn_dev *dev;
	uint8_t number;
	struct rn_mem_ops ops;
	bool always_done;
	uint32_t gid_count;
	uint64_t stats[RN_STAT_COUNT];
	unsigned objects; /* all but CQs that are not used */
	struct rn_player_pending *pending;
	rn_ns now;
	void **bucket[3]; /* enum rn_call_table: those that have grown, or NULL */

	/* The call that is made. */
	uint64_t cursor;	    /* where to look for what the core does next */
	bool has_outcome;	    /* false: the file ends before */
	struct rn_rec *came;	    /* the recorded outcome */
	const struct rn_call *call; /* NULL: none */
	struct rn_rx rx[RN_REC_RX_MAX];
};

enum {
	RN_PLAYER_CHAINS = 4096,
};

struct rn_player {
	const uint8_t *data;
	uint64_t len;
	const struct rn_replay_cfg *cfg;
	struct rn_replay_result *r;
	bool stop; /* r->end says why */
	uint64_t memory;
	struct rn_player_dev *dev[RN_REC_DEVS];
	uint64_t next[RN_REC_DEVS]; /* where the next call of a device may begin */
	struct rn_player_object *chain[RN_PLAYER_CHAINS];
	struct rn_player_object *cqs;
	struct rn_rec rec, outcome, expected;
	uint8_t packet[RN_FRAME_MAX]; /* a packet is shorter */
	struct rn_tx tx;
	uint32_t flags; /* of a frame */
	struct rn_event event;
};

/* ---------------------------------------------------------------- player.c */
/* The file is broken: @why is a sentence without the place. Returns false. */
bool rn_player_broken(struct rn_player *p, const char *why);
bool rn_player_no_memory(struct rn_player *p);
/* Zeroed, 64-byte aligned; NULL: the player stops. */
void *rn_player_alloc(struct rn_player *p, size_t bytes);
void rn_player_free(struct rn_player *p, void *block, size_t bytes);

/* The core ended a call: compare with what was recorded. */
void rn_player_outcome(struct rn_player_dev *d, struct rn_rec *is);

/* The next access of the call, into p->expected; NULL: there is no more. */
struct rn_rec *rn_player_next(struct rn_player_dev *d);

/* Stops the player if two records are not equal. */
void rn_player_compare(struct rn_player *p, const struct rn_rec *was,
		       const struct rn_rec *is);

/* ---------------------------------------------------------- player_calls.c */
/* The device of RN_CALL_DEV_INIT, before the call is made. */
bool rn_player_add_dev(struct rn_player *p, const struct rn_rec *rec);

/* Make a call, which says no device if @d is NULL; false: the player stops. */
bool rn_player_make_call(struct rn_player *p, struct rn_player_dev *d,
			 const struct rn_rec *rec);

struct rn_player_object *rn_player_find(struct rn_player *p, enum rn_player_kind kind,
					uint64_t id);
/* The CQ of @d whose ring holds @addr, or NULL. Devices may have the same addresses. */
struct rn_player_object *rn_player_cq_at(const struct rn_player_dev *d, rn_iova addr);

void rn_player_remove_all(struct rn_player *p);

/* ------------------------------------------------------------ player_mem.c */
void rn_player_mem_init(struct rn_player_dev *d, const struct rn_rec_dev_init *init,
			struct rn_dev_cfg *cfg);
void rn_player_mem_forget(struct rn_player_dev *d, uint32_t qpn);
/* Put what an access brought where it is awaited; false: the file is broken. */
bool rn_player_mem_end(struct rn_player_dev *d, const struct rn_rec_mem_done *m);

#endif /* RN_PLAYER_INTERNAL_H */
