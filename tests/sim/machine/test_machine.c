/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_machine.c - topology files: what they say, their picture, and what is wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/machine/machine.h"

static const char two_roots[] = "# a machine\n"
				"root root0 numa 0\n"
				"switch sw0 under root0\n"
				"gpu 0 under sw0\n"
				"nvme 0 under sw0 path /mnt/a # its files\n"
				"nic rocin0 under sw0\n"
				"\n"
				"root root1 numa 1\n"
				"switch sw1 under root1\n"
				"switch sw2 under sw1\n"
				"gpu 1 under sw2\n"
				"gpu 2 under sw1\n"
				"nvme 1 under sw1 path /mnt/b\n"
				"nvme 2 under root1\n"
				"nvlink gpu0 gpu1 x18\n";

static struct rn_machine m;

static void must_parse(const char *text)
{
	char err[512] = "";

	if (rn_machine_parse(&m, text, err, sizeof(err)))
		fail_msg("%s", err);
}

static void settings_follow_from_it(void **state)
{
	char text[256];

	(void)state;
	must_parse(two_roots);
	rn_machine_near(&m, text, sizeof(text));
	assert_string_equal(text, "nvme0=gpu0,nvme1=gpu1+gpu2");
	rn_machine_nvlinks(&m, text, sizeof(text));
	assert_string_equal(text, "gpu0-gpu1");
	rn_machine_paths(&m, text, sizeof(text));
	assert_string_equal(text, "nvme0=/mnt/a,nvme1=/mnt/b");
	assert_int_equal(rn_machine_gpus(&m), 3);
	assert_true(rn_machine_has_roots(&m));
	must_parse("root r\ngpu 3 under r\nnvme 0 under r\n");
	assert_false(rn_machine_has_roots(&m));
	assert_int_equal(rn_machine_gpus(&m), 4);
	rn_machine_near(&m, text, sizeof(text));
	assert_string_equal(text, "");
}

static void distances_are_those_of_the_tree(void **state)
{
	static const struct {
		unsigned drive, gpu;
		enum rn_machine_distance distance;
	} cases[] = {
		{ 0, 0, RN_MACHINE_SWITCHED }, { 1, 1, RN_MACHINE_SWITCHED },
		{ 1, 2, RN_MACHINE_SWITCHED }, { 2, 1, RN_MACHINE_ROOTED },
		{ 0, 1, RN_MACHINE_FAR },
	};

	(void)state;
	must_parse(two_roots);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		int d = rn_machine_find(&m, RN_MACHINE_NVME, cases[i].drive);
		int g = rn_machine_find(&m, RN_MACHINE_GPU, cases[i].gpu);

		assert_int_equal(rn_machine_distance(&m, (unsigned)d, (unsigned)g),
				 cases[i].distance);
		assert_int_equal(rn_machine_distance(&m, (unsigned)g, (unsigned)d),
				 cases[i].distance);
	}
	must_parse("root a\nroot b\ngpu 0 under a\nnvme 0 under b\n");
	assert_int_equal(rn_machine_distance(&m, 2, 3), RN_MACHINE_CROSSED);
	assert_int_equal(rn_machine_find(&m, RN_MACHINE_GPU, 1), -1);
}

static void it_has_a_picture(void **state)
{
	static const char wanted[] = "host\n"
				     "|- root0 (root port, NUMA node 0)\n"
				     "|  `- sw0 (switch)\n"
				     "|     |- gpu0\n"
				     "|     |- nvme0 (/mnt/a)\n"
				     "|     `- rocin0 (NIC)\n"
				     "`- root1 (root port, NUMA node 1)\n"
				     "   |- sw1 (switch)\n"
				     "   |  |- sw2 (switch)\n"
				     "   |  |  `- gpu1\n"
				     "   |  |- gpu2\n"
				     "   |  `- nvme1 (/mnt/b)\n"
				     "   `- nvme2\n"
				     "gpu0 === NVLink x18 === gpu1\n";
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	must_parse(two_roots);
	rn_machine_print(&m, to);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, wanted);
	free(text);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
	static const struct {
		const char *text, *words;
	} wrong[] = {
		{ "", "nothing is there" },
		{ "# only a comment\n", "nothing is there" },
		{ "root", "line 1: a root wants a name" },
		{ "root r numa x", "not like numa 0" },
		{ "root r numa", "a root is" },
		{ "root r\nroot r", "line 2: \"r\" stands twice" },
		{ "root r\ngpu 0 under r\ngpu 0 under r",
		  "line 3: \"gpu0\" stands twice" },
		{ "root r\ngpu 4 under r", "no number of a gpu, 0 to 3" },
		{ "root r\ngpu x under r", "no number of a gpu" },
		{ "root r\nnvme 3 under r", "no number of a nvme, 0 to 2" },
		{ "root r\ngpu 0", "wants \"under\"" },
		{ "root r\ngpu", "wants a name" },
		{ "root r\ngpu 0 below r", "wants \"under\"" },
		{ "gpu 0 under r", "no root or switch \"r\"" },
		{ "root r\nswitch s under s", "no root or switch \"s\"" },
		{ "root r\ngpu 0 under r\ngpu 1 under gpu0",
		  "no root or switch \"gpu0\"" },
		{ "root r\ngpu 0 under r path /x", "\"path\" is not expected" },
		{ "root r\nnvme 0 under r path x", "no absolute path" },
		{ "root r\nnvme 0 under r path /a,b", "no absolute path" },
		{ "root r\nnvme 0 under r path", "not expected" },
		{ "root r\nnvlink gpu0 gpu1", "there is no gpu0" },
		{ "root r\ngpu 0 under r\nnvlink gpu0 gpu0", "an NVLink is" },
		{ "root r\ngpu 0 under r\ngpu 1 under r\nnvlink gpu0 gpu1 x0",
		  "an NVLink is" },
		{ "frob x under y", "\"frob\" is none of" },
		{ "root a b c d e f g h", "more than 8 words" },
	};
	char err[512], text[2048];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		if (rn_machine_parse(&m, wrong[i].text, err, sizeof(err)) != -EINVAL)
			fail_msg("\"%s\" was taken", wrong[i].text);
		if (!strstr(err, wrong[i].words))
			fail_msg("\"%s\": %s", wrong[i].text, err);
	}
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(rn_machine_parse(&m, text, err, sizeof(err)), -EINVAL);
	assert_int_equal(rn_machine_read(&m, "/nonexistent", err, sizeof(err)), -ENOENT);
	assert_int_equal(rn_machine_read(&m, "/dev/zero", err, sizeof(err)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_follow_from_it),
		cmocka_unit_test(distances_are_those_of_the_tree),
		cmocka_unit_test(it_has_a_picture),
		cmocka_unit_test(what_is_wrong_is_told_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
