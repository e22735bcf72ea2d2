/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.h - judges captured packets of RoCEv2 devices: which requests a response answers,
 * which packets are sent again and why, and which rules of the transport a packet breaks.
 *
 * Inputs	rn_watch_packet(), in the order of the capture
 * Outputs	a verdict for each packet; counters for each half
 *
 * A "half" of a connection, or half-connection, is all requests that go to one queue
 * pair, with their responses. A packet names only its destination QP, so it does not say
 * which two half-connections make a connection. Messages of the connection manager say
 * so; without them it follows from the first response whose PSN fits.
 *
 * The capture is taken somewhere between the two devices, may have started late, and may
 * miss packets; the network may lose, duplicate and reorder packets. A broken rule is
 * called a violation if none of this can explain it, else a suspicion.
 *
 * Threads: these functions do not lock; a struct rn_watch belongs to one thread. They do
 * no I/O and read no clock. Source: IBTA Vol 1 chapter 9, Annexes A14, A17, A19; the
 * names of the rules are those of tests/rules.md.
 */
#ifndef RN_ROCE_WATCH_H
#define RN_ROCE_WATCH_H

#include "packet.h"

enum rn_watch_level {
	/* Loss, duplication or reordering in the network may also be the cause. */
	RN_WATCH_SUSPICION,
	RN_WATCH_VIOLATION,
};

enum rn_watch_rule {
	/* Rules about single packets. */
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
	/* Rules about the order of requests. */
	RN_RULE_GAP,
	RN_RULE_SEQUENCE,
	RN_RULE_MTU,
	RN_RULE_MESSAGE_LEN,
	RN_RULE_RESEND,
	RN_RULE_READ_AGAIN,
	RN_RULE_RNR_WAIT,
	RN_RULE_CREDIT,
	RN_RULE_DEPTH,
	/* Rules about responses and their requests. */
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
	const char *name; /* name in texts and JSON, such as "icrc" */
	const char *test; /* name in tests/rules.md, such as "A1" */
	const char *source;
	enum rn_watch_level level;
	const char *says;
};

extern const struct rn_watch_rule_info rn_watch_rule_info[RN_RULE_COUNT];

enum {
	RN_WATCH_FINDINGS = 6, /* maximum number of findings that are kept per packet */
	RN_WATCH_DETAIL = 96,
	RN_WATCH_HALVES_MAX = 16384,
	RN_WATCH_BUCKETS = 128, /* number of time slices in a diagram */
	RN_WATCH_RTT_BUCKETS = 160,
};

struct rn_watch_finding {
	enum rn_watch_rule rule;
	enum rn_watch_level level;
	/* the values that break the rule, as text: "PMTU 1024, payload 1000"; may
	 * be empty
	 */
	char detail[RN_WATCH_DETAIL];
};

/* Why a request was sent again, as far as the capture shows. */
enum rn_watch_cause {
	RN_CAUSE_NONE, /* the packet was not sent again */
	/* the packet came too soon to be a retransmission: duplicated by the network or
	 * in the capture
	 */
	RN_CAUSE_DOUBLE,
	/* Captured for the first time, but out of order: it was late, or lost before the
	 * place of the capture.
	 */
	RN_CAUSE_LATE,
	RN_CAUSE_NAK,
	RN_CAUSE_RNR,
	/* the requester requests the rest of a READ again, after a gap in the responses
	 */
	RN_CAUSE_READ_GAP,
	RN_CAUSE_TIMEOUT,
	/* The packet follows another request that was sent again, as go-back-N demands.
	 */
	RN_CAUSE_GO_BACK,
	RN_CAUSE_COUNT
};

/* Returns the cause as text, such as "after a NAK"; NULL for RN_CAUSE_NONE. */
const char *rn_watch_cause_text(enum rn_watch_cause cause);

enum {
	/* stands for "no half-connection" where a number is expected */
	RN_WATCH_NONE = UINT32_MAX,
};

/* What was found out about one packet. */
struct rn_watch_verdict {
	/* Number of the half-connection of the request, or of the answered request;
	 * RN_WATCH_NONE if unknown.
	 */
	uint32_t half;
	bool is_response;
	bool is_new; /* the packet is a request that is seen for the first time */
	/* the packet is a response seen before, or older than one seen before */
	bool is_duplicate;
	/* number of PSNs before this request that are missing in the capture */
	uint32_t missing;
	/* The PSN shows that a new connection begins. */
	bool starts_anew;
	enum rn_watch_cause cause;
	/* For a request that is sent again: the time since it was last sent. For a
	 * response: its round trip time; 0: not known.
	 */
	rn_ns since;
	unsigned findings;
	struct rn_watch_finding finding[RN_WATCH_FINDINGS];
};

/* Statistics of one time slice. */
struct rn_watch_bucket {
	uint64_t bytes; /* bytes of messages that were acknowledged or read */
	uint32_t resent;
	uint32_t naks;
	uint32_t window; /* maximum number of unacknowledged PSNs */
	/* The fewest credits advertised, plus 1; 0: none were advertised. */
	uint32_t credits;
	uint32_t rtts;
	rn_ns rtt_sum;
};

/* Counters of a half-connection: the requests in one direction and their responses. */
struct rn_watch_counts {
	rn_ns first, last;   /* time of the first and last packet */
	uint64_t requests;   /* number of request packets, including those sent again */
	uint64_t messages;   /* number of complete messages, each counted once */
	uint64_t sent_bytes; /* number of bytes of payload; each packet is counted once */
	/* Payload bytes that were acknowledged (on UC and UD: sent), and bytes that
	 * were read.
	 */
	uint64_t done_bytes;
	uint64_t resent, resent_bytes;
	uint64_t resends[RN_CAUSE_COUNT];
	uint64_t missing; /* number of PSNs that were never captured, or captured late */
	uint64_t responses;
	uint64_t acks, seq_naks, rnr_naks, fatal_naks, read_responses, duplicates;
	/* Signs of congestion: packets marked ECN CE, and CNPs to the sender. */
	uint64_t marked, cnps;
	uint32_t window_max; /* maximum number of unacknowledged PSNs */
	uint32_t credits;    /* credits in the last AETH, or RN_CREDITS_UNLIMITED */
	uint64_t rtts;
	rn_ns rtt_min, rtt_max, rtt_sum;
	uint32_t rtt_bucket[RN_WATCH_RTT_BUCKETS];
	uint64_t violations, suspicions;
};

struct rn_watch_half {
	struct rn_gid src, dst;
	uint32_t qpn;	   /* QPN that the packets of this half-connection are sent to */
	uint32_t peer_qpn; /* QPN that the responses go to; valid if @is_paired */
	bool is_paired;
	enum rn_opcode_class class;
	uint32_t pmtu; /* path MTU in bytes; 0: not known */
	struct rn_watch_counts n;
	rn_ns bucket_start, bucket_width;
	const struct rn_watch_bucket *bucket; /* array of RN_WATCH_BUCKETS, or NULL */
};

struct rn_watch;

/**
 * rn_watch_open() - Create a watch
 * @is_strict:	The network and the capture are known not to lose, duplicate or reorder
 *	packets, so a suspicion is reported as a violation
 *
 * Return: the watch, or NULL if there is no memory.
 */
struct rn_watch *rn_watch_open(bool is_strict);
void rn_watch_close(struct rn_watch *w);

/**
 * rn_watch_packet() - Check the next packet
 * @at:	Time of capture; may be earlier than that of the packet before
 * @out:	Out: the verdict
 *
 * If there is no memory for a new half-connection, only the rules about single packets
 * are checked.
 */
void rn_watch_packet(struct rn_watch *w, rn_ns at, const struct rn_packet *p,
		     struct rn_watch_verdict *out);

/* Return the number of half-connections, and half-connection @i, from 0 on. The pointer
 * is valid until the next packet.
 */
uint32_t rn_watch_halves(const struct rn_watch *w);
const struct rn_watch_half *rn_watch_half(const struct rn_watch *w, uint32_t i);

/* Returns the number of the half-connection in the other direction, or RN_WATCH_NONE. */
uint32_t rn_watch_peer(const struct rn_watch *w, uint32_t i);

/* Returns the round trip time that a share of @share (0..1) of the measured ones does not
 * exceed, with an error of at most 19 %; 0 if none was measured.
 */
rn_ns rn_watch_rtt(const struct rn_watch_half *half, double share);

#endif /* RN_ROCE_WATCH_H */
