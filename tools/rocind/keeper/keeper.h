/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* keeper.h - the keeper: a process beside rocind that holds copies of rocind's
 * descriptors and of its state, and starts a successor when rocind dies.
 *
 * rocind describes its state by records. A record has a kind, a number that is unique in
 * its kind, some bytes, and some descriptors. All changes that rocind makes while it
 * handles one event reach the keeper as one transaction (rnd_keeper_commit()). So if
 * rocind is killed before the commit, the keeper still has the state from before the
 * event, and the input that caused the event is still in its socket: rocind removes it
 * from there only after the commit. If rocind is killed after the commit, the successor
 * recognises that the input was executed already, and repeats the answer.
 *
 * The keeper receives messages of rocind only, so no message of a program can harm it.
 * When rocind dies, the keeper reads end of file from the socket between the two, and
 * forks: the child has the records and descriptors, and becomes the next rocind. Programs
 * notice nothing, because none of their connections is closed.
 *
 * If the keeper dies, rocind starts another one and commits all of its state.
 *
 * Threads: rocind and the keeper have one thread each.
 */
#ifndef RND_KEEPER_H
#define RND_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rocin/types.h"

/* Kinds of records, in the order in which a successor needs them. */
enum rnd_record_kind {
	RND_RECORD_SERVER,  /* counters of rocind; lock file and listening socket */
	RND_RECORD_GROUP,   /* a device address, whose sockets form a group */
	RND_RECORD_SOCKET,  /* one socket of a device address */
	RND_RECORD_CLIENT,  /* a client's control connection and its device */
	RND_RECORD_WIRE,    /* a local wire (shared memory) between two clients */
	RND_RECORD_FAULTS,  /* fault rules and counts */
	RND_RECORD_TAP,	    /* a capture of the packets of QP1 */
	RND_RECORD_CM,	    /* counters of the connection manager */
	RND_RECORD_CHANNEL, /* a channel: a program's descriptor for rdma_cm */
	/* the number of unread marks (bytes that announce events) in a channel */
	RND_RECORD_MARKS,
	/* a socket over which a thread sends commands, and the last command on it */
	RND_RECORD_PATH,
	RND_RECORD_ID,	  /* an rdma_cm id */
	RND_RECORD_CONN,  /* the state of a connection in the CM protocol */
	RND_RECORD_MCAST, /* membership in a multicast group */
	RND_RECORD_EVENT, /* an event that a program has not fetched */
	RND_RECORD_KINDS
};

enum {
	/* Version of the contents of records. Any change of the contents must increment
	 * it, because a rocind of another build reads the records when it replaces a
	 * running one (server/replace.c).
	 */
	RND_RECORDS_VERSION = 2,
	RND_RECORD_FDS = 8,	    /* maximum number of descriptors of a record */
	RND_RECORD_BYTES = 32 << 10 /* maximum number of bytes of a record */
};

struct rnd_record {
	struct rnd_record *next; /* next record in the same chain of the hash table */
	enum rnd_record_kind kind;
	uint64_t number;
	uint32_t len;
	uint32_t fd_count;
	int fd[RND_RECORD_FDS];
	uint8_t data[];
};

/* The records that a rocind has left. */
struct rnd_estate {
	struct rnd_record **chain;
	uint32_t chains; /* number of hash chains in @chain, a power of two */
	uint32_t count;
};

/* Function that the keeper calls in a successor, a new process. It acts as rocind and
 * never returns.
 * @ctx:	the argument of rnd_keeper_start(), as it was when the keeper was started
 * @estate:	the records, with their descriptors
 * @sock:	socket to the keeper
 */
typedef void rnd_succeed_fn(void *ctx, struct rnd_estate *estate, int sock);

/* ---- Functions of rocind ---- */

struct rnd_keeper {
	int sock;   /* socket to the keeper; -1: there is no keeper */
	int pidfd;  /* pidfd of the keeper; -1: the kernel has no pidfds */
	bool empty; /* no record was put or dropped since the last commit */
	struct rnd_batch *batch;
};

/**
 * rnd_keeper_start() - Start a keeper, which has no records yet
 * @keep_fds:	Descriptors that a successor needs, besides those of records
 *
 * The keeper is a fork of this process, and each successor a fork of the keeper. So they
 * have all memory of this process as it is now, including shared mappings.
 *
 * Return: 0, or -errno if no keeper could be started.
 */
int rnd_keeper_start(struct rnd_keeper *k, const int *keep_fds, unsigned keep_count,
		     rnd_succeed_fn *succeed, void *ctx);

/* Called in a successor: connects @k to the keeper that has forked this process. Returns
 * 0 or -ENOMEM.
 */
int rnd_keeper_join(struct rnd_keeper *k, int sock, pid_t keeper);

/* Puts a record without descriptors into the transaction. It will replace an earlier
 * record of the same kind and number. Does nothing if there is no keeper.
 */
void rnd_keeper_put(struct rnd_keeper *k, enum rnd_record_kind kind, uint64_t number,
		    const void *data, size_t len);

/* Adds a duplicate of @fd to the record that was put last. A record can have
 * RND_RECORD_FDS descriptors.
 */
void rnd_keeper_pass(struct rnd_keeper *k, int fd);

/* Replaces the bytes of a record, which keeps its descriptors. */
void rnd_keeper_update(struct rnd_keeper *k, enum rnd_record_kind kind, uint64_t number,
		       const void *data, size_t len);

/* Removes the record from the keeper, if it has one with this kind and number. */
void rnd_keeper_drop(struct rnd_keeper *k, enum rnd_record_kind kind, uint64_t number);

/* Ends the transaction, so that the keeper applies it. A keeper that does not receive it
 * in time is killed, and @k->sock is -1 then.
 */
void rnd_keeper_commit(struct rnd_keeper *k);

/**
 * rnd_keeper_end() - End the keeper, which closes its descriptors first
 * @heir:	Socket to a process that waits to take over from this rocind; -1: none.
 *	The keeper sends one byte to it when it will start no successor any more. So
 *	whenever rocind dies, either a successor or that process goes on.
 *
 * A keeper that takes too long is killed. Return: true if the keeper has ended by itself.
 */
bool rnd_keeper_end(struct rnd_keeper *k, int heir);

/* Kills the keeper, and forgets it. */
void rnd_keeper_kill(struct rnd_keeper *k);

/* Closes the connection to the keeper, and frees the memory of @k. The caller must have
 * made sure that the keeper will start no successor for this process.
 */
void rnd_keeper_forget(struct rnd_keeper *k);

/* ---- Functions of a successor ---- */

/* Returns the records in the order of kinds and numbers, as an array that the caller must
 * free. Returns NULL if there is no memory.
 */
struct rnd_record **rnd_estate_sort(const struct rnd_estate *estate);

/* ---- The table of records, for the keeper and for tests ---- */

void rnd_estate_init(struct rnd_estate *estate);

/* Closes all descriptors of the records and frees them. */
void rnd_estate_free(struct rnd_estate *estate);

const struct rnd_record *rnd_estate_find(const struct rnd_estate *estate,
					 enum rnd_record_kind kind, uint64_t number);

enum rnd_intake {
	RND_INTAKE_MORE,  /* a message was received */
	RND_INTAKE_DEATH, /* end of file: rocind has died */
	RND_INTAKE_END,	  /* rocind ends, and wants no successor */
	RND_INTAKE_FAULT, /* a message is not valid, or its descriptors are missing */
};

/* Waits for one message on @sock, and receives it. A transaction takes effect when its
 * last message has been received. @pending: the messages of the transaction so far; must
 * be all zeros before the first call.
 */
struct rnd_waiting;
struct rnd_pending {
	struct rnd_waiting *first, *last;
};
enum rnd_intake rnd_estate_receive(struct rnd_estate *estate, struct rnd_pending *pending,
				   int sock);
/* Frees the records of a transaction that was not completed. */
void rnd_pending_free(struct rnd_pending *pending);

#endif /* RND_KEEPER_H */
