import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, type PageOptions, pageOf, withExamples, withPage } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { Failure } from '../process/failure.ts'
import { counted } from '../show/counted.ts'
import type { Cell } from '../show/output.ts'
import { printable } from '../show/text.ts'
import { addBulkSend } from './bulk-send.ts'

const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** Adds `svc bulk`. */
export function addBulk(program: Command, context: Context): void {
  const bulk = program
    .command('bulk')
    .summary('send to all rows of a CSV file; show, cancel and retry bulks')
    .description(
      'Sends a message to each row of a CSV file. Each request of a run is a separate bulk, whose id is in the result file.',
    )
  withExamples(
    bulk,
    'svc bulk send people.csv --channel sms --text "Hi {{name}}, order {{order_id}} is ready"',
    `svc bulk show ${ID}`,
  )
  addBulkSend(bulk, context)
  addOne(bulk, context, {
    name: 'show',
    summary: 'show a bulk and its progress',
    description: 'Shows a bulk, with the number of its messages by status.',
    question: null,
    run: showBulk,
  })
  addRejected(bulk, context)
  addOne(bulk, context, {
    name: 'cancel',
    summary: 'cancel the queued messages of a bulk',
    description:
      'Cancels the queued messages of a bulk, after a confirmation: they fail, and their credits are refunded.',
    question: (id) => `Cancel the queued messages of bulk ${id}?`,
    run: cancelBulk,
  })
  addOne(bulk, context, {
    name: 'retry',
    summary: 'send the failed messages of a bulk again',
    description: `Sends messages of a bulk again as a new bulk, after a confirmation: the messages that failed before a
provider accepted them. Each is charged again. A bulk can be retried only once, and only when none of its messages is queued.`,
    question: (id) => `Send the failed messages of bulk ${id} again, and pay for them again?`,
    run: retryBulk,
  })
}

/** A command about one bulk. */
interface OneBulk {
  name: string
  summary: string
  description: string
  /** The question that the command asks without `--yes`; null if it asks no question. */
  question: ((id: string) => string) | null
  run(context: Context, id: string, options: ConnectionOptions): Promise<void>
}

function addOne(
  bulk: Command,
  context: Context,
  { name, summary, description, question, run }: OneBulk,
): void {
  const command = withConnection(
    bulk
      .command(name)
      .summary(summary)
      .description(description)
      .argument('<bulk_id>', 'the id of the bulk'),
  ).action(async (id: string, { yes, ...options }: ConnectionOptions & { yes?: boolean }) => {
    if (question && !yes) await confirm(context.io, question(printable(id)))
    await run(context, id, options)
  })
  if (question) command.option('--yes', 'do not ask')
  withExamples(command, `svc bulk ${name} ${ID}${question ? ' --yes' : ''}`)
}

async function showBulk(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.bulks.get(id)
  if (output.isJson()) return output.document(found)
  const { bulk } = found
  output.fields([
    ['id', bulk.id],
    ['status', bulk.status],
    ['channel', bulk.channel],
    ['mode', bulk.livemode ? 'live' : 'test'],
    ['accepted', `${bulk.accepted} of ${bulk.total}`],
    ['rejected', String(bulk.rejected)],
    ['duplicates', String(bulk.duplicates)],
    ...Object.entries(bulk.counts).map(([status, count]): [string, Cell] => [
      status,
      String(count),
    ]),
    ['credits', String(bulk.credits_used)],
    ['refunded', String(bulk.credits_refunded)],
    ['created', bulk.created_at],
  ])
}

function addRejected(bulk: Command, context: Context): void {
  const rejected = withConnection(
    withPage(
      bulk
        .command('rejected')
        .summary('list the rejected recipients of a bulk')
        .description(
          'Lists the recipients of a bulk that got no message, in the order of the request, with the reasons. INDEX counts from 0.',
        )
        .argument('<bulk_id>', 'the id of the bulk'),
    ),
  ).action((id: string, options: ConnectionOptions & PageOptions) =>
    listRejected(context, id, options),
  )
  withExamples(
    rejected,
    `svc bulk rejected ${ID}`,
    `svc bulk rejected ${ID} --limit 100 --json | jq -r ".rejected[].to"`,
  )
}

async function listRejected(
  { io, output }: Context,
  id: string,
  { page, limit, ...options }: ConnectionOptions & PageOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.bulks.rejected(id, pageOf({ page, limit }))
  if (output.isJson()) return output.document(found)
  const { rejected, is_stored, pagination } = found
  output.table(
    ['INDEX', 'TO', 'ERROR', 'MESSAGE'],
    rejected.map(({ index, to, error, message }) => [String(index), to ?? '', error, message]),
  )
  const { total, pages, page: shown } = pagination
  if (!is_stored) {
    output.note(
      'The rejected recipients are not stored: an earlier version accepted the bulk, or retention removed them.',
    )
  } else if (total === 0) output.note('No rejected recipients.')
  if (pages > shown) {
    output.note(`${counted(total, 'recipient')}; more: --page ${shown + 1} (of ${pages})`)
  }
}

async function cancelBulk(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const found = await client.bulks.cancel(id)
  if (output.isJson()) return output.document(found)
  const { canceled, bulk } = found
  output.line(`${canceled} of ${counted(bulk.accepted, 'message')} canceled`)
}

async function retryBulk(
  { io, output }: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const sent = await client.bulks.retry(id)
  const { bulk_id, total, accepted, rejected, credits_used, errors } = sent
  if (output.isJson()) output.document(sent)
  else {
    for (const { to, error, message } of errors) output.row([to ?? '', error, message])
    output.row([
      'queued',
      bulk_id,
      `${accepted} of ${total}`,
      counted(String(credits_used), 'credit'),
    ])
  }
  if (rejected > 0) throw new Failure('rejected', `${rejected} of ${total} were rejected`)
}
