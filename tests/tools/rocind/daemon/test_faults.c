/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_faults.c - rules about faults on their way through rocind. */
#include "tests/tools/rocind/kit/rocind_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rocin/stats.h"
#include "transport/io/fault/fault_rules.h"

enum {
	NEW = 255
};

/* A file with @text, sealed as rocind wants it or not. */
static int make_text(const char *text, bool sealed)
{
	int fd = memfd_create("rules", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	if (sealed)
		assert_int_equal(fcntl(fd, F_ADD_SEALS,
				       F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW),
				 0);
	return fd;
}

static void expect_text(int fd, const char *want)
{
	char text[100] = "";

	assert_true(fd > 2);
	assert_int_equal(pread(fd, text, sizeof(text) - 1, 0), strlen(want));
	assert_string_equal(text, want);
	close(fd);
}

/* Set rules that are all new; fails the test if it cannot be. Return: the generation. */
static uint64_t set_rules(struct rn_rocind *r, uint64_t generation, const char *text)
{
	uint8_t from[RN_ROCIND_RULES_MAX];
	struct rn_rocind_faults now = { .generation = generation };
	char why[512] = "";
	int fd = text ? make_text(text, true) : -1;

	memset(from, NEW, sizeof(from));
	if (rn_rocind_set_faults(r, &now, fd, from, why, sizeof(why)))
		fail_msg("%s", why);
	if (text)
		expect_text(now.fd, text);
	else
		assert_int_equal(now.fd, -1);
	if (fd >= 0)
		close(fd);
	return now.generation;
}

static void rules_reach_those_attached_and_those_to_come(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_rocind *tool = kit_connect(), *early, *late;
	struct rn_attach a, b;
	struct rn_rocind_event e;
	struct rn_rocind_faults now;

	(void)state;
	early = kit_attach(&dev, &a);
	assert_int_equal(rn_rocind_faults(tool, &now, NULL, 0), 0);
	assert_int_equal(now.generation, 0);
	assert_int_equal(now.fd, -1);
	assert_int_equal(set_rules(tool, 0, "drop\n"), 1);
	e = kit_event(early);
	assert_int_equal(e.kind, RN_ROCIND_FAULTS);
	assert_int_equal(e.generation, 1);
	expect_text(e.text, "drop\n");

	/* It has them when it knows its slot. */
	late = kit_connect();
	assert_int_equal(rn_rocind_attach(late, &dev, -1, &b, NULL, 0), 0);
	assert_int_equal(rn_rocind_event(late, &e), 0);
	assert_int_equal(e.kind, RN_ROCIND_FAULTS);
	expect_text(e.text, "drop\n");

	assert_int_equal(set_rules(tool, 1, NULL), 2);
	e = kit_event(late);
	assert_int_equal(e.kind, RN_ROCIND_FAULTS);
	assert_int_equal(e.generation, 2);
	assert_int_equal(e.text, -1);
	kit_close_socks(&a);
	kit_close_socks(&b);
	rn_rocind_close(early);
	rn_rocind_close(late);

	late = kit_attach(&dev, &b);
	e = kit_event(late);
	assert_int_equal(e.generation, 2);
	assert_int_equal(e.text, -1);
	kit_close_socks(&b);
	rn_rocind_close(late);
	rn_rocind_close(tool);
}

static void change_of_rules_that_have_changed_is_refused(void **state)
{
	const uint8_t from[RN_ROCIND_RULES_MAX] = { 0 };
	struct rn_rocind *r = kit_connect();
	struct rn_rocind_faults now = { .generation = 0 };
	char why[512] = "";

	(void)state;
	set_rules(r, 0, "drop\n");
	assert_int_equal(rn_rocind_set_faults(r, &now, -1, from, why, sizeof(why)),
			 -EAGAIN);
	assert_non_null(strstr(why, "somebody else"));
	assert_int_equal(rn_rocind_faults(r, &now, NULL, 0), 0);
	assert_int_equal(now.generation, 1);
	expect_text(now.fd, "drop\n");
	rn_rocind_close(r);
}

static void text_that_may_change_or_is_long_is_refused(void **state)
{
	const uint8_t from[RN_ROCIND_RULES_MAX] = { 0 };
	static char longest[RN_FAULT_TEXT_MAX + 1];
	struct rn_rocind *r = kit_connect();
	struct rn_rocind_faults now = { .generation = 0 };
	char why[512] = "";
	int pipes[2], fds[3];

	(void)state;
	memset(longest, '#', RN_FAULT_TEXT_MAX);
	assert_int_equal(pipe(pipes), 0);
	fds[0] = make_text("drop\n", false);
	fds[1] = make_text(longest, true);
	fds[2] = pipes[0];
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(
			rn_rocind_set_faults(r, &now, fds[i], from, why, sizeof(why)),
			-EINVAL);
		assert_non_null(strstr(why, "sealed"));
		close(fds[i]);
	}
	close(pipes[1]);
	assert_int_equal(rn_rocind_faults(r, &now, NULL, 0), 0);
	assert_int_equal(now.generation, 0);
	rn_rocind_close(r);
}

/* What a process has counted outlives it, for rules that go on. */
static void counts_outlive_their_process_and_follow_their_rule(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	const struct rn_stats_faults counts = { .generation = 1,
						.seen = { 10, 20 },
						.hits = { 1, 2 } };
	struct rn_rocind *tool = kit_connect(), *r;
	uint8_t from[RN_ROCIND_RULES_MAX] = { 1, NEW };
	int page = memfd_create("page", MFD_CLOEXEC), text;
	struct rn_rocind_faults now = { .seen = { 0 } };
	struct rn_attach a;

	(void)state;
	set_rules(tool, 0, "drop\nkill\n");
	assert_int_equal(pwrite(page, &counts, sizeof(counts), RN_STATS_FAULTS_OFFSET),
			 sizeof(counts));
	r = kit_connect();
	assert_int_equal(rn_rocind_attach(r, &dev, page, &a, NULL, 0), 0);
	rn_rocind_close(r);
	kit_close_socks(&a);
	for (unsigned i = 0; i < 1000 && now.seen[0] == 0; i++) {
		assert_int_equal(rn_rocind_faults(tool, &now, NULL, 0), 0);
		close(now.fd);
	}
	assert_int_equal(now.seen[0], 10);
	assert_int_equal(now.hits[1], 2);

	text = make_text("kill\ndrop\n", true);
	assert_int_equal(rn_rocind_set_faults(tool, &now, text, from, NULL, 0), 0);
	close(now.fd);
	assert_int_equal(now.seen[0], 20);
	assert_int_equal(now.hits[0], 2);
	assert_int_equal(now.seen[1], 0);
	close(text);
	close(page);
	rn_rocind_close(tool);
}

static void daemon_with_rules_does_not_end_for_want_of_clients(void **state)
{
	struct rn_rocind *r;
	struct rn_rocind_faults now;
	pid_t pid;

	(void)state;
	setenv("ROCIN_IDLE_MS", "1", 1);
	r = kit_connect();
	pid = kit_daemon(r);
	set_rules(r, 0, "drop\n");
	rn_rocind_close(r);
	poll(NULL, 0, 50); /* it would have ended fifty times */
	r = rn_rocind_connect_running(NULL, 0);
	assert_non_null(r);
	assert_int_equal(kit_daemon(r), pid);
	assert_int_equal(rn_rocind_faults(r, &now, NULL, 0), 0);
	expect_text(now.fd, "drop\n");
	set_rules(r, now.generation, NULL);
	rn_rocind_close(r);
	kit_await_end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			rules_reach_those_attached_and_those_to_come, kit_setup,
			kit_teardown),
		cmocka_unit_test_setup_teardown(
			change_of_rules_that_have_changed_is_refused, kit_setup,
			kit_teardown),
		cmocka_unit_test_setup_teardown(
			text_that_may_change_or_is_long_is_refused, kit_setup,
			kit_teardown),
		cmocka_unit_test_setup_teardown(
			counts_outlive_their_process_and_follow_their_rule, kit_setup,
			kit_teardown),
		cmocka_unit_test_setup_teardown(
			daemon_with_rules_does_not_end_for_want_of_clients, kit_setup,
			kit_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
