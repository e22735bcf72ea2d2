/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_client.h - connection to rocind, which owns UDP port 4791; starts
 * it if necessary.
 *
 * One connection stands for one device of one process: attach once, and keep the
 * connection as long as the device lives. When the connection is closed or the process
 * dies, the slot is given back. A process with two devices has two connections.
 *
 * This runs inside other people's programs: descriptors are close-on-exec and above 2,
 * no signal is raised (neither SIGPIPE nor SIGCHLD), the daemon is not a child that the
 * program's wait() could find, no call is a cancellation point, and every call is
 * bounded in time (RN_ROCIND_TIMEOUT_MS, times ROCIN_TIMEOUT_SCALE, for starting rocind
 * and for each answer).
 *
 * A sentence in @err is for a person, without a newline. @err may be NULL
 * with @err_len 0.
 *
 * Threads: no locks and no hidden state; one connection belongs to one thread at a time.
 * fork(): the child must call only rn_rocind_abandon() on an inherited connection.
 */
#ifndef RN_ROCIND_CLIENT_H
#define RN_ROCIND_CLIENT_H

#include "rocin/gid.h"

struct rn_netdev;

enum {
	RN_ROCIND_TIMEOUT_MS = 5000,
	RN_ROCIND_RULES_MAX = 64,  /* number of fault rules */
	RN_ROCIND_WIRES_MAX = 128, /* local wires of one connection */
};

struct rn_rocind; /* one connection */

/* What a process needs to carry packets of one device. */
struct rn_attach {
	unsigned slot; /* 1..255: low 8 bits of every QPN of this device */
	/* 1..65535, where to start: QPN = counter << 8 | slot. After 65535 comes 1, never
	 * 0, because QPNs below 256 belong to rocind.
	 */
	uint32_t qpn_counter;
	unsigned sock_count;  /* number of sockets: gid_count of the device */
	int sock[RN_GID_MAX]; /* by GID index; bound UDP sockets, owned by the caller */
};

enum rn_rocind_event_kind {
	RN_ROCIND_GONE,	       /* rocind has ended: close the data sockets at once */
	RN_ROCIND_GID_ADDED,   /* valid: gid_idx, gid, sock */
	RN_ROCIND_GID_REMOVED, /* valid: gid_idx, gid */
	RN_ROCIND_PORT_UP,
	RN_ROCIND_PORT_DOWN,
	RN_ROCIND_FAULTS,     /* valid: generation, text; the fault rules have changed */
	RN_ROCIND_WIRE,	      /* valid: ends, wire; a local wire was made */
	RN_ROCIND_WIRE_DOWN,  /* valid: ends, err; there is no wire, or no longer */
	RN_ROCIND_TAP,	      /* valid: tap; this device is captured */
	RN_ROCIND_TAP_SOURCE, /* valid: tap; a device that we capture */
	RN_ROCIND_TAP_END,    /* valid: tap.id; the other end has gone */
};

/* The two ends of a local wire: an address of ours, an address of the
 * peer, and its slot.
 */
struct rn_rocind_ends {
	struct rn_gid local, peer;
	unsigned peer_slot;
};

/* One end of a local wire. The receiver of the struct owns the descriptors. */
struct rn_rocind_wire {
	unsigned role; /* 0 or 1; see ring.h */
	unsigned bit;  /* bit of this wire in our doorbell, below RN_ROCIND_WIRES_MAX */
	unsigned peer_bit;
	bool no_icrc;		   /* both ends accept packets without ICRC */
	int rings;		   /* RN_WIRE_BYTES of memory */
	int peer_page, peer_event; /* doorbell of the peer, eventfd that wakes it */
	int page, event;	   /* our own doorbell; the same with each wire */
};

/* A ring by which the packets of a device go to a capture. */
struct rn_rocind_tap {
	uint64_t id; /* identifies the other end */
	int ring;    /* memory of capture_ring.h, owned by the receiver */
	uint32_t size;
	uint32_t qpn, snaplen; /* RN_ROCIND_TAP: struct rn_capture_filter */
	/* The fields below are valid with RN_ROCIND_TAP_SOURCE. */
	int32_t pid;
	unsigned slot;
	char ibdev[32], ifname[16];
	int stats_fd; /* as in struct rn_rocind_client, owned by the receiver; or -1 */
};

struct rn_rocind_event {
	enum rn_rocind_event_kind kind;
	unsigned gid_idx; /* index in the GID table, or RN_GID_MAX */
	struct rn_gid gid;
	/* RN_ROCIND_GID_ADDED: bound UDP socket, owned by the receiver; else -1. */
	int sock;
	/* RN_ROCIND_FAULTS: file, owned by the receiver, -1: no rules; else -1. */
	int text;
	uint64_t generation;
	struct rn_rocind_ends ends;
	struct rn_rocind_wire wire; /* valid with RN_ROCIND_WIRE */
	struct rn_rocind_tap tap;   /* valid with RN_ROCIND_TAP and its kind */
	int err; /* RN_ROCIND_WIRE_DOWN: positive errno value; 0: the peer has gone */
};

/* One attached process, as reported by rn_rocind_list(). */
struct rn_rocind_client {
	int32_t pid; /* 0: in a process id namespace that rocind cannot see */
	unsigned slot;
	char ibdev[32];
	char ifname[16];
	uint32_t gid_count;
	struct rn_gid gid[RN_GID_MAX]; /* all zero: the address was removed */
	/* struct rn_stats_page for pread(), owned by the callee; -1: none. */
	int stats_fd;
};

/* Why slot 0 dropped packets: it receives those that belong to no process. */
enum rn_rocind_drop {
	RN_ROCIND_DROP_SHORT,	     /* shorter than a BTH */
	RN_ROCIND_DROP_QP0,	     /* QPN 0 */
	RN_ROCIND_DROP_QP1,	     /* QPN 1: connection manager */
	RN_ROCIND_DROP_RESERVED,     /* QPN 2..255 */
	RN_ROCIND_DROP_MULTICAST,    /* QPN 0xffffff */
	RN_ROCIND_DROP_UNKNOWN_SLOT, /* QPN of a slot that no process has */
	RN_ROCIND_DROP_COUNT
};

struct rn_rocind_status {
	int32_t pid;
	char version[32];
	int64_t since_s; /* Unix time of its start, in seconds */
	/* rocind ends when it has had no clients for this time; 0: never. */
	uint32_t idle_ms;
	uint32_t clients;  /* connections, including this one */
	uint32_t attached; /* connections that hold a slot */
	uint32_t groups;   /* device addresses whose port 4791 is held */
	/* Of the connection manager: descriptors that programs have open, their ids,
	 * ports in use, and connections, including those in time-wait.
	 */
	uint32_t cm_channels, cm_ids, cm_ports, cm_connections;
	uint64_t drops[RN_ROCIND_DROP_COUNT];
};

/**
 * rn_rocind_connect() - Connect to this namespace's rocind; start it if there is none
 * @rocind_path: Program to start, or NULL: $ROCIN_ROCIND, else beside this code as built
 *		or installed, else in PATH
 * @err:	Out on failure: the error text, one sentence
 * @err_len:	Bytes in @err
 *
 * Return: the connection, or NULL with errno: ENOENT (no program to start), ETIMEDOUT,
 *	   EPROTONOSUPPORT (rocind is of another version), EPERM (runtime directory or
 *	   rocind of another user), or another system error.
 */
struct rn_rocind *rn_rocind_connect(const char *rocind_path, char *err, size_t err_len);

/* As rn_rocind_connect(), without starting rocind: errno ENOENT if none is running. */
struct rn_rocind *rn_rocind_connect_running(char *err, size_t err_len);

/**
 * rn_rocind_attach() - Get a slot and the sockets for one device
 * @r:		Connection that has not attached yet
 * @dev:	Device; its addresses are opened in the order of its GID table
 * @stats_fd:	memfd with this process's struct rn_stats_page, or -1; stays the caller's
 * @out:	Out: slot, first QPN counter, sockets; untouched on failure
 *
 * The device follows its interface (RN_ROCIND_GID_ADDED for addresses that appear later)
 * if the interface is not loopback and @dev holds all addresses that it has now, as
 * rn_netdev_discover() gives them for an interface without addresses.
 *
 * Return: 0, or -EADDRINUSE (something else holds port 4791 of an address; the sentence
 *	   says who), -EADDRNOTAVAIL (address is gone), -EUSERS (255 processes have slots
 *	   already), -EALREADY (this connection is attached), -EINVAL (device without name
 *	   or addresses), -EMFILE, -ENOMEM, -ECONNRESET (rocind died), -ETIMEDOUT.
 */
int rn_rocind_attach(struct rn_rocind *r, const struct rn_netdev *dev, int stats_fd,
		     struct rn_attach *out, char *err, size_t err_len);

/* Give the slot back. The connection stays and may attach again. Close the sockets
 * before: packets that arrive later belong to no process. Return: 0, -ENOTCONN (not
 * attached), or as rn_rocind_attach().
 */
int rn_rocind_detach(struct rn_rocind *r, char *err, size_t err_len);

/* A descriptor for poll(): readable if rn_rocind_event() may have an event. An event that
 * arrived during another call does not make it readable: call rn_rocind_event() once
 * after each call.
 */
int rn_rocind_fd(const struct rn_rocind *r);

/**
 * rn_rocind_event() - Take the next event, without waiting
 *
 * Return: 0 with @out filled in, or -EAGAIN: no event. RN_ROCIND_GONE is final: every
 *	   later call returns it again.
 */
int rn_rocind_event(struct rn_rocind *r, struct rn_rocind_event *out);

/* Accept local wires; @no_icrc: with packets that have no ICRC. To be called before
 * rn_rocind_attach().
 */
void rn_rocind_take_wires(struct rn_rocind *r, bool no_icrc);

/**
 * rn_rocind_ask_wire() - Ask for a local wire to another process, which is shared memory
 * @ends:	The two ends
 * @lost:	There was a wire and is none any more, which rocind may not know
 *
 * Never waits. An event follows: RN_ROCIND_WIRE, or RN_ROCIND_WIRE_DOWN with the reason:
 * EHOSTUNREACH (no process of this rocind has that address and slot), EOPNOTSUPP (one of
 * the two processes does not accept wires), EMLINK (there are RN_ROCIND_WIRES_MAX
 * already), EPIPE (a wire between them was broken), EADDRNOTAVAIL (not our address),
 * EMFILE (this process may have no more descriptors), or the error of allocating the
 * memory (ENOSYS, EPERM, ENOMEM, EMFILE ...). No event follows if there is a wire that
 * is not @lost or is younger than a second.
 *
 * Return: 0, -EAGAIN (rocind is busy: later), or -ECONNRESET.
 */
int rn_rocind_ask_wire(struct rn_rocind *r, const struct rn_rocind_ends *ends, bool lost);

/* Close the descriptors of a wire. */
void rn_rocind_close_wire(const struct rn_rocind_wire *wire);

/* Tell that a wire is broken, or not wanted: the other end is told, and there will be
 * none again. Never waits. Return: as rn_rocind_ask_wire().
 */
int rn_rocind_drop_wire(struct rn_rocind *r, const struct rn_rocind_ends *ends);

/* Called for each attached process; a return value other than 0 ends the list. */
typedef int (*rn_rocind_on_client)(void *ctx, const struct rn_rocind_client *client);

/* Return: 0, the value that @on_client returned if not 0, or as rn_rocind_attach(). */
int rn_rocind_list(struct rn_rocind *r, rn_rocind_on_client on_client, void *ctx,
		   char *err, size_t err_len);

int rn_rocind_status(struct rn_rocind *r, struct rn_rocind_status *out, char *err,
		     size_t err_len);

/* The fault rules, which rocind stores without reading them. */
struct rn_rocind_faults {
	/* Incremented with each change; 0: there were never any rules. */
	uint64_t generation;
	int fd; /* file with the text, for pread(), owned by the caller; -1: no rules */
	/* Counts by rule, as in struct rn_stats_faults, of processes that have ended. */
	uint64_t seen[RN_ROCIND_RULES_MAX], hits[RN_ROCIND_RULES_MAX];
};

/* Return: 0, or as rn_rocind_status(). */
int rn_rocind_faults(struct rn_rocind *r, struct rn_rocind_faults *out, char *err,
		     size_t err_len);

/**
 * rn_rocind_set_faults() - Replace the fault rules of every process
 * @now:	In: the generation that the caller knows; out: the new state
 * @fd:		memfd with the text, sealed against any change; -1: no rules. Stays the
 *		caller's
 * @from:	For each new rule the old rule that it replaces, so that it keeps its
 *		counts; 255: none
 *
 * Return: 0, -EAGAIN (somebody else has changed them meanwhile), -EINVAL (no such text),
 *	   or as rn_rocind_status(); @now is untouched then.
 */
int rn_rocind_set_faults(struct rn_rocind *r, struct rn_rocind_faults *now, int fd,
			 const uint8_t from[RN_ROCIND_RULES_MAX], char *err,
			 size_t err_len);

/* The devices to be captured, and the part of their packets. */
struct rn_rocind_capture {
	const char *ibdev; /* NULL: all devices */
	int32_t pid;	   /* 0: of any process */
	uint32_t qpn, snaplen;
	uint32_t size; /* data bytes of each ring; rn_capture_is_size() */
};

/**
 * rn_rocind_capture() - Capture the packets of devices in use, now and later
 *
 * Events follow, for each device: RN_ROCIND_TAP_SOURCE, and RN_ROCIND_TAP_END when its
 * program has ended. Closing the connection ends the capture.
 *
 * Return: 0, -EBUSY (RN_CAPTURES_MAX are under way), -EINVAL (size or name), -EALREADY
 *	   (this connection has a device, or captures already), or as rn_rocind_status().
 */
int rn_rocind_capture(struct rn_rocind *r, const struct rn_rocind_capture *what,
		      char *err, size_t err_len);

/* Close the descriptors of @tap. */
void rn_rocind_close_tap(const struct rn_rocind_tap *tap);

/**
 * rn_rocind_open_cm() - Open the connection manager's device
 * @netdevs:	As rn_netdev_discover() takes it, shorter than 2048 bytes
 * @board:	Out: a descriptor for rn_cm_board_map(), the caller's, or -1
 *
 * Return: a descriptor (rocin/cmdev.h), close-on-exec, above 2, which stays valid if the
 * connection to rocind is closed; -EINVAL; or as rn_rocind_attach().
 */
int rn_rocind_open_cm(struct rn_rocind *r, const char *netdevs, int *board, char *err,
		      size_t err_len);

/* Ask rocind to end, for all its clients. Return: 0 once it has released the ports. */
int rn_rocind_shutdown(struct rn_rocind *r, char *err, size_t err_len);

/* Close the connection, which gives its slot back. NULL is ignored. */
void rn_rocind_close(struct rn_rocind *r);

/* In a fork child: drop the inherited connection in such a way that the parent stays
 * attached. NULL is ignored.
 */
void rn_rocind_abandon(struct rn_rocind *r);

#endif /* RN_ROCIND_CLIENT_H */
