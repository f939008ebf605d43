import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { statusCell } from '../messages/message-steps.ts'
import { counted } from '../show/counted.ts'
import { printable } from '../show/text.ts'

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
