import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { readProvider } from '../../src/carriers/read-providers.ts'
import { type Core, createCore } from '../../src/core.ts'
import { migratedFolder } from '../migrated-file.ts'
import { createDatabase } from '../postgres-database.ts'
import { jsonSettings } from '../providers/http/gateway.ts'
import { openHttpPeer } from '../providers/http-peer.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function openFile(): Promise<string> {
  const folder = await migratedFolder('svc-standstill-')
  closing.push(async () => rmSync(folder, { recursive: true, force: true }))
  return `file:${join(folder, 'svc.db')}`
}

async function openPostgres(): Promise<string> {
  const database = await createDatabase()
  closing.push(database.drop)
  return database.url
}

/** A gateway with one connection whose answers wait for the test, so that all but one of the calls wait too. */
async function openGateway() {
  const peer = await openHttpPeer()
  closing.push(peer.close)
  const held: (() => void)[] = []
  let isHolding = true
  peer.otherwise((request, socket) => {
    const body = JSON.stringify({ id: `P${request.id}` })
    const answer = () =>
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
    if (isHolding) held.push(answer)
    else answer()
  })
  const settings = { ...jsonSettings(peer.url), channels: ['sms'], connections: 1 }
  return {
    peer,
    provider: readProvider({ ...settings, lookup: undefined }),
    answer() {
      isHolding = false
      for (const answer of held.splice(0)) answer()
    },
  }
}

async function sender(core: Core) {
  const signup = { email: 'ops@example.com', password: 'long enough', company_name: 'Acme' }
  const { id } = await core.workspaces.signup(signup)
  const scopes = ['send_messages'] as const
  const { key } = await core.apiKeys.create(id, { name: 'A', mode: 'live', scopes: [...scopes] })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  return {
    id,
    async send(to: string): Promise<string> {
      const message = { channel: 'sms', content: { text: 'Hi' }, to } as const
      return (await core.messages.send(identity, message)).data.message_id
    },
  }
}

describe.each([
  ['SQLite', openFile, 1],
  ['two servers on PostgreSQL', openPostgres, 2],
])('a pause on %s', (_, openDatabase, count) => {
  async function open() {
    const gateway = await openGateway()
    const database_url = await openDatabase()
    const servers: Core[] = []
    for (let i = 0; i < count; i++) {
      const core = await createCore({
        database_url,
        signup_credits: '100',
        providers: [gateway.provider],
        threads: 0,
      })
      closing.push(() => core.close({ grace_ms: 0 }))
      servers.push(core)
      await (await core.startDispatch()).idle()
    }
    const [first] = servers as [Core]
    const { id, send } = await sender(first)
    const ids: string[] = []
    for (let i = 0; i < 20; i++) ids.push(await send(`+141555501${String(i).padStart(2, '0')}`))
    await expect.poll(() => gateway.peer.requests.length).toBeGreaterThan(0)
    const statuses = async () =>
      Promise.all(ids.map(async (one) => (await first.messages.get(id, one)).status))
    return { gateway, operator: servers.at(-1) as Core, id, ids, statuses, first }
  }

  it.each([
    ['of everything', null],
    ['of one provider', 'gateway'],
  ])(
    '%s ends when no call begins any more; the rest stays queued, unsent, and goes afterwards',
    async (_, provider) => {
      const { gateway, operator, first, id, ids, statuses } = await open()
      const reason = 'Moving'
      await (provider
        ? operator.providers.pause(provider, { reason })
        : operator.dispatch.stop({ reason }))
      const seen: number[] = []
      await operator.dispatch.standstill({
        ...(provider && { provider }),
        onProgress({ may_begin, messages }) {
          seen.push(messages)
          // The calls that had begun end now; those that wait for the connection must not begin.
          if (!may_begin) gateway.answer()
        },
      })
      const begun = gateway.peer.requests.length
      expect(seen[0]).toBeGreaterThan(0)
      expect(begun).toBeLessThan(ids.length)
      const sent = (await statuses()).filter((status) => status === 'sent').length
      expect(sent).toBe(begun)
      expect((await statuses()).filter((status) => status === 'queued')).toHaveLength(
        ids.length - begun,
      )
      // After the pause of a provider its messages wait for up to half a minute.
      if (provider) return
      await operator.dispatch.resume()
      await expect
        .poll(async () => (await statuses()).every((status) => status === 'sent'), {
          timeout: 40_000,
        })
        .toBe(true)
      expect(gateway.peer.requests).toHaveLength(ids.length)
      const timeline = await first.messages.timeline(id, ids.at(-1) as string)
      expect(JSON.stringify(timeline)).not.toContain('ambiguous')
    },
    60_000,
  )
})
