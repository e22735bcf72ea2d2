/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_channel.h - a channel: one descriptor of a program that stands for an open
 * /dev/infiniband/rdma_cm.
 */
#ifndef RND_CM_CHANNEL_H
#define RND_CM_CHANNEL_H

#include "cm.h"
#include "peer.h"
#include "rocin/cmdev.h"
#include "rocin/gsi.h"
#include "rocin/stats.h"
#include "tools/rocind/net/route.h"
#include "tools/rocind/ucma/ucma.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/fault/net_fault.h"
#include "transport/io/rocind/cm_board.h"

struct rn_netdev;

/* A socket over which one thread of a program sends its commands (a "path"). */
struct rnd_cm_path {
	struct rnd_cm_path *next;
	struct rnd_cm_channel *ch;
	struct rnd_source sock;
	uint64_t number; /* a number that no other path has */
	/* The path comes from a rocind that has died. That rocind may have executed the
	 * first command on it already.
	 */
	bool is_restored;
	/* The last command that was executed, and its answer. A successor of rocind needs
	 * them, so the keeper has a copy.
	 */
	struct rnd_cm_done {
		uint64_t channel; /* number of the channel */
		uint32_t seq;
		uint32_t is_one_way;
		struct rn_cmdev_answer answer;
		uint8_t data[RN_CMDEV_OUT_MAX];
	} done;
};

struct rnd_cm_channel {
	struct rnd_cm_channel *next;
	struct rnd_cm *cm;
	struct rnd_source sock;
	/* Number that no other channel has. It is a part of the name of the program's
	 * socket.
	 */
	uint64_t number;
	/* number of bytes that were sent to announce events and, as far as known, were
	 * not read
	 */
	uint32_t marks;
	uint32_t marks_kept; /* value of @marks that the keeper knows */
	bool is_restored;    /* restored from the records of a rocind that died */
	/* The program may have mapped the board (memory in which programs read about
	 * their rdma_cm ids) of an earlier rocind. So the next answer must carry the
	 * board of this one.
	 */
	bool wants_board;
	/* events may have been queued for which no mark (byte) was sent yet */
	bool has_news;
	struct rnd_ucma_channel *ucma;
	struct rnd_cm_path *paths;
};

enum {
	/* maximum number of connection requests that wait for a listener; further ones
	 * are refused at once
	 */
	RND_CM_EARLY_MAX = 32,
	/* Maximum number of records of QPs, in the stats pages of programs, that are read
	 * in one step. They are 1.2 MB, and reading them takes 0.2 ms. If a program has
	 * more records, they are searched in several steps, at most 16 for each REP.
	 */
	RND_CM_RECORDS_MAX = 16384,
};
#define RND_CM_EARLY_FOR RN_MSEC(100)

/* A connection request that came before its listener. It waits for the listener until
 * @until.
 */
struct rnd_cm_early {
	rn_ns until;
	struct rn_flow flow;
	uint32_t src_qpn;
	uint8_t mad[RN_MAD_LEN];
};

struct rnd_cm {
	struct rnd_server *server;
	/* State of rdma_cm ids and connections. NULL until the first channel is opened or
	 * the first packet comes.
	 */
	struct rnd_ucma *ucma;
	struct rn_cm *protocol;
	/* packets of QP1 to and from the sockets of slot 0, one for each device address
	 */
	struct rn_net sockets;
	struct rn_capture *capture; /* captures around `sockets'; NULL: there are none */
	struct rn_fault
		/* fault injection around captures or sockets; NULL: there are no rules */
		*fault;
	struct rn_net *net; /* the outermost layer: @fault, @capture or @sockets */
	/* packet that is to be processed next; @data is NULL: there is none */
	struct rn_rx arrived;
	uint64_t stats[RN_STAT_COUNT];
	/* connection requests that wait for a listener, the oldest first */
	struct rnd_cm_early early[RND_CM_EARLY_MAX];
	unsigned early_count;
	struct rn_gsi gsi;
	struct rnd_source timer;
	rn_ns timer_at; /* time at which the timer expires; RN_NEVER: it is stopped */
	struct rnd_router router;
	struct rn_cm_board board; /* opened together with `ucma' */
	struct rnd_cm_channel *channels;
	bool has_news; /* @has_news of some channel is true */
	/* Upper half of the numbers of channels: the process id of the rocind that has
	 * made the board. It is also on the board (cm_board.h).
	 */
	uint32_t number;
	uint64_t last_path;
	/* what the keeper (which starts a successor if rocind dies) knows of this is out
	 * of date
	 */
	bool is_changed;
	/* how many records of QPs may still be read in this step, see RND_CM_RECORDS_MAX
	 */
	uint32_t records_left;
	/* how many questions of other hosts may still be answered */
	struct rnd_peer_budget peer_budget;
};

/* What the keeper's record of struct rnd_cm contains: the members that a successor needs.
 */
struct rnd_cm_saved {
	uint32_t number;
	uint32_t board_reserved;
	uint32_t board_lives[RN_CM_KINDS];
	uint64_t last_path;
};

/* ---- First requests (first_request.c) ---- */

/* Returns true if QP @qpn has received a request or an answer of its peer, so that no RTU
 * is needed. Implements rn_cm_cfg.has_request; @ctx: the struct rnd_cm.
 */
bool rnd_cm_has_request(void *ctx, const struct rn_cm_info *info, uint32_t qpn);

/* ---- Channels ---- */

/* Opens a channel for a program with the devices @devs. Returns 0 with the program's end
 * of the channel in @fd, or -errno.
 */
int rnd_cm_channel_open(struct rnd_cm *cm, const struct rn_netdev *devs, unsigned count,
			int *fd);
void rnd_cm_channel_close(struct rnd_cm_channel *ch);

/* Sends the keeper records of all channels and paths, for a successor of rocind. */
void rnd_cm_channels_keep_all(struct rnd_cm *cm);
/* Sends the keeper, for the channels where it has changed, how many marks the program has
 * not read. A mark is a byte that was sent to announce an event.
 */
void rnd_cm_channels_keep_marks(struct rnd_cm *cm);
/* Restore what record @r of the keeper describes: a channel, the marks of a channel, or a
 * path. They take over the descriptors in @r.
 */
void rnd_cm_channel_restore(struct rnd_cm *cm, struct rnd_record *r);
void rnd_cm_marks_restore(struct rnd_cm *cm, const struct rnd_record *r);
void rnd_cm_path_restore(struct rnd_cm *cm, struct rnd_record *r);

/* Notes that channel @user has new events. Implements rnd_ucma_ops.ready. */
void rnd_cm_announce(void *ctx, void *user);

/* Sends a mark (a byte by which a program notices an event) for each queued event that
 * may not have one yet.
 */
void rnd_cm_announce_all(struct rnd_cm *cm);

/* Sends the packets that the connection manager has to send, and sets the timer (cm.c).
 */
void rnd_cm_flush(struct rnd_cm *cm);

#endif /* RND_CM_CHANNEL_H */
