/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dev_cfg.h - configuration of a device, fixed when the device is initialised. */
#ifndef RN_DEV_CFG_H
#define RN_DEV_CFG_H

#include "rocin/gid.h"

struct rn_mem_ops;

/* Congestion control: packets with an ECN mark cause congestion notifications (CNP) to
 * their sender, and CNPs reduce the rate of a QP (DCQCN).
 */
enum rn_cc_mode {
	RN_CC_OFF,     /* marks and CNPs are ignored; packets are not ECT */
	RN_CC_OBSERVE, /* rates are computed and reported, but no packet is delayed */
	RN_CC_ON,
};

#define RN_TIMEOUT_SCALE_MAX 1000u

#define RN_CC_LINE 10000000u /* kbit/s assumed for a port whose rate is not known */

struct rn_dev_cfg {
	struct rn_gid gid[RN_GID_MAX]; /* GID table; all-zero entries are unused */
	uint32_t gid_count;	       /* number of entries in `gid`, 1 .. RN_GID_MAX */
	uint32_t ifindex;
	uint32_t mtu_max; /* MTU of the port in bytes, 256..4096 */
	/* Drop packets whose IPv4 identification cannot be guessed. (Otherwise the device
	 * computes it from the ICRC of the packet, see icrc.h.)
	 */
	bool icrc_exact;
	/* Advertise credits: report the number of posted receives to requesters. */
	bool credits;

	/* Size of the window, in bytes: initial, smallest and largest. The window is the
	 * number of bytes that may be sent to one peer process without being
	 * acknowledged. A window larger than the peer's receive buffer can lose packets:
	 * the default buffer of a Linux socket holds three GSO super-packets of 64 KiB.
	 */
	uint32_t window_start, window_min, window_max;

	/* Limits for READ responses, in bytes. read_window: largest number of bytes that
	 * all outstanding READ requests of this device together may ask for. read_chunk:
	 * largest number of bytes that one READ request packet asks for; a longer READ is
	 * sent as several requests with consecutive PSNs.
	 */
	uint32_t read_window, read_chunk;

	/* Factor for local ACK timeouts and RNR timers, at most RN_TIMEOUT_SCALE_MAX; 0
	 * means 1. Useful if a peer is stopped in a debugger.
	 */
	uint32_t timeout_scale;

	enum rn_cc_mode cc;
	/* Rate of the port in kbit/s, at most 4000000000; 0: RN_CC_LINE. */
	uint32_t cc_line;

	const struct rn_mem_ops *mem;
	void *mem_ctx;
	/* NULL, or a function that the device calls, with mem_ctx, before it builds a
	 * packet that acknowledges what QP @qpn has received. The function can complete
	 * all pending writes of received data, so that an acknowledgement means that the
	 * data is in memory. It may access memory, but must not call into the device.
	 */
	void (*before_ack)(void *mem_ctx, uint32_t qpn);
	/* Array of RN_STAT_COUNT counters, zeroed by the caller; the device writes them
	 * with relaxed stores.
	 */
	uint64_t *stats;
};

#endif /* RN_DEV_CFG_H */
