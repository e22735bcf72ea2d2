/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.h - judges captured packets of RoCEv2 devices: which requests a response answers,
 * which packets are sent again and why, and which rules of the transport a packet breaks.
 *
 * Inputs	rn_watch_packet(), in the order of the capture
 * Outputs	a verdict for each packet; counters for each half
 *
 * A half-connection consists of all requests that go to one queue pair, and of their
 * responses. Two half-connections, one for each direction, make a connection. A packet
 * names only its destination QP, so it does not show which two these are. Messages of the
 * connection manager show it; without them it follows from the first response whose PSN
 * fits.
 *
 * The capture is taken somewhere between the two devices, may have started late, and may
 * miss packets; the network may lose, duplicate and reorder packets. If one of these
 * could be the cause of a broken rule, it is called a suspicion, otherwise a violation.
 *
 * Threads: these functions do not lock; a struct rn_watch belongs to one thread. They do
 * no I/O and read no clock. Source: IBTA Vol 1 chapter 9, Annexes A14, A17, A19; the
 * names of the rules are those of tests/rules.md.
 */
#ifndef RN_ROCE_WATCH_H
#define RN_ROCE_WATCH_H

#include "packet.h"

enum rn_watch_level {
	/* The cause may also be a packet that was lost, duplicated or reordered. */
	RN_WATCH_SUSPICION,
	RN_WATCH_VIOLATION,
};

/* clang-format off */
/* The rules: symbol; name in texts and JSON; the numbers that tests/rules.md gives the
 * rule; section or annex of the specification; what breaking it means (enum
 * rn_watch_level); and the rule in words.
 */
#define RN_WATCH_RULES(X) \
	/* Rules about single packets. */ \
	X(ICRC, "icrc", "A1", "7.8.1, A17", VIOLATION, "the ICRC is that of the packet") \
	X(FRAGMENT, "fragment", "A21", "A17", VIOLATION, "an IPv4 packet is no fragment and may not become one") \
	X(IP_OPTIONS, "ip-options", "A21", "A17", VIOLATION, "an IPv4 header has no options") \
	X(VERSION, "version", "A6", "9.6.1", VIOLATION, "TVer is 0") \
	X(SHORT, "short", "A17", "9.6.1", VIOLATION, "a packet is as long as its headers") \
	X(OPCODE, "opcode", "A10", "9.2, table 38", VIOLATION, "the opcode is defined") \
	X(DEST_QP, "dest-qp", "A8", "A17", VIOLATION, "nothing goes to queue pair 0") \
	X(PKEY, "pkey", "A12", "9.6.1.1", VIOLATION, "the low 15 bits of the P_Key are not 0") \
	X(PAD, "pad", "C6", "9.2", VIOLATION, "payload and padding are a multiple of 4 bytes") \
	X(SOLICITED, "solicited", "H38", "9.2.3", VIOLATION, "SE stands in the last packet of a SEND or WRITE with immediate only") \
	X(NO_PAYLOAD, "no-payload", "C12", "9.2, table 38", VIOLATION, "a packet without payload by its opcode has none") \
	X(PAYLOAD_MAX, "payload-max", "C3", "9.4.1", VIOLATION, "no payload exceeds the largest path MTU of 4096") \
	X(LAST_EMPTY, "last-empty", "C4", "9.4.1", VIOLATION, "the last of several packets has payload") \
	X(MTU_SIZE, "mtu-size", "C1", "9.4.1", VIOLATION, "first and middle packets are full: 256, 512, 1024, 2048 or 4096 bytes") \
	X(SYNDROME, "syndrome", "H22", "9.3.5", VIOLATION, "the AETH syndrome is not a reserved one") \
	X(NAK_CODE, "nak-code", "H22", "9.3.5, table 44", VIOLATION, "the NAK code is defined for this service") \
	X(RESPONSE_AETH, "response-aeth", "H30", "9.7.5.2", VIOLATION, "READ responses and atomic acknowledges carry an ACK, no NAK") \
	X(DMALEN, "dmalen", "C13", "9.7.2", VIOLATION, "a message is no longer than 2^31 bytes") \
	X(WRITE_LEN, "write-len", "C8", "9.4.3", VIOLATION, "the payload of a WRITE of one packet is what DMALen says") \
	X(ATOMIC_ALIGN, "atomic-align", "E21", "9.4.5", VIOLATION, "the address of an atomic operation is a multiple of 8") \
	X(WORD_LEN, "atomic-write", "E24", "A19", VIOLATION, "an ATOMIC WRITE has 8 bytes") \
	X(MULTICAST, "multicast", "J9", "10.5.2", VIOLATION, "only datagrams go to the multicast queue pair") \
	X(MAD, "mad", "J14", "13.5.3.1", VIOLATION, "queue pair 1 gets MADs of 256 bytes with its Q_Key") \
	X(CNP, "cnp", "M1", "A17", VIOLATION, "a CNP has BECN, 16 zero bytes, and nothing else") \
	/* Rules about the order of requests. */ \
	X(GAP, "gap", "B5", "9.7.1", SUSPICION, "PSNs go up by one a packet") \
	X(SEQUENCE, "sequence", "B13-B17", "9.7.4.1.2", VIOLATION, "first, middle and last packets of one operation follow each other") \
	X(MTU, "mtu", "C1-C3", "9.4.1", VIOLATION, "all full packets of a connection are of one size, and none is larger") \
	X(MESSAGE_LEN, "message-len", "C10-C14", "9.4.3", VIOLATION, "the packets of a WRITE have the bytes that DMALen says") \
	X(RESEND, "resend", "H10,H44", "9.7.5.1", VIOLATION, "what is sent again is what was sent") \
	X(READ_AGAIN, "read-again", "F5-F7", "9.7.5.1.4", VIOLATION, "a READ sent again asks for a part of the first one") \
	X(RNR_WAIT, "rnr-wait", "H15", "9.7.5.2.8", SUSPICION, "after an RNR NAK the request waits as long as the NAK says") \
	X(CREDIT, "credit", "H37", "9.7.7.2", SUSPICION, "no message is sent without a credit, but one") \
	X(DEPTH, "depth", "H33", "9.4.4", SUSPICION, "no more READs and atomics are under way than the connection was made for") \
	/* Rules about responses and their requests. */ \
	X(UNSENT, "unsent", "H12", "9.7.5.1.1", SUSPICION, "only what was sent is answered") \
	X(ACK_KIND, "ack-kind", "H28", "9.7.5.1.3", VIOLATION, "no ACK ends within the responses to a READ") \
	X(ACK_OVER, "ack-over", "F12", "9.7.5.1.2", SUSPICION, "nothing is acknowledged before the READs and atomics ahead of it are answered") \
	X(RESPONSE_KIND, "response-kind", "H23", "9.7.5.1", VIOLATION, "a response fits the request of its PSN") \
	X(READ_ORDER, "read-order", "E10", "9.7.5.1.9", VIOLATION, "READ responses are first, middle, last, or only") \
	X(READ_RESTART, "read-restart", "F5", "9.7.5.1.9", SUSPICION, "the answer to a READ asked for again begins with first or only") \
	X(READ_LEN, "read-len", "H29", "9.7.5.1.9", VIOLATION, "READ responses have the bytes that were asked for") \
	X(READ_GAP, "read-gap", "H25", "9.7.5.1.9", SUSPICION, "READ responses come in order, without a gap") \
	X(MSN, "msn", "B18", "9.7.7.1", VIOLATION, "the MSN counts the messages that were completed") \
	X(RNR_KIND, "rnr-kind", "D4,D6", "9.7.5.2.8", VIOLATION, "only a request that takes a receive gets an RNR NAK") \
	X(NAK_AGAIN, "nak-again", "B6,D3", "9.7.5.2.8", SUSPICION, "after a NAK nothing more is NAKed until its PSN comes") \
	X(AFTER_NAK, "after-nak", "F13", "9.9.3", VIOLATION, "after a fatal NAK nothing more is acknowledged")
/* clang-format on */

enum rn_watch_rule {
#define X(symbol, name, test, source, level, says) RN_RULE_##symbol,
	RN_WATCH_RULES(X)
#undef X
	RN_RULE_COUNT
};

struct rn_watch_rule_info {
	const char *name, *test, *source;
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

/* Why a request was sent again, as far as the capture shows it. */
enum rn_watch_cause {
	RN_CAUSE_NONE, /* the packet was not sent again */
	/* The network or the capture has duplicated the packet: it came too soon to be a
	 * retransmission.
	 */
	RN_CAUSE_DOUBLE,
	/* The packet was not captured before, but comes out of order: it came late, or
	 * its first transmission was lost before it reached the place of the capture.
	 */
	RN_CAUSE_LATE,
	RN_CAUSE_NAK,
	RN_CAUSE_RNR,
	/* the requester requests the rest of a READ again, because READ responses were
	 * missing
	 */
	RN_CAUSE_READ_GAP,
	RN_CAUSE_TIMEOUT,
	/* The packet follows another one that was sent again, as go-back-N demands. */
	RN_CAUSE_GO_BACK,
	RN_CAUSE_COUNT
};

/* Returns the cause as text, such as "after a NAK"; NULL for RN_CAUSE_NONE. */
const char *rn_watch_cause_text(enum rn_watch_cause cause);

enum {
	/* index that stands for "no half-connection" */
	RN_WATCH_NONE = UINT32_MAX,
};

/* What rn_watch_packet() has found out about one packet. */
struct rn_watch_verdict {
	/* Number of the half-connection to which the packet belongs: the one of this
	 * request or, for a response, the one of the request that it answers.
	 * RN_WATCH_NONE: not known.
	 */
	uint32_t half;
	bool is_response;
	bool is_new; /* the packet is a request that is seen for the first time */
	/* the packet is a response that was captured before, or one that is older than
	 * such a response
	 */
	bool is_duplicate;
	/* number of PSNs before this request that are missing in the capture */
	uint32_t missing;
	/* the PSN shows that this packet begins a new connection */
	bool starts_anew;
	enum rn_watch_cause cause;
	/* Time in ns; 0: not known. For a request that was sent again: time since it was
	 * last sent. For a response: round trip time.
	 */
	rn_ns since;
	unsigned findings;
	struct rn_watch_finding finding[RN_WATCH_FINDINGS];
};

/* Statistics of one time slice. */
struct rn_watch_bucket {
	/* payload bytes of requests that were acknowledged, and bytes that READs have
	 * returned
	 */
	uint64_t bytes;
	uint32_t resent;
	uint32_t naks;
	uint32_t window; /* maximum number of unacknowledged PSNs */
	/* Lowest number of credits that the responder has granted in this time, plus 1;
	 * 0: none were granted.
	 */
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
	/* Payload bytes of requests that were acknowledged (on UC and UD: that were
	 * sent), and bytes that READs have returned.
	 */
	uint64_t done_bytes;
	uint64_t resent, resent_bytes;
	uint64_t resends[RN_CAUSE_COUNT];
	uint64_t missing; /* number of PSNs that were never captured, or captured late */
	uint64_t responses;
	uint64_t acks, seq_naks, rnr_naks, fatal_naks, read_responses, duplicates;
	/* Signs of congestion: number of packets marked with ECN CE, and of CNPs, which
	 * ask the sender to slow down.
	 */
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
 * rn_watch_open() - Create the state for judging the packets of one capture
 * @is_strict:	Report each suspicion as a violation, because neither the network nor the
 *	capture loses, duplicates or reorders packets
 *
 * Return: the state, or NULL if there is no memory.
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

/* rn_watch_halves() returns the number of half-connections. rn_watch_half() returns the
 * one with index @i; the pointer is valid until the next call of rn_watch_packet().
 */
uint32_t rn_watch_halves(const struct rn_watch *w);
const struct rn_watch_half *rn_watch_half(const struct rn_watch *w, uint32_t i);

/* Returns the number of the half-connection in the other direction, or RN_WATCH_NONE. */
uint32_t rn_watch_peer(const struct rn_watch *w, uint32_t i);

/* Returns a quantile of the measured round trip times: the fraction @share (0..1) of them
 * is not longer than this time in ns. The error is at most 19 %. Returns 0 if none was
 * measured.
 */
rn_ns rn_watch_rtt(const struct rn_watch_half *half, double share);

#endif /* RN_ROCE_WATCH_H */
