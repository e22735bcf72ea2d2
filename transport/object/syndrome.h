/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syndrome.h - the reason why a work request failed, in more detail than its
 * status: ibv_wc.vendor_err.
 *
 * The numbers are documented in rocin(7) and do not change. A failed work request always
 * has a syndrome; RN_SYN_NONE goes with success only.
 */
#ifndef RN_SYNDROME_H
#define RN_SYNDROME_H

enum rn_syndrome {
	RN_SYN_NONE = 0,
	RN_SYN_OTHER = 0x01, /* the status says all */

	/* An L_Key does not open the memory that an SGE names:
	 * 0x10 + enum rn_key_result.
	 */
	RN_SYN_LKEY = 0x10,
	RN_SYN_LKEY_UNKNOWN = 0x11,
	RN_SYN_LKEY_INVALID = 0x12,
	RN_SYN_LKEY_PD = 0x13,
	RN_SYN_LKEY_ACCESS = 0x15,
	RN_SYN_LKEY_RANGE = 0x16,
	RN_SYN_LOCAL_MEMORY = 0x1f, /* the key is good, but the memory is not there */

	RN_SYN_TOO_LONG = 0x20, /* the message does not fit the posted request */
	RN_SYN_REQUEST = 0x21,	/* the work request cannot be carried out */
	RN_SYN_BIND = 0x22,	/* the window cannot be bound to this region */

	/* The peer answered with a NAK. */
	RN_SYN_NAK_INVALID = 0x31,   /* invalid request */
	RN_SYN_NAK_ACCESS = 0x32,    /* R_Key, range or access right */
	RN_SYN_NAK_OPERATION = 0x33, /* the peer could not carry the request out */

	/* The peer did not answer in a useful way, for as many retries as allowed. */
	RN_SYN_SILENCE = 0x41,	/* nothing came within the ACK timeout */
	RN_SYN_SEQUENCE = 0x42, /* PSN sequence errors: packets are lost */
	/* The peer had no receive posted, after rnr_retry retries. */
	RN_SYN_NOT_READY = 0x43,
	RN_SYN_RESPONSE = 0x44, /* a response does not fit the request */

	/* Receives: this side refused the peer's request. */
	RN_SYN_PEER_INVALID = 0x51, /* invalid request */
	RN_SYN_PEER_ACCESS = 0x52,  /* R_Key, range or access right */

	RN_SYN_FLUSHED = 0x80, /* not an error of this WQE: the QP went to ERR or SQE */
};

#endif /* RN_SYNDROME_H */
