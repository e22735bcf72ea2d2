/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.h - what a listener can say about the packets of RoCEv2 devices: who answers
 * whom, what is sent again and why, and which rule of the transport a packet breaks.
 *
 * Inputs   rn_watch_packet(), in the order of the capture
 * Outputs  a verdict for each packet; the counts of each half
 *
 * A "half" is the requests that go to one queue pair, with the responses to them. Packets
 * name only the queue pair that they go to: which two halves are a connection follows
 * from the connection manager's messages, or from the first response that fits.
 *
 * The listener stands somewhere between the two devices, may have come late, and may miss
 * packets; the network may lose, double and reorder them. What none of that explains is a
 * violation; what it could explain is a suspicion.
 *
 * Threads: none of these functions locks. One watch belongs to one thread. They open
 * nothing and read no clock.
 * Source: IBTA Vol 1 chapter 9, Annexes A14, A17, A19; rules by their names in
 * tests/rules.md.
 */
#ifndef RN_ROCE_WATCH_H
#define RN_ROCE_WATCH_H

#include "packet.h"

enum rn_watch_level {
	RN_WATCH_SUSPICION, /* a network that loses, doubles or reorders explains it, too
			     */
	RN_WATCH_VIOLATION,
};

enum rn_watch_rule {
	/* A packet alone. */
	RN_RULE_ICRC,
	RN_RULE_FRAGMENT,
	RN_RULE_IP_OPTIONS,
	RN_RULE_VERSION,
	RN_RULE_SHORT,
	RN_RULE_OPCODE,
	RN_RULE_DEST_QP,
	RN_RULE_PKEY,
	RN_RULE_PAD,
	RN_RULE_SOLICITED,
	RN_RULE_NO_PAYLOAD,
	RN_RULE_PAYLOAD_MAX,
	RN_RULE_LAST_EMPTY,
	RN_RULE_MTU_SIZE,
	RN_RULE_SYNDROME,
	RN_RULE_NAK_CODE,
	RN_RULE_RESPONSE_AETH,
	RN_RULE_DMALEN,
	RN_RULE_WRITE_LEN,
	RN_RULE_ATOMIC_ALIGN,
	RN_RULE_ATOMIC_WRITE,
	RN_RULE_MULTICAST,
	RN_RULE_MAD,
	RN_RULE_CNP,
	/* Requests in their order. */
	RN_RULE_GAP,
	RN_RULE_SEQUENCE,
	RN_RULE_MTU,
	RN_RULE_MESSAGE_LEN,
	RN_RULE_RESEND,
	RN_RULE_READ_AGAIN,
	RN_RULE_RNR_WAIT,
	RN_RULE_CREDIT,
	RN_RULE_DEPTH,
	/* Responses against requests. */
	RN_RULE_UNSENT,
	RN_RULE_ACK_KIND,
	RN_RULE_ACK_OVER,
	RN_RULE_RESPONSE_KIND,
	RN_RULE_READ_ORDER,
	RN_RULE_READ_RESTART,
	RN_RULE_READ_LEN,
	RN_RULE_READ_GAP,
	RN_RULE_MSN,
	RN_RULE_RNR_KIND,
	RN_RULE_NAK_AGAIN,
	RN_RULE_AFTER_NAK,
	RN_RULE_COUNT
};

struct rn_watch_rule_info {
	const char *name; /* "icrc": for people and for JSON */
	const char *test; /* "A1": in tests/rules.md */
	const char *source;
	enum rn_watch_level level;
	const char *says;
};

extern const struct rn_watch_rule_info rn_watch_rule_info[RN_RULE_COUNT];

enum {
	RN_WATCH_FINDINGS = 6, /* of one packet */
	RN_WATCH_DETAIL = 96,
	RN_WATCH_HALVES_MAX = 16384,
	RN_WATCH_BUCKETS = 128, /* of time */
	RN_WATCH_RTT_BUCKETS = 160,
};

struct rn_watch_finding {
	enum rn_watch_rule rule;
	enum rn_watch_level level;
	char detail[RN_WATCH_DETAIL]; /* "PMTU 1024, payload 1000"; may be empty */
};

/* Why a request is sent again, as far as a listener can tell. */
enum rn_watch_cause {
	RN_CAUSE_NONE,	 /* it is not */
	RN_CAUSE_DOUBLE, /* too soon: the network or the capture has it twice */
	RN_CAUSE_LATE,	 /* for the first time here: late, or lost on its way before */
	RN_CAUSE_NAK,
	RN_CAUSE_RNR,
	RN_CAUSE_READ_GAP, /* the rest of a READ is asked for again */
	RN_CAUSE_TIMEOUT,
	RN_CAUSE_GO_BACK, /* follows one that was sent again */
	RN_CAUSE_COUNT
};

/* "after a NAK", ...; NULL for RN_CAUSE_NONE. */
const char *rn_watch_cause_text(enum rn_watch_cause cause);

enum {
	RN_WATCH_NONE = UINT32_MAX, /* no half */
};

/* What is to be said of one packet. */
struct rn_watch_verdict {
	uint32_t half; /* whose request it is or answers, or RN_WATCH_NONE */
	bool is_response;
	bool is_new;	   /* a request seen for the first time */
	bool is_duplicate; /* a response seen before, or older than one seen before */
	uint32_t missing;  /* PSNs skipped before this request */
	bool starts_anew;  /* PSNs that cannot go on those before: another connection */
	enum rn_watch_cause cause;
	rn_ns since; /* a request sent again: since it was sent last; a response: its RTT,
			or 0 */
	unsigned findings;
	struct rn_watch_finding finding[RN_WATCH_FINDINGS];
};

/* A slice of time. */
struct rn_watch_bucket {
	uint64_t bytes; /* of messages, acknowledged or read */
	uint32_t resent;
	uint32_t naks;
	uint32_t window;  /* PSNs under way at most */
	uint32_t credits; /* the fewest advertised, and 1; 0: none were */
	uint32_t rtts;
	rn_ns rtt_sum;
};

/* Requests in one direction, and what came back. */
struct rn_watch_counts {
	rn_ns first, last;   /* of any packet */
	uint64_t requests;   /* packets, those sent again included */
	uint64_t messages;   /* whole ones, each once */
	uint64_t sent_bytes; /* payload, each packet once */
	uint64_t done_bytes; /* of them acknowledged (UC, UD: sent), and those read */
	uint64_t resent, resent_bytes;
	uint64_t resends[RN_CAUSE_COUNT];
	uint64_t missing; /* PSNs never seen, or seen late */
	uint64_t responses;
	uint64_t acks, seq_naks, rnr_naks, fatal_naks, read_responses, duplicates;
	uint64_t marked, cnps; /* congestion: ECN CE, CNPs to the sender */
	uint32_t window_max;   /* PSNs under way */
	uint32_t credits;      /* the last advertised, or RN_CREDITS_UNLIMITED */
	uint64_t rtts;
	rn_ns rtt_min, rtt_max, rtt_sum;
	uint32_t rtt_bucket[RN_WATCH_RTT_BUCKETS];
	uint64_t violations, suspicions;
};

struct rn_watch_half {
	struct rn_gid src, dst;
	uint32_t qpn;	   /* the destination */
	uint32_t peer_qpn; /* of src, where responses go; valid if @is_paired */
	bool is_paired;
	enum rn_opcode_class class;
	uint32_t pmtu; /* 0: not known */
	struct rn_watch_counts n;
	rn_ns bucket_start, bucket_width;
	const struct rn_watch_bucket *bucket; /* RN_WATCH_BUCKETS, or NULL */
};

struct rn_watch;

/**
 * rn_watch_open() - Begin to listen
 * @is_strict:	The network and the capture lose, double and reorder nothing: every
 *		suspicion is a violation
 *
 * Return: NULL without memory.
 */
struct rn_watch *rn_watch_open(bool is_strict);
void rn_watch_close(struct rn_watch *w);

/**
 * rn_watch_packet() - Look at the next packet
 * @at:		When it was captured; it may be earlier than the one before
 * @out:	Out: the verdict
 *
 * Without memory for a new half the packet is looked at alone.
 */
void rn_watch_packet(struct rn_watch *w, rn_ns at, const struct rn_packet *p,
		     struct rn_watch_verdict *out);

/* Halves are numbered from 0 on. The pointer is valid until the next packet. */
uint32_t rn_watch_halves(const struct rn_watch *w);
const struct rn_watch_half *rn_watch_half(const struct rn_watch *w, uint32_t i);

/* The half of the other direction, or RN_WATCH_NONE. */
uint32_t rn_watch_peer(const struct rn_watch *w, uint32_t i);

/* Round trip that @share (0..1) of the measured ones do not exceed, within 19 %; 0 if
 * none was measured.
 */
rn_ns rn_watch_rtt(const struct rn_watch_half *half, double share);

#endif /* RN_ROCE_WATCH_H */
