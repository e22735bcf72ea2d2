/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fabric_random.c - a fabric beside a model of it that is slow and plain.
 *
 * The model keeps each list as an array and scans it. It follows the fabric by what that
 * reports, and objects to any move that the rules forbid or that forcing did not need.
 */
#include "fabric_kit.h"

enum {
	ROOM = 40,
	STEPS = 400,
	WORLDS = 150,
	NOBODY = 0, /* as a tag */
};

struct model {
	struct rn_fabric *f;
	struct rn_tlp list[RN_LIST_COUNT][ROOM];
	unsigned len[RN_LIST_COUNT];
	unsigned count;
	struct rn_tlp arrived; /* tag != NOBODY: to be performed or completed next */
	struct rn_tlp waiting; /* behind the emptying of the inside */
	uint64_t forced;       /* tag, NOBODY: nothing is being forced */
	uint64_t rng;
};

static struct model m;

static unsigned draw(unsigned n)
{
	m.rng = m.rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)((m.rng >> 33) % n);
}

static const struct rn_pcie_knobs *knobs(void)
{
	return rn_fabric_knobs(m.f);
}

static bool has_inside(unsigned target)
{
	return rn_agent_is_gpu(target) && knobs()->gpu_ordering == RN_GPU_ORDER_NONE;
}

static bool blocks(unsigned list, unsigned earlier, unsigned later)
{
	const struct rn_tlp *e = &m.list[list][earlier], *l = &m.list[list][later];

	if (list >= RN_QUEUE_COUNT)
		return rn_tlp_overlap(l, e);
	return !rn_order_may_pass(l, e, knobs());
}

static bool is_movable(unsigned list, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (blocks(list, i, at))
			return false;
	return true;
}

static unsigned position(unsigned list, uint64_t tag)
{
	for (unsigned i = 0; i < m.len[list]; i++)
		if (m.list[list][i].tag == tag)
			return i;
	return ROOM;
}

static void put(unsigned list, const struct rn_tlp *tlp)
{
	assert_true(m.len[list] < ROOM);
	m.list[list][m.len[list]++] = *tlp;
}

static struct rn_tlp take(unsigned list, unsigned at)
{
	struct rn_tlp t = m.list[list][at];

	memmove(&m.list[list][at], &m.list[list][at + 1],
		(m.len[list] - at - 1) * sizeof(t));
	m.len[list]--;
	return t;
}

/* Must @at go before the TLP at @forced can: does it block that, or what blocks it? */
static bool is_in_the_way(unsigned list, unsigned at, unsigned forced)
{
	bool in_the_way[ROOM] = { false };

	in_the_way[forced] = true;
	for (unsigned i = forced; i-- > at;)
		for (unsigned k = i + 1; k <= forced; k++)
			in_the_way[i] |= in_the_way[k] && blocks(list, i, k);
	return in_the_way[at];
}

static void moving(void *ctx, const struct rn_tlp *tlp, unsigned queue)
{
	unsigned list = queue == RN_QUEUE_COUNT ? queue + tlp->target : queue;
	unsigned at = position(list, tlp->tag);
	struct rn_tlp t;

	(void)ctx;
	assert_true(at < ROOM && is_movable(list, at));
	if (m.forced != NOBODY && m.waiting.tag == NOBODY) {
		unsigned forced = position(list, m.forced);

		assert_true(forced < ROOM && at <= forced &&
			    is_in_the_way(list, at, forced));
	}
	t = take(list, at);
	assert_int_equal(m.arrived.tag, NOBODY);
	if (list >= RN_QUEUE_COUNT) {
		m.arrived = t;
		return;
	}
	assert_int_equal(m.waiting.tag, NOBODY);
	assert_int_equal(t.route.queue[t.hop], queue);
	t.hop++;
	if (t.hop < t.route.hops) {
		put(t.route.queue[t.hop], &t);
	} else if (!has_inside(t.target) || t.kind == RN_TLP_COMPLETION) {
		m.arrived = t;
	} else if (t.kind == RN_TLP_WRITE && !(t.flags & RN_TLP_BELL)) {
		put(RN_QUEUE_COUNT + t.target, &t);
	} else {
		m.waiting = t;
	}
}

static void perform(void *ctx, const struct rn_tlp *tlp)
{
	struct rn_tlp t = m.arrived.tag != NOBODY ? m.arrived : m.waiting;

	(void)ctx;
	assert_int_equal(tlp->tag, t.tag);
	assert_int_equal(tlp->kind, t.kind);
	if (m.arrived.tag != NOBODY) {
		m.arrived.tag = NOBODY;
	} else {
		assert_int_equal(m.len[RN_QUEUE_COUNT + t.target], 0);
		m.waiting.tag = NOBODY;
	}
	if (t.kind == RN_TLP_WRITE) {
		m.count--;
		return;
	}
	t.kind = RN_TLP_COMPLETION;
	t.requester = tlp->target;
	t.target = tlp->requester;
	t.hop = 0;
	rn_topology_answer(knobs(), t.requester, t.target, &t.route);
	put(t.route.queue[0], &t);
}

static void complete(void *ctx, const struct rn_tlp *tlp)
{
	(void)ctx;
	assert_int_equal(m.arrived.tag, tlp->tag);
	assert_int_equal(m.arrived.kind, RN_TLP_COMPLETION);
	m.arrived.tag = NOBODY;
	m.count--;
}

static const struct rn_fabric_ops ops = { perform, complete, moving };

/* ---- Actions ---- */

static void issue(void)
{
	static const uint8_t agents[] = { CPU, GPU0, GPU1, NIC0, NIC1, NVME0 };
	static uint64_t tag;
	struct rn_tlp t = {
		.kind = (uint8_t)(draw(5) ? RN_TLP_WRITE : RN_TLP_READ + draw(2)),
		.requester = agents[draw(RN_ARRAY_SIZE(agents))],
		.target = agents[draw(RN_ARRAY_SIZE(agents))],
		.stream = draw(3),
		.msg = draw(2),
		.txn = draw(3),
		.addr = draw(4) * 32,
		.len = 1 + draw(64),
		.tag = ++tag,
	};
	int index;

	if (t.requester == t.target)
		return;
	t.flags = (uint8_t)draw(256) & (RN_TLP_RO | RN_TLP_IDO | RN_TLP_DATA);
	if (t.kind == RN_TLP_WRITE && draw(4) == 0)
		t.flags = (uint8_t)(RN_TLP_CQE << draw(3));
	index = rn_fabric_issue(m.f, &ops, NULL, &t);
	if (m.count == ROOM) {
		assert_true(index < 0);
		return;
	}
	assert_true(index >= 0 && index < RN_TLP_NONE);
	t = *rn_fabric_tlp(m.f, (unsigned)index);
	put(t.route.queue[0], &t);
	m.count++;
}

static void force(void)
{
	unsigned index = draw(ROOM);
	const struct rn_tlp *t = rn_fabric_tlp(m.f, index);

	if (!t)
		return;
	m.forced = t->tag;
	rn_fabric_force(m.f, &ops, NULL, index);
	assert_true(!rn_fabric_tlp(m.f, index));
	m.forced = NOBODY;
}

static void move(void)
{
	uint16_t moves[ROOM];
	unsigned n = rn_fabric_moves(m.f, moves, ROOM), movable = 0;

	for (unsigned list = 0; list < RN_LIST_COUNT; list++)
		for (unsigned i = 0; i < m.len[list]; i++)
			movable += is_movable(list, i);
	assert_int_equal(n, movable);
	if (n > 0)
		rn_fabric_move(m.f, &ops, NULL, moves[draw(n)]);
}

/* ---- Checks ---- */

static void check_list(unsigned list)
{
	unsigned index = rn_fabric_first(m.f, list), before = RN_TLP_NONE;

	for (unsigned i = 0; i < m.len[list]; i++) {
		assert_int_equal(rn_fabric_tlp(m.f, index)->tag, m.list[list][i].tag);
		assert_int_equal(rn_fabric_prev(m.f, index), before);
		assert_int_equal(rn_fabric_movable(m.f, index), is_movable(list, i));
		before = index;
		index = rn_fabric_next(m.f, index);
	}
	assert_int_equal(index, RN_TLP_NONE);
	assert_int_equal(rn_fabric_last(m.f, list), before);
	assert_int_equal(rn_fabric_busy_queue(m.f, list) == list, m.len[list] > 0);
}

static unsigned count_wanted(void)
{
	unsigned n = 0;

	for (unsigned list = 0; list < RN_LIST_COUNT; list++)
		for (unsigned i = 0; i < m.len[list]; i++)
			n += rn_tlp_is_wanted(&m.list[list][i]);
	return n;
}

static void check(void)
{
	uint64_t tag = 0;
	unsigned n = 0;

	assert_int_equal(rn_fabric_count(m.f), m.count);
	assert_int_equal(rn_fabric_room(m.f), ROOM - m.count);
	assert_int_equal(rn_fabric_wanted(m.f), count_wanted());
	for (unsigned list = 0; list < RN_LIST_COUNT; list++)
		check_list(list);
	for (unsigned i = rn_fabric_oldest(m.f); i != RN_TLP_NONE;
	     i = rn_fabric_younger(m.f, i)) {
		assert_true(rn_fabric_tlp(m.f, i)->tag > tag);
		tag = rn_fabric_tlp(m.f, i)->tag;
		n++;
	}
	assert_int_equal(n, m.count);
}

static void run(uint64_t seed, const struct rn_pcie_knobs *k)
{
	static uint64_t mem[ROOM * 16 + 1024];

	assert_true(rn_fabric_size(ROOM) <= sizeof(mem));
	memset(&m, 0, sizeof(m));
	m.rng = seed;
	m.f = rn_fabric_init(mem, ROOM, k);
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned what = draw(100);

		if (what < 45)
			issue();
		else if (what < 95)
			move();
		else if (what < 99)
			force();
		else
			rn_fabric_empty_inside(m.f, &ops, NULL, GPU0 + draw(2));
		check();
	}
	rn_fabric_force_if(m.f, &ops, NULL, world_any, NULL);
	check();
	assert_int_equal(m.count, 0);
}

static void the_fabric_and_its_model_agree(void **state)
{
	struct rn_pcie_knobs k;

	(void)state;
	for (uint64_t seed = 1; seed <= WORLDS; seed++) {
		rn_pcie_preset(&k, (enum rn_pcie_mode)(1 + seed % 3));
		k.gpu_link = seed & 4 ? RN_GPU_C2C : RN_GPU_PCIE;
		k.gpu_ordering = seed & 8 ? RN_GPU_ORDER_NONE : RN_GPU_ORDER_OWNER;
		run(seed, &k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fabric_and_its_model_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
