/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server.h - the server of rocind, which has one thread and one epoll set.
 *
 * Only one event at a time is read from epoll, because the function that handles it may
 * free any source, and a second event could point to a freed one.
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
	int fd; /* -1: not in use */
	/* the server whose epoll set contains the descriptor; NULL: none */
	struct rnd_server *server;
	void *ctx;
	void (*on_ready)(void *ctx); /* may free the source */
};

struct rnd_client; /* declared in client.h */
struct rnd_slot0;
struct rnd_faults;
struct rnd_cm; /* declared in cm.h */

struct rnd_server {
	int epoll_fd;
	int lock_fd; /* locked with flock() by the only rocind of the runtime directory */
	/* Listening socket passed by a service manager, whose file is not removed;
	 * -1: none.
	 */
	int passed_fd;
	/* Reserve descriptor: when no other is left, it is closed in order to accept a
	 * connection and close that.
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
	rn_ns idle_from;  /* time at which a client last connected or ended */
	/* rocind was started by a client, and no client has connected yet. */
	bool awaits_starter;
	bool stopping;
	/* The client that asked rocind to end, or NULL. No requests are processed after
	 * that one, so the client still exists at the end.
	 */
	struct rnd_client *stop_asked_by;
	struct rnd_faults *faults; /* NULL: no fault rules were ever set; see faults.h */
};

/**
 * rnd_server_open() - Start to listen as the only rocind of a runtime directory and
 * network namespace
 * @server:	Out; must not be moved until rnd_server_close()
 * @idle_ms:	End after this time without clients; 0: never
 *
 * Return: 0 when rocind listens; -EALREADY if there is another rocind; or -errno. On an
 *	error @err has the error text.
 */
int rnd_server_open(struct rnd_server *server, uint32_t idle_ms, char *err,
		    size_t err_len);

/* Serves clients until rocind has been idle for its idle time, a signal comes, or a
 * client asks for the end. Then notifies all clients of the end.
 */
void rnd_server_run(struct rnd_server *server);

void rnd_server_close(struct rnd_server *server);

/* Initialises everything that needs no descriptors. Returns 0 or -ENOMEM;
 * rnd_server_close() must be called in both cases.
 */
int rnd_server_init(struct rnd_server *server, uint32_t idle_ms);

/* Adds @source to the epoll set, for input. Returns 0 or -errno. */
int rnd_server_watch(struct rnd_server *server, struct rnd_source *source);

/* Removes the source from the epoll set; does nothing if it is not in there. Closing the
 * descriptor would not suffice: the kernel would go on reporting events if another
 * process has a copy of the descriptor.
 */
void rnd_source_forget(struct rnd_source *source);

/* Removes the source from the epoll set and closes its descriptor; does nothing if that
 * is -1.
 */
void rnd_source_close(struct rnd_source *source);

/* ---- Socket activation ---- */

/* A service manager may pass a listening socket by the convention of sd_listen_fds(3):
 * LISTEN_PID is the id of the process that gets the sockets, LISTEN_FDS the number of
 * sockets, and the first one is descriptor 3.
 *
 * Clients use a name that contains their network namespace, which the file of a systemd
 * unit cannot express. So the unit makes a symbolic link with this name, and rocind
 * checks that the link leads to the socket.
 */

/* Did a service manager pass a socket to this process? Changes nothing. */
bool rnd_is_activated(void);

/**
 * rnd_activation_take() - Take over the socket that was passed
 * @dir:	Runtime directory
 * @name:	File name of the socket that clients connect to
 *
 * Removes LISTEN_PID and its companions from the environment.
 *
 * Return: the socket, non-blocking and close-on-exec; -ENOENT if none was passed; -EINVAL
 *	with an error text if it is not the socket that clients connect to.
 */
int rnd_activation_take(const char *dir, const char *name, char *err, size_t err_len);

#endif /* RND_SERVER_H */
