/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* visit.c - see visit.h */
#include "visit.h"

#include <string.h>

enum {
	GROUP = 7, /* bits in one byte of a number */
	MORE = 1 << GROUP,
};

static void put_byte(struct rn_visit *v, uint8_t byte)
{
	if (v->failed || v->left == 0) {
		v->failed = true;
		return;
	}
	*v->out++ = byte;
	v->left--;
}

static uint8_t get_byte(struct rn_visit *v)
{
	if (v->failed || v->left == 0) {
		v->failed = true;
		return 0;
	}
	v->left--;
	return *v->in++;
}

static void put_number(struct rn_visit *v, uint64_t value)
{
	for (; value >= MORE; value >>= GROUP)
		put_byte(v, (uint8_t)(value | MORE));
	put_byte(v, (uint8_t)value);
}

static uint64_t get_number(struct rn_visit *v, size_t size)
{
	uint64_t value = 0;
	uint8_t byte = MORE;

	for (unsigned shift = 0; byte & MORE; shift += GROUP) {
		uint64_t group;

		byte = get_byte(v);
		group = byte & (MORE - 1);
		if (shift >= 64 || group << shift >> shift != group)
			v->failed = true;
		if (v->failed)
			return 0;
		value |= group << shift;
	}
	if (size < sizeof(value) && value >> (8 * size)) {
		v->failed = true;
		return 0;
	}
	return value;
}

uint64_t rn_visit_number(struct rn_visit *v, const char *name, uint64_t value,
			 size_t size)
{
	/* A negative number of fewer than 8 bytes came with its sign in front. */
	if (size < sizeof(value))
		value &= (UINT64_C(1) << (8 * size)) - 1;
	switch (v->mode) {
	case RN_VISIT_PUT:
		put_number(v, value);
		break;
	case RN_VISIT_GET:
		return get_number(v, size);
	case RN_VISIT_LIST:
		v->see(v->arg, name, value, NULL);
		break;
	}
	return value;
}

static void put_bytes(struct rn_visit *v, const uint8_t *data, uint32_t len)
{
	if (v->failed || v->left < len) {
		v->failed = true;
		return;
	}
	if (len > 0)
		memcpy(v->out, data, len);
	v->out += len;
	v->left -= len;
}

/* NULL if there are not so many. */
static const uint8_t *get_bytes(struct rn_visit *v, uint32_t len)
{
	const uint8_t *data = v->in;

	if (v->failed || v->left < len) {
		v->failed = true;
		return NULL;
	}
	v->in += len;
	v->left -= len;
	return data;
}

void rn_visit_bytes(struct rn_visit *v, const char *name, const uint8_t **data,
		    uint32_t *len)
{
	switch (v->mode) {
	case RN_VISIT_PUT:
		put_number(v, *len);
		put_bytes(v, *data, *len);
		break;
	case RN_VISIT_GET:
		*len = (uint32_t)get_number(v, sizeof(*len));
		*data = get_bytes(v, *len);
		if (v->failed)
			*len = 0;
		break;
	case RN_VISIT_LIST:
		v->see(v->arg, name, *len, *data ? *data : (const uint8_t *)"");
		break;
	}
}

void rn_visit_raw(struct rn_visit *v, const char *name, uint8_t *data, uint32_t len)
{
	const uint8_t *in;

	switch (v->mode) {
	case RN_VISIT_PUT:
		put_bytes(v, data, len);
		break;
	case RN_VISIT_GET:
		in = get_bytes(v, len);
		if (in)
			memcpy(data, in, len);
		else
			memset(data, 0, len);
		break;
	case RN_VISIT_LIST:
		v->see(v->arg, name, len, data);
		break;
	}
}
