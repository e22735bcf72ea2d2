#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""nccl_all_reduce.py - NCCL's collectives between processes, with every sum checked.

usage: nccl_all_reduce.py RANK SIZE PORT [ROUNDS]

Each rank runs on GPU number RANK modulo the number of GPUs. Ranks that share a GPU want another
NCCL_HOSTID each: NCCL refuses two ranks of one host on one GPU. The last line of rank 0 is
"nccl_all_reduce: ok" with the number of sums; a wrong sum is told with its place, and ends the
process with status 1. COUNTS, if set, has the numbers of elements to reduce, separated by commas.
"""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist


def check(what, got, want):
    """Compares tensors; ends the process if they differ."""
    if torch.equal(got, want):
        return
    bad = (got != want).nonzero()[0].tolist()
    print(f"{what}: wrong at {bad}: {got[tuple(bad)].item()} is not {want[tuple(bad)].item()}", flush=True)
    os._exit(1)


def reduce_once(rank, size, count, seed):
    """All-reduces integers that depend on rank and seed: exact sums. Returns the time in seconds."""
    base = torch.arange(count, dtype=torch.int64, device="cuda") % 1009
    mine = base * (rank + 1) + seed
    torch.cuda.synchronize()
    begun = time.monotonic()
    dist.all_reduce(mine)
    torch.cuda.synchronize()
    taken = time.monotonic() - begun
    check(f"all_reduce of {count}", mine, base * (size * (size + 1) // 2) + seed * size)
    return taken


def main():
    rank, size, port = (int(a) for a in sys.argv[1:4])
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("nccl", rank=rank, world_size=size, timeout=datetime.timedelta(seconds=120))
    sums = 0
    for count in (int(c) for c in os.environ.get("COUNTS", "1,1000,65536,1048576").split(",")):
        times = sorted(reduce_once(rank, size, count, seed) for seed in range(rounds))
        sums += rounds * count
        if rank == 0:
            length = count * 8
            print(f"all_reduce {length:9} bytes, {size} ranks: median {times[rounds // 2] * 1e6:9.0f} us "
                  f"{length / times[rounds // 2] / 1e6:8.1f} MB/s", flush=True)
    mine = torch.full((1 << 16,), rank, dtype=torch.int64, device="cuda")
    out = torch.empty(size << 16, dtype=torch.int64, device="cuda")
    dist.all_gather_into_tensor(out, mine)
    check("all_gather", out, torch.arange(size, device="cuda").repeat_interleave(1 << 16))
    dist.barrier()
    if rank == 0:
        print(f"nccl_all_reduce: ok, {sums} sums", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
