/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_region.c - registered memory of GPUs, and the contexts that it belongs to. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cuda_internal.h"
#include "transport/io/host/log.h"

enum {
	AHEAD_AT = RN_CUDA_STAGE + (RN_CUDA_READS + 1) * RN_CUDA_READ_MAX,
	PINNED = AHEAD_AT + 2 * RN_CUDA_AHEADS * RN_CUDA_PIECE,
	/* A range of memory may consist of so many allocations. PyTorch's expandable
	 * segments have one for each 2 MiB, so that this is more than a GPU has.
	 */
	PARTS_MAX = 1 << 20,
	/* Bytes of a page of a GPU. Peer-memory drivers pin whole pages, so that a region
	 * may reach to the end of the page in which its allocation ends.
	 */
	GPU_PAGE = 64 << 10,
};

#define ADDRESS_MASK ((UINT64_C(1) << RN_CUDA_ADDRESS_BITS) - 1)

static struct {
	pthread_mutex_t lock;
	struct rn_cuda_lane *lanes;
	/* Regions by their numbers, which are reused; a region never moves. */
	struct rn_cuda_region **regions;
	unsigned count, room;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

void rn_cuda_lock(void)
{
	pthread_mutex_lock(&all.lock);
}

void rn_cuda_unlock(void)
{
	pthread_mutex_unlock(&all.lock);
}

struct rn_cuda_lane *rn_cuda_lanes(void)
{
	return all.lanes;
}

bool rn_cuda_is_used(void)
{
	return rn_cu_is_in_process();
}

bool rn_cuda_is_loaded(void)
{
	return rn_cu_driver() != NULL;
}

/* ----------------------------------------------------- what the driver says of memory */
/* Answers of the driver about an address. */
struct answer {
	struct rn_cu_context *ctx;
	int type, ordinal;
	int is_managed;
	uint64_t buffer;
	rn_cu_ptr start;
	size_t len; /* length of the allocation in bytes; 0: not known */
};

/* Asks the driver about @addr. An address that is not CUDA's is no error for the driver;
 * its type is 0. Returns false if the driver does not answer.
 */
static bool ask(rn_cu_ptr addr, struct answer *a)
{
	static const int attributes[] = {
		RN_CU_POINTER_CONTEXT,	  RN_CU_POINTER_MEMORY_TYPE,
		RN_CU_POINTER_IS_MANAGED, RN_CU_POINTER_DEVICE_ORDINAL,
		RN_CU_POINTER_BUFFER_ID,  RN_CU_POINTER_RANGE_START,
		RN_CU_POINTER_RANGE_SIZE,
	};
	void *values[] = { &a->ctx,    &a->type,  &a->is_managed, &a->ordinal,
			   &a->buffer, &a->start, &a->len };

	*a = (struct answer){ 0 };
	return rn_cu_driver()->get_attributes(RN_ARRAY_SIZE(attributes), attributes,
					      values, addr) == RN_CU_SUCCESS;
}

/* Is this memory of a GPU? Managed memory has pages that the CPU reaches, too, and is
 * registered as memory of the program.
 */
static bool is_on_gpu(rn_cu_ptr addr, struct answer *a)
{
	return ask(addr, a) && a->type == RN_CU_MEMORY_DEVICE && !(a->is_managed & 0xff);
}

/* Is all of [@addr, @addr + @len) memory of GPUs? @first: the answer for @addr. Sets
 * *@is_one to whether it is one allocation.
 */
static bool is_whole(rn_cu_ptr addr, uint64_t len, const struct answer *first,
		     bool *is_one)
{
	const rn_cu_ptr end = addr + len;
	struct answer a = *first;
	unsigned parts = 0;

	for (; parts < PARTS_MAX; parts++) {
		const rn_cu_ptr next = a.start + a.len;

		if (a.len == 0 || next <= addr)
			break; /* the driver does not tell how long the allocation is */
		if (next >= end) {
			*is_one = parts == 0;
			return true;
		}
		addr = next;
		if (!is_on_gpu(addr, &a)) {
			*is_one = parts == 0;
			return end - 1 <= ((addr - 1) | (GPU_PAGE - 1));
		}
	}
	*is_one = false;
	return is_on_gpu(end - 1, &a);
}

bool rn_cuda_is_there(struct rn_cuda_region *region, rn_cu_ptr addr)
{
	struct answer a;

	if (region->is_gone)
		return false;
	if (is_on_gpu(addr, &a) && (!region->buffer || a.buffer == region->buffer))
		return true;
	region->is_gone = true;
	rn_log(RN_LOG_WARN,
	       "the program has freed memory of a GPU at 0x%llx that is still "
	       "registered; requests for it fail",
	       (unsigned long long)region->start);
	return false;
}

static const char *name_of(int result)
{
	const char *name = NULL;

	(void)rn_cu_driver()->error_name(result, &name);
	return name ? name : "unknown error";
}

bool rn_cuda_is_copied(struct rn_cuda_region *region, const char *what, int result)
{
	if (result == RN_CU_SUCCESS)
		return true;
	/* The program may have freed the memory since it was looked at. */
	if (!rn_cuda_is_there(region, region->start))
		return false;
	region->is_gone = true;
	rn_log(RN_LOG_ERROR,
	       "%s of the CUDA driver has failed: %s (%d); requests for the region at "
	       "0x%llx fail from now on",
	       what, name_of(result), result, (unsigned long long)region->start);
	return false;
}

/* ------------------------------------------------------------------------- contexts */
bool rn_cuda_is_fine(struct rn_cuda_lane *lane, const char *what, int result)
{
	if (result == RN_CU_SUCCESS)
		return true;
	if (!lane->is_dead)
		rn_log(RN_LOG_ERROR,
		       "%s of the CUDA driver has failed: %s (%d); requests for memory "
		       "of "
		       "this CUDA context fail from now on",
		       what, name_of(result), result);
	lane->is_dead = true;
	return false;
}

/* Does the context exist? A context that was destroyed must not be used any more, nor may
 * its streams, as the driver does not check them. But it tells of any address who has
 * registered it, and the pinned memory is no longer registered then.
 */
static bool is_alive(struct rn_cuda_lane *lane)
{
	struct answer a;

	if (lane->is_dead)
		return false;
	if (ask((uintptr_t)lane->pinned, &a) && a.type == RN_CU_MEMORY_HOST &&
	    a.ctx == lane->owner)
		return true;
	rn_log(RN_LOG_WARN, "the program has destroyed a CUDA context whose memory is "
			    "still registered; requests for it fail");
	lane->is_dead = true;
	return false;
}

static bool push(struct rn_cuda_lane *lane, int *mode)
{
	const struct rn_cu_driver *cu = rn_cu_driver();

	if (!rn_cuda_is_fine(lane, "cuCtxPushCurrent", cu->ctx_push(lane->ctx)))
		return false;
	*mode = RN_CU_CAPTURE_MODE_RELAXED;
	(void)cu->capture_mode(mode);
	return true;
}

bool rn_cuda_enter(struct rn_cuda_lane *lane, int *mode)
{
	return is_alive(lane) && push(lane, mode);
}

void rn_cuda_leave(int mode)
{
	struct rn_cu_context *ctx;

	(void)rn_cu_driver()->capture_mode(&mode);
	(void)rn_cu_driver()->ctx_pop(&ctx);
}

static struct rn_cuda_piece *piece_of(struct rn_cuda_lane *lane, unsigned i)
{
	return &lane->aheads[i / 2].piece[i % 2];
}

static void number_reads(struct rn_cuda_lane *lane)
{
	lane->last = &lane->first;
	for (unsigned i = 0; i < RN_CUDA_READS; i++) {
		struct rn_cuda_read *r = &lane->reads[i];

		r->lane = lane;
		r->bytes =
			lane->pinned + RN_CUDA_STAGE + (size_t)(i + 1) * RN_CUDA_READ_MAX;
		r->next = lane->unused;
		lane->unused = r;
	}
	for (unsigned i = 0; i < 2 * RN_CUDA_AHEADS; i++)
		piece_of(lane, i)->bytes =
			lane->pinned + AHEAD_AT + (size_t)i * RN_CUDA_PIECE;
}

static bool make_event(struct rn_cuda_lane *lane, struct rn_cu_event **event)
{
	return rn_cuda_is_fine(
		lane, "cuEventCreate",
		rn_cu_driver()->event_create(event, RN_CU_EVENT_DISABLE_TIMING));
}

/* Makes what the lane needs in its context, which is current. */
static bool equip(struct rn_cuda_lane *lane)
{
	const struct rn_cu_driver *cu = rn_cu_driver();
	struct answer a;

	if (!rn_cuda_is_fine(lane, "cuMemHostRegister",
			     cu->host_register(lane->pinned, PINNED, 0)))
		return false;
	if (!ask((uintptr_t)lane->pinned, &a) || a.type != RN_CU_MEMORY_HOST)
		return rn_cuda_is_fine(lane, "cuPointerGetAttributes", -1);
	lane->owner = a.ctx;
	if (!rn_cuda_is_fine(
		    lane, "cuStreamCreate",
		    cu->stream_create(&lane->stream, RN_CU_STREAM_NON_BLOCKING)) ||
	    !rn_cuda_is_fine(
		    lane, "cuStreamCreate",
		    cu->stream_create(&lane->notices, RN_CU_STREAM_NON_BLOCKING)))
		return false;
	for (unsigned i = 0; i < RN_CUDA_READS; i++)
		if (!make_event(lane, &lane->reads[i].event))
			return false;
	for (unsigned i = 0; i < 2 * RN_CUDA_AHEADS; i++)
		if (!make_event(lane, &piece_of(lane, i)->event))
			return false;
	return true;
}

static void *map_pinned(void)
{
	void *p = mmap(NULL, PINNED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Pages that are pinned must not be copied when the program forks and writes. */
	(void)madvise(p, PINNED, MADV_DONTFORK);
	return p;
}

/* Undoes what new_lane() has done before it failed. What was created in the context ends
 * with the context.
 */
static void drop_lane(struct rn_cuda_lane *lane, bool is_registered)
{
	if (is_registered)
		(void)rn_cu_driver()->host_unregister(lane->pinned);
	if (lane->pinned)
		munmap(lane->pinned, PINNED);
	free(lane);
}

static struct rn_cuda_lane *new_lane(struct rn_cu_context *ctx, int *rc)
{
	struct rn_cuda_lane *lane = calloc(1, sizeof(*lane));
	bool is_made;
	int mode;

	*rc = -ENOMEM;
	if (!lane)
		return NULL;
	lane->ctx = ctx;
	lane->pinned = map_pinned();
	if (!lane->pinned) {
		drop_lane(lane, false);
		return NULL;
	}
	*rc = -EIO;
	number_reads(lane);
	if (!push(lane, &mode)) {
		drop_lane(lane, false);
		return NULL;
	}
	is_made = equip(lane);
	if (!is_made)
		drop_lane(lane, true);
	rn_cuda_leave(mode);
	if (!is_made)
		return NULL;
	lane->next = all.lanes;
	all.lanes = lane;
	return lane;
}

/* Returns the context by which the memory is accessed. Memory that is mapped by
 * cuMemMap() belongs to no context but to a GPU: the context of this thread serves, if it
 * is of that GPU, or else the primary one.
 */
static struct rn_cu_context *context_of(const struct answer *a)
{
	const struct rn_cu_driver *cu = rn_cu_driver();
	struct rn_cu_context *ctx = NULL;
	rn_cu_device device, current;

	if (a->ctx)
		return a->ctx;
	if (cu->device_get(&device, a->ordinal) != RN_CU_SUCCESS)
		return NULL;
	if (cu->ctx_current(&ctx) == RN_CU_SUCCESS && ctx &&
	    cu->ctx_device(&current) == RN_CU_SUCCESS && current == device)
		return ctx;
	return cu->primary_retain(&ctx, device) == RN_CU_SUCCESS ? ctx : NULL;
}

static struct rn_cuda_lane *find_lane(struct rn_cu_context *ctx, int *rc)
{
	struct rn_cuda_lane *lane = all.lanes;

	/* A new context may have the address of one that was destroyed. */
	while (lane && (lane->ctx != ctx || !is_alive(lane)))
		lane = lane->next;
	return lane ? lane : new_lane(ctx, rc);
}

/* -------------------------------------------------------------------------- regions */
static bool make_room(void)
{
	struct rn_cuda_region **more;
	const unsigned room = all.room ? 2 * all.room : 16;

	if (all.count < all.room)
		return true;
	if (room > RN_CUDA_REGIONS_MAX)
		return false;
	more = realloc(all.regions, room * sizeof(struct rn_cuda_region *));
	if (!more)
		return false;
	all.regions = more;
	all.room = room;
	return true;
}

/* Returns an unused region and its number, or NULL. */
static struct rn_cuda_region *new_region(unsigned *number)
{
	struct rn_cuda_region *region;

	for (*number = 0; *number < all.count; (*number)++)
		if (!all.regions[*number]->lane)
			return all.regions[*number];
	region = make_room() ? calloc(1, sizeof(*region)) : NULL;
	if (region)
		all.regions[all.count++] = region;
	return region;
}

static int add_locked(const struct answer *a, rn_cu_ptr addr, uint64_t len, bool is_one,
		      rn_iova *alias)
{
	struct rn_cu_context *ctx = context_of(a);
	struct rn_cuda_region *region;
	struct rn_cuda_lane *lane;
	unsigned number;
	int rc = -EIO;

	lane = ctx ? find_lane(ctx, &rc) : NULL;
	if (!lane)
		return rc;
	region = new_region(&number);
	if (!region)
		return -ENOMEM;
	*region = (struct rn_cuda_region){
		.lane = lane,
		.start = addr,
		.len = len,
		.device = (unsigned)a->ordinal,
		.buffer = is_one ? a->buffer : 0,
	};
	*alias = UINT64_C(1) << 63 | (rn_iova)number << RN_CUDA_ADDRESS_BITS | addr;
	return 1;
}

int rn_cuda_region_add(rn_iova addr, uint64_t len, rn_iova *alias)
{
	const struct rn_cu_driver *cu = rn_cu_driver();
	const unsigned on = 1;
	struct answer a;
	bool is_one = false;
	int rc;

	if (!cu || len == 0 || !is_on_gpu(addr, &a))
		return 0;
	if (addr > ADDRESS_MASK || len > ADDRESS_MASK - addr ||
	    !is_whole(addr, len, &a, &is_one))
		return -EFAULT;
	/* Memory that cuMemMap() has mapped has no such attribute; programs synchronise
	 * their copies themselves there.
	 */
	(void)cu->set_attribute(&on, RN_CU_POINTER_SYNC_MEMOPS, addr);
	rn_cuda_lock();
	rc = add_locked(&a, addr, len, is_one, alias);
	rn_cuda_unlock();
	return rc;
}

struct rn_cuda_region *rn_cuda_region_of(rn_iova alias)
{
	const unsigned number =
		(unsigned)(alias >> RN_CUDA_ADDRESS_BITS) & (RN_CUDA_REGIONS_MAX - 1);

	return number < all.count && all.regions[number]->lane ? all.regions[number]
							       : NULL;
}

struct rn_cuda_region *rn_cuda_find(rn_iova alias, uint32_t len, rn_cu_ptr *addr)
{
	struct rn_cuda_region *region = rn_cuda_region_of(alias);

	*addr = alias & ADDRESS_MASK;
	if (!region || region->is_gone || *addr < region->start ||
	    *addr - region->start > region->len ||
	    len > region->len - (*addr - region->start))
		return NULL;
	return region;
}
