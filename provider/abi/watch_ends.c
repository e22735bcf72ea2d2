/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_ends.c - the other end of a connection, if it is a QP of another process on this
 * host that runs with --validate, too.
 *
 * Each process writes its QPs and MRs to a file of its own in the runtime directory. It
 * looks into the files of the other processes of its network namespace when a QP sends
 * for the first time, and when a peer has refused access. A file is locked while its
 * process lives; a process that finds an unlocked file removes it. The data that is read
 * from the files of others is compared and printed, and nothing else depends on it. As
 * other processes can overwrite and truncate a file, its owner never reads it, but has a
 * copy in memory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "provider/validate/model/model.h"
#include "rocin/netdev.h"
#include "transport/io/host/runtime_dir.h"
#include "watch.h"

enum {
	MAGIC = 0x52564532, /* "RVE2"; changed whenever the layout changes */
	/* maximum number of objects that are published; others are not known to peers */
	SLOTS = 1 << 16,
	DEVICES = 16, /* maximum number of devices whose addresses are known */
	CHUNK = 64,   /* number of slots (struct slot) that are read at once */
	/* Number of receives of a QP up to which each post is published at once. These
	 * are usually the receives with which the program first fills the queue.
	 */
	ALL_TOLD = 256,
};

/* The record of an object in a file. The owner makes @turn odd, writes the record, and
 * makes @turn even again, so that readers notice a change.
 */
struct slot {
	uint32_t turn;
	/* used by the owner only: number of the next free slot, from 1; 0: there is none
	 */
	uint32_t next_free;
	struct rn_val_end end;
};

struct ends_file {
	uint32_t magic, slot_len;
	uint32_t process;
	uint32_t count;	  /* number of entries of @slot that were ever used */
	uint32_t windows; /* number of memory windows that exist */
	uint32_t reserved[11];
	struct slot slot[];
};

enum {
	FILE_LEN = sizeof(struct ends_file) + SLOTS * sizeof(struct slot)
};

/* The file in which this process publishes its QPs and MRs, and the addresses of its
 * devices. Guarded by the lock of the validation layer (watch.c).
 */
static struct {
	int fd;
	/* copy of the file in memory; NULL: this process does not publish its objects */
	struct ends_file *file;
	uint32_t first_free;
	char dir[RN_RUNTIME_PATH_MAX];
	char name[80]; /* name of the file in @dir: validate-<netns>.<process> */
	/* length of the part of @name that all processes of this network namespace share
	 */
	size_t prefix;
	struct device {
		/* number by which the validation layer knows the device */
		uint32_t number;
		uint32_t gid_count;
		union ibv_gid gid[RN_VAL_END_GIDS];
	} device[DEVICES];
	unsigned devices;
} own = { .fd = -1 };

/* ----------------------------------------------------- the file of this process */
/* Writes the changed part of own.file to the file. If the disk is full, the file keeps
 * its old contents, and nothing else happens.
 */
static void publish(const void *changed, size_t len)
{
	off_t at = (const char *)changed - (const char *)own.file;
	int before = errno;

	(void)!pwrite(own.fd, changed, len, at);
	errno = before;
}

/* Creates the file of this process. Other processes ignore files whose names begin with a
 * dot, so the file gets its real name only after it is locked.
 */
static bool open_own(void)
{
	char path[sizeof(own.dir) + sizeof(own.name)], hidden[sizeof(path) + 1];

	(void)snprintf(hidden, sizeof(hidden), "%s/.%s", own.dir, own.name);
	own.fd = rn_open_plain(AT_FDCWD, hidden, O_RDWR | O_CREAT | O_TRUNC);
	if (own.fd < 0 || flock(own.fd, LOCK_EX | LOCK_NB) || ftruncate(own.fd, FILE_LEN))
		return false;
	own.file = mmap(NULL, FILE_LEN, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (own.file == MAP_FAILED)
		own.file = NULL;
	if (!own.file)
		return false;
	own.file->slot_len = sizeof(struct slot);
	own.file->process = (uint32_t)getpid();
	own.file->magic = MAGIC;
	publish(own.file, sizeof(*own.file));
	(void)snprintf(path, sizeof(path), "%s/%s", own.dir, own.name);
	return rename(hidden, path) == 0;
}

void rnp_ends_stop(void)
{
	int dir;

	if (own.fd < 0)
		return;
	dir = open(own.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)unlinkat(dir, own.name, 0);
	if (dir >= 0)
		(void)close(dir);
	rnp_ends_leave();
}

/* The child of a fork() shares the lock of the file. It closes the file, so that the lock
 * does not outlive the parent.
 */
void rnp_ends_leave(void)
{
	if (own.file)
		(void)munmap(own.file, FILE_LEN);
	own.file = NULL;
	if (own.fd >= 0)
		(void)close(own.fd);
	own.fd = -1;
}

void rnp_ends_device(uint32_t number, const struct rn_netdev *dev)
{
	struct device *d = own.device;
	struct device *end = own.device + own.devices;

	while (d < end && d->number != number)
		d++;
	if (d == own.device + DEVICES)
		return;
	own.devices += d == end;
	d->number = number;
	d->gid_count =
		dev->gid_count < RN_VAL_END_GIDS ? dev->gid_count : RN_VAL_END_GIDS;
	memcpy(d->gid, dev->gid, d->gid_count * sizeof(*d->gid));
}

/* ---------------------------------------- publishing the objects of this process */
static uint32_t take_slot(void)
{
	uint32_t at = own.first_free, *count = &own.file->count;

	if (at) {
		own.first_free = own.file->slot[at - 1].next_free;
		return at;
	}
	if (*count == SLOTS)
		return 0;
	++*count;
	publish(count, sizeof(*count));
	return *count;
}

static void write_slot(uint32_t at, const struct rn_val_end *end)
{
	struct slot *s = &own.file->slot[at - 1];

	s->turn++;
	publish(&s->turn, sizeof(s->turn));
	s->end = *end;
	publish(&s->end, sizeof(s->end));
	s->turn++;
	publish(&s->turn, sizeof(s->turn));
}

static void remove_object(struct rn_val_object *o)
{
	write_slot(o->slot, &(struct rn_val_end){ .kind = RN_VAL_END_NONE });
	own.file->slot[o->slot - 1].next_free = own.first_free;
	own.first_free = o->slot;
	o->slot = 0;
}

static void fill_qp(struct rn_val_end *end, const struct rn_val_object *o)
{
	end->kind = RN_VAL_END_QP;
	end->number = o->number;
	end->qp.type = o->qp.type;
	end->qp.state = o->qp.state;
	end->qp.mask = o->qp.mask;
	end->qp.attr = o->qp.attr;
	end->qp.receives = o->qp.told_receives;
	end->qp.has_srq = rn_val_has_srq(o);
	for (unsigned i = 0; i < own.devices; i++) {
		if (own.device[i].number != end->device)
			continue;
		end->qp.gid_count = own.device[i].gid_count;
		memcpy(end->qp.gid, own.device[i].gid, sizeof(end->qp.gid));
	}
}

static void fill_mr(struct rn_val_end *end, const struct rn_val_object *o)
{
	end->kind = RN_VAL_END_MR;
	end->number = o->mr.rkey;
	end->mr.iova = o->mr.iova;
	end->mr.len = o->mr.len;
	end->mr.access = o->mr.access;
	end->mr.has_memory = o->mr.has_memory;
}

static void write_object(struct rn_val_object *o)
{
	const struct rn_val_object *context = rn_val_context_of(o), *pd = rn_val_pd_of(o);
	struct rn_val_end end = { .device = context ? context->number : 0,
				  .pd = pd ? pd->number : 0 };

	if (!o->slot)
		o->slot = take_slot();
	if (!o->slot)
		return;
	if (o->kind == RN_VAL_QP)
		fill_qp(&end, o);
	else
		fill_mr(&end, o);
	write_slot(o->slot, &end);
}

static void write_windows(uint32_t living)
{
	own.file->windows = living;
	publish(&own.file->windows, sizeof(own.file->windows));
}

/* Publishes the number of receives that were posted to a QP, for processes whose QPs send
 * to it. Each publication is a system call. So after the first ALL_TOLD receives, only
 * posts to a queue that seems to be empty are published: for those a peer may have
 * waited.
 */
static void write_receives(struct rn_val_object *o, uint32_t count)
{
	struct rn_val_end *end;

	if (o->kind != RN_VAL_QP || !o->slot)
		return;
	if (o->qp.told_receives >= ALL_TOLD && o->qp.recv.count > count)
		return;
	o->qp.told_receives = o->qp.recv.posted;
	end = &own.file->slot[o->slot - 1].end;
	end->qp.receives = o->qp.told_receives;
	publish(&end->qp.receives, sizeof(end->qp.receives));
}

void rnp_ends_told(const struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_object *o = e->object;

	if (!own.file || !o || e->rc)
		return;
	if (e->kind == RN_VAL_POST_RECV) {
		write_receives(o, e->post.count);
		return;
	}
	if (o->kind == RN_VAL_MW)
		write_windows(v->living_of[RN_VAL_MW]);
	if (o->kind != RN_VAL_QP && o->kind != RN_VAL_MR)
		return;
	if (!o->is_gone)
		write_object(o);
	else if (o->slot)
		remove_object(o);
}

/* ------------------------------------------ searching the files of other processes */
/* Reads the slots (struct slot) of another process's file from number @at on into @slot.
 * Returns the number of slots that were read.
 */
static uint32_t read_slots(int fd, uint32_t at, uint32_t count, struct slot *slot)
{
	uint32_t n = count - at < CHUNK ? count - at : CHUNK;
	off_t from = (off_t)(sizeof(struct ends_file) + (size_t)at * sizeof(*slot));

	return pread(fd, slot, n * sizeof(*slot), from) == (ssize_t)(n * sizeof(*slot))
		       ? n
		       : 0;
}

/* Reads a slot of another process's file again. Returns true if that process has not
 * changed it since it was read as @seen.
 */
static bool is_steady(int fd, uint32_t at, const struct slot *seen)
{
	struct slot now;

	return seen->turn % 2 == 0 && read_slots(fd, at, at + 1, &now) == 1 &&
	       now.turn == seen->turn;
}

/* The object that a search looks for. */
struct wanted {
	enum rn_val_end_kind kind;
	uint32_t number;
	const union ibv_gid *gid; /* if a QP is wanted: its GID */
	uint32_t process, device; /* if an MR is wanted: its process and device */
};

static bool is_wanted(const struct wanted *w, const struct rn_val_end *end)
{
	if (end->kind != w->kind || end->number != w->number)
		return false;
	if (w->kind == RN_VAL_END_MR)
		return end->device == w->device;
	for (uint32_t i = 0; i < end->qp.gid_count && i < RN_VAL_END_GIDS; i++)
		if (!memcmp(&end->qp.gid[i], w->gid, sizeof(*w->gid)))
			return true;
	return false;
}

static bool find_in(int fd, const struct wanted *w, struct rn_val_end *found)
{
	static struct slot slot[CHUNK]; /* guarded by the validation layer's lock */
	struct ends_file head;
	uint32_t n;

	if (w->kind == RN_VAL_END_NONE)
		return false;
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) || head.magic != MAGIC ||
	    head.slot_len != sizeof(*slot) || head.count > SLOTS ||
	    (w->kind == RN_VAL_END_MR && w->process != head.process))
		return false;
	for (uint32_t at = 0; at < head.count; at += n) {
		n = read_slots(fd, at, head.count, slot);
		if (!n)
			return false;
		for (uint32_t i = 0; i < n; i++) {
			if (!is_wanted(w, &slot[i].end) ||
			    !is_steady(fd, at + i, &slot[i]))
				continue;
			*found = slot[i].end;
			found->process = head.process;
			return true;
		}
	}
	found->process = head.process;
	found->has_windows = head.windows != 0;
	return false;
}

/* Opens the file of another process. If that process has ended, removes the file. */
static int open_other(int dir, const char *name)
{
	int fd = rn_open_plain(dir, name, O_RDONLY);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB))
		return fd;
	(void)unlinkat(dir, name, 0);
	(void)close(fd);
	return -1;
}

/* Looks into the files of all processes until the object is found. */
static bool find_anywhere(const struct wanted *w, struct rn_val_end *found)
{
	DIR *dir = opendir(own.dir);
	struct dirent *entry;
	bool is_found = false;

	while (dir && !is_found && (entry = readdir(dir))) {
		int fd = strncmp(entry->d_name, own.name, own.prefix) == 0
				 ? open_other(dirfd(dir), entry->d_name)
				 : -1;

		if (fd < 0)
			continue;
		is_found = find_in(fd, w, found);
		(void)close(fd);
	}
	if (dir)
		(void)closedir(dir);
	return is_found;
}

static bool find_without_end(const struct wanted *w, struct rn_val_end *found)
{
	bool is_found;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	is_found = own.file && find_anywhere(w, found);
	pthread_setcancelstate(cancel, NULL);
	return is_found;
}

static bool find_qp(const union ibv_gid *gid, uint32_t qpn, struct rn_val_end *found)
{
	return find_without_end(
		&(struct wanted){ .kind = RN_VAL_END_QP, .number = qpn, .gid = gid },
		found);
}

static bool find_mr(uint32_t process, uint32_t device, uint32_t rkey,
		    struct rn_val_end *found)
{
	return find_without_end(&(struct wanted){ .kind = RN_VAL_END_MR,
						  .number = rkey,
						  .process = process,
						  .device = device },
				found);
}

/* ------------------------------------------------- start and end of publishing */
void rnp_ends_start(void)
{
	char err[512], suffix[32];
	struct rn_val_end unused;

	if (rn_runtime_dir(own.dir, sizeof(own.dir), err, sizeof(err)))
		return;
	(void)snprintf(suffix, sizeof(suffix), ".%d", (int)getpid());
	rn_runtime_name(own.name, sizeof(own.name), "validate", suffix);
	own.prefix = strlen(own.name) - strlen(suffix) + 1;
	if (!open_own()) {
		rnp_ends_stop();
		return;
	}
	/* A process that was killed has left its file. Searching for an object of no kind
	 * removes such files.
	 */
	(void)find_anywhere(&(struct wanted){ .kind = RN_VAL_END_NONE }, &unused);
}

const struct rn_val_ends rnp_ends = { .find_qp = find_qp, .find_mr = find_mr };
