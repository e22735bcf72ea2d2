/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* deny_call.c - run a program in a sandbox that forbids one system call that Rocin makes.
 *
 * usage: deny_call --list
 *        deny_call CALL EPERM|ENOSYS|ENOMEM|EMFILE|ENOSPC PROGRAM [ARGUMENT...]
 *
 * --list prints the names. Without those that are not in the list (mmap, openat, read,
 * futex and the like) the C library does not start a program. Ends with 77 where there
 * are no such sandboxes.
 */
#include <stdio.h>
#include <string.h>

#include "tests/kit/system/forbid_calls.h"

#define CALL(name)                \
	{                         \
#name, SYS_##name \
	}

/* clang-format off */
static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	/* Calls about sockets */
	CALL(socket), CALL(bind), CALL(connect), CALL(sendmsg), CALL(recvmsg), CALL(sendto),
	CALL(recvfrom), CALL(getsockname), CALL(getsockopt), CALL(setsockopt),
	CALL(socketpair), CALL(listen), CALL(accept4), CALL(shutdown),
	/* waiting and time */
	CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_pwait), CALL(ppoll),
	CALL(eventfd2), CALL(timerfd_create), CALL(timerfd_settime), CALL(signalfd4),
	CALL(sched_yield), CALL(clock_nanosleep),
	/* Calls about memory */
	CALL(memfd_create), CALL(fallocate), CALL(ftruncate), CALL(madvise), CALL(mincore),
	CALL(mlock), CALL(membarrier), CALL(process_vm_readv),
	/* Calls about files */
	CALL(mkdirat), CALL(unlinkat), CALL(symlinkat), CALL(readlinkat), CALL(faccessat),
	CALL(fchmodat), CALL(fchmod), CALL(getdents64), CALL(flock), CALL(fcntl),
	CALL(statx), CALL(dup), CALL(dup3), CALL(pipe2), CALL(pwrite64), CALL(chdir),
	CALL(umask), CALL(ioctl),
	/* processes */
	CALL(clone3), CALL(setsid), CALL(close_range), CALL(getuid), CALL(geteuid),
	CALL(getpid), CALL(prctl), CALL(prlimit64), CALL(rt_sigaction),
	CALL(rt_sigprocmask), CALL(sched_getaffinity), CALL(sched_setaffinity),
	CALL(sched_setscheduler), CALL(sched_getattr), CALL(sched_setattr),
	CALL(pidfd_open), CALL(getrandom), CALL(io_uring_setup), CALL(sigaltstack),
#ifdef SYS_poll /* what older architectures have beside the newer calls */
	CALL(poll), CALL(epoll_wait), CALL(mkdir), CALL(unlink), CALL(symlink),
	CALL(readlink), CALL(access), CALL(chmod), CALL(dup2), CALL(rename), CALL(clone),
#endif
};
/* clang-format on */

static const struct {
	const char *name;
	int err;
} errors[] = { { "EPERM", EPERM },
	       { "ENOSYS", ENOSYS },
	       { "ENOMEM", ENOMEM },
	       { "EMFILE", EMFILE },
	       { "ENOSPC", ENOSPC } };

static int list(void)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		puts(calls[i].name);
	return 0;
}

static int find_error(const char *name)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strcmp(errors[i].name, name) == 0)
			return errors[i].err;
	return 0;
}

int main(int argc, char **argv)
{
	int rc = -EINVAL, err;

	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list();
	err = argc > 3 ? find_error(argv[2]) : 0;
	for (size_t i = 0; err && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, argv[1]) == 0)
			rc = forbid_calls(calls[i].number, calls[i].number, err);
	if (rc) {
		fprintf(stderr, "deny_call: no sandbox: %s\n", strerror(-rc));
		return rc == -EINVAL ? 64 : 77;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
