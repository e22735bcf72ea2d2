/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* icrc_vectors.h - packets whose ICRC is known from elsewhere. */
#ifndef RN_ICRC_VECTORS_H
#define RN_ICRC_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Whole IP packets, ICRC last. The first came from a ConnectX-4 Lx; the others have been
 * checked with scapy's RoCE dissector.
 */
static const struct {
	const char *what;
	const char *hex;
	uint32_t icrc;
} vectors[] = {
	{ "CNP of a real adapter, source port 0",
	  "45c2003c 718c4000 40119161 0a001101 0a001201 000012b7 00280000 8100ffff "
	  "40000118"
	  "00000000 00000000 00000000 00000000 00000000 82fd002a",
	  0x2a00fd82 },
	{ "V1 RC SEND Only, 5 bytes, identification 0x1234",
	  "45020034 12344000 40111481 0a000001 0a000002 d1c512b7 00200000 0430ffff "
	  "00000011"
	  "80123456 68656c6c 6f000000 942c4ab0",
	  0xb04a2c94 },
	{ "V2 RC ACK",
	  "45020030 00004000 401126b9 0a000002 0a000001 d1c512b7 001c0000 1100ffff "
	  "00000011"
	  "00123456 1f000001 92597d13",
	  0x137d5992 },
	{ "V3 RC NAK, PSN sequence error",
	  "45000030 00004000 401126bb 0a000002 0a000001 c13212b7 001c0000 1100ffff "
	  "00000011"
	  "00000000 60000000 ee6dc48b",
	  0x8bc46dee },
	{ "V4 RC RNR NAK",
	  "45000030 00004000 401126bb 0a000002 0a000001 c13212b7 001c0000 1100ffff "
	  "00000011"
	  "00ffffff 2c000007 b839f478",
	  0x78f439b8 },
	{ "V5 RC RDMA READ Request",
	  "4500003c 00004000 401126af 0a000001 0a000002 c13212b7 00280000 0c00ffff "
	  "00000012"
	  "80fffffe 00000000 00001000 00001234 00001388 74c395f7",
	  0xf795c374 },
	{ "V6 RC Compare & Swap",
	  "45000048 00004000 401126a3 0a000001 0a000002 c13212b7 00340000 1300ffff "
	  "00000012"
	  "80000003 00000000 00002000 00001234 00000000 00000002 00000000 00000001 "
	  "3790db39",
	  0x39db9037 },
	{ "V7 RC Atomic Acknowledge",
	  "45000038 00004000 401126b3 0a000002 0a000001 c13212b7 00240000 1200ffff "
	  "00000011"
	  "00000003 1f000002 00000000 00000001 269d553e",
	  0x3e559d26 },
	{ "V8 UD SEND Only with Immediate",
	  "4500003c 00004000 401126af 0a000001 0a000002 c13212b7 00280000 65e0ffff "
	  "00000012"
	  "00000009 11111111 00000011 deadbeef 61620000 828deed1",
	  0xd1ee8d82 },
	{ "V9 CNP",
	  "45c0003c 00004000 401125ef 0a000002 0a000001 c00012b7 00280000 8100ffff "
	  "40000011"
	  "00000000 00000000 00000000 00000000 00000000 5b65ef9f",
	  0x9fef655b },
	{ "V10 RC RDMA WRITE Only over IPv6",
	  "60212345 002c1140 fd000000 00000000 00000000 00000001 fd000000 00000000 "
	  "00000000"
	  "00000002 c12312b7 002c0000 0a00ffff 00000022 80ffffff 00000000 00001000 "
	  "00001234"
	  "00000004 deadbeef 3fdcb13b",
	  0x3bb1dc3f },
	{ "V11 RC RDMA READ Response Only over IPv6",
	  "60000000 001c1101 fd000000 00000000 00000000 00000002 fd000000 00000000 "
	  "00000000"
	  "00000001 c13212b7 001c0000 1000ffff 00000011 00000005 1f000001 aaea3d48",
	  0x483deaaa },
};

/* Bytes of @hex, blanks skipped, to @out. Returns how many. */
static inline size_t read_hex(uint8_t *out, const char *hex)
{
	size_t len = 0;

	while (*hex) {
		char digits[3] = { hex[0], hex[1], 0 };

		if (*hex == ' ') {
			hex++;
			continue;
		}
		out[len++] = (uint8_t)strtoul(digits, NULL, 16);
		hex += 2;
	}
	return len;
}

#endif /* RN_ICRC_VECTORS_H */
