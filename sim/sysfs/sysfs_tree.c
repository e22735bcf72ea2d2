/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sysfs_tree.c - writes and updates generated trees. A tree has the simulated parts of
 * /sys and /dev.
 *
 * One function, ensure_entry(), creates one entry unless it is there already. Called for
 * all entries, it writes a tree into an empty directory, and repairs a tree that exists.
 */
#include "sysfs_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rocin/gid.h"
#include "rocin/hash.h"
#include "rocin/netdev.h"
#include "sim/kernel/port_counters.h"
#include "sim/kernel/rdma_cm.h"

/* ---- Entries of a tree ---- */

/* The entries of a generated tree: directories, files and links. Names and texts are
 * those of the kernel's ABI (Documentation/ABI/stable/sysfs-class-infiniband), as far as
 * programs were seen to read them. Left out on purpose: device/subsystem, device/modalias
 * and device/driver, which would let a hardware driver claim the device.
 */

enum {
	/* bytes; the longest path, with a device name of 31 characters, has 150 */
	ENTRY_PATH_MAX = 192,
	ENTRY_TEXT_MAX = 192,
};

/* Passes entries to @visit. @rc: the first result of @visit that was not 0; once it is
 * set, no further entries are passed.
 */
struct writer {
	rn_sysfs_visit_fn *visit;
	void *ctx;
	int rc;
	/* prefix of every path: "", or a directory with a slash at its end */
	char base[ENTRY_PATH_MAX];
};

static void emit(struct writer *w, struct rn_sysfs_entry entry, const char *name)
{
	char path[ENTRY_PATH_MAX];
	int len;

	if (w->rc)
		return;
	len = snprintf(path, sizeof(path), "%s%s", w->base, name);
	assert(len > 0 && (size_t)len < sizeof(path));
	entry.path = path;
	w->rc = w->visit(w->ctx, &entry);
}

static void dir(struct writer *w, const char *name)
{
	emit(w, (struct rn_sysfs_entry){ .kind = RN_SYSFS_DIR, .content = "" }, name);
}

__attribute__((format(printf, 3, 0))) static void formatted(struct writer *w,
							    struct rn_sysfs_entry entry,
							    const char *format,
							    va_list ap, const char *name)
{
	char text[ENTRY_TEXT_MAX];
	int len = vsnprintf(text, sizeof(text), format, ap);

	assert(len >= 0 && (size_t)len < sizeof(text));
	entry.content = text;
	emit(w, entry, name);
}

#define DEFINE_EMITTER(fn, kind_, live_)                                            \
	__attribute__((format(printf, 3, 4))) static void fn(                       \
		struct writer *w, const char *name, const char *format, ...)        \
	{                                                                           \
		struct rn_sysfs_entry entry = { .kind = (kind_), .live = (live_) }; \
		va_list ap;                                                         \
                                                                                    \
		va_start(ap, format);                                               \
		formatted(w, entry, format, ap, name);                              \
		va_end(ap);                                                         \
	}

DEFINE_EMITTER(file, RN_SYSFS_FILE, false)
DEFINE_EMITTER(live_file, RN_SYSFS_FILE, true)
DEFINE_EMITTER(symlink_to, RN_SYSFS_LINK, false)

/* Creates a directory entry, and puts all further names of @w below it. */
__attribute__((format(printf, 2, 3))) static void enter(struct writer *w,
							const char *format, ...)
{
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(w->base, sizeof(w->base) - 1, format, ap);
	va_end(ap);
	assert(len > 0 && (size_t)len < sizeof(w->base) - 1);
	dir(w, "");
	w->base[len] = '/';
	w->base[len + 1] = '\0';
}

static void leave(struct writer *w)
{
	w->base[0] = '\0';
}

/* The modules by which kernels let NICs reach memory of GPUs. Programs such as NCCL and
 * UCX look for the files of their versions before they register such memory, which
 * Rocin's devices take.
 */
static void peer_memory(struct writer *w)
{
	static const char *const dirs[] = {
		"sys/module",
		"sys/module/nvidia_peermem",
		"sys/kernel",
		"sys/kernel/mm",
		"sys/kernel/mm/memory_peers",
		"sys/kernel/mm/memory_peers/nv_mem",
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(dirs); i++)
		dir(w, dirs[i]);
	file(w, "sys/module/nvidia_peermem/version", "%s\n", ROCIN_VERSION);
	file(w, "sys/kernel/mm/memory_peers/nv_mem/version", "%s\n", ROCIN_VERSION);
}

/* Calls @visit for the entries that do not depend on devices. Entries come in a fixed
 * order, each directory before its contents; the first result of @visit that is not 0
 * ends the visit.
 */
static int visit_base(rn_sysfs_visit_fn *visit, void *ctx)
{
	struct writer w = { .visit = visit, .ctx = ctx };

	dir(&w, "dev");
	dir(&w, "dev/infiniband");
	dir(&w, "sys");
	dir(&w, "sys/class");
	dir(&w, "sys/class/infiniband");
	dir(&w, "sys/class/infiniband_verbs");
	dir(&w, "sys/class/misc");
	dir(&w, "sys/class/misc/rdma_cm");
	dir(&w, "sys/devices");
	dir(&w, "sys/devices/virtual");
	dir(&w, "sys/devices/virtual/rocin");
	/* the constant IB_USER_VERBS_ABI_VERSION of the kernel; libibverbs accepts 3 to 6
	 */
	file(&w, "sys/class/infiniband_verbs/abi_version", "6\n");
	file(&w, "sys/class/misc/rdma_cm/abi_version", "4\n");
	file(&w, "sys/class/misc/rdma_cm/dev", "%d:%d\n", RNK_CM_MAJOR, RNK_CM_MINOR);
	symlink_to(&w, "dev/infiniband/rdma_cm", "/dev/null");
	peer_memory(&w);
	return w.rc;
}

/* Emits the three files for one index of the GID table. All indices up to the advertised
 * length need them: libibverbs fails if one type or device name is missing. An unused
 * entry has a zero GID.
 */
static void gid_entry(struct writer *w, const struct rn_netdev *dev, unsigned idx)
{
	static const struct rn_gid unused;
	const uint8_t *g = idx < dev->gid_count ? dev->gid[idx].raw : unused.raw;
	char name[32];

	(void)snprintf(name, sizeof(name), "gids/%u", idx);
	live_file(w, name,
		  "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:"
		  "%02x%02x\n",
		  g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], g[9], g[10],
		  g[11], g[12], g[13], g[14], g[15]);
	(void)snprintf(name, sizeof(name), "gid_attrs/types/%u", idx);
	file(w, name, "RoCE v2\n");
	(void)snprintf(name, sizeof(name), "gid_attrs/ndevs/%u", idx);
	file(w, name, "%s\n", dev->ifname);
}

/* Emits the files of counters. They are 0 until the preloaded library writes values into
 * them (counters.h).
 */
static void counter_files(struct writer *w)
{
	static const char *const names[] = {
#define X(name, divisor, sum) "counters/" #name,
		RNK_PORT_COUNTERS(X)
#undef X
#define X(sym, name, report, help) "hw_counters/" name,
			RN_STATS(X)
#undef X
	};

	dir(w, "counters");
	dir(w, "hw_counters");
	for (unsigned i = 0; i < RN_ARRAY_SIZE(names); i++)
		emit(w,
		     (struct rn_sysfs_entry){
			     .kind = RN_SYSFS_FILE, .foreign = true, .content = "0\n" },
		     names[i]);
}

static void port(struct writer *w, const struct rn_netdev *dev)
{
	live_file(w, "state", "%s\n", dev->up ? "4: ACTIVE" : "1: DOWN");
	live_file(w, "phys_state", "%s\n", dev->up ? "5: LinkUp" : "3: Disabled");
	file(w, "link_layer", "Ethernet\n");
	file(w, "rate", "100 Gb/sec (4X EDR)\n");
	file(w, "lid", "0x0\n");
	file(w, "lid_mask_count", "0\n");
	file(w, "sm_lid", "0x0\n");
	file(w, "sm_sl", "0\n");
	/* the bit IsCommunicationManagementSupported of the port's capabilities */
	file(w, "cap_mask", "0x00010000\n");
	dir(w, "pkeys");
	file(w, "pkeys/0", "0xffff\n");
	dir(w, "gids");
	dir(w, "gid_attrs");
	dir(w, "gid_attrs/types");
	dir(w, "gid_attrs/ndevs");
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		gid_entry(w, dev, i);
	counter_files(w);
}

static void guid_file(struct writer *w, const char *name, uint64_t guid)
{
	file(w, name, "%04x:%04x:%04x:%04x\n", (unsigned)(guid >> 48 & 0xffff),
	     (unsigned)(guid >> 32 & 0xffff), (unsigned)(guid >> 16 & 0xffff),
	     (unsigned)(guid & 0xffff));
}

static void ib_device(struct writer *w, const struct rn_netdev *dev)
{
	file(w, "node_type", "1: CA\n");
	guid_file(w, "node_guid", dev->node_guid);
	/* Each device has its own GUID, because NCCL treats devices with equal GUIDs as
	 * one.
	 */
	guid_file(w, "sys_image_guid", dev->node_guid);
	file(w, "node_desc", "Rocin software RDMA on %s\n", dev->ifname);
	file(w, "fw_ver", "%s\n", ROCIN_VERSION);
	file(w, "hca_type", "rocin\n");
	file(w, "hw_rev", "0\n");
	file(w, "board_id", "rocin\n");
	symlink_to(w, "device", "../..");
	dir(w, "ports");
}

static void uverbs_device(struct writer *w, const struct rn_netdev *dev)
{
	file(w, "ibdev", "%s\n", dev->ibdev);
	/* The device node is a link to /dev/null, whose device number is 1:3. If this
	 * file had another number, libibverbs would wait for 5 s for the node to appear.
	 */
	file(w, "dev", "1:3\n");
	file(w, "abi_version", "1\n");
	symlink_to(w, "device", "../..");
}

/* Visits all entries of one device. */
static int visit_device(const struct rn_netdev *dev, rn_sysfs_visit_fn *visit, void *ctx)
{
	struct writer w = { .visit = visit, .ctx = ctx };
	char parent[96], name[96];

	assert(dev->ibdev[0] && !strchr(dev->ibdev, '/'));
	assert(dev->gid_count <= RN_GID_MAX);

	/* To treat the functions of one card as one, NCCL overwrites the last, the third
	 * last and the fourth last character of this name. The suffix ".nic" gives it
	 * characters to overwrite.
	 */
	(void)snprintf(parent, sizeof(parent), "sys/devices/virtual/rocin/%s.nic",
		       dev->ibdev);

	enter(&w, "%s", parent);
	dir(&w, "infiniband");
	dir(&w, "infiniband_verbs");
	dir(&w, "net");
	(void)snprintf(name, sizeof(name), "net/%s", dev->ifname);
	symlink_to(&w, name, "/sys/class/net/%s", dev->ifname);

	enter(&w, "%s/infiniband/%s", parent, dev->ibdev);
	ib_device(&w, dev);
	enter(&w, "%s/infiniband/%s/ports/1", parent, dev->ibdev);
	port(&w, dev);

	enter(&w, "%s/infiniband_verbs/uverbs_%s", parent, dev->ibdev);
	uverbs_device(&w, dev);

	leave(&w);
	(void)snprintf(name, sizeof(name), "sys/class/infiniband/%s", dev->ibdev);
	symlink_to(&w, name, "../../devices/virtual/rocin/%s.nic/infiniband/%s",
		   dev->ibdev, dev->ibdev);
	(void)snprintf(name, sizeof(name), "sys/class/infiniband_verbs/uverbs_%s",
		       dev->ibdev);
	symlink_to(&w, name,
		   "../../devices/virtual/rocin/%s.nic/infiniband_verbs/uverbs_%s",
		   dev->ibdev, dev->ibdev);
	(void)snprintf(name, sizeof(name), "dev/infiniband/uverbs_%s", dev->ibdev);
	symlink_to(&w, name, "/dev/null");
	return w.rc;
}

/* ---- Links to the machine's real RDMA devices ---- */

struct scan {
	const char *root; /* path of the real directory, /sys or /dev */
	/* Path below @root that is visited, such as "class/infiniband". In the tree, the
	 * same path is below @prefix.
	 */
	const char *where;
	const char *prefix; /* "sys" or "dev" */
	rn_sysfs_visit_fn *visit;
	void *ctx;
};

static int emit_link(const struct scan *scan, const char *name, const char *target)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s%s%s", scan->prefix, scan->where,
		       *name ? "/" : "", name);
	return scan->visit(scan->ctx, &(struct rn_sysfs_entry){ .kind = RN_SYSFS_LINK,
								.path = path,
								.content = target });
}

/* Returns the real path of the device @name, which the caller must free. Returns NULL if
 * @name is not a device of the kernel: it is a plain file of the class (abi_version),
 * belongs to another generated tree, or does not exist any more.
 */
static char *real_device(const struct scan *scan, const char *name)
{
	char path[PATH_MAX];
	char *real;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s/%s", scan->root, scan->where, name);
	real = realpath(path, NULL);
	if (!real)
		return NULL;
	if (stat(real, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode)) &&
	    strcmp(real, "/dev/null") != 0 && !strstr(real, "/devices/virtual/rocin/"))
		return real;
	free(real);
	return NULL;
}

/* Returns true if no link is made for the entry: "." and "..", and rdma_cm, because the
 * tree has an rdma_cm of Rocin (sysfs_tree.h).
 */
static bool is_skipped(const char *name)
{
	return name[0] == '.' || strcmp(name, "rdma_cm") == 0;
}

/* Passes a link for each real device in the directory to @visit. Return: number of
 * links, or -errno.
 */
static int visit_entries(const struct scan *scan)
{
	char path[PATH_MAX];
	struct dirent **names;
	int count, links = 0, rc = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", scan->root, scan->where);
	count = scandir(path, &names, NULL, alphasort);
	if (count < 0)
		return errno == ENOMEM ? -ENOMEM : 0;
	for (int i = 0; i < count; i++) {
		char *target = is_skipped(names[i]->d_name)
				       ? NULL
				       : real_device(scan, names[i]->d_name);

		if (target && !rc) {
			rc = emit_link(scan, names[i]->d_name, target);
			links++;
		}
		free(target);
		free(names[i]);
	}
	free(names);
	return rc ? rc : links;
}

/* If Rocin has no entries in a class, passes one link to @visit, for the whole directory
 * of the class.
 */
static int visit_class(const struct scan *scan)
{
	char path[PATH_MAX];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", scan->root, scan->where);
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	return emit_link(scan, "", path);
}

int rn_sysfs_visit_real(const char *sys, const char *dev, rn_sysfs_visit_fn *visit,
			void *ctx)
{
	static const char *const shared[] = { "class/infiniband",
					      "class/infiniband_verbs" };
	static const char *const whole[] = { "class/infiniband_mad",
					     "class/infiniband_cm" };
	struct scan scan = { .root = sys, .prefix = "sys", .visit = visit, .ctx = ctx };
	int links = 0;
	int rc;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(shared); i++) {
		scan.where = shared[i];
		rc = visit_entries(&scan);
		if (rc < 0)
			return rc;
		links += rc;
	}
	if (!links)
		return 0;

	rc = visit(ctx, &(struct rn_sysfs_entry){ .kind = RN_SYSFS_DIR,
						  .path = "sys/class/misc",
						  .content = "" });
	for (unsigned i = 0; i < RN_ARRAY_SIZE(whole) && !rc; i++) {
		scan.where = whole[i];
		rc = visit_class(&scan);
	}
	if (rc)
		return rc;

	scan.root = dev;
	scan.prefix = "dev";
	scan.where = "infiniband";
	rc = visit_entries(&scan);
	return rc < 0 ? rc : 0;
}

enum {
	FILE_TEXT_MAX = 256, /* bytes; no file of a tree is longer */
	/* bytes of PATH_MAX that are left for paths inside the tree */
	TREE_PATH_ROOM = 1024,
	TREE_MODE = 0700,
	DIR_MODE = 0755,
	FILE_MODE = 0644,
};

/* The devices of a tree. */
struct content {
	const struct rn_netdev *devs;
	unsigned n;
};

static int visit_all(const struct content *content, rn_sysfs_visit_fn *visit, void *ctx)
{
	int rc = visit_base(visit, ctx);

	for (unsigned i = 0; i < content->n && !rc; i++)
		rc = visit_device(&content->devs[i], visit, ctx);
	return rc ? rc : rn_sysfs_visit_real("/sys", "/dev", visit, ctx);
}

/* Continues the hash that becomes the name of a tree with @text. The hash need not
 * withstand attacks, because only the user can write to the directory of trees.
 */
static void hash_text(uint64_t *hash, const char *text)
{
	*hash = rn_hash_bytes(*hash, text, strlen(text) + 1);
}

static int hash_entry(void *ctx, const struct rn_sysfs_entry *entry)
{
	uint64_t *hash = ctx;

	hash_text(hash, entry->kind == RN_SYSFS_DIR    ? "d"
			: entry->kind == RN_SYSFS_LINK ? "l"
						       : "f");
	hash_text(hash, entry->path);
	hash_text(hash, entry->content);
	return 0;
}

/* Creates a directory unless it exists. Sets its mode explicitly, because the program's
 * umask may have removed bits.
 */
static int ensure_dir(int root, const struct rn_sysfs_entry *entry)
{
	if (mkdirat(root, entry->path, DIR_MODE) < 0)
		return errno == EEXIST ? 0 : -errno;
	return fchmodat(root, entry->path, DIR_MODE, 0) < 0 ? -errno : 0;
}

static int ensure_link(int root, const struct rn_sysfs_entry *entry)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(root, entry->path, target, sizeof(target) - 1);

	if (len >= 0) {
		target[len] = '\0';
		if (!strcmp(target, entry->content))
			return 0;
	}
	if (len >= 0 || errno == EINVAL)
		unlinkat(root, entry->path, 0);
	if (symlinkat(entry->content, root, entry->path) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

/* Changes the contents of a file to @text without ever making it empty. */
static int set_text(int fd, const char *text)
{
	char old[FILE_TEXT_MAX];
	size_t len = strlen(text);
	ssize_t old_len = pread(fd, old, sizeof(old), 0);

	assert(len < sizeof(old));
	if (old_len < 0)
		return -errno;
	if ((size_t)old_len == len && !memcmp(old, text, len))
		return 0;
	if (pwrite(fd, text, len, 0) != (ssize_t)len)
		return errno ? -errno : -EIO;
	if ((size_t)old_len > len && ftruncate(fd, (off_t)len) < 0)
		return -errno;
	return 0;
}

static int write_file(int root, const struct rn_sysfs_entry *entry, int create)
{
	int fd = openat(root, entry->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | create,
			FILE_MODE);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 ||
	    ((st.st_mode & 0777) != FILE_MODE && fchmod(fd, FILE_MODE) < 0))
		rc = -errno;
	if (!rc)
		rc = set_text(fd, entry->content);
	close(fd);
	return rc;
}

/* Creates an empty file that other code will write, unless the file exists. */
static int create_file(int root, const struct rn_sysfs_entry *entry)
{
	int fd = openat(root, entry->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			FILE_MODE);
	int rc;

	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	rc = fchmod(fd, FILE_MODE) < 0 ? -errno : set_text(fd, entry->content);
	close(fd);
	return rc;
}

static int ensure_entry(void *ctx, const struct rn_sysfs_entry *entry)
{
	int root = *(int *)ctx;

	switch (entry->kind) {
	case RN_SYSFS_DIR:
		return ensure_dir(root, entry);
	case RN_SYSFS_LINK:
		return ensure_link(root, entry);
	case RN_SYSFS_FILE:
		return entry->foreign ? create_file(root, entry)
				      : write_file(root, entry, O_CREAT);
	}
	assert(false); /* there are no other kinds of entries */
}

static int update_entry(void *ctx, const struct rn_sysfs_entry *entry)
{
	return entry->live ? write_file(*(int *)ctx, entry, 0) : 0;
}

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int fill(const char *path, const struct content *content)
{
	int root = open_dir(path);
	int rc;

	if (root < 0)
		return root;
	rc = visit_all(content, ensure_entry, &root);
	close(root);
	return rc;
}

static int remove_one(const char *path, const struct stat *st, int flag,
		      struct FTW *where)
{
	(void)st;
	(void)flag;
	(void)where;
	return remove(path);
}

static void remove_all(const char *path)
{
	int saved_errno = errno;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): only with FTW_CHDIR */
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	errno = saved_errno;
}

/* Writes the tree under another name and renames it. If another process has been faster,
 * the rename fails because the target exists and is not empty. That is no error: the
 * other process's tree is used.
 */
static int create(const char *parent, const char *path, const struct content *content)
{
	char temp[PATH_MAX];
	int rc;

	(void)snprintf(temp, sizeof(temp), "%s/.tree-XXXXXX", parent);
	if (!mkdtemp(temp))
		return -errno;
	rc = chmod(temp, TREE_MODE) < 0 ? -errno : fill(temp, content);
	if (!rc && rename(temp, path) < 0)
		rc = -errno;
	if (rc)
		remove_all(temp);
	return rc == -EEXIST || rc == -ENOTEMPTY ? fill(path, content) : rc;
}

static int name_tree(const char *parent, const struct content *content, char *path,
		     size_t path_len)
{
	uint64_t hash = RN_HASH_BEGIN;
	int len, rc;

	rc = visit_all(content, hash_entry, &hash);
	if (rc)
		return rc;
	len = snprintf(path, path_len, "%s/tree-%016" PRIx64, parent, hash);
	if (len < 0 || (size_t)len >= path_len || len >= PATH_MAX - TREE_PATH_ROOM)
		return -ENAMETOOLONG;
	return 0;
}

static int write_below(const char *parent, const struct content *content, char *path,
		       size_t path_len)
{
	struct stat st;
	int rc = name_tree(parent, content, path, path_len);

	if (rc)
		return rc;
	return lstat(path, &st) == 0 ? fill(path, content)
				     : create(parent, path, content);
}

/* NOLINTNEXTLINE(readability-function-size): seven plain parameters */
int rn_sysfs_tree_write(const char *parent_dir, const struct rn_netdev *devs, unsigned n,
			char *path, size_t path_len, char *err, size_t err_len)
{
	struct content content = { .devs = devs, .n = n };
	char *parent = realpath(parent_dir, NULL);
	int rc;

	assert(n >= 1 && n <= RN_NETDEV_MAX);
	rc = parent ? write_below(parent, &content, path, path_len) : -errno;
	free(parent);
	if (rc) {
		errno = -rc; /* for %m, which is safe in any thread, unlike strerror() */
		(void)snprintf(err, err_len, "cannot write the sysfs tree in %s: %m",
			       parent_dir);
	}
	return rc;
}

int rn_sysfs_tree_update(const char *path, const struct rn_netdev *devs, unsigned n)
{
	int root = open_dir(path);
	int rc = 0;

	if (root < 0)
		return root;
	for (unsigned i = 0; i < n && !rc; i++)
		rc = visit_device(&devs[i], update_entry, &root);
	close(root);
	return rc;
}
