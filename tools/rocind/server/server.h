/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server.h - the server of rocind: its state, the clients that are connected to it, and
 * the requests that it serves. It has one thread and one epoll set.
 *
 * Only one event at a time is read from epoll, because the function that handles it may
 * free any source, and a second event could point to a freed one.
 */
#ifndef RND_SERVER_H
#define RND_SERVER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rocin/types.h"
#include "tools/rocind/keeper/keeper.h"
#include "tools/rocind/net/attach.h"
#include "tools/rocind/net/iface.h"
#include "transport/io/host/clock.h"
#include "transport/io/rocind/ctl_socket.h"
#include "transport/io/rocind/rocind_client.h"

struct rnd_server;

/* Returns the current time by the clock of rocind. */
static inline rn_ns rnd_now(void)
{
	return rn_clock(CLOCK_MONOTONIC);
}

/* A descriptor that rocind waits for. */
struct rnd_source {
	int fd; /* the descriptor; -1: not in use */
	/* the server whose epoll set contains the descriptor; NULL: none */
	struct rnd_server *server;
	void *ctx;
	/* called when the descriptor is readable; may free the source */
	void (*on_ready)(void *ctx);
};

struct rnd_client;
struct rnd_slot0;
struct rnd_faults;
struct rnd_cm; /* The connection manager, see cm.h. */

struct rnd_server {
	int epoll_fd;
	int lock_fd; /* locked with flock() by the only rocind of the runtime directory */
	/* Listening socket passed by a service manager, whose file is not removed;
	 * -1: none.
	 */
	int passed_fd;
	/* Reserve descriptor: when no other is left, it is closed, so that a connection
	 * can be accepted and closed at once.
	 */
	int spare_fd;
	char dir[1024]; /* path of the runtime directory */
	char sock_name[64];
	struct rnd_source listener;
	struct rnd_source signals;
	struct rnd_source netlink;
	struct rnd_links links;
	struct rnd_groups groups;
	struct rnd_cm *cm; /* connection manager */
	/* list of the sockets of slot 0, one for each group */
	struct rnd_slot0 *slot0;
	struct rnd_client *clients; /* list of clients, the oldest first */
	uint64_t last_client_id;
	uint64_t drops[RN_ROCIND_DROP_COUNT];
	/* time at which the ports of other admitted users are read next */
	rn_ns neighbours_at;
	int64_t since_s; /* time of the start, Unix time in seconds */
	/* time after which rocind ends without clients, in ms; 0: it never ends by itself
	 */
	uint32_t idle_ms;
	rn_ns idle_from; /* time at which a client last connected or ended */
	/* rocind was started by a client, and no client has connected yet. */
	bool awaits_starter;
	bool stopping;
	/* The client that asked rocind to end, or NULL. No requests are processed after
	 * that one, so the client still exists at the end.
	 */
	struct rnd_client *stop_asked_by;
	struct rnd_faults *faults; /* the fault rules; NULL: none were ever set */
	struct rnd_keeper keeper;
	/* becomes readable when the keeper has ended */
	struct rnd_source keeper_end;
	/* hands changes of the state to the keeper; NULL: there is no keeper (handover.c)
	 */
	void (*keep)(struct rnd_server *server);
	unsigned keepers_replaced;
	/* The rocind that has asked to take over from this one: the socket to it (-1:
	 * there is none), and its PID.
	 */
	int heir_sock;
	int32_t heir_pid;
	/* Hands over to @heir_sock: rnd_replace_hand_over(). NULL: this process runs in
	 * the foreground and does not hand over, since the process that has started it
	 * would not know the new one.
	 */
	void (*hand_over)(struct rnd_server *server);
	/* one of the numbers in the record RND_RECORD_SERVER has changed since it was
	 * copied for the keeper
	 */
	bool is_changed;
	uint64_t last_group;
	uint64_t last_wire;
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

/* ---- The keeper and the successor (handover.c) ---- */

/* Starts the keeper (keeper.h), which starts a successor if this process dies. Without
 * it, the devices of all programs are lost then.
 */
void rnd_server_start_keeper(struct rnd_server *server);

/* Restores the records of @estate in a server that rnd_server_init() has initialised, and
 * frees the estate. @old: the server at the time when the keeper was started, whose board
 * of rdma_cm ids is taken over; NULL: there is no such memory in this process, and
 * programs get another board. Records that are not valid are left out. Nothing leaves the
 * process before rnd_server_resume(). Returns 0 or -errno.
 */
int rnd_server_restore(struct rnd_server *server, struct rnd_server *old,
		       struct rnd_estate *estate);

/* Continues where the previous rocind has ended: writes this process's ID into the lock
 * file, and performs what has become due meanwhile.
 */
void rnd_server_resume(struct rnd_server *server);

/* Puts the whole state into the keeper @k, which is another process than rocind's own.
 * Returns false if that process does not take the state; then it is killed.
 */
bool rnd_server_copy_to(struct rnd_server *server, struct rnd_keeper *k);

/* ---- Replacing a rocind that runs (replace.c) ---- */

/* Hands over to the process that has asked for it (rnd_server.heir_sock). Does not return
 * if that process takes over; returns if it does not.
 */
void rnd_replace_hand_over(struct rnd_server *server);

/**
 * rnd_replace_running() - Take over from the running rocind
 * @server:	Out: initialised, ready for rnd_server_run()
 * @predecessor:	Out: process ID of the rocind that was replaced
 *
 * Return: 0; -ENOENT: none runs; or -errno, and the running rocind goes on. On an error
 *	@err has the error text.
 */
int rnd_replace_running(struct rnd_server *server, int *predecessor, char *err,
			size_t err_len);

/* The value of rnd_server.keep if there is a keeper. */
void rnd_server_keep_changes(struct rnd_server *server);

/* Hands the changes since the last call to the keeper. To be called before an answer is
 * sent, so that no program learns of a change that a successor would not know.
 */
static inline void rnd_server_commit(struct rnd_server *server)
{
	if (server->keep)
		server->keep(server);
}

/* Opens everything but the listening socket and the lock (server.c). Returns 0 or -errno.
 */
int rnd_server_open_sources(struct rnd_server *server);
/* Listens on @fd. Returns 0 or -errno. */
int rnd_server_listen(struct rnd_server *server, int fd);
/* Writes our process id to the lock file. */
void rnd_server_sign_lock(const struct rnd_server *server);

/* ---- Descriptors that rocind waits for ---- */

/* Adds @source to the epoll set, for input. Returns 0 or -errno. */
static inline int rnd_server_watch(struct rnd_server *server, struct rnd_source *source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };

	if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0)
		return -errno;
	source->server = server;
	return 0;
}

/* Removes the source from the epoll set; does nothing if it is not in there. Closing the
 * descriptor would not suffice: the kernel would go on reporting events if another
 * process has a copy of the descriptor.
 */
static inline void rnd_source_forget(struct rnd_source *source)
{
	if (source->server)
		epoll_ctl(source->server->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->server = NULL;
}

/* Removes the source from the epoll set and closes its descriptor; does nothing if that
 * is -1.
 */
static inline void rnd_source_close(struct rnd_source *source)
{
	rnd_source_forget(source);
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

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

/* ---- Preparing the process ---- */

/* Detaches the process from its terminal and its parent. Redirects standard error to
 * standard input, which is a pipe to the parent. Closes every descriptor above the
 * standard ones except @keep_fd (-1: none). Resets inherited signal dispositions, signal
 * mask, processor affinity and real-time class. Changes to the root directory. A log file
 * with a relative name must be opened earlier.
 */
void rnd_process_detach(int keep_fd);

/* Prepares a process in the background or foreground: new files are private to the user,
 * SIGPIPE, SIGXFSZ and SIGCHLD are ignored, and the limit of descriptors is raised to the
 * hard limit.
 */
void rnd_process_prepare(void);

/* ---- Captures ---- */

/* Which client captures which devices, and the rings in shared memory between them.
 *
 * rocind makes a ring for each pair of a capture and a device, and passes it to both
 * processes, but never reads it. rocind itself counts as a captured device, named rocind,
 * for the packets of QP1, which it sends and receives. A device that attaches later gets
 * its rings then. What a device has written to a ring before its process ended can still
 * be read by the capture.
 *
 * A client that does not read its events loses its connection, but not during a call of
 * these functions: none of them frees a client.
 */

/* The devices that a client captures; all zeros: none. */
struct rnd_taps {
	bool is_open;
	bool has_ring; /* @ring is open: the packets of QP1 are captured, too */
	int ring;
	struct rn_ctl_capture what;
};

/* Opens a capture for the client, of the devices that @what selects. Returns 0; or
 * -EALREADY, -EBUSY or -EINVAL with an error text in @err.
 */
int rnd_taps_open(struct rnd_client *client, const struct rn_ctl_capture *what, char *err,
		  size_t err_len);

/* Connects the capture with all devices. To be called after its request was answered. */
void rnd_taps_begin(struct rnd_client *client);

/* Connects the device with all captures. To be called when the client has attached it. */
void rnd_taps_attached(struct rnd_client *client);

/* Continues a capture of the packets of QP1. A descriptor that is used is taken out of
 * @r.
 */
void rnd_taps_restore(struct rnd_server *server, struct rnd_record *r);
/* Copies all captures of QP1 for the keeper. */
void rnd_taps_keep_all(struct rnd_server *server);

/* Ends the captures of the client's device, and the capture that the client has opened.
 */
void rnd_taps_close(struct rnd_client *client);

/* ---- Local wires ---- */

/* A local wire is a shared-memory link between two processes that rocind serves.
 *
 * rocind makes the memory and passes it to both processes, but never reads it. A local
 * wire connects one address of each process. It ends when one of the processes ends or
 * loses its address, or when one of them reports it as broken. After such a report the
 * two addresses get no other local wire.
 *
 * A client that does not read its events loses its connection, but not during a call of
 * these functions: none of them frees a client.
 */

struct rnd_wire;

/* Value of rn_ctl_ends.lost that only rocind sets, for a request that a rocind which died
 * has executed in part.
 */
#define RND_WIRE_UNKNOWN UINT32_MAX

/* The local wires of a process; zero-initialized. */
struct rnd_wires {
	struct rnd_wire
		/* local wires by number of their bit in the doorbell page; NULL: the bit
		 * is free
		 */
		*wire[RN_CTL_WIRES_MAX];
	/* Index at which the search for a free entry of `wire' starts. */
	unsigned next;
	bool is_open; /* page_fd and event_fd are open */
	/* Doorbell page of the process, and the pipe or eventfd that wakes it. */
	int page_fd, event_fd;
};

/* Makes a local wire that a client has asked for. Notifies both clients of it, or tells
 * this client that it gets none.
 */
void rnd_wires_ask(struct rnd_client *client, const struct rn_ctl_ends *ends);

/* Ends a local wire that the client has reported as broken, and notifies the client at
 * the other end.
 */
void rnd_wires_drop(struct rnd_client *client, const struct rn_ctl_ends *ends);

/* rnd_wires_close() ends all wires of the client, which gives up its slot;
 * rnd_wires_close_gid() only those of its address @idx. Both notify the clients at the
 * other ends.
 */
void rnd_wires_close(struct rnd_client *client);
/* Restores the wire of record @r between its two clients, if both were restored. */
void rnd_wires_restore(struct rnd_server *server, const struct rnd_record *r);
/* Copies all wires for the keeper. */
void rnd_wires_keep_all(struct rnd_server *server);
void rnd_wires_close_gid(struct rnd_client *client, unsigned idx);

/* ---- Clients ---- */

/* A connection to rocind: its requests, the slot that its process holds, and its end. */

struct rnd_client {
	struct rnd_client *next;
	struct rnd_server *server;
	struct rnd_source sock;
	/* pidfd, which becomes readable when the process dies. Closing the connection
	 * would not show that if a fork child keeps a copy of the socket. -1: the kernel
	 * is too old for it.
	 */
	struct rnd_source pidfd;
	uint64_t id;
	int32_t pid;
	/* the client has sent a hello with our protocol version; only such clients keep
	 * rocind running
	 */
	bool is_greeted;
	struct rnd_attachment attachment;
	struct rnd_wires wires; /* local wires of the attachment */
	struct rnd_taps taps;
	uint32_t last_seq; /* number of the last request that was begun */
	bool is_changed;   /* the keeper's copy is out of date */
	/* The connection comes from a rocind that died. Its first message may be a
	 * request that was executed already.
	 */
	bool is_restored;
};

/* Takes over a client from a rocind that died. Descriptors that are used are taken out of
 * @r. Does nothing if the copy is not valid.
 */
void rnd_client_restore(struct rnd_server *server, struct rnd_record *r);
/* Copies the client for the keeper. */
void rnd_client_keep(struct rnd_client *client);

/* Accepts a new connection. Closes @fd on failure, or if the process belongs to
 * another user.
 */
void rnd_client_accept(struct rnd_server *server, int fd);

/* Releases the slot and frees the client. */
void rnd_client_close(struct rnd_client *client);

/* Sends an event. A client whose socket buffer is full, because it does not read, is
 * closed. Returns true if the client still exists.
 */
bool rnd_client_tell(struct rnd_client *client, const void *msg, int fd);

/* ---- Fault rules ---- */

/* rocind stores fault rules for future clients and sends them to present ones.
 *
 * rocind passes the text on unchanged, as a sealed memfd. It parses the rules only for
 * the packets that it sends and receives itself, those of QP1 (cm/cm.h).
 */

/* Are any rules set? rocind does not end as long as there are, even without clients. */
bool rnd_faults_are_set(const struct rnd_server *server);

/* Replaces the rules by those in the memfd of @pkt, which this function takes over. Sends
 * them to every attached client except @client, which gets an answer from the caller.
 * Returns 0; -EAGAIN (the rules have changed since @client read them); -EINVAL (no sealed
 * text of at most RN_FAULT_TEXT_MAX - 1 bytes); -ENOMEM; with an error text in @err.
 */
int rnd_faults_set(struct rnd_client *client, struct rn_ctl_packet *pkt, char *err,
		   size_t err_len);

/* Sends @client the rules and their counts in processes that have ended. Returns 0, or
 * -errno of rn_ctl_send().
 */
int rnd_faults_answer(const struct rnd_client *client);

/* Sends the rules to a client that is about to attach. Returns 0, or -errno of
 * rn_ctl_send().
 */
int rnd_faults_greet(const struct rnd_client *client);

/* Adds the counts in the client's stats page to those kept here. To be called before the
 * client is closed.
 */
void rnd_faults_gather(struct rnd_client *client);

/* Copies the rules and counts for the keeper, and restores them. */
void rnd_faults_keep(struct rnd_server *server);
void rnd_faults_restore(struct rnd_server *server, struct rnd_record *r);

/* Frees the rules when rocind ends. */
void rnd_faults_free(struct rnd_server *server);

/* ---- Changes of addresses and links ---- */

/* Returns a socket that becomes readable when an interface or address changes, or -errno.
 */
int rnd_watch_open(void);

/* Called when the socket is readable: compares the present state with what each client
 * knows, and reports the differences. It does not rely on single messages, so a lost
 * message does no harm.
 */
void rnd_watch_changed(struct rnd_server *server);

/* Reports changes to one client, which may be closed by the call. Called after the client
 * has attached, because what it knows may be out of date.
 */
void rnd_watch_update(struct rnd_client *client);

#endif /* RND_SERVER_H */
