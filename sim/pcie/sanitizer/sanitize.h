/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize.h - the visibility sanitizer: reports programs that use memory too early.
 *
 * stale read		bytes were read and nothing orders a write to them before the
 *			read, although the program had taken a completion that covers
 *			this write
 * unordered read	the same as stale, but without such a completion
 * source changed	the buffer of a SEND or WRITE changed before its completion was
 *			taken
 * missing fence	a SEND or WRITE without a fence was posted behind a READ or atomic
 *			that it depends on and that had not completed
 *
 * These reads are checked: those of NICs, drives and rn_gpu_*() calls; plain loads of the
 * CPU from device memory (../gpu/trap.c) and registered host memory; plain loads of
 * kernels from device memory. ROCIN_SANITIZE=all adds two things: stores to source
 * buffers are reported at the store; and reads of a NIC are reported even if the program
 * has not relied on them, that is reads for the peer, and reads for a request that this
 * process posted before it took the completion.
 *
 * ROCIN_SANITIZE=WORD,...: on|all|off; names of classes of machines (RN_SAN_CLASSES);
 * late=FILE, record=FILE: see sanitize_schedule.c; and words about the reports, as of
 * ROCIN_VALIDATE: see transport/io/report/report.h. With the word `summary', the summary
 * is written even if there are no findings. exitcode=N (66 by default): a program that
 * would exit with 0 exits with N if there are findings in the named classes.
 *
 * Threads: the caller of each function holds the host lock unless a comment says
 * otherwise.
 */
#ifndef RN_SANITIZE_H
#define RN_SANITIZE_H

#include "sim/pcie/host/host.h"
#include "transport/io/report/report.h"

enum rn_sanitize_level {
	RN_SANITIZE_OFF,
	/* Used for the knob hold=event. As with RN_SANITIZE_ON, writes are withheld from
	 * the program until an event. But nothing is reported, and only one class of
	 * machines is modelled: `given', the machine that ROCIN_PCIE describes.
	 */
	RN_SANITIZE_SILENT,
	RN_SANITIZE_ON,
	RN_SANITIZE_ALL,
};

/* Classes of machines. The sanitizer judges the program's accesses for a machine of each
 * class. Arguments of X: the constant, the name, the knobs that differ from the mode
 * typical (empty: the knobs of this run), and a description of such a machine.
 */
#define RN_SAN_CLASSES(X)                                                          \
	X(GIVEN, "given", "", "the machine that ROCIN_PCIE describes")             \
	X(SWITCH, "switch", "typical",                                             \
	  "GPU and NIC share a switch; the GPU sees the writes of peers in order") \
	X(SWITCH_NONE, "switch.none", "typical,gpu.ordering=none",                 \
	  "GPU and NIC share a switch; a running kernel is promised nothing")      \
	X(PORTS, "ports", "typical,gpu.ordering=none,rc.p2p=split",                \
	  "GPU and NIC are below different root ports")                            \
	X(C2C, "c2c", "typical,gpu.ordering=none,gpu.link=c2c",                    \
	  "CPU and GPU have a link of their own; the NIC is on PCIe")              \
	X(RELAXED, "relaxed",                                                      \
	  "typical,gpu.ordering=none,place=any,nic.queues=perqp,nic.ooo=1",        \
	  "data arrives in any order, in host memory as well")

enum rn_san_class {
#define X(symbol, name, knobs, what) RN_SAN_CLASS_##symbol,
	RN_SAN_CLASSES(X)
#undef X
	RN_SAN_CLASS_COUNT
};

/* Returns the name of a class; never NULL. */
const char *rn_san_class_name(unsigned class);

struct rn_sanitize_options {
	enum rn_sanitize_level level;
	/* Classes of machines, one bit each. Only findings in these classes are reported
	 * and change the exit code.
	 */
	unsigned classes;
	/* Where reports go, and the exit code of a program with findings. */
	struct rn_report_options report;
	/* Files of late=FILE and record=FILE, used by `rocin hunt`; empty: none. */
	char late[256], record[256];
};

/* Parses ROCIN_SANITIZE; empty text means off. Returns 0, or -EINVAL and an error text
 * in @err.
 */
int rn_sanitize_parse(struct rn_sanitize_options *o, const char *text, char *err,
		      size_t err_len);

/* Returns true if the sanitizer runs, even if it reports nothing (RN_SANITIZE_SILENT).
 * May be called by any thread, without a lock.
 */
bool rn_sanitize_is_on(void);

/* Implement rn_host_api.posted and polled. Called without the host lock. */
void rn_sanitize_posted(struct rn_host_nic *nic, const struct rn_host_wr *wr);
void rn_sanitize_polled(struct rn_host_nic *nic, const struct rn_host_cqe *cqe);

/* Called when the program has taken the completion of a transfer in which drive @agent
 * wrote to [addr, addr + len). The caller does not hold the host lock.
 */
void rn_sanitize_stored(struct rn_host *h, unsigned agent, rn_iova addr, uint64_t len);

/* Add and remove registered host memory that a NIC may write. Called without the
 * host lock.
 */
void rn_sanitize_region_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
			    uint64_t len);
void rn_sanitize_region_remove(const struct rn_host_nic *nic, uint32_t key);

/* Numbers of different findings, and of all their occurrences. Any thread may read them,
 * without a lock.
 */
struct rn_sanitize_counts {
	_Atomic uint64_t findings, occurrences;
};
extern struct rn_sanitize_counts rn_sanitize_counts;

#endif /* RN_SANITIZE_H */
