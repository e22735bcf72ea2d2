/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sysfs_entries.c - what stands in a generated tree: every directory, file and link.
 *
 * Names and texts are those of the kernel's ABI (Documentation/ABI/stable/
 * sysfs-class-infiniband), as far as a program was seen to read them. Left out on
 * purpose: device/subsystem, device/modalias and device/driver, which would let a
 * hardware driver claim the device.
 */
#include "sysfs_entries.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rdma_cm.h"

enum {
	ENTRY_PATH_MAX = 192, /* deepest entry with a 31-character device name: 150 */
	ENTRY_TEXT_MAX = 192,
};

/* The first answer that is not 0 stays; what follows is skipped. */
struct writer {
	rn_sysfs_visit_fn *visit;
	void *ctx;
	int rc;
	char base[ENTRY_PATH_MAX]; /* in front of every path, "" or ending in a slash */
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

/* All further names are relative to this directory, which is emitted too. */
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

int rn_sysfs_visit_base(rn_sysfs_visit_fn *visit, void *ctx)
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
	/* IB_USER_VERBS_ABI_VERSION; libibverbs takes 3 to 6 */
	file(&w, "sys/class/infiniband_verbs/abi_version", "6\n");
	file(&w, "sys/class/misc/rdma_cm/abi_version", "4\n");
	file(&w, "sys/class/misc/rdma_cm/dev", "%d:%d\n", RNK_CM_MAJOR, RNK_CM_MINOR);
	symlink_to(&w, "dev/infiniband/rdma_cm", "/dev/null");
	return w.rc;
}

/* Every index of the GID table has its three files. libibverbs reads the table to its
 * advertised end, and one missing type or device name fails the whole of it; the zero
 * GID is what marks an entry as unused.
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
	file(w, "cap_mask", "0x00010000\n"); /* IsCommunicationManagementSupported */
	dir(w, "pkeys");
	file(w, "pkeys/0", "0xffff\n");
	dir(w, "gids");
	dir(w, "gid_attrs");
	dir(w, "gid_attrs/types");
	dir(w, "gid_attrs/ndevs");
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		gid_entry(w, dev, i);
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
	/* One device is one system: NCCL merges devices that share this number. */
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
	/* /dev/null. A number that does not match costs libibverbs a wait of 5 s. */
	file(w, "dev", "1:3\n");
	file(w, "abi_version", "1\n");
	symlink_to(w, "device", "../..");
}

int rn_sysfs_visit_device(const struct rn_netdev *dev, rn_sysfs_visit_fn *visit,
			  void *ctx)
{
	struct writer w = { .visit = visit, .ctx = ctx };
	char parent[96], name[96];

	assert(dev->ibdev[0] && !strchr(dev->ibdev, '/'));
	assert(dev->gid_count <= RN_GID_MAX);

	/* The suffix is for NCCL, which overwrites the last and the third and fourth last
	 * letter of this name to merge the functions of one card.
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
