import type { ProviderType } from '../common-settings.ts'
import { findsUnanswered, type HttpSettings, settings } from './settings.ts'

/** Any gateway that accepts messages over HTTP: docs/guides/generic-http-provider.md. */
export const httpType = {
  settings,
  traits: ({ channels, senders, idempotent, handles_stop, connections, ...settings }) => ({
    channels,
    senders,
    idempotent,
    lookup: findsUnanswered(settings),
    callback_bytes: settings.callback?.max_bytes ?? null,
    listens: false,
    connected: false,
    messages_per_second: settings.messages_per_second ?? null,
    handles_stop,
    connections,
  }),
  open: async (settings, context) =>
    (await import('./provider.ts')).httpProvider(settings, context),
} satisfies ProviderType<HttpSettings>
