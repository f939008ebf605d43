import { mkdirSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../core/test/postgres-database.ts'
import { type Nginx, nginxMissing, startNginx } from '../../server/test/nginx.ts'
import { type HeldService, holdSocket } from './held-socket.ts'
import { newFolder, svc, svcJson } from './svc.ts'

const CALLERS = 8
/** The sends that are answered before, between and after the restarts. */
const SENDS = 60

const toStop: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop()
})

/** Sends on a new connection. Resolves with the status of the answer. */
function send(nginx: Nginx, key: string, text: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${nginx.url}/api/v1/messages/send`, {
      ...{ method: 'POST', agent: false, ca: nginx.ca },
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
    })
    outgoing.once('error', reject).once('response', (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    })
    outgoing.end(JSON.stringify({ channel: 'sms', to: '+15005550006', content: { text } }))
  })
}

async function twoServers(folder: string, database: TestDatabase): Promise<HeldService[]> {
  const services: HeldService[] = []
  for (const name of ['a', 'b']) {
    const own = join(folder, name)
    mkdirSync(own)
    const env = {
      SVC_DATABASE_URL: database.url,
      SVC_RATE_LIMIT_GENERAL: '1000000/60',
      SVC_TRUST_PROXY: '127.0.0.1/32',
    }
    const service = await holdSocket(own, env)
    toStop.push(service.stop)
    services.push(service)
    expect((await fetch(`${service.url}/health/live`)).status).toBe(200)
  }
  return services
}

describe.runIf(nginxMissing === null)(
  nginxMissing === null ? 'two servers behind nginx' : `two servers: not run, ${nginxMissing}`,
  () => {
    test('are restarted one after the other, and every send is accepted once', async () => {
      const folder = newFolder()
      toStop.push(folder.remove)
      const database = await createDatabase()
      toStop.push(database.drop)
      const services = await twoServers(folder.path, database)
      const nginx = await startNginx(...services.map(({ url }) => url))
      toStop.push(nginx.stop)
      const operator = { cwd: folder.path, env: { SVC_DATABASE_URL: database.url } }
      const argv = ['workspaces', 'create', '--name', 'A', '--email', 'a@b.test']
      await svcJson([...argv, '--password-stdin'], { ...operator, stdin: 'long enough\n' })
      await svcJson(['credits', 'grant', '100000', '--reason', 'test'], operator)
      const { key } = await svcJson<{ key: string }>(['keys', 'create', '--name', 'k'], operator)

      const statuses: number[] = []
      let isOver = false
      const callers = Array.from({ length: CALLERS }, async (_, i) => {
        for (let n = 0; !isOver; n++) statuses.push(await send(nginx, key, `${i} ${n}`))
      })
      const more = async () => {
        const before = statuses.length
        await expect
          .poll(() => statuses.length, { timeout: 30_000 })
          .toBeGreaterThan(before + SENDS)
      }
      for (const service of services) {
        await more()
        await service.restart()
        await more()
        // The next server restarts only when this one is ready.
        expect((await fetch(`${service.url}/health/ready`)).status).toBe(200)
      }
      isOver = true
      await Promise.all(callers)

      // Clients of a server that is stopping get 429.
      expect(statuses.filter((status) => status !== 201 && status !== 429)).toEqual([])
      const accepted = statuses.filter((status) => status === 201).length
      expect(accepted).toBeGreaterThan(2 * SENDS)
      const list = ['messages', 'list', '--limit', '1', '--url', services[0]?.url ?? '']
      const { pagination } = await svcJson<{ pagination: { total: number } }>(
        [...list, '--key', key],
        operator,
      )
      expect(pagination.total).toBe(accepted)
      expect((await svc(['ledger', 'verify'], operator)).code).toBe(0)
    }, 180_000)
  },
)
