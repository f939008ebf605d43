import type { WireSendRequest } from '@svc/core/contract'
import { usage } from './failure.ts'

/** The channels that `svc send` knows the contents of. */
export const SEND_CHANNELS = ['sms', 'email', 'whatsapp'] as const

/** What `svc send` was asked for. */
export interface SendOptions {
  to: string
  text?: string
  channel?: (typeof SEND_CHANNELS)[number]
  subject?: string
  html?: string
  from?: string
  metadata?: string[]
  at?: string
}

/** The request that the options ask for; what is wrong with it is for the server to say. */
export function sendRequestOf(options: SendOptions): WireSendRequest {
  const { to, text = '', subject, html, from, at } = options
  const channel = options.channel ?? (to.includes('@') ? 'email' : 'sms')
  if (channel !== 'email' && (subject !== undefined || html !== undefined)) {
    throw usage(`--subject and --html are for e-mail, not for ${channel}`)
  }
  const more = {
    ...(from !== undefined && { from }),
    ...(options.metadata && { metadata: metadataOf(options.metadata) }),
    ...(at !== undefined && { scheduled_at: at }),
  }
  if (channel !== 'email') return { channel, to, content: { text }, ...more }
  const content = {
    subject: subject ?? '',
    ...(html !== undefined && { html }),
    ...(options.text !== undefined && { text }),
  }
  return { channel, to, content, ...more }
}

function metadataOf(pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair): [string, string] => {
    const at = pair.indexOf('=')
    if (at < 1) throw usage(`--metadata must be key=value, got "${pair}"`)
    return [pair.slice(0, at), pair.slice(at + 1)]
  })
  return Object.fromEntries(entries)
}
