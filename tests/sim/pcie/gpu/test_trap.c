/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_trap.c - plain accesses and system calls on BAR memory that writes are on their
 * way to.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "gpu_kit.h"
#include "sim/pcie/page/page.h"

static bool is_split; /* the CPU's way does not push the NIC's writes */

static struct rn_gpu_counters counters(void)
{
	struct rn_gpu_counters c;

	rn_gpu_get_counters(&c);
	return c;
}

/* A page with a write on its way to its first word. */
static struct rn_gpu_buffer busy_page(uint64_t value)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);

	gpu_kit_receive(0, b.bar, value);
	return b;
}

static void done(struct rn_gpu_buffer b)
{
	gpu_kit_land_all();
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

/* No handler helps a call that the library does not know. */
static bool can_kernel_read(const char *at)
{
	int fd = memfd_create("trap", MFD_CLOEXEC);
	long n;

	assert_true(fd >= 0);
	n = syscall(SYS_write, fd, at, 8);
	close(fd);
	return n == 8;
}

/* Ranges of two system calls at once, in either order, and pages around them. */
static void test_two_pinned_ranges(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 5 * 4096);
	char *bar = b.bar;

	(void)state;
	for (unsigned first = 1; first <= 3; first += 2) {
		int pin[2];

		pin[0] = rn_page_pin((uintptr_t)bar + first * 4096, 8);
		pin[1] = rn_page_pin((uintptr_t)bar + (4 - first) * 4096, 8);
		assert_true(pin[0] >= 0 && pin[1] >= 0);
		gpu_kit_receive(0, bar + 4 * 4096, 1);
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(can_kernel_read(bar + i * 4096), i % 2);
		rn_page_unpin(pin[0]);
		rn_page_unpin(pin[1]);
		for (unsigned i = 0; i < 5; i++)
			assert_false(can_kernel_read(bar + i * 4096));
		gpu_kit_land_all();
		assert_true(can_kernel_read(bar));
	}
	done(b);
}

static void test_one_trap_per_closing(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 3 * 4096);
	volatile uint64_t *bar = b.bar;
	struct rn_gpu_counters before = counters(), after;

	(void)state;
	assert_int_equal(bar[0], 0);
	gpu_kit_receive(0, b.bar, 1);
	gpu_kit_receive(0, (char *)b.bar + 8192, 2);
	after = counters();
	assert_int_equal(after.closings - before.closings, 1);
	assert_int_equal(after.loads_trapped - before.loads_trapped, 0);
	assert_int_equal(bar[1024], is_split ? 0 : 2);
	assert_int_equal(bar[0], is_split ? 0 : 1);
	after = counters();
	assert_int_equal(after.loads_trapped - before.loads_trapped, 1);
	done(b);
}

/* What is still on its way is pushed by the next load, if something has happened. */
static void test_closed_again_by_the_next_write(void **state)
{
	struct rn_gpu_buffer b = busy_page(1);
	volatile uint64_t *bar = b.bar;
	uint64_t before = counters().loads_trapped;

	(void)state;
	assert_int_equal(bar[0], is_split ? 0 : 1);
	gpu_kit_receive(0, (char *)b.bar + 64, 5);
	assert_int_equal(bar[8], is_split ? 0 : 5);
	assert_int_equal(counters().loads_trapped - before, 2);
	gpu_kit_land_all();
	assert_int_equal(bar[0], 1);
	assert_int_equal(bar[8], 5);
	assert_int_equal(counters().loads_trapped - before, 2);
	done(b);
}

static void test_store_on_closed_page(void **state)
{
	struct rn_gpu_buffer b = busy_page(1);
	volatile uint64_t *bar = b.bar;

	(void)state;
	bar[1] = 2;
	assert_int_equal(bar[1], 2);
	gpu_kit_land_all();
	assert_int_equal(bar[0], 1);
	assert_int_equal(bar[1], 2);
	done(b);
}

/* A load finds the pages closed while the data is in the NIC's queue, where it pushes
 * nothing; then the completion entry pushes the data towards the GPU, and the program
 * sees it.
 */
static struct rn_gpu_buffer open_and_moved_on(void)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 2 * 4096);
	volatile uint64_t *bar = b.bar;
	static uint64_t cqe;

	gpu_kit_nic_write(0, b.bar, 7, RN_TLP_DATA);
	assert_int_equal(bar[512], 0);
	gpu_kit_nic_write(0, &cqe, 1, RN_TLP_CQE);
	return b;
}

/* G10 with the flag in the GPU: a kernel that sees the flag sees the data. */
static void test_store_pushes_what_has_moved_on(void **state)
{
	struct rn_gpu_buffer b = open_and_moved_on();
	volatile uint64_t *bar = b.bar, *dev = b.dev;

	(void)state;
	bar[512] = 1;
	assert_int_equal(dev[512], 1);
	assert_int_equal(dev[0], is_split ? 0 : 7);
	done(b);
}

static void test_load_pushes_what_has_moved_on(void **state)
{
	struct rn_gpu_buffer b = open_and_moved_on();
	volatile uint64_t *bar = b.bar;

	(void)state;
	assert_int_equal(bar[0], is_split ? 0 : 7);
	done(b);
}

/* The same with a driver that moves at random, also within the trapped access. */
static void test_flag_in_device_memory(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 3 * 4096);
	volatile uint64_t *bar = b.bar, *dev = b.dev;
	struct rn_host *h = rn_host_get();
	static uint64_t cqe;

	(void)state;
	for (uint64_t i = 1; i <= 3000; i++) {
		for (unsigned k = 0; k < 4; k++)
			gpu_kit_nic_write(0, (char *)b.bar + 64 * k, i, RN_TLP_DATA);
		if (i % 2)
			bar[1024] = i;
		gpu_kit_nic_write(0, &cqe, i, RN_TLP_CQE);
		if (i % 3)
			bar[1024] = i;
		bar[512] = i;
		assert_int_equal(dev[512], i);
		for (unsigned k = 0; k < 4; k++)
			assert_int_equal(dev[8 * k], i);
		rn_host_lock(h);
		rn_host_step(h, i % 8);
		rn_host_unlock(h);
	}
	done(b);
}

/* ------------------------------------------------------------ system calls */
static uint64_t expected(uint64_t value)
{
	return is_split ? 0 : value;
}

static void test_write_and_read(void **state)
{
	struct rn_gpu_buffer b = busy_page(11);
	uint64_t got = 77, opened = counters().syscalls_opened;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], b.bar, 8), 8);
	assert_int_equal(read(fd[0], &got, 8), 8);
	assert_int_equal(got, expected(11));
	assert_int_equal(counters().syscalls_opened - opened, 1);

	gpu_kit_nic_write(0, (char *)b.bar + 2048, 1, RN_TLP_DATA);
	got = 12;
	assert_int_equal(write(fd[1], &got, 8), 8);
	assert_int_equal(read(fd[0], (char *)b.bar + 8, 8), 8);
	assert_int_equal(rn_gpu_bar_load((char *)b.bar + 8, 8), 12);
	close(fd[0]);
	close(fd[1]);
	done(b);
}

static void test_vectors(void **state)
{
	struct rn_gpu_buffer b = busy_page(21), c = busy_page(22);
	struct iovec iov[] = { { b.bar, 8 }, { c.bar, 8 } };
	uint64_t got[2] = { 77, 77 };
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(writev(fd[1], iov, 2), 16);
	assert_int_equal(read(fd[0], got, 16), 16);
	assert_int_equal(got[0], expected(21));
	assert_int_equal(got[1], expected(22));
	gpu_kit_land_all();
	gpu_kit_nic_write(0, (char *)b.bar + 64, 1, RN_TLP_DATA);
	assert_int_equal(write(fd[1], got, 16), 16);
	assert_int_equal(readv(fd[0], iov, 2), 16);
	assert_int_equal(rn_gpu_bar_load(c.bar, 8), expected(22));
	close(fd[0]);
	close(fd[1]);
	done(b);
	done(c);
}

static void test_files(void **state)
{
	struct rn_gpu_buffer b = busy_page(31);
	int fd = memfd_create("test_trap", MFD_CLOEXEC);
	uint64_t got = 77;
	FILE *file;

	(void)state;
	assert_int_equal(pwrite(fd, b.bar, 4096, 0), 4096);
	assert_int_equal(pread(fd, &got, 8, 0), 8);
	assert_int_equal(got, expected(31));
	gpu_kit_nic_write(0, b.bar, 32, RN_TLP_DATA);
	assert_int_equal(pread(fd, (char *)b.bar + 8, 8, 8), 8);
	gpu_kit_nic_write(0, b.bar, 33, RN_TLP_DATA);
	file = fdopen(fd, "w+");
	assert_non_null(file);
	assert_int_equal(fwrite(b.bar, 4096, 1, file), 1);
	rewind(file);
	gpu_kit_nic_write(0, (char *)b.bar + 64, 34, RN_TLP_DATA);
	assert_int_equal(fread((char *)b.bar + 16, 8, 1, file), 1);
	fclose(file);
	done(b);
}

/* A datagram that the kernel cannot copy would be lost. */
static void test_sockets(void **state)
{
	struct rn_gpu_buffer b = busy_page(41);
	struct iovec iov = { b.bar, 8 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	uint64_t got = 77;
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd), 0);
	assert_int_equal(send(fd[0], b.bar, 8, 0), 8);
	assert_int_equal(recv(fd[1], &got, 8, 0), 8);
	assert_int_equal(got, expected(41));
	gpu_kit_nic_write(0, (char *)b.bar + 64, 1, RN_TLP_DATA);
	assert_int_equal(sendmsg(fd[0], &msg, 0), 8);
	gpu_kit_nic_write(0, (char *)b.bar + 64, 2, RN_TLP_DATA);
	assert_int_equal(recvmsg(fd[1], &msg, 0), 8);
	gpu_kit_nic_write(0, (char *)b.bar + 64, 3, RN_TLP_DATA);
	assert_int_equal(sendto(fd[0], b.bar, 8, 0, NULL, 0), 8);
	gpu_kit_nic_write(0, (char *)b.bar + 64, 4, RN_TLP_DATA);
	assert_int_equal(recvfrom(fd[1], b.bar, 8, 0, NULL, NULL), 8);
	close(fd[0]);
	close(fd[1]);
	done(b);
}

/* What ibv_reg_mr() does first: pages that are closed are there all the same. */
static void test_populate(void **state)
{
	struct rn_gpu_buffer b = busy_page(51);

	(void)state;
	assert_int_equal(madvise(b.bar, 4096, 23 /* MADV_POPULATE_WRITE */), 0);
	done(b);
}

/* errno of a call that fails is the call's. */
static void test_failing_call_keeps_errno(void **state)
{
	struct rn_gpu_buffer b = busy_page(1);

	(void)state;
	errno = 0;
	assert_int_equal(write(-1, b.bar, 8), -1);
	assert_int_equal(errno, EBADF);
	done(b);
}

/* The pages of the buffer stay open during the call, all others do not. */
static void *read_into_bar(void *arg)
{
	int *fd = arg;
	static struct rn_gpu_buffer b;

	b = gpu_kit_alloc(0, 4096);
	if (read(fd[0], b.bar, 1) != 1 || read(fd[0], b.bar, 8) != 8)
		return NULL;
	return &b;
}

static void test_blocked_call_does_not_open_the_rest(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096), *other;
	volatile uint64_t *bar = b.bar;
	pthread_t thread;
	void *result;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_into_bar, fd), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	gpu_kit_receive(0, b.bar, 1);
	assert_int_equal(bar[0], expected(1));
	assert_int_equal(write(fd[1], "12345678", 8), 8);
	pthread_join(thread, &result);
	assert_non_null(result);
	other = result;
	assert_memory_equal(other->bar, "12345678", 8);
	assert_int_equal(rn_gpu_free(other->bar), 0);
	close(fd[0]);
	close(fd[1]);
	done(b);
}

/* --------------------------------------------------- signals of the program */
static sigjmp_buf escape;
static void *seen_addr;

static void on_segv(int sig, siginfo_t *info, void *ctx)
{
	(void)sig;
	(void)ctx;
	seen_addr = info->si_addr;
	siglongjmp(escape, 1);
}

/* The program's own handler sees its own faults and none of the trap's. */
static void test_handler_of_the_program(void **state)
{
	struct sigaction act = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	struct sigaction before;
	char *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);

	(void)state;
	assert_int_equal(sigaction(SIGSEGV, &act, &before), 0);
	gpu_kit_receive(0, b.bar, 1);
	assert_int_equal(*(volatile uint64_t *)b.bar, expected(1));
	assert_null(seen_addr);
	if (!sigsetjmp(escape, 1)) {
		*(volatile char *)hole = 1;
		fail();
	}
	assert_ptr_equal(seen_addr, hole);
	seen_addr = NULL;
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	munmap(hole, 4096);
	done(b);
}

/* ------------------------------------------------------------------ threads */
enum {
	ROUNDS = 2000,
};

static _Atomic bool stop;

static void *deliver(void *arg)
{
	for (uint64_t i = 1; i <= ROUNDS; i++)
		gpu_kit_nic_write(0, (uint64_t *)arg + i % 512, i, RN_TLP_DATA);
	gpu_kit_land_all();
	atomic_store(&stop, true);
	return NULL;
}

static void *watch(void *arg)
{
	uint64_t *words = arg, last[512] = { 0 };
	bool ok = true;

	while (!atomic_load(&stop)) {
		for (unsigned i = 0; i < 512; i += 37) {
			uint64_t now = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);

			ok = ok && now >= last[i];
			last[i] = now;
		}
	}
	return ok ? arg : NULL;
}

/* Every word only grows, for two threads that load while a NIC writes. */
static void test_loads_while_writes_arrive(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	pthread_t writer, reader[2];
	void *result;

	(void)state;
	atomic_store(&stop, false);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&reader[i], NULL, watch, b.bar), 0);
	assert_int_equal(pthread_create(&writer, NULL, deliver, b.bar), 0);
	pthread_join(writer, NULL);
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(reader[i], &result);
		assert_ptr_equal(result, b.bar);
	}
	for (uint64_t i = ROUNDS - 511; i <= ROUNDS; i++)
		assert_int_equal(((uint64_t *)b.bar)[i % 512], i);
	done(b);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_two_pinned_ranges),
	cmocka_unit_test(test_one_trap_per_closing),
	cmocka_unit_test(test_closed_again_by_the_next_write),
	cmocka_unit_test(test_store_on_closed_page),
	cmocka_unit_test(test_store_pushes_what_has_moved_on),
	cmocka_unit_test(test_load_pushes_what_has_moved_on),
	cmocka_unit_test(test_write_and_read),
	cmocka_unit_test(test_vectors),
	cmocka_unit_test(test_files),
	cmocka_unit_test(test_sockets),
	cmocka_unit_test(test_populate),
	cmocka_unit_test(test_failing_call_keeps_errno),
	cmocka_unit_test(test_blocked_call_does_not_open_the_rest),
	cmocka_unit_test(test_handler_of_the_program),
	cmocka_unit_test(test_loads_while_writes_arrive),
};

/* --------------------------------------------------------------------- off */
static void test_off_traps_nothing(void **state)
{
	struct rn_gpu_buffer b = busy_page(1);
	struct rn_gpu_counters c = counters();

	(void)state;
	assert_int_equal(*(volatile uint64_t *)b.bar, 0);
	assert_int_equal(c.closings + c.loads_trapped, 0);
	assert_int_equal(rn_gpu_bar_load(b.bar, 8), 1);
	assert_int_equal(*(volatile uint64_t *)b.bar, 1);
	done(b);
}

static const struct CMUnitTest random_tests[] = {
	cmocka_unit_test(test_flag_in_device_memory),
};

static const struct CMUnitTest off_tests[] = {
	cmocka_unit_test(test_off_traps_nothing),
};

int main(void)
{
	static const char *const pushing[] = {
		"typical" GPU_KIT_HELD,
		"typical,gpu.ordering=none" GPU_KIT_HELD,
		"ibta,place=any" GPU_KIT_HELD,
	};
	static const char *const split[] = {
		"typical,rc.p2p=split" GPU_KIT_HELD,
		"typical,gpu.link=c2c" GPU_KIT_HELD,
		"adversarial" GPU_KIT_HELD,
	};
	int failed = 0;

	rn_page_calls_link();
	for (unsigned i = 0; i < RN_ARRAY_SIZE(pushing); i++)
		failed += gpu_kit_run(pushing[i], tests, RN_ARRAY_SIZE(tests));
	failed += gpu_kit_run("typical,hold=inf,hold.polls=inf", random_tests, 1);
	failed += gpu_kit_run("typical,place=any,hold=50us", random_tests, 1);
	is_split = true;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(split); i++)
		failed += gpu_kit_run(split[i], tests, RN_ARRAY_SIZE(tests));
	setenv("ROCIN_PCIE_TRAP", "off", 1);
	failed += gpu_kit_run("typical" GPU_KIT_HELD, off_tests, 1);
	return failed;
}
