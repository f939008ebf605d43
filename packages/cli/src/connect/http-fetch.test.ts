import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { httpFetch } from './http-fetch.ts'

let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function listen(listener: Parameters<typeof createServer>[1]): Promise<string> {
  const created = createServer(listener)
  server = created
  await new Promise<void>((resolve) => created.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(created.address() as AddressInfo).port}`
}

it('returns the status, a header and the JSON of the answer', async () => {
  const seen: IncomingHttpHeaders[] = []
  const url = await listen((request, response) => {
    seen.push(request.headers)
    response.writeHead(429, { 'Retry-After': '7' }).end('{"text":"é"}')
  })
  const response = await httpFetch(url, { method: 'POST', headers: { 'x-api-key': 'k' } })
  expect(response).toMatchObject({ url: `${url}/`, ok: false, status: 429 })
  expect(response.headers.get('retry-after')).toBe('7')
  expect(response.headers.get('location')).toBeNull()
  expect(await response.json()).toEqual({ text: 'é' })
  expect(seen).toMatchObject([{ 'x-api-key': 'k', 'content-length': '0' }])
})

it('rejects the body when the signal aborts during the answer', async () => {
  const url = await listen((_, response) => void response.writeHead(200).write('{'))
  const stopping = new AbortController()
  const init = { method: 'GET', headers: {}, signal: stopping.signal }
  const body = (await httpFetch(url, init)).json()
  stopping.abort()
  await expect(body).rejects.toThrow()
})

it('rejects the body when the server ends the connection during the answer', async () => {
  const url = await listen((_, response) => {
    response.writeHead(200).write('{', () => response.destroy())
  })
  const response = await httpFetch(url, { method: 'GET', headers: {} })
  await expect(response.json()).rejects.toThrow()
})
