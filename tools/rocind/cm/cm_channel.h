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

/* A path: a socket by which one thread of a program sends its commands. */
struct rnd_cm_path {
	struct rnd_cm_path *next;
	struct rnd_cm_channel *ch;
	struct rnd_source sock;
	uint64_t number; /* number that no other path has */
	/* The path was restored from the records of a rocind that has died, which may
	 * have executed the first command on it already.
	 */
	bool is_restored;
	/* The last command that was executed, and its answer. A successor of rocind needs
	 * them, so the keeper (which starts it) has a copy.
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
	/* Number that no other channel has; a part of the name of the program's socket.
	 */
	uint64_t number;
	/* number of marks (bytes that announce events) which were sent and which the
	 * program has, as far as rocind knows, not read yet
	 */
	uint32_t marks;
	uint32_t marks_kept; /* value of @marks that the keeper knows */
	/* the channel was restored from the records of a rocind that has died */
	bool is_restored;
	/* The program may have mapped the board of an earlier rocind (memory in which
	 * programs read about their rdma_cm ids). So the next answer must carry the
	 * descriptor of the present board.
	 */
	bool wants_board;
	/* events may have been queued for which no mark was sent yet */
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
	 * in one step. They have 1.2 MB, and reading them takes 0.2 ms. If programs have
	 * more records, the search takes several steps, at most 16 for each REP.
	 */
	RND_CM_RECORDS_MAX = 16384,
};
#define RND_CM_EARLY_FOR RN_MSEC(100)

/* An early request: a connection request that came before its listener, and waits for it
 * until @until.
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
	/* captures, between fault injection and @sockets; NULL: there are none */
	struct rn_capture *capture;
	struct rn_fault
		/* fault injection, in front of captures and @sockets; NULL: there are no
		 * rules
		 */
		*fault;
	/* the outermost of these layers that exists: @fault, @capture or @sockets */
	struct rn_net *net;
	/* the packet that is to be processed next; @data NULL: there is none */
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
	bool has_news; /* at least one channel has news (rnd_cm_channel.has_news) */
	/* Upper half of the numbers of channels: the process id of the rocind that has
	 * made the board. It is also on the board (cm_board.h).
	 */
	uint32_t number;
	uint64_t last_path;
	/* the keeper, which starts a successor if rocind dies, must get a new copy of
	 * struct rnd_cm_saved
	 */
	bool is_changed;
	/* how many records of QPs may still be read in this step, see RND_CM_RECORDS_MAX
	 */
	uint32_t records_left;
	/* how many questions of other hosts may still be answered */
	struct rnd_peer_budget peer_budget;
};

/* The keeper's record of struct rnd_cm: those members that a successor needs. */
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
 * path. The descriptors in @r belong to the restored object afterwards.
 */
void rnd_cm_channel_restore(struct rnd_cm *cm, struct rnd_record *r);
void rnd_cm_marks_restore(struct rnd_cm *cm, const struct rnd_record *r);
void rnd_cm_path_restore(struct rnd_cm *cm, struct rnd_record *r);

/* Notes that a channel has new events. @user: the channel. Implements rnd_ucma_ops.ready.
 */
void rnd_cm_announce(void *ctx, void *user);

/* Sends a mark for each queued event that may not have one yet. A mark is a byte in the
 * channel by which a program notices an event.
 */
void rnd_cm_announce_all(struct rnd_cm *cm);

/* Sends the packets that the connection manager has to send, and sets the timer (cm.c).
 */
void rnd_cm_flush(struct rnd_cm *cm);

#endif /* RND_CM_CHANNEL_H */
