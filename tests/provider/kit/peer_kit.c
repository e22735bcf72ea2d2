/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "peer_kit.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/io/rocind/rocind_client.h"

enum {
	TIMEOUT = 14, /* code for 67 ms */
};

static char runtime_dir[64];
struct kit_end end;
uint64_t peer_addr;

/* The data that two processes exchange before they connect. */
struct hello {
	struct rn_gid gid;
	uint32_t qpn;
	uint64_t addr; /* address of the buffer */
};

void attach(struct kit_end *k)
{
	char err[300] = "";

	if (rnp_engine_attach(k->e, err, sizeof(err)))
		fail_msg("%s", err);
}

void meet(struct kit_end *k, unsigned n, int sock)
{
	struct hello mine, peer;

	kit_open(k, n);
	attach(k);
	kit_make_qp(k);
	mine = (struct hello){ k->gid, k->qpn, (uintptr_t)k->buf };
	assert_int_equal(write(sock, &mine, sizeof(mine)), sizeof(mine));
	assert_int_equal(read(sock, &peer, sizeof(peer)), sizeof(peer));
	peer_addr = peer.addr;
	kit_connect(k, &peer.gid, peer.qpn, TIMEOUT);
}

void barrier(int sock)
{
	char c = 1;

	assert_int_equal(write(sock, &c, 1), 1);
	assert_int_equal(read(sock, &c, 1), 1);
}

pid_t start(void (*body)(int sock), int *sock)
{
	int pair[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* so that a failure ends this process */
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		close(pair[0]);
		body(pair[1]);
		exit(0); /* exit handlers run, although nothing was closed */
	}
	close(pair[1]);
	*sock = pair[0];
	return pid;
}

void await_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

void finish(pid_t pid, int sock)
{
	barrier(sock);
	await_child(pid);
	kit_close(&end);
	close(sock);
}

unsigned wires(void)
{
	unsigned n;

	rnp_engine_lock(end.e);
	n = end.e->wire.local ? rn_local_wires(end.e->wire.local) : 0;
	rnp_engine_unlock(end.e);
	return n;
}

void await_wire(void)
{
	rn_ns begin = rnp_engine_now();

	while (wires() == 0) {
		rnp_engine_poll(end.e);
		rnp_engine_pause(end.e, kit_has_entry, &end);
		kit_not_forever(begin);
	}
}

/* Starts rocind from a child process: rn_rocind_connect() uses clones that share memory
 * with their parent, which ThreadSanitizer does not support.
 */
void start_rocind(void)
{
	char err[300] = "";
	pid_t pid;

	setenv("ROCIN_ROCIND", KIT_ROCIND, 1);
	pid = fork();
	if (pid == 0)
		_exit(rn_rocind_connect(NULL, err, sizeof(err)) ? 0 : 1);
	await_child(pid);
}

void stop_rocind(void)
{
	char err[300] = "";
	struct rn_rocind *r = rn_rocind_connect_running(err, sizeof(err));

	if (!r)
		return;
	rn_rocind_shutdown(r, err, sizeof(err));
	rn_rocind_close(r);
}

/* -------------------------------------------------------------------------- set-up */
int peer_setup(unsigned base)
{
	snprintf(runtime_dir, sizeof(runtime_dir), "/tmp/rocin-engine-XXXXXX");
	if (!mkdtemp(runtime_dir))
		return -1;
	setenv("ROCIN_RUNTIME_DIR", runtime_dir, 1);
	kit_environment(base);
	start_rocind();
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int peer_teardown(void **state)
{
	(void)state;
	stop_rocind();
	return nftw(runtime_dir, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}
