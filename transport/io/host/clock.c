/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clock.c - reads ROCIN_TIMEOUT_SCALE; see clock.h. */
#include "clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "rocin/dev_cfg.h"

int rn_timeout_scale_read(uint32_t *scale, char *err, size_t err_len)
{
	const char *text = secure_getenv("ROCIN_TIMEOUT_SCALE");
	size_t len = text ? strlen(text) : 0;
	unsigned long value;

	*scale = 1;
	if (len == 0)
		return 0;
	/* Only digits are allowed, although strtoul() accepts signs and spaces. */
	value = strspn(text, "0123456789") == len && len < 10 ? strtoul(text, NULL, 10)
							      : 0;
	if (value < 1 || value > RN_TIMEOUT_SCALE_MAX)
		return rn_fail(err, err_len, -EINVAL,
			       "ROCIN_TIMEOUT_SCALE is \"%s\"; a number from 1 to %u is "
			       "expected",
			       text, RN_TIMEOUT_SCALE_MAX);
	*scale = (uint32_t)value;
	return 0;
}

uint32_t rn_timeout_scale(void)
{
	uint32_t scale;

	(void)rn_timeout_scale_read(&scale, NULL, 0);
	return scale;
}
