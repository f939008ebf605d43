import { expect, it } from 'vitest'
import { UNITS_MAX, units } from '../../src/contract/fields/units.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

/** Workspaces, API keys, accounts and webhooks: what goes in comes out, and what must be unique is. */
export function accountsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  it('gives a workspace back as it was stored, with every field and with none', async () => {
    const { make, storage } = bench
    const full = make.workspace({
      name: 'Żółw & Söhne 🐢',
      email_verified: true,
      token_version: 7,
      phone: '+255700000001',
      country: 'TZ',
      sender_name: 'Żółw',
      created_at: new Date('2026-02-28T23:59:59.999Z'),
    })
    const bare = make.workspace()
    await storage.write(async ({ workspaces }) => {
      await workspaces.insert(full)
      await workspaces.insert(bare)
    })
    expect(await storage.read.workspaces.byId(full.id)).toEqual(full)
    expect(await storage.read.workspaces.byId(bare.id)).toEqual(bare)
    expect(await storage.read.workspaces.byId('missing')).toBeNull()
    const names = await storage.read.workspaces.namesOf([bare.id, 'missing', bare.id])
    expect(names).toEqual([{ id: bare.id, name: bare.name }])
  })

  it('finds a workspace by its address in any case, and refuses the address a second time', async () => {
    const { make, storage } = bench
    const first = make.workspace({ email: 'Asha@Example.com' })
    const second = make.workspace({ email: 'aSHA@eXAMPLE.COM' })
    const inserted = (row: typeof first) =>
      storage.write(({ workspaces }) => workspaces.insert(row))

    expect(await inserted(first)).toBe(true)
    expect(await inserted(second)).toBe(false)

    expect(await storage.read.workspaces.byEmail('ASHA@example.COM')).toEqual(first)
    expect(await storage.read.workspaces.byId(second.id)).toBeNull()
    expect(await storage.read.workspaces.byEmail('ash@example.com')).toBeNull()
  })

  it('lets one of many simultaneous sign-ups have the address', async () => {
    const { make, storage } = bench
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const row = make.workspace({ email: i % 2 ? 'race@example.com' : 'RACE@example.com' })
        return storage.write(({ workspaces }) => workspaces.insert(row))
      }),
    )
    expect(results.filter(Boolean)).toHaveLength(1)
    expect(await storage.read.workspaces.list(EVERYTHING)).toHaveLength(1)
  })

  it('gives an API key back as it was stored, and finds it by its hash alone', async () => {
    const { make, storage } = bench
    const workspaceId = await bench.workspace()
    const full = make.apiKey(workspaceId, {
      mode: 'test',
      scopes: [],
      is_active: false,
      expires_at: new Date('2027-01-01T00:00:00.001Z'),
      allowed_ips: ['10.0.0.0/8', '::1/128'],
      daily_credit_limit: units(2_500_000),
      last_used_at: new Date('2026-05-04T08:00:00.000Z'),
    })
    const bare = make.apiKey(workspaceId)
    await storage.write(async ({ apiKeys }) => {
      await apiKeys.insert(full)
      await apiKeys.insert(bare)
    })
    expect(await storage.hot.findApiKey(full.key_hash)).toEqual(full)
    expect(await storage.hot.findApiKey(bare.key_hash)).toEqual(bare)
    expect(await storage.hot.findApiKey(bare.key_hash.replace(/^./, 'x'))).toBeNull()
    expect(await storage.read.apiKeys.list(workspaceId, EVERYTHING)).toEqual([bare, full])
  })

  it('refuses a second key with the same hash', async () => {
    const { make, storage } = bench
    const mine = make.apiKey(await bench.workspace())
    const theirs = make.apiKey(await bench.workspace(), { key_hash: mine.key_hash })
    await storage.write(({ apiKeys }) => apiKeys.insert(mine))
    await expect(storage.write(({ apiKeys }) => apiKeys.insert(theirs))).rejects.toThrow()
    expect(await storage.hot.findApiKey(mine.key_hash)).toEqual(mine)
  })

  it('shows a key as deactivated at once, and deactivating again is not an error', async () => {
    const { make, storage } = bench
    const key = make.apiKey(await bench.workspace())
    const { id, workspace_id } = key
    await storage.write(({ apiKeys }) => apiKeys.insert(key))
    const deactivate = (keyId: string) =>
      storage.write(({ apiKeys }) => apiKeys.deactivate(workspace_id, keyId))

    expect(await deactivate(id)).toBe(true)
    expect(await storage.hot.findApiKey(key.key_hash)).toEqual({ ...key, is_active: false })
    expect(await deactivate(id)).toBe(true)
    expect(await deactivate('no such key')).toBe(false)
  })

  it('deactivates all keys and disables all webhooks of one workspace', async () => {
    const { make, storage } = bench
    const [mine, theirs] = [await bench.workspace(), await bench.workspace()]
    const keys = [make.apiKey(mine), make.apiKey(mine), make.apiKey(mine, { is_active: false })]
    const other = make.apiKey(theirs)
    await storage.write(async ({ apiKeys }) => {
      for (const key of [...keys, other]) await apiKeys.insert(key)
    })
    const off = { is_active: false, status: 'disabled', disabled_reason: 'manual' } as const
    const hooks = [await bench.webhook(mine), await bench.webhook(mine, off)]
    const foreign = await bench.webhook(theirs)
    const at = bench.clock.advance(1_000)
    const end = () =>
      storage.write(async ({ apiKeys, webhooks }) => [
        await apiKeys.deactivateAll(mine),
        await webhooks.disableAll(mine, { reason: 'email_verified', at }),
      ])
    expect(await end()).toEqual([2, 1])
    expect(await end()).toEqual([0, 0])
    for (const { key_hash } of keys) {
      expect((await storage.hot.findApiKey(key_hash))?.is_active).toBe(false)
    }
    expect(await storage.hot.findApiKey(other.key_hash)).toEqual(other)
    const { webhooks } = storage.read
    const [first, second] = hooks as [(typeof hooks)[0], (typeof hooks)[0]]
    const disabled = {
      ...{ ...off, disabled_reason: 'email_verified' },
      ...{ disabled_at: at, updated_at: at },
    }
    expect(await webhooks.byId(mine, first.id)).toEqual({ ...first, ...disabled })
    expect(await webhooks.byId(mine, second.id)).toEqual(second)
    expect(await webhooks.byId(theirs, foreign.id)).toEqual(foreign)
  })

  it('moves the last use of a key forward, never back', async () => {
    const { make, storage } = bench
    const key = make.apiKey(await bench.workspace())
    const other = make.apiKey(key.workspace_id)
    await storage.write(async ({ apiKeys }) => {
      await apiKeys.insert(key)
      await apiKeys.insert(other)
    })
    const { id, workspace_id } = key
    const touch = async (...times: string[]) => {
      const uses = times.map((at) => ({ workspace_id, id, at: new Date(at) }))
      await storage.write(({ apiKeys }) => apiKeys.touch(uses))
      return (await storage.hot.findApiKey(key.key_hash))?.last_used_at?.toISOString()
    }
    expect(await touch('2026-05-04T09:00:01.500Z')).toBe('2026-05-04T09:00:01.500Z')
    expect(await touch('2026-05-04T09:00:01.499Z')).toBe('2026-05-04T09:00:01.500Z')
    expect(await touch('2026-05-04T09:00:02.000Z', '2026-05-04T09:00:01.900Z')).toBe(
      '2026-05-04T09:00:02.000Z',
    )
    expect((await storage.hot.findApiKey(other.key_hash))?.last_used_at).toBeNull()
  })

  it('gives a webhook back as it was stored', async () => {
    const workspaceId = await bench.workspace()
    const full = await bench.webhook(workspaceId, {
      description: 'orders',
      events: ['message.sent', 'message.failed'],
      headers: { Authorization: 'Bearer ✓', 'X-Empty': '' },
      is_active: false,
      status: 'disabled',
      disabled_reason: 'gone',
      consecutive_failures: 3,
      last_success_at: new Date('2026-05-01T00:00:00.123Z'),
      last_failure_at: new Date('2026-05-02T00:00:00.456Z'),
    })
    const bare = await bench.webhook(workspaceId)
    const { webhooks } = bench.storage.read
    expect(await webhooks.byId(workspaceId, full.id)).toEqual(full)
    expect(await webhooks.list(workspaceId, EVERYTHING)).toEqual([bare, full])
  })

  it('opens an account empty and books on it up to the cap, to the last micro-credit', async () => {
    const workspaceId = await bench.workspace(0)
    const empty = { workspace_id: workspaceId, balance: 0, held: 0, credit_limit: 0, seq: 0 }
    expect(await bench.account(workspaceId)).toMatchObject({ ...empty, status: 'active' })

    const grant = bench.make.grant(units(UNITS_MAX), { description: 'all there is' })
    const decision = await bench.storage.write(({ credits }) => credits.post(workspaceId, grant))

    expect(decision).toMatchObject({ ok: true, account: { balance: UNITS_MAX, seq: 1 } })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: UNITS_MAX, seq: 1 })
    const entry = only(await bench.ledger(workspaceId))
    expect(entry).toEqual({
      id: grant.id,
      workspace_id: workspaceId,
      seq: 1,
      kind: 'grant',
      amount: UNITS_MAX,
      held_delta: 0,
      balance_after: UNITS_MAX,
      held_after: 0,
      counter_account: 'promo:test',
      ref_type: 'grant',
      ref_id: grant.id,
      ref_n: 0,
      channel: null,
      quantity: null,
      unit_price: null,
      resolves: null,
      actor: 'operator',
      description: 'all there is',
      created_at: grant.at,
    })
    if (!decision.ok) throw new Error('unreachable: it was booked')
    expect('entry' in decision && decision.entry).toEqual(entry)
    expect(await bench.storage.read.credits.account('missing')).toBeNull()
  })

  it('books a business fact once, however often and however simultaneously it is posted', async () => {
    const workspaceId = await bench.workspace(0)
    const reference = { type: 'signup', id: workspaceId, n: 0 }
    const post = () =>
      bench.storage.write(({ credits }) =>
        credits.post(workspaceId, bench.make.grant(SMS_PRICE, { reference })),
      )
    const decisions = await Promise.all(Array.from({ length: 10 }, post))
    decisions.push(await post())

    const entry = only(await bench.ledger(workspaceId))
    expect(await bench.account(workspaceId)).toMatchObject({ balance: SMS_PRICE, seq: 1 })
    expect(decisions.filter((decision) => 'entry' in decision)).toHaveLength(1)
    for (const decision of decisions) {
      if ('repeated' in decision) expect(decision.repeated).toEqual(entry)
    }
  })

  it('distinguishes facts by kind, type, id and number', async () => {
    const workspaceId = await bench.workspace(0)
    const reference = { type: 'purchase', id: 'p1', n: 0 }
    const facts = [
      { kind: 'purchase', reference },
      { kind: 'grant', reference },
      { kind: 'grant', reference: { ...reference, type: 'signup' } },
      { kind: 'grant', reference: { ...reference, id: 'p2' } },
      { kind: 'grant', reference: { ...reference, n: 1 } },
    ] as const
    await bench.storage.write(async ({ credits }) => {
      for (const fact of facts) await credits.post(workspaceId, bench.make.grant(SMS_PRICE, fact))
    })
    const ledger = await bench.ledger(workspaceId)
    expect(ledger.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 5 * SMS_PRICE, seq: 5 })
  })

  it('refuses to post what the account cannot pay, and changes nothing', async () => {
    const workspaceId = await bench.workspace(1)
    const before = [await bench.account(workspaceId), await bench.ledger(workspaceId)]
    const send = bench.make.grant(units(-2 * SMS_PRICE), { kind: 'send' })
    const decision = await bench.storage.write(({ credits }) => credits.post(workspaceId, send))
    expect(decision).toEqual({
      ok: false,
      reason: 'insufficient_credits',
      required: 2 * SMS_PRICE,
      available: SMS_PRICE,
    })
    expect([await bench.account(workspaceId), await bench.ledger(workspaceId)]).toEqual(before)
  })

  it('refuses to post for a workspace without an account', async () => {
    const grant = bench.make.grant(SMS_PRICE)
    await expect(
      bench.storage.write(({ credits }) => credits.post('missing', grant)),
    ).rejects.toThrow('missing has no credit account')
  })

  it('keeps what is held apart from what is owned', async () => {
    const workspaceId = await bench.workspace(3)
    const post = (kind: 'hold' | 'settle' | 'void', amount: number, held_delta: number) =>
      bench.storage.write(({ credits }) =>
        credits.post(
          workspaceId,
          bench.make.grant(units(amount), { kind, held_delta: units(held_delta) }),
        ),
      )
    await post('hold', 0, 2 * SMS_PRICE)
    expect(await bench.account(workspaceId)).toMatchObject({
      balance: 3 * SMS_PRICE,
      held: 2 * SMS_PRICE,
    })
    expect(await post('hold', 0, 2 * SMS_PRICE)).toMatchObject({ ok: false, available: SMS_PRICE })
    await post('settle', -SMS_PRICE, -SMS_PRICE)
    await post('void', 0, -SMS_PRICE)
    expect(await bench.account(workspaceId)).toMatchObject({
      balance: 2 * SMS_PRICE,
      held: 0,
      seq: 4,
    })
  })
}
