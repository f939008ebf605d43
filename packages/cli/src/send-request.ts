import type { WireSendRequest } from '@svc/core/contract'
import { type Command, Option } from 'commander'
import { durationMs } from './duration.ts'
import { usage } from './failure.ts'
import { readStdinText } from './input.ts'
import { momentText } from './moment.ts'
import type { Surroundings } from './surroundings.ts'

/** The channels that `svc send` knows the contents of. */
export const SEND_CHANNELS = ['sms', 'email', 'whatsapp', 'voice'] as const

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
  expiresIn?: string
}

/** Adds the options that say what is sent, to whom and when. */
export function withRequest(command: Command): Command {
  return command
    .requiredOption('--to <recipient>', 'a phone number (+14155552671) or an e-mail address')
    .option('--text <text>', 'what it says, or a call reads out; - takes it from stdin')
    .addOption(
      new Option(
        '--channel <channel>',
        'how it goes (default: what the recipient looks like); voice calls',
      ).choices(SEND_CHANNELS),
    )
    .option('--subject <text>', 'the subject of an e-mail')
    .option('--html <html>', 'the HTML body of an e-mail')
    .option('--from <sender>', 'the sender; for e-mail the display name')
    .option('--metadata <key=value...>', 'your own keys and values, kept on the message')
    .option('--at <time>', 'when to send it: ISO 8601, or a span from now such as 10m')
    .option('--expires-in <span>', 'not to be sent any more after a span such as 1h')
}

/** The request that the options ask for, its text read from stdin where they say so. */
export async function readSendRequest(
  options: SendOptions,
  surroundings: Surroundings,
): Promise<WireSendRequest> {
  const text =
    options.text === '-'
      ? { text: await readStdinText(surroundings, 'give the text with --text') }
      : {}
  return sendRequestOf({ ...options, ...text }, new Date())
}

/** The request that the options ask for; what is wrong with it is for the server to say. */
export function sendRequestOf(options: SendOptions, now: Date): WireSendRequest {
  const { to, text = '', subject, html, from, at, expiresIn } = options
  const channel = options.channel ?? (to.includes('@') ? 'email' : 'sms')
  if (channel !== 'email' && (subject !== undefined || html !== undefined)) {
    throw usage(`--subject and --html are for e-mail, not for ${channel}`)
  }
  const more = {
    ...(from !== undefined && { from }),
    ...(options.metadata && { metadata: metadataOf(options.metadata) }),
    ...(at !== undefined && { scheduled_at: momentText(at, { now }) }),
    ...(expiresIn !== undefined && { expires_in: secondsOf(expiresIn) }),
  }
  if (channel !== 'email') return { channel, to, content: { text }, ...more }
  const content = {
    subject: subject ?? '',
    ...(html !== undefined && { html }),
    ...(options.text !== undefined && { text }),
  }
  return { channel, to, content, ...more }
}

function secondsOf(span: string): number {
  const span_ms = durationMs(span)
  if (span_ms === null) throw usage('--expires-in must be a span such as 30s or 1h')
  return span_ms / 1_000
}

function metadataOf(pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair): [string, string] => {
    const at = pair.indexOf('=')
    if (at < 1) throw usage(`--metadata must be key=value, got "${pair}"`)
    return [pair.slice(0, at), pair.slice(at + 1)]
  })
  return Object.fromEntries(entries)
}
