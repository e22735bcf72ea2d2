/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* client.c - connections of programs to rocind: reads their requests and answers them. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/rocind/cm/cm.h"
#include "tools/rocind/ucma/ucma.h"
#include "transport/io/host/log.h"
#include "transport/io/rocind/ctl_socket.h"
#include "transport/io/rocind/stats_ended.h"

#ifndef SO_PEERPIDFD
/* The option exists since Linux 6.5. Its number is the same on all architectures except
 * sparc and parisc.
 */
#define SO_PEERPIDFD 77
#endif

/* What is to happen to the connection of the client after a request: keep it or close it.
 */
enum outcome {
	KEEP,
	CLOSE
};

/* ---- Answers to a client ---- */

static enum outcome send_answer(struct rnd_client *client, void *msg, const int *fds,
				unsigned fd_count)
{
	int rc;

	((struct rn_ctl_hdr *)msg)->seq = client->last_seq;
	rnd_server_commit(client->server);
	rc = rn_ctl_send(client->sock.fd, msg, fds, fd_count);

	if (rc)
		rn_log(RN_LOG_WARN, "process %d: answer not sent: %s", client->pid,
		       strerror(-rc));
	return rc ? CLOSE : KEEP;
}

static enum outcome answer_plain(struct rnd_client *client, enum rn_ctl_type type)
{
	struct rn_ctl_hdr hdr = rn_ctl_hdr(type);

	return send_answer(client, &hdr, NULL, 0);
}

static void send_refusal(int sock, uint32_t seq, int err, const char *text)
{
	struct rn_ctl_refused msg = { .hdr = rn_ctl_hdr(RN_CTL_REFUSED), .err = err };

	msg.hdr.seq = seq;
	snprintf(msg.text, sizeof(msg.text), "%s", text);
	rn_ctl_send(sock, &msg, NULL, 0);
}

static enum outcome refuse_request(struct rnd_client *client, int err, const char *text)
{
	rn_log(RN_LOG_INFO, "process %d refused: %s", client->pid, text);
	rnd_server_commit(client->server);
	send_refusal(client->sock.fd, client->last_seq, err, text);
	return KEEP;
}

/* ---- Requests of a client ---- */

static enum outcome on_hello(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	struct rn_ctl_welcome msg = { .hdr = rn_ctl_hdr(RN_CTL_WELCOME),
				      .version = ROCIN_VERSION,
				      .pid = getpid() };

	rn_log(RN_LOG_DEBUG, "process %d connects, version %.31s", client->pid,
	       pkt->msg.hello.version);
	client->is_greeted = true;
	return send_answer(client, &msg, NULL, 0);
}

/* Returns true if the descriptor is a memfd. Only a memfd has seals; the set of seals may
 * be empty. Other kinds of files are refused, because reading from them could block.
 */
static bool is_memory(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

/* Answers RN_CTL_ATTACH when the client has got a slot (a number by which QPNs name its
 * process): sends it the slot and its sockets.
 */
static enum outcome answer_attach(struct rnd_client *client)
{
	const struct rnd_attachment *a = &client->attachment;
	struct rn_ctl_attached msg = { .hdr = rn_ctl_hdr(RN_CTL_ATTACHED),
				       .slot = a->slot,
				       .qpn_counter = a->qpn_counter,
				       .own_port =
					       client->server->groups.admission.own_port,
				       .qpn_secret = client->server->groups.qpn_secret,
				       .sock_count = a->gid_count };
	enum outcome outcome;
	int socks[RN_GID_MAX];

	for (uint32_t i = 0; i < a->gid_count; i++)
		socks[i] = a->group[i]->sock[a->slot];
	/* The fault rules and the captures of the device are sent before the answer to
	 * the request, so that the process has them before its first packet.
	 */
	if (rnd_faults_greet(client))
		return CLOSE;
	rnd_taps_attached(client);
	outcome = send_answer(client, &msg, socks, a->gid_count);
	/* The interface may have changed since the process has read its state.
	 * rnd_watch_update() reports the changes. It may free the client, so a caller
	 * that gets KEEP must not use the client any more.
	 */
	if (outcome == KEEP)
		rnd_watch_update(client);
	return outcome;
}

static enum outcome on_attach(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	struct rnd_attachment *a = &client->attachment;
	char why[RN_CTL_TEXT_LEN];
	int rc;

	if (a->slot)
		return refuse_request(client, EALREADY,
				      "this connection has a device already");
	if (pkt->fd_count > 1)
		return refuse_request(client, EINVAL,
				      "more than one descriptor came with a device");
	if (pkt->fd_count == 1 && !is_memory(pkt->fd[0]))
		return refuse_request(
			client, EINVAL,
			"the statistics of a device are no memory of memfd_create");
	rc = rnd_attach(&client->server->groups, a, &pkt->msg.attach, why, sizeof(why));
	if (rc)
		return refuse_request(client, -rc, why);
	if (pkt->fd_count == 1) {
		a->stats_fd = pkt->fd[0];
		pkt->fd_count = 0;
	}
	client->server->is_changed = true;
	rn_log(RN_LOG_INFO, "process %d has slot %u of %s on %s", client->pid, a->slot,
	       a->ibdev, a->ifname);
	return answer_attach(client);
}

static enum outcome on_detach(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	(void)pkt;
	if (!client->attachment.slot)
		return refuse_request(client, ENOTCONN, "this connection has no device");
	rnd_taps_close(client);
	rnd_wires_close(client);
	rnd_detach(&client->attachment);
	return answer_plain(client, RN_CTL_DETACHED);
}

static enum outcome on_list(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	const struct rnd_client *c = client->server->clients;
	struct rn_ctl_client msg = { .hdr = rn_ctl_hdr(RN_CTL_CLIENT) };
	const struct rnd_attachment *a;

	while (c && (c->id <= pkt->msg.list.after || !c->attachment.slot))
		c = c->next;
	if (!c)
		return answer_plain(client, RN_CTL_LIST_END);
	a = &c->attachment;
	msg.id = c->id;
	msg.pid = c->pid;
	msg.slot = a->slot;
	msg.gid_count = a->gid_count;
	msg.has_stats = a->stats_fd >= 0;
	memcpy(msg.ibdev, a->ibdev, sizeof(msg.ibdev));
	memcpy(msg.ifname, a->ifname, sizeof(msg.ifname));
	for (uint32_t i = 0; i < a->gid_count; i++)
		if (a->group[i])
			msg.gid[i] = a->gid[i];
	return send_answer(client, &msg, &a->stats_fd, msg.has_stats);
}

static enum outcome on_status(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	const struct rnd_server *server = client->server;
	struct rn_ctl_status_reply msg = { .hdr = rn_ctl_hdr(RN_CTL_STATUS_REPLY),
					   .version = ROCIN_VERSION,
					   .since_s = server->since_s,
					   .pid = getpid(),
					   .idle_ms = server->idle_ms,
					   .groups = rnd_groups_count(&server->groups) };
	struct rnd_ucma_counts cm;

	(void)pkt;
	for (const struct rnd_client *c = server->clients; c; c = c->next) {
		msg.clients += c->is_greeted;
		msg.attached += c->attachment.slot != 0;
	}
	rnd_cm_count(server->cm, &cm);
	msg.cm_channels = cm.channels;
	msg.cm_ids = cm.ids;
	msg.cm_ports = cm.ports;
	msg.cm_connections = cm.connections;
	memcpy(msg.drops, server->drops, sizeof(server->drops));
	msg.drops[RN_ROCIND_DROP_FOREIGN] = rnd_groups_refused(&server->groups);
	return send_answer(client, &msg, NULL, 0);
}

static enum outcome on_cm_open(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	const char *netdevs = pkt->msg.cm_open.netdevs;
	struct rn_ctl_hdr msg = rn_ctl_hdr(RN_CTL_CM_OPENED);
	char why[RN_CTL_TEXT_LEN];
	enum outcome outcome;
	int fd[2], rc;

	if (!memchr(netdevs, '\0', sizeof(pkt->msg.cm_open.netdevs)))
		return refuse_request(client, EINVAL, "a list of devices has no end");
	rc = rnd_cm_open(client->server->cm, netdevs, &fd[0], why, sizeof(why));
	if (rc)
		return refuse_request(client, -rc, why);
	fd[1] = rnd_cm_board_fd(client->server->cm);
	outcome = send_answer(client, &msg, fd, fd[1] < 0 ? 1 : 2);
	close(fd[0]);
	return outcome;
}

static enum outcome on_cm_list(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	struct rn_ctl_hdr msg = rn_ctl_hdr(RN_CTL_CM_LISTED);
	enum outcome outcome;
	int fd = rnd_cm_list_ids(client->server->cm);

	(void)pkt;
	if (fd < 0)
		return refuse_request(client, -fd, "rocind cannot list ids of rdma_cm");
	outcome = send_answer(client, &msg, &fd, 1);
	close(fd);
	return outcome;
}

/* Handles a request to end rocind. The answer is sent by rnd_server_run(), when rocind
 * has closed its sockets.
 */
static enum outcome on_shutdown(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	(void)pkt;
	rn_log(RN_LOG_INFO, "process %d asks for the end", client->pid);
	client->server->stopping = true;
	client->server->stop_asked_by = client;
	return KEEP;
}

static enum outcome answer_faults(struct rnd_client *client)
{
	rnd_server_commit(client->server);
	return rnd_faults_answer(client) ? CLOSE : KEEP;
}

static enum outcome on_faults_set(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	char why[RN_CTL_TEXT_LEN];
	int rc = rnd_faults_set(client, pkt, why, sizeof(why));

	return rc ? refuse_request(client, -rc, why) : answer_faults(client);
}

static enum outcome on_faults_get(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	(void)pkt;
	return answer_faults(client);
}

static enum outcome on_wire_ask(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	pkt->msg.wire_ask.ends.lost = pkt->msg.wire_ask.ends.lost != 0;
	rnd_wires_ask(client, &pkt->msg.wire_ask.ends);
	return KEEP;
}

static enum outcome on_wire_drop(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	rnd_wires_drop(client, &pkt->msg.wire_ask.ends);
	return KEEP;
}

static enum outcome begin_capture(struct rnd_client *client)
{
	enum outcome outcome = answer_plain(client, RN_CTL_CAPTURING);

	rnd_taps_begin(client);
	return outcome;
}

static enum outcome on_capture(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	char why[RN_CTL_TEXT_LEN];
	int rc = rnd_taps_open(client, &pkt->msg.capture, why, sizeof(why));

	if (rc)
		return refuse_request(client, -rc, why);
	return begin_capture(client);
}

/* Checks whether the process of the client may take over from this rocind (replace.c),
 * and if so remembers it. Returns 0, or -errno with an error text in @err.
 */
static int check_heir(struct rnd_client *client, struct rn_ctl_packet *pkt, char *err,
		      size_t err_len)
{
	struct rnd_server *server = client->server;
	const struct rn_ctl_replace *rq = &pkt->msg.replace;

	if (!server->hand_over)
		return rn_fail(
			err, err_len, -EBUSY,
			"rocind %s (process %d) is looked after by whoever started it "
			"in the foreground; restart it there",
			ROCIN_VERSION, (int)getpid());
	if (rq->records != RND_RECORDS_VERSION)
		return rn_fail(
			err, err_len, -EPROTO,
			"rocind %s (process %d) hands over records of version %d, and "
			"rocind %.*s understands version %u; it goes on until its "
			"programs have ended, or until rocin stop",
			ROCIN_VERSION, (int)getpid(), RND_RECORDS_VERSION,
			(int)sizeof(rq->version) - 1, rq->version, rq->records);
	if (pkt->fd_count != 1 || !rn_ctl_is_seqpacket(pkt->fd[0], false) ||
	    server->heir_sock >= 0)
		return rn_fail(err, err_len, -EINVAL,
			       "rocind does not understand this request");
	server->heir_sock = pkt->fd[0];
	server->heir_pid = client->pid;
	pkt->fd_count = 0;
	return 0;
}

static enum outcome on_replace(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	char why[RN_CTL_TEXT_LEN];
	int rc = check_heir(client, pkt, why, sizeof(why));

	if (rc)
		return refuse_request(client, -rc, why);
	return answer_plain(client, RN_CTL_REPLACING);
}

static enum outcome (*const on_request[])(struct rnd_client *, struct rn_ctl_packet *) = {
	[RN_CTL_HELLO] = on_hello,	     [RN_CTL_ATTACH] = on_attach,
	[RN_CTL_DETACH] = on_detach,	     [RN_CTL_LIST] = on_list,
	[RN_CTL_STATUS] = on_status,	     [RN_CTL_SHUTDOWN] = on_shutdown,
	[RN_CTL_FAULTS_SET] = on_faults_set, [RN_CTL_FAULTS_GET] = on_faults_get,
	[RN_CTL_CM_OPEN] = on_cm_open,	     [RN_CTL_WIRE_ASK] = on_wire_ask,
	[RN_CTL_WIRE_DROP] = on_wire_drop,   [RN_CTL_CAPTURE] = on_capture,
	[RN_CTL_REPLACE] = on_replace,	     [RN_CTL_CM_LIST] = on_cm_list,
};

static enum outcome refuse_version(struct rnd_client *client,
				   const struct rn_ctl_packet *pkt)
{
	const struct rn_ctl_hello *hello = &pkt->msg.hello;
	char theirs[sizeof(hello->version)] = "?";
	char why[RN_CTL_TEXT_LEN];

	if (hello->hdr.type == RN_CTL_HELLO && hello->hdr.len >= sizeof(*hello))
		snprintf(theirs, sizeof(theirs), "%.*s", (int)sizeof(theirs) - 1,
			 hello->version);
	rn_fail(why, sizeof(why), 0,
		"rocind %s (process %d) speaks version %d of the control protocol, this "
		"program's rocin %s version %u; end that rocind (kill %d) and try again",
		ROCIN_VERSION, (int)getpid(), RN_CTL_VERSION, theirs, hello->hdr.version,
		(int)getpid());
	refuse_request(client, EPROTONOSUPPORT, why);
	return CLOSE;
}

/* Returns true if the device has exactly the addresses that the client has asked for. It
 * does not if addresses were added or removed since the request was first executed.
 */
static bool has_addresses(const struct rnd_attachment *a, const struct rn_ctl_attach *rq)
{
	bool has = a->gid_count == rq->gid_count;

	for (uint32_t i = 0; has && i < a->gid_count; i++)
		has = a->group[i] &&
		      memcmp(&a->gid[i], &rq->gid[i], sizeof(a->gid[i])) == 0;
	return has;
}

static enum outcome repeat_attach(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	struct rnd_attachment *a = &client->attachment;

	if (a->slot && has_addresses(a, &pkt->msg.attach))
		return answer_attach(client);
	rnd_taps_close(client);
	rnd_wires_close(client);
	rnd_detach(a);
	return on_attach(client, pkt);
}

/* Executes a request that was already executed, and perhaps answered, by a rocind that
 * has died. Requests that change nothing are simply executed again; most others find that
 * their work is done.
 */
static enum outcome repeat_request(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	switch (pkt->msg.hdr.type) {
	case RN_CTL_HELLO:
		return on_hello(client, pkt);
	case RN_CTL_ATTACH:
		return repeat_attach(client, pkt);
	case RN_CTL_DETACH:
		return client->attachment.slot ? on_detach(client, pkt)
					       : answer_plain(client, RN_CTL_DETACHED);
	case RN_CTL_FAULTS_SET:
		return answer_faults(client);
	case RN_CTL_CAPTURE:
		if (!client->taps.is_open)
			return on_capture(client, pkt);
		rnd_taps_close(client);
		client->taps =
			(struct rnd_taps){ .is_open = true, .what = pkt->msg.capture };
		return begin_capture(client);
	case RN_CTL_WIRE_ASK:
		pkt->msg.wire_ask.ends.lost = RND_WIRE_UNKNOWN;
		rnd_wires_ask(client, &pkt->msg.wire_ask.ends);
		return KEEP;
	default:
		return on_request[pkt->msg.hdr.type](client, pkt);
	}
}

static enum outcome handle_request(struct rnd_client *client, struct rn_ctl_packet *pkt)
{
	uint16_t type = pkt->msg.hdr.type;
	bool is_repeated = client->is_restored && client->last_seq &&
			   pkt->msg.hdr.seq == client->last_seq;
	int rc = rn_ctl_check(pkt);

	client->last_seq = pkt->msg.hdr.seq;
	client->is_changed = true;
	client->is_restored = false;

	if (rc == -EPROTONOSUPPORT)
		return refuse_version(client, pkt);
	if (rc || type >= RN_ARRAY_SIZE(on_request) || !on_request[type] ||
	    ((type == RN_CTL_HELLO) == client->is_greeted && !is_repeated)) {
		refuse_request(client, EBADMSG,
			       "rocind does not understand this request");
		return CLOSE;
	}
	return is_repeated ? repeat_request(client, pkt) : on_request[type](client, pkt);
}

/* Returns true if there is still a client with this number. */
static bool is_connected(const struct rnd_server *server, uint64_t id)
{
	const struct rnd_client *c = server->clients;

	while (c && c->id != id)
		c = c->next;
	return c != NULL;
}

/* Called when a client has sent a message. Handles the message, and then removes it from
 * the socket. If rocind is killed in between, its successor still finds the message
 * there.
 */
static void on_readable(void *ctx)
{
	struct rnd_client *client = ctx;
	struct rnd_server *server = client->server;
	uint64_t id = client->id;
	struct rn_ctl_packet pkt;
	enum outcome outcome = CLOSE;
	int rc = rn_ctl_peek(client->sock.fd, &pkt);

	if (rc == -EAGAIN || rc == -EINTR)
		return;
	if (rc == 0) {
		outcome = handle_request(client, &pkt);
		rn_ctl_close_fds(&pkt);
		/* Events were sent meanwhile. If the client does not read its events,
		 * that has closed it.
		 */
		if (!is_connected(server, id))
			return;
		rnd_server_commit(server);
		rn_ctl_skip(client->sock.fd);
	} else if (rc != -ECONNRESET) {
		refuse_request(client, -rc, "rocind does not understand this request");
		rn_ctl_skip(client->sock.fd);
	}
	if (outcome == CLOSE)
		rnd_client_close(client);
}

/* ---- Opening and closing a connection ---- */

static void on_death(void *ctx)
{
	struct rnd_client *client = ctx;

	rn_log(RN_LOG_DEBUG, "process %d is dead", client->pid);
	rnd_client_close(client);
}

/* Returns a pidfd of the process at the other end, or -1. */
static int open_pidfd(int sock, pid_t pid)
{
	int pidfd;
	socklen_t len = sizeof(pidfd);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
		return pidfd;
	if (errno != ENOPROTOOPT)
		/* The process has died already, so its connection will end, too. */
		return -1;
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static void append(struct rnd_server *server, struct rnd_client *client)
{
	struct rnd_client **last = &server->clients;

	while (*last)
		last = &(*last)->next;
	*last = client;
}

void rnd_client_accept(struct rnd_server *server, int fd)
{
	struct ucred cred = { 0 };
	socklen_t cred_len = sizeof(cred);
	struct rnd_client *client;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) < 0 ||
	    cred.uid != geteuid()) {
		send_refusal(fd, 0, EPERM, "this rocind belongs to another user");
		goto err_close;
	}
	client = calloc(1, sizeof(*client));
	if (!client)
		goto err_close;
	*client = (struct rnd_client){
		.server = server,
		.sock = { .fd = fd, .ctx = client, .on_ready = on_readable },
		.pidfd = { .fd = open_pidfd(fd, cred.pid),
			   .ctx = client,
			   .on_ready = on_death },
		.id = ++server->last_client_id,
		.pid = cred.pid,
		.attachment = { .stats_fd = -1 },
		.is_changed = true,
	};
	server->is_changed = true;
	append(server, client);
	if (rnd_server_watch(server, &client->sock) ||
	    (client->pidfd.fd >= 0 && rnd_server_watch(server, &client->pidfd)))
		rnd_client_close(client);
	return;

err_close:
	close(fd);
}

/* Called when a program ends: adds its counters to those of its device, whose counters
 * would decrease otherwise.
 */
static void keep_counters(const struct rnd_client *client)
{
	const struct rnd_attachment *a = &client->attachment;
	int rc = a->slot && a->stats_fd >= 0
			 ? rn_stats_ended_add(client->server->dir, a->ibdev, a->stats_fd)
			 : 0;

	if (rc)
		rn_log(RN_LOG_WARN, "counters of process %d are lost: %s", client->pid,
		       strerror(-rc));
}

void rnd_client_close(struct rnd_client *client)
{
	struct rnd_server *server = client->server;
	struct rnd_client **link = &server->clients;

	while (*link != client)
		link = &(*link)->next;
	*link = client->next;
	rnd_keeper_drop(&server->keeper, RND_RECORD_CLIENT, client->id);
	rnd_faults_gather(client);
	keep_counters(client);
	rnd_taps_close(client);
	rnd_wires_close(client);
	rnd_detach(&client->attachment);
	rnd_source_close(&client->pidfd);
	rnd_source_close(&client->sock);
	free(client);
	server->idle_from = rnd_now();
}

/* ---- Handing a client over to a successor ---- */

/* The saved state of a client. These descriptors are saved with it: the connection and,
 * if they exist, the pidfd, the statistics page, the doorbell page and its event.
 */
struct saved_client {
	uint64_t id;
	int32_t pid;
	uint32_t last_seq;
	bool is_greeted, has_pidfd, has_stats, has_doorbell;
	bool has_group[RN_GID_MAX];
	unsigned next_wire;
	struct rnd_taps taps;
	/* copy of the attachment, in which all pointers are NULL */
	struct rnd_attachment attachment;
};

enum {
	CLIENT_FDS_MAX = 5
};
static_assert((int)CLIENT_FDS_MAX <= (int)RND_RECORD_FDS, "a record holds them");

void rnd_client_keep(struct rnd_client *client)
{
	const struct rnd_attachment *a = &client->attachment;
	int fd[CLIENT_FDS_MAX];
	unsigned count = 0;
	struct saved_client s;

	memset(&s, 0, sizeof(s));
	s.id = client->id;
	s.pid = client->pid;
	s.last_seq = client->last_seq;
	s.is_greeted = client->is_greeted;
	s.has_pidfd = client->pidfd.fd >= 0;
	s.has_stats = a->stats_fd >= 0;
	s.has_doorbell = client->wires.is_open;
	s.next_wire = client->wires.next;
	s.taps = client->taps;
	/* @ring has another record, see rnd_taps_keep_all(). */
	s.taps.has_ring = false;
	s.attachment = *a;
	for (uint32_t i = 0; i < RN_GID_MAX; i++) {
		s.has_group[i] = i < a->gid_count && a->group[i];
		s.attachment.group[i] = NULL;
	}
	fd[count++] = client->sock.fd;
	if (s.has_pidfd)
		fd[count++] = client->pidfd.fd;
	if (s.has_stats)
		fd[count++] = a->stats_fd;
	if (s.has_doorbell) {
		fd[count++] = client->wires.page_fd;
		fd[count++] = client->wires.event_fd;
	}
	rnd_keeper_put(&client->server->keeper, RND_RECORD_CLIENT, client->id, &s,
		       sizeof(s));
	for (unsigned i = 0; i < count; i++)
		rnd_keeper_pass(&client->server->keeper, fd[i]);
	client->is_changed = false;
}

static bool is_saved_client(const struct saved_client *s, const struct rnd_record *r)
{
	return s->id == r->number &&
	       r->fd_count == 1u + s->has_pidfd + s->has_stats + 2 * s->has_doorbell;
}

/* Attaches a client again to the device that it had when its state was saved. Returns
 * false if that is not possible.
 */
static bool attach_again(struct rnd_client *client, const struct saved_client *s)
{
	static struct rnd_group there;
	struct rnd_attachment *a = &client->attachment;

	if (!s->attachment.slot)
		return true;
	*a = s->attachment;
	for (uint32_t i = 0; i < RN_GID_MAX; i++)
		a->group[i] = s->has_group[i] ? &there : NULL;
	if (rnd_attach_again(&client->server->groups, a))
		return true;
	*a = (struct rnd_attachment){ .stats_fd = -1 };
	return false;
}

void rnd_client_restore(struct rnd_server *server, struct rnd_record *r)
{
	struct rnd_client *client;
	struct saved_client s;
	unsigned next;

	if (r->len != sizeof(s))
		return;
	memcpy(&s, r->data, sizeof(s));
	client = is_saved_client(&s, r) ? calloc(1, sizeof(*client)) : NULL;
	if (!client)
		return;
	*client = (struct rnd_client){
		.server = server,
		.sock = { .fd = r->fd[0], .ctx = client, .on_ready = on_readable },
		.pidfd = { .fd = s.has_pidfd ? r->fd[1] : -1,
			   .ctx = client,
			   .on_ready = on_death },
		.id = s.id,
		.pid = s.pid,
		.is_greeted = s.is_greeted,
		.taps = s.taps,
		.last_seq = s.last_seq,
		.is_restored = true,
		.attachment = { .stats_fd = -1 },
	};
	r->fd_count = 0;
	next = s.has_pidfd ? 2 : 1;
	s.attachment.stats_fd = s.has_stats ? r->fd[next++] : -1;
	if (s.has_doorbell)
		client->wires = (struct rnd_wires){ .next = s.next_wire,
						    .is_open = true,
						    .page_fd = r->fd[next],
						    .event_fd = r->fd[next + 1] };
	append(server, client);
	if (!attach_again(client, &s) || rnd_server_watch(server, &client->sock) ||
	    (client->pidfd.fd >= 0 && rnd_server_watch(server, &client->pidfd)))
		rnd_client_close(client);
}

bool rnd_client_tell(struct rnd_client *client, const void *msg, int fd)
{
	int rc = rn_ctl_send(client->sock.fd, msg, &fd, fd >= 0 ? 1 : 0);

	if (rc == 0)
		return true;
	rn_log(RN_LOG_WARN, "process %d closed: it does not take its events: %s",
	       client->pid, strerror(-rc));
	rnd_client_close(client);
	return false;
}
