/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_words.c - numbers and names as the texts about faults write them. */
#include "fault_words.h"

#include <errno.h>
#include <string.h>

#include "rocin/mad.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

enum {
	HOUR_S = 3600,
	ERRNO_MAX = 4095,
};

static bool is_word(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(s, word, len) == 0;
}

/* ---------------------------------------------------------------------- numbers */
/* "12.5" in units of which @unit (a power of ten) make one. Returns what is read of @s;
 * 0: nothing.
 */
static size_t read_fixed(const char *s, size_t len, size_t digits, uint64_t unit,
			 uint64_t *value)
{
	size_t i = 0;

	for (*value = 0; i < len && s[i] >= '0' && s[i] <= '9' && i < digits; i++)
		*value = *value * 10 + (uint64_t)(s[i] - '0');
	if (i == 0)
		return 0;
	*value *= unit;
	if (i < len && s[i] == '.') {
		size_t first = ++i;

		for (; i < len && s[i] >= '0' && s[i] <= '9' && unit > 1; i++) {
			unit /= 10;
			*value += (uint64_t)(s[i] - '0') * unit;
		}
		if (i == first)
			return 0;
	}
	return i;
}

bool rn_fault_percent(const char *s, size_t len, uint64_t *ppm)
{
	uint64_t value;
	size_t used = read_fixed(s, len, 3, 10000, &value);

	if (used == 0 || used + 1 != len || s[used] != '%' || value > 1000000)
		return false;
	*ppm = value;
	return true;
}

bool rn_fault_decimal(const char *s, size_t len, uint64_t *value)
{
	uint64_t v = 0;

	if (len == 0 || len > 19)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(s[i] - '0');
	}
	*value = v;
	return true;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool rn_fault_number(const char *s, size_t len, uint64_t *value)
{
	uint64_t v = 0;

	if (len < 2 || s[0] != '0' || s[1] != 'x')
		return rn_fault_decimal(s, len, value);
	if (len == 2 || len > 18)
		return false;
	for (size_t i = 2; i < len; i++) {
		int digit = hex_digit(s[i]);

		if (digit < 0)
			return false;
		v = v << 4 | (uint64_t)digit;
	}
	*value = v;
	return true;
}

bool rn_fault_range(const char *s, size_t len, uint64_t *first, uint64_t *last)
{
	const char *dots = memmem(s, len, "..", 2);
	uint64_t a, b;

	if (!dots) {
		if (!rn_fault_number(s, len, &a))
			return false;
		*first = *last = a;
		return true;
	}
	if (!rn_fault_number(s, (size_t)(dots - s), &a) ||
	    !rn_fault_number(dots + 2, len - (size_t)(dots - s) - 2, &b))
		return false;
	*first = a;
	*last = b;
	return true;
}

bool rn_fault_time(const char *s, size_t len, rn_ns *time)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

	for (unsigned i = 0; i < RN_ARRAY_SIZE(units); i++) {
		uint64_t value;
		size_t used = read_fixed(s, len, 9, units[i].ns, &value);

		if (used == 0 || !is_word(s + used, len - used, units[i].name))
			continue;
		if (value == 0 || value > HOUR_S * 1000000000ull)
			return false;
		*time = (rn_ns)value;
		return true;
	}
	return false;
}

/* ---------------------------------------------------------------------- opcodes */
static bool is_same(char c, char upper)
{
	return c == upper || (upper >= 'A' && upper <= 'Z' && c == upper - 'A' + 'a');
}

/* Does the pattern, in which "*" is anything, match the whole @name? Where it does not
 * fit behind a star, the last star takes one byte more.
 */
static bool is_like(const char *s, size_t len, const char *name)
{
	const char *end = s + len, *star = NULL, *from = NULL;

	while (*name) {
		if (s < end && *s == '*') {
			star = ++s;
			from = name;
		} else if (s < end && is_same(*s, *name)) {
			s++;
			name++;
		} else if (star) {
			s = star;
			name = ++from;
		} else {
			return false;
		}
	}
	while (s < end && *s == '*')
		s++;
	return s == end;
}

static bool is_meant(const char *s, size_t len, unsigned opcode)
{
	const struct rn_opcode_info *info = &rn_opcode_info[opcode];
	uint64_t number;

	if (rn_fault_number(s, len, &number))
		return number == opcode;
	if (!info->name)
		return false;
	if (is_word(s, len, "request"))
		return (info->flags & RN_OP_REQUEST) != 0;
	if (is_word(s, len, "response"))
		return (info->flags & RN_OP_RESPONSE) != 0;
	return is_like(s, len, info->name) ||
	       (strchr(info->name, '_') && is_like(s, len, strchr(info->name, '_') + 1));
}

static bool add_ops(const char *s, size_t len, uint64_t *ops)
{
	bool found = false;

	for (unsigned i = 0; i < RN_FAULT_OPS; i++) {
		if (!is_meant(s, len, i))
			continue;
		ops[i / 64] |= 1ull << i % 64;
		found = true;
	}
	return found;
}

bool rn_fault_ops(const char *s, size_t len, uint64_t ops[RN_FAULT_OPS / 64])
{
	uint64_t found[RN_FAULT_OPS / 64] = { 0 };

	for (;;) {
		const char *comma = memchr(s, ',', len);
		size_t part = comma ? (size_t)(comma - s) : len;

		if (!add_ops(s, part, found))
			return false;
		if (!comma)
			break;
		s += part + 1;
		len -= part + 1;
	}
	memcpy(ops, found, sizeof(found));
	return true;
}

/* ------------------------------------------------------------------ CM messages */
static uint16_t like_mads(const char *s, size_t len)
{
	uint16_t found = 0;

	for (unsigned i = RN_CM_REQ; i <= RN_CM_APR; i++)
		if (is_like(s, len, rn_cm_msg_name((uint16_t)i)))
			found |= (uint16_t)(1u << (i - RN_CM_REQ));
	return found;
}

bool rn_fault_mads(const char *s, size_t len, uint16_t *mads)
{
	uint16_t found = 0, some;

	for (;;) {
		const char *comma = memchr(s, ',', len);
		size_t part = comma ? (size_t)(comma - s) : len;

		some = like_mads(s, part);
		if (!some)
			return false;
		found |= some;
		if (!comma)
			break;
		s += part + 1;
		len -= part + 1;
	}
	*mads = found;
	return true;
}

/* -------------------------------------------------------------- NAKs and errnos */
bool rn_fault_syndrome(const char *s, size_t len, uint8_t *syndrome)
{
	static const struct {
		const char *name;
		enum rn_nak_code code;
	} naks[] = {
		{ "seq", RN_NAK_PSN_SEQ },
		{ "invalid", RN_NAK_INVALID_REQ },
		{ "access", RN_NAK_REMOTE_ACCESS },
		{ "operation", RN_NAK_REMOTE_OP },
	};
	uint64_t timer = 1; /* code: 10 us */

	for (unsigned i = 0; i < RN_ARRAY_SIZE(naks); i++) {
		if (!is_word(s, len, naks[i].name))
			continue;
		*syndrome = rn_aeth_syndrome(RN_AETH_NAK, (uint8_t)naks[i].code);
		return true;
	}
	if (len < 3 || memcmp(s, "rnr", 3) != 0)
		return false;
	if (len > 3 && (s[3] != ':' || !rn_fault_decimal(s + 4, len - 4, &timer) ||
			timer > RN_AETH_VALUE_MASK))
		return false;
	*syndrome = rn_aeth_syndrome(RN_AETH_RNR, (uint8_t)timer);
	return true;
}

bool rn_fault_errno(const char *s, size_t len, int *error)
{
	uint64_t number;

	if (rn_fault_decimal(s, len, &number)) {
		if (number == 0 || number > ERRNO_MAX)
			return false;
		*error = (int)number;
		return true;
	}
	for (int i = 1; i <= ERRNO_MAX; i++) {
		const char *name = strerrorname_np(i);

		if (!name || !is_word(s, len, name))
			continue;
		*error = i;
		return true;
	}
	return false;
}
