/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cufile_cuda.c - asynchronous transfers in streams of a CUDA library, whose place
 * this program takes: it exports cuLaunchHostFunc() and cuStreamSynchronize().
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "rocin/gpu.h"
#include "sim/cufile/internal.h"
#include "tests/sim/pcie/storage/storage_kit.h"

enum {
	WAITING_MAX = 4,
	CUDA_ERROR_INVALID_HANDLE = 400,
};

static struct {
	CUstream stream;
	void (*fn)(void *arg);
	void *arg;
} waiting[WAITING_MAX];
static unsigned count;
static CUresult answer;

CUresult cuLaunchHostFunc(CUstream stream, void (*fn)(void *arg), void *arg);
CUresult cuStreamSynchronize(CUstream stream);

__attribute__((visibility("default"))) CUresult
cuLaunchHostFunc(CUstream stream, void (*fn)(void *arg), void *arg)
{
	if (answer)
		return answer;
	assert_true(count < WAITING_MAX);
	waiting[count].stream = stream;
	waiting[count].fn = fn;
	waiting[count++].arg = arg;
	return 0;
}

__attribute__((visibility("default"))) CUresult cuStreamSynchronize(CUstream stream)
{
	for (unsigned i = 0; i < count; i++)
		if (waiting[i].stream == stream && waiting[i].fn) {
			waiting[i].fn(waiting[i].arg);
			waiting[i].fn = NULL;
		}
	return 0;
}

static CUfileHandle_t file(void)
{
	CUfileDescr_t d = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD,
			    .handle.fd = kit_fd(1) };
	CUfileHandle_t fh = NULL;

	assert_int_equal(cuFileHandleRegister(&fh, &d).err, 0);
	close(d.handle.fd);
	return fh;
}

static void a_transfer_is_a_host_function_of_its_stream(void **state)
{
	CUstream stream = (CUstream)&count;
	CUfileHandle_t fh = file();
	struct rn_gpu_buffer b;
	size_t size = 0;
	off_t from = KIT_PAGE, to = 0;
	ssize_t done = 0;

	(void)state;
	count = 0;
	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), KIT_PAGE, 0, &b), 0);
	assert_int_equal(cuFileBufRegister(b.bar, b.len, 0).err, 0);
	assert_int_equal(cuFileReadAsync(fh, b.bar, &size, &from, &to, &done, stream).err,
			 0);
	assert_int_equal(count, 1);
	assert_ptr_equal(waiting[0].stream, stream);
	assert_int_equal(done, 0);
	/* The size is looked at when the operation begins. The file outlives its handle.
	 */
	size = KIT_PAGE;
	cuFileHandleDeregister(fh);
	assert_int_equal(cuStreamSynchronize(stream), 0);
	assert_int_equal(done, KIT_PAGE);
	assert_int_equal(kit_wrong(b.bar, KIT_PAGE, 1, KIT_PAGE), -1);
	assert_int_equal(cuFileDriverClose().err, 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void the_default_stream_is_a_stream_of_cuda(void **state)
{
	CUfileHandle_t fh = file();
	char page[KIT_PAGE];
	size_t size = KIT_PAGE;
	off_t zero = 0;
	ssize_t done = 0;

	(void)state;
	count = 0;
	assert_int_equal(cuFileReadAsync(fh, page, &size, &zero, &zero, &done, NULL).err,
			 0);
	assert_int_equal(done, 0);
	/* The driver closes behind what is in registered streams. */
	assert_int_equal(cuFileStreamRegister(NULL, 0).err, 0);
	assert_int_equal(cuFileDriverClose().err, 0);
	assert_int_equal(done, KIT_PAGE);
}

static void an_error_of_cuda_is_passed_on(void **state)
{
	CUfileHandle_t fh = file();
	char page[KIT_PAGE];
	size_t size = KIT_PAGE;
	off_t zero = 0;
	ssize_t done = 0;
	CUfileError_t e;

	(void)state;
	answer = CUDA_ERROR_INVALID_HANDLE;
	e = cuFileReadAsync(fh, page, &size, &zero, &zero, &done, (CUstream)&count);
	answer = 0;
	assert_int_equal(e.err, CU_FILE_CUDA_DRIVER_ERROR);
	assert_int_equal(e.cu_err, CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuFileDriverClose().err, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_transfer_is_a_host_function_of_its_stream),
		cmocka_unit_test(the_default_stream_is_a_stream_of_cuda),
		cmocka_unit_test(an_error_of_cuda_is_passed_on),
	};

	setenv("CUFILE_LOGFILE_PATH", "/dev/null", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
