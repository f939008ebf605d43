import { Resend } from 'resend'
import { Webhook } from 'svix'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { borrowDatabase } from '../../../core/test/postgres-database.ts'
import { type Arrival, openReceiver } from '../receiver.ts'
import { openWorld, type WorldOptions } from '../world.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function openStage(options: WorldOptions = {}) {
  const world = await openWorld({ dispatch: true, listen: true, ...options })
  closers.push(() => world.close())
  const owner = await world.signup({ credits: 1_000 })
  const scopes = ['send_messages', 'read_messages', 'manage_webhooks'] as const
  const { key } = await world.key(owner, { scopes: [...scopes] })
  const clientOf = (text: string) => new Resend(text, { baseUrl: `${world.url}/compat/resend` })
  return { world, owner, clientOf, resend: clientOf(key) }
}

async function receiver() {
  const opened = await openReceiver()
  closers.push(opened.close)
  return opened
}

/** The body of a delivery. @throws Error if the official package refuses its signature. */
function verified({ headers, body }: Arrival, secret: string, at: Date) {
  // The package compares the time stamp with the clock.
  vi.useFakeTimers({ toFake: ['Date'], now: at })
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
  } finally {
    vi.useRealTimers()
  }
  return JSON.parse(body.toString()) as { type: string; data: Record<string, unknown> }
}

const EVENTS = ['email.sent', 'email.delivered', 'email.bounced', 'email.failed'] as const

describe.each(['SQLite', 'PostgreSQL'])('webhooks of Resend with %s', (engine) => {
  async function openEngine() {
    if (engine === 'SQLite') return openStage()
    const database = await borrowDatabase()
    closers.push(() => database.drop())
    return openStage({ database_url: database.url })
  }

  it('deliver the events of e-mails, and svix verifies them', async () => {
    const { world, owner, resend } = await openEngine()
    const { arrivals, url } = await receiver()
    const made = await resend.webhooks.create({ endpoint: url, events: [...EVENTS] })
    expect(made.error).toBe(null)
    const secret = made.data?.signing_secret ?? ''
    expect(secret).toMatch(/^whsec_/)
    const { data } = await resend.emails.send({
      from: 'Acme <onboarding@acme.example>',
      to: ['delivered@example.com'],
      subject: 'Hello Jürgen',
      text: 'Hi',
      tags: [{ name: 'category', value: 'welcome' }],
    })
    // Messages by SMS have no form at Resend.
    await world.send((await world.key(owner)).key)
    await world.dispatcher.idle()
    const events = arrivals.splice(0).map((arrival) => verified(arrival, secret, world.now()))
    expect(events.map(({ type }) => type)).toEqual(['email.sent', 'email.delivered'])
    expect(events[0]).toEqual({
      type: 'email.sent',
      created_at: expect.stringMatching(/^20..-..-..T/),
      data: {
        email_id: data?.id,
        created_at: expect.stringMatching(/^20..-..-..T/),
        from: 'Acme <onboarding@acme.example>',
        to: ['delivered@example.com'],
        subject: 'Hello Jürgen',
        tags: { category: 'welcome' },
      },
    })
    const bounced = {
      from: 'shop@acme.example',
      to: 'bounced@sandbox.svc',
      subject: 'Hello',
      text: 'Hi',
    }
    expect((await resend.emails.send(bounced)).error).toBe(null)
    await world.dispatcher.idle()
    expect(arrivals.map((arrival) => verified(arrival, secret, world.now()))).toMatchObject([
      { type: 'email.sent' },
      { type: 'email.bounced', data: { bounce: { type: 'Permanent' } } },
    ])
    const [first] = arrivals
    arrivals.length = 0
    const several = { ...bounced, to: 'delivered@example.com', cc: ['bounced@sandbox.svc'] }
    const mail = await resend.emails.send(several)
    await world.dispatcher.idle()
    const reports = arrivals.map((arrival) => verified(arrival, secret, world.now()))
    expect(reports.map(({ type, data: { to } }) => [type, to])).toEqual([
      ['email.sent', ['delivered@example.com']],
      ['email.delivered', ['delivered@example.com']],
      ['email.bounced', ['bounced@sandbox.svc']],
    ])
    expect(reports[2]?.data.bounce).toMatchObject({ message: 'The mailbox does not exist' })
    expect((await resend.emails.get(mail.data?.id ?? '')).data?.last_event).toBe('delivered')
    if (!first) throw new Error('no event arrived')
    const forged = { ...first, body: Buffer.from(`${first.body.toString()} `) }
    expect(() => verified(forged, secret, world.now())).toThrow('No matching signature')
  })
})

describe('the endpoints', () => {
  it('list, show, change, and remove webhooks, and replace a secret', async () => {
    const { world, owner, resend } = await openStage()
    const endpoint = 'https://receiver.example/resend'
    const { data: made } = await resend.webhooks.create({ endpoint, events: ['email.sent'] })
    const id = made?.id ?? ''
    // A webhook in the form of the API is not one of Resend's.
    const other = await world.webhook(owner)
    const { data: all } = await resend.webhooks.list()
    expect(all?.data).toMatchObject([{ id, endpoint, status: 'enabled', events: ['email.sent'] }])
    expect((await resend.webhooks.get(other.id)).error?.name).toBe('not_found')
    expect((await resend.webhooks.remove(other.id)).error?.name).toBe('not_found')
    const changed = await resend.webhooks.update(id, {
      status: 'disabled',
      events: ['email.opened'],
    })
    expect(changed.error).toBe(null)
    const { data: one } = await resend.webhooks.get(id)
    const shown = { id, status: 'disabled', events: ['email.opened'], signing_secret: null }
    expect(one).toMatchObject(shown)
    const rotated = await resend.webhooks.rotateSigningSecret(id)
    expect(rotated.data).toMatchObject({ id, signing_secret: expect.stringMatching(/^whsec_/) })
    expect(rotated.data?.signing_secret).not.toBe(made?.signing_secret)
    const unknown = await resend.webhooks.create({ endpoint, events: ['email.clicked'] })
    expect(unknown.error).toMatchObject({ name: 'validation_error' })
    expect((await resend.webhooks.remove(id)).error).toBe(null)
    expect((await resend.webhooks.get(id)).error?.name).toBe('not_found')
  })

  it('keep workspaces and scopes apart', async () => {
    const { world, owner, resend, clientOf } = await openStage()
    const endpoint = 'https://receiver.example/resend'
    const { data } = await resend.webhooks.create({ endpoint, events: ['email.sent'] })
    const id = data?.id ?? ''
    const scopes = ['manage_webhooks'] as const
    const stranger = clientOf((await world.key(await world.signup(), { scopes: [...scopes] })).key)
    expect((await stranger.webhooks.list()).data?.data).toEqual([])
    expect((await stranger.webhooks.get(id)).error?.name).toBe('not_found')
    expect((await stranger.webhooks.remove(id)).error?.name).toBe('not_found')
    const sender = clientOf((await world.key(owner, { scopes: ['send_messages'] })).key)
    expect((await sender.webhooks.list()).error).not.toBe(null)
    expect((await sender.webhooks.create({ endpoint, events: ['email.sent'] })).error).not.toBe(
      null,
    )
  })
})
