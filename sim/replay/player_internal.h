/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player_internal.h - the player, as player.c and play_call.c share it. */
#ifndef RN_PLAYER_INTERNAL_H
#define RN_PLAYER_INTERNAL_H

#include "hook.h"
#include "player.h"
#include "rocin/gid.h"
#include "rocin/stats.h"
#include "rocin/transport.h"

enum {
	CHAINS = 4096, /* of objects by their addresses */
};

/* An object that the recorded program had at address @id. */
struct object {
	struct object *next;
	uint64_t id;
	enum rn_rec_object kind;
	/* device of the object; a CQ has none (NULL) until it is used */
	struct device *dev;
	/* number of objects that use this one and must be destroyed first */
	unsigned users;
	struct object *uses[RN_REC_USES];
	void *ring; /* SRQ: memory of its ring */
	enum rn_qp_type type;
	bool is_xrc;		    /* SRQ: belongs to an XRC domain */
	_Alignas(64) uint8_t mem[]; /* the object of the core */
};

struct device {
	struct player *p;
	struct rn_dev *dev;
	/* state of the hook; NULL: the device is not initialised, or has ended */
	struct rn_hook_dev *shown;
	uint8_t number;
	struct rn_dev_cfg cfg; /* as in the recording, except for @ops and @stats */
	struct rn_mem_ops ops;
	uint64_t stats[RN_STAT_COUNT];
	/* number of the device's objects, without CQs that are not used */
	unsigned objects;
	rn_ns now;
	/* arrays of the lookup tables that have grown; NULL: not grown */
	void **bucket[RN_CALL_TABLE_SRQ + 1];
};

struct player {
	struct rn_hook_sink sink; /* must be the first member */
	const uint8_t *data;
	uint64_t len;
	const struct rn_replay_cfg *cfg;
	struct rn_replay_result *r;
	bool stop;	 /* the replay is over; the reason is in r->end */
	uint64_t memory; /* bytes that rn_play_alloc() has given and that are in use */
	struct device *dev[RN_REC_DEVS];
	/* For each device, and at RN_REC_NO_DEV for lone calls: offset in the file behind
	 * the last record that was compared.
	 */
	uint64_t cursor[RN_REC_NO_DEV + 1];
	struct object *chain[CHAINS];

	/* Members about the call that is being made: */
	struct rn_rec rec;
	struct rn_rec_room rec_room;
	struct device *d; /* NULL: the record names no device */
	struct object *o; /* object that the call uses or creates; or NULL */
	struct object *uses[RN_REC_USES]; /* existing objects that a new object uses */
	/* QP_CREATE: attributes of the QP; its CQs and SRQ are those in @uses */
	struct rn_qp_init qp;

	struct rn_rec expected; /* recorded action that the core should perform next */
	struct rn_rec_room expected_room;
	struct rn_rec outcome; /* recorded outcome of the call, if a read has needed it */
	struct rn_rec_room outcome_room;
	uint8_t bytes[RN_REC_MAX];    /* buffer for the record of an action of the core */
	uint8_t packet[RN_FRAME_MAX]; /* buffer for a packet or frame */
};

/* ------------------------------------------------------------------- player.c */
/* The file is broken: stops the player. Returns false. */
bool rn_play_broken(struct player *p, const char *why);
/* Allocates zeroed memory. Returns NULL, and stops the player, if there is none, or if
 * the file makes the player use more than a limit.
 */
void *rn_play_alloc(struct player *p, size_t bytes);
void rn_play_free(struct player *p, void *block);

/* ---------------------------------------------------------------- play_call.c */
/* Makes the call of p->rec. Returns false if that ends the replay. */
bool rn_play_call(struct player *p);
/* Returns the address that an object of the core had in the recorded program. */
uint64_t rn_play_id_of(const void *object);
void rn_play_forget_objects(struct player *p);

#endif /* RN_PLAYER_INTERNAL_H */
