import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { OpenApiDocument } from '@svc/core/contract'
import { operationsOf } from '../../packages/server/test/fuzz-operations.ts'
import { sampleOf } from '../../packages/server/test/fuzz-requests.ts'
import type { Tools } from './tools.ts'

const START_MAX_MS = 60_000
const LISTENING = /listening on (http:\/\/\S+)/

/** They would end the session, or need a signature or a token from a mail. */
const LEFT_OUT = /^(workspaces\.(logout|change_password|verify_email|reset_password)|billing\.)/

interface Violation {
  location: string[]
  message: string
}

/** Sends varied requests, right and wrong ones, through Prism, which compares each answer with the document. */
export async function compareThroughPrism(
  { folder }: Tools,
  document: OpenApiDocument,
  {
    url,
    key,
    token,
    seed,
    count,
  }: { url: string; key: string; token: string; seed: number; count: number },
): Promise<{ statuses: Map<number, number>; faults: string[] }> {
  const prism = await startPrism(folder, url)
  const statuses = new Map<number, number>()
  const faults: string[] = []
  try {
    for (const { operation, request } of requests(document, { seed, count })) {
      const id = request.id ?? '019a9c60-4f20-7e52-9c73-5b2e8f3d4a03'
      const path = operation.path.replace(/\{\w+\}/g, () => id)
      const search = request.query.map(([name, value]) => `${name}=${value}`).join('&')
      const credential = operation.security.includes('api_key')
        ? { 'x-api-key': key }
        : { authorization: `Bearer ${token}` }
      const response = await fetch(`${prism.url}${path}${search && `?${search}`}`, {
        method: operation.method,
        headers: { ...credential, ...(request.body && { 'content-type': 'application/json' }) },
        ...(operation.method !== 'GET' && request.body && { body: request.body }),
      })
      await response.arrayBuffer()
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
      const violations: Violation[] = JSON.parse(response.headers.get('sl-violations') ?? '[]')
      for (const { location, message } of violations) {
        faults.push(`${operation.id} ${response.status} ${location.join('.')}: ${message}`)
      }
    }
  } finally {
    await prism.stop()
  }
  return { statuses, faults: [...new Set(faults)] }
}

/** Valid requests, and requests with one fault, of every operation in turn; the same for the same seed. */
function* requests(document: OpenApiDocument, { seed, count }: { seed: number; count: number }) {
  const operations = operationsOf(document).filter(({ id }) => !LEFT_OUT.test(id))
  const known = { document, ids: ['019a9c60-4f20-7e52-9c73-5b2e8f3d4a03'], bodies: {} }
  const each = Math.ceil(count / operations.length)
  const samples = operations.map((operation) => ({
    operation,
    sample: sampleOf(operation, known, { seed, count: each }),
  }))
  for (let i = 0; i < each; i++) {
    for (const { operation, sample } of samples) {
      const request = sample[i]
      // Prism decodes paths before it passes them on.
      if (request && !/%(?![0-9a-f]{2})/i.test(`${request.id}`)) yield { operation, request }
    }
  }
}

async function startPrism(folder: string, upstream: string) {
  const prism = join(folder, 'node_modules/@stoplight/prism-cli/dist/index.js')
  const options = ['--host', '127.0.0.1', '--port', '0', '--validate-request', 'false']
  const child = spawn(process.execPath, [prism, 'proxy', 'openapi.json', upstream, ...options], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const limit = setTimeout(() => child.kill('SIGKILL'), START_MAX_MS)
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-10_000)
      const found = LISTENING.exec(output)?.[1]
      if (found) resolve(found)
    })
    ended.then(() => reject(new Error(`Prism did not start: ${output}`)), reject)
  })
  clearTimeout(limit)
  child.stdout.removeAllListeners('data').resume()
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
