/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* faults.h - fault rules: stored for clients to come, sent to clients that are there.
 *
 * rocind passes the text on unchanged, as a sealed memfd. It parses the rules only for
 * the packets that it sends and receives itself, those of QP1 (cm/cm.h).
 */
#ifndef RND_FAULTS_H
#define RND_FAULTS_H

#include "client.h"
#include "transport/io/rocind/ctl_socket.h"

/* True if there are rules; rocind does not end then, even without clients. */
bool rnd_faults_are_set(const struct rnd_server *server);

/* Takes new rules from a request and sends them to every attached client except @client,
 * which the caller answers. Takes the descriptor from @pkt. Returns 0; -EAGAIN (the rules
 * have changed since @client read them); -EINVAL (no sealed text of at most
 * RN_FAULT_TEXT_MAX - 1 bytes); -ENOMEM; on an error @err has a sentence.
 */
int rnd_faults_set(struct rnd_client *client, struct rn_ctl_packet *pkt, char *err,
		   size_t err_len);

/* Answers with the rules and their counts in processes that have ended. Returns 0, or
 * -errno of rn_ctl_send().
 */
int rnd_faults_answer(const struct rnd_client *client);

/* Sends the rules to a client that is about to attach. Returns 0, or -errno of
 * rn_ctl_send().
 */
int rnd_faults_greet(const struct rnd_client *client);

/* A client ends: adds the counts in its stats page to those kept here. */
void rnd_faults_gather(struct rnd_client *client);

/* Frees everything; for the end of rocind. */
void rnd_faults_free(struct rnd_server *server);

#endif /* RND_FAULTS_H */
