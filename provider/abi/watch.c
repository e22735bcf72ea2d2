/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.c - the validation layer (provider/validate) in this process: its start, its
 * lock, its reports, and its end when the program exits. Also the completion channels,
 * for which libibverbs calls no operation of the plugin.
 */
#include "watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "provider/settings/watch_options.h"
#include "provider/validate/model/model.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/provider.h"
#include "rocin/netdev.h"
#include "transport/io/report/stacks.h"

static struct {
	pthread_mutex_t lock;
	struct rn_val *layer; /* the validation layer; NULL: it is off */
	struct rn_report report;
	int status; /* status that the program passes to exit() */
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER };

void (*rnp_watched[RNP_OP_COUNT])(void);

void rnp_watch_over(const struct rnp_abi_op *ops, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		rnp_watched[ops[i].op] = ops[i].fn;
}

/* ------------------------------------------------------------------ reports */
static void add_history(struct rn_report_body *b, const struct rn_val_object *o)
{
	const struct rn_val_qp *qp = &o->qp;
	uint32_t first = qp->steps < RN_VAL_HISTORY ? 0 : qp->steps - RN_VAL_HISTORY;
	struct rn_val_text name, step;
	char text[RN_VAL_HISTORY * (sizeof(step.text) + 1)] = "";
	size_t used = 0;

	if (!qp->steps)
		return;
	for (uint32_t i = first; i < qp->steps; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "\n%s",
			rn_val_step_text(&qp->history[i % RN_VAL_HISTORY], &step));
	rn_report_line(b, "history", "of %s:%s", rn_val_name(o, &name), text);
}

static void add_object(struct rn_report_body *b, const struct rn_val_object *o)
{
	struct rn_val_text name;
	char what[120];

	if (!o)
		return;
	(void)snprintf(what, sizeof(what), "where %s was made:", rn_val_name(o, &name));
	rn_report_stack(b, what, o->made_at);
	if (!o->is_gone)
		return;
	(void)snprintf(what, sizeof(what),
		       "where %s was destroyed:", rn_val_name(o, &name));
	rn_report_stack(b, what, o->gone_at);
}

/* Writes the report of a finding. The caller holds the validation layer's lock. */
static bool write_finding(void *arg, const struct rn_val_finding *f)
{
	static struct rn_report_body body;
	const struct rn_val_rule_info *rule = rn_val_rule_info(f->rule);
	const char *severity = rn_val_severity_name(rule->severity);

	(void)arg;
	body.used = 0;
	rn_report_line(&body, "seen", "%s", f->what);
	rn_report_line(&body, "rule", "%s, %s", rule->name, severity);
	rn_report_line(&body, "source", "%s", rule->source);
	rn_report_line(&body, "remedy", "%s", rule->remedy);
	rn_report_stack(&body, "of the call:", f->stack);
	if (!f->object || f->object->made_at != f->stack || f->object->is_gone)
		add_object(&body, f->object);
	add_object(&body, f->other);
	if (rn_val_is(f->object, RN_VAL_QP))
		add_history(&body, f->object);
	if (rn_val_is(f->other, RN_VAL_QP))
		add_history(&body, f->other);
	return rn_report_write(
		&watch.report,
		&(struct rn_report_finding){ .rule = rule->name,
					     .severity = severity,
					     .what = rule->text,
					     .body = body.text,
					     .stack = f->stack || !f->object
							      ? f->stack
							      : f->object->made_at });
}

/* Writes the report of a finding. The thread holds the validation layer's lock, so it
 * must not be cancelled here, although writing to files is a cancellation point.
 */
static bool report_finding(void *arg, const struct rn_val_finding *f)
{
	bool is_shown;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	is_shown = write_finding(arg, f);
	pthread_setcancelstate(cancel, NULL);
	return is_shown;
}

/* --------------------------------------------------------------------- calls */
/* Takes the lock and returns the validation layer, or NULL if the layer is off. Until
 * leave(), a caller that reaches a cancellation point must have turned cancellation off.
 */
static struct rn_val *enter(void)
{
	pthread_mutex_lock(&watch.lock);
	return watch.layer;
}

static void leave(void)
{
	pthread_mutex_unlock(&watch.lock);
}

/* Tells the validation layer of the completions that a poll has returned. */
static void tell_completions(struct rn_val *v, struct rn_val_event *poll)
{
	struct rn_val_event e;

	if (poll->poll.got <= 0)
		return;
	rn_val_begin_event(&e, RN_VAL_COMPLETION, poll->verb, poll->handle, poll->stack);
	e.is_done = true;
	e.thread = poll->thread;
	for (int i = 0; i < poll->poll.got; i++) {
		const struct ibv_wc *wc = &poll->poll.wc[i];

		e.completion = (struct rn_val_completion){
			.wc = wc, .is_recv = (wc->opcode & IBV_WC_RECV) != 0
		};
		rn_val_event(v, &e);
	}
	poll->object = e.object;
}

static void tell(struct rn_val_event *e)
{
	int saved = errno;
	struct rn_val *v = enter();

	e->thread = (uint64_t)pthread_self();
	if (v && e->kind == RN_VAL_POLL && e->is_done)
		tell_completions(v, e);
	if (v)
		rn_val_event(v, e);
	if (v && (e->is_done ? e->kind <= RN_VAL_MODIFY : e->kind == RN_VAL_POST_RECV))
		rnp_ends_told(v, e);
	leave();
	errno = saved;
}

void rnp_watch_before(struct rn_val_event *e)
{
	tell(e);
}

enum {
	/* How long to wait for acknowledgements of events, in ms. A thread acknowledges
	 * an event as soon as it runs again. If it has not done so after this time, the
	 * thread has ended, or waits for the thread that destroys the object.
	 */
	ACK_WAIT_MS = 3000,
};

static bool is_unacked(const struct rn_val_event *e)
{
	const struct rn_val *v = enter();
	bool is_so = v && rn_val_is_unacked(v, e);

	leave();
	return is_so;
}

void rnp_watch_before_destroy(struct rn_val_event *e)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int saved = errno, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	for (unsigned i = 0; i < ACK_WAIT_MS && is_unacked(e); i++)
		(void)nanosleep(&ms, NULL);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	tell(e);
}

void rnp_watch_after(struct rn_val_event *e, int rc)
{
	e->is_done = true;
	e->rc = rc;
	tell(e);
}

/* ---------------------------------------------------------- completion channels */
/* Completion channels that the validation layer knows. libibverbs creates and destroys
 * channels without calling the plugin. So a channel becomes known when a CQ is created
 * with it, and counts as destroyed when its descriptor is no longer the same pipe.
 */
enum {
	KNOWN = 256 /* maximum number of known channels; others are ignored */
};

struct known {
	const struct ibv_comp_channel *channel;
	int fd;
	dev_t device;
	ino_t inode;
};

static struct {
	pthread_mutex_t lock; /* lock order: before the lock of the validation layer */
	struct known item[KNOWN];
	unsigned count;
} channels = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_open(const struct known *k)
{
	struct stat st;

	return fstat(k->fd, &st) == 0 && st.st_dev == k->device && st.st_ino == k->inode;
}

static void tell_destroyed(const struct known *k)
{
	struct rn_val_event e = { .kind = RN_VAL_DESTROY,
				  .verb = "ibv_destroy_comp_channel",
				  .handle = k->channel };

	rnp_watch_before(&e);
	rnp_watch_after(&e, 0);
}

static void forget_closed_locked(void)
{
	for (unsigned i = channels.count; i-- > 0;) {
		struct known k = channels.item[i];

		if (is_open(&k))
			continue;
		channels.item[i] = channels.item[--channels.count];
		tell_destroyed(&k);
	}
}

static bool is_known_locked(const struct ibv_comp_channel *channel)
{
	for (unsigned i = 0; i < channels.count; i++)
		if (channels.item[i].channel == channel)
			return true;
	return false;
}

static void add_locked(const struct ibv_comp_channel *channel, uint32_t stack)
{
	struct rn_val_event e = { .kind = RN_VAL_MAKE,
				  .verb = "ibv_create_comp_channel",
				  .handle = channel,
				  .stack = stack,
				  .make = { .kind = RN_VAL_CHANNEL,
					    .parent = { channel->context } } };
	struct stat st;

	if (channels.count == KNOWN || fstat(channel->fd, &st) != 0)
		return;
	channels.item[channels.count++] = (struct known){ .channel = channel,
							  .fd = channel->fd,
							  .device = st.st_dev,
							  .inode = st.st_ino };
	rnp_watch_after(&e, 0);
}

/* Is the validation layer on? In the child of a fork() it is off, as nobody can release
 * its locks there.
 */
static bool is_on(void)
{
	bool has_layer = enter() != NULL;

	leave();
	return has_layer;
}

void rnp_watch_channel(const struct ibv_comp_channel *channel, uint32_t stack)
{
	int cancel;

	if (!channel || !is_on())
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&channels.lock);
	forget_closed_locked();
	if (!is_known_locked(channel))
		add_locked(channel, stack);
	pthread_mutex_unlock(&channels.lock);
	pthread_setcancelstate(cancel, NULL);
}

static void forget_closed(void)
{
	int cancel;

	if (!is_on())
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&channels.lock);
	forget_closed_locked();
	pthread_mutex_unlock(&channels.lock);
	pthread_setcancelstate(cancel, NULL);
}

/* ------------------------------------------------------------------- contexts */
/* Returns the number by which the validation layer knows a device; no other device has
 * the same number.
 */
static uint32_t number_of(const struct rnp_engine *engine)
{
	uint64_t guid = rnp_engine_netdev(engine)->node_guid;

	return (uint32_t)(guid ^ guid >> 32);
}

static void tell_device(uint32_t number, struct rnp_engine *engine)
{
	struct rn_netdev dev;
	int cancel = rnp_lock_engine(engine);

	dev = *rnp_engine_netdev(engine);
	rnp_unlock_engine(engine, cancel);
	(void)enter();
	rnp_ends_device(number, &dev);
	leave();
}

void rnp_watch_opened(struct ibv_context *context)
{
	struct rn_val_event e = { .kind = RN_VAL_MAKE,
				  .verb = "ibv_open_device",
				  .handle = context,
				  .make.kind = RN_VAL_CONTEXT };

	if (!watch.layer || !context)
		return;
	e.make.number = number_of(to_rnp_context(context)->engine);
	e.stack = rn_stacks_take_again();
	tell_device(e.make.number, to_rnp_context(context)->engine);
	rnp_watch_after(&e, 0);
}

void rnp_watch_closed(struct ibv_context *context)
{
	struct rn_val_event e = { .kind = RN_VAL_DESTROY,
				  .verb = "ibv_close_device",
				  .handle = context };

	if (!watch.layer)
		return;
	e.stack = rn_stacks_take_again();
	forget_closed();
	rnp_watch_before(&e);
	rnp_watch_after(&e, 0);
}

/* ---------------------------------------------------------------- start, end */
/* Address of ibv_is_fork_initialized(), which is looked up because the plugin is not
 * linked with libibverbs; NULL: not found.
 */
static enum ibv_fork_status (*fork_status)(void);

static void find_fork_status(void)
{
	void *verbs = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);

	/* POSIX lets dlsym() results be stored this way; ISO C has no cast for it. */
	if (verbs)
		*(void **)&fork_status = dlsym(verbs, "ibv_is_fork_initialized");
}

static void before_fork(void)
{
	struct rn_val_event e = { .kind = RN_VAL_FORK, .verb = "fork" };

	e.stack = watch.layer ? rn_stacks_take_again() : 0;
	e.fork.is_safe = !fork_status || fork_status() != IBV_FORK_DISABLED;
	rnp_watch_after(&e, 0);
	pthread_mutex_lock(&watch.lock);
}

static void fork_in_parent(void)
{
	pthread_mutex_unlock(&watch.lock);
}

/* No verb works in the child of a fork(), so the objects that the child has inherited do
 * not count as leaks.
 */
static void fork_in_child(void)
{
	watch.layer = NULL;
	rnp_ends_leave();
	pthread_mutex_unlock(&watch.lock);
}

/* Does the program have memory at all addresses of the range? msync() tells this without
 * changing the memory.
 */
static bool is_mapped(uint64_t addr, uint64_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = addr & ~(page - 1);

	bool is_there;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers here */
	is_there = msync((void *)(uintptr_t)first, addr - first + len, MS_ASYNC) == 0 ||
		   errno != ENOMEM;
	pthread_setcancelstate(cancel, NULL);
	return is_there;
}

/* Finds out whether a child of fork() gets a copy of any page of the addresses @from ..
 * @to. @f is /proc/self/smaps, the kernel's list of mappings.
 */
static bool find_copied(FILE *f, uint64_t from, uint64_t to)
{
	unsigned long long start, end;
	bool is_private = false;
	char line[256], share;

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx %*3c%c", &start, &end, &share) == 3)
			is_private = share == 'p' && start < to && from < end;
		else if (is_private && !strncmp(line, "VmFlags:", 8) &&
			 !strstr(line, " dc"))
			return true;
	}
	return false;
}

static bool is_copied(uint64_t addr, uint64_t len)
{
	bool is_found = true;
	int cancel;
	FILE *f;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	f = fopen("/proc/self/smaps", "re");
	if (f) {
		is_found = find_copied(f, addr, addr + len);
		(void)fclose(f);
	}
	pthread_setcancelstate(cancel, NULL);
	return is_found;
}

static void keep_status(int status, void *arg)
{
	(void)arg;
	watch.status = status;
}

bool rnp_watch_start(void)
{
	const char *text = getenv("ROCIN_VALIDATE");
	struct rnp_watch_options o;
	char err[512];

	if (!text || !*text)
		return false;
	if (rnp_watch_parse(&o, text, err, sizeof(err))) {
		rnp_tell_user("ROCIN_VALIDATE: %s; nothing is validated", err);
		return false;
	}
	if (!o.rules.is_on)
		return false;
	watch.report.options = o.report;
	watch.report.setting = "ROCIN_VALIDATE";
	watch.report.suite = "rocin validate";
	rn_report_open(&watch.report, &rnp_watch_rules);
	watch.layer = rn_val_new(o.rules.severities, report_finding, NULL);
	if (!watch.layer || pthread_atfork(before_fork, fork_in_parent, fork_in_child) ||
	    on_exit(keep_status, NULL)) {
		rnp_tell_user("ROCIN_VALIDATE: no memory; nothing is validated");
		watch.layer = NULL;
		return false;
	}
	rn_val_set_probe(watch.layer, is_mapped);
	rn_val_set_fork_probe(watch.layer, is_copied);
	rnp_ends_start();
	rn_val_set_ends(watch.layer, &rnp_ends);
	find_fork_status();
	return true;
}

/* Reports leaks when the program ends. Handlers of atexit() and C++ destructors have run
 * before, so objects that these destroy are not reported.
 */
static __attribute__((destructor)) void end_watch(void)
{
	struct rn_val_event e = { .kind = RN_VAL_EXIT, .is_done = true, .verb = "exit" };
	struct rn_report *r = &watch.report;
	struct rn_val_totals t;
	int cancel;
	struct rn_val *v;

	forget_closed();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	v = enter();
	if (!v || getpid() != r->process) {
		leave();
		pthread_setcancelstate(cancel, NULL);
		return;
	}
	rn_val_event(v, &e);
	t = rn_val_totals(v);
	rn_report_summary(r,
			  &(struct rn_report_counts){ .findings = t.findings,
						      .occurrences = t.occurrences,
						      .suppressed = t.suppressed,
						      .suppressed_occurrences =
							      t.suppressed_occurrences },
			  r->count || r->options.has_summary);
	rn_report_flush(r);
	watch.layer = NULL;
	rn_val_free(v);
	rnp_ends_stop();
	leave();
	pthread_setcancelstate(cancel, NULL);
	if (!r->count || watch.status != 0 || r->options.exit_code == 0)
		return;
	(void)fflush(NULL);
	_exit(r->options.exit_code);
}
