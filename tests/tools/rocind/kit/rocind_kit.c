/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_kit.c - see rocind_kit.h. */
#include "rocind_kit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char runtime_dir[64];
static unsigned test_number;

int kit_setup(void **state)
{
	(void)state;
	test_number++;
	snprintf(runtime_dir, sizeof(runtime_dir), "/tmp/rocin-test-XXXXXX");
	if (!mkdtemp(runtime_dir))
		return -1;
	setenv("ROCIN_RUNTIME_DIR", runtime_dir, 1);
	setenv("ROCIN_IDLE_MS", "60000", 1);
	setenv("ROCIN_NEIGHBOURS", "all", 1); /* kit_send() is a plain socket */
	setenv("ROCIN_ROCIND", KIT_ROCIND, 1);
	unsetenv("ROCIN_KEEPER");
	return 0;
}

int kit_setup_mortal(void **state)
{
	int rc = kit_setup(state);

	setenv("ROCIN_KEEPER", "no", 1);
	return rc;
}

static void end_daemon_in(const char *dir)
{
	struct rn_rocind_status status = { 0 };
	struct rn_rocind *r;

	setenv("ROCIN_RUNTIME_DIR", dir, 1);
	r = rn_rocind_connect_running(NULL, 0);
	if (r && rn_rocind_status(r, &status, NULL, 0) == 0) {
		rn_rocind_shutdown(r, NULL, 0);
		kit_await_end(status.pid);
	}
	rn_rocind_close(r);
}

/* A runtime directory and those inside it, with their daemons. */
static void clear_dir(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;

	end_daemon_in(path);
	while (dir && (d = readdir(dir))) {
		char inside[512];

		if (d->d_type == DT_DIR && d->d_name[0] != '.') {
			snprintf(inside, sizeof(inside), "%s/%s", path, d->d_name);
			clear_dir(inside);
		} else {
			unlinkat(dirfd(dir), d->d_name, 0);
		}
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

int kit_teardown(void **state)
{
	(void)state;
	chmod(runtime_dir, 0700);
	clear_dir(runtime_dir);
	return 0;
}

const char *kit_runtime_dir(void)
{
	return runtime_dir;
}

void kit_use_inner_dir(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", runtime_dir, name);
	setenv("ROCIN_RUNTIME_DIR", path, 1);
}

/* 127.64.0.0/10 has 22 bits: 14 of the process id, 5 of the test's number, so that what a
 * failed test leaves behind does not fail the next, and 3 for the test to choose.
 */
struct rn_gid kit_gid(unsigned n)
{
	uint32_t host = 0x7f400000u | ((uint32_t)getpid() & 0x3fff) << 8 |
			(test_number & 0x1f) << 3 | n;
	struct rn_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	assert_in_range(n, 0, 7);
	host = htonl(host);
	memcpy(gid.raw + 12, &host, sizeof(host));
	return gid;
}

struct rn_netdev kit_device(unsigned gid_count)
{
	struct rn_netdev dev = { .ibdev = "rocin0",
				 .ifname = "lo",
				 .ifindex = 1,
				 .mtu = 65536,
				 .up = true,
				 .node_guid = 1,
				 .gid_count = gid_count };

	for (unsigned i = 0; i < gid_count; i++)
		dev.gid[i] = kit_gid(i);
	return dev;
}

struct rn_rocind *kit_connect(void)
{
	char why[512] = "";
	struct rn_rocind *r = rn_rocind_connect(NULL, why, sizeof(why));

	if (!r)
		fail_msg("connect: %s (%s)", why, strerror(errno));
	return r;
}

struct rn_rocind *kit_attach(const struct rn_netdev *dev, struct rn_attach *out)
{
	struct rn_rocind *r = kit_connect();
	char why[512] = "";
	int rc = rn_rocind_attach(r, dev, -1, out, why, sizeof(why));

	if (rc)
		fail_msg("attach: %s (%s)", why, strerror(-rc));
	return r;
}

void kit_close_socks(struct rn_attach *a)
{
	for (unsigned i = 0; i < a->sock_count; i++)
		close(a->sock[i]);
	a->sock_count = 0;
}

void kit_send(const struct rn_gid *to, uint32_t qpn, size_t len)
{
	uint8_t packet[64] = {
		4,	     0, 0xff, 0xff, 0, (uint8_t)(qpn >> 16), (uint8_t)(qpn >> 8),
		(uint8_t)qpn
	};
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_in_range(len, 0, sizeof(packet));
	memcpy(&sa.sin_addr, to->raw + 12, 4);
	assert_int_equal(sendto(fd, packet, len, 0, (struct sockaddr *)&sa, sizeof(sa)),
			 len);
	close(fd);
}

uint32_t kit_receive(int sock)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };
	uint8_t packet[64];

	assert_int_equal(poll(&pfd, 1, KIT_WAIT_MS), 1);
	assert_in_range(recv(sock, packet, sizeof(packet), MSG_DONTWAIT), 12,
			sizeof(packet));
	return (uint32_t)packet[5] << 16 | (uint32_t)packet[6] << 8 | packet[7];
}

bool kit_is_empty(int sock)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };

	return poll(&pfd, 1, 0) == 0;
}

struct rn_rocind_event kit_event(struct rn_rocind *r)
{
	struct pollfd pfd = { .fd = rn_rocind_fd(r), .events = POLLIN };
	struct rn_rocind_event event;

	while (rn_rocind_event(r, &event) == -EAGAIN)
		if (poll(&pfd, 1, KIT_WAIT_MS) != 1)
			fail_msg("no event came");
	return event;
}

void kit_await_end(pid_t pid)
{
	struct pollfd pfd = { .fd = (int)syscall(SYS_pidfd_open, pid, 0),
			      .events = POLLIN };

	if (pfd.fd < 0)
		return; /* it has ended already */
	if (poll(&pfd, 1, KIT_WAIT_MS) != 1) {
		kill(pid, SIGKILL);
		fail_msg("process %d did not end", (int)pid);
	}
	close(pfd.fd);
}

pid_t kit_daemon(struct rn_rocind *r)
{
	struct rn_rocind_status status;

	assert_int_equal(rn_rocind_status(r, &status, NULL, 0), 0);
	return status.pid;
}
