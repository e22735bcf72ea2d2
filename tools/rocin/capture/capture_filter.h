/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_filter.h - which captured packets are wanted, in the words of pcap-filter(7).
 *
 * Threads: a filter belongs to one; libpcap's parser has state of its own, so that
 * rn_capture_filter_new() is for one thread at a time.
 */
#ifndef RN_CAPTURE_FILTER_H
#define RN_CAPTURE_FILTER_H

#include "transport/io/capture/capture_blocks.h"

struct rn_capture_filter_code;

/**
 * rn_capture_filter_new() - Understand an expression
 * @text:	E.g. "host 127.0.0.2 and outbound"; empty: every packet
 * @err:	Out on failure: what libpcap says, without a newline
 *
 * Return: the filter, or NULL with errno: EINVAL (no expression), ENOMEM.
 */
struct rn_capture_filter_code *rn_capture_filter_new(const char *text, char *err,
						     size_t err_len);

/* NULL is a filter that every packet passes. What was cut off is not looked at. */
bool rn_capture_filter_passes(const struct rn_capture_filter_code *f,
			      const struct rn_capture_packet *packet);

/* NULL is ignored. */
void rn_capture_filter_free(struct rn_capture_filter_code *f);

#endif /* RN_CAPTURE_FILTER_H */
