/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host.c - the PCIe hierarchy of this process: its fabric, its lock, the payloads of
 * TLPs, and what is done when a TLP reaches the end of its route.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host_internal.h"
#include "transport/io/memory/mem_guard.h"

enum {
	/* Number of times that the fabric's driver is asked to choose a TLP to move, for
	 * each TLP that is issued. Two choices move one TLP through its queues. The
	 * random driver stalls queues most of the time, so it is asked once more for each
	 * TLPS_PER_STEP TLPs in flight. Then no more than some hundreds of TLPs stay in
	 * flight.
	 */
	STEPS_PER_ISSUE = 2,
	TLPS_PER_STEP = 16,
	/* Additional slots for TLPs that are issued while another TLP is performed, by
	 * its callbacks. Such a TLP is performed at once, even if RN_HOST_TLPS others are
	 * in flight.
	 */
	SLOTS_SPARE = 64,
	STARTS_MAX = 2,
	SLOT_NONE = UINT16_MAX,
	PAGE = 4096,
};

static struct rn_host the_host = { .lock = PTHREAD_MUTEX_INITIALIZER,
				   .tape = { .fd = -1 } };
static struct rn_host *host; /* NULL if the hierarchy could not be made */
static char make_error[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool forked;
static void (*starts[STARTS_MAX])(struct rn_host *h);
static unsigned start_count;

/* The SIGSEGV handler reads these thread-local variables. They have the TLS model
 * initial-exec, because with other models the first access may allocate memory.
 */
static __thread bool locked __attribute__((tls_model("initial-exec")));
static __thread bool polling __attribute__((tls_model("initial-exec")));

/* ----------------------------------------- slots for the payloads of TLPs */
/* Allocates slots for @count TLPs, each with room for a payload of @bytes. All slots are
 * allocated before the first TLP is issued: pages allocated later could lie at an address
 * that the program has registered and then unmapped, and late writes to that address
 * would damage the slots. Returns 0 or -ENOMEM.
 */
static int make_slots(struct rn_host *h, uint32_t count, uint32_t bytes)
{
	struct rn_host_slot *slots = calloc(count, sizeof(*slots));
	uint8_t *large = malloc((size_t)count * bytes);

	assert(count < SLOT_NONE);
	if (!slots || !large) {
		free(slots);
		free(large);
		return -ENOMEM;
	}
	free(h->slots);
	free(h->large);
	h->slots = slots;
	h->large = large;
	h->large_bytes = bytes;
	h->slot_count = count;
	for (uint32_t i = 0; i < count; i++)
		slots[i].next = (uint16_t)(i + 1 < count ? i + 1 : SLOT_NONE);
	h->free_slot = 0;
	return 0;
}

/* Takes a free slot. If @len is not 0, gives it a buffer for @len bytes (payload.bytes).
 * Returns NULL if no slot is free.
 */
static struct rn_host_slot *take_slot(struct rn_host *h, uint32_t len)
{
	size_t at = h->free_slot;
	struct rn_host_slot *s;

	if (at == SLOT_NONE)
		return NULL;
	assert(len <= h->large_bytes);
	s = &h->slots[at];
	h->free_slot = s->next;
	s->payload = (struct rn_payload){
		.bytes = len > RN_HOST_INLINE ? h->large + at * h->large_bytes : s->bytes,
	};
	return s;
}

static void give_slot(struct rn_host *h, struct rn_host_slot *s)
{
	s->next = h->free_slot;
	h->free_slot = (uint16_t)(s - h->slots);
}

/* ------------------------------------- creation and restart of the hierarchy */
static void in_child(void)
{
	forked = true;
}

bool rn_host_is_forked(void)
{
	return forked;
}

/* Returns the maximum length of one write TLP in bytes. A write of a NIC has one granule
 * at most, or up to a page if a hook lets a TLP cross granule boundaries
 * (rn_host_hooks.joins). A write of a simulated drive has max_payload bytes at most.
 */
static uint32_t payload_max(const struct rn_host *h, const struct rn_pcie_knobs *k)
{
	uint32_t most = k->granule > k->max_payload ? k->granule : k->max_payload;

	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->joins && most < PAGE)
			most = PAGE;
	return most;
}

/* Copies settings to the atomic variables that devices read without the lock. */
static void publish(struct rn_host *h)
{
	atomic_store_explicit(&h->is_taped, h->tape.is_on, memory_order_relaxed);
	atomic_store_explicit(&h->has_translations, h->knobs.mtt_cache != 0,
			      memory_order_relaxed);
	atomic_store_explicit(&h->is_placed_first, h->knobs.ack == RN_ACK_PLACED,
			      memory_order_relaxed);
}

int rn_host_restart(struct rn_host *h, const struct rn_pcie_knobs *knobs)
{
	uint32_t tlps = knobs->place == RN_PLACE_NOW ? 1 : RN_HOST_TLPS;
	void *mem = malloc(rn_fabric_size(tlps));
	int err = mem ? 0 : -ENOMEM;

	assert(!h->fabric || rn_fabric_count(h->fabric) == 0);
	if (!err)
		err = make_slots(h, tlps + SLOTS_SPARE, payload_max(h, knobs));
	if (err) {
		free(mem);
		return err;
	}

	free(h->fabric);
	h->knobs = *knobs;
	h->fabric = rn_fabric_init(mem, tlps, &h->knobs);
	rn_driver_init(&h->driver, &h->knobs);
	h->leak_oldest = false;
	publish(h);
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->restarted)
			h->hooks[i]->restarted(h);
	return 0;
}

int rn_host_restart_with_tape(struct rn_host *h, const struct rn_pcie_knobs *knobs,
			      char *err, size_t err_len)
{
	struct rn_host_tape tape;
	int rc = rn_host_tape_open(knobs, &tape, err, err_len);

	if (rc)
		return rc;
	rc = rn_host_restart(h, knobs);
	if (rc) {
		snprintf(err, err_len, "no memory for the PCIe layer");
		rn_host_tape_close(&tape);
		return rc;
	}
	rn_host_tape_insert(h, &tape);
	publish(h);
	return 0;
}

static void make_host(void)
{
	struct rn_pcie_knobs knobs;
	const char *text = getenv("ROCIN_PCIE");

	rn_pcie_preset(&knobs, RN_PCIE_STRICT);
	if (text && *text &&
	    rn_pcie_parse(&knobs, text, make_error, sizeof(make_error)) != 0)
		return;
	rn_guard_watch(false);
	(void)rn_guard_install(); /* if this fails, memory is copied without the guard */
	if (rn_host_restart_with_tape(&the_host, &knobs, make_error, sizeof(make_error)))
		return;
	if (pthread_atfork(NULL, NULL, in_child) != 0)
		snprintf(make_error, sizeof(make_error), "no memory for the PCIe layer");
	else
		host = &the_host;
	for (unsigned i = 0; host && i < start_count; i++)
		starts[i](host);
}

void rn_host_at_start(void (*start)(struct rn_host *h))
{
	assert(start_count < STARTS_MAX);
	starts[start_count++] = start;
}

struct rn_host *rn_host_make(char *err, size_t err_len)
{
	pthread_once(&once, make_host);
	if (!host)
		snprintf(err, err_len, "%s", make_error);
	return host;
}

struct rn_host *rn_host_get(void)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;
	char err[sizeof(make_error)];
	struct rn_host *h = rn_host_make(err, sizeof(err));

	if (!h && !atomic_flag_test_and_set(&is_said))
		fprintf(stderr, "rocin: ROCIN_PCIE: %s\n", err);
	return h;
}

/* ----------------------------------------------------------- the host lock */
void rn_host_lock(struct rn_host *h)
{
	/* A child of fork() does not lock, because another thread of the parent may have
	 * held the lock at the fork, and in the child nobody would release it.
	 */
	if (!forked)
		pthread_mutex_lock(&h->lock);
	locked = true;
	h->now = 0;
	if (h->tape.is_replaying && !forked)
		rn_host_replay(h, true);
}

void rn_host_unlock(struct rn_host *h)
{
	struct rn_host_nic *wake[RN_NIC_MAX];
	unsigned count = 0;

	if (!forked)
		rn_host_send_real(h);
	for (unsigned i = 0; h->wake_due && i < RN_NIC_MAX; i++)
		if (h->nics[i] && rn_host_nic_wants_wake(h->nics[i]))
			wake[count++] = h->nics[i];
	h->wake_due = false;
	if (!forked)
		rn_host_record_flush(h);
	atomic_store_explicit(&h->on_way,
			      rn_fabric_count(h->fabric) + (h->late_reads.first != NULL),
			      memory_order_release);
	locked = false;
	if (!forked)
		pthread_mutex_unlock(&h->lock);
	for (unsigned i = 0; i < count; i++)
		rn_host_nic_wake(wake[i]);
}

bool rn_host_is_locked_by_me(const struct rn_host *h)
{
	(void)h;
	return locked;
}

/* --------------------------------------------- queries about the hierarchy */
const struct rn_pcie_knobs *rn_host_knobs(const struct rn_host *h)
{
	return &h->knobs;
}

bool rn_host_is_off(const struct rn_host *h)
{
	return rn_host_knobs(h)->place == RN_PLACE_NOW;
}

struct rn_fabric *rn_host_fabric(struct rn_host *h)
{
	return h->fabric;
}

rn_ns rn_host_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (rn_ns)t.tv_sec * 1000000000 + t.tv_nsec;
}

void rn_host_set_polling(bool is_polling)
{
	polling = is_polling;
}

bool rn_host_is_polling(void)
{
	return polling;
}

/* Returns the time in ns. The clock is read only once each time that the lock is held. */
static uint64_t now_of(struct rn_host *h)
{
	if (!h->now)
		h->now = (uint64_t)rn_host_now();
	return h->now;
}

void rn_host_add_hooks(struct rn_host *h, const struct rn_host_hooks *hooks)
{
	assert(h->hook_count < RN_HOST_HOOKS_MAX);
	h->hooks[h->hook_count++] = hooks;
	/* If there is no memory for larger slots, the old ones are kept, and a write is
	 * cut into shorter TLPs.
	 */
	if (payload_max(h, &h->knobs) > h->large_bytes && rn_fabric_count(h->fabric) == 0)
		(void)make_slots(h, h->slot_count, payload_max(h, &h->knobs));
}

/* ------------------------------------------------- callbacks of the fabric */
static void call_issued(struct rn_host *h, const struct rn_tlp *tlp)
{
	for (unsigned i = 0; i < h->hook_count && !rn_host_is_off(h); i++)
		if (h->hooks[i]->issued)
			h->hooks[i]->issued(h, tlp);
}

static void call_performed(struct rn_host *h, const struct rn_tlp *tlp)
{
	for (unsigned i = 0; i < h->hook_count && !rn_host_is_off(h); i++)
		if (h->hooks[i]->performed)
			h->hooks[i]->performed(h, tlp);
}

static void call_reading(struct rn_host *h, const struct rn_tlp *tlp)
{
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->reading)
			h->hooks[i]->reading(h, tlp);
}

static void end_tlp(struct rn_host *h, const struct rn_tlp *tlp)
{
	struct rn_host_slot *s = rn_host_slot_of(h, tlp);
	const struct rn_payload p = s->payload;

	if (p.result == RN_MEM_FAULT)
		h->counters.faults++;
	if (!rn_host_is_off(h)) {
		uint64_t held = now_of(h) - tlp->stamp;

		if (held > h->counters.held_max)
			h->counters.held_max = held;
	}
	give_slot(h, s);
	if (p.done)
		p.done(p.arg, tlp, p.result);
}

static void perform_tlp(void *ctx, const struct rn_tlp *tlp)
{
	struct rn_host *h = ctx;
	struct rn_payload *p = &rn_host_slot_of(h, tlp)->payload;

	if (tlp->kind != RN_TLP_WRITE)
		call_reading(h, tlp);
	if (tlp->kind == RN_TLP_WRITE)
		p->result = rn_host_store(h, tlp->addr, p->bytes, tlp->len);
	else if (tlp->kind == RN_TLP_READ)
		p->result = rn_host_load(h, p->bytes, tlp->addr, tlp->len);
	else
		p->result = rn_host_modify(h, (struct rn_host_atomic *)(void *)p->bytes);
	call_performed(h, tlp);
	if (tlp->kind == RN_TLP_WRITE)
		end_tlp(h, tlp);
}

void rn_host_end_withheld(struct rn_host *h, const struct rn_tlp *tlp, bool is_stored)
{
	struct rn_payload *p = &rn_host_slot_of(h, tlp)->payload;

	if (is_stored)
		p->result = rn_host_store(h, tlp->addr, p->bytes, tlp->len);
	call_performed(h, tlp);
	end_tlp(h, tlp);
}

void rn_host_free_withheld(struct rn_host *h, const struct rn_tlp *tlp)
{
	struct rn_payload *p = &rn_host_slot_of(h, tlp)->payload;
	void (*done)(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result) =
		p->done;

	p->done = NULL;
	if (done)
		done(p->arg, tlp, RN_MEM_DONE);
}

static bool is_withheld(struct rn_host *h, const struct rn_tlp *tlp)
{
	for (unsigned i = 0; i < h->hook_count && tlp->kind == RN_TLP_WRITE; i++)
		if (h->hooks[i]->withholds && h->hooks[i]->withholds(h, tlp))
			return true;
	return false;
}

static void complete_tlp(void *ctx, const struct rn_tlp *tlp)
{
	end_tlp(ctx, tlp);
}

static void tell_moving(void *ctx, const struct rn_tlp *tlp, unsigned queue)
{
	struct rn_host *h = ctx;

	rn_host_trace(h, tlp, queue);
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->moving)
			h->hooks[i]->moving(h, tlp);
}

static const struct rn_fabric_ops ops = {
	.perform = perform_tlp,
	.complete = complete_tlp,
	.moving = tell_moving,
};

/* ------------------------------------------------------------- moving TLPs */
static void begin_moving(struct rn_host *h)
{
	assert(!h->is_busy);
	h->is_busy = true;
}

static void end_moving(struct rn_host *h)
{
	h->is_busy = false;
}

void rn_host_move(struct rn_host *h, unsigned index, bool is_forced)
{
	rn_host_record(h, index, is_forced);
	begin_moving(h);
	if (is_forced)
		rn_fabric_force(h->fabric, &ops, h, index);
	else
		rn_fabric_move(h->fabric, &ops, h, index);
	end_moving(h);
}

void rn_host_force(struct rn_host *h, unsigned index)
{
	rn_host_event(h);
	begin_moving(h);
	h->counters.forced++;
	rn_fabric_force(h->fabric, &ops, h, index);
	end_moving(h);
}

struct answer {
	bool is_done;
	enum rn_mem_result result;
};

static void store_answer(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result)
{
	struct answer *a = arg;

	(void)tlp;
	*a = (struct answer){ .is_done = true, .result = result };
}

int rn_host_ask(struct rn_host *h, struct rn_tlp *tlp, void *bytes)
{
	struct answer a = { 0 };
	int index = rn_host_issue(h, tlp, bytes, store_answer, &a);

	if (index < 0)
		return -EFAULT;
	if (!a.is_done)
		rn_host_force(h, (unsigned)index);
	assert(a.is_done);
	return a.result == RN_MEM_DONE ? 0 : -EFAULT;
}

void rn_host_force_if(struct rn_host *h,
		      bool (*match)(const struct rn_tlp *tlp, const void *arg),
		      const void *arg)
{
	rn_host_event(h);
	begin_moving(h);
	rn_fabric_force_if(h->fabric, &ops, h, match, arg);
	end_moving(h);
}

static bool touches_region(const struct rn_tlp *tlp, const void *arg)
{
	const struct rn_host_region *r = arg;

	return tlp->target == r->target && rn_tlp_touches(tlp, r->addr, r->len);
}

void rn_host_force_all(struct rn_host *h)
{
	unsigned index;

	rn_host_resume(h);
	while ((index = rn_fabric_oldest(h->fabric)) != RN_TLP_NONE)
		rn_host_force(h, index);
}

void rn_host_tell_emptied(struct rn_host *h, rn_iova addr, uint64_t len)
{
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->emptied)
			h->hooks[i]->emptied(h, addr, len);
}

void rn_host_tell_flush_skipped(struct rn_host *h, const struct rn_tlp *flush,
				unsigned scope)
{
	for (unsigned i = 0; i < h->hook_count; i++)
		if (h->hooks[i]->flush_skipped)
			h->hooks[i]->flush_skipped(h, flush, scope);
}

void rn_host_force_region(struct rn_host *h, const struct rn_host_region *r)
{
	rn_host_force_if(h, touches_region, r);
	rn_host_tell_emptied(h, r->addr, r->len);
}

void rn_host_settle(struct rn_host *h)
{
	rn_host_force_all(h);
	rn_host_tell_emptied(h, 0, UINT64_MAX);
}

void rn_host_step(struct rn_host *h, unsigned moves)
{
	if (rn_fabric_count(h->fabric) == 0)
		return;
	rn_host_event(h);
	if (h->tape.is_replaying) {
		rn_host_replay(h, h->by_time);
		return;
	}
	for (; moves > 0 && rn_fabric_count(h->fabric) > 0; moves--) {
		unsigned index = rn_driver_pick(&h->driver, h->fabric);

		if (index != RN_TLP_NONE)
			rn_host_move(h, index, false);
		else if (h->driver.kind != RN_DRIVER_RANDOM)
			return;
	}
}

/* ------------------------------------------------------------ issuing TLPs */
static struct rn_host_slot *fill_slot(struct rn_host *h, const struct rn_tlp *tlp,
				      void *bytes)
{
	/* A write is copied, because the caller may reuse its buffer before the write
	 * is performed.
	 */
	bool is_copied = tlp->kind == RN_TLP_WRITE && !rn_host_is_off(h);
	struct rn_host_slot *s = take_slot(h, is_copied ? tlp->len : 0);

	if (!s)
		return NULL;
	if (is_copied)
		memcpy(s->payload.bytes, bytes, tlp->len);
	else
		s->payload.bytes = bytes;
	memcpy(s->polls, h->ring_polls, sizeof(s->polls));
	return s;
}

static int send_tlp(struct rn_host *h, struct rn_tlp *tlp, struct rn_host_slot *s)
{
	bool was_busy = h->is_busy;
	int index;

	tlp->data = (uint64_t)(s - h->slots);
	call_issued(h, tlp);
	if (!rn_host_is_off(h) && is_withheld(h, tlp))
		return RN_TLP_NONE;
	h->is_busy = true;
	index = rn_fabric_issue(h->fabric, &ops, h, tlp);
	h->is_busy = was_busy;
	if (index < 0) {
		call_performed(h, tlp);
		give_slot(h, s);
	}
	return index;
}

int rn_host_issue(struct rn_host *h, struct rn_tlp *tlp, void *bytes,
		  void (*done)(void *arg, const struct rn_tlp *tlp,
			       enum rn_mem_result result),
		  void *arg)
{
	struct rn_host_slot *s;
	const struct rn_tlp *sent;
	uint64_t seq;
	int index;

	if (forked)
		return -EHOSTUNREACH;
	if (!rn_host_is_off(h)) {
		tlp->stamp = now_of(h);
		if (!h->is_busy && rn_fabric_room(h->fabric) == 0)
			rn_host_force(h, rn_fabric_oldest(h->fabric));
	}
	s = fill_slot(h, tlp, bytes);
	if (!s)
		return -ENOMEM;
	s->payload.done = done;
	s->payload.arg = arg;
	index = send_tlp(h, tlp, s);
	if (index < 0)
		return index == -EHOSTUNREACH ? index : -ENOMEM;
	h->counters.tlps++;
	if (index == RN_TLP_NONE)
		return index;

	if (rn_fabric_count(h->fabric) > h->counters.on_way_max)
		h->counters.on_way_max = rn_fabric_count(h->fabric);
	if (!h->is_busy && rn_host_is_hurried(h, tlp)) {
		rn_host_force(h, (unsigned)index);
		return RN_TLP_NONE;
	}
	rn_host_bus_poke(h);
	if (h->is_busy)
		return index;
	seq = rn_fabric_tlp(h->fabric, (unsigned)index)->seq;
	if (h->bus_is_missing)
		rn_host_force_all(h);
	h->driver.is_sending = true;
	rn_host_step(h, STEPS_PER_ISSUE + rn_fabric_count(h->fabric) / TLPS_PER_STEP);
	h->driver.is_sending = false;
	sent = rn_fabric_tlp(h->fabric, (unsigned)index);
	return sent && sent->seq == seq ? index : RN_TLP_NONE;
}
