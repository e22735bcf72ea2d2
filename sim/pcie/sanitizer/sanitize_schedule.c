/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_schedule.c - schedules of `rocin hunt`: they say which writes of devices are
 * late. A late write is withheld: the program sees its bytes only after an event.
 *
 * ROCIN_SANITIZE=late=FILE: only the writes that FILE names are late. All other writes
 * are stored ("land") at once, together with the writes that the ordering rules put
 * before them, so that the rules allow each schedule. Without late=FILE all writes are
 * late.
 *
 * ROCIN_SANITIZE=record=FILE: each write that could be late is added to FILE, and so are
 * the reads that came before it, the event that performed it, and other events, in the
 * order in which they happen. All processes of a program may add to one file.
 *
 *	late NAME		a write that is late has been issued
 *	landed NAME		a write that lands at once has been issued
 *	read NAME by AGENT	a read of the bytes that this late write will change
 *	event EVENT
 *	ended NAME by EVENT	the late write has been performed
 *
 * The name of a write says what it is, not how many calls came before:
 *
 *	rocin1 qp 1 request 0 host page 0	written by device rocin1 for its first QP,
 *						for the first request of the peer, into
 *						the first page of a region
 *	rocin1 qp 1 request 2 atomic host page 0	by the atomic of request 2
 *	rocin0 qp 2 response 3 gpu0 page 1	the response to request 3 of this QP,
 *						into the second page of an allocation
 *	nvme0 transfer 2 host page 0		the third transfer of a drive
 *	gpu0 store gpu1 page 0			a kernel's stores into another GPU
 *
 * QPs are numbered from 1 in the order in which a NIC first uses them: QP numbers differ
 * from run to run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocin/hash.h"
#include "sanitize_internal.h"
#include "sim/pcie/host/host_internal.h"

enum {
	/* maximum number of QPs that are numbered; later ones have number 0 */
	QPS = 4096,
	LINE_MAX_LEN = 256,
	/* maximum number of lines of a record; what happens later is not recorded */
	LINES_MAX = 200000,
	/* maximum number of lines of a record that describe events */
	EVENTS_MAX = 20000,
	RESPONSE_SHIFT = 31, /* see RESPONSE in sanitize.c */
};

static const char late_word[] = "late ";

/* Hashes of the names of the writes that late=FILE names, sorted. */
static uint64_t *late;
static size_t late_count;
static bool has_late;
static int record_fd = -1;
static const struct rn_host *host;

static struct {
	unsigned agent;
	uint32_t qpn;
} qps[QPS];
static unsigned qp_count;
/* number of transfers of each drive that have ended */
static uint32_t transfers[RN_NVME_MAX];

static char event[LINE_MAX_LEN] = "the start";
static char last_line[LINE_MAX_LEN];
static unsigned line_count, event_count;

/* --------------------------------------------------------- names of writes */
unsigned rn_san_qp_order(unsigned agent, uint32_t qpn)
{
	unsigned order = 0;

	for (unsigned i = 0; i < qp_count; i++) {
		order += qps[i].agent == agent;
		if (qps[i].agent == agent && qps[i].qpn == qpn)
			return order;
	}
	if (qp_count == QPS)
		return 0;
	qps[qp_count].agent = agent;
	qps[qp_count++].qpn = qpn;
	return order + 1;
}

void rn_san_transfer_ended(unsigned agent)
{
	transfers[agent - RN_AGENT_NVME]++;
}

static const char *agent_name(unsigned agent, char *buf, size_t len)
{
	const struct rn_host_nic *nic =
		rn_agent_is_nic(agent) ? host->nics[agent - RN_AGENT_NIC] : NULL;

	return nic && nic->name[0] ? nic->name : rn_agent_name(agent, buf, len);
}

static void name_write(const struct rn_tlp *tlp, uint64_t page, char *name, size_t len)
{
	char by[32], to[32], what[64];

	if (rn_agent_is_nic(tlp->requester))
		snprintf(what, sizeof(what), "qp %u %s %u%s",
			 rn_san_qp_order(tlp->requester, tlp->stream),
			 tlp->msg >> RESPONSE_SHIFT ? "response" : "request",
			 tlp->msg & UINT32_MAX >> 1,
			 rn_san_is_of_atomic(tlp) ? " atomic" : "");
	else if (rn_agent_is_gpu(tlp->requester))
		snprintf(what, sizeof(what), "store");
	else
		snprintf(what, sizeof(what), "transfer %u",
			 transfers[tlp->requester - RN_AGENT_NVME]);
	snprintf(name, len, "%s %s %s page %llu",
		 agent_name(tlp->requester, by, sizeof(by)), what,
		 tlp->target == RN_AGENT_CPU ? "host"
					     : agent_name(tlp->target, to, sizeof(to)),
		 (unsigned long long)page);
}

static uint64_t hash_name(const char *name)
{
	return rn_hash_bytes(RN_HASH_BEGIN, name, strlen(name));
}

static int compare_hashes(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* ---------------------------------------- record of late and landed writes */
/* Adds a line to the record. All TLPs of a write have the same name, so does nothing if
 * the last line was the same. The line is written to the file at once, because the
 * program may crash.
 */
static void add_line(const char *line)
{
	size_t len = strlen(line);

	if (record_fd < 0 || strcmp(line, last_line) == 0 || line_count == LINES_MAX)
		return;
	line_count++;
	memcpy(last_line, line, len + 1);
	while (write(record_fd, line, len) < 0 && errno == EINTR)
		;
}

bool rn_san_names_writes(void)
{
	return has_late || record_fd >= 0;
}

bool rn_san_is_late(const struct rn_tlp *tlp, uint64_t page)
{
	char name[LINE_MAX_LEN - 32], line[LINE_MAX_LEN];
	bool is_late = true;
	uint64_t hash;

	if (!rn_san_names_writes())
		return true;
	name_write(tlp, page, name, sizeof(name));
	hash = hash_name(name);
	if (has_late)
		is_late = late_count &&
			  bsearch(&hash, late, late_count, sizeof(*late), compare_hashes);
	snprintf(line, sizeof(line), "%s %s\n", is_late ? "late" : "landed", name);
	add_line(line);
	return is_late;
}

void rn_san_late_ended(const struct rn_tlp *tlp, uint64_t page)
{
	char name[LINE_MAX_LEN / 2], line[LINE_MAX_LEN];

	if (record_fd < 0)
		return;
	name_write(tlp, page, name, sizeof(name));
	snprintf(line, sizeof(line), "ended %s by %.*s\n", name,
		 (int)(sizeof(line) - sizeof(name) - 16), event);
	add_line(line);
}

/* -------------------------------------------------------- record of events */
static void add_event(void)
{
	char line[LINE_MAX_LEN];

	if (record_fd < 0 || event_count == EVENTS_MAX)
		return;
	event_count++;
	snprintf(line, sizeof(line), "event %.*s\n", (int)(sizeof(line) - 16), event);
	add_line(line);
}

void rn_san_event(const char *what)
{
	if (record_fd < 0)
		return;
	snprintf(event, sizeof(event), "%s", what);
	add_event();
}

static void set_event(const char *what, unsigned agent)
{
	char name[32];

	if (record_fd >= 0)
		snprintf(event, sizeof(event), "%s %s", what,
			 agent_name(agent, name, sizeof(name)));
}

void rn_san_event_agent(const char *what, unsigned agent)
{
	set_event(what, agent);
	add_event();
}

/* Makes a read of @agent the cause that is recorded for what follows. The read itself
 * gets no line, because there are too many reads.
 */
void rn_san_event_read(unsigned agent)
{
	set_event("a read of", agent);
}

void rn_san_note_early(unsigned agent, const struct rn_tlp *tlp, uint64_t page)
{
	char name[LINE_MAX_LEN / 2], line[LINE_MAX_LEN], by[32];

	if (record_fd < 0 || event_count == EVENTS_MAX)
		return;
	event_count++;
	name_write(tlp, page, name, sizeof(name));
	snprintf(line, sizeof(line), "read %s by %s\n", name,
		 agent_name(agent, by, sizeof(by)));
	add_line(line);
}

void rn_san_event_qp(const char *what, unsigned agent, uint32_t qpn, uint32_t msg)
{
	char name[32];

	if (record_fd >= 0)
		snprintf(event, sizeof(event), "%s %u of %s qp %u", what, msg,
			 agent_name(agent, name, sizeof(name)),
			 rn_san_qp_order(agent, qpn));
	add_event();
}

/* ------------------------------------------------- reading of the schedule */
static bool add_late(const char *name)
{
	uint64_t *more = realloc(late, (late_count + 1) * sizeof(*late));

	if (!more)
		return false;
	late = more;
	late[late_count++] = hash_name(name);
	return true;
}

/* Reads the lines "late NAME" of the file @path. Skips all other lines, which are for
 * human readers.
 */
static int read_late(const char *path)
{
	FILE *from = fopen(path, "re");
	char line[LINE_MAX_LEN];
	bool is_read = true;

	if (!from)
		return -errno;
	while (is_read && fgets(line, sizeof(line), from)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, late_word, strlen(late_word)) == 0)
			is_read = add_late(line + strlen(late_word));
	}
	fclose(from);
	if (late_count)
		qsort(late, late_count, sizeof(*late), compare_hashes);
	has_late = true;
	return is_read ? 0 : -ENOMEM;
}

int rn_san_schedule_start(const struct rn_host *h, const struct rn_sanitize_options *o)
{
	int rc = *o->late ? read_late(o->late) : 0;

	host = h;
	if (rc || !*o->record)
		return rc;
	record_fd = open(o->record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	return record_fd < 0 ? -errno : 0;
}
