/* SPDX-License-Identifier: MIT */
/* The script of the offline model: "sessions" and "script" parts of one file, cut at the first NUL.
 * A script that loads can be played to its end. */
#include <stdint.h>

#include "sandbox/offline/offline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *sessions = (const char *)data;
	const char *nul = size ? memchr(data, 0, size) : NULL;
	if (!nul)
		return 0;
	size_t sessions_len = (size_t)(nul - sessions);
	const char *script = nul + 1;
	size_t script_len = size - sessions_len - 1;
	struct kgb_offline_session *session = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_offline_parse(&session, &(struct kgb_offline_source){"s", sessions, sessions_len},
			      &(struct kgb_offline_source){"o", script, script_len},
			      KGB_OFFLINE_VERIFY, &err) < 0) {
		KGB_ASSERT(*err.msg);
		return 0;
	}
	static const char *const requests[] = {
		"{\"model\":\"m\",\"stream\":true,\"tools\":[{\"name\":\"Bash\"}],\"messages\":[{\"content\":\"x\"}]}",
		"{\"model\":\"m\",\"tools\":[{\"name\":\"Bash\"}],\"messages\":[{\"content\":[{\"type\":\"tool_use\",\"id\":"
		"\"toolu_offline_01\"}]},{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_offline_01\","
		"\"content\":\"FAIL x\\ncase: y\"}]}]}",
		"{\"model\":\"m\",\"tools\":[{\"name\":\"Read\"}],\"messages\":[{}]}",
	};
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
		kgb_offline_answer(session, KGB_PROTOCOL_ANTHROPIC, requests[i],
				   strlen(requests[i]), &reply);
		KGB_ASSERT(reply.status == 200);
		kgb_offline_reply_release(&reply);
	}
	kgb_offline_free(session);
	return 0;
}
