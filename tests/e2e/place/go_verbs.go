// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// go_verbs.go - a Go program that finds the device in /sys by Go's own reads, opens it by
// libibverbs through cgo, and writes from one queue pair to the other by RDMA WRITE.
package main

/*
#cgo LDFLAGS: -libverbs
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	return ibv_create_qp(pd, &init);
}

static int connect_qp(struct ibv_qp *qp, uint32_t to, const union ibv_gid *gid)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				 .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	int rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = to,
				  .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
				  .ah_attr = { .is_global = 1, .port_num = 1,
					       .grh = { .dgid = *gid, .hop_limit = 64 } } };
	if (!rc)
		rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
				  .max_rd_atomic = 1 };
	if (!rc)
		rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return rc;
}

// Writes the first half of @mem, which has @len bytes, to its second half. Returns the status of
// the completion, or -1.
static int write_half(struct ibv_context *ctx, unsigned char *mem, size_t len)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, mem, len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_qp *a = make_qp(pd, cq), *b = make_qp(pd, cq);
	struct ibv_sge sge = { (uintptr_t)mem, (uint32_t)(len / 2), mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };
	union ibv_gid gid;
	struct ibv_wc wc;
	int n = 0;

	wr.wr.rdma.remote_addr = (uintptr_t)mem + len / 2;
	wr.wr.rdma.rkey = mr->rkey;
	if (ibv_query_gid(ctx, 1, 0, &gid) || connect_qp(a, b->qp_num, &gid) || connect_qp(b, a->qp_num, &gid) ||
	    ibv_post_send(a, &wr, &bad))
		return -1;
	while (n == 0)
		n = ibv_poll_cq(cq, 1, &wc);
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	return n == 1 ? (int)wc.status : -1;
}
*/
import "C"

import (
	"bytes"
	"fmt"
	"os"
	"unsafe"
)

const length = 1 << 20

func fail(why ...any) {
	fmt.Println(why...)
	os.Exit(1)
}

func main() {
	found, err := os.ReadDir("/sys/class/infiniband")
	if err != nil || len(found) != 1 {
		fail("Go finds no device:", err)
	}
	name := found[0].Name()
	state, err := os.ReadFile("/sys/class/infiniband/" + name + "/ports/1/state")
	if err != nil || string(state) != "4: ACTIVE\n" {
		fail("Go finds no port:", string(state), err)
	}
	var count C.int
	list := C.ibv_get_device_list(&count)
	if count != 1 || C.GoString(C.ibv_get_device_name(*list)) != name {
		fail("libibverbs lists", count, "devices")
	}
	ctx := C.ibv_open_device(*list)
	if ctx == nil {
		fail("the device does not open")
	}
	memory := (*[length]byte)(C.malloc(length))
	for i := range memory {
		memory[i] = byte(i * 7 * (1 - i/(length/2)))
	}
	if status := C.write_half(ctx, (*C.uchar)(unsafe.Pointer(memory)), length); status != 0 {
		fail("the WRITE ends with", status)
	}
	if !bytes.Equal(memory[:length/2], memory[length/2:]) {
		fail("other bytes have come")
	}
	C.ibv_close_device(ctx)
	fmt.Println("Go has written", length/2, "bytes on", name)
}
