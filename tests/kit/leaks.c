/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* leaks.c - a library that is preloaded into the programs of test scripts, in builds with
 * AddressSanitizer. When a process ends that has used Rocin, it lets LeakSanitizer report
 * the memory to which no pointer exists any more.
 *
 * Each process writes its report to a file in the directory $ROCIN_TEST_LEAKS; leaks.awk
 * finds out which reports are about memory of Rocin. ASAN_OPTIONS must contain
 * detect_leaks=1:leak_check_at_exit=0, so that leaks of other programs in the scripts,
 * such as the shell, are not reported.
 */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void __sanitizer_set_report_path(const char *path) __attribute__((weak));
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static int is_rocins(struct dl_phdr_info *info, size_t size, void *none)
{
	(void)size;
	(void)none;
	return strstr(info->dlpi_name, "/librocin") != NULL;
}

/* Returns true if this is one of our own programs, or if it has loaded a library of
 * Rocin.
 */
static int has_rocin(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (len > 0) {
		path[len] = '\0';
		if (strstr(path, "/bin/rocin"))
			return 1;
	}
	return dl_iterate_phdr(is_rocins, NULL);
}

__attribute__((destructor)) static void look_for_leaks(void)
{
	const char *directory = secure_getenv("ROCIN_TEST_LEAKS");
	char path[4096];

	if (!directory || !__lsan_do_recoverable_leak_check ||
	    !__sanitizer_set_report_path || !has_rocin() ||
	    access(directory, W_OK | X_OK) != 0)
		return;
	snprintf(path, sizeof(path), "%s/leaks", directory);
	__sanitizer_set_report_path(path);
	(void)__lsan_do_recoverable_leak_check();
	__sanitizer_set_report_path("stderr");
}
