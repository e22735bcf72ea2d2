/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_channel.h - one descriptor of a program that stands for /dev/infiniband/rdma_cm. */
#ifndef RND_CM_CHANNEL_H
#define RND_CM_CHANNEL_H

#include "cm.h"
#include "rocin/gsi.h"
#include "rocin/stats.h"
#include "tools/rocind/net/route.h"
#include "tools/rocind/ucma/ucma.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/fault/net_fault.h"
#include "transport/io/rocind/cm_board.h"

struct rn_netdev;

/* By which the commands of one thread come. */
struct rnd_cm_path {
	struct rnd_cm_path *next;
	struct rnd_cm_channel *ch;
	struct rnd_source sock;
};

struct rnd_cm_channel {
	struct rnd_cm_channel *next;
	struct rnd_cm *cm;
	struct rnd_source sock;
	uint64_t number; /* in the name of the program's end */
	uint32_t marks;	 /* bytes sent and, as far as we know, not read */
	struct rnd_ucma_channel *ucma;
	struct rnd_cm_path *paths;
};

enum {
	RND_CM_EARLY_MAX = 32 /* at a time; more are refused at once */
};
#define RND_CM_EARLY_FOR RN_MSEC(100)

/* A request that has come before its listener. */
struct rnd_cm_early {
	rn_ns until;
	struct rn_flow flow;
	uint32_t src_qpn;
	uint8_t mad[RN_MAD_LEN];
};

struct rnd_cm {
	struct rnd_server *server;
	struct rnd_ucma *ucma;	    /* NULL until the first channel */
	struct rn_net sockets;	    /* of the groups, for QP1's packets */
	struct rn_capture *capture; /* before them, or NULL: nobody captures */
	struct rn_fault *fault;	    /* before all */
	struct rn_rx arrived;	    /* @data is NULL: nothing */
	uint64_t stats[RN_STAT_COUNT];
	struct rnd_cm_early early[RND_CM_EARLY_MAX]; /* the oldest first */
	unsigned early_count;
	struct rn_gsi gsi;
	struct rnd_source timer;
	rn_ns timer_at; /* when it expires; RN_NEVER: it does not run */
	struct rnd_router router;
	struct rn_cm_board board; /* from the first channel on */
	struct rnd_cm_channel *channels;
};

/* Return: 0 with the program's end in @fd, or -errno. */
int rnd_cm_channel_open(struct rnd_cm *cm, const struct rn_netdev *devs, unsigned count,
			int *fd);
void rnd_cm_channel_close(struct rnd_cm_channel *ch);

/* An event was queued. */
void rnd_cm_channel_ready(struct rnd_cm_channel *ch);

/* Send what the connection manager has to say (cm.c). */
void rnd_cm_flush(struct rnd_cm *cm);

#endif /* RND_CM_CHANNEL_H */
