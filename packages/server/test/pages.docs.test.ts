import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Svc } from '@svc/client'
import { api, ERRORS, type OpenApiDocument, openapi } from '@svc/core/contract'
import { describe, expect, it } from 'vitest'
import { operationsOf } from '../src/pages/reference/document.ts'
import { LANGUAGES, samplesHtml } from '../src/pages/reference/samples.ts'
import { useWorld } from './world.ts'

const run = promisify(execFile)
const world = useWorld({ listen: true, brand: 'Acme <b>&' })

const DOCUMENT: OpenApiDocument = openapi(api, { version: '1', url: 'http://127.0.0.1:3000' })
const OPERATIONS = operationsOf(DOCUMENT)

const page = async () => (await world().app.inject({ method: 'GET', url: '/docs' })).body

/** The part of the page about an operation. */
function articleOf(html: string, operationId: string): string {
  const begin = html.indexOf(`<article id="${operationId}"`)
  return begin === -1 ? '' : html.slice(begin, html.indexOf('</article>', begin))
}

/** The code of a sample as a browser shows it. */
function sampleOf(html: string, language: keyof typeof LANGUAGES): string {
  const [, code = ''] =
    new RegExp(`<pre[^>]*data-language="${language}"[^>]*><code>(.*?)</code>`, 's').exec(html) ?? []
  return code
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}

describe('the API reference', () => {
  it('runs no inline script, has no inline style, and loads nothing from another host', async () => {
    const body = await page()
    expect(body).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
    const addresses = [...body.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, address]) => address)
    expect(new Set(addresses)).toEqual(
      new Set(['data:,', 'docs/docs.css', 'docs/docs.js', 'openapi.json']),
    )
    const { body: style } = await world().app.inject({ method: 'GET', url: '/docs/docs.css' })
    expect(style).not.toMatch(/@import|url\(/)
  })

  it('shows every endpoint, the sending of a message first', async () => {
    const body = await page()
    const shown = [...body.matchAll(/<article id="([^"]+)"/g)].map(([, id]) => id)
    expect(shown[0]).toBe('messages.send')
    expect([...shown].sort()).toEqual(OPERATIONS.map(({ operationId }) => operationId).sort())
  })

  it('has links that lead to a place of the page, and each place once', async () => {
    const body = await page()
    const ids = [...body.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const links = new Set([...body.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id))
    expect([...links].filter((id) => !ids.includes(id))).toEqual([])
  })

  it('shows the name of the service, and escapes it', async () => {
    const body = await page()
    expect(body).toContain('<h1>Acme &lt;b&gt;&amp; API reference</h1>')
    expect(body).not.toContain('Acme <b>')
  })

  it('explains every error with its status', async () => {
    const body = await page()
    for (const [code, status] of Object.entries(ERRORS)) {
      expect(body).toContain(`<td><code>${code}</code></td><td>${status}</td>`)
    }
  })

  it('has samples in every language; those of Node call methods that the client has', async () => {
    const body = await page()
    const client = new Svc({ baseUrl: 'http://127.0.0.1:1' }) as unknown as Record<string, object>
    for (const { operationId } of OPERATIONS) {
      const article = articleOf(body, operationId)
      if (operationId === 'billing.notify') {
        expect(article).not.toContain('<pre tabindex="0" data-language')
        continue
      }
      for (const language of Object.keys(LANGUAGES) as (keyof typeof LANGUAGES)[]) {
        expect(sampleOf(article, language), `${operationId} in ${language}`).not.toBe('')
      }
      const [, group = '', method = ''] =
        /await svc\.(\w+)\.(\w+)\(/.exec(sampleOf(article, 'node')) ?? []
      expect(client[group], operationId).toHaveProperty(method, expect.any(Function))
    }
  })
})

describe('a sample', () => {
  async function sample(language: keyof typeof LANGUAGES) {
    const owner = await world().signup({ credits: 10 })
    const { key } = await world().key(owner)
    const code = sampleOf(articleOf(await page(), 'messages.send'), language)
    return { key, code: code.replaceAll('http://127.0.0.1:3000', world().url) }
  }

  it('of curl sends the message', async () => {
    const { key, code } = await sample('curl')
    const env = { ...process.env, SVC_API_KEY: key }
    const { stdout } = await run('bash', ['-c', code.replace('curl ', 'curl -s ')], { env })
    expect(JSON.parse(stdout)).toMatchObject({ success: true, data: { status: 'queued' } })
  })

  it('of Node sends the message', async () => {
    const { key, code } = await sample('node')
    const results: unknown[] = []
    const body = code.replace(/^import .*$/m, '')
    const AsyncFunction = (async () => {}).constructor as FunctionConstructor
    const call = new AsyncFunction('Svc', 'process', 'console', body)
    await call(Svc, { env: { SVC_API_KEY: key } }, { log: (one: unknown) => results.push(one) })
    expect(results).toMatchObject([{ status: 'queued' }])
  })

  it('keeps texts with quotes, backticks, dollars, and ends of lines in each language', () => {
    const text = `it's "50" $ \`x\` \\ <b>\nnext`
    const html = samplesHtml({
      method: 'POST',
      url: 'https://svc.example.com/x',
      auth: 'jwt',
      body: { text, list: [true, null, 1.5, {}] },
      call: { base_url: 'https://svc.example.com', method: 'a.b', args: [] },
    })
    expect(html).not.toContain('<b>')
    const literal = (language: keyof typeof LANGUAGES) => sampleOf(html, language)
    expect(literal('python')).toContain(`"text": ${JSON.stringify(text)}`)
    expect(literal('python')).toContain(
      'True,\n            None,\n            1.5,\n            {},',
    )
    expect(literal('php')).toContain('"it\'s \\"50\\" \\$ `x` \\\\ <b>\\nnext"')
    expect(literal('node')).toContain("text: 'it\\'s \"50\" $ `x` \\\\ <b>\\nnext'")
    expect(literal('go')).toContain('`+"`"+`x`+"`"+`')
    expect(literal('curl')).toContain("it'\\''s")
    for (const language of ['curl', 'node', 'python', 'php', 'go'] as const) {
      expect(literal(language)).toContain('TOKEN')
    }
  })

  it('of Go uses each of its imports, also with the key in the place of the variable', async () => {
    const body = await page()
    const samples = OPERATIONS.map(({ operationId }) =>
      sampleOf(articleOf(body, operationId), 'go').replace(/os\.Getenv\("\w+"\)/, '"svc_key"'),
    ).filter((code) => code !== '')
    expect(samples.length).toBe(OPERATIONS.length - 1)
    for (const code of samples) {
      const [, imports = '', rest = ''] = /import \((.*?)\n\)(.*)/s.exec(code) ?? []
      for (const [, name = ''] of imports.matchAll(/"(?:\w+\/)*(\w+)"/g)) {
        expect(rest, code).toContain(`${name}.`)
      }
    }
  })
})

describe('/docs/key.json', () => {
  const demo = { workspace_id: 'w', api_key: 'svc_demo' }
  const dev = useWorld({ dev_tools: { demo: () => demo } })

  const keyOf = async (from: typeof world, headers = {}) => {
    const answer = await from().app.inject({ method: 'GET', url: '/docs/key.json', headers })
    expect(answer.headers['cache-control']).toBe('no-store')
    return JSON.parse(answer.body).api_key
  }

  it('has the key of the demo beside svc dev, for this machine only', async () => {
    const local = { host: '127.0.0.1:3000' }
    expect(await keyOf(dev, local)).toBe('svc_demo')
    expect(await keyOf(world, local)).toBeNull()
    expect(await keyOf(dev, { host: 'evil.example' })).toBeNull()
    expect(await keyOf(dev, { ...local, origin: 'https://evil.example' })).toBeNull()
    expect(await keyOf(dev, { ...local, 'x-forwarded-for': '203.0.113.9' })).toBeNull()
  })
})
