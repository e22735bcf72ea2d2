/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syndrome.h - values of ibv_wc.vendor_err: why a work request failed, in more detail
 * than its status.
 *
 * The numbers are documented in rocin(7) and do not change. A failed work request always
 * has a value other than RN_SYN_NONE.
 */
#ifndef RN_SYNDROME_H
#define RN_SYNDROME_H

enum rn_syndrome {
	RN_SYN_NONE = 0,
	RN_SYN_OTHER = 0x01, /* the status tells the reason */

	/* The L_Key of an SGE does not allow the access: 0x10 + enum rn_key_result. */
	RN_SYN_LKEY = 0x10,
	RN_SYN_LKEY_UNKNOWN = 0x11,
	RN_SYN_LKEY_INVALID = 0x12,
	RN_SYN_LKEY_PD = 0x13,
	RN_SYN_LKEY_ACCESS = 0x15,
	RN_SYN_LKEY_RANGE = 0x16,
	/* The L_Key allows the access, but the memory does not exist any more. */
	RN_SYN_LOCAL_MEMORY = 0x1f,

	/* The message is longer than the memory of the work request. */
	RN_SYN_TOO_LONG = 0x20,
	RN_SYN_REQUEST = 0x21, /* the device cannot execute the work request */
	RN_SYN_BIND = 0x22,    /* the window cannot be bound to this region */

	/* The peer has answered with a NAK. */
	RN_SYN_NAK_INVALID = 0x31,   /* invalid request */
	RN_SYN_NAK_ACCESS = 0x32,    /* R_Key, range or access right */
	RN_SYN_NAK_OPERATION = 0x33, /* the peer could not execute the request */

	/* The retries were used up without an acknowledgement. */
	RN_SYN_SILENCE = 0x41, /* no response came within the ACK timeout */
	/* The peer reported PSN sequence errors, so packets are lost. */
	RN_SYN_SEQUENCE = 0x42,
	/* RNR: the peer had no receive posted, even after rnr_retry retries. */
	RN_SYN_NOT_READY = 0x43,
	RN_SYN_RESPONSE = 0x44, /* a response does not fit the request */

	/* Completions of receives: this side has refused the peer's request. */
	RN_SYN_PEER_INVALID = 0x51, /* invalid request */
	RN_SYN_PEER_ACCESS = 0x52,  /* R_Key, range or access right */

	RN_SYN_FLUSHED = 0x80, /* this WQE is not the cause: the QP went to ERR or SQE */
};

#endif /* RN_SYNDROME_H */
