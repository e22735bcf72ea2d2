/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* netdev.c - finds the interfaces and addresses that ROCIN_NETDEVS names; see
 * rocin/netdev.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gid_sockaddr.h"
#include "log.h"
#include "own_fd.h"
#include "rocin/gid.h"
#include "rocin/hash.h"
#include "rocin/netdev.h"
#include "rocin/random.h"
#include "runtime_dir.h"
#include "secret.h"

/* State of one call of rn_netdev_discover(). */
struct discovery {
	struct ifaddrs *all;
	/* the caller's array, of which the first @count entries are complete */
	struct rn_netdev *devs;
	unsigned max;
	unsigned count;
	char *err;
	size_t err_len;
};

/* What getifaddrs() reports about one interface besides its addresses. */
struct iface {
	unsigned flags;
	uint8_t mac[6];
	bool has_mac;
};

/* ---- Addresses of interfaces ---- */

static struct rn_gid gid_from_ipv4(const struct in_addr *addr)
{
	struct rn_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	memcpy(gid.raw + 12, addr, 4);
	return gid;
}

static bool gid_equal(const struct rn_gid *a, const struct rn_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool gid_parse(struct rn_gid *gid, const char *text, size_t len)
{
	char copy[INET6_ADDRSTRLEN];
	struct in_addr v4;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (inet_pton(AF_INET, copy, &v4) == 1) {
		*gid = gid_from_ipv4(&v4);
		return true;
	}
	return inet_pton(AF_INET6, copy, gid->raw) == 1;
}

/* Return: true if the entry of getifaddrs() belongs to the interface @ifname. The name
 * in an entry may be like "eth0:1". The part from the colon on is the label of an IPv4
 * address, and is not compared.
 */
static bool is_entry_of(const struct ifaddrs *ifa, const char *ifname)
{
	size_t len = strcspn(ifa->ifa_name, ":");

	return strlen(ifname) == len && memcmp(ifa->ifa_name, ifname, len) == 0;
}

static bool gid_of_entry(const struct ifaddrs *ifa, struct rn_gid *gid)
{
	if (!ifa->ifa_addr)
		return false;
	if (ifa->ifa_addr->sa_family == AF_INET) {
		*gid = gid_from_ipv4(&((struct sockaddr_in *)ifa->ifa_addr)->sin_addr);
		return true;
	}
	if (ifa->ifa_addr->sa_family == AF_INET6) {
		memcpy(gid, &((struct sockaddr_in6 *)ifa->ifa_addr)->sin6_addr, 16);
		return true;
	}
	return false;
}

static bool has_address(const struct discovery *d, const char *ifname,
			const struct rn_gid *want)
{
	struct rn_gid gid;

	for (const struct ifaddrs *ifa = d->all; ifa; ifa = ifa->ifa_next)
		if (is_entry_of(ifa, ifname) && gid_of_entry(ifa, &gid) &&
		    gid_equal(&gid, want))
			return true;
	return false;
}

/* Return: true if a socket can be bound to the IPv6 address @want. It cannot while
 * duplicate address detection runs or if it has failed, unless the address is
 * optimistic. getifaddrs() does not report this, but /proc/net/if_inet6 does, by flags
 * of <linux/if_addr.h>. Without that file every address counts as usable.
 */
static bool is_cleared(const struct rn_gid *want, uint32_t ifindex)
{
	enum {
		OPTIMISTIC = 0x04,
		DAD_FAILED = 0x08,
		TENTATIVE = 0x40
	};
	FILE *f = fopen("/proc/net/if_inet6", "re");
	bool cleared = true;
	char hex[33];
	unsigned index, flags;

	if (!f)
		return true;
	while (fscanf(f, "%32s %x %*x %*x %x %*s", hex, &index, &flags) == 3) {
		struct rn_gid gid = { 0 };

		for (unsigned i = 0; i < 16; i++)
			sscanf(hex + 2 * (size_t)i, "%2hhx", &gid.raw[i]);
		if (index == ifindex && gid_equal(&gid, want))
			cleared = !(flags & (DAD_FAILED | TENTATIVE)) ||
				  (flags & OPTIMISTIC);
	}
	fclose(f);
	return cleared;
}

static int add_gid(struct discovery *d, struct rn_netdev *dev, const struct rn_gid *gid)
{
	char text[RN_GID_TEXT_MAX];

	for (uint32_t i = 0; i < dev->gid_count; i++)
		if (gid_equal(&dev->gid[i], gid))
			return 0;
	for (unsigned i = 0; i < d->count; i++)
		for (uint32_t k = 0; k < d->devs[i].gid_count; k++) {
			if (!gid_equal(&d->devs[i].gid[k], gid) ||
			    (rn_gid_is_link_local(gid) &&
			     d->devs[i].ifindex != dev->ifindex))
				continue;
			return rn_fail(d->err, d->err_len, -EINVAL,
				       "%s is given to two devices",
				       rn_gid_text(gid, text));
		}
	if (dev->gid_count == RN_GID_MAX)
		return rn_fail(d->err, d->err_len, -ENOSPC,
			       "%s has more than %d addresses; name those to use, as in "
			       "%s:ADDRESS+ADDRESS",
			       dev->ifname, RN_GID_MAX, dev->ifname);
	dev->gid[dev->gid_count++] = *gid;
	return 0;
}

/* ---- Addresses that a device gets ---- */

static int add_loopback_defaults(struct discovery *d, struct rn_netdev *dev)
{
	const struct in_addr v4 = { htonl(INADDR_LOOPBACK) };
	const struct rn_gid first = gid_from_ipv4(&v4);
	const struct rn_gid second = { .raw = { [15] = 1 } };
	int rc = add_gid(d, dev, &first);

	if (rc == 0 && has_address(d, dev->ifname, &second))
		rc = add_gid(d, dev, &second);
	return rc;
}

static int add_all_addresses(struct discovery *d, struct rn_netdev *dev)
{
	enum {
		IPV4,
		IPV6,
		LINK_LOCAL,
		KIND_COUNT
	};

	for (int kind = IPV4; kind < KIND_COUNT; kind++) {
		for (const struct ifaddrs *ifa = d->all; ifa; ifa = ifa->ifa_next) {
			struct rn_gid gid;
			int its_kind, rc;

			if (!is_entry_of(ifa, dev->ifname) || !gid_of_entry(ifa, &gid))
				continue;
			its_kind = rn_gid_is_ipv4(&gid)		? IPV4
				   : rn_gid_is_link_local(&gid) ? LINK_LOCAL
								: IPV6;
			if (its_kind != kind ||
			    (kind != IPV4 && !is_cleared(&gid, dev->ifindex)))
				continue;
			rc = add_gid(d, dev, &gid);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int add_listed_address(struct discovery *d, struct rn_netdev *dev,
			      const char *text, size_t len, bool is_loopback)
{
	struct rn_gid gid;

	if (!gid_parse(&gid, text, len))
		return rn_fail(d->err, d->err_len, -EINVAL,
			       "\"%.*s\" is not an IPv4 or IPv6 address", (int)len, text);
	if (!has_address(d, dev->ifname, &gid) &&
	    !(is_loopback && rn_gid_is_ipv4(&gid) && gid.raw[12] == 127))
		return rn_fail(d->err, d->err_len, -EADDRNOTAVAIL,
			       "%s does not have the address %.*s", dev->ifname, (int)len,
			       text);
	return add_gid(d, dev, &gid);
}

static int add_listed_addresses(struct discovery *d, struct rn_netdev *dev,
				const char *list, size_t list_len, bool is_loopback)
{
	const char *end = list + list_len;

	for (;;) {
		const char *plus = memchr(list, '+', (size_t)(end - list));
		const char *stop = plus ? plus : end;
		int rc = add_listed_address(d, dev, list, (size_t)(stop - list),
					    is_loopback);

		if (rc || !plus)
			return rc;
		list = plus + 1;
	}
}

/* ---- GUIDs of devices ---- */

/* Return: a hash that differs between hosts and between network namespaces. Containers
 * of one host have the same boot id but different namespaces. Hosts that were cloned
 * from one image have different boot ids.
 */
static uint64_t hash_of_place(void)
{
	static const char *const files[] = { "/proc/sys/kernel/random/boot_id",
					     "/etc/machine-id" };
	uint64_t hash = RN_HASH_BEGIN;
	char id[64];
	ssize_t len = -1;
	struct stat st;

	for (size_t i = 0; i < RN_ARRAY_SIZE(files) && len <= 0; i++) {
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		len = read(fd, id, sizeof(id));
		close(fd);
	}
	if (len <= 0) {
		memset(id, 0, sizeof(id));
		gethostname(id, sizeof(id) - 1);
		len = sizeof(id);
	}
	hash = rn_hash_bytes(hash, id, (size_t)len);
	if (stat("/proc/thread-self/ns/net", &st) == 0)
		hash = rn_hash_bytes(hash, &st.st_ino, sizeof(st.st_ino));
	return hash;
}

static bool read_salt(const char *path, uint64_t *salt)
{
	int fd = rn_open_plain(AT_FDCWD, path, O_RDONLY);
	bool ok = fd >= 0 && read(fd, salt, sizeof(*salt)) == sizeof(*salt);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Writes a new random number to a file, and gives the file the name @path. If another
 * process has created @path meanwhile, that file stays.
 */
static void make_salt(const char *path)
{
	char own[RN_RUNTIME_PATH_MAX + 32];
	uint64_t salt = rn_secret();
	int fd;

	(void)snprintf(own, sizeof(own), "%s.%d-%d", path, (int)getpid(), (int)gettid());
	fd = open(own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, &salt, sizeof(salt)) == sizeof(salt))
		(void)!link(own, path);
	close(fd);
	unlink(own);
}

/* Returns a secret number that goes into the GUIDs of this user's devices. It is drawn
 * once and kept in a file in the runtime directory. So all processes of the user have the
 * same GUIDs, and other users cannot read the number. Returns 0 if there is no such
 * directory.
 */
static uint64_t guid_salt(void)
{
	char dir[RN_RUNTIME_PATH_MAX], path[RN_RUNTIME_PATH_MAX + 16];
	uint64_t salt = 0;

	if (rn_runtime_dir(dir, sizeof(dir), NULL, 0))
		return 0;
	(void)snprintf(path, sizeof(path), "%s/guid-salt", dir);
	if (read_salt(path, &salt))
		return salt;
	make_salt(path);
	return read_salt(path, &salt) ? salt : 0;
}

/* Compute the node GUID. For an interface with a MAC address it is an EUI-64 as in IPv6,
 * but with 16 bits of a hash in place of ff:fe, because two devices may share an
 * interface, and two containers a MAC address. Otherwise it is a hash. The hash contains
 * a secret of the user, because anybody who can guess a device's GUID can end
 * connections in that device's name.
 */
static uint64_t node_guid(const struct rn_netdev *dev, const struct iface *iface)
{
	const uint64_t local_bit = (uint64_t)0x02 << 56, group_bit = (uint64_t)0x01 << 56;
	const uint64_t salt = guid_salt();
	uint64_t hash = rn_hash_bytes(hash_of_place(), &salt, sizeof(salt));
	uint64_t guid = 0;

	hash = rn_hash_bytes(hash, dev->ifname, strlen(dev->ifname));
	hash = rn_hash_bytes(hash, &dev->gid[0], sizeof(dev->gid[0]));
	/* Mixed twice, so that nobody can compute the GUID of one device from that of
	 * another.
	 */
	hash = rn_random_mix(salt ^ rn_random_mix(hash));
	if (!iface->has_mac)
		return (hash | local_bit) & ~group_bit;
	for (unsigned i = 0; i < 6; i++) {
		if (i == 3)
			guid = guid << 16 | ((hash ^ hash >> 32) & 0xffff);
		guid = guid << 8 | iface->mac[i];
	}
	return guid ^ local_bit;
}

/* ---- Interfaces of devices ---- */

static bool find_iface(const struct discovery *d, const char *ifname, struct iface *out)
{
	bool found = false;

	*out = (struct iface){ 0 };
	for (const struct ifaddrs *ifa = d->all; ifa; ifa = ifa->ifa_next) {
		const struct sockaddr_ll *ll = (struct sockaddr_ll *)ifa->ifa_addr;

		if (!is_entry_of(ifa, ifname))
			continue;
		found = true;
		out->flags = ifa->ifa_flags;
		if (ll && ll->sll_family == AF_PACKET && ll->sll_hatype == ARPHRD_ETHER &&
		    ll->sll_halen == sizeof(out->mac)) {
			memcpy(out->mac, ll->sll_addr, sizeof(out->mac));
			out->has_mac = true;
		}
	}
	return found;
}

/* Fill in the index and the MTU of the interface @dev->ifname. Return: true; false if the
 * interface does not exist any more.
 */
static bool query_iface(struct rn_netdev *dev)
{
	struct ifreq req = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok;

	if (fd < 0)
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	memcpy(req.ifr_name, dev->ifname, sizeof(dev->ifname));
	dev->ifindex = if_nametoindex(dev->ifname);
	ok = dev->ifindex != 0 && ioctl(fd, SIOCGIFMTU, &req) == 0;
	close(fd);
	if (ok)
		dev->mtu = (uint32_t)req.ifr_mtu;
	return ok;
}

/* Reports that there is no interface of this name, and names the interfaces that
 * there are.
 */
static int complain_of_name(const struct discovery *d, const char *name, size_t len)
{
	char there[256] = "";
	size_t at = 0;

	for (const struct ifaddrs *ifa = d->all; ifa; ifa = ifa->ifa_next) {
		const struct ifaddrs *before = d->all;

		/* An interface is in the list once for each address. */
		while (before != ifa && strcmp(before->ifa_name, ifa->ifa_name) != 0)
			before = before->ifa_next;
		if (before == ifa && at + IFNAMSIZ + 8 < sizeof(there))
			at += (size_t)snprintf(there + at, sizeof(there) - at, "%s%s",
					       at ? ", " : "", ifa->ifa_name);
	}
	return rn_fail(d->err, d->err_len, -ENODEV,
		       "there is no network interface \"%.*s\"; there are: %s", (int)len,
		       name, there);
}

static int add_device(struct discovery *d, const char *item, size_t item_len)
{
	const char *colon = memchr(item, ':', item_len);
	size_t name_len = colon ? (size_t)(colon - item) : item_len;
	struct rn_netdev dev = { 0 };
	struct iface iface;
	bool is_loopback;
	int rc;

	if (name_len == 0)
		return rn_fail(d->err, d->err_len, -EINVAL,
			       "an interface name is missing; want "
			       "IF[:ADDRESS[+ADDRESS...]][,IF...]");
	if (d->count == d->max)
		return rn_fail(d->err, d->err_len, -ENOSPC, "more than %u devices",
			       d->max);
	if (name_len < sizeof(dev.ifname))
		memcpy(dev.ifname, item, name_len);
	if (name_len >= sizeof(dev.ifname) || !find_iface(d, dev.ifname, &iface) ||
	    !query_iface(&dev))
		return complain_of_name(d, item, name_len);
	snprintf(dev.ibdev, sizeof(dev.ibdev), "rocin%u", d->count);
	dev.up = (iface.flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
	is_loopback = (iface.flags & IFF_LOOPBACK) != 0;
	if (colon)
		rc = add_listed_addresses(d, &dev, colon + 1, item_len - name_len - 1,
					  is_loopback);
	else if (is_loopback)
		rc = add_loopback_defaults(d, &dev);
	else
		rc = add_all_addresses(d, &dev);
	dev.all_addresses = !colon && !is_loopback;
	if (rc)
		return rc;
	if (dev.gid_count == 0)
		return rn_fail(d->err, d->err_len, -EADDRNOTAVAIL, "%s has no IP address",
			       dev.ifname);
	dev.node_guid = node_guid(&dev, &iface);
	d->devs[d->count++] = dev;
	return 0;
}

int rn_netdev_discover(const char *spec, struct rn_netdev *devs, unsigned max, char *err,
		       size_t err_len)
{
	struct discovery d = { .devs = devs, .max = max, .err = err, .err_len = err_len };
	int rc;

	if (!spec || !*spec)
		spec = "lo";
	if (getifaddrs(&d.all) < 0)
		return rn_fail(err, err_len, -errno,
			       "the network interfaces cannot be listed: %m");
	for (;;) {
		size_t len = strcspn(spec, ",");

		rc = add_device(&d, spec, len);
		if (rc || spec[len] == '\0')
			break;
		spec += len + 1;
	}
	freeifaddrs(d.all);
	return rc ? rc : (int)d.count;
}

/* ---- Link speed ---- */

enum {
	MBPS_MAX = 4000000
};

uint32_t rn_netdev_rate(const char *ifname)
{
	struct ethtool_cmd cmd = { .cmd = ETHTOOL_GSET };
	struct ifreq request = { .ifr_data = (void *)&cmd };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t mbps = 0;

	if (fd < 0)
		return 0;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
	/* The kernel reports -1 for a link that is down or has no speed. */
	if (ioctl(fd, SIOCETHTOOL, &request) == 0)
		mbps = ethtool_cmd_speed(&cmd);
	rn_fd_close(fd);
	return mbps <= MBPS_MAX ? mbps * 1000 : 0;
}
