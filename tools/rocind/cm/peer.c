/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* peer.c - answers the questions that `rocin doctor --peer` of other hosts asks
 * (rocin/peer_info.h).
 *
 * Anybody who can send a packet to the device can ask. So an answer is never longer than
 * its question and tells nothing about users and programs, and the total number of
 * answers per second is limited. A question from this host is answered only if its sender
 * is admitted, as for every packet (tools/rocind/net/admission.h).
 */
#include "peer.h"

#include "cm_channel.h"
#include "rocin/netdev.h"
#include "rocin/peer_info.h"
#include "tools/rocind/net/iface.h"
#include "transport/io/host/clock.h"
#include "transport/io/rocind/stats_pages.h"

/* Limits of the number of answers. `rocin doctor' asks at most 23 questions, with pauses.
 * These limits serve four of them at the same time. If all questions have the greatest
 * length, the answers amount to 0.4 MB/s at most.
 */
#define ANSWER_EVERY RN_MSEC(10)
#define ANSWERS_AT_ONCE 100

bool rnd_peer_may_answer(struct rnd_peer_budget *b, rn_ns now)
{
	if (b->next < now - ANSWERS_AT_ONCE * ANSWER_EVERY)
		b->next = now - ANSWERS_AT_ONCE * ANSWER_EVERY;
	if (b->next >= now)
		return false;
	b->next += ANSWER_EVERY;
	return true;
}

/* Combines what is known about the ICRC checks of several devices at one address. @known:
 * of the devices so far; @one: of one more device.
 */
static uint8_t combine(uint8_t known, uint32_t one)
{
	if (one == RN_PEER_ICRC_EXACT)
		return RN_PEER_ICRC_EXACT;
	return one == RN_PEER_ICRC_SOLVE && known != RN_PEER_ICRC_EXACT
		       ? RN_PEER_ICRC_SOLVE
		       : known;
}

void rnd_peer_describe(const struct rnd_server *server, const struct rn_flow *flow,
		       struct rn_peer_info *info)
{
	uint32_t scope = rn_gid_is_link_local(&flow->dst) ? flow->ifindex : 0;
	const struct rnd_group *group =
		rnd_group_find(&server->groups, &flow->dst, scope);

	*info = (struct rn_peer_info){
		.version = ROCIN_VERSION,
		.time_ms = (uint64_t)(rn_clock(CLOCK_REALTIME) / RN_MSEC(1)),
	};
	for (const struct rnd_client *c = server->clients; group && c; c = c->next) {
		const struct rnd_attachment *a = &c->attachment;

		for (uint32_t i = 0; a->slot && i < a->gid_count; i++) {
			if (a->group[i] != group)
				continue;
			info->path_mtu =
				(uint16_t)rn_netdev_path_mtu(rnd_iface_mtu(a->ifindex));
			info->icrc = combine(info->icrc, rn_stats_icrc(a->stats_fd));
		}
	}
}
