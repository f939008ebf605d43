import type { Units } from '@svc/core/contract'
import { findingsOf, type History, pauseText, type Reading, SERIES } from '@svc/core/operate'
import type { Cell } from '../show/output.ts'

/** A reading in JSON; `rates` is null if there is no earlier reading. Amounts are in credits. */
export function readingDocument(
  { overview, troubles }: Reading,
  history: History,
  creditsOf: (amount: Units) => number,
) {
  const { credits, ...rest } = overview
  const inCredits = (sum: number) => creditsOf(Math.round(sum) as Units)
  return {
    findings: findingsOf({ overview, troubles }, history).map(
      ({ sentences: _, ...finding }) => finding,
    ),
    ...rest,
    credits: { ...credits, balance: inCredits(credits.balance), held: inCredits(credits.held) },
    rates: history.rates(null),
    ...troublesDocument(troubles),
  }
}

/** Leaves out the connections, because only the server has them. */
function troublesDocument({ providers, webhooks, failures }: Reading['troubles']) {
  return {
    providers: providers.map(({ connections: _, pauses, ...provider }) => ({
      ...provider,
      pauses: pauses.map((pause) => ({ ...pause, sender: pause.sender || null })),
    })),
    troubled_webhooks: webhooks,
    failures,
  }
}

/** A reading as plain rows, with the subject in the first cell. */
export function readingRows(reading: Reading, history: History): Cell[][] {
  const { overview, troubles } = reading
  const { message_queue, delivery_queue, credits, webhooks } = overview
  const findings = findingsOf(reading, history)
  const since = (at: Date | null) => at?.toISOString() ?? '-'
  const credit = (units: number) => String(units / 1_000_000)
  return [
    ['at', overview.at.toISOString()],
    ...(findings.length === 0 ? [['state', 'all is well']] : []),
    ...findings.map(({ severity, text }) => [severity, text]),
    ...overview.messages.map(({ channel, status, count }) => [
      'messages',
      channel,
      status,
      `${count}`,
    ]),
    ['message_queue', 'waiting', `${message_queue.waiting}`],
    ['message_queue', 'due', `${message_queue.due}`],
    ['message_queue', 'oldest_due_at', since(message_queue.oldest_due_at)],
    ['message_queue', 'unknown', `${message_queue.unknown}`],
    ['delivery_queue', 'waiting', `${delivery_queue.waiting}`],
    ['delivery_queue', 'due', `${delivery_queue.due}`],
    ['delivery_queue', 'oldest_due_at', since(delivery_queue.oldest_due_at)],
    ['credits', 'workspaces', `${credits.workspaces}`],
    ['credits', 'frozen', `${credits.frozen}`],
    ['credits', 'balance', credit(credits.balance)],
    ['credits', 'held', credit(credits.held)],
    ...Object.entries(webhooks).map(([status, count]) => ['webhooks', status, `${count}`]),
    ...troubles.providers.map(({ name, pauses }) => [
      'provider',
      name,
      pauses.map((pause) => pauseText(pause, overview.at)).join('; ') || 'active',
    ]),
    ...troubles.webhooks.map(({ id, status, url, disabled_reason }) => [
      'webhook',
      id,
      status,
      url,
      disabled_reason ?? '-',
    ]),
    ...troubles.failures.map((failure) => [
      'failure',
      since(failure.failed_at),
      failure.id,
      failure.channel,
      failure.recipient,
      failure.error_code ?? '-',
      failure.error_message ?? '-',
    ]),
  ]
}

/** The headings of `watchRow`. */
export const WATCH_HEADINGS = [
  'at',
  ...SERIES.map((series) => `${series}/s`),
  'queued',
  'due',
  'due for s',
  'unknown',
  'deliveries due',
  'state',
]

/** A reading as one row of a log. */
export function watchRow(reading: Reading, history: History): Cell[] {
  const { at, message_queue, delivery_queue } = reading.overview
  const { waiting, due, oldest_due_at, unknown } = message_queue
  const rates = history.rates(null)
  const late_s = oldest_due_at ? Math.floor((at.getTime() - oldest_due_at.getTime()) / 1000) : 0
  const findings = findingsOf(reading, history).map(({ text }) => text)
  return [
    at.toISOString(),
    ...SERIES.map((series) => rates?.[series].toFixed(1) ?? '-'),
    ...[waiting, due, late_s, unknown, delivery_queue.due].map(String),
    findings.join('; ') || 'all is well',
  ]
}
