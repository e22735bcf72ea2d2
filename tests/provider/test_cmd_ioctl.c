/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cmd_ioctl.c - the plugin answers libibverbs where nobody else does.
 *
 * No stand-in is loaded here, so a request to /dev/null gets ENOTTY until the reference
 * of libibverbs to ioctl() is redirected. A context is made by the library's own
 * function, as the plugin makes them.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd_ioctl.h"
#include "driver_abi.h"
#include "got.h"

static void *verbs;
static struct rnp_abi abi;

static int load(void **state)
{
	static const unsigned versions[] = { 34, 57, 59, 64 };
	char err[256];

	(void)state;
	verbs = dlopen("libibverbs.so.1", RTLD_LAZY);
	for (unsigned i = 0; verbs && i < sizeof(versions) / sizeof(versions[0]); i++)
		if (!rnp_abi_find_lib(&abi.lib, verbs, versions[i], err, sizeof(err)))
			return rnp_abi_learn(&abi, err, sizeof(err));
	return -1;
}

static struct ibv_context *open_context(struct rnp_abi_device *device, int cmd_fd)
{
	char *block = abi.lib.init_and_alloc_context(&device->device, cmd_fd,
						     abi.context_size, NULL, 0);

	assert_non_null(block);
	return (struct ibv_context *)(block + abi.context_size -
				      sizeof(struct ibv_context));
}

static void close_context(struct ibv_context *context)
{
	char *block = (char *)context + sizeof(*context) - abi.context_size;

	abi.lib.uninit_context(block);
	free(block);
}

static void the_reference_to_ioctl_is_found(void **state)
{
	void **slot = rnp_got_find(verbs, "ioctl");

	(void)state;
	assert_non_null(slot);
	assert_non_null(*slot);
	assert_null(rnp_got_find(verbs, "no_such_function"));
}

static void a_request_nobody_answers_is_refused_for_other_files(void **state)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	char err[256] = "";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(rnp_cmd_ensure(verbs, fd, err, sizeof(err)), -ENOSYS);
	assert_non_null(strstr(err, "rocin run"));
	close(fd);
}

static void a_completion_channel_works_after_redirection(void **state)
{
	struct rnp_abi_device device = { .refcount = 1 };
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct ibv_comp_channel *channel;
	struct ibv_context *context;
	uint64_t word = 0x1122334455667788, back = 0;
	char err[256] = "";

	(void)state;
	assert_true(fd >= 0);
	if (rnp_cmd_ensure(verbs, fd, err, sizeof(err)))
		fail_msg("%s", err);
	context = open_context(&device, fd);
	channel = ibv_create_comp_channel(context);
	assert_non_null(channel);
	assert_true(channel->fd > 2);
	assert_int_equal(write(channel->fd, &word, sizeof(word)), sizeof(word));
	assert_int_equal(read(channel->fd, &back, sizeof(back)), sizeof(back));
	assert_int_equal(back, word);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	close_context(context);
}

static void a_second_device_needs_nothing_more(void **state)
{
	void *before = *rnp_got_find(verbs, "ioctl");
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	char err[256] = "";

	(void)state;
	assert_int_equal(rnp_cmd_ensure(verbs, fd, err, sizeof(err)), 0);
	assert_ptr_equal(*rnp_got_find(verbs, "ioctl"), before);
	close(fd);
}

static void other_programs_requests_pass_through(void **state)
{
	int (*through)(int, unsigned long, ...);
	int pipe_fd[2], waiting = -1;

	(void)state;
	memcpy(&through, rnp_got_find(verbs, "ioctl"), sizeof(through));
	assert_int_equal(pipe(pipe_fd), 0);
	assert_int_equal(write(pipe_fd[1], "abc", 3), 3);
	assert_int_equal(through(pipe_fd[0], FIONREAD, &waiting), 0);
	assert_int_equal(waiting, 3);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reference_to_ioctl_is_found),
		cmocka_unit_test(a_request_nobody_answers_is_refused_for_other_files),
		cmocka_unit_test(a_completion_channel_works_after_redirection),
		cmocka_unit_test(a_second_device_needs_nothing_more),
		cmocka_unit_test(other_programs_requests_pass_through),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
