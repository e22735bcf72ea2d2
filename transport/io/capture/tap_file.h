/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tap_file.h - a classic capture file: its name, its lock, and libpcap at arm's length.
 */
#ifndef RN_TAP_FILE_H
#define RN_TAP_FILE_H

#include "rocin/types.h"

struct rn_tap_file;

/* As rn_tap_open(). */
struct rn_tap_file *rn_tap_file_open(const char *path, char *err, size_t err_len);
void rn_tap_file_close(struct rn_tap_file *f);

/* One record with the present time: @len bytes, IP header first. */
void rn_tap_file_write(struct rn_tap_file *f, const uint8_t *data, uint32_t len);
void rn_tap_file_flush(struct rn_tap_file *f);
const char *rn_tap_file_path(const struct rn_tap_file *f);

#endif /* RN_TAP_FILE_H */
