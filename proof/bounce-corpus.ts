/**
 * Reads a folder of bounces as the mail intake does, each as if it had come to the address of a message with one recipient:
 *
 *   node --conditions=source --import tsx proof/bounce-corpus.ts <folder> [--expected <folder>] [--list]
 *
 * Prints how many files are recorded (as a failure, a delay, a delivery or a complaint), dropped, and suppress the recipient.
 * `--expected` is the folder `t` of github.com/sisimai/p5-sisimai, whose tests name the reason of each file of
 * github.com/sisimai/set-of-emails (`maildir/bsd`): with it the script also counts what is right and who is suppressed
 * wrongly. `--list` prints these files. Exits with 1 if fewer than 98 % of the judged files are right.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { reportsOf } from '../packages/core/src/providers/smtp/bounce-outcome.ts'
import { readMailReport } from '../packages/core/src/providers/smtp/bounce-report.ts'

const RIGHT_MIN = 0.98
const ABOUT = {
  workspace_id: '01999c7e-8f5c-7000-8a3b-000000000001',
  message_id: '01999c7e-8f5d-7001-9a3b-000000000001',
}

/** The reason of one recipient in the tests of the corpus. `is_hard`: the address must not get mail again. */
interface Expected {
  reason: string
  is_hard: boolean
}

const KINDS = ['RFC 3464', 'other'] as const
const COUNTS = [
  'files',
  'recorded',
  'dropped',
  'suppressed',
  'judged',
  'right',
  'wrongly suppressed',
] as const
type Row = Record<(typeof COUNTS)[number], number>

const { values, positionals } = parseArgs({
  options: { expected: { type: 'string' }, list: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [folder] = positionals
if (folder === undefined) throw new Error('Name the folder of the bounces')

const expectations = values.expected === undefined ? null : readExpectations(values.expected)
const rows = new Map(KINDS.map((kind) => [kind, emptyRow()]))
for (const file of readdirSync(folder).sort()) await judge(join(folder, file))
print()

async function judge(path: string): Promise<void> {
  const text = readFileSync(path, 'latin1').replace(/\r\n|\r|\n/g, '\r\n')
  const report = await readMailReport(Buffer.from(text, 'latin1'))
  const [found] = report ? reportsOf(report, ABOUT) : []
  const isReport = /^content-type:\s*message\/(?:global-)?delivery-status/im.test(text)
  const row = rows.get(isReport ? 'RFC 3464' : 'other') as Row
  const isSuppressed = found?.type === 'receipt' && found.receipt.suppress !== undefined
  row.files += 1
  row.recorded += found ? 1 : 0
  row.dropped += found ? 0 : 1
  row.suppressed += isSuppressed ? 1 : 0
  const expected = expectations?.get(basename(path).replace(/\.\w+$/, ''))
  if (!expected) return
  const isWronglySuppressed = isSuppressed && !expected.every(mayBeSuppressed)
  const isRight = !isWronglySuppressed && isAs(expected, found)
  row.judged += 1
  row.right += isRight ? 1 : 0
  row['wrongly suppressed'] += isWronglySuppressed ? 1 : 0
  if (values.list && !isRight) {
    const is = isWronglySuppressed ? 'suppressed' : found ? 'recorded' : 'dropped'
    console.log(`${basename(path)}: ${is}, is ${expected.map(({ reason }) => reason).join(', ')}`)
  }
}

/** A mailbox that is suspended or takes no mail is as good as none; the tests of the corpus call it neither hard nor soft. */
function mayBeSuppressed({ reason, is_hard }: Expected): boolean {
  return is_hard || reason === 'suspend' || reason === 'filtered'
}

function isAs(
  expected: Expected[],
  found: ReturnType<typeof reportsOf>[number] | undefined,
): boolean {
  if (expected.every(({ reason }) => reason === 'vacation')) return found === undefined
  if (expected.every(({ reason }) => reason === 'feedback')) return found?.type !== 'receipt'
  if (found?.type !== 'receipt') return false
  const isDelivered = expected.every(({ reason }) => reason === 'delivered')
  return !(isDelivered && found.receipt.status === 'failed')
}

/** Reads `'01' => [['5.1.1', '550', 'userunknown', 1]]` of each test; the name of a test gives the name of the file. */
function readExpectations(tests: string): Map<string, Expected[]> {
  const all = new Map<string, Expected[]>()
  for (const file of readdirSync(tests).filter((name) => name.endsWith('.t'))) {
    const text = readFileSync(join(tests, file), 'utf8')
    const engine = /\$enginename\s*=\s*'(\w+)'/.exec(text)?.[1]?.toLowerCase()
    if (engine === undefined) continue
    const isOwn = ['arf', 'rfc3464', 'rfc3834'].includes(engine)
    const name = isOwn ? engine : `${/-(?:l|r)host-/.exec(file)?.[0].slice(1) ?? ''}${engine}`
    for (const [, number, list = ''] of text.matchAll(/'(\d+)'\s*=>\s*\[((?:\s*\[[^\]]*\],?)+)/g)) {
      const found = [...list.matchAll(/\[([^\]]*)\]/g)].map(([, fields = '']): Expected => {
        const [, , reason = '', hard = ''] = fields.split(',').map((one) => one.trim())
        return { reason: reason.replaceAll("'", ''), is_hard: hard === '1' }
      })
      all.set(`${name}-${number}`, found)
    }
  }
  return all
}

function emptyRow(): Row {
  return Object.fromEntries(COUNTS.map((name) => [name, 0])) as Row
}

function print(): void {
  const total = emptyRow()
  for (const row of rows.values()) for (const name of COUNTS) total[name] += row[name]
  console.table({ ...Object.fromEntries(rows), all: total })
  if (total.right < RIGHT_MIN * total.judged) process.exitCode = 1
}
