/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mad.h - management datagrams (MADs) and the messages of the connection manager: byte
 * layout, parsed form, functions that parse and write them.
 *
 * A MAD is 256 bytes: a header of 24 bytes and 232 bytes of data, whose meaning
 * depends on the attribute. As in wire.h, a parsed struct is in host order; emit
 * writes zeros into reserved fields; a value that does not fit its field is a bug of
 * the caller (assert).
 *
 * Private data is always the whole field, padded with zeros: its length is
 * not on the wire.
 *
 * Threads: any; nothing here has state.
 * Source: IBTA Vol 1, 13.4 (MADs), 12.6 and 12.7 (CM messages), Annex A11
 * (IP CM service).
 */
#ifndef RN_MAD_H
#define RN_MAD_H

#include "rocin/gid.h"

enum {
	RN_MAD_LEN = 256,
	RN_MAD_HDR_LEN = 24,
	RN_MAD_DATA_LEN = RN_MAD_LEN - RN_MAD_HDR_LEN,

	RN_MAD_BASE_VERSION = 1,
};

enum rn_mad_class {
	RN_MAD_CLASS_SUBN_LID = 0x01, /* class that is never sent to QP1 */
	RN_MAD_CLASS_SUBN_ADM = 0x03,
	RN_MAD_CLASS_PERF = 0x04,
	RN_MAD_CLASS_CM = 0x07,
	RN_MAD_CLASS_PEER_INFO = 0x0f,	   /* a class of vendors, see peer_info.h */
	RN_MAD_CLASS_SUBN_DIRECTED = 0x81, /* class that is never sent to QP1 */
};

enum {
	RN_MAD_CM_VERSION = 2, /* ClassVersion of CM messages */
};

enum rn_mad_method {
	RN_MAD_GET = 0x01,
	RN_MAD_SET = 0x02,
	RN_MAD_SEND = 0x03, /* method of all CM messages */
	RN_MAD_GET_RESP = 0x81,
};

enum {
	RN_MAD_STATUS_BAD_VERSION = 0x0004,
	RN_MAD_STATUS_BAD_METHOD_ATTR =
		0x000c, /* the attribute does not support this method */
};

enum {
	RN_MAD_ATTR_CLASS_PORT_INFO = 0x0001
};

struct rn_mad_hdr {
	uint8_t base_version;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t method;
	uint16_t status;
	uint16_t class_specific;
	uint64_t tid; /* transaction ID; an answer has the same ID as its request */
	uint16_t attr_id;
	uint32_t attr_mod;
};

/* Read or write the header: the first RN_MAD_HDR_LEN bytes of a MAD, which must be there.
 */
void rn_mad_hdr_parse(struct rn_mad_hdr *hdr, const uint8_t *mad);
void rn_mad_hdr_emit(uint8_t *mad, const struct rn_mad_hdr *hdr);

/* ---- CM messages ---- */

enum rn_cm_attr {
	RN_CM_REQ = 0x10,
	RN_CM_MRA,
	RN_CM_REJ,
	RN_CM_REP,
	RN_CM_RTU,
	RN_CM_DREQ,
	RN_CM_DREP,
	RN_CM_SIDR_REQ,
	RN_CM_SIDR_REP,
	RN_CM_LAP,
	RN_CM_APR,
};

/* Sizes in bytes of the fields for private data and additional reject information (ARI).
 */
enum {
	RN_CM_REQ_DATA = 92,
	RN_CM_MRA_DATA = 222,
	RN_CM_REJ_DATA = 148,
	RN_CM_REP_DATA = 196,
	RN_CM_RTU_DATA = 224,
	RN_CM_DREQ_DATA = 220,
	RN_CM_DREP_DATA = 224,
	RN_CM_SIDR_REQ_DATA = 216,
	RN_CM_SIDR_REP_DATA = 136,
	RN_CM_LAP_DATA = 168,
	RN_CM_APR_DATA = 148,
	RN_CM_DATA_MAX = 224,
	RN_CM_ARI_LEN = 72,
};

/* Message to which an MRA or a REJ refers. */
enum rn_cm_about {
	RN_CM_ABOUT_REQ = 0,
	RN_CM_ABOUT_REP = 1,
	/* an MRA refers to a LAP, a REJ to any other message */
	RN_CM_ABOUT_OTHER = 2,
};

/* Reasons of a REJ (IBTA Vol 1, table "REJ reason codes"). */
enum rn_cm_reason {
	RN_CM_REJ_NO_QP = 1,
	RN_CM_REJ_NO_EEC = 2,
	RN_CM_REJ_NO_RESOURCES = 3,
	RN_CM_REJ_TIMEOUT = 4, /* ARI: CA GUID of the rejecting node */
	RN_CM_REJ_UNSUPPORTED = 5,
	RN_CM_REJ_INVALID_COMM_ID = 6,
	RN_CM_REJ_INVALID_COMM_INSTANCE = 7,
	RN_CM_REJ_INVALID_SERVICE_ID = 8, /* no listener for this service */
	RN_CM_REJ_INVALID_TRANSPORT = 9,
	RN_CM_REJ_STALE_CONN = 10,
	RN_CM_REJ_INVALID_GID = 12, /* ARI: a GID that would be accepted */
	RN_CM_REJ_INVALID_ALT_GID = 18,
	RN_CM_REJ_INVALID_MTU = 26,
	RN_CM_REJ_INSUFFICIENT_RESOURCES = 27,
	RN_CM_REJ_CONSUMER = 28, /* rejected by the program */
	RN_CM_REJ_DUPLICATE_COMM_ID = 30,
	RN_CM_REJ_CLASS_VERSION = 31,
	RN_CM_REJ_VENDOR_OPTION = 35,
};

/* Transport service of a REQ. */
enum rn_cm_transport {
	RN_CM_TRANSPORT_RC = 0,
	RN_CM_TRANSPORT_UC = 1,
	RN_CM_TRANSPORT_RD = 2,
	RN_CM_TRANSPORT_EXTENDED = 3, /* ext_transport says which transport; 1 is XRC */
};

enum rn_cm_sidr_status {
	RN_CM_SIDR_SUCCESS = 0,
	RN_CM_SIDR_UNSUPPORTED = 1, /* no such service */
	RN_CM_SIDR_REJECTED = 2,
	RN_CM_SIDR_NO_QP = 3,
	RN_CM_SIDR_REDIRECT = 4,
	RN_CM_SIDR_UNSUPPORTED_VERSION = 5,
};

enum rn_cm_ap_status {
	RN_CM_APR_SUCCESS = 0,
	RN_CM_APR_INVALID_COMM_ID = 1,
	RN_CM_APR_UNSUPPORTED = 2,
	RN_CM_APR_REJECTED = 3,
	RN_CM_APR_IS_CURRENT = 5,
};

/* A path, as the sender of the message sees it. RoCE has no LIDs: both LIDs are 0xffff if
 * the path is routed, else 0 (Annex A16).
 */
struct rn_cm_path_rec {
	uint16_t local_lid;
	uint16_t remote_lid;
	struct rn_gid local_gid;
	struct rn_gid remote_gid;
	uint32_t flow_label; /* 20 bits */
	uint8_t rate;	     /* 6 bits */
	uint8_t tclass;
	uint8_t hop_limit;
	uint8_t sl; /* 4 bits */
	bool subnet_local;
	uint8_t ack_timeout; /* 5 bits: local ACK timeout code */
};

/* REQ. Times are codes of 5 bits: 4.096 us * 2^code. */
struct rn_cm_req {
	uint32_t local_id;
	uint32_t vendor_id; /* 24 bits; for enhanced connection establishment (ECE) */
	uint64_t service_id;
	uint64_t ca_guid;
	uint32_t qkey;
	uint32_t qpn;	     /* 24 bits */
	uint8_t resp_res;    /* READs and atomics that the sender can answer at a time */
	uint32_t local_eecn; /* 24 bits */
	/* READs and atomics that the sender will have outstanding at a time. */
	uint8_t init_depth;
	uint32_t remote_eecn;
	/* Time within which the receiver of the REQ has to answer. */
	uint8_t remote_resp_timeout;
	uint8_t transport; /* enum rn_cm_transport */
	bool flow_control;
	uint32_t start_psn; /* 24 bits: first PSN that the sender of the REQ expects */
	/* Time within which the sender of the REQ will answer. */
	uint8_t local_resp_timeout;
	uint8_t retry_count; /* 3 bits; to be used by the receiver's QP */
	uint16_t pkey;
	uint8_t mtu; /* 4 bits: enum ibv_mtu */
	bool rdc_exists;
	uint8_t rnr_retry_count; /* 3 bits; to be used by the receiver's QP */
	uint8_t max_cm_retries;	 /* 4 bits */
	bool srq;
	uint8_t ext_transport; /* 3 bits */
	bool sap_supported;
	struct rn_cm_path_rec primary,
		alternate; /* all zeros if there is no alternate path */
};

struct rn_cm_mra {
	uint32_t local_id;
	uint32_t remote_id;
	uint8_t about;		 /* enum rn_cm_about */
	uint8_t service_timeout; /* 5 bits */
};

struct rn_cm_rej {
	uint32_t local_id; /* 0: the sender has no ID for the connection yet */
	uint32_t remote_id;
	uint8_t about;	 /* enum rn_cm_about */
	uint8_t ari_len; /* number of valid bytes of @ari; 7 bits */
	uint16_t reason; /* enum rn_cm_reason */
	uint8_t ari[RN_CM_ARI_LEN];
};

struct rn_cm_rep {
	uint32_t local_id;
	uint32_t remote_id;
	uint32_t qkey;
	uint32_t qpn;	    /* 24 bits */
	uint32_t eecn;	    /* 24 bits; for XRC the target's QPN */
	uint32_t start_psn; /* 24 bits: first PSN that the sender of the REP expects */
	uint8_t resp_res;   /* READs and atomics that the sender can answer at a time */
	/* READs and atomics that the sender will have outstanding at a time. */
	uint8_t init_depth;
	uint8_t ack_delay; /* 5 bits: target ACK delay code */
	uint8_t failover;  /* 2 bits */
	bool flow_control;
	uint8_t rnr_retry_count; /* 3 bits */
	bool srq;
	uint64_t ca_guid;
	/* Parts of the vendor ID, which has 24 bits. */
	uint8_t vendor_hi, vendor_mid, vendor_low;
};

/* RTU or DREP. */
struct rn_cm_ids {
	uint32_t local_id;
	uint32_t remote_id;
};

struct rn_cm_dreq {
	uint32_t local_id;
	uint32_t remote_id;
	uint32_t remote_qpn; /* 24 bits: QPN of the receiver */
};

struct rn_cm_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
};

struct rn_cm_sidr_rep {
	uint32_t request_id;
	uint8_t status; /* enum rn_cm_sidr_status */
	uint8_t ari_len;
	uint16_t vendor_hi; /* upper 16 bits of the vendor ID, which has 24 */
	uint32_t qpn;	    /* 24 bits */
	uint8_t vendor_low;
	uint64_t service_id;
	uint32_t qkey;
	uint8_t ari[RN_CM_ARI_LEN];
};

struct rn_cm_lap {
	uint32_t local_id;
	uint32_t remote_id;
	uint32_t remote_qpn;	     /* 24 bits: QPN of the receiver */
	uint8_t remote_resp_timeout; /* 5 bits */
	struct rn_cm_path_rec alternate;
};

struct rn_cm_apr {
	uint32_t local_id;
	uint32_t remote_id;
	uint8_t ari_len;
	uint8_t status; /* enum rn_cm_ap_status */
	uint8_t ari[RN_CM_ARI_LEN];
};

struct rn_cm_msg {
	enum rn_cm_attr attr;
	/* Private data. In a parsed message, this is the whole field, inside the MAD. In
	 * a message to be written, these are the first bytes of the field, and zeros
	 * follow.
	 */
	const uint8_t *data;
	uint32_t data_len;
	union {
		struct rn_cm_req req;
		struct rn_cm_mra mra;
		struct rn_cm_rej rej;
		struct rn_cm_rep rep;
		struct rn_cm_ids rtu;
		struct rn_cm_dreq dreq;
		struct rn_cm_ids drep;
		struct rn_cm_sidr_req sidr_req;
		struct rn_cm_sidr_rep sidr_rep;
		struct rn_cm_lap lap;
		struct rn_cm_apr apr;
	};
};

/**
 * rn_cm_msg_parse() - Read a CM message
 * @msg:	Out; untouched on failure
 * @attr:	Attribute of the MAD
 * @data:	RN_MAD_DATA_LEN bytes, which have to stay as long as @msg->data is used
 *
 * Return: 0, or -EPROTO if @attr is no CM message.
 */
int rn_cm_msg_parse(struct rn_cm_msg *msg, uint16_t attr, const uint8_t *data);

/* Writes @msg into the RN_MAD_DATA_LEN bytes at @data. Private data that is longer than
 * its field is a bug of the caller (assert).
 */
void rn_cm_msg_emit(uint8_t *data, const struct rn_cm_msg *msg);

/* Returns the name of a message: "REQ", "SIDR_REP", ...; NULL if @attr is not a
 * CM message.
 */
const char *rn_cm_msg_name(uint16_t attr);

/* Returns the size in bytes of the private data field of this message. */
uint32_t rn_cm_data_len(enum rn_cm_attr attr);

/* ---- RDMA IP CM service ---- */

/* Port spaces. The service ID of a port is port_space << 16 | port. */
enum rn_cm_port_space {
	RN_CM_PS_IPOIB = 0x0002,
	RN_CM_PS_TCP = 0x0106,
	RN_CM_PS_UDP = 0x0111,
	RN_CM_PS_IB = 0x013f,
};

static inline uint64_t rn_cm_service_id(enum rn_cm_port_space ps, uint16_t port)
{
	return (uint64_t)ps << 16 | port;
}

/* Returns true if this is a service ID of Annex A11. Then the private data of a REQ
 * begins with an IP CM header.
 */
static inline bool rn_cm_service_is_ip(uint64_t service_id)
{
	return service_id >> 24 == 1;
}

enum {
	RN_CM_IP_HDR_LEN = 36
};

/* IP CM header: the first bytes of the private data of a REQ or SIDR_REQ to an
 * IP service.
 */
struct rn_cm_ip_hdr {
	uint16_t src_port;
	struct rn_gid src; /* IPv4 addresses are mapped into IPv6 (::ffff:a.b.c.d) */
	struct rn_gid dst; /* destination; an address of the same family as @src */
};

/* Parses the IP CM header at @p. Returns 0, or -EPROTO if the major version is not 0 or
 * the address family is unknown; @hdr is unchanged then.
 */
int rn_cm_ip_hdr_parse(struct rn_cm_ip_hdr *hdr, const uint8_t *p);

/* Writes an IP CM header. Return: the byte after the header. */
uint8_t *rn_cm_ip_hdr_emit(uint8_t *p, const struct rn_cm_ip_hdr *hdr);

#endif /* RN_MAD_H */
