/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_gpu_order.c - what a kernel and the CPU may see of a NIC's write, per set of
 * knobs.
 *
 * The shapes are those of the litmus bank (G1, G2, G4, G8, G9, G11, G18). Nothing moves
 * by itself, so "may be stale" is "is stale".
 */
#include "gpu_kit.h"

enum {
	FRESH = 1,
	STALE = 0,
};

static const struct row {
	const char *knobs;
	uint64_t by_flag;   /* kernel that waits for a host flag */
	uint64_t by_launch; /* kernel launched after the completion */
	uint64_t by_flush;  /* waiting kernel, flag raised after rn_gpu_flush(ALL) */
	uint64_t by_load;   /* load of the CPU from the BAR */
	uint64_t ordering;  /* attribute */
} rows[] = {
	{ "strict", FRESH, FRESH, FRESH, FRESH, 100 },
	{ "ibta" GPU_KIT_HELD, FRESH, FRESH, FRESH, FRESH, 100 },
	{ "typical" GPU_KIT_HELD, FRESH, FRESH, FRESH, FRESH, 100 },
	{ "typical,gpu.ordering=all" GPU_KIT_HELD, FRESH, FRESH, FRESH, FRESH, 200 },
	{ "typical,gpu.ordering=none" GPU_KIT_HELD, STALE, FRESH, FRESH, FRESH, 0 },
	{ "typical,rc.p2p=split" GPU_KIT_HELD, STALE, STALE, STALE, STALE, 100 },
	{ "typical,gpu.link=c2c" GPU_KIT_HELD, STALE, STALE, STALE, STALE, 100 },
	{ "adversarial" GPU_KIT_HELD, STALE, STALE, STALE, STALE, 0 },
};
static const struct row *row;

struct look {
	uint64_t flag; /* host memory */
	const uint64_t *data;
	uint64_t seen;
};

static void wait_and_look(void *arg)
{
	struct look *l = arg;

	if (rn_gpu_wait_host(&l->flag, 1, 8, 20000) < 0)
		return;
	l->seen = rn_gpu_load(l->data, 8);
}

static void only_look(void *arg)
{
	struct look *l = arg;

	l->seen = rn_gpu_load(l->data, 8);
}

static void raise_flag(struct look *l)
{
	__atomic_store_n(&l->flag, 1, __ATOMIC_RELEASE);
}

static void test_flag_after_completion(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	struct look l = { .data = b.dev, .seen = 77 };

	(void)state;
	assert_true(rn_gpu_launch(b.gpu, wait_and_look, &l) > 0);
	gpu_kit_receive(0, b.bar, 1);
	raise_flag(&l);
	assert_int_equal(rn_gpu_synchronize(b.gpu), 0);
	assert_int_equal(l.seen, row->by_flag);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void test_launch_after_completion(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	struct look l = { .data = b.dev, .seen = 77 };
	int64_t kernel;

	(void)state;
	gpu_kit_receive(0, b.bar, 1);
	kernel = rn_gpu_launch(b.gpu, only_look, &l);
	assert_int_equal(rn_gpu_wait_kernel(b.gpu, kernel), 0);
	assert_int_equal(rn_gpu_wait_kernel(b.gpu, kernel), -ENOENT);
	assert_int_equal(l.seen, row->by_launch);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void test_flush_before_flag(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	struct look l = { .data = b.dev, .seen = 77 };

	(void)state;
	assert_true(rn_gpu_launch(b.gpu, wait_and_look, &l) > 0);
	gpu_kit_receive(0, b.bar, 1);
	assert_int_equal(rn_gpu_flush(b.gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_ALL_DEVICES),
			 0);
	raise_flag(&l);
	assert_int_equal(rn_gpu_synchronize(b.gpu), 0);
	assert_int_equal(l.seen, row->by_flush);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

/* The flush to the owner is a no-op where the GPU orders by itself. */
static void test_flush_skipped_within_native_order(void **state)
{
	struct rn_gpu *gpu = rn_gpu_open(0);
	struct rn_gpu_counters before, after;
	uint64_t ordering;

	(void)state;
	assert_int_equal(rn_gpu_get_attr(gpu, RN_GPU_ATTR_WRITES_ORDERING, &ordering), 0);
	assert_int_equal(ordering, row->ordering);
	rn_gpu_get_counters(&before);
	assert_int_equal(rn_gpu_flush(gpu, RN_GPU_FLUSH_THIS, RN_GPU_TO_OWNER), 0);
	rn_gpu_get_counters(&after);
	assert_int_equal(after.flushes_skipped - before.flushes_skipped, ordering >= 100);
	assert_int_equal(after.flushes - before.flushes, ordering < 100);
}

static void test_plain_load_from_bar(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	volatile uint64_t *bar = b.bar;

	(void)state;
	gpu_kit_receive(0, b.bar, 1);
	assert_int_equal(*bar, row->by_load);
	gpu_kit_land_all();
	assert_int_equal(*bar, 1);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void test_explicit_load_from_bar(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);

	(void)state;
	gpu_kit_receive(0, b.bar, 1);
	assert_int_equal(rn_gpu_bar_load(b.bar, 8), row->by_load);
	gpu_kit_land_all();
	assert_int_equal(rn_gpu_bar_load(b.bar, 8), 1);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

/* GDRCopy's flush: the load may be of any byte of the same GPU. */
static void test_load_of_another_page_flushes(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096), other = gpu_kit_alloc(0, 4096);
	struct look l = { .data = b.dev, .seen = 77 };
	volatile uint8_t *flush_byte = other.bar;

	(void)state;
	assert_true(rn_gpu_launch(b.gpu, wait_and_look, &l) > 0);
	gpu_kit_receive(0, b.bar, 1);
	assert_int_equal(*flush_byte, 0);
	raise_flag(&l);
	assert_int_equal(rn_gpu_synchronize(b.gpu), 0);
	assert_int_equal(l.seen, row->by_load);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	assert_int_equal(rn_gpu_free(other.bar), 0);
}

/* Of the CPU's own: a posted write is behind nothing but seen by its own load. */
static void test_own_store_is_seen(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	volatile uint64_t *bar = b.bar;

	(void)state;
	rn_gpu_bar_store(b.bar, 5, 8);
	assert_int_equal(*bar, 5);
	rn_gpu_bar_store(b.bar, 6, 8);
	assert_int_equal(rn_gpu_bar_load(b.bar, 8), 6);
	bar[1] = 9;
	assert_int_equal(rn_gpu_bar_load(&bar[1], 8), 9);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

struct produce {
	uint64_t *data;		  /* device memory */
	uint64_t host_data, flag; /* host memory */
};

static void produce(void *arg)
{
	struct produce *p = arg;

	rn_gpu_store(p->data, 1, 8);
	rn_gpu_store(&p->host_data, 1, 8);
	rn_gpu_store(&p->flag, 1, 8);
}

/* Posted writes of a kernel arrive in order, and its end is behind them. */
static void test_end_of_kernel_is_behind_its_stores(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	struct produce p = { .data = b.dev };

	(void)state;
	assert_true(rn_gpu_launch(b.gpu, produce, &p) > 0);
	assert_int_equal(rn_gpu_synchronize(b.gpu), 0);
	assert_int_equal(__atomic_load_n(&p.flag, __ATOMIC_ACQUIRE), 1);
	assert_int_equal(__atomic_load_n(&p.host_data, __ATOMIC_ACQUIRE), 1);
	assert_int_equal(rn_gpu_bar_load(b.bar, 8), 1);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void produce_with_device_flag(void *arg)
{
	struct produce *p = arg;

	rn_gpu_store(&p->host_data, 1, 8);
	rn_gpu_store(p->data, 1, 8);
}

/* The completion of the CPU's load pushes what the GPU has sent before (D2a). */
static void test_load_pushes_upstream_writes(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	struct produce p = { .data = b.dev };
	volatile uint64_t *bar = b.bar;

	(void)state;
	assert_true(rn_gpu_launch(b.gpu, produce_with_device_flag, &p) > 0);
	while (*bar != 1)
		;
	assert_int_equal(__atomic_load_n(&p.host_data, __ATOMIC_ACQUIRE), 1);
	assert_int_equal(rn_gpu_synchronize(b.gpu), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void wait_for_device_flag(void *arg)
{
	struct look *l = arg;

	if (rn_gpu_wait_device(l->data, 1, 8, 20000) < 0)
		return;
	l->seen = 1;
}

static void test_wait_device_ends(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	struct look l = { .data = b.dev };

	(void)state;
	assert_true(rn_gpu_launch(b.gpu, wait_for_device_flag, &l) > 0);
	gpu_kit_receive(0, b.bar, 1);
	gpu_kit_land_all();
	assert_int_equal(rn_gpu_synchronize(b.gpu), 0);
	assert_int_equal(l.seen, 1);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

/* A stream waits for a flag in host memory; FLUSH is what the kernel behind it needs. */
static void test_stream_wait_with_flush(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(0, 4096);
	struct look l = { .data = b.dev, .seen = 77 };
	uint32_t flag = 3;

	(void)state;
	gpu_kit_receive(0, b.bar, 1);
	assert_int_equal(rn_gpu_wait_value32(b.gpu, &flag, 4, RN_GPU_WAIT_EQ, 0),
			 -ETIMEDOUT);
	assert_int_equal(rn_gpu_wait_value32(b.gpu, &flag, 2,
					     RN_GPU_WAIT_GEQ | RN_GPU_WAIT_FLUSH, 0),
			 0);
	assert_int_equal(rn_gpu_become(b.gpu), 0);
	l.seen = rn_gpu_load(l.data, 8);
	assert_int_equal(rn_gpu_become(NULL), 0);
	assert_int_equal(l.seen, row->by_flush);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

/* Peer to peer: one GPU stores into the other's BAR, data and then a flag. */
static void test_peer_gpu(void **state)
{
	struct rn_gpu_buffer b = gpu_kit_alloc(1, 4096);
	uint64_t *words = b.bar;

	(void)state;
	assert_int_equal(rn_gpu_become(rn_gpu_open(0)), 0);
	rn_gpu_store(&words[0], 1, 8);
	assert_int_equal(rn_gpu_load(&words[0], 8), 1);
	assert_int_equal(rn_gpu_load(b.dev, 8), 1);
	assert_int_equal(rn_gpu_become(NULL), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

/* A word that becomes 1 behind other writes, which move one by one while the GPU looks.
 */
static uint64_t *late_word(void)
{
	static uint64_t words[64] __attribute__((aligned(64)));

	gpu_kit_land_all();
	memset(words, 0, sizeof(words));
	for (unsigned i = 0; i < 64; i++)
		gpu_kit_nic_write(0, &words[i], 1, RN_TLP_DATA);
	assert_int_equal(__atomic_load_n(&words[63], __ATOMIC_ACQUIRE), 0);
	return &words[63];
}

/* A limit below 0 is none. */
static void test_wait_without_a_limit(void **state)
{
	struct rn_gpu *gpu = rn_gpu_open(0);
	uint64_t *word = late_word();

	(void)state;
	assert_int_equal(rn_gpu_become(gpu), 0);
	assert_int_equal(rn_gpu_wait_host(word, 1, 8, -1), 0);
	assert_int_equal(rn_gpu_become(NULL), 0);
	word = late_word();
	assert_int_equal(
		rn_gpu_wait_value32(gpu, (uint32_t *)(void *)word, 1, RN_GPU_WAIT_EQ, -1),
		0);
	gpu_kit_land_all();
}

static const struct CMUnitTest wait_tests[] = {
	cmocka_unit_test(test_wait_without_a_limit),
};

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_flag_after_completion),
	cmocka_unit_test(test_launch_after_completion),
	cmocka_unit_test(test_flush_before_flag),
	cmocka_unit_test(test_flush_skipped_within_native_order),
	cmocka_unit_test(test_plain_load_from_bar),
	cmocka_unit_test(test_explicit_load_from_bar),
	cmocka_unit_test(test_load_of_another_page_flushes),
	cmocka_unit_test(test_own_store_is_seen),
	cmocka_unit_test(test_end_of_kernel_is_behind_its_stores),
	cmocka_unit_test(test_load_pushes_upstream_writes),
	cmocka_unit_test(test_wait_device_ends),
	cmocka_unit_test(test_stream_wait_with_flush),
	cmocka_unit_test(test_peer_gpu),
};

int main(void)
{
	int failed = 0;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		row = &rows[i];
		failed += gpu_kit_run(row->knobs, tests, RN_ARRAY_SIZE(tests));
	}
	failed += gpu_kit_run("typical,driver=random,hold=inf,hold.polls=inf", wait_tests,
			      1);
	return failed;
}
