/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gloo_data.cc - two ranks that reduce, gather and broadcast by Gloo's ibverbs transport,
 * with every number checked. They meet in a folder of files.
 *
 * usage: gloo_data RANK FOLDER DEVICE
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <gloo/allgather_ring.h>
#include <gloo/allreduce_ring.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

static const int SIZE = 2, LONGEST = 1 << 18;
static int wrong;

static void expect(const char *what, int got, int want)
{
	if (got != want && wrong++ < 10)
		printf("%s: %d instead of %d\n", what, got, want);
}

/* Gloo wants the buffers of an operation to live until their sends have completed, which
 * run() does not wait for: all operations live until the end.
 */
static std::vector<std::unique_ptr<gloo::Algorithm>> operations;
static std::vector<std::unique_ptr<std::vector<int>>> arrays;

static int *numbers(int count)
{
	arrays.push_back(std::make_unique<std::vector<int>>(count));
	return arrays.back()->data();
}

template <class Operation, class... Words> static void run(Words... words)
{
	operations.push_back(std::make_unique<Operation>(words...));
	operations.back()->run();
}

static void play(const std::shared_ptr<gloo::Context> &context, int rank, int count)
{
	int *mine = numbers(count), *all = numbers(count * SIZE);

	for (int i = 0; i < count; i++)
		mine[i] = (rank + 1) * 1000 + i;
	run<gloo::AllgatherRing<int>>(context, std::vector<const int *>{ mine }, all,
				      count);
	for (int i = 0; i < count * SIZE; i++)
		expect("allgather", all[i], (i / count + 1) * 1000 + i % count);
	run<gloo::AllreduceRing<int>>(context, std::vector<int *>{ mine }, count);
	for (int i = 0; i < count; i++)
		expect("allreduce", mine[i], 3000 + 2 * i);
	mine = numbers(count);
	for (int i = 0; i < count; i++)
		mine[i] = rank ? 0 : 7 * i;
	run<gloo::BroadcastOneToAll<int>>(context, std::vector<int *>{ mine }, count);
	for (int i = 0; i < count; i++)
		expect("broadcast", mine[i], 7 * i);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 64;
	int rank = atoi(argv[1]);
	gloo::transport::ibverbs::attr attr = { argv[3], 1, 0 };
	auto device = gloo::transport::ibverbs::CreateDevice(attr);
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, SIZE);
	gloo::rendezvous::FileStore store(argv[2]);

	context->connectFullMesh(store, device);
	for (int count = 1; count <= LONGEST; count *= 8)
		play(context, rank, count);
	run<gloo::BarrierAllToAll>(context);
	printf("rank %d: %d wrong\n", rank, wrong);
	fflush(stdout);
	std::quick_exit(wrong != 0);
}
