/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cufile.h - declarations of the public API of cuFile (GPUDirect Storage), as far as
 * libcufile.so.0 of Rocin has it.
 *
 * Names, numbers and layouts are those of the binary interface of cuFile 1.16 and older,
 * so programs that were built with the header of NVIDIA run on this library, and programs
 * that were built with this header run on the library of NVIDIA. rocin-gds(7) has the
 * table of calls, and what is different.
 *
 * Pointers to memory are those of rocin/gpu.h (by their BAR or device address), those of
 * a CUDA library that has its memory from there, or addresses of host memory. A stream is
 * a CUstream of such a library.
 *
 * Threads: all calls may be made by any thread. After fork() the child gets
 * CU_FILE_DRIVER_NOT_INITIALIZED.
 */
#ifndef RN_CUFILE_H
#define RN_CUFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* CUresult and CUstream of the CUDA driver API, unless <cuda.h> has declared them. */
#ifndef CUDA_VERSION
typedef int CUresult;
typedef struct CUstream_st *CUstream;
#endif

/* ------------------------------------------------------------------------ errors */
#define CUFILEOP_BASE_ERR 5000

/* Numbers and names of errors. X(number above CUFILEOP_BASE_ERR, name, what it says) */
#define RN_CUFILE_ERRORS(X)                                                             \
	X(1, DRIVER_NOT_INITIALIZED, "the driver is not open")                          \
	X(2, DRIVER_INVALID_PROPS, "a property is not valid")                           \
	X(3, DRIVER_UNSUPPORTED_LIMIT, "the value of a property is out of range")       \
	X(4, DRIVER_VERSION_MISMATCH, "driver and library have different versions")     \
	X(5, DRIVER_VERSION_READ_ERROR, "the version of the driver cannot be read")     \
	X(6, DRIVER_CLOSING, "the driver is being closed")                              \
	X(7, PLATFORM_NOT_SUPPORTED, "this platform is not supported")                  \
	X(8, IO_NOT_SUPPORTED, "this file is not supported")                            \
	X(9, DEVICE_NOT_SUPPORTED, "this GPU is not supported")                         \
	X(10, NVFS_DRIVER_ERROR, "a request to the driver failed")                      \
	X(11, CUDA_DRIVER_ERROR, "a call of the CUDA driver API failed")                \
	X(12, CUDA_POINTER_INVALID, "the pointer is not one to device memory")          \
	X(13, CUDA_MEMORY_TYPE_INVALID, "memory of this type is not possible")          \
	X(14, CUDA_POINTER_RANGE_ERROR, "the range ends behind the allocation")         \
	X(15, CUDA_CONTEXT_MISMATCH, "the memory belongs to another CUDA context")      \
	X(16, INVALID_MAPPING_SIZE, "an access beyond the largest size that is pinned") \
	X(17, INVALID_MAPPING_RANGE, "an access beyond what is mapped")                 \
	X(18, INVALID_FILE_TYPE, "a file of this type is not possible")                 \
	X(19, INVALID_FILE_OPEN_FLAG,                                                   \
	  "the file was opened with a flag that is not "                                \
	  "possible")                                                                   \
	X(20, DIO_NOT_SET, "the file was opened without O_DIRECT")                      \
	X(22, INVALID_VALUE, "an argument is not valid")                                \
	X(23, MEMORY_ALREADY_REGISTERED, "the memory is registered already")            \
	X(24, MEMORY_NOT_REGISTERED, "the memory is not registered")                    \
	X(25, PERMISSION_DENIED, "no permission for the driver or the file")            \
	X(26, DRIVER_ALREADY_OPEN, "the driver is open already")                        \
	X(27, HANDLE_NOT_REGISTERED, "the file is not registered")                      \
	X(28, HANDLE_ALREADY_REGISTERED, "the file is registered already")              \
	X(29, DEVICE_NOT_FOUND, "there is no such GPU")                                 \
	X(30, INTERNAL_ERROR, "an error inside of the library")                         \
	X(31, GETNEWFD_FAILED, "no new file descriptor can be had")                     \
	X(33, NVFS_SETUP_ERROR, "the driver cannot be set up")                          \
	X(34, IO_DISABLED, "cufile.json excludes this file")                            \
	X(35, BATCH_SUBMIT_FAILED, "a batch could not be submitted")                    \
	X(36, GPU_MEMORY_PINNING_FAILED, "device memory cannot be pinned")              \
	X(37, BATCH_FULL, "the batch is full")                                          \
	X(38, ASYNC_NOT_SUPPORTED, "operations of a stream are not possible")           \
	X(39, INTERNAL_BATCH_SETUP_ERROR, "a batch could not be made; try again")       \
	X(40, INTERNAL_BATCH_SUBMIT_ERROR, "a batch could not be submitted; try again") \
	X(41, INTERNAL_BATCH_GETSTATUS_ERROR,                                           \
	  "the status of a batch could not be read; "                                   \
	  "try again")                                                                  \
	X(42, INTERNAL_BATCH_CANCEL_ERROR, "a batch could not be cancelled; try again") \
	X(43, NOMEM_ERROR, "no memory; try again")                                      \
	X(44, IO_ERROR, "an I/O error")                                                 \
	X(45, INTERNAL_BUF_REGISTER_ERROR, "a buffer could not be registered")          \
	X(46, HASH_OPR_ERROR, "an error of a table")                                    \
	X(47, INVALID_CONTEXT_ERROR, "the CUDA context is not valid")                   \
	X(48, NVFS_INTERNAL_DRIVER_ERROR, "an error inside of the driver")              \
	X(49, BATCH_NOCOMPAT_ERROR, "compatibility mode is off")

typedef enum CUfileOpError {
	CU_FILE_SUCCESS = 0,
#define X(number, name, text) CU_FILE_##name = CUFILEOP_BASE_ERR + (number),
	RN_CUFILE_ERRORS(X)
#undef X
	CU_FILE_IO_MAX_ERROR = CUFILEOP_BASE_ERR + 50,
} CUfileOpError;

/* Returns the text of an error; it is static. An unknown number has a text, too. */
static inline const char *cufileop_status_error(CUfileOpError status)
{
	switch ((int)status) {
	case CU_FILE_SUCCESS:
		return "success";
#define X(number, name, text) \
	case CU_FILE_##name:  \
		return text;
		RN_CUFILE_ERRORS(X)
#undef X
	default:
		return "an unknown error of cuFile";
	}
}

/* What most calls return. */
typedef struct CUfileError {
	CUfileOpError err;
	CUresult cu_err; /* with CU_FILE_CUDA_DRIVER_ERROR: the error of CUDA */
} CUfileError_t;

#define IS_CUFILE_ERR(err) (abs((int)(err)) > CUFILEOP_BASE_ERR)
#define CUFILE_ERRSTR(err) cufileop_status_error((CUfileOpError)abs((int)(err)))
#define IS_CUDA_ERR(status) ((status).err == CU_FILE_CUDA_DRIVER_ERROR)
#define CU_FILE_CUDA_ERR(status) ((status).cu_err)

/* ------------------------------------------------------------------------ driver */
/* Numbers of bits in CUfileDrvProps_t.nvfs.dstatusflags: supported kinds of storage. */
typedef enum CUfileDriverStatusFlags {
	CU_FILE_LUSTRE_SUPPORTED = 0,
	CU_FILE_WEKAFS_SUPPORTED = 1,
	CU_FILE_NFS_SUPPORTED = 2,
	CU_FILE_GPFS_SUPPORTED = 3,
	CU_FILE_NVME_SUPPORTED = 4,
	CU_FILE_NVMEOF_SUPPORTED = 5,
	CU_FILE_SCSI_SUPPORTED = 6,
	CU_FILE_SCALEFLUX_CSD_SUPPORTED = 7,
	CU_FILE_NVMESH_SUPPORTED = 8,
	CU_FILE_BEEGFS_SUPPORTED = 9,
	CU_FILE_NVME_P2P_SUPPORTED = 11,
	CU_FILE_SCATEFS_SUPPORTED = 12,
	CU_FILE_VIRTIOFS_SUPPORTED = 13,
	CU_FILE_MAX_TARGET_TYPES,
} CUfileDriverStatusFlags_t;

/* Numbers of bits in CUfileDrvProps_t.nvfs.dcontrolflags. */
typedef enum CUfileDriverControlFlags {
	CU_FILE_USE_POLL_MODE = 0,
	CU_FILE_ALLOW_COMPAT_MODE = 1,
} CUfileDriverControlFlags_t;

/* Numbers of bits in CUfileDrvProps_t.fflags. */
typedef enum CUfileFeatureFlags {
	CU_FILE_DYN_ROUTING_SUPPORTED = 0,
	CU_FILE_BATCH_IO_SUPPORTED = 1,
	CU_FILE_STREAMS_SUPPORTED = 2,
	CU_FILE_PARALLEL_IO_SUPPORTED = 3,
	CU_FILE_P2P_SUPPORTED = 4,
} CUfileFeatureFlags_t;

/* Sizes are in KiB. */
typedef struct CUfileDrvProps {
	struct {
		unsigned int major_version;
		unsigned int minor_version;
		size_t poll_thresh_size;
		size_t max_direct_io_size;
		unsigned int dstatusflags;
		unsigned int dcontrolflags;
	} nvfs;
	unsigned int fflags;
	unsigned int max_device_cache_size;
	unsigned int per_buffer_cache_size;
	unsigned int max_device_pinned_mem_size;
	unsigned int max_batch_io_size; /* transfers in a batch */
	unsigned int max_batch_io_timeout_msecs;
} CUfileDrvProps_t;

CUfileError_t cuFileDriverOpen(void);
CUfileError_t cuFileDriverClose(void);
CUfileError_t cuFileDriverClose_v2(void);
long cuFileUseCount(void);
CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t *props);
CUfileError_t cuFileDriverSetPollMode(bool poll, size_t poll_threshold_size);
CUfileError_t cuFileDriverSetMaxDirectIOSize(size_t max_direct_io_size);
CUfileError_t cuFileDriverSetMaxCacheSize(size_t max_cache_size);
CUfileError_t cuFileDriverSetMaxPinnedMemSize(size_t max_pinned_size);
CUfileError_t cuFileGetVersion(int *version);

/* Ways by which a drive may reach a GPU; bits are 1 << these. */
typedef enum CUfileP2PFlags {
	CUFILE_P2PDMA = 0,
	CUFILE_NVFS = 1,
	CUFILE_DMABUF = 2,
	CUFILE_C2C = 3,
	CUFILE_NVIDIA_PEERMEM = 4,
} CUfileP2PFlags_t;

CUfileError_t cuFileDriverSetP2PFlags(CUfileDriverStatusFlags_t kind,
				      CUfileP2PFlags_t flags);
CUfileError_t cuFileDriverGetP2PFlags(CUfileDriverStatusFlags_t kind,
				      CUfileP2PFlags_t *flags);
CUfileError_t cuFileGetBARSizeInKB(int gpu, size_t *bar_size);

/* ----------------------------------------------------------------------- files */
typedef struct sockaddr sockaddr_t;

typedef struct cufileRDMAInfo {
	int version;
	int desc_len;
	const char *desc_str;
} cufileRDMAInfo_t;

/* Operations of a file system in user space (CU_FILE_HANDLE_TYPE_USERSPACE_FS). */
typedef struct CUfileFSOps {
	const char *(*fs_type)(void *handle);
	int (*getRDMADeviceList)(void *handle, sockaddr_t **hostaddrs);
	int (*getRDMADevicePriority)(void *handle, char *buf, size_t size, off_t offset,
				     sockaddr_t *hostaddr);
	ssize_t (*read)(void *handle, char *buf, size_t size, off_t offset,
			cufileRDMAInfo_t *info);
	ssize_t (*write)(void *handle, const char *buf, size_t size, off_t offset,
			 cufileRDMAInfo_t *info);
} CUfileFSOps_t;

enum CUfileFileHandleType {
	CU_FILE_HANDLE_TYPE_OPAQUE_FD = 1,
	CU_FILE_HANDLE_TYPE_OPAQUE_WIN32 = 2,
	CU_FILE_HANDLE_TYPE_USERSPACE_FS = 3,
};

typedef struct CUfileDescr_t {
	enum CUfileFileHandleType type;
	union {
		int fd;
		void *handle;
	} handle;
	const CUfileFSOps_t *fs_ops;
} CUfileDescr_t;

typedef void *CUfileHandle_t;

CUfileError_t cuFileHandleRegister(CUfileHandle_t *fh, CUfileDescr_t *descr);
void cuFileHandleDeregister(CUfileHandle_t fh);
CUfileError_t cuFileBufRegister(const void *base, size_t length, int flags);
CUfileError_t cuFileBufDeregister(const void *base);

/* Return the number of bytes; -1 with errno for an error of the file; otherwise a
 * negative CUfileOpError.
 */
ssize_t cuFileRead(CUfileHandle_t fh, void *base, size_t size, off_t file_offset,
		   off_t buf_offset);
ssize_t cuFileWrite(CUfileHandle_t fh, const void *base, size_t size, off_t file_offset,
		    off_t buf_offset);

/* --------------------------------------------------------------------- batches */
typedef enum CUfileOpcode {
	CUFILE_READ = 0,
	CUFILE_WRITE = 1,
} CUfileOpcode_t;

typedef enum CUFILEStatus_enum {
	CUFILE_WAITING = 0x01,
	CUFILE_PENDING = 0x02,
	CUFILE_INVALID = 0x04,
	CUFILE_CANCELED = 0x08,
	CUFILE_COMPLETE = 0x10,
	CUFILE_TIMEOUT = 0x20,
	CUFILE_FAILED = 0x40,
} CUfileStatus_t;

typedef enum cufileBatchMode {
	CUFILE_BATCH = 1,
} CUfileBatchMode_t;

typedef struct CUfileIOParams {
	CUfileBatchMode_t mode;
	union {
		struct {
			void *devPtr_base;
			off_t file_offset;
			off_t devPtr_offset;
			size_t size;
		} batch;
	} u;
	CUfileHandle_t fh;
	CUfileOpcode_t opcode;
	void *cookie;
} CUfileIOParams_t;

typedef struct CUfileIOEvents {
	void *cookie;
	CUfileStatus_t status;
	size_t ret; /* bytes, or an error as a negative number */
} CUfileIOEvents_t;

typedef void *CUfileBatchHandle_t;

CUfileError_t cuFileBatchIOSetUp(CUfileBatchHandle_t *batch, unsigned nr);
CUfileError_t cuFileBatchIOSubmit(CUfileBatchHandle_t batch, unsigned nr,
				  CUfileIOParams_t *params, unsigned flags);
CUfileError_t cuFileBatchIOGetStatus(CUfileBatchHandle_t batch, unsigned min_nr,
				     unsigned *nr, CUfileIOEvents_t *events,
				     struct timespec *timeout);
CUfileError_t cuFileBatchIOCancel(CUfileBatchHandle_t batch);
void cuFileBatchIODestroy(CUfileBatchHandle_t batch);

/* --------------------------------------------------------------------- streams */
/* Flags of a stream: what is known when an operation is queued. */
#define CU_FILE_STREAM_FIXED_BUF_OFFSET 1
#define CU_FILE_STREAM_FIXED_FILE_OFFSET 2
#define CU_FILE_STREAM_FIXED_FILE_SIZE 4
#define CU_FILE_STREAM_PAGE_ALIGNED_INPUTS 8

CUfileError_t cuFileReadAsync(CUfileHandle_t fh, void *base, size_t *size,
			      off_t *file_offset, off_t *buf_offset, ssize_t *bytes_read,
			      CUstream stream);
CUfileError_t cuFileWriteAsync(CUfileHandle_t fh, void *base, size_t *size,
			       off_t *file_offset, off_t *buf_offset,
			       ssize_t *bytes_written, CUstream stream);
CUfileError_t cuFileStreamRegister(CUstream stream, unsigned flags);
CUfileError_t cuFileStreamDeregister(CUstream stream);

/* ------------------------------------------------------------------ parameters */
typedef enum CUFileSizeTConfigParameter_t {
	CUFILE_PARAM_PROFILE_STATS,
	CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH,
	CUFILE_PARAM_EXECUTION_MAX_IO_THREADS,
	CUFILE_PARAM_EXECUTION_MIN_IO_THRESHOLD_SIZE_KB,
	CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM,
	CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB,
	CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB,
	CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB,
	CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB,
	CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE,
	CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB,
	CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS,
} CUFileSizeTConfigParameter_t;

typedef enum CUFileBoolConfigParameter_t {
	CUFILE_PARAM_PROPERTIES_USE_POLL_MODE,
	CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE,
	CUFILE_PARAM_FORCE_COMPAT_MODE,
	CUFILE_PARAM_FS_MISC_API_CHECK_AGGRESSIVE,
	CUFILE_PARAM_EXECUTION_PARALLEL_IO,
	CUFILE_PARAM_PROFILE_NVTX,
	CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY,
	CUFILE_PARAM_USE_PCIP2PDMA,
	CUFILE_PARAM_PREFER_IO_URING,
	CUFILE_PARAM_FORCE_ODIRECT_MODE,
	CUFILE_PARAM_SKIP_TOPOLOGY_DETECTION,
	CUFILE_PARAM_STREAM_MEMOPS_BYPASS,
} CUFileBoolConfigParameter_t;

typedef enum CUFileStringConfigParameter_t {
	CUFILE_PARAM_LOGGING_LEVEL,
	CUFILE_PARAM_ENV_LOGFILE_PATH,
	CUFILE_PARAM_LOG_DIR,
} CUFileStringConfigParameter_t;

CUfileError_t cuFileSetParameterSizeT(CUFileSizeTConfigParameter_t param, size_t value);
CUfileError_t cuFileSetParameterBool(CUFileBoolConfigParameter_t param, bool value);
CUfileError_t cuFileSetParameterString(CUFileStringConfigParameter_t param,
				       const char *desc_str);
CUfileError_t cuFileGetParameterSizeT(CUFileSizeTConfigParameter_t param, size_t *value);
CUfileError_t cuFileGetParameterBool(CUFileBoolConfigParameter_t param, bool *value);
CUfileError_t cuFileGetParameterString(CUFileStringConfigParameter_t param,
				       char *desc_str, int len);
CUfileError_t cuFileGetParameterMinMaxValue(CUFileSizeTConfigParameter_t param,
					    size_t *min_value, size_t *max_value);
CUfileError_t cuFileSetParameterPosixPoolSlabArray(const size_t *size_values,
						   const size_t *count_values, int len);
CUfileError_t cuFileGetParameterPosixPoolSlabArray(size_t *size_values,
						   size_t *count_values, int len);

/* ------------------------------------------------------------------ statistics */
#define CUFILE_GPU_UUID_LEN 16

typedef struct CUfileOpCounter {
	uint64_t ok, err;
} CUfileOpCounter_t;

typedef struct CUfileStatsLevel1 {
	CUfileOpCounter_t read_ops, write_ops;
	CUfileOpCounter_t hdl_register_ops, hdl_deregister_ops;
	CUfileOpCounter_t buf_register_ops, buf_deregister_ops;
	uint64_t read_bytes, write_bytes;
	uint64_t read_bw_bytes_per_sec, write_bw_bytes_per_sec;
	uint64_t read_lat_avg_us, write_lat_avg_us;
	uint64_t read_ops_per_sec, write_ops_per_sec;
	uint64_t read_lat_sum_us, write_lat_sum_us;
	CUfileOpCounter_t batch_submit_ops, batch_complete_ops, batch_setup_ops;
	CUfileOpCounter_t batch_cancel_ops, batch_destroy_ops;
	CUfileOpCounter_t batch_enqueued_ops, batch_posix_enqueued_ops;
	CUfileOpCounter_t batch_processed_ops, batch_posix_processed_ops;
	CUfileOpCounter_t batch_nvfs_submit_ops, batch_p2p_submit_ops;
	CUfileOpCounter_t batch_aio_submit_ops, batch_iouring_submit_ops;
	CUfileOpCounter_t batch_mixed_io_submit_ops, batch_total_submit_ops;
	uint64_t batch_read_bytes, batch_write_bytes;
	uint64_t batch_read_bw_bytes, batch_write_bw_bytes;
	uint64_t batch_submit_lat_avg_us, batch_completion_lat_avg_us;
	uint64_t batch_submit_ops_per_sec, batch_complete_ops_per_sec;
	uint64_t batch_submit_lat_sum_us, batch_completion_lat_sum_us;
	uint64_t last_batch_read_bytes, last_batch_write_bytes;
} CUfileStatsLevel1_t;

typedef struct CUfileStatsLevel2 {
	CUfileStatsLevel1_t basic;
	uint64_t read_size_kb_hist[32];
	uint64_t write_size_kb_hist[32];
} CUfileStatsLevel2_t;

typedef struct CUfilePerGpuStats {
	char uuid[CUFILE_GPU_UUID_LEN];
	uint64_t read_bytes, read_bw_bytes_per_sec, read_utilization, read_duration_us;
	uint64_t n_total_reads, n_p2p_reads, n_nvfs_reads, n_posix_reads;
	uint64_t n_unaligned_reads, n_dr_reads, n_sparse_regions, n_inline_regions;
	uint64_t n_reads_err;
	uint64_t writes_bytes, write_bw_bytes_per_sec, write_utilization;
	uint64_t write_duration_us;
	uint64_t n_total_writes, n_p2p_writes, n_nvfs_writes, n_posix_writes;
	uint64_t n_unaligned_writes, n_dr_writes, n_writes_err;
	uint64_t n_mmap, n_mmap_ok, n_mmap_err, n_mmap_free, reg_bytes;
} CUfilePerGpuStats_t;

typedef struct CUfileStatsLevel3 {
	CUfileStatsLevel2_t detailed;
	uint32_t num_gpus;
	CUfilePerGpuStats_t per_gpu_stats[16];
} CUfileStatsLevel3_t;

CUfileError_t cuFileSetStatsLevel(int level);
CUfileError_t cuFileGetStatsLevel(int *level);
CUfileError_t cuFileStatsStart(void);
CUfileError_t cuFileStatsStop(void);
CUfileError_t cuFileStatsReset(void);
CUfileError_t cuFileGetStatsL1(CUfileStatsLevel1_t *stats);
CUfileError_t cuFileGetStatsL2(CUfileStatsLevel2_t *stats);
CUfileError_t cuFileGetStatsL3(CUfileStatsLevel3_t *stats);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* RN_CUFILE_H */
