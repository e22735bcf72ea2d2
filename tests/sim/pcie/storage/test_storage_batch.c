/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_storage_batch.c - many transfers: what is reported, cancelled, taken when. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sim/pcie/storage/storage_internal.h"
#include "storage_kit.h"

enum {
	COUNT = 24,
};

static void batches_report_each_once(void **state)
{
	static uint8_t host[COUNT * KIT_PAGE] __attribute__((aligned(4096)));
	struct rn_storage_file *file;
	struct rn_storage_batch *batch = NULL;
	struct rn_storage_io ios[COUNT];
	struct rn_storage_event events[COUNT];
	unsigned seen[COUNT] = { 0 }, reported = 0;

	(void)state;
	kit_host_knobs("typical");
	file = kit_file(1);
	assert_int_equal(rn_storage_buffer_register(host, sizeof(host)), 0);
	assert_int_equal(rn_storage_batch_setup(&batch, 0), -EINVAL);
	assert_int_equal(rn_storage_batch_setup(&batch, RN_STORAGE_BATCH_MAX + 1),
			 -EINVAL);
	assert_int_equal(rn_storage_batch_setup(&batch, COUNT), 0);
	for (unsigned i = 0; i < COUNT; i++)
		ios[i] = kit_page_io(file, host, i);
	ios[5].size = 100; /* bounces */
	ios[7].file_offset = -1;
	ios[9].file_offset = KIT_FILE;
	ios[11].buf_offset = COUNT * KIT_PAGE;
	assert_int_equal(rn_storage_batch_submit(batch, 0, ios), -EINVAL);
	assert_int_equal(rn_storage_batch_submit(batch, COUNT, ios), 0);
	assert_int_equal(rn_storage_batch_submit(batch, 1, ios), -EAGAIN);
	assert_int_equal(rn_storage_batch_status(batch, 2, 1, events, 0), -EINVAL);
	while (reported < COUNT) {
		int n = rn_storage_batch_status(batch, 1, 7, events, -1);

		assert_true(n >= 1 && n <= 7);
		for (int i = 0; i < n; i++) {
			unsigned at = (unsigned)((uint8_t *)events[i].cookie - host);
			bool bad = at == 7 || at == 11;

			assert_int_equal(seen[at]++, 0);
			assert_int_equal(events[i].status,
					 bad ? RN_STORAGE_INVALID : RN_STORAGE_COMPLETE);
			assert_int_equal(events[i].result, bad	     ? -EINVAL
							   : at == 9 ? 0
							   : at == 5 ? 100
								     : KIT_PAGE);
			if (at == 5)
				assert_int_equal(events[i].route.reason,
						 RN_STORAGE_UNALIGNED);
		}
		reported += (unsigned)n;
	}
	/* All there are have ended: no waiting, and the places are free. */
	assert_int_equal(rn_storage_batch_status(batch, 5, 5, events, -1), 0);
	assert_int_equal(rn_storage_batch_submit(batch, 1, ios), 0);
	assert_int_equal(rn_storage_batch_status(batch, 5, 5, events, -1), 1);
	assert_int_equal(kit_wrong(host, 5 * KIT_PAGE + 100, 1, 0), -1);
	assert_int_equal(kit_wrong(host + 12 * KIT_PAGE, 12 * KIT_PAGE, 1, 12 * KIT_PAGE),
			 -1);
	rn_storage_batch_destroy(batch);
	assert_int_equal(rn_storage_buffer_deregister(host), 0);
	rn_storage_handle_deregister(file);
	kit_close();
}

static void cancelled_is_what_has_not_begun(void **state)
{
	static uint8_t host[3 * KIT_PAGE] __attribute__((aligned(4096)));
	struct rn_storage_file *file;
	struct rn_storage_batch *batch;
	struct rn_storage_event events[3];
	enum rn_storage_status status;
	struct rn_storage_io ios[3];

	(void)state;
	kit_host_knobs("typical");
	kit_slow_drives();
	file = kit_file(1);
	memset(host, 0, sizeof(host));
	assert_int_equal(rn_storage_buffer_register(host, sizeof(host)), 0);
	assert_int_equal(rn_storage_batch_setup(&batch, 3), 0);
	for (unsigned i = 0; i < 3; i++)
		ios[i] = kit_page_io(file, host, i);
	assert_int_equal(rn_storage_batch_submit(batch, 3, ios), 0);
	sem_wait(&kit_begun);
	assert_int_equal(rn_storage_batch_peek(batch, host, &status), 0);
	assert_int_equal(status, RN_STORAGE_PENDING);
	assert_int_equal(rn_storage_batch_peek(batch, host + 1, &status), 0);
	assert_int_equal(status, RN_STORAGE_WAITING);
	assert_int_equal(rn_storage_batch_peek(batch, host + 9, &status), -ENOENT);
	assert_int_equal(rn_storage_batch_status(batch, 0, 3, events, 0), 0);
	assert_int_equal(rn_storage_batch_status(batch, 1, 3, events, 1000000), 0);
	assert_int_equal(rn_storage_buffer_deregister(host), -EBUSY);

	assert_int_equal(rn_storage_batch_cancel(batch), 3);
	assert_int_equal(rn_storage_batch_peek(batch, host + 1, &status), 0);
	assert_int_equal(status, RN_STORAGE_CANCELED);
	sem_post(&kit_go_on);
	assert_int_equal(rn_storage_batch_status(batch, 3, 3, events, -1), 3);
	for (unsigned i = 0; i < 3; i++) {
		bool first = events[i].cookie == host;

		assert_int_equal(events[i].status,
				 first ? RN_STORAGE_COMPLETE : RN_STORAGE_CANCELED);
		assert_int_equal(events[i].result, first ? KIT_PAGE : -ECANCELED);
	}
	assert_int_equal(host[KIT_PAGE], 0);
	assert_int_equal(rn_storage_batch_cancel(batch), 0);
	kit_quick_drives();
	rn_storage_batch_destroy(batch);
	assert_int_equal(rn_storage_buffer_deregister(host), 0);
	rn_storage_handle_deregister(file);
	kit_close();
}

static void a_write_takes_its_bytes_when_its_turn_comes(void **state)
{
	static uint8_t host[2 * KIT_PAGE] __attribute__((aligned(4096)));
	struct rn_storage_file *file;
	struct rn_storage_batch *batch;
	struct rn_storage_event events[2];
	struct rn_storage_io ios[2];

	(void)state;
	kit_host_knobs("typical");
	kit_slow_drives();
	file = kit_file(1);
	memset(host, 'a', sizeof(host));
	assert_int_equal(rn_storage_buffer_register(host, sizeof(host)), 0);
	assert_int_equal(rn_storage_batch_setup(&batch, 2), 0);
	ios[0] = kit_page_io(file, host, 0);
	ios[1] = kit_page_io(file, host, 1);
	ios[1].op = RN_STORAGE_WRITE;
	assert_int_equal(rn_storage_batch_submit(batch, 2, ios), 0);
	sem_wait(&kit_begun);
	/* Too early: the drive has not read it yet. */
	memset(host + KIT_PAGE, 'b', KIT_PAGE);
	sem_post(&kit_go_on);
	assert_int_equal(rn_storage_batch_status(batch, 2, 2, events, -1), 2);
	assert_int_equal(events[0].status, RN_STORAGE_COMPLETE);
	assert_int_equal(events[1].status, RN_STORAGE_COMPLETE);
	kit_quick_drives();
	assert_int_equal(rn_storage_read(file, host, KIT_PAGE, KIT_PAGE, 0), KIT_PAGE);
	for (unsigned i = 0; i < KIT_PAGE; i++)
		assert_int_equal(host[i], 'b');
	rn_storage_batch_destroy(batch);
	assert_int_equal(rn_storage_buffer_deregister(host), 0);
	rn_storage_handle_deregister(file);
	kit_close();
}

static void memory_freed_under_way_is_noticed(void **state)
{
	struct rn_storage_properties p;
	struct rn_storage_file *file;
	struct rn_storage_batch *batch;
	struct rn_storage_event event;
	struct rn_gpu_buffer b;
	struct rn_storage_io io;

	(void)state;
	kit_host_knobs("typical");
	kit_slow_drives();
	file = kit_file(1);
	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), KIT_PAGE, 0, &b), 0);
	assert_int_equal(rn_storage_buffer_register(b.bar, KIT_PAGE), 0);
	assert_int_equal(rn_storage_batch_setup(&batch, 1), 0);
	io = kit_page_io(file, b.bar, 0);
	assert_int_equal(rn_storage_batch_submit(batch, 1, &io), 0);
	sem_wait(&kit_begun);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	sem_post(&kit_go_on);
	assert_int_equal(rn_storage_batch_status(batch, 1, 1, &event, -1), 1);
	/* Posted writes: the drive may have been done before the first of them failed. */
	if (event.status == RN_STORAGE_FAILED)
		assert_int_equal(event.result, -EFAULT);
	else
		assert_int_equal(event.status, RN_STORAGE_COMPLETE);
	rn_storage_settle();
	assert_int_equal(rn_storage_driver_properties(&p), 0);
	assert_true(p.faults > 0);
	kit_quick_drives();
	rn_storage_batch_destroy(batch);
	assert_int_equal(rn_storage_buffer_deregister(b.bar), 0);
	rn_storage_handle_deregister(file);
	kit_close();
}

static void long_transfers_stop_half_way(void **state)
{
	static uint8_t host[2 * RN_DRIVE_PIECE] __attribute__((aligned(4096)));
	struct rn_storage_file *file;
	struct rn_storage_batch *batch;
	struct rn_storage_event event;
	struct rn_storage_io io;

	(void)state;
	kit_host_knobs("typical");
	kit_slow_drives();
	file = kit_file(1);
	assert_int_equal(rn_storage_buffer_register(host, sizeof(host)), 0);
	assert_int_equal(rn_storage_batch_setup(&batch, 1), 0);
	io = kit_page_io(file, host, 0);
	io.size = sizeof(host);
	assert_int_equal(rn_storage_batch_submit(batch, 1, &io), 0);
	sem_wait(&kit_begun);
	assert_int_equal(rn_storage_batch_cancel(batch), 1);
	sem_post(&kit_go_on);
	assert_int_equal(rn_storage_batch_status(batch, 1, 1, &event, -1), 1);
	assert_int_equal(event.status, RN_STORAGE_CANCELED);
	assert_int_equal(event.result, -ECANCELED);
	/* Destroying one that is under way waits for it. */
	assert_int_equal(rn_storage_batch_submit(batch, 1, &io), 0);
	sem_post(&kit_go_on);
	sem_post(&kit_go_on);
	rn_storage_batch_destroy(batch);
	kit_quick_drives();
	assert_int_equal(rn_storage_buffer_deregister(host), 0);
	rn_storage_handle_deregister(file);
	kit_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_report_each_once),
		cmocka_unit_test(cancelled_is_what_has_not_begun),
		cmocka_unit_test(a_write_takes_its_bytes_when_its_turn_comes),
		cmocka_unit_test(memory_freed_under_way_is_noticed),
		cmocka_unit_test(long_transfers_stop_half_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
