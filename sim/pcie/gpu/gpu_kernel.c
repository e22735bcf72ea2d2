/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_kernel.c - threads that play kernels, and how they reach memory. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_memory.h"
#include "transport/io/memory/mem_guard.h"

struct rn_gpu_kernel {
	struct rn_gpu_kernel *next;
	int64_t number;
	pthread_t thread;
	struct rn_gpu *gpu;
	rn_gpu_kernel_fn *fn;
	void *arg;
	bool is_faulted; /* written by the thread, read after it has been joined */
};

static struct {
	pthread_mutex_t lock; /* guards rn_gpu.kernels and next */
	int64_t next;
} kernels = { .lock = PTHREAD_MUTEX_INITIALIZER, .next = 1 };

static __thread struct rn_gpu *current_gpu;
static __thread bool has_faulted; /* a load or store of this thread */

/* ----------------------------------------------------------------- launch */
/* Not sanitized: the checks would use what the jump does not restore. */
static __attribute__((no_sanitize("thread", "address", "undefined"))) bool
run_guarded(const struct rn_gpu_kernel *k)
{
	struct rn_guard g;

	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return false;
	}
	rn_guard_enter(&g, (uintptr_t)k->gpu->bar, 3 * k->gpu->size);
	k->fn(k->arg);
	rn_guard_leave(&g);
	return true;
}

static void *play(void *arg)
{
	struct rn_gpu_kernel *k = arg;

	current_gpu = k->gpu;
	k->is_faulted = !run_guarded(k) || has_faulted;
	return NULL;
}

static int start_thread(struct rn_gpu_kernel *k)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
	sigset_t blocked, before;
	int err;

	sigfillset(&blocked);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(faults); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	err = pthread_create(&k->thread, NULL, play, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

/* The doorbell: behind all that the CPU's way pushes. */
static void ring_bell(struct rn_gpu *gpu)
{
	uint64_t count;

	if (rn_gpu_is_off(gpu))
		return;
	rn_host_lock(gpu->host);
	count = ++gpu->bells;
	rn_host_unlock(gpu->host);
	rn_gpu_tlp(RN_AGENT_CPU, RN_TLP_WRITE, RN_TLP_BELL, (uintptr_t)gpu->bar, &count,
		   sizeof(count));
}

int64_t rn_gpu_launch(struct rn_gpu *gpu, rn_gpu_kernel_fn *fn, void *arg)
{
	struct rn_gpu_kernel *k;
	int64_t number;

	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	if (!fn)
		return rn_gpu_fail(-EINVAL, "a launch without a kernel");
	k = calloc(1, sizeof(*k));
	if (!k)
		return rn_gpu_fail(-ENOMEM, "no memory for a kernel");
	k->gpu = gpu;
	k->fn = fn;
	k->arg = arg;
	rn_guard_install();
	ring_bell(gpu);

	/* Under the lock: who waits for the number finds a thread to join. */
	pthread_mutex_lock(&kernels.lock);
	if (start_thread(k) < 0) {
		pthread_mutex_unlock(&kernels.lock);
		free(k);
		return rn_gpu_fail(-EAGAIN, "no thread for a kernel of GPU %d",
				   gpu->number);
	}
	number = kernels.next++;
	k->number = number;
	k->next = gpu->kernels;
	gpu->kernels = k;
	pthread_mutex_unlock(&kernels.lock);
	atomic_fetch_add(&rn_gpu_counts.launches, 1);
	return number;
}

/* ------------------------------------------------------------------- wait */
static bool is_write_of(const struct rn_tlp *tlp, const void *arg)
{
	const struct rn_gpu *gpu = arg;

	return tlp->kind == RN_TLP_WRITE && tlp->requester == rn_gpu_agent(gpu);
}

/* Takes @k, which is in no list any more. The GPU reports the end of a kernel by a write
 * behind the kernel's own.
 */
static int finish(struct rn_gpu_kernel *k)
{
	struct rn_gpu *gpu = k->gpu;
	int err = 0;

	pthread_join(k->thread, NULL);
	if (k->is_faulted)
		err = rn_gpu_fail(-EFAULT,
				  "kernel %lld of GPU %d touched memory that is "
				  "not there",
				  (long long)k->number, gpu->number);
	free(k);
	if (!rn_gpu_is_off(gpu)) {
		rn_host_lock(gpu->host);
		rn_host_force_if(gpu->host, is_write_of, gpu);
		rn_host_unlock(gpu->host);
	}
	return err;
}

/* Unlink the newest kernel numbered @from to @to. */
static struct rn_gpu_kernel *take(struct rn_gpu *gpu, int64_t from, int64_t to)
{
	struct rn_gpu_kernel *k = NULL;

	pthread_mutex_lock(&kernels.lock);
	for (struct rn_gpu_kernel **at = &gpu->kernels; *at; at = &(*at)->next) {
		if ((*at)->number < from || (*at)->number > to)
			continue;
		k = *at;
		*at = k->next;
		break;
	}
	pthread_mutex_unlock(&kernels.lock);
	return k;
}

static int may_wait(const struct rn_gpu *gpu)
{
	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	if (current_gpu)
		return rn_gpu_fail(-EDEADLK, "a kernel waits for kernels");
	return 0;
}

int rn_gpu_wait_kernel(struct rn_gpu *gpu, int64_t kernel)
{
	struct rn_gpu_kernel *k;
	int err = may_wait(gpu);

	if (err)
		return err;
	k = take(gpu, kernel, kernel);
	if (!k)
		return rn_gpu_fail(-ENOENT, "GPU %d has no kernel %lld", gpu->number,
				   (long long)kernel);
	return finish(k);
}

int rn_gpu_synchronize(struct rn_gpu *gpu)
{
	struct rn_gpu_kernel *k;
	int64_t last;
	int err = may_wait(gpu);

	if (err)
		return err;
	pthread_mutex_lock(&kernels.lock);
	last = kernels.next - 1;
	pthread_mutex_unlock(&kernels.lock);
	while ((k = take(gpu, 1, last))) {
		int of_one = finish(k);

		err = err ? err : of_one;
	}
	return err;
}

/* --------------------------------------------------------- inside a kernel */
struct rn_gpu *rn_gpu_current(void)
{
	return current_gpu;
}

int rn_gpu_become(struct rn_gpu *gpu)
{
	bool faulted = has_faulted;

	if (rn_gpu_is_forked())
		return rn_gpu_fail(-ENODEV, "a forked child has no GPUs");
	current_gpu = gpu;
	has_faulted = false;
	return !gpu && faulted ? rn_gpu_fail(-EFAULT, "an access failed") : 0;
}

static bool is_access(uintptr_t addr, unsigned size)
{
	return (size == 1 || size == 2 || size == 4 || size == 8) && addr % size == 0;
}

/* One access of the kernel: @value is read or written. */
static int access_memory(uintptr_t addr, unsigned size, bool is_store, uint64_t *value)
{
	struct rn_gpu *gpu = current_gpu, *owner;
	uint64_t offset;
	char view;

	if (!is_access(addr, size))
		return -EFAULT;
	owner = rn_gpu_of(addr, &offset, &view);
	if (owner == gpu)
		addr = (uintptr_t)gpu->dev + offset;
	else if (owner)
		addr = (uintptr_t)owner->bar + offset;
	if (owner != gpu && !rn_gpu_is_off(gpu))
		return rn_gpu_tlp(rn_gpu_agent(gpu),
				  is_store ? RN_TLP_WRITE : RN_TLP_READ, 0, addr, value,
				  size);
	return is_store ? rn_gpu_plain_store(addr, size, *value)
			: rn_gpu_plain_load(addr, size, value);
}

/* 0, or what is wrong with the access, noted for the end of the kernel. */
static int kernel_access(uintptr_t addr, unsigned size, bool is_store, uint64_t *value)
{
	int err;

	if (!current_gpu || rn_gpu_is_forked())
		return rn_gpu_fail(-EPERM, "this thread plays no kernel");
	err = access_memory(addr, size, is_store, value);
	if (err) {
		has_faulted = true;
		rn_gpu_fail(err, "%u bytes at %p: nothing answers", size,
			    rn_gpu_pointer(addr));
	}
	return err;
}

uint64_t rn_gpu_load(const volatile void *addr, unsigned size)
{
	uint64_t value = 0;
	int err = kernel_access((uintptr_t)addr, size, false, &value);

	if (err) {
		errno = -err;
		return UINT64_MAX;
	}
	return value;
}

void rn_gpu_store(volatile void *addr, uint64_t value, unsigned size)
{
	int err = kernel_access((uintptr_t)addr, size, true, &value);

	if (err)
		errno = -err;
}

/* ---------------------------------------------------------------- waiting */
void rn_gpu_pause(struct rn_gpu *gpu)
{
	if (!rn_gpu_is_off(gpu)) {
		rn_host_lock(gpu->host);
		rn_host_step(gpu->host, 1);
		rn_host_unlock(gpu->host);
	}
	sched_yield();
}

/* Until @addr as this thread's GPU would see it next is @value. Of host memory a look is
 * taken without a TLP: a kernel that had looked at that moment only is a legal one.
 */
static int wait_for(uintptr_t addr, uint64_t value, unsigned size, int timeout_ms)
{
	struct rn_guard *outer = rn_guard_thread.current;
	rn_ns end = rn_host_now() + RN_MSEC(timeout_ms);
	struct rn_gpu *gpu = current_gpu;
	bool look_first = rn_gpu_find(rn_gpu_pointer(addr), NULL) == -ENOENT;
	uint64_t found = 0;
	int err;

	for (;;) {
		rn_host_set_polling(true);
		err = look_first ? rn_gpu_plain_load(addr, size, &found)
				 : kernel_access(addr, size, false, &found);
		rn_host_set_polling(false);
		if (err) {
			has_faulted = true;
			return rn_gpu_fail(-EFAULT, "nothing answers at %p",
					   rn_gpu_pointer(addr));
		}
		if (found == value)
			return 0;
		if (timeout_ms >= 0 && rn_host_now() >= end)
			return rn_gpu_fail(-ETIMEDOUT, "%#llx at %p after %d ms",
					   (unsigned long long)found,
					   rn_gpu_pointer(addr), timeout_ms);
		rn_gpu_pause(gpu);
		rn_guard_thread.current = outer;
	}
}

static int check_wait(uintptr_t addr, unsigned size)
{
	if (!current_gpu || rn_gpu_is_forked())
		return rn_gpu_fail(-EPERM, "this thread plays no kernel");
	if (!is_access(addr, size))
		return rn_gpu_fail(-EINVAL, "%u bytes at %p are no word", size,
				   rn_gpu_pointer(addr));
	return 0;
}

int rn_gpu_wait_host(const volatile void *addr, uint64_t value, unsigned size,
		     int timeout_ms)
{
	uint64_t seen = 0;
	int err = check_wait((uintptr_t)addr, size);

	if (err)
		return err;
	do {
		err = wait_for((uintptr_t)addr, value, size, timeout_ms);
		if (err)
			return err;
		err = kernel_access((uintptr_t)addr, size, false, &seen);
	} while (!err && seen != value);
	return err;
}

int rn_gpu_wait_device(const volatile void *addr, uint64_t value, unsigned size,
		       int timeout_ms)
{
	int err = check_wait((uintptr_t)addr, size);

	return err ? err : wait_for((uintptr_t)addr, value, size, timeout_ms);
}
