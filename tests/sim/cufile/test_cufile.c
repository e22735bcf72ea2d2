/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cufile.c - routes, limits, streams, batches and statistics of libcufile, beyond
 * what cufile_calls.c asks of any cuFile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocin/gpu.h"
#include "rocin/storage.h"
#include "sim/cufile/internal.h"
#include "tests/sim/pcie/storage/storage_kit.h"

static char dir[] = "/tmp/cufile-test-XXXXXX", json[64], log_path[64];

/* Opens the driver with these settings, and an empty log. */
static void open_with(const char *text)
{
	FILE *f = fopen(json, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	unlink(log_path);
	assert_int_equal(cuFileDriverOpen().err, 0);
}

static void close_driver(void)
{
	assert_int_equal(cuFileDriverClose().err, 0);
	assert_int_equal(cuFileUseCount(), 0);
	assert_false(rn_cufile.has_storage);
}

static void assert_logged(const char *words)
{
	char text[16384] = "";
	FILE *f = fopen(log_path, "r");

	if (f) {
		(void)!fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	if (!strstr(text, words))
		fail_msg("\"%s\" is not in the log: %s", words, text);
}

static CUfileHandle_t handle_of(int fd)
{
	CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD, .handle.fd = fd };
	CUfileHandle_t fh = NULL;

	assert_int_equal(cuFileHandleRegister(&fh, &d).err, 0);
	return fh;
}

static struct rn_gpu_buffer memory(int gpu, size_t len)
{
	struct rn_gpu_buffer b;

	assert_int_equal(rn_gpu_alloc(rn_gpu_open(gpu), len, 0, &b), 0);
	return b;
}

static void transfers_take_the_routes_of_the_settings(void **state)
{
	static const struct {
		const char *json, *near, *links;
		enum rn_storage_way way;
		ssize_t result;
	} cases[] = {
		{ "{}", "nvme0=gpu0", "", RN_STORAGE_DIRECT, KIT_PAGE },
		{ "{}", "nvme0=gpu1", "", RN_STORAGE_P2P, KIT_PAGE },
		{ "{\"properties\":{\"force_compat_mode\":true}}", "nvme0=gpu0", "",
		  RN_STORAGE_HOST, KIT_PAGE },
		{ "{\"properties\":{\"rdma_dynamic_routing\":true}}", "nvme0=gpu1",
		  "gpu0-gpu1", RN_STORAGE_NVLINK, KIT_PAGE },
		{ "{\"properties\":{\"rdma_dynamic_routing\":true}}", "nvme0=gpu1", "",
		  RN_STORAGE_GPU, KIT_PAGE },
		{ "{\"properties\":{\"rdma_dynamic_routing\":true}}", "", "",
		  RN_STORAGE_HOST, KIT_PAGE },
		{ "{\"properties\":{\"rdma_dynamic_routing\":true,"
		  "\"allow_compat_mode\":false,\"rdma_dynamic_routing_order\":"
		  "[\"GPU_MEM\"]}}",
		  "", "", RN_STORAGE_HOST, -1 },
	};

	(void)state;
	kit_host_knobs("typical,rc.p2p=split");
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct rn_gpu_buffer b = memory(0, KIT_PAGE);
		struct rn_storage_properties p;
		CUfileHandle_t fh;
		uint64_t by_way[RN_STORAGE_WAY_COUNT];

		open_with(cases[i].json);
		assert_int_equal(rn_storage_set_near(cases[i].near), 0);
		assert_int_equal(rn_storage_set_nvlinks(cases[i].links), 0);
		fh = handle_of(kit_fd(1));
		assert_int_equal(cuFileBufRegister(b.bar, b.len, 0).err, 0);
		errno = 0;
		if (cuFileRead(fh, b.bar, KIT_PAGE, 0, 0) != cases[i].result)
			fail_msg("case %u: errno %d", i, errno);
		assert_int_equal(rn_storage_driver_properties(&p), 0);
		by_way[RN_STORAGE_DIRECT] = p.direct;
		by_way[RN_STORAGE_GPU] = p.gpu;
		by_way[RN_STORAGE_HOST] = p.host;
		by_way[RN_STORAGE_P2P] = p.p2p;
		by_way[RN_STORAGE_NVLINK] = p.nvlink;
		if (cases[i].result > 0)
			assert_int_equal(by_way[cases[i].way], 1);
		else
			assert_int_equal(errno, CU_FILE_IO_NOT_SUPPORTED);
		close_driver();
		assert_int_equal(rn_gpu_free(b.bar), 0);
	}
	kit_host_knobs("typical");
}

static void denied_files_go_by_posix_or_not_at_all(void **state)
{
	char text[256];
	CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
	CUfileHandle_t fh = NULL;
	struct rn_gpu_buffer b = memory(0, KIT_PAGE);
	struct rn_storage_properties p;

	(void)state;
	snprintf(text, sizeof(text),
		 "{\"denylist\":{\"mounts\":[\"/\"]},\"properties\":"
		 "{\"allow_compat_mode\":false}}");
	open_with(text);
	d.handle.fd = kit_fd(1);
	assert_int_equal(cuFileHandleRegister(&fh, &d).err, CU_FILE_IO_DISABLED);
	assert_logged("denylist");
	close_driver();
	open_with("{\"denylist\":{\"mounts\":[\"/\"]}}");
	assert_int_equal(cuFileHandleRegister(&fh, &d).err, 0);
	assert_int_equal(cuFileBufRegister(b.bar, b.len, 0).err, 0);
	assert_int_equal(cuFileRead(fh, b.bar, KIT_PAGE, 0, 0), KIT_PAGE);
	assert_int_equal(rn_storage_driver_properties(&p), 0);
	assert_int_equal(p.host, 1);
	close_driver();
	close(d.handle.fd);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void pinned_memory_has_a_limit(void **state)
{
	struct rn_gpu_buffer b = memory(0, 256 * KIT_PAGE), c = memory(1, KIT_PAGE);

	(void)state;
	open_with("{\"properties\":{\"max_device_pinned_mem_size_kb\":512}}");
	assert_int_equal(cuFileBufRegister(b.bar, b.len, 0).err,
			 CU_FILE_INVALID_MAPPING_SIZE);
	assert_logged("max_device_pinned_mem_size_kb is 512");
	assert_int_equal(cuFileBufRegister(b.bar, 128 * KIT_PAGE, 0).err, 0);
	assert_int_equal(
		cuFileBufRegister((char *)b.bar + 128 * KIT_PAGE, KIT_PAGE, 0).err,
		CU_FILE_INVALID_MAPPING_SIZE);
	/* Within a registered buffer, and in another GPU, there is room. */
	assert_int_equal(cuFileBufRegister((char *)b.bar + KIT_PAGE, KIT_PAGE, 0).err, 0);
	assert_int_equal(cuFileBufRegister(c.bar, c.len, 0).err, 0);
	assert_int_equal(cuFileBufDeregister(b.bar).err, 0);
	assert_int_equal(
		cuFileBufRegister((char *)b.bar + 128 * KIT_PAGE, KIT_PAGE, 0).err, 0);
	close_driver();
	assert_int_equal(rn_gpu_free(b.bar), 0);
	assert_int_equal(rn_gpu_free(c.bar), 0);
}

static void wrong_settings_are_told_in_the_log(void **state)
{
	(void)state;
	open_with("{\"properties\":{\"max_direct_io_size_kb\":7}}");
	assert_logged("properties.max_direct_io_size_kb");
	close_driver();
	{
		FILE *f = fopen(json, "w");

		fputs("{ no json", f);
		fclose(f);
		unlink(log_path);
	}
	assert_int_equal(cuFileDriverOpen().err, CU_FILE_INVALID_VALUE);
	assert_logged("line 1");
	assert_int_equal(cuFileUseCount(), 0);
	assert_int_equal(cuFileRead((void *)&dir, NULL, 1, 0, 0), -1);
	assert_int_equal(errno, CU_FILE_HANDLE_NOT_REGISTERED);
}

static void handles_of_no_file_are_errors(void **state)
{
	int on_stack = 7;
	size_t size = 1;
	off_t offset = 0;
	ssize_t done = 0;
	CUfileHandle_t fh;
	CUfileIOEvents_t event;
	unsigned nr = 1;

	(void)state;
	open_with("{}");
	fh = handle_of(kit_fd(1));
	cuFileHandleDeregister(fh);
	for (unsigned i = 0; i < 2; i++) {
		CUfileHandle_t wrong = i == 0 ? fh : (CUfileHandle_t)&on_stack;

		assert_int_equal(cuFileRead(wrong, &on_stack, 4, 0, 0), -1);
		assert_int_equal(errno, CU_FILE_HANDLE_NOT_REGISTERED);
		assert_int_equal(cuFileWrite(wrong, &on_stack, 4, 0, 0), -1);
		cuFileHandleDeregister(wrong);
		assert_int_equal(cuFileReadAsync(wrong, &on_stack, &size, &offset,
						 &offset, &done, NULL)
					 .err,
				 CU_FILE_INVALID_VALUE);
		assert_int_equal(cuFileBatchIOCancel(wrong).err, CU_FILE_INVALID_VALUE);
		assert_int_equal(cuFileBatchIOGetStatus(wrong, 0, &nr, &event, NULL).err,
				 CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR);
		cuFileBatchIODestroy(wrong);
	}
	assert_logged("is no registered file");
	close_driver();
}

/* Without CUDA a pointer is the name of a stream, and deregistering awaits its end. */
static void streams_keep_their_order(void **state)
{
	struct rn_gpu_buffer b = memory(0, 8 * KIT_PAGE);
	CUstream stream = (CUstream)&dir;
	size_t size[8];
	off_t from[8], to[8];
	ssize_t done[8];
	CUfileHandle_t fh, other;
	int fd;

	(void)state;
	open_with("{}");
	fh = handle_of(kit_fd(1));
	fd = kit_fd(2);
	other = handle_of(fd);
	assert_int_equal(cuFileStreamRegister(stream, 0).err, 0);
	assert_int_equal(cuFileStreamRegister(stream, 0).err, CU_FILE_INVALID_VALUE);
	assert_int_equal(cuFileBufRegister(b.bar, b.len, 0).err, 0);
	/* Each write sees the read before it: the pages of file 1 end up in file 2. */
	for (unsigned i = 0; i < 8; i += 2) {
		size[i] = size[i + 1] = KIT_PAGE;
		from[i] = (off_t)i * KIT_PAGE;
		from[i + 1] = from[i];
		to[i] = to[i + 1] = 0;
		assert_int_equal(cuFileReadAsync(fh, b.bar, &size[i], &from[i], &to[i],
						 &done[i], stream)
					 .err,
				 0);
		assert_int_equal(cuFileWriteAsync(other, b.bar, &size[i + 1],
						  &from[i + 1], &to[i + 1], &done[i + 1],
						  stream)
					 .err,
				 0);
	}
	assert_int_equal(cuFileStreamDeregister(stream).err, 0);
	for (unsigned i = 0; i < 8; i++) {
		uint8_t page[KIT_PAGE];

		assert_int_equal(done[i], KIT_PAGE);
		assert_int_equal(pread(fd, page, KIT_PAGE, from[i]), KIT_PAGE);
		assert_int_equal(kit_wrong(page, KIT_PAGE, 1, (uint64_t)from[i]), -1);
	}
	/* What is fixed when an operation is queued may change afterwards. */
	assert_int_equal(cuFileStreamRegister(stream, 7).err, 0);
	from[0] = 3 * KIT_PAGE;
	assert_int_equal(
		cuFileReadAsync(fh, b.bar, &size[0], &from[0], &to[0], &done[0], stream)
			.err,
		0);
	size[0] = 1;
	from[0] = -1;
	to[0] = 1;
	assert_int_equal(cuFileStreamDeregister(stream).err, 0);
	assert_int_equal(done[0], KIT_PAGE);
	/* An error of cuFile is its number, one of the file -1. */
	assert_int_equal(
		cuFileReadAsync(fh, b.bar, &size[0], &from[0], &to[0], &done[0], NULL)
			.err,
		0);
	assert_int_equal(done[0], -CU_FILE_INVALID_VALUE);
	close_driver();
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void batches_are_cancelled_and_end_with_the_driver(void **state)
{
	struct rn_gpu_buffer b = memory(0, 8 * KIT_PAGE);
	CUfileIOParams_t p[8] = { 0 };
	CUfileIOEvents_t events[8];
	CUfileBatchHandle_t batch = NULL, left = NULL;
	unsigned nr = 8, canceled = 0;
	CUfileHandle_t fh;

	(void)state;
	open_with("{\"properties\":{\"io_batchsize\":8}}");
	fh = handle_of(kit_fd(1));
	assert_int_equal(cuFileBatchIOSetUp(&batch, 9).err, CU_FILE_INVALID_VALUE);
	assert_int_equal(cuFileBatchIOSetUp(&batch, 8).err, 0);
	assert_int_equal(cuFileBatchIOSetUp(&left, 8).err, 0);
	for (unsigned i = 0; i < 8; i++) {
		p[i].mode = CUFILE_BATCH;
		p[i].fh = fh;
		p[i].cookie = &p[i];
		p[i].u.batch.devPtr_base = b.bar;
		p[i].u.batch.devPtr_offset = (off_t)i * KIT_PAGE;
		p[i].u.batch.file_offset = (off_t)i * KIT_PAGE;
		p[i].u.batch.size = KIT_PAGE;
	}
	kit_slow_drives();
	assert_int_equal(cuFileBatchIOSubmit(batch, 8, p, 0).err, 0);
	sem_wait(&kit_begun);
	assert_int_equal(cuFileBatchIOSubmit(batch, 1, p, 0).err,
			 CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	assert_logged("the batch is full");
	assert_int_equal(cuFileBatchIOCancel(batch).err, 0);
	sem_post(&kit_go_on);
	assert_int_equal(cuFileBatchIOGetStatus(batch, 8, &nr, events, NULL).err, 0);
	kit_quick_drives();
	assert_int_equal(nr, 8);
	for (unsigned i = 0; i < nr; i++) {
		assert_true(events[i].status == CUFILE_CANCELED ||
			    events[i].status == CUFILE_COMPLETE);
		canceled += events[i].status == CUFILE_CANCELED;
	}
	assert_true(canceled >= 7);
	/* One bad entry, and none is started. */
	p[3].u.batch.size = 9 * KIT_PAGE;
	assert_int_equal(cuFileBatchIOSubmit(left, 8, p, 0).err,
			 CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR);
	nr = 8;
	assert_int_equal(
		cuFileBatchIOGetStatus(left, 0, &nr, events, &(struct timespec){ 0, 0 })
			.err,
		0);
	assert_int_equal(nr, 0);
	p[3].u.batch.size = KIT_PAGE;
	assert_int_equal(cuFileBatchIOSubmit(left, 8, p, 0).err, 0);
	close_driver();
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void statistics_are_kept_by_level(void **state)
{
	struct rn_gpu_buffer b = memory(2, 4 * KIT_PAGE);
	CUfileStatsLevel3_t s;
	const struct rn_cufile_page *page;
	CUfileHandle_t fh;

	(void)state;
	open_with("{\"profile\":{\"cufile_stats\":3}}");
	fh = handle_of(kit_fd(1));
	assert_int_equal(cuFileBufRegister(b.bar, b.len, 0).err, 0);
	assert_int_equal(cuFileRead(fh, b.bar, 4 * KIT_PAGE, 0, 0), 4 * KIT_PAGE);
	assert_int_equal(cuFileRead(fh, b.bar, KIT_PAGE, -1, 0), -1);
	assert_int_equal(cuFileGetStatsL3(&s).err, 0);
	assert_int_equal(s.detailed.basic.read_ops.ok, 1);
	assert_int_equal(s.detailed.basic.read_ops.err, 1);
	assert_int_equal(s.detailed.basic.read_bytes, 4 * KIT_PAGE);
	assert_int_equal(s.detailed.basic.hdl_register_ops.ok, 1);
	assert_int_equal(s.detailed.read_size_kb_hist[3], 1);
	assert_int_equal(s.per_gpu_stats[2].n_total_reads, 2);
	assert_int_equal(s.per_gpu_stats[2].n_reads_err, 1);
	assert_int_equal(s.per_gpu_stats[2].reg_bytes, b.len);
	assert_int_equal(s.num_gpus, rn_gpu_count());
	page = rn_cufile_page();
	assert_int_equal(page->magic, RN_CUFILE_PAGE_MAGIC);
	assert_int_equal(page->pid, getpid());
	assert_int_equal(page->ways[RN_STORAGE_DIRECT], 1);
	assert_int_equal(cuFileStatsReset().err, 0);
	assert_int_equal(cuFileStatsStop().err, 0);
	assert_int_equal(cuFileRead(fh, b.bar, KIT_PAGE, 0, 0), KIT_PAGE);
	assert_int_equal(cuFileGetStatsL3(&s).err, 0);
	assert_int_equal(s.detailed.basic.read_ops.ok, 0);
	close_driver();
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void a_forked_child_is_refused(void **state)
{
	CUfileHandle_t fh;
	int status;
	pid_t pid;

	(void)state;
	open_with("{}");
	fh = handle_of(kit_fd(1));
	pid = fork();
	if (pid == 0) {
		char byte;
		int level;
		bool is_right =
			cuFileDriverOpen().err == CU_FILE_DRIVER_NOT_INITIALIZED &&
			cuFileRead(fh, &byte, 1, 0, 0) == -1 &&
			cuFileDriverClose().err == CU_FILE_DRIVER_NOT_INITIALIZED &&
			cuFileBufRegister(&byte, 1, 0).err ==
				CU_FILE_DRIVER_NOT_INITIALIZED &&
			cuFileGetStatsLevel(&level).err == 0;

		cuFileHandleDeregister(fh);
		_exit(is_right ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close_driver();
}

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return 1;
	snprintf(json, sizeof(json), "%s/cufile.json", dir);
	snprintf(log_path, sizeof(log_path), "%s/cufile.log", dir);
	setenv("CUFILE_ENV_PATH_JSON", json, 1);
	setenv("CUFILE_LOGFILE_PATH", log_path, 1);
	setenv("ROCIN_RUNTIME_DIR", dir, 1);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(json);
	unlink(log_path);
	unsetenv("CUFILE_ENV_PATH_JSON");
	unsetenv("CUFILE_LOGFILE_PATH");
	unsetenv("ROCIN_RUNTIME_DIR");
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transfers_take_the_routes_of_the_settings),
		cmocka_unit_test(denied_files_go_by_posix_or_not_at_all),
		cmocka_unit_test(pinned_memory_has_a_limit),
		cmocka_unit_test(wrong_settings_are_told_in_the_log),
		cmocka_unit_test(handles_of_no_file_are_errors),
		cmocka_unit_test(streams_keep_their_order),
		cmocka_unit_test(batches_are_cancelled_and_end_with_the_driver),
		cmocka_unit_test(statistics_are_kept_by_level),
		cmocka_unit_test(a_forked_child_is_refused),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
