/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ctl.h - messages between rocind and its clients.
 *
 * Messages go over a local SOCK_SEQPACKET socket, one message per packet, with fixed
 * layouts in host byte order (both ends are on one machine). Every message begins with
 * struct rn_ctl_hdr and is exactly as long as its type says. The client speaks first
 * (HELLO). From then on each request gets exactly one answer, and events may come
 * between. Descriptors travel beside a message (SCM_RIGHTS), in the order that the
 * message defines.
 *
 * The layouts of struct rn_ctl_hdr, rn_ctl_hello and rn_ctl_refused are the same in every
 * version, so that a client and a rocind of different versions can report the difference.
 */
#ifndef RN_CTL_H
#define RN_CTL_H

#include "rocin/gid.h"

enum {
	RN_CTL_MAGIC = 0x4e434f52, /* "ROCN" in memory on a little-endian machine */
	RN_CTL_VERSION = 11,	   /* incremented with any change of layout or meaning */
	RN_CTL_TEXT_LEN = 400,	   /* bytes of an error text, including its NUL */
	/* Largest slot. A slot is the number of a process among the users of an address,
	 * and the low 8 bits of its QPNs; slot 0 is rocind's own.
	 */
	RN_CTL_SLOT_MAX = 255,
	RN_CTL_DROP_MAX = 16,  /* maximum number of reasons for drops */
	RN_CTL_RULES_MAX = 64, /* maximum number of fault rules */
	/* maximum number of local wires (links by shared memory) of one process */
	RN_CTL_WIRES_MAX = 128,
	RN_CTL_CAPTURES_MAX = 4, /* maximum number of captures at the same time */
};

enum rn_ctl_type {
	/* Requests, from a client to rocind. */
	RN_CTL_HELLO = 1,
	RN_CTL_ATTACH = 2, /* may come with one descriptor: the statistics page */
	RN_CTL_DETACH = 3,
	RN_CTL_LIST = 4,
	RN_CTL_STATUS = 5,
	RN_CTL_SHUTDOWN = 6,
	/* May carry one descriptor: a sealed memfd with the text of the rules. */
	RN_CTL_FAULTS_SET = 7,
	RN_CTL_FAULTS_GET = 8,
	RN_CTL_CM_OPEN = 9,
	/* RN_CTL_WIRE_ASK requests a local wire (a link by shared memory to another
	 * process), and RN_CTL_WIRE_DROP gives one up. They have no answer: an event
	 * reports the result, sooner or later.
	 */
	RN_CTL_WIRE_ASK = 10,
	RN_CTL_WIRE_DROP = 11,
	/* Begins a capture. Allowed once per connection, and only if the connection has
	 * not attached a device.
	 */
	RN_CTL_CAPTURE = 12,
	/* Asks rocind to hand everything over to the sender, which is another rocind.
	 * Carries one end of a pair of sockets, over which that is done
	 * (tools/rocind/server/replace.c).
	 */
	RN_CTL_REPLACE = 13,
	RN_CTL_CM_LIST = 14, /* asks for the rdma_cm ids of all programs */

	/* Answers, from rocind to a client. */
	RN_CTL_WELCOME = 64,
	RN_CTL_REFUSED = 65, /* the request is refused; may answer any request */
	/* carries sock_count sockets, in the order of the GID indices */
	RN_CTL_ATTACHED = 66,
	RN_CTL_DETACHED = 67,
	RN_CTL_CLIENT = 68, /* may carry one descriptor: the client's statistics page */
	RN_CTL_LIST_END = 69,
	RN_CTL_STATUS_REPLY = 70,
	/* rocind ends; sent when it has closed its sockets; end of file follows */
	RN_CTL_STOPPING = 71,
	/* Answers FAULTS_SET and FAULTS_GET. If has_text is 1, carries a descriptor: a
	 * file with the text of the rules.
	 */
	RN_CTL_FAULTS_REPLY = 72,
	/* Carries the descriptor of the rdma_cm device (rocin/cmdev.h) and, if there is
	 * one, that of the board (cm_board.h).
	 */
	RN_CTL_CM_OPENED = 73,
	RN_CTL_CAPTURING = 74,
	RN_CTL_REPLACING = 75, /* rocind begins to hand over */
	/* Carries the descriptor of a file that is an array of struct rn_ctl_cm_id. */
	RN_CTL_CM_LISTED = 76,

	/* Events, from rocind to a client. */
	RN_CTL_GID_CHANGE = 128, /* carries one socket if a GID was added */
	RN_CTL_PORT = 129,
	RN_CTL_GOING_DOWN = 130,
	/* The fault rules have changed. If has_text, carries a descriptor of their text.
	 */
	RN_CTL_FAULTS = 131,
	/* a local wire (shared memory) has been made; carries RN_CTL_WIRE_FDS
	 * descriptors
	 */
	RN_CTL_WIRE = 132,
	RN_CTL_WIRE_DOWN = 133,
	/* to a device: a capture has begun; carries the ring for the device's packets */
	RN_CTL_TAP = 134,
	/* To a capture: a device is being captured. Carries the ring of its packets, and
	 * its statistics page if has_stats.
	 */
	RN_CTL_TAP_SOURCE = 135,
	/* to a device or a capture: the other end of the ring has ended */
	RN_CTL_TAP_END = 136,
};

struct rn_ctl_hdr {
	uint32_t magic;
	uint16_t version;
	uint16_t type; /* type of the message, enum rn_ctl_type */
	uint32_t len;  /* length of the whole message in bytes */
	/* Number of a request, from 1 on; its answer has the same number. 0 in events,
	 * and in messages that have no answer. If rocind dies while it answers, its
	 * successor may answer the request a second time.
	 */
	uint32_t seq;
};

struct rn_ctl_hello {
	struct rn_ctl_hdr hdr;
	char version[32]; /* ROCIN_VERSION of the client, NUL-terminated */
};

struct rn_ctl_welcome {
	struct rn_ctl_hdr hdr;
	char version[32]; /* ROCIN_VERSION of rocind */
	int32_t pid;
	uint32_t reserved;
};

struct rn_ctl_refused {
	struct rn_ctl_hdr hdr;
	int32_t err; /* errno value, positive */
	uint32_t reserved;
	char text[RN_CTL_TEXT_LEN]; /* the error text, NUL-terminated */
};

struct rn_ctl_attach {
	struct rn_ctl_hdr hdr;
	char ibdev[32];	    /* NUL-terminated */
	char ifname[16];    /* NUL-terminated */
	uint32_t ifindex;   /* also the scope of link-local addresses */
	uint32_t gid_count; /* 1 .. RN_GID_MAX */
	/* 1: the client believes that the link is up. If that is wrong, rocind sends
	 * an event.
	 */
	uint32_t up;
	/* 1: addresses that the interface gets later are added to the device */
	uint32_t all_addresses;
	uint32_t wires; /* 1: the client accepts local wires (links by shared memory) */
	/* 1: the client accepts packets without ICRC on local wires. 0 also from an older
	 * client, which does not know the field.
	 */
	uint32_t no_icrc;
	struct rn_gid gid[RN_GID_MAX];
};

struct rn_ctl_attached {
	struct rn_ctl_hdr hdr;
	uint32_t slot;	      /* 1 .. RN_CTL_SLOT_MAX */
	uint32_t qpn_counter; /* 1 .. 65535 */
	uint32_t sock_count;
	/* Source port for packets to this host; 0: they have the same source ports as
	 * other packets.
	 */
	uint32_t own_port;
	/* key of the secret order in which numbers become QPNs
	 * (include/rocin/permutation.h)
	 */
	uint64_t qpn_secret;
};

/* Open /dev/infiniband/rdma_cm. After the answer the client may close its connection to
 * rocind.
 */
struct rn_ctl_cm_open {
	struct rn_ctl_hdr hdr;
	char netdevs[2048]; /* ROCIN_NETDEVS of the program, NUL-terminated */
};

/* An rdma_cm id that is bound to a device, or listens at all devices. */
struct rn_ctl_cm_id {
	char ibdev[32]; /* name of the device, NUL-terminated; "": all devices */
	int32_t pid;	/* PID of the program; 0: unknown */
	uint32_t number;
	uint32_t port_space; /* enum rdma_ucm_port_space */
	/* QPN from the program's CONNECT or ACCEPT; 0: not known yet */
	uint32_t qpn;
	uint8_t qp_type; /* enum ibv_qp_type */
	uint8_t state;	 /* enum rdma_cm_state of the kernel */
	uint8_t reserved[6];
	/* socket addresses, of IPv4 or IPv6; all zero: none */
	uint8_t src[28], dst[28];
};

struct rn_ctl_replace {
	struct rn_ctl_hdr hdr;
	uint32_t records; /* RND_RECORDS_VERSION of the sender */
	uint32_t reserved;
	char version[32]; /* ROCIN_VERSION of the sender, NUL-terminated */
};

struct rn_ctl_list {
	struct rn_ctl_hdr hdr;
	/* @id of the last client that was listed before; 0: list the first */
	uint64_t after;
};

struct rn_ctl_client {
	struct rn_ctl_hdr hdr;
	/* unique number of the connection; later connections have higher numbers */
	uint64_t id;
	int32_t pid;
	uint32_t slot;
	char ibdev[32];
	char ifname[16];
	uint32_t gid_count;
	uint32_t has_stats; /* 1: a descriptor comes with this message */
	struct rn_gid gid[RN_GID_MAX];
};

struct rn_ctl_status_reply {
	struct rn_ctl_hdr hdr;
	char version[32];
	int64_t since_s;
	int32_t pid;
	uint32_t idle_ms;
	uint32_t clients;
	uint32_t attached;
	uint32_t groups;
	uint32_t cm_channels;
	uint32_t cm_ids;
	uint32_t cm_ports;
	uint32_t cm_connections;
	uint32_t reserved;
	uint64_t drops[RN_CTL_DROP_MAX];
};

struct rn_ctl_gid_change {
	struct rn_ctl_hdr hdr;
	uint32_t gid_idx;
	/* 1: the GID was added, and a socket for it comes with this message; 0: it was
	 * removed
	 */
	uint32_t added;
	struct rn_gid gid;
};

struct rn_ctl_port {
	struct rn_ctl_hdr hdr;
	uint32_t up;
	uint32_t reserved;
};

/* Replace the fault rules of all present and future clients. */
struct rn_ctl_faults_set {
	struct rn_ctl_hdr hdr;
	/* The generation of the rules that the client has read before. If rocind's rules
	 * have another generation now, somebody has changed them since, and rocind
	 * refuses the new rules.
	 */
	uint64_t generation;
	/* For each new rule: number of the old rule whose counts it takes over; 255:
	 * none.
	 */
	uint8_t from[RN_CTL_RULES_MAX];
};

struct rn_ctl_faults_reply {
	struct rn_ctl_hdr hdr;
	uint64_t generation;
	uint32_t has_text;
	uint32_t reserved;
	/* For each rule: the sums of its counts (struct rn_stats_faults) over processes
	 * that have ended, and over rocind's connection manager.
	 */
	uint64_t seen[RN_CTL_RULES_MAX], hits[RN_CTL_RULES_MAX];
};

struct rn_ctl_faults {
	struct rn_ctl_hdr hdr;
	uint64_t generation;
	uint32_t has_text; /* 0: there are no rules now */
	uint32_t reserved;
};

/* The two ends of a local wire (a link by shared memory). @local is the end of the
 * process that sends or receives the message; @peer and @peer_slot are the other end.
 */
struct rn_ctl_ends {
	struct rn_gid local, peer;
	uint32_t peer_slot;
	/* In RN_CTL_WIRE_ASK, 1: the client has lost a local wire (shared memory)
	 * between these ends, but rocind may believe that there is one. Otherwise 0,
	 * also from an older client, which does not know the field.
	 */
	uint32_t lost;
};

/* Layout of RN_CTL_WIRE_ASK, which requests a local wire (a link by shared memory), and
 * of RN_CTL_WIRE_DROP, which reports that one is broken. After the latter, rocind never
 * gives these two processes a local wire again.
 */
struct rn_ctl_wire_ask {
	struct rn_ctl_hdr hdr;
	struct rn_ctl_ends ends;
};

/* Descriptors that RN_CTL_WIRE carries, in this order. */
enum {
	RN_CTL_WIRE_RINGS,     /* sealed memory of both rings, RN_WIRE_BYTES (ring.h) */
	RN_CTL_WIRE_PEER_PAGE, /* sealed memory of the peer's doorbell */
	/* Pipe or eventfd that wakes the peer. To wake it, a number of 8 bytes other
	 * than 0 is written.
	 */
	RN_CTL_WIRE_PEER_EVENT,
	/* Doorbell page, and pipe or eventfd, of the process that receives this message.
	 * They are the same for all local wires of that process.
	 */
	RN_CTL_WIRE_PAGE,
	RN_CTL_WIRE_EVENT,
	RN_CTL_WIRE_FDS
};

/* Event: a local wire (a link by shared memory) has been made. rocind sends it to both
 * ends.
 */
struct rn_ctl_wire {
	struct rn_ctl_hdr hdr;
	struct rn_ctl_ends ends;
	uint32_t role; /* 0 or 1: number of the ring by which this end sends */
	/* number of the bit for this local wire in the receiver's doorbell,
	 * below RN_CTL_WIRES_MAX
	 */
	uint32_t bit;
	/* number of the bit for this local wire in the peer's doorbell */
	uint32_t peer_bit;
	/* 1: packets may lack their ICRC, because both ends accept that. */
	uint32_t no_icrc;
};

/* Event: there is no local wire (shared memory) between these ends, or not any more.
 * @err 0: the peer has gone; otherwise the wire was refused or is broken, and @err is
 * the reason.
 */
struct rn_ctl_wire_down {
	struct rn_ctl_hdr hdr;
	struct rn_ctl_ends ends;
	int32_t err; /* positive errno value, or 0 */
	uint32_t reserved;
};

/* Begin to capture the packets of every device in use, and of devices that come into use
 * later, until the connection is closed.
 */
struct rn_ctl_capture {
	struct rn_ctl_hdr hdr;
	char ibdev[32];	  /* only this device, NUL-terminated; empty: all devices */
	int32_t pid;	  /* only devices of this process; 0: of all processes */
	uint32_t qpn;	  /* as in struct rn_capture_filter */
	uint32_t snaplen; /* as in struct rn_capture_filter */
	uint32_t size;	  /* number of data bytes of each ring */
};

/* To a device: a capture has begun. From now on the device writes its packets into the
 * ring that comes with this message.
 */
struct rn_ctl_tap {
	struct rn_ctl_hdr hdr;
	uint64_t id; /* identifies the capture */
	uint32_t qpn, snaplen, size;
	uint32_t reserved;
};

/* To a capture: from now on the packets of one more device come by the ring in this
 * message.
 */
struct rn_ctl_tap_source {
	struct rn_ctl_hdr hdr;
	uint64_t id; /* identifies the device; as in struct rn_ctl_client */
	int32_t pid;
	uint32_t slot;
	uint32_t size;
	uint32_t has_stats; /* 1: the device's statistics page comes with the message */
	char ibdev[32];
	char ifname[16];
};

/* The other end of a ring has ended: for a device, the capture @id; for a capture, the
 * device @id. Packets that are in the ring can still be read.
 */
struct rn_ctl_tap_end {
	struct rn_ctl_hdr hdr;
	uint64_t id;
};

/* Room for any message. */
union rn_ctl_msg {
	struct rn_ctl_hdr hdr;
	struct rn_ctl_hello hello;
	struct rn_ctl_welcome welcome;
	struct rn_ctl_refused refused;
	struct rn_ctl_attach attach;
	struct rn_ctl_attached attached;
	struct rn_ctl_list list;
	struct rn_ctl_client client;
	struct rn_ctl_status_reply status;
	struct rn_ctl_gid_change gid_change;
	struct rn_ctl_port port;
	struct rn_ctl_faults_set faults_set;
	struct rn_ctl_faults_reply faults_reply;
	struct rn_ctl_faults faults;
	struct rn_ctl_cm_open cm_open;
	struct rn_ctl_wire_ask wire_ask;
	struct rn_ctl_wire wire;
	struct rn_ctl_wire_down wire_down;
	struct rn_ctl_capture capture;
	struct rn_ctl_tap tap;
	struct rn_ctl_tap_source tap_source;
	struct rn_ctl_tap_end tap_end;
	struct rn_ctl_replace replace;
};

/* Return: the length that a message of this type must have; 0 if there is no such type.
 */
static inline size_t rn_ctl_len(uint32_t type)
{
	static const uint16_t len[] = {
		[RN_CTL_HELLO] = sizeof(struct rn_ctl_hello),
		[RN_CTL_ATTACH] = sizeof(struct rn_ctl_attach),
		[RN_CTL_DETACH] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_LIST] = sizeof(struct rn_ctl_list),
		[RN_CTL_STATUS] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_SHUTDOWN] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_CM_OPEN] = sizeof(struct rn_ctl_cm_open),
		[RN_CTL_WELCOME] = sizeof(struct rn_ctl_welcome),
		[RN_CTL_REFUSED] = sizeof(struct rn_ctl_refused),
		[RN_CTL_ATTACHED] = sizeof(struct rn_ctl_attached),
		[RN_CTL_DETACHED] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_CLIENT] = sizeof(struct rn_ctl_client),
		[RN_CTL_LIST_END] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_STATUS_REPLY] = sizeof(struct rn_ctl_status_reply),
		[RN_CTL_STOPPING] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_CM_OPENED] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_GID_CHANGE] = sizeof(struct rn_ctl_gid_change),
		[RN_CTL_PORT] = sizeof(struct rn_ctl_port),
		[RN_CTL_GOING_DOWN] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_FAULTS_SET] = sizeof(struct rn_ctl_faults_set),
		[RN_CTL_FAULTS_GET] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_FAULTS_REPLY] = sizeof(struct rn_ctl_faults_reply),
		[RN_CTL_FAULTS] = sizeof(struct rn_ctl_faults),
		[RN_CTL_WIRE_ASK] = sizeof(struct rn_ctl_wire_ask),
		[RN_CTL_WIRE_DROP] = sizeof(struct rn_ctl_wire_ask),
		[RN_CTL_WIRE] = sizeof(struct rn_ctl_wire),
		[RN_CTL_WIRE_DOWN] = sizeof(struct rn_ctl_wire_down),
		[RN_CTL_CAPTURE] = sizeof(struct rn_ctl_capture),
		[RN_CTL_CAPTURING] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_REPLACE] = sizeof(struct rn_ctl_replace),
		[RN_CTL_REPLACING] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_CM_LIST] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_CM_LISTED] = sizeof(struct rn_ctl_hdr),
		[RN_CTL_TAP] = sizeof(struct rn_ctl_tap),
		[RN_CTL_TAP_SOURCE] = sizeof(struct rn_ctl_tap_source),
		[RN_CTL_TAP_END] = sizeof(struct rn_ctl_tap_end),
	};

	return type < RN_ARRAY_SIZE(len) ? len[type] : 0;
}

/* Return: the header of a new message of this type. */
static inline struct rn_ctl_hdr rn_ctl_hdr(enum rn_ctl_type type)
{
	return (struct rn_ctl_hdr){
		.magic = RN_CTL_MAGIC,
		.version = RN_CTL_VERSION,
		.type = (uint16_t)type,
		.len = (uint32_t)rn_ctl_len(type),
	};
}

/* The layouts are shared between processes, possibly of different builds. */
static_assert(sizeof(struct rn_ctl_hdr) == 16, "same in every version");
static_assert(sizeof(struct rn_ctl_hello) == 48, "same in every version");
static_assert(sizeof(struct rn_ctl_refused) == 24 + RN_CTL_TEXT_LEN,
	      "same in every version");
static_assert(offsetof(struct rn_ctl_refused, err) == 16, "same in every version");
static_assert(offsetof(struct rn_ctl_refused, text) == 24, "same in every version");
static_assert(sizeof(struct rn_ctl_welcome) == 56, "no hidden padding");
static_assert(sizeof(struct rn_ctl_attach) == 88 + 16 * RN_GID_MAX, "no hidden padding");
static_assert(sizeof(struct rn_ctl_attached) == 40, "no hidden padding");
static_assert(sizeof(struct rn_ctl_cm_open) == 2064, "no hidden padding");
static_assert(sizeof(struct rn_ctl_replace) == 56, "no hidden padding");
static_assert(sizeof(struct rn_ctl_list) == 24, "no hidden padding");
static_assert(sizeof(struct rn_ctl_client) == 88 + 16 * RN_GID_MAX, "no hidden padding");
static_assert(sizeof(struct rn_ctl_status_reply) == 96 + 8 * RN_CTL_DROP_MAX,
	      "no padding");
static_assert(sizeof(struct rn_ctl_gid_change) == 40, "no hidden padding");
static_assert(sizeof(struct rn_ctl_port) == 24, "no hidden padding");
static_assert(sizeof(struct rn_ctl_faults_set) == 24 + RN_CTL_RULES_MAX, "no padding");
static_assert(sizeof(struct rn_ctl_faults_reply) == 32 + 16 * RN_CTL_RULES_MAX,
	      "no hidden padding");
static_assert(sizeof(struct rn_ctl_faults) == 32, "no hidden padding");
static_assert(sizeof(struct rn_ctl_wire_ask) == 56, "no hidden padding");
static_assert(sizeof(struct rn_ctl_wire) == 72, "no hidden padding");
static_assert(sizeof(struct rn_ctl_wire_down) == 64, "no hidden padding");
static_assert(sizeof(struct rn_ctl_capture) == 64, "no hidden padding");
static_assert(sizeof(struct rn_ctl_tap) == 40, "no hidden padding");
static_assert(sizeof(struct rn_ctl_tap_source) == 88, "no hidden padding");
static_assert(sizeof(struct rn_ctl_tap_end) == 24, "no hidden padding");

#endif /* RN_CTL_H */
