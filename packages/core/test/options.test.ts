import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createCore } from '../src/core.ts'
import type { CoreOptions } from '../src/core-options.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-options-'))
const file = join(folder, 'svc.db')
let count = 0

afterAll(() => rmSync(folder, { recursive: true }))

it.each<[string, Partial<CoreOptions>, number]>([
  ['at signup without a mailer', {}, 5_000_000],
  ['at verification with a mailer', { mailer: { send: async () => {} } }, 0],
  [
    'when the option signup_credits_on says',
    { mailer: { send: async () => {} }, signup_credits_on: 'signup' },
    5_000_000,
  ],
])('credits come %s', async (_, options, credits) => {
  const database_url = `file:${join(folder, `${++count}.db`)}`
  const core = await createCore({ database_url, threads: 0, signup_credits: '5', ...options })
  const request = { email: 'a@example.com', password: 'long enough', company_name: 'Company' }
  expect((await core.workspaces.signup(request)).credits_balance).toBe(credits)
  await core.close()
})

it.each<[Partial<CoreOptions>, string]>([
  [{ database_url: 'mysql://x' }, 'database_url must begin with file: or postgres:, not mysql:'],
  [{ database_url: 'postgres://[x' }, 'database_url is not a valid postgres:// address'],
  [{ signup_credits: 'many' }, 'signup_credits: '],
  [{ signup_daily_limit: 'much' }, 'signup_daily_limit: '],
  [{ low_balance: 'low' }, 'low_balance: '],
  [{ prices: { sms: 'cheap' } }, 'prices: sms: '],
  [{ quotas: { webhooks: 0 } }, 'quotas: webhooks '],
  [{ bulk_recipients_max: 0 }, 'bulk_recipients_max '],
])(
  '%o is refused with the name of the option before the database is opened',
  async (options, text) => {
    const error = await createCore({ database_url: `file:${file}`, ...options }).catch((e) => e)
    expect(error.message.slice(0, text.length)).toBe(text)
    expect(error.message).not.toContain('SVC_')
    expect(existsSync(file)).toBe(false)
  },
)
