/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* faults.c - keeps the fault rules and their counts, and sends the rules to clients. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rocin/stats.h"
#include "tools/rocind/cm/cm.h"
#include "transport/io/fault/fault_rules.h"
#include "transport/io/host/log.h"

struct rnd_faults {
	uint64_t generation;
	int fd; /* file with the text of the rules; -1: there are no rules */
	/* For each rule: number of packets that the rule has seen, and number of packets
	 * to which it was applied, in all processes that have ended.
	 */
	uint64_t seen[RN_CTL_RULES_MAX], hits[RN_CTL_RULES_MAX];
};

static_assert((int)RN_CTL_RULES_MAX == (int)RN_FAULT_RULES_MAX, "one count for each");

bool rnd_faults_are_set(const struct rnd_server *server)
{
	return server->faults && server->faults->fd >= 0;
}

/* Returns true if the descriptor is a memfd of limited size whose seals forbid every
 * change.
 */
static bool is_text(int fd)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;
	int has = fcntl(fd, F_GET_SEALS);

	return has >= 0 && (has & seals) == seals && fstat(fd, &st) == 0 &&
	       st.st_size < RN_FAULT_TEXT_MAX;
}

/* Called when the rules have changed. Gives the new rules the counts of the old ones:
 * rule i gets those of the old rule @from[i].
 */
static void move_counts(struct rnd_faults *f, const uint8_t from[RN_CTL_RULES_MAX])
{
	const struct rnd_faults old = *f;

	for (unsigned i = 0; i < RN_CTL_RULES_MAX; i++) {
		bool goes_on = from[i] < RN_CTL_RULES_MAX;

		f->seen[i] = goes_on ? old.seen[from[i]] : 0;
		f->hits[i] = goes_on ? old.hits[from[i]] : 0;
	}
}

static struct rn_ctl_faults event_of(const struct rnd_server *server)
{
	const struct rnd_faults *f = server->faults;

	return (struct rn_ctl_faults){ .hdr = rn_ctl_hdr(RN_CTL_FAULTS),
				       .generation = f ? f->generation : 0,
				       .has_text = f && f->fd >= 0 };
}

static void tell_all(const struct rnd_client *but)
{
	struct rnd_server *server = but->server;
	const struct rn_ctl_faults msg = event_of(server);
	struct rnd_client *next;

	for (struct rnd_client *c = server->clients; c; c = next) {
		next = c->next;
		if (c != but && c->attachment.slot)
			rnd_client_tell(c, &msg, server->faults->fd);
	}
}

/* Passes the fault rules to the connection manager, which applies them to packets of QP1.
 * rocind itself sends and receives these packets.
 */
static void tell_cm(const struct rnd_server *server)
{
	char text[RN_FAULT_TEXT_MAX];
	ssize_t len = server->faults->fd < 0
			      ? -1
			      : pread(server->faults->fd, text, sizeof(text) - 1, 0);

	if (!server->cm)
		return;
	text[len < 0 ? 0 : len] = '\0';
	rnd_cm_set_faults(server->cm, len < 0 ? NULL : text);
}

int rnd_faults_set(struct rnd_client *client, struct rn_ctl_packet *pkt, char *err,
		   size_t err_len)
{
	const struct rn_ctl_faults_set *msg = &pkt->msg.faults_set;
	struct rnd_server *server = client->server;

	if (!server->faults) {
		server->faults = calloc(1, sizeof(*server->faults));
		if (!server->faults)
			return rn_fail(err, err_len, -ENOMEM, "rocind has no memory");
		server->faults->fd = -1;
	}
	if (msg->generation != server->faults->generation)
		return rn_fail(err, err_len, -EAGAIN,
			       "somebody else has changed the rules meanwhile");
	if (pkt->fd_count > 1 || (pkt->fd_count == 1 && !is_text(pkt->fd[0])))
		return rn_fail(err, err_len, -EINVAL,
			       "rules come as one sealed text of at most %d bytes",
			       RN_FAULT_TEXT_MAX - 1);
	if (server->faults->fd >= 0)
		close(server->faults->fd);
	server->faults->fd = pkt->fd_count ? pkt->fd[0] : -1;
	pkt->fd_count = 0;
	server->faults->generation++;
	server->idle_from = rnd_now();
	move_counts(server->faults, msg->from);
	rn_log(RN_LOG_INFO, "process %d has changed the rules about faults", client->pid);
	rnd_faults_keep(server);
	tell_all(client);
	tell_cm(server);
	return 0;
}

int rnd_faults_answer(const struct rnd_client *client)
{
	const struct rnd_faults *f = client->server->faults;
	struct rn_ctl_faults_reply msg = { .hdr = rn_ctl_hdr(RN_CTL_FAULTS_REPLY) };

	msg.hdr.seq = client->last_seq;
	if (f) {
		msg.generation = f->generation;
		msg.has_text = f->fd >= 0;
		memcpy(msg.seen, f->seen, sizeof(msg.seen));
		memcpy(msg.hits, f->hits, sizeof(msg.hits));
		rnd_cm_count_faults(client->server->cm, msg.seen, msg.hits);
	}
	return rn_ctl_send(client->sock.fd, &msg, f ? &f->fd : NULL, msg.has_text);
}

int rnd_faults_greet(const struct rnd_client *client)
{
	const struct rnd_faults *f = client->server->faults;
	const struct rn_ctl_faults msg = event_of(client->server);

	/* The event is sent even if there are no rules any more: the client then writes
	 * the generation of the rules into its stats page, where `rocin fault' sees that
	 * the client has applied the change.
	 */
	return f ? rn_ctl_send(client->sock.fd, &msg, &f->fd, msg.has_text) : 0;
}

void rnd_faults_gather(struct rnd_client *client)
{
	struct rnd_faults *f = client->server->faults;
	struct rn_stats_faults counts;

	if (!f || f->fd < 0 || client->attachment.stats_fd < 0)
		return;
	if (pread(client->attachment.stats_fd, &counts, sizeof(counts),
		  RN_STATS_FAULTS_OFFSET) != (ssize_t)sizeof(counts) ||
	    counts.generation != f->generation)
		return;
	for (unsigned i = 0; i < RN_CTL_RULES_MAX; i++) {
		f->seen[i] += counts.seen[i];
		f->hits[i] += counts.hits[i];
	}
	rnd_faults_keep(client->server);
}

void rnd_faults_keep(struct rnd_server *server)
{
	const struct rnd_faults *f = server->faults;

	if (!f)
		return;
	rnd_keeper_put(&server->keeper, RND_RECORD_FAULTS, 0, f, sizeof(*f));
	if (f->fd >= 0)
		rnd_keeper_pass(&server->keeper, f->fd);
}

void rnd_faults_restore(struct rnd_server *server, struct rnd_record *r)
{
	struct rnd_faults *f =
		r->len == sizeof(*f) && !server->faults ? malloc(sizeof(*f)) : NULL;

	if (!f)
		return;
	memcpy(f, r->data, sizeof(*f));
	f->fd = r->fd_count ? r->fd[0] : -1;
	r->fd_count = 0;
	server->faults = f;
	tell_cm(server);
}

void rnd_faults_free(struct rnd_server *server)
{
	if (server->faults && server->faults->fd >= 0)
		close(server->faults->fd);
	free(server->faults);
	server->faults = NULL;
}
