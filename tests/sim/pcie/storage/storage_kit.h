/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_kit.h - files with known bytes and device memory, for storage tests. */
#ifndef RN_STORAGE_KIT_H
#define RN_STORAGE_KIT_H

#include <semaphore.h>

#include "rocin/gpu.h"
#include "rocin/pcie.h"
#include "rocin/storage.h"
#include "tests/sim/pcie/host/host_kit.h"

enum {
	KIT_FILE = 64 * KIT_PAGE, /* bytes of kit_file() */
};

/* Byte @at of a file with number @n; never 0. */
static inline uint8_t kit_byte(unsigned n, uint64_t at)
{
	return (uint8_t)((at * 7 + at / 251 + n * 31) % 255 + 1);
}

/* A file with KIT_FILE bytes of number @n: registered, its descriptor closed. */
struct rn_storage_file *kit_file(unsigned n);
/* The same, unregistered. */
int kit_fd(unsigned n);

/* Where bytes are not those of file @n from @offset on; -1: nowhere. */
int64_t kit_wrong(const void *bytes, uint64_t len, unsigned n, uint64_t offset);

/* Drives whose reads of a file each post kit_begun, and wait for kit_go_on;
 * until kit_quick_drives().
 */
extern sem_t kit_begun, kit_go_on;
void kit_slow_drives(void);
void kit_quick_drives(void);

/* A read of page @i of a file to page @i of @base; its cookie is @base + @i. */
struct rn_storage_io kit_page_io(struct rn_storage_file *file, void *base, unsigned i);

/* The driver can be closed: nothing is left. */
void kit_close(void);

#endif /* RN_STORAGE_KIT_H */
