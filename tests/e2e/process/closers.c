/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* closers.c - a program that closes descriptors which it has not opened.
 *
 * usage: closers [range|N]
 *
 * Without an argument, it uses close_range(), closefrom(), close() and dup2(), after
 * which the device must still work. With an argument, it uses system calls without libc:
 * it closes all descriptors at once (range), or the N-th one, and opens a file of its own
 * with each number. The device may die then, but the program must not, and its file must
 * not change. Status 3: there is no N-th descriptor.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"

enum {
	MOST = 256,
};

static uint8_t buf[2][4096];
static struct ibv_mr *mr;
static struct loop l;
static bool was_open[MOST]; /* descriptors that were open before the device was opened */
static unsigned seen;

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Returns true if the descriptor belongs to libibverbs, which gives it to the program. */
static bool is_the_librarys(int fd)
{
	return fd == l.ctx->cmd_fd || fd == l.ctx->async_fd;
}

/* Prints what a descriptor is, to explain a failure. */
static void name(int fd)
{
	char path[32], what[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, what, sizeof(what) - 1) > 0)
		printf("%d: %s\n", fd, what);
}

static void open_device(void)
{
	for (int fd = 0; fd < MOST; fd++)
		was_open[fd] = is_open(fd);
	loop_open(&l);
	mr = ibv_reg_mr(l.pd, buf, sizeof(buf),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	EXPECT(mr);
}

static struct loop_request request(void)
{
	return (struct loop_request){ .opcode = IBV_WR_RDMA_WRITE,
				      .local = buf[0],
				      .len = sizeof(buf[0]),
				      .lkey = mr->lkey,
				      .remote = buf[1],
				      .rkey = mr->rkey };
}

static void expect_to_work(void)
{
	struct loop_request r = request();

	memset(buf[0], (int)++seen, sizeof(buf[0]));
	EXPECT(loop_run(&l, &r, NULL) == IBV_WC_SUCCESS);
	EXPECT(memcmp(buf[0], buf[1], sizeof(buf[0])) == 0);
}

/* -------------------------------------------------------------- by functions of libc */
static void nothing_of_the_devices_is_closed(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), ours = 0, status, fd;
	pid_t pid;

	open_device();
	expect_to_work();
	for (fd = 3; fd < MOST; fd++) {
		if (was_open[fd] || !is_open(fd) || is_the_librarys(fd))
			continue;
		ours++;
		name(fd);
		errno = 0;
		EXPECT(close(fd) == -1 && errno == EBADF);
		EXPECT(dup2(null, fd) == -1 && errno == EBUSY);
		EXPECT(dup3(null, fd, O_CLOEXEC) == -1 && errno == EBUSY);
		EXPECT(is_open(fd));
	}
	/* the device has at least a timer, a doorbell, an epoll descriptor and a socket
	 */
	EXPECT(ours >= 4);
	EXPECT(is_open(null));
	expect_to_work();
	/* In a child process, the copies of the descriptors can be closed. */
	pid = fork();
	if (pid == 0) {
		EXPECT(close_range(3, ~0u, 0) == 0);
		for (fd = 3; fd < MOST; fd++)
			EXPECT(!is_open(fd));
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	expect_to_work();
	EXPECT(close_range(3, ~0u, 0) == 0);
	EXPECT(!is_open(null));
	expect_to_work();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	EXPECT(null >= 3);
	closefrom(3);
	EXPECT(!is_open(null));
	for (unsigned i = 0; i < 100; i++)
		expect_to_work();
}

/* ------------------------------------------------------------- by system calls without
 * libc
 */
static void use_and_end(void)
{
	struct loop_request r = request();
	struct ibv_sge sge = { .addr = (uintptr_t)r.local,
			       .length = r.len,
			       .lkey = r.lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)r.remote, r.rkey } },
			   *bad;
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	const clock_t end = clock() + CLOCKS_PER_SEC / 10;

	/* Each request completes. At the latest the device then notices that a descriptor
	 * was closed, and is dead. If the descriptor was not in use any more, it need not
	 * die.
	 */
	while (wc.status == IBV_WC_SUCCESS && clock() < end) {
		EXPECT(ibv_post_send(l.qp[0], &wr, &bad) == 0);
		while (ibv_poll_cq(l.cq, 1, &wc) == 0)
			;
	}
	EXPECT(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR);
	/* Descriptors that libibverbs itself has closed do not count. */
	for (unsigned i = 0; i < 2; i++)
		(void)ibv_destroy_qp(l.qp[i]);
	(void)ibv_dereg_mr(mr);
}

static void close_barely(const char *which)
{
	static const char text[] = "what the program keeps here";
	char found[sizeof(text)];
	int n = strcmp(which, "range") == 0 ? -1 : atoi(which), at = 0;
	bool mine[MOST] = { false };

	open_device();
	expect_to_work();
	for (int fd = 3; fd < MOST; fd++) {
		if (was_open[fd] || !is_open(fd) || is_the_librarys(fd))
			continue;
		if (n >= 0 && at++ != n)
			continue;
		mine[fd] = true;
	}
	if (n >= at)
		exit(3);
	for (int fd = 3; fd < MOST; fd++) {
		int file;

		if (!mine[fd])
			continue;
		/* fails if the device has already closed the descriptor itself */
		(void)syscall(SYS_close, fd);
		file = memfd_create("mine", MFD_CLOEXEC);
		EXPECT(file >= 0 && write(file, text, sizeof(text)) == sizeof(text));
		EXPECT(lseek(file, 0, SEEK_SET) == 0);
		EXPECT(file == fd || syscall(SYS_dup3, file, fd, O_CLOEXEC) == fd);
	}
	use_and_end();
	for (int fd = 3; fd < MOST; fd++) {
		if (!mine[fd])
			continue;
		EXPECT(is_open(fd));
		EXPECT(lseek(fd, 0, SEEK_CUR) == 0);
		EXPECT(lseek(fd, 0, SEEK_END) == sizeof(text));
		EXPECT(pread(fd, found, sizeof(found), 0) == sizeof(text));
		EXPECT(memcmp(found, text, sizeof(text)) == 0);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		close_barely(argv[1]);
	else
		nothing_of_the_devices_is_closed();
	puts("closers: all as it should be");
	return 0;
}
