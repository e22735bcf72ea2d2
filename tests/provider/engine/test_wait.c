/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_wait.c - the sleep of the background thread, with epoll and with io_uring.
 *
 * The test's own thread sleeps. Another thread does what must happen meanwhile; it gets
 * the lock only when the first thread releases it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "provider/engine/engine_internal.h"
#include "tests/kit/system/io_kind.h"

enum {
	WAKE,
	A,
	B,
};

static struct rnp_wait wait_set;
static struct rnp_lock lock;
static int wake_fd, a, b;
static bool by_uring;

/* ------------------------------------------------- failures of io_uring */
static int submit_fails; /* error (-errno) of the call; 0: it succeeds */

int __real_rn_uring_submit(struct rn_uring *u, unsigned ends);
int __wrap_rn_uring_submit(struct rn_uring *u, unsigned ends);

int __wrap_rn_uring_submit(struct rn_uring *u, unsigned ends)
{
	return submit_fails ? submit_fails : __real_rn_uring_submit(u, ends);
}

static unsigned
	/* number of cancellations that do not find the request, because it is just ending
	 */
	unpolls_missed;

bool __real_rn_uring_unpoll(struct rn_uring *u, uint64_t which, uint64_t tag);
bool __wrap_rn_uring_unpoll(struct rn_uring *u, uint64_t which, uint64_t tag);

bool __wrap_rn_uring_unpoll(struct rn_uring *u, uint64_t which, uint64_t tag)
{
	if (unpolls_missed == 0)
		return __real_rn_uring_unpoll(u, which, tag);
	unpolls_missed--;
	return __real_rn_uring_unpoll(u, UINT64_MAX - 1, tag);
}

/* --------------------------------------------------------------------------- setup */
static int setup(void **state)
{
	char why[300] = "";

	(void)state;
	submit_fails = 0;
	unpolls_missed = 0;
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	a = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(wake_fd >= 0 && a >= 0 && b >= 0);
	rnp_lock_take(&lock);
	assert_int_equal(rnp_wait_open(&wait_set, wake_fd, by_uring, why, sizeof(why)),
			 0);
	assert_int_equal(rnp_wait_add(&wait_set, wake_fd, WAKE, true), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rnp_wait_end(&wait_set, &lock);
	rnp_wait_close(&wait_set);
	rnp_lock_give(&lock);
	close(wake_fd);
	close(a);
	close(b);
	return 0;
}

static void ring(int fd)
{
	assert_int_equal(eventfd_write(fd, 1), 0);
}

static void empty(int fd)
{
	eventfd_t value;

	assert_int_equal(eventfd_read(fd, &value), 0);
}

static void add(int fd, unsigned tag, bool on)
{
	assert_int_equal(rnp_wait_add(&wait_set, fd, tag, on), 0);
}

/* Sleeps, and returns the tags of the sources that have woken it, without that for
 * changes, which only io_uring has.
 */
static uint32_t await(void)
{
	uint32_t tags = 0;

	while (!tags) {
		tags = rnp_wait_sleep(&wait_set, &lock);
		if (tags & 1u << WAKE)
			empty(wake_fd);
		tags &= ~(1u << WAKE);
	}
	return tags;
}

struct deed {
	pthread_t thread;
	void (*what)(void);
};

static void *act(void *arg)
{
	const struct deed *d = arg;

	rnp_lock_take(&lock);
	d->what();
	rnp_lock_give(&lock);
	return NULL;
}

/* Sleeps while another thread calls @what. */
static uint32_t await_while(void (*what)(void))
{
	struct deed d = { .what = what };
	uint32_t tags;

	assert_int_equal(pthread_create(&d.thread, NULL, act, &d), 0);
	tags = await();
	rnp_lock_give(&lock);
	pthread_join(d.thread, NULL);
	rnp_lock_take(&lock);
	return tags;
}

/* --------------------------------------------------------------------------- tests */
static void what_is_readable_is_told_by_its_tag(void **state)
{
	(void)state;
	add(a, A, true);
	add(b, B, true);
	ring(b);
	assert_int_equal(await(), 1u << B);
	empty(b);
	ring(a);
	assert_int_equal(await(), 1u << A);
}

static void what_is_not_read_to_its_end_wakes_again(void **state)
{
	(void)state;
	add(a, A, true);
	ring(a);
	for (int i = 0; i < 3; i++)
		assert_int_equal(await(), 1u << A);
}

static void ring_a(void)
{
	ring(a);
}

static void a_descriptor_wakes_a_sleeper(void **state)
{
	(void)state;
	add(a, A, true);
	assert_int_equal(await_while(ring_a), 1u << A);
}

static void add_b(void)
{
	add(b, B, true);
}

static void what_is_added_while_it_sleeps_is_heard(void **state)
{
	(void)state;
	add(a, A, true);
	ring(b);
	assert_int_equal(await_while(add_b), 1u << B);
}

static void what_is_off_is_not_told(void **state)
{
	(void)state;
	add(a, A, false);
	add(b, B, true);
	ring(a);
	ring(b);
	assert_int_equal(await(), 1u << B);
	rnp_wait_switch(&wait_set, b, false);
	rnp_wait_switch(&wait_set, a, true);
	assert_int_equal(await(), 1u << A);
}

static void ring_a_switch_off_ring_b(void)
{
	rnp_wait_switch(&wait_set, a, false);
	ring(a);
	ring(b);
}

/* io_uring then has a request for the source, which ends. */
static void what_is_switched_off_while_it_sleeps_is_not_told(void **state)
{
	(void)state;
	add(a, A, true);
	add(b, B, true);
	assert_int_equal(await_while(ring_a_switch_off_ring_b), 1u << B);
	empty(b);
	rnp_wait_switch(&wait_set, a, true);
	assert_int_equal(await(), 1u << A);
}

static void switch_a_on(void)
{
	rnp_wait_switch(&wait_set, a, true);
}

/* The hand-over to the background thread: data that came before it waits for the source
 * must be found.
 */
static void what_is_switched_on_while_it_sleeps_is_looked_at(void **state)
{
	(void)state;
	add(a, A, false);
	ring(a);
	assert_int_equal(await_while(switch_a_on), 1u << A);
	empty(a);
	rnp_wait_switch(&wait_set, a, false);
	ring(a);
	assert_int_equal(await_while(switch_a_on), 1u << A);
}

/* Returns the number of descriptors in the epoll set. */
static unsigned members(void)
{
	char path[64], line[256];
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", wait_set.epoll_fd);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strncmp(line, "tfd:", 4) == 0;
	fclose(f);
	return n;
}

static void what_rests_is_out_of_the_set_until_it_is_switched_on(void **state)
{
	(void)state;
	if (by_uring)
		return;
	add(a, A, true);
	add(b, B, true);
	rnp_wait_switch(&wait_set, a, false);
	assert_int_equal(members(), 3);
	for (int i = 0; i < 2; i++) {
		rnp_wait_rest(&wait_set);
		assert_int_equal(members(), 2);
	}
	assert_int_equal(rnp_wait_switch(&wait_set, a, false), 0);
	assert_int_equal(members(), 2);
	ring(a);
	ring(b);
	assert_int_equal(await(), 1u << B);
	empty(b);
	assert_int_equal(await_while(switch_a_on), 1u << A);
	assert_int_equal(members(), 3);
	rnp_wait_switch(&wait_set, a, false);
	rnp_wait_rest(&wait_set);
	rnp_wait_remove(&wait_set, a);
	add(a, B, true);
	assert_int_equal(await(), 1u << B);
}

/* epoll has no memory to add the source again. */
static void what_is_not_taken_back_is_off_and_may_be_tried_again(void **state)
{
	int keep = dup(a), file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(keep >= 0 && file >= 0);
	add(a, A, false);
	rnp_wait_rest(&wait_set);
	if (!by_uring) {
		assert_int_equal(dup2(file, a), a);
		assert_int_equal(rnp_wait_switch(&wait_set, a, true), -EPERM);
		assert_int_equal(members(), 1);
		assert_int_equal(dup2(keep, a), a);
	}
	ring(a);
	assert_int_equal(await_while(switch_a_on), 1u << A);
	close(keep);
	close(file);
}

static void a_descriptor_is_added_once(void **state)
{
	(void)state;
	add(a, A, true);
	assert_int_equal(rnp_wait_add(&wait_set, a, B, true), -EEXIST);
	rnp_wait_remove(&wait_set, a);
	add(a, B, true);
	ring(a);
	assert_int_equal(await(), 1u << B);
}

/* ------------------------------------------------------------------ descriptors go */
static struct sockaddr_in addr;

static int try_bind(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	assert_int_equal(errno, EADDRINUSE);
	close(fd);
	return -1;
}

static int sock;

static void open_socket(void)
{
	socklen_t len = sizeof(addr);

	addr = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	sock = try_bind();
	assert_true(sock >= 0);
	assert_int_equal(getsockname(sock, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(try_bind(), -1);
}

static void close_socket_ring_a(void)
{
	rnp_wait_remove(&wait_set, sock);
	close(sock);
	ring(a);
}

/* A request of io_uring that is still active would keep the socket, and so its port. */
static void a_socket_that_is_removed_gives_up_its_port(void **state)
{
	(void)state;
	open_socket();
	add(sock, B, true);
	add(a, A, true);
	assert_int_equal(await_while(close_socket_ring_a), 1u << A);
	/* cancels the request, and learns that it has ended */
	for (int i = 0; i < 3; i++)
		assert_int_equal(await(), 1u << A);
	sock = try_bind();
	assert_true(sock >= 0);
	add(sock, B, true);
	empty(a);
	assert_int_equal(sendto(sock, "x", 1, 0, (struct sockaddr *)&addr, sizeof(addr)),
			 1);
	assert_int_equal(await(), 1u << B);
	rnp_wait_remove(&wait_set, sock);
	close(sock);
}

static void the_end_gives_up_all_ports(void **state)
{
	(void)state;
	open_socket();
	add(sock, B, true);
	add(a, A, true);
	ring(a);
	assert_int_equal(await(), 1u << A);
	rnp_wait_end(&wait_set, &lock);
	rnp_wait_close(&wait_set);
	close(sock);
	sock = try_bind();
	assert_true(sock >= 0);
	close(sock);
}

/* More sources than the set has room for, but not at the same time. */
static void many_come_and_go(void **state)
{
	int fd[RNP_WAIT_MAX / 2];

	(void)state;
	add(a, A, true);
	ring(a);
	for (int round = 0; round < 4; round++) {
		for (unsigned i = 0; i < RN_ARRAY_SIZE(fd); i++) {
			fd[i] = eventfd(0, EFD_CLOEXEC);
			add(fd[i], B, true);
		}
		assert_int_equal(await(), 1u << A);
		for (unsigned i = 0; i < RN_ARRAY_SIZE(fd); i++) {
			rnp_wait_remove(&wait_set, fd[i]);
			close(fd[i]);
		}
		for (int i = 0; i < 3; i++)
			assert_int_equal(await(), 1u << A);
	}
}

/* Another thread has read the packet: the request is woken, finds nothing and waits
 * again. The cancellation came in between, so it must be repeated.
 */
static void a_request_that_was_not_cancelled_is_cancelled_again(void **state)
{
	(void)state;
	add(a, A, true);
	add(b, B, true);
	ring(a);
	assert_int_equal(await(), 1u << A);
	empty(a);
	unpolls_missed = 2;
	rnp_wait_remove(&wait_set, b);
	ring(a);
	assert_int_equal(await(), 1u << A);
	rnp_wait_end(&wait_set, &lock);
	assert_int_equal(unpolls_missed, by_uring ? 0 : 2);
}

static void switch_b_on(void)
{
	rnp_wait_switch(&wait_set, b, true);
}

/* A program may forbid itself io_uring later, by a sandbox. */
static void the_set_goes_on_by_epoll_when_io_uring_fails(void **state)
{
	(void)state;
	if (!by_uring)
		return;
	add(a, A, true);
	add(b, B, false);
	ring(a);
	assert_int_equal(await(), 1u << A);
	empty(a);
	ring(b);
	submit_fails = -EPERM;
	assert_int_equal(rnp_wait_sleep(&wait_set, &lock), 0);
	assert_null(wait_set.uring);
	assert_int_equal(await_while(ring_a), 1u << A);
	empty(a);
	assert_int_equal(await_while(switch_b_on), 1u << B);
}

static uint32_t nap_began;

static void call(void)
{
	rnp_wait_call(&wait_set);
}

/* A call ends the nap even if it comes before the nap; other calls have no effect. */
static void a_call_ends_a_nap(void **state)
{
	struct deed d = { .what = call };

	(void)state;
	rnp_wait_call(&wait_set);
	assert_int_equal(wait_set.calls, 0);
	nap_began = rnp_wait_nap_begin(&wait_set);
	assert_int_equal(pthread_create(&d.thread, NULL, act, &d), 0);
	rnp_lock_give(&lock);
	rnp_wait_nap(&wait_set, nap_began, RN_MSEC(3600000));
	rnp_lock_take(&lock);
	rnp_wait_nap_end(&wait_set);
	assert_int_equal(wait_set.calls, nap_began + 1);
	pthread_join(d.thread, NULL);
}

/* The thread has run, so it may have received what the napping program waits for. */
static void who_goes_to_sleep_ends_naps(void **state)
{
	(void)state;
	nap_began = rnp_wait_nap_begin(&wait_set);
	add(a, A, true);
	ring(a);
	assert_int_equal(await(), 1u << A);
	rnp_wait_nap(&wait_set, nap_began, RN_MSEC(3600000));
	rnp_wait_nap_end(&wait_set);
	assert_int_equal(wait_set.nappers, 0);
}

static void a_nap_ends_by_itself(void **state)
{
	(void)state;
	nap_began = rnp_wait_nap_begin(&wait_set);
	rnp_wait_nap(&wait_set, nap_began, RN_MSEC(1));
	rnp_wait_nap_end(&wait_set);
	assert_int_equal(wait_set.calls, nap_began);
}

int main(void)
{
	struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_readable_is_told_by_its_tag),
		cmocka_unit_test(what_is_not_read_to_its_end_wakes_again),
		cmocka_unit_test(a_descriptor_wakes_a_sleeper),
		cmocka_unit_test(what_is_added_while_it_sleeps_is_heard),
		cmocka_unit_test(what_is_off_is_not_told),
		cmocka_unit_test(what_is_switched_off_while_it_sleeps_is_not_told),
		cmocka_unit_test(what_is_switched_on_while_it_sleeps_is_looked_at),
		cmocka_unit_test(what_rests_is_out_of_the_set_until_it_is_switched_on),
		cmocka_unit_test(what_is_not_taken_back_is_off_and_may_be_tried_again),
		cmocka_unit_test(a_descriptor_is_added_once),
		cmocka_unit_test(a_socket_that_is_removed_gives_up_its_port),
		cmocka_unit_test(the_end_gives_up_all_ports),
		cmocka_unit_test(many_come_and_go),
		cmocka_unit_test(a_request_that_was_not_cancelled_is_cancelled_again),
		cmocka_unit_test(the_set_goes_on_by_epoll_when_io_uring_fails),
		cmocka_unit_test(a_call_ends_a_nap),
		cmocka_unit_test(who_goes_to_sleep_ends_naps),
		cmocka_unit_test(a_nap_ends_by_itself),
	};
	int missing = io_missing();

	if (missing)
		return missing;
	by_uring = io_by_uring();
	for (unsigned i = 0; i < RN_ARRAY_SIZE(tests); i++) {
		tests[i].setup_func = setup;
		tests[i].teardown_func = teardown;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
