/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_host.c - see lab_host.h */
#include "lab_host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab_net.h"
#include "lab_ns.h"
#include "transport/io/host/sentence.h"

/* What a keeper says of a step. */
struct report {
	int rc;
	unsigned by;
	char text[512];
};

struct keeper {
	pid_t pid;
	int sock;
};

static bool has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* ------------------------------------------------------------------- in the keeper */
static void tell(int sock, const struct report *r)
{
	(void)!send(sock, r, sizeof(*r), MSG_NOSIGNAL);
}

static void forget_files(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	close_range(3, ~0u, 0);
}

_Noreturn static void keep(const struct rn_lab_args *args, unsigned host, int sock)
{
	struct report r = { 0 };
	char name[16], go;
	sigset_t all;

	/* Whatever programs send to everybody, the host stays. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	snprintf(name, sizeof(name), "lab h%u", host + 1);
	prctl(PR_SET_NAME, name);
	r.rc = rn_lab_furnish(host, args->hosts, r.text, sizeof(r.text));
	rn_lab_net_prepare(has_ipv6());
	tell(sock, &r);
	if (recv(sock, &go, 1, 0) != 1)
		_exit(EXIT_FAILURE);
	r.rc = rn_lab_host_connect(&args->link, host, &r.by, r.text, sizeof(r.text));
	tell(sock, &r);
	forget_files();
	for (;;)
		pause();
}

/* ---------------------------------------------------------------------- in the lab */
static int start_keeper(const struct rn_lab_args *args, unsigned host, struct keeper *k,
			char *err, size_t err_len)
{
	int sock[2];

	k->sock = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return rn_fail(err, err_len, -errno, "h%u cannot be made: %m", host + 1);
	k->sock = sock[0];
	k->pid = rn_lab_clone_keeper();
	if (k->pid == 0) {
		close(sock[0]);
		keep(args, host, sock[1]);
	}
	close(sock[1]);
	if (k->pid < 0) {
		rn_lab_say_refused(errno, err, err_len);
		return -errno;
	}
	assert(k->pid == rn_lab_keeper_pid(host));
	return 0;
}

static int hear(const struct keeper *k, unsigned host, unsigned *by, char *err,
		size_t err_len)
{
	struct report r;

	if (recv(k->sock, &r, sizeof(r), 0) != sizeof(r))
		return rn_fail(err, err_len, -ESRCH, "h%u has ended while it was made",
			       host + 1);
	*by = r.by;
	if (r.rc)
		return rn_fail(err, err_len, r.rc, "h%u: %s", host + 1, r.text);
	return 0;
}

static int connect_all(const struct rn_lab_args *args, struct keeper *keepers,
		       unsigned *by, char *err, size_t err_len)
{
	struct rn_nl nl;
	int rc = rn_nl_open(&nl);

	if (rc)
		return rn_fail(err, err_len, rc, "the network cannot be made: %m");
	rn_lab_net_prepare(false);
	rc = rn_lab_switch_make(&nl, &args->link, err, err_len);
	for (unsigned i = 0; i < args->hosts && !rc; i++) {
		rc = hear(&keepers[i], i, by, err, err_len);
		if (!rc)
			rc = rn_lab_cable_make(&nl, &args->link, i, keepers[i].pid, err,
					       err_len);
		if (!rc)
			(void)!send(keepers[i].sock, "", 1, MSG_NOSIGNAL);
	}
	for (unsigned i = 0; i < args->hosts && !rc; i++)
		rc = hear(&keepers[i], i, by, err, err_len);
	rn_nl_close(&nl);
	return rc;
}

int rn_lab_hosts_make(const struct rn_lab_args *args, unsigned *by, char *err,
		      size_t err_len)
{
	struct keeper keepers[RN_LAB_HOSTS_MAX] = { 0 };
	unsigned made = 0;
	int rc = 0;

	while (made < args->hosts && !rc) {
		rc = start_keeper(args, made, &keepers[made], err, err_len);
		made++;
	}
	if (!rc)
		rc = connect_all(args, keepers, by, err, err_len);
	while (made--)
		if (keepers[made].sock >= 0)
			close(keepers[made].sock);
	return rc;
}

/* ------------------------------------------------------------------- in a program */
static int put_number(const char *name, unsigned value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return setenv(name, text, 1);
}

static int put_host(const char *name, unsigned host)
{
	char text[16];

	snprintf(text, sizeof(text), "h%u", host + 1);
	return setenv(name, text, 1);
}

/* The way to other hosts comes first, rocin itself last. */
static int set_path(void)
{
	const char *old = getenv("PATH");
	char self[PATH_MAX], *slash, *path;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int rc;

	if (old && !strncmp(old, RN_LAB_BIN ":", strlen(RN_LAB_BIN ":")))
		return 0;
	self[n < 0 ? 0 : n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	if (asprintf(&path, RN_LAB_BIN ":%s:%s", old ? old : "/usr/bin:/bin", self) < 0)
		return -1;
	rc = setenv("PATH", path, 1);
	free(path);
	return rc;
}

int rn_lab_host_setenv(unsigned host, unsigned hosts)
{
	static char list[RN_LAB_HOSTS_MAX * 6], address[32];
	size_t at = 0;

	for (unsigned i = 1; i <= hosts; i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%sh%u",
				       i > 1 ? "," : "", i);
	snprintf(address, sizeof(address), RN_LAB_NET4 "%u", host + 1);
	if (put_number("ROCIN_LAB_RANK", host) || put_number("ROCIN_LAB_SIZE", hosts) ||
	    put_host("ROCIN_LAB_HOST", host) ||
	    put_host("ROCIN_LAB_PEER", (host + 1) % hosts) ||
	    setenv("ROCIN_LAB_HOSTS", list, 1) ||
	    setenv("ROCIN_LAB_ADDRESS", address, 1) ||
	    setenv("ROCIN_RUNTIME_DIR", RN_LAB_SHM "/rocin", 1) || set_path())
		return -ENOMEM;
	return 0;
}

int rn_lab_host_become(const struct rn_lab_args *args, unsigned host, char *err,
		       size_t err_len)
{
	int rc = rn_lab_enter(rn_lab_keeper_pid(host), err, err_len);

	if (!rc && rn_lab_host_setenv(host, args->hosts))
		rc = rn_fail(err, err_len, -ENOMEM, "no memory for the environment");
	return rc;
}

/* ------------------------------------------------------------------------- rules */
_Noreturn static void give_rules(const struct rn_lab_args *args, unsigned host)
{
	static char rules[512];
	char err[512], *argv[] = { "rocin", "fault", rules, NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	rn_lab_link_rules(&args->link, host, rules, sizeof(rules));
	if (rn_lab_host_become(args, host, err, sizeof(err))) {
		rn_complain("%s", err);
		_exit(EXIT_FAILURE);
	}
	execv("/proc/self/exe", argv);
	rn_complain("rocin fault: %s", strerror(errno));
	_exit(EXIT_FAILURE);
}

int rn_lab_hosts_rules(const struct rn_lab_args *args, char *err, size_t err_len)
{
	pid_t pids[RN_LAB_HOSTS_MAX];
	int rc = 0, status;

	for (unsigned i = 0; i < args->hosts; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			give_rules(args, i);
	}
	for (unsigned i = 0; i < args->hosts; i++)
		if (pids[i] < 0 || waitpid(pids[i], &status, 0) < 0 || status)
			rc = rn_fail(err, err_len, -EIO,
				     "h%u has not taken the rules about its packets",
				     i + 1);
	return rc;
}
