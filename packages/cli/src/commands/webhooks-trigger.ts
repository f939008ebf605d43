import type { EventKind } from '@svc/core/contract'
import type { Attempt, Mutation } from '@svc/testkit'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { Failure, unreachable, usage } from '../process/failure.ts'
import type { Output } from '../show/output.ts'
import { printable } from '../show/text.ts'
import { overridesOf } from '../webhooks/overrides.ts'
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
