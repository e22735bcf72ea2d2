/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.c - reads the stats pages of programs and prints their counters. */
#include "stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --------------------------------------------------------- one stats page */
/* Maximum number of QPs of a device; a page with a greater number is wrong. */
enum {
	QPS_MAX = 65536
};

/* Copies the records that are in use, up to the end of the file. */
static int read_qps(int fd, struct rn_stats_copy *copy, uint32_t capacity)
{
	copy->qp = calloc(capacity ? capacity : 1, sizeof(*copy->qp));
	if (!copy->qp)
		return -ENOMEM;
	for (uint32_t i = 0; i < capacity; i++) {
		struct rn_stats_qp *qp = &copy->qp[copy->qp_count];
		off_t at = RN_STATS_QP_OFFSET + (off_t)i * (off_t)sizeof(*qp);

		if (pread(fd, qp, sizeof(*qp), at) != (ssize_t)sizeof(*qp))
			break;
		if (qp->qpn != 0)
			copy->qp_count++;
	}
	return 0;
}

int rn_stats_read(int fd, struct rn_stats_copy *copy)
{
	struct rn_stats_page *page = &copy->page;
	struct stat st;
	ssize_t n;
	uint64_t room;

	*copy = (struct rn_stats_copy){ 0 };
	n = pread(fd, page, sizeof(*page), 0);
	if (n < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (n != (ssize_t)sizeof(*page) || page->magic != RN_STATS_PAGE_MAGIC ||
	    page->version != RN_STATS_PAGE_VERSION)
		return -EPROTO;
	page->ibdev[sizeof(page->ibdev) - 1] = '\0';
	page->comm[sizeof(page->comm) - 1] = '\0';
	copy->counter_count =
		page->counter_count < RN_STAT_COUNT ? page->counter_count : RN_STAT_COUNT;
	/* The capacity is limited to the records that the file has room for. */
	room = st.st_size > RN_STATS_QP_OFFSET
		       ? (uint64_t)(st.st_size - RN_STATS_QP_OFFSET) / sizeof(*copy->qp)
		       : 0;
	if (room > QPS_MAX)
		room = QPS_MAX;
	return read_qps(fd, copy,
			page->qp_capacity < room ? page->qp_capacity : (uint32_t)room);
}

void rn_stats_free(struct rn_stats_copy *copy)
{
	free(copy->qp);
	*copy = (struct rn_stats_copy){ 0 };
}

/* ---------------------------------------------------- stats pages of all programs */
const char *const rn_drop_name[RN_ROCIND_DROP_COUNT] = {
	[RN_ROCIND_DROP_SHORT] = "short",
	[RN_ROCIND_DROP_QP0] = "qp0",
	[RN_ROCIND_DROP_QP1] = "qp1",
	[RN_ROCIND_DROP_RESERVED] = "reserved_qp",
	[RN_ROCIND_DROP_MULTICAST] = "multicast",
	[RN_ROCIND_DROP_UNKNOWN_SLOT] = "unknown_slot",
};

static int on_client(void *ctx, const struct rn_rocind_client *c)
{
	struct rn_stats_list *list = ctx;
	struct rn_stats_client *grown =
		reallocarray(list->client, list->count + 1, sizeof(*grown));

	if (!grown) {
		if (c->stats_fd >= 0)
			close(c->stats_fd);
		return -ENOMEM;
	}
	list->client = grown;
	grown += list->count++;
	*grown = (struct rn_stats_client){ .id = *c };
	/* A client without a readable page is listed as well, because it has a slot. */
	if (c->stats_fd >= 0) {
		if (rn_stats_read(c->stats_fd, &grown->copy))
			rn_stats_free(&grown->copy);
		close(c->stats_fd);
	}
	grown->id.stats_fd = -1;
	return 0;
}

int rn_stats_gather(struct rn_rocind *daemon, struct rn_stats_list *list, char *err,
		    size_t err_len)
{
	*list = (struct rn_stats_list){ 0 };
	return rn_rocind_list(daemon, on_client, list, err, err_len);
}

void rn_stats_list_free(struct rn_stats_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		rn_stats_free(&list->client[i].copy);
	free(list->client);
	*list = (struct rn_stats_list){ 0 };
}

const struct rn_stats_client *rn_stats_find(const struct rn_stats_list *list,
					    const struct rn_stats_client *client)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct rn_stats_client *c = &list->client[i];

		if (c->id.pid == client->id.pid && c->id.slot == client->id.slot &&
		    strcmp(c->id.ibdev, client->id.ibdev) == 0)
			return c;
	}
	return NULL;
}
