import { setImmediate } from 'node:timers/promises'
import Fastify, { type FastifyRequest } from 'fastify'
import { afterEach, expect, it } from 'vitest'
import { createBodyBudget } from '../src/admission/admission.ts'

const MIB = 1024 * 1024

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

/** An app whose requests name their workspace, and are held once their body may be read. */
function open(bodyLimit = 30 * MIB) {
  const app = Fastify()
  opened.push(app)
  app.decorateRequest('svcIdentity', null)
  app.addHook('onRequest', async (request) => {
    const workspace_id = request.headers['x-workspace']
    if (workspace_id) request.svcIdentity = { workspace_id } as FastifyRequest['svcIdentity']
  })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  app.post('/', {
    bodyLimit,
    preParsing: [
      createBodyBudget(),
      (request, _reply, _payload, done) => {
        const name = `${request.headers['x-name']}`
        begun.push(name)
        ends.set(name, done)
      },
    ],
    handler: async () => 'done',
  })
  return {
    begun,
    /** Begins a request that announces a body; none for one that does not say how long it is. */
    async send(workspaceId: string, name: string, bytes?: number) {
      const headers = {
        'x-name': name,
        ...(workspaceId && { 'x-workspace': workspaceId }),
        ...(bytes !== undefined && { 'content-length': `${bytes}` }),
      }
      app.inject({ method: 'POST', url: '/', headers }, () => {})
      for (let i = 0; i < 10; i++) await setImmediate()
    },
    async end(name: string) {
      ends.get(name)?.()
      for (let i = 0; i < 10; i++) await setImmediate()
    },
  }
}

it('lets the large bodies of a workspace have half of the memory', async () => {
  const { send, end, begun } = open()
  await send('w1', 'a', 20 * MIB)
  await send('w1', 'b', 13 * MIB)
  await send('w1', 'c', 12 * MIB)
  await send('w2', 'd', 20 * MIB)
  expect(begun).toEqual(['a', 'd'])
  await end('a')
  expect(begun).toEqual(['a', 'd', 'b', 'c'])
})

it('lets the large bodies of all workspaces have 64 MiB, and small ones begin at once', async () => {
  const { send, end, begun } = open()
  for (const name of ['a', 'b', 'c']) await send(name, name, 20 * MIB)
  await send('', 'd', 4 * MIB)
  await send('e', 'e', MIB + 1)
  await send('f', 'f', MIB)
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'f'])
  await end('d')
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'f', 'e'])
})

it('takes a body without a length, or with more than the limit, for the largest of the route', async () => {
  const { send, end, begun } = open(16 * MIB)
  await send('w1', 'a')
  await send('w1', 'b', 1_000 * MIB)
  await send('w1', 'c')
  expect(begun).toEqual(['a', 'b'])
  await end('b')
  expect(begun).toEqual(['a', 'b', 'c'])
})
