/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* as_sent.h - for captures: a packet of a super-packet in the form in which it has left
 * the host.
 */
#ifndef RN_AS_SENT_H
#define RN_AS_SENT_H

#include <stdint.h>
#include <string.h>

#include "rocin/icrc.h"
#include "rocin/net.h"
#include "rocin/wire.h"

struct rn_as_sent {
	const uint8_t
		*packet; /* @len bytes with the ICRC, in the super-packet or in @room */
	uint32_t len;
	uint16_t ip_id; /* IPv4 identification */
	uint8_t room[RN_PACKET_MAX + RN_ICRC_LEN];
};

/* Sets @as to packet number @i of @super, which @net has sent. @gso: value of rn_net.gso
 * before it was sent.
 */
static inline void rn_as_sent(struct rn_as_sent *as, const struct rn_net *net,
			      const struct rn_super *super, bool gso, uint32_t i)
{
	as->packet = super->data + (size_t)i * super->seg_len;
	as->len = rn_super_packet_len(super, i * super->seg_len);
	as->ip_id = rn_super_ip_id(&super->tx_socket, gso, i);
	if (!net->is_alone || i < net->alone_at)
		return;
	memcpy(as->room, as->packet, as->len);
	rn_icrc_seal(super->flow, 0, as->room, as->len - RN_ICRC_LEN);
	as->packet = as->room;
	as->ip_id = 0;
}

#endif /* RN_AS_SENT_H */
