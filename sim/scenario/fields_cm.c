/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fields_cm.c - the words of the scenario language that are about connections. */
#include "fields.h"

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
	{ NULL, 0 },
};

const struct rn_scn_word rn_scn_transports[] = {
	{ "rc", RN_CM_TRANSPORT_RC },
	{ "uc", RN_CM_TRANSPORT_UC },
	{ "rd", RN_CM_TRANSPORT_RD },
	{ "extended", RN_CM_TRANSPORT_EXTENDED },
	{ NULL, 0 },
};

const struct rn_scn_word rn_scn_abouts[] = {
	{ "req", RN_CM_ABOUT_REQ },
	{ "rep", RN_CM_ABOUT_REP },
	{ "other", RN_CM_ABOUT_OTHER },
	{ "nothing", 3 },
	{ NULL, 0 },
};

const struct rn_scn_word rn_scn_gids[] = {
	{ "device", RN_SCN_GID_DEVICE },
	{ "peer", RN_SCN_GID_PEER },
	{ "other", RN_SCN_GID_OTHER },
	{ "none", RN_SCN_GID_NONE },
	{ NULL, 0 },
};
