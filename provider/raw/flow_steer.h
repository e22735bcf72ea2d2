/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow_steer.h - finds the queue pairs that get a frame, by the flow rules of one device.
 *
 * Rules are applied in stages, in this order:
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

/* Frames that have matched the rules that use one counters object. */
struct rnp_tally {
	uint64_t frames, bytes;
};

/* A flow rule. The caller fills it in before rnp_steer_add(), and owns its memory. */
struct rnp_rule {
	enum rnp_rule_kind kind;
	uint16_t priority; /* priority of a normal rule; 0 is the highest */
	bool drop, dont_trap;
	uint32_t tag;		     /* passed to rnp_deliver_fn */
	struct rnp_flow_match match; /* fields that a normal rule matches */
	void *qp;		     /* the QP that gets the frame */
	/* a queue of this RSS table gets the frame instead; or NULL */
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
 * @deliver:	Called for each QP, or the queue that RSS has chosen; may not change
 *		the rules
 *
 * Return: number of QPs that got the frame.
 */
unsigned rnp_steer_frame(struct rnp_steer *s, const uint8_t *frame, size_t len,
			 rnp_deliver_fn *deliver, void *arg);

#endif /* RNP_FLOW_STEER_H */
