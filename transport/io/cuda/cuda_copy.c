/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_copy.c - copies to and from memory of GPUs, by way of pinned memory, in the stream
 * of the context.
 */
#include <string.h>

#include "cuda_internal.h"

/* --------------------------------------------------------------------------- writes */
void rn_cuda_submit(struct rn_cuda_lane *lane)
{
	const __typeof__(lane->run) run = lane->run;
	int mode;

	if (!run.len)
		return;
	lane->run.len = 0;
	/* The program may have freed the memory since the bytes were taken. They are lost
	 * then, like writes of a NIC that are on their way at that time.
	 */
	if (!rn_cuda_is_there(run.region, run.dst) || !rn_cuda_enter(lane, &mode))
		return;
	(void)rn_cuda_is_copied(run.region, "cuMemcpyHtoDAsync",
				rn_cu_driver()->to_device(run.dst,
							  lane->pinned + run.from,
							  run.len, lane->stream));
	rn_cuda_leave(mode);
}

void rn_cuda_settle_lane(struct rn_cuda_lane *lane)
{
	int mode;

	rn_cuda_submit(lane);
	if (lane->is_unsettled && rn_cuda_enter(lane, &mode)) {
		(void)rn_cuda_is_fine(lane, "cuStreamSynchronize",
				      rn_cu_driver()->stream_synchronize(lane->stream));
		rn_cuda_leave(mode);
	}
	lane->is_unsettled = false;
	lane->staged = 0;
}

/* Does a write of @len bytes continue the writes that wait? */
static bool continues(const struct rn_cuda_lane *lane,
		      const struct rn_cuda_region *region, rn_cu_ptr dst, uint32_t len)
{
	return lane->run.len && lane->run.region == region &&
	       lane->run.dst + lane->run.len == dst &&
	       lane->run.len + len <= RN_CUDA_RUN_MAX;
}

/* Begins a new row of writes at @dst. */
static bool begin_run(struct rn_cuda_lane *lane, struct rn_cuda_region *region,
		      rn_cu_ptr dst)
{
	rn_cuda_submit(lane);
	if (lane->is_dead || !rn_cuda_is_there(region, dst))
		return false;
	lane->run.region = region;
	lane->run.dst = dst;
	lane->run.from = lane->staged;
	return true;
}

enum rn_mem_result rn_cuda_write_in(rn_iova alias, const void *src, uint32_t len,
				    struct rn_cuda_lane **lane_out)
{
	rn_cu_ptr dst;
	struct rn_cuda_region *region = rn_cuda_find(alias, len, &dst);
	struct rn_cuda_lane *lane = region ? region->lane : NULL;

	assert(len <= RN_CUDA_STAGE);
	if (!region)
		return RN_MEM_FAULT;
	if (lane->staged + len > RN_CUDA_STAGE)
		rn_cuda_settle_lane(lane);
	if (!continues(lane, region, dst, len) && !begin_run(lane, region, dst))
		return RN_MEM_FAULT;
	memcpy(lane->pinned + lane->staged, src, len);
	lane->staged += len;
	lane->run.len += len;
	lane->is_unsettled = true;
	*lane_out = lane;
	return RN_MEM_DONE;
}

/* ---------------------------------------------------------------------------- reads */
/* Asks for a copy of @len bytes at @src into pinned memory, behind all earlier writes.
 * The context is current.
 */
static bool fetch(struct rn_cuda_region *region, void *pinned, rn_cu_ptr src,
		  uint32_t len)
{
	return rn_cuda_is_copied(
		region, "cuMemcpyDtoHAsync",
		rn_cu_driver()->to_host(pinned, src, len, region->lane->stream));
}

/* Reads up to RN_CUDA_READ_MAX bytes. */
static bool read_piece(struct rn_cuda_region *region, void *dst, rn_cu_ptr src,
		       uint32_t len)
{
	struct rn_cuda_lane *lane = region->lane;
	uint8_t *pinned = lane->pinned + RN_CUDA_STAGE;
	bool is_read;
	int mode;

	if (!rn_cuda_enter(lane, &mode))
		return false;
	is_read = fetch(region, pinned, src, len) &&
		  rn_cuda_is_fine(lane, "cuStreamSynchronize",
				  rn_cu_driver()->stream_synchronize(lane->stream));
	rn_cuda_leave(mode);
	if (!is_read)
		return false;
	/* the earlier writes have ended, too */
	lane->is_unsettled = false;
	lane->staged = 0;
	memcpy(dst, pinned, len);
	return true;
}

/* Finds the region of a read, and sends the writes before it on their way. */
static struct rn_cuda_region *begin_read(rn_iova alias, uint32_t len, rn_cu_ptr *src)
{
	struct rn_cuda_region *region = rn_cuda_find(alias, len, src);

	if (!region)
		return NULL;
	rn_cuda_submit(region->lane);
	return rn_cuda_is_there(region, *src) ? region : NULL;
}

enum rn_mem_result rn_cuda_read_in(void *dst, rn_iova alias, uint32_t len)
{
	rn_cu_ptr src;
	struct rn_cuda_region *region = begin_read(alias, len, &src);
	uint8_t *to = dst;

	if (!region)
		return RN_MEM_FAULT;
	while (len) {
		const uint32_t n = len < RN_CUDA_READ_MAX ? len : RN_CUDA_READ_MAX;

		if (!read_piece(region, to, src, n))
			return RN_MEM_FAULT;
		to += n;
		src += n;
		len -= n;
	}
	return RN_MEM_DONE;
}

/* Asks the driver to call back when the newest read has ended. The context is current. */
static bool ask_for_notice(struct rn_cuda_lane *lane, struct rn_cu_event *event)
{
	const struct rn_cu_driver *cu = rn_cu_driver();

	if (atomic_load(&lane->is_noticed))
		return true;
	if (!rn_cuda_is_fine(lane, "cuStreamWaitEvent",
			     cu->stream_wait_event(lane->notices, event, 0)))
		return false;
	atomic_store(&lane->is_noticed, true);
	return rn_cuda_is_fine(lane, "cuLaunchHostFunc",
			       cu->launch_host(lane->notices, rn_cuda_notice, lane));
}

/* Lets a read wait for @event. The context is current. */
static void queue_read(struct rn_cuda_lane *lane, struct rn_cuda_read *r,
		       struct rn_cu_event *event)
{
	r->nic->pending++;
	lane->unused = r->next;
	r->next = NULL;
	*lane->last = r;
	lane->last = &r->next;
	/* If this fails the lane is dead, and the read ends with a fault. */
	(void)ask_for_notice(lane, event);
}

static bool start_read(struct rn_cuda_region *region, struct rn_cuda_read *r,
		       rn_cu_ptr src)
{
	struct rn_cuda_lane *lane = region->lane;
	bool is_begun;
	int mode;

	if (!rn_cuda_enter(lane, &mode))
		return false;
	is_begun = fetch(region, r->bytes, src, r->len) &&
		   rn_cuda_is_fine(lane, "cuEventRecord",
				   rn_cu_driver()->event_record(r->event, lane->stream));
	if (is_begun)
		queue_read(lane, r, r->event);
	rn_cuda_leave(mode);
	return is_begun;
}

enum rn_mem_result rn_cuda_read_begin(struct rn_cuda_nic *nic, void *dst, rn_iova alias,
				      uint32_t len, uint64_t tag)
{
	struct rn_cuda_region *region;
	struct rn_cuda_read *r;
	rn_cu_ptr src;

	region = begin_read(alias, len, &src);
	if (!region)
		return RN_MEM_FAULT;
	r = region->lane->unused;
	if (!r || len > RN_CUDA_READ_MAX)
		return rn_cuda_read_in(dst, alias, len);
	r->nic = nic;
	r->dst = dst;
	r->len = len;
	r->tag = tag;
	r->piece = NULL;
	return start_read(region, r, src) ? RN_MEM_PENDING : RN_MEM_FAULT;
}

bool rn_cuda_fetch_piece(struct rn_cuda_region *region, struct rn_cuda_piece *piece)
{
	struct rn_cuda_lane *lane = region->lane;
	bool is_begun;
	int mode;

	piece->is_there = false;
	if (!rn_cuda_enter(lane, &mode))
		return false;
	is_begun =
		fetch(region, piece->bytes, piece->at, piece->len) &&
		rn_cuda_is_fine(lane, "cuEventRecord",
				rn_cu_driver()->event_record(piece->event, lane->stream));
	rn_cuda_leave(mode);
	return is_begun;
}

/* Waits until the copy of a piece has ended, with all that are before and behind it. The
 * context is current.
 */
static void await_piece(struct rn_cuda_lane *lane, struct rn_cuda_piece *piece)
{
	piece->is_there =
		rn_cuda_is_fine(lane, "cuStreamSynchronize",
				rn_cu_driver()->stream_synchronize(lane->stream));
}

/* Looks whether the copy of a piece has ended. The context is current. */
static void look_at_piece(struct rn_cuda_lane *lane, struct rn_cuda_piece *piece)
{
	const int rc = rn_cu_driver()->event_query(piece->event);

	piece->is_there =
		rc != RN_CU_ERROR_NOT_READY && rn_cuda_is_fine(lane, "cuEventQuery", rc);
}

// NOLINTNEXTLINE(readability-function-size): each parameter is needed
enum rn_mem_result rn_cuda_read_piece(struct rn_cuda_lane *lane, struct rn_cuda_nic *nic,
				      struct rn_cuda_piece *piece, uint32_t offset,
				      void *dst, uint32_t len, uint64_t tag)
{
	struct rn_cuda_read *r = nic ? lane->unused : NULL;
	int mode;

	if (!piece->is_there) {
		if (!rn_cuda_enter(lane, &mode))
			return RN_MEM_FAULT;
		if (r)
			look_at_piece(lane, piece);
		else
			await_piece(lane, piece);
		if (r && !piece->is_there && !lane->is_dead) {
			r->nic = nic;
			r->dst = dst;
			r->len = len;
			r->tag = tag;
			r->piece = piece;
			r->offset = offset;
			piece->users++;
			queue_read(lane, r, piece->event);
			rn_cuda_leave(mode);
			return RN_MEM_PENDING;
		}
		rn_cuda_leave(mode);
	}
	if (!piece->is_there)
		return RN_MEM_FAULT;
	memcpy(dst, piece->bytes + offset, len);
	return RN_MEM_DONE;
}

static struct rn_cu_event *event_of(const struct rn_cuda_read *r)
{
	return r->piece ? r->piece->event : r->event;
}

static void end_read(struct rn_cuda_lane *lane, bool is_good)
{
	struct rn_cuda_read *r = lane->first;
	struct rn_cuda_nic *nic = r->nic;

	lane->first = r->next;
	if (!lane->first)
		lane->last = &lane->first;
	r->result = is_good ? RN_MEM_DONE : RN_MEM_FAULT;
	if (is_good)
		memcpy(r->dst, r->piece ? r->piece->bytes + r->offset : r->bytes, r->len);
	if (r->piece) {
		r->piece->is_there = is_good;
		r->piece->users--;
	}
	r->next = NULL;
	*nic->ended_tail = r;
	nic->ended_tail = &r->next;
}

void rn_cuda_harvest(struct rn_cuda_lane *lane, const struct rn_cuda_nic *nic)
{
	bool is_for_others = false;
	int mode;

	if (!lane->first)
		return;
	if (rn_cuda_enter(lane, &mode)) {
		while (lane->first) {
			const int rc = rn_cu_driver()->event_query(event_of(lane->first));

			if (rc == RN_CU_ERROR_NOT_READY ||
			    !rn_cuda_is_fine(lane, "cuEventQuery", rc))
				break;
			is_for_others |= lane->first->nic != nic;
			end_read(lane, true);
		}
		if (lane->first && !lane->is_dead)
			(void)ask_for_notice(lane, event_of(lane->first));
		rn_cuda_leave(mode);
	}
	while (lane->first && lane->is_dead) {
		is_for_others |= lane->first->nic != nic;
		end_read(lane, false);
	}
	if (is_for_others)
		rn_cuda_notice(lane);
}
