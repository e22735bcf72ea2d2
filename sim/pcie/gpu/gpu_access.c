/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_access.c - accesses to memory by the CPU, by kernels and by streams of a GPU.
 *
 *	CPU	rn_gpu_bar_load(), rn_gpu_bar_store() and the flush; plain loads: trap.c
 *	kernel	rn_gpu_load(), rn_gpu_store(); plain accesses use the dev view
 *	stream	rn_gpu_wait_value32()
 *
 * An access that crosses a link is a TLP. An access of an agent to its own memory, and
 * with place=now any access, is a plain load or store. A kernel is simulated by a thread
 * of the process. An access to memory that is not mapped ends the kernel.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_internal.h"
#include "transport/io/memory/mem_guard.h"

/* Issues a write. If it is a doorbell, also forces it, so that it arrives at once. Called
 * with the host lock held. Returns 0 or -EFAULT.
 */
static int send_write(struct rn_host *h, struct rn_tlp *tlp, void *bytes)
{
	int index = rn_host_issue(h, tlp, bytes, NULL, NULL);

	if (index < 0)
		return -EFAULT;
	if (tlp->flags & RN_TLP_BELL && index != RN_TLP_NONE)
		rn_host_force(h, (unsigned)index);
	return 0;
}

/* Performs an access of an agent to its own memory, without a TLP. Called with the host
 * lock held. Returns 0 or -EFAULT.
 */
static int send_to_self(struct rn_host *h, const struct rn_tlp *tlp, void *bytes)
{
	enum rn_mem_result result =
		tlp->kind == RN_TLP_READ ? rn_host_load(h, bytes, tlp->addr, tlp->len)
					 : rn_host_store(h, tlp->addr, bytes, tlp->len);

	return result == RN_MEM_DONE ? 0 : -EFAULT;
}

/* Issues one TLP of @requester that reads or writes up to 8 bytes of the memory at @addr.
 * @operand: the bytes to write, or the buffer for the bytes read. A read is forced, so
 * that its result is there when this function returns. A write is posted, and is forced
 * only if @flags has RN_TLP_BELL. Called without the host lock. Returns 0, or -EFAULT if
 * nothing is mapped at @addr.
 */
static int send_tlp(unsigned requester, unsigned kind, unsigned flags, rn_iova addr,
		    void *operand, uint32_t len)
{
	/* The functions called here set their own guard, the range in which this thread
	 * expects faults. A thread has only one guard, so that of the caller is saved and
	 * restored.
	 */
	struct rn_guard *outer = rn_guard_thread.current;
	struct rn_host *h = rn_host_get();
	const struct rn_host_region *r;
	struct rn_tlp tlp = {
		.kind = (uint8_t)kind,
		.flags = (uint8_t)flags,
		.requester = (uint8_t)requester,
		.addr = addr,
		.len = len,
	};
	int err;

	rn_host_lock(h);
	r = rn_host_region_of(h, addr);
	tlp.target = (uint8_t)(r ? r->target : RN_AGENT_CPU);
	if (tlp.target == requester)
		err = send_to_self(h, &tlp, operand);
	else if (kind == RN_TLP_READ)
		err = rn_host_ask(h, &tlp, operand);
	else
		err = send_write(h, &tlp, operand);
	rn_host_unlock(h);
	rn_guard_thread.current = outer;
	return err;
}

/* -------------------------------------------------------- plain accesses */
/* Marks functions that a fault may leave by a jump. The compiler's sanitizers must not
 * instrument them: the sanitizers keep a state for each function call, and the jump would
 * not restore it.
 */
#define GUARDED __attribute__((no_sanitize("thread", "address", "undefined")))

static uint64_t load_word(uintptr_t addr, unsigned size)
{
	const void *at = rn_gpu_pointer(addr);

	switch (size) {
	case 1:
		return __atomic_load_n((const uint8_t *)at, __ATOMIC_ACQUIRE);
	case 2:
		return __atomic_load_n((const uint16_t *)at, __ATOMIC_ACQUIRE);
	case 4:
		return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
	default:
		return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
	}
}

static void store_word(uintptr_t addr, unsigned size, uint64_t value)
{
	void *at = rn_gpu_pointer(addr);

	switch (size) {
	case 1:
		__atomic_store_n((uint8_t *)at, (uint8_t)value, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n((uint16_t *)at, (uint16_t)value, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)at, (uint32_t)value, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE);
		break;
	}
}

static GUARDED int guarded_load(uintptr_t addr, unsigned size, uint64_t *value)
{
	struct rn_guard g;

	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return -EFAULT;
	}
	rn_guard_enter(&g, addr, size);
	*value = load_word(addr, size);
	rn_guard_leave(&g);
	return 0;
}

static GUARDED int guarded_store(uintptr_t addr, unsigned size, uint64_t value)
{
	struct rn_guard g;

	if (RN_GUARD_FAULTED(&g)) {
		rn_guard_leave(&g);
		return -EFAULT;
	}
	rn_guard_enter(&g, addr, size);
	store_word(addr, size, value);
	rn_guard_leave(&g);
	return 0;
}

/* Loads 1, 2, 4 or 8 aligned bytes without a TLP. Returns 0, or -EFAULT if the load has
 * faulted.
 */
static int plain_load(uintptr_t addr, unsigned size, uint64_t *value)
{
	struct rn_guard *outer = rn_guard_thread.current;
	int err = guarded_load(addr, size, value);

	rn_guard_thread.current = outer;
	return err;
}

static int plain_store(uintptr_t addr, unsigned size, uint64_t value)
{
	struct rn_guard *outer = rn_guard_thread.current;
	int err = guarded_store(addr, size, value);

	rn_guard_thread.current = outer;
	return err;
}

static bool is_access(uintptr_t addr, unsigned size)
{
	return (size == 1 || size == 2 || size == 4 || size == 8) && addr % size == 0;
}

/* ----------------------------------------------- MMIO accesses of the CPU */
/* Finds the device memory to which @addr belongs. @addr must be an address by which the
 * CPU accesses it: in a BAR or in declared memory. Returns 0 or an error.
 */
static int find_bar(const volatile void *addr, unsigned size, struct rn_gpu_where *where)
{
	if (rn_gpu_is_forked() || !is_access((uintptr_t)addr, size) ||
	    rn_gpu_find(addr, where) < 0 || !(where->by_bar || where->is_declared))
		return rn_gpu_fail(-EFAULT, "%u bytes at %p are not in a BAR", size,
				   rn_gpu_pointer((uintptr_t)addr));
	return 0;
}

uint64_t rn_gpu_bar_load(const volatile void *bar, unsigned size)
{
	struct rn_gpu_where where = { 0 };
	uint64_t value = 0;
	int err = find_bar(bar, size, &where);

	if (!err) {
		atomic_fetch_add(&rn_gpu_counts.bar_reads, 1);
		if (rn_gpu_is_off(where.gpu))
			err = plain_load((uintptr_t)bar, size, &value);
		else
			err = send_tlp(RN_AGENT_CPU, RN_TLP_READ, 0, (uintptr_t)bar,
				       &value, size);
	}
	if (err) {
		errno = EFAULT;
		return UINT64_MAX;
	}
	return value;
}

void rn_gpu_bar_store(volatile void *bar, uint64_t value, unsigned size)
{
	struct rn_gpu_where where = { 0 };
	int err = find_bar(bar, size, &where);

	if (!err) {
		atomic_fetch_add(&rn_gpu_counts.bar_writes, 1);
		if (rn_gpu_is_off(where.gpu))
			err = plain_store((uintptr_t)bar, size, value);
		else
			err = send_tlp(RN_AGENT_CPU, RN_TLP_WRITE, 0, (uintptr_t)bar,
				       &value, size);
	}
	if (err)
		errno = EFAULT;
}

/* ----------------------------------------------- flush of writes to a GPU */
static void flush_gpu(struct rn_gpu *gpu)
{
	atomic_fetch_add(&rn_gpu_counts.flushes, 1);
	if (rn_gpu_is_off(gpu))
		return;
	rn_host_lock(gpu->host);
	rn_gpu_read_flush(gpu);
	rn_host_unlock(gpu->host);
}

/* Counts and reports a flush for which no read is issued, because the GPUs of the
 * simulated machine make writes visible in order to all agents in @scope.
 */
static void skip_flush(struct rn_gpu *gpu, unsigned scope)
{
	const struct rn_tlp flush = rn_gpu_flush_tlp(gpu);

	atomic_fetch_add(&rn_gpu_counts.flushes_skipped, 1);
	if (rn_gpu_is_off(gpu))
		return;
	rn_host_lock(gpu->host);
	rn_host_tell_flush_skipped(gpu->host, &flush, scope);
	rn_host_unlock(gpu->host);
}

int rn_gpu_flush(struct rn_gpu *gpu, enum rn_gpu_flush_target target,
		 enum rn_gpu_flush_scope scope)
{
	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	if (target != RN_GPU_FLUSH_THIS ||
	    (scope != RN_GPU_TO_OWNER && scope != RN_GPU_TO_ALL_DEVICES))
		return rn_gpu_fail(-EINVAL, "there is no flush of target %d, scope %d",
				   (int)target, (int)scope);
	if ((unsigned)scope / 100 <= rn_host_knobs(gpu->host)->gpu_ordering)
		skip_flush(gpu, (unsigned)scope / 100);
	else
		flush_gpu(gpu);
	return 0;
}

/* -------------------------------------------------------- waits of a stream */
/* Called between two polls by a thread that polls memory. Moves a TLP, so that the
 * awaited write can arrive, and yields the processor. The host lock is not held.
 */
static void let_time_pass(struct rn_gpu *gpu)
{
	if (!rn_gpu_is_off(gpu)) {
		rn_host_lock(gpu->host);
		rn_host_step(gpu->host, 1);
		rn_host_unlock(gpu->host);
	}
	sched_yield();
}

static bool is_met(uint32_t found, uint32_t value, unsigned how)
{
	if (how == RN_GPU_WAIT_EQ)
		return found == value;
	if (how == RN_GPU_WAIT_AND)
		return (found & value) != 0;
	return (int32_t)(found - value) >= 0;
}

/* Loads a word as the front end of @gpu sees it, the unit of a GPU that performs the
 * waits of a stream. Stores the word in *@found. Returns 0 or -EFAULT.
 */
static int front_end_load(struct rn_gpu *gpu, uintptr_t addr, uint32_t *found)
{
	uint64_t value = 0, offset;
	char view;
	int err;

	rn_host_set_polling(true);
	if (rn_gpu_of(addr, &offset, &view) == gpu)
		err = plain_load((uintptr_t)gpu->dev + offset, 4, &value);
	else if (rn_gpu_is_off(gpu))
		err = plain_load(addr, 4, &value);
	else
		err = send_tlp(rn_gpu_agent(gpu), RN_TLP_READ, 0, addr, &value, 4);
	rn_host_set_polling(false);
	*found = (uint32_t)value;
	return err;
}

int rn_gpu_wait_value32(struct rn_gpu *gpu, const volatile uint32_t *addr, uint32_t value,
			unsigned flags, int timeout_ms)
{
	unsigned how = flags & ~(unsigned)RN_GPU_WAIT_FLUSH;
	rn_ns end = rn_host_now() + RN_MSEC(timeout_ms);
	uint32_t found;

	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	if ((uintptr_t)addr % 4 || how > RN_GPU_WAIT_AND)
		return rn_gpu_fail(-EINVAL, "no wait on %p with flags %#x",
				   rn_gpu_pointer((uintptr_t)addr), flags);
	for (;;) {
		if (front_end_load(gpu, (uintptr_t)addr, &found) < 0)
			return rn_gpu_fail(-EFAULT, "nothing answers at %p",
					   rn_gpu_pointer((uintptr_t)addr));
		if (is_met(found, value, how))
			break;
		if (timeout_ms >= 0 && rn_host_now() >= end)
			return rn_gpu_fail(-ETIMEDOUT, "%#x at %p after %d ms", found,
					   rn_gpu_pointer((uintptr_t)addr), timeout_ms);
		let_time_pass(gpu);
	}
	if (flags & RN_GPU_WAIT_FLUSH)
		flush_gpu(gpu);
	return 0;
}

/* ------------------------------------------------------- start of kernels */
struct rn_gpu_kernel {
	struct rn_gpu_kernel *next;
	int64_t number;
	pthread_t thread;
	struct rn_gpu *gpu;
	rn_gpu_kernel_fn *fn;
	void *arg;
	/* The kernel has faulted. Its own thread sets this; others read it after they
	 * have joined that thread.
	 */
	bool is_faulted;
};

static struct {
	/* guards rn_gpu.kernels and the member @next of each kernel */
	pthread_mutex_t lock;
	int64_t next;
} kernels = { .lock = PTHREAD_MUTEX_INITIALIZER, .next = 1 };

static __thread struct rn_gpu *current_gpu;
/* An access of the kernel that this thread runs has failed. */
static __thread bool has_faulted;

/* Runs the kernel; returns false if it has faulted. Not instrumented by the compiler's
 * sanitizers: a fault leaves this function by a jump, which would not restore their
 * state.
 */
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

static void *run_kernel(void *arg)
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
	err = pthread_create(&k->thread, NULL, run_kernel, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

/* Issues the doorbell write of a kernel launch. Like every TLP from the CPU to the GPU,
 * it pushes the writes that are in front of it in the same queue.
 */
static void ring_bell(struct rn_gpu *gpu)
{
	uint64_t count;

	if (rn_gpu_is_off(gpu))
		return;
	rn_host_lock(gpu->host);
	count = ++gpu->bells;
	rn_host_unlock(gpu->host);
	send_tlp(RN_AGENT_CPU, RN_TLP_WRITE, RN_TLP_BELL, (uintptr_t)gpu->bar, &count,
		 sizeof(count));
}

int rn_gpu_doorbell(struct rn_gpu *gpu)
{
	if (rn_gpu_is_gone(gpu))
		return -ENODEV;
	ring_bell(gpu);
	return 0;
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

	/* The thread is started with the lock held, so that a thread that waits for the
	 * end of this kernel finds the kernel in the list.
	 */
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

/* ------------------------------------------ waits for the ends of kernels */
static bool is_write_of(const struct rn_tlp *tlp, const void *arg)
{
	const struct rn_gpu *gpu = arg;

	return tlp->kind == RN_TLP_WRITE && tlp->requester == rn_gpu_agent(gpu);
}

/* Waits for the thread of @k and frees @k, which must not be in a list any more. Then
 * forces all writes of the GPU: a GPU reports the end of a kernel by a write, which is
 * behind the kernel's own writes. Returns 0, or -EFAULT if the kernel faulted.
 */
static int join_kernel(struct rn_gpu_kernel *k)
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

/* Removes the newest kernel of @gpu whose number is in [@from, @to] from the list, and
 * returns it. Returns NULL if there is none.
 */
static struct rn_gpu_kernel *take_kernel(struct rn_gpu *gpu, int64_t from, int64_t to)
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
	k = take_kernel(gpu, kernel, kernel);
	if (!k)
		return rn_gpu_fail(-ENOENT, "GPU %d has no kernel %lld", gpu->number,
				   (long long)kernel);
	return join_kernel(k);
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
	while ((k = take_kernel(gpu, 1, last))) {
		int of_one = join_kernel(k);

		err = err ? err : of_one;
	}
	return err;
}

/* ------------------------------------------------- accesses of kernels */
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

/* Performs one access of the kernel that this thread runs: loads *@value or stores it.
 * Returns 0 or -EFAULT.
 */
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
		return send_tlp(rn_gpu_agent(gpu), is_store ? RN_TLP_WRITE : RN_TLP_READ,
				0, addr, value, size);
	return is_store ? plain_store(addr, size, *value) : plain_load(addr, size, value);
}

/* Like access_memory(), but after an error the kernel counts as failed when it ends.
 * Returns 0 or an error.
 */
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

/* ---------------------------------------------------- polling by kernels */
/* Waits until the memory at @addr has the value, as the GPU whose kernel this thread runs
 * sees it. Polls of host memory issue no TLPs: the result is that of a GPU whose read
 * reaches memory at the moment of the poll. Returns 0, -EFAULT or -ETIMEDOUT.
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
		err = look_first ? plain_load(addr, size, &found)
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
		let_time_pass(gpu);
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
