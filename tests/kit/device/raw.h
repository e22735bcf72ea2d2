/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw.h - a peer made of packets: the test writes them and reads the answers.
 *
 * raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL) is RC0 of tests/rules.md: the QP has
 * path MTU 1024, rq_psn 100, sq_psn 200, RD depths 2, min_rnr_timer 12, timeout 14,
 * retry_cnt 3, rnr_retry 3, remote rights WRITE, READ and ATOMIC; and there is an MR of
 * 8192 bytes with all rights. Receives are the test's to post. Then, for instance,
 *
 *	raw_send(&r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true));
 *	raw_expect_ack(&r, 100, 1);
 *	raw_expect_silence(&r);
 */
#ifndef RN_RAW_H
#define RN_RAW_H

#include "pair.h"

enum {
	RAW_PEER_QPN = 0x99,
	RAW_PSN_RX = 100, /* what the device expects first */
	RAW_PSN_TX = 200, /* what the device sends first */
	RAW_MR_LEN = 8192,
	RAW_AUTO_PAD = 0, /* .pad: as the payload needs */
};

struct raw {
	struct pair *p;
	struct pair_qp *q;
	struct pair_mr *mr;
};

/* A packet by its fields. Only those that the opcode carries are looked at. */
struct raw_packet {
	uint8_t op;
	uint32_t psn;
	uint32_t dest_qpn; /* 0: the QP under test */
	uint16_t pkey;	   /* 0: 0xffff */
	bool ack_req, solicited, becn, fecn;
	uint8_t tver;
	int pad; /* RAW_AUTO_PAD, or this count + 1 */
	struct rn_feth feth;
	struct rn_reth reth;
	struct rn_atomic_eth atomic;
	struct rn_aeth aeth;
	uint64_t atomic_ack;
	uint32_t imm, ieth;
	struct rn_deth deth; /* src_qpn 0: RAW_PEER_QPN */
	uint32_t srqn;
	const uint8_t *payload; /* NULL: byte i is (uint8_t)(psn + i) */
	uint32_t len;		/* of the payload, without pad */

	/* For raw_expect(): what arrived. */
	rn_ns at;
	uint8_t bytes[RN_MTU_MAX + 64]; /* payload points here */
};

#define RAW(...) (&(const struct raw_packet){ __VA_ARGS__ })

/* @change (or NULL) edits the attributes before the QP is brought to @state. */
struct raw raw_new(const struct pair_cfg *cfg, enum rn_qp_type type,
		   enum rn_qp_state state, void (*change)(struct rn_qp_attr *));
void raw_free(struct raw *r);

/* Encode with a valid ICRC into @buf (RN_PACKET_MAX + RN_ICRC_LEN); returns the length.
 */
uint32_t raw_encode(const struct raw *r, const struct raw_packet *pkt, uint8_t *buf);
/* The flow of what the peer sends. */
struct rn_flow raw_flow(const struct raw *r);

/* Deliver now (no link delay) and let the device answer. */
void raw_send(struct raw *r, const struct raw_packet *pkt);
/* The same for bytes that the test made. */
void raw_send_bytes(struct raw *r, const uint8_t *data, uint32_t len);

/* Take the next packet that the device sent and that was not taken yet; false: none. */
bool raw_next(struct raw *r, struct raw_packet *pkt);

/* Take the next packet; asserts that there is one, and opcode and PSN. The result is
 * valid until the next call.
 */
#define raw_expect(r, op, psn) raw_expect_at((r), (op), (psn), __FILE__, __LINE__)
const struct raw_packet *raw_expect_at(struct raw *r, uint8_t op, uint32_t psn,
				       const char *file, int line);
/* RC ACK with ACK syndrome. */
#define raw_expect_ack(r, psn, msn) \
	raw_expect_aeth_at((r), 0x1f, (psn), (msn), __FILE__, __LINE__)
/* RC ACK with any syndrome byte, e.g. 0x60. */
#define raw_expect_nak(r, syndrome, psn, msn) \
	raw_expect_aeth_at((r), (syndrome), (psn), (msn), __FILE__, __LINE__)
void raw_expect_aeth_at(struct raw *r, uint8_t syndrome, uint32_t psn, uint32_t msn,
			const char *file, int line);
/* The device has sent nothing that was not taken. Time does not pass. */
#define raw_expect_silence(r) raw_expect_silence_at((r), __FILE__, __LINE__)
void raw_expect_silence_at(struct raw *r, const char *file, int line);

/* Peer's answers to requests. */
void raw_ack(struct raw *r, uint32_t psn, uint32_t msn);
void raw_nak(struct raw *r, uint8_t syndrome, uint32_t psn, uint32_t msn);

#endif /* RN_RAW_H */
