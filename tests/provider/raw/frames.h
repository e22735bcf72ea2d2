/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* frames.h - Ethernet frames for the tests of flow rules. */
#ifndef RN_TEST_FRAMES_H
#define RN_TEST_FRAMES_H

#include <stdint.h>
#include <string.h>

/* A frame that the functions below append to. */
struct frame {
	uint8_t byte[256];
	size_t len;
};

static inline void frame_add(struct frame *f, const void *bytes, size_t len)
{
	memcpy(f->byte + f->len, bytes, len);
	f->len += len;
}

static inline void frame_be16(struct frame *f, unsigned n)
{
	frame_add(f, (uint8_t[]){ (uint8_t)(n >> 8), (uint8_t)n }, 2);
}

/* Ethernet header from 24:8a:07:a5:28:c8 to 01:50:56:19:20:a7, which is a group address.
 */
static inline struct frame frame_eth(unsigned type)
{
	static const uint8_t macs[] = { 0x01, 0x50, 0x56, 0x19, 0x20, 0xa7,
					0x24, 0x8a, 0x07, 0xa5, 0x28, 0xc8 };
	struct frame f = { .len = 0 };

	frame_add(&f, macs, sizeof(macs));
	frame_be16(&f, type);
	return f;
}

/* VLAN tag. The type field before it must be 0x8100 or 0x88a8. */
static inline void frame_vlan(struct frame *f, unsigned tci, unsigned type)
{
	frame_be16(f, tci);
	frame_be16(f, type);
}

/* IPv4 header from 1.1.1.1 to 2.2.2.2, with TOS 0x10 and TTL 64. @fragment: flags and
 * offset. @words: length of the header in 4-byte words, 5..15.
 */
static inline void frame_ip4(struct frame *f, unsigned proto, unsigned fragment,
			     unsigned words)
{
	const uint8_t start[] = { (uint8_t)(0x40 | words), 0x10, 0, 100, 0, 7 };
	const uint8_t end[] = { 64, (uint8_t)proto, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2 };
	static const uint8_t options[40];

	frame_add(f, start, sizeof(start));
	frame_be16(f, fragment);
	frame_add(f, end, sizeof(end));
	frame_add(f, options, (size_t)(words - 5) * 4);
}

/* IPv6 header from a0a1::1 to b0b1::2, with traffic class 0x12, flow label 0x34567 and
 * hop limit 63.
 */
static inline void frame_ip6(struct frame *f, unsigned next)
{
	const uint8_t start[] = { 0x61, 0x23, 0x45, 0x67, 0, 60, (uint8_t)next, 63 };
	const uint8_t src[16] = { 0xa0, 0xa1, [15] = 1 };
	const uint8_t dst[16] = { 0xb0, 0xb1, [15] = 2 };

	frame_add(f, start, sizeof(start));
	frame_add(f, src, sizeof(src));
	frame_add(f, dst, sizeof(dst));
}

/* Ports of TCP or UDP, 1234 to 5678, and the following bytes. */
static inline void frame_ports(struct frame *f)
{
	static const uint8_t rest[20] = { 0 };

	frame_be16(f, 1234);
	frame_be16(f, 5678);
	frame_add(f, rest, sizeof(rest));
}

static inline struct frame frame_udp4(void)
{
	struct frame f = frame_eth(0x0800);

	frame_ip4(&f, 17, 0x4000, 5);
	frame_ports(&f);
	return f;
}

static inline struct frame frame_tcp6(void)
{
	struct frame f = frame_eth(0x86dd);

	frame_ip6(&f, 6);
	frame_ports(&f);
	return f;
}

#endif /* RN_TEST_FRAMES_H */
