import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createCore } from '../src/core.ts'
import type { CoreOptions } from '../src/core-options.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-options-'))
const file = join(folder, 'svc.db')

afterAll(() => rmSync(folder, { recursive: true }))

it.each<[Partial<CoreOptions>, string]>([
  [{ database_url: 'mysql://x' }, 'database_url must begin with file: or postgres:, not mysql:'],
  [{ database_url: 'postgres://[x' }, 'database_url is not a valid postgres:// address'],
  [{ signup_credits: 'many' }, 'signup_credits: '],
  [{ signup_daily_limit: 'much' }, 'signup_daily_limit: '],
  [{ low_balance: 'low' }, 'low_balance: '],
  [{ prices: { sms: 'cheap' } }, 'prices: sms: '],
  [{ quotas: { webhooks: 0 } }, 'quotas: webhooks '],
  [{ bulk_recipients_max: 0 }, 'bulk_recipients_max '],
])('%o is refused by the name of the option, and opens nothing', async (options, text) => {
  const error = await createCore({ database_url: `file:${file}`, ...options }).catch((e) => e)
  expect(error.message.slice(0, text.length)).toBe(text)
  expect(error.message).not.toContain('SVC_')
  expect(existsSync(file)).toBe(false)
})
