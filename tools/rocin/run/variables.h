/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* variables.h - the table of all ROCIN_* variables that Rocin reads, for `rocin config`.
 * Values are parsed where they are used (most of them in provider/engine/settings.h);
 * rocin(7) describes them.
 */
#ifndef RN_VARIABLES_H
#define RN_VARIABLES_H

/* clang-format off */
/*    variable                  value if not set      meaning */
#define RN_VARIABLES(X) \
	X("ROCIN_NETDEVS",        "lo",                 "interfaces and addresses of the devices")                \
	X("ROCIN_RUNTIME_DIR",    "",                   "directory of sockets and trees")                         \
	X("ROCIN_ROCIND",         "",                   "the rocind to start")                                    \
	X("ROCIN_IDLE_MS",        "10000",              "how long rocind stays without a client")                 \
	X("ROCIN_TREE",           "made by rocin run",  "generated tree of sysfs and /dev")                       \
	X("ROCIN_GSO",            "on",                 "several packets per system call")                        \
	X("ROCIN_LOCAL",          "auto",               "packets to processes of this host through shared memory") \
	X("ROCIN_IO",             "auto",               "whether packets are moved by io_uring")                  \
	X("ROCIN_ICRC",           "solve",              "what to do with unguessable IPv4 identifications")       \
	X("ROCIN_CREDITS",        "off",                "acknowledgements tell how many receives there are")      \
	X("ROCIN_CC",             "off",                "congestion control")                                     \
	X("ROCIN_WINDOW",         "192K:64K:1M",        "bytes under way to a process: at first, least and most") \
	X("ROCIN_RCVBUF",         "",                   "receive buffer of the sockets")                          \
	X("ROCIN_LINGER_US",      "50",                 "how long the last poll before sleep goes on looking")    \
	X("ROCIN_TIMEOUT_SCALE",  "1",                  "factor on timeouts, for who stops programs to look")     \
	X("ROCIN_PIN",            "off",                "limit on memory that counts as pinned, and time a page")  \
	X("ROCIN_LOG",            "off",                "level and file of the log")                              \
	X("ROCIN_PCAP",           "off",                "file to capture packets in")                             \
	X("ROCIN_FAULT",          "off",                "what goes wrong on purpose")                             \
	X("ROCIN_RECORD",         "off",                "file to record runs in")                                 \
	X("ROCIN_RECORD_LIMIT",   "1G",                 "bytes of a recording at most")                           \
	X("ROCIN_PCIE",           "off",                "simulated PCIe layer")                                   \
	X("ROCIN_PCIE_DEVICE",    "none",               "which registered memory is a GPU's")                     \
	X("ROCIN_PCIE_TRAP",      "on",                 "whether loads from a GPU's memory are PCIe reads")       \
	X("ROCIN_SANITIZE",       "off",                "reports of memory used too early")                       \
	X("ROCIN_GPUS",           "4",                  "simulated GPUs")                                         \
	X("ROCIN_GPU_MEMORY",     "4G",                 "bytes of each")                                          \
	X("ROCIN_STORAGE_POLICY", "direct,gpu,host",    "ways of simulated storage, in order of preference")      \
	X("ROCIN_STORAGE_NEAR",   "none",               "GPUs below the switch of each simulated drive")
/* clang-format on */

#endif /* RN_VARIABLES_H */
