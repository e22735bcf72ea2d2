/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_live.h - a device behind a network as the device of a scenario: packets over
 * UDP sockets of our own, everything else through the agent on its side (conform_wire.h).
 *
 * Threads: one at a time.
 */
#ifndef RN_CONFORM_LIVE_H
#define RN_CONFORM_LIVE_H

#include "sim/scenario/scene.h"

enum {
	RN_LIVE_ADDRESSES = 4,
};

struct rn_live_target;

struct rn_live_options {
	const char *target; /* ADDRESS[:PORT] of the agent */
	/* Ours: the first of each family is the peer's, the second another host's. None
	 * of IPv4: of loopback, if the target is there.
	 */
	const char *address[RN_LIVE_ADDRESSES];
	unsigned addresses;
	unsigned slack_ms;
};

/* Connect to the agent and take the addresses. Return: the target, or NULL after a
 * complaint.
 */
struct rn_live_target *rn_live_target_open(const struct rn_live_options *o);
void rn_live_target_close(struct rn_live_target *t);

/* What to call rn_scene_run() with, the target as context. Lives as long as @t. */
const struct rn_scene_ops *rn_live_target_ops(struct rn_live_target *t);

/* The connection was lost: no result since is worth anything. */
bool rn_live_target_is_lost(const struct rn_live_target *t);

/* ------------------------------------------------------------ conform_socket.c */
/* A UDP socket on @gid, DF set, so that the kernel sends identification 0; it says what
 * ToS and TTL came with a packet. Return: descriptor or -errno.
 */
int rn_live_socket(const struct rn_gid *gid, uint16_t port);

/* One that receives what is sent to @group on the interface of @own. */
int rn_live_group_socket(const struct rn_gid *group, const struct rn_gid *own);

/* Of the address; 0: none has it, or any may (127.0.0.0/8). */
uint32_t rn_live_ifindex(const struct rn_gid *own);

/* Send a packet from the address and port that its flow names. 0 or -errno. */
int rn_live_send(const struct rn_scene_packet *p);

/* Take a packet that has arrived at @gid. False: there is none. */
bool rn_live_take(int fd, const struct rn_gid *gid, struct rn_scene_packet *p);

#endif /* RN_CONFORM_LIVE_H */
