/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* secret.c - draws numbers that other users cannot guess; see secret.h. */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "rocin/random.h"

static bool read_device(uint64_t *number)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && read(fd, number, sizeof(*number)) == sizeof(*number);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Returns a number computed from the 16 random bytes that the kernel gives each program
 * at its start, and from the time, because these bytes never change.
 */
static uint64_t from_start(void)
{
	uint64_t word[2] = { 0 };
	const void *bytes = (const void *)getauxval(AT_RANDOM); /* NOLINT: an address */

	if (bytes)
		memcpy(word, bytes, sizeof(word));
	word[1] ^= rn_random_mix((uint64_t)rn_clock(CLOCK_MONOTONIC));
	return rn_random_mix(word[0] ^ rn_random_mix(word[1]));
}

uint64_t rn_secret(void)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number) ||
	    read_device(&number))
		return number;
	rn_log(RN_LOG_DEBUG, "no random numbers from the kernel: %m");
	return from_start();
}
