/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_internal.h - declarations shared by the files watch*.c. */
#ifndef RN_ROCE_WATCH_INTERNAL_H
#define RN_ROCE_WATCH_INTERNAL_H

#include <sys/queue.h>

#include "rocin/mad.h"
#include "rocin/psn.h"
#include "watch.h"

enum {
	RN_WATCH_RECORDS_MAX = 65536, /* requests that are kept per half */
	RN_WATCH_CALLS = 64,	      /* REQs that are kept until their REP comes */
	/* If a PSN is further than this from the expected one, it belongs to another
	 * connection.
	 */
	RN_WATCH_FAR = 1 << 17,
	/* The same limit for the first packet of a message, which may be the first of a
	 * new connection. If a capture misses more packets than this, the gap is taken
	 * for a new connection, and no rule is broken. When a new connection has a random
	 * first PSN, it lies within this limit in one of 60 000 cases.
	 */
	RN_WATCH_FAR_MESSAGE = 1 << 8,
	RN_WATCH_NO_DEPTH = 256, /* stands for an unknown number of outstanding READs */
};

/* A request packet, as it was first sent. */
struct rn_watch_record {
	struct rn_psn psn;
	uint32_t span; /* number of PSNs; 0: a READ while the PMTU is unknown */
	/* @span is only an upper limit, which follows from the PSN of the next request.
	 */
	bool is_span_inferred;
	uint8_t opcode;
	/* Sent again; a READ was sent again for its remaining data. */
	bool is_resent, is_asked_anew;
	bool is_done; /* READs and atomics: all responses were seen */
	/* The rest of the READ was requested from @anew_at on, after responses beyond
	 * that point had been seen. So a response at @anew_at answers the new request.
	 */
	bool is_anew_known;
	uint32_t anew_at; /* in PSNs from the start of the READ */
	uint32_t payload_len;
	uint32_t got;	 /* number of READ responses that came in order */
	uint32_t beyond; /* READ responses seen behind a gap: last one, plus 1 */
	uint64_t va;
	uint32_t rkey, dma_len;
	uint64_t swap_add, compare;
	/* Messages that are complete with this packet, counted from the start. */
	uint32_t messages;
	bool ends_message;
	rn_ns first_at, last_at;
};

/* The last NAK of the responder. */
struct rn_watch_nak {
	bool is_seq, is_rnr, is_fatal;
	bool is_heeded; /* the requester has begun to send again */
	struct rn_psn psn;
	rn_ns until; /* RNR NAK: time before which no request may be sent */
};

struct rn_watch_flow {
	struct rn_watch_half half;
	uint32_t peer; /* number of the half in the other direction, or RN_WATCH_NONE */
	/* The peer is certain: when it answered, this half alone had sent the request. */
	bool is_sure;
	bool is_loose; /* in the list of halves with requests whose peer is not certain */
	LIST_ENTRY(rn_watch_flow) loose;
	/* Numbers of packets of the watch: when the connection may have begun, when the
	 * last request came, when the peer was assigned, and when the last response
	 * certainly came from this peer.
	 */
	uint64_t begun, asked, paired, confirmed;
	struct rn_watch_flow
		/* The half whose request the last response of this half's sender
		 * answered, or NULL.
		 */
		*answered;
	uint64_t answered_at;
	/* The other direction began a new connection, so the next PSN here that is not
	 * the expected one begins a new connection, too.
	 */
	bool may_restart;
	/* The state of the half is in doubt, for one of two reasons. A response may
	 * answer this half or another one. Or a request that was answered, or refused for
	 * good, came again: either the response was lost behind the listener, or a new
	 * connection uses the same QPs and PSNs. The doubt ends when a request from
	 * @doubt_to on is answered.
	 */
	bool is_doubted;
	/* Oldest PSN that was sent again since the doubt began. */
	struct rn_psn doubt_from;
	struct rn_psn doubt_to;

	/* The fields from here on describe the requests of this half. */
	bool has_begun;
	struct rn_psn first; /* first PSN seen of this connection */
	/* Oldest PSN of a kept record, or of a packet that came late. */
	struct rn_psn oldest;
	struct rn_psn next;	 /* PSN after the newest request */
	struct rn_psn una;	 /* oldest PSN that is not acknowledged */
	struct rn_psn resent_to; /* PSN after the last request that was sent again */
	/* First PSN after everything that was sent before the requester went back to send
	 * again; requests from this PSN on are new.
	 */
	struct rn_psn recover;
	struct rn_watch_record *record; /* ring of records; @room is a power of two */
	uint32_t room, head, count;
	/* The state of the current message is known; false after a gap. */
	bool knows_message;
	uint8_t kind; /* enum rn_op_kind of the message in progress, 0 if none */
	uint32_t dma_len, message_len;
	uint32_t messages;
	/* Outstanding READs and atomics that the connection was set up for. */
	uint32_t depth;

	/* The fields from here on describe the responses to them. */
	struct rn_watch_nak nak;
	bool has_msn;		 /* @msn_low and @msn_high are valid */
	struct rn_psn msn_since; /* records before this PSN have wrong message counts */
	/* MSN = msn_ref + an offset in [msn_low, msn_high] + messages counted here. */
	uint32_t msn_ref;
	int32_t msn_low, msn_high;
	bool has_credits;
	uint32_t credit_limit; /* as a number of messages counted here */

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
	/* Hash table of numbers in @flow, plus 1; twice as large as @flow. */
	uint32_t *index;
	struct rn_watch_call call[RN_WATCH_CALLS];
	uint32_t next_call;
};

/* A packet that is being judged, and its verdict. */
struct rn_watch_job {
	struct rn_watch *w;
	rn_ns at;
	const struct rn_packet *p;
	struct rn_watch_verdict *out;
	/* The request that this response answers is not known, so the response breaks no
	 * rule.
	 */
	bool is_muted;
};

/* Adds a finding to the verdict: @rule is broken. @fmt may be "". */
void rn_watch_say(struct rn_watch_job *job, enum rn_watch_rule rule, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The number of a half. */
uint32_t rn_watch_number(const struct rn_watch *w, const struct rn_watch_flow *f);

/* Makes two halves a pair. What earlier responses told about them is dropped. */
void rn_watch_pair(struct rn_watch *w, struct rn_watch_flow *a, struct rn_watch_flow *b,
		   bool is_sure);

/* The peer of this half is no longer certain. */
void rn_watch_loosen(struct rn_watch *w, struct rn_watch_flow *f);

/* The connection of @f is over and a new one begins; the other direction begins anew as
 * well, unless @f got its peer after its last request: this may have been the new
 * connection's.
 */
void rn_watch_part(struct rn_watch *w, struct rn_watch_flow *f);

/* Puts @f in doubt: until all requests sent so far are answered, its responses break no
 * rule. rn_watch_believe() ends the doubt.
 */
void rn_watch_doubt(struct rn_watch_flow *f);
void rn_watch_believe(struct rn_watch_flow *f);

/* The half that carries the requests to which the packet of @job, sent towards the
 * requester of @f, is a response; NULL if unknown.
 */
struct rn_watch_flow *rn_watch_asker(struct rn_watch_job *job, struct rn_watch_flow *f);

/* Drops the state of a half, except its counters and its peer: a new connection begins
 * with @psn.
 */
void rn_watch_begin(struct rn_watch *w, struct rn_watch_flow *f, struct rn_psn psn);

void rn_watch_alone(struct rn_watch_job *job);
void rn_watch_request(struct rn_watch_job *job, struct rn_watch_flow *f);
void rn_watch_datagram(struct rn_watch_job *job, struct rn_watch_flow *f);
void rn_watch_response(struct rn_watch_job *job, struct rn_watch_flow *f);

/* The record of the request that PSN @psn belongs to, or NULL. */
struct rn_watch_record *rn_watch_record(struct rn_watch_flow *f, struct rn_psn psn);

static inline struct rn_watch_record *rn_watch_at(struct rn_watch_flow *f, uint32_t i)
{
	return &f->record[(f->head + i) & (f->room - 1)];
}

/* Index of the first record that ends after @psn; f->count if there is none. */
uint32_t rn_watch_search(struct rn_watch_flow *f, struct rn_psn psn);

/* The PMTU has become known, so the number of PSNs of READs is known, too. */
void rn_watch_learn_mtu(struct rn_watch_flow *f, uint32_t pmtu);

static inline bool rn_watch_is_answered(uint8_t opcode)
{
	return rn_opcode_info[opcode].flags & RN_OP_ANSWERED;
}

/* ---- Counters ---- */

void rn_watch_count_request(struct rn_watch_job *job, struct rn_watch_flow *f);
void rn_watch_count_done(struct rn_watch_flow *f, rn_ns at, uint64_t bytes);
void rn_watch_count_rtt(struct rn_watch_flow *f, rn_ns at, rn_ns rtt);
void rn_watch_count_window(struct rn_watch_flow *f, rn_ns at);

/* @credits:	as in the AETH, or RN_CREDITS_UNLIMITED. */
void rn_watch_count_credits(struct rn_watch_flow *f, rn_ns at, uint32_t credits);
void rn_watch_count_nak(struct rn_watch_flow *f, rn_ns at);

#endif /* RN_ROCE_WATCH_INTERNAL_H */
