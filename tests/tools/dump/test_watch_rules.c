/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_watch_rules.c - each rule broken at least once, and kept beside it. */
#include "talk.h"

enum {
	MTU = 1024,
};

#define UC(op) (RN_CLASS_UC | RN_RC_##op)
#define READ_REST(done) .op = RN_RC_READ_REQUEST, .va = 0x1000 + (done), .rkey = 7
#define READ_1 READ_REST(0)
#define BREAKS(rule) .broken = RN_RULE_##rule
#define FINE .broken = TALK_FINE

/* Steps up to one without an opcode that would do anything: .broken of it is 0 and its
 * PSN, too.
 */
struct conversation {
	const char *name;
	struct step step[TALK_STEPS];
};

/* clang-format off */
static const struct conversation alone[] = {
	{ "ICRC", { { .op = RN_RC_SEND_ONLY, .psn = 100, .has_bad_icrc = true, BREAKS(ICRC) },
		{ .op = RN_RC_SEND_ONLY, .psn = 100, FINE } } },
	{ "may be fragmented", { { .op = RN_RC_SEND_ONLY, .psn = 100, .has_no_df = true, BREAKS(FRAGMENT) } } },
	{ "fragment", { { .op = RN_RC_SEND_ONLY, .psn = 100, .is_a_part = true, BREAKS(FRAGMENT) } } },
	{ "IPv4 options", { { .op = RN_RC_SEND_ONLY, .psn = 100, .has_options = true, BREAKS(IP_OPTIONS) },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE } } },
	{ "TVer", { { .op = RN_RC_SEND_ONLY, .psn = 100, .has_version = true, BREAKS(VERSION) } } },
	{ "shorter than its headers", { { .op = RN_RC_WRITE_ONLY, .psn = 100, .cut = 4, BREAKS(SHORT) } } },
	{ "shorter than a BTH", { { .op = RN_RC_SEND_ONLY, .psn = 100, .cut = 12, BREAKS(SHORT) } } },
	{ "reserved opcode", { { .op = 0x18, .psn = 100, BREAKS(OPCODE) },
		{ .op = 0xe0, .psn = 100, FINE } } },
	{ "queue pair 0", { { .op = RN_RC_SEND_ONLY, .psn = 100, .is_qp_0 = true, BREAKS(DEST_QP) } } },
	{ "P_Key", { { .op = RN_RC_SEND_ONLY, .psn = 100, .has_no_key = true, BREAKS(PKEY) } } },
	{ "padding", { { .op = RN_RC_SEND_ONLY, .psn = 100, .len = 5, .pad = 3, BREAKS(PAD) } } },
	{ "SE of a first packet", { { .op = RN_RC_SEND_FIRST, .psn = 100, .len = MTU, .solicited = true, BREAKS(SOLICITED) },
		{ .op = RN_RC_SEND_LAST, .psn = 101, .len = 4, .solicited = true, FINE } } },
	{ "SE of a WRITE", { { .op = RN_RC_WRITE_ONLY, .psn = 100, .solicited = true, BREAKS(SOLICITED) },
		{ .op = RN_RC_WRITE_ONLY_IMM, .psn = 101, .solicited = true, FINE } } },
	{ "READ request with payload", { { READ_1, .psn = 100, .dma_len = 4, .len = 4, BREAKS(NO_PAYLOAD) } } },
	{ "ACK with payload", { { .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .len = 4, BREAKS(NO_PAYLOAD) } } },
	{ "more than any MTU", { { .op = RN_RC_SEND_ONLY, .psn = 100, .len = 4100, BREAKS(PAYLOAD_MAX) },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, .len = 4096, FINE } } },
	{ "empty last packet", { { .op = RN_RC_SEND_FIRST, .psn = 100, .len = MTU, FINE },
		{ .op = RN_RC_SEND_LAST, .psn = 101, BREAKS(LAST_EMPTY) } } },
	{ "first packet of no MTU", { { .op = RN_RC_SEND_FIRST, .psn = 100, .len = 1000, BREAKS(MTU_SIZE) } } },
	{ "middle packet of 128", { { .op = UC(SEND_MIDDLE), .psn = 100, .len = 128, BREAKS(MTU_SIZE) } } },
	{ "reserved syndrome", { { .op = RN_RC_ACK, .psn = 100, .syndrome = 0x40, BREAKS(SYNDROME) },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = 0x80, BREAKS(SYNDROME) } } },
	{ "reserved NAK code", { { .op = RN_RC_ACK, .psn = 100, .syndrome = 0x65, BREAKS(NAK_CODE) },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = 0x64, BREAKS(NAK_CODE) } } },
	{ "NAK in a READ response", { { .op = RN_RC_READ_RESPONSE_ONLY, .psn = 100, .syndrome = TALK_NAK_ACCESS, BREAKS(RESPONSE_AETH) } } },
	{ "NAK in an atomic acknowledge", { { .op = RN_RC_ATOMIC_ACK, .psn = 100, .syndrome = TALK_RNR, BREAKS(RESPONSE_AETH) } } },
	{ "more than 2^31", { { READ_1, .psn = 100, .dma_len = 0x80000001, BREAKS(DMALEN) } } },
	{ "2^31", { { READ_1, .psn = 100, .dma_len = 0x80000000, FINE } } },
	{ "WRITE of one packet", { { .op = RN_RC_WRITE_ONLY, .psn = 100, .dma_len = 100, .len = 96, BREAKS(WRITE_LEN) },
		{ .op = RN_RC_WRITE_ONLY, .psn = 101, .dma_len = 96, .len = 100, BREAKS(WRITE_LEN) },
		{ .op = RN_RC_WRITE_ONLY_IMM, .psn = 102, .dma_len = 100, .len = 100, FINE } } },
	{ "misaligned atomic", { { .op = RN_RC_FETCH_ADD, .psn = 100, .va = 4, BREAKS(ATOMIC_ALIGN) },
		{ .op = RN_RC_CMP_SWAP, .psn = 101, .va = 8, FINE } } },
	{ "misaligned ATOMIC WRITE", { { .op = RN_RC_ATOMIC_WRITE, .psn = 100, .va = 4, .dma_len = 8, .len = 8, BREAKS(ATOMIC_ALIGN) } } },
	{ "ATOMIC WRITE of 4", { { .op = RN_RC_ATOMIC_WRITE, .psn = 100, .dma_len = 4, .len = 4, BREAKS(WORD_LEN) },
		{ .op = RN_RC_ATOMIC_WRITE, .psn = 101, .dma_len = 8, .len = 8, FINE } } },
	{ "RC to many", { { .op = RN_RC_SEND_ONLY, .psn = 100, .qpn = RN_QPN_MULTICAST, BREAKS(MULTICAST) },
		{ .op = RN_UD_SEND_ONLY, .psn = 100, .qpn = RN_QPN_MULTICAST, FINE } } },
	{ "short MAD", { { .op = RN_UD_SEND_ONLY, .psn = 1, .qpn = 1, .qkey = 0x80010000, .len = 255, BREAKS(MAD) },
		{ .op = RN_UD_SEND_ONLY, .psn = 1, .qpn = 1, .qkey = 0x80010000, .len = 256, FINE } } },
	{ "Q_Key of a MAD", { { .op = RN_UD_SEND_ONLY, .psn = 1, .qpn = 1, .qkey = 1, .len = 256, BREAKS(MAD) } } },
	{ "CNP without BECN", { { .op = RN_CNP, BREAKS(CNP) },
		{ .op = RN_CNP, .becn = true, FINE } } },
	{ "CNP with something in it", { { .op = RN_CNP, .becn = true, .stray = 1, BREAKS(CNP) } } },
	{ "CNP with payload", { { .op = RN_CNP, .becn = true, .len = 4, BREAKS(CNP) } } },
};

/* A connection that lives: what was never answered may be another's by now. */
#define ANSWERED { .op = RN_RC_SEND_ONLY, .psn = 99, FINE }, \
		{ .op = RN_RC_ACK, .psn = 99, .syndrome = TALK_ACK, .msn = 1, FINE }

static const struct conversation requests[] = {
	{ "gap", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 102, BREAKS(GAP) },
		{ .op = RN_RC_SEND_ONLY, .psn = 103, FINE } } },
	{ "gap of UC", { { .op = UC(SEND_ONLY), .psn = 100, FINE },
		{ .op = UC(SEND_ONLY), .psn = 103, BREAKS(GAP) },
		{ .op = UC(SEND_ONLY), .psn = 104, FINE } } },
	{ "gap behind a READ", { { .op = RN_RC_SEND_FIRST, .psn = 97, .len = MTU, FINE },
		{ .op = RN_RC_SEND_LAST, .psn = 98, .len = 1, FINE },
		{ READ_1, .psn = 99, .dma_len = 3000, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 103, BREAKS(GAP) } } },
	{ "READ with a request missed behind it", { { READ_1, .psn = 99, .dma_len = 3000, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 102, FINE },
		{ .op = RN_RC_SEND_FIRST, .psn = 103, .len = 2048, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE } } },
	{ "READ whose rest tells the MTU", { { READ_1, .psn = 99, .dma_len = 3000, FINE },
		{ READ_REST(2048), .psn = 101, .dma_len = 952, FINE },
		{ .op = RN_RC_SEND_FIRST, .psn = 102, .len = 2048, BREAKS(MTU) } } },
	{ "READ that leaves the MTU open", { { READ_1, .psn = 99, .dma_len = 300, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_FIRST, .psn = 101, .len = MTU, FINE } } },
	{ "wrap", { { .op = RN_RC_SEND_ONLY, .psn = 0xffffff, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 0, FINE } } },
	{ "middle without first", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_MIDDLE, .psn = 101, .len = MTU, BREAKS(SEQUENCE) } } },
	{ "only within a SEND", { { .op = RN_RC_SEND_FIRST, .psn = 100, .len = MTU, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, BREAKS(SEQUENCE) } } },
	{ "WRITE within a SEND", { { .op = RN_RC_SEND_FIRST, .psn = 100, .len = MTU, FINE },
		{ .op = RN_RC_WRITE_MIDDLE, .psn = 101, .len = MTU, BREAKS(SEQUENCE) } } },
	{ "READ within a SEND", { { .op = RN_RC_SEND_FIRST, .psn = 100, .len = MTU, FINE },
		{ READ_1, .psn = 101, .dma_len = 8, BREAKS(SEQUENCE) } } },
	{ "first within a WRITE", { { .op = UC(WRITE_FIRST), .psn = 100, .len = MTU, .dma_len = 2000, FINE },
		{ .op = UC(WRITE_FIRST), .psn = 101, .len = MTU, .dma_len = 2000, BREAKS(SEQUENCE) } } },
	{ "not known behind a gap", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_MIDDLE, .psn = 102, .len = MTU, BREAKS(GAP) },
		{ .op = RN_RC_SEND_LAST, .psn = 103, .len = 4, FINE } } },
	{ "another MTU", { { .op = RN_RC_SEND_FIRST, .psn = 100, .len = MTU, FINE },
		{ .op = RN_RC_SEND_MIDDLE, .psn = 101, .len = 512, BREAKS(MTU) } } },
	{ "more than the MTU", { { .op = RN_RC_SEND_FIRST, .psn = 100, .len = MTU, FINE },
		{ .op = RN_RC_SEND_LAST, .psn = 101, .len = MTU + 4, BREAKS(MTU) } } },
	{ "WRITE too short", { { .op = RN_RC_WRITE_FIRST, .psn = 100, .len = MTU, .dma_len = 3000, FINE },
		{ .op = RN_RC_WRITE_LAST, .psn = 101, .len = 952, BREAKS(MESSAGE_LEN) } } },
	{ "WRITE without an end", { { .op = RN_RC_WRITE_FIRST, .psn = 100, .len = MTU, .dma_len = MTU, BREAKS(MESSAGE_LEN) } } },
	{ "WRITE as long as it says", { { .op = RN_RC_WRITE_FIRST, .psn = 100, .len = MTU, .dma_len = 3000, FINE },
		{ .op = RN_RC_WRITE_MIDDLE, .psn = 101, .len = MTU, FINE },
		{ .op = RN_RC_WRITE_LAST, .psn = 102, .len = 952, FINE } } },
	{ "again, the same", { { .op = RN_RC_WRITE_ONLY, .psn = 100, .len = 8, .dma_len = 8, .va = 8, FINE },
		{ .op = RN_RC_WRITE_ONLY, .psn = 100, .len = 8, .dma_len = 8, .va = 8, FINE } } },
	{ "again, another opcode", { ANSWERED,
		{ .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_ONLY_IMM, .psn = 100, BREAKS(RESEND) } } },
	{ "again, another length", { ANSWERED,
		{ .op = RN_RC_SEND_ONLY, .psn = 100, .len = 8, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 100, .len = 4, BREAKS(RESEND) } } },
	{ "again, elsewhere", { ANSWERED,
		{ .op = RN_RC_WRITE_ONLY, .psn = 100, .va = 8, FINE },
		{ .op = RN_RC_WRITE_ONLY, .psn = 100, .va = 16, BREAKS(RESEND) } } },
	{ "atomic again, another operand", { ANSWERED,
		{ .op = RN_RC_FETCH_ADD, .psn = 100, .swap_add = 1, FINE },
		{ .op = RN_RC_FETCH_ADD, .psn = 100, .swap_add = 2, BREAKS(RESEND) } } },
	{ "SEND where a READ was", { ANSWERED,
		{ READ_1, .psn = 100, .dma_len = 4, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 100, BREAKS(RESEND) } } },
	{ "rest of a READ", { { .op = RN_RC_SEND_FIRST, .psn = 98, .len = MTU, FINE },
		{ .op = RN_RC_SEND_LAST, .psn = 99, .len = 1, FINE },
		{ READ_1, .psn = 100, .dma_len = 3000, FINE },
		{ .op = RN_RC_READ_REQUEST, .psn = 101, .va = 0x1400, .rkey = 7, .dma_len = 1976, FINE },
		{ .op = RN_RC_READ_REQUEST, .psn = 101, .va = 0x1400, .rkey = 8, .dma_len = 1976, BREAKS(READ_AGAIN) },
		{ .op = RN_RC_READ_REQUEST, .psn = 101, .va = 0x1000, .rkey = 7, .dma_len = 1976, BREAKS(READ_AGAIN) },
		{ .op = RN_RC_READ_REQUEST, .psn = 101, .va = 0x1400, .rkey = 7, .dma_len = 1977, BREAKS(READ_AGAIN) } } },
	{ "again, but the queue pair may be another by now", { { .op = RN_RC_SEND_ONLY, .psn = 100, .len = 8, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 100, .len = 4, FINE } } },
	{ "RNR NAK of the last, again from the first", { ANSWERED,
		{ .op = RN_RC_WRITE_FIRST, .psn = 100, .len = MTU, .dma_len = 3000, FINE },
		{ .op = RN_RC_WRITE_MIDDLE, .psn = 101, .len = MTU, FINE },
		{ .op = RN_RC_WRITE_LAST_IMM, .psn = 102, .len = 952, FINE },
		{ .op = RN_RC_ACK, .psn = 102, .syndrome = TALK_RNR, .msn = 1, FINE },
		{ .op = RN_RC_WRITE_FIRST, .psn = 100, .len = MTU, .dma_len = 3000, .wait = RN_USEC(630), BREAKS(RNR_WAIT) } } },
	{ "RNR", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_RNR, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 100, .wait = RN_USEC(630), BREAKS(RNR_WAIT) } } },
	{ "RNR, waited", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_RNR, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 100, .wait = RN_USEC(640), FINE } } },
	{ "credits", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = 1, .msn = 1, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE },
		{ .op = RN_RC_WRITE_ONLY, .psn = 102, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 103, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 104, BREAKS(CREDIT) },
		{ .op = RN_RC_ACK, .psn = 103, .syndrome = TALK_ACK, .msn = 4, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 105, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 106, FINE } } },
	{ "credits that an ACK overtook", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE },
		{ .op = RN_RC_ACK, .psn = 101, .syndrome = 4, .msn = 2, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = 1, .msn = 1, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 102, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 103, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 104, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 105, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 106, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 107, BREAKS(CREDIT) } } },
};

/* A whole READ of 3000 bytes: 100 to 102. */
#define READ_3000 { .op = RN_RC_SEND_FIRST, .psn = 98, .len = MTU, FINE }, \
		{ .op = RN_RC_SEND_LAST, .psn = 99, .len = 1, FINE }, \
		{ READ_1, .psn = 100, .dma_len = 3000, FINE }
#define RESPONSE(which, p, l) .op = RN_RC_READ_RESPONSE_##which, .psn = (p), .len = (l), .syndrome = TALK_ACK, .msn = 2

static const struct conversation responses[] = {
	{ "ACK of what was never sent", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 1, FINE },
		{ .op = RN_RC_ACK, .psn = 101, .syndrome = TALK_ACK, .msn = 1, BREAKS(UNSENT) } } },
	{ "ACK of a READ",
	  { { READ_1, .psn = 100, .dma_len = 4, FINE },
	    { .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 1, BREAKS(ACK_OVER) } } },
	{ "ACK within a READ",
	  { READ_3000,
	    { RESPONSE(FIRST, 100, MTU), FINE },
	    { .op = RN_RC_ACK, .psn = 101, .syndrome = TALK_ACK, .msn = 2, BREAKS(ACK_KIND) } } },
	{ "ACK of a request that was missed behind a READ",
	  { { READ_1, .psn = 100, .dma_len = 3000, FINE },
	    { .op = RN_RC_SEND_ONLY, .psn = 106, FINE },
	    { .op = RN_RC_ACK, .psn = 104, .syndrome = TALK_ACK, .msn = 3, FINE } } },
	{ "ACK of a READ that was answered",
	  { { READ_1, .psn = 100, .dma_len = 4, FINE },
	    { .op = RN_RC_READ_RESPONSE_ONLY, .psn = 100, .len = 4, .syndrome = TALK_ACK, .msn = 1, FINE },
	    { .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 1, FINE } } },
	{ "NAK of a READ", { { READ_1, .psn = 100, .dma_len = 4, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_ACCESS, FINE } } },
	{ "ACK of an atomic", { { .op = RN_RC_FETCH_ADD, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 1, BREAKS(ACK_OVER) } } },
	{ "ACK over a READ", { { READ_1, .psn = 100, .dma_len = 4, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE },
		{ .op = RN_RC_ACK, .psn = 101, .syndrome = TALK_ACK, .msn = 2, BREAKS(ACK_OVER) } } },
	{ "ACK over a READ of which some has come", { READ_3000,
		{ RESPONSE(FIRST, 100, MTU), FINE },
		{ RESPONSE(MIDDLE, 101, MTU), FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 103, FINE },
		{ .op = RN_RC_ACK, .psn = 103, .syndrome = TALK_ACK, .msn = 3, BREAKS(ACK_OVER) } } },
	{ "ACK over a READ that has come but for what was lost", { READ_3000,
		{ RESPONSE(FIRST, 100, MTU), FINE },
		{ RESPONSE(LAST, 102, 952), BREAKS(READ_GAP) },
		{ .op = RN_RC_SEND_ONLY, .psn = 103, FINE },
		{ .op = RN_RC_ACK, .psn = 103, .syndrome = TALK_ACK, .msn = 3, BREAKS(ACK_OVER) } } },
	{ "READ response to a SEND", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_READ_RESPONSE_ONLY, .psn = 100, .syndrome = TALK_ACK, .msn = 1, BREAKS(RESPONSE_KIND) } } },
	{ "atomic acknowledge to a READ", { { READ_1, .psn = 100, .dma_len = 4, FINE },
		{ .op = RN_RC_ATOMIC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 1, BREAKS(RESPONSE_KIND) } } },
	{ "READ response to an atomic", { { .op = RN_RC_CMP_SWAP, .psn = 100, FINE },
		{ .op = RN_RC_READ_RESPONSE_ONLY, .psn = 100, .len = 8, .syndrome = TALK_ACK, .msn = 1, BREAKS(RESPONSE_KIND) } } },
	{ "FLUSH and ATOMIC WRITE", { { .op = RN_RC_FLUSH, .psn = 100, .dma_len = 8, FINE },
		{ .op = RN_RC_ATOMIC_WRITE, .psn = 101, .dma_len = 8, .len = 8, FINE },
		{ .op = RN_RC_READ_RESPONSE_ONLY, .psn = 100, .syndrome = TALK_ACK, .msn = 1, FINE },
		{ .op = RN_RC_READ_RESPONSE_ONLY, .psn = 101, .len = 8, .syndrome = TALK_ACK, .msn = 2, BREAKS(RESPONSE_KIND) } } },
	{ "READ", { READ_3000, { RESPONSE(FIRST, 100, MTU), FINE },
		{ RESPONSE(MIDDLE, 101, MTU), FINE }, { RESPONSE(LAST, 102, 952), FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 103, FINE },
		{ .op = RN_RC_ACK, .psn = 103, .syndrome = TALK_ACK, .msn = 3, FINE } } },
	{ "READ that ends early", { READ_3000, { RESPONSE(FIRST, 100, MTU), FINE },
		{ RESPONSE(LAST, 101, MTU), BREAKS(READ_ORDER) } } },
	{ "READ that begins with the middle", { READ_3000, { RESPONSE(MIDDLE, 100, MTU), BREAKS(READ_ORDER) } } },
	{ "rest of a READ may begin anywhere", { READ_3000, { RESPONSE(FIRST, 100, MTU), FINE },
		{ .op = RN_RC_READ_REQUEST, .psn = 101, .va = 0x1400, .rkey = 7, .dma_len = 1976, FINE },
		{ RESPONSE(FIRST, 101, MTU), FINE }, { RESPONSE(LAST, 102, 952), FINE } } },
	{ "rest of a READ that begins with the middle", { READ_3000, { RESPONSE(FIRST, 100, MTU), FINE },
		{ RESPONSE(LAST, 102, 952), BREAKS(READ_GAP) },
		{ .op = RN_RC_READ_REQUEST, .psn = 101, .va = 0x1400, .rkey = 7, .dma_len = 1976, FINE },
		{ RESPONSE(MIDDLE, 101, MTU), BREAKS(READ_RESTART) }, { RESPONSE(LAST, 102, 952), FINE } } },
	{ "rest of a READ, and what was asked first comes late", { READ_3000, { RESPONSE(FIRST, 100, MTU), FINE },
		{ .op = RN_RC_READ_REQUEST, .psn = 101, .va = 0x1400, .rkey = 7, .dma_len = 1976, FINE },
		{ RESPONSE(MIDDLE, 101, MTU), FINE }, { RESPONSE(LAST, 102, 952), FINE },
		{ RESPONSE(FIRST, 101, MTU), FINE } } },
	{ "READ with too few bytes", { { READ_1, .psn = 100, .dma_len = 100, FINE },
		{ .op = RN_RC_READ_RESPONSE_ONLY, .psn = 100, .len = 96, .syndrome = TALK_ACK, .msn = 1, BREAKS(READ_LEN) } } },
	{ "READ with a short end", { READ_3000, { RESPONSE(FIRST, 100, MTU), FINE },
		{ RESPONSE(MIDDLE, 101, MTU), FINE }, { RESPONSE(LAST, 102, 948), BREAKS(READ_LEN) } } },
	{ "READ with a short middle", { READ_3000, { RESPONSE(FIRST, 100, MTU), FINE },
		{ RESPONSE(MIDDLE, 101, 512), BREAKS(READ_LEN) } } },
	{ "READ with a gap, said once", { READ_3000, { RESPONSE(MIDDLE, 101, MTU), BREAKS(READ_GAP) },
		{ RESPONSE(LAST, 102, 952), FINE } } },
	{ "MSN that lags", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 1, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE },
		{ .op = RN_RC_ACK, .psn = 101, .syndrome = TALK_ACK, .msn = 1, BREAKS(MSN) } } },
	{ "MSN that runs ahead", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 0xffffff, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE },
		{ .op = RN_RC_ACK, .psn = 101, .syndrome = TALK_ACK, .msn = 1, BREAKS(MSN) } } },
	{ "MSN of what was done since", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 2, FINE },
		{ .op = RN_RC_ACK, .psn = 101, .syndrome = TALK_ACK, .msn = 2, FINE } } },
	{ "MSN counts no packets", { { .op = RN_RC_SEND_FIRST, .psn = 100, .len = MTU, FINE },
		{ .op = RN_RC_SEND_LAST, .psn = 101, .len = 4, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 5, FINE },
		{ .op = RN_RC_ACK, .psn = 101, .syndrome = TALK_ACK, .msn = 6, FINE } } },
	{ "RNR NAK of a WRITE", { { .op = RN_RC_WRITE_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_RNR, BREAKS(RNR_KIND) } } },
	{ "RNR NAK of an immediate", { { .op = RN_RC_WRITE_ONLY_IMM, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_RNR, FINE } } },
	{ "two NAKs", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_SEQ, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_SEQ, BREAKS(NAK_AGAIN) },
		{ .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_SEQ, FINE } } },
	{ "sequence NAK behind an RNR NAK", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_RNR, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_SEQ, BREAKS(NAK_AGAIN) } } },
	{ "ACK behind a fatal NAK", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_ACCESS, FINE },
		{ .op = RN_RC_ACK, .psn = 101, .syndrome = TALK_ACK, .msn = 2, BREAKS(AFTER_NAK) } } },
	{ "ACK of what had a fatal NAK", { ANSWERED,
		{ .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_ACCESS, .msn = 1, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_ACCESS, .msn = 1, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 2, BREAKS(AFTER_NAK) } } },
	{ "the same, when another NAK came between", { ANSWERED,
		{ .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_ACCESS, .msn = 1, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_SEQ, .msn = 1, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_ACK, .msn = 2, BREAKS(AFTER_NAK) } } },
	{ "response to a READ that had a fatal NAK", { { READ_1, .psn = 100, .dma_len = 4, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_ACCESS, FINE },
		{ .op = RN_RC_READ_RESPONSE_ONLY, .psn = 100, .len = 4, .syndrome = TALK_ACK, .msn = 1, BREAKS(AFTER_NAK) } } },
	{ "RNR NAK behind a fatal NAK", { { .op = RN_RC_SEND_ONLY, .psn = 100, FINE },
		{ .op = RN_RC_SEND_ONLY, .psn = 101, FINE },
		{ .op = RN_RC_ACK, .psn = 100, .syndrome = TALK_NAK_ACCESS, FINE },
		{ .op = RN_RC_ACK, .psn = 101, .syndrome = TALK_RNR, BREAKS(AFTER_NAK) } } },
};
/* clang-format on */

static const char *name_of(unsigned rule)
{
	return rule < RN_RULE_COUNT ? rn_watch_rule_info[rule].name : "nothing";
}

/* A step of the tables always says what it breaks, and the PSN of CNPs only is 0 with it.
 */
static bool is_over(const struct step *s)
{
	return s->broken == 0 && !s->has_bad_icrc;
}

static void check_step(const struct conversation *c, unsigned i,
		       const struct rn_watch_verdict *r)
{
	unsigned want = c->step[i].broken;
	bool found = want == TALK_FINE ? r->findings == 0 : false;

	for (unsigned k = 0; k < r->findings; k++)
		if (r->finding[k].rule == want)
			found = true;
	if (!found)
		fail_msg("%s, step %u: %s expected, %s found (%u: %s)", c->name, i,
			 name_of(want),
			 r->findings ? name_of(r->finding[0].rule) : "nothing",
			 r->findings, r->findings ? r->finding[0].detail : "");
	if (want != TALK_FINE && r->findings != 1 && want != RN_RULE_ICRC)
		fail_msg("%s, step %u: also %s", c->name, i,
			 name_of(r->finding[r->finding[0].rule == want].rule));
}

static void play(const struct conversation *c, bool *seen)
{
	struct talk t = talk_new(false);

	for (unsigned i = 0; i < TALK_STEPS && !is_over(&c->step[i]); i++) {
		check_step(c, i, talk_step(&t, &c->step[i]));
		if (c->step[i].broken < RN_RULE_COUNT)
			seen[c->step[i].broken] = true;
	}
	talk_end(&t);
}

static bool seen[RN_RULE_COUNT];

static void packets_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(alone); i++)
		play(&alone[i], seen);
}

static void requests_in_their_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(requests); i++)
		play(&requests[i], seen);
}

static void responses_against_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(responses); i++)
		play(&responses[i], seen);
}

static void every_rule_was_broken_and_has_words(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_RULE_COUNT; i++) {
		const struct rn_watch_rule_info *r = &rn_watch_rule_info[i];

		assert_non_null(r->name);
		assert_true(r->test[0] && r->source[0] && r->says[0]);
		/* By connections: test_watch_flow.c. */
		if (!seen[i] && i != RN_RULE_DEPTH)
			fail_msg("%s", r->name);
	}
}

static void to_the_strict_each_suspicion_is_a_violation(void **state)
{
	struct talk t = talk_new(true);
	const struct rn_watch_verdict *r;

	(void)state;
	talk_step(&t, &(struct step){ .op = RN_RC_SEND_ONLY, .psn = 100 });
	r = talk_step(&t, &(struct step){ .op = RN_RC_SEND_ONLY, .psn = 102 });
	assert_int_equal(r->findings, 1);
	assert_int_equal(r->finding[0].level, RN_WATCH_VIOLATION);
	assert_int_equal(rn_watch_rule_info[RN_RULE_GAP].level, RN_WATCH_SUSPICION);
	talk_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_alone),
		cmocka_unit_test(requests_in_their_order),
		cmocka_unit_test(responses_against_requests),
		cmocka_unit_test(every_rule_was_broken_and_has_words),
		cmocka_unit_test(to_the_strict_each_suspicion_is_a_violation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
