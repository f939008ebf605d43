import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import { verify } from '@svc/core/webhooks'
import { expect, it } from 'vitest'
import { readConfig, startServer } from '../../src/index.ts'
import { openReceiver } from '../receiver.ts'
import { newNumber } from './service.ts'
import { openTwilio } from './twilio-carrier.ts'

/** As in production: threads that send, real time, and callbacks to the listening address. */
it('sends from threads, and gets callbacks', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-threads-'))
  const peer = await openTwilio()
  const receiver = await openReceiver()
  const config = readConfig({
    PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_SIGNUP_CREDITS: '5',
    SVC_LOG_LEVEL: 'silent',
    SVC_PROVIDERS: JSON.stringify([peer.settings]),
  })
  const server = await startServer({ config, dev: true })
  try {
    const { url: base_url } = server
    const signup = { email: 'owner@example.com', password: 'long enough', company_name: 'A' }
    await new Svc({ baseUrl: base_url }).workspaces.signup(signup)
    const { token } = await new Svc({ baseUrl: base_url }).workspaces.login(signup)
    const owner = new Svc({ baseUrl: base_url, token })
    const { key: api_key } = await owner.apiKeys.create({ name: 'A' })
    const { webhook } = await owner.webhooks.create({ url: receiver.url })
    const { messages } = new Svc({ baseUrl: base_url, apiKey: api_key })
    const to = newNumber()
    const { message_id: id } = await messages.send({ to, channel: 'sms', content: { text: 'Hi' } })
    const statusOf = async () => (await messages.get(id)).message.status
    await expect.poll(statusOf, { timeout: 20_000 }).toBe('sent')
    expect(peer.taken(to)).toBe(1)
    const request = peer.callback(to, 'delivered')
    expect(request.url.startsWith(`${base_url}/callbacks/twilio?`)).toBe(true)
    const answer = await fetch(request.url, {
      method: 'POST',
      headers: request.headers as Record<string, string>,
      body: Buffer.from(request.body),
    })
    expect(answer.status).toBe(200)
    expect(await statusOf()).toBe('delivered')
    const events = () => receiver.arrivals.map(({ body }) => JSON.parse(String(body)).event).sort()
    await expect.poll(events, { timeout: 20_000 }).toEqual(['message.delivered', 'message.sent'])
    for (const { body, headers } of receiver.arrivals) {
      expect(verify({ secret: webhook.secret, body, headers }).ok).toBe(true)
    }
  } finally {
    await server.close()
    await receiver.close()
    await peer.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
