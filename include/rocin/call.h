/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* call.h - calls into the core as data, and who is shown them.
 *
 * A recorder (sim/replay) is shown every call that can change what the core does, when it
 * begins and when it ends. Without one, a function pays for this with a branch at either
 * end that is never taken. Calls that only look at the core are shown to nobody.
 */
#ifndef RN_CALL_H
#define RN_CALL_H

#include "rocin/cqe.h"
#include "rocin/dev_cfg.h"
#include "rocin/event.h"
#include "rocin/mcast.h"
#include "rocin/mem.h"
#include "rocin/mr.h"
#include "rocin/qp_attr.h"
#include "rocin/queue_pair.h"
#include "rocin/raw_packet.h"
#include "rocin/rx_tx.h"
#include "rocin/srq.h"

/* The numbers stand in recordings. */
enum rn_call_kind {
	RN_CALL_DEV_INIT = 1, /* shown by rn_call_hook.attach */
	RN_CALL_DEV_FINI,
	RN_CALL_SET_GID,
	RN_CALL_RECEIVE,
	RN_CALL_TRANSMIT,
	RN_CALL_EXPIRE,
	RN_CALL_PEER_HOLDS,
	RN_CALL_MEM_DONE,
	RN_CALL_DEV_ERROR,
	RN_CALL_TAKE_EVENT,
	RN_CALL_GROW,
	RN_CALL_CQ_INIT,
	RN_CALL_CQ_MOVE,
	RN_CALL_CQ_ARM,
	RN_CALL_CQ_MODERATE,
	RN_CALL_CQ_FINI,
	RN_CALL_QP_CREATE,
	RN_CALL_QP_MODIFY,
	RN_CALL_QP_PACE,
	RN_CALL_QP_DESTROY,
	RN_CALL_QP_FAIL,
	RN_CALL_QP_OVERRUN,
	RN_CALL_POST_SEND,
	RN_CALL_POST_RECV,
	RN_CALL_ADD_MR,
	RN_CALL_REMOVE_MR,
	RN_CALL_SRQ_CREATE,
	RN_CALL_SRQ_POST_RECV,
	RN_CALL_SRQ_SET_LIMIT,
	RN_CALL_SRQ_RESIZE,
	RN_CALL_SRQ_DESTROY,
	RN_CALL_MCAST_ATTACH,
	RN_CALL_MCAST_DETACH,
	RN_CALL_TRANSMIT_FRAME,
	RN_CALL_RECEIVE_FRAME,
	RN_CALL_KINDS
};

enum rn_call_table {
	RN_CALL_TABLE_QP,
	RN_CALL_TABLE_MR,
	RN_CALL_TABLE_SRQ,
};

struct rn_call_gid {
	uint32_t index;
	struct rn_gid gid;
};

struct rn_call_peer_holds {
	struct rn_gid gid;
	uint32_t slot;
	uint64_t taken;
};

struct rn_call_grow {
	enum rn_call_table table;
	uint32_t count;
};

struct rn_call_cq {
	rn_iova ring;	   /* INIT, MOVE */
	uint32_t capacity; /* INIT, MOVE */
	enum rn_cq_arm arm;
	uint32_t count; /* MODERATE */
	rn_ns period;	/* MODERATE */
};

struct rn_call_pace {
	uint32_t kbps, burst;
};

/* The arguments of one call, named as those of the function, that make a difference. */
struct rn_call {
	enum rn_call_kind kind;
	struct rn_dev *dev; /* NULL: rn_cq_init(), rn_cq_move(), rn_cq_arm() */
	void *object; /* CQ, QP, SRQ, region or group; the block of one that is made */
	rn_ns now;
	int64_t result; /* what the function has returned, if that is a number */
	union {
		struct rn_call_gid set_gid;
		struct {
			const struct rn_rx *pkts;
			unsigned count; /* begin() may make it smaller */
		} receive;
		struct { /* also of a frame */
			uint8_t *buf;
			size_t cap;
			struct rn_tx *tx;
			uint32_t *flags;
			unsigned what;
		} transmit;
		struct rn_call_peer_holds peer_holds;
		struct {
			uint64_t tag; /* begin() may put another in its place */
			enum rn_mem_result result;
		} mem_done;
		struct rn_event *event;
		struct rn_call_grow grow;
		struct rn_call_cq cq;
		const struct rn_qp_init *qp;
		struct {
			const struct rn_qp_attr *attr;
			uint32_t mask;
		} modify;
		struct rn_call_pace pace;
		uint32_t of_send_cq;
		const struct rn_send_wr *send;
		const struct rn_recv_wr *recv;
		const struct rn_srq_init *srq;
		uint32_t number; /* limit or max_wr of an SRQ */
		struct {
			struct rn_qp *qp;
			const struct rn_gid *mgid;
		} mcast;
		const struct rn_rx_frame *frame;
	} u;
};

/* Who is shown calls; NULL: nobody. */
struct rn_call_hook {
	/* A device begins with @cfg, in which memory may be replaced. Return: what call()
	 * is given, or NULL: the calls of this device are not shown.
	 */
	void *(*attach)(struct rn_dev_cfg *cfg);
	/* Before and after a call; begin() returns @call. */
	struct rn_call *(*begin)(void *hook, struct rn_call *call);
	void (*end)(void *hook, const struct rn_call *call);
	/* After a call about a CQ that says no device. */
	void (*cq_call)(const struct rn_call *call);
};

extern struct rn_call_hook rn_call_hook;

#endif /* RN_CALL_H */
