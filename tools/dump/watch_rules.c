/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_rules.c - the table of rules that can be checked on a capture. */
#include "watch.h"

#define ROW(r, n, t, s, l, text)                 \
	[RN_RULE_##r] = { .name = (n),           \
			  .test = (t),           \
			  .source = (s),         \
			  .level = RN_WATCH_##l, \
			  .says = (text) }

/* clang-format off */
const struct rn_watch_rule_info rn_watch_rule_info[RN_RULE_COUNT] = {
	ROW(ICRC, "icrc", "A1", "7.8.1, A17", VIOLATION, "the ICRC is that of the packet"),
	ROW(FRAGMENT, "fragment", "A21", "A17", VIOLATION, "an IPv4 packet is no fragment and may not become one"),
	ROW(IP_OPTIONS, "ip-options", "A21", "A17", VIOLATION, "an IPv4 header has no options"),
	ROW(VERSION, "version", "A6", "9.6.1", VIOLATION, "TVer is 0"),
	ROW(SHORT, "short", "A17", "9.6.1", VIOLATION, "a packet is as long as its headers"),
	ROW(OPCODE, "opcode", "A10", "9.2, table 38", VIOLATION, "the opcode is defined"),
	ROW(DEST_QP, "dest-qp", "A8", "A17", VIOLATION, "nothing goes to queue pair 0"),
	ROW(PKEY, "pkey", "A12", "9.6.1.1", VIOLATION, "the low 15 bits of the P_Key are not 0"),
	ROW(PAD, "pad", "C6", "9.2", VIOLATION, "payload and padding are a multiple of 4 bytes"),
	ROW(SOLICITED, "solicited", "H38", "9.2.3", VIOLATION, "SE stands in the last packet of a SEND or WRITE with immediate only"),
	ROW(NO_PAYLOAD, "no-payload", "C12", "9.2, table 38", VIOLATION, "a packet without payload by its opcode has none"),
	ROW(PAYLOAD_MAX, "payload-max", "C3", "9.4.1", VIOLATION, "no payload exceeds the largest path MTU of 4096"),
	ROW(LAST_EMPTY, "last-empty", "C4", "9.4.1", VIOLATION, "the last of several packets has payload"),
	ROW(MTU_SIZE, "mtu-size", "C1", "9.4.1", VIOLATION, "first and middle packets are full: 256, 512, 1024, 2048 or 4096 bytes"),
	ROW(SYNDROME, "syndrome", "H22", "9.3.5", VIOLATION, "the AETH syndrome is not a reserved one"),
	ROW(NAK_CODE, "nak-code", "H22", "9.3.5, table 44", VIOLATION, "the NAK code is defined for this service"),
	ROW(RESPONSE_AETH, "response-aeth", "H30", "9.7.5.2", VIOLATION, "READ responses and atomic acknowledges carry an ACK, no NAK"),
	ROW(DMALEN, "dmalen", "C13", "9.7.2", VIOLATION, "a message is no longer than 2^31 bytes"),
	ROW(WRITE_LEN, "write-len", "C8", "9.4.3", VIOLATION, "the payload of a WRITE of one packet is what DMALen says"),
	ROW(ATOMIC_ALIGN, "atomic-align", "E21", "9.4.5", VIOLATION, "the address of an atomic operation is a multiple of 8"),
	ROW(ATOMIC_WRITE, "atomic-write", "E24", "A19", VIOLATION, "an ATOMIC WRITE has 8 bytes"),
	ROW(MULTICAST, "multicast", "J9", "10.5.2", VIOLATION, "only datagrams go to the multicast queue pair"),
	ROW(MAD, "mad", "J14", "13.5.3.1", VIOLATION, "queue pair 1 gets MADs of 256 bytes with its Q_Key"),
	ROW(CNP, "cnp", "M1", "A17", VIOLATION, "a CNP has BECN, 16 zero bytes, and nothing else"),

	ROW(GAP, "gap", "B5", "9.7.1", SUSPICION, "PSNs go up by one a packet"),
	ROW(SEQUENCE, "sequence", "B13-B17", "9.7.4.1.2", VIOLATION, "first, middle and last packets of one operation follow each other"),
	ROW(MTU, "mtu", "C1-C3", "9.4.1", VIOLATION, "all full packets of a connection are of one size, and none is larger"),
	ROW(MESSAGE_LEN, "message-len", "C10-C14", "9.4.3", VIOLATION, "the packets of a WRITE have the bytes that DMALen says"),
	ROW(RESEND, "resend", "H10,H44", "9.7.5.1", VIOLATION, "what is sent again is what was sent"),
	ROW(READ_AGAIN, "read-again", "F5-F7", "9.7.5.1.4", VIOLATION, "a READ sent again asks for a part of the first one"),
	ROW(RNR_WAIT, "rnr-wait", "H15", "9.7.5.2.8", SUSPICION, "after an RNR NAK the request waits as long as the NAK says"),
	ROW(CREDIT, "credit", "H37", "9.7.7.2", SUSPICION, "no message is sent without a credit, but one"),
	ROW(DEPTH, "depth", "H33", "9.4.4", SUSPICION, "no more READs and atomics are under way than the connection was made for"),

	ROW(UNSENT, "unsent", "H12", "9.7.5.1.1", SUSPICION, "only what was sent is answered"),
	ROW(ACK_KIND, "ack-kind", "H28", "9.7.5.1.3", VIOLATION, "no ACK ends within the responses to a READ"),
	ROW(ACK_OVER, "ack-over", "F12", "9.7.5.1.2", SUSPICION, "nothing is acknowledged before the READs and atomics ahead of it are answered"),
	ROW(RESPONSE_KIND, "response-kind", "H23", "9.7.5.1", VIOLATION, "a response fits the request of its PSN"),
	ROW(READ_ORDER, "read-order", "E10", "9.7.5.1.9", VIOLATION, "READ responses are first, middle, last, or only"),
	ROW(READ_RESTART, "read-restart", "F5", "9.7.5.1.9", SUSPICION, "the answer to a READ asked for again begins with first or only"),
	ROW(READ_LEN, "read-len", "H29", "9.7.5.1.9", VIOLATION, "READ responses have the bytes that were asked for"),
	ROW(READ_GAP, "read-gap", "H25", "9.7.5.1.9", SUSPICION, "READ responses come in order, without a gap"),
	ROW(MSN, "msn", "B18", "9.7.7.1", VIOLATION, "the MSN counts the messages that were completed"),
	ROW(RNR_KIND, "rnr-kind", "D4,D6", "9.7.5.2.8", VIOLATION, "only a request that takes a receive gets an RNR NAK"),
	ROW(NAK_AGAIN, "nak-again", "B6,D3", "9.7.5.2.8", SUSPICION, "after a NAK nothing more is NAKed until its PSN comes"),
	ROW(AFTER_NAK, "after-nak", "F13", "9.9.3", VIOLATION, "after a fatal NAK nothing more is acknowledged"),
};
/* clang-format on */
