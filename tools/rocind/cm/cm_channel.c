/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_channel.c - receives the commands of programs over their channels (descriptors that
 * stand for /dev/infiniband/rdma_cm), and answers them; see cm_channel.h and
 * rocin/cmdev.h.
 */
#include "cm_channel.h"

#include <errno.h>
#include <inttypes.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "rocin/cmdev.h"
#include "rocin/netdev.h"
#include "transport/io/host/log.h"
#include "transport/io/rocind/ctl_socket.h"

enum {
	/* Number of random names that are tried. Even if another user has bound a million
	 * of the 2^32 names, a name that was drawn is in use with a probability of only 1
	 * in 4096, so all draws fail with a probability of 1 in 2^96.
	 */
	NAME_DRAWS = 8,
};

/* ---- Marks: one byte in the channel for each event ---- */

void rnd_cm_announce(void *ctx, void *user)
{
	struct rnd_cm_channel *ch = user;
	struct rnd_cm *cm = ctx;

	ch->has_news = true;
	cm->has_news = true;
}

static void send_marks(struct rnd_cm_channel *ch)
{
	uint32_t events = rnd_ucma_event_count(ch->ucma);

	ch->has_news = false;
	while (ch->marks < events && ch->marks < RN_CMDEV_MARKS_MAX) {
		/* If the buffer is full, no byte can be added. This does no harm: the
		 * bytes in the buffer wake the program, which then asks for events.
		 */
		if (send(ch->sock.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return;
		ch->marks++;
	}
}

void rnd_cm_announce_all(struct rnd_cm *cm)
{
	if (!cm->has_news)
		return;
	cm->has_news = false;
	for (struct rnd_cm_channel *ch = cm->channels; ch; ch = ch->next)
		if (ch->has_news)
			send_marks(ch);
}

/* Removes the marks of events that no longer exist from the channel (a mark is a byte
 * that announces an event), by reading from @end, the program's end of the channel. If a
 * thread of the program has already read such a mark, it asks for an event and gets the
 * next one.
 */
static void take_back(struct rnd_cm_channel *ch, int end)
{
	char mark;

	while (ch->marks > rnd_ucma_event_count(ch->ucma) &&
	       recv(end, &mark, sizeof(mark), MSG_DONTWAIT) > 0)
		ch->marks--;
}

/* ---- Commands of programs ---- */

/* A message of a program, as it was received. */
struct message {
	struct rn_cmdev_call call;
	uint8_t data[RN_CMDEV_IN_MAX + RN_CMDEV_OPTION_MAX];
	size_t len; /* length of the whole message in bytes */
	int fd;	    /* the descriptor that came with the message, or -1 */
};

/* Takes the descriptors that have come with a message. Stores the first one in *@fd (-1:
 * there is none) and closes the others. Returns their number.
 */
static size_t take_fds(struct msghdr *hdr, int *fd)
{
	size_t count = 0;

	*fd = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(hdr); c; c = CMSG_NXTHDR(hdr, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at < c->cmsg_len; at += sizeof(int)) {
			int one;

			memcpy(&one, (const char *)c + at, sizeof(one));
			if (count++ == 0)
				*fd = one;
			else
				rn_ctl_shed_fd(one);
		}
	}
	return count;
}

/* Reads a message without removing it from the socket; rn_ctl_skip() removes it. If
 * rocind is killed before that, its successor finds the message there. Returns 1, 0 at
 * end of file, or -errno.
 */
static int peek(int sock, struct message *m)
{
	union {
		char buf[CMSG_SPACE(RN_CTL_FD_PASSED_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov[] = { { &m->call, sizeof(m->call) },
			       { m->data, sizeof(m->data) } };
	struct msghdr hdr = { .msg_iov = iov,
			      .msg_iovlen = 2,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control.buf) };
	ssize_t len = recvmsg(sock, &hdr, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	size_t fd_count;

	if (len < 0)
		return -errno;
	fd_count = take_fds(&hdr, &m->fd);
	if (len == 0 && fd_count == 0)
		return 0;
	if (hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || fd_count > 1) {
		if (fd_count)
			rn_ctl_shed_fd(m->fd);
		return -EBADMSG;
	}
	m->len = (size_t)len;
	return 1;
}

/* Returns the channel with the number @number; NULL: there is none, or @number is 0. */
static struct rnd_ucma_channel *find_other(const struct rnd_cm *cm, uint64_t number)
{
	if (!number)
		return NULL;
	for (struct rnd_cm_channel *ch = cm->channels; ch; ch = ch->next)
		if (ch->number == number)
			return ch->ucma;
	return NULL;
}

static bool is_whole(const struct message *m)
{
	const struct rn_cmdev_call *call = &m->call;

	return call->in_len <= RN_CMDEV_IN_MAX &&
	       m->len - sizeof(*call) == (size_t)call->in_len + call->option_len;
}

/* Sends the answer to a command. If rocind was restored after a death, the first answer
 * of a channel carries the new board (memory in which programs read about their rdma_cm
 * ids, cm_board.h). This is early enough: only the program's own commands change its ids,
 * so the old board, which the program has mapped, is correct until the program has an
 * answer.
 */
static void send_answer(struct rnd_cm_path *path)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr hdr;
	} control = { .hdr = { .cmsg_len = CMSG_LEN(sizeof(int)),
			       .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS } };
	struct rnd_cm_done *done = &path->done;
	struct iovec iov[] = { { &done->answer, sizeof(done->answer) },
			       { done->data, done->answer.len } };
	struct msghdr hdr = { .msg_iov = iov, .msg_iovlen = 2 };
	int board = path->ch->wants_board ? rnd_cm_board_fd(path->ch->cm) : -1;

	if (board >= 0) {
		memcpy(CMSG_DATA(&control.hdr), &board, sizeof(board));
		hdr.msg_control = &control;
		hdr.msg_controllen = sizeof(control.buf);
	}
	if (sendmsg(path->sock.fd, &hdr, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		rn_log(RN_LOG_DEBUG, "an answer is not taken: %m");
	else
		path->ch->wants_board = false;
}

/* Sends the keeper what a successor of rocind needs: the command that was executed, its
 * answer, and the changes of state that the command has caused.
 */
static void commit(struct rnd_cm_path *path)
{
	struct rnd_server *server = path->ch->cm->server;
	const struct rnd_cm_done *done = &path->done;

	if (!server->keep)
		return;
	rnd_keeper_update(&server->keeper, RND_RECORD_PATH, path->number, done,
			  offsetof(struct rnd_cm_done, data) + done->answer.len);
	rnd_server_commit(server);
}

/* Executes a command and answers it. */
static void execute(struct rnd_cm_path *path, const struct message *m)
{
	struct rnd_cm_channel *ch = path->ch;
	struct rnd_call call = { .ch = ch->ucma,
				 .now = rnd_now(),
				 .head = &m->call,
				 .in = m->data,
				 .from = find_other(ch->cm, m->call.from) };
	struct rn_cmdev_answer answer = { .rc = -EINVAL, .seq = m->call.seq };

	if (is_whole(m)) {
		call.option = m->data + m->call.in_len;
		/* Before a thread of the program asks for an event, it reads a mark, the
		 * byte that announces an event, from the channel.
		 */
		if (m->call.cmd == RDMA_USER_CM_CMD_GET_EVENT && ch->marks)
			ch->marks--;
		answer.rc = rnd_ucma_command(&call);
	}
	if (m->call.cmd == RDMA_USER_CM_CMD_LISTEN && answer.rc == 0)
		rn_log(RN_LOG_INFO, "a program listens for connections");
	answer.len = (uint32_t)call.answer_len;
	answer.wants_end = ch->marks > rnd_ucma_event_count(ch->ucma);
	path->done = (struct rnd_cm_done){ .channel = ch->number,
					   .seq = m->call.seq,
					   .is_one_way = m->call.one_way != 0,
					   .answer = answer };
	memcpy(path->done.data, call.answer, call.answer_len);
	commit(path);
	if (!m->call.one_way)
		send_answer(path);
	rnd_ucma_answered(ch->cm->ucma);
	rnd_cm_announce(ch->cm, ch);
}

static void free_path(struct rnd_cm_path *path)
{
	rnd_keeper_drop(&path->ch->cm->server->keeper, RND_RECORD_PATH, path->number);
	rnd_source_close(&path->sock);
	free(path);
}

static void close_path(struct rnd_cm_path *path)
{
	struct rnd_cm_path **at = &path->ch->paths;

	while (*at != path)
		at = &(*at)->next;
	*at = path->next;
	free_path(path);
}

/* Called for a command that may be the first one on this path since rocind was restored.
 * If the rocind that has died had already executed the command, sends its answer again
 * and returns true. Otherwise returns false, and the command must be executed.
 */
static bool is_done(struct rnd_cm_path *path, const struct message *m)
{
	bool is_first = path->is_restored;

	path->is_restored = false;
	if (!is_first || m->call.cmd == RN_CMDEV_END || m->call.seq != path->done.seq ||
	    path->done.seq == 0)
		return false;
	if (!path->done.is_one_way)
		send_answer(path);
	return true;
}

static void on_command(void *ctx)
{
	struct rnd_cm_path *path = ctx;
	struct rnd_cm *cm = path->ch->cm;
	struct message m;
	int rc = peek(path->sock.fd, &m);

	if (rc == -EAGAIN || rc == -EINTR)
		return;
	if (rc <= 0 || m.len < sizeof(m.call)) {
		/* The message (an invalid one, or the end of file) is removed from the
		 * socket before the socket is closed. Otherwise the program would read an
		 * error in place of end of file.
		 */
		rn_ctl_skip(path->sock.fd);
		close_path(path);
	} else {
		if (m.call.cmd == RN_CMDEV_END && m.fd >= 0)
			take_back(path->ch, m.fd);
		else if (m.call.cmd != RN_CMDEV_END && !is_done(path, &m))
			execute(path, &m);
		rn_ctl_skip(path->sock.fd);
	}
	if (rc > 0 && m.fd >= 0)
		rn_ctl_shed_fd(m.fd);
	rnd_cm_flush(cm);
}

/* Returns true if this descriptor can be the socket of a thread (struct rnd_cm_path): a
 * connected AF_UNIX socket without a name. Others are refused, because they could do
 * harm: a datagram socket that was shut down would be readable for ever; and the end of a
 * channel, which has a name, would keep that channel open when its program has ended.
 */
static bool is_path(int fd)
{
	struct sockaddr_un addr;
	socklen_t len = sizeof(addr);

	return rn_ctl_is_seqpacket(fd, false) &&
	       getsockname(fd, (struct sockaddr *)&addr, &len) == 0 &&
	       len == offsetof(struct sockaddr_un, sun_path);
}

static void keep_path(const struct rnd_cm_path *path)
{
	const struct rnd_cm_done *done = &path->done;

	rnd_keeper_put(&path->ch->cm->server->keeper, RND_RECORD_PATH, path->number, done,
		       offsetof(struct rnd_cm_done, data) + done->answer.len);
	rnd_keeper_pass(&path->ch->cm->server->keeper, path->sock.fd);
}

/* Returns true if @fd is a socket that the channel has already, because a rocind that has
 * died had accepted it.
 */
static bool has_path(const struct rnd_cm_channel *ch, int fd)
{
	struct stat ours, theirs;

	for (const struct rnd_cm_path *path = ch->paths; path; path = path->next)
		if (fstat(fd, &ours) == 0 && fstat(path->sock.fd, &theirs) == 0 &&
		    ours.st_ino == theirs.st_ino)
			return true;
	return false;
}

/* Accepts @fd as a path, and receives commands by it from now on. Returns 0 or -errno.
 * After an error the caller must close @fd, so that the thread of the program reads end
 * of file.
 */
static int open_path(struct rnd_cm_channel *ch, int fd)
{
	struct rnd_cm_path *path;
	int rc;

	if (!is_path(fd))
		return -EINVAL;
	if (ch->is_restored && has_path(ch, fd))
		return -EALREADY;
	path = calloc(1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	*path = (struct rnd_cm_path){
		.next = ch->paths,
		.ch = ch,
		.sock = { .fd = fd, .ctx = path, .on_ready = on_command },
		.number = ++ch->cm->last_path,
		.done = { .channel = ch->number },
	};
	ch->cm->is_changed = true;
	rc = rnd_server_watch(ch->cm->server, &path->sock);
	if (rc) {
		free(path);
		return rc;
	}
	ch->paths = path;
	keep_path(path);
	return 0;
}

static void on_new_path(void *ctx)
{
	struct rnd_cm_channel *ch = ctx;
	struct message m;
	int rc = peek(ch->sock.fd, &m);

	if (rc == 0 || rc == -ECONNRESET || rc == -EPIPE) {
		rnd_cm_channel_close(ch);
		return;
	}
	if (rc > 0 && m.fd >= 0 && open_path(ch, m.fd))
		rn_ctl_shed_fd(m.fd);
	if (rc > 0 || rc == -EBADMSG) {
		rnd_server_commit(ch->cm->server);
		rn_ctl_skip(ch->sock.fd);
	}
}

/* ---- Opening and closing a channel ---- */

/* Binds @fd to the abstract name of channel @number. Returns 0 or -errno. */
static int name_end(int fd, uint64_t number)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char *name = addr.sun_path + 1;

	snprintf(name, sizeof(addr.sun_path) - 1, "%s%016" PRIx64, RN_CMDEV_NAME, number);
	return bind(fd, (struct sockaddr *)&addr,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				RN_CMDEV_NAME_LEN)) < 0
		       ? -errno
		       : 0;
}

/* Draws a number for a channel, and binds @fd to the name that contains it. The low half
 * is random: every process of the network namespace can bind abstract names, so another
 * process could have bound a name that it has guessed. The high half is the same for all
 * channels of this rocind (see cm_board.h). Returns 0 or -errno.
 */
static int number_end(const struct rnd_cm *cm, int fd, uint64_t *number)
{
	int rc = -EADDRINUSE;

	for (unsigned i = 0; i < NAME_DRAWS && rc == -EADDRINUSE; i++) {
		uint32_t drawn;

		rc = getrandom(&drawn, sizeof(drawn), 0) < 0 ? -errno : 0;
		*number = (uint64_t)cm->number << 32 | drawn;
		if (rc == 0)
			rc = name_end(fd, *number);
	}
	if (rc)
		rn_log(RN_LOG_WARN,
		       "a channel of the connection manager gets no name: %s",
		       strerror(-rc));
	return rc;
}

static int open_ends(struct rnd_cm_channel *ch, int *fd)
{
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	rc = number_end(ch->cm, pair[1], &ch->number);
	if (rc) {
		close(pair[0]);
		close(pair[1]);
		return rc;
	}
	ch->sock =
		(struct rnd_source){ .fd = pair[0], .ctx = ch, .on_ready = on_new_path };
	*fd = pair[1];
	return 0;
}

static void keep_channel(struct rnd_cm_channel *ch, const struct rn_netdev *devs,
			 unsigned count)
{
	rnd_keeper_put(&ch->cm->server->keeper, RND_RECORD_CHANNEL, ch->number, devs,
		       count * sizeof(*devs));
	rnd_keeper_pass(&ch->cm->server->keeper, ch->sock.fd);
	ch->marks_kept = 0;
}

int rnd_cm_channel_open(struct rnd_cm *cm, const struct rn_netdev *devs, unsigned count,
			int *fd)
{
	struct rnd_cm_channel *ch = calloc(1, sizeof(*ch));
	int rc;

	if (!ch)
		return -ENOMEM;
	ch->cm = cm;
	rc = open_ends(ch, fd);
	if (rc)
		goto err_free;
	ch->ucma = rnd_ucma_open(cm->ucma, devs, count, ch);
	rc = ch->ucma ? rnd_server_watch(cm->server, &ch->sock) : -ENOMEM;
	if (rc)
		goto err_close;
	rnd_ucma_set_number(ch->ucma, ch->number);
	ch->next = cm->channels;
	cm->channels = ch;
	cm->is_changed = true;
	keep_channel(ch, devs, count);
	return 0;

err_close:
	if (ch->ucma)
		rnd_ucma_close(ch->ucma, rnd_now());
	rnd_source_close(&ch->sock);
	close(*fd);
err_free:
	free(ch);
	return rc;
}

void rnd_cm_channel_close(struct rnd_cm_channel *ch)
{
	struct rnd_cm *cm = ch->cm;
	struct rnd_cm_channel **at = &cm->channels;

	while (*at != ch)
		at = &(*at)->next;
	*at = ch->next;
	for (struct rnd_cm_path *path = ch->paths, *next; path; path = next) {
		next = path->next;
		free_path(path);
	}
	rnd_keeper_drop(&cm->server->keeper, RND_RECORD_CHANNEL, ch->number);
	rnd_keeper_drop(&cm->server->keeper, RND_RECORD_MARKS, ch->number);
	rnd_ucma_close(ch->ucma, rnd_now());
	rnd_source_close(&ch->sock);
	free(ch);
	cm->server->idle_from = rnd_now();
	rnd_cm_flush(cm);
}

/* ---- Handing over to a successor ---- */

static_assert(RN_NETDEV_MAX * sizeof(struct rn_netdev) <= RND_RECORD_BYTES,
	      "a record holds the devices of a channel");

void rnd_cm_channels_keep_all(struct rnd_cm *cm)
{
	for (struct rnd_cm_channel *ch = cm->channels; ch; ch = ch->next) {
		struct rn_netdev devs[RN_NETDEV_MAX];

		keep_channel(ch, devs, rnd_ucma_devs(ch->ucma, devs));
		for (const struct rnd_cm_path *path = ch->paths; path; path = path->next)
			keep_path(path);
	}
}

void rnd_cm_channels_keep_marks(struct rnd_cm *cm)
{
	for (struct rnd_cm_channel *ch = cm->channels; ch; ch = ch->next) {
		if (ch->marks == ch->marks_kept)
			continue;
		rnd_keeper_put(&cm->server->keeper, RND_RECORD_MARKS, ch->number,
			       &ch->marks, sizeof(ch->marks));
		ch->marks_kept = ch->marks;
	}
}

static struct rnd_cm_channel *find_channel(const struct rnd_cm *cm, uint64_t number)
{
	struct rnd_cm_channel *ch = cm->channels;

	while (ch && ch->number != number)
		ch = ch->next;
	return ch;
}

void rnd_cm_channel_restore(struct rnd_cm *cm, struct rnd_record *r)
{
	static struct rn_netdev devs[RN_NETDEV_MAX];
	unsigned count = (unsigned)(r->len / sizeof(*devs));
	struct rnd_cm_channel *ch;

	if (r->len != count * sizeof(*devs) || count > RN_NETDEV_MAX || r->fd_count != 1)
		return;
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return;
	memcpy(devs, r->data, r->len);
	ch->cm = cm;
	ch->number = r->number;
	ch->is_restored = true;
	ch->wants_board = true;
	ch->sock =
		(struct rnd_source){ .fd = r->fd[0], .ctx = ch, .on_ready = on_new_path };
	ch->ucma = rnd_ucma_open(cm->ucma, devs, count, ch);
	if (!ch->ucma || rnd_server_watch(cm->server, &ch->sock)) {
		if (ch->ucma)
			rnd_ucma_close(ch->ucma, rnd_now());
		free(ch);
		return;
	}
	r->fd_count = 0;
	rnd_ucma_set_number(ch->ucma, ch->number);
	ch->next = cm->channels;
	cm->channels = ch;
}

void rnd_cm_marks_restore(struct rnd_cm *cm, const struct rnd_record *r)
{
	struct rnd_cm_channel *ch = find_channel(cm, r->number);

	if (!ch || r->len != sizeof(ch->marks))
		return;
	memcpy(&ch->marks, r->data, sizeof(ch->marks));
	ch->marks_kept = ch->marks;
}

void rnd_cm_path_restore(struct rnd_cm *cm, struct rnd_record *r)
{
	const size_t head = offsetof(struct rnd_cm_done, data);
	struct rnd_cm_done done = { 0 };
	struct rnd_cm_channel *ch;
	struct rnd_cm_path *path;

	if (r->len < head || r->len > sizeof(done) || r->fd_count != 1)
		return;
	memcpy(&done, r->data, r->len);
	ch = find_channel(cm, done.channel);
	path = ch && done.answer.len == r->len - head ? calloc(1, sizeof(*path)) : NULL;
	if (!path)
		return;
	*path = (struct rnd_cm_path){
		.next = ch->paths,
		.ch = ch,
		.sock = { .fd = r->fd[0], .ctx = path, .on_ready = on_command },
		.number = r->number,
		.is_restored = true,
		.done = done,
	};
	if (rnd_server_watch(cm->server, &path->sock)) {
		free(path);
		return;
	}
	r->fd_count = 0;
	ch->paths = path;
}
