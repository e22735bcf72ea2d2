/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse.c - parses a scenario: the file, its lines, and the words of a line. */
#include <errno.h>
#include <string.h>

#include "rocin/token.h"
#include "scenario.h"
#include "sim/pcie/model/text.h"

/* The line that is being parsed, without its comment. */
struct line_tokens {
	const char *begin, *at, *end;
	uint32_t number; /* number of the line, for error messages */
	struct rn_scn_error *err;
};

struct parser {
	struct rn_scenario *s;
	struct rn_scn_error *err;
	uint32_t number; /* number of the current line of the file */
	bool ended;
};

/* -------------------------------------------------- setups: built-in declarations */
/* Declarations and lines with which most scenarios begin, in the language of scenarios.
 */
#define REGIONS                                                                     \
	"mr m len 8192 access all\n"	/* region that the peer reads and writes */ \
	"mr r len 32768 access local\n" /* region for receives */

#define RC                                                                      \
	"qp 1 rc rts epsn 100 psn 200 mtu 1024 timeout 14 retry 3 rnr_retry 3 " \
	"rnr_timer 12 rd 2 dest_rd 2 access remote\n"

/* A connection that the device requests, and one that the peer requests. */
#define ASKED            \
	"conn c\n"       \
	"+0 connect c\n" \
	"+0 > c REQ\n"
#define ANSWERED       \
	ASKED          \
	"+0 < c REP\n" \
	"+0 event c rep\n"
#define REQUESTED       \
	"conn c\n"      \
	"+0 listen c\n" \
	"+0 < c REQ\n"  \
	"+0 event c req\n"
#define ACCEPTED        \
	REQUESTED       \
	"+0 accept c\n" \
	"+0 > c REP\n"

static const struct {
	const char *name, *text;
} setups[] = {
	/* Setup rc0 is RC0 of tests/rules.md; rc is the same without receives. */
	{ "rc0", REGIONS RC "recv 1 wr 1 len 4096\n"
			    "recv 1 wr 2 len 4096\n" },
	{ "rc", REGIONS RC },
	{ "uc0", REGIONS "qp 1 uc rts epsn 100 psn 200 mtu 1024 access write\n"
			 "recv 1 wr 1 len 4096\n"
			 "recv 1 wr 2 len 4096\n" },
	{ "ud0", REGIONS "qp 1 ud rts psn 200 qkey 0x11111111\n"
			 "recv 1 wr 1 len 4096\n"
			 "recv 1 wr 2 len 4096\n" },
	{ "asked", ASKED },
	{ "answered", ANSWERED },
	{ "active", ANSWERED "+0 ready c\n"
			     "+0 > c RTU\n" },
	{ "requested", REQUESTED },
	{ "accepted", ACCEPTED },
	{ "passive", ACCEPTED "+0 < c RTU\n"
			      "+0 event c established\n" },
	{ "looking", "conn c udp\n"
		     "+0 ask c\n"
		     "+0 > c SIDR_REQ\n" },
	{ "looked", "conn c udp\n"
		    "+0 listen c\n"
		    "+0 < c SIDR_REQ\n"
		    "+0 event c sidr_req\n" },
};

static const char setup_names[] = "rc0, rc, uc0, ud0, asked, answered, active, "
				  "requested, accepted, passive, looking, looked";

/* Returns the text of the setup with this name, or NULL. */
static const char *find_setup(const char *name, size_t len)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(setups); i++)
		if (strlen(setups[i].name) == len && !memcmp(setups[i].name, name, len))
			return setups[i].text;
	return NULL;
}

/* ---------------------------------------------------------------- words of a line */
static struct rn_token peek_word(const struct line_tokens *w)
{
	return rn_token_first(w->at, w->end);
}

static struct rn_token next_word(struct line_tokens *w)
{
	struct rn_token word = peek_word(w);

	w->at = word.at + word.len;
	return word;
}

static const struct {
	const char *name;
	uint64_t ns;
} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

/* Parses a time such as "0", "5us", "1.5ms" or "2T" (2 ACK timeouts). At most nine digits
 * are allowed before the point, and nine behind it. Does not accept sums such as
 * "2T+5us".
 */
static bool parse_duration(struct rn_token word, struct rn_scn_time *time)
{
	uint64_t whole = 0, part = 0, scale = 1;
	size_t i = 0;

	*time = (struct rn_scn_time){ 0 };
	while (i < word.len && i < 9 && rn_char_is_digit(word.at[i]))
		whole = whole * 10 + (uint64_t)(word.at[i++] - '0');
	if (i == 0)
		return false;
	if (i < word.len && word.at[i] == '.')
		for (i++;
		     i < word.len && scale < 1000000000 && rn_char_is_digit(word.at[i]);
		     i++) {
			part = part * 10 + (uint64_t)(word.at[i] - '0');
			scale *= 10;
		}
	word.at += i;
	word.len -= i;
	if (word.len == 0)
		return whole == 0 && scale == 1;
	if (rn_token_is(word, "T")) {
		time->timeouts = (uint32_t)whole;
		return scale == 1;
	}
	for (i = 0; i < RN_ARRAY_SIZE(units); i++) {
		if (!rn_token_is(word, units[i].name))
			continue;
		time->ns = (rn_ns)(whole * units[i].ns + part * units[i].ns / scale);
		return true;
	}
	return false;
}

/* Stores an error. Its place is @word in the line, or the end of the line if @word is
 * empty. Its text is @sentence and @more. Returns false.
 */
static bool refuse(const struct line_tokens *w, struct rn_token word,
		   const char *sentence, const char *more)
{
	struct rn_text t;

	w->err->line = w->number;
	w->err->column = (uint32_t)(word.at - w->begin) + 1;
	rn_text_init(&t, w->err->sentence, sizeof(w->err->sentence));
	if (word.len) {
		rn_text_char(&t, '"');
		for (size_t i = 0; i < word.len && i < 40; i++)
			rn_text_char(&t, word.at[i]);
		rn_text_add(&t, "\": ");
	}
	rn_text_add(&t, sentence);
	rn_text_add(&t, more);
	return false;
}

/* --------------------------------------------------------------- fields of a line */
/* Looks up the word of @len bytes at @at in a table, and sets *@value to its value.
 * Returns false if the word is not in the table.
 */
static bool find_word(const struct rn_scn_word *table, const char *at, size_t len,
		      uint64_t *value)
{
	for (; table->word; table++) {
		if (strlen(table->word) == len && !memcmp(table->word, at, len)) {
			*value = table->value;
			return true;
		}
	}
	return false;
}

static uint8_t find_region(const struct rn_scenario *s, struct rn_token name)
{
	for (unsigned i = 0; i < s->mrs; i++)
		if (rn_token_is(name, s->mr[i].name))
			return (uint8_t)i;
	return RN_SCN_ABSOLUTE;
}

/* Parses an address: "m", "m+128" or "0x1000". */
static bool parse_address(struct parser *p, struct line_tokens *w, struct rn_scn_line *l,
			  enum rn_scn_field f)
{
	struct rn_token word = next_word(w);
	const char *plus = memchr(word.at, '+', word.len);
	struct rn_token name = { word.at, plus ? (size_t)(plus - word.at) : word.len };

	l->region[f] = RN_SCN_ABSOLUTE;
	if (rn_token_number(word, &l->value[f]))
		return true;
	l->region[f] = find_region(p->s, name);
	l->value[f] = 0;
	if (l->region[f] == RN_SCN_ABSOLUTE)
		return refuse(w, word, "expected a region as m+128, or a number", "");
	if (!plus)
		return true;
	name = (struct rn_token){ plus + 1, word.len - name.len - 1 };
	if (!rn_token_number(name, &l->value[f]))
		return refuse(w, word, "the offset is no number", "");
	return true;
}

/* Parses a key: the name of a region such as "m" (its key), "m^1" (its key with bit 0
 * inverted), or a number.
 */
static bool parse_region(struct parser *p, struct line_tokens *w, struct rn_scn_line *l,
			 enum rn_scn_field f)
{
	struct rn_token word = next_word(w);
	const char *change = memchr(word.at, '^', word.len);
	struct rn_token name = { word.at,
				 change ? (size_t)(change - word.at) : word.len };
	struct rn_token bits = { word.at + name.len + 1, word.len - name.len - 1 };

	l->region[f] = RN_SCN_ABSOLUTE;
	if (rn_token_number(word, &l->value[f]))
		return true;
	l->region[f] = find_region(p->s, name);
	l->value[f] = 0;
	if (l->region[f] == RN_SCN_ABSOLUTE ||
	    (change && !rn_token_number(bits, &l->value[f])))
		return refuse(w, word, "expected a region as m or m^1, or a key", "");
	return true;
}

/* Parses the number of an SRQ: its name or a number. */
static bool parse_srq_number(struct parser *p, struct line_tokens *w,
			     struct rn_scn_line *l, enum rn_scn_field f)
{
	struct rn_token word = next_word(w);

	l->region[f] = RN_SCN_ABSOLUTE;
	if (rn_token_number(word, &l->value[f]))
		return true;
	l->value[f] = 0;
	for (unsigned i = 0; i < p->s->srqs; i++) {
		if (!rn_token_is(word, p->s->srq[i].name))
			continue;
		l->region[f] = (uint8_t)i;
		return true;
	}
	return refuse(w, word, "expected the name of an SRQ, or its number", "");
}

/* Parses one word of a table, or several with commas between them. */
static bool parse_words(struct line_tokens *w, struct rn_scn_line *l, enum rn_scn_field f,
			bool several)
{
	const struct rn_scn_field_info *info = &rn_scn_fields[f];
	struct rn_token word = next_word(w), rest = word;

	l->value[f] = 0;
	do {
		const char *comma = several ? memchr(rest.at, ',', rest.len) : NULL;
		size_t len = comma ? (size_t)(comma - rest.at) : rest.len;
		uint64_t value;

		if (!find_word(info->words, rest.at, len, &value))
			return refuse(w, word, "no value of ", info->name);
		l->value[f] |= value;
		len += comma ? 1 : 0;
		rest.at += len;
		rest.len -= len;
	} while (rest.len);
	return true;
}

/* Parses up to 8 letters, such as "hello". */
static bool parse_letters(struct line_tokens *w, struct rn_scn_line *l,
			  enum rn_scn_field f)
{
	struct rn_token word = next_word(w);

	if (!word.len || word.len > sizeof(l->value[f]))
		return refuse(w, word, "expected at most 8 letters after ",
			      rn_scn_fields[f].name);
	l->value[f] = 0;
	for (size_t i = 0; i < sizeof(l->value[f]); i++)
		l->value[f] = l->value[f] << 8 | (i < word.len ? (uint8_t)word.at[i] : 0);
	return true;
}

/* Parses the value of one field. */
static bool parse_field(struct parser *p, struct line_tokens *w, struct rn_scn_line *l,
			enum rn_scn_field f)
{
	struct rn_token word;

	l->given |= RN_F_BIT(f);
	switch (rn_scn_fields[f].form) {
	case RN_SCN_NUMBER:
		word = next_word(w);
		return rn_token_number(word, &l->value[f]) ||
		       refuse(w, word, "expected a number after ", rn_scn_fields[f].name);
	case RN_SCN_ADDRESS:
		return parse_address(p, w, l, f);
	case RN_SCN_REGION:
		return parse_region(p, w, l, f);
	case RN_SCN_NUMBERED:
		return parse_srq_number(p, w, l, f);
	case RN_SCN_WORD:
	case RN_SCN_BARE:
		return parse_words(w, l, f, false);
	case RN_SCN_WORDS:
		return parse_words(w, l, f, true);
	case RN_SCN_LETTERS:
		return parse_letters(w, l, f);
	case RN_SCN_FLAG:
		l->value[f] = 1;
		return true;
	}
	return false;
}

/* Returns the field of @verb to which @word, the next word of the line, belongs;
 * RN_F_COUNT: there is none. @word is the name of the field or, if the field is written
 * without its name, the value. *@bare: out, true in the second case.
 */
static enum rn_scn_field find_field(struct rn_token word, enum rn_scn_verb verb,
				    bool *bare)
{
	uint64_t value;

	for (unsigned i = 0; i < RN_F_COUNT; i++) {
		const struct rn_scn_field_info *info = &rn_scn_fields[i];

		if (!(info->verbs >> verb & 1))
			continue;
		*bare = info->form == RN_SCN_BARE;
		if (*bare ? find_word(info->words, word.at, word.len, &value)
			  : rn_token_is(word, info->name))
			return (enum rn_scn_field)i;
	}
	return RN_F_COUNT;
}

/* Parses the rest of a line: fields that the verb of the line may have, each at most
 * once.
 */
static bool parse_fields(struct parser *p, struct line_tokens *w, struct rn_scn_line *l)
{
	rn_scn_set seen = l->verb == RN_SCN_CHECK ? RN_F_BIT(RN_F_AT) : 0;
	struct rn_token word;

	while ((word = peek_word(w)).len) {
		bool bare, no = l->verb == RN_SCN_PACKET && rn_token_is(word, "no");
		enum rn_scn_field f;

		if (no) {
			next_word(w);
			word = peek_word(w);
		}
		f = find_field(word, l->verb, &bare);
		if (f == RN_F_COUNT || (no && rn_scn_fields[f].form != RN_SCN_FLAG))
			return refuse(w, word, "not a field of ",
				      rn_scn_verb_name[l->verb]);
		if (seen & RN_F_BIT(f))
			return refuse(w, word, "given twice", "");
		seen |= RN_F_BIT(f);
		if (!bare)
			next_word(w);
		if (!parse_field(p, w, l, f))
			return false;
		if (no)
			l->value[f] = 0;
	}
	return true;
}

/* -------------------------------------------------------------- the first line */
/* Parses the first line: "# B5, B6: A gap is answered once." */
static bool parse_rules(struct parser *p, struct line_tokens *w)
{
	struct rn_scenario *s = p->s;
	struct rn_token word = next_word(w);
	size_t len;

	if (!rn_token_is(word, "#"))
		return refuse(w, word, "the first line is \"# RULE[, RULE]: sentence\"",
			      "");
	do {
		word = next_word(w);
		if (word.len < 2 || word.len > RN_SCN_NAME || s->rules == RN_SCN_RULES)
			return refuse(w, word, "a rule, as B5, and a colon", "");
		memcpy(s->rule[s->rules++], word.at, word.len - 1);
	} while (word.at[word.len - 1] == ',');
	if (word.at[word.len - 1] != ':')
		return refuse(w, word, "a colon ends the list of rules", "");
	word = peek_word(w);
	len = (size_t)(w->end - word.at);
	if (!len)
		return refuse(w, word, "a sentence says the rule", "");
	memcpy(s->title, word.at, len < sizeof(s->title) ? len : sizeof(s->title) - 1);
	return true;
}

/* ---------------------------------------------------------------- declarations */
static struct rn_scn_object *find_object(struct rn_scn_object *o, unsigned count,
					 struct rn_token name)
{
	for (unsigned i = 0; i < count; i++)
		if (rn_token_is(name, o[i].name))
			return &o[i];
	return NULL;
}

static struct rn_scn_object *declare_object(struct line_tokens *w,
					    struct rn_scn_object *o, unsigned *count,
					    unsigned max)
{
	struct rn_token name = next_word(w);
	struct rn_scn_object *found = find_object(o, *count, name);

	if (found)
		return found;
	if (name.len == 0 || name.len >= RN_SCN_NAME || *count == max) {
		refuse(w, name, "a name of at most 23 letters, or too many", "");
		return NULL;
	}
	for (size_t i = 0; i < name.len; i++)
		o[*count].name[i] = name.at[i];
	return &o[(*count)++];
}

/* Parses the fields of the declaration of @o. If the object has been declared before, the
 * fields of this line replace those of the earlier one.
 */
static bool parse_object_fields(struct parser *p, struct line_tokens *w,
				struct rn_scn_object *o, enum rn_scn_verb verb)
{
	if (!o)
		return false;
	o->line.number = w->number;
	o->line.verb = verb;
	return parse_fields(p, w, &o->line);
}

static bool parse_device(struct parser *p, struct line_tokens *w)
{
	struct rn_token word = next_word(w);
	const struct {
		const char *word;
		bool *is_said;
	} words[] = {
		{ "ipv6", &p->s->ipv6 },   { "credits", &p->s->credits },
		{ "exact", &p->s->exact }, { "cc", &p->s->cc },
		{ "open", &p->s->open },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(words); i++)
		if (rn_token_is(word, words[i].word)) {
			*words[i].is_said = true;
			return true;
		}
	return refuse(w, word, "expected ipv6, credits, exact, cc or open", "");
}

static bool parse_qp(struct parser *p, struct line_tokens *w)
{
	struct rn_scenario *s = p->s;
	struct rn_scn_object *o = declare_object(w, s->qp, &s->qps, RN_SCN_QPS);
	struct rn_token word;
	uint64_t type;

	if (!o)
		return false;
	word = peek_word(w);
	if (find_word(rn_scn_qp_types, word.at, word.len, &type)) {
		next_word(w);
		o->type = (enum rn_qp_type)type;
	} else if (!o->type) {
		return refuse(w, word,
			      "expected a type: rc, uc, ud, xrc_send or xrc_recv", "");
	}
	return parse_object_fields(p, w, o, RN_SCN_QP);
}

/* ---------------------------------------------------------------- timed lines */
/* Parses the time of a line: "+0", "+5us" or "+1T..4T". */
static bool parse_time(struct line_tokens *w, struct rn_scn_line *l)
{
	struct rn_token word = next_word(w);
	struct rn_token first = { word.at + 1, word.len - 1 }, last;

	for (size_t i = 0; i + 1 < first.len; i++) {
		if (first.at[i] != '.' || first.at[i + 1] != '.')
			continue;
		last = (struct rn_token){ first.at + i + 2, first.len - i - 2 };
		first.len = i;
		if (parse_duration(first, &l->from) && parse_duration(last, &l->to))
			return true;
		return refuse(w, word, "expected a time, as +5us or +1T..4T", "");
	}
	if (!parse_duration(first, &l->from))
		return refuse(w, word, "expected a time, as +5us or +1T..4T", "");
	l->to = l->from;
	return true;
}

static bool parse_object(struct line_tokens *w, const struct rn_scn_object *o,
			 unsigned count, uint8_t *index, const char *what)
{
	struct rn_token name = next_word(w);

	for (unsigned i = 0; i < count; i++) {
		if (!rn_token_is(name, o[i].name))
			continue;
		*index = (uint8_t)i;
		return true;
	}
	return refuse(w, name, "expected the name of ", what);
}

static bool parse_opcode(struct line_tokens *w, struct rn_scn_line *l)
{
	struct rn_token word = next_word(w);

	for (unsigned i = 0; i < 256; i++) {
		if (!rn_opcode_info[i].name || !rn_token_is(word, rn_opcode_info[i].name))
			continue;
		l->opcode = (uint8_t)i;
		return true;
	}
	return refuse(w, word, "expected an opcode, as RC_SEND_ONLY", "");
}

static bool parse_named(struct line_tokens *w, struct rn_scn_line *l,
			const struct rn_scn_word *table, const char *what)
{
	struct rn_token word = next_word(w);
	uint64_t value;

	if (!find_word(table, word.at, word.len, &value))
		return refuse(w, word, "expected the name of ", what);
	l->name = (uint16_t)value;
	return true;
}

/* Parses the name of a QP. If a line with the verb of @l may be about an SRQ, the name of
 * an SRQ is accepted, too.
 */
static bool parse_queue(struct parser *p, struct line_tokens *w, struct rn_scn_line *l)
{
	struct rn_token name = peek_word(w);
	struct rn_scenario *s = p->s;

	l->of_srq = l->verb == RN_SCN_LIMIT;
	if (l->verb == RN_SCN_RECV || l->verb == RN_SCN_EVENT)
		l->of_srq = find_object(s->srq, s->srqs, name) &&
			    !find_object(s->qp, s->qps, name);
	return l->of_srq ? parse_object(w, s->srq, s->srqs, &l->subject, "an SRQ")
			 : parse_object(w, s->qp, s->qps, &l->subject, "a queue pair");
}

/* Some words stand for another verb in a line about a connection. Returns the verb for
 * which the word of @verb stands in such a line; @verb itself if it is the same.
 */
static enum rn_scn_verb about_connection(enum rn_scn_verb verb)
{
	static const enum rn_scn_verb pairs[][2] = {
		{ RN_SCN_INJECT, RN_SCN_MAD_IN },  { RN_SCN_PACKET, RN_SCN_MAD_OUT },
		{ RN_SCN_EVENT, RN_SCN_CM_EVENT }, { RN_SCN_STATE, RN_SCN_CM_STATE },
		{ RN_SCN_QUERY, RN_SCN_CM_QUERY },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(pairs); i++)
		if (pairs[i][0] == verb)
			return pairs[i][1];
	return verb;
}

static bool parse_connection(struct parser *p, struct line_tokens *w,
			     struct rn_scn_line *l)
{
	const struct rn_scenario *s = p->s;

	l->verb = about_connection(l->verb);
	if (!parse_object(w, s->conn, s->conns, &l->subject, "a connection"))
		return false;
	if (l->verb == RN_SCN_CM_EVENT)
		return parse_named(w, l, rn_scn_cm_events, "an event of a connection");
	if (l->verb == RN_SCN_CM_STATE)
		return parse_named(w, l, rn_scn_cm_states, "a state of a connection");
	if (l->verb != RN_SCN_MAD_IN && l->verb != RN_SCN_MAD_OUT)
		return true;
	if (!parse_named(w, l, rn_scn_mads, "a message, as REQ"))
		return false;
	l->opcode = (uint8_t)l->name;
	return true;
}

static bool parse_counter(struct line_tokens *w, struct rn_scn_line *l)
{
	struct rn_token word = peek_word(w);
	uint64_t value;

	if (!find_word(rn_scn_cm_counters, word.at, word.len, &value))
		return parse_named(w, l, rn_scn_counters, "a counter");
	l->verb = RN_SCN_CM_COUNT;
	return parse_named(w, l, rn_scn_cm_counters, "a counter");
}

static bool parse_subject(struct parser *p, struct line_tokens *w, struct rn_scn_line *l)
{
	const struct rn_scenario *s = p->s;
	struct rn_token name = peek_word(w);

	if (rn_scn_is_cm_call(l->verb) || (about_connection(l->verb) != l->verb &&
					   find_object(p->s->conn, s->conns, name) &&
					   !find_object(p->s->qp, s->qps, name)))
		return parse_connection(p, w, l);
	switch ((int)l->verb) {
	case RN_SCN_QUIET:
	case RN_SCN_END:
	case RN_SCN_HOLD:
	case RN_SCN_GO:
		return true;
	case RN_SCN_DEREG:
	case RN_SCN_UNMAP:
		return parse_object(w, s->mr, s->mrs, &l->subject, "a region");
	case RN_SCN_CHECK:
		return parse_field(p, w, l, RN_F_AT);
	case RN_SCN_COUNT:
		return parse_counter(w, l);
	case RN_SCN_ARM:
	case RN_SCN_COMP:
		if (!parse_named(w, l, rn_scn_queues, "a queue: send or recv"))
			return false;
		l->subject = (uint8_t)l->name;
		return true;
	default:
		break;
	}
	if (!parse_queue(p, w, l))
		return false;
	if (l->verb == RN_SCN_INJECT || l->verb == RN_SCN_PACKET)
		return parse_opcode(w, l);
	if (l->verb == RN_SCN_EVENT)
		return parse_named(w, l, rn_scn_events, "an event");
	return true;
}

static bool parse_verb(struct line_tokens *w, struct rn_scn_line *l)
{
	struct rn_token word = next_word(w);

	if (rn_token_is(word, ">?")) {
		l->verb = RN_SCN_PACKET;
		l->given |= RN_F_BIT(RN_F_OPTIONAL);
		return true;
	}
	for (unsigned i = RN_SCN_POST; i < RN_SCN_VERBS; i++) {
		if (!rn_token_is(word, rn_scn_verb_name[i]))
			continue;
		l->verb = (enum rn_scn_verb)i;
		return true;
	}
	return refuse(w, word, "expected what happens, one of rocin-scenario(5)", "");
}

static bool is_expectation(enum rn_scn_verb verb)
{
	return verb == RN_SCN_PACKET || verb == RN_SCN_WC || verb == RN_SCN_EVENT ||
	       verb == RN_SCN_COMP || verb == RN_SCN_MAD_OUT || verb == RN_SCN_CM_EVENT;
}

static bool parse_line(struct parser *p, struct line_tokens *w, bool timed)
{
	struct rn_scn_line *l = &p->s->line[p->s->lines];
	struct rn_token start = peek_word(w);

	if (p->s->lines == RN_SCN_LINES)
		return refuse(w, start, "too many lines; 200 are enough", "");
	*l = (struct rn_scn_line){ .number = w->number };
	if (p->ended)
		return refuse(w, start, "nothing comes after end", "");
	if ((timed && !parse_time(w, l)) || !parse_verb(w, l) ||
	    !parse_subject(p, w, l) || !parse_fields(p, w, l))
		return false;
	if ((l->from.ns != l->to.ns || l->from.timeouts != l->to.timeouts) &&
	    !is_expectation(l->verb))
		return refuse(w, start, "only what is expected may have a range", "");
	p->ended = l->verb == RN_SCN_END;
	p->s->lines++;
	return true;
}

/* ------------------------------------------------------------------- the file */
typedef bool parse_fn(struct parser *p, struct line_tokens *w);

/* Calls @parse for each line of @text that has a word before its comment. @number: 0 if
 * @text is the whole file; then parse_rules() is called for the first line instead. If
 * @text is that of a built-in setup, @number is the line of the file that names the
 * setup, and errors are reported for that line.
 */
static bool parse_lines(struct parser *p, const char *text, size_t len, uint32_t number,
			parse_fn *parse)
{
	const char *end = text + len;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *comment;
		struct line_tokens w = {
			.begin = text,
			.at = text,
			.end = newline ? newline : end,
			.number = number ? number : ++p->number,
			.err = p->err,
		};

		text = newline ? newline + 1 : end;
		if (!number && p->number == 1) {
			if (!parse_rules(p, &w))
				return false;
			continue;
		}
		comment = memchr(w.begin, '#', (size_t)(w.end - w.begin));
		if (comment)
			w.end = comment;
		if (peek_word(&w).len && !parse(p, &w))
			return false;
	}
	return true;
}

static bool parse_declaration(struct parser *p, struct line_tokens *w)
{
	struct rn_scenario *s = p->s;
	struct rn_token word = peek_word(w);
	const struct {
		const char *word;
		enum rn_scn_verb verb;
		struct rn_scn_object *objects;
		unsigned *count, max;
	} kinds[] = {
		{ "mr", RN_SCN_MR, s->mr, &s->mrs, RN_SCN_MRS },
		{ "mw", RN_SCN_MW, s->mr, &s->mrs, RN_SCN_MRS },
		{ "srq", RN_SCN_SRQ, s->srq, &s->srqs, RN_SCN_SRQS },
		{ "conn", RN_SCN_CONN, s->conn, &s->conns, RN_SCN_CONNS },
	};

	if (rn_token_is(word, "recv") || rn_token_is(word, "end"))
		return parse_line(p, w, false);
	next_word(w);
	for (size_t i = 0; i < RN_ARRAY_SIZE(kinds); i++)
		if (rn_token_is(word, kinds[i].word))
			return parse_object_fields(p, w,
						   declare_object(w, kinds[i].objects,
								  kinds[i].count,
								  kinds[i].max),
						   kinds[i].verb);
	if (rn_token_is(word, "qp"))
		return parse_qp(p, w);
	if (rn_token_is(word, "device"))
		return parse_device(p, w);
	return refuse(w, word,
		      "expected setup, device, mr, mw, srq, qp, conn, recv, end "
		      "or a time as +0",
		      "");
}

static bool parse_of_setup(struct parser *p, struct line_tokens *w)
{
	return peek_word(w).at[0] == '+' ? parse_line(p, w, true)
					 : parse_declaration(p, w);
}

static bool parse_setup(struct parser *p, struct line_tokens *w)
{
	struct rn_token word = next_word(w);
	const char *text = find_setup(word.at, word.len);

	if (!text)
		return refuse(w, word, "there is no such setup; they are: ", setup_names);
	if (peek_word(w).len)
		return refuse(w, peek_word(w), "expected the end of the line", "");
	return parse_lines(p, text, strlen(text), w->number, parse_of_setup);
}

static bool parse_statement(struct parser *p, struct line_tokens *w)
{
	struct rn_token word = peek_word(w);

	if (!rn_token_is(word, "setup"))
		return parse_of_setup(p, w);
	next_word(w);
	return parse_setup(p, w);
}

int rn_scenario_parse(struct rn_scenario *s, const char *text, size_t len,
		      struct rn_scn_error *err)
{
	struct parser p = { .s = s, .err = err };
	struct line_tokens nowhere = {
		.begin = text, .at = text, .end = text, .err = err
	};

	memset(s, 0, sizeof(*s));
	memset(err, 0, sizeof(*err));
	if (!parse_lines(&p, text, len, 0, parse_statement))
		return -EPROTO;
	nowhere.number = p.number + 1;
	if (!p.ended) {
		refuse(&nowhere, (struct rn_token){ text, 0 },
		       "the last line is \"end\" or \"end quiet\"", "");
		return -EPROTO;
	}
	return 0;
}
