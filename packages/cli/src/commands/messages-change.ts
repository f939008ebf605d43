import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { momentText } from '../input/time.ts'
import { statusCell } from '../messages/message-steps.ts'
import { counted, printable } from '../show/text.ts'

interface CancelOptions extends ConnectionOptions {
  yes?: boolean
}

/** Adds `svc messages cancel`. */
export function addCancel(messages: Command, context: Context): void {
  const cancel = withConnection(
    messages
      .command('cancel')
      .summary('cancel a message that is still queued')
      .description(
        'Cancels a message that is still queued, after a confirmation: it fails, and its credits are refunded.',
      )
      .argument('<id>', 'the id of the message')
      .option('--yes', 'do not ask'),
  ).action((id: string, options: CancelOptions) => cancelMessage(context, id, options))
  withExamples(cancel, 'svc messages cancel 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01 --yes')
}

async function cancelMessage(
  { io, output }: Context,
  id: string,
  { yes, ...options }: CancelOptions,
): Promise<void> {
  if (!yes) await confirm(io, `Cancel the message ${printable(id)}?`)
  const { client } = await connect(options, io)
  const canceled = await client.messages.cancel(id)
  if (output.isJson()) return output.document(canceled)
  const { status, error_code, credits_refunded } = canceled.message
  const credits = String(credits_refunded)
  output.row([
    statusCell(status),
    id,
    error_code ?? '',
    output.isTerminal ? `${counted(credits, 'credit')} refunded` : credits,
  ])
}

/** Adds `svc messages reschedule`. */
export function addReschedule(messages: Command, context: Context): void {
  const reschedule = withConnection(
    messages
      .command('reschedule')
      .summary('give a message that is still queued a new time')
      .description(
        'Gives a message that is still queued a new time, at most 35 days ahead. A past time means now.',
      )
      .argument('<id>', 'the id of the message')
      .argument('<time>', 'ISO 8601, or a duration from now such as 10m'),
  ).action((id: string, time: string, options: ConnectionOptions) =>
    rescheduleMessage(context, id, time, options),
  )
  withExamples(
    reschedule,
    'svc messages reschedule 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01 2h',
    'svc messages reschedule 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01 2026-05-05T09:00:00Z',
  )
}

async function rescheduleMessage(
  { io, output }: Context,
  id: string,
  time: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const scheduled_at = momentText(time, { now: new Date() })
  const rescheduled = await client.messages.reschedule(id, { scheduled_at })
  if (output.isJson()) return output.document(rescheduled)
  const { status, scheduled_at: at } = rescheduled.message
  output.row([statusCell(status), id, at ?? ''])
}

interface EraseOptions extends ConnectionOptions {
  contentOnly?: boolean
  yes?: boolean
}

/** Adds `svc messages erase`. */
export function addErase(messages: Command, context: Context): void {
  const erase = withConnection(
    messages
      .command('erase')
      .summary('erase one message')
      .description(
        `Removes recipient, content and metadata of one sent message, or removes one received message, after a confirmation. The
status and the price stay. A message that is still queued is refused: cancel it first.`,
      )
      .argument('<id>', 'the id of the message')
      .option('--content-only', 'remove only the content')
      .option('--yes', 'do not ask'),
  ).action((id: string, options: EraseOptions) => eraseMessage(context, id, options))
  withExamples(
    erase,
    'svc messages erase 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01 --yes',
    'svc messages erase 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01 --content-only --yes',
  )
}

async function eraseMessage(
  { io, output }: Context,
  id: string,
  { contentOnly = false, yes, ...options }: EraseOptions,
): Promise<void> {
  const what = contentOnly ? 'the content of the message' : 'the message'
  if (!yes) await confirm(io, `Erase ${what} ${printable(id)}?`)
  const { client } = await connect(options, io)
  const done = contentOnly ? await client.messages.redact(id) : await client.messages.erase(id)
  if (output.isJson()) return output.document(done)
  output.row([done.message, id])
}
