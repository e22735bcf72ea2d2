/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device.h - a RoCEv2 device without I/O, for simulators and test rigs. The caller passes
 * in packets and the time, and gets packets and a deadline.
 *
 * The device opens nothing, starts no thread, reads no clock, and draws no random number.
 * Equal calls give equal packets, byte for byte, on every machine. The caller keeps the
 * clock, carries the packets, and decides the order of the calls:
 *
 *	rn_device_receive()	a packet has arrived
 *	rn_device_post_*()	the program posts a request or a receive
 *	rn_device_expire()	the deadline has come
 *
 * and after each of these
 *
 *	rn_device_transmit()	until there is no packet
 *	rn_device_poll()	until there is no completion
 *	rn_device_deadline()	when to call rn_device_expire() at the latest
 *
 * Packets are UDP payloads to port 4791, from the BTH to the ICRC, with those fields of
 * the IP and UDP headers that RoCEv2 uses. The ICRC covers an IPv4 header without
 * options, with DF and identification 0, or an IPv6 header without extension headers.
 *
 * Times are nanoseconds from any origin. If a call is passed an earlier time than a
 * previous call, the time of the previous call is used.
 *
 * Errors are negative errno values.
 *
 * Threads: a device and all that belongs to it are for one thread at a time; different
 * devices are independent of each other.
 */
#ifndef RN_DEVICE_H
#define RN_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct rn_device;

/* value of a deadline: nothing is due until the next call */
#define RN_DEVICE_NEVER INT64_MAX

/* ------------------------------------------------------------ devices and packets */
/* Congestion control: whether the device answers ECN marks with CNPs, and whether CNPs
 * reduce its rates (DCQCN).
 */
enum rn_device_congestion {
	RN_DEVICE_CC_OFF,
	RN_DEVICE_CC_OBSERVE, /* rates are computed, and no packet is delayed */
	RN_DEVICE_CC_ON,
};

/* Options of a device. A member that is 0 has the default in brackets. */
struct rn_device_options {
	/* IPv6 address, or ::ffff:a.b.c.d for an IPv4 address, in network order */
	uint8_t address[16];
	uint32_t mtu;	      /* bytes of payload of a packet: 256 .. 4096 [4096] */
	uint32_t completions; /* completions that may wait to be polled [4096] */
	uint32_t first_qpn;   /* number of the first queue pair, 2 .. 0xffffff [17] */
	/* what the device does with ECN marks and CNPs [off] */
	enum rn_device_congestion congestion;
	uint32_t line_kbps;   /* rate of the port in kbit/s, at most 4000000000 [10^7] */
	bool credits;	      /* acknowledgements say how many receives are posted */
	uint64_t reserved[4]; /* must be 0 */
};

enum {
	/* Largest number of bytes of a packet, rounded up. */
	RN_DEVICE_PACKET_MAX = 4224,
};

struct rn_device_packet {
	uint8_t source[16], destination[16]; /* as rn_device_options.address */
	/* UDP source port: spreads flows over paths, and does not identify the sender. */
	uint16_t source_port;
	/* IPv4 ToS or IPv6 traffic class: DSCP, and ECN in bits 1..0 */
	uint8_t traffic_class;
	uint8_t hop_limit;		     /* TTL of IPv4 or hop limit */
	uint32_t len;			     /* number of bytes */
	uint8_t bytes[RN_DEVICE_PACKET_MAX]; /* UDP payload: BTH to ICRC */
};

/* Makes a device. The options are copied. Return: the device, to be freed by
 * rn_device_free(); NULL with errno EINVAL (an option is out of range, the address is all
 * zeros or a group, or something reserved is not 0) or ENOMEM.
 */
struct rn_device *rn_device_new(const struct rn_device_options *options);

/* Frees a device with its queue pairs and regions; completions are lost, and nothing is
 * sent. NULL is ignored.
 */
void rn_device_free(struct rn_device *device);

/* Gives the device a packet that has arrived. If the bytes are not a valid packet to this
 * device, they are dropped. The device does not use @packet after the call.
 */
void rn_device_receive(struct rn_device *device, int64_t now,
		       const struct rn_device_packet *packet);

/* Builds the next packet that may leave now. Return: true with *@packet filled in; false:
 * no packet may leave now, and rn_device_deadline() says when to call again.
 */
bool rn_device_transmit(struct rn_device *device, int64_t now,
			struct rn_device_packet *packet);

/* Returns the time at which the caller must call rn_device_expire() at the latest, and
 * then rn_device_transmit(). RN_DEVICE_NEVER: neither is needed before another call. The
 * time may be in the past, if the last call has left a part of its work undone.
 */
int64_t rn_device_deadline(const struct rn_device *device);

/* Performs what is due at @now: retransmissions, timeouts, and sending of packets that
 * were delayed. May be called at any time. Packets that have arrived by @now should be
 * passed to rn_device_receive() before.
 */
void rn_device_expire(struct rn_device *device, int64_t now);

/* Reads a counter of the device by the name that `rocin stat --counters` has for it, such
 * as "duplicate_request". Return: 0; -ENOENT: there is no such counter.
 */
int rn_device_counter(const struct rn_device *device, const char *name, uint64_t *value);

/* ------------------------------------------------------------------ memory regions */
/* Rights of a region, with the numbers of enum ibv_access_flags. */
enum rn_device_access {
	/* for receives, and for results of READs and atomics */
	RN_DEVICE_LOCAL_WRITE = 1 << 0,
	RN_DEVICE_REMOTE_WRITE = 1 << 1,
	RN_DEVICE_REMOTE_READ = 1 << 2,
	RN_DEVICE_REMOTE_ATOMIC = 1 << 3,
};

/**
 * rn_device_register() - Make memory accessible to the device and to its peers
 * @memory:	Memory of the caller, who must keep it until rn_device_deregister(). Peers
 *		access it by this address
 * @len:	Bytes, at least 1
 * @access:	enum rn_device_access; remote writes and atomics need LOCAL_WRITE, too
 * @key:	Out: for work requests of this device and of peers
 *
 * Return: 0, -EINVAL, -ENOMEM.
 */
int rn_device_register(struct rn_device *device, void *memory, size_t len,
		       unsigned access, uint32_t *key);

/* Ends the use of a region. Requests that access it fail from then on. Return:
 * 0, -ENOENT.
 */
int rn_device_deregister(struct rn_device *device, uint32_t key);

/* --------------------------------------------------------------------- queue pairs */
/* Types of queue pairs, with the numbers of enum ibv_qp_type. */
enum rn_device_type {
	RN_DEVICE_RC = 2, /* reliable connection */
	RN_DEVICE_UC = 3, /* unreliable connection */
};

/* States of a queue pair, with the numbers of enum ibv_qp_state. */
enum rn_device_state {
	RN_DEVICE_INIT = 1,   /* new: receives may be posted */
	RN_DEVICE_READY = 3,  /* connected */
	RN_DEVICE_FAILED = 6, /* all requests are completed with an error */
};

/* Properties of a new queue pair. A member that is 0 has the default in brackets. */
struct rn_device_queue {
	enum rn_device_type type; /* type of the queue pair [RC] */
	/* number of the queue pair, 2 .. 0xffffff [the next one that is free] */
	uint32_t qpn;
	uint32_t sends;	   /* requests in the send queue, at most 16384 [64] */
	uint32_t receives; /* receives in the receive queue, at most 16384 [64] */
	/* READs and atomics that may be outstanding in each direction, at most 128 [16]
	 */
	uint32_t reads;
	uint64_t reserved[4]; /* must be 0 */
};

/* Attributes of a connection, for rn_device_connect(). Each end must know the PSN with
 * which the requests of the other one begin. A member that has a default in brackets gets
 * it if it is 0.
 */
struct rn_device_peer {
	uint8_t address[16]; /* address of the peer, of the same family as the device's */
	uint32_t qpn;	     /* queue pair of the peer */
	uint32_t psn;	     /* first PSN of the peer's requests, 24 bits */
	uint32_t own_psn;    /* first PSN of this side's requests, 24 bits */
	uint32_t mtu; /* path MTU: 256, 512, 1024, 2048, 4096 [that of the device] */
	/* Local ACK timeout: 4096 ns * 2^n for n = 1 .. 31 [14: 67 ms] */
	uint8_t ack_timeout;
	uint8_t retries; /* unanswered retries until the queue pair fails, 1 .. 7 [7] */
	/* retries while the peer has no receive posted, 1 .. 7; 7: no limit [7] */
	uint8_t rnr_retries;
	/* RNR timer: how long the peer is asked to wait when no receive is posted here,
	 * as a code of IBTA table 45, 1 .. 31 [12: 0.64 ms]
	 */
	uint8_t rnr_timer;
	/* of the packets that are sent; the defaults are [0] and [64] */
	uint8_t traffic_class, hop_limit;
	uint64_t reserved[4]; /* must be 0 */
};

/* Makes a queue pair in state RN_DEVICE_INIT and sets *@qpn to its number. Return: 0;
 * -EINVAL: a member of @queue is out of range; -EEXIST: the number is in use; -ENOMEM.
 */
int rn_device_queue_new(struct rn_device *device, const struct rn_device_queue *queue,
			uint32_t *qpn);

/* Frees a queue pair. Its completions that have not been polled are lost. Return:
 * 0, -ENOENT.
 */
int rn_device_queue_free(struct rn_device *device, uint32_t qpn);

/* Connects a queue pair in state RN_DEVICE_INIT. Return: 0; -ENOENT; -EINVAL: a value is
 * out of range, or the queue pair is in another state.
 */
int rn_device_connect(struct rn_device *device, int64_t now, uint32_t qpn,
		      const struct rn_device_peer *peer);

/* Returns the state of a queue pair, enum rn_device_state; -ENOENT: there is none. */
int rn_device_state(const struct rn_device *device, uint32_t qpn);

/* -------------------------------------------------------- requests and completions */
/* Operations, with the numbers of enum ibv_wr_opcode. */
enum rn_device_operation {
	RN_DEVICE_WRITE = 0,
	RN_DEVICE_WRITE_IMM = 1,
	RN_DEVICE_SEND = 2,
	RN_DEVICE_SEND_IMM = 3,
	RN_DEVICE_READ = 4,
	RN_DEVICE_COMPARE_SWAP = 5, /* of 8 bytes, aligned */
	RN_DEVICE_FETCH_ADD = 6,    /* of 8 bytes, aligned */
};

struct rn_device_request {
	uint64_t id; /* any number of the caller, repeated in the completion */
	enum rn_device_operation operation;
	bool fence;   /* begin only when earlier READs and atomics have ended */
	void *local;  /* in a region of this device; unused if len is 0 */
	uint32_t len; /* bytes; 8 for atomics, at most 2^31 */
	uint32_t key; /* key of the region of local */
	uint32_t immediate;
	uint32_t remote_key;
	uint64_t remote; /* address at the peer, for all but SENDs */
	uint64_t compare,
		operand;      /* of atomics: operand is the swap value or the addend */
	uint64_t reserved[4]; /* must be 0 */
};

/* Posts a request. @request is copied; the memory that it names stays in use until the
 * request completes. Return: 0; -ENOENT: no such queue pair; -EINVAL: the request is not
 * one that the queue pair can execute in its state; -ENOMEM: the send queue is full;
 * -EAGAIN: too many completions wait to be polled.
 */
int rn_device_post_send(struct rn_device *device, int64_t now, uint32_t qpn,
			const struct rn_device_request *request);

/* Memory for a receive, in a region of the device; unused if len is 0. */
struct rn_device_memory {
	void *at;
	uint32_t len; /* bytes */
	uint32_t key; /* key of the region */
};

/* Posts a receive. @memory is copied; the bytes stay in use until the completion. Return:
 * as rn_device_post_send().
 */
int rn_device_post_receive(struct rn_device *device, int64_t now, uint32_t qpn,
			   uint64_t id, const struct rn_device_memory *memory);

/* Operation that has completed, with the numbers of enum ibv_wc_opcode. */
enum rn_device_done {
	RN_DEVICE_SENT = 0,
	RN_DEVICE_WRITTEN = 1,
	RN_DEVICE_WAS_READ = 2,
	RN_DEVICE_SWAPPED = 3,
	RN_DEVICE_ADDED = 4,
	RN_DEVICE_RECEIVED = 128,
	RN_DEVICE_RECEIVED_WRITE = 129, /* a WRITE with immediate */
};

struct rn_device_completion {
	uint64_t id;
	uint32_t qpn;
	uint32_t status;	  /* 0: success; else a number of enum ibv_wc_status */
	enum rn_device_done done; /* valid on success */
	uint32_t len;		  /* bytes received or read; valid on success */
	uint32_t immediate;
	bool has_immediate;
	/* why the operation failed, in more detail: see vendor_err in rocin(7) */
	uint32_t detail;
};

/* Fetches completions, at most @max, oldest first. Each request and each receive
 * completes once; those of one queue complete in the order in which they were posted.
 * Return: the number of completions fetched.
 */
unsigned rn_device_poll(struct rn_device *device, struct rn_device_completion *out,
			unsigned max);

/* Returns the status of a completion in words; never NULL. */
const char *rn_device_status_text(uint32_t status);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* RN_DEVICE_H */
