/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw.h - the test as the peer of a device: it sends packets that it has written field by
 * field, and checks the packets of the device.
 *
 * raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL) is RC0 of tests/rules.md: the QP has path
 * MTU 1024, rq_psn 100, sq_psn 200, RD depths 2, min_rnr_timer 12, timeout 14, retry_cnt
 * 3, rnr_retry 3, remote rights WRITE, READ and ATOMIC; and there is an MR of 8192 bytes
 * with all rights. The test must post receives itself. An example:
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
	RAW_PSN_RX = 100, /* first PSN of the peer's requests */
	RAW_PSN_TX = 200, /* first PSN of the device's requests */
	RAW_MR_LEN = 8192,
	/* value of raw_packet.pad: as many pad bytes as the payload needs */
	RAW_AUTO_PAD = 0,
};

struct raw {
	struct pair *p;
	struct pair_qp *q;
	struct pair_mr *mr;
};

/* A packet, field by field. Fields that the opcode does not have are ignored. */
struct raw_packet {
	uint8_t op;
	uint32_t psn;
	uint32_t dest_qpn; /* QPN of the destination; 0: the QP under test */
	uint16_t pkey;	   /* partition key; 0: 0xffff */
	bool ack_req, solicited, becn, fecn;
	uint8_t tver;
	int pad; /* RAW_AUTO_PAD, or the number of pad bytes + 1 */
	struct rn_feth feth;
	struct rn_reth reth;
	struct rn_atomic_eth atomic;
	struct rn_aeth aeth;
	uint64_t atomic_ack;
	uint32_t imm, ieth;
	struct rn_deth deth; /* if src_qpn is 0, RAW_PEER_QPN is used */
	uint32_t srqn;
	/* payload; NULL: byte i of the payload is (uint8_t)(psn + i) */
	const uint8_t *payload;
	uint32_t len; /* length of the payload in bytes, without pad bytes */

	/* These members are set by raw_expect(): time of arrival, and bytes of the
	 * packet.
	 */
	rn_ns at;
	uint8_t bytes[RN_MTU_MAX + 64]; /* @payload points into these bytes */
};

#define RAW(...) (&(const struct raw_packet){ __VA_ARGS__ })

/* Creates a device with one QP in state @state. @change: NULL, or a function that changes
 * the attributes of the QP before.
 */
struct raw raw_new(const struct pair_cfg *cfg, enum rn_qp_type type,
		   enum rn_qp_state state, void (*change)(struct rn_qp_attr *));
void raw_free(struct raw *r);

/* Encodes the packet with a valid ICRC into @buf, of RN_PACKET_MAX + RN_ICRC_LEN bytes.
 * Returns its length.
 */
uint32_t raw_encode(const struct raw *r, const struct raw_packet *pkt, uint8_t *buf);
/* Returns the addresses of the peer's packets. */
struct rn_flow raw_flow(const struct raw *r);

/* Delivers the packet at once, without link delay, and lets the device send its answer.
 */
void raw_send(struct raw *r, const struct raw_packet *pkt);
/* The same for a packet that the test has encoded itself. */
void raw_send_bytes(struct raw *r, const uint8_t *data, uint32_t len);

/* Takes the next packet that the device has sent. Returns false if there is none. */
bool raw_next(struct raw *r, struct raw_packet *pkt);

/* Takes the next packet of the device. Asserts that there is one, and its opcode and PSN.
 * The result is valid until the next call.
 */
#define raw_expect(r, op, psn) raw_expect_at((r), (op), (psn), __FILE__, __LINE__)
const struct raw_packet *raw_expect_at(struct raw *r, uint8_t op, uint32_t psn,
				       const char *file, int line);
/* Takes the next packet, and asserts that it is an RC acknowledge with the syndrome of an
 * ACK.
 */
#define raw_expect_ack(r, psn, msn) \
	raw_expect_aeth_at((r), 0x1f, (psn), (msn), __FILE__, __LINE__)
/* The same with any syndrome, such as 0x60. */
#define raw_expect_nak(r, syndrome, psn, msn) \
	raw_expect_aeth_at((r), (syndrome), (psn), (msn), __FILE__, __LINE__)
void raw_expect_aeth_at(struct raw *r, uint8_t syndrome, uint32_t psn, uint32_t msn,
			const char *file, int line);
/* Asserts that the device has sent no packet that the test has not taken. No time passes.
 */
#define raw_expect_silence(r) raw_expect_silence_at((r), __FILE__, __LINE__)
void raw_expect_silence_at(struct raw *r, const char *file, int line);

/* Send an ACK or NAK to a request of the device. */
void raw_ack(struct raw *r, uint32_t psn, uint32_t msn);
void raw_nak(struct raw *r, uint8_t syndrome, uint32_t psn, uint32_t msn);

#endif /* RN_RAW_H */
