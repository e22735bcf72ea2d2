/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* keeper.c - the table of records, the messages between rocind and its keeper, and the
 * keeper process; see keeper.h.
 */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rocin/random.h"
#include "transport/io/host/clock.h"
#include "transport/io/host/log.h"

/* ---- Messages between rocind and the keeper ---- */

/* A message consists of a struct head and entries. Each entry is followed by its bytes.
 * The descriptors of all entries are sent with the message, in the order of the entries.
 */

enum {
	MAGIC = 0x6b6e5270, /* "pRnk" */
	BATCH_BYTES = 64 << 10,
	/* fewer than 253, the maximum that the kernel passes with one message */
	BATCH_FDS = 200,
	ALIGN = 8,
	/* Time in ms that rocind gives the keeper to receive a message, or to end. */
	KEEPER_TIMEOUT_MS = 1000,
};

enum operation {
	OP_PUT,	   /* a record with bytes and descriptors */
	OP_UPDATE, /* only the bytes of a record */
	OP_DROP,
};

struct head {
	uint32_t magic;
	uint32_t entries;
	uint32_t is_last; /* this message completes its transaction */
	uint32_t is_end;  /* rocind ends and wants no successor */
};

struct entry {
	uint32_t op;
	uint32_t kind;
	uint64_t number;
	uint32_t len;
	uint32_t fd_count;
};

struct rnd_batch {
	unsigned fd_count;
	int fd[BATCH_FDS];
	size_t len;
	size_t last; /* offset of the last entry */
	union {
		struct head head;
		uint8_t bytes[BATCH_BYTES];
	};
};

union fd_control {
	char buf[CMSG_SPACE(BATCH_FDS * sizeof(int))];
	struct cmsghdr align;
};

static size_t padded(size_t len)
{
	return (len + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* ---- The table of records ---- */

enum {
	CHAINS_FIRST = 256
};

void rnd_estate_init(struct rnd_estate *estate)
{
	*estate = (struct rnd_estate){ 0 };
}

static void close_fds(struct rnd_record *r)
{
	for (uint32_t i = 0; i < r->fd_count; i++)
		close(r->fd[i]);
	r->fd_count = 0;
}

static void free_record(struct rnd_record *r)
{
	close_fds(r);
	free(r);
}

static struct rnd_record **chain_of(const struct rnd_estate *e, enum rnd_record_kind kind,
				    uint64_t number)
{
	return &e->chain[rn_random_mix(number * RND_RECORD_KINDS + kind) &
			 (e->chains - 1)];
}

/* Returns the place of a record in its hash chain, that is the address of the pointer
 * that points to the record. If there is no such record, the pointer is NULL, and a new
 * record can be linked there.
 */
static struct rnd_record **find_place(const struct rnd_estate *e,
				      enum rnd_record_kind kind, uint64_t number)
{
	struct rnd_record **at = chain_of(e, kind, number);

	while (*at && ((*at)->kind != kind || (*at)->number != number))
		at = &(*at)->next;
	return at;
}

const struct rnd_record *rnd_estate_find(const struct rnd_estate *e,
					 enum rnd_record_kind kind, uint64_t number)
{
	return e->chains ? *find_place(e, kind, number) : NULL;
}

static bool grow_table(struct rnd_estate *e)
{
	struct rnd_estate next = { .chains = e->chains ? 2 * e->chains : CHAINS_FIRST,
				   .count = e->count };

	next.chain = (struct rnd_record **)calloc(next.chains, sizeof(void *));
	if (!next.chain)
		return false;
	for (uint32_t i = 0; i < e->chains; i++)
		for (struct rnd_record *r = e->chain[i], *after; r; r = after) {
			struct rnd_record **at = chain_of(&next, r->kind, r->number);

			after = r->next;
			r->next = *at;
			*at = r;
		}
	free((void *)e->chain);
	*e = next;
	return true;
}

void rnd_estate_free(struct rnd_estate *e)
{
	for (uint32_t i = 0; i < e->chains; i++)
		for (struct rnd_record *r = e->chain[i], *next; r; r = next) {
			next = r->next;
			free_record(r);
		}
	free((void *)e->chain);
	rnd_estate_init(e);
}

static int compare_records(const void *a, const void *b)
{
	const struct rnd_record *x = *(struct rnd_record *const *)a;
	const struct rnd_record *y = *(struct rnd_record *const *)b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

struct rnd_record **rnd_estate_sort(const struct rnd_estate *e)
{
	struct rnd_record **all =
		(struct rnd_record **)malloc((e->count + 1) * sizeof(void *));
	uint32_t n = 0;

	if (!all)
		return NULL;
	for (uint32_t i = 0; i < e->chains; i++)
		for (struct rnd_record *r = e->chain[i]; r; r = r->next)
			all[n++] = r;
	qsort((void *)all, n, sizeof(void *), compare_records);
	all[n] = NULL;
	return all;
}

/* ---- Receiving records ---- */

/* An entry of a transaction that is not complete yet. */
struct rnd_waiting {
	struct rnd_waiting *next;
	enum operation op;
	struct rnd_record *record;
};

void rnd_pending_free(struct rnd_pending *pending)
{
	while (pending->first) {
		struct rnd_waiting *w = pending->first;

		pending->first = w->next;
		free_record(w->record);
		free(w);
	}
	pending->last = NULL;
}

/* Puts @r in the place of the record that has the same kind and number. @keeps_fds: the
 * descriptors of that record become those of @r.
 */
static void replace_record(struct rnd_estate *e, struct rnd_record *r, bool keeps_fds)
{
	struct rnd_record **at = find_place(e, r->kind, r->number), *old = *at;

	if (old && keeps_fds) {
		r->fd_count = old->fd_count;
		memcpy(r->fd, old->fd, sizeof(r->fd));
		old->fd_count = 0;
	}
	r->next = old ? old->next : NULL;
	*at = r;
	if (old)
		free_record(old);
	else
		e->count++;
}

static void drop_record(struct rnd_estate *e, const struct rnd_record *r)
{
	struct rnd_record **at = find_place(e, r->kind, r->number), *old = *at;

	if (!old)
		return;
	*at = old->next;
	free_record(old);
	e->count--;
}

/* Applies a whole transaction. Returns false if out of memory. */
static bool apply_pending(struct rnd_estate *e, struct rnd_pending *pending)
{
	while (pending->first) {
		struct rnd_waiting *w = pending->first;

		if (e->count >= e->chains && !grow_table(e))
			return false;
		if (w->op == OP_DROP) {
			drop_record(e, w->record);
			free_record(w->record);
		} else {
			replace_record(e, w->record, w->op == OP_UPDATE);
		}
		pending->first = w->next;
		free(w);
	}
	pending->last = NULL;
	return true;
}

static bool add_waiting(struct rnd_pending *pending, const struct entry *entry,
			const uint8_t *data, const int *fds)
{
	struct rnd_waiting *w = calloc(1, sizeof(*w));
	struct rnd_record *r = malloc(sizeof(*r) + entry->len);

	if (!w || !r) {
		free(w);
		free(r);
		return false;
	}
	*r = (struct rnd_record){ .kind = (enum rnd_record_kind)entry->kind,
				  .number = entry->number,
				  .len = entry->len,
				  .fd_count = entry->fd_count };
	memcpy(r->data, data, entry->len);
	memcpy(r->fd, fds, entry->fd_count * sizeof(*fds));
	*w = (struct rnd_waiting){ .op = (enum operation)entry->op, .record = r };
	if (pending->last)
		pending->last->next = w;
	else
		pending->first = w;
	pending->last = w;
	return true;
}

/* Adds the entries of a message to the transaction. Sets *@used to the number of
 * descriptors of the message that records now own. Returns false if the message is not
 * valid.
 */
static bool add_entries(struct rnd_pending *pending, const struct rnd_batch *b,
			unsigned *used)
{
	size_t at = sizeof(b->head);

	for (uint32_t i = 0; i < b->head.entries; i++) {
		struct entry entry;

		if (b->len - at < sizeof(entry))
			return false;
		memcpy(&entry, b->bytes + at, sizeof(entry));
		at += sizeof(entry);
		if (entry.op > OP_DROP || entry.kind >= RND_RECORD_KINDS ||
		    entry.len > RND_RECORD_BYTES || padded(entry.len) > b->len - at ||
		    entry.fd_count > RND_RECORD_FDS ||
		    entry.fd_count > b->fd_count - *used)
			return false;
		if (!add_waiting(pending, &entry, b->bytes + at, b->fd + *used))
			return false;
		at += padded(entry.len);
		*used += entry.fd_count;
	}
	return at == b->len && *used == b->fd_count;
}

static void take_descriptors(struct rnd_batch *b, struct msghdr *mh)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(b->fd + b->fd_count, CMSG_DATA(c), count * sizeof(int));
		b->fd_count += (unsigned)count;
	}
}

/* Called when rocind has ended and the keeper will start no successor any more: sends one
 * byte to each process that waits to take over from rocind (argument @heir of
 * rnd_keeper_end()).
 */
static void tell_heirs(struct rnd_batch *b)
{
	for (unsigned i = 0; i < b->fd_count; i++) {
		(void)send(b->fd[i], "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(b->fd[i]);
	}
	b->fd_count = 0;
}

enum rnd_intake rnd_estate_receive(struct rnd_estate *e, struct rnd_pending *pending,
				   int sock)
{
	static struct rnd_batch b; /* static because it is large */
	struct iovec iov = { b.bytes, sizeof(b.bytes) };
	union fd_control control;
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control.buf) };
	unsigned used = 0;
	bool is_sound;
	ssize_t len;

	do
		len = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len <= 0)
		return RND_INTAKE_DEATH;
	b.len = (size_t)len;
	b.fd_count = 0;
	take_descriptors(&b, &mh);
	is_sound = !(mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
		   b.len >= sizeof(b.head) && b.head.magic == MAGIC;
	if (is_sound && b.head.is_end) {
		tell_heirs(&b);
		return RND_INTAKE_END;
	}
	if (!is_sound || !add_entries(pending, &b, &used)) {
		while (used < b.fd_count)
			close(b.fd[used++]);
		return RND_INTAKE_FAULT;
	}
	if (b.head.is_last && !apply_pending(e, pending))
		return RND_INTAKE_FAULT;
	return RND_INTAKE_MORE;
}

/* ---- Sending records to the keeper ---- */

static void empty_batch(struct rnd_keeper *k)
{
	struct rnd_batch *b = k->batch;

	while (b->fd_count)
		close(b->fd[--b->fd_count]);
	b->head = (struct head){ .magic = MAGIC };
	b->len = sizeof(b->head);
}

void rnd_keeper_forget(struct rnd_keeper *k)
{
	if (k->batch)
		empty_batch(k);
	free(k->batch);
	if (k->sock >= 0) {
		close(k->sock);
		if (k->pidfd >= 0)
			close(k->pidfd);
	}
	*k = (struct rnd_keeper){ .sock = -1, .pidfd = -1, .empty = true };
}

/* The keeper is killed before its socket is closed: a living keeper would take the end of
 * file on the socket for the death of rocind.
 */
void rnd_keeper_kill(struct rnd_keeper *k)
{
	if (k->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, k->pidfd, SIGKILL, NULL, 0);
	rnd_keeper_forget(k);
}

/* Sends the batch of records to the keeper. If the keeper does not take it, stops using
 * the keeper and returns false.
 */
static bool send_batch(struct rnd_keeper *k)
{
	struct rnd_batch *b = k->batch;
	struct iovec iov = { b->bytes, b->len };
	union fd_control control = { 0 };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t len;

	if (b->fd_count) {
		mh.msg_control = &control;
		mh.msg_controllen = CMSG_SPACE(b->fd_count * sizeof(int));
		control.align = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(b->fd_count * sizeof(int)),
		};
		memcpy(CMSG_DATA(&control.align), b->fd, b->fd_count * sizeof(int));
	}
	do
		len = sendmsg(k->sock, &mh, MSG_NOSIGNAL);
	while (len < 0 && errno == EINTR);
	if (len < 0) {
		rn_log(RN_LOG_WARN, "the keeper does not take rocind's state: %m");
		rnd_keeper_kill(k);
		return false;
	}
	empty_batch(k);
	return true;
}

static void add_entry(struct rnd_keeper *k, const struct entry *entry, const void *data)
{
	struct rnd_batch *b = k->batch;

	assert(entry->len <= RND_RECORD_BYTES);
	/* There must be room for this entry, and for the descriptors that
	 * rnd_keeper_pass() may add to it.
	 */
	if ((b->len + sizeof(*entry) + padded(entry->len) > sizeof(b->bytes) ||
	     b->fd_count + RND_RECORD_FDS > BATCH_FDS) &&
	    !send_batch(k))
		return;
	b->last = b->len;
	memcpy(b->bytes + b->len, entry, sizeof(*entry));
	b->len += sizeof(*entry);
	memset(b->bytes + b->len, 0, padded(entry->len));
	if (entry->len)
		memcpy(b->bytes + b->len, data, entry->len);
	b->len += padded(entry->len);
	b->head.entries++;
	k->empty = false;
}

void rnd_keeper_put(struct rnd_keeper *k, enum rnd_record_kind kind, uint64_t number,
		    const void *data, size_t len)
{
	const struct entry entry = { OP_PUT, kind, number, (uint32_t)len, 0 };

	if (k->sock >= 0)
		add_entry(k, &entry, data);
}

void rnd_keeper_pass(struct rnd_keeper *k, int fd)
{
	struct rnd_batch *b = k->batch;
	struct entry entry;
	int copy;

	if (k->sock < 0)
		return;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0) {
		rn_log(RN_LOG_WARN, "no descriptor for the keeper: %m");
		rnd_keeper_kill(k);
		return;
	}
	memcpy(&entry, b->bytes + b->last, sizeof(entry));
	assert(entry.op == OP_PUT && entry.fd_count < RND_RECORD_FDS);
	entry.fd_count++;
	memcpy(b->bytes + b->last, &entry, sizeof(entry));
	b->fd[b->fd_count++] = copy;
}

void rnd_keeper_update(struct rnd_keeper *k, enum rnd_record_kind kind, uint64_t number,
		       const void *data, size_t len)
{
	const struct entry entry = { OP_UPDATE, kind, number, (uint32_t)len, 0 };

	if (k->sock >= 0)
		add_entry(k, &entry, data);
}

void rnd_keeper_drop(struct rnd_keeper *k, enum rnd_record_kind kind, uint64_t number)
{
	const struct entry entry = { OP_DROP, kind, number, 0, 0 };

	if (k->sock >= 0)
		add_entry(k, &entry, NULL);
}

void rnd_keeper_commit(struct rnd_keeper *k)
{
	if (k->sock < 0 || k->empty)
		return;
	k->batch->head.is_last = 1;
	if (send_batch(k))
		k->empty = true;
}

bool rnd_keeper_end(struct rnd_keeper *k, int heir)
{
	struct pollfd p = { .fd = k->sock, .events = POLLIN };
	int copy;

	if (k->sock < 0)
		return false;
	empty_batch(k);
	k->batch->head.is_end = 1;
	copy = heir >= 0 ? fcntl(heir, F_DUPFD_CLOEXEC, 0) : -1;
	if (copy >= 0)
		k->batch->fd[k->batch->fd_count++] = copy;
	if (heir >= 0 && copy < 0) {
		rnd_keeper_kill(k);
		return false;
	}
	if (!send_batch(k))
		return false;
	if (poll(&p, 1, KEEPER_TIMEOUT_MS) <= 0) {
		rnd_keeper_kill(k);
		return false;
	}
	rnd_keeper_forget(k);
	return true;
}

int rnd_keeper_join(struct rnd_keeper *k, int sock, pid_t keeper)
{
	const struct timeval timeout = { .tv_sec = KEEPER_TIMEOUT_MS / 1000 };

	*k = (struct rnd_keeper){ .sock = sock,
				  .pidfd = (int)syscall(SYS_pidfd_open, keeper, 0),
				  .empty = true };
	k->batch = calloc(1, sizeof(*k->batch));
	if (!k->batch) {
		rnd_keeper_forget(k);
		return -ENOMEM;
	}
	empty_batch(k);
	(void)setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	return 0;
}

/* ---- The keeper process ---- */

enum {
	/* If a successor lives for less than LIFE_MS, this counts as a failure. After
	 * FAILURES_MAX failures in a row the keeper gives up: probably each successor
	 * dies from the same record, or from a request that a program repeats.
	 */
	LIFE_MS = 50,
	FAILURES_MAX = 20,
	FORK_RETRIES = 50,
	FORK_PAUSE_MS = 100,
};

struct keeper_process {
	int sock;
	rnd_succeed_fn *succeed;
	void *ctx;
	struct rnd_estate estate;
	struct rnd_pending pending;
	rn_ns started_at; /* start of the rocind that runs now */
	unsigned failures;
};

static void set_signals(void (*handler)(int))
{
	static const int asked[] = { SIGTERM, SIGINT, SIGHUP };

	for (unsigned i = 0; i < RN_ARRAY_SIZE(asked); i++)
		signal(asked[i], handler);
	signal(SIGCHLD, SIG_IGN); /* children leave no zombies */
}

static pid_t fork_patiently(void)
{
	pid_t pid = fork();

	for (unsigned i = 0; pid < 0 && i < FORK_RETRIES; i++) {
		poll(NULL, 0, FORK_PAUSE_MS);
		pid = fork();
	}
	return pid;
}

/* Starts a successor. Returns false if the keeper must give up. */
static bool start_successor(struct keeper_process *p)
{
	rn_ns now = rn_clock(CLOCK_MONOTONIC);
	int pair[2];
	pid_t pid;

	rnd_pending_free(&p->pending);
	close(p->sock);
	p->failures = now - p->started_at < RN_MSEC(LIFE_MS) ? p->failures + 1 : 0;
	if (p->failures > FAILURES_MAX) {
		rn_log(RN_LOG_ERROR, "rocind has ended %u times at once: no successor",
		       p->failures);
		return false;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	p->started_at = now;
	pid = fork_patiently();
	if (pid == 0) {
		close(pair[0]);
		set_signals(SIG_DFL);
		prctl(PR_SET_NAME, "rocind");
		p->succeed(p->ctx, &p->estate, pair[1]);
		_exit(EXIT_FAILURE);
	}
	close(pair[1]);
	p->sock = pair[0];
	return pid > 0;
}

static void keep(struct keeper_process *p)
{
	for (;;) {
		enum rnd_intake got =
			rnd_estate_receive(&p->estate, &p->pending, p->sock);

		if (got == RND_INTAKE_MORE)
			continue;
		if (got != RND_INTAKE_DEATH || !start_successor(p))
			return;
	}
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes all descriptors except the standard ones and those in @fds. */
static void close_others(int *fds, unsigned count)
{
	unsigned from = STDERR_FILENO + 1;

	qsort(fds, count, sizeof(*fds), compare_numbers);
	for (unsigned i = 0; i <= count; i++) {
		unsigned to = i < count ? (unsigned)fds[i] : ~0U;

		if (i < count && fds[i] < (int)from)
			continue;
		if (from < to)
			syscall(SYS_close_range, from, to - 1, 0);
		from = to + 1;
	}
}

enum {
	KEEP_FDS_MAX = 8
};

int rnd_keeper_start(struct rnd_keeper *k, const int *keep_fds, unsigned keep_count,
		     rnd_succeed_fn *succeed, void *ctx)
{
	int pair[2], open[KEEP_FDS_MAX + 1];
	unsigned count = 0;
	pid_t pid;

	assert(keep_count <= KEEP_FDS_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int rc = -errno;

		close(pair[0]);
		close(pair[1]);
		return rc;
	}
	if (pid > 0) {
		close(pair[0]);
		return rnd_keeper_join(k, pair[1], pid);
	}
	for (unsigned i = 0; i < keep_count; i++)
		if (keep_fds[i] > STDERR_FILENO)
			open[count++] = keep_fds[i];
	open[count++] = pair[0];
	close_others(open, count);
	set_signals(SIG_IGN);
	prctl(PR_SET_NAME, "rocin-keeper");
	{
		struct keeper_process p = { .sock = pair[0],
					    .succeed = succeed,
					    .ctx = ctx,
					    .started_at = rn_clock(CLOCK_MONOTONIC) };

		keep(&p);
		/* The keeper's copies of all sockets must be closed before rocind learns
		 * that the keeper has ended.
		 */
		rnd_pending_free(&p.pending);
		rnd_estate_free(&p.estate);
	}
	_exit(EXIT_SUCCESS);
}
