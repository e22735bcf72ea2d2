/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage.c - opens and closes the storage driver, registers files and buffers;
 * storage_internal.h lists the other files.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage_internal.h"
#include "transport/io/memory/mem_guard.h"

struct rn_storage rn_storage = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local char last_error[256];

struct rn_storage_gpu_bounce {
	struct rn_storage_gpu_bounce *next;
	struct rn_gpu_buffer memory;
	int gpu;
};

void rn_storage_lock(void)
{
	pthread_mutex_lock(&rn_storage.lock);
}

void rn_storage_unlock(void)
{
	pthread_mutex_unlock(&rn_storage.lock);
}

const char *rn_storage_last_error(void)
{
	return last_error;
}

int rn_storage_fail(int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, ap);
	va_end(ap);
	return error;
}

/* ---------------------------------------------- opening and closing of the driver */
static void init_once(void)
{
	pthread_condattr_t attr;

	/* The condition variable uses CLOCK_MONOTONIC, because deadlines are compared
	 * with rn_host_now().
	 */
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&rn_storage.changed, &attr);
	pthread_condattr_destroy(&attr);
	rn_storage.pid = getpid();
}

static int check_process(void)
{
	pthread_once(&once, init_once);
	return rn_storage.pid == getpid()
		       ? 0
		       : rn_storage_fail(-ENODEV, "storage does not outlive fork()");
}

static int set_policy(const char *policy)
{
	struct rn_storage_policy p;
	int err = rn_storage_policy_parse(&p, policy ? policy : RN_STORAGE_POLICY_DEFAULT,
					  last_error, sizeof(last_error));

	if (err)
		return err;
	rn_storage_lock();
	rn_storage.policy = p;
	rn_storage_unlock();
	return 0;
}

static int set_near(const char *near)
{
	struct rn_storage_near n;
	int err = rn_storage_near_parse(&n, near ? near : "", last_error,
					sizeof(last_error));

	if (err)
		return err;
	rn_storage_lock();
	rn_storage.near = n;
	rn_storage_unlock();
	return 0;
}

static int set_nvlinks(const char *links)
{
	struct rn_storage_nvlinks l;
	int err = rn_storage_nvlinks_parse(&l, links ? links : "", last_error,
					   sizeof(last_error));

	if (err)
		return err;
	rn_storage_lock();
	rn_storage.nvlinks = l;
	rn_storage_unlock();
	return 0;
}

static int open_driver(bool is_implicit)
{
	struct rn_host *host;
	bool is_first;
	int err = check_process();

	if (err)
		return err;
	host = rn_host_get();
	if (!host)
		return rn_storage_fail(-ENOMEM, "no memory for the PCIe hierarchy");
	rn_storage_lock();
	is_first = rn_storage.opens == 0;
	rn_storage_unlock();
	if (is_first) {
		err = set_policy(getenv("ROCIN_STORAGE_POLICY"));
		if (!err)
			err = set_near(getenv("ROCIN_STORAGE_NEAR"));
		if (!err)
			err = set_nvlinks(getenv("ROCIN_STORAGE_NVLINK"));
		if (err)
			return err;
	}
	rn_storage_lock();
	rn_storage.host = host;
	if (rn_storage.opens == 0) {
		memset(rn_storage.taken, 0, sizeof(rn_storage.taken));
		rn_storage.faults = 0;
		rn_storage.is_implicit = is_implicit;
		rn_storage.opens = 1;
	} else if (!is_implicit && rn_storage.is_implicit) {
		rn_storage.is_implicit = false;
	} else if (!is_implicit) {
		rn_storage.opens++;
	}
	rn_storage_unlock();
	return 0;
}

int rn_storage_driver_open(void)
{
	int err = check_process();

	return err ? err : open_driver(false);
}

int rn_storage_need(void)
{
	bool is_open;
	int err = check_process();

	if (err)
		return err;
	rn_storage_lock();
	is_open = rn_storage.opens > 0;
	rn_storage_unlock();
	return is_open ? 0 : open_driver(true);
}

int rn_storage_set_policy(const char *policy)
{
	int err = rn_storage_need();

	return err ? err : set_policy(policy);
}

int rn_storage_set_near(const char *near)
{
	int err = rn_storage_need();

	return err ? err : set_near(near);
}

int rn_storage_set_nvlinks(const char *links)
{
	int err = rn_storage_need();

	return err ? err : set_nvlinks(links);
}

int rn_storage_object_add(void)
{
	int err = rn_storage_need();

	if (err)
		return err;
	rn_storage_lock();
	rn_storage.objects++;
	rn_storage_unlock();
	return 0;
}

void rn_storage_object_remove(void)
{
	rn_storage_lock();
	assert(rn_storage.objects > 0);
	rn_storage.objects--;
	rn_storage_unlock();
}

int rn_storage_driver_close(void)
{
	struct rn_storage_gpu_bounce *bounces;
	int err = check_process();

	if (err)
		return err;
	rn_storage_lock();
	if (rn_storage.opens == 0)
		err = rn_storage_fail(-EINVAL, "the driver is not open");
	else if (rn_storage.opens == 1 && rn_storage.objects > 0)
		err = rn_storage_fail(-EBUSY,
				      "%u files, buffers, batches or streams left",
				      rn_storage.objects);
	if (err || --rn_storage.opens > 0) {
		rn_storage_unlock();
		return err;
	}
	bounces = rn_storage.bounces;
	rn_storage.bounces = NULL;
	rn_drive_stop_all(); /* releases the storage lock */
	while (bounces) {
		struct rn_storage_gpu_bounce *b = bounces;

		bounces = b->next;
		rn_gpu_free(b->memory.bar);
		free(b);
	}
	return 0;
}

int rn_storage_driver_properties(struct rn_storage_properties *p)
{
	bool is_ordered;
	int err = rn_storage_need();

	if (err)
		return err;
	rn_host_lock(rn_storage.host);
	is_ordered = rn_host_is_off(rn_storage.host);
	rn_host_unlock(rn_storage.host);
	rn_storage_lock();
	*p = (struct rn_storage_properties){
		.drives = RN_NVME_MAX,
		.alignment = RN_STORAGE_ALIGNMENT,
		.direct_bytes_max = RN_DRIVE_COMMAND_MAX,
		.bounce_bytes = RN_STORAGE_BOUNCE,
		.batch_max = RN_STORAGE_BATCH_MAX,
		.is_ordered = is_ordered,
		.direct = rn_storage.taken[RN_STORAGE_DIRECT],
		.gpu = rn_storage.taken[RN_STORAGE_GPU],
		.host = rn_storage.taken[RN_STORAGE_HOST],
		.p2p = rn_storage.taken[RN_STORAGE_P2P],
		.nvlink = rn_storage.taken[RN_STORAGE_NVLINK],
		.faults = rn_storage.faults,
	};
	rn_storage_policy_format(&rn_storage.policy, p->policy, sizeof(p->policy));
	rn_storage_unlock();
	return 0;
}

void rn_storage_settle(void)
{
	if (!rn_storage_need())
		rn_storage_settle_range(0, UINT64_MAX);
}

int rn_storage_settle_memory(const void *ptr, size_t len)
{
	struct rn_storage_place place;
	int err = rn_storage_need();

	if (!err)
		err = rn_storage_place_of((uintptr_t)ptr, &place);
	if (!err)
		rn_storage_settle_range(place.addr, len);
	return err;
}

/* -------------------------------------------------------------- registered files */
/* Opens the file of @fd again, without O_DIRECT. Returns the new descriptor; @fd itself
 * if it does not have that flag; or -errno.
 */
static int open_plain(int fd)
{
	char path[64];
	int flags = fcntl(fd, F_GETFL);
	int plain;

	if (flags < 0)
		return -errno;
	if (!(flags & O_DIRECT))
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	plain = open(path, (flags & O_ACCMODE) | O_CLOEXEC);
	return plain < 0 ? -errno : plain;
}

/* Returns the drive on which the file of a descriptor is, by its path. */
static unsigned drive_of(int fd)
{
	const char *paths = getenv("ROCIN_STORAGE_PATHS");
	char link[64], path[4096];
	ssize_t n;

	if (!paths)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return rn_storage_drive_of(paths, path);
}

int rn_storage_handle_register(struct rn_storage_file **file, int fd)
{
	struct rn_storage_file *f;
	struct stat st;
	int err = rn_storage_object_add();

	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (!f) {
		err = rn_storage_fail(-ENOMEM, "no memory for a file");
		goto err_object;
	}
	if (fstat(fd, &st)) {
		err = rn_storage_fail(-errno, "descriptor %d: %s", fd, strerror(errno));
		goto err_free;
	}
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)) {
		err = rn_storage_fail(
			-EINVAL, "descriptor %d is no regular file or block device", fd);
		goto err_free;
	}
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (f->fd < 0) {
		err = rn_storage_fail(-errno, "descriptor %d: %s", fd, strerror(errno));
		goto err_free;
	}
	f->plain_fd = open_plain(f->fd);
	if (f->plain_fd < 0)
		/* No descriptor without O_DIRECT could be opened, so unaligned accesses
		 * will fail with EINVAL.
		 */
		f->plain_fd = f->fd;
	f->drive = drive_of(f->fd);
	*file = f;
	return 0;

err_free:
	free(f);
err_object:
	rn_storage_object_remove();
	return err;
}

int rn_storage_handle_register_remote(struct rn_storage_file **file,
				      const struct rn_storage_remote *ops, void *ctx)
{
	struct rn_storage_file *f;
	int err = rn_storage_object_add();

	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (!f) {
		rn_storage_object_remove();
		return rn_storage_fail(-ENOMEM, "no memory for a file");
	}
	f->fd = -1;
	f->plain_fd = -1;
	f->remote = ops;
	f->remote_ctx = ctx;
	/* Waiting for another machine must not hold up the local drives before it. */
	f->drive = RN_NVME_MAX - 1;
	*file = f;
	return 0;
}

static bool is_file_idle(const void *arg)
{
	const struct rn_storage_file *f = arg;

	return f->active == 0;
}

void rn_storage_handle_deregister(struct rn_storage_file *f)
{
	if (!f || check_process())
		return;
	rn_storage_wait(is_file_idle, f, 0);
	if (f->plain_fd != f->fd)
		close(f->plain_fd);
	if (f->remote)
		f->remote->close(f->remote_ctx);
	else
		close(f->fd);
	free(f);
	rn_storage_object_remove();
}

int rn_storage_handle_set_drive(struct rn_storage_file *f, unsigned drive)
{
	if (drive >= RN_NVME_MAX)
		return rn_storage_fail(-EINVAL, "there is no drive %u, the last is %d",
				       drive, RN_NVME_MAX - 1);
	rn_storage_lock();
	f->drive = drive;
	rn_storage_unlock();
	return 0;
}

int rn_storage_handle_set_policy(struct rn_storage_file *f, const char *policy)
{
	struct rn_storage_policy p = { .count = 0 };
	int err = policy ? rn_storage_policy_parse(&p, policy, last_error,
						   sizeof(last_error))
			 : 0;

	if (err)
		return err;
	rn_storage_lock();
	f->policy = p;
	rn_storage_unlock();
	return 0;
}

/* ------------------------------------------------------------ registered buffers */
/* Checks that [base, base + len) is entirely in host memory, or entirely in the memory of
 * one GPU, and that both ends can be read. Fills in @place. Returns 0 or -errno.
 */
static int check_memory(uintptr_t base, size_t len, struct rn_storage_place *place)
{
	struct rn_storage_place last;
	uint8_t byte;
	bool faulted;
	int err = rn_storage_place_of(base, place);

	rn_guard_install();
	if (!err)
		err = rn_storage_place_of(base + len - 1, &last);
	if (err || last.gpu != place->gpu || last.addr - place->addr != len - 1)
		return rn_storage_fail(-EFAULT, "not memory of one kind");
	if (place->is_beyond_bar)
		return rn_storage_fail(-ENOMEM, "peers cannot reach this memory of gpu%d",
				       place->gpu);
	rn_host_lock(rn_storage.host);
	faulted = rn_host_load(rn_storage.host, &byte, place->addr, 1) != RN_MEM_DONE ||
		  rn_host_load(rn_storage.host, &byte, last.addr, 1) != RN_MEM_DONE;
	rn_host_unlock(rn_storage.host);
	return faulted ? rn_storage_fail(-EFAULT, "memory that cannot be read") : 0;
}

int rn_storage_buffer_register(void *base, size_t len)
{
	struct rn_storage_place place = { 0 };
	uintptr_t at = (uintptr_t)base;
	struct rn_storage_buffer *b, *other;
	int err = rn_storage_object_add();

	if (err)
		return err;
	if (len == 0 || at + len < at)
		err = rn_storage_fail(-EINVAL, "no bytes, or too many");
	else
		err = check_memory(at, len, &place);
	if (err)
		goto err_object;
	b = malloc(sizeof(*b));
	if (!b) {
		err = rn_storage_fail(-ENOMEM, "no memory for a buffer");
		goto err_object;
	}
	*b = (struct rn_storage_buffer){
		.base = at, .len = len, .addr = place.addr, .gpu = place.gpu
	};
	rn_storage_lock();
	for (other = rn_storage.buffers; other; other = other->next)
		if (place.addr - other->addr < other->len ||
		    other->addr - place.addr < len)
			break;
	if (!other) {
		b->next = rn_storage.buffers;
		rn_storage.buffers = b;
	}
	rn_storage_unlock();
	if (!other)
		return 0;
	err = rn_storage_fail(-EEXIST, "overlaps a registered buffer");
	free(b);
err_object:
	rn_storage_object_remove();
	return err;
}

int rn_storage_buffer_deregister(void *base)
{
	struct rn_storage_buffer **at, *b;
	struct rn_storage_place place;
	int err = check_process();

	if (err)
		return err;
	/* The memory may have been freed since it was registered. Then the buffer is
	 * found by the address that the program registered.
	 */
	if (rn_storage_place_of((uintptr_t)base, &place))
		place.addr = (uintptr_t)base;
	rn_storage_lock();
	for (at = &rn_storage.buffers; *at; at = &(*at)->next)
		if ((*at)->addr == place.addr || (*at)->base == (uintptr_t)base)
			break;
	b = *at;
	if (!b)
		err = rn_storage_fail(-ENOENT, "no registered buffer begins there");
	else if (b->active > 0)
		err = rn_storage_fail(-EBUSY, "%u transfers are under way", b->active);
	else
		*at = b->next;
	rn_storage_unlock();
	if (err || !b)
		return err;
	rn_storage_settle_range(b->addr, b->len);
	free(b);
	rn_storage_object_remove();
	return 0;
}

/* ----------------------------------------------------- bounce buffers in GPUs */
struct rn_storage_gpu_bounce *rn_storage_gpu_bounce_get(int gpu, uint64_t *addr)
{
	struct rn_storage_gpu_bounce **at, *b;
	struct rn_gpu *g;

	rn_storage_lock();
	for (at = &rn_storage.bounces; *at && (*at)->gpu != gpu;)
		at = &(*at)->next;
	b = *at;
	if (b)
		*at = b->next;
	rn_storage_unlock();
	if (!b) {
		g = rn_gpu_open(gpu);
		b = g ? calloc(1, sizeof(*b)) : NULL;
		if (!b)
			return NULL;
		b->gpu = gpu;
		if (rn_gpu_alloc(g, RN_STORAGE_BOUNCE, 0, &b->memory)) {
			free(b);
			return NULL;
		}
	}
	*addr = (uintptr_t)b->memory.bar;
	return b;
}

void rn_storage_gpu_bounce_put(struct rn_storage_gpu_bounce *b)
{
	rn_storage_lock();
	b->next = rn_storage.bounces;
	rn_storage.bounces = b;
	rn_storage_unlock();
}

/* ----------------------------------------------------- memory of an address */
int rn_storage_place_of(uintptr_t base, struct rn_storage_place *place)
{
	struct rn_gpu_where where;
	const void *ptr = (const void *)base; /* NOLINT(performance-no-int-to-ptr) */
	int err = rn_gpu_find(ptr, &where);

	if (err == -EFAULT)
		return err;
	if (err) {
		*place = (struct rn_storage_place){ .addr = base, .gpu = -1 };
		return 0;
	}
	*place = (struct rn_storage_place){
		.addr = (uintptr_t)(where.buffer.bar ? where.buffer.bar
						     : where.buffer.dev) +
			where.offset,
		.gpu = rn_gpu_number(where.gpu),
		.is_beyond_bar = !where.buffer.bar,
	};
	return 0;
}

struct rn_storage_buffer *rn_storage_buffer_of(uint64_t addr)
{
	struct rn_storage_buffer *b = rn_storage.buffers;

	while (b && addr - b->addr >= b->len)
		b = b->next;
	return b;
}
