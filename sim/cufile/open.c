/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* open.c - opening the driver, by cuFileDriverOpen() or by the first call that needs it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "rocin/types.h"

/* Remarks about cufile.json, kept until it is known from there where the log is. */
struct remarks {
	unsigned count;
	char sentence[16][RN_CUFILE_TEXT * 2];
};

static void remark(void *ctx, const char *sentence)
{
	struct remarks *r = ctx;

	if (r->count < RN_ARRAY_SIZE(r->sentence))
		snprintf(r->sentence[r->count++], sizeof(r->sentence[0]), "%s", sentence);
}

/* Opens the driver for the first time. Called with the lock held. */
static CUfileError_t open_first(void)
{
	/* static: too large for a small stack */
	static struct rn_cufile_settings s;
	static struct remarks remarks;
	char err[RN_CUFILE_TEXT * 2];
	int rc;

	remarks.count = 0;
	rc = rn_cufile_load(&s, remark, &remarks, err, sizeof(err));
	rn_cufile_log_configure(&s);
	for (unsigned i = 0; i < remarks.count; i++)
		rn_cufile_log(RN_CUFILE_LOG_ERROR, "%s", remarks.sentence[i]);
	if (rc)
		return rn_cufile_fail(CU_FILE_INVALID_VALUE, "%s", err);
	rn_cufile_apply_staged(&s);
	rn_cufile_log_configure(&s);
	if (!rn_cufile.has_storage) {
		rc = rn_storage_driver_open();
		if (rc)
			return rn_cufile_fail(
				rc == -ENODEV ? CU_FILE_DRIVER_NOT_INITIALIZED
					      : CU_FILE_NVFS_SETUP_ERROR,
				"the drives cannot be used: %s", rn_storage_last_error());
	}
	rn_cufile.has_storage = true;
	rn_cufile.settings = s;
	memset(&rn_cufile.staged, 0, sizeof(rn_cufile.staged));
	rn_cufile_stats_open(&s);
	rn_cufile.opens = 1;
	rn_cufile_log(RN_CUFILE_LOG_INFO, "the driver is open; settings: %s",
		      s.file[0] != '\0' ? s.file : "defaults");
	return rn_cufile_success();
}

CUfileError_t cuFileDriverOpen(void)
{
	CUfileError_t e = rn_cufile_success();

	if (rn_cufile_is_child())
		return rn_cufile_not_open(__func__);
	rn_cufile_lock();
	if (rn_cufile.opens > 0)
		rn_cufile.opens++;
	else
		e = open_first();
	rn_cufile_unlock();
	return e;
}

bool rn_cufile_need(void)
{
	bool is_open;

	if (rn_cufile_is_child())
		return false;
	rn_cufile_lock();
	is_open = rn_cufile.opens > 0 || !open_first().err;
	rn_cufile_unlock();
	return is_open;
}
