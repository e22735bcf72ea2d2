/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* forge_mad.c - see forge_mad.h. */
#include "forge_mad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocin/wire.h"
#include "tests/provider/kit/verbs_kit.h"
#include "transport/io/host/clock.h"

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
	/* UDP to the device alone: what other tests send over the loopback interface
	 * would fill the socket, and packets would be missed.
	 */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16), /* destination address */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rn_get_be32(gid->raw + 12), 0, 3),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9), /* protocol */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT16_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]),
					   .filter = code };
	int rc = 0;

	memcpy(address.raw, gid->raw, sizeof(address.raw));
	sniffer = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sniffer < 0 ||
	    setsockopt(sniffer, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ||
	    bind(sniffer, (const struct sockaddr *)&at, sizeof(at)))
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

/* Waits for a packet until @end. Return: its length in @ip, 0 for one that is about to be
 * sent (each comes twice on the loopback interface), or -1: there was none.
 */
static ssize_t sniff_packet(uint8_t *ip, size_t room, rn_ns end)
{
	rn_ns left = end - rn_clock(CLOCK_MONOTONIC);
	struct pollfd p = { .fd = sniffer, .events = POLLIN };
	struct sockaddr_ll from;
	socklen_t from_len = sizeof(from);
	ssize_t len;

	if (left < 0 || poll(&p, 1, (int)(left / RN_MSEC(1)) + 1) != 1)
		return -1;
	len = recvfrom(sniffer, ip, room, 0, (struct sockaddr *)&from, &from_len);
	return len > 0 && from.sll_pkttype != PACKET_OUTGOING ? len : 0;
}

bool see_mad(enum rn_cm_attr attr, struct rn_cm_msg *msg, int ms)
{
	static uint8_t mad[RN_MAD_LEN], ip[65536];
	rn_ns end = rn_clock(CLOCK_MONOTONIC) + RN_MSEC(ms);
	struct rn_mad_hdr hdr;
	ssize_t len;

	while ((len = sniff_packet(ip, sizeof(ip), end)) >= 0) {
		const uint8_t *at = len ? mad_of(ip, len) : NULL;

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
