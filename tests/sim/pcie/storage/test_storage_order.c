/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_storage_order.c - when is the data there? Litmus D6 and D7, streams. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/pcie/model/tlp.h"
#include "storage_kit.h"

/* ------------------------------------------------------- the completion is seen */
struct scene {
	struct rn_storage_file *file;
	struct rn_gpu *gpu;
	struct rn_gpu_buffer d;
	uint64_t flag __attribute__((aligned(64)));
	uint64_t first, last; /* words that the kernel saw */
};

static void open_scene(struct scene *s, const char *knobs)
{
	memset(s, 0, sizeof(*s));
	kit_host_knobs(knobs);
	assert_int_equal(rn_storage_set_policy("direct,p2p"), 0);
	s->file = kit_file(1);
	s->gpu = rn_gpu_open(0);
	assert_int_equal(rn_gpu_alloc(s->gpu, KIT_PAGE, 0, &s->d), 0);
	assert_int_equal(rn_storage_buffer_register(s->d.bar, KIT_PAGE), 0);
}

static void close_scene(struct scene *s)
{
	assert_int_equal(rn_storage_buffer_deregister(s->d.bar), 0);
	assert_int_equal(rn_gpu_free(s->d.bar), 0);
	rn_storage_handle_deregister(s->file);
	kit_close();
}

static void load_kernel(void *arg)
{
	struct scene *s = arg;

	s->first = rn_gpu_load(s->d.dev, 8);
	s->last = rn_gpu_load((char *)s->d.dev + KIT_PAGE - 8, 8);
}

static void waiting_kernel(void *arg)
{
	struct scene *s = arg;

	if (rn_gpu_wait_host(&s->flag, 1, 8, 30000) == 0)
		load_kernel(s);
}

static uint64_t expected(uint64_t at)
{
	uint8_t bytes[8];
	uint64_t word;

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = kit_byte(1, at + i);
	memcpy(&word, bytes, 8);
	return word;
}

static bool is_fresh(const struct scene *s)
{
	bool first = s->first == expected(0), last = s->last == expected(KIT_PAGE - 8);

	/* There or not yet there; nothing else. */
	assert_true(first || s->first == 0);
	assert_true(last || s->last == 0);
	return first && last;
}

/* D6: poll the completion, raise a flag for a kernel that is running. */
static bool run_d6(struct scene *s)
{
	uint64_t *flag = &s->flag;

	assert_true(rn_gpu_launch(s->gpu, waiting_kernel, s) > 0);
	assert_int_equal(rn_storage_read(s->file, s->d.bar, KIT_PAGE, 0, 0), KIT_PAGE);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	assert_int_equal(rn_gpu_synchronize(s->gpu), 0);
	return is_fresh(s);
}

/* D7: launch after the completion. */
static bool run_d7(struct scene *s)
{
	assert_int_equal(rn_storage_read(s->file, s->d.bar, KIT_PAGE, 0, 0), KIT_PAGE);
	assert_true(rn_gpu_launch(s->gpu, load_kernel, s) > 0);
	assert_int_equal(rn_gpu_synchronize(s->gpu), 0);
	return is_fresh(s);
}

#define HOLD ",hold=inf,hold.polls=inf"

static const struct {
	const char *knobs;
	bool d6_stale, d7_stale; /* allowed; seen each time with driver=adversarial */
} verdicts[] = {
	{ "strict", false, false },
	{ "ibta,driver=adversarial" HOLD, false, false },
	{ "typical,driver=adversarial" HOLD, false, false },
	{ "typical,gpu.ordering=all,driver=adversarial" HOLD, false, false },
	{ "typical,gpu.ordering=none,driver=adversarial" HOLD, true, false },
	{ "typical,rc.p2p=split,driver=adversarial" HOLD, true, true },
	{ "typical,gpu.link=c2c,driver=adversarial" HOLD, true, true },
	{ "adversarial" HOLD, true, true },
};

static void completion_before_data(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(verdicts); i++) {
		struct scene s;

		open_scene(&s, verdicts[i].knobs);
		if (run_d6(&s) == verdicts[i].d6_stale)
			fail_msg("D6 with %s", verdicts[i].knobs);
		close_scene(&s);
		open_scene(&s, verdicts[i].knobs);
		if (run_d7(&s) == verdicts[i].d7_stale)
			fail_msg("D7 with %s", verdicts[i].knobs);
		close_scene(&s);
	}
}

static void forbidden_is_never_seen(void **state)
{
	static const struct {
		const char *knobs;
		bool (*run)(struct scene *s);
	} never[] = {
		{ "typical", run_d6 },
		{ "ibta", run_d6 },
		{ "typical", run_d7 },
		{ "typical,gpu.ordering=none", run_d7 },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(never); i++) {
		for (unsigned seed = 0; seed < 25; seed++) {
			struct scene s;

			open_scene(&s, never[i].knobs);
			rn_pcie_seed(seed);
			if (!never[i].run(&s))
				fail_msg("%s, seed %u", never[i].knobs, seed);
			close_scene(&s);
		}
	}
}

static void host_memory_is_never_late(void **state)
{
	static const char *const knobs[] = { "typical", "ibta", ("adversarial" HOLD) };
	static uint8_t host[4 * KIT_PAGE] __attribute__((aligned(4096)));

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		struct rn_storage_file *file;

		kit_host_knobs(knobs[i]);
		file = kit_file(1);
		assert_int_equal(rn_storage_buffer_register(host, sizeof(host)), 0);
		for (unsigned n = 0; n < 20; n++) {
			off_t at = (off_t)(n % 16) * KIT_PAGE;

			memset(host, 0, sizeof(host));
			assert_int_equal(rn_storage_read(file, host, sizeof(host), at, 0),
					 sizeof(host));
			assert_int_equal(kit_wrong(host, sizeof(host), 1, (uint64_t)at),
					 -1);
		}
		assert_int_equal(rn_storage_buffer_deregister(host), 0);
		rn_storage_handle_deregister(file);
		kit_close();
	}
}

static void a_bounced_read_is_complete(void **state)
{
	static const char *const near[] = { "", "nvme0=gpu3" };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(near); i++) {
		struct scene s;

		open_scene(&s, "adversarial" HOLD);
		assert_int_equal(rn_storage_set_policy(NULL), 0);
		assert_int_equal(rn_storage_set_near(near[i]), 0);
		assert_true(run_d6(&s));
		close_scene(&s);
	}
}

/* The copy is work of the GPU's: it sees what a NIC wrote before, whose completion the
 * program has seen.
 */
static void a_bounced_write_takes_what_peers_wrote(void **state)
{
	uint64_t word = 0, entry = 0;
	struct kit_nic n;
	struct scene s;

	(void)state;
	open_scene(&s, "typical,driver=adversarial" HOLD);
	assert_int_equal(rn_storage_set_policy("host"), 0);
	kit_attach(&n);
	kit_write64(&n, KIT_QP, s.d.bar, 0x1234, 0);
	kit_write64(&n, KIT_QP, &entry, 1, RN_MEM_CQE);
	n.api->settle_ring(n.nic, kit_iova(&entry), sizeof(entry));
	assert_int_equal(kit_load(&entry), 1);
	assert_int_equal(rn_pcie_pending(s.d.bar, 8), 8);
	assert_int_equal(rn_storage_write(s.file, s.d.bar, KIT_PAGE, 0, 0), KIT_PAGE);
	assert_int_equal(rn_storage_read(s.file, &word, sizeof(word), 0, 0),
			 sizeof(word));
	assert_int_equal(word, 0x1234);
	kit_detach(&n);
	close_scene(&s);
}

static void a_stream_shows_what_it_read(void **state)
{
	const size_t size = KIT_PAGE;
	const off_t zero = 0;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(verdicts); i++) {
		struct rn_storage_stream *stream;
		struct scene s;
		ssize_t done = 0;

		open_scene(&s, verdicts[i].knobs);
		assert_int_equal(rn_storage_stream_create(&stream), 0);
		assert_int_equal(rn_storage_read_async(s.file, s.d.bar, &size, &zero,
						       &zero, &done, stream),
				 0);
		assert_int_equal(rn_storage_stream_launch(stream, s.gpu, load_kernel, &s),
				 0);
		assert_int_equal(rn_storage_stream_synchronize(stream), 0);
		assert_int_equal(done, KIT_PAGE);
		if (!is_fresh(&s))
			fail_msg("%s", verdicts[i].knobs);
		rn_storage_stream_destroy(stream);
		close_scene(&s);
	}
}

/* -------------------------------------------------------------------- streams */
struct order {
	size_t size;
	off_t offset;
	unsigned steps;
	unsigned seen[4];
};

static void choose_what_is_read(void *arg)
{
	struct order *o = arg;

	o->size = 2 * KIT_PAGE;
	o->offset = 3 * KIT_PAGE;
	o->seen[o->steps] = o->steps;
	o->steps++;
}

static void streams_are_in_order(void **state)
{
	static uint8_t host[2 * KIT_PAGE];
	struct order o = { .size = 1, .offset = -1 };
	const size_t size = sizeof(host);
	const off_t zero = 0, wrong = -1;
	struct rn_storage_file *from, *to;
	struct rn_storage_stream *stream;
	ssize_t done[3] = { 0 };

	(void)state;
	kit_host_knobs("typical");
	from = kit_file(1);
	to = kit_file(2);
	assert_int_equal(rn_storage_stream_create(&stream), 0);
	/* Sizes and offsets are looked at when the item begins. */
	rn_storage_stream_callback(stream, choose_what_is_read, &o);
	rn_storage_read_async(from, host, &o.size, &o.offset, &zero, &done[0], stream);
	rn_storage_write_async(to, host, &size, &zero, &zero, &done[1], stream);
	rn_storage_stream_callback(stream, choose_what_is_read, &o);
	rn_storage_read_async(from, host, &size, &wrong, &zero, &done[2], stream);
	assert_int_equal(rn_storage_stream_synchronize(stream), -EINVAL);
	assert_int_equal(rn_storage_stream_synchronize(stream), 0);
	assert_int_equal(o.steps, 2);
	assert_int_equal(done[0], 2 * KIT_PAGE);
	assert_int_equal(done[1], 2 * KIT_PAGE);
	assert_int_equal(done[2], -EINVAL);
	memset(host, 0, sizeof(host));
	assert_int_equal(rn_storage_read(to, host, sizeof(host), 0, 0), sizeof(host));
	assert_int_equal(kit_wrong(host, sizeof(host), 1, 3 * KIT_PAGE), -1);
	/* What is queued is still done. */
	rn_storage_stream_callback(stream, choose_what_is_read, &o);
	rn_storage_stream_destroy(stream);
	assert_int_equal(o.steps, 3);
	rn_storage_handle_deregister(from);
	rn_storage_handle_deregister(to);
	kit_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completion_before_data),
		cmocka_unit_test(forbidden_is_never_seen),
		cmocka_unit_test(host_memory_is_never_late),
		cmocka_unit_test(a_bounced_read_is_complete),
		cmocka_unit_test(a_bounced_write_takes_what_peers_wrote),
		cmocka_unit_test(a_stream_shows_what_it_read),
		cmocka_unit_test(streams_are_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
