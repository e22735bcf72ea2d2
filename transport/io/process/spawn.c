/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* spawn.c - starts a program without fork(); see spawn.h.
 *
 * fork() cannot be used: it runs the program's atfork handlers, copies its page tables
 * and makes a child that the program's wait() finds. Instead two clones share the memory
 * of this process (as vfork does) until the second has called execve():
 *
 *   this thread --clone--> middle --clone--> program
 *    (suspended)         (suspended)       dup2, execve
 *
 * The process "middle" has exit signal 0, so it causes no SIGCHLD, and only a wait with
 * __WCLONE finds it; rn_spawn() does that at once. When it ends, the new program becomes
 * an orphan. (A single clone with exit signal 0 would not do: execve() sets the exit
 * signal to SIGCHLD.)
 *
 * Until execve() the clones use the memory of this process, errno included, with all
 * signals blocked, and make system calls only through syscall(), which no sanitizer or
 * interposer replaces.
 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ON_SHARED_MEMORY __attribute__((no_sanitize("address", "thread", "undefined")))

/* Bytes of stack for each clone, which calls little more than syscall(). */
static const size_t CLONE_STACK = 64 * (size_t)1024;

/* The name of clone() that ThreadSanitizer does not intercept. It would take each clone
 * for a fork(), and do what it does after a fork twice in the memory that the clones
 * share.
 */
// NOLINTNEXTLINE(cert-dcl51-cpp): glibc's own name
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

struct clones {
	const struct rn_spawn *spawn;
	/* Top of the stack, which grows down on every supported machine. */
	char *program_stack;
	volatile int error; /* errno of the step that failed, or 0 */
};

ON_SHARED_MEMORY static int run_program(void *arg)
{
	struct clones *c = arg;

	for (int fd = 0; fd < c->spawn->fd_count; fd++)
		if (syscall(SYS_dup3, c->spawn->fds[fd], fd, 0) < 0)
			goto err;
	syscall(SYS_execve, c->spawn->path, c->spawn->argv, c->spawn->envp);
err:
	c->error = errno;
	syscall(SYS_exit_group, 1);
	return 1;
}

ON_SHARED_MEMORY static int run_middle(void *arg)
{
	struct clones *c = arg;

	syscall(SYS_setsid);
	if (__clone(run_program, c->program_stack, CLONE_VM | CLONE_VFORK, c) < 0)
		c->error = errno;
	syscall(SYS_exit_group, 0);
	return 0;
}

/* Set the signal mask of the kernel to @mask. pthread_sigmask() never blocks the two
 * signals that the C library reserves for itself. Their handlers must not run in a clone
 * either, because it shares the memory of this process.
 */
static void set_signal_mask(uint64_t mask, uint64_t *before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, before, sizeof(mask));
}

int rn_spawn(const struct rn_spawn *s)
{
	struct clones c = { .spawn = s };
	uint64_t before;
	pid_t middle;
	char *stacks = mmap(NULL, 2 * CLONE_STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	int rc = 0;

	if (stacks == MAP_FAILED)
		return -errno;
	c.program_stack = stacks + 2 * CLONE_STACK;
	set_signal_mask(~UINT64_C(0), &before);
	middle = __clone(run_middle, stacks + CLONE_STACK, CLONE_VM | CLONE_VFORK, &c);
	if (middle < 0)
		rc = -errno;
	set_signal_mask(before, NULL);
	if (middle >= 0) {
		while (waitpid(middle, NULL, (int)__WCLONE) < 0 && errno == EINTR)
			;
		rc = -c.error;
	}
	munmap(stacks, 2 * CLONE_STACK);
	return rc;
}

/* ----------------------------------------- descriptors for the new program */
/* Replaces @fd, which is closed, by a copy whose number is above those of the new
 * program's descriptors. So the later dup3() to its final number always makes a new
 * copy, which is not close-on-exec. Returns 0 with the new descriptor in @out, or -errno
 * with -1 in @out.
 */
static int keep_raised(int fd, int *out)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, RN_SPAWN_FDS);
	int rc = high < 0 ? -errno : 0;

	close(fd);
	*out = high < 0 ? -1 : high;
	return rc;
}

int rn_spawn_null(int *fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);

	*fd = -1;
	return null < 0 ? -errno : keep_raised(null, fd);
}

int rn_spawn_pipe(int *read_fd, int *write_fd, int flags)
{
	int ends[2], rc;

	*read_fd = *write_fd = -1;
	if (pipe2(ends, O_CLOEXEC | flags) < 0)
		return -errno;
	rc = keep_raised(ends[0], read_fd);
	if (rc == 0)
		return keep_raised(ends[1], write_fd);
	close(ends[1]);
	return rc;
}
