import { afterAll, beforeAll, expect, test } from 'vitest'
import { LETTERS } from '../proof/slow-inputs/inputs.ts'
import { mails, PLAIN, readSlowly } from '../proof/slow-inputs/mails.ts'
import { openTrial, type Trial } from '../proof/slow-inputs/run.ts'

/** The maximum ratio of an input's event loop delay to that of plain letters of the same length. */
const TIMES = 15
/** Shorter delays are noise of the machine. */
const NOTHING_MS = 5
/** Each input is sent several times, which takes half a minute on a busy machine. */
const LIMIT_MS = 120_000

let trial: Trial
beforeAll(async () => {
  trial = await openTrial({ quick: true, route: 'POST /api/v1/', suspect_ms: 20 })
}, LIMIT_MS)
afterAll(() => trial.close())

test.each([
  ['/api/v1/messages/bulk', 'unusual JSON'],
  ['/api/v1/auth/signup', 'unusual JSON'],
  ['/api/v1/contacts/import', 'many contacts or values'],
  ['/api/v1/templates/preview', 'much work of a template'],
  ['/api/v1/templates/push', 'much work of a template'],
])(
  'no body for %s keeps the event loop busy much longer than letters of the same length: %s',
  async (path, kind) => {
    const all = trial.inputs.filter((input) => input.path === path && input.body !== undefined)
    const inputs = all.filter(({ is_syntax = false }) => is_syntax === (kind === 'unusual JSON'))
    const letters = all.find(({ name }) => name === LETTERS)
    expect(inputs.length).toBeGreaterThan(9)
    const usual = Math.max(NOTHING_MS, letters ? (await trial.attempt(letters)).delay_ms : 0)
    const slow = []
    for (const input of inputs) {
      const { delay_ms } = await trial.attempt(input, TIMES * usual)
      if (delay_ms > TIMES * usual) slow.push([input.name, Math.round(delay_ms / usual)])
    }
    expect(slow).toEqual([])
  },
  LIMIT_MS,
)

test(
  'no mail keeps the event loop busy much longer than letters of the same length',
  async () => {
    const plain = await readSlowly(PLAIN, 0)
    const usual = Math.max(NOTHING_MS, ...plain.map(({ delay_ms }) => delay_ms))
    const slow = []
    for (const mail of mails({ quick: true, seed: 1 })) {
      for (const { reader, name, delay_ms } of await readSlowly(mail, TIMES * usual)) {
        if (delay_ms > TIMES * usual) slow.push([reader, name, Math.round(delay_ms / usual)])
      }
    }
    expect(slow).toEqual([])
  },
  LIMIT_MS,
)
