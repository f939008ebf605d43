import type {
  CodeVerification,
  VerificationsStartBody,
  VerificationsStartData,
  VerificationsStatsData,
} from '@svc/client'
import { type Command, Option } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { onWorkspace, operatorOf } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { pairsOf } from '../messages/send-request.ts'
import { Failure, usage } from '../process/failure.ts'
import { listing, type PageOptions, pageOf, pagingOf, withPage } from '../show/listing.ts'
import type { Cell, Output } from '../show/output.ts'
import { counted, printable, type StyleName } from '../show/text.ts'
import { readCredits } from './credits-change.ts'

type Channel = CodeVerification['channel']
type Status = CodeVerification['status']
type Totals = VerificationsStatsData['total']

interface StartOptions extends ConnectionOptions {
  channel?: Channel
  locale?: string
  codeLength?: string
  expiresIn?: string
  template?: string
  var?: string[]
  approvedTemplate?: string
  domain?: string
  appHash?: string
  clientIp?: string
  metadata?: string[]
  from?: string
  fallback?: string[]
  fallbackAfter?: string
}

interface ListOptions extends ConnectionOptions, PageOptions {
  status?: Status
  channel?: Channel
  to?: string
}

const CHANNELS: readonly Channel[] = ['sms', 'whatsapp', 'email', 'voice']

const STYLES: Record<Status, StyleName> = {
  pending: 'yellow',
  approved: 'green',
  expired: 'dim',
  canceled: 'dim',
  max_attempts: 'red',
  external: 'dim',
}
const STATUSES = Object.keys(STYLES) as Status[]

const ONE = 'the id of the verification'
const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** Adds `svc verify`: one-time codes. */
export function addVerify(program: Command, context: Context): void {
  const verify = program
    .command('verify')
    .summary('send one-time codes and check them')
    .description(
      `Sends one-time codes to phone numbers and e-mail addresses, and checks the codes that people give. Each message with a code
costs what a message of its channel costs; a check costs nothing. The API key needs the scope send_messages, and read_messages to
list and show. With a test key nothing is sent, and the answer contains the code.

svc webhooks verify verifies the signature of a webhook.`,
    )
  withExamples(
    verify,
    'svc verify start +15005550006 --channel sms',
    'svc verify check +15005550006 482913',
  )
  addStart(verify, context)
  addCheck(verify, context)
  addChanges(verify, context)
  addReads(verify, context)
  addAllow(verify, context)
  addLimits(verify, context)
}

function addStart(verify: Command, context: Context): void {
  const start = withConnection(
    verify
      .command('start')
      .summary('send a code to an address')
      .description(
        `Sends a code to an address. The default channel is sms for a phone number, and email for an e-mail address. While a code for
the address is pending, the same code is sent again, after a wait that the answer shows; before that nothing is sent.`,
      )
      .argument('<to>', 'the phone number in E.164, or the e-mail address')
      .addOption(
        new Option('--channel <channel>', 'how the code is sent (default: see above)').choices(
          CHANNELS,
        ),
      )
      .option('--locale <locale>', 'the language of the text, such as de-AT (default: en)')
      .option('--code-length <n>', 'the number of digits, 4 to 10 (default: 6)')
      .option('--expires-in <seconds>', 'how long the code is valid, 60 to 3600 (default: 600)')
      .option('--template <name>', 'the stored template of the text; it has {{code}}')
      .option('--var <name=value...>', 'the other values of the stored template')
      .option('--approved-template <name>', 'the authentication template at WhatsApp')
      .option('--domain <site>', 'only sms: the site whose form browsers fill in (WebOTP)')
      .option('--app-hash <hash>', 'only sms: the hash of the Android app that reads the code')
      .option('--from <sender>', 'the sender')
      .option('--client-ip <address>', "the address of the person's device, which is limited")
      .option('--metadata <key=value...>', 'your own keys and values, in the record and in events')
      .option(
        '--fallback <channels...>',
        'the next channels if the message is not delivered, such as voice email:asha@example.com',
      )
      .option(
        '--fallback-after <seconds>',
        'the wait until the next channel, 10 to 600 (default: 30)',
      ),
  ).action((to: string, options: StartOptions) => startOne(context, to, options))
  withExamples(
    start,
    'svc verify start +15005550006 --channel voice --locale de',
    'svc verify start +15005550006 --fallback voice email:asha@example.com --fallback-after 20',
    'svc verify start asha@example.com --code-length 8 --expires-in 900',
    'svc verify start +15005550006 --template login-code --var shop=Dodoma --locale de',
    'svc verify start +15005550006 --domain shop.example --client-ip 192.0.2.7 --metadata user=U7',
  )
}

function addCheck(verify: Command, context: Context): void {
  const check = withConnection(
    verify
      .command('check')
      .summary('check the code that a person gives')
      .description(
        `Checks a code. Exits with 0 if it is right, and with 1 otherwise. A right code ends the verification, so it works once;
too many wrong codes end it too.`,
      )
      .argument('<id-or-to>', 'the id of the verification, or the address that got the code')
      .argument('<code>', 'the code; blanks and hyphens are ignored'),
  ).action((of: string, code: string, options: ConnectionOptions) =>
    checkOne(context, { of, code }, options),
  )
  withExamples(check, 'svc verify check +15005550006 482913', `svc verify check ${ID} 482913`)
}

function addChanges(verify: Command, context: Context): void {
  const resend = withConnection(
    verify
      .command('resend')
      .summary('send the code of a pending verification again')
      .description(
        'Sends the code of a pending verification again, by the same channel or by another one for phone numbers.',
      )
      .argument('<id>', ONE)
      .addOption(
        new Option('--channel <channel>', 'another channel: sms, whatsapp or voice').choices(
          CHANNELS,
        ),
      ),
  ).action((id: string, options: ConnectionOptions & { channel?: Channel }) =>
    resendOne(context, id, options),
  )
  withExamples(resend, `svc verify resend ${ID} --channel voice`)

  const cancel = withConnection(
    verify
      .command('cancel')
      .summary('make the code of a pending verification invalid')
      .description(
        'Cancels a pending verification, after a confirmation: its code is not valid any more. A message that was sent stays paid.',
      )
      .argument('<id>', ONE)
      .option('--yes', 'do not ask'),
  ).action((id: string, options: ConnectionOptions & { yes?: boolean }) =>
    cancelOne(context, id, options),
  )
  withExamples(cancel, `svc verify cancel ${ID} --yes`)
}

function addReads(verify: Command, context: Context): void {
  const list = withConnection(
    withPage(
      verify
        .command('list')
        .summary('list verifications, newest first')
        .description('Lists verifications, newest first.')
        .addOption(new Option('--status <status>', 'only this status').choices(STATUSES))
        .addOption(new Option('--channel <channel>', 'only this channel').choices(CHANNELS))
        .option('--to <address>', 'only this phone number or e-mail address'),
    ),
  ).action((options: ListOptions) => listAll(context, options))
  withExamples(
    list,
    'svc verify list --status max_attempts',
    'svc verify list --to +15005550006 --json',
  )

  const show = withConnection(
    verify
      .command('show')
      .summary('show one verification')
      .description('Shows one verification. Its code is in no record.')
      .argument('<id>', ONE),
  ).action(async (id: string, options: ConnectionOptions) => {
    const { client } = await connect(options, context.io)
    const { output } = context
    const found = await client.verifications.get(id)
    if (output.isJson()) output.document(found)
    else showVerification(output, found.verification)
  })
  withExamples(show, `svc verify show ${ID}`)

  const stats = withConnection(
    verify
      .command('stats')
      .summary('count codes and approvals by country')
      .description(
        `Counts the live messages with codes to phone numbers of the last days, and their approvals, by country. A low conversion in
one country is the sign of pumping: bots that request codes to numbers that earn from them. Such a country is paused.`,
      )
      .option('--days <n>', 'the period until now, 1 to 30 days (default: 7)'),
  ).action((options: ConnectionOptions & { days?: string }) => showStats(context, options))
  withExamples(stats, 'svc verify stats --days 1', 'svc verify stats --json')
}

function addAllow(verify: Command, context: Context): void {
  const { io, output } = context
  const allow = verify
    .command('allow')
    .summary('allow codes to a country, also if it is paused (operator)')
    .description(
      `Allows the codes of a workspace to a country for some hours, whatever is approved. It ends a pause; what was counted before
is forgotten then. It works on the database, the server may run meanwhile, and the audit log has an entry.`,
    )
    .argument('<workspace>', 'the id or the e-mail address of the workspace')
    .argument('<country>', 'ISO 3166-1, such as TZ; ZZ for numbers of no country')
    .option('--hours <n>', 'for how long, 1 to 720', '24')
    .action(async (selector: string, given: string, { hours: text }: { hours: string }) => {
      const hours = numberOf('--hours', text)
      const country = given.toUpperCase()
      const workspace = await onWorkspace(io, selector, async (core, workspace) => {
        await core.verifications.allow(workspace.id, country, hours, operatorOf(io))
        return workspace
      })
      if (output.isJson()) {
        return output.document({ workspace_id: workspace.id, country, hours })
      }
      output.line(
        `Codes of ${workspace.email} to ${country} are allowed for ${counted(hours, 'hour')}.`,
      )
    })
  withExamples(allow, 'svc verify allow ops@example.com TZ --hours 24')
}

interface LimitsOptions {
  dailyCredits?: string
  countries?: string
}

function addLimits(verify: Command, context: Context): void {
  const limits = verify
    .command('limits')
    .summary("show or change a workspace's limits for codes (operator)")
    .description(
      `Shows the limits of a workspace for its one-time codes, after the change if an option asks for one: the credits that it may
spend on them in a day (UTC), and the countries to whose numbers they are sent. The owner changes them with PUT /api/v1/account. It works on the
database, the server may run meanwhile, and the audit log has an entry for each change.`,
    )
    .argument('<workspace>', 'the id or the e-mail address of the workspace')
    .option('--daily-credits <credits>', 'the most credits for codes in a day (UTC), or none')
    .option('--countries <codes>', 'the only countries, such as TZ,KE, or all')
    .action((selector: string, options: LimitsOptions) => setLimits(context, selector, options))
  withExamples(
    limits,
    'svc verify limits ops@example.com --daily-credits 50 --countries TZ,KE',
    'svc verify limits ops@example.com --daily-credits none --countries all',
  )
}

async function setLimits(
  { io, output }: Context,
  selector: string,
  { dailyCredits, countries }: LimitsOptions,
): Promise<void> {
  const { creditsOf } = await import('@svc/core/contract')
  const change = {
    ...(dailyCredits !== undefined && {
      verification_daily_credits:
        dailyCredits === 'none'
          ? null
          : creditsOf(await readCredits('--daily-credits', dailyCredits)),
    }),
    ...(countries !== undefined && {
      verification_countries: countries === 'all' ? null : codesOf(countries),
    }),
  }
  const workspace = await onWorkspace(io, selector, (core, { id }) =>
    core.workspaces.update(id, change, operatorOf(io)),
  )
  const { id, verification_daily_credits: daily, verification_countries: only } = workspace
  if (output.isJson()) {
    return output.document({
      workspace_id: id,
      verification_daily_credits: daily === null ? null : creditsOf(daily),
      verification_countries: only,
    })
  }
  output.fields([
    ['workspace', workspace.email],
    ['credits for codes a day', daily === null ? 'no limit' : String(creditsOf(daily))],
    ['countries', only === null ? 'all' : only.join(', ')],
  ])
}

/** @throws Failure for a text that is no list of countries. */
function codesOf(text: string): string[] {
  const codes = text.split(',').map((code) => code.trim().toUpperCase())
  const wrong = codes.find((code) => !/^[A-Z]{2}$/.test(code))
  if (wrong === undefined) return codes
  throw usage(`--countries: "${printable(wrong)}" is not a code of two letters, such as TZ`)
}

async function startOne({ io, output }: Context, to: string, options: StartOptions): Promise<void> {
  const body = startOf(to, options)
  const { client } = await connect(options, io)
  const started = await client.verifications.start(body)
  if (output.isJson()) output.document(started)
  else showStarted(output, started)
}

/** The request of the options. @throws Failure for options that exclude each other. */
function startOf(
  to: string,
  {
    channel,
    locale,
    codeLength,
    expiresIn,
    template,
    var: values,
    approvedTemplate,
    domain,
    appHash,
    from,
    clientIp,
    metadata,
    fallback,
    fallbackAfter,
  }: StartOptions,
): VerificationsStartBody {
  if (template !== undefined && approvedTemplate !== undefined) {
    throw usage('give one of --template and --approved-template')
  }
  if (values && template === undefined) throw usage('--var needs --template')
  return {
    to,
    channel: channel ?? (to.includes('@') ? 'email' : 'sms'),
    ...(locale !== undefined && { locale }),
    ...(codeLength !== undefined && { code_length: numberOf('--code-length', codeLength) }),
    ...(expiresIn !== undefined && { expires_in: numberOf('--expires-in', expiresIn) }),
    ...(template !== undefined && {
      template: { name: template, ...(values && { variables: pairsOf('--var', values) }) },
    }),
    ...(approvedTemplate !== undefined && { template: approvedTemplate }),
    ...(domain !== undefined && { domain }),
    ...(appHash !== undefined && { app_hash: appHash }),
    ...(from !== undefined && { from }),
    ...(clientIp !== undefined && { client_ip: clientIp }),
    ...(metadata && { metadata: pairsOf('--metadata', metadata) }),
    ...(fallback && { fallback: fallback.map(stepOf) }),
    ...(fallbackAfter !== undefined && {
      fallback_after: numberOf('--fallback-after', fallbackAfter),
    }),
  }
}

/** A channel, and its address if it needs another one: `voice`, `email:asha@example.com`. */
function stepOf(text: string): { channel: Channel; to?: string } {
  const [name = '', ...rest] = text.split(':')
  const channel = CHANNELS.find((one) => one === name)
  if (!channel) {
    throw usage(`--fallback: "${printable(text)}" does not begin with ${CHANNELS.join(', ')}`)
  }
  return rest.length > 0 ? { channel, to: rest.join(':') } : { channel }
}

/** The server checks the bounds. */
function numberOf(option: string, text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  throw usage(`${option} must be a whole number, got "${printable(text)}"`)
}

async function resendOne(
  { io, output }: Context,
  id: string,
  { channel, ...options }: ConnectionOptions & { channel?: Channel },
): Promise<void> {
  const { client } = await connect(options, io)
  const started = await client.verifications.resend(id, channel ? { channel } : {})
  if (output.isJson()) output.document(started)
  else showStarted(output, started)
}

function showStarted(output: Output, started: VerificationsStartData): void {
  const { verification_id, status, to, channel, expires_at, next_send_at, test_code } = started
  output.fields([
    ['id', verification_id],
    ['status', statusCell(status)],
    ['to', to],
    ['channel', channel],
    ['expires', expires_at],
    ['next send', next_send_at],
    ['credits', String(started.credits_used)],
    ['message', started.message_id],
    ['test code', test_code ?? null],
  ])
  output.note(`Check the code: svc verify check ${verification_id} ${test_code ?? '<code>'}`)
}

async function checkOne(
  { io, output }: Context,
  { of, code }: { of: string; code: string },
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const checked = UUID.test(of)
    ? await client.verifications.check(of, { code })
    : await client.verifications.checkAddress({ to: of, code })
  const { verification_id, status, attempts_left } = checked
  if (output.isJson()) output.document(checked)
  else output.row([statusCell(status), verification_id])
  if (status === 'approved') return
  const left = `${counted(attempts_left, 'attempt')} left`
  const text = status === 'pending' ? `the code is wrong: ${left}` : `the verification is ${status}`
  throw new Failure('not_approved', text)
}

async function cancelOne(
  { io, output }: Context,
  id: string,
  { yes, ...options }: ConnectionOptions & { yes?: boolean },
): Promise<void> {
  if (!yes) await confirm(io, `Cancel the verification ${printable(id)}?`)
  const { client } = await connect(options, io)
  const canceled = await client.verifications.cancel(id)
  if (output.isJson()) return output.document(canceled)
  output.row([statusCell(canceled.verification.status), id])
}

async function listAll(
  { io, output }: Context,
  { status, channel, to, page, limit, ...options }: ListOptions,
): Promise<void> {
  const { client } = await connect(options, io)
  const filter = { status, channel, to }
  const found = await client.verifications.list({ ...filter, ...pageOf({ page, limit }) })
  listing(output, {
    json: () => found,
    headings: ['ID', 'STATUS', 'CHANNEL', 'TO', 'SENT', 'WRONG', 'STARTED'],
    rows: found.verifications.map((one) => [
      one.id,
      statusCell(one.status),
      one.channel,
      one.to,
      String(one.messages_sent),
      String(one.attempts),
      one.created_at,
    ]),
    none: 'No verifications: svc verify start <to> sends a code.',
    paging: pagingOf(found.pagination, 'verification'),
  })
}

async function showStats(
  { io, output }: Context,
  { days, ...options }: ConnectionOptions & { days?: string },
): Promise<void> {
  const { client } = await connect(options, io)
  const query = days === undefined ? {} : { days: numberOf('--days', days) }
  const found = await client.verifications.stats(query)
  const paused = new Set(found.paused.flatMap((one) => (one.is_active ? [one.country] : [])))
  const rowOf = (country: string, { sent, approved, conversion, credits_used }: Totals): Cell[] => [
    country,
    String(sent),
    String(approved),
    conversion === null ? '' : `${Math.round(conversion * 100)} %`,
    String(credits_used),
    paused.has(country) ? { text: 'paused', style: 'red' } : '',
  ]
  const rows = found.countries.map((one) => rowOf(one.country, one))
  const { total } = found
  listing(output, {
    json: () => found,
    headings: ['COUNTRY', 'SENT', 'APPROVED', 'CONVERSION', 'CREDITS', ''],
    rows: rows.length > 0 ? [...rows, rowOf('total', total)] : [],
    none: 'No live codes to phone numbers in this period.',
    paging: { is_empty: rows.length === 0, more: null },
  })
  const { requested, sent, delivered, approved } = found.funnel.total
  if (requested > 0) {
    output.note(
      `${counted(requested, 'verification')}: ${sent} sent, ${delivered} delivered, ${approved} approved.`,
    )
  }
  for (const { country, sent, approved, paused_at, ends_at, is_active } of found.paused) {
    const counts = `${approved} of ${sent} messages were approved`
    output.note(
      is_active
        ? `${country} is paused since ${paused_at}, until ${ends_at} or until codes are approved: ${counts}. svc verify allow ends the pause.`
        : `The pause of ${country} has ended. It began at ${paused_at}, when ${counts}.`,
    )
  }
}

function showVerification(output: Output, one: CodeVerification): void {
  output.fields([
    ['id', one.id],
    ['status', statusCell(one.status)],
    ['to', one.to],
    ['channel', one.channel],
    ['locale', one.locale],
    ['mode', one.livemode ? 'live' : 'test'],
    ['wrong codes', `${one.attempts} (${one.attempts_left} left)`],
    ['messages', String(one.messages_sent)],
    ['last message', one.message_id],
    ['next channel', one.fallback[0]?.channel ?? null],
    ['next try', one.next_fallback_at],
    ['credits', String(one.credits_used)],
    ['started', one.created_at],
    ['expires', one.expires_at],
    ['ended', one.ended_at],
  ])
}

function statusCell(status: Status): Cell {
  return { text: status, style: STYLES[status] }
}
