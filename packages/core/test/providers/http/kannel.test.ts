import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CallbackReading, Provider } from '../../../src/contract/outside/provider.ts'
import { httpProvider } from '../../../src/providers/http/provider.ts'
import { settings } from '../../../src/providers/http/settings.ts'
import { httpJob } from './gateway.ts'
import { HAS_KANNEL, type Kannel, openKannel } from './kannel.ts'

const TOKEN = 'canary-token-of-16'

/** The settings of docs/guides/kannel.md. */
function kannelSettings(url: string, password = 'canary-password') {
  return settings.parse({
    type: 'http',
    name: 'kannel',
    channels: ['sms'],
    senders: { sms: ['5678'] },
    auth: { type: 'parameters', parameters: { username: 'svc', password } },
    send: {
      method: 'GET',
      url,
      query: {
        from: '{{from}}',
        to: '{{to_digits}}',
        text: '{{text}}',
        charset: 'UTF-8',
        coding: '{{coding}}',
        'dlr-mask': '19',
        'dlr-url': '{{callback_url}}&status=%d',
      },
    },
    callback: {
      auth: { type: 'token', token: TOKEN },
      receipts: {
        status: '?status',
        statuses: { 1: 'delivered', 2: 'failed', 8: 'sent', 16: 'failed' },
      },
      inbound: { id: '?id', from: '?from', to: '?to', text: '?text' },
    },
  })
}

describe.runIf(HAS_KANNEL)(
  HAS_KANNEL
    ? 'Kannel as the gateway'
    : 'Kannel (kannel or kannel-extras not installed) as the gateway',
  () => {
    let kannel: Kannel
    let provider: Provider
    const readings: CallbackReading[] = []
    const server = createServer((request, response) => {
      const url = `http://127.0.0.1:${port()}${request.url}`
      const callback = { method: 'GET', url, headers: {}, body: new Uint8Array() } as const
      const reading = provider.readCallback?.(callback) as CallbackReading | undefined
      if (reading) readings.push(reading)
      response.end()
    })
    const port = () => (server.address() as AddressInfo).port
    const reports = () =>
      readings.flatMap<object>((reading) => (reading.type === 'read' ? reading.reports : [reading]))
    const open = (url: string, password?: string) =>
      httpProvider(kannelSettings(url, password), {
        public_url: `http://127.0.0.1:${port()}`,
        callback_url: `http://127.0.0.1:${port()}/callbacks/kannel`,
        secret: 'canary-context-secret',
      })

    beforeAll(async () => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      // The incoming text may arrive before Kannel prints that it is up.
      provider = open('http://127.0.0.1:9/')
      const query = `inbound&token=${TOKEN}&from=%p&to=%P&text=%b&id=%I`
      kannel = await openKannel(`http://127.0.0.1:${port()}/callbacks/kannel?${query}`)
      provider = open(kannel.url)
    })
    afterAll(async () => {
      await provider?.close?.()
      await kannel?.close()
      await new Promise((resolve) => server.close(resolve))
    })

    it.each([
      ['GSM-7', 'Price: 5€ @ café & {tax}', 'text Price: 5€ @ café & {tax}'],
      ['UCS-2', 'Привет', 'ucs-2 %04%1F%04%40%048%042%045%04B'],
    ])('sends a text in %s and reads its receipt', async (_, text, arrived) => {
      const message_id = `22222222-2222-4222-8222-${String(text.length).padStart(12, '0')}`
      const job = httpJob({ message_id, sender: '5678', content: { text } })
      expect(await provider.send([job])).toEqual([
        { type: 'accepted', provider_message_id: null, lookup_after_ms: null },
      ])
      await expect.poll(kannel.got, { timeout: 10_000 }).toContain(`5678 15551234567 ${arrived}`)
      const { workspace_id } = job
      await expect.poll(reports, { timeout: 10_000 }).toContainEqual({
        type: 'receipt',
        about: { workspace_id, message_id },
        provider_message_id: null,
        receipt: expect.objectContaining({ status: 'delivered' }),
      })
    })

    it('receives a text', async () => {
      await expect.poll(reports, { timeout: 10_000 }).toContainEqual({
        type: 'received',
        channel: 'sms',
        provider_message_id: expect.any(String),
        sender: '+4711',
        recipient: '5678',
        content: { text: 'Good day', media: [] },
      })
    })

    it('gets an error for a wrong password and for a missing recipient', async () => {
      const wrong = open(kannel.url, 'wrong')
      const [refused] = await wrong.send([httpJob()])
      await wrong.close?.()
      expect(refused).toMatchObject({ type: 'retry', misconfigured: 'provider' })
      const [rejected] = await provider.send([httpJob({ recipient: '' })])
      expect(rejected).toMatchObject({ type: 'rejected', error_code: 'http_400' })
    })
  },
)
