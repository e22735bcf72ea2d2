/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* netns.c - see netns.h. */
#include "netns.h"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool enter_as_user(void)
{
	char map[64];
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (!write_file("/proc/self/setgroups", "deny") ||
	    !write_file("/proc/self/uid_map", map))
		return false;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_file("/proc/self/gid_map", map);
}

bool netns_enter(void)
{
	if (unshare(CLONE_NEWNET) < 0 && !enter_as_user())
		return false;
	return netns_ip("link set lo up");
}

bool netns_ip(const char *fmt, ...)
{
	char args[200], command[256];
	va_list list;

	va_start(list, fmt);
	vsnprintf(args, sizeof(args), fmt, list);
	va_end(list);
	snprintf(command, sizeof(command), "PATH=$PATH:/usr/sbin:/sbin ip %s", args);
	return system(command) == 0;
}
