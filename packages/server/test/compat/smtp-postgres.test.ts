import { expect, it } from 'vitest'
import { createDatabase } from '../../../core/test/postgres-database.ts'
import { openInletStage } from './inlet-stage.ts'

it('stores mails with PostgreSQL, once for an idempotency key, and refuses an ended key', async () => {
  const database = await createDatabase()
  const stage = await openInletStage({ database_url: database.url })
  try {
    const account = await stage.world.signup({ credits: 10 })
    const { id, key } = await stage.world.key(account)
    const mail = {
      from: 'shop@svc.example',
      to: 'asha@example.com',
      subject: 'Hi',
      text: 'Hello',
      headers: { 'X-Svc-Idempotency-Key': 'order-1' },
    }
    const sent = await Promise.all([1, 2, 3].map(() => stage.mailer(key).sendMail(mail)))
    expect(new Set(sent.map(({ response }) => response)).size).toBe(1)
    expect(sent[0]?.response).toMatch(/^250 2\.6\.0 Queued as /)
    expect((await stage.world.written(account)).messages).toBe(1)
    await stage.world.call('DELETE', `/api/v1/api-keys/${id}`, { token: account.token })
    await expect(stage.mailer(key).sendMail(mail)).rejects.toThrow('535 5.7.8')
  } finally {
    await stage.close()
    await database.drop()
  }
})
