/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_pages.h - reads the stats pages of programs. */
#ifndef RN_STATS_PAGES_H
#define RN_STATS_PAGES_H

#include "rocin/stats.h"
#include "rocind_client.h"

/* --------------------------------------------------------- one stats page */
/* A copy of another process's stats page.
 *
 * The page is read by pread() and checked, and never mapped, because its program may be
 * of another version, and may stop, die, or truncate the page at any time.
 */

struct rn_stats_copy {
	/* The page. Its strings are valid UTF-8 without control characters, and
	 * NUL-terminated.
	 */
	struct rn_stats_page page;
	/* Number of valid entries in page.counter, at most RN_STAT_COUNT. */
	uint32_t counter_count;
	struct rn_stats_qp *qp; /* records of the QPs in use; owned by this copy */
	uint32_t qp_count;
	/* records of the other objects in use; owned by this copy */
	struct rn_stats_object *object;
	uint32_t object_count;
};

/* Copies the stats page in the file @fd. Returns 0, -EPROTO (it is no stats page of this
 * version), -ENOMEM, or -errno of pread(). The caller frees the copy by rn_stats_free().
 */
int rn_stats_read(int fd, struct rn_stats_copy *copy);
void rn_stats_free(struct rn_stats_copy *copy);

/* Returns the member @icrc of a stats page, any number; 0 if @fd is no stats page of this
 * version.
 */
uint32_t rn_stats_icrc(int fd);

/**
 * rn_stats_find_qp() - Look for the record of one QP
 * @next:	Index of the record to begin at, any number; out: index for the next
 *		search, behind the record that was found
 * @left:	How many records may be read; out: how many of them are left
 * @out:	Out: the record
 *
 * After the last record the search continues with the first one, and it ends where it
 * began. Records are in the order in which the QPs were created, so consecutive searches
 * find each QP near @next.
 *
 * Return: false if there is no such record, no stats page of this version, or if *@left
 *	   did not suffice.
 */
bool rn_stats_find_qp(int fd, uint32_t qpn, uint32_t *next, uint32_t *left,
		      struct rn_stats_qp *out);

/* ---------------------------------------------------- stats pages of all programs */
/* A client of rocind with its stats page. */

struct rn_stats_client {
	/* the program, as rocind lists it; stats_fd is closed already, and -1 */
	struct rn_rocind_client id;
	struct rn_stats_copy copy; /* all zero if the page cannot be read */
};

struct rn_stats_list {
	struct rn_stats_client *client; /* array of clients; owned by this list */
	size_t count;
};

/* Names of the reasons why rocind drops a packet. */
extern const char *const rn_drop_name[RN_ROCIND_DROP_COUNT];

/**
 * rn_stats_gather() - Read the stats pages of all programs that rocind serves
 * @daemon:	Connection to rocind
 * @list:	Out, also on failure; to be freed by rn_stats_list_free()
 *
 * Return: 0, -ENOMEM, or an error of rn_rocind_list(), with an error text in @err.
 */
int rn_stats_gather(struct rn_rocind *daemon, struct rn_stats_list *list, char *err,
		    size_t err_len);
void rn_stats_list_free(struct rn_stats_list *list);

/* Finds in @list the program that uses the same device in the same process as @client,
 * an entry of another list. Returns NULL if there is none.
 */
const struct rn_stats_client *rn_stats_find(const struct rn_stats_list *list,
					    const struct rn_stats_client *client);

#endif /* RN_STATS_PAGES_H */
