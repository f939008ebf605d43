import type {
  Broadcast,
  BroadcastPreview,
  BroadcastsCreateBody,
  BroadcastsUpdateBody,
} from '@svc/client'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { readValues } from '../input/read-input.ts'
import { momentText } from '../input/time.ts'
import { pairsOf } from '../messages/send-request.ts'
import { usage } from '../process/failure.ts'
import { listing, type PageOptions, pageOf, pagingOf, withPage } from '../show/listing.ts'
import type { Cell, Output } from '../show/output.ts'
import { counted, printable, type StyleName } from '../show/text.ts'

const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

type Channel = BroadcastsCreateBody['channel']
type Status = Broadcast['status']

const CHANNELS: readonly Channel[] = ['sms', 'whatsapp', 'email']
const STATUSES: readonly Status[] = [
  'draft',
  'scheduled',
  'running',
  'paused',
  'finished',
  'canceled',
]

interface AudienceOptions extends ConnectionOptions {
  channel?: Channel
  locale?: string
  templateVersion?: string
  var?: string[]
  variables?: string
  tag?: string[]
  excludeTag?: string[]
  attribute?: string[]
  excludeAttribute?: string[]
  all?: boolean
  from?: string
  rate?: string
  localTime?: string
}

/** `false`: the option that removes the value. */
interface UpdateOptions extends Omit<AudienceOptions, 'channel' | 'from' | 'rate'> {
  template?: string
  name?: string | false
  from?: string | false
  rate?: string | false
  at?: string | false
  draft?: boolean
}

interface CreateOptions extends AudienceOptions {
  name?: string
  at?: string
  draft?: boolean
  idempotencyKey?: string
  yes?: boolean
}

/** Adds `svc broadcasts`. */
export function addBroadcasts(program: Command, context: Context): void {
  const broadcasts = program
    .command('broadcasts')
    .summary('send a template to all contacts with a tag')
    .description(
      `Sends a published template to all contacts of an audience, each once, and follows it. The API key needs the scopes
send_messages, read_messages and manage_contacts.`,
    )
  withExamples(
    broadcasts,
    'svc broadcasts preview may-news --tag vip',
    'svc broadcasts create may-news --tag vip --at 2026-05-04T09:00:00Z',
    `svc broadcasts show ${ID}`,
  )
  addCreate(broadcasts, context)
  addUpdate(broadcasts, context)
  addPreview(broadcasts, context)
  addReads(broadcasts, context)
  addChange(broadcasts, context, {
    name: 'pause',
    summary: 'pause a broadcast',
    description:
      'Pauses a broadcast. Accepted messages that no worker has begun to send are held, also those of a finished broadcast that wait for their time.',
    question: null,
  })
  addChange(broadcasts, context, {
    name: 'resume',
    summary: 'continue a paused broadcast, or begin a draft',
    description:
      'Continues a paused broadcast after the last contact that had its turn, or begins a draft. It is sent with your API key. Held messages whose time is past go at once, except in quiet hours.',
    question: null,
  })
  addChange(broadcasts, context, {
    name: 'cancel',
    summary: 'cancel a broadcast',
    description:
      'Cancels a broadcast, after a confirmation. Its queued messages fail, and their credits are refunded.',
    question: (id) => `Cancel the broadcast ${id} and its queued messages?`,
  })
}

/** The options that a broadcast may have before it begins. */
function withContent(command: Command): Command {
  return command
    .option('--tag <tag...>', 'contacts with at least one of these tags')
    .option('--exclude-tag <tag...>', 'without the contacts that have one of these tags')
    .option('--attribute <key=value...>', 'only contacts with these texts as attributes')
    .option(
      '--exclude-attribute <key=value...>',
      'without the contacts that have one of these texts as an attribute',
    )
    .option('--all', 'all contacts, in place of --tag and --attribute')
    .option('--template-version <n>', 'a version of the template (default: the latest)')
    .option('--locale <locale>', 'the locale (default: that of the template)')
    .option('--var <name=value...>', 'texts for what the contacts do not have')
    .option('--variables <file>', 'a JSON file with an object of such values')
    .option('--from <sender>', 'the sender; for e-mail its display name')
    .option('--local-time <time>', 'send it at 2026-05-04T09:00 by the clocks of each recipient')
}

function withAudience(command: Command): Command {
  return withContent(
    command
      .argument('<template>', 'the name of a published template')
      .addOption(new Option('--channel <channel>', 'the channel').choices(CHANNELS).default('sms')),
  )
}

function addCreate(broadcasts: Command, { io, output }: Context): void {
  const create = withConnection(
    withAudience(
      broadcasts
        .command('create')
        .summary('send a template to all contacts of an audience')
        .description(
          'Shows the size and the price of a broadcast, and sends it after a confirmation. A repeated command with the same --idempotency-key sends nothing again.',
        ),
    )
      .option('--name <name>', 'a name for lists')
      .option('--at <time>', 'send it at a time: ISO 8601, or a duration from now such as 10m')
      .option('--rate <n>', 'messages a minute (default: as fast as the provider takes them)')
      .option('--draft', 'only store it: svc broadcasts resume begins it')
      .option('--idempotency-key <key>', 'a key of your own (default: a new one)')
      .option('--yes', 'do not ask'),
  ).action(async (template: string, options: CreateOptions) => {
    const { name, at, draft = false, idempotencyKey, yes, ...rest } = options
    if (at !== undefined && rest.localTime !== undefined) {
      throw usage('give --at or --local-time, not both')
    }
    const body: BroadcastsCreateBody = {
      ...(await bodyOf(template, rest, io)),
      ...(name !== undefined && { name }),
      ...(at !== undefined && { scheduled_at: momentText(at, { now: new Date() }) }),
      draft,
    }
    const { client } = await connect(rest, io)
    if (!yes && !draft) {
      const { preview } = await client.broadcasts.preview(body)
      await confirm(io, `Send ${totalOf(preview)}?`)
    }
    const call =
      idempotencyKey === undefined
        ? client.broadcasts.create(body)
        : client.broadcasts.create(body, { idempotencyKey })
    const made = await call
    if (output.isJson()) return output.document(made)
    output.row([
      { text: made.broadcast.status, style: STYLES[made.broadcast.status] },
      made.broadcast.id,
    ])
  })
  withExamples(
    create,
    'svc broadcasts create may-news --tag vip --exclude-tag staff --rate 600',
    'svc broadcasts create may-news --channel email --all --at 10m --yes',
    'svc broadcasts create may-news --tag vip --local-time 2026-05-04T09:00',
  )
}

function addUpdate(broadcasts: Command, { io, output }: Context): void {
  const update = withConnection(
    withContent(
      broadcasts
        .command('update')
        .summary('change a broadcast that has not begun')
        .description(
          'Changes what the options name of a broadcast that has not begun. From then on it is sent with your API key.',
        )
        .argument('<broadcast_id>', 'the id of the broadcast')
        .option('--template <name>', 'another template, without the values of the one before'),
    )
      .option('--name <name>', 'a name for lists')
      .option('--at <time>', 'send it at a time: ISO 8601, or a duration from now such as 10m')
      .option('--rate <n>', 'messages a minute')
      .option('--no-name', 'without a name')
      .option('--no-from', 'with the usual sender')
      .option('--no-at', 'without a time: it begins at once, a draft with resume')
      .option('--no-rate', 'as fast as the provider takes them')
      .option('--draft', 'make it a draft again: svc broadcasts resume begins it'),
  ).action(async (id: string, options: UpdateOptions) => {
    if (options.at !== undefined && options.localTime !== undefined) {
      throw usage('give --at or --local-time, not both')
    }
    const { client } = await connect(options, io)
    const { broadcast } = await client.broadcasts.get(id)
    const body = await changesOf(broadcast, options, io)
    if (Object.keys(body).length === 0) throw usage('give at least one option to change')
    const changed = await client.broadcasts.update(id, body)
    if (output.isJson()) return output.document(changed)
    const { status } = changed.broadcast
    output.row([{ text: status, style: STYLES[status] }, changed.broadcast.id])
  })
  withExamples(
    update,
    `svc broadcasts update ${ID} --rate 300 --tag vip`,
    `svc broadcasts update ${ID} --at 2026-05-05T09:00:00Z --var offer=tea`,
    `svc broadcasts update ${ID} --no-rate --draft`,
  )
}

/** The request gives template and audience as a whole, so that what no option names comes from the broadcast. */
async function changesOf(
  before: Broadcast,
  options: UpdateOptions,
  io: Context['io'],
): Promise<BroadcastsUpdateBody> {
  const { name, from, rate, at, draft, localTime } = options
  const audience = changedAudience(before, options)
  const template = await changedTemplate(before, options, io)
  return {
    ...(audience && { audience }),
    ...(template && { template }),
    ...(name !== undefined && { name: name || null }),
    ...(from !== undefined && { from: from || null }),
    ...(rate !== undefined && { rate: rate ? numberOf('--rate', rate) : null }),
    ...(at !== undefined && {
      scheduled_at: at ? momentText(at, { now: new Date() }) : null,
      time_zone: null,
    }),
    ...(localTime !== undefined && {
      scheduled_at: localText(localTime),
      time_zone: 'recipient' as const,
    }),
    ...(draft && { draft }),
  }
}

function changedAudience(
  { audience }: Broadcast,
  { tag, excludeTag, attribute, excludeAttribute, all }: UpdateOptions,
): BroadcastsUpdateBody['audience'] {
  if (all && (tag || attribute)) throw usage('give --all alone, or --tag and --attribute')
  if (![all, tag, excludeTag, attribute, excludeAttribute].some(Boolean)) return undefined
  const { tags: _, attributes: __, ...others } = audience
  return {
    ...(all ? others : audience),
    ...(tag && { tags: tag }),
    ...(excludeTag && { exclude_tags: excludeTag }),
    ...(attribute && { attributes: pairsOf('--attribute', attribute) }),
    ...excludedOf(excludeAttribute),
  }
}

const excludedOf = (pairs: string[] | undefined) =>
  pairs && { exclude_attributes: pairsOf('--exclude-attribute', pairs) }

async function changedTemplate(
  { template: before }: Broadcast,
  options: UpdateOptions,
  io: Context['io'],
): Promise<BroadcastsUpdateBody['template']> {
  const { template, templateVersion, locale } = options
  const given = {
    ...(await readValues(options.variables, io)),
    ...pairsOf('--var', options.var ?? []),
  }
  const isSame = [template, templateVersion, locale].every((one) => one === undefined)
  if (isSame && Object.keys(given).length === 0) return undefined
  const { name, version, variables } = before
  const kept = {
    name,
    variables: { ...variables, ...given },
    ...(version !== null && { version }),
    ...(before.locale !== null && { locale: before.locale }),
  }
  return {
    ...(template === undefined ? kept : { name: template, variables: given }),
    ...(locale !== undefined && { locale }),
    ...(templateVersion !== undefined && {
      version: numberOf('--template-version', templateVersion),
    }),
  }
}

function addPreview(broadcasts: Command, { io, output }: Context): void {
  const preview = withConnection(
    withAudience(
      broadcasts
        .command('preview')
        .summary('show the size, the price and samples of a broadcast')
        .description('Shows what a broadcast would do now. Nothing is sent or charged.'),
    ),
  ).action(async (template: string, options: AudienceOptions) => {
    const body = await bodyOf(template, options, io)
    const { client } = await connect(options, io)
    const found = await client.broadcasts.preview(body)
    if (output.isJson()) return output.document(found)
    showPreview(output, found.preview)
  })
  withExamples(preview, 'svc broadcasts preview may-news --tag vip --attribute city=Berlin')
}

function addReads(broadcasts: Command, { io, output }: Context): void {
  const list = withConnection(
    withPage(
      broadcasts
        .command('list')
        .summary('list broadcasts, newest first')
        .description('Lists broadcasts, newest first.')
        .addOption(new Option('--status <status>', 'only with this status').choices(STATUSES)),
    ),
  ).action(
    async ({
      page,
      limit,
      status,
      ...options
    }: ConnectionOptions & PageOptions & { status?: Status }) => {
      const { client } = await connect(options, io)
      const found = await client.broadcasts.list({
        ...pageOf({ page, limit }),
        ...(status && { status }),
      })
      listing(output, {
        json: () => found,
        headings: ['STATUS', 'ID', 'NAME', 'CHANNEL', 'TEMPLATE', 'ACCEPTED', 'CREATED'],
        rows: found.broadcasts.map((one) => [
          { text: one.status, style: STYLES[one.status] },
          one.id,
          one.name ?? '',
          one.channel,
          one.template.name,
          String(one.counts.accepted),
          one.created_at,
        ]),
        none: 'No broadcasts.',
        paging: pagingOf(found.pagination, 'broadcast'),
      })
    },
  )
  withExamples(list, 'svc broadcasts list --status running')

  const show = withConnection(
    broadcasts
      .command('show')
      .summary('show a broadcast, its progress and its results')
      .description('Shows a broadcast, its progress, and what happened to its messages.')
      .argument('<broadcast_id>', 'the id of the broadcast'),
  ).action(async (id: string, options: ConnectionOptions) => {
    const { client } = await connect(options, io)
    const found = await client.broadcasts.get(id)
    if (output.isJson()) return output.document(found)
    const { broadcast, results } = found
    const { counts, pause } = broadcast
    const { failures, credits_refunded, ...states } = results
    const shown = { ...states, failed: states.failed - states.canceled }
    const { audience, contacts } = counts
    output.fields([
      ['id', broadcast.id],
      ['name', broadcast.name],
      ['status', { text: broadcast.status, style: STYLES[broadcast.status] }],
      ['paused', pause && `${pause.reason}: ${pause.message}`],
      ['channel', broadcast.channel],
      ['template', templateText(broadcast.template)],
      ['audience', JSON.stringify(broadcast.audience)],
      ['rate', broadcast.rate === null ? null : `${broadcast.rate} a minute`],
      ['contacts', audience === null ? String(contacts) : `${contacts} of ${audience}`],
      ['accepted', String(counts.accepted)],
      ['suppressed', String(counts.suppressed)],
      ['no address', String(counts.no_address)],
      ['rejected', String(counts.rejected)],
      ...Object.entries(shown).map(([state, count]): [string, Cell] => [state, String(count)]),
      ...failures.map(({ error_code, count }): [string, Cell] => [
        'failed by',
        `${error_code ?? 'unknown'}: ${count}`,
      ]),
      ['credits', String(broadcast.credits_used)],
      ['refunded', String(credits_refunded)],
      ['created', broadcast.created_at],
      ['scheduled', scheduleText(broadcast)],
      ...departureFields(broadcast.departures),
      ['started', broadcast.started_at],
      ['ended', broadcast.finished_at],
    ])
  })
  withExamples(show, `svc broadcasts show ${ID}`)
}

/** A command that changes the state of one broadcast. */
interface Change {
  name: 'pause' | 'resume' | 'cancel'
  summary: string
  description: string
  /** The question that the command asks without `--yes`; null if it asks no question. */
  question: ((id: string) => string) | null
}

function addChange(
  broadcasts: Command,
  { io, output }: Context,
  { name, summary, description, question }: Change,
): void {
  const command = withConnection(
    broadcasts
      .command(name)
      .summary(summary)
      .description(description)
      .argument('<broadcast_id>', 'the id of the broadcast'),
  ).action(async (id: string, { yes, ...options }: ConnectionOptions & { yes?: boolean }) => {
    if (question && !yes) await confirm(io, question(printable(id)))
    const { client } = await connect(options, io)
    const changed = await client.broadcasts[name](id)
    if (output.isJson()) return output.document(changed)
    const { status } = changed.broadcast
    output.row([{ text: status, style: STYLES[status] }, changed.broadcast.id])
  })
  if (question) command.option('--yes', 'do not ask')
  withExamples(command, `svc broadcasts ${name} ${ID}${question ? ' --yes' : ''}`)
}

async function bodyOf(
  name: string,
  options: AudienceOptions,
  io: Context['io'],
): Promise<BroadcastsCreateBody> {
  const { channel = 'sms', locale, templateVersion, from, rate, all } = options
  const { tag, excludeTag, attribute, excludeAttribute, localTime } = options
  if (!all && !tag && !attribute)
    throw usage('give --tag or --attribute, or --all for all contacts')
  if (all && (tag || attribute)) throw usage('give --all alone, or --tag and --attribute')
  const variables = {
    ...(await readValues(options.variables, io)),
    ...pairsOf('--var', options.var ?? []),
  }
  return {
    channel,
    template: {
      name,
      variables,
      ...(locale !== undefined && { locale }),
      ...(templateVersion !== undefined && {
        version: numberOf('--template-version', templateVersion),
      }),
    },
    audience: {
      ...(tag && { tags: tag }),
      ...(excludeTag && { exclude_tags: excludeTag }),
      ...(attribute && { attributes: pairsOf('--attribute', attribute) }),
      ...excludedOf(excludeAttribute),
    },
    ...(from !== undefined && { from }),
    ...(localTime !== undefined && {
      scheduled_at: localText(localTime),
      time_zone: 'recipient' as const,
    }),
    ...(rate !== undefined && { rate: numberOf('--rate', rate) }),
  }
}

/** The server checks the rest. An offset would be one of no recipient. */
function localText(text: string): string {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return text
  throw usage(`--local-time must be a time such as 2026-05-04T09:00, got "${printable(text)}"`)
}

/** The server checks the bounds. */
function numberOf(option: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw usage(`${option} must be a number from 1, got "${printable(text)}"`)
}

const STYLES: Record<Status, StyleName> = {
  draft: 'dim',
  scheduled: 'yellow',
  running: 'yellow',
  paused: 'red',
  finished: 'green',
  canceled: 'dim',
}

function totalOf({ sendable, credits_needed, is_estimate }: BroadcastPreview): string {
  const about = is_estimate ? 'about ' : ''
  return `${about}${counted(sendable, 'message')} for ${about}${counted(credits_needed, 'credit')}`
}

function showPreview(output: Output, preview: BroadcastPreview): void {
  const { contacts, sendable, suppressed, no_address, rejected, samples, faults } = preview
  output.fields([
    ['template', templateText(preview.template)],
    ['contacts', String(contacts)],
    ['messages', String(sendable)],
    ['suppressed', String(suppressed)],
    ['no address', String(no_address)],
    ['rejected', String(rejected)],
    ['credits', String(preview.credits_needed)],
    ['balance', String(preview.credits_balance)],
    ...departureFields(preview.departures),
  ])
  for (const { to, content } of samples) {
    const { subject, text, ...rest } = content as { subject?: string; text?: string }
    output.line()
    output.line(output.style('bold', printable(to)))
    if (subject !== undefined) output.line(`Subject: ${printable(subject)}`)
    const shown = text ?? JSON.stringify(rest)
    for (const line of shown.split('\n')) output.line(printable(line))
  }
  for (const { contact_id, message } of faults) {
    output.note(`contact ${contact_id} is rejected: ${printable(message)}`)
  }
  if (preview.is_estimate) output.note('The audience is large: messages and credits are estimates.')
}

function scheduleText({ scheduled_at, time_zone }: Broadcast): string | null {
  if (scheduled_at === null || time_zone === null) return scheduled_at
  return `${scheduled_at.slice(0, -1)}, local time of each recipient`
}

function departureFields(departures: Broadcast['departures']): [string, Cell][] {
  return (departures ?? []).map(({ at, messages, time_zones }) => [
    `at ${at}`,
    `${counted(messages, 'message')}: ${printable(time_zones.join(', '))}`,
  ])
}

function templateText({
  name,
  version,
  locale,
}: {
  name: string
  version: number | null
  locale: string | null
}): string {
  const numbered = version === null ? 'the latest version' : `version ${version}`
  return [name, numbered, ...(locale === null ? [] : [locale])].join(', ')
}
