/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_internal.h - declarations shared by the files host*.c. */
#ifndef RN_HOST_INTERNAL_H
#define RN_HOST_INTERNAL_H

#include <stdatomic.h>

#include "host.h"

enum {
	/* Maximum number of payload bytes that are stored in the slot itself. A longer
	 * payload has a buffer in rn_host.large.
	 */
	RN_HOST_INLINE = 64,
	/* Number of counters of empty polls. A hash of the address of a CQ ring selects
	 * the counter for this ring. If two rings share a counter, polls of both count.
	 * So a TLP may be released after fewer polls of its ring than the knob hold.polls
	 * says, never after more.
	 */
	RN_HOST_RINGS = 16,
};

/* The payload of a TLP, and the values of the poll counters when it was issued. */
struct rn_host_slot {
	struct rn_payload payload;
	/* Values of rn_host.ring_polls at the time of issue. */
	uint32_t polls[RN_HOST_RINGS];
	uint16_t next; /* index of the next free slot */
	uint8_t bytes[RN_HOST_INLINE];
};

/* State of a recording of choices (record=FILE) or of their replay (driver=replay). */
struct rn_host_tape {
	/* Number of events so far. An event is a call of the program that issues or moves
	 * TLPs.
	 */
	uint64_t events;
	int fd; /* file that the choices are recorded to, or -1 */
	size_t used;
	char text[4096]; /* recorded text that is not written to the file yet */

	rn_ns last_event;

	bool is_on; /* true if recording or replaying */
	bool is_replaying;
	/* True with replay=/dev/null: the driver never moves a TLP; TLPs move only when
	 * they are forced.
	 */
	bool is_frozen;
	struct rn_host_choice *choices;
	uint32_t count, room, next;
	uint64_t end; /* number of the event at which the recording ended */
	uint32_t idle_ticks;
};

/* List of the reads that are postponed, and how long they have been. */
struct rn_host_postponed {
	/* first and last element of the list, the oldest read first */
	struct rn_nic_op *first, **tail;
	/* Time in ns from which it is counted how long these reads have been postponed.
	 */
	rn_ns since;
	/* Two counts since the list was last empty or its reads were last performed:
	 * @polls, the number of polls that found no completion, and @turns, the number of
	 * turns of the bus thread.
	 */
	unsigned polls, turns;
};

struct rn_host {
	pthread_mutex_t lock;
	struct rn_fabric *fabric;
	/* Knobs of the fabric; devices keep pointers to them. */
	struct rn_pcie_knobs knobs;
	struct rn_driver driver;
	struct rn_host_tape tape;
	/* True while the bus thread moves TLPs, false in calls of the program. */
	bool by_time;

	struct rn_host_slot *slots;
	uint32_t slot_count;
	uint16_t free_slot;
	/* Buffers for payloads that are too long for their slots, one for each slot. */
	uint8_t *large;
	/* size of each of these buffers in bytes; no payload is longer */
	uint32_t large_bytes;

	/* True during a callback of the fabric. The callback may issue TLPs, but must not
	 * move any.
	 */
	bool is_busy;
	/* Number of TLPs that were in flight when the host lock was last released.
	 * Threads that do not hold the lock read it.
	 */
	_Atomic uint32_t on_way;
	/* Settings that devices read without the host lock. They are atomic, because the
	 * program may change the knobs meanwhile. @is_taped: choices are recorded or
	 * replayed. @has_translations: NICs read translations. @is_placed_first: received
	 * data is put into memory before it is acknowledged.
	 */
	_Atomic bool is_taped, has_translations, is_placed_first;
	uint64_t polls; /* number of polls that found no new completion */
	uint32_t ring_polls[RN_HOST_RINGS];
	/* Time in ns, read once while the lock is held. 0: not read since the lock was
	 * taken.
	 */
	uint64_t now;
	/* True if a device must still be woken, because its NIC has results to collect.
	 */
	bool wake_due;
	struct rn_host_nic *nics[RN_NIC_MAX];

	const struct rn_host_hooks *hooks[RN_HOST_HOOKS_MAX];
	unsigned hook_count;

	/* Regions, sorted by address. */
	struct rn_host_region **regions;
	unsigned region_count, region_room;

	/* The fields from here on belong to host_bus.c. */
	pthread_t bus;
	pthread_cond_t bus_work;
	bool bus_is_running;
	/* True if the bus thread could not be created; TLPs are forced at once then. */
	bool bus_is_missing;
	/* True if the bus thread sleeps until a signal, or until bus_sleeps_until. */
	bool bus_is_asleep;
	rn_ns bus_sleeps_until;
	/* Number of operations whose result a device still waits for: it was told
	 * RN_MEM_PENDING.
	 */
	unsigned waiting;

	/* reads that are postponed; used by host_access.c only */
	struct rn_host_postponed late_reads;

	/* How the hierarchy reaches memory of real GPUs; NULL: none is registered. Used
	 * by host_memory.c only.
	 */
	struct rn_cuda_nic *cuda;

	/* Time in ns at which the adversarial driver last forced a TLP early, that is
	 * before the TLP had been held for as long as allowed.
	 */
	rn_ns leaked_at;
	uint64_t leaked_polls;
	/* The TLPs that the adversarial driver forces early are the oldest and the
	 * youngest one in turn. True: the oldest is next.
	 */
	bool leak_oldest;

	struct rn_pcie_counters counters;
	/* Rows of the trace, for host_trace.c; NULL if tracing is off. */
	struct rn_pcie_move *trace;
	uint32_t trace_size;
	uint64_t trace_count;
};

/* ---------------------------------------------------------------- host.c */
/* Returns the hierarchy, as rn_host_get() does. If it returns NULL, @err has an error
 * text.
 */
struct rn_host *rn_host_make(char *err, size_t err_len);

/* Returns true in a child of fork(), where the hierarchy does not work. */
bool rn_host_is_forked(void);

/* Makes a new fabric with these knobs. No TLP may be in flight. If choices are being
 * recorded or replayed, that goes on. Returns 0, or -ENOMEM; then nothing has changed.
 */
int rn_host_restart(struct rn_host *h, const struct rn_pcie_knobs *knobs);

/* Makes a new fabric as rn_host_restart() does, and begins a new recording or replay of
 * choices. Returns 0, or -errno with an error text in @err; then nothing has changed.
 */
int rn_host_restart_with_tape(struct rn_host *h, const struct rn_pcie_knobs *knobs,
			      char *err, size_t err_len);

/* Returns true if a hook wants the TLP to be performed as soon as it is issued. Always
 * false while choices are recorded or replayed.
 */
static inline bool rn_host_is_hurried(struct rn_host *h, const struct rn_tlp *tlp)
{
	for (unsigned i = 0; i < h->hook_count && !h->tape.is_on; i++)
		if (h->hooks[i]->hurries && h->hooks[i]->hurries(h, tlp))
			return true;
	return false;
}

/* Moves the TLP to its next queue or, if @is_forced, to the end of its route. Records the
 * move as a choice of the driver.
 */
void rn_host_move(struct rn_host *h, unsigned index, bool is_forced);

static inline struct rn_host_slot *rn_host_slot_of(struct rn_host *h,
						   const struct rn_tlp *tlp)
{
	assert(tlp->data < h->slot_count);
	return &h->slots[tlp->data];
}

/* ------------------------------------------------------------ host_memory.c */
/* Performs the atomic @a on the word at address a->req.dst, through the same mapping
 * that rn_host_store() uses.
 */
enum rn_mem_result rn_host_modify(struct rn_host *h, struct rn_host_atomic *a);

/* Sends copies to real GPUs on their way that still wait for others to join them. */
void rn_host_send_real(struct rn_host *h);

/* --------------------------------------------------------------- host_bus.c */
/* Starts the bus thread if it does not run. A device calls this before it issues its
 * first TLP. If the thread were started later, its stack could be mapped at an address
 * that the program has registered and unmapped, and late writes to that address would
 * damage the stack.
 */
void rn_host_bus_start(struct rn_host *h);

/* Called when a TLP was issued. Wakes the bus thread if it would otherwise sleep beyond
 * the time until which that TLP may be held.
 */
void rn_host_bus_poke(struct rn_host *h);

/* Keeps the bus thread awake while a device waits for the result of an operation,
 * because the program may make no call that moves TLPs.
 */
void rn_host_bus_hurry(struct rn_host *h);

/* Returns true while CQEs are held back until the program polls their CQ ring, for
 * ENTRY_WAIT_NS at most. If the driver moves TLPs meanwhile, data that was issued before
 * such a CQE arrives before it.
 */
bool rn_host_do_entries_wait(struct rn_host *h, rn_ns now);

/* Forces TLPs that have been held as long as the knobs allow. hold.polls, the bound in
 * polls, always counts. hold, the bound in time, counts unless @now is 0.
 */
void rn_host_release(struct rn_host *h, rn_ns now);

/* --------------------------------------------------------------- host_nic.c */
enum {
	/* size of a doorbell register in bytes; mlx5 has registers of this size */
	RN_HOST_BLUEFLAME = 256,
	/* Entries of a simulated table of translations; they fill one page. */
	RN_HOST_MTT_TABLE = 512,
};

/* Values of rn_tlp.tag. */
enum rn_host_tag {
	RN_HOST_TAG_DATA = RN_PCIE_DATA,
	RN_HOST_TAG_LOCKED = RN_PCIE_LOCKED,
	RN_HOST_TAG_BELL = RN_PCIE_DOORBELL,
	RN_HOST_TAG_WQE = RN_PCIE_WQE,
	RN_HOST_TAG_MTT = RN_PCIE_TRANSLATION,
	RN_HOST_TAG_TABLE = RN_PCIE_TABLE,
};

/* A read or an atomic whose result the device has not collected yet. */
struct rn_nic_op {
	/* Next operation in the one list that has this operation: free operations, ended
	 * operations, operations that wait for a lock, or postponed reads.
	 */
	struct rn_nic_op *next;
	struct rn_nic_op *next_active, *prev_active;
	struct rn_host_nic *nic;
	uint64_t tag;
	uint32_t qpn;
	/* number of TLPs of this operation that have not completed yet */
	unsigned left;
	bool is_pending; /* The device was told RN_MEM_PENDING for this operation. */
	enum rn_mem_result result;
	/* Attributes of the access. */
	struct rn_mem_attr attr;
	/* Of a read: destination, source and length. */
	uint8_t *to;
	rn_iova from;
	uint32_t len;
	uint64_t *orig; /* atomic: address where the value found in memory is stored */
	struct rn_host_atomic atomic;
};

struct rn_nic_block {
	struct rn_nic_block *next;
	struct rn_nic_op op[];
};

struct rn_host_nic {
	struct rn_host *host;
	unsigned number;
	char name[32];
	void (*wake)(void *arg);
	void *arg;
	uint32_t next_txn, last_packet;

	/* List of operations of this NIC that have not ended. */
	struct rn_nic_op *active;
	struct rn_nic_op *ended, **ended_tail;
	struct rn_nic_op *free;
	struct rn_nic_block *blocks;
	struct rn_nic_lock *locks;

	/* The fields from here up to mtt_table belong to host_fetch.c. */
	/* counters of the device, see rn_host_nic_cfg; or NULL */
	uint64_t *counter;
	uint8_t bell[RN_HOST_BLUEFLAME]; /* doorbell register */
	/* Cache of translations: numbers of the pages whose translations the NIC has.
	 * Page number N is at index N modulo mtt_size. 0: the entry is empty.
	 */
	uint64_t *mtt;
	uint32_t mtt_size;
	/* Cache of page table addresses: numbers of page tables, stored like @mtt. */
	uint64_t *mtt_upper;
	uint64_t mtt_table[RN_HOST_MTT_TABLE];	/* table of translations */
	uint64_t mtt_tables[RN_HOST_MTT_TABLE]; /* table of page tables */

	/* Number of writes of the CPU to this NIC's memory that are in flight. */
	_Atomic uint32_t dm_writes;

	/* True if the device was told that operations have ended, and has not called
	 * rn_host_collect() since.
	 */
	bool is_told;
	/* True if there are operations to collect; read without the lock. */
	_Atomic bool has_ended;
	_Atomic unsigned waking; /* number of calls of wake() that are running now */
};

static inline unsigned rn_nic_agent(const struct rn_host_nic *nic)
{
	return RN_AGENT_NIC + nic->number;
}

struct rn_host_nic *rn_host_attach(const struct rn_host_nic_cfg *cfg);
void rn_host_detach(struct rn_host_nic *nic);
void rn_host_polled_empty(struct rn_host_nic *nic, rn_iova ring);
void rn_host_settle_ring(struct rn_host_nic *nic, rn_iova ring, uint64_t len);
void rn_host_settle_acked(struct rn_host_nic *nic, uint32_t qpn);
void rn_host_drain(struct rn_host_nic *nic, uint32_t qpn);

/* ------------------------------------------------------------- host_access.c */
/* Functions by which a NIC accesses memory without reading translations first. */
extern const struct rn_mem_ops rn_host_nic_plain_ops;

unsigned rn_host_collect(struct rn_host_nic *nic,
			 void (*done)(void *arg, uint64_t tag, enum rn_mem_result result),
			 void *arg);

/* Performs the reads that were postponed. The host lock is held. */
void rn_host_resume(struct rn_host *h);
/* Performs the postponed reads if they have waited long enough. The bus thread calls
 * this in each of its turns. @now: the time in ns.
 */
void rn_host_resume_by_time(struct rn_host *h, rn_ns now);

/* Counts a poll of the program that found no completion. After POSTPONED_POLLS of them,
 * performs postponed reads.
 */
void rn_host_resume_by_polls(struct rn_host *h);
/* Performs the postponed reads because the program is about to sleep. Other TLPs stay in
 * their queues.
 */
void rn_host_resume_reads(struct rn_host *h);

/* Returns true if the device must be told that operations have ended. The caller must
 * then release the lock and call rn_host_nic_wake(). Called with the host lock held.
 */
bool rn_host_nic_wants_wake(struct rn_host_nic *nic);
void rn_host_nic_wake(struct rn_host_nic *nic);

/* -------------------------------------------------------------- host_fetch.c */
/* Implements rn_host_api.ring. */
void rn_host_ring(struct rn_host_nic *nic, const struct rn_host_bell *bell);

/* The functions of rocin/mem.h by which a NIC accesses memory; rn_host_api.mem. */
extern const struct rn_mem_ops rn_host_nic_ops;

/* Empties the NIC's cache of translations. Called when a memory region was removed. Takes
 * the lock.
 */
void rn_host_forget_translations(struct rn_host_nic *nic);

/* Returns true if the knobs make NICs read WQEs or translations from memory. */
static inline bool rn_host_reads_for_itself(const struct rn_host *h)
{
	return h->knobs.nic_wqe != RN_WQE_GIVEN || h->knobs.mtt_cache;
}

/* ---------------------------------------------------------------- host_dm.c */
/* Functions of rn_host_api for memory on a NIC; rocin/host_api.h describes them. */
int rn_host_dm_add(struct rn_host_nic *nic, rn_iova addr, uint64_t len);
void rn_host_dm_remove(struct rn_host_nic *nic, rn_iova addr);
int rn_host_dm_write(struct rn_host_nic *nic, rn_iova addr, const void *src,
		     uint64_t len);
int rn_host_dm_read(struct rn_host_nic *nic, void *dst, rn_iova addr, uint64_t len);
void rn_host_doorbell(struct rn_host_nic *nic);

/* ------------------------------------------------------------ host_replay.c */
/* Opens the files of the knobs record=FILE and replay=FILE. Returns 0, or -errno and an
 * error text in @err.
 */
int rn_host_tape_open(const struct rn_pcie_knobs *k, struct rn_host_tape *t, char *err,
		      size_t err_len);
void rn_host_tape_close(struct rn_host_tape *t);

/* Replaces the state of recording and replay of @h by @t, and closes the old files. */
void rn_host_tape_insert(struct rn_host *h, const struct rn_host_tape *t);

/* Called in each call of the program that issues or moves TLPs. Counts it as an event of
 * the recording or replay.
 */
void rn_host_event(struct rn_host *h);

/* Returns true if the bus thread may move TLPs now. While choices are recorded, the bus
 * thread may not make a move that a replay could not repeat.
 */
bool rn_host_may_time_move(const struct rn_host *h, rn_ns now);

/* Writes the choice of this TLP to the recording, before the TLP is moved. */
void rn_host_record(struct rn_host *h, unsigned index, bool is_forced);
void rn_host_record_flush(struct rn_host *h);

/* Repeats the recorded choices that are due: with @by_time those that the bus thread
 * made, otherwise those that the calls of the program made in the current event.
 */
void rn_host_replay(struct rn_host *h, bool by_time);

/* Called after rn_host_restart() if choices are being replayed. If no recorded choices
 * are left, lets the driver choose at random from now on.
 */
void rn_host_replay_resume(struct rn_host *h);

/* Called by the bus thread in each of its turns during a replay. Repeats the recorded
 * choices that are due. @is_time_due: the bus thread would move TLPs now if there were no
 * replay.
 */
void rn_host_replay_tick(struct rn_host *h, bool is_time_due);

/* ------------------------------------------------------------- host_trace.c */
/* Adds a row to the trace: @tlp is about to leave @queue. */
void rn_host_trace(struct rn_host *h, const struct rn_tlp *tlp, unsigned queue);

#endif /* RN_HOST_INTERNAL_H */
