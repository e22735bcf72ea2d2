/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcapng.c - parses pcapng blocks; see pcapng.h. Section numbers in this file are those
 * of draft-ietf-opsawg-pcapng-02.
 */
#include "pcapng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum block {
	/* Section Header Block, section 4.1. The number is the same in both byte orders.
	 */
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,	 /* Interface Description Block, section 4.2 */
	BLOCK_OLD_PACKET = 2,	 /* obsolete Packet Block, appendix A */
	BLOCK_SIMPLE_PACKET = 3, /* Simple Packet Block, section 4.4 */
	BLOCK_PACKET = 6,	 /* Enhanced Packet Block, section 4.3 */
};

enum option {
	OPT_END = 0,
	OPT_COMMENT = 1,
	IF_NAME = 2,
	IF_DESCRIPTION = 3,
	IF_TSRESOL = 9,
	IF_TSOFFSET = 14,
	EPB_FLAGS = 2,
	EPB_QUEUE = 6,
};

enum {
	BLOCK_MIN = 12,
	/* size in bytes of the block's length, which is repeated at the end of the block
	 */
	TAIL = 4,
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	NAME_LEN = 32,
	DESCRIPTION_LEN = 128,
	MICROSECONDS = 6,
	NANOSECONDS = 9,
	POWER_OF_2 = 0x80, /* flag in if_tsresol: the resolution is a power of 2 */
	WAY = 3,	   /* mask of the packet's direction in epb_flags */
	OUTBOUND = 2,
};

#define NS_PER_S 1000000000

struct rn_pcapng_interface {
	uint16_t link_type;
	uint8_t resolution;
	int64_t offset; /* if_tsoffset: seconds to add to each timestamp */
	uint32_t snaplen;
	char name[NAME_LEN], description[DESCRIPTION_LEN];
};

/* The part of a block that is not parsed yet. */
struct rest {
	const struct rn_pcapng_reader *r;
	const uint8_t *at;
	uint32_t len;
};

/* ----------------------------------------- numbers in the byte order of the section */
static uint16_t get16(const struct rn_pcapng_reader *r, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return r->is_swapped ? __builtin_bswap16(v) : v;
}

static uint32_t get32(const struct rn_pcapng_reader *r, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return r->is_swapped ? __builtin_bswap32(v) : v;
}

static uint64_t get64(const struct rn_pcapng_reader *r, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return r->is_swapped ? __builtin_bswap64(v) : v;
}

static uint32_t padded(uint32_t len)
{
	return (len + 3) & ~3U;
}

/* Converts a timestamp of interface @i, in the time units of that interface, to ns.
 * Returns 0 if the result is out of range.
 */
static int64_t to_ns(const struct rn_pcapng_interface *i, uint64_t units)
{
	uint8_t power = i->resolution & (POWER_OF_2 - 1);
	uint64_t scale = 1, s, part;
	int64_t ns;

	if (i->resolution & POWER_OF_2) {
		if (power > 63)
			return 0;
		s = units >> power;
		part = units & ((1ULL << power) - 1);
		/* The fraction of a second is cut to 34 bits. Then its product with 10^9
		 * fits into 64 bits.
		 */
		if (power > 34) {
			part >>= power - 34;
			power = 34;
		}
		part = part * NS_PER_S >> power;
	} else {
		if (power > 19)
			return 0;
		for (uint8_t k = 0; k < power; k++)
			scale *= 10;
		s = units / scale;
		part = units % scale;
		part = power <= NANOSECONDS ? part * (NS_PER_S / scale)
					    : part / (scale / NS_PER_S);
	}
	if (s > INT64_MAX || __builtin_add_overflow((int64_t)s, i->offset, &ns) ||
	    __builtin_mul_overflow(ns, (int64_t)NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)part, &ns))
		return 0;
	return ns;
}

/* ------------------------------------------------------- texts of a block's options */
/* Returns the length in bytes of the UTF-8 character at @p. Returns 0 if it is invalid,
 * or if it is a control character, which could move a terminal's cursor.
 */
static unsigned character(const uint8_t *p, uint32_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = p[0] < 0x80   ? 1
		     : p[0] < 0xc0 ? 0
		     : p[0] < 0xe0 ? 2
		     : p[0] < 0xf0 ? 3
				   : 4;
	uint32_t c = n < 2 ? p[0] : p[0] & (0x7fU >> n);

	if (n == 0 || n > len || p[0] > 0xf4)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return c < ' ' || (c >= 0x7f && c < 0xa0) ? 0 : n;
}

/* Appends the @len bytes at @p, which should be UTF-8 text, to @text, as far as @room
 * allows. A character that cannot be shown becomes '?'.
 */
static void add_text(char *text, size_t room, const uint8_t *p, uint32_t len)
{
	size_t at = strlen(text);

	while (len > 0 && p[0] != '\0') {
		unsigned n = character(p, len), taken = n ? n : 1;

		if (at + taken >= room)
			break;
		memcpy(text + at, n ? p : (const uint8_t *)"?", taken);
		at += taken;
		p += taken;
		len -= taken;
	}
	text[at] = '\0';
}

static void add_comment(struct rn_pcapng_found *f, const uint8_t *p, uint32_t len)
{
	if (f->comment[0])
		add_text(f->comment, sizeof(f->comment), (const uint8_t *)"; ", 2);
	add_text(f->comment, sizeof(f->comment), p, len);
}

/* ---------------------------------------------------- parsing of each kind of block */
/* Reads the next option. Returns false if there is none, or if it does not fit in
 * the block.
 */
static bool next_option(struct rest *rest, uint16_t *code, const uint8_t **value,
			uint16_t *len)
{
	if (rest->len < 4)
		return false;
	*code = get16(rest->r, rest->at);
	*len = get16(rest->r, rest->at + 2);
	*value = rest->at + 4;
	if (*code == OPT_END || padded(*len) > rest->len - 4)
		return false;
	rest->at += 4 + padded(*len);
	rest->len -= 4 + padded(*len);
	return true;
}

static int begin_section(struct rn_pcapng_reader *r, const uint8_t *block, uint32_t len)
{
	if (len < 28 || get16(r, block + 12) != 1)
		return -EINVAL; /* the file has a later version of the format */
	r->is_begun = true;
	r->interfaces = 0;
	return 0;
}

static struct rn_pcapng_interface *new_interface(struct rn_pcapng_reader *r)
{
	if (r->interfaces == r->room) {
		uint32_t room = r->room ? 2 * r->room : 4;
		struct rn_pcapng_interface *more =
			realloc(r->interface, room * sizeof(*more));

		if (!more)
			return NULL;
		r->interface = more;
		r->room = room;
	}
	return &r->interface[r->interfaces++];
}

static int add_interface(struct rn_pcapng_reader *r, const uint8_t *block, uint32_t len)
{
	struct rest rest = { r, block + 16, len - TAIL - 16 };
	struct rn_pcapng_interface *i;
	const uint8_t *value;
	uint16_t code, n;

	if (len < 20)
		return -EINVAL;
	i = new_interface(r);
	if (!i)
		return -ENOMEM;
	*i = (struct rn_pcapng_interface){ .link_type = get16(r, block + 8),
					   .snaplen = get32(r, block + 12),
					   .resolution = MICROSECONDS };
	while (next_option(&rest, &code, &value, &n)) {
		if (code == IF_NAME && !i->name[0])
			add_text(i->name, sizeof(i->name), value, n);
		else if (code == IF_DESCRIPTION && !i->description[0])
			add_text(i->description, sizeof(i->description), value, n);
		else if (code == IF_TSRESOL && n == 1)
			i->resolution = *value;
		else if (code == IF_TSOFFSET && n == 8)
			i->offset = (int64_t)get64(r, value);
	}
	return 0;
}

static int set_interface(const struct rn_pcapng_reader *r, uint32_t number,
			 uint64_t units, struct rn_pcapng_found *f)
{
	const struct rn_pcapng_interface *i;

	if (number >= r->interfaces)
		return -EINVAL;
	i = &r->interface[number];
	f->link_type = i->link_type;
	f->time = to_ns(i, units);
	f->name = i->name;
	f->description = i->description;
	return 0;
}

/* Parses an Enhanced or an obsolete Packet Block, which contains a packet, from block[28]
 * on, and options.
 */
static int read_packet(const struct rn_pcapng_reader *r, const uint8_t *block,
		       uint32_t len, struct rn_pcapng_found *f)
{
	const uint8_t *value;
	struct rest rest;
	uint16_t code, n;
	bool is_old;
	int rc;

	if (len < 28 + TAIL)
		return -EINVAL;
	rest = (struct rest){ r, block + 28, len - TAIL - 28 };
	is_old = get32(r, block) == BLOCK_OLD_PACKET;
	rc = set_interface(r, is_old ? get16(r, block + 8) : get32(r, block + 8),
			   (uint64_t)get32(r, block + 12) << 32 | get32(r, block + 16),
			   f);
	if (rc)
		return rc;
	f->cap = get32(r, block + 20);
	f->len = get32(r, block + 24);
	f->data = rest.at;
	if (f->cap > rest.len || padded(f->cap) > rest.len)
		return -EINVAL;
	rest.at += padded(f->cap);
	rest.len -= padded(f->cap);
	while (next_option(&rest, &code, &value, &n)) {
		if (code == OPT_COMMENT)
			add_comment(f, value, n);
		else if (code == EPB_FLAGS && n == 4)
			f->is_outbound = (get32(r, value) & WAY) == OUTBOUND;
		else if (code == EPB_QUEUE && n == 4 && !is_old)
			f->queue = get32(r, value);
	}
	return 1;
}

/* Parses a Simple Packet Block, which has no time and no options; its packet belongs to
 * the first interface.
 */
static int read_simple(const struct rn_pcapng_reader *r, const uint8_t *block,
		       uint32_t len, struct rn_pcapng_found *f)
{
	uint32_t most;

	if (len < 12 + TAIL || set_interface(r, 0, 0, f))
		return -EINVAL;
	most = r->interface[0].snaplen;
	f->time = 0;
	f->len = get32(r, block + 8);
	f->cap = most && most < f->len ? most : f->len;
	f->data = block + 12;
	return f->cap <= len - TAIL - 12 ? 1 : -EINVAL;
}

/* -------------------------------------- block lengths, and the choice of the parser */
/* Determines the byte order of a section from its first block, which begins with @head.
 * *@is_swapped: out, true if it is not the byte order of this machine. Returns false if
 * @head is not that of a valid Section Header Block.
 */
static bool has_order(const uint8_t *head, bool *is_swapped)
{
	uint32_t magic;

	memcpy(&magic, head + 8, sizeof(magic));
	*is_swapped = magic == __builtin_bswap32(BYTE_ORDER_MAGIC);
	return *is_swapped || magic == BYTE_ORDER_MAGIC;
}

static bool is_section(const uint8_t *head)
{
	uint32_t type;

	memcpy(&type, head, sizeof(type));
	return type == BLOCK_SECTION;
}

uint32_t rn_pcapng_block_len(const struct rn_pcapng_reader *r, const uint8_t *head)
{
	struct rn_pcapng_reader order = { .is_swapped = r->is_swapped };
	uint32_t len;

	if (is_section(head) ? !has_order(head, &order.is_swapped) : !r->is_begun)
		return 0;
	len = get32(&order, head + 4);
	return len >= BLOCK_MIN && len <= RN_PCAPNG_BLOCK_MAX && len % 4 == 0 ? len : 0;
}

int rn_pcapng_block(struct rn_pcapng_reader *r, const uint8_t *block, uint32_t len,
		    struct rn_pcapng_found *found)
{
	*found = (struct rn_pcapng_found){ 0 };
	if (is_section(block) && !has_order(block, &r->is_swapped))
		return -EINVAL;
	if (get32(r, block + len - TAIL) != len)
		return -EINVAL;
	switch (get32(r, block)) {
	case BLOCK_SECTION:
		return begin_section(r, block, len);
	case BLOCK_INTERFACE:
		return add_interface(r, block, len);
	case BLOCK_PACKET:
	case BLOCK_OLD_PACKET:
		return read_packet(r, block, len, found);
	case BLOCK_SIMPLE_PACKET:
		return read_simple(r, block, len, found);
	/* blocks with names, statistics or secrets, and blocks of unknown types, are
	 * skipped
	 */
	default:
		return 0;
	}
}

void rn_pcapng_reader_free(struct rn_pcapng_reader *r)
{
	free(r->interface);
	*r = (struct rn_pcapng_reader){ 0 };
}
