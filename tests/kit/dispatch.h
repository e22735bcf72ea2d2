/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dispatch.h - main() of a program that consists of many tests.
 *
 * usage: PROGRAM NAME
 *
 * rn_unit_test() (tests/CMakeLists.txt) generates the C file that includes this one.
 * There, RN_TESTS expands to X(NAME) for each test of the program. Each test has a main()
 * of its own, which test_main.h renames to test_NAME. A process runs only one test, so
 * tests share the program file, but no variables.
 */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#define X(name) int test_##name(void);
RN_TESTS
#undef X

static const struct test {
	const char *name;
	int (*run)(void);
} tests[] = {
#define X(name) { "test_" #name, test_##name },
	RN_TESTS
#undef X
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(tests) / sizeof(*tests); i++)
		if (!strcmp(tests[i].name + strlen("test_"), argv[1])) {
			prctl(PR_SET_NAME, tests[i].name); /* the name that ps shows */
			return tests[i].run();
		}
	fprintf(stderr, "usage: %s NAME, which is one of:", argv[0]);
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		fprintf(stderr, " %s", tests[i].name + strlen("test_"));
	fputc('\n', stderr);
	return 64;
}
