import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { TIMELINE_HEADINGS, timelineRow } from '../messages/timeline-rows.ts'

/** Adds `svc messages timeline`. */
export function addTimeline(messages: Command, context: Context): void {
  const timeline = withConnection(
    messages
      .command('timeline')
      .summary('show the history of a message')
      .description(
        `Shows the history of a message, oldest first: changes of its status, attempts to send it, credits, and webhook
deliveries.`,
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
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.messages.timeline(id)
  if (output.isJson()) return output.document(found)
  output.table(
    TIMELINE_HEADINGS,
    found.timeline.map((entry) => timelineRow(entry)),
    { exact: true },
  )
}
