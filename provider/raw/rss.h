/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rss.h - receive side scaling: chooses the queue that gets a frame.
 *
 * Frames of one flow, that is, with the same addresses and ports, get to the same queue.
 * Nothing here depends on verbs or sockets.
 *
 * Threads: none of these functions locks or keeps state.
 */
#ifndef RNP_RSS_H
#define RNP_RSS_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"

enum { /* sizes for the Toeplitz hash, bytes */
	RNP_TOEPLITZ_KEY_LEN = 40,
	/* Each bit of the input uses the 32 bits of the key from its own position on. */
	RNP_TOEPLITZ_INPUT_MAX = RNP_TOEPLITZ_KEY_LEN - 4,
};

/* Fields that can be hashed, with the numbers of verbs (enum ibv_rx_hash_fields). */
enum rnp_rss_field {
	RNP_RSS_SRC_IP4 = 1 << 0,
	RNP_RSS_DST_IP4 = 1 << 1,
	RNP_RSS_SRC_IP6 = 1 << 2,
	RNP_RSS_DST_IP6 = 1 << 3,
	RNP_RSS_SRC_PORT_TCP = 1 << 4,
	RNP_RSS_DST_PORT_TCP = 1 << 5,
	RNP_RSS_SRC_PORT_UDP = 1 << 6,
	RNP_RSS_DST_PORT_UDP = 1 << 7,

	RNP_RSS_IP4 = RNP_RSS_SRC_IP4 | RNP_RSS_DST_IP4,
	RNP_RSS_IP6 = RNP_RSS_SRC_IP6 | RNP_RSS_DST_IP6,
	RNP_RSS_TCP = RNP_RSS_SRC_PORT_TCP | RNP_RSS_DST_PORT_TCP,
	RNP_RSS_UDP = RNP_RSS_SRC_PORT_UDP | RNP_RSS_DST_PORT_UDP,
	RNP_RSS_FIELDS = RNP_RSS_IP4 | RNP_RSS_IP6 | RNP_RSS_TCP | RNP_RSS_UDP,
};

struct rnp_rss {
	uint8_t key[RNP_TOEPLITZ_KEY_LEN];
	/* enum rnp_rss_field; not both IPv4 and IPv6, not both TCP and UDP */
	uint32_t fields;
	uint32_t size;	    /* entries of @table, a power of two */
	void *const *table; /* queues; each may stand there several times */
};

/**
 * rnp_toeplitz() - Compute the Toeplitz hash of some bytes
 * @key:	Key that the program has chosen
 * @data:	Fields in network order, one behind the other
 * @len:	Bytes, at most RNP_TOEPLITZ_INPUT_MAX
 *
 * Source: "RSS Hashing Types" and "Verifying the RSS Hash Calculation" of Microsoft's
 * driver documentation; its vectors are in test_rss.c.
 * Return: the hash; 0 for no bytes.
 */
uint32_t rnp_toeplitz(const uint8_t key[RNP_TOEPLITZ_KEY_LEN], const uint8_t *data,
		      size_t len);

/**
 * rnp_rss_hash() - Hash the fields of @rss->fields that a frame has
 *
 * In this order: source and destination address, source and destination port. The ports
 * of a fragmented packet are left out, so that all fragments get to the same queue.
 *
 * Return: the hash; 0 if the frame has none of the fields.
 */
uint32_t rnp_rss_hash(const struct rnp_rss *rss, const struct rnp_frame_view *view);

/* Returns the queue that the low bits of the hash select. */
void *rnp_rss_choose(const struct rnp_rss *rss, const struct rnp_frame_view *view);

#endif /* RNP_RSS_H */
