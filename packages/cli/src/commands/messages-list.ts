import type { Message } from '@svc/core/contract'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, type PageOptions, withExamples, withPage } from '../context.ts'
import { momentText } from '../input/time.ts'
import { statusCell } from '../messages/message-steps.ts'

interface ListOptions extends ConnectionOptions, PageOptions {
  status?: 'queued' | 'sent' | 'delivered' | 'failed'
  channel?: Message['channel']
  recipient?: string
  bulkId?: string
  since?: string
  until?: string
  cursor?: string
}

/** Adds `svc messages list`. */
export function addList(messages: Command, context: Context): void {
  const list = withConnection(
    withPage(
      messages
        .command('list')
        .summary('list messages, newest first')
        .description('Lists messages, newest first.')
        .addOption(
          new Option('--status <status>', 'only these').choices([
            'queued',
            'sent',
            'delivered',
            'failed',
          ]),
        )
        .addOption(
          new Option('--channel <channel>', 'only these').choices([
            'sms',
            'whatsapp',
            'email',
            'voice',
          ]),
        )
        .option('--recipient <recipient>', 'only those to this number or address')
        .option('--bulk-id <id>', 'only those of this bulk')
        .option('--since <time>', 'none made before: ISO 8601, or a duration before now such as 2h')
        .option('--until <time>', 'none made after, said the same way')
        .option('--cursor <cursor>', 'go on after a page: the next_cursor of its --json'),
    ),
  ).action((options: ListOptions) => listMessages(context, options))
  withExamples(
    list,
    'svc messages list --status failed --limit 10',
    'svc messages list --since 2h --channel sms',
    'svc messages list --json | jq -r ".messages[].id"',
  )
}

async function listMessages(
  { io, output }: Context,
  {
    status,
    channel,
    recipient,
    bulkId,
    since,
    until,
    page,
    limit,
    cursor,
    ...options
  }: ListOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const { api } = await import('@svc/core/contract')
  const now = new Date()
  const found = await client.messages.list({
    status,
    channel,
    recipient,
    bulk_id: bulkId,
    startDate: since && momentText(since, { now, back: true }),
    endDate: until && momentText(until, { now, back: true }),
    page,
    limit,
    cursor,
  })
  if (output.isJson()) return output.document(api.messages.list.data.encode(found))
  output.table(
    ['TIME', 'CHANNEL', 'RECIPIENT', 'STATUS', 'ID', 'ERROR'],
    found.messages.map((message) => [
      message.created_at.toISOString(),
      message.channel,
      message.recipient,
      statusCell(message.status),
      message.id,
      message.error_code ?? '',
    ]),
  )
  const { total, pages, page: shown } = found.pagination
  if (total === 0) output.note('No messages.')
  if (pages > shown && cursor === undefined)
    output.note(`${total} messages; more: --page ${shown + 1} (of ${pages})`)
}
