/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* server.h - the daemon: one thread, one epoll set.
 *
 * Only one event is taken from the kernel at a time, so that a handler may free any
 * source but never meets an event of one that is gone.
 */
#ifndef RND_SERVER_H
#define RND_SERVER_H

#include "attach.h"

/* Something to wait for. on_ready may free the source. */
struct rnd_source {
	int fd; /* -1: not in use */
	void *ctx;
	void (*on_ready)(void *ctx);
};

struct rnd_client;

struct rnd_server {
	int epoll_fd;
	int lock_fd; /* flock held: this is the only rocind here */
	int dir_fd;  /* runtime directory, -1 if its path is short enough for a socket */
	int spare_fd; /* given up for a moment to turn clients away when descriptors run out */
	char sock_path[128];
	struct rnd_source listener;
	struct rnd_source signals;
	struct rnd_source netlink;
	struct rnd_groups groups;
	struct rnd_source slot0[RN_CTL_SLOT_MAX]; /* one for each group; fd is the group's */
	unsigned slot0_count;
	struct rnd_client *clients;
	uint64_t last_client_id;
	uint64_t drops[RN_ROCIND_DROP_COUNT];
	int64_t since_s; /* Unix time */
	uint32_t idle_ms; /* 0: for ever */
	rn_ns idle_from;  /* when the last client came or went */
	bool stopping;
	struct rnd_client *stop_asked_by; /* or NULL */
};
