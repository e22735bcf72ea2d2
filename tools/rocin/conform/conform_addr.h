/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_addr.h - where an agent listens, as people write it. */
#ifndef RN_CONFORM_ADDR_H
#define RN_CONFORM_ADDR_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Read ADDRESS[:PORT] (IPv4); a port that is not given stays. 0 or -EINVAL. */
static inline int rn_conform_address(const char *text, struct sockaddr_in *at)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	char address[INET_ADDRSTRLEN] = "", *end = NULL;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : ntohs(at->sin_port);

	if (len >= sizeof(address) || (end && *end) || port == 0 || port > UINT16_MAX)
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		address[i] = text[i];
	at->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, address, &at->sin_addr) == 1 ? 0 : -EINVAL;
}

#endif /* RN_CONFORM_ADDR_H */
