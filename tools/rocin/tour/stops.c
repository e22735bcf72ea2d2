/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stops.c - the stops (steps) of `rocin tour`: their texts, settings and claims.
 *
 * The texts are for readers who know sockets; they use the terms of the specification. A
 * text about a run must be true for all values of the settings. A statement that is true
 * only for some values must be a claim, which is checked after the run.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tour.h"

/* --------------------------------------------------------------- values of settings */

void rn_tour_presets(struct rn_tour_values *v, const struct rn_tour_stop *stop)
{
	*v = (struct rn_tour_values){ .stop = stop };
	for (unsigned i = 0; i < RN_TOUR_SETTINGS_MAX && stop->setting[i].key; i++)
		snprintf(v->value[i], sizeof(v->value[i]), "%s", stop->setting[i].preset);
}

static unsigned find_setting(const struct rn_tour_stop *stop, const char *key, size_t len)
{
	unsigned i = 0;

	while (i < RN_TOUR_SETTINGS_MAX && stop->setting[i].key &&
	       (strncmp(stop->setting[i].key, key, len) != 0 ||
		stop->setting[i].key[len] != '\0'))
		i++;
	return i < RN_TOUR_SETTINGS_MAX && stop->setting[i].key ? i
								: RN_TOUR_SETTINGS_MAX;
}

static bool is_one_of(const char *words, const char *word, size_t len)
{
	while (words) {
		size_t n = strcspn(words, "|");

		if (n == len && !strncmp(words, word, n))
			return true;
		words = words[n] ? words + n + 1 : NULL;
	}
	return false;
}

static bool is_number_in(const struct rn_tour_setting *s, const char *word, size_t len)
{
	char *end;
	unsigned long n;

	if (!isdigit((unsigned char)word[0]))
		return false;
	errno = 0;
	n = strtoul(word, &end, 10);
	return !errno && end == word + len && n >= s->min && n <= s->max;
}

static int complain(const struct rn_tour_setting *s, const char *word, int len, char *err,
		    size_t err_len)
{
	if (s->words)
		snprintf(err, err_len, "%s is one of %s, not \"%.*s\"", s->key, s->words,
			 len, word);
	else
		snprintf(err, err_len,
			 "%s is a number from %" PRIu32 " to %" PRIu32 ", not \"%.*s\"",
			 s->key, s->min, s->max, len, word);
	return -EINVAL;
}

static int fail_unknown(const struct rn_tour_stop *stop, const char *word, int len,
			char *err, size_t err_len)
{
	size_t used = (size_t)snprintf(err, err_len,
				       "the stop \"%s\" has no setting \"%.*s\"; it has",
				       stop->name, len, word);

	for (unsigned i = 0; i < RN_TOUR_SETTINGS_MAX && stop->setting[i].key; i++)
		if (used < err_len)
			used += (size_t)snprintf(err + used, err_len - used, "%s %s",
						 i ? "," : "", stop->setting[i].key);
	return -EINVAL;
}

int rn_tour_set(struct rn_tour_values *v, const char *words, char *err, size_t err_len)
{
	struct rn_tour_values now = *v;

	for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
		size_t len = strcspn(words, " "), key = strcspn(words, "=");
		const char *value = words + key + 1;
		unsigned i = find_setting(v->stop, words, key);
		size_t value_len;

		if (key >= len || i == RN_TOUR_SETTINGS_MAX)
			return fail_unknown(v->stop, words, (int)len, err, err_len);
		value_len = len - key - 1;
		if (value_len >= RN_TOUR_VALUE_MAX ||
		    !(v->stop->setting[i].words
			      ? is_one_of(v->stop->setting[i].words, value, value_len)
			      : is_number_in(&v->stop->setting[i], value, value_len)))
			return complain(&v->stop->setting[i], value, (int)value_len, err,
					err_len);
		snprintf(now.value[i], sizeof(now.value[i]), "%.*s", (int)value_len,
			 value);
		now.is_changed = true;
		words += len;
	}
	*v = now;
	return 0;
}

const char *rn_tour_word(const struct rn_tour_values *v, const char *key)
{
	unsigned i = find_setting(v->stop, key, strlen(key));

	return i < RN_TOUR_SETTINGS_MAX ? v->value[i] : "";
}

uint32_t rn_tour_number(const struct rn_tour_values *v, const char *key)
{
	return (uint32_t)strtoul(rn_tour_word(v, key), NULL, 10);
}

const char *rn_tour_knobs(const struct rn_tour_values *v)
{
	static char knobs[256];
	size_t used = (size_t)snprintf(knobs, sizeof(knobs), "%s", v->stop->knobs);

	for (unsigned i = 0; i < RN_TOUR_SETTINGS_MAX && v->stop->setting[i].key; i++)
		if (v->stop->setting[i].knob && used < sizeof(knobs))
			used += (size_t)snprintf(knobs + used, sizeof(knobs) - used,
						 ",%s=%s", v->stop->setting[i].knob,
						 v->value[i]);
	return knobs;
}

/* ---------------------------------------------------------------------------- claims */
/* Adds a claim: a statement about a run. Each claim is checked against the result of the
 * run, so that the tour notices false statements. @is_so: the statement is true.
 */
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

/* ------------------------------------------------------------- claims about packets */
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

/* Returns the first acknowledgement whose AETH has this type; NULL if there is none. */
static const struct rn_tour_packet *find_syndrome(const struct rn_tour_result *r,
						  enum rn_aeth_type type)
{
	for (unsigned i = 0; i < r->packets; i++)
		if (has_syndrome(&r->packet[i], type))
			return &r->packet[i];
	return NULL;
}

/* Returns the first request that was sent again; NULL if there is none. */
static const struct rn_tour_packet *find_resent(const struct rn_tour_result *r)
{
	for (unsigned i = 0; i < r->packets; i++)
		if (r->packet[i].verdict.cause != RN_CAUSE_NONE)
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

/* --------------------------------------------------------- claims about completions */
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

/* Adds the claim that the work request of A completes with @status. */
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

/* ----------------------------------------------------- claims about memory and TLPs */
static const char *hex_of(const struct rn_tour_result *r, const char *name,
			  const char *when)
{
	for (unsigned i = 0; i < r->memories; i++)
		if (!strcmp(r->memory[i].name, name) && !strcmp(r->memory[i].when, when))
			return r->memory[i].hex;
	return "";
}

/* Adds the claim that, after the run, the buffer of @to has the bytes that the buffer of
 * @from had before it.
 */
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

/* Adds the claim that the NIC @nic has written the data to @buffer before it has written
 * @cqe, the CQE of the request.
 */
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
/* Each of the following functions adds the claims of one stop (a step of the tour). */
static void claims_of_register(struct rn_tour_checks *c)
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
	/* For SEND and for WRITE, the value of the opcode FIRST is that of ONLY minus 4.
	 */
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

static void claims_of_send(struct rn_tour_checks *c)
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

/* Adds the claims about how A's device has got the WQE: with the doorbell; or by a read,
 * which comes after the doorbell and before the read of the data.
 */
static void claim_fetched(struct rn_tour_checks *c)
{
	bool is_carried = !strcmp(rn_tour_word(c->v, "wqe"), "blueflame");
	struct rn_tour_row bell = row_of(
		c->r, "MWr", "CPU", is_carried ? "doorbell with the WQE" : "doorbell");
	struct rn_tour_row wqe = row_of(c->r, "CplD", "memory", "WQE");
	struct rn_tour_row data = row_of(c->r, "CplD", "memory", "A's buffer");

	if (is_carried)
		claim(c, bell.tlps && !wqe.tlps && bell.last <= data.first,
		      "the doorbell brought the WQE, so A's device fetched only the "
		      "data");
	else
		claim(c,
		      bell.tlps && wqe.tlps && bell.last <= wqe.first &&
			      wqe.last <= data.first,
		      "A's device fetched the WQE behind the doorbell, then the data");
}

static void claims_of_write(struct rn_tour_checks *c)
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
	claim_fetched(c);
	claim(c, data.bytes == size, "B's device wrote %" PRIu32 " bytes", data.bytes);
	if (has_imm)
		claim_received(c, "IBV_WC_RECV_RDMA_WITH_IMM", size);
	else
		claim_unaware(c);
	claim_copied(c, "A", "B");
}

static void claims_of_read(struct rn_tour_checks *c)
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

static void claims_of_atomic(struct rn_tour_checks *c)
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

static void claims_of_rnr(struct rn_tour_checks *c)
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
	claim(c, again && again->verdict.cause == RN_CAUSE_RNR,
	      "A's device sent the request again, because of it");
	claim(c, again && again->at >= timer, "at %.2f ms, when the timer had run out",
	      again ? (double)again->at / 1e6 : 0);
	claim_status(c, "IBV_WC_SUCCESS");
	claim_received(c, "IBV_WC_RECV", rn_tour_number(c->v, "size"));
}

static void claim_resent(struct rn_tour_checks *c, enum rn_watch_cause cause)
{
	const struct rn_tour_packet *again = find_resent(c->r);

	claim(c, again && again->verdict.cause == cause,
	      "A's device sent from there again: %s",
	      again ? rn_watch_cause_text(again->verdict.cause) : "it did not");
	/* The device starts the ACK timer shortly before it sends the packet. Times are
	 * counted from the beginning of the stop, which is earlier, so they are longer
	 * than the timeout.
	 */
	if (cause == RN_CAUSE_TIMEOUT)
		claim(c, again && again->at >= rn_ack_timeout_ns(15),
		      "at %.0f ms, when the timer had run out",
		      again ? (double)again->at / 1e6 : 0);
}

static void claims_of_lost(struct rn_tour_checks *c)
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

static void claims_of_gpu(struct rn_tour_checks *c)
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

/* ----------------------------------------------------------------------------- stops */
/* PCIe settings with the TLP sizes of many servers. */
#define SERVER "typical,granule=256"
/* PCIe settings with which data becomes visible only when an ordering rule forces it to,
 * so that errors show at the first attempt.
 */
#define WORST SERVER ",driver=adversarial,hold=inf,hold.polls=inf"

/* clang-format off */
#define SIZE(preset_) { .key = "size", .preset = (preset_), .min = 1, .max = 16384, \
			.help = "bytes of the message" }
#define MTU { .key = "mtu", .preset = "1024", .words = "256|512|1024|2048|4096", \
	      .help = "path MTU: bytes of the message in one packet" }
/* clang-format on */

static void lost_rule(const struct rn_tour_values *v, char *rule, size_t len)
{
	const char *lost = rn_tour_word(v, "lost");

	if (!strcmp(lost, "ack"))
		snprintf(rule, len, "drop rx dev=rocin0 op=ACK nth=1");
	else
		snprintf(rule, len, "drop rx dev=rocin1 op=%s nth=1",
			 !strcmp(lost, "last") ? "SEND_LAST" : "SEND_MIDDLE");
}

const struct rn_tour_stop rn_tour_stops[RN_TOUR_STOPS] = {
	{
		.name = "register",
		.title = "Memory registration: who may touch what",
		.what = "A socket copies what arrives into the buffer of your call. An "
			"RDMA device reads and writes your memory by itself, at any "
			"time, so you say first which memory: ibv_reg_mr() makes a "
			"memory region (MR) with two keys. Your own requests name it "
			"by the L_Key. Requests of a peer reach it by the R_Key, as "
			"far as the region's access rights go, and not a byte beyond "
			"its bounds.",
		.calls = "B registers 4096 bytes and lets others write them. A then "
			 "tries to write 64 bytes there; of such WRITEs stop 3 has "
			 "more.",
		.wire = "A asks, B answers. Registering sends nothing. A WRITE that "
			"leaves the region is refused by B's device, with a negative "
			"acknowledgement (NAK); B's program never hears of it.",
		.pcie = "Registering moves nothing either. TLPs are the packets of "
			"PCIe: MRd is a read, CplD the data that comes back, MWr a "
			"write; A's NIC is A's device. A device tells its program that "
			"work is done by writing a completion queue entry (CQE).",
		.memory = "B's memory at that offset",
		.knobs = SERVER,
		.setting = { { .key = "offset",
			       .preset = "4064",
			       .max = 8192,
			       .help = "bytes into the region" } },
		.attempt = { { .words = "offset=4032",
			       .see = "the last 64 bytes of the region: an ACK, and "
				      "the bytes are there" } },
		.check = claims_of_register,
	},
	{
		.name = "send",
		.title = "SEND: a message into a buffer that waits for it",
		.what = "A queue pair (QP) is what a socket is elsewhere: a send queue "
			"and a receive queue. Those of type RC, reliable connection, "
			"deliver messages whole, once and in order. A message goes "
			"into the oldest receive that the other end has posted. "
			"Posting hands a work request to the device and returns. A "
			"completion in the completion queue (CQ) says that it is done.",
		.calls = "An ibv_sge is address, length and L_Key of a piece of "
			 "memory. No call waits, and none copies.",
		.wire = "psn numbers packets. ackreq asks for an acknowledgement; the "
			"ACK names the last PSN that has arrived, and in msn how many "
			"messages are complete.",
		.pcie = "Each device reads and writes the memory of its own program; "
			"no processor copies a byte. A write does not overtake a write "
			"to the same memory, so who finds the CQE finds the data.",
		.memory = "The first bytes of both buffers",
		.knobs = SERVER,
		.setting = { SIZE("64"), MTU },
		.attempt = { { .words = "size=5000",
			       .see = "five packets: FIRST, MIDDLE, LAST. Who posts "
				      "sees one message all the same" },
			     { .words = "size=5000 mtu=4096",
			       .see = "two packets, one message" } },
		.check = claims_of_send,
	},
	{
		.name = "write",
		.title = "RDMA WRITE: into memory of the peer, past its program",
		.what = "A names an address of B and the R_Key for it, and B's device "
			"places the bytes there. B posts nothing, does nothing, and "
			"is told nothing.",
		.calls = "A needs B's address and R_Key. Programs exchange them before, "
			 "by a SEND or over TCP.",
		.wire = "The first packet carries the address, the R_Key and the length "
			"(dmalen).",
		.pcie = "The call writes a WQE into the send queue, in memory, and "
			"rings the doorbell: a write to a register of the device. The "
			"device fetches the WQE and then the data that it names. "
			"Addresses are translated page by page, by entries that the "
			"device has to read once. B's device writes the data, and no "
			"CQE for B, unless an immediate comes with it. B's program can "
			"look at the memory, but when it is complete it has to learn "
			"from somebody.",
		.memory = "The first bytes of both buffers",
		.knobs = SERVER ",mtt.cache=64",
		.setting = { SIZE("64"),
			     MTU,
			     { .key = "imm",
			       .preset = "no",
			       .words = "no|yes",
			       .help = "with immediate data" },
			     { .key = "wqe",
			       .preset = "fetched",
			       .words = "fetched|blueflame",
			       .knob = "nic.wqe",
			       .help = "how the WQE comes to the device" } },
		.attempt = { { .words = "imm=yes",
			       .see = "WRITE WITH IMMEDIATE takes a receive of B, and "
				      "B gets a completion" },
			     { .words = "size=3000",
			       .see = "one address, three packets" },
			     { .words = "wqe=blueflame",
			       .see = "the doorbell carries the WQE: no fetch of it" } },
		.check = claims_of_write,
	},
	{
		.name = "read",
		.title = "RDMA READ: out of memory of the peer, past its program",
		.what = "The other way round: A names an address of B and the R_Key, "
			"and B's device sends what is there. The completion is A's. "
			"B's program is not asked.",
		.calls = "The ibv_sge says where the answer goes.",
		.wire = "One request; the responses bring the data, and acknowledge it. "
			"Each response has a PSN of its own, so the request takes as "
			"many of A's PSNs as its answer has packets.",
		.pcie = "B's device reads, A's device writes, and then A's CQE.",
		.memory = "The first bytes of both buffers",
		.knobs = SERVER,
		.setting = { SIZE("3000"), MTU },
		.attempt = { { .words = "mtu=4096", .see = "one response, ONLY" },
			     { .words = "size=64", .see = "and so here" } },
		.check = claims_of_read,
	},
	{
		.name = "atomic",
		.title = "Atomics: read and change in one step",
		.what = "FETCH AND ADD adds to eight bytes of B, COMPARE AND SWAP "
			"replaces them if they are what A expects; both bring back "
			"what was there. However many ask at a time, each gets its "
			"turn. Locks and counters without a server are made of this.",
		.calls = "The address is a multiple of eight.",
		.wire = "The answer, an atomic acknowledge, carries the original value.",
		.pcie = "Most devices read and write, and let no other atomic of "
			"theirs in between. The CPU and other devices are not kept "
			"out (IBV_ATOMIC_HCA).",
		.memory = "The first eight bytes of both buffers, the lowest digits "
			  "first: 29 is 41",
		.knobs = SERVER,
		.setting = { { .key = "cswap",
			       .preset = "no",
			       .words = "no|yes",
			       .help = "COMPARE AND SWAP instead" },
			     { .key = "by",
			       .preset = "hca",
			       .words = "hca|pcie",
			       .knob = "atomic",
			       .help = "what makes it one step" } },
		.attempt = { { .words = "cswap=yes",
			       .see = "41 is expected and there: it becomes 1000" },
			     { .words = "by=pcie",
			       .see = "one AtomicOp, which the memory carries out: "
				      "atomic for everybody (pci_atomic_caps)" } },
		.check = claims_of_atomic,
	},
	{
		.name = "rnr",
		.title = "RNR: the receiver is not ready",
		.what = "A SEND comes, and B has posted no receive. A socket would "
			"buffer it. An RDMA device has no place for it: it answers "
			"with an RNR NAK that says how long to wait "
			"(min_rnr_timer), and the sender's device sends it again "
			"then, rnr_retry times; 7 means for ever.",
		.calls = "The programs notice nothing but the delay, if it ends well.",
		.wire = "The NAK is drawn with ~, what is sent again with =.",
		.pcie = "A's device reads the message once for each try. B's writes "
			"only once there is a receive.",
		.knobs = SERVER,
		.setting = { SIZE("64"),
			     { .key = "rnr_timer",
			       .preset = "20",
			       .min = 1,
			       .max = 31,
			       .help = "code of B's timer; 20 is 10.24 ms" },
			     { .key = "rnr_retry",
			       .preset = "7",
			       .words = "0|7",
			       .help = "how often A tries again" } },
		.attempt = { { .words = "rnr_timer=26", .see = "82 ms instead of 10" },
			     { .words = "rnr_retry=0",
			       .see = "no second try: the work request fails" } },
		.check = claims_of_rnr,
	},
	{
		.name = "lost",
		.title = "A lost packet: go-back-N",
		.what = "UDP loses packets, and RC has to deliver all the same. B's "
			"device takes packets in the order of their PSNs only. One "
			"that is ahead of its turn means that another is missing: a "
			"NAK names it, and A's device goes back and sends everything "
			"from there again. If nothing comes to notice it by, a timer "
			"of A's does (local ACK timeout, timeout and retry_cnt of the "
			"QP).",
		.calls = "The programs do what they always do. Here a rule loses the "
			 "packet; see rocin-fault(5).",
		.wire = "Lines without an arrow are what a device said of the packet "
			"above them.",
		.pcie = "What is sent again is read again from memory: the buffer "
			"belongs to the device until the completion.",
		.knobs = SERVER,
		.setting = { { .key = "size",
			       .preset = "3000",
			       .min = 2049,
			       .max = 16384,
			       .help = "bytes of the message" },
			     { .key = "lost",
			       .preset = "middle",
			       .words = "middle|last|ack",
			       .help = "which packet" } },
		.attempt = { { .words = "lost=last",
			       .see = "nothing comes after it, so the timer has to "
				      "notice: slow" },
			     { .words = "lost=ack",
			       .see = "B has everything; it is sent again, and taken "
				      "once" } },
		.fault = lost_rule,
		.check = claims_of_lost,
	},
	{
		.name = "gpu",
		.title = "A stale GPU buffer: complete, and not there",
		.what = "A READs into the memory of a GPU. The completion goes to host "
			"memory, the data to the GPU: two ways, and nothing orders "
			"them. So a program can have the completion while the data is "
			"still on its way, and a kernel that runs on the GPU reads "
			"what was there before. On hardware that happens once a "
			"month; here each time.",
		.calls = "A flush makes it right: cuFlushGPUDirectRDMAWrites() on "
			 "hardware.",
		.wire = "The wire knows nothing of it.",
		.pcie = "Of a write the time says when the GPU's kernels can see it. "
			"The CQE is earlier.",
		.memory = "The buffer, as each of the two kernels read it",
		.knobs = WORST,
		.setting = { { .key = "flush",
			       .preset = "no",
			       .words = "no|yes",
			       .help = "flush before the first kernel is told" },
			     { .key = "ordering",
			       .preset = "none",
			       .words = "none|owner|all",
			       .knob = "gpu.ordering",
			       .help = "what the GPU itself promises" } },
		.attempt = { { .words = "flush=yes",
			       .see = "the first kernel has all of the data" },
			     { .words = "ordering=owner",
			       .see = "a GPU that orders what peers write: the kernel's "
				      "read of the flag pushes the data" },
			     { .command = "example read-completion",
			       .see = "this as a program of one page; there are nine "
				      "more" } },
		.check = claims_of_gpu,
	},
};
