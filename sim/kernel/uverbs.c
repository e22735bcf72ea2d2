/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uverbs.c - answers the ioctl requests that libibverbs sends to a uverbs device. */
#include "uverbs.h"

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "event_fd.h"
#include "redirect.h"

/* /dev/null, Documentation/admin-guide/devices.txt */
enum {
	NULL_MAJOR = 1,
	NULL_MINOR = 3
};

bool rnk_is_uverbs_request(int fd, unsigned long request)
{
	int saved_errno = errno;
	struct stat st;
	bool is_null;

	/* Only 32 bits of a request count; some callers sign-extend it. */
	if ((uint32_t)request != (uint32_t)RDMA_VERBS_IOCTL)
		return false;
	is_null = fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
		  st.st_rdev == makedev(NULL_MAJOR, NULL_MINOR);
	errno = saved_errno;
	return is_null;
}

static struct ib_uverbs_attr *find_attr(struct ib_uverbs_ioctl_hdr *hdr, unsigned id)
{
	for (unsigned i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	return NULL;
}

static int new_event_fd(void)
{
	return rnk_event_fd_open("/proc/self/fd", rnk_tree());
}

static int create_comp_channel(struct ib_uverbs_attr *out)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	int fd;

	if (!out || out->len < sizeof(resp))
		return -ENOSPC;
	fd = new_event_fd();
	if (fd < 0)
		return fd;
	resp.fd = (uint32_t)fd;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the ABI carries pointers as u64 */
	memcpy((void *)(uintptr_t)out->data, &resp, sizeof(resp));
	out->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	return 0;
}

/* A command of the old write() interface, wrapped. libibverbs probes for the ioctl
 * interface with a command that has neither request nor response; the kernel finds it
 * too short, and that answer means yes.
 */
static int invoke_write(struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct ib_uverbs_attr *cmd = find_attr(hdr, UVERBS_ATTR_WRITE_CMD);
	struct ib_uverbs_attr *out = find_attr(hdr, UVERBS_ATTR_CORE_OUT);

	if (!cmd)
		return -EINVAL;
	if (!out && !find_attr(hdr, UVERBS_ATTR_CORE_IN))
		return -ENOSPC;
	if (cmd->data == IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL)
		return create_comp_channel(out);
	return -EOPNOTSUPP;
}

/* Sent when the provider left async_fd open, and by ibv_import_device(). */
static int alloc_async_event(struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle =
		find_attr(hdr, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
	int fd;

	if (!handle)
		return -EINVAL;
	fd = new_event_fd();
	if (fd < 0)
		return fd;
	handle->data_s64 = fd;
	handle->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	return 0;
}

/* Not here on purpose: QUERY_GID_TABLE and QUERY_GID_ENTRY. Without them libibverbs reads
 * the GIDs from sysfs, per device, which the tree answers.
 */
static const struct method {
	uint16_t object_id;
	uint16_t method_id;
	int (*answer)(struct ib_uverbs_ioctl_hdr *hdr);
} methods[] = {
	{ UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, invoke_write },
	{ UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, alloc_async_event },
};

int rnk_uverbs_ioctl(void *arg)
{
	struct ib_uverbs_ioctl_hdr *hdr = arg;

	if (!hdr)
		return -EFAULT;
	if (hdr->length != sizeof(*hdr) + hdr->num_attrs * sizeof(hdr->attrs[0]))
		return -EINVAL;
	for (unsigned i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (methods[i].object_id == hdr->object_id &&
		    methods[i].method_id == hdr->method_id)
			return methods[i].answer(hdr);
	return -EPROTONOSUPPORT;
}
