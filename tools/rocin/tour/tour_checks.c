/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour_checks.c - what the stops claim, held against what happened: no word of a page is
 * believed because it was written.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "tour.h"

static void claim(struct rn_tour_checks *c, bool is_so, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void claim(struct rn_tour_checks *c, bool is_so, const char *fmt, ...)
{
	va_list ap;

	if (c->count == RN_TOUR_CLAIMS_MAX)
		return;
	c->claim[c->count].is_so = is_so;
	va_start(ap, fmt);
	vsnprintf(c->claim[c->count].text, RN_TOUR_CLAIM_MAX, fmt, ap);
	va_end(ap);
	c->count++;
}

/* ---------------------------------------------------------------------- packets */
static unsigned count_op(const struct rn_tour_result *r, enum rn_tour_end from,
			 uint8_t opcode)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->packets; i++)
		n += r->packet[i].from == from && r->packet[i].p.bth.opcode == opcode;
	return n;
}

static unsigned count_from(const struct rn_tour_result *r, enum rn_tour_end from)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->packets; i++)
		n += r->packet[i].from == from;
	return n;
}

static bool has_syndrome(const struct rn_tour_packet *p, enum rn_aeth_type type)
{
	return p->p.op->flags & RN_OP_AETH && rn_aeth_type(p->p.aeth.syndrome) == type;
}

/* The first acknowledgement of this type, or NULL. */
static const struct rn_tour_packet *find_syndrome(const struct rn_tour_result *r,
						  enum rn_aeth_type type)
{
	for (unsigned i = 0; i < r->packets; i++)
		if (has_syndrome(&r->packet[i], type))
			return &r->packet[i];
	return NULL;
}

/* The first request that was sent again, or NULL. */
static const struct rn_tour_packet *find_resent(const struct rn_tour_result *r)
{
	for (unsigned i = 0; i < r->packets; i++)
		if (r->packet[i].remark.cause != RN_CAUSE_NONE)
			return &r->packet[i];
	return NULL;
}

static unsigned count_said(const struct rn_tour_result *r, const char *words)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->packets; i++)
		n += strstr(r->packet[i].receiver, words) != NULL;
	return n;
}

static unsigned packets_of(const struct rn_tour_checks *c)
{
	uint32_t mtu = rn_tour_number(c->v, "mtu"), size = rn_tour_number(c->v, "size");

	if (mtu == 0)
		mtu = 1024;
	return size <= mtu ? 1 : (size + mtu - 1) / mtu;
}

/* ------------------------------------------------------------------ completions */
static const struct rn_tour_wc *find_wc(const struct rn_tour_result *r,
					enum rn_tour_end end)
{
	for (unsigned i = 0; i < r->wcs; i++)
		if (r->wc[i].end == end)
			return &r->wc[i];
	return NULL;
}

static unsigned count_wcs(const struct rn_tour_result *r, enum rn_tour_end end)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->wcs; i++)
		n += r->wc[i].end == end;
	return n;
}

/* The work request of A ends so. */
static void claim_status(struct rn_tour_checks *c, const char *status)
{
	const struct rn_tour_wc *wc = find_wc(c->r, RN_TOUR_A);

	claim(c, wc && !strcmp(wc->status, status), "A's completion: %s",
	      wc ? wc->status : "none");
}

static void claim_received(struct rn_tour_checks *c, const char *opcode, uint32_t bytes)
{
	const struct rn_tour_wc *wc = find_wc(c->r, RN_TOUR_B);

	claim(c,
	      count_wcs(c->r, RN_TOUR_B) == 1 && !strcmp(wc->status, "IBV_WC_SUCCESS") &&
		      !strcmp(wc->opcode, opcode) && wc->bytes == bytes,
	      "B's completion: %s, %" PRIu32 " bytes", wc ? wc->opcode : "none",
	      wc ? wc->bytes : 0);
}

static void claim_unaware(struct rn_tour_checks *c)
{
	claim(c, count_wcs(c->r, RN_TOUR_B) == 0 && rn_tour_value(c->r, "B_left") == 0,
	      "B's completion queue is empty: its program was told nothing");
}

/* ------------------------------------------------------------- memory and PCIe */
static const char *hex_of(const struct rn_tour_result *r, const char *name,
			  const char *when)
{
	for (unsigned i = 0; i < r->memories; i++)
		if (!strcmp(r->memory[i].name, name) && !strcmp(r->memory[i].when, when))
			return r->memory[i].hex;
	return "";
}

/* What was at @from before is at @to now. */
static void claim_copied(struct rn_tour_checks *c, const char *from, const char *to)
{
	const char *is = hex_of(c->r, to, "after");

	claim(c, *is && !strcmp(is, hex_of(c->r, from, "before")),
	      "%s's buffer holds now what %s's held", to, from);
}

static struct rn_tour_row row_of(const struct rn_tour_result *r, const char *kind,
				 const char *from, const char *what)
{
	struct rn_tour_row row[RN_TOUR_ROWS_MAX];
	unsigned rows = rn_tour_rows(r, row);

	for (unsigned i = 0; i < rows; i++)
		if (!strcmp(row[i].kind, kind) && !strcmp(row[i].from, from) &&
		    !strcmp(row[i].what, what))
			return row[i];
	return (struct rn_tour_row){ 0 };
}

/* Written by @nic before the CQE that tells of it. */
static void claim_behind(struct rn_tour_checks *c, const char *nic, const char *buffer,
			 const char *cqe)
{
	struct rn_tour_row data = row_of(c->r, "MWr", nic, buffer);
	struct rn_tour_row entry = row_of(c->r, "MWr", nic, cqe);

	claim(c, data.tlps && entry.tlps && data.last <= entry.first,
	      "the %s was written behind %" PRIu32 " bytes of data, by %s", cqe,
	      data.bytes, nic);
}

/* ------------------------------------------------------------------------ stops */
void rn_tour_check_register(struct rn_tour_checks *c)
{
	const struct rn_tour_result *r = c->r;
	uint64_t registered = rn_tour_value(r, "registered");
	const struct rn_tour_packet *nak = find_syndrome(r, RN_AETH_NAK);
	struct rn_tour_row data = row_of(r, "MWr", "B's NIC", "B's buffer");
	uint64_t end = rn_tour_number(c->v, "offset") + 64;
	uint64_t outside =
		end <= rn_tour_value(r, "length") ? 0 : end - rn_tour_value(r, "length");

	claim(c,
	      registered && r->packets &&
		      r->packet[0].at + (rn_ns)r->begin_real >= (rn_ns)registered,
	      "registering %" PRIu64 " bytes sent no packet", rn_tour_value(r, "length"));
	claim(c, registered && rn_tour_value(r, "registering_tlps") == 0,
	      "nor did it move anything over PCIe");
	claim(c, count_op(r, RN_TOUR_A, RN_RC_WRITE_ONLY) == 1,
	      "A sent one WRITE of 64 bytes, %" PRIu64 " of them outside",
	      outside < 64 ? outside : 64);
	if (!outside) {
		claim(c, !nak && find_syndrome(r, RN_AETH_ACK),
		      "B's device took it: ACK");
		claim(c, data.bytes == 64, "and wrote %" PRIu32 " bytes", data.bytes);
		claim_status(c, "IBV_WC_SUCCESS");
		return;
	}
	claim(c, nak && rn_aeth_value(nak->p.aeth.syndrome) == RN_NAK_REMOTE_ACCESS,
	      "B's device refused it: NAK, remote access error");
	claim(c,
	      data.tlps == 0 &&
		      !strcmp(hex_of(r, "B", "before"), hex_of(r, "B", "after")),
	      "and wrote nothing: B's memory is as it was");
	claim_status(c, "IBV_WC_REM_ACCESS_ERR");
}

static void claim_message(struct rn_tour_checks *c, uint8_t only, const char *verb)
{
	unsigned packets = packets_of(c);
	/* FIRST and LAST are as far from ONLY for SEND as for WRITE. */
	uint8_t first = (uint8_t)(only - 4);

	if (packets == 1) {
		claim(c, count_op(c->r, RN_TOUR_A, only) == 1, "A sent one packet, %s",
		      verb);
		return;
	}
	claim(c,
	      count_from(c->r, RN_TOUR_A) == packets &&
		      count_op(c->r, RN_TOUR_A, first) == 1 &&
		      count_op(c->r, RN_TOUR_A, (uint8_t)(first + 1)) == packets - 2,
	      packets == 2 ? "A sent %u packets: FIRST, LAST"
			   : "A sent %u packets: FIRST, %u MIDDLE, LAST",
	      packets, packets - 2);
}

static void claim_acknowledged(struct rn_tour_checks *c)
{
	claim(c,
	      count_op(c->r, RN_TOUR_B, RN_RC_ACK) >= 1 &&
		      !find_syndrome(c->r, RN_AETH_NAK) && !find_resent(c->r),
	      "B's device acknowledged, and nothing was sent twice");
}

void rn_tour_check_send(struct rn_tour_checks *c)
{
	uint32_t size = rn_tour_number(c->v, "size");
	struct rn_tour_row read = row_of(c->r, "CplD", "memory", "A's buffer");

	claim_message(c, RN_RC_SEND_ONLY, "SEND_ONLY");
	claim_acknowledged(c);
	claim_status(c, "IBV_WC_SUCCESS");
	claim_received(c, "IBV_WC_RECV", size);
	claim(c, read.bytes == size, "A's device fetched %" PRIu32 " bytes over PCIe",
	      read.bytes);
	claim_behind(c, "B's NIC", "B's buffer", "CQE of B");
	claim_copied(c, "A", "B");
}

void rn_tour_check_write(struct rn_tour_checks *c)
{
	struct rn_tour_row data = row_of(c->r, "MWr", "B's NIC", "B's buffer");
	uint32_t size = rn_tour_number(c->v, "size");
	bool has_imm = !strcmp(rn_tour_word(c->v, "imm"), "yes");

	if (has_imm && packets_of(c) == 1)
		claim(c, count_op(c->r, RN_TOUR_A, RN_RC_WRITE_ONLY_IMM) == 1,
		      "A sent one packet, WRITE_ONLY_IMM");
	else if (has_imm)
		claim(c, count_op(c->r, RN_TOUR_A, RN_RC_WRITE_LAST_IMM) == 1,
		      "A sent %u packets, the last with the immediate",
		      count_from(c->r, RN_TOUR_A));
	else
		claim_message(c, RN_RC_WRITE_ONLY, "WRITE_ONLY");
	claim_acknowledged(c);
	claim_status(c, "IBV_WC_SUCCESS");
	claim(c, data.bytes == size, "B's device wrote %" PRIu32 " bytes", data.bytes);
	if (has_imm)
		claim_received(c, "IBV_WC_RECV_RDMA_WITH_IMM", size);
	else
		claim_unaware(c);
	claim_copied(c, "A", "B");
}

void rn_tour_check_read(struct rn_tour_checks *c)
{
	struct rn_tour_row from = row_of(c->r, "CplD", "memory", "B's buffer");
	uint32_t size = rn_tour_number(c->v, "size");
	unsigned responses = packets_of(c);

	claim(c,
	      count_op(c->r, RN_TOUR_A, RN_RC_READ_REQUEST) == 1 &&
		      count_from(c->r, RN_TOUR_A) == 1,
	      "A sent one packet, READ_REQUEST");
	claim(c, count_from(c->r, RN_TOUR_B) == responses,
	      "B's device answered with %u packet%s, no ACK besides",
	      count_from(c->r, RN_TOUR_B), responses > 1 ? "s" : "");
	claim(c, from.bytes == size, "and fetched %" PRIu32 " bytes over PCIe",
	      from.bytes);
	claim_status(c, "IBV_WC_SUCCESS");
	claim_behind(c, "A's NIC", "A's buffer", "CQE of A");
	claim_unaware(c);
	claim_copied(c, "B", "A");
}

void rn_tour_check_atomic(struct rn_tour_checks *c)
{
	bool is_swap = !strcmp(rn_tour_word(c->v, "cswap"), "yes");
	bool by_pcie = !strcmp(rn_tour_word(c->v, "by"), "pcie");
	uint64_t after = rn_tour_value(c->r, "counter_after");
	uint64_t found = rn_tour_value(c->r, "found");
	struct rn_tour_row op = row_of(c->r, "AtomicOp", "B's NIC", "B's buffer");
	struct rn_tour_row read = row_of(c->r, "MRd", "B's NIC", "B's buffer");
	struct rn_tour_row write = row_of(c->r, "MWr", "B's NIC", "B's buffer");

	claim(c,
	      count_op(c->r, RN_TOUR_A, is_swap ? RN_RC_CMP_SWAP : RN_RC_FETCH_ADD) == 1,
	      "A sent one packet, %s", is_swap ? "CMP_SWAP" : "FETCH_ADD");
	claim(c, count_op(c->r, RN_TOUR_B, RN_RC_ATOMIC_ACK) == 1,
	      "B's device answered with an ATOMIC_ACK");
	claim(c, after == (is_swap ? 1000 : 42), "B's counter: 41, now %" PRIu64, after);
	claim(c, found == 41, "A was told what it found: %" PRIu64, found);
	if (by_pcie)
		claim(c, op.tlps == 1 && !read.tlps && !write.tlps,
		      "over PCIe it was one AtomicOp");
	else
		claim(c, !op.tlps && read.tlps == 1 && write.tlps == 1,
		      "over PCIe it was a read, and a write behind it");
	claim_status(c, "IBV_WC_SUCCESS");
}

void rn_tour_check_rnr(struct rn_tour_checks *c)
{
	uint8_t code = (uint8_t)rn_tour_number(c->v, "rnr_timer");
	rn_ns timer = rn_rnr_timer_ns(code);
	const struct rn_tour_packet *nak = find_syndrome(c->r, RN_AETH_RNR);
	const struct rn_tour_packet *again = find_resent(c->r);

	claim(c, nak && rn_aeth_value(nak->p.aeth.syndrome) == code,
	      "B's device answered with an RNR NAK, timer code %u: %.2f ms", code,
	      (double)timer / 1e6);
	if (rn_tour_number(c->v, "rnr_retry") == 0) {
		claim(c, !again, "A sent nothing again");
		claim_status(c, "IBV_WC_RNR_RETRY_EXC_ERR");
		claim(c, count_wcs(c->r, RN_TOUR_B) == 0, "B has no completion");
		return;
	}
	claim(c, again && again->remark.cause == RN_CAUSE_RNR,
	      "A's device sent the request again, because of it");
	claim(c, again && again->at >= timer, "at %.2f ms, when the timer had run out",
	      again ? (double)again->at / 1e6 : 0);
	claim_status(c, "IBV_WC_SUCCESS");
	claim_received(c, "IBV_WC_RECV", rn_tour_number(c->v, "size"));
}

static void claim_resent(struct rn_tour_checks *c, enum rn_watch_cause cause)
{
	const struct rn_tour_packet *again = find_resent(c->r);

	claim(c, again && again->remark.cause == cause,
	      "A's device sent from there again: %s",
	      again ? rn_watch_cause_text(again->remark.cause) : "it did not");
	/* A timer begins a little before its packet is on the wire, not before the stop.
	 */
	if (cause == RN_CAUSE_TIMEOUT)
		claim(c, again && again->at >= rn_ack_timeout_ns(15),
		      "at %.0f ms, when the timer had run out",
		      again ? (double)again->at / 1e6 : 0);
}

void rn_tour_check_lost(struct rn_tour_checks *c)
{
	const char *lost = rn_tour_word(c->v, "lost");
	const struct rn_tour_packet *nak = find_syndrome(c->r, RN_AETH_NAK);
	unsigned dropped = count_said(c->r, "dropped on purpose");

	claim(c, dropped == 1, "%u packet was dropped on its way", dropped);
	if (!strcmp(lost, "middle")) {
		claim(c, nak && rn_aeth_value(nak->p.aeth.syndrome) == RN_NAK_PSN_SEQ,
		      "B's device missed it: NAK, PSN sequence error");
		claim_resent(c, RN_CAUSE_NAK);
	} else {
		claim(c, !nak, "nobody missed it: there was no NAK");
		claim_resent(c, RN_CAUSE_TIMEOUT);
	}
	if (!strcmp(lost, "ack"))
		claim(c, count_said(c->r, "duplicate") > 0,
		      "B's device knew them, and acknowledged again");
	claim_status(c, "IBV_WC_SUCCESS");
	claim_received(c, "IBV_WC_RECV", rn_tour_number(c->v, "size"));
	claim(c,
	      rn_tour_value(c->r, "message_right") == 1 &&
		      rn_tour_value(c->r, "B_left") == 0,
	      "B has the message, right and once");
}

void rn_tour_check_gpu(struct rn_tour_checks *c)
{
	bool is_flushed = !strcmp(rn_tour_word(c->v, "flush"), "yes");
	bool is_pushed = strcmp(rn_tour_word(c->v, "ordering"), "none") != 0;
	uint64_t pending = rn_tour_value(c->r, "pending");
	uint64_t first = rn_tour_value(c->r, "first_count");
	uint64_t second = rn_tour_value(c->r, "second_count");
	struct rn_tour_row data = row_of(c->r, "MWr", "A's NIC", "GPU memory");
	struct rn_tour_row entry = row_of(c->r, "MWr", "A's NIC", "CQE of A");

	claim_status(c, "IBV_WC_SUCCESS");
	claim(c, pending > 0, "then %" PRIu64 " of 4096 bytes were still on their way",
	      pending);
	claim(c, entry.tlps && entry.last < data.last,
	      "the CQE overtook the data: another memory, another way");
	if (is_flushed || is_pushed)
		claim(c, first == 4096,
		      "the first kernel read %" PRIu64 " new bytes of 4096: %s", first,
		      is_flushed ? "flushed" : "its flag pushed the data");
	else
		claim(c, first < 4096,
		      "the first kernel read %" PRIu64 " new bytes of 4096: stale",
		      first);
	claim(c, second == 4096, "after a flush the second one read %" PRIu64 " of 4096",
	      second);
}

bool rn_tour_check(struct rn_tour_checks *c, const struct rn_tour_values *v,
		   const struct rn_tour_result *r)
{
	*c = (struct rn_tour_checks){ .v = v, .r = r };
	v->stop->check(c);
	for (unsigned i = 0; i < c->count; i++)
		if (!c->claim[i].is_so)
			return false;
	return true;
}
