/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_cm.c - implements the device /dev/infiniband/rdma_cm by sockets to rocind; see
 * rdma_cm.h.
 */
#include "rdma_cm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "cm_ids.h"
#include "redirect.h"
#include "rocin/cmdev.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/rocind/rocind_client.h"

/* ---- Command sockets ---- */

enum {
	/* maximum number of command sockets that a thread keeps open, one per channel */
	PATHS = 4,
};

static __thread struct {
	struct rnk_cm_path path[PATHS];
	unsigned next;
} mine;

static pthread_key_t at_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Reads the inode of a socket. Return: false if @fd is no socket. */
static bool read_inode(int fd, ino_t *inode)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	*inode = st.st_ino;
	return true;
}

/* Returns true if the descriptor is still that of the command socket. The program may
 * have closed it and opened another file, so the inode is compared. (The socket could be
 * recognised by a name, too. But a network namespace has only a million names for
 * sockets, and one user could take them all.)
 */
static bool is_there(const struct rnk_cm_path *path)
{
	ino_t inode;

	return path->number && path->pid == getpid() && read_inode(path->fd, &inode) &&
	       inode == path->inode;
}

void rnk_cm_path_close(struct rnk_cm_path *path)
{
	if (is_there(path))
		close(path->fd);
	path->number = 0;
}

static void close_all(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < PATHS; i++)
		rnk_cm_path_close(&mine.path[i]);
}

static void make_key(void)
{
	if (pthread_key_create(&at_end, close_all))
		at_end = (pthread_key_t)-1;
}

/* Returns true if rocind has closed the other end of the socket. It closes a command
 * socket when the program has closed the channel, and all sockets when it ends.
 */
static bool has_gone(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

static struct rnk_cm_path *free_place(void)
{
	struct rnk_cm_path *path;

	for (unsigned i = 0; i < PATHS; i++)
		if (!is_there(&mine.path[i]) || has_gone(mine.path[i].fd))
			rnk_cm_path_close(&mine.path[i]);
	for (unsigned i = 0; i < PATHS; i++)
		if (!mine.path[i].number)
			return &mine.path[i];
	path = &mine.path[mine.next++ % PATHS];
	rnk_cm_path_close(path);
	return path;
}

/* Sends a message of @count parts. @passed: descriptor that is passed with the message,
 * or -1. Return: 0 or -errno; -ESHUTDOWN: the other end is closed.
 */
static int send_message(int sock, const struct iovec *parts, size_t count, int passed)
{
	union {
		char buf[CMSG_SPACE(sizeof(passed))];
		struct cmsghdr hdr;
	} control = { .hdr = { .cmsg_len = CMSG_LEN(sizeof(passed)),
			       .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS } };
	struct msghdr msg = { .msg_iov = (struct iovec *)parts, .msg_iovlen = count };
	ssize_t len;

	if (passed >= 0) {
		memcpy(CMSG_DATA(&control.hdr), &passed, sizeof(passed));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control.buf);
	}
	do
		len = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return errno == EPIPE || errno == ECONNRESET ? -ESHUTDOWN : -errno;
	return 0;
}

/* Sends @end, rocind's end of a new command socket, to rocind over the channel. */
static int hand_over(int channel_fd, int end)
{
	char byte = 0;
	const struct iovec iov = { &byte, sizeof(byte) };
	int rc;

	/* The program may have set O_NONBLOCK on the channel, for its events. This
	 * message must be sent nevertheless, so waits until the socket has room.
	 */
	while ((rc = send_message(channel_fd, &iov, 1, end)) == -EAGAIN)
		poll(&(struct pollfd){ .fd = channel_fd, .events = POLLOUT }, 1, -1);
	return rc;
}

static int open_path(int channel_fd, struct rnk_cm_path *path)
{
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	path->fd = rn_fd_raise(pair[0]);
	if (path->fd < 0) {
		close(pair[1]);
		return path->fd;
	}
	rc = read_inode(path->fd, &path->inode) ? hand_over(channel_fd, pair[1]) : -EIO;
	close(pair[1]);
	if (rc)
		close(path->fd);
	return rc;
}

int rnk_cm_path_get(int channel_fd, uint64_t number, struct rnk_cm_path **out)
{
	struct rnk_cm_path *path;
	int rc;

	for (unsigned i = 0; i < PATHS; i++) {
		path = &mine.path[i];
		if (path->number == number && is_there(path)) {
			*out = path;
			return 0;
		}
	}
	pthread_once(&once, make_key);
	/* The destructor of this key closes the command sockets of a thread that ends.
	 * Without the key they would stay open.
	 */
	if (at_end == (pthread_key_t)-1 || pthread_setspecific(at_end, &mine))
		return -ENOMEM;
	path = free_place();
	rc = open_path(channel_fd, path);
	if (rc)
		return rc;
	path->number = number;
	path->pid = getpid();
	*out = path;
	return 0;
}

/* ---- Recognition of descriptors of rdma_cm ---- */

enum {
	/* higher descriptors are not in the bitmap; they are always checked by
	 * getsockname()
	 */
	KNOWN_MAX = 65536,
	BITS = 64,
};

/* If bit N is set, descriptor N may be one of rdma_cm. */
static _Atomic uint64_t known[KNOWN_MAX / BITS];
static atomic_bool any_known;

static void remember(int fd)
{
	if (fd < KNOWN_MAX)
		atomic_fetch_or(&known[fd / BITS], (uint64_t)1 << fd % BITS);
	atomic_store(&any_known, true);
}

static bool may_be(int fd)
{
	if (!atomic_load_explicit(&any_known, memory_order_relaxed) || fd < 0)
		return false;
	return fd >= KNOWN_MAX ||
	       (atomic_load_explicit(&known[fd / BITS], memory_order_relaxed) >>
			fd % BITS &
		1);
}

/* Returns the number of the channel whose descriptor @fd is, which is part of the name of
 * the socket. Returns 0 if @fd is not a descriptor of rdma_cm. Keeps errno.
 */
static uint64_t number_of(int fd)
{
	struct sockaddr_un addr = { 0 };
	/* One byte less than the struct has, so that a NUL follows the longest name. */
	socklen_t len = sizeof(addr) - 1;
	int saved_errno = errno;
	int rc = getsockname(fd, (struct sockaddr *)&addr, &len);

	errno = saved_errno;
	if (rc < 0 || addr.sun_family != AF_UNIX || addr.sun_path[0] ||
	    len != offsetof(struct sockaddr_un, sun_path) + 1 + RN_CMDEV_NAME_LEN ||
	    memcmp(addr.sun_path + 1, RN_CMDEV_NAME, sizeof(RN_CMDEV_NAME) - 1) != 0)
		return 0;
	return strtoull(addr.sun_path + sizeof(RN_CMDEV_NAME), NULL, 16);
}

uint64_t rnk_cm_number(int fd)
{
	return may_be(fd) ? number_of(fd) : 0;
}

bool rnk_cm_is_node(const char *mapped)
{
	static const char node[] = "/dev/infiniband/rdma_cm";
	const char *tree = rnk_tree();
	size_t len = tree ? strlen(tree) : 0;

	return tree && strncmp(mapped, tree, len) == 0 && strcmp(mapped + len, node) == 0;
}

static int open_by_rocind(void)
{
	const char *netdevs = getenv("ROCIN_NETDEVS");
	char why[512];
	struct rn_rocind *r = rn_rocind_connect(NULL, why, sizeof(why));
	int fd = -ENXIO, board_fd = -1;

	if (r)
		fd = rn_rocind_open_cm(r, netdevs ? netdevs : "", &board_fd, why,
				       sizeof(why));
	rn_rocind_close(r);
	if (board_fd >= 0) {
		rnk_cm_ids_take_board(board_fd);
		close(board_fd);
	}
	if (fd < 0)
		rn_log(RN_LOG_ERROR, "rdma_cm cannot be opened: %s", why);
	return fd;
}

/* Opens a channel, with cancellation disabled: open() is a cancellation point, and a
 * thread that was cancelled here would leak the half-open channel.
 */
int rnk_cm_open(int flags)
{
	int before, fd;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	fd = open_by_rocind();
	pthread_setcancelstate(before, NULL);
	if (fd < 0) {
		errno = fd == -EMFILE || fd == -ENOMEM ? -fd : ENXIO;
		return -1;
	}
	if (!(flags & O_CLOEXEC))
		fcntl(fd, F_SETFD, 0);
	if (flags & O_NONBLOCK)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	remember(fd);
	return fd;
}

/* ---- Parsing of commands ---- */

struct command;
typedef int execute_fn(int fd, uint64_t number, struct command *c);
static execute_fn exchange, answer_by_board, disconnect, destroy, get_event;

/* Table of commands. @has_id, @has_group: the command names an id or a group, at offset
 * @id_at. @answers: it has an answer; the address for the answer is at offset @answer_at.
 * @execute: the function that executes the command; NULL: exchange(). The function
 * returns 0 or -errno; -ESHUTDOWN: rocind has ended.
 */
static const struct kind {
	bool has_id, has_group, answers;
	uint16_t id_at;
	uint8_t answer_at;
	execute_fn *execute;
} kinds[] = {
#define ID(cmd, type, ...)   \
	[RDMA_USER_CM_CMD_## \
		cmd] = { .has_id = true, .id_at = offsetof(type, id), __VA_ARGS__ }
#define ANSWER(cmd, type, ...)                                              \
	[RDMA_USER_CM_CMD_##cmd] = { .answers = true,                       \
				     .answer_at = offsetof(type, response), \
				     __VA_ARGS__ }
#define BOTH(cmd, type, ...) \
	ID(cmd, type, .answers = true, .answer_at = offsetof(type, response), __VA_ARGS__)
	ANSWER(CREATE_ID, struct rdma_ucm_create_id),
	BOTH(DESTROY_ID, struct rdma_ucm_destroy_id, .execute = destroy),
	ID(BIND_IP, struct rdma_ucm_bind_ip),
	ID(RESOLVE_IP, struct rdma_ucm_resolve_ip),
	ID(RESOLVE_ROUTE, struct rdma_ucm_resolve_route),
	BOTH(QUERY_ROUTE, struct rdma_ucm_query, .execute = answer_by_board),
	ID(CONNECT, struct rdma_ucm_connect),
	ID(LISTEN, struct rdma_ucm_listen),
	ID(ACCEPT, struct rdma_ucm_accept),
	ID(REJECT, struct rdma_ucm_reject),
	ID(DISCONNECT, struct rdma_ucm_disconnect, .execute = disconnect),
	BOTH(INIT_QP_ATTR, struct rdma_ucm_init_qp_attr, .execute = answer_by_board),
	ANSWER(GET_EVENT, struct rdma_ucm_get_event, .execute = get_event),
	ID(SET_OPTION, struct rdma_ucm_set_option),
	ID(NOTIFY, struct rdma_ucm_notify),
	BOTH(JOIN_IP_MCAST, struct rdma_ucm_join_ip_mcast),
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = {
		.has_group = true,
		.id_at = offsetof(struct rdma_ucm_destroy_id, id),
		.answers = true,
		.answer_at = offsetof(struct rdma_ucm_destroy_id, response),
		.execute = destroy,
	},
	BOTH(MIGRATE_ID, struct rdma_ucm_migrate_id),
	BOTH(QUERY, struct rdma_ucm_query),
	ID(BIND, struct rdma_ucm_bind),
	ID(RESOLVE_ADDR, struct rdma_ucm_resolve_addr),
	BOTH(JOIN_MCAST, struct rdma_ucm_join_mcast),
	[RN_CMDEV_WRITE_CM_EVENT] = {
		.has_id = true,
		.id_at = offsetof(struct rn_cmdev_write_cm_event, id),
	},
#undef ID
#undef ANSWER
#undef BOTH
};

/* A command of the program that is being executed. The addresses in it may be wrong. So
 * only system calls copy from and to them, which then fail with EFAULT and do not end the
 * program.
 */
struct command {
	struct rdma_ucm_cmd_hdr hdr;
	struct kind kind;
	const uint8_t *in;
	struct rn_cmdev_call call;
	void *option;
	void *out;	 /* buffer for the answer; NULL: the command has no answer */
	uint32_t number; /* number of the id or group that the command is about, if any */
	/* cancellation state of the thread before cancellation was disabled */
	int cancel_state;
};

static uint64_t value_at(const struct command *c, size_t at, size_t len)
{
	uint64_t value = 0;

	if (c->hdr.in >= at + len)
		memcpy(&value, c->in + at, len);
	return value;
}

static void *pointer_at(const struct command *c, size_t at)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the ABI carries pointers as u64 */
	return (void *)(uintptr_t)value_at(c, at, sizeof(uint64_t));
}

/* Parses a command. Checks it in the order in which the kernel does. Return: 0 or
 * -errno.
 */
static int read_command(struct command *c, const void *buf, size_t len)
{
	*c = (struct command){ .in = (const uint8_t *)buf + sizeof(c->hdr) };
	if (len < sizeof(c->hdr))
		return -EINVAL;
	memcpy(&c->hdr, buf, sizeof(c->hdr));
	if (c->hdr.in + sizeof(c->hdr) > len)
		return -EINVAL;
	c->call.cmd = c->hdr.cmd;
	c->call.in_len = c->hdr.in < RN_CMDEV_IN_MAX ? c->hdr.in : RN_CMDEV_IN_MAX;
	if (c->hdr.cmd < sizeof(kinds) / sizeof(kinds[0]))
		c->kind = kinds[c->hdr.cmd];
	if (c->kind.answers) {
		c->out = pointer_at(c, c->kind.answer_at);
		c->call.out_len = c->hdr.out;
	}
	if (c->kind.has_id || c->kind.has_group)
		c->number = (uint32_t)value_at(c, c->kind.id_at, sizeof(c->number));
	if (c->hdr.cmd == RDMA_USER_CM_CMD_SET_OPTION) {
		c->option = pointer_at(c, offsetof(struct rdma_ucm_set_option, optval));
		c->call.option_len = (uint32_t)value_at(
			c, offsetof(struct rdma_ucm_set_option, optlen), 4);
		if (c->call.option_len > RN_CMDEV_OPTION_MAX)
			return -EINVAL;
	}
	if (c->hdr.cmd == RDMA_USER_CM_CMD_MIGRATE_ID) {
		int from = (int)value_at(c, offsetof(struct rdma_ucm_migrate_id, fd), 4);

		c->call.from = number_of(from);
		if (!c->call.from && fcntl(from, F_GETFD) >= 0)
			/* @from is an open descriptor, but not one of rdma_cm */
			return -EINVAL;
	}
	return 0;
}

/* ---- Commands that rocind executes ---- */

static int send_command(struct rnk_cm_path *path, struct command *c)
{
	const struct iovec parts[] = {
		{ &c->call, sizeof(c->call) },
		{ (void *)c->in, c->call.in_len },
		{ c->option, c->call.option_len },
	};

	c->call.seq = ++path->seq;
	return send_message(path->fd, parts, 3, -1);
}

/* If a descriptor of a board has come with an answer, maps the board. */
static void take_board(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int fd;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	rnk_cm_ids_take_board(fd);
	close(fd);
}

/* Receives one message, an answer. Return: its length, or -1 with errno. */
static ssize_t receive_one(int path, struct command *c, struct rn_cmdev_answer *answer)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr hdr;
	} control;
	struct iovec iov[] = { { answer, sizeof(*answer) }, { c->out, c->call.out_len } };
	struct msghdr msg = { .msg_iov = iov,
			      .msg_iovlen = 2,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control.buf) };
	ssize_t len = recvmsg(path, &msg, MSG_CMSG_CLOEXEC);

	if (len >= 0)
		take_board(&msg);
	return len;
}

/* Receives the answer to a command. Return: result of the command, 0 or -errno;
 * -ESHUTDOWN: the command socket is closed.
 */
static int receive_answer(int path, struct command *c, struct rn_cmdev_answer *answer)
{
	ssize_t len;

	do
		len = receive_one(path, c, answer);
	while ((len < 0 && errno == EINTR) ||
	       (len >= (ssize_t)sizeof(*answer) && answer->seq != c->call.seq));
	if (len < 0)
		return errno == ECONNRESET ? -ESHUTDOWN : -errno;
	if ((size_t)len < sizeof(*answer))
		return -ESHUTDOWN;
	return answer->rc;
}

/* Sends a command to rocind and waits for the answer. */
static int exchange(int fd, uint64_t number, struct command *c)
{
	const struct rn_cmdev_call end = { .cmd = RN_CMDEV_END };
	const struct iovec end_part = { (void *)&end, sizeof(end) };
	struct rn_cmdev_answer answer = { 0 };
	struct rnk_cm_path *path;
	int rc = rnk_cm_path_get(fd, number, &path);

	if (rc)
		return rc;
	rc = send_command(path, c);
	if (rc == 0)
		rc = receive_answer(path->fd, c, &answer);
	if (answer.wants_end && rc != -ESHUTDOWN)
		send_message(path->fd, &end_part, 1, fd);
	if (rc != -ESHUTDOWN)
		return rc;
	rnk_cm_path_close(path);
	/* If another thread of the program has closed the channel in the meantime, rocind
	 * has closed the command socket for this reason.
	 */
	if (fcntl(fd, F_GETFD) < 0)
		return -EBADF;
	/* rocind is running, but has closed the new command socket, because it has no
	 * descriptors left for it.
	 */
	return has_gone(fd) ? rc : -ENOMEM;
}

/* Executes GET_EVENT: gets an event of the channel. First waits for the byte by which
 * rocind announces an event, unless the program has set O_NONBLOCK. After that there may
 * be no event nevertheless, because another thread has destroyed its id.
 */
static int get_event(int fd, uint64_t number, struct command *c)
{
	for (;;) {
		char mark;
		ssize_t len;
		int rc;

		pthread_setcancelstate(c->cancel_state, NULL);
		len = recv(fd, &mark, sizeof(mark), 0);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		if (len < 0 && errno != ECONNRESET)
			return -errno;
		rc = len > 0 ? exchange(fd, number, c) : -ESHUTDOWN;
		if (rc != -EAGAIN)
			return rc;
	}
}

/* ---- Commands that need data from the board ---- */

/* Copies an answer from the board to the address in the program's memory that the command
 * contains. That address may be invalid, which gives an error. Return: result of the
 * command; -ENODATA: rocind must be asked.
 */
static int copy_out(const struct command *c, const void *answer, size_t len)
{
	const struct iovec from = { (void *)answer, len }, to = { c->out, len };
	ssize_t n;

	if (c->call.out_len < len)
		return -ENODATA;
	n = process_vm_writev(getpid(), &from, 1, &to, 1, 0);
	if (n == (ssize_t)len)
		return 0;
	return n >= 0 || errno == EFAULT ? -EFAULT : -ENODATA;
}

/* Answers a query from what the board shows about the id. Return: result of the command;
 * -ENODATA: the board does not show the answer, so rocind must be asked.
 */
static int look_up(int fd, uint64_t number, const struct command *c)
{
	struct rn_cm_answers shown;
	uint32_t state;

	/* The board is not used after rocind has ended, because what it shows may be out
	 * of date.
	 */
	if (!rnk_cm_ids_read(number, c->number, &shown) || has_gone(fd))
		return -ENODATA;
	if (c->hdr.cmd == RDMA_USER_CM_CMD_QUERY_ROUTE)
		return copy_out(c, shown.route, sizeof(shown.route));
	/* The command contains a state of the QP (enum ibv_qp_state). The board has an
	 * answer for each state from INIT (1) on.
	 */
	state = (uint32_t)value_at(c, offsetof(struct rdma_ucm_init_qp_attr, qp_state),
				   4) -
		1;
	if (state >= RN_CMBOARD_QP_STATES || !(shown.has_qp >> state & 1))
		return -ENODATA;
	return copy_out(c, shown.qp[state], sizeof(shown.qp[state]));
}

/* Executes a query. If the board does not show the answer, asks rocind by a command. */
static int answer_by_board(int fd, uint64_t number, struct command *c)
{
	int rc = look_up(fd, number, c);

	return rc == -ENODATA ? exchange(fd, number, c) : rc;
}

/* Executes DISCONNECT. If the id has a connection, this function does not wait until
 * rocind has executed the command. So if the program sends a later command by another
 * command socket, rocind may execute that one first. This does no harm: if the later
 * command migrates the id, rocind still finds the id; if the later command destroys the
 * id, it ends the connection, too.
 */
static int disconnect(int fd, uint64_t number, struct command *c)
{
	struct rn_cm_answers shown;
	struct rnk_cm_path *path;

	if (!rnk_cm_ids_read(number, c->number, &shown) || !shown.has_conn ||
	    rnk_cm_path_get(fd, number, &path))
		return exchange(fd, number, c);
	c->call.one_way = 1;
	c->call.serial = shown.serial;
	if (send_command(path, c) == 0)
		return 0;
	c->call.one_way = 0;
	return exchange(fd, number, c);
}

static enum rn_cm_kind kind_of_object(const struct command *c)
{
	return c->kind.has_group ? RN_CM_KIND_GROUP : RN_CM_KIND_ID;
}

/* Executes a command that destroys an id or leaves a group. rocind may execute it and
 * then end without an answer. So reads what the board shows about the id before the
 * command is sent, and passes that to rnk_cm_ids_end() if rocind has ended.
 */
static int destroy(int fd, uint64_t number, struct command *c)
{
	enum rn_cm_kind kind = kind_of_object(c);
	struct rn_cm_life life;
	bool is_shown = rnk_cm_ids_read_life(kind, number, c->number, &life);
	int rc = exchange(fd, number, c);

	return rc == -ESHUTDOWN
		       ? rnk_cm_ids_end(kind, number, c->number, is_shown ? &life : NULL,
					c->out, c->call.out_len)
		       : rc;
}

/* Returns the result of a command that rocind cannot execute because it has ended. For
 * commands that destroy an id, destroy() does that.
 */
static int result_without_rocind(uint64_t number, const struct command *c)
{
	struct rn_cm_life last;

	if (c->hdr.cmd == RDMA_USER_CM_CMD_GET_EVENT)
		return rnk_cm_ids_get_event(number, c->out, c->call.out_len);
	if (!c->kind.has_id ||
	    !rnk_cm_ids_read_life(RN_CM_KIND_ID, number, c->number, &last))
		return -ENODEV;
	/* The kernel returns these errors for an id whose device was removed. */
	return last.has_device ? -EIO : -ENODEV;
}

/* Executes a command that the program has written to the device. Cancellation is
 * disabled meanwhile, because a thread that was cancelled here would lose the answer.
 */
ssize_t rnk_cm_write(int fd, uint64_t number, const void *buf, size_t len)
{
	struct command c;
	int rc = read_command(&c, buf, len);

	if (rc == 0) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &c.cancel_state);
		rc = c.kind.execute ? c.kind.execute(fd, number, &c)
				    : exchange(fd, number, &c);
		if (rc == -ESHUTDOWN)
			rc = result_without_rocind(number, &c);
		pthread_setcancelstate(c.cancel_state, NULL);
	}
	if (rc == 0)
		return (ssize_t)len;
	errno = -rc;
	return -1;
}
