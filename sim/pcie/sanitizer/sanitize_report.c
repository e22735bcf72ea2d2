/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_report.c - writes a report of each finding when it first occurs, and a summary
 * at exit.
 *
 * Two occurrences are one finding if they are of the same kind and have the same stack;
 * without a stack, if the QP and the opcode are the same. The rules that a report names
 * are those of the PCIe ordering table (PCIe base specification 2.4.1), of the inside of
 * a GPU (GV1) and of verbs completions (V1).
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocin/cqe.h"
#include "sanitize_internal.h"
#include "sim/pcie/gpu/gpu_internal.h"

/* ----------------------------------------------------- texts of reports */
#define NEXT "\n              "

const char *rn_san_kind_text(enum rn_san_kind kind)
{
	static const char *const text[RN_SAN_KIND_COUNT] = {
		[RN_SAN_STALE] = "stale read: bytes that a completion covers were read "
				 "while on their way",
		[RN_SAN_UNORDERED] = "unordered read: bytes were read while on their "
				     "way, and no completion covers them",
		[RN_SAN_SOURCE] = "source changed: a buffer changed between post and "
				  "completion",
		[RN_SAN_FENCE] = "missing fence: a request does not wait for a READ or "
				 "atomic that it depends on",
	};

	return text[kind];
}

const char *rn_san_wr_name(unsigned opcode)
{
	static const char *const text[] = {
#define X(symbol, number, word, name, words) [RN_WR_##symbol] = (words),
		RN_WR_OPCODES(X)
#undef X
	};

	return opcode < RN_ARRAY_SIZE(text) && text[opcode] ? text[opcode] : "request";
}

const char *rn_san_wc_name(unsigned opcode)
{
	static const char *const text[] = {
#define X(symbol, number, words) [RN_WC_##symbol] = (words),
		RN_WC_OPCODES(X)
#undef X
	};

	return opcode < RN_ARRAY_SIZE(text) && text[opcode] ? text[opcode] : "completion";
}

/* Does this write wait in a queue that TLPs from the CPU to the GPU use as well, so that
 * an access of the CPU pushes the write?
 */
static bool is_shared_way(const struct rn_pcie_knobs *k, const struct rn_tlp *tlp)
{
	return (k->p2p == RN_P2P_SHARED || tlp->flags & RN_TLP_NEAR) &&
	       k->gpu_link == RN_GPU_PCIE;
}

static struct rn_san_words of_kernel(const struct rn_pcie_knobs *k,
				     const struct rn_tlp *tlp)
{
	struct rn_san_words w;

	if (!is_shared_way(k, tlp)) {
		w.rule = "B2a: a read pushes writes on its own route only; this one is "
			 "shared with no CPU" NEXT
			 "access, flag or launch (another root port)";
		w.remedy = rn_agent_is_nic(tlp->requester)
				   ? "READ one byte of the buffer by a loopback QP of "
				     "the same NIC and take its" NEXT
				     "completion before the GPU is told"
				   : "let the transfer bounce (policy host or gpu), or "
				     "order it by a stream";
	} else if (tlp->state == RN_TLP_INSIDE || k->gpu_ordering == RN_GPU_ORDER_NONE) {
		w.rule = "GV1: writes of peers wait inside the GPU until a launch, a "
			 "flush or a read through" NEXT
			 "the BAR; a kernel that runs is told nothing";
		w.remedy = "rn_gpu_flush() (cuFlushGPUDirectRDMAWrites()) between the "
			   "completion and the flag, a" NEXT
			   "loopback READ, or launch the kernel after the completion";
	} else {
		w.rule = "D2a: a completion that goes to the GPU, as of a flag in host "
			 "memory, comes behind" NEXT
			 "the writes before it; nothing went that way";
		w.remedy =
			"let the kernel wait for a flag in host memory "
			"(rn_gpu_wait_host()), or launch it after" NEXT "the completion";
	}
	return w;
}

static struct rn_san_words of_other(const struct rn_pcie_knobs *k, unsigned reader,
				    const struct rn_tlp *tlp)
{
	struct rn_san_words w = {
		.rule = "B2a: a read pushes the writes before it on its own route; this "
			"one took another",
		.remedy = "READ one byte of the buffer by a loopback QP of the NIC that "
			  "wrote it, and take its" NEXT "completion before",
	};

	if (!rn_agent_is_nic(tlp->requester))
		w.remedy = "let the transfer bounce (policy host or gpu), or order what "
			   "follows by a stream";
	else if (reader == RN_AGENT_CPU && is_shared_way(k, tlp))
		w.remedy = "read it again by rn_gpu_bar_load(), or without "
			   "ROCIN_PCIE_TRAP=off";
	return w;
}

struct rn_san_words rn_san_words_of(const struct rn_pcie_knobs *k, unsigned reader,
				    const struct rn_tlp *tlp, bool is_covered)
{
	if (!is_covered)
		return (struct rn_san_words){
			.rule = "V8: bytes of a message are placed in any order; only a "
				"completion (V1) says that" NEXT "they are there",
			.remedy = "poll a completion, of a WRITE with immediate or of a "
				  "SEND after the WRITE, instead" NEXT
				  "of memory; or register without "
				  "IBV_ACCESS_RELAXED_ORDERING and ask" NEXT
				  "ibv_query_qp_data_in_order()",
		};
	if (rn_agent_is_gpu(reader) && tlp->target == reader)
		return of_kernel(k, tlp);
	return of_other(k, reader, tlp);
}

/* ----------------------------------------------------------------- stacks */
enum {
	STACKS = 4096, /* capacity, a power of two; number 0 means no stack */
	TRIES = 16,
	FRAMES_MAX = 24,
	FRAMES_SHOWN = 12,
};

static struct stack {
	uint64_t hash; /* 0: the entry is free */
	uint32_t count;
	void *frame[FRAMES_MAX];
} stacks[STACKS]; /* one entry for each distinct stack */
static pthread_mutex_t stacks_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash_of(void *const *frame, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ (uintptr_t)frame[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ? hash : 1;
}

/* Stores the stack if it is new. Returns its number, or 0 if there is no room. Called
 * with stacks_lock held.
 */
static uint32_t remember_stack(void *const *frame, uint32_t count)
{
	uint64_t hash = hash_of(frame, count);
	uint32_t at = (uint32_t)(hash >> 32) % STACKS;

	for (unsigned i = 0; i < TRIES; i++, at = (at + 1) % STACKS) {
		struct stack *s = &stacks[at];

		if (at == 0 || (s->hash && s->hash != hash))
			continue;
		if (!s->hash) {
			memcpy(s->frame, frame, count * sizeof(*frame));
			s->count = count;
			s->hash = hash;
		}
		return at;
	}
	return 0;
}

uint32_t rn_san_stack(void)
{
	void *frame[FRAMES_MAX];
	int count = backtrace(frame, FRAMES_MAX);
	uint32_t stack;

	if (count <= 0)
		return 0;
	pthread_mutex_lock(&stacks_lock);
	stack = remember_stack(frame, (uint32_t)count);
	pthread_mutex_unlock(&stacks_lock);
	return stack;
}

/* Is this a frame that reports leave out? True for frames of Rocin's libraries and of the
 * compiler's sanitizers, and for the nameless frame of libc by which the kernel enters a
 * signal handler.
 */
static bool is_ours(void *at, bool is_first)
{
	const char *name;
	Dl_info info;

	if (!dladdr(at, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	if (strncmp(name, "librocin", 8) == 0 || strncmp(name, "libasan", 7) == 0 ||
	    strncmp(name, "libtsan", 7) == 0)
		return true;
	return is_first && !info.dli_sname && strncmp(name, "libc.so", 7) == 0;
}

static size_t frame_text(unsigned number, void *at, char *buf, size_t len)
{
	Dl_info info;
	int n;

	if (!dladdr(at, &info) || !info.dli_fname)
		n = snprintf(buf, len, "    #%u %p\n", number, at);
	else if (info.dli_sname)
		n = snprintf(buf, len, "    #%u %p in %s+%#tx (%s)\n", number, at,
			     info.dli_sname, (char *)at - (char *)info.dli_saddr,
			     info.dli_fname);
	else
		n = snprintf(buf, len, "    #%u %p (%s+%#tx)\n", number, at,
			     info.dli_fname, (char *)at - (char *)info.dli_fbase);
	return n > 0 && (size_t)n < len ? (size_t)n : 0;
}

/* Writes the frames of the stack, except those left out, into @buf. Returns the number of
 * bytes written.
 */
static size_t stack_text(uint32_t stack, char *buf, size_t len)
{
	const struct stack *s = &stacks[stack];
	uint32_t first = 0, number = 0;
	size_t used = 0;

	if (!stack)
		return 0;
	while (first < s->count && is_ours(s->frame[first], true))
		first++;
	for (uint32_t i = first; i < s->count && number < FRAMES_SHOWN; i++) {
		if (is_ours(s->frame[i], false))
			break;
		used += frame_text(number++, s->frame[i], buf + used, len - used);
	}
	return used;
}

/* --------------------------------------------------------------- findings */
enum {
	/* Number of different findings that are kept; further findings are only counted.
	 */
	FINDINGS_MAX = 256,
	TEXT_MAX = 6144,
};

static struct finding {
	enum rn_san_kind kind;
	uint64_t key;
	uint64_t count;
} findings[FINDINGS_MAX];
static unsigned finding_count;
static int log_fd = STDERR_FILENO;
static pid_t process;

/* -------------------------------------------------------------------- text */
static struct {
	char text[TEXT_MAX]; /* guarded by the host lock */
	size_t used;
} out;

static void __attribute__((format(printf, 1, 2))) add_text(const char *fmt, ...)
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
	add_text("  stack       %s\n", what);
	out.used += stack_text(stack, out.text + out.used, sizeof(out.text) - out.used);
}

static void write_out(void)
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

/* Counts an occurrence. Returns false if the finding is known already, or if there are
 * too many findings.
 */
static bool is_new_finding(enum rn_san_kind kind, uint64_t key)
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

static void say_head(enum rn_san_kind kind)
{
	add_text("rocin: finding %u: %s\n", finding_count, rn_san_kind_text(kind));
}

/* ---------------------------------------------------- lines of a report */
static void say_place(rn_iova addr)
{
	const void *at =
		(const void *)(uintptr_t)addr; // NOLINT(performance-no-int-to-ptr)
	struct rn_gpu_where where;

	if (rn_gpu_find(at, &where) < 0)
		add_text("%#llx, host memory", (unsigned long long)addr);
	else
		add_text("%#llx, byte %zu of %zu in memory of gpu%d",
			 (unsigned long long)addr, where.offset, where.buffer.len,
			 rn_gpu_number(where.gpu));
}

static void say_reader(const struct rn_san_read *r)
{
	char name[16];

	rn_agent_name(r->reader, name, sizeof(name));
	add_text("  read        %llu byte%s at ", (unsigned long long)r->len,
		 r->len == 1 ? "" : "s");
	say_place(r->addr);
	if (r->request)
		add_text(", by %s for %s %s, wr_id %#llx, QP %#x\n", name,
			 rn_san_is_send(r->request->opcode) ? "a" : "an",
			 rn_san_wr_name(r->request->opcode),
			 (unsigned long long)r->request->wr_id, r->qpn);
	else if (rn_agent_is_gpu(r->reader))
		add_text(", by a kernel of %s\n", name);
	else if (rn_agent_is_nic(r->reader))
		add_text(", by %s for the peer of QP %#x\n", name, r->qpn);
	else
		add_text(", by %s%s\n", r->reader == RN_AGENT_CPU ? "the " : "", name);
}

static void say_writer(const struct rn_tlp *tlp)
{
	uint32_t msg = tlp->msg & (UINT32_MAX >> 1);
	const struct rn_san_wr *wr;
	char name[16];

	rn_agent_name(tlp->requester, name, sizeof(name));
	add_text("  written by  ");
	if (!rn_agent_is_nic(tlp->requester)) {
		add_text("%s, a file read\n", name);
		return;
	}
	if (msg == tlp->msg) {
		add_text("%s, message %u of the peer of QP %#x\n", name, msg,
			 tlp->stream);
		return;
	}
	wr = rn_san_wr_find(rn_san_qp(tlp->requester, tlp->stream, false), msg);
	if (wr)
		add_text("%s, our %s, wr_id %#llx, request %u of QP %#x\n", name,
			 rn_san_wr_name(wr->opcode), (unsigned long long)wr->wr_id, msg,
			 tlp->stream);
	else
		add_text("%s, our request %u of QP %#x\n", name, msg, tlp->stream);
}

static void say_completion(const struct rn_tlp *tlp)
{
	uint16_t by = rn_san.covered[tlp->data];
	const struct rn_san_completion *c = by ? &rn_san.completions[by - 1] : NULL;
	long long us = c ? (long long)(rn_host_now() - c->when) / 1000 : 0;

	add_text("  completion  ");
	if (!c)
		add_text("none has been taken\n");
	else if (c->is_storage)
		add_text("of the transfer, taken %lld us before\n", us);
	else
		add_text("%s, wr_id %#llx, number %u of QP %#x, taken %lld us before\n",
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

	if (!is_new_finding(kind, r->stack
					  ? r->stack
					  : (uint64_t)r->reader << 56 |
						    (uint64_t)tlp->requester << 48 |
						    (uint64_t)r->qpn << 24 | tlp->stream))
		return;
	if (tlp->state != RN_TLP_INSIDE)
		queue = tlp->route.queue[tlp->hop];
	words = rn_san_words_of(rn_host_knobs(rn_san.host), r->reader, tlp, is_covered);
	say_head(kind);
	say_reader(r);
	say_writer(tlp);
	say_completion(tlp);
	add_text("  waits in    %s, %u bytes%s\n",
		 rn_queue_name(queue, name, sizeof(name)), tlp->len,
		 tlp->flags & RN_TLP_RO ? ", relaxed ordering" : "");
	add_text("  rule        %s\n  remedy      %s\n", words.rule, words.remedy);
	say_stack(r->request ? "where that was posted:" : "of the read:", r->stack);
	write_out();
}

/* ---------------------------------------------------------------- requests */
static void say_request(const char *label, const struct rn_san_wr *wr)
{
	add_text("  %-10s  %s, wr_id %#llx, request %u", label,
		 rn_san_wr_name(wr->opcode), (unsigned long long)wr->wr_id, wr->msg);
	for (unsigned i = 0; i < wr->range_count; i++)
		add_text("%s %llu bytes at %#llx", i ? "," : ";",
			 (unsigned long long)wr->range[i].len,
			 (unsigned long long)wr->range[i].addr);
	if (!rn_san_is_send(wr->opcode))
		add_text("; remote %#llx, rkey %#x", (unsigned long long)wr->remote_addr,
			 wr->rkey);
	add_text("\n");
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

	if (!is_new_finding(RN_SAN_SOURCE, store ? store : key_of(q, wr)))
		return;
	say_head(RN_SAN_SOURCE);
	say_request("request", wr);
	add_text("  queue       QP %#x of %s\n", q->qpn,
		 rn_agent_name(q->agent, name, sizeof(name)));
	add_text(
		"  rule        V2: the buffer belongs to the device until the completion "
		"has "
		"been taken, and\n"
		"              its bytes are read late; the peer may get old or new "
		"ones\n"
		"  remedy      take the completion of this request, or of a later one of "
		"the "
		"queue, before\n"
		"              the buffer is written; or post it with IBV_SEND_INLINE\n");
	say_stack("of the store:", store);
	say_stack("where it was posted:", wr->stack);
	write_out();
}

void rn_san_report_fence(const struct rn_san_qp *q, const struct rn_san_wr *first,
			 const struct rn_san_wr *second, bool is_local)
{
	char name[16];

	if (!is_new_finding(RN_SAN_FENCE, key_of(q, second)))
		return;
	say_head(RN_SAN_FENCE);
	say_request("first", first);
	say_request("then", second);
	add_text("  queue       QP %#x of %s\n", q->qpn,
		 rn_agent_name(q->agent, name, sizeof(name)));
	if (is_local)
		add_text("  rule        V6: the second may read its source before the "
			 "first "
			 "has filled it\n");
	else
		add_text("  rule        V6: the second may change the remote bytes "
			 "before the "
			 "first has read them\n");
	add_text("  remedy      post the second with IBV_SEND_FENCE, or take the "
		 "completion "
		 "of the first before\n");
	say_stack("where the second was posted:", second->stack);
	write_out();
}

/* ----------------------------------------------------------- start, exit */
/* Writes the summary and sets the exit code. on_exit() handlers that were registered
 * earlier run later; if this handler calls exit(), they still run.
 */
static void at_exit(int status, void *arg)
{
	unsigned long long all = rn_sanitize_counts.occurrences;
	unsigned long long different = rn_sanitize_counts.findings;

	(void)arg;
	if (getpid() != process || different == 0)
		return;
	rn_host_lock(rn_san.host);
	add_text("rocin: %llu finding%s (%llu occurrence%s) in %s, process %d\n",
		 different, different == 1 ? "" : "s", all, all == 1 ? "" : "s",
		 program_invocation_short_name, (int)process);
	write_out();
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

/* Calls backtrace() once, because its first call allocates memory. Later calls are made
 * in the SIGSEGV handler, where that is forbidden.
 */
static void make_first_stack(void)
{
	void *frame[2];

	(void)backtrace(frame, 2);
}

void rn_san_report_init(void)
{
	make_first_stack();
	process = getpid();
	if (*rn_san.options.log)
		open_log(rn_san.options.log);
	if (on_exit(at_exit, NULL) != 0)
		fprintf(stderr, "rocin: ROCIN_SANITIZE: no memory for the exit code\n");
}
