import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { printable } from '../show/text.ts'

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
