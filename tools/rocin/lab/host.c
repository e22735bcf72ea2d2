/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host.c - the hosts of a lab with their namespaces, and the capture of packets
 * between them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <netlink/socket.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/namespaces.h"
#include "transport/io/capture/pcapng.h"
#include "transport/io/host/log.h"

/* --------------------------------------------- creating processes in new namespaces */
enum {
	OF_HOST = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC,
};

/* Works like fork(), but the child is in new namespaces (@flags: CLONE_NEW...). The
 * system call clone() does not prepare libc as fork() does; that is no problem, because
 * the program has only one thread.
 */
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
	/* This is set before the fork, so that it is set in both processes. */
	user->has_ns = true;
	return fork_into(OF_HOST | CLONE_NEWPID | CLONE_NEWUSER);
}

/* Forks a keeper (the sleeping process of a host, which holds its namespaces) into new
 * namespaces. Returns what fork() would.
 */
static pid_t clone_keeper(void)
{
	return fork_into(OF_HOST);
}

pid_t rn_lab_keeper_pid(unsigned host)
{
	return (pid_t)(RN_LAB_FIRST_KEEPER + host);
}

/* -------------------------------------------------------------- namespaces of the lab */
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

static int say_refused(int rc, char *err, size_t err_len)
{
	rn_namespaces_say_refused(-rc, err, err_len);
	return rc;
}

int rn_lab_settle(const struct rn_lab_user *user, char *err, size_t err_len)
{
	int rc = user->has_ns ? rn_namespaces_map_user(user->uid, user->gid) : 0;

	if (rc)
		return say_refused(rc, err, err_len);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return say_refused(-errno, err, err_len);
	if (!mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return 0;
	if (errno != EPERM)
		return rn_fail(err, err_len, -errno, "/proc cannot be mounted: %m");
	return rn_fail(err, err_len, -EPERM,
		       "a /proc of its own is forbidden here, where parts of /proc are "
		       "hidden, as in most containers; run it outside, or start the "
		       "container with --security-opt systempaths=unconfined");
}

/* ------------------------------------------------------------- namespaces of a host */
/* Mounts a new /sys on a host: the old one shows the interfaces of another network
 * namespace, that in which it was mounted. If the mount is not permitted, the old /sys
 * stays, and programs still work.
 */
static void mount_sys(void)
{
	/* OPEN_TREE_CLONE, AT_RECURSIVE and MOVE_MOUNT_F_EMPTY_PATH. The functions and
	 * their flags came to glibc with 2.36, and packages of Rocin are for systems
	 * with 2.34, too.
	 */
	enum {
		COPY_OF_TREE = 1,
		COPY_WITH_SUBMOUNTS = 0x8000,
		MOVE_WHAT_DESCRIPTOR_IS = 4
	};
	int groups = (int)syscall(SYS_open_tree, AT_FDCWD, "/sys/fs/cgroup",
				  COPY_OF_TREE | COPY_WITH_SUBMOUNTS | O_CLOEXEC);

	if (!mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
		   NULL) &&
	    groups >= 0)
		(void)syscall(SYS_move_mount, groups, "", AT_FDCWD, "/sys/fs/cgroup",
			      MOVE_WHAT_DESCRIPTOR_IS);
	if (groups >= 0)
		close(groups);
}

/* Writes @text to the file @name in the host's own directory, and mounts that file over
 * the system file @path. If @path does not exist, the function does nothing, because no
 * program reads @path. Returns 0 or -errno.
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

/* Gives the host a boot id of its own. MPI libraries would take hosts with the same boot
 * id for one machine, and use shared memory instead of the network.
 */
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

/* Makes links to this program in RN_LAB_BIN. Their names, such as ssh, are those of the
 * commands by which MPI launchers start programs on another host.
 */
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

/* Sets up host name, hosts file, shared memory and boot id of a host. Runs in its keeper
 * (the child of clone_keeper()).
 */
static int set_up_namespace(unsigned host, unsigned hosts, char *err, size_t err_len)
{
	char name[16];
	int rc = 0;

	snprintf(name, sizeof(name), "h%u\n", host + 1);
	if (sethostname(name, strlen(name) - 1))
		return say_refused(-errno, err, err_len);
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

/* ------------------------------------------------------------------- entering a host */
static int enter_namespace(pid_t keeper, const char *what, int flag)
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

/* Enters the mount namespace of process @keeper, with the root directory of that process
 * and the working directory @dir. setns() makes the top of the mount namespace the root
 * directory. If the lab was started in a chroot() environment, this is not the root
 * directory of @keeper, so the function also calls chroot(). Returns 0 or -errno.
 */
static int join_mounts(pid_t keeper, const char *dir)
{
	char path[64];
	int top, rc;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)keeper);
	top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	rc = enter_namespace(keeper, "mnt", CLONE_NEWNS);
	if (!rc && (fchdir(top) || chroot(".") || chdir(dir)))
		rc = -errno;
	close(top);
	return rc;
}

/* Enters the namespaces of a host, which process @keeper holds, and changes back to the
 * current directory.
 */
static int enter_host(pid_t keeper, char *err, size_t err_len)
{
	char dir[PATH_MAX];
	int rc;

	if (!getcwd(dir, sizeof(dir)))
		return rn_fail(err, err_len, -errno, "the directory has no name: %m");
	rc = enter_namespace(keeper, "net", CLONE_NEWNET);
	if (!rc)
		rc = enter_namespace(keeper, "uts", CLONE_NEWUTS);
	if (!rc)
		rc = enter_namespace(keeper, "ipc", CLONE_NEWIPC);
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

/* -------------------------------------------------- keepers and processes of a host */
/* What a keeper (the sleeping process of a host) reports to the main process of the lab
 * after each step of setting up the host.
 */
struct report {
	int rc;
	unsigned by;
	char text[512];
};

struct keeper {
	pid_t pid;
	int sock;
};

static bool has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* --------------------------------------------------- functions for the keeper process */
static void send_report(int sock, const struct report *r)
{
	(void)!send(sock, r, sizeof(*r), MSG_NOSIGNAL);
}

static void forget_files(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	close_range(3, ~0u, 0);
}

_Noreturn static void keep(const struct rn_lab_args *args, unsigned host, int sock)
{
	struct report r = { 0 };
	char name[16], go;
	sigset_t all;

	/* All signals are blocked: a program on a host may send a signal to all
	 * processes, and this must not end the keeper.
	 */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	snprintf(name, sizeof(name), "lab h%u", host + 1);
	prctl(PR_SET_NAME, name);
	r.rc = set_up_namespace(host, args->hosts, r.text, sizeof(r.text));
	rn_lab_net_prepare(has_ipv6());
	send_report(sock, &r);
	if (recv(sock, &go, 1, 0) != 1)
		_exit(EXIT_FAILURE);
	r.rc = rn_lab_host_connect(&args->link, host, &r.by, r.text, sizeof(r.text));
	send_report(sock, &r);
	forget_files();
	for (;;)
		pause();
}

/* ----------------------------------------------------- functions for the main process */
static int start_keeper(const struct rn_lab_args *args, unsigned host, struct keeper *k,
			char *err, size_t err_len)
{
	int sock[2];

	k->sock = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return rn_fail(err, err_len, -errno, "h%u cannot be made: %m", host + 1);
	k->sock = sock[0];
	k->pid = clone_keeper();
	if (k->pid == 0) {
		close(sock[0]);
		keep(args, host, sock[1]);
	}
	close(sock[1]);
	if (k->pid < 0) {
		rn_namespaces_say_refused(errno, err, err_len);
		return -errno;
	}
	assert(k->pid == rn_lab_keeper_pid(host));
	return 0;
}

static int receive_report(const struct keeper *k, unsigned host, unsigned *by, char *err,
			  size_t err_len)
{
	struct report r;

	if (recv(k->sock, &r, sizeof(r), 0) != sizeof(r))
		return rn_fail(err, err_len, -ESRCH, "h%u has ended while it was made",
			       host + 1);
	*by = r.by;
	if (r.rc)
		return rn_fail(err, err_len, r.rc, "h%u: %s", host + 1, r.text);
	return 0;
}

static int connect_all(const struct rn_lab_args *args, struct keeper *keepers,
		       unsigned *by, char *err, size_t err_len)
{
	struct nl_sock *nl;
	int rc = rn_lab_net_open(&nl);

	if (rc)
		return rn_fail(err, err_len, rc, "the network cannot be made: %m");
	rn_lab_net_prepare(false);
	rc = rn_lab_switch_make(nl, &args->link, err, err_len);
	for (unsigned i = 0; i < args->hosts && !rc; i++) {
		rc = receive_report(&keepers[i], i, by, err, err_len);
		if (!rc)
			rc = rn_lab_cable_make(nl, &args->link, i, keepers[i].pid, err,
					       err_len);
		if (!rc)
			(void)!send(keepers[i].sock, "", 1, MSG_NOSIGNAL);
	}
	for (unsigned i = 0; i < args->hosts && !rc; i++)
		rc = receive_report(&keepers[i], i, by, err, err_len);
	nl_socket_free(nl);
	return rc;
}

int rn_lab_hosts_make(const struct rn_lab_args *args, unsigned *by, char *err,
		      size_t err_len)
{
	struct keeper keepers[RN_LAB_HOSTS_MAX] = { 0 };
	unsigned made = 0;
	int rc = 0;

	while (made < args->hosts && !rc) {
		rc = start_keeper(args, made, &keepers[made], err, err_len);
		made++;
	}
	if (!rc)
		rc = connect_all(args, keepers, by, err, err_len);
	while (made--)
		if (keepers[made].sock >= 0)
			close(keepers[made].sock);
	return rc;
}

/* --------------------------------------------- functions for the process of a program */
static int put_number(const char *name, unsigned value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return setenv(name, text, 1);
}

static int put_host(const char *name, unsigned host)
{
	char text[16];

	snprintf(text, sizeof(text), "h%u", host + 1);
	return setenv(name, text, 1);
}

/* Extends PATH: puts the directory of ssh and rsh (commands that run programs on other
 * hosts of the lab) at its beginning, and the directory of rocin at its end.
 */
static int set_path(void)
{
	const char *old = getenv("PATH");
	char self[PATH_MAX], *slash, *path;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int rc;

	if (old && !strncmp(old, RN_LAB_BIN ":", strlen(RN_LAB_BIN ":")))
		return 0;
	self[n < 0 ? 0 : n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	if (asprintf(&path, RN_LAB_BIN ":%s:%s", old ? old : "/usr/bin:/bin", self) < 0)
		return -1;
	rc = setenv("PATH", path, 1);
	free(path);
	return rc;
}

/* Sets the environment variables of programs on a host. */
static int set_environment(unsigned host, unsigned hosts)
{
	static char list[RN_LAB_HOSTS_MAX * 6], address[32];
	size_t at = 0;

	for (unsigned i = 1; i <= hosts; i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%sh%u",
				       i > 1 ? "," : "", i);
	snprintf(address, sizeof(address), RN_LAB_NET4 "%u", host + 1);
	if (put_number("ROCIN_LAB_RANK", host) || put_number("ROCIN_LAB_SIZE", hosts) ||
	    put_host("ROCIN_LAB_HOST", host) ||
	    put_host("ROCIN_LAB_PEER", (host + 1) % hosts) ||
	    setenv("ROCIN_LAB_HOSTS", list, 1) ||
	    setenv("ROCIN_LAB_ADDRESS", address, 1) ||
	    setenv("ROCIN_RUNTIME_DIR", RN_LAB_SHM "/rocin", 1) || set_path())
		return -ENOMEM;
	return 0;
}

int rn_lab_host_become(const struct rn_lab_args *args, unsigned host, char *err,
		       size_t err_len)
{
	int rc = enter_host(rn_lab_keeper_pid(host), err, err_len);

	if (!rc && set_environment(host, args->hosts))
		rc = rn_fail(err, err_len, -ENOMEM, "no memory for the environment");
	return rc;
}

/* ------------------------------------------------------------ fault rules of a host */
_Noreturn static void give_rules(const struct rn_lab_args *args, unsigned host)
{
	static char rules[512];
	char err[512], *argv[] = { "rocin", "fault", rules, NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	rn_lab_link_rules(&args->link, host, rules, sizeof(rules));
	if (rn_lab_host_become(args, host, err, sizeof(err))) {
		rn_complain("%s", err);
		_exit(EXIT_FAILURE);
	}
	execv("/proc/self/exe", argv);
	rn_complain("rocin fault: %s", strerror(errno));
	_exit(EXIT_FAILURE);
}

int rn_lab_hosts_rules(const struct rn_lab_args *args, char *err, size_t err_len)
{
	pid_t pids[RN_LAB_HOSTS_MAX];
	int rc = 0, status;

	for (unsigned i = 0; i < args->hosts; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			give_rules(args, i);
	}
	for (unsigned i = 0; i < args->hosts; i++)
		if (pids[i] < 0 || waitpid(pids[i], &status, 0) < 0 || status)
			rc = rn_fail(err, err_len, -EIO,
				     "h%u has not taken the rules about its packets",
				     i + 1);
	return rc;
}

/* --------------------------------------------- capture of the packets at the switch */
enum {
	SNAPLEN = 65535,
	BUFFER = 32 << 20,
	/* Time in ms after which the kernel hands a block of packets over even if it is
	 * not full.
	 */
	BLOCK_MS = 10,
	FLUSH_AT = 1 << 16,
	LAST_LOOKS = 50,
};

#define PORT "br0"

struct capture {
	pcap_t *pcap;
	int fd;
	struct rn_pcapng buf;
	uint64_t packets;
	int rc; /* result of writing the capture file: 0 or -errno */
};

static void flush_capture(struct capture *c)
{
	const uint8_t *at = c->buf.data;
	size_t left = c->buf.len;

	while (left && !c->rc) {
		ssize_t n = write(c->fd, at, left);

		if (n < 0 && errno != EINTR)
			c->rc = -errno;
		if (n < 0)
			continue;
		at += n;
		left -= (size_t)n;
	}
	if (c->buf.failed)
		c->rc = -ENOMEM;
	rn_pcapng_clear(&c->buf);
}

static void on_packet(u_char *ctx, const struct pcap_pkthdr *hdr, const u_char *bytes)
{
	struct capture *c = (struct capture *)(void *)ctx;
	/* tv_usec has nanoseconds, because libpcap was set to this resolution. */
	const struct rn_pcapng_packet packet = {
		.time = (uint64_t)hdr->ts.tv_sec * 1000000000 + (uint64_t)hdr->ts.tv_usec,
		.len = hdr->len,
		.cap = hdr->caplen,
		.data = bytes,
	};

	rn_pcapng_packet(&c->buf, &packet);
	c->packets++;
	if (c->buf.len >= FLUSH_AT)
		flush_capture(c);
}

static int open_port(struct capture *c, char *err, size_t err_len)
{
	char why[PCAP_ERRBUF_SIZE] = "no memory";

	c->pcap = pcap_create(PORT, why);
	if (!c->pcap)
		return rn_fail(err, err_len, -EIO, "the switch cannot be captured: %s",
			       why);
	pcap_set_snaplen(c->pcap, SNAPLEN);
	pcap_set_promisc(c->pcap, 1);
	pcap_set_timeout(c->pcap, BLOCK_MS);
	pcap_set_buffer_size(c->pcap, BUFFER);
	pcap_set_tstamp_precision(c->pcap, PCAP_TSTAMP_PRECISION_NANO);
	if (pcap_activate(c->pcap) < 0 || pcap_setnonblock(c->pcap, 1, why) < 0)
		return rn_fail(err, err_len, -EIO, "the switch cannot be captured: %s",
			       pcap_geterr(c->pcap));
	return 0;
}

static int open_file(struct capture *c, const char *path, char *err, size_t err_len)
{
	c->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (c->fd < 0)
		return rn_fail(err, err_len, -errno, "%s cannot be written: %m", path);
	rn_pcapng_section(&c->buf, NULL, NULL, "rocin lab " ROCIN_VERSION);
	rn_pcapng_interface(&c->buf, DLT_EN10MB, "switch", "All hosts of the lab",
			    SNAPLEN);
	flush_capture(c);
	return 0;
}

static int take_all(struct capture *c)
{
	int n, all = 0;

	while (!c->rc && (n = pcap_dispatch(c->pcap, -1, on_packet, (u_char *)c)) > 0)
		all += n;
	flush_capture(c);
	return all;
}

/* Writes captured packets to the file until SIGTERM comes. Then writes those that are
 * still in the kernel's buffer, and ends the process.
 */
_Noreturn static void write_packets(struct capture *c, int signals, bool quiet)
{
	struct pollfd p[] = { { .fd = signals, .events = POLLIN },
			      { .fd = pcap_get_selectable_fd(c->pcap),
				.events = POLLIN } };
	struct pcap_stat stat = { 0 };

	while (!c->rc && !(p[0].revents & POLLIN)) {
		poll(p, RN_ARRAY_SIZE(p), -1);
		take_all(c);
	}
	/* Programs may go on sending, so this loop has a limit. */
	for (unsigned i = 0; i < LAST_LOOKS && poll(p + 1, 1, 3 * BLOCK_MS) > 0; i++)
		take_all(c);
	pcap_stats(c->pcap, &stat);
	if (c->rc)
		rn_complain("the capture cannot be written: %s", strerror(-c->rc));
	else if (!quiet)
		fprintf(stderr, "rocin lab: %llu packets captured, %u missed\n",
			(unsigned long long)c->packets, stat.ps_drop);
	_exit(c->rc ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Starts the capture process. The caller must have blocked all signals. */
int rn_lab_capture_start(const char *path, bool quiet, pid_t *pid, char *err,
			 size_t err_len)
{
	struct capture c = { 0 };
	sigset_t term;
	int rc = open_port(&c, err, err_len);

	if (!rc)
		rc = open_file(&c, path, err, err_len);
	if (rc)
		return rc;
	*pid = fork();
	if (*pid == 0) {
		sigemptyset(&term);
		sigaddset(&term, SIGTERM);
		sigprocmask(SIG_BLOCK, &term, NULL);
		write_packets(&c, signalfd(-1, &term, SFD_CLOEXEC), quiet);
	}
	rc = *pid < 0 ? -errno : 0;
	pcap_close(c.pcap);
	close(c.fd);
	rn_pcapng_free(&c.buf);
	return rc ? rn_fail(err, err_len, rc, "the capture cannot be started: %m") : 0;
}

int rn_lab_capture_stop(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid)
		return -ECHILD;
	return status ? -EIO : 0;
}
