import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { builders, SMS_PRICE, testRuntime } from '../../test/fixtures.ts'
import { migratedFolder } from '../../test/migrated-file.ts'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { type Units, units } from '../contract/fields/units.ts'
import { QUOTAS } from '../contract/limits.ts'
import { createPricing, DEFAULT_PRICES } from '../prices/price.ts'

import type { Account } from '../rules/decide.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { openSqlite } from '../storage/sqlite/sqlite.ts'
import { spendingOf } from './acceptance.ts'
import { estimateOf, recipientsOfSend } from './estimate.ts'

const runtime = testRuntime('estimate')
const make = builders(runtime)
let folder: string
let storage: Storage
beforeEach(async () => {
  folder = await migratedFolder('svc-estimate-')
  storage = openSqlite(join(folder, 'svc.db'), runtime)
})
afterEach(async () => {
  await storage.close()
  rmSync(folder, { recursive: true })
})

type Terms = Pick<Account, 'credit_limit' | 'status'>

async function workspaceWith(balance: number, daily_limit: Units | null = null): Promise<string> {
  const row = make.workspace()
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(row)
    await credits.open(row.id, runtime.now(), { daily_limit })
    await credits.post(row.id, make.grant(units(balance)))
  })
  return row.id
}

const DEBT = { credit_limit: SMS_PRICE }
const FROZEN = { status: 'frozen' } as const

/** Block reason, messages sent before (the balance pays for two), terms of the account, daily limit in messages. */
const CASES: [string | null, number, Partial<Terms>, number | null][] = [
  [null, 1, {}, null],
  [null, 2, DEBT, null],
  [null, 1, {}, 2],
  ['insufficient_credits', 2, {}, null],
  ['insufficient_credits', 3, DEBT, null],
  ['insufficient_credits', 2, {}, 2],
  ['daily_limit', 1, {}, 1],
  ['account_frozen', 1, FROZEN, null],
  ['account_frozen', 1, FROZEN, 1],
]

it.each(CASES)(
  'predicts the result of the send, %s: %d sent before, %j, %j a day',
  async (reason, spent, terms, limit) => {
    const workspace_id = await workspaceWith(2 * SMS_PRICE)
    const identity: KeyIdentity = {
      workspace_id,
      api_key_id: 'key',
      scopes: [],
      mode: 'live',
      daily_credit_limit: limit === null ? null : units(limit * SMS_PRICE),
    }
    const at = runtime.now()
    const spending = spendingOf(identity, at)
    const send = async () =>
      (await storage.hot.accept([{ ...make.send(workspace_id), spending }]))[0]?.outcome
    const set = (changed: Partial<Terms>) =>
      storage.write(({ credits }) =>
        credits.setTerms(
          workspace_id,
          { credit_limit: units(0), status: 'active', ...changed },
          at,
        ),
      )
    await set(DEBT)
    for (let i = 0; i < spent; i++) expect(await send()).toBe('accepted')
    await set(terms)

    const request = { channel: 'sms', to: '+14155552671', content: { text: 'x' } } as const
    const found = recipientsOfSend(request, [{ address: request.to, role: 'to', path: 'to' }], {
      priceOf: createPricing(DEFAULT_PRICES),
      countryFault: null,
    })
    const estimate = await estimateOf({ storage, quotas: QUOTAS }, identity, {
      channel: 'sms',
      found,
      isStrict: true,
      at,
    })
    expect(estimate).toMatchObject({ block_reason: reason, can_send: reason === null })
    expect(await send()).toBe(reason ?? 'accepted')
  },
)

it('counts the spending of a server whose clock is ahead, after midnight, as a send does', async () => {
  const workspace_id = await workspaceWith(2 * SMS_PRICE, units(SMS_PRICE))
  const identity: KeyIdentity = {
    workspace_id,
    api_key_id: 'key',
    scopes: [],
    mode: 'live',
    daily_credit_limit: null,
  }
  const at = runtime.now()
  const tomorrow = new Date(at.getTime() + 24 * 3_600_000)
  const send = async (when: Date) => {
    const request = make.send(workspace_id)
    const debit = request.debit && { ...request.debit, at: when }
    return (await storage.hot.accept([{ ...request, debit }]))[0]?.outcome
  }
  expect(await send(tomorrow)).toBe('accepted')
  const request = { channel: 'sms', to: '+14155552671', content: { text: 'x' } } as const
  const found = recipientsOfSend(request, [{ address: request.to, role: 'to', path: 'to' }], {
    priceOf: createPricing(DEFAULT_PRICES),
    countryFault: null,
  })
  const estimate = await estimateOf({ storage, quotas: QUOTAS }, identity, {
    channel: 'sms',
    found,
    isStrict: true,
    at,
  })
  expect(estimate).toMatchObject({ block_reason: 'daily_limit', can_send: false })
  expect(await send(at)).toBe('daily_limit')
})
