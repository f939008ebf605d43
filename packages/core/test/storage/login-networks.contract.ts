import { expect, it } from 'vitest'
import { benchFor, type OpenStorage } from './bench.ts'

/** The networks that accounts logged in from. */
export function loginNetworksContract(open: OpenStorage): void {
  const bench = benchFor(open)

  async function account() {
    const row = bench.make.workspace({})
    await bench.storage.write(({ workspaces }) => workspaces.insert(row))
    return row
  }
  const at = (ms: number) => new Date(Date.parse('2026-05-04T09:00:00.000Z') + ms)
  const at_all = {
    id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02',
    password_hash: 'hash',
    expires_at: null,
    last_sign_in_at: null,
    totp_secret: null,
    totp_since: null,
    totp_step: null,
    recovery_hashes: null,
    created_at: at(0),
  }
  const note = (workspace_id: string, network: string, last_login_at = at(0)) =>
    bench.storage.write(({ loginNetworks }) =>
      loginNetworks.note({ workspace_id, network, last_login_at }),
    )
  const isKnown = (email: string, network: string, since = at(0)) =>
    bench.storage.read.loginNetworks.byEmail(email, network, since)

  it('are known to their own account alone, from the last login on', async () => {
    const [mine, theirs] = [await account(), await account()]
    await note(mine.id, '192.0.2.0/24')
    expect(await isKnown(mine.email.toUpperCase(), '192.0.2.0/24')).toBe(true)
    expect(await isKnown(mine.email, '192.0.2.0/24', at(1))).toBe(false)
    expect(await isKnown(mine.email, '192.0.3.0/24')).toBe(false)
    expect(await isKnown(theirs.email, '192.0.2.0/24')).toBe(false)
    expect(await isKnown('nobody@example.com', '192.0.2.0/24')).toBe(false)
    await note(mine.id, '192.0.2.0/24', at(1))
    expect(await isKnown(mine.email, '192.0.2.0/24', at(1))).toBe(true)
  })

  it('of an operator are known to its name alone, and removed with it', async () => {
    const operator = { ...at_all, name: 'Ops@example.com', name_key: 'ops@example.com' }
    await bench.storage.write(({ operators }) => operators.insert(operator))
    await note(operator.id, '192.0.2.0/24')
    const { byOperator } = bench.storage.read.loginNetworks
    const known = (name: string) => byOperator(name, '192.0.2.0/24', at(0))
    expect(await known('OPS@ｅｘａｍｐｌｅ.com')).toBe(true)
    expect(await known('other')).toBe(false)
    expect(await isKnown('ops@example.com', '192.0.2.0/24')).toBe(false)
    await bench.storage.write(({ operators }) => operators.remove(operator.id))
    await bench.storage.write(({ operators }) => operators.insert(operator))
    expect(await known(operator.name)).toBe(false)
    await bench.storage.write(({ operators }) => operators.remove(operator.id))
  })

  it('are 50 of a workspace: the oldest makes room, however many come at once', async () => {
    const { id, email } = await account()
    const networks = Array.from({ length: 60 }, (_, i) => `10.0.${i}.0/24`)
    await Promise.all(networks.map((network, i) => note(id, network, at(i))))
    const known = await Promise.all(networks.map((network) => isKnown(email, network)))
    expect(known.filter(Boolean)).toHaveLength(50)
    await note(id, 'one more', at(100))
    const newest = await Promise.all(networks.slice(11).map((network) => isKnown(email, network)))
    expect(newest.every(Boolean)).toBe(true)
    expect(await isKnown(email, '10.0.10.0/24')).toBe(false)
  })

  it('are cleared by workspace, and forgotten some at a time', async () => {
    const [mine, theirs] = [await account(), await account()]
    for (let i = 0; i < 5; i++) await note(theirs.id, `10.0.${i}.0/24`, at(i))
    await note(mine.id, 'cleared')
    await bench.storage.write(({ loginNetworks }) => loginNetworks.clear(mine.id))
    expect(await isKnown(mine.email, 'cleared')).toBe(false)
    const forget = (before: Date, limit: number) =>
      bench.storage.write(({ loginNetworks }) => loginNetworks.forget(before, limit))
    expect(await forget(at(0), 100)).toBe(0)
    expect(await forget(at(4), 2)).toBe(2)
    expect(await forget(at(4), 100)).toBe(2)
    expect(await isKnown(theirs.email, '10.0.4.0/24')).toBe(true)
  })
}
