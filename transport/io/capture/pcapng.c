/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcapng.c - see pcapng.h. Section numbers are the draft's. */
#include "pcapng.h"

#include <stdlib.h>
#include <string.h>

enum block {
	BLOCK_SECTION = 0x0a0d0d0a, /* 4.1 */
	BLOCK_INTERFACE = 1,	    /* 4.2 */
	BLOCK_STATISTICS = 5,	    /* 4.6 */
	BLOCK_PACKET = 6,	    /* 4.3 */
};

enum {
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	NANOSECONDS = 9,
	MIN_ROOM = 4096,
};

enum option {
	OPT_END = 0,
	OPT_COMMENT = 1,
	SHB_HARDWARE = 2,
	SHB_OS = 3,
	SHB_USERAPPL = 4,
	IF_NAME = 2,
	IF_DESCRIPTION = 3,
	IF_TSRESOL = 9,
	EPB_FLAGS = 2,
	EPB_DROPCOUNT = 4,
	EPB_QUEUE = 6,
	ISB_IFRECV = 4,
	ISB_IFDROP = 5,
};

enum {
	FLAG_INBOUND = 1,
	FLAG_OUTBOUND = 2,
};

/* ---------------------------------------------------------------------- bytes */
static void put(struct rn_pcapng *p, const void *data, size_t len)
{
	if (p->failed)
		return;
	if (p->len + len > p->cap) {
		size_t cap = p->cap ? p->cap : MIN_ROOM;
		uint8_t *grown;

		while (p->len + len > cap)
			cap *= 2;
		grown = realloc(p->data, cap);
		if (!grown) {
			p->failed = true;
			return;
		}
		p->data = grown;
		p->cap = cap;
	}
	if (len)
		memcpy(p->data + p->len, data, len);
	p->len += len;
}

static void put16(struct rn_pcapng *p, uint16_t v)
{
	put(p, &v, sizeof(v));
}

static void put32(struct rn_pcapng *p, uint32_t v)
{
	put(p, &v, sizeof(v));
}

/* The high word first, whatever the byte order. */
static void put_time(struct rn_pcapng *p, uint64_t ns)
{
	put32(p, (uint32_t)(ns >> 32));
	put32(p, (uint32_t)ns);
}

/* Up to a multiple of 4, which every block and option begins at. */
static void put_padded(struct rn_pcapng *p, const void *data, size_t len)
{
	static const uint8_t zeros[4];

	put(p, data, len);
	put(p, zeros, (4 - len % 4) % 4);
}

static void put_option(struct rn_pcapng *p, enum option code, const void *data,
		       size_t len)
{
	put16(p, (uint16_t)code);
	put16(p, (uint16_t)len);
	put_padded(p, data, len);
}

static void put_text(struct rn_pcapng *p, enum option code, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len)
		put_option(p, code, text, len < UINT16_MAX ? len : UINT16_MAX);
}

/* ---------------------------------------------------------------------- blocks */
/* Return: where it begins. */
static size_t begin(struct rn_pcapng *p, enum block type)
{
	size_t at = p->len;

	put32(p, (uint32_t)type);
	put32(p, 0);
	return at;
}

/* Its length stands at both ends. A block that has no room is not there at all. */
static void end(struct rn_pcapng *p, size_t at)
{
	uint32_t len = (uint32_t)(p->len - at + sizeof(len));

	put32(p, len);
	if (p->failed)
		p->len = at;
	else
		memcpy(p->data + at + 4, &len, sizeof(len));
}

void rn_pcapng_clear(struct rn_pcapng *p)
{
	p->len = 0;
	p->failed = false;
}

void rn_pcapng_free(struct rn_pcapng *p)
{
	free(p->data);
	*p = (struct rn_pcapng){ 0 };
}

void rn_pcapng_section(struct rn_pcapng *p, const char *hardware, const char *os,
		       const char *program)
{
	const uint64_t unknown_len = UINT64_MAX;
	size_t at = begin(p, BLOCK_SECTION);

	put32(p, BYTE_ORDER_MAGIC);
	put16(p, 1); /* version 1.0 */
	put16(p, 0);
	put(p, &unknown_len, sizeof(unknown_len));
	put_text(p, SHB_HARDWARE, hardware);
	put_text(p, SHB_OS, os);
	put_text(p, SHB_USERAPPL, program);
	put_option(p, OPT_END, NULL, 0);
	end(p, at);
}

void rn_pcapng_interface(struct rn_pcapng *p, uint16_t link_type, const char *name,
			 const char *description, uint32_t snaplen)
{
	const uint8_t resolution = NANOSECONDS;
	size_t at = begin(p, BLOCK_INTERFACE);

	put16(p, link_type);
	put16(p, 0);
	put32(p, snaplen);
	put_text(p, IF_NAME, name);
	put_text(p, IF_DESCRIPTION, description);
	put_option(p, IF_TSRESOL, &resolution, sizeof(resolution));
	put_option(p, OPT_END, NULL, 0);
	end(p, at);
}

void rn_pcapng_packet(struct rn_pcapng *p, const struct rn_pcapng_packet *packet)
{
	const uint32_t flags = packet->is_outbound ? FLAG_OUTBOUND : FLAG_INBOUND;
	size_t at = begin(p, BLOCK_PACKET);

	put32(p, packet->interface);
	put_time(p, packet->time);
	put32(p, packet->cap);
	put32(p, packet->len);
	put_padded(p, packet->data, packet->cap);
	put_text(p, OPT_COMMENT, packet->comment);
	put_option(p, EPB_FLAGS, &flags, sizeof(flags));
	if (packet->missed)
		put_option(p, EPB_DROPCOUNT, &packet->missed, sizeof(packet->missed));
	if (packet->queue)
		put_option(p, EPB_QUEUE, &packet->queue, sizeof(packet->queue));
	put_option(p, OPT_END, NULL, 0);
	end(p, at);
}

void rn_pcapng_statistics(struct rn_pcapng *p, uint32_t interface, uint64_t time,
			  uint64_t received, uint64_t missed)
{
	size_t at = begin(p, BLOCK_STATISTICS);

	put32(p, interface);
	put_time(p, time);
	put_option(p, ISB_IFRECV, &received, sizeof(received));
	put_option(p, ISB_IFDROP, &missed, sizeof(missed));
	put_option(p, OPT_END, NULL, 0);
	end(p, at);
}
