/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_uverbs.c - answers to the requests that libibverbs sends to a uverbs device.
 *
 * Requests are built as rdma-core 44 builds them, numbers written out.
 */
#include "sim/kernel/uverbs.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

	rnk_tree_set(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
