/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine_kit.h - queue pairs on engines without verbs on top.
 *
 * A device of the kit has an address that no other test uses. Its engine gets sockets
 * made by the test (kit_attach_alone()) or by rocind (rnp_engine_attach()). The functions
 * lock as a verbs provider would and fail the test when something goes wrong.
 */
#ifndef RNP_ENGINE_KIT_H
#define RNP_ENGINE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "provider/engine/engine.h"
#include "provider/engine/engine_internal.h"
#include "rocin/cqe.h"
#include "rocin/mr.h"
#include "rocin/work_request.h"

enum {
	KIT_DEVICES = 2, /* "rocin0" and "rocin1" */
	KIT_CQES = 256,
	KIT_WRS = 128,
	KIT_BUF = 1 << 16,
	KIT_KEY = 0x123401,
	KIT_WAIT_MS = 300000, /* longer than anything takes that is waited for */
};

/* One side: an engine with a CQ, a QP and a buffer registered for everything. */
struct kit_end {
	struct rnp_engine *e;
	struct rn_gid gid;
	struct rn_cq cq;
	struct rn_cqe *ring;
	uint32_t taken; /* CQEs seen by kit_poll() */
	struct rn_qp *qp;
	struct rn_stats_qp *stats;
	void *qp_mem;
	uint32_t qpn;
	struct rn_mr mr;
	uint8_t *buf; /* KIT_BUF bytes */
	bool is_armed;

	/* Written by the hooks, under the engine's lock. */
	int event_fd;		   /* one count for each completion event */
	_Atomic uint32_t async;	   /* bits 1 << enum ibv_event_type of the device */
	_Atomic uint32_t qp_async; /* bits 1 << enum rn_async_event */
};

/* ROCIN_NETDEVS for KIT_DEVICES devices; @base: addresses base .. base + 1 of this test.
 */
void kit_environment(unsigned base);

/* Open the engine of device @n. Not attached. */
void kit_open(struct kit_end *k, unsigned n);

/* Sockets by hand: slot 1, no rocind. */
void kit_attach_alone(struct kit_end *k);

/* CQ, buffer, RC queue pair; the engine must be attached. */
void kit_make_qp(struct kit_end *k);

/* To RTS, towards @peer_gid and @peer_qpn; ACK timeout 2^@timeout * 4 us, 7 retries. */
void kit_connect(struct kit_end *k, const struct rn_gid *peer_gid, uint32_t peer_qpn,
		 uint8_t timeout);

/* Both ends in this process: open, attach alone, make and connect. */
void kit_pair(struct kit_end k[2], uint8_t timeout);

/* The QP, its CQ and its region leave the device; the engine stays open. */
void kit_destroy_qp(struct kit_end *k);

/* Destroy and close all. */
void kit_close(struct kit_end *k);
void kit_close_pair(struct kit_end k[2]);

/* @len bytes at offset 0 of the buffer; @opcode SEND, or WRITE or READ of offset
 * @remote of @peer_buf's buffer.
 */
void kit_post_send(struct kit_end *k, enum rn_wr_opcode opcode, uint32_t len,
		   uint64_t remote_addr);
void kit_post_send_locked(struct kit_end *k, enum rn_wr_opcode opcode, uint32_t len,
			  uint64_t remote_addr);
void kit_post_recv(struct kit_end *k);

/* One poll as poll_cq does it. True if there was a CQE. */
bool kit_poll(struct kit_end *k, struct rn_cqe *cqe);

/* True if a CQE waits; asks nobody. */
bool kit_has_entry(void *k);

/* Poll until a CQE comes; its status must be @status. */
struct rn_cqe kit_await(struct kit_end *k, enum rn_wc_status status);

/* Poll both ends until one CQE has come to @at. */
void kit_await_both(struct kit_end *at, struct kit_end *other);

/* req_notify_cq() with the poll after it; true if that poll found something. */
bool kit_arm(struct kit_end *k);

/* Sleep until on_event() says something. */
void kit_await_event(struct kit_end *k);

/* Fails the test when @since (rnp_engine_now()) is too long ago. */
void kit_not_forever(rn_ns since);

#endif /* RNP_ENGINE_KIT_H */
