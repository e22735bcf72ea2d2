/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* leaks.c - preloaded into the programs of the scripts in an asan build: when a process
 * ends that has used Rocin, LeakSanitizer writes down which memory nobody points to any
 * more.
 *
 * Reports go to the directory $ROCIN_TEST_LEAKS, a file a process; leaks.awk tells which
 * of them are Rocin's. ASAN_OPTIONS has to say detect_leaks=1:leak_check_at_exit=0: other
 * programs of the scripts, the shell among them, leak as they please and are not
 * looked at.
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

/* One of our own programs, or one that has loaded a library of ours. */
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
