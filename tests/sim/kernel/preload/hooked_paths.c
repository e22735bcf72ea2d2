/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hooked_paths.c - every libc function that takes a path finds the device, and names it.
 */
#include "hooked.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "rocin/stats.h"

/* A function that headers do not declare: behind _FORTIFY_SOURCE, or of an older glibc.
 */
#define HIDDEN(name, type) ((__typeof__(type) *)dlsym(RTLD_DEFAULT, name))

enum {
	/* counters and hw_counters, and the files in them */
	COUNTERS = 1 + 21 + 1 + RN_STAT_COUNT,
};

static void check_text(int fd, const char *want)
{
	char buf[128];
	ssize_t len;

	CHECK(fd >= 0);
	len = read(fd, buf, sizeof(buf) - 1);
	CHECK(len >= 0);
	buf[len] = '\0';
	CHECK_TEXT(buf, want);
	close(fd);
}

static void open_finds_the_device(void)
{
	int dir;

	check_text(open(PORT "/state", O_RDONLY), "4: ACTIVE\n");
	check_text(open64("//sys/./class/infiniband/rocin0/node_type", O_RDONLY),
		   "1: CA\n");
	check_text(openat(-1, IBDEV "/node_type", O_RDONLY), "1: CA\n");
	check_text(openat64(AT_FDCWD, IBDEV "/node_type", O_RDONLY), "1: CA\n");
	check_text(
		HIDDEN("__open_2", int(const char *, int))(IBDEV "/node_type", O_RDONLY),
		"1: CA\n");
	check_text(HIDDEN("__open64_2", int(const char *, int))(IBDEV "/node_type",
								O_RDONLY),
		   "1: CA\n");
	check_text(HIDDEN("__openat_2",
			  int(int, const char *, int))(-1, IBDEV "/node_type", O_RDONLY),
		   "1: CA\n");
	check_text(HIDDEN("__openat64_2",
			  int(int, const char *, int))(-1, IBDEV "/node_type", O_RDONLY),
		   "1: CA\n");

	/* Relative to a descriptor, as libibverbs reads the uverbs directory. */
	dir = open(CLASS "_verbs/uverbs_rocin0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(dir >= 0);
	check_text(openat(dir, "ibdev", O_RDONLY), "rocin0\n");
	check_text(openat(dir, "device/infiniband/rocin0/node_type", O_RDONLY),
		   "1: CA\n");
	close(dir);
}

static void stdio_finds_the_device(void)
{
	char line[64];
	FILE *f = fopen(IBDEV "/node_type", "r");

	CHECK(f && fgets(line, sizeof(line), f));
	CHECK_TEXT(line, "1: CA\n");
	f = freopen(PORT "/state", "r", f);
	CHECK(f && fgets(line, sizeof(line), f));
	CHECK_TEXT(line, "4: ACTIVE\n");
	f = freopen64(PORT "/pkeys/0", "r", f);
	CHECK(f && fgets(line, sizeof(line), f));
	CHECK_TEXT(line, "0xffff\n");
	fclose(f);
	f = fopen64(PORT "/link_layer", "r");
	CHECK(f && fgets(line, sizeof(line), f));
	CHECK_TEXT(line, "Ethernet\n");
	fclose(f);
	CHECK(!fopen(IBDEV "/missing", "r") && errno == ENOENT);
}

static int no_dots(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int no_dots64(const struct dirent64 *entry)
{
	return entry->d_name[0] != '.';
}

static void directories_list_the_device(void)
{
	struct dirent **names;
	struct dirent64 **names64;
	struct dirent *entry;
	unsigned count = 0;
	DIR *dir = opendir(CLASS);

	CHECK(dir);
	while ((entry = readdir(dir)))
		count += !strcmp(entry->d_name, "rocin0");
	closedir(dir);
	CHECK(count == 1);

	CHECK(scandir(PORT "/gids", &names, no_dots, alphasort) == 16);
	CHECK_TEXT(names[0]->d_name, "0");
	for (unsigned i = 0; i < 16; i++)
		free(names[i]);
	free(names);
	CHECK(scandir64(PORT "/pkeys", &names64, no_dots64, alphasort64) == 1);
	free(names64[0]);
	free(names64);
	CHECK(scandirat(-1, PORT "/pkeys", &names, no_dots, alphasort) == 1);
	free(names[0]);
	free(names);
	CHECK(scandirat64(-1, PORT "/pkeys", &names64, no_dots64, alphasort64) == 1);
	free(names64[0]);
	free(names64);
}

static void stat_sees_files_links_and_the_node(void)
{
	struct stat st;
	struct stat64 st64;
	struct statx stx;

	CHECK(stat(NODE, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == 0x103);
	CHECK(stat64(IBDEV, &st64) == 0 && S_ISDIR(st64.st_mode));
	CHECK(lstat(IBDEV, &st) == 0 && S_ISLNK(st.st_mode));
	CHECK(lstat(IBDEV "/", &st) == 0 && S_ISDIR(st.st_mode));
	CHECK(lstat64(IBDEV, &st64) == 0 && S_ISLNK(st64.st_mode));
	CHECK(fstatat(-1, NODE, &st, 0) == 0 && S_ISCHR(st.st_mode));
	CHECK(fstatat64(-1, IBDEV, &st64, AT_SYMLINK_NOFOLLOW) == 0 &&
	      S_ISLNK(st64.st_mode));
	CHECK(statx(-1, IBDEV, 0, STATX_TYPE, &stx) == 0 && S_ISDIR(stx.stx_mode));
}

/* Programs built before glibc 2.33; _STAT_VER is 1 on x86-64, 0 on newer machines. */
static void old_stat_sees_them_too(void)
{
	struct stat st;
	struct stat64 st64;
	int ver = sizeof(long) == 8 && sizeof(st.st_nlink) == 8 ? 1 : 0;

	if (!dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "__xstat"))
		return; /* nor does this libc have such programs */
	CHECK(HIDDEN("__xstat", int(int, const char *, struct stat *))(ver, NODE, &st) ==
	      0);
	CHECK(S_ISCHR(st.st_mode));
	CHECK(HIDDEN("__xstat64", int(int, const char *, struct stat64 *))(ver, NODE,
									   &st64) == 0);
	CHECK(HIDDEN("__lxstat", int(int, const char *, struct stat *))(ver, IBDEV,
									&st) == 0);
	CHECK(S_ISLNK(st.st_mode));
	CHECK(HIDDEN("__lxstat64", int(int, const char *, struct stat64 *))(ver, IBDEV,
									    &st64) == 0);
	CHECK(HIDDEN("__fxstatat", int(int, int, const char *, struct stat *, int))(
		      ver, -1, IBDEV, &st, 0) == 0);
	CHECK(S_ISDIR(st.st_mode));
	CHECK(HIDDEN("__fxstatat64", int(int, int, const char *, struct stat64 *, int))(
		      ver, -1, IBDEV, &st64, 0) == 0);
}

static void access_links_and_attributes_work(void)
{
	static const char link[] =
		"../../devices/virtual/rocin/rocin0.nic/infiniband/rocin0";
	char buf[PATH_MAX] = "";
	int fd;

	CHECK(access(NODE, R_OK | W_OK) == 0);
	CHECK(access(CLASS "/rocin1", F_OK) == -1 && errno == ENOENT);
	CHECK(faccessat(-1, NODE, R_OK | W_OK, 0) == 0);
	CHECK(euidaccess(NODE, R_OK) == 0);
	CHECK(eaccess(NODE, R_OK) == 0);
	CHECK(readlink(IBDEV, buf, sizeof(buf)) == sizeof(link) - 1);
	CHECK(!memcmp(buf, link, sizeof(link) - 1));
	CHECK(readlinkat(-1, IBDEV, buf, sizeof(buf)) == sizeof(link) - 1);
	CHECK(HIDDEN("__readlink_chk", ssize_t(const char *, char *, size_t, size_t))(
		      IBDEV, buf, sizeof(buf), sizeof(buf)) == sizeof(link) - 1);
	CHECK(HIDDEN("__readlinkat_chk",
		     ssize_t(int, const char *, char *, size_t, size_t))(
		      -1, IBDEV, buf, sizeof(buf), sizeof(buf)) == sizeof(link) - 1);

	CHECK(getxattr(IBDEV, "user.rocin", buf, sizeof(buf)) == -1 && errno != ENOENT);
	CHECK(lgetxattr(IBDEV, "user.rocin", buf, sizeof(buf)) == -1 && errno != ENOENT);
	CHECK(listxattr(IBDEV, buf, sizeof(buf)) >= 0 || errno != ENOENT);
	CHECK(llistxattr(IBDEV, buf, sizeof(buf)) >= 0 || errno != ENOENT);

	fd = inotify_init1(IN_CLOEXEC);
	CHECK(inotify_add_watch(fd, CLASS, IN_CREATE) >= 0);
	close(fd);
}

/* Also the default versions: the old realpath() refuses a NULL buffer. */
static void real_paths_have_names_in_sys(void)
{
	char buf[PATH_MAX];
	char *path = realpath(IBDEV, NULL);

	CHECK_TEXT(path, REAL_IBDEV);
	free(path);
	CHECK_TEXT(realpath(IBDEV "/device", buf),
		   "/sys/devices/virtual/rocin/rocin0.nic");
	path = canonicalize_file_name(IBDEV "/device/net/../infiniband/rocin0/ports");
	CHECK_TEXT(path, REAL_IBDEV "/ports");
	free(path);
	CHECK_TEXT(HIDDEN("__realpath_chk",
			  char *(const char *, char *, size_t))(CLASS, buf, sizeof(buf)),
		   CLASS);
	CHECK(!realpath(CLASS "/missing", buf) && errno == ENOENT);
	CHECK_TEXT(realpath("/sys/class/net/../net", buf), "/sys/class/net");
}

static void working_directories_have_names_in_sys(void)
{
	char buf[PATH_MAX], old[PATH_MAX];
	char *path;

	CHECK(getcwd(old, sizeof(old)));
	CHECK(chdir(IBDEV) == 0);
	CHECK_TEXT(getcwd(buf, sizeof(buf)), REAL_IBDEV);
	path = getcwd(NULL, 0);
	CHECK_TEXT(path, REAL_IBDEV);
	free(path);
	CHECK_TEXT(HIDDEN("__getcwd_chk",
			  char *(char *, size_t, size_t))(buf, sizeof(buf), sizeof(buf)),
		   REAL_IBDEV);
	unsetenv("PWD");
	path = get_current_dir_name();
	CHECK_TEXT(path, REAL_IBDEV);
	free(path);
	check_text(open("ports/1/state", O_RDONLY), "4: ACTIVE\n");
	CHECK_TEXT(realpath("ports/1", buf), REAL_IBDEV "/ports/1");
	CHECK(chdir("../..") == 0);
	CHECK_TEXT(getcwd(buf, sizeof(buf)), "/sys/devices/virtual/rocin/rocin0.nic");
	CHECK(chdir(old) == 0);
	CHECK_TEXT(getcwd(buf, sizeof(buf)), old);
}

static void glob_finds_the_device(void)
{
	glob_t result;
	glob64_t result64;

	CHECK(glob(CLASS "/*", 0, NULL, &result) == 0);
	CHECK(result.gl_pathc == 1);
	CHECK_TEXT(result.gl_pathv[0], IBDEV);
	CHECK(!(result.gl_flags & GLOB_ALTDIRFUNC));
	CHECK(glob(PORT "/gids/1[0-9]", GLOB_APPEND, NULL, &result) == 0);
	CHECK(result.gl_pathc == 7);
	CHECK_TEXT(result.gl_pathv[1], PORT "/gids/10");
	globfree(&result);
	CHECK(glob(IBDEV, 0, NULL, &result) == 0 && result.gl_pathc == 1);
	globfree(&result);
	CHECK(glob(CLASS "/hfi1*", 0, NULL, &result) == GLOB_NOMATCH);
	CHECK(glob("/sys/class/net/l[o]", 0, NULL, &result) == 0 && result.gl_pathc == 1);
	globfree(&result);
	CHECK(glob64("/dev/infiniband/uverbs*", GLOB_MARK, NULL, &result64) == 0);
	CHECK(result64.gl_pathc == 1);
	CHECK_TEXT(result64.gl_pathv[0], NODE);
	globfree64(&result64);
}

static unsigned walked, named_gids;

static void note_walk(const char *path, const char *name)
{
	CHECK(!strncmp(path, CLASS, strlen(CLASS)));
	walked++;
	named_gids += !strcmp(name, "gids");
}

static int on_nftw(const char *path, const struct stat *st, int flag, struct FTW *where)
{
	(void)st;
	CHECK(flag != FTW_NS);
	CHECK(where->base > 0 && path[where->base - 1] == '/');
	note_walk(path, path + where->base);
	return 0;
}

static int on_nftw64(const char *path, const struct stat64 *st, int flag,
		     struct FTW *where)
{
	(void)st;
	(void)flag;
	note_walk(path, path + where->base);
	/* A walk within the walk must not disturb it. */
	if (!strcmp(path + where->base, "pkeys"))
		CHECK(nftw(PORT "/pkeys", on_nftw, 4, FTW_PHYS) == 0);
	return 0;
}

static int on_ftw(const char *path, const struct stat *st, int flag)
{
	(void)st;
	(void)flag;
	note_walk(path, strrchr(path, '/') + 1);
	return 0;
}

static int on_ftw64(const char *path, const struct stat64 *st, int flag)
{
	(void)st;
	(void)flag;
	note_walk(path, strrchr(path, '/') + 1);
	return 7; /* ends the walk and is its result */
}

static int on_elsewhere(const char *path, const struct stat *st, int flag,
			struct FTW *where)
{
	(void)st;
	(void)flag;
	(void)where;
	CHECK(path[0] == '/');
	return 1;
}

static void tree_walks_name_paths_in_sys(void)
{
	CHECK(nftw(PORT, on_nftw, 8, FTW_PHYS) == 0);
	CHECK(walked == 1 + 9 + 2 + 17 + 1 + 17 + 17 + COUNTERS && named_gids == 1);
	walked = named_gids = 0;
	CHECK(nftw64(PORT, on_nftw64, 8, FTW_PHYS) == 0);
	CHECK(walked == 64 + COUNTERS + 2 && named_gids == 1);
	walked = named_gids = 0;
	CHECK(ftw(PORT, on_ftw, 8) == 0);
	CHECK(walked == 64 + COUNTERS && named_gids == 1);
	CHECK(ftw64(PORT, on_ftw64, 8) == 7);
	CHECK(nftw("/proc/self/task", on_elsewhere, 4, FTW_PHYS) == 1);
	CHECK(nftw(CLASS "/missing", on_nftw, 4, 0) == -1 && errno == ENOENT);
}

static void fts_walks_into_the_tree(void)
{
	char *const roots[] = { (char *)"/proc/self/task", (char *)PORT, NULL };
	unsigned gids = 0;
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	CHECK(fts);
	while ((entry = fts_read(fts)))
		gids += entry->fts_info == FTS_D && !strcmp(entry->fts_name, "gids");
	fts_close(fts);
	CHECK(gids == 1);
}

/* ---- RDMA netlink ---- */

enum {
	NL_REQUESTS = 2000, /* more than a receive buffer has answers for */
};

static int open_rdma_netlink(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	CHECK(fd >= 0);
	return fd;
}

static struct nlmsghdr nl_request(unsigned command, unsigned flags, unsigned seq)
{
	return (struct nlmsghdr){
		.nlmsg_len = sizeof(struct nlmsghdr),
		.nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = seq,
	};
}

static const struct sockaddr_nl to_kernel = { .nl_family = AF_NETLINK };

static void send_to_kernel(int fd, const void *data, size_t len)
{
	CHECK(sendto(fd, data, len, 0, (const struct sockaddr *)&to_kernel,
		     sizeof(to_kernel)) == (ssize_t)len);
}

static void rdma_netlink_lists_the_device(void)
{
	struct nlmsghdr h = nl_request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP, 5);
	struct iovec iov = { .iov_base = &h, .iov_len = sizeof(h) };
	struct sockaddr_nl to = to_kernel;
	const struct msghdr msg = { .msg_name = &to,
				    .msg_namelen = sizeof(to),
				    .msg_iov = &iov,
				    .msg_iovlen = 1 };
	_Alignas(struct nlmsghdr) char answer[4096];
	int fd = open_rdma_netlink();
	ssize_t len;

	CHECK(bind(fd, (const struct sockaddr *)&to_kernel, sizeof(to_kernel)) == 0);
	CHECK(sendmsg(fd, &msg, 0) == sizeof(h));
	len = recv(fd, answer, sizeof(answer), 0);
	CHECK(len > 0 && memmem(answer, (size_t)len, "rocin0", 7));
	len = recv(fd, answer, sizeof(answer), 0);
	CHECK(len > 0 && ((struct nlmsghdr *)(void *)answer)->nlmsg_type == NLMSG_DONE);
	CHECK(((struct nlmsghdr *)(void *)answer)->nlmsg_seq == 5);
	CHECK(recv(fd, answer, sizeof(answer), MSG_DONTWAIT) < 0 && errno == EAGAIN);
	close(fd);
}

static void answers_of_rdma_netlink_cannot_be_forged(void)
{
	const struct nlmsghdr h = nl_request(RDMA_NLDEV_CMD_SYS_GET, 0, 6);
	struct sockaddr_nl to = to_kernel;
	socklen_t to_len = sizeof(to);
	char answer[256] = "", forged[] = "whatever others send";
	int fd = open_rdma_netlink();
	int other = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);

	CHECK(other >= 0);
	CHECK(bind(fd, (const struct sockaddr *)&to_kernel, sizeof(to_kernel)) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&to, &to_len) == 0);
	/* Before the first request it is thrown away, and later it is refused. */
	CHECK(sendto(other, forged, sizeof(forged), 0, (struct sockaddr *)&to, to_len) >
	      0);
	send_to_kernel(fd, &h, sizeof(h));
	CHECK(sendto(other, forged, sizeof(forged), 0, (struct sockaddr *)&to, to_len) <
	      0);
	CHECK(errno == ECONNREFUSED);
	CHECK(recv(fd, answer, sizeof(answer), 0) > 0);
	CHECK(((struct nlmsghdr *)(void *)answer)->nlmsg_seq == 6);
	CHECK(recv(fd, answer, sizeof(answer), MSG_DONTWAIT) < 0);
	close(other);
	close(fd);
}

static void answers_that_fill_the_buffer_come_while_they_are_read(void)
{
	static struct nlmsghdr h[NL_REQUESTS];
	char answer[256];
	int fd = open_rdma_netlink();

	for (unsigned i = 0; i < NL_REQUESTS; i++)
		h[i] = nl_request(RDMA_NLDEV_CMD_SYS_GET, 0, i);
	send_to_kernel(fd, h, sizeof(h));
	for (unsigned i = 0; i < NL_REQUESTS; i++) {
		CHECK(recv(fd, answer, sizeof(answer), 0) > 0);
		CHECK(((struct nlmsghdr *)(void *)answer)->nlmsg_seq == i);
	}
	close(fd);
}

/* Asks routing netlink for the interfaces, which only the kernel knows. */
static void ask_for_links(int fd, bool by_sendmsg)
{
	struct {
		struct nlmsghdr h;
		struct rtgenmsg family;
	} request = { .h = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
			     .nlmsg_type = RTM_GETLINK,
			     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			     .nlmsg_seq = 7 } };
	struct sockaddr_nl to = to_kernel;
	struct iovec iov = { .iov_base = &request, .iov_len = request.h.nlmsg_len };
	const struct msghdr msg = { .msg_name = &to,
				    .msg_namelen = sizeof(to),
				    .msg_iov = &iov,
				    .msg_iovlen = 1 };

	if (by_sendmsg)
		CHECK(sendmsg(fd, &msg, 0) == (ssize_t)iov.iov_len);
	else
		send_to_kernel(fd, &request, iov.iov_len);
}

static void other_sockets_are_left_alone(void)
{
	int fd = socket(AF_NETLINK, SOCK_STREAM | SOCK_CLOEXEC, NETLINK_RDMA);
	_Alignas(struct nlmsghdr) static char answer[1 << 16];

	/* There is no such type of netlink sockets. */
	CHECK(fd == -1 && errno == EPROTONOSUPPORT);
	for (unsigned i = 0; i < 2; i++) {
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
		CHECK(fd >= 0);
		ask_for_links(fd, i == 1);
		CHECK(recv(fd, answer, sizeof(answer), 0) > 0);
		CHECK(((struct nlmsghdr *)(void *)answer)->nlmsg_type == RTM_NEWLINK);
		close(fd);
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0);
	close(fd);
}

static void the_node_answers_verbs_requests(void)
{
	int fd = open(NODE, O_RDWR | O_CLOEXEC);
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int channel;

	CHECK(fd >= 0 && file >= 0);
	CHECK(verbs_probe(fd) == ENOSPC);
	CHECK(verbs_probe(file) == ENOTTY);
	CHECK(verbs_probe(-1) == EBADF);
	channel = verbs_comp_channel(fd);
	CHECK(channel > 2 && (fcntl(channel, F_GETFD) & FD_CLOEXEC));
	close(channel);
	close(file);
	close(fd);
}

static void neighbours_are_what_they_are(void)
{
	char buf[PATH_MAX];
	struct stat st;

	CHECK(stat("/sys/class/net/lo", &st) == 0);
	CHECK(stat("/sys/class/infinibandx", &st) == -1 && errno == ENOENT);
	CHECK(stat("/sys/devices/virtual/net", &st) == 0);
	CHECK(!access("/dev/null", R_OK));
	CHECK_TEXT(realpath("/dev/null", buf), "/dev/null");
	errno = 0;
	CHECK(open("", O_RDONLY) == -1 && errno == ENOENT);
}

/* libfabric is to find the device there (sim/kernel/hooks/loopback.h), and nobody else.
 */
static void the_loopback_interface_is_what_it_is(void)
{
	struct ifaddrs *all;
	unsigned found = 0;

	CHECK(!setenv("ROCIN_NETDEVS", "lo:127.0.0.9", 1));
	CHECK(getifaddrs(&all) == 0);
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct sockaddr_in v4;

		if (strcmp(i->ifa_name, "lo") || !i->ifa_addr ||
		    i->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&v4, i->ifa_addr, sizeof(v4));
		CHECK(i->ifa_flags & IFF_LOOPBACK);
		CHECK(v4.sin_addr.s_addr != htonl(0x7f000009));
		found++;
	}
	CHECK(found > 0);
	freeifaddrs(all);
	unsetenv("ROCIN_NETDEVS");
}

const struct check path_checks[] = {
	{ "open_finds_the_device", open_finds_the_device },
	{ "stdio_finds_the_device", stdio_finds_the_device },
	{ "directories_list_the_device", directories_list_the_device },
	{ "stat_sees_files_links_and_the_node", stat_sees_files_links_and_the_node },
	{ "old_stat_sees_them_too", old_stat_sees_them_too },
	{ "access_links_and_attributes_work", access_links_and_attributes_work },
	{ "real_paths_have_names_in_sys", real_paths_have_names_in_sys },
	{ "working_directories_have_names_in_sys",
	  working_directories_have_names_in_sys },
	{ "glob_finds_the_device", glob_finds_the_device },
	{ "tree_walks_name_paths_in_sys", tree_walks_name_paths_in_sys },
	{ "fts_walks_into_the_tree", fts_walks_into_the_tree },
	{ "rdma_netlink_lists_the_device", rdma_netlink_lists_the_device },
	{ "answers_of_rdma_netlink_cannot_be_forged",
	  answers_of_rdma_netlink_cannot_be_forged },
	{ "answers_that_fill_the_buffer_come_while_they_are_read",
	  answers_that_fill_the_buffer_come_while_they_are_read },
	{ "other_sockets_are_left_alone", other_sockets_are_left_alone },
	{ "the_node_answers_verbs_requests", the_node_answers_verbs_requests },
	{ "neighbours_are_what_they_are", neighbours_are_what_they_are },
	{ "the_loopback_interface_is_what_it_is", the_loopback_interface_is_what_it_is },
	{ NULL, NULL },
};
