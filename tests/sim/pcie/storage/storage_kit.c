/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_kit.c - see storage_kit.h */
#include "storage_kit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/pcie/storage/storage_internal.h"

sem_t kit_begun, kit_go_on;
static struct rn_drive_backing quick;

int kit_fd(unsigned n)
{
	uint8_t *bytes = malloc(KIT_FILE);
	int fd = memfd_create("storage", MFD_CLOEXEC);

	assert_true(bytes && fd >= 0);
	for (uint64_t i = 0; i < KIT_FILE; i++)
		bytes[i] = kit_byte(n, i);
	assert_int_equal(pwrite(fd, bytes, KIT_FILE, 0), KIT_FILE);
	free(bytes);
	return fd;
}

struct rn_storage_file *kit_file(unsigned n)
{
	struct rn_storage_file *file = NULL;
	int fd = kit_fd(n);

	assert_int_equal(rn_storage_handle_register(&file, fd), 0);
	close(fd);
	return file;
}

int64_t kit_wrong(const void *bytes, uint64_t len, unsigned n, uint64_t offset)
{
	const uint8_t *b = bytes;

	for (uint64_t i = 0; i < len; i++)
		if (b[i] != kit_byte(n, offset + i))
			return (int64_t)i;
	return -1;
}

static ssize_t slow_read(int fd, void *buf, size_t len, off_t offset)
{
	sem_post(&kit_begun);
	while (sem_wait(&kit_go_on) != 0)
		;
	return pread(fd, buf, len, offset);
}

void kit_slow_drives(void)
{
	sem_init(&kit_begun, 0, 0);
	sem_init(&kit_go_on, 0, 0);
	quick = rn_drive_backing;
	rn_drive_backing.read = slow_read;
}

void kit_quick_drives(void)
{
	rn_drive_backing = quick;
	sem_destroy(&kit_begun);
	sem_destroy(&kit_go_on);
}

struct rn_storage_io kit_page_io(struct rn_storage_file *file, void *base, unsigned i)
{
	return (struct rn_storage_io){ .op = RN_STORAGE_READ,
				       .file = file,
				       .base = base,
				       .size = KIT_PAGE,
				       .file_offset = (off_t)i * KIT_PAGE,
				       .buf_offset = (off_t)i * KIT_PAGE,
				       .cookie = (char *)base + i };
}

void kit_close(void)
{
	/* Opened by the first call that needed it. */
	assert_int_equal(rn_storage_driver_close(), 0);
	assert_int_equal(rn_storage_driver_close(), -EINVAL);
}
