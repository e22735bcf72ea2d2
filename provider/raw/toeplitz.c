/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* toeplitz.c - the hash by which received frames are spread over queues. */
#include "toeplitz.h"

#include <assert.h>

uint32_t rnp_toeplitz(const uint8_t key[RNP_TOEPLITZ_KEY_LEN], const uint8_t *data,
		      size_t len)
{
	/* The 32 bits of the key that begin at the bit of the input. */
	uint32_t window = (uint32_t)key[0] << 24 | (uint32_t)key[1] << 16 |
			  (uint32_t)key[2] << 8 | key[3];
	uint32_t hash = 0;

	assert(len <= RNP_TOEPLITZ_INPUT_MAX);
	for (size_t i = 0; i < len; i++) {
		for (int bit = 7; bit >= 0; bit--) {
			if (data[i] >> bit & 1)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> bit & 1);
		}
	}
	return hash;
}
