/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_rss.c - the hash of received frames, and the queue that the hash selects.
 *
 * The expected hashes are from "Verifying the RSS Hash Calculation" in Microsoft's driver
 * documentation.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "frames.h"
#include "provider/raw/flow.h"

static const uint8_t key[RNP_TOEPLITZ_KEY_LEN] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct answer {
	const char *src, *dst;
	uint16_t sport, dport;
	uint32_t of_addresses, of_all;
} answers[] = {
	{ "66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178 },
	{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea },
	{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
	{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f },
	{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2 },
	{ "3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5,
	  0x40207d3d },
	{ "3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c,
	  0xdde51bbf },
	{ "3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024,
	  0x4b61e985, 0x02d1feef },
};

enum {
	ANSWERS = sizeof(answers) / sizeof(answers[0]),
	ADDRESSES_4 = 14 + 12,
	ADDRESSES_6 = 14 + 8,
};

static bool is_six(const struct answer *a)
{
	return strchr(a->src, ':') != NULL;
}

/* Writes addresses and ports in the order that a frame has. Returns the number of bytes.
 */
static size_t write_input(const struct answer *a, uint8_t *out)
{
	size_t each = is_six(a) ? 16 : 4;
	const uint16_t ports[2] = { htons(a->sport), htons(a->dport) };
	int family = is_six(a) ? AF_INET6 : AF_INET;

	assert_int_equal(inet_pton(family, a->src, out), 1);
	assert_int_equal(inet_pton(family, a->dst, out + each), 1);
	memcpy(out + 2 * each, ports, sizeof(ports));
	return 2 * each + sizeof(ports);
}

static struct frame frame_of(const struct answer *a, unsigned proto)
{
	struct frame f = frame_eth(is_six(a) ? 0x86dd : 0x0800);

	if (is_six(a))
		frame_ip6(&f, proto);
	else
		frame_ip4(&f, proto, 0, 5);
	frame_ports(&f);
	write_input(a, f.byte + (is_six(a) ? ADDRESSES_6 : ADDRESSES_4));
	return f;
}

static uint32_t hash(const struct frame *f, uint32_t fields)
{
	struct rnp_rss rss = { .fields = fields };
	struct rnp_frame_view view;

	memcpy(rss.key, key, sizeof(key));
	rnp_frame_parse(&view, f->byte, f->len);
	return rnp_rss_hash(&rss, &view);
}

static void the_hash_is_the_one_that_is_published(void **state)
{
	uint8_t input[RNP_TOEPLITZ_INPUT_MAX];

	(void)state;
	for (unsigned i = 0; i < ANSWERS; i++) {
		size_t len = write_input(&answers[i], input);

		assert_int_equal(rnp_toeplitz(key, input, len - 4),
				 answers[i].of_addresses);
		assert_int_equal(rnp_toeplitz(key, input, len), answers[i].of_all);
	}
	assert_int_equal(rnp_toeplitz(key, input, 0), 0);
}

static void a_frame_hashes_to_what_is_published(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ANSWERS; i++) {
		const struct answer *a = &answers[i];
		struct frame tcp = frame_of(a, 6), udp = frame_of(a, 17);
		uint32_t ip = is_six(a) ? RNP_RSS_IP6 : RNP_RSS_IP4;
		uint32_t other = is_six(a) ? RNP_RSS_IP4 : RNP_RSS_IP6;

		assert_int_equal(hash(&tcp, ip), a->of_addresses);
		assert_int_equal(hash(&tcp, ip | RNP_RSS_TCP), a->of_all);
		assert_int_equal(hash(&tcp, ip | RNP_RSS_UDP), a->of_addresses);
		assert_int_equal(hash(&udp, ip | RNP_RSS_UDP), a->of_all);
		assert_int_equal(hash(&udp, ip | RNP_RSS_TCP), a->of_addresses);
		assert_int_equal(hash(&udp, other), 0);
		assert_int_equal(hash(&udp, 0), 0);
	}
}

static void each_field_counts_when_it_is_wanted_alone(void **state)
{
	static const struct {
		uint32_t field;
		unsigned answer, proto;
		size_t at, len; /* position of the field in the input of the hash */
	} cases[] = {
		{ RNP_RSS_SRC_IP4, 0, 6, 0, 4 },
		{ RNP_RSS_DST_IP4, 0, 6, 4, 4 },
		{ RNP_RSS_SRC_PORT_TCP, 0, 6, 8, 2 },
		{ RNP_RSS_DST_PORT_TCP, 0, 6, 10, 2 },
		{ RNP_RSS_SRC_IP6, 5, 17, 0, 16 },
		{ RNP_RSS_DST_IP6, 5, 17, 16, 16 },
		{ RNP_RSS_SRC_PORT_UDP, 5, 17, 32, 2 },
		{ RNP_RSS_DST_PORT_UDP, 5, 17, 34, 2 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct answer *a = &answers[cases[i].answer];
		struct frame f = frame_of(a, cases[i].proto);
		uint8_t input[RNP_TOEPLITZ_INPUT_MAX];

		write_input(a, input);
		assert_int_equal(hash(&f, cases[i].field),
				 rnp_toeplitz(key, input + cases[i].at, cases[i].len));
	}
}

static void fragments_stay_together(void **state)
{
	struct frame first = frame_eth(0x0800), later = frame_eth(0x0800);
	struct frame first6 = frame_eth(0x86dd);

	(void)state;
	frame_ip4(&first, 17, 0x2000, 5);
	frame_ports(&first);
	frame_ip4(&later, 17, 0x00b9, 5);
	frame_ports(&later);
	assert_int_equal(hash(&first, RNP_RSS_IP4 | RNP_RSS_UDP),
			 hash(&later, RNP_RSS_IP4));
	assert_int_equal(hash(&later, RNP_RSS_IP4 | RNP_RSS_UDP),
			 hash(&later, RNP_RSS_IP4));
	frame_ip6(&first6, 44);
	frame_add(&first6, "\x11\0\0\1\0\0\0\7", 8);
	frame_ports(&first6);
	assert_int_equal(hash(&first6, RNP_RSS_IP6 | RNP_RSS_UDP),
			 hash(&first6, RNP_RSS_IP6));
	assert_int_not_equal(hash(&first6, RNP_RSS_IP6), 0);
}

static void the_low_bits_name_the_queue(void **state)
{
	static char queue[4];
	void *const table[4] = { queue, queue + 1, queue + 2, queue + 3 };
	struct rnp_rss rss = { .fields = RNP_RSS_IP4, .size = 4, .table = table };
	struct rnp_frame_view view;
	struct frame arp = frame_eth(0x0806);

	(void)state;
	memcpy(rss.key, key, sizeof(key));
	for (unsigned i = 0; i < 5; i++) {
		struct frame f = frame_of(&answers[i], 6);

		rnp_frame_parse(&view, f.byte, f.len);
		assert_ptr_equal(rnp_rss_choose(&rss, &view),
				 queue + (answers[i].of_addresses & 3));
	}
	rnp_frame_parse(&view, arp.byte, arp.len);
	assert_ptr_equal(rnp_rss_choose(&rss, &view), queue);
	rnp_frame_parse(&view, NULL, 0);
	assert_ptr_equal(rnp_rss_choose(&rss, &view), queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_is_the_one_that_is_published),
		cmocka_unit_test(a_frame_hashes_to_what_is_published),
		cmocka_unit_test(each_field_counts_when_it_is_wanted_alone),
		cmocka_unit_test(fragments_stay_together),
		cmocka_unit_test(the_low_bits_name_the_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
