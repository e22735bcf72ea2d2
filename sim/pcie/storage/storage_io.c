/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_io.c - one transfer, from its checks to its result.
 *
 * A transfer is a sequence of commands to a drive, one at a time: the thread that takes
 * the completion entry of a command issues the next one. If the transfer uses a bounce
 * buffer, a copy is made between two commands.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "rocin/gpu.h"
#include "sim/pcie/sanitizer/sanitize.h"
#include "storage_internal.h"
#include "transport/io/memory/mem_guard.h"

enum {
	/* After this number of bytes, a copy releases the host lock for a moment, so
	 * that other threads can run.
	 */
	COPY = 4096,
	/* Maximum number of TLPs that a waiting thread moves before it reads the rings of
	 * completion entries again. The adversarial driver moves data only when an
	 * ordering rule puts it before the completion entry, so with this driver more
	 * TLPs have to be moved.
	 */
	STEPS = 4,
	STEPS_ADVERSARIAL = 64,
};

/* -------------------------------- checks of a transfer, and choice of its route */
static int check_io(const struct rn_storage_io *io)
{
	uintptr_t base = (uintptr_t)io->base;

	if (!io->file || !io->base)
		return rn_storage_fail(-EINVAL, "no file or no buffer");
	if (io->file_offset < 0 || io->buf_offset < 0)
		return rn_storage_fail(-EINVAL, "a negative offset");
	if (io->size > SSIZE_MAX ||
	    io->size > (uint64_t)INT64_MAX - (uint64_t)io->file_offset)
		return rn_storage_fail(-EINVAL, "%zu bytes are too many", io->size);
	if (base + (uint64_t)io->buf_offset < base ||
	    base + (uint64_t)io->buf_offset + io->size < base)
		return rn_storage_fail(-EINVAL, "a buffer that wraps around");
	return 0;
}

/* Finds the memory of the transfer and, if the memory is registered, its buffer.
 * Increments @active of the buffer and of the file, so that the program cannot deregister
 * them during the transfer. Returns 0 or -errno.
 */
static int hold_objects(struct rn_storage_req *r)
{
	struct rn_storage_place *place = &r->place;
	uint64_t at;
	int err = 0;

	if (rn_storage_place_of((uintptr_t)r->io.base, place))
		return rn_storage_fail(-EFAULT, "device memory that was freed");
	rn_storage_lock();
	r->buffer = rn_storage_buffer_of(place->addr);
	if (r->buffer && r->buffer->gpu != place->gpu) {
		err = rn_storage_fail(-EFAULT, "the memory of the buffer is another's");
	} else if (r->buffer) {
		at = place->addr - r->buffer->addr + (uint64_t)r->io.buf_offset;
		if (at > r->buffer->len || r->io.size > r->buffer->len - at)
			err = rn_storage_fail(
				-EINVAL, "%zu bytes at %lld of a buffer that ends before",
				r->io.size, (long long)r->io.buf_offset);
		else
			r->buffer->active++;
	}
	if (!err)
		r->io.file->active++;
	rn_storage_unlock();
	place->addr += (uint64_t)r->io.buf_offset;
	return err;
}

static void let_go_locked(struct rn_storage_req *r)
{
	r->io.file->active--;
	if (r->buffer)
		r->buffer->active--;
}

static bool is_aligned(const struct rn_storage_io *io, uint64_t addr)
{
	return ((addr | io->size | (uint64_t)io->file_offset) &
		(RN_STORAGE_ALIGNMENT - 1)) == 0;
}

/* Chooses the route of the transfer and sets r->route. */
static int choose_route(struct rn_storage_req *r)
{
	struct rn_storage_policy policy;
	struct rn_storage_facts f = { .drive = r->io.file->drive,
				      .is_registered = r->buffer != NULL };

	f.gpu = r->place.gpu;
	f.is_beyond_bar = r->place.is_beyond_bar;
	f.is_aligned = is_aligned(&r->io, r->place.addr);
	f.other_gpus = (uint8_t)((1u << rn_gpu_count()) - 1);
	rn_host_lock(rn_storage.host);
	f.p2p = rn_host_knobs(rn_storage.host)->p2p;
	rn_host_unlock(rn_storage.host);
	rn_storage_lock();
	policy = r->io.file->policy.count > 0 ? r->io.file->policy : rn_storage.policy;
	f.near_gpus = rn_storage.near.gpus[f.drive];
	if (f.gpu >= 0)
		f.nvlinks = rn_storage.nvlinks.gpus[f.gpu];
	rn_storage_unlock();
	if (rn_storage_route_choose(&policy, &f, &r->route))
		return rn_storage_fail(-EHOSTUNREACH, "the policy leaves no way: %s",
				       rn_storage_reason_text(r->route.reason));
	return 0;
}

int rn_storage_plan(const struct rn_storage_file *file, const void *base, size_t size,
		    off_t file_offset, off_t buf_offset, struct rn_storage_route *route)
{
	struct rn_storage_req r = {
		.io = { .file = (struct rn_storage_file *)file,
			.base = (void *)base,
			.size = size,
			.file_offset = file_offset,
			.buf_offset = buf_offset },
	};
	int err = rn_storage_need();

	if (!err)
		err = check_io(&r.io);
	if (!err)
		err = hold_objects(&r);
	if (err)
		return err;
	err = choose_route(&r);
	rn_storage_lock();
	let_go_locked(&r);
	rn_storage_unlock();
	*route = r.route;
	return err;
}

/* -------------------------------------- copies between bounce buffer and memory */
/* Called before the CPU copies from GPU memory. Reads from the GPU through its BAR, which
 * pushes writes of other devices to the GPU that were issued before. On real hardware the
 * CPU would launch a copy on the GPU, and the launch would push these writes.
 */
static void visit_gpu(struct rn_host *h, int gpu, uint64_t addr)
{
	struct rn_tlp tlp = { .kind = RN_TLP_READ,
			      .flags = RN_TLP_FLUSH,
			      .requester = RN_AGENT_CPU,
			      .target = (uint8_t)(RN_AGENT_GPU + gpu),
			      .addr = addr,
			      .len = 1 };
	uint8_t byte;
	int index;

	if (gpu < 0)
		return;
	rn_host_lock(h);
	index = rn_host_issue(h, &tlp, &byte, NULL, NULL);
	if (index >= 0 && index != RN_TLP_NONE)
		rn_host_force(h, (unsigned)index);
	rn_host_unlock(h);
}

static int copy_memory(struct rn_host *h, uint64_t dst, uint64_t src, size_t len)
{
	enum rn_mem_result result = RN_MEM_DONE;
	uint8_t piece[COPY];

	for (size_t at = 0; at < len && result == RN_MEM_DONE;) {
		uint32_t n = len - at < COPY ? (uint32_t)(len - at) : COPY;

		rn_host_lock(h);
		result = rn_host_load(h, piece, src + at, n);
		if (result == RN_MEM_DONE)
			result = rn_host_store(h, dst + at, piece, n);
		rn_host_unlock(h);
		at += n;
	}
	return result == RN_MEM_DONE ? 0 : EFAULT;
}

struct range {
	uint64_t addr, len;
};

static bool is_drives_into(const struct rn_tlp *tlp, const void *arg)
{
	const struct range *r = arg;

	return tlp->requester >= RN_AGENT_NVME &&
	       (tlp->addr - r->addr < r->len || r->addr - tlp->addr < tlp->len);
}

void rn_storage_settle_range(uint64_t addr, uint64_t len)
{
	struct range range = { addr, len };

	rn_host_lock(rn_storage.host);
	rn_host_force_if(rn_storage.host, is_drives_into, &range);
	rn_host_tell_emptied(rn_storage.host, addr, len);
	rn_host_unlock(rn_storage.host);
}

/* Copies @len bytes between the bounce buffer and the memory, at offset r->moved. Returns
 * 0 or a positive errno.
 */
static int copy_bounce(struct rn_storage_req *r, size_t len)
{
	struct rn_host *h = rn_storage.host;
	uint64_t memory = r->place.addr + r->moved;

	visit_gpu(h, r->place.gpu, r->place.addr);
	if (r->io.op == RN_STORAGE_WRITE)
		return copy_memory(h, r->bounce, memory, len);
	rn_storage_settle_range(r->bounce, len);
	return copy_memory(h, memory, r->bounce, len);
}

static int get_bounce(struct rn_storage_req *r)
{
	if (r->route.way == RN_STORAGE_HOST) {
		r->host_bounce = aligned_alloc(RN_STORAGE_ALIGNMENT, RN_STORAGE_BOUNCE);
		r->bounce = (uint64_t)(uintptr_t)r->host_bounce;
	} else if (r->route.way == RN_STORAGE_GPU || r->route.way == RN_STORAGE_NVLINK) {
		r->gpu_bounce = rn_storage_gpu_bounce_get(r->route.via_gpu, &r->bounce);
	} else {
		return 0;
	}
	return r->bounce ? 0 : rn_storage_fail(-ENOMEM, "no bounce buffer");
}

static void put_bounce(struct rn_storage_req *r)
{
	if (!r->bounce)
		return;
	/* Forces the drive's writes to the bounce buffer, so that none arrives when the
	 * buffer has another use.
	 */
	rn_storage_settle_range(r->bounce, RN_STORAGE_BOUNCE);
	free(r->host_bounce);
	if (r->gpu_bounce)
		rn_storage_gpu_bounce_put(r->gpu_bounce);
}

/* ---------------------------------------------------------- steps of a transfer */
static void end_request(struct rn_storage_req *r, enum rn_storage_status status,
			ssize_t result)
{
	put_bounce(r);
	rn_storage_lock();
	r->status = status;
	r->result = result;
	rn_storage.taken[r->route.way]++;
	let_go_locked(r);
	if (r->ended)
		r->ended(r);
	pthread_cond_broadcast(&rn_storage.changed);
	/* whoever waits for @r may free it as soon as the lock is released */
	rn_storage_unlock();
}

static void end_with(struct rn_storage_req *r, int error)
{
	bool is_cancelled;

	rn_storage_lock();
	is_cancelled = r->is_cancelled;
	rn_storage_unlock();
	if (error == 0 || (r->moved > 0 && error != EFAULT && error != ECANCELED))
		end_request(r, RN_STORAGE_COMPLETE, (ssize_t)r->moved);
	else if (is_cancelled && error == ECANCELED)
		end_request(r, RN_STORAGE_CANCELED, -ECANCELED);
	else
		end_request(r, RN_STORAGE_FAILED, -error);
}

static int file_descriptor(const struct rn_storage_req *r)
{
	/* Unaligned accesses fail on a descriptor with O_DIRECT, so these transfers use
	 * the one that was opened without that flag.
	 */
	return r->route.reason == RN_STORAGE_UNALIGNED ||
			       r->route.reason == RN_STORAGE_UNREGISTERED
		       ? r->io.file->plain_fd
		       : r->io.file->fd;
}

/* Sets in @c the memory that the drive accesses (its address and owner) and the flags of
 * the command's TLPs.
 */
static void aim_command(const struct rn_storage_req *r, struct rn_drive_command *c)
{
	int gpu = r->route.via_gpu >= 0 ? r->route.via_gpu : r->route.gpu;

	if (r->route.way == RN_STORAGE_HOST)
		gpu = -1;
	c->addr = r->bounce ? r->bounce : r->place.addr + r->moved;
	c->target = gpu < 0 ? RN_AGENT_CPU : (uint8_t)(RN_AGENT_GPU + gpu);
	c->flags = gpu >= 0 && r->route.way != RN_STORAGE_P2P ? RN_TLP_NEAR : 0;
}

/* Issues the next command of the transfer. Returns 0, or a positive errno if it could not
 * issue one.
 */
static int next_command(struct rn_storage_req *r)
{
	struct rn_drive_command *c = &r->command;
	size_t max = r->bounce ? RN_STORAGE_BOUNCE : RN_DRIVE_COMMAND_MAX;
	int err = 0;

	c->req = r;
	c->op = r->io.op;
	c->fd = file_descriptor(r);
	c->remote = r->io.file->remote;
	c->remote_ctx = r->io.file->remote_ctx;
	c->drive = (uint8_t)r->route.drive;
	c->len = r->io.size - r->moved < max ? r->io.size - r->moved : max;
	c->offset = r->io.file_offset + (off_t)r->moved;
	aim_command(r, c);
	if (r->bounce && r->io.op == RN_STORAGE_WRITE)
		err = copy_bounce(r, c->len);
	if (err)
		return err;
	rn_storage_lock();
	if (r->moved > 0)
		r->status = RN_STORAGE_PENDING;
	err = r->is_cancelled ? -ECANCELED : rn_drive_submit(c);
	rn_storage_unlock();
	return -err;
}

/* Called when the completion entry of the transfer's command was taken: continues or
 * ends the transfer. @count: bytes that were transferred.
 */
static void command_done(struct rn_storage_req *r, size_t count, int error)
{
	size_t len = r->command.len;
	bool is_cancelled;

	if (!r->bounce && !r->command.remote && r->io.op == RN_STORAGE_READ && count > 0)
		rn_sanitize_stored(rn_storage.host,
				   RN_AGENT_NVME + (unsigned)r->route.drive,
				   r->command.addr, count);
	if (r->bounce && r->io.op == RN_STORAGE_READ && count > 0) {
		int err = copy_bounce(r, count);

		if (err) {
			error = err;
			count = 0;
		}
	}
	r->moved += count;
	rn_storage_lock();
	is_cancelled = r->is_cancelled;
	rn_storage_unlock();
	if (is_cancelled && !error && r->moved < r->io.size)
		error = ECANCELED;
	if (!error && count == len && r->moved < r->io.size) {
		error = next_command(r);
		if (!error)
			return;
	}
	end_with(r, error);
}

int rn_storage_req_start(struct rn_storage_req *r)
{
	int err = rn_storage_need();

	if (!err)
		err = check_io(&r->io);
	if (!err)
		err = hold_objects(r);
	if (err)
		return err;
	/* The program may have installed a SIGSEGV handler since the last call. This puts
	 * the library's handler in front of it again.
	 */
	rn_guard_install();
	err = choose_route(r);
	if (!err)
		err = get_bounce(r);
	if (err) {
		rn_storage_lock();
		let_go_locked(r);
		rn_storage_unlock();
		return err;
	}
	if (r->io.size == 0) {
		end_request(r, RN_STORAGE_COMPLETE, 0);
		return 0;
	}
	err = next_command(r);
	if (err)
		end_with(r, err);
	return 0;
}

bool rn_storage_req_cancel(struct rn_storage_req *r)
{
	if (rn_storage_req_has_ended(r))
		return false;
	r->is_cancelled = true;
	return rn_drive_cancel(&r->command);
}

void rn_storage_req_end_cancelled(struct rn_storage_req *r)
{
	end_with(r, ECANCELED);
}

/* -------------------------------------------------------- waiting for transfers */
/* Takes one completion entry and continues its transfer. Called with the storage lock
 * held, which is released while the transfer continues. Returns false if there is no
 * entry.
 */
static bool take_one(void)
{
	size_t count;
	int error;
	struct rn_drive_command *c = rn_drive_take(&count, &error);

	if (!c)
		return false;
	rn_storage_unlock();
	command_done(c->req, count, error);
	rn_storage_lock();
	return true;
}

/* Lets the simulated PCIe fabric move some TLPs; one of them may be the completion entry
 * that the caller waits for. Called with the storage lock held, which is released
 * meanwhile.
 */
static void look_again(void)
{
	struct rn_host *h = rn_storage.host;

	rn_storage_unlock();
	rn_host_lock(h);
	rn_host_step(h, rn_host_knobs(h)->driver == RN_DRIVER_ADVERSARIAL
				? STEPS_ADVERSARIAL
				: STEPS);
	rn_host_unlock(h);
	rn_storage_lock();
}

static bool sleep_until(rn_ns deadline)
{
	return rn_host_cond_wait(&rn_storage.changed, &rn_storage.lock,
				 deadline ? deadline : RN_NEVER);
}

bool rn_storage_wait(bool (*is_over)(const void *arg), const void *arg, rn_ns deadline)
{
	bool over, in_time = true;

	rn_storage_lock();
	for (;;) {
		while (take_one())
			;
		over = is_over(arg);
		if (over || !in_time)
			break;
		look_again();
		if (take_one())
			continue;
		over = is_over(arg);
		if (over)
			break;
		in_time = sleep_until(deadline);
	}
	rn_storage_unlock();
	return over;
}

static bool has_ended(const void *arg)
{
	return rn_storage_req_has_ended(arg);
}

ssize_t rn_storage_run(struct rn_storage_req *r)
{
	int err = rn_storage_req_start(r);

	if (err)
		return err;
	rn_storage_wait(has_ended, r, 0);
	return r->result;
}

ssize_t rn_storage_read(struct rn_storage_file *file, void *base, size_t size,
			off_t file_offset, off_t buf_offset)
{
	struct rn_storage_req r = { .io = { .op = RN_STORAGE_READ,
					    .file = file,
					    .base = base,
					    .size = size,
					    .file_offset = file_offset,
					    .buf_offset = buf_offset } };

	return rn_storage_run(&r);
}

ssize_t rn_storage_write(struct rn_storage_file *file, const void *base, size_t size,
			 off_t file_offset, off_t buf_offset)
{
	struct rn_storage_req r = { .io = { .op = RN_STORAGE_WRITE,
					    .file = file,
					    .base = (void *)base,
					    .size = size,
					    .file_offset = file_offset,
					    .buf_offset = buf_offset } };

	return rn_storage_run(&r);
}
