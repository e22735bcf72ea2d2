/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_connect.c - find the running rocind or start one. See rocind_client.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocind_conn.h"
#include "rocind_start.h"
#include "runtime_dir.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/host/sentence.h"

/* Return: 0, -EPERM, or what connect() said (-EAGAIN: its queue is full). */
static int open_connection(struct rn_rocind *r, const char *dir)
{
	struct sockaddr_un addr;
	struct ucred cred;
	socklen_t cred_len = sizeof(cred);
	char name[64];
	int dir_fd, rc;

	rn_runtime_name(name, sizeof(name), "rocind", ".sock");
	rc = rn_ctl_address(&addr, dir, name, &dir_fd);
	if (rc)
		return rc;
	r->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = r->sock < 0 ? -errno : 0;
	if (rc == 0)
		rc = r->sock = rn_own_fd_keep(rn_fd_raise(r->sock));
	if (rc >= 0)
		rc = connect(r->sock, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno
										  : 0;
	if (rc == 0 &&
	    (getsockopt(r->sock, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) < 0 ||
	     cred.uid != geteuid()))
		rc = -EPERM;
	if (rc && r->sock >= 0) {
		rn_fd_close(r->sock);
		r->sock = -1;
	}
	if (dir_fd >= 0)
		close(dir_fd);
	return rc;
}

/* Return: 0, -ECONNRESET (it ended before it had taken us in: try again), or final. */
static int greet(struct rn_rocind *r, const struct rn_complaint *c)
{
	struct rn_ctl_hello hello = { .hdr = rn_ctl_hdr(RN_CTL_HELLO),
				      .version = ROCIN_VERSION };
	struct rn_ctl_packet pkt;
	int rc = rn_rocind_request(r, &hello, -1, &pkt, RN_CTL_WELCOME, c);

	if (rc == 0)
		rn_ctl_close_fds(&pkt);
	return rc;
}

static int try_once(struct rn_rocind *r, const char *dir, const struct rn_complaint *c)
{
	int rc = open_connection(r, dir);

	if (rc == 0) {
		rc = greet(r, c);
		if (rc) {
			rn_fd_close(r->sock);
			r->sock = -1;
			r->gone = false;
		}
		return rc;
	}
	if (rc == -ENAMETOOLONG)
		return rn_fail(
			c->err, c->err_len, rc,
			"%.200s is too long a path for a socket where /proc is missing; "
			"set ROCIN_RUNTIME_DIR to a shorter one",
			dir);
	return rn_fail(c->err, c->err_len, rc, "rocind in %.200s cannot be reached: %m",
		       dir);
}

/* Nobody listens, or somebody who is about to end. */
static bool is_absence(int rc)
{
	return rc == -ENOENT || rc == -ECONNREFUSED || rc == -ECONNRESET;
}

static int start(const char *wish, const char *dir, const struct rn_complaint *c)
{
	char path[RN_RUNTIME_PATH_MAX];
	int rc = rn_rocind_find(wish, path, sizeof(path), c->err, c->err_len);

	if (rc)
		return rc;
	rn_log(RN_LOG_INFO, "starting %s for %s", path, dir);
	return rn_rocind_start(path, dir, rn_rocind_timeout_ms(), c->err, c->err_len);
}

/* Try, start, try again: a daemon may end between any two steps, or another process may
 * have started one. Waits grow, since either takes a few milliseconds.
 */
static int connect_until(struct rn_rocind *r, const char *wish, const char *dir,
			 bool may_start, const struct rn_complaint *c)
{
	rn_ns deadline = rn_rocind_now() + RN_MSEC((rn_ns)rn_rocind_timeout_ms());
	int pause_ms = 0;

	for (;;) {
		int rc = try_once(r, dir, c);

		if (!is_absence(rc) && rc != -EAGAIN)
			return rc;
		if (!may_start && (rc == -ENOENT || rc == -ECONNREFUSED))
			return rn_fail(c->err, c->err_len, -ENOENT,
				       "rocind is not running");
		if (rn_rocind_ms_until(deadline) == 0)
			return rn_fail(c->err, c->err_len, -ETIMEDOUT,
				       "rocind did not take this process in within %d ms",
				       rn_rocind_timeout_ms());
		if (pause_ms)
			poll(NULL, 0, pause_ms);
		pause_ms = pause_ms ? (pause_ms < 64 ? 2 * pause_ms : 64) : 1;
		if (!may_start || rc == -EAGAIN)
			continue;
		rc = start(wish, dir, c);
		if (rc)
			return rc;
	}
}

static struct rn_rocind *connect_any(const char *wish, bool may_start, char *err,
				     size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	char dir[RN_RUNTIME_PATH_MAX];
	int before = rn_rocind_cancel_off();
	struct rn_rocind *r = calloc(1, sizeof(*r));
	int rc;

	if (!r) {
		rc = rn_fail(err, err_len, -ENOMEM, "out of memory");
	} else {
		r->sock = -1;
		rc = rn_runtime_dir(dir, sizeof(dir), err, err_len);
		if (rc == 0)
			rc = connect_until(r, wish, dir, may_start, &c);
		if (rc) {
			free(r);
			r = NULL;
		}
	}
	rn_rocind_cancel_restore(before);
	if (rc)
		errno = -rc;
	return r;
}

struct rn_rocind *rn_rocind_connect(const char *rocind_path, char *err, size_t err_len)
{
	return connect_any(rocind_path, true, err, err_len);
}

struct rn_rocind *rn_rocind_connect_running(char *err, size_t err_len)
{
	return connect_any(NULL, false, err, err_len);
}
