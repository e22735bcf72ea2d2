/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.h - the connection manager of all programs: ucma.h with sockets and a timer.
 *
 * Packets to QP1 arrive in slot 0 of the groups (group.h) and leave by its socket.
 * Programs reach it over channels (cmdev.h).
 */
#ifndef RND_CM_H
#define RND_CM_H

#include "tools/rocind/server/server.h"

struct rn_flow;
struct rn_gid;
struct rnd_cm;

/* Return: NULL if out of memory. Nothing else is needed until a channel opens. */
struct rnd_cm *rnd_cm_new(struct rnd_server *server);
/* Closes all channels; says goodbye to peers as far as groups are still open. */
void rnd_cm_free(struct rnd_cm *cm);

/**
 * rnd_cm_open() - Make a channel for a program
 * @netdevs:	Its devices, as ROCIN_NETDEVS names them
 * @fd:		Out: the program's end
 *
 * Return: 0, or -errno with a sentence.
 */
int rnd_cm_open(struct rnd_cm *cm, const char *netdevs, int *fd, char *err,
		size_t err_len);

/* What ids are shown on (cm_board.h), for a program that has a channel; stays ours. -1:
 * there is none.
 */
int rnd_cm_board_fd(const struct rnd_cm *cm);

/* Channels that are open: rocind stays as long as there is one. */
unsigned rnd_cm_channel_count(const struct rnd_cm *cm);

/* Has a program that uses the connection manager this address? @cm: NULL: none does. */
bool rnd_cm_wants(const struct rnd_cm *cm, const struct rn_gid *gid, uint32_t scope);

/* An interface has another link address: ids bound to it are told. */
void rnd_cm_addresses_changed(struct rnd_cm *cm, uint32_t ifindex);

/* What there is, for reports. @cm: NULL has nothing. */
struct rnd_ucma_counts;
void rnd_cm_count(const struct rnd_cm *cm, struct rnd_ucma_counts *out);

/* A packet to QPN 1 came. @pkt: from the BTH on. Return: false if it is to be dropped. */
bool rnd_cm_packet(struct rnd_cm *cm, const struct rn_flow *flow, const uint8_t *pkt,
		   size_t len);

/* Show all its packets to a capture; see rn_capture_add(). Return: as it, or -ENOMEM. */
struct rn_capture_filter;
int rnd_cm_capture(struct rnd_cm *cm, uint64_t id, int ring, uint32_t size,
		   const struct rn_capture_filter *filter);
/* No more. Unknown ids are ignored. @cm: NULL has none. */
void rnd_cm_end_capture(struct rnd_cm *cm, uint64_t id);

/* The rules about faults are these from now on; NULL: there are none. */
void rnd_cm_set_faults(struct rnd_cm *cm, const char *text);

/* Add what each rule, by its place in the text, has seen and hit here. */
void rnd_cm_count_faults(const struct rnd_cm *cm, uint64_t *seen, uint64_t *hits);

#endif /* RND_CM_H */
