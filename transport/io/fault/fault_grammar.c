/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_grammar.c - the words of the rules, as tables, and what each does to a rule. */
#include "fault_grammar.h"

#include <string.h>

#include "fault_words.h"

/* --------------------------------------------------------------------- conditions */
static bool read_small(const struct rn_fault_piece *p, uint64_t min, uint64_t max,
		       uint64_t *value)
{
	return rn_fault_number(p->value, p->value_len, value) && *value >= min &&
	       *value <= max;
}

static bool read_name(const struct rn_fault_piece *p, char *name, size_t size)
{
	if (p->value_len == 0 || p->value_len >= size)
		return false;
	memcpy(name, p->value, p->value_len);
	name[p->value_len] = '\0';
	return true;
}

static bool read_tx(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	(void)p;
	return r->in_dir[RN_FAULT_TX] = true;
}

static bool read_rx(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	(void)p;
	return r->in_dir[RN_FAULT_RX] = true;
}

static bool read_dev(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return read_name(p, r->dev, sizeof(r->dev));
}

static bool read_program(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return read_name(p, r->program, sizeof(r->program));
}

static bool read_pid(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	uint64_t value;

	if (!read_small(p, 1, INT32_MAX, &value))
		return false;
	r->pid = (int32_t)value;
	return true;
}

static bool read_qpn(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	uint64_t value;

	if (!read_small(p, 1, 0xffffff, &value))
		return false;
	r->qpn = (uint32_t)value;
	return true;
}

static bool read_qp(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	uint64_t value;

	if (!read_small(p, 1, 65535, &value))
		return false;
	r->qp = (uint32_t)value;
	return true;
}

static bool read_op(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return rn_fault_ops(p->value, p->value_len, r->ops);
}

static bool read_mad(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return rn_fault_mads(p->value, p->value_len, &r->mads);
}

static bool read_psn(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	uint64_t first, last;

	if (!rn_fault_range(p->value, p->value_len, &first, &last) || first > 0xffffff ||
	    last > 0xffffff)
		return false;
	r->has_psn = true;
	r->psn_first = (uint32_t)first;
	r->psn_last = (uint32_t)last;
	return true;
}

static bool read_nth(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return rn_fault_range(p->value, p->value_len, &r->nth, &r->nth_last) &&
	       r->nth >= 1 && r->nth_last >= r->nth;
}

static bool read_every(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return read_small(p, 1, INT64_MAX, &r->every);
}

static bool read_count(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return read_small(p, 1, INT64_MAX, &r->count);
}

static bool read_chance(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	uint64_t ppm;

	if (!rn_fault_percent(p->value, p->value_len, &ppm))
		return false;
	r->chance = (uint32_t)ppm;
	return true;
}

static bool read_call(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	for (r->call = 0; r->call < rn_fault_call_count; r->call++)
		if (strlen(rn_fault_calls[r->call]) == p->value_len &&
		    memcmp(rn_fault_calls[r->call], p->value, p->value_len) == 0)
			return true;
	return false;
}

static bool read_at(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	bool from_end = p->value_len > 0 && *p->value == '-';
	uint64_t value;

	if (!rn_fault_number(p->value + from_end, p->value_len - from_end, &value) ||
	    value > 65535 || (from_end && value == 0))
		return false;
	r->has_at = true;
	r->at = from_end ? -(int32_t)value : (int32_t)value;
	return true;
}

static bool read_xor(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	uint64_t value;

	if (!read_small(p, 1, 255, &value))
		return false;
	r->flip = (uint8_t)value;
	return true;
}

static bool read_icrc(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	if (p->value_len == 4 && memcmp(p->value, "good", 4) == 0)
		r->good_icrc = true;
	else if (p->value_len == 3 && memcmp(p->value, "bad", 3) == 0)
		r->good_icrc = false;
	else
		return false;
	return true;
}

#define ALL ((1u << RN_FAULT_ACTS) - 1)
#define ON_PACKETS (ALL & ~(1u << RN_FAULT_FAIL))

/* clang-format off */
const struct rn_fault_word rn_fault_words[] = {
	{ "tx",      read_tx,      ON_PACKETS, true,  NULL },
	{ "rx",      read_rx,      ON_PACKETS, true,  NULL },
	{ "dev",     read_dev,     ALL,        false, "the name of a device, such as dev=rocin0" },
	{ "program", read_program, ALL,        false, "a program's name of at most 15 bytes, such as program=ib_send_bw" },
	{ "pid",     read_pid,     ALL,        false, "a process number, such as pid=1234" },
	{ "qpn",     read_qpn,     ON_PACKETS, true,  "the number of a local QP, such as qpn=0x000103" },
	{ "qp",      read_qp,      ON_PACKETS, true,  "qp=K for the K-th QP of a process, from 1 to 65535" },
	{ "op",      read_op,      ON_PACKETS, true,  "opcodes, such as op=RC_SEND_ONLY, op=WRITE_*, op=request or op=0x04" },
	{ "mad",     read_mad,     ON_PACKETS, true,  "messages of the connection manager, such as mad=REQ or mad=SIDR_*" },
	{ "psn",     read_psn,     ON_PACKETS, true,  "a PSN or a range of them, such as psn=7 or psn=0x10..0x1f" },
	{ "nth",     read_nth,     ALL,        true,  "a number from 1 or a range, such as nth=3 or nth=3..5" },
	{ "every",   read_every,   ALL,        true,  "every=K for one of K, from 1" },
	{ "chance",  read_chance,  ALL,        true,  "a percentage with at most four decimals, such as chance=0.5%" },
	{ "count",   read_count,   ALL,        true,  "how many to hit at most, from 1" },
	{ "call",    read_call,    1u << RN_FAULT_FAIL, true, "a verbs call, such as call=create_qp; rocin-fault(5) lists them" },
	{ "at",      read_at,      1u << RN_FAULT_CORRUPT, false, "a byte counted from the BTH on, or from the end as at=-1" },
	{ "xor",     read_xor,     1u << RN_FAULT_CORRUPT, false, "a number from 1 to 255" },
	{ "icrc",    read_icrc,    1u << RN_FAULT_CORRUPT | 1u << RN_FAULT_SET, false, "icrc=good or icrc=bad" },
};
/* clang-format on */

/* ------------------------------------------------------------------------ actions */
static bool act_plain(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	(void)r;
	return !p->value;
}

static bool act_copies(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	uint64_t value = 1;

	if (p->value && !read_small(p, 1, 16, &value))
		return false;
	r->copies = (uint32_t)value;
	return true;
}

static bool act_time(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return p->value && rn_fault_time(p->value, p->value_len, &r->time);
}

static bool act_places(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	uint64_t value = 1;

	if (p->value && !read_small(p, 1, 1000, &value))
		return false;
	r->places = (uint32_t)value;
	return true;
}

static bool act_nak(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return p->value && rn_fault_syndrome(p->value, p->value_len, &r->syndrome);
}

static bool act_queue(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	r->of_send_cq = p->value && p->value_len == 4 && !memcmp(p->value, "send", 4);
	return r->of_send_cq ||
	       (p->value && p->value_len == 4 && !memcmp(p->value, "recv", 4));
}

static bool act_cut(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return !p->value || rn_fault_time(p->value, p->value_len, &r->time);
}

static bool act_fail(struct rn_fault_rule *r, const struct rn_fault_piece *p)
{
	return p->value && rn_fault_errno(p->value, p->value_len, &r->error);
}

/* clang-format off */
const struct rn_fault_action rn_fault_actions[] = {
	{ "drop",      act_plain,  RN_FAULT_DROP,      "drop without a value; chance=1% says how often" },
	{ "duplicate", act_copies, RN_FAULT_DUPLICATE, "duplicate, or duplicate=N for N more, up to 16" },
	{ "delay",     act_time,   RN_FAULT_DELAY,     "a time, such as delay=500us, delay=2ms or delay=1.5s" },
	{ "reorder",   act_places, RN_FAULT_REORDER,   "reorder, or reorder=N for N places, up to 1000" },
	{ "corrupt",   act_plain,  RN_FAULT_CORRUPT,   "corrupt without a value; at=, xor= and icrc= say what" },
	{ "mark",      act_plain,  RN_FAULT_MARK,      "mark without a value" },
	{ "set",       act_plain,  RN_FAULT_SET,       "set and then fields, such as bth.psn=7" },
	{ "nak",       act_nak,    RN_FAULT_NAK,       "nak=seq, nak=invalid, nak=access, nak=operation, nak=rnr or nak=rnr:CODE" },
	{ "norecv",    act_plain,  RN_FAULT_NAK,       "norecv without a value" },
	{ "kill",      act_plain,  RN_FAULT_KILL,      "kill without a value" },
	{ "overrun",   act_queue,  RN_FAULT_OVERRUN,   "overrun=send or overrun=recv" },
	{ "cut",       act_cut,    RN_FAULT_CUT,       "cut, or a time, such as cut=2s" },
	{ "fail",      act_fail,   RN_FAULT_FAIL,      "an error number, such as fail=ENOMEM" },
};
/* clang-format on */

const unsigned rn_fault_word_count = RN_ARRAY_SIZE(rn_fault_words);
const unsigned rn_fault_action_count = RN_ARRAY_SIZE(rn_fault_actions);
