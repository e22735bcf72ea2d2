/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tap.h - write every packet of a device to a classic capture file, both directions.
 *
 * A pcap file with nanosecond times and link type RAW (IP headers first), one RoCEv2
 * packet per record. What the device sends is recorded as it leaves the host,
 * super-packets cut into packets; of what it receives, the headers that a socket does not
 * show are put back: the IPv4 identification is the one that makes the ICRC right, 0 if
 * none does; the UDP checksum is written as if the sender had made one.
 *
 * libpcap is loaded when the tap is opened: no program that takes no capture carries it.
 * A pcapng file, which has more to say, is written by capture_log.h.
 *
 * Threads: as net.h.
 */
#ifndef RN_TAP_H
#define RN_TAP_H

#include "rocin/net.h"

struct rn_tap;

/**
 * rn_tap_open() - Start a capture in front of a back end
 * @path:	File, named as own_file.h says
 * @inner:	What transmits; must outlive the result
 * @err:	Out on failure: one sentence
 *
 * Return: the tap, or NULL with errno: ENOENT (no libpcap), ENAMETOOLONG, ENOMEM, or why
 *	   the file cannot be written.
 */
struct rn_tap *rn_tap_open(const char *path, struct rn_net *inner, char *err,
			   size_t err_len);

/* Writes what is buffered and closes the file. In a fork child: writes nothing. @inner is
 * not freed. NULL is ignored.
 */
void rn_tap_close(struct rn_tap *t);

struct rn_net *rn_tap_net(struct rn_tap *t);

/* When rn_tap_flush() should be called (CLOCK_MONOTONIC), within a second of the first
 * record that is still buffered; RN_NEVER if none is.
 */
rn_ns rn_tap_flush_due(const struct rn_tap *t);
void rn_tap_flush(struct rn_tap *t);

/* Name of the file that is written, with nothing left to replace. */
const char *rn_tap_path(const struct rn_tap *t);

#endif /* RN_TAP_H */
