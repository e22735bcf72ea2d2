/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server.c - rocin-netdrive, the server of network drives: serves the files of a folder
 * to users, each in a thread, by RDMA WRITE into their memory and RDMA READ from there.
 *
 * usage: rocin-netdrive FOLDER ADDRESS[:PORT] [rw]
 *
 * Nothing outside of the folder is served: paths are resolved beneath it by the kernel.
 * What a user asks for wrongly is answered by an errno.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link.h"

static int folder = -1;
static bool is_writable;

struct user {
	struct rn_netdrive_link link;
	uint8_t *piece; /* RN_NETDRIVE_PIECE bytes */
	struct ibv_mr *mr;
};

/* ------------------------------------------------------------------------- files */
static int open_beneath(const char *path, bool is_write)
{
	struct open_how how = { .flags = (uint64_t)((is_write ? O_RDWR : O_RDONLY) |
						    O_CLOEXEC | O_NONBLOCK),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Transfers @len bytes of the piece to or from the user. Returns 0 or -errno. */
static int rdma(struct user *u, const struct rn_netdrive_request *r, uint64_t at,
		uint32_t len, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { (uintptr_t)u->piece, len, u->mr->lkey };
	struct ibv_send_wr *bad,
		wr = { .sg_list = &sge,
		       .num_sge = 1,
		       .opcode = opcode,
		       .wr.rdma = { .remote_addr = r->addr + at, .rkey = r->rkey } };
	int err = ibv_post_send(u->link.qp, &wr, &bad);

	if (err)
		return -err;
	err = rn_netdrive_link_wait(&u->link,
				    opcode == IBV_WR_RDMA_WRITE ? IBV_WC_RDMA_WRITE
								: IBV_WC_RDMA_READ,
				    RN_NETDRIVE_PATIENCE);
	return err < 0 ? err : 0;
}

/* Transfers one piece at @at. Returns bytes, 0 at the end of the file, or -errno. */
static ssize_t one_piece(struct user *u, const struct rn_netdrive_request *r, int fd,
			 uint64_t at, bool *is_broken)
{
	uint64_t left = r->len - at;
	size_t len = left < RN_NETDRIVE_PIECE ? (size_t)left : RN_NETDRIVE_PIECE;
	off_t offset = (off_t)(r->offset + at);
	ssize_t n = (ssize_t)len;
	int err = 0;

	if (r->op == RN_NETDRIVE_READ)
		n = pread(fd, u->piece, len, offset);
	if (n < 0)
		return -errno;
	if (n > 0)
		err = rdma(u, r, at, (uint32_t)n,
			   r->op == RN_NETDRIVE_READ ? IBV_WR_RDMA_WRITE
						     : IBV_WR_RDMA_READ);
	*is_broken = err != 0;
	if (!err && r->op == RN_NETDRIVE_WRITE)
		n = pwrite(fd, u->piece, len, offset);
	return err ? err : n < 0 ? -errno : n;
}

/* Performs a request. Returns bytes or -errno. If the queue pair has an error, the user
 * cannot be answered, and *@is_broken is set.
 */
static int64_t perform(struct user *u, const struct rn_netdrive_request *r,
		       bool *is_broken)
{
	uint64_t at = 0;
	ssize_t n = 0;
	int fd;

	if ((r->op != RN_NETDRIVE_READ && r->op != RN_NETDRIVE_WRITE) ||
	    r->len > RN_NETDRIVE_MAX ||
	    r->offset > (uint64_t)INT64_MAX - RN_NETDRIVE_MAX ||
	    !memchr(r->path, '\0', sizeof(r->path)))
		return -EINVAL;
	if (r->op == RN_NETDRIVE_WRITE && !is_writable)
		return -EROFS;
	fd = open_beneath(r->path, r->op == RN_NETDRIVE_WRITE);
	if (fd < 0)
		return fd;
	while (at < r->len) {
		n = one_piece(u, r, fd, at, is_broken);
		if (n <= 0)
			break;
		at += (uint64_t)n;
	}
	close(fd);
	return at > 0 ? (int64_t)at : n;
}

/* ------------------------------------------------------------------------- users */
static void serve(struct user *u)
{
	struct rn_netdrive_link *l = &u->link;
	bool is_broken = false;

	while (!is_broken && rn_netdrive_link_wait(l, IBV_WC_RECV, 0) ==
				     sizeof(struct rn_netdrive_request)) {
		struct rn_netdrive_request r = l->messages[1].request;

		if (rn_netdrive_link_receive(l))
			break;
		l->messages[0].answer = (struct rn_netdrive_answer){
			.id = r.id, .result = perform(u, &r, &is_broken)
		};
		if (is_broken ||
		    rn_netdrive_link_send(l, sizeof(struct rn_netdrive_answer)) ||
		    rn_netdrive_link_wait(l, IBV_WC_SEND, RN_NETDRIVE_PATIENCE) < 0)
			break;
	}
}

static void *user_main(void *arg)
{
	struct user u = { 0 };
	char err[256];

	if (rn_netdrive_link_open(&u.link, (int)(intptr_t)arg, NULL, err, sizeof(err))) {
		fprintf(stderr, "rocin-netdrive: a user was refused: %s\n", err);
		return NULL;
	}
	u.piece = aligned_alloc(4096, RN_NETDRIVE_PIECE);
	u.mr = u.piece ? ibv_reg_mr(u.link.pd, u.piece, RN_NETDRIVE_PIECE,
				    IBV_ACCESS_LOCAL_WRITE)
		       : NULL;
	if (u.mr) {
		serve(&u);
		ibv_dereg_mr(u.mr);
	}
	rn_netdrive_link_close(&u.link);
	free(u.piece);
	return NULL;
}

static int listen_at(const char *name)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	unsigned port = RN_NETDRIVE_PORT;
	char ip[16], rest;
	int n = sscanf(name, "%15[0-9.]:%5u%c", ip, &port, &rest), one = 1, s;

	if (n < 1 || n > 2 || port > 65535 || inet_pton(AF_INET, ip, &at.sin_addr) != 1) {
		fprintf(stderr, "rocin-netdrive: \"%s\" is no address like 10.0.0.1:%d\n",
			name, RN_NETDRIVE_PORT);
		return -1;
	}
	at.sin_port = htons((uint16_t)port);
	s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s >= 0)
		(void)setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (s < 0 || bind(s, (struct sockaddr *)&at, sizeof(at)) || listen(s, 16)) {
		fprintf(stderr, "rocin-netdrive: %s cannot be listened at: %s\n", name,
			strerror(errno));
		return -1;
	}
	return s;
}

int main(int argc, char **argv)
{
	int s;

	if (argc < 3 || argc > 4 || (argc == 4 && strcmp(argv[3], "rw") != 0)) {
		fprintf(stderr, "usage: rocin-netdrive FOLDER ADDRESS[:PORT] [rw]\n");
		return 64;
	}
	is_writable = argc == 4;
	folder = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0) {
		fprintf(stderr, "rocin-netdrive: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	s = listen_at(argv[2]);
	if (s < 0)
		return 1;
	printf("serving %s at %s\n", argv[1], argv[2]);
	fflush(stdout);
	for (;;) {
		int tcp = accept4(s, NULL, NULL, SOCK_CLOEXEC);
		void *tcp_arg =
			(void *)(intptr_t)tcp; /* NOLINT(performance-no-int-to-ptr) */
		pthread_t thread;

		if (tcp < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (tcp < 0) {
			perror("rocin-netdrive: accept");
			return 1;
		}
		if (pthread_create(&thread, NULL, user_main, tcp_arg))
			close(tcp);
		else
			pthread_detach(thread);
	}
}
