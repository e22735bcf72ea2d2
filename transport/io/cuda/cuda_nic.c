/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_nic.c - memory operations of a device that may reach memory of GPUs. */
#include <stdlib.h>
#include <unistd.h>

#include "cuda_internal.h"
#include "transport/io/memory/mem_direct.h"

struct rn_cuda_nic *rn_cuda_attach(void (*wake)(void *arg), void *arg)
{
	static _Atomic pid_t owner;
	pid_t nobody = 0;
	struct rn_cuda_nic *nic;

	/* The CUDA driver does not work in a child of fork(), where another thread may
	 * have held the locks.
	 */
	if (!atomic_compare_exchange_strong(&owner, &nobody, getpid()) &&
	    nobody != getpid())
		return NULL;
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return NULL;
	nic->wake = wake;
	nic->arg = arg;
	nic->ended_tail = &nic->ended;
	rn_cuda_wake_add(nic);
	return nic;
}

static void ignore(void *arg, uint64_t tag, enum rn_mem_result result)
{
	(void)arg, (void)tag, (void)result;
}

void rn_cuda_detach(struct rn_cuda_nic *nic)
{
	rn_cuda_settle(nic, 0);
	rn_cuda_drain(nic);
	(void)rn_cuda_collect(nic, ignore, NULL);
	rn_cuda_wake_remove(nic);
	free(nic);
}

void rn_cuda_region_remove(rn_iova alias)
{
	struct rn_cuda_region *region;

	rn_cuda_lock();
	region = rn_cuda_region_of(alias);
	assert(region);
	rn_cuda_settle_lane(region->lane);
	rn_cuda_forget_ahead(NULL, region);
	*region = (struct rn_cuda_region){ 0 };
	rn_cuda_unlock();
}

unsigned rn_cuda_device(rn_iova alias)
{
	const struct rn_cuda_region *region;
	unsigned device;

	rn_cuda_lock();
	region = rn_cuda_region_of(alias);
	device = region ? region->device : 0;
	rn_cuda_unlock();
	return device;
}

bool rn_cuda_is_valid(rn_iova alias)
{
	struct rn_cuda_region *region;
	rn_cu_ptr addr;
	bool is_valid;

	rn_cuda_lock();
	region = rn_cuda_find(alias, 1, &addr);
	is_valid = region && !region->lane->is_dead && rn_cuda_is_there(region, addr);
	rn_cuda_unlock();
	return is_valid;
}

/* ------------------------------------------------------------------ results of reads */
bool rn_cuda_is_busy(const struct rn_cuda_nic *nic)
{
	return nic->pending > 0 || nic->has_run;
}

/* Looks for reads that have ended, and takes those of the NIC. */
static struct rn_cuda_read *take_ended(struct rn_cuda_nic *nic)
{
	struct rn_cuda_read *ended;

	rn_cuda_lock();
	for (struct rn_cuda_lane *l = rn_cuda_lanes(); l; l = l->next) {
		rn_cuda_submit(l);
		rn_cuda_harvest(l, nic);
	}
	nic->has_run = false;
	ended = nic->ended;
	nic->ended = NULL;
	nic->ended_tail = &nic->ended;
	rn_cuda_unlock();
	return ended;
}

/* Gives the memory of reads back, from @first on. Return: how many these were. */
static unsigned give_reads(struct rn_cuda_nic *nic, struct rn_cuda_read *first)
{
	unsigned n = 0;

	rn_cuda_lock();
	while (first) {
		struct rn_cuda_read *next = first->next;

		first->next = first->lane->unused;
		first->lane->unused = first;
		first = next;
		n++;
	}
	nic->pending -= n;
	rn_cuda_unlock();
	return n;
}

unsigned rn_cuda_collect(struct rn_cuda_nic *nic,
			 void (*done)(void *arg, uint64_t tag, enum rn_mem_result result),
			 void *arg)
{
	struct rn_cuda_read *ended;

	if (!rn_cuda_is_busy(nic))
		return 0;
	ended = take_ended(nic);
	for (const struct rn_cuda_read *r = ended; r; r = r->next)
		done(arg, r->tag, r->result);
	return ended ? give_reads(nic, ended) : 0;
}

void rn_cuda_settle(void *arg, uint32_t qpn)
{
	struct rn_cuda_nic *nic = arg;

	(void)qpn;
	if (!nic->has_written)
		return;
	rn_cuda_lock();
	for (struct rn_cuda_lane *l = rn_cuda_lanes(); l; l = l->next)
		rn_cuda_settle_lane(l);
	rn_cuda_unlock();
	nic->has_written = nic->has_run = false;
}

void rn_cuda_drain(struct rn_cuda_nic *nic)
{
	rn_cuda_lock();
	/* A queue pair may begin to count its messages anew. */
	rn_cuda_forget_ahead(nic, NULL);
	for (struct rn_cuda_lane *l = rn_cuda_lanes(); l; l = l->next) {
		if (!l->first)
			continue;
		l->is_unsettled = true;
		rn_cuda_settle_lane(l);
		rn_cuda_harvest(l, nic);
	}
	rn_cuda_unlock();
}

/* ------------------------------------------------- accesses that end before they return
 */
enum rn_mem_result rn_cuda_load(void *dst, rn_iova alias, uint32_t len)
{
	enum rn_mem_result result;

	rn_cuda_lock();
	result = rn_cuda_read_in(dst, alias, len);
	rn_cuda_unlock();
	return result;
}

/* Stores @len bytes and waits until the GPU has them. */
static enum rn_mem_result store_in(rn_iova alias, const void *src, uint32_t len)
{
	struct rn_cuda_lane *lane;

	if (rn_cuda_write_in(alias, src, len, &lane) != RN_MEM_DONE)
		return RN_MEM_FAULT;
	rn_cuda_settle_lane(lane);
	return lane->is_dead ? RN_MEM_FAULT : RN_MEM_DONE;
}

enum rn_mem_result rn_cuda_store(rn_iova alias, const void *src, uint32_t len)
{
	enum rn_mem_result result;

	rn_cuda_lock();
	result = store_in(alias, src, len);
	rn_cuda_unlock();
	return result;
}

enum rn_mem_result rn_cuda_modify(const struct rn_mem_atomic_req *req, uint64_t *orig)
{
	enum rn_mem_result result;
	uint64_t value;

	rn_cuda_lock();
	result = rn_cuda_read_in(orig, req->dst, sizeof(*orig));
	if (result == RN_MEM_DONE && rn_mem_atomic_result(req, *orig, &value))
		result = store_in(req->dst, &value, sizeof(value));
	rn_cuda_unlock();
	return result;
}

/* ------------------------------------------------------------------- struct rn_mem_ops
 */
static enum rn_mem_result write_gpu(struct rn_cuda_nic *nic, rn_iova dst, const void *src,
				    uint32_t len)
{
	enum rn_mem_result result;
	struct rn_cuda_lane *lane = NULL;
	rn_cu_ptr addr;

	rn_cuda_lock();
	/* Writes to another context travel by another stream, and must not overtake. */
	if (nic->has_written && nic->wrote) {
		const struct rn_cuda_region *region = rn_cuda_find(dst, len, &addr);

		if (region && region->lane != nic->wrote)
			rn_cuda_settle_lane(nic->wrote);
	}
	result = rn_cuda_write_in(dst, src, len, &lane);
	if (lane)
		nic->wrote = lane;
	rn_cuda_unlock();
	nic->has_written = nic->has_run = true;
	return result;
}

static enum rn_mem_result op_write(void *ctx, rn_iova dst, const void *src, uint32_t len,
				   struct rn_mem_attr attr)
{
	if (rn_cuda_is_alias(dst))
		return write_gpu(ctx, dst, src, len);
	rn_cuda_settle(ctx, attr.qpn);
	return rn_mem_direct_ops.write(NULL, dst, src, len, attr);
}

/* Reads ahead only what a queue pair reads as data: its messages have numbers. */
static enum rn_mem_result read_gpu(const struct rn_cuda_request *r,
				   struct rn_mem_attr attr)
{
	enum rn_mem_result result;

	rn_cuda_lock();
	if (attr.qpn && !(attr.flags & RN_MEM_PUSH))
		result = rn_cuda_read_ahead(r);
	else if (r->waits)
		result = rn_cuda_read_in(r->dst, r->src, r->len);
	else
		result = rn_cuda_read_begin(r->nic, r->dst, r->src, r->len, r->tag);
	rn_cuda_unlock();
	return result;
}

// NOLINTNEXTLINE(readability-function-size): the parameters of rn_mem_ops.read
static enum rn_mem_result op_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				  struct rn_mem_attr attr, uint64_t tag)
{
	if (!rn_cuda_is_alias(src))
		return rn_mem_direct_ops.read(NULL, dst, src, len, attr, tag);
	return read_gpu(
		&(struct rn_cuda_request){ ctx, false, dst, src, len, attr.msg, tag },
		attr);
}

// NOLINTNEXTLINE(readability-function-size): the parameters of rn_mem_ops.read
static enum rn_mem_result op_read_now(void *ctx, void *dst, rn_iova src, uint32_t len,
				      struct rn_mem_attr attr, uint64_t tag)
{
	if (!rn_cuda_is_alias(src))
		return rn_mem_direct_ops.read(NULL, dst, src, len, attr, tag);
	return read_gpu(
		&(struct rn_cuda_request){ ctx, true, dst, src, len, attr.msg, tag },
		attr);
}

static enum rn_mem_result op_atomic(void *ctx, const struct rn_mem_atomic_req *req,
				    uint64_t *orig, struct rn_mem_attr attr, uint64_t tag)
{
	if (rn_cuda_is_alias(req->dst))
		return rn_cuda_modify(req, orig);
	rn_cuda_settle(ctx, attr.qpn);
	return rn_mem_direct_ops.atomic(NULL, req, orig, attr, tag);
}

const struct rn_mem_ops rn_cuda_ops = {
	.write = op_write,
	.read = op_read,
	.atomic = op_atomic,
};

const struct rn_mem_ops rn_cuda_waiting_ops = {
	.always_done = true,
	.write = op_write,
	.read = op_read_now,
	.atomic = op_atomic,
};
