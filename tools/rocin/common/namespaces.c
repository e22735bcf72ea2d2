/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* namespaces.c - see namespaces.h. */
#include "namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rocin/types.h"

static bool begins_with(const char *path, char first)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char c = '\0';

	if (fd < 0)
		return false;
	if (read(fd, &c, 1) != 1)
		c = '\0';
	close(fd);
	return c == first;
}

void rn_namespaces_say_refused(int err, char *text, size_t len)
{
	static const struct {
		const char *file;
		char value;
		const char *text;
	} switches[] = {
		{ "/proc/sys/kernel/unprivileged_userns_clone", '0',
		  "only root may make user namespaces here; as root: sysctl -w "
		  "kernel.unprivileged_userns_clone=1, or run it as root" },
		{ "/proc/sys/user/max_user_namespaces", '0',
		  "user namespaces are switched off here; as root: sysctl -w "
		  "user.max_user_namespaces=10000, or run it as root" },
		{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
		  "AppArmor takes their rights from user namespaces here; as root: "
		  "sysctl "
		  "-w kernel.apparmor_restrict_unprivileged_userns=0, or run it as "
		  "root" },
	};
	const char *sentence =
		"namespaces are forbidden here, as in most containers; run it outside, "
		"or "
		"start the container with --privileged (or with --cap-add=SYS_ADMIN "
		"--cap-add=NET_ADMIN --security-opt seccomp=unconfined --security-opt "
		"apparmor=unconfined --security-opt systempaths=unconfined)";

	for (size_t i = 0; i < RN_ARRAY_SIZE(switches); i++)
		if (begins_with(switches[i].file, switches[i].value)) {
			snprintf(text, len, "%s", switches[i].text);
			return;
		}
	if (err == EINVAL || err == ENOSYS)
		sentence =
			"this kernel has not all of user, network, mount, PID, UTS and "
			"IPC namespaces, of which this is made";
	else if (err == ENOSPC || err == EUSERS)
		sentence = "there are too many namespaces already; see "
			   "user.max_*_namespaces "
			   "in namespaces(7)";
	if (err == EPERM || err == EACCES || sentence[0] == 't')
		snprintf(text, len, "%s", sentence);
	else
		snprintf(text, len, "namespaces cannot be made: %s", strerror(err));
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	int rc = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

int rn_namespaces_map_user(uid_t uid, gid_t gid)
{
	char map[64];
	int rc;

	snprintf(map, sizeof(map), "%u %u 1\n", (unsigned)uid, (unsigned)uid);
	rc = write_text("/proc/self/uid_map", map);
	/* An unprivileged process must deny setgroups() before it may map group ids. */
	if (!rc)
		rc = write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1\n", (unsigned)gid, (unsigned)gid);
	return rc ? rc : write_text("/proc/self/gid_map", map);
}
