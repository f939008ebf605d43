import { createHash } from 'node:crypto'
import type { BulksSendBody } from '@svc/client'
import { type Command, Option } from 'commander'
import { readInputFile, readStdinText } from '../input/read-input.ts'
import {
  emailContentOf,
  type MessageOptions,
  pairsOf,
  sendingOf,
  textContentOf,
  withMessage,
} from '../messages/send-request.ts'
import { usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import type { BatchLimits } from './batches.ts'

/** The channels of a bulk; calls cannot be sent in bulk. */
const BULK_CHANNELS = ['sms', 'email', 'whatsapp'] as const

/** The maximum size of a request body; the server accepts 4 MB. */
const BODY_MAX_BYTES = 4 * 1024 * 1024 - 64 * 1024
const MESSAGE_MAX_BYTES = 3 * 1024 * 1024

/** The maximum total size of the rendered texts of one request; the server accepts 64 MB. */
const RENDERED_MAX = 60 * 1024 * 1024

/** The maximum length of one character after it is escaped for HTML. */
const ESCAPED = 6

/** The options of `svc bulk send` that describe the message. */
export interface BulkMessageOptions extends MessageOptions {
  channel: (typeof BULK_CHANNELS)[number]
  content?: string
  defaults?: string[]
  toColumn?: string
}

/** A request without its recipients. */
export type MessageOfBulk = Omit<
  Extract<BulksSendBody, { content: unknown }>,
  'recipients' | 'validation'
>

/** The message that all recipients get. */
export interface BulkMessage {
  request: MessageOfBulk
  /** The digest of the options; it does not depend on the current time. */
  sha256: string
}

/** Adds the options for the message and the column of the addresses. */
export function withBulkMessage(command: Command): Command {
  return withMessage(
    command,
    new Option('--channel <channel>', 'the channel').choices(BULK_CHANNELS).makeOptionMandatory(),
  )
    .option('--content <file.json>', 'the content as in the API: a template, a medium, …')
    .option('--defaults <key=value...>', 'values for placeholders that are empty in a row')
    .option(
      '--to-column <name>',
      'the column with the addresses (default: to, else phone or email)',
    )
}

/** Builds the message from the options; the server validates it. */
export async function readBulkMessage(
  options: BulkMessageOptions,
  io: ProcessIo,
  { isStdinTaken }: { isStdinTaken: boolean },
): Promise<BulkMessage> {
  const { channel, defaults, toColumn } = options
  const content = await contentOf(options, io, isStdinTaken)
  const more = {
    ...(defaults && { defaults: pairsOf('--defaults', defaults) }),
    ...sendingOf(options, new Date()),
  }
  // The digest includes the text of `--at`, because a duration such as 10m gives a different time at each call.
  const settings = { channel, content, ...more, scheduled_at: options.at, to_column: toColumn }
  // The server checks that content and channel match.
  const request = { channel, content, ...more } as MessageOfBulk
  if (bytesOf(request) > MESSAGE_MAX_BYTES) {
    throw usage('the content of a bulk must be at most 3 MB')
  }
  return { request, sha256: createHash('sha256').update(JSON.stringify(settings)).digest('hex') }
}

/** The limits of one request with this message. */
export function limitsOf({ request }: BulkMessage, rows: number): BatchLimits {
  const text = JSON.stringify(request.content)
  const placeholders = text.split('{{').length - 1
  return {
    rows,
    bytes: BODY_MAX_BYTES - bytesOf(request),
    rendered: RENDERED_MAX,
    renderedOf: (bytes) => text.length + placeholders * bytes * ESCAPED,
  }
}

async function contentOf(
  { channel, content, ...options }: BulkMessageOptions,
  io: ProcessIo,
  isStdinTaken: boolean,
): Promise<unknown> {
  const { text, subject, html } = options
  if (content !== undefined) {
    if (text ?? subject ?? html) {
      throw usage('give either --content or --text, --subject and --html')
    }
    return jsonOf(content, await readInputFile(content, io))
  }
  if (text === '-' && isStdinTaken) throw usage('stdin is already the file of the recipients')
  const messageOptions =
    text === '-'
      ? { ...options, text: await readStdinText(io, 'give the text with --text') }
      : options
  return channel === 'email'
    ? emailContentOf(messageOptions)
    : textContentOf(channel, messageOptions)
}

function jsonOf(file: string, bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, ''))
  } catch {
    throw usage(`${file} is not JSON`)
  }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
