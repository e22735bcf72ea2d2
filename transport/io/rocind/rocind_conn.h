/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_conn.h - struct rn_rocind, one connection to rocind, as used by rocind_client.c
 * and rocind_start.c.
 *
 * Private to these two files; rocind itself uses the same timeouts. One connection
 * belongs to one thread at a time.
 */
#ifndef RN_ROCIND_CONN_H
#define RN_ROCIND_CONN_H

#include <pthread.h>

#include "ctl_socket.h"
#include "rocind_client.h"
#include "transport/io/host/clock.h"

/* Number of events that can be queued while one request waits for its answer: two for
 * each address, some for the link, and two for each local wire (a link by shared
 * memory). There are more only if the program no longer reads its events.
 */
enum {
	RN_ROCIND_EVENT_MAX = 4 * RN_GID_MAX + 2 * RN_ROCIND_WIRES_MAX,
};

struct rn_rocind {
	int sock;
	/* rocind has ended, or has said that it will, or has sent a message that is not
	 * valid. Nothing is sent to it any more.
	 */
	bool gone;
	bool takes_wires, takes_no_icrc;
	uint32_t seq;	  /* number of the last request, or message about a wire */
	uint32_t awaited; /* number of the last request */
	/* index of the first queued event in event[], which is used as a ring */
	unsigned event_head;
	unsigned event_count;
	struct rn_rocind_event event[RN_ROCIND_EVENT_MAX];
};

/* Where an error text is written. */
struct rn_complaint {
	char *err;
	size_t err_len;
};

/**
 * rn_rocind_request() - Send a message and wait for its answer
 * @msg:	Complete message
 * @fd:		Descriptor to pass with it, or -1
 * @pkt:	Out on success: the answer; its descriptors are the caller's
 * @want:	Type of the answer; for RN_CTL_CLIENT also RN_CTL_LIST_END
 *
 * Events that come meanwhile are kept for rn_rocind_event().
 *
 * Return: 0, the error of rocind's refusal, -ECONNRESET, -ETIMEDOUT, -EBADMSG, or why the
 *	   message cannot be sent. The error text is written.
 */
int rn_rocind_request(struct rn_rocind *r, const void *msg, int fd,
		      struct rn_ctl_packet *pkt, enum rn_ctl_type want,
		      const struct rn_complaint *c);

static inline rn_ns rn_rocind_now(void)
{
	return rn_clock(CLOCK_MONOTONIC);
}

/* Return: milliseconds until @deadline, rounded up so that a wait never ends early. */
static inline int rn_rocind_ms_until(rn_ns deadline)
{
	rn_ns left = deadline - rn_rocind_now();

	return left <= 0 ? 0 : (int)((left + RN_MSEC(1) - 1) / RN_MSEC(1));
}

/* Return: milliseconds that rocind may take to start, and to answer each request. */
static inline int rn_rocind_timeout_ms(void)
{
	return RN_ROCIND_TIMEOUT_MS * (int)rn_timeout_scale();
}

/* Disable cancellation of the calling thread. No function of the client is a cancellation
 * point, because its caller may hold locks. Return: the old state, for
 * pthread_setcancelstate().
 */
static inline int rn_rocind_cancel_off(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void rn_rocind_cancel_restore(int before)
{
	pthread_setcancelstate(before, NULL);
}

#endif /* RN_ROCIND_CONN_H */
