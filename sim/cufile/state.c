/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* state.c - the tables of the library, their lock, and whether the driver is open. */
#include <unistd.h>

#include "internal.h"

struct rn_cufile rn_cufile = { .lock = PTHREAD_MUTEX_INITIALIZER };

void rn_cufile_lock(void)
{
	pthread_mutex_lock(&rn_cufile.lock);
}

void rn_cufile_unlock(void)
{
	pthread_mutex_unlock(&rn_cufile.lock);
}

/* The lock is free in a forked child, whatever other threads did at that moment. */
__attribute__((constructor)) static void remember_process(void)
{
	rn_cufile.pid = getpid();
	(void)pthread_atfork(rn_cufile_lock, rn_cufile_unlock, rn_cufile_unlock);
}

bool rn_cufile_is_child(void)
{
	return rn_cufile.pid != getpid();
}

bool rn_cufile_is_open(void)
{
	bool is_open;

	if (rn_cufile_is_child())
		return false;
	rn_cufile_lock();
	is_open = rn_cufile.opens > 0;
	rn_cufile_unlock();
	return is_open;
}

CUfileError_t rn_cufile_not_open(const char *call)
{
	return rn_cufile_fail(CU_FILE_DRIVER_NOT_INITIALIZED,
			      rn_cufile_is_child()
				      ? "%s: the driver does not outlive fork(); open "
					"it in the process that uses it"
				      : "%s: the driver is not open",
			      call);
}
