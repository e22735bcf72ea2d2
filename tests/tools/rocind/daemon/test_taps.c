/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_taps.c - captures on their way through rocind. */
#include "tests/tools/rocind/kit/rocind_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/io/capture/capture_ring.h"
#include "transport/io/rocind/ctl.h"

enum {
	SIZE = RN_CAPTURE_SIZE_MIN
};

static void open_capture_of(struct rn_rocind *r, const char *ibdev, int32_t pid,
			    uint32_t qpn)
{
	const struct rn_rocind_capture what = {
		.ibdev = ibdev, .pid = pid, .qpn = qpn, .snaplen = 64, .size = SIZE
	};
	char why[512];

	if (rn_rocind_capture(r, &what, why, sizeof(why)))
		fail_msg("%s", why);
}

static void open_capture(struct rn_rocind *r, const char *ibdev, int32_t pid)
{
	open_capture_of(r, ibdev, pid, 9);
}

static ino_t memory_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, rn_capture_ring_bytes(SIZE));
	assert_int_equal(fcntl(fd, F_GET_SEALS),
			 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return st.st_ino;
}

/* Both have the same ring. Return: what the device is called. */
static uint64_t expect_pair(struct rn_rocind *capture, struct rn_rocind *device)
{
	struct rn_rocind_event source = kit_event(capture);
	struct rn_rocind_event tap = kit_event(device);

	assert_int_equal(source.kind, RN_ROCIND_TAP_SOURCE);
	assert_int_equal(tap.kind, RN_ROCIND_TAP);
	assert_int_equal(source.tap.size, SIZE);
	assert_int_equal(source.tap.pid, getpid());
	assert_string_equal(source.tap.ibdev, "rocin0");
	assert_int_equal(tap.tap.size, SIZE);
	assert_int_equal(tap.tap.qpn, 9);
	assert_int_equal(tap.tap.snaplen, 64);
	assert_int_equal(memory_of(source.tap.ring), memory_of(tap.tap.ring));
	rn_rocind_close_tap(&source.tap);
	rn_rocind_close_tap(&tap.tap);
	return source.tap.id;
}

/* Packets of QP1 are rocind's. */
static void the_connection_manager_is_captured_too(void **state)
{
	static const struct {
		const char *ibdev;
		uint32_t qpn;
		bool is_wanted;
	} asked[] = {
		{ "", 0, true },	{ "", 1, true },  { "rocind", 0, true },
		{ "rocin0", 0, false }, { "", 2, false },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(asked); i++) {
		struct rn_rocind *capture = kit_connect();
		struct rn_rocind_event ev;

		open_capture_of(capture, asked[i].ibdev, 0, asked[i].qpn);
		if (!asked[i].is_wanted) {
			assert_int_equal(rn_rocind_event(capture, &ev), -EAGAIN);
			rn_rocind_close(capture);
			continue;
		}
		ev = kit_event(capture);
		assert_int_equal(ev.kind, RN_ROCIND_TAP_SOURCE);
		assert_string_equal(ev.tap.ibdev, "rocind");
		assert_int_equal(ev.tap.slot, 0);
		assert_int_not_equal(ev.tap.pid, getpid());
		assert_true(memory_of(ev.tap.ring) > 0);
		rn_rocind_close_tap(&ev.tap);
		rn_rocind_close(capture);
	}
}

static void a_capture_gets_those_attached_and_those_to_come(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_rocind *capture = kit_connect(), *early, *late;
	struct rn_rocind_event ev;
	struct rn_attach a, b;
	uint64_t id;

	(void)state;
	early = kit_attach(&dev, &a);
	open_capture(capture, NULL, 0);
	id = expect_pair(capture, early);
	late = kit_attach(&dev, &b);
	assert_true(expect_pair(capture, late) > id);
	kit_close_socks(&a);
	rn_rocind_close(early);
	ev = kit_event(capture);
	assert_int_equal(ev.kind, RN_ROCIND_TAP_END);
	assert_int_equal(ev.tap.id, id);
	rn_rocind_close(capture);
	ev = kit_event(late);
	assert_int_equal(ev.kind, RN_ROCIND_TAP_END);
	kit_close_socks(&b);
	rn_rocind_close(late);
}

/* So its first packet is captured. */
static void a_device_knows_its_captures_once_it_is_attached(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_rocind *capture = kit_connect();

	(void)state;
	open_capture(capture, NULL, 0);
	for (unsigned i = 0; i < 32; i++) {
		struct rn_rocind_event ev;
		struct rn_attach a;
		struct rn_rocind *device = kit_attach(&dev, &a);

		assert_int_equal(rn_rocind_event(device, &ev), 0);
		assert_int_equal(ev.kind, RN_ROCIND_TAP);
		rn_rocind_close_tap(&ev.tap);
		ev = kit_event(capture);
		assert_int_equal(ev.kind, RN_ROCIND_TAP_SOURCE);
		rn_rocind_close_tap(&ev.tap);
		kit_close_socks(&a);
		rn_rocind_close(device);
		assert_int_equal(kit_event(capture).kind, RN_ROCIND_TAP_END);
	}
	rn_rocind_close(capture);
}

static void a_capture_is_of_one_device_or_process(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_rocind *device, *mine = kit_connect(), *other = kit_connect();
	struct rn_rocind *stranger = kit_connect();
	struct rn_rocind_event ev;
	struct rn_attach a;

	(void)state;
	device = kit_attach(&dev, &a);
	open_capture(other, "rocin1", 0);
	open_capture(stranger, NULL, getpid() + 1);
	open_capture(mine, "rocin0", getpid());
	expect_pair(mine, device);
	assert_int_equal(rn_rocind_event(other, &ev), -EAGAIN);
	assert_int_equal(rn_rocind_event(stranger, &ev), -EAGAIN);
	/* Who had no part in it hears nothing of its end. */
	rn_rocind_close(other);
	rn_rocind_close(stranger);
	rn_rocind_close(mine);
	assert_int_equal(kit_event(device).kind, RN_ROCIND_TAP_END);
	assert_int_equal(rn_rocind_event(device, &ev), -EAGAIN);
	kit_close_socks(&a);
	rn_rocind_close(device);
}

static void what_cannot_be_is_refused(void **state)
{
	const struct rn_rocind_capture odd = { .size = SIZE + 1 };
	const struct rn_rocind_capture fine = { .size = SIZE };
	const struct rn_netdev dev = kit_device(1);
	struct rn_rocind *r[RN_CTL_CAPTURES_MAX + 1], *device;
	struct rn_attach a;

	(void)state;
	device = kit_attach(&dev, &a);
	assert_int_equal(rn_rocind_capture(device, &fine, NULL, 0), -EALREADY);
	for (unsigned i = 0; i <= RN_CTL_CAPTURES_MAX; i++)
		r[i] = kit_connect();
	assert_int_equal(rn_rocind_capture(r[0], &odd, NULL, 0), -EINVAL);
	for (unsigned i = 0; i < RN_CTL_CAPTURES_MAX; i++)
		assert_int_equal(rn_rocind_capture(r[i], &fine, NULL, 0), 0);
	assert_int_equal(rn_rocind_capture(r[0], &fine, NULL, 0), -EALREADY);
	assert_int_equal(rn_rocind_capture(r[RN_CTL_CAPTURES_MAX], &fine, NULL, 0),
			 -EBUSY);
	for (unsigned i = 0; i <= RN_CTL_CAPTURES_MAX; i++)
		rn_rocind_close(r[i]);
	kit_close_socks(&a);
	rn_rocind_close(device);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_capture_gets_those_attached_and_those_to_come),
		TEST(a_device_knows_its_captures_once_it_is_attached),
		TEST(a_capture_is_of_one_device_or_process),
		TEST(the_connection_manager_is_captured_too),
		TEST(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
