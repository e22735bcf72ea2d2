/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_storage_drive.c - the queue of a drive, its completion ring, and TLPs that fail.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/pcie/gpu/gpu_internal.h"
#include "sim/pcie/storage/storage_internal.h"
#include "storage_kit.h"

enum {
	IDS = 1024,    /* commands that are told apart at one drive */
	ENTRIES = 256, /* of a completion ring */
	BATCHES = 3,
	BATCH = 100,
};

static uint8_t host[2 * KIT_PAGE] __attribute__((aligned(4096)));
static struct rn_storage_file *file;
static struct rn_gpu_buffer b;

static int set_up(void **state)
{
	(void)state;
	kit_host_knobs("typical");
	file = kit_file(1);
	assert_int_equal(rn_storage_set_policy("direct,p2p"), 0);
	assert_int_equal(rn_storage_buffer_register(host, sizeof(host)), 0);
	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), KIT_PAGE, 0, &b), 0);
	assert_int_equal(rn_storage_buffer_register(b.bar, KIT_PAGE), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(rn_storage_buffer_deregister(b.bar), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	assert_int_equal(rn_storage_buffer_deregister(host), 0);
	rn_storage_handle_deregister(file);
	kit_close();
	return 0;
}

static struct rn_storage_batch *submit(struct rn_storage_io io, unsigned count)
{
	struct rn_storage_io ios[BATCH];
	struct rn_storage_batch *batch;

	for (unsigned i = 0; i < count; i++)
		ios[i] = io;
	assert_int_equal(rn_storage_batch_setup(&batch, count), 0);
	assert_int_equal(rn_storage_batch_submit(batch, count, ios), 0);
	return batch;
}

/* All of the batch have ended so. */
static void assert_ended(struct rn_storage_batch *batch, unsigned count,
			 enum rn_storage_status status, ssize_t result)
{
	struct rn_storage_event events[BATCH];

	assert_int_equal(rn_storage_batch_status(batch, count, count, events, -1), count);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(events[i].status, status);
		assert_int_equal(events[i].result, result);
	}
	rn_storage_batch_destroy(batch);
}

static uint64_t faults(void)
{
	struct rn_storage_properties p;

	assert_int_equal(rn_storage_driver_properties(&p), 0);
	return p.faults;
}

/* ----------------------------------------------------------------- the queue */
/* The last of the queue is taken back: the next one goes behind what is then the last. */
static void what_follows_a_cancelled_command_runs(void **state)
{
	struct rn_storage_batch *first, *second, *third;
	struct rn_storage_event event;

	(void)state;
	kit_slow_drives();
	first = submit(kit_page_io(file, host, 0), 1);
	sem_wait(&kit_begun);
	second = submit(kit_page_io(file, host, 1), 1);
	assert_int_equal(rn_storage_batch_cancel(second), 1);
	third = submit(kit_page_io(file, host, 1), 1);
	sem_post(&kit_go_on);
	sem_post(&kit_go_on);
	assert_ended(first, 1, RN_STORAGE_COMPLETE, KIT_PAGE);
	assert_ended(third, 1, RN_STORAGE_COMPLETE, KIT_PAGE);
	assert_int_equal(rn_storage_batch_status(second, 1, 1, &event, -1), 1);
	assert_int_equal(event.status, RN_STORAGE_CANCELED);
	rn_storage_batch_destroy(second);
	kit_quick_drives();
	assert_int_equal(kit_wrong(host, sizeof(host), 1, 0), -1);
}

/* ------------------------------------------------------------------ the ring */
static sem_t reads;

static ssize_t counted_read(int fd, void *buf, size_t len, off_t offset)
{
	sem_post(&reads);
	return pread(fd, buf, len, offset);
}

/* More commands end than there are entries, and nobody takes any: the drive waits. */
static void a_full_ring_makes_the_drive_wait(void **state)
{
	const struct rn_drive_backing real = rn_drive_backing;
	struct rn_storage_batch *batch[BATCHES];
	int begun;

	(void)state;
	sem_init(&reads, 0, 0);
	rn_drive_backing.read = counted_read;
	for (unsigned i = 0; i < BATCHES; i++)
		batch[i] = submit(kit_page_io(file, host, 0), BATCH);
	for (unsigned i = 0; i < ENTRIES + 1; i++)
		while (sem_wait(&reads) != 0)
			;
	/* It has begun one that it has no entry for, and no other. */
	for (unsigned i = 0; i < 1000; i++)
		sched_yield();
	assert_int_equal(sem_getvalue(&reads, &begun), 0);
	assert_int_equal(begun, 0);
	for (unsigned i = 0; i < BATCHES; i++)
		assert_ended(batch[i], BATCH, RN_STORAGE_COMPLETE, KIT_PAGE);
	rn_drive_backing = real;
	sem_destroy(&reads);
}

/* ------------------------------------------------------------------ the file */
static unsigned signals; /* that interrupt the next calls */

static ssize_t interrupted(void)
{
	signals--;
	errno = EINTR;
	return -1;
}

static ssize_t interrupted_read(int fd, void *buf, size_t len, off_t offset)
{
	return signals ? interrupted() : pread(fd, buf, len, offset);
}

static ssize_t interrupted_write(int fd, const void *buf, size_t len, off_t offset)
{
	return signals ? interrupted() : pwrite(fd, buf, len, offset);
}

static void a_signal_does_not_end_a_transfer(void **state)
{
	const struct rn_drive_backing real = rn_drive_backing;

	(void)state;
	rn_drive_backing.read = interrupted_read;
	rn_drive_backing.write = interrupted_write;
	signals = 2;
	assert_int_equal(rn_storage_read(file, host, sizeof(host), 0, 0), sizeof(host));
	assert_int_equal(signals, 0);
	assert_int_equal(kit_wrong(host, sizeof(host), 1, 0), -1);
	signals = 2;
	assert_int_equal(rn_storage_write(file, host, KIT_PAGE, KIT_PAGE, 0), KIT_PAGE);
	assert_int_equal(signals, 0);
	rn_drive_backing = real;
	assert_int_equal(rn_storage_read(file, host, KIT_PAGE, KIT_PAGE, KIT_PAGE),
			 KIT_PAGE);
	assert_memory_equal(host + KIT_PAGE, host, KIT_PAGE);
}

/* A file system may take less at a time than it is given. */
static ssize_t short_write(int fd, const void *buf, size_t len, off_t offset)
{
	return pwrite(fd, buf, len > 100 ? 100 : len, offset);
}

static ssize_t short_read(int fd, void *buf, size_t len, off_t offset)
{
	return pread(fd, buf, len > 100 ? 100 : len, offset);
}

static void a_file_may_move_less_at_a_time(void **state)
{
	const struct rn_drive_backing real = rn_drive_backing;

	(void)state;
	rn_drive_backing.read = short_read;
	rn_drive_backing.write = short_write;
	assert_int_equal(rn_storage_read(file, host, sizeof(host), 0, 0), sizeof(host));
	assert_int_equal(kit_wrong(host, sizeof(host), 1, 0), -1);
	assert_int_equal(rn_storage_write(file, host, KIT_PAGE, KIT_PAGE, 0), KIT_PAGE);
	rn_drive_backing = real;
	assert_int_equal(rn_storage_read(file, host, KIT_PAGE, KIT_PAGE, KIT_PAGE),
			 KIT_PAGE);
	assert_memory_equal(host + KIT_PAGE, host, KIT_PAGE);
}

/* ------------------------------------------------------------------ the TLPs */
/* Data for a GPU is still on its way when its command has ended, and meets no memory when
 * another command has its place: that is no fault of the other one.
 */
static void a_late_fault_is_no_fault_of_the_next_command(void **state)
{
	void *engine = b.gpu->engine + ((char *)b.bar - b.gpu->bar);
	struct rn_storage_batch *batch;
	uint64_t before;

	(void)state;
	kit_host_knobs(KIT_STUCK);
	assert_int_equal(rn_storage_read(file, b.bar, KIT_PAGE, 0, 0), KIT_PAGE);
	for (unsigned i = 1; i < IDS; i++)
		assert_int_equal(rn_storage_read(file, host, KIT_PAGE, 0, 0), KIT_PAGE);
	assert_int_equal(rn_pcie_pending(b.bar, KIT_PAGE), KIT_PAGE);
	kit_slow_drives();
	batch = submit(kit_page_io(file, host, 0), 1);
	sem_wait(&kit_begun);

	before = faults();
	assert_int_equal(mprotect(engine, KIT_PAGE, PROT_NONE), 0);
	rn_pcie_drain();
	assert_int_equal(mprotect(engine, KIT_PAGE, PROT_READ | PROT_WRITE), 0);
	assert_true(faults() > before);
	sem_post(&kit_go_on);
	assert_ended(batch, 1, RN_STORAGE_COMPLETE, KIT_PAGE);
	kit_quick_drives();
}

/* The way to the memory is closed after the transfer has begun: nobody waits for the
 * answer to a read that could not be sent.
 */
static void a_read_that_cannot_be_sent_ends_its_command(void **state)
{
	struct rn_storage_batch *first, *second;
	struct rn_storage_io io = kit_page_io(file, b.bar, 0);

	(void)state;
	io.op = RN_STORAGE_WRITE;
	kit_host_knobs("typical,rc.p2p=split");
	kit_slow_drives();
	first = submit(kit_page_io(file, host, 0), 1);
	sem_wait(&kit_begun);
	second = submit(io, 1);
	kit_host_knobs("typical,rc.p2p=deny");
	sem_post(&kit_go_on);
	assert_ended(first, 1, RN_STORAGE_COMPLETE, KIT_PAGE);
	assert_ended(second, 1, RN_STORAGE_FAILED, -EHOSTUNREACH);
	kit_quick_drives();
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_follows_a_cancelled_command_runs),
		T(a_full_ring_makes_the_drive_wait),
		T(a_signal_does_not_end_a_transfer),
		T(a_file_may_move_less_at_a_time),
		T(a_late_fault_is_no_fault_of_the_next_command),
		T(a_read_that_cannot_be_sent_ends_its_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
