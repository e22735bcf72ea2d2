/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tap.h - writes every packet of a device, in both directions, to a classic capture file.
 *
 * The file is a pcap file with nanosecond times and link type RAW (IP headers first),
 * one RoCEv2 packet per record. Sent packets are recorded as they leave the host, with
 * super-packets cut into packets. For received packets, the headers that a socket does
 * not report are reconstructed: the IPv4 identification is the one with which the ICRC
 * is right, or 0 if there is none; the UDP checksum is written as if the sender had
 * computed one.
 *
 * libpcap is loaded when the tap is opened, so programs without a capture do not load it.
 * A pcapng file, which holds more information, is written by capture_log.h.
 *
 * Threads: all calls are made under the lock of the engine that owns the layer.
 */
#ifndef RN_TAP_H
#define RN_TAP_H

#include "rocin/net.h"

struct rn_tap;

/**
 * rn_tap_open() - Create a layer in front of a back end, and begin a capture
 * @path:	File, named as own_fd.h says
 * @inner:	The back end; must outlive the result
 * @err:	Out on failure: the error text, one sentence
 *
 * Return: the tap, or NULL with errno: ENOENT (no libpcap), ENAMETOOLONG, ENOMEM, or why
 *	   the file cannot be written.
 */
struct rn_tap *rn_tap_open(const char *path, struct rn_net *inner, char *err,
			   size_t err_len);

/* Write the buffered records, close the file, and free the layer, but not the back end
 * @inner. In a fork child nothing is written. NULL is ignored.
 */
void rn_tap_close(struct rn_tap *t);

struct rn_net *rn_tap_net(struct rn_tap *t);

/* Return: the time (CLOCK_MONOTONIC) at which the caller should call rn_tap_flush(),
 * within a second of the first record that is still buffered; RN_NEVER if none is.
 */
rn_ns rn_tap_flush_due(const struct rn_tap *t);
void rn_tap_flush(struct rn_tap *t);

/* Return: the name of the file, with "%p" replaced. */
const char *rn_tap_path(const struct rn_tap *t);

#endif /* RN_TAP_H */
