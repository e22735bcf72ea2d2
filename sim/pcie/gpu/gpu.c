/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu.c - opens the GPUs of this process; their attributes, counters and error texts. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu_internal.h"

#define GPU_MEMORY_DEFAULT (4ULL << 30)

static struct {
	pthread_once_t once;
	pthread_mutex_t opening;
	int count;
	uint64_t size;
	_Atomic bool is_forked;
	/* The GPUs that were opened, by number. A pointer is stored here only when its
	 * GPU is complete. A GPU stays open until the process ends.
	 */
	_Atomic(struct rn_gpu *) gpu[RN_GPU_MAX];
} all = { .once = PTHREAD_ONCE_INIT, .opening = PTHREAD_MUTEX_INITIALIZER };

static __thread char last_error[256];

struct rn_gpu_counts rn_gpu_counts;

/* -------------------------------------------------------- texts of errors */
const char *rn_gpu_last_error(void)
{
	return last_error;
}

int rn_gpu_fail(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, args);
	va_end(args);
	return err;
}

/* -------------------------------------------- settings in the environment */
/* Parses a size such as "4G". Returns the number of bytes, or 0 if the text is no size.
 */
static uint64_t parse_size(const char *text)
{
	char *end;
	unsigned long long value;
	unsigned shift = 0;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end == 'K')
		shift = 10;
	else if (*end == 'M')
		shift = 20;
	else if (*end == 'G')
		shift = 30;
	if (errno || end[shift > 0] || value > (1ULL << 46) >> shift)
		return 0;
	return value << shift;
}

static void in_child(void)
{
	atomic_store(&all.is_forked, true);
}

static void read_environment(void)
{
	const char *count = getenv("ROCIN_GPUS");
	const char *size = getenv("ROCIN_GPU_MEMORY");

	all.count = RN_GPU_MAX;
	if (count && count[0] >= '1' && count[0] <= '0' + RN_GPU_MAX && !count[1])
		all.count = count[0] - '0';
	else if (count)
		fprintf(stderr, "rocin: ROCIN_GPUS=%s is not 1 to %d; taking %d\n", count,
			RN_GPU_MAX, all.count);

	all.size = size ? parse_size(size) : GPU_MEMORY_DEFAULT;
	if (all.size < 16 * (uint64_t)RN_GPU_PAGE) {
		fprintf(stderr,
			"rocin: ROCIN_GPU_MEMORY=%s is not a size from 64K; taking 4G\n",
			size);
		all.size = GPU_MEMORY_DEFAULT;
	}
	all.size &= ~(uint64_t)(RN_GPU_PAGE - 1);
	pthread_atfork(NULL, NULL, in_child);
}

bool rn_gpu_is_forked(void)
{
	return atomic_load_explicit(&all.is_forked, memory_order_relaxed);
}

bool rn_gpu_is_gone(const struct rn_gpu *gpu)
{
	if (rn_gpu_is_forked())
		rn_gpu_fail(-ENODEV, "a forked child has no GPUs");
	else if (!gpu)
		rn_gpu_fail(-ENODEV, "NULL is no GPU");
	return !gpu || rn_gpu_is_forked();
}

/* -------------------------------------------------------- opening of GPUs */
int rn_gpu_count(void)
{
	pthread_once(&all.once, read_environment);
	return all.count;
}

static struct rn_gpu *make_gpu(int number)
{
	struct rn_gpu *gpu = calloc(1, sizeof(*gpu));
	int err = -ENOMEM;

	if (!gpu)
		goto err_errno;
	gpu->number = number;
	gpu->size = all.size;
	gpu->host = rn_host_get();
	if (!gpu->host)
		goto err_free_gpu;
	err = rn_gpu_memory_init(gpu);
	if (err)
		goto err_free_gpu;
	atomic_store(&all.gpu[number], gpu);
	rn_trap_add(gpu->host, gpu);
	return gpu;

err_free_gpu:
	free(gpu);
err_errno:
	errno = -rn_gpu_fail(err, "GPU %d: no memory for its views", number);
	return NULL;
}

struct rn_gpu *rn_gpu_open(int number)
{
	struct rn_gpu *gpu;

	if (number < 0 || number >= rn_gpu_count() || rn_gpu_is_forked()) {
		rn_gpu_fail(-ENODEV, "there is no GPU %d in this process", number);
		errno = ENODEV;
		return NULL;
	}
	gpu = atomic_load(&all.gpu[number]);
	if (gpu)
		return gpu;

	pthread_mutex_lock(&all.opening);
	gpu = atomic_load(&all.gpu[number]);
	if (!gpu)
		gpu = make_gpu(number);
	pthread_mutex_unlock(&all.opening);
	return gpu;
}

struct rn_gpu *rn_gpu_opened(int number)
{
	return number >= 0 && number < RN_GPU_MAX ? atomic_load(&all.gpu[number]) : NULL;
}

int rn_gpu_number(const struct rn_gpu *gpu)
{
	return gpu ? gpu->number : -1;
}

/* ----------------------------------------- attributes and counters of GPUs */
bool rn_gpu_is_off(const struct rn_gpu *gpu)
{
	return rn_host_is_off(gpu->host);
}

void rn_gpu_get_counters(struct rn_gpu_counters *out)
{
	*out = (struct rn_gpu_counters){
		.launches = rn_gpu_counts.launches,
		.bar_reads = rn_gpu_counts.bar_reads,
		.bar_writes = rn_gpu_counts.bar_writes,
		.flushes = rn_gpu_counts.flushes,
		.flushes_skipped = rn_gpu_counts.flushes_skipped,
		.closings = rn_gpu_counts.closings,
		.loads_trapped = rn_gpu_counts.loads_trapped,
		.syscalls_opened = rn_gpu_counts.syscalls_opened,
		.not_closed = rn_gpu_counts.not_closed,
		.freed_accesses = rn_gpu_counts.freed_accesses,
	};
}
