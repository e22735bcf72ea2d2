/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_client.h - connects to rocind, the daemon that owns UDP port 4791, and starts it
 * if necessary.
 *
 * One connection stands for one device of one process: attach once, and keep the
 * connection as long as the device exists. When the connection is closed or the process
 * dies, the slot of the device (the low byte of its QPNs) is free again. A process with
 * two devices has two connections.
 *
 * This code runs inside other people's programs: descriptors are close-on-exec and above
 * 2, no signal is raised (neither SIGPIPE nor SIGCHLD), the daemon is not a child that
 * the program's wait() could find, no call is a cancellation point, and every call is
 * bounded in time (RN_ROCIND_TIMEOUT_MS, times ROCIN_TIMEOUT_SCALE, for starting rocind
 * and for each answer).
 *
 * The error text in @err is one sentence for a person, without a newline. @err may be
 * NULL with @err_len 0.
 *
 * Threads: no locks and no hidden state; one connection belongs to one thread at a time.
 * fork(): the child must call only rn_rocind_abandon() on an inherited connection.
 */
#ifndef RN_ROCIND_CLIENT_H
#define RN_ROCIND_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "rocin/gid.h"

struct rn_netdev;

enum {
	RN_ROCIND_TIMEOUT_MS = 5000,
	RN_ROCIND_RULES_MAX = 64, /* maximum number of fault rules */
	/* maximum number of local wires (links by shared memory) of one connection */
	RN_ROCIND_WIRES_MAX = 128,
};

struct rn_rocind; /* A connection to rocind. */

/* What a process gets for one device: a slot, sockets, and the order of its QPNs. */
struct rn_attach {
	unsigned slot; /* 1 .. 255: low 8 bits of every QPN of this device */
	/* Place of the first QPN, 1 .. 65535, in the secret order that @qpn_secret
	 * determines. The order says which number is at which place. Place 65535 is
	 * followed by 1. The QPN is the number << 8, plus @slot. No number is 0, because
	 * QPNs below 256 belong to rocind.
	 */
	uint32_t qpn_counter;
	uint64_t qpn_secret;
	/* Source port for packets to addresses of this host, where receivers may drop
	 * packets from other ports; 0: such packets need no special source port.
	 */
	uint16_t own_port;
	unsigned sock_count;  /* number of sockets, gid_count of the device */
	int sock[RN_GID_MAX]; /* bound UDP sockets by GID index, owned by the caller */
};

enum rn_rocind_event_kind {
	RN_ROCIND_GONE, /* rocind has ended: close the data sockets at once */
	/* an address was added; valid members: gid_idx, gid, sock */
	RN_ROCIND_GID_ADDED,
	RN_ROCIND_GID_REMOVED, /* an address was removed; valid members: gid_idx, gid */
	RN_ROCIND_PORT_UP,
	RN_ROCIND_PORT_DOWN,
	/* the fault rules have changed; valid members: generation, text */
	RN_ROCIND_FAULTS,
	/* a local wire (shared memory) has been made; valid members: ends, wire */
	RN_ROCIND_WIRE,
	/* a local wire (shared memory) has ended or was refused; valid members: ends,
	 * err
	 */
	RN_ROCIND_WIRE_DOWN,
	RN_ROCIND_TAP, /* a capture of this device has begun; valid member: tap */
	/* one more device's packets come to the capture that this client runs; valid
	 * member: tap
	 */
	RN_ROCIND_TAP_SOURCE,
	/* the capture of this device, or the device that this client captures, has
	 * ended; valid member: tap.id
	 */
	RN_ROCIND_TAP_END,
};

/* The two ends of a local wire (a link by shared memory): an address of this process's
 * device, and address and slot of the peer.
 */
struct rn_rocind_ends {
	struct rn_gid local, peer;
	unsigned peer_slot;
};

/* One end of a local wire (a link by shared memory). The receiver of the struct owns the
 * descriptors.
 */
struct rn_rocind_wire {
	/* 0 or 1: number of the ring by which this end sends; see ring.h */
	unsigned role;
	/* number of this wire's bit in the doorbell of this process, below
	 * RN_ROCIND_WIRES_MAX
	 */
	unsigned bit;
	unsigned peer_bit;
	bool no_icrc; /* both ends accept packets without ICRC */
	int rings;    /* descriptor of RN_WIRE_BYTES of memory */
	/* descriptors: doorbell of the peer, and pipe or eventfd that wakes it */
	int peer_page, peer_event;
	/* Descriptors of the doorbell of this process and of the pipe or eventfd that
	 * wakes it. They are the same for all its local wires.
	 */
	int page, event;
};

/* A ring by which the packets of one device go to one capture. */
struct rn_rocind_tap {
	uint64_t id; /* identifies the capture (RN_ROCIND_TAP) or the captured device */
	int ring;    /* descriptor of the ring (capture_ring.h), owned by the receiver */
	uint32_t size;
	uint32_t qpn, snaplen; /* valid with RN_ROCIND_TAP: struct rn_capture_filter */
	/* The fields below are valid with RN_ROCIND_TAP_SOURCE. */
	int32_t pid;
	unsigned slot;
	char ibdev[32], ifname[16];
	/* file with the device's struct rn_stats_page, for pread(), owned by the
	 * receiver; -1: none
	 */
	int stats_fd;
};

struct rn_rocind_event {
	enum rn_rocind_event_kind kind;
	unsigned gid_idx; /* index in the GID table, or RN_GID_MAX */
	struct rn_gid gid;
	/* with RN_ROCIND_GID_ADDED a bound UDP socket, owned by the receiver;
	 * otherwise -1
	 */
	int sock;
	/* With RN_ROCIND_FAULTS: a file with the text of the rules, owned by the
	 * receiver of the event; -1: there are no rules. With other events: -1.
	 */
	int text;
	uint64_t generation;
	struct rn_rocind_ends ends;
	/* valid with RN_ROCIND_WIRE: this process's end of the new local wire */
	struct rn_rocind_wire wire;
	/* valid with RN_ROCIND_TAP, RN_ROCIND_TAP_SOURCE and RN_ROCIND_TAP_END */
	struct rn_rocind_tap tap;
	/* with RN_ROCIND_WIRE_DOWN a positive errno value, or 0: the peer has gone */
	int err;
};

/* One attached process, as reported by rn_rocind_list(). */
struct rn_rocind_client {
	/* 0: the process is in a pid namespace that rocind cannot see */
	int32_t pid;
	unsigned slot;
	char ibdev[32];
	char ifname[16];
	uint32_t gid_count;
	struct rn_gid gid[RN_GID_MAX]; /* all zeros: the address was removed */
	/* file with struct rn_stats_page, for pread(), owned by rn_rocind_list(), which
	 * closes it; -1: none
	 */
	int stats_fd;
};

/* Reasons for which rocind drops packets. rocind itself, as slot 0, receives the packets
 * that belong to no process.
 */
enum rn_rocind_drop {
	RN_ROCIND_DROP_SHORT,	     /* packets shorter than a BTH */
	RN_ROCIND_DROP_QP0,	     /* QPN 0 */
	RN_ROCIND_DROP_QP1,	     /* QPN 1: connection manager */
	RN_ROCIND_DROP_RESERVED,     /* QPN 2..255 */
	RN_ROCIND_DROP_MULTICAST,    /* QPN 0xffffff */
	RN_ROCIND_DROP_UNKNOWN_SLOT, /* slot of the QPN belongs to no process */
	/* The packet was sent on this host, from a port of a user who is not admitted. */
	RN_ROCIND_DROP_FOREIGN,
	RN_ROCIND_DROP_COUNT
};

struct rn_rocind_status {
	int32_t pid;
	char version[32];
	int64_t since_s; /* time when rocind started, in seconds since 1970 */
	/* rocind ends when it has had no clients for this time; 0: it does not end by
	 * itself
	 */
	uint32_t idle_ms;
	uint32_t clients;  /* number of connections, including this one */
	uint32_t attached; /* number of connections that have a slot */
	/* number of addresses at which rocind has bound port 4791 for devices */
	uint32_t groups;
	/* What the connection manager has: descriptors of rdma_cm that programs have
	 * open, ids, ports in use, and connections, including those in time-wait.
	 */
	uint32_t cm_channels, cm_ids, cm_ports, cm_connections;
	uint64_t drops[RN_ROCIND_DROP_COUNT];
};

/**
 * rn_rocind_connect() - Connect to this namespace's rocind; start it if there is none
 * @rocind_path: Program to start; NULL: the one that rn_rocind_find() finds
 * @err:	Out on failure: the error text, one sentence
 * @err_len:	Bytes in @err
 *
 * Return: the connection, or NULL with errno: ENOENT (no program to start), ETIMEDOUT,
 *	   EPROTONOSUPPORT (rocind is of another version), EPERM (runtime directory or
 *	   rocind of another user), or another system error.
 */
struct rn_rocind *rn_rocind_connect(const char *rocind_path, char *err, size_t err_len);

/* Connects as rn_rocind_connect() does, but does not start rocind: if none is running,
 * returns NULL with errno ENOENT.
 */
struct rn_rocind *rn_rocind_connect_running(char *err, size_t err_len);

/**
 * rn_rocind_attach() - Get a slot and the sockets for one device
 * @r:		Connection that has not attached yet
 * @dev:	Device; its addresses are opened in the order of its GID table
 * @stats_fd:	memfd with this process's struct rn_stats_page, or -1; stays the caller's
 * @out:	Out: slot, first QPN counter, sockets; untouched on failure
 *
 * The device follows its interface (RN_ROCIND_GID_ADDED for addresses that appear later)
 * if the interface is not loopback and @dev has all present addresses of the
 * interface, as rn_netdev_discover() returns them if only the interface is named.
 *
 * Return: 0, or -EADDRINUSE (something else holds port 4791 of an address; the error text
 *	   says who), -EADDRNOTAVAIL (address is gone), -EUSERS (255 processes have slots
 *	   already), -EALREADY (this connection is attached), -EINVAL (device without name
 *	   or addresses), -EMFILE, -ENOMEM, -ECONNRESET (rocind died), -ETIMEDOUT.
 */
int rn_rocind_attach(struct rn_rocind *r, const struct rn_netdev *dev, int stats_fd,
		     struct rn_attach *out, char *err, size_t err_len);

/* Give the slot back. The connection stays, and may attach again. The caller closes the
 * sockets of the slot before, because packets that arrive later belong to no process.
 * Return: 0, -ENOTCONN (not attached), or an error of rn_rocind_attach().
 */
int rn_rocind_detach(struct rn_rocind *r, char *err, size_t err_len);

/* Return: a descriptor for poll(). It is readable if rn_rocind_event() may have an
 * event. But an event that arrives while another function waits for rocind's answer does
 * not make it readable. So the caller calls rn_rocind_event() once after each such
 * function, too.
 */
int rn_rocind_fd(const struct rn_rocind *r);

/**
 * rn_rocind_event() - Take the next event, without waiting
 *
 * Return: 0 with @out filled in, or -EAGAIN: no event. RN_ROCIND_GONE is final: every
 *	   later call returns it again.
 */
int rn_rocind_event(struct rn_rocind *r, struct rn_rocind_event *out);

/* Tell rocind, when attaching, that this process accepts local wires (links by shared
 * memory). @no_icrc: it also accepts packets without ICRC on them. Called before
 * rn_rocind_attach().
 */
void rn_rocind_take_wires(struct rn_rocind *r, bool no_icrc);

/**
 * rn_rocind_ask_wire() - Request a local wire to another process: shared memory
 * @ends:	The two ends
 * @lost:	There was a local wire and is none now, which rocind may not know
 *
 * Never waits. An event follows: RN_ROCIND_WIRE, or RN_ROCIND_WIRE_DOWN with the reason:
 * EHOSTUNREACH (no process of this rocind has that address and slot), EOPNOTSUPP (one of
 * the two processes does not accept wires), EMLINK (there are RN_ROCIND_WIRES_MAX
 * already), EPIPE (a wire between them was broken), EADDRNOTAVAIL (the local end is no
 * address of this process), EMFILE (this process may have no more descriptors), or the
 * error of allocating the memory (ENOSYS, EPERM, ENOMEM, EMFILE ...). No event follows
 * if there is a wire that is not @lost or is younger than a second.
 *
 * Return: 0, -EAGAIN (rocind is busy: later), or -ECONNRESET.
 */
int rn_rocind_ask_wire(struct rn_rocind *r, const struct rn_rocind_ends *ends, bool lost);

/* Close the descriptors of a local wire (a link by shared memory). */
void rn_rocind_close_wire(const struct rn_rocind_wire *wire);

/* Report that a local wire (a link by shared memory) is broken or not wanted. rocind
 * informs the peer, and gives the two processes no local wire again. Never waits.
 * Return: as rn_rocind_ask_wire().
 */
int rn_rocind_drop_wire(struct rn_rocind *r, const struct rn_rocind_ends *ends);

/* Called for each attached process. Returns 0 to go on; any other value ends the list. */
typedef int (*rn_rocind_on_client)(void *ctx, const struct rn_rocind_client *client);

/* Call @on_client for each attached process. Return: 0; the value of @on_client that
 * ended the list; or an error of rn_rocind_attach().
 */
int rn_rocind_list(struct rn_rocind *r, rn_rocind_on_client on_client, void *ctx,
		   char *err, size_t err_len);

int rn_rocind_status(struct rn_rocind *r, struct rn_rocind_status *out, char *err,
		     size_t err_len);

/* The fault rules as a text, which rocind stores without parsing it. */
struct rn_rocind_faults {
	/* number of changes so far; 0: there were never any rules */
	uint64_t generation;
	/* file with the text, for pread(), owned by the caller; -1: there are no rules */
	int fd;
	/* For each rule: the sums of its counts (struct rn_stats_faults) over processes
	 * that have ended, and over rocind's connection manager.
	 */
	uint64_t seen[RN_ROCIND_RULES_MAX], hits[RN_ROCIND_RULES_MAX];
};

/* Read the fault rules. Return: 0, or an error of rn_rocind_status(). */
int rn_rocind_faults(struct rn_rocind *r, struct rn_rocind_faults *out, char *err,
		     size_t err_len);

/**
 * rn_rocind_set_faults() - Replace the fault rules of every process
 * @now:	In: the generation that the caller knows; out: the new state
 * @fd:		memfd with the text, sealed against any change; -1: no rules. Stays the
 *		caller's
 * @from:	For each new rule, the number of the old rule whose counts it continues;
 *		255: none
 *
 * Return: 0, -EAGAIN (somebody else has changed them meanwhile), -EINVAL (no such text),
 *	   or as rn_rocind_status(); @now is untouched then.
 */
int rn_rocind_set_faults(struct rn_rocind *r, struct rn_rocind_faults *now, int fd,
			 const uint8_t from[RN_ROCIND_RULES_MAX], char *err,
			 size_t err_len);

/* What a capture records: which devices, which of their packets, and how much of each. */
struct rn_rocind_capture {
	const char *ibdev; /* NULL: all devices */
	int32_t pid;	   /* only devices of this process; 0: of all processes */
	uint32_t qpn, snaplen;
	uint32_t size; /* data bytes of each ring; rn_capture_is_size() */
};

/**
 * rn_rocind_capture() - Capture the packets of the devices in use, and of later ones
 *
 * Events follow, for each device: RN_ROCIND_TAP_SOURCE, and RN_ROCIND_TAP_END when its
 * program has ended. Closing the connection ends the capture.
 *
 * Return: 0, -EBUSY (RN_CAPTURES_MAX are under way), -EINVAL (size or name), -EALREADY
 *	   (this connection has a device, or captures already), or as rn_rocind_status().
 */
int rn_rocind_capture(struct rn_rocind *r, const struct rn_rocind_capture *what,
		      char *err, size_t err_len);

/* Close the descriptors that @tap owns. */
void rn_rocind_close_tap(const struct rn_rocind_tap *tap);

/**
 * rn_rocind_open_cm() - Open the connection manager's device
 * @netdevs:	As rn_netdev_discover() takes it, shorter than 2048 bytes
 * @board:	Out: a descriptor for rn_cm_board_map(), owned by the caller; or -1
 *
 * Return: a descriptor (rocin/cmdev.h), close-on-exec, above 2, which stays valid if the
 * connection to rocind is closed; -EINVAL; or as rn_rocind_attach().
 */
int rn_rocind_open_cm(struct rn_rocind *r, const char *netdevs, int *board, char *err,
		      size_t err_len);

/**
 * rn_rocind_list_cm_ids() - Read the ids of the connection manager of all programs
 * @ids:	Out: the ids, to be freed by free(); untouched on failure
 * @count:	Out: number of ids
 *
 * Return: 0, -ENOMEM, or as rn_rocind_attach().
 */
struct rn_ctl_cm_id;
int rn_rocind_list_cm_ids(struct rn_rocind *r, struct rn_ctl_cm_id **ids, size_t *count,
			  char *err, size_t err_len);

/* Make rocind end, also for all its other clients. Return: 0 when it has closed its
 * sockets; or an error of rn_rocind_status().
 */
int rn_rocind_shutdown(struct rn_rocind *r, char *err, size_t err_len);

/**
 * rn_rocind_replace() - Ask rocind to hand over to this process, which is a rocind
 * @records:	Version of the records that this process understands
 * @end:	End of a pair of sockets over which rocind hands over; stays the caller's
 *
 * Return: 0, -EPROTO (records of another version, or a rocind that cannot hand over),
 *	   -EBUSY (rocind runs in the foreground), or as rn_rocind_status().
 */
int rn_rocind_replace(struct rn_rocind *r, uint32_t records, int end, char *err,
		      size_t err_len);

/* Close the connection, which gives the slot back. NULL is ignored. */
void rn_rocind_close(struct rn_rocind *r);

/* Free a connection that a fork child has inherited. Called in the child; the parent
 * stays attached. NULL is ignored.
 */
void rn_rocind_abandon(struct rn_rocind *r);

/* ------------------------------------------------------------------ starting rocind */

/* These functions find rocind's program and start it, without the program that they run
 * in noticing.
 */

/* Number of a descriptor that a daemon has open when rn_rocind_start() has started it.
 * The daemon writes to it once: a newline when it (or another rocind) listens, or a text
 * that says why it cannot.
 */
enum {
	RN_ROCIND_READY_FD = 3,
};

/**
 * rn_rocind_find() - Find the program to start
 * @wish:	Used as it is if not NULL
 * @path:	Out: absolute path, unless @wish or $ROCIN_ROCIND is relative
 *
 * Order: @wish, $ROCIN_ROCIND, beside the file that holds this code (as built or
 * installed), beside the running program, PATH.
 *
 * Return: 0, -ENOENT (none found; an error text in @err), -ENAMETOOLONG.
 */
int rn_rocind_find(const char *wish, char *path, size_t path_len, char *err,
		   size_t err_len);

/**
 * rn_rocind_start() - Start a daemon and wait until it listens or has given up
 * @path:	Program
 * @dir:	Runtime directory to give it
 * @timeout_ms:	How long to wait
 *
 * The daemon gets a session of its own, /dev/null as standard files, and of the
 * environment only PATH, TMPDIR, XDG_RUNTIME_DIR, ROCIN_LOG, ROCIN_TIMEOUT_SCALE,
 * ROCIN_KEEPER, ROCIN_NEIGHBOURS, ROCIN_PEER_INFO and ROCIN_RUNTIME_DIR=@dir. It does not
 * get LD_LIBRARY_PATH: it serves all programs of its user, and must not depend on
 * libraries of the program that starts it, which may be removed. If ROCIN_IDLE_MS is a
 * valid time (rn_rocind_is_idle_time()), it becomes the daemon's option --idle-ms.
 *
 * The daemon's standard error is a pipe to this function until the daemon replaces it by
 * /dev/null, so an error that keeps the daemon from starting is reported here. The daemon
 * is an orphan from the start: neither wait() nor SIGCHLD of this process ever reports
 * it, unless this process is the reaper of orphans (PR_SET_CHILD_SUBREAPER, or process
 * 1).
 *
 * Return: 0 (a daemon listens, perhaps started by another process), -ETIMEDOUT, -EIO (it
 *	   failed, and @err says why), or why no process could be created.
 */
int rn_rocind_start(const char *path, const char *dir, int timeout_ms, char *err,
		    size_t err_len);

/* Return: true if @value is a number of milliseconds that rocind's option --idle-ms
 * accepts.
 */
bool rn_rocind_is_idle_time(const char *value);

#endif /* RN_ROCIND_CLIENT_H */
