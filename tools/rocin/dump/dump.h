/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump.h - declarations shared by the files of `rocin dump': where packets come from, and
 * the forms in which they are printed.
 */
#ifndef RN_DUMP_H
#define RN_DUMP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rocin/types.h"
#include "tools/dump/packet.h"
#include "tools/dump/pcapng.h"
#include "tools/dump/watch.h"

/* -------------------------------------------------------- packets other than RoCEv2 */
/* Classes of packets that are not RoCEv2, by which `rocin dump' explains why it prints
 * nothing.
 */

enum rn_dump_other {
	RN_DUMP_TCP,
	RN_DUMP_UDP,
	RN_DUMP_ICMP, /* ICMP or ICMPv6 */
	RN_DUMP_IP,   /* any other protocol over IP */
	RN_DUMP_NO_IP,
	RN_DUMP_OTHERS
};

enum {
	RN_DUMP_OTHERS_MAX = 256
};

/* Writes the counts as text, such as "its 4 packets are 2 of TCP, 1 of UDP to other
 * ports, 1 not of IP". If all are 0, the text says that there are no packets.
 */
void rn_dump_others_text(const uint64_t count[RN_DUMP_OTHERS],
			 char text[RN_DUMP_OTHERS_MAX]);

/* ------------------------------------------------------ packets and forms of output */
/* A packet of the capture, as it is passed to the functions of a struct rn_dump_form.
 * Valid during the call only.
 */
struct rn_dump_packet {
	uint64_t number; /* number among the RoCEv2 packets, from 1 */
	rn_ns at;	 /* time since the first packet */
	const struct rn_packet *p;
	const struct rn_watch_verdict *verdict;
	const struct rn_watch *watch;
	/* Texts of a pcapng file; NULL or empty: none. */
	const char *comment;
	const char *interface, *owner; /* name and description of the interface */
	/* QPN on the side that has captured the packet; 0: unknown */
	uint32_t local_qpn;
	bool is_outbound;
	bool shows_owner; /* this is the first packet of @owner */
	/* owners of all QPs; valid until .end has returned */
	const struct rn_dump_owners *owners;
};

/* A packet of which both the sender and the receiver have made a capture is in the file
 * twice. It is shown where the sender captured it; this struct is about its capture by
 * the receiver.
 */
struct rn_dump_arrival {
	uint64_t number; /* number under which the packet was shown */
	rn_ns at;
	const struct rn_packet *p;
	const char *comment;
};

/* A form of output, such as lines or JSON: rn_dump_read() calls @packet for each packet,
 * then @end once.
 */
struct rn_dump_form {
	/* Returns false if no more packets are wanted. */
	bool (*packet)(void *ctx, const struct rn_dump_packet *d);
	/* Called between packets, when the capture of the receiver has a packet that was
	 * shown before, as sent. NULL: the form does not show arrivals.
	 */
	void (*arrival)(void *ctx, const struct rn_dump_arrival *a);
	/* Ends the output. Returns 0, or -errno of writing. */
	int (*end)(void *ctx, const struct rn_watch *w);
	void *ctx;
};

struct rn_dump_source {
	const char *file; /* name of the file; "-": standard input */
	uint64_t count;	  /* maximum number of packets to read; 0: no limit */
	bool has_qp;	  /* only packets of QP @qp and of its peer are wanted */
	uint32_t qp;
	bool is_strict;
	/* If both the sender and the receiver of a packet have captured it, show it
	 * twice.
	 */
	bool has_copies;
};

/* Counts of the packets that were read. */
struct rn_dump_total {
	uint64_t packets, violations, suspicions;
	/* Number of RoCEv2 packets in the capture, including those that were not shown.
	 */
	uint64_t roce;
	/* Number of packets that were not parsed although a RoCEv2 device may have sent
	 * them, by the reason why.
	 */
	uint64_t skipped[RN_PACKET_SKIP_COUNT];
	uint64_t other[RN_DUMP_OTHERS]; /* other packets, by class */
	uint64_t no_link; /* number of packets whose link type is not supported */
	/* DLT_ constant of the last packet that is counted in @no_link */
	int link_type;
};

/**
 * rn_dump_read() - Read a capture, check its packets, and pass each RoCEv2 packet
 * to @form
 * @total:	Out: counts
 *
 * Return: 0, or -errno after an error message on standard error; the packets before the
 *	error were shown.
 */
int rn_dump_read(const struct rn_dump_source *source, const struct rn_dump_form *form,
		 struct rn_dump_total *total);

/* ---- Output as lines ---- */

struct rn_dump_lines {
	FILE *to;
	bool findings_only;
};

bool rn_dump_line(void *ctx, const struct rn_dump_packet *d);
void rn_dump_line_arrival(void *ctx, const struct rn_dump_arrival *a);

/* Writes why a packet was sent again, such as " [again: after a NAK, 67.1 ms]", or "
 * [nothing new]", to @note; empty if there is nothing to report.
 */
enum {
	RN_DUMP_NOTE_MAX = 160
};
void rn_dump_note(const struct rn_watch_verdict *r, char note[RN_DUMP_NOTE_MAX]);

/* Writes the text of a finding, such as "gap (B5): PSNs go up by one a packet: 3 missing
 * before 17".
 */
enum {
	RN_DUMP_FINDING_MAX = 320
};
void rn_dump_finding(const struct rn_watch_finding *f, char text[RN_DUMP_FINDING_MAX]);

/* Writes the owner of the packet's QP at the side that has captured it, such as "queue
 * pair 0x11 of 10.0.0.1: rocin0, verify, process 7, on lo, slot 1".
 */
enum {
	RN_DUMP_SAID_MAX = 768
};
void rn_dump_owner_words(const struct rn_dump_packet *d, char text[RN_DUMP_SAID_MAX]);
/* Writes what the receiver of a packet has reported about it, such as "psn 17 as it
 * arrived: beyond the expected PSN: dropped".
 */
void rn_dump_arrival_words(const struct rn_dump_arrival *a, char text[RN_DUMP_SAID_MAX]);

/* Writes a time in a suitable unit, such as "67.1 ms". */
enum {
	RN_DUMP_TIME_MAX = 32
};
const char *rn_dump_time(rn_ns t, char text[RN_DUMP_TIME_MAX]);

/* -------------------------------------------------------------------- owners of QPs */
/* The owners of the QPs in a capture: programs and their devices. The descriptions of
 * interfaces in a pcapng file, which `rocin capture' writes, tell them.
 */

struct rn_dump_owners;

/* Returns the owner of a QP as text, such as "rocin0, verify, process 7, on lo, slot 1".
 * Returns NULL if it is not known, or if @o is NULL.
 */
const char *rn_dump_owner(const struct rn_dump_owners *o, const struct rn_gid *gid,
			  uint32_t qpn);

/* -------------------------------------------------------------------- capture files */
/* A capture file. libpcap reads pcap files; tools/dump/pcapng.c reads pcapng files,
 * because it also returns comments and interfaces.
 */

struct rn_dump_file;

/**
 * rn_dump_file_open() - Open a capture
 * @path:	"-" is standard input, which is never closed
 *
 * Return: the file, or NULL after an error message on standard error.
 */
struct rn_dump_file *rn_dump_file_open(const char *path);
void rn_dump_file_close(struct rn_dump_file *f);

/**
 * rn_dump_file_next() - Read the next packet
 * @found:	Out: the packet. Its link type is a DLT_...; texts and data are valid
 *	until the next call
 *
 * Return: 1 for a packet; 0 at the end of the file; -EIO after an error message on
 *	standard error.
 */
int rn_dump_file_next(struct rn_dump_file *f, struct rn_pcapng_found *found);

/* ---- Statistics of a capture for each half-connection ---- */

/* Returns the goodput of a half-connection: payload that was delivered, in Gbit/s, over
 * the time from the first to the last packet. Returns 0 if that time is 0.
 */
double rn_dump_goodput(const struct rn_watch_half *h);

/* Returns true if the half-connection has requests; one without requests is not reported.
 */
bool rn_dump_is_told(const struct rn_watch_half *h);

/* Returns the name of the transport service, such as "RC" or "XRC". */
const char *rn_dump_class(const struct rn_watch_half *h);

/* Writes the name of a half-connection, such as "10.0.0.1 qp 0x11 > 10.0.0.2 qp 0x22". */
enum {
	RN_DUMP_NAME_MAX = 128
};
const char *rn_dump_name(const struct rn_watch_half *h, char text[RN_DUMP_NAME_MAX]);

/* Prints a paragraph for each half-connection. Can be used as rn_dump_form.end; @ctx is
 * then the FILE to which it prints.
 */
int rn_dump_stats_print(void *ctx, const struct rn_watch *w);

/* Draws an <svg> element about a half-connection: goodput, unacknowledged PSNs and round
 * trip times over time.
 */
void rn_dump_plot(FILE *to, const struct rn_watch_half *h);
extern const char rn_dump_plot_style[]; /* style sheet for the head of the page */

/* ---- JSON ---- */

/* These functions can be used as rn_dump_form.packet and rn_dump_form.arrival. They print
 * one JSON object, in one line. @ctx: the FILE to print to.
 */
bool rn_dump_json_packet(void *ctx, const struct rn_dump_packet *d);
void rn_dump_json_arrival(void *ctx, const struct rn_dump_arrival *a);

/* Prints one JSON object with all half-connections. @ctx: the FILE to print to. */
int rn_dump_json_stats(void *ctx, const struct rn_watch *w);

/* ---- HTML page ---- */

struct rn_dump_page;

/* Returns a new page, or NULL if there is no memory. @file: name of the capture; the
 * caller must keep it valid as long as the page.
 */
struct rn_dump_page *rn_dump_page_open(const char *file);
void rn_dump_page_close(struct rn_dump_page *page);

/* These functions can be used as rn_dump_form.packet and rn_dump_form.arrival. They store
 * a packet, or what its receiver has reported about it, for the page. @ctx: the struct
 * rn_dump_page. It keeps the first packets of each sequence diagram, and the first
 * findings.
 */
bool rn_dump_page_packet(void *ctx, const struct rn_dump_packet *d);
void rn_dump_page_arrival(void *ctx, const struct rn_dump_arrival *a);

/* Write a file: rn_dump_page_write() the whole page, rn_dump_page_write_ladder() only the
 * sequence diagram with the most packets. Must be called while @w still exists. Return 0
 * or -errno of the file; -ENODATA if there is no diagram.
 */
int rn_dump_page_write(struct rn_dump_page *page, const struct rn_watch *w,
		       const char *path);
int rn_dump_page_write_ladder(struct rn_dump_page *page, const struct rn_watch *w,
			      const char *path);

#endif /* RN_DUMP_H */
