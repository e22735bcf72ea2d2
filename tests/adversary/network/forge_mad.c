/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* forge_mad.c - see forge_mad.h. */
#include "forge_mad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocin/wire.h"
#include "verbs_kit.h"

enum {
	WAIT_MS = 300000 /* longer than on any machine */
};

static int sniffer = -1;
static struct rn_gid address;

int sniffer_start(const union ibv_gid *gid)
{
	const struct sockaddr_ll at = { .sll_family = AF_PACKET,
					.sll_protocol = htons(ETH_P_IP),
					.sll_ifindex = (int)if_nametoindex("lo") };
	int rc = 0;

	memcpy(address.raw, gid->raw, sizeof(address.raw));
	sniffer = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP));
	if (sniffer < 0 || bind(sniffer, (const struct sockaddr *)&at, sizeof(at)))
		rc = -errno;
	return rc;
}

void sniffer_stop(void)
{
	close(sniffer);
}

/* Return: the MAD of a packet to QP1 of the device; NULL: it is another packet. */
static const uint8_t *mad_of(const uint8_t *ip, ssize_t len)
{
	const uint8_t *udp = ip + (ip[0] & 15) * 4, *bth = udp + 8;
	struct rn_bth b;

	if (len < (bth - ip) + RN_GSI_PACKET_LEN || ip[9] != IPPROTO_UDP ||
	    memcmp(ip + 16, address.raw + 12, 4) != 0 ||
	    rn_get_be16(udp + 2) != RN_ROCE_PORT || rn_bth_parse(&b, bth, ip + len) ||
	    b.dest_qpn != RN_QPN_GSI)
		return NULL;
	return bth + RN_GSI_MAD_AT;
}

/* Each packet comes twice on the loopback interface: sent and received. */
bool see_mad(enum rn_cm_attr attr, struct rn_cm_msg *msg, int ms)
{
	static uint8_t mad[RN_MAD_LEN], ip[65536];
	struct pollfd p = { .fd = sniffer, .events = POLLIN };
	struct sockaddr_ll from;
	struct rn_mad_hdr hdr;

	while (poll(&p, 1, ms) == 1) {
		socklen_t from_len = sizeof(from);
		ssize_t len = recvfrom(sniffer, ip, sizeof(ip), 0,
				       (struct sockaddr *)&from, &from_len);
		const uint8_t *at = len > 0 && from.sll_pkttype != PACKET_OUTGOING
					    ? mad_of(ip, len)
					    : NULL;

		if (!at)
			continue;
		memcpy(mad, at, sizeof(mad));
		rn_mad_hdr_parse(&hdr, mad);
		if (hdr.attr_id == attr &&
		    rn_cm_msg_parse(msg, attr, mad + RN_MAD_HDR_LEN) == 0)
			return true;
	}
	return false;
}

struct rn_cm_msg sniff_mad(enum rn_cm_attr attr)
{
	struct rn_cm_msg msg;

	if (!see_mad(attr, &msg, WAIT_MS))
		fail_msg("no %s was seen", rn_cm_msg_name(attr));
	return msg;
}

void forge_mad(struct forgery *f, const struct rn_cm_msg *msg)
{
	const struct rn_mad_hdr hdr = { .base_version = RN_MAD_BASE_VERSION,
					.mgmt_class = RN_MAD_CLASS_CM,
					.class_version = RN_MAD_CM_VERSION,
					.method = RN_MAD_SEND,
					.tid = 0x1234567,
					.attr_id = msg->attr };
	struct rn_flow flow = { .src = address, .dst = address, .sport = RN_ROCE_PORT };
	struct rn_gsi gsi = { .psn = rn_psn(0) };

	*f = (struct forgery){ .src = address, .dst = address, .len = RN_GSI_PACKET_LEN };
	rn_mad_hdr_emit(f->pkt + RN_GSI_MAD_AT, &hdr);
	rn_cm_msg_emit(f->pkt + RN_GSI_MAD_AT + RN_MAD_HDR_LEN, msg);
	rn_gsi_seal(&gsi, &flow, RN_QPN_GSI, f->pkt);
}
