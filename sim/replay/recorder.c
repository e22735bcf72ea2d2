/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder.c - the file of a recording, and the hook in the core (rocin/call.h) that
 * fills it.
 *
 * A part of the file (the window) is mapped, after its blocks were allocated: a full disk
 * ends the recording, not the program. The same holds if another process truncates the
 * file meanwhile: records are built in memory of our own, and copied with the guard
 * against memory faults. If a recording ends early, that is reported once, on stderr.
 *
 * The state of a device is used only by the thread that holds the device.
 */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rocin/cqe.h"
#include "rocin/rx_tx.h"
#include "rocin/stats.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/memory/mem_direct.h"
#include "transport/io/memory/mem_guard.h"

/* ---------------------------------------------------------- recording file */
enum {
	WINDOW = 8 << 20,
	PAGE = 65536,	   /* bytes; a multiple of every page size */
	HEADER_MAX = 4096, /* bytes of the command line that are recorded, at most */
};

#define LIMIT_DEFAULT (UINT64_C(1) << 30)

static struct {
	pthread_mutex_t lock;
	pid_t pid; /* process that owns the file; 0: none was opened */
	int fd;
	bool ended;
	uint8_t *window; /* mapped part of the file; NULL: none */
	uint64_t base;	 /* offset of the window in the file */
	size_t used;	 /* bytes of the window that are written */
	size_t reserved; /* bytes of the window whose blocks are allocated */
	uint64_t limit;
	bool failed; /* the recording has ended early */
	uint8_t scratch[RN_REC_MAX];
} file = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void close_window_locked(void)
{
	if (file.window)
		munmap(file.window, WINDOW);
	file.window = NULL;
}

/* Reports that the recording ends early. */
static void fail_locked(const char *why)
{
	file.failed = true;
	rn_log(RN_LOG_ERROR, "the recording ends: %s", why);
	(void)dprintf(STDERR_FILENO, "rocin: the recording ends: %s\n", why);
}

static const char *const was_cut = "its file was made shorter by somebody";

/* Ends the recording: cuts off the allocated space that was not used. */
static void finish_locked(void)
{
	uint64_t end = file.base + file.used;
	struct stat st;

	file.ended = true;
	if (file.fd < 0)
		return;
	close_window_locked();
	if (fstat(file.fd, &st) == 0 && (uint64_t)st.st_size < end) {
		if (!file.failed)
			fail_locked(was_cut);
	} else if (ftruncate(file.fd, (off_t)end)) {
		rn_log(RN_LOG_WARN, "cannot cut the recording: %s", strerror(errno));
	}
	close(file.fd);
	file.fd = -1;
}

/* Allocates blocks of the file for @need bytes from @base on, and for more if there is
 * space. Return: 0 or errno.
 */
static int reserve_locked(uint64_t base, size_t need)
{
	struct rlimit most;
	int rc = ENOSPC;

	if (getrlimit(RLIMIT_FSIZE, &most))
		most.rlim_cur = RLIM_INFINITY;
	for (size_t size = WINDOW; size >= need && size >= PAGE; size /= 2) {
		if (base + size > most.rlim_cur) { /* the call would raise SIGXFSZ */
			rc = EFBIG;
			continue;
		}
		do
			rc = posix_fallocate(file.fd, (off_t)base, (off_t)size);
		while (rc == EINTR);
		if (!rc)
			file.reserved = size;
		if (rc != ENOSPC && rc != EFBIG && rc != EDQUOT)
			break;
	}
	return rc;
}

/* Maps the next part of the file, from the page with the first unused byte on, with room
 * for at least @len more bytes.
 */
static bool next_window_locked(size_t len)
{
	uint64_t at = file.base + file.used, base = at & ~(uint64_t)(PAGE - 1);
	int rc = reserve_locked(base, (size_t)(at - base) + len);
	void *window = NULL;

	if (!rc) {
		window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd,
			      (off_t)base);
		rc = window == MAP_FAILED ? errno : 0;
	}
	if (rc) {
		fail_locked(strerror(rc));
		return false;
	}
	close_window_locked();
	file.window = window;
	file.base = base;
	file.used = (size_t)(at - base);
	return true;
}

/* Appends the first @len bytes of @scratch to the file. The thread may be inside a
 * guarded access already, as what is recorded may be a trapped access of the program.
 */
static bool copy_locked(size_t len)
{
	static const struct rn_mem_attr none;
	struct rn_guard *outer = rn_guard_thread.current;
	uintptr_t to = (uintptr_t)file.window + file.used;
	enum rn_mem_result result;

	result = rn_mem_direct_ops.write(NULL, to, file.scratch, (uint32_t)len, none);
	rn_guard_thread.current = outer;
	if (result != RN_MEM_DONE) {
		fail_locked(was_cut);
		return false;
	}
	file.used += len;
	return true;
}

static bool append_locked(size_t len)
{
	if (file.used + len > file.reserved && !next_window_locked(len))
		return false;
	return copy_locked(len);
}

static void end_at_limit_locked(void)
{
	const struct rn_rec rec = { .kind = RN_REC_LIMIT, .dev = RN_REC_NO_DEV };

	(void)append_locked(rn_rec_put(&rec, file.scratch, RN_REC_MAX));
	rn_log(RN_LOG_WARN, "the recording has reached its limit of %llu bytes",
	       (unsigned long long)file.limit);
	finish_locked();
}

static void put_locked(const struct rn_rec *rec)
{
	size_t len;

	if (file.ended || file.fd < 0)
		return;
	if (file.base + file.used >= file.limit) {
		end_at_limit_locked();
		return;
	}
	len = rn_rec_put(rec, file.scratch, RN_REC_MAX);
	assert(len > 0); /* no record is longer than RN_REC_MAX */
	if (!append_locked(len))
		finish_locked();
}

bool rn_recorder_put(const struct rn_rec *rec)
{
	bool failed;

	pthread_mutex_lock(&file.lock);
	put_locked(rec);
	failed = file.failed;
	pthread_mutex_unlock(&file.lock);
	return !failed;
}

bool rn_recorder_has_failed(void)
{
	bool failed;

	pthread_mutex_lock(&file.lock);
	failed = file.failed;
	pthread_mutex_unlock(&file.lock);
	return failed;
}

/* ---------------------------------------------------- beginning of a file */
static uint64_t read_limit(void)
{
	const char *text = secure_getenv("ROCIN_RECORD_LIMIT");
	char *end;
	uint64_t limit;

	if (!text || *text < '0' || *text > '9')
		return LIMIT_DEFAULT;
	limit = strtoull(text, &end, 10);
	return *end ? LIMIT_DEFAULT : limit;
}

static uint32_t read_command(uint8_t *buf)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, HEADER_MAX);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (uint32_t)n;
}

static bool put_header_locked(void)
{
	const char *fault = secure_getenv("ROCIN_FAULT");
	uint8_t command[HEADER_MAX];
	struct rn_rec_header h = {
		.version = RN_REC_VERSION,
		.pid = (uint32_t)getpid(),
		.date = (uint64_t)time(NULL),
		.rocin = (const uint8_t *)ROCIN_VERSION,
		.rocin_len = sizeof(ROCIN_VERSION) - 1,
		.command = command,
		.command_len = read_command(command),
		.fault = (const uint8_t *)(fault ? fault : ""),
	};

	h.fault_len = (uint32_t)strnlen((const char *)h.fault, HEADER_MAX);
	return append_locked(rn_rec_put_header(&h, file.scratch, RN_REC_MAX));
}

/* Drops the file of the parent in a fork() child, which may open one of its own. */
static void forget_parent_locked(void)
{
	close_window_locked();
	if (file.fd >= 0)
		close(file.fd);
	file.fd = -1;
	file.base = file.used = file.reserved = 0;
	file.ended = file.failed = false;
}

static bool open_locked(const char *pattern)
{
	char path[RN_FREE_NAME_MAX];

	if (file.pid == getpid())
		return !file.ended;
	if (file.pid)
		forget_parent_locked();
	file.pid = getpid();
	file.limit = read_limit();
	file.fd = rn_free_name_open(path, sizeof(path), pattern);
	if (file.fd < 0) {
		fail_locked(strerror(-file.fd));
		file.ended = true;
		return false;
	}
	(void)rn_mem_direct_init(); /* if it fails, records are copied more slowly */
	if (!put_header_locked()) {
		finish_locked();
		return false;
	}
	rn_log(RN_LOG_INFO, "the run is recorded in %s", path);
	return true;
}

bool rn_recorder_open(void)
{
	const char *pattern = secure_getenv("ROCIN_RECORD");
	bool rc;

	if (!pattern || !*pattern)
		return false;
	pthread_mutex_lock(&file.lock);
	rc = open_locked(pattern);
	pthread_mutex_unlock(&file.lock);
	return rc;
}

/* ----------------------------------------------------------------- devices */
/* A read or atomic access whose result was PENDING. The memory got @number as its tag,
 * since the tags of the core are not unique.
 */
struct pending {
	uint32_t number;
	uint64_t tag; /* tag of the core */
	void *dst;    /* destination; NULL: its QP was destroyed */
	uint32_t len;
};

/* A CQ that the device has used. */
struct used_cq {
	const struct rn_cq *cq;
	bool overrun; /* the overrun of the CQ was recorded */
};

struct recorded_dev {
	uint8_t number;
	struct rn_mem_ops ops; /* functions that record; they replace @mem */
	const struct rn_mem_ops *mem;
	void *mem_ctx;
	void (*before_ack)(void *mem_ctx, uint32_t qpn);
	uint64_t *stats; /* counters of the device */
	uint64_t overruns_seen;
	const struct rn_call *call; /* call that is being made */

	/* Bits of enum rn_tx_what for which there was no packet the last time, if there
	 * was no other call since.
	 */
	unsigned drained;

	struct pending *pending;
	uint32_t pending_count, pending_room, last_number;
	struct used_cq *cqs;
	uint32_t cq_count, cq_room;
};

static void put_record(const struct recorded_dev *d, struct rn_rec *rec)
{
	uint64_t *lost = &d->stats[RN_STAT_RECORD_LOST];

	rec->dev = rn_rec_class(rec->kind) == RN_REC_LONE ? RN_REC_NO_DEV : d->number;
	if (!rn_recorder_put(rec))
		__atomic_fetch_add(lost, 1, __ATOMIC_RELAXED);
}

/* Enlarges @array if it has no room for one more element. */
static void *make_room(void *array, uint32_t count, uint32_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room ? 2 * *room : 64;
	array = reallocarray(array, *room, size);
	if (!array)
		abort(); /* an incomplete recording would be misleading */
	return array;
}

/* ------------------------------------------------------------------ CQs in use */
static struct used_cq *find_cq(const struct recorded_dev *d, const struct rn_cq *cq)
{
	for (uint32_t i = 0; i < d->cq_count; i++)
		if (d->cqs[i].cq == cq)
			return &d->cqs[i];
	return NULL;
}

static void use_cq(struct recorded_dev *d, const struct rn_cq *cq)
{
	if (!cq || find_cq(d, cq))
		return;
	d->cqs = make_room(d->cqs, d->cq_count, &d->cq_room, sizeof(*d->cqs));
	d->cqs[d->cq_count++] = (struct used_cq){ .cq = cq };
}

static void forget_cq(struct recorded_dev *d, const struct rn_cq *cq)
{
	struct used_cq *found = find_cq(d, cq);

	if (found)
		*found = d->cqs[--d->cq_count];
}

/* Records an overrun for every CQ that was found full since the last time. */
static void note_overruns(struct recorded_dev *d)
{
	uint64_t overruns =
		__atomic_load_n(&d->stats[RN_STAT_CQ_OVERRUN], __ATOMIC_RELAXED);
	struct rn_rec rec = { .kind = RN_REC_OVERRUN };

	if (overruns == d->overruns_seen)
		return;
	d->overruns_seen = overruns;
	for (uint32_t i = 0; i < d->cq_count; i++) {
		if (d->cqs[i].overrun || !d->cqs[i].cq->overrun)
			continue;
		d->cqs[i].overrun = true;
		rec.id = rn_rec_id(d->cqs[i].cq);
		put_record(d, &rec);
	}
}

/* ------------------------------------------------------------- pending accesses */
static uint32_t add_pending(struct recorded_dev *d, uint64_t tag, void *dst, uint32_t len)
{
	d->pending = make_room(d->pending, d->pending_count, &d->pending_room,
			       sizeof(*d->pending));
	d->pending[d->pending_count++] = (struct pending){
		.number = ++d->last_number, .tag = tag, .dst = dst, .len = len
	};
	return d->last_number;
}

/* Removes a pending access that has ended. False: there is none with that number. */
static bool take_pending(struct recorded_dev *d, uint64_t number, struct pending *p)
{
	for (uint32_t i = 0; i < d->pending_count; i++) {
		if (d->pending[i].number != number)
			continue;
		*p = d->pending[i];
		d->pending[i] = d->pending[--d->pending_count];
		return true;
	}
	return false;
}

/* Forgets the destinations of pending accesses of a QP whose memory is freed. */
static void forget_pending(struct recorded_dev *d, uint32_t qpn)
{
	for (uint32_t i = 0; i < d->pending_count; i++)
		if (d->pending[i].tag >> 8 == qpn)
			d->pending[i].dst = NULL;
}

/* ------------------------------------------------------------------ memory */
static enum rn_mem_result write_recorded(void *ctx, rn_iova dst, const void *src,
					 uint32_t len, struct rn_mem_attr attr)
{
	struct recorded_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_WRITE,
			      .u.write = { .dst = dst, .len = len, .attr = attr } };

	rec.u.write.result = d->mem->write(d->mem_ctx, dst, src, len, attr);
	rn_rec_place_write(d->call, &rec.u.write, src);
	put_record(d, &rec);
	return rec.u.write.result;
}

static enum rn_mem_result put_read(struct recorded_dev *d, struct rn_rec *rec,
				   const void *dst)
{
	struct rn_rec_read *r = &rec->u.read;

	r->at = rn_rec_place_read(d->call, dst);
	if (r->result == RN_MEM_DONE && !r->at) {
		r->data = dst;
		r->data_len = r->len;
	}
	put_record(d, rec);
	return r->result;
}

static enum rn_mem_result read_recorded(void *ctx, void *dst, rn_iova src, uint32_t len,
					struct rn_mem_attr attr, uint64_t tag)
{
	struct recorded_dev *d = ctx;
	struct rn_rec rec = {
		.kind = RN_REC_READ,
		.u.read = { .src = src, .len = len, .attr = attr, .tag = tag }
	};
	/* Added before the call, as another thread may see the access end before this
	 * one returns.
	 */
	uint32_t number = add_pending(d, tag, dst, len);

	rec.u.read.result = d->mem->read(d->mem_ctx, dst, src, len, attr, number);
	if (rec.u.read.result == RN_MEM_PENDING)
		rec.u.read.number = number;
	else
		d->pending_count--;
	return put_read(d, &rec, dst);
}

static enum rn_mem_result read_part_recorded(void *ctx, void *dst, rn_iova src,
					     uint32_t len, struct rn_mem_attr attr,
					     struct rn_crc32_part *part)
{
	struct recorded_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_READ,
			      .u.read = { .src = src, .len = len, .attr = attr } };

	rec.u.read.result = d->mem->read_part(d->mem_ctx, dst, src, len, attr, part);
	return put_read(d, &rec, dst);
}

static enum rn_mem_result atomic_recorded(void *ctx, const struct rn_mem_atomic_req *req,
					  uint64_t *orig, struct rn_mem_attr attr,
					  uint64_t tag)
{
	struct recorded_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_ATOMIC,
			      .u.atomic = { .req = *req, .attr = attr, .tag = tag } };
	uint32_t number = add_pending(d, tag, orig, sizeof(*orig));

	rec.u.atomic.result = d->mem->atomic(d->mem_ctx, req, orig, attr, number);
	if (rec.u.atomic.result == RN_MEM_PENDING)
		rec.u.atomic.number = number;
	else
		d->pending_count--;
	if (rec.u.atomic.result == RN_MEM_DONE)
		rec.u.atomic.orig = *orig;
	put_record(d, &rec);
	return rec.u.atomic.result;
}

static void before_ack_recorded(void *ctx, uint32_t qpn)
{
	struct recorded_dev *d = ctx;
	struct rn_rec rec = { .kind = RN_REC_BEFORE_ACK, .u.qpn = qpn };

	put_record(d, &rec);
	d->before_ack(d->mem_ctx, qpn);
}

static void replace_memory(struct recorded_dev *d, struct rn_dev_cfg *cfg)
{
	d->mem = cfg->mem;
	d->mem_ctx = cfg->mem_ctx;
	d->before_ack = cfg->before_ack;
	d->ops = (struct rn_mem_ops){
		.always_done = d->mem->always_done,
		.write = write_recorded,
		.read = read_recorded,
		.read_part = d->mem->read_part ? read_part_recorded : NULL,
		.atomic = atomic_recorded,
	};
	cfg->mem = &d->ops;
	cfg->mem_ctx = d;
	if (d->before_ack)
		cfg->before_ack = before_ack_recorded;
}

/* -------------------------------------------------------- numbers of devices */
static _Atomic uint64_t numbers_taken; /* bit mask of the device numbers in use */

static_assert(RN_REC_DEVS == 64, "numbers_taken");

/* Allocates a device number. Return: the number, or RN_REC_DEVS if none is left. */
static unsigned take_number(void)
{
	uint64_t taken = atomic_load(&numbers_taken);
	unsigned number;

	do {
		if (taken == UINT64_MAX)
			return RN_REC_DEVS;
		number = (unsigned)__builtin_ctzll(~taken);
	} while (!atomic_compare_exchange_weak(&numbers_taken, &taken,
					       taken | UINT64_C(1) << number));
	return number;
}

static void free_dev(struct recorded_dev *d)
{
	atomic_fetch_and(&numbers_taken, ~(UINT64_C(1) << d->number));
	free(d->pending);
	free(d->cqs);
	free(d);
}

static struct recorded_dev *make_dev(void)
{
	struct recorded_dev *d = calloc(1, sizeof(*d));
	unsigned number = d ? take_number() : RN_REC_DEVS;

	if (number < RN_REC_DEVS) {
		d->number = (uint8_t)number;
		return d;
	}
	free(d);
	return NULL;
}

/* --------------------------------------------------- begin and end of a call */
static void put_call(struct recorded_dev *d, const struct rn_call *c)
{
	struct rn_rec rec;

	rn_rec_call(c, &rec);
	d->drained = 0;
	put_record(d, &rec);
}

static uint64_t object_of(const struct rn_event *ev)
{
	if (ev->completion || ev->async == RN_EVENT_CQ_ERR)
		return rn_rec_id(ev->cq);
	if (ev->async == RN_EVENT_SRQ_LIMIT_REACHED)
		return rn_rec_id(ev->srq);
	return rn_rec_id(ev->qp);
}

static void put_outcome(struct recorded_dev *d, const struct rn_call *c)
{
	struct rn_rec rec;

	rn_rec_outcome(c, &rec);
	if (rec.kind == RN_REC_EVENT)
		rec.u.event.object = object_of(c->u.event);
	note_overruns(d);
	put_record(d, &rec);
}

/* Returns how many packets fit into one record. In how many calls packets come makes no
 * difference to the device.
 */
static unsigned how_many(const struct rn_rx *pkts, unsigned count)
{
	size_t bytes = pkts[0].len;
	unsigned n = 1;

	while (n < count && n < RN_REC_RX_MAX && bytes + pkts[n].len < RN_REC_MAX / 2)
		bytes += pkts[n++].len;
	return n;
}

/* Records RN_CALL_MEM_DONE, after replacing the number that the memory knows by the tag
 * of the core.
 */
static void put_mem_done(struct recorded_dev *d, struct rn_call *c)
{
	struct pending p = { .tag = UINT64_MAX }; /* not the tag of any QP */
	struct rn_rec_mem_done *m;
	struct rn_rec rec;

	(void)take_pending(d, c->u.mem_done.tag, &p);
	c->u.mem_done.tag = p.tag;
	rn_rec_call(c, &rec);
	m = &rec.u.mem_done;
	*m = (struct rn_rec_mem_done){ .tag = p.tag, .result = c->u.mem_done.result };
	if (p.dst) {
		m->number = p.number;
		m->data = p.dst;
		m->len = m->result == RN_MEM_DONE ? p.len : 0;
	}
	d->drained = 0;
	put_record(d, &rec);
}

/* Is the call recorded at its end only, if at all? */
static bool waits_for_end(const struct recorded_dev *d, const struct rn_call *c)
{
	if (c->kind == RN_CALL_TRANSMIT)
		return (c->u.transmit.what & ~d->drained) == 0;
	return c->kind == RN_CALL_TAKE_EVENT || rn_rec_class(c->kind) == RN_REC_LONE;
}

static struct rn_call *call_begins(void *hook, struct rn_call *c)
{
	struct recorded_dev *d = hook;

	d->call = c;
	if (waits_for_end(d, c))
		return c;
	if (c->kind == RN_CALL_MEM_DONE) {
		put_mem_done(d, c);
		return c;
	}
	if (c->kind == RN_CALL_RECEIVE)
		c->u.receive.count = how_many(c->u.receive.pkts, c->u.receive.count);
	if (c->kind == RN_CALL_QP_DESTROY)
		forget_pending(d, rn_qp_qpn(c->object));
	put_call(d, c);
	return c;
}

static void follow_cqs(struct recorded_dev *d, const struct rn_call *c)
{
	switch ((int)c->kind) {
	case RN_CALL_QP_CREATE:
		use_cq(d, c->u.qp->send_cq);
		use_cq(d, c->u.qp->recv_cq);
		break;
	case RN_CALL_SRQ_CREATE:
		use_cq(d, c->u.srq->cq);
		break;
	case RN_CALL_CQ_FINI:
		forget_cq(d, c->object);
		break;
	default:
		break;
	}
}

/* Records the end of a transmit call, unless it was known to find nothing, and so to
 * change nothing.
 */
static void end_transmit(struct recorded_dev *d, const struct rn_call *c)
{
	unsigned what = c->u.transmit.what;

	if (what & ~d->drained)
		put_outcome(d, c);
	else
		assert(c->result == 0);
	if (c->result == 0)
		d->drained |= what;
}

static void call_ends(void *hook, const struct rn_call *c)
{
	struct recorded_dev *d = hook;

	d->call = NULL;
	if (rn_rec_class(c->kind) == RN_REC_LONE) {
		put_call(d, c);
		return;
	}
	if (c->kind == RN_CALL_TRANSMIT) {
		end_transmit(d, c);
		return;
	}
	if (c->kind == RN_CALL_TAKE_EVENT) {
		if (!c->result)
			return; /* a call that finds no event changes nothing */
		put_call(d, c);
	}
	put_outcome(d, c);
	follow_cqs(d, c);
	if (c->kind == RN_CALL_DEV_FINI)
		free_dev(d);
}

/* ------------------------------------------------------------------ attach */
static void put_init(struct recorded_dev *d, const struct rn_dev_cfg *cfg)
{
	struct rn_rec rec = { .kind = RN_CALL_DEV_INIT },
		      done = { .kind = RN_REC_RESULT };

	rec.u.dev_init = (struct rn_rec_dev_init){
		.cfg = *cfg,
		.always_done = cfg->mem->always_done,
		.has_read_part = cfg->mem->read_part,
		.has_before_ack = cfg->before_ack,
	};
	put_record(d, &rec);
	put_record(d, &done);
}

static void cq_call(const struct rn_call *c)
{
	struct rn_rec rec;

	rn_rec_call(c, &rec);
	rec.dev = RN_REC_NO_DEV;
	(void)rn_recorder_put(&rec);
}

static void *attach(struct rn_dev_cfg *cfg)
{
	struct recorded_dev *d = rn_recorder_open() ? make_dev() : NULL;

	if (!d && rn_recorder_has_failed())
		cfg->stats[RN_STAT_RECORD_LOST]++;
	if (!d)
		return NULL;
	d->stats = cfg->stats;
	put_init(d, cfg);
	replace_memory(d, cfg);
	__atomic_store_n(&rn_call_hook.cq_call, cq_call, __ATOMIC_RELAXED);
	return d;
}

/* ------------------------------------------------ start and end of the program */
/* Makes the lock usable in a fork() child: another thread may have held it when fork()
 * copied it.
 */
static void after_fork(void)
{
	pthread_mutex_init(&file.lock, NULL);
}

static void __attribute__((constructor)) begin_with_program(void)
{
	rn_call_hook.attach = attach;
	rn_call_hook.begin = call_begins;
	rn_call_hook.end = call_ends;
	pthread_atfork(NULL, NULL, after_fork);
}

/* Ends the recording when the program ends, after the destructors without a priority,
 * which may still call the core.
 */
static void __attribute__((destructor(101))) end_with_program(void)
{
	/* A thread may have been ended while it held the lock. */
	if (pthread_mutex_trylock(&file.lock) != 0)
		return;
	if (file.pid == getpid())
		finish_locked();
	pthread_mutex_unlock(&file.lock);
}
