/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* handover.c - copies the state of this rocind to its keeper (the process that starts a
 * successor if rocind dies), and restores it in a successor.
 *
 * While an event is handled, objects that change are marked. At the end of the event, and
 * before any answer is sent, they are copied to the keeper and committed. The records of
 * a part of the state are written and read by the file that owns this part; this file
 * calls those files in the right order.
 *
 * In a successor the records come in the order of their kinds: groups of sockets, the
 * clients that have slots in them, the wires between clients, then the connection
 * manager. Invalid records are left out, and so are records that depend on them.
 */
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "tools/rocind/cm/cm.h"
#include "transport/io/host/log.h"

/* ---- Copying the state to the keeper ---- */

/* The saved state of the server. These descriptors are saved with it: the lock, the
 * listening socket and, if there is one, the socket that holds rocind's own port
 * (admission.h).
 */
struct saved_server {
	uint64_t last_client_id, last_group, last_wire;
	uint64_t qpn_secret;
	int64_t since_s;
	uint32_t idle_ms;
	struct rnd_admission admission;
	uint64_t drops[RN_ROCIND_DROP_COUNT];
	uint16_t next_counter[RND_SLOT_COUNT];
};

struct saved_group {
	struct rn_gid gid;
	uint32_t scope;
};

static void keep_numbers(struct rnd_server *server)
{
	struct saved_server s;

	memset(&s, 0, sizeof(s));
	s.last_client_id = server->last_client_id;
	s.last_group = server->last_group;
	s.last_wire = server->last_wire;
	s.qpn_secret = server->groups.qpn_secret;
	s.since_s = server->since_s;
	s.idle_ms = server->idle_ms;
	s.admission = server->groups.admission;
	memcpy(s.drops, server->drops, sizeof(s.drops));
	memcpy(s.next_counter, server->groups.next_counter, sizeof(s.next_counter));
	rnd_keeper_put(&server->keeper, RND_RECORD_SERVER, 0, &s, sizeof(s));
	rnd_keeper_pass(&server->keeper, server->lock_fd);
	rnd_keeper_pass(&server->keeper, server->listener.fd);
	if (server->groups.admission.hold >= 0)
		rnd_keeper_pass(&server->keeper, server->groups.admission.hold);
	server->is_changed = false;
}

static void keep_group(struct rnd_server *server, struct rnd_group *g)
{
	const struct saved_group s = { .gid = g->gid, .scope = g->scope };

	if (g->kept == 0)
		rnd_keeper_put(&server->keeper, RND_RECORD_GROUP, g->number, &s,
			       sizeof(s));
	for (; g->kept < g->sock_count; g->kept++) {
		rnd_keeper_put(&server->keeper, RND_RECORD_SOCKET,
			       g->number << 8 | g->kept, NULL, 0);
		rnd_keeper_pass(&server->keeper, g->sock[g->kept]);
	}
}

static void replace_keeper(struct rnd_server *server);

/* Sends all changes of the state to the process at server->keeper: the keeper, or a
 * rocind that takes over.
 */
static void put_changes(struct rnd_server *server)
{
	if (server->is_changed)
		keep_numbers(server);
	for (struct rnd_group *g = server->groups.first; g; g = g->next)
		keep_group(server, g);
	for (struct rnd_client *c = server->clients; c; c = c->next)
		if (c->is_changed)
			rnd_client_keep(c);
	rnd_cm_keep(server->cm);
	rnd_keeper_commit(&server->keeper);
}

void rnd_server_keep_changes(struct rnd_server *server)
{
	put_changes(server);
	if (server->keeper.sock < 0)
		replace_keeper(server);
}

static void mark_all(struct rnd_server *server)
{
	server->is_changed = true;
	for (struct rnd_group *g = server->groups.first; g; g = g->next)
		g->kept = 0;
	for (struct rnd_client *c = server->clients; c; c = c->next)
		c->is_changed = true;
	rnd_wires_keep_all(server);
	rnd_taps_keep_all(server);
	rnd_faults_keep(server);
	rnd_cm_keep_all(server->cm);
}

bool rnd_server_copy_to(struct rnd_server *server, struct rnd_keeper *k)
{
	struct rnd_keeper own;

	rnd_server_commit(server);
	own = server->keeper;
	server->keeper = *k;
	mark_all(server);
	put_changes(server);
	*k = server->keeper;
	server->keeper = own;
	return k->sock >= 0;
}

/* ---- Starting and replacing the keeper ---- */

static void watch_keeper(struct rnd_server *server);
static rnd_succeed_fn succeed;

static void start_keeper(struct rnd_server *server)
{
	const int fds[] = { rn_log_file_fd(), rnd_cm_make_board(server->cm) };
	int rc = rnd_keeper_start(&server->keeper, fds, RN_ARRAY_SIZE(fds), succeed,
				  server);

	if (rc) {
		rn_log(RN_LOG_WARN, "rocind has no keeper: %s", strerror(-rc));
		return;
	}
	mark_all(server);
	server->keep = rnd_server_keep_changes;
	watch_keeper(server);
}

enum {
	/* Maximum number of keepers that are started in place of one that has ended or
	 * hung. If so many have ended, the next one would end for the same reason.
	 */
	KEEPERS_MAX = 16,
};

/* Starts another keeper. The caller has closed the socket to the previous one. */
static void replace_keeper(struct rnd_server *server)
{
	server->keeper_end.server = NULL;
	server->keep = NULL;
	if (++server->keepers_replaced > KEEPERS_MAX) {
		rn_log(RN_LOG_ERROR, "rocind has no keeper: %d have ended", KEEPERS_MAX);
		return;
	}
	rn_log(RN_LOG_WARN, "the keeper has ended; rocind starts another one");
	start_keeper(server);
}

/* Called when the socket to the keeper is readable. The keeper sends nothing, so this
 * means that it has ended.
 */
static void on_keeper_end(void *ctx)
{
	struct rnd_server *server = ctx;

	rnd_source_forget(&server->keeper_end);
	rnd_keeper_forget(&server->keeper);
	replace_keeper(server);
}

static void watch_keeper(struct rnd_server *server)
{
	server->keeper_end = (struct rnd_source){ .fd = server->keeper.sock,
						  .ctx = server,
						  .on_ready = on_keeper_end };
	if (server->keeper.sock >= 0 && rnd_server_watch(server, &server->keeper_end))
		rn_log(RN_LOG_WARN, "the end of the keeper goes unseen: %m");
}

void rnd_server_start_keeper(struct rnd_server *server)
{
	start_keeper(server);
}

/* ---- Restoring the state in a successor ---- */

static int restore_numbers(struct rnd_server *server, struct rnd_record *r)
{
	struct saved_server s;
	int rc;

	if (r->len != sizeof(s) || r->fd_count < 2)
		return -EINVAL;
	memcpy(&s, r->data, sizeof(s));
	if (r->fd_count != (s.admission.hold >= 0 ? 3 : 2))
		return -EINVAL;
	server->since_s = s.since_s;
	server->idle_ms = s.idle_ms;
	server->groups.admission = s.admission;
	server->groups.admission.hold = r->fd_count == 3 ? r->fd[2] : -1;
	server->last_client_id = s.last_client_id;
	server->last_group = s.last_group;
	server->last_wire = s.last_wire;
	server->groups.qpn_secret = s.qpn_secret;
	memcpy(server->drops, s.drops, sizeof(s.drops));
	memcpy(server->groups.next_counter, s.next_counter, sizeof(s.next_counter));
	server->lock_fd = r->fd[0];
	rc = rnd_server_listen(server, r->fd[1]);
	r->fd_count = 0;
	return rc;
}

/* Restores a group with its sockets. @sockets: the records behind that of the group;
 * those with the descriptors of its sockets are among them.
 */
static void restore_group(struct rnd_server *server, const struct rnd_record *r,
			  struct rnd_record **sockets)
{
	int sock[RND_SLOT_COUNT];
	struct rnd_group *group;
	struct saved_group s;
	unsigned count = 0;

	while (*sockets && (*sockets)->kind <= RND_RECORD_SOCKET &&
	       ((*sockets)->kind != RND_RECORD_SOCKET ||
		(*sockets)->number < r->number << 8))
		sockets++;
	for (; *sockets && (*sockets)->kind == RND_RECORD_SOCKET &&
	       count < RND_SLOT_COUNT && (*sockets)->number == (r->number << 8 | count) &&
	       (*sockets)->fd_count == 1;
	     sockets++) {
		sock[count++] = (*sockets)->fd[0];
		(*sockets)->fd_count = 0;
	}
	if (r->len != sizeof(s) || count == 0)
		return;
	memcpy(&s, r->data, sizeof(s));
	group = rnd_group_restore(&s.gid, s.scope, sock, count);
	if (!group)
		return;
	rnd_groups_add(&server->groups, group);
	/* rocind may have died after it had added a socket to the group and before the
	 * keeper had a copy of that socket. Then the BPF program still chooses this
	 * socket, which is closed now, so the program is replaced.
	 */
	if (rnd_group_guard(group))
		rn_log(RN_LOG_WARN, "packets cannot be steered: %m");
	/* rnd_groups_add() has called on_open(), which has given the group a new number.
	 * The keeper knows it by the old number.
	 */
	group->number = r->number;
	group->kept = count;
}

static void restore_record(struct rnd_server *server, struct rnd_server *old,
			   struct rnd_record **at)
{
	struct rnd_record *r = *at;

	switch (r->kind) {
	case RND_RECORD_GROUP:
		restore_group(server, r, at);
		break;
	case RND_RECORD_CLIENT:
		rnd_client_restore(server, r);
		break;
	case RND_RECORD_WIRE:
		rnd_wires_restore(server, r);
		break;
	case RND_RECORD_FAULTS:
		rnd_faults_restore(server, r);
		break;
	case RND_RECORD_TAP:
		rnd_taps_restore(server, r);
		break;
	case RND_RECORD_SERVER:
	case RND_RECORD_SOCKET:
	case RND_RECORD_KINDS:
		break;
	case RND_RECORD_CM:
	case RND_RECORD_CHANNEL:
	case RND_RECORD_MARKS:
	case RND_RECORD_PATH:
	case RND_RECORD_ID:
	case RND_RECORD_CONN:
	case RND_RECORD_MCAST:
	case RND_RECORD_EVENT:
		rnd_cm_restore(server->cm, old ? old->cm : NULL, r);
		break;
	}
}

/* Reports changes of the interfaces that have happened since the previous rocind died. */
static void look_at_interfaces(struct rnd_server *server)
{
	struct rnd_client *next;

	for (struct rnd_client *c = server->clients; c; c = next) {
		next = c->next;
		rnd_watch_update(c);
	}
}

int rnd_server_restore(struct rnd_server *server, struct rnd_server *old,
		       struct rnd_estate *estate)
{
	struct rnd_record **all = rnd_estate_sort(estate);
	int rc = all && all[0] && all[0]->kind == RND_RECORD_SERVER ? 0 : -ENOMEM;

	if (rc == 0)
		rc = rnd_server_open_sources(server);
	if (rc == 0)
		rc = restore_numbers(server, all[0]);
	for (struct rnd_record **at = all; rc == 0 && *at; at++)
		restore_record(server, old, at);
	free((void *)all);
	rnd_estate_free(estate);
	return rc;
}

void rnd_server_resume(struct rnd_server *server)
{
	rnd_server_sign_lock(server);
	rnd_cm_restored(server->cm);
	look_at_interfaces(server);
}

/* Called in a successor, a new process that the keeper has forked: acts as rocind from
 * now on. @ctx: the struct rnd_server of the rocind that has started the keeper, as it
 * was at that time.
 */
static void succeed(void *ctx, struct rnd_estate *estate, int sock)
{
	struct rnd_server *server = malloc(sizeof(*server)), *old = ctx;
	int rc = server ? rnd_server_init(server, 0) : -ENOMEM;

	if (rc == 0) {
		server->hand_over = old->hand_over;
		memcpy(server->dir, old->dir, sizeof(server->dir));
		memcpy(server->sock_name, old->sock_name, sizeof(server->sock_name));
		rc = rnd_keeper_join(&server->keeper, sock, getppid());
	}
	if (rc == 0)
		rc = rnd_server_restore(server, old, estate);
	if (rc) {
		rn_log(RN_LOG_ERROR, "rocind cannot be succeeded: %s", strerror(-rc));
		exit(EXIT_FAILURE);
	}
	rn_log(RN_LOG_INFO, "this process succeeds a rocind that has died");
	server->keep = rnd_server_keep_changes;
	watch_keeper(server);
	rnd_server_resume(server);
	rnd_server_run(server);
	rnd_server_close(server);
	free(server);
	exit(EXIT_SUCCESS);
}
