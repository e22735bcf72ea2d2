/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_net.h - the way of QP1's packets, in and out: the sockets of the groups, with the
 * rules about faults (`rocin fault`) in front, and captures between them as long as there
 * are any.
 *
 * Threads: rocind's.
 */
#ifndef RND_CM_NET_H
#define RND_CM_NET_H

#include "tools/rocind/server/server.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/fault/net_fault.h"

struct rnd_cm_net;

/* Return: NULL if out of memory. */
struct rnd_cm_net *rnd_cm_net_new(struct rnd_server *server);
/* Packets that wait are lost. NULL is ignored. */
void rnd_cm_net_free(struct rnd_cm_net *net);

/* Send a packet, @len bytes from the BTH to the ICRC. What cannot be sent is lost. */
void rnd_cm_net_send(struct rnd_cm_net *net, const struct rn_flow *flow,
		     const uint8_t *pkt, uint32_t len);

/* A packet has come; it is copied nowhere, so rnd_cm_net_receive() is next. */
void rnd_cm_net_arrive(struct rnd_cm_net *net, const struct rn_flow *flow,
		       const uint8_t *pkt, uint32_t len);

/* Take packets that have come, up to RN_RX_BATCH; they are valid until the next call, and
 * as long as what arrived. Return: how many; 0: there are no more now.
 */
int rnd_cm_net_receive(struct rnd_cm_net *net, struct rn_rx *rx);

/* When rnd_cm_net_receive() is to be called though nothing arrives; RN_NEVER. */
rn_ns rnd_cm_net_due(const struct rnd_cm_net *net, rn_ns now);

/* Show all packets to a capture; see rn_capture_add(). Return: as it, or -ENOMEM. */
int rnd_cm_net_capture(struct rnd_cm_net *net, uint64_t id, int ring, uint32_t size,
		       const struct rn_capture_filter *filter);
/* No more. Unknown ids are ignored. */
void rnd_cm_net_end_capture(struct rnd_cm_net *net, uint64_t id);

/* The rules are these from now on; NULL: there are none. */
void rnd_cm_net_set_rules(struct rnd_cm_net *net, const char *text);

/* Add what each rule, by its place in the text, has seen and hit here. */
void rnd_cm_net_count(const struct rnd_cm_net *net, uint64_t seen[RN_FAULT_RULES_MAX],
		      uint64_t hits[RN_FAULT_RULES_MAX]);

#endif /* RND_CM_NET_H */
