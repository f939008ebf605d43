import { expect, it } from 'vitest'
import { createAudit } from '../../src/audit/audit.ts'
import { auditRow, SERVICE } from '../../src/audit/entry.ts'
import type { ActorKind, AuditAction } from '../../src/contract/resources/audit.ts'
import { createCredits } from '../../src/credits/credits.ts'
import { createAuditRetention } from '../../src/retention/audit-retention.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, type OpenStorage } from './bench.ts'

const DAY_MS = 24 * 60 * 60_000

/** The audit log: written in the transaction of the change, kept for a time, bounded for each workspace. */
export function auditContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const record = (workspace_id: string, action: AuditAction = 'session.created') =>
    bench.storage.write(({ audit }) =>
      audit.record(auditRow(bench.clock, SERVICE, { workspace_id, action })),
    )
  const actionsOf = async (workspaceId: string) => {
    const rows = await bench.storage.read.audit.list(workspaceId, {}, EVERYTHING)
    return rows.map(({ action }) => action)
  }
  const sweep = (entries_max?: number) =>
    createAuditRetention({
      storage: bench.storage,
      runtime: bench.clock,
      days: 7,
      ...(entries_max !== undefined && { entries_max }),
    }).apply(() => false)

  it('is written with the change, or not at all', async () => {
    const workspaceId = await bench.workspace(0)
    const credits = createCredits({ storage: bench.storage, runtime: bench.clock })
    const grant = { amount: SMS_PRICE, id: 'G1', actor: 'asha' }
    await credits.grant(workspaceId, grant)
    expect(await bench.storage.read.audit.list(workspaceId, {}, EVERYTHING)).toMatchObject([
      { action: 'credits.granted', actor_kind: 'operator', actor_id: 'asha' },
    ])
    // The same grant again gives nothing; the one after it is refused.
    await credits.grant(workspaceId, grant)
    const expired = { ...grant, id: 'G2', expires_at: bench.clock.now() }
    await expect(credits.grant(workspaceId, expired)).rejects.toThrow('expire in the future')
    expect(await actionsOf(workspaceId)).toEqual(['credits.granted'])
  })

  it('is listed newest first, by workspace, action and time', async () => {
    const [mine, other] = [await bench.workspace(0), await bench.workspace(0)]
    const from = bench.clock.advance(1_000)
    await record(mine, 'session.created')
    bench.clock.advance(1_000)
    await record(other, 'session.created')
    const until = bench.clock.advance(1_000)
    await record(mine, 'api_key.created')
    expect(await actionsOf(mine)).toEqual(['api_key.created', 'session.created'])
    const { audit } = bench.storage.read
    expect(await audit.list(mine, { until }, EVERYTHING)).toMatchObject([
      { action: 'api_key.created' },
      { action: 'session.created', created_at: from },
    ])
    expect(await audit.count(mine, { action: 'api_key.created', from: until })).toBe(1)
    expect(await audit.count(mine, { until: from })).toBe(1)
    expect(await audit.ofAll({}, EVERYTHING)).toMatchObject([
      { workspace_id: mine },
      { workspace_id: other },
      { workspace_id: mine },
    ])
    expect(await audit.ofAll({ workspace_id: other }, EVERYTHING)).toHaveLength(1)
  })

  it('moves the acts of a login to its new id, in one workspace', async () => {
    const [mine, other] = [await bench.workspace(0), await bench.workspace(0)]
    const act = (workspace_id: string, kind: ActorKind, id: string | null, on: string) =>
      bench.storage.write(({ audit }) =>
        audit.record(
          auditRow(
            bench.clock,
            { ...SERVICE, kind, id },
            { workspace_id, action: 'sessions.ended', target: { type: 'member', id: on } },
          ),
        ),
      )
    await act(mine, 'session', null, mine)
    await act(mine, 'session', 'B', 'B')
    await act(mine, 'client', null, 'C')
    await act(other, 'session', null, other)
    await bench.storage.write(async ({ audit }) => {
      await audit.moveLogin(mine, null, 'A')
      await audit.moveLogin(mine, 'B', null)
    })
    const shown = async (id: string) => {
      const rows = await bench.storage.read.audit.list(id, {}, EVERYTHING)
      return rows.map(({ actor_id, target_id }) => [actor_id, target_id])
    }
    expect(await shown(mine)).toEqual([
      [null, 'C'],
      [null, mine],
      ['A', 'A'],
    ])
    expect(await shown(other)).toEqual([[null, other]])
  })

  it('knows which workspaces a login has left', async () => {
    const [mine, other] = [await bench.workspace(0), await bench.workspace(0)]
    const removed = (workspace_id: string, id: string) =>
      bench.storage.write(({ audit }) =>
        audit.record(
          auditRow(bench.clock, SERVICE, {
            ...{ workspace_id, action: 'member.removed', target: { type: 'member', id } },
          }),
        ),
      )
    for (let i = 0; i < 2; i++) await removed(mine, 'A')
    await removed(other, 'B')
    const leftBy = (id: string) => bench.storage.write(({ audit }) => audit.leftBy(id))
    expect([await leftBy('A'), await leftBy('B'), await leftBy('C')]).toEqual([[mine], [other], []])
  })

  it('forgets entries after their time', async () => {
    const workspaceId = await bench.workspace(0)
    await record(workspaceId, 'session.created')
    await record('', 'dispatch.paused')
    await record('', 'settings.changed')
    bench.clock.advance(8 * DAY_MS)
    await record(workspaceId, 'api_key.created')
    await sweep()
    expect(await bench.storage.read.audit.ofAll({}, EVERYTHING)).toMatchObject([
      { action: 'api_key.created' },
      { action: 'settings.changed' },
    ])
  })

  it('keeps the newest entries of an action of which a workspace has too many', async () => {
    const [busy, quiet] = [await bench.workspace(0), await bench.workspace(0)]
    await record(quiet, 'workspace.created')
    await record(busy, 'workspace.created')
    for (let i = 0; i < 5; i += 1) await record(busy, 'webhook.updated')
    const [newest] = await bench.storage.read.audit.list(busy, {}, EVERYTHING)
    await sweep(3)
    expect(await actionsOf(busy)).toEqual([
      ...Array(3).fill('webhook.updated'),
      'workspace.created',
    ])
    const [kept] = await bench.storage.read.audit.list(busy, {}, EVERYTHING)
    expect(kept).toEqual(newest)
    expect(await actionsOf(quiet)).toEqual(['workspace.created'])
  })

  it('records settings that changed since the last start, without their values', async () => {
    const audit = createAudit({
      storage: bench.storage,
      runtime: bench.clock,
      secret: async () => 'a key',
    })
    await audit.noteSettings({ host: '"127.0.0.1"', stripe: '"sk_live_1"' })
    await audit.noteSettings({ host: '"127.0.0.1"', stripe: '"sk_live_1"' })
    bench.clock.advance(1_000)
    await audit.noteSettings({ host: '"0.0.0.0"', stripe: '"sk_live_1"', port: '80' })
    const shown = await audit.ofAll({}, EVERYTHING)
    expect(shown.map(({ details }) => details)).toEqual([
      { changed: ['host', 'port'] },
      { changed: ['host', 'stripe'] },
    ])
    const stored = await bench.storage.read.audit.ofAll({}, EVERYTHING)
    expect(JSON.stringify(stored)).not.toContain('sk_live_1')
    expect(JSON.stringify(stored)).not.toContain('127.0.0.1')
  })
}
