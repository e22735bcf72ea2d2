/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server.c - the sockets and the event loop of rocind. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "rocin/gid.h"
#include "rocin/peer_info.h"
#include "tools/rocind/cm/cm.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/host/log.h"
#include "transport/io/host/runtime_dir.h"
#include "transport/io/rocind/ctl_socket.h"
#include "transport/io/rocind/rocind_conn.h"

/* ---- Socket activation ---- */

enum {
	/* number of the first descriptor that is passed (SD_LISTEN_FDS_START of systemd)
	 */
	FIRST_FD = 3,
};

static long number_from_env(const char *variable)
{
	const char *text = getenv(variable);

	return text ? strtol(text, NULL, 10) : 0;
}

bool rnd_is_activated(void)
{
	return number_from_env("LISTEN_PID") == getpid() &&
	       number_from_env("LISTEN_FDS") > 0;
}

/* Returns true if the name @name in directory @dir leads to the file to which the socket
 * of @addr is bound. Clients connect to that name, which may be a link to the file.
 */
static bool leads_here(const char *dir, const char *name, const struct sockaddr_un *addr)
{
	int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat theirs, ours;
	bool same = fstatat(dir_fd, name, &theirs, 0) == 0 &&
		    stat(addr->sun_path, &ours) == 0 && theirs.st_dev == ours.st_dev &&
		    theirs.st_ino == ours.st_ino;

	if (dir_fd >= 0)
		close(dir_fd);
	return same;
}

static int check_listener(int fd, const char *dir, const char *name, char *err,
			  size_t err_len)
{
	/* Room for one byte more than the kernel writes, so that a NUL always follows the
	 * path.
	 */
	union {
		struct sockaddr_un un;
		char bytes[sizeof(struct sockaddr_un) + 1];
	} addr = { .bytes = { 0 } };
	socklen_t len = sizeof(addr.un);

	if (!rn_ctl_is_seqpacket(fd, true))
		return rn_fail(
			err, err_len, -EINVAL,
			"descriptor %d, which was passed, is no listening "
			"SOCK_SEQPACKET socket; a unit says ListenSequentialPacket=",
			fd);
	if (getsockname(fd, (struct sockaddr *)&addr.un, &len) == 0 &&
	    leads_here(dir, name, &addr.un))
		return 0;
	return rn_fail(
		err, err_len, -EINVAL,
		"clients look for %.300s/%s, which does not lead to the socket that "
		"was passed (%.108s); make it a link to that",
		dir, name, addr.un.sun_path);
}

int rnd_activation_take(const char *dir, const char *name, char *err, size_t err_len)
{
	long count = rnd_is_activated() ? number_from_env("LISTEN_FDS") : 0;
	int rc;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (count == 0)
		return -ENOENT;
	if (count > 1)
		return rn_fail(err, err_len, -EINVAL,
			       "%ld sockets were passed; rocind listens at one", count);
	rc = check_listener(FIRST_FD, dir, name, err, err_len);
	if (rc)
		return rc;
	if (fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(FIRST_FD, F_SETFL, O_NONBLOCK) < 0)
		return rn_fail(err, err_len, -errno, "descriptor %d: %m", FIRST_FD);
	return FIRST_FD;
}

enum {
	LISTEN_BACKLOG = 256,
	/* Maximum number of packets that are read from slot 0 at a time, so that a flood
	 * of them does not delay clients.
	 */
	SLOT0_PACKETS_MAX = 64,
	/* Time in ms for which the sockets of an address stay open after their last user
	 * has gone, unless the idle time of rocind is shorter. Servers may be restarted
	 * soon, and until then rocind answers packets for processes that have ended.
	 */
	GROUP_IDLE_MS = 10000,
	/* If rocind has fewer unused descriptors than this, it closes the sockets of
	 * addresses without users at once. Besides the sockets of addresses, one client
	 * with its device and a local wire (a link in shared memory) needs no more than
	 * these.
	 */
	SPARE_DESCRIPTORS = 32,
	/* Minimum time in ms that a new client has for its hello, even if the idle time
	 * is shorter. If rocind ended before the hello, the client would start another
	 * one.
	 */
	GREETING_MS = 200,
	/* Pause in ms after a connection could not be accepted for lack of memory. */
	SHORTAGE_MS = 10,
	/* Interval in ms at which rocind looks up the UDP ports that other users of this
	 * host have bound, if packets of these users are accepted (ROCIN_NEIGHBOURS,
	 * admission.h).
	 */
	NEIGHBOURS_MS = 1000,
};

/* ---- Descriptors to wait for ---- */

static int open_source(struct rnd_server *server, struct rnd_source *source, int fd,
		       void (*on_ready)(void *))
{
	if (fd < 0)
		return fd;
	*source = (struct rnd_source){ .fd = fd, .ctx = server, .on_ready = on_ready };
	return rnd_server_watch(server, source);
}

/* ---- Packets of slot 0 ---- */

/* Slot 0 of an address: rocind's own socket, which receives the packets that belong to no
 * process. Packets for QP1 are passed to the connection manager; the others are counted
 * and dropped.
 */
struct rnd_slot0 {
	struct rnd_slot0 *next;
	struct rnd_server *server;
	struct rnd_group *group;
	struct rnd_source source;
};

/* Called when packets have arrived at slot 0 of an address: reads them. The group counts
 * this function as a user meanwhile, so its sockets are not closed.
 */
static void on_stray_packets(void *ctx)
{
	const struct rnd_slot0 *slot0 = ctx;
	struct rnd_server *server = slot0->server;
	struct rnd_group *group = slot0->group;
	/* Room for the longest packet to QP1. Longer packets are dropped, so the rest of
	 * their bytes need not be read.
	 */
	uint8_t pkt[RN_PEER_ASK_MAX];

	group->users++;
	for (unsigned i = 0; i < SLOT0_PACKETS_MAX; i++) {
		struct rn_flow flow;
		ssize_t len = rnd_group_receive(group, &flow, pkt, sizeof(pkt));
		enum rn_rocind_drop reason;

		if (len < 0)
			break;
		reason = rnd_steer_reason(pkt, (size_t)len);
		if (reason == RN_ROCIND_DROP_QP1 && len >= RN_GSI_PACKET_LEN &&
		    (size_t)len <= sizeof(pkt) &&
		    rnd_cm_packet(server->cm, &flow, pkt, (size_t)len))
			continue;
		server->drops[reason]++;
	}
	group->users--;
}

static void on_group_open(void *ctx, struct rnd_group *group)
{
	struct rnd_server *server = ctx;
	struct rnd_slot0 *slot0 = calloc(1, sizeof(*slot0));
	char address[RN_GID_TEXT_MAX];

	group->number = ++server->last_group;
	server->is_changed = true;
	rn_gid_text(&group->gid, address);
	rn_log(RN_LOG_INFO, "port %d of %s is ours", RN_ROCE_PORT, address);
	if (!slot0)
		/* There is no memory for the state of slot 0. Then packets stay unread in
		 * the buffer of the socket, and are not counted.
		 */
		return;
	slot0->server = server;
	slot0->group = group;
	slot0->source = (struct rnd_source){ .fd = group->sock[0],
					     .ctx = slot0,
					     .on_ready = on_stray_packets };
	slot0->next = server->slot0;
	server->slot0 = slot0;
	rnd_server_watch(server, &slot0->source);
}

static void on_group_close(void *ctx, struct rnd_group *group)
{
	struct rnd_server *server = ctx;
	struct rnd_slot0 **at = &server->slot0;
	char address[RN_GID_TEXT_MAX];

	rn_gid_text(&group->gid, address);
	rn_log(RN_LOG_INFO, "port %d of %s is given back", RN_ROCE_PORT, address);
	rnd_keeper_drop(&server->keeper, RND_RECORD_GROUP, group->number);
	for (unsigned i = 0; i < group->kept; i++)
		rnd_keeper_drop(&server->keeper, RND_RECORD_SOCKET,
				group->number << 8 | i);
	for (; *at; at = &(*at)->next) {
		struct rnd_slot0 *slot0 = *at;

		if (slot0->group != group)
			continue;
		*at = slot0->next;
		rnd_source_forget(&slot0->source); /* the group closes the descriptor */
		free(slot0);
		return;
	}
}

static bool is_group_wanted(void *ctx, const struct rnd_group *group)
{
	const struct rnd_server *server = ctx;

	return rnd_cm_wants(server->cm, &group->gid, group->scope);
}

static rn_ns group_idle_time(const struct rnd_server *server)
{
	uint32_t ms = server->idle_ms;

	return RN_MSEC((rn_ns)(ms && ms < GROUP_IDLE_MS ? ms : GROUP_IDLE_MS));
}

static void give_back_groups(struct rnd_server *server)
{
	rn_ns now;

	if (server->groups.idle_from == RN_NEVER)
		return;
	now = rnd_now();
	if (server->groups.idle_from > now - group_idle_time(server))
		return;
	rnd_groups_give_back(&server->groups, now - group_idle_time(server), now);
}

static void close_groups(struct rnd_server *server)
{
	for (struct rnd_client *c = server->clients; c; c = c->next) {
		rnd_wires_close(c);
		rnd_abandon(&c->attachment);
	}
	rnd_groups_fini(&server->groups);
	rnd_admission_close(&server->groups.admission);
}

/* ---- Accepting of connections ---- */

/* Called when no descriptor is left and a connection waits to be accepted. Closes the
 * descriptor in reserve, accepts the connection with it, and closes the connection at
 * once: otherwise epoll would report the connection again and again. The client sees that
 * the connection has ended, and tries again for a while. Returns false if the connection
 * cannot be accepted.
 */
static bool turn_away(struct rnd_server *server)
{
	int fd;

	rn_log(RN_LOG_ERROR, "out of descriptors: a client is turned away");
	close(server->spare_fd);
	fd = accept4(server->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd >= 0;
}

/* Closes the sockets of addresses without users if few descriptors are left. @fd: the
 * newest descriptor, whose number shows how many are in use. This is done in advance,
 * because a descriptor that comes with a message when none is free would be lost.
 */
static void keep_some_spare(struct rnd_server *server, int fd)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    (rlim_t)fd + SPARE_DESCRIPTORS >= limit.rlim_cur)
		rnd_groups_give_back(&server->groups, RN_NEVER, rnd_now());
}

/* Called when accept() has failed with @err. Waits a little for memory or descriptors,
 * because epoll reports the waiting connection again and again. If a sandbox forbids
 * accept(), ends rocind.
 */
static void refuse_connection(struct rnd_server *server, int err)
{
	switch (err) {
	case EAGAIN:
	case EINTR:
	case ECONNABORTED:
		return;
	case EMFILE:
	case ENFILE:
		if (turn_away(server))
			return;
		break;
	case ENOMEM:
	case ENOBUFS:
		break;
	default:
		errno = err;
		rn_log(RN_LOG_ERROR, "connections cannot be accepted: %m");
		server->stopping = true;
		return;
	}
	poll(NULL, 0, SHORTAGE_MS);
}

/* Accepts a connection. Returns true if there was one. */
static bool accept_one(struct rnd_server *server)
{
	int fd = accept4(server->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		keep_some_spare(server, fd);
		server->idle_from = rnd_now();
		server->awaits_starter = false;
		rnd_client_accept(server, fd);
	} else {
		refuse_connection(server, errno);
	}
	return fd >= 0;
}

static void on_connection(void *ctx)
{
	accept_one(ctx);
}

static void on_signal(void *ctx)
{
	struct rnd_server *server = ctx;
	struct signalfd_siginfo info;

	if (read(server->signals.fd, &info, sizeof(info)) != sizeof(info))
		return;
	rn_log(RN_LOG_INFO, "signal %u", info.ssi_signo);
	server->stopping = true;
}

static void on_netlink(void *ctx)
{
	rnd_watch_changed(ctx);
}

/* ---- Start of rocind ---- */

static int open_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Writes the process id of this process to the lock file. If another rocind cannot lock
 * the file, its error message names this id.
 */
void rnd_server_sign_lock(const struct rnd_server *server)
{
	int fd = server->lock_fd;

	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    dprintf(fd, "%d\n", (int)getpid()) < 0)
		rn_log(RN_LOG_INFO, "the lock does not say whose it is: %m");
}

static int signed_by(int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 0;
}

/* Locks the lock file of this runtime directory. The file is never removed, because a
 * later rocind must lock the same file. Returns 0, or -errno with an error text in @err.
 */
static int take_lock(struct rnd_server *server, char *err, size_t err_len)
{
	char path[sizeof(server->dir) + 64], name[64];

	rn_runtime_name(name, sizeof(name), "rocind", ".lock");
	snprintf(path, sizeof(path), "%s/%s", server->dir, name);
	server->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (server->lock_fd < 0)
		return rn_fail(err, err_len, -errno, "%s cannot be opened: %m", path);
	if (flock(server->lock_fd, LOCK_EX | LOCK_NB) == 0) {
		rnd_server_sign_lock(server);
		return 0;
	}
	if (errno == EWOULDBLOCK)
		return rn_fail(err, err_len, -EALREADY,
			       "another rocind, process %d, holds %s",
			       signed_by(server->lock_fd), path);
	return rn_fail(err, err_len, -errno, "%s cannot be locked: %m", path);
}

static int with_address(struct rnd_server *server, int (*act)(int, struct sockaddr_un *),
			int fd)
{
	struct sockaddr_un addr;
	int dir_fd;
	int rc = rn_ctl_address(&addr, server->dir, server->sock_name, &dir_fd);

	if (rc)
		return rc;
	rc = act(fd, &addr);
	if (dir_fd >= 0)
		close(dir_fd);
	return rc;
}

static int remove_socket(int fd, struct sockaddr_un *addr)
{
	(void)fd;
	return unlink(addr->sun_path) < 0 ? -errno : 0;
}

/* Binds the listening socket to its file. If the file exists, it belongs to a rocind that
 * has died, because this process holds the lock; so it is removed. Returns 0 or -errno.
 */
static int bind_socket(int fd, struct sockaddr_un *addr)
{
	unlink(addr->sun_path);
	return bind(fd, (struct sockaddr *)addr, sizeof(*addr)) < 0 ? -errno : 0;
}

static int take_passed(struct rnd_server *server, char *err, size_t err_len)
{
	int fd = rnd_activation_take(server->dir, server->sock_name, err, err_len);

	if (fd >= 0)
		server->passed_fd = fd;
	return fd >= 0 || fd == -ENOENT ? 0 : fd;
}

static int open_listener(struct rnd_server *server)
{
	int fd, rc;

	if (server->passed_fd >= 0)
		return server->passed_fd;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	rc = with_address(server, bind_socket, fd);
	if (rc == 0 && listen(fd, LISTEN_BACKLOG) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int rnd_server_listen(struct rnd_server *server, int fd)
{
	return open_source(server, &server->listener, fd, on_connection);
}

int rnd_server_open_sources(struct rnd_server *server)
{
	int rc;

	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll_fd < 0)
		return -errno;
	server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	rc = open_source(server, &server->signals, open_signals(), on_signal);
	if (rc)
		return rc;
	rc = open_source(server, &server->netlink, rnd_watch_open(), on_netlink);
	if (rc)
		rn_log(RN_LOG_WARN, "changes of addresses go unseen: %s", strerror(-rc));
	return 0;
}

int rnd_server_init(struct rnd_server *server, uint32_t idle_ms)
{
	*server = (struct rnd_server){ .epoll_fd = -1,
				       .lock_fd = -1,
				       .passed_fd = -1,
				       .spare_fd = -1,
				       .listener.fd = -1,
				       .signals.fd = -1,
				       .netlink.fd = -1,
				       .keeper.sock = -1,
				       .keeper.pidfd = -1,
				       .keeper_end.fd = -1,
				       .heir_sock = -1,
				       .since_s = time(NULL),
				       .idle_ms = idle_ms,
				       .idle_from = rnd_now() };
	rnd_groups_init(&server->groups);
	server->groups.ctx = server;
	server->groups.on_open = on_group_open;
	server->groups.on_close = on_group_close;
	server->groups.is_wanted = is_group_wanted;
	server->cm = rnd_cm_new(server);
	return server->cm ? 0 : -ENOMEM;
}

int rnd_server_open(struct rnd_server *server, uint32_t idle_ms, char *err,
		    size_t err_len)
{
	int rc = rnd_server_init(server, idle_ms);

	rn_runtime_name(server->sock_name, sizeof(server->sock_name), "rocind", ".sock");
	rc = rc ? rn_fail(err, err_len, rc, "out of memory")
		: rn_runtime_dir(server->dir, sizeof(server->dir), err, err_len);
	if (rc == 0)
		rc = take_lock(server, err, err_len);
	if (rc == 0)
		rc = rnd_admission_open(&server->groups.admission, err, err_len);
	if (rc)
		goto err_close;
	rc = take_passed(server, err, err_len);
	if (rc)
		goto err_close;
	rc = rnd_server_open_sources(server);
	if (rc == 0)
		rc = rnd_server_listen(server, open_listener(server));
	if (rc) {
		rn_fail(err, err_len, rc, "rocind cannot listen in %s: %m", server->dir);
		goto err_close;
	}
	rn_log(RN_LOG_INFO, "rocind %s listens in %s", ROCIN_VERSION, server->dir);
	return 0;

err_close:
	rnd_server_close(server);
	return rc;
}

/* ---- The event loop, and the end of rocind ---- */

static bool is_busy(const struct rnd_server *server)
{
	if (rnd_faults_are_set(server) || rnd_cm_is_open(server->cm))
		return true;
	for (const struct rnd_client *c = server->clients; c; c = c->next)
		if (c->is_greeted)
			return true;
	return false;
}

static int ms_until(rn_ns when)
{
	rn_ns left = when - rnd_now();

	return left <= 0 ? 0 : (int)((left + RN_MSEC(1) - 1) / RN_MSEC(1));
}

static int ms_to_idle(const struct rnd_server *server)
{
	uint32_t idle_ms = server->idle_ms;

	if (idle_ms == 0 || is_busy(server))
		return -1;
	if (server->clients && idle_ms < GREETING_MS)
		idle_ms = GREETING_MS;
	/* The client that has started rocind must find it running. So until that client
	 * connects, rocind waits for as long as the client does: otherwise, on a busy
	 * machine, it might end each time before the client connects.
	 */
	if (server->awaits_starter && idle_ms < (uint32_t)rn_rocind_timeout_ms())
		idle_ms = (uint32_t)rn_rocind_timeout_ms();
	return ms_until(server->idle_from + RN_MSEC(idle_ms));
}

/* Returns the time in ms until rocind has to end or the sockets of an address have to be
 * closed. Returns -1 if neither is due.
 */
static int ms_to_wait(const struct rnd_server *server)
{
	int end = ms_to_idle(server), group;

	if (server->groups.idle_from == RN_NEVER)
		return end;
	group = ms_until(server->groups.idle_from + group_idle_time(server));
	return end >= 0 && end < group ? end : group;
}

static void tell_end(const struct rnd_client *c)
{
	bool has_asked = c == c->server->stop_asked_by;
	struct rn_ctl_hdr msg =
		rn_ctl_hdr(has_asked ? RN_CTL_STOPPING : RN_CTL_GOING_DOWN);

	msg.seq = has_asked ? c->last_seq : 0;
	rn_ctl_send(c->sock.fd, &msg, NULL, 0);
}

/* If packets of other users are accepted (ROCIN_NEIGHBOURS), finds out the ports of these
 * users once a second. Returns the time in ms for which to wait for events; it is over
 * when the ports must be read again, at the latest.
 */
static int look_at_neighbours(struct rnd_server *server)
{
	int wait = ms_to_wait(server), next;

	if (server->groups.admission.user_count == 0)
		return wait;
	if (ms_until(server->neighbours_at) == 0) {
		rnd_groups_admit(&server->groups);
		server->neighbours_at = rnd_now() + RN_MSEC(NEIGHBOURS_MS);
	}
	next = ms_until(server->neighbours_at);
	return wait >= 0 && wait < next ? wait : next;
}

/* Ends the service. The order matters. New clients must be refused, the port closed and
 * the lock released before clients are told, because clients may start a new rocind at
 * once. When the lock has been released, the socket file must not be removed any more,
 * because it may be that of the new rocind.
 */
static void say_goodbye(struct rnd_server *server)
{
	/* The keeper is ended first: it has copies of the sockets, and would start a
	 * successor.
	 */
	server->keep = NULL;
	rnd_source_forget(&server->keeper_end);
	(void)rnd_keeper_end(&server->keeper, -1);
	/* If a service manager has passed the socket, its file is not removed, because
	 * the manager continues to listen on it.
	 */
	if (server->passed_fd < 0)
		with_address(server, remove_socket, -1);
	rnd_source_close(&server->listener);
	rnd_cm_free(server->cm);
	server->cm = NULL;
	close_groups(server);
	/* The keeper has a copy of the descriptor, and by it holds the lock, too. This
	 * call releases the lock for both.
	 */
	flock(server->lock_fd, LOCK_UN);
	for (struct rnd_client *c = server->clients; c; c = c->next)
		tell_end(c);
}

void rnd_server_run(struct rnd_server *server)
{
	while (!server->stopping) {
		struct epoll_event event;
		int n;

		give_back_groups(server);
		rnd_server_commit(server);
		n = epoll_wait(server->epoll_fd, &event, 1, look_at_neighbours(server));
		if (n > 0) {
			struct rnd_source *source = event.data.ptr;

			source->on_ready(source->ctx);
			if (server->heir_sock >= 0)
				server->hand_over(server);
		} else if (n < 0 && errno != EINTR) {
			rn_log(RN_LOG_ERROR, "rocind cannot wait for its clients: %m");
			break;
		} else if (n == 0 && ms_to_idle(server) == 0 && !accept_one(server)) {
			rn_log(RN_LOG_INFO, "idle for %u ms", server->idle_ms);
			break;
		}
	}
	say_goodbye(server);
}

void rnd_server_close(struct rnd_server *server)
{
	server->keep = NULL;
	rnd_keeper_forget(&server->keeper);
	rnd_cm_free(server->cm);
	server->cm = NULL;
	close_groups(server);
	while (server->clients)
		rnd_client_close(server->clients);
	rnd_faults_free(server);
	rnd_source_close(&server->listener);
	rnd_source_close(&server->signals);
	rnd_source_close(&server->netlink);
	rnd_links_free(&server->links);
	if (server->spare_fd >= 0)
		close(server->spare_fd);
	if (server->epoll_fd >= 0)
		close(server->epoll_fd);
	if (server->lock_fd >= 0)
		close(server->lock_fd);
}
