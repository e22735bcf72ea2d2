/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_rules.h - fault rules: which packets a fault happens to, and which fault. Reading
 * rules from text, and evaluating them for one packet after the other. rocin-fault(5)
 * describes the language.
 *
 * Every packet is checked against every rule, whatever other rules do to it, so that
 * rules and their random numbers do not affect each other. The same seed, rules and
 * packets give the same verdicts, whatever packets came before: see rn_fault_fate().
 *
 * Threads: no hidden state; a set of rules belongs to one thread at a time.
 */
#ifndef RN_FAULT_RULES_H
#define RN_FAULT_RULES_H

#include "rocin/token.h"
#include "rocin/types.h"
#include "rocin/wire.h"

struct rn_flow;

enum {
	RN_FAULT_RULES_MAX = 64, /* one bit of a verdict for each rule */
	/* Bytes of the text of a rule set, including the NUL. */
	RN_FAULT_TEXT_MAX = 32768,
	RN_FAULT_SETS_MAX = 4, /* fields that one rule can rewrite */
	RN_FAULT_OPS = 256,
};

/* Direction of a packet, as seen by the device that has the rules. */
enum rn_fault_dir {
	RN_FAULT_TX,
	RN_FAULT_RX,
	RN_FAULT_DIRS
};

enum rn_fault_act {
	RN_FAULT_DROP,
	RN_FAULT_DUPLICATE, /* send @copies more */
	RN_FAULT_DELAY,	    /* send it @time later */
	RN_FAULT_REORDER,   /* send it behind the next @places packets */
	RN_FAULT_CORRUPT,   /* change one byte */
	RN_FAULT_MARK,	    /* set the ECN mark "congestion experienced" */
	RN_FAULT_SET,	    /* rewrite header fields */
	RN_FAULT_NAK,	    /* drop it, and answer its sender with @syndrome */
	RN_FAULT_KILL,	    /* move the local QP to ERR */
	RN_FAULT_OVERRUN,   /* overrun a CQ of the local QP */
	RN_FAULT_CUT,	    /* take the link down for @time */
	RN_FAULT_FAIL, /* make a verbs call fail with @error; applies to no packets */
	RN_FAULT_ACTS
};

/* A header field: some bits of a big-endian number of @len bytes. */
struct rn_fault_field {
	const char *name; /* "bth.psn" */
	uint32_t header;  /* RN_OP_* flag of its header; 0: the BTH */
	uint8_t offset;	  /* bytes from the start of the header */
	uint8_t len;	  /* 1 .. 8 bytes */
	uint8_t shift;	  /* number of its lowest bit */
	uint8_t bits;
};

struct rn_fault_change {
	const struct rn_fault_field *field;
	uint64_t value;
};

struct rn_fault_rule {
	/* Conditions on packets. A field that is 0 or empty matches everything. */
	char dev[32];	  /* "rocin0" */
	char program[16]; /* name as in /proc/PID/comm */
	int32_t pid;
	bool in_dir[RN_FAULT_DIRS];
	uint32_t qpn; /* number of the local QP */
	uint32_t qp;  /* the local QP is number @qp of the process, from 1 */
	uint64_t ops[RN_FAULT_OPS / 64]; /* one bit for each BTH opcode */
	/* Bit (attribute - RN_CM_REQ) for each CM message; 0: any packet. */
	uint16_t mads;
	bool has_psn;
	uint32_t psn_first, psn_last; /* a range that may wrap */
	uint32_t call;		      /* RN_FAULT_FAIL: index in rn_fault_calls */

	/* Which of the matching packets are hit: those from the nth to nth_last, each of
	 * them or each every-th, with a probability, and at most so many.
	 */
	uint64_t nth, nth_last; /* counted from 1; nth_last 0: without end */
	uint64_t every;
	uint32_t chance; /* probability in parts per million */
	uint64_t count;	 /* most packets to be hit; 0: no limit */

	enum rn_fault_act act;
	uint32_t copies;
	rn_ns time; /* CUT with 0: until the rule is removed */
	uint32_t places;
	bool has_at;
	/* CORRUPT: index of the byte from the BTH on; negative: from the end, -1 being
	 * the last byte of the ICRC.
	 */
	int32_t at;
	uint8_t flip;	/* CORRUPT: XORed into the byte; 0: invert one random bit */
	bool good_icrc; /* CORRUPT, SET: compute the ICRC again afterwards */
	uint8_t syndrome;
	bool of_send_cq; /* OVERRUN: the send CQ, rather than the receive CQ */
	int error;	 /* FAIL: positive errno */
	unsigned changes;
	struct rn_fault_change change[RN_FAULT_SETS_MAX];

	unsigned number;       /* position in the text that it came from, from 0 */
	bool is_unconditional; /* no conditions on packets: CUT begins at once */
	/* Hash of the rule's text: identifies the same rule in another set. */
	uint64_t id;

	uint64_t seen; /* packets that match the conditions */
	uint64_t hits;
	/* Random numbers for @chance and @at: seeds if packets have a
	 * fate, else states.
	 */
	uint64_t dice, where;
};

struct rn_fault_rules {
	uint64_t seed;
	unsigned count;
	struct rn_fault_rule rule[RN_FAULT_RULES_MAX];
};

/* What rules check of a packet. */
struct rn_fault_packet {
	enum rn_fault_dir dir;
	uint8_t opcode;
	uint16_t mad; /* attribute of a CM message; 0: not a CM message */
	uint32_t psn;
	uint32_t qpn; /* number of the local QP; 0: not known */
	uint32_t qp;  /* its number in order of creation, from 1; 0: not known */
	/* Random numbers are computed from @fate if has_fate, else drawn in sequence. */
	bool has_fate;
	uint64_t fate;
};

/* Names of the verbs calls that can fail; rn_fault_rule.call is an index. */
extern const char *const rn_fault_calls[];
extern const unsigned rn_fault_call_count;

/* ----------------------------------------------------------------------- reading */
/**
 * rn_fault_rules_parse() - Read rules: one per line, or several separated by ";"
 * @text:	At most RN_FAULT_TEXT_MAX bytes
 * @name:	Name of the text for error messages, such as a file name
 * @rules:	Out; untouched on failure
 * @err:	Out on failure: "NAME:LINE: what is wrong and what is expected"
 *
 * Return: 0, or -EINVAL.
 */
int rn_fault_rules_parse(const char *text, const char *name, struct rn_fault_rules *rules,
			 char *err, size_t err_len);

/* Read a file with rules. Return: its text, for free(); NULL with errno and a sentence:
 * EINVAL (the file contains a NUL), EFBIG, or why it cannot be read.
 */
char *rn_fault_file(const char *path, char *err, size_t err_len);

/* The short form: probabilities for sent packets, in parts per million. */
struct rn_fault_spec {
	uint32_t drop;
	uint32_t dup;	  /* sent twice */
	uint32_t reorder; /* sent after the next packet */
	uint32_t corrupt; /* one bit inverted */
	uint64_t seed;
};

/**
 * rn_fault_parse() - Read "drop=1%,dup=0.5%,reorder=1%,corrupt=0.1%,seed=7"
 * @text:	Any of these items, in any order, each at most once; percentages of 0 to
 *		100 with up to four decimals. The default is 0, of the seed 1
 * @spec:	Out; untouched on failure
 * @err:	Out on failure: the error text, one sentence
 *
 * Return: 0 or -EINVAL.
 */
int rn_fault_parse(const char *text, struct rn_fault_spec *spec, char *err,
		   size_t err_len);

/* Turn the short form into rules. Each rule has random numbers of its own, whatever the
 * other rules are.
 */
void rn_fault_of_spec(const struct rn_fault_spec *spec, struct rn_fault_rules *rules);

/**
 * rn_fault_read() - Read faults in any form: "@FILE", the short form, or rules
 * @text:	As in ROCIN_FAULT
 * @rules:	Out; untouched on failure
 *
 * Return: 0, or with an error text in @err: -EINVAL, -errno of open() and read(), -EFBIG.
 */
int rn_fault_read(const char *text, struct rn_fault_rules *rules, char *err,
		  size_t err_len);

/* ----------------------------------------------------------------------- numbers */
/* Numbers and words in texts about faults. Each function takes @len bytes at @s,
 * which need no NUL, and returns false, with nothing written, if they are not as
 * expected. strtod() is not used: the program may have set a locale in which the
 * decimal point is a comma.
 */

/* Are the bytes this word? */
static inline bool rn_fault_is_word(const char *s, size_t len, const char *word)
{
	return rn_token_is((struct rn_token){ s, len }, word);
}

/* A percentage such as "12.5%", 0 to 100 with up to four decimals, in
 * parts per million.
 */
bool rn_fault_percent(const char *s, size_t len, uint64_t *ppm);

/* A decimal number of up to 19 digits. */
bool rn_fault_decimal(const char *s, size_t len, uint64_t *value);

/* A time such as "20us", "1.5ms" or "3s": more than 0, at most an hour. */
bool rn_fault_time(const char *s, size_t len, rn_ns *time);

/* ------------------------------------------------------------------ sets of rules */
/* Keep only the rules that can match on this device and in this process. */
void rn_fault_rules_select(struct rn_fault_rules *rules, const char *dev, int32_t pid,
			   const char *program);

/* Add the rules of @more, as many as fit; their random numbers depend on its seed. */
void rn_fault_rules_append(struct rn_fault_rules *rules,
			   const struct rn_fault_rules *more);

/* A rule that is also in @old continues with the counts and random numbers
 * that it had there.
 */
void rn_fault_rules_carry(struct rn_fault_rules *rules, const struct rn_fault_rules *old);

/* Does a rule need the local QP of a packet? */
bool rn_fault_rules_want_qp(const struct rn_fault_rules *rules);

/* Does a rule for packets depend on random numbers? */
bool rn_fault_rules_have_chance(const struct rn_fault_rules *rules);

/* Is one of @rules about packets? */
bool rn_fault_rules_meet_packets(const struct rn_fault_rules *rules);

/* Is one of @rules about verbs calls? */
bool rn_fault_rules_meet_calls(const struct rn_fault_rules *rules);

/* ----------------------------------------------------------------------- judging */
/* Evaluate the rules for one packet, and count it. Return: a bit for each
 * rule that hits it.
 */
uint64_t rn_fault_judge(struct rn_fault_rules *rules, const struct rn_fault_packet *p);

/* The next one of the verbs calls numbered @call begins. Return: the positive errno with
 * which it is to fail, or 0.
 */
int rn_fault_judge_call(struct rn_fault_rules *rules, uint32_t call);

/* ------------------------------------------------------------------------- fates */
/* The fate of a packet is a number that is the same for the same packet in another run of
 * a program, so that the same seed has the same effect on it.
 *
 * QPNs, PSNs, ports and the order of packets of several queue pairs differ from run to
 * run. These stay the same: the queue pair, by the order in which its process created
 * them; the direction of the packet; whether it is a request or a response; its PSN
 * relative to the first of the connection; and how often this PSN has passed before.
 * Datagrams, whose PSNs are meaningless to the receiver, are numbered as they pass.
 */

enum {
	RN_FAULT_NO_PSN = UINT32_MAX
};

struct rn_fault_fates;

/* Return: NULL if there is no memory. */
struct rn_fault_fates *rn_fault_fates_new(void);
void rn_fault_fates_free(struct rn_fault_fates *fates);

/**
 * rn_fault_fate() - The fate of packet @p, and count it as having passed
 * @first:	First PSN of the requests of its connection and direction, or
 *		RN_FAULT_NO_PSN: the PSN of the first packet that passed
 *
 * If there is no memory for a new queue pair, all its packets have the same fate.
 */
uint64_t rn_fault_fate(struct rn_fault_fates *fates, const struct rn_fault_packet *p,
		       uint32_t first);

/* Does the packet belong to requests of the peer (and responses to them), rather than to
 * requests of our own?
 */
bool rn_fault_is_of_peer(const struct rn_fault_packet *p);

/* ------------------------------------------------------------------------- bytes */
/* What a rule does to the bytes of a packet. */

enum {
	RN_FAULT_NAK_LEN = 20, /* BTH, AETH, ICRC */
};

/* State of the ICRC of a packet that was changed. */
enum rn_fault_icrc {
	RN_FAULT_ICRC_KEPT,  /* unchanged */
	RN_FAULT_ICRC_STALE, /* has to be computed again */
	RN_FAULT_ICRC_WRONG, /* is to stay wrong */
};

/* Fill in opcode, PSN and CM attribute of a packet. Return: false, with nothing written,
 * if it is shorter than a BTH and an ICRC.
 */
bool rn_fault_look(const uint8_t *pkt, uint32_t len, struct rn_fault_packet *p);

/* Apply a CORRUPT or SET rule to @len bytes, BTH to ICRC. Bytes and fields beyond the end
 * of the packet are ignored. @icrc is updated; RN_FAULT_ICRC_WRONG stays.
 */
void rn_fault_edit(struct rn_fault_rule *rule, const uint64_t *fate, uint8_t *pkt,
		   uint32_t len, enum rn_fault_icrc *icrc);

/* Write an acknowledgement with @aeth to a request, with its ICRC for identification 0.
 * @request: at least the BTH; @flow: of the acknowledgement; @dest_qpn: the requester.
 */
void rn_fault_answer(uint8_t nak[RN_FAULT_NAK_LEN], const uint8_t *request,
		     const struct rn_flow *flow, uint32_t dest_qpn,
		     const struct rn_aeth *aeth);

/* Change the MSN of such an acknowledgement, and compute its ICRC again. */
void rn_fault_answer_msn(uint8_t nak[RN_FAULT_NAK_LEN], const struct rn_flow *flow,
			 uint32_t msn);

#endif /* RN_FAULT_RULES_H */
