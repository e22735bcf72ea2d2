/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* describe.c - writes lines of a scenario, and the packets of the device, as text for
 * error messages.
 */
#include <errno.h>

#include "describe.h"
#include "packet.h"
#include "rocin/cqe.h"
#include "rocin/wire.h"
#include "scenario.h"
#include "sim/pcie/model/text.h"

static bool is_hex(enum rn_scn_field f)
{
	return f == RN_F_VA || f == RN_F_RKEY || f == RN_F_PKEY || f == RN_F_QKEY ||
	       f == RN_F_IMM || f == RN_F_SYNDROME || f == RN_F_RKEY_NUMBER ||
	       f == RN_F_DEST || f == RN_F_SRC ||
	       (f >= RN_F_ATTR_NUMBER && f <= RN_F_REMOTE_QPN && f != RN_F_PORT);
}

static void add_letters(struct rn_text *t, uint64_t value)
{
	uint8_t letters[8];

	rn_scene_letters(value, letters);
	for (size_t i = 0; i < sizeof(letters) && letters[i]; i++) {
		char c = '?';

		if (letters[i] > ' ' && letters[i] < 0x7f)
			c = (char)letters[i];
		rn_text_char(t, c);
	}
	if (value == UINT64_MAX)
		rn_text_add(t, " (and more)");
}

static void add_field(struct rn_text *t, const struct rn_scn_line *l, enum rn_scn_field f)
{
	const struct rn_scn_field_info *info = &rn_scn_fields[f];

	rn_text_add(t, info->form == RN_SCN_FLAG && !l->value[f] ? " no " : " ");
	rn_text_add(t, info->name);
	if (info->form == RN_SCN_FLAG)
		return;
	rn_text_char(t, ' ');
	if (info->words)
		rn_text_add(t, rn_scn_word_of(info->words, l->value[f]));
	else if (info->form == RN_SCN_LETTERS)
		add_letters(t, l->value[f]);
	else if (is_hex(f))
		rn_text_hex(t, l->value[f]);
	else
		rn_text_number(t, l->value[f]);
}

static void describe(const char *name, const struct rn_scn_line *l, rn_scn_set fields,
		     char *buf, size_t size)
{
	struct rn_text t;

	rn_text_init(&t, buf, size);
	rn_text_add(&t, name);
	for (unsigned i = 0; i < RN_F_COUNT; i++)
		if (fields & l->given & RN_F_BIT(i))
			add_field(&t, l, (enum rn_scn_field)i);
}

void rn_describe_packet(const struct rn_scn_line *l, rn_scn_set fields, char *buf,
			size_t size)
{
	const char *name = rn_opcode_info[l->opcode].name;

	describe(name ? name : "unknown opcode", l, fields, buf, size);
}

/* Does not write fields that have the same value in every CM message, nor private data
 * that is empty.
 */
void rn_describe_mad(const struct rn_scn_line *l, rn_scn_set fields, char *buf,
		     size_t size)
{
	const struct {
		enum rn_scn_field field;
		uint64_t value;
	} always[] = {
		{ RN_F_BASE, RN_MAD_BASE_VERSION },  { RN_F_CLASS, RN_MAD_CLASS_CM },
		{ RN_F_VERSION, RN_MAD_CM_VERSION }, { RN_F_METHOD, RN_MAD_SEND },
		{ RN_F_ATTR_NUMBER, l->opcode },     { RN_F_PRIVATE, 0 },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(always); i++)
		if (rn_scn_get(l, always[i].field, always[i].value) == always[i].value)
			fields &= ~RN_F_BIT(always[i].field);
	describe(rn_scn_word_of(rn_scn_mads, l->opcode), l, fields, buf, size);
}

/* Returns the fields of the packet @l that the text shows. Fields with the usual value
 * are left out.
 */
static rn_scn_set worth_saying(const struct rn_scn_line *l)
{
	rn_scn_set fields = l->given;

	fields &= ~(RN_F_BIT(RN_F_TTL) | RN_F_BIT(RN_F_TOS) | RN_F_BIT(RN_F_SPORT) |
		    RN_F_BIT(RN_F_PAD) | RN_F_BIT(RN_F_DEST));
	if (l->value[RN_F_M])
		fields &= ~RN_F_BIT(RN_F_M);
	if (l->value[RN_F_PKEY] == RN_PKEY_DEFAULT)
		fields &= ~RN_F_BIT(RN_F_PKEY);
	if (fields & (RN_F_BIT(RN_F_NAK) | RN_F_BIT(RN_F_RNR) | RN_F_BIT(RN_F_CREDITS)))
		fields &= ~RN_F_BIT(RN_F_SYNDROME);
	if (rn_scn_get(l, RN_F_CREDITS, 0) == RN_AETH_NO_CREDIT)
		fields &= ~RN_F_BIT(RN_F_CREDITS);
	if (!l->value[RN_F_LEN])
		fields &= ~RN_F_BIT(RN_F_LEN);
	return fields;
}

void rn_describe_received(const struct rn_scene_packet *p, char *buf, size_t size)
{
	const uint8_t *payload;
	struct rn_scn_line l;
	struct rn_text t;
	int rc;

	if (rn_scene_is_mad(p) && rn_scene_mad_decode(NULL, p, &l)) {
		rn_describe_mad(&l, l.given, buf, size);
		return;
	}
	rc = rn_scene_decode(p, &l, &payload);
	rn_text_init(&t, buf, size);
	if (rc == -EMSGSIZE)
		rn_text_add(&t, "a packet shorter than its headers");
	else if (rc == -EPROTO)
		rn_text_add(&t, "a packet of an unknown kind");
	else
		rn_describe_packet(&l, worth_saying(&l), buf, size);
	if (rc == -EBADMSG) {
		while (t.used < size && buf[t.used])
			t.used++;
		rn_text_add(&t, " (wrong ICRC)");
	}
}

void rn_describe_wc(const struct rn_scene_wc *wc, char *buf, size_t size)
{
	struct rn_text t;

	rn_text_init(&t, buf, size);
	rn_text_add(&t, "wc wr ");
	rn_text_number(&t, wc->wr_id);
	rn_text_char(&t, ' ');
	rn_text_add(&t, rn_scn_word_of(rn_scn_statuses, wc->status));
	if (wc->status != RN_WC_SUCCESS)
		return;
	rn_text_add(&t, " len ");
	rn_text_number(&t, wc->byte_len);
	if (wc->flags & (RN_WC_WITH_IMM | RN_WC_WITH_INV)) {
		rn_text_add(&t, wc->flags & RN_WC_WITH_IMM ? " imm " : " inv ");
		rn_text_hex(&t, wc->imm);
	}
}

void rn_describe_cm_event(const struct rn_scene_cm_event *ev, char *buf, size_t size)
{
	struct rn_text t;

	rn_text_init(&t, buf, size);
	rn_text_add(&t, "event ");
	rn_text_add(&t, rn_scn_word_of(rn_scn_cm_events, ev->type));
	if (ev->status < 0)
		rn_text_add(&t, " timed_out");
	if (ev->status > 0) {
		rn_text_add(&t, " status ");
		rn_text_number(&t, (uint64_t)ev->status);
	}
}

void rn_describe_time(rn_ns at, char *buf, size_t size)
{
	uint64_t ns = at < 0 ? 0 : (uint64_t)at, part = ns % 1000;
	struct rn_text t;

	rn_text_init(&t, buf, size);
	rn_text_number(&t, ns / 1000);
	if (part) {
		rn_text_char(&t, '.');
		for (uint64_t scale = 100; scale && part; part %= scale, scale /= 10)
			rn_text_number(&t, part / scale);
	}
	rn_text_add(&t, "us");
}
