import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { httpFetch } from './connection.ts'

let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

const plain = {
  method: 'GET',
  headers: {},
  redirect: 'manual',
  signal: new AbortController().signal,
} as const

async function listen(listener: Parameters<typeof createServer>[1]): Promise<string> {
  const created = createServer(listener)
  server = created
  await new Promise<void>((resolve) => created.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(created.address() as AddressInfo).port}`
}

it('returns the status, a header and the text of the answer', async () => {
  const seen: IncomingHttpHeaders[] = []
  const url = await listen((request, response) => {
    seen.push(request.headers)
    response.writeHead(429, { 'Retry-After': '7' }).end('{"text":"é"}')
  })
  const response = await httpFetch(url, { ...plain, method: 'POST', headers: { 'x-api-key': 'k' } })
  expect(response.status).toBe(429)
  expect(response.headers.get('retry-after')).toBe('7')
  expect(response.headers.get('location')).toBeNull()
  expect(await response.text()).toBe('{"text":"é"}')
  expect(seen).toMatchObject([{ 'x-api-key': 'k', 'content-length': '0' }])
})

it('rejects the body when the signal aborts during the answer', async () => {
  const url = await listen((_, response) => void response.writeHead(200).write('{'))
  const stopping = new AbortController()
  const init = { ...plain, signal: stopping.signal }
  const body = (await httpFetch(url, init)).text()
  stopping.abort()
  await expect(body).rejects.toThrow()
})

it('rejects the body when the server ends the connection during the answer', async () => {
  const url = await listen((_, response) => {
    response.writeHead(200).write('{', () => response.destroy())
  })
  const response = await httpFetch(url, plain)
  await expect(response.text()).rejects.toThrow()
})
