/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player_internal.h - declarations that the files of the player share.
 *
 *	player.c	replays record by record, and compares
 *	player_calls.c	makes the calls, on objects of the file
 *	player_mem.c	answers accesses to memory as recorded
 */
#ifndef RN_PLAYER_INTERNAL_H
#define RN_PLAYER_INTERNAL_H

#include "player.h"
#include "rocin/cqe.h"
#include "rocin/mem.h"
#include "rocin/queue_pair.h"
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

/* An object that the recorded program had at address @id. */
struct rn_player_object {
	struct rn_player_object *next, *next_cq;
	uint64_t id;
	enum rn_player_kind kind;
	struct rn_player_dev *dev; /* its device; of a CQ: NULL until it is used */
	unsigned users;		   /* objects that use it and must be destroyed first */
	size_t bytes;		   /* bytes of this struct and @block */
	void *block;		   /* memory of a QP, or ring of an SRQ */
	union {
		struct rn_cq cq;
		struct rn_qp *qp;
		struct rn_mr mr;
		struct rn_mcast mcast;
	};
	struct rn_srq *srq;
	enum rn_qp_type type;
	uint32_t qpn;
	/* objects that it uses: CQs and SRQ of a QP, CQ of an SRQ, or QP of a membership
	 */
	struct rn_player_object *uses[3];
	bool is_xrc; /* an SRQ of an XRC domain */
	/* Of a CQ: it was full in the call that is being made, after it had taken @room
	 * more CQEs.
	 */
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
	unsigned objects; /* number of objects, except CQs that are not used */
	struct rn_player_pending *pending;
	rn_ns now;
	void **bucket[3]; /* tables that have grown, by enum rn_call_table; or NULL */

	/* The call that is being made: */
	uint64_t cursor;     /* offset in the file of the next access of the core */
	bool has_outcome;    /* false: the file ends before the outcome */
	struct rn_rec *came; /* recorded outcome */
	const struct rn_call *call; /* the call; NULL: none is being made */
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
	bool stop; /* the replay is over; the reason is in r->end */
	uint64_t memory;
	struct rn_player_dev *dev[RN_REC_DEVS];
	/* offset in the file from which the next call of a device may begin */
	uint64_t next[RN_REC_DEVS];
	struct rn_player_object *chain[RN_PLAYER_CHAINS];
	struct rn_player_object *cqs;
	struct rn_rec rec, outcome, expected;
	uint8_t packet[RN_FRAME_MAX]; /* buffer for a packet or frame */
	struct rn_tx tx;
	uint32_t flags; /* flags of the frame */
	struct rn_event event;
};

/* ---------------------------------------------------------------- player.c */
/* Stops the player, as the file is broken. @why: error text without the place.
 * Returns false.
 */
bool rn_player_broken(struct rn_player *p, const char *why);
bool rn_player_no_memory(struct rn_player *p);
/* Allocates memory, zeroed and 64-byte aligned. NULL: no memory, and the player stops. */
void *rn_player_alloc(struct rn_player *p, size_t bytes);
void rn_player_free(struct rn_player *p, void *block, size_t bytes);

/* Compares the outcome of a call with the recorded one. */
void rn_player_outcome(struct rn_player_dev *d, struct rn_rec *is);

/* Reads the next recorded access of the call into p->expected; NULL: there are no more.
 */
struct rn_rec *rn_player_next(struct rn_player_dev *d);

/* Stops the player if two records are not equal. */
void rn_player_compare(struct rn_player *p, const struct rn_rec *was,
		       const struct rn_rec *is);

/* ---------------------------------------------------------- player_calls.c */
/* Adds the device of RN_CALL_DEV_INIT, before the call is made. */
bool rn_player_add_dev(struct rn_player *p, const struct rn_rec *rec);

/* Makes a call; @d is NULL if the record names no device. False: the player stops. */
bool rn_player_make_call(struct rn_player *p, struct rn_player_dev *d,
			 const struct rn_rec *rec);

struct rn_player_object *rn_player_find(struct rn_player *p, enum rn_player_kind kind,
					uint64_t id);
/* Finds the CQ of @d whose ring contains @addr, or NULL. Devices may have
 * equal addresses.
 */
struct rn_player_object *rn_player_cq_at(const struct rn_player_dev *d, rn_iova addr);

void rn_player_remove_all(struct rn_player *p);

/* ------------------------------------------------------------ player_mem.c */
void rn_player_mem_init(struct rn_player_dev *d, const struct rn_rec_dev_init *init,
			struct rn_dev_cfg *cfg);
void rn_player_mem_forget(struct rn_player_dev *d, uint32_t qpn);
/* Stores the recorded result of an access that has ended where the core waits for it.
 * False: the file is broken.
 */
bool rn_player_mem_end(struct rn_player_dev *d, const struct rn_rec_mem_done *m);

#endif /* RN_PLAYER_INTERNAL_H */
