/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hook.h - shows as records what devices are asked, and what they do, while they do it.
 *
 * The hook in the core (rocin/call.h) stands before every device of the program, and its
 * functions between the device and its memory. Where the records go is a sink: the file
 * of a recording (recorder.c), or the player, which compares them with those of a file
 * (player.c). So both see the same.
 *
 * Threads: calls of one device are serialised by its caller. Lone calls (RN_REC_LONE) may
 * come from other threads meanwhile, and use nothing of struct rn_hook_dev that changes.
 */
#ifndef RN_REPLAY_HOOK_H
#define RN_REPLAY_HOOK_H

#include "recording.h"

/* A read or atomic access whose result was PENDING. The memory got @number as its tag,
 * since the tags of the core are not unique.
 */
struct rn_hook_pending {
	uint32_t number;
	uint32_t len;
	uint64_t tag; /* tag of the core */
	void *dst;    /* destination; NULL: its QP was destroyed */
};

/* A device whose calls are shown. */
struct rn_hook_dev {
	struct rn_hook_sink *sink;
	uint8_t number;	       /* of the device; set by rn_hook_sink.open() */
	struct rn_mem_ops ops; /* functions that show accesses; they replace @mem */
	const struct rn_mem_ops *mem;
	void *mem_ctx;
	void (*before_ack)(void *mem_ctx, uint32_t qpn);
	uint64_t *stats;	    /* counters of the device */
	const struct rn_call *call; /* call that is being made; NULL: none */
	/* Bits of enum rn_tx_what for which there was no packet the last time, if there
	 * was no other call since.
	 */
	unsigned drained;
	struct rn_hook_pending *pending;
	uint32_t pending_count, pending_room, last_number;
};

struct rn_hook_sink {
	/* A device begins: sets its number. 0; -ENOENT: its calls are not wanted; or the
	 * error for which its records are lost.
	 */
	int (*open)(struct rn_hook_sink *s, struct rn_hook_dev *d);
	/* A device ends, and its number is free. */
	void (*close)(struct rn_hook_sink *s, struct rn_hook_dev *d);
	/* Takes a record. False: it is lost. */
	bool (*put)(struct rn_hook_sink *s, const struct rn_rec *rec);
	/* NULL, or answers in place of the memory: @rec is the access so far, and @bytes
	 * what a READ, an ATOMIC or a MEM_DONE fills. An OVERRUN is DONE if the CQ was
	 * full that seems so now.
	 */
	enum rn_mem_result (*answer)(struct rn_hook_sink *s, const struct rn_rec *rec,
				     void *bytes);
	/* Returns the number by which records name an object of the core. */
	uint64_t (*id)(const void *object);
};

/* Shows everything to @to from now on; NULL: nothing. Return: the sink until now. */
struct rn_hook_sink *rn_hook_set(struct rn_hook_sink *to);

/* Frees what is kept for a device that has ended, or never will. */
void rn_hook_free(struct rn_hook_dev *d);

#endif /* RN_REPLAY_HOOK_H */
