import {
  asyncProperty,
  assert as check,
  constantFrom,
  integer,
  record,
  uniqueArray,
} from 'fast-check'
import { beforeEach, expect, it } from 'vitest'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import { WALK_MAX } from '../../src/rules/take-turns.ts'
import type { MessageClaim } from '../../src/storage/ports/hot.ts'
import { benchFor, type OpenStorage } from './bench.ts'

/** Claims while more is due than they may take: each workspace has its turn, and no message waits for ever. */
export function claimTurnsContract(open: OpenStorage): void {
  const bench = benchFor(open)
  // On PostgreSQL the tests share a storage: the last walk ends with a claim that takes all.
  beforeEach(() => bench.claimMessages())

  async function bulk(workspaceId: string, count: number): Promise<MessageRow[]> {
    const { messages } = bench.make.bulk(workspaceId, count)
    await bench.storage.hot.accept([{ ...bench.make.request(messages), debit: null }])
    bench.clock.advance(1)
    return messages
  }

  async function singles(
    workspaceId: string,
    count: number,
    overrides: Partial<MessageRow> = {},
  ): Promise<MessageRow[]> {
    const all: MessageRow[] = []
    for (let i = 0; i < count; i++) {
      const message = bench.make.message(workspaceId, overrides)
      await bench.storage.hot.accept([{ ...bench.make.request([message]), debit: null }])
      bench.clock.advance(1)
      all.push(message)
    }
    return all
  }

  const of = (claimed: readonly ClaimedMessage[], messages: readonly MessageRow[]) => {
    const wanted = new Set(messages.map(({ id }) => id))
    return claimed.flatMap(({ message_id }) => (wanted.has(message_id) ? message_id : []))
  }
  const ids = (messages: readonly MessageRow[]) => messages.map(({ id }) => id)

  /** A claim, with what it reported. */
  async function claim(overrides: Partial<MessageClaim>) {
    const reports: (string[] | null)[] = []
    const claimed = await bench.claimMessages({
      ...overrides,
      onLeft: (workspaces) => reports.push(workspaces && [...workspaces].sort()),
    })
    return { claimed, reports }
  }

  it('take the message of another workspace at once, however long a bulk is', async () => {
    const [busy, other] = [await bench.workspace(0), await bench.workspace(0)]
    const many = await bulk(busy, 500)
    const own = await singles(busy, 1)
    const others = await singles(other, 3)
    const { claimed, reports } = await claim({ limit: 64 })
    expect(claimed).toHaveLength(64)
    expect(of(claimed, others)).toEqual(ids(others))
    expect(of(claimed, own)).toEqual(ids(own))
    // First in the claim, so that a provider with little room gets them.
    const first = claimed.slice(0, 2).map(({ message_id }) => message_id)
    expect(new Set(first)).toEqual(new Set([ids(own)[0], ids(others)[0]]))
    // They have one due time, so PostgreSQL takes them in any order.
    expect(of(claimed, many)).toHaveLength(60)
    // Only messages of the bulk are left, which others may pass.
    expect(reports).toEqual([[]])
  })

  it('take those of another workspace when the quiet hours of many end together', async () => {
    const [busy, other] = [await bench.workspace(0), await bench.workspace(0)]
    const scheduled_at = new Date(bench.clock.now().getTime() + 3_600_000)
    const many = await singles(busy, 60, { scheduled_at })
    const others = await singles(other, 2, { scheduled_at })
    bench.clock.set(scheduled_at)
    const { claimed, reports } = await claim({ limit: 16 })
    expect(of(claimed, others)).toEqual(ids(others))
    expect(of(claimed, many)).toHaveLength(14)
    // A new message of this workspace would overtake its older ones.
    expect(reports).toEqual([[busy]])
  })

  it('report nothing left when they took all, and name no workspace they did not look into', async () => {
    const workspaceId = await bench.workspace(0)
    await singles(workspaceId, 3)
    expect((await claim({ limit: 4 })).reports).toEqual([])
    for (let i = 0; i < 5; i++) await singles(await bench.workspace(0), 2)
    // A claim of 4 rows looks into one workspace.
    expect((await claim({ limit: 4 })).reports).toEqual([null])
  })

  it('find due messages behind many workspaces whose messages are due later', async () => {
    const scheduled_at = new Date(bench.clock.now().getTime() + 3_600_000)
    const requests = []
    for (let i = 0; i < WALK_MAX + 10; i++) {
      const message = bench.make.message(await bench.workspace(0), { scheduled_at })
      requests.push({ ...bench.make.request([message]), debit: null })
    }
    await bench.storage.hot.accept(requests)
    await bulk(await bench.workspace(0), 200)
    const last = await singles(await bench.workspace(0), 1)
    const parts = [
      await bench.claimMessages({ limit: 20 }),
      await bench.claimMessages({ limit: 20 }),
    ]
    expect(parts.map(({ length }) => length)).toEqual([20, 20])
    expect(of(parts.flat(), last)).toEqual(ids(last))
  })

  it('take each message once and within a bounded number of claims, in the order of its line', async () => {
    const lines = uniqueArray(
      record({
        workspace: integer({ min: 0, max: 6 }),
        is_bulk: constantFrom(true, false),
        count: integer({ min: 1, max: 12 }),
      }),
      {
        minLength: 1,
        maxLength: 8,
        selector: ({ workspace, is_bulk }) => `${workspace}${is_bulk}`,
      },
    )
    const run = asyncProperty(lines, integer({ min: 1, max: 12 }), async (given, limit) => {
      const names = new Map<number, string>()
      const all: MessageRow[][] = []
      for (const { workspace, is_bulk, count } of given) {
        const id = names.get(workspace) ?? (await bench.workspace(0))
        names.set(workspace, id)
        all.push(await (is_bulk ? bulk(id, count) : singles(id, count)))
      }
      const due = all.flat()
      const claims: string[][] = []
      for (;;) {
        const claimed = await bench.claimMessages({ limit })
        if (claimed.length === 0) break
        claims.push(claimed.map(({ message_id }) => message_id))
        for (const { workspace_id, message_id, token } of claimed) {
          await bench.settle({ workspace_id, message_id, token }, ACCEPTED)
        }
      }
      const place = new Map(claims.flatMap((part, i) => part.map((id) => [id, i] as const)))
      expect(claims.flat().sort()).toEqual(ids(due).sort())
      // The messages of a bulk are due at the same time, and have no order among themselves.
      const times = new Map(due.map(({ id, created_at }) => [id, created_at.getTime()]))
      for (const line of all) {
        const claimed = claims.flat().filter((id) => ids(line).includes(id))
        expect(claimed.map((id) => times.get(id))).toEqual(ids(line).map((id) => times.get(id)))
      }
      // The oldest half of each claim: a message waits at most for those that are older.
      const byAge = Math.max(1, Math.floor(limit / 2)) / (limit === 1 ? 2 : 1)
      for (const { id } of due) {
        const asOld = due.filter((one) => (times.get(one.id) ?? 0) <= (times.get(id) ?? 0))
        expect(place.get(id)).toBeLessThanOrEqual(Math.ceil(asOld.length / byAge))
      }
      // The turns: the first message of each workspace waits at most for the other workspaces.
      const each = Math.max(1, Math.floor(limit / 4))
      for (const [head] of all) {
        const found = all.find(([one]) => one?.workspace_id === head?.workspace_id)
        if (limit < 2 || !head || found?.[0] !== head) continue
        const others = Math.ceil(names.size / each)
        const first = Math.min(
          ...due.flatMap(({ id, workspace_id }) =>
            workspace_id === head.workspace_id ? (place.get(id) ?? 0) : [],
          ),
        )
        expect(first).toBeLessThanOrEqual(others)
      }
    })
    await check(run, { numRuns: 12 })
  })
}

const ACCEPTED = {
  task: 'send',
  attempt: 1,
  outcome: { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null },
} as const
