/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcap_frame.h - the IP and UDP headers that the kernel put around a packet, or took off.
 *
 * No I/O. Threads: any; no state.
 */
#ifndef RN_PCAP_FRAME_H
#define RN_PCAP_FRAME_H

#include "rocin/flow.h"

enum {
	RN_FRAME_HDR_MAX = 40 + 8
};

/**
 * rn_frame_headers() - Write IP and UDP header of a RoCEv2 packet
 * @out:	RN_FRAME_HDR_MAX bytes
 * @f:		Addresses, source port, ToS; a hop limit of 0 is written as 64
 * @ip_id:	IPv4 identification
 * @payload:	BTH to ICRC, for the UDP checksum; NULL: a checksum of 0, which says that
 *		there is none
 * @len:	Bytes from BTH to ICRC
 *
 * IPv4 with DF and without options, IPv6 with flow label 0; checksums are right.
 *
 * Return: bytes written: 28 or 48.
 */
size_t rn_frame_headers(uint8_t *out, const struct rn_flow *f, uint16_t ip_id,
			const uint8_t *payload, size_t len);

#endif /* RN_PCAP_FRAME_H */
