/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sanitize_schedule.c - names of late writes in a record, and when hold=event makes
 * the sanitizer silent.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "sanitize_kit.h"
#include "sim/pcie/page/page.h"
#include "transport/io/memory/mem_guard.h"

enum {
	QP = 0x100,
	OTHER_QP = 0x300,
	PAGE = 4096,
	KEY = 0x500,
};

static char record[] = "/tmp/rocin-record-XXXXXX";

/* --------------------------------------------------------------- hold=event */
/* In a process of its own: is the sanitizer on with these knobs alone? */
static bool is_on_with(const char *knobs)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct kit_nic nic;

		unsetenv("ROCIN_SANITIZE");
		setenv("ROCIN_PCIE", knobs, 1);
		rn_page_calls_link();
		kit_attach(&nic);
		_exit(rn_sanitize_is_on() ? 7 : 8);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 7 || WEXITSTATUS(status) == 8);
	return WEXITSTATUS(status) == 7;
}

/* A recording of the model has all that moves, so nothing is left to events. */
static void test_no_events_in_a_recording(void **state)
{
	char knobs[100];

	(void)state;
	assert_true(is_on_with("typical,hold=event"));
	snprintf(knobs, sizeof(knobs), "typical,hold=event,record=%s", record);
	assert_false(is_on_with(knobs));
	assert_int_equal(truncate(record, 0), 0);
}

/* -------------------------------------------------------------------- names */
static void assert_recorded(const char *text)
{
	static char all[8192];
	int fd = open(record, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, all, sizeof(all) - 1);

	close(fd);
	assert_true(n >= 0);
	all[n] = '\0';
	if (!strstr(all, text))
		fail_msg("no \"%s\" in: %s", text, all);
}

/* An atomic of the process itself has read its word and written to it. */
static void add_to(struct kit_nic *nic, uint64_t *word)
{
	struct rn_host *h = rn_host_get();
	static uint64_t local, found;

	san_post(nic, OTHER_QP, 0, RN_WR_ATOMIC_FETCH_AND_ADD, &local, 8, kit_iova(word),
		 false);
	(void)kit_add(nic, QP, (volatile uint64_t *)word, 1, &found, 0);
	rn_host_lock(h);
	rn_host_force_if(h, san_is_read, NULL);
	rn_host_unlock(h);
	kit_collect(nic);
}

/* A response has the number of its request. */
static void test_names_of_writes(void **state)
{
	uint64_t *page = (uint64_t *)(void *)kit_map_pages(1);
	struct kit_nic nic;

	(void)state;
	kit_attach(&nic);
	assert_int_equal(nic.api->region_add(nic.nic, KEY, kit_iova(page), PAGE, 0xf), 0);
	rn_guard_install(); /* cmocka has put handlers before it */
	san_data(&nic, QP, 2, page, 5, 0);
	san_data(&nic, QP, 3, page + 8, 6, RN_MEM_RESPONSE);
	assert_recorded(" qp 1 request 2 host page 0\n");
	assert_recorded(" qp 1 response 3 host page 0\n");
	add_to(&nic, page + 16);
	assert_recorded("late kit qp 1 request 0 atomic host page 0\n");
	rn_pcie_drain();
	assert_recorded("ended kit qp 1 request 0 atomic host page 0 by "
			"the end of its memory\n");
	nic.api->region_remove(nic.nic, KEY);
	munmap(page, PAGE);
	kit_detach(&nic);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_events_in_a_recording),
		cmocka_unit_test(test_names_of_writes),
	};
	char level[100];
	int fd = mkstemp(record), rc;

	if (fd < 0)
		return 1;
	close(fd);
	snprintf(level, sizeof(level), "all,record=%s", record);
	san_begin("adversarial" SAN_STILL, level);
	rc = san_end(cmocka_run_group_tests(tests, NULL, NULL));
	unlink(record);
	return rc;
}
