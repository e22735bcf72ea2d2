/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rss.c - receive side scaling: chooses the queue that gets a frame. */
#include "rss.h"

#include <assert.h>
#include <string.h>

uint32_t rnp_toeplitz(const uint8_t key[RNP_TOEPLITZ_KEY_LEN], const uint8_t *data,
		      size_t len)
{
	/* 32 bits of the key, from the position of the current input bit on. */
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

struct input {
	uint8_t byte[RNP_TOEPLITZ_INPUT_MAX];
	size_t len;
};

static void append(struct input *in, bool wanted, const uint8_t *field, size_t len)
{
	if (!wanted)
		return;
	assert(in->len + len <= sizeof(in->byte));
	memcpy(in->byte + in->len, field, len);
	in->len += len;
}

uint32_t rnp_rss_hash(const struct rnp_rss *rss, const struct rnp_frame_view *view)
{
	const struct rnp_flow_fields *f = &view->field;
	uint32_t fields = 0;
	struct input in = { .len = 0 };

	if (view->layers & RNP_LAYER_IP4)
		fields |= RNP_RSS_IP4;
	if (view->layers & RNP_LAYER_IP6)
		fields |= RNP_RSS_IP6;
	if (view->layers & RNP_LAYER_TCP && !(view->layers & RNP_LAYER_FRAGMENT))
		fields |= RNP_RSS_TCP;
	if (view->layers & RNP_LAYER_UDP && !(view->layers & RNP_LAYER_FRAGMENT))
		fields |= RNP_RSS_UDP;
	fields &= rss->fields;
	append(&in, fields & RNP_RSS_SRC_IP4, f->ip4_src, sizeof(f->ip4_src));
	append(&in, fields & RNP_RSS_DST_IP4, f->ip4_dst, sizeof(f->ip4_dst));
	append(&in, fields & RNP_RSS_SRC_IP6, f->ip6_src, sizeof(f->ip6_src));
	append(&in, fields & RNP_RSS_DST_IP6, f->ip6_dst, sizeof(f->ip6_dst));
	append(&in, fields & (RNP_RSS_SRC_PORT_TCP | RNP_RSS_SRC_PORT_UDP), f->src_port,
	       sizeof(f->src_port));
	append(&in, fields & (RNP_RSS_DST_PORT_TCP | RNP_RSS_DST_PORT_UDP), f->dst_port,
	       sizeof(f->dst_port));
	return rnp_toeplitz(rss->key, in.byte, in.len);
}

void *rnp_rss_choose(const struct rnp_rss *rss, const struct rnp_frame_view *view)
{
	return rss->table[rnp_rss_hash(rss, view) & (rss->size - 1)];
}
