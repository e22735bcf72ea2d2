/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_handle.c - the table of a context's objects, and the reuse of their memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "provider/verbs/memory/mr.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/object/provider.h"

static void *new_named(struct rnp_context *ctx, uint32_t number)
{
	struct rnp_mw *mw = rnp_object_new(RNP_KIND_MW, NULL);

	assert_non_null(mw);
	mw->base.handle = number;
	rnp_handle_add(ctx, RNP_KIND_MW, mw);
	return mw;
}

static void end(struct rnp_context *ctx, void *object)
{
	rnp_handle_remove(ctx, RNP_KIND_MW, object);
	rnp_object_free(RNP_KIND_MW, object);
}

static bool is_found(const struct rnp_context *ctx, const void *object)
{
	void *found = rnp_handle_find(ctx, RNP_KIND_MW, object);

	assert_true(!found || found == object);
	assert_true(!found || rnp_handle_is_object(ctx, RNP_KIND_MW, object));
	return found;
}

/* Many more objects than the table has buckets at first. They are removed in another
 * order than they were added.
 */
static void a_table_grows_with_its_objects(void **state)
{
	enum {
		COUNT = 5000,
		STEP = 7 /* does not divide COUNT */
	};
	static void *object[COUNT];
	struct rnp_context ctx = { 0 };
	uint32_t room;

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++)
		object[i] = new_named(&ctx, i);
	assert_int_equal(ctx.handles.count, COUNT);
	/* The table has grown with the objects, so that its chains are short, but it is
	 * not larger than necessary.
	 */
	assert_in_range(ctx.handles.room, COUNT / 2, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_true(is_found(&ctx, object[i]));
	room = ctx.handles.room;
	for (uint32_t i = 0; i < COUNT; i++) {
		void *gone = object[i * STEP % COUNT];

		end(&ctx, gone);
		assert_false(is_found(&ctx, gone));
		if (i + 1 < COUNT)
			assert_true(is_found(&ctx, object[(i + 1) * STEP % COUNT]));
	}
	assert_int_equal(ctx.handles.count, 0);
	assert_int_equal(ctx.handles.room, room);
	rnp_handle_close(&ctx);
}

static void a_few_objects_need_no_memory(void **state)
{
	struct rnp_context ctx = { 0 };
	void *object[2 * RNP_HANDLE_BUCKETS];

	(void)state;
	for (uint32_t i = 0; i < 2 * RNP_HANDLE_BUCKETS; i++)
		object[i] = new_named(&ctx, i);
	assert_null(ctx.handles.bucket);
	for (uint32_t i = 0; i < 2 * RNP_HANDLE_BUCKETS; i++)
		assert_true(is_found(&ctx, object[i]));
	for (uint32_t i = 0; i < 2 * RNP_HANDLE_BUCKETS; i++)
		end(&ctx, object[i]);
}

static void what_is_found_is_what_was_asked_for(void **state)
{
	struct rnp_context ctx = { 0 }, other = { 0 };
	struct rnp_mw *mw = new_named(&ctx, 5), copy = *mw;

	(void)state;
	assert_true(is_found(&ctx, mw));
	assert_false(is_found(&other, mw));
	assert_false(is_found(&ctx, &copy));
	assert_false(is_found(&ctx, NULL));
	assert_null(rnp_handle_find(&ctx, RNP_KIND_MR, mw));
	assert_false(rnp_handle_is_object(&ctx, RNP_KIND_MR, mw));
	mw->base.handle = 6;
	assert_false(is_found(&ctx, mw));
	assert_true(rnp_handle_is_object(&ctx, RNP_KIND_MW, mw));
	mw->base.handle = 5;
	assert_true(is_found(&ctx, mw));
	end(&ctx, mw);
}

/* Happens when a context is closed while another context uses the same file. */
static void an_object_moves_to_another_context(void **state)
{
	struct rnp_context from = { 0 }, to = { 0 };
	struct rnp_mw *mw = new_named(&from, 5), *gone = new_named(&from, 6);

	(void)state;
	/* a program that changes the field does not rename the object */
	mw->base.handle = 7;
	rnp_handle_move(&from, &to, RNP_KIND_MW, mw);
	assert_false(is_found(&to, mw));
	mw->base.handle = 5;
	assert_false(is_found(&from, mw));
	assert_true(is_found(&to, mw));
	rnp_handle_remove(&from, RNP_KIND_MW, gone);
	rnp_handle_move(&from, &to, RNP_KIND_MW, gone);
	assert_false(is_found(&to, gone));
	assert_int_equal(from.handles.count, 0);
	assert_int_equal(to.handles.count, 1);
	end(&to, mw);
	rnp_object_free(RNP_KIND_MW, gone);
}

static void without_a_table_a_mark_decides(void **state)
{
	struct rnp_context ctx = { 0 };
	struct rnp_mw *mw = new_named(&ctx, 5), *gone = new_named(&ctx, 6);

	(void)state;
	end(&ctx, gone);
	rnp_handle_close(&ctx);
	assert_true(is_found(&ctx, mw));
	assert_false(is_found(&ctx, gone));
	assert_null(rnp_handle_find(&ctx, RNP_KIND_AH, mw));
	mw->base.handle++;
	assert_false(is_found(&ctx, mw));
	end(&ctx, mw);
	mw->base.handle--;
	assert_false(is_found(&ctx, mw));
}

/* The object that was destroyed first is reused first, and not while it is among the last
 * RNP_QUARANTINE destroyed ones. This must be the first test, because it expects an empty
 * quarantine.
 */
static void destroyed_objects_are_reused_in_order(void **state)
{
	enum {
		MORE = 10
	};
	struct rnp_context ctx = { 0 };
	void *object[RNP_QUARANTINE + MORE], *fresh;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* the sanitizer's allocator decides which memory is reused */
#endif
	for (unsigned i = 0; i < RNP_QUARANTINE + MORE; i++)
		object[i] = new_named(&ctx, 1);
	for (unsigned i = 0; i < RNP_QUARANTINE + MORE; i++)
		end(&ctx, object[i]);
	for (unsigned i = 0; i < MORE; i++)
		assert_ptr_equal(new_named(&ctx, 2), object[i]);
	fresh = new_named(&ctx, 2);
	for (unsigned i = 0; i < RNP_QUARANTINE + MORE; i++)
		assert_ptr_not_equal(fresh, object[i]);
	end(&ctx, fresh);
	for (unsigned i = 0; i < MORE; i++)
		end(&ctx, object[i]);
	rnp_handle_close(&ctx);
}

static void what_nobody_knows_is_freed_at_once(void **state)
{
	enum {
		TIMES = 3 * RNP_QUARANTINE
	};

	(void)state;
	/* Objects that never had a handle must not enter the quarantine. The leak checker
	 * would not notice it if they did, but they would be reused below.
	 */
	for (unsigned i = 0; i < TIMES; i++)
		rnp_object_free(RNP_KIND_TD, rnp_object_new(RNP_KIND_TD, NULL));
	for (unsigned i = 0; i < TIMES; i++) {
		struct rnp_td *td = rnp_object_new(RNP_KIND_TD, NULL);

		assert_false(td->handle.was_named);
		rnp_object_free(RNP_KIND_TD, td);
	}
}

static struct {
	unsigned count;
	const void *last;
	uint32_t number; /* handle of @last when it was scrubbed */
} scrubbed;

static void note_scrub(void *object)
{
	const struct rnp_ah *ah = object;

	scrubbed.count++;
	scrubbed.last = ah;
	scrubbed.number = ah->base.handle;
}

/* Resources that an object keeps after its destruction are freed before its memory is
 * reused. This happens once, while the object still has its old contents.
 */
static void what_an_object_has_kept_is_freed_before_its_reuse(void **state)
{
	struct rnp_context ctx = { 0 };
	struct rnp_ah *old[RNP_QUARANTINE + 1], *fresh[2];

	(void)state;
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(old); i++) {
		old[i] = rnp_object_new(RNP_KIND_AH, note_scrub);
		assert_non_null(old[i]);
		old[i]->base.handle = 1 + i;
		rnp_handle_add(&ctx, RNP_KIND_AH, old[i]);
	}
	for (uint32_t i = 0; i < RN_ARRAY_SIZE(old); i++) {
		rnp_handle_remove(&ctx, RNP_KIND_AH, old[i]);
		rnp_object_free(RNP_KIND_AH, old[i]);
	}
	assert_int_equal(scrubbed.count, 0);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(fresh); i++)
		fresh[i] = rnp_object_new(RNP_KIND_AH, note_scrub);
	assert_int_equal(scrubbed.count, 1);
	assert_ptr_equal(scrubbed.last, old[0]);
	assert_int_equal(scrubbed.number, 1);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(fresh); i++)
		rnp_object_free(RNP_KIND_AH, fresh[i]);
	rnp_handle_close(&ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destroyed_objects_are_reused_in_order),
		cmocka_unit_test(a_table_grows_with_its_objects),
		cmocka_unit_test(a_few_objects_need_no_memory),
		cmocka_unit_test(what_is_found_is_what_was_asked_for),
		cmocka_unit_test(an_object_moves_to_another_context),
		cmocka_unit_test(without_a_table_a_mark_decides),
		cmocka_unit_test(what_nobody_knows_is_freed_at_once),
		cmocka_unit_test(what_an_object_has_kept_is_freed_before_its_reuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
