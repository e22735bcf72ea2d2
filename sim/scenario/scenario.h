/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scenario.h - a conformance scenario: what a text file says, line by line.
 *
 *	# B5: A gap is answered by a NAK that names the PSN expected.
 *	setup rc0
 *	+0    < 1 RC_SEND_ONLY psn 102 len 64 ack
 *	+0    > 1 RC_ACK psn 100 nak psn_seq msn 0
 *	end quiet
 *
 * The first line names the rules that the file pins, then says them in one sentence. A
 * declaration makes an object of the device under test: `mr NAME`, `mw NAME`, `srq NAME`,
 * `qp N TYPE`; `device WORD` is about all of them;
 * `setup NAME` stands for a few of them. A timed line does something at a time counted
 * from the line before it, or expects something by then. `<` arrives at the device, `>`
 * leaves it; all that leaves, completes or is raised must be expected.
 *
 * `conn NAME` is a connection between a program of the device's and the peer, made by
 * messages of the connection manager. Where a line may speak of a queue pair, a packet or
 * an event, it may speak of a connection, a message and what the program learns.
 *
 * Every line is a verb, its subject, and fields: words with a value. Which fields exist,
 * and what a verb may have, is the table in fields.c. Nothing here knows how a scenario
 * is run: scene.h does.
 *
 * Threads: any; no state but the caller's. No allocation.
 */
#ifndef RN_SCENARIO_H
#define RN_SCENARIO_H

#include "rocin/cm.h"
#include "rocin/opcode.h"
#include "rocin/qp_types.h"

enum {
	RN_SCN_QPS = 8,
	RN_SCN_MRS = 8, /* windows included */
	RN_SCN_SRQS = 4,
	RN_SCN_CONNS = 4,
	RN_SCN_LINES = 200, /* timed */
	RN_SCN_RULES = 8,
	RN_SCN_NAME = 24, /* bytes, with the terminator */
};

/* What a line does. */
enum rn_scn_verb {
	RN_SCN_QP, /* declarations */
	RN_SCN_MR,
	RN_SCN_MW,
	RN_SCN_SRQ,
	RN_SCN_CONN,
	RN_SCN_POST, /* the program's calls: may be expected to fail with `error` */
	RN_SCN_RECV,
	RN_SCN_MODIFY,
	RN_SCN_REVIVE, /* from RESET to a state, as the declaration did */
	RN_SCN_DEREG,
	RN_SCN_UNMAP, /* a region's memory goes, the region stays */
	RN_SCN_ARM,   /* a queue of completions */
	RN_SCN_LIMIT, /* of an SRQ */
	RN_SCN_HOLD,  /* no packet leaves until `go` */
	RN_SCN_GO,
	RN_SCN_JOIN, /* the group of the scenario */
	RN_SCN_LEAVE,
	RN_SCN_LISTEN, /* calls about a connection; each is one of cm.h */
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
	RN_SCN_ASK, /* for a datagram service */
	RN_SCN_ANSWER,
	RN_SCN_INJECT, /* < */
	RN_SCN_PACKET, /* > */
	RN_SCN_WC,
	RN_SCN_COMP, /* a completion event */
	RN_SCN_EVENT,
	RN_SCN_STATE,
	RN_SCN_QUERY,
	RN_SCN_CHECK,
	RN_SCN_COUNT,
	/* The same words, about connections. */
	RN_SCN_MAD_IN,
	RN_SCN_MAD_OUT,
	RN_SCN_CM_EVENT,
	RN_SCN_CM_STATE,
	RN_SCN_CM_QUERY,
	RN_SCN_CM_COUNT,
	RN_SCN_QUIET, /* nothing happens until then */
	RN_SCN_END,
	RN_SCN_VERBS
};

/* Fields, by how their value is written. fields.c says which verbs take them. */
enum rn_scn_field {
	/* numbers */
	RN_F_PSN,
	RN_F_EPSN,
	RN_F_LEN,
	RN_F_DMALEN,
	RN_F_MSN,
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
	RN_F_FLIP, /* bit of the packet that is turned over after the ICRC was made */
	RN_F_CUT,  /* bytes left of the packet, ICRC made anew */
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
	RN_F_BY, /* of a counter */
	RN_F_OPCODE_NUMBER,
	RN_F_RESV7,
	RN_F_CQE, /* entries of both completion queues */
	RN_F_TYPE,
	RN_F_XRCD,
	RN_F_BELOW, /* receives that an SRQ holds */
	RN_F_M,	    /* of the BTH */
	RN_F_ID,    /* IPv4 identification that the ICRC was made for */
	/* numbers of CM messages */
	RN_F_BASE, /* the MAD's header */
	RN_F_CLASS,
	RN_F_VERSION,
	RN_F_METHOD,
	RN_F_ATTR_NUMBER,
	RN_F_TID,
	RN_F_LOCAL, /* communication IDs; the requester's of a SIDR is its local one */
	RN_F_REMOTE,
	RN_F_SERVICE,
	RN_F_PORT, /* of an IP service */
	RN_F_GUID,
	RN_F_QPN,
	RN_F_EECN,
	RN_F_REMOTE_QPN,
	RN_F_RESP,  /* responder resources */
	RN_F_DEPTH, /* initiator depth */
	RN_F_REMOTE_TIMEOUT,
	RN_F_LOCAL_TIMEOUT,
	RN_F_ACK_TIMEOUT,
	RN_F_ACK_DELAY,
	RN_F_CM_RETRIES,
	RN_F_TRANSPORT,
	RN_F_EXT,
	RN_F_REASON,
	RN_F_WAIT, /* service timeout */
	RN_F_ARI,  /* its length */
	RN_F_CM_STATUS,
	RN_F_IP_VERSION, /* first byte of the IP CM header */
	RN_F_GSI_QKEY,
	RN_F_LIFETIME,
	RN_F_BACKLOG,
	/* addresses: a region and an offset, or a number */
	RN_F_VA,
	RN_F_AT,
	RN_F_DATA,
	/* words of a table */
	RN_F_RKEY, /* a region's or window's */
	RN_F_REGION,
	RN_F_SRQ,
	RN_F_NAK,
	RN_F_STATE,
	RN_F_STATUS,
	RN_F_KIND, /* of a work request or completion */
	RN_F_ACCESS,
	RN_F_FROM,
	RN_F_ERROR,
	RN_F_TO,
	RN_F_ALT,  /* where the alternate path goes */
	RN_F_MIG,  /* state of path migration */
	RN_F_CUR,  /* state that the program believes in */
	RN_F_WITH, /* attributes that are given with a good value */
	RN_F_PLACEMENT,
	RN_F_SELECT,
	RN_F_IS,	/* what memory holds */
	RN_F_ARM,	/* for which completions */
	RN_F_ABOUT,	/* of a MRA or REJ */
	RN_F_GID,	/* of the receiver of a CM message */
	RN_F_LOCAL_GID, /* of its sender */
	RN_F_PRIVATE,	/* up to 8 letters, the first in the highest byte; zeros follow */
	/* flags */
	RN_F_ACK,
	RN_F_SE,
	RN_F_FECN,
	RN_F_BECN,
	RN_F_BAD_ICRC,
	RN_F_UNSIGNALED,
	RN_F_FENCE,
	RN_F_INLINE,
	RN_F_OPTIONAL, /* `>?` */
	RN_F_FOR_GOOD, /* `end quiet` */
	RN_F_DRAIN_EVENT,
	RN_F_AGAIN,   /* byte for byte as the last message of this kind */
	RN_F_DELAYED, /* an MRA only if the peer asks again */
	RN_F_TIMED_OUT,
	RN_F_UDP, /* a connection that is a lookup of a datagram service */
	RN_F_COUNT
};

/* A set of fields. */
__extension__ typedef unsigned __int128 rn_scn_set;

static_assert(RN_F_COUNT <= 128, "one bit each");

#define RN_F_BIT(field) ((rn_scn_set)1 << (field))

/* Where an address field points. */
enum {
	RN_SCN_ABSOLUTE = 0xff /* not into a region */
};

/* Time since the line before, in ns or in multiples of the QP's ACK timeout. */
struct rn_scn_time {
	rn_ns ns;
	uint32_t timeouts;
};

struct rn_scn_line {
	uint32_t number; /* in the file, from 1 */
	enum rn_scn_verb verb;
	uint8_t subject; /* index of the object; of completions: 0 sends, 1 receives */
	bool of_srq;	 /* RECV, EVENT: of an SRQ, not of a QP */
	uint8_t opcode;	 /* of a packet; of a MAD enum rn_cm_attr */
	/* Of an event or counter: enum rn_async_event, rn_stat; of connections enum
	 * rn_cm_event_type, rn_cm_state, rn_cm_stat.
	 */
	uint16_t name;
	struct rn_scn_time from, to; /* equal, but for expectations with a range */
	rn_scn_set given;	     /* RN_F_BIT() of the fields that are written */
	uint64_t value[RN_F_COUNT];
	/* Of addresses, keys, numbers of SRQs: index of the object, or ABSOLUTE. */
	uint8_t region[RN_F_COUNT];
};

struct rn_scn_object {
	char name[RN_SCN_NAME];	 /* "1", "m"; of windows and regions no two are equal */
	enum rn_qp_type type;	 /* QP */
	struct rn_scn_line line; /* what was declared; setups and later lines merged */
};

struct rn_scenario {
	char rule[RN_SCN_RULES][RN_SCN_NAME];
	unsigned rules;
	char title[160]; /* the sentence */
	struct rn_scn_object qp[RN_SCN_QPS], mr[RN_SCN_MRS], srq[RN_SCN_SRQS],
		conn[RN_SCN_CONNS];
	unsigned qps, mrs, srqs, conns;
	bool ipv6;    /* all addresses are */
	bool credits; /* struct rn_dev_cfg */
	bool exact;   /* icrc_exact */
	bool cc;      /* congestion control is on */
	struct rn_scn_line line[RN_SCN_LINES];
	unsigned lines;
};

/* Where and why a file was refused. */
struct rn_scn_error {
	uint32_t line;	    /* from 1 */
	uint32_t column;    /* from 1 */
	char sentence[200]; /* what was expected, without the place */
};

/**
 * rn_scenario_parse() - Read a scenario
 * @s:		Out: overwritten
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

/* A call of the program. */
static inline bool rn_scn_is_call(enum rn_scn_verb verb)
{
	return verb >= RN_SCN_POST && verb <= RN_SCN_ANSWER;
}

/* One about a connection. */
static inline bool rn_scn_is_cm_call(enum rn_scn_verb verb)
{
	return verb >= RN_SCN_LISTEN && verb <= RN_SCN_ANSWER;
}

/* The number of a field, or @otherwise if it is not given. */
static inline uint64_t rn_scn_get(const struct rn_scn_line *l, enum rn_scn_field f,
				  uint64_t otherwise)
{
	return rn_scn_has(l, f) ? l->value[f] : otherwise;
}

/* ---------------------------------------------------- its words, as tables (fields.c) */
struct rn_scn_word {
	const char *word;
	uint64_t value;
};

/* How the value of a field is written. */
enum rn_scn_form {
	RN_SCN_NUMBER,	 /* decimal or 0x */
	RN_SCN_ADDRESS,	 /* REGION+OFFSET, REGION, or a number */
	RN_SCN_REGION,	 /* the key of a region, REGION or REGION^BITS, or a number */
	RN_SCN_NUMBERED, /* number of an SRQ: SRQ, or a number */
	RN_SCN_WORD,	 /* one of a table */
	RN_SCN_WORDS,	 /* several of a table, or-ed, with commas */
	RN_SCN_BARE,	 /* one of a table, without the name of the field before it */
	RN_SCN_LETTERS,	 /* up to 8 of them */
	RN_SCN_FLAG,	 /* no value */
};

struct rn_scn_field_info {
	const char *name; /* as written */
	enum rn_scn_form form;
	const struct rn_scn_word *words; /* ends with an empty row */
	uint64_t verbs;			 /* 1 << enum rn_scn_verb */
};

extern const struct rn_scn_field_info rn_scn_fields[RN_F_COUNT];

/* "post", "<"; in the order of enum rn_scn_verb. */
extern const char *const rn_scn_verb_name[RN_SCN_VERBS];

/* enum rn_wc_status, rn_async_event and enum rn_stat as scenarios write them. */
extern const struct rn_scn_word rn_scn_statuses[], rn_scn_events[], rn_scn_counters[],
	rn_scn_qp_types[], rn_scn_states[], rn_scn_queues[]; /* sends and receives */

/* Of connections: CM messages by enum rn_cm_attr, rn_cm_event_type, rn_cm_state,
 * rn_cm_stat.
 */
extern const struct rn_scn_word rn_scn_mads[], rn_scn_cm_events[], rn_scn_cm_states[],
	rn_scn_cm_counters[];

/* Values of RN_F_GID and RN_F_LOCAL_GID. */
enum {
	RN_SCN_GID_DEVICE,
	RN_SCN_GID_PEER,
	RN_SCN_GID_OTHER,
	RN_SCN_GID_NONE,
	RN_SCN_GID_UNKNOWN, /* none of those; not to be written */
};

/* What memory holds: values of RN_F_IS. */
enum {
	RN_SCN_IS_ZERO,
	RN_SCN_IS_FILL,	   /* what it held in the beginning */
	RN_SCN_IS_PAYLOAD, /* of the packet with this psn */
	RN_SCN_IS_NUMBER,  /* orig, as 8 bytes in host order */
};

/* Who sends: values of RN_F_FROM. */
enum {
	RN_SCN_PEER,
	RN_SCN_OTHER, /* another host than the QP's peer */
};

/* To whom: values of RN_F_TO. */
enum {
	RN_SCN_TO_ONE, /* the device, or the QP's peer */
	RN_SCN_TO_GROUP,
	RN_SCN_TO_OTHER,
};

/* For people; "?" if it is not in the table. */
const char *rn_scn_word_of(const struct rn_scn_word *table, uint64_t value);

#endif /* RN_SCENARIO_H */
