import type { Suppression, SuppressionsAddBody } from '@svc/client'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { listing, type PageOptions, pageOf, pagingOf, withPage } from '../show/listing.ts'
import { printable } from '../show/text.ts'

type Channel = Suppression['channel']
type Reason = Suppression['reason']

interface ListOptions extends ConnectionOptions, PageOptions {
  channel?: Channel
  reason?: Reason
  search?: string
}

const CHANNELS: readonly Channel[] = ['sms', 'whatsapp', 'email', 'voice']
const REASONS: readonly Reason[] = ['opt_out', 'bounce', 'complaint', 'manual']

/** Adds `svc suppressions`. */
export function addSuppressions(program: Command, context: Context): void {
  const suppressions = program
    .command('suppressions')
    .summary('list, add and remove suppressions')
    .description(
      `Lists, adds and removes suppressions. A suppression stops all messages to an address on a channel. The API key needs the
scope manage_contacts.`,
    )
  withExamples(suppressions, 'svc suppressions list', 'svc suppressions add sms +14155550101')

  const list = withConnection(
    withPage(
      suppressions
        .command('list')
        .summary('list suppressions, newest first')
        .description('Lists suppressions, newest first.')
        .addOption(new Option('--channel <channel>', 'only this channel').choices(CHANNELS))
        .addOption(new Option('--reason <reason>', 'only this reason').choices(REASONS))
        .option('--search <text>', 'only addresses with this text'),
    ),
  ).action((options: ListOptions) => listSuppressions(context, options))
  withExamples(
    list,
    'svc suppressions list --channel sms',
    'svc suppressions list --reason bounce --json',
  )

  const add = withConnection(
    oneAddress(suppressions, 'add', 'stop messages to an address')
      .description('Suppresses an address on a channel. An existing suppression does not change.')
      .addOption(new Option('--reason <reason>', 'why (default: manual)').choices(REASONS)),
  ).action((channel: string, address: string, options: ConnectionOptions & { reason?: Reason }) =>
    addOne(context, { channel, address }, options),
  )
  withExamples(add, 'svc suppressions add sms +14155550101 --reason opt_out')

  const remove = withConnection(
    oneAddress(suppressions, 'remove', 'allow messages to an address again')
      .description('Removes a suppression, with any reason, after a confirmation.')
      .option('--yes', 'do not ask'),
  ).action((channel: string, address: string, options: ConnectionOptions & { yes?: boolean }) =>
    removeOne(context, { channel, address }, options),
  )
  withExamples(remove, 'svc suppressions remove email asha@example.com --yes')
}

function oneAddress(suppressions: Command, name: string, summary: string): Command {
  return suppressions
    .command(name)
    .summary(summary)
    .argument('<channel>', 'sms, whatsapp, email or voice')
    .argument('<address>', 'the phone number or e-mail address')
}

async function listSuppressions(
  { io, output }: Context,
  { channel, reason, search, page, limit, ...options }: ListOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const filter = { channel, reason, search }
  const found = await client.suppressions.list({ ...filter, ...pageOf({ page, limit }) })
  listing(output, {
    json: () => found,
    headings: ['CHANNEL', 'ADDRESS', 'REASON', 'SINCE'],
    rows: found.suppressions.map(rowOf),
    none: 'No suppressions.',
    paging: pagingOf(found.pagination, 'suppression'),
  })
}

async function addOne(
  { io, output }: Context,
  { channel, address }: { channel: string; address: string },
  { reason, ...options }: ConnectionOptions & { reason?: Reason },
): Promise<void> {
  const { client } = await connect(options, io)
  // The server checks the channel.
  const body = { channel, address, ...(reason && { reason }) } as SuppressionsAddBody
  const added = await client.suppressions.add(body)
  if (output.isJson()) return output.document(added)
  output.row(rowOf(added.suppression))
}

async function removeOne(
  { io, output }: Context,
  { channel, address }: { channel: string; address: string },
  { yes, ...options }: ConnectionOptions & { yes?: boolean },
): Promise<void> {
  if (!yes) await confirm(io, `Allow ${printable(channel)} to ${printable(address)} again?`)
  const { client } = await connect(options, io)
  const removed = await client.suppressions.remove(channel, address)
  if (output.isJson()) return output.document(removed)
  output.line(removed.message)
}

function rowOf({ channel, address, reason, created_at }: Suppression): string[] {
  return [channel, address, reason, created_at]
}
