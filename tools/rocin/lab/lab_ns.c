/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_ns.c - see lab_ns.h */
#include "lab_ns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab.h"
#include "transport/io/host/sentence.h"

enum {
	OF_HOST = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC,
};

/* fork() with namespaces; this program has one thread. */
static pid_t fork_into(int flags)
{
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

pid_t rn_lab_clone(struct rn_lab_user *user)
{
	pid_t pid;

	*user = (struct rn_lab_user){ .uid = geteuid(), .gid = getegid() };
	if (user->uid == 0) {
		pid = fork_into(OF_HOST | CLONE_NEWPID);
		if (pid >= 0 || errno != EPERM)
			return pid;
	}
	/* Before: the child has its own copy. */
	user->has_ns = true;
	return fork_into(OF_HOST | CLONE_NEWPID | CLONE_NEWUSER);
}

pid_t rn_lab_clone_keeper(void)
{
	return fork_into(OF_HOST);
}

pid_t rn_lab_keeper_pid(unsigned host)
{
	return (pid_t)(RN_LAB_FIRST_KEEPER + host);
}

/* ------------------------------------------------------------------------ refusals */
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

void rn_lab_say_refused(int err, char *text, size_t len)
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
			"IPC namespaces, of which a lab is made";
	else if (err == ENOSPC || err == EUSERS)
		sentence = "there are too many namespaces already; see "
			   "user.max_*_namespaces "
			   "in namespaces(7)";
	if (err == EPERM || err == EACCES || sentence[0] == 't')
		snprintf(text, len, "%s", sentence);
	else
		snprintf(text, len, "namespaces cannot be made: %s", strerror(err));
}

/* ------------------------------------------------------------------ the lab's own */
static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? (int)n : 0;
}

/* The same user inside and outside; nobody else is known inside. */
static int map_user(const struct rn_lab_user *user)
{
	char map[64];
	int rc;

	snprintf(map, sizeof(map), "%u %u 1\n", (unsigned)user->uid, (unsigned)user->uid);
	rc = write_file("/proc/self/uid_map", map);
	/* Without this nobody may map groups. */
	if (!rc)
		rc = write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1\n", (unsigned)user->gid, (unsigned)user->gid);
	return rc ? rc : write_file("/proc/self/gid_map", map);
}

static int refused(int rc, char *err, size_t err_len)
{
	rn_lab_say_refused(-rc, err, err_len);
	return rc;
}

int rn_lab_settle(const struct rn_lab_user *user, char *err, size_t err_len)
{
	int rc = user->has_ns ? map_user(user) : 0;

	if (rc)
		return refused(rc, err, err_len);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return refused(-errno, err, err_len);
	if (!mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return 0;
	if (errno != EPERM)
		return rn_fail(err, err_len, -errno, "/proc cannot be mounted: %m");
	return rn_fail(err, err_len, -EPERM,
		       "a /proc of its own is forbidden here, where parts of /proc are "
		       "hidden, as in most containers; run it outside, or start the "
		       "container with --security-opt systempaths=unconfined");
}

/* -------------------------------------------------------------------------- a host */
/* The interfaces in /sys are those of whoever has mounted it. It is good without, where
 * that is forbidden.
 */
static void mount_sys(void)
{
	int groups = open_tree(AT_FDCWD, "/sys/fs/cgroup",
			       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (!mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
		   NULL) &&
	    groups >= 0)
		(void)move_mount(groups, "", AT_FDCWD, "/sys/fs/cgroup",
				 MOVE_MOUNT_F_EMPTY_PATH);
	if (groups >= 0)
		close(groups);
}

/* Put @name of the host's own directory in the place of @path. What is not there, nobody
 * reads.
 */
static int put_over(const char *name, const char *path, const char *text)
{
	char own[64];
	int rc;

	snprintf(own, sizeof(own), RN_LAB_DIR "/%s", name);
	rc = write_file(own, text);
	if (!rc && mount(own, path, NULL, MS_BIND, NULL) && errno != ENOENT)
		rc = -errno;
	return rc;
}

static int write_hosts(unsigned hosts)
{
	static char text[64 + RN_LAB_HOSTS_MAX * 64];
	size_t at = 0;

	at += (size_t)snprintf(text, sizeof(text),
			       "127.0.0.1 localhost\n::1 localhost ip6-localhost\n");
	for (unsigned i = 1; i <= hosts; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       RN_LAB_NET4 "%u h%u\n" RN_LAB_NET6 "%x h%u-v6\n",
				       i, i, i, i);
	return put_over("hosts", "/etc/hosts", text);
}

/* Programs take hosts for one that have one boot id, and then use memory to talk. */
static int write_boot_id(unsigned host)
{
	char text[64];
	uint64_t id[2];

	if (getentropy(id, sizeof(id)))
		return -errno;
	snprintf(text, sizeof(text), "%08x-%04x-4%03x-8%03x-%06llx%06x\n",
		 (uint32_t)id[0], (unsigned)(id[0] >> 32 & 0xffff),
		 (unsigned)(id[0] >> 48 & 0xfff), (unsigned)(id[1] & 0xfff),
		 (unsigned long long)(id[1] >> 16 & 0xffffff), host + 1);
	return put_over("boot_id", "/proc/sys/kernel/random/boot_id", text);
}

/* The names under which launchers look for a way to another host. */
static int link_agents(void)
{
	static const char *const names[] = { RN_LAB_BIN "/rocin-lab-exec",
					     RN_LAB_BIN "/ssh", RN_LAB_BIN "/rsh" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return -errno;
	self[n] = '\0';
	for (size_t i = 0; i < RN_ARRAY_SIZE(names); i++)
		if (symlink(self, names[i]))
			return -errno;
	return 0;
}

int rn_lab_furnish(unsigned host, unsigned hosts, char *err, size_t err_len)
{
	char name[16];
	int rc = 0;

	snprintf(name, sizeof(name), "h%u\n", host + 1);
	if (sethostname(name, strlen(name) - 1))
		return refused(-errno, err, err_len);
	mount_sys();
	if (mount("tmpfs", RN_LAB_SHM, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"))
		return rn_fail(
			err, err_len, -errno,
			"the host cannot have shared memory of its own, " RN_LAB_SHM
			": %m");
	if (mkdir(RN_LAB_DIR, 0755) || mkdir(RN_LAB_BIN, 0755))
		rc = -errno;
	if (!rc)
		rc = link_agents();
	if (!rc)
		rc = write_hosts(hosts);
	if (!rc)
		rc = put_over("hostname", "/etc/hostname", name);
	if (!rc)
		rc = write_boot_id(host);
	if (rc)
		return rn_fail(err, err_len, rc,
			       "the host's own files cannot be made: %m");
	return 0;
}

/* ------------------------------------------------------------------------- to enter */
static int join(pid_t keeper, const char *what, int flag)
{
	char path[64];
	int fd, rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)keeper, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (setns(fd, flag))
		rc = -errno;
	close(fd);
	return rc;
}

/* To enter a mount namespace leads to the directory at its top, which a chroot() has
 * made another one.
 */
static int join_mounts(pid_t keeper, const char *dir)
{
	char path[64];
	int top, rc;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)keeper);
	top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	rc = join(keeper, "mnt", CLONE_NEWNS);
	if (!rc && (fchdir(top) || chroot(".") || chdir(dir)))
		rc = -errno;
	close(top);
	return rc;
}

int rn_lab_enter(pid_t keeper, char *err, size_t err_len)
{
	char dir[PATH_MAX];
	int rc;

	if (!getcwd(dir, sizeof(dir)))
		return rn_fail(err, err_len, -errno, "the directory has no name: %m");
	rc = join(keeper, "net", CLONE_NEWNET);
	if (!rc)
		rc = join(keeper, "uts", CLONE_NEWUTS);
	if (!rc)
		rc = join(keeper, "ipc", CLONE_NEWIPC);
	if (!rc)
		rc = join_mounts(keeper, dir);
	if (rc == -ENOENT)
		return rn_fail(
			err, err_len, rc,
			"the directory %s is not there on hosts of the lab, which have "
			"a /sys and " RN_LAB_SHM " of their own; go to another one",
			dir);
	if (rc)
		return rn_fail(err, err_len, rc, "the host cannot be entered: %m");
	return 0;
}

int rn_lab_keep_capabilities(void)
{
	static const unsigned kept[] = { CAP_NET_ADMIN,	       CAP_NET_RAW,
					 CAP_NET_BIND_SERVICE, CAP_SYS_ADMIN,
					 CAP_SYS_CHROOT,       CAP_SYS_PTRACE };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &head, caps))
		return -errno;
	for (size_t i = 0; i < RN_ARRAY_SIZE(kept); i++)
		caps[0].inheritable |= 1u << kept[i];
	if (syscall(SYS_capset, &head, caps))
		return -errno;
	for (size_t i = 0; i < RN_ARRAY_SIZE(kept); i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept[i], 0, 0))
			return -errno;
	return 0;
}
