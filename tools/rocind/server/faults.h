/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* faults.h - fault rules: rocind stores them for future clients and sends them to
 * present ones.
 *
 * rocind passes the text on unchanged, as a sealed memfd. It parses the rules only for
 * the packets that it sends and receives itself, those of QP1 (cm/cm.h).
 */
#ifndef RND_FAULTS_H
#define RND_FAULTS_H

#include "client.h"
#include "transport/io/rocind/ctl_socket.h"

/* Are any rules set? rocind does not end as long as there are, even without clients. */
bool rnd_faults_are_set(const struct rnd_server *server);

/* Replaces the rules by those in the memfd of @pkt, which this function takes over. Sends
 * them to every attached client except @client, which gets an answer from the caller.
 * Returns 0; -EAGAIN (the rules have changed since @client read them); -EINVAL (no sealed
 * text of at most RN_FAULT_TEXT_MAX - 1 bytes); -ENOMEM; with an error text in @err.
 */
int rnd_faults_set(struct rnd_client *client, struct rn_ctl_packet *pkt, char *err,
		   size_t err_len);

/* Sends @client the rules and their counts in processes that have ended. Returns 0, or
 * -errno of rn_ctl_send().
 */
int rnd_faults_answer(const struct rnd_client *client);

/* Sends the rules to a client that is about to attach. Returns 0, or -errno of
 * rn_ctl_send().
 */
int rnd_faults_greet(const struct rnd_client *client);

/* Adds the counts in the client's stats page to those kept here. To be called before the
 * client is closed.
 */
void rnd_faults_gather(struct rnd_client *client);

/* Frees the rules when rocind ends. */
void rnd_faults_free(struct rnd_server *server);

#endif /* RND_FAULTS_H */
