/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* one_sided.c - an MPI program of two ranks that checks each byte of messages and of
 * one-sided operations: put, get, accumulate, fetch and operate, compare and swap.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	WORDS = 1 << 16, /* of a window: it takes many packets */
	ROUNDS = 20,
};

static void must(int holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "one_sided: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Word @i of what a rank sends in a round. */
static uint64_t word(int rank, int round, int i)
{
	return (uint64_t)rank << 48 | (uint64_t)round << 32 | (uint32_t)i;
}

static void fill(uint64_t *to, int rank, int round)
{
	for (int i = 0; i < WORDS; i++)
		to[i] = word(rank, round, i);
}

static void check(const uint64_t *from, int rank, int round, const char *what)
{
	for (int i = 0; i < WORDS; i++)
		must(from[i] == word(rank, round, i), what);
}

static void exchange(uint64_t *mine, uint64_t *other, int rank)
{
	for (int round = 0; round < ROUNDS; round++) {
		fill(mine, rank, round);
		MPI_Sendrecv(mine, WORDS, MPI_UINT64_T, !rank, 0, other, WORDS,
			     MPI_UINT64_T, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check(other, !rank, round, "a message is not what was sent");
	}
}

static void put_and_get(uint64_t *mine, uint64_t *shared, MPI_Win win, int rank)
{
	for (int round = 0; round < ROUNDS; round++) {
		fill(mine, rank, round);
		MPI_Win_fence(0, win);
		MPI_Put(mine, WORDS, MPI_UINT64_T, !rank, 0, WORDS, MPI_UINT64_T, win);
		MPI_Win_fence(0, win);
		check(shared, !rank, round, "a put is not what was put");
		MPI_Win_fence(0, win);
		MPI_Get(mine, WORDS, MPI_UINT64_T, !rank, 0, WORDS, MPI_UINT64_T, win);
		MPI_Win_fence(0, win);
		check(mine, rank, round, "a get is not what was put");
	}
}

/* Both ranks count in word 0 of rank 0, and add to all words of both. */
static void count(uint64_t *shared, MPI_Win win, int rank)
{
	static uint64_t one[WORDS];
	uint64_t before = 0, zero = 0, swapped = 0;

	for (int i = 0; i < WORDS; i++)
		shared[i] = 0, one[i] = 1;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (int round = 0; round < ROUNDS; round++) {
		MPI_Fetch_and_op(one, &before, MPI_UINT64_T, 0, 0, MPI_SUM, win);
		MPI_Win_flush(0, win);
		must(before < (uint64_t)2 * ROUNDS,
		     "a counter has a value that it never had");
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	if (rank == 1) {
		before = 2 * ROUNDS;
		MPI_Compare_and_swap(&zero, &before, &swapped, MPI_UINT64_T, 0, 0, win);
		MPI_Win_flush(0, win);
		must(swapped == (uint64_t)2 * ROUNDS, "a counter has lost something");
	}
	MPI_Win_unlock_all(win);
	MPI_Win_fence(0, win);
	MPI_Accumulate(one, WORDS, MPI_UINT64_T, 0, 0, WORDS, MPI_UINT64_T, MPI_SUM, win);
	MPI_Win_fence(0, win);
	for (int i = 0; rank == 0 && i < WORDS; i++)
		must(shared[i] == 2, "an accumulation has lost something");
}

int main(int argc, char **argv)
{
	uint64_t *mine = malloc(WORDS * sizeof(*mine)),
		 *other = malloc(WORDS * sizeof(*other)), *shared = NULL;
	int rank, size;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	must(size == 2 && mine && other, "there have to be two ranks, and memory");
	MPI_Win_allocate(WORDS * sizeof(*shared), sizeof(*shared), MPI_INFO_NULL,
			 MPI_COMM_WORLD, (void *)&shared, &win);
	exchange(mine, other, rank);
	put_and_get(mine, shared, win, rank);
	count(shared, win, rank);
	MPI_Win_free(&win);
	MPI_Finalize();
	free(mine);
	free(other);
	if (rank == 0)
		puts("one_sided: right");
	return 0;
}
