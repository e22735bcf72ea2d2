/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_text.c - reads the language of fault rules (rocin-fault(5)). A rule is an action
 * and then conditions; each is a word or NAME=VALUE.
 *
 * Tables list the words and actions, with the functions that read them. Instead of rules,
 * a user may also give a file or the short form (fault_spec.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fault_rules.h"
#include "rocin/hash.h"
#include "rocin/mad.h"
#include "rocin/opcode.h"
#include "rocin/token.h"
#include "rocin/wire.h"
#include "transport/io/host/log.h"

/* One item of a rule: NAME or NAME=VALUE. */
struct piece {
	const char *name, *value; /* @value is NULL if the item has no "=" */
	size_t name_len, value_len;
};

/* A word of the language: a condition, or a detail of an action. */
struct word {
	const char *name;
	bool (*read)(struct rn_fault_rule *r, const struct piece *p);
	uint32_t acts; /* bit set of the actions for which the word is allowed */
	/* true: a condition on packets; false: a condition on devices or processes */
	bool of_packet;
	/* the allowed values in words, for error messages; NULL: the word has no value */
	const char *expected;
};

struct action {
	const char *name;
	bool (*read)(struct rn_fault_rule *r, const struct piece *p);
	enum rn_fault_act act;
	const char *expected;
};

/* ----------------------------------------------------------------- tables of names */
/* clang-format off */
/* The fields that a rule can rewrite, ended by an empty row. Source: IBTA Vol 1, 9.2 to
 * 9.3, A14, A19.
 */
static const struct rn_fault_field fields[] = {
	/* name            header               byte len shift bits */
	{ "bth.opcode",    0,                    0,  1,  0,  8 },
	{ "bth.se",        0,                    1,  1,  7,  1 },
	{ "bth.m",         0,                    1,  1,  6,  1 },
	{ "bth.pad",       0,                    1,  1,  4,  2 },
	{ "bth.tver",      0,                    1,  1,  0,  4 },
	{ "bth.pkey",      0,                    2,  2,  0, 16 },
	{ "bth.fecn",      0,                    4,  1,  7,  1 },
	{ "bth.becn",      0,                    4,  1,  6,  1 },
	{ "bth.dqpn",      0,                    5,  3,  0, 24 },
	{ "bth.a",         0,                    8,  1,  7,  1 },
	{ "bth.psn",       0,                    9,  3,  0, 24 },
	{ "deth.qkey",     RN_OP_DETH,           0,  4,  0, 32 },
	{ "deth.sqpn",     RN_OP_DETH,           5,  3,  0, 24 },
	{ "xrceth.srqn",   RN_OP_XRCETH,         1,  3,  0, 24 },
	{ "reth.va",       RN_OP_RETH,           0,  8,  0, 64 },
	{ "reth.rkey",     RN_OP_RETH,           8,  4,  0, 32 },
	{ "reth.len",      RN_OP_RETH,          12,  4,  0, 32 },
	{ "atomic.va",     RN_OP_ATOMIC_ETH,     0,  8,  0, 64 },
	{ "atomic.rkey",   RN_OP_ATOMIC_ETH,     8,  4,  0, 32 },
	{ "atomic.swap",   RN_OP_ATOMIC_ETH,    12,  8,  0, 64 },
	{ "atomic.compare", RN_OP_ATOMIC_ETH,   20,  8,  0, 64 },
	{ "aeth.syndrome", RN_OP_AETH,           0,  1,  0,  8 },
	{ "aeth.msn",      RN_OP_AETH,           1,  3,  0, 24 },
	{ "atomicack.orig", RN_OP_ATOMIC_ACK_ETH, 0, 8,  0, 64 },
	{ "immdt.data",    RN_OP_IMM,            0,  4,  0, 32 },
	{ "ieth.rkey",     RN_OP_IETH,           0,  4,  0, 32 },
	{ 0 },
};
/* clang-format on */

const char *const rn_fault_calls[] = {
	"alloc_pd",	 "reg_mr",    "create_cq", "create_srq", "create_qp",
	"create_ah",	 "modify_qp", "post_send", "post_recv",	 "post_srq_recv",
	"req_notify_cq", "alloc_mw",  "resize_cq", "modify_srq",
};
const unsigned rn_fault_call_count = RN_ARRAY_SIZE(rn_fault_calls);

enum {
	ERRNO_MAX = 4095,
};

/* ----------------------------------------------------------- numbers and ranges */
/* Read a decimal number, or 0x and up to 16 hexadecimal digits. */
static bool read_number(const char *s, size_t len, uint64_t *value)
{
	if (len < 2 || s[0] != '0' || s[1] != 'x')
		return rn_fault_decimal(s, len, value);
	return len <= 18 &&
	       rn_token_digits((struct rn_token){ s + 2, len - 2 }, 16, value);
}

/* Read a range "FIRST..LAST", or one number, which is then both. */
static bool read_range(const char *s, size_t len, uint64_t *first, uint64_t *last)
{
	const char *dots = memmem(s, len, "..", 2);
	uint64_t a, b;

	if (!dots) {
		if (!read_number(s, len, &a))
			return false;
		*first = *last = a;
		return true;
	}
	if (!read_number(s, (size_t)(dots - s), &a) ||
	    !read_number(dots + 2, len - (size_t)(dots - s) - 2, &b))
		return false;
	*first = a;
	*last = b;
	return true;
}

/* ------------------------------------------------------------- names of opcodes */
static bool is_same_letter(char c, char upper)
{
	return c == upper || (upper >= 'A' && upper <= 'Z' && c == upper - 'A' + 'a');
}

/* Return: true if the pattern of @len bytes at @s matches the whole of @name. "*" stands
 * for any text. If the part of the pattern behind a star does not fit, the last star is
 * made to cover one character more, and the part is tried again.
 */
static bool is_like(const char *s, size_t len, const char *name)
{
	const char *end = s + len, *star = NULL, *from = NULL;

	while (*name) {
		if (s < end && *s == '*') {
			star = ++s;
			from = name;
		} else if (s < end && is_same_letter(*s, *name)) {
			s++;
			name++;
		} else if (star) {
			s = star;
			name = ++from;
		} else {
			return false;
		}
	}
	while (s < end && *s == '*')
		s++;
	return s == end;
}

static bool is_opcode_meant(const char *s, size_t len, unsigned opcode)
{
	const struct rn_opcode_info *info = &rn_opcode_info[opcode];
	uint64_t number;

	if (read_number(s, len, &number))
		return number == opcode;
	if (!info->name)
		return false;
	if (rn_fault_is_word(s, len, "request"))
		return (info->flags & RN_OP_REQUEST) != 0;
	if (rn_fault_is_word(s, len, "response"))
		return (info->flags & RN_OP_RESPONSE) != 0;
	return is_like(s, len, info->name) ||
	       (strchr(info->name, '_') && is_like(s, len, strchr(info->name, '_') + 1));
}

static bool add_ops(const char *s, size_t len, uint64_t *ops)
{
	bool found = false;

	for (unsigned i = 0; i < RN_FAULT_OPS; i++) {
		if (!is_opcode_meant(s, len, i))
			continue;
		ops[i / 64] |= 1ull << i % 64;
		found = true;
	}
	return found;
}

/* Read a list of opcodes, separated by commas. Each is a name, which may contain "*" and
 * may omit the transport; a number; or "request" or "response", which stand for many.
 * @ops: out: bit set.
 */
static bool read_opcodes(const char *s, size_t len, uint64_t ops[RN_FAULT_OPS / 64])
{
	uint64_t found[RN_FAULT_OPS / 64] = { 0 };

	for (;;) {
		const char *comma = memchr(s, ',', len);
		size_t part = comma ? (size_t)(comma - s) : len;

		if (!add_ops(s, part, found))
			return false;
		if (!comma)
			break;
		s += part + 1;
		len -= part + 1;
	}
	memcpy(ops, found, sizeof(found));
	return true;
}

/* --------------------------------------------------------- names of CM messages */
static uint16_t like_mads(const char *s, size_t len)
{
	uint16_t found = 0;

	for (unsigned i = RN_CM_REQ; i <= RN_CM_APR; i++)
		if (is_like(s, len, rn_cm_msg_name((uint16_t)i)))
			found |= (uint16_t)(1u << (i - RN_CM_REQ));
	return found;
}

/* Read a list of names of CM messages, separated by commas; a name may contain "*".
 * @mads: out: bit set; the bit of a message is its attribute ID - RN_CM_REQ.
 */
static bool read_mad_names(const char *s, size_t len, uint16_t *mads)
{
	uint16_t found = 0, some;

	for (;;) {
		const char *comma = memchr(s, ',', len);
		size_t part = comma ? (size_t)(comma - s) : len;

		some = like_mads(s, part);
		if (!some)
			return false;
		found |= some;
		if (!comma)
			break;
		s += part + 1;
		len -= part + 1;
	}
	*mads = found;
	return true;
}

/* -------------------------------------------------------- NAKs and errno values */
/* Read the name of a NAK: "rnr", "rnr:12", "seq", "invalid", "access" or "operation".
 * @syndrome: out, its AETH syndrome.
 */
static bool read_syndrome(const char *s, size_t len, uint8_t *syndrome)
{
	static const struct {
		const char *name;
		enum rn_nak_code code;
	} naks[] = {
		{ "seq", RN_NAK_PSN_SEQ },
		{ "invalid", RN_NAK_INVALID_REQ },
		{ "access", RN_NAK_REMOTE_ACCESS },
		{ "operation", RN_NAK_REMOTE_OP },
	};
	uint64_t timer = 1; /* RNR timer code 1 means 10 us */

	for (unsigned i = 0; i < RN_ARRAY_SIZE(naks); i++) {
		if (!rn_fault_is_word(s, len, naks[i].name))
			continue;
		*syndrome = rn_aeth_syndrome(RN_AETH_NAK, (uint8_t)naks[i].code);
		return true;
	}
	if (len < 3 || memcmp(s, "rnr", 3) != 0)
		return false;
	if (len > 3 && (s[3] != ':' || !rn_fault_decimal(s + 4, len - 4, &timer) ||
			timer > RN_AETH_VALUE_MASK))
		return false;
	*syndrome = rn_aeth_syndrome(RN_AETH_RNR, (uint8_t)timer);
	return true;
}

/* Read an errno value: a name such as "ENOMEM", or a number from 1 to 4095. */
static bool read_errno(const char *s, size_t len, int *error)
{
	uint64_t number;

	if (rn_fault_decimal(s, len, &number)) {
		if (number == 0 || number > ERRNO_MAX)
			return false;
		*error = (int)number;
		return true;
	}
	for (int i = 1; i <= ERRNO_MAX; i++) {
		const char *name = strerrorname_np(i);

		if (!name || !rn_fault_is_word(s, len, name))
			continue;
		*error = i;
		return true;
	}
	return false;
}

/* ----------------------------------------------------------- words for conditions */
static bool read_small(const struct piece *p, uint64_t min, uint64_t max, uint64_t *value)
{
	return read_number(p->value, p->value_len, value) && *value >= min &&
	       *value <= max;
}

static bool read_name(const struct piece *p, char *name, size_t size)
{
	if (p->value_len == 0 || p->value_len >= size)
		return false;
	memcpy(name, p->value, p->value_len);
	name[p->value_len] = '\0';
	return true;
}

static bool read_tx(struct rn_fault_rule *r, const struct piece *p)
{
	(void)p;
	return r->in_dir[RN_FAULT_TX] = true;
}

static bool read_rx(struct rn_fault_rule *r, const struct piece *p)
{
	(void)p;
	return r->in_dir[RN_FAULT_RX] = true;
}

static bool read_dev(struct rn_fault_rule *r, const struct piece *p)
{
	return read_name(p, r->dev, sizeof(r->dev));
}

static bool read_program(struct rn_fault_rule *r, const struct piece *p)
{
	return read_name(p, r->program, sizeof(r->program));
}

static bool read_pid(struct rn_fault_rule *r, const struct piece *p)
{
	uint64_t value;

	if (!read_small(p, 1, INT32_MAX, &value))
		return false;
	r->pid = (int32_t)value;
	return true;
}

static bool read_qpn(struct rn_fault_rule *r, const struct piece *p)
{
	uint64_t value;

	if (!read_small(p, 1, 0xffffff, &value))
		return false;
	r->qpn = (uint32_t)value;
	return true;
}

static bool read_qp(struct rn_fault_rule *r, const struct piece *p)
{
	uint64_t value;

	if (!read_small(p, 1, 65535, &value))
		return false;
	r->qp = (uint32_t)value;
	return true;
}

static bool read_op(struct rn_fault_rule *r, const struct piece *p)
{
	return read_opcodes(p->value, p->value_len, r->ops);
}

static bool read_mad(struct rn_fault_rule *r, const struct piece *p)
{
	return read_mad_names(p->value, p->value_len, &r->mads);
}

static bool read_psn(struct rn_fault_rule *r, const struct piece *p)
{
	uint64_t first, last;

	if (!read_range(p->value, p->value_len, &first, &last) || first > 0xffffff ||
	    last > 0xffffff)
		return false;
	r->has_psn = true;
	r->psn_first = (uint32_t)first;
	r->psn_last = (uint32_t)last;
	return true;
}

static bool read_nth(struct rn_fault_rule *r, const struct piece *p)
{
	return read_range(p->value, p->value_len, &r->nth, &r->nth_last) && r->nth >= 1 &&
	       r->nth_last >= r->nth;
}

static bool read_every(struct rn_fault_rule *r, const struct piece *p)
{
	return read_small(p, 1, INT64_MAX, &r->every);
}

static bool read_count(struct rn_fault_rule *r, const struct piece *p)
{
	return read_small(p, 1, INT64_MAX, &r->count);
}

static bool read_chance(struct rn_fault_rule *r, const struct piece *p)
{
	uint64_t ppm;

	if (!rn_fault_percent(p->value, p->value_len, &ppm))
		return false;
	r->chance = (uint32_t)ppm;
	return true;
}

static bool read_call(struct rn_fault_rule *r, const struct piece *p)
{
	for (r->call = 0; r->call < rn_fault_call_count; r->call++)
		if (strlen(rn_fault_calls[r->call]) == p->value_len &&
		    memcmp(rn_fault_calls[r->call], p->value, p->value_len) == 0)
			return true;
	return false;
}

static bool read_at(struct rn_fault_rule *r, const struct piece *p)
{
	bool from_end = p->value_len > 0 && *p->value == '-';
	uint64_t value;

	if (!read_number(p->value + from_end, p->value_len - from_end, &value) ||
	    value > 65535 || (from_end && value == 0))
		return false;
	r->has_at = true;
	r->at = from_end ? -(int32_t)value : (int32_t)value;
	return true;
}

static bool read_xor(struct rn_fault_rule *r, const struct piece *p)
{
	uint64_t value;

	if (!read_small(p, 1, 255, &value))
		return false;
	r->flip = (uint8_t)value;
	return true;
}

static bool read_icrc(struct rn_fault_rule *r, const struct piece *p)
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
static const struct word words[] = {
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

/* -------------------------------------------------------------- words for actions */
static bool act_plain(struct rn_fault_rule *r, const struct piece *p)
{
	(void)r;
	return !p->value;
}

static bool act_copies(struct rn_fault_rule *r, const struct piece *p)
{
	uint64_t value = 1;

	if (p->value && !read_small(p, 1, 16, &value))
		return false;
	r->copies = (uint32_t)value;
	return true;
}

static bool act_time(struct rn_fault_rule *r, const struct piece *p)
{
	return p->value && rn_fault_time(p->value, p->value_len, &r->time);
}

static bool act_places(struct rn_fault_rule *r, const struct piece *p)
{
	uint64_t value = 1;

	if (p->value && !read_small(p, 1, 1000, &value))
		return false;
	r->places = (uint32_t)value;
	return true;
}

static bool act_nak(struct rn_fault_rule *r, const struct piece *p)
{
	return p->value && read_syndrome(p->value, p->value_len, &r->syndrome);
}

static bool act_queue(struct rn_fault_rule *r, const struct piece *p)
{
	r->of_send_cq = p->value && p->value_len == 4 && !memcmp(p->value, "send", 4);
	return r->of_send_cq ||
	       (p->value && p->value_len == 4 && !memcmp(p->value, "recv", 4));
}

static bool act_cut(struct rn_fault_rule *r, const struct piece *p)
{
	return !p->value || rn_fault_time(p->value, p->value_len, &r->time);
}

static bool act_fail(struct rn_fault_rule *r, const struct piece *p)
{
	return p->value && read_errno(p->value, p->value_len, &r->error);
}

/* clang-format off */
static const struct action actions[] = {
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

/* -------------------------------------------------- splitting of a text into words */
enum {
	/* maximum bytes of a wrong word that an error message quotes */
	WORD_SHOWN = 60,
};

/* State of the reader of one text. */
struct cursor {
	const char *name; /* name of the text, for error messages */
	unsigned line;
	const char *at, *end; /* the rest of the rule that is being read */
	char *err;
	size_t err_len;
	/* Bit set of the words that the rule has contained so far. The bit of a word is
	 * its index in `words`.
	 */
	uint64_t seen;
	bool has_icrc;
};

static int refuse_word(const struct cursor *c, const struct piece *p,
		       const char *expected)
{
	size_t len = p->name_len + (p->value ? p->value_len + 1 : 0);

	return rn_fail(c->err, c->err_len, -EINVAL, "%s:%u: \"%.*s\": expected %s",
		       c->name, c->line, (int)(len > WORD_SHOWN ? WORD_SHOWN : len),
		       p->name, expected);
}

static int refuse_rule(const struct cursor *c, const char *sentence)
{
	return rn_fail(c->err, c->err_len, -EINVAL, "%s:%u: %s", c->name, c->line,
		       sentence);
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\r';
}

static bool next_piece(struct cursor *c, struct piece *p)
{
	const char *s, *eq;

	while (c->at < c->end && is_blank(*c->at))
		c->at++;
	if (c->at == c->end)
		return false;
	for (s = c->at; c->at < c->end && !is_blank(*c->at);)
		c->at++;
	eq = memchr(s, '=', (size_t)(c->at - s));
	*p = (struct piece){ .name = s, .name_len = (size_t)((eq ? eq : c->at) - s) };
	if (eq) {
		p->value = eq + 1;
		p->value_len = (size_t)(c->at - eq - 1);
	}
	return true;
}

static bool is_named(const struct piece *p, const char *name)
{
	return strlen(name) == p->name_len && memcmp(p->name, name, p->name_len) == 0;
}

#define ACTIONS                                                                    \
	"drop, duplicate, delay, reorder, corrupt, mark, set, nak, norecv, kill, " \
	"overrun, cut, fail or seed"

/* -------------------------------------------------------------- reading of a rule */
static void keep_ops(struct rn_fault_rule *r, uint32_t flags, bool connected)
{
	for (unsigned i = 0; i < RN_FAULT_OPS; i++) {
		enum rn_opcode_class class = rn_opcode_class((uint8_t)i);

		if ((rn_opcode_info[i].flags & flags) != flags ||
		    (connected && class != RN_CLASS_RC && class != RN_CLASS_XRC))
			r->ops[i / 64] &= ~(1ull << i % 64);
	}
}

static bool is_any_op_left(const struct rn_fault_rule *r)
{
	return (r->ops[0] | r->ops[1] | r->ops[2] | r->ops[3]) != 0;
}

/* Read a field to be rewritten and its value, such as "bth.psn=7". Return: 0 or -EINVAL.
 */
static int read_change(const struct cursor *c, struct rn_fault_rule *r,
		       const struct piece *p)
{
	struct rn_fault_change *change = &r->change[r->changes];
	const struct rn_fault_field *f = fields;

	while (f->name && !is_named(p, f->name))
		f++;
	if (!f->name)
		return refuse_word(
			c, p,
			"a header field, such as bth.psn; rocin-fault(5) lists "
			"them");
	if (r->act != RN_FAULT_SET || r->changes == RN_FAULT_SETS_MAX)
		return refuse_word(c, p, "fields after set only, and at most four");
	if (!p->value || !read_number(p->value, p->value_len, &change->value) ||
	    (f->bits < 64 && change->value >> f->bits))
		return refuse_word(c, p, "a number that the field can hold");
	change->field = f;
	r->changes++;
	keep_ops(r, f->header, false);
	return 0;
}

static int read_word(struct cursor *c, struct rn_fault_rule *r, const struct piece *p)
{
	unsigned i = 0;

	if (memchr(p->name, '.', p->name_len))
		return read_change(c, r, p);
	while (i < RN_ARRAY_SIZE(words) && !is_named(p, words[i].name))
		i++;
	if (i == RN_ARRAY_SIZE(words))
		return refuse_word(
			c, p,
			"tx, rx, dev=, program=, pid=, qpn=, qp=, op=, mad=, psn=, "
			"nth=, every=, chance= or count=");
	if (!(words[i].acts >> r->act & 1))
		return refuse_word(c, p, "a word that goes with the action");
	if (c->seen >> i & 1)
		return refuse_word(c, p, "each word once");
	c->seen |= 1ull << i;
	if (!words[i].expected == !!p->value)
		return refuse_word(c, p,
				   words[i].expected ? words[i].expected : "no value");
	return words[i].read(r, p) ? 0 : refuse_word(c, p, words[i].expected);
}

/* Check the rule as a whole, and set what its words imply. Return: 0 or -EINVAL. */
static int finish_rule(const struct cursor *c, struct rn_fault_rule *r, bool is_norecv)
{
	bool unconditional = true;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(words); i++)
		if (words[i].of_packet && c->seen >> i & 1)
			unconditional = false;
	r->is_unconditional = unconditional;
	if (r->every > 1 && r->nth == r->nth_last)
		/* nth without a count: the nth packet and every @every-th one after it
		 * are hit
		 */
		r->nth_last = 0;
	if (r->act == RN_FAULT_SET && r->changes == 0)
		return refuse_rule(c, "set without a field, such as bth.psn=7");
	if (r->act == RN_FAULT_FAIL && r->call == UINT32_MAX)
		return refuse_rule(c, "fail without a call, such as call=create_qp");
	if (is_norecv) {
		if (r->in_dir[RN_FAULT_TX])
			return refuse_rule(c, "norecv is about packets received: rx");
		keep_ops(r, RN_OP_RECV_WQE_TAKEN, false);
		r->in_dir[RN_FAULT_RX] = true;
		r->syndrome = 0x21; /* RNR NAK with timer code 1 (10 us) */
	} else if (r->act == RN_FAULT_NAK) {
		keep_ops(r, RN_OP_REQUEST, true);
	}
	if (!is_any_op_left(r))
		return refuse_rule(c, "no packet can be meant by this rule");
	if (!r->in_dir[RN_FAULT_TX] && !r->in_dir[RN_FAULT_RX])
		r->in_dir[RN_FAULT_TX] = true;
	return 0;
}

/* Return: a hash (FNV-1a) that identifies a rule. It is computed from the rule's words,
 * and does not depend on the white space between them.
 */
static uint64_t identify(const char *s, const char *end)
{
	uint64_t hash = RN_HASH_BEGIN;
	bool gap = false;

	for (; s < end; s++) {
		if (is_blank(*s)) {
			gap = true;
			continue;
		}
		if (gap)
			hash = rn_hash_bytes(hash, " ", 1);
		gap = false;
		hash = rn_hash_bytes(hash, s, 1);
	}
	return hash;
}

static int read_rule(struct cursor *c, struct rn_fault_rule *r, const struct piece *first)
{
	struct piece p;
	unsigned i = 0;
	int rc = 0;

	while (i < RN_ARRAY_SIZE(actions) && !is_named(first, actions[i].name))
		i++;
	if (i == RN_ARRAY_SIZE(actions))
		return refuse_word(c, first, ACTIONS);
	*r = (struct rn_fault_rule){ .act = actions[i].act,
				     .ops = { ~0ull, ~0ull, ~0ull, ~0ull },
				     .call = UINT32_MAX,
				     .nth = 1,
				     .every = 1,
				     .chance = 1000000,
				     .good_icrc = actions[i].act == RN_FAULT_SET,
				     .id = identify(first->name, c->end) };
	if (!actions[i].read(r, first))
		return refuse_word(c, first, actions[i].expected);
	c->seen = 0;
	while (!rc && next_piece(c, &p))
		rc = read_word(c, r, &p);
	return rc ? rc : finish_rule(c, r, is_named(first, "norecv"));
}

/* Read the value of "seed=7", which must be the only word. Return: 0 or -EINVAL. */
static int read_seed(struct cursor *c, const struct piece *p, uint64_t *seed)
{
	struct piece more;

	if (!p->value || !rn_fault_decimal(p->value, p->value_len, seed))
		return refuse_word(c, p, "a decimal number, such as seed=7");
	return next_piece(c, &more) ? refuse_word(c, &more, "nothing after the seed") : 0;
}

/* ------------------------------------------------------ reading of a text of rules */
static int read_statement(struct cursor *c, struct rn_fault_rules *rules)
{
	struct piece p;

	if (!next_piece(c, &p))
		return 0;
	if (is_named(&p, "seed"))
		return read_seed(c, &p, &rules->seed);
	if (rules->count == RN_FAULT_RULES_MAX)
		return refuse_word(c, &p, "at most 64 rules");
	rules->rule[rules->count].number = rules->count;
	if (read_rule(c, &rules->rule[rules->count], &p))
		return -EINVAL;
	rules->rule[rules->count].number = rules->count;
	rules->count++;
	return 0;
}

/* Read the rules in one line, without its comment. Return: 0 or -EINVAL. */
static int read_line(struct cursor *c, const char *line, size_t len,
		     struct rn_fault_rules *rules)
{
	int rc = 0;

	for (const char *end = line + len; !rc && line <= end;) {
		const char *semi = memchr(line, ';', (size_t)(end - line));

		c->at = line;
		c->end = semi ? semi : end;
		line = c->end + 1;
		rc = read_statement(c, rules);
	}
	return rc;
}

int rn_fault_rules_parse(const char *text, const char *name, struct rn_fault_rules *rules,
			 char *err, size_t err_len)
{
	struct cursor c = { .name = name, .err = err, .err_len = err_len };
	struct rn_fault_rules *out = calloc(2, sizeof(*out));
	int rc = 0;

	if (!out)
		return rn_fail(err, err_len, -ENOMEM, "%s: no memory for the rules",
			       name);
	out[0].seed = 1;
	for (const char *line = text; !rc; line++) {
		size_t len = strcspn(line, "\n"), shown = strcspn(line, "#\n");

		c.line++;
		rc = read_line(&c, line, shown, &out[0]);
		line += len;
		if (*line == '\0')
			break;
	}
	if (!rc) {
		out[1].seed = out[0].seed;
		rn_fault_rules_append(&out[1], &out[0]);
		*rules = out[1];
	}
	free(out);
	return rc;
}

/* ------------------------------------------------ reading of all forms of faults */
/* Read rules from the file @path. Return: 0, -EINVAL, -errno of open() and read(),
 * or -EFBIG.
 */
static int load_rules(const char *path, struct rn_fault_rules *rules, char *err,
		      size_t err_len)
{
	char *text = rn_fault_file(path, err, err_len);
	int rc;

	if (!text)
		return -errno;
	rc = rn_fault_rules_parse(text, path, rules, err, err_len);
	free(text);
	return rc;
}

int rn_fault_read(const char *text, struct rn_fault_rules *rules, char *err,
		  size_t err_len)
{
	struct rn_fault_spec spec;

	if (*text == '@')
		return load_rules(text + 1, rules, err, err_len);
	if (rn_fault_parse(text, &spec, err, err_len) == 0) {
		rn_fault_of_spec(&spec, rules);
		return 0;
	}
	/* If the text is a single word with "=" that is neither a valid rule nor a
	 * valid list of probabilities, the error message is the one about a list
	 * of probabilities.
	 */
	if (!strpbrk(text, " \t\n;") && strchr(text, '=') &&
	    rn_fault_rules_parse(text, "rule", rules, NULL, 0))
		return -EINVAL;
	return rn_fault_rules_parse(text, "rule", rules, err, err_len);
}
