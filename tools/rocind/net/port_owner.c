/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* port_owner.c - finds in /proc which process has bound UDP port 4791. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group.h"
#include "port_owner.h"
#include "transport/io/host/log.h"

/* A socket listed in /proc/net/udp or udp6 that has the port. */
struct entry {
	bool found;
	unsigned uid;
	unsigned long inode; /* 0: the socket belongs to the kernel */
};

/* Parses an address, which the kernel prints as 32-bit words in host byte order,
 * in hexadecimal.
 */
static bool parse_address(const char *hex, struct rn_gid *gid)
{
	static const struct rn_gid mapped = { .raw = { [10] = 0xff, [11] = 0xff } };
	unsigned words = strlen(hex) == 8 ? 1 : 4;

	*gid = mapped;
	for (unsigned i = 0; i < words; i++) {
		uint32_t word;

		if (sscanf(hex + 8 * (size_t)i, "%8x", &word) != 1)
			return false;
		memcpy(gid->raw + (words == 1 ? 12 : 4 * (size_t)i), &word, sizeof(word));
	}
	return true;
}

/* Would a socket bound to @theirs prevent a bind to @ours? The IPv6 wildcard also
 * receives IPv4 packets, unless the socket has IPV6_V6ONLY.
 */
static bool is_in_the_way(const struct rn_gid *theirs, const struct rn_gid *ours)
{
	static const struct rn_gid any6;
	static const struct rn_gid any4 = { .raw = { [10] = 0xff, [11] = 0xff } };

	return memcmp(theirs, ours, sizeof(*ours)) == 0 ||
	       memcmp(theirs, &any6, sizeof(any6)) == 0 ||
	       (rn_gid_is_ipv4(ours) && memcmp(theirs, &any4, sizeof(any4)) == 0);
}

/* Finds the socket in the way in one table of /proc/net; of several, the one that was
 * opened first: in a group of another rocind that is rocind's own socket, not one of
 * a client.
 */
static struct entry search_table(const char *table, const struct rn_gid *ours)
{
	struct entry first = { 0 };
	FILE *f = fopen(table, "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		struct entry entry = { .found = true };
		char address[33];
		struct rn_gid theirs;
		unsigned port;

		if (sscanf(line,
			   "%*d: %32[0-9A-Fa-f]:%x %*x:%*x %*x %*x:%*x %*x:%*x %*x %u "
			   "%*d "
			   "%lu",
			   address, &port, &entry.uid, &entry.inode) == 4 &&
		    port == RN_ROCE_PORT && parse_address(address, &theirs) &&
		    is_in_the_way(&theirs, ours) &&
		    (!first.found || entry.inode < first.inode))
			first = entry;
	}
	if (f)
		fclose(f);
	return first;
}

static bool has_descriptor(const char *pid, unsigned long inode)
{
	char path[300], want[64], link[64];
	bool found = false;
	struct dirent *fd;
	DIR *dir;

	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (fd = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), fd->d_name, link, sizeof(link) - 1);

		if (len > 0) {
			link[len] = '\0';
			found = strcmp(link, want) == 0;
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

static void read_name(const char *pid, char *name, size_t name_len)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, (int)name_len, f))
		snprintf(name, name_len, "?");
	name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
}

static bool name_process(unsigned long inode, char *who, size_t who_len)
{
	DIR *proc = opendir("/proc");
	bool found = false;
	struct dirent *d;

	while (proc && !found && (d = readdir(proc))) {
		char name[32];

		if (!isdigit((unsigned char)d->d_name[0]) ||
		    !has_descriptor(d->d_name, inode))
			continue;
		read_name(d->d_name, name, sizeof(name));
		snprintf(who, who_len, "process %.20s (%s)", d->d_name, name);
		found = true;
	}
	if (proc)
		closedir(proc);
	return found;
}

static void describe(const struct rn_gid *gid, char *who, size_t who_len)
{
	struct entry entry = search_table("/proc/net/udp6", gid);

	if (!entry.found && rn_gid_is_ipv4(gid))
		entry = search_table("/proc/net/udp", gid);
	if (!entry.found)
		snprintf(who, who_len, "another program");
	else if (entry.inode == 0)
		snprintf(who, who_len, "the kernel (a device of the module rdma_rxe?)");
	else if (!name_process(entry.inode, who, who_len))
		snprintf(who, who_len, "a process of user %u", entry.uid);
}

int rnd_port_owner_explain(const struct rn_gid *gid, char *err, size_t err_len)
{
	char who[96], address[INET6_ADDRSTRLEN],
		hint[INET6_ADDRSTRLEN + 8] = "IF:ADDRESS";
	struct rn_gid next = *gid;

	describe(gid, who, sizeof(who));
	rnd_gid_text(gid, address);
	if (rn_gid_is_ipv4(gid) && gid->raw[12] == 127) {
		next.raw[15] = gid->raw[15] % 250 + 1;
		memcpy(hint, "lo:", 4);
		rnd_gid_text(&next, hint + 3);
	}
	return rn_fail(
		err, err_len, -EADDRINUSE,
		"UDP port %d of %s is held by %s; stop it or choose another address "
		"with --netdev %s",
		RN_ROCE_PORT, address, who, hint);
}
