/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dev_cfg.h - what a device is made with. */
#ifndef RN_DEV_CFG_H
#define RN_DEV_CFG_H

#include "rocin/gid.h"

struct rn_mem_ops;

/* Congestion control: ECN marks are answered by notifications (CNP), and notifications
 * cut the rate of a QP (DCQCN).
 */
enum rn_cc_mode {
	RN_CC_OFF,     /* marks and notifications mean nothing; packets are not ECT */
	RN_CC_OBSERVE, /* all but obeying: rates are kept and shown, nothing waits */
	RN_CC_ON,
};

#define RN_TIMEOUT_SCALE_MAX 1000u

#define RN_CC_LINE 10000000u /* kbps: of a port whose rate is not known */

struct rn_dev_cfg {
	struct rn_gid gid[RN_GID_MAX]; /* all-zero entries are unused */
	uint32_t gid_count;	       /* table length, 1 .. RN_GID_MAX */
	uint32_t ifindex;
	uint32_t mtu_max; /* bytes, 256..4096: port MTU */
	bool icrc_exact;  /* refuse packets whose identification had to be solved for */
	bool credits;	  /* tell requesters how many receives are posted */

	/* Bytes that may be unacknowledged towards one destination process: at start,
	 * at least and at most. A stock receive buffer takes three
	 * super-packets of 64 KiB.
	 */
	uint32_t window_start, window_min, window_max;

	/* READ response bytes that may be on their way to this device in all, and in one
	 * READ request. A longer READ leaves as several requests with consecutive PSNs.
	 */
	uint32_t read_window, read_chunk;

	/* Local ACK timeouts and RNR timers take so many times as long as their codes
	 * say, at most RN_TIMEOUT_SCALE_MAX; 0: as 1. For peers that somebody stops to
	 * look at.
	 */
	uint32_t timeout_scale;

	enum rn_cc_mode cc;
	uint32_t cc_line; /* kbps of the port, at most 4000000000; 0: RN_CC_LINE */

	const struct rn_mem_ops *mem;
	void *mem_ctx;
	/* NULL, or called with mem_ctx before a packet is built that acknowledges what QP
	 * @qpn has received: for acknowledgements that promise more than acceptance. May
	 * reach memory, must not call into the device.
	 */
	void (*before_ack)(void *mem_ctx, uint32_t qpn);
	/* RN_STAT_COUNT counters, zeroed by the caller; written with relaxed stores. */
	uint64_t *stats;
};

#endif /* RN_DEV_CFG_H */
