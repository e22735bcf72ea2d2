/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_ioctl.c - somebody must answer what libibverbs asks the kernel. */
#include "cmd_ioctl.h"

#include <errno.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "event_pipe.h"
#include "got.h"
#include "transport/io/host/sentence.h"

typedef int (*ioctl_fn)(int fd, unsigned long request, ...);

static pthread_mutex_t patch_lock = PTHREAD_MUTEX_INITIALIZER; /* guards: the slot */
static ioctl_fn next_ioctl; /* what the slot held; set before the slot is */

/* ------------------------------------------------------------------- our own answers */
/* Our devices are /dev/null under another name. */
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

/* A write() command in an ioctl: the probe, which the kernel finds too short, or a
 * completion channel. Everything else goes to the provider, not to the kernel.
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

/* Sent by ibv_import_device(). */
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
	return -EPROTONOSUPPORT; /* libibverbs reads sysfs instead */
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

/* ----------------------------------------------------------------------------- check */
/* The question that libibverbs asks first; the answer "too short" means yes. */
static bool is_answered(ioctl_fn ask, int cmd_fd)
{
	union {
		struct ib_uverbs_ioctl_hdr hdr; /* its attributes follow */
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

static ioctl_fn load(void **slot)
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

	if (load(slot) == own)
		return 0;
	next_ioctl = load(slot);
	memcpy(&fn, &own, sizeof(fn));
	return rnp_got_set(verbs, slot, fn);
}

int rnp_cmd_ensure(void *verbs, int cmd_fd, char *err, size_t err_len)
{
	void **slot = rnp_got_find(verbs, "ioctl");
	int rc;

	if (is_answered(slot ? load(slot) : ioctl, cmd_fd))
		return 0;
	if (slot && is_ours(cmd_fd)) {
		pthread_mutex_lock(&patch_lock);
		rc = redirect_locked(verbs, slot);
		pthread_mutex_unlock(&patch_lock);
		if (rc == 0 && is_answered(load(slot), cmd_fd))
			return 0;
	}
	return rn_fail(
		err, err_len, -ENOSYS,
		"nobody answers what libibverbs asks the kernel about this device: "
		"start the program with `rocin run`");
}
