/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dev_cfg.h - what a device is made with. */
#ifndef RN_DEV_CFG_H
#define RN_DEV_CFG_H

#include "rocin/gid.h"

struct rn_mem_ops;

/* Congestion control: packets with an ECN mark cause notifications (CNP), and
 * notifications cut the rate of a QP (DCQCN).
 */
enum rn_cc_mode {
	RN_CC_OFF,     /* marks and notifications are ignored; packets are not ECT */
	RN_CC_OBSERVE, /* rates are computed and shown, but no packet is delayed */
	RN_CC_ON,
};

#define RN_TIMEOUT_SCALE_MAX 1000u

#define RN_CC_LINE 10000000u /* rate in kbit/s of a port whose rate is not known */

struct rn_dev_cfg {
	struct rn_gid gid[RN_GID_MAX]; /* GID table; all-zero entries are unused */
	uint32_t gid_count;	       /* entries of the GID table, 1 .. RN_GID_MAX */
	uint32_t ifindex;
	uint32_t mtu_max; /* port MTU in bytes, 256..4096 */
	/* Refuse packets whose IPv4 identification had to be solved for. */
	bool icrc_exact;
	/* Advertise credits: tell requesters how many receives are posted. */
	bool credits;

	/* Bytes that may be unacknowledged towards one peer process: at first, at least,
	 * and at most. The default receive buffer of a Linux socket holds three
	 * super-packets of 64 KiB.
	 */
	uint32_t window_start, window_min, window_max;

	/* Bytes of READ responses that may be on their way to this device
	 * altogether, and in one READ request. A longer READ is sent as several
	 * requests with consecutive PSNs.
	 */
	uint32_t read_window, read_chunk;

	/* Local ACK timeouts and RNR timers are multiplied by this factor, at most
	 * RN_TIMEOUT_SCALE_MAX (0 means 1). For peers that somebody stops in a debugger.
	 */
	uint32_t timeout_scale;

	enum rn_cc_mode cc;
	/* Rate of the port in kbit/s, at most 4000000000; 0: RN_CC_LINE. */
	uint32_t cc_line;

	const struct rn_mem_ops *mem;
	void *mem_ctx;
	/* NULL, or called with mem_ctx before a packet is built that acknowledges what QP
	 * @qpn has received; for acknowledgements that promise that the data is in
	 * memory. May access memory, must not call into the device.
	 */
	void (*before_ack)(void *mem_ctx, uint32_t qpn);
	/* RN_STAT_COUNT counters, zeroed by the caller; the device writes
	 * them with relaxed stores.
	 */
	uint64_t *stats;
};

#endif /* RN_DEV_CFG_H */
