/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* forbid_calls.h - a sandbox like those of containers, in which some system calls fail.
 */
#ifndef RN_TEST_FORBID_CALLS_H
#define RN_TEST_FORBID_CALLS_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Makes the system calls with the numbers @first to @last fail with the errno value @err,
 * from now on, for all threads of the process and for the programs that it starts. If
 * several calls of this function name the same system call, the last one counts. Needs no
 * privilege. Returns 0 or -errno.
 */
static inline int forbid_calls(unsigned first, unsigned last, int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]),
					 .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		    &prog))
		return -errno;
	return 0;
}

/* The system calls of io_uring have the numbers 425 to 427 on every architecture. */
static inline int forbid_uring(int err)
{
	return forbid_calls(SYS_io_uring_setup, SYS_io_uring_register, err);
}

#endif /* RN_TEST_FORBID_CALLS_H */
