/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_internal.h - declarations shared by the files watch*.c, which check captured
 * packets (watch.h).
 */
#ifndef RN_ROCE_WATCH_INTERNAL_H
#define RN_ROCE_WATCH_INTERNAL_H

#include <sys/queue.h>

#include "rocin/mad.h"
#include "rocin/wire.h"
#include "watch.h"

enum {
	/* maximum number of requests that are kept per half-connection */
	RN_WATCH_RECORDS_MAX = 65536,
	/* maximum number of REQs that are kept until their REP comes */
	RN_WATCH_CALLS = 64,
	/* A PSN that is farther than this from the expected one belongs to another
	 * connection.
	 */
	RN_WATCH_FAR = 1 << 17,
	/* Limit like the one above, for the first packet of a message. This one is
	 * smaller, because the first packet of a message is more likely to begin a new
	 * connection. A gap in the capture that is longer than this limit is treated as a
	 * new connection, and breaks no rule. The random first PSN of a new connection
	 * lies within the limit in one of 60 000 cases.
	 */
	RN_WATCH_FAR_MESSAGE = 1 << 8,
	/* maximum READs that are assumed to be outstanding where the number is unknown */
	RN_WATCH_NO_DEPTH = 256,
};

/* A request packet that was captured, with the values of its first transmission. */
struct rn_watch_record {
	struct rn_psn psn;
	/* Number of PSNs that the request uses. 0: not known, because it is a READ and
	 * the path MTU is not known.
	 */
	uint32_t span;
	/* @span is only an upper limit, which follows from the PSN of the next request.
	 */
	bool is_span_inferred;
	uint8_t opcode;
	/* The request was sent again; a READ was sent again for its remaining data. */
	bool is_resent, is_asked_anew;
	bool is_done; /* READs and atomics: all responses were captured */
	/* The rest of the READ, from @anew_at on, was requested again when responses
	 * behind that point had been captured already. So a response at @anew_at answers
	 * the new request.
	 */
	bool is_anew_known;
	/* Distance in PSNs from the first PSN of this READ to the first PSN of the rest
	 * that the requester has requested again; 0: it has requested nothing again.
	 */
	uint32_t anew_at;
	uint32_t payload_len;
	uint32_t got; /* number of READ responses that came in order */
	/* If READ responses were missing: number of responses up to and including the
	 * last one that came behind the gap.
	 */
	uint32_t beyond;
	uint64_t va;
	uint32_t rkey, dma_len;
	uint64_t swap_add, compare;
	/* Number of complete messages up to and including this packet. */
	uint32_t messages;
	bool ends_message;
	rn_ns first_at, last_at;
};

/* The last NAK that the responder of a half-connection has sent. */
struct rn_watch_nak {
	bool is_seq, is_rnr, is_fatal;
	bool is_heeded; /* the requester has begun to send again, as the NAK demands */
	struct rn_psn psn;
	rn_ns until; /* RNR NAK: earliest time at which a request may be sent again */
};

struct rn_watch_flow {
	struct rn_watch_half half;
	/* number of the half-connection in the other direction, or RN_WATCH_NONE */
	uint32_t peer;
	/* The peer is certain, because it has answered a request that only this
	 * half-connection had sent.
	 */
	bool is_sure;
	/* linked in the list of half-connections that have requests but no certain peer
	 */
	bool is_loose;
	LIST_ENTRY(rn_watch_flow) loose;
	/* Positions in the capture, as packet numbers. @begun: the packet with which the
	 * connection may have begun. @asked: its last request. @paired: the packet at
	 * which the peer was assigned. @confirmed: the last response that certainly came
	 * from this peer.
	 */
	uint64_t begun, asked, paired, confirmed;
	struct rn_watch_flow
		/* The half-connection whose request was answered by the last response
		 * that came from the sender of this half-connection; NULL: none yet.
		 */
		*answered;
	uint64_t answered_at;
	/* The half-connection in the other direction has begun a new connection. So the
	 * next packet of this one with an unexpected PSN begins a new connection, too.
	 */
	bool may_restart;
	/* The state of the half-connection is uncertain, for one of two reasons. A
	 * response may answer a request of this half-connection or of another one. Or a
	 * request came again that had been answered, or refused by a fatal NAK: either
	 * the response was lost after it was captured, or a new connection uses the
	 * same QPs and PSNs. The state is certain again when a request from @doubt_to
	 * on is answered.
	 */
	bool is_doubted;
	/* Oldest PSN that was sent again since the state became uncertain. */
	struct rn_psn doubt_from;
	struct rn_psn doubt_to;

	/* The fields from here to @depth describe the requests of this half-connection.
	 */
	bool has_begun;
	struct rn_psn first; /* first PSN seen of this connection */
	/* Oldest PSN of which this half-connection has a record, or that was captured
	 * late.
	 */
	struct rn_psn oldest;
	struct rn_psn next;	 /* PSN after the newest request */
	struct rn_psn una;	 /* oldest PSN that is not acknowledged */
	struct rn_psn resent_to; /* PSN after the last request that was sent again */
	/* The requester has gone back to send again. This is the PSN after everything
	 * that it had sent before; requests from here on are new.
	 */
	struct rn_psn recover;
	struct rn_watch_record *record; /* ring of records; @room is a power of two */
	uint32_t room, head, count;
	/* True if it is known which message is in progress; false after a gap. */
	bool knows_message;
	uint8_t kind; /* enum rn_op_kind of the message in progress, 0 if none */
	uint32_t dma_len, message_len;
	uint32_t messages;
	/* Maximum number of outstanding READs and atomics that was negotiated for
	 * the connection.
	 */
	uint32_t depth;

	/* The fields from here on describe the responses to these requests. */
	struct rn_watch_nak nak;
	bool has_msn; /* @msn_low and @msn_high are valid */
	/* First PSN since which message counts are right: the field @messages of records
	 * before it is wrong, because requests are missing in the capture.
	 */
	struct rn_psn msn_since;
	/* The MSN of the responder is not known exactly. It is msn_ref, plus an offset
	 * from msn_low to msn_high, plus the number of messages that are counted here.
	 */
	uint32_t msn_ref;
	int32_t msn_low, msn_high;
	bool has_credits;
	/* number of messages that the credits of the responder allow */
	uint32_t credit_limit;

	struct rn_watch_bucket *bucket;
};

/* A REQ of the connection manager that waits for its REP. */
struct rn_watch_call {
	bool is_used;
	struct rn_gid src, dst;
	uint32_t local_id, qpn, start_psn;
	uint32_t pmtu;
	uint8_t transport, resp_res, init_depth;
};

LIST_HEAD(rn_watch_loose, rn_watch_flow);

struct rn_watch {
	bool is_strict;
	uint64_t packets;
	struct rn_watch_loose loose;
	struct rn_watch_flow **flow;
	uint32_t flows, room;
	/* Hash table with twice as many entries as @flow; an entry is an index in @flow
	 * plus 1, or 0.
	 */
	uint32_t *index;
	struct rn_watch_call call[RN_WATCH_CALLS];
	uint32_t next_call;
};

/* A packet that is being checked, and the verdict about it. */
struct rn_watch_job {
	struct rn_watch *w;
	rn_ns at;
	const struct rn_packet *p;
	struct rn_watch_verdict *out;
	/* It is not known which request this response answers. So nothing is reported
	 * about it, even if it seems to break a rule.
	 */
	bool is_muted;
};

/* Adds to the verdict that @rule is broken. @fmt and the arguments behind it, as for
 * printf(), give the values that break it; @fmt may be "".
 */
void rn_watch_say(struct rn_watch_job *job, enum rn_watch_rule rule, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the number of @f: its index for rn_watch_half(). */
uint32_t rn_watch_number(const struct rn_watch *w, const struct rn_watch_flow *f);

/* Makes @a and @b each other's peers: the two directions of one connection. If they were
 * not peers before, drops what earlier responses to their requests have told: the last
 * NAK, the MSN and the credits. @is_sure: it is certain that they belong together.
 */
void rn_watch_pair(struct rn_watch *w, struct rn_watch_flow *a, struct rn_watch_flow *b,
		   bool is_sure);

/* Marks @f and its peer (the half-connection in the other direction) as perhaps not
 * belonging together.
 */
void rn_watch_loosen(struct rn_watch *w, struct rn_watch_flow *f);

/* Ends the connection of @f, because a new connection begins. The half-connection in the
 * other direction starts anew as well, unless it was made the peer of @f after the last
 * request of @f: then it may already belong to the new connection.
 */
void rn_watch_part(struct rn_watch *w, struct rn_watch_flow *f);

/* Marks the state of @f as uncertain. Until all requests that @f has sent so far are
 * answered, responses to @f are not reported as breaking a rule. rn_watch_believe() marks
 * the state as certain again.
 */
void rn_watch_doubt(struct rn_watch_flow *f);
void rn_watch_believe(struct rn_watch_flow *f);

/* The packet of @job is a response; @f is the half-connection whose requests go to the
 * same QP as this response. Returns the half-connection whose request it answers, or NULL
 * if that is not known.
 */
struct rn_watch_flow *rn_watch_asker(struct rn_watch_job *job, struct rn_watch_flow *f);

/* Resets the state of half-connection @f for a new connection that begins with @psn. The
 * counters and the peer stay as they are.
 */
void rn_watch_begin(struct rn_watch *w, struct rn_watch_flow *f, struct rn_psn psn);

void rn_watch_alone(struct rn_watch_job *job);
void rn_watch_request(struct rn_watch_job *job, struct rn_watch_flow *f);
void rn_watch_datagram(struct rn_watch_job *job, struct rn_watch_flow *f);
void rn_watch_response(struct rn_watch_job *job, struct rn_watch_flow *f);

/* Returns the record of the request that @psn belongs to, or NULL. */
struct rn_watch_record *rn_watch_record(struct rn_watch_flow *f, struct rn_psn psn);

static inline struct rn_watch_record *rn_watch_at(struct rn_watch_flow *f, uint32_t i)
{
	return &f->record[(f->head + i) & (f->room - 1)];
}

/* Returns the index of the first record (a request) of @f whose last PSN is @psn or a
 * newer one. Returns f->count if there is none.
 */
uint32_t rn_watch_search(struct rn_watch_flow *f, struct rn_psn psn);

/* Learns the path MTU from a packet that is not the last of its message, so that its
 * payload of @len bytes fills the MTU. If @len can be a path MTU, stores it, and computes
 * how many PSNs the READs of @f use.
 */
void rn_watch_learn_mtu(struct rn_watch_flow *f, uint32_t len);

static inline bool rn_watch_is_answered(uint8_t opcode)
{
	return rn_opcode_info[opcode].flags & RN_OP_ANSWERED;
}

/* ---- Counters of a half-connection (watch.c) ---- */

void rn_watch_count_request(struct rn_watch_job *job, struct rn_watch_flow *f);
void rn_watch_count_done(struct rn_watch_flow *f, rn_ns at, uint64_t bytes);
void rn_watch_count_rtt(struct rn_watch_flow *f, rn_ns at, rn_ns rtt);
void rn_watch_count_window(struct rn_watch_flow *f, rn_ns at);

/* Notes that an AETH has advertised @credits credits, or RN_CREDITS_UNLIMITED. */
void rn_watch_count_credits(struct rn_watch_flow *f, rn_ns at, uint32_t credits);
void rn_watch_count_nak(struct rn_watch_flow *f, rn_ns at);

#endif /* RN_ROCE_WATCH_INTERNAL_H */
