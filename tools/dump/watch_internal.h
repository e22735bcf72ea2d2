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
	/* A packet whose PSN is farther than this from the expected PSN belongs to
	 * another connection.
	 */
	RN_WATCH_FAR = 1 << 17,
	/* The same limit for the first packet of a message. It is smaller, because a new
	 * connection begins with such a packet. If the capture has a gap that is longer
	 * than this limit, the packet behind it counts as the beginning of a new
	 * connection, and breaks no rule. The first PSN of a new connection is random,
	 * and lies within the limit in one of 60 000 cases.
	 */
	RN_WATCH_FAR_MESSAGE = 1 << 8,
	/* number of READs that are assumed to be allowed at a time if the number is not
	 * known
	 */
	RN_WATCH_NO_DEPTH = 256,
};

/* A request that was captured, with the values that it had when it was first sent. */
struct rn_watch_record {
	struct rn_psn psn;
	/* Number of PSNs that the request uses. 0: not known, because it is a READ and
	 * the path MTU is not known.
	 */
	uint32_t span;
	/* @span is only an upper limit, inferred from the PSN of the next request. */
	bool is_span_inferred;
	uint8_t opcode;
	/* @is_resent: the request was sent again. @is_asked_anew: the request is a READ,
	 * and the requester has requested the rest of its data again.
	 */
	bool is_resent, is_asked_anew;
	bool is_done; /* READs and atomics: all responses were captured */
	/* When the requester requested the rest of this READ again (from @anew_at on),
	 * later responses to the first request had already been captured. So a response
	 * at @anew_at answers the new request.
	 */
	bool is_anew_known;
	/* Distance in PSNs from the first PSN of this READ to the first PSN of the rest
	 * that the requester has requested again; 0: it has requested nothing again.
	 */
	uint32_t anew_at;
	uint32_t payload_len;
	uint32_t got; /* number of READ responses that have come in order */
	/* If READ responses are missing: number of responses of this READ up to and
	 * including the last one that has come behind the gap.
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

/* The last NAK for a request of a half-connection. */
struct rn_watch_nak {
	bool is_seq, is_rnr, is_fatal;
	/* the requester has begun to send again, from the PSN that the NAK demands */
	bool is_heeded;
	struct rn_psn psn;
	rn_ns until; /* RNR NAK: earliest time at which a request may be sent again */
};

struct rn_watch_flow {
	struct rn_watch_half half;
	/* number of the half-connection in the other direction, or RN_WATCH_NONE */
	uint32_t peer;
	/* The peer is certain, because it has answered a request that no other
	 * half-connection had sent.
	 */
	bool is_sure;
	/* this half-connection is in the list of those that have requests but no certain
	 * peer
	 */
	bool is_loose;
	LIST_ENTRY(rn_watch_flow) loose;
	/* Positions in the capture, as packet numbers. @begun: first packet of the
	 * connection, as far as known. @asked: last request. @paired: packet at which the
	 * peer was assigned. @confirmed: last response that certainly came from this
	 * peer.
	 */
	uint64_t begun, asked, paired, confirmed;
	struct rn_watch_flow
		/* The half-connection to which the last response belonged that came from
		 * the sender of this one; NULL: none yet.
		 */
		*answered;
	uint64_t answered_at;
	/* The half-connection in the other direction has begun a new connection. So the
	 * next packet of this one that has an unexpected PSN begins a new connection,
	 * too.
	 */
	bool may_restart;
	/* The state of the half-connection is uncertain, for one of two reasons. A
	 * response has come that may answer a request of this half-connection or of
	 * another one. Or a request has come again that had been answered, or refused by
	 * a fatal NAK: either its response was lost after the place of the capture, or a
	 * new connection uses the same QPs and PSNs. The state is certain again when a
	 * request with a PSN from @doubt_to on is answered.
	 */
	bool is_doubted;
	/* Oldest PSN that was sent again since the state became uncertain. */
	struct rn_psn doubt_from;
	struct rn_psn doubt_to;

	/* The members from here to @depth are about the requests of this half-connection.
	 */
	bool has_begun;
	struct rn_psn first; /* first PSN of this connection that was captured */
	/* Oldest PSN that has a record, or that was captured late. */
	struct rn_psn oldest;
	struct rn_psn next;	 /* PSN after the newest request */
	struct rn_psn una;	 /* oldest PSN that is not acknowledged */
	struct rn_psn resent_to; /* PSN after the last request that was sent again */
	/* The requester has gone back to send requests again. This is the PSN after the
	 * last one that it had sent before, so requests from here on are new.
	 */
	struct rn_psn recover;
	struct rn_watch_record *record; /* ring of records; @room is a power of two */
	uint32_t room, head, count;
	/* It is known which message is in progress. False after a gap. */
	bool knows_message;
	uint8_t kind; /* enum rn_op_kind of the message in progress; 0: none is */
	uint32_t dma_len, message_len;
	uint32_t messages;
	/* Maximum number of READs and atomics in progress that the two sides have agreed
	 * on.
	 */
	uint32_t depth;

	/* The members from here on are about the responses to these requests. */
	struct rn_watch_nak nak;
	bool has_msn; /* @msn_low and @msn_high are valid */
	/* Requests are missing in the capture before this PSN, so @messages of earlier
	 * records is wrong.
	 */
	struct rn_psn msn_since;
	/* The MSN of the responder is not known exactly. It is @msn_ref, plus an offset
	 * between @msn_low and @msn_high, plus the number of messages that are counted
	 * here.
	 */
	uint32_t msn_ref;
	int32_t msn_low, msn_high;
	bool has_credits;
	/* number of messages that the requester may send in all, according to the credits
	 */
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
	/* Hash table with twice as many entries as @flow. An entry is an index in @flow
	 * plus 1; 0: the entry is free.
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
	/* It is not known which request this response answers. So no broken rule is
	 * reported about it.
	 */
	bool is_muted;
};

/* Adds to the verdict that @rule is broken. @fmt and the arguments after it, as for
 * printf(), name the values that break it; @fmt may be "".
 */
void rn_watch_say(struct rn_watch_job *job, enum rn_watch_rule rule, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the number of @f: its index for rn_watch_half(). */
uint32_t rn_watch_number(const struct rn_watch *w, const struct rn_watch_flow *f);

/* Makes @a and @b each other's peers, that is the two directions of one connection. If
 * they were not peers before, forgets what earlier responses to their requests have
 * shown: the last NAK, the MSN and the credits. @is_sure: it is certain that @a and @b
 * belong together.
 */
void rn_watch_pair(struct rn_watch *w, struct rn_watch_flow *a, struct rn_watch_flow *b,
		   bool is_sure);

/* Makes it uncertain whether @f and its peer (the half-connection in the other direction)
 * belong together.
 */
void rn_watch_loosen(struct rn_watch *w, struct rn_watch_flow *f);

/* Ends the connection of @f, because a new connection begins. The half-connection in the
 * other direction begins anew, too. But if it was made the peer of @f after the last
 * request of @f, it may already belong to the new connection, and stays as it is.
 */
void rn_watch_part(struct rn_watch *w, struct rn_watch_flow *f);

/* Makes the state of @f uncertain. Until all requests that @f has sent so far have been
 * answered, no broken rules are reported about responses to @f. rn_watch_believe() makes
 * the state certain again.
 */
void rn_watch_doubt(struct rn_watch_flow *f);
void rn_watch_believe(struct rn_watch_flow *f);

/* Called for the response in @job. @f: the half-connection whose requests go to the same
 * QP as the response. Returns the half-connection whose request the response answers, or
 * NULL if that is not known.
 */
struct rn_watch_flow *rn_watch_asker(struct rn_watch_job *job, struct rn_watch_flow *f);

/* Resets the state of half-connection @f for a new connection that begins with @psn. Its
 * counters and its peer are not changed.
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

/* Returns the index of the first record of @f whose last PSN is @psn or a newer one.
 * Returns f->count if there is none.
 */
uint32_t rn_watch_search(struct rn_watch_flow *f, struct rn_psn psn);

/* Learns the path MTU from a packet that is not the last one of its message, so that its
 * payload of @len bytes fills the MTU. If @len can be a path MTU, stores it, and computes
 * how many PSNs each READ of @f uses.
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

/* Called when an AETH has granted @credits credits; RN_CREDITS_UNLIMITED: no limit. */
void rn_watch_count_credits(struct rn_watch_flow *f, rn_ns at, uint32_t credits);
void rn_watch_count_nak(struct rn_watch_flow *f, rn_ns at);

#endif /* RN_ROCE_WATCH_INTERNAL_H */
