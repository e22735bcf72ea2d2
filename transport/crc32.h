/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* crc32.h - the CRC-32 of Ethernet and of the ICRC, by the fastest means of this
 * processor.
 */
#ifndef RN_CRC32_H
#define RN_CRC32_H

#include "rocin/types.h"

/* Continue @crc (0 to begin) over @len bytes: as zlib's and libdeflate's crc32().
 * The result does not depend on which means was chosen.
 */
uint32_t rn_crc32(uint32_t crc, const uint8_t *p, size_t len);

#endif /* RN_CRC32_H */
