/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scene.h - runs a scenario against any device that implements struct rn_scene_ops.
 *
 * The device is Rocin's transport in virtual time (virtual.h), or a real device in real
 * time, to which the runner talks by UDP. The runner executes the lines one after the
 * other. A packet, completion or event of the device that no line expects fails the
 * scenario.
 *
 * Threads: one thread runs a scenario. The runner allocates nothing.
 */
#ifndef RN_SCENE_H
#define RN_SCENE_H

#include "packet.h"
#include "rocin/stats.h"
#include "rocin/wire.h"

struct rn_qp_attr;

/* A completion of the device under test. */
struct rn_scene_wc {
	rn_ns at;
	uint64_t wr_id;
	uint32_t qpn;
	uint32_t byte_len, imm, src_qpn;
	uint8_t status; /* enum rn_wc_status of the completion */
	uint8_t opcode; /* enum rn_wc_opcode */
	uint16_t flags; /* enum rn_wc_flag */
};

struct rn_scene_event {
	rn_ns at;
	/* number of the QP or SRQ; 0: it is an event of a completion queue */
	uint32_t qpn;
	uint16_t event; /* enum rn_async_event */
};

/* A CM event of the program on the device. */
struct rn_scene_cm_event {
	rn_ns at;
	uint8_t type; /* enum rn_cm_event_type */
	/* index of the connection; not set if the event is a new request */
	uint8_t conn;
	/* communication ID of the peer; 0: the device does not tell it */
	uint32_t remote_id;
	int status;
	/* The device does not show its program the private data (@hides_data) or the
	 * additional information (@hides_ari) of this event, so it cannot be compared.
	 */
	bool hides_data, hides_ari;
	uint32_t data_len, ari_len;
	uint8_t data[RN_CM_DATA_MAX];
};

/* Functions of a device's connection manager; a part of struct rn_scene_ops. */
struct rn_scene_cm_ops {
	const struct rn_scene_cm_event *(*event)(void *ctx);
	/* Removes the first event. If it is a new connection request, the scenario names
	 * that connection @conn from now on.
	 */
	void (*take_event)(void *ctx, unsigned conn);
	/* Returns the state of a connection; NULL if the program on the device has no
	 * such connection.
	 */
	const struct rn_cm_info *(*info)(void *ctx, unsigned conn);
	/* the device does not show rn_cm_info.state, so info() does not set it */
	bool hides_state;
	/* NULL: the counters cannot be read. */
	bool (*counter)(void *ctx, enum rn_cm_stat stat, uint64_t *value);
	/* Called with a packet that no line expects. Returns true if it is no mistake of
	 * the device. NULL: every such packet is a mistake.
	 */
	bool (*is_spare)(void *ctx, const struct rn_scene_packet *p);
};

/* Functions by which the runner uses a device under test. All QPs use two completion
 * queues: @queue 0 for sends and 1 for receives. packet(), wc() and event() return the
 * first packet, completion or event that waits, without removing it; NULL if there is
 * none.
 */
struct rn_scene_ops {
	/* Makes the objects of @s and fills in @n. Returns 0, or -errno and an
	 * error text.
	 */
	int (*begin)(void *ctx, const struct rn_scenario *s, struct rn_scene_names *n,
		     char *err, size_t err_len);
	void (*end)(void *ctx);
	rn_ns (*now)(void *ctx);
	/* Lets time pass until @until, or until a packet, completion or event of the
	 * device waits.
	 */
	void (*run)(void *ctx, rn_ns until);
	/* Executes a line for which rn_scn_is_call() is true. Returns 0 or -errno. */
	int (*call)(void *ctx, const struct rn_scn_line *l);
	void (*inject)(void *ctx, const struct rn_scene_packet *p);
	const struct rn_scene_packet *(*packet)(void *ctx);
	const struct rn_scene_wc *(*wc)(void *ctx, unsigned queue);
	const struct rn_scene_event *(*event)(void *ctx);
	void (*drop_packet)(void *ctx);
	void (*drop_wc)(void *ctx, unsigned queue);
	void (*drop_event)(void *ctx);
	/* Sets *@attr to the attributes of a QP, as ibv_query_qp() does. */
	void (*query)(void *ctx, unsigned qp, struct rn_qp_attr *attr);
	/* Takes one completion event of a queue. Returns false if there is none. */
	bool (*comp)(void *ctx, unsigned queue);
	/* Reads @len bytes at @offset of region @mr into @buf. Returns false if these
	 * bytes are not in the region.
	 */
	bool (*memory)(void *ctx, unsigned mr, uint64_t offset, void *buf, uint32_t len);
	/* Sets *@value to the number by which a counter has increased since begin().
	 * Returns false if the counter cannot be read.
	 */
	bool (*counter)(void *ctx, enum rn_stat stat, uint64_t *value);
	/* NULL: the device's connection manager cannot be observed. */
	const struct rn_scene_cm_ops *cm;
	/* Returns true if the device cannot do what the scenario needs, and writes the
	 * reason to @why. NULL: the device can do everything.
	 */
	bool (*skips)(void *ctx, const struct rn_scenario *s, char *why, size_t why_len);
	/* Returns true if the device was lost since begin(): a call did not return, or
	 * the process that executes calls has ended. Writes what happened to @what, and
	 * makes the device usable again if that is possible. NULL: a device cannot be
	 * lost.
	 */
	bool (*lost)(void *ctx, char *what, size_t what_len);
	/* Returns the longest time for which the runner waits before it executes line @l,
	 * even if the line says more. NULL, in virtual time: it waits as long as the line
	 * says.
	 */
	rn_ns (*longest)(void *ctx, const struct rn_scn_line *l);
	/* Time in ns by which packets and events may come too early or too late. It is 0
	 * in virtual time.
	 */
	rn_ns slack;
	/* In real time: functions for a second run of a scenario that has failed, with
	 * slower timers, because the runner itself may have been too slow. NULL: there is
	 * no second run.
	 */
	const struct rn_scene_ops *slower;
};

struct rn_scene_result {
	bool passed;
	/* the scenario was not run; @what has the reason */
	bool skipped;
	/* the scenario has passed only in the second run, which has slower timers */
	bool slowly;
	/* the scenario has failed because the device was lost (rn_scene_ops.lost) */
	bool lost;
	/* number of the line in the file at which the scenario has failed */
	uint32_t line;
	/* error text, or the reason why the scenario was skipped */
	char what[160];
	/* What was expected, and what has come instead, as text. Both are empty if the
	 * failure is of another kind.
	 */
	char expected[320], came[320];
};

/**
 * rn_scene_run() - Run a scenario
 * @result:	Out
 *
 * If the device cannot be prepared, this is reported as a failure in line 1.
 */
void rn_scene_run(const struct rn_scenario *s, const struct rn_scene_ops *ops, void *ctx,
		  struct rn_scene_result *result);

/* ------------------------------------------------------------ repeated requests */
/* A requester may repeat requests at any time until they are acknowledged, and does so if
 * the runner, which acts as its peer, takes milliseconds to answer. It repeats a READ for
 * the part of the data that has not come yet. In real time, the functions below ignore
 * such repeats. In virtual time answers are never late, so a repeated packet is an error.
 */
enum {
	RN_REPEATS_MAX = 16,
};

/* The latest requests of the device that lines have expected. */
struct rn_repeats {
	unsigned count;
	struct {
		uint8_t bth[RN_BTH_LEN];
		uint32_t len;
		uint64_t va, end; /* READ: the range that it requests */
	} taken[RN_REPEATS_MAX];
};

/* Called when a packet has come that a line expects. If it is a request, remembers it. */
void rn_repeats_note(struct rn_repeats *r, const struct rn_scene_packet *p);

/* Returns true if @p repeats a request that rn_repeats_note() has remembered, or the rest
 * of such a READ. The AckReq bit may differ.
 */
bool rn_repeats_has(const struct rn_repeats *r, const struct rn_scene_packet *p);

/* Returns the first packet of the device, or NULL. In real time, first drops packets
 * that repeat requests.
 */
const struct rn_scene_packet *rn_repeats_skip(const struct rn_repeats *r,
					      const struct rn_scene_ops *ops, void *ctx);

#endif /* RN_SCENE_H */
