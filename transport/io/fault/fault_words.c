/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_words.c - numbers as the texts about faults write them. */
#include "fault_words.h"

#include <string.h>

#include "rocin/mad.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"
#include "rocin/word.h"

enum {
	HOUR_S = 3600,
};

/* "12.5" in units of which @unit (a power of ten) make one. Returns what is read of @s;
 * 0: nothing.
 */
static size_t read_fixed(const char *s, size_t len, size_t digits, uint64_t unit,
			 uint64_t *value)
{
	size_t i = 0;

	for (*value = 0; i < len && rn_char_is_digit(s[i]) && i < digits; i++)
		*value = *value * 10 + (uint64_t)(s[i] - '0');
	if (i == 0)
		return 0;
	*value *= unit;
	if (i < len && s[i] == '.') {
		size_t first = ++i;

		for (; i < len && rn_char_is_digit(s[i]) && unit > 1; i++) {
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
	return len <= 19 && rn_word_digits((struct rn_word){ s, len }, 10, value);
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

		if (used == 0 || !rn_fault_is_word(s + used, len - used, units[i].name))
			continue;
		if (value == 0 || value > HOUR_S * 1000000000ull)
			return false;
		*time = (rn_ns)value;
		return true;
	}
	return false;
}
