import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { momentText } from '../input/time.ts'
import { statusCell } from '../messages/message-steps.ts'

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
