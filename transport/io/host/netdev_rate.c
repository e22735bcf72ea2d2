/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* netdev_rate.c - how fast an interface says that its link is. */
#include "netdev_rate.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "own_fd.h"

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
	/* -1 is what a link says that is down, or has no rate. */
	if (ioctl(fd, SIOCETHTOOL, &request) == 0)
		mbps = ethtool_cmd_speed(&cmd);
	rn_fd_close(fd);
	return mbps <= MBPS_MAX ? mbps * 1000 : 0;
}
