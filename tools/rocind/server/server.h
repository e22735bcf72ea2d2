/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server.h - rocind: one thread, one epoll set.
 *
 * Only one event at a time is read from epoll, so that the function that handles it may
 * free any source: there are no further events that point to a freed one.
 */
#ifndef RND_SERVER_H
#define RND_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/rocind/net/attach.h"
#include "tools/rocind/net/iface.h"
#include "transport/io/rocind/rocind_client.h"

struct rnd_server;

/* A descriptor that rocind waits for. */
struct rnd_source {
	int fd;			   /* -1: not in use */
	struct rnd_server *server; /* the server that waits for it; NULL: none does */
	void *ctx;
	void (*on_ready)(void *ctx); /* may free the source */
};

struct rnd_client; /* declared in client.h */
struct rnd_slot0;
struct rnd_faults;
struct rnd_cm; /* declared in cm.h */

struct rnd_server {
	int epoll_fd;
	int lock_fd; /* with flock(): proves that this is the only rocind */
	/* Listening socket that a service manager passed; its file is not removed. */
	int passed_fd;
	/* Closed for a moment to accept and close a connection when no descriptor is
	 * left.
	 */
	int spare_fd;
	char dir[1024]; /* runtime directory */
	char sock_name[64];
	struct rnd_source listener;
	struct rnd_source signals;
	struct rnd_source netlink;
	struct rnd_links links;
	struct rnd_groups groups;
	struct rnd_cm *cm;	    /* connection manager */
	struct rnd_slot0 *slot0;    /* list, one for each group */
	struct rnd_client *clients; /* list of clients, the oldest first */
	uint64_t last_client_id;
	uint64_t drops[RN_ROCIND_DROP_COUNT];
	int64_t since_s;  /* time of the start, Unix time in seconds */
	uint32_t idle_ms; /* 0: rocind never ends by itself */
	rn_ns idle_from;  /* when a client last came or went */
	/* A client has started rocind, and no client has connected yet. */
	bool awaits_starter;
	bool stopping;
	/* The client that asked for the end, or NULL. No requests are served after this
	 * one, so the client still exists at the end.
	 */
	struct rnd_client *stop_asked_by;
	struct rnd_faults *faults; /* NULL: there never were rules; see faults.h */
};

/**
 * rnd_server_open() - Become the rocind of this runtime directory and network namespace
 * @server:	Out; must not be moved until rnd_server_close()
 * @idle_ms:	End after this time without clients; 0: never
 *
 * Return: 0, and then rocind listens; -EALREADY if there is another rocind; or -errno. On
 *	an error @err has a sentence.
 */
int rnd_server_open(struct rnd_server *server, uint32_t idle_ms, char *err,
		    size_t err_len);

/* Serves clients until rocind is idle, a signal comes or a client asks for the end; then
 * tells all clients.
 */
void rnd_server_run(struct rnd_server *server);

void rnd_server_close(struct rnd_server *server);

/* Initialises everything that needs no descriptors. Returns 0 or -ENOMEM;
 * rnd_server_close() must be called in both cases.
 */
int rnd_server_init(struct rnd_server *server, uint32_t idle_ms);

/* Starts to wait for input at @source. Returns 0 or -errno. */
int rnd_server_watch(struct rnd_server *server, struct rnd_source *source);

/* Stops waiting; does nothing if nothing waits. Closing the descriptor would not suffice:
 * a program may have another descriptor of the same socket, and the kernel would go on
 * reporting events.
 */
void rnd_source_forget(struct rnd_source *source);

/* Stops waiting and closes the descriptor; does nothing if it is -1. */
void rnd_source_close(struct rnd_source *source);

/* ---- Socket activation ---- */

/* A service manager may pass a listening socket by the convention of sd_listen_fds(3):
 * LISTEN_PID is the process it is for, LISTEN_FDS the number of sockets, and the first
 * one is descriptor 3.
 *
 * Clients use a name that contains their network namespace, which the file of a systemd
 * unit cannot express. So the unit makes a link with this name; rocind checks that it
 * leads to the socket.
 */

/* Was a socket passed to this process? Changes nothing. */
bool rnd_is_activated(void);

/**
 * rnd_activation_take() - Take over the socket that was passed
 * @dir:	Runtime directory
 * @name:	File name of the socket that clients connect to
 *
 * Removes the variables from the environment.
 *
 * Return: the socket, non-blocking and close-on-exec; -ENOENT if none was passed; -EINVAL
 *	with a sentence if it is not the socket that clients connect to.
 */
int rnd_activation_take(const char *dir, const char *name, char *err, size_t err_len);

#endif /* RND_SERVER_H */
