import type { WireSendRequest } from '@svc/core/contract'
import { type Command, Option } from 'commander'
import { readStdinText } from '../input/read-input.ts'
import { durationMs, momentText } from '../input/time.ts'
import { usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** The channels that `svc send` knows the contents of. */
export const SEND_CHANNELS = ['sms', 'email', 'whatsapp', 'voice'] as const

/** What a message is to say, and when. */
export interface MessageOptions {
  text?: string
  subject?: string
  html?: string
  from?: string
  metadata?: string[]
  at?: string
  expiresIn?: string
}

/** What `svc send` was asked for. */
export interface SendOptions extends MessageOptions {
  to: string
  channel?: (typeof SEND_CHANNELS)[number]
}

/** Adds the options that say what is sent, to whom and when. */
export function withRequest(command: Command): Command {
  return withMessage(
    command.requiredOption(
      '--to <recipient>',
      'a phone number (+14155552671) or an e-mail address',
    ),
    new Option(
      '--channel <channel>',
      'how it goes (default: what the recipient looks like); voice calls',
    ).choices(SEND_CHANNELS),
  )
}

/** Adds the options that say what is sent and when, and by which channel. */
export function withMessage(command: Command, channel: Option): Command {
  return command
    .option('--text <text>', 'what it says, or a call reads out; - takes it from stdin')
    .addOption(channel)
    .option('--subject <text>', 'the subject of an e-mail')
    .option('--html <html>', 'the HTML body of an e-mail')
    .option('--from <sender>', 'the sender; for e-mail the display name')
    .option('--metadata <key=value...>', 'your own keys and values, kept on the message')
    .option('--at <time>', 'when to send it: ISO 8601, or a duration from now such as 10m')
    .option('--expires-in <duration>', 'not to be sent any more after a duration such as 1h')
}

/** The request that the options ask for, its text read from stdin where they say so. */
export async function readSendRequest(
  options: SendOptions,
  io: ProcessIo,
): Promise<WireSendRequest> {
  const text =
    options.text === '-' ? { text: await readStdinText(io, 'give the text with --text') } : {}
  return sendRequestOf({ ...options, ...text }, new Date())
}

/** The request that the options ask for; what is wrong with it is for the server to say. */
export function sendRequestOf(options: SendOptions, now: Date): WireSendRequest {
  const { to } = options
  const channel = options.channel ?? (to.includes('@') ? 'email' : 'sms')
  const more = sendingOf(options, now)
  if (channel === 'email') return { channel, to, content: emailContentOf(options), ...more }
  return { channel, to, content: textContentOf(channel, options), ...more }
}

/** Who sends, what is kept with it, and when it goes. */
export function sendingOf({ from, metadata, at, expiresIn }: MessageOptions, now: Date) {
  return {
    ...(from !== undefined && { from }),
    ...(metadata && { metadata: pairsOf('--metadata', metadata) }),
    ...(at !== undefined && { scheduled_at: momentText(at, { now }) }),
    ...(expiresIn !== undefined && { expires_in: secondsOf(expiresIn) }),
  }
}

/** What an e-mail says. */
export function emailContentOf({ subject, html, text }: MessageOptions) {
  return {
    subject: subject ?? '',
    ...(html !== undefined && { html }),
    ...(text !== undefined && { text }),
  }
}

/** What a message of any other channel says. */
export function textContentOf(
  channel: string,
  { text = '', subject, html }: MessageOptions,
): { text: string } {
  if (subject !== undefined || html !== undefined) {
    throw usage(`--subject and --html are for e-mail, not for ${channel}`)
  }
  return { text }
}

function secondsOf(span: string): number {
  const duration_ms = durationMs(span)
  if (duration_ms === null) throw usage('--expires-in must be a duration such as 30s or 1h')
  return duration_ms / 1_000
}

/** The keys and values of an option that is given as `key=value`. */
export function pairsOf(option: string, pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair): [string, string] => {
    const at = pair.indexOf('=')
    if (at < 1) throw usage(`${option} must be key=value, got "${pair}"`)
    return [pair.slice(0, at), pair.slice(at + 1)]
  })
  return Object.fromEntries(entries)
}
