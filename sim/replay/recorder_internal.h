/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder_internal.h - inside of the recorder.
 *
 *   recorder_file.c     the file
 *   recorder_mem.c      memory as the core reaches it, with every access recorded
 *   recorder_dev.c      calls about a device
 *   recorder_objects.c  calls about queue pairs, regions, completion and receive queues
 */
#ifndef RN_RECORDER_INTERNAL_H
#define RN_RECORDER_INTERNAL_H

#include "recorder.h"
#include "rocin/mem.h"

struct rn_dev_cfg;
struct rn_rx;

/* A read or atomic that answered PENDING. The tag that the memory was given is @number:
 * those of the core are not unique.
 */
struct rn_rec_pending {
	uint32_t number;
	uint64_t tag; /* of the core */
	void *dst;    /* NULL: its QP is gone */
	uint32_t len;
};

/* A device that is recorded; guarded as the device itself is. */
struct rn_rec_dev {
	struct rn_dev *dev;
	uint8_t number;
	struct rn_mem_ops ops; /* in place of ... */
	const struct rn_mem_ops *mem;
	void *mem_ctx;
	void (*before_ack)(void *mem_ctx, uint32_t qpn);
	const uint64_t *overruns; /* counter of the device */
	uint64_t overruns_seen;

	/* During a call: the packet that is built, the packets that came. */
	const uint8_t *buf;
	size_t cap;
	const struct rn_rx *rx;
	uint32_t rx_count;

	/* enum rn_tx_what: of these there was nothing the last time, and no call since.
	 */
	unsigned drained;
	uint64_t lone_calls; /* how many there were then */

	struct rn_rec_pending *pending;
	uint32_t pending_count, pending_room, last_number;
};

/* The record of @dev, or NULL: it is not recorded. */
struct rn_rec_dev *rn_rec_find(const struct rn_dev *dev);

/* Put a call of @d; the outcome is put by rn_rec_end(). */
void rn_rec_begin(struct rn_rec_dev *d, struct rn_rec *rec);
void rn_rec_end(struct rn_rec_dev *d, struct rn_rec *rec);
void rn_rec_done(struct rn_rec_dev *d); /* nothing came out */
void rn_rec_result(struct rn_rec_dev *d, int result);

/* Put a lone call, after it was made. */
void rn_rec_lone(struct rn_rec *rec);

static inline uint64_t rn_rec_id(const void *object)
{
	return (uintptr_t)object;
}

void rn_rec_dev_after_fork(void);

/* ------------------------------------------------------------ recorder_mem.c */
void rn_rec_mem_init(struct rn_rec_dev *d, struct rn_dev_cfg *cfg);
/* Take an access that has ended; false: none that is known. */
bool rn_rec_mem_take(struct rn_rec_dev *d, uint64_t number, struct rn_rec_pending *p);
/* The block of a QP goes. */
void rn_rec_mem_forget(struct rn_rec_dev *d, uint32_t qpn);

/* -------------------------------------------------------- recorder_objects.c */
/* Put a note for every CQ of @d that was found full since the last time. */
void rn_rec_note_overruns(const struct rn_rec_dev *d);
void rn_rec_objects_after_fork(void);

/* The functions that stand in for those of the core, and the way to these. */
#define RN_REC_WRAP(type, name, ...)     \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

#endif /* RN_RECORDER_INTERNAL_H */
