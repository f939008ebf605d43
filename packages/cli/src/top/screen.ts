import type { Channel } from '@svc/core/contract'
import {
  agoText,
  countedText,
  countText,
  creditsText,
  durationText,
  type Finding,
  findingsOf,
  type History,
  pauseText,
  type Reading,
  rateText,
  SERIES,
  sparkline,
  type Troubles,
} from '@svc/core/operate'
import {
  column,
  columnRight,
  cut,
  printable,
  type Style,
  type TerminalSize,
  textWidth,
  wrapped,
} from '../show/text.ts'

/** The data that `svc top` shows. */
export interface TopData {
  /** The latest reading; null before the first one. */
  reading: Reading | null
  history: History
  /** The outage of the database with its error; null if there is none. */
  outage: { since: Date; now: Date; text: string } | null
}

/** The choices of the user. */
interface ViewState {
  channel: Channel | null
  filter: string
  isPaused: boolean
  selected_id: string | null
  /** The failures that match the filter, newest first. */
  failures: readonly FailedMessage[]
}

/** A terminal with fewer rows shows no blank lines between sections, so that there is room for failures. */
const AIRY_ROWS = 34

/** The screen without its last line. It has `rows - 2` lines, so that one line of the terminal stays free. */
export function screenLines(
  data: TopData,
  state: ViewState,
  { columns, rows }: TerminalSize,
  style: Style,
): string[] {
  const height = Math.max(1, rows - 2)
  const { reading, history, outage } = data
  const head = [titleLine(data, state, columns, style), ...outageLines(outage, columns, style)]
  if (!reading) {
    return exactly(outage ? head : [...head, 'Waiting for the database…'], height)
  }
  const { channel } = state
  const section: Section = { reading, history, channel, columns, style }
  const isAiry = rows >= AIRY_ROWS
  const details = isAiry ? 5 : 1
  const blocks = [
    [...head, ...stateLines(section, isAiry ? 6 : 3)],
    rateLines(section),
    queueLines(section),
    stockLines(section, details),
  ]
  const above = blocks.flatMap((block, i) => (isAiry || i === 0 ? [...block, ''] : block))
  if (!isAiry) above.push('')
  return exactly([...above, ...failureLines(section, state, height - above.length)], height)
}

function titleLine({ reading }: TopData, state: ViewState, columns: number, style: Style): string {
  const { channel, filter, isPaused } = state
  const at = reading ? `${reading.overview.at.toISOString().slice(11, 19)} UTC` : ''
  const parts = [
    isPaused ? 'paused' : null,
    channel === null ? null : `only ${channel}`,
    filter === '' ? null : `filter "${printable(filter)}"`,
    at,
  ]
  const right = cut(parts.filter(Boolean).join(' · '), Math.max(0, columns - 10))
  return `${style('bold', column('svc top', columns - textWidth(right)))}${right}`
}

function outageLines(outage: TopData['outage'], columns: number, style: Style): string[] {
  if (!outage) return []
  const { since, now, text } = outage
  const duration = durationText(now.getTime() - since.getTime())
  const line = `✗ The database does not answer for ${duration}; retrying. ${printable(text)}`
  return wrapped(line, columns)
    .slice(0, 2)
    .map((each) => style('red', each))
}

function failureLines(
  { reading, columns, style }: Section,
  { failures, filter, selected_id }: ViewState,
  height: number,
): string[] {
  const all = reading.troubles.failures.length
  const count =
    filter === ''
      ? `the newest ${countText(all)}`
      : `${countText(failures.length)} of the newest ${countText(all)}`
  if (all === 0) return [style('dim', 'FAILURES'), 'No message has failed.'].slice(0, height)
  const head = [
    style('dim', cut(`FAILURES  ${count}`, columns)),
    style('dim', failureHeading(columns)),
  ]
  const room = Math.max(1, height - head.length)
  const selected = Math.max(
    0,
    failures.findIndex(({ id }) => id === selected_id),
  )
  const from = Math.max(0, Math.min(selected - Math.floor(room / 2), failures.length - room))
  const now = reading.overview.at
  const lines = failures
    .slice(from, from + room)
    .map((failure, i) =>
      failureLine(failure, { isSelected: from + i === selected, columns, now, style }),
    )
  return [...head, ...lines]
}

/** Returns exactly `height` lines: it removes lines or adds empty lines, so that the lines below do not move. */
export function exactly(lines: readonly string[], height: number): string[] {
  return Array.from({ length: height }, (_, i) => lines[i] ?? '')
}

/** The input of a section. The lines of a section fit into `columns`, and the section makes foreign texts printable. */
interface Section {
  reading: Reading
  history: History
  channel: Channel | null
  columns: number
  style: Style
}

const NAME_COLUMNS = 12
const NUMBER_COLUMNS = 10
const SPARK_COLUMNS_MAX = 60

/** At most `max` lines with the findings, or one line that says that all is well. */
function stateLines({ reading, history, columns, style }: Section, max: number): string[] {
  const findings = findingsOf(reading, history)
  if (findings.length === 0) return [style('green', '✓ No findings.')]
  const shown = findings.length > max ? findings.slice(0, max - 1) : findings
  const more = findings.length - shown.length
  const lines = shown.map((finding) => findingLine(finding, columns, style))
  return more === 0 ? lines : [...lines, style('dim', `  and ${more} more: make the window larger`)]
}

/** One finding, with `✗` for a problem and `!` for a notice. */
function findingLine({ severity, text }: Finding, columns: number, style: Style): string {
  const [colour, mark] =
    severity === 'problem' ? (['red', '✗'] as const) : (['yellow', '!'] as const)
  return style(colour, cut(`${mark} ${printable(text)}`, columns))
}

/** The rates of accepted, sent, delivered and failed messages, now and in the last minutes. */
function rateLines({ history, channel, columns, style }: Section): string[] {
  const rates = history.rates(channel)
  const room = columns - NAME_COLUMNS - 2 * NUMBER_COLUMNS - 2
  const spark = Math.min(SPARK_COLUMNS_MAX, Math.max(0, room))
  const head = [
    column(channel === null ? 'MESSAGES' : channel.toUpperCase(), NAME_COLUMNS),
    columnRight('per second', NUMBER_COLUMNS),
    '  ',
    column('last 5 minutes', spark),
    columnRight('total', NUMBER_COLUMNS),
  ]
  const lines = SERIES.map((series) => {
    const parts = history.parts(series, channel, spark)
    const isBad = series === 'failed' && (rates?.failed ?? 0) > 0
    const rate = columnRight(rateText(rates?.[series] ?? null), NUMBER_COLUMNS)
    const bars = column(sparkline(parts), spark)
    const all = columnRight(countText(history.total(series, channel)), NUMBER_COLUMNS)
    const name = column(series, NAME_COLUMNS)
    return `${name}${isBad ? style('red', rate) : rate}  ${isBad ? style('red', bars) : bars}${all}`
  })
  return [style('dim', head.join('')), ...lines]
}

/** The queues of messages and deliveries. */
function queueLines({ reading, style }: Section): string[] {
  const { at, message_queue, delivery_queue } = reading.overview
  const cells = (name: string, values: readonly string[]) =>
    column(name, NAME_COLUMNS) + values.map((value) => columnRight(value, NUMBER_COLUMNS)).join('')
  const queue = ({ waiting, due, oldest_due_at }: typeof delivery_queue) => [
    countText(waiting),
    countText(due),
    agoText(oldest_due_at, at),
  ]
  const unknown = columnRight(countText(message_queue.unknown), NUMBER_COLUMNS)
  return [
    style('dim', cells('QUEUES', ['waiting', 'due', 'due for', 'unknown'])),
    cells('messages', queue(message_queue)) +
      (message_queue.unknown > 0 ? style('yellow', unknown) : unknown),
    cells('deliveries', queue(delivery_queue)),
  ]
}

/** One line each for providers, webhooks and credits, and at most `max` lines for each list of troubles. */
function stockLines(section: Section, max: number): string[] {
  const { reading, columns, style } = section
  const { credits, webhooks } = reading.overview
  const label = (name: string, text: string) =>
    style('dim', column(name, NAME_COLUMNS)) + cut(text, columns - NAME_COLUMNS)
  const frozen = credits.frozen > 0 ? ` (${countText(credits.frozen)} frozen)` : ''
  return [
    label('PROVIDERS', providersText(reading)),
    ...troubles(pausedProviders(reading), section, max),
    label(
      'WEBHOOKS',
      `${countText(webhooks.active)} active, ${countText(webhooks.failing)} failing, ${countText(webhooks.disabled)} disabled`,
    ),
    ...troubles(troubledWebhooks(reading), section, max),
    label(
      'CREDITS',
      `${creditsText(credits.balance - credits.held)} available in ${countedText(credits.workspaces, 'workspace')}${frozen}, ${creditsText(credits.held)} held`,
    ),
  ]
}

function troubles(texts: readonly string[], { columns, style }: Section, max: number): string[] {
  const shown = texts.length > max ? texts.slice(0, Math.max(0, max - 1)) : texts
  const lines = shown.map((text) => style('yellow', cut(`  ${printable(text)}`, columns)))
  if (shown.length === texts.length || max === 0) return lines
  return [...lines, style('dim', `  and ${countText(texts.length - shown.length)} more`)]
}

function providersText({ overview, troubles: { providers } }: Reading): string {
  if (providers.length === 0) {
    const queues = overview.provider_queues.filter(({ provider }) => provider !== 'sandbox')
    const names = queues.map(({ provider }) => provider).join(', ')
    return names === ''
      ? 'none configured here: the sandbox serves every channel'
      : `not in the settings of this command; the queue has messages for ${printable(names)}`
  }
  const isPaused = ({ pauses }: (typeof providers)[number]) => pauses.some((p) => p.sender === '')
  const paused = providers.filter(isPaused).length
  const names = providers.map((each) => (isPaused(each) ? `${each.name} (paused)` : each.name))
  return `${providers.length - paused} of ${providers.length} active: ${printable(names.join(', '))}`
}

function pausedProviders({ overview, troubles: { providers } }: Reading): string[] {
  return providers.flatMap(({ name, pauses }) =>
    pauses.map((pause) => `${name}: ${pauseText(pause, overview.at)}`),
  )
}

function troubledWebhooks({ overview, troubles: { webhooks } }: Reading): string[] {
  return webhooks.map((webhook) => {
    const { status, url, disabled_reason, consecutive_failures, last_failure_at } = webhook
    const reason =
      status === 'disabled'
        ? (disabled_reason ?? 'by its owner')
        : `${countText(consecutive_failures)} in a row, the last ${agoText(last_failure_at, overview.at)} ago`
    return `${status} (${reason}): ${url}`
  })
}

/** A failed message of a reading. */
export type FailedMessage = Troubles['failures'][number]

const MARK = '› '
const AGO_COLUMNS = 8
const CHANNEL_COLUMNS = 10
const ID_COLUMNS = 38
const PROVIDER_COLUMNS = 14

/** Whether a failure contains a text in its recipient, channel, code, message, provider, workspace or id. */
export function hasText(failure: FailedMessage, text: string): boolean {
  const needle = text.toLowerCase()
  const { recipient, channel, error_code, error_message, provider, workspace_id, id } = failure
  const parts = [recipient, channel, error_code, error_message, provider, workspace_id, id]
  return parts.some((part) => part?.toLowerCase().includes(needle))
}

/** The headings of the failures; wider terminals show more columns. */
function failureHeading(columns: number): string {
  return cut(row(MARK.replace('›', ' '), HEADINGS, columns), columns)
}

/** A failure in one line of at most `columns` columns. */
function failureLine(
  failure: FailedMessage,
  {
    isSelected,
    columns,
    now,
    style,
  }: { isSelected: boolean; columns: number; now: Date; style: Style },
): string {
  const { failed_at, created_at, channel, recipient, error_code, error_message } = failure
  const texts = {
    ago: agoText(failed_at ?? created_at, now),
    channel,
    recipient: printable(recipient),
    code: printable(error_code ?? ''),
    provider: printable(failure.provider ?? '-'),
    workspace: printable(failure.workspace_id),
    message: printable(error_message ?? ''),
  }
  const line = cut(row(isSelected ? MARK : '  ', texts, columns), columns)
  return isSelected ? style('bold', line) : line
}

type Texts = Record<
  'ago' | 'channel' | 'recipient' | 'code' | 'provider' | 'workspace' | 'message',
  string
>

const HEADINGS: Texts = {
  ago: 'AGO',
  channel: 'CHANNEL',
  recipient: 'RECIPIENT',
  code: 'ERROR',
  provider: 'PROVIDER',
  workspace: 'WORKSPACE',
  message: 'MESSAGE',
}

function row(mark: string, texts: Texts, columns: number): string {
  const { ago, channel, recipient, code, provider, workspace, message } = texts
  const isWide = columns >= 150
  const parts = [
    column(ago, AGO_COLUMNS),
    column(channel, CHANNEL_COLUMNS),
    `${column(recipient, isWide ? 27 : 19)} `,
    `${column(code, isWide ? 23 : 19)} `,
    isWide ? `${column(provider, PROVIDER_COLUMNS)} ${column(workspace, ID_COLUMNS)}` : '',
    message,
  ]
  return mark + parts.join('')
}
