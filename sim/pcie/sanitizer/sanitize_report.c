/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_report.c - writes a report of each finding when it first occurs, and a summary
 * when the program ends.
 *
 * Two occurrences of the same kind are one finding if they have the same stack or, if
 * there is no stack, the same QP and opcode. The rules that a report names are those of
 * the PCIe ordering table (PCIe base specification 2.4.1), of the inside of a GPU (GV1)
 * and of verbs completions (V1).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocin/cqe.h"
#include "rocin/hash.h"
#include "sanitize_internal.h"
#include "sim/pcie/gpu/gpu_internal.h"
#include "sim/pcie/page/page.h"
#include "transport/io/report/report.h"
#include "transport/io/report/stacks.h"

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

const char *rn_san_kind_rule(enum rn_san_kind kind)
{
	static const char *const names[RN_SAN_KIND_COUNT] = {
		[RN_SAN_STALE] = "visibility/stale-read",
		[RN_SAN_UNORDERED] = "visibility/unordered-read",
		[RN_SAN_SOURCE] = "visibility/source-changed",
		[RN_SAN_FENCE] = "visibility/missing-fence",
	};

	return names[kind];
}

const char *rn_san_wr_name(unsigned opcode)
{
	static const char *const text[] = {
#define X(symbol, number, operands, word, name, words) [RN_WR_##symbol] = (words),
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

/* Returns true if this write waits in a queue that TLPs from the CPU to the GPU also use.
 * An access of the CPU then pushes the write.
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
	if (rn_san_is_of_atomic(tlp))
		return (struct rn_san_words){
			.rule = "V6: an atomic is executed when the NIC gets to it, also "
				"behind a request" NEXT
				"that was posted later and does not wait for it",
			.remedy = "post that request with IBV_SEND_FENCE, or wait until "
				  "the word itself" NEXT "has changed",
		};
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

/* -------------------------------------------- findings that were reported */
enum {
	/* Maximum number of findings that are told apart, and of reports that are
	 * written. Nobody would read more.
	 */
	FINDINGS_MAX = 4096,
	REPORTS_MAX = 256,
	FINDING_BUCKETS = 1024,
	TEXT_MAX = RN_REPORT_TEXT,
	ALL_CLASSES = (1 << RN_SAN_CLASS_COUNT) - 1,
};

static struct finding {
	struct finding *next; /* next entry in the same bucket */
	enum rn_san_kind kind;
	uint64_t key;
	/* The finding was a mistake in at least one class of machines for which the user
	 * asked.
	 */
	bool is_counted;
	bool is_suppressed;
} findings[FINDINGS_MAX];
static struct finding *finding_buckets[FINDING_BUCKETS];
static unsigned finding_count, said_count;
/* number of occurrences of suppressed findings */
static unsigned long long suppressed;
/* classes of machines in which a mistake was found, one bit each */
static unsigned wrong;
static struct rn_report writer;

/* ----------------------------------------------------- reports of findings */
/* Texts of findings whose report is postponed, such as those of candidates, and may never
 * be written. The memory is static, because these texts are made in the SIGSEGV handler,
 * where nothing can be allocated.
 */
enum {
	TEXTS = RN_SAN_CANDIDATES + 1,
};
static struct {
	bool is_used;
	char text[TEXT_MAX];
} texts[TEXTS];

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

/* Copies the text that was composed so far to a free place and returns the copy, which
 * stays there until give_text(). A place is always free, because only candidates keep
 * texts.
 */
static char *take_text(void)
{
	unsigned i = 0;

	while (texts[i].is_used)
		i++;
	assert(i < TEXTS);
	texts[i].is_used = true;
	memcpy(texts[i].text, out.text, out.used);
	texts[i].text[out.used] = '\0';
	out.used = 0;
	return texts[i].text;
}

static void give_text(const char *text)
{
	for (unsigned i = 0; i < TEXTS; i++)
		if (texts[i].text == text)
			texts[i].is_used = false;
}

static void say_stack(const char *what, uint32_t stack)
{
	if (!stack)
		return;
	add_text("  stack       %s\n", what);
	out.used +=
		rn_stacks_text(stack, out.text + out.used, sizeof(out.text) - out.used);
}

static struct finding **bucket_of(enum rn_san_kind kind, uint64_t key)
{
	uint64_t hash = rn_hash_word(key ^ (uint64_t)kind << 60);

	return &finding_buckets[(hash >> 32) % FINDING_BUCKETS];
}

static struct finding *find_finding(enum rn_san_kind kind, uint64_t key)
{
	struct finding *f = *bucket_of(kind, key);

	while (f && (f->kind != kind || f->key != key))
		f = f->next;
	return f;
}

/* Returns true if a new occurrence of the finding would be reported now. */
static bool is_to_be_said(enum rn_san_kind kind, uint64_t key, unsigned classes)
{
	const struct finding *known = find_finding(kind, key);

	return classes & rn_san.options.classes && said_count < REPORTS_MAX &&
	       !(known && known->is_counted);
}

static struct finding *add_finding(enum rn_san_kind kind, uint64_t key)
{
	struct finding **bucket = bucket_of(kind, key);
	struct finding *f = &findings[finding_count];

	if (finding_count == FINDINGS_MAX)
		return NULL;
	finding_count++;
	*f = (struct finding){ .next = *bucket, .kind = kind, .key = key };
	*bucket = f;
	return f;
}

/* Counts an occurrence of a mistake. Returns true if it must be reported. Returns false
 * if the finding is known already, if it is no mistake in the classes of machines for
 * which the user asked, or if there are too many findings.
 */
static bool is_new_finding(enum rn_san_kind kind, uint64_t key, unsigned classes)
{
	struct finding *f = find_finding(kind, key);

	wrong |= classes;
	if (!f)
		f = add_finding(kind, key);
	if (!(classes & rn_san.options.classes))
		return false;
	if (f && f->is_suppressed) {
		suppressed++;
		return false;
	}
	rn_sanitize_counts.occurrences++;
	if (!f || f->is_counted)
		return false;
	f->is_counted = true;
	rn_sanitize_counts.findings++;
	if (said_count == REPORTS_MAX)
		return false;
	said_count++;
	return true;
}

/* Writes the composed text as the report of a finding. Called after is_new_finding() has
 * returned true. @stack: number of the program's call stack, or 0.
 */
static void write_finding(enum rn_san_kind kind, uint64_t key, uint32_t stack)
{
	struct finding *f = find_finding(kind, key);

	out.text[out.used] = '\0';
	out.used = 0;
	if (rn_report_write(&writer,
			    &(struct rn_report_finding){ .rule = rn_san_kind_rule(kind),
							 .severity = "error",
							 .what = rn_san_kind_text(kind),
							 .body = out.text,
							 .stack = stack }))
		return;
	said_count--;
	rn_sanitize_counts.findings--;
	rn_sanitize_counts.occurrences--;
	suppressed++;
	if (f)
		f->is_suppressed = true;
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
	if (rn_agent_is_gpu(tlp->requester)) {
		add_text("%s, a store of a kernel\n", name);
		return;
	}
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
	const struct rn_san_completion *c =
		tlp->data ? &rn_san.completions[tlp->data - 1] : NULL;
	long long us = c ? (long long)(rn_host_now() - c->when) / 1000 : 0;

	add_text("  completion  ");
	if (!c)
		add_text("none that covers it has been taken by this process; the " NEXT
			 "requester's own says only that the NIC has accepted it\n");
	else if (c->is_storage)
		add_text("of the transfer, taken %lld us before\n", us);
	else
		add_text("%s, wr_id %#llx, number %u of QP %#x, taken %lld us before\n",
			 rn_san_wc_name(c->opcode), (unsigned long long)c->wr_id, c->msg,
			 c->qpn, us);
}

/* Adds @before and the names of the classes of machines in @set, leaving out `given'.
 * Adds nothing if @set has no other class.
 */
static void say_names(const char *before, unsigned set)
{
	if (!(set & ~1U << RN_SAN_CLASS_GIVEN))
		return;
	add_text("%s", before);
	for (unsigned i = RN_SAN_CLASS_GIVEN + 1, n = 0; i < RN_SAN_CLASS_COUNT; i++)
		if (set & 1U << i)
			add_text("%s%s", n++ ? ", " : "", rn_san_class_name(i));
}

static void say_classes(unsigned set)
{
	add_text("  machines    ");
	say_names("wrong on ", set);
	say_names(set & ~1U ? "; right on " : "right on ",
		  ~set & ((1U << RN_SAN_CLASS_COUNT) - 1));
	add_text("\n");
}

/* Adds to the report in which queue the pending write waits on machines of class @class,
 * the rule that allows this, and the remedy.
 */
static void say_class(const struct rn_san_read *r, unsigned class)
{
	const struct rn_tlp *tlp = r->by[class];
	unsigned queue = RN_QUEUE_COUNT + tlp->target;
	struct rn_san_words words = rn_san_words_of(rn_san_class_knobs(class), r->reader,
						    tlp, tlp->data != 0);
	char name[24];

	if (tlp->state != RN_TLP_INSIDE)
		queue = tlp->route.queue[tlp->hop];
	if (class != RN_SAN_CLASS_GIVEN)
		add_text("  on %s\n", rn_san_class_name(class));
	add_text("  waits in    %s, %u bytes%s\n",
		 rn_queue_name(queue, name, sizeof(name)), tlp->len,
		 tlp->flags & RN_TLP_RO ? ", relaxed ordering" : "");
	add_text("  rule        %s\n  remedy      %s\n", words.rule, words.remedy);
}

static bool is_same_words(const struct rn_san_read *r, unsigned a, unsigned b)
{
	struct rn_san_words x = rn_san_words_of(rn_san_class_knobs(a), r->reader,
						r->by[a], r->by[a]->data != 0);
	struct rn_san_words y = rn_san_words_of(rn_san_class_knobs(b), r->reader,
						r->by[b], r->by[b]->data != 0);

	return x.rule == y.rule && x.remedy == y.remedy;
}

/* Adds the rules for all classes of machines in which the read is a mistake, each rule
 * once. The classes for which the user asked come first.
 */
static void say_rules(const struct rn_san_read *r)
{
	unsigned order[2 * RN_SAN_CLASS_COUNT], count = 0, said = 0;

	for (unsigned i = 0; i < RN_SAN_CLASS_COUNT; i++)
		if (r->pending & rn_san.options.classes & 1U << i)
			order[count++] = i;
	for (unsigned i = 0; i < RN_SAN_CLASS_COUNT; i++)
		if (r->pending & ~rn_san.options.classes & 1U << i)
			order[count++] = i;
	for (unsigned i = 0; i < count; i++) {
		bool is_new = true;

		for (unsigned j = 0; j < said; j++)
			is_new = is_new && !is_same_words(r, order[i], order[j]);
		if (!is_new)
			continue;
		say_class(r, order[i]);
		order[said++] = order[i];
	}
}

static uint64_t key_of_read(const struct rn_san_read *r, const struct rn_tlp *tlp)
{
	return r->stack ? r->stack
			: (uint64_t)r->reader << 56 | (uint64_t)tlp->requester << 48 |
				  (uint64_t)r->qpn << 24 | tlp->stream;
}

struct rn_san_report rn_san_prepare_read(const struct rn_san_read *r)
{
	const struct rn_tlp *tlp = r->by[__builtin_ctz(r->pending)];
	struct rn_san_report report = {
		.kind = tlp->data ? RN_SAN_STALE : RN_SAN_UNORDERED,
		.classes = r->pending,
		.stack = r->stack,
		.key = key_of_read(r, tlp),
	};

	if (!is_to_be_said(report.kind, report.key, report.classes))
		return report;
	say_reader(r);
	say_writer(tlp);
	say_completion(tlp);
	say_classes(r->pending);
	say_rules(r);
	say_stack(r->request ? "where that was posted:" : "of the read:", r->stack);
	report.text = take_text();
	return report;
}

void rn_san_report_discard(struct rn_san_report *report)
{
	give_text(report->text);
	report->text = NULL;
}

bool rn_san_report(struct rn_san_report *report)
{
	bool is_new =
		finding_count < FINDINGS_MAX && !find_finding(report->kind, report->key);

	if (is_new_finding(report->kind, report->key, report->classes) && report->text) {
		add_text("%s", report->text);
		write_finding(report->kind, report->key, report->stack);
	}
	rn_san_report_discard(report);
	return is_new;
}

bool rn_san_report_read(const struct rn_san_read *r)
{
	struct rn_san_report report = rn_san_prepare_read(r);

	return rn_san_report(&report);
}

/* ------------------------------------------------- findings about requests */
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
	uint64_t key = store ? store : key_of(q, wr);
	char name[16];

	if (!is_new_finding(RN_SAN_SOURCE, key, ALL_CLASSES))
		return;
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
	write_finding(RN_SAN_SOURCE, key, store ? store : wr->stack);
}

void rn_san_report_fence(const struct rn_san_qp *q, const struct rn_san_wr *first,
			 const struct rn_san_wr *second, bool is_local)
{
	char name[16];

	if (!is_new_finding(RN_SAN_FENCE, key_of(q, second), ALL_CLASSES))
		return;
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
	write_finding(RN_SAN_FENCE, key_of(q, second), second->stack);
}

/* -------------------------------------- summary, and exit of the program */
static void say_counts(unsigned long long different)
{
	if (different > said_count)
		rn_report_add(&writer,
			      "rocin: the first %u are reported above, the other "
			      "%llu%s are counted only\n",
			      said_count, different - said_count,
			      finding_count == FINDINGS_MAX ? " or more" : "");
}

static void say_verdict(void)
{
	rn_report_add(&writer, "rocin: verdict: ");
	for (unsigned i = RN_SAN_CLASS_GIVEN + 1; i < RN_SAN_CLASS_COUNT; i++)
		rn_report_add(&writer, "%s%s %s", i > RN_SAN_CLASS_GIVEN + 1 ? ", " : "",
			      rn_san_class_name(i), wrong & 1U << i ? "wrong" : "right");
	rn_report_add(&writer, "\n");
}

/* Writes the summary at the end of the program. Returns the exit code for the program. */
static int end_run(int status)
{
	unsigned long long different;

	if (getpid() != writer.process || rn_host_is_locked_by_me(rn_san.host))
		return status;
	rn_host_lock(rn_san.host);
	rn_san_candidates_confirm();
	different = rn_sanitize_counts.findings;
	/* After a run without findings the report consists of the summary alone. */
	rn_report_summary(
		&writer,
		&(struct rn_report_counts){ .findings = different,
					    .occurrences = rn_sanitize_counts.occurrences,
					    .suppressed = writer.suppressed,
					    .suppressed_occurrences = suppressed },
		different > 0);
	say_counts(different);
	if (different || writer.options.has_summary)
		say_verdict();
	rn_report_flush(&writer);
	rn_san_event("the end of the program");
	/* Opens all pages, because other code runs after this, such as that of the C
	 * library, which writes out its buffers.
	 */
	rn_san_class_emptied(0, UINT64_MAX);
	rn_host_unlock(rn_san.host);
	return different && status == 0 ? rn_san.options.report.exit_code : status;
}

/* Called when the program ends by exit(). on_exit() handlers that were registered earlier
 * run after this one, even if this one calls exit().
 */
static void at_exit(int status, void *arg)
{
	int code = end_run(status);

	(void)arg;
	rn_page_at_quick_exit(NULL);
	if (code != status)
		exit(code); // NOLINT(concurrency-mt-unsafe)
}

void rn_san_report_init(void)
{
	writer.options = rn_san.options.report;
	writer.setting = "ROCIN_SANITIZE";
	writer.suite = "rocin sanitize";
	/* NULL: rules that are not known here are accepted in the file of suppressions,
	 * because the validation layer reads the same file.
	 */
	rn_report_open(&writer, NULL);
	rn_page_at_quick_exit(end_run);
	if (on_exit(at_exit, NULL) != 0)
		fprintf(stderr, "rocin: ROCIN_SANITIZE: no memory for the exit code\n");
}
