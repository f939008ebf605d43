import { sidOf } from '@svc/core/contract'
import twilio from 'twilio'
import { beforeAll, expect, it } from 'vitest'
import { createDatabase } from '../../../core/test/postgres-database.ts'
import type { Account } from '../accounts.ts'
import { openWorld, useWorld, type World } from '../world.ts'

const world = useWorld({ listen: true, dispatch: true })

const SERVICE = `VA${'0'.repeat(32)}`
/** The code that the sandbox approves for a key of the mode test. */
const RIGHT = '000000'

let next = 0
/** A number that no other test uses. */
const number = () => `+1415555${String(100 + next++).padStart(4, '0')}`

let owner: Account
let key: string
let verify: ReturnType<typeof verifyOf>
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner, { mode: 'test' })).key
  verify = verifyOf(world(), owner, key)
})

function verifyOf({ url }: Pick<World, 'url'>, { id }: Account, key: string, service = SERVICE) {
  const client = twilio(sidOf('account', id), key)
  client.verify.baseUrl = `${url}/compat/twilio`
  return client.verify.v2.services(service)
}

it("Twilio's quick start: a code is sent, a wrong one is pending, the right one approves once", async () => {
  const to = number()
  const begun = await verify.verifications.create({ to, channel: 'sms', locale: 'de' })
  expect(begun).toMatchObject({
    serviceSid: SERVICE,
    accountSid: sidOf('account', owner.id),
    ...{ to, channel: 'sms', status: 'pending', valid: false },
    sendCodeAttempts: [{ channel: 'sms', attempt_sid: expect.stringMatching(/^VL/) }],
  })
  expect(begun.sid).toMatch(/^VE[0-9a-f]{32}$/)
  expect(begun.dateCreated.getTime()).toBe(Math.floor(world().now().getTime() / 1000) * 1000)
  expect(await verify.verifications(begun.sid).fetch()).toMatchObject({ status: 'pending', to })
  const wrong = await verify.verificationChecks.create({ to, code: '123456' })
  expect(wrong).toMatchObject({ sid: begun.sid, status: 'pending', valid: false })
  const right = await verify.verificationChecks.create({ to, code: RIGHT })
  expect(right).toMatchObject({ sid: begun.sid, to, status: 'approved', valid: true })
  await expect(verify.verificationChecks.create({ to, code: RIGHT })).rejects.toMatchObject({
    status: 404,
    code: 20404,
  })
})

it('checks by the SID of the verification, and sends by call, WhatsApp and e-mail', async () => {
  const to = number()
  const addresses = { call: to, whatsapp: number(), email: 'ada@example.com' }
  for (const [channel, to] of Object.entries(addresses)) {
    const { sid } = await verify.verifications.create({ to, channel })
    const done = await verify.verificationChecks.create({ verificationSid: sid, code: RIGHT })
    expect(done).toMatchObject({ sid, to, channel, status: 'approved', valid: true })
  }
})

it('checks by the number or by the SID, not by both', async () => {
  const to = number()
  const { sid } = await verify.verifications.create({ to, channel: 'sms' })
  for (const named of [{ to, verificationSid: sid }, {}]) {
    const both = verify.verificationChecks.create({ ...named, code: RIGHT })
    await expect(both).rejects.toMatchObject({ status: 400, code: 60200 })
  }
  const one = await verify.verificationChecks.create({ verificationSid: sid, code: RIGHT })
  expect(one.status).toBe('approved')
})

it('takes a stored template as the text, and its values', async () => {
  const content = { text: '{{code}} for {{shop}}' }
  const variants = [{ channel: 'sms', locale: 'en', content }]
  const { templates, messages } = world().core
  await templates.create(owner.id, { name: 'login', variants } as never)
  await templates.publish(owner.id, 'login')
  const templateCustomSubstitutions = JSON.stringify({ shop: 'Dodoma' })
  const request = { to: number(), channel: 'sms', templateSid: 'login' }
  await verify.verifications.create({ ...request, templateCustomSubstitutions })
  const { messages: found } = await messages.list(owner.id, { template: 'login' })
  expect(found).toMatchObject([{ content: { text: '•••••• for Dodoma' } }])
  const faults = [
    { ...request, to: number() },
    { ...request, to: number(), templateCustomSubstitutions: '{' },
    { to: number(), channel: 'sms', templateCustomSubstitutions },
    { ...request, to: number(), templateSid: 'other', templateCustomSubstitutions },
  ]
  for (const fault of faults) {
    await expect(verify.verifications.create(fault)).rejects.toMatchObject({
      ...{ status: 400, code: 60200 },
    })
  }
})

it('cancels and approves; a verification that ended gets 20404', async () => {
  for (const status of ['canceled', 'approved'] as const) {
    const to = number()
    const { sid } = await verify.verifications.create({ to, channel: 'sms' })
    const changed = await verify.verifications(sid).update({ status })
    expect(changed).toMatchObject({ sid, status, valid: status === 'approved' })
    const ended = { status: 404, code: 20404 }
    await expect(verify.verifications(sid).update({ status })).rejects.toMatchObject(ended)
    const check = { verificationSid: sid, code: RIGHT }
    await expect(verify.verificationChecks.create(check)).rejects.toMatchObject(ended)
  }
})

it('refuses too many wrong codes (60202) and sends the code again only after the cooldown', async () => {
  const to = number()
  const { sid } = await verify.verifications.create({ to, channel: 'sms' })
  expect(await verify.verifications.create({ to, channel: 'sms' })).toMatchObject({ sid })
  const guess = () => verify.verificationChecks.create({ to, code: '111112' })
  for (let left = 4; left > 0; left -= 1) {
    expect(await guess()).toMatchObject({ status: 'pending', valid: false })
  }
  await expect(guess()).rejects.toMatchObject({ status: 429, code: 60202 })
  await expect(verify.verificationChecks.create({ to, code: RIGHT })).rejects.toMatchObject({
    code: 60202,
  })
  expect(await verify.verifications(sid).fetch()).toMatchObject({ status: 'max_attempts_reached' })
})

it('limits the codes of an address (60203) and of a network (60207)', async () => {
  const to = number()
  const send = async () => {
    const { sid } = await verify.verifications.create({ to, channel: 'sms' })
    await verify.verifications(sid).update({ status: 'approved' })
  }
  for (let sent = 0; sent < 5; sent += 1) await send()
  await expect(send()).rejects.toMatchObject({ status: 429, code: 60203 })
  const fromNetwork = async () =>
    verify.verifications.create({ to: number(), channel: 'sms', deviceIp: '203.0.113.7' })
  const refused = (async () => {
    for (let started = 0; started < 100; started += 1) await fromNetwork()
  })()
  await expect(refused).rejects.toMatchObject({ status: 429, code: 60207 })
})

it('a country whose codes are not approved is refused: 60410', async () => {
  const { key } = await world().key(owner)
  const live = verifyOf(world(), owner, key)
  const tanzania = (n: number) => `+2557${String(12_000_000 + n)}`
  const attack = (async () => {
    for (let n = 0; n < 60; n += 1) {
      await live.verifications.create({ to: tanzania(n), channel: 'sms' })
    }
  })()
  await expect(attack).rejects.toMatchObject({ status: 403, code: 60410 })
})

it('refuses what Verify refuses: 60200, and 20404 for an unknown SID', async () => {
  const invalid = { status: 400, code: 60200 }
  const to = number()
  for (const request of [
    { to: '12', channel: 'sms' },
    { to, channel: 'auto' },
    { to, channel: 'sms', customFriendlyName: 'Shop' },
    { to, channel: 'sms', deviceIp: 'here' },
  ]) {
    await expect(verify.verifications.create(request)).rejects.toMatchObject(invalid)
  }
  for (const check of [{ to }, { code: RIGHT }, { to, code: 'abc' }]) {
    await expect(verify.verificationChecks.create(check)).rejects.toMatchObject(invalid)
  }
  const { sid } = await verify.verifications.create({ to, channel: 'sms' })
  const status = 'failed' as never
  await expect(verify.verifications(sid).update({ status })).rejects.toMatchObject(invalid)
  const unknown = { status: 404, code: 20404 }
  const other = `VE${'1'.repeat(32)}`
  await expect(verify.verifications(other).fetch()).rejects.toMatchObject(unknown)
  await expect(verify.verifications('VE1').fetch()).rejects.toMatchObject(unknown)
  const noService = verifyOf(world(), owner, key, 'VA1')
  await expect(noService.verifications(sid).fetch()).rejects.toMatchObject(unknown)
  const stranger = await world().signup()
  const { key: theirs } = await world().key(stranger, { mode: 'test' })
  const foreign = verifyOf(world(), stranger, theirs)
  await expect(foreign.verifications(sid).fetch()).rejects.toMatchObject(unknown)
  await expect(foreign.verifications(sid).update({ status: 'approved' })).rejects.toMatchObject(
    unknown,
  )
})

it('sends, checks and approves with PostgreSQL', async () => {
  const database = await createDatabase()
  const world = await openWorld({ listen: true, dispatch: true, database_url: database.url })
  try {
    const owner = await world.signup({ credits: 10 })
    const { key } = await world.key(owner, { mode: 'test' })
    const verify = verifyOf(world, owner, key)
    const [to, other] = [number(), number()]
    const { sid } = await verify.verifications.create({ to, channel: 'sms' })
    expect(await verify.verificationChecks.create({ to, code: '111112' })).toMatchObject({
      ...{ sid, status: 'pending', valid: false },
    })
    expect(await verify.verificationChecks.create({ to, code: RIGHT })).toMatchObject({
      ...{ sid, status: 'approved', valid: true },
    })
    const second = await verify.verifications.create({ to: other, channel: 'sms' })
    expect(await verify.verifications(second.sid).update({ status: 'approved' })).toMatchObject({
      ...{ sid: second.sid, status: 'approved', valid: true },
    })
  } finally {
    await world.close()
    await database.drop()
  }
})
