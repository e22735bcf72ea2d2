/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_live.h - a device behind a network as the device of a scenario: packets over a
 * UDP socket of our own, everything else through the agent on its side (conform_wire.h).
 *
 * IPv4 and RC queue pairs. Threads: one at a time.
 */
#ifndef RN_CONFORM_LIVE_H
#define RN_CONFORM_LIVE_H

#include "scene.h"

struct rn_live_target;

struct rn_live_options {
	const char *target;  /* ADDRESS[:PORT] of the agent */
	const char *address; /* ours, that of the peer; NULL: one of loopback */
	unsigned slack_ms;
};

/* Connect to the agent and take the address. Return: the target, or NULL after a
 * complaint.
 */
struct rn_live_target *rn_live_target_open(const struct rn_live_options *o);
void rn_live_target_close(struct rn_live_target *t);

/* What to call rn_scene_run() with, the target as context. Lives as long as @t. */
const struct rn_scene_ops *rn_live_target_ops(struct rn_live_target *t);

/* The connection was lost: no result since is worth anything. */
bool rn_live_target_is_lost(const struct rn_live_target *t);

/* ------------------------------------------------------------ conform_socket.c */
/* A UDP socket on @gid (IPv4), DF set, so that the kernel sends identification 0; it says
 * what ToS and TTL came with a packet. Return: descriptor or -errno.
 */
int rn_live_socket(const struct rn_gid *gid, uint16_t port);

/* Send a packet from the address and port that its flow names. 0 or -errno. */
int rn_live_send(const struct rn_scene_packet *p);

/* Take a packet that has arrived at @gid. False: there is none. */
bool rn_live_take(int fd, const struct rn_gid *gid, struct rn_scene_packet *p);

#endif /* RN_CONFORM_LIVE_H */
