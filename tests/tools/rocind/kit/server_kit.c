/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server_kit.c - see server_kit.h. */
#include "server_kit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct rnd_server server;

static char runtime_dir[64]; /* of the server: counters of programs that have ended */

int server_setup(void **state)
{
	int rc = rnd_server_init(&server, 0);

	(void)state;
	strcpy(runtime_dir, "/tmp/rocin-server-XXXXXX");
	if (!mkdtemp(runtime_dir))
		return -1;
	strcpy(server.dir, runtime_dir);
	server.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return server.epoll_fd >= 0 ? rc : -1;
}

static int remove_runtime_dir(void)
{
	DIR *dir = opendir(runtime_dir);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	return rmdir(runtime_dir);
}

int server_teardown(void **state)
{
	(void)state;
	rnd_server_close(&server);
	return remove_runtime_dir();
}

void server_listens(void)
{
	const struct sockaddr any = { .sa_family = AF_UNIX }; /* The kernel names it. */
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, &any, sizeof(any.sa_family)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(rnd_server_listen(&server, fd), 0);
	server.lock_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
}

unsigned serve(void)
{
	struct epoll_event event;
	unsigned n = 0;

	while (epoll_wait(server.epoll_fd, &event, 1, 0) == 1) {
		const struct rnd_source *source = event.data.ptr;

		source->on_ready(source->ctx);
		if (++n == 100)
			fail_msg("rocind is kept busy");
	}
	return n;
}

unsigned open_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

struct rn_gid server_gid(unsigned n)
{
	uint32_t host = htonl(0x7f800000u | ((uint32_t)getpid() & 0x3fff) << 8 | n);
	struct rn_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	assert_in_range(n, 0, 255);
	memcpy(gid.raw + 12, &host, sizeof(host));
	return gid;
}

/* ---- Clients ---- */

struct guest come_in(void)
{
	struct guest guest;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
				    pair),
			 0);
	rnd_client_accept(&server, pair[0]);
	guest = (struct guest){ .client = server.clients, .sock = pair[1] };
	while (guest.client && guest.client->next)
		guest.client = guest.client->next;
	return guest;
}

struct guest come_and_greet(void)
{
	const struct rn_ctl_hello hello = { .hdr = rn_ctl_hdr(RN_CTL_HELLO) };
	struct guest guest = come_in();

	request(&guest, &hello, -1);
	hear(&guest, RN_CTL_WELCOME);
	return guest;
}

void go(struct guest *guest)
{
	close(guest->sock);
	*guest = (struct guest){ .sock = -1 };
	serve();
}

void request(const struct guest *guest, const void *msg, int fd)
{
	assert_int_equal(rn_ctl_send(guest->sock, msg, &fd, fd >= 0), 0);
	serve();
}

struct rn_ctl_packet hear_all(const struct guest *guest, enum rn_ctl_type type)
{
	struct rn_ctl_packet pkt;

	assert_int_equal(rn_ctl_receive(guest->sock, &pkt), 0);
	if (pkt.msg.hdr.type == RN_CTL_REFUSED && type != RN_CTL_REFUSED)
		fail_msg("refused: %s", pkt.msg.refused.text);
	assert_int_equal(pkt.msg.hdr.type, type);
	return pkt;
}

union rn_ctl_msg hear(const struct guest *guest, enum rn_ctl_type type)
{
	struct rn_ctl_packet pkt = hear_all(guest, type);

	rn_ctl_close_fds(&pkt);
	return pkt.msg;
}

bool hears_nothing(const struct guest *guest)
{
	struct rn_ctl_packet pkt;
	int rc = rn_ctl_receive(guest->sock, &pkt);

	if (rc == 0)
		rn_ctl_close_fds(&pkt);
	return rc == -EAGAIN;
}

void stop_listening(const struct guest *guest)
{
	while (send(guest->client->sock.fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	assert_int_equal(errno, EAGAIN);
}

struct rn_ctl_attach attach_request(unsigned first, unsigned count)
{
	struct rn_ctl_attach rq = { .hdr = rn_ctl_hdr(RN_CTL_ATTACH),
				    .ibdev = "rocin0",
				    .ifname = "lo",
				    .ifindex = 1,
				    .gid_count = count,
				    .up = 1 };

	assert_in_range(count, 1, RN_GID_MAX);
	for (unsigned i = 0; i < count; i++)
		rq.gid[i] = server_gid(first + i);
	return rq;
}

void attach(const struct guest *guest, const struct rn_ctl_attach *rq, int stats)
{
	request(guest, rq, stats);
	hear(guest, RN_CTL_ATTACHED);
}
