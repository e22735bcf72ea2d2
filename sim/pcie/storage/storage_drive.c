/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_drive.c - a DMA engine that works like an NVMe drive.
 *
 * A drive takes commands from a queue in order. It transfers the bytes by TLPs of its
 * own: writes to memory, and reads of memory that complete later. At the end it writes a
 * completion entry to a ring in host memory. The entry does not overtake data that the
 * drive writes to host memory. It may become visible before data that the drive writes to
 * device memory, which takes another route through PCIe.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage_internal.h"

enum {
	RING = 256, /* number of completion entries in a ring; a power of two */
	/* maximum number of commands in progress at one drive; a power of two */
	IDS = 1024,
	/* After this number of TLPs, the drive's thread releases the host lock for a
	 * moment, so that other threads can run.
	 */
	BURST = 64,
	STACK = 256 * 1024,
};

/* The flag and the mask of a completion entry. An entry is one aligned 64-bit word, so it
 * becomes visible as a whole: bits 63..48 id, 47 phase, 46..32 error, 31..0 bytes
 * transferred.
 */
#define ENTRY_PHASE (UINT64_C(1) << 47)
#define ENTRY_ERROR_MASK UINT64_C(0x7fff)

struct drive {
	pthread_t thread;
	bool is_running, must_stop;
	/* Queue of the commands that have not begun yet. */
	struct rn_drive_command *first, **last;
	/* Commands, by ID modulo IDS, whose completion entry has not been taken. */
	struct rn_drive_command *by_id[IDS];
	uint16_t next_id;
	/* number of completion entries written, and number of entries taken */
	uint32_t posted, taken;
	uint8_t *piece;
	uint64_t ring[RING] __attribute__((aligned(64)));
};

static struct drive drives[RN_NVME_MAX];

struct rn_drive_backing rn_drive_backing = { .read = pread, .write = pwrite };

/* ------------------------------------------------------- callbacks of TLPs */
/* Returns the command that has issued @tlp. Returns NULL if the completion entry of the
 * command was taken already.
 */
static struct rn_drive_command *command_of(const struct rn_tlp *tlp)
{
	struct drive *d = &drives[tlp->requester - RN_AGENT_NVME];

	return d->by_id[tlp->tag % IDS];
}

/* Called when a data write has been performed. Counts a fault, if there was one. The
 * command may have completed long before, because it does not wait for its posted writes.
 * This callback and the following ones run under the host lock.
 */
static void write_performed(void *arg, const struct rn_tlp *tlp,
			    enum rn_mem_result result)
{
	struct rn_drive_command *c;

	(void)arg;
	if (result != RN_MEM_FAULT)
		return;
	rn_storage_lock();
	rn_storage.faults++;
	c = command_of(tlp);
	if (c && c->id == (uint16_t)tlp->tag)
		c->has_faulted = true;
	rn_storage_unlock();
}

static void read_completed(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result)
{
	struct rn_drive_command *c = arg;

	(void)tlp;
	rn_storage_lock();
	if (result == RN_MEM_FAULT) {
		rn_storage.faults++;
		c->has_faulted = true;
	}
	if (--c->reads == 0)
		pthread_cond_broadcast(&rn_storage.changed);
	rn_storage_unlock();
}

/* Called when a completion entry has become visible. Wakes the threads that wait for
 * one, as the interrupt of a drive would.
 */
static void entry_performed(void *arg, const struct rn_tlp *tlp,
			    enum rn_mem_result result)
{
	(void)arg;
	(void)tlp;
	assert(result == RN_MEM_DONE);
	rn_storage_lock();
	pthread_cond_broadcast(&rn_storage.changed);
	rn_storage_unlock();
}

/* ------------------------------------------------------------ data of a command */
/* Returns the length of the next TLP: at most max_payload, and not beyond the end of a
 * page.
 */
static uint32_t tlp_len(uint64_t addr, size_t left)
{
	size_t len = rn_host_knobs(rn_storage.host)->max_payload;
	size_t to_page_end = RN_STORAGE_ALIGNMENT - addr % RN_STORAGE_ALIGNMENT;

	if (len > to_page_end)
		len = to_page_end;
	return (uint32_t)(len < left ? len : left);
}

/* Transfers @len bytes between the drive's buffer @piece and the memory at @addr, by
 * TLPs of @kind (writes or reads). Returns 0 or a positive errno.
 */
static int send_piece(struct rn_drive_command *c, enum rn_tlp_kind kind, uint64_t addr,
		      uint8_t *piece, size_t len)
{
	struct rn_host *h = rn_storage.host;
	int status = 0;

	for (size_t at = 0; at < len && status >= 0;) {
		rn_host_lock(h);
		for (unsigned i = 0; i < BURST && at < len && status >= 0; i++) {
			struct rn_tlp tlp = {
				.kind = (uint8_t)kind,
				.flags = c->flags,
				.requester = (uint8_t)(RN_AGENT_NVME + c->drive),
				.target = c->target,
				.addr = addr + at,
				.len = tlp_len(addr + at, len - at),
				.tag = c->id,
			};

			if (kind == RN_TLP_READ) {
				rn_storage_lock();
				c->reads++;
				rn_storage_unlock();
			}
			status = rn_host_issue(h, &tlp, piece + at,
					       kind == RN_TLP_READ ? read_completed
								   : write_performed,
					       c);
			if (status < 0 && kind == RN_TLP_READ) {
				rn_storage_lock();
				c->reads--;
				rn_storage_unlock();
			}
			at += tlp.len;
		}
		rn_host_unlock(h);
	}
	return status < 0 ? -status : 0;
}

static bool must_end(const struct rn_drive_command *c)
{
	bool yes;

	rn_storage_lock();
	yes = c->is_cancelled || c->has_faulted;
	rn_storage_unlock();
	return yes;
}

/* ------------------------------------------------------ execution of commands */
/* run_read() transfers bytes from the file to memory, run_write() from memory to the
 * file. Both return the number of bytes that were transferred. If an error has stopped
 * the transfer, they set *@error to its (positive) errno.
 */
static size_t run_read(struct drive *d, struct rn_drive_command *c, int *error)
{
	size_t moved = 0;

	while (moved < c->len && !must_end(c)) {
		size_t want = c->len - moved;
		ssize_t got;

		if (want > RN_DRIVE_PIECE)
			want = RN_DRIVE_PIECE;
		got = rn_drive_backing.read(c->fd, d->piece, want,
					    c->offset + (off_t)moved);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			*error = errno;
		if (got <= 0)
			break;
		*error = send_piece(c, RN_TLP_WRITE, c->addr + moved, d->piece,
				    (size_t)got);
		if (*error)
			break;
		moved += (size_t)got;
	}
	return moved;
}

/* Waits until all read TLPs of the command have been completed. */
static void await_reads(const struct rn_drive_command *c)
{
	rn_storage_lock();
	while (c->reads > 0)
		(void)rn_host_cond_wait(&rn_storage.changed, &rn_storage.lock, RN_NEVER);
	rn_storage_unlock();
}

static size_t run_write(struct drive *d, struct rn_drive_command *c, int *error)
{
	size_t moved = 0;

	while (moved < c->len && !must_end(c)) {
		size_t len = c->len - moved, at = 0;

		if (len > RN_DRIVE_PIECE)
			len = RN_DRIVE_PIECE;
		*error = send_piece(c, RN_TLP_READ, c->addr + moved, d->piece, len);
		await_reads(c);
		if (*error || must_end(c))
			break;
		while (at < len) {
			ssize_t put =
				rn_drive_backing.write(c->fd, d->piece + at, len - at,
						       c->offset + (off_t)(moved + at));

			if (put < 0 && errno == EINTR)
				continue;
			if (put <= 0) {
				*error = put < 0 ? errno : ENOSPC;
				break;
			}
			at += (size_t)put;
		}
		moved += at;
		if (*error)
			break;
	}
	return moved;
}

/* Waits until an entry of the ring is free. The threads that wait for transfers free
 * entries, by taking them out of the ring. Returns the number of the free entry. Called
 * with the storage lock held.
 */
static uint32_t reserve_entry(struct drive *d)
{
	while (d->posted - d->taken == RING)
		(void)rn_host_cond_wait(&rn_storage.changed, &rn_storage.lock, RN_NEVER);
	return d->posted++;
}

static void send_entry(struct drive *d, const struct rn_drive_command *c, size_t moved,
		       int error)
{
	struct rn_tlp tlp = {
		.kind = RN_TLP_WRITE,
		.flags = RN_TLP_CQE,
		.requester = (uint8_t)(RN_AGENT_NVME + c->drive),
		.target = RN_AGENT_CPU,
		.len = sizeof(uint64_t),
		.tag = c->id,
	};
	uint64_t entry = (uint64_t)c->id << 48 | (uint64_t)error << 32 | (uint32_t)moved;
	uint32_t n;
	int status;

	rn_storage_lock();
	n = reserve_entry(d);
	rn_storage_unlock();
	if ((n / RING) % 2 == 0)
		entry |= ENTRY_PHASE;
	tlp.addr = (uint64_t)(uintptr_t)&d->ring[n % RING];
	rn_host_lock(rn_storage.host);
	status = rn_host_issue(rn_storage.host, &tlp, &entry, entry_performed, NULL);
	rn_host_unlock(rn_storage.host);
	/* The entry could not be issued as a TLP, so it is written to the ring directly.
	 * Without an entry, the threads that wait for the command would wait for ever.
	 */
	if (status < 0)
		__atomic_store_n(&d->ring[n % RING], entry, __ATOMIC_RELEASE);
}

/* Lets the other machine transfer. Returns as run_read() does. */
static size_t run_remote(const struct rn_drive_command *c, int *error)
{
	void *memory = (void *)(uintptr_t)c->addr; /* NOLINT(performance-no-int-to-ptr) */
	ssize_t done =
		c->op == RN_STORAGE_READ
			? c->remote->read(c->remote_ctx, memory, c->len, c->offset)
			: c->remote->write(c->remote_ctx, memory, c->len, c->offset);

	if (done < 0)
		*error = (int)-done;
	return done < 0 ? 0 : (size_t)done;
}

static void run_command(struct drive *d, struct rn_drive_command *c)
{
	size_t moved;
	int error = 0;

	if (c->remote)
		moved = run_remote(c, &error);
	else
		moved = c->op == RN_STORAGE_READ ? run_read(d, c, &error)
						 : run_write(d, c, &error);
	send_entry(d, c, moved, error);
}

static void *drive_main(void *arg)
{
	struct drive *d = arg;

	rn_storage_lock();
	for (;;) {
		struct rn_drive_command *c = d->first;

		if (c) {
			d->first = c->next;
			if (!d->first)
				d->last = &d->first;
			c->has_begun = true;
			rn_storage_unlock();
			run_command(d, c);
			rn_storage_lock();
		} else if (d->must_stop) {
			break;
		} else {
			(void)rn_host_cond_wait(&rn_storage.changed, &rn_storage.lock,
						RN_NEVER);
		}
	}
	rn_storage_unlock();
	return NULL;
}

/* ----------------------------------------------------------- thread of a drive */
int rn_storage_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	if (pthread_attr_init(&attr))
		return -ENOMEM;
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	/* Copies of the drive's thread may fault. The handler of the memory guard must
	 * get these signals then, so they are not blocked.
	 */
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return err ? -EAGAIN : 0;
}

static int start_drive(struct drive *d)
{
	int err;

	if (d->is_running)
		return 0;
	if (!d->piece)
		d->piece = aligned_alloc(RN_STORAGE_ALIGNMENT, RN_DRIVE_PIECE);
	if (!d->piece)
		return -ENOMEM;
	d->last = &d->first;
	d->must_stop = false;
	err = rn_storage_thread(&d->thread, drive_main, d);
	d->is_running = err == 0;
	return err;
}

void rn_drive_stop_all(void)
{
	for (unsigned i = 0; i < RN_NVME_MAX; i++)
		drives[i].must_stop = true;
	pthread_cond_broadcast(&rn_storage.changed);
	rn_storage_unlock();
	for (unsigned i = 0; i < RN_NVME_MAX; i++) {
		if (drives[i].is_running)
			pthread_join(drives[i].thread, NULL);
		drives[i].is_running = false;
		free(drives[i].piece);
		drives[i].piece = NULL;
	}
}

/* ------------------------------------------------- interface to storage_io.c */
int rn_drive_submit(struct rn_drive_command *c)
{
	struct drive *d = &drives[c->drive];
	int err = start_drive(d);

	if (err)
		return err;
	for (unsigned tries = 0; d->by_id[d->next_id % IDS]; tries++, d->next_id++)
		if (tries == IDS)
			return -EAGAIN;
	c->id = d->next_id++;
	c->next = NULL;
	c->has_begun = false;
	c->has_faulted = false;
	c->reads = 0;
	d->by_id[c->id % IDS] = c;
	*d->last = c;
	d->last = &c->next;
	pthread_cond_broadcast(&rn_storage.changed);
	return 0;
}

bool rn_drive_cancel(struct rn_drive_command *c)
{
	struct drive *d = &drives[c->drive];

	for (struct rn_drive_command **at = &d->first; *at; at = &(*at)->next) {
		if (*at != c)
			continue;
		*at = c->next;
		if (!*at)
			d->last = at;
		d->by_id[c->id % IDS] = NULL;
		return true;
	}
	c->is_cancelled = true;
	return false;
}

static struct rn_drive_command *take_from(struct drive *d, size_t *count, int *error)
{
	uint64_t phase = (d->taken / RING) % 2 == 0 ? ENTRY_PHASE : 0;
	uint64_t entry = __atomic_load_n(&d->ring[d->taken % RING], __ATOMIC_ACQUIRE);
	struct rn_drive_command *c;

	if ((entry & ENTRY_PHASE) != phase)
		return NULL;
	d->taken++;
	*count = (uint32_t)entry;
	*error = (int)(entry >> 32 & ENTRY_ERROR_MASK);
	c = d->by_id[(entry >> 48) % IDS];
	assert(c);
	assert(c->id == (uint16_t)(entry >> 48));
	d->by_id[c->id % IDS] = NULL;
	if (c->has_faulted && !*error)
		*error = EFAULT;
	pthread_cond_broadcast(&rn_storage.changed);
	return c;
}

struct rn_drive_command *rn_drive_take(size_t *count, int *error)
{
	for (unsigned i = 0; i < RN_NVME_MAX; i++) {
		struct rn_drive_command *c = take_from(&drives[i], count, error);

		if (c)
			return c;
	}
	return NULL;
}
