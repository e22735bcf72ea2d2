/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* example_file.h - a file for the storage examples. */
#ifndef RN_EXAMPLE_FILE_H
#define RN_EXAMPLE_FILE_H

#include <rocin/storage.h>

/* Makes a file in memory with DATA bytes that are NEW, and registers it for storage. */
struct rn_storage_file *example_file(void);

#endif /* RN_EXAMPLE_FILE_H */
