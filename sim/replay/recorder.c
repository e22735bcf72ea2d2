/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recorder.c - the file of a recording, and the hook in the core (rocin/call.h) that
 * fills it.
 *
 * A window of the file is mapped, and room in it is reserved first: a full disk ends the
 * recording, not the program. So does somebody who makes the file shorter meanwhile:
 * records are put together in memory of our own, and copied as what may be gone is.
 * Whoever waits for a recording is told, once, on stderr.
 *
 * What is kept of a device belongs to the thread that has the device.
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
#include "transport/io/host/own_file.h"
#include "transport/io/memory/mem_direct.h"
#include "transport/io/memory/mem_guard.h"

/* ---------------------------------------------------------------- the file */
enum {
	WINDOW = 8 << 20,
	PAGE = 65536,	   /* a multiple of every page size */
	HEADER_MAX = 4096, /* bytes of the command line that are kept */
};

#define LIMIT_DEFAULT (UINT64_C(1) << 30)

static struct {
	pthread_mutex_t lock;
	pid_t pid; /* whose file it is; 0: none was opened */
	int fd;
	bool ended;
	uint8_t *window; /* NULL: none */
	uint64_t base;	 /* of the window in the file */
	size_t used;	 /* bytes of the window */
	size_t reserved; /* bytes of the window that the file has room for */
	uint64_t limit;
	bool failed; /* it ended before its time */
	uint8_t scratch[RN_REC_MAX];
} file = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void close_window_locked(void)
{
	if (file.window)
		munmap(file.window, WINDOW);
	file.window = NULL;
}

/* It is not what the user asked for. */
static void fail_locked(const char *why)
{
	file.failed = true;
	rn_log(RN_LOG_ERROR, "the recording ends: %s", why);
	(void)dprintf(STDERR_FILENO, "rocin: the recording ends: %s\n", why);
}

static const char *const was_cut = "its file was made shorter by somebody";

/* The recording is over: cut off what was reserved. */
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

/* Room for @need bytes from @base on, and for more if there is. Return: 0 or errno. */
static int reserve_locked(uint64_t base, size_t need)
{
	struct rlimit most;
	int rc = ENOSPC;

	if (getrlimit(RLIMIT_FSIZE, &most))
		most.rlim_cur = RLIM_INFINITY;
	for (size_t size = WINDOW; size >= need && size >= PAGE; size /= 2) {
		if (base + size > most.rlim_cur) { /* to ask would raise SIGXFSZ */
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

/* Move the window so that it begins with what is still free, for @len bytes. */
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

/* The first @len bytes of scratch. A trapped access of the program may be what is
 * recorded: then this thread stands in a guarded access already.
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
	assert(len > 0); /* RN_REC_MAX is more than any call takes */
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

/* ---------------------------------------------------------- a file begins */
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

/* A fork child writes nothing to its parent's file, and may get one of its own. */
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
	(void)rn_mem_direct_init(); /* without it records are copied by other means */
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
/* A read or atomic that answered PENDING. The tag that the memory was given is @number:
 * those of the core are not unique.
 */
struct pending {
	uint32_t number;
	uint64_t tag; /* of the core */
	void *dst;    /* NULL: its QP is gone */
	uint32_t len;
};

/* A CQ that the device has used. */
struct used_cq {
	const struct rn_cq *cq;
	bool overrun; /* and that has been noted */
};

struct recorded_dev {
	uint8_t number;
	struct rn_mem_ops ops; /* in place of ... */
	const struct rn_mem_ops *mem;
	void *mem_ctx;
	void (*before_ack)(void *mem_ctx, uint32_t qpn);
	uint64_t *stats; /* of the device */
	uint64_t overruns_seen;
	const struct rn_call *call; /* that is being made */

	/* enum rn_tx_what: of these there was nothing the last time, and no call since.
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

/* Room for one element more in @array. */
static void *make_room(void *array, uint32_t count, uint32_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room ? 2 * *room : 64;
	array = reallocarray(array, *room, size);
	if (!array)
		abort(); /* a recording with a hole would only mislead */
	return array;
}

/* ----------------------------------------------------------- CQs that are used */
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

/* Put a note for every CQ that was found full since the last time. */
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

/* ------------------------------------------------------ accesses that end later */
static uint32_t add_pending(struct recorded_dev *d, uint64_t tag, void *dst, uint32_t len)
{
	d->pending = make_room(d->pending, d->pending_count, &d->pending_room,
			       sizeof(*d->pending));
	d->pending[d->pending_count++] = (struct pending){
		.number = ++d->last_number, .tag = tag, .dst = dst, .len = len
	};
	return d->last_number;
}

/* Take an access that has ended; false: none that is known. */
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

/* The block of a QP goes. */
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
	/* Before the call: another thread may see it end before this one returns. */
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

/* ------------------------------------------------------- devices come and go */
static _Atomic uint64_t numbers_taken; /* bits */

static_assert(RN_REC_DEVS == 64, "numbers_taken");

/* Return: RN_REC_DEVS if there is none left. */
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

/* ------------------------------------------------------------- begin and end */
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

/* As many packets as one record can take: it makes no difference to the device in how
 * many calls they come.
 */
static unsigned how_many(const struct rn_rx *pkts, unsigned count)
{
	size_t bytes = pkts[0].len;
	unsigned n = 1;

	while (n < count && n < RN_REC_RX_MAX && bytes + pkts[n].len < RN_REC_MAX / 2)
		bytes += pkts[n++].len;
	return n;
}

/* Memory knows the number of the access, and the core its tag. */
static void put_mem_done(struct recorded_dev *d, struct rn_call *c)
{
	struct pending p = { .tag = UINT64_MAX }; /* that of no QP */
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

/* Some calls are not recorded before their end, if at all. */
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

/* What is known to find nothing, and so to change nothing, is left out. */
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
			return; /* to find none changes nothing */
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

/* ------------------------------------------------- the program begins and ends */
/* Another thread may have held the lock when fork() copied it. */
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

/* After the destructors without a priority, which may still call the core. */
static void __attribute__((destructor(101))) end_with_program(void)
{
	/* A thread may have been ended while it held the lock. */
	if (pthread_mutex_trylock(&file.lock) != 0)
		return;
	if (file.pid == getpid())
		finish_locked();
	pthread_mutex_unlock(&file.lock);
}
