import { Resend } from 'resend'
import { beforeAll, describe, expect, it, test } from 'vitest'
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
