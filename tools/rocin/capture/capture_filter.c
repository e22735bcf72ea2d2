/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_filter.c - see capture_filter.h. */
#include "capture_filter.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

struct rn_capture_filter_code {
	struct bpf_program program;
};

static int compile(struct bpf_program *program, const char *text, char *err,
		   size_t err_len)
{
	pcap_t *pcap = pcap_open_dead(RN_CAPTURE_LINK_TYPE, 65535 + RN_CAPTURE_HDR_MAX);
	int rc = 0;

	if (!pcap) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	if (pcap_compile(pcap, program, text, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		snprintf(err, err_len, "%s", pcap_geterr(pcap));
		rc = -EINVAL;
	}
	pcap_close(pcap);
	return rc;
}

struct rn_capture_filter_code *rn_capture_filter_new(const char *text, char *err,
						     size_t err_len)
{
	struct rn_capture_filter_code *f = calloc(1, sizeof(*f));
	int rc;

	if (!f) {
		snprintf(err, err_len, "out of memory");
		errno = ENOMEM;
		return NULL;
	}
	rc = compile(&f->program, text, err, err_len);
	if (!rc)
		return f;
	free(f);
	errno = -rc;
	return NULL;
}

bool rn_capture_filter_passes(const struct rn_capture_filter_code *f,
			      const struct rn_capture_packet *packet)
{
	const struct pcap_pkthdr hdr = { .caplen = packet->cap, .len = packet->len };

	return !f || pcap_offline_filter(&f->program, &hdr, packet->frame) != 0;
}

void rn_capture_filter_free(struct rn_capture_filter_code *f)
{
	if (!f)
		return;
	pcap_freecode(&f->program);
	free(f);
}
