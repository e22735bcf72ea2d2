/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump.h - the parts of `rocin dump`: where packets come from, and the forms in which
 * they are shown.
 */
#ifndef RN_DUMP_H
#define RN_DUMP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rocin/types.h"
#include "tools/dump/pcapng.h"
#include "tools/dump/watch.h"
#include "tools/rocin/common/packet_text.h"

/* --------------------------------------------------------------------- other packets */
/* What a capture holds that is no RoCEv2 packet, for whoever wonders why
 * nothing is shown.
 */

enum rn_dump_other {
	RN_DUMP_TCP,
	RN_DUMP_UDP,
	RN_DUMP_ICMP, /* of IPv4 or IPv6 */
	RN_DUMP_IP,   /* any other protocol */
	RN_DUMP_NO_IP,
	RN_DUMP_OTHERS
};

/* Of @len bytes behind the link header. */
enum rn_dump_other rn_dump_other(const uint8_t *ip, size_t len);

enum {
	RN_DUMP_OTHERS_MAX = 256
};

/* "its 4 packets are 2 of TCP, 1 of UDP to other ports, 1 not of IP", or that it has
 * none.
 */
void rn_dump_others_text(const uint64_t count[RN_DUMP_OTHERS],
			 char text[RN_DUMP_OTHERS_MAX]);

/* --------------------------------------------------------------------------- packets */
/* A packet of the capture, on its way to be shown. Valid during the call only. */
struct rn_dump_packet {
	uint64_t number; /* of the RoCEv2 packets, from 1 on */
	rn_ns at;	 /* since the first one */
	const struct rn_packet *p;
	const struct rn_watch_verdict *verdict;
	const struct rn_watch *watch;
	/* What a pcapng file says beside it; NULL or empty: nothing. */
	const char *comment;
	const char *interface, *owner; /* its name and description */
	uint32_t local_qpn;	       /* of the end that captured it; 0: not known */
	bool is_outbound;
	bool shows_owner;		     /* for the first time */
	const struct rn_dump_owners *owners; /* until .end has returned */
};

/* What the other end's capture said of a packet that was shown when it left. */
struct rn_dump_arrival {
	uint64_t number; /* of that packet */
	rn_ns at;
	const struct rn_packet *p;
	const char *comment;
};

/* A form of showing. All are called in this order: @packet for each, @end once. */
struct rn_dump_form {
	/* Returns false if no more are wanted. */
	bool (*packet)(void *ctx, const struct rn_dump_packet *d);
	/* Between packets; may be NULL. */
	void (*arrival)(void *ctx, const struct rn_dump_arrival *a);
	/* Returns 0 or -errno (of writing). */
	int (*end)(void *ctx, const struct rn_watch *w);
	void *ctx;
};

struct rn_dump_source {
	const char *file; /* "-": standard input */
	uint64_t count;	  /* stop behind so many; 0: all */
	bool has_qp;	  /* only those of @qp and of the one that it talks to */
	uint32_t qp;
	bool is_strict;
	bool has_copies; /* show also what arrived and was captured where it left */
};

/* What was read. */
struct rn_dump_total {
	uint64_t packets, violations, suspicions;
	uint64_t roce;				/* packets of the capture, shown or not */
	uint64_t skipped[RN_PACKET_SKIP_COUNT]; /* not taken apart, and why */
	uint64_t other[RN_DUMP_OTHERS];		/* of all that were not */
	uint64_t no_link; /* of a link type that carries no IP here, ... */
	int link_type;	  /* ... DLT_..., the last of them */
};

/**
 * rn_dump_read() - Read a capture, watch it, and give each RoCEv2 packet to @form
 * @total:	Out: what was shown
 *
 * Return: 0; -errno, with a sentence on standard error. What was read before the error
 *was shown.
 */
int rn_dump_read(const struct rn_dump_source *source, const struct rn_dump_form *form,
		 struct rn_dump_total *total);

/* ---- Lines ---- */

struct rn_dump_lines {
	FILE *to;
	bool findings_only;
};

bool rn_dump_line(void *ctx, const struct rn_dump_packet *d);
void rn_dump_line_arrival(void *ctx, const struct rn_dump_arrival *a);

/* " [again: after a NAK, 67.1 ms]", " [duplicate]" ...; empty if there is nothing. */
enum {
	RN_DUMP_NOTE_MAX = 160
};
void rn_dump_note(const struct rn_watch_verdict *r, char note[RN_DUMP_NOTE_MAX]);

/* "gap (B5): PSNs go up by one a packet: 3 missing before 17" */
enum {
	RN_DUMP_FINDING_MAX = 320
};
void rn_dump_finding(const struct rn_watch_finding *f, char text[RN_DUMP_FINDING_MAX]);

/* "queue pair 0x11 of 10.0.0.1: rocin0, verify, process 7, on lo, slot 1" */
enum {
	RN_DUMP_SAID_MAX = 768
};
void rn_dump_owner_words(const struct rn_dump_packet *d, char text[RN_DUMP_SAID_MAX]);
/* "psn 17 as it arrived: beyond the expected PSN: dropped" */
void rn_dump_arrival_words(const struct rn_dump_arrival *a, char text[RN_DUMP_SAID_MAX]);

/* "67.1 ms", in the unit that fits. */
enum {
	RN_DUMP_TIME_MAX = 32
};
const char *rn_dump_time(rn_ns t, char text[RN_DUMP_TIME_MAX]);

/* ---------------------------------------------------------------------------- owners */
/* Whose queue pairs a capture has, as its interfaces say. */

struct rn_dump_owners;

/* Return: "rocin0, verify, process 7, on lo, slot 1", or NULL: nobody has said. @o may
 * be NULL.
 */
const char *rn_dump_owner(const struct rn_dump_owners *o, const struct rn_gid *gid,
			  uint32_t qpn);

/* ----------------------------------------------------------------------------- files */
/* A capture file, packet by packet: pcap by libpcap, pcapng by ourselves,
 * with what was written beside the packets.
 */

struct rn_dump_file;

/**
 * rn_dump_file_open() - Open a capture
 * @path:	"-": standard input, which stays open
 *
 * Return: NULL, with a sentence on standard error.
 */
struct rn_dump_file *rn_dump_file_open(const char *path);
void rn_dump_file_close(struct rn_dump_file *f);

/**
 * rn_dump_file_next() - Read the next packet
 * @found:	Out: its link type is a DLT_...; texts and data until the next call
 *
 * Return: 1; 0 at the end; -EIO with a sentence on standard error.
 */
int rn_dump_file_next(struct rn_dump_file *f, struct rn_pcapng_found *found);

#endif /* RN_DUMP_H */
