import { existsSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { type Service, startService } from '../stage/service.ts'
import { openStage } from '../stage/stage.ts'
import { type Input, inputs } from './inputs.ts'

/** The longest delay that one input caused. */
export interface Slow {
  input: Input
  status: number
  /** The longest turn of the event loop, in processor time; the minimum of its tries. */
  delay_ms: number
}

/** The number of tries of a slow input: a compilation or a garbage collection can fall into a single try. */
const TRIES = 4
const WAIT_MAX_MS = 120_000

export interface Options {
  /** One input of each kind, instead of all. */
  quick: boolean
  /** Only inputs whose method and path contain this text; default: all. */
  route?: string
  /** Longer delays are tried again, unless an attempt names its own limit. */
  suspect_ms: number
}

/** A running service, and its inputs. */
export interface Trial {
  inputs: Input[]
  /** Sends an input, repeatedly while its delay is longer than `suspect_ms`, and returns the shortest delay. */
  attempt(input: Input, suspect_ms?: number): Promise<Slow>
  close(): Promise<void>
}

export async function openTrial({ quick, route = '', suspect_ms }: Options): Promise<Trial> {
  // In memory, where possible: a flush to disk would count as a delay.
  const stage = openStage(existsSync('/dev/shm') ? { parent: '/dev/shm' } : {})
  const agent = new Agent({ keepAlive: true, timeout: WAIT_MAX_MS })
  const service = await startService(stage, 'service', {
    dispatch: false,
    env: { SVC_BULK_RECIPIENTS_MAX: '10000' },
  })
  let token = await login(service, agent)

  async function once(input: Input): Promise<Slow> {
    await service.child.request('turn', null)
    const status = await send(service, agent, input, token)
    const { max_ms } = await service.child.request('turn', null)
    if (input.path.endsWith('/logout') && status === 200) token = await login(service, agent)
    return { input, status, delay_ms: max_ms }
  }

  return {
    inputs: inputs({ quick, route }),
    async attempt(input, longest_ms = suspect_ms) {
      let best = await once(input)
      for (let i = 1; i < TRIES && best.delay_ms > longest_ms; i++) {
        const again = await once(input)
        if (again.delay_ms < best.delay_ms) best = again
      }
      return best
    },
    async close() {
      agent.destroy()
      await service.stop()
      await stage.close()
    },
  }
}

/**
 * Sends every input, in rounds until `until_ms`, and returns the slowest input of each route, the slowest route
 * first.
 */
export async function slowInputs(
  options: Options & {
    until_ms: number
    progress: (done: number, all: number, worst: Slow | null) => void
  },
): Promise<{ tried: number; worst: Slow[] }> {
  const trial = await openTrial(options)
  const worst = new Map<string, Slow>()
  let tried = 0
  try {
    do {
      for (const input of trial.inputs) {
        const slow = await trial.attempt(input)
        tried++
        const route = `${input.method} ${input.path.split('?')[0]}`
        const known = worst.get(route)
        if (!known || slow.delay_ms > known.delay_ms) worst.set(route, slow)
        if (tried % 100 === 0)
          options.progress(tried, trial.inputs.length, sorted(worst)[0] ?? null)
      }
    } while (Date.now() < options.until_ms)
  } finally {
    await trial.close()
  }
  return { tried, worst: sorted(worst) }
}

function sorted(worst: ReadonlyMap<string, Slow>): Slow[] {
  return [...worst.values()].sort((a, b) => b.delay_ms - a.delay_ms)
}

async function login(service: Service, agent: Agent): Promise<string> {
  const email = 'slow@example.com'
  const password = 'a password of this run'
  const post = (path: string, body: object) =>
    sendRequest(service.url + path, { method: 'POST', agent, body: JSON.stringify(body) })
  await post('/api/v1/auth/signup', { email, password, company_name: 'A' })
  const { text } = await post('/api/v1/auth/login', { email, password })
  return JSON.parse(text).data.token
}

/** The status of the answer; 0 if the connection was closed without one. */
async function send(
  { url, key }: Service,
  agent: Agent,
  { method, path, auth, headers, body }: Input,
  token: string,
): Promise<number> {
  const credentials: Record<Input['auth'], Record<string, string>> = {
    none: {},
    operator: {},
    api_key: { 'x-api-key': key },
    jwt: { authorization: `Bearer ${token}` },
    jwt_or_api_key: { authorization: `Bearer ${token}` },
  }
  const all = { ...credentials[auth], ...headers }
  const answer = sendRequest(url + path, { method, agent, headers: all, body })
  return (await answer.catch(() => ({ status: 0 }))).status
}

function sendRequest(
  url: string,
  {
    method,
    agent,
    headers = {},
    body,
  }: {
    method: string
    agent: Agent
    headers?: Record<string, string>
    body?: string | undefined
  },
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = request(url, { method, agent, headers: { ...type, ...headers } }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk) => chunks.push(chunk)).on('error', reject)
      answer.on('end', () => {
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() })
      })
    })
    sent.on('error', reject).setTimeout(WAIT_MAX_MS, () => sent.destroy(new Error('no answer')))
    sent.end(body)
  })
}
