/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_report.c - findings in words: once each, counted, and a line at the end.
 *
 * Two findings are one if they are of the same kind and the program's stack is the same;
 * without a stack, if QP and request are alike.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sanitize_internal.h"
#include "sanitize_words.h"
#include "sim/pcie/gpu/gpu_internal.h"

enum {
	FINDINGS_MAX = 256, /* different ones; more are only counted */
	TEXT_MAX = 6144,
};

static struct finding {
	enum rn_san_kind kind;
	uint64_t key;
	uint64_t count;
} findings[FINDINGS_MAX];
static unsigned finding_count;
static int log_fd = STDERR_FILENO;
static pid_t owner;

/* -------------------------------------------------------------------- text */
static struct {
	char text[TEXT_MAX]; /* host lock */
	size_t used;
} out;

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	size_t room = sizeof(out.text) - out.used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out.text + out.used, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		out.used += (size_t)n < room ? (size_t)n : room - 1;
}

static void say_stack(const char *what, uint32_t stack)
{
	if (!stack)
		return;
	say("  stack       %s\n", what);
	out.used += rn_san_stack_text(stack, out.text + out.used,
				      sizeof(out.text) - out.used);
}

static void flush(void)
{
	const char *at = out.text;

	while (out.used > 0) {
		ssize_t n = write(log_fd, at, out.used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += n;
		out.used -= (size_t)n;
	}
	out.used = 0;
}

/* false: known already, or too many. */
static bool is_new(enum rn_san_kind kind, uint64_t key)
{
	rn_sanitize_counts.occurrences++;
	for (unsigned i = 0; i < finding_count; i++) {
		if (findings[i].kind != kind || findings[i].key != key)
			continue;
		findings[i].count++;
		return false;
	}
	rn_sanitize_counts.findings++;
	if (finding_count == FINDINGS_MAX)
		return false;
	findings[finding_count++] =
		(struct finding){ .kind = kind, .key = key, .count = 1 };
	return true;
}

static void head(enum rn_san_kind kind)
{
	say("rocin: finding %u: %s\n", finding_count, rn_san_kind_text(kind));
}

/* --------------------------------------------------------------- sentences */
static void say_place(rn_iova addr)
{
	const void *at =
		(const void *)(uintptr_t)addr; // NOLINT(performance-no-int-to-ptr)
	struct rn_gpu_where where;

	if (rn_gpu_find(at, &where) < 0)
		say("%#llx, host memory", (unsigned long long)addr);
	else
		say("%#llx, byte %zu of %zu in memory of gpu%d", (unsigned long long)addr,
		    where.offset, where.buffer.len, rn_gpu_number(where.gpu));
}

static void say_reader(const struct rn_san_read *r)
{
	char name[16];

	rn_agent_name(r->reader, name, sizeof(name));
	say("  read        %llu byte%s at ", (unsigned long long)r->len,
	    r->len == 1 ? "" : "s");
	say_place(r->addr);
	if (r->request)
		say(", by %s for %s %s, wr_id %#llx, QP %#x\n", name,
		    rn_san_is_send(r->request->opcode) ? "a" : "an",
		    rn_san_wr_name(r->request->opcode),
		    (unsigned long long)r->request->wr_id, r->qpn);
	else if (rn_agent_is_gpu(r->reader))
		say(", by a kernel of %s\n", name);
	else if (rn_agent_is_nic(r->reader))
		say(", by %s for the peer of QP %#x\n", name, r->qpn);
	else
		say(", by %s%s\n", r->reader == RN_AGENT_CPU ? "the " : "", name);
}

static void say_writer(const struct rn_tlp *tlp)
{
	uint32_t msg = tlp->msg & (UINT32_MAX >> 1);
	const struct rn_san_wr *wr;
	char name[16];

	rn_agent_name(tlp->requester, name, sizeof(name));
	say("  written by  ");
	if (!rn_agent_is_nic(tlp->requester)) {
		say("%s, a file read\n", name);
		return;
	}
	if (msg == tlp->msg) {
		say("%s, message %u of the peer of QP %#x\n", name, msg, tlp->stream);
		return;
	}
	wr = rn_san_wr_find(rn_san_qp(tlp->requester, tlp->stream, false), msg);
	if (wr)
		say("%s, our %s, wr_id %#llx, request %u of QP %#x\n", name,
		    rn_san_wr_name(wr->opcode), (unsigned long long)wr->wr_id, msg,
		    tlp->stream);
	else
		say("%s, our request %u of QP %#x\n", name, msg, tlp->stream);
}

static void say_completion(const struct rn_tlp *tlp)
{
	uint16_t by = rn_san.covered[tlp->data];
	const struct rn_san_completion *c = by ? &rn_san.completions[by - 1] : NULL;
	long long us = c ? (long long)(rn_host_now() - c->when) / 1000 : 0;

	say("  completion  ");
	if (!c)
		say("none has been taken\n");
	else if (c->is_storage)
		say("of the transfer, taken %lld us before\n", us);
	else
		say("%s, wr_id %#llx, number %u of QP %#x, taken %lld us before\n",
		    rn_san_wc_name(c->opcode), (unsigned long long)c->wr_id, c->msg,
		    c->qpn, us);
}

void rn_san_report_read(const struct rn_san_read *r)
{
	const struct rn_tlp *tlp = r->tlp;
	bool is_covered = rn_san.covered[tlp->data] != 0;
	enum rn_san_kind kind = is_covered ? RN_SAN_STALE : RN_SAN_UNORDERED;
	unsigned queue = RN_QUEUE_COUNT + tlp->target;
	struct rn_san_words words;
	char name[24];

	if (!is_new(kind, r->stack ? r->stack
				   : (uint64_t)r->reader << 56 |
					     (uint64_t)tlp->requester << 48 |
					     (uint64_t)r->qpn << 24 | tlp->stream))
		return;
	if (tlp->state != RN_TLP_INSIDE)
		queue = tlp->route.queue[tlp->hop];
	words = rn_san_words_of(rn_host_knobs(rn_san.host), r->reader, tlp, is_covered);
	head(kind);
	say_reader(r);
	say_writer(tlp);
	say_completion(tlp);
	say("  waits in    %s, %u bytes%s\n", rn_queue_name(queue, name, sizeof(name)),
	    tlp->len, tlp->flags & RN_TLP_RO ? ", relaxed ordering" : "");
	say("  rule        %s\n  remedy      %s\n", words.rule, words.remedy);
	say_stack(r->request ? "where that was posted:" : "of the read:", r->stack);
	flush();
}

/* ---------------------------------------------------------------- requests */
static void say_request(const char *label, const struct rn_san_wr *wr)
{
	say("  %-10s  %s, wr_id %#llx, request %u", label, rn_san_wr_name(wr->opcode),
	    (unsigned long long)wr->wr_id, wr->msg);
	for (unsigned i = 0; i < wr->range_count; i++)
		say("%s %llu bytes at %#llx", i ? "," : ";",
		    (unsigned long long)wr->range[i].len,
		    (unsigned long long)wr->range[i].addr);
	if (!rn_san_is_send(wr->opcode))
		say("; remote %#llx, rkey %#x", (unsigned long long)wr->remote_addr,
		    wr->rkey);
	say("\n");
}

static uint64_t key_of(const struct rn_san_qp *q, const struct rn_san_wr *wr)
{
	return wr->stack ? wr->stack
			 : (uint64_t)q->agent << 56 | (uint64_t)q->qpn << 8 | wr->opcode;
}

void rn_san_report_source(const struct rn_san_qp *q, const struct rn_san_wr *wr,
			  uint32_t store)
{
	char name[16];

	if (!is_new(RN_SAN_SOURCE, store ? store : key_of(q, wr)))
		return;
	head(RN_SAN_SOURCE);
	say_request("request", wr);
	say("  queue       QP %#x of %s\n", q->qpn,
	    rn_agent_name(q->agent, name, sizeof(name)));
	say("  rule        V2: the buffer belongs to the device until the completion has "
	    "been taken, and\n"
	    "              its bytes are read late; the peer may get old or new ones\n"
	    "  remedy      take the completion of this request, or of a later one of the "
	    "queue, before\n"
	    "              the buffer is written; or post it with IBV_SEND_INLINE\n");
	say_stack("of the store:", store);
	say_stack("where it was posted:", wr->stack);
	flush();
}

void rn_san_report_fence(const struct rn_san_qp *q, const struct rn_san_wr *first,
			 const struct rn_san_wr *second, bool is_local)
{
	char name[16];

	if (!is_new(RN_SAN_FENCE, key_of(q, second)))
		return;
	head(RN_SAN_FENCE);
	say_request("first", first);
	say_request("then", second);
	say("  queue       QP %#x of %s\n", q->qpn,
	    rn_agent_name(q->agent, name, sizeof(name)));
	if (is_local)
		say("  rule        V6: the second may read its source before the first "
		    "has filled it\n");
	else
		say("  rule        V6: the second may change the remote bytes before the "
		    "first has read them\n");
	say("  remedy      post the second with IBV_SEND_FENCE, or take the completion "
	    "of the first before\n");
	say_stack("where the second was posted:", second->stack);
	flush();
}

/* ------------------------------------------------------------------- begin, end */
/* Runs before handlers that the program has registered earlier; exit() goes on with
 * those.
 */
static void at_exit(int status, void *arg)
{
	unsigned long long all = rn_sanitize_counts.occurrences;
	unsigned long long different = rn_sanitize_counts.findings;

	(void)arg;
	if (getpid() != owner || different == 0)
		return;
	rn_host_lock(rn_san.host);
	say("rocin: %llu finding%s (%llu occurrence%s) in %s, process %d\n", different,
	    different == 1 ? "" : "s", all, all == 1 ? "" : "s",
	    program_invocation_short_name, (int)owner);
	flush();
	rn_host_unlock(rn_san.host);
	if (status == 0 && rn_san.options.exit_code)
		exit(rn_san.options.exit_code); // NOLINT(concurrency-mt-unsafe)
}

static void open_log(const char *path)
{
	const char *percent = strstr(path, "%p");
	char name[300];

	if (percent)
		snprintf(name, sizeof(name), "%.*s%d%s", (int)(percent - path), path,
			 (int)getpid(), percent + 2);
	else
		snprintf(name, sizeof(name), "%s", path);
	log_fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (log_fd >= 0)
		return;
	fprintf(stderr, "rocin: ROCIN_SANITIZE: %s: %s\n", name, strerror(errno));
	log_fd = STDERR_FILENO;
}

void rn_san_report_init(void)
{
	owner = getpid();
	if (*rn_san.options.log)
		open_log(rn_san.options.log);
	if (on_exit(at_exit, NULL) != 0)
		fprintf(stderr, "rocin: ROCIN_SANITIZE: no memory for the exit code\n");
}
