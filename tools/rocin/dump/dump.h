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
/* Classes of packets that are not RoCEv2, which `rocin dump' counts. If it finds no
 * RoCEv2 packet, it prints these counts.
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
/* A RoCEv2 packet of the capture, as it is passed to struct rn_dump_form.packet. Valid
 * during the call only.
 */
struct rn_dump_packet {
	uint64_t number; /* number among the RoCEv2 packets, from 1 */
	rn_ns at;	 /* time since the first packet */
	const struct rn_packet *p;
	const struct rn_watch_verdict *verdict;
	const struct rn_watch *watch;
	/* Texts of a pcapng file; NULL or empty: none. */
	const char *comment;
	/* name and description of the interface, which identify the owner of the QP */
	const char *interface, *owner;
	/* QPN on the side on which the packet was captured; 0: unknown */
	uint32_t local_qpn;
	bool is_outbound;
	bool shows_owner; /* true for the first packet that has this @owner */
	/* owners of all QPs; valid until rn_dump_form.end has returned */
	const struct rn_dump_owners *owners;
};

/* The capture of a packet by its receiver. A file may also have the capture of that
 * packet by its sender: the packet is then shown once, where the sender captured it, and
 * this struct describes the second capture.
 */
struct rn_dump_arrival {
	uint64_t number; /* rn_dump_packet.number of the packet that was shown */
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
	/* Called between packets, when the file has a packet as the receiver captured it,
	 * and the capture by the sender was shown before. NULL: the form does not show
	 * arrivals.
	 */
	void (*arrival)(void *ctx, const struct rn_dump_arrival *a);
	/* Ends the output. Returns 0, or -errno if the output could not be written. */
	int (*end)(void *ctx, const struct rn_watch *w);
	void *ctx;
};

struct rn_dump_source {
	const char *file; /* name of the file; "-": standard input */
	uint64_t count;	  /* maximum number of packets to read; 0: no limit */
	bool has_qp;	  /* only packets of QP @qp and of its peer are wanted */
	uint32_t qp;
	bool is_strict;
	/* False: a packet that both its sender and its receiver have captured is shown
	 * once. True: it is shown twice.
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
	 * them, for each reason.
	 */
	uint64_t skipped[RN_PACKET_SKIP_COUNT];
	uint64_t other[RN_DUMP_OTHERS]; /* packets that are not RoCEv2, for each class */
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
 * [nothing new]", to @note; an empty text if there is nothing to report.
 */
enum {
	RN_DUMP_NOTE_MAX = 160
};
void rn_dump_note(const struct rn_watch_verdict *r, char note[RN_DUMP_NOTE_MAX]);

/* Writes a finding as text, such as "gap (B5): PSNs go up by one a packet: 3 missing
 * before 17".
 */
enum {
	RN_DUMP_FINDING_MAX = 320
};
void rn_dump_finding(const struct rn_watch_finding *f, char text[RN_DUMP_FINDING_MAX]);

/* Writes the owner of the QP on the side on which the packet was captured, such as "queue
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
/* The owners of the QPs in a capture: programs and their devices. `rocin capture' writes
 * them into the descriptions of the interfaces in a pcapng file.
 */

struct rn_dump_owners;

/* Returns the owner of a QP as text, such as "rocin0, verify, process 7, on lo, slot 1".
 * Returns NULL if it is not known, or if @o is NULL.
 */
const char *rn_dump_owner(const struct rn_dump_owners *o, const struct rn_gid *gid,
			  uint32_t qpn);

/* -------------------------------------------------------------------- capture files */
/* A capture file. libpcap reads pcap files; tools/dump/pcapng.c reads pcapng files,
 * because libpcap does not return their comments and interfaces.
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

/* Returns the goodput of a half-connection in Gbit/s: the payload that was delivered,
 * divided by the time from the first to the last packet. Returns 0 if that time is 0.
 */
double rn_dump_goodput(const struct rn_watch_half *h);

/* Returns true if the statistics contain the half-connection. They leave out a
 * half-connection without requests.
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
 * rn_dump_page. The page keeps the first packets of each sequence diagram, and the first
 * findings.
 */
bool rn_dump_page_packet(void *ctx, const struct rn_dump_packet *d);
void rn_dump_page_arrival(void *ctx, const struct rn_dump_arrival *a);

/* rn_dump_page_write() writes the whole page, rn_dump_page_write_ladder() only the
 * sequence diagram with the most packets. @w must be the struct rn_watch that has checked
 * the packets. Return 0, -errno if the file could not be written, or -ENODATA if there is
 * no diagram.
 */
int rn_dump_page_write(struct rn_dump_page *page, const struct rn_watch *w,
		       const char *path);
int rn_dump_page_write_ladder(struct rn_dump_page *page, const struct rn_watch *w,
			      const char *path);

#endif /* RN_DUMP_H */
