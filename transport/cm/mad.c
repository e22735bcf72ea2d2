/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mad.c - the header of a MAD, and of the private data of the RDMA IP CM service. */
#include "rocin/mad.h"

#include <errno.h>

#include "rocin/wire.h"

/* Offsets in a MAD. */
enum {
	BASE_VERSION = 0,
	MGMT_CLASS = 1,
	CLASS_VERSION = 2,
	METHOD = 3,
	STATUS = 4,
	CLASS_SPECIFIC = 6,
	TID = 8,
	ATTR_ID = 16,
	ATTR_MOD = 20,
};

/* Offsets in an IP CM header. */
enum {
	IP_CM_VERSION = 0, /* upper 4 bits: major */
	IP_VERSION = 1,	   /* upper 4 bits */
	IP_SRC_PORT = 2,
	IP_SRC = 4,
	IP_DST = 20,
	IP_V4 = 12, /* of an IPv4 address within its 16 bytes */
};

void rn_mad_hdr_parse(struct rn_mad_hdr *hdr, const uint8_t *mad)
{
	*hdr = (struct rn_mad_hdr){
		.base_version = mad[BASE_VERSION],
		.mgmt_class = mad[MGMT_CLASS],
		.class_version = mad[CLASS_VERSION],
		.method = mad[METHOD],
		.status = rn_get_be16(mad + STATUS),
		.class_specific = rn_get_be16(mad + CLASS_SPECIFIC),
		.tid = rn_get_be64(mad + TID),
		.attr_id = rn_get_be16(mad + ATTR_ID),
		.attr_mod = rn_get_be32(mad + ATTR_MOD),
	};
}

void rn_mad_hdr_emit(uint8_t *mad, const struct rn_mad_hdr *hdr)
{
	mad[BASE_VERSION] = hdr->base_version;
	mad[MGMT_CLASS] = hdr->mgmt_class;
	mad[CLASS_VERSION] = hdr->class_version;
	mad[METHOD] = hdr->method;
	rn_put_be16(mad + STATUS, hdr->status);
	rn_put_be16(mad + CLASS_SPECIFIC, hdr->class_specific);
	rn_put_be64(mad + TID, hdr->tid);
	rn_put_be16(mad + ATTR_ID, hdr->attr_id);
	rn_put_be16(mad + ATTR_ID + 2, 0);
	rn_put_be32(mad + ATTR_MOD, hdr->attr_mod);
}

static struct rn_gid address(const uint8_t *p, bool ipv4)
{
	struct rn_gid gid = { { [10] = 0xff, [11] = 0xff } };

	if (ipv4)
		memcpy(gid.raw + IP_V4, p + IP_V4, sizeof(gid.raw) - IP_V4);
	else
		memcpy(gid.raw, p, sizeof(gid.raw));
	return gid;
}

int rn_cm_ip_hdr_parse(struct rn_cm_ip_hdr *hdr, const uint8_t *p)
{
	uint8_t version = p[IP_VERSION] >> 4;

	if (p[IP_CM_VERSION] >> 4 != 0)
		return -EPROTO;
	if (version != 4 && version != 6)
		return -EPROTO;
	*hdr = (struct rn_cm_ip_hdr){
		.src_port = rn_get_be16(p + IP_SRC_PORT),
		.src = address(p + IP_SRC, version == 4),
		.dst = address(p + IP_DST, version == 4),
	};
	return 0;
}

uint8_t *rn_cm_ip_hdr_emit(uint8_t *p, const struct rn_cm_ip_hdr *hdr)
{
	bool ipv4 = rn_gid_is_ipv4(&hdr->src);
	unsigned skip = ipv4 ? IP_V4 : 0;

	assert(rn_gid_is_ipv4(&hdr->dst) == ipv4);
	memset(p, 0, RN_CM_IP_HDR_LEN);
	p[IP_VERSION] = (uint8_t)((ipv4 ? 4 : 6) << 4);
	rn_put_be16(p + IP_SRC_PORT, hdr->src_port);
	memcpy(p + IP_SRC + skip, hdr->src.raw + skip, sizeof(hdr->src.raw) - skip);
	memcpy(p + IP_DST + skip, hdr->dst.raw + skip, sizeof(hdr->dst.raw) - skip);
	return p + RN_CM_IP_HDR_LEN;
}
