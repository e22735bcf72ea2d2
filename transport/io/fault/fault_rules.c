/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_rules.c - evaluates fault rules, computes the fates of packets, changes packets,
 * and writes NAKs in place of a receiver.
 */
#include "fault_rules.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "rocin/gsi.h"
#include "rocin/icrc.h"
#include "rocin/mad.h"
#include "rocin/opcode.h"
#include "rocin/random.h"
#include "rocin/wire.h"

/* -------------------------------------------------------------- fates of packets */
enum {
	BUCKETS = 256,
	/* Maximum number of streams (see struct stream). If there are more, the oldest
	 * is dropped. This number of streams takes 9 MB.
	 */
	STREAMS_MAX = 8192,
	/* A stream counts how often each PSN has passed, for this number of PSNs back
	 * from the newest one. Retransmitted packets lie within the send window, which
	 * is smaller.
	 */
	RECENT = 1024,
};

/* A stream: the requests of one queue pair in one direction, or its responses. Its
 * packets are counted together.
 */
struct stream {
	LIST_ENTRY(stream) in_bucket;
	TAILQ_ENTRY(stream) by_age;
	uint32_t qpn, kind;
	uint32_t first;	 /* first PSN of the connection */
	uint32_t newest; /* newest PSN, relative to @first */
	uint32_t connections;
	uint64_t passed;
	bool has_begun;
	uint8_t times[RECENT]; /* number of times that each recent PSN has passed */
};

LIST_HEAD(bucket, stream);
TAILQ_HEAD(ages, stream);

struct rn_fault_fates {
	struct bucket bucket[BUCKETS];
	struct ages ages;
	unsigned streams;
};

struct rn_fault_fates *rn_fault_fates_new(void)
{
	struct rn_fault_fates *f = calloc(1, sizeof(*f));

	if (f)
		TAILQ_INIT(&f->ages);
	return f;
}

static void drop_oldest(struct rn_fault_fates *f)
{
	struct stream *s = TAILQ_FIRST(&f->ages);

	TAILQ_REMOVE(&f->ages, s, by_age);
	LIST_REMOVE(s, in_bucket);
	f->streams--;
	free(s);
}

void rn_fault_fates_free(struct rn_fault_fates *f)
{
	if (!f)
		return;
	while (f->streams)
		drop_oldest(f);
	free(f);
}

static bool is_response(uint8_t opcode)
{
	return (rn_opcode_info[opcode].flags & RN_OP_RESPONSE) != 0;
}

static bool is_connected(uint8_t opcode)
{
	enum rn_opcode_class class = rn_opcode_class(opcode);

	return class == RN_CLASS_RC || class == RN_CLASS_UC || class == RN_CLASS_XRC;
}

bool rn_fault_is_of_peer(const struct rn_fault_packet *p)
{
	return (p->dir == RN_FAULT_RX) != is_response(p->opcode);
}

static uint32_t kind_of(const struct rn_fault_packet *p)
{
	return (uint32_t)p->dir << 2 | (uint32_t)is_response(p->opcode) << 1 |
	       (uint32_t)is_connected(p->opcode);
}

static struct stream *find_stream(struct rn_fault_fates *f, uint32_t qpn, uint32_t kind)
{
	struct bucket *b = &f->bucket[(qpn ^ qpn >> 8 ^ kind << 5) % BUCKETS];
	struct stream *s;

	LIST_FOREACH(s, b, in_bucket)
	if (s->qpn == qpn && s->kind == kind)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	if (f->streams == STREAMS_MAX)
		drop_oldest(f);
	s->qpn = qpn;
	s->kind = kind;
	LIST_INSERT_HEAD(b, s, in_bucket);
	TAILQ_INSERT_TAIL(&f->ages, s, by_age);
	f->streams++;
	return s;
}

/* Called with the first PSN of a stream's connection. If it has changed, the stream
 * belongs to another connection now, and its counts start again.
 */
static void begin_connection(struct stream *s, uint32_t first)
{
	if (s->has_begun && s->first == first)
		return;
	s->has_begun = true;
	s->first = first;
	s->newest = 0;
	s->connections++;
	memset(s->times, 0, sizeof(s->times));
}

/* Count a packet. @offset: its PSN, relative to the first PSN of the connection. Return:
 * how often a packet with this PSN has passed before.
 */
static uint64_t count_time(struct stream *s, uint32_t offset)
{
	int32_t ahead = rn_psn_diff(rn_psn(offset), rn_psn(s->newest));
	uint8_t *times = &s->times[offset % RECENT];

	/* PSNs that are too old have no count of their own. For these the number of all
	 * packets of the stream is used, so that not all such packets have the same fate.
	 */
	if (ahead <= -RECENT)
		return UINT8_MAX + s->passed;
	if (ahead > 0) {
		for (int32_t i = 1; i <= ahead && i <= RECENT; i++)
			s->times[(offset - (uint32_t)(i - 1)) % RECENT] = 0;
		s->newest = offset;
	}
	if (*times == UINT8_MAX)
		return UINT8_MAX + s->passed;
	return (*times)++;
}

static uint64_t mix_in(uint64_t number, uint64_t value)
{
	return rn_random_at(number + value, 0);
}

uint64_t rn_fault_fate(struct rn_fault_fates *f, const struct rn_fault_packet *p,
		       uint32_t first)
{
	uint32_t kind = kind_of(p);
	struct stream *s = find_stream(f, p->qpn, kind);
	uint64_t number = mix_in(mix_in(0, p->qp), kind);
	uint32_t offset;

	if (!s)
		return number;
	s->passed++;
	if (!is_connected(p->opcode))
		return mix_in(number, s->passed);
	if (first != RN_FAULT_NO_PSN || !s->has_begun)
		begin_connection(s, first != RN_FAULT_NO_PSN ? first : p->psn);
	offset = (p->psn - s->first) & RN_PSN_MASK;
	number = mix_in(mix_in(number, s->connections), offset);
	return mix_in(number, count_time(s, offset));
}

/* ---------------------------------------------------------------- random numbers */
enum {
	MILLION = 1000000
};

/* Return: the next number of the generator xorshift64* (Vigna 2014). */
static uint64_t draw_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/* Return: a number, never 0, that is mixed from a seed and the number of a stream, so
 * that neighbouring seeds give unrelated sequences.
 */
static uint64_t stream_seed(uint64_t seed, uint64_t stream)
{
	uint64_t z = rn_random_at(seed * 1000003 + stream, 0);

	return z ? z : 1;
}

/* -------------------------------------------------------------------- rule sets */
static bool is_for(const struct rn_fault_rule *r, const char *dev, int32_t pid,
		   const char *program)
{
	return (!r->dev[0] || strcmp(r->dev, dev) == 0) && (!r->pid || r->pid == pid) &&
	       (!r->program[0] || strcmp(r->program, program) == 0);
}

void rn_fault_rules_select(struct rn_fault_rules *rules, const char *dev, int32_t pid,
			   const char *program)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < rules->count; i++)
		if (is_for(&rules->rule[i], dev, pid, program))
			rules->rule[kept++] = rules->rule[i];
	rules->count = kept;
}

void rn_fault_rules_append(struct rn_fault_rules *rules,
			   const struct rn_fault_rules *more)
{
	for (unsigned i = 0; i < more->count && rules->count < RN_FAULT_RULES_MAX; i++) {
		struct rn_fault_rule *r = &rules->rule[rules->count++];

		*r = more->rule[i];
		r->seen = r->hits = 0;
		r->dice = stream_seed(more->seed, 2ull * r->number);
		r->where = stream_seed(more->seed, 2ull * r->number + 1);
	}
}

void rn_fault_rules_carry(struct rn_fault_rules *rules, const struct rn_fault_rules *old)
{
	bool taken[RN_FAULT_RULES_MAX] = { false };

	for (unsigned i = 0; i < rules->count; i++) {
		struct rn_fault_rule *r = &rules->rule[i];
		unsigned k = 0;

		while (k < old->count && (taken[k] || old->rule[k].id != r->id))
			k++;
		if (k == old->count)
			continue;
		taken[k] = true;
		r->seen = old->rule[k].seen;
		r->hits = old->rule[k].hits;
		r->dice = old->rule[k].dice;
		r->where = old->rule[k].where;
	}
}

bool rn_fault_rules_want_qp(const struct rn_fault_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->rule[i].qpn || rules->rule[i].qp)
			return true;
	return false;
}

bool rn_fault_rules_have_chance(const struct rn_fault_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->rule[i].act != RN_FAULT_FAIL &&
		    (rules->rule[i].chance < MILLION ||
		     rules->rule[i].act == RN_FAULT_CORRUPT))
			return true;
	return false;
}

bool rn_fault_rules_meet_packets(const struct rn_fault_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->rule[i].act != RN_FAULT_FAIL)
			return true;
	return false;
}

bool rn_fault_rules_meet_calls(const struct rn_fault_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->rule[i].act == RN_FAULT_FAIL)
			return true;
	return false;
}

/* ------------------------------------------------------------- evaluating rules */
static bool is_psn_in(const struct rn_fault_rule *r, uint32_t psn)
{
	return ((psn - r->psn_first) & 0xffffff) <=
	       ((r->psn_last - r->psn_first) & 0xffffff);
}

static bool is_one_of(uint16_t mads, uint16_t mad)
{
	return mad >= RN_CM_REQ && mad <= RN_CM_APR && (mads >> (mad - RN_CM_REQ) & 1);
}

static bool matches_packet(const struct rn_fault_rule *r, const struct rn_fault_packet *p)
{
	if (r->act == RN_FAULT_FAIL || (r->act == RN_FAULT_CUT && r->is_unconditional))
		return false;
	return r->in_dir[p->dir] && (r->ops[p->opcode / 64] >> p->opcode % 64 & 1) &&
	       (!r->qpn || r->qpn == p->qpn) && (!r->qp || r->qp == p->qp) &&
	       (!r->mads || is_one_of(r->mads, p->mad)) &&
	       (!r->has_psn || is_psn_in(r, p->psn));
}

/* Return: true if the conditions nth and every of the rule select the present packet,
 * which is number @r->seen among those that match the other conditions.
 */
static bool is_its_turn(const struct rn_fault_rule *r)
{
	if (r->seen < r->nth || (r->nth_last && r->seen > r->nth_last))
		return false;
	return (r->seen - r->nth) % r->every == 0;
}

static uint64_t throw_dice(uint64_t *dice, const uint64_t *fate)
{
	return fate ? stream_seed(*dice, *fate) : draw_next(dice);
}

static bool decide_hit(struct rn_fault_rule *r, const uint64_t *fate)
{
	r->seen++;
	if (!is_its_turn(r))
		return false;
	/* A random number is drawn even if no further packet may be hit, so that the
	 * limit on hits does not change the sequence of random numbers.
	 */
	if (r->chance < MILLION &&
	    (throw_dice(&r->dice, fate) >> 32) % MILLION >= r->chance)
		return false;
	if (r->count && r->hits >= r->count)
		return false;
	r->hits++;
	return true;
}

uint64_t rn_fault_judge(struct rn_fault_rules *rules, const struct rn_fault_packet *p)
{
	const uint64_t *fate = p->has_fate ? &p->fate : NULL;
	uint64_t verdict = 0;

	for (unsigned i = 0; i < rules->count; i++)
		if (matches_packet(&rules->rule[i], p) &&
		    decide_hit(&rules->rule[i], fate))
			verdict |= 1ull << i;
	return verdict;
}

int rn_fault_judge_call(struct rn_fault_rules *rules, uint32_t call)
{
	int error = 0;

	for (unsigned i = 0; i < rules->count; i++) {
		struct rn_fault_rule *r = &rules->rule[i];

		if (r->act == RN_FAULT_FAIL && r->call == call && decide_hit(r, NULL) &&
		    !error)
			error = r->error;
	}
	return error;
}

/* -------------------------------------------------------------- changing packets */
/* Return: the attribute ID of the CM message in a packet to QP1; 0 if the packet has
 * none.
 */
static uint16_t look_at_mad(const uint8_t *pkt, uint32_t len)
{
	const uint8_t *mad = pkt + RN_BTH_LEN + RN_DETH_LEN;
	struct rn_mad_hdr hdr;

	if (len != RN_GSI_PACKET_LEN || pkt[0] != RN_UD_SEND_ONLY ||
	    rn_get_be24(pkt + 5) != RN_QPN_GSI)
		return 0;
	rn_mad_hdr_parse(&hdr, mad);
	return hdr.mgmt_class == RN_MAD_CLASS_CM ? hdr.attr_id : 0;
}

bool rn_fault_look(const uint8_t *pkt, uint32_t len, struct rn_fault_packet *p)
{
	if (len < RN_BTH_LEN + RN_ICRC_LEN)
		return false;
	p->opcode = pkt[0];
	p->psn = rn_get_be24(pkt + 9);
	p->mad = look_at_mad(pkt, len);
	return true;
}

/* Return: the offset in bytes of the header @header in a packet with @opcode. Headers
 * are in the order of their flags in opcode.h.
 */
static uint32_t find_header(uint8_t opcode, uint32_t header)
{
	static const struct {
		uint32_t flag;
		uint32_t len;
	} order[] = {
		{ RN_OP_DETH, RN_DETH_LEN },
		{ RN_OP_XRCETH, RN_XRCETH_LEN },
		{ RN_OP_FETH, RN_FETH_LEN },
		{ RN_OP_RETH, RN_RETH_LEN },
		{ RN_OP_ATOMIC_ETH, RN_ATOMIC_ETH_LEN },
		{ RN_OP_AETH, RN_AETH_LEN },
		{ RN_OP_ATOMIC_ACK_ETH, RN_ATOMIC_ACK_ETH_LEN },
		{ RN_OP_IMM, RN_IMM_LEN },
		{ RN_OP_IETH, RN_IETH_LEN },
	};
	uint32_t at = RN_BTH_LEN, flags = rn_opcode_info[opcode].flags;

	if (header == 0)
		return 0;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(order) && order[i].flag != header; i++)
		if (flags & order[i].flag)
			at += order[i].len;
	return at;
}

static void rewrite_field(const struct rn_fault_change *c, uint8_t opcode, uint8_t *pkt,
			  uint32_t len)
{
	const struct rn_fault_field *f = c->field;
	uint32_t at = find_header(opcode, f->header) + f->offset;
	uint64_t mask = f->bits == 64 ? ~0ull : ((1ull << f->bits) - 1) << f->shift;
	uint64_t value = 0;

	if (at + f->len + RN_ICRC_LEN > len)
		return;
	for (unsigned i = 0; i < f->len; i++)
		value = value << 8 | pkt[at + i];
	value = (value & ~mask) | (c->value << f->shift & mask);
	for (unsigned i = f->len; i-- > 0; value >>= 8)
		pkt[at + i] = (uint8_t)value;
}

static void corrupt_byte(struct rn_fault_rule *rule, const uint64_t *fate, uint8_t *pkt,
			 uint32_t len)
{
	uint64_t bit = throw_dice(&rule->where, fate) % ((uint64_t)len * 8);
	int64_t at = rule->has_at ? rule->at : (int64_t)(bit / 8);

	if (at < 0)
		at += len;
	if (at >= 0 && at < (int64_t)len)
		pkt[at] = (uint8_t)(pkt[at] ^ (rule->flip ? rule->flip : 1u << bit % 8));
}

void rn_fault_edit(struct rn_fault_rule *rule, const uint64_t *fate, uint8_t *pkt,
		   uint32_t len, enum rn_fault_icrc *icrc)
{
	uint8_t opcode = pkt[0];

	if (rule->act == RN_FAULT_CORRUPT)
		corrupt_byte(rule, fate, pkt, len);
	for (unsigned i = 0; i < rule->changes; i++)
		rewrite_field(&rule->change[i], opcode, pkt, len);
	if (!rule->good_icrc)
		*icrc = RN_FAULT_ICRC_WRONG;
	else if (*icrc == RN_FAULT_ICRC_KEPT)
		*icrc = RN_FAULT_ICRC_STALE;
}

void rn_fault_answer(uint8_t nak[RN_FAULT_NAK_LEN], const uint8_t *request,
		     const struct rn_flow *flow, uint32_t dest_qpn,
		     const struct rn_aeth *aeth)
{
	const struct rn_bth bth = {
		.opcode = (uint8_t)(rn_opcode_class(request[0]) | (unsigned)RN_RC_ACK),
		.migreq = true,
		.pkey = rn_get_be16(request + 2),
		.dest_qpn = dest_qpn,
		.psn = { rn_get_be24(request + 9) },
	};
	uint8_t *end = rn_aeth_emit(rn_bth_emit(nak, &bth), aeth);

	rn_icrc_seal(flow, 0, nak, (size_t)(end - nak));
}

void rn_fault_answer_msn(uint8_t nak[RN_FAULT_NAK_LEN], const struct rn_flow *flow,
			 uint32_t msn)
{
	rn_put_be24(nak + RN_BTH_LEN + 1, msn);
	rn_icrc_seal(flow, 0, nak, RN_FAULT_NAK_LEN - RN_ICRC_LEN);
}
