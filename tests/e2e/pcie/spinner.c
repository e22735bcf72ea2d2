/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* spinner.c - loops that wait for memory, which have to end although what may be late is
 * late until an event. One process, two RC queue pairs.
 *
 * usage: spinner flags COUNT	a loop over COUNT words, until all have been written
 *	  spinner shared	the loop of another process, in shared memory
 *	  spinner call		a system call on a page that is closed
 *	  spinner local		a thread-local variable, near what handlers use
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"

static struct loop l;
static uint64_t one = 1;
static struct ibv_mr *one_mr;

static _Atomic uint64_t *map_words(unsigned count, int how)
{
	void *mem = mmap(NULL, count * sizeof(uint64_t), PROT_READ | PROT_WRITE,
			 how | MAP_ANONYMOUS, -1, 0);

	EXPECT(mem != MAP_FAILED);
	return mem;
}

static void open_devices(void)
{
	loop_open(&l);
	one_mr = ibv_reg_mr(l.pd, &one, sizeof(one), 0);
	EXPECT(one_mr);
}

static struct ibv_mr *register_words(_Atomic uint64_t *words, unsigned count)
{
	struct ibv_mr *mr = ibv_reg_mr(l.pd, (void *)words, count * sizeof(*words),
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	EXPECT(mr);
	return mr;
}

/* Writes 1 to a word, and polls the completion at the requester, which does not show that
 * the word has arrived.
 */
static void write_word(const struct ibv_mr *mr, _Atomic uint64_t *word)
{
	const struct loop_request r = { .opcode = IBV_WR_RDMA_WRITE,
					.local = &one,
					.len = sizeof(one),
					.lkey = one_mr->lkey,
					.remote = (void *)word,
					.rkey = mr->rkey };

	EXPECT(loop_run(&l, &r, NULL) == IBV_WC_SUCCESS);
}

static void await_flags(unsigned count)
{
	_Atomic uint64_t *flags = map_words(count, MAP_PRIVATE);
	struct ibv_mr *mr;
	unsigned seen;

	open_devices();
	mr = register_words(flags, count);
	for (unsigned i = 0; i < count; i++)
		write_word(mr, &flags[i]);
	do {
		seen = 0;
		for (unsigned i = 0; i < count; i++)
			seen += flags[i] == 1;
	} while (seen < count);
}

static void await_in_other_process(void)
{
	_Atomic uint64_t *flag = map_words(1, MAP_SHARED);
	pid_t child = fork();
	int status;

	EXPECT(child >= 0);
	if (!child) {
		while (*flag != 1)
			;
		_exit(0);
	}
	open_devices();
	write_word(register_words(flag, 1), flag);
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static void await_thread_local(void)
{
	static __thread _Atomic uint64_t word;

	open_devices();
	write_word(register_words(&word, 1), &word);
	while (word != 1)
		;
}

/* The system call reads the old bytes, as a load would, and does not fail. */
static void hand_to_system_call(void)
{
	_Atomic uint64_t *word = map_words(1, MAP_PRIVATE);
	uint64_t found = 2;
	int ends[2];

	open_devices();
	write_word(register_words(word, 1), word);
	EXPECT(pipe(ends) == 0);
	EXPECT(write(ends[1], (void *)word, sizeof(*word)) == sizeof(*word));
	EXPECT(read(ends[0], &found, sizeof(found)) == sizeof(found));
	EXPECT(found <= 1);
}

int main(int argc, char **argv)
{
	EXPECT(argc >= 2);
	if (argc == 3 && strcmp(argv[1], "flags") == 0)
		await_flags((unsigned)strtoul(argv[2], NULL, 10));
	else if (strcmp(argv[1], "shared") == 0)
		await_in_other_process();
	else if (strcmp(argv[1], "call") == 0)
		hand_to_system_call();
	else if (strcmp(argv[1], "local") == 0)
		await_thread_local();
	else
		return 2;
	return 0;
}
