/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scenario.h - a conformance scenario, parsed from a text file line by line.
 *
 *	# B5: A gap is answered by a NAK that names the PSN expected.
 *	setup rc0
 *	+0    < 1 RC_SEND_ONLY psn 102 len 64 ack
 *	+0    > 1 RC_ACK psn 100 nak psn_seq msn 0
 *	end quiet
 *
 * The first line names the rules that the file tests and states them in one sentence. A
 * declaration makes an object of the device under test: `mr NAME`, `mw NAME`, `srq NAME`,
 * `qp N TYPE`; `device WORD` sets a property of the device; `setup NAME` stands for
 * several declarations. A timed line does or expects something at a time, which counts
 * from the time of the line before. A packet with `<` arrives at the device, a packet
 * with `>` leaves the device. The scenario must expect all packets, completions and
 * events of the device.
 *
 * `conn NAME` is a connection between a program on the device and the peer, made by
 * messages of the connection manager (CM). A line may name a connection instead of a
 * queue pair; its packets are then CM messages and its events are CM events.
 *
 * Every line consists of a verb, the object that the line is about, and fields (words
 * with a value). The table in fields.c says which fields a verb may have. scene.h runs
 * scenarios.
 *
 * Threads: any; the only state is the caller's. No allocation.
 */
#ifndef RN_SCENARIO_H
#define RN_SCENARIO_H

#include "rocin/cm.h"
#include "rocin/opcode.h"
#include "rocin/queue_pair.h"

enum {
	RN_SCN_QPS = 8,
	RN_SCN_MRS = 8, /* maximum number of regions and memory windows */
	RN_SCN_SRQS = 4,
	RN_SCN_CONNS = 4,
	RN_SCN_LINES = 200, /* maximum number of timed lines */
	RN_SCN_RULES = 8,
	RN_SCN_NAME = 24, /* size of a name in bytes, including the terminating NUL */
};

/* What a line does. */
enum rn_scn_verb {
	RN_SCN_QP, /* this verb and the next four are declarations */
	RN_SCN_MR,
	RN_SCN_MW,
	RN_SCN_SRQ,
	RN_SCN_CONN,
	/* This verb and the following ones are calls of the program. A call whose line
	 * has the field `error' must fail.
	 */
	RN_SCN_POST,
	RN_SCN_RECV,
	RN_SCN_MODIFY,
	RN_SCN_REVIVE, /* brings a QP that is in RESET to the state of its declaration */
	RN_SCN_DEREG,
	RN_SCN_UNMAP, /* unmaps the memory of a region that stays registered */
	RN_SCN_ARM,   /* requests a completion event of a CQ */
	RN_SCN_LIMIT, /* sets the limit of an SRQ */
	RN_SCN_HOLD,  /* holds back all packets of the device until `go` */
	RN_SCN_GO,
	RN_SCN_JOIN, /* attaches the QP to the scenario's multicast group */
	RN_SCN_LEAVE,
	/* this verb and the following ones are calls about a connection; each is a
	 * function of cm.h
	 */
	RN_SCN_LISTEN,
	RN_SCN_UNLISTEN,
	RN_SCN_CONNECT,
	RN_SCN_ACCEPT,
	RN_SCN_READY,
	RN_SCN_REJECT,
	RN_SCN_MRA,
	RN_SCN_ESTABLISHED,
	RN_SCN_DISCONNECT,
	RN_SCN_CLOSE,
	RN_SCN_OFFER_PATH,
	RN_SCN_ANSWER_PATH,
	RN_SCN_ASK, /* asks for a datagram service of the peer (SIDR REQ) */
	RN_SCN_ANSWER,
	RN_SCN_INJECT, /* `<`: a packet arrives at the device */
	RN_SCN_PACKET, /* `>`: a packet leaves the device */
	RN_SCN_WC,
	RN_SCN_COMP, /* a completion event is expected */
	RN_SCN_EVENT,
	RN_SCN_STATE,
	RN_SCN_QUERY,
	RN_SCN_CHECK,
	RN_SCN_COUNT,
	/* Verbs of lines about a connection. In the file they are written like verbs
	 * above, which have these meanings in such lines.
	 */
	RN_SCN_MAD_IN,
	RN_SCN_MAD_OUT,
	RN_SCN_CM_EVENT,
	RN_SCN_CM_STATE,
	RN_SCN_CM_QUERY,
	RN_SCN_CM_COUNT,
	RN_SCN_QUIET, /* nothing may happen until this time */
	RN_SCN_END,
	RN_SCN_VERBS
};

/* The fields of lines, grouped by the form of their values. fields.c says which verbs may
 * have which fields.
 */
enum rn_scn_field {
	/* Fields whose values are numbers. */
	RN_F_PSN,
	RN_F_EPSN,
	RN_F_LEN,
	RN_F_DMALEN,
	RN_F_MSN,
	/* another MSN with which a live device may answer, besides the one in RN_F_MSN */
	RN_F_OR_MSN,
	RN_F_WR,
	RN_F_IMM,
	RN_F_RKEY_NUMBER,
	RN_F_PAD,
	RN_F_PKEY,
	RN_F_TVER,
	RN_F_DEST,
	RN_F_SRC,
	RN_F_QKEY,
	RN_F_ADD,
	RN_F_SWAP,
	RN_F_COMPARE,
	RN_F_ORIG,
	RN_F_CREDITS,
	RN_F_RNR,
	RN_F_SYNDROME,
	/* Number of a bit of the packet. It is inverted after the ICRC was computed. */
	RN_F_FLIP,
	/* Length in bytes. The packet is cut to it before the ICRC is computed. */
	RN_F_CUT,
	RN_F_TTL,
	RN_F_TOS,
	RN_F_SPORT,
	RN_F_MTU,
	RN_F_TIMEOUT,
	RN_F_RETRY,
	RN_F_RNR_RETRY,
	RN_F_RNR_TIMER,
	RN_F_RD,
	RN_F_DEST_RD,
	RN_F_PD,
	RN_F_SQ,
	RN_F_RQ,
	/* `counter': by how much the counter must have increased; `go': number of packets
	 * that may leave
	 */
	RN_F_BY,
	RN_F_OPCODE_NUMBER,
	RN_F_RESV7,
	RN_F_CQE, /* number of entries of each of the two completion queues */
	RN_F_TYPE,
	RN_F_XRCD,
	RN_F_BELOW, /* limit of an SRQ */
	RN_F_M,	    /* MigReq bit of the BTH */
	RN_F_ID,    /* IPv4 identification for which the ICRC is computed */
	/* Fields with numbers in CM messages. */
	RN_F_BASE, /* base version; this and the next five fields are in the MAD header */
	RN_F_CLASS,
	RN_F_VERSION,
	RN_F_METHOD,
	RN_F_ATTR_NUMBER,
	RN_F_TID,
	/* communication IDs; in a SIDR message, LOCAL is the ID of the requester */
	RN_F_LOCAL,
	RN_F_REMOTE,
	RN_F_SERVICE,
	RN_F_PORT, /* port number of an IP service */
	RN_F_GUID,
	RN_F_QPN,
	RN_F_EECN,
	RN_F_REMOTE_QPN,
	RN_F_RESP,  /* responder resources that a CM message offers */
	RN_F_DEPTH, /* initiator depth that a CM message offers */
	RN_F_REMOTE_TIMEOUT,
	RN_F_LOCAL_TIMEOUT,
	RN_F_ACK_TIMEOUT,
	RN_F_ACK_DELAY,
	RN_F_CM_RETRIES,
	RN_F_TRANSPORT,
	RN_F_EXT,
	RN_F_REASON,
	RN_F_WAIT, /* service timeout of an MRA */
	RN_F_ARI,  /* length of the additional reject information */
	RN_F_CM_STATUS,
	RN_F_IP_VERSION, /* version, the first byte of the IP CM header */
	RN_F_GSI_QKEY,
	RN_F_LIFETIME,
	RN_F_BACKLOG,
	/* Fields whose values are addresses: a region and an offset, or a number. */
	RN_F_VA,
	RN_F_AT,
	RN_F_DATA,
	/* Fields whose values are words of a table. */
	RN_F_RKEY, /* R_Key of a region or window */
	RN_F_REGION,
	RN_F_SRQ,
	RN_F_NAK,
	RN_F_STATE,
	RN_F_STATUS,
	RN_F_KIND, /* kind of a work request or of a completion */
	RN_F_ACCESS,
	RN_F_FROM,
	RN_F_ERROR,
	RN_F_TO,
	RN_F_ALT,  /* destination of the alternate path */
	RN_F_MIG,  /* state of path migration */
	RN_F_CUR,  /* state in which the program believes the QP is (cur_qp_state) */
	RN_F_WITH, /* further attributes, which get valid values */
	RN_F_PLACEMENT,
	RN_F_SELECT,
	RN_F_IS,	/* expected content of memory */
	RN_F_ARM,	/* which completions raise an event */
	RN_F_ABOUT,	/* the kind of message that an MRA or REJ is about */
	RN_F_GID,	/* GID of the receiver of a CM message */
	RN_F_LOCAL_GID, /* GID of the sender of a CM message */
	/* Private data: up to 8 letters, the first one in the highest byte of the number.
	 * In the message, the letters are followed by zeros.
	 */
	RN_F_PRIVATE,
	/* Fields that are flags, without a value. */
	RN_F_ACK,
	RN_F_SE,
	RN_F_FECN,
	RN_F_BECN,
	RN_F_BAD_ICRC,
	RN_F_UNSIGNALED,
	RN_F_FENCE,
	RN_F_INLINE,
	RN_F_OPTIONAL, /* `>?': the device may leave the packet out */
	RN_F_FOR_GOOD, /* `end quiet': nothing may happen in a long time, either */
	RN_F_DRAIN_EVENT,
	RN_F_AGAIN,   /* the message must equal the last one of its kind in all bytes */
	RN_F_DELAYED, /* the MRA is sent only when the peer repeats its message */
	RN_F_TIMED_OUT,
	/* the connection is a request for a datagram service (SIDR) */
	RN_F_UDP,
	RN_F_COUNT
};

/* A set of fields, one bit each. */
__extension__ typedef unsigned __int128 rn_scn_set;

static_assert(RN_F_COUNT <= 128, "one bit each");

#define RN_F_BIT(field) ((rn_scn_set)1 << (field))

/* Value of rn_scn_line.region[]. */
enum {
	RN_SCN_ABSOLUTE = 0xff /* the address is not in a region */
};

/* A time span: @ns, plus @timeouts times the ACK timeout of the QP. It counts from the
 * time of the line before.
 */
struct rn_scn_time {
	rn_ns ns;
	uint32_t timeouts;
};

struct rn_scn_line {
	uint32_t number; /* line number in the file, from 1 */
	enum rn_scn_verb verb;
	/* Index of the object that the line is about. In a line `wc' or `comp', the
	 * completion queue: 0 for sends, 1 for receives.
	 */
	uint8_t subject;
	bool of_srq;	/* RECV and EVENT: the object is an SRQ, not a QP */
	uint8_t opcode; /* opcode of the packet; enum rn_cm_attr for a CM message */
	/* For an event: enum rn_async_event. For a counter: enum rn_stat. In lines about
	 * connections: enum rn_cm_event_type, rn_cm_state or rn_cm_stat.
	 */
	uint16_t name;
	/* Time range of the line. @from and @to are equal, except in a line that expects
	 * something within a range, such as +1T..4T.
	 */
	struct rn_scn_time from, to;
	rn_scn_set given; /* RN_F_BIT() of each field that the line gives */
	uint64_t value[RN_F_COUNT];
	/* For fields that are an address, a key or an SRQ: index of the object that the
	 * line names, or RN_SCN_ABSOLUTE if the line gives a number.
	 */
	uint8_t region[RN_F_COUNT];
};

struct rn_scn_object {
	/* Name of the object in the scenario, such as "1" or "m". Memory windows and
	 * regions have different names.
	 */
	char name[RN_SCN_NAME];
	enum rn_qp_type type; /* type of a QP */
	/* Fields of the declaration. If an object is declared by a setup and again by a
	 * line, this has the fields of both.
	 */
	struct rn_scn_line line;
};

struct rn_scenario {
	char rule[RN_SCN_RULES][RN_SCN_NAME];
	unsigned rules;
	char title[160]; /* title of the scenario: the sentence in its first line */
	struct rn_scn_object qp[RN_SCN_QPS], mr[RN_SCN_MRS], srq[RN_SCN_SRQS],
		conn[RN_SCN_CONNS];
	unsigned qps, mrs, srqs, conns;
	bool ipv6;    /* all addresses are IPv6 */
	bool credits; /* the device gives credits in ACKs (rn_dev_cfg.credits) */
	/* the device drops packets whose ICRC is only correct for another IPv4
	 * identification (rn_dev_cfg.icrc_exact)
	 */
	bool exact;
	bool cc; /* congestion control is on */
	/* the specification also allows another behaviour than that of the scenario */
	bool open;
	struct rn_scn_line line[RN_SCN_LINES];
	unsigned lines;
};

/* Why a file was refused, and the place of the error in it. */
struct rn_scn_error {
	uint32_t line;	    /* number of the line, from 1 */
	uint32_t column;    /* position in the line, from 1 */
	char sentence[200]; /* error text, without the place */
};

/**
 * rn_scenario_parse() - Read a scenario
 * @s:		Out: the scenario
 * @text:	The file, @len bytes of anything
 * @err:	Out on failure
 *
 * Return: 0 or -EPROTO.
 */
int rn_scenario_parse(struct rn_scenario *s, const char *text, size_t len,
		      struct rn_scn_error *err);

static inline bool rn_scn_has(const struct rn_scn_line *l, enum rn_scn_field f)
{
	return l->given & RN_F_BIT(f);
}

/* Returns true if the verb is a call of the program. */
static inline bool rn_scn_is_call(enum rn_scn_verb verb)
{
	return verb >= RN_SCN_POST && verb <= RN_SCN_ANSWER;
}

/* Returns true if the verb is a call about a connection. */
static inline bool rn_scn_is_cm_call(enum rn_scn_verb verb)
{
	return verb >= RN_SCN_LISTEN && verb <= RN_SCN_ANSWER;
}

/* Returns the value of a field, or @otherwise if the line does not give the field. */
static inline uint64_t rn_scn_get(const struct rn_scn_line *l, enum rn_scn_field f,
				  uint64_t otherwise)
{
	return rn_scn_has(l, f) ? l->value[f] : otherwise;
}

/* ---------------------------------------- words of the language, as tables (fields.c) */
struct rn_scn_word {
	const char *word;
	uint64_t value;
};

/* The forms in which the value of a field is written. */
enum rn_scn_form {
	RN_SCN_NUMBER,	/* a number, decimal or after 0x */
	RN_SCN_ADDRESS, /* REGION+OFFSET, REGION, or a number */
	/* key of a region: REGION, REGION^BITS (with these bits inverted), or a number */
	RN_SCN_REGION,
	RN_SCN_NUMBERED, /* name of an SRQ, or a number */
	RN_SCN_WORD,	 /* one word of a table */
	/* Several words of a table, separated by commas; the value is the OR of theirs.
	 */
	RN_SCN_WORDS,
	/* One word of a table. The name of the field is not written before it. */
	RN_SCN_BARE,
	RN_SCN_LETTERS, /* up to 8 letters */
	RN_SCN_FLAG,	/* no value: the name of the field alone */
};

struct rn_scn_field_info {
	const char *name; /* name of the field in a scenario */
	enum rn_scn_form form;
	const struct rn_scn_word *words; /* table of values; ends with an empty row */
	/* Verbs that may have the field, 1 << enum rn_scn_verb each. */
	uint64_t verbs;
};

extern const struct rn_scn_field_info rn_scn_fields[RN_F_COUNT];

/* Words of the verbs ("post", "<"), by enum rn_scn_verb. */
extern const char *const rn_scn_verb_name[RN_SCN_VERBS];

/* Words for the values of enum rn_wc_status, rn_async_event and rn_stat. */
extern const struct rn_scn_word rn_scn_statuses[], rn_scn_events[], rn_scn_counters[],
	/* words for the two completion queues: 0 for sends, 1 for receives */
	rn_scn_qp_types[], rn_scn_states[], rn_scn_queues[];

/* Words for CM messages (enum rn_cm_attr) and for the values of enum rn_cm_event_type,
 * rn_cm_state and rn_cm_stat.
 */
extern const struct rn_scn_word rn_scn_mads[], rn_scn_cm_events[], rn_scn_cm_states[],
	rn_scn_cm_counters[];

/* Values of RN_F_GID and RN_F_LOCAL_GID: whose address it is. */
enum {
	RN_SCN_GID_DEVICE,
	RN_SCN_GID_PEER,
	RN_SCN_GID_OTHER,
	RN_SCN_GID_NONE,
	RN_SCN_GID_UNKNOWN, /* another address; cannot be written in a scenario */
};

/* Values of RN_F_IS: what memory contains. */
enum {
	RN_SCN_IS_ZERO,
	RN_SCN_IS_FILL,	   /* the contents that the memory had at the beginning */
	RN_SCN_IS_PAYLOAD, /* the payload of the packet whose PSN the field psn gives */
	/* the number in the field orig, as 8 bytes in host byte order */
	RN_SCN_IS_NUMBER,
	RN_SCN_IS_PEER,	  /* the 16 bytes of the GID of the peer */
	RN_SCN_IS_DEVICE, /* the 16 bytes of the GID of the device */
};

/* Values of RN_F_FROM: the host that sends the packet. */
enum {
	RN_SCN_PEER,
	RN_SCN_OTHER, /* a host other than the QP's peer */
};

/* Values of RN_F_TO: the host or hosts to which the packet goes. */
enum {
	RN_SCN_TO_ONE, /* to the device; if the device sends it, to the QP's peer */
	RN_SCN_TO_GROUP,
	RN_SCN_TO_OTHER,
};

/* Returns the word for @value, or "?" if the table does not have the value. */
const char *rn_scn_word_of(const struct rn_scn_word *table, uint64_t value);

#endif /* RN_SCENARIO_H */
