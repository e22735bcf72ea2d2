/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr_dmabuf.c - memory regions of memory that a descriptor stands for.
 *
 * Memory of a simulated GPU is where the PCIe layer says. Whatever else can be mapped (a
 * memfd, a dma-buf whose exporter allows it) is mapped as long as the region lives.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mr_access.h"
#include "provider.h"

/* What is registered of a descriptor, and where it came to lie. */
struct window {
	int fd;
	uint64_t offset, len; /* bytes */
	bool writes;
	rn_iova addr;
	void *map; /* NULL: not ours to unmap */
	size_t map_len;
};

/* As the verb's manual page and the kernel have it. */
static int judge(const struct window *w, uint64_t iova, uint32_t access)
{
	const uint32_t known = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			       RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC |
			       RN_ACCESS_RELAXED_ORDERING;
	const uint64_t in_page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;

	/* Programs ask like this whether dma-bufs of real GPUs can be registered. */
	if (w->fd < 0)
		return -EOPNOTSUPP;
	if (access & ~known || (iova & in_page) != (w->offset & in_page))
		return -EINVAL;
	if (w->len == 0 || w->offset + w->len < w->offset)
		return -EINVAL;
	return rnp_access_check(access);
}

/* A dma-buf says its size to lseek() only; a file would lose its position by that. */
static int64_t size_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && st.st_size ? st.st_size : lseek(fd, 0, SEEK_END);
}

static int map(struct window *w)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t before = w->offset % page;
	int prot = w->writes ? PROT_READ | PROT_WRITE : PROT_READ;
	int64_t size = size_of(w->fd);

	if (size < 0)
		return size == -EBADF ? -EBADF : -EINVAL; /* a pipe, a socket ... */
	if (w->offset + w->len > (uint64_t)size)
		return -EINVAL;
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

static int locate(struct window *w)
{
	int rc = rnp_pcie_dmabuf(w->fd, w->offset, w->len, &w->addr);

	return rc == -ENOENT ? map(w) : rc;
}

static struct rnp_mr *reg(struct ibv_pd *pd, struct window *w, uint64_t iova,
			  uint32_t access, int *rc)
{
	struct rn_mr_attr attr = {
		.pd = to_rnp_pd(pd)->number,
		.va = iova,
		.length = w->len,
		.access = access,
	};
	struct rnp_mr *mr;

	*rc = judge(w, iova, access);
	if (!*rc)
		*rc = locate(w);
	if (*rc)
		return NULL;
	attr.iova_base = w->addr;
	mr = rnp_mr_register(pd, &attr, RNP_ABI_DMABUF_MR, NULL, rc);
	if (mr) {
		mr->map = w->map;
		mr->map_len = w->map_len;
	} else if (w->map) {
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

	if (!rnp_is_copy(to_rnp_context(pd->context)))
		mr = reg(pd, &w, iova, (uint32_t)access, &rc);
	if (!mr)
		errno = -rc;
	return mr ? &mr->base.ibv_mr : NULL;
}
