import { sidOf } from '@svc/core/contract'
import twilio from 'twilio'
import { expect, it } from 'vitest'
import { createDatabase } from '../../../core/test/postgres-database.ts'
import { openWorld } from '../world.ts'

const TO = '+14155550100'
const FROM = '+14155550190'

it('the door sends, lists, cancels and erases with PostgreSQL', async () => {
  const database = await createDatabase()
  const world = await openWorld({ listen: true, dispatch: true, database_url: database.url })
  try {
    const owner = await world.signup({ credits: 10 })
    const { key } = await world.key(owner)
    const client = twilio(sidOf('account', owner.id), key)
    client.api.baseUrl = `${world.url}/compat/twilio`
    const first = await client.messages.create({ to: TO, from: FROM, body: 'First' })
    await world.dispatcher.idle()
    expect(await client.messages(first.sid).fetch()).toMatchObject({ status: 'delivered' })
    const sendAt = new Date(world.now().getTime() + 3_600_000)
    const schedule = { scheduleType: 'fixed', sendAt } as const
    const later = await client.messages.create({ to: TO, from: FROM, body: 'Later', ...schedule })
    expect(Number((await client.balance.fetch()).balance)).toBe(8)
    expect(await client.messages(later.sid).update({ status: 'canceled' })).toMatchObject({
      status: 'canceled',
    })
    expect(Number((await client.balance.fetch()).balance)).toBe(9)
    const listed = await client.messages.list({ pageSize: 1, to: TO })
    expect(listed.map(({ sid }) => sid).sort()).toEqual([first.sid, later.sid].sort())
    expect(await client.messages(first.sid).update({ body: '' })).toMatchObject({ body: '' })
    expect(await client.messages(first.sid).remove()).toBe(true)
    await expect(client.messages(first.sid).fetch()).rejects.toMatchObject({ code: 20404 })
  } finally {
    await world.close()
    await database.drop()
  }
})
