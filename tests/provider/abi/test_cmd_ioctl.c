/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cmd_ioctl.c - the plugin answers ioctl() requests of libibverbs itself.
 *
 * The preload library is not loaded here, so an ioctl() on /dev/null fails with ENOTTY
 * until the plugin redirects libibverbs's reference to ioctl(). The test creates its
 * context by libibverbs's own function, as the plugin does.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "provider/abi/driver_abi.h"

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

/* A request of libibverbs to the kernel, with up to two attributes. */
union request {
	struct ib_uverbs_ioctl_hdr hdr; /* the header, which the attributes follow */
	uint8_t room[sizeof(struct ib_uverbs_ioctl_hdr) +
		     2 * sizeof(struct ib_uverbs_attr)];
};

static int ask(union request *r)
{
	int (*through)(int, unsigned long, ...);
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int rc;

	assert_true(fd >= 0);
	memcpy(&through, rnp_got_find(verbs, "ioctl"), sizeof(through));
	r->hdr.length = sizeof(*r);
	rc = through(fd, RDMA_VERBS_IOCTL, r);
	close(fd);
	return rc;
}

/* libibverbs believes that it has got an output attribute only if the attribute is
 * marked.
 */
static void the_descriptor_of_asynchronous_events_is_marked_as_an_answer(void **state)
{
	union request r = { .hdr = { .object_id = UVERBS_OBJECT_ASYNC_EVENT,
				     .method_id = UVERBS_METHOD_ASYNC_EVENT_ALLOC,
				     .num_attrs = 1 } };
	struct ib_uverbs_attr *handle = r.hdr.attrs;

	(void)state;
	*handle = (struct ib_uverbs_attr){
		.attr_id = UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
		.data_s64 = -1,
	};
	assert_int_equal(ask(&r), 0);
	assert_true(handle->flags & UVERBS_ATTR_F_VALID_OUTPUT);
	assert_true(handle->data_s64 > 2);
	assert_int_equal(close((int)handle->data_s64), 0);
}

static void an_answer_without_room_for_it_is_not_given(void **state)
{
	uint64_t answer = UINT64_MAX;
	union request r = { .hdr = { .object_id = UVERBS_OBJECT_DEVICE,
				     .method_id = UVERBS_METHOD_INVOKE_WRITE,
				     .num_attrs = 2 } };

	(void)state;
	r.hdr.attrs[0] = (struct ib_uverbs_attr){
		.attr_id = UVERBS_ATTR_WRITE_CMD,
		.data = IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
	};
	r.hdr.attrs[1] = (struct ib_uverbs_attr){
		.attr_id = UVERBS_ATTR_CORE_OUT,
		.len = sizeof(struct ib_uverbs_create_comp_channel_resp) - 1,
		.data = (uintptr_t)&answer,
	};
	errno = 0;
	assert_int_equal(ask(&r), -1);
	assert_int_equal(errno, ENOSPC);
	assert_true(answer == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reference_to_ioctl_is_found),
		cmocka_unit_test(a_request_nobody_answers_is_refused_for_other_files),
		cmocka_unit_test(a_completion_channel_works_after_redirection),
		cmocka_unit_test(a_second_device_needs_nothing_more),
		cmocka_unit_test(other_programs_requests_pass_through),
		cmocka_unit_test(
			the_descriptor_of_asynchronous_events_is_marked_as_an_answer),
		cmocka_unit_test(an_answer_without_room_for_it_is_not_given),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
