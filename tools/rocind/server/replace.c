/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* replace.c - a rocind takes over from a running one, which may be of an older build,
 * without interrupting programs.
 *
 * A rocind has a keeper: a process that holds a copy of all records of rocind, and starts
 * a successor if rocind dies. The newer rocind sends the older one RN_CTL_REPLACE with
 * one end of a pair of sockets. Over this pair the older one sends what it would send to
 * a keeper: all records in one transaction. From these the newer one restores a server,
 * which sends nothing yet. Then the older one ends its keeper, so that the keeper starts
 * no successor, and exits:
 *
 *	older                       keeper                newer
 *	      <------------------------------------------ REPLACE
 *	      records ----------------------------------> restores
 *	      <------------------------------------------ a newline, or why not
 *	      "end", the socket ---> ends, a byte ------> goes on
 *	exits <------------------------------------------ a byte
 *
 * So whichever of these processes dies, another one is rocind or will start one. The
 * older rocind goes on if the newer one refuses, cannot read the records, does not answer
 * in time, or dies.
 *
 * The older rocind has a board, memory in which programs read about their rdma_cm ids.
 * The newer one cannot map it for writing (cm_board.c), so it makes another board, which
 * programs get with the answer to their next command.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server.h"
#include "tools/rocind/cm/cm.h"
#include "tools/rocind/ucma/ucma.h"
#include "transport/io/host/log.h"
#include "transport/io/host/runtime_dir.h"

enum {
	/* Time in ms for which each of the two processes waits for the other. Restoring
	 * the records takes some milliseconds.
	 */
	PATIENCE_MS = 10000,
};

static const char go = '\0', ready = '\n';

/* Reads one message of at most @room - 1 bytes from @sock, and terminates it with a NUL.
 * Returns its length; 0 if the other end is closed; or -1 if nothing has come in time.
 */
static ssize_t hear(int sock, char *words, size_t room)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	int n;

	do
		n = poll(&p, 1, PATIENCE_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return -1;
	n = (int)recv(sock, words, room - 1, MSG_DONTWAIT);
	return n < 0 ? 0 : n;
}

static bool say(int sock, const char *words, size_t len)
{
	return send(sock, words, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

/* ---- Functions of the older rocind ---- */

/* Copies all records to the heir (the newer rocind), and waits for its answer. Returns
 * true if the heir can take over.
 */
static bool is_heir_ready(struct rnd_server *server, struct rnd_keeper *heir)
{
	char words[RN_CTL_TEXT_LEN] = "";
	ssize_t len;

	if (!rnd_server_copy_to(server, heir))
		return false;
	len = hear(heir->sock, words, sizeof(words));
	if (len == 1 && words[0] == ready)
		return true;
	rn_log(RN_LOG_WARN, "process %d does not go on in place of rocind: %s",
	       server->heir_pid, len > 0 ? words : strerror(len ? ETIMEDOUT : EPIPE));
	return false;
}

/* Ends the keeper of this rocind, and lets the heir (the newer rocind) take over. Returns
 * true if it has taken over.
 */
static bool let_go(struct rnd_server *server, const struct rnd_keeper *heir)
{
	char byte[2];

	server->keep = NULL;
	rnd_source_forget(&server->keeper_end);
	if (!rnd_keeper_end(&server->keeper, heir->sock))
		(void)say(heir->sock, &go, 1);
	return hear(heir->sock, byte, sizeof(byte)) > 0;
}

void rnd_replace_hand_over(struct rnd_server *server)
{
	bool has_keeper = server->keep != NULL;
	struct rnd_keeper heir = { .sock = -1, .pidfd = -1 };
	int rc = rnd_keeper_join(&heir, server->heir_sock, server->heir_pid);

	server->heir_sock = -1;
	if (rc == 0 && is_heir_ready(server, &heir)) {
		if (let_go(server, &heir)) {
			rn_log(RN_LOG_INFO, "process %d goes on in place of this rocind",
			       server->heir_pid);
			rnd_cm_hide_answers(server->cm);
			/* The heir (the newer rocind) has copies of all descriptors that
			 * are open here. So this process exits without closing any and
			 * without telling anybody.
			 */
			_exit(EXIT_SUCCESS);
		}
		rn_log(RN_LOG_WARN,
		       "process %d has not gone on in place of rocind, which goes on",
		       server->heir_pid);
	}
	if (heir.sock >= 0)
		rnd_keeper_kill(&heir);
	if (has_keeper && !server->keep)
		rnd_server_start_keeper(server);
}

/* ---- Functions of the newer rocind ---- */

/* Receives all records from the older rocind, in one transaction. Returns 0, or -errno
 * with an error text in @err.
 */
static int receive_records(struct rnd_estate *estate, int sock, char *err, size_t err_len)
{
	const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	struct rnd_pending pending = { NULL, NULL };
	enum rnd_intake got;

	(void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	do
		got = rnd_estate_receive(estate, &pending, sock);
	while (got == RND_INTAKE_MORE && (pending.first || estate->count == 0));
	rnd_pending_free(&pending);
	if (got == RND_INTAKE_MORE)
		return 0;
	if (got == RND_INTAKE_FAULT)
		return rn_fail(err, err_len, -EPROTO,
			       "what the rocind that runs hands over is not understood");
	return rn_fail(err, err_len, -EPROTO, "the rocind that runs has not handed over");
}

/* Number of objects of each kind that the records describe. After restoring, this many
 * must exist.
 */
struct tally {
	unsigned groups, clients, channels, ids, connections;
};

static struct tally count_records(const struct rnd_estate *estate)
{
	struct rnd_record **all = rnd_estate_sort(estate);
	unsigned n[RND_RECORD_KINDS] = { 0 };

	for (struct rnd_record **r = all; r && *r; r++)
		n[(*r)->kind]++;
	free((void *)all);
	return (struct tally){ n[RND_RECORD_GROUP], n[RND_RECORD_CLIENT],
			       n[RND_RECORD_CHANNEL], n[RND_RECORD_ID],
			       n[RND_RECORD_CONN] };
}

static bool has_all(const struct rnd_server *server, const struct tally *want)
{
	struct rnd_ucma_counts cm;
	unsigned clients = 0;

	rnd_cm_count(server->cm, &cm);
	for (const struct rnd_client *c = server->clients; c; c = c->next)
		clients++;
	return rnd_groups_count(&server->groups) == want->groups &&
	       clients == want->clients && cm.channels == want->channels &&
	       cm.ids == want->ids && cm.connections == want->connections;
}

static int restore(struct rnd_server *server, struct rnd_estate *estate, char *err,
		   size_t err_len)
{
	struct tally want = count_records(estate);
	int rc = rnd_server_restore(server, NULL, estate);

	if (rc)
		return rn_fail(err, err_len, rc,
			       "the state of rocind is not restored: %s", strerror(-rc));
	return has_all(server, &want) ? 0
				      : rn_fail(err, err_len, -EPROTO,
						"what the rocind that runs hands over is "
						"not understood");
}

/* Asks the running rocind for its records over the pair of sockets @pair, and receives
 * them. Sets *@predecessor to its process id. Returns 0, or -errno with an error text in
 * @err.
 */
static int take_records(struct rnd_estate *estate, const int pair[2], int *predecessor,
			char *err, size_t err_len)
{
	struct rn_rocind *r = rn_rocind_connect_running(err, err_len);
	struct rn_rocind_status status = { 0 };
	int rc = r ? rn_rocind_status(r, &status, err, err_len) : -errno;

	*predecessor = status.pid;
	if (rc == 0)
		rc = rn_rocind_replace(r, RND_RECORDS_VERSION, pair[1], err, err_len);
	close(pair[1]);
	if (rc == 0)
		rc = receive_records(estate, pair[0], err, err_len);
	rn_rocind_close(r);
	return rc;
}

/* Tells the older rocind that this process can take over, and waits until it may. Returns
 * 0, or -errno with an error text in @err.
 */
static int await_go(int sock, char *err, size_t err_len)
{
	char byte[2];

	if (say(sock, &ready, 1) && hear(sock, byte, sizeof(byte)) > 0 &&
	    say(sock, &go, 1))
		return 0;
	return rn_fail(err, err_len, -ETIMEDOUT, "the rocind that runs does not let go");
}

int rnd_replace_running(struct rnd_server *server, int *predecessor, char *err,
			size_t err_len)
{
	struct rnd_estate estate;
	int pair[2], rc;

	rnd_estate_init(&estate);
	rc = rnd_server_init(server, 0);
	if (rc)
		return rn_fail(err, err_len, rc, "out of memory");
	rn_runtime_name(server->sock_name, sizeof(server->sock_name), "rocind", ".sock");
	rc = rn_runtime_dir(server->dir, sizeof(server->dir), err, err_len);
	if (rc)
		return rc;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return rn_fail(err, err_len, -errno, "no pair of sockets: %m");
	rc = take_records(&estate, pair, predecessor, err, err_len);
	if (rc == 0) {
		rc = restore(server, &estate, err, err_len);
		if (rc)
			(void)say(pair[0], err, strlen(err));
	}
	if (rc == 0)
		rc = await_go(pair[0], err, err_len);
	close(pair[0]);
	if (rc == 0)
		rnd_server_resume(server);
	return rc;
}
