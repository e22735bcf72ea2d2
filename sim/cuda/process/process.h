/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* process.h - what the stand-in of the CUDA driver knows of this process.
 *
 * identity.c	names, identifiers and attributes of the simulated GPUs
 * kernel.c	C functions under the names of kernels
 * process.c	initialisation, the lock, and the contexts that a thread uses
 * memory.c	allocations of all kinds, and what a pointer belongs to
 * work.c	the operations of streams: what each of them does, and marks
 * stream.c	streams and events
 * worker.c	the threads that execute operations
 * context.c	the lives of contexts
 *
 * Each of them uses those above it.
 *
 * One lock guards everything: rn_cu.lock, which rn_cu_lock() takes. No function of
 * librocin-gpu calls back while it is held, except that a pointer of the program may be
 * read. Functions of the program (host functions, kernels) are called without it.
 *
 * Functions return a CUresult as the documentation of the CUDA driver API gives it. Each
 * needs the lock unless a comment says otherwise.
 */
#ifndef RN_CU_PROCESS_H
#define RN_CU_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "rocin/cuda.h"
#include "rocin/gpu.h"
#include "sim/cuda/api/driver.h"
#include "sim/cuda/stream/ranges.h"
#include "sim/cuda/stream/sched.h"

enum {
	/* as RN_GPU_MAX of librocin-gpu */
	RN_CU_DEVICES = 4,
	RN_CU_VERSION = 13000,
};

/* ------------------------------------------------------------------ objects */
struct CUmemPoolHandle_st {
	struct rn_list link;
	int device;
	uint64_t threshold;
	uint64_t used, used_high;
	int reuse[3]; /* the three attributes about reuse, which change nothing */
};

struct CUctx_st {
	struct rn_list link; /* in rn_cu.contexts while it exists */
	int device;
	unsigned flags;
	unsigned long long id;
	bool is_primary;
	unsigned retained; /* primary context: number of users */
	unsigned peers;	   /* bit N: peer access to GPU N is enabled */
	/* First error of an operation of this context. All calls return it from then on,
	 * until the context is destroyed.
	 */
	CUresult error;
	struct rn_cu_group group;
	struct CUstream_st *legacy;
	struct rn_list streams; /* of struct CUstream_st, the legacy one included */
	struct rn_list events;
	struct rn_list modules;
};

struct CUstream_st {
	struct rn_cu_stream core;
	struct rn_list link; /* in the context */
	struct CUctx_st *ctx;
	unsigned flags;
	int priority;
	unsigned long long id;
	/* This is the per-thread default stream of @owner. */
	bool is_of_thread;
	pthread_t owner;
	/* The program has destroyed it; it goes when its last operation has ended. */
	bool is_dying;
};

struct CUevent_st {
	struct rn_list link; /* in the context */
	struct CUctx_st *ctx;
	unsigned flags;
	struct rn_cu_mark *mark; /* of the latest record; NULL: never recorded */
};

enum rn_cu_kind {
	RN_CU_DEVICE_MEMORY,   /* allocated on a GPU */
	RN_CU_HOST_MEMORY,     /* allocated by cuMemHostAlloc() */
	RN_CU_HOST_REGISTERED, /* the program's own, registered */
	RN_CU_MANAGED_MEMORY,  /* host memory that both sides use */
	RN_CU_IPC_MEMORY,      /* memory of a GPU in another process */
};

struct rn_cu_memory {
	struct rn_cu_range range;
	enum rn_cu_kind kind;
	struct CUctx_st *ctx;
	int device;
	unsigned long long id; /* unique in the process */
	unsigned flags;	       /* of cuMemHostAlloc() or cuMemHostRegister() */
	bool has_sync_memops;
	bool is_being_freed; /* cuMemFreeAsync() was called */
	CUmemoryPool pool;   /* NULL: from no pool */
	/* The descriptor by which other processes reach the memory; -1: none yet. */
	int shared_fd;
	/* RN_CU_IPC_MEMORY: what is mapped, and how often it was opened. */
	void *mapping;
	size_t mapping_len;
	unsigned opened;
};

struct rn_cu_device {
	struct rn_gpu *gpu; /* NULL: not opened yet */
	struct CUctx_st primary;
	struct rn_cu_sched sched;
	bool has_workers;
	CUmemoryPool default_pool, pool;
};

struct rn_cu_process {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic bool is_initialized, is_forked;
	int count;
	struct rn_cu_device device[RN_CU_DEVICES];
	struct rn_list contexts, pools;
	struct rn_cu_ranges ranges;
	unsigned long long next_id;
};

extern struct rn_cu_process rn_cu;

/* ---------------------------------------------------------------- process.c */
/* Opens the GPUs. Needs no lock. */
CUresult rn_cu_init(void);

/* Take the lock. rn_cu_lock() fails if cuInit() was not called, or in a child of
 * fork(); rn_cu_lock_context() also if the thread has no context, or if an operation of
 * the context has failed. After an error the lock is not held. Need no lock.
 */
CUresult rn_cu_lock(void);
CUresult rn_cu_lock_context(struct CUctx_st **ctx);
void rn_cu_unlock(void);

/* Returns the lock's condition: something has changed. @until: CLOCK_MONOTONIC. */
void rn_cu_wait(rn_ns until);
void rn_cu_tell(void);
rn_ns rn_cu_now(void);

/* Returns the device, or NULL if there is none with this number. */
struct rn_cu_device *rn_cu_device_of(CUdevice number);

/* The stack of contexts of this thread. */
struct CUctx_st *rn_cu_current(void);
CUresult rn_cu_set_current(struct CUctx_st *ctx);
CUresult rn_cu_push_context(struct CUctx_st *ctx);
CUresult rn_cu_pop_context(struct CUctx_st **ctx);

/* Returns true if there is such a context. */
bool rn_cu_is_context(const struct CUctx_st *ctx);
/* Turns -errno of librocin-gpu into a CUresult. */
CUresult rn_cu_result(int err);

/* ----------------------------------------------------------------- stream.c */
CUresult rn_cu_stream_create(struct CUctx_st *ctx, unsigned flags, int priority,
			     enum rn_cu_stream_kind kind, struct CUstream_st **stream);

/* Finds the stream of a handle: one of the numbers for default streams, or a stream.
 * Returns NULL if it is no stream.
 */
struct CUstream_st *rn_cu_stream_of(struct CUctx_st *ctx, CUstream handle);
void rn_cu_stream_destroy(struct CUstream_st *stream);

/* Frees streams that were destroyed and are idle. */
void rn_cu_streams_reap(struct rn_cu_device *d);

CUresult rn_cu_event_create(struct CUctx_st *ctx, unsigned flags, CUevent *event);
bool rn_cu_is_event(CUevent event);
void rn_cu_event_destroy(CUevent event);

/* Wait until what was submitted so far has ended. Return the error of the context. */
CUresult rn_cu_stream_sync(struct CUstream_st *stream);
CUresult rn_cu_context_sync(struct CUctx_st *ctx);

/* ----------------------------------------------------------------- memory.c */
struct rn_cu_memory *rn_cu_memory_of(uintptr_t addr);

/* Returns the memory that has all of [@addr, @addr + @len), or NULL. */
struct rn_cu_memory *rn_cu_memory_hold(uintptr_t addr, size_t len);

CUresult rn_cu_alloc(struct CUctx_st *ctx, int device, size_t bytes, CUmemoryPool pool,
		     CUdeviceptr *ptr);
CUresult rn_cu_alloc_host(struct CUctx_st *ctx, size_t bytes, unsigned flags,
			  enum rn_cu_kind kind, void **ptr);
CUresult rn_cu_register_host(struct CUctx_st *ctx, void *ptr, size_t bytes,
			     unsigned flags);

/* Frees or forgets the memory, whatever kind it is. */
void rn_cu_release(struct rn_cu_memory *m);

CUresult rn_cu_ipc_export(struct rn_cu_memory *m, CUipcMemHandle *handle);
CUresult rn_cu_ipc_import(struct CUctx_st *ctx, const CUipcMemHandle *handle,
			  CUdeviceptr *ptr);

/* ----------------------------------------------------------------- kernel.c */
/* A C function that stands for a kernel. It exists for ever, since handles to it do. */
struct rn_cu_kernel {
	struct rn_list link;
	char *name;
	rn_cuda_kernel_fn *fn; /* NULL: the name was forgotten */
	unsigned count;
	size_t *sizes;
	size_t bytes; /* of all parameters, each at a multiple of its size */
};

/* Returns the kernel with that name, or NULL. */
struct rn_cu_kernel *rn_cu_kernel_find(const char *name);

/* Returns the offset of a parameter among the bytes of all. */
size_t rn_cu_kernel_offset(const struct rn_cu_kernel *k, unsigned param);

/* ------------------------------------------------------------------- work.c */
enum rn_cu_work_kind {
	RN_CU_MARK,
	RN_CU_COPY,
	RN_CU_FILL,
	RN_CU_WAIT_VALUE,
	RN_CU_WRITE_VALUE,
	RN_CU_FLUSH,
	RN_CU_CALL,
	RN_CU_CALLBACK,
	RN_CU_KERNEL,
	RN_CU_FREE,
};

/* @rows lines of @len bytes; @to_pitch and @from_pitch are the distances of lines. */
struct rn_cu_copy {
	uintptr_t to, from;
	size_t len, rows, to_pitch, from_pitch;
	/* The copy engine of which GPU; -1: that of the stream. */
	int device;
};

struct rn_cu_fill {
	uintptr_t to;
	size_t count, rows, pitch;
	uint32_t value;
	unsigned size;
};

struct rn_cu_value {
	uintptr_t at;
	uint64_t value;
	unsigned size, flags;
};

struct rn_cu_call {
	CUhostFn fn;
	CUstreamCallback callback;
	CUstream handle;
	void *arg;
};

struct rn_cu_start {
	const struct rn_cu_kernel *kernel;
	struct rn_cuda_launch launch;
	void **params;
	uint8_t *bytes;
};

/* An operation of a stream. */
struct rn_cu_work {
	struct rn_cu_op op;
	enum rn_cu_work_kind kind;
	struct CUctx_st *ctx;
	union {
		struct rn_cu_copy copy;
		struct rn_cu_fill fill;
		struct rn_cu_value value;
		struct rn_cu_call call;
		struct rn_cu_start start;
		uintptr_t freed; /* start of the memory */
	};
};

struct rn_cu_mark *rn_cu_mark_new(void);
void rn_cu_mark_put(struct rn_cu_mark *mark);

/* Waits until the mark is reached, and lets go of it. Returns its error. */
CUresult rn_cu_mark_wait(struct rn_cu_mark *mark);

/* Makes an operation; NULL: no memory. It is freed when it has ended. */
struct rn_cu_work *rn_cu_work_new(enum rn_cu_work_kind kind);
void rn_cu_work_free(struct rn_cu_work *w);

/* Puts the operation into the stream. If @must_wait, also waits for its end, and returns
 * its error, which then is none of the context.
 */
CUresult rn_cu_submit(struct CUstream_st *stream, struct rn_cu_work *w, bool must_wait);

/* Executes the operation; called without the lock. Returns 0 or -errno. */
int rn_cu_execute(struct rn_cu_work *w);

/* Says whether the value of a wait has come; may be called with the lock. */
bool rn_cu_has_value(const struct rn_cu_op *op, void *arg);

/* ----------------------------------------------------------------- worker.c */
/* Starts the threads of a device, if they do not run. */
CUresult rn_cu_workers_start(struct rn_cu_device *d);

/* ---------------------------------------------------------------- context.c */
CUresult rn_cu_context_create(struct CUctx_st **ctx, unsigned flags, CUdevice device);
CUresult rn_cu_primary_retain(struct rn_cu_device *d);

/* Waits until the context is idle, and destroys all that it has. @ctx itself is freed
 * unless it is a primary one.
 */
void rn_cu_context_destroy(struct CUctx_st *ctx);

/* --------------------------------------------------------------- identity.c */
/* Need no lock. @device must exist. */
void rn_cu_uuid(int device, CUuuid *uuid);
void rn_cu_name(int device, char *name, size_t len);
int rn_cu_bus(int device);
/* Writes "0000:41:00.0". */
void rn_cu_bus_id(int device, char *id, size_t len);
/* Returns the number of the GPU with that identifier; -1: none. */
int rn_cu_by_bus_id(const char *id);
/* Return: 0; -EINVAL: there is no such attribute. */
int rn_cu_attribute(struct rn_gpu *gpu, int device, int attr, int *value);

#endif /* RN_CU_PROCESS_H */
