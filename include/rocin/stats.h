/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.h - the counters of a device, and the format of the file (page) in which other
 * processes read them.
 *
 * The names are those of the hw_counters of existing drivers where one exists (rdma(8),
 * mlx5 and rxe), so scripts that were written for hardware work.
 *
 * The page is a memfd that belongs to the process with the device, which writes it.
 * rocind and `rocin stat` read it with pread(), never by mapping it, so a process that
 * truncates its page cannot crash them. Every field is written with relaxed 8- or 4-byte
 * stores: two counters may be read as of different times, but no value is read half old
 * and half new.
 */
#ifndef RN_STATS_H
#define RN_STATS_H

#include "rocin/gid.h"

/* clang-format off */
/* What a capture gets when the counter is incremented while a packet is received.
 * REPORTED: a diagnostic about that packet. QUIET: nothing, because the counter is not
 * about the packet, or there is a more precise diagnostic, or the core does not count it.
 */
/*    symbol                 name                             report, what it counts */
#define RN_STATS(X) \
	X(RX_PACKETS,            "rcvd_pkts",                     QUIET,    "packets taken from the wire") \
	X(RX_BYTES,              "rcvd_bytes",                    QUIET,    "bytes from BTH to ICRC taken from the wire") \
	X(TX_PACKETS,            "sent_pkts",                     QUIET,    "packets given to the wire") \
	X(TX_BYTES,              "sent_bytes",                    QUIET,    "bytes from BTH to ICRC given to the wire") \
	X(RX_MULTICAST,          "rcvd_multicast_pkts",           QUIET,    "packets to multicast groups, of rcvd_pkts") \
	X(TX_MULTICAST,          "sent_multicast_pkts",           QUIET,    "packets to multicast groups, of sent_pkts") \
	X(RX_WRITE_REQUESTS,     "rx_write_requests",             QUIET,    "RDMA WRITE messages received") \
	X(RX_READ_REQUESTS,      "rx_read_requests",              QUIET,    "RDMA READ requests received") \
	X(RX_ATOMIC_REQUESTS,    "rx_atomic_requests",            QUIET,    "atomic requests received") \
	X(RX_SENDS,              "rdma_recvs",                    QUIET,    "SEND messages received") \
	X(TX_SENDS,              "rdma_sends",                    QUIET,    "SEND messages completed") \
	X(DUPLICATE_REQUEST,     "duplicate_request",             REPORTED, "requests received again") \
	X(OUT_OF_SEQUENCE,       "out_of_sequence",               REPORTED, "requests beyond the expected PSN") \
	X(PACKET_SEQ_ERR,        "packet_seq_err",                REPORTED, "NAK-PSN-sequence-error received") \
	X(IMPLIED_NAK_SEQ_ERR,   "implied_nak_seq_err",           REPORTED, "READ or atomic responses found missing") \
	X(LOCAL_ACK_TIMEOUT,     "local_ack_timeout_err",         REPORTED, "local ACK timer expired") \
	X(RNR_NAK_RX,            "rnr_nak_retry_err",             REPORTED, "RNR NAK received") \
	X(RNR_NAK_TX,            "sent_rnr_nak",                  QUIET,    "RNR NAK sent: no receive was posted") \
	X(SEQ_NAK_TX,            "sent_seq_nak",                  QUIET,    "NAK-PSN-sequence-error sent") \
	X(RETRY_EXCEEDED,        "retry_exceeded_err",            REPORTED, "work requests failed: transport retries used up") \
	X(RNR_RETRY_EXCEEDED,    "retry_rnr_exceeded_err",        REPORTED, "work requests failed: RNR retries used up") \
	X(RETRANSMITTED,         "retransmitted_pkts",            QUIET,    "request packets sent again") \
	X(ACK_COALESCED,         "ack_coalesced",                 QUIET,    "acknowledgements saved by one that covers them") \
	X(RESP_LOCAL_LENGTH,     "resp_local_length_error",       QUIET,    "receives too short for their message") \
	X(RESP_REMOTE_ACCESS,    "resp_remote_access_errors",     QUIET,    "NAK-remote-access-error sent") \
	X(RESP_INVALID_REQ,      "resp_invalid_request",          QUIET,    "NAK-invalid-request sent") \
	X(RESP_OP_ERR,           "resp_remote_op_errors",         QUIET,    "NAK-remote-operational-error sent") \
	X(REQ_REMOTE_ACCESS,     "req_remote_access_errors",      REPORTED, "NAK-remote-access-error received") \
	X(REQ_REMOTE_INVALID,    "req_remote_invalid_request",    REPORTED, "NAK-invalid-request received") \
	X(REQ_REMOTE_OP,         "req_remote_op_errors",          REPORTED, "NAK-remote-operational-error received") \
	X(REQ_CQE_ERR,           "req_cqe_error",                 QUIET,    "send completions with an error other than flush") \
	X(REQ_CQE_FLUSH,         "req_cqe_flush_error",           QUIET,    "send completions flushed") \
	X(RESP_CQE_ERR,          "resp_cqe_error",                QUIET,    "receive completions with an error other than flush") \
	X(RESP_CQE_FLUSH,        "resp_cqe_flush_error",          QUIET,    "receive completions flushed") \
	X(CQ_OVERRUN,            "cq_overrun",                    REPORTED, "completions lost because their CQ was full") \
	X(RX_ICRC,               "rx_icrc_encapsulated",          REPORTED, "packets dropped: wrong ICRC") \
	X(RX_ICRC_SOLVED,        "rx_icrc_solved",                REPORTED, "packets accepted after solving for the IPv4 identification") \
	X(RX_SHORT,              "rx_short",                      REPORTED, "packets dropped: shorter than their headers") \
	X(RX_BAD_TVER,           "rx_bad_tver",                   REPORTED, "packets dropped: transport version not 0") \
	X(RX_BAD_OPCODE,         "rx_bad_opcode",                 REPORTED, "packets dropped: opcode unknown or not of the QP's transport") \
	X(RX_UNKNOWN_QP,         "rx_unknown_qp",                 REPORTED, "packets dropped: no such QP here") \
	X(RX_BAD_STATE,          "rx_bad_state",                  REPORTED, "packets dropped: QP state does not receive") \
	X(RX_BAD_PKEY,           "bad_pkey",                      REPORTED, "packets dropped: P_Key mismatch") \
	X(RX_BAD_QKEY,           "qkey_viol",                     REPORTED, "packets dropped: Q_Key mismatch") \
	X(RX_BAD_SOURCE,         "rx_bad_source",                 REPORTED, "packets dropped: addresses are not the QP's path") \
	X(RX_DROPPED,            "rx_dropped",                    REPORTED, "packets dropped as the transport rules say (UC, UD, duplicates, stale responses)") \
	X(RX_NO_RECV,            "rx_no_recv",                    REPORTED, "UC or UD messages dropped: no receive posted or too short") \
	X(LOCAL_TX_PACKETS,      "local_sent_pkts",               QUIET,    "packets sent through shared memory, of sent_pkts") \
	X(LOCAL_TX_BYTES,        "local_sent_bytes",              QUIET,    "bytes sent through shared memory, of sent_bytes") \
	X(LOCAL_RX_PACKETS,      "local_rcvd_pkts",               QUIET,    "packets received through shared memory, of rcvd_pkts") \
	X(LOCAL_RX_BYTES,        "local_rcvd_bytes",              QUIET,    "bytes received through shared memory, of rcvd_bytes") \
	X(LOCAL_TX_NO_ICRC,      "local_sent_bare_pkts",          QUIET,    "packets without ICRC, of local_sent_pkts") \
	X(LOCAL_SPOILT,          "local_spoilt",                  QUIET,    "local wires given up because the peer broke their rules") \
	X(LOCAL_RENEWED,         "local_renewed",                 QUIET,    "times that another local wire was asked for: the last was lost, and the peer is there still") \
	X(TX_DROPPED,            "tx_dropped",                    QUIET,    "packets that the socket refused") \
	X(TX_TOO_LONG,           "tx_too_long",                   QUIET,    "packets dropped: longer than the way to their destination carries") \
	X(SOCK_OVERFLOW,         "rx_sock_overflow",              QUIET,    "packets that the kernel dropped: receive buffer full") \
	X(ICMP_REFUSED,          "icmp_refused",                  QUIET,    "times that a silent peer turned out to refuse packets, as ICMP says") \
	X(FAULT_DROPPED,         "fault_dropped",                 QUIET,    "packets dropped on purpose by fault injection") \
	X(MEM_FAULT,             "mem_fault",                     REPORTED, "accesses to registered memory that is gone") \
	X(RECORD_LOST,           "record_lost",                   QUIET,    "calls that a recording lacks: its disk was full, or its file made shorter") \
	X(NP_ECN_MARKED,         "np_ecn_marked_roce_packets",    REPORTED, "packets received that a switch has marked (CE)") \
	X(NP_CNP_SENT,           "np_cnp_sent",                   QUIET,    "congestion notifications sent") \
	X(RP_CNP_HANDLED,        "rp_cnp_handled",                REPORTED, "congestion notifications received for a queue pair") \
	X(RP_CNP_IGNORED,        "rp_cnp_ignored",                REPORTED, "congestion notifications dropped: congestion control is off") \
	X(PCIE_DOORBELLS,        "pcie_doorbells",                QUIET,    "doorbells rung in the simulated PCIe (nic.wqe)") \
	X(PCIE_WQE_READS,        "pcie_wqe_reads",                QUIET,    "reads of WQEs in the simulated PCIe, 64 bytes each at most") \
	X(PCIE_MTT_HITS,         "pcie_mtt_hits",                 QUIET,    "pages whose translation the device had (mtt.cache)") \
	X(PCIE_MTT_MISSES,       "pcie_mtt_misses",               QUIET,    "pages whose translation the device had to read")

enum rn_stat {
#define X(sym, name, report, help) RN_STAT_##sym,
	RN_STATS(X)
#undef X
	RN_STAT_COUNT
};
/* clang-format on */

/* Returns true if a running packet capture gets a comment each time the counter is
 * incremented: it is marked REPORTED in RN_STATS.
 */
static inline bool rn_stat_is_reported(enum rn_stat stat)
{
	enum {
		QUIET = false,
		REPORTED = true
	};
	static const bool reported[] = {
#define X(sym, name, report, help) (report),
		RN_STATS(X)
#undef X
	};

	return reported[stat];
}

/* Names and descriptions of the counters, for people. */
extern const char *const rn_stat_name[RN_STAT_COUNT];
extern const char *const rn_stat_help[RN_STAT_COUNT];

enum {
	RN_STATS_PAGE_MAGIC = 0x524f4350, /* "ROCP" */
	RN_STATS_PAGE_VERSION = 2,
	/* Maximum number of counters; larger than needed, so that counters can be added
	 * without a new layout.
	 */
	RN_STATS_COUNTERS_MAX = 96,
};

/* Record of one QP, for `rocin stat` and RDMA netlink. qpn 0: the record is free. */
struct rn_stats_qp {
	uint32_t qpn;
	uint32_t dest_qpn;
	uint8_t type;  /* enum rn_qp_type */
	uint8_t state; /* enum rn_qp_state of the QP */
	/* phase of congestion control: 0: no limit; 1: recovery, 2: additive, 3: hyper
	 * increase
	 */
	uint8_t cc_phase;
	uint8_t mig_state;	/* enum rn_mig_state */
	uint32_t sq_depth;	/* number of WQEs that are not complete */
	uint32_t rq_depth;	/* number of receives that are posted and not taken */
	uint32_t retransmitted; /* number of retransmitted packets */
	struct rn_gid dest_gid;
	uint64_t tx_packets;
	uint64_t rx_packets;
	/* Rate in kbit/s to which congestion control limited the QP when it sent its last
	 * packet; 0: no limit.
	 */
	uint32_t cc_rate;
	uint32_t pdn; /* number of the protection domain; 0: none */
	/* PSN of the next request that this QP will send, and PSN of the next request
	 * that it expects. @rq_psn may have the flags RN_STATS_NO_RECV and
	 * RN_STATS_ANSWERED above the PSN.
	 */
	uint32_t sq_psn, rq_psn;
};

enum {
	RN_STATS_PSN_MASK = 0xffffff,
	/* The request that is expected has come, but there was no receive for it. */
	RN_STATS_NO_RECV = 1 << 30,
	/* Since the QP was connected, the peer has acknowledged a request, or has sent an
	 * RNR NAK: it had no receive for a request.
	 */
	RN_STATS_ANSWERED = 1 << 29,
};

/* Kinds of objects that have records in the statistics page, apart from QPs. */
enum rn_stats_kind {
	RN_STATS_FREE, /* the record is free */
	RN_STATS_PD,
	RN_STATS_CQ,
	RN_STATS_MR,
	RN_STATS_SRQ,
	RN_STATS_MW,
	RN_STATS_KIND_COUNT
};

/* Record of one object, for `rocin stat --resources` and RDMA netlink. The device writes
 * it when the object is created, changed or destroyed. It also writes @users when another
 * object begins or ends to use this one.
 */
struct rn_stats_object {
	uint32_t kind;	 /* enum rn_stats_kind of the object */
	uint32_t number; /* pdn, cqn, mrn, srqn or mwn: unique in its kind and device */
	uint32_t ctxn;	 /* number of the context that the object belongs to */
	uint32_t users;	 /* PD, CQ, SRQ: number of objects that use it */
	uint32_t pdn;	 /* MR, SRQ, MW: number of the protection domain */
	uint32_t type;	 /* SRQ: enum ibv_srq_type; MW: 1 or 2 */
	uint32_t cqe;	 /* CQ: number of CQEs that it holds */
	uint32_t cqn;	 /* XRC SRQ: number of the CQ; otherwise 0 */
	uint32_t key;	 /* MR: L_Key and R_Key */
	uint32_t access; /* MR: access flags */
	uint64_t iova;	 /* MR: address at which requests see its first byte */
	uint64_t length; /* MR: length in bytes */
	uint64_t reserved[2];
};

/* Whether io_uring is in use (ROCIN_IO=uring). */
enum rn_stats_io {
	RN_STATS_IO_PLAIN, /* the program has not asked for io_uring */
	RN_STATS_IO_URING,
	/* The program has asked for io_uring, but epoll, sendmsg() and recvmsg() are
	 * used, at least in part.
	 */
	RN_STATS_IO_REFUSED,
};

enum {
	RN_STATS_REALTIME_REFUSED = 255,
};

/* Start of a statistics page. @qp_capacity records of struct rn_stats_qp follow at
 * RN_STATS_QP_OFFSET. The process that owns the page enlarges the file before it
 * increases @qp_capacity.
 */
struct rn_stats_page {
	uint32_t magic;
	uint32_t version;
	/* number of counters in @counter, RN_STAT_COUNT in the program's build */
	uint32_t counter_count;
	uint32_t qp_capacity;
	uint32_t pid;
	uint32_t slot;
	char ibdev[32];
	char comm[32]; /* name of the program, NUL-terminated */
	uint32_t io;   /* state of io_uring, enum rn_stats_io */
	/* Real-time priority of the background thread; 0: the program is in no real-time
	 * class; or RN_STATS_REALTIME_REFUSED.
	 */
	uint32_t realtime;
	/* Number of records of struct rn_stats_object, which follow at
	 * RN_STATS_OBJECT_OFFSET. The process that owns the page enlarges the file before
	 * it increases this number. 0 in programs of an older build.
	 */
	uint32_t object_capacity;
	/* number of objects that have no record, as there was no room or memory */
	uint32_t unrecorded;
	/* How packets are treated whose IPv4 identification is not known: an enum
	 * rn_peer_icrc (peer_info.h). 0 in programs of an older build.
	 */
	uint32_t icrc;
	uint8_t reserved[20];
	uint64_t counter[RN_STATS_COUNTERS_MAX];
};

/* Counters of the fault rules in this process, at RN_STATS_FAULTS_OFFSET in the
 * statistics page. Rules are numbered in the order of the text that defines them.
 */
struct rn_stats_faults {
	/* Generation of the rules that rocind has sent; 0: it has sent none. */
	uint64_t generation;
	/* Number of times that rules from the environment were applied. */
	uint64_t own_hits;
	uint64_t seen[64]; /* for each rule: number of packets and calls that match it */
	uint64_t hits[64]; /* for each rule: number of times that it was applied */
};

enum {
	/* maximum number of QP records, and of records of other objects */
	RN_STATS_RECORDS_MAX = 65536,
	RN_STATS_FAULTS_OFFSET = 2048,
	RN_STATS_QP_OFFSET = 4096,
	RN_STATS_OBJECT_OFFSET = RN_STATS_QP_OFFSET +
				 RN_STATS_RECORDS_MAX * (int)sizeof(struct rn_stats_qp),
};

static_assert(sizeof(struct rn_stats_qp) == 72, "layout is shared between processes");
static_assert(sizeof(struct rn_stats_object) == sizeof(struct rn_stats_qp),
	      "records are handled alike");
static_assert(sizeof(struct rn_stats_page) <= RN_STATS_FAULTS_OFFSET,
	      "counts of faults follow the header");
static_assert(RN_STATS_FAULTS_OFFSET + sizeof(struct rn_stats_faults) <=
		      RN_STATS_QP_OFFSET,
	      "records follow the counts of faults");
static_assert((int)RN_STAT_COUNT <= (int)RN_STATS_COUNTERS_MAX,
	      "counters fit their page");

#endif /* RN_STATS_H */
