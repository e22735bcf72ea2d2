/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dm.c - device memory (memory on the NIC): allocated from the device, and accessed
 * through the device only.
 *
 * The memory is part of this process, but the program does not get its address. In the
 * simulated PCIe hierarchy it is a region whose target is the NIC, so the program's
 * copies are TLPs.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "mr.h"
#include "provider/engine/pcie.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/provider.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/memory/mem_direct.h"

/* Bytes of device memory that make_local_memory() has allocated in this process. Only a
 * fork() child calls make_local_memory().
 */
static atomic_uint_fast64_t local_bytes;

enum {
	UNIT = 64, /* sizes of allocations are rounded up to a multiple of these bytes */
	WORD = 4,  /* offsets and lengths of copies must be multiples of these bytes */
	ALIGN_LOG_MAX = 18,
};

static_assert(1 << ALIGN_LOG_MAX == RNP_DM_BYTES, "at most the whole memory");

static struct rnp_dm *to_rnp_dm(struct ibv_dm *dm)
{
	return (struct rnp_dm *)dm;
}

static int fail_with(int err)
{
	errno = err;
	return err;
}

/* -------------------------------------------------- copies to and from device memory */
/* Has the memory been freed, or does the device belong to the parent process? */
static bool is_freed_or_foreign(const struct rnp_dm *dm)
{
	const struct rnp_dm *real = dm->origin ? dm->origin : dm;

	if (!atomic_load(&dm->handle.is_live))
		return true;
	return !dm->is_local && (rnp_is_fork_child(to_rnp_context(dm->base.context)) ||
				 atomic_load(&real->gone));
}

/* Do copies go through the simulated PCIe hierarchy? */
static bool is_simulated(const struct rnp_dm *dm, const struct rnp_pcie **pcie)
{
	*pcie = rnp_engine_pcie(to_rnp_context(dm->base.context)->engine);
	return rnp_pcie_is_on(*pcie) && !dm->is_local;
}

/* Returns 0, or the errno of a copy that is not possible. */
static int check_copy(const struct rnp_dm *dm, uint64_t offset, size_t len)
{
	if (is_freed_or_foreign(dm))
		return EIO;
	if (offset > dm->len || len > dm->len - offset)
		return EINVAL;
	return offset % WORD || len % WORD ? EINVAL : 0;
}

/* Memory of the program that is copied to device memory, or from it. */
struct outside {
	/* source of the copy, if @is_source is true; otherwise @dst is its destination */
	const void *src;
	void *dst;
	bool is_source;
};

static bool is_copied(const struct rnp_dm *dm, rn_iova at, struct outside o, size_t len)
{
	const struct rn_mem_ops *mem = &rn_mem_direct_ops;
	const struct rn_mem_attr none = { 0 };
	const struct rnp_pcie *pcie;

	if (is_simulated(dm, &pcie))
		return (o.is_source ? rnp_pcie_dm_write(pcie, at, o.src, len)
				    : rnp_pcie_dm_read(pcie, o.dst, at, len)) == 0;
	return (o.is_source ? mem->write(NULL, at, o.src, (uint32_t)len, none)
			    : mem->read(NULL, o.dst, at, (uint32_t)len, none, 0)) ==
	       RN_MEM_DONE;
}

static int copy(struct ibv_dm *base, uint64_t offset, struct outside o, size_t len)
{
	const struct rnp_dm *dm = to_rnp_dm(base);
	int err = check_copy(dm, offset, len);

	if (!err && len > 0 && !is_copied(dm, dm->addr + offset, o, len))
		err = EIO;
	return err ? fail_with(err) : 0;
}

static int copy_to(struct ibv_dm *base, uint64_t offset, const void *src, size_t len)
{
	return copy(base, offset, (struct outside){ .src = src, .is_source = true }, len);
}

static int copy_from(void *dst, struct ibv_dm *base, uint64_t offset, size_t len)
{
	return copy(base, offset, (struct outside){ .dst = dst }, len);
}

/* ------------------------------------------------------------ allocation and release */
/* Makes a file of @len bytes. Returns its descriptor, or -1. */
static int make_file(size_t len)
{
	struct rlimit limit;
	int fd;

	/* ftruncate() beyond the file size limit of the process would raise SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < len)
		return -1;
	fd = rn_fd_own(memfd_create("rocin-dm", MFD_CLOEXEC));
	if (fd >= 0 && ftruncate(fd, (off_t)len)) {
		rn_fd_close(fd);
		return -1;
	}
	return fd;
}

/* Puts a file in place of the @len bytes of private memory at @dm->addr, so that the
 * memory can be exported. If there can be no file, the memory stays as it is.
 */
static void map_file(struct rnp_dm *dm, size_t len)
{
	int fd = make_file(len);

	if (fd < 0)
		return;
	if (mmap(rnp_pages_pointer(dm->addr), len, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		rn_fd_close(fd);
		return;
	}
	dm->fd = fd;
}

/* Maps the memory of @dm in pages that hold nothing else: then a change of the protection
 * of other memory does not affect it, and a file can take the place of its pages. The
 * start is a multiple of 2^@log_align bytes. Returns 0 or -ENOMEM.
 */
static int map_memory(struct rnp_dm *dm, uint32_t log_align)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), align = (size_t)1 << log_align;
	size_t len = (dm->room + page - 1) / page * page;

	if (align < page)
		align = page;
	dm->map_len = len + align;
	dm->map = mmap(NULL, dm->map_len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (dm->map == MAP_FAILED)
		return -ENOMEM;
	dm->addr = ((uintptr_t)dm->map + align - 1) & ~(rn_iova)(align - 1);
	map_file(dm, len);
	return 0;
}

static void unmap_memory(struct rnp_dm *dm)
{
	if (dm->fd >= 0)
		rn_fd_close(dm->fd);
	munmap(dm->map, dm->map_len);
}

/* Adds the memory to the device. The engine lock is held. Returns 0 or -errno. */
static int add_to_device(struct rnp_context *ctx, struct rnp_dm *dm)
{
	int rc = rnp_hca_take_dm(ctx->hca, dm->room);

	if (rc)
		return rc;
	/* Called again before each addition: the program may have installed a signal
	 * handler in place of that of the memory guard.
	 */
	(void)rn_mem_direct_init();
	rc = rnp_pcie_dm_add(rnp_engine_pcie(ctx->engine), dm->addr, dm->room);
	if (rc) {
		rnp_hca_give_dm(ctx->hca, dm->room);
		return rc;
	}
	dm->base.handle = rnp_hca_new_dm(ctx->hca);
	LIST_INSERT_HEAD(&ctx->dms, dm, link);
	rnp_handle_add(ctx, RNP_KIND_DM, dm);
	return 0;
}

void rnp_dm_detach(struct rnp_dm *dm)
{
	struct rnp_context *ctx = to_rnp_context(dm->base.context);

	assert(dm->mrs == 0);
	rnp_pcie_dm_remove(rnp_engine_pcie(ctx->engine), dm->addr);
	rnp_hca_give_dm(ctx->hca, dm->room);
	LIST_REMOVE(dm, link);
	atomic_store(&dm->gone, true);
}

static void free_memory(struct rnp_dm *dm)
{
	if (dm->map)
		unmap_memory(dm);
	rnp_object_free(RNP_KIND_DM, dm);
}

void rnp_dm_release(struct rnp_dm *dm, unsigned holders)
{
	assert(dm->held >= holders);
	dm->held -= holders;
	if (dm->held == 0)
		free_memory(dm);
}

/* Allocates device memory in a fork() child. With a kernel's device a child could
 * allocate memory of the NIC through the device of its parent. In Rocin a child has no
 * device. It gets memory that only the child can use, at most as much as a device has.
 */
static int make_local_memory(struct rnp_context *ctx, struct rnp_dm *dm,
			     uint32_t log_align)
{
	int rc;

	if (atomic_fetch_add(&local_bytes, dm->room) + dm->room > RNP_DM_BYTES) {
		atomic_fetch_sub(&local_bytes, dm->room);
		return -ENOMEM;
	}
	(void)rn_mem_direct_init();
	rc = map_memory(dm, log_align);
	if (rc)
		atomic_fetch_sub(&local_bytes, dm->room);
	else
		rnp_handle_add(ctx, RNP_KIND_DM, dm);
	dm->is_local = true;
	return rc;
}

static void free_local_memory(struct rnp_dm *dm)
{
	if (dm->is_local)
		atomic_fetch_sub(&local_bytes, dm->room);
	free_memory(dm);
}

static int make_memory(struct rnp_context *ctx, struct rnp_dm *dm, uint32_t log_align)
{
	int rc, cancel;

	if (rnp_is_fork_child(ctx))
		return make_local_memory(ctx, dm, log_align);
	rc = map_memory(dm, log_align);
	if (rc)
		return rc;
	cancel = rnp_lock_engine(ctx->engine);
	rc = add_to_device(ctx, dm);
	rnp_unlock_engine(ctx->engine, cancel);
	if (rc)
		unmap_memory(dm);
	return rc;
}

static void init_handle(struct rnp_dm *dm, struct ibv_context *context)
{
	dm->fd = -1;
	dm->base.context = context;
	dm->base.memcpy_to_dm = copy_to;
	dm->base.memcpy_from_dm = copy_from;
}

struct rnp_dm *rnp_dm_new_import(struct ibv_context *context, struct rnp_dm *origin)
{
	struct rnp_dm *dm = rnp_object_new(RNP_KIND_DM, NULL);

	if (!dm)
		return NULL;
	init_handle(dm, context);
	dm->base.handle = origin->handle.number;
	dm->origin = origin;
	dm->addr = origin->addr;
	dm->len = origin->len;
	dm->room = origin->room;
	return dm;
}

static int check_alloc(const struct ibv_alloc_dm_attr *attr)
{
	if (attr->comp_mask || attr->length == 0 || attr->log_align_req > ALIGN_LOG_MAX)
		return -EINVAL;
	return attr->length > RNP_DM_BYTES ? -ENOMEM : 0;
}

struct ibv_dm *rnp_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	int rc = ctx->is_closed ? -EIO : check_alloc(attr);
	struct rnp_dm *dm = rc ? NULL : rnp_object_new(RNP_KIND_DM, NULL);

	if (!dm) {
		errno = rc ? -rc : ENOMEM;
		return NULL;
	}
	init_handle(dm, context);
	dm->len = attr->length;
	dm->held = 2; /* two uses: by the program and by the device */
	dm->room = (attr->length + UNIT - 1) / UNIT * UNIT;
	rc = make_memory(ctx, dm, attr->log_align_req);
	if (rc) {
		rnp_object_free(RNP_KIND_DM, dm);
		errno = -rc;
		return NULL;
	}
	return &dm->base;
}

/* Frees the device memory that @handle, the original or an imported handle, refers to.
 * The engine lock is held. Returns 0 or a positive errno.
 */
static int free_dm(struct rnp_context *ctx, struct rnp_dm *handle)
{
	struct rnp_dm *dm = handle && handle->origin ? handle->origin : handle;

	if (!dm || dm->gone)
		return ENOENT;
	if (dm->mrs > 0)
		return EBUSY;
	rnp_dm_detach(dm);
	rnp_handle_remove(ctx, RNP_KIND_DM, handle);
	if (handle != dm)
		rnp_object_free(RNP_KIND_DM, handle);
	/* drops two uses: by the device and by the handle */
	rnp_dm_release(dm, 2);
	return 0;
}

/* Frees device memory through one of its handles, the original or an imported one. The
 * other handles can only be unimported afterwards.
 */
int rnp_free_dm(struct ibv_dm *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_dm *handle = rnp_handle_find(ctx, RNP_KIND_DM, base);
	int err = handle ? 0 : ENOENT;

	if (lock != RNP_NO_LOCK) {
		err = free_dm(ctx, handle);
		rnp_unlock_destroyed(ctx, lock);
	} else if (handle) {
		rnp_handle_remove(ctx, RNP_KIND_DM, handle);
		free_local_memory(handle);
	}
	return err ? fail_with(err) : 0;
}

int rnp_dm_export_dmabuf_fd(struct ibv_dm *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int fd = -1, cancel;
	struct rnp_dm *dm;

	if (rnp_is_fork_child(ctx)) {
		errno = EIO;
		return -1;
	}
	cancel = rnp_lock_engine(ctx->engine);
	dm = rnp_handle_find(ctx, RNP_KIND_DM, base);
	if (dm && dm->origin)
		dm = dm->origin;
	if (!dm || dm->gone)
		errno = ENOENT;
	else if (dm->fd < 0)
		errno = EOPNOTSUPP;
	else
		fd = fcntl(dm->fd, F_DUPFD_CLOEXEC, 0);
	rnp_unlock_engine(ctx->engine, cancel);
	return fd;
}

/* ----------------------------------------------------- registration of device memory */
static int check_region(const struct rnp_dm *dm, uint64_t offset, size_t len,
			uint32_t access)
{
	const uint32_t known = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			       RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC |
			       RN_ACCESS_ZERO_BASED | RN_ACCESS_FLUSH_GLOBAL |
			       RN_ACCESS_OPTIONAL_RANGE;

	if (access & ~known || !(access & RN_ACCESS_ZERO_BASED))
		return -EINVAL;
	return offset > dm->len || len > dm->len - offset ? -EINVAL : 0;
}

/* Finds the device memory that the program has passed, and counts one more region of it,
 * so that it cannot be freed. Returns NULL if there is no such memory.
 */
static struct rnp_dm *hold_dm(struct rnp_context *ctx, const struct ibv_dm *base)
{
	int cancel = rnp_lock_engine(ctx->engine);
	struct rnp_dm *dm = rnp_handle_find(ctx, RNP_KIND_DM, base);

	if (dm && dm->origin)
		dm = dm->origin;
	if (dm && dm->gone)
		dm = NULL;
	if (dm)
		dm->mrs++;
	rnp_unlock_engine(ctx->engine, cancel);
	return dm;
}

static void drop_dm(struct rnp_context *ctx, struct rnp_dm *dm)
{
	int cancel = rnp_lock_engine(ctx->engine);

	dm->mrs--;
	rnp_unlock_engine(ctx->engine, cancel);
}

struct ibv_mr *rnp_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *base, uint64_t offset,
			     size_t length, unsigned int access)
{
	struct rnp_context *ctx = to_rnp_context(pd->context);
	struct rn_mr_attr attr = { .length = length, .access = access };
	bool is_copy = rnp_is_fork_child(ctx);
	struct rnp_dm *dm = is_copy ? NULL : hold_dm(ctx, base);
	int rc = is_copy ? -EIO : -EINVAL;
	struct rnp_mr *mr = NULL;

	if (dm)
		rc = check_region(dm, offset, length, access);
	if (!rc) {
		attr.iova_base = dm->addr + offset;
		mr = rnp_mr_register(pd, &attr, RNP_ABI_MR, dm, &rc);
	}
	if (!mr) {
		if (dm)
			drop_dm(ctx, dm);
		errno = -rc;
		return NULL;
	}
	/* libibverbs fills in these members for other regions, but not for device memory.
	 */
	mr->base.ibv_mr.context = pd->context;
	mr->base.ibv_mr.pd = pd;
	mr->base.ibv_mr.length = length;
	return &mr->base.ibv_mr;
}
