/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_formats.c - what `rocin formats` says of the headers and the ICRC is what `rocin
 * dump` does: of each bit of a packet it is known whether the ICRC notices its change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libdeflate.h>

#include "rocin/opcode.h"
#include "tools/dump/packet.h"
#include "tools/rocin/formats/formats.h"

enum {
	PAYLOAD = 8,
	BYTES_MAX = 256,
};

/* A packet by the table, and what the table says of each bit of it. */
struct made {
	uint8_t at[BYTES_MAX];
	bool is_covered[BYTES_MAX * 8];
	size_t link, len; /* bytes before what is parsed; all to the ICRC */
	bool is_ib;
};

static void put(struct made *m, const struct rn_format_header *h, const uint8_t *bytes,
		size_t len)
{
	memcpy(m->at + m->len, bytes, len);
	for (size_t bit = 0; bit < len * 8; bit++) {
		bool covered = h->is_covered;

		for (unsigned i = 0; i < RN_FORMAT_MASKS_MAX && h->mask[i].width; i++)
			covered &= bit < h->mask[i].bit ||
				   bit >= (size_t)h->mask[i].bit + h->mask[i].width;
		m->is_covered[m->len * 8 + bit] = covered;
	}
	m->len += len;
}

/* Fills in a header by its name. @behind: bytes from the end of the header to the ICRC.
 */
static void write_header(const char *name, uint16_t behind, uint8_t *p)
{
	const struct rn_bth bth = { .opcode = RN_RC_SEND_ONLY,
				    .pkey = 0xffff,
				    .dest_qpn = 0x11,
				    .psn = rn_psn(7) };

	memset(p, 0, 64);
	if (!strcmp(name, "LRH")) {
		p[1] = 3; /* a GRH follows */
		rn_put_be16(p + 4, (uint16_t)((8 + behind) / 4));
	} else if (!strcmp(name, "GRH") || !strcmp(name, "IPv6")) {
		p[0] = 0x60;
		rn_put_be16(p + 4, behind);
		p[6] = !strcmp(name, "GRH") ? 27 : 17;
	} else if (!strcmp(name, "IPv4")) {
		p[0] = 0x45;
		rn_put_be16(p + 2, (uint16_t)(20 + behind));
		p[6] = 0x40;
		p[9] = 17;
	} else if (!strcmp(name, "UDP")) {
		rn_put_be16(p + 2, 4791);
		rn_put_be16(p + 4, (uint16_t)(8 + behind));
	} else if (!strcmp(name, "BTH")) {
		rn_bth_emit(p, &bth);
	}
}

static bool parse(struct rn_packet *p, const struct made *m)
{
	return m->is_ib ? rn_packet_parse_ib(p, m->at + m->link, m->len - m->link)
			: rn_packet_parse(p, m->at + m->link, m->len - m->link);
}

/* Computes the ICRC by the table alone: ones for what it says is taken for ones. */
static void seal(struct made *m, const struct rn_format *f)
{
	uint8_t seen[BYTES_MAX];
	size_t n = 0, at = 0;

	for (const struct rn_format_header *h = f->header; strcmp(h->name, "ICRC") != 0;
	     h++) {
		size_t len = h->bytes ? h->bytes : PAYLOAD;

		if (h->is_only_ones) {
			memset(seen + n, 0xff, len);
			n += len;
			continue;
		}
		for (size_t i = 0; h->is_covered && i < len; i++) {
			seen[n + i] = m->at[at + i];
			for (unsigned bit = 0; bit < 8; bit++)
				if (!m->is_covered[(at + i) * 8 + bit])
					seen[n + i] |= (uint8_t)(0x80u >> bit);
		}
		n += h->is_covered ? len : 0;
		at += len;
	}
	rn_put_le32(m->at + at, libdeflate_crc32(0, seen, n));
}

static struct made make(const struct rn_format *f)
{
	struct made m = { .is_ib = !strcmp(f->header[0].name, "LRH") };
	uint8_t bytes[64];
	uint16_t left = 0;

	for (const struct rn_format_header *h = f->header; h->name; h++)
		if (h->is_covered && !h->is_only_ones)
			left = (uint16_t)(left + (h->bytes ? h->bytes : PAYLOAD));
	left = (uint16_t)(left + 4);
	for (const struct rn_format_header *h = f->header; strcmp(h->name, "ICRC") != 0;
	     h++) {
		size_t len = h->bytes ? h->bytes : PAYLOAD;

		if (h->is_only_ones)
			continue;
		if (h->is_covered)
			left = (uint16_t)(left - len);
		else
			m.link += len;
		write_header(h->name, left, bytes);
		put(&m, h, bytes, len);
	}
	m.len += 4;
	seal(&m, f);
	return m;
}

static void the_icrc_covers_what_the_table_says(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_FORMAT_COUNT; i++) {
		struct made m = make(&rn_formats[i]);
		struct rn_packet p;
		unsigned masked = 0;

		assert_true(parse(&p, &m));
		assert_int_equal(p.form, RN_PACKET_WHOLE);
		assert_int_equal(p.icrc, RN_PACKET_ICRC_RIGHT);
		assert_int_equal(p.payload_len, PAYLOAD);
		for (size_t bit = m.link * 8; bit < (m.len - 4) * 8; bit++) {
			m.at[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
			masked += !m.is_covered[bit];
			if (parse(&p, &m))
				assert_int_equal(p.icrc == RN_PACKET_ICRC_RIGHT,
						 !m.is_covered[bit]);
			else /* no other field than one that must stay */
				assert_true(m.is_covered[bit]);
			m.at[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
		}
		assert_in_range(masked, 8, 64);
	}
}

static void what_stands_before_the_bth_is_counted(void **state)
{
	static const unsigned bytes[RN_FORMAT_COUNT] = { 8, 54, 42, 62 };

	(void)state;
	for (unsigned i = 0; i < RN_FORMAT_COUNT; i++)
		assert_int_equal(rn_format_before_bth(&rn_formats[i]), bytes[i]);
}

/* No line is wider than the table, and none is left out. */
static void the_text_has_all_of_it(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_non_null(to);
	rn_formats_print(to);
	fclose(to);
	/* The BTHs stand in one line. */
	assert_non_null(strstr(text,
			       "  BTH 12                   BTH 12                   "
			       "BTH 12                   BTH 12\n"));
	for (unsigned i = 0; i < rn_format_row_count; i++)
		assert_non_null(strstr(text, rn_format_rows[i].question));
	for (unsigned i = 0; i < RN_FORMAT_COUNT; i++)
		assert_non_null(strstr(text, rn_formats[i].name));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		assert_in_range(strlen(line), 1, 112);
		assert_true(line[strlen(line) - 1] != ' ');
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_icrc_covers_what_the_table_says),
		cmocka_unit_test(what_stands_before_the_bth_is_counted),
		cmocka_unit_test(the_text_has_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
