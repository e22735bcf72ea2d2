/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* toeplitz.h - the hash by which received frames are spread over queues.
 *
 * Source: "RSS Hashing Types" and "Verifying the RSS Hash Calculation" of Microsoft's
 * driver documentation; its vectors are in test_toeplitz.c.
 *
 * Threads: none of these functions locks or keeps anything.
 */
#ifndef RNP_TOEPLITZ_H
#define RNP_TOEPLITZ_H

#include <stddef.h>
#include <stdint.h>

enum {
	RNP_TOEPLITZ_KEY_LEN = 40,
	/* For each bit of the input 32 bits of the key are looked at. */
	RNP_TOEPLITZ_INPUT_MAX = RNP_TOEPLITZ_KEY_LEN - 4,
};

/**
 * rnp_toeplitz() - Hash some bytes
 * @key:	The program's secret
 * @data:	Fields in network order, one behind the other
 * @len:	Bytes, at most RNP_TOEPLITZ_INPUT_MAX
 *
 * Return: the hash; 0 for no bytes.
 */
uint32_t rnp_toeplitz(const uint8_t key[RNP_TOEPLITZ_KEY_LEN], const uint8_t *data,
		      size_t len);

#endif /* RNP_TOEPLITZ_H */
