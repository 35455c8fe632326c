/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/protocol.h"

#include "base/err.h"

const char *kgb_protocol_name(enum kgb_protocol protocol)
{
	static const char *const names[KGB_N_PROTOCOLS] = {
		[KGB_PROTOCOL_ANTHROPIC] = "anthropic",
		[KGB_PROTOCOL_CHAT] = "chat",
		[KGB_PROTOCOL_RESPONSES] = "responses",
	};
	KGB_ASSERT(protocol < KGB_N_PROTOCOLS);
	return names[protocol];
}

enum kgb_provider kgb_protocol_provider(enum kgb_protocol protocol)
{
	return protocol == KGB_PROTOCOL_ANTHROPIC ? KGB_PROVIDER_ANTHROPIC : KGB_PROVIDER_OPENAI;
}

const char *kgb_provider_key_variable(enum kgb_provider provider)
{
	return provider == KGB_PROVIDER_ANTHROPIC ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
}
