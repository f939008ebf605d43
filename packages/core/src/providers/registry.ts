import * as z from 'zod'
import type { Provider, ProviderContext, Traits } from '../contract/outside/provider.ts'
import { httpType } from './http/type.ts'
import type { ProviderType } from './provider-type.ts'
import { sandboxType } from './sandbox.ts'
import { smppType } from './smpp/type.ts'
import { smtpType } from './smtp/type.ts'
import { twilioType } from './twilio/type.ts'
import { whatsappCloudType } from './whatsapp-cloud/type.ts'

/** Every kind of provider there is. A new one is a folder and a line here. */
const TYPES = {
  http: httpType,
  sandbox: sandboxType,
  smpp: smppType,
  smtp: smtpType,
  twilio: twilioType,
  whatsapp_cloud: whatsappCloudType,
} as const

/** A provider as the operator sets it. Plain data: it crosses a thread border. */
export const providerSettings = z.discriminatedUnion('type', [
  TYPES.http.settings,
  TYPES.sandbox.settings,
  TYPES.smpp.settings,
  TYPES.smtp.settings,
  TYPES.twilio.settings,
  TYPES.whatsapp_cloud.settings,
])

/** Who carries messages, and how he is reached: plain data, told apart by `type`. */
export type ProviderSettings = z.output<typeof providerSettings>

/** Serves test keys, and channels that nobody else serves. */
export const SANDBOX: ProviderSettings = { type: 'sandbox', name: 'sandbox' }

/** What follows from the settings alone. */
export function traitsOf(settings: ProviderSettings): Traits {
  return typeOf(settings).traits(settings)
}

/** Opens the provider, loading what it needs. */
export function openProvider(
  settings: ProviderSettings,
  context: ProviderContext,
): Promise<Provider> {
  return typeOf(settings).open(settings, context)
}

function typeOf({ type }: ProviderSettings): ProviderType<ProviderSettings> {
  return TYPES[type] as ProviderType<ProviderSettings>
}
