import { randomUUID } from 'node:crypto'
import type { EventKind } from '@svc/core/contract'
import type { Attempt, Mutation } from '@svc/testkit'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { readBody, readInputFile } from '../input/read-input.ts'
import { Failure, unreachable, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import type { Output } from '../show/output.ts'
import { printable } from '../show/text.ts'
import { receiverUrl, type SecretOption, secretOf, withSecret } from '../webhooks/webhook-secret.ts'

interface TriggerOptions extends SecretOption {
  to: string
  override?: string[]
  count: string
  mutate?: string
}

/** A posted event and its result. */
interface Triggered {
  event: string
  event_id: string
  attempt: Attempt
}

const COUNT_MAX = 1000

/** The maximum number of characters of an answer that are shown. */
const ANSWER_MAX = 500

/** Adds `svc webhooks trigger`. */
export function addTrigger(webhooks: Command, context: Context): void {
  const trigger = withSecret(
    webhooks
      .command('trigger')
      .summary('post a signed event to a receiver, without a server')
      .description(
        `Posts an event to a receiver, signed like a delivery of the service, and prints the answer; the receiver must acknowledge
it. With --mutate the event is made invalid, and the receiver must refuse it. Exits with 1 otherwise. It contacts no
server.`,
      )
      .argument('<event>', 'the kind of event')
      .requiredOption('--to <url>', 'the receiver')
      .option(
        '--override <field=value>',
        'set a field, such as data.recipient=+15550100; may be repeated',
        append,
      )
      .option('--count <n>', `the number of events, 1 to ${COUNT_MAX}, one after another`, '1')
      .option('--mutate <how>', 'make it invalid: wrong_secret, flipped_byte, stale_timestamp, …'),
  ).action((event: string, options: TriggerOptions) => triggerEvents(context, event, options))
  withExamples(
    trigger,
    'svc webhooks trigger message.delivered --to http://127.0.0.1:8000/hooks/svc --secret whsec_…',
    'svc webhooks trigger message.failed --to http://127.0.0.1:8000/hooks/svc --override data.error_code=busy --count 10',
    'svc webhooks trigger message.sent --to http://127.0.0.1:8000/hooks/svc --mutate flipped_byte',
  )
}

function append(text: string, before: string[] = []): string[] {
  return [...before, text]
}

async function triggerEvents(
  { io, output }: Context,
  event: string,
  { to, override = [], count, mutate, ...options }: TriggerOptions,
): Promise<void> {
  const url = receiverUrl(to, '--to')
  const secret = await secretOf(options, io)
  const times = countOf(count)
  const data = overridesOf(override)
  const { createSender, fixture } = await import('@svc/testkit')
  const kind = await kindOf(event)
  const mutation = mutate === undefined ? undefined : await mutationOf(mutate)
  const sender = createSender({ secret, retry: [] })
  // Each run has its own seed, so that a receiver does not treat the event as a repetition.
  const first_seed = Math.floor(Math.random() * 2 ** 40)
  let unexpected = 0
  for (let i = 0; i < times; i++) {
    const posted = fixture(kind, data, { seed: first_seed + i })
    const attempt = mutation
      ? await sender.forge(url, posted, mutation)
      : (await sender.deliver(url, posted)).attempts[0]
    if (!attempt) throw new Error('a delivery without an attempt')
    show(output, { event, event_id: posted.event_id, attempt })
    if (attempt.error === 'connect' || attempt.error === 'dns') {
      throw unreachable(`${to} cannot be reached: is the receiver running?`)
    }
    if (isAcknowledged(attempt) === (mutation === undefined)) continue
    unexpected += 1
    if (attempt.body !== '') output.note(`Answer: ${printable(attempt.body.slice(0, ANSWER_MAX))}`)
  }
  if (unexpected === 0) return
  if (mutation)
    throw new Failure(
      'accepted',
      `${unexpected} of ${times} were accepted, although invalid (${mutation})`,
    )
  throw new Failure('refused', `${unexpected} of ${times} were not acknowledged`)
}

function show(output: Output, { event, event_id, attempt }: Triggered): void {
  const { status, error, duration_ms, body } = attempt
  if (output.isJson()) {
    output.document({ event, event_id, status, error, duration_ms, body })
    return
  }
  const style = isAcknowledged(attempt) ? 'green' : 'red'
  output.row([event, event_id, { text: String(status ?? error), style }, `${duration_ms} ms`])
}

function isAcknowledged({ status }: Attempt): boolean {
  return status !== null && status >= 200 && status < 300
}

async function kindOf(event: string): Promise<EventKind> {
  const { EVENT_KINDS } = await import('@svc/core/contract')
  const known = EVENT_KINDS.find((kind) => kind === event)
  if (known) return known
  throw usage(`there is no event ${event}: choose from ${EVENT_KINDS.join(', ')}`)
}

async function mutationOf(name: string): Promise<Mutation> {
  const { MUTATIONS } = await import('@svc/testkit')
  if (Object.hasOwn(MUTATIONS, name)) return name as Mutation
  throw usage(`there is no mutation ${name}: choose from ${Object.keys(MUTATIONS).join(', ')}`)
}

function countOf(text: string): number {
  const count = Number(text)
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= COUNT_MAX) return count
  throw usage(`--count must be a number from 1 to ${COUNT_MAX}, got "${text}"`)
}

interface SignCommandOptions extends SecretOption {
  body?: string
  event?: string
  id?: string
  attempt: string
}

/** Adds `svc webhooks sign`. */
export function addSign(webhooks: Command, context: Context): void {
  const sign = withSecret(
    webhooks
      .command('sign')
      .summary('print the headers of a delivery')
      .description(
        `Signs a body as the service does, with the current time, and prints one line for each header. The body is read byte for
byte, from --body or from stdin.`,
      )
      .option('--body <body>', 'the body; @file reads a file')
      .option('--event <event>', 'the kind of event (default: the event in the body)')
      .option('--id <id>', 'the webhook-id (default: a new one)')
      .option('--attempt <n>', 'the number of the attempt', '1'),
  ).action((options: SignCommandOptions) => signBody(context, options))
  withExamples(
    sign,
    'svc webhooks sign --secret whsec_… --body @body.json > headers.txt',
    'svc webhooks sign --body @body.json | curl -H @- --data-binary @body.json http://127.0.0.1:8000/hooks/svc',
  )
}

async function signBody(
  { io, output }: Context,
  { body: option, event, id = randomUUID(), attempt, ...options }: SignCommandOptions,
): Promise<void> {
  const secret = await secretOf(options, io)
  const number = Number(attempt)
  if (!/^\d{1,6}$/.test(attempt) || number < 1) {
    throw usage(`--attempt must be a number, 1 or higher, got "${attempt}"`)
  }
  const body = await readBody(option, io)
  const kind = event ?? eventIn(body)
  if (kind === null) throw usage('the body has no event: give it with --event')
  const { sign } = await import('@svc/core/webhooks')
  const ids = { event_id: id, delivery_id: randomUUID() }
  const headers = sign({ secret, body, event: kind, attempt: number, at: new Date(), ...ids })
  if (output.isJson()) return output.document(headers)
  for (const [name, value] of Object.entries(headers)) output.line(`${name}: ${value}`)
}

function eventIn(body: Buffer): string | null {
  try {
    const { event } = JSON.parse(body.toString('utf8'))
    return typeof event === 'string' ? event : null
  } catch {
    return null
  }
}

type Fields = Record<string, unknown>

/**
 * Merges `data.path.to=value` options into an object with the fields of `data`. A value that is not valid JSON is a
 * text.
 * @throws Failure for an option in any other form.
 */
export function overridesOf(options: readonly string[]): Fields {
  let fields: Fields = {}
  for (const option of options) {
    const [, path, text = ''] = /^data\.([^=]+)=(.*)$/s.exec(option) ?? []
    const keys = path?.split('.') ?? []
    if (keys.length === 0 || keys.includes('')) {
      throw usage(`--override must be data.field=value, got "${option}"`)
    }
    // `fromEntries` can create a field with the name __proto__; an assignment cannot.
    const value = keys.reduceRight<unknown>(
      (inner, key) => Object.fromEntries([[key, inner]]),
      parsed(text),
    )
    fields = merge(fields, value as Fields)
  }
  return fields
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function merge(base: Fields, over: Fields): Fields {
  const merged = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(over)) {
    const before = merged.get(key)
    merged.set(key, isFields(before) && isFields(value) ? merge(before, value) : value)
  }
  return Object.fromEntries(merged)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Headers with lower-case names. A name that occurs several times has its first value. */
type HeaderMap = Record<string, string>

/**
 * Reads `Name: value` lines, which is the format of curl and proxies, or a JSON object. Skips a request line or a
 * status line at the top, and all text after an empty line.
 * @throws Failure for a line that is not a header.
 */
export function readHeaders(text: string): HeaderMap {
  if (text.trimStart().startsWith('{')) return readJsonHeaders(text)
  const [head = ''] = text.trim().split(/\r?\n\r?\n/, 1)
  const lines = head.split(/\r?\n/).filter((line) => line !== '')
  const isStart = /^(?:HTTP\/\d|[A-Z]+ \S+ HTTP\/\d)/.test(lines[0] ?? '')
  return headersOf(isStart ? lines.slice(1) : lines)
}

/** Reads `Name: value` lines. */
export function headersOf(lines: readonly string[]): HeaderMap {
  const headers: HeaderMap = {}
  for (const line of lines) {
    const [, name, value = ''] = /^([^\s:]+)\s*:(.*)$/.exec(line) ?? []
    if (name === undefined) throw usage(`a header must be "name: value", got "${line}"`)
    headers[name.toLowerCase()] ??= value.trim()
  }
  return headers
}

function readJsonHeaders(text: string): HeaderMap {
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>)
    return Object.fromEntries(
      entries.map(([name, value]) => [name.toLowerCase(), String([value].flat()[0])]),
    )
  } catch {
    throw usage('the headers start like JSON but are not valid JSON')
  }
}

interface VerifyOptions {
  secret?: string
  headers?: string
  header?: string[]
  signature?: string
  body?: string
  anyAge?: boolean
}

/** Adds `svc webhooks verify`. */
export function addVerify(webhooks: Command, context: Context): void {
  const command = webhooks
    .command('verify')
    .summary('verify the signature of a webhook delivery')
    .description(
      `Verifies that a webhook delivery is authentic; exits with 1 and the reason if it is not. The body is read byte for byte,
from --body or from stdin.`,
    )
    .option('--secret <whsec>', 'the secret of the webhook (default: SVC_WEBHOOK_SECRET)')
    .option('--headers <file>', 'a file with the headers: "name: value" lines, or JSON')
    .option('-H, --header <line>', 'one header, "name: value"; may be repeated', append)
    .option('--signature <hex>', 'the value of X-Svc-Signature, instead of headers')
    .option('--body <body>', 'the body; @file reads a file')
    .option('--any-age', 'accept a delivery that is older than five minutes')
    .action((options: VerifyOptions) => verifyDelivery(context, options))
  withExamples(
    command,
    'svc webhooks verify --secret whsec_… --headers headers.txt --body @body.json',
    'cat body.json | svc webhooks verify --secret whsec_… --signature 9f86d081…',
  )
}

async function verifyDelivery({ io, output }: Context, options: VerifyOptions): Promise<void> {
  const secret = await secretOf(options, io)
  const headers = await readAllHeaders(options, io)
  const { signature } = options
  if (Object.keys(headers).length === 0 && signature === undefined) {
    throw usage('give the headers with --headers or -H, or the signature with --signature')
  }
  const body = await readBody(options.body, io)
  const { verify } = await import('@svc/core/webhooks')
  const result = verify({
    secret,
    body,
    headers,
    signature,
    ...(options.anyAge && { tolerance_s: false }),
  })
  if (!result.ok)
    throw new Failure(result.reason, `not verified (${result.reason}): ${result.hint}`)
  const { scheme, event, event_id, timestamp } = result
  const at = timestamp?.toISOString() ?? null
  if (output.isJson()) {
    return output.document({ verified: true, scheme, event, event_id, timestamp: at })
  }
  const how = scheme === 'standard' ? `webhook-signature of ${at}` : 'X-Svc-Signature'
  output.line(
    `${output.style('green', '✓')} verified${event === null ? '' : ` ${event}`} by ${how}`,
  )
}

async function readAllHeaders(
  { headers, header = [] }: VerifyOptions,
  io: ProcessIo,
): Promise<HeaderMap> {
  const fromFile =
    headers === undefined ? {} : readHeaders((await readInputFile(headers, io)).toString('utf8'))
  return { ...fromFile, ...headersOf(header) }
}
