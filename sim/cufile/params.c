/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* params.c - cuFileSetParameter*() and cuFileGetParameter*().
 *
 * What is set counts when the driver is opened next. A value that is out of range is
 * taken, as cuFile 1.15 does it, and told in the log when the driver opens; the value
 * of cufile.json is used then.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

static CUfileError_t check_closed(const char *call)
{
	return rn_cufile.opens > 0
		       ? rn_cufile_fail(CU_FILE_DRIVER_ALREADY_OPEN,
					"%s: the driver is open; parameters are set "
					"before cuFileDriverOpen()",
					call)
		       : rn_cufile_success();
}

static CUfileError_t no_parameter(const char *call, int param)
{
	return rn_cufile_fail(CU_FILE_INVALID_VALUE,
			      "%s: there is no parameter %d, or nothing to read or write",
			      call, param);
}

CUfileError_t cuFileSetParameterSizeT(CUFileSizeTConfigParameter_t param, size_t value)
{
	CUfileError_t e;

	if ((unsigned)param >= RN_CUFILE_SIZES)
		return no_parameter(__func__, (int)param);
	rn_cufile_lock();
	e = check_closed(__func__);
	if (!e.err) {
		rn_cufile.staged.has_size[param] = true;
		rn_cufile.staged.s.size[param] = value;
	}
	rn_cufile_unlock();
	return e;
}

CUfileError_t cuFileSetParameterBool(CUFileBoolConfigParameter_t param, bool value)
{
	CUfileError_t e;

	if ((unsigned)param >= RN_CUFILE_PARAM_FLAGS)
		return no_parameter(__func__, (int)param);
	rn_cufile_lock();
	e = check_closed(__func__);
	if (!e.err) {
		rn_cufile.staged.has_flag[param] = true;
		rn_cufile.staged.s.flag[param] = value;
	}
	rn_cufile_unlock();
	return e;
}

CUfileError_t cuFileSetParameterString(CUFileStringConfigParameter_t param,
				       const char *desc_str)
{
	CUfileError_t e;

	if ((unsigned)param >= RN_CUFILE_STRINGS || !desc_str ||
	    strlen(desc_str) >= RN_CUFILE_TEXT)
		return no_parameter(__func__, (int)param);
	rn_cufile_lock();
	e = check_closed(__func__);
	if (!e.err) {
		rn_cufile.staged.has_string[param] = true;
		snprintf(rn_cufile.staged.s.string[param], RN_CUFILE_TEXT, "%s",
			 desc_str);
	}
	rn_cufile_unlock();
	return e;
}

CUfileError_t cuFileSetParameterPosixPoolSlabArray(const size_t *size_values,
						   const size_t *count_values, int len)
{
	CUfileError_t e;

	if (!size_values || !count_values || len <= 0 || len > RN_CUFILE_SLABS)
		return no_parameter(__func__, len);
	rn_cufile_lock();
	e = check_closed(__func__);
	if (!e.err) {
		rn_cufile.staged.has_slabs = true;
		rn_cufile.staged.s.slabs = (unsigned)len;
		memcpy(rn_cufile.staged.s.slab_kb, size_values,
		       (size_t)len * sizeof(*size_values));
		memcpy(rn_cufile.staged.s.slab_count, count_values,
		       (size_t)len * sizeof(*count_values));
	}
	rn_cufile_unlock();
	return e;
}

void rn_cufile_apply_staged(struct rn_cufile_settings *s)
{
	const struct rn_cufile_staged *staged = &rn_cufile.staged;

	for (unsigned i = 0; i < RN_CUFILE_SIZES; i++) {
		const struct rn_cufile_size_row *row = rn_cufile_size_row(i);

		if (!staged->has_size[i])
			continue;
		if (rn_cufile_size_is_valid(i, staged->s.size[i]))
			s->size[i] = staged->s.size[i];
		else
			rn_cufile_log(RN_CUFILE_LOG_ERROR,
				      "%s.%s was set to %zu, which is no multiple of %zu "
				      "from %zu to %zu; %zu is used",
				      row->section, row->key, staged->s.size[i],
				      row->multiple, row->min, row->max, s->size[i]);
	}
	for (unsigned i = 0; i < RN_CUFILE_PARAM_FLAGS; i++)
		if (staged->has_flag[i])
			s->flag[i] = staged->s.flag[i];
	for (unsigned i = 0; i < RN_CUFILE_STRINGS; i++)
		if (staged->has_string[i])
			memcpy(s->string[i], staged->s.string[i], RN_CUFILE_TEXT);
	if (staged->has_slabs) {
		s->has_slabs = true;
		s->slabs = staged->s.slabs;
		memcpy(s->slab_kb, staged->s.slab_kb, sizeof(s->slab_kb));
		memcpy(s->slab_count, staged->s.slab_count, sizeof(s->slab_count));
	}
}

/* ------------------------------------------------------------------------ reading */
/* Returns the settings in force or, while the driver is closed, those that it would have
 * with the staged values. Called with the lock held.
 */
static const struct rn_cufile_settings *settings_now(void)
{
	static struct rn_cufile_settings closed;

	if (rn_cufile.opens > 0)
		return &rn_cufile.settings;
	rn_cufile_defaults(&closed);
	rn_cufile_apply_staged(&closed);
	return &closed;
}

CUfileError_t cuFileGetParameterSizeT(CUFileSizeTConfigParameter_t param, size_t *value)
{
	if ((unsigned)param >= RN_CUFILE_SIZES || !value)
		return no_parameter(__func__, (int)param);
	rn_cufile_lock();
	*value = settings_now()->size[param];
	rn_cufile_unlock();
	return rn_cufile_success();
}

CUfileError_t cuFileGetParameterBool(CUFileBoolConfigParameter_t param, bool *value)
{
	if ((unsigned)param >= RN_CUFILE_PARAM_FLAGS || !value)
		return no_parameter(__func__, (int)param);
	rn_cufile_lock();
	*value = settings_now()->flag[param];
	rn_cufile_unlock();
	return rn_cufile_success();
}

CUfileError_t cuFileGetParameterString(CUFileStringConfigParameter_t param,
				       char *desc_str, int len)
{
	CUfileError_t e = rn_cufile_success();
	const char *text;

	if ((unsigned)param >= RN_CUFILE_STRINGS || !desc_str || len <= 0)
		return no_parameter(__func__, (int)param);
	rn_cufile_lock();
	text = settings_now()->string[param];
	if (strlen(text) >= (size_t)len)
		e = rn_cufile_fail(CU_FILE_INVALID_VALUE,
				   "%s: %d bytes are too few for \"%s\"", __func__, len,
				   text);
	else
		memcpy(desc_str, text, strlen(text) + 1);
	rn_cufile_unlock();
	return e;
}

CUfileError_t cuFileGetParameterMinMaxValue(CUFileSizeTConfigParameter_t param,
					    size_t *min_value, size_t *max_value)
{
	const struct rn_cufile_size_row *row = rn_cufile_size_row((unsigned)param);

	if (!row || !min_value || !max_value)
		return no_parameter(__func__, (int)param);
	*min_value = row->min;
	*max_value = row->max;
	return rn_cufile_success();
}

CUfileError_t cuFileGetParameterPosixPoolSlabArray(size_t *size_values,
						   size_t *count_values, int len)
{
	CUfileError_t e = rn_cufile_success();
	const struct rn_cufile_settings *s;

	if (!size_values || !count_values)
		return no_parameter(__func__, len);
	rn_cufile_lock();
	s = settings_now();
	if (len <= 0 || (unsigned)len != s->slabs) {
		e = rn_cufile_fail(CU_FILE_INVALID_VALUE,
				   "%s: there are %u slabs, not %d", __func__, s->slabs,
				   len);
	} else {
		memcpy(size_values, s->slab_kb, (size_t)len * sizeof(*size_values));
		memcpy(count_values, s->slab_count, (size_t)len * sizeof(*count_values));
	}
	rn_cufile_unlock();
	return e;
}
