#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# conform.sh - `rocin conform' and agents that hang, die and lie: conform_fake.py

# shellcheck source=lib.sh
. "$(dirname "$0")/../kit/lib.sh"
python3 "$(dirname "$0")/conform_fake.py" "$ROCIN_BIN/rocin" "$work" "$ROCIN_SOURCE"
