/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* call.h - the hook by which a recorder is told of calls into the core (the transport),
 * and the structs that describe such a call.
 *
 * A recorder (sim/replay) is called when a call that can change what the core does
 * begins, and when it ends. Without a recorder, this costs each function two branches
 * that are never taken. Calls that only query the core are not reported.
 */
#ifndef RN_CALL_H
#define RN_CALL_H

#include "rocin/cqe.h"
#include "rocin/dev_cfg.h"
#include "rocin/mem.h"
#include "rocin/mr.h"
#include "rocin/queue_pair.h"
#include "rocin/raw_packet.h"
#include "rocin/rx_tx.h"
#include "rocin/srq.h"

/* Functions of the core that are reported. Recordings contain these numbers. */
enum rn_call_kind {
	/* this call is reported to rn_call_hook.attach(), not to begin() */
	RN_CALL_DEV_INIT = 1,
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
	rn_iova ring;	   /* argument of rn_cq_init() and rn_cq_move() */
	uint32_t capacity; /* argument of rn_cq_init() and rn_cq_move() */
	enum rn_cq_arm arm;
	uint32_t count; /* argument of rn_cq_moderate() */
	rn_ns period;	/* argument of rn_cq_moderate() */
};

struct rn_call_pace {
	uint32_t kbps, burst;
};

/* The arguments of a reported call that change what the called function does; arguments
 * that do not are left out. Members are named as the function's parameters.
 */
union rn_call_args {
	/* DEV_INIT: set by the recorder, as attach() has no struct rn_call */
	const struct rn_dev_cfg *cfg;
	struct rn_call_gid set_gid;
	struct {
		const struct rn_rx *pkts;
		unsigned count; /* number of packets, which begin() may reduce */
	} receive;
	struct { /* arguments of rn_dev_transmit() and rn_dev_transmit_frame() */
		uint8_t *buf;
		size_t cap;
		struct rn_tx *tx;
		uint32_t *flags;
		unsigned what;
	} transmit;
	struct rn_call_peer_holds peer_holds;
	struct {
		uint64_t tag; /* tag of the access, which begin() may replace */
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
	const struct rn_mr *mr;
	const struct rn_srq_init *srq;
	uint32_t number; /* new limit of an SRQ, or its new max_wr */
	struct {
		struct rn_qp *qp;
		const struct rn_gid *mgid;
	} mcast;
	const struct rn_rx_frame *frame;
};

/* A call into the core, as the recorder gets it. */
struct rn_call {
	enum rn_call_kind kind;
	struct rn_dev *dev; /* NULL in rn_cq_init(), rn_cq_move() and rn_cq_arm() */
	/* The object that the call is about: a CQ, QP, SRQ, region or multicast group.
	 * For a call that creates the object, this is the memory block that the caller
	 * has supplied for it.
	 */
	void *object;
	rn_ns now;
	int64_t result; /* return value of the function, if that is a number */
	union rn_call_args u;
};

/* Functions of the recorder; NULL if there is no recorder. */
struct rn_call_hook {
	/* Called when a device is initialised with @cfg. The recorder may replace the
	 * memory back end in @cfg. Returns the pointer that is passed to begin() and
	 * end() as @hook, or NULL if the calls of this device are not to be reported.
	 */
	void *(*attach)(struct rn_dev_cfg *cfg);
	/* begin() is called before each call into the core, and end() after it. begin()
	 * returns @call or a replacement for it. The core function uses what begin() has
	 * returned, and the same is passed to end().
	 */
	struct rn_call *(*begin)(void *hook, struct rn_call *call);
	void (*end)(void *hook, const struct rn_call *call);
	/* Called after rn_cq_init(), rn_cq_move() and rn_cq_arm(), which have no device
	 * as argument.
	 */
	void (*cq_call)(const struct rn_call *call);
	/* Called when a CQ seems to be full: its ring has a CQE in every entry that the
	 * program has not polled. Returns true if the CQ was really full. In a replay no
	 * program polls CQEs, so there the recording decides.
	 */
	bool (*cq_full)(void *hook, const struct rn_cq *cq);
};

extern struct rn_call_hook rn_call_hook;

#endif /* RN_CALL_H */
