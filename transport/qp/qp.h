/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp.h - inside of the device: what a queue pair is made of, and who calls whom.
 *
 * transport/device     what a driver calls
 *   device.c     the device: tables, packets out, timers
 *   receive.c    packets in: checks, finds the QPs, multicast groups too, and hands over
 *   raw_packet.c Ethernet frames, in both directions
 * transport/qp         one queue pair
 *   qp.c         create, destroy, error and flush
 *   modify.c     attributes and states; path migration
 *   send_queue.c work requests become WQEs, and WQEs become completions
 *   requester.c  send queue -> request packets                            (RC, UC, UD)
 *   retransmit.c ACKs, NAKs and responses coming in; timers; going back   (RC)
 *   window.c     what may be under way: the window of a peer, and of READs
 *   congestion.c pacing, congestion notifications and what they do to the rate
 *   responder.c  request packets: judged, executed, answered again        (RC, UC)
 *   response.c   ACKs, NAKs and responses going out; atomics, FLUSH       (RC)
 *   datagram.c   UD on the receiving side
 * transport/object     what queue pairs use and share
 *   cq.c         completion queues and events
 *   srq.c        shared receive queues
 *   memory.c     memory regions and windows; lists of SGEs
 *   diagnostic.c     what is said of packets to who captures them
 * transport/container  intrusive lists, timers and hash tables
 */
#ifndef RN_QP_H
#define RN_QP_H

#include <string.h>

#include "rocin/cqe.h"
#include "rocin/dev_cfg.h"
#include "rocin/event.h"
#include "rocin/icrc.h"
#include "rocin/mem.h"
#include "rocin/mr.h"
#include "rocin/opcode.h"
#include "rocin/qp_attr.h"
#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "rocin/transport.h"
#include "rocin/wire.h"
#include "rocin/wr_info.h"

#include "congestion.h"
#include "transport/container/key_table.h"
#include "transport/container/list.h"
#include "transport/container/timer.h"
#include "transport/object/wqe.h"
#include "window.h"

/* --------------------------------------------------------------- requester */
/* What one QP does about losses that show by silence. */
struct rn_probe {
	rn_ns deadline; /* RN_NEVER: not watching */
	rn_ns wait;
	rn_ns until; /* end of the watch, if it is a close one */
	/* Oldest PSN not acknowledged, and newest that was answered, when the wait began.
	 */
	struct rn_psn una, heard;
	bool is_close;	 /* for a reason, and not in case */
	bool lossy;	 /* the reason is a loss */
	bool was_silent; /* it has gone back because nothing came */
};

/* One READ, atomic, ATOMIC WRITE or FLUSH request on the wire. */
struct rn_rd_sent {
	uint32_t last_psn; /* of its responses */
	uint32_t bytes;	   /* of READ data; counted in dev->read_in_flight */
};

struct rn_requester {
	struct rn_wq sq;
	struct rn_psn next_psn; /* of the next WQE that starts */
	struct rn_psn una;	/* oldest PSN not acknowledged */
	struct rn_psn high;	/* one past the newest PSN ever sent */
	struct rn_psn heard;	/* newest PSN that a response was for; not before una */
	rn_ns heard_at;		/* when that came, or the first packet left before it */
	rn_ns heard_apart;	/* longest time between two such behind a gap */
	uint32_t cur;		/* index of the WQE whose packet leaves next */
	uint32_t cur_packet;	/* which of its packets */
	uint32_t burst;		/* bytes sent of the burst under way; see window.c */
	uint32_t since_ack_req; /* request packets since the last with AckReq */
	uint8_t retry_left, rnr_left;
	struct rn_retries charged_retries;
	bool rnr_waiting; /* an RNR timer runs: no requests leave */
	/* A gap was found and a retry charged: responses behind it tell nothing new until
	 * it is filled, however often it is asked for again.
	 */
	bool implied_nak;
	/* It has gone back because nothing came: one packet asks, and what else is sent
	 * again follows on the answer. The peer may only be slow.
	 */
	bool asks;
	/* What comes is late answers to what was sent first: nothing leaves while more
	 * of them come, for there may be no need.
	 */
	bool listens;
	bool draining;	    /* SQD: started WQEs are still to finish */
	bool drained_event; /* SQ_DRAINED was raised since SQD was entered */
	bool read_pass;	    /* read_deadline is over: ask for a chunk in any case */
	/* rn_window_holds() was asked since una moved, and the peer had read so much
	 * then.
	 */
	bool knows_taken;
	uint32_t taken;
	uint32_t sqd_limit; /* SQD: WQEs from this index on must not start */
	rn_ns ack_deadline; /* local ACK timer; RN_NEVER when it does not run */
	rn_ns rnr_deadline;
	rn_ns read_deadline; /* end of the wait for the READ window */
	struct rn_pace pace;
	struct rn_probe probe;
	/* READ and atomic requests on the wire, oldest first: a ring of which
	 * max_rd_atomic entries are used; rn_rd_at(). rd_head counts up for ever.
	 */
	uint8_t rd_head, rd_count;
	uint8_t rd_room;       /* that there is room for: 0 or a power of two */
	bool rd_begun;	       /* the oldest of them has been answered in part */
	struct rn_rd_sent *rd; /* in the QP's block, or lent; NULL: rd_room 0 */
	/* PSNs before this one were sent more than once: READ responses to either copy
	 * may come, in any mixture.
	 */
	struct rn_psn resent;
	enum rn_stat back_why; /* counts the reason of going back last */
	/* End-to-end flow control, once the peer has advertised credits. Sequence
	 * numbers of messages, 24 bits.
	 */
	bool credit_limited, credit_off; /* off: the peer said it has none, for good */
	uint32_t ssn;			 /* of the message started last */
	uint32_t lsn;			 /* of the last that the peer has a receive for */
	uint32_t in_flight;		 /* bytes of this QP counted in peer->in_flight */
	uint32_t grant;	       /* bytes that it may send, as it has waited for its turn */
	uint32_t grant_cuts;   /* the grant is valid while peer->cuts is this */
	struct rn_psn charged; /* packets before this PSN are counted in in_flight */
	/* Gathering when the memory answers PENDING: payload of one packet. */
	struct {
		uint8_t *buf; /* RN_MTU_MAX bytes, NULL if mem->always_done */
		bool waiting, ready, fault;
		struct rn_psn psn;    /* of the packet that it belongs to */
		uint32_t outstanding; /* reads not answered */
	} stage;
};

/* --------------------------------------------------------------- responder */
enum {
	RN_RESOURCE_KIND_MASK = 7
};

enum rn_atomic_phase {
	RN_ATOMIC_WAITING, /* for an earlier one of this QP to end */
	RN_ATOMIC_RUNNING, /* the memory answered PENDING */
	RN_ATOMIC_DONE,	   /* value holds what was found */
};

/* One READ, atomic, ATOMIC WRITE or FLUSH request, kept after it was answered so that a
 * duplicate can be. */
struct rn_resource {
	uint8_t kind : 3;	   /* enum rn_op_kind; all but READs one at a time */
	uint8_t atomic_op : 1;	   /* enum rn_mem_atomic */
	uint8_t phase : 2;	   /* enum rn_atomic_phase; not of a READ */
	bool answered : 1;	   /* every response has left once */
	bool due : 1;		   /* responses from next on are still to leave */
	uint8_t srqn[3];	   /* XRC_RECV: SRQ that the request named, big-endian */
	struct rn_psn first, last; /* PSNs of the responses */
	struct rn_psn next;	   /* of the response that leaves next; valid if due */
	uint32_t msn;		   /* this request included */
	uint32_t rkey;
	uint64_t va;
	union {
		struct {
			uint32_t length; /* bytes; READ, FLUSH */
			union {
				/* READ: what is being sent: the whole, or what a
				 * duplicate asked for.
				 */
				struct {
					struct rn_psn first;
					uint32_t length; /* bytes */
				} window;
				struct rn_feth flush;
			};
		};
		struct {
			/* Operand, once DONE the value found, host order; ATOMIC WRITE:
			 * the bytes.
			 */
			uint64_t value;
			uint64_t compare;
		} atomic;
	};
};

static_assert(sizeof(struct rn_resource) == 48,
	      "a QP has up to RN_RD_ATOMIC_MAX of them");

enum rn_message {
	RN_MSG_NONE,
	RN_MSG_SEND,
	RN_MSG_WRITE,
};

struct rn_responder {
	struct rn_wq rq;
	struct rn_srq *taken_from; /* of the WQE at rq.head; NULL: the QP's own */

	struct rn_psn exp_psn;
	uint32_t msn;		 /* messages completed, 24 bits */
	enum rn_message message; /* in progress */
	bool nak_pending;  /* SEQ or RNR NAK sent; no other NAK until exp_psn comes */
	bool recv_taken;   /* the WQE at rq.head belongs to the message in progress */
	bool comm_est;	   /* the event was raised */
	bool cq_lost;	   /* XRC_RECV: a CQE of this QP found no room */
	bool told_none;	   /* the ACK sent last advertised no credits */
	uint32_t received; /* bytes of the message in progress */
	/* WRITE in progress. */
	uint64_t write_va;
	uint32_t write_rkey, write_total;
	/* Acknowledgement waiting to leave; on dev->acks exactly while it may. */
	bool ack_due;
	uint8_t ack_syndrome; /* what kind: ACK, RNR NAK or NAK */
	struct rn_psn ack_psn;
	uint32_t ack_msn;
	struct rn_psn gap_psn; /* newest PSN dropped since a SEQ or RNR NAK became due */
	/* READ and atomic requests, in the order of their PSNs: a ring of which
	 * max_dest_rd_atomic entries are used; rn_res_at(). The indices count up for
	 * ever.
	 */
	uint8_t res_head;	 /* oldest kept */
	uint8_t res_cur;	 /* first that is due; res_tail if none is */
	uint8_t res_tail;	 /* next free */
	uint8_t res_room;	 /* that there is room for: 0 or a power of two */
	struct rn_resource *res; /* in the QP's block, or lent; NULL: res_room 0 */
	/* The atomic under way; survives RESET, since its answer still comes. */
	struct {
		bool running;
		uint8_t index;	/* which resource it belongs to */
		uint64_t value; /* where the memory puts what it found */
	} atomic;
	/* Payload of one READ response, if the memory answers PENDING; survives RESET. */
	struct {
		uint8_t *buf; /* RN_MTU_MAX bytes, NULL if mem->always_done */
		bool waiting, ready, fault;
		struct rn_psn psn; /* of the response that it belongs to */
		uint32_t len;	   /* bytes; RN_STAGE_STALE: of no response any more */
	} stage;
};

#define RN_STAGE_STALE UINT32_MAX

static_assert((RN_RD_ATOMIC_MAX & (RN_RD_ATOMIC_MAX - 1)) == 0 && RN_RD_ATOMIC_MAX <= 128,
	      "indices of the rings of 8 bits wrap at 256");

/* ------------------------------------------------------------------ the QP */
/* Automatic path migration. Besides attr.alt and attr.mig_state. */
struct rn_apm {
	bool loaded;  /* attr.alt was set since the QP last migrated */
	bool refused; /* PATH_MIG_ERR was raised since the QP was armed */
};

struct rn_qp {
	struct rn_hnode node; /* key: QPN */
	struct rn_dev *dev;
	enum rn_qp_type type;
	enum rn_qp_state state;
	uint32_t qpn, pd, max_inline;
	bool sq_sig_all;
	/* NULL: no such queue. */
	struct rn_cq *send_cq, *recv_cq;
	struct rn_srq *srq; /* that it was made with, or NULL */
	uint32_t xrcd;	    /* XRC_RECV: number of its XRC domain */

	struct rn_qp_attr attr; /* as last set */
	/* Connected: src our address, dst the peer's. UD: of the packet built last. */
	struct rn_flow flow;
	struct rn_apm apm;

	struct rn_requester req;
	struct rn_responder rsp;
	struct rn_cc *cc; /* NULL: the device has no congestion control */

	struct rn_timer timer; /* earliest of the requester's deadlines; may fire early */
	struct rn_list work_link; /* in dev->work: has requests or responses to build;
				   * raw packet: in dev->frames
				   */
	struct rn_list ack_link;  /* in dev->acks: has an acknowledgement waiting */
	struct rn_peer *peer;	  /* RC in RTR and later; NULL otherwise */
	struct rn_peer own_peer;  /* storage lent to the table, see struct rn_peer */
	struct rn_list peer_link, busy_link, window_link;
	uint32_t cuts_seen;	  /* peer->cuts when the burst in flight began */
	rn_ns burst_at;		  /* when it began; RN_NEVER once it was acknowledged */
	struct rn_list read_link; /* in dev->read_waiting */
	uint32_t mcast_count;	  /* UD: groups that it is in */
	uint32_t burst; /* packets built since the QP came to the front of dev->work */

	struct rn_mr *windows; /* of type 2 that this QP has bound */

	uint8_t why; /* enum rn_syndrome found last, for statuses that have several */
	uint32_t async_pending; /* bits 1 << enum rn_async_event */
	struct rn_list event_link;
	struct rn_stats_qp *stats;
	void *owner;
};

/* A socket somewhere, which numbers its packets for itself. */
struct rn_sender {
	uint16_t tag; /* of its address and port; 0: this is none */
	struct rn_icrc_hint hint;
};

enum {
	RN_SENDERS = 256,
	RN_SENDER_WAYS = 4,
	RN_MCAST_CHAINS = 64,
};

struct rn_dev {
	struct rn_dev_cfg cfg;
	struct rn_htab qps, mrs, srqs;
	struct rn_hnode *qp_bucket0[16], *mr_bucket0[16], *srq_bucket0[16];
	struct rn_hnode *peer_bucket[256]; /* chains of struct rn_peer, see window.c */
	struct rn_hnode *mcasts[RN_MCAST_CHAINS]; /* of struct rn_mcast, see receive.c */
	struct rn_timer_heap timers;		  /* of QPs */
	struct rn_timer_heap watches;		  /* of struct rn_peer */
	struct rn_list work, acks;		  /* QPs, see struct rn_qp */
	struct rn_list frames;	   /* raw packet QPs with frames to build */
	struct rn_list cnps;	   /* struct rn_cc with a notification to send */
	struct rn_dcqcn_params cc; /* if cfg.cc */
	struct rn_cq *cq_events;   /* singly linked through next_event, oldest first */
	struct rn_cq **cq_events_tail;
	struct rn_list qp_events, srq_events;
	struct rn_cq *held_cqs; /* singly linked through next_held, any order */
	bool unmoderated;	/* the device is dead: nobody serves the timers */
	struct rn_qp *last_qp;	/* of the packet received last */
	uint32_t requests;	/* packets that were requests */
	uint32_t received;	/* receives that were completed */
	bool cq_failed; /* a CQ lost a CQE: its QPs go to ERR before the call returns */
	rn_diagnostic_fn *diagnostic; /* or NULL */
	void *diagnostic_ctx;
	const struct rn_rx *arriving; /* within rn_dev_receive(); else NULL */
	uint32_t read_in_flight;      /* READ response bytes asked for, all QPs */
	struct rn_list read_waiting;  /* QPs stopped by the window: window.c */
	struct rn_qp *read_turn;      /* dequeued from there, not yet retried; or NULL */
	struct rn_flow silent;	      /* rn_dev_silent() */
	bool has_silent;
	struct rn_sender sender[RN_SENDERS]; /* in sets of RN_SENDER_WAYS */
	unsigned sender_turn;		     /* who of a set goes next */
};

/* -------------------------------------------------------- counting, scheduling */
/* A counter that says what is thought of the packet that arrives; diagnostic.c. */
void rn_diagnostic_counted(struct rn_dev *dev, enum rn_stat stat);

static inline void rn_count(struct rn_dev *dev, enum rn_stat stat)
{
	/* Relaxed store: another process reads the page while we write it. */
	__atomic_store_n(&dev->cfg.stats[stat], dev->cfg.stats[stat] + 1,
			 __ATOMIC_RELAXED);
	if (stat > RN_STAT_TX_SENDS && dev->diagnostic)
		rn_diagnostic_counted(dev, stat);
}

static inline void rn_count_n(struct rn_dev *dev, enum rn_stat stat, uint64_t n)
{
	__atomic_store_n(&dev->cfg.stats[stat], dev->cfg.stats[stat] + n,
			 __ATOMIC_RELAXED);
}

/* The QP has requests or responses to build: put it at the end of dev->work unless it is
 * there already. Harmless if it turns out to have nothing.
 */
static inline void rn_dev_schedule(struct rn_dev *dev, struct rn_qp *qp)
{
	if (rn_list_is_linked(&qp->work_link))
		return;
	qp->burst = 0;
	rn_list_push_back(qp->type == RN_QPT_RAW_PACKET ? &dev->frames : &dev->work,
			  &qp->work_link);
}

/* The QP has an acknowledgement waiting (rsp.ack_due). */
static inline void rn_dev_schedule_ack(struct rn_dev *dev, struct rn_qp *qp)
{
	if (!rn_list_is_linked(&qp->ack_link))
		rn_list_push_back(&dev->acks, &qp->ack_link);
}

static inline rn_ns rn_earlier(rn_ns a, rn_ns b)
{
	return a < b ? a : b;
}

/* Re-arm qp->timer for the earliest of the deadlines of qp->req. A timer
 * that is set earlier than needed is left alone: it fires, finds nothing due, re-arms.
 */
static inline void rn_dev_arm_timer(struct rn_dev *dev, struct rn_qp *qp)
{
	const struct rn_requester *req = &qp->req;
	rn_ns at = rn_earlier(rn_earlier(req->ack_deadline, req->rnr_deadline),
			      rn_earlier(req->read_deadline, req->probe.deadline));

	at = rn_earlier(at, req->pace.deadline);
	if (at == RN_NEVER)
		rn_timer_remove(&dev->timers, &qp->timer);
	else if (!rn_timer_is_armed(&qp->timer) || at < qp->timer.deadline)
		rn_timer_rearm(&dev->timers, &qp->timer, at);
}

/* A parsed packet on its way to a QP. */
struct rn_packet {
	struct rn_bth bth;
	const struct rn_opcode_info *op;
	const struct rn_flow *flow;
	const uint8_t *ext; /* first byte after the BTH; op->hdr_len was checked */
	const uint8_t *payload;
	uint32_t payload_len; /* bytes, pad and ICRC removed */
	uint32_t wire_len;    /* bytes from BTH to ICRC */
};

/* A packet being built. The builder writes at buf and returns the length. */
struct rn_build {
	uint8_t *buf;
	size_t cap;
	struct rn_tx *tx;
	struct rn_crc32_part *part; /* of the payload; NULL: nobody wants to know */
};

/* --------------------------------------------------------------------- cq.c */
/* Add a CQE (ctl's lap is filled in here) and fire the CQ if it is armed for it. A full
 * ring: the CQE is lost, CQ_ERR is raised, and every QP of the CQ goes to ERR with
 * QP_FATAL; not here, but before the call into the device returns, so that the state of
 * a QP never changes under the caller of this function.
 */
struct rn_completion {
	uint64_t wr_id;
	enum rn_wc_status status;
	enum rn_wc_opcode opcode;
	uint16_t flags; /* enum rn_wc_flag */
	bool solicited;
	uint32_t byte_len, imm, src_qpn, sgid_index;
	uint8_t sl;
};
void rn_cq_push(struct rn_dev *dev, struct rn_cq *cq, struct rn_qp *qp, rn_ns now,
		const struct rn_completion *c);

rn_ns rn_cq_held_deadline(const struct rn_dev *dev); /* RN_NEVER: none is held back */
void rn_cq_fire_due(struct rn_dev *dev, rn_ns now);

void rn_event_raise(struct rn_qp *qp, enum rn_async_event event);
void rn_event_raise_srq(struct rn_srq *srq); /* SRQ_LIMIT_REACHED */
void rn_event_raise_cq(struct rn_dev *dev, struct rn_cq *cq, bool error);
void rn_event_forget_qp(struct rn_qp *qp);

/* --------------------------------------------------------------------- qp.c */
/* To ERR: timers stop, every WQE not completed is flushed in order, nothing leaves. The
 * CQE of the WQE at fault was pushed before. Does nothing in ERR.
 */
void rn_qp_error(struct rn_qp *qp, rn_ns now);
/* UC, UD: the send queue to SQE; its WQEs are flushed, receiving goes on. */
void rn_qp_sq_error(struct rn_qp *qp, rn_ns now);
void rn_qp_reset(struct rn_qp *qp); /* to RESET, without CQEs */
void rn_qp_fail_overrun(struct rn_dev *dev, rn_ns now);

/* At the end of every step that may have pushed a CQE: see rn_cq_push(). */
static inline void rn_dev_settle(struct rn_dev *dev, rn_ns now)
{
	if (dev->cq_failed)
		rn_qp_fail_overrun(dev, now);
}

/* Keep the record of the QP up to date; other processes read it. */
static inline void rn_qp_publish(struct rn_qp *qp)
{
	struct rn_stats_qp *s = qp->stats;

	if (!s)
		return;
	__atomic_store_n(&s->state, (uint8_t)qp->state, __ATOMIC_RELAXED);
	__atomic_store_n(&s->sq_depth, rn_wq_count(&qp->req.sq), __ATOMIC_RELAXED);
	__atomic_store_n(&s->rq_depth, rn_wq_count(&qp->rsp.rq), __ATOMIC_RELAXED);
}

#define RN_MSN_MASK 0xffffffu

/* MSN that the message in progress will have. */
static inline uint32_t rn_rsp_next_msn(const struct rn_qp *qp)
{
	return (qp->rsp.msn + 1) & RN_MSN_MASK;
}

static inline bool rn_gid_is(const struct rn_gid *a, const struct rn_gid *b)
{
	return memcmp(a->raw, b->raw, sizeof(a->raw)) == 0;
}

/* A packet that came by @in travelled the way of @out, in the other direction. */
static inline bool rn_flow_is_back(const struct rn_flow *in, const struct rn_flow *out)
{
	return rn_gid_is(&in->src, &out->dst) && rn_gid_is(&in->dst, &out->src) &&
	       (!rn_gid_is_link_local(&in->src) || in->ifindex == out->ifindex);
}

/* What M is in the packets of @qp. */
static inline bool rn_apm_is_migrated(const struct rn_qp *qp)
{
	return qp->attr.mig_state == RN_MIG_MIGRATED;
}

/* Acknowledged, sent again, READs and atomics: RC and both halves of XRC. */
static inline bool rn_qp_is_reliable(const struct rn_qp *qp)
{
	return qp->type == RN_QPT_RC || qp->type == RN_QPT_XRC_SEND ||
	       qp->type == RN_QPT_XRC_RECV;
}

static inline bool rn_qp_is_xrc(const struct rn_qp *qp)
{
	return qp->type == RN_QPT_XRC_SEND || qp->type == RN_QPT_XRC_RECV;
}

/* SGEs (or inline bytes) of a send WQE, behind the atomic or UD part. */
static inline void *rn_wqe_sge(const struct rn_qp *qp, struct rn_send_wqe *wqe)
{
	uint8_t *p = (uint8_t *)(wqe + 1);

	if (qp->type == RN_QPT_UD)
		return p + RN_WQE_UD_PART;
	if (rn_wr_info[wqe->opcode].answer == RN_ANSWER_ATOMIC)
		return p + RN_WQE_ATOMIC_PART;
	return p;
}

/* Complete the receive WQE at rq.head with @c (wr_id is filled in) and free it. */
void rn_qp_complete_recv(struct rn_qp *qp, rn_ns now, struct rn_completion *c);
/* The same with an error. */
void rn_qp_fail_recv(struct rn_qp *qp, rn_ns now, enum rn_wc_status status);
/* A receive of an SRQ does not wait in vain for a message that fits: it completes, and
 * the QP lives on (IBTA Vol 1, 9.9.3, class E). UC and UD.
 */
void rn_qp_recv_too_short(struct rn_qp *qp, rn_ns now);
/* Fill src (from the GID table) and dst of a flow from an address vector. False if the
 * source GID is unused.
 */
bool rn_qp_flow(const struct rn_dev *dev, const struct rn_av *av, struct rn_flow *flow);

/* ----------------------------------------------------------------- modify.c */
/**
 * rn_qp_modify_check() - Is this change of state legal with these attributes?
 * @type:	Type of the queue pair
 * @from:	State it is in
 * @to:		State asked for; @from if the call does not contain RN_ATTR_STATE
 * @attrs:	RN_ATTR_* bits that the call contains
 *
 * Judges which attributes are given, not their values: whether RN_ATTR_CUR_STATE names
 * the present state, and whether a draining queue may be modified, is the caller's.
 *
 * Return: 0; -EINVAL if there is no such transition (or type, or state), an attribute
 *	   that it requires is missing, or one is given that is neither required, optional
 *	   nor RN_ATTR_STATE.
 * IBTA Vol 1, QP state transitions; the sets are those of Linux (ib_modify_qp_is_ok), but
 * for RN_ATTR_RATE_LIMIT.
 */
int rn_qp_modify_check(enum rn_qp_type type, enum rn_qp_state from, enum rn_qp_state to,
		       uint32_t attrs);

/* A packet that came by another path than the QP's: is it a request to migrate to the
 * alternate path?
 */
bool rn_apm_takes(struct rn_qp *qp, const struct rn_packet *p);
/* A packet passed all checks of its headers; it is looked at before anything else is
 * done about it.
 */
void rn_apm_received(struct rn_qp *qp, const struct rn_packet *p);
/* No retry is left. True: the QP has migrated and has as many as at the start. */
bool rn_apm_escape(struct rn_qp *qp);

/* ------------------------------------------------- requester.c, send_queue.c */
/* Build the next request of the QP. Returns bytes, 0 if none may leave now. */
uint32_t rn_req_build(struct rn_qp *qp, rn_ns now, struct rn_build *b);
void rn_req_reset(struct rn_qp *qp);		/* RESET: forget everything */
void rn_req_rts(struct rn_qp *qp, rn_ns now);	/* sq_psn etc. became valid */
void rn_req_sqd(struct rn_qp *qp, rn_ns now);	/* RTS -> SQD: drain what has started */
void rn_req_flush(struct rn_qp *qp, rn_ns now); /* complete all of SQ with flush errors */
void rn_req_mem_done(struct rn_qp *qp, rn_ns now, enum rn_mem_result result);
bool rn_req_idle(const struct rn_qp *qp);

/* ------------------------------------------------------------- retransmit.c */
/* RC: an ACK, NAK, READ or atomic response arrived; QP state and path were checked. */
void rn_req_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
void rn_req_expire(struct rn_qp *qp, rn_ns now); /* act on deadlines that have passed */

/* -------------------------------------------------- responder.c, response.c */
void rn_rsp_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
void rn_uc_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
/* Build the next READ or atomic response; 0 if there is none. */
uint32_t rn_rsp_build(struct rn_qp *qp, rn_ns now, struct rn_build *b);
/* Build the waiting acknowledgement; 0 if none, or if READ/atomic responses that it must
 * not overtake have not left.
 */
uint32_t rn_rsp_build_ack(struct rn_qp *qp, rn_ns now, struct rn_build *b);
void rn_rsp_reset(struct rn_qp *qp);
void rn_rsp_rtr(struct rn_qp *qp);		/* rq_psn etc. became valid */
void rn_rsp_flush(struct rn_qp *qp, rn_ns now); /* complete all of RQ with flush errors */
void rn_rsp_mem_done(struct rn_qp *qp, rn_ns now, uint64_t tag,
		     enum rn_mem_result result);
bool rn_rsp_work_due(const struct rn_qp *qp); /* READ/atomic responses can be built */

/* --------------------------------------------------------------- datagram.c */
void rn_ud_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);

#endif /* RN_QP_H */
