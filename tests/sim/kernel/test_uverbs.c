/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_uverbs.c - answers to the requests that libibverbs sends to a uverbs device.
 *
 * Requests are built as rdma-core 44 builds them, numbers written out.
 */
#include "sim/kernel/uverbs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/kernel/redirect.h"

#define VERBS_IOCTL 0xc0181b01ul

enum {
	MANDATORY = 1,
	VALID_OUTPUT = 2
};

struct attr {
	uint16_t id, len, flags, elem;
	uint64_t data;
};

struct request {
	uint16_t length, object, method, attr_count;
	uint64_t reserved1;
	uint32_t driver, reserved2;
	struct attr attr[4];
};

static int send_request(struct request *req)
{
	/* In memory of the exact size: ASan sees a byte too many. */
	size_t len = 24 + 16u * req->attr_count;
	struct request *copy = malloc(len);
	int rc;

	assert_non_null(copy);
	req->length = (uint16_t)len;
	memcpy(copy, req, len);
	rc = rnk_uverbs_ioctl(copy);
	memcpy(req, copy, len);
	free(copy);
	return rc;
}

static void only_verbs_requests_to_the_null_device_are_ours(void **state)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int zero = open("/dev/zero", O_RDWR | O_CLOEXEC);
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	errno = ELOOP;
	assert_true(rnk_is_uverbs_request(null, VERBS_IOCTL));
	assert_true(rnk_is_uverbs_request(null, (unsigned long)(int)VERBS_IOCTL));
	assert_false(rnk_is_uverbs_request(null, VERBS_IOCTL + 1));
	assert_false(rnk_is_uverbs_request(null, 0x5401)); /* TCGETS: isatty() */
	assert_false(rnk_is_uverbs_request(zero, VERBS_IOCTL));
	assert_false(rnk_is_uverbs_request(file, VERBS_IOCTL));
	assert_false(rnk_is_uverbs_request(-1, VERBS_IOCTL));
	assert_int_equal(errno, ELOOP);
	close(null);
	close(zero);
	close(file);
}

/* has_ioctl_write(): QUERY_DEVICE (1) without request or response. */
static void the_probe_is_answered_enospc_as_by_the_kernel(void **state)
{
	struct request req = {
		.attr_count = 1,
		.attr = { { .id = 2, .len = 8, .flags = MANDATORY, .data = 1 } }
	};

	(void)state;
	assert_int_equal(send_request(&req), -ENOSPC);
}

static void a_completion_channel_is_a_descriptor_in_the_response(void **state)
{
	uint32_t resp[2] = { 0, 0xdeadbeef };
	struct request req = {
		.attr_count = 2,
		.attr = { { .id = 2, .len = 8, .flags = MANDATORY, .data = 17 },
			  { .id = 1,
			    .len = 4,
			    .flags = MANDATORY,
			    .data = (uintptr_t)resp } },
	};
	uint64_t cookie = 7, got = 0;

	(void)state;
	assert_int_equal(send_request(&req), 0);
	assert_true(resp[0] > STDERR_FILENO);
	assert_int_equal(resp[1], 0xdeadbeef);
	assert_int_equal(req.attr[1].flags, MANDATORY | VALID_OUTPUT);
	assert_int_equal(write((int)resp[0], &cookie, 8), 8);
	assert_int_equal(read((int)resp[0], &got, 8), 8);
	assert_int_equal(got, 7);
	close((int)resp[0]);
}

static void a_completion_channel_needs_room_for_the_answer(void **state)
{
	uint32_t resp = 0xdeadbeef;
	struct request req = {
		.attr_count = 2,
		.attr = { { .id = 2, .len = 8, .flags = MANDATORY, .data = 17 },
			  { .id = 1,
			    .len = 3,
			    .flags = MANDATORY,
			    .data = (uintptr_t)&resp } },
	};

	(void)state;
	assert_int_equal(send_request(&req), -ENOSPC);
	assert_int_equal(resp, 0xdeadbeef);
	req.attr[1].id = 0; /* a request, but nowhere to answer */
	assert_int_equal(send_request(&req), -ENOSPC);
}

/* Every other command of the write() interface: the verb is not supported. */
static void other_write_commands_are_not_supported(void **state)
{
	uint32_t resp[64] = { 0 };

	(void)state;
	for (unsigned cmd = 0; cmd < 64; cmd++) {
		struct request req = {
			.attr_count = 2,
			.attr = { { .id = 2, .len = 8, .flags = MANDATORY, .data = cmd },
				  { .id = 1,
				    .len = sizeof(resp),
				    .flags = MANDATORY,
				    .data = (uintptr_t)resp } },
		};

		if (cmd != 17)
			assert_int_equal(send_request(&req), -EOPNOTSUPP);
	}
}

/* EPROTONOSUPPORT, and only that, makes libibverbs read the GIDs from sysfs. */
static void gid_queries_are_left_to_sysfs(void **state)
{
	struct request req = { .object = 0, .attr_count = 4 };

	(void)state;
	req.method = 5;
	assert_int_equal(send_request(&req), -EPROTONOSUPPORT);
	req.method = 6;
	assert_int_equal(send_request(&req), -EPROTONOSUPPORT);
}

static void the_async_event_object_is_a_descriptor_in_its_attribute(void **state)
{
	struct request req = { .object = 16,
			       .attr_count = 1,
			       .attr = { { .id = 0, .flags = MANDATORY } } };

	(void)state;
	assert_int_equal(send_request(&req), 0);
	assert_true((int64_t)req.attr[0].data > STDERR_FILENO);
	assert_int_equal(close((int)req.attr[0].data), 0);

	req.attr[0].id = 1;
	assert_int_equal(send_request(&req), -EINVAL);
}

static void unknown_objects_and_methods_are_refused(void **state)
{
	(void)state;
	for (uint16_t object = 0; object < 32; object++) {
		for (uint16_t method = 0; method < 16; method++) {
			struct request req = { .object = object, .method = method };

			if (method == 0 && (object == 0 || object == 16))
				continue;
			assert_int_equal(send_request(&req), -EPROTONOSUPPORT);
		}
	}
}

static void malformed_requests_are_refused(void **state)
{
	struct request req = { .attr_count = 1, .length = 24 };

	(void)state;
	assert_int_equal(rnk_uverbs_ioctl(NULL), -EFAULT);
	assert_int_equal(rnk_uverbs_ioctl(&req),
			 -EINVAL); /* length lacks the attribute */
	req = (struct request){ .attr_count = 0 };
	assert_int_equal(send_request(&req), -EINVAL); /* no command in it */
}

/* Of a request that is right but for that, which is answered in no part. */
static void a_length_other_than_that_of_the_attributes_is_refused(void **state)
{
	static const uint16_t wrong[] = { 0, 23, 24, 39, 41, 56, UINT16_MAX };

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct request req = { .object = 16,
				       .attr_count = 1,
				       .length = wrong[i],
				       .attr = { { .id = 0, .flags = MANDATORY } } };
		struct request unknown = { .object = 31,
					   .attr_count = 1,
					   .length = wrong[i] };

		assert_int_equal(rnk_uverbs_ioctl(&req), -EINVAL);
		assert_int_equal(req.attr[0].data, 0);
		assert_int_equal(req.attr[0].flags, MANDATORY);
		assert_int_equal(rnk_uverbs_ioctl(&unknown), -EINVAL);
	}
}

/* ------------------------------------------- descriptors through which events come */
#define PROC "/proc/self/fd"

static char fifo_dir[PATH_MAX];

static int make_dir(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(fifo_dir, sizeof(fifo_dir), "%.2000s/rocin-test-XXXXXX",
		 tmp ? tmp : "/tmp");
	return mkdtemp(fifo_dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(fifo_dir); /* fails if a FIFO was left in it */
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir(PROC);
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void assert_carries_events(int fd)
{
	uint64_t event = 0x1122334455667788, got = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(poll(&p, 1, 0), 0); /* nothing yet, and no POLLHUP */
	assert_int_equal(write(fd, &event, sizeof(event)), sizeof(event));
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(p.revents, POLLIN);
	assert_int_equal(read(fd, &got, sizeof(got)), sizeof(got));
	assert_int_equal(got, event);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(fd, &got, sizeof(got)), -1);
	assert_int_equal(errno, EAGAIN);
}

static void events_come_back_through_the_same_descriptor(void **state)
{
	unsigned before = open_descriptors();
	int fd = rnk_event_fd_open(PROC, NULL);

	(void)state;
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(open_descriptors(), before + 1);
	assert_carries_events(fd);
	close(fd);
}

/* The provider's way in: its own description, with flags of its own. */
static void a_second_description_writes_into_the_same_pipe(void **state)
{
	uint64_t event = 42, got = 0;
	char path[64];
	int fd = rnk_event_fd_open(PROC, NULL);
	int writer;

	(void)state;
	snprintf(path, sizeof(path), PROC "/%d", fd);
	writer = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_true(writer >= 0);
	assert_int_equal(write(writer, &event, sizeof(event)), sizeof(event));
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(read(fd, &got, sizeof(got)), sizeof(got));
	assert_int_equal(got, event);
	close(writer);
	close(fd);
}

static void without_proc_a_fifo_serves(void **state)
{
	unsigned before = open_descriptors();
	int fd = rnk_event_fd_open("/missing", fifo_dir);

	(void)state;
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(open_descriptors(), before + 1);
	assert_carries_events(fd);
	close(fd);
}

static void without_proc_and_fifo_there_is_an_error_and_no_leak(void **state)
{
	unsigned before = open_descriptors();

	(void)state;
	assert_int_equal(rnk_event_fd_open("/missing", NULL), -ENOENT);
	assert_int_equal(rnk_event_fd_open("/missing", "/also-missing"), -ENOENT);
	assert_int_equal(open_descriptors(), before);
}

static void the_standard_descriptors_are_never_used(void **state)
{
	int saved[3], fd[2];

	(void)state;
	for (int i = 0; i < 3; i++) {
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
		close(i);
	}
	fd[0] = rnk_event_fd_open(PROC, NULL);
	fd[1] = rnk_event_fd_open("/missing", fifo_dir);
	for (int i = 0; i < 3; i++) {
		errno = 0;
		/* Free again, and so it stays: nothing below is open. */
		if (fcntl(i, F_GETFD) != -1)
			fd[0] = -1000 - i;
		if (saved[i] >= 0) {
			dup2(saved[i], i);
			close(saved[i]);
		}
	}
	assert_true(fd[0] > STDERR_FILENO);
	assert_true(fd[1] > STDERR_FILENO);
	assert_int_equal(fcntl(fd[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd[0]);
	close(fd[1]);
}

/* One more descriptor allowed each time, until it works. */
static void the_descriptor_limit_gives_emfile_and_no_leak(void **state)
{
	struct rlimit saved, tight;
	unsigned before = open_descriptors();
	int probe = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int fd = -1;

	(void)state;
	assert_true(probe >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
	tight = saved;
	for (unsigned extra = 1; fd < 0; extra++) {
		assert_true(extra <= 64); /* some of them may be open already */
		tight.rlim_cur = (rlim_t)probe + extra;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
		fd = rnk_event_fd_open(PROC, fifo_dir);
		setrlimit(RLIMIT_NOFILE, &saved);
		if (fd < 0)
			assert_int_equal(fd, -EMFILE);
	}
	close(fd);
	close(probe);
	assert_int_equal(open_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_verbs_requests_to_the_null_device_are_ours),
		cmocka_unit_test(the_probe_is_answered_enospc_as_by_the_kernel),
		cmocka_unit_test(a_completion_channel_is_a_descriptor_in_the_response),
		cmocka_unit_test(a_completion_channel_needs_room_for_the_answer),
		cmocka_unit_test(other_write_commands_are_not_supported),
		cmocka_unit_test(gid_queries_are_left_to_sysfs),
		cmocka_unit_test(the_async_event_object_is_a_descriptor_in_its_attribute),
		cmocka_unit_test(unknown_objects_and_methods_are_refused),
		cmocka_unit_test(malformed_requests_are_refused),
		cmocka_unit_test(a_length_other_than_that_of_the_attributes_is_refused),
	};

	const struct CMUnitTest of_events[] = {
		cmocka_unit_test(events_come_back_through_the_same_descriptor),
		cmocka_unit_test(a_second_description_writes_into_the_same_pipe),
		cmocka_unit_test(without_proc_a_fifo_serves),
		cmocka_unit_test(without_proc_and_fifo_there_is_an_error_and_no_leak),
		cmocka_unit_test(the_standard_descriptors_are_never_used),
		cmocka_unit_test(the_descriptor_limit_gives_emfile_and_no_leak),
	};

	rnk_tree_set(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL) +
	       cmocka_run_group_tests(of_events, make_dir, remove_dir);
}
