/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow_steer.h - which queue pairs get a frame: the flow rules of one device, in order.
 *
 * A frame meets the rules stage by stage:
 *
 *	sniffers		get a copy, and the frame goes on
 *	normal rules		by priority, 0 first
 *	multicast defaults	a frame to a group address
 *	defaults		whatever is left
 *
 * A frame ends in the first stage in which a rule matches, unless all matching rules
 * there let it pass (dont_trap). Every QP with a matching rule of that stage gets the
 * frame, each QP once; if one of the rules drops it, none does. A QP with RSS hands the
 * frame to one queue.
 *
 * Threads: nothing here locks; guarded by the engine lock.
 */
#ifndef RNP_FLOW_STEER_H
#define RNP_FLOW_STEER_H

#include <sys/queue.h>

#include "frame.h"
#include "rss.h"

enum rnp_rule_kind {
	RNP_RULE_SNIFFER,
	RNP_RULE_NORMAL,
	RNP_RULE_MC_DEFAULT,
	RNP_RULE_ALL_DEFAULT,
};

/* Frames that rules with one counters object have matched. */
struct rnp_tally {
	uint64_t frames, bytes;
};

/* The caller fills it in before rnp_steer_add(), and owns its memory. */
struct rnp_rule {
	enum rnp_rule_kind kind;
	uint16_t priority; /* of a normal rule */
	bool drop, dont_trap;
	uint32_t tag;		     /* handed to deliver */
	struct rnp_flow_match match; /* of a normal rule */
	void *qp;		     /* the QP that gets the frame */
	const struct rnp_rss *rss;   /* a queue of this table gets it instead; or NULL */
	struct rnp_tally *tally;     /* or NULL */

	TAILQ_ENTRY(rnp_rule) link;
	uint64_t served; /* number of the frame that it delivered last */
};

struct rnp_steer {
	TAILQ_HEAD(, rnp_rule) rules; /* in the order of the stages */
	uint64_t frames;	      /* seen so far */
};

void rnp_steer_init(struct rnp_steer *s);
void rnp_steer_add(struct rnp_steer *s, struct rnp_rule *rule);
void rnp_steer_remove(struct rnp_steer *s, struct rnp_rule *rule);
bool rnp_steer_is_empty(const struct rnp_steer *s);

typedef void rnp_deliver_fn(void *arg, void *qp, uint32_t tag);

/**
 * rnp_steer_frame() - Find the queue pairs that get a frame
 * @frame:	From the destination address on; any length
 * @deliver:	Called for each QP, or the queue that it has chosen; may not change the
 *		rules
 *
 * Return: how many QPs got it.
 */
unsigned rnp_steer_frame(struct rnp_steer *s, const uint8_t *frame, size_t len,
			 rnp_deliver_fn *deliver, void *arg);

#endif /* RNP_FLOW_STEER_H */
