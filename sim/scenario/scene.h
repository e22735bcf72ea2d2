/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scene.h - runs a scenario against a device, whichever that is.
 *
 * The device is behind struct rn_scene_ops: the transport in virtual time (virtual.h), or
 * a real one over UDP. The runner does what the lines say and wants to see all that the
 * device does: a packet, completion or event that no line expects fails the scenario.
 *
 * Threads: one at a time. No allocation.
 */
#ifndef RN_SCENE_H
#define RN_SCENE_H

#include "packet.h"
#include "rocin/stats.h"
#include "rocin/wire.h"

struct rn_qp_attr;

/* A completion. */
struct rn_scene_wc {
	rn_ns at;
	uint64_t wr_id;
	uint32_t qpn;
	uint32_t byte_len, imm, src_qpn;
	uint8_t status; /* enum rn_wc_status */
	uint8_t opcode; /* enum rn_wc_opcode */
	uint16_t flags; /* enum rn_wc_flag */
};

struct rn_scene_event {
	rn_ns at;
	uint32_t qpn;	/* or number of the SRQ; 0: of a completion queue */
	uint16_t event; /* enum rn_async_event */
};

/* What a program learns of its connections. */
struct rn_scene_cm_event {
	rn_ns at;
	uint8_t type;	    /* enum rn_cm_event_type */
	uint8_t conn;	    /* index; of requests nothing */
	uint32_t remote_id; /* communication ID of the peer */
	int status;
	uint32_t data_len, ari_len;
	uint8_t data[RN_CM_DATA_MAX];
};

/* The connection manager of a device; as struct rn_scene_ops. */
struct rn_scene_cm_ops {
	const struct rn_scene_cm_event *(*event)(void *ctx);
	/* A request is that of connection @conn from now on. */
	void (*take_event)(void *ctx, unsigned conn);
	/* NULL: the program has none. */
	const struct rn_cm_info *(*info)(void *ctx, unsigned conn);
	bool (*counter)(void *ctx, enum rn_cm_stat stat, uint64_t *value);
};

/* What is behind a device. Sends and receives of all QPs complete in two queues, which
 * keep their order: @queue is 0 for sends, 1 for receives. The functions that look at
 * what came leave it in place until it is dropped.
 */
struct rn_scene_ops {
	/* Make the objects of @s and fill in @n; 0 or -errno with a sentence. */
	int (*begin)(void *ctx, const struct rn_scenario *s, struct rn_scene_names *n,
		     char *err, size_t err_len);
	void (*end)(void *ctx);
	rn_ns (*now)(void *ctx);
	/* Let time pass until @until, or until there is something to be looked at. */
	void (*run)(void *ctx, rn_ns until);
	/* The verbs of rn_scn_is_call(): 0 or -errno. */
	int (*call)(void *ctx, const struct rn_scn_line *l);
	void (*inject)(void *ctx, const struct rn_scene_packet *p);
	const struct rn_scene_packet *(*packet)(void *ctx);
	const struct rn_scene_wc *(*wc)(void *ctx, unsigned queue);
	const struct rn_scene_event *(*event)(void *ctx);
	void (*drop_packet)(void *ctx);
	void (*drop_wc)(void *ctx, unsigned queue);
	void (*drop_event)(void *ctx);
	/* As ibv_query_qp(): attributes of the QP now. */
	void (*query)(void *ctx, unsigned qp, struct rn_qp_attr *attr);
	/* Take one completion event of a queue; false: there is none. */
	bool (*comp)(void *ctx, unsigned queue);
	/* False: the range is not in the region. */
	bool (*memory)(void *ctx, unsigned mr, uint64_t offset, void *buf, uint32_t len);
	/* What was counted since begin(); false: nobody can see that. */
	bool (*counter)(void *ctx, enum rn_stat stat, uint64_t *value);
	/* NULL: nobody can tell what a program learns of connections. */
	const struct rn_scene_cm_ops *cm;
	/* Whether the device cannot do what a scenario says, with the reason; NULL: it
	 * can do everything.
	 */
	bool (*skips)(void *ctx, const struct rn_scenario *s, char *why, size_t why_len);
	/* In real time: how much earlier or later than said things may come, and how long
	 * a line may let time pass at most. Both 0 in virtual time.
	 */
	rn_ns slack, quiet;
	/* In real time: to run once more with what failed, its timers slower, since it
	 * may have been us who came too late. NULL: never.
	 */
	const struct rn_scene_ops *slower;
};

struct rn_scene_result {
	bool passed;
	bool skipped;		       /* not run; what says why */
	bool slowly;		       /* passed the second time, with slower timers */
	uint32_t line;		       /* of the file */
	char what[160];		       /* one sentence */
	char expected[320], came[320]; /* empty if there is no such */
};

/**
 * rn_scene_run() - Run a scenario
 * @result:	Out
 *
 * A device that cannot be prepared is a failure in line 1.
 */
void rn_scene_run(const struct rn_scenario *s, const struct rn_scene_ops *ops, void *ctx,
		  struct rn_scene_result *result);

/* ----------------------------------------------------- requests that come again */
/* A requester may send what is not acknowledged again whenever it likes, and one that
 * watches for losses does, if the tester takes milliseconds to answer; of a READ it asks
 * for what has not come yet. In virtual time nobody is late, and such a packet is an
 * error.
 */
enum {
	RN_REPEATS_MAX = 16,
};

/* The last requests that lines have taken. */
struct rn_repeats {
	unsigned count;
	struct {
		uint8_t bth[RN_BTH_LEN];
		uint32_t len;
		uint64_t va, end; /* of a READ */
	} taken[RN_REPEATS_MAX];
};

/* A line has taken @p. */
void rn_repeats_note(struct rn_repeats *r, const struct rn_scene_packet *p);

/* Is @p a request that was taken before, or the rest of such a READ? Whether an
 * acknowledgement is asked for does not count.
 */
bool rn_repeats_has(const struct rn_repeats *r, const struct rn_scene_packet *p);

/* Drop repeats, in real time. Return: the first packet that is none, or NULL. */
const struct rn_scene_packet *rn_repeats_skip(const struct rn_repeats *r,
					      const struct rn_scene_ops *ops, void *ctx);

#endif /* RN_SCENE_H */
