/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* frame.h - an Ethernet frame: its fields, whether a rule matches them, its checksums.
 *
 * A frame is parsed once into the fields that rules can name; a rule is a value and a
 * mask over the same fields. Knows neither verbs nor sockets.
 *
 * Threads: none of these functions locks or keeps anything.
 */
#ifndef RNP_FRAME_H
#define RNP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Headers that a frame has, or that a rule wants it to have. */
enum rnp_flow_layer {
	RNP_LAYER_ETH = 1 << 0, /* absent only from a frame shorter than that header */
	RNP_LAYER_VLAN = 1 << 1,
	RNP_LAYER_IP4 = 1 << 2,
	RNP_LAYER_IP6 = 1 << 3,
	RNP_LAYER_TCP = 1 << 4, /* of TCP and UDP the ports; not in a later fragment */
	RNP_LAYER_UDP = 1 << 5,
	RNP_LAYER_FRAGMENT = 1 << 6, /* of an IP packet, not the whole; not for rules */
};

/* All in network order, so bytes only: no padding. Zero where the layer is absent. */
struct rnp_flow_fields {
	uint8_t dst_mac[6], src_mac[6];
	uint8_t ether_type[2]; /* behind the VLAN tags */
	uint8_t vlan_tag[2];   /* PCP, DEI, VID of the outermost tag */
	uint8_t ip4_src[4], ip4_dst[4];
	uint8_t ip4_proto[1], ip4_tos[1], ip4_ttl[1];
	uint8_t ip4_flags[1]; /* RNP_IP4_* */
	uint8_t ip6_src[16], ip6_dst[16];
	uint8_t ip6_label[4];				/* 20 bits */
	uint8_t ip6_next[1], ip6_class[1], ip6_hops[1]; /* next: of the fixed header */
	uint8_t src_port[2], dst_port[2];
};

enum { /* as the kernel numbers them for flow rules (enum ib_ipv4_flags) */
	RNP_IP4_DONT_FRAG = 1 << 1,
	RNP_IP4_MORE_FRAG = 1 << 2,
};

struct rnp_frame_view {
	uint32_t layers; /* enum rnp_flow_layer */
	struct rnp_flow_fields field;
};

struct rnp_flow_match {
	uint32_t layers; /* all of these must be there */
	struct rnp_flow_fields value, mask;
};

/**
 * rnp_frame_parse() - Find the fields of a frame
 * @view:	Out
 * @frame:	From the destination address on
 * @len:	Bytes, any number; a header that is cut short counts as absent
 */
void rnp_frame_parse(struct rnp_frame_view *view, const uint8_t *frame, size_t len);

/* Does the frame match the rule? A rule without fields and layers matches all frames. */
bool rnp_flow_matches(const struct rnp_flow_match *match,
		      const struct rnp_frame_view *view);

/* To a group address, broadcast included; false if there is no address. */
bool rnp_frame_is_multicast(const struct rnp_frame_view *view);

/* --------------------------------------------------------------------- checksums
 * The checksums that a NIC fills in and checks: that of the IPv4 header, and those of TCP
 * and UDP directly behind IPv4 or IPv6 and not in a fragment; behind at most two VLAN
 * tags. RFC 791, 793, 768, 8200 (8.1).
 */

/* Write the checksums of the frame, whatever is in their fields. A header that is cut
 * short, or whose length exceeds the frame, has no checksum.
 */
void rnp_checksum_fill(uint8_t *frame, size_t len);

/* The meaning of IBV_WC_IP_CSUM_OK: the frame is IPv4 with TCP or UDP, and both checksums
 * are right. UDP without a checksum counts as right.
 */
bool rnp_checksum_ok(const uint8_t *frame, size_t len);

#endif /* RNP_FRAME_H */
