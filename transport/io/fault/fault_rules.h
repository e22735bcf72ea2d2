/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_rules.h - fault rules: each says which packets are hit, and by which fault. Reads
 * rules from text, and evaluates them for one packet after another. rocin-fault(5)
 * describes the language.
 *
 * Every packet is compared with every rule, whatever other rules do to the packet. So
 * rules, and their random numbers, do not affect each other. The same seed, rules and
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
	RN_FAULT_RULES_MAX = 64, /* a verdict has one bit for each rule */
	/* bytes of the text of a rule set, including the NUL */
	RN_FAULT_TEXT_MAX = 32768,
	RN_FAULT_SETS_MAX = 4, /* number of fields that one rule can rewrite */
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
	RN_FAULT_DUPLICATE, /* send the packet and @copies more copies of it */
	RN_FAULT_DELAY,	    /* send the packet later by @time */
	RN_FAULT_REORDER,   /* send the packet behind the next @places packets */
	RN_FAULT_CORRUPT,   /* change one byte of the packet */
	RN_FAULT_MARK,	    /* set the ECN mark "congestion experienced" */
	RN_FAULT_SET,	    /* rewrite header fields */
	/* drop the packet, and send its sender a NAK with @syndrome */
	RN_FAULT_NAK,
	RN_FAULT_KILL,	  /* move the local QP to ERR */
	RN_FAULT_OVERRUN, /* overrun a CQ of the local QP */
	/* take the link down for @time (0: until the rule is removed) */
	RN_FAULT_CUT,
	RN_FAULT_FAIL, /* make a verbs call fail with @error; not a fault of packets */
	RN_FAULT_ACTS
};

/* A header field: some bits of a big-endian number of @len bytes. */
struct rn_fault_field {
	const char *name; /* name such as "bth.psn" */
	uint32_t header;  /* RN_OP_* flag of the header that has the field; 0: the BTH */
	/* offset of the number from the start of the header, in bytes */
	uint8_t offset;
	uint8_t len;   /* length of the number in bytes, 1 .. 8 */
	uint8_t shift; /* bit number of the field's lowest bit in the number */
	uint8_t bits;
};

struct rn_fault_change {
	const struct rn_fault_field *field;
	uint64_t value;
};

struct rn_fault_rule {
	/* Conditions on packets. A member that is 0 or empty matches every packet. */
	char dev[32];	  /* name of the device, such as "rocin0" */
	char program[16]; /* name of the process, as in /proc/PID/comm */
	int32_t pid;
	bool in_dir[RN_FAULT_DIRS];
	uint32_t qpn; /* number of the local QP */
	/* number of the local QP in the order in which the process has created its QPs,
	 * from 1
	 */
	uint32_t qp;
	uint64_t ops[RN_FAULT_OPS / 64]; /* bit set of BTH opcodes */
	/* Bit set of the CM messages to match. The bit number of a message is its
	 * attribute ID - RN_CM_REQ. 0: no condition.
	 */
	uint16_t mads;
	bool has_psn;
	uint32_t psn_first, psn_last; /* first and last PSN of a range, which may wrap */
	/* RN_FAULT_FAIL: index of the verbs call in rn_fault_calls */
	uint32_t call;

	/* The next five members say which of the matching packets are hit: of the
	 * packets @nth to @nth_last, every @every-th, each of these with the probability
	 * @chance, and at most @count in all.
	 */
	/* First and last of the matching packets that can be hit, counted from 1;
	 * @nth_last 0: there is no last one.
	 */
	uint64_t nth, nth_last;
	uint64_t every;
	uint32_t chance; /* probability in parts per million */
	uint64_t count;	 /* maximum number of packets to be hit; 0: no limit */

	enum rn_fault_act act;
	uint32_t copies;
	/* DELAY: the delay of the packet. CUT: time until the link is up again; 0: it is
	 * up again when the rule is removed.
	 */
	rn_ns time;
	uint32_t places;
	bool has_at;
	/* CORRUPT: offset in bytes, counted from the BTH; if negative, from the end of
	 * the packet: -1 is the last byte of the ICRC.
	 */
	int32_t at;
	/* CORRUPT: value that is XORed into the byte; 0: invert one bit, chosen at random
	 */
	uint8_t flip;
	/* CORRUPT, SET: compute the ICRC again after the change */
	bool good_icrc;
	uint8_t syndrome;
	bool of_send_cq; /* OVERRUN: overrun the send CQ rather than the receive CQ */
	int error;	 /* FAIL: positive errno value */
	unsigned changes;
	struct rn_fault_change change[RN_FAULT_SETS_MAX];

	unsigned number; /* number of the rule in its text, from 0 */
	/* the rule has no conditions on packets, so that CUT takes effect at once */
	bool is_unconditional;
	/* hash of the rule's text, which identifies the same rule in another set */
	uint64_t id;

	uint64_t seen; /* number of packets that matched the conditions so far */
	uint64_t hits;
	/* Random numbers for @chance and for @at. For packets that have a fate
	 * (rn_fault_fate()), these are seeds, from which the numbers are computed
	 * together with the fate. Otherwise these are the states of random number
	 * generators.
	 */
	uint64_t dice, where;
};

struct rn_fault_rules {
	uint64_t seed;
	unsigned count;
	struct rn_fault_rule rule[RN_FAULT_RULES_MAX];
};

/* The properties of a packet that rules compare. */
struct rn_fault_packet {
	enum rn_fault_dir dir;
	uint8_t opcode;
	uint16_t mad; /* attribute of the packet's CM message; 0: it has none */
	uint32_t psn;
	uint32_t qpn; /* number of the local QP; 0: not known */
	/* number of that QP in the order of creation, from 1; 0: not known */
	uint32_t qp;
	/* True: random numbers for the packet are computed from @fate (rn_fault_fate());
	 * false: they are drawn one after the other.
	 */
	bool has_fate;
	uint64_t fate;
};

/* Names of the verbs calls that can fail, indexed by rn_fault_rule.call. */
extern const char *const rn_fault_calls[];
extern const unsigned rn_fault_call_count;

/* ----------------------------------------------------------------- reading rules */
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

/* Read a file with rules. Return: its text, which the caller frees by free(); or NULL
 * with errno and an error text: EINVAL (the file contains a NUL), EFBIG, or why the file
 * cannot be read.
 */
char *rn_fault_file(const char *path, char *err, size_t err_len);

/* The short form of faults: probabilities for sent packets, in parts per million. */
struct rn_fault_spec {
	uint32_t drop;
	uint32_t dup;	  /* duplicate a packet */
	uint32_t reorder; /* send a packet after the next one */
	uint32_t corrupt; /* invert one bit of a packet */
	uint64_t seed;
};

/**
 * rn_fault_parse() - Read "drop=1%,dup=0.5%,reorder=1%,corrupt=0.1%,seed=7"
 * @text:	Any of these items, in any order, each at most once; percentages of 0 to
 *		100 with up to four decimals. A probability that is left out is 0, the
 *		seed 1
 * @spec:	Out; untouched on failure
 * @err:	Out on failure: the error text, one sentence
 *
 * Return: 0 or -EINVAL.
 */
int rn_fault_parse(const char *text, struct rn_fault_spec *spec, char *err,
		   size_t err_len);

/* Convert the short form into rules. Each of these has random numbers of its own, which
 * do not depend on the other rules.
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

/* ----------------------------------------------------- reading numbers and words */
/* Functions that read a number or a word in a text about faults. Each reads @len bytes at
 * @s, which need no NUL, and returns false, with nothing written, if they are not as
 * expected. strtod() is not used, because the program may have set a locale in which the
 * decimal point is a comma.
 */

/* Return: true if the bytes are the word @word. */
static inline bool rn_fault_is_word(const char *s, size_t len, const char *word)
{
	return rn_token_is((struct rn_token){ s, len }, word);
}

/* Read a percentage such as "12.5%", from 0 to 100 and with up to four decimals. @ppm:
 * out: parts per million.
 */
bool rn_fault_percent(const char *s, size_t len, uint64_t *ppm);

/* Read a decimal number of up to 19 digits. */
static inline bool rn_fault_decimal(const char *s, size_t len, uint64_t *value)
{
	return len <= 19 && rn_token_digits((struct rn_token){ s, len }, 10, value);
}

/* Read a time such as "20us", "1.5ms" or "3s": more than 0, at most an hour. */
bool rn_fault_time(const char *s, size_t len, rn_ns *time);

/* ---------------------------------------------------------------------- rule sets */
/* Remove the rules that cannot match on this device and in this process. */
void rn_fault_rules_select(struct rn_fault_rules *rules, const char *dev, int32_t pid,
			   const char *program);

/* Append the rules of @more, as many as there is room for. The random numbers of the
 * appended rules depend on the seed of @more.
 */
void rn_fault_rules_append(struct rn_fault_rules *rules,
			   const struct rn_fault_rules *more);

/* For each rule of @rules that is also in @old, take over from there its counts and the
 * states of its random numbers.
 */
void rn_fault_rules_carry(struct rn_fault_rules *rules, const struct rn_fault_rules *old);

/* Return: true if a rule has a condition on the local QP of a packet. */
bool rn_fault_rules_want_qp(const struct rn_fault_rules *rules);

/* Return: true if a rule for packets uses random numbers. */
bool rn_fault_rules_have_chance(const struct rn_fault_rules *rules);

/* Return: true if a rule affects packets. */
bool rn_fault_rules_meet_packets(const struct rn_fault_rules *rules);

/* Return: true if a rule makes verbs calls fail. */
bool rn_fault_rules_meet_calls(const struct rn_fault_rules *rules);

/* -------------------------------------------------------------- evaluating rules */
/* Evaluate all rules for one packet, and count the packet. Return: the verdict, a bit set
 * of the indices of the rules that hit the packet.
 */
uint64_t rn_fault_judge(struct rn_fault_rules *rules, const struct rn_fault_packet *p);

/* Evaluate the rules for one call of the verbs function whose index in rn_fault_calls is
 * @call, and count the call. Return: the positive errno with which it must fail, or 0.
 */
int rn_fault_judge_call(struct rn_fault_rules *rules, uint32_t call);

/* -------------------------------------------------------------- fates of packets */
/* The fate of a packet is a number from which the random numbers for the packet are
 * computed. In another run of the program the same packet has the same fate, so that
 * with the same seed the rules do the same to it.
 *
 * QPNs, PSNs, ports and the order of packets of several queue pairs differ from run to
 * run. The fate is computed from what stays the same: the number of the queue pair in the
 * order in which its process has created them; the direction of the packet; whether it is
 * a request or a response; its PSN relative to the first one of the connection; and how
 * often this PSN has passed before. Datagrams, whose PSNs mean nothing to the receiver,
 * are numbered as they pass.
 */

enum {
	RN_FAULT_NO_PSN = UINT32_MAX
};

struct rn_fault_fates;

/* Allocate what fates are computed from: the streams of packets seen so far, and counts.
 * Return: NULL if there is no memory.
 */
struct rn_fault_fates *rn_fault_fates_new(void);
void rn_fault_fates_free(struct rn_fault_fates *fates);

/**
 * rn_fault_fate() - Compute the fate of packet @p, and count that it has passed
 * @first:	First PSN of the requests of its connection and direction;
 *		RN_FAULT_NO_PSN: not known; the PSN of the first packet that passed
 *		is used
 *
 * If there is no memory for a new queue pair, all its packets have the same fate.
 */
uint64_t rn_fault_fate(struct rn_fault_fates *fates, const struct rn_fault_packet *p,
		       uint32_t first);

/* Return: true if the packet is a request of the peer or this device's response to one;
 * false if it is a request of this device or the peer's response to one.
 */
bool rn_fault_is_of_peer(const struct rn_fault_packet *p);

/* -------------------------------------------------------------- changing packets */
/* Functions that change the bytes of a packet as a rule demands. */

enum {
	RN_FAULT_NAK_LEN = 20, /* length of a NAK: BTH, AETH and ICRC */
};

/* State of the ICRC of a packet that was changed. */
enum rn_fault_icrc {
	RN_FAULT_ICRC_KEPT, /* unchanged */
	/* the ICRC must be computed again, because the packet was changed */
	RN_FAULT_ICRC_STALE,
	/* the ICRC is wrong on purpose, and is left so */
	RN_FAULT_ICRC_WRONG,
};

/* Fill in opcode, PSN and CM attribute of @p from the packet @pkt. Return: true; false,
 * with nothing written, if the packet is shorter than a BTH and an ICRC.
 */
bool rn_fault_look(const uint8_t *pkt, uint32_t len, struct rn_fault_packet *p);

/* Apply a CORRUPT or SET rule to a packet of @len bytes, BTH to ICRC. Nothing is changed
 * if the packet is too short to have the byte or field. @fate: the fate of the packet,
 * or NULL. @icrc: state of the packet's ICRC, which is updated; RN_FAULT_ICRC_WRONG
 * stays as it is.
 */
void rn_fault_edit(struct rn_fault_rule *rule, const uint64_t *fate, uint8_t *pkt,
		   uint32_t len, enum rn_fault_icrc *icrc);

/* Write into @nak a packet that answers @request with the AETH @aeth. Its ICRC is right
 * for IPv4 identification 0. @request: the request, at least its BTH. @flow: addresses
 * of the answer. @dest_qpn: QPN of the requester.
 */
void rn_fault_answer(uint8_t nak[RN_FAULT_NAK_LEN], const uint8_t *request,
		     const struct rn_flow *flow, uint32_t dest_qpn,
		     const struct rn_aeth *aeth);

/* Change the MSN in a packet from rn_fault_answer(), and compute its ICRC again. */
void rn_fault_answer_msn(uint8_t nak[RN_FAULT_NAK_LEN], const struct rn_flow *flow,
			 uint32_t msn);

#endif /* RN_FAULT_RULES_H */
