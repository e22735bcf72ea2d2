/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fabric.c - keeps the TLPs of a fabric in lists, decides which TLPs may move, and
 * moves them.
 *
 * The fabric is one block of memory, and its lists link TLPs by index. A list is a queue
 * or the inside of a GPU. Each TLP is in one such list, in the order of arrival there,
 * and in the list of all TLPs, in the order of issue.
 */
#include <errno.h>
#include <string.h>

#include "fabric.h"

enum {
	NONE = RN_TLP_NONE,
	WORD_BITS = 64,
	BUSY_WORDS = (RN_LIST_COUNT + WORD_BITS - 1) / WORD_BITS,
};

static_assert(RN_LIST_COUNT < UINT16_MAX, "a list number fits where an index does");

struct rn_fabric {
	struct rn_pcie_knobs knobs;
	/* one bit per list; the bit is set if the list is not empty */
	uint64_t busy[BUSY_WORDS];
	uint64_t next_seq;
	uint32_t capacity, count, wanted;
	uint16_t free; /* index of the first free element of tlp[] */
	uint16_t oldest, youngest;
	/* Next TLP that rn_fabric_force_if() will look at. If that TLP leaves the fabric
	 * before, @cursor is set to the next younger one.
	 */
	uint16_t cursor;
	uint16_t first[RN_LIST_COUNT], last[RN_LIST_COUNT];
	struct rn_tlp tlp[];
};

/* Returns the list to which TLP @t belongs, according to its state, target and hop. @t
 * need not be in that list yet.
 */
static unsigned list_of(const struct rn_tlp *t)
{
	return t->state == RN_TLP_INSIDE ? RN_QUEUE_COUNT + t->target
					 : t->route.queue[t->hop];
}

/* ---- Creation of a fabric ---- */
size_t rn_fabric_size(uint32_t tlps)
{
	assert(tlps > 0 && tlps <= RN_TLPS_MAX);
	return sizeof(struct rn_fabric) + tlps * sizeof(struct rn_tlp);
}

struct rn_fabric *rn_fabric_init(void *mem, uint32_t tlps,
				 const struct rn_pcie_knobs *knobs)
{
	struct rn_fabric *f = mem;

	assert((uintptr_t)mem % _Alignof(struct rn_fabric) == 0);
	memset(mem, 0, rn_fabric_size(tlps));
	f->knobs = *knobs;
	f->capacity = tlps;
	f->oldest = f->youngest = f->cursor = NONE;
	for (unsigned i = 0; i < RN_LIST_COUNT; i++)
		f->first[i] = f->last[i] = NONE;
	for (unsigned i = 0; i < tlps; i++)
		f->tlp[i].next = (uint16_t)(i + 1 < tlps ? i + 1 : NONE);
	return f;
}

/* ---- Lists of TLPs ---- */
/* Appends the TLP to the list that list_of() gives. */
static void append_to_list(struct rn_fabric *f, unsigned index)
{
	struct rn_tlp *t = &f->tlp[index];
	unsigned list = list_of(t);

	t->prev = f->last[list];
	t->next = NONE;
	if (t->prev == NONE)
		f->first[list] = (uint16_t)index;
	else
		f->tlp[t->prev].next = (uint16_t)index;
	f->last[list] = (uint16_t)index;
	f->busy[list / WORD_BITS] |= UINT64_C(1) << list % WORD_BITS;
	f->wanted += rn_tlp_is_wanted(t);
}

static void unlink_from_list(struct rn_fabric *f, unsigned index)
{
	struct rn_tlp *t = &f->tlp[index];
	unsigned list = list_of(t);

	if (t->prev == NONE)
		f->first[list] = t->next;
	else
		f->tlp[t->prev].next = t->next;
	if (t->next == NONE)
		f->last[list] = t->prev;
	else
		f->tlp[t->next].prev = t->prev;
	if (f->first[list] == NONE)
		f->busy[list / WORD_BITS] &= ~(UINT64_C(1) << list % WORD_BITS);
	f->wanted -= rn_tlp_is_wanted(t);
}

/* Copies @tlp to a free place of the array tlp[]. There must be one. The copy becomes
 * the youngest in the list of all TLPs, but the caller must put it into a queue. Returns
 * its index.
 */
static unsigned take_place(struct rn_fabric *f, const struct rn_tlp *tlp)
{
	unsigned index = f->free;
	struct rn_tlp *t = &f->tlp[index];

	f->free = t->next;
	*t = *tlp;
	t->seq = f->next_seq++;
	t->hop = 0;
	t->state = RN_TLP_QUEUED;
	t->waiter = NONE;
	t->younger = NONE;
	t->older = f->youngest;
	if (t->older == NONE)
		f->oldest = (uint16_t)index;
	else
		f->tlp[t->older].younger = (uint16_t)index;
	f->youngest = (uint16_t)index;
	f->count++;
	return index;
}

static void free_place(struct rn_fabric *f, unsigned index)
{
	struct rn_tlp *t = &f->tlp[index];

	if (t->older == NONE)
		f->oldest = t->younger;
	else
		f->tlp[t->older].younger = t->younger;
	if (t->younger == NONE)
		f->youngest = t->older;
	else
		f->tlp[t->younger].older = t->older;
	if (f->cursor == index)
		f->cursor = t->younger;
	*t = (struct rn_tlp){ .state = RN_TLP_FREE, .next = f->free };
	f->free = (uint16_t)index;
	f->count--;
}

/* ---- Queries about a fabric ---- */
const struct rn_pcie_knobs *rn_fabric_knobs(const struct rn_fabric *f)
{
	return &f->knobs;
}

uint32_t rn_fabric_count(const struct rn_fabric *f)
{
	return f->count;
}

uint32_t rn_fabric_room(const struct rn_fabric *f)
{
	return f->capacity - f->count;
}

uint32_t rn_fabric_wanted(const struct rn_fabric *f)
{
	return f->wanted;
}

const struct rn_tlp *rn_fabric_tlp(const struct rn_fabric *f, unsigned index)
{
	if (index >= f->capacity || f->tlp[index].state == RN_TLP_FREE)
		return NULL;
	return &f->tlp[index];
}

unsigned rn_fabric_first(const struct rn_fabric *f, unsigned queue)
{
	assert(queue < RN_LIST_COUNT);
	return f->first[queue];
}

unsigned rn_fabric_last(const struct rn_fabric *f, unsigned queue)
{
	assert(queue < RN_LIST_COUNT);
	return f->last[queue];
}

static const struct rn_tlp *used_tlp(const struct rn_fabric *f, unsigned index)
{
	assert(index < f->capacity && f->tlp[index].state != RN_TLP_FREE);
	return &f->tlp[index];
}

unsigned rn_fabric_next(const struct rn_fabric *f, unsigned index)
{
	return used_tlp(f, index)->next;
}

unsigned rn_fabric_prev(const struct rn_fabric *f, unsigned index)
{
	return used_tlp(f, index)->prev;
}

unsigned rn_fabric_oldest(const struct rn_fabric *f)
{
	return f->oldest;
}

unsigned rn_fabric_youngest(const struct rn_fabric *f)
{
	return f->youngest;
}

unsigned rn_fabric_younger(const struct rn_fabric *f, unsigned index)
{
	return used_tlp(f, index)->younger;
}

unsigned rn_fabric_older(const struct rn_fabric *f, unsigned index)
{
	return used_tlp(f, index)->older;
}

unsigned rn_fabric_busy_queue(const struct rn_fabric *f, unsigned queue)
{
	for (unsigned w = queue / WORD_BITS; w < BUSY_WORDS; w++) {
		uint64_t bits = f->busy[w];

		if (w == queue / WORD_BITS)
			bits &= ~UINT64_C(0) << queue % WORD_BITS;
		if (bits)
			return w * WORD_BITS + (unsigned)__builtin_ctzll(bits);
	}
	return RN_LIST_COUNT;
}

void rn_fabric_each_queue(const struct rn_fabric *f,
			  void (*visit)(void *arg, unsigned queue), void *arg)
{
	for (unsigned q = rn_fabric_busy_queue(f, 0); q < RN_LIST_COUNT;
	     q = rn_fabric_busy_queue(f, q + 1))
		visit(arg, q);
}

/* The arguments of a public function, which it passes on to the static functions below.
 */
struct run {
	struct rn_fabric *f;
	const struct rn_fabric_ops *ops;
	void *ctx;
};

/* ---- Movable TLPs ---- */
/* Returns true if @later may pass @earlier, which is before it in the same list. Inside a
 * GPU, only writes to the same bytes keep their order. In queues the ordering rules
 * decide.
 */
static bool may_pass(const struct rn_fabric *f, const struct rn_tlp *later,
		     const struct rn_tlp *earlier)
{
	if (later->state == RN_TLP_INSIDE)
		return !rn_tlp_overlap(later, earlier);
	return rn_order_may_pass(later, earlier, &f->knobs);
}

/* Searches from the head of the queue, because the first TLP of a queue blocks others
 * most often and may itself move.
 */
unsigned rn_fabric_blocker(const struct rn_fabric *f, unsigned index)
{
	const struct rn_tlp *t = rn_fabric_tlp(f, index);

	assert(t);
	for (unsigned i = f->first[list_of(t)]; i != index; i = f->tlp[i].next)
		if (!may_pass(f, t, &f->tlp[i]))
			return i;
	return NONE;
}

bool rn_fabric_movable(const struct rn_fabric *f, unsigned index)
{
	return rn_fabric_tlp(f, index) && rn_fabric_blocker(f, index) == NONE;
}

unsigned rn_fabric_moves(const struct rn_fabric *f, uint16_t *index, unsigned max)
{
	unsigned n = 0;

	for (unsigned q = rn_fabric_busy_queue(f, 0); q < RN_LIST_COUNT;
	     q = rn_fabric_busy_queue(f, q + 1))
		for (unsigned i = f->first[q]; i != NONE; i = f->tlp[i].next) {
			if (rn_fabric_blocker(f, i) != NONE)
				continue;
			if (n < max)
				index[n] = (uint16_t)i;
			n++;
		}
	return n;
}

/* ---- Moves of TLPs ---- */
static bool has_inside(const struct rn_fabric *f, unsigned target)
{
	return rn_agent_is_gpu(target) && f->knobs.gpu_ordering == RN_GPU_ORDER_NONE;
}

static struct rn_tlp completion_of(const struct rn_tlp *request)
{
	struct rn_tlp c = *request;

	c.kind = RN_TLP_COMPLETION;
	c.requester = request->target;
	c.target = request->requester;
	c.hop = 0;
	return c;
}

/* Returns the knobs that decide the route of @t. For a TLP with the flag RN_TLP_NEAR,
 * copies the knobs to @near, sets rc.p2p to `shared` there, and returns @near.
 */
static const struct rn_pcie_knobs *
knobs_of(const struct rn_fabric *f, const struct rn_tlp *t, struct rn_pcie_knobs *near)
{
	if (!(t->flags & RN_TLP_NEAR))
		return &f->knobs;
	*near = f->knobs;
	near->p2p = RN_P2P_SHARED;
	return near;
}

static void perform_and_free(const struct run *run, unsigned index)
{
	const struct rn_tlp t = run->f->tlp[index];

	free_place(run->f, index);
	run->ops->perform(run->ctx, &t);
}

static void empty_inside(const struct run *run, unsigned gpu)
{
	struct rn_fabric *f = run->f;
	unsigned list = RN_QUEUE_COUNT + gpu, index;

	while ((index = f->first[list]) != NONE) {
		if (run->ops->moving)
			run->ops->moving(run->ctx, &f->tlp[index], RN_QUEUE_COUNT);
		unlink_from_list(f, index);
		perform_and_free(run, index);
	}
}

/* Returns true if the writes that wait inside a GPU must become visible before this TLP
 * is performed there.
 */
static bool empties_inside(const struct rn_tlp *t)
{
	bool is_bar_read = t->kind == RN_TLP_READ || t->kind == RN_TLP_ATOMIC;
	bool is_bell = t->kind == RN_TLP_WRITE && (t->flags & RN_TLP_BELL);

	return is_bar_read || is_bell;
}

/* Called when a write has left its last queue: performs it, or puts it inside the GPU.
 * This function and those for completions and requests below return true if the TLP is
 * still in the fabric: inside a GPU, or on its way back as a completion.
 */
static bool arrive_write(const struct run *run, unsigned index)
{
	struct rn_tlp *t = &run->f->tlp[index];

	if (has_inside(run->f, t->target) && !empties_inside(t)) {
		t->state = RN_TLP_INSIDE;
		append_to_list(run->f, index);
		return true;
	}
	perform_and_free(run, index);
	return false;
}

static bool arrive_completion(const struct run *run, unsigned index)
{
	const struct rn_tlp t = run->f->tlp[index];

	free_place(run->f, index);
	run->ops->complete(run->ctx, &t);
	return false;
}

static bool arrive_request(const struct run *run, unsigned index)
{
	struct rn_fabric *f = run->f;
	struct rn_tlp *t = &f->tlp[index];
	struct rn_pcie_knobs near;

	run->ops->perform(run->ctx, t);
	*t = completion_of(t);
	rn_topology_answer(knobs_of(f, t, &near), t->requester, t->target, &t->route);
	assert(t->route.hops > 0);
	append_to_list(f, index);
	return true;
}

static bool arrive_tlp(const struct run *run, unsigned index)
{
	const struct rn_tlp *t = &run->f->tlp[index];

	if (has_inside(run->f, t->target) && empties_inside(t))
		empty_inside(run, t->target);
	if (t->kind == RN_TLP_WRITE)
		return arrive_write(run, index);
	if (t->kind == RN_TLP_COMPLETION)
		return arrive_completion(run, index);
	return arrive_request(run, index);
}

/* Moves the TLP to its next queue, or performs it. Returns true if the TLP is still in
 * the fabric.
 */
static bool step_tlp(const struct run *run, unsigned index)
{
	struct rn_fabric *f = run->f;
	struct rn_tlp *t = &f->tlp[index];
	bool was_inside = t->state == RN_TLP_INSIDE;

	if (run->ops->moving)
		run->ops->moving(run->ctx, t, was_inside ? RN_QUEUE_COUNT : list_of(t));
	unlink_from_list(f, index);
	if (was_inside) {
		perform_and_free(run, index);
		return false;
	}
	t->hop++;
	if (t->hop < t->route.hops) {
		append_to_list(f, index);
		return true;
	}
	return arrive_tlp(run, index);
}

void rn_fabric_move(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		    unsigned index)
{
	const struct run run = { f, ops, ctx };

	assert(rn_fabric_movable(f, index));
	step_tlp(&run, index);
}

/* Moves the TLP at @index until it has left the fabric. If another TLP blocks it, moves
 * the blocking TLP first, and so on. A blocking TLP is nearer to the head of the queue,
 * so the chain ends at a TLP that may move. The chain may be as long as a queue, so it is
 * kept in rn_tlp.waiter and not on the stack.
 */
static void force_tlp(const struct run *run, unsigned index)
{
	struct rn_fabric *f = run->f;
	unsigned at = index;

	for (;;) {
		unsigned blocker = rn_fabric_blocker(f, at);
		unsigned waiter = f->tlp[at].waiter;

		if (blocker != NONE) {
			f->tlp[blocker].waiter = (uint16_t)at;
			at = blocker;
		} else if (at != index) {
			f->tlp[at].waiter = NONE;
			step_tlp(run, at);
			at = waiter;
		} else if (!step_tlp(run, index)) {
			return;
		}
	}
}

void rn_fabric_force(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		     unsigned index)
{
	const struct run run = { f, ops, ctx };

	assert(rn_fabric_tlp(f, index));
	force_tlp(&run, index);
}

void rn_fabric_force_if(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
			bool (*match)(const struct rn_tlp *tlp, const void *arg),
			const void *arg)
{
	const struct run run = { f, ops, ctx };
	/* TLPs with this number or a higher one were issued by callbacks during this
	 * call. They are not forced.
	 */
	uint64_t end = f->next_seq;
	unsigned index;

	f->cursor = f->oldest;
	while ((index = f->cursor) != NONE && f->tlp[index].seq < end) {
		f->cursor = f->tlp[index].younger;
		if (match(&f->tlp[index], arg))
			force_tlp(&run, index);
	}
	f->cursor = NONE;
}

void rn_fabric_mark(struct rn_fabric *f, unsigned index, uint64_t data)
{
	assert(rn_fabric_tlp(f, index));
	f->tlp[index].data = data;
}

void rn_fabric_extend(struct rn_fabric *f, unsigned index, uint32_t len)
{
	assert(index == f->youngest && f->tlp[index].kind == RN_TLP_WRITE);
	f->tlp[index].len += len;
}

void rn_fabric_drop(struct rn_fabric *f, unsigned index)
{
	assert(rn_fabric_tlp(f, index) && f->tlp[index].kind == RN_TLP_WRITE);
	unlink_from_list(f, index);
	free_place(f, index);
}

void rn_fabric_empty_inside(struct rn_fabric *f, const struct rn_fabric_ops *ops,
			    void *ctx, unsigned gpu)
{
	const struct run run = { f, ops, ctx };

	assert(rn_agent_is_gpu(gpu));
	empty_inside(&run, gpu);
}

/* ---- Issue of TLPs ---- */
static void do_at_once(const struct run *run, const struct rn_tlp *tlp)
{
	run->ops->perform(run->ctx, tlp);
	if (tlp->kind != RN_TLP_WRITE) {
		const struct rn_tlp c = completion_of(tlp);

		run->ops->complete(run->ctx, &c);
	}
}

int rn_fabric_issue(struct rn_fabric *f, const struct rn_fabric_ops *ops, void *ctx,
		    const struct rn_tlp *tlp)
{
	const struct run run = { f, ops, ctx };
	struct rn_pcie_knobs near;
	struct rn_route route;
	unsigned index;

	assert(tlp->kind < RN_TLP_COMPLETION);
	assert(!(tlp->flags & RN_TLP_CQE) || !(tlp->flags & RN_TLP_RO));
	if (!rn_topology_route(knobs_of(f, tlp, &near), tlp->requester, tlp->target,
			       tlp->stream, &route))
		return -EHOSTUNREACH;
	if (tlp->flags & RN_TLP_CQE)
		rn_topology_entry(&f->knobs, tlp->requester, tlp->stream, &route);
	if (f->knobs.place == RN_PLACE_NOW || route.hops == 0) {
		do_at_once(&run, tlp);
		return NONE;
	}
	if (f->free == NONE)
		return -ENOBUFS;
	index = take_place(f, tlp);
	f->tlp[index].route = route;
	append_to_list(f, index);
	return (int)index;
}
