/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_dump.c - `rocin dump FILE`: the packets of a capture, one line each. */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "packet_text.h"

struct dump_args {
	const char *file;
	unsigned long count; /* 0: all */
};

static const struct argp_option options[] = {
	{ "count", 'c', "N", 0, "Stop after N packets", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct dump_args *args = state->input;
	char *end;

	switch (key) {
	case 'c':
		errno = 0;
		args->count = strtoul(arg, &end, 10);
		if (errno || *end || end == arg || args->count == 0)
			argp_error(state, "--count takes a number from 1 on, not \"%s\"",
				   arg);
		return 0;
	case ARGP_KEY_ARG:
		if (args->file)
			argp_error(state, "one FILE at a time");
		args->file = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which FILE? \"-\" is standard input");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "FILE",
	.doc = "Print the RoCEv2 packets of a pcap or pcapng FILE, one line each. "
	       "Packets of any "
	       "device will do; the ICRC of each is checked.",
};

/* Bytes of the link header before the IP header; -1: this packet is not IP. */
static int link_header(int dlt, const uint8_t *p, uint32_t len)
{
	uint32_t at = 12;

	switch (dlt) {
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		return 0;
	case DLT_NULL:
		return 4;
	case DLT_LINUX_SLL:
		return 16;
	case DLT_LINUX_SLL2:
		return 20;
	case DLT_EN10MB:
		while (at + 4 <= len && p[at] == 0x81 && p[at + 1] == 0x00)
			at += 4; /* 802.1Q tag */
		return (int)at + 2;
	default:
		return -1;
	}
}

static int dump(pcap_t *pcap, const struct dump_args *args)
{
	int dlt = pcap_datalink(pcap), rc;
	unsigned long shown = 0;
	struct pcap_pkthdr *h;
	const uint8_t *p;
	double start = 0;

	while ((!args->count || shown < args->count) &&
	       (rc = pcap_next_ex(pcap, &h, &p)) == 1) {
		int skip = link_header(dlt, p, h->caplen);
		double at = (double)h->ts.tv_sec + (double)h->ts.tv_usec / 1e9;
		char text[320];

		if (skip < 0 || (uint32_t)skip >= h->caplen ||
		    !rn_packet_text(p + skip, h->caplen - (uint32_t)skip, text,
				    sizeof(text)))
			continue;
		if (shown++ == 0)
			start = at;
		printf("%12.6f  %s\n", at - start, text);
	}
	if ((!args->count || shown < args->count) && rc == PCAP_ERROR) {
		rn_complain("%s: %s", args->file, pcap_geterr(pcap));
		return RN_EXIT_FAILURE;
	}
	if (shown == 0)
		fprintf(stderr, "rocin: %s holds no RoCEv2 packet\n", args->file);
	return 0;
}

int rn_cmd_dump(int argc, char **argv)
{
	struct dump_args args = { 0 };
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *pcap;
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return RN_EXIT_USAGE;
	/* Nanoseconds in tv_usec, whatever the file has. */
	pcap = pcap_open_offline_with_tstamp_precision(args.file,
						       PCAP_TSTAMP_PRECISION_NANO, err);
	if (!pcap) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	if (link_header(pcap_datalink(pcap), (const uint8_t[16]){ 0 }, 16) < 0) {
		rn_complain("%s: link type %d is not one that carries IP here", args.file,
			    pcap_datalink(pcap));
		pcap_close(pcap);
		return RN_EXIT_FAILURE;
	}
	status = dump(pcap, &args);
	pcap_close(pcap);
	return status;
}
