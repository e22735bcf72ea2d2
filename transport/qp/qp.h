/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp.h - the structs of a queue pair and of the device, and the functions between files.
 *
 * transport/device     what a driver calls
 *   device.c     the device: tables, packets out, timers
 *   receive.c    packets in: checks them and finds their QPs; multicast groups
 *   raw_packet.c Ethernet frames, in both directions
 * transport/qp         one queue pair
 *   qp.c         create, destroy, error and flush
 *   modify.c     attributes and states; path migration
 *   send_queue.c work requests become WQEs, and WQEs become completions
 *   requester.c  send queue -> request packets                            (RC, UC, UD)
 *   retransmit.c ACKs, NAKs and responses coming in; timers; going back   (RC)
 *   window.c     how much may be in flight: the peer window and the READ window
 *   congestion.c pacing; congestion notifications and the rate
 *   responder.c  request packets: checked, executed, answered again       (RC, UC)
 *   response.c   ACKs, NAKs and responses going out; atomics, FLUSH       (RC)
 *   datagram.c   UD on the receiving side
 * transport/object     what queue pairs use and share
 *   cq.c         completion queues and events
 *   srq.c        shared receive queues
 *   memory.c     memory regions and windows; lists of SGEs
 *   diagnostic.c what the device thinks of a packet, told to captures
 * transport/container  intrusive lists, timers and hash tables
 */
#ifndef RN_QP_H
#define RN_QP_H

#include <string.h>

#include "rocin/call.h"
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
/* How one QP notices lost packets of which no NAK tells: it goes back after a time
 * without progress. See retransmit.c.
 */
struct rn_probe {
	rn_ns deadline; /* RN_NEVER: the QP is not being watched */
	rn_ns wait;
	rn_ns until; /* end of a close watch */
	/* req.una and req.heard as they were when the wait began: the QP makes progress
	 * if one of them has moved since.
	 */
	struct rn_psn una, heard;
	bool is_close;	 /* close watch (short waits, for a reason), or distant */
	bool lossy;	 /* the reason for the close watch is a lost packet */
	bool was_silent; /* the QP went back because nothing came from the peer */
};

/* One READ, atomic, ATOMIC WRITE or FLUSH request that has been sent and not
 * been answered completely.
 */
struct rn_rd_sent {
	uint32_t last_psn; /* PSN of the last response */
	/* Payload of a READ's responses; counted in dev->read_in_flight. */
	uint32_t bytes;
};

struct rn_requester {
	struct rn_wq sq;
	struct rn_psn next_psn; /* first PSN of the next WQE that starts */
	struct rn_psn una;	/* oldest PSN not acknowledged */
	struct rn_psn high;	/* one past the newest PSN ever sent */
	/* Newest PSN that the peer has answered, behind a gap too; not before una. */
	struct rn_psn heard;
	rn_ns heard_at;	     /* when `heard` or una moved last */
	rn_ns heard_apart;   /* longest time between two answers that came behind a gap */
	uint32_t cur;	     /* index in sq of the WQE whose packet leaves next */
	uint32_t cur_packet; /* number of that packet within its WQE, from 0 */
	uint32_t burst;	     /* bytes already sent of the present burst; see window.c */
	/* Request packets since the last one with the AckReq bit. */
	uint32_t since_ack_req;
	uint8_t retry_left, rnr_left;
	struct rn_retries charged_retries;
	bool rnr_waiting; /* an RNR timer runs: no requests leave */
	/* A later response has proved that one is missing, and a retry was spent on
	 * going back. Until the missing response comes, further responses behind the gap
	 * do not count as new losses.
	 */
	bool implied_nak;
	/* The QP went back because nothing came from the peer, which may only
	 * be slow. So it sends one packet again, and the rest only when the
	 * answer shows that it was lost.
	 */
	bool sends_one;
	/* Late answers to the first copies of the packets are coming in: nothing is sent
	 * again while that goes on, since it may not be needed.
	 */
	bool awaits_late;
	bool draining;	    /* SQD: requests of started WQEs are still to finish */
	bool drained_event; /* SQ_DRAINED was raised since the QP entered SQD */
	/* read_deadline has passed: send a READ request even if the READ
	 * window is full.
	 */
	bool read_pass;
	/* Set by rn_window_holds() and cleared when una moves: `taken` is then what
	 * peer->taken was when the QP last asked.
	 */
	bool knows_taken;
	uint32_t taken;
	uint32_t sqd_limit; /* SQD: WQEs from this index of sq on must not start */
	rn_ns ack_deadline; /* end of the local ACK timer; RN_NEVER: it does not run */
	rn_ns rnr_deadline;
	rn_ns read_deadline; /* end of the wait for room in the READ window */
	struct rn_pace pace;
	struct rn_probe probe;
	/* READ, atomic, ATOMIC WRITE and FLUSH requests on the wire, oldest
	 * first: a ring of which max_rd_atomic entries are used; see
	 * rn_rd_at(). rd_head only counts up.
	 */
	uint8_t rd_head, rd_count;
	uint8_t rd_room; /* entries that `rd` has: 0 or a power of two */
	bool rd_begun;	 /* the oldest request has been answered in part */
	/* In the QP's block, or lent by the driver; NULL if rd_room is 0. */
	struct rn_rd_sent *rd;
	/* PSNs before this one have been sent more than once, so READ responses to the
	 * first and to the second copy may arrive in any mixture.
	 */
	struct rn_psn resent;
	enum rn_stat back_why; /* reason why the QP went back last */
	/* End-to-end flow control, in use once the peer has advertised credits (IBTA Vol
	 * 1, 9.7.7.2). Sequence numbers of messages have 24 bits.
	 */
	/* credit_off: the peer once advertised "no credit limit", which is final. */
	bool credit_limited, credit_off;
	uint32_t ssn; /* number of the message that was started last */
	/* Number of the last message for which the peer has posted a receive. */
	uint32_t lsn;
	uint32_t in_flight;    /* bytes of this QP that are counted in peer->in_flight */
	uint32_t grant;	       /* bytes that the QP may send in its turn */
	uint32_t grant_cuts;   /* the grant is valid while peer->cuts has this value */
	struct rn_psn charged; /* packets before this PSN are counted in in_flight */
	/* Bounce buffer for the payload of one request packet, used while the memory back
	 * end answers reads with PENDING.
	 */
	struct {
		uint8_t *buf; /* RN_MTU_MAX bytes; NULL if mem->always_done */
		bool waiting, ready, fault;
		struct rn_psn psn;    /* PSN of the packet whose payload this is */
		uint32_t outstanding; /* reads that the memory has not answered yet */
	} stage;
};

/* --------------------------------------------------------------- responder */
enum {
	RN_RESOURCE_KIND_MASK = 7
};

enum rn_atomic_phase {
	RN_ATOMIC_WAITING, /* an earlier atomic of this QP has to end first */
	RN_ATOMIC_RUNNING, /* the memory answered PENDING */
	RN_ATOMIC_DONE,	   /* `value` holds what the memory contained before */
};

/* One READ, atomic, ATOMIC WRITE or FLUSH request that this QP has received. It is kept
 * after it was answered, so that a duplicate can be answered as well.
 */
struct rn_resource {
	/* enum rn_op_kind; several READs may be in progress, of the other kinds one. */
	uint8_t kind : 3;
	uint8_t atomic_op : 1; /* enum rn_mem_atomic */
	uint8_t phase : 2;     /* enum rn_atomic_phase; unused for a READ */
	bool answered : 1;     /* every response has been sent at least once */
	bool due : 1;	       /* the responses from `next` on are still to be sent */
	/* XRC_RECV: number of the SRQ in the request's XRCETH, big-endian. */
	uint8_t srqn[3];
	struct rn_psn first, last; /* PSNs of the responses */
	struct rn_psn next; /* PSN of the response to be sent next; valid if `due` */
	uint32_t msn;	    /* MSN in the responses: this request is counted */
	uint32_t rkey;
	uint64_t va;
	union {
		struct {
			uint32_t length; /* bytes that a READ or FLUSH covers */
			union {
				/* READ: the part that is being sent: all of it, or what a
				 * duplicate request asks for.
				 */
				struct {
					struct rn_psn first;
					uint32_t length; /* bytes */
				} window;
				struct rn_feth flush;
			};
		};
		struct {
			/* Atomic: the operand, and once DONE the value found, in host
			 * byte order. ATOMIC WRITE: the bytes to be written.
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
	/* SRQ that the WQE at rq.head was taken from; NULL: it is the QP's own. */
	struct rn_srq *taken_from;

	struct rn_psn exp_psn;
	uint32_t msn; /* messages completed, 24 bits */
	/* Kind of the message of which some packets have come and some have not. */
	enum rn_message message;
	/* A SEQ or RNR NAK was sent; no other NAK is until the packet exp_psn comes. */
	bool nak_pending;
	/* The receive WQE at rq.head belongs to the message in progress. */
	bool recv_taken;
	bool comm_est;	   /* RN_EVENT_COMM_EST was raised */
	bool cq_lost;	   /* XRC_RECV: a CQE of this QP found its CQ full */
	bool told_none;	   /* the ACK that was sent last advertised no credits */
	uint32_t received; /* bytes received so far of the message in progress */
	/* Where the WRITE in progress goes. */
	uint64_t write_va;
	uint32_t write_rkey, write_total;
	/* Acknowledgement that is to be sent. The QP is on dev->acks
	 * exactly while that may happen.
	 */
	bool ack_due;
	/* The syndrome of the AETH: ACK, RNR NAK or NAK, with credits, timer
	 * code or NAK code.
	 */
	uint8_t ack_syndrome;
	struct rn_psn ack_psn;
	uint32_t ack_msn;
	/* Newest PSN that was dropped since a SEQ or RNR NAK became due. */
	struct rn_psn gap_psn;
	/* Received READ and atomic requests in the order of their PSNs: a
	 * ring of which max_dest_rd_atomic entries are used; see rn_res_at().
	 * The indices only count up.
	 */
	uint8_t res_head; /* oldest request that is kept */
	/* Oldest request with responses to be sent; res_tail if there is none. */
	uint8_t res_cur;
	uint8_t res_tail; /* where the next request goes */
	uint8_t res_room; /* entries that `res` has: 0 or a power of two */
	/* In the QP's block, or lent by the driver; NULL if res_room is 0. */
	struct rn_resource *res;
	/* The atomic that the memory is executing. It survives RESET, since the memory
	 * answers later all the same.
	 */
	struct {
		bool running;
		uint8_t index;	/* the request's index in the ring */
		uint64_t value; /* where the memory stores the value that it found */
	} atomic;
	/* Bounce buffer for the payload of one READ response, used if the memory answers
	 * PENDING. It survives RESET, since the memory answers later all the same.
	 */
	struct {
		uint8_t *buf; /* RN_MTU_MAX bytes; NULL if mem->always_done */
		bool waiting, ready, fault;
		struct rn_psn psn; /* PSN of the response whose payload this is */
		/* Bytes; RN_STAGE_STALE: the response is not wanted any more. */
		uint32_t len;
	} stage;
};

#define RN_STAGE_STALE UINT32_MAX

static_assert((RN_RD_ATOMIC_MAX & (RN_RD_ATOMIC_MAX - 1)) == 0 && RN_RD_ATOMIC_MAX <= 128,
	      "indices of the rings of 8 bits wrap at 256");

/* ------------------------------------------------------------------ the QP */
/* Automatic path migration: what is not in attr.alt and attr.mig_state. */
struct rn_apm {
	bool loaded;  /* attr.alt was set since the QP last migrated */
	bool refused; /* PATH_MIG_ERR was raised since the QP was armed */
};

struct rn_qp {
	struct rn_hnode node; /* key: the QPN */
	struct rn_dev *dev;
	enum rn_qp_type type;
	enum rn_qp_state state;
	uint32_t qpn, pd, max_inline;
	bool sq_sig_all;
	/* NULL: the QP has no such queue. */
	struct rn_cq *send_cq, *recv_cq;
	struct rn_srq *srq; /* SRQ that the QP was created with, or NULL */
	uint32_t xrcd;	    /* XRC_RECV: number of its XRC domain */

	struct rn_qp_attr attr; /* attributes as they were last set */
	/* Connected QPs: src is our address, dst the peer's. UD: the flow of the
	 * packet that was built last.
	 */
	struct rn_flow flow;
	struct rn_apm apm;

	struct rn_requester req;
	struct rn_responder rsp;
	struct rn_cc *cc; /* NULL: the device has no congestion control */

	/* Fires at the earliest deadline of the requester, or earlier. */
	struct rn_timer timer;
	/* In dev->work while the QP has requests or responses to build; a raw
	 * packet QP in dev->frames.
	 */
	struct rn_list work_link;
	struct rn_list ack_link; /* in dev->acks while an acknowledgement is to be sent */
	struct rn_peer *peer;	 /* RC and XRC in RTR and later; NULL otherwise */
	/* Storage that this QP may lend to the table of peers, see struct rn_peer. */
	struct rn_peer own_peer;
	struct rn_list peer_link, busy_link, window_link;
	uint32_t cuts_seen; /* value of peer->cuts when the burst in flight began */
	/* When the burst in flight began; RN_NEVER once a packet of the burst
	 * was acknowledged.
	 */
	rn_ns burst_at;
	struct rn_list read_link; /* in dev->read_waiting */
	/* UD: number of multicast groups that the QP is attached to. */
	uint32_t mcast_count;
	uint32_t burst; /* packets built since the QP came to the front of dev->work */

	struct rn_mr *windows; /* memory windows of type 2 that are bound to this QP */

	/* Enum rn_syndrome found last: the cause, for statuses that have
	 * several causes.
	 */
	uint8_t why;
	/* Events to be delivered: bits 1 << enum rn_async_event. */
	uint32_t async_pending;
	struct rn_list event_link;
	struct rn_stats_qp *stats;
	void *owner;
};

/* What is known of a remote socket, which numbers its IPv4 packets
 * independently of others.
 */
struct rn_sender {
	uint16_t tag; /* hash of its address and port; 0: the entry is free */
	struct rn_icrc_hint hint;
};

enum {
	RN_SENDERS = 256,
	RN_SENDER_WAYS = 4,
	RN_MCAST_CHAINS = 64,
};

struct rn_dev {
	struct rn_dev_cfg cfg;
	void *hook; /* NULL: calls are not shown */
	struct rn_htab qps, mrs, srqs;
	struct rn_hnode *qp_bucket0[16], *mr_bucket0[16], *srq_bucket0[16];
	/* Hash chains of struct rn_peer, see window.c. */
	struct rn_hnode *peer_bucket[256];
	/* Hash chains of struct rn_mcast, see receive.c. */
	struct rn_hnode *mcasts[RN_MCAST_CHAINS];
	struct rn_timer_heap timers;  /* struct rn_qp.timer */
	struct rn_timer_heap watches; /* struct rn_peer.watch */
	struct rn_list work, acks;    /* struct rn_qp.work_link and ack_link */
	struct rn_list frames;	      /* raw packet QPs that have frames to build */
	/* Struct rn_cc of QPs that have a congestion notification to send. */
	struct rn_list cnps;
	struct rn_dcqcn_params cc; /* valid if cfg.cc */
	/* CQs with an event; singly linked through next_event, oldest first. */
	struct rn_cq *cq_events;
	struct rn_cq **cq_events_tail;
	struct rn_list qp_events, srq_events;
	/* CQs whose event is held back by moderation; singly linked through
	 * next_held, in any order.
	 */
	struct rn_cq *held_cqs;
	/* The device is dead, and nobody serves its timers: no CQ event is held back. */
	bool unmoderated;
	struct rn_qp *last_qp; /* QP of the packet that was received last */
	uint32_t requests;     /* number of received packets that were requests */
	uint32_t received;     /* number of receives that were completed */
	/* A CQ lost a CQE: its QPs go to ERR before the call into the device returns. */
	bool cq_failed;
	rn_diagnostic_fn *diagnostic; /* called with each diagnostic; may be NULL */
	void *diagnostic_ctx;
	/* The packet within rn_dev_receive(); NULL otherwise. */
	const struct rn_rx *arriving;
	/* Bytes of READ responses that QPs have asked for and not received. */
	uint32_t read_in_flight;
	struct rn_list read_waiting; /* QPs that the READ window has stopped: window.c */
	/* QP that was dequeued from read_waiting and has not tried
	 * again yet; or NULL.
	 */
	struct rn_qp *read_turn;
	struct rn_flow silent; /* what rn_dev_silent() answers; valid if has_silent */
	bool has_silent;
	/* In sets of RN_SENDER_WAYS entries, by hash. */
	struct rn_sender sender[RN_SENDERS];
	unsigned sender_turn; /* which entry of a full set is replaced next */
};

/* ----------------------------------------------------------- calls that are shown */
static inline void rn_call_leave(struct rn_call *const *shown)
{
	if (__builtin_expect(*shown != NULL, false))
		rn_call_hook.end((*shown)->dev->hook, *shown);
}

/* At the head of a function that the driver calls: the call is shown, as struct rn_call
 * is initialised with what follows the device, and shown again when the function returns.
 * Within, rn_shown is what begin() has made of it, or NULL.
 */
#define RN_SHOW_CALL(device, ...)                                                        \
	struct rn_call *const rn_shown __attribute__((cleanup(rn_call_leave), unused)) = \
		__builtin_expect((device)->hook != NULL, false)                          \
			? rn_call_hook.begin(                                            \
				  (device)->hook,                                        \
				  &(struct rn_call){ .dev = (device), __VA_ARGS__ })     \
			: NULL

/* What the function returns, if that is a number. */
#define RN_SHOW_RESULT(value)                                  \
	({                                                     \
		__typeof__(value) rn_value = (value);          \
		if (__builtin_expect(rn_shown != NULL, false)) \
			rn_shown->result = (int64_t)rn_value;  \
		rn_value;                                      \
	})

/* -------------------------------------------------------- counting, scheduling */
/* Called with each counter that says something about the packet being
 * received; in diagnostic.c.
 */
void rn_diagnostic_counted(struct rn_dev *dev, enum rn_stat stat);

static inline void rn_count(struct rn_dev *dev, enum rn_stat stat)
{
	/* A relaxed atomic store, because another process may read the
	 * page of counters meanwhile.
	 */
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

/* The QP may have requests or responses to build: put it at the end of dev->work unless
 * it is there already. That is harmless if it turns out to have none.
 */
static inline void rn_dev_schedule(struct rn_dev *dev, struct rn_qp *qp)
{
	if (rn_list_is_linked(&qp->work_link))
		return;
	qp->burst = 0;
	rn_list_push_back(qp->type == RN_QPT_RAW_PACKET ? &dev->frames : &dev->work,
			  &qp->work_link);
}

/* The QP has an acknowledgement to send (rsp.ack_due): put it at the
 * end of dev->acks.
 */
static inline void rn_dev_schedule_ack(struct rn_dev *dev, struct rn_qp *qp)
{
	if (!rn_list_is_linked(&qp->ack_link))
		rn_list_push_back(&dev->acks, &qp->ack_link);
}

static inline rn_ns rn_earlier(rn_ns a, rn_ns b)
{
	return a < b ? a : b;
}

/* Arm qp->timer for the earliest of the deadlines of qp->req. A timer that is set to an
 * earlier time is left alone: when it fires, nothing is due and it is armed again.
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

/* A packet whose headers have been parsed, on its way to a QP. */
struct rn_packet {
	struct rn_bth bth;
	const struct rn_opcode_info *op;
	const struct rn_flow *flow;
	/* First byte after the BTH; at least op->hdr_len bytes are there. */
	const uint8_t *ext;
	const uint8_t *payload;
	uint32_t payload_len; /* bytes, without pad and ICRC */
	uint32_t wire_len;    /* bytes from the BTH to the end of the ICRC */
};

/* A packet being built. The builder writes it at `buf` and returns its length. */
struct rn_build {
	uint8_t *buf;
	size_t cap;
	struct rn_tx *tx;
	/* CRC of the payload, filled in while it is copied; NULL: not wanted. */
	struct rn_crc32_part *part;
};

/* --------------------------------------------------------------------- cq.c */
/* Add a CQE to @cq (rn_cq_push() fills in the lap of its control word) and raise the
 * completion event if the CQ is armed for it. If the ring is full, the CQE is lost,
 * CQ_ERR is raised and every QP of the CQ goes to ERR with QP_FATAL. The QPs do so only
 * before the call into the device returns, so that the state of a QP never changes under
 * the caller of this function.
 */
struct rn_completion {
	uint64_t wr_id;
	enum rn_wc_status status;
	enum rn_wc_opcode opcode;
	uint16_t flags; /* bits of enum rn_wc_flag */
	bool solicited;
	uint32_t byte_len, imm, src_qpn, sgid_index;
	uint8_t sl;
};
void rn_cq_push(struct rn_dev *dev, struct rn_cq *cq, struct rn_qp *qp, rn_ns now,
		const struct rn_completion *c);

rn_ns rn_cq_held_deadline(const struct rn_dev *dev); /* RN_NEVER: no event is held back */
void rn_cq_fire_due(struct rn_dev *dev, rn_ns now);

void rn_event_raise(struct rn_qp *qp, enum rn_async_event event);
void rn_event_raise_srq(struct rn_srq *srq); /* raises SRQ_LIMIT_REACHED */
void rn_event_raise_cq(struct rn_dev *dev, struct rn_cq *cq, bool error);
void rn_event_forget_qp(struct rn_qp *qp);

/* --------------------------------------------------------------------- qp.c */
/* Move the QP to ERR: its timers stop, every WQE that is not completed is flushed in
 * order, and no further packet leaves. The caller has pushed the CQE of the WQE at fault
 * before. Does nothing in RESET and ERR.
 */
void rn_qp_error(struct rn_qp *qp, rn_ns now);
/* UC, UD: move the QP to SQE. Its send WQEs are flushed; receiving goes on. */
void rn_qp_sq_error(struct rn_qp *qp, rn_ns now);
void rn_qp_reset(struct rn_qp *qp); /* move the QP to RESET, without CQEs */
void rn_qp_fail_overrun(struct rn_dev *dev, rn_ns now);

/* To be called at the end of every step that may have pushed a CQE, see rn_cq_push(). */
static inline void rn_dev_settle(struct rn_dev *dev, rn_ns now)
{
	if (dev->cq_failed)
		rn_qp_fail_overrun(dev, now);
}

/* Update the statistics record of the QP, which other processes read. */
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

/* MSN that the message in progress will have when it is complete. */
static inline uint32_t rn_rsp_next_msn(const struct rn_qp *qp)
{
	return (qp->rsp.msn + 1) & RN_MSN_MASK;
}

static inline bool rn_gid_is(const struct rn_gid *a, const struct rn_gid *b)
{
	return memcmp(a->raw, b->raw, sizeof(a->raw)) == 0;
}

/* Does a packet with the flow @in come from the peer that packets with @out go to? */
static inline bool rn_flow_is_back(const struct rn_flow *in, const struct rn_flow *out)
{
	return rn_gid_is(&in->src, &out->dst) && rn_gid_is(&in->dst, &out->src) &&
	       (!rn_gid_is_link_local(&in->src) || in->ifindex == out->ifindex);
}

/* Value of the MigReq bit in the packets of @qp. */
static inline bool rn_apm_is_migrated(const struct rn_qp *qp)
{
	return qp->attr.mig_state == RN_MIG_MIGRATED;
}

/* Does the QP acknowledge, retransmit and execute READs and atomics? RC and
 * both kinds of XRC QP do.
 */
static inline bool rn_qp_is_reliable(const struct rn_qp *qp)
{
	return qp->type == RN_QPT_RC || qp->type == RN_QPT_XRC_SEND ||
	       qp->type == RN_QPT_XRC_RECV;
}

static inline bool rn_qp_is_xrc(const struct rn_qp *qp)
{
	return qp->type == RN_QPT_XRC_SEND || qp->type == RN_QPT_XRC_RECV;
}

/* The SGEs (or inline bytes) of a send WQE, which lie behind its atomic or UD part. */
static inline void *rn_wqe_sge(const struct rn_qp *qp, struct rn_send_wqe *wqe)
{
	uint8_t *p = (uint8_t *)(wqe + 1);

	if (qp->type == RN_QPT_UD)
		return p + RN_WQE_UD_PART;
	if (rn_wr_info[wqe->opcode].answer == RN_ANSWER_ATOMIC)
		return p + RN_WQE_ATOMIC_PART;
	return p;
}

/* Complete the receive WQE at rq.head with @c, whose wr_id is filled in
 * here, and free it.
 */
void rn_qp_complete_recv(struct rn_qp *qp, rn_ns now, struct rn_completion *c);
/* Complete the receive WQE at rq.head with the error @status, and free it. */
void rn_qp_fail_recv(struct rn_qp *qp, rn_ns now, enum rn_wc_status status);
/* UC and UD: the message is longer than the receive WQE of the SRQ. The WQE completes
 * with an error and the QP lives on (IBTA Vol 1, 9.9.3, class E).
 */
void rn_qp_recv_too_short(struct rn_qp *qp, rn_ns now);
/* Fill in the source (from the GID table) and destination of a flow from an address
 * vector. Return: false if the source GID is unused.
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
 * Checks which attributes are given, not their values. The caller checks whether
 * RN_ATTR_CUR_STATE names the present state, and whether a draining queue may be
 * modified.
 *
 * Return: 0; -EINVAL if there is no such transition (or type, or state), an attribute
 *	   that it requires is missing, or one is given that is neither required, optional
 *	   nor RN_ATTR_STATE.
 * IBTA Vol 1, QP state transitions; the sets are those of Linux (ib_modify_qp_is_ok), but
 * for RN_ATTR_RATE_LIMIT.
 */
int rn_qp_modify_check(enum rn_qp_type type, enum rn_qp_state from, enum rn_qp_state to,
		       uint32_t attrs);

/* Is a packet that came by another path than the QP's primary one a request to
 * migrate to the alternate path?
 */
bool rn_apm_takes(struct rn_qp *qp, const struct rn_packet *p);
/* To be called with each packet that has passed all checks of its headers, before
 * anything else is done about it: the QP may migrate, or be armed.
 */
void rn_apm_received(struct rn_qp *qp, const struct rn_packet *p);
/* No transport retry is left. Return: true if the QP has migrated instead, with
 * all of its retries again.
 */
bool rn_apm_escape(struct rn_qp *qp);

/* ------------------------------------------------- requester.c, send_queue.c */
/* Build the next request packet of the QP. Return: its length in bytes;
 * 0 if none may leave now.
 */
uint32_t rn_req_build(struct rn_qp *qp, rn_ns now, struct rn_build *b);
void rn_req_reset(struct rn_qp *qp); /* at RESET: forget everything */
/* At RTS: sq_psn and other attributes are valid. */
void rn_req_rts(struct rn_qp *qp, rn_ns now);
/* From RTS to SQD: drain the WQEs that have started. */
void rn_req_sqd(struct rn_qp *qp, rn_ns now);
/* Complete all WQEs of the SQ with flush errors. */
void rn_req_flush(struct rn_qp *qp, rn_ns now);
void rn_req_mem_done(struct rn_qp *qp, rn_ns now, enum rn_mem_result result);
bool rn_req_idle(const struct rn_qp *qp);

/* ------------------------------------------------------------- retransmit.c */
/* RC: an ACK, NAK, READ response or atomic response has arrived. The caller has checked
 * the QP's state and the packet's path.
 */
void rn_req_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
/* Act on the deadlines that have passed. */
void rn_req_expire(struct rn_qp *qp, rn_ns now);

/* -------------------------------------------------- responder.c, response.c */
void rn_rsp_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
void rn_uc_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
/* Build the next READ or atomic response. Return: its length in bytes; 0 if
 * there is none.
 */
uint32_t rn_rsp_build(struct rn_qp *qp, rn_ns now, struct rn_build *b);
/* Build the acknowledgement that is due. Return: its length in bytes; 0 if there is none,
 * or if READ or atomic responses have to leave before it.
 */
uint32_t rn_rsp_build_ack(struct rn_qp *qp, rn_ns now, struct rn_build *b);
void rn_rsp_reset(struct rn_qp *qp);
void rn_rsp_rtr(struct rn_qp *qp); /* at RTR: rq_psn and other attributes are valid */
/* Complete all WQEs of the RQ with flush errors. */
void rn_rsp_flush(struct rn_qp *qp, rn_ns now);
void rn_rsp_mem_done(struct rn_qp *qp, rn_ns now, uint64_t tag,
		     enum rn_mem_result result);
bool rn_rsp_work_due(const struct rn_qp *qp); /* can READ or atomic responses be built? */

/* --------------------------------------------------------------- datagram.c */
void rn_ud_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);

#endif /* RN_QP_H */
