/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture.h - the IP packets of a file in tests/captures, all Ethernet. */
#ifndef RN_TEST_TOOLS_CAPTURE_H
#define RN_TEST_TOOLS_CAPTURE_H

#include <pcap/pcap.h>
#include <stdio.h>

enum {
	ETHERNET_LEN = 14
};

static inline pcap_t *open_capture(const char *name)
{
	char path[4096], err[PCAP_ERRBUF_SIZE];

	snprintf(path, sizeof(path), "%s/%s.pcap", RN_CAPTURES, name);
	return pcap_open_offline(path, err);
}

/* The next packet from its IP header on; NULL at the end. */
static inline const uint8_t *next_packet(pcap_t *pcap, size_t *len)
{
	struct pcap_pkthdr *h;
	const uint8_t *p;

	if (!pcap || pcap_next_ex(pcap, &h, &p) != 1 || h->caplen < ETHERNET_LEN)
		return NULL;
	*len = h->caplen - ETHERNET_LEN;
	return p + ETHERNET_LEN;
}

#endif /* RN_TEST_TOOLS_CAPTURE_H */
