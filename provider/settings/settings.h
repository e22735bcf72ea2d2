/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* settings.h - the ROCIN_* variables of the provider, which are read and checked in one
 * place. (ROCIN_LOG and the variables of rocind's client are read where they are used.)
 *
 * - ROCIN_NETDEVS: devices, see rn_netdev_discover()
 * - ROCIN_GSO on | off: several packets per system call
 * - ROCIN_ICRC solve | exact: how to treat packets whose ICRC covers an unknown IPv4
 *   identification
 * - ROCIN_CREDITS off | on: tell requesters how many receives there are
 * - ROCIN_LOCAL auto | off | no-icrc: packets to processes of the same rocind go through
 *   shared memory; where both say no-icrc, without ICRCs
 * - ROCIN_IO auto | epoll | uring: how the background thread sleeps and packets are
 *   sent and received; auto is epoll
 * - ROCIN_CPU auto | scalar | avx2 | avx512: which vector instructions are used
 * - ROCIN_PCAP: capture file, see rn_tap_open(), rn_capture_log_open()
 * - ROCIN_FAULT: see rn_fault_read()
 * - ROCIN_CC off | on[:RATE] | observe[:RATE]: congestion control; RATE of the link in
 *   bits per second with K, M or G
 * - ROCIN_LINGER_US 0..1000: how long the last poll of an event-driven program waits
 *   for a packet before it may sleep
 * - ROCIN_PCIE: knobs of the simulated PCIe layer, see rnp_pcie_open()
 * - ROCIN_RCVBUF: receive buffer of the data sockets, bytes with K or M: as if
 *   net.core.rmem_max were so small
 * - ROCIN_TIMEOUT_SCALE 1..1000: factor on ACK timeouts and RNR timers
 * - ROCIN_TREE: generated tree in which port and GIDs are kept up to date
 * - ROCIN_WINDOW START[:MIN[:MAX]], bytes with K or M: unacknowledged bytes towards
 *   one peer process
 * - ROCIN_PIN off | limit[:SIZE] and cost:NS: memory that counts as pinned is limited by
 *   RLIMIT_MEMLOCK, or to SIZE bytes with K or M; pinning takes NS a page
 * - ROCIN_AS mlx5 | rxe | efa: report and refuse what such a device does, see persona.h
 */
#ifndef RNP_SETTINGS_H
#define RNP_SETTINGS_H

#include "rocin/cpu.h"
#include "rocin/dev_cfg.h"
#include "transport/io/fault/net_fault.h"

enum rnp_local {
	RNP_LOCAL_OFF,
	RNP_LOCAL_AUTO,
	RNP_LOCAL_NO_ICRC
};

enum rnp_io {
	RNP_IO_EPOLL,
	RNP_IO_URING, /* io_uring, if the kernel allows it; otherwise epoll */
};

struct rnp_persona;

struct rnp_settings {
	const char *netdevs; /* ROCIN_NETDEVS; NULL: the default */
	const char *pcap;    /* ROCIN_PCAP; NULL: no capture */
	const char *pcie;    /* ROCIN_PCIE; NULL: no simulated PCIe hierarchy */
	const char *tree;    /* folder of the simulated sysfs files; NULL: none */
	bool gso;
	bool icrc_exact;
	bool credits;
	/* use of local wires: shared-memory links between processes of this machine */
	enum rnp_local local;
	enum rnp_io io;
	enum rn_cpu_level cpu; /* at most rn_cpu_best() */
	bool has_fault;
	struct rn_fault_rules fault;
	/* Time in ns for which the last poll before the program sleeps waits for a
	 * packet; 0: the poll does not wait.
	 */
	rn_ns linger_ns;
	/* receive buffer in bytes, for SO_RCVBUF; 0: keep the size that rocind has set */
	uint32_t rcvbuf;
	uint32_t timeout_scale;
	enum rn_cc_mode cc;
	uint32_t cc_line; /* rate of the link in kbps; 0: not set */
	uint32_t window_start, window_min, window_max;
	/* ROCIN_PIN=limit: pinned memory is limited as by a kernel driver */
	bool pin_limited;
	bool pin_has_size; /* the limit is @pin_size bytes; false: RLIMIT_MEMLOCK */
	uint64_t pin_size;
	/* time that pinning a page takes, in ns; 0: registration does not wait for it */
	uint32_t pin_page_ns;
	const struct rnp_persona *persona; /* ROCIN_AS; NULL: none */
};

/**
 * rnp_settings_read() - Read the environment
 * @s:		Out; its strings belong to the environment
 * @err:	Out on failure: error text that names the variable
 *
 * The environment is read with secure_getenv(): a set-user-ID program gets the defaults.
 *
 * Return: 0, or -EINVAL if a variable has a value that is not allowed.
 */
int rnp_settings_read(struct rnp_settings *s, char *err, size_t err_len);

/* Limits in bytes, for the fields of struct rn_dev_cfg with the same names, that suit a
 * path MTU and a receive buffer of @rcvbuf bytes (as returned by getsockopt(SO_RCVBUF)).
 * The kernel charges a single 4 KiB packet twice its size, so single packets in flight
 * may be half the size of the buffer. It charges a super-packet its size, but may return
 * up to a quarter of the buffer late, so super-packets in flight may be eleven sixteenths
 * of the size of the buffer. If packets come singly nevertheless, the first loss makes
 * the window for requests smaller. No loss limits READ responses, so READs request no
 * more than half of the buffer.
 */
struct rnp_budget {
	uint32_t window_start, window_min, window_max;
	uint32_t read_window, read_chunk;
};
struct rnp_budget rnp_settings_budget(const struct rnp_settings *s, uint32_t rcvbuf,
				      uint32_t mtu);

#endif /* RNP_SETTINGS_H */
