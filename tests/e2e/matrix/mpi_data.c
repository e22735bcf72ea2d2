/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mpi_data.c - what an MPI program does with others, with every number checked: messages,
 * tagged and of any source, collective operations, and one-sided ones in a window.
 *
 * Compiled by the MPI whose mpicc mpi.sh names. Ends with status 0 if no number is wrong.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	LONGEST = 1 << 18, /* numbers in a message: 1 MiB, above every limit of eager
			      messages */
	ROUNDS = 50,
};

static int rank, size, wrong;

static void expect(const char *what, long got, long want)
{
	if (got != want && wrong++ < 10)
		printf("rank %d: %s: %ld instead of %ld\n", rank, what, got, want);
}

static int number(int from, int i)
{
	return from * 1000003 + i;
}

/* Each rank passes a message of @count numbers on to the next one. */
static void pass_on(int count)
{
	int *out = malloc(sizeof(int) * (size_t)count),
	    *in = malloc(sizeof(int) * (size_t)count);
	int before = (rank + size - 1) % size;

	for (int i = 0; i < count; i++)
		out[i] = number(rank, i);
	MPI_Sendrecv(out, count, MPI_INT, (rank + 1) % size, count, in, count, MPI_INT,
		     before, count, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < count; i++)
		expect("a message", in[i], number(before, i));
	free(out);
	free(in);
}

static void collect(int count)
{
	int *mine = malloc(sizeof(int) * (size_t)count);
	int *all = malloc(sizeof(int) * (size_t)count * (size_t)size);

	for (int i = 0; i < count; i++)
		mine[i] = number(rank, i);
	MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		for (int i = 0; i < count; i++)
			expect("allgather", all[r * count + i], number(r, i));
	MPI_Allreduce(MPI_IN_PLACE, mine, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		expect("allreduce", mine[i], number(size - 1, i));
	for (int i = 0; i < count; i++)
		mine[i] = rank ? 0 : number(7, i);
	MPI_Bcast(mine, count, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		expect("bcast", mine[i], number(7, i));
	free(mine);
	free(all);
}

/* Each rank puts numbers into the window of the next one, and gets them from there. */
static void put_and_get(MPI_Win win, int *window, int count)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	int *out = malloc(sizeof(int) * (size_t)count),
	    *in = malloc(sizeof(int) * (size_t)count);

	for (int i = 0; i < count; i++)
		out[i] = number(rank, i);
	MPI_Win_fence(0, win);
	MPI_Put(out, count, MPI_INT, next, 0, count, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < count; i++)
		expect("what was put", window[i], number(before, i));
	MPI_Get(in, count, MPI_INT, next, 0, count, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < count; i++)
		expect("get", in[i], number(rank, i));
	MPI_Accumulate(out, count, MPI_INT, next, 0, count, MPI_INT, MPI_SUM, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < count; i++)
		expect("accumulate", window[i], 2L * number(before, i));
	free(out);
	free(in);
}

/* All ranks count up two numbers of rank 0: by adding, and by comparing and swapping. */
static void count_up(void)
{
	MPI_Win win;
	long *counter, one = 1, old, seen;

	MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
			 &counter, &win);
	counter[0] = counter[1] = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win);
		MPI_Win_flush(0, win);
		seen = 0;
		do {
			long next = seen + 1;

			old = seen;
			MPI_Compare_and_swap(&next, &old, &seen, MPI_LONG, 0, 1, win);
			MPI_Win_flush(0, win);
		} while (seen != old);
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
	for (int i = 0; i < 2; i++) {
		MPI_Fetch_and_op(NULL, &old, MPI_LONG, 0, i, MPI_NO_OP, win);
		MPI_Win_flush(0, win);
		expect(i ? "compare and swap" : "fetch and op", old, (long)size * ROUNDS);
	}
	MPI_Win_unlock(0, win);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	MPI_Win win;
	int *window, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int count = 1; count <= LONGEST; count *= 8) {
		pass_on(count);
		collect(count);
	}
	MPI_Win_allocate(LONGEST * sizeof(int), sizeof(int), MPI_INFO_NULL,
			 MPI_COMM_WORLD, &window, &win);
	for (int count = 1; count <= LONGEST; count *= 8)
		put_and_get(win, window, count);
	MPI_Win_free(&win);
	count_up();
	MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank)
		printf("%d ranks: %d wrong\n", size, sum);
	MPI_Finalize();
	return sum != 0;
}
