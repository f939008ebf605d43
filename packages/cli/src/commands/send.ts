import type { Message, Svc } from '@svc/client'
import type { Command } from 'commander'
import {
  type ConnectionOptions,
  clientOf,
  connect,
  findTarget,
  withConnection,
} from '../connect/connection.ts'
import { pause, retryAfterMs } from '../connect/polling.ts'
import { type Context, withExamples } from '../context.ts'
import { durationMs } from '../input/time.ts'
import { failureOf, isFinal, type Step, statusCell, stepsOf } from '../messages/message-steps.ts'
import { readSendRequest, type SendOptions, withRequest } from '../messages/send-request.ts'
import { Failure, usage } from '../process/failure.ts'
import { charactersText, counted, suggestionText } from '../show/text.ts'

/** The characters that a header can have. */
const HEADER_TEXT = /^[\x20-\x7e]{1,255}$/

interface Options extends ConnectionOptions, SendOptions {
  idempotencyKey?: string
  wait?: boolean
  timeout: string
}

/** Adds `svc send`. */
export function addSend(program: Command, context: Context): void {
  const command = withConnection(
    withRequest(
      program
        .command('send')
        .summary('send a message')
        .description(
          `Sends one message. The default channel is sms for a phone number, and email for an e-mail address. A voice
message is a call that reads the text aloud; the server refuses it when no provider for voice is configured.`,
        ),
    )
      .option('--idempotency-key <key>', 'repeated requests with this key send one message')
      .option('--wait', 'wait until it is delivered or failed, and show its statuses')
      .option('--timeout <duration>', 'the maximum time that --wait waits', '2m'),
  ).action((options: Options) => send(context, options))
  withExamples(
    command,
    'svc send --to +15005550006 --text "Your order A1 is ready" --wait',
    'svc send --to asha@example.com --subject "Order A1" --text "It is ready." --metadata order=A1',
    'svc send --to +15005550006 --channel voice --text "Your order A 1 is ready"',
    'svc send --to +15005550006 --text "See you at ten" --at 10m --expires-in 1h',
  )
}

async function send({ io, output }: Context, options: Options): Promise<void> {
  const timeout_ms = durationMs(options.timeout)
  if (timeout_ms === null) throw usage('--timeout must be a duration such as 30s or 5m')
  const { idempotencyKey } = options
  if (idempotencyKey !== undefined && !HEADER_TEXT.test(idempotencyKey)) {
    throw usage('--idempotency-key must be 1 to 255 printable ASCII characters')
  }
  const request = await readSendRequest(options, io)
  const target = await findTarget(options, io)
  const client = await clientOf(target)
  const sent = await client.messages.send(request, { idempotencyKey })
  if (options.wait) return waitFor({ io, output }, client, sent.message_id, timeout_ms)
  if (output.isJson()) return output.document(sent)
  const credits = String(sent.credits_used)
  output.row([
    statusCell(sent.status),
    sent.message_id,
    output.isTerminal ? counted(credits, 'credit') : credits,
  ])
  if (sent.deferred_until !== undefined) {
    output.note(`Quiet hours of the recipient: it is sent at ${sent.deferred_until}`)
  }
  if (output.isTerminal) {
    const svc = io.invocation ?? 'svc'
    output.note(output.style('dim', `Follow it: ${svc} messages show ${sent.message_id}`))
  }
}

async function waitFor(
  { output }: Context,
  client: Svc,
  id: string,
  timeout_ms: number,
): Promise<void> {
  const message = await awaitMessage(client, id, {
    timeout_ms,
    onStep({ status, at }) {
      if (!output.isJson())
        output.row([at.toISOString(), statusCell(status, { padded: output.isTerminal }), id])
    },
  })
  if (output.isJson()) {
    output.document({ message })
  }
  if (message.status === 'failed') {
    throw new Failure(
      message.error_code ?? 'failed',
      `the message failed: ${failureOf(message) ?? 'no reason was given'}`,
    )
  }
  if (!isFinal(message)) {
    throw new Failure(
      'timeout',
      `the message is still ${message.status} after ${timeout_ms / 1000} s${await pauseOf(client)}: svc messages show ${id} shows its status`,
    )
  }
}

/** Returns a part of a sentence that says that the server is paused; empty if it is not. */
async function pauseOf(client: Svc): Promise<string> {
  const health = await client.health.check().catch(() => null)
  return health?.services.queue === 'paused' ? ', because the server is paused' : ''
}

/** Polling becomes slower, so that one minute uses about 20 of the 100 requests of the rate limit. */
const FIRST_POLL_MS = 200
const POLL_MAX_MS = 3_000

/**
 * Polls a message until its status is final or the time is up, and reports each status once, in order. Returns the last
 * state of the message.
 */
async function awaitMessage(
  client: Svc,
  id: string,
  { timeout_ms, onStep }: { timeout_ms: number; onStep: (step: Step) => void },
): Promise<Message> {
  const deadline = Date.now() + timeout_ms
  const reported = new Set<string>()
  let wait_ms = FIRST_POLL_MS
  for (;;) {
    const message = await poll(client, id, deadline)
    for (const step of stepsOf(message)) {
      if (reported.has(step.status)) continue
      reported.add(step.status)
      onStep(step)
    }
    const remaining_ms = deadline - Date.now()
    if (isFinal(message) || remaining_ms <= 0) return message
    await pause(Math.min(wait_ms, remaining_ms))
    wait_ms = Math.min(wait_ms * 2, POLL_MAX_MS)
  }
}

/** Polls once. It waits until a rate limit ends if the deadline allows it. */
async function poll(client: Svc, id: string, deadline: number): Promise<Message> {
  for (;;) {
    try {
      return (await client.messages.get(id)).message
    } catch (error) {
      const wait_ms = retryAfterMs(error)
      if (wait_ms === null || Date.now() + wait_ms > deadline) throw error
      await pause(wait_ms)
    }
  }
}

/** Adds `svc messages estimate`. */
export function addEstimate(messages: Command, context: Context): void {
  const estimate = withConnection(
    withRequest(
      messages
        .command('estimate')
        .summary('show what a message would cost')
        .description(
          `Takes the options of svc send and sends nothing. Shows the cost of the message and whether it would be sent. For an SMS it
shows the encoding, the segments, the characters that require UCS-2, and a cheaper text if there is one.`,
        ),
    ),
  ).action((options: ConnectionOptions & SendOptions) => estimateMessage(context, options))
  withExamples(
    estimate,
    'svc messages estimate --to +15005550006 --text "It’s ready…"',
    'cat text.txt | svc messages estimate --to +15005550006 --text - --json',
  )
}

async function estimateMessage(
  { io, output }: Context,
  options: ConnectionOptions & SendOptions,
): Promise<void> {
  const request = await readSendRequest(options, io)
  const { client } = await connect(options, io)
  const found = await client.messages.estimate(request)
  if (output.isJson()) return output.document(found)
  for (const message of found.messages) {
    const { encoding, characters, units, segments, non_gsm_characters, gsm7_suggestion } = message
    output.fields([
      ['encoding', encoding],
      ['characters', characters?.toString() ?? null],
      ['units', units?.toString() ?? null],
      ['segments', segments?.toString() ?? null],
      ['credits', String(message.credits)],
      ['balance', String(found.credits_balance)],
      ['forced by', non_gsm_characters.length === 0 ? null : charactersText(non_gsm_characters)],
      ['suggestion', gsm7_suggestion && suggestionText(gsm7_suggestion)],
      ['blocked', message.block_reason && { text: message.block_reason, style: 'red' }],
    ])
  }
  if (!found.can_send) output.note('It would not be sent.')
}
