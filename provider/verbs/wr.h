/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wr.h - requests between ibv_wr_start() and ibv_wr_complete(). */
#ifndef RNP_WR_H
#define RNP_WR_H

#include "provider.h"

struct rnp_wr_entry {
	struct rn_send_wr wr;
	struct rn_av av;
	size_t sge_at;	     /* first of wr.num_sge in list.sges */
	size_t inline_at;    /* with RN_SEND_INLINE: first byte in list.bytes */
	uint32_t inline_len; /* bytes */
};

struct rnp_wr_array {
	void *item;
	size_t count, room; /* items */
};

struct rnp_wr_list {
	pthread_mutex_t
		lock; /* guards all; taken by start, released by complete, abort */
	int err;      /* the first thing that went wrong since start; positive */
	struct rnp_wr_array entries; /* struct rnp_wr_entry */
	struct rnp_wr_array sges;    /* struct rn_sge */
	struct rnp_wr_array bytes;
};

#endif /* RNP_WR_H */
