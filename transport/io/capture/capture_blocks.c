/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_blocks.c - see capture_blocks.h. */
#include "capture_blocks.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>

void rn_capture_blocks_begin(struct rn_pcapng *p)
{
	struct utsname host = { 0 };
	char os[256];

	uname(&host);
	snprintf(os, sizeof(os), "%.60s %.120s", host.sysname, host.release);
	rn_pcapng_section(p, host.machine, os, "rocin " ROCIN_VERSION);
}

void rn_capture_blocks_interface(struct rn_pcapng *p, const struct rn_capture_origin *o,
				 uint32_t snaplen)
{
	char program[32], text[200];

	snprintf(program, sizeof(program), "%s", o->program);
	for (char *c = program; *c; c++) /* files and Wireshark want text */
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (o->slot == 0) /* nobody's device */
		snprintf(text, sizeof(text),
			 "rocind, process %" PRId32 ", the connection manager", o->pid);
	else
		snprintf(text, sizeof(text), "%s%sprocess %" PRId32 ", on %s, slot %u",
			 program, program[0] ? ", " : "", o->pid, o->ifname, o->slot);
	rn_pcapng_interface(p, RN_CAPTURE_LINK_TYPE, o->ibdev, text,
			    snaplen ? snaplen : RN_CAPTURE_SNAPLEN);
}

void rn_capture_blocks_packet(struct rn_pcapng *p, uint32_t interface,
			      const struct rn_capture_packet *packet, uint32_t snaplen)
{
	bool is_cut = snaplen && snaplen < packet->cap;

	rn_pcapng_packet(p, &(struct rn_pcapng_packet){
				    .interface = interface,
				    .time = packet->rec.time,
				    .len = packet->len,
				    .cap = is_cut ? snaplen : packet->cap,
				    .data = packet->frame,
				    .is_outbound = packet->rec.flags & RN_CAPTURE_SENT,
				    .missed = packet->rec.missed,
				    .queue = packet->rec.qpn,
				    .comment = packet->comment,
			    });
}

void rn_capture_blocks_statistics(struct rn_pcapng *p, uint32_t interface,
				  uint64_t packets, uint64_t missed)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	rn_pcapng_statistics(p, interface,
			     (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec,
			     packets + missed, missed);
}
