import type { Channel } from '@svc/core/contract'
import {
  agoText,
  countedText,
  countText,
  creditsText,
  type Finding,
  findingsOf,
  type History,
  pauseText,
  type Reading,
  rateText,
  SERIES,
  sparkline,
} from '@svc/core/operate'
import type { Style } from '../show/style.ts'
import { column, columnRight, cut, printable } from '../show/text.ts'

/** The input of a section. The lines of a section fit into `columns`, and the section makes foreign texts printable. */
export interface Section {
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
export function stateLines({ reading, history, columns, style }: Section, max: number): string[] {
  const findings = findingsOf(reading, history)
  if (findings.length === 0) return [style('green', '✓ All is well.')]
  const shown = findings.length > max ? findings.slice(0, max - 1) : findings
  const more = findings.length - shown.length
  const lines = shown.map((finding) => findingLine(finding, columns, style))
  return more === 0 ? lines : [...lines, style('dim', `  and ${more} more: make the window larger`)]
}

/** One finding, with `✗` for a problem and `!` for a notice. */
export function findingLine({ severity, text }: Finding, columns: number, style: Style): string {
  const [colour, mark] =
    severity === 'problem' ? (['red', '✗'] as const) : (['yellow', '!'] as const)
  return style(colour, cut(`${mark} ${printable(text)}`, columns))
}

/** The rates of accepted, sent, delivered and failed messages, now and in the last minutes. */
export function rateLines({ history, channel, columns, style }: Section): string[] {
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
export function queueLines({ reading, style }: Section): string[] {
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
export function stockLines(section: Section, max: number): string[] {
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
      `${creditsText(credits.balance)} in ${countedText(credits.workspaces, 'workspace')}${frozen}, ${creditsText(credits.held)} held`,
    ),
  ]
}

function troubles(texts: readonly string[], { columns, style }: Section, max: number): string[] {
  const shown = texts.length > max ? texts.slice(0, Math.max(0, max - 1)) : texts
  const lines = shown.map((text) => style('yellow', cut(`  ${printable(text)}`, columns)))
  if (shown.length === texts.length || max === 0) return lines
  return [...lines, style('dim', `  and ${countText(texts.length - shown.length)} more`)]
}

function providersText({ troubles: { providers } }: Reading): string {
  if (providers.length === 0) return 'none configured here: the sandbox serves every channel'
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
