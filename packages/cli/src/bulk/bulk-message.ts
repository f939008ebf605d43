import { createHash } from 'node:crypto'
import type { WireBulkRequest } from '@svc/core/contract'
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

/** Nobody is called in bulk. */
const BULK_CHANNELS = ['sms', 'email', 'whatsapp'] as const

/** What one request leaves for the recipients, of the 4 MB that the server takes. */
const BODY_MAX_BYTES = 4 * 1024 * 1024 - 64 * 1024
const MESSAGE_MAX_BYTES = 3 * 1024 * 1024

/** Texts of one request, filled in: below the 64 MB that the server takes. */
const RENDERED_MAX = 60 * 1024 * 1024

/** A character of a value takes up to six in HTML. */
const ESCAPED = 6

/** What `svc bulk send` is to send. */
export interface BulkMessageOptions extends MessageOptions {
  channel: (typeof BULK_CHANNELS)[number]
  content?: string
  defaults?: string[]
  toColumn?: string
}

/** A request without its recipients. */
export type MessageOfBulk = Omit<WireBulkRequest, 'recipients' | 'validation'>

/** What is sent to everybody. */
export interface BulkMessage {
  request: MessageOfBulk
  /** The same for the same options, whenever they are given. */
  sha256: string
}

/** Adds the options that say what is sent, and which column names the recipients. */
export function withBulkMessage(command: Command): Command {
  return withMessage(
    command,
    new Option('--channel <channel>', 'how it goes').choices(BULK_CHANNELS).makeOptionMandatory(),
  )
    .option('--content <file.json>', 'what it says, as the API takes it: a template, a medium …')
    .option('--defaults <key=value...>', 'for placeholders that a row leaves empty')
    .option(
      '--to-column <name>',
      'the column with the addresses (default: to, else phone or email)',
    )
}

/** What the options ask for; what is wrong with it is for the server to say. */
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
  // `--at 10m` means another moment each time.
  const asked = { channel, content, ...more, scheduled_at: options.at, to_column: toColumn }
  // Content and channel fit together, or the server says so.
  const request = { channel, content, ...more } as MessageOfBulk
  if (bytesOf(request) > MESSAGE_MAX_BYTES) {
    throw usage('the content is too large for a bulk: it may have 3 MB')
  }
  return { request, sha256: createHash('sha256').update(JSON.stringify(asked)).digest('hex') }
}

/** How much goes in one request of this message. */
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
  if (text === '-' && isStdinTaken) throw usage('stdin is the file of the recipients already')
  const given =
    text === '-'
      ? { ...options, text: await readStdinText(io, 'give the text with --text') }
      : options
  return channel === 'email' ? emailContentOf(given) : textContentOf(channel, given)
}

function jsonOf(file: string, bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw usage(`${file} is not JSON`)
  }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
