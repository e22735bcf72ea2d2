/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pin.c - the limit on pinned memory that a kernel driver would enforce, and the time
 * that pinning takes (ROCIN_PIN).
 *
 * A real driver has the kernel pin the pages of a region while the region is registered.
 * The kernel does so at the registration and counts them for the whole process
 * (mm->pinned_vm). ib_umem_get() refuses a registration with which that count exceeds
 * RLIMIT_MEMLOCK, unless the caller has CAP_IPC_LOCK. Rocin pins nothing; with
 * ROCIN_PIN=limit it counts and refuses by the same rules. The count lives in the page
 * that a fork() child gets zeroed, as a child of a real driver has no pins either.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine_internal.h"
#include "transport/io/host/log.h"

/* Inode of the initial user namespace: PROC_USER_INIT_INO of the kernel. */
#define INITIAL_USER_NAMESPACE 0xEFFFFFFDu

/* Does the calling thread have CAP_IPC_LOCK in the initial user namespace, which is what
 * capable() of the kernel asks? Root of a rootless container has it only in its
 * own namespace.
 */
static bool has_ipc_lock(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	struct stat ns;

	if (syscall(SYS_capget, &head, data) || !(data[0].effective & 1u << CAP_IPC_LOCK))
		return false;
	return stat("/proc/self/ns/user", &ns) || ns.st_ino == INITIAL_USER_NAMESPACE;
}

/* Returns the limit in bytes; UINT64_MAX: there is none. */
static uint64_t pin_limit(const struct rnp_settings *set)
{
	struct rlimit limit;

	if (set->pin_has_size)
		return set->pin_size;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    has_ipc_lock())
		return UINT64_MAX;
	return limit.rlim_cur;
}

static void log_refusal(const struct rnp_engine *e, uint64_t pages, uint64_t pinned,
			uint64_t limit)
{
	const unsigned long long kib = (unsigned long long)sysconf(_SC_PAGESIZE) / 1024;
	const char *remedy =
		"raise it by ulimit -l, memlock in /etc/security/limits.conf "
		"or LimitMEMLOCK= of systemd, or register less";

	if (e->set.pin_has_size)
		remedy = "ROCIN_PIN (--pin) sets it";
	rn_log(RN_LOG_ERROR,
	       "%s: %llu KiB cannot be pinned: %llu KiB are, and the limit is %llu KiB; "
	       "%s",
	       e->netdev.ibdev, pages * kib, pinned * kib,
	       (unsigned long long)limit / 1024, remedy);
}

uint64_t rnp_pin_pages(uint64_t addr, uint64_t len)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t first = addr / page;

	/* A region of 0 bytes counts as one page, except that it counts as none if its
	 * address is the start of a page.
	 */
	return (addr + len + page - 1) / page - first;
}

int rnp_engine_pin(struct rnp_engine *e, uint64_t pages)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t limit, after;

	if (!e->set.pin_limited || pages == 0)
		return 0;
	limit = pin_limit(&e->set);
	after = atomic_fetch_add(&e->process->pinned, pages) + pages;
	if (limit == UINT64_MAX || after <= limit / page)
		return 0;
	atomic_fetch_sub(&e->process->pinned, pages);
	log_refusal(e, pages, after - pages, limit);
	/* Like the kernel's can_do_mlock(), reports a limit of 0 as a missing permission.
	 */
	return limit == 0 ? -EPERM : -ENOMEM;
}

void rnp_engine_unpin(struct rnp_engine *e, uint64_t pages)
{
	/* Pages that the parent process has pinned do not count in its child. */
	if (!e->set.pin_limited || rnp_engine_forked(e))
		return;
	assert(atomic_load(&e->process->pinned) >= pages);
	atomic_fetch_sub(&e->process->pinned, pages);
}

void rnp_engine_await_pinning(const struct rnp_engine *e, uint64_t pages, rn_ns begun)
{
	const uint64_t most = (uint64_t)RNP_PIN_WAIT_MAX / (e->set.pin_page_ns ?: 1);
	struct timespec until;
	rn_ns end;
	int cancel;

	if (!e->set.pin_page_ns)
		return;
	end = begun + (rn_ns)((pages < most ? pages : most) * e->set.pin_page_ns);
	until = (struct timespec){ .tv_sec = end / RN_MSEC(1000),
				   .tv_nsec = end % RN_MSEC(1000) };
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	pthread_setcancelstate(cancel, NULL);
}
