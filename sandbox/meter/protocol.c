/* SPDX-License-Identifier: MIT */
#include "sandbox/meter/protocol.h"

enum kgb_provider kgb_protocol_provider(enum kgb_protocol protocol)
{
	return protocol == KGB_PROTOCOL_ANTHROPIC ? KGB_PROVIDER_ANTHROPIC : KGB_PROVIDER_OPENAI;
}

const char *kgb_provider_key_variable(enum kgb_provider provider)
{
	return provider == KGB_PROVIDER_ANTHROPIC ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
}
