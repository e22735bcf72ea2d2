/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recording.c - records and their bytes. */
#include "recording.h"

#include <errno.h>
#include <string.h>

#include "recording_fields.h"
#include "rocin/rx_tx.h"

const uint8_t rn_rec_magic[8] = { 'r', 'o', 'c', 'i', 'n', 'r', 'e', 'c' };

const char *rn_rec_name(enum rn_rec_kind kind)
{
	return (unsigned)kind < RN_REC_KINDS ? rn_rec_kinds[kind].name : "?";
}

enum rn_rec_class rn_rec_class(enum rn_rec_kind kind)
{
	assert((unsigned)kind < RN_REC_KINDS);
	return rn_rec_kinds[kind].class;
}

static void visit(struct rn_visit *v, struct rn_rec *rec)
{
	const struct rn_rec_kind_info *info = &rn_rec_kinds[rec->kind];

	RN_VISIT_NUMBER(v, rec, dev);
	if (info->has_now)
		RN_VISIT_NUMBER(v, rec, now);
	if (info->has_id)
		RN_VISIT_NUMBER(v, rec, id);
	if (info->visit)
		info->visit(v, rec);
}

static void put_le32(uint8_t *out, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		out[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_le32(const uint8_t *in)
{
	return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 |
	       (uint32_t)in[3] << 24;
}

size_t rn_rec_put(const struct rn_rec *rec, uint8_t *out, size_t room)
{
	struct rn_visit v = { .mode = RN_VISIT_PUT };
	size_t len;

	assert(rec->kind > RN_REC_END_OF_FILE && rec->kind < RN_REC_KINDS);
	if (room < RN_REC_HEAD)
		return 0;
	v.out = out + RN_REC_HEAD;
	v.left = room - RN_REC_HEAD;
	/* To write changes nothing in it. */
	visit(&v, (struct rn_rec *)rec);
	if (v.failed)
		return 0;
	len = (size_t)(v.out - out);
	put_le32(out, (uint32_t)(len - 4));
	out[4] = (uint8_t)rec->kind;
	return len;
}

/* Return: bytes of the record with its head; 0 at the end; -EPROTO. */
static ssize_t frame(const uint8_t *in, size_t left, enum rn_rec_kind *kind)
{
	uint32_t len;

	*kind = RN_REC_END_OF_FILE;
	if (left < RN_REC_HEAD)
		return 0; /* a program that was killed may leave so few zeros */
	len = get_le32(in);
	if (len == 0)
		return 0;
	if (len > RN_REC_MAX || len > left - 4 || in[4] == RN_REC_END_OF_FILE ||
	    in[4] >= RN_REC_KINDS)
		return -EPROTO;
	*kind = (enum rn_rec_kind)in[4];
	return (ssize_t)len + 4;
}

static bool dev_is_sane(const struct rn_rec *rec)
{
	return rec->dev < RN_REC_DEVS || rec->dev == RN_REC_NO_DEV;
}

ssize_t rn_rec_get(const uint8_t *in, size_t left, struct rn_rec *rec)
{
	struct rn_visit v = { .mode = RN_VISIT_GET };
	enum rn_rec_kind kind;
	ssize_t len = frame(in, left, &kind);

	rec->kind = kind;
	if (len <= 0)
		return len;
	rec->now = 0;
	rec->id = 0;
	rec->result = 0;
	memset(&rec->u, 0, sizeof(rec->u));
	v.in = in + RN_REC_HEAD;
	v.left = (size_t)len - RN_REC_HEAD;
	visit(&v, rec);
	return v.failed || v.left > 0 || !dev_is_sane(rec) ? -EPROTO : len;
}

ssize_t rn_rec_peek(const uint8_t *in, size_t left, enum rn_rec_kind *kind, uint8_t *dev)
{
	ssize_t len = frame(in, left, kind);

	/* Numbers of devices and RN_REC_NO_DEV take one byte, or two. */
	if (len > 0)
		*dev = len == RN_REC_HEAD ? RN_REC_NO_DEV : in[RN_REC_HEAD];
	return len;
}

void rn_rec_list(const struct rn_rec *rec, rn_visit_see *see, void *arg)
{
	struct rn_visit v = { .mode = RN_VISIT_LIST, .see = see, .arg = arg };

	visit(&v, (struct rn_rec *)rec);
}

/* ------------------------------------------------------------ where bytes are */
void rn_rec_place_write(struct rn_rec_write *w, const struct rn_rx *rx, uint32_t count,
			const void *src)
{
	for (uint32_t i = 0; i < count; i++) {
		uintptr_t offset = (uintptr_t)src - (uintptr_t)rx[i].data;

		if (offset > rx[i].len || w->len > rx[i].len - offset)
			continue;
		w->packet = i + 1;
		w->offset = (uint32_t)offset;
		return;
	}
	w->data = src;
	w->data_len = w->len;
}

uint32_t rn_rec_place_read(const uint8_t *buf, size_t cap, const void *dst)
{
	uintptr_t offset = (uintptr_t)dst - (uintptr_t)buf;

	return buf && offset < cap ? (uint32_t)offset + 1 : 0;
}

/* ------------------------------------------------------------------ header */
static void visit_header(struct rn_visit *v, struct rn_rec_header *s)
{
	RN_VISIT_NUMBER(v, s, version);
	rn_visit_bytes(v, "rocin", &s->rocin, &s->rocin_len);
	if (v->mode == RN_VISIT_GET && s->version != RN_REC_VERSION)
		return;
	RN_VISIT_NUMBER(v, s, pid);
	RN_VISIT_NUMBER(v, s, date);
	rn_visit_bytes(v, "command", &s->command, &s->command_len);
	rn_visit_bytes(v, "fault", &s->fault, &s->fault_len);
}

size_t rn_rec_put_header(const struct rn_rec_header *h, uint8_t *out, size_t room)
{
	struct rn_visit v = { .mode = RN_VISIT_PUT };

	if (room < sizeof(rn_rec_magic))
		return 0;
	memcpy(out, rn_rec_magic, sizeof(rn_rec_magic));
	v.out = out + sizeof(rn_rec_magic);
	v.left = room - sizeof(rn_rec_magic);
	visit_header(&v, (struct rn_rec_header *)h);
	return v.failed ? 0 : (size_t)(v.out - out);
}

ssize_t rn_rec_get_header(const uint8_t *in, size_t left, struct rn_rec_header *h)
{
	struct rn_visit v = { .mode = RN_VISIT_GET };

	memset(h, 0, sizeof(*h));
	if (left < sizeof(rn_rec_magic) ||
	    memcmp(in, rn_rec_magic, sizeof(rn_rec_magic)) != 0)
		return -EBADMSG;
	v.in = in + sizeof(rn_rec_magic);
	v.left = left - sizeof(rn_rec_magic);
	visit_header(&v, h);
	if (v.failed)
		return -EBADMSG;
	return h->version == RN_REC_VERSION ? v.in - in : -ENOTSUP;
}
