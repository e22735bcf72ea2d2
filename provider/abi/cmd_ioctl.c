/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_ioctl.c - answers to the ioctls that libibverbs sends to the kernel. */
#include "driver_abi.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "provider/verbs/object/event.h"
#include "transport/io/host/log.h"

typedef int (*ioctl_fn)(int fd, unsigned long request, ...);

/* held while the GOT slot through which libibverbs calls ioctl() is changed */
static pthread_mutex_t patch_lock = PTHREAD_MUTEX_INITIALIZER;
/* the function that the GOT slot pointed to before; set before the slot is changed */
static ioctl_fn next_ioctl;

/* ------------------------------------------------ answers to the ioctls of libibverbs */
/* Is the descriptor a device node of Rocin, which is /dev/null under another name? */
static bool is_ours(int fd)
{
	int saved_errno = errno;
	struct stat st;
	bool ours =
		fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);

	errno = saved_errno;
	return ours;
}

static struct ib_uverbs_attr *find_attr(struct ib_uverbs_ioctl_hdr *hdr, unsigned id)
{
	for (unsigned i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	return NULL;
}

/* Answers a write() command that libibverbs sends inside an ioctl. Two such commands are
 * answered: the creation of a completion channel, and the probe by which libibverbs finds
 * out whether ioctls work, which a kernel refuses as too short. For all other commands
 * libibverbs calls the plugin instead of the kernel.
 */
static int invoke_write(struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *cmd = find_attr(hdr, UVERBS_ATTR_WRITE_CMD);
	struct ib_uverbs_attr *out = find_attr(hdr, UVERBS_ATTR_CORE_OUT);
	struct ib_uverbs_create_comp_channel_resp resp;
	int fd;

	if (!cmd || !out)
		return -ENOSPC;
	if (cmd->data != IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL)
		return -EOPNOTSUPP;
	if (out->len < sizeof(resp))
		return -ENOSPC;
	fd = rnp_event_fd_new();
	if (fd < 0)
		return fd;
	resp.fd = (uint32_t)fd;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the ABI carries pointers as u64 */
	memcpy((void *)(uintptr_t)out->data, &resp, sizeof(resp));
	return 0;
}

/* Answers UVERBS_METHOD_ASYNC_EVENT_ALLOC, which ibv_import_device() sends, with a
 * new pipe.
 */
static int alloc_async_event(struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle =
		find_attr(hdr, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
	int fd = handle ? rnp_event_fd_new() : -EINVAL;

	if (fd < 0)
		return fd;
	handle->data_s64 = fd;
	handle->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	return 0;
}

static int answer(struct ib_uverbs_ioctl_hdr *hdr)
{
	if (hdr->object_id == UVERBS_OBJECT_DEVICE &&
	    hdr->method_id == UVERBS_METHOD_INVOKE_WRITE)
		return invoke_write(hdr);
	if (hdr->object_id == UVERBS_OBJECT_ASYNC_EVENT &&
	    hdr->method_id == UVERBS_METHOD_ASYNC_EVENT_ALLOC)
		return alloc_async_event(hdr);
	return -EPROTONOSUPPORT; /* libibverbs then reads sysfs instead */
}

static int answering_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;
	int rc;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if ((uint32_t)request != (uint32_t)RDMA_VERBS_IOCTL || !arg || !is_ours(fd))
		return next_ioctl(fd, request, arg);
	rc = answer(arg);
	if (rc == 0)
		return 0;
	errno = -rc;
	return -1;
}

/* ------------------------------------------------ the GOT slot of a library function */
#if defined(__x86_64__)
enum {
	JUMP_SLOT = R_X86_64_JUMP_SLOT,
	GLOB_DAT = R_X86_64_GLOB_DAT
};
#elif defined(__aarch64__)
enum {
	JUMP_SLOT = R_AARCH64_JUMP_SLOT,
	GLOB_DAT = R_AARCH64_GLOB_DAT
};
#else
enum {
	JUMP_SLOT = -1,
	GLOB_DAT = -1
};
#endif

/* NOLINTBEGIN(performance-no-int-to-ptr): the ELF tables hold addresses as integers */
struct relocations {
	const ElfW(Rela) * first;
	size_t count;
};

struct dynamic {
	const ElfW(Sym) * symbols;
	const char *strings;
	struct relocations plt, other;
};

/* Reads the dynamic section of a library. glibc has added the load address to the
 * pointers in it.
 */
static struct dynamic read_dynamic(const struct link_map *map)
{
	struct dynamic d = { 0 };

	for (const ElfW(Dyn) *dyn = map->l_ld; dyn->d_tag != DT_NULL; dyn++) {
		const void *ptr = (const void *)dyn->d_un.d_ptr;

		switch (dyn->d_tag) {
		case DT_SYMTAB:
			d.symbols = ptr;
			break;
		case DT_STRTAB:
			d.strings = ptr;
			break;
		case DT_JMPREL:
			d.plt.first = ptr;
			break;
		case DT_PLTRELSZ:
			d.plt.count = dyn->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELA:
			d.other.first = ptr;
			break;
		case DT_RELASZ:
			d.other.count = dyn->d_un.d_val / sizeof(ElfW(Rela));
			break;
		default:
			break;
		}
	}
	return d;
}

static void **find_in(const struct dynamic *d, struct relocations r, ElfW(Addr) base,
		      const char *symbol)
{
	for (size_t i = 0; r.first && i < r.count; i++) {
		const ElfW(Rela) *rela = &r.first[i];
		int type = (int)ELF64_R_TYPE(rela->r_info);
		const ElfW(Sym) *sym = &d->symbols[ELF64_R_SYM(rela->r_info)];

		if ((type == JUMP_SLOT || type == GLOB_DAT) &&
		    !strcmp(d->strings + sym->st_name, symbol))
			return (void **)(base + rela->r_offset);
	}
	return NULL;
}

static const struct link_map *map_of(void *handle)
{
	struct link_map *map = NULL;

	return dlinfo(handle, RTLD_DI_LINKMAP, &map) ? NULL : map;
}

void **rnp_got_find(void *handle, const char *symbol)
{
	const struct link_map *map = map_of(handle);
	struct dynamic d;
	void **slot;

	if (!map)
		return NULL;
	d = read_dynamic(map);
	if (!d.symbols || !d.strings)
		return NULL;
	slot = find_in(&d, d.plt, map->l_addr, symbol);
	return slot ? slot : find_in(&d, d.other, map->l_addr, symbol);
}

struct relro_query {
	ElfW(Addr) base, addr;
	bool inside;
};

static int look_for_relro(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct relro_query *q = arg;

	(void)size;
	if (info->dlpi_addr != q->base)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		ElfW(Addr) start = q->base + p->p_vaddr;

		if (p->p_type == PT_GNU_RELRO && q->addr >= start &&
		    q->addr < start + p->p_memsz)
			q->inside = true;
	}
	return 1;
}

/* Stores @fn in a GOT slot, also a read-only one. Return: 0 or -errno of mprotect(). */
static int set_slot(void *handle, void **slot, void *fn)
{
	const struct link_map *map = map_of(handle);
	uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *page = (void *)((uintptr_t)slot & ~(page_size - 1));
	struct relro_query q = { .addr = (ElfW(Addr))slot };

	if (!map)
		return -EINVAL;
	q.base = map->l_addr;
	dl_iterate_phdr(look_for_relro, &q);
	if (mprotect(page, page_size, PROT_READ | PROT_WRITE))
		return -errno;
	/* The store is atomic, since other threads may be calling through the slot. */
	__atomic_store_n(slot, fn, __ATOMIC_RELEASE);
	if (q.inside)
		mprotect(page, page_size, PROT_READ);
	return 0;
}
/* NOLINTEND(performance-no-int-to-ptr) */

/* -------------------------------------------------- test whether ioctls are answered */
/* Does @ask, an ioctl() function, answer the request by which libibverbs finds out
 * whether ioctls are supported? A kernel answers that request with the error "too short".
 */
static bool is_answered(ioctl_fn ask, int cmd_fd)
{
	union {
		/* the attributes of the request follow the header */
		struct ib_uverbs_ioctl_hdr hdr;
		uint8_t room[sizeof(struct ib_uverbs_ioctl_hdr) +
			     sizeof(struct ib_uverbs_attr)];
	} probe = {
		.hdr = { .length = sizeof(probe),
			 .object_id = UVERBS_OBJECT_DEVICE,
			 .method_id = UVERBS_METHOD_INVOKE_WRITE,
			 .num_attrs = 1 },
	};

	probe.hdr.attrs[0] = (struct ib_uverbs_attr){
		.attr_id = UVERBS_ATTR_WRITE_CMD,
		.len = sizeof(uint64_t),
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = IB_USER_VERBS_CMD_QUERY_DEVICE,
	};
	return ask(cmd_fd, RDMA_VERBS_IOCTL, &probe) < 0 && errno == ENOSPC;
}

static ioctl_fn load_slot(void **slot)
{
	void *fn = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	ioctl_fn typed;

	memcpy(&typed, &fn, sizeof(typed));
	return typed;
}

static int redirect_locked(void *verbs, void **slot)
{
	ioctl_fn own = answering_ioctl;
	void *fn;

	if (load_slot(slot) == own)
		return 0;
	next_ioctl = load_slot(slot);
	memcpy(&fn, &own, sizeof(fn));
	return set_slot(verbs, slot, fn);
}

int rnp_cmd_ensure(void *verbs, int cmd_fd, char *err, size_t err_len)
{
	void **slot = rnp_got_find(verbs, "ioctl");
	int rc;

	if (is_answered(slot ? load_slot(slot) : ioctl, cmd_fd))
		return 0;
	if (slot && is_ours(cmd_fd)) {
		pthread_mutex_lock(&patch_lock);
		rc = redirect_locked(verbs, slot);
		pthread_mutex_unlock(&patch_lock);
		if (rc == 0 && is_answered(load_slot(slot), cmd_fd))
			return 0;
	}
	return rn_fail(
		err, err_len, -ENOSYS,
		"nobody answers what libibverbs asks the kernel about this device: "
		"start the program with `rocin run`");
}
