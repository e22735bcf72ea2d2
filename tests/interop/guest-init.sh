#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# guest-init.sh - /init of the initramfs: the root is the host's, read-only, below a tmpfs
# that takes what the guest writes.
#
# Its arguments: guest.sh, and what that one wants.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
while read -r module; do
	insmod "/modules/$module"
done </modules/list
mkdir -p /host /layer /root
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /host
mount -t tmpfs layer /layer
mkdir /layer/upper /layer/work
mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work root /root
exec switch_root /root /bin/bash "$@"
