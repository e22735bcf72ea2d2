/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_start.c - finds a running rocind or its program, starts the program in such a
 * way that this process does not notice, and connects to rocind. See rocind_client.h.
 */
#include "rocind_client.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl_socket.h"
#include "rocind_conn.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/host/runtime_dir.h"
#include "transport/io/process/spawn.h"

/* ---------------------------------------------------- finding the program */
static int format_program(char *path, size_t path_len, const char *dir, size_t dir_len,
			  const char *rest)
{
	int len = snprintf(path, path_len, "%.*s%s/rocind", (int)dir_len, dir, rest);

	if (len < 0 || (size_t)len >= path_len)
		return -ENAMETOOLONG;
	return access(path, X_OK) == 0 ? 0 : -ENOENT;
}

/* Look for rocind relative to the file @file, which may be in the directory of programs
 * or in that of plugins. Return: 0 with the path of rocind in @path, or -errno.
 */
static int look_beside(const char *file, char *path, size_t path_len)
{
	char real[PATH_MAX];
	const char *slash;
	int rc;

	if (!realpath(file, real))
		return -ENOENT;
	slash = strrchr(real, '/');
	rc = format_program(path, path_len, real, (size_t)(slash - real), "");
	if (rc)
		rc = format_program(path, path_len, real, (size_t)(slash - real),
				    "/" RN_PLUGIN_TO_BIN);
	return rc;
}

static int look_in_path(char *path, size_t path_len)
{
	const char *dir = secure_getenv("PATH");

	while (dir && *dir) {
		size_t len = strcspn(dir, ":");

		if (dir[0] == '/' && format_program(path, path_len, dir, len, "") == 0)
			return 0;
		dir += len + (dir[len] == ':');
	}
	return -ENOENT;
}

int rn_rocind_find(const char *wish, char *path, size_t path_len, char *err,
		   size_t err_len)
{
	Dl_info here;

	if (!wish)
		wish = secure_getenv("ROCIN_ROCIND");
	if (wish && *wish) {
		int len = snprintf(path, path_len, "%s", wish);

		if ((size_t)len >= path_len)
			return rn_fail(err, err_len, -ENAMETOOLONG,
				       "the path of rocind is too long");
		return 0;
	}
	/* For a function of the program itself, dladdr() may return argv[0]. That is of
	 * no use if it has no directory.
	 */
	if (dladdr((const void *)&rn_rocind_find, &here) && here.dli_fname &&
	    strchr(here.dli_fname, '/') &&
	    look_beside(here.dli_fname, path, path_len) == 0)
		return 0;
	if (look_beside("/proc/self/exe", path, path_len) == 0 ||
	    look_in_path(path, path_len) == 0)
		return 0;
	return rn_fail(
		err, err_len, -ENOENT,
		"the program rocind was found neither beside rocin nor in PATH; set "
		"ROCIN_ROCIND to its path");
}

/* ------------------------------------------------------ starting the daemon */
/* Descriptors that are needed to start a daemon: those that it gets, and this process's
 * ends of the pipes.
 */
struct launch {
	const char *path;
	int null_fd;
	int ready_fd;
	int say_fd; /* the daemon's standard error until the daemon replaces it */
	/* this process's ends of the pipes whose other ends are @ready_fd and @say_fd */
	int await_ready_fd, hear_fd;
};

/* Write NAME=VALUE to @buf if the variable is set. Return: true if it was written. */
static bool pass_variable(char *buf, size_t len, const char *name)
{
	const char *value = secure_getenv(name);

	return value && (size_t)snprintf(buf, len, "%s=%s", name, value) < len;
}

bool rn_rocind_is_idle_time(const char *value)
{
	size_t len = strlen(value);

	return len > 0 && len < 10 && strspn(value, "0123456789") == len;
}

/* Return: the value of ROCIN_IDLE_MS; NULL if it is not set or no such number, because a
 * wrong value must not keep the daemon from starting.
 */
static const char *idle_time(void)
{
	const char *value = secure_getenv("ROCIN_IDLE_MS");

	if (!value || !*value)
		return NULL;
	if (rn_rocind_is_idle_time(value))
		return value;
	rn_log(RN_LOG_WARN,
	       "ROCIN_IDLE_MS is \"%.40s\" and not a number of milliseconds: rocind "
	       "stays "
	       "for as long as without it",
	       value);
	return NULL;
}

static int spawn_with_clean_environment(const struct launch *launch, const char *dir)
{
	enum {
		VALUE_MAX = 4096
	};
	static const char *const kept[] = { "PATH",
					    "TMPDIR",
					    "XDG_RUNTIME_DIR",
					    "ROCIN_LOG",
					    "ROCIN_TIMEOUT_SCALE",
					    "ROCIN_KEEPER",
					    "ROCIN_NEIGHBOURS",
					    "ROCIN_PEER_INFO" };
	const char *idle = idle_time();
	char ready_option[32], idle_option[32], name[] = "rocind";
	char *argv[] = { name, ready_option, idle ? idle_option : NULL, NULL };
	char *envp[RN_ARRAY_SIZE(kept) + 2];
	char runtime_dir[RN_RUNTIME_PATH_MAX + 32];
	size_t count = 0;
	char(*values)[VALUE_MAX] = malloc(sizeof(*values) * RN_ARRAY_SIZE(kept));
	int rc;

	if (!values)
		return -ENOMEM;
	snprintf(ready_option, sizeof(ready_option), "--ready-fd=%d", RN_ROCIND_READY_FD);
	if (idle)
		snprintf(idle_option, sizeof(idle_option), "--idle-ms=%s", idle);
	snprintf(runtime_dir, sizeof(runtime_dir), "ROCIN_RUNTIME_DIR=%s", dir);
	for (size_t i = 0; i < RN_ARRAY_SIZE(kept); i++)
		if (pass_variable(values[i], VALUE_MAX, kept[i]))
			envp[count++] = values[i];
	envp[count++] = runtime_dir;
	envp[count] = NULL;
	rc = rn_spawn(&(struct rn_spawn){ .path = launch->path,
					  .argv = argv,
					  .envp = envp,
					  .fds = { launch->null_fd, launch->null_fd,
						   launch->say_fd, launch->ready_fd },
					  .fd_count = RN_ROCIND_READY_FD + 1 });
	free(values);
	return rc;
}

/* Read what the daemon's program has written to its standard error, and make one line of
 * it. There the dynamic linker, for instance, names a missing library. Does not wait for
 * more text, because the program has ended or is late. Return: false if it wrote
 * nothing.
 */
static bool read_said(int fd, char *said, size_t said_len)
{
	ssize_t len = read(fd, said, said_len - 1);

	if (len < 0)
		len = 0;
	while (len > 0 && (unsigned char)said[len - 1] <= ' ')
		len--;
	said[len] = '\0';
	for (char *c = said; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	return len > 0;
}

/* Wait for the daemon's report, which comes as one write: a newline when it listens, an
 * error text when it cannot. (End of file would not do as a report: a child that another
 * thread forks meanwhile has a copy of the writing end.)
 *
 * Return: 0, -EIO (the error text is in @err), -ETIMEDOUT.
 */
static int await_ready(const struct launch *launch, int timeout_ms, char *err,
		       size_t err_len)
{
	char words[RN_CTL_TEXT_LEN], said[RN_CTL_TEXT_LEN];
	struct pollfd pfd = { .fd = launch->await_ready_fd, .events = POLLIN };
	rn_ns deadline = rn_rocind_now() + RN_MSEC(timeout_ms);
	ssize_t len;
	int n;

	do
		n = poll(&pfd, 1, rn_rocind_ms_until(deadline));
	while (n < 0 && errno == EINTR);
	len = n > 0 ? read(pfd.fd, words, sizeof(words) - 1) : 0;
	if (len > 0 && words[0] == '\n')
		return 0;
	if (len > 0) {
		words[len] = '\0';
		return rn_fail(err, err_len, -EIO, "%s", words);
	}
	if (!read_said(launch->hear_fd, said, sizeof(said)))
		return n > 0 ? rn_fail(err, err_len, -EIO,
				       "rocind ended before it said a word")
			     : rn_fail(err, err_len, -ETIMEDOUT,
				       "rocind did not start within %d ms", timeout_ms);
	if (n > 0)
		return rn_fail(err, err_len, -EIO, "%.200s ended before it listened: %s",
			       launch->path, said);
	return rn_fail(err, err_len, -ETIMEDOUT, "%.200s did not start within %d ms: %s",
		       launch->path, timeout_ms, said);
}

static void close_descriptor(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Open /dev/null and the pipes. Return: 0 or -errno; in both cases the caller closes the
 * descriptors by close_descriptor().
 */
static int open_descriptors(struct launch *launch)
{
	int rc = rn_spawn_null(&launch->null_fd);

	if (rc == 0)
		rc = rn_spawn_pipe(&launch->await_ready_fd, &launch->ready_fd, 0);
	/* Neither end of this pipe blocks: what does not fit into the pipe is lost. */
	if (rc == 0)
		rc = rn_spawn_pipe(&launch->hear_fd, &launch->say_fd, O_NONBLOCK);
	return rc;
}

int rn_rocind_start(const char *path, const char *dir, int timeout_ms, char *err,
		    size_t err_len)
{
	struct launch launch = { .path = path,
				 .null_fd = -1,
				 .ready_fd = -1,
				 .say_fd = -1,
				 .await_ready_fd = -1,
				 .hear_fd = -1 };
	int saved = errno;
	int rc = open_descriptors(&launch);

	if (rc == 0)
		rc = spawn_with_clean_environment(&launch, dir);
	close_descriptor(&launch.null_fd);
	close_descriptor(&launch.ready_fd);
	close_descriptor(&launch.say_fd);
	if (rc)
		rn_fail(err, err_len, rc, "%s cannot be started: %m", path);
	else
		rc = await_ready(&launch, timeout_ms, err, err_len);
	close_descriptor(&launch.await_ready_fd);
	close_descriptor(&launch.hear_fd);
	errno = saved;
	return rc;
}

/* ------------------------------------------------------------- connecting to rocind */
/* Connect to the socket in @dir. Return: 0, -EPERM (rocind runs as another user), or the
 * error of connect() (-EAGAIN: too many connections wait to be accepted).
 */
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

/* Send HELLO, and receive WELCOME. Return: 0; -ECONNRESET (rocind ended before it
 * answered, so the caller should try again); any other error is final.
 */
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

/* Return: true if the error @rc means that no rocind listens, or only one that is about
 * to end.
 */
static bool is_absence(int rc)
{
	return rc == -ENOENT || rc == -ECONNREFUSED || rc == -ECONNRESET;
}

static int start_daemon(const char *wish, const char *dir, const struct rn_complaint *c)
{
	char path[RN_RUNTIME_PATH_MAX];
	int rc = rn_rocind_find(wish, path, sizeof(path), c->err, c->err_len);

	if (rc)
		return rc;
	rn_log(RN_LOG_INFO, "starting %s for %s", path, dir);
	return rn_rocind_start(path, dir, rn_rocind_timeout_ms(), c->err, c->err_len);
}

/* Try to connect until the deadline, and start rocind between two attempts if @may_start
 * is true. Several attempts may be needed, because a daemon may end between any two
 * steps, and another process may have started one. The pauses between attempts grow,
 * because a daemon takes a few milliseconds to start or to end.
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
		rc = start_daemon(wish, dir, c);
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
