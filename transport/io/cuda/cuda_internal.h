/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_internal.h - what the files of this folder share.
 *
 * cuda_driver.c	the functions of the driver
 * cuda_wake.c	NICs that wait for the driver
 * cuda_region.c	regions and their aliases, contexts and what each of them has
 * cuda_copy.c	copies to and from one region, in the order of its context's stream
 * cuda_ahead.c	reads of a message before they are asked for
 * cuda_nic.c	the operations of a device, and results that come later
 *
 * Except where it says so, the functions here need the lock (rn_cuda_lock()).
 */
#ifndef RN_CUDA_INTERNAL_H
#define RN_CUDA_INTERNAL_H

#include <stdatomic.h>

#include "cuda.h"
#include "cuda_driver.h"

enum {
	RN_CUDA_ADDRESS_BITS = 48,
	RN_CUDA_REGIONS_MAX = 1 << 15,
	/* Bytes of pinned memory for writes of a context. All of them are on their way at
	 * most; then a write waits. At 25 GB/s, the speed of PCIe 4.0, that takes 170 us.
	 */
	RN_CUDA_STAGE = 4 << 20,
	/* Bytes at which a copy leaves although the next write would continue it, so that
	 * the GPU is not idle during a long message.
	 */
	RN_CUDA_RUN_MAX = 256 << 10,
	/* Bytes that one read can have. The longest payload of a packet has 9216. */
	RN_CUDA_READ_MAX = 16 << 10,
	/* Reads of a context that may be under way; the next one waits for its bytes. A
	 * queue pair has at most two, one as requester and one as responder.
	 */
	RN_CUDA_READS = 255,
	/* Bytes that are read at first for a message, of which nothing tells how long it
	 * is, and at once when it goes on behind those. A copy from an H100 takes some 8
	 * us, whatever its length, and 1 us more for each 20 KiB. Where processes share a
	 * GPU in turns of 2 ms, the start of a copy may wait for a turn.
	 */
	RN_CUDA_FIRST = 64 << 10,
	RN_CUDA_PIECE = 256 << 10,
	/* Reads of fewer bytes are the end of a message, or all of it. */
	RN_CUDA_AHEAD_MIN = 256,
	RN_CUDA_AHEADS = 16, /* messages of a context that are read ahead */
};

/* Bytes of a message that were read before they were asked for. */
struct rn_cuda_piece {
	rn_cu_ptr at;
	uint32_t len;		   /* 0: nothing was read */
	struct rn_cu_event *event; /* recorded behind the copy */
	uint8_t *bytes;		   /* pinned memory of RN_CUDA_PIECE bytes */
	bool is_there;		   /* the copy has ended */
	unsigned users;		   /* reads under way that wait for it */
};

/* A message that is read ahead. Bytes are for reads of this message alone, which may be
 * made at any time after the message was posted or asked for: what a later message reads
 * must not be older than it.
 */
struct rn_cuda_ahead {
	const struct rn_cuda_nic *nic;
	const struct rn_cuda_region *region; /* NULL: not in use */
	uint64_t tag;			     /* tells QP and direction */
	uint32_t msg;  /* number of the message, in that direction */
	uint64_t used; /* when, counted in reads */
	struct rn_cuda_piece piece[2];
};

/* A read that is reported later. */
struct rn_cuda_read {
	/* next in one of the lists: unused ones, those under way, those that have ended
	 */
	struct rn_cuda_read *next;
	struct rn_cuda_lane *lane;
	struct rn_cuda_nic *nic;
	struct rn_cu_event *event; /* recorded behind the copy */
	uint8_t *bytes;		   /* pinned memory into which the GPU copies */
	void *dst;
	uint32_t len;
	uint64_t tag;
	/* The piece that it waits for, and the place in that; NULL: it has a copy of its
	 * own.
	 */
	struct rn_cuda_piece *piece;
	uint32_t offset;
	enum rn_mem_result result;
};

/* What one CUDA context has for its memory. A lane is never freed, since the driver may
 * call back at any time.
 */
struct rn_cuda_lane {
	struct rn_cuda_lane *next;
	struct rn_cu_context *ctx;
	/* Copies are made in @stream. In @notices the driver calls back when a copy has
	 * ended; copies need not wait for these calls then.
	 */
	struct rn_cu_stream *stream, *notices;
	/* Pinned memory: RN_CUDA_STAGE bytes for writes, then a block for a read that is
	 * waited for, then those of struct rn_cuda_read.
	 */
	uint8_t *pinned;
	/* What the driver says of @pinned while the context lives. */
	struct rn_cu_context *owner;
	uint32_t staged; /* bytes of the write area that are in use */
	/* Writes that continue each other and have not been sent on their way: their
	 * address in the GPU, their place in @pinned and their length.
	 */
	struct {
		struct rn_cuda_region *region;
		rn_cu_ptr dst;
		uint32_t from, len;
	} run;
	bool is_unsettled; /* writes may be on their way */
	/* The context was destroyed, or one of its functions has failed: all accesses
	 * fail from now on.
	 */
	bool is_dead;
	atomic_bool is_noticed; /* the driver will call back */
	struct rn_cuda_read *unused;
	struct rn_cuda_read *first, **last; /* reads under way, the oldest first */
	struct rn_cuda_read reads[RN_CUDA_READS];
	uint64_t ahead_count;
	struct rn_cuda_ahead aheads[RN_CUDA_AHEADS];
};

/* A registered range. */
struct rn_cuda_region {
	struct rn_cuda_lane *lane; /* NULL: this number is not in use */
	rn_cu_ptr start;
	uint64_t len;
	unsigned device; /* ordinal of the GPU */
	/* Number of the allocation; 0: there is none, as for memory that is mapped from
	 * several allocations.
	 */
	uint64_t buffer;
	/* The memory was found freed, or a copy has failed; it is not accessed any more.
	 */
	bool is_gone;
};

struct rn_cuda_nic {
	struct rn_cuda_nic *next;
	void (*wake)(void *arg);
	void *arg;
	struct rn_cuda_read *ended, **ended_tail;
	/* reads that were answered PENDING and have not been handed out; read without the
	 * lock
	 */
	_Atomic unsigned pending;
	/* True: the NIC has written since it settled. True: writes may be waiting for
	 * others to join them. Guarded by the lock of the device.
	 */
	bool has_written, has_run;
	struct rn_cuda_lane *wrote; /* the lane of the last write */
};

/* ------------------------------------------------------------------ cuda_region.c */
void rn_cuda_lock(void);
void rn_cuda_unlock(void);

/* All lanes. */
struct rn_cuda_lane *rn_cuda_lanes(void);

/* Returns the region of this alias, or NULL. */
struct rn_cuda_region *rn_cuda_region_of(rn_iova alias);

/* Finds the region of @len bytes at @alias, and the address in the GPU. Return: NULL if
 * there is no such region, or its memory is not there any more.
 */
struct rn_cuda_region *rn_cuda_find(rn_iova alias, uint32_t len, rn_cu_ptr *addr);

/* Is the memory at @addr still the one that was registered? */
bool rn_cuda_is_there(struct rn_cuda_region *region, rn_cu_ptr addr);

/* Returns true if @result, that of a copy by the function @what, is success. Otherwise
 * the region is not accessed any more, and the log says why.
 */
bool rn_cuda_is_copied(struct rn_cuda_region *region, const char *what, int result);

/* Makes the context of the lane current for this thread, and lets it call the driver
 * although the program may capture a stream. @mode: out, for rn_cuda_leave(). Return:
 * false if the lane is dead; nothing is to be left then.
 */
bool rn_cuda_enter(struct rn_cuda_lane *lane, int *mode);
void rn_cuda_leave(int mode);

/* Returns true if @result is success. Otherwise logs that @what has failed, and marks the
 * lane as dead.
 */
bool rn_cuda_is_fine(struct rn_cuda_lane *lane, const char *what, int result);

/* -------------------------------------------------------------------- cuda_copy.c */
enum rn_mem_result rn_cuda_write_in(rn_iova alias, const void *src, uint32_t len,
				    struct rn_cuda_lane **lane);
enum rn_mem_result rn_cuda_read_in(void *dst, rn_iova alias, uint32_t len);
/* Begins a read for @nic. Return: PENDING, or as rn_cuda_read_in(). */
enum rn_mem_result rn_cuda_read_begin(struct rn_cuda_nic *nic, void *dst, rn_iova alias,
				      uint32_t len, uint64_t tag);

/* Asks for a copy of @piece->len bytes at @piece->at, behind all earlier writes. */
bool rn_cuda_fetch_piece(struct rn_cuda_region *region, struct rn_cuda_piece *piece);

/* Reads @len bytes at @offset of a piece. Return: DONE, FAULT, or PENDING unless @nic is
 * NULL.
 */
enum rn_mem_result rn_cuda_read_piece(struct rn_cuda_lane *lane, struct rn_cuda_nic *nic,
				      struct rn_cuda_piece *piece, uint32_t offset,
				      void *dst, uint32_t len, uint64_t tag);

/* Sends the writes on their way that wait for others to join them. */
void rn_cuda_submit(struct rn_cuda_lane *lane);

/* Waits until all copies have ended that were asked for. */
void rn_cuda_settle_lane(struct rn_cuda_lane *lane);

/* Moves the reads that have ended to the lists of their NICs; has the driver call back
 * for those that have not. @nic: the NIC that looks itself and need not be woken.
 */
void rn_cuda_harvest(struct rn_cuda_lane *lane, const struct rn_cuda_nic *nic);

/* ------------------------------------------------------------------- cuda_ahead.c */
/* A read of a device. */
struct rn_cuda_request {
	struct rn_cuda_nic *nic;
	bool waits; /* the answer must not be PENDING */
	void *dst;
	rn_iova src;
	uint32_t len, msg;
	uint64_t tag;
};

/* Performs a read, and reads more of its message ahead. Return: as rn_mem_ops.read(). */
enum rn_mem_result rn_cuda_read_ahead(const struct rn_cuda_request *r);

/* Forgets what was read ahead for the NIC, and, if @region is not NULL, of that region
 * for any NIC. No read of it may be under way.
 */
void rn_cuda_forget_ahead(const struct rn_cuda_nic *nic,
			  const struct rn_cuda_region *region);

/* -------------------------------------------------------------------- cuda_wake.c */
/* These functions need no lock. */

/* Adds a NIC to those that are woken, or removes it. */
void rn_cuda_wake_add(struct rn_cuda_nic *nic);
void rn_cuda_wake_remove(struct rn_cuda_nic *nic);

/* Wakes the NICs that wait for reads. The driver calls it, in a thread of its own; @arg
 * is a struct rn_cuda_lane.
 */
void rn_cuda_notice(void *arg);

#endif /* RN_CUDA_INTERNAL_H */
