/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_event.c - the writing end of an event pipe. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "provider/verbs/object/event.h"
#include "tests/kit/system/wrap_syscall.h"

enum {
	LEN = 8
};

static uint64_t object_a, object_b;

static uint64_t name_of(const void *object)
{
	return (uintptr_t)object;
}

static int open_nonblock(struct rnp_event_pipe *pipe)
{
	int fd = rnp_event_pipe_open(pipe, LEN);

	assert_true(fd > 2);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

static void put(struct rnp_event_pipe *pipe, const void *object)
{
	uint64_t record = name_of(object);

	assert_true(rnp_event_pipe_write(pipe, &record));
}

static uint64_t take(int fd)
{
	uint64_t record = 0;

	assert_int_equal(read(fd, &record, sizeof(record)), sizeof(record));
	return record;
}

static void assert_empty(int fd)
{
	uint64_t record;

	assert_int_equal(read(fd, &record, sizeof(record)), -1);
	assert_int_equal(errno, EAGAIN);
}

static void records_are_read_in_the_order_written(void **state)
{
	struct rnp_event_pipe pipe;
	int fd = open_nonblock(&pipe);

	(void)state;
	put(&pipe, &object_a);
	put(&pipe, &object_b);
	assert_int_equal(take(fd), name_of(&object_a));
	assert_int_equal(take(fd), name_of(&object_b));
	assert_empty(fd);
	rnp_event_pipe_close(&pipe);
	close(fd);
}

static void purge_takes_out_one_object_and_keeps_the_order_of_the_others(void **state)
{
	struct rnp_event_pipe pipe;
	int fd = open_nonblock(&pipe);

	(void)state;
	for (uintptr_t i = 0; i < 3000; i++)
		put(&pipe, i % 3 ? (void *)(i << 4) : &object_a);
	assert_int_equal(rnp_event_pipe_purge(&pipe, &object_a), 1000);
	for (uintptr_t i = 0; i < 3000; i++)
		if (i % 3)
			assert_int_equal(take(fd), i << 4);
	assert_empty(fd);
	rnp_event_pipe_close(&pipe);
	close(fd);
}

static void purge_of_an_empty_pipe_does_not_wait(void **state)
{
	struct rnp_event_pipe pipe;
	int fd = rnp_event_pipe_open(&pipe, LEN); /* the program's end is blocking */

	(void)state;
	assert_int_equal(rnp_event_pipe_purge(&pipe, &object_a), 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	rnp_event_pipe_close(&pipe);
	close(fd);
}

/* Writes @record until the pipe has no room. Returns the number of written records. */
static unsigned fill(struct rnp_event_pipe *pipe, uint64_t record)
{
	unsigned written = 0;

	while (rnp_event_pipe_write(pipe, &record))
		written++;
	/* A new pipe has 64 KiB. The provider asks for more, which an unprivileged
	 * process gets up to a limit.
	 */
	assert_in_range(written, 65536 / LEN, 1 << 20);
	return written;
}

static void a_full_pipe_grows_and_then_refuses_without_waiting(void **state)
{
	struct rnp_event_pipe pipe;
	int fd = rnp_event_pipe_open(&pipe, LEN);

	(void)state;
	fill(&pipe, name_of(&object_a));
	take(fd);
	rnp_event_pipe_close(&pipe);
	close(fd);
}

static void an_attached_pipe_is_written_whatever_the_owner_sets(void **state)
{
	struct rnp_event_pipe pipe;
	int fd = rnp_event_fd_new();

	(void)state;
	assert_true(fd > 2);
	assert_int_equal(rnp_event_pipe_attach(&pipe, fd, LEN), 0);
	put(&pipe, &object_a);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	put(&pipe, &object_b);
	assert_int_equal(rnp_event_pipe_purge(&pipe, &object_a), 1);
	assert_int_equal(take(fd), name_of(&object_b));
	assert_empty(fd);
	rnp_event_pipe_close(&pipe);
	/* The pipe's close has left the program's descriptor open. */
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	close(fd);
}

/* ------------------------------------------------- two readers while one object goes */
enum {
	ROUNDS = 2000,
	OTHERS_PER_ROUND = 3
};

struct readers {
	int fd;
	atomic_uint of_a, of_others;
};

static void *read_until_zero(void *arg)
{
	struct readers *r = arg;
	uint64_t record;

	while (read(r->fd, &record, sizeof(record)) == sizeof(record) && record) {
		if (record == name_of(&object_a))
			atomic_fetch_add(&r->of_a, 1);
		else
			atomic_fetch_add(&r->of_others, 1);
	}
	return NULL;
}

static void no_record_is_lost_or_doubled_between_readers_and_purges(void **state)
{
	struct rnp_event_pipe pipe;
	struct readers r = { .fd = rnp_event_pipe_open(&pipe, LEN) };
	pthread_t thread[2];
	unsigned purged = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, read_until_zero, &r),
				 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		put(&pipe, &object_a);
		for (unsigned k = 0; k < OTHERS_PER_ROUND; k++)
			put(&pipe, &object_b);
		purged += rnp_event_pipe_purge(&pipe, &object_a);
	}
	put(&pipe, NULL);
	put(&pipe, NULL);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(atomic_load(&r.of_a) + purged, ROUNDS);
	assert_int_equal(atomic_load(&r.of_others), ROUNDS * OTHERS_PER_ROUND);
	rnp_event_pipe_close(&pipe);
	close(r.fd);
}

/* as if /proc were not mounted, so that the pipe cannot be opened a second time */
static bool no_proc;
static unsigned signals;      /* number of the next writes that a signal interrupts */
static unsigned read_signals; /* number of the next reads that a signal interrupts */

static bool answer_syscall(long number, long arg[KIT_SYSCALL_ARGS], long *rc)
{
	(void)arg;
	if (number == SYS_write && signals > 0) {
		signals--;
		errno = EINTR;
		*rc = -1;
		return true;
	}
	if (number == SYS_read && read_signals > 0) {
		read_signals--;
		errno = EINTR;
		*rc = -1;
		return true;
	}
	if (number == SYS_openat && no_proc) {
		errno = ENOENT;
		*rc = -1;
		return true;
	}
	return false;
}

static void a_record_is_written_though_a_signal_comes(void **state)
{
	struct rnp_event_pipe pipe;
	int fd = open_nonblock(&pipe);

	(void)state;
	signals = 2;
	errno = 0;
	put(&pipe, &object_a);
	assert_int_equal(errno, 0);
	assert_int_equal(signals, 0);
	assert_int_equal(take(fd), name_of(&object_a));
	assert_empty(fd);
	rnp_event_pipe_close(&pipe);
	close(fd);
}

static void a_purge_goes_on_though_a_signal_comes(void **state)
{
	struct rnp_event_pipe pipe;
	int fd = open_nonblock(&pipe);

	(void)state;
	put(&pipe, &object_a);
	put(&pipe, &object_b);
	read_signals = 2;
	errno = 0;
	assert_int_equal(rnp_event_pipe_purge(&pipe, &object_a), 1);
	assert_int_equal(errno, 0);
	assert_int_equal(read_signals, 0);
	assert_int_equal(take(fd), name_of(&object_b));
	assert_empty(fd);
	rnp_event_pipe_close(&pipe);
	close(fd);
}

/* ------------------------------------------------------------------- without /proc */
static int mount_proc(void **state)
{
	(void)state;
	no_proc = false;
	return 0;
}

static int unmount_proc(void **state)
{
	(void)state;
	no_proc = true;
	return 0;
}

/* The file description is shared with the program, so that a purge must leave O_NONBLOCK
 * as the program has set it.
 */
static void assert_purged_with_flags_kept(struct rnp_event_pipe *pipe, int fd, int flag)
{
	assert_int_equal(fcntl(fd, F_SETFL, flag), 0);
	assert_int_equal(rnp_event_pipe_purge(pipe, &object_a), 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, flag);
	put(pipe, &object_a);
	put(pipe, &object_b);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, flag);
	assert_int_equal(rnp_event_pipe_purge(pipe, &object_a), 1);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, flag);
	assert_int_equal(take(fd), name_of(&object_b));
}

static void a_purge_leaves_the_flags_of_a_shared_pipe_alone(void **state)
{
	struct rnp_event_pipe pipe;
	int fd = rnp_event_pipe_open(&pipe, LEN);

	(void)state;
	assert_true(fd > 2);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_purged_with_flags_kept(&pipe, fd, 0);
	assert_purged_with_flags_kept(&pipe, fd, O_NONBLOCK);
	rnp_event_pipe_close(&pipe);
	close(fd);
}

static void so_does_a_purge_of_an_attached_one(void **state)
{
	struct rnp_event_pipe pipe;
	int fd;

	no_proc = false;
	fd = rnp_event_fd_new();
	unmount_proc(state);
	assert_int_equal(rnp_event_pipe_attach(&pipe, fd, LEN), 0);
	assert_purged_with_flags_kept(&pipe, fd, 0);
	assert_purged_with_flags_kept(&pipe, fd, O_NONBLOCK);
	rnp_event_pipe_close(&pipe);
	assert_empty(fd); /* the program's descriptor is still open */
	close(fd);
}

/* Without a second description the provider writes to one that the program may make
 * blocking. It must refuse a record for which the pipe has no room, and not wait.
 */
static void a_full_shared_pipe_refuses_without_waiting(void **state)
{
	struct rnp_event_pipe pipe;
	int fd = rnp_event_pipe_open(&pipe, LEN);
	uint64_t record = name_of(&object_a);
	unsigned written;

	(void)state;
	written = fill(&pipe, record);
	assert_int_equal(rnp_event_pipe_purge(&pipe, &object_a), written);
	assert_true(rnp_event_pipe_write(&pipe, &record));
	assert_int_equal(take(fd), record);
	rnp_event_pipe_close(&pipe);
	close(fd);
}

#define NO_PROC(name) cmocka_unit_test_setup_teardown(name, unmount_proc, mount_proc)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_read_in_the_order_written),
		cmocka_unit_test(
			purge_takes_out_one_object_and_keeps_the_order_of_the_others),
		cmocka_unit_test(purge_of_an_empty_pipe_does_not_wait),
		cmocka_unit_test(a_full_pipe_grows_and_then_refuses_without_waiting),
		cmocka_unit_test(an_attached_pipe_is_written_whatever_the_owner_sets),
		cmocka_unit_test(a_record_is_written_though_a_signal_comes),
		cmocka_unit_test(a_purge_goes_on_though_a_signal_comes),
		NO_PROC(a_purge_leaves_the_flags_of_a_shared_pipe_alone),
		NO_PROC(so_does_a_purge_of_an_attached_one),
		NO_PROC(a_full_shared_pipe_refuses_without_waiting),
		cmocka_unit_test(no_record_is_lost_or_doubled_between_readers_and_purges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
