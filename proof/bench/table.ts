import { markdownOf } from '../stage/table.ts'
import { amount, type Figure, isBounded, reaches } from './figure.ts'

/** One line of the summary: a figure of a bench, and its limits. */
export interface Row {
  what: string
  /** The bench that measures it. */
  bench: string
  /** The name of its figure; or the pattern of several names, of which the worst figure counts. */
  figure: string | RegExp
  unit: Figure['unit']
  floor: number
  goal: number
}

type Columns = [what: string, figure: Row['figure'], unit: Row['unit'], floor: number, goal: number]

/** The lines of each bench. `÷` is a ratio of speeds, where more is better; `:` of durations, where less is better. */
const LINES: Record<string, Columns[]> = {
  accept: [
    ['accept ÷ bare Fastify, SQLite', 'accept', 'x', 0.5, 0.6],
    ['accept while dispatching ÷ bare Fastify', 'accept, dispatching', 'x', 0.3, 0.35],
    ['accept ÷ the least durable steps, SQLite', 'accept, against the limit', 'x', 0.6, 0.8],
    [
      'accept while dispatching, flush + 3 ms ÷ without',
      'accept, dispatching, flush + 3 ms',
      'x',
      0.7,
      0.8,
    ],
    [
      'accept while dispatching, flush + 8 ms ÷ without',
      'accept, dispatching, flush + 8 ms',
      'x',
      0.49,
      0.6,
    ],
  ],
  'end-to-end': [
    ['end to end, signed webhook received', 'end-to-end', '/s', 4_000, 6_000],
    ['end to end, HTTP gateway, callbacks', 'end-to-end, through a gateway', '/s', 2_500, 4_000],
    ['end to end, SQLite ÷ BullMQ', 'end-to-end, SQLite against BullMQ', 'x', 1, 2],
    ['end to end, PostgreSQL ÷ BullMQ', 'end-to-end, PostgreSQL against BullMQ', 'x', 0.7, 1],
    ['end to end, PostgreSQL ÷ pg-boss', 'end-to-end, PostgreSQL against pg-boss', 'x', 1.5, 3],
    [
      'end to end, PostgreSQL ÷ graphile-worker',
      'end-to-end, PostgreSQL against graphile-worker',
      'x',
      1.5,
      3,
    ],
  ],
  'postgres-accept': [
    ['accept, PostgreSQL ÷ bare Fastify', 'PostgreSQL, accept', 'x', 0.35, 0.4],
    ['two servers ÷ one, PostgreSQL', 'PostgreSQL, two servers against one', 'x', 0.95, 1.2],
  ],
  turns: [
    [
      'longest turn, bulk of 1,000 mails of 60 KB',
      'longest turn, bulk of 1,000 mails of 60 KB',
      'ms',
      25,
      15,
    ],
  ],
  bulk: [['bulk ÷ bare multi-row insert', 'bulk', 'x', 0.4, 0.5]],
  lists: [['first page, 1,000,000 : 1,000, SQLite', /^lists, /, 'times', 2, 1.2]],
  'postgres-lists': [
    ['first page, 1,000,000 : 1,000, PostgreSQL', /^PostgreSQL, lists, /, 'times', 2, 1.2],
  ],
  codes: [
    ['start of a code : send, by CPU, SQLite', 'codes, start : send', 'times', 1.3, 1],
    ['check of a code : send, by CPU, SQLite', /^codes, check of/, 'times', 0.5, 0.3],
    ['check, 1,000,000 : 1,000 live codes, SQLite', /^codes, check by/, 'times', 1.5, 1.2],
  ],
  'postgres-codes': [
    [
      'start of a code : send, by CPU, PostgreSQL',
      'PostgreSQL, codes, start : send',
      'times',
      1.3,
      1,
    ],
    [
      'check of a code : send, by CPU, PostgreSQL',
      /^PostgreSQL, codes, check of/,
      'times',
      0.5,
      0.3,
    ],
    [
      'check, 1,000,000 : 1,000 live codes, PostgreSQL',
      /^PostgreSQL, codes, check by/,
      'times',
      1.5,
      1.2,
    ],
  ],
  'console-list': [
    ['first paint of the list, 1,000,000 : 1,000', 'console-list, first paint', 'times', 1.5, 1.2],
  ],
  smpp: [
    ['HTTP → SMPP ÷ Kannel, singles', 'smpp, single sends against Kannel', 'x', 0.5, 1],
    ['HTTP → SMPP ÷ Kannel, bulks', 'smpp, bulks against Kannel', 'x', 1, 1.5],
  ],
  smtp: [['mails ÷ nodemailer pool', 'smtp, mails against nodemailer', 'x', 0.9, 1]],
  'compat-twilio': [
    [
      'CPU, send in the form of Twilio : API',
      'compat-twilio, CPU of a send against the API',
      'times',
      1.3,
      1.3,
    ],
  ],
  'slow-gateway': [
    [
      'gateway of 1 s: share of connections ÷ latency',
      'slow-gateway, 1 s, 100 connections',
      'x',
      0.9,
      1,
    ],
  ],
  'smtp-inlet': [
    [
      'SMTP inlet ÷ bare smtp-server',
      'smtp-inlet, one by one, against a bare smtp-server',
      'x',
      0.8,
      1,
    ],
    [
      'SMTP inlet ÷ bare smtp-server, pipelined',
      'smtp-inlet, pipelined, against a bare smtp-server',
      'x',
      0.8,
      1,
    ],
    [
      'SMTP inlet ÷ bare smtp-server, a connection for each mail',
      'smtp-inlet, a connection for each mail, against a bare smtp-server',
      'x',
      0.8,
      1,
    ],
  ],
  'webhook-deliveries': [
    [
      'webhook deliveries, durable',
      'webhook-deliveries, durable, to one local receiver',
      '/s',
      8_000,
      12_000,
    ],
  ],
  backlog: [['accept p99, 200,000 queued : none', /^backlog, p99 /, 'times', 3, 1.5]],
  broadcast: [
    ['p99 of sends beside a broadcast : none', /^broadcast, p99 of sends/, 'times', 1.5, 1.2],
    ['growth of memory in a broadcast', 'broadcast, growth of memory', 'MB', 300, 150],
  ],
  'postgres-broadcast': [
    ['the same, PostgreSQL', /^PostgreSQL, broadcast, p99 of sends/, 'times', 1.5, 1.2],
    ['growth of memory, PostgreSQL', 'PostgreSQL, broadcast, growth of memory', 'MB', 300, 150],
  ],
  'postgres-replica': [
    [
      'a read by replica : at the primary',
      'PostgreSQL, a read by replica against the primary',
      'times',
      2.5,
      1.5,
    ],
  ],
  removal: [
    ['p99 of sends beside a removal of history : none', /^removal, p99/, 'times', 1.5, 1.2],
  ],
  'postgres-removal': [['the same, PostgreSQL', /^PostgreSQL, removal, p99/, 'times', 1.5, 1.2]],
  'postgres-removal-month': [
    ['the same, a month at once', /^PostgreSQL, removal of a month, p99/, 'times', 1.5, 1.2],
  ],
  'send-cpu': [['svc send, CPU above node -e 0', 'svc send, CPU above node -e 0', 'ms', 150, 100]],
  steady: [
    [
      'CPU of 1,000 messages at 100/s, SQLite',
      'steady, CPU for 1,000 messages, SQLite',
      's',
      3.5,
      2,
    ],
    [
      'CPU of 1,000 messages at 100/s, PostgreSQL',
      'steady, CPU for 1,000 messages, PostgreSQL',
      's',
      5,
      3,
    ],
    [
      'p50 to the webhook at 100/s, PostgreSQL',
      'steady, p50 to the webhook, PostgreSQL',
      'ms',
      15,
      6,
    ],
    [
      'p99 to the webhook at 100/s, PostgreSQL',
      'steady, p99 to the webhook, PostgreSQL',
      'ms',
      40,
      20,
    ],
  ],
  startup: [['resident memory of an idle svc dev', 'svc dev, idle', 'MB', 130, 115]],
}

/** The lines of the summary, in the order of the benches. */
export const ROWS: readonly Row[] = Object.entries(LINES).flatMap(([bench, lines]) =>
  lines.map(([what, figure, unit, floor, goal]) => ({ what, bench, figure, unit, floor, goal })),
)

/** The figure with the floor of its line, if it has one. */
export function withFloor(figure: Figure): Figure {
  const row = ROWS.find((each) => isOf(each, figure))
  return row ? { ...figure, floor: row.floor } : figure
}

/** The result of one bench: its figures, or why it failed. */
export type Result = readonly Figure[] | Error

/** The summary in Markdown: a line for each row, also for a figure that is missing. */
export function tableOf(rows: readonly Row[], results: ReadonlyMap<string, Result>): string {
  const lines = rows.map((row) => lineOf(row, results.get(row.bench)))
  return markdownOf([['', 'reached', 'floor', 'goal', '', 'beside it'], ...lines]).join('\n')
}

function lineOf(row: Row, result: Result = []): string[] {
  const { what, unit, floor, goal } = row
  const line = (reached: string, verdict: string, note: string) => {
    return [what, reached, amount(floor, unit), amount(goal, unit), verdict, note]
  }
  if (result instanceof Error) return line('-', 'failed', firstLineOf(result.message))
  const figures = result.filter((figure) => isOf(row, figure))
  const missing = figures.find((figure) => figure.missing !== undefined)
  if (missing) return line('-', 'missing', firstLineOf(missing.missing ?? ''))
  const [worst] = figures.toSorted((a, b) =>
    isBounded(unit) ? b.value - a.value : a.value - b.value,
  )
  if (!worst) return line('-', 'failed', 'the bench has no such figure')
  const verdict = reaches(worst, goal) ? 'goal' : reaches(worst, floor) ? 'floor' : 'MISSED'
  const of = figures.length > 1 ? `the worst of ${figures.length}: ${worst.name}` : ''
  return line(amount(worst.value, unit), verdict, worst.note ?? of)
}

function isOf({ figure: wanted, unit }: Row, figure: Figure): boolean {
  if (figure.unit !== unit) return false
  return typeof wanted === 'string' ? figure.name === wanted : wanted.test(figure.name)
}

function firstLineOf(text: string): string {
  return text.split('\n')[0]?.slice(0, 120) ?? ''
}
