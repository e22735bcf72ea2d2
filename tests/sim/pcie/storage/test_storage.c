/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_storage.c - files, buffers, reads and writes, by every way and in every mode. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/pcie/host/host.h"
#include "sim/pcie/storage/storage_internal.h"
#include "storage_kit.h"

static const char *const modes[] = {
	"strict",
	"ibta",
	"typical",
	"typical,gpu.ordering=none",
	"typical,rc.p2p=split",
	"typical,rc.p2p=deny",
	"typical,gpu.link=c2c",
	"adversarial",
};

static const char *const policies[] = { NULL, "host,p2p", "gpu,host", "direct,p2p,host" };

static struct rn_gpu_buffer gpu_memory(int gpu, size_t len)
{
	struct rn_gpu_buffer b;

	if (rn_gpu_alloc(rn_gpu_open(gpu), len, 0, &b))
		fail_msg("%s", rn_gpu_last_error());
	return b;
}

/* What a kernel launched now sees of a buffer. */
struct look {
	const void *dev;
	uint8_t *out;
	size_t len;
};

static void look_kernel(void *arg)
{
	struct look *l = arg;

	for (size_t i = 0; i < l->len; i += 8) {
		uint64_t word = rn_gpu_load((const char *)l->dev + i, 8);

		memcpy(l->out + i, &word, 8);
	}
}

static void look(const struct rn_gpu_buffer *b, uint8_t *out, size_t len)
{
	struct look l = { b->dev, out, len };

	rn_storage_settle();
	assert_true(rn_gpu_launch(b->gpu, look_kernel, &l) > 0);
	assert_int_equal(rn_gpu_synchronize(b->gpu), 0);
}

/* ----------------------------------------------------------------- every way */
static void read_and_write_back(const struct rn_gpu_buffer *b, bool by_dev)
{
	const size_t len = 16 * KIT_PAGE;
	static uint8_t seen[16 * KIT_PAGE];
	struct rn_storage_file *from = kit_file(1), *to = kit_file(2);
	void *base = by_dev ? b->dev : b->bar;

	assert_int_equal(rn_storage_buffer_register(base, b->len), 0);
	assert_int_equal(rn_storage_read(from, base, len, 3 * KIT_PAGE, 2 * KIT_PAGE),
			 len);
	assert_int_equal(rn_storage_write(to, base, len, 5 * KIT_PAGE, 2 * KIT_PAGE),
			 len);
	look(b, seen, sizeof(seen));
	assert_int_equal(kit_wrong(seen + 2 * KIT_PAGE, sizeof(seen) - 2 * KIT_PAGE, 1,
				   3 * KIT_PAGE),
			 -1);
	/* Back from the file, into host memory that nobody registered. */
	assert_int_equal(rn_storage_read(to, seen, len, 5 * KIT_PAGE, 0), len);
	assert_int_equal(kit_wrong(seen, len, 1, 3 * KIT_PAGE), -1);
	assert_int_equal(rn_storage_buffer_deregister(base), 0);
	rn_storage_handle_deregister(from);
	rn_storage_handle_deregister(to);
}

static void bytes_arrive_by_every_way(void **state)
{
	(void)state;
	for (unsigned m = 0; m < RN_ARRAY_SIZE(modes); m++) {
		kit_host_knobs(modes[m]);
		for (unsigned p = 0; p < RN_ARRAY_SIZE(policies); p++) {
			struct rn_gpu_buffer b = gpu_memory(0, 20 * KIT_PAGE);

			assert_int_equal(rn_storage_set_near("nvme0=gpu1"), 0);
			assert_int_equal(rn_storage_driver_open(), 0);
			assert_int_equal(rn_storage_set_policy(policies[p]), 0);
			if (p == 3)
				assert_int_equal(rn_storage_set_near(NULL), 0);
			read_and_write_back(&b, p % 2 != 0);
			assert_int_equal(rn_gpu_free(b.bar), 0);
			kit_close();
		}
	}
}

static void ways_are_counted_and_told(void **state)
{
	struct rn_storage_file *file = kit_file(1);
	struct rn_gpu_buffer b = gpu_memory(0, 4 * KIT_PAGE);
	struct rn_storage_properties p;
	struct rn_storage_route route;

	(void)state;
	kit_host_knobs("typical,rc.p2p=split");
	assert_int_equal(rn_storage_buffer_register(b.bar, b.len), 0);
	assert_int_equal(rn_storage_set_near("nvme0=gpu2,nvme1=gpu0"), 0);
	assert_int_equal(rn_storage_plan(file, b.bar, KIT_PAGE, 0, 0, &route), 0);
	assert_int_equal(route.way, RN_STORAGE_GPU);
	assert_int_equal(route.via_gpu, 2);
	assert_int_equal(rn_storage_read(file, b.bar, KIT_PAGE, 0, 0), KIT_PAGE);

	assert_int_equal(rn_storage_handle_set_drive(file, 3), -EINVAL);
	assert_int_equal(rn_storage_handle_set_drive(file, 1), 0);
	assert_int_equal(rn_storage_plan(file, b.dev, KIT_PAGE, 0, 0, &route), 0);
	assert_int_equal(route.way, RN_STORAGE_DIRECT); /* the same memory */
	assert_int_equal(rn_storage_buffer_register(b.dev, KIT_PAGE), -EEXIST);
	assert_int_equal(rn_storage_plan(file, b.bar, KIT_PAGE, 0, 0, &route), 0);
	assert_int_equal(route.way, RN_STORAGE_DIRECT);
	assert_int_equal(rn_storage_read(file, b.bar, KIT_PAGE, 0, 0), KIT_PAGE);
	assert_int_equal(rn_storage_read(file, b.bar, 100, 0, 0), 100);

	assert_int_equal(rn_storage_driver_properties(&p), 0);
	assert_int_equal(p.gpu, 1);
	assert_int_equal(p.direct, 1);
	assert_int_equal(p.host, 1);
	assert_int_equal(p.p2p, 0);
	assert_string_equal(p.policy, "direct,gpu,host");
	assert_false(p.is_ordered);
	assert_int_equal(rn_storage_driver_close(), -EBUSY);
	assert_int_equal(rn_storage_buffer_deregister(b.dev), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	rn_storage_handle_deregister(file);
	kit_close();
}

static void memory_beyond_the_bar_goes_through_the_host(void **state)
{
	struct rn_storage_file *file = kit_file(4);
	struct rn_storage_route route;
	struct rn_gpu_buffer b;
	uint8_t seen[KIT_PAGE];

	(void)state;
	kit_host_knobs("typical");
	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), KIT_PAGE, RN_GPU_DEVICE_ONLY, &b),
			 0);
	assert_int_equal(rn_storage_buffer_register(b.dev, b.len), -ENOMEM);
	assert_non_null(strstr(rn_storage_last_error(), "gpu0"));
	assert_int_equal(rn_storage_plan(file, b.dev, KIT_PAGE, 0, 0, &route), 0);
	assert_int_equal(route.way, RN_STORAGE_HOST);
	assert_int_equal(route.gpu, 0);
	assert_int_equal(rn_storage_read(file, b.dev, KIT_PAGE, KIT_PAGE, 0), KIT_PAGE);
	look(&b, seen, KIT_PAGE);
	assert_int_equal(kit_wrong(seen, KIT_PAGE, 4, KIT_PAGE), -1);
	assert_int_equal(rn_gpu_free(b.dev), 0);
	rn_storage_handle_deregister(file);
	kit_close();
}

/* More than a command, a ring of completions and the TLPs of the hierarchy hold. */
static void long_and_many_transfers_arrive(void **state)
{
	const size_t len = RN_DRIVE_COMMAND_MAX + 3 * RN_DRIVE_PIECE + KIT_PAGE;
	int fd = memfd_create("long", MFD_CLOEXEC);
	struct rn_storage_file *file = NULL;
	uint32_t *words = mmap(NULL, len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	kit_host_knobs("typical");
	assert_true(words != MAP_FAILED && fd >= 0);
	for (uint32_t i = 0; i < len / 4; i++)
		words[i] = i * 2654435761u;
	assert_int_equal(rn_storage_handle_register(&file, fd), 0);
	close(fd);
	assert_int_equal(rn_storage_buffer_register(words, len), 0);
	assert_int_equal(rn_storage_write(file, words, len, 0, 0), len);
	memset(words, 0, len);
	assert_int_equal(rn_storage_read(file, words, len, 0, 0), len);
	for (uint32_t i = 0; i < len / 4; i++)
		if (words[i] != i * 2654435761u)
			fail_msg("word %u", i);
	for (uint32_t i = 0; i < 600; i++) {
		words[0] = 0;
		assert_int_equal(
			rn_storage_read(file, words, KIT_PAGE, (off_t)i * KIT_PAGE, 0),
			KIT_PAGE);
		assert_int_equal(words[0], i * (KIT_PAGE / 4) * 2654435761u);
	}
	assert_int_equal(rn_storage_buffer_deregister(words), 0);
	munmap(words, len);
	rn_storage_handle_deregister(file);
	kit_close();
}

static uint64_t free_memory(int gpu)
{
	uint64_t bytes = 0;

	assert_int_equal(
		rn_gpu_get_attr(rn_gpu_open(gpu), RN_GPU_ATTR_MEMORY_FREE, &bytes), 0);
	return bytes;
}

/* Kept for the next transfer, and given back when the driver is closed. */
static void memory_to_bounce_through_goes_with_the_driver(void **state)
{
	struct rn_storage_file *file = kit_file(1);
	struct rn_gpu_buffer b = gpu_memory(0, KIT_PAGE);
	uint64_t before, between;

	(void)state;
	kit_host_knobs("typical,rc.p2p=split");
	assert_int_equal(rn_storage_set_near("nvme0=gpu2"), 0);
	before = free_memory(2);
	assert_int_equal(rn_storage_buffer_register(b.bar, b.len), 0);
	assert_int_equal(rn_storage_read(file, b.bar, KIT_PAGE, 0, 0), KIT_PAGE);
	between = free_memory(2);
	assert_true(between < before);
	assert_int_equal(rn_storage_read(file, b.bar, KIT_PAGE, 0, 0), KIT_PAGE);
	assert_int_equal(free_memory(2), between);
	assert_int_equal(rn_storage_buffer_deregister(b.bar), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	rn_storage_handle_deregister(file);
	kit_close();
	assert_int_equal(free_memory(2), before);
}

/* The drive transfers whole blocks: buffer, offset and size, each decides alone. */
static void what_is_not_aligned_bounces(void **state)
{
	static const struct {
		size_t size;
		off_t file_offset, buf_offset;
		bool is_direct;
	} rows[] = {
		{ KIT_PAGE, KIT_PAGE, KIT_PAGE, true },
		{ KIT_PAGE + 1, KIT_PAGE, KIT_PAGE, false },
		{ KIT_PAGE, KIT_PAGE + 512, KIT_PAGE, false },
		{ KIT_PAGE, KIT_PAGE, KIT_PAGE + 8, false },
	};
	struct rn_storage_file *file = kit_file(1);
	uint8_t *host = aligned_alloc(KIT_PAGE, 4 * KIT_PAGE);
	struct rn_storage_route route;

	(void)state;
	kit_host_knobs("typical");
	assert_int_equal(rn_storage_buffer_register(host, 4 * KIT_PAGE), 0);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		assert_int_equal(rn_storage_plan(file, host, rows[i].size,
						 rows[i].file_offset, rows[i].buf_offset,
						 &route),
				 0);
		assert_int_equal(route.way,
				 rows[i].is_direct ? RN_STORAGE_DIRECT : RN_STORAGE_HOST);
		assert_int_equal(route.reason == RN_STORAGE_UNALIGNED,
				 !rows[i].is_direct);
	}
	assert_int_equal(rn_storage_buffer_deregister(host), 0);
	free(host);
	rn_storage_handle_deregister(file);
	kit_close();
}

static ssize_t odd_read(int fd, void *buf, size_t len, off_t offset)
{
	return pread(fd, buf, len < 1001 ? len : 1001, offset);
}

/* Also where the file gives its bytes in pieces that end anywhere. */
static void no_tlp_of_a_drive_crosses_a_page(void **state)
{
	static uint8_t host[4 * KIT_PAGE] __attribute__((aligned(4096)));
	static struct rn_pcie_move move[1024];
	const struct rn_drive_backing real = rn_drive_backing;
	struct rn_storage_file *file = kit_file(1);
	unsigned count, data = 0;

	(void)state;
	kit_host_knobs("typical");
	assert_int_equal(rn_storage_buffer_register(host, sizeof(host)), 0);
	rn_drive_backing.read = odd_read;
	assert_int_equal(rn_pcie_trace_start(RN_ARRAY_SIZE(move)), 0);
	assert_int_equal(rn_storage_read(file, host, sizeof(host), 0, 0), sizeof(host));
	rn_storage_settle();
	count = rn_pcie_trace_read(move, RN_ARRAY_SIZE(move));
	assert_int_equal(rn_pcie_trace_start(0), 0);
	rn_drive_backing = real;
	for (unsigned i = 0; i < count; i++) {
		if (move[i].requester != RN_AGENT_NVME || move[i].flags & RN_TLP_CQE)
			continue;
		data++;
		assert_true(move[i].addr % KIT_PAGE + move[i].len <= KIT_PAGE);
	}
	assert_true(data > sizeof(host) / 1001);
	assert_int_equal(kit_wrong(host, sizeof(host), 1, 0), -1);
	assert_int_equal(rn_storage_buffer_deregister(host), 0);
	rn_storage_handle_deregister(file);
	kit_close();
}

/* --------------------------------------------------------------------- errors */
static void short_files_give_what_is_there(void **state)
{
	struct rn_storage_file *file = kit_file(1);
	struct rn_gpu_buffer b = gpu_memory(0, 2 * KIT_FILE);
	static uint8_t host[2 * KIT_FILE];

	(void)state;
	kit_host_knobs("typical");
	assert_int_equal(rn_storage_buffer_register(b.bar, b.len), 0);
	assert_int_equal(rn_storage_read(file, b.bar, 2 * KIT_FILE, 0, 0), KIT_FILE);
	assert_int_equal(rn_storage_read(file, b.bar, 2 * KIT_FILE, KIT_PAGE, 0),
			 KIT_FILE - KIT_PAGE);
	assert_int_equal(rn_storage_read(file, b.bar, KIT_PAGE, KIT_FILE, 0), 0);
	assert_int_equal(rn_storage_read(file, b.bar, 0, 0, 0), 0);
	assert_int_equal(rn_storage_read(file, host, sizeof(host), 17, 0), KIT_FILE - 17);
	assert_int_equal(kit_wrong(host, KIT_FILE - 17, 1, 17), -1);
	assert_int_equal(rn_storage_buffer_deregister(b.bar), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	rn_storage_handle_deregister(file);
	kit_close();
}

static void wrong_arguments_are_refused(void **state)
{
	struct rn_storage_file *file = kit_file(1), *other = NULL;
	uint8_t *host = aligned_alloc(KIT_PAGE, 4 * KIT_PAGE);
	int pipe_fd[2];

	(void)state;
	kit_host_knobs("typical");
	assert_int_equal(rn_storage_handle_register(&other, -1), -EBADF);
	assert_int_equal(pipe(pipe_fd), 0);
	assert_int_equal(rn_storage_handle_register(&other, pipe_fd[0]), -EINVAL);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	assert_null(other);

	assert_int_equal(rn_storage_buffer_register(host, 0), -EINVAL);
	assert_int_equal(rn_storage_buffer_register(host, SIZE_MAX), -EINVAL);
	assert_int_equal(rn_storage_buffer_register((void *)16, 8), -EFAULT);
	assert_int_equal(rn_storage_buffer_register(host, 2 * KIT_PAGE), 0);
	assert_int_equal(rn_storage_buffer_register(host + KIT_PAGE, KIT_PAGE), -EEXIST);
	assert_int_equal(rn_storage_buffer_deregister(host + KIT_PAGE), -ENOENT);

	assert_int_equal(rn_storage_read(file, host, KIT_PAGE, -1, 0), -EINVAL);
	assert_int_equal(rn_storage_read(file, host, KIT_PAGE, 0, -1), -EINVAL);
	/* Memory that nobody registered, and that is there. */
	assert_int_equal(
		rn_storage_read(file, host + 3 * KIT_PAGE, KIT_PAGE, 0, -KIT_PAGE),
		-EINVAL);
	assert_non_null(strstr(rn_storage_last_error(), "negative"));
	assert_int_equal(rn_storage_read(file, NULL, KIT_PAGE, 0, 0), -EINVAL);
	assert_int_equal(rn_storage_read(NULL, host, KIT_PAGE, 0, 0), -EINVAL);
	assert_int_equal(rn_storage_read(file, host, SIZE_MAX, 0, 0), -EINVAL);
	assert_int_equal(rn_storage_read(file, host, KIT_PAGE, 0, KIT_PAGE + 1), -EINVAL);
	assert_int_equal(rn_storage_read(file, host, 2 * KIT_PAGE + 1, 0, 0), -EINVAL);
	assert_true(strlen(rn_storage_last_error()) > 0);
	assert_int_equal(rn_storage_set_policy("direct,nowhere"), -EINVAL);
	assert_non_null(strstr(rn_storage_last_error(), "nowhere"));

	assert_int_equal(rn_storage_buffer_deregister(host), 0);
	rn_storage_handle_deregister(file);
	rn_storage_handle_deregister(NULL);
	free(host);
	kit_close();
}

static void memory_that_is_gone_is_efault(void **state)
{
	struct rn_storage_file *file = kit_file(1);
	struct rn_gpu_buffer b = gpu_memory(0, 4 * KIT_PAGE);
	void *host = mmap(NULL, 4 * KIT_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rn_storage_properties p;

	(void)state;
	kit_host_knobs("typical");
	assert_int_equal(rn_storage_buffer_register(b.bar, b.len), 0);
	assert_int_equal(rn_storage_buffer_register(host, 4 * KIT_PAGE), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	/* Not munmap(): other memory could come there. */
	assert_int_equal(mprotect(host, 4 * KIT_PAGE, PROT_NONE), 0);
	assert_int_equal(rn_storage_read(file, b.bar, KIT_PAGE, 0, 0), -EFAULT);
	assert_int_equal(rn_storage_read(file, host, KIT_PAGE, 0, 0), -EFAULT);
	assert_int_equal(rn_storage_write(file, host, KIT_PAGE, 0, 0), -EFAULT);
	assert_int_equal(rn_storage_read(file, host, 100, 0, 0), -EFAULT);
	assert_int_equal(rn_storage_driver_properties(&p), 0);
	assert_true(p.faults > 0);
	assert_int_equal(rn_storage_buffer_deregister(b.bar), 0);
	assert_int_equal(rn_storage_buffer_deregister(host), 0);
	munmap(host, 4 * KIT_PAGE);
	rn_storage_handle_deregister(file);
	kit_close();
}

static unsigned reads_before_eio;

static ssize_t failing_read(int fd, void *buf, size_t len, off_t offset)
{
	if (reads_before_eio-- > 0)
		return pread(fd, buf, len, offset);
	errno = EIO;
	return -1;
}

static ssize_t full_write(int fd, const void *buf, size_t len, off_t offset)
{
	if (offset + (off_t)len <= KIT_FILE)
		return pwrite(fd, buf, len, offset);
	errno = ENOSPC;
	return -1;
}

static void errors_of_the_file_are_passed_on(void **state)
{
	const struct rn_drive_backing real = rn_drive_backing;
	const size_t len = 3 * RN_DRIVE_PIECE;
	struct rn_storage_file *file = kit_file(1);
	struct rn_gpu_buffer b = gpu_memory(0, len);

	(void)state;
	kit_host_knobs("typical");
	assert_int_equal(rn_storage_buffer_register(b.bar, b.len), 0);
	rn_drive_backing.read = failing_read;
	reads_before_eio = 0;
	assert_int_equal(rn_storage_read(file, b.bar, KIT_PAGE, 0, 0), -EIO);
	/* What came before the error is a short transfer. */
	reads_before_eio = 1;
	assert_int_equal(rn_storage_read(file, b.bar, len, 0, 0), RN_DRIVE_PIECE);
	rn_drive_backing = real;
	rn_drive_backing.write = full_write;
	assert_int_equal(rn_storage_write(file, b.bar, KIT_PAGE, KIT_FILE, 0), -ENOSPC);
	assert_int_equal(rn_storage_write(file, b.bar, len, 0, 0), 2 * RN_DRIVE_PIECE);
	rn_drive_backing = real;
	assert_int_equal(rn_storage_buffer_deregister(b.bar), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	rn_storage_handle_deregister(file);
	kit_close();
}

static void files_keep_their_rights(void **state)
{
	struct rn_storage_file *file = NULL;
	char path[] = "/tmp/storage-XXXXXX", host[100];
	int fd = mkstemp(path), direct;

	(void)state;
	kit_host_knobs("typical");
	assert_true(fd >= 0);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(rn_storage_handle_register(&file, fd), 0);
	close(fd);
	assert_int_equal(rn_storage_write(file, host, sizeof(host), 0, 0), -EBADF);
	rn_storage_handle_deregister(file);

	/* O_DIRECT wants aligned pieces; others go by a descriptor without. */
	direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	unlink(path);
	if (direct >= 0) {
		memset(host, 'x', sizeof(host));
		assert_int_equal(rn_storage_handle_register(&file, direct), 0);
		close(direct);
		assert_int_equal(rn_storage_write(file, host, sizeof(host), 1, 0),
				 sizeof(host));
		memset(host, 0, sizeof(host));
		assert_int_equal(rn_storage_read(file, host, sizeof(host), 1, 0),
				 sizeof(host));
		assert_int_equal(host[99], 'x');
		rn_storage_handle_deregister(file);
	}
	kit_close();
}

/* -------------------------------------------------------------------- processes */
static void a_forked_child_is_refused(void **state)
{
	struct rn_storage_file *file = kit_file(1);
	char host[16];
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0) {
		bool ok = rn_storage_driver_open() == -ENODEV &&
			  rn_storage_read(file, host, 16, 0, 0) == -ENODEV &&
			  rn_storage_buffer_register(host, 16) == -ENODEV;

		rn_storage_handle_deregister(file);
		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(rn_storage_read(file, host, 16, 0, 0), 16);
	rn_storage_handle_deregister(file);
	kit_close();
}

static void environment_is_checked_at_open(void **state)
{
	struct rn_storage_properties p;

	(void)state;
	setenv("ROCIN_STORAGE_POLICY", "sideways", 1);
	assert_int_equal(rn_storage_driver_open(), -EINVAL);
	assert_non_null(strstr(rn_storage_last_error(), "sideways"));
	setenv("ROCIN_STORAGE_POLICY", "p2p,host", 1);
	setenv("ROCIN_STORAGE_NEAR", "nvme0=gpu9", 1);
	assert_int_equal(rn_storage_driver_open(), -EINVAL);
	unsetenv("ROCIN_STORAGE_NEAR");
	assert_int_equal(rn_storage_driver_open(), 0);
	assert_int_equal(rn_storage_driver_open(), 0);
	assert_int_equal(rn_storage_driver_properties(&p), 0);
	assert_string_equal(p.policy, "p2p,host");
	unsetenv("ROCIN_STORAGE_POLICY");
	assert_int_equal(rn_storage_driver_close(), 0);
	kit_close();
}

enum {
	THREADS = 4,
	ROUNDS = 20,
};

static void *hammer(void *arg)
{
	unsigned n = *(unsigned *)arg;
	struct rn_storage_file *file = kit_file(n);
	struct rn_gpu_buffer b = gpu_memory((int)n % 2, 8 * KIT_PAGE);
	uint8_t seen[2 * KIT_PAGE];
	bool ok = rn_storage_handle_set_drive(file, n % 3) == 0 &&
		  rn_storage_buffer_register(b.bar, b.len) == 0;

	for (unsigned i = 0; i < ROUNDS && ok; i++) {
		off_t at = (off_t)(i % 8) * KIT_PAGE;
		size_t len = i % 3 ? 2 * KIT_PAGE : 777;

		ok = rn_storage_read(file, b.bar, len, at, 0) == (ssize_t)len &&
		     rn_storage_write(file, b.bar, len, at, 0) == (ssize_t)len &&
		     rn_storage_read(file, seen, len, at, 0) == (ssize_t)len &&
		     kit_wrong(seen, len, n, (uint64_t)at) == -1;
	}
	ok = rn_storage_buffer_deregister(b.bar) == 0 && rn_gpu_free(b.bar) == 0 && ok;
	rn_storage_handle_deregister(file);
	return ok ? arg : NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
	pthread_t thread[THREADS];
	unsigned number[THREADS];
	void *ok;

	(void)state;
	kit_host_knobs("typical");
	assert_int_equal(rn_storage_driver_open(), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		number[i] = i;
		assert_int_equal(pthread_create(&thread[i], NULL, hammer, &number[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(thread[i], &ok), 0);
		assert_ptr_equal(ok, &number[i]);
	}
	kit_close();
}

static void each_file_may_have_its_policy(void **state)
{
	struct rn_gpu_buffer b = gpu_memory(0, KIT_PAGE);
	struct rn_storage_file *file = kit_file(1), *other = kit_file(2);
	struct rn_storage_route route;

	(void)state;
	assert_int_equal(rn_storage_buffer_register(b.bar, b.len), 0);
	assert_int_equal(rn_storage_handle_set_policy(file, "host"), 0);
	assert_int_equal(rn_storage_handle_set_policy(file, "hots"), -EINVAL);
	assert_int_equal(rn_storage_plan(file, b.bar, KIT_PAGE, 0, 0, &route), 0);
	assert_int_equal(route.way, RN_STORAGE_HOST);
	assert_int_equal(rn_storage_plan(other, b.bar, KIT_PAGE, 0, 0, &route), 0);
	assert_int_equal(route.way, RN_STORAGE_DIRECT);
	assert_int_equal(rn_storage_handle_set_policy(file, NULL), 0);
	assert_int_equal(rn_storage_plan(file, b.bar, KIT_PAGE, 0, 0, &route), 0);
	assert_int_equal(route.way, RN_STORAGE_DIRECT);
	assert_int_equal(rn_storage_buffer_deregister(b.bar), 0);
	rn_storage_handle_deregister(file);
	rn_storage_handle_deregister(other);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

/* A file on another machine: its byte n is n % 251 + 1, and it has 3 pages. */
static unsigned remote_closed;
static uint8_t remote_wrote[KIT_PAGE];

static ssize_t remote_read(void *ctx, void *memory, size_t len, off_t offset)
{
	size_t left = (size_t)offset < 3 * KIT_PAGE ? 3 * KIT_PAGE - (size_t)offset : 0;

	if (*(int *)ctx)
		return -*(int *)ctx;
	for (size_t i = 0; i < len && i < left; i++)
		((uint8_t *)memory)[i] = (uint8_t)(((size_t)offset + i) % 251 + 1);
	return (ssize_t)(len < left ? len : left);
}

static ssize_t remote_write(void *ctx, const void *memory, size_t len, off_t offset)
{
	(void)offset;
	if (*(int *)ctx)
		return -*(int *)ctx;
	memcpy(remote_wrote, memory, len);
	return (ssize_t)len;
}

static void remote_close(void *ctx)
{
	(void)ctx;
	remote_closed++;
}

static void files_of_other_machines_are_transferred_by_them(void **state)
{
	static const struct rn_storage_remote ops = { remote_read, remote_write,
						      remote_close };
	struct rn_gpu_buffer b = gpu_memory(0, 4 * KIT_PAGE);
	struct rn_storage_file *file;
	int error = 0;

	(void)state;
	kit_host_knobs("strict");
	assert_int_equal(rn_storage_handle_register_remote(&file, &ops, &error), 0);
	assert_int_equal(rn_storage_buffer_register(b.bar, b.len), 0);
	for (unsigned i = 0; i < 2; i++) { /* into the GPU, and by host memory */
		assert_int_equal(rn_storage_read(file, b.bar, 4 * KIT_PAGE, 0, 0),
				 3 * KIT_PAGE);
		for (size_t at = 0; at < 3 * KIT_PAGE; at++)
			if (((uint8_t *)b.bar)[at] != at % 251 + 1)
				fail_msg("byte %zu is wrong", at);
		assert_int_equal(rn_storage_write(file, b.bar, KIT_PAGE, 0, KIT_PAGE),
				 KIT_PAGE);
		assert_int_equal(remote_wrote[0], KIT_PAGE % 251 + 1);
		memset(b.bar, 0, b.len);
		assert_int_equal(rn_storage_handle_set_policy(file, "host"), 0);
	}
	error = ECONNRESET;
	assert_int_equal(rn_storage_read(file, b.bar, KIT_PAGE, 0, 0), -ECONNRESET);
	assert_int_equal(rn_storage_write(file, b.bar, KIT_PAGE, 0, 0), -ECONNRESET);
	assert_int_equal(remote_closed, 0);
	rn_storage_handle_deregister(file);
	assert_int_equal(remote_closed, 1);
	assert_int_equal(rn_storage_buffer_deregister(b.bar), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_is_checked_at_open),
		cmocka_unit_test(bytes_arrive_by_every_way),
		cmocka_unit_test(ways_are_counted_and_told),
		cmocka_unit_test(memory_beyond_the_bar_goes_through_the_host),
		cmocka_unit_test(memory_to_bounce_through_goes_with_the_driver),
		cmocka_unit_test(what_is_not_aligned_bounces),
		cmocka_unit_test(no_tlp_of_a_drive_crosses_a_page),
		cmocka_unit_test(long_and_many_transfers_arrive),
		cmocka_unit_test(short_files_give_what_is_there),
		cmocka_unit_test(wrong_arguments_are_refused),
		cmocka_unit_test(memory_that_is_gone_is_efault),
		cmocka_unit_test(errors_of_the_file_are_passed_on),
		cmocka_unit_test(files_keep_their_rights),
		cmocka_unit_test(a_forked_child_is_refused),
		cmocka_unit_test(each_file_may_have_its_policy),
		cmocka_unit_test(files_of_other_machines_are_transferred_by_them),
		cmocka_unit_test(threads_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
