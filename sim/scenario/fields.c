/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields.c - the words of the scenario language, as tables. */
#include "scenario.h"

#include <errno.h>
#include <string.h>

#include "rocin/cqe.h"
#include "rocin/mr.h"
#include "rocin/stats.h"
#include "rocin/wire.h"
#include "rocin/work_request.h"

const char *const rn_scn_verb_name[RN_SCN_VERBS] = {
	[RN_SCN_QP] = "qp",
	[RN_SCN_MR] = "mr",
	[RN_SCN_POST] = "post",
	[RN_SCN_RECV] = "recv",
	[RN_SCN_MODIFY] = "modify",
	[RN_SCN_DEREG] = "dereg",
	[RN_SCN_REVIVE] = "revive",
	[RN_SCN_ARM] = "arm",
	[RN_SCN_COMP] = "comp",
	[RN_SCN_QUERY] = "query",
	[RN_SCN_INJECT] = "<",
	[RN_SCN_PACKET] = ">",
	[RN_SCN_WC] = "wc",
	[RN_SCN_EVENT] = "event",
	[RN_SCN_STATE] = "state",
	[RN_SCN_CHECK] = "check",
	[RN_SCN_COUNT] = "count",
	[RN_SCN_QUIET] = "quiet",
	[RN_SCN_END] = "end",
	[RN_SCN_MW] = "mw",
	[RN_SCN_SRQ] = "srq",
	[RN_SCN_UNMAP] = "unmap",
	[RN_SCN_HOLD] = "hold",
	[RN_SCN_GO] = "go",
	[RN_SCN_LIMIT] = "limit",
	[RN_SCN_JOIN] = "join",
	[RN_SCN_LEAVE] = "leave",
	[RN_SCN_CONN] = "conn",
	[RN_SCN_LISTEN] = "listen",
	[RN_SCN_UNLISTEN] = "unlisten",
	[RN_SCN_CONNECT] = "connect",
	[RN_SCN_ACCEPT] = "accept",
	[RN_SCN_READY] = "ready",
	[RN_SCN_REJECT] = "reject",
	[RN_SCN_MRA] = "mra",
	[RN_SCN_ESTABLISHED] = "established",
	[RN_SCN_DISCONNECT] = "disconnect",
	[RN_SCN_CLOSE] = "close",
	[RN_SCN_OFFER_PATH] = "offer_path",
	[RN_SCN_ANSWER_PATH] = "answer_path",
	[RN_SCN_ASK] = "ask",
	[RN_SCN_ANSWER] = "answer",
	[RN_SCN_MAD_IN] = "<",
	[RN_SCN_MAD_OUT] = ">",
	[RN_SCN_CM_EVENT] = "event",
	[RN_SCN_CM_STATE] = "state",
	[RN_SCN_CM_QUERY] = "query",
	[RN_SCN_CM_COUNT] = "count",
};

const struct rn_scn_word rn_scn_qp_types[] = {
	{ "rc", RN_QPT_RC },
	{ "uc", RN_QPT_UC },
	{ "ud", RN_QPT_UD },
	{ "xrc_send", RN_QPT_XRC_SEND },
	{ "xrc_recv", RN_QPT_XRC_RECV },
	{ NULL, 0 },
};

const struct rn_scn_word rn_scn_states[] = {
	{ "reset", RN_QPS_RESET }, { "init", RN_QPS_INIT },
	{ "rtr", RN_QPS_RTR },	   { "rts", RN_QPS_RTS },
	{ "sqd", RN_QPS_SQD },	   { "sqe", RN_QPS_SQE },
	{ "err", RN_QPS_ERR },	   { NULL, 0 },
};

const struct rn_scn_word rn_scn_statuses[] = {
	{ "success", RN_WC_SUCCESS },
	{ "loc_len_err", RN_WC_LOC_LEN_ERR },
	{ "loc_qp_op_err", RN_WC_LOC_QP_OP_ERR },
	{ "loc_prot_err", RN_WC_LOC_PROT_ERR },
	{ "wr_flush_err", RN_WC_WR_FLUSH_ERR },
	{ "mw_bind_err", RN_WC_MW_BIND_ERR },
	{ "bad_resp_err", RN_WC_BAD_RESP_ERR },
	{ "loc_access_err", RN_WC_LOC_ACCESS_ERR },
	{ "rem_inv_req_err", RN_WC_REM_INV_REQ_ERR },
	{ "rem_access_err", RN_WC_REM_ACCESS_ERR },
	{ "rem_op_err", RN_WC_REM_OP_ERR },
	{ "retry_exc_err", RN_WC_RETRY_EXC_ERR },
	{ "rnr_retry_exc_err", RN_WC_RNR_RETRY_EXC_ERR },
	{ "fatal_err", RN_WC_FATAL_ERR },
	{ "general_err", RN_WC_GENERAL_ERR },
	{ NULL, 0 },
};

const struct rn_scn_word rn_scn_events[] = {
	{ "cq_err", RN_EVENT_CQ_ERR },
	{ "qp_fatal", RN_EVENT_QP_FATAL },
	{ "qp_req_err", RN_EVENT_QP_REQ_ERR },
	{ "qp_access_err", RN_EVENT_QP_ACCESS_ERR },
	{ "comm_est", RN_EVENT_COMM_EST },
	{ "sq_drained", RN_EVENT_SQ_DRAINED },
	{ "path_mig", RN_EVENT_PATH_MIG },
	{ "path_mig_err", RN_EVENT_PATH_MIG_ERR },
	{ "srq_limit_reached", RN_EVENT_SRQ_LIMIT_REACHED },
	{ "last_wqe_reached", RN_EVENT_LAST_WQE_REACHED },
	{ NULL, 0 },
};

const struct rn_scn_word rn_scn_counters[] = {
#define X(symbol, name, report, help) { name, RN_STAT_##symbol },
	RN_STATS(X)
#undef X
		{ NULL, 0 },
};

static const struct rn_scn_word naks[] = {
	{ "psn_seq", RN_NAK_PSN_SEQ },	    { "inv", RN_NAK_INVALID_REQ },
	{ "access", RN_NAK_REMOTE_ACCESS }, { "op", RN_NAK_REMOTE_OP },
	{ "rd", RN_NAK_INVALID_RD_REQ },    { NULL, 0 },
};

static const struct rn_scn_word kinds[] = {
#define X(symbol, number, operands, word, name, words) { word, RN_WR_##symbol },
	RN_WR_OPCODES(X)
#undef X
		{ NULL, 0 },
};

static const struct rn_scn_word rights[] = {
	{ "none", 0 },
	{ "local", RN_ACCESS_LOCAL_WRITE },
	{ "write", RN_ACCESS_REMOTE_WRITE },
	{ "read", RN_ACCESS_REMOTE_READ },
	{ "atomic", RN_ACCESS_REMOTE_ATOMIC },
	{ "bind", RN_ACCESS_MW_BIND },
	{ "zero_based", RN_ACCESS_ZERO_BASED },
	{ "flush_global", RN_ACCESS_FLUSH_GLOBAL },
	{ "flush_persistent", RN_ACCESS_FLUSH_PERSISTENT },
	{ "remote",
	  RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC },
	{ "all", RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ |
			 RN_ACCESS_REMOTE_ATOMIC },
	{ NULL, 0 },
};

static const struct rn_scn_word senders[] = {
	{ "peer", RN_SCN_PEER },
	{ "other", RN_SCN_OTHER },
	{ NULL, 0 },
};

static const struct rn_scn_word receivers[] = {
	{ "one", RN_SCN_TO_ONE },
	{ "group", RN_SCN_TO_GROUP },
	{ "other", RN_SCN_TO_OTHER },
	{ NULL, 0 },
};

static const struct rn_scn_word mig_states[] = {
	{ "migrated", RN_MIG_MIGRATED },
	{ "rearm", RN_MIG_REARM },
	{ "armed", RN_MIG_ARMED },
	{ NULL, 0 },
};

static const struct rn_scn_word attributes[] = {
	{ "pkey", RN_ATTR_PKEY_INDEX },
	{ "port", RN_ATTR_PORT },
	{ "av", RN_ATTR_AV },
	{ "dest", RN_ATTR_DEST_QPN },
	{ NULL, 0 },
};

static const struct rn_scn_word placements[] = {
	{ "global", RN_FLUSH_GLOBAL },
	{ "persistent", RN_FLUSH_PERSISTENT },
	{ NULL, 0 },
};

static const struct rn_scn_word selectivities[] = {
	{ "range", RN_FLUSH_RANGE },
	{ "all_of_it", RN_FLUSH_MR },
	{ NULL, 0 },
};

static const struct rn_scn_word errors[] = {
	{ "EINVAL", EINVAL },	{ "ENOMEM", ENOMEM },	      { "EALREADY", EALREADY },
	{ "EISCONN", EISCONN }, { "EADDRINUSE", EADDRINUSE }, { NULL, 0 },
};

static const struct rn_scn_word contents[] = {
	{ "zero", RN_SCN_IS_ZERO },
	{ "fill", RN_SCN_IS_FILL },
	{ "payload", RN_SCN_IS_PAYLOAD },
	{ "number", RN_SCN_IS_NUMBER },
	{ "peer", RN_SCN_IS_PEER },
	{ "device", RN_SCN_IS_DEVICE },
	{ NULL, 0 },
};

static const struct rn_scn_word arms[] = {
	{ "next", RN_CQ_ARM_NEXT },
	{ "solicited", RN_CQ_ARM_SOLICITED },
	{ NULL, 0 },
};

const struct rn_scn_word rn_scn_queues[] = {
	{ "send", 0 },
	{ "recv", 1 },
	{ NULL, 0 },
};

/* ------------------------------------------------------ words about connections */

const struct rn_scn_word rn_scn_mads[] = {
	{ "REQ", RN_CM_REQ },		{ "MRA", RN_CM_MRA },
	{ "REJ", RN_CM_REJ },		{ "REP", RN_CM_REP },
	{ "RTU", RN_CM_RTU },		{ "DREQ", RN_CM_DREQ },
	{ "DREP", RN_CM_DREP },		{ "SIDR_REQ", RN_CM_SIDR_REQ },
	{ "SIDR_REP", RN_CM_SIDR_REP }, { "LAP", RN_CM_LAP },
	{ "APR", RN_CM_APR },		{ NULL, 0 },
};

const struct rn_scn_word rn_scn_cm_events[] = {
	{ "req", RN_CM_EV_REQ },
	{ "sidr_req", RN_CM_EV_SIDR_REQ },
	{ "rep", RN_CM_EV_REP },
	{ "sidr_rep", RN_CM_EV_SIDR_REP },
	{ "established", RN_CM_EV_ESTABLISHED },
	{ "lap", RN_CM_EV_LAP },
	{ "apr", RN_CM_EV_APR },
	{ "rejected", RN_CM_EV_REJECTED },
	{ "unreachable", RN_CM_EV_UNREACHABLE },
	{ "disconnected", RN_CM_EV_DISCONNECTED },
	{ "timewait_exit", RN_CM_EV_TIMEWAIT_EXIT },
	{ NULL, 0 },
};

const struct rn_scn_word rn_scn_cm_states[] = {
	{ "idle", RN_CM_IDLE },
	{ "req_sent", RN_CM_REQ_SENT },
	{ "mra_req_rcvd", RN_CM_MRA_REQ_RCVD },
	{ "rep_rcvd", RN_CM_REP_RCVD },
	{ "mra_rep_sent", RN_CM_MRA_REP_SENT },
	{ "req_rcvd", RN_CM_REQ_RCVD },
	{ "mra_req_sent", RN_CM_MRA_REQ_SENT },
	{ "rep_sent", RN_CM_REP_SENT },
	{ "mra_rep_rcvd", RN_CM_MRA_REP_RCVD },
	{ "established", RN_CM_ESTABLISHED },
	{ "dreq_sent", RN_CM_DREQ_SENT },
	{ "dreq_rcvd", RN_CM_DREQ_RCVD },
	{ "timewait", RN_CM_TIMEWAIT },
	{ "sidr_req_sent", RN_CM_SIDR_REQ_SENT },
	{ "sidr_req_rcvd", RN_CM_SIDR_REQ_RCVD },
	{ "sidr_rep_sent", RN_CM_SIDR_REP_SENT },
	{ NULL, 0 },
};

const struct rn_scn_word rn_scn_cm_counters[] = {
	{ "cm_rx", RN_CM_STAT_RX },
	{ "cm_tx", RN_CM_STAT_TX },
	{ "cm_resent", RN_CM_STAT_RESENT },
	{ "cm_timeouts", RN_CM_STAT_TIMEOUTS },
	{ "cm_duplicates", RN_CM_STAT_DUPLICATES },
	{ "cm_stale", RN_CM_STAT_STALE },
	{ "cm_rej_sent", RN_CM_STAT_REJ_SENT },
	{ "cm_rej_received", RN_CM_STAT_REJ_RECEIVED },
	{ "cm_drop_header", RN_CM_STAT_DROP_HEADER },
	{ "cm_drop_attr", RN_CM_STAT_DROP_ATTR },
	{ "cm_drop_unknown", RN_CM_STAT_DROP_UNKNOWN },
	{ "cm_drop_state", RN_CM_STAT_DROP_STATE },
	{ "cm_drop_full", RN_CM_STAT_DROP_FULL },
	{ "cm_unproven", RN_CM_STAT_UNPROVEN },
	{ NULL, 0 },
};

static const struct rn_scn_word transports[] = {
	{ "rc", RN_CM_TRANSPORT_RC },
	{ "uc", RN_CM_TRANSPORT_UC },
	{ "rd", RN_CM_TRANSPORT_RD },
	{ "extended", RN_CM_TRANSPORT_EXTENDED },
	{ NULL, 0 },
};

static const struct rn_scn_word abouts[] = {
	{ "req", RN_CM_ABOUT_REQ },
	{ "rep", RN_CM_ABOUT_REP },
	{ "other", RN_CM_ABOUT_OTHER },
	{ "nothing", 3 },
	{ NULL, 0 },
};

static const struct rn_scn_word gids[] = {
	{ "device", RN_SCN_GID_DEVICE },
	{ "peer", RN_SCN_GID_PEER },
	{ "other", RN_SCN_GID_OTHER },
	{ "none", RN_SCN_GID_NONE },
	{ NULL, 0 },
};

/* ---------------------------------------------------------------- table of fields */
#define V(verb) (UINT64_C(1) << RN_SCN_##verb)
#define WIRE (V(INJECT) | V(PACKET))
#define MAD (V(MAD_IN) | V(MAD_OUT))
/* verbs that call the connection manager and pass it parameters of the program's QP */
#define OFFER (V(CONNECT) | V(ACCEPT) | V(ANSWER))
#define CM_CALLS                                                           \
	(OFFER | V(LISTEN) | V(UNLISTEN) | V(READY) | V(REJECT) | V(MRA) | \
	 V(ESTABLISHED) | V(DISCONNECT) | V(OFFER_PATH) | V(ANSWER_PATH) | V(ASK))
#define ATTR (V(QP) | V(MODIFY) | V(REVIVE))

/* clang-format off */
const struct rn_scn_field_info rn_scn_fields[RN_F_COUNT] = {
	[RN_F_PSN] =        { "psn",        RN_SCN_NUMBER,  NULL, WIRE | ATTR | V(CHECK) | V(QUERY) | MAD | OFFER | V(CM_QUERY) },
	[RN_F_EPSN] =       { "epsn",       RN_SCN_NUMBER,  NULL, ATTR | V(QUERY) | V(CM_QUERY) },
	[RN_F_LEN] =        { "len",        RN_SCN_NUMBER,  NULL, WIRE | V(MR) | V(POST) | V(RECV) | V(WC) | V(CHECK) },
	[RN_F_DMALEN] =     { "dmalen",     RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_MSN] =        { "msn",        RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_OR_MSN] =     { "or_msn",     RN_SCN_NUMBER,  NULL, V(PACKET) },
	[RN_F_WR] =         { "wr",         RN_SCN_NUMBER,  NULL, V(POST) | V(RECV) | V(WC) },
	[RN_F_IMM] =        { "imm",        RN_SCN_NUMBER,  NULL, WIRE | V(POST) | V(WC) },
	[RN_F_RKEY_NUMBER] = { "inv",       RN_SCN_REGION,  NULL, WIRE | V(POST) | V(WC) },
	[RN_F_PAD] =        { "pad",        RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_PKEY] =       { "pkey",       RN_SCN_NUMBER,  NULL, WIRE | MAD },
	[RN_F_TVER] =       { "tver",       RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_DEST] =       { "dest",       RN_SCN_NUMBER,  NULL, WIRE | V(MAD_IN) | V(CM_QUERY) },
	[RN_F_SRC] =        { "src",        RN_SCN_NUMBER,  NULL, WIRE | V(WC) | V(MAD_IN) },
	[RN_F_QKEY] =       { "qkey",       RN_SCN_NUMBER,  NULL, WIRE | ATTR | V(POST) | MAD | V(ANSWER) | V(CM_QUERY) },
	[RN_F_ADD] =        { "add",        RN_SCN_NUMBER,  NULL, WIRE | V(POST) },
	[RN_F_SWAP] =       { "swap",       RN_SCN_NUMBER,  NULL, WIRE | V(POST) },
	[RN_F_COMPARE] =    { "compare",    RN_SCN_NUMBER,  NULL, WIRE | V(POST) },
	[RN_F_ORIG] =       { "orig",       RN_SCN_NUMBER,  NULL, WIRE | V(CHECK) },
	[RN_F_CREDITS] =    { "credits",    RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_RNR] =        { "rnr",        RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_SYNDROME] =   { "syndrome",   RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_FLIP] =      { "flip",       RN_SCN_NUMBER,  NULL, V(INJECT) | V(MAD_IN) },
	[RN_F_CUT] =        { "cut",        RN_SCN_NUMBER,  NULL, V(INJECT) | V(MAD_IN) },
	[RN_F_TTL] =        { "ttl",        RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_TOS] =        { "tos",        RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_SPORT] =      { "sport",      RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_MTU] =        { "mtu",        RN_SCN_NUMBER,  NULL, ATTR | MAD | V(CONNECT) | V(CM_QUERY) },
	[RN_F_TIMEOUT] =    { "timeout",    RN_SCN_NUMBER,  NULL, ATTR | V(CM_QUERY) },
	[RN_F_RETRY] =      { "retry",      RN_SCN_NUMBER,  NULL, ATTR | MAD | V(CONNECT) | V(CM_QUERY) },
	[RN_F_RNR_RETRY] =  { "rnr_retry",  RN_SCN_NUMBER,  NULL, ATTR | MAD | V(CONNECT) | V(ACCEPT) | V(CM_QUERY) },
	[RN_F_RNR_TIMER] =  { "rnr_timer",  RN_SCN_NUMBER,  NULL, ATTR },
	[RN_F_RD] =         { "rd",         RN_SCN_NUMBER,  NULL, ATTR | V(CM_QUERY) },
	[RN_F_DEST_RD] =    { "dest_rd",    RN_SCN_NUMBER,  NULL, ATTR | V(CM_QUERY) },
	[RN_F_PD] =         { "pd",         RN_SCN_NUMBER,  NULL, V(QP) | V(MR) | V(MW) | V(SRQ) },
	[RN_F_SQ] =         { "sq",         RN_SCN_NUMBER,  NULL, V(QP) },
	[RN_F_RQ] =         { "rq",         RN_SCN_NUMBER,  NULL, V(QP) | V(SRQ) },
	[RN_F_BY] =         { "by",         RN_SCN_NUMBER,  NULL, V(COUNT) | V(CM_COUNT) | V(GO) },
	[RN_F_OPCODE_NUMBER] = { "opcode",  RN_SCN_NUMBER,  NULL, V(INJECT) | V(MAD_IN) },
	[RN_F_RESV7] =      { "resv7",      RN_SCN_NUMBER,  NULL, V(INJECT) },
	[RN_F_CQE] =        { "cqe",        RN_SCN_NUMBER,  NULL, V(QP) },
	[RN_F_TYPE] =       { "type",       RN_SCN_NUMBER,  NULL, V(MW) },
	[RN_F_XRCD] =       { "xrcd",       RN_SCN_NUMBER,  NULL, V(QP) | V(SRQ) },
	[RN_F_BELOW] =      { "below",      RN_SCN_NUMBER,  NULL, V(LIMIT) },
	[RN_F_M] =          { "m",          RN_SCN_NUMBER,  NULL, WIRE },
	[RN_F_ID] =         { "id",         RN_SCN_NUMBER,  NULL, V(INJECT) },
	[RN_F_VA] =         { "va",         RN_SCN_ADDRESS, NULL, WIRE | V(MR) | V(POST) },
	[RN_F_AT] =         { "at",         RN_SCN_ADDRESS, NULL, V(POST) | V(RECV) | V(CHECK) },
	[RN_F_DATA] =       { "data",       RN_SCN_ADDRESS, NULL, WIRE },
	[RN_F_RKEY] =       { "rkey",       RN_SCN_REGION,  NULL, WIRE | V(POST) },
	[RN_F_REGION] =     { "region",     RN_SCN_REGION,  NULL, V(POST) },
	[RN_F_SRQ] =        { "srq",        RN_SCN_NUMBERED, NULL, WIRE | V(QP) | V(POST) },
	[RN_F_NAK] =        { "nak",        RN_SCN_WORD,    naks, WIRE },
	[RN_F_STATE] =      { "to",         RN_SCN_BARE,    rn_scn_states, ATTR | V(STATE) | V(QUERY) },
	[RN_F_STATUS] =     { "status",     RN_SCN_BARE,    rn_scn_statuses, V(WC) },
	[RN_F_KIND] =       { "kind",       RN_SCN_BARE,    kinds, V(POST) },
	[RN_F_ACCESS] =     { "access",     RN_SCN_WORDS,   rights, ATTR | V(MR) | V(POST) },
	[RN_F_FROM] =       { "from",       RN_SCN_WORD,    senders, V(INJECT) | V(MAD_IN) },
	[RN_F_TO] =         { "to",         RN_SCN_WORD,    receivers, WIRE | V(POST) | V(MAD_OUT) | V(OFFER_PATH) },
	[RN_F_ALT] =        { "alt",        RN_SCN_WORD,    senders, ATTR },
	[RN_F_MIG] =        { "mig",        RN_SCN_WORD,    mig_states, V(MODIFY) | V(QUERY) },
	[RN_F_CUR] =        { "cur",        RN_SCN_WORD,    rn_scn_states, V(MODIFY) },
	[RN_F_WITH] =       { "with",       RN_SCN_WORDS,   attributes, V(MODIFY) },
	[RN_F_PLACEMENT] =  { "placement",  RN_SCN_WORDS,   placements, WIRE | V(POST) },
	[RN_F_SELECT] =     { "select",     RN_SCN_WORD,    selectivities, WIRE | V(POST) },
	[RN_F_ERROR] =      { "error",      RN_SCN_WORD,    errors, V(POST) | V(RECV) | V(MODIFY) | V(MR) | V(LIMIT) | CM_CALLS },
	[RN_F_IS] =         { "is",         RN_SCN_WORD,    contents, V(CHECK) },
	[RN_F_ARM] =        { "for",        RN_SCN_BARE,    arms, V(ARM) },
	[RN_F_ACK] =        { "ack",        RN_SCN_FLAG,    NULL, WIRE },
	[RN_F_SE] =         { "se",         RN_SCN_FLAG,    NULL, WIRE | V(POST) },
	[RN_F_FECN] =       { "fecn",       RN_SCN_FLAG,    NULL, WIRE },
	[RN_F_BECN] =       { "becn",       RN_SCN_FLAG,    NULL, WIRE },
	[RN_F_BAD_ICRC] =   { "bad_icrc",   RN_SCN_FLAG,    NULL, V(INJECT) | V(MAD_IN) },
	[RN_F_UNSIGNALED] = { "unsignaled", RN_SCN_FLAG,    NULL, V(POST) },
	[RN_F_FENCE] =      { "fence",      RN_SCN_FLAG,    NULL, V(POST) },
	[RN_F_INLINE] =     { "inline",     RN_SCN_FLAG,    NULL, V(POST) },
	[RN_F_OPTIONAL] =   { ">?",         RN_SCN_FLAG,    NULL, V(PACKET) | V(MAD_OUT) },
	[RN_F_FOR_GOOD] =   { "quiet",      RN_SCN_FLAG,    NULL, V(END) },
	[RN_F_DRAIN_EVENT] = { "drain_event", RN_SCN_FLAG,  NULL, V(MODIFY) },
	[RN_F_BASE] = { "base", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_CLASS] = { "class", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_VERSION] = { "version", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_METHOD] = { "method", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_ATTR_NUMBER] = { "attr", RN_SCN_NUMBER, NULL, V(MAD_IN) },
	[RN_F_TID] = { "tid", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_LOCAL] = { "local", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_REMOTE] = { "remote", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_SERVICE] = { "service", RN_SCN_NUMBER, NULL, MAD | V(CONN) },
	[RN_F_PORT] = { "port", RN_SCN_NUMBER, NULL, V(CONN) },
	[RN_F_GUID] = { "guid", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_QPN] = { "qpn", RN_SCN_NUMBER, NULL, MAD | OFFER },
	[RN_F_EECN] = { "eecn", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_REMOTE_QPN] = { "remote_qpn", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_RESP] = { "resp", RN_SCN_NUMBER, NULL, MAD | OFFER },
	[RN_F_DEPTH] = { "depth", RN_SCN_NUMBER, NULL, MAD | OFFER },
	[RN_F_REMOTE_TIMEOUT] = { "remote_timeout", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_LOCAL_TIMEOUT] = { "local_timeout", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_ACK_TIMEOUT] = { "ack_timeout", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_ACK_DELAY] = { "ack_delay", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_CM_RETRIES] = { "cm_retries", RN_SCN_NUMBER, NULL, MAD },
	[RN_F_EXT] = { "ext", RN_SCN_NUMBER, NULL, MAD | V(CONNECT) },
	[RN_F_REASON] = { "reason", RN_SCN_NUMBER, NULL, MAD | V(REJECT) },
	[RN_F_WAIT] = { "wait", RN_SCN_NUMBER, NULL, MAD | V(MRA) },
	[RN_F_ARI] = { "ari", RN_SCN_NUMBER, NULL, MAD | V(CM_EVENT) },
	[RN_F_CM_STATUS] = { "status", RN_SCN_NUMBER, NULL, MAD | V(CM_EVENT) | V(ANSWER_PATH) | V(ANSWER) },
	[RN_F_IP_VERSION] = { "ip_version", RN_SCN_NUMBER, NULL, V(MAD_IN) },
	[RN_F_GSI_QKEY] = { "gsi_qkey", RN_SCN_NUMBER, NULL, V(MAD_IN) },
	[RN_F_LIFETIME] = { "lifetime", RN_SCN_NUMBER, NULL, V(CONN) },
	[RN_F_BACKLOG] = { "backlog", RN_SCN_NUMBER, NULL, V(LISTEN) },
	[RN_F_TRANSPORT] = { "transport", RN_SCN_WORD, transports, MAD | V(CONNECT) },
	[RN_F_ABOUT] = { "about", RN_SCN_WORD, abouts, MAD },
	[RN_F_GID] = { "gid", RN_SCN_WORD, gids, MAD },
	[RN_F_LOCAL_GID] = { "local_gid", RN_SCN_WORD, gids, MAD },
	[RN_F_PRIVATE] = { "private", RN_SCN_LETTERS, NULL, MAD | OFFER | V(READY) | V(REJECT) | V(DISCONNECT) | V(ASK) | V(CM_EVENT) },
	[RN_F_AGAIN] = { "again", RN_SCN_FLAG, NULL, MAD },
	[RN_F_DELAYED] = { "delayed", RN_SCN_FLAG, NULL, V(MRA) },
	[RN_F_TIMED_OUT] = { "timed_out", RN_SCN_FLAG, NULL, V(CM_EVENT) },
	[RN_F_UDP] = { "udp", RN_SCN_FLAG, NULL, V(CONN) },
};
/* clang-format on */

const char *rn_scn_word_of(const struct rn_scn_word *table, uint64_t value)
{
	for (; table->word; table++)
		if (table->value == value)
			return table->word;
	return "?";
}
