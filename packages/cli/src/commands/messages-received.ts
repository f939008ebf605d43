import type { ReceivedMessage } from '@svc/client'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, type PageOptions, pageOf, withExamples, withPage } from '../context.ts'
import { readOptionalPast } from '../input/time.ts'
import { counted } from '../show/counted.ts'

interface ReceivedOptions extends ConnectionOptions, PageOptions {
  channel?: ReceivedMessage['channel']
  sender?: string
  since?: string
  until?: string
}

/** Adds `svc messages received`. */
export function addReceived(messages: Command, context: Context): void {
  const received = withConnection(
    withPage(
      messages
        .command('received')
        .summary('list messages from recipients, newest first')
        .description('Lists the messages that recipients sent to the service, newest first.')
        .addOption(
          new Option('--channel <channel>', 'only messages on this channel').choices([
            'sms',
            'whatsapp',
            'email',
            'voice',
          ]),
        )
        .option('--sender <sender>', 'only messages from this number or address')
        .option(
          '--since <time>',
          'received at or after: ISO 8601, or a duration before now such as 2h',
        )
        .option('--until <time>', 'received at or before, in the same form'),
    ),
  ).action((options: ReceivedOptions) => listReceived(context, options))
  withExamples(
    received,
    'svc messages received --since 2h',
    'svc messages received --sender +14155552671 --json | jq -r ".received[].content.text"',
  )
}

async function listReceived(
  { io, output }: Context,
  { channel, sender, since, until, page, limit, ...options }: ReceivedOptions,
): Promise<void> {
  const startDate = await readOptionalPast('--since', since)
  const endDate = await readOptionalPast('--until', until)
  const { client } = await connect(options, io)
  const found = await client.received.list({
    channel,
    sender,
    startDate,
    endDate,
    ...pageOf({ page, limit }),
  })
  if (output.isJson()) return output.document(found)
  output.table(
    ['TIME', 'CHANNEL', 'SENDER', 'RECIPIENT', 'KEYWORD', 'CONTENT'],
    found.received.map((one) => [
      one.created_at,
      one.channel,
      one.sender,
      one.recipient,
      one.keyword ?? '',
      contentOf(one),
    ]),
  )
  const { total, pages, page: shown } = found.pagination
  if (total === 0) output.note('No messages.')
  if (pages > shown)
    output.note(`${counted(total, 'message')}; more: --page ${shown + 1} (of ${pages})`)
}

/** The text and the number of media in one line. */
function contentOf({ content: { text, media } }: ReceivedMessage): string {
  const parts = text === null ? [] : [JSON.stringify(text)]
  if (media.length > 0) parts.push(`(${media.length} media)`)
  return parts.join(' ')
}
