/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* frame.h - parses Ethernet frames, matches them with flow rules, and computes checksums.
 *
 * A frame is parsed once into the fields that flow rules can name; a rule is a value and
 * a mask over the same fields. Nothing here depends on verbs or sockets.
 *
 * Threads: none of these functions locks or keeps state.
 */
#ifndef RNP_FRAME_H
#define RNP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Headers that a frame has, or that a rule requires. */
enum rnp_flow_layer {
	RNP_LAYER_ETH = 1 << 0, /* absent only if the frame is shorter than that header */
	RNP_LAYER_VLAN = 1 << 1,
	RNP_LAYER_IP4 = 1 << 2,
	RNP_LAYER_IP6 = 1 << 3,
	/* The frame has a TCP header, from which the ports come; later fragments have
	 * none. RNP_LAYER_UDP likewise.
	 */
	RNP_LAYER_TCP = 1 << 4,
	RNP_LAYER_UDP = 1 << 5,
	/* the frame has only a fragment of an IP packet; not used in rules */
	RNP_LAYER_FRAGMENT = 1 << 6,
};

/* Fields of a frame. All are bytes in network order, so that the struct has no padding.
 * The fields of a layer that the frame does not have are zero.
 */
struct rnp_flow_fields {
	uint8_t dst_mac[6], src_mac[6];
	uint8_t ether_type[2]; /* the type that follows the VLAN tags */
	uint8_t vlan_tag[2];   /* PCP, DEI and VID of the outermost VLAN tag */
	uint8_t ip4_src[4], ip4_dst[4];
	uint8_t ip4_proto[1], ip4_tos[1], ip4_ttl[1];
	uint8_t ip4_flags[1]; /* RNP_IP4_* */
	uint8_t ip6_src[16], ip6_dst[16];
	uint8_t ip6_label[4]; /* flow label, 20 bits */
	/* ip6_next is the Next Header of the fixed header */
	uint8_t ip6_next[1], ip6_class[1], ip6_hops[1];
	uint8_t src_port[2], dst_port[2];
};

enum { /* IPv4 flags, numbered as in the kernel's flow rules (enum ib_ipv4_flags) */
	RNP_IP4_DONT_FRAG = 1 << 1,
	RNP_IP4_MORE_FRAG = 1 << 2,
};

struct rnp_frame_view {
	uint32_t layers; /* enum rnp_flow_layer: layers that the frame has */
	struct rnp_flow_fields field;
};

struct rnp_flow_match {
	uint32_t layers; /* enum rnp_flow_layer: layers that the frame must have */
	struct rnp_flow_fields value, mask;
};

/**
 * rnp_frame_parse() - Parse the fields of a frame
 * @view:	Out
 * @frame:	Frame from the destination address on
 * @len:	Bytes, any number; a header that is cut short counts as absent
 */
void rnp_frame_parse(struct rnp_frame_view *view, const uint8_t *frame, size_t len);

/* Does the frame @view match the rule @match? A rule that names neither fields nor layers
 * matches all frames.
 */
bool rnp_flow_matches(const struct rnp_flow_match *match,
		      const struct rnp_frame_view *view);

/* Is the destination a group address, broadcast included? False if the frame is too short
 * to have one.
 */
bool rnp_frame_is_multicast(const struct rnp_frame_view *view);

/* --------------------------------------------------------------------- checksums */
/* The checksums that a NIC fills in and checks: that of the IPv4 header, and those of
 * TCP and UDP. TCP or UDP must stand directly behind IPv4 or IPv6, in no fragment, and
 * behind at most two VLAN tags. RFC 791, 793, 768, 8200 (8.1).
 */

/* Fills in the checksums of the frame; the old contents of the checksum fields do not
 * matter. If a header is cut short, or has a length beyond the end of the frame, its
 * checksum is left alone.
 */
void rnp_checksum_fill(uint8_t *frame, size_t len);

/* Is the frame IPv4 with TCP or UDP, and are the checksums of both headers right, as
 * IBV_WC_IP_CSUM_OK means? UDP without a checksum counts as right.
 */
bool rnp_checksum_ok(const uint8_t *frame, size_t len);

#endif /* RNP_FRAME_H */
