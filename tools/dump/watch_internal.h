/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_internal.h - a watch from the inside. */
#ifndef RN_ROCE_WATCH_INTERNAL_H
#define RN_ROCE_WATCH_INTERNAL_H

#include <sys/queue.h>

#include "rocin/mad.h"
#include "rocin/psn.h"
#include "watch.h"

enum {
	RN_WATCH_RECORDS_MAX = 65536, /* requests remembered per half */
	RN_WATCH_CALLS = 64,	      /* REQs that wait for their REP */
	/* PSNs further away than this belong to another connection. */
	RN_WATCH_FAR = 1 << 17,
	/* The same of a packet that begins a message, as the first of a connection does.
	 * A capture may lose as many: then a gap is taken for another connection, which
	 * accuses nobody. Of random first PSNs one in 60 000 is nearer than that.
	 */
	RN_WATCH_FAR_MESSAGE = 1 << 8,
	RN_WATCH_NO_DEPTH = 256, /* depth that nobody has told */
};

/* A request packet, as it was sent first. */
struct rn_watch_record {
	struct rn_psn psn;
	uint32_t span;	       /* PSNs; 0: a READ whose PMTU is not known yet */
	bool is_span_inferred; /* from the request behind it: that many at most */
	uint8_t opcode;
	bool is_resent, is_asked_anew; /* anew: a READ, from its middle on */
	bool is_done;		       /* READs and atomics: answered in full */
	/* Asked anew from @anew_at on, when what was asked before had got further: what
	 * comes from there is the answer to this.
	 */
	bool is_anew_known;
	uint32_t anew_at; /* in PSNs */
	uint32_t payload_len;
	uint32_t got;	 /* READ responses: PSNs that came in order */
	uint32_t beyond; /* and behind a gap: one more than the last of them */
	uint64_t va;
	uint32_t rkey, dma_len;
	uint64_t swap_add, compare;
	uint32_t messages; /* completed up to here, this one included */
	bool ends_message;
	rn_ns first_at, last_at;
};

/* What the responder last said no to. */
struct rn_watch_nak {
	bool is_seq, is_rnr, is_fatal;
	bool is_heeded; /* requests have begun to come again */
	struct rn_psn psn;
	rn_ns until; /* of an RNR NAK: no request before */
};

struct rn_watch_flow {
	struct rn_watch_half half;
	uint32_t peer; /* index, or RN_WATCH_NONE */
	/* Only this peer can be the one: of all that asked, nobody else had sent what it
	 * answered.
	 */
	bool is_sure;
	bool is_loose; /* in the list: requests whose peer is not sure */
	LIST_ENTRY(rn_watch_flow) loose;
	/* In packets of the watch: the connection may have begun, asked last, got its
	 * peer; was answered last, surely.
	 */
	uint64_t begun, asked, paired, confirmed;
	struct rn_watch_flow
		*answered; /* by the last response that went by this; or NULL */
	uint64_t answered_at;
	/* The other direction has begun anew: with the next PSN that does not follow, so
	 * does this one.
	 */
	bool may_restart;
	/* A response may have been its or another's; or what was answered, or refused
	 * for good, was sent again: the answer was lost behind the listener, or it is
	 * another connection of the same queue pairs with the same PSNs. Until what is
	 * sent from @doubt_to on is answered nobody knows.
	 */
	bool is_doubted;
	struct rn_psn doubt_from; /* of what was sent again meanwhile */
	struct rn_psn doubt_to;

	/* Requests. */
	bool has_begun;
	struct rn_psn first;	 /* that was seen of this connection */
	struct rn_psn oldest;	 /* of those that are remembered, or came late */
	struct rn_psn next;	 /* behind the newest */
	struct rn_psn una;	 /* oldest that is not acknowledged */
	struct rn_psn resent_to; /* behind the last that was sent again */
	struct rn_psn recover;	 /* going back ends here: behind what was sent before */
	struct rn_watch_record *record; /* ring of @room, a power of two */
	uint32_t room, head, count;
	bool knows_message; /* what is in progress: false behind a gap */
	uint8_t kind;	    /* enum rn_op_kind in progress, or 0 */
	uint32_t dma_len, message_len;
	uint32_t messages;
	uint32_t depth; /* READs and atomics that the connection was made for */

	/* Responses. */
	struct rn_watch_nak nak;
	bool has_msn;		 /* @msn_low and @msn_high are valid */
	struct rn_psn msn_since; /* records before are counted wrongly */
	uint32_t msn_ref;	 /* MSN = reference + offset + messages counted here */
	int32_t msn_low, msn_high;
	bool has_credits;
	uint32_t credit_limit; /* in messages counted here */

	struct rn_watch_bucket *bucket;
};

/* A REQ: who called, and with what. */
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
	uint32_t *index; /* hash table of flow numbers + 1, twice the room of @flow */
	struct rn_watch_call call[RN_WATCH_CALLS];
	uint32_t next_call;
};

/* One packet on its way through. */
struct rn_watch_job {
	struct rn_watch *w;
	rn_ns at;
	const struct rn_packet *p;
	struct rn_watch_verdict *out;
	bool is_muted; /* nobody knows whose response it is: it breaks no rule */
};

/* Say that @rule is broken; @fmt may be "". */
void rn_watch_say(struct rn_watch_job *job, enum rn_watch_rule rule, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The flow of this key, made if need be; NULL without memory. */
uint32_t rn_watch_number(const struct rn_watch *w, const struct rn_watch_flow *f);

/* Of two halves that become a pair what responses told before is forgotten. */
void rn_watch_pair(struct rn_watch *w, struct rn_watch_flow *a, struct rn_watch_flow *b,
		   bool is_sure);

/* They may belong to others by now. */
void rn_watch_loosen(struct rn_watch *w, struct rn_watch_flow *f);

/* @f begins anew: its connection is over, and the other direction begins anew as well.
 * But if it got its peer since it asked last, that may have been by the new one.
 */
void rn_watch_part(struct rn_watch *w, struct rn_watch_flow *f);

/* Until all is answered that was sent so far its responses break no rule. */
void rn_watch_doubt(struct rn_watch_flow *f);
void rn_watch_believe(struct rn_watch_flow *f);

/* Whose requests are answered by a response that goes by @f; NULL: nobody knows. */
struct rn_watch_flow *rn_watch_asker(struct rn_watch_job *job, struct rn_watch_flow *f);

/* Forget all but the counts: a connection begins with @psn. Its peer stays. */
void rn_watch_begin(struct rn_watch *w, struct rn_watch_flow *f, struct rn_psn psn);

void rn_watch_alone(struct rn_watch_job *job);
void rn_watch_request(struct rn_watch_job *job, struct rn_watch_flow *f);
void rn_watch_datagram(struct rn_watch_job *job, struct rn_watch_flow *f);
void rn_watch_response(struct rn_watch_job *job, struct rn_watch_flow *f);

/* The record that @psn lies in, or NULL. */
struct rn_watch_record *rn_watch_record(struct rn_watch_flow *f, struct rn_psn psn);

static inline struct rn_watch_record *rn_watch_at(struct rn_watch_flow *f, uint32_t i)
{
	return &f->record[(f->head + i) & (f->room - 1)];
}

/* Index of the first record that ends behind @psn; f->count if there is none. */
uint32_t rn_watch_search(struct rn_watch_flow *f, struct rn_psn psn);

/* A READ's PMTU became known: how many PSNs it has. */
void rn_watch_learn_mtu(struct rn_watch_flow *f, uint32_t pmtu);

static inline bool rn_watch_is_answered(uint8_t opcode)
{
	return rn_opcode_info[opcode].flags & RN_OP_ANSWERED;
}

/* ---- Counting ---- */

void rn_watch_count_request(struct rn_watch_job *job, struct rn_watch_flow *f);
void rn_watch_count_done(struct rn_watch_flow *f, rn_ns at, uint64_t bytes);
void rn_watch_count_rtt(struct rn_watch_flow *f, rn_ns at, rn_ns rtt);
void rn_watch_count_window(struct rn_watch_flow *f, rn_ns at);

/* @credits: as the AETH says, or RN_CREDITS_UNLIMITED. */
void rn_watch_count_credits(struct rn_watch_flow *f, rn_ns at, uint32_t credits);
void rn_watch_count_nak(struct rn_watch_flow *f, rn_ns at);

#endif /* RN_ROCE_WATCH_INTERNAL_H */
