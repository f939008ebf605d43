import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Account, sms } from '../accounts.ts'
import { openTwoApps, type TwoApps } from './two-apps.ts'

let apps: TwoApps
let owner: Account
let key: string
beforeAll(async () => {
  apps = await openTwoApps({
    general: { max: 1_000, window_s: 60 },
    workspace: { max: 1_000, window_s: 60 },
  })
  owner = await apps.signup({ credits: 100 })
  key = (await apps.key(owner)).key
})
afterAll(() => apps?.close())

const send = (i: number, idempotencyKey: string) =>
  apps.at(i).call('POST', '/api/v1/messages/send', {
    key,
    json: sms,
    headers: { 'idempotency-key': idempotencyKey },
  })

it('concurrent requests with one key at two servers send one message, and all get its answer', async () => {
  const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => send(i, 'one')))
  expect(new Set(answers.map(({ status }) => status))).toStrictEqual(new Set([201]))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  const replayed = answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true')
  expect(replayed).toHaveLength(59)
  expect(await apps.balance(owner)).toBe(99)
})

it('a request that waits longer than 10 s for another gets 429, and its repetition the answer', async () => {
  const other = await apps.connect()
  await other.query('begin')
  await other.query('select 1 from credit_accounts where workspace_id = $1 for update', [owner.id])
  const begun = performance.now()
  const answers = await Promise.all([send(0, 'slow'), send(1, 'slow'), send(0, 'slow')])
  const took_ms = performance.now() - begun
  await other.query('rollback')
  await other.end()
  expect(answers.map(({ status }) => status)).toStrictEqual([429, 429, 429])
  expect(took_ms).toBeGreaterThan(9_400)
  const after = await Promise.all([send(0, 'slow'), send(1, 'slow')])
  expect(after.map(({ status }) => status)).toStrictEqual([201, 201])
  expect(new Set(after.map(({ text }) => text)).size).toBe(1)
  expect(await apps.balance(owner)).toBe(98)
})
