import { defineProvider } from '@svc/core'
import { Resend } from 'resend'
import { expect, it } from 'vitest'
import { useWorld } from '../world.ts'

/** A provider in place of the sandbox, so that e-mails would leave the service. */
const mailer = defineProvider({
  name: 'mailer',
  traits: { channels: ['email'] },
  send: async (jobs) =>
    jobs.map(() => ({ type: 'accepted', provider_message_id: null, lookup_after_ms: null })),
})

const world = useWorld({ dispatch: true, listen: true, providers: [mailer] })

it('A sender at a domain that is not verified is refused with 403, and costs nothing', async () => {
  const owner = await world().signup({ credits: 10 })
  const { key } = await world().key(owner)
  const resend = new Resend(key, { baseUrl: `${world().url}/compat/resend` })
  const { error } = await resend.emails.send({
    from: 'Acme <shop@acme.example>',
    to: 'asha@example.com',
    subject: 'Hello',
    html: '<p>It works</p>',
  })
  expect(error).toMatchObject({
    statusCode: 403,
    name: 'validation_error',
    message: expect.stringContaining('acme.example'),
  })
  const { body } = await world().call('GET', '/api/v1/balance', { key })
  expect(body.data.credits_balance).toBe(10)
})
