import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { LIMITS } from '../../src/contract/limits.ts'
import type { MessageRow, VerificationRow } from '../../src/rows/rows.ts'
import type { AcceptRequest } from '../../src/rules/accept.ts'
import { type CodeRequest, ended } from '../../src/rules/verify.ts'
import { idFloor } from '../../src/runtime/runtime.ts'
import { codeSourceOf, withoutCode } from '../../src/secrets/codes.ts'
import { sweepVerifications } from '../../src/verifications/ends.ts'
import { benchFor, type OpenStorage, only } from './bench.ts'

const HOUR_MS = 3_600_000

/** One-time codes: committed with their message and its debit, and limited exactly. */
export function verificationsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  function asking(
    workspaceId: string,
    fields: Partial<VerificationRow> = {},
    resends: string | null = null,
  ): AcceptRequest {
    const verification = bench.make.verification(workspaceId, fields)
    const { recipient, livemode } = verification
    const send = bench.make.send(workspaceId, { recipient, livemode })
    return { ...send, code: { verification, resends, response: () => '' } }
  }
  const accept = (requests: AcceptRequest[]) => bench.storage.hot.accept(requests)
  const outcomes = async (requests: AcceptRequest[]) =>
    (await accept(requests)).map(({ outcome }) => outcome)
  const stored = (of: AcceptRequest) => {
    const { workspace_id, id } = (of.code as { verification: VerificationRow }).verification
    return bench.storage.read.verifications.byId(workspace_id, id)
  }
  const numbers = (count: number, from = 0) =>
    Array.from({ length: count }, (_, i) => `+2557${String(from + i).padStart(8, '0')}`)

  const forget = (workspaceId: string, address: string) =>
    bench.storage.write(({ verifications }) =>
      verifications.forget(workspaceId, address, bench.clock.now()),
    )

  const inAnHour = () => new Date(bench.clock.now().getTime() + HOUR_MS)

  /** Checks a code of a verification, and returns the result. */
  async function check({ workspace_id, livemode, id }: VerificationRow, isRight: boolean) {
    const at = bench.clock.now()
    const [result] = await bench.storage.hot.checkCodes([
      { workspace_id, livemode, of: { id }, isRight: () => isRight, at },
    ])
    return result?.status ?? 'unknown'
  }

  /** Ends a pending verification in a transaction of its own. Returns whether it was pending. */
  function end(
    { workspace_id, id }: VerificationRow,
    status: 'canceled' | 'expired',
  ): Promise<boolean> {
    return bench.storage.write(async ({ verifications }) => {
      const row = await verifications.lock(workspace_id, id)
      if (row?.status !== 'pending') return false
      await verifications.change(ended(row, status, bench.clock.now()))
      return true
    })
  }
  const cancel = (row: VerificationRow) => end(row, 'canceled')
  const expire = (row: VerificationRow) => end(row, 'expired')

  it('begins with the message that carries its code, and the debit', async () => {
    const id = await bench.workspace(units(10_000_000))
    const request = asking(id)
    const [result] = await accept([request])
    const row = await stored(request)
    const message = await bench.message(id, only(request.messages).id)
    expect(result).toEqual({ outcome: 'accepted', verification: row })
    expect(row).toMatchObject({ status: 'pending', message_id: message.id })
    expect(row?.sent_at).toEqual([message.created_at.getTime()])
    expect(row?.credits_used).toBe(message.credits_used)
    expect(codeSourceOf(message.content)).toEqual({ seed: row?.seed, length: 6 })
    expect(await bench.ledger(id)).toHaveLength(2)
  })

  it('stores nothing without the credits for its message', async () => {
    const id = await bench.workspace(0)
    const request = asking(id)
    expect(await outcomes([request])).toEqual(['insufficient_credits'])
    expect(await stored(request)).toBeNull()
    expect(await bench.storage.read.verifications.count(id, {})).toBe(0)
  })

  it('is the answer while its code was just sent, and then sends the same code again', async () => {
    const id = await bench.workspace(units(10_000_000))
    const first = asking(id)
    await accept([first])
    const began = await stored(first)
    expect(await accept([asking(id)])).toEqual([{ outcome: 'code_pending', verification: began }])
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    const again = asking(id)
    expect(await outcomes([again])).toEqual(['accepted'])
    expect(await stored(again)).toBeNull()
    const message = await bench.message(id, only(again.messages).id)
    expect(codeSourceOf(message.content)?.seed).toBe(began?.seed)
    expect(await stored(first)).toMatchObject({
      message_id: message.id,
      credits_used: units(2_000_000),
    })
    // The next wait is twice as long.
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    expect(await outcomes([asking(id)])).toEqual(['code_pending'])
    await bench.reopen()
  })

  it('names the verification that a code of another length ends', async () => {
    const id = await bench.workspace(units(10_000_000))
    const first = asking(id)
    await accept([first])
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    const second = asking(id, { code_length: 8 })
    const results = await accept([second])
    const canceled = await stored(first)
    expect(canceled?.status).toBe('canceled')
    const verification = await stored(second)
    expect(results).toEqual([{ outcome: 'accepted', verification, canceled }])
  })

  it('begins once for simultaneous requests of an address', async () => {
    const id = await bench.workspace(units(10_000_000))
    const results = await Promise.all(Array.from({ length: 8 }, () => outcomes([asking(id)])))
    expect(results.flat().sort()).toEqual(['accepted', ...Array(7).fill('code_pending')])
    expect(await bench.storage.read.verifications.count(id, {})).toBe(1)
    expect(await bench.ledger(id)).toHaveLength(2)
  })

  it('begins anew for a code of another length, after the wait', async () => {
    const id = await bench.workspace(units(10_000_000))
    const first = asking(id)
    await accept([first])
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    const longer = asking(id, { code_length: 8 })
    expect(await outcomes([longer])).toEqual(['accepted'])
    expect(await stored(first)).toMatchObject({ status: 'canceled', seed: null })
    expect(await stored(longer)).toMatchObject({ status: 'pending', code_length: 8 })
    await bench.reopen()
  })

  it('keeps the wait when it ended without an approval', async () => {
    const id = await bench.workspace(units(10_000_000))
    const request = asking(id)
    await accept([request])
    const row = (await stored(request)) as VerificationRow
    await bench.storage.write(({ verifications }) =>
      verifications.change(ended(row, 'canceled', bench.clock.now())),
    )
    expect(await accept([asking(id)])).toEqual([
      { outcome: 'code_limit', of: 'recipient', retry_after_s: LIMITS.verification_cooldown_s },
    ])
  })

  it('waits after the newest request of an address, whatever came before', async () => {
    const id = await bench.workspace(units(10_000_000))
    for (const code_length of [6, 8]) {
      const request = asking(id, { code_length })
      expect(await outcomes([request])).toEqual(['accepted'])
      await cancel((await stored(request)) as VerificationRow)
      if (code_length === 6) bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    }
    expect(await accept([asking(id)])).toEqual([
      { outcome: 'code_limit', of: 'recipient', retry_after_s: LIMITS.verification_cooldown_s },
    ])
  })

  it('ends what the sweeper found only if it is still due', async () => {
    const id = await bench.workspace(units(10_000_000))
    const requests = numbers(2).map((recipient) => asking(id, { recipient }))
    await accept(requests)
    const [ended, early] = (await Promise.all(requests.map(stored))) as VerificationRow[]
    const { storage, clock } = bench
    clock.step(600_000)
    const endedAt = clock.now()
    const { verifications } = storage.read
    /** Between the read and the end of each, one is ended by a check, and the clock is set back. */
    const due: typeof verifications.due = async (now, limit) => {
      const found = await verifications.due(now, limit)
      if (found.length === 2) {
        expect(await check(ended as VerificationRow, true)).toBe('expired')
        clock.step(-1_000)
      }
      return found
    }
    const read = { ...storage.read, verifications: { ...verifications, due } }
    const runtime = { ...clock, log: { debug() {}, info() {}, warn() {}, error() {} } }
    await sweepVerifications({ storage: { ...storage, read }, runtime }, 100, () => false)
    expect(await stored(requests[0] as AcceptRequest)).toMatchObject({
      ...{ status: 'expired', ended_at: endedAt },
    })
    expect(await stored(requests[1] as AcceptRequest)).toMatchObject({ status: 'pending' })
    expect(early?.status).toBe('pending')
  })

  it('answers a repeated request as before, also if the request sent nothing', async () => {
    const id = await bench.workspace(units(10_000_000))
    await accept([asking(id)])
    const idempotency = { route: 'verifications.start', key: 'k', request_hash: 'h', response: '' }
    const request = asking(id)
    const repeated = {
      ...request,
      idempotency,
      code: { ...(request.code as CodeRequest), response: () => 'pending' },
    }
    expect(await outcomes([repeated])).toEqual(['code_pending'])
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    expect(await accept([repeated])).toEqual([{ outcome: 'replayed', response: 'pending' }])
    await bench.reopen()
  })

  it('does not mix workspaces and modes', async () => {
    const [one, other] = [
      await bench.workspace(units(10_000_000)),
      await bench.workspace(units(10_000_000)),
    ]
    expect(
      await outcomes([
        asking(one),
        asking(other),
        { ...asking(one, { livemode: false }), debit: null },
      ]),
    ).toEqual(['accepted', 'accepted', 'accepted'])
  })

  it('sends each further channel once, also for simultaneous requests, until it ends', async () => {
    const id = await bench.workspace(units(20_000_000))
    const steps = { fallback: ['voice', 'email'] as const, other_recipient: 'asha@example.com' }
    const first = asking(id, { ...steps, fallback: [...steps.fallback] })
    await accept([first])
    const due = async () => {
      const found = await bench.storage.read.verifications.dueFallbacks(bench.clock.now(), 10)
      return found.filter(({ row }) => row.workspace_id === id)
    }
    expect(await due()).toEqual([])
    bench.clock.step(LIMITS.verification_fallback_s * 1000)
    const [found] = await due()
    const row = (await stored(first)) as VerificationRow
    expect(found).toEqual({ row, status: 'queued' })
    const next = (of: VerificationRow): AcceptRequest => {
      const send = bench.make.send(id, { channel: 'voice', recipient: of.recipient })
      const verification = { ...of, channel: 'voice' as const }
      const code = { verification, resends: of.id, is_fallback: true, response: () => '' }
      return { ...send, code }
    }
    const results = await Promise.all(
      Array.from({ length: 4 }, () => outcomes([next({ ...row, created_at: bench.clock.now() })])),
    )
    expect(results.flat().sort()).toEqual(['accepted', 'code_over', 'code_over', 'code_over'])
    const after = (await stored(first)) as VerificationRow
    expect(after).toMatchObject({ fallback: ['email'], channel: 'voice', seed: row.seed })
    expect(after.messages?.map(({ channel }) => channel)).toEqual(['sms', 'voice'])
    expect(after.fallback_at?.getTime()).toBe(
      bench.clock.now().getTime() + LIMITS.verification_fallback_s * 1000,
    )
    expect(await bench.ledger(id)).toHaveLength(3)
    expect(await due()).toEqual([])
    await bench.storage.write(({ verifications }) =>
      verifications.change(ended(after, 'approved', bench.clock.now())),
    )
    bench.clock.step(LIMITS.verification_fallback_s * 1000)
    expect(await due()).toEqual([])
    expect(await outcomes([next({ ...after, created_at: bench.clock.now() })])).toEqual([
      'code_over',
    ])
    expect(await bench.ledger(id)).toHaveLength(3)
    await bench.reopen()
  })

  it('has its next channel due at once when its last message fails, and only then', async () => {
    const id = await bench.workspace(units(50_000_000))
    const due = async () => {
      const found = await bench.storage.read.verifications.dueFallbacks(bench.clock.now(), 100)
      return found
        .filter(({ row }) => row.workspace_id === id)
        .map(({ row, status }) => [row.recipient, status])
    }
    const [mailed, other] = ['asha@example.com', '+255700000099']
    const ask = (fields: Partial<VerificationRow>, message: Partial<MessageRow> = {}) => {
      const steps = { fallback: ['voice' as const], options: { fallback_after: 300 } }
      const asked = asking(id, { ...steps, ...fields })
      // A code is not sent after its end.
      const expires_at = new Date(bench.clock.now().getTime() + 600_000)
      Object.assign(only(asked.messages), { expires_at, ...message })
      return asked
    }
    const [plain, ended, earlier, canceled, reported] = numbers(5).map((recipient, n) =>
      ask({ recipient, ...(n === 0 && { fallback: null }) }),
    ) as [AcceptRequest, AcceptRequest, AcceptRequest, AcceptRequest, AcceptRequest]
    const toMail = ask(
      { recipient: mailed, country: null, fallback: ['sms'], other_recipient: other },
      { channel: 'email', recipient: 'Asha@Example.com' },
    )
    const toOther = ask(
      { recipient: 'zoe@example.com', country: null, other_recipient: other },
      { recipient: other },
    )
    const all = [plain, ended, earlier, canceled, reported, toMail, toOther]
    expect(await outcomes(all)).toEqual(all.map(() => 'accepted'))
    await cancel((await stored(ended)) as VerificationRow)
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    const again = ask({ recipient: (await stored(earlier))?.recipient as string })
    expect(await outcomes([again])).toEqual(['accepted'])
    expect(await due()).toEqual([])
    const at = bench.clock.now()
    const message_ids = [plain, ended, earlier, canceled, toMail, toOther].map(
      (of) => only(of.messages).id,
    )
    await bench.storage.hot.cancel({ workspace_id: id, message_ids, at })
    await bench.callback(only(reported.messages), 'sent')
    await bench.callback(only(reported.messages), 'failed')
    const failed = [canceled, reported, toMail, toOther].map(
      (of) => of.code?.verification.recipient,
    )
    expect((await due()).sort()).toEqual(failed.map((one) => [one, 'failed']).sort())
    expect(await stored(canceled)).toMatchObject({ fallback: ['voice'], fallback_at: at })
    // A later failure of the same message does not defer it.
    bench.clock.step(1_000)
    await bench.callback(only(reported.messages), 'delivered')
    expect(await stored(reported)).toMatchObject({ fallback_at: at })
    await bench.reopen()
  })

  it('is found by its second address, and goes on without it', async () => {
    const id = await bench.workspace(units(20_000_000))
    const request = asking(id, {
      fallback: ['email', 'voice'],
      other_recipient: 'asha@example.com',
      options: { to: 'Asha@example.com', app_hash: 'FA+9qCX9VSu' },
    })
    await accept([request])
    const before = await stored(request)
    const found = (address: string) => bench.storage.read.verifications.naming(id, address)
    expect(await found('asha@example.com')).toHaveLength(1)
    expect(await found('+255712345670')).toEqual([])
    expect(await forget(id, 'asha@example.com')).toBe(1)
    expect(await stored(request)).toEqual({
      ...before,
      other_recipient: null,
      fallback: ['voice'],
      options: { app_hash: 'FA+9qCX9VSu' },
    })
    const message_ids = [only(request.messages).id]
    await bench.storage.hot.cancel({ workspace_id: id, message_ids, at: bench.clock.now() })
    expect(await forget(id, before?.recipient ?? '')).toBe(1)
    expect(await stored(request)).toBeNull()
    expect((await bench.message(id, message_ids[0] ?? '')).content).not.toHaveProperty('code')
    await bench.reopen()
  })

  it('stays without its person until the code of its message in flight is removed', async () => {
    const id = await bench.workspace(units(20_000_000))
    const request = asking(id, {
      ...{ fallback: ['email'], other_recipient: 'asha@example.com', metadata: { order: '7' } },
      ...{ options: { to: 'Asha@example.com' }, client_network: '203.0.113.7' },
    })
    await accept([request])
    const before = (await stored(request)) as VerificationRow
    const claimed = await bench.claimMessages()
    const mine = only(claimed.filter(({ workspace_id }) => workspace_id === id))
    bench.clock.step(1_000)
    const at = bench.clock.now()
    expect(await forget(id, before.recipient)).toBe(1)
    const kept = {
      ...before,
      ...{ recipient: 'erased', other_recipient: null, options: {}, metadata: {} },
      ...{ client_network: null, fallback: null, fallback_at: null },
      ...{ status: 'canceled', seed: null, updated_at: at, ended_at: at },
    }
    expect(await stored(request)).toEqual(kept)
    const content = async () => (await bench.message(id, mine.message_id)).content
    expect(await content()).toEqual(mine.content)
    expect(await forget(id, before.recipient)).toBe(0)
    expect(await check(before, true)).toBe('canceled')
    expect(await stored(request)).toEqual(kept)
    const outcome = { type: 'accepted', provider_message_id: 'P', lookup_after_ms: null } as const
    await bench.settle(mine, { task: 'send', attempt: 1, outcome })
    const sweep = () =>
      bench.storage.write(async ({ verifications }) => {
        await verifications.removeCodes(bench.clock.now(), 1_000)
        await verifications.removeEnded({ ended: at, counted: at }, 1_000)
      })
    await sweep()
    expect(await content()).toEqual(withoutCode(mine.content))
    expect(await stored(request)).toBeNull()
    await bench.reopen()
  })

  it('keeps its end when its person is forgotten later', async () => {
    const id = await bench.workspace(units(20_000_000))
    const request = asking(id)
    await accept([request])
    await bench.claimMessages()
    expect(await check((await stored(request)) as VerificationRow, true)).toBe('approved')
    const before = (await stored(request)) as VerificationRow
    bench.clock.step(1_000)
    expect(await forget(id, before.recipient)).toBe(1)
    expect(await stored(request)).toMatchObject({
      ...{ recipient: 'erased', status: 'approved', seed: null },
      ...{ updated_at: before.updated_at, ended_at: before.ended_at },
    })
    await bench.reopen()
  })

  it('is limited for a second address, one after another and in one batch', async () => {
    const id = await bench.workspace(units(50_000_000))
    const max = LIMITS.verification_sends_per_hour
    const second = { channel: 'sms', country: null, other_recipient: '+255712345670' } as const
    const mail = (n: number) => ({ ...second, recipient: `asha${n}@example.com` })
    const begun = Array.from({ length: max + 3 }, (_, n) => asking(id, mail(n)))
    for (const { messages } of begun) only(messages).channel = 'email'
    expect(await outcomes(begun)).toEqual(begun.map(() => 'accepted'))
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    const again = await Promise.all(
      begun.map(async (of) => {
        const row = (await stored(of)) as VerificationRow
        return asking(id, { ...row, created_at: bench.clock.now() }, row.id)
      }),
    )
    expect(await outcomes(again.slice(0, 2))).toEqual(['accepted', 'accepted'])
    expect(await outcomes(again.slice(2))).toEqual([
      ...Array(max - 2).fill('accepted'),
      ...Array(3).fill('code_limit'),
    ])
    const other = asking(id, { recipient: 'zoe@example.com', other_recipient: '+255712345671' })
    expect(await outcomes([other])).toEqual(['accepted'])
    // The address itself may not ask for more either, but one with e-mails only may.
    const own = asking(id, { recipient: second.other_recipient })
    expect(await outcomes([own])).toEqual(['code_limit'])
    const [mailed] = begun.map(({ code }) => code?.verification.recipient as string)
    const asks = asking(id, { recipient: '+255712345672', other_recipient: mailed as string })
    expect(await outcomes([asks])).toEqual(['accepted'])
    const tested = asking(id, { recipient: second.other_recipient, livemode: false })
    expect(await outcomes([{ ...tested, debit: null }])).toEqual(['accepted'])
    await bench.reopen()
  })

  it('is limited for an address that is the first and the second one in one batch', async () => {
    const id = await bench.workspace(units(50_000_000))
    const address = '+255712345670'
    const own = asking(id, { recipient: address })
    const asSecond = (n: number) =>
      asking(id, { recipient: `asha${n}@example.com`, country: null, other_recipient: address })
    const max = LIMITS.verification_sends_per_hour
    const all = [own, ...Array.from({ length: max }, (_, n) => asSecond(n))]
    expect(await outcomes(all)).toEqual([...Array(max).fill('accepted'), 'code_limit'])
    await cancel((await stored(own)) as VerificationRow)
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    expect(await outcomes([asSecond(max + 1)])).toEqual(['code_limit'])
    expect(await outcomes([asking(id, { recipient: address })])).toEqual(['code_limit'])
  })

  it('is limited for an address in an hour', async () => {
    const id = await bench.workspace(units(20_000_000))
    const max = LIMITS.verification_sends_per_hour
    for (let n = 0; n < max; n++) {
      const request = asking(id)
      expect(await outcomes([request])).toEqual(['accepted'])
      const row = (await stored(request)) as VerificationRow
      await bench.storage.write(({ verifications }) =>
        verifications.change(ended(row, 'canceled', bench.clock.now())),
      )
      bench.clock.step(60_000)
    }
    const [refused] = await accept([asking(id)])
    expect(refused).toEqual({ outcome: 'code_limit', of: 'recipient', retry_after_s: 55 * 60 })
    bench.clock.step(55 * 60_000)
    expect(await outcomes([asking(id)])).toEqual(['accepted'])
    await bench.reopen()
  })

  it('is limited for a network of clients, also within one batch', async () => {
    const id = await bench.workspace(units(100_000_000))
    const client_network = '2001:db8:1:2::/64'
    const max = LIMITS.verifications_per_network
    const ask = (recipient: string) => asking(id, { recipient, client_network, country: null })
    const found = await outcomes(numbers(max + 2).map(ask))
    expect(found.filter((outcome) => outcome === 'accepted')).toHaveLength(max)
    expect(found.slice(max)).toEqual(['code_limit', 'code_limit'])
    expect(await outcomes([ask('+255799999999')])).toEqual(['code_limit'])
    // The other mode has its own limit, also with the rows of this one.
    const test = asking(id, { recipient: '+255799999999', client_network, livemode: false })
    expect(await outcomes([{ ...test, debit: null }])).toEqual(['accepted'])
    expect(await outcomes([{ ...asking(id, { recipient: '+255799999998' }) }])).toEqual([
      'accepted',
    ])
  })

  it('pauses a country whose codes are not approved, and only this one of this workspace', async () => {
    const id = await bench.workspace(units(200_000_000))
    const attack = numbers(120).map((recipient) => asking(id, { recipient }))
    const found = await outcomes(attack)
    expect(found.filter((outcome) => outcome === 'accepted')).toHaveLength(50)
    expect((await accept([asking(id, { recipient: '+255788888888' })]))[0]).toMatchObject({
      outcome: 'country_paused',
      country: 'TZ',
      counts: { sent: 50, approved: 0 },
    })
    const other = await bench.workspace(units(10_000_000))
    expect(
      await outcomes([asking(id, { recipient: '+4915112345678', country: 'DE' }), asking(other)]),
    ).toEqual(['accepted', 'accepted'])
    const row = {
      workspace_id: id,
      country: 'TZ',
      paused_at: bench.clock.now(),
      sent: 50,
      approved: 0,
    }
    const ago = (ms: number) => new Date(bench.clock.now().getTime() - ms)
    const note = (since: Date) =>
      bench.storage.write(({ verifications }) =>
        verifications.notePause({ ...row, allowed_until: null }, since),
      )
    // Refusals at the same time note the pause once.
    const noted = await Promise.all(Array.from({ length: 4 }, () => note(ago(24 * HOUR_MS))))
    expect(noted.sort()).toEqual([false, false, false, true])
    expect((await accept([asking(id, { recipient: '+255788888888' })]))[0]).toMatchObject({
      outcome: 'country_paused',
      counts: null,
    })
    const pausesOfAll = async (since: Date) =>
      (await bench.storage.read.verifications.pausesOfAll(since, 1_000))
        .filter(({ workspace_id }) => workspace_id === id)
        .map(({ country }) => country)
    expect(await pausesOfAll(ago(1))).toEqual(['TZ'])
    expect(await pausesOfAll(bench.clock.now())).toEqual([])
    const countsOf = await bench.storage.read.verifications.countsOf([row], ago(24 * HOUR_MS))
    expect(countsOf).toMatchObject([{ country: 'TZ', sent: 50, approved: 0 }])
    const allowed_until = new Date(bench.clock.now().getTime() + HOUR_MS)
    await bench.storage.write(({ verifications }) => verifications.allow({ ...row, allowed_until }))
    expect(await outcomes([asking(id, { recipient: '+255788888888' })])).toEqual(['accepted'])
    expect(await pausesOfAll(ago(1))).toEqual([])
    // A refusal that comes late does not undo what the operator allowed.
    expect(await note(bench.clock.now())).toBe(false)
  })

  it('spends no more than the credits of a day, also simultaneously', async () => {
    const id = await bench.workspace(units(100_000_000))
    const limit = { verification_daily_credits: units(3_000_000) }
    const at = bench.clock.now()
    await bench.storage.write(({ workspaces }) => workspaces.change(id, limit, at))
    const ask = (recipient: string, more: Partial<VerificationRow> = {}) =>
      asking(id, { recipient, ...more })
    const results = await Promise.all(numbers(8).map(async (to) => (await accept([ask(to)]))[0]))
    expect(results.filter((one) => one?.outcome === 'accepted')).toHaveLength(3)
    expect(results.find((one) => one?.outcome === 'code_credits')).toEqual({
      outcome: 'code_credits',
      required: units(1_000_000),
      limit: units(3_000_000),
      spent: units(3_000_000),
    })
    // Each of one batch sees the others, and an e-mail counts too.
    const mail = { country: null, livemode: true }
    expect(await outcomes([ask('asha@example.com', mail)])).toEqual(['code_credits'])
    const test = ask('+255788888888', { livemode: false })
    expect(await outcomes([{ ...test, debit: null }])).toEqual(['accepted'])
    expect(await bench.ledger(id)).toHaveLength(4)
    const other = await bench.workspace(units(10_000_000))
    expect(await outcomes([asking(other)])).toEqual(['accepted'])
    bench.clock.step(24 * HOUR_MS)
    const next = numbers(5, 100).map((to) => ask(to))
    expect((await outcomes(next)).filter((outcome) => outcome === 'accepted')).toHaveLength(3)
    await bench.reopen()
  })

  it('counts what was spent before the limit was set, and nothing for a refused message', async () => {
    const id = await bench.workspace(units(2_000_000))
    const ask = (n: number) => asking(id, { recipient: numbers(1, n)[0] as string })
    expect(await outcomes([ask(1)])).toEqual(['accepted'])
    const limit = { verification_daily_credits: units(2_000_000) }
    const at = bench.clock.now()
    await bench.storage.write(({ workspaces }) => workspaces.change(id, limit, at))
    const large = ask(2)
    const spending = { api_key_id: 'key', day: '2026-05-04', limit: units(0) }
    expect(await outcomes([{ ...large, spending }, ask(3), ask(4)])).toEqual([
      'daily_limit',
      'accepted',
      'code_credits',
    ])
  })

  it('goes to the listed countries only', async () => {
    const id = await bench.workspace(units(10_000_000))
    const limit = { verification_countries: ['KE', 'DE'] }
    const at = bench.clock.now()
    await bench.storage.write(({ workspaces }) => workspaces.change(id, limit, at))
    const [refused, ...sent] = await accept([
      asking(id),
      asking(id, { recipient: '+4915112345678', country: 'DE' }),
      asking(id, { recipient: 'asha@example.com', country: null }),
    ])
    expect(refused).toEqual({ outcome: 'code_country', country: 'TZ', countries: ['KE', 'DE'] })
    expect(sent.map((one) => one.outcome)).toEqual(['accepted', 'accepted'])
    // The code of another service is not counted by country, but its number has one.
    const external = asking(id, { recipient: '+255700000001', country: null })
    const code = { ...(external.code as CodeRequest), country: 'TZ' }
    expect(await outcomes([{ ...external, code }])).toEqual(['code_country'])
    expect(await bench.ledger(id)).toHaveLength(3)
  })

  it('removes from messages what a code is derived from, and keeps the rest', async () => {
    const id = await bench.workspace(units(10_000_000))
    const first = asking(id)
    await accept([first])
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    const again = asking(id)
    await accept([again])
    const began = (await stored(first)) as VerificationRow
    const messages = [first, again].map((of) => only(of.messages).id)
    const contents = () =>
      Promise.all(messages.map(async (one) => (await bench.message(id, one)).content))
    const before = await contents()
    expect(before.map(codeSourceOf)).toEqual(Array(2).fill({ seed: began.seed, length: 6 }))
    const remove = (ms: number) =>
      bench.storage.write(({ verifications }) =>
        verifications.removeCodes(new Date(began.created_at.getTime() + ms), 1_000),
      )
    await remove(-1)
    expect(await contents()).toEqual(before)
    expect(await remove(0)).toBeGreaterThan(0)
    expect(await contents()).toEqual(before.map(withoutCode))
    expect(await remove(0)).toBe(0)
    await bench.reopen()
  })

  it('does not count a message that failed before any provider accepted it', async () => {
    const id = await bench.workspace(units(200_000_000))
    const fallback = { fallback: ['sms' as const], other_recipient: '+255700000001' }
    const requests = [
      asking(id),
      asking(id, { recipient: 'asha@example.com', country: null, ...fallback }),
      asking(id, { recipient: '+4915112345678', country: 'DE' }),
      asking(id, { recipient: '+255700000003' }),
    ]
    const plain = { ...bench.make.send(id, { recipient: '+255700000003' }) }
    await accept([...requests, plain])
    const totals = () => bench.storage.read.verifications.totals(id, new Date(0))
    const price = units(1_000_000)
    expect(await totals()).toEqual([
      { country: 'TZ', sent: 2, approved: 0, credits_used: 2 * price },
      { country: 'DE', sent: 1, approved: 0, credits_used: price },
    ])
    const cancel = (of: AcceptRequest[]) => {
      const message_ids = of.map(({ messages }) => only(messages).id)
      return bench.storage.hot.cancel({ workspace_id: id, message_ids, at: bench.clock.now() })
    }
    // One batch with two countries, a message of an e-mail's verification, and one without a code.
    expect(await cancel([...requests.slice(0, 3), plain])).toEqual(Array(4).fill('canceled'))
    await cancel(requests.slice(0, 1))
    expect(await totals()).toEqual([
      { country: 'TZ', sent: 1, approved: 0, credits_used: price },
      { country: 'DE', sent: 0, approved: 0, credits_used: 0 },
    ])
    await bench.reopen()
  })

  it('sends codes to a country again when enough of its codes are approved', async () => {
    const id = await bench.workspace(units(200_000_000))
    const requests = numbers(50).map((recipient) => asking(id, { recipient }))
    await accept(requests)
    const next = asking(id, { recipient: '+255788888888' })
    expect(await outcomes([next])).toEqual(['country_paused'])
    await check((await stored(only(requests.slice(0, 1)))) as VerificationRow, true)
    expect(await outcomes([next])).toEqual(['accepted'])
  })

  it('counts how far verifications came, by country and hour', async () => {
    const id = await bench.workspace()
    const began = bench.clock.now()
    const since_id = idFloor(began)
    const progress = async (
      workspaceId: string,
      { livemode = true, limit = 100, since = since_id } = {},
    ) => {
      const found = await bench.storage.read.verifications.progress(workspaceId, {
        livemode,
        since_id: since,
        limit,
      })
      return found
        .map(({ country, hour, first_id: _, ...steps }) => [
          country,
          hour - Math.floor(began.getTime() / HOUR_MS),
          Object.values(steps).join(' '),
        ])
        .sort()
    }
    const [queued, sent, delivered, read, failed, approved] = numbers(6).map((recipient) =>
      asking(id, { recipient }),
    ) as [AcceptRequest, AcceptRequest, AcceptRequest, AcceptRequest, AcceptRequest, AcceptRequest]
    const mail = asking(id, { recipient: 'asha@example.com', channel: 'email', country: null })
    const test = asking(id, { recipient: '+255700000099', livemode: false })
    const other = asking(id, { recipient: '+255700000098', status: 'external', ended_at: began })
    await accept([queued, sent, delivered, read, failed, approved, mail, test, other])
    for (const request of [sent, delivered, read, failed]) {
      await bench.callback(only(request.messages), 'sent')
    }
    await bench.callback(only(delivered.messages), 'delivered')
    await bench.callback(only(read.messages), 'delivered', 'read')
    await bench.callback(only(failed.messages), 'failed')
    // A code can be approved though its message has no receipt.
    await check((await stored(approved)) as VerificationRow, true)
    // 25 hours, of which one is empty.
    bench.clock.step(25 * HOUR_MS)
    const later = idFloor(bench.clock.now())
    await accept([asking(id, { recipient: '+4915112345678', country: 'DE' })])
    const tz = ['TZ', 0, '6 4 3 1']
    const [none, one] = [
      ['DE', 25, '1 0 0 0'],
      [null, 0, '1 0 0 0'],
    ]
    expect(await progress(id)).toEqual([one, none, tz].sort())
    expect(await progress(id, { livemode: false })).toEqual([['TZ', 0, '1 0 0 0']])
    // The newest come first.
    expect(await progress(id, { limit: 1 })).toEqual([none])
    expect(await progress(id, { since: later })).toEqual([none])
    expect(await progress(await bench.workspace())).toEqual([])
  })

  it('counts wrong codes exactly, also simultaneous ones, and approves once', async () => {
    const id = await bench.workspace(units(10_000_000))
    const [guessed, right] = [asking(id), asking(id, { recipient: '+255700000010' })]
    await accept([guessed, right])
    const [wrongOf, rightOf] = [await stored(guessed), await stored(right)] as VerificationRow[]
    const wrong = await Promise.all(
      Array.from({ length: 20 }, () => check(wrongOf as VerificationRow, false)),
    )
    expect(wrong.filter((status) => status === 'pending')).toHaveLength(
      LIMITS.verification_attempts - 1,
    )
    expect(await stored(guessed)).toMatchObject({
      status: 'max_attempts',
      attempts: LIMITS.verification_attempts,
      seed: null,
    })
    expect(await check(wrongOf as VerificationRow, true)).toBe('max_attempts')
    const approvals = await Promise.all(
      Array.from({ length: 8 }, () => check(rightOf as VerificationRow, true)),
    )
    expect(approvals.sort()).toEqual(['approved', ...Array(7).fill('used')])
  })

  it('counts the codes of one batch one after another, by id and by address', async () => {
    const id = await bench.workspace(units(10_000_000))
    const request = asking(id)
    await accept([request])
    const row = (await stored(request)) as VerificationRow
    const at = bench.clock.now()
    const since = new Date(at.getTime() - HOUR_MS)
    const { workspace_id, livemode, recipient } = row
    const other = { workspace_id, livemode: !livemode, of: { id: row.id }, at }
    const asked: (VerificationRow | null)[] = []
    const results = await bench.storage.hot.checkCodes([
      ...Array.from({ length: 4 }, (_, i) => ({
        ...{ workspace_id, livemode, at, isRight: () => false },
        of: i % 2 === 0 ? { id: row.id } : { recipient, since },
      })),
      { ...other, isRight: (row) => asked.push(row) > 0 },
      { ...other, livemode, of: { recipient, since: at }, isRight: (row) => asked.push(row) > 0 },
      { ...other, livemode, of: { recipient, since }, isRight: () => true },
      { ...other, livemode, of: { id: row.id }, isRight: () => true },
    ])
    expect(results.map((one) => one && [one.status, one.verification.attempts])).toEqual([
      ...[1, 2, 3, 4].map((attempts) => ['pending', attempts]),
      null,
      null,
      ['approved', 4],
      ['used', 4],
    ])
    // Unknown verifications cost the comparison of a known one.
    expect(asked).toEqual([null, null])
    expect(await stored(request)).toMatchObject({ status: 'approved', attempts: 4, seed: null })
    const counted = await bench.storage.read.verifications.totals(id, new Date(0))
    expect(counted).toEqual([
      { country: 'TZ', sent: 1, approved: 1, credits_used: row.credits_used },
    ])
    await bench.reopen()
  })

  it('checks the newest verification of an address', async () => {
    const id = await bench.workspace(units(10_000_000))
    const first = asking(id)
    await accept([first])
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    const newer = asking(id, { code_length: 8 })
    await accept([newer])
    const { recipient, livemode, id: newest } = (await stored(newer)) as VerificationRow
    const at = bench.clock.now()
    const of = { recipient, since: new Date(at.getTime() - HOUR_MS) }
    const [result] = await bench.storage.hot.checkCodes([
      { workspace_id: id, livemode, of, isRight: () => true, at },
    ])
    expect(result).toMatchObject({ status: 'approved', verification: { id: newest } })
  })

  it('approves until its end, and not at it', async () => {
    const id = await bench.workspace(units(10_000_000))
    const request = asking(id)
    await accept([request])
    const row = (await stored(request)) as VerificationRow
    bench.clock.step(row.expires_at.getTime() - bench.clock.now().getTime())
    const statuses = await Promise.all([check(row, true), check(row, true), expire(row)])
    expect(statuses).toEqual(['expired', 'expired', expect.any(Boolean)])
    expect(await stored(request)).toMatchObject({
      status: 'expired',
      seed: null,
      ended_at: row.expires_at,
    })
  })

  it('loses no wrong code while the code is sent again', async () => {
    const id = await bench.workspace(units(10_000_000))
    const request = asking(id)
    await accept([request])
    const row = (await stored(request)) as VerificationRow
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    const again = asking(id, {}, row.id)
    const [[sent], ...checked] = await Promise.all([
      outcomes([again]),
      ...Array.from({ length: 4 }, () => check(row, false)),
    ])
    expect([sent, ...checked]).toEqual(['accepted', ...Array(4).fill('pending')])
    expect(await stored(request)).toMatchObject({
      status: 'pending',
      attempts: 4,
      sent_at: { length: 2 },
    })
  })

  it('is approved or sent again, but never pending after its approval', async () => {
    const id = await bench.workspace(units(50_000_000))
    const requests = numbers(8).map((recipient) => asking(id, { recipient }))
    await accept(requests)
    bench.clock.step(LIMITS.verification_cooldown_s * 1000)
    await Promise.all(
      requests.map(async (request) => {
        const row = (await stored(request)) as VerificationRow
        const again = asking(id, { recipient: row.recipient }, row.id)
        const [[sent], approved] = await Promise.all([outcomes([again]), check(row, true)])
        expect(approved).toBe('approved')
        const { status, sent_at } = (await stored(request)) as VerificationRow
        expect(status).toBe('approved')
        expect(sent_at).toHaveLength(sent === 'accepted' ? 2 : 1)
        expect(['accepted', 'code_over']).toContain(sent)
      }),
    )
  })

  it('is either approved or canceled', async () => {
    const id = await bench.workspace(units(50_000_000))
    const requests = numbers(8).map((recipient) => asking(id, { recipient }))
    await accept(requests)
    await Promise.all(
      requests.map(async (request) => {
        const row = (await stored(request)) as VerificationRow
        const [checked, isCanceled] = await Promise.all([check(row, true), cancel(row)])
        expect(checked).toBe(isCanceled ? 'canceled' : 'approved')
        expect((await stored(request))?.status).toBe(checked)
      }),
    )
  })

  it('is due after its end, and is removed later with the counts', async () => {
    const id = await bench.workspace(units(10_000_000))
    const request = asking(id)
    await accept([request])
    const due = async () =>
      (await bench.storage.read.verifications.due(bench.clock.now(), 1_000)).filter(
        ({ workspace_id }) => workspace_id === id,
      )
    expect(await due()).toEqual([])
    bench.clock.step(600_000)
    expect(await due()).toHaveLength(1)
    const row = (await stored(request)) as VerificationRow
    expect(await check(row, true)).toBe('expired')
    expect(await due()).toEqual([])
    const remove = (before: Date) =>
      bench.storage.write(({ verifications }) =>
        verifications.removeEnded({ ended: before, counted: before }, 1_000),
      )
    await remove(new Date(bench.clock.now().getTime() - 1))
    expect(await stored(request)).not.toBeNull()
    await remove(bench.clock.now())
    expect(await stored(request)).not.toBeNull()
    await bench.storage.write(({ verifications }) =>
      verifications.removeCodes(bench.clock.now(), 1_000),
    )
    await remove(bench.clock.now())
    expect(await stored(request)).toBeNull()
    await bench.reopen()
  })

  it('is listed as expired from the end of its code on, before the sweeper ends it', async () => {
    const id = await bench.workspace(units(50_000_000))
    const requests = numbers(7).map((recipient, i) =>
      // The codes of the second, the fourth and the sixth are valid for longer.
      asking(id, { recipient, ...(i % 2 === 1 && { expires_at: inAnHour() }) }),
    )
    for (const request of requests) await accept([request])
    bench.clock.step(600_000)
    const rows = (await Promise.all(requests.map(stored))) as VerificationRow[]
    for (const row of [rows[2], rows[6]]) await expire(row as VerificationRow)
    const ids = (places: number[]) => places.map((place) => rows[place]?.id)
    const { list, count } = bench.storage.read.verifications
    const filter = (status: 'pending' | 'expired') => ({ status, now: bench.clock.now() })
    const listed = async (status: 'pending' | 'expired', page: { limit: number; offset: number }) =>
      (await list(id, filter(status), page)).map((row) => row.id)
    const all = { limit: 10, offset: 0 }
    expect(await listed('pending', all)).toEqual(ids([5, 3, 1]))
    expect(await listed('expired', all)).toEqual(ids([6, 4, 2, 0]))
    expect(await count(id, filter('pending'))).toBe(3)
    expect(await count(id, filter('expired'))).toBe(4)
    for (const limit of [1, 2, 3]) {
      const pages: string[] = []
      for (let offset = 0; offset < 4; offset += limit) {
        const page = await listed('expired', { limit, offset })
        expect(page.length).toBeLessThanOrEqual(limit)
        pages.push(...page)
      }
      expect(pages).toEqual(ids([6, 4, 2, 0]))
    }
    const after = { ...all, after: rows[4]?.id }
    expect((await list(id, filter('expired'), after)).map((row) => row.id)).toEqual(ids([2, 0]))
  })
}
