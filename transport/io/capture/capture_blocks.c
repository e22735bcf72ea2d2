/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_blocks.c - converts packets from a ring to blocks of a pcapng capture file; see
 * capture_blocks.h.
 */
#include "capture_blocks.h"

#include <inttypes.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "rocin/stats.h"
#include "rocin/wire.h"
#include "transport/io/host/clock.h"

/* Packet types in the header of Linux cooked mode. */
enum {
	SENT_TO_US = 0,
	SENT_BY_US = 4,
};

/* ------------------------------------------------ headers of a captured packet */
static uint16_t find_ip_id(const struct rn_capture_record *rec, const uint8_t *body)
{
	if ((rec->flags & RN_CAPTURE_SENT) || rec->cap < rec->len)
		return rec->ip_id;
	return rn_frame_ip_id(&rec->flow, body, rec->len, rec->ip_id);
}

static void link_header(uint8_t *out, const struct rn_capture_record *rec)
{
	memset(out, 0, RN_CAPTURE_LINK_HDR);
	rn_put_be16(out, rec->flags & RN_CAPTURE_SENT ? SENT_BY_US : SENT_TO_US);
	rn_put_be16(out + 2, ARPHRD_NONE);
	rn_put_be16(out + 14, rn_flow_is_ipv4(&rec->flow) ? ETH_P_IP : ETH_P_IPV6);
}

struct rn_capture_packet *rn_capture_packet_new(const struct rn_capture_record *rec,
						const uint8_t *body)
{
	struct rn_capture_packet *p = malloc(sizeof(*p) + RN_CAPTURE_HDR_MAX + rec->cap);
	size_t hdr;

	if (!p)
		return NULL;
	p->rec = *rec;
	p->comment[0] = '\0';
	link_header(p->frame, rec);
	hdr = RN_CAPTURE_LINK_HDR;
	hdr += rn_frame_headers(p->frame + hdr, &rec->flow, find_ip_id(rec, body),
				rec->cap < rec->len ? NULL : body, rec->len);
	memcpy(p->frame + hdr, body, rec->cap);
	p->len = (uint32_t)hdr + rec->len;
	p->cap = (uint32_t)hdr + rec->cap;
	return p;
}

/* ----------------------------------------------------- texts of diagnostics */
static const char *const objection_text[RN_OBJECTION_COUNT] = {
	[RN_OBJECTION_OTHER] = "request refused",
	[RN_OBJECTION_UNSUPPORTED] = "request refused: this QP does not serve its opcode",
	[RN_OBJECTION_SRQ] = "request refused: no such XRC SRQ in the domain, or another "
			     "one within a message",
	[RN_OBJECTION_SEQUENCE] = "request refused: its opcode does not fit the message "
				  "in progress",
	[RN_OBJECTION_NOT_PERMITTED] = "request refused: the QP does not allow this kind "
				       "of remote access",
	[RN_OBJECTION_PAYLOAD_LEN] = "request refused: its payload has the wrong length "
				     "for its opcode and the path MTU",
	[RN_OBJECTION_RESOURCE] = "request refused: more READs and atomics outstanding "
				  "than agreed",
	[RN_OBJECTION_TOO_LONG] = "request refused: longer than 2^31 bytes",
	[RN_OBJECTION_KEY] = "request refused: R_Key does not open",
	[RN_OBJECTION_MISALIGNED] = "request refused: its address is not aligned",
	[RN_OBJECTION_RECV_TOO_SHORT] =
		"request refused: the receive posted for it is too "
		"short",
	[RN_OBJECTION_DMA_LEN] = "request refused: its payload does not add up to the "
				 "length announced",
	[RN_OBJECTION_RECV_PROT] = "request refused: the receive posted for it does not "
				   "open its memory",
	[RN_OBJECTION_MEM_FAULT] = "request refused: the memory it names is gone",
	[RN_OBJECTION_INVALIDATE] = "request refused: its R_Key cannot be invalidated",
};

/* Return: a text for a packet that has incremented the counter @stat. */
static const char *counted_text(uint32_t stat)
{
	static const char *const text[RN_STAT_COUNT] = {
		[RN_STAT_DUPLICATE_REQUEST] =
			("duplicate, acknowledged or answered again"),
		[RN_STAT_OUT_OF_SEQUENCE] = ("beyond the expected PSN: dropped"),
		[RN_STAT_PACKET_SEQ_ERR] = ("NAK, PSN sequence error: the requests from "
					    "there are sent again"),
		[RN_STAT_RNR_NAK_RX] = ("RNR NAK: the request is sent again later"),
		[RN_STAT_IMPLIED_NAK_SEQ_ERR] = ("a response before this one is missing: "
						 "asked for again"),
		[RN_STAT_RX_ICRC_SOLVED] = ("accepted after solving for the IPv4 "
					    "identification"),
		[RN_STAT_RX_DROPPED] = ("dropped: stale, or not the next one"),
		[RN_STAT_NP_ECN_MARKED] = ("marked by a switch: congestion"),
		[RN_STAT_RP_CNP_HANDLED] = ("congestion notification: slows down"),
	};

	return text[stat] ? text[stat] : rn_stat_help[stat];
}

static const char *const fault_text[] = {
	[RN_DIAGNOSTIC_DROPPED] = "dropped on purpose",
	[RN_DIAGNOSTIC_INJECTED] = "injected on purpose",
	[RN_DIAGNOSTIC_CHANGED] = "changed on purpose",
	[RN_DIAGNOSTIC_DELAYED] = "delayed on purpose",
};

static int refused_text(const struct rn_diagnostic *r, char *text, size_t len)
{
	const char *why =
		objection_text[r->code < RN_OBJECTION_COUNT ? r->code
							    : RN_OBJECTION_OTHER];

	if (r->len == 0)
		return snprintf(text, len, "%s", why);
	if (r->code == RN_OBJECTION_KEY)
		return snprintf(text, len,
				"%s: R_Key 0x%08" PRIx32 ", %" PRIu32
				" bytes at 0x%" PRIx64,
				why, r->key, r->len, r->va);
	return snprintf(text, len, "%s (%" PRIu32 " bytes at 0x%" PRIx64 ")", why, r->len,
			r->va);
}

static int resent_text(const struct rn_diagnostic *r, char *text, size_t len)
{
	const char *why = r->code == RN_STAT_PACKET_SEQ_ERR ? ": NAK, PSN sequence error"
			  : r->code == RN_STAT_RNR_NAK_RX   ? ": RNR NAK"
			  : r->code == RN_STAT_LOCAL_ACK_TIMEOUT ? ": ACK timeout"
			  : r->code == RN_STAT_IMPLIED_NAK_SEQ_ERR
				  ? ": a response was missing"
				  : "";

	return snprintf(text, len, "sent again%s", why);
}

static int nak_text(const struct rn_diagnostic *r, char *text, size_t len)
{
	uint8_t syndrome = (uint8_t)r->code;
	const char *nak = rn_nak_name(rn_aeth_value(syndrome));

	if (rn_aeth_type(syndrome) == RN_AETH_RNR)
		return snprintf(text, len, "RNR NAK: no receive is posted");
	if (rn_aeth_type(syndrome) == RN_AETH_NAK && nak)
		return snprintf(text, len, "NAK: %s", nak);
	return snprintf(text, len, "acknowledgement");
}

static int fault_words(const struct rn_diagnostic *r, char *text, size_t len)
{
	const char *what =
		r->code < RN_ARRAY_SIZE(fault_text) ? fault_text[r->code] : NULL;

	if (!r->key)
		return snprintf(text, len, "%s", what ? what : "a fault");
	return snprintf(text, len, "%s by rule %" PRIu32 " about faults",
			what ? what : "met", r->key);
}

/* Write @diagnostic as text into @text. It comes from another process, so its contents
 * may be invalid. Return: number of characters written, without the NUL.
 */
static size_t diagnostic_text(const struct rn_diagnostic *diagnostic, char *text,
			      size_t len)
{
	int n = 0;

	*text = '\0';
	switch (diagnostic->kind) {
	case RN_DIAGNOSTIC_COUNTED:
		if (diagnostic->code < RN_STAT_COUNT)
			n = snprintf(text, len, "%s", counted_text(diagnostic->code));
		break;
	case RN_DIAGNOSTIC_REFUSED:
		n = refused_text(diagnostic, text, len);
		break;
	case RN_DIAGNOSTIC_RESENT:
		n = resent_text(diagnostic, text, len);
		break;
	case RN_DIAGNOSTIC_NAK:
		n = nak_text(diagnostic, text, len);
		break;
	case RN_DIAGNOSTIC_FAULT:
		n = fault_words(diagnostic, text, len);
		break;
	default:
		break;
	}
	return n < 0 ? 0 : (size_t)n < len ? (size_t)n : len - 1;
}

void rn_capture_packet_diagnostic(struct rn_capture_packet *p,
				  const struct rn_diagnostic *diagnostic)
{
	size_t at = strlen(p->comment);
	size_t sep = at > 0 ? 2 : 0;

	if (at + sep + 1 >= sizeof(p->comment))
		return;
	if (diagnostic_text(diagnostic, p->comment + at + sep,
			    sizeof(p->comment) - at - sep) &&
	    sep)
		memcpy(p->comment + at, "; ", 2);
	else if (sep)
		p->comment[at] = '\0';
}

/* ---------------------------------------------------- blocks of a capture file */
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
	/* Wireshark and other readers expect printable ASCII, so other characters are
	 * replaced.
	 */
	for (char *c = program; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (o->slot == 0) /* slot 0: rocind itself, not a device */
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
	rn_pcapng_statistics(p, interface, (uint64_t)rn_clock(CLOCK_REALTIME),
			     packets + missed, missed);
}
