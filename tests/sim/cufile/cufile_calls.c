/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cufile_calls.c - calls the API of cuFile, rightly and wrongly, and prints one line for
 * each call: what it is, and what came back.
 *
 * The program knows nothing of Rocin but where memory of a simulated GPU is allocated if
 * there is no libcuda.so.1, and loads all libraries at run time, so it runs on the
 * library of NVIDIA, too. cufile-calls.txt has what it prints on that of Rocin and, where
 * the same call was seen to give something else with cuFile 1.15.1, that behind it.
 *
 * usage: cufile_calls DIRECTORY	a directory in which files can be made
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocin/gpu.h"
#include "sim/cufile/cufile.h"

enum {
	KB = 1024,
	MB = 1024 * 1024,
};

/* The functions of the library, each in a variable of its name. */
/* clang-format off */
#define CALLS(X) \
	X(cuFileDriverOpen) X(cuFileDriverClose) \
	X(cuFileUseCount) X(cuFileDriverGetProperties) \
	X(cuFileDriverSetPollMode) X(cuFileDriverSetMaxDirectIOSize) \
	X(cuFileDriverSetMaxCacheSize) X(cuFileDriverSetMaxPinnedMemSize) \
	X(cuFileGetVersion) X(cuFileHandleRegister) \
	X(cuFileHandleDeregister) X(cuFileBufRegister) \
	X(cuFileBufDeregister) X(cuFileRead) \
	X(cuFileWrite) X(cuFileBatchIOSetUp) \
	X(cuFileBatchIOSubmit) X(cuFileBatchIOGetStatus) \
	X(cuFileBatchIOCancel) X(cuFileBatchIODestroy) \
	X(cuFileReadAsync) X(cuFileWriteAsync) \
	X(cuFileStreamRegister) X(cuFileStreamDeregister) \
	X(cuFileSetParameterSizeT) X(cuFileSetParameterBool) \
	X(cuFileSetParameterString) X(cuFileGetParameterSizeT) \
	X(cuFileGetParameterBool) X(cuFileGetParameterString) \
	X(cuFileGetParameterMinMaxValue) X(cuFileSetParameterPosixPoolSlabArray) \
	X(cuFileGetParameterPosixPoolSlabArray) X(cuFileGetBARSizeInKB) \
	X(cuFileSetStatsLevel) X(cuFileGetStatsLevel) \
	X(cuFileStatsStart) X(cuFileStatsStop) \
	X(cuFileStatsReset) X(cuFileGetStatsL1) \
	X(cuFileGetStatsL2) X(cuFileGetStatsL3)
/* clang-format on */
#define X(name) static __typeof__(name) *p_##name;
CALLS(X)
#undef X

/* ------------------------------------------------------------- memory of a GPU */
static int (*cu_alloc)(void **ptr, size_t bytes);
static int (*cu_free)(void *ptr);
static int (*cu_to_gpu)(void *gpu, const void *host, size_t bytes);
static int (*cu_from_gpu)(void *host, const void *gpu, size_t bytes);

static int sim_alloc(void **ptr, size_t bytes)
{
	static __typeof__(rn_gpu_open) *open_gpu;
	static __typeof__(rn_gpu_alloc) *alloc;
	struct rn_gpu_buffer buffer;

	if (!open_gpu) {
		open_gpu = (__typeof__(open_gpu))dlsym(RTLD_DEFAULT, "rn_gpu_open");
		alloc = (__typeof__(alloc))dlsym(RTLD_DEFAULT, "rn_gpu_alloc");
	}
	if (alloc(open_gpu(0), bytes, 0, &buffer))
		return 2;
	*ptr = buffer.bar;
	return 0;
}

static int sim_free(void *ptr)
{
	__typeof__(rn_gpu_free) *release =
		(__typeof__(release))dlsym(RTLD_DEFAULT, "rn_gpu_free");

	return release(ptr);
}

static int sim_to_gpu(void *gpu, const void *host, size_t bytes)
{
	memcpy(gpu, host, bytes);
	return 0;
}

static int sim_from_gpu(void *host, const void *gpu, size_t bytes)
{
	memcpy(host, gpu, bytes);
	return 0;
}

static void find_gpu(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	int (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int);
	int (*current)(void *);
	void *context = NULL;
	int device = 0;

	if (!cuda) {
		if (!dlopen("librocin-gpu.so.0", RTLD_NOW | RTLD_GLOBAL)) {
			fprintf(stderr, "%s\n", dlerror());
			exit(77);
		}
		cu_alloc = sim_alloc;
		cu_free = sim_free;
		cu_to_gpu = sim_to_gpu;
		cu_from_gpu = sim_from_gpu;
		return;
	}
	init = (__typeof__(init))dlsym(cuda, "cuInit");
	get = (__typeof__(get))dlsym(cuda, "cuDeviceGet");
	retain = (__typeof__(retain))dlsym(cuda, "cuDevicePrimaryCtxRetain");
	current = (__typeof__(current))dlsym(cuda, "cuCtxSetCurrent");
	cu_alloc = (__typeof__(cu_alloc))dlsym(cuda, "cuMemAlloc_v2");
	cu_free = (__typeof__(cu_free))dlsym(cuda, "cuMemFree_v2");
	cu_to_gpu = (__typeof__(cu_to_gpu))dlsym(cuda, "cuMemcpyHtoD_v2");
	cu_from_gpu = (__typeof__(cu_from_gpu))dlsym(cuda, "cuMemcpyDtoH_v2");
	if (init(0) || get(&device, 0) || retain(&context, device) || current(context)) {
		fprintf(stderr, "there is no GPU\n");
		exit(77);
	}
}

static void *allocate(size_t bytes)
{
	void *ptr = NULL;

	if (cu_alloc(&ptr, bytes)) {
		fprintf(stderr, "no device memory\n");
		exit(1);
	}
	return ptr;
}

/* ---------------------------------------------------------------------- printing */
/* A call that crashes says so, and the program goes on. */
static sigjmp_buf before_call;

static void crashed(int number)
{
	siglongjmp(before_call, number);
}

#define GUARDED(what, statement)                                        \
	do {                                                            \
		int signal_number = sigsetjmp(before_call, 1);          \
                                                                        \
		if (signal_number == 0)                                 \
			statement;                                      \
		else                                                    \
			printf("%s: signal %d\n", what, signal_number); \
	} while (0)
#define say(what, call) GUARDED(what, say_error(what, call))
#define say_bytes(what, call) GUARDED(what, say_count(what, call))

static void say_error(const char *what, CUfileError_t e)
{
	printf("%s: %d", what, (int)e.err);
	if (e.err == CU_FILE_CUDA_DRIVER_ERROR)
		printf(" cuda %d", (int)e.cu_err);
	printf("\n");
	fflush(stdout);
}

static void say_count(const char *what, ssize_t bytes)
{
	if (bytes == -1)
		printf("%s: -1 errno %d\n", what, errno);
	else
		printf("%s: %zd\n", what, bytes);
	fflush(stdout);
}

static void say_number(const char *what, uint64_t number)
{
	printf("%s: %" PRIu64 "\n", what, number);
}

/* ----------------------------------------------------------------- before opening */
static void parameters(const char *when)
{
	char what[96];

	for (int p = 0; p <= CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS + 1; p++) {
		size_t value = 0, min = 0, max = 0;
		CUfileError_t e = p_cuFileGetParameterSizeT(
			(CUFileSizeTConfigParameter_t)p, &value);
		CUfileError_t range = p_cuFileGetParameterMinMaxValue(
			(CUFileSizeTConfigParameter_t)p, &min, &max);

		printf("%s size_t parameter %d: %d is %zu; %d from %zu to %zu\n", when, p,
		       (int)e.err, value, (int)range.err, min, max);
	}
	for (int p = 0; p <= CUFILE_PARAM_STREAM_MEMOPS_BYPASS + 1; p++) {
		bool value = false;
		CUfileError_t e =
			p_cuFileGetParameterBool((CUFileBoolConfigParameter_t)p, &value);

		printf("%s bool parameter %d: %d is %d\n", when, p, (int)e.err, value);
	}
	for (int p = 0; p <= CUFILE_PARAM_LOG_DIR + 1; p++) {
		char value[256] = "";
		CUfileError_t e = p_cuFileGetParameterString(
			(CUFileStringConfigParameter_t)p, value, sizeof(value));

		printf("%s string parameter %d: %d\n", when, p, (int)e.err);
		snprintf(what, sizeof(what), "%s string parameter %d into 1 byte", when,
			 p);
		say(what, p_cuFileGetParameterString((CUFileStringConfigParameter_t)p,
						     value, 1));
	}
}

static void before_open(void)
{
	size_t sizes[3] = { 4, 1024, 16384 }, counts[3] = { 16, 8, 4 };
	size_t got[3] = { 0 }, many[3] = { 0 };
	CUfileDrvProps_t props;
	int version = 0, level = 7;
	bool flag;

	say("version", p_cuFileGetVersion(&version));
	say("version into NULL", p_cuFileGetVersion(NULL));
	say_number("use count, closed", (uint64_t)p_cuFileUseCount());
	say("close, closed", p_cuFileDriverClose());
	say("get size_t into NULL", p_cuFileGetParameterSizeT(0, NULL));
	say("get bool into NULL", p_cuFileGetParameterBool(0, NULL));
	say("get string into NULL", p_cuFileGetParameterString(0, NULL, 8));
	say("get range into NULL", p_cuFileGetParameterMinMaxValue(0, NULL, NULL));
	say("set level of log", p_cuFileSetParameterString(0, "ERROR"));
	say("set level of log to nonsense", p_cuFileSetParameterString(0, "LOUD"));
	say("set string to NULL", p_cuFileSetParameterString(0, NULL));
	say("set string 9", p_cuFileSetParameterString(9, "x"));
	say("set size_t 99", p_cuFileSetParameterSizeT(99, 1));
	say("set bool 99", p_cuFileSetParameterBool(99, true));
	say("set batch size 0", p_cuFileSetParameterSizeT(9, 0));
	say("set batch size 64", p_cuFileSetParameterSizeT(9, 64));
	say("set batch size 1000000", p_cuFileSetParameterSizeT(9, 1000000));
	say("set direct size 5", p_cuFileSetParameterSizeT(5, 5));
	say("set statistics 4", p_cuFileSetParameterSizeT(0, 4));
	say("set nvtx", p_cuFileSetParameterBool(5, true));
	say("get nvtx", p_cuFileGetParameterBool(5, &flag));
	say("set compat", p_cuFileSetParameterBool(1, true));
	say("set slabs", p_cuFileSetParameterPosixPoolSlabArray(sizes, counts, 3));
	say("set slabs NULL", p_cuFileSetParameterPosixPoolSlabArray(NULL, counts, 3));
	say("set slabs 0", p_cuFileSetParameterPosixPoolSlabArray(sizes, counts, 0));
	say("get slabs", p_cuFileGetParameterPosixPoolSlabArray(got, many, 3));
	printf("slabs: %zu*%zu %zu*%zu %zu*%zu\n", got[0], many[0], got[1], many[1],
	       got[2], many[2]);
	say("get slabs, 2", p_cuFileGetParameterPosixPoolSlabArray(got, many, 2));
	say("statistics level", p_cuFileGetStatsLevel(&level));
	say("statistics level into NULL", p_cuFileGetStatsLevel(NULL));
	say("statistics start, closed", p_cuFileStatsStart());
	say("direct size, closed", p_cuFileDriverSetMaxDirectIOSize(1024));
	say("direct size 3, closed", p_cuFileDriverSetMaxDirectIOSize(3));
	say("poll mode, closed", p_cuFileDriverSetPollMode(true, 8));
	say("poll mode 3, closed", p_cuFileDriverSetPollMode(true, 3));
	say("poll mode off, closed", p_cuFileDriverSetPollMode(false, 4));
	say("cache 3, closed", p_cuFileDriverSetMaxCacheSize(3));
	say("pinned 3, closed", p_cuFileDriverSetMaxPinnedMemSize(3));
	say("properties into NULL, closed", p_cuFileDriverGetProperties(NULL));
	parameters("before");
	(void)props;
}

static void opened(void)
{
	CUfileDrvProps_t props;
	size_t bar = 0;

	memset(&props, 0, sizeof(props));
	say("open", p_cuFileDriverOpen());
	say("open again", p_cuFileDriverOpen());
	say_number("use count, open", (uint64_t)p_cuFileUseCount());
	say("properties", p_cuFileDriverGetProperties(&props));
	printf("poll %zu direct %zu control %u features %u cache %u per buffer %u pinned "
	       "%u "
	       "batch %u timeout %u\n",
	       props.nvfs.poll_thresh_size, props.nvfs.max_direct_io_size,
	       props.nvfs.dcontrolflags, props.fflags, props.max_device_cache_size,
	       props.per_buffer_cache_size, props.max_device_pinned_mem_size,
	       props.max_batch_io_size, props.max_batch_io_timeout_msecs);
	say("properties into NULL", p_cuFileDriverGetProperties(NULL));
	say("set parameter, open", p_cuFileSetParameterSizeT(9, 32));
	say("set bool, open", p_cuFileSetParameterBool(1, true));
	say("set string, open", p_cuFileSetParameterString(0, "INFO"));
	say("direct size 1024, open", p_cuFileDriverSetMaxDirectIOSize(1024));
	say("direct size 3, open", p_cuFileDriverSetMaxDirectIOSize(3));
	say("direct size 0, open", p_cuFileDriverSetMaxDirectIOSize(0));
	say("direct size 2^40, open", p_cuFileDriverSetMaxDirectIOSize((size_t)1 << 40));
	say("poll mode 8, open", p_cuFileDriverSetPollMode(true, 8));
	say("poll mode 3, open", p_cuFileDriverSetPollMode(true, 3));
	say("cache 65536, open", p_cuFileDriverSetMaxCacheSize(65536));
	say("cache 3, open", p_cuFileDriverSetMaxCacheSize(3));
	say("pinned 65536, open", p_cuFileDriverSetMaxPinnedMemSize(1048576));
	say("pinned 3, open", p_cuFileDriverSetMaxPinnedMemSize(3));
	say("BAR", p_cuFileGetBARSizeInKB(0, &bar));
	printf("BAR is there: %d\n", bar > 0);
	say("BAR of GPU 99", p_cuFileGetBARSizeInKB(99, &bar));
	say("BAR of GPU -1", p_cuFileGetBARSizeInKB(-1, &bar));
	say("BAR into NULL", p_cuFileGetBARSizeInKB(0, NULL));
	parameters("open");
}

/* ------------------------------------------------------------------------ files */
static CUfileHandle_t register_fd(const char *what, int fd)
{
	CUfileDescr_t d;
	CUfileHandle_t fh = NULL;

	memset(&d, 0, sizeof(d));
	d.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
	d.handle.fd = fd;
	say(what, p_cuFileHandleRegister(&fh, &d));
	return fh;
}

static void files(const char *path)
{
	CUfileDescr_t d;
	CUfileHandle_t fh, other;
	int fd = open(path, O_RDWR | O_CREAT, 0600), copy = dup(fd), ends[2];
	int again = open(path, O_RDWR), add = open(path, O_RDWR | O_APPEND);
	int dir = open("/", O_RDONLY | O_DIRECTORY);
	int late = open(path, O_RDWR | O_NONBLOCK);

	memset(&d, 0, sizeof(d));
	d.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
	d.handle.fd = fd;
	say("handle into NULL", p_cuFileHandleRegister(NULL, &d));
	say("handle of NULL", p_cuFileHandleRegister(&fh, NULL));
	d.type = CU_FILE_HANDLE_TYPE_OPAQUE_WIN32;
	say("handle of type 2", p_cuFileHandleRegister(&fh, &d));
	d.type = 0;
	say("handle of type 0", p_cuFileHandleRegister(&fh, &d));
	d.type = CU_FILE_HANDLE_TYPE_USERSPACE_FS;
	d.handle.handle = NULL;
	say("handle of type 3 without operations", p_cuFileHandleRegister(&fh, &d));
	(void)register_fd("handle of descriptor -1", -1);
	(void)register_fd("handle of descriptor 999", 999);
	(void)register_fd("handle of a directory", dir);
	if (pipe(ends))
		exit(1);
	(void)register_fd("handle of a pipe", ends[0]);
	(void)register_fd("handle of a socket", socket(AF_UNIX, SOCK_STREAM, 0));
	(void)register_fd("handle of /dev/null", open("/dev/null", O_RDWR));
	(void)register_fd("handle with O_APPEND", add);
	fh = register_fd("handle with O_NONBLOCK", late);
	if (fh)
		p_cuFileHandleDeregister(fh);
	fh = register_fd("handle", fd);
	(void)register_fd("handle again", fd);
	other = register_fd("handle of a copy of the descriptor", copy);
	if (other)
		p_cuFileHandleDeregister(other);
	other = register_fd("handle of the file opened again", again);
	if (other)
		p_cuFileHandleDeregister(other);
	p_cuFileHandleDeregister(fh);
	fh = register_fd("handle after it was deregistered", fd);
	p_cuFileHandleDeregister(fh);
	GUARDED("deregister handle NULL", p_cuFileHandleDeregister(NULL));
}

/* --------------------------------------------------------------------- buffers */
static void buffers(void)
{
	char *gpu = allocate(2 * MB), *host = aligned_alloc(4096, MB);

	say("buffer NULL", p_cuFileBufRegister(NULL, MB, 0));
	say("buffer of 0 bytes", p_cuFileBufRegister(gpu, 0, 0));
	say("buffer with flag 8", p_cuFileBufRegister(gpu, MB, 8));
	(void)p_cuFileBufDeregister(gpu);
	say("buffer with flag 1", p_cuFileBufRegister(gpu, MB, 1));
	(void)p_cuFileBufDeregister(gpu);
	say("buffer", p_cuFileBufRegister(gpu, MB, 0));
	say("buffer again", p_cuFileBufRegister(gpu, MB, 0));
	say("buffer inside", p_cuFileBufRegister(gpu + 64 * KB, 64 * KB, 0));
	(void)p_cuFileBufDeregister(gpu + 64 * KB);
	say("deregister inside", p_cuFileBufDeregister(gpu + 4 * KB));
	say("deregister", p_cuFileBufDeregister(gpu));
	say("deregister again", p_cuFileBufDeregister(gpu));
	say("deregister NULL", p_cuFileBufDeregister(NULL));
	say("buffer beyond", p_cuFileBufRegister(gpu, 64 * MB, 0));
	(void)p_cuFileBufDeregister(gpu);
	say("buffer at 100", p_cuFileBufRegister(gpu + 100, 8 * KB, 0));
	(void)p_cuFileBufDeregister(gpu + 100);
	say("buffer of 100", p_cuFileBufRegister(gpu, 100, 0));
	say("deregister 100", p_cuFileBufDeregister(gpu));
	say("host buffer", p_cuFileBufRegister(host, MB, 0));
	say("host buffer again", p_cuFileBufRegister(host, MB, 0));
	say("deregister host buffer", p_cuFileBufDeregister(host));
	say("host buffer at 100", p_cuFileBufRegister(host + 100, 8 * KB, 0));
	(void)p_cuFileBufDeregister(host + 100);
	cu_free(gpu);
	say("buffer that was freed", p_cuFileBufRegister(gpu, MB, 0));
	free(host);
}

/* ---------------------------------------------------------- reading and writing */
static void fill(int fd, size_t bytes)
{
	char *text = malloc(bytes);

	for (size_t i = 0; i < bytes; i++)
		text[i] = (char)(i * 7 + i / 251);
	if (pwrite(fd, text, bytes, 0) != (ssize_t)bytes)
		exit(1);
	free(text);
}

static void verify(const char *what, const void *gpu, size_t bytes, size_t from)
{
	char *text = malloc(bytes);
	size_t wrong = 0;

	if (cu_from_gpu(text, gpu, bytes))
		exit(1);
	for (size_t i = 0; i < bytes; i++)
		wrong += text[i] != (char)((i + from) * 7 + (i + from) / 251);
	printf("%s: %zu wrong bytes\n", what, wrong);
	free(text);
}

static void transfers(const char *path)
{
	char *gpu = allocate(2 * MB), *bare = allocate(2 * MB), host[8192];
	int fd = open(path, O_RDWR), in = open(path, O_RDONLY),
	    out = open(path, O_WRONLY);
	CUfileHandle_t fh, reader, writer;

	fill(fd, MB);
	fh = register_fd("handle to transfer", fd);
	reader = register_fd("handle of O_RDONLY", in);
	writer = register_fd("handle of O_WRONLY", out);
	say("buffer to transfer", p_cuFileBufRegister(gpu, MB, 0));
	say_bytes("read", p_cuFileRead(fh, gpu, MB, 0, 0));
	verify("read", gpu, MB, 0);
	say_bytes("read unaligned", p_cuFileRead(fh, gpu, 1000, 33, 7));
	verify("read unaligned", gpu + 7, 1000, 33);
	say_bytes("read unregistered", p_cuFileRead(fh, bare, MB, 0, 0));
	verify("read unregistered", bare, MB, 0);
	say_bytes("read host", p_cuFileRead(fh, host, sizeof(host), 4096, 0));
	say_bytes("read over the end", p_cuFileRead(fh, gpu, MB, MB - 4096, 0));
	say_bytes("read at the end", p_cuFileRead(fh, gpu, 4096, MB, 0));
	say_bytes("read behind the end", p_cuFileRead(fh, gpu, 4096, 16 * MB, 0));
	say_bytes("read 0 bytes", p_cuFileRead(fh, gpu, 0, 0, 0));
	say_bytes("read at -1", p_cuFileRead(fh, gpu, 4096, -1, 0));
	say_bytes("read at -4096", p_cuFileRead(fh, gpu, 4096, -4096, 0));
	say_bytes("read to -4096", p_cuFileRead(fh, gpu, 4096, 0, -4096));
	say_bytes("read beyond the buffer", p_cuFileRead(fh, gpu, MB, 0, 4096));
	say_bytes("read beyond the allocation", p_cuFileRead(fh, bare, 64 * MB, 0, 0));
	say_bytes("read into NULL", p_cuFileRead(fh, NULL, 4096, 0, 0));
	say_bytes("read by NULL", p_cuFileRead(NULL, gpu, 4096, 0, 0));
	say_bytes("write", p_cuFileWrite(fh, gpu, MB, MB, 0));
	say_bytes("write unaligned", p_cuFileWrite(fh, gpu, 77, 3 * MB + 5, 9));
	say_bytes("write 0 bytes", p_cuFileWrite(fh, gpu, 0, 0, 0));
	say_bytes("write at -1", p_cuFileWrite(fh, gpu, 4096, -1, 0));
	say_bytes("write by O_RDONLY", p_cuFileWrite(reader, gpu, 4096, 0, 0));
	say_bytes("read by O_WRONLY", p_cuFileRead(writer, gpu, 4096, 0, 0));
	say_bytes("read by O_RDONLY", p_cuFileRead(reader, gpu, 4096, 0, 0));
	say_bytes("write by O_WRONLY", p_cuFileWrite(writer, gpu, 4096, 0, 0));
	say_number("size of the file", (uint64_t)lseek(fd, 0, SEEK_END));
	say("deregister buffer", p_cuFileBufDeregister(gpu));
	cu_free(bare);
	say_bytes("read into freed memory", p_cuFileRead(fh, bare, 4096, 0, 0));
	p_cuFileHandleDeregister(reader);
	p_cuFileHandleDeregister(writer);
	p_cuFileHandleDeregister(fh);
	cu_free(gpu);
}

/* ---------------------------------------------------------------------- batches */
static CUfileIOParams_t part(CUfileHandle_t fh, void *base, unsigned i)
{
	CUfileIOParams_t p;

	memset(&p, 0, sizeof(p));
	p.mode = CUFILE_BATCH;
	p.opcode = CUFILE_READ;
	p.fh = fh;
	p.u.batch.devPtr_base = base;
	p.u.batch.file_offset = (off_t)i * 65536;
	p.u.batch.devPtr_offset = (off_t)i * 65536;
	p.u.batch.size = 65536;
	p.cookie = (char *)NULL + i + 1;
	return p;
}

static void await(const char *what, CUfileBatchHandle_t batch, unsigned count)
{
	CUfileIOEvents_t events[16];
	unsigned total = 0, seen = 0;

	for (unsigned tries = 0; total < count && tries < 100; tries++) {
		struct timespec second = { 1, 0 };
		unsigned nr = 16;
		CUfileError_t e;

		memset(events, 0, sizeof(events));
		e = p_cuFileBatchIOGetStatus(batch, 1, &nr, events, &second);
		if (e.err) {
			say(what, e);
			return;
		}
		for (unsigned i = 0; i < nr; i++) {
			printf("%s: entry %ld status %d bytes %zd\n", what,
			       (long)(intptr_t)events[i].cookie, (int)events[i].status,
			       (ssize_t)events[i].ret);
			seen++;
		}
		total += nr;
	}
	printf("%s: %u events\n", what, seen);
}

static void batches(const char *path)
{
	char *gpu = allocate(2 * MB);
	int fd = open(path, O_RDWR);
	CUfileHandle_t fh = register_fd("handle for batches", fd);
	CUfileBatchHandle_t b = NULL, big = NULL;
	CUfileIOParams_t p[4];
	CUfileIOEvents_t event;
	struct timespec none = { 0, 0 };
	unsigned nr = 1;

	say("buffer for batches", p_cuFileBufRegister(gpu, MB, 0));
	say("batch of 0", p_cuFileBatchIOSetUp(&b, 0));
	say("batch into NULL", p_cuFileBatchIOSetUp(NULL, 4));
	say("batch of 100000", p_cuFileBatchIOSetUp(&big, 100000));
	say("batch of 4", p_cuFileBatchIOSetUp(&b, 4));
	for (unsigned i = 0; i < 4; i++)
		p[i] = part(fh, gpu, i);
	say("submit 0", p_cuFileBatchIOSubmit(b, 0, p, 0));
	say("submit NULL", p_cuFileBatchIOSubmit(b, 1, NULL, 0));
	say("submit by NULL", p_cuFileBatchIOSubmit(NULL, 1, p, 0));
	say("submit 5 of 4", p_cuFileBatchIOSubmit(b, 5, p, 0));
	say("status of NULL", p_cuFileBatchIOGetStatus(NULL, 1, &nr, &event, &none));
	say("status, nothing there", p_cuFileBatchIOGetStatus(b, 0, &nr, &event, &none));
	printf("events, nothing there: %u\n", nr);
	nr = 1;
	say("status 2 of 1", p_cuFileBatchIOGetStatus(b, 2, &nr, &event, &none));
	say("status into NULL", p_cuFileBatchIOGetStatus(b, 0, NULL, NULL, &none));
	say("submit 4", p_cuFileBatchIOSubmit(b, 4, p, 0));
	await("batch", b, 4);
	verify("batch", gpu, 4 * 65536, 0);
	p[0].opcode = (CUfileOpcode_t)7;
	say("submit opcode 7", p_cuFileBatchIOSubmit(b, 1, p, 0));
	p[0] = part(fh, gpu, 0);
	p[0].mode = (CUfileBatchMode_t)0;
	say("submit mode 0", p_cuFileBatchIOSubmit(b, 1, p, 0));
	p[0] = part(NULL, gpu, 0);
	say("submit file NULL", p_cuFileBatchIOSubmit(b, 1, p, 0));
	p[0] = part(fh, NULL, 0);
	say("submit buffer NULL", p_cuFileBatchIOSubmit(b, 1, p, 0));
	p[0] = part(fh, gpu, 0);
	p[0].u.batch.file_offset = -4096;
	say("submit at -4096", p_cuFileBatchIOSubmit(b, 1, p, 0));
	p_cuFileBatchIODestroy(b);
	say("batch of 2", p_cuFileBatchIOSetUp(&b, 2));
	say("cancel, nothing there", p_cuFileBatchIOCancel(b));
	say("cancel NULL", p_cuFileBatchIOCancel(NULL));
	p_cuFileBatchIODestroy(b);
	GUARDED("destroy NULL", p_cuFileBatchIODestroy(NULL));
	if (big)
		p_cuFileBatchIODestroy(big);
	(void)p_cuFileBufDeregister(gpu);
	p_cuFileHandleDeregister(fh);
	cu_free(gpu);
}

/* ---------------------------------------------------------------------- streams */
static void streams(const char *path)
{
	char *gpu = allocate(2 * MB);
	int fd = open(path, O_RDWR);
	CUfileHandle_t fh = register_fd("handle for streams", fd);
	size_t size = 65536;
	off_t from = 4096, to = 0;
	ssize_t done = 0;

	say("stream with flag 16", p_cuFileStreamRegister(NULL, 16));
	say("stream NULL", p_cuFileStreamRegister(NULL, 15));
	say("stream NULL again", p_cuFileStreamRegister(NULL, 0));
	say("buffer for streams", p_cuFileBufRegister(gpu, MB, 0));
	say("read async", p_cuFileReadAsync(fh, gpu, &size, &from, &to, &done, NULL));
	{
		int (*sync)(void *) =
			(__typeof__(sync))dlsym(RTLD_DEFAULT, "cuStreamSynchronize");

		if (sync)
			(void)sync(NULL);
	}
	printf("read async: %zd\n", done);
	verify("read async", gpu, 65536, 4096);
	say("read async by NULL",
	    p_cuFileReadAsync(NULL, gpu, &size, &from, &to, &done, NULL));
	say("read async into NULL",
	    p_cuFileReadAsync(fh, NULL, &size, &from, &to, &done, NULL));
	say("read async of size NULL",
	    p_cuFileReadAsync(fh, gpu, NULL, &from, &to, &done, NULL));
	say("read async at NULL",
	    p_cuFileReadAsync(fh, gpu, &size, NULL, &to, &done, NULL));
	say("read async to NULL",
	    p_cuFileReadAsync(fh, gpu, &size, &from, NULL, &done, NULL));
	say("read async told to NULL",
	    p_cuFileReadAsync(fh, gpu, &size, &from, &to, NULL, NULL));
	say("deregister stream NULL", p_cuFileStreamDeregister(NULL));
	say("deregister stream NULL again", p_cuFileStreamDeregister(NULL));
	(void)p_cuFileBufDeregister(gpu);
	p_cuFileHandleDeregister(fh);
	cu_free(gpu);
}

/* ------------------------------------------------------------------- statistics */
static void statistics(const char *path)
{
	char *gpu = allocate(MB);
	int fd = open(path, O_RDWR), level = 7;
	CUfileHandle_t fh = register_fd("handle for statistics", fd);
	static CUfileStatsLevel3_t s;

	say("statistics level -1", p_cuFileSetStatsLevel(-1));
	say("statistics level 4", p_cuFileSetStatsLevel(4));
	say("statistics level 0", p_cuFileSetStatsLevel(0));
	say("start at level 0", p_cuFileStatsStart());
	say("level 1 at level 0", p_cuFileGetStatsL1(&s.detailed.basic));
	say("stop at level 0", p_cuFileStatsStop());
	say("statistics level 1", p_cuFileSetStatsLevel(1));
	say("get level", p_cuFileGetStatsLevel(&level));
	printf("level: %d\n", level);
	say("level 1 before start", p_cuFileGetStatsL1(&s.detailed.basic));
	say("start", p_cuFileStatsStart());
	say("start again", p_cuFileStatsStart());
	say("level 1 into NULL", p_cuFileGetStatsL1(NULL));
	say_bytes("read 64 KiB", p_cuFileRead(fh, gpu, 65536, 0, 0));
	say_bytes("write 4 KiB", p_cuFileWrite(fh, gpu, 4096, 0, 0));
	say("level 1", p_cuFileGetStatsL1(&s.detailed.basic));
	printf("reads %" PRIu64 " %" PRIu64 " bytes, writes %" PRIu64 " %" PRIu64
	       " bytes\n",
	       s.detailed.basic.read_ops.ok, s.detailed.basic.read_bytes,
	       s.detailed.basic.write_ops.ok, s.detailed.basic.write_bytes);
	say("level 2 at level 1", p_cuFileGetStatsL2(&s.detailed));
	say("level 3 at level 1", p_cuFileGetStatsL3(&s));
	say("stop", p_cuFileStatsStop());
	say("stop again", p_cuFileStatsStop());
	say("level 1, stopped", p_cuFileGetStatsL1(&s.detailed.basic));
	say("reset", p_cuFileStatsReset());
	say("statistics level 3", p_cuFileSetStatsLevel(3));
	say("start at level 3", p_cuFileStatsStart());
	for (unsigned i = 0; i < 8; i++)
		(void)p_cuFileRead(fh, gpu, (size_t)4096 << i, 0, 0);
	memset(&s, 0, sizeof(s));
	say("level 3", p_cuFileGetStatsL3(&s));
	printf("GPUs with reads: ");
	for (unsigned i = 0; i < 16; i++)
		if (s.per_gpu_stats[i].n_total_reads)
			printf("%u: %" PRIu64 " of %" PRIu64 " posix", i,
			       s.per_gpu_stats[i].n_total_reads,
			       s.per_gpu_stats[i].n_posix_reads);
	printf("\nhistogram:");
	for (unsigned i = 0; i < 32; i++)
		printf(" %" PRIu64, s.detailed.read_size_kb_hist[i]);
	printf("\n");
	say("stop", p_cuFileStatsStop());
	p_cuFileHandleDeregister(fh);
	cu_free(gpu);
}

int main(int argc, char **argv)
{
	void *library = dlopen("libcufile.so.0", RTLD_NOW);
	char path[4096];
	int fd;

	if (argc != 2 || !library) {
		fprintf(stderr, "%s\n",
			library ? "usage: cufile_calls DIRECTORY" : dlerror());
		return library ? 64 : 77;
	}
#define X(name)                                                 \
	p_##name = (__typeof__(p_##name))dlsym(library, #name); \
	if (!p_##name) {                                        \
		fprintf(stderr, "there is no %s\n", #name);     \
		return 1;                                       \
	}
	CALLS(X)
#undef X
	find_gpu();
	signal(SIGSEGV, crashed);
	signal(SIGABRT, crashed);
	signal(SIGFPE, crashed);
	snprintf(path, sizeof(path), "%s/cufile_calls.data", argv[1]);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	before_open();
	opened();
	files(path);
	buffers();
	transfers(path);
	batches(path);
	streams(path);
	statistics(path);
	say("close", p_cuFileDriverClose());
	say("close again", p_cuFileDriverClose());
	say("close thrice", p_cuFileDriverClose());
	say_number("use count at the end", (uint64_t)p_cuFileUseCount());
	unlink(path);
	return 0;
}
