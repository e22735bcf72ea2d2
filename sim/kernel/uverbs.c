/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uverbs.c - answers the ioctl requests that libibverbs sends to a uverbs device, and
 * opens the descriptors that two of these requests return.
 */
#include "uverbs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "redirect.h"
#include "transport/io/host/own_fd.h"

/* Device number of /dev/null, Documentation/admin-guide/devices.txt */
enum {
	NULL_MAJOR = 1,
	NULL_MINOR = 3
};

bool rnk_is_uverbs_request(int fd, unsigned long request)
{
	int saved_errno = errno;
	struct stat st;
	bool is_null;

	/* Only the low 32 bits of a request matter; some callers sign-extend them. */
	if ((uint32_t)request != (uint32_t)RDMA_VERBS_IOCTL)
		return false;
	is_null = fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
		  st.st_rdev == makedev(NULL_MAJOR, NULL_MINOR);
	errno = saved_errno;
	return is_null;
}

/* --------------------------------------------------------- descriptors for events */
/* Opens @path by libc's functions, not by bare system calls, because ThreadSanitizer
 * tracks descriptors by these functions. It would report races in the program if it did
 * not see that a descriptor was opened or closed.
 */
static int reopen(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_by_proc(const char *proc_fd_dir)
{
	char path[PATH_MAX];
	int pair[2];
	int fd;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "%s/%d", proc_fd_dir, pair[0]);
	fd = reopen(path);
	close(pair[0]);
	close(pair[1]);
	return fd;
}

/* Creates a FIFO under a random name and opens it. A name made of process and thread
 * numbers would not be unique, because several pid namespaces may use one directory.
 */
static int open_by_fifo(const char *fifo_dir)
{
	char path[PATH_MAX];
	uint64_t nonce;
	int fd;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return -EIO;
	(void)snprintf(path, sizeof(path), "%s/.event-%016" PRIx64, fifo_dir, nonce);
	if (mkfifo(path, 0600) < 0)
		return -errno;
	fd = reopen(path);
	unlink(path);
	return fd;
}

static int open_event_fd(const char *proc_fd_dir, const char *fifo_dir)
{
	int fd = open_by_proc(proc_fd_dir);

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return fd;
	/* /proc may be missing, or this process may not use it because it is not
	 * dumpable. Then the descriptor is opened by means of a FIFO.
	 */
	if (fd < 0 && fifo_dir)
		fd = open_by_fifo(fifo_dir);
	return fd < 0 ? fd : rn_fd_raise(fd);
}

/* Opens a descriptor for events, with cancellation disabled. The program calls ioctl(),
 * which is no cancellation point, but open() and close() are. A thread that was cancelled
 * here, in ibv_create_comp_channel(), would leak the channel.
 */
int rnk_event_fd_open(const char *proc_fd_dir, const char *fifo_dir)
{
	int cancel_state;
	int fd;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	fd = open_event_fd(proc_fd_dir, fifo_dir);
	pthread_setcancelstate(cancel_state, NULL);
	return fd;
}

/* ------------------------------------------------------------ answers to requests */
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

/* Answers a command of the old write() interface that was sent by an ioctl. libibverbs
 * sends a command without request and response to find out whether the kernel has the
 * ioctl interface. The error that a kernel returns for it (the command is too short)
 * shows that it has. This function returns the same error.
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

/* Answers UVERBS_METHOD_ASYNC_EVENT_ALLOC. libibverbs sends it in ibv_import_device(),
 * and for a device whose provider has not set async_fd.
 */
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

/* The methods that this file answers. QUERY_GID_TABLE and QUERY_GID_ENTRY are left out on
 * purpose: if they fail, libibverbs reads the GIDs of the device from sysfs, which is
 * simulated.
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
