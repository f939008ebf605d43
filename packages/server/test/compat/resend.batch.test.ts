import { Resend } from 'resend'
import { beforeAll, describe, expect, it, test } from 'vitest'
import type { Account } from '../accounts.ts'
import { useWorld } from '../world.ts'

const world = useWorld({ listen: true })

const MAIL = {
  from: 'Acme <shop@acme.example>',
  to: 'delivered@sandbox.svc',
  subject: 'Hello',
  html: '<p>It works</p>',
}
const WRONG = { ...MAIL, to: 'asha' }

let key: string
let resend: Resend
beforeAll(async () => {
  key = (await world().key(await world().signup(), { mode: 'test' })).key
  resend = new Resend(key, { baseUrl: `${world().url}/compat/resend` })
})

const count = async (): Promise<number> =>
  (await world().call('GET', '/api/v1/messages', { key })).body.data.pagination.total

describe('batch.send', () => {
  it('sends each e-mail, and returns the ids in their order', async () => {
    const { data, error } = await resend.batch.send([MAIL, { ...MAIL, subject: 'Second' }])
    expect(error).toBeNull()
    const subjects = await Promise.all(
      (data?.data ?? []).map(async ({ id }) => (await resend.emails.get(id)).data?.subject),
    )
    expect(subjects).toEqual(['Hello', 'Second'])
  })

  it('sends no e-mail if one of them is wrong', async () => {
    const before = await count()
    const { error } = await resend.batch.send([MAIL, WRONG])
    expect(error).toMatchObject({ statusCode: 422, name: 'validation_error' })
    expect(await count()).toBe(before)
  })

  it('sends the others with permissive validation', async () => {
    const before = await count()
    const { data } = await resend.batch.send([WRONG, MAIL, { ...MAIL, subject: '' }], {
      batchValidation: 'permissive',
    })
    expect(data?.data).toHaveLength(1)
    expect(data?.errors).toEqual([
      { index: 0, message: expect.stringContaining('Invalid `to` field') },
      { index: 2, message: expect.stringContaining('subject') },
    ])
    expect(await count()).toBe(before + 1)
  })

  it('gives a repeated batch with its key the same ids', async () => {
    const mails = [MAIL, { ...MAIL, subject: 'Second' }]
    const first = await resend.batch.send(mails, { idempotencyKey: 'batch-1' })
    const before = await count()
    const again = await resend.batch.send(mails, { idempotencyKey: 'batch-1' })
    expect(again.data).toEqual(first.data)
    expect(again.headers?.['idempotent-replayed']).toBe('true')
    expect(first.headers?.['idempotent-replayed']).toBeUndefined()
    expect(await count()).toBe(before)
    const other = await resend.batch.send([WRONG, ...mails], {
      idempotencyKey: 'batch-1',
      batchValidation: 'permissive',
    })
    expect(other.error).toMatchObject({ statusCode: 409, name: 'invalid_idempotent_request' })
    const permissive = { idempotencyKey: 'batch-1', batchValidation: 'permissive' } as const
    const changed = await resend.batch.send(mails, permissive)
    expect(changed.error).toMatchObject({ statusCode: 409, name: 'invalid_idempotent_request' })
    expect(await count()).toBe(before)
  })

  it('sends no e-mail if the credits do not suffice for all', async () => {
    const owner = await world().signup({ credits: 0.2 })
    const live = await world().key(owner)
    const client = new Resend(live.key, { baseUrl: `${world().url}/compat/resend` })
    const three = await client.batch.send([MAIL, MAIL, MAIL])
    expect(three.error).toMatchObject({ statusCode: 429, name: 'monthly_quota_exceeded' })
    expect(await world().balance(owner)).toBe(0.2)
    expect((await client.batch.send([MAIL, MAIL])).error).toBeNull()
    expect(await world().balance(owner)).toBe(0)
  })

  it('sends up to 100 e-mails', async () => {
    const before = await count()
    const { data } = await resend.batch.send(Array.from({ length: 100 }, () => MAIL))
    expect(data?.data).toHaveLength(100)
    expect(await count()).toBe(before + 100)
  })

  test.each([[[]], [Array.from({ length: 101 }, () => MAIL)], [{ emails: [] }], [null]])(
    'refuses a body that is not a batch',
    async (body) => {
      const before = await count()
      const answer = await fetch(`${world().url}/compat/resend/emails/batch`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(await answer.json()).toMatchObject({
        statusCode: answer.status,
        name: 'validation_error',
      })
      expect(await count()).toBe(before)
    },
  )

  it('refuses attachments', async () => {
    const attachments = [{ filename: 'a.txt', content: 'SGVsbG8=' }]
    const { error } = await resend.batch.send([{ ...MAIL, attachments } as typeof MAIL])
    expect(error).toMatchObject({ statusCode: 422, name: 'invalid_attachment' })
  })
})

describe('batch.send with templates', () => {
  let owner: Account
  let live: string
  let client: Resend
  beforeAll(async () => {
    owner = await world().signup({ credits: 1_000 })
    live = (await world().key(owner)).key
    client = new Resend(live, { baseUrl: `${world().url}/compat/resend` })
    const html = '<p>Hi {{{NAME}}}, {{{ORDER}}}</p>'
    const variables = [
      { key: 'NAME', type: 'string' as const, fallbackValue: 'there' },
      { key: 'ORDER', type: 'string' as const },
    ]
    for (const alias of ['ready', 'late']) {
      const subject = `${alias} {{{ORDER}}}`
      const from = `${alias}@acme.example`
      const replyTo = `${alias}-answers@acme.example`
      const template = { name: alias, alias, subject, html, from, replyTo, variables }
      expect((await client.templates.create(template).publish()).error).toBeNull()
    }
  })

  const mailOf = (id: string, ORDER?: string) => ({
    to: 'delivered@sandbox.svc',
    template: { id, variables: { ...(ORDER !== undefined && { ORDER }) } },
  })
  const messageOf = async (id: string) =>
    (await world().call('GET', `/api/v1/messages/${id}`, { key: live })).body.data.message
  const counted = async () =>
    (await world().call('GET', '/api/v1/messages', { key: live })).body.data.pagination.total

  it('sends each e-mail from its template, beside those with a content', async () => {
    const sent = await client.batch.send([
      mailOf('ready', 'A1'),
      MAIL,
      {
        ...mailOf('late', '<A2>'),
        ...{ from: 'Acme <shop@acme.example>', subject: 'Sorry', replyTo: 'help@acme.example' },
      },
      {
        ...mailOf('ready', 'A3'),
        template: { id: 'ready', variables: { ORDER: 'A3', NAME: 'Bo' } },
      },
    ] as never)
    expect(sent.error).toBeNull()
    const messages = await Promise.all((sent.data?.data ?? []).map(({ id }) => messageOf(id)))
    const [bulk_id] = messages.map((one) => one.bulk_id)
    expect(messages).toMatchObject([
      {
        template: { name: 'ready', version: 1, locale: 'en' },
        content: {
          ...{ subject: 'ready A1', html: '<p>Hi there, A1</p>' },
          from_address: 'ready@acme.example',
          reply_to: ['ready-answers@acme.example'],
        },
      },
      { content: { subject: 'Hello' } },
      {
        sender: 'Acme',
        template: { name: 'late', version: 1, locale: 'en' },
        content: {
          ...{ subject: 'Sorry', html: '<p>Hi there, &lt;A2&gt;</p>' },
          ...{ from_address: 'shop@acme.example', reply_to: 'help@acme.example' },
        },
      },
      { template: { name: 'ready' }, content: { html: '<p>Hi Bo, A3</p>' } },
    ])
    expect(messages[1].template).toBeUndefined()
    expect(messages.map((one) => one.bulk_id)).toEqual(Array(4).fill(bulk_id))
  })

  it.each<[string, object, string]>([
    ['a missing value', mailOf('late'), 'No value for {{ORDER}}'],
    ['an unknown template', mailOf('other', 'A1'), 'No template has the name other'],
    ['a content beside it', { ...mailOf('late', 'A1'), html: 'x' }, 'cannot have `html` or `text`'],
    ['attachments', { ...mailOf('late', 'A1'), attachments: [] }, 'cannot have `attachments`'],
  ])('refuses %s, and permissive sends the others', async (_, wrong, message) => {
    const before = await counted()
    const mails = [mailOf('ready', 'A1'), wrong, mailOf('late', 'A2')] as never
    const { error } = await client.batch.send(mails)
    expect(error).toMatchObject({ statusCode: 422, message: expect.stringContaining(message) })
    expect(await counted()).toBe(before)
    const { data } = await client.batch.send(mails, { batchValidation: 'permissive' })
    expect(data).toMatchObject({
      data: [{}, {}],
      errors: [{ index: 1, message: expect.stringContaining(message) }],
    })
    expect(await counted()).toBe(before + 2)
  })

  it('refuses a batch whose contents are too long together', async () => {
    const html = '{{{LONG}}}'.repeat(150)
    const variables = [{ key: 'LONG', type: 'string' as const }]
    const long = { name: 'long', alias: 'long', subject: 'Long', text: 'Long', html, variables }
    expect((await client.templates.create(long).publish()).error).toBeNull()
    const one = {
      ...{ from: MAIL.from, to: MAIL.to },
      template: { id: 'long', variables: { LONG: 'x'.repeat(9_000) } },
    }
    const trial = (await world().key(owner, { mode: 'test' })).key
    const tester = new Resend(trial, { baseUrl: `${world().url}/compat/resend` })
    const { error } = await tester.batch.send(Array(13).fill(one))
    expect(error?.message).toContain('at most 16 million characters together')
    expect((await tester.batch.send(Array(2).fill(one))).error).toBeNull()
  })
})
