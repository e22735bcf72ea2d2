/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_double.c - a libcuda.so.1 for tests on machines without a GPU.
 *
 * What it is strict about is what programs could get wrong unnoticed on a real GPU:
 *
 * - Memory of the device is PROT_NONE at the address that programs get. Its bytes lie
 *   elsewhere, and only the copies of this library reach them.
 * - An asynchronous copy is made at the latest possible time: when its stream is
 *   synchronised, when an event behind it is asked for the third time, or when a host
 *   function behind it is due, 200 us after it was asked for. Until then the source must
 *   not change, or the wrong bytes arrive.
 * - A copy of another context's stream, a stream or event of a destroyed context, and an
 *   asynchronous copy from memory that is not pinned end the process with a sentence: the
 *   real library would crash, or would copy at once and hide the error.
 *
 * Two devices. Threads: any; one lock, not held in host functions.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum {
	OK = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	ALREADY_REGISTERED = 712,
	NOT_READY = 600,
	DESTROYED = 709,
	DEVICES = 2,
	/* an event is ready when it is asked for the third time */
	QUERIES = 3,
	HOST_TYPE = 1,
	DEVICE_TYPE = 2,
};

struct context {
	int device;
	bool is_dead;
};

enum kind {
	TO_DEVICE,
	TO_HOST,
	RECORD,
	WAIT,
	CALL
};

struct event {
	struct context *ctx;
	/* how often it was recorded, and the number of the last record that was reached
	 */
	uint64_t recorded, reached;
	unsigned queries;
};

struct command {
	struct command *next;
	enum kind kind;
	uint8_t *dst;
	const uint8_t *src;
	size_t len;
	struct event *event;
	uint64_t record; /* number of the record of @event */
	void (*fn)(void *arg);
	void *arg;
};

struct stream {
	struct stream *next;
	struct context *ctx;
	struct command *first, **last;
};

struct range {
	struct range *next;
	uint8_t *addr;	 /* what programs know */
	uint8_t *shadow; /* where the bytes are; equal to @addr for pinned memory */
	size_t len;
	int type, fd;
	uint64_t id;
	int sync_memops;
	struct context *ctx;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static struct stream *streams;
static struct range *ranges;
static struct context primary[DEVICES];
static unsigned calls_due;
static bool is_initialised;
static uint64_t last_id;
static __thread struct context *current;
/* What was current when contexts were pushed. */
static __thread struct context *below[16];
static __thread unsigned pushed;

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "cuda double: %s\n", why);
	abort();
}

static struct range *find(const void *addr, size_t len)
{
	const uint8_t *p = addr;

	for (struct range *r = ranges; r; r = r->next)
		if (p >= r->addr && len <= r->len &&
		    (size_t)(p - r->addr) <= r->len - len)
			return r;
	return NULL;
}

static uint8_t *shadow_of(uint64_t ptr, size_t len)
{
	const struct range *r = find((void *)(uintptr_t)ptr, len);

	return r && r->type == DEVICE_TYPE ? r->shadow + (ptr - (uintptr_t)r->addr)
					   : NULL;
}

/* ------------------------------------------------------------------ running commands */
static bool run_until(struct stream *s, const struct event *stop, uint64_t record);

/* Runs the commands of other streams up to a record of @e, if it is not reached. */
static void reach(const struct event *e, uint64_t record)
{
	for (struct stream *s = streams; s && e->reached < record; s = s->next)
		(void)run_until(s, e, record);
}

/* Runs one command. The lock is given up during a host function. */
static void run(struct command *c)
{
	switch (c->kind) {
	case TO_DEVICE:
	case TO_HOST:
		memcpy(c->dst, c->src, c->len);
		break;
	case RECORD:
		c->event->reached = c->record;
		break;
	case WAIT:
		reach(c->event, c->record);
		break;
	case CALL:
		calls_due--;
		pthread_mutex_unlock(&lock);
		c->fn(c->arg);
		pthread_mutex_lock(&lock);
		break;
	}
	free(c);
}

static bool is_record(const struct command *c, const struct event *e, uint64_t record)
{
	return e && c->kind == RECORD && c->event == e && c->record == record;
}

/* Runs the commands of a stream, all of them or up to a record of an event; none if it is
 * not there. Returns whether any were run.
 */
static bool run_until(struct stream *s, const struct event *stop, uint64_t record)
{
	bool has_it = false;

	for (const struct command *c = s->first; c && !has_it; c = c->next)
		has_it = !stop || is_record(c, stop, record);
	while (has_it && s->first) {
		struct command *c = s->first;
		const bool is_stop = is_record(c, stop, record);

		s->first = c->next;
		if (!s->first)
			s->last = &s->first;
		run(c);
		if (is_stop)
			break;
	}
	return has_it;
}

/* The thread of the driver that calls host functions. */
static void *serve(void *arg)
{
	const struct timespec pause = { .tv_nsec = 200000 };

	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!calls_due)
			pthread_cond_wait(&work, &lock);
		pthread_mutex_unlock(&lock);
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&lock);
		for (struct stream *s = streams; s; s = s->next) {
			bool has_call = false;

			for (const struct command *c = s->first; c; c = c->next)
				has_call |= c->kind == CALL;
			if (has_call && !s->ctx->is_dead)
				(void)run_until(s, NULL, 0);
		}
	}
	return NULL;
}

static void add(struct stream *s, struct command command)
{
	struct command *c = malloc(sizeof(*c));

	if (!c)
		die("no memory");
	*c = command;
	c->next = NULL;
	*s->last = c;
	s->last = &c->next;
}

static void check_stream(const struct stream *s)
{
	if (s->ctx->is_dead)
		die("a stream of a destroyed context is used");
	if (s->ctx != current)
		die("a stream is used while another context is current");
}

/* ---------------------------------------------------------------- devices, contexts */
API int cuInit(unsigned flags)
{
	pthread_t thread;

	(void)flags;
	pthread_mutex_lock(&lock);
	if (!is_initialised && pthread_create(&thread, NULL, serve, NULL) == 0) {
		pthread_detach(thread);
		for (int i = 0; i < DEVICES; i++)
			primary[i] = (struct context){ .device = i, .is_dead = true };
		is_initialised = true;
	}
	pthread_mutex_unlock(&lock);
	return OK;
}

API int cuDeviceGetCount(int *count)
{
	*count = DEVICES;
	return is_initialised ? OK : NOT_INITIALIZED;
}

API int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return ordinal >= 0 && ordinal < DEVICES ? OK : INVALID_DEVICE;
}

API int cuDeviceGetName(char *name, int len, int device)
{
	snprintf(name, (size_t)len, "double of GPU %d", device);
	return OK;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	(void)attribute, (void)device;
	*value = 1;
	return OK;
}

API int cuDevicePrimaryCtxRetain(struct context **ctx, int device)
{
	if (device < 0 || device >= DEVICES)
		return INVALID_DEVICE;
	primary[device].is_dead = false;
	*ctx = &primary[device];
	return OK;
}

API int cuCtxCreate_v2(struct context **ctx, unsigned flags, int device)
{
	(void)flags;
	*ctx = calloc(1, sizeof(**ctx));
	if (!*ctx)
		return OUT_OF_MEMORY;
	(*ctx)->device = device;
	current = *ctx;
	return OK;
}

static void drop_range(struct range **at);

/* Ends all that belongs to the context. Its memory stays for whoever uses it wrongly. */
static void end_context(struct context *ctx)
{
	struct range **at = &ranges;

	pthread_mutex_lock(&lock);
	for (struct stream *s = streams; s; s = s->next) {
		while (s->ctx == ctx && s->first) {
			struct command *c = s->first;

			s->first = c->next;
			calls_due -= c->kind == CALL;
			free(c);
		}
		if (!s->first)
			s->last = &s->first;
	}
	while (*at) {
		if ((*at)->ctx == ctx)
			drop_range(at);
		else
			at = &(*at)->next;
	}
	ctx->is_dead = true;
	pthread_mutex_unlock(&lock);
}

API int cuCtxDestroy_v2(struct context *ctx)
{
	end_context(ctx);
	if (current == ctx)
		current = NULL;
	return OK;
}

API int cuDevicePrimaryCtxReset_v2(int device)
{
	end_context(&primary[device]);
	return OK;
}

API int cuCtxSetCurrent(struct context *ctx)
{
	current = ctx;
	return OK;
}

API int cuCtxGetCurrent(struct context **ctx)
{
	*ctx = current;
	return OK;
}

API int cuCtxGetDevice(int *device)
{
	if (!current)
		return INVALID_CONTEXT;
	*device = current->device;
	return OK;
}

API int cuCtxPushCurrent_v2(struct context *ctx)
{
	if (ctx->is_dead)
		die("a destroyed context is pushed");
	if (pushed == sizeof(below) / sizeof(below[0]))
		die("too many contexts are pushed");
	below[pushed++] = current;
	current = ctx;
	return OK;
}

API int cuCtxPopCurrent_v2(struct context **ctx)
{
	if (!pushed)
		return INVALID_CONTEXT;
	*ctx = current;
	current = below[--pushed];
	return OK;
}

API int cuThreadExchangeStreamCaptureMode(int *mode)
{
	static __thread int mine;
	const int before = mine;

	mine = *mode;
	*mode = before;
	return OK;
}

API int cuGetErrorName(int result, const char **name)
{
	*name = result == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR";
	return OK;
}

/* ---------------------------------------------------------------------------- memory */
static struct range *new_range(void *addr, size_t len, int type)
{
	struct range *r = calloc(1, sizeof(*r));

	if (!r)
		die("no memory");
	*r = (struct range){ .addr = addr,
			     .shadow = addr,
			     .len = len,
			     .type = type,
			     .fd = -1,
			     .ctx = current };
	pthread_mutex_lock(&lock);
	r->id = ++last_id;
	r->next = ranges;
	ranges = r;
	pthread_mutex_unlock(&lock);
	return r;
}

static void drop_range(struct range **at)
{
	struct range *r = *at;

	*at = r->next;
	if (r->type == DEVICE_TYPE) {
		munmap(r->addr, r->len);
		munmap(r->shadow, r->len);
		close(r->fd);
	}
	free(r);
}

API int cuMemAlloc_v2(uint64_t *ptr, size_t len)
{
	const size_t room = (len + 0xffff) & ~(size_t)0xffff;
	struct range *r;
	void *addr, *shadow;
	int fd;

	if (!current || current->is_dead)
		return INVALID_CONTEXT;
	fd = memfd_create("cuda-double", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)room))
		return OUT_OF_MEMORY;
	shadow = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	addr = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (shadow == MAP_FAILED || addr == MAP_FAILED)
		return OUT_OF_MEMORY;
	r = new_range(addr, room, DEVICE_TYPE);
	r->shadow = shadow;
	r->fd = fd;
	*ptr = (uintptr_t)addr;
	return OK;
}

static int drop_at(const void *addr, int type)
{
	int rc = INVALID_VALUE;

	pthread_mutex_lock(&lock);
	for (struct range **at = &ranges; *at; at = &(*at)->next)
		if ((*at)->addr == addr && (*at)->type == type) {
			drop_range(at);
			rc = OK;
			break;
		}
	pthread_mutex_unlock(&lock);
	return rc;
}

API int cuMemFree_v2(uint64_t ptr)
{
	/* As the real function does, wait for all copies. */
	pthread_mutex_lock(&lock);
	for (struct stream *s = streams; s; s = s->next)
		(void)run_until(s, NULL, 0);
	pthread_mutex_unlock(&lock);
	return drop_at((void *)(uintptr_t)ptr, DEVICE_TYPE);
}

API int cuMemHostRegister_v2(void *addr, size_t len, unsigned flags)
{
	(void)flags;
	if (!current)
		return INVALID_CONTEXT;
	pthread_mutex_lock(&lock);
	if (find(addr, 1)) {
		pthread_mutex_unlock(&lock);
		return ALREADY_REGISTERED;
	}
	pthread_mutex_unlock(&lock);
	(void)new_range(addr, len, HOST_TYPE);
	return OK;
}

API int cuMemHostUnregister(void *addr)
{
	return drop_at(addr, HOST_TYPE);
}

/* The descriptor has the length of the range and cannot be mapped for writing. */
API int cuMemGetHandleForAddressRange(void *handle, uint64_t ptr, size_t len, int type,
				      unsigned long long flags)
{
	int fd;

	(void)flags;
	if (type != 1 || !shadow_of(ptr, len))
		return INVALID_VALUE;
	fd = memfd_create("dmabuf-double", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)len) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK))
		return OUT_OF_MEMORY;
	*(int *)handle = fd;
	return OK;
}

/* Stores the value of one attribute; 0 if there is no memory of CUDA. */
static void answer(const struct range *r, int attribute, void *value)
{
	switch (attribute) {
	case 1: /* context */
		*(struct context **)value = r ? r->ctx : NULL;
		break;
	case 2: /* type of memory */
		*(unsigned *)value = r ? (unsigned)r->type : 0;
		break;
	case 6:
		*(unsigned *)value = r ? (unsigned)r->sync_memops : 0;
		break;
	case 7: /* number of the allocation */
		*(uint64_t *)value = r ? r->id : 0;
		break;
	case 8: /* managed; one byte in some versions of the documentation */
		*(bool *)value = false;
		break;
	case 9: /* ordinal of the device */
		*(int *)value = r ? r->ctx->device : -2;
		break;
	case 11:
		*(uint64_t *)value = r ? (uintptr_t)r->addr : 0;
		break;
	case 12:
		*(size_t *)value = r ? r->len : 0;
		break;
	default:
		die("an attribute that the double does not know");
	}
}

API int cuPointerGetAttributes(unsigned count, const int *attributes, void **data,
			       uint64_t ptr)
{
	const struct range *r;

	if (!is_initialised)
		return NOT_INITIALIZED;
	pthread_mutex_lock(&lock);
	r = find((void *)(uintptr_t)ptr, 1);
	for (unsigned i = 0; i < count; i++)
		answer(r, attributes[i], data[i]);
	pthread_mutex_unlock(&lock);
	return OK;
}

API int cuPointerGetAttribute(void *value, int attribute, uint64_t ptr)
{
	const struct range *r;

	pthread_mutex_lock(&lock);
	r = find((void *)(uintptr_t)ptr, 1);
	if (r)
		answer(r, attribute, value);
	pthread_mutex_unlock(&lock);
	return r ? OK : INVALID_VALUE;
}

API int cuPointerSetAttribute(const void *value, int attribute, uint64_t ptr)
{
	struct range *r;

	pthread_mutex_lock(&lock);
	r = find((void *)(uintptr_t)ptr, 1);
	if (r && attribute == 6)
		r->sync_memops = *(const int *)value;
	pthread_mutex_unlock(&lock);
	return r && attribute == 6 ? OK : INVALID_VALUE;
}

/* ------------------------------------------------------------------ copies, streams */
static int copy_now(uint8_t *to, const uint8_t *from, size_t len)
{
	if (!to || !from)
		return INVALID_VALUE;
	memcpy(to, from, len);
	return OK;
}

API int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t len)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = copy_now(shadow_of(dst, len), src, len);
	pthread_mutex_unlock(&lock);
	return rc;
}

API int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t len)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = copy_now(dst, shadow_of(src, len), len);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int copy_later(struct stream *s, enum kind kind, uint8_t *dst, const uint8_t *src,
		      size_t len, const void *host)
{
	const struct range *pinned = find(host, len);

	if (!dst || !src)
		return INVALID_VALUE;
	check_stream(s);
	if (!pinned || pinned->type != HOST_TYPE)
		die("an asynchronous copy to or from memory that is not pinned");
	add(s, (struct command){ .kind = kind, .dst = dst, .src = src, .len = len });
	return OK;
}

API int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t len, struct stream *s)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = copy_later(s, TO_DEVICE, shadow_of(dst, len), src, len, src);
	pthread_mutex_unlock(&lock);
	return rc;
}

API int cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t len, struct stream *s)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = copy_later(s, TO_HOST, dst, shadow_of(src, len), len, dst);
	pthread_mutex_unlock(&lock);
	return rc;
}

API int cuStreamCreate(struct stream **stream, unsigned flags)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s || flags != 1)
		die("a stream that waits for the default stream");
	s->ctx = current;
	s->last = &s->first;
	pthread_mutex_lock(&lock);
	s->next = streams;
	streams = s;
	pthread_mutex_unlock(&lock);
	*stream = s;
	return OK;
}

API int cuStreamDestroy_v2(struct stream *s)
{
	pthread_mutex_lock(&lock);
	(void)run_until(s, NULL, 0);
	pthread_mutex_unlock(&lock);
	return OK; /* stays in the list, empty */
}

API int cuStreamSynchronize(struct stream *s)
{
	pthread_mutex_lock(&lock);
	check_stream(s);
	(void)run_until(s, NULL, 0);
	pthread_mutex_unlock(&lock);
	return OK;
}

API int cuCtxSynchronize(void)
{
	pthread_mutex_lock(&lock);
	for (struct stream *s = streams; s; s = s->next)
		if (s->ctx == current)
			(void)run_until(s, NULL, 0);
	pthread_mutex_unlock(&lock);
	return OK;
}

API int cuStreamWaitEvent(struct stream *s, struct event *e, unsigned flags)
{
	(void)flags;
	pthread_mutex_lock(&lock);
	check_stream(s);
	add(s, (struct command){ .kind = WAIT, .event = e, .record = e->recorded });
	pthread_mutex_unlock(&lock);
	return OK;
}

API int cuLaunchHostFunc(struct stream *s, void (*fn)(void *arg), void *arg)
{
	pthread_mutex_lock(&lock);
	check_stream(s);
	add(s, (struct command){ .kind = CALL, .fn = fn, .arg = arg });
	calls_due++;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
	return OK;
}

API int cuEventCreate(struct event **event, unsigned flags)
{
	(void)flags;
	*event = calloc(1, sizeof(**event));
	if (!*event)
		return OUT_OF_MEMORY;
	(*event)->ctx = current;
	return OK;
}

API int cuEventDestroy_v2(struct event *event)
{
	free(event);
	return OK;
}

API int cuEventRecord(struct event *e, struct stream *s)
{
	pthread_mutex_lock(&lock);
	check_stream(s);
	e->recorded++;
	e->queries = 0;
	add(s, (struct command){ .kind = RECORD, .event = e, .record = e->recorded });
	pthread_mutex_unlock(&lock);
	return OK;
}

API int cuEventQuery(struct event *e)
{
	int rc;

	pthread_mutex_lock(&lock);
	if (e->ctx->is_dead)
		die("an event of a destroyed context is asked for");
	if (e->reached < e->recorded && ++e->queries >= QUERIES)
		reach(e, e->recorded);
	rc = e->reached == e->recorded ? OK : NOT_READY;
	pthread_mutex_unlock(&lock);
	return rc;
}

/* --------------------------------------- what programs want that look up all functions
 */
API int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return OK;
}

API int cuDeviceGetByPCIBusId(int *device, const char *bus)
{
	(void)bus;
	*device = 0;
	return OK;
}

API int cuMemAllocHost_v2(void **ptr, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		return OUT_OF_MEMORY;
	(void)new_range(p, len, HOST_TYPE);
	*ptr = p;
	return OK;
}

API int cuMemFreeHost(void *ptr)
{
	return drop_at(ptr, HOST_TYPE);
}

API int cuMemAllocManaged(uint64_t *ptr, size_t len, unsigned flags)
{
	(void)ptr, (void)len, (void)flags;
	return OUT_OF_MEMORY;
}

/* Copies between any two addresses, each of a GPU or of the CPU. */
API int cuMemcpy(uint64_t dst, uint64_t src, size_t len)
{
	uint8_t *to, *from;

	pthread_mutex_lock(&lock);
	to = shadow_of(dst, len);
	from = shadow_of(src, len);
	(void)copy_now(to ? to : (uint8_t *)(uintptr_t)dst,
		       from ? from : (uint8_t *)(uintptr_t)src, len);
	pthread_mutex_unlock(&lock);
	return OK;
}

API int cuMemcpyDtoD_v2(uint64_t dst, uint64_t src, size_t len)
{
	return cuMemcpy(dst, src, len);
}

/* Finds a function by its name without a version; the newest version is meant. */
API int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags,
			 int *status)
{
	Dl_info self = { 0 };
	char versioned[64];
	void *me;

	(void)version, (void)flags;
	if (!dladdr(&lock, &self))
		return 500;
	me = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	snprintf(versioned, sizeof(versioned), "%s_v2", name);
	*function = dlsym(me, versioned);
	if (!*function)
		*function = dlsym(me, name);
	if (status)
		*status = *function ? 0 : 1;
	return *function ? OK : 500;
}
