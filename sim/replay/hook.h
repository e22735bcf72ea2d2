/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hook.h - makes a record of each call into a device, and of each access to memory that
 * the device makes during the call.
 *
 * The core calls the hook (rocin/call.h) when a call into any device of the program
 * begins and when it ends. The hook also replaces the functions by which a device reaches
 * its memory. The receiver of the records is called the sink: either the file of a
 * recording (recorder.c), or the player, which compares the records with those of a file
 * (player.c). Both get their records from this hook, so these are the same for the same
 * run.
 *
 * Threads: calls of one device are serialised by its caller. "Lone" calls (RN_REC_LONE)
 * need not be serialised and may come from other threads at the same time. The hook then
 * uses only members of struct rn_hook_dev that do not change.
 */
#ifndef RN_REPLAY_HOOK_H
#define RN_REPLAY_HOOK_H

#include "recording.h"

/* A read or atomic whose result was PENDING. The core may give several such accesses the
 * same tag, so the hook passes @number to the memory in place of the core's tag.
 */
struct rn_hook_pending {
	uint32_t number;
	uint32_t len;
	uint64_t tag; /* tag by which the core knows the access */
	void *dst;    /* destination; NULL: its QP was destroyed */
};

/* A device whose calls are recorded. */
struct rn_hook_dev {
	struct rn_hook_sink *sink;
	uint8_t number;	       /* number of the device; set by rn_hook_sink.open() */
	struct rn_mem_ops ops; /* functions that record accesses; they replace @mem */
	const struct rn_mem_ops *mem;
	void *mem_ctx;
	void (*before_ack)(void *mem_ctx, uint32_t qpn);
	uint64_t *stats;	    /* counters of the device */
	const struct rn_call *call; /* call that is being made; NULL: none */
	/* Bits of enum rn_tx_what: the kinds of packets that the last transmit calls have
	 * looked for without finding any. Cleared by any other call.
	 */
	unsigned drained;
	struct rn_hook_pending *pending;
	uint32_t pending_count, pending_room, last_number;
};

struct rn_hook_sink {
	/* The hook calls this when a device is initialised. Sets d->number and returns 0.
	 * Returns -ENOENT if the sink does not want the calls of this device, or another
	 * error; the device's calls are not recorded then.
	 */
	int (*open)(struct rn_hook_sink *s, struct rn_hook_dev *d);
	/* Called when a device ends. Its number may be used again. */
	void (*close)(struct rn_hook_sink *s, struct rn_hook_dev *d);
	/* Receives a record. Returns false if the record is lost. */
	bool (*put)(struct rn_hook_sink *s, const struct rn_rec *rec);
	/* If not NULL, this function gives the results of accesses to memory.
	 * @rec: the access, without its result. @bytes: where the function stores the
	 * bytes that a READ, an ATOMIC or a MEM_DONE returns. For an OVERRUN, the result
	 * RN_MEM_DONE means that the CQ counts as full.
	 */
	enum rn_mem_result (*answer)(struct rn_hook_sink *s, const struct rn_rec *rec,
				     void *bytes);
	/* Returns the number by which records name an object of the core. */
	uint64_t (*id)(const void *object);
};

/* Sends all records to the sink @to from now on; NULL: makes no records any more.
 * Returns the sink that was in use before.
 */
struct rn_hook_sink *rn_hook_set(struct rn_hook_sink *to);

/* Frees what the hook has allocated for a device. Called when the device was closed, or
 * when its creation has failed.
 */
void rn_hook_free(struct rn_hook_dev *d);

#endif /* RN_REPLAY_HOOK_H */
