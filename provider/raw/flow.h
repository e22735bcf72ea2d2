/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow.h - which queue pairs get a frame: the flow rules of one device, and receive side
 * scaling (RSS).
 *
 * Threads: nothing here locks. The rules of a device (struct rnp_steer) are guarded by
 * the engine lock; the other functions keep no state.
 */
#ifndef RNP_FLOW_H
#define RNP_FLOW_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "frame.h"

/* ---- Receive side scaling: chooses the queue that gets a frame ---- */

/* Frames of one flow, that is, with the same addresses and ports, always get to the same
 * queue.
 */
enum { /* Sizes for the Toeplitz hash in bytes. */
	RNP_TOEPLITZ_KEY_LEN = 40,
	/* bytes; limited because each bit of the input uses the 32 bits of the key that
	 * begin at the bit's own position
	 */
	RNP_TOEPLITZ_INPUT_MAX = RNP_TOEPLITZ_KEY_LEN - 4,
};

/* Fields that can be hashed, with the numbers of verbs (enum ibv_rx_hash_fields). */
enum rnp_rss_field {
	RNP_RSS_SRC_IP4 = 1 << 0,
	RNP_RSS_DST_IP4 = 1 << 1,
	RNP_RSS_SRC_IP6 = 1 << 2,
	RNP_RSS_DST_IP6 = 1 << 3,
	RNP_RSS_SRC_PORT_TCP = 1 << 4,
	RNP_RSS_DST_PORT_TCP = 1 << 5,
	RNP_RSS_SRC_PORT_UDP = 1 << 6,
	RNP_RSS_DST_PORT_UDP = 1 << 7,

	RNP_RSS_IP4 = RNP_RSS_SRC_IP4 | RNP_RSS_DST_IP4,
	RNP_RSS_IP6 = RNP_RSS_SRC_IP6 | RNP_RSS_DST_IP6,
	RNP_RSS_TCP = RNP_RSS_SRC_PORT_TCP | RNP_RSS_DST_PORT_TCP,
	RNP_RSS_UDP = RNP_RSS_SRC_PORT_UDP | RNP_RSS_DST_PORT_UDP,
	RNP_RSS_FIELDS = RNP_RSS_IP4 | RNP_RSS_IP6 | RNP_RSS_TCP | RNP_RSS_UDP,
};

struct rnp_rss {
	uint8_t key[RNP_TOEPLITZ_KEY_LEN];
	/* enum rnp_rss_field; not both IPv4 and IPv6, not both TCP and UDP */
	uint32_t fields;
	uint32_t size;	    /* number of entries of @table, a power of two */
	void *const *table; /* the queues; a queue may be in several entries */
};

/**
 * rnp_toeplitz() - Compute the Toeplitz hash of some bytes
 * @key:	Key that the program has chosen
 * @data:	Fields in network order, one behind the other
 * @len:	Bytes, at most RNP_TOEPLITZ_INPUT_MAX
 *
 * Source: "RSS Hashing Types" and "Verifying the RSS Hash Calculation" of Microsoft's
 * driver documentation; its vectors are in test_rss.c.
 * Return: the hash; 0 if @len is 0.
 */
uint32_t rnp_toeplitz(const uint8_t key[RNP_TOEPLITZ_KEY_LEN], const uint8_t *data,
		      size_t len);

/**
 * rnp_rss_hash() - Hash the fields of @rss->fields that a frame has
 *
 * Hashes the fields in this order: source address, destination address, source port,
 * destination port. The ports of a fragmented packet are left out, so that all fragments
 * get to the same queue.
 *
 * Return: the hash; 0 if the frame has none of the fields.
 */
uint32_t rnp_rss_hash(const struct rnp_rss *rss, const struct rnp_frame_view *view);

/* Returns the queue that the low bits of the hash select. */
void *rnp_rss_choose(const struct rnp_rss *rss, const struct rnp_frame_view *view);

/* ---- The rules of a device ---- */

/* Rules are applied in stages, in this order:
 *
 *	sniffers		get a copy of every frame
 *	normal rules		one stage for each priority, 0 first
 *	multicast defaults	match frames to a group address
 *	defaults		match all frames
 *
 * A frame is not passed to further stages after one in which a rule other than a sniffer
 * matches, unless all matching rules there have the flag dont_trap. Every QP with a
 * matching rule in a stage gets the frame, each QP once; if one of these rules drops
 * frames, no QP gets it. A QP with RSS hands the frame to one queue.
 */
enum rnp_rule_kind {
	RNP_RULE_SNIFFER,
	RNP_RULE_NORMAL,
	RNP_RULE_MC_DEFAULT,
	RNP_RULE_ALL_DEFAULT,
};

/* Frames that have matched the rules that use one counters object. */
struct rnp_tally {
	uint64_t frames, bytes;
};

/* A flow rule. The caller fills it in before rnp_steer_add(), and owns its memory. */
struct rnp_rule {
	enum rnp_rule_kind kind;
	uint16_t priority; /* priority of a normal rule; 0 is the highest */
	bool drop, dont_trap;
	uint32_t tag;		     /* flow tag, which is passed to rnp_deliver_fn */
	struct rnp_flow_match match; /* fields that a normal rule matches */
	void *qp;		     /* the QP that gets the frame */
	/* RSS table: one of its queues gets the frame instead of @qp. NULL: the rule has
	 * no RSS.
	 */
	const struct rnp_rss *rss;
	struct rnp_tally *tally; /* counts matching frames; or NULL */

	TAILQ_ENTRY(rnp_rule) link;
	/* value of rnp_steer.frames when this rule delivered a frame last */
	uint64_t served;
};

struct rnp_steer {
	TAILQ_HEAD(, rnp_rule) rules; /* sorted by stage */
	uint64_t frames;	      /* frames seen so far */
};

void rnp_steer_init(struct rnp_steer *s);
void rnp_steer_add(struct rnp_steer *s, struct rnp_rule *rule);
void rnp_steer_remove(struct rnp_steer *s, struct rnp_rule *rule);
bool rnp_steer_is_empty(const struct rnp_steer *s);

typedef void rnp_deliver_fn(void *arg, void *qp, uint32_t tag);

/**
 * rnp_steer_frame() - Find the queue pairs that get a frame
 * @frame:	From the destination address on; any length
 * @deliver:	Called for each QP that gets the frame (if the QP has RSS, for the queue
 *		that RSS has chosen); must not change the rules
 *
 * Return: number of QPs that got the frame.
 */
unsigned rnp_steer_frame(struct rnp_steer *s, const uint8_t *frame, size_t len,
			 rnp_deliver_fn *deliver, void *arg);

/* ---- Rules as programs pass them to ibv_create_flow() ---- */

enum {
	RNP_FLOW_SPECS_MAX = 10, /* specifications per rule; the kernel's limit */
};

/**
 * rnp_flow_spec_parse() - Check a flow rule and convert it
 * @attr:	The rule, with its specifications behind it, one after the other without
 *		gaps and at any alignment
 * @rule:	Out: kind, priority, drop, dont_trap, tag, match; the rest is zeroed
 * @counters:	Out: counters object that the rule names, or NULL
 *
 * Addresses, ports, types and tags are in network order, as for any device. The VLAN tag
 * is the outermost one, the Ethernet type the one behind the tags; the IPv6 next header
 * is that of the fixed header, while TCP and UDP are found behind extension headers.
 *
 * Return: 0; -EINVAL: the port is not 1, a type or flag is unknown, a specification has
 *	   the wrong size, two specifications are of one layer, layers or types exclude
 *	   each other, a default or sniffer rule has specifications, or a rule has too
 *	   many; -EOPNOTSUPP: egress rules, inner headers, ESP, VXLAN, GRE, MPLS, actions
 *	   of ibv_create_flow_action_esp(). @rule and @counters are undefined on failure.
 */
int rnp_flow_spec_parse(const struct ibv_flow_attr *attr, struct rnp_rule *rule,
			struct ibv_counters **counters);

#endif /* RNP_FLOW_H */
