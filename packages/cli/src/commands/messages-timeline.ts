import type { MessageStatus, TimelineEntry, Units } from '@svc/core/contract'
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connection.ts'
import { type Context, withExamples } from '../context.ts'
import { failureOf, statusCell } from '../message-steps.ts'
import type { Cell } from '../output.ts'

/** Adds `svc messages timeline`. */
export function addTimeline(messages: Command, context: Context): void {
  const timeline = withConnection(
    messages
      .command('timeline')
      .summary('tell what happened to a message')
      .description(
        `Tells what happened to a message, oldest first: changes of its status, tries to send it, credits, and deliveries to
webhooks.`,
      )
      .argument('<id>', 'the id of the message'),
  ).action((id: string, options: ConnectionOptions) => showTimeline(context, id, options))
  withExamples(
    timeline,
    'svc messages timeline 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
    'svc messages timeline 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01 --json | jq -c ".timeline[]"',
  )
}

async function showTimeline(
  { surroundings, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, surroundings)
  const { api, formatCredits } = await import('@svc/core/contract')
  const found = await client.messages.timeline({ id })
  if (output.isJson()) return output.document(api.messages.timeline.data.encode(found))
  output.table(
    ['TIME', 'KIND', 'WHAT', 'RESULT', 'DETAIL'],
    found.timeline.map((entry) => [
      entry.at.toISOString(),
      entry.kind,
      ...cellsOf(entry, formatCredits),
    ]),
  )
}

type Told = [what: Cell, result: Cell, detail: Cell]

function cellsOf(entry: TimelineEntry, formatCredits: (amount: Units) => string): Told {
  switch (entry.kind) {
    case 'status': {
      const late = { text: 'came too late to count', style: 'dim' } as const
      const status = statusCell(entry.status as MessageStatus)
      return [status, entry.applied ? '' : late, failureOf(entry) ?? '']
    }
    case 'provider': {
      const { provider, attempt, outcome } = entry
      return [`${provider} attempt ${attempt}`, outcome, failureOf(entry) ?? '']
    }
    case 'ledger': {
      const { type, credits, balance_after, reference } = entry
      const amount = `${credits > 0 ? '+' : ''}${formatCredits(credits)}`
      const what = reference.type === 'bulk' ? `${type} of its bulk` : type
      return [what, amount, `balance ${formatCredits(balance_after)}`]
    }
    case 'webhook': {
      const { event, status, attempt_count, response_status, error } = entry
      const tries = `${attempt_count} ${attempt_count === 1 ? 'try' : 'tries'}`
      const answer = error ?? response_status?.toString()
      return [event, status, answer === undefined ? tries : `${tries}, ${answer}`]
    }
  }
}
