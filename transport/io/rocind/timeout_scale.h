/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* timeout_scale.h - ROCIN_TIMEOUT_SCALE=N: makes the timeouts for a peer, which a
 * debugger may have stopped, N times as long.
 *
 * Read with secure_getenv(). Threads: any.
 */
#ifndef RN_TIMEOUT_SCALE_H
#define RN_TIMEOUT_SCALE_H

#include <stddef.h>
#include <stdint.h>

/**
 * rn_timeout_scale_read() - Read and check ROCIN_TIMEOUT_SCALE
 * @scale:	Out: 1 to RN_TIMEOUT_SCALE_MAX; 1 if it is not set, or wrong
 *
 * Return: 0, or -EINVAL with the error text in @err.
 */
int rn_timeout_scale_read(uint32_t *scale, char *err, size_t err_len);

/* As rn_timeout_scale_read(), without an error message: 1 if the value is wrong. */
uint32_t rn_timeout_scale(void);

#endif /* RN_TIMEOUT_SCALE_H */
