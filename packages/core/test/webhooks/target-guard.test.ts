import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createDeliverer, type DeliverJob } from '../../src/webhooks/deliver.ts'
import { createResolver } from '../../src/webhooks/resolver.ts'
import { createTargetGuard, type TargetPolicy } from '../../src/webhooks/target.ts'
import { type DnsAnswer, startDnsServer } from './dns-server.ts'
import { HOSTILE_NAMES, HOSTILE_URLS } from './hostile-urls.ts'

const REFUSED = 'url must not lead to a private or reserved address'
const PUBLIC = '93.184.216.34'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function dnsOf(answer: (name: string, nth: number) => DnsAnswer) {
  const server = await startDnsServer(answer)
  closing.push(server.close)
  return server
}

/** A receiver on this machine; `seen` lists its requests. */
async function receiver(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: string[] = []
  const server: Server = createServer((request, response) => {
    seen.push(`${request.method} ${request.headers.host}${request.url}`)
    request.resume().on('end', () => answer(request, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { port: (server.address() as AddressInfo).port, seen }
}

function deliverer(targets: TargetPolicy) {
  const opened = createDeliverer({ now: () => new Date(), targets })
  closing.push(opened.close)
  return async (url: string) => {
    const [answer] = await opened.deliver([{ ...JOB, url }])
    if (!answer) throw new Error('a job has no answer')
    return answer
  }
}

const JOB: DeliverJob = {
  delivery_id: 'd1',
  format: 'svc',
  workspace_id: 'w1',
  message: null,
  event_id: 'e1',
  event: 'webhook.test',
  url: '',
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  other_secret: null,
  headers: {},
  body: '{"event":"webhook.test","data":{}}',
  attempt: 1,
}

/** No server listens there: every query fails at once. */
const NO_DNS = ['127.0.0.1:1']

it('knows at least 80 hostile addresses', () => {
  expect(new Set(HOSTILE_URLS).size).toBe(HOSTILE_URLS.length)
  expect(HOSTILE_URLS.length).toBeGreaterThanOrEqual(80)
})

describe('a target that is not public', () => {
  const policy = { allow_http: true, dns: NO_DNS }

  it.each(HOSTILE_URLS)('is refused at creation and gets no request: %s', async (url) => {
    await expect(createTargetGuard(policy).check(url)).rejects.toThrow(REFUSED)
    const http = url.replace('https:', 'http:')
    expect(await deliverer(policy)(http)).toMatchObject({
      error: 'blocked_target',
      response_status: null,
    })
  })

  it.each(Object.entries(HOSTILE_NAMES))(
    'is refused as the address of a name: %s',
    async (name, found) => {
      const dns = await dnsOf(() => found)
      const hostile = { allow_http: true, dns: [dns.address] }
      await expect(createTargetGuard(hostile).check(`https://${name}/`)).rejects.toThrow(REFUSED)
      const answer = await deliverer(hostile)(`http://${name}/`)
      expect(answer).toMatchObject({ error: 'blocked_target', response_status: null })
    },
  )

  it('gets requests only if the operator allows its network', async () => {
    const { port, seen } = await receiver((_, response) => response.end())
    const allowing = { ...policy, allow_nets: ['127.0.0.1', '10.0.0.0/8'] }
    const guard = createTargetGuard(allowing)
    await guard.check(`http://127.0.0.1:${port}/`)
    await guard.check(`http://[::ffff:127.0.0.1]:${port}/`)
    await guard.check('https://10.9.8.7/')
    await expect(guard.check('https://127.0.0.2/')).rejects.toThrow(REFUSED)
    // One of its two addresses is not allowed.
    await expect(guard.check('https://localhost/')).rejects.toThrow(REFUSED)
    const deliver = deliverer(allowing)
    expect(await deliver(`http://127.0.0.1:${port}/hook`)).toMatchObject({ response_status: 200 })
    expect(await deliver(`http://127.0.0.2:${port}/hook`)).toMatchObject({
      error: 'blocked_target',
    })
    expect(seen).toEqual([`POST 127.0.0.1:${port}/hook`])
  })
})

describe('a public target', () => {
  it.each([
    'https://93.184.216.34/',
    'https://1.1.1.1:8443/hook?a=b',
    'https://172.32.0.1/',
    'https://100.128.0.1/',
    'https://[2606:4700:4700::1111]/',
    'https://[64:ff9b::5db8:d822]/',
    'https://[::ffff:93.184.216.34]/',
  ])('is allowed: %s', async (url) => {
    await createTargetGuard({ allow_http: false, dns: NO_DNS }).check(url)
  })

  it('is allowed by name, even if the name has no address yet', async () => {
    const dns = await dnsOf((name) => (name === 'there.test' ? [PUBLIC] : 'unknown'))
    const guard = createTargetGuard({ allow_http: false, dns: [dns.address] })
    await guard.check('https://there.test/')
    await guard.check('https://missing.test/')
  })

  it('must be https unless the operator allows http', async () => {
    const check = (url: string, allow_http: boolean) =>
      createTargetGuard({ allow_http, dns: NO_DNS }).check(url)
    await expect(check(`http://${PUBLIC}/`, false)).rejects.toThrow('url must be https')
    await check(`http://${PUBLIC}/`, true)
    await expect(check('ftp://93.184.216.34/', true)).rejects.toThrow('url must be https')
  })
})

describe('an http target', () => {
  it('gets no request once the operator no longer allows http', async () => {
    const { port, seen } = await receiver((_, response) => response.end())
    const deliver = deliverer({ allow_http: false, allow_nets: ['127.0.0.0/8'] })
    const answer = await deliver(`http://127.0.0.1:${port}/`)
    expect(answer).toMatchObject({ error: 'blocked_target', response_status: null })
    expect(seen).toEqual([])
  })
})

describe('a host name', () => {
  const LOOPBACK = ['127.0.0.0/8']

  it('gets no request if its address was public and is now this machine', async () => {
    const { port, seen } = await receiver((_, response) => response.end())
    const dns = await dnsOf((_, nth) => (nth === 0 ? [PUBLIC] : ['127.0.0.1']))
    const policy = { allow_http: true, dns: [dns.address] }
    await createTargetGuard(policy).check(`http://rebinding.test:${port}/`)
    const answer = await deliverer(policy)(`http://rebinding.test:${port}/`)
    expect(answer).toMatchObject({ error: 'blocked_target', response_status: null })
    expect(seen).toEqual([])
  })

  it('is looked up once for simultaneous deliveries, which connect to the checked address', async () => {
    const { port, seen } = await receiver((_, response) => response.end())
    const dns = await dnsOf((_, nth) => (nth === 0 ? ['127.0.0.1'] : ['127.0.0.2']))
    const deliver = deliverer({ allow_http: true, allow_nets: LOOPBACK, dns: [dns.address] })
    const url = `http://pinned.test:${port}/`
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliver(url)))
    expect(answers.map(({ response_status }) => response_status)).toEqual(Array(20).fill(200))
    expect(seen).toHaveLength(20)
    expect(dns.queries('pinned.test')).toBe(1)
  })

  it('fails as dns if it does not exist or its server does not answer', async () => {
    const dns = await dnsOf((name) => (name === 'silent.test' ? 'silence' : 'unknown'))
    const deliver = deliverer({ allow_http: true, dns: [dns.address] })
    expect(await deliver('http://missing.test/')).toMatchObject({ error: 'dns' })
    expect(await deliver('http://silent.test/')).toMatchObject({ error: 'dns' })
  }, 20_000)

  it('keeps at most 8 addresses of each family', async () => {
    const flood = [4, 6].flatMap((family) =>
      Array.from({ length: 20 }, (_, i) => (family === 4 ? `93.184.216.${i}` : `2600::${i + 1}`)),
    )
    const dns = await dnsOf(() => flood)
    const found = await createResolver([dns.address])('flood.test')
    expect(found.map(({ family }) => family)).toEqual([...Array(8).fill(4), ...Array(8).fill(6)])
  })

  it('localhost is this machine, with every resolver', async () => {
    const { port, seen } = await receiver((_, response) => response.end())
    const allow_nets = ['127.0.0.0/8', '::1']
    for (const dns of [NO_DNS, 'system'] as const) {
      const deliver = deliverer({ allow_http: true, allow_nets, dns })
      expect(await deliver(`http://localhost:${port}/`)).toMatchObject({ response_status: 200 })
    }
    expect(seen).toHaveLength(2)
  })
})

describe('a receiver', () => {
  const policy = { allow_http: true, allow_nets: ['127.0.0.1'], dns: NO_DNS }

  it('is not followed where it redirects', async () => {
    const inner = await receiver((_, response) => response.end())
    for (const status of [301, 302, 303, 307, 308]) {
      const { port } = await receiver((_, response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${inner.port}/secret` }).end()
      })
      const answer = await deliverer(policy)(`http://127.0.0.1:${port}/`)
      expect(answer).toMatchObject({ response_status: status, error: null })
    }
    expect(inner.seen).toEqual([])
  })

  it('is reached without the proxies of the environment', async () => {
    const proxy = await receiver((_, response) => response.end())
    const { port, seen } = await receiver((_, response) => response.end())
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'HTTPS_PROXY']) {
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`)
    }
    vi.stubEnv('NODE_USE_ENV_PROXY', '1')
    try {
      expect(await deliverer(policy)(`http://127.0.0.1:${port}/`)).toMatchObject({ error: null })
    } finally {
      vi.unstubAllEnvs()
    }
    expect([proxy.seen.length, seen.length]).toEqual([0, 1])
  })

  it('is read without decompression', async () => {
    const { port } = await receiver((request, response) => {
      expect(request.headers['accept-encoding']).toBeUndefined()
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.alloc(1_000_000))
    })
    const answer = await deliverer(policy)(`http://127.0.0.1:${port}/`)
    expect(answer.response_status).toBe(200)
    expect(answer.response_body?.length).toBe(16 * 1024)
  })
})
