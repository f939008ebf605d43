import { join } from 'node:path'
import type { OpenApiDocument } from '@svc/core/contract'
import { type Operation, operationsOf } from '../../packages/server/test/fuzz-operations.ts'
import { sampleOf } from '../../packages/server/test/fuzz-requests.ts'
import { start } from '../stage/command.ts'
import type { WholeService } from './service.ts'
import type { Tools } from './tools.ts'
import { type Send, type Toured, tour } from './tour.ts'

const START_MAX_MS = 60_000
const LISTENING = /listening on (http:\/\/\S+)/

interface Violation {
  location: string[]
  message: string
}

/** The result of all requests. */
export interface Compared {
  /** The number of answers by status. */
  statuses: Map<number, number>
  /** Answers that the document does not describe, and operations without a success. */
  faults: string[]
}

/**
 * Sends one right request of each operation, then `count` varied ones, right and wrong, through Prism, which compares each
 * answer with the document. @throws Error for a right request that is refused.
 */
export async function compareThroughPrism(
  { folder }: Tools,
  document: OpenApiDocument,
  service: WholeService,
  sample: { seed: number; count: number },
): Promise<Compared> {
  const prism = await startPrism(folder, service.url)
  try {
    const line = openLine(prism.url, document)
    const toured = await tour(service, line)
    const missing = operationsOf(document).filter(({ id }) => !line.succeeded.has(id))
    const before = line.count()
    await sendVaried(document, { line, toured, service, ...sample })
    const sent = line.count() - before
    return {
      statuses: line.statuses,
      faults: [
        ...new Set(line.faults),
        ...missing.map(({ id }) => `${id}: no request succeeded`),
        ...(sent < sample.count ? [`only ${sent} of ${sample.count} varied requests`] : []),
      ],
    }
  } finally {
    await prism.stop()
  }
}

type Line = ReturnType<typeof openLine>

interface Outgoing {
  path: string
  headers: Record<string, string>
  body: string | Buffer | undefined
}

/** Sends requests through Prism with the credentials of the last `use`, and records the answers. */
function openLine(url: string, document: OpenApiDocument) {
  const operations = new Map(operationsOf(document).map((operation) => [operation.id, operation]))
  const known: { token?: string; key?: string } = {}
  const statuses = new Map<number, number>()
  const faults: string[] = []
  const succeeded = new Set<string>()

  async function exchange({ id, method, security }: Operation, { path, headers, body }: Outgoing) {
    const credential: Record<string, string> = {}
    if (security.includes('api_key') && known.key) credential['x-api-key'] = known.key
    else if (security.length > 0) credential.authorization = `Bearer ${known.token}`
    const response = await fetch(url + path, {
      method,
      // Prism closes a connection that was idle for 5 s, which a request must not meet.
      headers: {
        connection: 'close',
        ...(body && { 'content-type': 'application/json' }),
        ...credential,
        ...headers,
      },
      ...(method !== 'GET' && body && { body }),
    }).catch((error) => {
      throw new Error(`no answer of ${id} ${path}: ${error.cause ?? error}`)
    })
    const text = await response.text()
    const { status } = response
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (response.ok) succeeded.add(id)
    const violations: Violation[] = JSON.parse(response.headers.get('sl-violations') ?? '[]')
    for (const { location, message } of violations) {
      faults.push(`${id} ${status} ${location.join('.')}: ${message}`)
    }
    return { status, text }
  }

  const send: Send = async (id, { params = {}, query = {}, body, headers, token } = {}) => {
    const operation = operations.get(id)
    if (!operation) throw new Error(`the document has no ${id}`)
    const search = new URLSearchParams(query).toString()
    const { status, text } = await exchange(operation, {
      path: `${pathOf(operation, params)}${search && `?${search}`}`,
      headers: { ...headers, ...(token && { authorization: `Bearer ${token}` }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    if (status >= 300) throw new Error(`a right request of ${id} got ${status}: ${text}`)
    const { data } = (text.startsWith('{') ? JSON.parse(text) : {}) as {
      data?: Record<string, unknown>
    }
    return data ?? {}
  }

  return {
    send,
    exchange,
    use: (credentials: typeof known) => void Object.assign(known, credentials),
    statuses,
    faults,
    succeeded,
    count: () => [...statuses.values()].reduce((sum, n) => sum + n, 0),
  }
}

function pathOf({ path }: Operation, params: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? UNKNOWN),
  )
}

/** An id that no object has. */
const UNKNOWN = '019a9c60-4f20-7e52-9c73-5b2e8f3d4a03'

/** Requests of every operation in turn, about objects that exist and about others; the same for the same seed. */
async function sendVaried(
  document: OpenApiDocument,
  {
    line,
    toured: { params, token, key },
    service,
    seed,
    count,
  }: { line: Line; toured: Toured; service: WholeService; seed: number; count: number },
): Promise<void> {
  // These would end the session of the tour.
  const ending = ['workspaces.logout', 'sessions.end_all']
  const operations = operationsOf(document).filter(({ id }) => !ending.includes(id))
  const ids = [UNKNOWN, ...Object.values(params).flatMap((group) => Object.values(group))]
  const known = { document, ids, bodies: {} }
  const each = Math.ceil((count / operations.length) * SPARE)
  const samples = operations.map((operation) => ({
    operation,
    sample: sampleOf(operation, known, { seed, count: each }),
  }))
  const before = line.count()
  line.use({ token, key })
  for (let i = 0; i < each; i++) {
    for (const { operation, sample } of samples) {
      const request = sample[i]
      // Prism decodes paths before it passes them on.
      if (!request || /%(?![0-9a-f]{2})/i.test(`${request.id}`)) continue
      if (line.count() - before === count) return
      const group = params[operation.id.split('.', 1)[0] ?? ''] ?? {}
      const search = request.query.map(([name, value]) => `${name}=${value}`).join('&')
      const path =
        request.id === null
          ? pathOf(operation, operation.method === 'DELETE' ? {} : group)
          : operation.path.replace(/\{\w+\}/g, () => `${request.id}`)
      const body = request.body || undefined
      const signed = operation.id === 'billing.notify' && i % 2 === 0 && typeof body === 'string'
      await line.exchange(operation, {
        path: `${path}${search && `?${search}`}`,
        headers: signed ? service.signed(body) : {},
        body,
      })
    }
  }
}

/** Some samples cannot pass through Prism. */
const SPARE = 1.2

async function startPrism(cwd: string, upstream: string) {
  const prism = join(cwd, 'node_modules/@stoplight/prism-cli/dist/index.js')
  const options = ['--host', '127.0.0.1', '--port', '0', '--validate-request', 'false']
  const command = [process.execPath, prism, 'proxy', 'openapi.json', upstream, ...options]
  const running = start(command, { cwd, env: process.env })
  const [, url = ''] = await running.until(LISTENING, START_MAX_MS)
  return { url, stop: () => running.stop() }
}
