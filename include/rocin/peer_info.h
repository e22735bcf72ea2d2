/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* peer_info.h - the question that `rocin doctor --peer` asks the rocind of another host,
 * and its answer: MADs of a vendor's management class to and from QP1.
 *
 * A port that does not know the class answers with an error status, as is the rule for
 * any class. So even an older Rocin or another RoCE device shows by its answer that
 * packets get through in both directions. The packet of a question may be longer than a
 * MAD, up to the longest that a path MTU needs. Its answer has the same length. So a
 * question finds out whether packets of that length get through, and a question with a
 * forged source address cannot be used to amplify an attack. An answer is never answered.
 *
 * Data of a question, 232 bytes: a mark of 8 bytes, then zeros. Data of an answer:
 *
 *    0  mark, 8 bytes
 *    8  version of Rocin, 32 bytes of text, filled with zeros
 *   40  path MTU of the interface in bytes, 2 bytes; 0: unknown
 *   42  enum rn_peer_icrc
 *   44  zeros
 *   48  time since 1970 in ms, 8 bytes
 *
 * The time is that of the host's wall clock, which other protocols show, too. The answer
 * contains neither the time since the start of the machine nor anything about users,
 * programs or QPs.
 *
 * Threads: any; nothing here has state.
 * Source: IBTA Vol 1, 13.4.4 (management classes: 0x09 to 0x0f are for vendors).
 */
#ifndef RN_PEER_INFO_H
#define RN_PEER_INFO_H

#include "rocin/gsi.h"

struct rn_flow;

enum {
	/* Length in bytes from BTH to ICRC of the shortest question, and of the
	 * longest. The longest is as long as an XRC WRITE with immediate data at the
	 * largest path MTU.
	 */
	RN_PEER_ASK_MIN = RN_GSI_PACKET_LEN,
	RN_PEER_ASK_MAX = RN_BTH_LEN + RN_XRCETH_LEN + RN_RETH_LEN + RN_IMM_LEN + 4096 +
			  RN_ICRC_LEN,
	RN_PEER_VERSION_LEN = 32, /* bytes of the version, including its NUL */
};

/* How the devices of a host treat IPv4 identifications that they cannot predict. */
enum rn_peer_icrc {
	RN_PEER_ICRC_UNKNOWN,
	RN_PEER_ICRC_SOLVE, /* all of them compute it from the ICRC (icrc.h) */
	RN_PEER_ICRC_EXACT, /* at least one drops the packet (ROCIN_ICRC=exact) */
};

struct rn_peer_info {
	/* Printable ASCII in a parsed answer, whatever the peer has sent. */
	char version[RN_PEER_VERSION_LEN];
	uint16_t path_mtu; /* in bytes; 0: unknown */
	uint8_t icrc;	   /* enum rn_peer_icrc */
	uint64_t time_ms;  /* CLOCK_REALTIME when the answer was made */
};

enum rn_peer_answer {
	RN_PEER_NO_ANSWER, /* not an answer to this question; to be ignored */
	RN_PEER_REFUSES,   /* a RoCE port that does not know the question */
	RN_PEER_ANSWERS,
};

/* Returns the length in bytes from BTH to ICRC of a question that is as long as the
 * longest packet of a path MTU of 256, 512, 1024, 2048 or 4096 bytes.
 */
static inline uint32_t rn_peer_ask_len(uint32_t path_mtu)
{
	return RN_PEER_ASK_MAX - 4096 + path_mtu;
}

/* Writes a question into the RN_MAD_LEN bytes at @mad. @tid: a random number, by which
 * the answer will be recognised.
 */
void rn_peer_ask_emit(uint8_t *mad, uint64_t tid);

/* Returns true if the MAD is a question. */
bool rn_peer_is_ask(const uint8_t *mad);

/* Writes the answer to the question @ask into the RN_MAD_LEN bytes at @mad. */
void rn_peer_answer_emit(uint8_t *mad, const uint8_t *ask,
			 const struct rn_peer_info *info);

/* Reads a MAD that may be the answer to the question with @tid. @info is written if the
 * result is RN_PEER_ANSWERS.
 */
enum rn_peer_answer rn_peer_answer_parse(const uint8_t *mad, uint64_t tid,
					 struct rn_peer_info *info);

#endif /* RN_PEER_INFO_H */
