/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dmabuf.c - memory regions whose memory a file descriptor names (ibv_reg_dmabuf_mr()).
 *
 * If the descriptor is of a simulated GPU, the PCIe layer says where its memory is. Other
 * descriptors are mapped as long as the region exists (a memfd, a dma-buf whose exporter
 * allows it). One that cannot be mapped may be that of a real GPU: nothing tells which
 * memory it is of, but programs pass the address in the GPU as the address of the region.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mr.h"
#include "provider/engine/pcie.h"
#include "provider/verbs/object/provider.h"

/* A range of a file descriptor that is to be registered as a region, and where it is
 * mapped.
 */
struct window {
	int fd;
	uint64_t offset, len; /* position and length of the range in the file, in bytes */
	bool writes;
	rn_iova addr;
	void *map; /* the mapping; NULL: the memory is not mapped here */
	size_t map_len;
};

/* Checks the arguments like the kernel, and as ibv_reg_mr(3) specifies. */
static int check_window(const struct window *w, uint64_t iova, uint32_t access)
{
	const uint32_t known = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			       RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC |
			       RN_ACCESS_RELAXED_ORDERING;
	const uint64_t in_page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;

	/* Programs pass -1 to ask whether dma-bufs of real GPUs can be registered. They
	 * can if the CUDA driver is in the process: EBADF says so, and EOPNOTSUPP that
	 * they cannot.
	 */
	if (w->fd < 0)
		return rn_cuda_is_used() ? -EBADF : -EOPNOTSUPP;
	if (access & ~known || (iova & in_page) != (w->offset & in_page))
		return -EINVAL;
	if (w->len == 0 || w->offset + w->len < w->offset)
		return -EINVAL;
	return rnp_access_check(access);
}

/* Returns the size of the file @fd in bytes, or a negative number. A dma-buf tells its
 * size by lseek() only; lseek() is not used for a regular file, as that would move the
 * file position, which the program uses.
 */
static int64_t size_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && st.st_size ? st.st_size : lseek(fd, 0, SEEK_END);
}

static int check_size(const struct window *w)
{
	int64_t size = size_of(w->fd);

	if (size < 0)
		/* @fd is a pipe, a socket or the like, which has no size */
		return size == -EBADF ? -EBADF : -EINVAL;
	return w->offset + w->len > (uint64_t)size ? -EINVAL : 0;
}

static int map_window(struct window *w)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t before = w->offset % page;
	int prot = w->writes ? PROT_READ | PROT_WRITE : PROT_READ;

	w->map_len = before + w->len;
	w->map = mmap(NULL, w->map_len, prot, MAP_SHARED, w->fd,
		      (off_t)(w->offset - before));
	if (w->map == MAP_FAILED) {
		w->map = NULL;
		return errno == ENODEV ? -EOPNOTSUPP : -errno;
	}
	w->addr = (uintptr_t)w->map + before;
	return 0;
}

/* Is the descriptor that of a dma-buf, by the name that the kernel gives to it? */
static bool is_dmabuf(int fd)
{
	char proc[32], name[64];
	ssize_t n;

	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	n = readlink(proc, name, sizeof(name) - 1);
	if (n < 0)
		return false;
	name[n] = '\0';
	return strstr(name, "dmabuf:") != NULL;
}

static int locate_window(struct rnp_context *ctx, struct window *w, uint64_t iova)
{
	int on_gpu = 0, rc = rnp_pcie_dmabuf(w->fd, w->offset, w->len, &w->addr);

	if (rc != -ENOENT)
		return rc;
	rc = check_size(w);
	if (rc)
		return rc;
	/* Some drivers let their dma-bufs be mapped, into the window of the bus. */
	if (is_dmabuf(w->fd))
		on_gpu = rnp_mr_join_gpu(ctx, iova, w->len, &w->addr);
	if (on_gpu)
		return on_gpu < 0 ? on_gpu : 0;
	rc = map_window(w);
	if (!rc)
		return 0;
	on_gpu = rnp_mr_join_gpu(ctx, iova, w->len, &w->addr);
	if (on_gpu < 0)
		return on_gpu;
	return on_gpu ? 0 : rc;
}

static struct rnp_mr *register_window(struct ibv_pd *pd, struct window *w, uint64_t iova,
				      uint32_t access, int *rc)
{
	struct rn_mr_attr attr = {
		.va = iova,
		.length = w->len,
		.access = access,
	};
	struct rnp_context *ctx = to_rnp_context(pd->context);
	struct rnp_mr *mr;

	*rc = check_window(w, iova, access);
	if (!*rc)
		*rc = locate_window(ctx, w, iova);
	if (*rc)
		return NULL;
	attr.iova_base = w->addr;
	mr = rnp_mr_register(pd, &attr, RNP_ABI_DMABUF_MR, NULL, rc);
	if (mr) {
		mr->map = w->map;
		mr->map_len = w->map_len;
	} else {
		rnp_mr_leave_gpu(ctx, w->addr);
		if (w->map)
			munmap(w->map, w->map_len);
	}
	return mr;
}

// NOLINTNEXTLINE(readability-function-size): as the library calls it
struct ibv_mr *rnp_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				 uint64_t iova, int fd, int access)
{
	struct window w = {
		.fd = fd,
		.offset = offset,
		.len = length,
		.writes = rnp_access_writes((uint32_t)access),
	};
	struct rnp_mr *mr = NULL;
	int rc = -EIO;

	if (!rnp_is_fork_child(to_rnp_context(pd->context)))
		mr = register_window(pd, &w, iova, (uint32_t)access, &rc);
	if (!mr)
		errno = -rc;
	return mr ? &mr->base.ibv_mr : NULL;
}
