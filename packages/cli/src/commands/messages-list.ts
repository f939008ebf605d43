import type { Message } from '@svc/client'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, type PageOptions, pageOf, withExamples, withPage } from '../context.ts'
import { readOptionalPast } from '../input/time.ts'
import { statusCell } from '../messages/message-steps.ts'
import { counted } from '../show/counted.ts'

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
          new Option('--status <status>', 'only messages with this status').choices([
            'queued',
            'sent',
            'delivered',
            'failed',
          ]),
        )
        .addOption(
          new Option('--channel <channel>', 'only messages on this channel').choices([
            'sms',
            'whatsapp',
            'email',
            'voice',
          ]),
        )
        .option('--recipient <recipient>', 'only messages to this number or address')
        .option('--bulk-id <id>', 'only messages of this bulk')
        .option(
          '--since <time>',
          'created at or after: ISO 8601, or a duration before now such as 2h',
        )
        .option('--until <time>', 'created at or before, in the same form')
        .option('--cursor <cursor>', 'the next page: the next_cursor of the --json output'),
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
  const startDate = await readOptionalPast('--since', since)
  const endDate = await readOptionalPast('--until', until)
  const { client } = await connect(options, io)
  const found = await client.messages.list({
    status,
    channel,
    recipient,
    bulk_id: bulkId,
    startDate,
    endDate,
    ...pageOf({ page, limit }),
    cursor,
  })
  if (output.isJson()) return output.document(found)
  output.table(
    ['TIME', 'CHANNEL', 'RECIPIENT', 'STATUS', 'ID', 'ERROR'],
    found.messages.map((message) => [
      message.created_at,
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
    output.note(`${counted(total, 'message')}; more: --page ${shown + 1} (of ${pages})`)
}
