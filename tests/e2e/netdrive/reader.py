#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""reader - a cuFile program: reads a file into the memory of a simulated GPU, and writes it back.

usage: reader FILE BYTES [again]

Prints one line for each call: what it is and what came back; a read also whether the bytes are
those of byte_at(). With `again', it says `asking' and reads once more.
"""
import ctypes
import os
import sys

gpu = ctypes.CDLL("librocin-gpu.so.0", use_errno=True)
lib = ctypes.CDLL("libcufile.so.0", use_errno=True)


class Error(ctypes.Structure):
    _fields_ = [("err", ctypes.c_int), ("cuda", ctypes.c_int)]


class Descr(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("fd", ctypes.c_void_p), ("ops", ctypes.c_void_p)]


class Buffer(ctypes.Structure):
    _fields_ = [("bar", ctypes.c_void_p), ("dev", ctypes.c_void_p), ("len", ctypes.c_size_t), ("gpu", ctypes.c_void_p)]


def expected(size):
    return bytes((i * 7 + i // 251) % 255 + 1 for i in range(size))


def transfer(name, handle, base, size):
    call = getattr(lib, name)
    call.restype = ctypes.c_ssize_t
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long, ctypes.c_long]
    ctypes.set_errno(0)
    done = call(handle, base, size, 0, 0)
    print(name, done if done >= 0 else f"{done} errno {ctypes.get_errno()}", flush=True)
    return done


def main():
    path, size = sys.argv[1], int(sys.argv[2])
    gpu.rn_gpu_open.restype = ctypes.c_void_p
    gpu.rn_gpu_alloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.POINTER(Buffer)]
    gpu.rn_storage_settle_memory.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    lib.cuFileHandleRegister.restype = lib.cuFileBufRegister.restype = Error
    lib.cuFileBufRegister.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    buffer, handle = Buffer(), ctypes.c_void_p()
    if gpu.rn_gpu_alloc(gpu.rn_gpu_open(0), size, 0, ctypes.byref(buffer)):
        sys.exit("no memory of a GPU")
    descr = Descr(1, os.open(path, os.O_RDWR), None)
    err = lib.cuFileHandleRegister(ctypes.byref(handle), ctypes.byref(descr)).err
    print("register", err, flush=True)
    if err:
        sys.exit(3)
    lib.cuFileBufRegister(buffer.bar, size, 0)
    if transfer("cuFileRead", handle, buffer.bar, size) > 0:
        print("same" if ctypes.string_at(buffer.bar, size) == expected(size) else "different", flush=True)
        transfer("cuFileWrite", handle, buffer.bar, size)
    if sys.argv[3:] == ["again"]:
        sys.stdin.readline()
        print("asking", flush=True)
        transfer("cuFileRead", handle, buffer.bar, size)
        transfer("cuFileRead", handle, buffer.bar, size)
    lib.cuFileHandleDeregister(handle)


main()
