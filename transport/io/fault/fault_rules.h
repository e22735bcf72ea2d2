/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_rules.h - which packets meet a fault, and which: rules, read from text, and the
 * engine that judges one packet after the other. rocin-fault(5) describes the language.
 *
 * Every packet meets every rule: what one rule does to it does not hide it from the
 * others, so that rules and their dice do not move each other. The same seed, rules and
 * packets give the same verdicts, whatever packets came before them: see rn_fault_fate().
 *
 * Threads: no hidden state; a set of rules belongs to one thread at a time.
 */
#ifndef RN_FAULT_RULES_H
#define RN_FAULT_RULES_H

#include "rocin/types.h"
#include "rocin/wire.h"
#include "rocin/word.h"

struct rn_flow;

enum {
	RN_FAULT_RULES_MAX = 64,   /* one bit each in a verdict */
	RN_FAULT_TEXT_MAX = 32768, /* bytes of the text of a set, with its NUL */
	RN_FAULT_SETS_MAX = 4,	   /* fields that one rule rewrites */
	RN_FAULT_OPS = 256,
};

/* Which way a packet goes, seen from the device that has the rules. */
enum rn_fault_dir {
	RN_FAULT_TX,
	RN_FAULT_RX,
	RN_FAULT_DIRS
};

enum rn_fault_act {
	RN_FAULT_DROP,
	RN_FAULT_DUPLICATE, /* @copies more */
	RN_FAULT_DELAY,	    /* by @time */
	RN_FAULT_REORDER,   /* behind the @places packets that follow */
	RN_FAULT_CORRUPT,   /* one byte */
	RN_FAULT_MARK,	    /* ECN: congestion experienced */
	RN_FAULT_SET,	    /* header fields */
	RN_FAULT_NAK,	    /* instead of it, its sender gets @syndrome */
	RN_FAULT_KILL,	    /* the local QP goes to ERR */
	RN_FAULT_OVERRUN,   /* a CQ of the local QP */
	RN_FAULT_CUT,	    /* the link is down for @time */
	RN_FAULT_FAIL,	    /* a verbs call fails with @error; meets no packets */
	RN_FAULT_ACTS
};

/* A field of a header: bits of a big-endian number of @len bytes. */
struct rn_fault_field {
	const char *name; /* "bth.psn" */
	uint32_t header;  /* RN_OP_* flag of the header; 0: the BTH */
	uint8_t offset;	  /* in the header, bytes */
	uint8_t len;	  /* 1 .. 8 bytes */
	uint8_t shift;	  /* of the lowest bit of the field */
	uint8_t bits;
};

struct rn_fault_change {
	const struct rn_fault_field *field;
	uint64_t value;
};

struct rn_fault_rule {
	/* Which packets. Fields that are 0 or empty match everything. */
	char dev[32];	  /* "rocin0" */
	char program[16]; /* as in /proc/PID/comm */
	int32_t pid;
	bool in_dir[RN_FAULT_DIRS];
	uint32_t qpn;			 /* of the local QP */
	uint32_t qp;			 /* the qp-th QP that the process made, from 1 */
	uint64_t ops[RN_FAULT_OPS / 64]; /* one bit for each BTH opcode */
	uint16_t mads; /* bit attribute - RN_CM_REQ of each CM message; 0: any packet */
	bool has_psn;
	uint32_t psn_first, psn_last; /* a range that may wrap */
	uint32_t call;		      /* RN_FAULT_FAIL: number in rn_fault_calls */

	/* Which of those: from the nth on to nth_last, every one or each every-th; of
	 * them by chance, and so many at most.
	 */
	uint64_t nth, nth_last; /* from 1; nth_last 0: no end */
	uint64_t every;
	uint32_t chance; /* parts per million */
	uint64_t count;	 /* 0: no limit */

	enum rn_fault_act act;
	uint32_t copies;
	rn_ns time; /* 0: CUT until the rule is gone */
	uint32_t places;
	bool has_at;
	int32_t at;	/* CORRUPT: byte from the BTH on; negative: from the end, -1 the
			 * last of the ICRC
			 */
	uint8_t flip;	/* CORRUPT: what the byte is xored with; 0: one bit by chance */
	bool good_icrc; /* CORRUPT, SET: the ICRC is made right afterwards */
	uint8_t syndrome;
	bool of_send_cq; /* OVERRUN: which */
	int error;	 /* FAIL: positive errno */
	unsigned changes;
	struct rn_fault_change change[RN_FAULT_SETS_MAX];

	unsigned number; /* in the text that it came from, from 0 */
	bool is_bare;	 /* names no packets: CUT begins at once */
	uint64_t id;	 /* of its text: the same rule in another set */

	uint64_t seen; /* packets that the first group of fields matches */
	uint64_t hits;
	uint64_t dice, where; /* of packets with a fate the seeds, else the states */
};

struct rn_fault_rules {
	uint64_t seed;
	unsigned count;
	struct rn_fault_rule rule[RN_FAULT_RULES_MAX];
};

/* What rules look at. */
struct rn_fault_packet {
	enum rn_fault_dir dir;
	uint8_t opcode;
	uint16_t mad; /* attribute of a CM message; 0: it is none */
	uint32_t psn;
	uint32_t qpn; /* of the local QP; 0: not known */
	uint32_t qp;  /* its number in order of creation, from 1; 0: not known */
	/* What the dice are thrown with; false: they are thrown in turn. */
	bool has_fate;
	uint64_t fate;
};

/* Names of the verbs calls that can fail, in the order of rn_fault_rule.call. */
extern const char *const rn_fault_calls[];
extern const unsigned rn_fault_call_count;

/* ----------------------------------------------------------------------- reading */
/**
 * rn_fault_rules_parse() - Read rules: one a line, or several with ";" between them
 * @text:	At most RN_FAULT_TEXT_MAX bytes
 * @name:	Of the text, for errors: a file, or what the user knows it as
 * @rules:	Out; untouched on failure
 * @err:	Out on failure: "NAME:LINE: what is wrong and what is expected"
 *
 * Return: 0, or -EINVAL.
 */
int rn_fault_rules_parse(const char *text, const char *name, struct rn_fault_rules *rules,
			 char *err, size_t err_len);

/* The text of a file, for free(); NULL with errno and a sentence: EINVAL (it has a NUL),
 * EFBIG, or why it cannot be read.
 */
char *rn_fault_file(const char *path, char *err, size_t err_len);

/* The short form: probabilities of packets sent, in parts per million. */
struct rn_fault_spec {
	uint32_t drop;
	uint32_t dup;	  /* sent twice */
	uint32_t reorder; /* sent after the next one */
	uint32_t corrupt; /* one bit inverted */
	uint64_t seed;
};

/**
 * rn_fault_parse() - Read "drop=1%,dup=0.5%,reorder=1%,corrupt=0.1%,seed=7"
 * @text:	Any of these, in any order, each at most once; percentages of 0 to 100
 * with up to four decimals. What is not named is 0; the seed is 1
 * @spec:	Out; untouched on failure
 * @err:	Out on failure: one sentence
 *
 * Return: 0 or -EINVAL.
 */
int rn_fault_parse(const char *text, struct rn_fault_spec *spec, char *err,
		   size_t err_len);

/* The same as rules. Each kind has dice of its own, whatever the others are. */
void rn_fault_of_spec(const struct rn_fault_spec *spec, struct rn_fault_rules *rules);

/**
 * rn_fault_read() - Read faults in any form: "@FILE", the short form, or rules
 * @text:	As in ROCIN_FAULT
 * @rules:	Out; untouched on failure
 *
 * Return: 0, -EINVAL, or -errno of open() and read(), or -EFBIG, with a sentence.
 */
int rn_fault_read(const char *text, struct rn_fault_rules *rules, char *err,
		  size_t err_len);

/* ----------------------------------------------------------------------- numbers */
/* Numbers and words as the texts about faults write them. Each function takes @len bytes
 * at @s, which need no NUL, and answers false, with nothing written, if they are not what
 * is read. No strtod(): the program may have set a locale in which the decimal point is a
 * comma.
 */

/* Is it this word? */
static inline bool rn_fault_is_word(const char *s, size_t len, const char *word)
{
	return rn_word_is((struct rn_word){ s, len }, word);
}

/* "12.5%": 0 to 100 with up to four decimals, to parts per million. */
bool rn_fault_percent(const char *s, size_t len, uint64_t *ppm);

/* Decimal, up to 19 digits. */
bool rn_fault_decimal(const char *s, size_t len, uint64_t *value);

/* "20us", "1.5ms", "3s": over 0, at most an hour. */
bool rn_fault_time(const char *s, size_t len, rn_ns *time);

/* ------------------------------------------------------------------ sets of rules */
/* Keep the rules that can match on this device and in this process. */
void rn_fault_rules_select(struct rn_fault_rules *rules, const char *dev, int32_t pid,
			   const char *program);

/* Add those of @more that fit; their dice are seeded by its seed. */
void rn_fault_rules_append(struct rn_fault_rules *rules,
			   const struct rn_fault_rules *more);

/* A rule that stands in @old too goes on where it was there: counts and dice. */
void rn_fault_rules_carry(struct rn_fault_rules *rules, const struct rn_fault_rules *old);

/* True if a rule must know the local QP of a packet. */
bool rn_fault_rules_want_qp(const struct rn_fault_rules *rules);

/* True if chance decides what becomes of a packet. */
bool rn_fault_rules_have_chance(const struct rn_fault_rules *rules);

/* True if one of @rules is about packets. */
bool rn_fault_rules_meet_packets(const struct rn_fault_rules *rules);

/* True if one of @rules is about verbs calls, which it makes fail. */
bool rn_fault_rules_meet_calls(const struct rn_fault_rules *rules);

/* ----------------------------------------------------------------------- judging */
/* Judge one packet. Return: a bit for each rule that hits it; they have counted it. */
uint64_t rn_fault_judge(struct rn_fault_rules *rules, const struct rn_fault_packet *p);

/* The next of the calls numbered @call begins. Return: positive errno that it is to fail
 * with, or 0.
 */
int rn_fault_judge_call(struct rn_fault_rules *rules, uint32_t call);

/* ------------------------------------------------------------------------- fates */
/* What makes a packet the same packet in another run of a program, so that the same seed
 * does the same to it.
 *
 * QPNs, PSNs, ports and the order of packets of several queue pairs differ from run to
 * run. What stays: the queue pair by the order in which its process made them; the way
 * the packet goes; whether it asks or answers; its PSN counted from the first of the
 * connection; and how often this PSN has passed before. Datagrams, whose PSNs mean
 * nothing to who receives them, are counted as they pass.
 */

enum {
	RN_FAULT_NO_PSN = UINT32_MAX
};

struct rn_fault_fates;

/* NULL without memory. */
struct rn_fault_fates *rn_fault_fates_new(void);
void rn_fault_fates_free(struct rn_fault_fates *fates);

/**
 * rn_fault_fate() - The number that @p has in every run
 * @first:	PSN that the requests of its connection and direction begin with, or
 *		RN_FAULT_NO_PSN: that of the first that passed
 *
 * Counts it as having passed. Without memory for a queue pair that is new all its packets
 * have the same number.
 */
uint64_t rn_fault_fate(struct rn_fault_fates *fates, const struct rn_fault_packet *p,
		       uint32_t first);

/* Does a packet with this opcode belong to what the peer asks, not to what we ask? */
bool rn_fault_is_of_peer(const struct rn_fault_packet *p);

/* ------------------------------------------------------------------------- bytes */
/* What a rule does to the bytes of one packet. */

enum {
	RN_FAULT_NAK_LEN = 20, /* BTH, AETH, ICRC */
};

/* What became of the ICRC of a packet. */
enum rn_fault_icrc {
	RN_FAULT_ICRC_KEPT,  /* as it was */
	RN_FAULT_ICRC_STALE, /* to be made right */
	RN_FAULT_ICRC_WRONG, /* left wrong on purpose */
};

/* Opcode and PSN for the judge. False: shorter than a BTH with its ICRC; nothing is
 * written.
 */
bool rn_fault_look(const uint8_t *pkt, uint32_t len, struct rn_fault_packet *p);

/* Carry out CORRUPT or SET on @len bytes, BTH to ICRC. Bytes and fields that the packet
 * does not reach stay. @icrc is brought up to date; WRONG stays.
 */
void rn_fault_edit(struct rn_fault_rule *rule, const uint64_t *fate, uint8_t *pkt,
		   uint32_t len, enum rn_fault_icrc *icrc);

/* The acknowledgement with @aeth to a request, signed for identification 0.
 * @request: at least a BTH; @flow: of the answer; @dest_qpn: the requester.
 */
void rn_fault_answer(uint8_t nak[RN_FAULT_NAK_LEN], const uint8_t *request,
		     const struct rn_flow *flow, uint32_t dest_qpn,
		     const struct rn_aeth *aeth);

/* Give an answer another MSN, and sign it again. */
void rn_fault_answer_msn(uint8_t nak[RN_FAULT_NAK_LEN], const struct rn_flow *flow,
			 uint32_t msn);

#endif /* RN_FAULT_RULES_H */
