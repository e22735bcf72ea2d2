/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_handles.c - wrong destruction of objects of every kind: twice, in another
 * context, with another handle, by a copy of the struct, in a child, and by two threads
 * at once.
 *
 * verbs_handles_use.c tests verbs that use such objects.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handle_kit.h"

/* Destroys @object. Must return @err, which is 0 or ENOENT. */
static void expect_end(const struct subject *s, void *object, int err)
{
	int rc;

	errno = 0;
	rc = s->destroy(object);
	if (rc != err || errno != err)
		fail_msg("%s: %d, errno %d instead of %d", s->name, rc, errno, err);
}

static void what_is_destroyed_is_not_there(void **state)
{
	for (unsigned i = 0; i < SUBJECTS; i++) {
		const struct subject *s = &subjects[i];
		void *object = s->make(*state), *other;

		expect_end(s, object, 0);
		expect_end(s, object, ENOENT);
		other = s->make(*state);
		assert_ptr_not_equal(other, object);
		expect_end(s, object, ENOENT);
		expect_end(s, other, 0);
		expect_end(s, object, ENOENT);
	}
}

static void another_handle_names_nothing(void **state)
{
	for (unsigned i = 0; i < SUBJECTS; i++) {
		const struct subject *s = &subjects[i];
		uint32_t *handle;
		void *object;

		if (s->handle < 0)
			continue;
		object = s->make(*state);
		handle = (uint32_t *)((char *)object + s->handle);
		*handle ^= 0xdeadbeef;
		expect_end(s, object, ENOENT);
		*handle ^= 0xdeadbeef;
		expect_end(s, object, 0);
	}
}

static void no_two_objects_share_a_handle(void **state)
{
	for (unsigned i = 0; i < SUBJECTS; i++) {
		const struct subject *s = &subjects[i];
		void *a, *b;

		/* A parent domain has the handle of its PD. */
		if (s->handle < 0 || s->make == make_parent)
			continue;
		a = s->make(*state);
		b = s->make(*state);
		assert_memory_not_equal((char *)a + s->handle, (char *)b + s->handle, 4);
		expect_end(s, a, 0);
		expect_end(s, b, 0);
	}
}

/* A copy of an object's struct is not an object. */
static void a_copy_of_the_struct_is_no_object(void **state)
{
	for (unsigned i = 0; i < SUBJECTS; i++) {
		const struct subject *s = &subjects[i];
		void *object = s->make(*state), *copy = calloc(1, 1024);

		assert_non_null(copy);
		memcpy(copy, object, s->size);
		expect_end(s, copy, ENOENT);
		expect_end(s, object, 0);
		expect_end(s, copy, ENOENT);
		free(copy);
	}
}

static void an_object_of_another_context_is_not_there(void **state)
{
	struct ibv_context *ctx = kit_open_device();

	for (unsigned i = 0; i < SUBJECTS; i++) {
		const struct subject *s = &subjects[i];
		void *object = s->make(*state);
		/* The first member of each public struct is the context. */
		struct ibv_context **context = object, *own = *context;

		*context = ctx;
		expect_end(s, object, ENOENT);
		*context = own;
		expect_end(s, object, 0);
	}
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void an_object_of_another_kind_is_not_there(void **state)
{
	for (unsigned i = 0; i < SUBJECTS; i++) {
		void *object = subjects[i].make(*state);

		for (unsigned j = 0; j < SUBJECTS; j++)
			if (subjects[j].destroy != subjects[i].destroy)
				expect_end(&subjects[j], object, ENOENT);
		expect_end(&subjects[i], object, 0);
	}
}

/* --------------------------------------------------------------- children and closing */
static void make_all(struct kit *k, void *object[SUBJECTS])
{
	for (unsigned i = 0; i < SUBJECTS; i++)
		object[i] = subjects[i].make(k);
}

static bool ends_with(const struct subject *s, void *object, int err)
{
	errno = 0;
	return s->destroy(object) == err && errno == err;
}

static int destroy_in_child(struct kit *k, void *object[SUBJECTS])
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	for (unsigned i = 0; i < SUBJECTS; i++) {
		struct ibv_pd copy = { .context = k->ctx };

		if (subjects[i].make == make_qp &&
		    ibv_query_qp(object[i], &attr, IBV_QP_STATE, &init) != EIO)
			return 1;
		if (!ends_with(&subjects[i], object[i], 0) ||
		    !ends_with(&subjects[i], object[i], ENOENT))
			return 2;
		if (!ends_with(&subjects[0], &copy, ENOENT))
			return 3;
	}
	return 0;
}

/* A child process has copies of the structs, but the device belongs to its parent.
 * Destroying a copy succeeds once.
 */
static void a_child_frees_its_copies_once(void **state)
{
	void *object[SUBJECTS];
	int status;
	pid_t child;

	make_all(*state, object);
	child = fork();
	assert_int_not_equal(child, -1);
	if (child == 0)
		_exit(destroy_in_child(*state, object));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (unsigned i = 0; i < SUBJECTS; i++)
		expect_end(&subjects[i], object[i], 0);
}

/* Many programs close the context before they destroy its objects, by mistake. */
static void objects_outlive_their_context(void **state)
{
	const struct kit *first = *state;
	struct kit k = *first;
	struct ibv_device_attr dev;
	void *object[SUBJECTS];

	k.ctx = kit_open_device();
	k.pd = ibv_alloc_pd(k.ctx);
	assert_non_null(k.pd);
	k.channel = NULL;
	k.cq = ibv_create_cq(k.ctx, 16, NULL, NULL, 0);
	assert_non_null(k.cq);
	make_all(&k, object);
	assert_int_equal(ibv_close_device(k.ctx), 0);
	assert_null(ibv_alloc_pd(k.ctx));
	assert_int_equal(errno, EIO);
	assert_int_equal(ibv_query_device(k.ctx, &dev), EIO);
	assert_null(ibv_create_comp_channel(k.ctx));
	for (unsigned i = 0; i < SUBJECTS; i++) {
		expect_end(&subjects[i], object[i], 0);
		expect_end(&subjects[i], object[i], ENOENT);
	}
	assert_int_equal(ibv_destroy_cq(k.cq), 0);
	assert_int_equal(ibv_dealloc_pd(k.pd), 0);
	assert_int_equal(ibv_dealloc_pd(k.pd), ENOENT);
	assert_int_equal(ibv_close_device(k.ctx), 0);
}

static void many_contexts_come_and_go(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		struct ibv_context *ctx = kit_open_device();
		struct ibv_pd *pd = ibv_alloc_pd(ctx);

		assert_non_null(pd);
		if (i % 2)
			assert_int_equal(ibv_dealloc_pd(pd), 0);
		assert_int_equal(ibv_close_device(ctx), 0);
		assert_int_equal(ibv_dealloc_pd(pd), i % 2 ? ENOENT : 0);
	}
}

/* --------------------------------------------------------------------------- memory */
/* Function of the address sanitizer; NULL without it. Under the sanitizer its allocator
 * decides about reuse.
 */
void __lsan_disable(void) __attribute__((weak));

/* The memory of a destroyed object is reused, but only after many other objects were
 * made.
 */
static void memory_of_objects_is_reused_late(void **state)
{
	enum {
		LATER = 64,
		TIMES = 400
	};

	for (unsigned i = 0; i < SUBJECTS; i++) {
		const struct subject *s = &subjects[i];
		void *first = s->make(*state), *object;
		unsigned when = 0;

		expect_end(s, first, 0);
		while (++when < TIMES) {
			object = s->make(*state);
			expect_end(s, object, 0);
			if (object == first)
				break;
		}
		if (when < LATER || (when == TIMES && !__lsan_disable))
			fail_msg("%s: reused after %u", s->name, when);
	}
}

/* -------------------------------------------------------------------------- threads */
struct race {
	const struct subject *subject;
	void *object;
	pthread_barrier_t start;
	int rc[2];
};

static void *race_to_destroy(void *arg)
{
	struct race *r = arg;
	int at = pthread_barrier_wait(&r->start) == PTHREAD_BARRIER_SERIAL_THREAD;

	r->rc[at] = r->subject->destroy(r->object);
	return NULL;
}

static void two_threads_destroy_once(void **state)
{
	enum {
		ROUNDS = 20
	};

	for (unsigned i = 0; i < SUBJECTS * ROUNDS; i++) {
		struct race r = { .subject = &subjects[i / ROUNDS] };
		pthread_t thread[2];

		r.object = r.subject->make(*state);
		pthread_barrier_init(&r.start, NULL, 2);
		for (unsigned t = 0; t < 2; t++)
			assert_int_equal(
				pthread_create(&thread[t], NULL, race_to_destroy, &r), 0);
		for (unsigned t = 0; t < 2; t++)
			pthread_join(thread[t], NULL);
		pthread_barrier_destroy(&r.start);
		if (r.rc[0] + r.rc[1] != ENOENT || (r.rc[0] && r.rc[1]))
			fail_msg("%s: %d and %d", r.subject->name, r.rc[0], r.rc[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_destroyed_is_not_there),
		cmocka_unit_test(another_handle_names_nothing),
		cmocka_unit_test(no_two_objects_share_a_handle),
		cmocka_unit_test(a_copy_of_the_struct_is_no_object),
		cmocka_unit_test(an_object_of_another_context_is_not_there),
		cmocka_unit_test(an_object_of_another_kind_is_not_there),
		cmocka_unit_test(a_child_frees_its_copies_once),
		cmocka_unit_test(objects_outlive_their_context),
		cmocka_unit_test(many_contexts_come_and_go),
		cmocka_unit_test(memory_of_objects_is_reused_late),
		cmocka_unit_test(two_threads_destroy_once),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
