/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server.h - the server of rocind: its state, the clients that are connected to it, and
 * the requests that it serves. It has one thread and one epoll set.
 *
 * Events are read from epoll one at a time: the function that handles an event may free
 * any source (struct rnd_source), and a second event that was read with the first could
 * point to a freed one.
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
	/* lock file; the one rocind of the runtime directory has locked it with flock()
	 */
	int lock_fd;
	/* Listening socket that a service manager has passed, whose file must not be
	 * removed; -1: there is none.
	 */
	int passed_fd;
	/* Descriptor in reserve. When no other descriptor is left, this one is closed, so
	 * that a connection can be accepted and closed at once.
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
	/* list of rocind's own sockets (slot 0), one for each device address */
	struct rnd_slot0 *slot0;
	/* clients in the order in which they have connected */
	struct rnd_client *clients;
	uint64_t last_client_id;
	uint64_t drops[RN_ROCIND_DROP_COUNT];
	/* next time at which to find out the ports of other users whose packets are
	 * accepted
	 */
	rn_ns neighbours_at;
	int64_t since_s; /* time of the start, Unix time in seconds */
	/* Time in ms after which rocind ends if it has had no clients. 0: it never ends
	 * by itself.
	 */
	uint32_t idle_ms;
	/* time at which a client last connected or ended, or the fault rules last changed
	 */
	rn_ns idle_from;
	/* A client has started rocind, and no client has connected yet. */
	bool awaits_starter;
	bool stopping;
	/* The client that has asked rocind to end, or NULL. After its request no other is
	 * handled, so this client still exists at the end.
	 */
	struct rnd_client *stop_asked_by;
	struct rnd_faults *faults; /* the fault rules; NULL: none were ever set */
	struct rnd_keeper keeper;
	/* becomes readable when the keeper has ended */
	struct rnd_source keeper_end;
	/* Sends changes of the state to the keeper, for a successor. NULL: there is no
	 * keeper (handover.c).
	 */
	void (*keep)(struct rnd_server *server);
	unsigned keepers_replaced;
	/* Socket to the rocind that wants to take over from this one (-1: there is none),
	 * and its process id.
	 */
	int heir_sock;
	int32_t heir_pid;
	/* Hands over to the process at @heir_sock: rnd_replace_hand_over(). NULL: this
	 * process runs in the foreground and must not hand over, because the process that
	 * has started it would not know the new rocind.
	 */
	void (*hand_over)(struct rnd_server *server);
	/* One of the numbers in the keeper's record of the server (RND_RECORD_SERVER) has
	 * changed since the record was sent.
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

/* Serves clients until rocind has had none for its idle time, until a signal comes, or
 * until a client asks rocind to end. Then tells all clients that rocind ends.
 */
void rnd_server_run(struct rnd_server *server);

void rnd_server_close(struct rnd_server *server);

/* Initialises all members of @server for which no descriptors are needed. Returns 0 or
 * -ENOMEM. The caller must call rnd_server_close() in both cases.
 */
int rnd_server_init(struct rnd_server *server, uint32_t idle_ms);

/* ---- The keeper and the successor (handover.c) ---- */

/* Starts the keeper, a process that starts a successor if this process dies (keeper.h).
 * Without a keeper, all programs would lose their devices then.
 */
void rnd_server_start_keeper(struct rnd_server *server);

/* Restores the records of @estate in a server that rnd_server_init() has initialised, and
 * frees @estate. @old: the server as it was when the keeper was started; its board of
 * rdma_cm ids (memory that programs read, cm_board.h) stays in use. NULL: this process
 * does not have that memory, and programs get another board. Records that are not valid
 * are left out. Nothing is sent before rnd_server_resume(). Returns 0 or -errno.
 */
int rnd_server_restore(struct rnd_server *server, struct rnd_server *old,
		       struct rnd_estate *estate);

/* Goes on in place of the previous rocind: writes the process id of this process into the
 * lock file, and does what has become due since that rocind died.
 */
void rnd_server_resume(struct rnd_server *server);

/* Copies the whole state to the process at @k, a newer rocind that takes over. If that
 * process does not receive the state in time, kills it and returns false.
 */
bool rnd_server_copy_to(struct rnd_server *server, struct rnd_keeper *k);

/* ---- Replacing a rocind that runs (replace.c) ---- */

/* Hands over to the process that wants to take over (rnd_server.heir_sock). Returns only
 * if that process does not take over; then this process goes on.
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

/* Sends all changes to the keeper. Value of rnd_server.keep while there is a keeper. */
void rnd_server_keep_changes(struct rnd_server *server);

/* Copies all changes since the last call to the keeper. Must be called before an answer
 * is sent, so that no program learns of a change that a successor would not know.
 */
static inline void rnd_server_commit(struct rnd_server *server)
{
	if (server->keep)
		server->keep(server);
}

/* Opens all descriptors of the server except the listening socket and the lock
 * (server.c). Returns 0 or -errno.
 */
int rnd_server_open_sources(struct rnd_server *server);
/* Listens on @fd. Returns 0 or -errno. */
int rnd_server_listen(struct rnd_server *server, int fd);
/* Writes the process id of this process to the lock file. */
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

/* Removes the source from the epoll set, if it is in there. Closing the descriptor is not
 * enough: if another process has a copy of it, epoll would still report events.
 */
static inline void rnd_source_forget(struct rnd_source *source)
{
	if (source->server)
		epoll_ctl(source->server->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->server = NULL;
}

/* Removes the source from the epoll set and closes its descriptor. Does nothing if the
 * descriptor is -1.
 */
static inline void rnd_source_close(struct rnd_source *source)
{
	rnd_source_forget(source);
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

/* ---- Socket activation ---- */

/* A service manager may pass a listening socket, by the convention of sd_listen_fds(3):
 * LISTEN_PID is the id of the process that gets the sockets, LISTEN_FDS is the number of
 * sockets, and the first one is descriptor 3.
 *
 * Clients connect to a name that contains their network namespace. The file of a systemd
 * unit cannot contain this name. So the unit makes a symbolic link with the name, and
 * rocind checks that the link leads to the socket.
 */

/* Returns true if a service manager has passed a socket to this process. Changes nothing.
 */
bool rnd_is_activated(void);

/**
 * rnd_activation_take() - Take the socket that a service manager has passed
 * @dir:	Runtime directory
 * @name:	File name of the socket that clients connect to
 *
 * Also removes LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES from the environment.
 *
 * Return: the socket, non-blocking and close-on-exec; -ENOENT if none was passed; -EINVAL
 *	with an error text if it is not the socket that clients connect to.
 */
int rnd_activation_take(const char *dir, const char *name, char *err, size_t err_len);

/* ---- Preparing the process ---- */

/* Detaches the process from its terminal and its parent. Redirects standard error to
 * standard input, which is a pipe to the parent. Closes every descriptor above the
 * standard ones except @keep_fd (-1: none). Resets inherited signal dispositions, signal
 * mask, processor affinity and real-time class. Changes to the root directory, so the
 * caller must have opened a log file with a relative name before.
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
 * its rings when it attaches. After the process of a device has ended, the capture can
 * still read what the device has written to a ring.
 *
 * If a client does not read its events, its connection is shut down. These functions
 * never free a client; that happens later.
 */

/* The devices that a client captures; all zeros: none. */
struct rnd_taps {
	bool is_open;
	bool has_ring; /* @ring is open: the packets of QP1 are captured, too */
	int ring;
	struct rn_ctl_capture what;
};

/* Opens a capture for the client. @what selects the devices. Returns 0, or -EALREADY,
 * -EBUSY or -EINVAL with an error text in @err.
 */
int rnd_taps_open(struct rnd_client *client, const struct rn_ctl_capture *what, char *err,
		  size_t err_len);

/* Called after the client's request for a capture was answered: connects the capture with
 * all devices.
 */
void rnd_taps_begin(struct rnd_client *client);

/* Called when the client has attached a device. Connects the device with all captures. */
void rnd_taps_attached(struct rnd_client *client);

/* Called in a successor of rocind: continues a capture of the packets of QP1. @r: the
 * keeper's record of the capture; the descriptor in it belongs to the capture afterwards.
 */
void rnd_taps_restore(struct rnd_server *server, struct rnd_record *r);
/* Sends the keeper records of all captures of QP1's packets. */
void rnd_taps_keep_all(struct rnd_server *server);

/* Ends all captures of the client's device, and the capture that the client itself has
 * opened, if there is one.
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
 * If a client does not read its events, its connection is shut down. These functions
 * never free a client; that happens later.
 */

struct rnd_wire;

/* Value of rn_ctl_ends.lost that only rocind itself sets: in a request for a local wire
 * that a rocind which has died may have executed in part.
 */
#define RND_WIRE_UNKNOWN UINT32_MAX

/* The local wires of a process; all zeros at the beginning. */
struct rnd_wires {
	struct rnd_wire
		/* The client's local wires. The index of each is the number of its bit in
		 * the doorbell page. NULL: the bit is free.
		 */
		*wire[RN_CTL_WIRES_MAX];
	/* Index at which the search for a free entry of @wire starts. */
	unsigned next;
	bool is_open; /* @page_fd and @event_fd are open */
	/* Doorbell page of the process, and the pipe or eventfd that wakes it. */
	int page_fd, event_fd;
};

/* Called when a client has asked for a local wire. Makes it and tells both clients, or
 * tells this client that it gets none.
 */
void rnd_wires_ask(struct rnd_client *client, const struct rn_ctl_ends *ends);

/* Called when the client has reported a local wire as broken. Ends the wire, and tells
 * the client at the other end.
 */
void rnd_wires_drop(struct rnd_client *client, const struct rn_ctl_ends *ends);

/* End local wires (links in shared memory) of the client, and tell the clients at the
 * other ends: rnd_wires_close() all of them, when the client releases its slot, and
 * rnd_wires_close_gid() those of its address number @idx.
 */
void rnd_wires_close(struct rnd_client *client);
void rnd_wires_close_gid(struct rnd_client *client, unsigned idx);
/* Called in a successor of rocind: restores the wire of record @r between its two
 * clients, if both were restored.
 */
void rnd_wires_restore(struct rnd_server *server, const struct rnd_record *r);
/* Sends the keeper records of all local wires. */
void rnd_wires_keep_all(struct rnd_server *server);

/* ---- Clients ---- */

/* A client of rocind: the connection to it, its requests, and the slot of its process (a
 * number by which QPNs name the process, attach.h).
 */

struct rnd_client {
	struct rnd_client *next;
	struct rnd_server *server;
	struct rnd_source sock;
	/* The pidfd, which becomes readable when the process dies. The end of the
	 * connection would not show that, because a child of fork() may keep a copy of
	 * the socket. -1: the kernel is too old for pidfds.
	 */
	struct rnd_source pidfd;
	uint64_t id;
	int32_t pid;
	/* The client has sent a hello with the protocol version of this rocind. Only such
	 * clients keep rocind running.
	 */
	bool is_greeted;
	struct rnd_attachment attachment;
	struct rnd_wires wires; /* local wires of the attachment */
	struct rnd_taps taps;
	/* number of the last request that rocind has begun to execute */
	uint32_t last_seq;
	bool is_changed; /* the keeper must get a new record of the client */
	/* The connection was restored from the records of a rocind that has died. That
	 * rocind may have executed the first message already.
	 */
	bool is_restored;
};

/* Restores a client of a rocind that has died. The descriptors that the client uses are
 * taken out of @r. Does nothing if @r is not a valid record of a client.
 */
void rnd_client_restore(struct rnd_server *server, struct rnd_record *r);
/* Sends the keeper a record of the client. */
void rnd_client_keep(struct rnd_client *client);

/* Makes a client of the new connection @fd. If that fails, or if the process belongs to
 * another user, closes @fd.
 */
void rnd_client_accept(struct rnd_server *server, int fd);

/* Releases what the process of the client has got at rocind, and frees the client. */
void rnd_client_close(struct rnd_client *client);

/* Sends an event to the client. If its socket buffer is full because it does not read,
 * closes the client. Returns true if the client still exists.
 */
bool rnd_client_tell(struct rnd_client *client, const void *msg, int fd);

/* ---- Fault rules ---- */

/* rocind stores the fault rules, and sends them to all clients, those that attach later
 * included.
 *
 * It passes the text on unchanged, as a sealed memfd. It parses the rules only for the
 * packets that it sends and receives itself, those of QP1 (cm/cm.h).
 */

/* Returns true if any fault rules are set. While this is so, rocind does not end, even
 * without clients.
 */
bool rnd_faults_are_set(const struct rnd_server *server);

/* Replaces the rules by those in the memfd of @pkt, which belongs to this function
 * afterwards. Sends them to every attached client except @client; the caller must answer
 * that one. Returns 0. On failure, @err has an error text, and the result is -EAGAIN (the
 * rules have changed since @client has read them), -EINVAL (the memfd is not a sealed
 * text of at most RN_FAULT_TEXT_MAX - 1 bytes) or -ENOMEM.
 */
int rnd_faults_set(struct rnd_client *client, struct rn_ctl_packet *pkt, char *err,
		   size_t err_len);

/* Sends @client the rules, and for each of them how many packets it has seen, and to how
 * many it was applied, in processes that have ended. Returns 0, or -errno of
 * rn_ctl_send().
 */
int rnd_faults_answer(const struct rnd_client *client);

/* Sends the rules to a client that is about to attach. Returns 0, or -errno of
 * rn_ctl_send().
 */
int rnd_faults_greet(const struct rnd_client *client);

/* Called when the client is about to be closed: adds the counts of fault rules in its
 * stats page to those of processes that have ended.
 */
void rnd_faults_gather(struct rnd_client *client);

/* rnd_faults_keep() sends the keeper a record of the rules and their counts;
 * rnd_faults_restore() restores them from it.
 */
void rnd_faults_keep(struct rnd_server *server);
void rnd_faults_restore(struct rnd_server *server, struct rnd_record *r);

/* Frees the rules when rocind ends. */
void rnd_faults_free(struct rnd_server *server);

/* ---- Changes of addresses and links ---- */

/* Returns a socket that becomes readable when an interface or address changes, or -errno.
 */
int rnd_watch_open(void);

/* Called when the socket is readable. Finds out which interfaces have changed, by
 * comparing their present state with what each client knows, and reports the differences.
 * A lost message of the kernel does no harm, because single messages are not needed for
 * that.
 */
void rnd_watch_changed(struct rnd_server *server);

/* Reports to one client the differences between its interface and what the client knows.
 * This may close the client. Must also be called when the client has attached, because
 * what it knows may be out of date.
 */
void rnd_watch_update(struct rnd_client *client);

#endif /* RND_SERVER_H */
