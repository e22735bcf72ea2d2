/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_kit.h - NICs whose messages, completions and requests a test plays, and what
 * the sanitizer says to them. One process per test program: ROCIN_SANITIZE is read once.
 */
#ifndef SANITIZE_KIT_H
#define SANITIZE_KIT_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocin/cqe.h"
#include "rocin/work_request.h"
#include "sim/pcie/sanitizer/sanitize_internal.h"
#include "tests/sim/pcie/host/host_kit.h"

enum {
	SAN_RING = 64,
};

/* Nothing moves unless a rule or the test moves it. */
#define SAN_STILL ",driver=adversarial,hold=inf,hold.polls=inf"

static char san_log[] = "/tmp/rocin-sanitize-XXXXXX";
static struct rn_cqe san_ring[SAN_RING];
static unsigned san_ring_used;

/* First in main(). */
static inline void san_begin(const char *knobs, const char *level)
{
	char text[200];
	int fd = mkstemp(san_log);

	assert(fd >= 0);
	close(fd);
	snprintf(text, sizeof(text), "%s,exitcode=0,log=%s", level, san_log);
	setenv("ROCIN_PCIE", knobs, 1);
	setenv("ROCIN_SANITIZE", text, 1);
}

static inline int san_end(int status)
{
	unlink(san_log);
	return status;
}

/* Loads that may be those of a loop count as well: the test does not come back to them.
 */
static inline void san_confirm(void)
{
	struct rn_host *h = rn_host_get();

	rn_host_lock(h);
	rn_san_candidates_confirm();
	rn_host_unlock(h);
}

static inline unsigned long long san_findings(void)
{
	san_confirm();
	return rn_sanitize_counts.findings;
}

static inline unsigned long long san_occurrences(void)
{
	san_confirm();
	return rn_sanitize_counts.occurrences;
}

/* Does the newest that was said hold @text? */
static inline void san_assert_said(const char *text)
{
	enum {
		SAID_MAX = 16000, /* the newest report */
	};
	static char said[SAID_MAX + 1];
	const char *newest = said;
	off_t end;
	int fd;

	san_confirm();
	fd = open(san_log, O_RDONLY | O_CLOEXEC);
	end = lseek(fd, 0, SEEK_END);
	off_t start = end > SAID_MAX ? end - SAID_MAX : 0;
	ssize_t n = pread(fd, said, SAID_MAX, start);

	close(fd);
	assert_true(n >= 0);
	said[n] = '\0';
	for (const char *at = said; (at = strstr(at, "rocin: finding ")); at++)
		newest = at;
	if (!strstr(newest, text))
		fail_msg("no \"%s\" in: %s", text, newest);
}

/* Data of message @msg; @flags: enum rn_mem_flag. */
static inline void san_data(struct kit_nic *n, uint32_t qpn, uint32_t msg, void *dst,
			    uint64_t value, uint32_t flags)
{
	struct rn_mem_attr attr = { .qpn = qpn, .msg = msg, .flags = flags };

	assert_int_equal(
		n->api->mem->write(n->nic, kit_iova(dst), &value, sizeof(value), attr),
		RN_MEM_DONE);
}

/* The CQE of message @msg, as written; the program has not taken it. */
static inline struct rn_cqe *san_cqe(struct kit_nic *n, uint32_t qpn, uint32_t msg,
				     unsigned opcode, unsigned status)
{
	struct rn_cqe *slot = &san_ring[san_ring_used++ % SAN_RING];
	struct rn_cqe cqe = {
		.wr_id = 0x1000 + msg,
		.qpn = qpn,
		.ctl = rn_cqe_ctl(1, 0, (uint8_t)opcode, (uint8_t)status),
	};
	struct rn_mem_attr attr = { .qpn = qpn, .msg = msg, .flags = RN_MEM_CQE };

	assert_int_equal(
		n->api->mem->write(n->nic, kit_iova(slot), &cqe, sizeof(cqe), attr),
		RN_MEM_DONE);
	n->api->settle_ring(n->nic, kit_iova(slot), sizeof(*slot));
	return slot;
}

static inline void san_take(struct kit_nic *n, const struct rn_cqe *slot, uint32_t qpn,
			    bool recv)
{
	n->api->polled(n->nic, &(struct rn_host_cqe){ .slot = kit_iova(slot),
						      .qpn = qpn,
						      .recv = recv });
}

/* The completion of a message of the peer, or of a request of ours, is written and taken.
 */
static inline void san_received(struct kit_nic *n, uint32_t qpn, uint32_t msg)
{
	san_take(n, san_cqe(n, qpn, msg, RN_WC_RECV_RDMA_WITH_IMM, RN_WC_SUCCESS), qpn,
		 true);
}

static inline void san_completed(struct kit_nic *n, uint32_t qpn, uint32_t msg)
{
	san_take(n, san_cqe(n, qpn, msg, RN_WC_RDMA_READ, RN_WC_SUCCESS), qpn, false);
}

static inline bool san_is_read(const struct rn_tlp *tlp, const void *arg)
{
	(void)arg;
	return tlp->kind == RN_TLP_READ || tlp->kind == RN_TLP_COMPLETION;
}

/* @n reads a word, for request or peer's READ @msg of @qpn; what that pushes moves. */
static inline void san_read(struct kit_nic *n, uint32_t qpn, uint32_t msg, void *src)
{
	static uint64_t sink;
	struct rn_mem_attr attr = { .qpn = qpn, .msg = msg };
	struct rn_host *h = rn_host_get();
	enum rn_mem_result result =
		n->api->mem->read(n->nic, &sink, kit_iova(src), sizeof(sink), attr, 1);

	assert_int_not_equal(result, RN_MEM_FAULT);
	rn_host_lock(h);
	rn_host_force_if(h, san_is_read, NULL);
	rn_host_unlock(h);
	kit_collect(n);
}

/* A request of @qpn with one local range. */
static inline void san_post(struct kit_nic *n, uint32_t qpn, uint32_t msg,
			    enum rn_wr_opcode opcode, const void *local, uint64_t len,
			    uint64_t remote, bool fence)
{
	struct rn_host_range range = { .addr = kit_iova(local), .len = len };

	n->api->posted(n->nic, &(struct rn_host_wr){ .qpn = qpn,
						     .wr_id = 0x2000 + msg,
						     .msg = msg,
						     .opcode = (uint8_t)opcode,
						     .fence = fence,
						     .is_signaled = true,
						     .local = &range,
						     .local_count = len ? 1 : 0,
						     .remote_addr = remote,
						     .rkey = 0x100 });
}

#endif /* SANITIZE_KIT_H */
