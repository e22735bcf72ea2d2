#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# pyverbs-pcie.sh - the test suite of rdma-core with the PCIe layer on: all tests that pass with the
# layer off must pass, except those that pyverbs-skips.txt lists for the mode.
#
# usage: pyverbs-pcie.sh strict | ibta | typical | adversarial | adversarial-placed
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
# shellcheck source=pyverbs_lib.sh
. "$(dirname "$0")/pyverbs_lib.sh"

pyverbs "$1" "lo:$addr_a" "${1/-placed/,ack=placed}"
