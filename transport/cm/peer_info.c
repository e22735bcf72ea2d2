/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* peer_info.c - writes and reads the questions and answers of peer_info.h. */
#include "rocin/peer_info.h"

#include <string.h>

#include "rocin/mad.h"

enum {
	CLASS_VERSION = 1,
	ATTRIBUTE = 0x0010, /* the first number that is free for the class */
	/* offsets in the data of the MAD */
	MARK = 0,
	VERSION = 8,
	PATH_MTU = 40,
	ICRC = 42,
	TIME_MS = 48,
};

/* The data of each question and answer begin with this mark, because other vendors use
 * the same management classes.
 */
static const uint8_t mark[8] = { 'R', 'o', 'c', 'i', 'n', '?', 0, 1 };

static bool has_mark(const uint8_t *mad)
{
	return memcmp(mad + RN_MAD_HDR_LEN + MARK, mark, sizeof(mark)) == 0;
}

static void emit(uint8_t *mad, enum rn_mad_method method, uint64_t tid)
{
	const struct rn_mad_hdr hdr = { .base_version = RN_MAD_BASE_VERSION,
					.mgmt_class = RN_MAD_CLASS_PEER_INFO,
					.class_version = CLASS_VERSION,
					.method = method,
					.tid = tid,
					.attr_id = ATTRIBUTE };

	memset(mad, 0, RN_MAD_LEN);
	rn_mad_hdr_emit(mad, &hdr);
	memcpy(mad + RN_MAD_HDR_LEN + MARK, mark, sizeof(mark));
}

void rn_peer_ask_emit(uint8_t *mad, uint64_t tid)
{
	emit(mad, RN_MAD_GET, tid);
}

bool rn_peer_is_ask(const uint8_t *mad)
{
	struct rn_mad_hdr hdr;

	rn_mad_hdr_parse(&hdr, mad);
	return hdr.base_version == RN_MAD_BASE_VERSION &&
	       hdr.mgmt_class == RN_MAD_CLASS_PEER_INFO &&
	       hdr.class_version == CLASS_VERSION && hdr.method == RN_MAD_GET &&
	       hdr.attr_id == ATTRIBUTE && has_mark(mad);
}

void rn_peer_answer_emit(uint8_t *mad, const uint8_t *ask,
			 const struct rn_peer_info *info)
{
	uint8_t *data = mad + RN_MAD_HDR_LEN;
	struct rn_mad_hdr hdr;

	rn_mad_hdr_parse(&hdr, ask);
	emit(mad, RN_MAD_GET_RESP, hdr.tid);
	for (unsigned i = 0; i < RN_PEER_VERSION_LEN - 1 && info->version[i]; i++)
		data[VERSION + i] = (uint8_t)info->version[i];
	rn_put_be16(data + PATH_MTU, info->path_mtu);
	data[ICRC] = info->icrc;
	rn_put_be64(data + TIME_MS, info->time_ms);
}

/* Copies the version. Replaces characters that are not printable, because the version
 * will be printed on a terminal.
 */
static void read_version(char *to, const uint8_t *from)
{
	unsigned i;

	for (i = 0; i < RN_PEER_VERSION_LEN - 1 && from[i]; i++) {
		to[i] = '?';
		if (from[i] > ' ' && from[i] < 0x7f)
			memcpy(&to[i], &from[i], 1);
	}
	to[i] = '\0';
}

enum rn_peer_answer rn_peer_answer_parse(const uint8_t *mad, uint64_t tid,
					 struct rn_peer_info *info)
{
	const uint8_t *data = mad + RN_MAD_HDR_LEN;
	struct rn_mad_hdr hdr;

	rn_mad_hdr_parse(&hdr, mad);
	if (hdr.base_version != RN_MAD_BASE_VERSION ||
	    hdr.mgmt_class != RN_MAD_CLASS_PEER_INFO || hdr.method != RN_MAD_GET_RESP ||
	    hdr.attr_id != ATTRIBUTE || hdr.tid != tid)
		return RN_PEER_NO_ANSWER;
	if (hdr.status || hdr.class_version != CLASS_VERSION || !has_mark(mad))
		return RN_PEER_REFUSES;
	*info = (struct rn_peer_info){
		.path_mtu = rn_get_be16(data + PATH_MTU),
		.icrc = data[ICRC] <= RN_PEER_ICRC_EXACT ? data[ICRC]
							 : RN_PEER_ICRC_UNKNOWN,
		.time_ms = rn_get_be64(data + TIME_MS),
	};
	read_version(info->version, data + VERSION);
	return RN_PEER_ANSWERS;
}
