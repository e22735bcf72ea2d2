/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* client.c - reads and writes files of a network drive: asks the server, which transfers
 * by RDMA to and from memory that is registered for the time of the request.
 */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"

/* A connection to a server, shared by the files of this process. */
struct server {
	struct server *next;
	char name[64], address[16];
	unsigned files;
	pthread_mutex_t lock; /* held for the time of a request */
	bool is_gone;	      /* the server has ended, or answers wrongly */
	uint64_t id;	      /* of the last request */
	struct rn_netdrive_link link;
};

struct rn_netdrive_file {
	struct server *server;
	char path[RN_NETDRIVE_PATH];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list of servers */
static struct server *servers;

/* -------------------------------------------------------------------- connections */
static bool parse_name(const char *name, struct sockaddr_in *to)
{
	unsigned port = RN_NETDRIVE_PORT;
	char ip[16], rest;
	int n = sscanf(name, "%15[0-9.]:%5u%c", ip, &port, &rest);

	to->sin_family = AF_INET;
	to->sin_port = htons((uint16_t)port);
	return (n == 1 || n == 2) && port > 0 && port < 65536 &&
	       (n == 2 || !strchr(name, ':')) &&
	       inet_pton(AF_INET, ip, &to->sin_addr) == 1;
}

static int dial(const char *name, char *err, size_t err_len)
{
	struct sockaddr_in to = { 0 };
	int one = 1, tcp;

	if (!parse_name(name, &to)) {
		snprintf(err, err_len,
			 "\"%s\" is no address of a server, like 10.0.0.1:%d", name,
			 RN_NETDRIVE_PORT);
		return -1;
	}
	tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (tcp < 0 || connect(tcp, (struct sockaddr *)&to, sizeof(to))) {
		snprintf(err, err_len, "the storage server %s cannot be reached: %s",
			 name, strerror(errno));
		if (tcp >= 0)
			close(tcp);
		return -1;
	}
	(void)setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return tcp;
}

/* Finds or makes the connection to a server. Called with the lock held. */
static struct server *find_server(const char *name, const char *address, char *err,
				  size_t err_len)
{
	struct server *s;
	int tcp;

	for (s = servers; s; s = s->next)
		if (!s->is_gone && !strcmp(s->name, name) &&
		    !strcmp(s->address, address ? address : ""))
			return s;
	tcp = dial(name, err, err_len);
	if (tcp < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s) {
		close(tcp);
		snprintf(err, err_len, "no memory for a connection");
		return NULL;
	}
	if (rn_netdrive_link_open(&s->link, tcp, address, err, err_len)) {
		free(s);
		return NULL;
	}
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->address, sizeof(s->address), "%s", address ? address : "");
	pthread_mutex_init(&s->lock, NULL);
	s->next = servers;
	servers = s;
	return s;
}

static struct rn_netdrive_file *open_file(const char *server, const char *path,
					  const char *address, char *err, size_t err_len)
{
	struct rn_netdrive_file *f;

	if (strlen(path) >= RN_NETDRIVE_PATH || strlen(server) >= 64) {
		snprintf(err, err_len, "the path of a file is longer than %d bytes",
			 RN_NETDRIVE_PATH - 1);
		return NULL;
	}
	f = calloc(1, sizeof(*f));
	if (!f) {
		snprintf(err, err_len, "no memory for a file");
		return NULL;
	}
	snprintf(f->path, sizeof(f->path), "%s", path);
	pthread_mutex_lock(&lock);
	f->server = find_server(server, address, err, err_len);
	if (f->server)
		f->server->files++;
	pthread_mutex_unlock(&lock);
	if (!f->server) {
		free(f);
		return NULL;
	}
	return f;
}

static void close_file(void *ctx)
{
	struct rn_netdrive_file *f = ctx;
	struct server **at = &servers, *s = f->server;
	bool is_last;

	pthread_mutex_lock(&lock);
	is_last = --s->files == 0;
	if (is_last) {
		while (*at != s)
			at = &(*at)->next;
		*at = s->next;
	}
	pthread_mutex_unlock(&lock);
	free(f);
	if (!is_last)
		return;
	rn_netdrive_link_close(&s->link);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ----------------------------------------------------------------------- requests */
/* Sends the request in messages[0] and waits for its answer. Returns bytes or -errno. */
static int64_t ask(struct server *s, uint64_t len)
{
	struct rn_netdrive_link *l = &s->link;
	const struct rn_netdrive_answer *answer = &l->messages[1].answer;
	int64_t result;
	int err = rn_netdrive_link_send(l, sizeof(struct rn_netdrive_request));

	if (!err)
		err = rn_netdrive_link_wait(l, IBV_WC_RECV, RN_NETDRIVE_PATIENCE);
	if (err != (int)sizeof(*answer) || answer->id != s->id ||
	    answer->result > (int64_t)len || answer->result < -4095) {
		s->is_gone = true;
		return err < 0 ? err : -EPROTO;
	}
	result = answer->result;
	if (rn_netdrive_link_receive(l))
		s->is_gone = true;
	return result;
}

static ssize_t request(const struct rn_netdrive_file *f, enum rn_netdrive_op op,
		       void *memory, size_t len, off_t offset)
{
	struct server *s = f->server;
	struct ibv_mr *mr;
	int64_t result;

	if (len > RN_NETDRIVE_MAX)
		len = RN_NETDRIVE_MAX;
	pthread_mutex_lock(&s->lock);
	mr = s->is_gone
		     ? NULL
		     : ibv_reg_mr(s->link.pd, memory, len,
				  op == RN_NETDRIVE_READ ? IBV_ACCESS_LOCAL_WRITE |
								   IBV_ACCESS_REMOTE_WRITE
							 : IBV_ACCESS_REMOTE_READ);
	if (!mr) {
		result = s->is_gone ? -ECONNRESET : -EFAULT;
		goto out;
	}
	s->link.messages[0].request =
		(struct rn_netdrive_request){ .id = ++s->id,
					      .addr = (uintptr_t)memory,
					      .offset = (uint64_t)offset,
					      .len = len,
					      .rkey = mr->rkey,
					      .op = op };
	memcpy(s->link.messages[0].request.path, f->path, sizeof(f->path));
	result = ask(s, len);
	ibv_dereg_mr(mr);
out:
	pthread_mutex_unlock(&s->lock);
	return (ssize_t)result;
}

static ssize_t read_file(void *ctx, void *memory, size_t len, off_t offset)
{
	return request(ctx, RN_NETDRIVE_READ, memory, len, offset);
}

static ssize_t write_file(void *ctx, const void *memory, size_t len, off_t offset)
{
	return request(ctx, RN_NETDRIVE_WRITE, (void *)memory, len, offset);
}

__attribute__((visibility("default"))) const struct rn_netdrive_api rn_netdrive_api = {
	.open = open_file,
	.ops = { .read = read_file, .write = write_file, .close = close_file },
};
