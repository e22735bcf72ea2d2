/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* faults.h - rules about faults: kept for the clients to come, given to those there are.
 *
 * rocind hands the text on as it came, a sealed memfd. It reads it for what it sends and
 * receives itself: the packets of QP1 (cm_net.h).
 */
#ifndef RND_FAULTS_H
#define RND_FAULTS_H

#include "client.h"
#include "transport/io/rocind/ctl_socket.h"

/* There are rules: the daemon stays though it has no clients. */
bool rnd_faults_are_set(const struct rnd_server *server);

/* Take new rules from a request and tell every attached client but @client, of which the
 * caller answers. The descriptor is taken from @pkt. Return: 0; -EAGAIN (the rules are
 * not those that the request is about), -EINVAL (no sealed text of at most
 * RN_FAULT_TEXT_MAX - 1 bytes), -ENOMEM; with a sentence.
 */
int rnd_faults_set(struct rnd_client *client, struct rn_ctl_packet *pkt, char *err,
		   size_t err_len);

/* Send the rules and what they have hit in processes that have ended. Return: 0 or
 * -errno of rn_ctl_send().
 */
int rnd_faults_answer(const struct rnd_client *client);

/* Give them to a client that is about to attach. Return: as above. */
int rnd_faults_greet(const struct rnd_client *client);

/* A client ends: keep what rules have hit there. */
void rnd_faults_gather(struct rnd_client *client);

/* The daemon ends. */
void rnd_faults_free(struct rnd_server *server);

#endif /* RND_FAULTS_H */
