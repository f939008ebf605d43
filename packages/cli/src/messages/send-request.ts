import type { MessagesSendBody } from '@svc/client'
import { type Command, Option } from 'commander'
import { readStdinText } from '../input/read-input.ts'
import { durationMs, momentText } from '../input/time.ts'
import { usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** The channels of `svc send`. */
const SEND_CHANNELS = ['sms', 'email', 'whatsapp', 'voice'] as const

/** The options for the content and the time of a message. */
export interface MessageOptions {
  text?: string
  subject?: string
  html?: string
  from?: string
  metadata?: string[]
  at?: string
  expiresIn?: string
}

/** The options of `svc send` that describe the request. */
export interface SendOptions extends MessageOptions {
  to: string[]
  cc?: string[]
  bcc?: string[]
  channel?: (typeof SEND_CHANNELS)[number]
}

/** Adds the options for the recipient, content and time of a message. */
export function withRequest(command: Command): Command {
  return withMessage(
    command
      .requiredOption(
        '--to <recipient>',
        'a phone number (+14155552671) or an e-mail address; repeat it for one e-mail to several',
        added,
      )
      .option('--cc <address>', 'the address of a copy of an e-mail; repeat it for several', added)
      .option(
        '--bcc <address>',
        'the address of a copy that other recipients do not see; repeat it for several',
        added,
      ),
    new Option(
      '--channel <channel>',
      'the channel (default: sms for a phone number, email for an address); voice is a call',
    ).choices(SEND_CHANNELS),
  )
}

/** Adds the options for the channel, content and time of a message. */
export function withMessage(command: Command, channel: Option): Command {
  return command
    .option('--text <text>', 'the text of the message or call; - reads it from stdin')
    .addOption(channel)
    .option('--subject <text>', 'the subject of an e-mail')
    .option('--html <html>', 'the HTML body of an e-mail')
    .option('--from <sender>', 'the sender; for e-mail the display name')
    .option('--metadata <key=value...>', 'your own keys and values, stored with the message')
    .option('--at <time>', 'send it at a time: ISO 8601, or a duration from now such as 10m')
    .option('--expires-in <duration>', 'do not send it after this time, such as 1h')
}

/** Adds a value of an option that may be repeated. */
function added(value: string, before: string[] = []): string[] {
  return [...before, value]
}

/** Builds the request from the options. It reads the text from stdin for `--text -`. */
export async function readSendRequest(
  options: SendOptions,
  io: ProcessIo,
): Promise<MessagesSendBody> {
  const text =
    options.text === '-' ? { text: await readStdinText(io, 'give the text with --text') } : {}
  return sendRequestOf({ ...options, ...text }, new Date())
}

/** Builds the request from the options; the server validates it. */
export function sendRequestOf(options: SendOptions, now: Date): MessagesSendBody {
  const { cc, bcc } = options
  const [to = '', ...others] = options.to
  const channel = options.channel ?? (to.includes('@') ? 'email' : 'sms')
  const more = sendingOf(options, now)
  if (channel === 'email') {
    const content = { ...emailContentOf(options), ...(cc && { cc }), ...(bcc && { bcc }) }
    return { channel, to: others.length > 0 ? [to, ...others] : to, content, ...more }
  }
  if (others.length > 0 || cc || bcc) {
    throw usage('several recipients, --cc and --bcc are for e-mail; svc bulk sends to many')
  }
  const content = textContentOf(channel, options)
  return { channel, to, content, ...more } as MessagesSendBody
}

/** The sender, metadata and times of a request. */
export function sendingOf({ from, metadata, at, expiresIn }: MessageOptions, now: Date) {
  return {
    ...(from !== undefined && { from }),
    ...(metadata && { metadata: pairsOf('--metadata', metadata) }),
    ...(at !== undefined && { scheduled_at: momentText(at, { now }) }),
    ...(expiresIn !== undefined && { expires_in: secondsOf(expiresIn) }),
  }
}

/** The content of an e-mail. */
export function emailContentOf({ subject, html, text }: MessageOptions) {
  return {
    subject: subject ?? '',
    ...(html !== undefined && { html }),
    ...(text !== undefined && { text }),
  }
}

/** The content of a message on any other channel. */
export function textContentOf(
  channel: string,
  { text = '', subject, html }: MessageOptions,
): { text: string } {
  if (subject !== undefined || html !== undefined) {
    throw usage(`--subject and --html are for e-mail, not for ${channel}`)
  }
  return { text }
}

function secondsOf(text: string): number {
  const duration_ms = durationMs(text)
  if (duration_ms === null) throw usage('--expires-in must be a duration such as 30s or 1h')
  return duration_ms / 1_000
}

/** Reads the keys and values of a `key=value` option. */
export function pairsOf(option: string, pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair): [string, string] => {
    const at = pair.indexOf('=')
    if (at < 1) throw usage(`${option} must be key=value, got "${pair}"`)
    return [pair.slice(0, at), pair.slice(at + 1)]
  })
  return Object.fromEntries(entries)
}
