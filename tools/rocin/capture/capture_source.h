/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_source.h - the devices that are captured: their rings, joined to one stream in
 * the order of time.
 */
#ifndef RN_CAPTURE_SOURCE_H
#define RN_CAPTURE_SOURCE_H

#include "transport/io/capture/capture_blocks.h"
#include "transport/io/rocind/rocind_client.h"

enum {
	RN_CAPTURE_AHEAD = 128, /* packets taken out of a ring in advance */
};

/* How long a packet waits for an earlier one of another device. */
#define RN_CAPTURE_HOLD 10000000u /* ns */

TAILQ_HEAD(rn_capture_queue, rn_capture_packet);

struct rn_capture_source {
	struct rn_capture_source *next;
	struct rn_rocind_tap tap; /* its descriptors are closed */
	char program[32];	  /* any bytes */
	bool has_ended;		  /* the device has gone */
	bool is_dry;		  /* its ring was empty when it was last looked at */
	bool is_broken; /* nonsense in its ring: nothing of it is read any more */
	unsigned queued;
	struct rn_capture_queue queue; /* oldest first */
	struct rn_capture_reader reader;
	/* Of whoever writes: which file knows this interface, and by which number. */
	uint32_t file, interface;
};

struct rn_capture_sources {
	struct rn_capture_source *first;
	uint64_t packets, missed; /* of those that have gone */
};

/* A device comes: takes the descriptors of @tap. Return: 0 or -errno; it is not captured
 * then.
 */
int rn_capture_sources_add(struct rn_capture_sources *all,
			   const struct rn_rocind_tap *tap);

/* It goes; what it has left behind is still read. */
void rn_capture_sources_end(struct rn_capture_sources *all, uint64_t id);
void rn_capture_sources_end_all(struct rn_capture_sources *all);

/* Called for each packet, and with @packet NULL when a device and all its packets have
 * gone. A value other than 0 stops.
 */
typedef int (*rn_capture_on_packet)(void *ctx, struct rn_capture_source *source,
				    const struct rn_capture_packet *packet);

/**
 * rn_capture_sources_read() - Hand on what is there
 * @now:	CLOCK_REALTIME in ns; packets younger than RN_CAPTURE_HOLD stay.
 *		UINT64_MAX: all
 *
 * Return: 0, or what @on_packet returned.
 */
int rn_capture_sources_read(struct rn_capture_sources *all, uint64_t now,
			    rn_capture_on_packet on_packet, void *ctx);

/* Packets that there were and those that did not fit into a ring, up to now. */
void rn_capture_sources_count(const struct rn_capture_sources *all, uint64_t *packets,
			      uint64_t *missed);

void rn_capture_sources_free(struct rn_capture_sources *all);

#endif /* RN_CAPTURE_SOURCE_H */
