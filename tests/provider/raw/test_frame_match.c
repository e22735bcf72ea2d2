/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_frame_match.c - matching frames against flow rules, including frames that are cut
 * off at any byte.
 */
#include "provider/raw/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "frames.h"

enum {
	ETH = RNP_LAYER_ETH,
	VLAN = RNP_LAYER_VLAN,
	IP4 = RNP_LAYER_IP4,
	IP6 = RNP_LAYER_IP6,
	TCP = RNP_LAYER_TCP,
	UDP = RNP_LAYER_UDP,
	FRAGMENT = RNP_LAYER_FRAGMENT,
};

static struct rnp_frame_view parse(const struct frame *f)
{
	struct rnp_frame_view v;

	rnp_frame_parse(&v, f->byte, f->len);
	return v;
}

static void expect_layers(const struct frame *f, uint32_t layers)
{
	assert_int_equal(parse(f).layers, layers);
}

static void the_fields_of_udp_over_ipv4(void **state)
{
	struct frame f = frame_udp4();
	struct rnp_frame_view v = parse(&f);

	(void)state;
	assert_int_equal(v.layers, ETH | IP4 | UDP);
	assert_memory_equal(v.field.dst_mac, f.byte, 6);
	assert_memory_equal(v.field.src_mac, f.byte + 6, 6);
	assert_memory_equal(v.field.ether_type, "\x08\x00", 2);
	assert_memory_equal(v.field.ip4_src, "\1\1\1\1", 4);
	assert_memory_equal(v.field.ip4_dst, "\2\2\2\2", 4);
	assert_int_equal(v.field.ip4_proto[0], 17);
	assert_int_equal(v.field.ip4_tos[0], 0x10);
	assert_int_equal(v.field.ip4_ttl[0], 64);
	assert_int_equal(v.field.ip4_flags[0], RNP_IP4_DONT_FRAG);
	assert_memory_equal(v.field.src_port, "\x04\xd2", 2);
	assert_memory_equal(v.field.dst_port, "\x16\x2e", 2);
	assert_true(rnp_frame_is_multicast(&v));
}

static void the_fields_of_tcp_over_ipv6(void **state)
{
	struct frame f = frame_tcp6();
	struct rnp_frame_view v = parse(&f);

	(void)state;
	assert_int_equal(v.layers, ETH | IP6 | TCP);
	assert_memory_equal(v.field.ip6_src, f.byte + 14 + 8, 16);
	assert_memory_equal(v.field.ip6_dst, f.byte + 14 + 24, 16);
	assert_memory_equal(v.field.ip6_label, "\x00\x03\x45\x67", 4);
	assert_int_equal(v.field.ip6_class[0], 0x12);
	assert_int_equal(v.field.ip6_next[0], 6);
	assert_int_equal(v.field.ip6_hops[0], 63);
	assert_memory_equal(v.field.src_port, "\x04\xd2", 2);
}

static void vlan_tags_stand_before_the_type(void **state)
{
	struct frame one = frame_eth(0x8100), two = frame_eth(0x88a8);
	struct frame three = frame_eth(0x88a8);
	struct rnp_frame_view v;

	(void)state;
	frame_vlan(&one, 0xbc0c, 0x0800);
	frame_ip4(&one, 17, 0, 5);
	frame_ports(&one);
	v = parse(&one);
	assert_int_equal(v.layers, ETH | VLAN | IP4 | UDP);
	assert_memory_equal(v.field.vlan_tag, "\xbc\x0c", 2);
	assert_memory_equal(v.field.ether_type, "\x08\x00", 2);

	frame_vlan(&two, 0x0007, 0x8100);
	frame_vlan(&two, 0x0008, 0x86dd);
	frame_ip6(&two, 17);
	frame_ports(&two);
	v = parse(&two);
	assert_int_equal(v.layers, ETH | VLAN | IP6 | UDP);
	assert_memory_equal(v.field.vlan_tag, "\x00\x07", 2);

	/* The parser accepts two VLAN tags. Behind a third one it parses nothing. */
	frame_vlan(&three, 1, 0x8100);
	frame_vlan(&three, 2, 0x8100);
	frame_vlan(&three, 3, 0x0800);
	frame_ip4(&three, 17, 0, 5);
	v = parse(&three);
	assert_int_equal(v.layers, ETH | VLAN);
	assert_memory_equal(v.field.ether_type, "\x81\x00", 2);
}

static void ports_stand_behind_options_and_in_the_first_fragment(void **state)
{
	struct frame options = frame_eth(0x0800), first = frame_eth(0x0800);
	struct frame later = frame_eth(0x0800);
	struct rnp_frame_view v;

	(void)state;
	frame_ip4(&options, 6, 0, 15);
	frame_ports(&options);
	v = parse(&options);
	assert_int_equal(v.layers, ETH | IP4 | TCP);
	assert_memory_equal(v.field.dst_port, "\x16\x2e", 2);

	frame_ip4(&first, 17, 0x2000, 5);
	frame_ports(&first);
	v = parse(&first);
	assert_int_equal(v.layers, ETH | IP4 | UDP | FRAGMENT);
	assert_int_equal(v.field.ip4_flags[0], RNP_IP4_MORE_FRAG);

	frame_ip4(&later, 17, 0x2001, 5);
	frame_ports(&later);
	expect_layers(&later, ETH | IP4 | FRAGMENT);
}

static void headers_that_are_none_end_the_search(void **state)
{
	struct frame v5 = frame_eth(0x0800), short_ihl = frame_eth(0x0800);
	struct frame not6 = frame_eth(0x86dd), arp = frame_eth(0x0806);
	struct frame icmp = frame_eth(0x0800);

	(void)state;
	frame_ip4(&v5, 17, 0, 5);
	v5.byte[14] = 0x55;
	expect_layers(&v5, ETH);
	frame_ip4(&short_ihl, 17, 0, 5);
	short_ihl.byte[14] = 0x44;
	expect_layers(&short_ihl, ETH);
	frame_ip6(&not6, 17);
	not6.byte[14] = 0x41;
	expect_layers(&not6, ETH);
	frame_ip4(&arp, 17, 0, 5);
	expect_layers(&arp, ETH);
	frame_ip4(&icmp, 1, 0, 5);
	frame_ports(&icmp);
	expect_layers(&icmp, ETH | IP4);
}

/* UDP behind extension headers. The matched next-header field is that of the fixed
 * header.
 */
static void ipv6_extension_headers_are_stepped_over(void **state)
{
	static const uint8_t hop[16] = { 43, 1 }, routing[8] = { 60 }, dest[8] = { 51 };
	static const uint8_t ah[24] = { 44, 4 }, fragment[8] = { 17 };
	static const uint8_t later[8] = { 17, 0, 0, 8 }, none[8] = { 59 };
	struct frame f = frame_eth(0x86dd), g = f, h = f, k = f;
	struct rnp_frame_view v;

	(void)state;
	frame_ip6(&f, 0);
	frame_add(&f, hop, sizeof(hop));
	frame_add(&f, routing, sizeof(routing));
	frame_add(&f, dest, sizeof(dest));
	frame_add(&f, ah, sizeof(ah));
	frame_add(&f, fragment, sizeof(fragment));
	frame_ports(&f);
	v = parse(&f);
	assert_int_equal(v.layers, ETH | IP6 | UDP);
	assert_int_equal(v.field.ip6_next[0], 0);
	assert_memory_equal(v.field.src_port, "\x04\xd2", 2);

	frame_ip6(&g, 44);
	frame_add(&g, later, sizeof(later));
	frame_ports(&g);
	expect_layers(&g, ETH | IP6 | FRAGMENT);

	frame_ip6(&h, 60);
	frame_add(&h, none, sizeof(none));
	frame_ports(&h);
	expect_layers(&h, ETH | IP6);

	/* An extension header whose length field exceeds the rest of the frame. */
	frame_ip6(&k, 0);
	frame_add(&k, "\x11\xff\0\0\0\0\0\0", 8);
	frame_ports(&k);
	expect_layers(&k, ETH | IP6);
}

/* The bytes are in an allocation of exactly their length, so that a sanitizer reports
 * each access behind the end.
 */
static uint32_t layers_of_prefix(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct rnp_frame_view v;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	rnp_frame_parse(&v, copy + (len ? 0 : 1), len);
	free(copy);
	return v.layers;
}

static void a_frame_cut_short_has_only_the_headers_that_are_whole(void **state)
{
	struct frame f = frame_eth(0x8100), six = frame_tcp6();

	(void)state;
	frame_vlan(&f, 5, 0x0800);
	frame_ip4(&f, 17, 0, 6);
	frame_ports(&f);
	for (size_t len = 0; len <= f.len; len++) {
		uint32_t want = 0;

		want |= len >= 14 ? ETH : 0u;
		want |= len >= 18 ? VLAN : 0u;
		want |= len >= 38 ? IP4 : 0u;
		want |= len >= 46 ? UDP : 0u;
		assert_int_equal(layers_of_prefix(f.byte, len), want);
	}
	for (size_t len = 0; len <= six.len; len++) {
		uint32_t want = 0;

		want |= len >= 14 ? ETH : 0u;
		want |= len >= 54 ? IP6 : 0u;
		want |= len >= 58 ? TCP : 0u;
		assert_int_equal(layers_of_prefix(six.byte, len), want);
	}
}

/* Random bytes of any length, behind headers that make the parser examine them. */
static void rubbish_of_any_length_is_parsed(void **state)
{
	static const uint8_t type[][2] = { { 8, 0 }, { 0x86, 0xdd }, { 0x81, 0 } };
	uint32_t x = 1;

	(void)state;
	for (size_t len = 0; len <= 65535; len += len < 300 ? 1 : 977) {
		for (unsigned round = 0; round < 12; round++) {
			uint8_t *bytes = malloc(len + 1);

			assert_non_null(bytes);
			for (size_t i = 0; i < len; i++) {
				x = x * 1664525 + 1013904223;
				bytes[i] = (uint8_t)(x >> 24);
			}
			if (len >= 15) {
				memcpy(bytes + 12, type[round % 3], 2);
				bytes[14] = round % 3 == 1 ? 0x60 : 0x45;
			}
			if (len >= 21 && round % 2)
				bytes[20] =
					(uint8_t[]){ 0, 43, 44, 51, 60, 6 }[round / 2];
			assert_int_equal(layers_of_prefix(bytes, len) & ETH,
					 len >= 14 ? ETH : 0);
			free(bytes);
		}
	}
}

/* ---------------------------------------------------------------- matching */
/* A rule that matches only this frame: all bits of all fields are in its mask. */
static struct rnp_flow_match exactly(const struct frame *f)
{
	struct rnp_frame_view v = parse(f);
	struct rnp_flow_match m = { .layers = v.layers, .value = v.field };

	memset(&m.mask, 0xff, sizeof(m.mask));
	return m;
}

static void a_rule_without_wishes_matches_everything(void **state)
{
	static const struct rnp_flow_match any;
	struct frame f = frame_udp4(), empty = { .len = 0 };
	struct rnp_frame_view v = parse(&f);

	(void)state;
	assert_true(rnp_flow_matches(&any, &v));
	v = parse(&empty);
	assert_true(rnp_flow_matches(&any, &v));
	assert_false(rnp_frame_is_multicast(&v));
}

/* A bit of a field decides if the rule's mask contains it, and does not matter otherwise.
 */
static void each_bit_counts_where_the_mask_has_it(void **state)
{
	struct frame frames[] = { frame_udp4(), frame_tcp6() };

	(void)state;
	for (size_t n = 0; n < 2; n++) {
		struct rnp_flow_match m = exactly(&frames[n]);
		struct rnp_frame_view v = parse(&frames[n]);
		uint8_t *mask = (uint8_t *)&m.mask, *value = (uint8_t *)&m.value;

		assert_true(rnp_flow_matches(&m, &v));
		for (size_t bit = 0; bit < sizeof(m.value) * 8; bit++) {
			value[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_false(rnp_flow_matches(&m, &v));
			mask[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_true(rnp_flow_matches(&m, &v));
			value[bit / 8] ^= (uint8_t)(1u << bit % 8);
			mask[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

static void a_layer_that_is_wanted_must_be_there(void **state)
{
	struct frame f = frame_udp4();
	struct rnp_frame_view v = parse(&f);

	(void)state;
	for (uint32_t layers = 0; layers < 64; layers++) {
		struct rnp_flow_match m = { .layers = layers };

		assert_int_equal(rnp_flow_matches(&m, &v),
				 (layers & ~(uint32_t)(ETH | IP4 | UDP)) == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fields_of_udp_over_ipv4),
		cmocka_unit_test(the_fields_of_tcp_over_ipv6),
		cmocka_unit_test(vlan_tags_stand_before_the_type),
		cmocka_unit_test(ports_stand_behind_options_and_in_the_first_fragment),
		cmocka_unit_test(headers_that_are_none_end_the_search),
		cmocka_unit_test(ipv6_extension_headers_are_stepped_over),
		cmocka_unit_test(a_frame_cut_short_has_only_the_headers_that_are_whole),
		cmocka_unit_test(rubbish_of_any_length_is_parsed),
		cmocka_unit_test(a_rule_without_wishes_matches_everything),
		cmocka_unit_test(each_bit_counts_where_the_mask_has_it),
		cmocka_unit_test(a_layer_that_is_wanted_must_be_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
