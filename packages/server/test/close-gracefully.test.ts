import { once } from 'node:events'
import { Agent, createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { serve } from '@hono/node-server'
import { type Core, closeGracefully, createCore } from '@svc/core'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { createHandler, svc } from '../src/index.ts'

const PATH = '/messaging/health/live'

interface Host {
  server: Server
  end(): Promise<void>
}

const listening = async (server: Server) => {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

/** The hosts of the guide "Embed the core". */
const HOSTS: Record<string, (core: Core) => Promise<Host>> = {
  async Express(core) {
    const handler = await createHandler({ core })
    const app = express()
    app.use('/messaging', handler.node)
    const server = await listening(app.listen(0, '127.0.0.1'))
    return { server, end: () => closeGracefully(server, [handler, core]) }
  },
  async Fastify(core) {
    const app = Fastify()
    await app.register(svc, { prefix: '/messaging', core })
    await app.listen({ host: '127.0.0.1', port: 0 })
    return { server: app.server, end: () => closeGracefully(app, core) }
  },
  async Hono(core) {
    const handler = await createHandler({ core, prefix: '/messaging' })
    const app = new Hono()
    app.all('/messaging/*', (c) => handler.fetch(c.req.raw, c))
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }) as Server
    await listening(server)
    return { server, end: () => closeGracefully(server, [handler, core]) }
  },
  async 'node:http'(core) {
    const handler = await createHandler({ core, prefix: '/messaging' })
    const server = await listening(createServer(handler.node))
    return { server, end: () => closeGracefully(server, [handler, core]) }
  },
}

/** Sends one request after the other on one kept connection, until the server ends it. */
function clientOf(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const statuses: number[] = []
  const failures: string[] = []
  const one = () =>
    new Promise<boolean>((resolve) => {
      const sent = request({ port, host: '127.0.0.1', path: PATH, agent }, (answer) => {
        statuses.push(answer.statusCode ?? 0)
        answer.resume().once('end', () => resolve(true))
      })
      sent.once('error', (error: NodeJS.ErrnoException) => {
        // A server that does not listen any more took nothing.
        if (error.code !== 'ECONNREFUSED') failures.push(`${error.code}`)
        resolve(false)
      })
      sent.end()
    })
  const ended = (async () => {
    while (await one());
    agent.destroy()
  })()
  return { statuses, failures, ended }
}

it.each(Object.entries(HOSTS))(
  '%s ends under load on kept connections, and each request is answered or never taken',
  async (_, open) => {
    const core = await createCore({ database_url: ':memory:', durability: 'none', threads: 0 })
    const { server, end } = await open(core)
    const { port } = server.address() as AddressInfo
    const clients = Array.from({ length: 20 }, () => clientOf(port))
    await expect
      .poll(() => Math.min(...clients.map(({ statuses }) => statuses.length)))
      .toBeGreaterThan(5)
    await end()
    await Promise.all(clients.map(({ ended }) => ended))
    expect(clients.flatMap(({ failures }) => failures)).toEqual([])
    expect(new Set(clients.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]))
    await expect(core.ping()).rejects.toMatchObject({ code: 'closed' })
  },
)

it('resets no connection of clients that open the next one as soon as they get an answer', async () => {
  const failures: (string | undefined)[] = []
  let answered = 0
  const clients: Promise<void>[] = []
  // The client is a part of the handler, so that its next connection waits in the kernel when the turn of the event loop ends.
  const connectOnce = (port: number) => {
    const socket = connect(port, '127.0.0.1')
    const failing = (error: NodeJS.ErrnoException) => void failures.push(error.code)
    clients.push(new Promise((resolve) => void socket.on('error', failing).on('close', resolve)))
    socket.once('connect', () => socket.write('GET / HTTP/1.1\r\nHost: svc\r\n\r\n'))
    socket.once('data', () => {
      answered += 1
      socket.end()
    })
  }
  const server = await listening(
    createServer((_, response) => {
      response.end()
      connectOnce(port)
    }),
  )
  const { port } = server.address() as AddressInfo
  connectOnce(port)
  await expect.poll(() => answered).toBeGreaterThan(2)
  await closeGracefully(server, [])
  for (let n = 0; n < clients.length; n++) await clients[n]
  expect(failures).toEqual(['ECONNREFUSED'])
  expect(answered).toBe(clients.length - 1)
})

it('cuts connections that do not end, and closes the core with the rest of the time', async () => {
  const server = await listening(createServer(() => {}))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write('GET / HTTP/1.1\r\nHost: svc\r\n\r\n')
  await once(server, 'request')
  let given = -1
  const part = {
    async close({ grace_ms = -1 } = {}) {
      given = grace_ms
    },
  }
  const cut = once(socket, 'close')
  await closeGracefully(server, part, { grace_ms: 400 })
  await cut
  expect(given).toBeGreaterThanOrEqual(0)
  expect(given).toBeLessThan(400)
})

it('does not wait for connections that were upgraded', async () => {
  const server = await listening(createServer())
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
  })
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: svc\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
  await once(socket, 'data')
  await closeGracefully(server, [], { grace_ms: 400 })
  expect(socket.destroyed).toBe(false)
  socket.destroy()
})
