/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine.c - the engines of this process: their creation, attaching to rocind, their
 * multicast groups, fork() and exit.
 */
#include "engine.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "engine_internal.h"
#include "rocin/crc32.h"
#include "rocin/peer_info.h"
#include "rocin/transport.h"
#include "transport/io/host/log.h"
#include "transport/io/memory/speed.h"

enum {
	RCVBUF_WANTED = 8 << 20,
	RCVBUF_STOCK = 212992, /* default of net.core.rmem_default */
	EXIT_TRIES = 50,
	/* Size of a page in bytes. An engine and its device get whole pages, so that they
	 * share no page with memory of the program: the PCIe sanitizer may protect pages
	 * of the program.
	 */
	PAGE = 4096,
};

/* --------------------------------------------------------- state of the process */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static _Atomic(struct rnp_process *) page;

/* Zeroes the page with struct rnp_process in a fork() child. Linux does so itself since
 * 4.14 (MADV_WIPEONFORK); this function serves older kernels.
 */
static void wipe(void)
{
	struct rnp_process *p = atomic_load(&page);

	memset(p, 0, sizeof(*p));
}

static struct rnp_process *new_page(void)
{
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	struct rnp_process *expected = NULL;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	bool is_wiped;

	if (p == MAP_FAILED)
		return NULL;
	is_wiped = madvise(p, len, MADV_WIPEONFORK) == 0;
	/* Another thread may have installed a page first. */
	if (!atomic_compare_exchange_strong(&page, &expected, p)) {
		munmap(p, len);
		return expected;
	}
	if (!is_wiped && pthread_atfork(NULL, NULL, wipe) != 0) {
		atomic_store(&page, NULL);
		munmap(p, len);
		return NULL;
	}
	return p;
}

/* Returns the page with struct rnp_process, or NULL if there is none yet. */
static struct rnp_process *process_if_any(void)
{
	return atomic_load(&page);
}

struct rnp_process *rnp_process(void)
{
	struct rnp_process *p = atomic_load(&page);

	return p ? p : new_page();
}

/* Takes the lock in the page of struct rnp_process, and sets the epoch there if it is not
 * set. The lock of a new page is usable, as a zeroed glibc mutex is an unlocked one.
 */
void rnp_process_lock(struct rnp_process *p)
{
	struct timespec ts;

	pthread_mutex_lock(&p->lock);
	if (atomic_load(&p->epoch) != 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	/* The epoch is the time at which this process first used Rocin. If it was forked
	 * from a process that used Rocin, that process began earlier and so has another
	 * epoch.
	 */
	atomic_store(&p->epoch, (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec);
}

void rnp_process_unlock(struct rnp_process *p)
{
	pthread_mutex_unlock(&p->lock);
}

bool rnp_engine_forked(const struct rnp_engine *e)
{
	return rnp_is_inherited(e);
}

/* @nobody is an rnp_process whose epoch stays 0. @gone is an engine with another epoch,
 * so rnp_engine_forked() returns true for it, and all verbs on it fail.
 */
static struct rnp_process nobody;
static struct rnp_engine gone;

static void init_gone(void)
{
	gone.process = &nobody;
	gone.epoch = 1;
}

struct rnp_engine *rnp_engine_gone(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init_gone);
	return &gone;
}

bool rnp_engine_dead(const struct rnp_engine *e)
{
	return atomic_load(&e->dead);
}

void rnp_engine_lock(struct rnp_engine *e)
{
	rnp_front_lock(&e->front);
}

void rnp_engine_unlock(struct rnp_engine *e)
{
	rnp_front_unlock(&e->front);
}

const struct rn_netdev *rnp_engine_netdev(const struct rnp_engine *e)
{
	return &e->netdev;
}

struct rnp_path_mtu *rnp_engine_paths(struct rnp_engine *e)
{
	return &e->paths;
}

const struct rnp_pcie *rnp_engine_pcie(const struct rnp_engine *e)
{
	return &e->pcie;
}

const struct rnp_persona *rnp_engine_persona(const struct rnp_engine *e)
{
	return e->set.persona;
}

struct rnp_raw_link *rnp_engine_raw(struct rnp_engine *e)
{
	return &e->raw;
}

struct rn_dev *rnp_engine_dev(struct rnp_engine *e)
{
	return e->dev;
}

/* ------------------------------------------------------- creation of an engine */
/* Returns the size in bytes of the receive buffer that the kernel gives to a socket that
 * requests @wanted bytes, as the sockets of rocind do.
 */
static uint32_t probe_rcvbuf(int wanted)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int size = wanted;
	socklen_t len = sizeof(size);

	if (fd < 0)
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return RCVBUF_STOCK;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len) < 0)
		size = RCVBUF_STOCK;
	close(fd);
	return (uint32_t)size;
}

static int find_netdev(struct rnp_engine *e, const char *ibdev, char *err, size_t err_len)
{
	struct rn_netdev devs[RN_NETDEV_MAX];
	int n = rn_netdev_discover(e->set.netdevs, devs, RN_NETDEV_MAX, err, err_len);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		if (strcmp(devs[i].ibdev, ibdev) != 0)
			continue;
		e->netdev = devs[i];
		memcpy(e->gid, devs[i].gid, devs[i].gid_count * sizeof(e->gid[0]));
		return 0;
	}
	return rn_fail(err, err_len, -ENODEV,
		       "there is no device %s; ROCIN_NETDEVS (\"%s\") names %d", ibdev,
		       e->set.netdevs ? e->set.netdevs : "lo", n);
}

bool rnp_engine_sends_credits(const struct rnp_engine *e)
{
	return e->set.credits;
}

static int watch_frames(void *arg, int fd)
{
	struct rnp_engine *e = arg;

	return rnp_background_add(e, fd, RNP_TAG_SOCKET, e->policy.turn == RNP_ARMED);
}

static void unwatch_frames(void *arg, int fd)
{
	rnp_background_remove(arg, fd);
}

static void init_raw(struct rnp_engine *e)
{
	e->raw = (struct rnp_raw_link){
		.dev = e->dev,
		.netdev = &e->netdev,
		.counter = e->stats.page->counter,
		.watch = watch_frames,
		.unwatch = unwatch_frames,
		.arg = e,
	};
}

static int make_device(struct rnp_engine *e, char *err, size_t err_len)
{
	uint32_t mtu = rn_netdev_path_mtu(e->netdev.mtu);
	struct rnp_budget b;
	struct rn_dev_cfg cfg = {
		.gid_count = RN_GID_MAX,
		.ifindex = e->netdev.ifindex,
		.mtu_max = mtu,
		.icrc_exact = e->set.icrc_exact,
		.credits = e->set.credits,
		.timeout_scale = e->set.timeout_scale,
		.cc = e->set.cc,
		.cc_line = e->set.cc_line,
		.stats = e->stats.page->counter,
	};

	if (mtu == 0)
		return rn_fail(err, err_len, -EINVAL,
			       "interface %s has an MTU of %u bytes, which is too small",
			       e->netdev.ifname, e->netdev.mtu);
	b = rnp_settings_budget(
		&e->set, probe_rcvbuf(e->set.rcvbuf ? (int)e->set.rcvbuf : RCVBUF_WANTED),
		mtu);
	cfg.window_start = b.window_start;
	cfg.window_min = b.window_min;
	cfg.window_max = b.window_max;
	cfg.read_window = b.read_window;
	cfg.read_chunk = b.read_chunk;
	if (cfg.cc && !cfg.cc_line)
		cfg.cc_line = rn_netdev_rate(e->netdev.ifname);
	memcpy(cfg.gid, e->gid, sizeof(cfg.gid));
	rnp_set_memory(&cfg, &e->pcie);

	e->dev = aligned_alloc(PAGE, (rn_dev_size() + PAGE - 1) / PAGE * PAGE);
	if (!e->dev)
		return rn_fail(err, err_len, -ENOMEM, "no memory for device %s",
			       e->netdev.ibdev);
	if (rn_dev_init(e->dev, &cfg)) {
		free(e->dev);
		e->dev = NULL;
		return rn_fail(err, err_len, -EINVAL,
			       "the settings of device %s do not fit", e->netdev.ibdev);
	}
	rnp_tx_batch_init(&e->batch, e->dev, e->gid, cfg.stats);
	init_raw(e);
	return 0;
}

/* Wakes the background thread, so that it collects memory accesses that have ended. Any
 * thread may call it.
 */
static void wake_for_memory(void *arg)
{
	rnp_background_wake(arg);
}

static int open_pcie(struct rnp_engine *e, const char *ibdev, char *err, size_t err_len)
{
	const struct rn_host_nic_cfg cfg = {
		.name = ibdev,
		.wake = wake_for_memory,
		.arg = e,
		.counter = &e->stats.page->counter[RN_STAT_PCIE_DOORBELLS],
	};
	int rc;

	static_assert(RN_STAT_PCIE_MTT_MISSES - RN_STAT_PCIE_DOORBELLS + 1 ==
			      RN_HOST_COUNTERS,
		      "the counters of the hierarchy lie side by side");
	rc = rnp_pcie_open(&e->pcie, e->set.pcie, &cfg, err, err_len);
	if (!rc)
		rnp_pcie_open_cuda(&e->pcie, wake_for_memory, e);
	return rc;
}

int rnp_engine_join_cuda(struct rnp_engine *e)
{
	int cancel, rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_lock(e);
	rc = rnp_pcie_join_cuda(&e->pcie, e->dev, wake_for_memory, e);
	rnp_engine_unlock(e);
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

void rnp_engine_close_raw(struct rnp_engine *e)
{
	struct rnp_raw_retired retired;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_lock(e);
	retired = e->raw.retired;
	e->raw.retired = (struct rnp_raw_retired){ 0 };
	rnp_engine_unlock(e);
	rnp_raw_close(&retired);
	pthread_setcancelstate(cancel, NULL);
}

static void destroy_engine(struct rnp_engine *e)
{
	bool ended;

	rnp_pcie_close(&e->pcie); /* closed first, as it may still wake the thread */
	ended = rnp_background_stop(e);
	/* Sockets are closed before rocind can assign the slot (process number) to
	 * another process.
	 */
	rnp_wire_close(&e->wire);
	rnp_icmp_probe_end(&e->icmp_probe);
	rn_rocind_close(e->rocind);
	rnp_engine_close_raw(e);
	rnp_fault_free(e);
	rnp_path_mtu_close(&e->paths);
	if (e->dev)
		rn_dev_fini(e->dev);
	free(e->dev);
	free(e->tree);
	rnp_stats_close(&e->stats);
	if (!ended) /* not freed, because the thread still uses the engine */
		return;
	free(e);
}

/* Chooses the instructions by which packets are copied and summed: at most those of
 * @level and, of these, what is the fastest on this machine now. The measurement takes
 * some 50 us, and is made for the first device of the process.
 */
static void choose_instructions(enum rn_cpu_level level)
{
	static atomic_flag is_measured = ATOMIC_FLAG_INIT;
	struct rn_speed speed;

	rn_cpu_limit(level);
	if (!atomic_flag_test_and_set(&is_measured) && rn_speed_measure(&speed))
		rn_crc32_use(rn_speed_fastest(&speed));
}

static struct rnp_engine *create_engine(struct rnp_process *process, const char *ibdev,
					char *err, size_t err_len)
{
	struct rnp_engine *e = aligned_alloc(PAGE, (sizeof(*e) + PAGE - 1) / PAGE * PAGE);
	int rc;

	if (!e) {
		errno = -rn_fail(err, err_len, -ENOMEM, "no memory for device %s", ibdev);
		return NULL;
	}
	memset(e, 0, sizeof(*e));
	e->process = process;
	e->epoch = atomic_load(&process->epoch);
	e->timer_fd = e->wake_fd = -1;
	rnp_wait_init(&e->wait);
	rnp_icmp_probe_init(&e->icmp_probe);
	e->stats.fd = e->stats.share_fd = -1;
	rc = rnp_settings_read(&e->set, err, err_len);
	if (!rc)
		choose_instructions(e->set.cpu);
	if (!rc && e->set.tree)
		e->tree = strdup(e->set.tree); /* copied, as the environment may change */
	if (!rc)
		rc = find_netdev(e, ibdev, err, err_len);
	if (!rc && rnp_stats_open(&e->stats, ibdev))
		rc = rn_fail(err, err_len, -ENOMEM, "no memory for device %s", ibdev);
	if (!rc)
		rc = rnp_fault_open(e, err, err_len);
	if (!rc)
		rc = open_pcie(e, ibdev, err, err_len);
	if (!rc)
		rc = make_device(e, err, err_len);
	if (!rc)
		return e;
	destroy_engine(e);
	errno = -rc;
	return NULL;
}

/* ------------------------------------------------ sharing and releasing an engine */
static struct rnp_engine *find_engine(const struct rnp_process *process,
				      const char *ibdev)
{
	struct rnp_engine *e = process->engines;

	while (e && strcmp(e->netdev.ibdev, ibdev) != 0)
		e = e->next;
	return e;
}

static int add_owner(struct rnp_engine *e, const struct rnp_engine_hooks *hooks,
		     void *owner)
{
	struct rnp_owner *o = malloc(sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->owner = owner;
	rnp_engine_lock(e);
	e->hooks = hooks;
	o->next = e->owners;
	e->owners = o;
	rnp_engine_unlock(e);
	return 0;
}

static void remove_owner_locked(struct rnp_engine *e, const void *owner)
{
	struct rnp_owner **at = &e->owners;
	struct rnp_owner *found;

	while (*at && (*at)->owner != owner)
		at = &(*at)->next;
	found = *at;
	assert(found);
	*at = found->next;
	free(found);
}

static struct rnp_engine *get_locked(struct rnp_process *process, const char *ibdev,
				     char *err, size_t err_len)
{
	struct rnp_engine *e = find_engine(process, ibdev);

	/* A dead engine is replaced by a new one for new contexts, and remains for those
	 * that use it.
	 */
	if (e && !rnp_engine_dead(e))
		return e;
	e = create_engine(process, ibdev, err, err_len);
	if (!e)
		return NULL;
	e->next = process->engines;
	process->engines = e;
	return e;
}

static void unlink_engine(struct rnp_process *process, const struct rnp_engine *e)
{
	struct rnp_engine **at = &process->engines;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
}

static void drop_if_unowned(struct rnp_process *process, struct rnp_engine *e)
{
	if (e->owners)
		return;
	unlink_engine(process, e);
	destroy_engine(e);
}

struct rnp_engine *rnp_engine_get(const char *ibdev, const struct rnp_engine_hooks *hooks,
				  void *owner, char *err, size_t err_len)
{
	struct rnp_process *process = rnp_process();
	struct rnp_engine *e;

	if (!process) {
		errno = -rn_fail(err, err_len, -ENOMEM, "no memory for device %s", ibdev);
		return NULL;
	}
	rnp_process_lock(process);
	e = get_locked(process, ibdev, err, err_len);
	if (e && add_owner(e, hooks, owner)) {
		drop_if_unowned(process, e);
		errno = -rn_fail(err, err_len, -ENOMEM, "no memory for device %s", ibdev);
		e = NULL;
	}
	rnp_process_unlock(process);
	return e;
}

void rnp_engine_put(struct rnp_engine *e, void *owner)
{
	struct rnp_process *process = e->process;
	int cancel;

	if (rnp_engine_forked(e))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_process_lock(process);
	rnp_engine_lock(e);
	remove_owner_locked(e, owner);
	if (!e->owners) {
		rnp_engine_send_last(e);
		e->closing = true;
	}
	rnp_engine_unlock(e);
	drop_if_unowned(process, e);
	rnp_process_unlock(process);
	pthread_setcancelstate(cancel, NULL);
}

/* ------------------------------------------------------------ attaching to rocind */
int rnp_engine_start(struct rnp_engine *e, const struct rn_attach *a, char *err,
		     size_t err_len)
{
	int sock[RN_GID_MAX];
	struct rn_udp_cfg cfg = {
		/* room for the maximum number of sockets, as addresses may be added later
		 */
		.sock_count = RN_GID_MAX,
		.sock = sock,
		.gid = e->gid,
		.ifindex = e->netdev.ifindex,
		.gso = e->set.gso,
		/* With ROCIN_ICRC=exact no socket is connected: a peer that checks ICRCs
		 * as strictly would lose the first packet of a connected socket.
		 */
		.connected = !e->set.icrc_exact,
		.uring = e->set.io == RNP_IO_URING,
		.own_port = a->own_port,
		.stats = e->stats.page->counter,
	};
	struct rn_local_cfg local;
	bool has_local = rnp_local_cfg(e, a->slot, &local);
	int rc;

	for (unsigned i = 0; i < RN_GID_MAX; i++) {
		sock[i] = i < a->sock_count ? a->sock[i] : -1;
		rnp_limit_socket(e, sock[i]);
	}
	rc = rnp_wire_open(&e->wire, &cfg, has_local ? &local : NULL, &e->set, err,
			   err_len);
	if (rc)
		return rc;
	rc = rnp_capture_start(e, a->slot, err, err_len);
	if (!rc)
		rc = rnp_fault_start(e, a->qpn_counter, err, err_len);
	if (rc) {
		rnp_wire_close(&e->wire);
		return rc;
	}
	rnp_qpns_init(&e->qpns, a->slot, a->qpn_counter, a->qpn_secret);
	e->stats.page->slot = a->slot;
	e->stats.page->icrc = e->set.icrc_exact ? RN_PEER_ICRC_EXACT : RN_PEER_ICRC_SOLVE;
	rnp_policy_init(&e->policy);
	e->poller_at = -1;
	e->attached = true;
	rc = rnp_background_start(e, err, err_len);
	if (rc) {
		e->attached = false;
		rnp_wire_close(&e->wire);
	}
	return rc;
}

static int attach_locked(struct rnp_engine *e, char *err, size_t err_len)
{
	const struct rnp_stats *stats = &e->stats;
	struct rn_attach a;
	int rc;

	e->rocind = rn_rocind_connect(NULL, err, err_len);
	if (!e->rocind)
		return -errno;
	if (e->set.local != RNP_LOCAL_OFF)
		rn_rocind_take_wires(e->rocind, e->set.local == RNP_LOCAL_NO_ICRC);
	rc = rn_rocind_attach(e->rocind, &e->netdev,
			      stats->share_fd >= 0 ? stats->share_fd : stats->fd, &a, err,
			      err_len);
	if (!rc)
		rc = rnp_engine_start(e, &a, err, err_len);
	if (rc) {
		rn_rocind_close(e->rocind);
		e->rocind = NULL;
		return rc;
	}
	rn_log(RN_LOG_INFO, "%s: slot %u, %u addresses", e->netdev.ibdev, a.slot,
	       a.sock_count);
	/* handles events that came before the answer to the attach request */
	rnp_rocind_events(e);
	return 0;
}

int rnp_engine_attach(struct rnp_engine *e, char *err, size_t err_len)
{
	int cancel, rc = 0;

	if (rnp_engine_forked(e))
		return rn_fail(err, err_len, -EIO, "a device does not survive fork()");
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_lock(e);
	if (rnp_engine_dead(e))
		rc = rn_fail(err, err_len, -EIO, "rocind has ended; %s is dead",
			     e->netdev.ibdev);
	else if (!e->attached)
		rc = attach_locked(e, err, err_len);
	rnp_engine_unlock(e);
	pthread_setcancelstate(cancel, NULL);
	if (rc && err)
		rn_log(RN_LOG_ERROR, "%s", err);
	return rc;
}

/* -------------------------------------------------------------- multicast groups */
/* Joins a multicast group by @sock, a socket of this process. The sockets of rocind,
 * which own port 4791 of the device's addresses, cannot be used: the kernel delivers a
 * packet to only one of the sockets that are bound to such an address, while every member
 * of a group must get each packet. Of the sockets that have joined a group, each gets a
 * copy of each packet, whichever user it belongs to.
 */
int rnp_engine_join(struct rnp_engine *e, const struct rn_gid *mgid, int sock)
{
	struct rn_udp *udp = e->wire.udp;
	int rc;

	if (!udp)
		return -EIO;
	rc = rn_udp_join(udp, mgid, sock);
	if (rc)
		return rc;
	rc = rnp_background_add(e, rn_udp_groups_fd(udp), RNP_TAG_SOCKET,
				e->policy.turn == RNP_ARMED);
	/* -EEXIST is no error: all groups share one descriptor */
	if (!rc || rc == -EEXIST)
		return 0;
	rn_udp_leave(udp, mgid);
	return rc;
}

int rnp_engine_leave(struct rnp_engine *e, const struct rn_gid *mgid)
{
	return e->wire.udp ? rn_udp_leave(e->wire.udp, mgid) : -1;
}

/* --------------------------------------------------------------- exit of the process */
/* Tries for EXIT_TRIES milliseconds to take a lock. It does not wait for longer, because
 * nobody releases the lock if the thread that held it was ended. Returns whether it has
 * the lock.
 */
static bool try_hard(bool (*try)(void *lock), void *lock)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	for (unsigned i = 0; i < EXIT_TRIES; i++) {
		if (try(lock))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool try_mutex(void *lock)
{
	return pthread_mutex_trylock(lock) == 0;
}

static bool try_engine(void *lock)
{
	return rnp_lock_try(lock);
}

/* Sends the last acknowledgements when the process exits, because most programs end
 * without closing their devices. Otherwise a peer would wait in vain for the
 * acknowledgement of a request that this program has received.
 */
static void __attribute__((destructor)) send_last_at_exit(void)
{
	struct rnp_process *process = process_if_any();

	/* In a fork() child the list of engines is empty. */
	if (!process || !try_hard(try_mutex, &process->lock))
		return;
	for (struct rnp_engine *e = process->engines; e; e = e->next) {
		if (!try_hard(try_engine, &e->front.lock))
			continue;
		rnp_engine_send_last(e);
		rnp_wire_finish_files(&e->wire);
		rnp_engine_unlock(e);
	}
	pthread_mutex_unlock(&process->lock);
}
