/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_host_inf.c - hold=inf: what somebody waits for arrives although nobody calls. All
 * waiting here is on a condition or on memory, never by a call that moves TLPs.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "host_kit.h"
#include "rocin/gpu.h"
#include "rocin/storage.h"
#include "sim/pcie/host/host_internal.h"

enum {
	PAGE = 4096,
	LIMIT_S = 300, /* of waiting for what should take some ticks */
	ROUNDS = 40,
	ATOMICS = 4, /* at once on one word */
};

/* A NIC whose program sleeps until it is woken. */
struct sleeper {
	const struct rn_host_api *api;
	struct rn_host_nic *nic;
	pthread_mutex_t lock;
	pthread_cond_t woken;
	bool is_woken;
	unsigned ended, faults;
};

static void wake(void *arg)
{
	struct sleeper *s = arg;

	pthread_mutex_lock(&s->lock);
	s->is_woken = true;
	pthread_cond_signal(&s->woken);
	pthread_mutex_unlock(&s->lock);
}

static void count(void *arg, uint64_t tag, enum rn_mem_result result)
{
	struct sleeper *s = arg;

	(void)tag;
	s->ended++;
	s->faults += result != RN_MEM_DONE;
}

static void begin(struct sleeper *s)
{
	struct rn_host_nic_cfg cfg = { .name = "sleeper", .wake = wake, .arg = s };

	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->woken, NULL);
	s->api = kit_api();
	s->nic = s->api->attach(&cfg);
	assert_non_null(s->nic);
}

static void finish(struct sleeper *s)
{
	s->api->detach(s->nic);
	pthread_cond_destroy(&s->woken);
	pthread_mutex_destroy(&s->lock);
	assert_int_equal(s->faults, 0);
}

/* False: nobody woke it in time. */
static bool sleep_until_ended(struct sleeper *s, unsigned wanted)
{
	struct timespec end;
	bool in_time = true;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += LIMIT_S;
	while (in_time && s->ended < wanted) {
		pthread_mutex_lock(&s->lock);
		while (in_time && !s->is_woken)
			in_time = pthread_cond_timedwait(&s->woken, &s->lock, &end) == 0;
		s->is_woken = false;
		pthread_mutex_unlock(&s->lock);
		s->api->collect(s->nic, count, s);
	}
	return s->ended >= wanted;
}

static unsigned add(struct sleeper *s, uint64_t *word, uint64_t *found)
{
	struct rn_mem_atomic_req req = { .op = RN_MEM_FETCH_ADD,
					 .dst = kit_iova(word),
					 .operand = 1 };
	struct rn_mem_attr attr = { .qpn = KIT_QP };

	return s->api->mem->atomic(s->nic, &req, found, attr, 0) == RN_MEM_PENDING;
}

static unsigned fetch(struct sleeper *s, uint64_t *from, uint64_t *to)
{
	struct rn_mem_attr attr = { .qpn = KIT_QP };

	return s->api->mem->read(s->nic, to, kit_iova(from), 8, attr, 0) ==
	       RN_MEM_PENDING;
}

static void post(struct sleeper *s, uint64_t *to, uint64_t value, uint32_t flags)
{
	struct rn_mem_attr attr = { .qpn = KIT_QP, .flags = flags };

	assert_int_equal(s->api->mem->write(s->nic, kit_iova(to), &value, 8, attr),
			 RN_MEM_DONE);
}

/* ------------------------------------------------------------------ one NIC */
/* The second waits for the first one's lock, which lies inside the GPU. */
static void atomics_wait_for(const char *knobs, bool is_device)
{
	static uint64_t word[64] __attribute__((aligned(PAGE)));
	struct rn_host_region region;
	uint64_t found[ATOMICS], back;
	unsigned pending = 0;
	struct sleeper s;

	kit_host_knobs(knobs);
	if (is_device)
		kit_region_link(&region, word, sizeof(word));
	word[0] = 0;
	begin(&s);
	for (unsigned round = 0; round < ROUNDS; round++) {
		post(&s, &word[8], round, 0);
		for (unsigned i = 0; i < ATOMICS; i++)
			pending += add(&s, &word[0], &found[i]);
		pending += fetch(&s, &word[8], &back);
		assert_true(sleep_until_ended(&s, pending));
		assert_int_equal(back, round);
	}
	finish(&s);
	rn_pcie_drain();
	assert_int_equal(word[0], ROUNDS * ATOMICS);
	if (is_device)
		kit_region_unlink(&region);
}

static void reads_and_atomics(void **state)
{
	(void)state;
	for (unsigned device = 0; device < 2; device++) {
		atomics_wait_for("typical" KIT_STILL, device);
		atomics_wait_for("typical,gpu=none" KIT_STILL, device);
		atomics_wait_for("typical,gpu=none,driver=adversarial" KIT_STILL, device);
		atomics_wait_for("adversarial" KIT_STILL, device);
		atomics_wait_for("adversarial,atomic=pcie" KIT_STILL, device);
		atomics_wait_for("adversarial,driver=random" KIT_STILL, device);
	}
}

static bool seen_in_time(const uint64_t *word, uint64_t value)
{
	rn_ns end = rn_host_now() + RN_MSEC(LIMIT_S * 1000);

	while (kit_load(word) != value && rn_host_now() < end)
		sched_yield();
	return kit_load(word) == value;
}

/* The thread sleeps for as long as data may be held. */
static void await_sleep(void)
{
	struct rn_host *h = rn_host_get();
	bool is_asleep = false;

	while (!is_asleep) {
		rn_host_lock(h);
		is_asleep = h->bus_is_asleep;
		rn_host_unlock(h);
		sched_yield();
	}
}

static void a_completion_entry_wakes_the_thread(void **state)
{
	static const char *const knobs[] = { "adversarial" KIT_STILL, "typical" KIT_STILL,
					     "adversarial,hold=1000s,hold.polls=inf" };
	static uint64_t word[64] __attribute__((aligned(64)));
	struct sleeper s;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(knobs); i++) {
		kit_host_knobs(knobs[i]);
		memset(word, 0, sizeof(word));
		begin(&s);
		post(&s, &word[0], 1, 0);
		await_sleep();
		post(&s, &word[32], 1, RN_MEM_CQE);
		assert_true(seen_in_time(&word[32], 1));
		assert_int_equal(word[0], 1);
		finish(&s);
	}
}

/* A ring in device memory: the entry is not held inside the GPU. */
static void a_completion_entry_in_device_memory(void **state)
{
	static uint64_t word[512] __attribute__((aligned(PAGE)));
	struct rn_host_region region;
	struct sleeper s;

	(void)state;
	kit_host_knobs("adversarial" KIT_STILL);
	kit_region_link(&region, word, sizeof(word));
	begin(&s);
	post(&s, &word[0], 1, 0);
	post(&s, &word[32], 1, RN_MEM_CQE);
	assert_true(seen_in_time(&word[32], 1));
	finish(&s);
	kit_region_unlink(&region);
}

/* ------------------------------------------------ drives, kernels, streams at once */
struct disk {
	struct rn_storage_file *file;
	struct rn_gpu_buffer d;
	_Atomic unsigned kernels;
};

static void count_kernel(void *arg)
{
	struct disk *disk = arg;

	rn_gpu_load(disk->d.dev, 8);
	atomic_fetch_add(&disk->kernels, 1);
}

static int empty_file(void)
{
	int fd = memfd_create("inf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 16 * (off_t)PAGE), 0);
	return fd;
}

static void *work_of_the_nic(void *arg)
{
	static uint64_t word[16] __attribute__((aligned(64)));
	struct sleeper *s = arg;
	unsigned pending = 0;
	uint64_t found[2];

	for (unsigned i = 0; i < ROUNDS; i++) {
		pending += add(s, &word[0], &found[0]);
		pending += fetch(s, &word[8], &found[1]);
		if (!sleep_until_ended(s, pending))
			s->faults++;
	}
	return NULL;
}

static void together(const char *knobs)
{
	const size_t size = 4 * (size_t)PAGE;
	struct rn_storage_stream *stream;
	struct disk disk = { 0 };
	struct sleeper s;
	const off_t zero = 0;
	pthread_t nic;
	int fd = empty_file();
	ssize_t done = 0;

	kit_host_knobs(knobs);
	assert_int_equal(rn_storage_set_policy("direct,p2p,host"), 0);
	assert_int_equal(rn_storage_handle_register(&disk.file, fd), 0);
	close(fd);
	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), size, 0, &disk.d), 0);
	assert_int_equal(rn_storage_buffer_register(disk.d.bar, size), 0);
	assert_int_equal(rn_storage_stream_create(&stream), 0);
	begin(&s);
	assert_int_equal(pthread_create(&nic, NULL, work_of_the_nic, &s), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		rn_storage_read_async(disk.file, disk.d.bar, &size, &zero, &zero, &done,
				      stream);
		rn_storage_stream_launch(stream, rn_gpu_open(0), count_kernel, &disk);
		assert_int_equal(rn_storage_write(disk.file, disk.d.bar, size, 0, 0),
				 size);
		assert_int_equal(rn_storage_stream_synchronize(stream), 0);
		assert_int_equal(done, size);
	}
	pthread_join(nic, NULL);
	finish(&s);
	assert_int_equal(disk.kernels, ROUNDS);
	rn_storage_stream_destroy(stream);
	assert_int_equal(rn_storage_buffer_deregister(disk.d.bar), 0);
	assert_int_equal(rn_gpu_free(disk.d.bar), 0);
	rn_storage_handle_deregister(disk.file);
	assert_int_equal(rn_storage_driver_close(), 0);
}

static void everybody_waits(void **state)
{
	(void)state;
	together("typical" KIT_STILL);
	together("typical,gpu=none,driver=adversarial" KIT_STILL);
	together("adversarial" KIT_STILL);
	together("adversarial,driver=random,seed=3" KIT_STILL);
}

/* A front end that looks at its own memory lets time pass, as a kernel does. */
static void *ring_flag(void *arg)
{
	uint32_t *flag = arg;

	assert_int_equal(rn_gpu_wait_value32(rn_gpu_open(0), flag, 1, RN_GPU_WAIT_EQ,
					     LIMIT_S * 1000),
			 0);
	return NULL;
}

static void a_front_end_lets_time_pass(void **state)
{
	struct rn_gpu_buffer d;
	pthread_t waiter;
	struct sleeper s;

	(void)state;
	kit_host_knobs("typical" KIT_STILL);
	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), PAGE, 0, &d), 0);
	begin(&s);
	assert_int_equal(pthread_create(&waiter, NULL, ring_flag, d.dev), 0);
	post(&s, d.bar, 1, 0);
	pthread_join(waiter, NULL);
	finish(&s);
	assert_int_equal(rn_gpu_free(d.bar), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_atomics),
		cmocka_unit_test(a_completion_entry_wakes_the_thread),
		cmocka_unit_test(a_completion_entry_in_device_memory),
		cmocka_unit_test(everybody_waits),
		cmocka_unit_test(a_front_end_lets_time_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
