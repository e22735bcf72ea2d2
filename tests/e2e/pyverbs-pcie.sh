#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pyverbs-pcie.sh - the test suite of rdma-core with the PCIe layer on: what passes with it
# off passes with it on, but for what pyverbs-skips.txt says of a mode.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=pyverbs_lib.sh
. "$(dirname "$0")/pyverbs_lib.sh"

for mode in strict ibta typical adversarial; do
	pyverbs "$mode" "lo:$addr_a" "$mode"
done
pyverbs adversarial-placed "lo:$addr_a" adversarial,ack=placed
