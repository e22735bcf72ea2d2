/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sanitize_all.c - ROCIN_SANITIZE=all: plain loads from registered host memory. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sanitize_kit.h"
#include "sim/pcie/page/page.h"
#include "sim/pcie/sanitizer/sanitize_internal.h"
#include "transport/io/memory/mem_guard.h"

enum {
	QP = 0x100,
	PAGE = 4096,
	KEY = 0x500,
	MESSAGES = 3000,
};

static struct kit_nic nic;
static volatile uint64_t *word; /* two pages, registered; a third that is not */

static int set_up(void **state)
{
	(void)state;
	kit_attach(&nic);
	word = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	assert_ptr_not_equal(word, MAP_FAILED);
	assert_int_equal(
		nic.api->region_add(nic.nic, KEY, kit_iova(word), 2 * PAGE + 64, 0xf), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rn_guard_install();
	rn_pcie_drain();
	nic.api->region_remove(nic.nic, KEY);
	munmap((void *)word, 3 * PAGE);
	kit_detach(&nic);
	return 0;
}

static void send_word(unsigned at, uint64_t value)
{
	static uint32_t msg;

	rn_guard_install(); /* cmocka has put handlers before it */
	san_data(&nic, QP, ++msg, (void *)&word[at], value, 0);
}

static void test_last_byte(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	send_word(9, 5);
	assert_int_equal(word[9], 0);
	assert_int_equal(san_occurrences(), before + 1);
	san_assert_said("unordered read");
	san_assert_said("host memory, by the cpu");
	san_assert_said("none that covers it has been taken");
	san_assert_said("poll a completion");
	/* No machine is right, so none is named as such. */
	san_assert_said("c2c, relaxed\n");
	rn_pcie_drain();
	assert_int_equal(word[9], 5);
	assert_int_equal(san_occurrences(), before + 1);
}

/* Two pages of one hash are both watched. There are more pages than hashes. */
static void test_pages_of_one_hash(void **state)
{
	enum {
		MANY = RN_SAN_HASHES + 1
	};
	unsigned long long before = san_occurrences();
	static uintptr_t first[RN_SAN_HASHES];
	volatile uint64_t *one = NULL, *two = NULL;
	uint8_t *map = mmap(NULL, (size_t)MANY * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)state;
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(nic.api->region_add(nic.nic, KEY + 1, kit_iova(map),
					     (uint64_t)MANY * PAGE, 0xf),
			 0);
	for (unsigned i = 0; i < MANY && !two; i++) {
		uint8_t *at = map + (size_t)i * PAGE;
		uintptr_t *seen = &first[rn_san_page_hash((uintptr_t)at)];

		if (*seen) {
			one = (volatile uint64_t *)*seen; // NOLINT
			two = (volatile uint64_t *)(void *)at;
		}
		*seen = (uintptr_t)at;
	}
	assert_non_null(two);
	rn_guard_install();
	san_data(&nic, QP, 1, (void *)one, 5, 0);
	san_data(&nic, QP, 2, (void *)two, 6, 0);
	assert_int_equal(*one, 0);
	assert_int_equal(*two, 0);
	assert_int_equal(san_occurrences(), before + 2);
	rn_pcie_drain();
	assert_int_equal(*one, 5);
	assert_int_equal(*two, 6);
	assert_int_equal(san_occurrences(), before + 2);
	nic.api->region_remove(nic.nic, KEY + 1);
	munmap(map, (size_t)MANY * PAGE);
}

static void test_what_is_no_finding(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	send_word(9, 5);
	assert_int_equal(word[10], 0); /* other bytes of the page */
	send_word(9, 6);
	word[11] = 7; /* a store */
	send_word(9, 8);
	assert_int_equal(word[PAGE / 8], 0); /* another page */
	rn_pcie_drain();
	assert_int_equal(word[9], 8);
	assert_int_equal(word[11], 7);
	/* A completion pushes data to host memory: all is there when it is seen. */
	send_word(9, 10);
	san_received(&nic, QP, 100);
	assert_int_equal(word[9], 10);
	assert_int_equal(san_occurrences(), before);
}

/* A page of which a part is registered. */
static void test_part_of_a_page(void **state)
{
	unsigned long long before = san_occurrences();

	(void)state;
	send_word(2 * PAGE / 8, 9);
	assert_int_equal(word[2 * PAGE / 8], 0);
	assert_int_equal(san_occurrences(), before + 1);
}

/* A loop that waits for memory ends, and is no mistake. */
static void test_many_loads(void **state)
{
	unsigned long long before = san_occurrences();
	uint64_t sum = 0;

	(void)state;
	send_word(9, 5);
	for (unsigned i = 0; i < 100000; i++)
		sum += word[9] + word[10];
	assert_int_equal(sum, 5 * (100000 - 1));
	assert_int_equal(san_occurrences(), before);
}

/* Whole pages of a source: the store itself is seen. */
/* A handler of the program's for SIGTRAP gets none of ours. */
static void never(int sig)
{
	(void)sig;
	_exit(9);
}

static void test_handler_of_the_program(void **state)
{
	struct sigaction theirs = { .sa_handler = never }, before;

	(void)state;
	assert_int_equal(sigaction(SIGTRAP, &theirs, &before), 0);
	send_word(9, 5);
	assert_int_equal(word[10], 0);
	assert_int_equal(word[9], 5); /* nobody could see that load */
	assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
}

/* The kernel would end a thread that has it blocked. */
static void test_signal_is_blocked(void **state)
{
	sigset_t trap, before;

	(void)state;
	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &trap, &before);
	send_word(9, 5);
	assert_int_equal(word[10], 0);
	assert_int_equal(word[9], 5);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void test_store_to_a_source(void **state)
{
	unsigned long long before = san_occurrences();
	struct rn_cqe *slot;

	(void)state;
	rn_guard_install();
	word[0] = 1;
	san_post(&nic, 0x300, 0, RN_WR_RDMA_WRITE, (const void *)word, PAGE + 8, 0x1000,
		 false);
	assert_int_equal(word[0], 1); /* loads are fine, and the next page */
	word[PAGE / 8 + 1] = 5;
	assert_int_equal(san_occurrences(), before);
	word[511] = 2;
	assert_int_equal(san_occurrences(), before + 1);
	san_assert_said("source changed");
	san_assert_said("of the store:");
	assert_int_equal(word[511], 2);
	slot = san_cqe(&nic, 0x300, 0, RN_WC_RDMA_WRITE, RN_WC_SUCCESS);
	san_take(&nic, slot, 0x300, false);
	word[0] = 3;
	/* Not said again; and a device may store there. */
	assert_int_equal(san_occurrences(), before + 1);
	san_post(&nic, 0x300, 1, RN_WR_SEND, (const void *)word, PAGE, 0, false);
	send_word(9, 77);
	rn_pcie_drain();
	assert_int_equal(word[9], 77);
	san_take(&nic, san_cqe(&nic, 0x300, 1, RN_WC_SEND, RN_WC_SUCCESS), 0x300, false);
	/* Of a QP that goes nothing stays. */
	san_post(&nic, 0x300, 2, RN_WR_SEND, (const void *)word, PAGE, 0, false);
	nic.api->drain(nic.nic, 0x300);
	word[9] = 78;
	assert_int_equal(san_occurrences(), before + 1);
}

static void test_system_calls(void **state)
{
	uint64_t seen = 1;
	int fds[2];

	(void)state;
	rn_page_calls_link();
	assert_int_equal(pipe(fds), 0);
	send_word(9, 5);
	assert_int_equal(write(fds[1], (const void *)word, PAGE), PAGE);
	assert_int_equal(read(fds[0], &seen, 8), 8);
	send_word(9, 6);
	assert_int_equal(read(fds[0], (void *)word, 64), 64);
	close(fds[0]);
	close(fds[1]);
}

/* Data for the last page comes while the call is at the first. */
enum {
	LONG = 64 * PAGE
};

struct beside {
	char *memory; /* LONG bytes */
	_Atomic bool stop;
};

static void *send_all(void *arg)
{
	struct beside *b = arg;

	rn_guard_install(); /* cmocka has put handlers before it */
	for (uint32_t msg = 0; !atomic_load(&b->stop); msg++) {
		san_data(&nic, QP + 1, msg, b->memory + LONG - PAGE, 1, 0);
		rn_pcie_drain();
	}
	return NULL;
}

static void test_system_calls_beside_a_device(void **state)
{
	struct beside b = { .memory = mmap(NULL, LONG, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
	int fd = memfd_create("x", MFD_CLOEXEC);
	unsigned whole = 0;
	pthread_t thread;

	(void)state;
	rn_page_calls_link();
	assert_true(fd >= 0 && b.memory != MAP_FAILED);
	assert_int_equal(
		nic.api->region_add(nic.nic, KEY + 1, kit_iova(b.memory), LONG, 0xf), 0);
	assert_int_equal(pthread_create(&thread, NULL, send_all, &b), 0);
	for (unsigned i = 0; i < 2000; i++)
		whole += pwrite64(fd, b.memory, LONG, 0) == LONG;
	atomic_store(&b.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(whole, 2000);
	nic.api->region_remove(nic.nic, KEY + 1);
	munmap(b.memory, LONG);
	close(fd);
}

static void test_region_that_goes(void **state)
{
	int fd;

	(void)state;
	send_word(9, 5);
	nic.api->region_remove(nic.nic, KEY);
	/* No handler helps the kernel itself. */
	fd = memfd_create("x", MFD_CLOEXEC);
	assert_int_equal(pwrite64(fd, (const void *)word, 8, 0), 8);
	close(fd);
	rn_pcie_drain();
	assert_int_equal(word[9], 5);
}

/* Nor is its source watched any more, which the kernel may fill again. */
static void test_source_in_a_region_that_goes(void **state)
{
	int fd = memfd_create("x", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, PAGE), 0);
	san_post(&nic, 0x340, 0, RN_WR_SEND, (const void *)word, PAGE, 0, false);
	nic.api->region_remove(nic.nic, KEY);
	assert_int_equal(syscall(SYS_pread64, fd, word, 8, 0L), 8);
	close(fd);
	nic.api->drain(nic.nic, 0x340);
}

/* Receives into a variable high in a page, so that calls go on in the same page. */
static __attribute__((noinline)) void receive_on_the_stack(void)
{
	volatile uint64_t here[64] = { 0 };

	if (kit_iova(here) % PAGE < PAGE / 2) {
		receive_on_the_stack();
		here[1] = 1; /* no tail call */
		return;
	}
	assert_int_equal(nic.api->region_add(nic.nic, KEY + 2, kit_iova(here), 64, 0xf),
			 0);
	rn_guard_install();
	san_data(&nic, QP, 0x1050, (void *)here, 5, 0);
	rn_pcie_drain();
	assert_int_equal(here[0], 5);
	nic.api->region_remove(nic.nic, KEY + 2);
}

/* Is not closed: no signal could be delivered there. */
static void test_part_of_a_page_of_the_stack(void **state)
{
	(void)state;
	receive_on_the_stack();
}

/* No handler helps a call that the library does not know. */
static bool can_kernel_read(const volatile void *at)
{
	int fd = memfd_create("x", MFD_CLOEXEC);
	long n;

	assert_true(fd >= 0);
	n = syscall(SYS_write, fd, at, 8);
	close(fd);
	return n == 8;
}

/* Sent while nothing was registered there, and performed when something is again. */
static void test_data_older_than_the_region(void **state)
{
	(void)state;
	send_word(9, 5);
	assert_false(can_kernel_read(word));
	rn_pcie_drain();
	assert_true(can_kernel_read(word));
	nic.api->region_remove(nic.nic, KEY);
	send_word(9, 6);
	assert_int_equal(nic.api->region_add(nic.nic, KEY, kit_iova(word), 2 * PAGE, 0xf),
			 0);
	rn_pcie_drain();
	assert_true(can_kernel_read(word));
	assert_int_equal(word[9], 6);
	/* Data that comes from now on is watched. */
	send_word(9, 7);
	assert_false(can_kernel_read(word));
}

/* The page that a system call uses stays open, the next one does not. */
static void test_page_behind_a_pinned_one(void **state)
{
	unsigned long long before = san_occurrences();
	int pin = rn_page_pin((uintptr_t)word, PAGE);

	(void)state;
	assert_true(pin >= 0);
	send_word(9, 5);
	send_word(PAGE / 8 + 9, 6);
	assert_true(can_kernel_read(word));
	assert_false(can_kernel_read(word + PAGE / 8));
	assert_int_equal(word[9], 0);
	assert_int_equal(san_occurrences(), before);
	assert_int_equal(word[PAGE / 8 + 9], 0);
	assert_int_equal(san_occurrences(), before + 1);
	rn_page_unpin(pin);
	assert_false(can_kernel_read(word));
}

/* As many as there is room for; one more is no pin, and one that has gone makes room. */
static void test_pins_run_out(void **state)
{
	enum {
		MANY = 1 << 17
	};
	static int pin[MANY];
	unsigned count = 0, free_one;

	(void)state;
	while (count < MANY && (pin[count] = rn_page_pin((uintptr_t)word, 8)) >= 0) {
		assert_int_equal(pin[count], count);
		count++;
	}
	assert_int_equal(count, 65536);
	assert_int_equal(rn_page_pin((uintptr_t)word, 8), -1);
	for (unsigned i = 0; i < 2; i++) {
		free_one = i ? count - 1 : count / 2;
		rn_page_unpin(pin[free_one]);
		assert_int_equal(rn_page_pin((uintptr_t)word, 8), pin[free_one]);
		assert_int_equal(rn_page_pin((uintptr_t)word, 8), -1);
	}
	while (count-- > 0)
		rn_page_unpin(pin[count]);
	/* None holds the page open any more. */
	send_word(9, 5);
	assert_false(can_kernel_read(word));
}

static void test_child_of_fork(void **state)
{
	unsigned long long before = san_occurrences();
	int status;
	pid_t pid;

	(void)state;
	send_word(9, 5);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(can_kernel_read(word) && word[9] == 0 && san_occurrences() == before
			      ? 0
			      : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* One stores by the NIC, one loads: no load is lost, none faults for ever. */
static void *load_all(void *arg)
{
	uint64_t last = 0;

	(void)arg;
	while (last < MESSAGES) {
		uint64_t now = __atomic_load_n(&word[9], __ATOMIC_ACQUIRE);

		assert(now >= last);
		last = now;
	}
	return NULL;
}

static void test_two_threads(void **state)
{
	pthread_t thread;

	(void)state;
	/* cmocka has set its own handler since set_up(), and the thread may load first.
	 */
	assert_int_equal(rn_guard_install(), 0);
	assert_int_equal(pthread_create(&thread, NULL, load_all, NULL), 0);
	for (uint64_t i = 1; i <= MESSAGES; i++) {
		send_word(9, i);
		if (i % 4 == 0)
			rn_pcie_drain();
	}
	rn_pcie_drain();
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* What is stored at @at, whatever the program may load. */
static uint64_t stored_at(const volatile uint64_t *at)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	uint64_t value = 0;

	assert_int_equal(pread(fd, &value, sizeof(value), (off_t)(uintptr_t)at),
			 sizeof(value));
	close(fd);
	return value;
}

static void land(const volatile void *at, uint64_t len)
{
	struct rn_host *h = rn_host_get();

	rn_host_lock(h);
	rn_san_withheld_land((uintptr_t)at, len);
	rn_host_unlock(h);
}

/* A write that has landed gives its place to one of another message, which its own
 * message does not take along. The tail of a long message is one write.
 */
static void test_place_of_a_landed_write(void **state)
{
	struct rn_host *h = rn_host_get();

	(void)state;
	rn_guard_install();
	for (unsigned i = 0; i < 80; i++)
		san_data(&nic, QP, 0x1000, (void *)&word[i], i + 1, 0);
	land(&word[79], sizeof(*word));
	assert_int_equal(stored_at(&word[79]), 80);
	assert_int_equal(stored_at(&word[78]), 0);
	san_data(&nic, QP, 0x1001, (void *)&word[100], 5, 0);
	rn_host_lock(h);
	rn_san_class_seen((uintptr_t)&word[70], 1);
	rn_host_unlock(h);
	assert_int_equal(stored_at(&word[78]), 79);
	assert_int_equal(stored_at(&word[100]), 0);
	rn_pcie_drain();
	assert_int_equal(stored_at(&word[100]), 5);
}

/* Of two writes to the same bytes the later one stays, even if a device needs only it. */
static void test_landing_keeps_order(void **state)
{
	uint8_t *bytes = (uint8_t *)&word[200];

	(void)state;
	rn_guard_install();
	san_data(&nic, QP, 0x1010, bytes + 4, UINT64_C(0x1111111111111111), 0);
	san_data(&nic, QP, 0x1011, bytes, UINT64_C(0x2222222222222222), 0);
	land(bytes, 2);
	assert_int_equal(stored_at(&word[200]), UINT64_C(0x2222222222222222));
	rn_pcie_drain();
	assert_int_equal(stored_at(&word[200]), UINT64_C(0x2222222222222222));
	assert_int_equal(stored_at(&word[201]), 0x11111111);
}

/* Each message has a list of its writes, and lists with the same remainder share a
 * bucket: the end of one ends no other.
 */
static void test_lists_of_one_bucket(void **state)
{
	enum {
		BUCKETS = 4096
	};

	(void)state;
	rn_guard_install();
	san_data(&nic, QP, 0x2000, (void *)&word[8], 5, 0);
	/* Each replaces the one before, of which nothing is stored. */
	for (unsigned i = 0; i <= BUCKETS; i++)
		san_data(&nic, QP, 0x2001, (void *)&word[16], i, 0);
	assert_int_equal(stored_at(&word[8]), 0);
	rn_pcie_drain();
	assert_int_equal(stored_at(&word[8]), 5);
	assert_int_equal(stored_at(&word[16]), BUCKETS);
}

/* What a message has left behind a write that landed is stored where it belongs. */
static void test_gap_in_a_message(void **state)
{
	(void)state;
	rn_guard_install();
	for (unsigned i = 0; i < 128; i++)
		san_data(&nic, QP, 0x1021, (void *)&word[i], i + 1, 0);
	land(&word[90], sizeof(*word));
	assert_int_equal(stored_at(&word[90]), 91);
	assert_int_equal(stored_at(&word[91]), 0);
	rn_pcie_drain();
	for (unsigned i = 0; i < 128; i++)
		assert_int_equal(stored_at(&word[i]), i + 1);
}

/* A write behind an older one that is not withheld, because nothing was registered there,
 * goes the way that the older one goes.
 */
static void test_behind_a_write_of_before(void **state)
{
	volatile uint64_t *page = (volatile uint64_t *)(void *)kit_map_pages(1);

	(void)state;
	rn_guard_install();
	san_data(&nic, QP, 0x1030, (void *)page, 5, 0);
	assert_int_equal(nic.api->region_add(nic.nic, KEY + 1, kit_iova(page), PAGE, 0xf),
			 0);
	san_data(&nic, QP + 1, 0x1031, (void *)page, 6, 0);
	land(page, sizeof(*page));
	rn_pcie_drain();
	assert_int_equal(stored_at(page), 6);
	nic.api->region_remove(nic.nic, KEY + 1);
	munmap((void *)page, PAGE);
}

/* Memory that goes while data for it is withheld is not written any more. */
static void test_unmapped_while_watched(void **state)
{
	volatile uint64_t *page = (volatile uint64_t *)(void *)kit_map_pages(1);
	const struct rn_mem_attr attr = { .qpn = QP, .msg = 0x1041 };
	const uint64_t value = 6;

	(void)state;
	assert_int_equal(nic.api->region_add(nic.nic, KEY + 1, kit_iova(page), PAGE, 0xf),
			 0);
	rn_guard_install();
	san_data(&nic, QP, 0x1040, (void *)page, 5, 0);
	assert_false(can_kernel_read(page));
	munmap((void *)page, PAGE);
	assert_int_equal(
		nic.api->mem->write(nic.nic, kit_iova(page), &value, sizeof(value), attr),
		RN_MEM_FAULT);
	rn_pcie_drain();
	nic.api->region_remove(nic.nic, KEY + 1);
}

/* A program may set a handler by a system call of its own, which nobody sees. */
static void test_handler_that_is_set_unseen(void **state)
{
	static const struct {
		void *handler; /* SIG_DFL */
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} usual;
	unsigned long long before = san_occurrences();

	(void)state;
	assert_int_equal(syscall(SYS_rt_sigaction, SIGSEGV, &usual, NULL, 8), 0);
	san_post(&nic, 0x310, 0, RN_WR_SEND, (const void *)word, PAGE, 0, false);
	word[9] = 1;
	assert_int_equal(san_occurrences(), before + 1);
	san_take(&nic, san_cqe(&nic, 0x310, 0, RN_WC_SEND, RN_WC_SUCCESS), 0x310, false);
}

/* A NIC that reads the source of a request too early gets the bytes from before, and
 * neither that nor the digest of the source stores what was withheld.
 */
static void test_source_is_read_too_early(void **state)
{
	const struct rn_mem_attr attr = { .qpn = 0x300, .msg = 3 };
	unsigned long long before = san_occurrences();
	struct kit_nic reader;
	uint64_t found = 1;

	(void)state;
	kit_attach(&reader);
	send_word(9, 5);
	san_post(&reader, 0x300, 3, RN_WR_SEND, (const void *)&word[9], 8, 0, false);
	assert_int_equal(stored_at(&word[9]), 0);
	assert_int_equal(reader.api->mem->read(reader.nic, &found, kit_iova(&word[9]),
					       sizeof(found), attr, 1),
			 RN_MEM_DONE);
	assert_int_equal(found, 0);
	assert_int_equal(san_occurrences(), before + 1);
	assert_int_equal(stored_at(&word[9]), 0);
	rn_pcie_drain();
	assert_int_equal(stored_at(&word[9]), 5);
	kit_detach(&reader);
}

/* With `all` a read for the peer counts even if no completion covers the bytes. */
static void test_read_of_a_peer(void **state)
{
	unsigned long long before = san_occurrences();
	struct kit_nic reader;

	(void)state;
	kit_attach(&reader);
	send_word(9, 5);
	san_read(&reader, QP, 77, (void *)&word[9]);
	assert_int_equal(san_occurrences(), before + 1);
	kit_detach(&reader);
}

/* The data of a WRITE that is to be acknowledged is there, with ack=placed. */
static void test_acknowledged_data_is_placed(void **state)
{
	(void)state;
	kit_host_knobs("adversarial,ack=placed" SAN_STILL);
	send_word(9, 5);
	assert_int_equal(stored_at(&word[9]), 0);
	nic.api->settle_acked(nic.nic, QP);
	assert_int_equal(stored_at(&word[9]), 5);
	kit_host_knobs("adversarial" SAN_STILL);
}

static bool is_atomic(const struct rn_tlp *tlp, const void *arg)
{
	(void)arg;
	return tlp->kind == RN_TLP_ATOMIC;
}

/* An AtomicOp of another NIC finds what is withheld from the program. */
static void test_atomic_finds_what_is_withheld(void **state)
{
	struct rn_host *h = rn_host_get();
	struct kit_nic other;
	uint64_t found = 1;

	(void)state;
	kit_host_knobs("adversarial,atomic=pcie" SAN_STILL);
	kit_attach(&other);
	send_word(9, 5);
	(void)kit_add(&other, QP, (volatile uint64_t *)&word[9], 1, &found, 1);
	rn_host_lock(h);
	rn_host_force_if(h, is_atomic, NULL);
	rn_host_unlock(h);
	kit_collect(&other);
	assert_int_equal(found, 5);
	rn_pcie_drain();
	assert_int_equal(stored_at(&word[9]), 6);
	kit_detach(&other);
	kit_host_knobs("adversarial" SAN_STILL);
}

/* Atomics of one QP are executed in order, even those that a request behind them has
 * overtaken: who sees the second has the first.
 */
static void test_overtaken_atomics_keep_order(void **state)
{
	struct rn_host *h = rn_host_get();
	static uint64_t local[3], found[2];

	(void)state;
	rn_guard_install();
	for (uint32_t i = 0; i < 2; i++)
		san_post(&nic, 0x300, i, RN_WR_ATOMIC_FETCH_AND_ADD, &local[i], 8,
			 kit_iova(&word[16 + 64 * i]), false);
	san_post(&nic, 0x300, 2, RN_WR_RDMA_WRITE, &local[2], 8, 0x1000, false);
	for (unsigned i = 0; i < 2; i++) {
		(void)kit_add(&nic, QP, (volatile uint64_t *)&word[16 + 64 * i], 1,
			      &found[i], i);
		rn_host_lock(h);
		rn_host_force_if(h, san_is_read, NULL);
		rn_host_unlock(h);
		kit_collect(&nic);
	}
	assert_int_equal(stored_at(&word[16]), 0);
	assert_int_equal(stored_at(&word[16 + 64]), 0);
	rn_host_lock(h);
	rn_san_class_seen(kit_iova(&word[16 + 64]), 8);
	rn_host_unlock(h);
	assert_int_equal(stored_at(&word[16 + 64]), 1);
	assert_int_equal(stored_at(&word[16]), 1);
	san_completed(&nic, 0x300, 2);
}

static void see(unsigned at)
{
	struct rn_host *h = rn_host_get();

	rn_host_lock(h);
	rn_san_class_seen(kit_iova(&word[at]), 8);
	rn_host_unlock(h);
}

/* An AtomicOp for a request of ours. */
static void add_one(unsigned at, uint64_t *found, uint32_t msg)
{
	struct rn_host *h = rn_host_get();

	(void)kit_add(&nic, QP, (volatile uint64_t *)&word[at], 1, found, msg);
	rn_host_lock(h);
	rn_host_force_if(h, san_is_read, NULL);
	rn_host_unlock(h);
	kit_collect(&nic);
}

/* Another machine may execute an atomic behind a request that did not wait for it, so
 * what comes behind that one says nothing of the atomic; what comes behind a request with
 * a fence does.
 */
static void test_only_who_waits_for_an_atomic_pushes_it(void **state)
{
	enum {
		ATOMIC = 16,
		BEHIND = 80,
		BEHIND_FENCE = 144,
	};
	static uint64_t local[3], found;

	(void)state;
	kit_host_knobs("typical" SAN_STILL);
	rn_guard_install();
	san_post(&nic, 0x320, 0, RN_WR_ATOMIC_FETCH_AND_ADD, &local[0], 8,
		 kit_iova(&word[ATOMIC]), false);
	add_one(ATOMIC, &found, 0);
	san_post(&nic, 0x320, 1, RN_WR_RDMA_WRITE, &local[1], 8, 0x1000, false);
	send_word(BEHIND, 7);
	see(BEHIND);
	assert_int_equal(stored_at(&word[BEHIND]), 7);
	assert_int_equal(stored_at(&word[ATOMIC]), 0);
	san_post(&nic, 0x320, 2, RN_WR_RDMA_WRITE, &local[2], 8, 0x1000, true);
	send_word(BEHIND_FENCE, 8);
	see(BEHIND_FENCE);
	assert_int_equal(stored_at(&word[ATOMIC]), 1);
	for (uint32_t msg = 0; msg < 3; msg++)
		san_completed(&nic, 0x320, msg);
	kit_host_knobs("adversarial" SAN_STILL);
}

/* Atomics of one word follow each other, though the program sees none of them yet. */
static void test_atomics_of_a_word_do_not_wait_for_the_program(void **state)
{
	static uint64_t local[2], found[2];

	(void)state;
	rn_guard_install();
	for (uint32_t i = 0; i < 2; i++)
		san_post(&nic, 0x330, i, RN_WR_ATOMIC_FETCH_AND_ADD, &local[i], 8,
			 kit_iova(&word[16]), false);
	for (uint32_t i = 0; i < 2; i++)
		add_one(16, &found[i], i);
	assert_int_equal(found[0], 0);
	assert_int_equal(found[1], 1);
	san_completed(&nic, 0x330, 1);
}

/* A receive that is posted leaves the model free for others. */
static void test_posted_receive(void **state)
{
	(void)state;
	nic.api->posted(nic.nic, &(struct rn_host_wr){ .qpn = QP, .recv = true });
	send_word(9, 5);
	rn_pcie_drain();
	assert_int_equal(stored_at(&word[9]), 5);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_last_byte),
		T(test_pages_of_one_hash),
		T(test_many_loads),
		T(test_handler_of_the_program),
		T(test_signal_is_blocked),
		T(test_store_to_a_source),
		T(test_what_is_no_finding),
		T(test_part_of_a_page),
		T(test_system_calls),
		T(test_system_calls_beside_a_device),
		T(test_region_that_goes),
		T(test_source_in_a_region_that_goes),
		T(test_part_of_a_page_of_the_stack),
		T(test_data_older_than_the_region),
		T(test_page_behind_a_pinned_one),
		T(test_pins_run_out),
		T(test_child_of_fork),
		T(test_two_threads),
		T(test_place_of_a_landed_write),
		T(test_landing_keeps_order),
		T(test_lists_of_one_bucket),
		T(test_gap_in_a_message),
		T(test_behind_a_write_of_before),
		T(test_unmapped_while_watched),
		T(test_handler_that_is_set_unseen),
		T(test_source_is_read_too_early),
		T(test_read_of_a_peer),
		T(test_acknowledged_data_is_placed),
		T(test_atomic_finds_what_is_withheld),
		T(test_overtaken_atomics_keep_order),
		T(test_only_who_waits_for_an_atomic_pushes_it),
		T(test_atomics_of_a_word_do_not_wait_for_the_program),
		T(test_posted_receive),
	};

	san_begin("adversarial" SAN_STILL, "all");
	return san_end(cmocka_run_group_tests(tests, NULL, NULL));
}
