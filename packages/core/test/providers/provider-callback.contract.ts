import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { CallbackReading, CallbackRequest } from '../../src/contract/outside/provider.ts'
import type { ProviderBench, ProviderHarness } from './provider-harness.ts'
import { expectNoLeak } from './provider-outcomes.ts'

const ABOUT = {
  workspace_id: '11111111-1111-4111-8111-111111111111',
  message_id: '22222222-2222-4222-8222-222222222222',
  provider_message_id: 'peer-77',
}

/** Tests the promises of a provider with callbacks: it accepts only valid signatures and survives any request. */
export function callbackContract(harness: ProviderHarness, bench: () => ProviderBench): void {
  function read(request: CallbackRequest): CallbackReading {
    const reading = bench().provider.readCallback?.(request)
    if (!reading) throw new Error('the provider reads no callbacks')
    expect(structuredClone(reading)).toEqual(reading)
    return reading
  }
  const callback = (status: 'delivered' | 'failed' = 'delivered') => {
    const request = bench().callbacks?.of(ABOUT, status)
    if (!request) throw new Error('the bench makes no callbacks')
    return request
  }

  it.each(['delivered', 'failed'] as const)('report a message as %s', (status) => {
    const reading = read(callback(status))
    const reports = reading.type === 'read' ? reading.reports : []
    expect(reports).toMatchObject([{ type: 'receipt', receipt: { status } }])
    const [report] = reports
    if (report?.type !== 'receipt') throw new Error('no receipt')
    // At least one of them identifies the message.
    const { about, provider_message_id } = report
    if (about)
      expect(about).toEqual({ workspace_id: ABOUT.workspace_id, message_id: ABOUT.message_id })
    else expect(provider_message_id).toBe(ABOUT.provider_message_id)
  })

  it('are forged without headers and query', () => {
    const request = callback()
    const url = request.url.split('?')[0] ?? ''
    expect(read({ ...request, url, headers: {} }).type).toBe('forged')
  })

  it('are forged with the signature of another secret', () => {
    const request = callback()
    const changed = (text: string) => text.replace(/[a-zA-Z0-9]/g, (c) => (c === 'a' ? 'b' : 'a'))
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, text = '']) =>
        name.startsWith('content-') ? [name, text] : [name, changed(text)],
      ),
    )
    const [path = '', query = ''] = request.url.split('?')
    const url = query ? `${path}?${query.replace(/=[^&]*/g, changed)}` : path
    expect(read({ ...request, url, headers }).type).toBe('forged')
  })

  if (harness.callbacks?.signs_body)
    it('are forged if one bit of the body is changed', () => {
      const request = callback()
      for (let at = 0; at < request.body.length; at += 1) {
        const body = Uint8Array.from(request.body)
        body[at] = (body[at] ?? 0) ^ 1
        expect(read({ ...request, body }).type).toBe('forged')
      }
    })

  it('are never accepted with random headers, query and body', () => {
    const { url, headers } = callback()
    const [path = ''] = url.split('?')
    const text = fc.string({ unit: 'binary', maxLength: 200 })
    const names = fc.constantFrom(...Object.keys(headers), 'content-type', 'x-any')
    fc.assert(
      fc.property(
        fc.record({
          method: fc.constantFrom('GET' as const, 'POST' as const),
          query: text,
          headers: fc.dictionary(names, text),
          body: fc.uint8Array({ maxLength: 500 }),
        }),
        ({ query, ...rest }) => {
          expect(read({ ...rest, url: `${path}?${query}` }).type).not.toBe('read')
        },
      ),
      { numRuns: 300 },
    )
  })

  it('are read or refused without a repeat of their content if they are signed garbage', () => {
    const json = fc.oneof(
      fc.json(),
      fc.object({ maxDepth: 5 }).map((value) => JSON.stringify(value)),
      fc.webQueryParameters(),
    )
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 500 }), json.map(bytesOf)), (body) => {
        const signed = bench().callbacks?.signed(body)
        if (signed) expect(['read', 'unreadable']).toContain(read(signed).type)
      }),
      { numRuns: 300 },
    )
    const deep = `${'['.repeat(50_000)}"canary-4712"${']'.repeat(50_000)}`
    for (const body of ['canary-4712', '{"canary-4712":', '"canary-4712"', deep]) {
      const signed = bench().callbacks?.signed(bytesOf(body))
      const reading = signed ? read(signed) : null
      if (reading?.type === 'unreadable') expectNoLeak(reading.reason, ['canary-4712'])
    }
  })
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
