/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour_place.c - where the tour runs: nobody else's rocind, faults and addresses are in
 * its way, and nothing of it is left.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/rocin/common/launch.h"
#include "tour.h"
#include "transport/io/rocind/rocind_client.h"

enum {
	TRIES = 32,
};

/* ------------------------------------------------------------------- directory */
static int make_dir(struct rn_tour_place *place, char *err, size_t err_len)
{
	const char *const parents[] = { getenv("XDG_RUNTIME_DIR"), "/dev/shm",
					getenv("TMPDIR"), "/tmp" };
	int rc = -ENOENT;

	for (size_t i = 0; i < RN_ARRAY_SIZE(parents); i++) {
		/* The paths of sockets are short, and absolute. */
		if (!parents[i] || parents[i][0] != '/' || strlen(parents[i]) > 60)
			continue;
		snprintf(place->dir, sizeof(place->dir), "%s/rocin-tour-XXXXXX",
			 parents[i]);
		if (mkdtemp(place->dir))
			return 0;
		rc = -errno;
	}
	place->dir[0] = '\0';
	snprintf(err, err_len,
		 "no directory for sockets can be made in XDG_RUNTIME_DIR, /dev/shm, "
		 "TMPDIR or /tmp: %s; set TMPDIR to one that can be written",
		 strerror(-rc));
	return rc;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

/* -------------------------------------------------------------------- addresses */
/* Can nobody else's device be at this address? */
static int try_address(uint32_t addr)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT),
				  .sin_addr.s_addr = htonl(addr) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Two neighbours in 127.64.0.0/10, away from what people choose by hand. */
static int choose_addresses(struct rn_tour_place *place, char *err, size_t err_len)
{
	int rc = -EADDRINUSE;

	for (unsigned i = 0; rc == -EADDRINUSE && i < TRIES; i++) {
		uint32_t random = (uint32_t)getpid() * 2654435761u + i, a;

		(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
		a = 0x7f400000u | (random & 0x003fff00u) | 1;
		rc = try_address(a);
		if (!rc)
			rc = try_address(a + 1);
		snprintf(place->netdevs, sizeof(place->netdevs),
			 "lo:127.%u.%u.1,lo:127.%u.%u.2", a >> 16 & 0xff, a >> 8 & 0xff,
			 a >> 16 & 0xff, a >> 8 & 0xff);
	}
	if (rc)
		snprintf(err, err_len, "UDP port 4791 of a loopback address: %s",
			 strerror(-rc));
	return rc;
}

/* ------------------------------------------------------------------ environment */
/* What somebody has set for other programs would change what happens. How rocind is found
 * and how sockets are used does not.
 */
static void forget_settings(void)
{
	static const char *const kept[] = { "ROCIN_ROCIND=", "ROCIN_IO=", "ROCIN_LOG=",
					    "ROCIN_IDLE_MS=" };
	char name[64];

	for (unsigned i = 0; environ && environ[i];) {
		bool is_kept = strncmp(environ[i], "ROCIN_", 6) != 0;
		size_t len = strcspn(environ[i], "=");

		for (size_t k = 0; k < RN_ARRAY_SIZE(kept); k++)
			is_kept |= !strncmp(environ[i], kept[k], strlen(kept[k]));
		if (is_kept || len >= sizeof(name)) {
			i++;
			continue;
		}
		memcpy(name, environ[i], len);
		name[len] = '\0';
		unsetenv(name);
	}
}

int rn_tour_enter(struct rn_tour_place *place, char *err, size_t err_len)
{
	static struct rn_launch launch;
	int rc;

	*place = (struct rn_tour_place){ 0 };
	forget_settings();
	rc = make_dir(place, err, err_len);
	if (!rc)
		rc = choose_addresses(place, err, err_len);
	if (rc)
		return rc;
	/* Over UDP, as between hosts. */
	if (setenv("ROCIN_RUNTIME_DIR", place->dir, 1) || setenv("ROCIN_LOCAL", "off", 1))
		return -ENOMEM;
	rc = rn_launch_prepare(&launch, place->netdevs, err, err_len);
	if (!rc && !launch.devs[0].up) {
		snprintf(
			err, err_len,
			"the loopback interface is down; bring it up: ip link set lo up");
		rc = -ENETDOWN;
	}
	if (!rc)
		rc = rn_launch_setenv(&launch, place->netdevs, err, err_len);
	snprintf(place->program, sizeof(place->program), "%s/rocin-tour",
		 launch.plugin_dir);
	return rc;
}

void rn_tour_leave(struct rn_tour_place *place)
{
	struct rn_rocind *r;

	if (!place->dir[0])
		return;
	r = rn_rocind_connect_running(NULL, 0);
	if (r)
		(void)rn_rocind_shutdown(r, NULL, 0);
	rn_rocind_close(r);
	nftw(place->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	place->dir[0] = '\0';
}
