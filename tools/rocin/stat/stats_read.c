/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_read.c - see stats_read.h */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stats_read.h"

/* More QPs no device offers, whatever a page claims and however large it is on paper. */
enum {
	QPS_MAX = 65536
};

/* Copy the records in use; stops where the file ends. */
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
	/* What the page claims counts only as far as the file reaches. */
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
