/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rss.h - receive side scaling: which of several queues gets a frame.
 *
 * Frames of one flow, which have the same addresses and ports, get to the same queue.
 * Knows neither verbs nor sockets.
 *
 * Threads: none of these functions locks or keeps anything.
 */
#ifndef RNP_RSS_H
#define RNP_RSS_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"

enum { /* the Toeplitz hash */
	RNP_TOEPLITZ_KEY_LEN = 40,
	/* Each bit of the input uses the 32 bits of the key from its own position on. */
	RNP_TOEPLITZ_INPUT_MAX = RNP_TOEPLITZ_KEY_LEN - 4,
};

/* The fields that are hashed, with the numbers of verbs (enum ibv_rx_hash_fields). */
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
	uint32_t fields; /* enum rnp_rss_field; one kind of IP and one of ports at most */
	uint32_t size;	 /* entries of the table, a power of two */
	void *const *table; /* queues, any number of times each */
};

/**
 * rnp_toeplitz() - Hash some bytes
 * @key:	The program's secret
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
 * rnp_rss_hash() - Hash those of the fields that a frame has
 *
 * In this order: source and destination address, source and destination port. The ports
 * of a packet that is in fragments are left out, so that all of them stay together.
 *
 * Return: the hash; 0 if the frame has none of the fields.
 */
uint32_t rnp_rss_hash(const struct rnp_rss *rss, const struct rnp_frame_view *view);

/* The queue that the low bits of the hash name. */
void *rnp_rss_choose(const struct rnp_rss *rss, const struct rnp_frame_view *view);

#endif /* RNP_RSS_H */
