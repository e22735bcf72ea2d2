/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server.h - the daemon: one thread, one epoll set.
 *
 * Only one event is taken from the kernel at a time, so that a handler may free any
 * source but never meets an event of one that is gone.
 */
#ifndef RND_SERVER_H
#define RND_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/rocind/net/attach.h"
#include "tools/rocind/net/iface.h"
#include "transport/io/rocind/rocind_client.h"

struct rnd_server;

/* Something to wait for. */
struct rnd_source {
	int fd;			   /* -1: not in use */
	struct rnd_server *server; /* that waits for it, or NULL */
	void *ctx;
	void (*on_ready)(void *ctx); /* may free the source */
};

struct rnd_client; /* client.h */
struct rnd_slot0;
struct rnd_faults;
struct rnd_cm; /* cm.h */

struct rnd_server {
	int epoll_fd;
	int lock_fd;	/* flock held: this is the only rocind here */
	int passed_fd;	/* of the listener, if it was passed and is not ours to remove */
	int spare_fd;	/* given up for a moment to turn clients away when none is left */
	char dir[1024]; /* runtime directory */
	char sock_name[64];
	struct rnd_source listener;
	struct rnd_source signals;
	struct rnd_source netlink;
	struct rnd_links links;
	struct rnd_groups groups;
	struct rnd_cm *cm;	    /* connections of programs */
	struct rnd_slot0 *slot0;    /* list; one for each group */
	struct rnd_client *clients; /* list, oldest first */
	uint64_t last_client_id;
	uint64_t drops[RN_ROCIND_DROP_COUNT];
	int64_t since_s;     /* Unix time */
	uint32_t idle_ms;    /* 0: for ever */
	rn_ns idle_from;     /* when a client came or went last */
	bool awaits_starter; /* a client has started us, and none has come yet */
	bool stopping;
	/* Or NULL. Nothing is served after its request, so that it is there to the end.
	 */
	struct rnd_client *stop_asked_by;
	struct rnd_faults *faults; /* NULL: never any; faults.h */
};

/**
 * rnd_server_open() - Become the rocind of this runtime directory and namespace
 * @server:	Out; stays where it is until rnd_server_close()
 * @idle_ms:	End after so long without clients; 0: never
 *
 * Return: 0 and listening, -EALREADY (another one is there), or -errno, with a sentence.
 */
int rnd_server_open(struct rnd_server *server, uint32_t idle_ms, char *err,
		    size_t err_len);

/* Serve until idle, a signal or a shutdown request, then say goodbye. */
void rnd_server_run(struct rnd_server *server);

void rnd_server_close(struct rnd_server *server);

/* All but what rnd_server_open() opens. Return: 0 or -ENOMEM; rnd_server_close() either
 * way.
 */
int rnd_server_init(struct rnd_server *server, uint32_t idle_ms);

/* Wait for input at @source from now on. Return: 0 or -errno. */
int rnd_server_watch(struct rnd_server *server, struct rnd_source *source);

/* Stop waiting; nothing if nobody waits. Closing the descriptor is not enough: a program
 * may have another one of the same socket, for which the kernel goes on waiting.
 */
void rnd_source_forget(struct rnd_source *source);

/* Stop waiting and close the descriptor; nothing if it is -1. */
void rnd_source_close(struct rnd_source *source);

/* ---- Activation ---- */

/* Activation: a listening socket that a service manager passed, by the convention of
 * sd_listen_fds(3): LISTEN_PID says for whom, LISTEN_FDS how many, and they begin at
 * descriptor 3.
 *
 * Clients look for the socket under a name with their network namespace in it, which a
 * unit cannot spell; so the unit makes a link of that name, and what counts is that it
 * leads here.
 */

/* Was a socket passed to this process? Changes nothing. */
bool rnd_is_activated(void);

/**
 * rnd_activation_take() - The socket that was passed
 * @dir:	Runtime directory
 * @name:	Name in it under which clients look for the socket
 *
 * The variables are taken out of the environment.
 *
 * Return: the socket, non-blocking and close-on-exec, -ENOENT (none was passed), or
 *	   -EINVAL with a sentence (what was passed is not what clients would find).
 */
int rnd_activation_take(const char *dir, const char *name, char *err, size_t err_len);

#endif /* RND_SERVER_H */
