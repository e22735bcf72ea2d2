/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp.h - the structs of a queue pair and of the device, and the functions that the files
 * of the transport call in each other.
 *
 * transport/device     the functions that the engine or simulator calls
 *   device.c     the device: tables, packets out, timers
 *   receive.c    packets in: checks them and finds their QPs; multicast groups
 *   raw_packet.c Ethernet frames, in both directions
 * transport/qp         one queue pair
 *   qp.c         create, destroy, error and flush
 *   modify.c     attributes and states; path migration
 *   send_queue.c work requests become WQEs, and WQEs become completions
 *   requester.c  send queue -> request packets                            (RC, UC, UD)
 *   retransmit.c ACKs, NAKs and responses coming in; timers; going back   (RC)
 *   probe.c      losses that cause no NAK                                 (RC)
 *   window.c     how much may be in flight: the peer window and the READ window
 *   congestion.c pacing; congestion control (DCQCN)
 *   responder.c  request packets: checked, executed, answered again       (RC, UC)
 *   response.c   ACKs, NAKs and responses going out; atomics, FLUSH       (RC)
 *   datagram.c   received UD datagrams
 */
#ifndef RN_QP_H
#define RN_QP_H

#include <string.h>

#include "rocin/call.h"
#include "rocin/cqe.h"
#include "rocin/dev_cfg.h"
#include "rocin/diagnostic.h"
#include "rocin/icrc.h"
#include "rocin/mem.h"
#include "rocin/mr.h"
#include "rocin/opcode.h"
#include "rocin/queue_pair.h"
#include "rocin/rx_tx.h"
#include "rocin/stats.h"
#include "rocin/wire.h"

#include "congestion.h"
#include "transport/container/key_table.h"
#include "transport/container/list.h"
#include "transport/container/timer.h"
#include "transport/object/wqe.h"
#include "window.h"

/* ----------------------------------------------------------- state of the requester */
/* What a QP needs to notice lost packets that no NAK reports: if it makes no progress for
 * some time, it sends all unacknowledged packets again. See probe.c.
 */
struct rn_probe {
	rn_ns deadline; /* end of the present wait; RN_NEVER: progress is not watched */
	rn_ns wait;
	rn_ns until; /* close watch: time at which it ends */
	/* Values of req.una (oldest unacknowledged PSN) and req.heard when the present
	 * wait began. If both are the same when it ends, the QP has made no progress.
	 */
	struct rn_psn una, heard;
	/* True: close watch, with short waits; false: distant watch, with long ones. */
	bool is_close;
	/* The close watch was started because a packet was lost. */
	bool lossy;
	/* The last retransmission was started because nothing came from the peer. */
	bool was_silent;
};

/* One READ, atomic, ATOMIC WRITE or FLUSH request that has been sent and not been
 * answered completely.
 */
struct rn_rd_sent {
	uint32_t last_psn; /* PSN of the last response packet to the request */
	/* Length of the data of a READ, which is counted in dev->read_in_flight; else 0.
	 */
	uint32_t bytes;
};

struct rn_requester {
	struct rn_wq sq;
	struct rn_psn next_psn; /* first PSN of the next WQE that gets PSNs */
	struct rn_psn una;	/* oldest unacknowledged PSN */
	struct rn_psn high;	/* newest PSN ever sent, plus 1 */
	/* Newest PSN for which a response has arrived, even if earlier responses are
	 * missing. Never before una, the oldest unacknowledged PSN.
	 */
	struct rn_psn heard;
	rn_ns heard_at; /* time of the last change of `heard` or una */
	/* Longest time between two responses in a row that arrived while an earlier
	 * response was missing.
	 */
	rn_ns heard_apart;
	uint32_t cur; /* index in sq of the WQE whose packet is sent next */
	/* Number, from 0, of the packet within WQE `cur` that is sent next. */
	uint32_t cur_packet;
	/* Number of bytes of the present burst that were sent; see burst_with() in
	 * window.c.
	 */
	uint32_t burst;
	/* Number of request packets sent since the last packet with the AckReq bit. */
	uint32_t since_ack_req;
	uint8_t retry_left, rnr_left;
	struct {
		uint32_t naks, msn, waiting;
		uint8_t timer;
		uint64_t wr_id;
		rn_ns at;
	} rnr; /* RNR NAKs that were received; members as in struct rn_rnr */
	struct rn_retries charged_retries;
	bool rnr_waiting; /* an RNR timer runs: no request may leave */
	/* A response has arrived while an earlier one is missing (an implied NAK), and a
	 * retry was spent on that. Until the missing response arrives, further responses
	 * behind it do not count as new losses.
	 */
	bool implied_nak;
	/* Retransmission began because nothing came from the peer. The peer may only be
	 * slow, so only the oldest unacknowledged packet is sent again. The others
	 * follow if its acknowledgement shows that packets were lost.
	 */
	bool sends_one;
	/* No packet is sent again for now, because acknowledgements of the first copies
	 * are arriving one by one: the peer is slow, but has lost nothing.
	 */
	bool awaits_late;
	/* state SQD: some WQEs that have started are not complete yet */
	bool draining;
	bool drained_event; /* SQ_DRAINED was raised since the QP entered SQD */
	/* The QP has waited too long for room in the READ window: it may send the next
	 * READ request even if the window is full.
	 */
	bool read_pass;
	/* @taken is valid: it is the value of peer->taken with which rn_window_holds()
	 * last compared the present one. Set to false when una advances, or when
	 * peer->taken has changed.
	 */
	bool knows_taken;
	/* The peer has acknowledged a request since RTS, or sent an RNR NAK. */
	bool was_answered;
	uint32_t taken;
	uint32_t sqd_limit; /* SQD: index in sq of the first WQE that must not start */
	rn_ns ack_deadline; /* expiry of the local ACK timer; RN_NEVER: it does not run */
	rn_ns rnr_deadline;
	/* End of the wait for room in the READ window; RN_NEVER: no wait. */
	rn_ns read_deadline;
	struct rn_pace pace;
	struct rn_probe probe;
	/* READ, atomic, ATOMIC WRITE and FLUSH requests that have been sent and not been
	 * answered completely, the oldest first. At most max_rd_atomic entries of the
	 * ring are in use; see rn_rd_at(). rd_head, the index of the oldest, counts up
	 * and wraps.
	 */
	uint8_t rd_head, rd_count;
	uint8_t rd_room; /* number of entries in `rd`: 0 or a power of two */
	bool rd_begun;	 /* a part of the oldest request in `rd` has been answered */
	/* The ring is in the QP's memory block, or was lent by rn_qp_lend_reads(). NULL
	 * if rd_room is 0.
	 */
	struct rn_rd_sent *rd;
	/* Packets before this PSN may have been sent more than once, so for requests
	 * before it, responses to the first and to a later copy may arrive mixed.
	 */
	struct rn_psn resent;
	enum rn_stat back_why; /* reason of the last retransmission */
	/* The next members are for end-to-end flow control, which is in use once the peer
	 * has advertised credits (IBTA Vol 1, 9.7.7.2). Message numbers (ssn, lsn) have
	 * 24 bits.
	 */
	/* @credit_limited: credits limit what may be sent. @credit_off: the peer once
	 * advertised "no credit limit", so credits are ignored from then on.
	 */
	bool credit_limited, credit_off;
	uint32_t ssn; /* number of the message that was started last */
	/* Number of the last message that the peer's credits allow: the peer has a
	 * receive WQE for it.
	 */
	uint32_t lsn;
	uint32_t in_flight; /* bytes of this QP that are part of peer->in_flight */
	/* Number of bytes that the QP may still send in its turn to use the peer window.
	 */
	uint32_t grant;
	/* Value of peer->cuts when the QP got its grant. If peer->cuts has changed
	 * since, the grant is no longer valid.
	 */
	uint32_t grant_cuts;
	/* The PSN behind the last packet that is counted in in_flight. */
	struct rn_psn charged;
	/* Bounce buffer for the payload of one request packet. Used if the memory back
	 * end (mem) may answer a read later (PENDING).
	 */
	struct {
		/* RN_MTU_MAX bytes; NULL if the memory never answers PENDING
		 * (mem->always_done)
		 */
		uint8_t *buf;
		bool waiting, ready, fault;
		struct rn_psn psn; /* PSN of the packet whose payload is in `buf` */
		/* Number of reads that the memory has not answered yet. */
		uint32_t outstanding;
	} stage;
};

/* ----------------------------------------------------------- state of the responder */
enum {
	RN_RESOURCE_KIND_MASK = 7
};

enum rn_atomic_phase {
	/* Waits until earlier operations of this QP have ended. */
	RN_ATOMIC_WAITING,
	RN_ATOMIC_RUNNING, /* started: the memory answered PENDING */
	RN_ATOMIC_DONE,	   /* executed: `value` is the former content of the memory */
};

/* A request of the peer that this QP has received (a responder resource): a READ, atomic,
 * ATOMIC WRITE or FLUSH. It is kept after it was answered, so that duplicates of it can
 * be answered, too.
 */
struct rn_resource {
	/* enum rn_op_kind. Several READs may be in progress at a time, but only one
	 * request of the other kinds (atomic, ATOMIC WRITE, FLUSH).
	 */
	uint8_t kind : 4;
	uint8_t phase : 2; /* enum rn_atomic_phase; unused for a READ */
	bool answered : 1; /* every response has been sent at least once */
	bool due : 1;	   /* responses, from PSN `next` on, are still to be sent */
	/* XRC_RECV: number of the SRQ in the request's XRCETH, big-endian. */
	uint8_t srqn[3];
	struct rn_psn first, last; /* PSNs of the responses */
	struct rn_psn next; /* PSN of the response to be sent next; valid if `due` */
	/* MSN in the AETH of the responses; the number includes this request. */
	uint32_t msn : 24;
	uint32_t atomic_op : 8; /* enum rn_mem_atomic */
	uint32_t rkey;
	uint64_t va;
	union {
		struct {
			/* Number of bytes that the READ or FLUSH covers. */
			uint32_t length;
			union {
				/* READ: the part of the data that is being sent: all of
				 * the data or, for a duplicate request, the part that it
				 * asks for.
				 */
				struct {
					struct rn_psn first;
					/* length of that part in bytes */
					uint32_t length;
				} window;
				struct rn_feth flush;
			};
		};
		struct {
			/* Atomic: the operand in host byte order, which is replaced by
			 * the old value in memory when the phase becomes DONE. ATOMIC
			 * WRITE: the bytes to be written.
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
	/* SRQ from which the WQE at rq.head was taken; NULL: the WQE was posted to this
	 * QP itself.
	 */
	struct rn_srq *taken_from;

	struct rn_psn exp_psn;
	uint32_t msn; /* number of messages completed, 24 bits */
	/* Kind of the message of which some packets have arrived, but not the last one.
	 */
	enum rn_message message;
	/* A NAK (PSN sequence error or RNR) for exp_psn was sent or is due. No further
	 * NAK is sent until the packet with that PSN arrives.
	 */
	bool nak_pending;
	struct {
		uint32_t naks;
		rn_ns at;
	} rnr; /* RNR NAKs that were sent: their number, and the time of the newest */
	/* The receive WQE at rq.head has been assigned to the message in progress. */
	bool recv_taken;
	bool comm_est; /* RN_EVENT_COMM_EST was raised */
	/* XRC_RECV: a CQE of this QP was lost because its CQ was full. */
	bool cq_lost;
	bool told_none;	   /* the ACK that was sent last advertised 0 credits */
	uint32_t received; /* bytes of the message in progress that have arrived */
	/* Destination of the WRITE in progress. */
	uint64_t write_va;
	uint32_t write_rkey, write_total;
	/* An ACK or NAK has to be sent. The QP is on the list dev->acks if it may leave
	 * now, and is not if READ or atomic responses have to leave first.
	 */
	bool ack_due;
	/* AETH syndrome of the acknowledgement to be sent: that of an ACK with credits,
	 * of an RNR NAK with a timer code, or of a NAK with a NAK code.
	 */
	uint8_t ack_syndrome;
	struct rn_psn ack_psn;
	uint32_t ack_msn;
	/* Newest PSN of a packet that was dropped since the NAK (PSN sequence error or
	 * RNR) became due.
	 */
	struct rn_psn gap_psn;
	/* Ring of received READ, atomic, ATOMIC WRITE and FLUSH requests, in the order
	 * of their PSNs. At most max_dest_rd_atomic entries are in use, see rn_res_at().
	 * The indices count up and wrap.
	 */
	uint8_t res_head; /* index of the oldest request that is kept */
	/* Index of the oldest request with responses still to be sent; res_tail if there
	 * is none.
	 */
	uint8_t res_cur;
	uint8_t res_tail; /* index for the next request */
	uint8_t res_room; /* number of entries in `res`: 0 or a power of two */
	/* The ring is in the QP's memory block, or was lent by rn_qp_lend_resources().
	 * NULL if res_room is 0.
	 */
	struct rn_resource *res;
	/* The atomic that the memory back end is executing. Not cleared when the QP goes
	 * to RESET, because the memory back end will still answer.
	 */
	struct {
		bool running;
		uint8_t index;	/* index of the request in the ring */
		uint64_t value; /* the memory stores the old value here */
	} atomic;
	/* Bounce buffer for the payload of one READ response. Used if the memory back
	 * end (mem) may answer a read later (PENDING). Not cleared when the QP goes to
	 * RESET, because the memory back end will still answer.
	 */
	struct {
		/* RN_MTU_MAX bytes; NULL if the memory never answers PENDING
		 * (mem->always_done)
		 */
		uint8_t *buf;
		bool waiting, ready, fault;
		struct rn_psn psn; /* PSN of the response whose payload is in `buf` */
		/* Number of bytes in `buf`; RN_STAGE_STALE: the payload that is being
		 * read is not needed any more.
		 */
		uint32_t len;
	} stage;
};

#define RN_STAGE_STALE UINT32_MAX

static_assert((RN_RD_ATOMIC_MAX & (RN_RD_ATOMIC_MAX - 1)) == 0 && RN_RD_ATOMIC_MAX <= 128,
	      "indices of the rings of 8 bits wrap at 256");

/* ---------------------------------------------------- the queue pair and the device */
/* State of automatic path migration, besides attr.alt and attr.mig_state. */
struct rn_apm {
	bool loaded;  /* attr.alt was set since the QP last migrated */
	bool refused; /* PATH_MIG_ERR was raised since the QP was last armed */
};

struct rn_qp {
	struct rn_hnode node; /* key: the QPN */
	struct rn_dev *dev;
	enum rn_qp_type type;
	enum rn_qp_state state;
	uint32_t qpn, pd, max_inline;
	bool sq_sig_all;
	/* CQs of the two queues; NULL: the QP type has no such queue. */
	struct rn_cq *send_cq, *recv_cq;
	struct rn_srq *srq; /* SRQ that the QP was created with, or NULL */
	uint32_t xrcd;	    /* XRC_RECV: number of its XRC domain */

	struct rn_qp_attr attr; /* attributes, as they were set last */
	/* Connected QPs: the addresses of the connection; src is the local one. UD: the
	 * flow of the packet that was built last.
	 */
	struct rn_flow flow;
	struct rn_apm apm;

	struct rn_requester req;
	struct rn_responder rsp;
	struct rn_cc *cc; /* NULL: the device has no congestion control */

	/* Timer of the requester. It fires at the earliest of the deadlines in req, or
	 * earlier.
	 */
	struct rn_timer timer;
	/* Link in dev->work while the QP has requests or responses to build; for a raw
	 * packet QP, link in dev->frames.
	 */
	struct rn_list work_link;
	/* link in dev->acks while an acknowledgement is to be sent */
	struct rn_list ack_link;
	/* The window towards the peer process, which QPs share. Set for RC and XRC in RTR
	 * and later states; otherwise NULL.
	 */
	struct rn_peer *peer;
	/* Memory for a struct rn_peer. All QPs with the same peer process use one
	 * struct, which lies in one of these QPs. In the others this memory is unused.
	 */
	struct rn_peer own_peer;
	struct rn_list peer_link, busy_link, window_link;
	/* Value of peer->cuts when the first of the packets in flight was sent. */
	uint32_t cuts_seen;
	/* Time at which the first of the packets in flight was sent; RN_NEVER once one
	 * of them has been acknowledged.
	 */
	rn_ns burst_at;
	/* link in dev->read_waiting while the QP waits for room in the READ window */
	struct rn_list read_link;
	/* UD: number of multicast groups that the QP is attached to. */
	uint32_t mcast_count;
	/* number of packets built since the QP came to the head of dev->work */
	uint32_t burst;

	struct rn_mr *windows; /* memory windows of type 2 that are bound to this QP */

	/* Cause of the QP's last error (enum rn_syndrome). It is more precise than the
	 * status of a completion.
	 */
	uint8_t why;
	/* Asynchronous events that have not been delivered yet: bits 1 <<
	 * enum rn_async_event.
	 */
	uint32_t async_pending;
	struct rn_list event_link;
	struct rn_stats_qp *stats;
	/* completion counters that count this QP's completions, or NULL */
	const struct rn_tallies *tallies;
	void *owner;
};

/* Counts a completion of @qp in the completion counter that @qp has for this kind of
 * completion; does nothing if there is none.
 */
void rn_qp_tally(const struct rn_qp *qp, enum rn_tally_kind kind,
		 enum rn_wc_status status, uint32_t bytes);

/* What the device remembers of one remote socket (address and port) whose packets it has
 * received, to check the ICRCs of its IPv4 packets: they cover the IPv4 identification,
 * which each socket numbers by itself.
 */
struct rn_sender {
	uint16_t tag; /* hash of the socket's address and port; 0: the entry is free */
	struct rn_icrc_hint hint;
};

enum {
	RN_SENDERS = 256,
	RN_SENDER_WAYS = 4,
	RN_MCAST_CHAINS = 64,
};

struct rn_dev {
	struct rn_dev_cfg cfg;
	/* Recorder of the calls into this device, see rocin/call.h; NULL: none. */
	void *hook;
	struct rn_htab qps, mrs, srqs;
	struct rn_hnode *qp_bucket0[16], *mr_bucket0[16], *srq_bucket0[16];
	/* Hash chains of struct rn_peer, by address and slot; see window.c. */
	struct rn_hnode *peer_bucket[256];
	/* Hash chains of struct rn_mcast, by group; see receive.c. */
	struct rn_hnode *mcasts[RN_MCAST_CHAINS];
	/* running requester timers of QPs (struct rn_qp.timer) */
	struct rn_timer_heap timers;
	/* running timers that watch the progress of peers (struct rn_peer.watch) */
	struct rn_timer_heap watches;
	/* Lists of QPs, by struct rn_qp.work_link and ack_link. */
	struct rn_list work, acks;
	struct rn_list frames; /* raw packet QPs that have frames to build */
	/* Number of QPs that got their turn to send but had no packet to send, since
	 * rn_dev_transmit() last returned 0.
	 */
	uint32_t vain;
	/* Time at which rn_dev_transmit() returned 0 before it had asked all QPs of
	 * `work` for a packet. RN_NEVER: the last call of rn_dev_transmit() has asked all
	 * of them, or rn_dev_expire() was called since.
	 */
	rn_ns more_at;
	/* List of struct rn_cc of QPs that have a congestion notification to send. */
	struct rn_list cnps;
	struct rn_dcqcn_params cc; /* parameters of congestion control; valid if cfg.cc */
	/* List of CQs that have an event to be delivered, oldest first; singly linked
	 * through next_event.
	 */
	struct rn_cq *cq_events;
	struct rn_cq **cq_events_tail;
	struct rn_list qp_events, srq_events;
	/* List of CQs whose event is delayed by moderation, in any order; singly linked
	 * through next_held.
	 */
	struct rn_cq *held_cqs;
	/* Completion events are no longer delayed by moderation, because the device has
	 * lost its network access and nobody serves its timers (rn_dev_error()).
	 */
	bool unmoderated;
	struct rn_qp *last_qp; /* QP to which the last received packet was addressed */
	uint32_t requests;     /* number of received request packets, modulo 2^32 */
	uint32_t received;     /* number of completed receives, modulo 2^32 */
	/* number of CQEs, including those that were lost, modulo 2^32 */
	uint32_t completions;
	/* A CQ has lost a CQE. The QPs that use that CQ are moved to ERR before the call
	 * into the device returns.
	 */
	bool cq_failed;
	/* Function that is called with each diagnostic; may be NULL. */
	rn_diagnostic_fn *diagnostic;
	void *diagnostic_ctx;
	/* The packet that rn_dev_receive() is processing; NULL outside of it. */
	const struct rn_rx *arriving;
	/* Bytes of READ responses that QPs have requested and not received yet. */
	uint32_t read_in_flight;
	/* QPs that wait for room in the READ window, see window.c. */
	struct rn_list read_waiting;
	/* The QP whose turn it is to use the READ window. It was taken from read_waiting
	 * and scheduled, but has not tried to send a READ request yet. NULL: none.
	 */
	struct rn_qp *read_turn;
	/* What rn_dev_silent() returns next: the flow to a peer that does not answer.
	 * Valid if has_silent.
	 */
	struct rn_flow silent;
	bool has_silent;
	/* Hash table of remote sockets; each hash selects a set of RN_SENDER_WAYS
	 * entries.
	 */
	struct rn_sender sender[RN_SENDERS];
	/* Counter that selects the entry to be replaced in a full set. */
	unsigned sender_turn;
};

/* -------------------------------------------------- recording calls into the device */
static inline void rn_call_leave(struct rn_call *const *shown)
{
	if (__builtin_expect(*shown != NULL, false))
		rn_call_hook.end((*shown)->dev->hook, *shown);
}

/* Reports a call into the device to the recorder, if there is one (rocin/call.h). Used
 * at the head of the function that is called. The arguments initialise struct rn_call.
 * When the function returns, the end of the call is reported, too. rn_shown is what
 * rn_call_hook.begin() returned, or NULL.
 */
#define RN_SHOW_CALL(device, ...)                                                        \
	struct rn_call *const rn_shown __attribute__((cleanup(rn_call_leave), unused)) = \
		__builtin_expect((device)->hook != NULL, false)                          \
			? rn_call_hook.begin(                                            \
				  (device)->hook,                                        \
				  &(struct rn_call){ .dev = (device), __VA_ARGS__ })     \
			: NULL

/* Records @value as the result of the function, and returns it. */
#define RN_SHOW_RESULT(value)                                  \
	({                                                     \
		__typeof__(value) rn_value = (value);          \
		if (__builtin_expect(rn_shown != NULL, false)) \
			rn_shown->result = (int64_t)rn_value;  \
		rn_value;                                      \
	})

/* ------------------------------------------------------ counting and scheduling */
/* Called when a counter was incremented that captures show (rn_stat_is_reported()). If a
 * packet is being received, reports to the capture that the packet has incremented the
 * counter. In diagnostic.c.
 */
void rn_diagnostic_counted(struct rn_dev *dev, enum rn_stat stat);

static inline void rn_count(struct rn_dev *dev, enum rn_stat stat)
{
	/* A relaxed atomic store, because another process may read the page of counters
	 * at the same time.
	 */
	__atomic_store_n(&dev->cfg.stats[stat], dev->cfg.stats[stat] + 1,
			 __ATOMIC_RELAXED);
	if (rn_stat_is_reported(stat) && dev->diagnostic)
		rn_diagnostic_counted(dev, stat);
}

static inline void rn_count_n(struct rn_dev *dev, enum rn_stat stat, uint64_t n)
{
	__atomic_store_n(&dev->cfg.stats[stat], dev->cfg.stats[stat] + n,
			 __ATOMIC_RELAXED);
}

/* Puts the QP at the end of dev->work, because it may have requests or responses to
 * build. Does nothing if the QP is on that list already. May be called although the QP
 * has nothing to build.
 */
static inline void rn_dev_schedule(struct rn_dev *dev, struct rn_qp *qp)
{
	if (rn_list_is_linked(&qp->work_link))
		return;
	qp->burst = 0;
	rn_list_push_back(qp->type == RN_QPT_RAW_PACKET ? &dev->frames : &dev->work,
			  &qp->work_link);
}

/* Puts the QP, which has an acknowledgement to send (rsp.ack_due), at the end
 * of dev->acks.
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

/* Sets qp->timer to the earliest of the deadlines in qp->req. If the timer is set to an
 * earlier time already, leaves it as it is: when it fires, nothing will be due, and this
 * function will be called again.
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

/* A received packet whose headers have been parsed. */
struct rn_packet {
	struct rn_bth bth;
	const struct rn_opcode_info *op;
	const struct rn_flow *flow;
	/* First byte after the BTH; at least op->hdr_len bytes are there. */
	const uint8_t *ext;
	const uint8_t *payload;
	uint32_t payload_len; /* length of the payload in bytes, without pad and ICRC */
	uint32_t wire_len;    /* length in bytes from the BTH to the end of the ICRC */
};

/* Where a packet is to be built: the function that builds it writes it at @buf, at most
 * @cap bytes, and returns its length in bytes.
 */
struct rn_build {
	uint8_t *buf;
	size_t cap;
	struct rn_tx *tx;
	/* Out: the CRC of the payload, computed while it is copied; NULL: not wanted. */
	struct rn_crc32_part *part;
};

/* --------------------------------------------------------------------- cq.c */
/* Contents of a CQE, for rn_cq_push(). */
struct rn_completion {
	uint64_t wr_id;
	enum rn_wc_status status;
	enum rn_wc_opcode opcode;
	uint16_t flags; /* bits of enum rn_wc_flag */
	bool solicited;
	uint32_t byte_len, imm, src_qpn, sgid_index;
	uint8_t sl;
};
/* Adds a CQE to @cq (filling in the lap in its control word), and raises the completion
 * event if the CQ is armed for it. If the ring is full, the CQE is lost, CQ_ERR is
 * raised, and every QP of the CQ goes to ERR with QP_FATAL. That happens later, in
 * rn_dev_settle(), so this function itself does not change the state of a QP.
 */
void rn_cq_push(struct rn_dev *dev, struct rn_cq *cq, struct rn_qp *qp, rn_ns now,
		const struct rn_completion *c);

/* Returns the earliest time at which a completion event that moderation delays becomes
 * due; RN_NEVER if none is delayed.
 */
rn_ns rn_cq_held_deadline(const struct rn_dev *dev);
void rn_cq_fire_due(struct rn_dev *dev, rn_ns now);

void rn_event_raise(struct rn_qp *qp, enum rn_async_event event);
void rn_event_raise_srq(struct rn_srq *srq); /* raises SRQ_LIMIT_REACHED */
void rn_event_raise_cq(struct rn_dev *dev, struct rn_cq *cq, bool error);
void rn_event_forget_qp(struct rn_qp *qp);

/* --------------------------------------------------------------------- qp.c */
/* Moves the QP to ERR: its timers stop, every WQE that is not complete is flushed in
 * order, and no further packet leaves. If a WQE has failed, the caller has already added
 * its CQE. Does nothing in RESET and ERR.
 */
void rn_qp_error(struct rn_qp *qp, rn_ns now);
/* Moves a UC or UD QP to SQE: its send WQEs are flushed, but it goes on receiving. */
void rn_qp_sq_error(struct rn_qp *qp, rn_ns now);
void rn_qp_reset(struct rn_qp *qp); /* moves the QP to RESET, without CQEs */
void rn_qp_fail_overrun(struct rn_dev *dev, rn_ns now);

/* Called at the end of each function that may have added a CQE (rn_cq_push()). If a CQ
 * has lost one, moves the QPs that use that CQ to ERR.
 */
static inline void rn_dev_settle(struct rn_dev *dev, rn_ns now)
{
	if (dev->cq_failed)
		rn_qp_fail_overrun(dev, now);
}

/* Returns true if the request that is expected next has arrived and was refused by an
 * RNR NAK, because no receive WQE was posted for it.
 */
static inline bool rn_rsp_lacks_recv(const struct rn_qp *qp)
{
	return qp->rsp.nak_pending && rn_aeth_type(qp->rsp.ack_syndrome) == RN_AETH_RNR;
}

/* Copies the present state of the QP to its statistics record, which other
 * processes read.
 */
static inline void rn_qp_publish(struct rn_qp *qp)
{
	struct rn_stats_qp *s = qp->stats;

	if (!s)
		return;
	__atomic_store_n(&s->state, (uint8_t)qp->state, __ATOMIC_RELAXED);
	__atomic_store_n(&s->sq_depth, rn_wq_count(&qp->req.sq), __ATOMIC_RELAXED);
	__atomic_store_n(&s->rq_depth, rn_wq_count(&qp->rsp.rq), __ATOMIC_RELAXED);
	__atomic_store_n(&s->sq_psn, qp->req.next_psn.v, __ATOMIC_RELAXED);
	__atomic_store_n(&s->rq_psn,
			 qp->rsp.exp_psn.v |
				 (rn_rsp_lacks_recv(qp) ? RN_STATS_NO_RECV : 0) |
				 (qp->req.was_answered ? RN_STATS_ANSWERED : 0),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&s->mig_state, (uint8_t)qp->attr.mig_state, __ATOMIC_RELAXED);
}

#define RN_MSN_MASK 0xffffffu

/* Returns the MSN that will count the message in progress when it is complete. */
static inline uint32_t rn_rsp_next_msn(const struct rn_qp *qp)
{
	return (qp->rsp.msn + 1) & RN_MSN_MASK;
}

static inline bool rn_gid_is(const struct rn_gid *a, const struct rn_gid *b)
{
	return memcmp(a->raw, b->raw, sizeof(a->raw)) == 0;
}

/* Returns true if a received packet with the flow @in comes from the peer to which the QP
 * sends packets with the flow @out.
 */
static inline bool rn_flow_is_back(const struct rn_flow *in, const struct rn_flow *out)
{
	return rn_gid_is(&in->src, &out->dst) && rn_gid_is(&in->dst, &out->src) &&
	       (!rn_gid_is_link_local(&in->src) || in->ifindex == out->ifindex);
}

/* Returns the value of the MigReq bit in the packets of @qp. */
static inline bool rn_apm_is_migrated(const struct rn_qp *qp)
{
	return qp->attr.mig_state == RN_MIG_MIGRATED;
}

/* Returns true if the QP type acknowledges, retransmits, and executes READs and atomics:
 * RC and both XRC types.
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

/* Returns the SGEs (or inline bytes) of a send WQE. They are stored behind its atomic,
 * bind or UD part.
 */
static inline void *rn_wqe_sge(const struct rn_qp *qp, struct rn_send_wqe *wqe)
{
	uint8_t *p = (uint8_t *)(wqe + 1);

	if (qp->type == RN_QPT_UD)
		return p + RN_WQE_UD_PART;
	if (rn_wr_info[wqe->opcode].answer == RN_ANSWER_ATOMIC)
		return p + RN_WQE_ATOMIC_PART;
	return p;
}

/* Completes the receive WQE at rq.head and removes it from the queue. @c: contents of the
 * CQE, except wr_id, which this function fills in.
 */
void rn_qp_complete_recv(struct rn_qp *qp, rn_ns now, struct rn_completion *c);
/* Completes the receive WQE at rq.head with error @status and removes it. */
void rn_qp_fail_recv(struct rn_qp *qp, rn_ns now, enum rn_wc_status status);
/* For UC and UD: completes with an error a receive WQE of the SRQ that is shorter than
 * the message. The QP stays usable (IBTA Vol 1, 9.9.3, class E).
 */
void rn_qp_recv_too_short(struct rn_qp *qp, rn_ns now);
/* Fills in @flow from an address vector: the source from the GID table, and the
 * destination. Return: true; false if the entry of the GID table is unused.
 */
bool rn_qp_flow(const struct rn_dev *dev, const struct rn_av *av, struct rn_flow *flow);

/* ----------------------------------------------------------------- modify.c */
/**
 * rn_qp_modify_check() - Check whether a change of state is legal with these attributes
 * @type:	Type of the queue pair
 * @from:	State it is in
 * @to:		State asked for; @from if the call does not contain RN_ATTR_STATE
 * @attrs:	RN_ATTR_* bits that the call contains
 *
 * Checks which attributes are given, not their values. The caller checks that the
 * value of RN_ATTR_CUR_STATE is the present state, and whether a draining queue may
 * be modified.
 *
 * Return: 0; -EINVAL if there is no such transition (or type, or state), an attribute
 *	   that it requires is missing, or one is given that is neither required, optional
 *	   nor RN_ATTR_STATE.
 *
 * IBTA Vol 1, QP state transitions; the sets are those of Linux (ib_modify_qp_is_ok), but
 * for RN_ATTR_RATE_LIMIT.
 */
int rn_qp_modify_check(enum rn_qp_type type, enum rn_qp_state from, enum rn_qp_state to,
		       uint32_t attrs);

/* Returns true if packet @p, which came by another path than the primary one of the QP,
 * has the MigReq bit set and came by the alternate path, so that the QP has to migrate.
 * If the MigReq bit is set but the path is unknown, raises PATH_MIG_ERR the first time.
 */
bool rn_apm_takes(struct rn_qp *qp, const struct rn_packet *p);
/* Updates the migration state for a received packet: the QP may migrate or become ARMED.
 * Called when the headers of the packet have passed all checks, before anything else is
 * done with it.
 */
void rn_apm_received(struct rn_qp *qp, const struct rn_packet *p);
/* Called when no transport retry is left. Return: true if the QP has migrated to its
 * alternate path, and may use all retries again; false if it cannot.
 */
bool rn_apm_escape(struct rn_qp *qp);

/* ------------------------------------------------- requester.c, send_queue.c */
/* Builds the next request packet of the QP. Return: its length in bytes; 0 if no request
 * may leave now.
 */
uint32_t rn_req_build(struct rn_qp *qp, rn_ns now, struct rn_build *b);
void rn_req_reset(struct rn_qp *qp); /* at RESET: initialises the requester */
/* At RTS: starts the requester with the attributes that are now valid (sq_psn
 * and others).
 */
void rn_req_rts(struct rn_qp *qp, rn_ns now);
/* Called when the QP goes from RTS to SQD. No further WQE starts from now on; those that
 * have started still complete.
 */
void rn_req_sqd(struct rn_qp *qp, rn_ns now);
/* Completes all WQEs of the send queue with flush errors. */
void rn_req_flush(struct rn_qp *qp, rn_ns now);
void rn_req_mem_done(struct rn_qp *qp, rn_ns now, enum rn_mem_result result);
bool rn_req_idle(const struct rn_qp *qp);

/* ------------------------------------------------------------- retransmit.c */
/* RC: processes an ACK, NAK, READ response or atomic response. The caller has checked the
 * state of the QP and the path of the packet.
 */
void rn_req_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
/* Performs what is due in the requester at @now, such as a retransmission. */
void rn_req_expire(struct rn_qp *qp, rn_ns now);

/* -------------------------------------------------- responder.c, response.c */
void rn_rsp_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
void rn_uc_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);
/* Builds the next READ or atomic response of the QP. Return: its length in bytes; 0 if
 * there is no response to build.
 */
uint32_t rn_rsp_build(struct rn_qp *qp, rn_ns now, struct rn_build *b);
/* Builds the acknowledgement that is due. Return: its length in bytes; 0 if none is due,
 * or if READ or atomic responses have to leave before it.
 */
uint32_t rn_rsp_build_ack(struct rn_qp *qp, rn_ns now, struct rn_build *b);
void rn_rsp_reset(struct rn_qp *qp);
/* At RTR: starts the responder with the attributes that are now valid (rq_psn
 * and others).
 */
void rn_rsp_rtr(struct rn_qp *qp);
/* Completes all WQEs of the receive queue with flush errors. */
void rn_rsp_flush(struct rn_qp *qp, rn_ns now);
void rn_rsp_mem_done(struct rn_qp *qp, rn_ns now, uint64_t tag,
		     enum rn_mem_result result);
/* Returns true if READ or atomic responses can be built. */
bool rn_rsp_work_due(const struct rn_qp *qp);

/* --------------------------------------------------------------- datagram.c */
void rn_ud_receive(struct rn_qp *qp, rn_ns now, const struct rn_packet *p);

#endif /* RN_QP_H */
